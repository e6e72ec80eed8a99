"""Wrong versions of public functions, each a slip that people make.

`test_planted_bugs.py` proves that the laws refuse every one, and prints which law does. The book's
Bug zoo is made from this table: a name, what you see, and the test that would have told you.
Each wrong version differs from the right one in a single thought.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import qkv


@dataclass(frozen=True)
class Bug:
    """A wrong version of one public function.

    Attributes
    ----------
    name : str
        The slip, in words joined by underscores.
    target : str
        The public function that it is a version of.
    symptom : str
        What somebody who made the slip would see.
    wrong : function
        The wrong version itself.
    """

    name: str
    target: str
    symptom: str
    wrong: Callable[..., Any]


BUGS: list[Bug] = []
HARMLESS: list[Bug] = []


def bug(target, symptom, into=BUGS):
    def register(wrong):
        into.append(Bug(wrong.__name__, target, symptom, wrong))
        return wrong

    return register


# --------------------------------------------------------------------------------------------
# Pieces that are right, so that each bug shows its one slip and nothing else.


def turn(x):
    return np.swapaxes(x, -1, -2)


def scores_of(q, k):
    return q @ turn(k) / math.sqrt(q.shape[-1])


def masked(scores, mask):
    return scores if mask is None else np.where(mask, scores, -np.inf)


def attend(scores, v, mask=None):
    weights = qkv.softmax(masked(scores, mask))
    return weights @ v, weights


def raw_softmax(scores, axis=-1):
    """Softmax as it is first written: an empty row is 0/0."""
    exponentials = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return exponentials / exponentials.sum(axis=axis, keepdims=True)


ATTENTION = "scaled_dot_product_attention"

# --------------------------------------------------------------------------------------------
# Scaled dot-product attention.


@bug(ATTENTION, "runs; weights get sharper the wider the keys, and learning stalls")
def no_scale(q, k, v, mask=None):
    return attend(q @ turn(k), v, mask)


@bug(ATTENTION, "runs; weights are nearly equal for wide keys")
def scale_without_the_root(q, k, v, mask=None):
    return attend(q @ turn(k) / q.shape[-1], v, mask)


@bug(ATTENTION, "runs; the same query gives other weights in a longer sentence")
def scale_by_the_number_of_keys(q, k, v, mask=None):
    return attend(q @ turn(k) / math.sqrt(k.shape[-2]), v, mask)


@bug(ATTENTION, "runs; no difference wherever d_k and d_v are equal")
def scale_by_the_width_of_values(q, k, v, mask=None):
    return attend(q @ turn(k) / math.sqrt(v.shape[-1]), v, mask)


@bug(ATTENTION, "runs; the largest weight is 1.000 in every row")
def scale_the_wrong_way(q, k, v, mask=None):
    return attend(q @ turn(k) * math.sqrt(q.shape[-1]), v, mask)


@bug(ATTENTION, "runs; rows of weights no longer sum to 1, the outputs shrink")
def scale_after_the_softmax(q, k, v, mask=None):
    weights = qkv.softmax(masked(q @ turn(k), mask)) / math.sqrt(q.shape[-1])
    return weights @ v, weights


@bug(ATTENTION, "runs; columns sum to 1, and a query's row depends on the other queries")
def softmax_over_the_queries(q, k, v, mask=None):
    weights = turn(qkv.softmax(turn(masked(scores_of(q, k), mask))))
    return weights @ v, weights


@bug(ATTENTION, "runs; all weights of the sentence together sum to 1")
def softmax_over_everything(q, k, v, mask=None):
    scores = masked(scores_of(q, k), mask)
    weights = qkv.softmax(scores.reshape(*scores.shape[:-2], -1)).reshape(scores.shape)
    return weights @ v, weights


@bug(ATTENTION, "runs; weights are flatter than they should be")
def softmax_twice(q, k, v, mask=None):
    return attend(qkv.softmax(masked(scores_of(q, k), mask)), v, mask)


@bug(ATTENTION, "fine on small numbers; NaN once a score passes 709")
def exponentials_as_they_stand(q, k, v, mask=None):
    exponentials = np.exp(masked(scores_of(q, k), mask))
    weights = exponentials / np.maximum(exponentials.sum(axis=-1, keepdims=True), 1e-300)
    return weights @ v, weights


@bug(ATTENTION, "fine in tests; a row far below the largest score of the batch becomes 0/0")
def largest_score_of_the_whole_array(q, k, v, mask=None):
    scores = masked(scores_of(q, k), mask)
    exponentials = np.exp(scores - scores.max())
    weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return weights @ v, weights


@bug(ATTENTION, "runs; every row sums to a little less than 1")
def a_small_number_in_the_denominator(q, k, v, mask=None):
    scores = masked(scores_of(q, k), mask)
    exponentials = np.exp(scores - np.maximum(scores.max(axis=-1, keepdims=True), -1e300))
    weights = exponentials / (exponentials.sum(axis=-1, keepdims=True) + 1e-9)
    return weights @ v, weights


@bug(ATTENTION, "runs; a causal model copies the future and its loss falls to 0 at once")
def mask_with_the_opposite_meaning(q, k, v, mask=None):
    return attend(scores_of(q, k), v, None if mask is None else ~mask)


@bug(ATTENTION, "runs; tests without a mask all pass")
def mask_forgotten(q, k, v, mask=None):
    return attend(scores_of(q, k), v)


@bug(ATTENTION, "runs; rows of weights sum to less than 1, and the future still counts")
def mask_after_the_softmax(q, k, v, mask=None):
    weights = qkv.softmax(scores_of(q, k))
    weights = weights if mask is None else weights * mask
    return weights @ v, weights


@bug(ATTENTION, "right, until a query may look at nothing: 0/0")
def mask_after_the_softmax_and_renormalise(q, k, v, mask=None):
    weights = qkv.softmax(scores_of(q, k))
    weights = weights if mask is None else weights * mask
    weights = weights / weights.sum(axis=-1, keepdims=True)
    return weights @ v, weights


@bug(ATTENTION, "right, until a query may look at nothing: it gets the mean of everything")
def minus_a_billion_for_minus_infinity(q, k, v, mask=None):
    scores = scores_of(q, k)
    return attend(scores if mask is None else np.where(mask, scores, -1e9), v)


@bug(ATTENTION, "right, until a query may look at nothing: NaN, then NaN everywhere")
def empty_row_divides_by_zero(q, k, v, mask=None):
    weights = raw_softmax(masked(scores_of(q, k), mask))
    return weights @ v, weights


@bug(ATTENTION, "runs; every key is still looked at, allowed ones a little more")
def mask_of_zero_and_one_added(q, k, v, mask=None):
    return attend(scores_of(q, k) + (0.0 if mask is None else mask.astype(q.dtype)), v)


@bug(ATTENTION, "runs; a forbidden key gets the weight of an average one")
def mask_of_zero_and_one_multiplied(q, k, v, mask=None):
    return attend(scores_of(q, k) * (1.0 if mask is None else mask.astype(q.dtype)), v)


@bug(ATTENTION, "runs; an encoder that should see both ways sees only the past")
def always_causal(q, k, v, mask=None):
    causal = np.tri(q.shape[-2], k.shape[-2], dtype=bool)
    return attend(scores_of(q, k), v, causal if mask is None else mask & causal)


@bug(ATTENTION, "an error if d_k and d_v differ; where they are equal, keys are averaged")
def keys_and_values_swapped(q, k, v, mask=None):
    return attend(scores_of(q, v), k, mask)


@bug(ATTENTION, "an error unless n_q = n_k; then each value is sent to whoever looked at it")
def weights_turned_over(q, k, v, mask=None):
    weights = qkv.softmax(masked(scores_of(q, k), mask))
    return turn(weights) @ v, weights


@bug(ATTENTION, "the right shape and meaningless scores")
def keys_reshaped_for_transposed(q, k, v, mask=None):
    reshaped = k.reshape(*k.shape[:-2], k.shape[-1], k.shape[-2])
    return attend(q @ reshaped / math.sqrt(q.shape[-1]), v, mask)


@bug(ATTENTION, "an error in a batch; for one sentence it is right")
def transpose_of_all_axes(q, k, v, mask=None):
    return attend(q @ k.T / math.sqrt(q.shape[-1]), v, mask)


@bug(ATTENTION, "runs; outputs shrink as sentences grow")
def mean_on_top_of_the_mean(q, k, v, mask=None):
    output, weights = attend(scores_of(q, k), v, mask)
    return output / k.shape[-2], weights


@bug(ATTENTION, "runs; how strongly a key is meant no longer counts")
def cosines_for_dot_products(q, k, v, mask=None):
    return attend(qkv.cosine_scores(q, k) * math.sqrt(q.shape[-1]), v, mask)


@bug(ATTENTION, "two calls with the same input give two outputs; rows do not sum to 1")
def dropout_left_on(q, k, v, mask=None, rng=np.random.default_rng(0)):  # noqa: B008
    _, weights = attend(scores_of(q, k), v, mask)
    weights = weights * (rng.uniform(size=weights.shape) > 0.1) / 0.9
    return weights @ v, weights


@bug(ATTENTION, "right the first time; the caller's q has been divided, and the second is wrong")
def the_callers_queries_scaled_in_place(q, k, v, mask=None):
    q /= math.sqrt(q.shape[-1])
    return attend(q @ turn(k), v, mask)


@bug(ATTENTION, "right numbers at twice the memory: float32 came back as float64")
def a_float64_constant(q, k, v, mask=None):
    return attend(q @ turn(k) / np.sqrt(np.full(1, q.shape[-1], np.float64)), v, mask)


# --------------------------------------------------------------------------------------------
# Softmax and look-up.


@bug("softmax", "runs; columns sum to 1")
def softmax_over_the_first_axis(scores):
    return raw_softmax(np.asarray(scores, float), axis=0)


@bug("softmax", "NaN once a score passes 709")
def no_maximum_taken_off(scores):
    exponentials = np.exp(scores)
    total = exponentials.sum(axis=-1, keepdims=True)
    return exponentials / np.where(total == 0, 1, total)


@bug("softmax", "NaN in a row of -inf")
def a_row_of_minus_infinity(scores):
    return raw_softmax(scores)


@bug("softmax", "runs; every weight is a little too even")
def powers_of_two(scores):
    return qkv.softmax(np.asarray(scores) * math.log(2))


@bug("softmax", "an error, or, if the array is square, rows divided by other rows' totals")
def total_without_keepdims(scores):
    exponentials = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1)


@bug("softmax", "runs; a key with a strongly negative score wins")
def largest_by_absolute_value(scores):
    exponentials = np.exp(np.abs(scores) - np.abs(scores).max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@bug("softmax_with_temperature", "a high temperature decides and a low one levels")
def multiplied_by_the_temperature(scores, temperature):
    return qkv.softmax(np.asarray(scores) * temperature)


@bug("kernel_regression", "runs; the far tail counts too much")
def distance_not_squared(q, k, v, bandwidth=1.0):
    return attend(-np.sqrt(qkv.squared_distances(q, k)) / (2 * bandwidth**2), v)


@bug("kernel_regression", "runs; the bandwidth is off by the root of two")
def factor_two_forgotten(q, k, v, bandwidth=1.0):
    return attend(-qkv.squared_distances(q, k) / bandwidth**2, v)


@bug("squared_distances", "right for small numbers; 0 for points that are far away and apart")
def distance_by_three_products(q, k):
    q, k = np.asarray(q), np.asarray(k)
    squares_q, squares_k = np.sum(q * q, axis=-1), np.sum(k * k, axis=-1)
    return squares_q[..., :, None] - 2 * q @ turn(k) + squares_k[..., None, :]


@bug("attention_with_bias", "runs; the bias counts root d_k times too little")
def bias_scaled_with_the_scores(q, k, v, bias, mask=None):
    return attend((q @ turn(k) + bias) / math.sqrt(q.shape[-1]), v, mask)


@bug("attention_with_bias", "runs; a row no longer sums to 1")
def bias_added_to_the_weights(q, k, v, bias, mask=None):
    weights = qkv.softmax(masked(scores_of(q, k), mask)) + np.where(bias == -np.inf, 0, bias)
    return weights @ v, weights


@bug("soft_capped_attention", "runs; a forbidden key gets exp(-cap) and is looked at")
def mask_before_the_cap(q, k, v, cap, mask=None):
    return attend(cap * np.tanh(masked(scores_of(q, k), mask) / cap), v)


@bug("additive_scores", "runs; without the bend between them two matrices are one")
def no_tanh(q, k, W_Q, W_K, w):
    return ((q @ W_Q)[..., :, None, :] + (k @ W_K)[..., None, :, :]) @ w


@bug("cross_entropy", "runs; the loss is that of another word")
def target_counted_from_one(scores, targets):
    return qkv.cross_entropy(scores, (np.asarray(targets) + 1) % np.shape(scores)[-1])


# --------------------------------------------------------------------------------------------
# Masks.


@bug("causal_mask", "runs; each word sees only what comes after it")
def triu_for_tril(n_q, n_k=None, offset=0):
    n_k = n_q + offset if n_k is None else n_k
    return np.triu(np.ones((n_q, n_k), bool), k=offset)


@bug("causal_mask", "the loss falls to 0: each word sees the one it has to predict")
def causal_off_by_one_ahead(n_q, n_k=None, offset=0):
    return qkv.causal_mask(n_q, n_q + offset if n_k is None else n_k, offset + 1)


@bug("causal_mask", "the first row is empty, and no word sees itself")
def causal_off_by_one_behind(n_q, n_k=None, offset=0):
    n_k = n_q + offset if n_k is None else n_k
    return np.tri(n_q, n_k, k=offset - 1, dtype=bool)


@bug("causal_mask", "right without a cache; with one, a new word sees only the first old word")
def top_left_with_a_cache(n_q, n_k=None, offset=0):
    return np.tri(n_q, n_q + offset if n_k is None else n_k, dtype=bool)


@bug("causal_mask", "right where the sizes fit; a window in the middle of a sequence is not")
def bottom_right_whatever_the_offset(n_q, n_k=None, offset=0):
    n_k = n_q + offset if n_k is None else n_k
    return np.tri(n_q, n_k, k=n_k - n_q, dtype=bool)


@bug("causal_mask", "added to the scores it forbids nothing")
def mask_of_floats(n_q, n_k=None, offset=0):
    return np.tri(n_q, n_q + offset if n_k is None else n_k, k=offset)


@bug("padding_mask", "an error; where n_q = n_k, pads are looked at and real queries silenced")
def padding_on_the_query_axis(lengths, n_k):
    return np.arange(n_k)[None, :, None] < np.asarray(lengths)[:, None, None]


@bug("padding_mask", "runs; one pad token is always looked at")
def padding_off_by_one(lengths, n_k):
    return np.arange(n_k) <= np.asarray(lengths)[:, None, None]


@bug("padding_mask", "runs; the first words are cut off and the pads kept")
def padding_on_the_left(lengths, n_k):
    return np.arange(n_k) >= n_k - np.asarray(lengths)[:, None, None]


@bug("window_mask", "runs; nobody sees what comes next")
def window_to_one_side(n_q, n_k=None, reach=1, offset=0):
    return qkv.window_mask(n_q, n_k, reach, offset) & qkv.causal_mask(n_q, n_k, offset)


# --------------------------------------------------------------------------------------------
# Projections and heads.


@bug("project", "an error unless W is square; then every row is mapped by the transpose")
def weights_stored_out_in(X, W, b=None):
    return X @ W.T if b is None else X @ W.T + b


@bug("project", "runs; the bias is mapped too")
def bias_before_the_matrix(X, W, b=None):
    return X @ W if b is None else (X + b[: X.shape[-1]]) @ W


@bug("project_qkv", "an error if the widths differ; self-attention cannot tell")
def queries_from_the_memory(X_q, X_kv, W_Q, W_K, W_V):
    return qkv.project_qkv(X_kv, X_kv, W_Q, W_K, W_V)


@bug("project_qkv", "an error if the widths differ; self-attention cannot tell")
def values_from_the_asking_sequence(X_q, X_kv, W_Q, W_K, W_V):
    return X_q @ W_Q, X_kv @ W_K, X_q @ W_V


@bug("project_qkv", "runs wherever d_k = d_v; keys and values are one array")
def keys_by_the_matrix_of_values(X_q, X_kv, W_Q, W_K, W_V):
    return X_q @ W_Q, X_kv @ W_V[:, : W_K.shape[1]], X_kv @ W_V


@bug("project_qkv", "runs wherever d_model = d_k; the score matrix is W_Q W_Q W_K^T")
def queries_projected_twice(X_q, X_kv, W_Q, W_K, W_V):
    q = X_q @ W_Q
    return np.pad(q, ((0, 0), (0, W_Q.shape[0] - q.shape[1]))) @ W_Q, X_kv @ W_K, X_kv @ W_V


@bug("split_heads", "the right shape, and heads made of pieces of several tokens")
def split_without_the_transpose(x, n_heads):
    *batch, n, width = x.shape
    return x.reshape(*batch, n_heads, n, width // n_heads)


@bug("split_heads", "the right shape, and head 0 takes every third column")
def split_every_hth_column(x, n_heads):
    *batch, n, width = x.shape
    return np.moveaxis(x.reshape(*batch, n, width // n_heads, n_heads), -1, -3)


@bug("merge_heads", "the right shape, and a row of the output holds one head of several tokens")
def merge_without_the_transpose(heads):
    *batch, n_heads, n, d = heads.shape
    return heads.reshape(*batch, n, n_heads * d)


@bug("stack_heads", "the right shape, and columns of one head come from rows of another")
def stack_without_the_transpose(W, b=None):
    n_heads, d_in, d = W.shape
    return W.reshape(d_in, n_heads * d), None if b is None else b.reshape(-1)


@bug("unstack_heads", "the right shape, and each head has some rows of all heads")
def unstack_without_the_transpose(W, n_heads):
    return W.reshape(n_heads, W.shape[0], -1)


@bug("multi_head_attention", "runs; all heads show one and the same picture")
def one_small_matrix_for_all_heads(X_q, X_kv, p, mask=None):
    first = {name: np.stack([getattr(p, name)[0]] * p.n_heads) for name in ("W_Q", "W_K", "W_V")}
    return qkv.multi_head_attention(X_q, X_kv, replace(p, **first), mask)


@bug("multi_head_attention", "runs; a checkpoint's heads write with each other's rows of W_O")
def heads_concatenated_in_reverse(X_q, X_kv, p, mask=None):
    steps = qkv.multi_head_steps(X_q, X_kv, p, mask)
    backwards = qkv.merge_heads(steps.attention.output[..., ::-1, :, :])
    return qkv.project(backwards, p.W_O, p.b_O), steps.attention.weights


@bug("multi_head_attention", "runs; the output is h times too small")
def heads_averaged_for_summed(X_q, X_kv, p, mask=None):
    output, weights = qkv.multi_head_attention(X_q, X_kv, p, mask)
    bias = 0.0 if p.b_O is None else p.b_O
    return (output - bias) / p.n_heads + bias, weights


@bug("multi_head_attention", "runs; the bias is added once a head")
def bias_of_the_output_in_every_head(X_q, X_kv, p, mask=None):
    output, weights = qkv.multi_head_attention(X_q, X_kv, p, mask)
    return output if p.b_O is None else output + (p.n_heads - 1) * p.b_O, weights


@bug("multi_head_attention", "a picture that no head has: one row per query, heads averaged")
def weights_averaged_over_heads(X_q, X_kv, p, mask=None):
    output, weights = qkv.multi_head_attention(X_q, X_kv, p, mask)
    return output, weights.mean(axis=-3)


@bug("multi_head_attention", "runs; weights are too even, the more heads the more")
def scale_by_the_width_of_all_heads(X_q, X_kv, p, mask=None):
    shrink = 1 / math.sqrt(p.n_heads)
    b_Q = None if p.b_Q is None else p.b_Q * shrink
    return qkv.multi_head_attention(X_q, X_kv, replace(p, W_Q=p.W_Q * shrink, b_Q=b_Q), mask)


@bug(
    "multi_head_attention", "an error unless batch and heads are as many; then sentences swap masks"
)
def padding_mask_on_the_axis_of_heads(X_q, X_kv, p, mask=None):
    steps = qkv.multi_head_steps(X_q, X_kv, p)
    heads, weights = attend(steps.attention.scaled, steps.attention.v, mask)
    return qkv.project(qkv.merge_heads(heads), p.W_O, p.b_O), weights


@bug("multi_head_attention", "runs; queries are cut out of X before the matrix sees all of it")
def split_before_project(X_q, X_kv, p, mask=None):
    d = p.d_q // p.n_heads
    W_Q = np.zeros_like(p.W_Q)
    for h in range(p.n_heads):
        W_Q[h, h * d : (h + 1) * d] = p.W_Q[h, h * d : (h + 1) * d]
    return qkv.multi_head_attention(X_q, X_kv, replace(p, W_Q=W_Q), mask)


@bug("multi_head_attention", "runs; the output never leaves the plane of the values")
def output_matrix_forgotten(X_q, X_kv, p, mask=None):
    steps = qkv.multi_head_steps(X_q, X_kv, p, mask)
    return steps.concatenated[..., : p.d_model], steps.attention.weights


@bug("cross_attention", "an error unless widths agree; then the decoder never sees the source")
def cross_attention_to_itself(X, memory, p, mask=None):
    return qkv.multi_head_attention(X, X, p, mask)


@bug("cross_attention", "an error unless widths agree; then an output row for each source word")
def memory_asks_the_decoder(X, memory, p, mask=None):
    return qkv.multi_head_attention(memory, X, p, mask)


@bug("pack_in_proj", "torch loads it without complaint and computes something else")
def packed_without_turning(p):
    state = qkv.pack_in_proj(p)
    if "in_proj_weight" in state:
        parts = np.split(state["in_proj_weight"], 3)
        state["in_proj_weight"] = np.concatenate([part.T for part in parts])
    return state


@bug("unpack_in_proj", "torch's queries become keys")
def packed_in_another_order(state, n_heads):
    p = qkv.unpack_in_proj(state, n_heads)
    if p.d_q != p.d_kv:
        return p
    return replace(p, W_Q=p.W_K, W_K=p.W_Q, b_Q=p.b_K, b_K=p.b_Q)


@bug("repeat_kv_heads", "runs; head 1 looks into the cache of head 1 and not of head 0")
def tiled_for_interleaved(x, times):
    return np.concatenate([x] * times, axis=-3)


@bug("grouped_attention", "runs; groups of queries share the wrong keys")
def groups_of_keys_tiled(q, k, v, mask=None):
    times = q.shape[-3] // k.shape[-3]
    k, v = (np.concatenate([x] * times, axis=-3) for x in (k, v))
    return qkv.scaled_dot_product_attention(q, k, v, mask)


@bug("grouped_attention", "runs; all queries use the first head of keys")
def one_head_of_keys_for_all(q, k, v, mask=None):
    k, v = (np.repeat(x[..., :1, :, :], q.shape[-3], axis=-3) for x in (k, v))
    return qkv.scaled_dot_product_attention(q, k, v, mask)


# --------------------------------------------------------------------------------------------
# Positions.


@bug("sinusoidal_positions", "runs; a step is no longer one matrix on neighbouring columns")
def sines_first_then_cosines(n, d_model, offset=0):
    P = qkv.sinusoidal_positions(n, d_model, offset)
    return np.concatenate([P[:, 0::2], P[:, 1::2]], axis=1)


@bug("sinusoidal_positions", "runs; every column has its own speed and no pair turns")
def every_column_its_own_speed(n, d_model, offset=0):
    column = np.arange(d_model)
    angle = np.arange(offset, offset + n)[:, None] / 10000 ** (column / d_model)
    return np.where(column % 2 == 0, np.sin(angle), np.cos(angle))


@bug("sinusoidal_positions", "runs; a model trained elsewhere sees every word one place later")
def positions_from_one(n, d_model, offset=0):
    return qkv.sinusoidal_positions(n, d_model, offset + 1)


@bug("embed_tokens", "runs; the position drowns the word at the start of training")
def embeddings_not_scaled(ids, E, offset=0):
    X = qkv.embed(ids, E)
    return X + qkv.sinusoidal_positions(*X.shape[-2:], offset)


@bug("embed_tokens", "runs; positions are scaled with the words")
def positions_scaled_too(ids, E, offset=0):
    X = qkv.embed(ids, E)
    positions = qkv.sinusoidal_positions(*X.shape[-2:], offset)
    return math.sqrt(X.shape[-1]) * (X + positions)


@bug("learned_positions", "runs; after a cache every word is the first again")
def learned_positions_start_again(P, n, offset=0):
    return P[:n].copy()


@bug("rotary_positions", "runs, and relative positions work; a checkpoint gives nonsense")
def turned_the_other_way(x, offset=0, base=10000.0):
    flipped = x * np.where(np.arange(x.shape[-1]) % 2, -1.0, 1.0)
    rotated = qkv.rotary_positions(flipped, offset, base)
    return rotated * np.where(np.arange(x.shape[-1]) % 2, -1.0, 1.0)


@bug("rotary_positions", "runs, and relative positions work; a checkpoint gives nonsense")
def halves_for_neighbours(x, offset=0, base=10000.0):
    return qkv.rotary_positions_halves(x, offset, base)


@bug("rotary_positions", "right in training; with a cache every new word is at position 0")
def rotary_positions_start_again(x, offset=0, base=10000.0):
    return qkv.rotary_positions(x, 0, base)


@bug("rotary_positions", "runs; scores depend on where, for lengths change with the position")
def cosine_in_place_of_sine(x, offset=0, base=10000.0):
    n, d_k = x.shape[-2:]
    angle = np.arange(offset, offset + n)[:, None] * base ** (-np.arange(0, d_k, 2) / d_k)
    rotated = np.empty_like(x)
    rotated[..., 0::2] = x[..., 0::2] * np.cos(angle) - x[..., 1::2] * np.cos(angle)
    rotated[..., 1::2] = x[..., 0::2] * np.cos(angle) + x[..., 1::2] * np.cos(angle)
    return rotated


@bug("rotary_attention", "runs; even a single value comes back turned by its position")
def values_turned_too(q, k, v, mask=None):
    q, k, v = (qkv.rotary_positions(x) for x in (q, k, v))
    return qkv.scaled_dot_product_attention(q, k, v, mask)


@bug("rotary_attention", "runs; scores depend on where the key stands and not how far")
def only_keys_turned(q, k, v, mask=None):
    return qkv.scaled_dot_product_attention(q, qkv.rotary_positions(k), v, mask)


# --------------------------------------------------------------------------------------------
# Layers and the Transformer.


@bug("layer_norm", "runs; each row depends on the others, so the future leaks")
def norm_over_the_tokens(X, p):
    if X.ndim == 1:
        return qkv.layer_norm(X, p)
    deviation = np.sqrt(X.var(axis=-2, keepdims=True) + p.epsilon)
    return (X - X.mean(axis=-2, keepdims=True)) / deviation * p.gain + p.shift


@bug("layer_norm", "runs; off in the third digit from every other implementation")
def variance_with_n_minus_one(X, p):
    deviation = np.sqrt(X.var(axis=-1, ddof=1, keepdims=True) + p.epsilon)
    return (X - X.mean(axis=-1, keepdims=True)) / deviation * p.gain + p.shift


@bug("layer_norm", "runs; off where the variance is small")
def epsilon_outside_the_root(X, p):
    deviation = X.std(axis=-1, keepdims=True) + p.epsilon
    return (X - X.mean(axis=-1, keepdims=True)) / deviation * p.gain + p.shift


@bug("layer_norm", "right before training: the gain is still 1")
def gain_forgotten(X, p):
    return qkv.layer_norm(X, replace(p, gain=np.ones_like(p.gain)))


@bug("layer_norm", "runs; the mean of a row is not taken off")
def root_mean_square_for_variance(X, p):
    return X / np.sqrt(np.mean(X**2, axis=-1, keepdims=True) + p.epsilon) * p.gain + p.shift


@bug("gelu", "runs; off in the fourth digit")
def gelu_by_tanh(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


@bug("feed_forward", "runs; nothing negative ever enters the residual stream")
def activation_at_the_end(X, p):
    hidden = qkv.project(X, p.W_1, p.b_1)
    return p.activation(qkv.project(hidden, p.W_2, p.b_2))


@bug("encoder_layer", "runs for two layers; deeper, the words are forgotten")
def residual_forgotten(X, p, mask=None):
    read, weights = qkv.self_attention(X, p.attention, mask)
    X = qkv.layer_norm(read, p.norm_1)
    return qkv.layer_norm(X + qkv.feed_forward(X, p.feed_forward), p.norm_2), weights


@bug("encoder_layer", "runs, often better; it is another model than the paper's")
def pre_norm_for_post_norm(X, p, mask=None):
    return qkv.encoder_layer_pre_norm(X, p, mask)


@bug("encoder_layer", "runs; one LayerNorm is used twice and the other never")
def one_norm_used_twice(X, p, mask=None):
    return qkv.encoder_layer(X, replace(p, norm_2=p.norm_1), mask)


@bug("encoder_layer_pre_norm", "runs; keys and values grow with the depth of the stream")
def only_queries_normalised(X, p, mask=None):
    normal = qkv.layer_norm(X, p.norm_1)
    read, weights = qkv.cross_attention(normal, X, p.attention, mask)
    X = X + read
    return X + qkv.feed_forward(qkv.layer_norm(X, p.norm_2), p.feed_forward), weights


@bug("encoder_layer_pre_norm", "runs; the stream itself is normalised, so nothing is left alone")
def residual_of_the_normalised_row(X, p, mask=None):
    X = qkv.layer_norm(X, p.norm_1)
    read, weights = qkv.self_attention(X, p.attention, mask)
    X = qkv.layer_norm(X + read, p.norm_2)
    return X + qkv.feed_forward(X, p.feed_forward), weights


@bug("decoder_layer", "runs; the queries come from the previous layer, as the paper's prose has it")
def cross_queries_from_the_layer_before(X, memory, p, mask=None, memory_mask=None):
    read, self_weights = qkv.self_attention(X, p.self_attention, mask)
    after = qkv.layer_norm(X + read, p.norm_1)
    read, cross_weights = qkv.cross_attention(X, memory, p.cross_attention, memory_mask)
    X = qkv.layer_norm(after + read, p.norm_2)
    X = qkv.layer_norm(X + qkv.feed_forward(X, p.feed_forward), p.norm_3)
    return X, self_weights, cross_weights


@bug("decoder_layer", "the loss falls to 0, and generation is noise")
def decoder_without_its_mask(X, memory, p, mask=None, memory_mask=None):
    return qkv.decoder_layer(X, memory, p, None, memory_mask)


@bug("decoder_layer", "an error unless n_q = n_k; then pads are seen and words are not")
def masks_swapped(X, memory, p, mask=None, memory_mask=None):
    return qkv.decoder_layer(X, memory, p, memory_mask, mask)


@bug("decoder_layer_pre_norm", "runs; the memory, normalised once already, is normalised again")
def memory_normalised_again(X, memory, p, mask=None, memory_mask=None):
    width = memory.shape[-1]
    plain = qkv.LayerNormParameters(np.ones(width), np.zeros(width))
    return qkv.decoder_layer_pre_norm(X, qkv.layer_norm(memory, plain), p, mask, memory_mask)


@bug("decoder", "runs; only the first layer sees what the decoder has made so far")
def every_layer_reads_the_first_x(X, memory, layers, mask=None, memory_mask=None):
    results = [qkv.decoder_layer(X, memory, p, mask, memory_mask) for p in layers]
    outputs, self_weights, cross_weights = zip(*results, strict=True)
    return outputs[-1], self_weights, cross_weights


@bug("transformer", "runs; each decoder layer reads the encoder layer at its own height")
def memory_of_the_same_height(source_ids, target_ids, p, source_mask=None):
    memory = qkv.embed_tokens(source_ids, p.E_source)
    X = qkv.embed_tokens(target_ids, p.E_target)
    mask = qkv.causal_mask(X.shape[-2])
    for reading, writing in zip(p.encoder, p.decoder, strict=True):
        memory, _ = qkv.encoder_layer(memory, reading, source_mask)
        X, _, _ = qkv.decoder_layer(X, memory, writing, mask, source_mask)
    return qkv.vocabulary_scores(X, p.E_target)


@bug("transformer", "runs; words come out in an order that the source does not have")
def positions_forgotten(source_ids, target_ids, p, source_mask=None):
    X_source = math.sqrt(p.E_source.shape[1]) * qkv.embed(source_ids, p.E_source)
    X_target = math.sqrt(p.E_target.shape[1]) * qkv.embed(target_ids, p.E_target)
    memory, _ = qkv.encoder(X_source, p.encoder, source_mask)
    mask = qkv.causal_mask(X_target.shape[-2])
    X, _, _ = qkv.decoder(X_target, memory, p.decoder, mask, source_mask)
    return qkv.vocabulary_scores(X, p.E_target)


@bug("transformer", "runs; a padded sentence is translated otherwise than the same one alone")
def source_mask_not_handed_to_the_decoder(source_ids, target_ids, p, source_mask=None):
    memory, _ = qkv.encoder(qkv.embed_tokens(source_ids, p.E_source), p.encoder, source_mask)
    X = qkv.embed_tokens(target_ids, p.E_target)
    X, _, _ = qkv.decoder(X, memory, p.decoder, qkv.causal_mask(X.shape[-2]))
    return qkv.vocabulary_scores(X, p.E_target)


@bug("transformer_sites", "runs; the query of cross-attention comes from the layer below")
def the_query_of_the_previous_layer(source_ids, target_ids, p):
    sites = list(qkv.transformer_sites(source_ids, target_ids, p))
    for i, site in enumerate(sites):
        if site.name == "cross":
            sites[i] = replace(site, X_q=sites[i - 1].X_q)
    return tuple(sites)


@bug("greedy_decode", "runs; the first row is read, which never changes")
def the_first_row_is_read(source_ids, parameters, ends, longest=20):
    written = [ends[0]]
    while len(written) <= longest and not (len(written) > 1 and written[-1] == ends[1]):
        written.append(int(qkv.transformer(source_ids, written, parameters)[0].argmax()))
    return tuple(written)


@bug("beam_search", "runs; the probability of the last word alone decides")
def the_last_word_decides(source_ids, parameters, ends, n_beams=4, longest=20):
    beams = [((ends[0],), 0.0)]
    for _ in range(longest):
        longer = []
        for written, log_p in beams:
            if len(written) > 1 and written[-1] == ends[1]:
                longer.append((written, log_p))
                continue
            p = qkv.softmax(qkv.transformer(source_ids, written, parameters)[-1])
            longer += [((*written, i), float(np.log(p[i]))) for i in range(len(p))]
        beams = sorted(longer, key=lambda beam: -beam[1])[:n_beams]
    return beams


@bug("vocabulary_scores", "runs; scores of rare words explode")
def tied_by_the_pseudo_inverse(X, E, b=None):
    scores = X @ np.linalg.pinv(E)
    return scores if b is None else scores + b


# --------------------------------------------------------------------------------------------
# Inference.


@bug("cached_attention", "right for a first call; behind a cache, new words see only old ones")
def causal_mask_without_the_offset(q, k, v, cache=None):
    longer = qkv.extend_cache(cache, k, v)
    mask = np.tri(q.shape[-2], longer.n, dtype=bool)
    return *qkv.scaled_dot_product_attention(q, longer.k, longer.v, mask), longer


@bug("cached_attention", "right for one new word at a time; two at once see each other")
def no_mask_behind_a_cache(q, k, v, cache=None):
    longer = qkv.extend_cache(cache, k, v)
    return *qkv.scaled_dot_product_attention(q, longer.k, longer.v), longer


@bug("cached_self_attention", "right for one row at a time; several new rows see each other")
def no_mask_among_new_rows(X, p, cache=None, mask=None):
    k, v = qkv.project_heads(X, p.W_K, p.b_K), qkv.project_heads(X, p.W_V, p.b_V)
    longer = qkv.extend_cache(cache, k, v)
    q = qkv.project_heads(X, p.W_Q, p.b_Q)
    heads, weights = qkv.grouped_attention(q, longer.k, longer.v)
    return qkv.project(qkv.merge_heads(heads), p.W_O, p.b_O), weights, longer


@bug("cached_self_attention", "right without pads; pads in the cache are looked at ever after")
def mask_of_new_keys_alone(X, p, cache=None, mask=None):
    if mask is not None:
        mask = np.array(mask)
        mask[..., : mask.shape[-1] - X.shape[-2]] = True
    return qkv.cached_self_attention(X, p, cache, mask)


@bug("cached_self_attention", "right for heads of their own; groups are handed out in turn")
def groups_in_turn_behind_a_cache(X, p, cache=None, mask=None):
    times = p.n_heads // p.n_kv_heads
    turned = [np.tile(a, (times, 1, 1)) for a in (p.W_K, p.W_V)]
    biases = [np.tile(b, (times, 1)) for b in (p.b_K, p.b_V)]
    tiled = qkv.MultiHeadParameters(p.W_Q, *turned, p.W_O, p.b_Q, *biases, p.b_O)
    output, weights, longer = qkv.cached_self_attention(X, tiled, cache, mask)
    return output, weights, longer


@bug("memory_cache", "runs; every head gets keys without their bias")
def memory_without_a_bias(memory, p):
    return qkv.KVCache(qkv.project_heads(memory, p.W_K), qkv.project_heads(memory, p.W_V, p.b_V))


@bug("cached_decoder_layer", "right at the first call; the layer forgets what it has read")
def layer_forgets_its_cache(X, of_memory, p, cache=None, memory_mask=None):
    return qkv.cached_decoder_layer(X, of_memory, p, None, memory_mask)


@bug("cached_decoder_layer", "right for sentences of one length; pads of the memory are read")
def pads_of_the_memory_are_read(X, of_memory, p, cache=None, memory_mask=None):
    return qkv.cached_decoder_layer(X, of_memory, p, cache)


@bug("cached_decoder", "right for one layer; all layers share the first one's cache")
def one_cache_for_all_layers(X, of_memory, layers, caches=None, memory_mask=None):
    shared = None if caches is None else [caches[0]] * len(layers)
    return qkv.cached_decoder(X, of_memory, layers, shared, memory_mask)


@bug("pool_kv_heads", "right shapes; heads far apart are pooled, so each asks the wrong group")
def pooled_in_turn(p, n_kv_heads):
    import dataclasses

    new = {
        name: np.stack([getattr(p, name)[g::n_kv_heads].mean(axis=0) for g in range(n_kv_heads)])
        for name in ("W_K", "W_V", "b_K", "b_V")
        if getattr(p, name) is not None
    }
    return dataclasses.replace(p, **new)


@bug("pool_kv_heads", "keys are three times as long, and weights too sharp")
def pooled_by_a_sum(p, n_kv_heads):
    import dataclasses

    shared, times = qkv.pool_kv_heads(p, n_kv_heads), p.n_kv_heads // n_kv_heads
    return dataclasses.replace(shared, W_K=times * shared.W_K, W_V=times * shared.W_V)


@bug("extend_cache", "runs; the newest word stands first")
def new_keys_in_front(cache, k, v):
    if cache is None:
        return qkv.extend_cache(None, k, v)
    return qkv.extend_cache(qkv.KVCache(k, v), cache.k, cache.v)


@bug("extend_cache", "runs; of two branches of a search, one finds the other's words in its cache")
def cache_changed_in_place(cache, k, v):
    if cache is None:
        return qkv.KVCache(k, v)
    longer = qkv.extend_cache(cache, k, v)
    object.__setattr__(cache, "k", longer.k)
    object.__setattr__(cache, "v", longer.v)
    return cache


@bug("merge_attention", "runs; a tile with hardly any weight counts as much as the others")
def tiles_averaged(output_a, log_a, output_b, log_b):
    return (output_a + output_b) / 2, np.logaddexp(log_a, log_b)


@bug("merge_attention", "fine on small numbers; NaN on large ones")
def totals_taken_out_of_the_log(output_a, log_a, output_b, log_b):
    total_a, total_b = np.exp(log_a)[..., None], np.exp(log_b)[..., None]
    output = (total_a * output_a + total_b * output_b) / (total_a + total_b)
    return output, np.log(total_a + total_b)[..., 0]


@bug("tiled_attention", "right where the tile divides n; otherwise the last keys are lost")
def last_tile_forgotten(q, k, v, mask=None, tile=256):
    n = max(k.shape[-2] // tile * tile, 1) if tile < k.shape[-2] else k.shape[-2]
    seen = None if mask is None else np.broadcast_to(mask, (*mask.shape[:-1], k.shape[-2]))[..., :n]
    return qkv.tiled_attention(q, k[..., :n, :], v[..., :n, :], seen, tile)


@bug("tiled_attention", "runs; a softmax of each tile, added up")
def each_tile_its_own_softmax(q, k, v, mask=None, tile=256):
    output, log_totals = qkv.tiled_attention(q, k, v, mask, tile)
    starts = range(0, k.shape[-2], tile)
    parts = [
        qkv.partial_attention(q, k[..., j : j + tile, :], v[..., j : j + tile, :])[0]
        for j in starts
    ]
    return output if len(parts) == 1 else sum(parts), log_totals


@bug("tiled_causal_attention", "right in the first tile; later tiles start their mask again")
def causal_mask_of_the_tile(q, k, v, offset=0, tile=256):
    n_q, n_k = q.shape[-2], k.shape[-2]
    mask = np.zeros((n_q, n_k), bool)
    for t in range(n_q):
        for j in range(n_k):
            mask[t, j] = j // tile < t // tile or j % tile <= t % tile + offset
    return qkv.tiled_attention(q, k, v, mask, tile)


@bug("cut_patches", "runs; every row is a piece of a line of pixels")
def strips_for_patches(images, size):
    return np.asarray(images).reshape(*np.shape(images)[:-2], -1, size * size)


@bug("image_tokens", "runs; the class token has no position, and patch 1 has its code")
def codes_moved_by_one(images, p):
    X = qkv.image_tokens(images, p) - p.P
    return X + np.roll(p.P, 1, axis=0)


@bug("vision_transformer", "runs; the last patch is read in place of the class token")
def the_last_row_is_read(images, p, mask=None):
    X, seen = qkv.image_tokens(images, p), []
    for layer in p.layers:
        X, weights = qkv.encoder_layer_pre_norm(X, layer, mask)
        seen.append(weights)
    return qkv.layer_norm(X[..., -1, :], p.norm) @ p.W_R + p.b_R, tuple(seen)


@bug("vision_transformer", "runs; post-norm layers under pre-norm weights")
def post_norm_layers(images, p, mask=None):
    X, seen = qkv.encoder(qkv.image_tokens(images, p), p.layers, mask)
    return qkv.layer_norm(X[..., 0, :], p.norm) @ p.W_R + p.b_R, tuple(seen)


@bug("attention_rollout", "runs; the residual stream is left out and everything blurs")
def rollout_without_the_residual(weights_by_layer):
    rollout = np.eye(weights_by_layer[0].shape[-1])
    for weights in weights_by_layer:
        rollout = weights.mean(axis=-3) @ rollout
    return rollout


@bug("attention_rollout", "runs; the last layer is taken for the first")
def rollout_from_the_top(weights_by_layer):
    return qkv.attention_rollout(weights_by_layer[::-1])


@bug("attention_flops", "half of what a profiler prints")
def multiply_add_counted_once(n_q, n_k, d_k, d_v):
    return n_q * n_k * (d_k + d_v)


@bug("encoder_layer_parameter_count", "2,560 short of the paper's layer")
def feed_forward_biases_forgotten(sizes):
    return qkv.encoder_layer_parameter_count(sizes) - sizes.d_ff - sizes.d_model


# --------------------------------------------------------------------------------------------
# Backward passes.


@bug("softmax_backward", "trains, slowly: the weights do not hear of each other")
def only_the_diagonal_of_softmax(weights, grad_weights):
    return weights * (1 - weights) * grad_weights


@bug("attention_backward", "trains; gradients of W_Q and W_K are root d_k too large")
def backward_without_the_scale(q, k, v, grad_output, mask=None):
    grad_q, grad_k, grad_v = qkv.attention_backward(q, k, v, grad_output, mask)
    root = math.sqrt(q.shape[-1])
    return grad_q * root, grad_k * root, grad_v


@bug("attention_backward", "trains; gradients flow to words that were not looked at")
def backward_without_the_mask(q, k, v, grad_output, mask=None):
    return qkv.attention_backward(q, k, v, grad_output)


@bug("layer_norm_backward", "trains; the gradient has a part that LayerNorm undoes")
def statistics_taken_for_constants(X, p, grad_output):
    _, grad_gain, grad_shift = qkv.layer_norm_backward(X, p, grad_output)
    deviation = np.sqrt(X.var(axis=-1, keepdims=True) + p.epsilon)
    return grad_output * p.gain / deviation, grad_gain, grad_shift


@bug("project_backward", "an error in a batch, or the gradient of one sentence alone")
def gradient_of_the_last_sentence(X, W, grad_output):
    grad_X, _, grad_b = qkv.project_backward(X, W, grad_output)
    rows = X.reshape(-1, *X.shape[-2:])[-1], grad_output.reshape(-1, *grad_output.shape[-2:])[-1]
    return grad_X, rows[0].T @ rows[1], grad_b


@bug("multi_head_attention_backward", "trains; the memory hears from its keys and not its values")
def memory_gradient_from_keys_alone(X_q, X_kv, p, grad_output, mask=None):
    grad_X_q, _, grads = qkv.multi_head_attention_backward(X_q, X_kv, p, grad_output, mask)
    silent = replace(p, W_V=np.zeros_like(p.W_V), b_V=None)
    steps = qkv.multi_head_steps(X_q, X_kv, p, mask)
    grad_heads = qkv.split_heads(grad_output @ p.W_O.T, p.n_heads)
    _, grad_k, _ = qkv.attention_backward(
        steps.attention.q, steps.attention.k, steps.attention.v, grad_heads, steps.attention.mask
    )
    return grad_X_q, qkv.project_heads_backward(X_kv, silent.W_K, grad_k)[0], grads


@bug("cross_entropy_backward", "the loss rises")
def shares_without_the_target(scores, targets):
    return qkv.softmax(scores)


# --------------------------------------------------------------------------------------------
# Slips that change nothing, and why. No test can refuse them, and none does.


@bug(
    "multi_head_attention",
    "nothing: b_K adds one number to a whole row of scores, and softmax does not see it",
    into=HARMLESS,
)
def key_bias_forgotten(X_q, X_kv, p, mask=None):
    return qkv.multi_head_attention(X_q, X_kv, replace(p, b_K=None), mask)


@bug(
    ATTENTION,
    "nothing: dividing q by root d_k before the product is the same sum",
    into=HARMLESS,
)
def queries_scaled_before_the_product(q, k, v, mask=None):
    return attend((q / math.sqrt(q.shape[-1])) @ turn(k), v, mask)


@bug(
    "multi_head_attention",
    "nothing: heads have no order, as long as the rows of W_O move with them",
    into=HARMLESS,
)
def heads_in_another_order(X_q, X_kv, p, mask=None):
    order = np.arange(p.n_heads)[::-1]
    rows = p.W_O.reshape(p.n_heads, p.d_v, p.d_model)[order].reshape(p.W_O.shape)
    moved = {
        name: None if getattr(p, name) is None else getattr(p, name)[order]
        for name in ("W_Q", "W_K", "W_V", "b_Q", "b_K", "b_V")
    }
    if mask is not None and np.ndim(mask) > np.ndim(X_q):
        mask = mask[..., order, :, :]
    output, weights = qkv.multi_head_attention(X_q, X_kv, replace(p, W_O=rows, **moved), mask)
    return output, weights[..., order, :, :]
