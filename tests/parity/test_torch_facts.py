"""What torch does, fact by fact: the appendix "A contract with torch" prints these.

Each test says what was measured with the version below. Another version skips them all: then
measure again, and read the page again.
"""

import pytest
import torch
from torch import nn
from torch.nn import functional

import qkv
from qkv import twins
from tests.parity.draws import Numbers
from tests.parity.record import note
from tests.parity.test_layers import torchs_own_warnings

VERSION = "2.13"
pytestmark = pytest.mark.skipif(
    not torch.__version__.startswith(VERSION), reason=f"these facts are of torch {VERSION}"
)
sdpa = functional.scaled_dot_product_attention
N_Q, N_K, D_K, D_V, E, N_HEADS = 3, 5, 7, 2, 10, 2


def fact(text):
    note(f"torch {torch.__version__}: {text}")


@pytest.fixture
def numbers():
    return Numbers(0, torch.float64)


@pytest.fixture
def qkv_of_one_head(numbers):
    return numbers.normal(N_Q, D_K), numbers.normal(N_K, D_K), numbers.normal(N_K, D_V)


@pytest.fixture
def layer(numbers):
    """An nn.MultiheadAttention whose biases are not zero, in training mode."""
    return numbers.disturb(nn.MultiheadAttention(E, N_HEADS, batch_first=True, dtype=torch.float64))


@pytest.fixture
def X(numbers):  # noqa: N802
    return numbers.normal(2, N_Q, E)


def equal(x, y, atol=1e-12):
    return torch.allclose(x, y, rtol=0, atol=atol)


def blocks_all_of_row(i):
    blocked = torch.zeros(N_Q, N_Q, dtype=torch.bool)
    blocked[i] = True
    return blocked


# Masks


def test_true_keeps_in_one_function_and_blocks_in_the_other(qkv_of_one_head, layer, X):
    q, k, v = qkv_of_one_head
    first_key = torch.zeros(N_Q, N_K, dtype=torch.bool)
    first_key[:, 0] = True
    assert equal(sdpa(q, k, v, attn_mask=first_key), v[:1].expand(N_Q, D_V))
    _, weights = layer(X, X, X, attn_mask=first_key[:, :N_Q])
    assert (weights[..., 0] == 0).all()
    assert equal(weights[..., 1:].sum(-1), torch.ones(2, N_Q, dtype=torch.float64))


def test_a_float_mask_of_0_and_1_only_adds_1(qkv_of_one_head):
    q, k, v = qkv_of_one_head
    zero_one = torch.tensor([[1.0, 0, 1, 0, 0]], dtype=torch.float64).expand(N_Q, N_K)
    bias, _ = qkv.attention_with_bias(q.numpy(), k.numpy(), v.numpy(), zero_one.numpy())
    assert equal(sdpa(q, k, v, attn_mask=zero_one), torch.from_numpy(bias))
    ones = torch.ones(N_Q, N_K, dtype=torch.float64)
    assert equal(sdpa(q, k, v, attn_mask=ones), sdpa(q, k, v))
    with pytest.raises(ValueError, match="mask must be bool"):
        qkv.scaled_dot_product_attention(q.numpy(), k.numpy(), v.numpy(), zero_one.numpy())


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8])
def test_an_integer_mask_is_refused(qkv_of_one_head, layer, X, dtype):
    q, k, v = qkv_of_one_head
    with pytest.raises(RuntimeError, match="Expected attn_mask dtype to be bool or float"):
        sdpa(q, k, v, attn_mask=torch.ones(N_Q, N_K, dtype=dtype))
    with pytest.raises(AssertionError, match="only bool and floating types of attn_mask"):
        layer(X, X, X, attn_mask=torch.ones(N_Q, N_Q, dtype=dtype))
    with pytest.raises(AssertionError, match="only bool and floating types of key_padding_mask"):
        layer(X, X, X, key_padding_mask=torch.zeros(2, N_Q, dtype=dtype))


def test_a_bool_mask_beside_a_float_mask_warns(layer, X):
    masks = {
        "attn_mask": torch.zeros(N_Q, N_Q, dtype=torch.float64),
        "key_padding_mask": torch.zeros(2, N_Q, dtype=torch.bool),
    }
    with pytest.warns(UserWarning, match="mismatched key_padding_mask and attn_mask"):
        layer(X, X, X, **masks)


def test_a_mask_of_three_axes_counts_batch_first_then_heads(layer, X):
    """Its first axis is batch * n_heads, and entry b * n_heads + h is head h of sequence b."""
    allowed = Numbers(1, torch.float64).allowed(2 * N_HEADS, N_Q, N_Q)
    _, weights = layer(X, X, X, attn_mask=~allowed, average_attn_weights=False)
    assert torch.equal(weights != 0, allowed.reshape(2, N_HEADS, N_Q, N_Q))


