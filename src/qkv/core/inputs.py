"""What arguments may be: every public function calls one of these checkers on its first line.

What is accepted: arrays of float16, float32 or float64, which keep their precision; integers and
(nested) lists of numbers, which become float64. Where two precisions meet, numpy's promotion
decides. What is refused: booleans, complex numbers, text and objects, NaN, infinity, and axes of
size 0. Leading axes (batch, heads) must be equal; nothing is stretched to fit.
"""

from __future__ import annotations

import math

import numpy as np

from qkv.core.errors import ShapeError

Array = np.ndarray


def as_floats(name: str, x: object, axes: str = "") -> Array:
    """Return `x` as a float array whose last axes are `axes`, every entry finite.

    `axes` lists the names of the axes that must be there, as in ``"n_q d_k"``.
    """
    array = _as_float_dtype(name, x)
    _check_axes(name, array, axes)
    if not np.isfinite(array).all():
        where = _first_index(~np.isfinite(array))
        raise ValueError(
            f"{name} holds {array[where]} at {_place(where)}; every entry must be finite"
        )
    return array


def as_scores(scores: object) -> Array:
    """Return `scores` as a float array that may hold -inf (masked) but neither NaN nor +inf."""
    array = _as_float_dtype("scores", scores)
    _check_axes("scores", array, "n_k")
    if not array.max() < np.inf:  # NaN and +inf both survive a maximum, and neither is below inf
        where = _first_index(~(array < np.inf))
        raise ValueError(
            f"scores hold {array[where]} at {_place(where)}; a score is a finite number, or -inf"
            " where the query may not look"
        )
    return array


def as_vector_pair(x: object, y: object) -> tuple[Array, Array]:
    """Return `x` and `y` as float arrays of one shape whose dot products fit their precision."""
    x, y = as_floats("x", x, "d"), as_floats("y", y, "d")
    if x.shape[-1] != y.shape[-1]:
        raise ShapeError(
            f"x and y must have the same length d, got {x.shape[-1]} and {y.shape[-1]}:"
            f" x is {x.shape}, y is {y.shape}"
        )
    if x.shape != y.shape:
        raise ShapeError(
            f"x and y must have the same shape, got x {x.shape} and y {y.shape};"
            " for every row of one with every row of the other use dot_product_scores"
        )
    check_dot_products_fit("x", x, "y", y)
    return x, y


def as_queries_and_keys(q: object, k: object) -> tuple[Array, Array]:
    """Return `q` (..., n_q, d_k) and `k` (..., n_k, d_k) as float arrays that fit together."""
    q, k = as_floats("q", q, "n_q d_k"), as_floats("k", k, "n_k d_k")
    d_k = q.shape[-1]
    if k.shape[-1] != d_k:
        raise ShapeError(
            f"k must have d_k={d_k} columns as q has, got {k.shape[-1]}:"
            f" q is {q.shape}, k is {k.shape}{_transposed(k.shape[-2] == d_k)}"
        )
    _check_batch("q", q, "k", k)
    check_dot_products_fit("q", q, "k", k)
    return q, k


def as_values(k: Array, v: object) -> Array:
    """Return `v` (..., n_k, d_v) as a float array with one row for every row of `k`."""
    v = as_floats("v", v, "n_k d_v")
    n_k = k.shape[-2]
    if v.shape[-2] != n_k:
        raise ShapeError(
            f"v must have n_k={n_k} rows as k has, got {v.shape[-2]}:"
            f" k is {k.shape}, v is {v.shape}{_transposed(v.shape[-1] == n_k)}"
        )
    _check_batch("k", k, "v", v)
    return v


