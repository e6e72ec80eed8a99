"""Attention in tiles: the same numbers without ever holding all n_q times n_k scores.

A softmax can be taken piece by piece if each piece keeps one number: the log of the sum of its
exponentials. Two pieces are then joined as two weighted means are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qkv.core.inputs import (
    Array,
    as_attention_inputs,
    as_partial_outputs,
    as_scores_and_values,
    as_size,
)
from qkv.core.masks import causal_mask

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


def partial_attention(
    q: Float[Array, "*batch n_q d_k"],
    k: Float[Array, "*batch n_k d_k"],
    v: Float[Array, "*batch n_k d_v"],
    mask: Bool[Array, " ..."] | None = None,
) -> tuple[Float[Array, "*batch n_q d_v"], Float[Array, "*batch n_q"]]:
    r"""Compute attention to some of the keys, and the one number that a later merge needs.

    .. math:: o_i = \sum_j e^{s_{ij} - l_i}\, v_j, \qquad l_i = \log \sum_j e^{s_{ij}}

    Parameters
    ----------
    q : array, shape (..., n_q, d_k)
        Queries, one a row.
    k : array, shape (..., n_k, d_k)
        Some of the keys.
    v : array, shape (..., n_k, d_v)
        Their values.
    mask : bool array, broadcastable to (..., n_q, n_k), optional
        True where the query may look.

    Returns
    -------
    output : array, shape (..., n_q, d_v)
        As `scaled_dot_product_attention` gives it for these keys.
    log_totals : array, shape (..., n_q)
        The l of the equation; -inf for a query that may look at nothing.

    Raises
    ------
    ShapeError
        If the shapes do not fit, or an axis has size 0.
    ValueError
        If the mask is not bool, an entry is NaN or infinite, or a score could overflow.

    References
    ----------
    Milakov and Gimelshein, "Online normalizer calculation for softmax" (2018), algorithm 3.

    Examples
    --------
    >>> import qkv
    >>> output, log_totals = qkv.partial_attention([[0, 0]], [[1, 0], [0, 1]], [[10], [20]])
    >>> print(output, log_totals.round(3))
    [[15.]] [0.693]
    """
    q, k, v, mask = as_attention_inputs(q, k, v, mask)
    scores = q @ np.swapaxes(k, -1, -2)
    scores /= math.sqrt(q.shape[-1])
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    largest = scores.max(axis=-1, keepdims=True)
    largest = np.where(largest == -np.inf, 0.0, largest)  # an empty row has no largest score
    with np.errstate(over="ignore"):  # a score 1e308 below another falls to -inf: weight 0
        scores -= largest
    exponentials = np.exp(scores, out=scores)
    total = exponentials.sum(axis=-1, keepdims=True)
    output = exponentials @ v / np.where(total == 0.0, 1.0, total)
    with np.errstate(divide="ignore"):  # the log of an empty row's total is -inf, and is meant
        return output, (largest + np.log(total))[..., 0]


def merge_attention(
    output_a: Float[Array, "*batch n_q d_v"],
    log_totals_a: Float[Array, "*batch n_q"],
    output_b: Float[Array, "*batch n_q d_v"],
    log_totals_b: Float[Array, "*batch n_q"],
) -> tuple[Float[Array, "*batch n_q d_v"], Float[Array, "*batch n_q"]]:
    r"""Join attention to some keys with attention to others, as if all had been there at once.

    .. math:: o = \frac{e^{l_a} o_a + e^{l_b} o_b}{e^{l_a} + e^{l_b}}, \qquad
        l = \log(e^{l_a} + e^{l_b})

    Parameters
    ----------
    output_a, output_b : array, shape (..., n_q, d_v)
        What the queries found among two sets of keys.
    log_totals_a, log_totals_b : array, shape (..., n_q)
        The log of each query's sum of exponentials there; -inf where it found nothing.

    Returns
    -------
    output : array, shape (..., n_q, d_v)
    log_totals : array, shape (..., n_q)

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    ValueError
        If an entry is NaN or +inf.

    References
    ----------
    Milakov and Gimelshein, "Online normalizer calculation for softmax" (2018), section 3.1,
    equation 4.

    Examples
    --------
    >>> import numpy as np
    >>> import qkv
    >>> output, log_totals = qkv.merge_attention([[10.0]], [np.log(3)], [[20.0]], [np.log(1)])
    >>> print(output, np.exp(log_totals))
    [[12.5]] [4.]
    """
    output_a, log_totals_a = as_partial_outputs("a", output_a, log_totals_a)
    output_b, log_totals_b = as_partial_outputs("b", output_b, log_totals_b, like=output_a)
    with np.errstate(over="ignore"):  # a total 1e308 below the other adds nothing
        log_totals = np.logaddexp(log_totals_a, log_totals_b)
        finite = np.where(log_totals == -np.inf, 0.0, log_totals)  # nothing found on either side
        share_a = np.exp(log_totals_a - finite)[..., None]
        share_b = np.exp(log_totals_b - finite)[..., None]
    return share_a * output_a + share_b * output_b, log_totals


@dataclass(frozen=True)
class OnlineSteps:
    """What attention keeps while it reads the keys tile by tile; one entry a tile in front.

    Attributes
    ----------
    largest : array, shape (n_tiles, ..., n_q)
        The largest score so far; -inf as long as the query may look at nothing.
    factors : array, shape (n_tiles, ..., n_q)
        What the old total and the old sum were multiplied by, exp(largest before - largest now).
    totals : array, shape (n_tiles, ..., n_q)
        The sum of exp(score - largest) so far.
    sums : array, shape (n_tiles, ..., n_q, d_v)
        The sum of exp(score - largest) times value so far.
    output : array, shape (..., n_q, d_v)
        The last sum divided by the last total.
    """

    largest: Float[Array, "n_tiles *batch n_q"]
    factors: Float[Array, "n_tiles *batch n_q"]
    totals: Float[Array, "n_tiles *batch n_q"]
    sums: Float[Array, "n_tiles *batch n_q d_v"]
    output: Float[Array, "*batch n_q d_v"]


def online_attention_steps(
    scores: Float[Array, "*batch n_q n_k"],
    v: Float[Array, "*batch n_k d_v"],
    tile: int = 1,
) -> OnlineSteps:
    r"""Read finished scores tile by tile with three things in hand, and keep every step.

    .. math:: m' = \max(m, \max_j s_j), \quad
        l' = e^{m - m'}\, l + \sum_j e^{s_j - m'}, \quad
        o' = e^{m - m'}\, o + \sum_j e^{s_j - m'} v_j

    Parameters
    ----------
    scores : array, shape (..., n_q, n_k)
        What each query makes of each key; -inf where it may not look.
    v : array, shape (..., n_k, d_v)
        One value for each key.
    tile : int, default 1
        Keys read at once.

    Returns
    -------
    steps : OnlineSteps
        largest is m, totals is l and sums is o after each tile; output is o / l at the end, zeros
        for a query that may look at nothing.

    Raises
    ------
    ShapeError
        If the shapes do not fit, or an axis has size 0.
    ValueError
        If the scores hold NaN or +inf, or `tile` is not an integer of at least 1.

    References
    ----------
    Milakov and Gimelshein, "Online normalizer calculation for softmax" (2018), algorithm 3; Dao et
    al., "FlashAttention: fast and memory-efficient exact attention with IO-awareness" (2022),
    algorithm 1.

    Examples
    --------
    >>> import qkv
    >>> steps = qkv.online_attention_steps([[0, 0, 7, 0]], [[10], [20], [30], [40]], tile=2)
    >>> print(steps.largest[:, 0], steps.factors[:, 0].round(4), steps.output.round(2))
    [0. 7.] [0.     0.0009] [[29.98]]
    """
    scores, v, _ = as_scores_and_values(scores, v, None)
    tile, steps = as_size("tile", tile), []
    m = np.full(scores.shape[:-1], -np.inf, scores.dtype)
    l, o = np.zeros_like(m), np.zeros((*m.shape, v.shape[-1]), np.result_type(scores, v))  # noqa: E741
    for j in range(0, scores.shape[-1], tile):
        part, values = scores[..., j : j + tile], v[..., j : j + tile, :]
        before, m = m, np.maximum(m, part.max(axis=-1))
        finite = np.where(m == -np.inf, 0.0, m)  # nothing seen so far: there is no largest score
        with np.errstate(over="ignore"):  # a score 1e308 below another falls to -inf: weight 0
            factor, powers = np.exp(before - finite), np.exp(part - finite[..., None])
        l = factor * l + powers.sum(axis=-1)  # noqa: E741
        o = factor[..., None] * o + powers @ values
        steps.append((m, factor, l, o))
    largest, factors, totals, sums = (np.stack(arrays) for arrays in zip(*steps, strict=True))
    return OnlineSteps(largest, factors, totals, sums, o / np.where(l == 0.0, 1.0, l)[..., None])


def tiled_attention(
    q: Float[Array, "*batch n_q d_k"],
    k: Float[Array, "*batch n_k d_k"],
    v: Float[Array, "*batch n_k d_v"],
    mask: Bool[Array, " ..."] | None = None,
    tile: int = 256,
) -> tuple[Float[Array, "*batch n_q d_v"], Float[Array, "*batch n_q"]]:
    r"""Compute attention tile by tile: memory grows with n, not with n squared.

    .. math:: (o, l) = \operatorname{merge}\big(\operatorname{tile}_1,
        \operatorname{merge}(\operatorname{tile}_2, \ldots)\big)

    The weights never exist all at once. Any of them is
    ``exp(scores[i, j] - log_totals[i])``.

    Parameters
    ----------
    q : array, shape (..., n_q, d_k)
        Queries, one a row.
    k : array, shape (..., n_k, d_k)
        Keys, as wide as the queries.
    v : array, shape (..., n_k, d_v)
        Values, one for each key.
    mask : bool array, broadcastable to (..., n_q, n_k), optional
        True where the query may look. A full mask is itself n squared;
        `tiled_causal_attention` makes its own, a tile at a time.
    tile : int, default 256
        Queries and keys in one tile.

    Returns
    -------
    output : array, shape (..., n_q, d_v)
        As `scaled_dot_product_attention` gives it.
    log_totals : array, shape (..., n_q)
        The log of each query's sum of exponentials.

    Raises
    ------
    ShapeError
        If the shapes do not fit, or an axis has size 0.
    ValueError
        If the mask is not bool, `tile` is not an integer of at least 1, an entry is NaN or
        infinite, or a score could overflow.

    References
    ----------
    Rabe and Staats, "Self-attention does not need O(n^2) memory" (2021), section 2; Dao et al.,
    "FlashAttention: fast and memory-efficient exact attention with IO-awareness" (2022),
    algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> import qkv
    >>> q, k, v = (np.random.default_rng(0).normal(size=(n, 3)) for n in (7, 5, 5))
    >>> output, _ = qkv.tiled_attention(q, k, v, tile=2)
    >>> all_at_once, _ = qkv.scaled_dot_product_attention(q, k, v)
    >>> print(abs(output - all_at_once).max() < 1e-12)
    True
    """
    q, k, v, mask = as_attention_inputs(q, k, v, mask)
    n_q, n_k, tile = q.shape[-2], k.shape[-2], as_size("tile", tile)
    if mask is not None:
        mask = np.broadcast_to(mask, (*q.shape[:-2], n_q, n_k))  # a view: no memory
    parts = []
    for i in range(0, n_q, tile):
        rows, part = slice(i, i + tile), None
        for j in range(0, n_k, tile):
            keys = slice(j, j + tile)
            seen = None if mask is None else mask[..., rows, keys]
            new = partial_attention(q[..., rows, :], k[..., keys, :], v[..., keys, :], seen)
            part = new if part is None else merge_attention(*part, *new)
        parts.append(part)
    outputs, log_totals = zip(*parts, strict=True)
    return np.concatenate(outputs, axis=-2), np.concatenate(log_totals, axis=-1)


def tiled_causal_attention(
    q: Float[Array, "*batch n_q d_k"],
    k: Float[Array, "*batch n_k d_k"],
    v: Float[Array, "*batch n_k d_v"],
    offset: int = 0,
    tile: int = 256,
) -> tuple[Float[Array, "*batch n_q d_v"], Float[Array, "*batch n_q"]]:
    r"""Compute causal attention tile by tile, leaving out the tiles that lie in the future.

    .. math:: o_t = \operatorname{Attention}(q_t,\; K_{1:t+\text{offset}},\;
        V_{1:t+\text{offset}})

    Parameters
    ----------
    q : array, shape (..., n_q, d_k)
        Queries, one a row.
    k : array, shape (..., n_k, d_k)
        Keys, as wide as the queries.
    v : array, shape (..., n_k, d_v)
        Values, one for each key.
    offset : int, default 0
        How many keys stand before the first query.
    tile : int, default 256
        Queries and keys in one tile.

    Returns
    -------
    output : array, shape (..., n_q, d_v)
        As `scaled_dot_product_attention` gives it under ``causal_mask(n_q, n_k, offset)``.
    log_totals : array, shape (..., n_q)
        The log of each query's sum of exponentials.

    Raises
    ------
    ShapeError
        If the shapes do not fit, or an axis has size 0.
    ValueError
        If `tile` or `offset` is not an integer in range, an entry is NaN or infinite, or a score
        could overflow.

    References
    ----------
    Dao, "FlashAttention-2: faster attention with better parallelism and work partitioning"
    (2023), section 3.1.1, causal masking.

    Examples
    --------
    >>> import numpy as np
    >>> import qkv
    >>> q, k, v = (np.random.default_rng(0).normal(size=(7, d)) for d in (3, 3, 2))
    >>> output, _ = qkv.tiled_causal_attention(q, k, v, tile=2)
    >>> all_at_once, _ = qkv.scaled_dot_product_attention(q, k, v, qkv.causal_mask(7))
    >>> print(abs(output - all_at_once).max() < 1e-12)
    True
    """
    q, k, v, _ = as_attention_inputs(q, k, v, None)
    n_q, n_k, tile = q.shape[-2], k.shape[-2], as_size("tile", tile)
    offset, parts = as_size("offset", offset, least=0), []
    for i in range(0, n_q, tile):
        rows = q[..., i : i + tile, :]
        n_rows, part = rows.shape[-2], None
        for j in range(0, min(n_k, i + n_rows + offset), tile):
            keys, values = k[..., j : j + tile, :], v[..., j : j + tile, :]
            mask = causal_mask(n_rows, keys.shape[-2], offset + i - j)
            new = partial_attention(rows, keys, values, mask)
            part = new if part is None else merge_attention(*part, *new)
        parts.append(part)
    outputs, log_totals = zip(*parts, strict=True)
    return np.concatenate(outputs, axis=-2), np.concatenate(log_totals, axis=-1)
