"""What arguments may be: shapes and masks are checked, in core's own words.

Shapes cost nothing to check. Numbers would: a search for NaN at every step of training, and a
branch that `torch.vmap` cannot follow. So the twins check shapes alone, and leave NaN and infinity
to core.
"""

from typing import Any

import torch
from torch import Tensor

from qkv.core.errors import ShapeError


def check_same_shape(x: Tensor, y: Tensor) -> None:
    """Refuse two stacks of vectors of different shapes."""
    if x.shape[-1] != y.shape[-1]:
        raise ShapeError(
            f"x and y must have the same length d, got {x.shape[-1]} and {y.shape[-1]}:"
            f" x is {_shape(x)}, y is {_shape(y)}"
        )
    if x.shape != y.shape:
        raise ShapeError(
            f"x and y must have the same shape, got x {_shape(x)} and y {_shape(y)};"
            " for every row of one with every row of the other use dot_product_scores"
        )


def check_queries_and_keys(q: Tensor, k: Tensor) -> None:
    """Refuse queries and keys of different widths or different leading axes."""
    _check_axes("q", q, "n_q", "d_k")
    _check_axes("k", k, "n_k", "d_k")
    d_k = q.shape[-1]
    if k.shape[-1] != d_k:
        raise ShapeError(
            f"k must have d_k={d_k} columns as q has, got {k.shape[-1]}:"
            f" q is {_shape(q)}, k is {_shape(k)}{_transposed(k.shape[-2] == d_k)}"
        )
    check_leading_axes("q", q, "k", k)


def check_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> None:
    """Refuse queries, keys, values and a mask that do not fit together."""
    check_queries_and_keys(q, k)
    _check_axes("v", v, "n_k", "d_v")
    n_k = k.shape[-2]
    if v.shape[-2] != n_k:
        raise ShapeError(
            f"v must have n_k={n_k} rows as k has, got {v.shape[-2]}:"
            f" k is {_shape(k)}, v is {_shape(v)}{_transposed(v.shape[-1] == n_k)}"
        )
    check_leading_axes("k", k, "v", v)
    check_mask(mask, *q.shape[:-2], n_q=q.shape[-2], n_k=n_k)


def check_scores_and_values(scores: Tensor, v: Tensor, mask: Tensor | None) -> None:
    """Refuse finished scores, values and a mask that do not fit together."""
    n_k = scores.shape[-1]
    if v.shape[-2] != n_k:
        raise ShapeError(
            f"v must have n_k={n_k} rows, one for each column of scores, got {v.shape[-2]}:"
            f" scores is {_shape(scores)}, v is {_shape(v)}{_transposed(v.shape[-1] == n_k)}"
        )
    check_leading_axes("scores", scores, "v", v)
    check_mask(mask, *scores.shape[:-2], n_q=scores.shape[-2], n_k=n_k)


def check_mask(mask: Tensor | None, *leading: int, n_q: int, n_k: int) -> None:
    """Refuse a mask that is not bool, or does not broadcast to (*leading, n_q, n_k)."""
    if mask is None:
        return
    if mask.dtype != torch.bool:
        slip = (
            "for numbers added to the scores use attention_with_bias"
            if mask.dtype.is_floating_point
            else "write mask.bool() if 1 means may look"
        )
        raise ValueError(
            f"mask must be bool, True where the query may look, got dtype {mask.dtype}; {slip}"
        )
    check_score_axes("mask", mask, *leading, n_q=n_q, n_k=n_k)


def check_score_axes(name: str, x: Tensor, *leading: int, n_q: int, n_k: int) -> None:
    """Refuse a mask or a bias that would line up with the wrong axes of the scores."""
    last = _shape(x)[-2:]
    if len(last) < 2 or last[0] not in (1, n_q) or last[1] not in (1, n_k):
        slip = _transposed(n_q != n_k and last == (n_k, n_q))
        if _shape(x) == (n_k,):
            slip = f"; for one row of keys that every query shares write {name}[None, :]"
        raise ShapeError(f"{name} must end in (n_q, n_k)={(n_q, n_k)}, got {_shape(x)}{slip}")
    fits = all(m in (1, n) for m, n in zip(x.shape, leading, strict=False))
    if x.ndim != 2 and (x.ndim != len(leading) + 2 or not fits):
        raise ShapeError(
            f"{name} must be {(n_q, n_k)} or broadcast to {(*leading, n_q, n_k)} axis by axis,"
            f" got {_shape(x)}; give a shared axis the size 1, as in {name}[:, None]"
        )


