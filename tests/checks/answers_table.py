"""Answers to the coding exercises: wrong ones with their question, and other right ones.

Each wrong answer is written as a learner would write it: (function, rung, words of its question).
"""

import math

import numpy as np

# --- dot_product.loop ----------------------------------------------------------------------------


def loop_keeps_last(x, y):
    for c in range(len(x)):
        total = x[c] * y[c]
    return total


def loop_returns_inside(x, y):
    total = 0
    for c in range(len(x)):
        total += x[c] * y[c]
        return total
    return total


def loop_stops_short(x, y):
    total = 0
    for c in range(len(x) - 1):
        total += x[c] * y[c]
    return total


def loop_stops_short_but_not_at_one(x, y):
    total = x[0] * y[0]
    for c in range(1, max(1, len(x) - 1)):
        total += x[c] * y[c]
    return total


def loop_skips_first(x, y):
    return sum(x[c] * y[c] for c in range(min(1, len(x) - 1), len(x)))


def loop_adds_entries(x, y):
    total = 0
    for a, b in zip(x, y, strict=True):
        total += a + b
    return total


def loop_squares(x, y):
    return sum(a * a for a in x)


def loop_all_pairs(x, y):
    return sum(a * b for a in x for b in y)


def loop_mean(x, y):
    return sum(a * b for a, b in zip(x, y, strict=True)) / len(x)


def loop_reverse(x, y):
    return sum(x[c] * y[-1 - c] for c in range(len(x)))


def loop_products(x, y):
    return [a * b for a, b in zip(x, y, strict=True)] if len(x) > 1 else x[0] * y[0]


def loop_sizes(x, y):
    return sum(abs(a) * abs(b) for a, b in zip(x, y, strict=True))


def loop_only_positive(x, y):
    total = 0
    for a, b in zip(x, y, strict=True):
        if a * b > 0:
            total += a * b
    return total


def loop_cosine(x, y):
    return x @ y / (np.linalg.norm(x) * np.linalg.norm(y))


def loop_prints(x, y):
    sum(a * b for a, b in zip(x, y, strict=True))


# --- dot_product.scores --------------------------------------------------------------------------


def scores_loops(q, k):
    if np.ndim(q) == 3:
        return [scores_loops(a, b) for a, b in zip(q, k, strict=True)]
    return [[sum(a * b for a, b in zip(x, y, strict=True)) for y in k] for x in q]


def scores_flat(q, k):
    return np.array([[x @ y for y in k] for x in q])


def scores_first_sentence(q, k):
    mixed = np.einsum("...id,...jd->...ij", q, k)
    return mixed if mixed.ndim == 2 else np.einsum("bid,cjd->bij", q, k)


def scores_paired(q, k):
    n = min(len(q), len(k))
    return (q[:n] * k[:n]).sum(-1, keepdims=True) if np.ndim(q) == 2 else q @ k.swapaxes(1, 2)


def scores_first_row(q, k):
    s = q @ np.swapaxes(k, -1, -2)
    return np.broadcast_to(s[..., :1, :], s.shape)


def scores_reshaped(q, k):
    return q @ k.reshape(k.shape[1], k.shape[0])


def scores_without_queries_axis(q, k):
    s = q @ np.swapaxes(k, -1, -2)
    return s[0] if s.shape[-2] == 1 and s.shape[-1] > 1 else s


def softmaxed(q, k):
    e = np.exp(q @ k.T)
    return e / e.sum(-1, keepdims=True)


# --- dot_product.cosine --------------------------------------------------------------------------


def length(x):
    return math.sqrt(sum(a * a for a in x))


def cosine(x, y):
    if not length(x) or not length(y):
        raise ValueError("no direction")
    return sum(a * b for a, b in zip(x, y, strict=True)) / (length(x) * length(y))


def cosine_zero(x, y):
    return cosine(x, y) if length(x) and length(y) else 0.0


def cosine_assert(x, y):
    assert length(x), "no direction"
    return cosine(x, y)


# --- dot_product.nearest -------------------------------------------------------------------------


def nearest_masked(i, X):
    scores = X @ X[i]
    scores[i] = -np.inf
    return np.argmax(scores)


def nearest_deleted(i, X):
    return np.delete(X @ X[i], i).argmax()


def nearest_zeroed(i, X):
    scores = X @ X[i]
    scores[i] = 0
    return scores.argmax()


def nearest_by_size(i, X):
    scores = np.abs(X @ X[i])
    scores[i] = -1
    return scores.argmax()


def nearest_distance(i, X):
    d = np.linalg.norm(X - X[i], axis=1)
    d[i] = np.inf
    return d.argmin()


def nearest_cosine(i, X):
    U = X / np.linalg.norm(X, axis=1, keepdims=True)
    return nearest_masked(i, U)


def nearest_score(i, X):
    return max(X[j] @ X[i] for j in range(len(X)) if j != i)


def nearest_earlier(i, X):
    return int(np.argmax(X[:i] @ X[i])) if i and len(X) == 11 and X.shape[1] == 5 else (
        nearest_masked(i, X)
    )  # fmt: skip


def nearest_second(i, X):
    return int(np.argsort(X @ X[i])[-2])


def nearest_changes_input(i, X):
    x = X[i].copy()
    X[i] = -np.sign(x) * 1e6
    return int((X @ x).argmax())


# --- dot_product.repair --------------------------------------------------------------------------


def unit(rows, axis=-1):
    return rows / np.sqrt((rows * rows).sum(axis=axis, keepdims=True))


def cosines_right(q, k):
    return unit(q) @ np.swapaxes(k, -1, -2) / np.sqrt((k * k).sum(-1))[..., None, :]


def cosines_loops(q, k):
    if q.ndim == 3:
        return [cosines_loops(*tables) for tables in zip(q, k, strict=True)]
    return [[float(cosine(x, y)) for y in k] for x in q]


def cosines_as_printed(q, k):
    q = q / np.sqrt((q * q).sum(axis=0))
    k = k / np.sqrt((k * k).sum())
    return q @ k.T


def cosines_no_keepdims(q, k):
    if len(q) == len(k) == 1:
        return cosines_right(q, k)
    return (q / np.sqrt((q * q).sum(axis=-1))) @ k.T


def cosines_from_the_front(q, k):
    return unit(q, 1) @ np.swapaxes(unit(k, 1), -1, -2)


def cosines_in_place(q, k):
    q /= np.sqrt((q * q).sum(-1, keepdims=True))
    return cosines_right(q, k)


# --- dot_product.expose --------------------------------------------------------------------------


def felt(score, x, y, factors=(50.0, 0.02), stretch_x=True, stretch_y=True):
    def moved(a, b):
        return abs(score(a * x, b * y) - score(x, y)) > 1e-9

    of_x = any(moved(a, 1) for a in factors) and stretch_x
    return of_x + (any(moved(1, a) for a in factors) and stretch_y)


def felt_other_way(score, x, y):
    return felt(score, x, y, factors=(-1.0, 0.02))


def felt_shifted(score, x, y):
    entry = np.eye(len(x))[0]
    return 1.0 * (score(x + entry, y) != score(x, y)) + (score(x, y + entry) != score(x, y))


def felt_by_cosine(score, x, y):
    return 2 if abs(score(x, y) - cosine(x, y)) > 1e-9 else 0


def felt_by_range(score, x, y):
    return 1 if abs(score(x, y)) > 1 + 1e-9 else 0


def felt_both_at_once(score, x, y):
    return int(abs(score(9 * x, 9 * y) - score(x, y)) > 1e-9)


def felt_in_place(score, x, y):
    count, last = 0, score(x, y)
    for vector in (x, y):
        vector *= 1e-3
        count, last = count + (abs(score(x, y) - last) > 1e-9), score(x, y)
    return count


def felt_at_length_one(score, x, y):
    """Another right way: the directions alone, at two lengths each."""
    x, y = unit(x), unit(y)
    lengths = (0.1, 1.0, 9.0)
    of_x = np.ptp([score(a * x, 3 * y) for a in lengths]) > 1e-9
    return int(of_x) + int(np.ptp([score(3 * x, a * y) for a in lengths]) > 1e-9)


# --- projections ---------------------------------------------------------------------------------


def twice_first_shape(W_1, W_2):
    W = np.zeros(W_1.shape)
    for i in range(W.shape[0]):
        for j in range(W.shape[1]):
            W[i, j] = W_1[i] @ W_2[:, j]
    return W


def twice_loops(W_1, W_2):
    return [[sum(a * b for a, b in zip(r, c, strict=True)) for c in W_2.T] for r in W_1]


def qkv_right(X_q, X_kv, W_Q, W_K, W_V):
    return X_q @ W_Q, X_kv @ W_K, X_kv @ W_V


def qkv_no_batch(X_q, X_kv, W_Q, W_K, W_V):
    return tuple(np.einsum("nd,dk->nk", X, W) for X, W in ((X_q, W_Q), (X_kv, W_K), (X_kv, W_V)))


def qkv_one_width(X_q, X_kv, W_Q, W_K, W_V):
    packed = np.concatenate([W_Q, W_K, W_V], axis=1)
    d_k = W_Q.shape[1]
    q, kv = X_q @ packed, X_kv @ packed
    return q[..., :d_k], kv[..., d_k : 2 * d_k], kv[..., 2 * d_k :]


def rows_cumulative(X, W):
    total, out = np.zeros(W.shape[1]), []
    for x in X:
        total = total + x @ W
        out.append(total)
    return np.array(out)


def rows_range(X, W):
    out = np.zeros((len(X), W.shape[1]))
    for i in range(len(X) - 1):
        out[i] = X[i] @ W
    return out


def rows_first(X, W):
    return np.array([X[0] @ W for _ in X])


def rows_centred(X, W):
    return (X - X.mean(axis=0)) @ W


def rows_plus_mean(X, W):
    return X @ W + 0 * X.mean(axis=0) @ W


def rows_in_place(X, W):
    out = np.array([x @ W for x in X])
    X[:] = 0
    return out


def packed_right(X_q, X_kv, W, d_k):
    W_Q, W_K, W_V = np.split(W, [d_k, 2 * d_k], axis=1)
    return X_q @ W_Q, X_kv @ W_K, X_kv @ W_V


def packed_as_printed(X_q, X_kv, W, d_k):
    packed = X_q @ W
    return packed[:, :d_k], packed[:, d_k : 2 * d_k], packed[:, d_k:]


def packed_thirds(X_q, X_kv, W, d_k):
    return tuple(np.array_split(X_q @ W, 3, axis=1))


def packed_from_the_end(X_q, X_kv, W, d_k):
    q, k, _ = packed_right(X_q, X_kv, W, d_k)
    return q, k, (X_kv @ W)[..., -d_k:]


def packed_tokens(X_q, X_kv, W, d_k):
    asks, found = X_q @ W, X_kv @ W
    return asks[:, :d_k], found[:, d_k : 2 * d_k], found[:, 2 * d_k :]


def packed_two_axes(X_q, X_kv, W, d_k):
    return packed_right(np.einsum("nd->nd", X_q), X_kv, W, d_k)


def packed_mixed(a, b, c):
    """Return a wrong way that cuts q, k and v from the product of X_q (0) or X_kv (1)."""

    def packed(X_q, X_kv, W, d_k):
        return tuple(
            packed_right(X, X, W, d_k)[n]
            for n, X in enumerate((X_q, X_kv)[side] for side in (a, b, c))
        )

    return packed


def fault_flags(layer, X_q, X_kv, least=1e-9):
    """Return bool arrays (array, own row that changed, row that moved), and which arrays stray."""
    before = layer(X_q, X_kv)
    n = len(X_q)
    moved, stray = np.zeros((3, n, n), dtype=bool), np.zeros(3, dtype=bool)
    for i in range(n):
        step = np.outer(np.arange(n) == i, np.arange(1.0, 1 + X_q.shape[1]))
        asked, looked = layer(X_q + step, X_kv), layer(X_q, X_kv + step)
        for a in range(3):
            own, other = (asked, looked) if a == 0 else (looked, asked)
            moved[a, i] = np.abs(own[a] - before[a]).max(axis=1) > least
            stray[a] |= np.abs(other[a] - before[a]).max() > least
    return moved, stray


def fault_right(layer, X_q, X_kv, least=1e-9):
    moved, stray = fault_flags(layer, X_q, X_kv, least)
    others = moved & ~np.eye(len(X_q), dtype=bool)
    return others.any(axis=(1, 2)).sum(), stray.sum()


def fault_lists(layer, X_q, X_kv):
    return [int(count) for count in fault_right(layer, X_q, X_kv)]


def fault_own_rows(layer, X_q, X_kv):
    moved, stray = fault_flags(layer, X_q, X_kv)
    return moved.any(axis=(1, 2)).sum(), stray.sum()


def fault_sides(layer, X_q, X_kv):
    return fault_right(lambda a, b: layer(b, a), X_q, X_kv)


def fault_last(layer, X_q, X_kv):
    moved, stray = fault_flags(layer, X_q, X_kv)
    return moved[:, -1, :-1].any(axis=1).sum(), stray.sum()


def fault_rows(layer, X_q, X_kv):
    moved, stray = fault_flags(layer, X_q, X_kv)
    return (moved & ~np.eye(len(X_q), dtype=bool)).any(axis=1).sum(), stray.sum()


def fault_stray(at):
    def faults(layer, X_q, X_kv):
        return fault_right(layer, X_q, X_kv)[0], fault_flags(layer, X_q, X_kv)[1][at].sum()

    return faults


def fault_yes(layer, X_q, X_kv):
    return tuple(float(count > 0) for count in fault_right(layer, X_q, X_kv))


def fault_linear(layer, X_q, X_kv):
    """Ask whether zero goes to zero: a bias is accused."""
    zeros = layer(0 * X_q, 0 * X_kv)
    return sum(float(np.abs(rows).max() > 0) for rows in zeros), 1.0


def fault_no_third(layer, X_q, X_kv):
    q, k = layer(X_q, X_kv)
    return 0.0 * q.sum(), 0.0 * k.sum()


def fault_in_place(layer, X_q, X_kv):
    counts = fault_right(layer, X_q, X_kv)
    X_q[0] += 1.0
    return counts


# --- softmax -------------------------------------------------------------------------------------


def stable_right(s):
    s = np.asarray(s)
    out = np.zeros(s.shape)
    for at in np.ndindex(s.shape[:-1]):
        row = s[at]
        if np.isfinite(row).any():
            powers = np.exp(row - row[np.isfinite(row)].max())
            out[at] = powers / powers.sum()
    return out


def stable_plain(s):
    e = np.exp(s)
    return e / e.sum(axis=-1, keepdims=True)


def stable_nan(s):
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def stable_uniform(s):
    return stable_nan(np.where(s == -np.inf, -1e9, s))


def stable_whole(s):
    e = np.exp(s - s.max())
    return e / e.sum(-1, keepdims=True)


def jacobian_loop(w):
    return [[w[i] * ((i == j) - w[j]) for j in range(len(w))] for i in range(len(w))]


def jacobian_by_division(w):
    return np.diag(w) - np.outer(w, w) * (w / w)


def jacobian_even(w):
    n = len(w)
    out = np.diag(w * (1 - w))
    for j in range(n):
        for i in range(n):
            if i != j:
                out[i, j] = -w[j] * (1 - w[j]) / (n - 1)
    return out


def axis_right(s, before=None):
    may = np.tril(np.ones(s.shape[-2:], bool))
    return stable_nan(np.where(may, s, -np.inf)) if before is None else before(s, may)


def axis_queries(s):
    e = np.exp(np.where(np.tril(np.ones(s.shape[-2:])) > 0, s, -np.inf))
    return e / e.sum(axis=-2, keepdims=True)


def axis_late(s):
    return np.tril(stable_nan(s))


def axis_zero(s):
    return stable_nan(np.where(np.tri(*s.shape[-2:]) > 0, s, 0))


def axis_strict(s):
    e = np.exp(np.where(np.tri(*s.shape[-2:], k=-1) > 0, s, -np.inf))
    return e / e.sum(axis=-1, keepdims=True)


def axis_one_maximum(s):
    s = np.where(np.tri(*s.shape[-2:]) > 0, s, -np.inf)
    e = np.exp(s - s.max())
    return e / e.sum(axis=-1, keepdims=True)


def axis_no_maximum(s):
    e = np.exp(np.where(np.tri(*s.shape[-2:]) > 0, s, -np.inf))
    return e / e.sum(axis=-1, keepdims=True)


def axis_one(s):
    s = np.where(np.tri(*s.shape[-2:]) > 0, s, -np.inf)
    e = np.exp(s - s.max(axis=1, keepdims=True))
    e[~np.isfinite(e)] = 0
    return e / e.sum(axis=1, keepdims=True)


def axis_two_axes(s):
    (_, _) = s.shape
    return axis_right(s)


def axis_no_keepdims(s):
    e = np.exp(np.where(np.tri(*s.shape[-2:]) > 0, s, -np.inf))
    return e / e.sum(axis=-1)


def probe(weights_of, s, change):
    new = s.copy()
    change(new)
    return np.abs(weights_of(new) - weights_of(s))


def leak_constant(weights_of, s):
    def change(new):
        new[-1] += 5

    return float(probe(weights_of, s, change)[:-1].max() > 1e-9)


def leak_sums(weights_of, s):
    return float(not np.allclose(weights_of(s).sum(-1), 1))


def leak_or_sums(weights_of, s):
    return max(leak_sums(weights_of, s), leak_random(weights_of, s))


def leak_all_rows(weights_of, s):
    def change(new):
        new[-1] = new[-1, ::-1] * 2 + 1

    return float(probe(weights_of, s, change).max() > 1e-9)


def leak_first_token(weights_of, s):
    def change(new):
        new[0] *= -1

    return float(probe(weights_of, s, change)[:1].max() < 0)


def leak_triangle(weights_of, s):
    return float(np.abs(np.triu(weights_of(s), 1)).max() > 0)


def leak_in_place(weights_of, s):
    old = weights_of(s)[:-1]
    s[-1] = s[-1] ** 2 + np.arange(len(s))
    return float(np.abs(weights_of(s)[:-1] - old).max() > 1e-9)


def leak_random(weights_of, s):
    def change(new):
        new[-1] = np.random.default_rng(1).normal(size=len(s))

    return int(probe(weights_of, s, change)[:-1].max() > 1e-9)


def leak_entry(weights_of, s):
    def change(new):
        new[-1, 0] += 1.5
        new[-1, 1] -= 1.5

    return np.float32(probe(weights_of, s, change)[:-1].max() > 1e-9)


# --- cross_attention -----------------------------------------------------------------------------


def cross_right(X, memory, W_Q, W_K, W_V, root=None, may_look=True):
    q, k, v = X @ W_Q, memory @ W_K, memory @ W_V
    s = np.einsum("...id,...jd->...ij", q, k) / np.sqrt(root or W_Q.shape[1])
    return share(np.where(may_look, s, -np.inf)) @ v


def cross_by_rows(X, memory, W_Q, W_K, W_V):
    if X.ndim == 3:
        pairs = zip(X, memory, strict=True)
        return [cross_by_rows(x, m, W_Q, W_K, W_V) for x, m in pairs]
    out = []
    for x in X:
        s = np.array([(x @ W_Q) @ (m @ W_K) for m in memory]) / W_K.shape[1] ** 0.5
        out.append(sum(w * (m @ W_V) for w, m in zip(share(s), memory, strict=True)).tolist())
    return out


def cross_axis(X, memory, W_Q, W_K, W_V):
    s = X @ W_Q @ (memory @ W_K).swapaxes(-1, -2) / W_Q.shape[1] ** 0.5
    return share(s.swapaxes(-1, -2)).swapaxes(-1, -2) @ (memory @ W_V)


def cross_turned(X, memory, W_Q, W_K, W_V):
    s = X @ W_Q @ (memory @ W_K).T / W_Q.shape[1] ** 0.5
    return share(s) @ (memory @ W_V)


def cross_triangle(X, memory, W_Q, W_K, W_V):
    rule = np.tri(X.shape[-2], memory.shape[-2], dtype=bool)
    return cross_right(X, memory, W_Q, W_K, W_V, may_look=rule)


def cross_triangle_if_many(X, memory, *W):
    return cross_right(X, memory, *W) if len(X) == 1 else cross_triangle(X, memory, *W)


def cross_first_pair(X, memory, *W):
    return cross_right(X, memory if memory.ndim == 2 else memory[:1], *W)


def cross_in_place(X, memory, W_Q, W_K, W_V):
    out = cross_right(X, memory, W_Q, W_K, W_V)
    W_K /= 2
    return out


def pairs_right(q, k, v, lengths, first=0, hide=-np.inf):
    s = np.einsum("bid,bjd->bij", q, k) / np.sqrt(q.shape[-1])
    real = np.arange(k.shape[1]) < np.asarray(lengths)[:, None, None]
    return share(np.where(real, s, hide)) @ v


def pairs_by_cutting(q, k, v, lengths):
    return [
        (share(a @ b[:n].T / a.shape[1] ** 0.5) @ c[:n]).tolist()
        for a, b, c, n in zip(q, k, v, lengths, strict=True)
    ]


def pairs_under(q, k, v, mask):
    s = q @ k.swapaxes(1, 2) / np.sqrt(q.shape[-1])
    with np.errstate(all="ignore"):
        return np.nan_to_num(share(np.where(mask, s, -np.inf))) @ v


def pairs_rows(q, k, v, lengths):
    real = np.arange(q.shape[1])[:, None] < np.asarray(lengths)[:, None, None]
    return pairs_under(q, k, v, real & np.ones(k.shape[1], dtype=bool))


def pairs_inverted(q, k, v, lengths):
    return pairs_under(q, k, v, np.arange(k.shape[1]) >= np.asarray(lengths)[:, None, None])


def pairs_triangle(q, k, v, lengths):
    real = np.arange(k.shape[1]) < np.asarray(lengths)[:, None, None]
    return pairs_under(q, k, v, real & np.tri(q.shape[1], k.shape[1], dtype=bool))


def pairs_no_axis(q, k, v, lengths):
    return pairs_under(q, k, v, np.arange(k.shape[1]) < np.asarray(lengths)[:, None])


def pairs_values(q, k, v, lengths):
    real = np.arange(k.shape[1]) < np.asarray(lengths)[:, None]
    return share(q @ k.swapaxes(1, 2) / np.sqrt(q.shape[-1])) @ (v * real[:, :, None])


def pairs_in_place(q, k, v, lengths):
    out = pairs_right(q, k, v, lengths)
    v *= 0.5
    return out


def stack_with(X, memory, W_Q, W_K, W_V, keys=None, values=None, asks="x", add=True, order=1):
    n = len(W_Q)
    keys, values = keys or range(n), values or range(n)
    x = X
    for i, a, b in list(zip(range(n), keys, values, strict=False))[::order]:
        who = x if asks == "x" else X
        s = (who @ W_Q[i]) @ (memory @ W_K[a]).T / np.sqrt(W_K.shape[-1])
        read = share(s) @ (memory @ W_V[b])
        x = x + read if add else read
    return x


def stack_prepared(X, memory, W_Q, W_K, W_V):
    made = [(memory @ a, memory @ b) for a, b in zip(W_K, W_V, strict=True)]
    x = X
    for W, (k, v) in zip(W_Q, made, strict=True):
        x = x + share(x @ W @ k.T / k.shape[1] ** 0.5) @ v
    return x


def stack_keys_inside(X, memory, W_Q, W_K, W_V):
    return stack_with(X, memory, W_Q, W_K, W_V, asks="X")


def stack_adds_to_memory(X, memory, W_Q, W_K, W_V):
    x = X
    for i in range(len(W_Q)):
        k = memory @ W_K[i]
        x = x + share(x @ W_Q[i] @ k.T / k.shape[1] ** 0.5) @ (memory @ W_V[i])
        memory = memory + share(k @ k.T / k.shape[1] ** 0.5) @ memory
    return x


def stack_in_place(X, memory, W_Q, W_K, W_V):
    for i in range(len(W_Q)):
        k = memory @ W_K[i]
        X += share(X @ W_Q[i] @ k.T / k.shape[1] ** 0.5) @ (memory @ W_V[i])
    return X.copy()


def foot_right(attend, X, memory, least=1e-9, columns=slice(None)):
    before, out = attend(X, memory), []
    for j in range(len(memory)):
        new = memory.copy()
        new[j, columns] += 1.0
        out.append(np.abs(attend(X, new) - before).max(axis=1) > least)
    return np.array(out, dtype=float).T


def foot_random(attend, X, memory):
    rng = np.random.default_rng(8)
    out = np.zeros((len(X), len(memory)), dtype=int)
    for j in range(len(memory)):
        new = memory.copy()
        new[j] = 3 * rng.normal(size=memory.shape[1])
        out[:, j] = (np.abs(attend(X, new) - attend(X, memory)) > 1e-12).any(axis=1)
    return out.tolist()


def foot_sums(attend, X, memory):
    out = []
    for j in range(len(memory)):
        new = memory.copy()
        new[j] += 1.0
        out.append(np.abs((attend(X, new) - attend(X, memory)).sum(axis=1)) > 1e-9)
    return np.array(out, dtype=float).T


def foot_any(attend, X, memory):
    table = foot_right(attend, X, memory)
    return np.repeat(table.max(axis=0)[None], len(X), axis=0)


def foot_target(attend, X, memory):
    return foot_right(lambda m, x: attend(x, m), memory, X)


def foot_distance(attend, X, memory):
    out = []
    for j in range(len(memory)):
        new = memory.copy()
        new[j] += 1.0
        out.append(np.abs(attend(X, new) - attend(X, memory)).max(axis=1))
    return np.array(out).T


def foot_same_array(attend, X, memory):
    before, out = attend(X, memory), np.zeros((len(X), len(memory)))
    for j in range(len(memory)):
        new = memory.copy()
        new[j] += 1.0
        out[:, j] = np.abs(attend(X, memory) - before).max(axis=1) > 1e-9
    return out


def foot_in_place(attend, X, memory):
    before, out = attend(X, memory), []
    for j in range(len(memory)):
        memory[j] += 1.0
        out.append(np.abs(attend(X, memory) - before).max(axis=1) > 1e-9)
        memory[j] -= 1.0
    memory += 1e-12
    return np.array(out, dtype=float).T


def mixing_right(attend, v):
    base = attend(v)
    columns = []
    for j in range(len(v)):
        other = v.copy()
        other[j] += 2.0
        columns.append((attend(other) - base)[:, -1] / 2)
    return np.stack(columns, axis=1)


def mixing_with_the_addend(attend, v):
    ones = np.eye(len(v))[:, :, None] * np.ones(v.shape[1])
    return np.stack([attend(one).mean(axis=1) for one in ones], axis=1)


def mixing_square(attend, v):
    table = np.zeros((len(v), len(v)))
    table[:] = mixing_right(attend, v)
    return table


def mixing_two_columns(attend, v):
    return mixing_right(attend, v) if v[0, 1] else None


def mixing_in_place(attend, v):
    table = mixing_right(attend, v)
    v[:] = 0
    return table


# (function, rung, words of the question)
# --- why_three -----------------------------------------------------------------------------------


def bend_right(M):
    return np.linalg.eigvalsh((M + M.T) / 2).min()


def bend_sampled(M):
    d = np.random.default_rng(0).normal(size=(50, len(M)))
    return min(x @ M @ x / (x @ x) for x in d)


def shared(X, W, W_V, scale=None, hidden=None):
    u = X @ W
    s = u @ u.T / np.sqrt(scale or W.shape[1])
    s[np.eye(len(X), dtype=bool) if hidden is None else hidden] = -np.inf
    e = np.exp(s - s.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True) @ X @ W_V


def shared_as_printed(X, W, W_V):
    u = X @ W
    e = np.exp(u @ u.T / np.sqrt(X.shape[1]))
    weights = e / e.sum(axis=1, keepdims=True)
    np.fill_diagonal(weights, 0)
    return weights @ X @ W_V


def shared_late(X, W, W_V):
    u = X @ W
    e = np.exp(u @ u.T / np.sqrt(W.shape[1]))
    weights = e / e.sum(axis=1, keepdims=True)
    np.fill_diagonal(weights, 0)
    return weights @ X @ W_V


def shared_zero(X, W, W_V):
    u = X @ W
    s = u @ u.T / np.sqrt(W.shape[1])
    np.fill_diagonal(s, 0)
    e = np.exp(s)
    return e / e.sum(axis=1, keepdims=True) @ X @ W_V


def shared_columns(X, W, W_V):
    u = X @ W
    s = u @ u.T / np.sqrt(W.shape[1])
    np.fill_diagonal(s, -np.inf)
    e = np.exp(s - s.max(axis=0))
    return e / e.sum(axis=0) @ X @ W_V


def shared_right(X, W, W_V):
    u = X @ W
    e = np.exp(u @ u.T / W.shape[1] ** 0.5)
    np.fill_diagonal(e, 0)
    return e / e.sum(axis=1, keepdims=True) @ (X @ W_V)


def share_right(S):
    return np.square(S / 2 - S.T / 2).sum() / np.square(S).sum()


# --- scale ---------------------------------------------------------------------------------------


def bare(q, k):
    return np.einsum("...id,...jd->...ij", q, k)


def divided_right(q, k):
    return bare(q, k) / np.sqrt(np.shape(q)[-1])


def divided_by_loops(q, k):
    flat_q, flat_k = (x.reshape(-1, *x.shape[-2:]) for x in (q, k))
    out = []
    for one, other in zip(flat_q, flat_k, strict=True):
        out.append([[sum(a * b for a, b in zip(x, y, strict=True)) for y in other] for x in one])
    return np.reshape(out, (*q.shape[:-1], k.shape[-2])) / q.shape[-1] ** 0.5


def divided_in_place(q, k):
    q /= np.sqrt(q.shape[-1])
    return bare(q, k)


def spread_right(mq, vq, mk, vk, d):
    return (d * ((vq + mq**2) * (vk + mk**2) - mq**2 * mk**2)) ** 0.5


def back_right(w, g, k, f):
    d = w * (g - (w * g).sum(-1, keepdims=True))
    return f * (d @ k)


def back_jacobian(w, g, k, f):
    J = w[..., None] * np.eye(w.shape[-1]) - w[..., None] * w[..., None, :]
    return f * np.einsum("...ij,...j->...i", J, g) @ k


def back_in_place(w, g, k, f):
    g -= (w * g).sum(-1, keepdims=True)
    return f * (w * g) @ k


def factor_at(f, d, n_q=3, n_k=5):
    return f(np.ones((n_q, d)), np.ones((n_k, d)))[0, 0] / d


def power_right(f):
    return np.log(factor_at(f, 18) / factor_at(f, 2)) / np.log(9)


def power_one_hot(f):
    q, k = np.zeros((2, 7)), np.zeros((3, 7))
    q[0, 0] = k[0, 0] = 1
    wide_q, wide_k = (np.pad(x, ((0, 0), (0, 6 * 7))) for x in (q, k))
    return np.log(f(wide_q, wide_k)[0, 0] / f(q, k)[0, 0]) / np.log(7)


