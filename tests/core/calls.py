"""The public functions of the core, and one valid call of each, at prime sizes that all differ.

`FUNCTIONS` are their names; `CALLS[name](dtype)` returns the arguments. New functions must be
added: a test compares the keys with `qkv.core.__all__`.
"""

from __future__ import annotations

import inspect

import numpy as np

import qkv
from tests.core import samples
from tests.core.lawbook import draw

FUNCTIONS = [n for n in qkv.core.__all__ if inspect.isfunction(getattr(qkv, n))]


def _floats(*shapes):
    return lambda dtype: tuple(x.astype(dtype) for x in draw(*shapes))


def _with_mask(*shapes, mask=(3, 5)):
    causal = np.tri(*mask, k=1, dtype=bool)
    return lambda dtype: (*(x.astype(dtype) for x in draw(*shapes)), causal)


def _rng(dtype):
    return np.random.default_rng(0)


LAYER = qkv.LayerSizes(d_model=11, d_ff=13, n_heads=3, d_k=2, d_v=7)
ACROSS = qkv.LayerSizes(d_model=11, d_ff=13, n_heads=3, d_k=2, d_v=7, d_memory=19)
SQUARE = {"d_q": 6, "d_kv": 6, "d_k": 2, "d_v": 2, "d_model": 6}
CAUSAL = np.tri(5, 7, k=2, dtype=bool)


def _heads(**options):
    """Return the call of a multi-head function: two sequences, parameters and a mask."""

    def arguments(dtype):
        X_q, X_kv = (x.astype(dtype) for x in draw((2, 5, 11), (2, 7, 13)))
        return X_q, X_kv, samples.multi_head(dtype=dtype, **options), CAUSAL

    return arguments


def _layer(parameters, *shapes):
    return lambda dtype: (*(x.astype(dtype) for x in draw(*shapes)), parameters(dtype=dtype))


def _grouped(dtype):
    return tuple(x.astype(dtype) for x in draw((2, 6, 3, 5), (2, 2, 7, 5), (2, 2, 7, 13)))


def _merge(dtype):
    a, b, log_a, log_b = draw((2, 3, 5), (2, 3, 5), (2, 3), (2, 3))
    return tuple(x.astype(dtype) for x in (a, log_a, b, log_b))


def _cached(dtype):
    q, k, v, old_k, old_v = (
        x.astype(dtype) for x in draw((2, 3, 7), (2, 3, 7), (2, 3, 11), (2, 5, 7), (2, 5, 11))
    )
    return q, k, v, qkv.KVCache(old_k, old_v)


def _extended(dtype):
    _, k, v, cache = _cached(dtype)
    return cache, k, v


def _cached_rows(dtype):
    """Return new rows, parameters, a cache of 7 rows, and which old and new keys are real."""
    X, k, v = (x.astype(dtype) for x in draw((2, 5, 11), (2, 3, 7, 2), (2, 3, 7, 7)))
    real = np.arange(12) >= np.array([[[0]], [[4]]])
    return X, samples.self_multi_head(dtype=dtype), qkv.KVCache(k, v), real


def _cached_layer(dtype):
    X, _, cache, _ = _cached_rows(dtype)
    parameters = samples.decoder_layer(dtype=dtype)
    memory = draw((2, 17, 19), seed=1)[0].astype(dtype)
    return X, qkv.memory_cache(memory, parameters.cross_attention), parameters, cache


def _cached_decoder(dtype):
    X, of_memory, parameters, cache = _cached_layer(dtype)
    layers = parameters, samples.decoder_layer(20, dtype=dtype)
    return X, (of_memory,) * 2, layers, (cache,) * 2


