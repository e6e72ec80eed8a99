"""Laws of the cache, of tiles, and of rollout."""

import inspect

import numpy as np

import qkv
from tests.core import oracles, samples
from tests.core.lawbook import close, draw, law

N, D_K, D_V = 7, 5, 2


@law("extend_cache")
def a_cache_grows_at_its_end(extend_cache):
    k, v = draw((3, N, D_K), (3, N, D_V))
    cache = extend_cache(None, k[:, :4], v[:, :4])
    longer = extend_cache(cache, k[:, 4:], v[:, 4:])
    assert (cache.n, longer.n) == (4, 7)
    close(longer.k, k, atol=0)
    close(longer.v, v, atol=0)
    close(cache.k, k[:, :4], atol=0)


@law("cached_attention")
def cached_equals_all_at_once(attend):
    q, k, v = draw((3, N, D_K), (3, N, D_K), (3, N, D_V))
    cache, outputs, widths = None, [], []
    for start, stop in ((0, 3), (3, 4), (4, 7)):
        piece = slice(start, stop)
        output, weights, cache = attend(q[:, piece], k[:, piece], v[:, piece], cache)
        outputs.append(output)
        widths.append(weights.shape[-1])
    assert widths == [3, 4, 7]
    output = np.concatenate(outputs, axis=1)
    for b in range(3):
        close(output[b], oracles.attention(q[b], k[b], v[b], oracles.causal(N, N))[0])


@law("cached_attention")
def the_old_cache_is_left_alone(attend):
    q, k, v = draw((N, D_K), (N, D_K), (N, D_V), seed=1)
    _, _, cache = attend(q[:4], k[:4], v[:4])
    attend(q[4:], k[4:], v[4:], cache)
    close(cache.k, k[:4], atol=0)
    assert cache.n == 4


PIECES = (slice(0, 3), slice(3, 4), slice(4, 7))


@law("cached_self_attention")
def pieces_behind_a_cache_equal_the_loop(attend):
    (X,) = draw((2, N, 11))
    for p in (
        samples.self_multi_head(),
        samples.multi_head(n_heads=6, n_kv_heads=2, d_q=11, d_kv=11, d_model=11),
    ):
        cache, outputs = None, []
        for piece in PIECES:
            output, weights, cache = attend(X[:, piece], p, cache)
            outputs.append(output)
            assert weights.shape == (2, p.n_heads, piece.stop - piece.start, piece.stop)
        output = np.concatenate(outputs, axis=1)
        for b in range(2):
            expected, all_weights = oracles.multi_head(X[b], X[b], p, oracles.causal(N, N))
            close(output[b], expected)
            close(weights[b], np.asarray(all_weights)[:, 4:])
        close(cache.k, qkv.project_heads(X, p.W_K, p.b_K))
        close(cache.v, qkv.project_heads(X, p.W_V, p.b_V))


@law("cached_self_attention")
def a_mask_hides_old_keys_and_new_ones(attend):
    """Two rows of pads lie in the cache, and one among the new rows."""
    (X,) = draw((N, 11), seed=1)
    p, real = samples.self_multi_head(), np.array([1, 0, 1, 0, 1, 1, 0, 1], bool)[1:]
    _, _, cache = attend(X[:4], p, None, real[None, :4])
    for mask in (real[None], np.broadcast_to(real, (3, 1, N))):
        output, weights, _ = attend(X[4:], p, cache, mask)
        both = real[None] & oracles.causal(N, N)
        expected, all_weights = oracles.multi_head(X, X, p, both)
        close(output, np.asarray(expected)[4:])
        close(weights, np.asarray(all_weights)[:, 4:])


@law("cached_self_attention")
def the_cache_that_was_given_is_left_alone(attend):
    (X,) = draw((N, 11), seed=2)
    p = samples.self_multi_head()
    _, _, cache = attend(X[:4], p)
    before = cache.k.copy()
    attend(X[4:], p, cache)
    close(cache.k, before, atol=0)


@law("memory_cache")
def the_memory_is_projected_once(make):
    (memory,) = draw((2, N, 13))
    p = samples.multi_head(n_heads=6, n_kv_heads=2)
    cache = make(memory, p)
    for b in range(2):
        for g in range(2):
            close(cache.k[b, g], oracles.project(memory[b], p.W_K[g], p.b_K[g]))
            close(cache.v[b, g], oracles.project(memory[b], p.W_V[g], p.b_V[g]))


def _decoder_inputs(seed):
    X, memory = draw((2, N, 11), (2, 17, 19), seed=seed)
    real = np.arange(17) < np.array([[[5]], [[13]]])
    return X, memory, np.broadcast_to(real, (2, N, 17))


