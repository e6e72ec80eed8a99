"""Projections: where Q, K and V come from."""

from jaxtyping import Float
from torch import Tensor

from qkv.twins.inputs import check_projection


def project(
    X: Float[Tensor, "*rows d_in"],
    W: Float[Tensor, "d_in d_out"],
    b: Float[Tensor, " d_out"] | None = None,
) -> Float[Tensor, "*rows d_out"]:
    """Map every row of X by one matrix, and add a bias if there is one.

    .. math:: X W + b

    Parameters
    ----------
    X : tensor, shape (..., d_in)
        One token a row; a single row, or any stack of rows.
    W : tensor, shape (d_in, d_out)
        The same matrix for all rows. torch's ``nn.Linear`` stores its transpose.
    b : tensor, shape (d_out,), optional
        The same bias for all rows.

    Returns
    -------
    projected : tensor, shape (..., d_out)
        Row t depends on row t of X and on no other.

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    See Also
    --------
    qkv.project : the same in numpy.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.2.2.

    Examples
    --------
    >>> import torch
    >>> from qkv import twins
    >>> X = torch.tensor([[1.0, 2], [0, 1], [3, 0]])
    >>> W = torch.tensor([[1.0, 0, 1, 5], [0, 1, 1, 0]])
    >>> print(twins.project(X, W).numpy())
    [[ 1.  2.  3.  5.]
     [ 0.  1.  1.  0.]
     [ 3.  0.  3. 15.]]
    """
    check_projection(X, W, b)
    return X @ W if b is None else X @ W + b


def project_qkv(
    X_q: Float[Tensor, "*batch_q n_q d_q"],
    X_kv: Float[Tensor, "*batch_kv n_k d_kv"],
    W_Q: Float[Tensor, "d_q d_k"],
    W_K: Float[Tensor, "d_kv d_k"],
    W_V: Float[Tensor, "d_kv d_v"],
) -> tuple[
    Float[Tensor, "*batch_q n_q d_k"],
    Float[Tensor, "*batch_kv n_k d_k"],
    Float[Tensor, "*batch_kv n_k d_v"],
]:
    r"""Make queries from one sequence, keys and values from another (or from the same).

    .. math:: Q = X_q W_Q, \qquad K = X_{kv} W_K, \qquad V = X_{kv} W_V

    In self-attention X_q and X_kv are one tensor. In cross-attention X_q belongs to the decoder
    and X_kv is the output of the encoder.

    Parameters
    ----------
    X_q : tensor, shape (..., n_q, d_q)
        The sequence that asks.
    X_kv : tensor, shape (..., n_k, d_kv)
        The sequence that is looked at.
    W_Q : tensor, shape (d_q, d_k)
        Makes queries.
    W_K : tensor, shape (d_kv, d_k)
        Makes keys, as wide as the queries.
    W_V : tensor, shape (d_kv, d_v)
        Makes values, of any width.

    Returns
    -------
    q : tensor, shape (..., n_q, d_k)
    k : tensor, shape (..., n_k, d_k)
    v : tensor, shape (..., n_k, d_v)

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    See Also
    --------
    qkv.project_qkv : the same in numpy.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.2.2, the arguments of
    Attention inside head_i.

    Examples
    --------
    >>> import torch
    >>> from qkv import twins
    >>> X_q, X_kv = torch.ones(7, 8), torch.ones(5, 8)
    >>> q, k, v = twins.project_qkv(X_q, X_kv, torch.ones(8, 4), torch.ones(8, 4), torch.ones(8, 2))
    >>> print(*q.shape, *k.shape, *v.shape)
    7 4 5 4 5 2
    """
    check_projection(X_q, W_Q, names="X_q W_Q -")
    check_projection(X_kv, W_K, names="X_kv W_K -")
    check_projection(X_kv, W_V, names="X_kv W_V -")
    return X_q @ W_Q, X_kv @ W_K, X_kv @ W_V