CALLS = {
    "softmax": _floats((2, 3, 5)),  # and `out`, in test_memory.py
    "softmax_with_temperature": lambda dtype: (*_floats((2, 3, 5))(dtype), 0.7),
    "dot_product": _floats((3, 5), (3, 5)),
    "vector_length": _floats((3, 5)),
    "cosine_similarity": _floats((3, 5), (3, 5)),
    "dot_product_scores": _floats((2, 3, 7), (2, 5, 7)),
    "cosine_scores": _floats((2, 3, 7), (2, 5, 7)),
    "bilinear_scores": _floats((2, 3, 5), (2, 7, 11), (5, 11)),
    "additive_scores": _floats((2, 3, 5), (2, 7, 11), (5, 13), (11, 13), (13,)),
    "attention_from_scores": _with_mask((2, 3, 5), (2, 5, 7)),
    "squared_distances": _floats((2, 3, 7), (2, 5, 7)),
    "nearest_look_up": _floats((2, 3, 7), (2, 5, 7), (2, 5, 11)),
    "kernel_regression": lambda dtype: (*_floats((2, 3, 7), (2, 5, 7), (2, 5, 11))(dtype), 1.5),
    "embed": lambda dtype: (np.array([[3, 0, 6], [1, 1, 2]]), *_floats((7, 5))(dtype)),
    "embed_tokens": lambda dtype: (np.array([[3, 0, 6], [1, 1, 2]]), *_floats((7, 5))(dtype), 4),
    "vocabulary_scores": _floats((2, 3, 5), (7, 5), (7,)),
    "cross_entropy": lambda dtype: (*_floats((3, 5))(dtype), np.array([4, 0, 2])),
    "project": _floats((2, 3, 5), (5, 7), (7,)),
    "project_qkv": _floats((3, 5), (7, 11), (5, 2), (11, 2), (11, 13)),
    "causal_mask": lambda dtype: (3, 5, 2),
    "window_mask": lambda dtype: (3, 7, 2, 1),
    "padding_mask": lambda dtype: (np.array([2, 5]), 5),
    "scaled_dot_product_attention": _with_mask((11, 3, 7), (11, 5, 7), (11, 5, 2)),
    "attention_steps": _with_mask((11, 3, 7), (11, 5, 7), (11, 5, 2)),
    "attention_with_bias": _with_mask((11, 3, 7), (11, 5, 7), (11, 5, 2), (3, 5)),
    "soft_cap": lambda dtype: (*_floats((3, 5))(dtype), 2.5),
    "soft_capped_attention": lambda dtype: (
        *_floats((11, 3, 7), (11, 5, 7), (11, 5, 2))(dtype),
        2.5,
        np.tri(3, 5, k=1, dtype=bool),
    ),
    "split_heads": lambda dtype: (*_floats((2, 5, 21))(dtype), 3),
    "merge_heads": _floats((2, 3, 5, 7)),
    "stack_heads": _floats((3, 5, 7), (3, 7)),
    "unstack_heads": lambda dtype: (*_floats((5, 21))(dtype), 3),
    "project_heads": _floats((2, 5, 11), (3, 11, 7), (3, 7)),
    "head_writes": _floats((2, 3, 5, 7), (21, 11)),
    "multi_head_attention": _heads(),
    "multi_head_attention_stacked": _heads(),
    "multi_head_attention_einsum": _heads(bias=False),
    "multi_head_steps": _heads(),
    "cross_attention": _heads(),
    "self_attention": _layer(samples.self_multi_head, (2, 5, 11)),
    "grouped_multi_head_attention": _heads(n_heads=6, n_kv_heads=2),
    "grouped_attention": _grouped,
    "repeat_kv_heads": lambda dtype: (*_floats((2, 3, 5, 7))(dtype), 2),
    "pack_in_proj": lambda dtype: (samples.multi_head(dtype=dtype, **SQUARE),),
    "unpack_in_proj": lambda dtype: (
        qkv.pack_in_proj(samples.multi_head(dtype=dtype, **SQUARE)),
        3,
    ),
    "extend_cache": _extended,
    "cached_attention": _cached,
    "memory_cache": lambda dtype: (
        draw((2, 7, 13))[0].astype(dtype),
        samples.multi_head(dtype=dtype),
    ),
    "cached_self_attention": _cached_rows,
    "cached_decoder_layer": _cached_layer,
    "cached_decoder": _cached_decoder,
    "pool_kv_heads": lambda dtype: (samples.multi_head(n_heads=6, dtype=dtype), 2),
    "partial_attention": _with_mask((11, 3, 7), (11, 5, 7), (11, 5, 2)),
    "merge_attention": _merge,
    "tiled_attention": lambda dtype: (*_with_mask((3, 7), (5, 7), (5, 2))(dtype), 2),
    "tiled_causal_attention": lambda dtype: (
        *_floats((2, 3, 7), (2, 5, 7), (2, 5, 11))(dtype),
        1,
        2,
    ),
    "sinusoidal_positions": lambda dtype: (3, 10, 2),
    "learned_positions": lambda dtype: (*_floats((11, 5))(dtype), 3, 2),
    "rotary_positions": lambda dtype: (*_floats((2, 5, 6))(dtype), 3),
    "rotary_positions_halves": lambda dtype: (*_floats((2, 5, 6))(dtype), 3, 50.0),
    "rotary_attention": _with_mask((11, 3, 6), (11, 5, 6), (11, 5, 2)),
    "relu": _floats((3, 5)),
    "gelu": _floats((3, 5)),
    "layer_norm": _layer(samples.norm, (2, 5, 11)),
    "rms_norm": _floats((2, 5, 11), (11,)),
    "feed_forward": _layer(samples.feed_forward, (2, 5, 11)),
    "encoder_layer": _layer(samples.encoder_layer, (2, 5, 11)),
    "encoder_layer_pre_norm": _layer(samples.encoder_layer, (2, 5, 11)),
    "decoder_layer": _layer(samples.decoder_layer, (2, 5, 11), (2, 17, 19)),
    "decoder_layer_pre_norm": _layer(samples.decoder_layer, (2, 5, 11), (2, 17, 19)),
    "encoder": lambda dtype: (
        *_floats((2, 5, 11))(dtype),
        tuple(samples.encoder_layer(s, dtype=dtype) for s in (0, 20)),
    ),
    "decoder": lambda dtype: (
        *_floats((2, 5, 11), (2, 17, 19))(dtype),
        tuple(samples.decoder_layer(s, dtype=dtype) for s in (0, 20)),
    ),
    "transformer": lambda dtype: (
        np.array([[3, 1, 28, 1, 5, 9, 2]]),
        np.array([[0, 30, 6, 5, 3]]),
        samples.transformer(dtype=dtype),
    ),
    "greedy_decode": lambda dtype: (
        np.array([3, 1, 28, 1, 5]),
        samples.transformer(dtype=dtype),
        (0, 30),
        3,
    ),
    "beam_search": lambda dtype: (
        np.array([3, 1, 28, 1, 5]),
        samples.transformer(dtype=dtype),
        (0, 30),
        2,
        3,
    ),
    "count_parameters": lambda dtype: (samples.multi_head(dtype=dtype),),
    "multi_head_parameter_count": lambda dtype: (LAYER,),
    "cross_attention_parameter_count": lambda dtype: (ACROSS,),
    "multi_head_bias_count": lambda dtype: (LAYER,),
    "feed_forward_parameter_count": lambda dtype: (LAYER,),
    "layer_norm_parameter_count": lambda dtype: (LAYER,),
    "encoder_layer_parameter_count": lambda dtype: (LAYER,),
    "decoder_layer_parameter_count": lambda dtype: (ACROSS,),
    "transformer_parameter_count": lambda dtype: (LAYER, 2, 23),
    "project_flops": lambda dtype: (5, 3, 7),
    "attention_flops": lambda dtype: (5, 7, 2, 3),
    "self_attention_flops": lambda dtype: (5, LAYER),
    "cross_attention_flops": lambda dtype: (5, 7, ACROSS),
    "feed_forward_flops": lambda dtype: (5, LAYER),
    "encoder_layer_flops": lambda dtype: (5, LAYER),
    "decoder_layer_flops": lambda dtype: (5, 7, ACROSS),
    "cache_bytes": lambda dtype: (5, 3, 7, 2),
    "xavier_uniform": lambda dtype: (_rng(dtype), 3, 5),
    "initial_multi_head": lambda dtype: (_rng(dtype), ACROSS),
    "initial_encoder_layer": lambda dtype: (_rng(dtype), LAYER),
    "initial_decoder_layer": lambda dtype: (_rng(dtype), ACROSS),
    "initial_transformer": lambda dtype: (_rng(dtype), ACROSS, 2, 23, 29),
    "cut_patches": lambda dtype: (*_floats((3, 4, 6))(dtype), 2),
    "image_tokens": lambda dtype: (*_floats((3, 4, 6))(dtype), samples.vision(dtype=dtype)),
    "vision_transformer": lambda dtype: (
        *_floats((3, 4, 6))(dtype),
        samples.vision(dtype=dtype),
        np.tri(7, k=2, dtype=bool),
    ),
    "attention_rollout": lambda dtype: (_floats((2, 3, 5, 5), (2, 7, 5, 5))(dtype),),
    "softmax_backward": _floats((2, 3, 5), (2, 3, 5)),
    "cross_entropy_backward": lambda dtype: (*_floats((3, 5))(dtype), np.array([4, 0, 2])),
    "project_backward": _floats((2, 3, 5), (5, 7), (2, 3, 7)),
    "attention_backward": _with_mask((2, 3, 7), (2, 5, 7), (2, 5, 11), (2, 3, 11)),
    "layer_norm_backward": lambda dtype: (
        draw((2, 5, 11))[0].astype(dtype),
        samples.norm(dtype=dtype),
        draw((2, 5, 11), seed=1)[0].astype(dtype),
    ),
    "project_heads_backward": _floats((2, 5, 11), (3, 11, 7), (2, 3, 5, 7)),
    "multi_head_attention_backward": lambda dtype: (
        *_heads()(dtype)[:3],
        draw((2, 5, 19), seed=1)[0].astype(dtype),
        CAUSAL,
    ),
}
CALLS["transformer_steps"] = CALLS["transformer_sites"] = CALLS["transformer"]
MAKE_FLOAT64 = {
    "sinusoidal_positions",
    "xavier_uniform",
    *(
        f"initial_{name}"
        for name in ("multi_head", "encoder_layer", "decoder_layer", "transformer")
    ),
}
