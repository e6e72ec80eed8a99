"""Laws of attention: whatever maps (q, k, v, mask) to (output, weights)."""

import numpy as np

from tests.core import oracles
from tests.core.lawbook import close, draw, law

N_Q, N_K, D_K, D_V = 3, 5, 7, 2
attention_law = law("scaled_dot_product_attention")


def _inputs(seed=0):
    return draw((N_Q, D_K), (N_K, D_K), (N_K, D_V), seed=seed)


@attention_law
def attention_equals_the_loop(attention):
    q, k, v = _inputs()
    for actual, expected in zip(attention(q, k, v), oracles.attention(q, k, v), strict=True):
        close(actual, expected)


@attention_law
def masked_attention_equals_the_loop(attention):
    q, k, v = _inputs(1)
    mask = oracles.causal(N_Q, N_K, 1)
    for actual, expected in zip(
        attention(q, k, v, mask), oracles.attention(q, k, v, mask), strict=True
    ):
        close(actual, expected)


@attention_law
def attention_works_in_batches(attention):
    q, k, v = draw((11, N_Q, D_K), (11, N_K, D_K), (11, N_K, D_V), seed=2)
    mask = oracles.causal(N_Q, N_K, 1)
    output, weights = attention(q, k, v, mask)
    for b in range(11):
        expected_output, expected_weights = oracles.attention(q[b], k[b], v[b], mask)
        close(output[b], expected_output)
        close(weights[b], expected_weights)


@attention_law
def order_of_keys_does_not_matter(attention):
    q, k, v = _inputs(3)
    order = np.array([3, 0, 4, 2, 1])
    close(attention(q, k[order], v[order])[0], attention(q, k, v)[0])


@attention_law
def order_of_queries_is_kept(attention):
    q, k, v = _inputs(4)
    close(attention(q[::-1], k, v)[0], attention(q, k, v)[0][::-1])


@attention_law
def one_key_means_its_value(attention):
    q, k, v = _inputs(5)
    output, weights = attention(q, k[:1], v[:1])
    close(output, np.repeat(v[:1], N_Q, axis=0))
    close(weights, np.ones((N_Q, 1)))


@attention_law
def one_allowed_key_means_its_value(attention):
    q, k, v = _inputs(6)
    mask = np.zeros((N_Q, N_K), bool)
    mask[0, 4] = mask[1, 0] = mask[2, 2] = True
    output, weights = attention(q, k, v, mask)
    close(output, v[[4, 0, 2]])
    close(weights, mask.astype(float))


@attention_law
def equal_keys_give_the_plain_mean(attention):
    q, k, v = _inputs(7)
    output, _ = attention(q, np.repeat(k[:1], N_K, axis=0), v)
    close(output, np.repeat(v.mean(axis=0, keepdims=True), N_Q, axis=0))


@attention_law
def an_empty_row_gives_a_zero_output(attention):
    q, k, v = _inputs(8)
    mask = oracles.causal(N_Q, N_K, -1)  # the first query may look at nothing
    with np.errstate(all="ignore"):
        output, weights = attention(q, k, v, mask)
    close(output[0], np.zeros(D_V), atol=0)
    close(weights[0], np.zeros(N_K), atol=0)
    close(output[1], v[0])


@attention_law
def no_look_ahead(attention):
    """Under a causal mask, changing the last key and value leaves every earlier row alone."""
    q, k, v = draw((N_K, D_K), (N_K, D_K), (N_K, D_V), seed=9)
    mask = oracles.causal(N_K, N_K)
    before, _ = attention(q, k, v, mask)
    k[-1] += 3.0
    v[-1] -= 5.0
    after, _ = attention(q, k, v, mask)
    close(after[:-1], before[:-1], atol=0)
    assert np.abs(after[-1] - before[-1]).max() > 0.1


@attention_law
def no_look_past_the_padding(attention):
    q, k, v = _inputs(10)
    mask = np.broadcast_to(np.arange(N_K) < 3, (N_Q, N_K))
    close(attention(q, k, v, mask)[0], attention(q, k[:3], v[:3])[0])


@attention_law
def a_number_added_to_a_row_of_scores_changes_nothing(attention):
    """Adding one vector to every key adds q.c to a query's whole row."""
    q, k, v = _inputs(11)
    (c,) = draw((D_K,), seed=12)
    close(attention(q, k + c, v)[0], attention(q, k, v)[0], atol=1e-11)


@attention_law
def values_only_mix_linearly(attention):
    q, k, v = _inputs(13)
    close(attention(q, k, 3.0 * v + 1.0)[0], 3.0 * attention(q, k, v)[0] + 1.0)


@attention_law
def huge_scores_pick_one_key(attention):
    q, k, v = _inputs(14)
    with np.errstate(all="ignore"):
        output, _ = attention(1e6 * q, k, v)
    close(output, v[(q @ k.T).argmax(axis=-1)])


@attention_law
def weights_are_shares(attention):
    q, k, v = _inputs(15)
    _, weights = attention(q, k, v)
    assert weights.shape == (N_Q, N_K)
    assert (weights >= 0).all()
    close(weights.sum(axis=-1), np.ones(N_Q))


@attention_law
def attention_in_float32_stays_there(attention):
    q, k, v = (x.astype(np.float32) for x in _inputs(16))
    output, weights = attention(q, k, v, oracles.causal(N_Q, N_K, 1))
    assert (output.dtype, weights.dtype) == (np.float32, np.float32)
    expected, _ = oracles.attention(q, k, v, oracles.causal(N_Q, N_K, 1))
    close(output, expected, atol=1e-6)


@law("attention_steps")
def steps_are_the_steps(attention_steps):
    q, k, v = _inputs(17)
    mask = oracles.causal(N_Q, N_K, -1)
    steps = attention_steps(q, k, v, mask)
    output, weights = oracles.attention(q, k, v, mask)
    close(steps.dot_products, oracles.scores(q, k))
    close(steps.scaled, oracles.scores(q, k) / np.sqrt(D_K))
    close(steps.scores[mask], steps.scaled[mask], atol=0)
    assert (steps.scores[~mask] == -np.inf).all()
    close(steps.weights, weights)
    close(steps.output, output)
    for name, given in {"q": q, "k": k, "v": v, "mask": mask}.items():
        assert np.array_equal(getattr(steps, name), given)
