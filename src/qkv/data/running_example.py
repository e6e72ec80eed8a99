"""The book's running example: two sentences, one layer of three heads, numbers one can do by hand.

*she ate an apple .* becomes *<s> sie hat einen Apfel gegessen .*: one English verb against two
German words, in another order. Every size differs from every other, so that wrong code looks wrong.
The numbers are invented and small; the real words are in `word_vectors`, the trained ones in the
translator. Nothing here is learned: each weight was put where a reader can see why.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

TOKENS_SOURCE = ("she", "ate", "an", "apple", ".")
TOKENS_TARGET = ("<s>", "sie", "hat", "einen", "Apfel", "gegessen", ".")
COLUMNS = ("who", "thing", "action", "small", "stop", "living", "edible", "past")
HEADS = ("what goes with me?", "who, which?", "the full stop collects the verb")

#                who thing action small stop living edible past
_ROWS = {
    "she":      (1,  0,    0,     0,    0,   1,     0,     0),
    "ate":      (0,  0,    1,     0,    0,   0,     0,     1),
    "an":       (0,  0,    0,     1,    0,   0,     0,     0),
    "apple":    (0,  1,    0,     0,    0,   0,     1,     0),
    ".":        (0,  0,    0,     0,    1,   0,     0,     0),
    "<s>":      (0,  0,    0,     1,    1,   0,     0,     0),
    "sie":      (1,  0,    0,     0,    0,   1,     0,     0),
    "hat":      (0,  0,    1,     1,    0,   0,     0,     0),
    "einen":    (0,  0,    0,     1,    0,   0,     0,     0),
    "Apfel":    (0,  1,    0,     0,    0,   0,     1,     0),
    "gegessen": (0,  0,    1,     0,    0,   0,     0,     1),
}  # fmt: skip

# One row a column of X, four columns a head. Read a row as: "a token with this asks for …".
_W_Q = (
    ((0, 2, 0, 0), (0, 2, 0, 0), (2, 0, 0, 0), (4, 0, 0, 0),
     (0, 0, 0, 0), (0, 2, 0, 0), (0, 2, 0, 0), (2, 0, 0, 0)),
    ((0, 0, 1, 0), (0, 0, 0, 2), (0, 0, 2, 0), (0, 0, 0, 0),
     (0, 0, 1, 0), (0, 0, 1, 0), (0, 0, 0, 2), (0, 0, 2, 0)),
    ((0, 0, 0, 2), (0, 0, 0, 2), (0, 0, 0, 2), (0, 0, 0, 2),
     (0, 4, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0)),
)  # fmt: skip
# "A token with this property can be found under …".
_W_K = (
    ((0, 0, 1, 0), (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 0, 0),
     (0, 0, 0, 2), (0, 0, 1, 0), (1, 0, 0, 0), (0, 1, 0, 0)),
    ((0, 0, 1, 0), (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 0, 2),
     (0, 0, 0, 0), (0, 0, 1, 0), (1, 0, 0, 0), (0, 1, 0, 0)),
    ((0, 0, 1, 0), (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 0, 0),
     (0, 0, 0, 2), (0, 0, 1, 0), (1, 0, 0, 0), (0, 1, 0, 0)),
)  # fmt: skip
# "When it is found, it hands over …".
_W_V = (
    ((1, 0), (0, 2), (3, 0), (0, 0), (-1, 0), (0, 1), (0, 1), (0, -1)),
    ((2, 0), (0, 1), (0, 0), (0, 3), (1, 1), (1, 0), (0, -1), (0, 0)),
    ((0, 1), (1, 0), (2, 0), (0, 0), (0, -1), (0, 0), (-1, 0), (1, 1)),
)  # fmt: skip
# Rows 0-1 are where head 0 writes, rows 2-3 head 1, rows 4-5 head 2.
_W_O = (
    (0, 0, 1, 0, 0, 0, 0, 0), (0, 1, 0, 0, 0, 0, 1, 0),
    (1, 0, 0, 0, 0, 1, 0, 0), (0, 0, 0, 1, 0, 0, 0, -1),
    (0, 0, 0, 0, 1, 0, 0, 1), (0, 0, 0, 0, 0, -1, 0, 1),
)  # fmt: skip

# The feed-forward part, one hidden unit a line: "where these two are large together, write this".
_UNITS = (
    ("who", "living", {"who": 1}),
    ("thing", "edible", {"edible": 1}),
    ("who", "action", {"living": 1}),
    ("living", "edible", {"action": 2, "past": 1}),
    ("action", "small", {"thing": 2, "edible": 2}),
    ("small", "edible", {"small": 2}),
    ("stop", "past", {"stop": 2}),
    ("action", "past", {"past": 1}),
    ("thing", "living", {"action": 1}),
    ("who", "edible", {"past": 1}),
    ("thing", "small", {"thing": -1}),
    ("action", "stop", {"action": -1}),
    ("small", "living", {"who": -1}),
    ("who", "thing", {"who": -1, "thing": -1}),
    ("small", "stop", {"stop": 1}),
    ("thing", "action", {"edible": -1}),
)
# One shared vocabulary of both languages; its table made X_source and X_target.
WORDS = ("she", "ate", "an", "apple", "sie", "hat", "einen", "Apfel", "gegessen", ".", "<s>")

# What an encoder of another width could hand to the decoder: nine columns, the last "is eaten".
_MEMORY = (
    (2, 0, 0, 0, 0, 1, 0, 0, 0),
    (0, 0, 2, 0, 0, 0, 0, 1, 0),
    (0, 0, 0, 2, 0, 0, 0, 0, 0),
    (0, 2, 0, 0, 0, 0, 0, 0, 1),
    (0, 0, 0, 0, 2, 0, 0, 0, 0),
)
_W_Q_CROSS = (
    ((4, 0, 0, 0), (0, 0, 0, 4), (0, 4, -4, 0), (0, 0, 4, 0),
     (-3, -3, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0)),
    ((0, 0, 0, 2), (2, 0, 0, 0), (2, 0, 0, 0), (0, 0, 0, 1),
     (0, 1, 0, 0), (0, 0, 0, 1), (1, 0, 0, 0), (1, 0, 0, 0)),
    ((0, 2, 0, 0), (0, 2, 0, 0), (0, 0, 0, 3), (0, 0, 0, 2),
     (0, 2, 0, 0), (0, 0, 0, 0), (0, 1, 0, 0), (0, 0, 0, 0)),
)  # fmt: skip
_W_K_MEMORY = (
    ((1, 0, 0, 0), (0, 0, 0, 1), (0, 1, 0, 0), (0, 0, 1, 0), (-1, -1, 0, 0),
     (0, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0)),
    ((1, 0, 0, 0), (0, 0, 1, 0), (0, 1, 0, 0), (0, 0, 0, 1), (0, 0, 0, 0),
     (1, 0, 0, 0), (0, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0)),
    ((0, 0, 1, 0), (0, 0, 0, 1), (0, 1, 0, 0), (1, 0, 0, 0), (0, 0, 0, 0),
     (0, 0, 1, 0), (0, 0, 0, 0), (0, 1, 0, 0), (0, 0, 0, 1)),
)  # fmt: skip
_W_V_MEMORY = (
    ((1, 0), (0, 1), (1, 1), (0, 0), (-1, 0), (0, 1), (0, 0), (1, 0), (0, 1)),
    ((2, 0), (0, 1), (0, 0), (0, 1), (1, 1), (1, 0), (0, -1), (0, 0), (0, 0)),
    ((0, 1), (1, 0), (1, 0), (0, 0), (0, -1), (0, 0), (-1, 0), (1, 1), (1, 0)),
)


@dataclass(frozen=True)
class RunningExample:
    """Two sentences and the weights of one multi-head layer, all read-only float64.

    Attributes
    ----------
    tokens_source, tokens_target : tuple of str
        The 5 English and 7 German tokens.
    columns : tuple of str
        What each of the ``d_model = 8`` columns of X stands for.
    heads : tuple of str
        The question that each of the ``n_heads = 3`` heads asks.
    X_source, X_target : array of shape (5, 8) and (7, 8)
        One row a token.
    W_Q, W_K, W_V : arrays of shape (3, 8, 4), (3, 8, 4), (3, 8, 2)
        One matrix a head: ``d_k = 4``, ``d_v = 2``.
    W_O : array of shape (6, 8)
        From the heads, side by side, back to ``d_model``.
    memory : array of shape (5, 9)
        The source sentence as an encoder of another width would hand it over.
    W_Q_cross, W_K_memory, W_V_memory : arrays of shape (3, 8, 4), (3, 9, 4), (3, 9, 2)
        A cross-attention layer whose queries are target rows and whose keys and values are
        made from ``memory``.
    units : tuple of str
        The two columns that each of the ``d_ff = 16`` hidden units of the feed-forward part reads.
    W_1, b_1, W_2 : arrays of shape (8, 16), (16,), (16, 8)
        The feed-forward part; it has no second bias.
    words : tuple of str
        The 11 words of both sentences.
    E : array of shape (11, 8)
        Their embedding table: ``X_source`` and ``X_target`` are rows of it.
    """

    tokens_source: tuple[str, ...]
    tokens_target: tuple[str, ...]
    columns: tuple[str, ...]
    heads: tuple[str, ...]
    X_source: Array
    X_target: Array
    W_Q: Array
    W_K: Array
    W_V: Array
    W_O: Array
    memory: Array
    W_Q_cross: Array
    W_K_memory: Array
    W_V_memory: Array
    units: tuple[str, ...]
    W_1: Array
    b_1: Array
    W_2: Array
    words: tuple[str, ...]
    E: Array


@cache
def running_example() -> RunningExample:
    """Return the running example of chapters 5 to 15.

    Returns
    -------
    RunningExample
        Tokens, inputs and weights; the arrays are read-only, copy one to change it.

    Examples
    --------
    >>> import qkv
    >>> ex = qkv.data.running_example()
    >>> ex.X_source.shape, ex.X_target.shape, ex.W_Q.shape, ex.W_V.shape
    ((5, 8), (7, 8), (3, 8, 4), (3, 8, 2))
    >>> q, k, v = qkv.project_qkv(ex.X_source, ex.X_source, ex.W_Q[0], ex.W_K[0], ex.W_V[0])
    >>> output, weights = qkv.scaled_dot_product_attention(q, k, v)
    >>> an, apple = ex.tokens_source.index("an"), ex.tokens_source.index("apple")
    >>> round(float(weights[an, apple]), 2), round(float(weights[apple, an]), 2)
    (0.93, 0.02)
    """
    W_1, W_2 = _feed_forward()
    return RunningExample(
        tokens_source=TOKENS_SOURCE,
        tokens_target=TOKENS_TARGET,
        columns=COLUMNS,
        heads=HEADS,
        X_source=_fixed([_ROWS[token] for token in TOKENS_SOURCE]),
        X_target=_fixed([_ROWS[token] for token in TOKENS_TARGET]),
        W_Q=_fixed(_W_Q),
        W_K=_fixed(_W_K),
        W_V=_fixed(_W_V),
        W_O=_fixed(_W_O),
        memory=_fixed(_MEMORY),
        W_Q_cross=_fixed(_W_Q_CROSS),
        W_K_memory=_fixed(_W_K_MEMORY),
        W_V_memory=_fixed(_W_V_MEMORY),
        units=tuple(f"{one} and {other}" for one, other, _ in _UNITS),
        W_1=W_1,
        b_1=_fixed([-1.0] * len(_UNITS)),
        W_2=W_2,
        words=WORDS,
        E=_fixed([_ROWS[word] for word in WORDS]),
    )


def _feed_forward() -> tuple[Array, Array]:
    """Return W_1, in which each unit reads its two columns, and W_2, in which it writes."""
    reads = [[name in unit[:2] for unit in _UNITS] for name in COLUMNS]
    writes = [[unit[2].get(name, 0) for name in COLUMNS] for unit in _UNITS]
    return _fixed(reads), _fixed(writes)


def _fixed(numbers: object) -> Array:
    array = np.array(numbers, dtype=np.float64)
    array.flags.writeable = False
    return array