@law("cached_decoder_layer")
def a_layer_in_pieces_equals_the_loop(layer):
    X, memory, real = _decoder_inputs(3)
    p, cache, outputs = samples.decoder_layer(), None, []
    of_memory = qkv.memory_cache(memory, p.cross_attention)
    for piece in PIECES:
        output, *weights, cache = layer(X[:, piece], of_memory, p, cache, real[:, :1])
        outputs.append(output)
    for b in range(2):
        expected = oracles.decoder_layer(X[b], memory[b], p, oracles.causal(N, N), real[b])
        close(np.concatenate(outputs, axis=1)[b], expected[0], atol=1e-10)
        for actual, wanted in zip(weights, expected[1:], strict=True):
            close(actual[b], np.asarray(wanted)[:, 4:], atol=1e-10)


@law("cached_decoder")
def a_decoder_in_pieces_equals_the_loop(decode):
    X, memory, real = _decoder_inputs(4)
    layers, caches, outputs = (samples.decoder_layer(), samples.decoder_layer(20)), None, []
    of_memory = [qkv.memory_cache(memory, p.cross_attention) for p in layers]
    for piece in PIECES:
        output, own, cross, caches = decode(X[:, piece], of_memory, layers, caches, real[:, :1])
        outputs.append(output)
    output = np.concatenate(outputs, axis=1)
    assert [cache.n for cache in caches] == [N, N]
    for b in range(2):
        row = X[b]
        for i, p in enumerate(layers):
            keys = [oracles.project(row, W, c) for W, c in zip(
                p.self_attention.W_K, p.self_attention.b_K, strict=True)]  # fmt: skip
            close(caches[i].k[b], keys, atol=1e-10)
            row, own_b, cross_b = oracles.decoder_layer(
                row, memory[b], p, oracles.causal(N, N), real[b]
            )
            close(own[i][b], np.asarray(own_b)[:, 4:], atol=1e-10)
            close(cross[i][b], np.asarray(cross_b)[:, 4:], atol=1e-10)
        close(output[b], row, atol=1e-10)


@law("pool_kv_heads")
def neighbouring_heads_are_pooled(pool):
    p = samples.multi_head(n_heads=6)
    shared = pool(p, 2)
    for name in ("W_K", "W_V", "b_K", "b_V"):
        old, new = getattr(p, name), getattr(shared, name)
        close(new, [(old[0] + old[1] + old[2]) / 3, (old[3] + old[4] + old[5]) / 3])
    for name in ("W_Q", "W_O", "b_Q", "b_O"):
        close(getattr(shared, name), getattr(p, name), atol=0)


@law("pool_kv_heads")
def pooling_equal_heads_changes_nothing(pool):
    X_q, X_kv = draw((5, 11), (N, 13), seed=5)
    few = samples.multi_head(n_heads=6, n_kv_heads=2, bias=False)
    W_K, W_V = np.repeat(few.W_K, 3, axis=0), np.repeat(few.W_V, 3, axis=0)
    many = qkv.MultiHeadParameters(few.W_Q, W_K, W_V, few.W_O)
    close(pool(many, 6).W_K, W_K, atol=0)
    shared = pool(many, 2)
    assert shared.n_kv_heads == 2
    close(
        qkv.grouped_multi_head_attention(X_q, X_kv, shared)[0],
        qkv.multi_head_attention(X_q, X_kv, many)[0],
    )


@law("partial_attention")
def partial_equals_the_loop(attend):
    q, k, v = draw((3, D_K), (N, D_K), (N, D_V))
    mask = oracles.causal(3, N, -1)
    for given in (None, mask):
        output, log_totals = attend(q, k, v, given)
        close(output, oracles.attention(q, k, v, given)[0])
        scores = oracles.scores(q, k) / np.sqrt(D_K)
        exponentials = np.exp(scores) * (1.0 if given is None else given)
        with np.errstate(divide="ignore"):
            close(log_totals, np.log(exponentials.sum(axis=1)))


@law("merge_attention")
def merging_equals_all_keys_at_once(merge):
    q, k, v = draw((3, D_K), (N, D_K), (N, D_V), seed=1)
    mask = oracles.causal(3, N, 1)
    parts = [qkv.partial_attention(q, k[s], v[s], mask[:, s]) for s in (slice(2), slice(2, N))]
    output, log_totals = merge(*parts[0], *parts[1])
    expected = qkv.partial_attention(q, k, v, mask)
    close(output, oracles.attention(q, k, v, mask)[0])
    close(log_totals, expected[1])


@law("merge_attention")
def nothing_merged_with_nothing_is_nothing(merge):
    empty = np.full(3, -np.inf)
    with np.errstate(all="ignore"):
        output, log_totals = merge(np.zeros((3, 2)), empty, np.zeros((3, 2)), empty)
    close(output, np.zeros((3, 2)), atol=0)
    assert (log_totals == -np.inf).all()


@law("partial_attention", "tiled_attention")
def each_query_has_its_own_largest_score(attend):
    """The scores of the first query are 1e4 below those of the second."""
    k, v = np.array([[1e2], [1e2]]), np.array([[3.0], [7.0]])
    output, log_totals = attend(np.array([[-1e2], [1e2]]), k, v)
    close(output, [[5.0], [5.0]])
    close(log_totals, [-1e4 + np.log(2), 1e4 + np.log(2)])


