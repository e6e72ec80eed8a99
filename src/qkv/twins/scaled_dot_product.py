"""Scaled dot-product attention: the equation of the paper, once for use and once to look inside."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from qkv.twins.inputs import check_attention
from qkv.twins.softmax import softmax


def scaled_dot_product_attention(
    q: Float[Tensor, "*batch n_q d_k"],
    k: Float[Tensor, "*batch n_k d_k"],
    v: Float[Tensor, "*batch n_k d_v"],
    mask: Bool[Tensor, " ..."] | None = None,
) -> tuple[Float[Tensor, "*batch n_q d_v"], Float[Tensor, "*batch n_q n_k"]]:
    r"""Give each query a mean of the values, weighted by how well its keys match.

    .. math:: \operatorname{Attention}(Q, K, V)
        = \operatorname{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V

    Parameters
    ----------
    q : tensor, shape (..., n_q, d_k)
        Queries, one a row.
    k : tensor, shape (..., n_k, d_k)
        Keys, as wide as the queries.
    v : tensor, shape (..., n_k, d_v)
        Values, one for each key, of any width.
    mask : bool tensor, broadcastable to (..., n_q, n_k), optional
        True where the query may look.

    Returns
    -------
    output : tensor, shape (..., n_q, d_v)
        One row for each query; zeros for a query that may look at nothing.
    weights : tensor, shape (..., n_q, n_k)
        Each row sums to 1, or is zero for a query that may look at nothing.

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    ValueError
        If the mask is not bool.

    See Also
    --------
    qkv.scaled_dot_product_attention : the same in numpy.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.2.1, equation 1.

    Examples
    --------
    >>> import torch
    >>> from qkv import twins
    >>> q, k = torch.tensor([[4.0, 0]]), torch.tensor([[1.0, 0], [0, 1], [1, 1]])
    >>> v = torch.tensor([[10.0], [20], [30]])
    >>> output, weights = twins.scaled_dot_product_attention(q, k, v)
    >>> print(weights.numpy().round(3), output.numpy().round(3))
    [[0.486 0.029 0.486]] [[20.]]
    """
    check_attention(q, k, v, mask)
    d_k = q.shape[-1]
    scores = q @ k.mT / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = softmax(scores)  # a row of -inf gives zeros
    return weights @ v, weights


@dataclass(frozen=True, eq=False)
class AttentionSteps:
    """Every tensor between the inputs and the output of scaled dot-product attention.

    Attributes
    ----------
    q, k, v : tensor
        The inputs, of shape (..., n_q, d_k), (..., n_k, d_k) and (..., n_k, d_v).
    mask : bool tensor or None
        True where the query may look.
    dot_products : tensor, shape (..., n_q, n_k)
        Each query with each key.
    scaled : tensor, shape (..., n_q, n_k)
        The dot products divided by the root of d_k.
    scores : tensor, shape (..., n_q, n_k)
        The same with -inf where the query may not look.
    weights : tensor, shape (..., n_q, n_k)
        The softmax of each row.
    output : tensor, shape (..., n_q, d_v)
        The weighted means of the values.
    """

    q: Float[Tensor, "*batch n_q d_k"]
    k: Float[Tensor, "*batch n_k d_k"]
    v: Float[Tensor, "*batch n_k d_v"]
    mask: Bool[Tensor, " ..."] | None
    dot_products: Float[Tensor, "*batch n_q n_k"]
    scaled: Float[Tensor, "*batch n_q n_k"]
    scores: Float[Tensor, "*batch n_q n_k"]
    weights: Float[Tensor, "*batch n_q n_k"]
    output: Float[Tensor, "*batch n_q d_v"]


def attention_steps(
    q: Float[Tensor, "*batch n_q d_k"],
    k: Float[Tensor, "*batch n_k d_k"],
    v: Float[Tensor, "*batch n_k d_v"],
    mask: Bool[Tensor, " ..."] | None = None,
) -> AttentionSteps:
    r"""Compute scaled dot-product attention and keep every intermediate.

    .. math:: Q K^\top \;\to\; \frac{Q K^\top}{\sqrt{d_k}} \;\to\; \text{masked}
        \;\to\; \operatorname{softmax} \;\to\; \text{weights} \cdot V

    Parameters
    ----------
    q : tensor, shape (..., n_q, d_k)
        Queries, one a row.
    k : tensor, shape (..., n_k, d_k)
        Keys, as wide as the queries.
    v : tensor, shape (..., n_k, d_v)
        Values, one for each key, of any width.
    mask : bool tensor, broadcastable to (..., n_q, n_k), optional
        True where the query may look.

    Returns
    -------
    steps : AttentionSteps
        What pages and widgets show, by name.

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    ValueError
        If the mask is not bool.

    See Also
    --------
    qkv.attention_steps : the same in numpy.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.2.1 and figure 2 (left).

    Examples
    --------
    >>> import torch
    >>> from qkv import twins
    >>> q, k = torch.tensor([[4.0, 0]]), torch.tensor([[1.0, 0], [0, 1], [1, 1]])
    >>> v = torch.tensor([[10.0], [20], [30]])
    >>> steps = twins.attention_steps(q, k, v)
    >>> print(steps.dot_products.numpy(), steps.scaled.numpy().round(3))
    [[4. 0. 4.]] [[2.828 0.    2.828]]
    """
    check_attention(q, k, v, mask)
    dot_products = q @ k.mT
    scaled = dot_products / math.sqrt(q.shape[-1])
    scores = scaled if mask is None else scaled.masked_fill(~mask, -torch.inf)
    weights = softmax(scores)
    return AttentionSteps(q, k, v, mask, dot_products, scaled, scores, weights, weights @ v)
