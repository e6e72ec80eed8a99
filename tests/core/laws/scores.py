"""Laws of the other scores, of attention from any scores, of bias and of the soft cap."""

import math

import numpy as np

from tests.core import oracles
from tests.core.lawbook import close, draw, law

N_Q, N_K, D_K, D_V = 3, 5, 7, 2


@law("cosine_scores")
def cosine_scores_equal_the_loop(cosine_scores):
    q, k = draw((N_Q, D_K), (N_K, D_K))
    expected = [
        [oracles.dot(a, b) / math.sqrt(oracles.dot(a, a) * oracles.dot(b, b)) for b in k] for a in q
    ]
    close(cosine_scores(q, k), expected)
    close(cosine_scores(np.stack([q, -q]), np.stack([k, k]))[1], -np.array(expected))


@law("bilinear_scores")
def bilinear_scores_equal_the_loop(bilinear_scores):
    X_q, X_kv, M = draw((3, 5), (7, 11), (5, 11))
    expected = [
        [sum(x[r] * M[r, c] * y[c] for r in range(5) for c in range(11)) for y in X_kv] for x in X_q
    ]
    close(bilinear_scores(X_q, X_kv, M), expected)


@law("bilinear_scores")
def scores_see_one_matrix(bilinear_scores):
    """With M = W_Q W_K^T they are the dot products of queries with keys."""
    X_q, X_kv, W_Q, W_K = draw((2, 3, 5), (2, 7, 11), (5, 13), (11, 13), seed=1)
    expected = (X_q @ W_Q) @ np.swapaxes(X_kv @ W_K, -1, -2)
    close(bilinear_scores(X_q, X_kv, W_Q @ W_K.T), expected, atol=1e-11)


@law("additive_scores")
def additive_scores_equal_the_loop(additive_scores):
    q, k, W_Q, W_K, w = draw((3, 5), (7, 11), (5, 2), (11, 2), (2,))
    hidden_q, hidden_k = oracles.project(q, W_Q), oracles.project(k, W_K)
    expected = [
        [sum(w[c] * math.tanh(a[c] + b[c]) for c in range(2)) for b in hidden_k] for a in hidden_q
    ]
    close(additive_scores(q, k, W_Q, W_K, w), expected)
    batch = additive_scores(np.stack([q, 0 * q]), np.stack([k, k]), W_Q, W_K, w)
    close(batch[0], expected)


@law("attention_from_scores")
def from_scores_equals_the_loop(attend):
    scores, v = draw((N_Q, N_K), (N_K, D_V))
    scores[1, 2] = -np.inf
    mask = oracles.causal(N_Q, N_K, 2)
    for given in (None, mask):
        actual = attend(scores, v, given)
        expected = oracles.attention_from_scores(scores, v, given)
        for a, b in zip(actual, expected, strict=True):
            close(a, b)


@law("attention_from_scores")
def from_scores_an_empty_row_gives_zeros(attend):
    scores, v = draw((N_Q, N_K), (N_K, D_V), seed=1)
    scores[1] = -np.inf
    output, weights = attend(scores, v, oracles.causal(N_Q, N_K, -1))
    close(output[:2], np.zeros((2, D_V)), atol=0)
    close(weights[:2], np.zeros((2, N_K)), atol=0)


@law("attention_with_bias")
def bias_equals_the_loop(attend):
    q, k, v, bias = draw((N_Q, D_K), (N_K, D_K), (N_K, D_V), (N_Q, N_K))
    mask = oracles.causal(N_Q, N_K, 1)
    for given in (None, mask):
        actual = attend(q, k, v, bias, given)
        expected = oracles.attention(q, k, v, given, bias=bias)
        for a, b in zip(actual, expected, strict=True):
            close(a, b)


@law("attention_with_bias")
def a_bias_of_minus_infinity_is_a_mask(attend):
    q, k, v = draw((11, N_Q, D_K), (11, N_K, D_K), (11, N_K, D_V), seed=1)
    mask = oracles.causal(N_Q, N_K, -1)
    bias = np.where(mask, 0.0, -np.inf)
    output, weights = attend(q, k, v, bias)
    for b in range(11):
        close(output[b], oracles.attention(q[b], k[b], v[b], mask)[0])
    close(weights[:, 0], np.zeros((11, N_K)), atol=0)


@law("attention_with_bias")
def the_lowest_number_forbids_as_minus_infinity_does(attend):
    q, k, v = (x.astype(np.float32) for x in draw((N_Q, D_K), (N_K, D_K), (N_K, D_V), seed=4))
    bias = np.zeros((N_Q, N_K), np.float32)
    bias[:, 2] = np.finfo(np.float32).min
    _, weights = attend(q, k, v, bias)
    close(weights[:, 2], np.zeros(N_Q), atol=0)
    close(weights.sum(axis=1), np.ones(N_Q), atol=1e-6)


@law("attention_with_bias")
def a_bias_of_zero_and_one_forbids_nothing(attend):
    q, k, v = draw((N_Q, D_K), (N_K, D_K), (N_K, D_V), seed=2)
    _, weights = attend(q, k, v, oracles.causal(N_Q, N_K, 1).astype(float))
    assert (weights > 0).all()


@law("attention_with_bias")
def a_bias_may_be_shared_or_differ_by_batch(attend):
    q, k, v, bias = draw((11, N_Q, D_K), (11, N_K, D_K), (11, N_K, D_V), (11, 1, N_K), seed=3)
    output, _ = attend(q, k, v, bias)
    for b in range(11):
        full = np.repeat(bias[b], N_Q, axis=0)
        close(output[b], oracles.attention(q[b], k[b], v[b], bias=full)[0])


@law("soft_cap")
def cap_equals_the_loop(soft_cap):
    (scores,) = draw((3, 5))
    close(soft_cap(9 * scores, 2.5), [[2.5 * math.tanh(9 * s / 2.5) for s in r] for r in scores])


@law("soft_cap")
def a_cap_bounds_and_keeps_order(soft_cap):
    scores = np.array([-1e300, -3.0, -1e-9, 0.0, 1e-9, 3.0, 1e300])
    capped = soft_cap(scores, 5.0)
    assert np.abs(capped).max() <= 5.0
    assert (np.diff(capped) > 0).all()
    close(capped[2:5], scores[2:5], atol=1e-20)


@law("soft_capped_attention")
def capped_attention_caps_before_the_mask(attend):
    q, k, v = draw((N_Q, D_K), (N_K, D_K), (N_K, D_V))
    mask = oracles.causal(N_Q, N_K, -1)
    capped = [
        [1.5 * math.tanh(9 * s / math.sqrt(D_K) / 1.5) for s in r] for r in oracles.scores(q, k)
    ]
    expected = oracles.attention_from_scores(capped, v, mask)
    for a, b in zip(attend(9 * q, k, v, 1.5, mask), expected, strict=True):
        close(a, b)


@law("soft_capped_attention")
def a_high_cap_changes_nothing(attend):
    q, k, v = draw((N_Q, D_K), (N_K, D_K), (N_K, D_V), seed=1)
    close(attend(q, k, v, 1e9)[0], oracles.attention(q, k, v)[0])


@law("soft_capped_attention")
def each_batch_is_capped_alone(attend):
    q, k, v = draw((11, N_Q, D_K), (11, N_K, D_K), (11, N_K, D_V), seed=2)
    output, _ = attend(q, k, v, 0.5)
    for b in range(11):
        capped = 0.5 * np.tanh(oracles.scores(q[b], k[b]) / math.sqrt(D_K) / 0.5)
        close(output[b], oracles.attention_from_scores(capped, v[b])[0])
