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


WRONG = {
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
}

RIGHT = {
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
    "learning.backward": [learn_loops, lambda *args: [g.tolist() for g in learn_loops(*args)]],
    "learning.repair": [train_right],
    "learning.slope_test": [
        lambda loss, g, W: (apart(loss, g, W) > 1e-3).sum(),
        lambda loss, g, W: float((np.abs(slopes_of(loss, W, 1e-5) - g(W)) > 1e-3).sum()),
    ],
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
}
