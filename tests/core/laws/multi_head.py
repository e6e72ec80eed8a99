"""Laws of multi-head attention. A wrong head split passes every test of shapes and row sums."""

import dataclasses

import numpy as np

import qkv
from tests.core import oracles, samples
from tests.core.lawbook import close, draw, law
from tests.core.samples import D_KV, D_MODEL, D_Q, D_V, N_HEADS, N_K, N_Q

FORMS = ("multi_head_attention", "multi_head_attention_stacked", "multi_head_attention_einsum")
every_form = law(*FORMS, "grouped_multi_head_attention", "cross_attention")


def _inputs(seed=0, **options):
    X_q, X_kv = draw((N_Q, D_Q), (N_K, D_KV), seed=seed)
    return X_q, X_kv, samples.multi_head(seed, **options)


def _both(actual, expected, atol=1e-11):
    for a, b in zip(actual, expected, strict=True):
        close(a, b, atol)


@every_form
def heads_equal_the_loop(attend):
    X_q, X_kv, p = _inputs()
    _both(attend(X_q, X_kv, p), oracles.multi_head(X_q, X_kv, p))


@every_form
def heads_without_biases_equal_the_loop(attend):
    X_q, X_kv, p = _inputs(1, bias=False)
    _both(attend(X_q, X_kv, p), oracles.multi_head(X_q, X_kv, p))


@every_form
def a_mask_is_shared_by_all_heads(attend):
    X_q, X_kv, p = _inputs(2)
    mask = oracles.causal(N_Q, N_K, 1)
    _both(attend(X_q, X_kv, p, mask), oracles.multi_head(X_q, X_kv, p, mask))


@every_form
def each_head_may_have_its_own_mask(attend):
    X_q, X_kv, p = _inputs(3)
    mask = np.stack([oracles.causal(N_Q, N_K, offset) for offset in (0, 2, 4)])
    _both(attend(X_q, X_kv, p, mask), oracles.multi_head(X_q, X_kv, p, mask))


@every_form
def heads_work_in_batches_with_padding(attend):
    X_q, X_kv = draw((N_HEADS, N_Q, D_Q), (N_HEADS, N_K, D_KV), seed=4)  # batch = heads on purpose
    p = samples.multi_head(4)
    lengths = (2, 7, 5)
    mask = np.arange(N_K) < np.array(lengths)[:, None, None]
    output, weights = attend(X_q, X_kv, p, mask)
    for b, length in enumerate(lengths):
        expected_output, expected_weights = oracles.multi_head(X_q[b], X_kv[b, :length], p)
        close(output[b], expected_output, 1e-11)
        close(weights[b, :, :, :length], expected_weights, 1e-11)
        close(weights[b, :, :, length:], np.zeros((N_HEADS, N_Q, N_K - length)), atol=0)


@every_form
def heads_do_not_care_for_the_order_of_keys(attend):
    X_q, X_kv, p = _inputs(5)
    close(attend(X_q, X_kv[::-1], p)[0], attend(X_q, X_kv, p)[0], 1e-11)


@every_form
def permuting_queries_permutes_outputs(attend):
    X_q, X_kv, p = _inputs(6)
    order = np.array([3, 0, 4, 1, 2])
    close(attend(X_q[order], X_kv, p)[0], attend(X_q, X_kv, p)[0][order], 1e-11)


@every_form
def a_silent_head_writes_nothing(attend):
    """With a head's values zero, its rows of W_O may be anything."""
    X_q, X_kv, p = _inputs(7, bias=False)
    W_V, W_O = p.W_V.copy(), p.W_O.copy()
    W_V[1] = 0.0
    quiet = attend(X_q, X_kv, qkv.MultiHeadParameters(p.W_Q, p.W_K, W_V, W_O))[0]
    W_O[D_V : 2 * D_V] = 99.0
    close(attend(X_q, X_kv, qkv.MultiHeadParameters(p.W_Q, p.W_K, W_V, W_O))[0], quiet, 1e-11)


@every_form
def an_empty_row_leaves_the_bias(attend):
    X_q, X_kv, p = _inputs(8)
    with np.errstate(all="ignore"):
        output, weights = attend(X_q, X_kv, p, oracles.causal(N_Q, N_K, -1))
    close(output[0], p.b_O)
    close(weights[:, 0], np.zeros((N_HEADS, N_K)), atol=0)