def check_projection(X: Tensor, W: Tensor, b: Tensor | None = None, names: str = "X W b") -> None:
    """Refuse rows, a matrix and a bias that do not fit together."""
    x_name, w_name, b_name = names.split()
    if W.ndim != 2:
        raise ShapeError(
            f"{w_name} must be one matrix (d_in, d_out), got {_shape(W)};"
            f" to use one head write {w_name}[i]"
        )
    d_in = X.shape[-1]
    if W.shape[0] != d_in:
        slip = "; it looks transposed (torch's nn.Linear stores (d_out, d_in))"
        raise ShapeError(
            f"{w_name} must have d_in={d_in} rows, one for each column of {x_name},"
            f" got {W.shape[0]}: {x_name} is {_shape(X)}, {w_name} is {_shape(W)}"
            f"{slip if W.shape[1] == d_in else ''}"
        )
    if b is not None and b.shape != W.shape[1:]:
        raise ShapeError(
            f"{b_name} must have d_out={W.shape[1]} entries, one for each column of {w_name},"
            f" got {_shape(b)}: {w_name} is {_shape(W)}"
        )


def check_sequence(x_name: str, X: Tensor, w_name: str, W: Tensor) -> None:
    """Refuse a sequence (..., n, d_in) that the heads' matrices (n_heads, d_in, d) cannot read."""
    _check_axes(x_name, X, "n", "d_in")
    d_in = W.shape[-2]
    if X.shape[-1] != d_in:
        raise ShapeError(
            f"{x_name} must have {d_in} columns, one for each row of {w_name}[i],"
            f" got {X.shape[-1]}: {x_name} is {_shape(X)}, {w_name} is {_shape(W)}"
            f"{_transposed(X.shape[-2] == d_in)}"
        )


def check_stacked(name: str, x: Tensor, n_heads: int) -> None:
    """Refuse a width that is no multiple of `n_heads`."""
    if x.shape[-1] % n_heads:
        raise ShapeError(
            f"{name} must have a multiple of n_heads={n_heads} columns, got {x.shape[-1]}:"
            f" {name} is {_shape(x)}{_transposed(x.shape[-2] % n_heads == 0)}"
        )


def as_head_mask(mask: Tensor | None, X_q: Tensor, X_kv: Tensor, n_heads: int) -> Tensor | None:
    """Return `mask` as a view of shape (..., n_heads, n_q, n_k), or None.

    A mask with as many axes as `X_q` is shared by all heads; one axis more gives each its own.
    """
    check_leading_axes("X_q", X_q, "X_kv", X_kv)
    if mask is None:
        return None
    *batch, n_q, _ = X_q.shape
    n_k = X_kv.shape[-2]
    if mask.ndim == X_q.ndim:
        check_mask(mask, *batch, n_q=n_q, n_k=n_k)
        mask = mask[..., None, :, :]
    check_mask(mask, *batch, n_heads, n_q=n_q, n_k=n_k)
    return mask.expand(*batch, n_heads, n_q, n_k)


def check_width(x_name: str, X: Tensor, w_name: str, w: Tensor) -> None:
    """Refuse rows that are not as wide as a row of parameters is long."""
    if w.ndim != 1 or X.shape[-1:] != w.shape:
        raise ShapeError(
            f"{x_name} must have d_model={w.shape[-1]} columns as {w_name} has,"
            f" got {X.shape[-1]}: {x_name} is {_shape(X)}"
        )


