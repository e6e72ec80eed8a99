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
    )


def _fixed(numbers: object) -> Array:
    array = np.array(numbers, dtype=np.float64)
    array.flags.writeable = False
    return array
