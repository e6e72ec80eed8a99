"""What arguments may be: every public function calls one of these checkers on its first line.

What is accepted: arrays of float16, float32 or float64, which keep their precision; integers and
(nested) lists of numbers, which become float64. Where two precisions meet, numpy's promotion
decides. What is refused: booleans, complex numbers, text and objects, NaN, infinity, and axes of
size 0. Leading axes (batch, heads) must be equal; nothing is stretched to fit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from qkv.core.errors import ShapeError

Array = np.ndarray


def as_floats(name: str, x: object, axes: str = "", exactly: bool = False) -> Array:
    """Return `x` as a float array whose last axes are `axes`, every entry finite.

    `axes` lists the names of the axes that must be there, as in ``"n_q d_k"``; with `exactly`
    there may be no others.
    """
    array = _as_float_dtype(name, x)
    _check_axes(name, array, axes, exactly)
    if not np.isfinite(array).all():
        where = _first_index(~np.isfinite(array))
        raise ValueError(
            f"{name} holds {array[where]} at {_place(where)}; every entry must be finite"
        )
    return array


def as_scores(scores: object, axes: str = "n_k") -> Array:
    """Return `scores` as a float array that may hold -inf (masked) but neither NaN nor +inf."""
    array = _as_float_dtype("scores", scores)
    _check_axes("scores", array, axes)
    _check_scores(
        "scores", array, "a score is a finite number, or -inf where the query may not look"
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
    check_leading_axes("q", q, "k", k)
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
    check_leading_axes("k", k, "v", v)
    return v


def as_mask(mask: object, *leading: int, n_q: int, n_k: int) -> Array | None:
    """Return `mask` as a bool array that broadcasts to (*leading, n_q, n_k), or None.

    A mask has two axes (it serves every leading axis) or as many as the scores, where an axis of
    size 1 is shared. Anything between would line up with the wrong axis.
    """
    if mask is None:
        return None
    mask = _as_array("mask", mask)
    if mask.dtype != np.bool_:
        raise ValueError(
            f"mask must be bool, True where the query may look, got dtype {mask.dtype}; "
            + (
                "for numbers added to the scores use attention_with_bias"
                if mask.dtype.kind == "f"
                else "write mask.astype(bool) if 1 means may look"
            )
        )
    _check_score_axes("mask", mask, leading, n_q, n_k)
    return mask


def as_bias(bias: object, *leading: int, n_q: int, n_k: int) -> Array:
    """Return `bias` as floats (finite or -inf) that broadcast to the scores as a mask does."""
    bias = _as_float_dtype("bias", bias)
    _check_score_axes("bias", bias, leading, n_q, n_k)
    _check_scores("bias", bias, "an entry is a finite number, or -inf where the query may not look")
    return bias


def as_scores_and_values(
    scores: object, v: object, mask: object
) -> tuple[Array, Array, Array | None]:
    """Return `scores` (..., n_q, n_k), `v` (..., n_k, d_v) and `mask` as arrays that fit."""
    scores, v = as_scores(scores, "n_q n_k"), as_floats("v", v, "n_k d_v")
    n_k = scores.shape[-1]
    if v.shape[-2] != n_k:
        raise ShapeError(
            f"v must have n_k={n_k} rows, one for each column of scores, got {v.shape[-2]}:"
            f" scores is {scores.shape}, v is {v.shape}{_transposed(v.shape[-1] == n_k)}"
        )
    check_leading_axes("scores", scores, "v", v)
    return scores, v, as_mask(mask, *scores.shape[:-2], n_q=scores.shape[-2], n_k=n_k)


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


def as_bilinear_inputs(X_q: object, X_kv: object, M: object) -> tuple[Array, Array, Array]:
    """Return `X_q` (..., n_q, d_q), `X_kv` (..., n_k, d_kv) and `M` (d_q, d_kv) as floats."""
    X_q, X_kv = as_floats("X_q", X_q, "n_q d_q"), as_floats("X_kv", X_kv, "n_k d_kv")
    M = as_floats("M", M, "d_q d_kv", exactly=True)
    wanted = (X_q.shape[-1], X_kv.shape[-1])
    if M.shape != wanted:
        raise ShapeError(
            f"M must be (d_q, d_kv)={wanted}, got {M.shape}: X_q is {X_q.shape}, X_kv is"
            f" {X_kv.shape}{_transposed(M.shape == wanted[::-1])}"
        )
    check_leading_axes("X_q", X_q, "X_kv", X_kv)
    check_dot_products_fit("X_q", X_q, "a column of M", M.T)
    check_dot_products_fit("X_q M", X_q @ M, "X_kv", X_kv)
    return X_q, X_kv, M


def as_additive_inputs(
    q: object, k: object, W_Q: object, W_K: object, w: object
) -> tuple[Array, ...]:
    """Return queries, keys and the hidden layer of additive scores as floats that fit."""
    q, k = as_floats("q", q, "n_q d_q"), as_floats("k", k, "n_k d_kv")
    q, W_Q, _ = as_projection(q, W_Q, None, "q W_Q -")
    k, W_K, _ = as_projection(k, W_K, None, "k W_K -")
    check_leading_axes("q", q, "k", k)
    w = as_floats("w", w, "d_a", exactly=True)
    if not W_Q.shape[1] == W_K.shape[1] == w.shape[0]:
        raise ShapeError(
            "W_Q, W_K and w must share the hidden width d_a, got"
            f" {W_Q.shape[1]}, {W_K.shape[1]} and {w.shape[0]}:"
            f" W_Q is {W_Q.shape}, W_K is {W_K.shape}, w is {w.shape}"
        )
    return q, k, W_Q, W_K, w


def as_vocabulary(X: object, E: object, b: object) -> tuple[Array, Array, Array | None]:
    """Return `X` (..., d_model), `E` (n_vocabulary, d_model) and `b` (n_vocabulary,) or None."""
    X, E = as_floats("X", X, "d_model"), as_floats("E", E, "n_vocabulary d_model", exactly=True)
    d_model = X.shape[-1]
    if E.shape[1] != d_model:
        raise ShapeError(
            f"E must have d_model={d_model} columns as X has, got {E.shape[1]}:"
            f" X is {X.shape}, E is {E.shape}{_transposed(E.shape[0] == d_model)}"
        )
    return as_projection(X, E.T, b, "X E.T b")


def as_scores_and_targets(scores: object, targets: object) -> tuple[Array, Array]:
    """Return `scores` (..., n_classes) as finite floats and `targets` (...) as class numbers."""
    scores, targets = as_floats("scores", scores, "n_classes"), _as_array("targets", targets)
    if targets.shape != scores.shape[:-1]:
        raise ShapeError(
            f"targets must be {scores.shape[:-1]}, one class for each row of scores,"
            f" got {targets.shape}: scores is {scores.shape}"
        )
    return scores, as_ids("targets", targets, n=scores.shape[-1])


def as_sequence(x_name: str, X: object, w_name: str, W: Array) -> Array:
    """Return `X` (..., n, d_in) as floats as wide as the heads' matrices `W` (n_heads, d_in, d)."""
    X = as_floats(x_name, X, "n d_in")
    d_in = W.shape[-2]
    if X.shape[-1] != d_in:
        raise ShapeError(
            f"{x_name} must have {d_in} columns, one for each row of {w_name}[i],"
            f" got {X.shape[-1]}: {x_name} is {X.shape}, {w_name} is {W.shape}"
            f"{_transposed(X.shape[-2] == d_in)}"
        )
    for head in W:
        check_dot_products_fit(x_name, X, f"a column of {w_name}", head.T)
    return X


