"""core, and the twins' gradients, against torch's `nn.MultiheadAttention`."""

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import nn

import qkv
from qkv import twins
from tests.parity import torch_layers
from tests.parity.draws import ALWAYS, TOLERANCE, Numbers, dtypes, heads, name_of, seeds
from tests.parity.record import close

# Which of torch's arguments is the same tensor as which: what each module is used for.
SELF, CROSS, THREE = "query is key is value", "key is value", "three tensors"


def masks_of(numbers, kinds, sizes, never_empty):
    """Return torch's attn_mask and key_padding_mask, and both with the scores' four axes."""
    attn_kind, attn_axes, padding = kinds
    batch, n_heads, n_q, n_k = sizes
    groups = batch or 1
    attn_mask = key_padding_mask = None
    for_core = []

    def torch_mask(allowed):
        return ~allowed if attn_kind == "bool" else numbers.added(allowed)

    if attn_kind == "none":
        return None, None, for_core
    if attn_axes:
        shape = (n_q, n_k) if attn_axes == 2 else (groups * n_heads, n_q, n_k)
        attn_mask = torch_mask(numbers.allowed(*shape, everywhere=never_empty))
        four = attn_mask if attn_axes == 2 else attn_mask.unflatten(0, (groups, n_heads))
        for_core.append(four.numpy().reshape((1,) * (4 - four.ndim) + tuple(four.shape)))
    if padding:
        key_padding_mask = torch_mask(numbers.allowed(groups, n_k, everywhere=never_empty))
        for_core.append(key_padding_mask.numpy()[:, None, None, :])
        key_padding_mask = key_padding_mask if batch else key_padding_mask[0]
    return attn_mask, key_padding_mask, for_core


def as_core_sees(x, batch, batch_first):
    """Return an array (batch, n, E), whatever torch was given."""
    x = x.numpy()
    if batch is None:
        return x[None]
    return x if batch_first else np.swapaxes(x, 0, 1)


@settings(ALWAYS, max_examples=500)
@given(
    seed=seeds,
    dtype=dtypes,
    n_heads_and_d=heads,
    use=st.sampled_from([SELF, CROSS, THREE]),
    batch=st.sampled_from([None, 2, 3]),
    lengths=st.sampled_from([(3, 5), (7, 1), (1, 5), (4, 11)]),
    other_widths=st.sampled_from([(None, None), (9, 9), (9, 11), (None, 11)]),
    bias=st.booleans(),
    extra_keys=st.tuples(st.booleans(), st.booleans()),
    kinds=st.tuples(
        st.sampled_from(["none", "bool", "float"]), st.sampled_from([0, 2, 3]), st.booleans()
    ),
    batch_first=st.booleans(),
    weights=st.sampled_from(["each", "mean", "no"]),
    fast_path=st.booleans(),
)
def test_values(
    seed, dtype, n_heads_and_d, use, batch, lengths, other_widths, bias, extra_keys, kinds,
    batch_first, weights, fast_path,
):  # fmt: skip
    """`fast_path` is eval mode without gradients, where torch may take its fused kernel."""
    numbers, (n_heads, d) = Numbers(seed, dtype), n_heads_and_d
    E, (n_q, n_k) = n_heads * d, lengths
    kdim, vdim = (None, None) if use == SELF else other_widths
    if use == CROSS and kdim != vdim:
        vdim = kdim
    n_k = n_q if use == SELF else n_k
    add_bias_kv, add_zero_attn = extra_keys
    module = numbers.disturb(
        nn.MultiheadAttention(
            E, n_heads, bias=bias, add_bias_kv=add_bias_kv, add_zero_attn=add_zero_attn,
            kdim=kdim, vdim=vdim, batch_first=batch_first, dtype=dtype,
        )
    )  # fmt: skip

    def sequence(n, width):
        axes = (n,) if batch is None else (batch, n) if batch_first else (n, batch)
        return numbers.normal(*axes, width)

    query = sequence(n_q, E)
    key = query if use == SELF else sequence(n_k, kdim or E)
    value = key if use != THREE else sequence(n_k, vdim or E)
    sizes = (batch, n_heads, n_q, n_k)
    never_empty = not (add_bias_kv or add_zero_attn)
    attn_mask, key_padding_mask, masks = masks_of(numbers, kinds, sizes, never_empty)
    module.train(not fast_path)
    with torch.set_grad_enabled(not fast_path):
        expected, expected_weights = module(
            query, key, value, key_padding_mask, weights != "no", attn_mask, weights == "mean"
        )

    inputs = [as_core_sees(x, batch, batch_first) for x in (query, key, value)]
    state = torch_layers.numpy_state(module)
    output, all_weights = torch_layers.multi_head_attention(
        state, n_heads, inputs, masks, add_zero_attn
    )
    what = f"core against nn.MultiheadAttention, {name_of(dtype)}"
    tolerance = TOLERANCE[dtype]
    assert output.dtype == inputs[0].dtype
    close(what, output, as_core_sees(expected.detach(), batch, batch_first), tolerance)
    if weights == "no":
        assert expected_weights is None
    else:
        all_weights = all_weights.mean(axis=1) if weights == "mean" else all_weights
        all_weights = all_weights if batch else all_weights[0]
        close(what + ", weights", all_weights, expected_weights.detach().numpy(), tolerance)

    if use == THREE or not never_empty or any(m.dtype != bool for m in masks):
        return
    # core's own layer says the same, in all its forms, with the parameters torch packs.
    parameters = qkv.unpack_in_proj(state, n_heads)
    mask, _ = torch_layers.bool_and_bias(masks, 0, None)
    for form in (
        qkv.multi_head_attention,
        qkv.multi_head_attention_stacked,
        qkv.multi_head_attention_einsum,
    ):
        again, _ = form(inputs[0], inputs[1], parameters, mask)
        close(what + ", core's three forms", again, output, tolerance)
    packed = qkv.pack_in_proj(parameters)
    if kdim == E:
        return  # torch keeps separate matrices only where a width differs
    assert packed.keys() == state.keys()
    for name, x in state.items():
        assert np.array_equal(packed[name], x)