def as_mask(mask: object, *leading: int, n_q: int, n_k: int) -> Array | None:
    """Return `mask` as a bool array that broadcasts to (*leading, n_q, n_k), or None.

    A mask has two axes (it serves every leading axis) or as many as the scores, where an axis of
    size 1 is shared. Anything between would line up with the wrong axis.
    """
    if mask is None:
        return None
    mask = np.asarray(mask)
    if mask.dtype != np.bool_:
        raise ValueError(
            f"mask must be bool, True where the query may look, got dtype {mask.dtype}; "
            + (
                "for numbers added to the scores use attention_with_bias"
                if mask.dtype.kind == "f"
                else "write mask.astype(bool) if 1 means may look"
            )
        )
    if mask.shape[-2:] != (n_q, n_k) and (
        mask.ndim < 2
        or any(m not in (1, n) for m, n in zip(mask.shape[-2:], (n_q, n_k), strict=True))
    ):
        slip = _transposed(n_q != n_k and mask.shape[-2:] == (n_k, n_q))
        if mask.shape == (n_k,):
            slip = "; for one row of keys that every query shares write mask[None, :]"
        raise ShapeError(f"mask must end in (n_q, n_k)={(n_q, n_k)}, got {mask.shape}{slip}")
    if mask.ndim > 2 and (
        mask.ndim != len(leading) + 2
        or any(m not in (1, n) for m, n in zip(mask.shape, leading, strict=False))
    ):
        raise ShapeError(
            f"mask must be {(n_q, n_k)} or broadcast to {(*leading, n_q, n_k)} axis by axis,"
            f" got {mask.shape}; give a shared axis the size 1, as in mask[:, None]"
        )
    return mask


def as_attention_inputs(
    q: object, k: object, v: object, mask: object
) -> tuple[Array, Array, Array, Array | None]:
    """Return q, k, v and mask as arrays that fit together, or say what does not."""
    q, k = as_queries_and_keys(q, k)
    v = as_values(k, v)
    mask = as_mask(mask, *q.shape[:-2], n_q=q.shape[-2], n_k=k.shape[-2])
    return q, k, v, mask


def as_projection(
    X: object, W: object, b: object = None, names: str = "X W b"
) -> tuple[Array, Array, Array | None]:
    """Return `X` (..., d_in), `W` (d_in, d_out) and `b` (d_out,) or None as arrays that fit."""
    x_name, w_name, b_name = names.split()
    X, W = as_floats(x_name, X, "d_in"), as_floats(w_name, W, "d_in d_out")
    d_in = X.shape[-1]
    if W.ndim != 2:
        raise ShapeError(
            f"{w_name} must be one matrix (d_in, d_out), got {W.shape};"
            f" to use one head write {w_name}[i]"
        )
    if W.shape[0] != d_in:
        slip = "; it looks transposed (torch's nn.Linear stores (d_out, d_in))"
        raise ShapeError(
            f"{w_name} must have d_in={d_in} rows, one for each column of {x_name},"
            f" got {W.shape[0]}: {x_name} is {X.shape}, {w_name} is {W.shape}"
            f"{slip if W.shape[1] == d_in else ''}"
        )
    check_dot_products_fit(x_name, X, f"a column of {w_name}", W.T)
    if b is None:
        return X, W, None
    b = as_floats(b_name, b, "d_out")
    if b.shape != W.shape[1:]:
        raise ShapeError(
            f"{b_name} must have d_out={W.shape[1]} entries, one for each column of {w_name},"
            f" got {b.shape}: {w_name} is {W.shape}"
        )
    return X, W, b


def as_qkv_projections(
    X_q: object, X_kv: object, W_Q: object, W_K: object, W_V: object
) -> tuple[Array, ...]:
    """Return the two sequences and the three matrices as float arrays that fit together."""
    X_q, W_Q, _ = as_projection(X_q, W_Q, None, "X_q W_Q -")
    X_kv, W_K, _ = as_projection(X_kv, W_K, None, "X_kv W_K -")
    X_kv, W_V, _ = as_projection(X_kv, W_V, None, "X_kv W_V -")
    _check_axes("X_q", X_q, "n_q d_q")
    _check_axes("X_kv", X_kv, "n_k d_kv")
    if W_K.shape[1] != W_Q.shape[1]:
        raise ShapeError(
            f"W_K must have d_k={W_Q.shape[1]} columns as W_Q has, got {W_K.shape[1]}:"
            f" W_Q is {W_Q.shape}, W_K is {W_K.shape}; queries meet keys in a dot product"
        )
    return X_q, X_kv, W_Q, W_K, W_V


