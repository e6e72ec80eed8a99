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
        n_heads * d_v, n_heads * d_k, ex.memory.shape[-1], ex.W_1.shape[-1], len(ex.words),
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


def layer_of(ex):
    ones, zeros = np.ones(8), np.zeros(8)
    return qkv.EncoderLayerParameters(
        attention=qkv.MultiHeadParameters(ex.W_Q, ex.W_K, ex.W_V, ex.W_O),
        norm_1=qkv.LayerNormParameters(ones, zeros),
        feed_forward=qkv.FeedForwardParameters(ex.W_1, ex.b_1, ex.W_2, None),
        norm_2=qkv.LayerNormParameters(ones, zeros),
    )


def test_the_table_made_both_sentences():
    ex = running_example()
    for tokens, X in ((ex.tokens_source, ex.X_source), (ex.tokens_target, ex.X_target)):
        np.testing.assert_array_equal(qkv.embed([ex.words.index(t) for t in tokens], ex.E), X)


def test_each_unit_reads_the_two_columns_of_its_name():
    ex = running_example()
    for unit, weights in zip(ex.units, ex.W_1.T, strict=True):
        named = [name for name, w in zip(ex.columns, weights, strict=True) if w]
        assert sorted(unit.split(" and ")) == sorted(named)
        assert (weights[weights != 0] == 1).all()


def test_the_layer_says_apple_after_an():
    ex = running_example()
    output, _ = qkv.encoder_layer(ex.X_source, layer_of(ex))
    scores = qkv.vocabulary_scores(output, ex.E)
    best = [ex.words[s.argmax()] for s in scores]
    assert best == ["she", "ate", "apple", "apple", "."]


def test_the_arrays_cannot_be_changed_by_accident():
    with pytest.raises(ValueError, match="read-only"):
        running_example().W_Q[0, 0, 0] = 1.0
