"""Masks: which query may look at which key.

A mask is bool and True means *may look*. It broadcasts to (n_q, n_k), so two masks are joined
with ``&``: what both allow. A query that may look at nothing gets zero weights and a zero output.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qkv.core.inputs import Array, as_lengths, as_mask_sizes, as_size

if TYPE_CHECKING:
    from jaxtyping import Bool, Int


def causal_mask(n_q: int, n_k: int | None = None, offset: int = 0) -> Bool[Array, "n_q n_k"]:
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
    mask : bool array, shape (n_q, n_k)
        True where the query may look.

    Raises
    ------
    ValueError
        If a size is not an integer of at least 1.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.2.3, third point.

    Examples
    --------
    >>> import qkv
    >>> print(qkv.causal_mask(3).astype(int))
    [[1 0 0]
     [1 1 0]
     [1 1 1]]
    >>> print(qkv.causal_mask(2, offset=3).astype(int))
    [[1 1 1 1 0]
     [1 1 1 1 1]]
    """
    n_q, n_k, offset = as_mask_sizes(n_q, n_k, offset)
    position_of_query = np.arange(n_q)[:, None] + offset
    position_of_key = np.arange(n_k)[None, :]
    return position_of_key <= position_of_query


def window_mask(
    n_q: int, n_k: int | None = None, reach: int = 1, offset: int = 0
) -> Bool[Array, "n_q n_k"]:
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
    mask : bool array, shape (n_q, n_k)
        True where the query may look.

    Raises
    ------
    ValueError
        If a size is not an integer of at least 1, or `reach` is negative.

    References
    ----------
    Beltagy, Peters and Cohan, "Longformer: the long-document transformer" (2020), section 3.1.

    Examples
    --------
    >>> import qkv
    >>> print(qkv.window_mask(4).astype(int))
    [[1 1 0 0]
     [1 1 1 0]
     [0 1 1 1]
     [0 0 1 1]]
    """
    n_q, n_k, offset = as_mask_sizes(n_q, n_k, offset)
    reach = as_size("reach", reach, least=0)
    position_of_query = np.arange(n_q)[:, None] + offset
    position_of_key = np.arange(n_k)[None, :]
    return np.abs(position_of_query - position_of_key) <= reach


def padding_mask(lengths: Int[Array, " batch"], n_k: int) -> Bool[Array, "batch 1 n_k"]:
    r"""Allow the first keys of each sequence, as many as it has real tokens.

    .. math:: M_{b1j} = (j < \text{length}_b)

    Parameters
    ----------
    lengths : int array or list, shape (batch,)
        Number of real tokens of each sequence, between 0 and `n_k`.
    n_k : int
        Number of keys after padding.

    Returns
    -------
    mask : bool array, shape (batch, 1, n_k)
        True at real tokens. The middle axis is shared by all queries; for arrays of shape
        (batch, n_heads, n_q, n_k) write ``mask[:, None]``.

    Raises
    ------
    ShapeError
        If `lengths` is not one row of at least one number.
    ValueError
        If a length is no integer, negative, or larger than `n_k`.

    References
    ----------
    Phuong and Hutter, "Formal algorithms for transformers" (2022), algorithm 4: the argument
    Mask, where 1 means that the token may be attended to.

    Examples
    --------
    >>> import qkv
    >>> print(qkv.padding_mask([2, 3], n_k=4).astype(int))
    [[[1 1 0 0]]
    <BLANKLINE>
     [[1 1 1 0]]]
    """
    n_k = as_size("n_k", n_k)
    lengths = as_lengths(lengths, n_k)
    return np.arange(n_k) < lengths[:, None, None]
