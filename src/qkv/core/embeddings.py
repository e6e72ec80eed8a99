"""Embeddings: where X comes from, and how a row of X is read out as a word again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qkv.core.inputs import Array, as_floats, as_ids, as_vocabulary

if TYPE_CHECKING:
    from jaxtyping import Float, Int


def embed(
    ids: Int[Array, "*tokens"], E: Float[Array, "n_vocabulary d_model"]
) -> Float[Array, "*tokens d_model"]:
    r"""Take one row of the embedding table for each id.

    .. math:: x_t = E_{\text{id}_t}

    Parameters
    ----------
    ids : int array, shape (...)
        Which row each token takes.
    E : array, shape (n_vocabulary, d_model)
        The embedding table, one learned row a word.

    Returns
    -------
    X : array, shape (..., d_model)
        One token a row, a copy.

    Raises
    ------
    ShapeError
        If there is no id, or E is not one table.
    ValueError
        If an id is no integer, or names no row of E; if E holds NaN or infinity.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.4.

    Examples
    --------
    >>> import qkv
    >>> print(qkv.embed([2, 0], [[1, 2, 3], [4, 5, 6], [7, 8, 9]]))
    [[7. 8. 9.]
     [1. 2. 3.]]
    """
    E = as_floats("E", E, "n_vocabulary d_model", exactly=True)
    ids = as_ids("ids", ids, n=E.shape[0])
    return E[ids]


def vocabulary_scores(
    X: Float[Array, "*rows d_model"],
    E: Float[Array, "n_vocabulary d_model"],
    b: Float[Array, " n_vocabulary"] | None = None,
) -> Float[Array, "*rows n_vocabulary"]:
    r"""Score every word of the vocabulary by its dot product with a row of X.

    .. math:: S = X E^\top + b

    The table that made X is used again, turned over (tied weights). It is the transpose, not an
    inverse: E is not square, and has none.

    Parameters
    ----------
    X : array, shape (..., d_model)
        One token a row, out of the last layer.
    E : array, shape (n_vocabulary, d_model)
        The embedding table.
    b : array, shape (n_vocabulary,), optional
        One bias a word.

    Returns
    -------
    scores : array, shape (..., n_vocabulary)
        Their softmax is the distribution of the next word.

    Raises
    ------
    ShapeError
        If the widths do not fit.
    ValueError
        If an entry is NaN or infinite, or a score could overflow.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.4; Press and Wolf, "Using the
    output embedding to improve language models" (2017), section 2.

    Examples
    --------
    >>> import qkv
    >>> print(qkv.vocabulary_scores([[1, -1]], E=[[2, 0], [0, 3], [1, 1]]))
    [[ 2. -3.  0.]]
    """
    X, E_transposed, b = as_vocabulary(X, E, b)
    return X @ E_transposed if b is None else X @ E_transposed + b
