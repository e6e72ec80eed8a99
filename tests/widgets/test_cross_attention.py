import re

import numpy as np
import pytest
import traitlets

import qkv
from qkv.widgets import CrossAttention
from qkv.widgets.base import number
from qkv.widgets.cross_attention import example_inputs, example_parameters


def plain_parts(X, memory, W_Q, W_K, W_V, W_O, seen, t, c):
    """What each head brings from each memory row, by nested loops: the slow, certain version."""
    h, _, d_k = W_Q.shape
    d_v = W_V.shape[-1]
    parts = np.zeros((h, len(memory)))
    for i in range(h):
        powers = np.zeros(len(memory))
        for j in range(len(memory)):
            score = sum((X[t] @ W_Q[i])[s] * (memory[j] @ W_K[i])[s] for s in range(d_k))
            powers[j] = np.exp(score / np.sqrt(d_k)) if seen[j] else 0.0
        for j in range(len(memory)):
            value = memory[j] @ W_V[i]
            handed = sum(value[s] * W_O[i * d_v + s, c] for s in range(d_v))
            parts[i, j] = powers[j] / powers.sum() * handed
    return parts


@pytest.mark.parametrize("hidden", [[0, 0, 0, 0, 0], [0, 1, 0, 0, 1]])
def test_the_parts_equal_the_loops_and_sum_to_the_output(hidden):
    ex = qkv.data.running_example()
    order = [3, 0, 4, 1, 2]
    W = ex.W_Q_cross, ex.W_K_memory, ex.W_V_memory, ex.W_O
    seen = [not hidden[word] for word in order]
    for t in range(7):
        for c in range(8):
            widget = CrossAttention(order=order, hidden=hidden, chosen=[t, c, 0, 0])
            made = widget.numbers()
            want = plain_parts(ex.X_target, ex.memory[order], *W, seen, t, c)
            np.testing.assert_allclose(made["parts"], want, rtol=0, atol=1e-14)
            np.testing.assert_allclose(
                made["parts"].sum(), made["output"][t, c], rtol=0, atol=1e-14
            )


def test_the_output_is_cores():
    ex = qkv.data.running_example()
    parameters = qkv.MultiHeadParameters(ex.W_Q_cross, ex.W_K_memory, ex.W_V_memory, ex.W_O)
    output, weights = qkv.cross_attention(ex.X_target, ex.memory, parameters)
    made = CrossAttention().numbers()
    np.testing.assert_allclose(made["output"], output, rtol=0, atol=1e-14)
    np.testing.assert_allclose(made["weights"], weights, rtol=0, atol=1e-15)


def test_the_order_of_the_memory_changes_no_output():
    first = CrossAttention().numbers()["output"]
    other = CrossAttention(order=[4, 2, 0, 3, 1]).numbers()["output"]
    np.testing.assert_allclose(other, first, rtol=0, atol=1e-14)


def test_a_hidden_word_brings_nothing_and_all_hidden_give_zeros():
    made = CrossAttention(hidden=[0, 1, 0, 0, 0]).numbers()
    assert (made["weights"][..., 1] == 0).all()
    np.testing.assert_allclose(made["weights"].sum(-1), 1, rtol=0, atol=1e-15)
    assert (CrossAttention(hidden=[1] * 5).numbers()["output"] == 0).all()


def test_the_first_state_teaches():
    made = CrossAttention().numbers()
    assert made["weight"] > 0.95
    assert made["score"] == 4
    assert made["parts"][0, 1] > 0.95 * made["output"][5, 2]


def test_at_most_six_traits_and_none_is_derived():
    assert sorted(CrossAttention().state()) == ["chosen", "hidden", "inputs", "order", "parameters"]


def test_the_posters_numbers_equal_cores():
    widget = CrossAttention(order=[1, 0, 2, 4, 3], chosen=[2, 0, 1, 3])
    made = widget.numbers()
    poster = widget.poster()
    cells = re.findall(r"<td>([^<]+)</td>", poster)
    want = np.concatenate([made["output"].ravel(), made["parts"].ravel()])
    assert cells == [number(x) for x in want]
    assert poster.count("<line") == (made["weights"][1] >= 0.04).sum()
    words = re.findall(r'fill="var\(--qkv-k[^>]*>([^<]+)<', poster)
    assert words == ["ate", "she", "an", ".", "apple"]


def test_hostile_tokens_stay_text():
    hostile = '</script><svg onload="x()">'
    inputs = {**example_inputs(), "tokens_kv": [hostile, "a", "b", "c", "d"]}
    html = CrossAttention(inputs=inputs).figure_html()
    assert html.count("</script>") == 1
    assert 'onload="' not in html
    assert html.count("<svg") == 1


def wrong_inputs(**change):
    return {"inputs": {**example_inputs(), **change}}


@pytest.mark.parametrize(
    ("traits", "sentence"),
    [
        ({"order": [0, 1, 2, 3, 3]}, "order must hold each of 0 to 4 once"),
        ({"hidden": [0, 0, 0, 0, 2]}, "hidden must hold 5 numbers, each 0 or 1"),
        ({"chosen": [7, 0, 0, 0]}, "chosen must lie below (7, 8, 3, 5)"),
        (wrong_inputs(heads=["one"]), "inputs['heads'] must hold 3 names"),
        (wrong_inputs(columns_kv=["a"]), "inputs['columns_kv'] must hold 9 names"),
        (wrong_inputs(X=np.ones((7, 5)).tolist()), "X_q must have 8 columns"),
        (
            {"parameters": {**example_parameters(), "W_O": np.ones((5, 8)).tolist()}},
            "W_O must have",
        ),
    ],
)
def test_a_wrong_trait_is_refused(traits, sentence):
    with pytest.raises(traitlets.TraitError, match=re.escape(sentence)):
        CrossAttention(**traits)