def as_head_stack(name: str, W: object) -> Array:
    """Return `W` (n_heads, d_in, d) as floats: one matrix a head."""
    W = as_floats(name, W)
    if W.ndim == 2:
        raise ShapeError(
            f"{name} must be (n_heads, d_in, d), got {W.shape};"
            f" cut it into heads with unstack_heads({name}, n_heads)"
        )
    _check_axes(name, W, "n_heads d_in d", exactly=True)
    return W


def as_heads(w_name: str, W: object, b_name: str, b: object) -> tuple[Array, Array | None]:
    """Return `W` (n_heads, d_in, d) and `b` (n_heads, d) or None as floats that fit."""
    W = as_head_stack(w_name, W)
    if b is None:
        return W, None
    b = as_floats(b_name, b)
    _check_head_bias(b_name, b, w_name, W)
    return W, b


def as_stacked(name: str, x: object, n_heads: object, exactly: bool = False) -> tuple[Array, int]:
    """Return `x` (..., n, n_heads * d) as floats whose width is a multiple of `n_heads`."""
    x, n_heads = as_floats(name, x, "n n_heads*d", exactly), as_size("n_heads", n_heads)
    if x.shape[-1] % n_heads:
        raise ShapeError(
            f"{name} must have a multiple of n_heads={n_heads} columns, got {x.shape[-1]}:"
            f" {name} is {x.shape}{_transposed(x.shape[-2] % n_heads == 0)}"
        )
    return x, n_heads


