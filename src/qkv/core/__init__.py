"""The reference: attention in numpy, one module an idea, in the order of the book."""

from qkv.core.dot_product import (
    cosine_similarity,
    dot_product,
    dot_product_scores,
    vector_length,
)
from qkv.core.errors import ShapeError
from qkv.core.masks import causal_mask, padding_mask
from qkv.core.projections import project, project_qkv
from qkv.core.scaled_dot_product import (
    AttentionSteps,
    attention_steps,
    scaled_dot_product_attention,
)
from qkv.core.softmax import softmax

__all__ = [
    "AttentionSteps",
    "ShapeError",
    "attention_steps",
    "causal_mask",
    "cosine_similarity",
    "dot_product",
    "dot_product_scores",
    "padding_mask",
    "project",
    "project_qkv",
    "scaled_dot_product_attention",
    "softmax",
    "vector_length",
]