def check_bilinear(X_q: Tensor, X_kv: Tensor, M: Tensor) -> None:
    """Refuse two sequences and a matrix (d_q, d_kv) that do not fit together."""
    wanted = (X_q.shape[-1], X_kv.shape[-1])
    if _shape(M) != wanted:
        raise ShapeError(
            f"M must be (d_q, d_kv)={wanted}, got {_shape(M)}: X_q is {_shape(X_q)}, X_kv is"
            f" {_shape(X_kv)}{_transposed(_shape(M) == wanted[::-1])}"
        )
    check_leading_axes("X_q", X_q, "X_kv", X_kv)


def check_additive(W_Q: Tensor, W_K: Tensor, w: Tensor) -> None:
    """Refuse a hidden layer of additive scores whose three parts differ in width."""
    if not W_Q.shape[1] == W_K.shape[1] == w.shape[0]:
        raise ShapeError(
            "W_Q, W_K and w must share the hidden width d_a, got"
            f" {W_Q.shape[1]}, {W_K.shape[1]} and {w.shape[0]}:"
            f" W_Q is {_shape(W_Q)}, W_K is {_shape(W_K)}, w is {_shape(w)}"
        )


def check_cache_goes_on(cache: Any, k: Tensor, v: Tensor) -> None:
    """Refuse keys and values of another width or batch than those of the cache."""
    for name, old, new in (("k", cache.k, k), ("v", cache.v, v)):
        if old.shape[:-2] != new.shape[:-2] or old.shape[-1] != new.shape[-1]:
            raise ShapeError(
                f"{name} must be like the cache's in all but its number of rows:"
                f" cache.{name} is {_shape(old)}, {name} is {_shape(new)}"
            )


def check_caches(name: str, caches: Any, n_layers: int) -> None:
    """Refuse anything but one cache for each layer."""
    if len(caches) != n_layers:
        raise ValueError(f"{name} must have one cache a layer, {n_layers}, got {len(caches)}")


def check_rows_last(P: Tensor, n: int) -> None:
    """Refuse to read row `n` - 1 of a table that ends before it."""
    if n > P.shape[0]:
        raise ValueError(f"P has {P.shape[0]} positions, and position {n - 1} is asked for")


def check_pairs(d_k: int) -> None:
    """Refuse an odd number of columns where columns turn in pairs."""
    if d_k % 2:
        raise ShapeError(f"x must have an even number of columns to turn in pairs, got d_k={d_k}")


def check_grouped(q: Tensor, k: Tensor) -> None:
    """Refuse a number of key heads that does not divide the number of query heads."""
    if q.shape[-3] % k.shape[-3]:
        raise ShapeError(
            f"the heads of k must divide n_heads={q.shape[-3]}, got {k.shape[-3]}:"
            f" q is {_shape(q)}, k is {_shape(k)}"
        )


def check_targets(scores: Tensor, targets: Tensor) -> None:
    """Refuse anything but one class number for each row of scores."""
    if targets.shape != scores.shape[:-1]:
        raise ShapeError(
            f"targets must be {_shape(scores)[:-1]}, one class for each row of scores,"
            f" got {_shape(targets)}: scores is {_shape(scores)}"
        )


def check_leading_axes(x_name: str, x: Tensor, y_name: str, y: Tensor) -> None:
    """Refuse two stacks whose batches (and heads) differ: nothing is stretched to fit."""
    if x.shape[:-2] != y.shape[:-2]:
        raise ShapeError(
            f"{x_name} and {y_name} must have the same leading axes,"
            f" got {_shape(x)[:-2]} and {_shape(y)[:-2]}:"
            f" {x_name} is {_shape(x)}, {y_name} is {_shape(y)}"
        )


def _check_axes(name: str, x: Tensor, *axes: str) -> None:
    if x.ndim < len(axes):
        slip = f"; for one row write {name}[None, :]" if x.ndim == 1 else ""
        raise ShapeError(f"{name} must end in ({', '.join(axes)}), got {_shape(x)}{slip}")
    if x.numel() == 0:
        raise ShapeError(f"{name} is empty: an axis of {_shape(x)} has size 0")


def _shape(x: Tensor) -> tuple[int, ...]:
    return tuple(x.shape)


def _transposed(looks_so: bool) -> str:
    return "; it looks transposed" if looks_so else ""
