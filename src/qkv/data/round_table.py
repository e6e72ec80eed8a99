"""Five people, five coins: the task of chapter 7, small enough to learn from every case there is.

Ann, Bob, Cyd, Dan and Eve sit round a table, and each holds a coin. Each must say the coin of the
neighbour at the right (Eve's is Ann). There are 32 ways for five coins to lie, so all of them are
the training set: no sampling, no test set, and one step of learning is the same for everybody.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

NAMES = ("Ann", "Bob", "Cyd", "Dan", "Eve")
SHAPES = ((6, 4), (6, 4), (6, 2), (2, 1))  # W_Q, W_K, W_V, W_O: d_model 6, d_k 4, d_v 2, one answer


@dataclass(frozen=True, eq=False, repr=False)
class RoundTable:
    """All 32 tables, read-only float64.

    Attributes
    ----------
    names : tuple of str
        The 5 people: the tokens.
    columns : tuple of str
        What each of the ``d_model = 6`` columns of X stands for: who it is, and the coin.
    coins : array of shape (32, 5)
        1 for heads, -1 for tails; one row a table.
    X : array of shape (32, 5, 6)
        A 1 in the column of the name, and the coin in the last column.
    wanted : array of shape (32, 5, 1)
        What each should say: the coin of the next in the row, the last that of the first.
    """

    names: tuple[str, ...]
    columns: tuple[str, ...]
    coins: Array
    X: Array
    wanted: Array

    def start(self, seed: int, size: float = 0.3) -> tuple[Array, Array, Array, Array]:
        """Return four matrices to start from, drawn at random.

        Parameters
        ----------
        seed : int
            The same seed gives the same matrices.
        size : float
            The standard deviation of each entry.

        Returns
        -------
        W_Q, W_K, W_V, W_O : arrays of shape (6, 4), (6, 4), (6, 2), (2, 1)

        Examples
        --------
        >>> import qkv
        >>> W_Q, W_K, W_V, W_O = qkv.data.round_table().start(seed=7)
        >>> print(W_Q.shape, W_K.shape, W_V.shape, W_O.shape)
        (6, 4) (6, 4) (6, 2) (2, 1)
        """
        rng = np.random.default_rng(seed)
        W_Q, W_K, W_V, W_O = (size * rng.normal(size=shape) for shape in SHAPES)
        return W_Q, W_K, W_V, W_O


@cache
def round_table() -> RoundTable:
    """Return the task of chapter 7: say the coin of your right neighbour.

    Returns
    -------
    RoundTable
        Every way five coins can lie, and what each person must say.

    Examples
    --------
    >>> import qkv
    >>> task = qkv.data.round_table()
    >>> print(task.X.shape, task.wanted.shape)
    (32, 5, 6) (32, 5, 1)
    >>> print(task.coins[1], task.wanted[1].ravel())
    [ 1.  1.  1.  1. -1.] [ 1.  1.  1. -1.  1.]
    """
    coins = np.array(list(product((1.0, -1.0), repeat=len(NAMES))))
    who = np.broadcast_to(np.eye(len(NAMES)), (len(coins), len(NAMES), len(NAMES)))
    X = np.concatenate([who, coins[..., None]], axis=-1)
    wanted = np.roll(coins, -1, axis=1)[..., None]
    for array in (coins, X, wanted):
        array.flags.writeable = False
    return RoundTable(NAMES, (*NAMES, "coin"), coins, X, wanted)
