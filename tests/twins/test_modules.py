"""Modules: the way from core and back, one table for two, and that they learn."""

import dataclasses
import math

import numpy as np
import pytest
import torch

import qkv
from qkv import core, twins
from tests.twins import cases
from tests.twins.cases import MODULES, leaves


def same(one, other):
    """Whether two sets of parameters hold the same numbers, bit for bit, and the same settings."""
    if dataclasses.is_dataclass(one):
        return type(one) is type(other) and all(
            same(getattr(one, f.name), getattr(other, f.name)) for f in dataclasses.fields(one)
        )
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    return one is other or one == other


@pytest.mark.parametrize("name", MODULES)
def test_there_and_back(name):
    parameters = MODULES[name]()
    assert same(getattr(twins, name)(parameters).to_core(), parameters)


@pytest.mark.parametrize("name", MODULES)
def test_load_from_core_keeps_the_parameters_and_takes_the_numbers(name):
    module = getattr(twins, name)(MODULES[name]())
    held = list(module.parameters())
    other = _moved(MODULES[name]())
    assert module.load_from_core(other) is module
    assert same(module.to_core(), other)
    assert all(a is b for a, b in zip(held, module.parameters(), strict=True))


def _moved(value):
    """Return the same parameters with every number and every setting changed."""
    if dataclasses.is_dataclass(value):
        return dataclasses.replace(
            value, **{f.name: _moved(getattr(value, f.name)) for f in dataclasses.fields(value)}
        )
    if isinstance(value, tuple):
        return tuple(map(_moved, value))
    if value in (core.relu, core.gelu) if callable(value) else False:
        return core.gelu if value is core.relu else core.relu
    return None if value is None else value + 0.5


@pytest.mark.parametrize("name", MODULES)
def test_names_are_cores(name):
    """A module's fields are the dataclass's, so `parameters.W_Q` reads the same in both."""
    parameters = MODULES[name]()
    module = getattr(twins, name)(parameters)
    assert module.core_class is type(parameters)
    for field in dataclasses.fields(parameters):
        assert hasattr(module, field.name)


@pytest.mark.parametrize("name", MODULES)
def test_as_many_numbers_as_core(name):
    parameters = MODULES[name]()
    module = getattr(twins, name)(parameters)
    total = sum(p.numel() for p in module.parameters())
    assert total == qkv.count_parameters(parameters)


def test_a_module_copies():
    parameters = cases.norm()
    module = twins.LayerNorm(parameters)
    back = module.to_core()
    with torch.no_grad():
        module.gain.zero_()
    assert parameters.gain.any()
    assert back.gain.any()


def test_other_sizes_and_other_biases_are_refused():
    module = twins.MultiHeadAttention(cases.HEADS)
    with pytest.raises(RuntimeError, match="size mismatch for W_K"):
        module.load_from_core(cases.encoder_parameters().attention)
    without = dataclasses.replace(cases.HEADS, b_Q=None, b_K=None, b_V=None, b_O=None)
    with pytest.raises(RuntimeError, match=r'Missing key.*"b_Q"'):
        module.load_from_core(without)


def test_an_activation_without_a_twin_is_refused():
    with pytest.raises(ValueError, match=r"must be qkv\.relu or qkv\.gelu"):
        twins.FeedForward(cases.feed_forward_parameters(np.tanh))


def one_table():
    p = cases.transformer_parameters()
    return dataclasses.replace(p, E_source=p.E_target, E_target=p.E_target)


def test_one_table_is_one_parameter():
    parameters = one_table()
    assert parameters.E_source is parameters.E_target
    model = twins.Transformer(parameters)
    assert model.E_source is model.E_target
    assert sum(p.numel() for p in model.parameters()) == qkv.count_parameters(parameters)
    back = model.to_core()
    assert back.E_source is back.E_target
    assert same(back, parameters)
    model.load_from_core(parameters)
    two = dataclasses.replace(parameters, E_target=parameters.E_target.copy())
    with pytest.raises(ValueError, match="one table here and two in the parameters"):
        model.load_from_core(two)


