"""Hand-derived backward passes against torch's automatic ones, float64, 1e-12."""

import math

import numpy as np
import pytest

import qkv
from tests.core import samples
from tests.core.lawbook import close, draw
from tests.core.samples import D_KV, D_MODEL, D_Q, N_K, N_Q

torch = pytest.importorskip("torch", reason="torch is the reference of this file")

MASK = np.tri(N_Q, N_K, k=1, dtype=bool)


def leaves(*arrays):
    return [torch.tensor(a, dtype=torch.float64, requires_grad=True) for a in arrays]


def attention(q, k, v, mask):
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~torch.tensor(mask), -torch.inf)
    return scores.softmax(dim=-1) @ v


def agree(gradients, tensors, atol=1e-12):
    for gradient, tensor in zip(gradients, tensors, strict=True):
        close(gradient, tensor.grad.numpy(), atol)


def test_softmax():
    scores, g = draw((2, 3, 5), (2, 3, 5))
    (s,) = leaves(scores)
    s.softmax(dim=-1).backward(torch.tensor(g))
    agree([qkv.softmax_backward(qkv.softmax(scores), g)], [s])


def test_cross_entropy():
    (scores,) = draw((3, 5))
    targets = np.array([4, 0, 2])
    (s,) = leaves(scores)
    torch.nn.functional.cross_entropy(s, torch.tensor(targets), reduction="sum").backward()
    agree([qkv.cross_entropy_backward(scores, targets)], [s])


def test_projection():
    X, W, b, g = draw((2, 3, 5), (5, 7), (7,), (2, 3, 7))
    tensors = leaves(X, W, b)
    x, w, c = tensors
    (x @ w + c).backward(torch.tensor(g))
    agree(qkv.project_backward(X, W, g), tensors)


@pytest.mark.parametrize("mask", [None, np.tri(3, 5, k=1, dtype=bool)])
def test_attention(mask):
    q, k, v, g = draw((2, 3, 7), (2, 5, 7), (2, 5, 11), (2, 3, 11))
    tensors = leaves(q, k, v)
    attention(*tensors, mask).backward(torch.tensor(g))
    agree(qkv.attention_backward(q, k, v, g, mask), tensors)


def test_attention_against_the_fused_kernel():
    q, k, v, g = draw((2, 3, 7), (2, 5, 7), (2, 5, 11), (2, 3, 11), seed=1)
    mask = np.tri(3, 5, k=1, dtype=bool)
    tensors = leaves(q, k, v)
    output = torch.nn.functional.scaled_dot_product_attention(
        *tensors, attn_mask=torch.tensor(mask)
    )
    output.backward(torch.tensor(g))
    agree(qkv.attention_backward(q, k, v, g, mask), tensors)


def test_layer_norm():
    X, g = draw((2, 3, 11), (2, 3, 11))
    p = samples.norm()
    tensors = leaves(X, p.gain, p.shift)
    x, gain, shift = tensors
    torch.nn.functional.layer_norm(x, (11,), gain, shift, p.epsilon).backward(torch.tensor(g))
    agree(qkv.layer_norm_backward(X, p, g), tensors)


def test_projection_of_all_heads():
    X, W, b, g = draw((2, 5, 11), (3, 11, 7), (3, 7), (2, 3, 5, 7))
    tensors = leaves(X, W, b)
    x, w, c = tensors
    (torch.einsum("btr,hrc->bhtc", x, w) + c[:, None]).backward(torch.tensor(g))
    agree(qkv.project_heads_backward(X, W, g), tensors)


@pytest.mark.parametrize("mask", [None, MASK])
def test_multi_head_attention(mask):
    X_q, X_kv, g = draw((2, N_Q, D_Q), (2, N_K, D_KV), (2, N_Q, D_MODEL))
    p = samples.multi_head()
    names = ("W_Q", "W_K", "W_V", "W_O", "b_Q", "b_K", "b_V", "b_O")
    x, y, *tensors = leaves(X_q, X_kv, *(getattr(p, name) for name in names))
    W_Q, W_K, W_V, W_O, b_Q, b_K, b_V, b_O = tensors
    heads = [
        attention(x @ W_Q[h] + b_Q[h], y @ W_K[h] + b_K[h], y @ W_V[h] + b_V[h], mask)
        for h in range(3)
    ]
    (torch.cat(heads, dim=-1) @ W_O + b_O).backward(torch.tensor(g))
    grad_X_q, grad_X_kv, grads = qkv.multi_head_attention_backward(X_q, X_kv, p, g, mask)
    agree([grad_X_q, grad_X_kv], [x, y])
    agree([getattr(grads, name) for name in names], tensors)


def test_multi_head_attention_against_torchs_module():
    """Self-attention: one array asks and is looked at, so its two gradients are added."""
    X, g = draw((2, 5, 6), (2, 5, 6))
    p = samples.multi_head(d_q=6, d_kv=6, d_k=2, d_v=2, d_model=6)
    module = torch.nn.MultiheadAttention(6, 3, batch_first=True, dtype=torch.float64)
    module.load_state_dict({k: torch.tensor(v) for k, v in qkv.pack_in_proj(p).items()})
    (x,) = leaves(X)
    output, weights = module(x, x, x, average_attn_weights=False)
    expected, expected_weights = qkv.self_attention(X, p)
    close(expected, output.detach().numpy())
    close(expected_weights, weights.detach().numpy())
    output.backward(torch.tensor(g))
    grad_X_q, grad_X_kv, grads = qkv.multi_head_attention_backward(X, X, p, g)
    agree([grad_X_q + grad_X_kv], [x])
    for name, gradient in qkv.pack_in_proj(grads).items():
        close(gradient, module.get_parameter(name).grad.numpy())