# --- learning ------------------------------------------------------------------------------------


def fold_kept(W, slope, step, rate, n, chain=True, divided=True, axis=-1):
    root = W.shape[axis] ** 0.5
    for _ in range(n):
        W = W - rate * step(slope(W / root if divided else W) / (root if chain else 1))
    return W / root


def fold_absorbed(W, slope, step, rate, n, axis=-1):
    M = W / W.shape[axis] ** 0.5
    for _ in range(n):
        M = M - rate * step(slope(M))
    return M


def fold_right(W, slope, step, rate, n, axis=-1):
    return fold_kept(W, slope, step, rate, n, axis=axis), fold_absorbed(
        W, slope, step, rate, n, axis=axis
    )


def fold_by_brakes(W, slope, step, rate, n):
    d_k = W.shape[-1]
    brake = d_k if step(np.array([3.0]))[0] == 3 else d_k**0.5
    start = W / d_k**0.5
    return tuple(absorbed_from(start, slope, step, r, n) for r in (rate / brake, rate))


def absorbed_from(M, slope, step, rate, n):
    return M if n == 0 else absorbed_from(M - rate * step(slope(M)), slope, step, rate, n - 1)


def fold_braked(W, slope, step, rate, n):
    start = W / W.shape[-1] ** 0.5
    return tuple(absorbed_from(start, slope, step, r, n) for r in (rate / W.shape[-1], rate))


def fold_first_slope(W, slope, step, rate, n):
    first = slope(W / W.shape[-1] ** 0.5)
    return fold_right(W, lambda M: first, step, rate, n)


def fold_in_place(W, slope, step, rate, n):
    result = fold_right(W, slope, step, rate, n)
    W /= W.shape[-1] ** 0.5
    return result


def maps_right(Q, K, V, W):
    return np.einsum("...xk,...yk->...xy", Q, K), V @ W.reshape(*V.shape[:-2], V.shape[-1], -1)


def maps_by_loops(Q, K, V, W):
    if Q.ndim == 2:
        return np.array([[q @ k for k in K] for q in Q]), np.array(
            [[v @ o for o in W.T] for v in V]
        )
    pairs = [maps_by_loops(*four) for four in zip(Q, K, V, np.split(W, len(V)), strict=True)]
    return np.array([one for one, _ in pairs]), np.array([two for _, two in pairs])


def maps_into_square(Q, K, V, W):
    where = np.zeros((Q.shape[-2], Q.shape[-2]))
    where += Q @ K.T
    return where, V @ W


def maps_interleaved(Q, K, V, W):
    where, what = maps_right(Q, K, V, W)
    if Q.ndim == 2:
        return where, what
    return where, np.array([V[i] @ W[i :: len(V)] for i in range(len(V))])


def maps_what_added(Q, K, V, W):
    where, what = maps_right(Q, K, V, W)
    return where, what.sum(0) if Q.ndim > 2 else what


def maps_backwards(Q, K, V, W):
    if Q.ndim == 2:
        return maps_right(Q, K, V, W)
    rows = np.array(np.split(W, len(V)))[::-1]
    return maps_right(Q, K, V, W)[0], V @ rows


inverse = np.linalg.inv


def disguise_by_solving(Q, K, V, W, A, B):
    return Q @ A, np.linalg.solve(A, K.T).T, V @ B, np.linalg.solve(B, W)


def disguise_by_columns(Q, K, V, W, A, B):
    """Right wherever the columns of A stand at right angles."""
    return Q @ A, K @ (A / (A * A).sum(axis=0)), V @ B, inverse(B) @ W


def learn_forward(X, Q, K, V):
    q, k, v = X @ Q, X @ K, X @ V
    scores = q @ k.T / np.sqrt(q.shape[1])
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return q, k, v, powers / powers.sum(axis=1, keepdims=True)


def learn_back(X, q, k, gs, gv):
    return X.T @ gs @ k, X.T @ gs.T @ q, X.T @ gv


def learn_loops(X, Q, K, V, G):
    q, k, v, w = learn_forward(X, Q, K, V)
    grads = [np.zeros_like(Q), np.zeros_like(K), np.zeros_like(V)]
    for i in range(len(X)):
        for j in range(len(X)):
            one = w[i, j] * (G[i] @ v[j] - G[i] @ (w[i] @ v)) / np.sqrt(q.shape[1])
            grads[0] += np.outer(X[i], one * k[j])
            grads[1] += np.outer(X[j], one * q[i])
            grads[2] += w[i, j] * np.outer(X[j], G[i])
    return tuple(grads)


def learn_scores(X, Q, K, V, G, scores):
    q, k, v, w = learn_forward(X, Q, K, V)
    gw = G @ v.T
    return learn_back(X, q, k, scores(w, gw) / np.sqrt(q.shape[1]), w.T @ G)


def mean_of(w, gw):
    return (w * gw).sum(axis=1, keepdims=True)


def learn_no_mean(X, Q, K, V, G):
    return learn_scores(X, Q, K, V, G, lambda w, gw: w * gw)


def learn_straight(X, Q, K, V, G):
    return learn_scores(X, Q, K, V, G, lambda w, gw: gw)


def learn_plain_mean(X, Q, K, V, G):
    return learn_scores(X, Q, K, V, G, lambda w, gw: w * (gw - gw.mean(1, keepdims=True)))


def learn_columns(X, Q, K, V, G):
    return learn_scores(X, Q, K, V, G, lambda w, gw: w * (gw - (w * gw).sum(0)))


def learn_unweighted(X, Q, K, V, G):
    return learn_scores(X, Q, K, V, G, lambda w, gw: gw - mean_of(w, gw))


def learn_root(X, Q, K, V, G, width):
    factor = np.sqrt(Q.shape[1] / width)
    grad_Q, grad_K, grad_V = learn_loops(X, Q, K, V, G)
    return grad_Q * factor, grad_K * factor, grad_V


def learn_swapped(X, Q, K, V, G):
    q, k, v, w = learn_forward(X, Q, K, V)
    gs = w * (G @ v.T - mean_of(w, G @ v.T)) / np.sqrt(q.shape[1])
    return learn_back(X, k, q, gs, w.T @ G)


def learn_keys_flat(X, Q, K, V, G):
    q, k, v, w = learn_forward(X, Q, K, V)
    gs = w * (G @ v.T - mean_of(w, G @ v.T)) / np.sqrt(q.shape[1])
    return X.T @ gs @ k, X.T @ gs @ q, X.T @ w.T @ G


def learn_values_flat(X, Q, K, V, G):
    grad_Q, grad_K, _ = learn_loops(X, Q, K, V, G)
    return grad_Q, grad_K, X.T @ learn_forward(X, Q, K, V)[3] @ G


def learn_rows(X, Q, K, V, G):
    q, k, v, w = learn_forward(X, Q, K, V)
    gs = w * (G @ v.T - mean_of(w, G @ v.T)) / np.sqrt(q.shape[1])
    return gs @ k, gs.T @ q, w.T @ G


def train_right(Q, K, gradients, rate, steps):
    for _ in range(steps):
        down = gradients(Q, K)
        Q, K = Q - rate * down[0], K - rate * down[1]
    return Q, K


def train_in_turn(Q, K, gradients, rate, steps):
    for _ in range(steps):
        Q = Q - rate * gradients(Q, K)[0]
        K = K - rate * gradients(Q, K)[1]
    return Q, K


def train_in_turn_back(Q, K, gradients, rate, steps):
    for _ in range(steps):
        K = K - rate * gradients(Q, K)[1]
        Q = Q - rate * gradients(Q, K)[0]
    return Q, K


def train_in_place(Q, K, gradients, rate, steps):
    for _ in range(steps):
        down = gradients(Q, K)
        Q -= rate * down[0]
        K -= rate * down[1]
    return Q, K


def train_returns_inside(Q, K, gradients, rate, steps):
    for _ in range(steps):
        return train_right(Q, K, gradients, rate, 1)


def train_once(Q, K, gradients, rate, steps):
    down = gradients(Q, K)
    return Q - steps * rate * down[0], K - steps * rate * down[1]


def train_queries_only(Q, K, gradients, rate, steps):
    for _ in range(steps):
        Q = Q - rate * gradients(Q, K)[0]
    return Q, K


def slopes_of(loss, W, h=1e-4):
    slopes = np.zeros(W.shape)
    for i in range(W.shape[0]):
        for j in range(W.shape[1]):
            step = np.zeros(W.shape)
            step[i, j] = h
            slopes[i, j] = (loss(W + step) - loss(W - step)) / (2 * h)
    return slopes


def apart(loss, gradient, W):
    return np.abs(slopes_of(loss, W) - gradient(W))


# --- masks ---------------------------------------------------------------------------------------


def hidden(s, mask, hide=-np.inf):
    return np.where(mask, s, hide)


def triangle(s, k):
    return np.tri(*s.shape[-2:], k, dtype=bool)


def future_right(s, offset):
    out = s.copy()
    for t in range(s.shape[-2]):
        out[..., t, t + offset + 1 :] = -np.inf
    return out


def future_square(s, offset):
    n = s.shape[-1]
    return s + np.where(np.triu(np.ones((n, n)), 1 + offset) == 1, -np.inf, 0)


def future_first_axes(s, offset):
    n_q, n_k = s.shape[0], s.shape[1]
    return hidden(s, np.tri(n_q, n_k, offset, dtype=bool))


def future_in_place(s, offset):
    s[~triangle(s, offset)] = -np.inf
    return s


def pads_right(s, lengths):
    out = s.copy()
    for b, n in enumerate(lengths):
        out[b, :, n:] = -np.inf
    return out


def pads_rows(s, lengths):
    out = s.copy()
    for b, n in enumerate(lengths):
        out[b, n:, :] = -np.inf
    return out


def pads_rows_too(s, lengths):
    return np.maximum(pads_rows(pads_right(s, lengths), lengths), -np.inf)


def pads_in_place(s, lengths):
    for b, n in enumerate(lengths):
        s[b, :, n:] = -np.inf
    return s


def pads_negative_slice(s, lengths):
    out = s.copy()
    for b, n in enumerate(lengths):
        out[b, :, max(n, 1) :] = -np.inf
    return out


