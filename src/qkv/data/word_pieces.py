"""A real tokenizer: the 30,522 word pieces of all-MiniLM-L6-v2, and the rule that cuts by them.

`minilm` runs the whole model and needs 80 MB of parameters. The vocabulary is small enough to
travel with the book, and so are the first five of the 384 columns of the embedding table, for every
piece. The script ``tools/word_pieces.py`` cut them out; source and licence stand in
``word_pieces_LICENSE.txt`` beside this file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any
from unicodedata import category, normalize

import numpy as np
from numpy.typing import NDArray

UNKNOWN = "[UNK]"
LONGEST_WORD = 100  # characters; the model takes a longer word for unknown
# Each of these characters is a word of its own: Chinese is written without spaces.
IDEOGRAPHS = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F), (0x2B920, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip


def split_words(text: str) -> list[str]:
    """Split a text into words: lower case, without accents, punctuation apart.

    Parameters
    ----------
    text : str
        Anything; what cannot be seen (control characters) is dropped.

    Returns
    -------
    list of str
        No spaces in any of them.

    References
    ----------
    Devlin et al., "BERT" (2019), the uncased models' basic tokenizer.

    Examples
    --------
    >>> import qkv
    >>> qkv.data.split_words("She ate a crème brûlée, didn't she?")
    ['she', 'ate', 'a', 'creme', 'brulee', ',', 'didn', "'", 't', 'she', '?']
    """
    seen = normalize("NFD", "".join(map(_spaced, text)))
    plain = [c for c in seen if category(c) != "Mn"]  # NFD put each accent behind its letter
    return "".join(f" {c} " if _is_punctuation(c) else c.lower() for c in plain).split()


def cut_word(word: str, pieces: Iterable[str]) -> list[str]:
    """Cut one word into pieces: at each place the longest piece that fits.

    Parameters
    ----------
    word : str
        Without spaces.
    pieces : a container of str
        The vocabulary; a piece that goes on inside a word begins with ``##``.

    Returns
    -------
    list of str
        The pieces; ``["[UNK]"]`` if at some place none fits.

    References
    ----------
    Schuster and Nakajima, "Japanese and Korean voice search" (2012); Devlin et al., "BERT" (2019),
    section 3.

    Examples
    --------
    >>> import qkv
    >>> qkv.data.cut_word("unseen", {"un", "u", "##s", "##seen", "seen"})
    ['un', '##seen']
    """
    if len(word) > LONGEST_WORD:
        return [UNKNOWN]
    found: list[str] = []
    start = 0
    while start < len(word):
        for end in range(len(word), start, -1):  # the longest first
            piece = ("##" if start else "") + word[start:end]
            if piece in pieces:
                break
        else:
            return [UNKNOWN]
        found.append(piece)
        start = end
    return found


@dataclass(frozen=True, eq=False, repr=False)
class WordPieces:
    """A vocabulary of word pieces, and the first columns of the table that has a row for each.

    Attributes
    ----------
    tokens : tuple of str
        The pieces; the place of a piece is its id.
    E : array, shape (30522, 5)
        The first five columns of the model's embedding table, rounded to three decimals, read-only.
    whole_table : mapping
        What was measured over all 384 columns: sizes, and the unused rows beside the others.
    """

    tokens: tuple[str, ...]
    E: NDArray[np.float64]
    whole_table: Mapping[str, Any]
    _ids: Mapping[str, int] = field(init=False)

    def __post_init__(self) -> None:
        """Set the id of each piece."""
        object.__setattr__(self, "_ids", {token: i for i, token in enumerate(self.tokens)})

    def __contains__(self, token: object) -> bool:
        """Say whether the vocabulary has the piece."""
        return token in self._ids

    def __len__(self) -> int:
        """Return the number of pieces."""
        return len(self.tokens)

    def __repr__(self) -> str:
        """Say what this is, without 30,522 pieces."""
        return f"<WordPieces: {len(self):,} pieces of text, {self.E.shape[1]} columns>"

    def tokenize(self, text: str, special: bool = False) -> list[str]:
        """Cut a text into pieces of the vocabulary.

        Parameters
        ----------
        text : str
            One text. A name such as ``[SEP]`` in it is text like any other.
        special : bool
            Whether to put ``[CLS]`` in front and ``[SEP]`` behind, as the model wants it.

        Returns
        -------
        list of str
            The pieces in the order of the text.
        """
        tokens = [piece for word in split_words(text) for piece in cut_word(word, self._ids)]
        return ["[CLS]", *tokens, "[SEP]"] if special else tokens

    def ids(self, tokens: Iterable[str]) -> NDArray[np.int64]:
        """Return the id of each piece, in the same order; an unknown piece gets that of [UNK]."""
        if isinstance(tokens, str):
            raise TypeError(
                f"ids wants a list of pieces, got the text {tokens!r}; call tokenize first"
            )
        unknown = self._ids[UNKNOWN]
        return np.array([self._ids.get(token, unknown) for token in tokens], dtype=np.int64)


@cache
def word_pieces() -> WordPieces:
    """Return the vocabulary of all-MiniLM-L6-v2 with five columns of its embedding table.

    The vocabulary is that of BERT's uncased models [1]_, which the model kept [2]_.

    Returns
    -------
    WordPieces
        ``.tokenize(text)``, ``.ids(tokens)``, ``.tokens`` and ``.E``, shape (30522, 5).

    References
    ----------
    .. [1] Devlin et al., "BERT", 2019, arXiv:1810.04805.
    .. [2] Reimers and Gurevych, "Sentence-BERT", 2019, arXiv:1908.10084.

    Examples
    --------
    >>> import qkv
    >>> pieces = qkv.data.word_pieces()
    >>> pieces.tokenize("Kangaroos embedded!", special=True)
    ['[CLS]', 'kangaroo', '##s', 'embedded', '!', '[SEP]']
    >>> pieces.ids(["kangaroo", "##s"])
    array([21652,  2015])
    >>> qkv.embed(pieces.ids(["kangaroo", "##s"]), pieces.E).shape
    (2, 5)
    """
    path = files("qkv.data").joinpath("word_pieces.npz")
    with path.open("rb") as file, np.load(file) as npz:
        tokens = tuple(npz["tokens"].tobytes().decode().split("\n"))
        E = npz["thousandths"] / 1000
    E.flags.writeable = False
    measured = files("qkv.data").joinpath("word_pieces.json").read_text(encoding="utf-8")
    return WordPieces(tokens, E, json.loads(measured))


def _spaced(c: str) -> str:
    """Return a character, a space for white space, nothing for what cannot be seen."""
    kind = category(c)
    if c in "\t\n\r" or kind[0] == "Z":
        return " "
    if kind in ("Cc", "Cf", "Co") or c == "\N{REPLACEMENT CHARACTER}":
        return ""
    return f" {c} " if any(first <= ord(c) <= last for first, last in IDEOGRAPHS) else c


def _is_punctuation(c: str) -> bool:
    """Say whether a character is punctuation; of ASCII, all but letters and digits is."""
    return category(c)[0] == "P" or ("!" <= c <= "~" and not c.isalnum())
