"""The dot product: one number for how far two rows agree, and what is made from it."""

import torch
from jaxtyping import Float
from torch import Tensor

from qkv.twins.inputs import check_queries_and_keys, check_same_shape


def dot_product(x: Float[Tensor, "*rows d"], y: Float[Tensor, "*rows d"]) -> Float[Tensor, "*rows"]:
    r"""Multiply two vectors entry by entry and add up.

    .. math:: x \cdot y = \sum_{c} x_c\, y_c

    Parameters
    ----------
    x, y : tensor, shape (..., d)
        Two vectors, or two stacks of the same shape: row i meets row i.

    Returns
    -------
    product : number, or tensor of shape (...)
        Positive where the two point the same way, 0 at a right angle, negative where they oppose.

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    See Also
    --------
    qkv.dot_product : the same in numpy.

    References
    ----------
    Strang, "Introduction to Linear Algebra" (5th edition, 2016), section 1.2.

    Examples
    --------
    >>> import torch
    >>> from qkv import twins
    >>> print(twins.dot_product(torch.tensor([1.0, 2, 3]), torch.tensor([4.0, 0, -1])).item())
    1.0
    """
    check_same_shape(x, y)
    return (x * y).sum(dim=-1)


def vector_length(x: Float[Tensor, "*rows d"]) -> Float[Tensor, "*rows"]:
    r"""Return the length of a vector: the root of its dot product with itself.

    .. math:: |x| = \sqrt{x \cdot x}

    Parameters
    ----------
    x : tensor, shape (..., d)
        A vector, or a stack of them.

    Returns
    -------
    length : number, or tensor of shape (...)
        At least 0; it is 0 only for the zero vector.

    See Also
    --------
    qkv.vector_length : the same in numpy.

    References
    ----------
    Strang, "Introduction to Linear Algebra" (5th edition, 2016), section 1.2.

    Examples
    --------
    >>> import torch
    >>> from qkv import twins
    >>> print(twins.vector_length(torch.tensor([3.0, 4.0])).item())
    5.0
    """
    return torch.linalg.vector_norm(x, dim=-1)  # its gradient at the zero vector is zero, not NaN


def cosine_similarity(
    x: Float[Tensor, "*rows d"], y: Float[Tensor, "*rows d"]
) -> Float[Tensor, "*rows"]:
    r"""Return the cosine of the angle between two vectors: the dot product without the lengths.

    .. math:: \cos(x, y) = \frac{x \cdot y}{|x|\,|y|}

    Parameters
    ----------
    x, y : tensor, shape (..., d)
        Two vectors, or two stacks of the same shape. No row may be zero.

    Returns
    -------
    cosine : number, or tensor of shape (...)
        Between -1 and 1, up to rounding.

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    See Also
    --------
    qkv.cosine_similarity : the same in numpy.

    References
    ----------
    Salton, Wong and Yang, "A vector space model for automatic indexing" (1975), section 1.

    Examples
    --------
    >>> import torch
    >>> from qkv import twins
    >>> x, y = torch.tensor([2.0, 0.0]), torch.tensor([3.0, 4.0])
    >>> print(round(twins.cosine_similarity(x, y).item(), 3))
    0.6
    """
    check_same_shape(x, y)
    return dot_product(x, y) / (vector_length(x) * vector_length(y))


def dot_product_scores(
    q: Float[Tensor, "*batch n_q d_k"], k: Float[Tensor, "*batch n_k d_k"]
) -> Float[Tensor, "*batch n_q n_k"]:
    r"""Take the dot product of every query with every key.

    .. math:: S = Q K^\top, \qquad s_{ij} = q_i \cdot k_j

    Parameters
    ----------
    q : tensor, shape (..., n_q, d_k)
        One query a row.
    k : tensor, shape (..., n_k, d_k)
        One key a row, as wide as the queries.

    Returns
    -------
    scores : tensor, shape (..., n_q, n_k)
        Row i holds what query i makes of each key.

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    See Also
    --------
    qkv.dot_product_scores : the same in numpy.

    References
    ----------
    Luong, Pham and Manning, "Effective approaches to attention-based neural machine translation"
    (2015), section 3.1, equation 8 ("dot").

    Examples
    --------
    >>> import torch
    >>> from qkv import twins
    >>> q, k = torch.tensor([[1.0, 0], [1, 1]]), torch.tensor([[2.0, 0], [0, 3], [1, 1]])
    >>> print(twins.dot_product_scores(q, k).numpy())
    [[2. 0. 1.]
     [2. 3. 2.]]
    """
    check_queries_and_keys(q, k)
    return q @ k.mT
