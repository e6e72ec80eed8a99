"""A real tokenizer: WordPiece with the vocabulary of all-MiniLM-L6-v2, and six real columns.

Chapter 1 cuts sentences with it. The vocabulary is the model's, 30,522 pieces of text; the cutting
is written out here, and the tests hold it against the model's own tokenizer. Of the model's
embedding table there are the first six of 384 columns, to two decimals: enough to see real rows.
The script ``tools/wordpiece.py`` made the files; source and licence stand in
``word_vectors_LICENSE.txt`` beside this file.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
LONGEST_WORD = 100  # characters; the model's tokenizer gives up on a longer one
N_COLUMNS = 6
# Chinese characters stand for words, and are written without spaces between them.
_IDEOGRAPHS = (
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F), (0x2B920, 0x2CEAF), (0x2F800, 0x2FA1F),
)  # fmt: skip


def split_words(text: str) -> list[str]:
    """Cut a text at spaces and around signs; lower case, no accents.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    list of str
        Words and signs in order.

    Examples
    --------
    >>> split_words("She ate an apple, at a café.")
    ['she', 'ate', 'an', 'apple', ',', 'at', 'a', 'cafe', '.']
    """
    text = "".join(" " if _is_space(c) else c for c in text if not _is_control(c))
    text = "".join(f" {c} " if _is_ideograph(c) else c for c in text)
    letters = [c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn"]
    text = "".join(c.lower() for c in letters)
    return "".join(f" {c} " if _is_sign(c) else c for c in text).split()


def cut_word(word: str, pieces: Mapping[str, int]) -> list[str]:
    """Cut one word into the longest pieces that the vocabulary has, from left to right.

    Parameters
    ----------
    word : str
        One word, as `split_words` gives it.
    pieces : mapping of str to int
        The vocabulary; a piece that goes on inside a word begins with ``##``.

    Returns
    -------
    list of str
        Its pieces, or ``["[UNK]"]`` if some part of it has none.

    References
    ----------
    Wu et al., "Google's neural machine translation system" (2016), section 4.1.

    Examples
    --------
    >>> cut_word("apples", {"app": 0, "apple": 1, "##s": 2})
    ['apple', '##s']
    >>> cut_word("pear", {"app": 0, "apple": 1, "##s": 2})
    ['[UNK]']
    """
    found: list[str] = []
    start = 0
    while start < len(word):
        mark = "##" if start else ""
        ends = (end for end in range(len(word), start, -1) if mark + word[start:end] in pieces)
        end = next(ends, None)
        if end is None or len(word) > LONGEST_WORD:
            return ["[UNK]"]
        found.append(mark + word[start:end])
        start = end
    return found


@dataclass(frozen=True, eq=False, repr=False)
class WordPiece:
    """A vocabulary, the rule that cuts a text into its pieces, and real numbers for each piece.

    Attributes
    ----------
    pieces : tuple of str
        The pieces of text; the place of a piece is its id.
    E : array of shape (30522, 6)
        The first six of the 384 columns of the model's embedding table, to two decimals; read-only.
    about : mapping
        Where it comes from, its licence, and what was measured over the model's whole table
        (``about["whole_table"]``).
    """

    pieces: tuple[str, ...]
    E: Array
    about: Mapping[str, Any]
    _id: Mapping[str, int] = field(init=False)

    def __post_init__(self) -> None:
        """Set the id of each piece."""
        object.__setattr__(self, "_id", {piece: i for i, piece in enumerate(self.pieces)})

    def __len__(self) -> int:
        """Return the number of pieces."""
        return len(self.pieces)

    def __contains__(self, piece: object) -> bool:
        """Say whether the vocabulary has the piece."""
        return piece in self._id

    def __repr__(self) -> str:
        """Say what this is, without thirty thousand pieces."""
        return f"<WordPiece: {len(self):,} pieces of text>"

    def tokens(self, text: str) -> list[str]:
        """Cut a text into pieces of the vocabulary.

        Parameters
        ----------
        text : str
            Any text; of length 0 too. A special token written out, ``[MASK]``, stays whole.

        Returns
        -------
        list of str
            One token each, without ``[CLS]`` and ``[SEP]``.
        """
        if not isinstance(text, str):
            raise TypeError(f"tokens wants one text, got {type(text).__name__}")
        parts = re.split(r"(\[(?:PAD|UNK|CLS|SEP|MASK)\])", text)
        words = [w for part in parts for w in ([part] if part in SPECIAL else split_words(part))]
        return [
            piece
            for word in words
            for piece in ([word] if word in SPECIAL else cut_word(word, self._id))
        ]

    def ids(self, tokens: Iterable[str]) -> NDArray[np.int64]:
        """Return the id of each token: its place in the vocabulary.

        Parameters
        ----------
        tokens : iterable of str
            Pieces of the vocabulary.

        Returns
        -------
        int array of shape (n,)
            Rows of the embedding table.

        Raises
        ------
        KeyError
            If a token is not in the vocabulary.
        """
        if isinstance(tokens, str):
            raise TypeError(f"ids wants a list of tokens, got the text {tokens!r}; cut it first")
        return np.array([self._id[token] for token in tokens], dtype=np.int64)


@cache
def wordpiece() -> WordPiece:
    """Return the tokenizer of all-MiniLM-L6-v2 and six columns of its table.

    Returns
    -------
    WordPiece
        ``.pieces``, ``.tokens(text)``, ``.ids(tokens)`` and ``.E``.

    References
    ----------
    Reimers and Gurevych, "Sentence-BERT" (2019); Wang et al., "MiniLM" (2020).

    Examples
    --------
    >>> import qkv
    >>> wordpiece = qkv.data.wordpiece()
    >>> tokens = wordpiece.tokens("She ate two crabapples.")
    >>> tokens
    ['she', 'ate', 'two', 'crab', '##apple', '##s', '.']
    >>> wordpiece.ids(tokens).tolist()
    [2016, 8823, 2048, 18081, 23804, 2015, 1012]
    """
    folder = files("qkv.data")
    pieces = folder.joinpath("wordpiece.txt").read_text(encoding="utf-8").split("\n")
    hundredths = np.frombuffer(folder.joinpath("wordpiece.i8").read_bytes(), dtype=np.int8)
    E = hundredths.reshape(len(pieces), N_COLUMNS) / 100
    E.flags.writeable = False
    about = json.loads(folder.joinpath("wordpiece.json").read_text(encoding="utf-8"))
    return WordPiece(tuple(pieces), E, about)


def _is_space(c: str) -> bool:
    return c.isspace()


def _is_control(c: str) -> bool:
    return c not in "\t\n\r" and (c == "\ufffd" or unicodedata.category(c) in ("Cc", "Cf", "Co"))


def _is_ideograph(c: str) -> bool:
    return any(first <= ord(c) <= last for first, last in _IDEOGRAPHS)


def _is_sign(c: str) -> bool:
    ascii_sign = c.isascii() and c.isprintable() and not c.isalnum() and c != " "
    return ascii_sign or unicodedata.category(c)[0] == "P"
