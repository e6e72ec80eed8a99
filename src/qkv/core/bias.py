"""Attention with a bias: numbers added to the scores, which is not what a mask is."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from qkv.core.inputs import Array, as_attention_inputs, as_bias, check_bias_fits
from qkv.core.scores import attention_from_scores

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


def attention_with_bias(
    q: Float[Array, "*batch n_q d_k"],
    k: Float[Array, "*batch n_k d_k"],
    v: Float[Array, "*batch n_k d_v"],
    bias: Float[Array, " ..."],
    mask: Bool[Array, " ..."] | None = None,
) -> tuple[Float[Array, "*batch n_q d_v"], Float[Array, "*batch n_q n_k"]]:
    r"""Compute attention with a number added to each scaled score.

    .. math:: \operatorname{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}} + B\right) V

    A bias of 0 leaves a score as it is, so a mask of 0 and 1 forbids nothing here. Only -inf
    forbids, as torch's and ONNX's float masks do it.

    Parameters
    ----------
    q : array, shape (..., n_q, d_k)
        Queries, one a row.
    k : array, shape (..., n_k, d_k)
        Keys, as wide as the queries.
    v : array, shape (..., n_k, d_v)
        Values, one for each key.
    bias : array, broadcastable to (..., n_q, n_k)
        Added to the scores; finite, or -inf where the query may not look.
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
        If the bias holds NaN or +inf, the mask is not bool, an entry is NaN or infinite, or a
        score could overflow.

    References
    ----------
    Raffel et al., "Exploring the limits of transfer learning with a unified text-to-text
    transformer" (2020), section 2.1, relative position biases.

    Examples
    --------
    >>> import qkv
    >>> output, weights = qkv.attention_with_bias(
    ...     q=[[0, 0]], k=[[1, 0], [0, 1]], v=[[10], [20]], bias=[[0, -100]]
    ... )
    >>> print(weights.round(3), output.round(3))
    [[1. 0.]] [[10.]]
    """
    q, k, v, mask = as_attention_inputs(q, k, v, mask)
    bias = as_bias(bias, *q.shape[:-2], n_q=q.shape[-2], n_k=k.shape[-2])
    scores = q @ np.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1])
    with np.errstate(over="ignore"):  # refused in words below
        biased = scores + bias
    check_bias_fits(biased, bias)
    return attention_from_scores(biased, v, mask)
