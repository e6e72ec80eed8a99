"""A refusal begins with the name of what was wrong: each argument, each field of parameters."""

import dataclasses
import inspect

import numpy as np
import pytest

import qkv
from tests.core import samples
from tests.core.calls import ACROSS, CALLS, FUNCTIONS

ARGUMENTS = [
    (n, a)
    for n in FUNCTIONS
    for a in inspect.signature(getattr(qkv, n)).parameters
    if a != "out"  # numpy refuses it, with a TypeError of its own
]
INNER_NAMES = {  # functions of one line hand their arguments on, and the inner name is seen
    ("cross_attention", "X"): "X_q",
    ("cross_attention", "memory"): "X_kv",
    ("decoder", "memory"): "X_kv",
    ("decoder_layer", "memory"): "X_kv",
    ("decoder_layer", "memory_mask"): "mask",
    ("decoder", "memory_mask"): "mask",
    ("cached_decoder", "memory_mask"): "mask",
    ("cached_decoder_layer", "memory_mask"): "mask",
    ("decoder_layer_pre_norm", "memory"): "X_kv",
    ("decoder_layer_pre_norm", "memory_mask"): "mask",
    ("rotary_attention", "q"): "x",
    ("rotary_attention", "k"): "x",
    ("self_attention", "X"): "X_q",
    ("transformer", "source_ids"): "ids",
    ("transformer", "target_ids"): "ids",
    ("transformer", "source_mask"): "mask",
    ("transformer_sites", "source_ids"): "ids",
    ("transformer_sites", "target_ids"): "ids",
    ("transformer_steps", "source_ids"): "ids",
    ("transformer_steps", "target_ids"): "ids",
    ("transformer_steps", "source_mask"): "mask",
}
PARAMETERS = {
    "MultiHeadParameters": samples.multi_head(),
    "FeedForwardParameters": samples.feed_forward(),
    "LayerNormParameters": samples.norm(),
    "KVCache": qkv.KVCache(np.ones((4, 3)), np.ones((4, 2))),
    "TransformerParameters": samples.transformer(),
    "VisionTransformerParameters": samples.vision(),
    "LayerSizes": ACROSS,
}
FIELDS = [(n, f.name) for n, p in PARAMETERS.items() for f in dataclasses.fields(p)]
ARRAY_FIELDS = [(n, f) for n, f in FIELDS if isinstance(getattr(PARAMETERS[n], f), np.ndarray)]


def wrong(value):
    """Return something that `value` cannot be."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return np.full_like(value, np.nan)
    if isinstance(value, np.ndarray):
        return value.astype(complex)
    return {int: 2.5, float: -1.0}.get(type(value), 3)


@pytest.mark.parametrize(("name", "argument"), ARGUMENTS)
def test_a_refusal_names_the_argument(name, argument):
    function = getattr(qkv, name)
    signature = inspect.signature(function)
    call = signature.bind(*CALLS[name](np.float64))
    default = signature.parameters[argument].default
    call.arguments[argument] = wrong(call.arguments.get(argument, default))
    with pytest.raises(ValueError) as caught:  # noqa: PT011  (the text is looked at below)
        function(*call.args, **call.kwargs)
    seen = INNER_NAMES.get((name, argument), argument)
    assert str(caught.value).startswith(f"{seen} ")


@pytest.mark.parametrize(("name", "field"), FIELDS)
def test_a_refusal_names_the_field(name, field):
    parameters = PARAMETERS[name]
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        dataclasses.replace(parameters, **{field: wrong(getattr(parameters, field))})
    assert str(caught.value).startswith(f"{field} ")


@pytest.mark.parametrize(("name", "field"), ARRAY_FIELDS)
def test_a_field_may_be_a_list_and_becomes_an_array(name, field):
    array = getattr(PARAMETERS[name], field)
    kept = getattr(dataclasses.replace(PARAMETERS[name], **{field: array.tolist()}), field)
    assert isinstance(kept, np.ndarray)
    assert np.array_equal(kept, array)


@pytest.mark.parametrize("field", ["encoder", "decoder"])
def test_layers_may_be_a_list_and_become_a_tuple(field):
    layers = getattr(PARAMETERS["TransformerParameters"], field)
    parameters = dataclasses.replace(PARAMETERS["TransformerParameters"], **{field: list(layers)})
    assert getattr(parameters, field) == layers
