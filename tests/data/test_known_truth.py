"""A task whose truth is known by rule: the rule, the truth, and the trained models."""

import itertools

import numpy as np
import pytest

import qkv
from qkv.data import known_truth
from qkv.data.known_truth import ANSWERS, TOKENS, erase, other_weights, precision, separation

pytest.importorskip("torch", reason="torch is not installed")

from qkv.experiments.explanation import KINDS, kinds, texts

DRAWN = texts(np.random.default_rng(1), 300)


def plain_rule(ids):
    """The rule by loops over the words."""
    *body, question = [TOKENS[i] for i in ids[1:]]
    if question == "!":
        return "–"  # noqa: RUF001
    if question == "*?":
        return str(sum(token == "*" for token in body))
    wanted = question[0]
    for hop in (0, 1):
        for token in body:
            if token[0] == wanted and token not in "*·":
                if len(token) == 2:
                    return token[1]
                if hop == 0:
                    wanted = token[2]
                    break
        else:
            return "–"  # noqa: RUF001
    return "–"  # noqa: RUF001


def test_the_rule_equals_the_loops():
    assert [ANSWERS[a] for a in qkv.data.rule(DRAWN)] == [plain_rule(ids) for ids in DRAWN]
    assert set(ANSWERS) == {plain_rule(ids) for ids in DRAWN}


def test_what_matters_is_what_changes_the_answer():
    truth = qkv.data.relevant(DRAWN)
    assert not truth[:, 0].any()
    for ids, row in zip(DRAWN[:60], truth, strict=False):
        for place in range(1, 9):
            assert row[place] == (plain_rule(erase(ids, place)) != plain_rule(ids))
    counts = {KINDS[k]: set(truth[kinds(DRAWN) == k].sum(1)) for k in range(4)}
    assert counts == {"one hop": {1}, "two hops": {2}, "count": {1, 2, 3, 4}, "nothing": {0}}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("A3 * A?", "8 tokens and a question, got 3"),
        ("A9 * B1 · C0 * · · A?", "'A9', which is no token"),
        ("A3 * B1 · C0 * · · A3", "a question must stand at the end and there alone"),
        ("A? * B1 · C0 * · · A?", "a question must stand at the end and there alone"),
        ("A3 * B1 · A→C * · · A?", "A is told about twice"),
        ("* * * * * · · · *?", "there may be 4 stars, got 5"),
    ],
)
def test_a_text_that_the_rule_does_not_cover_is_refused(words, sentence):
    with pytest.raises(ValueError, match=sentence):
        qkv.data.text_ids(words)


def test_separation_and_precision_by_loops():
    rng = np.random.default_rng(2)
    for _ in range(50):
        scores, truth = rng.integers(4, size=7) / 4, rng.random(7) < 0.4
        pairs = [(a, b) for a, b in itertools.product(range(7), repeat=2) if truth[a] and ~truth[b]]
        won = [(scores[a] > scores[b]) + 0.5 * (scores[a] == scores[b]) for a, b in pairs]
        if pairs:
            assert separation(scores, truth) == pytest.approx(np.mean(won))
        top = sorted(range(7), key=lambda j: (-scores[j], j))[: truth.sum()]
        if truth.any():
            assert precision(scores, truth) == pytest.approx(np.mean([truth[j] for j in top]))
    assert np.isnan(separation([1.0, 2.0], [False, False]))
    assert np.isnan(precision([1.0, 2.0], [False, False]))


def test_other_weights_keep_the_output_and_end_with_few_keys():
    rng = np.random.default_rng(3)
    for n_k, d_v in [(11, 3), (7, 5), (4, 7)]:
        weights, v = qkv.softmax(rng.normal(size=n_k)), rng.normal(size=(n_k, d_v))
        for share in (0.0, 0.4, 1.0):
            other = other_weights(weights, v, share)
            assert other.min() >= 0
            assert other.sum() == pytest.approx(1, abs=1e-12)
            np.testing.assert_allclose(other @ v, weights @ v, rtol=0, atol=1e-11)
        assert (other_weights(weights, v) > 0).sum() <= d_v + 1
        np.testing.assert_array_equal(other_weights(weights, v, 0.0), weights)


@pytest.mark.parametrize("name", ["two", "hidden"])
def test_gradients_equal_slopes(name):
    model, ids = qkv.data.truth_model(name), DRAWN[:3]
    steps = model.steps(ids)
    gradient = model.gradient(steps.X[0], steps.said)
    rng = np.random.default_rng(4)
    along = rng.normal(size=steps.X[0].shape)

    def lead(X):
        scores = model.steps(X=X).scores
        return np.take_along_axis(scores, steps.said[:, None], -1)[:, 0] - scores.mean(-1)

    slope = (lead(steps.X[0] + 1e-5 * along) - lead(steps.X[0] - 1e-5 * along)) / 2e-5
    np.testing.assert_allclose((gradient * along).sum((1, 2)), slope, rtol=1e-6, atol=1e-5)


def test_integrated_gradients_add_up_to_the_lead():
    model, ids = qkv.data.truth_model(), DRAWN[:5]
    steps = model.steps(ids)
    blank = np.array(steps.X[0])
    blank[:, 1:-1] = model.E[TOKENS.index("·")]
    points = (np.arange(64) + 0.5) / 64
    mean = sum(model.gradient(blank + a * (steps.X[0] - blank), steps.said) for a in points) / 64
    total = (mean * (steps.X[0] - blank)).sum((1, 2))

    def lead(scores):
        return np.take_along_axis(scores, steps.said[:, None], -1)[:, 0] - scores.mean(-1)

    want = lead(steps.scores) - lead(model.steps(X=blank).scores)
    np.testing.assert_allclose(total, want, rtol=0, atol=0.05 * np.abs(want).max())


def test_a_place_that_is_cut_gets_no_weight():
    steps = qkv.data.truth_model().steps(DRAWN[:4], cut=3)
    for weights in steps.weights:
        assert weights[..., 3].max() == 0


def test_the_shipped_models_do_what_the_page_says():
    truth, kind = qkv.data.relevant(DRAWN), kinds(DRAWN)
    for name, least in [("one", 0.98), ("two", 0.98), ("hidden", 0.95)]:
        model = qkv.data.truth_model(name)
        right = model.steps(DRAWN).said == qkv.data.rule(DRAWN)
        assert right[kind == 0].mean() > least, name
    one, two, hidden = (
        known_truth.scores_by_method(qkv.data.truth_model(name), DRAWN)
        for name in ("one", "two", "hidden")
    )
    agree = [
        separation(s, truth)[kind == 0].mean()
        for s in (one["weights, layer 1"], two["weights, layer 2"], hidden["weights, layer 2"])
    ]
    assert agree[0] > 0.98 > 0.9 > agree[1] > 0.5 > agree[2]


def test_an_unknown_model_is_refused():
    with pytest.raises(ValueError, match="there are the models one, two, hidden"):
        qkv.data.truth_model("three")
