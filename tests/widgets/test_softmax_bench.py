import re

import numpy as np
import pytest
import traitlets

import qkv
from qkv.widgets import SoftmaxBench
from qkv.widgets.base import number


def plain_weights(scores, temperature, axis, times):
    """Weights by nested loops: the slow, certain version."""
    n_q, n_k = scores.shape
    powers = np.zeros((n_q, n_k))
    for i in range(n_q):
        for j in range(n_k):
            if j <= i + n_k - n_q:
                score = scores[i, j] * (times if i == n_q - 1 else 1)
                powers[i, j] = np.exp(score / temperature)
    if axis == "keys":
        return powers / powers.sum(axis=1)[:, None]
    return powers / powers.sum(axis=0)


@pytest.mark.parametrize("axis", ["keys", "queries"])
@pytest.mark.parametrize(("temperature", "times"), [(1.0, 3.0), (0.5, -2.0), (8.0, 0.0)])
def test_the_numbers_equal_the_loops(axis, temperature, times):
    scores = np.random.default_rng(3).normal(size=(3, 5))
    tokens = list("abcde")
    widget = SoftmaxBench(
        tokens=tokens, scores=scores, temperature=temperature, axis=axis, times=times
    )
    made = widget.numbers()
    want = plain_weights(scores, temperature, axis, times)
    np.testing.assert_allclose(made["weights"], want, rtol=0, atol=1e-14)
    moved = np.abs(want - plain_weights(scores, temperature, axis, 1.0)).max(axis=1)
    np.testing.assert_allclose(made["moved"], moved, rtol=0, atol=1e-14)
    assert made["leak"] == made["moved"][:-1].max()


def test_only_the_sum_over_queries_leaks():
    assert SoftmaxBench().numbers()["leak"] == 0.0
    assert SoftmaxBench(axis="queries").numbers()["leak"] > 0.1
    assert SoftmaxBench(axis="queries", times=1.0).numbers()["leak"] == 0.0


def test_the_first_state_teaches():
    made = SoftmaxBench().numbers()
    np.testing.assert_allclose(made["row sums"], 1, rtol=1e-15)
    assert made["moved"][-1] > 0.1
    assert (made["moved"][:-1] == 0).all()


def test_six_traits_and_none_is_derived():
    names = ["axis", "row", "scores", "temperature", "times", "tokens"]
    assert sorted(SoftmaxBench().state()) == names


@pytest.mark.parametrize("axis", ["keys", "queries"])
def test_the_posters_numbers_equal_cores(axis):
    widget = SoftmaxBench(axis=axis)
    poster, made = widget.poster(), widget.numbers()
    cells = re.findall(r"<td>([^<]+)</td>", poster)
    want = np.column_stack([made["weights"], made["row sums"], made["moved"]])
    assert cells == [number(x) for x in want.ravel()]
    assert f"leak {number(made['leak'])}" in poster


def test_hostile_tokens_stay_text():
    hostile = '</script><svg onload="x()">'
    html = SoftmaxBench(tokens=[hostile, "a", "b", "c", "&"]).figure_html()
    assert html.count("</script>") == 1
    assert 'onload="' not in html
    assert html.count("<svg") == 1


def test_real_words_keep_their_scores():
    words = qkv.data.word_vectors()
    sentence = ["she", "ate", "an", "apple", "."]
    scores = words.rows(sentence).astype(float)
    scores = scores @ scores.T
    weights = SoftmaxBench(tokens=sentence, scores=scores[1:], times=1.0).weights()
    np.testing.assert_allclose(weights[-1], qkv.softmax(scores)[-1], rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    ("traits", "sentence"),
    [
        ({"scores": np.ones((4, 6))}, "scores must be (n_q, 5) with 2 to 5 queries"),
        ({"scores": np.ones((1, 5))}, "with 2 to 5 queries"),
        ({"row": 4}, "row one of them"),
        ({"axis": "rows"}, "axis"),
        ({"temperature": 0.0}, "temperature"),
        ({"times": 4.0}, "times"),
    ],
)
def test_a_wrong_trait_is_refused(traits, sentence):
    with pytest.raises(traitlets.TraitError, match=re.escape(sentence)):
        SoftmaxBench(**traits)
