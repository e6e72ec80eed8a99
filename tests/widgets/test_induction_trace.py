import json
import re

import numpy as np
import pytest
import traitlets

from qkv.data import copy_model, letter_ids, letters
from qkv.widgets import InductionTrace
from qkv.widgets.base import number, static_text


def plain(text, closed):
    """The widget's model by loops over rows, heads and keys: the slow, certain version."""
    model, ids = copy_model(), letter_ids(text)
    start = [model.E[a] + model.P[t] for t, a in enumerate(ids)]

    def head(layer, i, streams):
        W = model.layers[layer]
        q, k, v = (
            [x @ M[i] for x in X] for X, M in zip(streams, (W.W_Q, W.W_K, W.W_V), strict=True)
        )
        scores, weights, writes = [], np.zeros((len(ids), len(ids))), []
        for t in range(len(ids)):
            scores.append([q[t] @ k[j] / np.sqrt(10) for j in range(len(ids))])
            e = np.exp(scores[t][: t + 1])
            weights[t, : t + 1] = e / e.sum()
            mixed = sum(weights[t, j] * v[j] for j in range(t + 1))
            writes.append(mixed @ W.W_O[14 * i : 14 * i + 14])
        return scores, weights, writes

    one = [head(0, i, [start] * 3) for i in (0, 1)]
    stream = list(start)
    for i in (0, 1):
        if f"1.{i + 1}" not in closed:
            stream = [x + w for x, w in zip(stream, one[i][2], strict=True)]
    reads = [start if read in closed else stream for read in "QKV"]
    two = [head(1, i, reads) for i in (0, 1)]
    for i in (0, 1):
        if f"2.{i + 1}" not in closed:
            stream = [x + w for x, w in zip(stream, two[i][2], strict=True)]
    return one, two, np.stack(stream) @ model.R


@pytest.mark.parametrize("closed", [[], ["1.2"], ["K"], ["Q", "2.1"], ["V", "1.1", "2.2"]])
@pytest.mark.parametrize("head", [0, 1])
def test_the_numbers_equal_the_loops(head, closed):
    text = "HOCUSPOCUS"
    made = InductionTrace(text=text, row=8, head=head, closed=closed).numbers()
    one, two, scores = plain(text, closed)
    middle = int(np.argmax(two[head][1][8]))
    assert (made["row"], made["middle"]) == (8, middle)
    np.testing.assert_allclose(made["scores"], two[head][0][8][:9], rtol=0, atol=1e-9)
    np.testing.assert_allclose(made["parts"].sum(0), made["scores"], rtol=0, atol=1e-9)
    np.testing.assert_allclose(made["weights"], two[head][1][8, :9], rtol=0, atol=1e-9)
    for i in (0, 1):
        want = one[i][1][middle, : middle + 1]
        np.testing.assert_allclose(made["looks"][i], want, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(made["said"], scores.argmax(-1))
    chances = np.exp(scores[8]) / np.exp(scores[8]).sum()
    np.testing.assert_allclose(made["chances"], np.sort(chances)[::-1][:4], rtol=0, atol=1e-9)


def test_the_first_state_teaches():
    made = InductionTrace().numbers()
    assert letters(made["said"][-1:]) == "E"
    assert made["middle"] == 2
    assert made["looks"][1].argmax() == 1
    assert made["parts"][2].argmax() == 2
    assert min(made["weights"].max(), made["looks"][1].max()) > 0.9


def test_what_the_page_bids_the_reader_try():
    def says(*closed, text="QUERYKEYVALU"):
        made = InductionTrace(text=text, closed=list(closed)).numbers()
        return letters(made["said"][-1:])

    assert says("1.1") == says("Q") == says("V") == says("2.1") == says("2.2") == "E"
    assert "E" not in {says("K"), says("2.1", "2.2")}
    for text, lucky in (("QUERYKEYVALU", True), ("HOCUSPOCUS", False)):
        assert (says("1.2", text=text) == says(text=text)) == lucky
        for head in (0, 1):
            widget = InductionTrace(text=text, head=head)
            right = widget.numbers()["middle"]
            widget.closed = ["1.2"]
            assert widget.numbers()["middle"] != right


def test_the_numbers_of_the_first_picture_travel_with_it():
    state = InductionTrace(text="SEVENTYSE", closed=["V", "1.1"]).state()
    assert sorted(state) == ["closed", "first", "head", "row", "step", "text"]
    assert state["first"]["of"] == ["SEVENTYSE", -1, 0, ["1.1", "V"]]
    assert state["first"]["made"]["said"][-1] == letter_ids("N")[0]
    json.dumps(state)


def test_a_kernel_sends_the_weights_that_a_page_loads():
    widget, sent = InductionTrace(), []
    widget.send = sent.append
    widget._answer(None, {"want": "word-pieces"}, [])
    widget._answer(None, "two-layers-weights", [])
    assert sent == []
    widget._answer(None, {"want": "two-layers-weights"}, [])
    assert f'"{sent[0]["twoLayers"]}"' in static_text("two-layers-weights.js")


@pytest.mark.parametrize("closed", [[], ["K"]])
def test_the_posters_numbers_equal_the_models(closed):
    widget = InductionTrace(closed=closed)
    made = widget.numbers()
    cells = re.findall(r"<td>([^<]+)</td>", widget.poster())
    want = np.vstack([made["parts"], made["scores"], made["weights"]]).T
    assert cells == [number(x) for x in want.ravel()]
    assert f"place 11 says {letters(made['said'][-1:])}" in widget.poster()


@pytest.mark.parametrize(
    ("traits", "sentence"),
    [
        ({"text": ""}, "text must be letters from A to Z"),
        ({"text": "query"}, "text must be letters from A to Z"),
        ({"text": "ABCDEFGHIJKLMNOPQ"}, "text may have 16 letters, got 17"),
        ({"row": -2}, "row"),
        ({"row": 16}, "row"),
        ({"head": 2}, "head"),
        ({"step": 0}, "step"),
        ({"closed": ["3.1"]}, "closed"),
    ],
)
def test_a_wrong_trait_is_refused(traits, sentence):
    with pytest.raises(traitlets.TraitError, match=re.escape(sentence)):
        InductionTrace(**traits)