def as_writing_heads(heads: object, W_O: object) -> tuple[Array, Array]:
    """Return `heads` (..., n_heads, n, d_v) and `W_O` (n_heads * d_v, d_model) as floats."""
    heads = as_floats("heads", heads, "n_heads n d_v")
    W_O = as_floats("W_O", W_O, "n_heads*d_v d_model", exactly=True)
    rows = heads.shape[-3] * heads.shape[-1]
    if W_O.shape[0] != rows:
        raise ShapeError(
            f"W_O must have n_heads*d_v={rows} rows, got {W_O.shape[0]}: heads is {heads.shape},"
            f" W_O is {W_O.shape}{_transposed(W_O.shape[1] == rows)}"
        )
    check_dot_products_fit("heads", heads, "a column of W_O", W_O.T)
    return heads, W_O


def as_head_mask(mask: object, X_q: Array, X_kv: Array, n_heads: int) -> Array | None:
    """Return `mask` as a view of shape (..., n_heads, n_q, n_k), or None.

    A mask with as many axes as `X_q` is shared by all heads; one axis more gives each its own.
    """
    *batch, n_q, _ = X_q.shape
    n_k = X_kv.shape[-2]
    if mask is None:
        return None
    mask = _as_array("mask", mask)
    if mask.ndim == X_q.ndim:
        mask = np.asarray(as_mask(mask, *batch, n_q=n_q, n_k=n_k))[..., None, :, :]
    mask = np.asarray(as_mask(mask, *batch, n_heads, n_q=n_q, n_k=n_k))
    return np.broadcast_to(mask, (*batch, n_heads, n_q, n_k))


def check_heads_fit(parameters: Any, grouped: bool = True) -> None:
    """Refuse matrices of multi-head attention that do not fit each other."""
    W_Q, W_K, W_V, W_O = parameters.W_Q, parameters.W_K, parameters.W_V, parameters.W_O
    shapes = f"W_Q is {W_Q.shape}, W_K is {W_K.shape}, W_V is {W_V.shape}, W_O is {W_O.shape}"
    if W_K.shape[2] != W_Q.shape[2]:
        raise ShapeError(
            f"W_K must have d_k={W_Q.shape[2]} columns a head as W_Q has, got {W_K.shape[2]}:"
            f" {shapes}"
        )
    if W_V.shape[:2] != W_K.shape[:2]:
        raise ShapeError(
            f"W_V must begin with (n_heads, d_kv)={W_K.shape[:2]} as W_K does,"
            f" got {W_V.shape[:2]}: {shapes}"
        )
    if W_Q.shape[0] % W_K.shape[0] or (not grouped and W_Q.shape[0] != W_K.shape[0]):
        must, slip = (
            "divide" if grouped else "be",
            "" if grouped else "; see grouped_multi_head_attention",
        )
        raise ShapeError(
            f"the heads of W_K must {must} n_heads={W_Q.shape[0]}, got {W_K.shape[0]}:"
            f" {shapes}{slip}"
        )
    rows = W_Q.shape[0] * W_V.shape[2]
    if W_O.shape[0] != rows:
        raise ShapeError(
            f"W_O must have n_heads*d_v={rows} rows, got {W_O.shape[0]}: {shapes}"
            f"{_transposed(W_O.shape[1] == rows)}"
        )
    for b_name, w_name in (("b_Q", "W_Q"), ("b_K", "W_K"), ("b_V", "W_V")):
        if getattr(parameters, b_name) is not None:
            _check_head_bias(
                b_name, getattr(parameters, b_name), w_name, getattr(parameters, w_name)
            )
    if parameters.b_O is not None and parameters.b_O.shape != W_O.shape[1:]:
        raise ShapeError(
            f"b_O must have d_model={W_O.shape[1]} entries, got {parameters.b_O.shape}: {shapes}"
        )


