"""The loss: how surprised the model is by the right answer."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from qkv.twins.inputs import check_targets


def cross_entropy(
    scores: Float[Tensor, "*rows n_classes"], targets: Int[Tensor, "*rows"]
) -> Float[Tensor, "*rows"]:
    r"""Return minus the log of the share that softmax gives to the right class.

    .. math:: -\log \operatorname{softmax}(s)_t = \log \sum_c e^{s_c} - s_t

    Parameters
    ----------
    scores : tensor, shape (..., n_classes)
        One finite score a class.
    targets : int tensor, shape (...)
        The right class of each row.

    Returns
    -------
    losses : number, or tensor of shape (...)
        In natural units: log(n_classes) for a model that knows nothing, 0 for one that is sure
        and right.

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    See Also
    --------
    qkv.cross_entropy : the same in numpy.

    References
    ----------
    Goodfellow, Bengio and Courville, "Deep learning" (2016), section 6.2.2.3, equation 6.30.

    Examples
    --------
    >>> import torch
    >>> from qkv import twins
    >>> scores = torch.tensor([[0.0, 0.0], [0.0, 9.0]])
    >>> print(twins.cross_entropy(scores, torch.tensor([1, 1])).numpy().round(3))
    [0.693 0.   ]
    """
    check_targets(scores, targets)
    log_shares = torch.log_softmax(scores, dim=-1)
    return -log_shares.gather(-1, targets[..., None])[..., 0]
