"""Every twin gives core's numbers, in float64, to 1e-12."""

import inspect

import pytest
import torch

import qkv
from qkv import core, twins
from tests.parity.record import close
from tests.twins.cases import CALLS, CASES, MODULES, arguments, leaves, twin_and_original

# What core has and the twins have not, each with its reason.
NO_TWIN = {
    "attention_rollout": "reads finished weights; nothing learns",
    "weighted_value_norms": "reads finished weights; nothing learns",
    "same_output_directions": "reads finished values; nothing learns",
    "merge_attention": "torch has its own fused kernel, and autograd keeps every tile",
    "partial_attention": "torch has its own fused kernel, and autograd keeps every tile",
    "tiled_attention": "torch has its own fused kernel, and autograd keeps every tile",
    "tiled_causal_attention": "torch has its own fused kernel, and autograd keeps every tile",
    "online_attention_steps": "what pages look into; torch has its own fused kernel",
    "OnlineSteps": "what pages look into; torch has its own fused kernel",
    "pack_in_proj": "to_core() first: its state dict loads into nn.MultiheadAttention",
    "unpack_in_proj": "gives core's parameters, which a module takes",
    "xavier_uniform": "the first numbers come from a numpy Generator, by core",
    "beam_search": "writes ids, which no gradient passes: to_core() first",
    "AttentionSite": "what pages look into; to_core() first",
    "transformer_sites": "what pages look into; to_core() first",
    "greedy_decode": "writes ids, which no gradient passes: to_core() first",
    "cache_bytes": "counts, with whole numbers",
    "pool_kv_heads": "gives core's parameters, which a module takes",
    "count_parameters": "counts core's parameters: to_core() first",
    "LayerSizes": "sizes are core's",
    "ShapeError": "errors are core's",
}
ENDINGS = ("_backward", "_count", "_flops", "Parameters")
BEGINNINGS = ("initial_",)


def test_every_function_of_core_has_a_twin_or_a_reason():
    left_over = {
        name
        for name in core.__all__
        if name not in twins.__all__
        and not name.endswith(ENDINGS)
        and not name.startswith(BEGINNINGS)
    }
    assert left_over == set(NO_TWIN) & set(core.__all__)


def test_every_twin_has_a_case():
    functions = {n for n in twins.__all__ if inspect.isfunction(getattr(twins, n))}
    assert functions == set(CASES)
    classes = {n for n in twins.__all__ if inspect.isclass(getattr(twins, n))}
    assert classes - set(MODULES) == {
        "AttentionSteps", "Encoder", "Decoder", "KVCache", "MultiHeadSteps", "TransformerSteps"
    }  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_arguments_are_cores(name):
    twin, original = (inspect.signature(f).parameters for f in twin_and_original(name))
    assert [(p.name, p.default) for p in twin.values()] == [
        (p.name, p.default)
        for p in original.values()
        if p.name != "out"  # numpy's way to save memory; autograd needs what it would overwrite
    ]


@pytest.mark.parametrize(("name", "number"), CALLS)
def test_values_are_cores(name, number):
    twin, original = twin_and_original(name)
    args, twin_args = arguments(name, number)
    expected, actual = leaves(original(*args)), leaves(twin(*twin_args))
    assert len(actual) == len(expected) > 0
    for a, e in zip(actual, expected, strict=True):
        assert a.dtype == e.dtype
        close("twins against core, values, float64", a, e, 1e-12)


@pytest.mark.parametrize("name", MODULES)
def test_a_module_calls_its_function(name):
    """`module(...)` is the function of the same name with the module as its parameters."""
    parameters = MODULES[name]()
    module = getattr(twins, name)(parameters)
    function = {
        "MultiHeadAttention": "multi_head_attention",
        "GroupedMultiHeadAttention": "grouped_multi_head_attention",
        "LayerNorm": "layer_norm",
        "FeedForward": "feed_forward",
        "EncoderLayer": "encoder_layer",
        "EncoderLayerPreNorm": "encoder_layer_pre_norm",
        "DecoderLayer": "decoder_layer",
        "DecoderLayerPreNorm": "decoder_layer_pre_norm",
        "Transformer": "transformer",
        "VisionTransformer": "vision_transformer",
    }[name]
    args, twin_args = arguments(function, -1)
    number = next(i for i, a in enumerate(twin_args) if isinstance(a, torch.nn.Module))
    actual = leaves(module(*(a for i, a in enumerate(twin_args) if i != number)))
    args = [parameters if i == number else a for i, a in enumerate(args)]
    for a, e in zip(actual, leaves(getattr(qkv, function)(*args)), strict=True):
        close("twins against core, values, float64", a, e, 1e-12)


def test_encoder_and_decoder_run_their_layers():
    (X, layers, mask), twin_args = arguments("encoder", 0)
    stack = twins.Encoder(twins.EncoderLayer(layer) for layer in layers)
    expected = leaves(qkv.encoder(X, layers, mask))
    for a, e in zip(leaves(stack(twin_args[0], twin_args[2])), expected, strict=True):
        close("twins against core, values, float64", a, e, 1e-12)
    (X, memory, layers, *masks), twin_args = arguments("decoder", 0)
    stack = twins.Decoder(twins.DecoderLayer(layer) for layer in layers)
    expected = leaves(qkv.decoder(X, memory, layers, *masks))
    actual = leaves(stack(twin_args[0], twin_args[1], *twin_args[3:]))
    for a, e in zip(actual, expected, strict=True):
        close("twins against core, values, float64", a, e, 1e-12)


def test_a_stack_may_be_pre_norm():
    (X, layers, mask), twin_args = arguments("encoder", 0)
    stack = twins.Encoder(twins.EncoderLayerPreNorm(layer) for layer in layers)
    for layer in layers:
        X, _ = qkv.encoder_layer_pre_norm(X, layer, mask)
    output, _ = stack(twin_args[0], twin_args[2])
    close("twins against core, values, float64", output.detach().numpy(), X, 1e-12)
