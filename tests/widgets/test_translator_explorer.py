import re

import numpy as np
import pytest
import traitlets

import qkv
from qkv.widgets import TranslatorExplorer
from qkv.widgets.base import number, static_text
from qkv.widgets.translator_explorer import SITES, example


@pytest.mark.parametrize("site", SITES)
@pytest.mark.parametrize("head", [[0, 3], [1, 1]])
def test_the_weights_are_the_models(site, head):
    made = TranslatorExplorer(site=site, head=head, text="97", language="fr").numbers()
    words = qkv.data.translation_vocabulary()
    source = [words.index(word) for word in made["source"]]
    read = [words.index(word) for word in made["written"][:-1]]
    steps = qkv.transformer_steps(source, read, qkv.data.translator())
    seen = {
        "encoder": steps.encoder_weights,
        "decoder": steps.self_weights,
        "cross": steps.cross_weights,
    }[site][head[0]][head[1]]
    np.testing.assert_allclose(made["weights"], seen, rtol=0, atol=1e-12)
    scores = made["q"] @ made["k"].T / np.sqrt(12)
    allowed = np.isfinite(made["scores"])
    np.testing.assert_allclose(made["scores"][allowed], scores[allowed], rtol=0, atol=1e-12)
    assert allowed.all() == (site != "decoder")


def test_the_first_state_teaches():
    widget = TranslatorExplorer()
    made, (t, s) = widget.numbers(), widget.at
    pair = example(widget.text, widget.language)
    assert tuple(made["written"][1:-1]) == pair.target
    assert (t, s) in pair.sure
    assert made["weights"][t].argmax() == s
    assert len(made["source"]) != len(made["written"]) - 1


def test_the_first_rows_make_the_first_weights():
    widget = TranslatorExplorer()
    q, k = np.array(widget.first["q"]), np.array(widget.first["k"])
    weights = qkv.softmax(q @ k.T / np.sqrt(12))
    np.testing.assert_allclose(weights, widget.numbers()["weights"], rtol=0, atol=1e-4)


def test_at_most_six_traits_and_none_is_derived():
    assert sorted(TranslatorExplorer().state()) == [
        "at", "first", "head", "language", "site", "text",
    ]  # fmt: skip


def test_the_posters_numbers_equal_cores():
    widget = TranslatorExplorer(site="decoder", head=[0, 2])
    cells = re.findall(r"<td>([^<]+)</td>", widget.poster())
    assert cells == [number(x) for x in widget.numbers()["weights"].ravel()]


def test_the_script_is_the_file_of_the_weights():
    import base64

    from qkv.data.translator import PATH

    text = static_text("translator-weights.js").split('"')[1]
    assert base64.b64decode(text) == PATH.read_bytes()
    assert len(text) <= 600_000


def test_a_notebook_that_asks_gets_the_weights():
    widget, sent = TranslatorExplorer(), []
    widget.send = sent.append
    widget._answer(widget, {"want": "something"}, [])
    assert sent == []
    widget._answer(widget, {"want": "translator-weights"}, [])
    assert sent[0]["translatorWeights"] == static_text("translator-weights.js").split('"')[1]


@pytest.mark.parametrize(
    ("traits", "sentence"),
    [
        ({"text": "1000000"}, "text must be a number from 0 to 999999"),
        ({"text": "2023-02-29"}, "a date such as 2024-02-29"),
        ({"text": "1899-12-31"}, "the year must be from 1900 to 2099"),
        ({"text": "many"}, "text must be a number"),
        ({"head": [2, 0]}, "head must be a layer below 2"),
        ({"head": [0, 4]}, "head must be a layer below 2"),
        ({"site": "memory"}, "site"),
        ({"language": "it"}, "language"),
    ],
)
def test_a_wrong_trait_is_refused(traits, sentence):
    with pytest.raises(traitlets.TraitError, match=re.escape(sentence)):
        TranslatorExplorer(**traits)
