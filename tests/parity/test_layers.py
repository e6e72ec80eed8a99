"""core against torch's whole layers, and against `nn.Transformer`, a stack of them."""

import contextlib
import warnings

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import qkv
from qkv import twins
from tests.parity import torch_layers
from tests.parity.draws import (
    ALWAYS,
    TOLERANCE,
    TOLERANCE_OF_STACKS,
    Numbers,
    dtypes,
    heads,
    name_of,
    seeds,
)
from tests.parity.record import close

layer_settings = {
    "seed": seeds,
    "dtype": dtypes,
    "n_heads_and_d": heads,
    "d_ff": st.sampled_from([3, 17]),
    "activation": st.sampled_from(["relu", "gelu"]),
    "epsilon": st.sampled_from([1e-5, 1e-3]),
    "bias": st.booleans(),
    "norm_first": st.booleans(),
    "batch_first": st.booleans(),
    "kinds": st.tuples(st.sampled_from(["none", "bool", "float"]), st.booleans()),
    "memory_kinds": st.tuples(st.booleans(), st.booleans()),
    "fast_path": st.booleans(),
}


@contextlib.contextmanager
def torchs_own_warnings():
    """Let pass what torch says about its nested tensors, which have no bearing on the numbers."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "enable_nested_tensor is True", UserWarning)
        warnings.filterwarnings("ignore", "The PyTorch API of nested tensors", UserWarning)
        yield


def masks_of(numbers, kind, use, sizes):
    """Return torch's two masks, and core's one (batch, n_q, n_k) or None.

    A layer of torch takes float masks too; here they hold 0 and -inf, which core's layers can say.
    """
    (attention, padding), (batch, n_q, n_k) = use, sizes
    allowed = numbers.allowed(n_q, n_k) if attention else None
    real = numbers.allowed(batch, n_k) if padding else None

    def for_torch(may_look):
        if may_look is None or kind == "bool":
            return None if may_look is None else ~may_look
        return torch.zeros(may_look.shape, dtype=numbers.dtype).masked_fill(~may_look, -torch.inf)

    together = None
    if attention or padding:
        together = torch.ones(1, n_q, n_k, dtype=torch.bool)
        together = together & allowed if attention else together
        together = (together & real[:, None, :] if padding else together).numpy()
    return for_torch(allowed), for_torch(real), together


def run(module, fast_path, *args, **kwargs):
    module.train(not fast_path)
    with torch.set_grad_enabled(not fast_path), torchs_own_warnings():
        return module(*args, **kwargs).detach()


def turned(x, batch_first):
    return x if batch_first else x.transpose(0, 1)


@settings(ALWAYS, max_examples=150)
@given(**{name: s for name, s in layer_settings.items() if name != "memory_kinds"})
def test_encoder_layer(
    seed, dtype, n_heads_and_d, d_ff, activation, epsilon, bias, norm_first, batch_first, kinds,
    fast_path,
):  # fmt: skip
    numbers, (n_heads, d) = Numbers(seed, dtype), n_heads_and_d
    d_model = n_heads * d
    module = numbers.disturb(
        nn.TransformerEncoderLayer(
            d_model, n_heads, d_ff, 0.0, activation, epsilon, batch_first, norm_first, bias,
            dtype=dtype,
        )
    )  # fmt: skip
    X = numbers.normal(2, 5, d_model)
    kind, padding = kinds
    use = (kind != "none", padding and kind != "none")
    attn_mask, key_padding_mask, mask = masks_of(numbers, kind, use, (2, 5, 5))
    expected = run(module, fast_path, turned(X, batch_first), attn_mask, key_padding_mask)
    expected = turned(expected, batch_first).numpy()

    state = torch_layers.numpy_state(module)
    parameters = torch_layers.encoder_parameters(state, n_heads, activation, epsilon)
    layer = qkv.encoder_layer_pre_norm if norm_first else qkv.encoder_layer
    output, _ = layer(X.numpy(), parameters, mask)
    what = f"core against nn.TransformerEncoderLayer, {name_of(dtype)}"
    close(what, output, expected, TOLERANCE[dtype])
    twin = (twins.EncoderLayerPreNorm if norm_first else twins.EncoderLayer)(parameters)
    output, _ = twin(X, None if mask is None else torch.from_numpy(mask))
    what = f"twins against nn.TransformerEncoderLayer, {name_of(dtype)}"
    close(what, output.detach(), expected, TOLERANCE[dtype])


@settings(ALWAYS, max_examples=150)
@given(**layer_settings)
def test_decoder_layer(
    seed, dtype, n_heads_and_d, d_ff, activation, epsilon, bias, norm_first, batch_first, kinds,
    memory_kinds, fast_path,
):  # fmt: skip
    numbers, (n_heads, d) = Numbers(seed, dtype), n_heads_and_d
    d_model = n_heads * d
    module = numbers.disturb(
        nn.TransformerDecoderLayer(
            d_model, n_heads, d_ff, 0.0, activation, epsilon, batch_first, norm_first, bias,
            dtype=dtype,
        )
    )  # fmt: skip
    X, memory = numbers.normal(2, 3, d_model), numbers.normal(2, 5, d_model)
    kind, padding = kinds
    kind_of_memory = "bool" if kind == "none" else kind
    use = (kind != "none", padding and kind != "none")
    attn_mask, key_padding_mask, mask = masks_of(numbers, kind, use, (2, 3, 3))
    of_memory = masks_of(numbers, kind_of_memory, memory_kinds, (2, 3, 5))
    expected = run(
        module, fast_path, turned(X, batch_first), turned(memory, batch_first), attn_mask,
        of_memory[0], key_padding_mask, of_memory[1],
    )  # fmt: skip
    expected = turned(expected, batch_first).numpy()

    state = torch_layers.numpy_state(module)
    parameters = torch_layers.decoder_parameters(state, n_heads, activation, epsilon)
    layer = qkv.decoder_layer_pre_norm if norm_first else qkv.decoder_layer
    output, _, _ = layer(X.numpy(), memory.numpy(), parameters, mask, of_memory[2])
    what = f"core against nn.TransformerDecoderLayer, {name_of(dtype)}"
    close(what, output, expected, TOLERANCE[dtype])
    twin = (twins.DecoderLayerPreNorm if norm_first else twins.DecoderLayer)(parameters)
    both = (None if m is None else torch.from_numpy(m) for m in (mask, of_memory[2]))
    output, _, _ = twin(X, memory, *both)
    what = f"twins against nn.TransformerDecoderLayer, {name_of(dtype)}"
    close(what, output.detach(), expected, TOLERANCE[dtype])


@settings(ALWAYS, max_examples=80)
@given(
    **layer_settings,
    n_layers=st.sampled_from([(1, 1), (2, 3), (3, 2)]),
)
def test_transformer(
    seed, dtype, n_heads_and_d, d_ff, activation, epsilon, bias, norm_first, batch_first, kinds,
    memory_kinds, fast_path, n_layers,
):  # fmt: skip
    """Padding is the source's: every decoder layer is told of it too, and the target is causal."""
    numbers, (n_heads, d) = Numbers(seed, dtype), n_heads_and_d
    d_model, (n_encoder, n_decoder) = n_heads * d, n_layers
    with torchs_own_warnings():
        module = nn.Transformer(
            d_model, n_heads, n_encoder, n_decoder, d_ff, 0.0, activation, None, None, epsilon,
            batch_first, norm_first, bias, dtype=dtype,
        )  # fmt: skip
    numbers.disturb(module)
    source, target = numbers.normal(2, 5, d_model), numbers.normal(2, 3, d_model)
    kind, attention = kinds[0] if kinds[0] != "none" else "bool", kinds[0] != "none"
    padding, within_memory = memory_kinds
    src_mask, padding_mask, mask = masks_of(numbers, kind, (attention, padding), (2, 5, 5))
    memory_mask, _, of_memory = masks_of(numbers, kind, (within_memory, False), (2, 3, 5))
    if padding:
        real = ~(padding_mask if kind == "bool" else padding_mask.isinf()).numpy()
        of_memory = real[:, None, :] if of_memory is None else of_memory & real[:, None, :]
    causal = nn.Transformer.generate_square_subsequent_mask(3, dtype=dtype)
    expected = run(
        module, fast_path, turned(source, batch_first), turned(target, batch_first), src_mask,
        causal if kind == "float" else causal.isinf(), memory_mask, padding_mask, None,
        padding_mask,
    )  # fmt: skip
    state = torch_layers.numpy_state(module)
    _, output = torch_layers.transformer(
        state,
        (n_heads, activation, epsilon, norm_first, n_encoder, n_decoder),
        source.numpy(),
        target.numpy(),
        (mask, qkv.causal_mask(3)[None], of_memory),
    )
    what = f"core against nn.Transformer, {name_of(dtype)}"
    close(what, output, turned(expected, batch_first).numpy(), TOLERANCE_OF_STACKS[dtype])
