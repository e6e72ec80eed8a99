"""Scaled dot-product attention: the equation of the paper, once for use and once to look inside."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qkv.core.inputs import Array, as_attention_inputs
from qkv.core.softmax import softmax

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


def scaled_dot_product_attention(
    q: Float[Array, "*batch n_q d_k"],
    k: Float[Array, "*batch n_k d_k"],
    v: Float[Array, "*batch n_k d_v"],
    mask: Bool[Array, " ..."] | None = None,
) -> tuple[Float[Array, "*batch n_q d_v"], Float[Array, "*batch n_q n_k"]]:
    r"""Give each query a mean of the values, weighted by how well its keys match.

    .. math:: \operatorname{Attention}(Q, K, V)
        = \operatorname{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V

    Parameters
    ----------
    q : array, shape (..., n_q, d_k)
        Queries, one a row.
    k : array, shape (..., n_k, d_k)
        Keys, as wide as the queries.
    v : array, shape (..., n_k, d_v)
        Values, one for each key, of any width.
    mask : bool array, broadcastable to (..., n_q, n_k), optional
        True where the query may look.

    Returns
    -------
    output : array, shape (..., n_q, d_v)
        One row for each query; zeros for a query that may look at nothing.
    weights : array, shape (..., n_q, n_k)
        Each row sums to 1, or is zero for a query that may look at nothing.

    Raises
    ------
    ShapeError
        If the shapes do not fit, or an axis has size 0.
    ValueError
        If the mask is not bool, an entry is NaN or infinite, or a score could overflow.

    See Also
    --------
    attention_steps : the same, with every intermediate.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.2.1, equation 1.

    Examples
    --------
    >>> import qkv
    >>> output, weights = qkv.scaled_dot_product_attention(
    ...     q=[[4, 0]], k=[[1, 0], [0, 1], [1, 1]], v=[[10], [20], [30]]
    ... )
    >>> print(weights.round(3), output.round(3))
    [[0.486 0.029 0.486]] [[20.]]
    """
    q, k, v, mask = as_attention_inputs(q, k, v, mask)
    d_k = q.shape[-1]
    scores = q @ np.swapaxes(k, -1, -2)
    scores /= math.sqrt(d_k)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    weights = softmax(scores, out=scores)  # a row of -inf gives zeros
    return weights @ v, weights


@dataclass(frozen=True, eq=False)
class AttentionSteps:
    """Every array between the inputs and the output of scaled dot-product attention.

    Attributes
    ----------
    q, k, v : array
        The inputs, of shape (..., n_q, d_k), (..., n_k, d_k) and (..., n_k, d_v).
    mask : bool array or None
        True where the query may look.
    dot_products : array, shape (..., n_q, n_k)
        Each query with each key.
    scaled : array, shape (..., n_q, n_k)
        The dot products divided by the root of d_k.
    scores : array, shape (..., n_q, n_k)
        The same with -inf where the query may not look.
    weights : array, shape (..., n_q, n_k)
        The softmax of each row.
    output : array, shape (..., n_q, d_v)
        The weighted means of the values.
    """

    q: Float[Array, "*batch n_q d_k"]
    k: Float[Array, "*batch n_k d_k"]
    v: Float[Array, "*batch n_k d_v"]
    mask: Bool[Array, " ..."] | None
    dot_products: Float[Array, "*batch n_q n_k"]
    scaled: Float[Array, "*batch n_q n_k"]
    scores: Float[Array, "*batch n_q n_k"]
    weights: Float[Array, "*batch n_q n_k"]
    output: Float[Array, "*batch n_q d_v"]


def attention_steps(
    q: Float[Array, "*batch n_q d_k"],
    k: Float[Array, "*batch n_k d_k"],
    v: Float[Array, "*batch n_k d_v"],
    mask: Bool[Array, " ..."] | None = None,
) -> AttentionSteps:
    r"""Compute scaled dot-product attention and keep every intermediate.

    .. math:: Q K^\top \;\to\; \frac{Q K^\top}{\sqrt{d_k}} \;\to\; \text{masked}
        \;\to\; \operatorname{softmax} \;\to\; \text{weights} \cdot V

    Parameters
    ----------
    q : array, shape (..., n_q, d_k)
        Queries, one a row.
    k : array, shape (..., n_k, d_k)
        Keys, as wide as the queries.
    v : array, shape (..., n_k, d_v)
        Values, one for each key, of any width.
    mask : bool array, broadcastable to (..., n_q, n_k), optional
        True where the query may look.

    Returns
    -------
    steps : AttentionSteps
        What pages and widgets show, by name.

    Raises
    ------
    ShapeError
        If the shapes do not fit, or an axis has size 0.
    ValueError
        If the mask is not bool, an entry is NaN or infinite, or a score could overflow.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.2.1 and figure 2 (left).

    Examples
    --------
    >>> import qkv
    >>> steps = qkv.attention_steps(q=[[4, 0]], k=[[1, 0], [0, 1], [1, 1]], v=[[10], [20], [30]])
    >>> print(steps.dot_products, steps.scaled.round(3))
    [[4. 0. 4.]] [[2.828 0.    2.828]]
    """
    q, k, v, mask = as_attention_inputs(q, k, v, mask)
    dot_products = q @ np.swapaxes(k, -1, -2)
    scaled = dot_products / math.sqrt(q.shape[-1])
    scores = scaled if mask is None else np.where(mask, scaled, -np.inf)
    weights = softmax(scores)
    return AttentionSteps(q, k, v, mask, dot_products, scaled, scores, weights, weights @ v)