# is_causal


def test_is_causal_is_top_left():
    """One new query behind a cache of five keys is answered with the first value, not a mean."""
    numbers = Numbers(0, torch.float64)
    q, k, v = numbers.normal(1, D_K), numbers.normal(N_K, D_K), numbers.normal(N_K, D_V)
    assert equal(sdpa(q, k, v, is_causal=True), v[:1])
    behind = qkv.causal_mask(1, N_K, offset=N_K - 1)
    assert equal(sdpa(q, k, v, attn_mask=torch.from_numpy(behind)), sdpa(q, k, v))


def test_is_causal_needs_a_mask_and_may_override_it(layer, X):
    last_key = torch.zeros(N_Q, N_Q, dtype=torch.bool)
    last_key[:, -1] = True
    future = torch.ones(N_Q, N_Q, dtype=torch.bool).triu(1)
    with pytest.raises(RuntimeError, match="Need attn_mask if specifying the is_causal hint"):
        layer(X, X, X, is_causal=True)
    for need_weights, wins in ((True, last_key), (False, future)):
        output, _ = layer(X, X, X, None, need_weights, last_key, is_causal=True)
        expected, _ = layer(X, X, X, None, need_weights, wins)
        assert equal(output, expected)
    layer.eval()
    with torch.no_grad():
        output, _ = layer(X, X, X, None, False, last_key, is_causal=True)
        expected, _ = layer(X, X, X, None, False, last_key)
    assert equal(output, expected)
    fact(
        "is_causal overrides a given mask with need_weights=False, but not in eval mode without"
        " gradients, where the fast path heeds the mask"
    )


def test_is_causal_with_a_scale_of_zero_or_less_is_nan():
    """Four axes and equal widths reach the fused kernel, which multiplies -inf by the scale."""
    numbers = Numbers(0, torch.float32)
    q, k, v = (
        numbers.normal(1, 1, N_Q, 8),
        numbers.normal(1, 1, N_K, 8),
        numbers.normal(1, 1, N_K, 8),
    )
    for scale in (0.0, -1.0):
        assert sdpa(q, k, v, is_causal=True, scale=scale).isnan().any()
        assert sdpa(q[0], k[0], v[0], is_causal=True, scale=scale).isfinite().all()
        masked = torch.from_numpy(qkv.causal_mask(N_Q, N_K))
        assert sdpa(q, k, v, attn_mask=masked, scale=scale).isfinite().all()
    fact("is_causal with scale <= 0 gives NaN in the fused CPU kernel")


# Rows that may look at nothing


def test_an_empty_row_of_sdpa_gives_zeros_with_zero_gradients(qkv_of_one_head):
    q, k, v = (x.requires_grad_() for x in qkv_of_one_head)
    allowed = torch.ones(N_Q, N_K, dtype=torch.bool)
    allowed[1] = False
    for mask in (allowed, torch.zeros(N_Q, N_K, dtype=q.dtype).masked_fill(~allowed, -torch.inf)):
        output = sdpa(q, k, v, attn_mask=mask)
        assert not output[1].any()
        gradients = torch.autograd.grad(output.sum(), (q, k, v))
        assert all(g.isfinite().all() for g in gradients)
        assert not gradients[0][1].any()


def test_an_empty_row_without_weights_gives_the_output_bias(layer, X):
    output, _ = layer(X, X, X, attn_mask=blocks_all_of_row(1), need_weights=False)
    assert equal(output[:, 1], layer.out_proj.bias.expand(2, E))
    output.sum().backward()
    assert all(p.grad.isfinite().all() for p in layer.parameters())


def test_an_empty_row_with_weights_is_nan_and_spoils_every_gradient(layer, X):
    output, weights = layer(X, X, X, attn_mask=blocks_all_of_row(1))
    assert output[:, 1].isnan().all()
    assert weights[:, 1].isnan().all()
    others = output[:, [0, 2]]
    assert others.isfinite().all()
    others.sum().backward()  # not even with the bad row left out of the loss
    for parameter in (layer.in_proj_weight, layer.in_proj_bias):
        assert parameter.grad.isnan().all()


def test_an_empty_row_on_the_fast_path_is_nan_even_without_weights(layer, X):
    layer.eval()
    with torch.no_grad():
        output, _ = layer(X, X, X, attn_mask=blocks_all_of_row(1), need_weights=False)
    assert output[:, 1].isnan().all()
    assert output[:, [0, 2]].isfinite().all()
    fact(
        "an empty row with need_weights=False is NaN in eval mode without gradients (fast path),"
        " out_proj.bias otherwise"
    )


