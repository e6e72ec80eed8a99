"""Gradients: the hand-derived ones equal autograd's, all others equal finite differences."""

import dataclasses

import numpy as np
import pytest
import torch

import qkv
from qkv import twins
from tests.parity.record import close
from tests.twins import cases
from tests.twins.cases import CALLS, arguments, to_torch

BY_HAND = "hand-derived gradients against autograd, float64"
NO_GRADIENT = {
    "causal_mask",
    "window_mask",
    "padding_mask",
    "sinusoidal_positions",
    "nearest_look_up",
}
LARGE = {"transformer", "transformer_steps", "encoder", "decoder"}


def upstream(shape):
    return np.random.default_rng(3).normal(size=shape)


def test_softmax_backward():
    for scores in (cases.SCORES, 300.0 * cases.floats(3, 5)):
        x = to_torch(scores)
        weights = twins.softmax(x)
        g = upstream(scores.shape)
        weights.backward(torch.from_numpy(g))
        actual = qkv.softmax_backward(weights.detach().numpy(), g)
        close(BY_HAND, actual, x.grad.numpy(), 1e-12)


def test_cross_entropy_backward():
    scores = 5.0 * cases.floats(2, 3, 7)
    targets = np.array([[0, 6, 2], [3, 3, 1]])
    x = to_torch(scores)
    twins.cross_entropy(x, torch.from_numpy(targets)).sum().backward()
    close(BY_HAND, qkv.cross_entropy_backward(scores, targets), x.grad.numpy(), 1e-12)


@pytest.mark.parametrize("rows", [(3,), (2, 3), ()])
def test_project_backward(rows):
    X, W, b = cases.floats(*rows, 5), cases.floats(5, 7), cases.floats(7)
    g = upstream((*rows, 7))
    tensors = [to_torch(x) for x in (X, W, b)]
    twins.project(*tensors).backward(torch.from_numpy(g))
    for actual, tensor in zip(qkv.project_backward(X, W, g), tensors, strict=True):
        close(BY_HAND, actual, tensor.grad.numpy(), 1e-12)


@pytest.mark.parametrize("mask", [None, cases.MASK, cases.EMPTY_ROW, cases.PADDING])
def test_attention_backward(mask):
    Q, K, V = cases.Q, cases.K, cases.V
    g = upstream((2, cases.N_Q, cases.D_V))
    tensors = [to_torch(x) for x in (Q, K, V)]
    twins.scaled_dot_product_attention(*tensors, to_torch(mask))[0].backward(torch.from_numpy(g))
    for actual, tensor in zip(qkv.attention_backward(Q, K, V, g, mask), tensors, strict=True):
        close(BY_HAND, actual, tensor.grad.numpy(), 1e-12)


def test_layer_norm_backward():
    X, parameters = cases.X, cases.norm()
    x, module, g = to_torch(X), to_torch(parameters), upstream(X.shape)
    module(x).backward(torch.from_numpy(g))
    expected = (x.grad, module.gain.grad, module.shift.grad)
    for actual, e in zip(qkv.layer_norm_backward(X, parameters, g), expected, strict=True):
        close(BY_HAND, actual, e.numpy(), 1e-12)


@pytest.mark.parametrize("biases", [True, False])
@pytest.mark.parametrize("mask", [None, cases.PADDING, cases.MASK_OF_EACH_HEAD])
def test_multi_head_attention_backward(mask, biases):
    parameters = cases.HEADS
    if not biases:
        parameters = dataclasses.replace(parameters, b_Q=None, b_K=None, b_V=None, b_O=None)
    X, memory, module = to_torch(cases.X), to_torch(cases.MEMORY), to_torch(parameters)
    g = upstream(cases.X.shape)
    module(X, memory, to_torch(mask))[0].backward(torch.from_numpy(g))
    grad_X, grad_memory, grad_parameters = qkv.multi_head_attention_backward(
        cases.X, cases.MEMORY, parameters, g, mask
    )
    close(BY_HAND, grad_X, X.grad.numpy(), 1e-12)
    close(BY_HAND, grad_memory, memory.grad.numpy(), 1e-12)
    for name, parameter in module.named_parameters():
        close(BY_HAND, getattr(grad_parameters, name), parameter.grad.numpy(), 1e-12)
    assert (grad_parameters.b_K is None) == (not biases)