def as_mask_sizes(n_q: object, n_k: object, offset: object) -> tuple[int, int, int]:
    """Return the sizes of a mask as ints; without `n_k` the last query is the last position."""
    n_q = as_size("n_q", n_q)
    offset = as_size("offset", offset, least=-n_q)
    return n_q, as_size("n_k", n_q + offset if n_k is None else n_k), offset


def as_lengths(lengths: object, n_k: int) -> Array:
    """Return `lengths` (batch,) as an int array with entries from 0 to `n_k`."""
    array = np.asarray(lengths)
    if array.ndim != 1 or array.size == 0:
        raise ShapeError(f"lengths must be (batch,), one number a sequence, got {array.shape}")
    if array.dtype.kind not in "iu":
        raise ValueError(f"lengths must be integers, got dtype {array.dtype}")
    outside = array[(array < 0) | (array > n_k)]
    if outside.size:
        raise ValueError(f"lengths must lie between 0 and n_k={n_k}, got {outside[0]}")
    return array


def as_size(name: str, value: object, least: int = 1) -> int:
    """Return `value` as an int that is at least `least`; a bool or a float is refused."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise ValueError(f"{name} must be an integer, got {value!r}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value}")
    return int(value)


def check_dot_products_fit(x_name: str, x: Array, y_name: str, y: Array) -> None:
    """Refuse rows so long that a dot product could overflow: |x.y| <= |x| |y| (Cauchy-Schwarz)."""
    largest = _longest(x) * _longest(y)
    dtype = np.result_type(x, y)
    limit = float(np.finfo(dtype).max)
    if largest > limit:
        raise ValueError(
            f"{x_name} and {y_name} are too large: their dot product can reach {largest:.2g},"
            f" and {dtype} ends at {limit:.2g}"
        )


def _longest(rows: Array) -> float:
    squares = np.einsum("...d,...d->...", rows, rows, dtype=np.float64)
    return math.sqrt(squares.max(initial=0.0))


def _as_float_dtype(name: str, x: object) -> Array:
    if isinstance(x, np.ma.MaskedArray):
        raise ValueError(f"{name} is a numpy masked array; pass {name}.filled(...) and a bool mask")
    try:
        array = np.asarray(x)
    except ValueError:
        raise ShapeError(
            f"{name} is ragged: its rows differ in length, and an array needs them equal"
        ) from None
    if array.dtype.kind in "iu":
        return array.astype(np.float64)
    if array.dtype not in (np.float16, np.float32, np.float64):
        slip = "; a mask is an argument of its own" if array.dtype == np.bool_ else ""
        raise ValueError(
            f"{name} must hold float16, float32 or float64 numbers (integers become float64),"
            f" got dtype {array.dtype}{slip}"
        )
    return array


def _check_axes(name: str, array: Array, axes: str) -> None:
    names = axes.split()
    if array.ndim < len(names):
        slip = f"; for one row write {name}[None, :]" if (array.ndim, len(names)) == (1, 2) else ""
        wanted = f"({names[0]},)" if len(names) == 1 else f"({', '.join(names)})"
        raise ShapeError(f"{name} must end in {wanted}, got {array.shape}{slip}")
    if array.size == 0:
        raise ShapeError(f"{name} is empty: an axis of {array.shape} has size 0")


def _check_batch(x_name: str, x: Array, y_name: str, y: Array) -> None:
    if x.shape[:-2] != y.shape[:-2]:
        raise ShapeError(
            f"{x_name} and {y_name} must have the same leading axes,"
            f" got {x.shape[:-2]} and {y.shape[:-2]}:"
            f" {x_name} is {x.shape}, {y_name} is {y.shape}"
        )


def _first_index(where: Array) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(np.argmax(where), where.shape))


def _place(index: tuple[int, ...]) -> str:
    return str(index[0]) if len(index) == 1 else str(index)


def _transposed(looks_so: bool) -> str:
    return "; it looks transposed" if looks_so else ""
