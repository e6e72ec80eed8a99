import copy
import re

import numpy as np
import pytest
import traitlets

import qkv
from qkv.widgets import LayerStepper
from qkv.widgets.base import number
from qkv.widgets.layer_stepper import example_layer, parameters

ORDERS = {"post": qkv.encoder_layer, "pre": qkv.encoder_layer_pre_norm}


def drawn_layer(seed=0):
    rng = np.random.default_rng(seed)
    layer = example_layer()
    for name in ("X", "W_Q", "W_K", "W_V", "W_O", "W_1", "b_1", "W_2", "E"):
        layer[name] = rng.normal(size=np.shape(layer[name])).tolist()
    return layer


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("token", range(5))
def test_the_last_row_is_the_layers_output(order, token):
    layer = drawn_layer()
    p, X = parameters(layer), np.array(layer["X"])
    output, _ = ORDERS[order](X, p)
    places = LayerStepper(layer=layer, token=token, order=order).path()
    if order == "pre":
        np.testing.assert_allclose(places[-3].row, output[token], rtol=0, atol=1e-12)
        output = qkv.layer_norm(output, p.norm_1)
    np.testing.assert_allclose(places[-2].row, output[token], rtol=0, atol=1e-12)
    scores = qkv.vocabulary_scores(output, np.array(layer["E"]))
    np.testing.assert_allclose(places[-1].row, scores[token], rtol=0, atol=1e-12)


@pytest.mark.parametrize("residual", [True, False])
@pytest.mark.parametrize("order", ORDERS)
def test_parts_sum_to_the_row(order, residual):
    for place in LayerStepper(layer=drawn_layer(3), order=order, residual=residual).path():
        if len(place.parts):
            np.testing.assert_allclose(place.parts.sum(axis=0), place.row, rtol=0, atol=1e-12)


def test_without_sums_the_word_itself_is_gone():
    for order in ORDERS:
        places = LayerStepper(order=order, residual=False).path()
        later = [place for place in places[4:] if place.kind == "stream"]
        assert all((place.parts[0] == 0).all() for place in later)


def test_a_norm_leaves_mean_zero_and_the_root_of_the_width():
    for order in ORDERS:
        widget = LayerStepper(layer=drawn_layer(), order=order)
        made = widget.numbers()
        for name, mean, length in zip(made["names"], made["mean"], made["length"], strict=True):
            if "LayerNorm" in name:
                assert abs(mean) < 1e-12
                assert abs(length - np.sqrt(8)) < 1e-3


def test_the_first_state_teaches():
    widget = LayerStepper()
    place = widget.path()[widget.place]
    assert (widget.layer["tokens"][widget.token], place.name) == ("an", "sum")
    edible = widget.layer["columns"].index("edible")
    assert place.parts[1, edible] > 2.7  # from apple, by head 1
    assert place.parts[0, edible] == 0


def test_the_layer_of_the_chapter_says_apple_after_an():
    words = LayerStepper().path()[-1].row
    assert LayerStepper().layer["words"][words.argmax()] == "apple"


def test_at_most_six_traits_and_none_is_derived():
    assert sorted(LayerStepper().state()) == ["layer", "order", "place", "residual", "token"]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("place", [0, 6, 11])
def test_the_posters_numbers_equal_cores(order, place):
    widget = LayerStepper(order=order, place=place)
    cells = re.findall(r"<td>([^<]+)</td>", widget.poster())
    rows = [p for p in widget.path() if p.kind not in ("hidden", "words")]
    want = [[*p.row, p.row.mean(), np.linalg.norm(p.row)] for p in rows]
    scores = widget.path()[-1].row
    pairs = zip(scores, qkv.softmax(scores), strict=True)
    want += [list(pair) for pair in pairs]
    assert cells == [number(x) for row in want for x in row]
    assert widget.poster().count("<rect") == len(widget.path()[min(place, len(rows) + 1)].row)


def test_hostile_names_stay_text():
    layer = example_layer()
    hostile = '</script><svg onload="x()">'
    for name in ("tokens", "columns", "units", "words"):
        layer[name][0] = hostile
    html = LayerStepper(layer=layer, token=0).figure_html()
    assert html.count("</script>") == 1
    assert 'onload="' not in html
    assert html.count("<svg") == 1


def broken(**change):
    layer = copy.deepcopy(example_layer())
    layer.update(change)
    return layer


@pytest.mark.parametrize(
    ("traits", "sentence"),
    [
        ({"layer": {"X": [[1.0]]}}, "layer must hold tokens, columns, units, words, X"),
        ({"layer": broken(tokens=["a"])}, "layer: 5 tokens are needed, got 1"),
        ({"layer": broken(W_1=np.ones((7, 16)).tolist())}, "layer: "),
        ({"layer": broken(E=np.ones((11, 7)).tolist())}, "E must have as many columns as X"),
        ({"token": 5}, "token must be a row of X, got 5"),
        ({"place": 12}, "place must be 0 to 11, got 12"),
        ({"order": "both"}, "order"),
    ],
)
def test_a_wrong_trait_is_refused(traits, sentence):
    with pytest.raises(traitlets.TraitError, match=re.escape(sentence)):
        LayerStepper(**traits)