@every_form
def one_key_means_its_values_written(attend):
    X_q, X_kv, p = _inputs(9, bias=False)
    values = np.concatenate([X_kv[:1] @ W for W in p.W_V], axis=-1)
    close(attend(X_q, X_kv[:1], p)[0], np.repeat(values @ p.W_O, N_Q, axis=0), 1e-11)


@every_form
def heads_in_float32_stay_there(attend):
    X_q, X_kv = (x.astype(np.float32) for x in draw((N_Q, D_Q), (N_K, D_KV)))
    p = samples.multi_head(dtype=np.float32)
    output, weights = attend(X_q, X_kv, p, oracles.causal(N_Q, N_K, 1))
    assert (output.dtype, weights.dtype) == (np.float32, np.float32)


@law("self_attention")
def one_sequence_is_both(self_attention):
    (X,) = draw((N_Q, D_Q))
    p = samples.self_multi_head()
    mask = oracles.causal(N_Q, N_Q)
    _both(self_attention(X, p, mask), oracles.multi_head(X, X, p, mask))


@law("cross_attention")
def a_memory_of_equal_width_is_still_another_sequence(cross_attention):
    X, memory = draw((N_Q, D_Q), (N_K, D_Q), seed=11)
    p = samples.self_multi_head(11)
    _both(cross_attention(X, memory, p), oracles.multi_head(X, memory, p))


@law("multi_head_steps")
def head_steps_are_the_steps(multi_head_steps):
    X_q, X_kv, p = _inputs(10)
    mask = oracles.causal(N_Q, N_K, 1)
    steps = multi_head_steps(X_q, X_kv, p, mask)
    output, weights = oracles.multi_head(X_q, X_kv, p, mask)
    close(steps.output, output, 1e-11)
    close(steps.attention.weights, weights, 1e-11)
    close(steps.writes.sum(axis=0) + p.b_O, output, 1e-11)
    for h in range(N_HEADS):
        close(steps.attention.q[h], oracles.project(X_q, p.W_Q[h], p.b_Q[h]), 1e-11)
        close(steps.attention.k[h], oracles.project(X_kv, p.W_K[h], p.b_K[h]), 1e-11)
        close(steps.attention.v[h], oracles.project(X_kv, p.W_V[h], p.b_V[h]), 1e-11)
        columns = slice(h * D_V, (h + 1) * D_V)
        close(steps.concatenated[:, columns], steps.attention.output[h], atol=0)
        close(steps.writes[h], steps.attention.output[h] @ p.W_O[columns], 1e-11)


@law("split_heads")
def a_head_is_a_slice_of_columns(split_heads):
    (x,) = draw((2, 5, 3 * 7))
    heads = split_heads(x, 3)
    assert heads.shape == (2, 3, 5, 7)
    for h in range(3):
        close(heads[:, h], x[:, :, 7 * h : 7 * (h + 1)], atol=0)


@law("merge_heads")
def merging_lays_heads_side_by_side(merge_heads):
    (heads,) = draw((2, 3, 5, 7))
    x = merge_heads(heads)
    assert x.shape == (2, 5, 21)
    for h in range(3):
        close(x[:, :, 7 * h : 7 * (h + 1)], heads[:, h], atol=0)


@law("split_heads")
def merging_undoes_splitting(split_heads):
    (x,) = draw((2, 5, 21), seed=1)
    heads = split_heads(x, 3)
    close(np.concatenate([heads[:, h] for h in range(3)], axis=-1), x, atol=0)


@law("stack_heads")
def stacking_lays_matrices_side_by_side(stack_heads):
    W, b = draw((3, 5, 7), (3, 7))
    stacked, bias = stack_heads(W, b)
    close(stacked, np.concatenate(list(W), axis=1), atol=0)
    close(bias, np.concatenate(list(b)), atol=0)
    assert stack_heads(W)[1] is None


@law("unstack_heads")
def unstacking_cuts_columns(unstack_heads):
    (W,) = draw((5, 3 * 7))
    heads = unstack_heads(W, 3)
    assert heads.shape == (3, 5, 7)
    for h in range(3):
        close(heads[h], W[:, 7 * h : 7 * (h + 1)], atol=0)


@law("project_heads")
def every_head_projects_every_row(project_heads):
    X, W, b = draw((2, 5, 11), (3, 11, 7), (3, 7))
    for given in (None, b):
        heads = project_heads(X, W, given)
        for i in range(2):
            for h in range(3):
                expected = oracles.project(X[i], W[h], None if given is None else b[h])
                close(heads[i, h], expected)


