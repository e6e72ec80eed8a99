"""Other ways to score a query against a key, and attention from any finished scores."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from qkv.twins.inputs import (
    check_additive,
    check_bilinear,
    check_leading_axes,
    check_projection,
    check_queries_and_keys,
    check_scores_and_values,
)
from qkv.twins.softmax import softmax


def cosine_scores(
    q: Float[Tensor, "*batch n_q d_k"], k: Float[Tensor, "*batch n_k d_k"]
) -> Float[Tensor, "*batch n_q n_k"]:
    r"""Take the cosine of every query with every key: lengths no longer count.

    .. math:: s_{ij} = \frac{q_i \cdot k_j}{|q_i|\,|k_j|}

    Parameters
    ----------
    q : tensor, shape (..., n_q, d_k)
        One query a row; no row may be zero.
    k : tensor, shape (..., n_k, d_k)
        One key a row; no row may be zero.

    Returns
    -------
    scores : tensor, shape (..., n_q, n_k)
        Between -1 and 1, so softmax alone cannot make them sharp: multiply by a number first.

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    See Also
    --------
    qkv.cosine_scores : the same in numpy.

    References
    ----------
    Graves, Wayne and Danihelka, "Neural Turing machines" (2014), section 3.3.1, equation 6;
    Henry et al., "Query-key normalization for transformers" (2020), section 3.

    Examples
    --------
    >>> import torch
    >>> from qkv import twins
    >>> q, k = torch.tensor([[2.0, 0]]), torch.tensor([[3.0, 4], [0, 1], [-7, 0]])
    >>> print(twins.cosine_scores(q, k).numpy().round(3))
    [[ 0.6  0.  -1. ]]
    """
    check_queries_and_keys(q, k)
    length_q = torch.linalg.vector_norm(q, dim=-1, keepdim=True)
    length_k = torch.linalg.vector_norm(k, dim=-1, keepdim=True)
    return (q / length_q) @ (k / length_k).mT


def bilinear_scores(
    X_q: Float[Tensor, "*batch n_q d_q"],
    X_kv: Float[Tensor, "*batch n_k d_kv"],
    M: Float[Tensor, "d_q d_kv"],
) -> Float[Tensor, "*batch n_q n_k"]:
    r"""Score every row of one sequence against every row of another by one matrix.

    .. math:: S = X_q M X_{kv}^\top

    With M = W_Q W_K^T these are the dot products of queries with keys: scores see W_Q and W_K
    through this product alone.

    Parameters
    ----------
    X_q : tensor, shape (..., n_q, d_q)
        The sequence that asks.
    X_kv : tensor, shape (..., n_k, d_kv)
        The sequence that is looked at.
    M : tensor, shape (d_q, d_kv)
        What a property of one is worth beside a property of the other.

    Returns
    -------
    scores : tensor, shape (..., n_q, n_k)

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    See Also
    --------
    qkv.bilinear_scores : the same in numpy.

    References
    ----------
    Luong, Pham and Manning, "Effective approaches to attention-based neural machine translation"
    (2015), section 3.1, equation 8 ("general").

    Examples
    --------
    >>> import torch
    >>> from qkv import twins
    >>> X_q, X_kv = torch.tensor([[1.0, 0], [0, 1]]), torch.tensor([[1.0, 2, 0]])
    >>> print(twins.bilinear_scores(X_q, X_kv, torch.tensor([[1.0, 0, 5], [0, 3, 0]])).numpy())
    [[1.]
     [6.]]
    """
    check_bilinear(X_q, X_kv, M)
    return X_q @ M @ X_kv.mT


def additive_scores(
    q: Float[Tensor, "*batch n_q d_q"],
    k: Float[Tensor, "*batch n_k d_kv"],
    W_Q: Float[Tensor, "d_q d_a"],
    W_K: Float[Tensor, "d_kv d_a"],
    w: Float[Tensor, " d_a"],
) -> Float[Tensor, "*batch n_q n_k"]:
    r"""Score every query against every key by a small network with one hidden layer.

    .. math:: s_{ij} = w \cdot \tanh(q_i W_Q + k_j W_K)

    Parameters
    ----------
    q : tensor, shape (..., n_q, d_q)
        One query a row.
    k : tensor, shape (..., n_k, d_kv)
        One key a row; it may have another width than the queries.
    W_Q : tensor, shape (d_q, d_a)
        Takes queries to the hidden layer.
    W_K : tensor, shape (d_kv, d_a)
        Takes keys to the hidden layer.
    w : tensor, shape (d_a,)
        Reads the score from the hidden layer.

    Returns
    -------
    scores : tensor, shape (..., n_q, n_k)

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    See Also
    --------
    qkv.additive_scores : the same in numpy.

    References
    ----------
    Bahdanau, Cho and Bengio, "Neural machine translation by jointly learning to align and
    translate" (2015), appendix A.1.2.

    Examples
    --------
    >>> import torch
    >>> from qkv import twins
    >>> q, k = torch.tensor([[1.0, 0]]), torch.tensor([[0.0, 1, 0], [0, 0, 2]])
    >>> W_Q, W_K = torch.tensor([[1.0], [0]]), torch.tensor([[0.0], [-1], [1]])
    >>> print(twins.additive_scores(q, k, W_Q, W_K, w=torch.tensor([2.0])).numpy().round(3))
    [[0.   1.99]]
    """
    check_projection(q, W_Q, names="q W_Q -")
    check_projection(k, W_K, names="k W_K -")
    check_leading_axes("q", q, "k", k)
    check_additive(W_Q, W_K, w)
    from_query = (q @ W_Q)[..., :, None, :]
    from_key = (k @ W_K)[..., None, :, :]
    return torch.tanh(from_query + from_key) @ w


def attention_from_scores(
    scores: Float[Tensor, "*batch n_q n_k"],
    v: Float[Tensor, "*batch n_k d_v"],
    mask: Bool[Tensor, " ..."] | None = None,
) -> tuple[Float[Tensor, "*batch n_q d_v"], Float[Tensor, "*batch n_q n_k"]]:
    r"""Turn finished scores into weights and take the weighted means of the values.

    .. math:: \operatorname{softmax}(S)\, V

    The scores are used as they are: scale them, cap them or add a bias before.

    Parameters
    ----------
    scores : tensor, shape (..., n_q, n_k)
        What each query makes of each key; -inf where it may not look.
    v : tensor, shape (..., n_k, d_v)
        One value for each key.
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
    qkv.attention_from_scores : the same in numpy.

    References
    ----------
    Luong, Pham and Manning, "Effective approaches to attention-based neural machine translation"
    (2015), section 3, equation 7.

    Examples
    --------
    >>> import torch
    >>> from qkv import twins
    >>> scores, v = torch.tensor([[0.0, 0, 9]]), torch.tensor([[10.0], [20], [30]])
    >>> mask = torch.tensor([[True, True, False]])
    >>> output, weights = twins.attention_from_scores(scores, v, mask)
    >>> print(weights.numpy(), output.numpy())
    [[0.5 0.5 0. ]] [[15.]]
    """
    check_scores_and_values(scores, v, mask)
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    weights = softmax(scores)
    return weights @ v, weights