def test_our_empty_row_is_zeros_then_the_output_bias(layer, X):
    state = {name: x.numpy() for name, x in layer.state_dict().items()}
    twin = twins.MultiHeadAttention(qkv.unpack_in_proj(state, N_HEADS))
    output, weights = twin(X, X, ~blocks_all_of_row(1)[None])
    assert not weights[:, :, 1].any()
    assert equal(output[:, 1], layer.out_proj.bias.expand(2, E))
    output.sum().backward()
    assert all(p.grad.isfinite().all() for p in twin.parameters())


# -1e9 in place of -inf


def test_filling_in_a_large_number_makes_an_empty_row_uniform():
    """Over all keys: pads and the future too."""
    scores = Numbers(0, torch.float32).normal(1, N_K)
    everything = torch.ones(1, N_K, dtype=torch.bool)
    weights = torch.softmax(scores.masked_fill(everything, -1e9), dim=-1)
    assert equal(weights, torch.full((1, N_K), 0.2), atol=1e-7)


def test_adding_a_large_number_in_float64_brings_the_unmasked_softmax_back():
    scores = Numbers(0, torch.float64).normal(1, N_K)
    added = torch.softmax(scores - 1e9, dim=-1)
    difference = (added - torch.softmax(scores, dim=-1)).abs().max().item()
    assert difference < 1e-6
    uniform = torch.softmax(scores.float() - 1e9, dim=-1)
    assert equal(uniform, torch.full((1, N_K), 0.2), atol=1e-7)
    fact(
        f"adding -1e9 to a whole row: float64 gives the unmasked softmax to {difference:.0e},"
        " float32 the uniform one"
    )


def test_a_large_number_does_not_fit_float16():
    scores = Numbers(0, torch.float16).normal(1, N_K)
    everything = torch.ones(1, N_K, dtype=torch.bool)
    with pytest.raises(RuntimeError, match=r"cannot be converted to type .*Half"):
        scores.masked_fill(everything, -1e9)
    assert (scores - 1e9).isneginf().all()
    assert torch.softmax(scores - 1e9, dim=-1).isnan().all()
    fact("-1e9 in float16: filling in raises, adding gives -inf and a NaN row")


# What a layer returns


def test_training_mode_returns_weights_after_dropout(X):
    torch.manual_seed(0)
    layer = nn.MultiheadAttention(E, N_HEADS, dropout=0.5, batch_first=True, dtype=torch.float64)
    _, weights = layer(X, X, X)
    sums = weights.sum(dim=-1)
    assert (sums - 1.0).abs().max() > 0.1
    layer.eval()
    _, weights = layer(X, X, X)
    assert equal(weights.sum(dim=-1), torch.ones(2, N_Q, dtype=torch.float64))
    fact(f"rows of weights in training sum to {sums.min():.2f} ... {sums.max():.2f} (dropout 0.5)")


def test_weights_are_averaged_over_heads_by_default(layer, X):
    _, mean = layer(X, X, X)
    _, each = layer(X, X, X, average_attn_weights=False)
    assert mean.shape == (2, N_Q, N_Q)
    assert each.shape == (2, N_HEADS, N_Q, N_Q)
    assert equal(mean, each.mean(dim=1))


def test_the_batch_is_not_first_by_default():
    """Forgotten batch_first: the shapes pass, and tokens attend across sequences."""
    layer = nn.MultiheadAttention(E, N_HEADS, dtype=torch.float64)
    X = Numbers(0, torch.float64).normal(2, N_Q, E)
    output, weights = layer(X, X, X)
    assert output.shape == X.shape
    assert weights.shape == (N_Q, 2, 2)
    changed = X.clone()
    changed[1] += 1.0
    assert not equal(layer(changed, changed, changed)[0][0], output[0])


def test_the_fast_path_of_an_encoder_zeroes_padded_rows(numbers):
    with torchs_own_warnings():
        layer = nn.TransformerEncoderLayer(E, N_HEADS, 7, 0.0, batch_first=True)
        encoder = nn.TransformerEncoder(layer.double(), 2)
        X, padded = numbers.normal(2, N_Q, E), torch.tensor([[False] * 3, [False, False, True]])
        slow = encoder(X, src_key_padding_mask=padded)
        encoder.eval()
        with torch.no_grad():
            fast = encoder(X, src_key_padding_mask=padded)
    assert equal(fast[~padded], slow[~padded])
    assert not fast[padded].any()
    assert slow[padded].all()
    fact("nn.TransformerEncoder's fast path sets padded rows to zero")


