import json
import re

import numpy as np
import pytest
import traitlets

import qkv
from qkv.data.known_truth import separation
from qkv.widgets import ExplanationLab
from qkv.widgets.base import number, static_text
from qkv.widgets.explanation_lab import METHODS, SCRIPT


def plain(text, name):
    """Forward pass by loops: the scores, and each layer's weights of the question's row."""
    model = qkv.data.truth_model(name)
    X = [model.E[i] for i in qkv.data.text_ids(text)]
    kept = []
    for layer in model.layers:
        writes, rows = [np.zeros(28) for _ in X], []
        for i in range(2):
            q, k, v = ([x @ W[i] for x in X] for W in (layer.W_Q, layer.W_K, layer.W_V))
            for t in range(10):
                e = np.exp([q[t] @ k[j] / np.sqrt(6) for j in range(10)])
                w = e / e.sum()
                writes[t] = (
                    writes[t] + sum(w[j] * v[j] for j in range(10)) @ layer.W_O[5 * i : 5 * i + 5]
                )
            rows.append(w)
        X = [x + w for x, w in zip(X, writes, strict=True)]
        kept.append(np.mean(rows, axis=0))
    return X[-1] @ model.R, kept


@pytest.mark.parametrize(("model", "layer"), [("one", 1), ("two", 1), ("two", 2), ("hidden", 2)])
def test_the_numbers_equal_the_loops(model, layer):
    text = ["*", "B→D", "A3", "·", "D4", "*", "·", "·", "B?"]
    widget = ExplanationLab(text=text, model=model, layer=layer)
    scores, kept = plain(text, model)
    made = widget.numbers()
    assert made["said"] == scores.argmax()
    np.testing.assert_allclose(made["weights"], kept[layer - 1][:9], rtol=0, atol=1e-12)
    chance = np.exp(scores - scores.max())[made["said"]] / np.exp(scores - scores.max()).sum()
    for j in (1, 2, 4):
        other = text.copy()
        other[j] = "·"
        erased, _ = plain(other, model)
        after = np.exp(erased)[made["said"]] / np.exp(erased).sum()
        assert made["erased"][j + 1] == pytest.approx(chance - after, abs=1e-10)


def test_the_first_state_teaches():
    made = ExplanationLab().numbers()
    assert made["said"] == made["right"] == 3
    assert not made["truth"][made["weights"].argmax()]
    assert separation(made["erased"], made["truth"]) == 1


def test_other_weights_leave_the_output():
    still, moved = (ExplanationLab(slide=s, layer=1).numbers() for s in (0.0, 1.0))
    assert still["moved"] == 0
    assert moved["moved"] > 0.1
    assert moved["output_moved"] < 1e-10
    np.testing.assert_array_equal(still["erased"], moved["erased"])
    assert np.abs(still["weights"] - moved["weights"]).max() > 0.02


def test_at_most_six_traits_and_the_first_picture_is_the_first():
    widget = ExplanationLab()
    state = widget.state()
    assert sorted(state) == ["first", "layer", "model", "slide", "text"]
    assert state["first"]["of"] == [widget.text, "two", 2, 0.0]
    np.testing.assert_allclose(state["first"]["made"]["weights"], widget.numbers()["weights"])
    json.dumps(state, allow_nan=False)


def test_the_posters_numbers_equal_cores():
    widget = ExplanationLab()
    made = widget.numbers()
    cells = re.findall(r"<td>([^<]+)</td>", widget.poster())
    want = np.column_stack([made["truth"].astype(float), *(made[name] for name in METHODS)])
    assert cells[: want.size] == [number(x) for x in want.ravel()]
    agree = [separation(made[name], made["truth"]) for name in METHODS]
    assert cells[want.size :] == ["1.00", *(number(x) for x in agree)]
    assert (
        "undefined" in ExplanationLab(text=["·", "·", "·", "·", "·", "·", "·", "·", "!"]).poster()
    )


def test_a_notebook_that_asks_gets_the_models():
    sent = []
    widget = ExplanationLab()
    widget.send = sent.append
    widget._answer(widget, {"want": SCRIPT.removesuffix(".js")}, [])
    widget._answer(widget, {"want": "other"}, [])
    assert [set(one["knownTruth"]) for one in sent] == [{"one", "two", "hidden"}]
    assert sent[0]["knownTruth"]["one"] in static_text(SCRIPT)


@pytest.mark.parametrize(
    ("traits", "sentence"),
    [
        ({"text": ["A3", "A?"]}, "8 tokens and a question, got 2"),
        ({"text": ["A3", "A1", "·", "·", "·", "·", "·", "·", "A?"]}, "A is told about twice"),
        ({"text": ["*", "*", "*", "*", "*", "·", "·", "·", "*?"]}, "there may be 4 stars, got 5"),
        ({"model": "three"}, "model"),
        ({"layer": 3}, "layer"),
        ({"slide": 1.5}, "slide"),
    ],
)
def test_a_wrong_trait_is_refused(traits, sentence):
    with pytest.raises(traitlets.TraitError, match=re.escape(sentence)):
        ExplanationLab(**traits)
