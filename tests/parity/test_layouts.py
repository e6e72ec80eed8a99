"""One set of weights through every layout of chapter 10: one number each time."""

import numpy as np
import torch
from torch import nn

import qkv
from qkv import twins
from tests.core import oracles

N_Q, N_K, N_HEADS, WIDTH = 5, 7, 3, 12  # torch's packed layer forces d_k = d_v = WIDTH / N_HEADS
D = WIDTH // N_HEADS
CLOSE = {"rtol": 0, "atol": 1e-12}


def weights():
    rng = np.random.default_rng(10)
    head = (N_HEADS, WIDTH, D)
    W_Q, W_K, W_V = (rng.normal(size=head) for _ in "qkv")
    biases = [rng.normal(size=(N_HEADS, D)) for _ in "qkv"]
    return qkv.MultiHeadParameters(
        W_Q, W_K, W_V, rng.normal(size=(WIDTH, WIDTH)), *biases, rng.normal(size=WIDTH)
    )


def small_matrices(X_q, X_kv, p, mask):
    """h small matrices, one head after the other."""
    found, looked = [], []
    for i in range(N_HEADS):
        q, k, v = X_q @ p.W_Q[i] + p.b_Q[i], X_kv @ p.W_K[i] + p.b_K[i], X_kv @ p.W_V[i] + p.b_V[i]
        output, w = qkv.scaled_dot_product_attention(q, k, v, mask)
        found.append(output)
        looked.append(w)
    return np.concatenate(found, axis=-1) @ p.W_O + p.b_O, np.stack(looked)


def by_reshape(X_q, X_kv, p, mask):
    """One wide matrix, then a reshape and a turn of two axes."""
    made = []
    for X, W, b in ((X_q, p.W_Q, p.b_Q), (X_kv, p.W_K, p.b_K), (X_kv, p.W_V, p.b_V)):
        wide = X @ W.transpose(1, 0, 2).reshape(WIDTH, WIDTH) + b.reshape(WIDTH)
        made.append(wide.reshape(len(X), N_HEADS, D).transpose(1, 0, 2))
    heads, w = qkv.scaled_dot_product_attention(*made, mask)
    return heads.transpose(1, 0, 2).reshape(len(X_q), WIDTH) @ p.W_O + p.b_O, w


def packed(X_q, X_kv, p, mask):
    """torch's own layer, with the three matrices in one in_proj."""
    layer = nn.MultiheadAttention(WIDTH, N_HEADS, batch_first=True, dtype=torch.float64)
    layer.load_state_dict({n: torch.tensor(x) for n, x in qkv.pack_in_proj(p).items()})
    given = (torch.tensor(x)[None] for x in (X_q, X_kv, X_kv))
    blocked = torch.tensor(~mask)
    output, w = layer(*given, attn_mask=blocked, average_attn_weights=False)
    return output[0].detach().numpy(), w[0].detach().numpy()


def twin(X_q, X_kv, p, mask):
    """The book's torch layer."""
    layer = twins.MultiHeadAttention(p)
    output, w = layer(torch.tensor(X_q), torch.tensor(X_kv), torch.tensor(mask))
    return output.detach().numpy(), w.detach().numpy()


LAYOUTS = {
    "h small matrices": small_matrices,
    "core": qkv.multi_head_attention,
    "one stacked matrix": qkv.multi_head_attention_stacked,
    "reshape": by_reshape,
    "einsum": qkv.multi_head_attention_einsum,
    "torch's packed in_proj": packed,
    "the twin": twin,
}


def test_one_set_of_weights_through_every_layout():
    rng = np.random.default_rng(11)
    X_q, X_kv, p = rng.normal(size=(N_Q, WIDTH)), rng.normal(size=(N_K, WIDTH)), weights()
    mask = qkv.causal_mask(N_Q, N_K, offset=N_K - N_Q)
    want = [np.array(part) for part in oracles.multi_head(X_q, X_kv, p, mask)]  # nested loops
    for name, layout in LAYOUTS.items():
        for part, made in zip(want, layout(X_q, X_kv, p, mask), strict=True):
            assert made.shape == part.shape, name
            np.testing.assert_allclose(made, part, **CLOSE, err_msg=name)


def test_split_before_projecting_is_another_function():
    """The comparison can fail: each head reading its own slice of X is not a layout."""
    rng = np.random.default_rng(12)
    X, p = rng.normal(size=(N_Q, WIDTH)), weights()
    slices = np.split(X, N_HEADS, axis=-1)
    heads = [x @ W[:D] + b for x, W, b in zip(slices, p.W_Q, p.b_Q, strict=True)]
    assert np.abs(np.stack(heads) - qkv.project_heads(X, p.W_Q, p.b_Q)).max() > 0.1
