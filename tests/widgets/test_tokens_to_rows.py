import re

import numpy as np
import pytest
import traitlets

import qkv
from qkv.widgets import TokensToRows
from qkv.widgets.base import number
from qkv.widgets.tokens_to_rows import WIDTH, seed_of, small_list


def test_the_numbers_are_rows_of_the_table_by_loop():
    found = TokensToRows(text="Kangaroos love kangaroos", special=True).numbers()
    pieces = qkv.data.word_pieces()
    assert found["tokens"] == pieces.tokenize("Kangaroos love kangaroos", special=True)
    for t, token in enumerate(found["tokens"]):
        i = pieces.tokens.index(token)
        assert found["ids"][t] == i
        assert found["used"][found["place"][t]] == i
        np.testing.assert_array_equal(found["X"][t], pieces.E[i])


def test_at_spaces_the_running_example_keeps_its_rows():
    ex = qkv.data.running_example()
    for tokens, X in ((ex.tokens_source, ex.X_source), (ex.tokens_target, ex.X_target)):
        found = TokensToRows(text=" ".join(tokens), mode="whitespace").numbers()
        assert tuple(found["tokens"]) == tokens
        np.testing.assert_array_equal(found["X"], X)


def test_an_unknown_word_takes_the_first_row_of_the_short_list():
    found = TokensToRows(text="she ate an orange", mode="whitespace").numbers()
    assert found["ids"].tolist() == [1, 2, 3, 0]
    assert (found["X"][3] == 0).all()


def test_the_first_state_teaches():
    widget = TokensToRows()
    found = widget.numbers()
    assert found["tokens"][widget.at] == found["tokens"][5] == "bank"
    assert len(found["tokens"]) == 6 != len(found["used"]) == 4


def test_no_text_is_no_row():
    for mode in ("wordpiece", "whitespace"):
        found = TokensToRows(text="", mode=mode).numbers()
        assert found["X"].shape[0] == 0
        assert "<svg" in TokensToRows(text="", mode=mode).poster()


def test_at_most_six_traits():
    assert sorted(TokensToRows().state()) == ["at", "mode", "seed", "small", "special", "text"]


def test_the_seed_holds_what_the_first_picture_needs():
    seed = seed_of("The bank by the river bank")
    pieces = qkv.data.word_pieces()
    assert len(set(seed["tokens"])) == len(seed["tokens"]) == 7
    assert [pieces.tokens[i] for i in seed["ids"]] == seed["tokens"]
    np.testing.assert_array_equal(seed["numbers"], pieces.E[seed["ids"]])
    assert (seed["size"], seed["width"]) == (30522, WIDTH)
    assert qkv.data.word_vectors().vectors.shape[1] == WIDTH


def test_a_notebook_that_asks_gets_all_pieces(monkeypatch):
    widget, sent = TokensToRows(), []
    monkeypatch.setattr(widget, "send", sent.append)
    widget._answer(widget, {"want": "something else"}, [])
    assert sent == []
    widget._answer(widget, {"want": "word-pieces"}, [])
    packed = sent[0]["wordPieces"]
    assert packed["tokens"].split(" ") == list(qkv.data.word_pieces().tokens)
    assert len(packed["numbers"]) == 2 * 5 * 30522


@pytest.mark.parametrize("mode", ["wordpiece", "whitespace"])
def test_the_posters_numbers_are_the_rows(mode):
    widget = TokensToRows(text="she ate an apple .", mode=mode)
    cells = re.findall(r"<td>([^<]+)</td>", widget.poster())
    digits = 3 if mode == "wordpiece" else 0
    assert cells == [number(x, digits) for x in widget.numbers()["X"].ravel()]
    assert widget.poster().count("<path") == 5


def test_hostile_text_stays_text():
    hostile = '</script><svg onload="x()"> a<b'
    for mode in ("wordpiece", "whitespace"):
        html = TokensToRows(text=hostile, mode=mode).figure_html()
        assert html.count("</script>") == 1
        assert 'onload="' not in html
        assert html.count("<svg") == 1


def test_a_wrong_trait_is_refused():
    small = small_list()
    small["numbers"] = small["numbers"][1:]
    with pytest.raises(traitlets.TraitError, match="small must have one row for each of its 12"):
        TokensToRows(small=small)
    with pytest.raises(traitlets.TraitError):
        TokensToRows(mode="letters")