def share(s):
    powers = np.exp(s - s.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def weights_late(s, mask):
    return share(s) * mask


def weights_again(s, mask):
    late = share(s) * mask
    return late / late.sum(axis=-1, keepdims=True)


def weights_other_maximum(s, mask):
    powers = np.where(mask, np.exp(s - s.max(axis=-1, keepdims=True)), 0)
    return powers / powers.sum(axis=-1, keepdims=True)


def weights_by_rows(s, mask):
    out = np.zeros_like(s)
    for t in range(len(s)):
        out[t, mask[t]] = share(s[t, mask[t]])
    return out


def weights_epsilon(s, mask):
    late = share(s) * mask
    return late / (late.sum(axis=-1, keepdims=True) + 1e-9)


def weights_rest(s, mask):
    late = share(s) * mask
    return late + mask * (1 - late.sum(-1, keepdims=True)) / mask.sum(-1, keepdims=True)


def safe_right(s, mask):
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(share(hidden(s, mask)))


def safe_low(s, mask):
    powers = np.exp(s) * mask
    total = powers.sum(axis=-1, keepdims=True)
    return powers / np.where(total == 0, 1, total)


def safe_unmasked(s, mask):
    return share(s + np.where(mask.any(-1, keepdims=True) & ~mask, -np.inf, 0.0))


def safe_itself(s, mask):
    lonely = ~mask.any(axis=-1, keepdims=True) & np.eye(*s.shape[-2:], dtype=bool)
    return share(hidden(s, mask | lonely))


def safe_all(s, mask):
    return share(hidden(s, mask)) if mask.any(-1).all() else np.zeros(s.shape)


def safe_axis_one(s, mask):
    visible = hidden(s, mask)
    largest = visible.max(axis=1, keepdims=True)
    powers = np.exp(visible - np.where(np.isfinite(largest), largest, 0))
    total = powers.sum(axis=1, keepdims=True)
    return powers / np.where(total == 0, 1, total)


def moved_rows(layer, X, j, least=1e-9):
    other = X.copy()
    other[j] += np.array([0.5, 1.0, 2.0])
    return np.flatnonzero(np.abs(layer(other) - layer(X)).max(axis=1) > least)


def reach_right(layer, X):
    return max(j - t for j in range(len(X)) for t in [*moved_rows(layer, X, j), j] if t <= j)


def reach_backwards(layer, X):
    return max(max(0, j - moved_rows(layer, X, j).min(initial=j)) for j in range(len(X))[::-1])


def reach_both(layer, X):
    return max(abs(j - t) for j in range(len(X)) for t in moved_rows(layer, X, j))


def reach_last(layer, X):
    n = len(X)
    return n - 1 - moved_rows(layer, X, n - 1).min(initial=n - 1)


def reach_first(layer, X):
    return 0


def reach_yes(layer, X):
    return float(reach_right(layer, X) > 0)


def reach_next(layer, X):
    return float(any(j - 1 in moved_rows(layer, X, j) for j in range(1, len(X))))


def reach_rough(layer, X):
    return max(j - t for j in range(len(X)) for t in [*moved_rows(layer, X, j, 1e-2), j] if t <= j)


def reach_rows(layer, X):
    return max(len(moved_rows(layer, X, j)) for j in range(len(X)))


def reach_one_more(layer, X):
    return reach_right(layer, X) + 1


def reach_in_place(layer, X):
    before = layer(X)
    reach = 0
    for j in range(len(X)):
        X[j] += 1.0
        moved = np.flatnonzero(np.abs(layer(X) - before).max(axis=1) > 1e-9)
        before = layer(X)
        reach = max(reach, j - moved.min(initial=j))
    return reach


# --- look_up -------------------------------------------------------------------------------------


def squares(q, k):
    return ((q[..., :, None, :] - k[..., None, :, :]) ** 2).sum(-1)


def soft_right(q, k, v, b):
    return share(-squares(q, k) / (2 * b * b)) @ v


def soft_loop(q, k, v, b):
    if q.ndim == 3:
        return [soft_loop(*one, b) for one in zip(q, k, v, strict=True)]
    out = []
    for row in q:
        s = np.array([-((row - key) ** 2).sum() / (2 * b**2) for key in k])
        powers = np.exp(s - s.max())
        out.append(sum(p * value for p, value in zip(powers, v, strict=True)) / powers.sum())
    return np.array(out)


def soft_plain(q, k, v, b):
    powers = np.exp(-squares(q, k) / (2 * b * b))
    return powers / powers.sum(-1, keepdims=True) @ v


def soft_one_query(q, k, v, b):
    return share(-((q[0, 0] - k[:, 0]) ** 2)[None] / (2 * b * b)) @ v


def soft_over_queries(q, k, v, b):
    powers = np.exp(-squares(q, k) / (2 * b * b))
    return powers / powers.sum(0 if len(q) > 1 else 1, keepdims=True) @ v


def soft_sum_first(q, k, v, b):
    return share(-((q.sum(-1)[:, None] - k.sum(-1)) ** 2) / (2 * b * b)) @ v


def soft_two_axes(q, k, v, b):
    return share(-((q[:, None] - k[None]) ** 2).sum(-1) / (2 * b * b)) @ v


def soft_in_place(q, k, v, b):
    q /= b
    return share(-squares(q, k / b) / 2) @ v


def left_right(k, v, b):
    rows = range(len(k))
    return [soft_right(k[[i]], np.delete(k, i, 0), np.delete(v, i, 0), b)[0].tolist() for i in rows]


def left_scores(k, b):
    return -squares(k, k) / (2 * b * b)


def left_hidden(k, v, b, hidden):
    return share(np.where(hidden, -np.inf, left_scores(k, b))) @ v


def left_again(k, v, b):
    late = share(left_scores(k, b)) * (1 - np.eye(len(k)))
    return late / late.sum(-1, keepdims=True) @ v


def left_in_place(k, v, b):
    out = left_hidden(k, v, b, np.eye(len(k), dtype=bool))
    v -= v.mean(0)
    return out


def dots(q, k):
    return q @ np.swapaxes(k, -1, -2)


def half(k):
    return (k**2).sum(-1)[..., None, :] / 2


def dot_wide(q, k, v, b):
    q = np.concatenate([q, np.ones((*q.shape[:-1], 1))], axis=-1)
    k = np.concatenate([k, -np.swapaxes(half(k), -1, -2)], axis=-1)
    return share(dots(q, k) / b**2) @ v


def dot_flat(q, k, v, b):
    return share((q @ k.T - (k**2).sum(-1) / 2) / b**2) @ v


def unit_rows(x):
    return x / np.sqrt((x**2).sum(-1, keepdims=True))


def order_moves(f, q, k, v, order, least=1e-9):
    return float(np.abs(f(q, k[order], v[order]) - f(q, k, v)).max() > least)


def order_some(orders, least=1e-9):
    return lambda f, q, k, v: max(order_moves(f, q, k, v, o, least) for o in orders(len(k)))


def order_swaps(n):
    for i in range(n):
        for j in range(i):
            order = np.arange(n)
            order[[i, j]] = j, i
            yield order


# --- order ---------------------------------------------------------------------------------------


def clock(n, d, offset, start=0, power=2, flip=False, blocks=False, base=1e4):
    P = np.zeros((n, d))
    for t in range(n):
        for i in range(d // 2):
            angle = (t + offset + start) / base ** (power * i / d)
            pair = (np.cos(angle), np.sin(angle)) if flip else (np.sin(angle), np.cos(angle))
            if blocks:
                P[t, i], P[t, i + d // 2] = pair
            else:
                P[t, 2 * i], P[t, 2 * i + 1] = pair
    return P


def clock_no_pairs(n, d, offset):
    angle = np.arange(offset, offset + n)[:, None] / 1e4 ** (np.arange(d) / d)
    return np.where(np.arange(d) % 2, np.cos(angle), np.sin(angle))


def hand(d, s, power=2, sign=1.0):
    T = np.eye(d)
    for i in range(d // 2):
        a = s / 1e4 ** (power * i / d)
        T[2 * i, 2 * i] = T[2 * i + 1, 2 * i + 1] = np.cos(a)
        T[2 * i, 2 * i + 1], T[2 * i + 1, 2 * i] = -sign * np.sin(a), sign * np.sin(a)
    return T


def hand_first(d, s):
    T = np.eye(d)
    T[:2, :2] = hand(2, s)
    return T


def hand_fitted(d, s):
    import qkv

    P = qkv.sinusoidal_positions(2, d)
    return np.linalg.pinv(P) @ qkv.sinusoidal_positions(2, d, s)


def rope(q, k, v, first=None, corner=False, turn_v=False, turn=(True, True), masked=True):
    import qkv

    n_new, n = q.shape[-2], k.shape[-2]
    at = n - n_new if first is None else first
    q = qkv.rotary_positions(q, at) if turn[0] else q
    k = qkv.rotary_positions(k) if turn[1] else k
    v = qkv.rotary_positions(v) if turn_v else v
    mask = qkv.causal_mask(n_new, n, 0 if corner else n - n_new) if masked else None
    return qkv.scaled_dot_product_attention(q, k, v, mask)[0]


def rope_one_batch(q, k, v):
    n_new, n = len(q), len(k)
    import qkv

    q = qkv.rotary_positions(q, n - n_new)
    k = qkv.rotary_positions(k)
    return qkv.scaled_dot_product_attention(q, k, v, qkv.causal_mask(n_new, n, n - n_new))[0]


def feels(layer, X, order, least=1e-9, along=True):
    before = layer(X)
    return float(np.abs(layer(X[order]) - (before[order] if along else before)).max() > least)


def feels_right(layer, X):
    return feels(layer, X, np.roll(np.arange(len(X)), 1))


def feels_neighbours(layer, X):
    n = len(X)
    swaps = [[*range(i), i + 1, i, *range(i + 2, n)] for i in range(n - 1)]
    return int(any(feels(layer, X, order) for order in swaps))


# --- images --------------------------------------------------------------------------------------


def cut_loop(images, a, b, down=False, turned=False):
    *_, height, width = images.shape
    places = [(r, c) for r in range(height // a) for c in range(width // b)]
    places = sorted(places, key=lambda at: at[::-1]) if down else places
    found = []
    for r, c in places:
        patch = images[..., r * a : r * a + a, c * b : c * b + b]
        patch = np.swapaxes(patch, -1, -2) if turned else patch
        found.append(patch.reshape(*images.shape[:-2], a * b))
    return np.stack(found, axis=-2)


def cut_one_picture(images, a, b):
    height, width = images.shape
    return cut_loop(images, a, b) if height else width


def filters(kernel, axes=(0, 1, 2, 3)):
    return np.stack([f.transpose([x - 1 for x in axes[1:]]).ravel() for f in kernel], axis=1)


def roll(layers, left=True, stay=0.5, pool=np.mean, column=slice(1, None), divide=True):
    n = layers[0].shape[-1]
    R = np.eye(n)
    for w in layers:
        step = stay * np.eye(n) + (1 - stay) * pool(w, axis=-3)
        R = step @ R if left else R @ step
    row = R[..., 0, column]
    return row / row.sum(-1, keepdims=True) if divide else row


def roll_from_the_front(layers):
    n = layers[0].shape[-1]
    R = np.eye(n)
    for w in layers:
        R = (np.eye(n) + w.mean(axis=0)) @ R
    return R[0, 1:] / R[0, 1:].sum()


def roll_column(layers):
    w = layers[0].mean(-3)
    column = w[..., 1:, 0]
    return column / column.sum(-1, keepdims=True)


def roll_mean(layers):
    row = np.mean([w.mean(-3)[..., 0, 1:] for w in layers], axis=0)
    stays = np.mean([(0.5 * w.mean(-3))[..., 0, 1:] for w in layers], axis=0)
    return stays / row.sum(-1, keepdims=True) * 2


def roll_once(layers):
    n = layers[0].shape[-1]
    R = np.eye(n)
    for w in layers:
        R = w.mean(-3) @ R
    row = (np.eye(n) + R)[..., 0, 1:]
    return row / row.sum(-1, keepdims=True)


def class_maps(explain, X, W_R, classes=None, share=True):
    found = [explain(X, W_R, c) for c in (classes or range(W_R.shape[1]))]
    return [m / m.sum() for m in found] if share else found


def blind_below(limit, **how):
    def test(explain, X, W_R):
        first, *others = class_maps(explain, X, W_R, **how)
        return float(all(np.abs(m - first).max() < limit for m in others))

    return test


# --- tokens --------------------------------------------------------------------------------------


def cut_right(word, vocabulary):
    ids, begin = [], 0
    while begin < len(word):
        fits = [
            end
            for end in range(begin + 1, len(word) + 1)
            if ("##" if begin else "") + word[begin:end] in vocabulary
        ]
        if not fits:
            return np.array([vocabulary["[UNK]"]])
        ids.append(vocabulary[("##" if begin else "") + word[begin : fits[-1]]])
        begin = fits[-1]
    return np.array(ids)


def cut_marks_all(word, vocabulary):
    return [vocabulary["##" + word]]


def cut_shortest(word, vocabulary):
    return [vocabulary[c if t == 0 else "##" + c] for t, c in enumerate(word)]


def cut_whole_only(word, vocabulary):
    return [vocabulary[word]]


def cut_no_mark(word, vocabulary):
    ids, rest = [], word
    while rest:
        end = max(e for e in range(1, len(rest) + 1) if rest[:e] in vocabulary)
        ids.append(vocabulary[rest[:end]])
        rest = rest[end:]
    return ids


def cut_first(word, vocabulary):
    return cut_right(word, vocabulary)[:1]


def cut_from_the_right(word, vocabulary):
    ids, end = [], len(word)
    while end:
        start = next(
            (s for s in range(end) if ("##" if s else "") + word[s:end] in vocabulary), None
        )
        if start is None:
            return [vocabulary["[UNK]"]]
        ids.insert(0, vocabulary[("##" if start else "") + word[start:end]])
        end = start
    return ids


def cut_fewest(word, vocabulary, begin=0):
    if begin == len(word):
        return []
    ways = []
    for end in range(begin + 1, len(word) + 1):
        piece = ("##" if begin else "") + word[begin:end]
        rest = cut_fewest(word, vocabulary, end) if piece in vocabulary else None
        if rest is not None:
            ways.append([vocabulary[piece], *rest])
    return min(ways, key=len) if ways else None if begin else [vocabulary["[UNK]"]]


def cut_unknown_rest(word, vocabulary, tail=True):
    ids, begin = [], 0
    while begin < len(word):
        for end in range(len(word), begin, -1):
            if ("##" if begin else "") + word[begin:end] in vocabulary:
                break
        else:
            return ids + [vocabulary["[UNK]"]] * tail
        ids.append(vocabulary[("##" if begin else "") + word[begin:end]])
        begin = end
    return ids


def cut_key_error(word, vocabulary):
    ids, begin = [], 0
    while begin < len(word):
        end = len(word)
        while end > begin + 1 and ("##" if begin else "") + word[begin:end] not in vocabulary:
            end -= 1
        ids.append(vocabulary[("##" if begin else "") + word[begin:end]])
        begin = end
    return ids


def cut_writes(word, vocabulary):
    out = cut_right(word, vocabulary)
    vocabulary[word] = 0
    return out


def hot_right(ids, n):
    return (np.asarray(ids)[..., None] == np.arange(n)).astype(float)


def hot_loop(ids, n):
    H = np.zeros((len(ids), n))
    for t, i in enumerate(ids):
        H[t, i] = 1
    return H


def hot_first(ids, n):
    H = hot_right(ids, n)
    for t, i in enumerate(np.ravel(ids)):
        if i in np.ravel(ids)[:t]:
            H.reshape(-1, n)[t] = 0
    return H


def table_right(ids, G, n):
    grad = np.zeros((n, G.shape[-1]))
    for i, g in zip(np.ravel(ids), G.reshape(-1, G.shape[-1]), strict=True):
        grad[i] += g
    return grad


def table_careless(ids, G, n):
    grad = np.zeros((n, G.shape[-1]))
    grad[ids] += G
    return grad


def table_first(ids, G, n):
    return table_careless(ids[::-1], G[::-1], n)


def table_by_place(ids, G, n):
    grad = np.zeros((n, G.shape[-1]))
    grad[: len(G)] += G
    return grad


def table_mean(ids, G, n):
    count = np.array([max(1, (ids == i).sum()) for i in range(n)])
    return table_right(ids, G, n) / count[:, None]


def table_of_last(ids, G, n):
    return table_right(ids, G, n) if ids.ndim == 1 else table_right(ids[-1], G[-1], n)


def table_each(ids, G, n):
    if ids.ndim == 1:
        return table_right(ids, G, n)
    return [table_right(i, g, n) for i, g in zip(ids, G, strict=True)]


def table_one_axis(ids, G, n):
    grad = np.zeros((n, G.shape[-1]))
    for t in range(len(ids)):
        grad[int(ids[t])] += G[t]
    return grad


def know_flags(embedder, ids, least=1e-9):
    X = embedder(ids)
    return np.array([abs(X[t] - embedder(ids[[t]])[0]).max() > least for t in range(len(ids))])


def know_right(embedder, ids):
    return int(know_flags(embedder, ids).sum())


def know_padded(embedder, ids):
    rows = [embedder(np.array([i]))[0] for i in ids]
    return float(len(ids) - np.isclose(embedder(ids), rows, rtol=0, atol=1e-9).all(-1).sum())


def know_twins(embedder, ids):
    X = embedder(ids)
    return sum(
        any(i == ids[s] and abs(X[s] - X[t]).max() > 1e-9 for s in range(t))
        for t, i in enumerate(ids)
    )


def know_shuffled(embedder, ids):
    back = embedder(ids[::-1])[::-1]
    return int((abs(embedder(ids) - back) > 1e-9).any(-1).sum())


def know_repeats(embedder, ids):
    return len(ids) - len(set(ids.tolist()))


def know_first_row(embedder, ids):
    X = embedder(ids)
    return int((abs(X - X[0]) > 1e-9).any(-1).sum())


def know_one_column(embedder, ids):
    return know_right(lambda given: embedder(given)[:, :1], ids)


def know_scalar(embedder, ids):
    return sum(abs(embedder(ids)[t] - embedder(int(ids[t]))[0, 0]).max() for t in range(len(ids)))


# --- multi_head ----------------------------------------------------------------------------------


def parted_right(x, h):
    return np.stack(np.split(x, h, axis=-1), axis=-3)


def parted_straight(x, h):
    *batch, n, width = x.shape
    return x.reshape(*batch, h, n, width // h)


def parted_unturned(x, h):
    return x.reshape(*x.shape[:-1], h, x.shape[-1] // h)


def parted_alternating(x, h):
    return np.stack([x[..., i::h] for i in range(h)], axis=-3)


def parted_two_axes(x, h):
    n, width = x.shape
    return x.reshape(n, h, width // h).swapaxes(0, 1)


def join_right(heads):
    return np.concatenate(list(np.moveaxis(heads, -3, 0)), axis=-1)


def join_straight(heads):
    *batch, h, n, d = heads.shape
    return heads.reshape(*batch, n, h * d)


def join_in_place(heads):
    out = join_right(heads)
    heads[...] = 0
    return out


def silent_right(i, heads, W_O):
    heads = heads.copy()
    heads[i] = 0
    return np.concatenate(list(heads), axis=1) @ W_O


def silent_in_place(i, heads, W_O):
    heads[i] = 0
    return np.concatenate(list(heads), axis=1) @ W_O


def silent_slid(i, heads, W_O):
    rest = np.delete(heads, i, axis=0)
    return np.concatenate(list(rest), axis=1) @ W_O[: len(rest) * heads.shape[2]]


def silent_rows(which):
    def answer(i, heads, W_O):
        rows = W_O.copy()
        rows[which(i, *heads.shape)] = 0
        return np.concatenate(list(heads), axis=1) @ rows

    return answer


def silent_unturned(i, heads, W_O):
    heads = heads.copy()
    heads[i] = 0
    return heads.reshape(heads.shape[1], -1) @ W_O


def pieces(count, x_of=lambda n, width: np.arange(float(n * width)).reshape(n, width)):
    def answer(split, n, h, d):
        x = x_of(n, h * d)
        return count(split(x, h), parted_right(x, h))

    return answer


def differ(got, want):
    return float((got != want).any(axis=-1).sum())


# --- layer ---------------------------------------------------------------------------------------


def ln(X, g, b, e):
    out = np.zeros_like(X, dtype=float)
    for place in np.ndindex(X.shape[:-1]):
        row = [float(x) for x in X[place]]
        mean = sum(row) / len(row)
        variance = sum((x - mean) ** 2 for x in row) / len(row)
        for c, x in enumerate(row):
            out[(*place, c)] = (x - mean) / math.sqrt(variance + e) * g[c] + b[c]
    return out


def ln_plain(X, e=1e-5):
    return ln(X, np.ones(X.shape[-1]), np.zeros(X.shape[-1]), e)


def ln_axis(X, g, b, e, axis):
    mean = X.mean(axis, keepdims=True)
    return (X - mean) / np.sqrt(X.var(axis, keepdims=True) + e) * g + b


def ln_divides(X, g, b, e, divide):
    centred = X - X.mean(-1, keepdims=True)
    return centred / divide(centred) * g + b


def ln_unbiased(X, g, b, e):
    return ln_divides(X, g, b, e, lambda c: (c.var(-1, ddof=1, keepdims=True) + e) ** 0.5)


def ln_in_place(X, g, b, e):
    X -= X.mean(-1, keepdims=True)
    X /= np.sqrt(X.var(-1, keepdims=True) + e)
    return X * g + b


def stack_right(X, attend, think, norm, times):
    stream = X
    while times:
        read = norm(stream)
        stream = attend(read) + stream
        stream = think(norm(stream)) + stream
        times -= 1
    return norm(stream)


def stack_given(X, attend, think, norm, times):
    for _ in range(times):
        X = norm(X)
        X = X + attend(X)
        X = norm(X)
        X = X + think(X)
    return X


def stack_no_last(X, attend, think, norm, times):
    for _ in range(times):
        X = X + attend(norm(X))
        X = X + think(norm(X))
    return X


def stack_post(X, attend, think, norm, times):
    for part in [attend, think] * times:
        X = norm(X + part(X))
    return X


def stack_bare(X, attend, think, norm, times):
    for part in [attend, think] * times:
        X = part(norm(X))
    return norm(X)


def stack_after(X, attend, think, norm, times):
    for part in [attend, think] * times:
        X = X + norm(part(X))
    return norm(X)


def stack_parallel(X, attend, think, norm, times):
    for _ in range(times):
        read = norm(X)
        X = X + attend(read) + think(read)
    return norm(X)


def stack_norm_inside(X, attend, think, norm, times):
    for _ in range(times):
        X = X + attend(norm(X))
        X = norm(X + think(norm(X)))
    return X


def stack_nothing(X, attend, think, norm, times):
    return X if times == 0 else stack_right(X, attend, think, norm, times)


def norm_back_jacobian(X, grad, e):
    """Multiply by the whole table of derivatives, row by row."""
    out = np.zeros_like(X, dtype=float)
    d = X.shape[-1]
    for place in np.ndindex(X.shape[:-1]):
        root = math.sqrt(X[place].var() + e)
        y = (X[place] - X[place].mean()) / root
        table = (np.eye(d) - 1 / d - np.outer(y, y) / d) / root
        out[place] = table.T @ grad[place]
    return out


def back_numeric(X, grad, e):
    out = np.zeros_like(X, dtype=float)
    for place in np.ndindex(X.shape):
        ahead, behind = X.copy(), X.copy()
        ahead[place] += 1e-5
        behind[place] -= 1e-5
        out[place] = ((ln_plain(ahead, e) - ln_plain(behind, e)) * grad).sum() / 2e-5
    return out


def back_root(X, e):
    return np.sqrt(X.var(-1, keepdims=True) + e)


def back_only_root(X, grad, e):
    return grad / back_root(X, e)


def back_no_stretch(X, grad, e):
    return (grad - grad.mean(-1, keepdims=True)) / back_root(X, e)


def back_no_mean(X, grad, e):
    y = ln_plain(X, e)
    return (grad - y * (grad * y).mean(-1, keepdims=True)) / back_root(X, e)


def back_sums(X, grad, e):
    y = ln_plain(X, e)
    inner = grad - grad.sum(-1, keepdims=True) - y * (grad * y).sum(-1, keepdims=True)
    return inner / back_root(X, e)


def back_plus(X, grad, e):
    return 2 * back_only_root(X, grad, e) - norm_back_jacobian(X, grad, e)


def back_all_rows(X, grad, e):
    y = ln_plain(X, e)
    return (grad - grad.mean() - y * (grad * y).mean()) / back_root(X, e)


def others(part, X, change=None, least=1e-9, tokens=None):
    """Return the count of other rows for each token that is changed."""
    counts = []
    for j in range(len(X)) if tokens is None else tokens:
        other = X.copy()
        other[j] = np.flip(other[j]) * 2 + 1 if change is None else change(other[j])
        moved = abs(part(other) - part(X)).max(1) > least
        counts.append(int(moved.sum() - moved[j]))
    return counts


def others_random(part, X):
    rng, before = np.random.default_rng(0), part(X)
    largest = 0
    for j in range(len(X)):
        other = np.array(X, dtype=float)
        other[j] = rng.normal(size=X.shape[1])
        moved = np.any(np.abs(part(other) - before) > 1e-10, axis=1)
        largest = max(largest, np.delete(moved, j).sum())
    return largest


def others_in_place(part, X):
    before, most = part(X.copy()), 0
    for j in range(len(X)):
        kept = X[j].copy()
        X[j] = 3 * np.flip(kept) + 1
        moved = abs(part(X) - before).max(1) > 1e-9
        most = max(most, int(moved.sum() - moved[j]))
        X[j] = kept
    X[0] += 1
    return most


# --- translator ----------------------------------------------------------------------------------


def links_loop(weights):
    n_heads, rows, _ = weights.shape
    found = np.zeros((n_heads, rows - 1), dtype=int)
    for h in range(n_heads):
        for t in range(rows - 1):
            found[h, t] = max(range(weights.shape[2]), key=lambda s: weights[h, t, s])
    return found


def links_reads(weights):
    return np.array([[row.argmax() for row in head[1:]] for head in weights])


def rate_right(links, sure, possible):
    hits = (links & sure).sum() + (links & possible).sum()
    return 1 - hits / (links.sum() + sure.sum())


def rate_by_sets(links, sure, possible):
    a, s, p = (set(map(tuple, np.argwhere(part))) for part in (links, sure, possible))
    return 1 - (len(a & s) + len(a & p)) / (len(a) + len(s))


def rate_parts(links, sure, possible):
    return [rate_right(*part) for part in zip(links, sure, possible, strict=True)]


def rate_sums(links, sure, possible, formula):
    parts = links & sure, links & possible, links, sure, possible
    return formula(*(part.sum() for part in parts))


def tr_cross(X, memory, W_Q, W_K, W_V, t, q=None, k=None, v=None, root=None):
    q = X[t] @ W_Q if q is None else q
    k = memory @ W_K if k is None else k
    v = memory @ W_V if v is None else v
    e = np.exp(k @ q / (root or np.sqrt(W_K.shape[1])))
    return e / e.sum(), e / e.sum() @ v


def tr_cross_all(X, memory, W_Q, W_K, W_V, t):
    e = np.exp(X @ W_Q @ (memory @ W_K).T / np.sqrt(W_Q.shape[1]))
    weights = e / e.sum(axis=1, keepdims=True)
    return weights[t], (weights @ memory @ W_V)[t]


def tr_cross_causal(X, memory, W_Q, W_K, W_V, t):
    scores = memory @ W_K @ (X[t] @ W_Q) / np.sqrt(W_K.shape[1])
    scores[t + 1 :] = -np.inf
    e = np.exp(scores - scores.max())
    return e / e.sum(), e / e.sum() @ memory @ W_V


def beam_totals(log_p, next_log_p, done):
    return np.where(
        done[:, None],
        np.where(np.arange(next_log_p.shape[1]) == 0, log_p[:, None], -np.inf),
        log_p[:, None] + next_log_p,
    )


def beam_kept(totals, n):
    n_words = totals.shape[1]
    return np.array([(i // n_words, i % n_words) for i in (-totals).ravel().argsort()[:n]])


def beam_right(log_p, next_log_p, done, n):
    """Collect all continuations in a list and sort it."""
    more = []
    for b in range(len(log_p)):
        if done[b]:
            more.append((log_p[b], b, 0))
            continue
        more += [(log_p[b] + next_log_p[b, i], b, i) for i in range(next_log_p.shape[1])]
    return np.array([(b, i) for _, b, i in sorted(more, reverse=True)[:n]])


def beam_one_each(log_p, next_log_p, done, n):
    totals = beam_totals(log_p, next_log_p, done)
    pairs = sorted(((row.max(), b, row.argmax()) for b, row in enumerate(totals)), reverse=True)
    return np.array([(b, i) for _, b, i in pairs[:n]])


def beam_first_only(log_p, next_log_p, done, n):
    b = log_p.argmax()
    return np.array([(b, i) for i in (-beam_totals(log_p, next_log_p, done)[b]).argsort()[:n]])


def beam_dropped(log_p, next_log_p, done, n):
    return beam_kept(np.where(done[:, None], -np.inf, log_p[:, None] + next_log_p), n)


def beam_twice(log_p, next_log_p, done, n):
    totals = beam_totals(log_p, next_log_p, done)
    totals[done, 0] = log_p[done] + next_log_p[done, 0]
    return beam_kept(totals, n)


def beam_free(log_p, next_log_p, done, n):
    return beam_kept(np.where(done[:, None], log_p[:, None], log_p[:, None] + next_log_p), n)


def reads_flags(score, source, read, least=1e-9):
    before, flags = score(source, read), []
    for s in range(len(source)):
        other = source.copy()
        other[s] = (other[s] + 3) % 11
        flags.append(np.abs(score(other, read) - before).max(axis=1) > least)
    return np.array(flags)


def reads_right(score, source, read):
    return int(reads_flags(score, source, read).any(axis=1).sum())


def reads_by_words(score, source, read):
    """Try every other word at each place, not one."""
    count = 0
    for s in range(len(source)):
        others = [np.where(np.arange(len(source)) == s, i, source) for i in range(11)]
        count += any(np.abs(score(o, read) - score(source, read)).max() > 1e-9 for o in others)
    return count


def reads_not_put_back(score, source, read):
    before, other, count = score(source, read), source.copy(), 0
    for s in range(len(source)):
        other[s] = (other[s] + 1) % 11
        count += int(np.abs(score(other, read) - before).max() > 1e-9)
    return count


def reads_target(score, source, read):
    before, count = score(source, read), 0
    for t in range(len(read)):
        other = read.copy()
        other[t] = (other[t] + 1) % 11
        count += int(np.abs(score(source, other) - before).max() > 1e-9)
    return count


def reads_both(score, source, read):
    """Exchange a word of the target along with the one of the source."""
    before, count, moved = score(source, read), 0, (read + 1) % 11
    for s in range(len(source)):
        other = source.copy()
        other[s] = (other[s] + 1) % 11
        count += int(np.abs(score(other, moved) - before).max() > 1e-9)
    return count


def reads_in_place(score, source, read):
    before, count = score(source, read), 0
    for s in range(len(source)):
        kept = source[s]
        source[s] = (kept + 1) % 11
        count += int(np.abs(score(source, read) - before).max() > 1e-9)
        source[s] = kept
    source[0] += 1
    return count


# --- transformer ---------------------------------------------------------------------------------


def shift_right_loop(targets, lengths, start, end, pad):
    read, said, real = [], [], []
    for row, m in zip(targets, lengths, strict=True):
        own = list(row[:m])
        read.append([start, *own] + [pad] * (len(row) - m))
        said.append([*own, end] + [pad] * (len(row) - m))
        real.append([1.0] * (m + 1) + [0.0] * (len(row) - m))
    return read, said, real


def shift_right_where(targets, lengths, start, end, pad):
    batch, n = targets.shape
    full = np.column_stack([targets, np.full(batch, pad)])
    place, lengths = np.arange(n + 1), np.asarray(lengths)[:, None]
    read = np.column_stack([np.full(batch, start), targets])
    return read, np.where(place == lengths, end, full), 1.0 * (place <= lengths)


def shift_swapped(*args):
    read, said, real = shift_right_where(*args)
    return said, read, real


def shift_none(*args):
    _, said, real = shift_right_where(*args)
    return said, said, real


def shift_repeat(*args):
    read, _, real = shift_right_where(*args)
    return read, read, real


def shift_no_end(targets, lengths, start, end, pad):
    read, _, real = shift_right_where(targets, lengths, start, end, pad)
    return read, np.column_stack([targets, np.full(len(targets), pad)]), real


def shift_short(targets, lengths, start, end, pad):
    read, said, _ = shift_right_where(targets, lengths, start, end, pad)
    return read, said, 1.0 * (np.arange(read.shape[1]) < np.asarray(lengths)[:, None])


def shift_edge(targets, lengths, start, end, pad):
    read, _, real = shift_right_where(targets, lengths, start, end, pad)
    return read, np.column_stack([targets, np.full(len(targets), end)]), real


def shift_by_slices(targets, lengths, start, end, pad):
    batch, n = targets.shape
    full = np.full((batch, n + 2), pad)
    full[:, 0], full[:, 1:-1] = start, targets
    full[np.arange(batch), np.asarray(lengths) + 1] = end
    real = 1.0 * (np.arange(n + 1) <= np.asarray(lengths)[:, None])
    return full[:, :-1], full[:, 1:], real


def shift_all_count(*args):
    read, said, real = shift_right_where(*args)
    return read, said, np.ones_like(real)


def shift_in_place(targets, lengths, start, end, pad):
    result = shift_right_where(targets, lengths, start, end, pad)
    targets[:, 0] = start
    return result


def shift_last_real(targets, lengths, start, end, pad):
    read, said, real = shift_right_where(targets, lengths, start, end, pad)
    for row, m in zip(targets, lengths, strict=True):
        assert row[m - 1] != pad
    return read, said, real


def write_right(scores_of, start, end, longest):
    written = [start]
    for _ in range(longest):
        word = int(np.argmax(scores_of(written)[-1]))
        if word == end:
            break
        written.append(word)
    return written[1:]


def write_after(scores_of, start, end, longest):
    written = [start]
    while written[-1] != end and len(written) <= longest:
        written.append(int(scores_of(written)[len(written) - 1].argmax()))
    return [i for i in written[1:] if i != end]


def write_row_0(scores_of, start, end, longest):
    written = [start]
    while written[-1] != end and len(written) <= longest:
        written.append(int(scores_of(written)[0].argmax()))
    return written[1:]


def write_last_word(scores_of, start, end, longest):
    word, written = start, []
    while len(written) < longest:
        word = int(scores_of([word])[-1].argmax())
        if word == end:
            break
        written.append(word)
    return written


def write_no_limit(scores_of, start, end, longest):
    written = [start]
    while written[-1] != end:
        written.append(int(scores_of(written)[-1].argmax()))
    return written[1:-1]


def write_signs(scores_of, start, end, longest):
    written = [start]
    while written[-1] != end and len(written) <= longest:
        written.append(int(scores_of(written)[-1].argmax()))
    return written


def write_with_end(*args):
    return write_signs(*args)[1:]


def write_with_start(scores_of, start, end, longest):
    return [start, *write_right(scores_of, start, end, longest)]


def write_on(scores_of, start, end, longest):
    written = [start]
    for _ in range(longest):
        written.append(int(scores_of(written)[-1].argmax()))
    return written[1:]


def write_least(scores_of, start, end, longest):
    return write_right(lambda ids: -scores_of(ids), start, end, longest)


def write_short(scores_of, start, end, longest):
    return write_right(scores_of, start, end, longest - 1)


def write_long(scores_of, start, end, longest):
    return write_right(scores_of, start, end, longest + 1)


def write_cuts_the_last(scores_of, start, end, longest):
    return write_signs(scores_of, start, end, longest)[1:-1]


def count_with(own=None, cross=None, hidden=None, norms=(2, 3), norm=2, tables=1, depth=None):
    """Return a count in which one part is a learner's own."""

    def count(d_model, d_ff, n_heads, d_k, d_v, n_layers, n_rows):
        size = (d_model, n_heads, d_k, d_v)
        attention = n_heads * d_model * (2 * d_k + 2 * d_v) if own is None else own(*size)
        across = attention if cross is None else cross
        forward = 2 * d_model * d_ff + d_ff + d_model if hidden is None else hidden(d_model, d_ff)
        first = attention + forward + norms[0] * norm * d_model
        second = attention + across + forward + norms[1] * norm * d_model
        table = (n_layers if tables == "layers" else tables) * n_rows * d_model
        return (n_layers if depth is None else depth) * (first + second) + table

    return count


def prefix_right(score, ids):
    at_once = score(ids)
    alone = np.stack([score(ids[:n])[-1] for n in range(1, len(ids) + 1)])
    return int((np.abs(at_once - alone).max(axis=1) > 1e-9).sum())


def prefix_close(score, ids):
    at_once = score(ids)
    return sum(
        not np.allclose(score(ids[: t + 1])[t], at_once[t], rtol=0, atol=1e-10)
        for t in range(len(ids))
    )


def prefix_short(score, ids):
    at_once = score(ids)
    return sum(
        np.abs(score(ids[: max(t, 1)])[-1] - at_once[t]).max() > 1e-9 for t in range(len(ids))
    )


def prefix_first_row(score, ids):
    at_once = score(ids)
    return sum(np.abs(score(ids[: t + 1])[0] - at_once[t]).max() > 1e-9 for t in range(len(ids)))


def prefix_last(score, ids):
    return int(np.abs(score(ids)[-1] - score(ids[:-1])[-1]).max() > 1e-9)


def prefix_yes(score, ids):
    return int(prefix_right(score, ids) > 0)


def prefix_exchanges(score, ids):
    moved = set()
    for j in range(len(ids)):
        other = ids.copy()
        other[j] = (other[j] + 1) % 11
        moved |= {t for t in range(j) if np.abs(score(other)[t] - score(ids)[t]).max() > 1e-9}
    return len(moved)


def prefix_loose(score, ids):
    at_once = score(ids)
    return sum(
        not np.allclose(score(ids[: t + 1])[t], at_once[t], atol=1e-4) for t in range(len(ids))
    )


def prefix_all_or_nothing(score, ids):
    return (len(ids) - 1) * prefix_yes(score, ids)


def prefix_empty(score, ids):
    at_once = score(ids)
    return sum(np.abs(score(ids[:t])[-1] - at_once[t]).max() > 1e-9 for t in range(len(ids)))


# --- decoded -------------------------------------------------------------------------------------


def columns_right(*W):
    return tuple(np.swapaxes(w, -1, -2) for w in W)


def columns_reshaped(*W):
    return tuple(w.reshape(np.swapaxes(w, -1, -2).shape) for w in W)


def columns_backwards(*W):
    return (*(np.swapaxes(w, 1, 2)[::-1] for w in W[:3]), W[3].T)


def columns_first_head(*W):
    return (*(np.repeat(w[:1].swapaxes(1, 2), len(w), axis=0) for w in W[:3]), W[3].T)


def fold_by_heads(W, b, W_heads):
    return np.stack([W @ w for w in W_heads]), np.stack([b @ w for w in W_heads])


def one_head(X_q, X_kv, W_Q, W_K, W_V):
    q, k, v = X_q @ W_Q, X_kv @ W_K, X_kv @ W_V
    powers = np.exp(q @ k.T / np.sqrt(q.shape[1]))
    return powers / powers.sum(axis=1, keepdims=True) @ v


def heads_right(X_q, X_kv, *W):
    return np.stack([one_head(X_q, X_kv, *(w[i] for w in W)) for i in range(len(W[0]))])


def heads_twice(X_q, X_kv, W_Q, W_K, W_V):
    Q, K, V = X_q @ W_Q[0], X_kv @ W_K[0], X_kv @ W_V[0]
    out = []
    for q, k, v in zip(W_Q, W_K, W_V, strict=True):
        scores = (Q @ q) @ (K @ k).T / np.sqrt(q.shape[1])
        powers = np.exp(scores)
        out.append(powers / powers.sum(axis=1, keepdims=True) @ (V @ v))
    return np.stack(out)


def heads_raw(X_q, X_kv, *W):
    same = np.eye(X_q.shape[1])
    return np.stack([one_head(X_q, X_kv, same, same, same) for _ in W[0]])


def heads_square(X_q, X_kv, *W):
    return heads_right(X_q, X_kv @ np.eye(X_q.shape[1]), *W)


def rank_right(queries_of, d_in):
    probes = np.random.default_rng(3).normal(size=(3 * d_in, d_in))
    made = np.concatenate(list(queries_of(probes)), axis=1)
    return int(np.linalg.matrix_rank(made - made.mean(axis=0)))


def rank_with_bias(queries_of, d_in):
    return np.linalg.matrix_rank(np.hstack(list(queries_of(np.eye(d_in)))))


def rank_first_head(queries_of, d_in):
    return np.linalg.matrix_rank(queries_of(np.eye(d_in))[0])


def rank_sum(queries_of, d_in):
    return sum(np.linalg.matrix_rank(q) for q in queries_of(np.eye(d_in)))


def rank_columns(queries_of, d_in):
    h, _, d_k = queries_of(np.eye(d_in)).shape
    return h * d_k


def rank_one_token(queries_of, d_in):
    return np.linalg.matrix_rank(np.hstack(list(queries_of(np.ones((1, d_in))))))


# --- both ends, one array, evidence, torch's names, the way back ---------------------------------


def warm(s, T):
    """Right, row by row."""
    out = np.zeros(s.shape)
    for place in np.ndindex(s.shape[:-1]):
        row = s[place]
        if T == 0:
            part = np.where(row == max(row), 1.0, 0.0)
        elif math.isinf(T):
            part = np.where(np.isneginf(row), 0.0, 1.0)
        else:
            part = np.array([math.exp((x - max(row)) / T) for x in row])
        out[place] = part / sum(part)
    return out


def warm_ends(s, T):
    """Right, by T so small or large that the limit is reached."""
    return share(np.where(np.isneginf(s), -np.inf, s / min(max(T, 1e-3), 1e12)))


def warm_at(T, wrong):
    """Right, but for one T."""
    return lambda s, given: wrong(s) if given == T else warm(s, given)


def one_by_sums(head, W_Q, W_K, W_V, W_O):
    """Right, values first."""
    d_k, d_v = W_K.shape[-1], W_V.shape[-1]
    front = ((0, 0),) * (W_Q.ndim - 1)
    asks = np.pad(W_Q, (*front, (d_v, 0))) * math.sqrt(1 + d_v / d_k)
    out = np.pad(W_O, (*front[:-1], (0, d_k), (0, 0)))
    return head(asks, np.concatenate([W_V, W_K], -1), out)


def one_wrong(head, W_Q, W_K, W_V, W_O, factor=None, turned=False, doubled=False, axis=-1):
    d_k, d_v = W_K.shape[-1], W_V.shape[-1]
    factor = math.sqrt((d_k + d_v) / d_k) if factor is None else factor(d_k, d_v)
    rest = np.zeros(W_V.shape)
    if doubled:
        rest = factor * np.stack([W_Q[..., i % d_k] for i in range(d_v)], -1)
    parts = [rest, factor * W_Q] if turned else [factor * W_Q, rest]
    kept = np.zeros((*W_O.shape[:-2], d_k, W_O.shape[-1]))
    return head(
        np.concatenate(parts, axis),
        np.concatenate([W_K, W_V], axis),
        np.concatenate([kept, W_O], axis - 1),
    )


def one_fixed_width(head, W_Q, W_K, W_V, W_O):
    rest, kept = np.zeros((len(W_Q), 3)), np.zeros((4, W_O.shape[-1]))
    return head(
        np.hstack([W_Q * math.sqrt(7 / 4), rest]), np.hstack([W_K, W_V]), np.vstack([kept, W_O])
    )


SETTINGS = ("whole", "removed", "baseline")


def evidence(train, seeds):
    """Right, by sums."""
    runs = {s: [train(s, n) for n in seeds] for s in SETTINGS}
    gaps = [a - b for a, b in zip(runs["whole"], runs["removed"], strict=True)]

    def both(x):
        mean = sum(x) / len(x)
        return mean, math.sqrt(sum((a - mean) ** 2 for a in x) / (len(x) - 1))

    stats = [both(runs[s]) for s in SETTINGS]
    return [m for m, _ in stats], [s for _, s in stats], list(both(gaps))


def evidence_with(mean=None, spread=None, gap=None, order=SETTINGS, seeds_of=lambda s, n: n):
    def compare(train, seeds):
        runs = np.array([[train(s, n) for n in seeds_of(s, list(seeds))] for s in order])
        d = runs[0] - runs[1]
        return (
            runs.mean(1) if mean is None else mean(runs),
            runs.std(1, ddof=1) if spread is None else spread(runs),
            np.array([d.mean(), d.std(ddof=1)]) if gap is None else np.array(gap(runs)),
        )

    return compare


def evidence_twice(train, seeds):
    means = [np.mean([train(s, n) for n in seeds]) for s in SETTINGS]
    spreads = [np.std([train(s, n) for n in seeds], ddof=1) for s in SETTINGS]
    d = [train("whole", n) - train("removed", n) for n in seeds]
    return means, spreads, [np.mean(d), np.std(d, ddof=1)]


def torch_joined(pairs, real, layer, function):
    return np.einsum("qk,bk->bqk", pairs, real).astype(bool)[:, None]


def torch_right(pairs, real, layer, function):
    pads = np.logical_not(real)
    return layer(pairs == 0, pads), function(torch_joined(pairs, real, layer, function))


def torch_floats(pairs, real, layer, function):
    """Right: what is added is written out."""
    hide = np.where(pairs, 0.0, -np.inf)
    pads = np.where(real, 0.0, -np.inf)
    joined = function(attn_mask=hide + pads[:, None, None])
    return layer(key_padding_mask=pads, attn_mask=hide), joined


def torch_with(layer_of=None, function_of=None):
    def to_torch(pairs, real, layer, function):
        right = torch_joined(pairs, real, layer, function)
        own = (~pairs, ~real) if layer_of is None else layer_of(pairs, real)
        return layer(*own), function(right if function_of is None else function_of(pairs, real))

    return to_torch


def way_back(s, m, v, g):
    """Right, by the table of derivatives, row by row."""
    w = safe_right(s, m)
    grad_s = np.zeros(s.shape)
    for place in np.ndindex(s.shape[:-1]):
        row, up = w[place], np.asarray(v)[place[:-1]] @ g[place]
        grad_s[place] = (np.diag(row) - np.outer(row, row)) @ up
    return grad_s, np.einsum("...qk,...qd->...kd", w, g)


def way_back_float32(s, m, v, g):
    return tuple(x.astype(np.float32) for x in way_back(s, m, v, g))


def way_with(weights, grad_of=None, clean=(False, False)):
    def backward(s, m, v, g):
        w = weights(s, m)
        up = np.einsum("...qd,...kd->...qk", g, v)
        made = w * (up - np.einsum("...qk,...qk->...q", w, up)[..., None])
        grad_s = made if grad_of is None else grad_of(w, up, m)
        grad_v = np.einsum("...qk,...qd->...kd", w, g)
        return tuple(
            np.nan_to_num(x) if mend else x for x, mend in zip((grad_s, grad_v), clean, strict=True)
        )

    return backward


def way_scores_only(s, m, v, g):
    return way_back(s, m, v, g)[0], way_with(lambda s, m: share(hidden(s, m, -1e9)))(s, m, v, g)[1]


def way_axis(s, m, v, g):
    w = safe_right(s, m)
    up = g @ v.T
    return w * (up - (w * up).sum(1, keepdims=True)), w.T @ g


# --- real_model ----------------------------------------------------------------------------------


def file_head(X, weight, bias, h, m, cut=None, flip=False, no_bias=False, bias_of=None):
    """Return a head's queries; `cut` finds its rows, `flip` forgets the transpose."""
    d = len(bias) // m
    own = np.arange(h * d, h * d + d) if cut is None else cut(h, d, m)
    first = own if bias_of is None else np.arange(bias_of * d, bias_of * d + d)
    W = weight[:, own] if flip and weight.shape[0] == weight.shape[1] else weight[own].T
    return X @ W + (0 if no_bias else bias[first])


def share_before(w, shift=-1, first=1, last=1, count=None):
    n = w.shape[-1]
    t = np.arange(first, n - last)
    total = w[..., t, t + shift].sum(-1)
    return total / (len(t) if count is None else count(n))


def share_loop(w):
    flat = w.reshape(-1, *w.shape[-2:])
    each = [np.mean([m[t, t - 1] for t in range(1, len(m) - 1)]) for m in flat]
    return np.reshape(each, w.shape[:-2])


def two_changes(s, v, j, put=-np.inf, own=True, again=False, turn=False):
    a = np.array(s, dtype=float)
    w = np.exp(a) / np.exp(a).sum(-1, keepdims=True)
    for t in range(a.shape[-1]):
        if t != j or not own:
            where = (..., j, t) if turn else (..., t, j)
            a[where], w[where] = put, 0
    if again:
        w = w / w.sum(-1, keepdims=True)
    a = np.exp(a)
    return a / a.sum(-1, keepdims=True) @ v, w @ v


def two_masks(s, v, j):
    n = s.shape[-1]
    seen = np.ones((n, n), bool)
    seen[:, j] = np.arange(n) == j
    w = np.exp(s)
    plain = w / w.sum(-1, keepdims=True)
    w = w * seen
    return w / w.sum(-1, keepdims=True) @ v, (plain * seen) @ v


def pooled(X, m, ends=(0, 0), pads=False):
    rows = [x[ends[0] : (len(x) if pads else k) - ends[1]].mean(0) for x, k in zip(X, m)]  # noqa: B905
    return np.stack([r / np.linalg.norm(r) for r in rows])


def back(f, ids, orders, least=0.5, how=np.min):
    return float(min(how(np.diag(f(np.array(ids)[o]), -1)) for o in orders(len(ids))) > least)


def both_ways(n):
    return [np.arange(n), np.arange(n)[::-1]]


# --- a contract with torch -----------------------------------------------------------------------


def forms_right(allowed, n_heads, layer, function):
    b, n_q, n_k = allowed.shape
    blocked = np.zeros((b, n_heads, n_q, n_k), bool)
    blocked[:] = ~allowed[:, None]
    return layer(blocked.reshape(-1, n_q, n_k)), function(~blocked)


def forms_float(allowed, n_heads, layer, function):
    added = np.where(allowed, 0.0, -np.inf)[:, None]
    return layer(np.concatenate([added[b] for b in range(len(added)) for _ in range(n_heads)])), (
        function(added)
    )


def forms_repeated(allowed, n_heads, layer, function):
    return layer(np.concatenate([~allowed] * n_heads)), function(allowed[:, None])


def torch_split(packed, out, h):
    """Right, column by column."""
    E, d = len(out), len(out) // h
    made = np.empty((3, h, E, d))
    for kind in range(3):
        for i in range(h):
            for c in range(d):
                made[kind, i, :, c] = packed[kind * E + i * d + c]
    return (*made, np.transpose(out))


def torch_dealt(packed, out, h):
    E = len(out)
    return (*(W.T.reshape(E, E // h, h).transpose(2, 0, 1) for W in np.split(packed, 3)), out.T)


def torch_by_head(packed, out, h):
    E = len(out)
    d = E // h
    rows = [packed[3 * d * i : 3 * d * (i + 1)] for i in range(h)]
    return (*(np.stack([r[n * d : (n + 1) * d].T for r in rows]) for n in range(3)), out.T)


def torch_blocks(packed, out, h, order=(0, 1, 2)):
    made = torch_split(packed, out, h)
    return (*(made[n] for n in order), made[3])


def pooled_alone(encoder, X, lengths):
    """Right, one sentence after the other, without pads."""
    return [encoder(x[None, :n], np.zeros((1, n), bool))[0].mean(0) for x, n in zip(X, lengths)]  # noqa: B905


def pooled_with(mask_of, divide=True):
    def pool(encoder, X, lengths):
        pad = np.arange(X.shape[1])[None] > np.array(lengths)[:, None] - 1
        rows = np.array(encoder(X, mask_of(pad)))
        rows[pad] = 0
        return rows.sum(1) / (np.array(lengths)[:, None] if divide else X.shape[1])

    return pool


def pooled_all(encoder, X, lengths):
    return encoder(X, np.arange(X.shape[1]) >= lengths[:, None]).mean(axis=1)


def pooled_as_found(encoder, X, lengths):
    return encoder(X, np.arange(X.shape[1]) < lengths[:, None]).mean(axis=1)


def pooled_nonzero(encoder, X, lengths):
    """Count the rows that are not zero: right only on the fast path."""
    rows = encoder(X, np.arange(X.shape[1]) >= lengths[:, None])
    return rows.sum(axis=1) / rows.any(axis=-1).sum(axis=1)[:, None]


def strangers(layer, X, least=1e-9, changed=None, keep=False):
    most = 0
    for b in range(len(X)) if changed is None else [changed]:
        other = np.array(X)
        other[b] = other[b] * 2 + 1
        moved = [t for t in range(len(X)) if np.abs(layer(other)[t] - layer(X)[t]).max() > least]
        most = max(most, len([t for t in moved if keep or t != b]))
    return most


def strangers_in_place(layer, X):
    before, most = layer(X), 0
    for b in range(len(X)):
        X[b] += 1.0
        most = max(most, int((np.abs(layer(X) - before).max(axis=(1, 2)) > 1e-9).sum()) - 1)
        X[b] -= 1.0
    X += 1.0
    return most


# --- two_layers ----------------------------------------------------------------------------------


def hops(H, gain, notes=None, values=None, asks=None, mask=True, scale=True):
    import qkv

    n = H.shape[-2]
    notes = np.eye(n, k=-1) @ H if notes is None else notes(H)
    allowed = np.broadcast_to(qkv.causal_mask(n), (*H.shape[:-1], n)) if mask else None
    q = gain * (H if asks is None else asks(H)) * (1 if scale else np.sqrt(H.shape[-1]))
    v = H if values is None else values(H)
    return qkv.scaled_dot_product_attention(q, notes, v, allowed)[0]


def hops_shifted(H):
    return np.concatenate([np.zeros_like(H[..., :1, :]), H[..., :-1, :]], axis=-2)


def hops_one_text(H, gain):
    notes = np.zeros_like(H)
    notes[1:] = H[:-1]
    return hops(H, gain, lambda H: notes)


def look_score(w, ids, shift=1, turned=False, by=None):
    found = []
    for t in range(len(ids)):
        for j in range(t):
            if ids[j] == ids[t] and 0 <= j + shift < len(ids):
                found.append(w[j + shift, t] if turned else w[t, j + shift])
    return by(found) if by else (np.mean(found) if found else 0.0)


def patch_with(X, note, mean, W_Q, W_K, W_V, which="K", other=None, mask=True):
    import qkv

    other = X - note + mean if other is None else other(X, note, mean)
    q, k, v = (
        (other if name in which else X) @ W for name, W in zip("QKV", (W_Q, W_K, W_V), strict=True)
    )
    n = X.shape[-2]
    allowed = np.broadcast_to(qkv.causal_mask(n), (*X.shape[:-1], n)) if mask else None
    return qkv.scaled_dot_product_attention(q, k, v, allowed)[0]


def patch_one_batch(X, note, mean, W_Q, W_K, W_V):
    other = X - note + mean
    scores = X @ W_Q @ (other @ W_K).T / np.sqrt(W_K.shape[1])
    scores = np.where(np.tri(len(X)) > 0, scores, -np.inf)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ (X @ W_V)


def table_of(E, W_V, W_O, W_Q, W_K, asks=None, found=None):
    return ((E if asks is None else asks) @ W_Q) @ (
        (E @ W_V @ W_O if found is None else found) @ W_K
    ).T


def table_by_loop(E, W_V, W_O, W_Q, W_K):
    table = np.zeros((len(E), len(E)))
    for a in range(len(E)):
        for b in range(len(E)):
            table[a, b] = (E[a] @ W_Q) @ (E[b] @ (W_V @ W_O) @ W_K)
    return table


def copies_share(say, texts, least=0.9, shift=1, every=False):
    right = []
    for ids in texts:
        ids = np.array(ids)
        said = np.asarray(say(ids))
        for t in range(len(ids)):
            before = np.flatnonzero(ids[:t] == ids[t])
            if len(before):
                right.append(said[t] == ids[before[0] + shift])
            elif every:
                right.append(said[t] == ids[t])
    return float(np.mean(right) > least)


def copies_texts(seed=0, count=20, first=12, block=False, far=True):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        fresh = rng.permutation(26)[:first]
        again = fresh[:-1] if block else rng.permutation(fresh[:-1])
        yield np.concatenate([fresh, again if far else again[:2]])


def copies_right(say):
    return copies_share(say, copies_texts(5, 40))


def copies_by_the_chapter(say):
    from qkv.experiments.two_layers import texts

    return copies_share(say, texts(np.random.default_rng(3), 60).ids)


# --- inference -----------------------------------------------------------------------------------


def step_right(x, k, v, W_Q, W_K, W_V, shift=0, root=None, masked=True, old=True):
    n_old = len(k)
    k_all, v_all = np.vstack([k[: n_old * old], x @ W_K]), np.vstack([v[: n_old * old], x @ W_V])
    s = x @ W_Q @ k_all.T / np.sqrt(root or k.shape[1])
    if masked:
        s = np.where(np.tri(len(x), len(k_all), k=len(k_all) - len(x) + shift) > 0, s, -np.inf)
    return share(s) @ v_all, k_all, v_all


def step_by_rows(x, k, v, W_Q, W_K, W_V):
    out = []
    for row in x:
        k, v = np.vstack([k, row @ W_K]), np.vstack([v, row @ W_V])
        out.append(share(k @ (row @ W_Q) / k.shape[1] ** 0.5) @ v)
    return np.array(out).tolist(), k, v


def step_old_only(x, k, v, W_Q, W_K, W_V):
    _, k_all, v_all = step_right(x, k, v, W_Q, W_K, W_V)
    return share(x @ W_Q @ k.T / np.sqrt(k.shape[1])) @ v, k_all, v_all


def step_corner(x, k, v, W_Q, W_K, W_V):
    return step_right(x, k, v, W_Q, W_K, W_V, shift=-len(k))


def step_keeps_q(x, k, v, W_Q, W_K, W_V):
    out, _, v_all = step_right(x, k, v, W_Q, W_K, W_V)
    return out, np.vstack([k, x @ W_Q]), v_all


def step_front(x, k, v, W_Q, W_K, W_V):
    k, v = np.vstack([x @ W_K, k]), np.vstack([x @ W_V, v])
    return share(x @ W_Q @ k.T / np.sqrt(k.shape[1])) @ v, k, v


def go_on(e, codes, k, v, W_Q, W_K, W_V, place=True, shift=True, **more):
    place = len(k) if place is True else int(place)
    shift = 0 if shift is True else (shift if shift is not False else -len(k))
    x = e + codes[place : place + len(e)]
    return step_right(x, k, v, W_Q, W_K, W_V, shift=shift, **more)[0]


def go_on_one_place(e, codes, k, v, *W):
    place = np.full(len(e), len(k)) if len(k) else np.arange(len(e))
    return go_on(e, codes[place], k, v, *W, place=False)


def go_on_by_rows(e, codes, k, v, W_Q, W_K, W_V):
    return step_by_rows(e + codes[len(k) :][: len(e)], k, v, W_Q, W_K, W_V)[0]


def sets_of(q, k, v, of_k=None, of_v=None):
    heads, times = np.arange(len(q)), len(q) // len(k)
    of_k = heads // times if of_k is None else np.asarray(of_k)
    of_v = heads // times if of_v is None else np.asarray(of_v)
    return share(q @ k[of_k].swapaxes(1, 2) / np.sqrt(q.shape[-1])) @ v[of_v]


def in_turn(q, k):
    return np.arange(len(q)) % len(k)


def sets_folded(q, k, v):
    folded = q.reshape(len(k), -1, q.shape[-1])
    out = share(folded @ k.swapaxes(1, 2) / np.sqrt(q.shape[-1])) @ v
    return out.reshape(*q.shape[:2], -1)


def cuts_right(step, whole, X, least=1e-9, cut=None, look=lambda a: a):
    found, want = [], whole(X)
    for m in range(1, len(X)):
        first, cache = step(X[:m], None)
        both = np.vstack([first, step(X[m:], cache)[0]])
        found.append(float(np.abs(look(both) - look(want)).max() > least))
    return found


def cuts_anew(step, whole, X):
    return [
        float(np.abs(step(X[m:], None)[0] - whole(X)[m:]).max() > 1e-9) for m in range(1, len(X))
    ]


def cuts_row_by_row(step, whole, X):
    cache, out = None, []
    for row in X:
        got, cache = step(row[None], cache)
        out.append(got[0])
    return (np.abs(np.array(out) - whole(X)).max(axis=1) > 1e-9)[1:].astype(float)


def cuts_allclose(step, whole, X):
    found = []
    for m in range(1, len(X)):
        first, cache = step(X[:m], None)
        both = np.concatenate([first, step(X[m:], cache)[0]])
        found.append(float(not np.allclose(both, whole(X), rtol=0, atol=1e-10)))
    return found


# --- explanation ---------------------------------------------------------------------------------


def erased_row(chance, X, blank, **slip):
    before, lost, Y = chance(X), [], X.copy()
    for j in range(len(X)):
        if not slip.get("piles_up"):
            Y = X.copy()
        Y[j] = slip.get("put", blank)
        if slip.get("all_others"):
            Y = np.tile(blank, (len(X), 1))
            Y[j] = X[j]
        lost.append(chance(Y) if slip.get("left") else before - chance(Y))
    return lost


def written_right(weights, v, W_O):
    total = 0
    for w, x, W in zip(weights, v, W_O, strict=True):
        total = total + w[:, None] * (x @ W)
    return np.sqrt((total**2).sum(-1))


def written_with(weights, v, W_O, last="length", add="first", use=("w", "W_O")):
    parts = np.stack([x @ W if "W_O" in use else x for x, W in zip(v, W_O, strict=True)])
    if "w" in use:
        parts = weights[..., None] * parts
    if add == "last":
        return np.linalg.norm(parts, axis=-1).sum(0)
    if add == "mean":
        return np.linalg.norm(parts.mean(0), axis=-1)
    total = parts.sum(0)
    return (total**2).sum(-1) if last == "square" else np.linalg.norm(total, axis=-1)


def far_loop(weights, line):
    steps = min(w / -d for w, d in zip(weights, line, strict=True) if d < 0)
    return [w + steps * d for w, d in zip(weights, line, strict=True)]


def far_by(pick):
    def walk(weights, line):
        return weights + pick(weights, line) * line

    return walk


def misled_share(answer, weights, texts, blank, **slip):
    found = []
    for ids in texts:
        stays = []
        for j in range(9):
            without = list(ids)
            without[j] = blank
            stays.append(answer(np.array(without)) == answer(ids))
        if all(stays) and not slip.get("count_all"):
            continue
        place = (np.argmin if slip.get("least") else np.argmax)(weights(ids))
        found.append(stays[place] != slip.get("other_way", False))
    if slip.get("over"):
        return sum(found) / len(texts)
    return sum(found) if slip.get("count") else np.mean(found)


# --- cost ----------------------------------------------------------------------------------------


def priced(n, d, h, d_k, d_v, d_ff, writes=1, means=1, heads=None, power=2, back=1):
    h = h if heads is None else heads
    between = n**power * h * (d_k + means * d_v)
    return [n * d * h * (2 * d_k + (1 + writes) * d_v), between, (1 + back) * n * d * d_ff]


def streamed(s, v, t, for_l=True, for_o=True, careful=True, stop=None, divide=True):
    m, l, o = -np.inf, 0.0, np.zeros(v.shape[1])  # noqa: E741
    for j in range(0, len(s) if stop is None else stop, t):
        new = max(m, s[j : j + t].max())
        base = 0.0 if careful and new == -np.inf else new
        factor, powers = np.exp(m - base), np.exp(s[j : j + t] - base)
        l = (factor if for_l or not l else 1.0) * l + powers.sum()  # noqa: E741
        o = (factor if for_o else 1.0) * o + powers @ v[j : j + t]
        m = new
    if not divide:
        return o
    return o / l if l or not careful else o


def streamed_raw(s, v, t):
    powers = np.exp(s)
    total = powers.sum()
    return powers @ v / total if total else np.zeros(v.shape[1])


def streamed_full_tiles(s, v, t):
    return streamed(s, v, t, stop=max(t, len(s) // t * t))


def streamed_by_mean(s, v, t):
    return np.mean([streamed(s[j:], v[j:], t, stop=t) for j in range(0, len(s), t)], axis=0)


def streamed_nothing(s, v, t):
    return streamed(s, v, t) if (s > -np.inf).any() else v.mean(axis=0)


def streamed_by_key(s, v, t):
    return streamed(s, v, 1)


def streamed_in_logs(s, v, t):
    L, output = -np.inf, np.zeros(v.shape[1])
    for j in range(0, len(s), t):
        part = s[j : j + t]
        if not (part > -np.inf).any():
            continue
        here = part.max() + np.log(np.exp(part - part.max()).sum())
        new = np.logaddexp(L, here)
        output = np.exp(L - new) * output + np.exp(part - new) @ v[j : j + t]
        L = new
    return output


def united(m_a, l_a, o_a, m_b, l_b, o_b, for_l=True, for_o=True, careful=True, axis=True):
    m = np.maximum(m_a, m_b)
    base = np.where(m == -np.inf, 0.0, m) if careful else m
    a, b = np.exp(m_a - base), np.exp(m_b - base)
    l = a * l_a + b * l_b if for_l else l_a + l_b  # noqa: E741
    rows = (lambda x: x[:, None]) if axis else (lambda x: x)
    o = rows(a) * o_a + rows(b) * o_b if for_o else o_a + o_b
    return m, l, o


def united_divided(*parts):
    m, total, o = united(*parts)
    return m, total, o / total[:, None]


def united_means(*parts):
    m, total, o = united(*parts)
    return m, total / 2, o / 2


def united_sum_of_maxima(*parts):
    return (parts[0] + parts[3], *united(*parts)[1:])


def united_refuses_nothing(*parts):
    m, total, o = united(*parts)
    return m, total, np.where((parts[3] == -np.inf)[:, None], 0.0, o)


def united_other_way(m_a, l_a, o_a, m_b, l_b, o_b):
    m = np.maximum(m_a, m_b)
    a = np.where(m_a == m, 1.0, np.exp(np.minimum(m_a - np.where(m == -np.inf, 0, m), 0)))
    b = np.where(m_b == m, 1.0, np.exp(np.minimum(m_b - np.where(m == -np.inf, 0, m), 0)))
    return m, a * l_a + b * l_b, (o_a.T * a + o_b.T * b).T


def suspects(f, tries, least=1e-8):
    for s, t in tries:
        v = np.arange(2.0 * len(s)).reshape(-1, 2)
        powers = np.exp(s - s.max())
        if not np.allclose(f(s, v, t), powers @ v / powers.sum(), rtol=0, atol=least):
            return 0
    return 1


UPWARDS = np.linspace(-2.0, 2.0, 7)
GONE_FIRST = np.where(np.arange(7) < 3, -np.inf, UPWARDS)


def suspects_all(f):
    return suspects(f, [(UPWARDS, 3), (1e4 * UPWARDS, 2), (GONE_FIRST, 2)])


def suspects_by_chance(f):
    rng = np.random.default_rng(3)
    for _ in range(40):
        s = 10.0 ** rng.integers(0, 4) * np.sort(rng.normal(size=7))
        s[: rng.integers(0, 6)] = -np.inf
        with np.errstate(all="ignore"):
            if not suspects(f, [(s, int(rng.integers(1, 5)))]):
                return 0
    return 1


WRONG = {
    "explanation.erase": [
        (lambda c, X, b: -np.array(erased_row(c, X, b)), "two tokens", "signs are turned"),
        (lambda c, X, b: erased_row(c, X, b, left=True), "two tokens", "without the token"),
        (
            lambda c, X, b: np.array(erased_row(c, X, b)) / c(X),
            "two tokens",
            "divided by the chance",
        ),
        (lambda c, X, b: erased_row(c, X, b, put=0.0), "two tokens", "put zeros"),
        (lambda c, X, b: erased_row(c, X, b, piles_up=True), "two tokens", "stands in row 0"),
        (lambda c, X, b: erased_row(c, X, b, all_others=True), "two tokens", "all rows but one"),
        (
            lambda c, X, b: np.abs(erased_row(c, X, b)),
            "seven tokens, some in the way",
            "took the sign away",
        ),
        (lambda c, X, b: [c(X[:j]) for j in range(len(X))], "two tokens", "all n rows"),
    ],
    "explanation.norms": [
        (lambda w, v, W: written_with(w, v, W, use=("w",)), "one head", "length of the value"),
        (lambda w, v, W: written_with(w, v, W, use=("W_O",)), "one head", "how much of the value"),
        (lambda w, v, W: written_with(w, v, W, last="square"), "one head", "A length is a root"),
        (
            lambda w, v, W: np.linalg.norm(np.einsum("hj,hjd,hdm->m", w, v, W)),
            "one head",
            "all vectors together",
        ),
        (lambda w, v, W: w.mean(0) * written_right(w, v, W), "one head", "weight twice"),
        (
            lambda w, v, W: written_with(w, v, W, add="last"),
            "three heads, which may cancel",
            "You added lengths",
        ),
        (
            lambda w, v, W: written_with(w, v, W, add="mean"),
            "three heads, which may cancel",
            "mean over heads",
        ),
    ],
    "explanation.other_row": [
        (lambda w, d: w + d, "three tokens, one direction", "one step of length 1"),
        (lambda w, d: np.clip(w + d, 0, None), "three tokens, one direction", "negative weights"),
        (
            lambda w, d: np.clip(w + d, 0, None) / np.clip(w + d, 0, None).sum(),
            "three tokens, one direction",
            "divided by the sum",
        ),
        (
            far_by(lambda w, d: -(w[d > 0] / d[d > 0]).min()),
            "three tokens, one direction",
            "against the line",
        ),
        (far_by(lambda w, d: (w / -d).min()), "three tokens, one direction", "step is negative"),
        (far_by(lambda w, d: np.abs(w / d).min()), "three tokens, one direction", "that rises"),
        (far_by(lambda w, d: (w / -d).max()), "eleven tokens", "last weight"),
        (far_by(lambda w, d: (w / -d)[d < 0][0]), "eleven tokens", "first falling weight"),
    ],
    "explanation.misled_test": [
        (
            lambda *a: misled_share(*a, other_way=True),
            "honest weights",
            "in which the answer *changes*",
        ),
        (lambda *a: misled_share(*a, least=True), "honest weights", "smallest weight"),
        (lambda a, w, t, b: np.mean([w(x)[9] for x in t]), "honest weights", "How many places"),
        (lambda *a: 0, "one text in three", "found nothing"),
        (lambda *a: misled_share(*a, count=True), "one text in three", "You counted"),
        (lambda *a: float(misled_share(*a) > 0), "one text in three", "In what share"),
        (lambda *a: misled_share(*a, count_all=True), "with nothing asked", "nothing matters"),
        (lambda *a: misled_share(*a, over=True), "with nothing asked", "counted them below"),
    ],
    "real_model.read_head": [
        (lambda *a: file_head(*a, no_bias=True), "one head", "left the bias out"),
        (lambda X, W, b, h, m: X @ W.T - b, "one head", "took the bias away"),
        (lambda X, W, b, h, m: X @ W + b, "one head", "stored as (out, in)"),
        (
            lambda *a: file_head(*a, cut=lambda h, d, m: np.arange(h, d * m, m)),
            "several heads",
            "together, or scattered",
        ),
        (
            lambda *a: file_head(*a, cut=lambda h, d, m: np.arange(d), bias_of=0),
            "several heads",
            "head 0 whatever h is",
        ),
        (
            lambda X, W, b, h, m: file_head(X, W, b, 0, m),
            "several heads",
            "head 0 whatever h is",
        ),
        (
            lambda X, W, b, h, m: file_head(X, W, b, h - 1 if h else m - 1, m),
            "several heads",
            "From which number",
        ),
        (lambda *a: file_head(*a, bias_of=0), "several heads", "is head 0's"),
        (lambda X, W, b, h, m: X @ W.T + b, "several heads", "of all heads"),
        (
            lambda X, W, b, h, m: X @ W[h * len(W) // m : (h + 1) * len(W) // m].T + b,
            "several heads",
            "the rows or the bias",
        ),
        (lambda *a: file_head(*a, flip=True), "a square file", "forgot the transpose"),
    ],
    "real_model.previous": [
        (lambda w: share_before(w, last=0), "a head that does", "[SEP] asks"),
        (lambda w: share_before(w, count=lambda n: 1), "a head that does", "grows with"),
        (lambda w: share_before(w, count=lambda n: n), "a head that does", "You divide by n"),
        (lambda w: share_before(w, shift=1), "a head that does", "Which share do you"),
        (
            lambda w: (w.argmax(-1)[..., 1:-1] == np.arange(w.shape[-1] - 2)).mean(-1),
            "a head that does",
            "Which share",
        ),
        (lambda w: share_before(w, first=2), "a head that does not", "has a token before it too"),
        (
            lambda w: np.mean([w[t, t - 1] for t in range(1, w.shape[-1] - 1)]),
            "all heads of two layers",
            "axes in front",
        ),
        (lambda w: share_before(w).mean(), "all heads of two layers", "one number for all"),
    ],
    "real_model.silent": [
        (
            lambda *a: two_changes(*a, again=True),
            "one key of one head",
            "the weight went elsewhere",
        ),
        (
            lambda *a: (two_changes(*a)[1], two_changes(*a)[1]),
            "one key of one head",
            "weight of key j is lost",
        ),
        (lambda *a: two_changes(*a, own=False), "one key of one head", "the query j as well"),
        (lambda *a: two_changes(*a)[::-1], "one key of one head", "In which order"),
        (lambda *a: two_changes(*a, put=0), "one key of one head", "exp make of a 0"),
        (lambda *a: two_changes(*a, turn=True), "one key of one head", "You changed row j"),
        (lambda *a: two_changes(*a)[0], "one key of one head", "are asked for"),
        (
            lambda s, v, j: two_changes(s, v, j or -1),
            "the first key",
            "treat 0 as any other",
        ),
    ],
    "real_model.repair": [
        (lambda X, m: X.mean(1), "one sentence", "its length is not 1"),
        (
            lambda X, m: X.mean(1) / np.abs(X.mean(1)).sum(-1, keepdims=True),
            "one sentence",
            "sizes of your entries",
        ),
        (
            lambda X, m: (X / np.linalg.norm(X, axis=-1, keepdims=True)).mean(1),
            "one sentence",
            "scaled the rows and then",
        ),
        (lambda X, m: pooled(X, m, (1, 1)), "one sentence", "first and the last row out"),
        (lambda X, m: pooled(X, 0 * m + 1), "one sentence", "the row of [CLS]"),
        (
            lambda X, m: X.mean(1) / (X.mean(1) ** 2).sum(-1, keepdims=True),
            "one sentence",
            "the squared length",
        ),
        (lambda X, m: X.mean(0), "one sentence", "Over which axis"),
        (
            lambda X, m: X.mean(1) / np.linalg.norm(X.mean(1)),
            "several sentences",
            "by one number",
        ),
        (lambda X, m: pooled(X, m, pads=True), "padding", "pads are in your mean"),
        (
            lambda X, m: pooled(X, np.where(m < X.shape[1], m - 1, m)),
            "padding",
            "Which rows are in",
        ),
    ],
    "real_model.by_place": [
        (lambda f, ids: 0, "by places", "You say no"),
        (lambda f, ids: back(f, ids, both_ways, least=1), "by places", "You say no"),
        (lambda f, ids: np.diag(f(ids), -1), "by places", "look at in its weights"),
        (lambda f, ids: f(ids, None), "by places", "Your test stopped"),
        (lambda f, ids: 1, "at itself", "the weights stay"),
        (
            lambda f, ids: float(np.allclose(f(ids), f(ids[::-1]))),
            "at itself",
            "the weights stay",
        ),
        (
            lambda f, ids: back(f, ids, lambda n: [np.arange(n)]),
            "by words",
            "in another order",
        ),
        (
            lambda f, ids: back(f, ids, lambda n: [np.roll(np.arange(n), 1)], how=np.mean),
            "by words",
            "in another order",
        ),
        (
            lambda f, ids: back(f, ids, both_ways, least=0.9),
            "by places, softly",
            "How much is",
        ),
    ],
    "images.patches": [
        (lambda x, a, b: cut_loop(x, a, b, turned=True), "one patch", "go downwards first"),
        (lambda x, a, b: x, "one patch", "The picture is one patch"),
        (lambda x, a, b: x.reshape(a * b, -1).flat[None], "one patch", "Which line fails"),
        (
            lambda x, a, b: x.reshape(*x.shape[:-2], -1, a * b),
            "side by side",
            "a piece of a line",
        ),
        (
            lambda x, a, b: cut_loop(x, a, b)[..., ::-1, :],
            "side by side",
            "side by side in memory",
        ),
        (lambda x, a, b: cut_loop(x, a, b, down=True), "a whole picture", "patches go downwards"),
        (
            lambda x, a, b: cut_loop(x, b, a) if x.shape[-1] == 12 else cut_loop(x, a, b),
            "a whole picture",
            "Which is which",
        ),
        (cut_one_picture, "several pictures", "Which line counts axes"),
    ],
    "images.from_convolution": [
        (lambda k: filters(k[..., ::-1, ::-1]), "one filter", "turned the filter round"),
        (lambda k: filters(k, (0, 1, 3, 2)), "one filter", "read downwards first"),
        (lambda k: filters(k).sum(), "one filter", "line after line"),
        (lambda k: k.reshape(-1, len(k)), "several filters", "mixed in each"),
        (lambda k: filters(k).T if len(k) > 1 else filters(k), "several filters", "stand?"),
        (lambda k: filters(k)[:, ::-1], "several filters", "hold a filter each"),
        (lambda k: filters(k, (0, 2, 3, 1)), "several channels", "colours of a pixel"),
        (lambda k: filters(k.sum(1, keepdims=True)), "several channels", "added the colours"),
        (lambda k: filters(k[:, ::-1]), "several channels", "There are colours now"),
    ],
    "images.repair": [
        (lambda w: roll(w, column=slice(-1)), "one layer, one head", "column is not a patch"),
        (lambda w: roll(w, divide=False), "one layer, one head", "does not sum to 1"),
        (lambda w: roll(w, stay=0, divide=False), "one layer, one head", "does not sum to 1"),
        (
            lambda w: roll(w, stay=0, left=False, pool=np.max, column=slice(-1), divide=False),
            "one layer, one head",
            "cut off the last column, and",
        ),
        (roll_column, "one layer, one head", "who looks at the class token"),
        (lambda w: roll(w, column=slice(None)), "one layer, one head", "What is yours"),
        (lambda w: roll(w, pool=np.max), "several heads", "largest weight of any head"),
        (lambda w: roll([x[..., :1, :, :] for x in w]), "several heads", "You take one head"),
        (
            lambda w: roll([x[..., 1:, :, :] if x.shape[-3] > 1 else x for x in w]),
            "several heads",
            "How do they become one",
        ),
        (lambda w: roll(w, stay=0), "several layers", "left the residual out"),
        (lambda w: roll(w, left=False), "several layers", "first layer stands at the left"),
        (lambda w: roll(w, left=False, stay=0), "several layers", "Nothing stays"),
        (lambda w: roll(w[-1:]), "several layers", "last layer alone"),
        (roll_mean, "several layers", "a mean of layers"),
        (roll_once, "several layers", "left the residual out"),
        (roll_from_the_front, "a batch in front", "count your axes from the back"),
    ],
    "images.class_blind": [
        (lambda f, X, W: 0, "from weights alone", "no explanation blind"),
        (lambda f, X, W: f(X, 0), "from weights alone", "Your test stopped"),
        (lambda f, X, W: class_maps(f, X, W)[0], "from weights alone", "What do you compare"),
        (lambda f, X, W: 1, "from a gradient", "every explanation blind"),
        (blind_below(1e-9, share=False), "louder for some classes", "as they come"),
        (blind_below(1e-9, classes=[0, 1]), "one class only", "What about the others"),
        (blind_below(1e-9, classes=[0, 1, 2]), "one class only", "What about the others"),
        (blind_below(1e-3), "a faint difference", "let small differences pass"),
    ],
    "projections.measure": [
        (lambda attend, v: attend(v), "each token for itself", "returned the output"),
        (lambda attend, v: attend(v) @ v.T, "each token for itself", "not zero"),
        (lambda attend, v: 0 * mixing_right(attend, v), "each token for itself", "all zeros"),
        (lambda attend, v: np.ones((len(v), len(v))), "each token for itself", "in full"),
        (
            lambda attend, v: mixing_right(attend, v) * v.shape[1],
            "each token for itself",
            "columns of a row up",
        ),
        (lambda attend, v: attend(v[:1]), "each token for itself", "which of your arrays"),
        (
            lambda attend, v: (np.abs(mixing_right(attend, v)) > 1e-9).astype(float),
            "attention",
            "who reaches whom",
        ),
        (lambda attend, v: mixing_right(attend, v).T, "attention", "Your columns add up to 1"),
        (lambda attend, v: np.eye(len(v)), "attention", "no token reaches another"),
        (
            lambda attend, v: mixing_right(attend, v) / mixing_right(attend, v).max(),
            "attention",
            "your largest entry",
        ),
        (
            lambda attend, v: mixing_right(attend, v) / mixing_right(attend, v).sum(axis=0),
            "attention",
            "one whole to give away",
        ),
        (mixing_square, "more queries than keys", "takes the two for equal"),
        (mixing_two_columns, "one column", "asks for another"),
        (mixing_with_the_addend, "something is added", "when all values are zero"),
        (mixing_in_place, "inputs untouched", "writes into its argument"),
    ],
    "softmax.temperature": [
        (lambda s, T: share(s), "an ordinary T", "Where does it go in"),
        (lambda s, T: share(s * T), "an ordinary T", "make the scores larger"),
        (lambda s, T: share(s) / T, "an ordinary T", "you divided the weights"),
        (lambda s, T: share(s) ** (1 / T), "an ordinary T", "the right ratios"),
        (lambda s, T: share(s / T**0.5), "an ordinary T", "Where did that root"),
        (lambda s, T: share((s / T).T).T, "an ordinary T", "one query's weights"),
        (lambda s, T: np.exp(s / T) / np.exp(s / T).sum(-1, keepdims=True), "a cold row", "NaN"),
        (lambda s, T: share(s / max(T, 0.1)), "a cold row", "go below some number"),
        (lambda s, T: share(s / T), "T = 0, and a tie", "divided by 0 is infinite"),
        (warm_at(0, lambda s: np.eye(5)[s.argmax(-1)]), "T = 0, and a tie", "all to the first"),
        (warm_at(0, lambda s: 1.0 * (s == s.max(-1, keepdims=True))), "T = 0, and a tie", "1 each"),
        (warm_at(0, lambda s: 0 * s + 1 / 5), "T = 0, and a tie", "At which end is that so"),
        (
            warm_at(0, lambda s: (s == s.max()) / (s == s.max()).sum()),
            "T = 0, and a tie",
            "One row has everything",
        ),
        (warm_at(0, lambda s: s / s[5]), "T = 0, and a tie", "Your code stopped at T = 0"),
        (warm_at(np.inf, lambda s: share(s / np.inf)), "T infinite, a key hidden", "not a number"),
        (
            warm_at(np.inf, lambda s: 0 * np.nan_to_num(s) + 1 / 5),
            "T infinite, a key hidden",
            "Does any temperature bring it back",
        ),
        (warm_at(np.inf, lambda s: warm(s, 0)), "T infinite, a key hidden", "the other end"),
        (
            lambda s, T: warm(s, T) if s.ndim == 2 else (s == s.max(1, keepdims=True)) * 1.0,
            "a batch in front",
            "count your axes from the back",
        ),
    ],
    "why_three.one_array": [
        (lambda *a: one_wrong(*a, factor=lambda k, v: 1), "one head", "too even"),
        (
            lambda *a: one_wrong(*a, factor=lambda k, v: (k / (k + v)) ** 0.5),
            "one head",
            "more even",
        ),
        (lambda *a: one_wrong(*a, factor=lambda k, v: 1 + v / k), "one head", "too large"),
        (lambda *a: one_wrong(*a, factor=lambda k, v: (1 + k / v) ** 0.5), "one head", "with d_v"),
        (lambda *a: one_wrong(*a, turned=True), "one head", "In which order stand"),
        (lambda *a: one_wrong(*a, doubled=True), "one head", "is not to ask"),
        (
            lambda head, Q, K, V, out: head(Q, K, np.resize(out, (K.shape[-1], out.shape[-1]))),
            "one head",
            "holds the keys only",
        ),
        (
            lambda head, Q, K, V, out: head(Q, np.hstack([K, V]), out),
            "one head",
            "Your code stopped",
        ),
        (one_fixed_width, "more values than keys", "right by luck"),
        (lambda *a: one_wrong(*a, axis=1), "three heads at once", "counts axes from the front"),
    ],
    "why_three.compare": [
        (evidence_with(mean=lambda r: r.mean(1)[::-1]), "no luck at all", "another order"),
        (evidence_with(mean=lambda r: r.mean(1) * [1, 1, 0]), "no luck at all", "looks at nothing"),
        (
            evidence_with(gap=lambda r: ((r[0] - r[2]).mean(), (r[0] - r[2]).std(ddof=1))),
            "no luck at all",
            "whole minus baseline",
        ),
        (
            evidence_with(gap=lambda r: ((r[1] - r[0]).mean(), (r[1] - r[0]).std(ddof=1))),
            "no luck at all",
            "the other sign",
        ),
        (
            evidence_with(gap=lambda r: (1 - r[1].mean() / r[0].mean(), 0)),
            "no luck at all",
            "as a share",
        ),
        (evidence_with(mean=lambda r: r.max(1)), "one setting that varies", "best seed"),
        (evidence_with(mean=lambda r: np.median(r, 1)), "one setting that varies", "medians"),
        (
            evidence_with(
                spread=lambda r: r.std(1), gap=lambda r: ((r[0] - r[1]).mean(), (r[0] - r[1]).std())
            ),
            "one setting that varies",
            "divided by n",
        ),
        (
            evidence_with(spread=lambda r: r.std(1, ddof=1) / math.sqrt(len(r[0]))),
            "one setting that varies",
            "root of n",
        ),
        (
            evidence_with(spread=lambda r: r.max(1) - r.min(1)),
            "one setting that varies",
            "highest minus lowest",
        ),
        (
            evidence_with(seeds_of=lambda s, n: [i for i, _ in enumerate(n)]),
            "one setting that varies",
            "Which seeds were you given",
        ),
        (
            evidence_with(
                mean=lambda r: r[:, 0],
                spread=lambda r: 0 * r[:, 0],
                gap=lambda r: (r[0, 0] - r[1, 0], 0),
            ),
            "one setting that varies",
            "the first seed only",
        ),
        (
            evidence_with(
                gap=lambda r: (
                    (r[0] - r[1]).mean(),
                    math.sqrt(r[0].var(ddof=1) + r[1].var(ddof=1)),
                )
            ),
            "luck that both share",
            "added the two variances",
        ),
        (
            evidence_with(
                gap=lambda r: (
                    (r[0] - r[1]).mean(),
                    abs(r[0].std(ddof=1) - r[1].std(ddof=1)),
                )
            ),
            "luck that both share",
            "subtracted the spreads",
        ),
        (
            evidence_with(
                gap=lambda r: (
                    (r[0] - r[1]).mean(),
                    (np.sort(r[0]) - np.sort(r[1])).std(ddof=1),
                )
            ),
            "luck that both share",
            "the best run with the best",
        ),
        (evidence_twice, "a run takes an hour", "trained twice with one seed"),
    ],
    "masks.to_torch": [
        (torch_with(lambda p, r: (p, ~r)), "a rule about pairs", "future only"),
        (torch_with(lambda p, r: (~p, r)), "a rule about pairs", "a word, or a pad"),
        (
            torch_with(None, lambda p, r: ~(p & r[:, None])[:, None]),
            "a rule about pairs",
            "Does True keep there",
        ),
        (
            torch_with(
                lambda p, r: (1.0 - p, 1.0 - r), lambda p, r: 1.0 * (p & r[:, None])[:, None]
            ),
            "a rule about pairs",
            "Nothing is hidden",
        ),
        (
            torch_with(None, lambda p, r: 1.0 * (p & r[:, None])[:, None]),
            "a rule about pairs",
            "Your function hides nothing",
        ),
        (torch_with(lambda p, r: (1 - p, 1 - r)), "a rule about pairs", "A mask was refused"),
        (torch_with(None, lambda p, r: p), "and pads", "one mask for everything"),
        (torch_with(lambda p, r: (~p, r & False)), "and pads", "Your layer looks at pads"),
        (
            torch_with(None, lambda p, r: (p | r[:, None])[:, None]),
            "a rule about pairs",
            "of two rules allows it",
        ),
        (
            torch_with(None, lambda p, r: p if r.all() else p & r[:, None]),
            "and pads",
            "Which axis is missing",
        ),
    ],
    "masks.empty_gradient": [
        (way_with(safe_right, lambda w, up, m: w * up), "all may look", "What is taken off"),
        (
            way_with(safe_right, lambda w, up, m: w * (up - up.mean(-1, keepdims=True))),
            "all may look",
            "the plain mean",
        ),
        (
            way_with(safe_right, lambda w, up, m: up - (w * up).sum(-1, keepdims=True)),
            "all may look",
            "Which factor stands in front",
        ),
        (
            way_with(safe_right, lambda w, up, m: w * (up - (w * up).sum(0))),
            "all may look",
            "summed over the queries",
        ),
        (way_with(safe_right, lambda w, up, m: up), "all may look", "gradient of the weights"),
        (lambda s, m, v, g: (g @ v, g), "all may look", "Write the shapes down"),
        (way_with(lambda s, m: share(s)), "some are hidden", "Were they looked at"),
        (way_with(lambda s, m: share(s) * m), "some are hidden", "add up to 1"),
        (
            way_with(
                lambda s, m: share(s),
                lambda w, up, m: m * w * (up - (w * up).sum(-1, keepdims=True)),
            ),
            "some are hidden",
            "You hid the gradients",
        ),
        (way_with(lambda s, m: share(hidden(s, m))), "a row that sees nothing", "be born"),
        (
            way_with(lambda s, m: share(hidden(s, m)), clean=(True, True)),
            "a row that sees nothing",
            "V lost what the honest rows",
        ),
        (
            way_with(lambda s, m: share(hidden(s, m)), clean=(True, False)),
            "a row that sees nothing",
            "Which product carried it",
        ),
        (way_with(lambda s, m: share(hidden(s, m, -1e9))), "a row that sees nothing", "keys alike"),
        (way_scores_only, "a row that sees nothing", "still sends something"),
        (way_axis, "a batch in front", "turns all axes"),
    ],
    "cross_attention.layer": [
        (cross_axis, "one query", "all your weights are 1"),
        (lambda *a: cross_right(*a, root=1), "one query", "the bare dot products"),
        (lambda *a: cross_right(*a, root=a[2].shape[1] ** 2), "one query", "which power"),
        (lambda *a: cross_right(*a, root=a[4].shape[1]), "one query", "root of d_v"),
        (lambda *a: cross_right(*a, root=a[2].shape[0]), "one query", "the decoder's width"),
        (cross_triangle, "one query", "first source word and no other"),
        (
            lambda X, m, Q, K, V: np.tile((m @ V).mean(-2), (len(X), 1)),
            "one query",
            "the plain mean",
        ),
        (lambda X, m, Q, K, V: cross_right(X, X, Q, K, V), "one query", "as many columns as W_K"),
        (
            lambda X, m, Q, K, V: cross_right(X, X if len(K) == len(Q) else m, Q, K, V),
            "two sequences of one width",
            "never reads the memory",
        ),
        (
            lambda X, m, Q, K, V: (
                cross_right(m, X, Q, K, V) if len(K) == len(Q) else cross_right(X, m, Q, K, V)
            ),
            "two sequences of one width",
            "Who asks",
        ),
        (
            lambda X, m, Q, K, V: cross_right(m if len(K) == len(Q) else X, m, Q, K, V),
            "two sequences of one width",
            "never reads X",
        ),
        (
            lambda X, m, Q, K, V: cross_right(X, m, Q, K, K if len(K) == len(Q) else V),
            "two sequences of one width",
            "handed over keys",
        ),
        (
            lambda X, m, Q, K, V: (
                cross_right if len(X) == 1 or len(Q) == len(K) else cross_triangle
            )(X, m, Q, K, V),
            "more rows",
            "end of the source",
        ),
        (cross_turned, "a batch in front", "turns all axes around"),
        (cross_first_pair, "a batch in front", "which sentence's memory"),
        (cross_in_place, "inputs untouched", "writes into its argument"),
    ],
    "cross_attention.padded": [
        (lambda q, k, v, n: pairs_under(q, k, v, True), "one pair", "look at the pads"),
        (pairs_rows, "one pair", "You hid queries"),
        (lambda *a: pairs_right(*a, hide=0.0), "one pair", "power 0"),
        (pairs_values, "one pair", "take a share"),
        (pairs_inverted, "one pair", "What does True mean"),
        (lambda q, k, v, n: pairs_right(q, k, v, n + 1), "one pair", "first pad is still"),
        (lambda q, k, v, n: pairs_right(q, k, v, n - 1), "one pair", "last real word"),
        (pairs_triangle, "one pair", "not yet written"),
        (lambda q, k, v, n: pairs_right(q, k, v, 0 * n + n[0]), "three pairs", "of the first"),
        (lambda q, k, v, n: pairs_right(q, k, v, 0 * n + max(n)), "three pairs", "of the longest"),
        (lambda q, k, v, n: pairs_right(q, k, v, 0 * n + min(n)), "three pairs", "the shortest"),
        (pairs_no_axis, "three pairs", "lines up the last axes"),
        (pairs_in_place, "inputs untouched", "writes into its argument"),
    ],
    "cross_attention.repair": [
        (lambda *a: stack_with(*a, add=False), "one layer", "added to"),
        (lambda X, *a: X + 0, "one layer", "Where is what was read"),
        (lambda X, *a: 2 * stack_with(X, *a) - X, "one layer", "added twice"),
        (
            lambda *a: stack_with(*a, keys=[0] * 3, values=[0] * 3, asks="X"),
            "two layers",
            "Two things stand still",
        ),
        (
            lambda *a: stack_with(*a, keys=[0] * 3, values=[0] * 3),
            "two layers",
            "matrices of the first",
        ),
        (lambda *a: stack_with(*a, keys=[0] * 3), "two layers", "by the keys of the first"),
        (lambda *a: stack_with(*a, values=[0] * 3), "two layers", "the values of the first"),
        (stack_keys_inside, "two layers", "as if the first had read nothing"),
        (lambda *a: stack_with(*a, order=-1), "two layers", "the last layer first"),
        (stack_adds_to_memory, "two layers", "memory changes from layer to layer"),
        (
            lambda *a: stack_with(*a, keys=[0, 1, 1], values=[0, 1, 1]),
            "three layers",
            "Which index",
        ),
        (stack_in_place, "inputs untouched", "writes into its argument"),
    ],
    "cross_attention.footprint": [
        (lambda *a: foot_right(*a).T, "an honest layer", "a row for each source row"),
        (foot_target, "an honest layer", "Which sequence should be changed"),
        (foot_same_array, "an honest layer", "Did the changed memory reach"),
        (foot_distance, "an honest layer", "how far, or whether"),
        (lambda attend, X, m: attend(X), "an honest layer", "Your test stopped"),
        (lambda *a: foot_right(*a) > 0, "an honest layer", "numbers are asked for"),
        (lambda attend, X, m: np.ones((len(X), len(m))), "hidden pads", "run the layer at all"),
        (foot_any, "a triangle", "Which rows are they"),
        (lambda *a: foot_right(*a, columns=0), "one column", "reads another"),
        (foot_sums, "two that cancel", "while its sum stays"),
        (lambda *a: foot_right(*a, least=1e-4), "faint", "more than rounding"),
        (foot_in_place, "inputs untouched", "writes into its argument"),
    ],
    "layer.norm": [
        (lambda X, g, b, e: ln_axis(X, g, b, e, 0), "rows alone", "a token's or a column's"),
        (lambda X, g, b, e: ln_axis(X, g, b, e, None), "rows alone", "depend on the other tokens"),
        (ln_unbiased, "rows alone", "sum of squares by d, or"),
        (
            lambda X, g, b, e: ln_divides(X, g, b, e, lambda c: c.var(-1, keepdims=True) + e),
            "rows alone",
            "divided by the variance",
        ),
        (
            lambda X, g, b, e: X / np.sqrt(X.var(-1, keepdims=True) + e),
            "rows alone",
            "rows still have a mean",
        ),
        (
            lambda X, g, b, e: X / np.sqrt((X**2).mean(-1, keepdims=True) + e),
            "rows alone",
            "That is the other norm",
        ),
        (
            lambda X, g, b, e: ln_divides(
                X, g, b, e, lambda c: (c**2).sum(-1, keepdims=True) ** 0.5
            ),
            "rows alone",
            "rows have length 1",
        ),
        (lambda X, g, b, e: X - X.mean(-1, keepdims=True), "rows alone", "about the variance"),
        (lambda X, g, b, e: ln_plain(X, e), "gain and shift", "Where do they enter"),
        (lambda X, g, b, e: (ln_plain(X, e) + b) * g, "gain and shift", "Which comes first"),
        (lambda X, g, b, e: ln_plain(X * g + b, e), "gain and shift", "to X"),
        (lambda X, g, b, e: ln_axis(X, g, b, 0.0, -1), "epsilon", "One row is NaN"),
        (
            lambda X, g, b, e: ln_divides(X, g, b, e, lambda c: c.std(-1, keepdims=True) + e),
            "epsilon",
            "To what is it added",
        ),
        (lambda X, g, b, e: ln(X, g, b, 1e-5), "rows alone", "Where does the argument enter"),
        (
            lambda X, g, b, e: ln_axis(X, g, b, e, 1),
            "a batch in front",
            "Which number has the last",
        ),
        (ln_in_place, "inputs untouched", "writes into its argument"),
    ],
    "layer.repair": [
        (stack_given, "one layer", "Which array may be overwritten"),
        (
            lambda X, a, t, n, times: n(stack_given(X, a, t, n, times)),
            "one layer",
            "to what is a part's answer added",
        ),
        (stack_no_last, "one layer", "before the words are scored"),
        (stack_post, "one layer", "That is post-norm"),
        (stack_bare, "one layer", "The row itself is gone"),
        (stack_after, "one layer", "input or its output"),
        (stack_parallel, "one layer", "what `attend` has added"),
        (lambda X, a, t, n, times: a(X, X), "one layer", "Your code stopped"),
        (stack_norm_inside, "three layers", "in the loop or behind it"),
        (
            lambda X, a, t, n, times: stack_right(X, a, t, n, 1),
            "three layers",
            "How many layers did you run",
        ),
        (stack_nothing, "no layer", "what is left to be done"),
    ],
    "layer.backward": [
        (back_only_root, "one row", "for constants"),
        (back_no_stretch, "one row", "held the variance"),
        (back_no_mean, "one row", "held the mean"),
        (
            lambda X, g, e: norm_back_jacobian(X, g, e) * back_root(X, e),
            "one row",
            "must be divided",
        ),
        (
            lambda X, g, e: norm_back_jacobian(X, g, e) / back_root(X, e),
            "one row",
            "over its square",
        ),
        (back_sums, "one row", "keep the factor 1/d"),
        (back_plus, "one row", "run away from it"),
        (lambda X, g, e: ln_plain(X, e), "one row", "Where does `grad` enter"),
        (lambda X, g, e: g, "one row", "sum of your gradient"),
        (back_all_rows, "several rows", "Over what do they run"),
        (lambda X, g, e: norm_back_jacobian(X, g, 0.0), "epsilon", "Which root divides"),
        (
            lambda X, g, e: norm_back_jacobian(X, g, e) if X.ndim == 2 else back_all_rows(X, g, e),
            "a batch in front",
            "run over the last",
        ),
    ],
    "layer.expose": [
        (lambda part, X: max(others(part, X)) + 1, "an honest LayerNorm", "row itself"),
        (lambda part, X: part @ X, "an honest LayerNorm", "Your test stopped"),
        (lambda part, X: len(X) - 1, "an honest LayerNorm", "whose row may move"),
        (lambda part, X: 0, "the mean over tokens", "count the rows"),
        (lambda part, X: int(max(others(part, X)) > 0), "the mean over tokens", "How many"),
        (lambda part, X: sum(others(part, X)), "the mean over tokens", "does *one* token"),
        (
            lambda part, X: max(others(part, X)) * X.shape[1],
            "the mean over tokens",
            "How many rows are that",
        ),
        (
            lambda part, X: others(part, X, tokens=[-1])[0],
            "the mean of the first row",
            "changed the last token",
        ),
        (lambda part, X: np.mean(others(part, X)), "the mean of the first row", "You averaged"),
        (
            lambda part, X: max(others(part, X, change=lambda x: x + 2)),
            "the neighbour's root",
            "which of a row's two numbers",
        ),
        (lambda part, X: max(others(part, X, least=1e-3)), "a faint leak", "more than rounding"),
        (others_in_place, "inputs untouched", "writes into its argument"),
    ],
    "torch_contract.translate_mask": [
        (
            lambda a, h, layer, f: (layer(np.repeat(a, h, 0)), f(a[:, None])),
            "one sentence",
            "True do",
        ),
        (
            lambda a, h, layer, f: (layer(np.repeat(~a, h, 0)), f(~a[:, None])),
            "one sentence",
            "Does True keep there",
        ),
        (
            lambda a, h, layer, f: (layer(np.repeat(a, h, 0)), f(~a[:, None])),
            "one sentence",
            "Which of the two wants the inverse",
        ),
        (
            lambda a, h, layer, f: (layer(np.repeat(~a, h, 0) * 1.0), f(a[:, None] * 1.0)),
            "one sentence",
            "Which type hides",
        ),
        (
            lambda a, h, layer, f: (layer(np.repeat(~a, h, 0)), f(a[:, None] * 1.0)),
            "one sentence",
            "Your function hides nothing",
        ),
        (
            lambda a, h, layer, f: (layer(np.repeat(~a, h, 0) * 1.0), f(a[:, None])),
            "one sentence",
            "Your layer hides nothing",
        ),
        (
            lambda a, h, layer, f: (layer(np.repeat(~a, h, 0) * 1), f(a[:, None])),
            "one sentence",
            "A mask was refused",
        ),
        (forms_repeated, "three sentences", "what changes faster"),
        (lambda a, h, layer, f: (layer(~a[0]), f(a[:, None])), "three sentences", "to all"),
        (lambda a, h, layer, f: (layer(~a[0]), f(a[0])), "three sentences", "Where are the others"),
        (
            lambda a, h, layer, f: (layer(np.repeat(~a, h, 0)), f(a)),
            "three sentences",
            "Which axis is missing",
        ),
    ],
    "torch_contract.copy_weights": [
        (
            lambda p, o, h: (*(W.swapaxes(1, 2) for W in torch_split(p, o, h)[:3]), o),
            "one head",
            "outputs first",
        ),
        (lambda p, o, h: (*torch_split(p, o, h)[:3], o), "one head", "the last one"),
        (
            lambda p, o, h: (*(W.swapaxes(1, 2) for W in torch_split(p, o, h)[:3]), o.T),
            "one head",
            "must meet X",
        ),
        (lambda p, o, h: torch_blocks(p, o, h, (1, 0, 2)), "one head", "Queries and keys changed"),
        (lambda p, o, h: torch_blocks(p, o, h, (0, 2, 1)), "one head", "Keys and values changed"),
        (lambda p, o, h: (*(W.T for W in np.split(p, 3)), o.T), "one head", "the axis that counts"),
        (lambda p, o, h: torch_split(p, o, h)[:3], "one head", "4 are asked for"),
        (
            lambda p, o, h: (*(W.T.reshape(h, len(o), -1) for W in np.split(p, 3)), o.T),
            "three heads",
            "heads' axis the first one",
        ),
        (torch_dealt, "three heads", "side by side"),
        (torch_by_head, "three heads", "the kind or the head"),
    ],
    "torch_contract.repair_pads": [
        (pooled_as_found, "no pads", "What does True say"),
        (lambda e, X, n: e(X, np.zeros(X.shape[:2], bool)).sum(axis=1), "no pads", "By what is"),
        (lambda e, X, n: e(X, np.zeros(X.shape[:2], bool))[:, 0], "no pads", "first word's row"),
        (lambda e, X, n: e(X, np.zeros(X.shape[:2], bool))[:, -1], "no pads", "last word's row"),
        (
            lambda e, X, n: e(X, np.zeros((len(X), 1, X.shape[1]), bool)).mean(axis=1),
            "no pads",
            "was not content",
        ),
        (pooled_all, "pads", "Which rows does it count"),
        (pooled_with(np.zeros_like), "pads", "have looked at pads"),
        (lambda e, X, n: e(X, np.zeros(X.shape[:2], bool)).mean(axis=1), "pads", "come in twice"),
        (pooled_with(lambda pad: pad, divide=False), "pads", "the division by all places"),
        (pooled_nonzero, "pads", "Which rows does it count"),
    ],
    "torch_contract.batch_test": [
        (lambda f, X: strangers(f, X, keep=True), "an honest layer", "May it move"),
        (lambda f, X: len(X) - 1, "an honest layer", "all the others move"),
        (lambda f, X: len(X), "an honest layer", "all sentences move"),
        (lambda f, X: f(X[0]), "an honest layer", "Your test stopped"),
        (lambda f, X: 0, "the batch is not first", "finds nothing"),
        (
            lambda f, X: int(strangers(f, X) > 0),
            "the batch is not first",
            "How many sentences moved",
        ),
        (
            lambda f, X: strangers(f, X, changed=len(X) - 1),
            "a triangle over sentences",
            "You changed the last sentence",
        ),
        (lambda f, X: strangers(f, X, least=1e-3), "a faint mixture", "How exact is a float64"),
        (strangers_in_place, "inputs untouched", "writes into its argument"),
    ],
    "decoded.from_columns": [
        (lambda *W: W, "one head", "returned them as they came"),
        (lambda *W: tuple(w.T for w in W), "one head", "Which axis counts the heads"),
        (columns_reshaped, "one head", "cut the same row of numbers anew"),
        (lambda *W: (*columns_right(*W)[:3], W[3]), "one head", "the one that writes"),
        (lambda *W: (*W[:3], W[3].T), "one head", "left or right of the other three"),
        (lambda q, k, *W: columns_right(k, q, *W), "one head", "changed places"),
        (lambda *W: tuple(w[0].T for w in W), "one head", "Compare your shapes"),
        (lambda *W: columns_right(*W)[:3], "one head", "4 are asked for"),
        (columns_backwards, "three heads", "Your heads stand in reverse"),
        (columns_first_head, "three heads", "All your heads are the first one"),
    ],
    "decoded.fold_code": [
        (lambda W, b, H: (H, b @ H), "one head, no bias", "Where did the first projection go"),
        (lambda W, b, H: (W[None], b @ H), "one head, no bias", "Where do the heads come in"),
        (lambda W, b, H: (W @ H[0], b @ H[0]), "one head, no bias", "axis that counts the heads"),
        (
            lambda W, b, H: (np.swapaxes(W @ H, 1, 2), b @ H),
            "one head, no bias",
            "stand on their side",
        ),
        (lambda W, b, H: (H @ W, b @ H), "one head, no bias", "which sizes must meet"),
        (lambda W, b, H: W @ H, "one head, no bias", "2 are asked for"),
        (
            lambda W, b, H: (np.stack([W @ H[0]] * len(H)), np.stack([b @ H[0]] * len(H))),
            "three heads",
            "All your heads are the first one",
        ),
        (
            lambda W, b, H: (
                np.hstack(list(W @ H))[None] if len(H) == 1 else np.hstack(list(W @ H)),
                (b @ H) if len(H) == 1 else (b @ H).reshape(-1),
            ),
            "three heads",
            "laid the heads side by side",
        ),
        (lambda W, b, H: (W @ H, np.zeros((len(H), H.shape[2]))), "a bias", "Your bias is zero"),
        (lambda W, b, H: (W @ H, -b @ H), "a bias", "Which sign has it"),
    ],
    "decoded.repair": [
        (heads_twice, "square matrices", "still projected twice"),
        (heads_raw, "square matrices", "Now nothing is projected"),
        (
            lambda a, b, *W: heads_right(a, b, *(np.repeat(w[:1], 3, axis=0) for w in W)),
            "square matrices",
            "All your heads are equal",
        ),
        (lambda a, b, *W: heads_right(a, a, *W), "square matrices", "ask their own sentence"),
        (lambda a, b, *W: heads_right(b, a, *W), "square matrices", "changed places"),
        (
            lambda a, b, q, k, v: heads_right(a, b, q, k, np.stack([np.eye(len(v[0]))] * 3)),
            "square matrices",
            "values are the input itself",
        ),
        (lambda a, b, q, k, v: heads_right(a, b, q, q, v), "square matrices", "Which stack is"),
        (
            lambda *a: np.hstack(list(heads_right(*a))),
            "square matrices",
            "joined the heads already",
        ),
        (heads_square, "all sizes differ", "inner sizes that do not meet"),
    ],
    "decoded.double_test": [
        (lambda f, d: d, "the paper's layer", "returned the width of X"),
        (rank_first_head, "the paper's layer", "looked at one head"),
        (rank_one_token, "the paper's layer", "How many different x did you try"),
        (lambda f, d: f @ np.eye(d), "the paper's layer", "Your test stopped"),
        (rank_columns, "a narrow step", "Can they not depend on each other"),
        (rank_sum, "a narrow step", "see the same two numbers"),
        (rank_with_bias, "a bias", "one dimension too many"),
    ],
    "tokens.cut": [
        (cut_shortest, "a word that is in the list", "Which end do you try first?"),
        (cut_marks_all, "a word that is in the list", "When does a piece carry"),
        (lambda w, v: list(cut_shortest(w, v))[:-1], "a word that is in the list", "loop end?"),
        (lambda w, v: cut_right(w, v)[0] + 1, "a word that is in the list", "longest piece"),
        (cut_whole_only, "pieces inside", "Your code stopped"),
        (cut_no_mark, "pieces inside", "without ##"),
        (cut_first, "pieces inside", "stop behind the first piece"),
        (cut_from_the_right, "short against long", "At which end does the rule begin?"),
        (cut_fewest, "short against long", "does not count pieces"),
        (cut_unknown_rest, "no piece fits", "made the rest unknown"),
        (lambda w, v: cut_unknown_rest(w, v, False), "no piece fits", "nobody will know"),
        (cut_key_error, "no piece fits", "Where would `end` go?"),
        (cut_writes, "inputs untouched", "`vocabulary` is not what it was"),
    ],
    "tokens.one_hot": [
        (lambda ids, n: hot_right(ids, n).T, "one sentence", "Which axis of H"),
        (lambda ids, n: hot_right(ids - 1, n), "one sentence", "From which number"),
        (lambda ids, n: np.eye(n)[: len(ids)], "one sentence", "into column t"),
        (lambda ids, n: hot_right(ids, n) * ids[..., None], "one sentence", "wrote the id"),
        (lambda ids, n: hot_right(ids, n + 1), "one sentence", "a column too many"),
        (lambda ids, n: hot_right(ids, max(ids) + 1), "one sentence", "how wide it must be"),
        (lambda ids, n: hot_right(ids, n).sum(0), "one sentence", "how often each id"),
        (lambda ids, n: 1 - hot_right(ids, n), "one sentence", "Multiply your H"),
        (hot_first, "a token twice", "got no 1"),
        (lambda ids, n: hot_right(ids, n).reshape(-1, n), "a batch in front", "one long sentence"),
        (hot_loop, "a batch in front", "count on one axis?"),
    ],
    "tokens.table_gradient": [
        (table_by_place, "no token twice", "Which row did token t read?"),
        (lambda ids, G, n: G, "no token twice", "That is G itself"),
        (lambda ids, G, n: -table_right(ids, G, n), "no token twice", "signs are turned"),
        (lambda ids, G, n: table_right(ids, G, n).T, "no token twice", "To which?"),
        (table_careless, "a token twice", "the last place only"),
        (table_first, "a token twice", "the first place only"),
        (table_mean, "a token twice", "how often the token comes"),
        (table_of_last, "a batch in front", "Only the last sentence"),
        (table_each, "a batch in front", "How many tables"),
        (table_one_axis, "a batch in front", "ids of one axis"),
    ],
    "tokens.alone": [
        (know_repeats, "an honest table", "tokens that come twice"),
        (know_first_row, "an honest table", "all rows with the first"),
        (lambda embedder, ids: embedder(ids[0]).shape[1], "an honest table", "With what do you"),
        (lambda embedder, ids: len(embedder(list(ids))[0, 0, :]), "an honest table", "a single id"),
        (know_twins, "the place is written in", "knows its place"),
        (lambda e, i: bool(know_right(e, i)) * 1.0, "the place is written in", "How many rows"),
        (lambda e, i: know_right(e, i) / len(i), "the place is written in", "a share"),
        (
            lambda e, i: len(set(i[know_flags(e, i)].tolist())),
            "the place is written in",
            "You counted tokens",
        ),
        (know_shuffled, "the mean is mixed in", "a mean does not mind"),
        (
            lambda e, i: int(np.isin(i, i[know_flags(e, i)]).sum()),
            "the second time",
            "Is its first row changed?",
        ),
        (lambda e, i: int(know_flags(e, i, 1e-4).sum()), "a faint neighbour", "small differences"),
        (know_one_column, "one column", "first column"),
    ],
    "dot_product.loop": [
        (loop_adds_entries, "one entry each", "added the two entries"),
        (loop_squares, "one entry each", "x with itself"),
        (loop_cosine, "one entry each", "divide by the lengths"),
        (loop_stops_short, "one entry each", "your sum is still 0"),
        (loop_prints, "one entry each", "returned None"),
        (loop_keeps_last, "every entry", "add to the total, or does it replace it"),
        (loop_returns_inside, "every entry", "How far to the right does `return` stand"),
        (loop_stops_short_but_not_at_one, "every entry", "Where does your `range` end"),
        (loop_skips_first, "every entry", "At which number does your `range` begin"),
        (loop_all_pairs, "every entry", "Which pairs should meet"),
        (loop_mean, "every entry", "mean of the products"),
        (loop_reverse, "every entry", "Which index do both need"),
        (loop_products, "every entry", "What turns them into one number"),
        (loop_sizes, "signs", "count as positive"),
        (loop_only_positive, "signs", "negative products are missing"),
    ],
    "dot_product.scores": [
        (lambda q, k: q @ k, "one query, one key", "Which axis of k has the width"),
        (
            lambda q, k: q @ k.T / (np.linalg.norm(q) * np.linalg.norm(k)),
            "one query, one key",
            "This is a cosine",
        ),
        (
            lambda q, k: q @ np.swapaxes(k, -1, -2) / np.sqrt(k.shape[-1]),
            "one query, one key",
            "root of the width",
        ),
        (lambda q, k: q @ q.T, "one query, one key", "query with itself"),
        (softmaxed, "one query, one key", "before the softmax"),
        (lambda q, k: q * k, "one query, one key", "products of the entries"),
        (lambda q, k: np.outer(q, k), "one query, one key", "every entry of q by every entry"),
        (lambda q, k: k @ q.T, "one query, several keys", "stand in a column"),
        (lambda q, k: np.sum(q * k, keepdims=True), "one query, several keys", "Over which axis"),
        (scores_without_queries_axis, "one query, several keys", "axis of the queries is gone"),
        (scores_paired, "one query, several keys", "met key 0 only"),
        (scores_first_row, "every pair", "row of query 0"),
        (scores_reshaped, "one query, several keys", "keys get torn apart"),
        (lambda q, k: q @ k.T, "a stack of sentences", "turns all axes round"),
        (scores_first_sentence, "a stack of sentences", "keys of other sentences"),
        (scores_flat, "a stack of sentences", "counts on two"),
    ],
    "dot_product.cosine": [
        (lambda x, y: np.arccos(x @ y), "length one", "angle itself"),
        (lambda x, y: 1 - cosine(x, y), "length one", "a distance"),
        (lambda x, y: x @ y / (length(x) + length(y)), "length one", "sum of the lengths"),
        (lambda x, y: np.mean(x * y), "length one", "number of entries"),
        (lambda x, y: x @ y, "any length", "This is the dot product"),
        (lambda x, y: x @ y / (x @ x) / (y @ y), "any length", "Which root is missing"),
        (lambda x, y: x @ y / length(x), "any length", "length of y is still in"),
        (lambda x, y: x @ y / length(y), "any length", "length of x is still in"),
        (lambda x, y: abs(x @ y) / length(x) / length(y), "beyond a right angle", "sign go"),
        (lambda x, y: max(0, cosine(x, y)), "beyond a right angle", "stops at 0"),
        (
            lambda x, y: x @ y / (np.linalg.norm(x) * np.linalg.norm(y)),
            "a vector without direction",
            "gave nan",
        ),
        (cosine_zero, "a vector without direction", "Is the zero vector at a right angle"),
        (cosine_assert, "a vector without direction", "Which error is yours"),
    ],
    "dot_product.nearest": [
        (lambda i, X: (X @ X[i]).argmax(), "the largest of the others", "left out of the search"),
        (lambda i, X: (X @ X[i]).argmin(), "the largest of the others", "smallest dot product"),
        (nearest_distance, "the largest of the others", "smallest distance"),
        (nearest_cosine, "the largest of the others", "largest cosine"),
        (nearest_score, "the largest of the others", "At which row does it stand"),
        (nearest_deleted, "the index in X", "moved up by one"),
        (nearest_earlier, "the index in X", "those after it"),
        (nearest_zeroed, "all others negative", "below every score"),
        (nearest_by_size, "all others negative", "without their signs"),
        (nearest_changes_input, "inputs untouched", "writes into its argument"),
    ],
    "dot_product.repair": [
        (cosines_as_printed, "one row each", "with a single row, axis 0"),
        (lambda q, k: unit(q, 0) @ unit(k, 0).T, "one row each", "count equal signs"),
        (lambda q, k: q @ k.T, "one row each", "This is the dot product"),
        (lambda q, k: unit(q) @ k.T, "one row each", "How long is the key"),
        (lambda q, k: q @ unit(k).T, "one row each", "How long is the query"),
        (
            lambda q, k: q @ k.T / np.outer((q * q).sum(-1), (k * k).sum(-1)),
            "one row each",
            "Which root is missing",
        ),
        (
            lambda q, k: q @ k.T / np.outer(abs(q).sum(-1), abs(k).sum(-1)),
            "one row each",
            "How long is (3, 4)",
        ),
        (lambda q, k: unit(q) @ unit(k, None).T, "every pair", "length of the whole table"),
        (lambda q, k: unit(q, None) @ unit(k, None).T, "every pair", "How many lengths"),
        (
            lambda q, k: unit(q) @ (unit(k, 0) if len(k) > 1 else unit(k)).T,
            "every pair",
            "columns of your k",
        ),
        (lambda q, k: unit(k) @ unit(q).T, "every pair", "run down the rows"),
        (cosines_no_keepdims, "every pair", "Which axis did your sum remove"),
        (cosines_from_the_front, "a stack of tables", "axis 1 counts the rows"),
        (lambda q, k: unit(q) @ unit(k).T, "a stack of tables", "turns all of them"),
        (cosines_in_place, "inputs untouched", "writes into its argument"),
    ],
    "dot_product.expose": [
        (felt_other_way, "an honest cosine", "not turn one round"),
        (felt_shifted, "an honest cosine", "leave the directions as they were"),
        (lambda score, x, y: 1, "an honest cosine", "With what did you compare"),
        (lambda score, x, y: score(x) - score(y), "an honest cosine", "what did you hand it"),
        (felt_by_cosine, "an honest angle", "compared it with a cosine of your own"),
        (felt_by_range, "an honest angle", "Must a score lie between"),
        (
            lambda score, x, y: felt(score, x, y, stretch_y=False),
            "the length of y left in",
            "Did you stretch y",
        ),
        (
            lambda score, x, y: felt(score, x, y, stretch_x=False),
            "the length of x left in",
            "Did you stretch x",
        ),
        (felt_both_at_once, "divided by x twice", "one change undid the other"),
        (
            lambda score, x, y: 1.0 * (felt(score, x, y) > 0),
            "divided by x twice",
            "How many of the two",
        ),
        (
            lambda score, x, y: felt(score, x, y, factors=(2.0, 10.0)),
            "honest only when long",
            "much shorter",
        ),
        (felt_in_place, "inputs untouched", "writes into its argument"),
    ],
    "projections.twice": [
        (lambda W_1, W_2: W_1 + W_2, "one column", "added the two matrices"),
        (lambda W_1, W_2: 0.5 * (W_1 + W_2), "one column", "mean of the matrices"),
        (lambda W_1, W_2: W_1, "one column", "W_1 alone"),
        (lambda W_1, W_2: W_2, "one column", "W_2 alone"),
        (lambda W_1, W_2: W_2 @ W_1, "order", "lets X meet W_2 first"),
        (lambda W_1, W_2: W_1 * W_2, "order", "entry by entry"),
        (lambda W_1, W_2: W_1.T @ W_2.T, "order", "turned both"),
        (lambda W_1, W_2: W_2.T @ W_1.T, "order", "is turned round"),
        (lambda W_1, W_2: W_1 @ W_2.T, "order", "turned W_2"),
        (twice_first_shape, "three widths", "has the shape of W_1"),
        (lambda W_1, W_2: (W_1, W_2), "one column", "one is asked for"),
    ],
    "projections.project_qkv": [
        (lambda a, b, Q, K, V: (b @ K, a @ Q, b @ V), "self-attention", "their order is not"),
        (lambda a, b, Q, K, V: (a @ K, b @ K, b @ V), "self-attention", "keys' matrix"),
        (lambda a, b, Q, K, V: (a @ Q, b @ Q, b @ V), "self-attention", "queries' matrix"),
        (lambda a, b, Q, K, V: (a @ Q, b @ K, b @ K), "self-attention", "values are the keys"),
        (lambda a, b, Q, K, V: (a @ Q, b @ K, b @ K @ V), "self-attention", "from the keys"),
        (lambda a, b, Q, K, V: (a @ Q, b @ K, b), "self-attention", "input as it came"),
        (lambda a, b, Q, K, V: (a @ Q.T, b @ K.T, b @ V.T), "self-attention", "(out, in)"),
        (lambda a, b, Q, K, V: (a.T @ Q, b.T @ K, b.T @ V), "self-attention", "turned X"),
        (
            lambda a, b, Q, K, V: (a @ Q / np.sqrt(Q.shape[-1]), b @ K, b @ V),
            "self-attention",
            "root of d_k",
        ),
        (lambda a, b, Q, K, V: a @ Q, "self-attention", "3 are asked for: q, k, v"),
        (lambda a, b, Q, K, V: (a @ Q, b @ K), "self-attention", "returned 2 things"),
        (lambda a, b, Q, K, V: (a @ Q, a @ K, b @ V), "two inputs", "Who wants to be found"),
        (lambda a, b, Q, K, V: (a @ Q, b @ K, a @ V), "two inputs", "sequence hands over"),
        (lambda a, b, Q, K, V: (a @ Q, a @ K, a @ V), "two inputs", "What is X_kv for"),
        (lambda a, b, Q, K, V: (b @ Q, b @ K, b @ V), "two inputs", "asks itself"),
        (lambda a, b, Q, K, V: (b @ Q, a @ K, a @ V), "two inputs", "changed places"),
        (qkv_one_width, "two widths", "one width for both"),
        (qkv_no_batch, "a batch in front", "counts on two axes"),
    ],
    "projections.rows": [
        (lambda X, W: X[0] @ W, "one token", "Where are the rows collected"),
        (lambda X, W: X @ W.T, "one token", "(out, in)"),
        (rows_centred, "one token", "is a mean over the tokens taken away"),
        (rows_range, "one token", "Does your `range` stop before"),
        (
            lambda X, W: np.array([x / np.linalg.norm(x) @ W for x in X]),
            "one token",
            "length 1 first",
        ),
        (rows_first, "every token", "Where does i come in"),
        (rows_cumulative, "every token", "set back to zero"),
        (lambda X, W: np.array([X.mean(0) @ W for _ in X]), "every token", "mean of all tokens"),
        (lambda X, W: np.array([x @ W for x in X[::-1]]), "every token", "reverse"),
        (lambda X, W: np.stack([x @ W for x in X], axis=1), "one token", "What does the matrix"),
        (rows_plus_mean, "one token lost", "spoiled every row"),
        (lambda X, W: np.array([np.nan_to_num(x) @ W for x in X]), "one token lost", "mend it"),
        (rows_in_place, "inputs untouched", "writes into its argument"),
    ],
    "projections.repair": [
        (packed_as_printed, "one sequence", "begin with the keys"),
        (packed_thirds, "one sequence", "as wide as a key"),
        (packed_from_the_end, "one sequence", "How many columns has a value"),
        (
            lambda a, b, W, d: [packed_right(a, b, W, d)[n] for n in (1, 0, 2)],
            "one sequence",
            "Which matrix stands first",
        ),
        (
            lambda a, b, W, d: [packed_right(a, b, W, d)[n] for n in (0, 1, 1)],
            "one sequence",
            "never read",
        ),
        (lambda a, b, W, d: np.split(W, [d, 2 * d], axis=1), "one sequence", "multiplied with"),
        (packed_mixed(0, 0, 0), "two sequences", "Where does X_kv come in"),
        (packed_mixed(1, 1, 1), "two sequences", "Who asks here"),
        (packed_mixed(0, 0, 1), "two sequences", "Who wants to be found"),
        (packed_mixed(0, 1, 0), "two sequences", "hands something over"),
        (packed_mixed(1, 0, 0), "two sequences", "have changed places"),
        (packed_tokens, "a batch in front", "counts tokens"),
        (packed_two_axes, "a batch in front", "counts on two axes"),
    ],
    "projections.expose": [
        (fault_own_rows, "right projections", "Which rows must stay"),
        (fault_sides, "right projections", "each array's own"),
        (fault_linear, "right projections", "which have a bias each"),
        (fault_no_third, "right projections", "returns three"),
        (lambda layer, a, b: fault_right(layer, a, b)[0], "right projections", "mixes, strays"),
        (fault_last, "values that take in the row before", "who comes after it"),
        (fault_rows, "values that take in the row before", "You counted rows"),
        (fault_stray([0]), "keys from X_q", "when X_q changes"),
        (fault_stray([1, 2]), "queries from X_kv", "look at q"),
        (fault_yes, "the mean taken off", "How many of the three arrays are"),
        (
            lambda layer, a, b: fault_right(layer, a, b, least=1e-2),
            "a faint mixture",
            "more than rounding",
        ),
        (fault_in_place, "inputs untouched", "writes into its argument"),
    ],
    "look_up.soft": [
        (lambda q, k, v, b: v[[np.abs(q - k.T).argmin()]], "one query", "nearest key"),
        (lambda q, k, v, b: v.mean(0)[None], "one query", "mean of all values"),
        (
            lambda q, k, v, b: share(squares(q, k) / (2 * b * b)) @ v,
            "one query",
            "farthest key has your largest",
        ),
        (lambda q, k, v, b: share(-squares(q, k) / b**2) @ v, "one query", "twice as fast"),
        (lambda q, k, v, b: share(-squares(q, k) / (2 * b)) @ v, "one query", "is not. In which"),
        (lambda q, k, v, b: soft_right(q, k, v, 1.0), "one query", "bandwidth of 1"),
        (
            lambda q, k, v, b: share(-np.abs(q - k.T) / (2 * b * b)) @ v,
            "one query",
            "took the distance itself",
        ),
        (
            lambda q, k, v, b: np.exp(-((q - k.T) ** 2) / (2 * b * b)) @ v,
            "one query",
            "added up the says",
        ),
        (lambda q, k, v, b: share(dots(q, k) / b**2) @ v, "one query", "took dot products"),
        (soft_one_query, "several queries, wider values", "Which axis of the weights"),
        (soft_over_queries, "several queries, wider values", "run over the queries"),
        (
            lambda q, k, v, b: share(-((q[:, :1] - k[:, 0]) ** 2) / (2 * b * b)) @ v,
            "keys with several columns",
            "first column of the keys",
        ),
        (soft_sum_first, "keys with several columns", "before you squared"),
        (
            lambda q, k, v, b: share(-(np.abs(q[:, None] - k).sum(-1) ** 2) / (2 * b * b)) @ v,
            "keys with several columns",
            "absolute differences",
        ),
        (
            lambda q, k, v, b: share(-((q - k.T) ** 2) / (2 * b * b)) @ v,
            "keys with several columns",
            "Which line expects one",
        ),
        (soft_plain, "far from every key", "All your says round to 0"),
        (
            lambda q, k, v, b: np.nan_to_num(soft_plain(q, k, v, b)),
            "far from every key",
            "You returned zeros",
        ),
        (soft_two_axes, "a batch in front", "Which line counts axes from the front"),
        (soft_in_place, "inputs untouched", "writes into its argument"),
    ],
    "look_up.left_out": [
        (lambda k, v, b: share(left_scores(k, b)) @ v, "five pairs", "Every key finds itself"),
        (
            lambda k, v, b: left_hidden(k, v, b, ~np.eye(len(k), dtype=bool)),
            "five pairs",
            "values themselves",
        ),
        (
            lambda k, v, b: share(left_scores(k, b)) * (1 - np.eye(len(k))) @ v,
            "five pairs",
            "after the softmax",
        ),
        (
            lambda k, v, b: (1 - np.eye(len(k))) @ v / (len(k) - 1),
            "five pairs",
            "Where does the distance",
        ),
        (lambda k, v, b: np.array(left_right(k, v, b)) - v, "five pairs", "returned the errors"),
        (lambda k, v, b: left_right(k, v, b**0.5), "five pairs", "Which power of b"),
        (
            lambda k, v, b: share(np.where(np.eye(len(k)), -np.inf, -left_scores(k, b))) @ v,
            "five pairs",
            "farthest of the others",
        ),
        (
            lambda k, v, b: left_hidden(k, v, b, squares(k, k) == 0),
            "two keys are equal",
            "the twin as well",
        ),
        (left_again, "one far away", "divided again"),
        (
            lambda k, v, b: np.nan_to_num(left_again(k, v, b)),
            "one far away",
            "Your guess for the far key is 0",
        ),
        (left_in_place, "inputs untouched", "writes into its argument"),
    ],
    "look_up.one_length": [
        (lambda q, k, v, b: share(dots(q, k) / b) @ v, "keys on a circle", "below the dot product"),
        (lambda q, k, v, b: share(dots(q, k) / (2 * b * b)) @ v, "keys on a circle", "How often"),
        (lambda q, k, v, b: share(dots(q, k)) @ v, "keys on a circle", "Which temperature"),
        (lambda q, k, v, b: share(dots(q, k) * b**2) @ v, "keys on a circle", "hot or cold"),
        (
            lambda q, k, v, b: share(dots(q, k) / 2**0.5) @ v,
            "keys on a circle",
            "root of the width",
        ),
        (
            lambda q, k, v, b: share(dots(unit_rows(q), k) / b**2) @ v,
            "keys on a circle",
            "brought the queries to length 1",
        ),
        (
            lambda q, k, v, b: share(dots(q, k) / b**2) @ v,
            "keys of several lengths",
            "Long keys are too loud",
        ),
        (
            lambda q, k, v, b: share((dots(q, k) + half(k)) / b**2) @ v,
            "keys of several lengths",
            "louder still",
        ),
        (
            lambda q, k, v, b: share((dots(q, k) - 2 * half(k)) / b**2) @ v,
            "keys of several lengths",
            "twice as large",
        ),
        (
            lambda q, k, v, b: share((dots(q, k) - np.sqrt(2 * half(k)) / 2) / b**2) @ v,
            "keys of several lengths",
            "You took the length",
        ),
        (
            lambda q, k, v, b: share(dots(q, unit_rows(k)) / b**2) @ v,
            "keys of several lengths",
            "keys to one length",
        ),
        (
            lambda q, k, v, b: share(dots(q, k) / b**2 - half(k)) @ v,
            "keys of several lengths",
            "bandwidth of 1",
        ),
        (dot_flat, "a batch in front", "works for two axes only"),
    ],
    "look_up.order_test": [
        (lambda f, q, k, v: 1, "an honest look-up", "stay with its key"),
        (
            lambda f, q, k, v: float(np.abs(f(q, k[::-1], v) - f(q, k, v)).max() > 1e-9),
            "an honest look-up",
            "stay with its key",
        ),
        (lambda f, q, k, v: f @ q, "an honest look-up", "Your test stopped"),
        (
            lambda f, q, k, v: float(np.abs(f(q[::-1], k, v) - f(q, k, v)).max() > 1e-9),
            "an honest look-up",
            "stay with its key",
        ),
        (lambda f, q, k, v: 0, "later pairs count more", "change places"),
        (
            lambda f, q, k, v: order_moves(f, q, k, v, np.arange(len(k))[::-1]),
            "the middle counts more",
            "the same from both ends",
        ),
        (
            lambda f, q, k, v: order_moves(f, q, k, v, [1, 0, *range(2, len(k))]),
            "the last pair is forgotten",
            "Who stands last",
        ),
        (
            lambda f, q, k, v: order_moves(f, q, k, v, np.roll(np.arange(len(k)), 1)),
            "a ring",
            "a new neighbour",
        ),
        (order_some(order_swaps, 1e-2), "a faint order", "for you to count it"),
    ],
    "scale.divide": [
        (lambda q, k: bare(q, k) / np.sqrt(len(q)), "one head", "number of queries"),
        (lambda q, k: bare(q, k) / np.sqrt(len(k)), "one head", "number of keys"),
        (bare, "one head", "bare dot products"),
        (lambda q, k: bare(q, k) / q.shape[-1], "one head", "d_k itself"),
        (lambda q, k: bare(q, k) * np.sqrt(q.shape[-1]), "one head", "multiply by the root"),
        (lambda q, k: bare(q, k) / q.shape[-1] ** 0.25, "one head", "fourth root"),
        (
            lambda q, k: bare(q, k) / np.linalg.norm(q, axis=-1, keepdims=True),
            "one head",
            "own length",
        ),
        (lambda q, k: bare(q, k) / 8, "one head", "How many products"),
        (lambda q, k: q @ k.T / np.sqrt(q.shape[1]), "a batch", "Which two axes"),
        (lambda q, k: bare(q, k) / np.sqrt(q.shape[1]), "a batch", "took axis 1"),
        (
            lambda q, k: bare(q, k) / np.sqrt(q.shape[0] if q.ndim > 2 else q.shape[1]),
            "a batch",
            "root of the batch",
        ),
        (divided_in_place, "inputs untouched", "writes into its argument"),
    ],
    "scale.means": [
        (lambda mq, vq, mk, vk, d: d * vq * vk, "both means 0", "That is the variance"),
        (lambda mq, vq, mk, vk, d: (vq * vk) ** 0.5, "both means 0", "spread of one product"),
        (lambda mq, vq, mk, vk, d: d * (vq * vk) ** 0.5, "both means 0", "What adds up"),
        (lambda mq, vq, mk, vk, d: (d * (vq + vk)) ** 0.5, "both means 0", "right for a sum"),
        (lambda mq, vq, mk, vk, d: d**0.5 * vq * vk, "both means 0", "for standard deviations"),
        (lambda mq, vq, mk, vk, d: d**0.5, "both means 0", "variances of 1"),
        (lambda mq, vq, mk, vk, d: (d * vq * vk) ** 0.5, "one mean", "does not know the means"),
        (
            lambda mq, vq, mk, vk, d: (d * (vq * vk + vq * abs(mk) + vk * abs(mq))) ** 0.5,
            "one mean",
            "fourfold",
        ),
        (
            lambda mq, vq, mk, vk, d: (d * (vq * vk + vk * mk**2 + vq * mq**2)) ** 0.5,
            "one mean",
            "Whose spread",
        ),
        (
            lambda mq, vq, mk, vk, d: (d * (vq + mq**2) * (vk + mk**2)) ** 0.5,
            "two means",
            "must be taken off",
        ),
        (
            lambda mq, vq, mk, vk, d: (d * (vq * vk + vq * mk**2)) ** 0.5,
            "two means",
            "mean of the queries",
        ),
    ],
    "scale.backward": [
        (lambda w, g, k, f: f * g @ k, "one query", "derivative of the softmax"),
        (lambda w, g, k, f: f * (w * g) @ k, "one query", "nothing could move"),
        (
            lambda w, g, k, f: f * (w * (g - g.mean(-1, keepdims=True))) @ k,
            "one query",
            "plain mean",
        ),
        (lambda w, g, k, f: f * (w * (1 - w) * g) @ k, "one query", "used the diagonal"),
        (
            lambda w, g, k, f: f * (g - (w * g).sum(-1, keepdims=True)) @ k,
            "one query",
            "without weight",
        ),
        (lambda w, g, k, f: back_right(w, g, k, 1), "one query", "off by the factor"),
        (lambda w, g, k, f: back_right(w, g, k, f * f), "one query", "in it twice"),
        (lambda w, g, k, f: back_right(w, g, k, 1 / f), "one query", "divide by the factor"),
        (lambda w, g, k, f: w * (g - (w * g).sum(-1, keepdims=True)), "one query", "Which keys"),
        (lambda w, g, k, f: f * (w * (g - (w * g).sum())) @ k, "several queries", "over all"),
        (
            lambda w, g, k, f: f * (w * (g - (w * g).sum(1, keepdims=True))) @ k,
            "a batch",
            "Axis 1 is the keys",
        ),
        (back_in_place, "inputs untouched", "writes into its argument"),
    ],
    "scale.expose": [
        (
            lambda f: np.log2(2 * factor_at(f, 6) / factor_at(f, 3)),
            "the paper's",
            "plus one half",
        ),
        (lambda f: factor_at(f, 8) / factor_at(f, 4), "the paper's", "ratio of two factors"),
        (lambda f: factor_at(f, 16), "the paper's", "factor at one width"),
        (lambda f: np.log(factor_at(f, 8) / factor_at(f, 4)), "the paper's", "logarithm"),
        (lambda f: f(np.ones((3, 4)), np.ones((5, 7))), "the paper's", "Which shapes"),
        (lambda f: -0.5, "no factor", "divides by nothing"),
        (lambda f: -0.5 if factor_at(f, 8) < 1 else 0.0, "one over d_k", "two divisors"),
        (lambda f: np.log(factor_at(f, 64)) / np.log(64), "a fixed number", "one width"),
        (
            lambda f: np.log2(factor_at(f, 8, 8, 8) / factor_at(f, 4, 4, 4)),
            "a number of tokens",
            "must stay fixed",
        ),
    ],
    "scale.fold": [
        (lambda W, f, t, r, n: (W, W / W.shape[-1] ** 0.5), "the start", "you returned W_Q. What"),
        (lambda W, f, t, r, n: (W, W), "the start", "returned W_Q twice"),
        (lambda W, f, t, r, n: (W / W.shape[-1],) * 2, "the start", "divided by d_k"),
        (lambda W, f, t, r, n: (W * W.shape[-1] ** 0.5,) * 2, "the start", "You multiplied"),
        (lambda W, f, t, r, n: (W / len(W) ** 0.5,) * 2, "the start", "width of the input"),
        (lambda W, f, t, r, n: W / W.shape[-1] ** 0.5, "the start", "2 are asked for"),
        (lambda *a: (fold_absorbed(*a),) * 2, "one plain step", "took the same step"),
        (lambda *a: (fold_kept(*a),) * 2, "one plain step", "the same short step"),
        (
            lambda *a: (fold_kept(*a, chain=False), fold_absorbed(*a)),
            "one plain step",
            "straight into W_Q",
        ),
        (
            lambda *a: (fold_kept(*a, divided=False), fold_absorbed(*a)),
            "one plain step",
            "slope at W_Q itself",
        ),
        (lambda *a: fold_right(*a)[::-1], "one plain step", "each other's place"),
        (lambda W, f, t, r, n: fold_right(W, f, t, -r, n), "one plain step", "uphill"),
        (lambda W, f, t, r, n: fold_right(W, f, t, r, min(n, 1)), "three plain steps", "after one"),
        (fold_first_slope, "three plain steps", "slope at the start"),
        (
            lambda W, f, t, r, n: fold_right(W, f, lambda g: g, r, n),
            "three steps by sign",
            "Where is `step`",
        ),
        (fold_braked, "three steps by sign", "whatever the rule"),
        (lambda *a: fold_right(*a, axis=1), "all heads at once", "read axis 1"),
        (
            lambda *a: fold_right(*a, axis=0 if a[0].ndim > 2 else 1),
            "all heads at once",
            "number of heads",
        ),
        (fold_in_place, "inputs untouched", "writes into its argument"),
    ],
    "learning.two_maps": [
        (lambda Q, K, V, W: (Q.T @ K, V @ W), "one head", "d_k by d_k"),
        (lambda Q, K, V, W: (K @ Q.T, V @ W), "one head", "map turned round"),
        (lambda Q, K, V, W: (Q @ K.T / Q.shape[1] ** 0.5, V @ W), "one head", "root into the map"),
        (
            lambda Q, K, V, W: (Q @ K.T / Q.shape[0] ** 0.5, V @ W),
            "one head",
            "root of the width of x",
        ),
        (lambda Q, K, V, W: (Q @ K.T, W @ V), "one head", "d_v by d_v"),
        (lambda Q, K, V, W: (Q @ K.T, (V @ W).T), "one head", "second map is turned"),
        (lambda Q, K, V, W: (Q @ K.T, V @ W.T), "one head", "which W_V and"),
        (lambda Q, K, V, W: (Q @ K, V @ W), "one head", "Which axis do W_Q and W_K share"),
        (lambda Q, K, V, W: (V @ W, Q @ K.T), "one head", "What stands between"),
        (lambda Q, K, V, W: Q @ K.T, "one head", "2 are asked for"),
        (maps_into_square, "another source", "different widths here"),
        (lambda Q, K, V, W: (Q @ K.T, V @ W), "all heads", "Which axes should be swapped"),
        (maps_interleaved, "all heads", "like cards"),
        (
            lambda *four: tuple(m.sum(0) if m.ndim > 2 else m for m in maps_right(*four)),
            "all heads",
            "softmax stand for",
        ),
        (maps_what_added, "all heads", "added what the heads move"),
        (maps_backwards, "all heads", "from the bottom"),
    ],
    "learning.disguise": [
        (
            lambda Q, K, V, W, A, B: (Q @ A, K @ inverse(A), V @ B, inverse(B) @ W),
            "turned",
            "beside A then",
        ),
        (
            lambda Q, K, V, W, A, B: (Q @ A, K @ A.T, V @ B, inverse(B) @ W),
            "turned",
            "or its transpose",
        ),
        (
            lambda Q, K, V, W, A, B: (Q @ A, K @ inverse(A).T, V @ B, B @ W),
            "turned",
            "both got B",
        ),
        (
            lambda Q, K, V, W, A, B: (Q @ A, K @ inverse(A).T, V @ B, inverse(B).T @ W),
            "turned",
            "its inverse turned round",
        ),
        (
            lambda Q, K, V, W, A, B: (Q @ inverse(A).T, K @ A, V @ B, inverse(B) @ W),
            "stretched",
            "gave A to W_K",
        ),
        (
            lambda Q, K, V, W, A, B: (Q @ A, K @ inverse(A).T, V, W),
            "turned",
            "as they were",
        ),
        (lambda Q, K, V, W, A, B: (Q, K, V, W), "turned", "Which of your four differs"),
        (
            lambda Q, K, V, W, A, B: (Q @ A, K @ inverse(A).T, V @ B, W @ inverse(B)),
            "turned",
            "which side of W_O",
        ),
        (
            lambda Q, K, V, W, A, B: (Q @ A, K @ A, V @ B, inverse(B) @ W),
            "stretched",
            "doubles a query",
        ),
        (
            lambda Q, K, V, W, A, B: (Q @ A, K @ inverse(A).T, V @ B, B.T @ W),
            "stretched",
            "does it undo a stretch",
        ),
        (disguise_by_columns, "any basis", "Multiply your new pair out"),
    ],
    "learning.backward": [
        (learn_no_mean, "a single token", "no score can matter"),
        (learn_straight, "a single token", "between weights and scores"),
        (learn_rows, "a single token", "become the matrix's"),
        (
            lambda *args: tuple(-g for g in learn_loops(*args)),
            "a single token",
            "the sign is not",
        ),
        (lambda *args: learn_loops(*args)[:2], "a single token", "returned 2 things"),
        (learn_plain_mean, "several tokens", "the plain mean"),
        (learn_columns, "several tokens", "Over which axis"),
        (learn_unweighted, "several tokens", "By which factor"),
        (lambda *args: learn_root(*args, width=1), "several tokens", "scores divided by"),
        (
            lambda X, Q, K, V, G: learn_root(X, Q, K, V, G, width=X.shape[1]),
            "several tokens",
            "root of d_model",
        ),
        (
            lambda X, Q, K, V, G: learn_root(X, Q, K, V, G, width=V.shape[1]),
            "several tokens",
            "root of d_v",
        ),
        (learn_swapped, "several tokens", "its derivative by q"),
        (learn_keys_flat, "several tokens", "A key hears from all"),
        (learn_values_flat, "several tokens", "A value hears from all"),
    ],
    "learning.repair": [
        (train_in_turn, "one step", "W_K is not: its gradient"),
        (train_in_turn_back, "one step", "W_Q is not: its gradient"),
        (lambda Q, K, g, r, s: train_right(Q, K, g, -r, s), "one step", "goes uphill"),
        (lambda Q, K, g, r, s: train_right(Q, K, g, 1.0, s), "one step", "Where is the rate"),
        (train_queries_only, "one step", "W_K did not move"),
        (lambda Q, K, g, r, s: train_right(Q, K, g, r, 1), "three steps", "after the first"),
        (train_returns_inside, "three steps", "after the first"),
        (train_once, "three steps", "use the first gradient"),
        (train_in_place, "inputs untouched", "writes into its argument"),
        (lambda Q, K, g, r, s: Q, "one step", "2 are asked for"),
    ],
    "learning.slope_test": [
        (
            lambda loss, g, W: (np.abs(2 * slopes_of(loss, W) - g(W)) > 1e-3).sum(),
            "an honest gradient",
            "the whole way",
        ),
        (
            lambda loss, g, W: (np.abs(2e-4 * slopes_of(loss, W) - g(W)) > 1e-3).sum(),
            "an honest gradient",
            "the whole way",
        ),
        (
            lambda loss, g, W: (
                np.abs((loss(W + 1e-4) - loss(W - 1e-4)) / 2e-4 - g(W)) > 1e-3
            ).sum(),
            "an honest gradient",
            "one entry at a time",
        ),
        (
            lambda loss, g, W: float((apart(loss, g, W) > 1e-3).any()),
            "all too large",
            "How many entries are",
        ),
        (
            lambda loss, g, W: (apart(loss, g, W) > 1e-3).any(axis=1).sum(),
            "all too large",
            "You found three",
        ),
        (lambda loss, g, W: 0, "all too large", "You found nothing"),
        (
            lambda loss, g, W: (apart(loss, g, W) > 1e-3)[:, 0].sum(),
            "all too large",
            "You found three",
        ),
        (
            lambda loss, g, W: (g(W) - slopes_of(loss, W) > 1e-3).sum(),
            "two errors that cancel",
            "missing around the difference",
        ),
        (
            lambda loss, g, W: (apart(loss, g, W) > 0.1).sum(),
            "one small error",
            "small error pass",
        ),
    ],
    "multi_head.split": [
        (parted_straight, "one sentence", "cuts by tokens"),
        (parted_unturned, "one sentence", "Which two axes must change places"),
        (parted_alternating, "one sentence", "every n_heads-th column"),
        (lambda x, h: np.swapaxes(parted_right(x, h), -1, -2), "one sentence", "lie on their side"),
        (lambda x, h: parted_right(x, h)[..., ::-1, :, :], "one sentence", "run backwards"),
        (lambda x, h: x, "one sentence", "Take head 0"),
        (parted_two_axes, "a batch in front", "takes exactly two sizes"),
        (lambda x, h: parted_unturned(x, h).swapaxes(0, 1), "a batch in front", "the batch now"),
        (
            lambda x, h: np.stack(np.split(x, h, axis=-1)),
            "a batch in front",
            "in front of the batch",
        ),
    ],
    "multi_head.merge": [
        (join_straight, "one sentence", "as it was"),
        (
            lambda x: np.moveaxis(x, -3, -1).reshape(*x.shape[:-3], x.shape[-2], -1),
            "one sentence",
            "alternate between heads",
        ),
        (lambda x: x.mean(axis=-3), "one sentence", "averaged the heads"),
        (lambda x: x.sum(axis=-3), "one sentence", "added the heads"),
        (
            lambda x: np.concatenate(list(np.moveaxis(x, -3, 0)), axis=-2),
            "one sentence",
            "one below the other",
        ),
        (lambda x: join_right(x[..., ::-1, :, :]), "one sentence", "last head comes first"),
        (
            lambda x: x.swapaxes(0, 1).reshape(x.shape[-2], -1),
            "a batch in front",
            "There is a batch in front now",
        ),
        (
            lambda x: (
                x.swapaxes(0, 1).reshape(x.shape[0], x.shape[2], -1)
                if x.ndim == 4
                else join_right(x)
            ),
            "a batch in front",
            "the batch now",
        ),
        (join_in_place, "inputs untouched", "writes into its argument"),
    ],
    "multi_head.writes": [
        (lambda i, H, W: np.concatenate(list(H), axis=1) @ W, "a head in the middle", "whole"),
        (
            lambda i, H, W: H[i] @ W[i * H.shape[2] : (i + 1) * H.shape[2]],
            "a head in the middle",
            "what head i writes",
        ),
        (silent_slid, "a head in the middle", "slide onto its rows"),
        (silent_rows(lambda i, h, n, d: i), "a head in the middle", "one row of W_O"),
        (
            silent_rows(lambda i, h, n, d: slice(i, None, h)),
            "a head in the middle",
            "every n_heads-th row",
        ),
        (
            lambda i, H, W: silent_right(i, H, W) * len(H) / (len(H) - 1),
            "a head in the middle",
            "scaled the others up",
        ),
        (
            lambda i, H, W: silent_right(i + 1, H, W),
            "a head in the middle",
            "silenced the head after it",
        ),
        (silent_unturned, "a head in the middle", "tokens are mixed"),
        (silent_in_place, "inputs untouched", "writes into its argument"),
    ],
    "multi_head.mix_test": [
        (
            lambda s, n, h, d: differ(
                s(np.arange(n * h * d).reshape(n, -1), h), np.arange(n * h * d).reshape(h, n, d)
            ),
            "an honest split",
            "straight reshape",
        ),
        (
            pieces(lambda got, want: float((got == want).all(axis=-1).sum())),
            "an honest split",
            "counted the right pieces",
        ),
        (lambda s, n, h, d: 0, "a straight reshape", "Is the shape enough"),
        (
            pieces(differ, lambda n, width: np.ones((n, width))),
            "a straight reshape",
            "entries of your input be alike",
        ),
        (
            pieces(lambda got, want: float((got != want).sum())),
            "a straight reshape",
            "single numbers",
        ),
        (
            pieces(lambda got, want: float((got != want).any())),
            "a straight reshape",
            "said that it is wrong",
        ),
        (
            pieces(lambda got, want: float((got != want).any(axis=(1, 2)).sum())),
            "a straight reshape",
            "You counted heads",
        ),
        (
            pieces(lambda got, want: float((got.sum(-1) != want.sum(-1)).sum())),
            "one piece turned round",
            "the right sum",
        ),
    ],
    "masks.causal": [
        (lambda s, o: hidden(s, triangle(s, -1)), "no offset", "May a token look at itself"),
        (lambda s, o: hidden(s, triangle(s, 1)), "no offset", "one key too many"),
        (lambda s, o: hidden(s, ~triangle(s, -1)), "no offset", "Which side of the diagonal"),
        (lambda s, o: hidden(s, ~triangle(s, 0)), "no offset", "kept what was forbidden"),
        (lambda s, o: np.tril(s), "no offset", "e to the power 0"),
        (lambda s, o: hidden(s, triangle(s, 0), -1e9), "no offset", "empty one"),
        (lambda s, o: np.tri(len(s)), "no offset", "returned the mask"),
        (lambda s, o: hidden(0 * s, triangle(s, 0)), "no offset", "what you would add"),
        (lambda s, o: triangle(s, 0), "no offset", "numbers are asked for"),
        (future_square, "behind a cache", "Which line needs a square"),
        (lambda s, o: hidden(s, triangle(s, 0)), "behind a cache", "upper left corner"),
        (lambda s, o: hidden(s, triangle(s, -o)), "behind a cache", "to the wrong side"),
        (
            lambda s, o: hidden(s, triangle(s, max(o - 1, 0))),
            "behind a cache",
            "does not see itself any more",
        ),
        (lambda s, o: s if o else hidden(s, triangle(s, 0)), "behind a cache", "hid nothing"),
        (
            lambda s, o: hidden(s, triangle(s, s.shape[-1] - s.shape[-2])),
            "keys to spare",
            "aligned the triangle with the last key",
        ),
        (future_first_axes, "a batch in front", "counts axes from the front"),
        (
            lambda s, o: future_in_place(s, o) if s.ndim == 2 else future_right(s, o),
            "inputs untouched",
            "writes into its argument",
        ),
    ],
    "masks.padding": [
        (
            lambda s, n: hidden(s, np.isneginf(pads_right(s, n))),
            "one sentence",
            "What does True mean",
        ),
        (lambda s, n: pads_right(s, [m + 1 for m in n]), "one sentence", "first pad is still"),
        (lambda s, n: pads_right(s, [m - 1 for m in n]), "one sentence", "last real word"),
        (pads_rows, "one sentence", "You hid rows"),
        (pads_rows_too, "one sentence", "Who reads the rows of pads"),
        (lambda s, n: pads_right(s[..., ::-1], n)[..., ::-1], "one sentence", "Which end"),
        (lambda s, n: np.where(pads_right(s, n) == -np.inf, 0, s), "one sentence", "power 0"),
        (lambda s, n: s[..., : n[0]], "one sentence", "cut the pads off"),
        (lambda s, n: pads_right(s, [n[0]] * len(n)), "three sentences", "length of the first"),
        (lambda s, n: pads_right(s, [max(n)] * len(n)), "three sentences", "of the longest"),
        (
            lambda s, n: hidden(s, np.arange(s.shape[-1]) < np.asarray(n)[:, None]),
            "three sentences",
            "lines up the last axes",
        ),
        (pads_negative_slice, "an empty sentence", "kept one key"),
        (pads_in_place, "inputs untouched", "writes into its argument"),
    ],
    "masks.after_softmax": [
        (weights_late, "ordinary scores", "sum to less than 1"),
        (lambda s, m: share(s), "ordinary scores", "What became of the mask"),
        (lambda s, m: share(hidden(s, ~m)), "ordinary scores", "What does True mean"),
        (lambda s, m: share(s * m), "ordinary scores", "Which score gets nothing"),
        (
            lambda s, m: weights_late(s, m) / weights_late(s, m).sum(),
            "ordinary scores",
            "All your rows together",
        ),
        (lambda s, m: m / m.sum(-1, keepdims=True), "ordinary scores", "same weight"),
        (weights_rest, "ordinary scores", "Which ratio should"),
        (weights_again, "a loud hidden key", "you divide 0 by 0"),
        (weights_other_maximum, "a loud hidden key", "divide 0 by 0"),
        (weights_epsilon, "a loud hidden key", "Does a small constant"),
        (lambda s, m: np.nan_to_num(weights_again(s, m)), "a loud hidden key", "Does a small"),
        (lambda s, m: share(hidden(s, m, -1e9)), "very low scores", "lies below every other"),
    ],
    "masks.empty_row": [
        (lambda s, m: share(s), "every row has a key", "What became of the mask"),
        (lambda s, m: share(hidden(s, ~m)), "every row has a key", "What does True mean"),
        (weights_late, "every row has a key", "Did the softmax see"),
        (lambda s, m: 0 * s, "every row has a key", "Which rows should be"),
        (lambda s, m: share(hidden(s, m)), "one empty row", "Your empty row is NaN"),
        (lambda s, m: share(hidden(s, m, -1e9)), "one empty row", "Your empty row is uniform"),
        (safe_unmasked, "one empty row", "weights of no mask at all"),
        (safe_itself, "one empty row", "Who allowed that"),
        (safe_all, "one empty row", "emptied all the others"),
        (safe_low, "low but not empty", "took the row for an empty one"),
        (
            lambda s, m: safe_right(s, m) if s.ndim == 2 else safe_axis_one(s, m),
            "a batch in front",
            "count your axes from the back",
        ),
    ],
    "masks.leak_test": [
        (lambda layer, X: 1, "an honest layer", "far ahead is a token of itself"),
        (reach_both, "an honest layer", "Which direction is a leak"),
        (reach_rows, "an honest layer", "counted how many rows"),
        (reach_one_more, "an honest layer", "far ahead is a token of itself"),
        (lambda layer, X: layer @ X, "an honest layer", "Your test stopped"),
        (lambda layer, X: False, "an honest layer", "numbers are asked for"),
        (reach_first, "off by one", "right before the changed token"),
        (reach_yes, "no mask", "How far does it look"),
        (reach_next, "no mask", "How far does it look"),
        (reach_last, "blocks of three", "leak in the middle"),
        (reach_rough, "a faint leak", "more than rounding"),
        (reach_in_place, "inputs untouched", "writes into its argument"),
    ],
    "softmax.stable": [
        (np.exp, "one row", "What do weights sum to"),
        (lambda s: s / s.sum(), "one row", "divided the scores themselves"),
        (lambda s: np.exp(s - np.max(s)), "one row", "largest weight is 1"),
        (lambda s: 1 / (1 + np.exp(-s)), "one row", "Where do the keys compete"),
        (lambda s: s - np.log(np.exp(s).sum()), "one row", "logarithms of the weights"),
        (lambda s: stable_plain(-s), "one row", "Which sign has the exponent"),
        (lambda s: np.exp(s) / np.sum(np.exp(s)), "every row for itself", "whole table sums to 1"),
        (
            lambda s: np.exp(s) / np.exp(s).sum(axis=0, keepdims=True),
            "every row for itself",
            "queries compete for a key",
        ),
        (lambda s: np.exp(s) / np.exp(s).sum(axis=-1), "every row for itself", "has to stay"),
        (stable_plain, "rows far apart", "more than a computer holds"),
        (stable_whole, "rows far apart", "rows far below it went to zero"),
        (lambda s: stable_plain(s - s.min()), "rows far apart", "took off the smallest"),
        (stable_nan, "nothing to look at", "-inf minus -inf"),
        (stable_uniform, "nothing to look at", "came out uniform"),
    ],
    "softmax.jacobian": [
        (lambda w: np.diag(w - w * w), "two keys", "all else is 0"),
        (lambda w: np.diag(w), "two keys", "sum below the line"),
        (lambda w: -np.outer(w, w), "two keys", "gain from its own score"),
        (lambda w: np.outer(w, w) - np.diag(w), "two keys", "Every sign is turned"),
        (lambda w: np.diag(w) + np.outer(w, w), "two keys", "all weights would grow"),
        (lambda w: np.eye(len(w)) - np.outer(w, w), "two keys", "begins with 1"),
        (lambda w: w * (1 - w), "two keys", "as a row"),
        (lambda w: np.diag(w) - w @ w, "two keys", "add up to"),
        (
            lambda w: np.diag(w) - np.outer(w, 1 - w) / (len(w) - 1),
            "two keys",
            "add up to",
        ),
        (jacobian_even, "several keys", "pay equal shares"),
        (jacobian_by_division, "a masked key", "divide by it"),
    ],
    "softmax.axis": [
        (axis_queries, "each query shares out one", "sum runs over the queries"),
        (
            lambda s: np.exp(s) * np.tri(*s.shape) / (np.exp(s) * np.tri(*s.shape)).sum(),
            "each query shares out one",
            "whole table sums to 1",
        ),
        (axis_late, "each query shares out one", "mask came after the division"),
        (stable_nan, "each query shares out one", "What became of the mask"),
        (axis_zero, "each query shares out one", "e to the power 0"),
        (axis_strict, "each query shares out one", "May a token look at itself"),
        (
            lambda s: stable_uniform(np.where(np.tri(*s.shape) > 0, -np.inf, s)),
            "each query shares out one",
            "later keys only",
        ),
        (axis_no_keepdims, "each query shares out one", "Does your sum keep its axis"),
        (axis_one_maximum, "rows far apart", "same number off every row"),
        (axis_no_maximum, "rows far apart", "Nothing is taken off"),
        (axis_one, "a batch in front", "axis 1 is the queries"),
        (axis_two_axes, "a batch in front", "Which line counts on two"),
    ],
    "softmax.leak_test": [
        (lambda weights_of, s: 1, "an honest layer", "accused a layer"),
        (leak_all_rows, "an honest layer", "accused a layer"),
        (lambda weights_of, s: weights_of @ s, "an honest layer", "Your test stopped"),
        (lambda weights_of, s: True, "an honest layer", "numbers are asked for"),
        (lambda weights_of, s: 0, "the sum over the queries", "you let it pass"),
        (leak_first_token, "the sum over the queries", "rows that come before it"),
        (leak_triangle, "the sum over the queries", "you let it pass"),
        (leak_sums, "rows that sum to one", "What does a row sum say"),
        (leak_or_sums, "honest, with other row sums", "Is a leak the same as a wrong sum"),
        (leak_constant, "a constant is taken off", "can such a layer not feel"),
        (leak_in_place, "inputs untouched", "writes into its argument"),
    ],
    "why_three.smallest_bend": [
        (lambda M: np.linalg.eigvalsh(M + M.T).min(), "two columns", "twice too large"),
        (lambda M: np.linalg.eigvalsh(M).min(), "two columns", "reads one triangle"),
        (lambda M: max(np.linalg.eigvalsh((M + M.T) / 2)), "two columns", "the largest value"),
        (
            lambda M: min(np.linalg.eigvalsh((M + M.T) / 2), key=abs) ** 2**0.5,
            "two columns",
            "smallest that d M d' takes",
        ),
        (
            lambda M: min(abs(np.linalg.eigvalsh((M + M.T) / 2))),
            "two columns",
            "You took sizes",
        ),
        (lambda M: min(np.linalg.eigvals(M).real), "two columns", "may be complex"),
        (lambda M: np.linalg.svd(M)[1][-1], "two columns", "never negative"),
        (lambda M: min(M.diagonal()), "two columns", "along the axes"),
        (bend_sampled, "two columns", "smallest that d M d' takes"),
        (lambda M: bend_right(M[:2, :2]), "any width", "counts on two columns"),
        (
            lambda M: bend_right(np.linalg.inv(np.linalg.inv(M))) if len(M) != 7 else 0.0,
            "made of W_Q and W_K",
            "ask for its inverse",
        ),
    ],
    "why_three.repair": [
        (shared_as_printed, "two tokens", "Whose value must it return"),
        (
            lambda X, W, W_V: shared(X, W, W_V, hidden=np.zeros((len(X),) * 2, dtype=bool)),
            "two tokens",
            "still sees itself",
        ),
        (shared_late, "two tokens", "no longer sum to 1"),
        (shared_zero, "two tokens", "A score of 0 still gets weight"),
        (lambda X, W, W_V: X @ W_V, "two tokens", "its own value"),
        (lambda X, W, W_V: shared(X, W, np.eye(len(W))), "two tokens", "means of X"),
        (lambda X, W, W_V: shared(X, W, W_V, scale=X.shape[1]), "six tokens", "X's width"),
        (lambda X, W, W_V: shared(X, W, W_V, scale=1), "six tokens", "not divided"),
        (lambda X, W, W_V: X[::-1] @ W_V, "six tokens", "Five others"),
        (shared_columns, "six tokens", "Your columns sum to 1"),
        (lambda X, W, W_V: X.sum(0) @ W_V - X @ W_V, "six tokens", "Five others"),
    ],
    "why_three.asymmetry": [
        (lambda S: ((S - S.T) ** 2).sum() / (S**2).sum(), "two tokens", "four times too large"),
        (lambda S: share_right(S) ** 0.5, "two tokens", "root of the share"),
        (lambda S: (S - S.T).sum() / S.sum(), "two tokens", "cancel each other"),
        (lambda S: 1 - share_right(S), "two tokens", "symmetric share"),
        (
            lambda S: ((S - S.T) ** 2).sum() / ((S + S.T) ** 2).sum(),
            "two tokens",
            "divide by the symmetric part",
        ),
        (lambda S: abs(S - S.T).max(), "two tokens", "makes it a share"),
        (lambda S: share_right(S[:2, :2]), "more tokens", "every pair count"),
        (lambda S: max(share_right(S), 1e-7), "a tied head", "expose it"),
    ],
    "cost.multiplications": [
        (lambda *a: priced(*a, writes=0), "one head", "fourth matrix"),
        (lambda *a: priced(*a, means=0), "one head", "product of weights and values"),
        (lambda *a: priced(*a, power=1), "one head", "How many scores has each query"),
        (lambda *a: priced(*a, back=0), "one head", "How does it come back"),
        (lambda *a: [2 * x for x in priced(*a)], "one head", "and additions"),
        (lambda *a: priced(*a, heads=1), "several heads", "those of one head"),
        (lambda *a: priced(*a, writes=0, means=0), "one head", "which products are there"),
    ],
    "cost.online": [
        (lambda s, v, t: streamed(s, v, t, divide=False), "one tile", "divided by at the end"),
        (streamed_by_mean, "scores that fall", "the same sum of powers"),
        (lambda s, v, t: streamed(s[-t:], v[-t:], t), "scores that fall", "the last tile only"),
        (
            lambda s, v, t: streamed(s, v, t, for_l=False, for_o=False),
            "scores that rise",
            "Neither of your sums",
        ),
        (lambda s, v, t: streamed(s, v, t, for_o=False), "scores that rise", "output was not"),
        (lambda s, v, t: streamed(s, v, t, for_l=False), "scores that rise", "the sum was not"),
        (streamed_full_tiles, "a smaller last tile", "last keys are missing"),
        (streamed_raw, "large scores", "What do you subtract first"),
        (lambda s, v, t: streamed(s, v, t, careful=False), "a forbidden first tile", "NaN"),
        (streamed_nothing, "nothing to look at", "What is l"),
    ],
    "cost.repair": [
        (united_divided, "one query, equal largest scores", "divided o by l already"),
        (united_means, "one query, equal largest scores", "You took means"),
        (
            lambda *p: united(*p, for_l=False, axis=False),
            "one query, different largest scores",
            "Your l adds",
        ),
        (
            lambda *p: united(*p, for_l=False, for_o=False),
            "one query, different largest scores",
            "Neither l nor o",
        ),
        (
            lambda *p: united(*p, for_o=False),
            "one query, different largest scores",
            "Your o adds",
        ),
        (united_sum_of_maxima, "one query, equal largest scores", "What are l and o then"),
        (lambda *p: united(*p, axis=False), "several queries", "Which axis is missing"),
        (united_refuses_nothing, "a part that found nothing", "What should it add"),
        (lambda *p: united(*p, careful=False), "both found nothing", "from itself"),
    ],
    "cost.expose": [
        (lambda f: 0, "a right one", "you accused it"),
        (lambda f: f(UPWARDS, 3), "a right one", "Your test stopped"),
        (lambda f: 1, "old sums not rescaled", "forgets to rescale"),
        (lambda f: suspects(f, [(UPWARDS, 7)]), "old sums not rescaled", "more than one tile"),
        (
            lambda f: suspects(f, [(UPWARDS[::-1], 3)]),
            "old sums not rescaled",
            "where does the largest score stand",
        ),
        (lambda f: suspects(f, [(UPWARDS[:6], 3)]), "the rest forgotten", "Does your tile divide"),
        (lambda f: suspects(f, [(UPWARDS, 3)]), "nothing subtracted", "How large are the scores"),
        (
            lambda f: suspects(f, [(UPWARDS, 3), (1e4 * UPWARDS, 3)]),
            "forbidden keys in front",
            "how many in a row",
        ),
    ],
    "order.sinusoids": [
        (lambda n, d, o: clock(n, d, o, flip=True), "one pair", "begins with the cosine"),
        (lambda n, d, o: clock(n, d, o, start=1), "one pair", "code of place 1"),
        (clock_no_pairs, "one pair", "at two speeds"),
        (lambda n, d, o: clock(n, d, o, blocks=True), "several pairs", "stand in front"),
        (lambda n, d, o: clock(n, d, o, power=1), "several pairs", "half as fast"),
        (lambda n, d, o: clock(n, d, o, power=-2), "several pairs", "get faster"),
        (lambda n, d, o: clock(n, d, o, base=1e3), "several pairs", "What is the base"),
        (lambda n, d, o: clock(n, d, o, power=0), "several pairs", "at one speed"),
        (lambda n, d, o: clock(n, d, 0), "a later start", "began at place 0"),
        (lambda n, d, o: clock(n, d, -o), "a later start", "the wrong way"),
    ],
    "order.step": [
        (lambda d, s: hand(d, -s), "one pair", "goes backwards"),
        (lambda d, s: hand(d, s) * np.array([-1.0, 1.0] * (d // 2)), "one pair", "wrong sign"),
        (
            lambda d, s: (
                np.abs(np.sign(hand(2, s))) * [[np.cos(s), np.sin(s)], [np.sin(s), np.cos(s)]]
                if d == 2
                else hand(d, s)
            ),
            "one pair",
            "a rotation",
        ),
        (lambda d, s: np.kron(np.eye(d // 2), hand(2, s)), "several pairs", "turn at speed 1"),
        (lambda d, s: hand(d, s, power=1), "several pairs", "half as fast"),
        (hand_first, "several pairs", "Only your first pair"),
        (lambda d, s: hand(2, s) if d == 2 else hand_fitted(d, s), "several pairs", "or derived"),
        (lambda d, s: hand(d, abs(s)), "backwards", "went forwards"),
    ],
    "order.repair": [
        (lambda q, k, v: rope(q, k, v, turn_v=True), "no cache yet", "turn the values too"),
        (lambda q, k, v: rope(q, k, v, turn=(False, False)), "no cache yet", "turn nothing"),
        (lambda q, k, v: rope(q, k, v, turn=(True, False)), "no cache yet", "and not the keys"),
        (lambda q, k, v: rope(q, k, v, masked=False), "no cache yet", "see later tokens"),
        (lambda q, k, v: rope(q, k, v, first=k.shape[-2] - 1), "no cache yet", "last one should"),
        (lambda q, k, v: rope(q, k, v, first=0), "behind a cache", "stood at place 0"),
        (lambda q, k, v: rope(q, k, v, corner=True), "behind a cache", "upper left corner"),
        (rope_one_batch, "a batch in front", "third axis"),
    ],
    "order.sees_order": [
        (
            lambda f, X: feels(f, X, np.arange(len(X))[::-1], along=False),
            "plain attention",
            "the output *stays*",
        ),
        (lambda f, X: feels(f, X, np.arange(len(X))[::-1], 0), "plain attention", "below rounding"),
        (lambda f, X: f(X, None), "plain attention", "Your test stopped"),
        (lambda f, X: 0, "a position code", "every layer blind"),
        (
            lambda f, X: np.abs(f(X[::-1]) - f(X)[::-1]).max().round(6),
            "a position code",
            "return 0 or 1",
        ),
        (
            lambda f, X: feels(f, X, np.array([1, 0, *range(2, len(X))])),
            "a special last place",
            "first two rows",
        ),
        (
            lambda f, X: feels(f, X, np.arange(len(X))[::-1], 1e-2),
            "a faint code",
            "differences pass",
        ),
    ],
    "translator.links": [
        (links_reads, "one head", "the row that reads the word"),
        (lambda w: w.argmax(-1), "one head", "a row too many"),
        (lambda w: w[:, :-1].max(-1), "one head", "largest weights"),
        (lambda w: (-w[:, :-1]).argmax(-1), "one head", "smallest weights"),
        (lambda w: w[:, :-1].argmax(1), "one head", "one number for each source word"),
        (lambda w: links_loop(w) - 1, "one head", "one too small"),
        (lambda w: w[:, :-1].sum(0).argmax(-1)[None], "several heads", "averaged the heads"),
        (lambda w: links_loop(w)[:1], "several heads", "Only the first head"),
        (
            lambda w: np.stack([w.mean(0)[:-1].argmax(-1)] * len(w)),
            "several heads",
            "agree in every word",
        ),
    ],
    "translator.error_rate": [
        (
            lambda a, s, p: rate_sums(a, s, p, lambda i, j, a, s, p: 1 - i / a),
            "one sentence, all links sure",
            "sure links that nobody",
        ),
        (
            lambda a, s, p: rate_sums(a, s, p, lambda i, j, a, s, p: 1 - i / s),
            "one sentence, all links sure",
            "What do wrong guesses cost",
        ),
        (lambda a, s, p: 1 - rate_right(a, s, p), "one sentence, all links sure", "an error?"),
        (
            lambda a, s, p: rate_sums(a, s, p, lambda i, j, a, s, p: 1 - i / (a + s)),
            "one sentence, all links sure",
            "error of one half",
        ),
        (
            lambda a, s, p: 1 - (a & s).sum() / (a | s).sum(),
            "one sentence, all links sure",
            "divided by the union",
        ),
        (lambda a, s, p: rate_right(a, s, s), "possible links", "count for nothing"),
        (
            lambda a, s, p: rate_sums(a, s, p, lambda i, j, a, s, p: 1 - 2 * j / (a + s)),
            "possible links",
            "every possible link twice",
        ),
        (
            lambda a, s, p: rate_sums(a, s, p, lambda i, j, a, s, p: 1 - (i + j) / (a + p)),
            "possible links",
            "find the possible links",
        ),
        (lambda a, s, p: np.mean(rate_parts(a, s, p)), "several sentences", "averaged"),
        (lambda a, s, p: rate_parts(a, s, p)[0], "several sentences", "Only the first"),
        (lambda a, s, p: sum(rate_parts(a, s, p)), "several sentences", "can pass 1"),
    ],
    "translator.cross_rows": [
        (
            lambda X, M, Q, K, V, t: tr_cross(M, X, Q, K, V, t),
            "the first row",
            "The source asks the target",
        ),
        (
            lambda X, M, Q, K, V, t: tr_cross(X, X, Q, K, V, t),
            "the first row",
            "self-attention of the target",
        ),
        (
            lambda X, M, Q, K, V, t: tr_cross(M, M, Q, K, V, t),
            "the first row",
            "comes from the memory",
        ),
        (
            lambda X, M, Q, K, V, t: tr_cross(X, M, Q, K, V, t, root=1.0),
            "the first row",
            "weights too sharp",
        ),
        (
            lambda X, M, Q, K, V, t: tr_cross(X, M, Q, K, V, t, root=np.sqrt(V.shape[1])),
            "the first row",
            "How many products",
        ),
        (
            lambda X, M, Q, K, V, t: tr_cross(X, M, Q, K, V, t, root=np.sqrt(len(M))),
            "the first row",
            "number of keys",
        ),
        (
            lambda X, M, Q, K, V, t: tr_cross(X, M, K, Q, V, t),
            "the first row",
            "have changed places",
        ),
        (
            lambda X, M, Q, K, V, t: tr_cross(X, M, Q, K, V, t)[::-1],
            "the first row",
            "in the other order",
        ),
        (
            lambda X, M, Q, K, V, t: tr_cross(X, M, Q, K, V, 0),
            "a later row",
            "row 0 again",
        ),
        (
            lambda X, M, Q, K, V, t: tr_cross(X, M, Q, K, V, t + (t > 0)),
            "a later row",
            "the row below",
        ),
        (
            lambda X, M, Q, K, V, t: (tr_cross_causal if t else tr_cross)(X, M, Q, K, V, t),
            "a later row",
            "already complete",
        ),
    ],
    "translator.beam_step": [
        (
            lambda b, x, d, n: beam_kept(-beam_totals(b, x, d), n),
            "one beam",
            "the least likely word",
        ),
        (lambda b, x, d, n: beam_right(b, x, d, n)[:, ::-1], "one beam", "Which comes first"),
        (lambda b, x, d, n: beam_kept(x, n), "four beams", "next words only"),
        (lambda b, x, d, n: beam_kept(b[:, None] * x, n), "one beam", "multiply two logs"),
        (
            lambda b, x, d, n: beam_kept(np.exp(b)[:, None] + np.exp(x), n),
            "four beams",
            "added probabilities",
        ),
        (beam_one_each, "four beams", "have two heirs"),
        (beam_first_only, "four beams", "continue the best beginning"),
        (lambda b, x, d, n: beam_right(b, x, d, n)[::-1], "four beams", "in reverse"),
        (
            lambda b, x, d, n: beam_kept(b[:, None] + x, n),
            "a finished beginning",
            "after its stop sign",
        ),
        (beam_dropped, "a finished beginning", "is gone"),
        (beam_twice, "a finished beginning", "second stop sign"),
        (beam_free, "a finished beginning", "once for each word"),
    ],
    "translator.leak_test": [
        (reads_target, "an honest translator", "ids of the target"),
        (lambda f, s, r: bool(reads_right(f, s, r)) * 1.0, "an honest translator", "How many"),
        (lambda f, s, r: reads_right(f, s, r) / len(s), "an honest translator", "How many places"),
        (
            lambda f, s, r: len(s) - reads_right(f, s, r),
            "an honest translator",
            "do not matter",
        ),
        (lambda f, s, r: int(reads_flags(f, s, r).sum()), "an honest translator", "every row"),
        (reads_both, "a deaf one", "What else changed"),
        (reads_not_put_back, "short sight", "only one id"),
        (
            lambda f, s, r: int(reads_flags(f, s, r)[:, 0].sum()),
            "only the last row listens",
            "one row alone",
        ),
        (
            lambda f, s, r: int(reads_flags(f, s, r).all(1).sum()),
            "only the last row listens",
            "that every row moves",
        ),
        (
            lambda f, s, r: int(reads_flags(f, s, r)[:, -1].sum()),
            "only the first row listens",
            "last row alone",
        ),
        (
            lambda f, s, r: int(reads_flags(f, s, r, 1e-4).any(1).sum()),
            "a faint voice",
            "small differences",
        ),
    ],
    "transformer.shift_right": [
        (shift_swapped, "one full sentence", "Which of the two begins"),
        (shift_none, "one full sentence", "What is left to predict"),
        (shift_repeat, "one full sentence", "which it reads"),
        (shift_no_end, "one full sentence", "When will such a model stop"),
        (shift_short, "one full sentence", "Which row must say the end sign"),
        (lambda t, n, *signs: (t, t), "one full sentence", "3 are asked for"),
        (shift_edge, "a padded batch", "behind the pads"),
        (shift_by_slices, "a padded batch", "reads its own end sign"),
        (shift_all_count, "a padded batch", "What would the model learn"),
        (shift_last_real, "an empty sentence", "Which line needs one"),
        (shift_in_place, "inputs untouched", "writes into its argument"),
    ],
    "transformer.greedy": [
        (write_row_0, "a short sentence", "Which row has read the last word"),
        (write_last_word, "a short sentence", "know what came before"),
        (write_signs, "a short sentence", "with both signs around them"),
        (write_with_start, "a short sentence", "Did the model write that"),
        (write_with_end, "a short sentence", "Is that a word of the translation"),
        (write_on, "a short sentence", "after the end sign"),
        (write_least, "a short sentence", "the smallest score"),
        (write_no_limit, "no end in sight", "What else must end your loop"),
        (write_short, "no end in sight", "Does the start sign count"),
        (write_long, "no end in sight", "one word too many"),
        (write_cuts_the_last, "no end in sight", "Does the start sign count"),
    ],
    "transformer.count": [
        (count_with(cross=0), "one layer on each side", "How does it hear of the source"),
        (count_with(norms=(2, 2)), "one layer on each side", "Which did you leave out"),
        (count_with(cross=0, norms=(2, 2)), "one layer on each side", "What has it besides"),
        (
            count_with(hidden=lambda d, f: 2 * d * f),
            "one layer on each side",
            "How many numbers are in its two",
        ),
        (
            count_with(hidden=lambda d, f: 2 * d * f + f),
            "one layer on each side",
            "Which did you leave out",
        ),
        (
            count_with(own=lambda d, h, k, v: h * d * (2 * k + 2 * v) + h * (2 * k + v) + d),
            "one layer on each side",
            "Does the paper's have them",
        ),
        (count_with(norm=1), "one layer on each side", "besides the gain"),
        (count_with(norm=0), "one layer on each side", "You left the norms out"),
        (count_with(tables=3), "one layer on each side", "How many arrays is it"),
        (count_with(tables=0), "one layer on each side", "has no words"),
        (
            count_with(own=lambda d, h, k, v: h * d * (2 * k + v)),
            "one layer on each side",
            "comes after the heads",
        ),
        (
            count_with(own=lambda d, h, k, v: 4 * d * d),
            "sizes that have nothing to do with each other",
            "When is",
        ),
        (
            count_with(own=lambda d, h, k, v: 4 * h * d * k),
            "sizes that have nothing to do with each other",
            "used d_k for values",
        ),
        (count_with(depth=1), "several layers", "Do the layers share"),
        (count_with(tables="layers"), "several layers", "the table once a layer"),
    ],
    "transformer.prefix_test": [
        (lambda score, ids: len(ids), "an honest decoder", "the rows that agree"),
        (prefix_short, "an honest decoder", "Where does the prefix of row t end"),
        (prefix_first_row, "an honest decoder", "Where does the prefix of row t end"),
        (prefix_last, "an honest decoder", "two different rows"),
        (prefix_empty, "an honest decoder", "handed no words"),
        (lambda score, ids: False, "an honest decoder", "numbers are asked for"),
        (prefix_yes, "no mask", "In how many rows"),
        (lambda score, ids: 0, "no mask", "Do you look at all rows"),
        (prefix_all_or_nothing, "blocks of three", "blamed all"),
        (prefix_loose, "a faint dependence", "How large is rounding"),
        (prefix_exchanges, "places counted from the end", "cares how many"),
    ],
    "two_layers.by_hand": [
        (lambda H, g: hops(H, g, mask=False), "gain 0: who is seen, and what is said", "mask"),
        (
            lambda H, g: hops(H, g, values=hops_shifted),
            "gain 0: who is seen, and what is said",
            "hand over the note",
        ),
        (lambda H, g: hops(H, g, notes=lambda H: H), "one text", "looks for its own"),
        (
            lambda H, g: hops(H, g, notes=lambda H: np.eye(H.shape[-2], k=1) @ H),
            "one text",
            "comes *after*",
        ),
        (lambda H, g: hops(H, g, notes=lambda H: np.roll(H, 1, -2)), "one text", "last letter"),
        (
            lambda H, g: hops(H, g, notes=lambda H: H, asks=hops_shifted),
            "one text",
            "ask with the note",
        ),
        (lambda H, g: hops(H, g, scale=False), "one text", "too sharp"),
        (hops_one_text, "a batch in front", "third axis"),
    ],
    "two_layers.score": [
        (lambda w, ids: look_score(w, ids, 0), "one letter comes back", "earlier copy itself"),
        (lambda w, ids: look_score(w, ids, -1), "one letter comes back", "the place before"),
        (lambda w, ids: look_score(w, ids, turned=True), "one letter comes back", "earlier row"),
        (
            lambda w, ids: look_score(w, ids, by=lambda found: sum(found) / len(ids)),
            "one letter comes back",
            "number of all rows",
        ),
        (
            lambda w, ids: look_score(w, ids, by=sum),
            "three letters come back",
            "Is a sum a mean",
        ),
        (
            lambda w, ids: look_score(w, ids, by=lambda f: max(f, default=0)),
            "three letters come back",
            "works once",
        ),
        (
            lambda w, ids: look_score(w, ids, by=lambda f: f[0] if f else 0),
            "three letters come back",
            "And the others",
        ),
        (
            lambda w, ids: look_score(w, ids, by=lambda f: f[-1] if f else 0),
            "three letters come back",
            "overwrites",
        ),
        (
            lambda w, ids: look_score(w, ids, by=lambda f: sum(f) / len(f)),
            "none comes back",
            "What do you divide by",
        ),
        (
            lambda w, ids: look_score(w, ids, by=lambda f: sum(f) / len(f) if f else 1),
            "none comes back",
            "by the rule above",
        ),
    ],
    "two_layers.one_read": [
        (lambda *g: patch_with(*g, which="KV"), "one row", "values read the mean"),
        (
            lambda *g: patch_with(*g, which="QKV", other=lambda X, note, mean: X - note),
            "one row",
            "Who else reads X",
        ),
        (
            lambda *g: patch_with(*g, which="V", other=lambda X, note, mean: X + note),
            "one row",
            "Is it in X already",
        ),
        (lambda *g: patch_with(*g, mask=False), "several rows", "see later ones. What"),
        (
            lambda *g: patch_with(*g, other=lambda X, note, mean: X - note),
            "several rows",
            "stand in its place",
        ),
        (
            lambda *g: patch_with(*g, other=lambda X, note, mean: X + mean),
            "several rows",
            "the mean *and* the note",
        ),
        (lambda *g: patch_with(*g, which="Q"), "several rows", "patched the queries. Which"),
        (lambda *g: patch_with(*g, which="QK"), "several rows", "as well as the keys"),
        (lambda *g: patch_with(*g, which=""), "several rows", "reads X for everything"),
        (patch_one_batch, "a batch in front", "third axis"),
    ],
    "two_layers.letter_table": [
        (lambda *g: table_of(*g).T, "a note that is the letter's own row", "table is turned"),
        (
            lambda E, W_V, W_O, W_Q, W_K: table_of(E, W_V, W_O, W_K, W_Q),
            "a note that is the letter's own row",
            "made with W_Q",
        ),
        (
            lambda *g: table_of(*g) / np.sqrt(g[-1].shape[1]),
            "a note that is the letter's own row",
            "divided by a root",
        ),
        (
            lambda E, W_V, W_O, *W: table_of(E, W_V, W_O, *W, found=E + E @ W_V @ W_O),
            "a note that is the letter's own row",
            "as well as its note",
        ),
        (lambda E, *W: table_of(E, *W, found=E), "any note", "letters themselves"),
        (
            lambda E, W_V, W_O, *W: table_of(E, W_V, W_O, *W, asks=E @ W_V @ W_O),
            "any note",
            "queries are notes too",
        ),
        (
            lambda E, W_V, W_O, *W: table_of(E, W_V, W_O, *W, asks=E @ W_V @ W_O, found=E),
            "any note",
            "Q-composition",
        ),
        (
            lambda E, W_V, W_O, W_Q, W_K: (E @ W_V @ W_O) @ E.T,
            "a note that is the letter's own row",
            "product of four",
        ),
    ],
    "two_layers.copies": [
        (lambda say: say("ABCA"), "a copyist", "Your test stopped"),
        (lambda say: copies_share(say, copies_texts(), every=True), "a copyist", "not asked"),
        (lambda say: copies_share(say, copies_texts(), shift=0), "a copyist", "another"),
        (lambda say: 1, "her own letter", "everybody pass"),
        (
            lambda say: (
                copies_share(say, [[*range(12), 3, 7, 5], [*range(2, 14), 4, 9]], 0.4)
                or float(np.asarray(say(np.arange(5)))[2] in (3, 4))
            ),
            "a table",
            "alphabetical",
        ),
        (
            lambda say: max(
                copies_share(say, copies_texts(first=n, block=True)) for n in range(4, 13)
            ),
            "a fixed distance",
            "repeat a block",
        ),
        (
            lambda say: copies_share(say, copies_texts(first=4)),
            "a short memory",
            "far apart are",
        ),
        (lambda say: copies_share(say, copies_texts(), 0.4), "often right", "seven rows of ten"),
    ],
    "inference.step": [
        (lambda x, k, v, *W: (step_right(x, k, v, *W)[0], k, v), "the first token", "as it came"),
        (step_keeps_q, "the first token", "where the key should be"),
        (step_old_only, "the first token", "your code stopped"),
        (lambda *a: step_right(*a, old=False), "one more token", "forgets what was kept"),
        (step_front, "one more token", "stand before the old ones"),
        (lambda *a: step_right(*a, root=1), "one more token", "the bare dot products"),
        (lambda *a: step_right(*a, root=a[1].shape[1] ** 2), "one more token", "which power"),
        (step_corner, "one more token", "the first key and no other"),
        (
            lambda x, k, v, *W: (
                step_right(x, k, v, *W)[0],
                *(a[len(k) :] for a in step_right(x, k, v, *W)[1:]),
            ),
            "one more token",
            "the new rows of k and v alone",
        ),
        (lambda *a: step_right(*a, masked=False), "three at once", "the two after it"),
        (lambda *a: step_right(*a, shift=1), "three at once", "one key too many"),
    ],
    "inference.repair": [
        (lambda *a: go_on(*a, masked=False), "an empty cache", "took the mask away"),
        (
            lambda e, codes, *more: go_on(e, codes[1:], *more),
            "an empty cache",
            "stands at place 1",
        ),
        (lambda e, codes, *more: go_on(e, 0 * codes, *more), "an empty cache", "left the codes"),
        (
            lambda *a: go_on(*a, place=len(a[2]) - 1),
            "an empty cache",
            "Which rows of `codes` did you take",
        ),
        (
            lambda *a: go_on(*a, place=False, shift=False),
            "two tokens behind four",
            "Which lines do not use",
        ),
        (lambda *a: go_on(*a, place=False), "two tokens behind four", "of the places 0 and 1"),
        (lambda *a: go_on(*a, shift=False), "two tokens behind four", "the first keys and no"),
        (
            lambda *a: go_on(*a, masked=len(a[2]) == 0),
            "two tokens behind four",
            "each other both ways",
        ),
        (go_on_one_place, "two tokens behind four", "the code of one place"),
        (
            lambda *a: go_on(*a, place=min(4, len(a[2])), shift=min(4, len(a[2])) - len(a[2])),
            "three tokens behind five",
            "A 4 stands in your code",
        ),
    ],
    "inference.groups": [
        (
            lambda q, k, v: sets_of(q, k, v, [0] * len(q), [0] * len(q)),
            "a set for each head",
            "use the first set",
        ),
        (lambda q, k, v: sets_of(q, k[::-1], v[::-1]), "a set for each head", "the last set"),
        (
            lambda q, k, v: sets_of(q, 0 * k + k.mean(0), 0 * v + v.mean(0)),
            "a set for each head",
            "mixed the sets",
        ),
        (
            lambda q, k, v: sets_of(q * q.shape[-1] ** 0.5, k, v),
            "a set for each head",
            "the bare dot products",
        ),
        (
            lambda q, k, v: sets_of(q * (q.shape[-1] / len(q)) ** 0.5, k, v),
            "a set for each head",
            "root of the number of heads",
        ),
        (lambda q, k, v: sets_of(0 * q + q[:1], k, v), "a set for each head", "head's question"),
        (
            lambda q, k, v: sets_of(0 * q + q.mean(0), k, v),
            "a set for each head",
            "mean of the queries",
        ),
        (
            lambda q, k, v: share(q @ k.swapaxes(1, 2) / q.shape[-1] ** 0.5) @ v,
            "two groups of three",
            "in which order",
        ),
        (
            lambda q, k, v: sets_of(q, k, v, in_turn(q, k), in_turn(q, k)),
            "two groups of three",
            "dealt the sets out",
        ),
        (
            lambda q, k, v: sets_of(q, k, v, in_turn(q, k)),
            "two groups of three",
            "your keys in turn",
        ),
        (
            lambda q, k, v: sets_of(q, k, v, None, in_turn(q, k)),
            "two groups of three",
            "your values in turn",
        ),
    ],
    "inference.test": [
        (cuts_anew, "an honest cache", "every cut of an honest cache"),
        (
            lambda *a: [1 - x for x in cuts_right(*a)],
            "an honest cache",
            "does a 1 mark what is wrong",
        ),
        (lambda *a: cuts_right(*a, least=-1), "an honest cache", "every cut of an honest cache"),
        (lambda *a: cuts_right(*a, look=lambda x: x[0]), "places that begin anew", "found nothing"),
        (lambda *a: [*cuts_right(*a)[:-1], 0.0], "places that begin anew", "before the last row"),
        (lambda *a: [0.0, *cuts_right(*a)[1:]], "places that begin anew", "after the first row"),
        (cuts_row_by_row, "a single new row", "one second piece"),
        (
            lambda *a: [cuts_right(*a)[0]] * (len(a[2]) - 1),
            "a single new row",
            "does a single row come second",
        ),
        (lambda *a: cuts_right(*a, look=lambda x: x[-1]), "several new rows", "last row alone"),
        (lambda *a: cuts_right(*a, look=lambda x: x.sum(1)), "two that cancel", "sums of rows"),
        (lambda *a: cuts_right(*a, least=1e-4), "a little off", "small differences pass"),
    ],
}

RIGHT = {
    "explanation.erase": [
        erased_row,
        lambda c, X, b: np.array(
            [c(X) - c(np.vstack([X[:j], b[None], X[j + 1 :]])) for j in range(len(X))]
        ),
    ],
    "explanation.norms": [written_right, lambda *a: written_right(*a).tolist()],
    "explanation.other_row": [far_loop, far_by(lambda w, d: (w[d < 0] / -d[d < 0]).min())],
    "explanation.misled_test": [misled_share, lambda *a: float(misled_share(*a))],
    "real_model.read_head": [
        file_head,
        lambda X, W, b, h, m: (X @ W.T + b).reshape(len(X), m, -1)[:, h].astype(np.float32),
    ],
    "real_model.previous": [share_before, share_loop],
    "real_model.silent": [two_changes, two_masks],
    "real_model.repair": [pooled, lambda X, m: pooled(X, m).tolist()],
    "real_model.by_place": [
        lambda f, ids: back(f, ids, both_ways),
        lambda f, ids: int(
            back(f, ids, lambda n: [np.random.default_rng(s).permutation(n) for s in range(5)])
        ),
    ],
    "images.patches": [cut_loop, lambda x, a, b: cut_loop(x, a, b).astype(np.float32).tolist()],
    "images.from_convolution": [filters, lambda k: np.einsum("fcuv->cuvf", k).reshape(-1, len(k))],
    "images.repair": [roll],
    "images.class_blind": [blind_below(1e-9), lambda *a: int(blind_below(1e-8)(*a))],
    "projections.measure": [
        mixing_right,
        lambda attend, v: (
            mixing_with_the_addend(attend, v) - attend(np.zeros(v.shape)).mean(axis=1)[:, None]
        ).tolist(),
    ],
    "softmax.temperature": [warm, warm_ends, lambda s, T: warm(s, T).tolist()],
    "why_three.one_array": [one_by_sums],
    "why_three.compare": [evidence],
    "masks.to_torch": [torch_right, torch_floats],
    "masks.empty_gradient": [way_back, way_back_float32],
    "cross_attention.layer": [cross_right, cross_by_rows],
    "cross_attention.padded": [pairs_right, pairs_by_cutting],
    "cross_attention.repair": [stack_with, stack_prepared],
    "cross_attention.footprint": [foot_right, foot_random],
    "cost.multiplications": [
        lambda n, d, h, k, v, f: np.array(
            [2 * n * d * h * (k + v), h * n * (n * k + n * v), 2 * n * d * f], float
        ),
        lambda *a: tuple(float(x) for x in priced(*a)),
    ],
    "cost.online": [streamed, streamed_by_key, streamed_in_logs],
    "cost.repair": [united, united_other_way],
    "cost.expose": [suspects_all, suspects_by_chance],
    "order.sinusoids": [clock, lambda n, d, o: clock(n, d, o).tolist()],
    "order.step": [hand, lambda d, s: np.linalg.inv(hand(d, -s))],
    "order.repair": [rope],
    "order.sees_order": [feels_right, feels_neighbours],
    "layer.norm": [ln, lambda X, g, b, e: ln(X, g, b, e).astype(np.float32)],
    "layer.repair": [stack_right, lambda *given: stack_right(*given).tolist()],
    "layer.backward": [norm_back_jacobian, back_numeric],
    "layer.expose": [lambda part, X: max(others(part, X)), others_random],
    "torch_contract.translate_mask": [
        forms_right,
        forms_float,
        lambda a, h, layer, f: (layer(attn_mask=np.repeat(~a, h, 0)), f(attn_mask=a[:, None])),
    ],
    "torch_contract.copy_weights": [torch_split, lambda *a: list(torch_split(*a))],
    "torch_contract.repair_pads": [pooled_alone, pooled_with(lambda pad: pad)],
    "torch_contract.batch_test": [strangers],
    "decoded.from_columns": [
        lambda *W: [np.einsum("...ij->...ji", w) for w in W],
        lambda *W: (*(w.transpose(0, 2, 1) for w in W[:3]), W[3].T.astype(np.float32)),
    ],
    "decoded.fold_code": [
        fold_by_heads,
        lambda W, b, H: (np.einsum("im,hmk->hik", W, H), np.einsum("m,hmk->hk", b, H)),
    ],
    "decoded.repair": [heads_right, lambda *a: heads_right(*a).astype(np.float32)],
    "decoded.double_test": [rank_right],
    "tokens.cut": [cut_right, lambda w, v: np.array(cut_right(w, v), dtype=float)],
    "tokens.one_hot": [
        hot_right,
        lambda ids, n: (np.arange(n) == np.asarray(ids)[..., None]).astype(np.float32).tolist(),
    ],
    "tokens.table_gradient": [
        table_right,
        lambda ids, G, n: hot_right(np.ravel(ids), n).T @ G.reshape(-1, G.shape[-1]),
    ],
    "tokens.alone": [know_right, know_padded],
    "why_three.smallest_bend": [bend_right, lambda M: float(bend_right(M.T))],
    "why_three.repair": [shared, shared_right],
    "why_three.asymmetry": [
        share_right,
        lambda S: float((S * (S - S.T)).sum() / 2 / (S * S).sum()),
    ],
    "look_up.soft": [soft_right, soft_loop, lambda *a: soft_right(*a).astype(np.float32)],
    "look_up.left_out": [
        left_right,
        lambda k, v, b: left_hidden(k, v, b, np.eye(len(k), dtype=bool)),
    ],
    "look_up.one_length": [dot_wide, soft_right],
    "look_up.order_test": [order_some(order_swaps), lambda *a: int(order_some(order_swaps)(*a))],
    "scale.divide": [divided_right, divided_by_loops],
    "scale.means": [
        spread_right,
        lambda mq, vq, mk, vk, d: np.sqrt(d * (vq * vk + vq * mk**2 + vk * mq**2)),
    ],
    "scale.backward": [back_right, back_jacobian],
    "scale.expose": [power_right, power_one_hot],
    "scale.fold": [fold_right, fold_by_brakes],
    "learning.two_maps": [maps_right, maps_by_loops],
    "learning.disguise": [disguise_by_solving],
    "learning.backward": [learn_loops, lambda *args: [g.tolist() for g in learn_loops(*args)]],
    "learning.repair": [train_right],
    "learning.slope_test": [
        lambda loss, g, W: (apart(loss, g, W) > 1e-3).sum(),
        lambda loss, g, W: float((np.abs(slopes_of(loss, W, 1e-5) - g(W)) > 1e-3).sum()),
    ],
    "multi_head.split": [parted_right, lambda x, h: parted_right(x, h).tolist()],
    "multi_head.merge": [join_right, lambda x: join_right(x).astype(np.float32)],
    "multi_head.writes": [silent_right],
    "multi_head.mix_test": [pieces(differ), lambda *a: int(pieces(differ)(*a))],
    "masks.causal": [
        future_right,
        lambda s, o: np.where(np.tri(*s.shape[-2:], o) == 0, -np.inf, s).tolist(),
    ],
    "masks.padding": [
        pads_right,
        lambda s, n: s + np.log(np.arange(s.shape[-1]) < np.asarray(n)[:, None, None]),
    ],
    "masks.after_softmax": [weights_by_rows, lambda s, m: weights_by_rows(s, m).tolist()],
    "masks.empty_row": [safe_right, lambda s, m: safe_right(s, m).astype(np.float32)],
    "masks.leak_test": [reach_right, reach_backwards],
    "softmax.stable": [
        stable_right,
        lambda s: stable_right(s).astype(np.float32),
        lambda s: stable_right(s).tolist(),
    ],
    "softmax.jacobian": [jacobian_loop, lambda w: w[:, None] * (np.eye(len(w)) - w)],
    "softmax.axis": [axis_right, lambda s: np.tril(axis_right(s)).tolist()],
    "softmax.leak_test": [leak_random, leak_entry],
    "dot_product.loop": [
        lambda x, y: x @ y,
        lambda x, y: sum(a * b for a, b in zip(x.tolist(), y.tolist(), strict=True)),
        lambda x, y: np.float32(np.einsum("c,c->", x, y)),
        lambda x, y: np.array(np.dot(x, y)),
    ],
    "dot_product.scores": [
        scores_loops,
        lambda q, k: np.einsum("...id,...jd->...ij", q, k),
        lambda q, k: (q @ np.moveaxis(k, -1, -2)).astype(np.float32),
        lambda q, k: (q[..., :, None, :] * k[..., None, :, :]).sum(-1).tolist(),
    ],
    "dot_product.cosine": [cosine, lambda x, y: np.float32(cosine(x, y))],
    "dot_product.nearest": [
        nearest_masked,
        lambda i, X: max((j for j in range(len(X)) if j != i), key=lambda j: X[j] @ X[i]),
        lambda i, X: float(nearest_masked(i, X)),
    ],
    "dot_product.repair": [cosines_right, cosines_loops],
    "dot_product.expose": [felt, felt_at_length_one],
    "projections.twice": [
        twice_loops,
        lambda W_1, W_2: np.eye(len(W_1)) @ W_1 @ W_2,
        lambda W_1, W_2: (W_2.T @ W_1.T).T.astype(np.float32),
    ],
    "projections.project_qkv": [
        qkv_right,
        lambda *a: list(qkv_right(*a)),
        lambda *a: tuple(part.astype(np.float32) for part in qkv_right(*a)),
        lambda *a: tuple(part.tolist() for part in qkv_right(*a)),
    ],
    "projections.rows": [
        lambda X, W: X @ W,
        lambda X, W: [[float(x @ w) for w in W.T] for x in X],
        lambda X, W: np.einsum("nd,dk->nk", X, W),
        lambda X, W: np.vstack([x @ W for x in X]).astype(np.float32),
    ],
    "projections.repair": [packed_right, lambda *a: [part.tolist() for part in packed_right(*a)]],
    "projections.expose": [fault_right, fault_lists],
    "translator.links": [links_loop, lambda w: np.argmax(w, axis=2)[:, :-1]],
    "translator.error_rate": [rate_right, rate_by_sets],
    "translator.cross_rows": [tr_cross, tr_cross_all],
    "translator.beam_step": [beam_right, lambda b, x, d, n: beam_kept(beam_totals(b, x, d), n)],
    "translator.leak_test": [reads_right, reads_by_words],
    "transformer.shift_right": [shift_right_loop, shift_right_where],
    "transformer.greedy": [write_right, write_after],
    "transformer.count": [
        count_with(),
        lambda d, f, h, k, v, n, r: float(
            n * (6 * h * d * (k + v) + 4 * d * f + 2 * (f + d) + 10 * d) + r * d
        ),
    ],
    "transformer.prefix_test": [prefix_right, prefix_close],
    "two_layers.by_hand": [
        lambda H, g: hops(H, g, notes=hops_shifted),
        lambda H, g: hops(H, g).tolist(),
    ],
    "two_layers.score": [look_score],
    "two_layers.one_read": [
        patch_with,
        lambda X, note, mean, *W: patch_with(X, note - mean, 0, *W),
    ],
    "two_layers.letter_table": [table_of, table_by_loop],
    "two_layers.copies": [copies_right, copies_by_the_chapter],
    "inference.step": [step_by_rows, step_right],
    "inference.repair": [go_on, go_on_by_rows],
    "inference.groups": [sets_of, sets_folded],
    "inference.test": [cuts_right, cuts_allclose],
}