# Where the matrices are


def test_packing_is_q_then_k_then_v_each_transposed(layer, X):
    W_Q, W_K, W_V = (W.T for W in layer.in_proj_weight.chunk(3))
    b_Q, b_K, b_V = layer.in_proj_bias.chunk(3)
    q, k, v = (
        (X @ W + b).unflatten(-1, (N_HEADS, -1)).transpose(1, 2)
        for W, b in ((W_Q, b_Q), (W_K, b_K), (W_V, b_V))
    )
    heads = sdpa(q, k, v).transpose(1, 2).flatten(2)
    expected = heads @ layer.out_proj.weight.T + layer.out_proj.bias
    assert equal(layer(X, X, X)[0], expected)


def test_another_width_of_keys_or_values_separates_the_matrices():
    packed = nn.MultiheadAttention(E, N_HEADS).state_dict()
    separate = nn.MultiheadAttention(E, N_HEADS, kdim=9, vdim=11).state_dict()
    assert packed["in_proj_weight"].shape == (3 * E, E)
    assert "in_proj_weight" not in separate
    assert separate["q_proj_weight"].shape == (E, E)
    assert separate["k_proj_weight"].shape == (E, 9)
    assert separate["v_proj_weight"].shape == (E, 11)
    assert separate["in_proj_bias"].shape == (3 * E,)


def test_a_packed_matrix_starts_smaller_by_the_root_of_two():
    """Xavier sees a matrix (3E, E) in one case and (E, E) in the other: sqrt(4E) to sqrt(2E)."""
    torch.manual_seed(0)
    width = 256
    packed = nn.MultiheadAttention(width, 4).in_proj_weight
    separate = nn.MultiheadAttention(width, 4, kdim=width, vdim=width + 1).q_proj_weight
    ratio = (separate.std() / packed.std()).item()
    assert abs(ratio - 2**0.5) < 0.01
    assert abs((separate.abs().max() / packed.abs().max()).item() - 2**0.5) < 0.001
    fact(f"separate projections start {ratio:.4f} times larger than packed ones (sqrt 2 = 1.4142)")


# What has no effect


def test_with_one_key_queries_and_keys_get_exactly_zero_gradient(layer, numbers):
    query, memory = numbers.normal(2, N_Q, E), numbers.normal(2, 1, E)
    output, weights = layer(query, memory, memory)
    assert (weights == 1).all()
    output.square().sum().backward()
    for x in (layer.in_proj_weight.grad, layer.in_proj_bias.grad):
        of_q, of_k, of_v = x.chunk(3)
        assert not of_q.any()
        assert not of_k.any()
        assert of_v.any()


def with_key_bias(attention, numbers):
    """Return how far a key bias moves the weights that `attention(q, k)` gives."""
    q, k = numbers.normal(N_Q, 8), numbers.normal(N_K, 8)
    bias = numbers.normal(8)
    return (attention(q, k + bias) - attention(q, k)).abs().max().item()


def plain(q, k):
    return twins.softmax(twins.dot_product_scores(q, k) / 8**0.5)


def rotated(q, k):
    q, k = twins.rotary_positions(q), twins.rotary_positions(k)
    return twins.softmax(twins.dot_product_scores(q, k) / 8**0.5)


def normed(q, k):
    return twins.softmax(3.0 * twins.cosine_scores(q, k))


def capped(q, k):
    return twins.softmax(twins.soft_cap(twins.dot_product_scores(q, k), 2.0))


def additive(q, k):
    eye, w = torch.eye(8, dtype=q.dtype), torch.ones(8, dtype=q.dtype)
    return twins.softmax(twins.additive_scores(q, k, eye, eye, w))


def test_a_key_bias_is_inert_under_plain_softmax_attention(layer, X, numbers):
    assert with_key_bias(plain, numbers) < 1e-13
    output, _ = layer(X, X, X)
    output.square().sum().backward()
    _, of_k, of_v = layer.in_proj_bias.grad.chunk(3)
    assert of_k.abs().max() < 1e-13
    assert of_v.abs().max() > 0.1
    with torch.no_grad():
        layer.in_proj_bias[E : 2 * E] += 5.0
    assert equal(layer(X, X, X)[0], output)


@pytest.mark.parametrize("attention", [rotated, normed, capped, additive])
def test_a_key_bias_is_not_inert_elsewhere(attention, numbers):
    moved = with_key_bias(attention, numbers)
    assert moved > 0.01
    fact(f"a key bias moves a weight by {moved:.2f} with scores that are {attention.__name__}")
