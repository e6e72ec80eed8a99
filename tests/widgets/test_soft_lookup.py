import re

import numpy as np
import pytest
import traitlets

import qkv
from qkv.widgets import SoftLookup
from qkv.widgets.base import number

PAIRS = [[0.0, 10.0], [2.0, 30.0], [9.0, 80.0]]


def plain_weights(keys, query, bandwidth, score, hard):
    """Weights by loops: the slow, certain version."""
    scores = []
    for key in keys:
        closeness = query * key if score == "dot" else -((query - key) ** 2) / 2
        scores.append(closeness / bandwidth**2)
    if hard:
        return [1.0 if j == scores.index(max(scores)) else 0.0 for j in range(len(keys))]
    powers = [np.exp(s - max(scores)) for s in scores]
    return [power / sum(powers) for power in powers]


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("score", ["distance", "dot"])
@pytest.mark.parametrize("bandwidth", [0.125, 1.0, 128.0])
def test_the_numbers_equal_the_loops(score, hard, bandwidth):
    pairs = np.random.default_rng(4).normal(size=(7, 2)) * 3
    widget = SoftLookup(pairs=pairs, query=0.7, bandwidth=bandwidth, score=score, hard=hard)
    made = widget.numbers()
    want = plain_weights(pairs[:, 0], 0.7, bandwidth, score, hard)
    np.testing.assert_allclose(made["weights"], want, rtol=0, atol=1e-14)
    np.testing.assert_allclose(made["output"], np.dot(want, pairs[:, 1]), rtol=0, atol=1e-13)
    np.testing.assert_allclose(made["parts"].sum(), made["output"], rtol=0, atol=1e-13)


def test_soft_by_distance_is_kernel_regression():
    widget = SoftLookup(bandwidth=2.0)
    k, v = widget.pairs[:, :1], widget.pairs[:, 1:]
    output, weights = qkv.kernel_regression(np.array([[7.3]]), k, v, 2.0)
    np.testing.assert_allclose(widget.numbers()["weights"], weights[0], rtol=0, atol=1e-15)
    np.testing.assert_allclose(widget.numbers()["output"], output[0, 0], rtol=1e-14)


def test_the_first_state_teaches():
    widget = SoftLookup()
    made = widget.numbers()
    assert widget.pairs.shape == (17, 2)
    assert widget.labels == ["km", "m"]
    assert sorted(made["weights"].round(2))[-2:] == [0.37, 0.58]
    # Near a place whose truth is known: closer than the nearest post.
    truth = qkv.data.terrain().heights[188, 98]
    nearest = widget.pairs[made["weights"].argmax(), 1]
    assert abs(made["output"] - truth) < abs(nearest - truth)


def test_by_dot_product_the_last_post_always_wins():
    widget = SoftLookup(score="dot")
    _, weights, _ = widget.look_up(np.linspace(0.5, 30, 7))
    assert (weights.argmax(axis=1) == 16).all()


def test_at_most_six_traits_and_none_is_derived():
    assert sorted(SoftLookup().state()) == [
        "bandwidth", "hard", "labels", "pairs", "query", "score",
    ]  # fmt: skip


@pytest.mark.parametrize("score", ["distance", "dot"])
def test_the_posters_numbers_equal_cores(score):
    widget = SoftLookup(pairs=PAIRS, query=1.5, score=score, labels=["s", "kg"])
    made = widget.numbers()
    cells = re.findall(r"<td>([^<]+)</td>", widget.poster())
    want = np.column_stack([[10.0, 30.0, 80.0], made["weights"], made["parts"]])
    assert cells == [number(x) for x in want.ravel()]
    assert f"Query 1.5 s: output {number(made['output'], 1)} kg" in widget.poster()
    assert widget.poster().count("<rect") == 3


def test_the_poster_stands_where_query_and_values_are_odd():
    for traits in ({"query": -50.0}, {"pairs": [[0, 5], [1, 5]]}, {"bandwidth": 0.125}):
        assert "nan" not in SoftLookup(**traits).poster()


def test_hostile_labels_stay_text():
    hostile = '</script><svg onload="x()">'
    html = SoftLookup(pairs=PAIRS, labels=[hostile, hostile]).figure_html()
    assert html.count("</script>") == 1
    assert 'onload="' not in html
    assert html.count("<svg") == 1


@pytest.mark.parametrize(
    ("traits", "sentence"),
    [
        ({"pairs": [[1, 2, 3]]}, "of shape (any, 2)"),
        ({"pairs": [[1, 2]]}, "at least two different keys"),
        ({"pairs": [[1, 2], [1, 3]]}, "at least two different keys"),
        ({"score": "cosine"}, "score"),
        ({"bandwidth": 0.0}, "bandwidth"),
        ({"labels": ["km"]}, "labels"),
    ],
)
def test_a_wrong_trait_is_refused(traits, sentence):
    with pytest.raises(traitlets.TraitError, match=re.escape(sentence)):
        SoftLookup(**traits)
