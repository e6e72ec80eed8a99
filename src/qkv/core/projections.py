"""Projections: where Q, K and V come from.

X holds one token a row. A learned matrix W turns each row into another row, by itself: no token
sees its neighbour here. Only the attention weights mix tokens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from qkv.core.inputs import Array, as_projection, as_qkv_projections

if TYPE_CHECKING:
    from jaxtyping import Float


def project(
    X: Float[Array, "*rows d_in"],
    W: Float[Array, "d_in d_out"],
    b: Float[Array, " d_out"] | None = None,
) -> Float[Array, "*rows d_out"]:
    r"""Map every row of X by one matrix, and add a bias if there is one.

    .. math:: X W + b

    Parameters
    ----------
    X : array, shape (..., d_in)
        One token a row; a single row, or any stack of rows.
    W : array, shape (d_in, d_out)
        The same matrix for all rows. torch's ``nn.Linear`` stores its transpose.
    b : array, shape (d_out,), optional
        The same bias for all rows.

    Returns
    -------
    projected : array, shape (..., d_out)
        Row t depends on row t of X and on no other.

    Raises
    ------
    ShapeError
        If the widths do not fit, W is not one matrix, or an axis has size 0.
    ValueError
        If an entry is NaN or infinite, or a product could overflow.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.2.2.

    Examples
    --------
    >>> import qkv
    >>> print(qkv.project([[1, 2], [0, 1], [3, 0]], [[1, 0, 1, 5], [0, 1, 1, 0]]))
    [[ 1.  2.  3.  5.]
     [ 0.  1.  1.  0.]
     [ 3.  0.  3. 15.]]
    """
    X, W, b = as_projection(X, W, b)
    return X @ W if b is None else X @ W + b


def project_qkv(
    X_q: Float[Array, "*batch_q n_q d_q"],
    X_kv: Float[Array, "*batch_kv n_k d_kv"],
    W_Q: Float[Array, "d_q d_k"],
    W_K: Float[Array, "d_kv d_k"],
    W_V: Float[Array, "d_kv d_v"],
) -> tuple[
    Float[Array, "*batch_q n_q d_k"],
    Float[Array, "*batch_kv n_k d_k"],
    Float[Array, "*batch_kv n_k d_v"],
]:
    r"""Make queries from one sequence, keys and values from another (or from the same).

    .. math:: Q = X_q W_Q, \qquad K = X_{kv} W_K, \qquad V = X_{kv} W_V

    In self-attention X_q and X_kv are one array. In cross-attention X_q belongs to the decoder
    and X_kv is the output of the encoder.

    Parameters
    ----------
    X_q : array, shape (..., n_q, d_q)
        The sequence that asks.
    X_kv : array, shape (..., n_k, d_kv)
        The sequence that is looked at.
    W_Q : array, shape (d_q, d_k)
        Makes queries.
    W_K : array, shape (d_kv, d_k)
        Makes keys, as wide as the queries.
    W_V : array, shape (d_kv, d_v)
        Makes values, of any width.

    Returns
    -------
    q : array, shape (..., n_q, d_k)
    k : array, shape (..., n_k, d_k)
    v : array, shape (..., n_k, d_v)

    Raises
    ------
    ShapeError
        If the widths do not fit, or an axis has size 0.
    ValueError
        If an entry is NaN or infinite, or a product could overflow.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.2.2, the arguments of
    Attention inside head_i.

    Examples
    --------
    >>> import qkv
    >>> ex = qkv.data.running_example()
    >>> q, k, v = qkv.project_qkv(
    ...     ex.X_target, ex.X_source, ex.W_Q[0], ex.W_K[0], ex.W_V[0]
    ... )
    >>> print(q.shape, k.shape, v.shape)
    (7, 4) (5, 4) (5, 2)
    """
    X_q, X_kv, W_Q, W_K, W_V = as_qkv_projections(X_q, X_kv, W_Q, W_K, W_V)
    return X_q @ W_Q, X_kv @ W_K, X_kv @ W_V
