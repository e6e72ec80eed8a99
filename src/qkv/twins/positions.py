"""Positions: attention does not know the order of its rows, so the rows must carry it."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from qkv.core.inputs import as_size
from qkv.twins.inputs import check_pairs, check_rows_last
from qkv.twins.scaled_dot_product import scaled_dot_product_attention


def sinusoidal_positions(n: int, d_model: int, offset: int = 0) -> Float[Tensor, "{n} {d_model}"]:
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
    P : tensor, shape (n, d_model)
        To be added to the embeddings. float64.

    See Also
    --------
    qkv.sinusoidal_positions : the same in numpy.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.5.

    Examples
    --------
    >>> from qkv import twins
    >>> print(twins.sinusoidal_positions(3, 4).numpy().round(3))
    [[ 0.     1.     0.     1.   ]
     [ 0.841  0.54   0.01   1.   ]
     [ 0.909 -0.416  0.02   1.   ]]
    """
    n, d_model, offset = as_size("n", n), as_size("d_model", d_model), as_size("offset", offset, 0)
    position = torch.arange(offset, offset + n, dtype=torch.float64)[:, None]
    even_columns = torch.arange(0, d_model, 2, dtype=torch.float64)
    angle = position / 10000.0 ** (even_columns / d_model)
    P = torch.empty(n, d_model, dtype=torch.float64)
    P[:, 0::2] = torch.sin(angle)
    P[:, 1::2] = torch.cos(angle)[:, : d_model // 2]
    return P


def learned_positions(
    P: Float[Tensor, "n_positions d_model"], n: int, offset: int = 0
) -> Float[Tensor, "{n} d_model"]:
    r"""Take the rows of a learned table of positions: an embedding of "where", not of "what".

    .. math:: P_{\text{offset} \,:\, \text{offset} + n}

    Parameters
    ----------
    P : tensor, shape (n_positions, d_model)
        The table; it ends, and a longer sequence has no row.
    n : int
        How many positions.
    offset : int, default 0
        The first position.

    Returns
    -------
    rows : tensor, shape (n, d_model)
        To be added to the embeddings.

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    See Also
    --------
    qkv.learned_positions : the same in numpy.

    References
    ----------
    Gehring et al., "Convolutional sequence to sequence learning" (2017), section 3.1; Vaswani et
    al., "Attention is all you need" (2017), table 3, row (E).

    Examples
    --------
    >>> import torch
    >>> from qkv import twins
    >>> P = torch.tensor([[1.0, 2], [3, 4], [5, 6]])
    >>> print(twins.learned_positions(P, n=2, offset=1).numpy())
    [[3. 4.]
     [5. 6.]]
    """
    n, offset = as_size("n", n), as_size("offset", offset, least=0)
    check_rows_last(P, offset + n)
    return P[offset : offset + n]


def rotary_positions(
    x: Float[Tensor, "*batch n d_k"], offset: int = 0, base: float = 10000.0
) -> Float[Tensor, "*batch n d_k"]:
    r"""Turn each pair of neighbouring columns by an angle that grows with the position.

    .. math:: \begin{pmatrix} y_{t,2i} \\ y_{t,2i+1} \end{pmatrix} = \begin{pmatrix}
        \cos t\theta_i & -\sin t\theta_i \\ \sin t\theta_i & \cos t\theta_i \end{pmatrix}
        \begin{pmatrix} x_{t,2i} \\ x_{t,2i+1} \end{pmatrix}, \qquad
        \theta_i = \text{base}^{-2i/d_k}

    Done to queries and keys (never to values), their dot product depends on how far apart they
    are and not on where.

    Parameters
    ----------
    x : tensor, shape (..., n, d_k)
        Queries or keys; d_k is even.
    offset : int, default 0
        Position of the first row.
    base : float, default 10000
        Sets how slow the slowest pair turns.

    Returns
    -------
    rotated : tensor, shape (..., n, d_k)
        Every row keeps its length.

    See Also
    --------
    qkv.rotary_positions : the same in numpy.

    References
    ----------
    Su et al., "RoFormer: enhanced transformer with rotary position embedding" (2021), section
    3.2.2, equation 15.

    Examples
    --------
    >>> import torch
    >>> from qkv import twins
    >>> x = torch.tensor([[1.0, 0, 1, 0], [1, 0, 1, 0]])
    >>> print(twins.rotary_positions(x).numpy().round(3))
    [[1.    0.    1.    0.   ]
     [0.54  0.841 1.    0.01 ]]
    """
    cos, sin = _hands(x, offset, base)
    first, second = x[..., 0::2], x[..., 1::2]
    rotated = [first * cos - second * sin, first * sin + second * cos]
    return torch.stack(rotated, dim=-1).flatten(-2)


def rotary_positions_halves(
    x: Float[Tensor, "*batch n d_k"], offset: int = 0, base: float = 10000.0
) -> Float[Tensor, "*batch n d_k"]:
    r"""Turn pairs of columns as `rotary_positions` does, pairing column i with i + d_k / 2.

    .. math:: \begin{pmatrix} y_{t,i} \\ y_{t,i+d_k/2} \end{pmatrix} = \begin{pmatrix}
        \cos t\theta_i & -\sin t\theta_i \\ \sin t\theta_i & \cos t\theta_i \end{pmatrix}
        \begin{pmatrix} x_{t,i} \\ x_{t,i+d_k/2} \end{pmatrix}

    The same turn on columns in another order. A model trained with one order gives nonsense with
    the other.

    Parameters
    ----------
    x : tensor, shape (..., n, d_k)
        Queries or keys; d_k is even.
    offset : int, default 0
        Position of the first row.
    base : float, default 10000
        Sets how slow the slowest pair turns.

    Returns
    -------
    rotated : tensor, shape (..., n, d_k)
        Every row keeps its length.

    See Also
    --------
    qkv.rotary_positions_halves : the same in numpy.

    References
    ----------
    Black et al., "GPT-NeoX-20B: an open-source autoregressive language model" (2022), section
    2.1.1, and its code, which pairs halves.

    Examples
    --------
    >>> import torch
    >>> from qkv import twins
    >>> x = torch.tensor([[1.0, 1, 0, 0], [1, 1, 0, 0]])
    >>> print(twins.rotary_positions_halves(x).numpy().round(3))
    [[1.    1.    0.    0.   ]
     [0.54  1.    0.841 0.01 ]]
    """
    cos, sin = _hands(x, offset, base)
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, first * sin + second * cos], dim=-1)


