"""One call of every twin, at prime sizes that all differ, and the way from core to torch.

`CASES[name]` holds the arguments as core takes them; `to_torch` turns each into what the twin
takes. A test compares the keys with `twins.__all__`, so a new function cannot stay without a case.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import torch

import qkv
from qkv import core, twins

RNG = np.random.default_rng(7)
N_Q, N_K, D_MODEL, D_MEMORY, D_K, D_V, N_HEADS, D_FF = 3, 5, 13, 17, 7, 2, 4, 19
SIZES = core.LayerSizes(D_MODEL, D_FF, N_HEADS, D_K, D_V)
CROSS_SIZES = core.LayerSizes(D_MODEL, D_FF, N_HEADS, D_K, D_V, D_MEMORY)


def floats(*shape):
    return RNG.normal(size=shape)


def with_biases(parameters):
    """Give attention its biases too, so that a forgotten one shows."""
    p = parameters
    biases = {
        "b_Q": floats(*p.W_Q.shape[::2]),
        "b_K": floats(*p.W_K.shape[::2]),
        "b_V": floats(*p.W_V.shape[::2]),
        "b_O": floats(p.W_O.shape[1]),
    }
    return dataclasses.replace(p, **biases)


def norm():
    return core.LayerNormParameters(1.0 + 0.3 * floats(D_MODEL), floats(D_MODEL), 1e-3)


def encoder_parameters():
    p = core.initial_encoder_layer(RNG, SIZES)
    return dataclasses.replace(p, attention=with_biases(p.attention), norm_1=norm(), norm_2=norm())


def decoder_parameters(sizes=CROSS_SIZES):
    p = core.initial_decoder_layer(RNG, sizes)
    return dataclasses.replace(
        p,
        self_attention=with_biases(p.self_attention),
        cross_attention=with_biases(p.cross_attention),
        norm_1=norm(),
        norm_2=norm(),
        norm_3=norm(),
    )


def feed_forward_parameters(activation=core.relu):
    return core.FeedForwardParameters(
        floats(D_MODEL, D_FF), floats(D_FF), floats(D_FF, D_MODEL), floats(D_MODEL), activation
    )


def grouped_parameters():
    p = core.initial_multi_head(RNG, CROSS_SIZES)
    return with_biases(dataclasses.replace(p, W_K=p.W_K[:2], W_V=p.W_V[:2]))


def transformer_parameters():
    p = core.initial_transformer(RNG, SIZES, n_layers=2, n_source=11, n_target=23)
    encoder = (encoder_parameters(), encoder_parameters())
    decoder = (decoder_parameters(SIZES), decoder_parameters(SIZES))
    return dataclasses.replace(p, encoder=encoder, decoder=decoder)


def vision_parameters(n_patches=6):
    return core.VisionTransformerParameters(
        W_E=floats(4, D_MODEL),
        b_E=floats(D_MODEL),
        x_class=floats(D_MODEL),
        P=floats(1 + n_patches, D_MODEL),
        layers=(encoder_parameters(), encoder_parameters()),
        norm=norm(),
        W_R=floats(D_MODEL, 3),
        b_R=floats(3),
    )


MASK = np.tri(N_Q, N_K, k=1, dtype=bool)
EMPTY_ROW = MASK & np.array([[True], [False], [True]])
Q, K, V = floats(2, N_Q, D_K), floats(2, N_K, D_K), floats(2, N_K, D_V)
X, MEMORY = floats(2, N_Q, D_MODEL), floats(2, N_K, D_MEMORY)
CAUSAL = np.tri(N_Q, dtype=bool)
MASK_OF_EACH_HEAD = RNG.random((2, N_HEADS, N_Q, N_K)) < 0.7
PADDING = np.arange(N_K) < np.array([3, 5])[:, None, None]
HEADS = with_biases(core.initial_multi_head(RNG, CROSS_SIZES))
SCORES = np.where(EMPTY_ROW, floats(2, N_Q, N_K), -np.inf)
IDS, TARGETS = RNG.integers(0, 11, (2, N_K)), RNG.integers(0, 23, (2, N_Q))
CACHE = core.KVCache(K, V)
OF_HEADS = core.KVCache(floats(2, N_HEADS, N_K, D_K), floats(2, N_HEADS, N_K, D_V))
OF_MEMORY = core.memory_cache(MEMORY, HEADS)
OF_OLD_AND_NEW = RNG.random((2, 1, N_K + N_Q)) < 0.8

CASES = {
    "softmax": [(SCORES,)],
    "softmax_with_temperature": [(SCORES, 0.3)],
    "dot_product": [(floats(3, 5), floats(3, 5)), (floats(5), floats(5))],
    "vector_length": [(floats(3, 5),)],
    "cosine_similarity": [(floats(3, 5), floats(3, 5))],
    "dot_product_scores": [(Q, K)],
    "squared_distances": [(Q, K)],
    "nearest_look_up": [(Q, K, V)],
    "kernel_regression": [(Q, K, V, 1.7)],
    "cross_entropy": [(floats(2, N_Q, 23), TARGETS), (1e4 * floats(7), np.array(3))],
    "embed": [(IDS, floats(11, 13))],
    "vocabulary_scores": [(X, floats(23, D_MODEL), floats(23)), (X, floats(23, D_MODEL))],
    "cosine_scores": [(Q, K)],
    "bilinear_scores": [(X, MEMORY, floats(D_MODEL, D_MEMORY))],
    "additive_scores": [(X, MEMORY, floats(D_MODEL, 3), floats(D_MEMORY, 3), floats(3))],
    "attention_from_scores": [(SCORES, V), (floats(2, N_Q, N_K), V, EMPTY_ROW)],
    "attention_with_bias": [
        (Q, K, V, floats(N_Q, N_K), EMPTY_ROW),
        (Q, K, V, np.where(EMPTY_ROW, floats(2, N_Q, N_K), -np.inf)),
    ],
    "soft_cap": [(50.0 * floats(3, 5), 11.0)],
    "soft_capped_attention": [(9.0 * Q, K, V, 2.0, EMPTY_ROW)],
    "project": [(X, floats(D_MODEL, 7), floats(7)), (floats(5), floats(5, 7))],
    "project_qkv": [
        (X, MEMORY, floats(D_MODEL, D_K), floats(D_MEMORY, D_K), floats(D_MEMORY, D_V))
    ],
    "causal_mask": [(3,), (3, 7, 2), (5, 3, -2)],
    "window_mask": [(5,), (3, 7, 2, 1)],
    "padding_mask": [(np.array([2, 0, 5]), 5)],
    "scaled_dot_product_attention": [
        (Q, K, V),
        (Q, K, V, EMPTY_ROW),
        (Q, K, V, PADDING),
        (Q[0], K[0], V[0], MASK),
    ],
    "attention_steps": [(Q, K, V, EMPTY_ROW), (Q, K, V)],
    "split_heads": [(floats(2, 3, 20), 4)],
    "merge_heads": [(floats(2, 4, 3, 5),)],
    "stack_heads": [(floats(4, 3, 5), floats(4, 5)), (floats(4, 3, 5),)],
    "unstack_heads": [(floats(3, 20), 4)],
    "project_heads": [(X, floats(4, D_MODEL, 7), floats(4, 7)), (X[0], floats(4, D_MODEL, 7))],
    "head_writes": [(floats(2, 4, 3, 5), floats(20, 13))],
    "multi_head_attention": [(X, MEMORY, HEADS, EMPTY_ROW[None]), (X, MEMORY, HEADS)],
    "multi_head_attention_stacked": [(X, MEMORY, HEADS, MASK_OF_EACH_HEAD), (X, MEMORY, HEADS)],
    "multi_head_attention_einsum": [(X, MEMORY, HEADS, PADDING), (X[0], MEMORY[0], HEADS, MASK)],
    "multi_head_steps": [(X, MEMORY, HEADS, MASK_OF_EACH_HEAD)],
    "self_attention": [(X, encoder_parameters().attention, CAUSAL[None])],
    "cross_attention": [(X, MEMORY, HEADS, PADDING)],
    "repeat_kv_heads": [(floats(2, 2, 3, 5), 3)],
    "grouped_attention": [
        (floats(2, 6, N_Q, D_K), floats(2, 2, N_K, D_K), floats(2, 2, N_K, D_V), MASK)
    ],
    "grouped_multi_head_attention": [(X, MEMORY, grouped_parameters(), MASK_OF_EACH_HEAD)],
    "sinusoidal_positions": [(3, 8), (5, 7, 11)],
    "learned_positions": [(floats(11, 5), 3, 4)],
    "rotary_positions": [(floats(2, 3, 6),), (floats(3, 6), 5, 100.0)],
    "rotary_positions_halves": [(floats(2, 3, 6),), (floats(3, 6), 5, 100.0)],
    "rotary_attention": [(floats(2, 3, 6), floats(2, 5, 6), floats(2, 5, 7), EMPTY_ROW)],
    "relu": [(floats(3, 5),)],
    "gelu": [(3.0 * floats(3, 5),)],
    "layer_norm": [(X, norm())],
    "rms_norm": [(X, floats(D_MODEL), 1e-3)],
    "feed_forward": [(X, feed_forward_parameters()), (X, feed_forward_parameters(core.gelu))],
    "encoder_layer": [(X, encoder_parameters(), CAUSAL[None])],
    "encoder_layer_pre_norm": [(X, encoder_parameters(), CAUSAL[None])],
    "decoder_layer": [(X, MEMORY, decoder_parameters(), CAUSAL[None], PADDING)],
    "decoder_layer_pre_norm": [(X, MEMORY, decoder_parameters(), CAUSAL[None], PADDING)],
    "encoder": [(X, (encoder_parameters(), encoder_parameters()), CAUSAL[None])],
    "decoder": [
        (X, MEMORY, (decoder_parameters(), decoder_parameters()), CAUSAL[None], PADDING)
    ],
    "embed_tokens": [(IDS, floats(11, 13), 5)],
    "transformer": [(IDS, TARGETS, transformer_parameters(), PADDING)],
    "transformer_steps": [
        (IDS, TARGETS, transformer_parameters(), PADDING),
        (IDS[0], TARGETS[0], transformer_parameters()),
    ],
    "cut_patches": [(floats(2, 4, 6), 2), (floats(6, 15), 3)],
    "image_tokens": [(floats(2, 4, 6), vision_parameters())],
    "vision_transformer": [
        (floats(2, 4, 6), vision_parameters()),
        (floats(2, 4, 6), vision_parameters(), np.tri(7, k=2, dtype=bool)[None]),
    ],
    "extend_cache": [(CACHE, floats(2, 1, D_K), floats(2, 1, D_V)), (None, K, V)],
    "cached_attention": [(Q, floats(2, N_Q, D_K), floats(2, N_Q, D_V), CACHE), (K, K, V)],
    "memory_cache": [(MEMORY, HEADS), (MEMORY[0], grouped_parameters())],
    "cached_self_attention": [
        (X, encoder_parameters().attention, OF_HEADS, OF_OLD_AND_NEW),
        (X, encoder_parameters().attention),
    ],
    "cached_decoder_layer": [(X, OF_MEMORY, decoder_parameters(), OF_HEADS, PADDING)],
    "cached_decoder": [
        (X, (OF_MEMORY,) * 2, (decoder_parameters(), decoder_parameters()), (OF_HEADS,) * 2),
        (X, (OF_MEMORY,), (decoder_parameters(),), None, PADDING),
    ],
}  # fmt: skip
CALLS = [(name, number) for name, calls in CASES.items() for number in range(len(calls))]

MODULES = {
    "MultiHeadAttention": lambda: HEADS,
    "GroupedMultiHeadAttention": grouped_parameters,
    "LayerNorm": norm,
    "FeedForward": lambda: feed_forward_parameters(core.gelu),
    "EncoderLayer": encoder_parameters,
    "EncoderLayerPreNorm": encoder_parameters,
    "DecoderLayer": decoder_parameters,
    "DecoderLayerPreNorm": decoder_parameters,
    "Transformer": transformer_parameters,
    "VisionTransformer": vision_parameters,
}
MODULE_OF = {
    core.MultiHeadParameters: twins.MultiHeadAttention,
    core.LayerNormParameters: twins.LayerNorm,
    core.FeedForwardParameters: twins.FeedForward,
    core.EncoderLayerParameters: twins.EncoderLayer,
    core.DecoderLayerParameters: twins.DecoderLayer,
    core.TransformerParameters: twins.Transformer,
    core.VisionTransformerParameters: twins.VisionTransformer,
}


def to_torch(value):
    """Return what a twin takes in place of core's argument; floats will be asked for gradients."""
    if isinstance(value, core.KVCache):
        return twins.KVCache(torch.from_numpy(value.k.copy()), torch.from_numpy(value.v.copy()))
    if type(value) in MODULE_OF:
        return MODULE_OF[type(value)](value)
    if isinstance(value, tuple) and isinstance(value[0], core.KVCache):
        return tuple(to_torch(v) for v in value)
    if isinstance(value, tuple):
        return torch.nn.ModuleList(to_torch(v) for v in value)
    if isinstance(value, np.ndarray):
        tensor = torch.from_numpy(value.copy())
        return tensor.requires_grad_() if tensor.is_floating_point() else tensor
    return value


def leaves(value):
    """Return every array of a result in order: tuples, dataclasses and tensors are walked."""
    if dataclasses.is_dataclass(value):
        return [x for f in dataclasses.fields(value) for x in leaves(getattr(value, f.name))]
    if isinstance(value, (tuple, list)):
        return [x for v in value for x in leaves(v)]
    if isinstance(value, torch.Tensor):
        return [value.detach().numpy()]
    return [] if value is None or callable(value) else [np.asarray(value)]


def arguments(name, number):
    """Return core's arguments and the twin's."""
    args = CASES[name][number]
    return args, tuple(to_torch(a) for a in args)


def twin_and_original(name):
    return getattr(twins, name), getattr(qkv, name)
