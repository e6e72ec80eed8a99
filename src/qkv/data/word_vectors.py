"""Real word vectors: rows of a trained model's input embedding.

The running example's numbers are invented so that they can be done by hand. These are not: they
are what a trained Transformer reads for each word, before its first layer. The script
``tools/word_vectors.py`` cut them out; source and licence stand in ``word_vectors_LICENSE.txt``
beside this file.
"""

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]


class UnknownWordError(KeyError):
    """A word that is not in the table; the message offers words that are spelt like it."""

    def __str__(self) -> str:
        """Return the sentence itself; a KeyError would put it in quotes."""
        return str(self.args[0])


@dataclass(frozen=True, eq=False, repr=False)
class WordVectors:
    """Words and their vectors: ``vectors["cat"]`` is one row, ``.rows([...])`` are several.

    Attributes
    ----------
    words : tuple of str
        The words, in the order of the rows.
    vectors : array of shape (n_words, 384)
        One row a word, float32, read-only.
    categories : mapping of str to tuple of str
        The words by subject: ``"animals"``, ``"food"``, ``"function words"`` and so on.
    about : mapping
        What the numbers are, where they were taken from, their licence, and what was measured over
        the model's whole table (``about["whole_table"]``).
    """

    words: tuple[str, ...]
    vectors: Array
    categories: Mapping[str, tuple[str, ...]]
    about: Mapping[str, Any]
    _row: Mapping[str, int] = field(init=False)

    def __post_init__(self) -> None:
        """Set the row of each word."""
        object.__setattr__(self, "_row", {word: i for i, word in enumerate(self.words)})

    def __getitem__(self, word: str) -> Array:
        """Return the vector of one word, shape (384,)."""
        return self.vectors[self.index(word)]

    def __contains__(self, word: object) -> bool:
        """Say whether the table has the word."""
        return word in self._row

    def __iter__(self) -> Iterator[str]:
        """Go through the words in the order of the rows."""
        return iter(self.words)

    def __len__(self) -> int:
        """Return the number of words."""
        return len(self.words)

    def __repr__(self) -> str:
        """Say what this is, without 384 numbers a word."""
        return f"<WordVectors: {len(self)} words, {self.vectors.shape[1]} numbers each>"

    def index(self, word: str) -> int:
        """Return the row of a word.

        Parameters
        ----------
        word : str
            One word of the table, in lower case.

        Returns
        -------
        int
            Its row in ``vectors``.

        Raises
        ------
        UnknownWordError
            If the word is not in the table; the message offers near spellings.
        """
        if not isinstance(word, str):
            raise TypeError(
                f"a word is a str, got {type(word).__name__}; for several use .rows([...])"
            )
        if word not in self._row:
            near = difflib.get_close_matches(word.strip().lower(), self.words, n=3, cutoff=0.6)
            hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
            raise UnknownWordError(f"no vector for {word!r} among the {len(self)} words{hint}")
        return self._row[word]

    def rows(self, words: Iterable[str]) -> Array:
        """Return the vectors of several words, one row a word.

        Parameters
        ----------
        words : iterable of str
            A list of words, in the order wanted; a word may come twice.

        Returns
        -------
        array of shape (len(words), 384)
            A fresh float32 array: write into it as you like.
        """
        if isinstance(words, str):
            raise TypeError(
                f"rows wants a list of words, got the text {words!r}; write {words.split()}"
            )
        return self.vectors[[self.index(word) for word in words]]


@cache
def word_vectors() -> WordVectors:
    """Return the real vectors of some four hundred everyday English words.

    They are rows of the input embedding of all-MiniLM-L6-v2 [1]_ [2]_, rounded to float16, with 384
    numbers a word. The model was trained on sentences; these rows are what its first layer reads.

    Returns
    -------
    WordVectors
        ``.words``, ``.vectors``, ``["cat"]`` and ``.rows(["cat", "dog"])``.

    References
    ----------
    .. [1] Reimers and Gurevych, "Sentence-BERT", 2019, arXiv:1908.10084.
    .. [2] Wang et al., "MiniLM", 2020, arXiv:2002.10957.

    Examples
    --------
    >>> import qkv
    >>> words = qkv.data.word_vectors()
    >>> words["cat"].shape, words.rows(["cat", "dog"]).shape
    ((384,), (2, 384))
    >>> round(float(words["cat"] @ words["dog"]), 2), round(float(words["cat"] @ words["truck"]), 2)
    (0.76, 0.32)
    >>> words["catt"]
    Traceback (most recent call last):
        ...
    qkv.data.word_vectors.UnknownWordError: no vector for 'catt' among the 413 words; \
did you mean 'cat' or 'coat' or 'cats'?
    """
    folder = files("qkv.data")
    with folder.joinpath("word_vectors.npz").open("rb") as file, np.load(file) as npz:
        words = tuple(npz["words"].tolist())
        vectors = npz["vectors"].astype(np.float32)
    vectors.flags.writeable = False
    about = json.loads(folder.joinpath("word_vectors.json").read_text(encoding="utf-8"))
    categories = {name: tuple(group) for name, group in about.pop("categories").items()}
    return WordVectors(words, vectors, categories, about)