@law("partial_attention", "tiled_attention")
def scores_at_the_end_of_float64_give_one_key_all(attend):
    """The scores are 1.2e308 and -1.2e308, and their distance is no float64."""
    k, v = np.array([[1.2e154], [-1.2e154]]), np.array([[3.0], [7.0]])
    for options in ((), (None, 1)) if "tile" in inspect.signature(attend).parameters else ((),):
        output, log_totals = attend(np.array([[1e154]]), k, v, *options)
        close(output, [[3.0]])
        close(log_totals / 1.2e308, [1.0])


@law("merge_attention")
def merging_survives_huge_scores(merge):
    a, b = np.array([[1.0]]), np.array([[3.0]])
    output, log_totals = merge(a, np.array([1e4]), b, np.array([1e4]))
    close(output, [[2.0]])
    close(log_totals, [1e4 + np.log(2)])


@law("tiled_attention")
def tiles_equal_the_loop(attend):
    q, k, v = draw((3, D_K), (N, D_K), (N, D_V), seed=2)
    mask = oracles.causal(3, N, -1)
    for given in (None, mask):
        for tile in (1, 2, 3, 100):
            output, log_totals = attend(q, k, v, given, tile)
            close(output, oracles.attention(q, k, v, given)[0])
            close(log_totals, qkv.partial_attention(q, k, v, given)[1])


@law("tiled_attention")
def log_totals_give_back_the_weights(attend):
    q, k, v = draw((3, D_K), (N, D_K), (N, D_V), seed=3)
    _, log_totals = attend(q, k, v, None, 2)
    weights = np.exp(oracles.scores(q, k) / np.sqrt(D_K) - log_totals[:, None])
    close(weights, oracles.attention(q, k, v)[1])


@law("tiled_attention")
def tiles_work_in_batches_with_padding(attend):
    q, k, v = draw((2, 3, D_K), (2, N, D_K), (2, N, D_V), seed=4)
    mask = np.arange(N) < np.array([4, 6])[:, None, None]
    output, log_totals = attend(q, k, v, mask, 2)
    for b, length in enumerate((4, 6)):
        close(output[b], oracles.attention(q[b], k[b, :length], v[b, :length])[0])
        scores = oracles.scores(q[b], k[b, :length]) / np.sqrt(D_K)
        close(log_totals[b], np.log(np.exp(scores).sum(axis=1)))


@law("tiled_attention")
def tiles_survive_huge_scores(attend):
    q, k, v = draw((3, D_K), (N, D_K), (N, D_V), seed=5)
    with np.errstate(all="ignore"):
        output, _ = attend(1e6 * q, k, v, None, 2)
    close(output, v[(q @ k.T).argmax(axis=1)])


@law("tiled_causal_attention")
def causal_tiles_equal_the_loop(attend):
    for n_q, n_k, offset in ((N, N, 0), (3, N, 4), (3, N, 2), (N, 3, 0)):
        q, k, v = draw((n_q, D_K), (n_k, D_K), (n_k, D_V), seed=6)
        mask = oracles.causal(n_q, n_k, offset)
        for tile in (1, 2, 3, 100):
            output, log_totals = attend(q, k, v, offset, tile)
            close(output, oracles.attention(q, k, v, mask)[0])
            close(log_totals, qkv.partial_attention(q, k, v, mask)[1])
        close(attend(q, k, v, offset)[0], output)


@law("tiled_causal_attention")
def without_an_offset_the_first_query_sees_the_first_key(attend):
    q, k, v = draw((N, D_K), (N, D_K), (N, D_V), seed=7)
    close(attend(q, k, v)[0], oracles.attention(q, k, v, oracles.causal(N, N))[0])


@law("tiled_causal_attention")
def causal_tiles_work_in_batches(attend):
    q, k, v = draw((2, N, D_K), (2, N, D_K), (2, N, D_V), seed=8)
    output, log_totals = attend(q, k, v, 0, 3)
    mask = oracles.causal(N, N)
    for b in range(2):
        close(output[b], oracles.attention(q[b], k[b], v[b], mask)[0])
        exponentials = np.exp(oracles.scores(q[b], k[b]) / np.sqrt(D_K)) * mask
        close(log_totals[b], np.log(exponentials.sum(axis=1)))


@law("attention_rollout")
def rollout_by_hand(rollout):
    first = np.array([[[1.0, 0.0], [0.5, 0.5]], [[1.0, 0.0], [0.1, 0.9]]])
    second = np.array([[[0.2, 0.8], [0.8, 0.2]]])
    step_1 = [[1.0, 0.0], [0.15, 0.85]]
    step_2 = [[0.6, 0.4], [0.4, 0.6]]
    close(rollout([first, second]), np.array(step_2) @ np.array(step_1))


@law("attention_rollout")
def rollout_rows_are_shares(rollout):
    layers = [qkv.softmax(x) for x in draw((2, 3, 5, 5), (2, 7, 5, 5), seed=1)]
    result = rollout(layers)
    close(result.sum(axis=-1), np.ones((2, 5)))
    close(rollout(layers[:1])[1], 0.5 * np.eye(5) + 0.5 * layers[0][1].mean(axis=0))
