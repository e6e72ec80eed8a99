"""Positions: attention does not know the order of its rows, so the rows must carry it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qkv.core.inputs import Array, as_floats, as_rotary_inputs, as_size, check_rows_last
from qkv.core.scaled_dot_product import scaled_dot_product_attention

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


def sinusoidal_positions(n: int, d_model: int, offset: int = 0) -> Float[Array, "{n} {d_model}"]:
    r"""Return the paper's position code: clock hands that turn at different speeds.

    .. math:: P_{t, 2i} = \sin\frac{t}{10000^{2i/d}}, \qquad
        P_{t, 2i+1} = \cos\frac{t}{10000^{2i/d}}

    Moving all positions by the same step turns each pair of columns by a fixed angle, so a step
    is one matrix, whatever the position.

    Parameters
    ----------
    n : int
        How many positions.
    d_model : int
        Width of a row; the last column of an odd width is a sine without its cosine.
    offset : int, default 0
        The first position.

    Returns
    -------
    P : array, shape (n, d_model)
        To be added to the embeddings. float64.

    Raises
    ------
    ValueError
        If a size is not an integer of at least 1, or `offset` is negative.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.5.

    Examples
    --------
    >>> import qkv
    >>> print(qkv.sinusoidal_positions(3, 4).round(3))
    [[ 0.     1.     0.     1.   ]
     [ 0.841  0.54   0.01   1.   ]
     [ 0.909 -0.416  0.02   1.   ]]
    """
    n, d_model, offset = as_size("n", n), as_size("d_model", d_model), as_size("offset", offset, 0)
    position = np.arange(offset, offset + n)[:, None]
    even_columns = np.arange(0, d_model, 2)
    angle = position / 10000 ** (even_columns / d_model)
    P = np.empty((n, d_model))
    P[:, 0::2] = np.sin(angle)
    P[:, 1::2] = np.cos(angle)[:, : d_model // 2]
    return P


def learned_positions(
    P: Float[Array, "n_positions d_model"], n: int, offset: int = 0
) -> Float[Array, "{n} d_model"]:
    r"""Take the rows of a learned table of positions: an embedding of "where", not of "what".

    .. math:: P_{\text{offset} \,:\, \text{offset} + n}

    Parameters
    ----------
    P : array, shape (n_positions, d_model)
        The table; it ends, and a longer sequence has no row.
    n : int
        How many positions.
    offset : int, default 0
        The first position.

    Returns
    -------
    rows : array, shape (n, d_model)
        To be added to the embeddings.

    Raises
    ------
    ShapeError
        If P is not one table.
    ValueError
        If the table ends before `offset` + `n`, or a size is not an integer of at least 1.

    References
    ----------
    Gehring et al., "Convolutional sequence to sequence learning" (2017), section 3.1; Vaswani et
    al., "Attention is all you need" (2017), table 3, row (E).

    Examples
    --------
    >>> import qkv
    >>> print(qkv.learned_positions([[1, 2], [3, 4], [5, 6]], n=2, offset=1))
    [[3. 4.]
     [5. 6.]]
    """
    P = as_floats("P", P, "n_positions d_model", exactly=True)
    n, offset = as_size("n", n), as_size("offset", offset, least=0)
    check_rows_last(P, offset + n)
    return P[offset : offset + n].copy()


def rotary_positions(
    x: Float[Array, "*batch n d_k"], offset: int = 0, base: float = 10000.0
) -> Float[Array, "*batch n d_k"]:
    r"""Turn each pair of neighbouring columns by an angle that grows with the position.

    .. math:: \begin{pmatrix} y_{t,2i} \\ y_{t,2i+1} \end{pmatrix} = \begin{pmatrix}
        \cos t\theta_i & -\sin t\theta_i \\ \sin t\theta_i & \cos t\theta_i \end{pmatrix}
        \begin{pmatrix} x_{t,2i} \\ x_{t,2i+1} \end{pmatrix}, \qquad
        \theta_i = \text{base}^{-2i/d_k}

    Done to queries and keys (never to values), their dot product depends on how far apart they
    are and not on where.

    Parameters
    ----------
    x : array, shape (..., n, d_k)
        Queries or keys; d_k is even.
    offset : int, default 0
        Position of the first row.
    base : float, default 10000
        Sets how slow the slowest pair turns.

    Returns
    -------
    rotated : array, shape (..., n, d_k)
        Every row keeps its length.

    Raises
    ------
    ShapeError
        If d_k is odd, or `x` has fewer than two axes.
    ValueError
        If `offset` is not an integer of at least 0, or `base` is not above 0.

    References
    ----------
    Su et al., "RoFormer: enhanced transformer with rotary position embedding" (2021), section
    3.2.2, equation 15.

    Examples
    --------
    >>> import qkv
    >>> print(qkv.rotary_positions([[1, 0, 1, 0], [1, 0, 1, 0]]).round(3))
    [[1.    0.    1.    0.   ]
     [0.54  0.841 1.    0.01 ]]
    """
    x, cos, sin = as_rotary_inputs(x, offset, base)
    first, second = x[..., 0::2], x[..., 1::2]
    rotated = np.empty_like(x)
    rotated[..., 0::2] = first * cos - second * sin
    rotated[..., 1::2] = first * sin + second * cos
    return rotated


def rotary_positions_halves(
    x: Float[Array, "*batch n d_k"], offset: int = 0, base: float = 10000.0
) -> Float[Array, "*batch n d_k"]:
    r"""Turn pairs of columns as `rotary_positions` does, pairing column i with i + d_k / 2.

    .. math:: \begin{pmatrix} y_{t,i} \\ y_{t,i+d_k/2} \end{pmatrix} = \begin{pmatrix}
        \cos t\theta_i & -\sin t\theta_i \\ \sin t\theta_i & \cos t\theta_i \end{pmatrix}
        \begin{pmatrix} x_{t,i} \\ x_{t,i+d_k/2} \end{pmatrix}

    The same turn on columns in another order. A model trained with one order gives nonsense with
    the other.

    Parameters
    ----------
    x : array, shape (..., n, d_k)
        Queries or keys; d_k is even.
    offset : int, default 0
        Position of the first row.
    base : float, default 10000
        Sets how slow the slowest pair turns.

    Returns
    -------
    rotated : array, shape (..., n, d_k)
        Every row keeps its length.

    Raises
    ------
    ShapeError
        If d_k is odd, or `x` has fewer than two axes.
    ValueError
        If `offset` is not an integer of at least 0, or `base` is not above 0.

    References
    ----------
    Black et al., "GPT-NeoX-20B: an open-source autoregressive language model" (2022), section
    2.1.1, and its code, which pairs halves.

    Examples
    --------
    >>> import qkv
    >>> print(qkv.rotary_positions_halves([[1, 1, 0, 0], [1, 1, 0, 0]]).round(3))
    [[1.    1.    0.    0.   ]
     [0.54  1.    0.841 0.01 ]]
    """
    x, cos, sin = as_rotary_inputs(x, offset, base)
    first, second = np.split(x, 2, axis=-1)
    return np.concatenate([first * cos - second * sin, first * sin + second * cos], axis=-1)


def rotary_attention(
    q: Float[Array, "*batch n_q d_k"],
    k: Float[Array, "*batch n_k d_k"],
    v: Float[Array, "*batch n_k d_v"],
    mask: Bool[Array, " ..."] | None = None,
) -> tuple[Float[Array, "*batch n_q d_v"], Float[Array, "*batch n_q n_k"]]:
    r"""Compute attention with queries and keys turned by their positions, and values as they are.

    .. math:: \operatorname{softmax}\!\left(\frac{(R_t q_t) \cdot (R_j k_j)}{\sqrt{d_k}}\right) V,
        \qquad (R_t q_t) \cdot (R_j k_j) = q_t \cdot (R_{j-t} k_j)

    Parameters
    ----------
    q : array, shape (..., n_q, d_k)
        Queries at positions 0, 1, 2 and so on; d_k is even.
    k : array, shape (..., n_k, d_k)
        Keys at positions 0, 1, 2 and so on.
    v : array, shape (..., n_k, d_v)
        Values, one for each key.
    mask : bool array, broadcastable to (..., n_q, n_k), optional
        True where the query may look.

    Returns
    -------
    output : array, shape (..., n_q, d_v)
    weights : array, shape (..., n_q, n_k)

    Raises
    ------
    ShapeError
        If the shapes do not fit, or d_k is odd.
    ValueError
        If the mask is not bool, an entry is NaN or infinite, or a score could overflow.

    References
    ----------
    Su et al., "RoFormer: enhanced transformer with rotary position embedding" (2021), section
    3.2.2, equation 16.

    Examples
    --------
    >>> import qkv
    >>> _, weights = qkv.rotary_attention([[9, 0]] * 2, [[9, 0]] * 2, [[1], [2]])
    >>> print(weights.round(3))
    [[1. 0.]
     [0. 1.]]
    """
    return scaled_dot_product_attention(rotary_positions(q), rotary_positions(k), v, mask)