@pytest.mark.parametrize(("name", "number"), [c for c in CALLS if c[0] not in NO_GRADIENT])
def test_autograd_equals_finite_differences(name, number):
    _, args = arguments(name, number)
    inputs = [a for a in args if isinstance(a, torch.Tensor) and a.requires_grad]
    for a in args:
        if isinstance(a, torch.nn.Module):
            inputs += a.parameters()
        if isinstance(a, twins.KVCache):
            inputs += [a.k.requires_grad_(), a.v.requires_grad_()]

    def finite_outputs(*_):
        """Every output that depends on an input; entries that are -inf by design left out."""
        outputs = tensors(getattr(twins, name)(*args))
        return tuple(torch.where(x.isfinite(), x, 0.0) for x in outputs if x.requires_grad)

    assert torch.autograd.gradcheck(
        finite_outputs, inputs, eps=1e-6, atol=1e-6, fast_mode=len(inputs) > 4 or name in LARGE
    )


def tensors(value):
    if dataclasses.is_dataclass(value):
        return [x for f in dataclasses.fields(value) for x in tensors(getattr(value, f.name))]
    if isinstance(value, tuple):
        return [x for v in value for x in tensors(v)]
    return [value] if isinstance(value, torch.Tensor) else []


@pytest.mark.parametrize(("name", "number"), [c for c in CALLS if c[0] not in NO_GRADIENT])
def test_no_gradient_is_nan(name, number):
    """Empty rows and masked entries stand in many cases, and none of them spoils a gradient."""
    _, args = arguments(name, number)
    outputs = [x for x in tensors(getattr(twins, name)(*args)) if x.requires_grad]
    total = sum(torch.where(x.isfinite(), x, 0.0).square().sum() for x in outputs)
    total.backward()
    for a in args:
        for x in a.parameters() if isinstance(a, torch.nn.Module) else [a]:
            if isinstance(x, torch.Tensor) and x.grad is not None:
                assert x.grad.isfinite().all()


@pytest.mark.parametrize(
    "attention",
    [
        lambda q, k, v, mask: twins.scaled_dot_product_attention(q, k, v, mask),
        lambda q, k, v, mask: twins.soft_capped_attention(q, k, v, 2.0, mask),
        lambda q, k, v, mask: twins.attention_with_bias(q, k, v, torch.zeros(1, 1), mask),
        lambda q, k, v, mask: twins.attention_from_scores(q @ k.mT, v, mask),
        lambda q, k, v, mask: twins.attention_with_bias(
            q, k, v, torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)
        ),
    ],
)
def test_an_empty_row_gives_zeros_and_zero_gradients(attention):
    q, k, v = (to_torch(x[0]) for x in (cases.Q, cases.K, cases.V))
    mask = to_torch(cases.EMPTY_ROW)
    output, weights = attention(q, k, v, mask)
    assert not output[1].any()
    assert not weights[1].any()
    (output.sum() + weights.square().sum()).backward()
    assert not q.grad[1].any()
    for x in (q, k, v):
        assert x.grad.isfinite().all()
    assert q.grad[0].any()


def test_all_rows_empty():
    q, k, v = (to_torch(x) for x in (cases.Q, cases.K, cases.V))
    output, _ = twins.scaled_dot_product_attention(q, k, v, torch.zeros(1, 1, dtype=torch.bool))
    output.sum().backward()
    for x in (output, q.grad, k.grad, v.grad):
        assert not x.any()


def test_a_wrong_gradient_would_be_seen():
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * x

        @staticmethod
        def backward(ctx, grad):
            return grad

    x = to_torch(cases.floats(3))
    assert not torch.autograd.gradcheck(Wrong.apply, [x], raise_exception=False)