def as_torch_state(state: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return W_Q, W_K, W_V (out, in), W_O and both biases out of torch's state dict."""
    if not isinstance(state, Mapping):
        raise ValueError(f"state must be what state_dict() returns, got {type(state).__name__}")
    if "bias_k" in state or "bias_v" in state:
        raise ValueError("state has bias_k and bias_v (add_bias_kv), which have no place here")
    names = ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight")
    if "in_proj_weight" in state:
        packed = as_floats(names[0], state[names[0]], "3*d d_model", exactly=True)
        if packed.shape[0] != 3 * packed.shape[1]:
            raise ShapeError(f"in_proj_weight must be (3*d_model, d_model), got {packed.shape}")
        W_Q, W_K, W_V = np.split(packed, 3)
    elif all(name in state for name in names[1:]):
        W_Q, W_K, W_V = (as_floats(n, state[n], "d_model d_in", exactly=True) for n in names[1:])
    else:
        raise ValueError(
            "state must have in_proj_weight, or q_proj_weight, k_proj_weight and v_proj_weight,"
            f" got {sorted(state)}"
        )
    if W_K.shape != W_V.shape:
        raise ShapeError(
            f"k_proj_weight and v_proj_weight must be as wide, got kdim={W_K.shape[1]} and"
            f" vdim={W_V.shape[1]}: keys and values are made from one X_kv"
        )
    if "out_proj.weight" not in state:
        raise ValueError(f"state must have out_proj.weight, got {sorted(state)}")
    W_O = as_floats("out_proj.weight", state["out_proj.weight"], "d_model d_model", exactly=True)
    in_bias, out_bias = state.get("in_proj_bias"), state.get("out_proj.bias")
    if in_bias is not None:
        in_bias = as_floats("in_proj_bias", in_bias, "3*d_model", exactly=True)
        if in_bias.shape[0] != 3 * W_O.shape[0]:
            raise ShapeError(
                f"in_proj_bias must have 3*d_model={3 * W_O.shape[0]} entries,"
                f" got {in_bias.shape[0]}"
            )
    return W_Q, W_K, W_V, W_O, in_bias, out_bias


def check_torch_can_hold(parameters: Any) -> Any:
    """Return `parameters`, or say why torch's module has no room for them."""
    p = parameters
    widths = {
        "n_heads*d_k": p.n_heads * p.d_k,
        "n_heads*d_v": p.n_heads * p.d_v,
        "n_kv_heads*d_k": p.n_kv_heads * p.d_k,
        "d_q": p.d_q,
    }
    for name, width in widths.items():
        if width != p.d_model:
            raise ShapeError(
                f"nn.MultiheadAttention needs {name}={width} to be d_model={p.d_model}"
            )
    return p


def as_grouped_inputs(q: object, k: object, v: object) -> tuple[Array, Array, Array, int]:
    """Return q, k and v as floats, and how many heads of q share one of k and v."""
    q, k = as_floats("q", q, "n_heads n_q d_k"), as_floats("k", k, "n_kv_heads n_k d_k")
    v = as_floats("v", v, "n_kv_heads n_k d_v")
    if q.shape[-3] % k.shape[-3]:
        raise ShapeError(
            f"the heads of k must divide n_heads={q.shape[-3]}, got {k.shape[-3]}:"
            f" q is {q.shape}, k is {k.shape}"
        )
    check_leading_axes("k", k, "v", v)
    return q, k, v, q.shape[-3] // k.shape[-3]


def as_cache_entries(k: object, v: object) -> tuple[Array, Array]:
    """Return `k` (..., n, d_k) and `v` (..., n, d_v) as floats, one value for each key."""
    k = as_floats("k", k, "n d_k")
    return k, as_values(k, v)


def as_kv_head_count(n_kv_heads: object, n_heads: int) -> int:
    """Return `n_kv_heads` as a size that divides the number of heads there are."""
    n = as_size("n_kv_heads", n_kv_heads)
    if n_heads % n:
        raise ValueError(f"n_kv_heads must divide the {n_heads} heads of W_K, got {n}")
    return n


def check_cache_goes_on(cache: Any, k: Array, v: Array) -> None:
    """Refuse keys and values of another width or batch than those of the cache."""
    for name, old, new in (("k", cache.k, k), ("v", cache.v, v)):
        if old.shape[:-2] != new.shape[:-2] or old.shape[-1] != new.shape[-1]:
            raise ShapeError(
                f"{name} must be like the cache's in all but its number of rows:"
                f" cache.{name} is {old.shape}, {name} is {new.shape}"
            )


def as_caches(name: str, caches: object, n_layers: int) -> tuple[Any, ...]:
    """Return caches as a tuple with one for each layer."""
    if not isinstance(caches, Sequence):
        raise ValueError(f"{name} must be a sequence of caches, got {type(caches).__name__}")
    if len(caches) != n_layers:
        raise ValueError(f"{name} must have one cache a layer, {n_layers}, got {len(caches)}")
    return tuple(caches)


def check_rows_last(P: Array, n: int) -> None:
    """Refuse to read row `n` - 1 of a table that ends before it."""
    if n > P.shape[0]:
        raise ValueError(f"P has {P.shape[0]} positions, and position {n - 1} is asked for")


def as_rotary_inputs(x: object, offset: object, base: object) -> tuple[Array, Array, Array]:
    """Return `x` (..., n, d_k) with the cosines and sines of its angles, each (n, d_k / 2)."""
    x, offset = as_floats("x", x, "n d_k"), as_size("offset", offset, least=0)
    n, d_k = x.shape[-2:]
    if d_k % 2:
        raise ShapeError(f"x must have an even number of columns to turn in pairs, got d_k={d_k}")
    speed = as_positive("base", base) ** (-np.arange(0, d_k, 2) / d_k)
    angle = np.arange(offset, offset + n)[:, None] * speed
    return x, np.cos(angle).astype(x.dtype), np.sin(angle).astype(x.dtype)


def as_norm_row(name: str, row: object, like: Array | None = None) -> Array:
    """Return `row` (d_model,) as floats, as long as `like` if that is given."""
    row = as_floats(name, row, "d_model", exactly=True)
    if like is not None and row.shape != like.shape:
        raise ShapeError(
            f"{name} must have d_model={like.shape[0]} entries as gain has, got {row.shape[0]}"
        )
    return row


def as_rows_as_wide(x_name: str, X: object, row_name: str, row: Array) -> Array:
    """Return `X` (..., d_model) as floats as wide as `row`, small enough to be squared."""
    X = as_floats(x_name, X, "d_model")
    if X.shape[-1] != row.shape[0]:
        raise ShapeError(
            f"{x_name} must have d_model={row.shape[0]} columns as {row_name} has,"
            f" got {X.shape[-1]}: {x_name} is {X.shape}"
        )
    check_dot_products_fit(x_name, X, x_name, X)
    return X


def check_feed_forward_fits(parameters: Any) -> None:
    """Refuse matrices, biases and an activation that do not fit each other."""
    W_1, W_2 = parameters.W_1, parameters.W_2
    if W_2.shape != W_1.shape[::-1]:
        raise ShapeError(
            f"W_2 must be (d_ff, d_model)={W_1.shape[::-1]}, got {W_2.shape}: W_1 is {W_1.shape}"
            f"{_transposed(W_2.shape == W_1.shape)}"
        )
    for name, wanted in (("b_1", W_1.shape[1]), ("b_2", W_2.shape[1])):
        b = getattr(parameters, name)
        if b is not None and b.shape != (wanted,):
            raise ShapeError(f"{name} must have {wanted} entries, got {b.shape}")
    if not callable(parameters.activation):
        raise ValueError(f"activation must be a function, got {parameters.activation!r}")


def as_layer_input(X: object, parameters: Any, kind: type) -> Array:
    """Return `X` (..., n, d_model) as floats as wide as a layer, whose parameters are a `kind`."""
    check_kind("parameters", parameters, kind)
    X = as_rows_as_wide("X", X, "norm_1", parameters.norm_1.gain)
    _check_axes("X", X, "n d_model")
    return X


def check_kind(name: str, value: object, kind: type) -> None:
    """Refuse parameters of another kind."""
    if not isinstance(value, kind):
        raise ValueError(f"{name} must be {kind.__name__}, got {type(value).__name__}")


def check_residual_widths(**widths: int) -> None:
    """Refuse parts of a layer that are not all of one width: their outputs are added to X."""
    wanted = widths["norm_1"]
    for name, width in widths.items():
        if width != wanted:
            raise ShapeError(
                f"a residual sum needs one width: norm_1 has d_model={wanted}, {name} has {width}"
            )


def as_layers(name: str, layers: object) -> tuple[Any, ...]:
    """Return the parameters of layers as a tuple."""
    if not isinstance(layers, Sequence):
        raise ValueError(f"{name} must be a sequence of layers, got {type(layers).__name__}")
    return tuple(layers)


def check_layers_follow(name: str, widths: list[int], wanted: int) -> None:
    """Refuse layers whose width is not that of what they read."""
    for i, width in enumerate(widths):
        if width != wanted:
            raise ShapeError(
                f"layer {i} of {name} is given rows {wanted} wide, and is made for {width}"
            )


def as_images(images: object, size: object) -> tuple[Array, int]:
    """Return `images` (..., height, width) as floats and `size`, by which both can be cut."""
    images, size = as_floats("images", images, "height width"), as_size("size", size)
    for name, length in zip(("height", "width"), images.shape[-2:], strict=True):
        if length % size:
            raise ShapeError(
                f"images must be cut into whole patches: {name} {length} is no multiple of"
                f" size={size}, images is {images.shape}"
            )
    return images, size


def check_vision_fits(parameters: Any) -> None:
    """Refuse a Vision Transformer whose parts are not all of one width, or patches not square."""
    d_patch, d_model = parameters.W_E.shape
    if math.isqrt(d_patch) ** 2 != d_patch:
        raise ShapeError(
            f"W_E must have one row for each pixel of a square patch (1, 4, 9 ...), got {d_patch}"
        )
    widths = {
        "b_E": parameters.b_E.shape[0],
        "x_class": parameters.x_class.shape[0],
        "P": parameters.P.shape[1],
        "norm": parameters.norm.d_model,
        "W_R": parameters.W_R.shape[0],
    }
    for name, width in widths.items():
        if width != d_model:
            raise ShapeError(f"W_E makes rows of width d_model={d_model}, {name} is for {width}")
    check_layers_follow("layers", [layer.norm_1.d_model for layer in parameters.layers], d_model)
    if parameters.b_R.shape != parameters.W_R.shape[1:]:
        raise ShapeError(
            f"b_R must have n_classes={parameters.W_R.shape[1]} entries, one for each column of"
            f" W_R, got {parameters.b_R.shape[0]}"
        )


def check_rows_for_patches(P: Array, patches: Array) -> None:
    """Refuse images that have not as many patches as the position code has rows for."""
    if P.shape[0] != 1 + patches.shape[-2]:
        raise ShapeError(
            f"P has {P.shape[0]} rows, one for the class token and one for each of"
            f" {P.shape[0] - 1} patches; the images have {patches.shape[-2]} patches"
        )


def as_generator(rng: object) -> np.random.Generator:
    """Return `rng` if it is a numpy Generator."""
    if not isinstance(rng, np.random.Generator):
        raise ValueError(
            f"rng must be a numpy Generator, got {rng!r}; write np.random.default_rng(seed)"
        )
    return rng


def as_partial_outputs(
    side: str, output: object, log_totals: object, like: Array | None = None
) -> tuple[Array, Array]:
    """Return one side of a merge, `output` (..., n_q, d_v) and `log_totals` (..., n_q)."""
    output = as_floats(f"output_{side}", output, "n_q d_v")
    name = f"log_totals_{side}"
    log_totals = _as_float_dtype(name, log_totals)
    if log_totals.shape != output.shape[:-1]:
        raise ShapeError(
            f"{name} must be {output.shape[:-1]}, one number a row, got {log_totals.shape}:"
            f" output_{side} is {output.shape}"
        )
    _check_scores(name, log_totals, "it is a finite number, or -inf for a row that found nothing")
    if like is not None and output.shape != like.shape:
        raise ShapeError(
            f"output_a and output_b must have the same shape, got {like.shape} and {output.shape}"
        )
    return output, log_totals


def as_weights_by_layer(weights_by_layer: object) -> list[Array]:
    """Return the weights of each layer, all (..., n_heads, n, n) with one n."""
    if not isinstance(weights_by_layer, (list, tuple, np.ndarray)) or not len(weights_by_layer):
        raise ShapeError("weights_by_layer must be a sequence with an array for each layer")
    layers = [as_floats(f"layer {i}", w, "n_heads n n") for i, w in enumerate(weights_by_layer)]
    n = layers[0].shape[-1]
    for i, layer in enumerate(layers):
        if layer.shape[-2:] != (n, n):
            raise ShapeError(
                f"layer {i} must end in (n, n)={(n, n)}, got {layer.shape};"
                " a rollout is of self-attention"
            )
        check_leading_axes("layer 0", layers[0][..., 0, :, :], f"layer {i}", layer[..., 0, :, :])
    return layers


def as_weights(weights: object) -> Array:
    """Return `weights` (..., n_k) as finite floats."""
    return as_floats("weights", weights, "n_k")


def as_gradient(name: str, gradient: object, shape: tuple[int, ...]) -> Array:
    """Return `gradient` as floats of exactly `shape`, that of the output it belongs to."""
    gradient = as_floats(name, gradient)
    if gradient.shape != shape:
        slip = _transposed(gradient.shape == (*shape[:-2], *shape[:-3:-1]) and len(shape) > 1)
        raise ShapeError(f"{name} must have the output's shape {shape}, got {gradient.shape}{slip}")
    return gradient


def as_mask_sizes(n_q: object, n_k: object, offset: object) -> tuple[int, int, int]:
    """Return the sizes of a mask as ints; without `n_k` the last query is the last position."""
    n_q = as_size("n_q", n_q)
    offset = as_size("offset", offset, least=-n_q)
    return n_q, as_size("n_k", n_q + offset if n_k is None else n_k), offset


def as_lengths(lengths: object, n_k: int) -> Array:
    """Return `lengths` (batch,) as an int array with entries from 0 to `n_k`."""
    array = _as_array("lengths", lengths)
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


def as_positive(name: str, value: object) -> float:
    """Return `value` as a finite float above 0."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(
        value, (int, float, np.integer, np.floating)
    ):
        raise ValueError(f"{name} must be a number above 0, got {value!r}")
    if not 0.0 < value < np.inf:
        raise ValueError(f"{name} must be a finite number above 0, got {value}")
    return float(value)


def as_divisor(
    name: str, value: object, dividend_name: str, dividend: Array, power: int = 1
) -> float:
    """Return `value` as a float above 0 that is large enough to divide `dividend` by it."""
    divisor = as_positive(name, value)
    finite = np.abs(dividend, where=np.isfinite(dividend), out=np.zeros_like(dividend))
    largest = float(finite.max()) / divisor
    for _ in range(power - 1):
        largest /= divisor
    _check_fits(f"{dividend_name} divided by {name}={divisor:g}", largest, dividend.dtype)
    return divisor


def as_ids(name: str, ids: object, n: int) -> Array:
    """Return `ids` as an int array of at least one axis with entries from 0 to `n` - 1."""
    array = _as_array(name, ids)
    if array.dtype.kind not in "iu":
        raise ValueError(f"{name} must be integers, got dtype {array.dtype}")
    if array.size == 0:
        raise ShapeError(f"{name} is empty: an axis of {array.shape} has size 0")
    outside = array[(array < 0) | (array >= n)]
    if outside.size:
        raise ValueError(f"{name} must lie between 0 and {n - 1}, got {outside[0]}")
    return array


def as_row_of_ids(name: str, ids: object, n: int, exactly: int = 0) -> Array:
    """Return `ids` as one row of ids below `n`; with `exactly`, of that many."""
    row = as_ids(name, ids, n)
    if row.ndim != 1:
        raise ShapeError(f"{name} must be one row of ids, got shape {row.shape}")
    if exactly and len(row) != exactly:
        raise ShapeError(f"{name} must be {exactly} ids, got {len(row)}")
    return row


def check_dot_products_fit(x_name: str, x: Array, y_name: str, y: Array) -> None:
    """Refuse rows so long that a dot product could overflow: |x.y| <= |x| |y| (Cauchy-Schwarz)."""
    largest = _longest(x) * _longest(y)
    _check_fits(f"a dot product of {x_name} and {y_name}", largest, np.result_type(x, y))


def check_rows_have_length(**lengths: Array) -> None:
    """Refuse rows of length 0: they have no direction."""
    for name, length in lengths.items():
        if np.any(length == 0.0):
            where = _first_index(length[..., 0] == 0.0)
            raise ValueError(
                f"{name} has a row of length 0, at {_place(where)};"
                " without a direction it has no cosine"
            )


def check_bias_fits(biased: Array, bias: Array) -> None:
    """Refuse scores that have overflowed by a finite bias; a bias of -inf is a mask."""
    if np.any(np.isinf(biased) & np.isfinite(bias)):
        _check_fits("a score with its bias", math.inf, biased.dtype)


def check_losses_fit(distances: Array) -> None:
    """Refuse right classes so far below the largest score that a loss overflows."""
    _check_fits("a loss", float(distances.max()), distances.dtype)


def check_distances_fit(q: Array, k: Array) -> None:
    """Refuse rows so long that a squared distance could overflow: |q - k| <= |q| + |k|."""
    farthest = _longest(q) + _longest(k)
    _check_fits("a squared distance of q and k", farthest * farthest, np.result_type(q, k))


def _check_fits(what: str, largest: float, dtype: np.dtype) -> None:
    limit = float(np.finfo(dtype).max)
    if largest > limit:
        raise ValueError(f"{what} can reach {largest:.2g}, and {dtype} ends at {limit:.2g}")


def _longest(rows: Array) -> float:
    squares = np.einsum("...d,...d->...", rows, rows, dtype=np.float64)
    return math.sqrt(squares.max())


def _as_float_dtype(name: str, x: object) -> Array:
    array = _as_array(name, x)
    if array.dtype.kind in "iu":
        return array.astype(np.float64)
    native = array.dtype.newbyteorder("=")
    if native not in (np.float16, np.float32, np.float64):
        slip = "; a mask is an argument of its own" if array.dtype == np.bool_ else ""
        raise ValueError(
            f"{name} must hold float16, float32 or float64 numbers (integers become float64),"
            f" got dtype {array.dtype}{slip}"
        )
    return array.astype(native, copy=False)


def _as_array(name: str, x: object) -> Array:
    if isinstance(x, np.ma.MaskedArray):
        raise ValueError(f"{name} is a numpy masked array; pass {name}.filled(...) and a bool mask")
    try:
        return np.asarray(x)
    except (ValueError, TypeError, RuntimeError) as error:
        if "inhomogeneous" in str(error):
            raise ShapeError(
                f"{name} is ragged: its rows differ in length, and an array needs them equal"
            ) from None
        raise ValueError(f"{name} cannot be read as an array: {error}") from error


def _check_head_bias(b_name: str, b: Array, w_name: str, W: Array) -> None:
    wanted = (W.shape[0], W.shape[2])
    if b.shape != wanted:
        raise ShapeError(
            f"{b_name} must be (n_heads, d)={wanted}, one row a head, got {b.shape}:"
            f" {w_name} is {W.shape}{_transposed(b.shape == wanted[::-1])}"
        )


def _check_axes(name: str, array: Array, axes: str, exactly: bool = False) -> None:
    names = axes.split()
    wanted = f"({', '.join(names)}{',' if len(names) == 1 else ''})"
    if exactly and array.ndim != len(names):
        raise ShapeError(f"{name} must be {wanted}, got {array.shape}")
    if array.ndim < len(names):
        slip = f"; for one row write {name}[None, :]" if (array.ndim, len(names)) == (1, 2) else ""
        raise ShapeError(f"{name} must end in {wanted}, got {array.shape}{slip}")
    if array.size == 0:
        raise ShapeError(f"{name} is empty: an axis of {array.shape} has size 0")


def check_leading_axes(x_name: str, x: Array, y_name: str, y: Array) -> None:
    """Refuse two stacks whose batches (and heads) differ: nothing is stretched to fit."""
    if x.shape[:-2] != y.shape[:-2]:
        raise ShapeError(
            f"{x_name} and {y_name} must have the same leading axes,"
            f" got {x.shape[:-2]} and {y.shape[:-2]}:"
            f" {x_name} is {x.shape}, {y_name} is {y.shape}"
        )


def _first_index(where: Array) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(np.argmax(where), where.shape))


def _check_scores(name: str, array: Array, rule: str) -> None:
    if not array.max() < np.inf:  # NaN and +inf both survive a maximum, and neither is below inf
        where = _first_index(~(array < np.inf))
        raise ValueError(f"{name} cannot hold {array[where]}, found at {_place(where)}: {rule}")


def _check_score_axes(
    name: str, array: Array, leading: tuple[int, ...], n_q: int, n_k: int
) -> None:
    last = array.shape[-2:]
    if len(last) < 2 or last[0] not in (1, n_q) or last[1] not in (1, n_k):
        slip = _transposed(n_q != n_k and last == (n_k, n_q))
        if array.shape == (n_k,):
            slip = f"; for one row of keys that every query shares write {name}[None, :]"
        raise ShapeError(f"{name} must end in (n_q, n_k)={(n_q, n_k)}, got {array.shape}{slip}")
    if array.ndim == 2:
        return
    fits = all(m in (1, n) for m, n in zip(array.shape, leading, strict=False))
    if array.ndim != len(leading) + 2 or not fits:
        raise ShapeError(
            f"{name} must be {(n_q, n_k)} or broadcast to {(*leading, n_q, n_k)} axis by axis,"
            f" got {array.shape}; give a shared axis the size 1, as in {name}[:, None]"
        )


def _place(index: tuple[int, ...]) -> str:
    return str(index[0]) if len(index) == 1 else str(index)


def _transposed(looks_so: bool) -> str:
    return "; it looks transposed" if looks_so else ""
