import re

import numpy as np
import pytest
import traitlets

import qkv
from qkv.experiments import load_result
from qkv.widgets import RealHeads
from qkv.widgets.base import number, static_text
from qkv.widgets.real_heads import MEASURES, head_of, stored

APART = 0.02  # a weight made from stored bytes, and the model's; the caption says so


def test_the_weights_are_the_references_within_a_byte():
    saved = qkv.data.minilm_excerpt()
    texts = [sentence["text"] for sentence in stored()["sentences"]]
    largest = 0.0
    for sentence in saved.sentences:
        number_of = texts.index(sentence.text)
        for layer in range(6):
            for head in range(12):
                made = RealHeads(sentence=number_of, head=[layer, head]).numbers()
                assert tuple(made["tokens"]) == sentence.tokens
                difference = np.abs(made["weights"] - sentence.weights[layer, head]).max()
                largest = max(largest, float(difference))
    assert largest < APART
    assert "0.02" in RealHeads().caption


def test_the_lengths_are_the_heads():
    saved = qkv.data.minilm_excerpt()
    (bank,) = [s for s in saved.sentences if s.text.startswith("The bank")]
    head = saved.heads[2, 9]
    v = qkv.project_heads(bank.X[2], head.W_V, head.b_V)[0]
    np.testing.assert_allclose(head_of(0, 2, 9)[2], qkv.vector_length(v @ head.W_O), rtol=1e-4)


def test_the_map_is_the_experiments():
    result = load_result("real_heads")
    for name in MEASURES:
        for layer, head in [(0, 2), (2, 9), (5, 11)]:
            mean = result.column(name, layer=layer, head=head).mean()
            assert stored()["looks"][name][layer][head] == pytest.approx(100 * mean, abs=0.051)


def test_the_first_state_teaches():
    made = RealHeads().numbers()
    t, j = RealHeads().at
    assert made["tokens"][t] == made["tokens"][j] == "bank"
    assert t != j
    assert made["weights"][t].argmax() == j
    first = RealHeads().first
    weights = qkv.softmax(np.array(first["q"]) @ np.array(first["k"]).T / np.sqrt(32))
    np.testing.assert_allclose(weights, made["weights"], rtol=0, atol=1e-4)


def test_at_most_six_traits_and_none_is_derived():
    assert sorted(RealHeads().state()) == ["at", "first", "head", "measure", "sentence"]


def test_the_posters_numbers_equal_cores():
    widget = RealHeads(sentence=1, head=[0, 2], at=[4, 3])
    cells = re.findall(r"<td>([^<]+)</td>", widget.poster())
    assert cells == [number(x) for x in widget.numbers()["weights"].ravel()]
    assert "Layer 0 head 2: where apple looks" in widget.poster()


def test_the_script_is_small_enough():
    assert len(static_text("real-heads-data.js").encode()) <= 600_000


def test_a_notebook_that_asks_gets_the_heads():
    widget, sent = RealHeads(), []
    widget.send = sent.append
    widget._answer(widget, {"want": "something"}, [])
    assert sent == []
    widget._answer(widget, {"want": "real-heads-data"}, [])
    assert sent == [{"realHeads": stored()}]


@pytest.mark.parametrize(
    ("traits", "sentence"),
    [
        ({"sentence": 8}, "sentence must be 0 to 7, got 8"),
        ({"sentence": -1}, "sentence must be 0 to 7, got -1"),
        ({"head": [6, 0]}, "head must be a layer below 6"),
        ({"head": [0, 12]}, "a head below 12"),
        ({"measure": "carried"}, "measure"),
    ],
)
def test_a_wrong_trait_is_refused(traits, sentence):
    with pytest.raises(traitlets.TraitError, match=re.escape(sentence)):
        RealHeads(**traits)
