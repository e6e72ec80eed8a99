"""Softmax: from scores, which may be any numbers, to weights, which are shares of one whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qkv.core.inputs import Array, as_divisor, as_scores

if TYPE_CHECKING:
    from jaxtyping import Float


def softmax(
    scores: Float[Array, "*rows n_k"], out: Float[Array, "*rows n_k"] | None = None
) -> Float[Array, "*rows n_k"]:
    r"""Turn each row of scores into weights that are at least 0 and sum to 1.

    .. math:: w_j = \frac{e^{s_j}}{\sum_{j'} e^{s_{j'}}}

    The sum runs over the last axis, the keys: one row is what one query gives out. Softmax over
    any other axis lets queries compete for a key; there is no argument for it here.

    Parameters
    ----------
    scores : array, shape (..., n_k)
        One score for each key. -inf where the query may not look.
    out : array, shape (..., n_k), optional
        Where the weights are put, as numpy's functions have it; `scores` itself saves memory.

    Returns
    -------
    weights : array, shape (..., n_k)
        Shares of one whole; 0 where the score is -inf. A row that is -inf everywhere gives zeros.

    Raises
    ------
    ShapeError
        If `scores` has no axis, or an axis of size 0.
    ValueError
        If `scores` holds NaN or +inf, or is not an array of real numbers.

    Notes
    -----
    Adding one number to a whole row changes nothing, for it leaves numerator and denominator as a
    common factor. So the largest score of the row is taken off first, and ``exp`` cannot overflow.

    References
    ----------
    Bridle, "Probabilistic interpretation of feedforward classification network outputs" (1990),
    equation 1. Used in Vaswani et al., "Attention is all you need" (2017), section 3.2.1,
    equation 1.

    Examples
    --------
    >>> import qkv
    >>> print(qkv.softmax([0.0, 1.0, 3.0]).round(3))
    [0.042 0.114 0.844]
    >>> print(qkv.softmax([1000.0, 1001.0, 1003.0]).round(3))
    [0.042 0.114 0.844]
    """
    scores = as_scores(scores)
    largest = scores.max(axis=-1, keepdims=True)
    largest = np.where(largest == -np.inf, 0.0, largest)  # an empty row has no largest score
    with np.errstate(over="ignore"):  # a score 1e308 below another falls to -inf: weight 0
        weights = np.subtract(scores, largest, out=out)
    np.exp(weights, out=weights)  # in place, for no arrays are larger than these
    total = weights.sum(axis=-1, keepdims=True)
    weights /= np.where(total == 0.0, 1.0, total)
    return weights


def softmax_with_temperature(
    scores: Float[Array, "*rows n_k"], temperature: float
) -> Float[Array, "*rows n_k"]:
    r"""Divide the scores by a temperature before the softmax.

    .. math:: \operatorname{softmax}(s / T)

    Near 0 the largest score takes everything; at 1 nothing changes; far above, all weights become
    equal.

    Parameters
    ----------
    scores : array, shape (..., n_k)
        One score for each key. -inf where the query may not look.
    temperature : float
        The T of the equation, above 0.

    Returns
    -------
    weights : array, shape (..., n_k)
        Shares of one whole. A row that is -inf everywhere gives zeros.

    Raises
    ------
    ShapeError
        If `scores` has no axis, or an axis of size 0.
    ValueError
        If `scores` holds NaN or +inf, or the temperature is not above 0 or far too small.

    References
    ----------
    Hinton, Vinyals and Dean, "Distilling the knowledge in a neural network" (2015), section 2,
    equation 1.

    Examples
    --------
    >>> import qkv
    >>> for temperature in (0.1, 1.0, 100.0):
    ...     print(qkv.softmax_with_temperature([0.0, 1.0, 3.0], temperature).round(3))
    [0. 0. 1.]
    [0.042 0.114 0.844]
    [0.329 0.332 0.339]
    """
    scores = as_scores(scores)
    return softmax(scores / as_divisor("temperature", temperature, "scores", scores))