def test_a_tied_table_hears_from_both_ends():
    """Its gradient is the sum of what an untied pair would get as input and as read-out."""
    ids = torch.from_numpy(cases.IDS)
    targets = torch.from_numpy(cases.TARGETS)
    tied, parameters = twins.Transformer(one_table()), one_table()
    parameters = tied.to_core()
    untied = twins.Transformer(dataclasses.replace(parameters, E_target=parameters.E_target.copy()))
    for model in (tied, untied):
        twins.cross_entropy(model(ids, targets), targets).sum().backward()
    total = untied.E_source.grad + untied.E_target.grad
    np.testing.assert_allclose(tied.E_source.grad, total, rtol=0, atol=1e-12)


def test_float32_all_the_way():
    model = twins.Transformer(cases.transformer_parameters()).float()
    scores = model(torch.from_numpy(cases.IDS), torch.from_numpy(cases.TARGETS))
    assert scores.dtype == torch.float32
    assert all(x.dtype == np.float32 for x in leaves(model.to_core().encoder[0].attention))


def test_a_transformer_learns_to_copy():
    """Trainable: from chance to exact in some steps, and core agrees with what was learned."""
    sizes = core.LayerSizes(d_model=16, d_ff=23, n_heads=3, d_k=5, d_v=7)
    rng = np.random.default_rng(0)
    parameters = core.initial_transformer(rng, sizes, n_layers=1, n_source=11, n_target=11)
    model = twins.Transformer(parameters).float()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    ids = torch.from_numpy(rng.integers(1, 11, (64, 5)))
    shifted = torch.nn.functional.pad(ids[:, :-1], (1, 0))
    losses = []
    for _ in range(150):
        loss = twins.cross_entropy(model(ids, shifted), ids).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert abs(losses[0] - math.log(11)) < 1.0
    assert losses[-1] < 0.1
    scores = qkv.transformer(ids.numpy(), shifted.numpy(), model.to_core())
    assert (scores.argmax(axis=-1) == ids.numpy()).mean() > 0.99


def test_many_seeds_in_one_pass():
    """`torch.vmap` over stacked parameters: one leading axis of seeds, as the experiments do."""
    sizes = cases.CROSS_SIZES
    drawn = [core.initial_decoder_layer(np.random.default_rng(s), sizes) for s in range(3)]
    layers = [twins.DecoderLayer(p) for p in drawn]
    stacked, buffers = torch.func.stack_module_state(layers)
    X, memory = torch.from_numpy(cases.X), torch.from_numpy(cases.MEMORY)
    mask = torch.from_numpy(cases.CAUSAL)[None]

    def loss(parameters, X):
        output, _, _ = torch.func.functional_call(layers[0], (parameters, {}), (X, memory, mask))
        return output.square().sum(), output

    assert not buffers
    gradients, outputs = torch.vmap(torch.func.grad(loss, has_aux=True), (0, None))(stacked, X)
    for seed, layer in enumerate(layers):
        output, _, _ = layer(X, memory, mask)
        np.testing.assert_allclose(outputs[seed].detach(), output.detach(), rtol=0, atol=1e-12)
        layer.zero_grad()
        output.square().sum().backward()
        for name, parameter in layer.named_parameters():
            np.testing.assert_allclose(
                gradients[name][seed].detach(), parameter.grad, rtol=0, atol=1e-10
            )


def test_a_cache_with_rotary_positions_and_grouped_heads():
    """Chapter 19's decoder: token by token behind a cache gives what all at once gives."""
    rng = torch.Generator().manual_seed(0)
    q, k = (torch.randn(h, 7, 6, dtype=torch.float64, generator=rng) for h in (4, 2))
    v = torch.randn(2, 7, 3, dtype=torch.float64, generator=rng)
    whole, _ = twins.grouped_attention(
        twins.rotary_positions(q), twins.rotary_positions(k), v, twins.causal_mask(7)
    )
    cache = None
    for t in range(7):
        row = slice(t, t + 1)
        turned = twins.rotary_positions(k[:, row], offset=t)
        cache = twins.extend_cache(cache, turned, v[:, row])
        asked = twins.rotary_positions(q[:, row], offset=t)
        output, _ = twins.grouped_attention(asked, cache.k, cache.v)
        np.testing.assert_allclose(output[:, 0], whole[:, t], rtol=0, atol=1e-12)
    assert cache.n == 7
