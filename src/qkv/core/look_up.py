"""A soft look-up: query, key and value before anything is learned.

A dictionary gives the value of the one key that equals the query. A table of measurements gives a
mean of the values whose keys lie near. The second is attention with a distance in place of the
dot product.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qkv.core.inputs import (
    Array,
    as_attention_inputs,
    as_divisor,
    as_queries_and_keys,
    check_distances_fit,
)
from qkv.core.scores import attention_from_scores

if TYPE_CHECKING:
    from jaxtyping import Float


def squared_distances(
    q: Float[Array, "*batch n_q d_k"], k: Float[Array, "*batch n_k d_k"]
) -> Float[Array, "*batch n_q n_k"]:
    r"""Measure how far every query lies from every key, squared.

    .. math:: |q_i - k_j|^2 = |q_i|^2 - 2\, q_i \cdot k_j + |k_j|^2

    Parameters
    ----------
    q : array, shape (..., n_q, d_k)
        One query a row.
    k : array, shape (..., n_k, d_k)
        One key a row.

    Returns
    -------
    distances : array, shape (..., n_q, n_k)
        At least 0; 0 where a query equals a key.

    Raises
    ------
    ShapeError
        If the widths or the leading axes differ, or an axis has size 0.
    ValueError
        If an entry is NaN or infinite, or a distance could overflow.

    References
    ----------
    Zhang et al., "Dive into deep learning" (2023), section 11.2.

    Examples
    --------
    >>> import qkv
    >>> print(qkv.squared_distances([[0, 0]], [[3, 4], [0, 1], [0, 0]]))
    [[25.  1.  0.]]
    """
    q, k = as_queries_and_keys(q, k)
    check_distances_fit(q, k)
    differences = q[..., :, None, :] - k[..., None, :, :]
    return np.sum(differences**2, axis=-1)


def nearest_look_up(
    q: Float[Array, "*batch n_q d_k"],
    k: Float[Array, "*batch n_k d_k"],
    v: Float[Array, "*batch n_k d_v"],
) -> tuple[Float[Array, "*batch n_q d_v"], Float[Array, "*batch n_q n_k"]]:
    r"""Give each query the value of the one key with the largest dot product.

    .. math:: o_i = v_{j^*}, \qquad j^* = \arg\max_j\; q_i \cdot k_j

    Parameters
    ----------
    q : array, shape (..., n_q, d_k)
        Queries, one a row.
    k : array, shape (..., n_k, d_k)
        Keys, as wide as the queries.
    v : array, shape (..., n_k, d_v)
        Values, one for each key.

    Returns
    -------
    output : array, shape (..., n_q, d_v)
        A value for each query.
    weights : array, shape (..., n_q, n_k)
        1 at the chosen key, the first of several that are equal; 0 elsewhere.

    Raises
    ------
    ShapeError
        If the shapes do not fit, or an axis has size 0.
    ValueError
        If an entry is NaN or infinite, or a score could overflow.

    References
    ----------
    Zhang et al., "Dive into deep learning" (2023), section 11.1.

    Examples
    --------
    >>> import qkv
    >>> output, weights = qkv.nearest_look_up([[4, 0]], [[0, 1], [1, 1]], [[10], [30]])
    >>> print(weights, output)
    [[0. 1.]] [[30.]]
    """
    q, k, v, _ = as_attention_inputs(q, k, v, None)
    best = np.argmax(q @ np.swapaxes(k, -1, -2), axis=-1)
    weights = (np.arange(k.shape[-2]) == best[..., None]).astype(v.dtype)
    return weights @ v, weights


def kernel_regression(
    q: Float[Array, "*batch n_q d_k"],
    k: Float[Array, "*batch n_k d_k"],
    v: Float[Array, "*batch n_k d_v"],
    bandwidth: float = 1.0,
) -> tuple[Float[Array, "*batch n_q d_v"], Float[Array, "*batch n_q n_k"]]:
    r"""Give each query a mean of the values, weighted by how near their keys lie.

    .. math:: w_{ij} = \frac{e^{-|q_i - k_j|^2 / 2h^2}}{\sum_{j'} e^{-|q_i - k_{j'}|^2 / 2h^2}}

    It is a softmax of negative squared distances. Where all keys have one length, the distance
    and the dot product differ by numbers that a row shares, and the weights are those of
    attention with the scale 1 / h^2.

    Parameters
    ----------
    q : array, shape (..., n_q, d_k)
        Where a value is wanted.
    k : array, shape (..., n_k, d_k)
        Where values were measured.
    v : array, shape (..., n_k, d_v)
        What was measured there.
    bandwidth : float, default 1.0
        How far "near" reaches, the h of the equation.

    Returns
    -------
    output : array, shape (..., n_q, d_v)
        One estimate for each query.
    weights : array, shape (..., n_q, n_k)
        Each row sums to 1.

    Raises
    ------
    ShapeError
        If the shapes do not fit, or an axis has size 0.
    ValueError
        If an entry is NaN or infinite, or the bandwidth is not above 0 or far too small.

    References
    ----------
    Nadaraya, "On estimating regression" (1964); Watson, "Smooth regression analysis" (1964).

    Examples
    --------
    >>> import qkv
    >>> output, weights = qkv.kernel_regression([[1.0]], [[0.0], [2.0], [9.0]], [[10], [30], [50]])
    >>> print(weights.round(3), output.round(3))
    [[0.5 0.5 0. ]] [[20.]]
    """
    q, k, v, _ = as_attention_inputs(q, k, v, None)
    half_squared_distances = squared_distances(q, k) / 2.0
    h = as_divisor("bandwidth", bandwidth, "a distance", half_squared_distances, power=2)
    return attention_from_scores(-half_squared_distances / h / h, v)
