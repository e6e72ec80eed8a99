"""The dot product: one number for how far two rows agree, and what is left without their lengths.

Second stop of the syllabus: it needs arrays and nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qkv.core.inputs import (
    Array,
    as_floats,
    as_queries_and_keys,
    as_vector_pair,
    check_dot_products_fit,
)

if TYPE_CHECKING:
    from jaxtyping import Float


def dot_product(x: Float[Array, "*rows d"], y: Float[Array, "*rows d"]) -> Float[Array, "*rows"]:
    r"""Multiply two vectors entry by entry and add up.

    .. math:: x \cdot y = \sum_{c} x_c\, y_c

    Parameters
    ----------
    x, y : array, shape (..., d)
        Two vectors, or two stacks of the same shape: row i meets row i.

    Returns
    -------
    product : number, or array of shape (...)
        Positive where the two point the same way, 0 at a right angle, negative where they oppose.

    Raises
    ------
    ShapeError
        If the shapes differ, or an axis has size 0.
    ValueError
        If an entry is NaN or infinite, or the entries are so large that the sum could overflow.

    References
    ----------
    Strang, "Introduction to Linear Algebra" (5th edition, 2016), section 1.2.

    Examples
    --------
    >>> import qkv
    >>> print(qkv.dot_product([1, 2, 3], [4, 0, -1]))
    1.0
    """
    x, y = as_vector_pair(x, y)
    return np.sum(x * y, axis=-1)


def vector_length(x: Float[Array, "*rows d"]) -> Float[Array, "*rows"]:
    r"""Return the length of a vector: the root of its dot product with itself.

    .. math:: |x| = \sqrt{x \cdot x}

    Parameters
    ----------
    x : array, shape (..., d)
        A vector, or a stack of them.

    Returns
    -------
    length : number, or array of shape (...)
        At least 0; it is 0 only for the zero vector.

    Raises
    ------
    ShapeError
        If `x` has no axis, or an axis of size 0.
    ValueError
        If an entry is NaN or infinite, or so large that its square could overflow.

    References
    ----------
    Strang, "Introduction to Linear Algebra" (5th edition, 2016), section 1.2.

    Examples
    --------
    >>> import qkv
    >>> print(qkv.vector_length([3, 4]))
    5.0
    """
    x = as_floats("x", x, "d")
    check_dot_products_fit("x", x, "x", x)
    return np.sqrt(np.sum(x * x, axis=-1))


def cosine_similarity(
    x: Float[Array, "*rows d"], y: Float[Array, "*rows d"]
) -> Float[Array, "*rows"]:
    r"""Return the cosine of the angle between two vectors: the dot product without the lengths.

    .. math:: \cos(x, y) = \frac{x \cdot y}{|x|\,|y|}

    Parameters
    ----------
    x, y : array, shape (..., d)
        Two vectors, or two stacks of the same shape. No row may be zero.

    Returns
    -------
    cosine : number, or array of shape (...)
        Between -1 and 1, up to rounding.

    Raises
    ------
    ShapeError
        If the shapes differ, or an axis has size 0.
    ValueError
        If a row has length 0, for then it has no direction; if an entry is NaN or infinite.

    References
    ----------
    Salton, Wong and Yang, "A vector space model for automatic indexing" (1975), section 1.

    Examples
    --------
    >>> import qkv
    >>> print(qkv.cosine_similarity([2, 0], [3, 4]))
    0.6
    """
    x, y = as_vector_pair(x, y)
    lengths = vector_length(x) * vector_length(y)
    if np.any(lengths == 0.0):
        raise ValueError("x or y has a row of length 0; without a direction it has no cosine")
    return dot_product(x, y) / lengths


def dot_product_scores(
    q: Float[Array, "*batch n_q d_k"], k: Float[Array, "*batch n_k d_k"]
) -> Float[Array, "*batch n_q n_k"]:
    r"""Take the dot product of every query with every key.

    .. math:: S = Q K^\top, \qquad s_{ij} = q_i \cdot k_j

    Parameters
    ----------
    q : array, shape (..., n_q, d_k)
        One query a row.
    k : array, shape (..., n_k, d_k)
        One key a row, as wide as the queries.

    Returns
    -------
    scores : array, shape (..., n_q, n_k)
        Row i holds what query i makes of each key.

    Raises
    ------
    ShapeError
        If the widths or the leading axes differ, or an axis has size 0.
    ValueError
        If an entry is NaN or infinite, or a score could overflow.

    References
    ----------
    Luong, Pham and Manning, "Effective approaches to attention-based neural machine translation"
    (2015), section 3.1, equation 8 ("dot").

    Examples
    --------
    >>> import qkv
    >>> print(qkv.dot_product_scores([[1, 0], [1, 1]], [[2, 0], [0, 3], [1, 1]]))
    [[2. 0. 1.]
     [2. 3. 2.]]
    """
    q, k = as_queries_and_keys(q, k)
    return q @ np.swapaxes(k, -1, -2)
