"""Parameters for tests, drawn with a seed; sizes are primes, equal only where they must be."""

from __future__ import annotations

import numpy as np

import qkv

N_HEADS, D_K, N_Q, N_K, D_Q, D_KV, D_V, D_MODEL = 3, 2, 5, 7, 11, 13, 17, 19
N, D, D_FF, N_MEMORY, D_MEMORY = 5, 11, 13, 17, 19


def normal(seed, *shape, dtype=np.float64):
    return (np.random.default_rng(seed).normal(size=shape) * 0.4).astype(dtype)


def multi_head(seed=0, n_heads=N_HEADS, n_kv_heads=None, bias=True, dtype=np.float64, **sizes):
    """Return MultiHeadParameters; widths as above unless given as d_q, d_kv, d_k, d_v, d_model."""
    size = {"d_q": D_Q, "d_kv": D_KV, "d_k": D_K, "d_v": D_V, "d_model": D_MODEL, **sizes}
    g = n_heads if n_kv_heads is None else n_kv_heads
    rng = np.random.default_rng(seed)

    def draw(*shape):
        """Draw entries small enough that rows keep their size, biases too."""
        scale = 1 / np.sqrt(shape[-2]) if len(shape) > 1 else 0.5
        return (rng.normal(size=shape) * scale).astype(dtype)

    matrices = (
        draw(n_heads, size["d_q"], size["d_k"]),
        draw(g, size["d_kv"], size["d_k"]),
        draw(g, size["d_kv"], size["d_v"]),
        draw(n_heads * size["d_v"], size["d_model"]),
    )
    if not bias:
        return qkv.MultiHeadParameters(*matrices)
    return qkv.MultiHeadParameters(
        *matrices,
        draw(n_heads, size["d_k"]),
        draw(g, size["d_k"]),
        draw(g, size["d_v"]),
        draw(size["d_model"]),
    )


def norm(seed=0, d_model=D, dtype=np.float64, epsilon=1e-5):
    rng = np.random.default_rng(seed)
    gain, shift = 1 + 0.3 * rng.normal(size=d_model), rng.normal(size=d_model)
    return qkv.LayerNormParameters(gain.astype(dtype), shift.astype(dtype), epsilon)


def feed_forward(seed=0, d_model=D, d_ff=D_FF, dtype=np.float64, activation=None):
    return qkv.FeedForwardParameters(
        normal(seed, d_model, d_ff, dtype=dtype),
        normal(seed + 1, d_ff, dtype=dtype),
        normal(seed + 2, d_ff, d_model, dtype=dtype),
        normal(seed + 3, d_model, dtype=dtype),
        activation or qkv.relu,
    )


def self_multi_head(seed=0, d_model=D, dtype=np.float64):
    return multi_head(seed, d_q=d_model, d_kv=d_model, d_model=d_model, d_v=7, dtype=dtype)


def encoder_layer(seed=0, d_model=D, dtype=np.float64):
    return qkv.EncoderLayerParameters(
        self_multi_head(seed, d_model, dtype),
        norm(seed + 1, d_model, dtype),
        feed_forward(seed + 2, d_model, dtype=dtype),
        norm(seed + 6, d_model, dtype),
    )


def decoder_layer(seed=0, d_memory=D_MEMORY, dtype=np.float64):
    cross = multi_head(seed + 7, d_q=D, d_kv=d_memory, d_model=D, d_v=7, dtype=dtype)
    return qkv.DecoderLayerParameters(
        self_multi_head(seed, dtype=dtype),
        norm(seed + 1, dtype=dtype),
        cross,
        norm(seed + 2, dtype=dtype),
        feed_forward(seed + 3, dtype=dtype),
        norm(seed + 9, dtype=dtype),
    )


def transformer(seed=0, dtype=np.float64, n_layers=2):
    """Return a Transformer whose encoder is 13 wide and whose decoder is 11 wide."""
    return qkv.TransformerParameters(
        normal(seed, 29, 13, dtype=dtype),
        normal(seed + 1, 31, D, dtype=dtype),
        tuple(encoder_layer(seed + 10 * i, 13, dtype) for i in range(n_layers)),
        tuple(decoder_layer(seed + 10 * i + 5, 13, dtype) for i in range(n_layers)),
    )


def vision(seed=0, dtype=np.float64, n_patches=6, size=2, n_classes=3):
    return qkv.VisionTransformerParameters(
        W_E=normal(seed + 20, size**2, D, dtype=dtype),
        b_E=normal(seed + 21, D, dtype=dtype),
        x_class=normal(seed + 22, D, dtype=dtype),
        P=normal(seed + 23, 1 + n_patches, D, dtype=dtype),
        layers=(encoder_layer(seed, dtype=dtype), encoder_layer(seed + 30, dtype=dtype)),
        norm=norm(seed + 24, dtype=dtype),
        W_R=normal(seed + 25, D, n_classes, dtype=dtype),
        b_R=normal(seed + 26, n_classes, dtype=dtype),
    )
