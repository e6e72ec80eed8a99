"""Masks: which query may look at which key. A mask is bool and True means *may look*."""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from qkv.core.inputs import as_lengths, as_mask_sizes, as_size


def causal_mask(n_q: int, n_k: int | None = None, offset: int = 0) -> Bool[Tensor, "n_q n_k"]:
    r"""Allow each query the keys up to its own position, and none that come later.

    .. math:: M_{tj} = (j \le t + \text{offset})

    Parameters
    ----------
    n_q : int
        Number of queries.
    n_k : int, optional
        Number of keys; `n_q` + `offset` if it is left out.
    offset : int, default 0
        How many keys stand before the first query. With a cache of 4 keys the next query is
        at position 4: ``causal_mask(1, offset=4)`` lets it see all five.

    Returns
    -------
    mask : bool tensor, shape (n_q, n_k)
        True where the query may look.

    See Also
    --------
    qkv.causal_mask : the same in numpy.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.2.3, third point.

    Examples
    --------
    >>> from qkv import twins
    >>> print(twins.causal_mask(2, offset=3).int().numpy())
    [[1 1 1 1 0]
     [1 1 1 1 1]]
    """
    n_q, n_k, offset = as_mask_sizes(n_q, n_k, offset)
    position_of_query = torch.arange(n_q)[:, None] + offset
    position_of_key = torch.arange(n_k)[None, :]
    return position_of_key <= position_of_query


def window_mask(
    n_q: int, n_k: int | None = None, reach: int = 1, offset: int = 0
) -> Bool[Tensor, "n_q n_k"]:
    r"""Allow each query the keys that are at most `reach` positions away, on either side.

    .. math:: M_{tj} = (|t + \text{offset} - j| \le \text{reach})

    Join it with a causal mask to look back only: ``causal_mask(n) & window_mask(n, reach=2)``.

    Parameters
    ----------
    n_q : int
        Number of queries.
    n_k : int, optional
        Number of keys; `n_q` + `offset` if it is left out.
    reach : int, default 1
        How many positions away a key may be; 0 leaves a query its own.
    offset : int, default 0
        How many keys stand before the first query.

    Returns
    -------
    mask : bool tensor, shape (n_q, n_k)
        True where the query may look.

    See Also
    --------
    qkv.window_mask : the same in numpy.

    References
    ----------
    Beltagy, Peters and Cohan, "Longformer: the long-document transformer" (2020), section 3.1.

    Examples
    --------
    >>> from qkv import twins
    >>> print(twins.window_mask(4).int().numpy())
    [[1 1 0 0]
     [1 1 1 0]
     [0 1 1 1]
     [0 0 1 1]]
    """
    n_q, n_k, offset = as_mask_sizes(n_q, n_k, offset)
    position_of_query = torch.arange(n_q)[:, None] + offset
    position_of_key = torch.arange(n_k)[None, :]
    reach = as_size("reach", reach, least=0)
    return (position_of_query - position_of_key).abs() <= reach


def padding_mask(lengths: Int[Tensor, " batch"], n_k: int) -> Bool[Tensor, "batch 1 n_k"]:
    r"""Allow the first keys of each sequence, as many as it has real tokens.

    .. math:: M_{b1j} = (j < \text{length}_b)

    Parameters
    ----------
    lengths : int tensor or list, shape (batch,)
        Number of real tokens of each sequence, between 0 and `n_k`.
    n_k : int
        Number of keys after padding.

    Returns
    -------
    mask : bool tensor, shape (batch, 1, n_k)
        True at real tokens. The middle axis is shared by all queries; for tensors of shape
        (batch, n_heads, n_q, n_k) write ``mask[:, None]``.

    See Also
    --------
    qkv.padding_mask : the same in numpy.

    References
    ----------
    Phuong and Hutter, "Formal algorithms for transformers" (2022), algorithm 4: the argument
    Mask, where 1 means that the token may be attended to.

    Examples
    --------
    >>> from qkv import twins
    >>> print(twins.padding_mask([2, 3], n_k=4).int().numpy())
    [[[1 1 0 0]]
    <BLANKLINE>
     [[1 1 1 0]]]
    """
    n_k = as_size("n_k", n_k)
    lengths = torch.from_numpy(as_lengths(lengths, n_k))
    return torch.arange(n_k) < lengths[:, None, None]
