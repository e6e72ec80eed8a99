"""Embeddings: where X comes from, and how a row of X is read out as a word again."""

from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from qkv.twins.inputs import check_projection


def embed(
    ids: Int[Tensor, "*tokens"], E: Float[Tensor, "n_vocabulary d_model"]
) -> Float[Tensor, "*tokens d_model"]:
    r"""Take one row of the embedding table for each id.

    .. math:: x_t = E_{\text{id}_t}

    Parameters
    ----------
    ids : int tensor, shape (...)
        Which row each token takes.
    E : tensor, shape (n_vocabulary, d_model)
        The embedding table, one learned row a word.

    Returns
    -------
    X : tensor, shape (..., d_model)
        One token a row, a copy.

    See Also
    --------
    qkv.embed : the same in numpy.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.4.

    Examples
    --------
    >>> import torch
    >>> from qkv import twins
    >>> E = torch.tensor([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    >>> print(twins.embed(torch.tensor([2, 0]), E).numpy())
    [[7 8 9]
     [1 2 3]]
    """
    return functional.embedding(ids, E)  # E[ids], but an id below 0 is refused


def vocabulary_scores(
    X: Float[Tensor, "*rows d_model"],
    E: Float[Tensor, "n_vocabulary d_model"],
    b: Float[Tensor, " n_vocabulary"] | None = None,
) -> Float[Tensor, "*rows n_vocabulary"]:
    r"""Score every word of the vocabulary by its dot product with a row of X.

    .. math:: S = X E^\top + b

    The table that made X is used again, turned over (tied weights). It is the transpose, not an
    inverse: E is not square, and has none.

    Parameters
    ----------
    X : tensor, shape (..., d_model)
        One token a row, out of the last layer.
    E : tensor, shape (n_vocabulary, d_model)
        The embedding table.
    b : tensor, shape (n_vocabulary,), optional
        One bias a word.

    Returns
    -------
    scores : tensor, shape (..., n_vocabulary)
        Their softmax is the distribution of the next word.

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    See Also
    --------
    qkv.vocabulary_scores : the same in numpy.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.4; Press and Wolf, "Using the
    output embedding to improve language models" (2017), section 2.

    Examples
    --------
    >>> import torch
    >>> from qkv import twins
    >>> E = torch.tensor([[2.0, 0], [0, 3], [1, 1]])
    >>> print(twins.vocabulary_scores(torch.tensor([[1.0, -1]]), E).numpy())
    [[ 2. -3.  0.]]
    """
    check_projection(X, E.mT, b, "X E.T b")
    return X @ E.mT if b is None else X @ E.mT + b
