"""The same functions in torch, and modules that learn.

Same file names, function names and argument order as `qkv.core`; the tests hold every value and
every gradient against it. Where core takes a dataclass of parameters, a twin takes the module with
the same fields. Nothing else in qkv imports torch::

    from qkv import twins

    layer = twins.MultiHeadAttention(parameters)      # core's parameters, now trainable
    output, weights = layer(X_q, X_kv, mask)          # the same as twins.multi_head_attention(...)
    parameters = layer.to_core()                      # and back, for pages and widgets
"""

from qkv.twins.bias import attention_with_bias
from qkv.twins.cache import KVCache, cached_attention, extend_cache
from qkv.twins.cached_decoder import (
    cached_decoder,
    cached_decoder_layer,
    cached_self_attention,
    memory_cache,
)
from qkv.twins.cross_attention import cross_attention, self_attention
from qkv.twins.dot_product import cosine_similarity, dot_product, dot_product_scores, vector_length
from qkv.twins.embeddings import embed, vocabulary_scores
from qkv.twins.feed_forward import FeedForward, feed_forward, gelu, relu
from qkv.twins.grouped_heads import (
    GroupedMultiHeadAttention,
    grouped_attention,
    grouped_multi_head_attention,
    repeat_kv_heads,
)
from qkv.twins.images import (
    VisionTransformer,
    cut_patches,
    image_tokens,
    vision_transformer,
)
from qkv.twins.layer import (
    DecoderLayer,
    DecoderLayerPreNorm,
    EncoderLayer,
    EncoderLayerPreNorm,
    decoder_layer,
    decoder_layer_pre_norm,
    encoder_layer,
    encoder_layer_pre_norm,
)
from qkv.twins.layer_norm import LayerNorm, layer_norm, rms_norm
from qkv.twins.look_up import kernel_regression, nearest_look_up, squared_distances
from qkv.twins.loss import cross_entropy
from qkv.twins.masks import causal_mask, padding_mask, window_mask
from qkv.twins.multi_head import (
    MultiHeadAttention,
    MultiHeadSteps,
    head_writes,
    merge_heads,
    multi_head_attention,
    multi_head_attention_einsum,
    multi_head_attention_stacked,
    multi_head_steps,
    project_heads,
    split_heads,
    stack_heads,
    unstack_heads,
)
from qkv.twins.positions import (
    learned_positions,
    rotary_attention,
    rotary_positions,
    rotary_positions_halves,
    sinusoidal_positions,
)
from qkv.twins.projections import project, project_qkv
from qkv.twins.scaled_dot_product import (
    AttentionSteps,
    attention_steps,
    scaled_dot_product_attention,
)
from qkv.twins.scores import additive_scores, attention_from_scores, bilinear_scores, cosine_scores
from qkv.twins.soft_cap import soft_cap, soft_capped_attention
from qkv.twins.softmax import softmax, softmax_with_temperature
from qkv.twins.transformer import (
    Decoder,
    Encoder,
    Transformer,
    TransformerSteps,
    decoder,
    embed_tokens,
    encoder,
    transformer,
    transformer_steps,
)

__all__ = [
    "AttentionSteps",
    "Decoder",
    "DecoderLayer",
    "DecoderLayerPreNorm",
    "Encoder",
    "EncoderLayer",
    "EncoderLayerPreNorm",
    "FeedForward",
    "GroupedMultiHeadAttention",
    "KVCache",
    "LayerNorm",
    "MultiHeadAttention",
    "MultiHeadSteps",
    "Transformer",
    "TransformerSteps",
    "VisionTransformer",
    "additive_scores",
    "attention_from_scores",
    "attention_steps",
    "attention_with_bias",
    "bilinear_scores",
    "cached_attention",
    "cached_decoder",
    "cached_decoder_layer",
    "cached_self_attention",
    "causal_mask",
    "cosine_scores",
    "cosine_similarity",
    "cross_attention",
    "cross_entropy",
    "cut_patches",
    "decoder",
    "decoder_layer",
    "decoder_layer_pre_norm",
    "dot_product",
    "dot_product_scores",
    "embed",
    "embed_tokens",
    "encoder",
    "encoder_layer",
    "encoder_layer_pre_norm",
    "extend_cache",
    "feed_forward",
    "gelu",
    "grouped_attention",
    "grouped_multi_head_attention",
    "head_writes",
    "image_tokens",
    "kernel_regression",
    "layer_norm",
    "learned_positions",
    "memory_cache",
    "merge_heads",
    "multi_head_attention",
    "multi_head_attention_einsum",
    "multi_head_attention_stacked",
    "multi_head_steps",
    "nearest_look_up",
    "padding_mask",
    "project",
    "project_heads",
    "project_qkv",
    "relu",
    "repeat_kv_heads",
    "rms_norm",
    "rotary_attention",
    "rotary_positions",
    "rotary_positions_halves",
    "scaled_dot_product_attention",
    "self_attention",
    "sinusoidal_positions",
    "soft_cap",
    "soft_capped_attention",
    "softmax",
    "softmax_with_temperature",
    "split_heads",
    "squared_distances",
    "stack_heads",
    "transformer",
    "transformer_steps",
    "unstack_heads",
    "vector_length",
    "vision_transformer",
    "vocabulary_scores",
    "window_mask",
]
