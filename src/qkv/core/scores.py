"""Other ways to score a query against a key, and attention from any finished scores.

The dot product is in `dot_product.py`. Here are the rivals that the book compares it with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qkv.core.inputs import (
    Array,
    as_additive_inputs,
    as_bilinear_inputs,
    as_queries_and_keys,
    as_scores_and_values,
    check_rows_have_length,
)
from qkv.core.softmax import softmax

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


def cosine_scores(
    q: Float[Array, "*batch n_q d_k"], k: Float[Array, "*batch n_k d_k"]
) -> Float[Array, "*batch n_q n_k"]:
    r"""Take the cosine of every query with every key: lengths no longer count.

    .. math:: s_{ij} = \frac{q_i \cdot k_j}{|q_i|\,|k_j|}

    Parameters
    ----------
    q : array, shape (..., n_q, d_k)
        One query a row; no row may be zero.
    k : array, shape (..., n_k, d_k)
        One key a row; no row may be zero.

    Returns
    -------
    scores : array, shape (..., n_q, n_k)
        Between -1 and 1, so softmax alone cannot make them sharp: multiply by a number first.

    Raises
    ------
    ShapeError
        If the widths or the leading axes differ, or an axis has size 0.
    ValueError
        If a row has length 0, or an entry is NaN or infinite.

    References
    ----------
    Graves, Wayne and Danihelka, "Neural Turing machines" (2014), section 3.3.1, equation 6;
    Henry et al., "Query-key normalization for transformers" (2020), section 3.

    Examples
    --------
    >>> import qkv
    >>> print(qkv.cosine_scores([[2, 0]], [[3, 4], [0, 1], [-7, 0]]))
    [[ 0.6  0.  -1. ]]
    """
    q, k = as_queries_and_keys(q, k)
    length_q = np.sqrt(np.sum(q * q, axis=-1, keepdims=True))
    length_k = np.sqrt(np.sum(k * k, axis=-1, keepdims=True))
    check_rows_have_length(q=length_q, k=length_k)
    return (q / length_q) @ np.swapaxes(k / length_k, -1, -2)


def bilinear_scores(
    X_q: Float[Array, "*batch n_q d_q"],
    X_kv: Float[Array, "*batch n_k d_kv"],
    M: Float[Array, "d_q d_kv"],
) -> Float[Array, "*batch n_q n_k"]:
    r"""Score every row of one sequence against every row of another by one matrix.

    .. math:: S = X_q M X_{kv}^\top

    With M = W_Q W_K^T these are the dot products of queries with keys: scores see W_Q and W_K
    through this product alone.

    Parameters
    ----------
    X_q : array, shape (..., n_q, d_q)
        The sequence that asks.
    X_kv : array, shape (..., n_k, d_kv)
        The sequence that is looked at.
    M : array, shape (d_q, d_kv)
        What a property of one is worth beside a property of the other.

    Returns
    -------
    scores : array, shape (..., n_q, n_k)

    Raises
    ------
    ShapeError
        If the widths or the leading axes do not fit, or an axis has size 0.
    ValueError
        If an entry is NaN or infinite, or a score could overflow.

    References
    ----------
    Luong, Pham and Manning, "Effective approaches to attention-based neural machine translation"
    (2015), section 3.1, equation 8 ("general").

    Examples
    --------
    >>> import qkv
    >>> print(qkv.bilinear_scores([[1, 0], [0, 1]], [[1, 2, 0]], [[1, 0, 5], [0, 3, 0]]))
    [[1.]
     [6.]]
    """
    X_q, X_kv, M = as_bilinear_inputs(X_q, X_kv, M)
    return X_q @ M @ np.swapaxes(X_kv, -1, -2)


def additive_scores(
    q: Float[Array, "*batch n_q d_q"],
    k: Float[Array, "*batch n_k d_kv"],
    W_Q: Float[Array, "d_q d_a"],
    W_K: Float[Array, "d_kv d_a"],
    w: Float[Array, " d_a"],
) -> Float[Array, "*batch n_q n_k"]:
    r"""Score every query against every key by a small network with one hidden layer.

    .. math:: s_{ij} = w \cdot \tanh(q_i W_Q + k_j W_K)

    Parameters
    ----------
    q : array, shape (..., n_q, d_q)
        One query a row.
    k : array, shape (..., n_k, d_kv)
        One key a row; it may have another width than the queries.
    W_Q : array, shape (d_q, d_a)
        Takes queries to the hidden layer.
    W_K : array, shape (d_kv, d_a)
        Takes keys to the hidden layer.
    w : array, shape (d_a,)
        Reads the score from the hidden layer.

    Returns
    -------
    scores : array, shape (..., n_q, n_k)

    Raises
    ------
    ShapeError
        If the widths or the leading axes do not fit, or an axis has size 0.
    ValueError
        If an entry is NaN or infinite, or a product could overflow.

    References
    ----------
    Bahdanau, Cho and Bengio, "Neural machine translation by jointly learning to align and
    translate" (2015), appendix A.1.2.

    Examples
    --------
    >>> import qkv
    >>> scores = qkv.additive_scores(
    ...     q=[[1, 0]], k=[[0, 1, 0], [0, 0, 2]], W_Q=[[1], [0]], W_K=[[0], [-1], [1]], w=[2]
    ... )
    >>> print(scores.round(3))
    [[0.   1.99]]
    """
    q, k, W_Q, W_K, w = as_additive_inputs(q, k, W_Q, W_K, w)
    from_query = (q @ W_Q)[..., :, None, :]
    from_key = (k @ W_K)[..., None, :, :]
    return np.tanh(from_query + from_key) @ w


def attention_from_scores(
    scores: Float[Array, "*batch n_q n_k"],
    v: Float[Array, "*batch n_k d_v"],
    mask: Bool[Array, " ..."] | None = None,
) -> tuple[Float[Array, "*batch n_q d_v"], Float[Array, "*batch n_q n_k"]]:
    r"""Turn finished scores into weights and take the weighted means of the values.

    .. math:: \operatorname{softmax}(S)\, V

    The scores are used as they are: scale them, cap them or add a bias before.

    Parameters
    ----------
    scores : array, shape (..., n_q, n_k)
        What each query makes of each key; -inf where it may not look.
    v : array, shape (..., n_k, d_v)
        One value for each key.
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
        If the mask is not bool, or the scores hold NaN or +inf.

    References
    ----------
    Luong, Pham and Manning, "Effective approaches to attention-based neural machine translation"
    (2015), section 3, equation 7.

    Examples
    --------
    >>> import qkv
    >>> output, weights = qkv.attention_from_scores([[0, 0, 9]], v=[[10], [20], [30]],
    ...     mask=[[True, True, False]])
    >>> print(weights, output)
    [[0.5 0.5 0. ]] [[15.]]
    """
    scores, v, mask = as_scores_and_values(scores, v, mask)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    weights = softmax(scores)
    return weights @ v, weights