@law("head_writes")
def writes_sum_to_the_output(head_writes):
    heads, W_O = draw((2, 3, 5, 7), (21, 11))
    writes = head_writes(heads, W_O)
    concatenated = np.concatenate([heads[:, h] for h in range(3)], axis=-1)
    close(writes.sum(axis=1), concatenated @ W_O)
    close(writes[0, 2], oracles.project(heads[0, 2], W_O[14:]))


@law("pack_in_proj")
def packing_turns_every_matrix_over(pack_in_proj):
    p = samples.multi_head(d_q=6, d_kv=6, d_k=2, d_v=2, d_model=6)
    state = pack_in_proj(p)
    assert set(state) == {"in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias"}
    for part, (W, b) in enumerate(((p.W_Q, p.b_Q), (p.W_K, p.b_K), (p.W_V, p.b_V))):
        for h in range(3):
            rows = slice(6 * part + 2 * h, 6 * part + 2 * h + 2)
            close(state["in_proj_weight"][rows], W[h].T, atol=0)
            close(state["in_proj_bias"][rows], b[h], atol=0)
    close(state["out_proj.weight"], p.W_O.T, atol=0)
    close(state["out_proj.bias"], p.b_O, atol=0)


@law("pack_in_proj")
def a_missing_bias_is_packed_as_zeros(pack_in_proj):
    """torch has one switch for all biases."""
    p = samples.multi_head(d_q=6, d_kv=6, d_k=2, d_v=2, d_model=6, dtype=np.float32)
    for name, rows in (("b_Q", slice(0, 6)), ("b_K", slice(6, 12)), ("b_V", slice(12, 18))):
        state = pack_in_proj(dataclasses.replace(p, **{name: None, "b_O": None}))
        expected = pack_in_proj(p)["in_proj_bias"]
        expected[rows] = 0.0
        close(state["in_proj_bias"], expected, atol=0)
        close(state["out_proj.bias"], np.zeros(6), atol=0)
        assert {x.dtype for x in state.values()} == {np.dtype(np.float32)}


@law("pack_in_proj")
def packing_keeps_another_width_apart(pack_in_proj):
    p = samples.multi_head(d_q=6, d_kv=13, d_k=2, d_v=2, d_model=6, bias=False)
    state = pack_in_proj(p)
    assert set(state) == {"q_proj_weight", "k_proj_weight", "v_proj_weight", "out_proj.weight"}
    close(state["k_proj_weight"], np.concatenate([W.T for W in p.W_K]), atol=0)


@law("unpack_in_proj")
def unpacking_undoes_packing(unpack_in_proj):
    for sizes in ({"d_kv": 6}, {"d_kv": 13}):
        for bias in (True, False):
            p = samples.multi_head(d_q=6, d_k=2, d_v=2, d_model=6, bias=bias, **sizes)
            back = unpack_in_proj(qkv.pack_in_proj(p), 3)
            for name in ("W_Q", "W_K", "W_V", "W_O", "b_Q", "b_K", "b_V", "b_O"):
                given, got = getattr(p, name), getattr(back, name)
                assert (given is None) == (got is None)
                if given is not None:
                    close(got, given, atol=0)


@law("repeat_kv_heads")
def heads_are_repeated_in_a_row(repeat):
    (x,) = draw((2, 3, 5, 7))
    repeated = repeat(x, 2)
    assert repeated.shape == (2, 6, 5, 7)
    for h in range(6):
        close(repeated[:, h], x[:, h // 2], atol=0)


@law("grouped_attention")
def groups_equal_the_loop(attend):
    q, k, v = draw((11, 6, 3, 5), (11, 2, 7, 5), (11, 2, 7, 13))
    mask = oracles.causal(3, 7, 2)
    output, weights = attend(q, k, v, mask)
    assert output.shape == (11, 6, 3, 13)
    for h in range(6):
        expected = oracles.attention(q[4, h], k[4, h // 3], v[4, h // 3], mask)
        close(output[4, h], expected[0])
        close(weights[4, h], expected[1])


@law("grouped_multi_head_attention")
def grouped_heads_equal_the_loop(attend):
    X_q, X_kv = draw((N_Q, D_Q), (N_K, D_KV))
    p = samples.multi_head(n_heads=6, n_kv_heads=2)
    output, weights = attend(X_q, X_kv, p)
    assert output.shape == (N_Q, D_MODEL)
    _both((output, weights), oracles.multi_head(X_q, X_kv, p))
