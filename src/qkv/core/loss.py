"""The loss: how surprised the model is by the right answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qkv.core.inputs import Array, as_scores_and_targets, check_losses_fit

if TYPE_CHECKING:
    from jaxtyping import Float, Int


def cross_entropy(
    scores: Float[Array, "*rows n_classes"], targets: Int[Array, "*rows"]
) -> Float[Array, "*rows"]:
    r"""Return minus the log of the share that softmax gives to the right class.

    .. math:: -\log \operatorname{softmax}(s)_t = \log \sum_c e^{s_c} - s_t

    Parameters
    ----------
    scores : array, shape (..., n_classes)
        One finite score a class.
    targets : int array, shape (...)
        The right class of each row.

    Returns
    -------
    losses : number, or array of shape (...)
        In natural units: log(n_classes) for a model that knows nothing, 0 for one that is sure
        and right.

    Raises
    ------
    ShapeError
        If there is not one target for each row of scores.
    ValueError
        If a score is NaN or infinite, a target names no class, or a loss could overflow.

    References
    ----------
    Goodfellow, Bengio and Courville, "Deep learning" (2016), section 6.2.2.3, equation 6.30.

    Examples
    --------
    >>> import qkv
    >>> print(qkv.cross_entropy([[0.0, 0.0], [0.0, 9.0]], [1, 1]).round(3))
    [0.693 0.   ]
    """
    scores, targets = as_scores_and_targets(scores, targets)
    largest = scores.max(axis=-1)
    right = np.take_along_axis(scores, targets[..., None], axis=-1)[..., 0]
    with np.errstate(over="ignore"):  # a score 1e308 below another falls to -inf: share 0
        shifted, distance = scores - largest[..., None], largest - right
    check_losses_fit(distance)
    return np.log(np.sum(np.exp(shifted), axis=-1)) + distance