def rotary_attention(
    q: Float[Tensor, "*batch n_q d_k"],
    k: Float[Tensor, "*batch n_k d_k"],
    v: Float[Tensor, "*batch n_k d_v"],
    mask: Bool[Tensor, " ..."] | None = None,
) -> tuple[Float[Tensor, "*batch n_q d_v"], Float[Tensor, "*batch n_q n_k"]]:
    r"""Compute attention with queries and keys turned by their positions, and values as they are.

    .. math:: \operatorname{softmax}\!\left(\frac{(R_t q_t) \cdot (R_j k_j)}{\sqrt{d_k}}\right) V,
        \qquad (R_t q_t) \cdot (R_j k_j) = q_t \cdot (R_{j-t} k_j)

    Parameters
    ----------
    q : tensor, shape (..., n_q, d_k)
        Queries at positions 0, 1, 2 and so on; d_k is even.
    k : tensor, shape (..., n_k, d_k)
        Keys at positions 0, 1, 2 and so on.
    v : tensor, shape (..., n_k, d_v)
        Values, one for each key.
    mask : bool tensor, broadcastable to (..., n_q, n_k), optional
        True where the query may look.

    Returns
    -------
    output : tensor, shape (..., n_q, d_v)
    weights : tensor, shape (..., n_q, n_k)

    See Also
    --------
    qkv.rotary_attention : the same in numpy.

    References
    ----------
    Su et al., "RoFormer: enhanced transformer with rotary position embedding" (2021), section
    3.2.2, equation 16.

    Examples
    --------
    >>> import torch
    >>> from qkv import twins
    >>> q = k = torch.tensor([[9.0, 0.0], [9.0, 0.0]])
    >>> _, weights = twins.rotary_attention(q, k, v=torch.tensor([[1.0], [2.0]]))
    >>> print(weights.numpy().round(3))
    [[1. 0.]
     [0. 1.]]
    """
    return scaled_dot_product_attention(rotary_positions(q), rotary_positions(k), v, mask)


def _hands(x: Tensor, offset: int, base: float) -> tuple[Tensor, Tensor]:
    """Return the cosines and sines (n, d_k / 2) by which the rows of x turn, as precise as x."""
    n, d_k = x.shape[-2:]
    check_pairs(d_k)
    offset = as_size("offset", offset, least=0)
    position = torch.arange(offset, offset + n, dtype=torch.float64)[:, None]
    angle = position * base ** (-torch.arange(0, d_k, 2, dtype=torch.float64) / d_k)
    return torch.cos(angle).to(x.dtype), torch.sin(angle).to(x.dtype)