@settings(ALWAYS, max_examples=60)
@given(
    seed=seeds,
    dtype=dtypes,
    n_heads_and_d=heads,
    kind=st.sampled_from(["bool", "float"]),
    need_weights=st.booleans(),
    fast_path=st.booleans(),
)
def test_is_causal_with_its_mask(seed, dtype, n_heads_and_d, kind, need_weights, fast_path):
    """`is_causal=True` beside the causal mask itself, the use that torch documents."""
    numbers, (n_heads, d) = Numbers(seed, dtype), n_heads_and_d
    module = numbers.disturb(
        nn.MultiheadAttention(n_heads * d, n_heads, batch_first=True, dtype=dtype)
    )
    X = numbers.normal(2, 5, n_heads * d)
    attn_mask = nn.Transformer.generate_square_subsequent_mask(5, dtype=dtype)
    attn_mask = attn_mask if kind == "float" else attn_mask.isinf()
    module.train(not fast_path)
    with torch.set_grad_enabled(not fast_path):
        expected, _ = module(
            X, X, X, attn_mask=attn_mask, is_causal=True, need_weights=need_weights
        )
    parameters = qkv.unpack_in_proj(torch_layers.numpy_state(module), n_heads)
    output, _ = qkv.self_attention(X.numpy(), parameters, qkv.causal_mask(5)[None])
    what = f"core against nn.MultiheadAttention, is_causal, {name_of(dtype)}"
    close(what, output, expected.detach().numpy(), TOLERANCE[dtype])


@settings(ALWAYS, max_examples=60)
@given(
    seed=seeds,
    n_heads_and_d=heads,
    bias=st.booleans(),
    other_width=st.sampled_from([None, 9]),
    kinds=st.tuples(st.sampled_from(["none", "bool"]), st.sampled_from([0, 2, 3]), st.booleans()),
)
def test_gradients(seed, n_heads_and_d, bias, other_width, kinds):
    """The twin and torch's module, the same weights: one backward pass, every gradient compared."""
    numbers, (n_heads, d) = Numbers(seed, torch.float64), n_heads_and_d
    E = n_heads * d
    assume(other_width != E)
    module = numbers.disturb(
        nn.MultiheadAttention(
            E, n_heads, bias=bias, kdim=other_width, vdim=other_width, batch_first=True,
            dtype=torch.float64,
        )
    )  # fmt: skip
    query, memory = numbers.normal(2, 3, E), numbers.normal(2, 5, other_width or E)
    attn_mask, key_padding_mask, masks = masks_of(numbers, kinds, (2, n_heads, 3, 5), True)
    mask, _ = torch_layers.bool_and_bias(masks, 0, None)
    state = torch_layers.numpy_state(module)
    twin = twins.MultiHeadAttention(qkv.unpack_in_proj(state, n_heads))
    inputs = [x.clone().requires_grad_() for x in (query, memory) for _ in range(2)]
    expected, _ = module(inputs[0], inputs[2], inputs[2], key_padding_mask, True, attn_mask)
    actual, _ = twin(inputs[1], inputs[3], None if mask is None else torch.from_numpy(mask))
    g = numbers.normal(*expected.shape)
    expected.backward(g)
    actual.backward(g)
    what = "twins' gradients against nn.MultiheadAttention's, float64"
    close(what, inputs[1].grad.numpy(), inputs[0].grad.numpy(), 1e-12)
    close(what, inputs[3].grad.numpy(), inputs[2].grad.numpy(), 1e-12)
    gradients = {name: x.grad.numpy() for name, x in twin.named_parameters()}
    packed = qkv.pack_in_proj(qkv.MultiHeadParameters(**gradients))
    for name, x in module.named_parameters():
        close(what, packed[name], x.grad.numpy(), 1e-12)


def test_the_adapter_would_see_a_wrong_polarity():
    numbers = Numbers(0, torch.float64)
    module = numbers.disturb(nn.MultiheadAttention(6, 2, batch_first=True, dtype=torch.float64))
    X, allowed = numbers.normal(2, 3, 6), numbers.allowed(3, 3)
    expected, _ = module(X, X, X, attn_mask=~allowed)
    state, inputs = torch_layers.numpy_state(module), [X.numpy()] * 3
    wrong, _ = torch_layers.multi_head_attention(state, 2, inputs, [allowed.numpy()[None, None]])
    with pytest.raises(AssertionError):
        close("none", wrong, expected.detach().numpy(), 1e-6)
