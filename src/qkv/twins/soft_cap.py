"""A soft cap: scores that bend before they grow too large."""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from qkv.twins.inputs import check_attention
from qkv.twins.scores import attention_from_scores


def soft_cap(scores: Float[Tensor, "*rows"], cap: float) -> Float[Tensor, "*rows"]:
    r"""Bend scores so that none passes `cap`: near 0 nothing changes, far out they flatten.

    .. math:: c \tanh(s / c)

    Parameters
    ----------
    scores : tensor, any shape
        Finite scores. Cap first and mask afterwards: a capped -inf would be -cap, a key like
        any other.
    cap : float
        The bound, the c of the equation.

    Returns
    -------
    capped : tensor, same shape
        Between -cap and cap.

    See Also
    --------
    qkv.soft_cap : the same in numpy.

    References
    ----------
    Gemma Team, "Gemma 2: improving open language models at a practical size" (2024), section 2,
    "Logit soft-capping".

    Examples
    --------
    >>> import torch
    >>> from qkv import twins
    >>> print(twins.soft_cap(torch.tensor([-500.0, 0.1, 1.0, 10.0]), cap=2.0).numpy().round(3))
    [-2.     0.1    0.924  2.   ]
    """
    return cap * torch.tanh(scores / cap)


def soft_capped_attention(
    q: Float[Tensor, "*batch n_q d_k"],
    k: Float[Tensor, "*batch n_k d_k"],
    v: Float[Tensor, "*batch n_k d_v"],
    cap: float,
    mask: Bool[Tensor, " ..."] | None = None,
) -> tuple[Float[Tensor, "*batch n_q d_v"], Float[Tensor, "*batch n_q n_k"]]:
    r"""Compute attention whose scaled scores are capped before the mask and the softmax.

    .. math:: \operatorname{softmax}\!\left(c \tanh \frac{Q K^\top}{c \sqrt{d_k}}\right) V

    Parameters
    ----------
    q : tensor, shape (..., n_q, d_k)
        Queries, one a row.
    k : tensor, shape (..., n_k, d_k)
        Keys, as wide as the queries.
    v : tensor, shape (..., n_k, d_v)
        Values, one for each key.
    cap : float
        The bound on a score, the c of the equation.
    mask : bool tensor, broadcastable to (..., n_q, n_k), optional
        True where the query may look.

    Returns
    -------
    output : tensor, shape (..., n_q, d_v)
        One row for each query; zeros for a query that may look at nothing.
    weights : tensor, shape (..., n_q, n_k)
        No two allowed weights of a row differ by more than a factor of exp(2 cap).

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    ValueError
        If the mask is not bool.

    See Also
    --------
    qkv.soft_capped_attention : the same in numpy.

    References
    ----------
    Gemma Team, "Gemma 2: improving open language models at a practical size" (2024), section 2,
    "Logit soft-capping".

    Examples
    --------
    >>> import torch
    >>> from qkv import twins
    >>> q, k, v = torch.tensor([[900.0, 0]]), torch.eye(2), torch.tensor([[1.0], [2]])
    >>> _, weights = twins.soft_capped_attention(q, k, v, cap=1.0)
    >>> print(weights.numpy().round(3))
    [[0.731 0.269]]
    """
    check_attention(q, k, v, mask)
    scaled = q @ k.mT / math.sqrt(q.shape[-1])
    return attention_from_scores(soft_cap(scaled, cap), v, mask)
