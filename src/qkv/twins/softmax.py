"""Softmax: from scores, which may be any numbers, to weights, which are shares of one whole."""

import torch
from jaxtyping import Float
from torch import Tensor


def softmax(scores: Float[Tensor, "*rows n_k"]) -> Float[Tensor, "*rows n_k"]:
    r"""Turn each row of scores into weights that are at least 0 and sum to 1.

    .. math:: w_j = \frac{e^{s_j}}{\sum_{j'} e^{s_{j'}}}

    The sum runs over the last axis, the keys: one row is what one query gives out. Softmax over
    any other axis lets queries compete for a key; there is no argument for it here.

    Parameters
    ----------
    scores : tensor, shape (..., n_k)
        One score for each key. -inf where the query may not look.

    Returns
    -------
    weights : tensor, shape (..., n_k)
        Shares of one whole; 0 where the score is -inf. A row that is -inf everywhere gives zeros.

    See Also
    --------
    qkv.softmax : the same in numpy.

    References
    ----------
    Bridle, "Probabilistic interpretation of feedforward classification network outputs" (1990),
    equation 1. Used in Vaswani et al., "Attention is all you need" (2017), section 3.2.1,
    equation 1.

    Examples
    --------
    >>> import torch
    >>> from qkv import twins
    >>> scores = torch.tensor([[0.0, 1.0, 3.0], [-torch.inf, -torch.inf, -torch.inf]])
    >>> print(twins.softmax(scores).numpy().round(3))
    [[0.042 0.114 0.844]
     [0.    0.    0.   ]]
    """
    empty = scores.detach().amax(dim=-1, keepdim=True) == -torch.inf
    weights = torch.softmax(scores.masked_fill(empty, 0.0), dim=-1)
    return weights.masked_fill(empty, 0.0)  # gradients of an empty row are zeros too, never NaN


def softmax_with_temperature(
    scores: Float[Tensor, "*rows n_k"], temperature: float
) -> Float[Tensor, "*rows n_k"]:
    r"""Divide the scores by a temperature before the softmax.

    .. math:: \operatorname{softmax}(s / T)

    Near 0 the largest score takes everything; at 1 nothing changes; far above, all weights become
    equal.

    Parameters
    ----------
    scores : tensor, shape (..., n_k)
        One score for each key. -inf where the query may not look.
    temperature : float
        The T of the equation, above 0.

    Returns
    -------
    weights : tensor, shape (..., n_k)
        Shares of one whole. A row that is -inf everywhere gives zeros.

    See Also
    --------
    qkv.softmax_with_temperature : the same in numpy.

    References
    ----------
    Hinton, Vinyals and Dean, "Distilling the knowledge in a neural network" (2015), section 2,
    equation 1.

    Examples
    --------
    >>> import torch
    >>> from qkv import twins
    >>> scores = torch.tensor([0.0, 1.0, 3.0])
    >>> print(twins.softmax_with_temperature(scores, temperature=0.1).numpy().round(3))
    [0. 0. 1.]
    """
    return softmax(scores / temperature)
