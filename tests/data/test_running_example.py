"""The running example keeps its promises: no two sizes alike, weights that say what we say."""

import numpy as np
import pytest

import qkv
from qkv.data import running_example


def head(ex, i, X_q, X_kv):
    q, k, v = qkv.project_qkv(X_q, X_kv, ex.W_Q[i], ex.W_K[i], ex.W_V[i])
    return qkv.scaled_dot_product_attention(q, k, v)[1]


def test_no_two_sizes_are_equal():
    ex = running_example()
    n_heads, d_model, d_k = ex.W_Q.shape
    d_v = ex.W_V.shape[-1]
    sizes = [
        n_heads, d_k, d_v, d_model, len(ex.tokens_source), len(ex.tokens_target),
        n_heads * d_v, n_heads * d_k, ex.memory.shape[-1],
    ]  # fmt: skip
    assert len(set(sizes)) == len(sizes)


def test_shapes_fit_each_other():
    ex = running_example()
    assert ex.X_source.shape == (5, 8)
    assert ex.X_target.shape == (7, 8)
    assert ex.W_Q.shape == ex.W_K.shape == ex.W_Q_cross.shape == (3, 8, 4)
    assert ex.W_V.shape == (3, 8, 2)
    assert ex.W_O.shape == (6, 8)
    assert ex.W_K_memory.shape == (3, 9, 4)
    assert ex.W_V_memory.shape == (3, 9, 2)


@pytest.mark.parametrize(
    ("i", "query", "key", "weight"),
    [(0, "an", "apple", 0.93), (0, "apple", "an", 0.02), (1, "ate", "she", 0.93),
     (1, "apple", "an", 0.93), (2, ".", "ate", 0.93), (2, "an", ".", 0.65)],
)  # fmt: skip
def test_what_each_head_looks_at(i, query, key, weight):
    ex = running_example()
    weights = head(ex, i, ex.X_source, ex.X_source)
    found = weights[ex.tokens_source.index(query), ex.tokens_source.index(key)]
    assert round(float(found), 2) == weight


def test_cross_attention_finds_the_translated_word():
    ex = running_example()
    q, k, v = qkv.project_qkv(
        ex.X_target, ex.memory, ex.W_Q_cross[0], ex.W_K_memory[0], ex.W_V_memory[0]
    )
    _, weights = qkv.scaled_dot_product_attention(q, k, v)
    found = zip(ex.tokens_target, weights.argmax(-1), strict=True)
    best = {token: ex.tokens_source[j] for token, j in found}
    assert best == {"<s>": ".", "sie": "she", "hat": "ate", "einen": "an", "Apfel": "apple",
                    "gegessen": "ate", ".": "."}  # fmt: skip


@pytest.mark.parametrize("i", range(3))
def test_tying_keys_to_queries_shows(i):
    ex = running_example()
    X = ex.X_source
    k_tied = qkv.project(X, ex.W_Q[i])
    tied = qkv.scaled_dot_product_attention(k_tied, k_tied, qkv.project(X, ex.W_V[i]))[1]
    assert np.abs(tied - head(ex, i, X, X)).max() > 0.5


def test_the_arrays_cannot_be_changed_by_accident():
    with pytest.raises(ValueError, match="read-only"):
        running_example().W_Q[0, 0, 0] = 1.0
