"""A soft look-up: query, key and value before anything is learned."""

import torch
from jaxtyping import Float
from torch import Tensor

from qkv.twins.inputs import check_attention, check_queries_and_keys
from qkv.twins.scores import attention_from_scores


def squared_distances(
    q: Float[Tensor, "*batch n_q d_k"], k: Float[Tensor, "*batch n_k d_k"]
) -> Float[Tensor, "*batch n_q n_k"]:
    r"""Measure how far every query lies from every key, squared.

    .. math:: |q_i - k_j|^2 = |q_i|^2 - 2\, q_i \cdot k_j + |k_j|^2

    Parameters
    ----------
    q : tensor, shape (..., n_q, d_k)
        One query a row.
    k : tensor, shape (..., n_k, d_k)
        One key a row.

    Returns
    -------
    distances : tensor, shape (..., n_q, n_k)
        At least 0; 0 where a query equals a key.

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    See Also
    --------
    qkv.squared_distances : the same in numpy.

    References
    ----------
    Zhang et al., "Dive into deep learning" (2023), section 11.2.

    Examples
    --------
    >>> import torch
    >>> from qkv import twins
    >>> q, k = torch.tensor([[0.0, 0]]), torch.tensor([[3.0, 4], [0, 1], [0, 0]])
    >>> print(twins.squared_distances(q, k).numpy())
    [[25.  1.  0.]]
    """
    check_queries_and_keys(q, k)
    differences = q[..., :, None, :] - k[..., None, :, :]
    return (differences**2).sum(dim=-1)


def nearest_look_up(
    q: Float[Tensor, "*batch n_q d_k"],
    k: Float[Tensor, "*batch n_k d_k"],
    v: Float[Tensor, "*batch n_k d_v"],
) -> tuple[Float[Tensor, "*batch n_q d_v"], Float[Tensor, "*batch n_q n_k"]]:
    r"""Give each query the value of the one key with the largest dot product.

    .. math:: o_i = v_{j^*}, \qquad j^* = \arg\max_j\; q_i \cdot k_j

    Parameters
    ----------
    q : tensor, shape (..., n_q, d_k)
        Queries, one a row.
    k : tensor, shape (..., n_k, d_k)
        Keys, as wide as the queries.
    v : tensor, shape (..., n_k, d_v)
        Values, one for each key.

    Returns
    -------
    output : tensor, shape (..., n_q, d_v)
        A value for each query.
    weights : tensor, shape (..., n_q, n_k)
        1 at the chosen key, the first of several that are equal; 0 elsewhere.

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    See Also
    --------
    qkv.nearest_look_up : the same in numpy.

    References
    ----------
    Zhang et al., "Dive into deep learning" (2023), section 11.1.

    Examples
    --------
    >>> import torch
    >>> from qkv import twins
    >>> q, k = torch.tensor([[4.0, 0]]), torch.tensor([[0.0, 1], [1, 1]])
    >>> v = torch.tensor([[10.0], [30]])
    >>> output, weights = twins.nearest_look_up(q, k, v)
    >>> print(weights.numpy(), output.numpy())
    [[0. 1.]] [[30.]]
    """
    check_attention(q, k, v)
    best = (q @ k.mT).argmax(dim=-1, keepdim=True)
    weights = (torch.arange(k.shape[-2]) == best).to(v.dtype)
    return weights @ v, weights


def kernel_regression(
    q: Float[Tensor, "*batch n_q d_k"],
    k: Float[Tensor, "*batch n_k d_k"],
    v: Float[Tensor, "*batch n_k d_v"],
    bandwidth: float = 1.0,
) -> tuple[Float[Tensor, "*batch n_q d_v"], Float[Tensor, "*batch n_q n_k"]]:
    r"""Give each query a mean of the values, weighted by how near their keys lie.

    .. math:: w_{ij} = \frac{e^{-|q_i - k_j|^2 / 2h^2}}{\sum_{j'} e^{-|q_i - k_{j'}|^2 / 2h^2}}

    It is a softmax of negative squared distances. Where all keys have one length, the distance
    and the dot product differ by numbers that a row shares, and the weights are those of
    attention with the scale 1 / h^2.

    Parameters
    ----------
    q : tensor, shape (..., n_q, d_k)
        Where a value is wanted.
    k : tensor, shape (..., n_k, d_k)
        Where values were measured.
    v : tensor, shape (..., n_k, d_v)
        What was measured there.
    bandwidth : float, default 1.0
        How far "near" reaches, the h of the equation.

    Returns
    -------
    output : tensor, shape (..., n_q, d_v)
        One estimate for each query.
    weights : tensor, shape (..., n_q, n_k)
        Each row sums to 1.

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    See Also
    --------
    qkv.kernel_regression : the same in numpy.

    References
    ----------
    Nadaraya, "On estimating regression" (1964); Watson, "Smooth regression analysis" (1964).

    Examples
    --------
    >>> import torch
    >>> from qkv import twins
    >>> q, k, v = (torch.tensor(x)[:, None] for x in ([1.0], [0.0, 2.0, 9.0], [10.0, 30.0, 50.0]))
    >>> output, weights = twins.kernel_regression(q, k, v)
    >>> print(weights.numpy().round(3), output.numpy().round(3))
    [[0.5 0.5 0. ]] [[20.]]
    """
    check_attention(q, k, v)
    return attention_from_scores(-squared_distances(q, k) / (2.0 * bandwidth**2), v)
