"""One valid call of every public function, at prime sizes that all differ.

`CALLS[name](dtype)` returns the arguments. New functions must be added: a test compares the keys
with `qkv.core.__all__`.
"""

from __future__ import annotations

import numpy as np

from tests.core.lawbook import draw


def _floats(*shapes):
    return lambda dtype: tuple(x.astype(dtype) for x in draw(*shapes))


def _with_mask(*shapes, mask=(3, 5)):
    causal = np.tri(*mask, k=1, dtype=bool)
    return lambda dtype: (*(x.astype(dtype) for x in draw(*shapes)), causal)


CALLS = {
    "softmax": _floats((2, 3, 5)),
    "dot_product": _floats((3, 5), (3, 5)),
    "vector_length": _floats((3, 5)),
    "cosine_similarity": _floats((3, 5), (3, 5)),
    "dot_product_scores": _floats((2, 3, 7), (2, 5, 7)),
    "project": _floats((2, 3, 5), (5, 7), (7,)),
    "project_qkv": _floats((3, 5), (7, 11), (5, 2), (11, 2), (11, 13)),
    "causal_mask": lambda dtype: (3, 5, 2),
    "padding_mask": lambda dtype: (np.array([2, 5]), 5),
    "scaled_dot_product_attention": _with_mask((11, 3, 7), (11, 5, 7), (11, 5, 2)),
    "attention_steps": _with_mask((11, 3, 7), (11, 5, 7), (11, 5, 2)),
}
