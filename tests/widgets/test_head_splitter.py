import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
import traitlets

import qkv
from qkv.widgets import HeadSplitter
from qkv.widgets.base import number
from qkv.widgets.head_splitter import WAYS, example_weights


def parameters(widget):
    W_Q, W_K, W_V, W_O = np.split(widget.w, 4, axis=1)
    three = [qkv.unstack_heads(W, widget.n_heads) for W in (W_Q, W_K, W_V)]
    return qkv.MultiHeadParameters(*three, W_O)


@pytest.mark.parametrize("n_heads", [1, 2, 4])
def test_the_right_way_is_cores_and_its_count_too(n_heads):
    widget = HeadSplitter(n_heads=n_heads, token=3)
    steps = qkv.multi_head_steps(widget.x, widget.x, parameters(widget))
    made = widget.numbers()
    np.testing.assert_allclose(made["weights"], steps.attention.weights[:, 3], rtol=0, atol=1e-12)
    np.testing.assert_allclose(made["writes"], steps.writes[:, 3], rtol=0, atol=1e-12)
    np.testing.assert_allclose(made["output"], steps.output[3], rtol=0, atol=1e-12)
    assert made["count"] == qkv.count_parameters(parameters(widget))
    assert made["off"] < 1e-12


@pytest.mark.parametrize("way", WAYS[1:])
def test_each_other_way_breaks_one_thing(way):
    right, wrong = HeadSplitter().numbers(), HeadSplitter(way=way).numbers()
    broken = {
        "reads": wrong["reads"] < right["reads"],
        "off": wrong["off"] > 0.1,
        "reaches": wrong["reaches"] < right["reaches"],
    }
    one = {"slices": "reads", "reshape": "off", "join": "off", "no W_O": "reaches"}[way]
    assert [name for name, is_broken in broken.items() if is_broken] == [one]


def test_slices_see_their_slice_only():
    rng = np.random.default_rng(3)
    given = {"w": rng.normal(size=(12, 48)), "tokens": list("abcde"), "way": "slices"}
    x = rng.normal(size=(5, 12))
    before = HeadSplitter(x=x, **given).numbers()["q"]
    x[1, 2] += 1.0
    moved = HeadSplitter(x=x, **given).numbers()["q"] != before
    assert moved.tolist() == [True] * 6 + [False] * 6


def test_the_first_state_teaches():
    made = HeadSplitter().numbers()
    tokens = qkv.data.running_example().tokens_source
    assert [tokens[i] for i in made["weights"].argmax(axis=1)] == ["apple", "she"]
    assert (made["weights"].max(axis=1) > 0.9).all()
    assert example_weights().shape == (8, 32)


def test_at_most_six_traits_and_none_is_derived():
    assert sorted(HeadSplitter().state()) == ["n_heads", "token", "tokens", "w", "way", "x"]


@pytest.mark.parametrize("way", WAYS)
def test_the_posters_numbers_equal_cores(way):
    widget = HeadSplitter(way=way, n_heads=4)
    made = widget.numbers()
    cells = re.findall(r"<td>([^<]+)</td>", widget.poster())
    want = [*made["weights"].ravel(), *made["writes"].ravel(), *made["output"]]
    assert cells == [number(x) for x in want]


def test_the_picture_says_what_it_shows():
    root = ET.fromstring(re.search(r"<svg.*?</svg>", HeadSplitter().poster(), re.DOTALL)[0])
    title, desc = list(root)[:2]
    assert [title.tag, desc.tag] == ["title", "desc"]
    assert "“ate”" in title.text
    said = "“ate” looks most in head 1 at “apple”, weight 0.93; in head 2 at “she”, weight 0.93."
    assert desc.text.startswith(said)


def test_hostile_tokens_stay_text():
    hostile = '</script><svg onload="x()">'
    html = HeadSplitter(tokens=[hostile, "a", "b", "c", "d"]).figure_html()
    assert html.count("</script>") == 1
    assert 'onload="' not in html


@pytest.mark.parametrize(
    ("traits", "sentence"),
    [
        ({"x": np.ones((4, 8))}, "x must be (n, d), one row a token"),
        ({"w": np.ones((8, 31))}, "x must be (n, d), one row a token"),
        ({"n_heads": 3}, "n_heads must be 1, 2 or 4, got 3"),
        ({"token": 5}, "token must be a row of x, got 5"),
        ({"way": "left"}, "way"),
    ],
)
def test_a_wrong_trait_is_refused(traits, sentence):
    with pytest.raises(traitlets.TraitError, match=re.escape(sentence)):
        HeadSplitter(**traits)
