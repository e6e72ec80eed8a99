"""torch's layers composed from core's functions: arrays and a state dict in, arrays out.

Everything is batch first here, and masks are torch's: in ``nn.MultiheadAttention`` and the layers
True means *blocked*. What core has no word for (a learned extra key, a key of zeros) is joined on
between two of its functions.
"""

import numpy as np

from qkv import core

ACTIVATIONS = {"relu": core.relu, "gelu": core.gelu}


def numpy_state(module):
    return {name: x.detach().numpy() for name, x in module.state_dict().items()}


def part(state, prefix):
    """Return the part of a state dict that stands under `prefix`."""
    return {n.removeprefix(prefix): x for n, x in state.items() if n.startswith(prefix)}


def scaled_dot_product_attention(q, k, v, attn_mask=None, is_causal=False, scale=None):
    """Compute what ``F.scaled_dot_product_attention`` does; here True means *may look*."""
    times = q.shape[-3] // k.shape[-3]
    if is_causal:
        attn_mask = core.causal_mask(q.shape[-2], k.shape[-2])
    if scale is None and attn_mask is not None and attn_mask.dtype != bool:
        k, v = core.repeat_kv_heads(k, times), core.repeat_kv_heads(v, times)
        return core.attention_with_bias(q, k, v, attn_mask)[0]
    if scale is None:
        return core.grouped_attention(q, k, v, attn_mask)[0]
    scores = core.dot_product_scores(q, core.repeat_kv_heads(k, times)) * q.dtype.type(scale)
    if attn_mask is not None and attn_mask.dtype != bool:
        scores, attn_mask = scores + attn_mask, None
    return core.attention_from_scores(scores, core.repeat_kv_heads(v, times), attn_mask)[0]


def in_projections(state, n_heads):
    """Return (W, b) of the heads for queries, keys and values, packed or separate."""
    if "in_proj_weight" in state:
        matrices = np.split(state["in_proj_weight"], 3)
    else:
        matrices = [state[f"{x}_proj_weight"] for x in "qkv"]
    stacks = [core.unstack_heads(W.T, n_heads) for W in matrices]
    biases = [None] * 3
    if "in_proj_bias" in state:
        biases = [b.reshape(n_heads, -1) for b in np.split(state["in_proj_bias"], 3)]
    return list(zip(stacks, biases, strict=True))


def one_more_key(x, row):
    """Lay a row (n_heads, 1, d) behind the keys or values of every sequence."""
    return np.concatenate([x, np.broadcast_to(row, (*x.shape[:-2], 1, x.shape[-1]))], axis=-2)


def bool_and_bias(masks, extra_keys, dtype):
    """Split torch's masks (True = blocked, floats added) into core's mask and bias, or None."""
    mask = bias = None
    for given in masks:
        widened = np.pad(given, [(0, 0)] * (given.ndim - 1) + [(0, extra_keys)])
        if given.dtype == bool:
            mask = ~widened if mask is None else mask & ~widened
        else:
            bias = widened.astype(dtype) if bias is None else bias + widened.astype(dtype)
    return mask, bias


def multi_head_attention(state, n_heads, inputs, masks=(), add_zero_attn=False):
    """Compute what ``nn.MultiheadAttention`` does; the masks already have the scores' four axes."""
    projections = in_projections(state, n_heads)
    q, k, v = (core.project_heads(X, W, b) for X, (W, b) in zip(inputs, projections, strict=True))
    extra_keys = 0
    if "bias_k" in state:
        k = one_more_key(k, core.split_heads(state["bias_k"][0], n_heads))
        v = one_more_key(v, core.split_heads(state["bias_v"][0], n_heads))
        extra_keys += 1
    if add_zero_attn:
        zeros = np.zeros((n_heads, 1, q.shape[-1]), q.dtype)
        k, v = one_more_key(k, zeros), one_more_key(v, zeros)
        extra_keys += 1
    mask, bias = bool_and_bias(masks, extra_keys, q.dtype)
    if bias is None:
        heads, weights = core.scaled_dot_product_attention(q, k, v, mask)
    else:
        heads, weights = core.attention_with_bias(q, k, v, bias, mask)
    W_O, b_O = state["out_proj.weight"].T, state.get("out_proj.bias")
    return core.project(core.merge_heads(heads), W_O, b_O), weights


def norm(state, epsilon):
    shift = state.get("bias", np.zeros_like(state["weight"]))
    return core.LayerNormParameters(state["weight"], shift, epsilon)


def feed_forward(state, activation):
    first, second = (state[f"linear{i}.weight"].T for i in (1, 2))
    biases = [state.get(f"linear{i}.bias") for i in (1, 2)]
    return core.FeedForwardParameters(first, biases[0], second, biases[1], ACTIVATIONS[activation])


def encoder_parameters(state, n_heads, activation, epsilon):
    """Return the parameters of an ``nn.TransformerEncoderLayer``."""
    return core.EncoderLayerParameters(
        core.unpack_in_proj(part(state, "self_attn."), n_heads),
        norm(part(state, "norm1."), epsilon),
        feed_forward(state, activation),
        norm(part(state, "norm2."), epsilon),
    )


def decoder_parameters(state, n_heads, activation, epsilon):
    """Return the parameters of an ``nn.TransformerDecoderLayer``."""
    return core.DecoderLayerParameters(
        core.unpack_in_proj(part(state, "self_attn."), n_heads),
        norm(part(state, "norm1."), epsilon),
        core.unpack_in_proj(part(state, "multihead_attn."), n_heads),
        norm(part(state, "norm2."), epsilon),
        feed_forward(state, activation),
        norm(part(state, "norm3."), epsilon),
    )


def transformer(state, settings, source, target, masks):
    """Compute what ``nn.Transformer`` does: a LayerNorm more behind each of its two stacks."""
    n_heads, activation, epsilon, norm_first, n_encoder, n_decoder = settings
    source_mask, target_mask, memory_mask = masks
    encoder_layer = core.encoder_layer_pre_norm if norm_first else core.encoder_layer
    decoder_layer = core.decoder_layer_pre_norm if norm_first else core.decoder_layer
    memory, output = source, target
    for i in range(n_encoder):
        layer = part(state, f"encoder.layers.{i}.")
        parameters = encoder_parameters(layer, n_heads, activation, epsilon)
        memory, _ = encoder_layer(memory, parameters, source_mask)
    memory = core.layer_norm(memory, norm(part(state, "encoder.norm."), epsilon))
    for i in range(n_decoder):
        layer = part(state, f"decoder.layers.{i}.")
        parameters = decoder_parameters(layer, n_heads, activation, epsilon)
        output, _, _ = decoder_layer(output, memory, parameters, target_mask, memory_mask)
    return memory, core.layer_norm(output, norm(part(state, "decoder.norm."), epsilon))
