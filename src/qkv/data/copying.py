"""The two-layer model of chapter 18, which copies in context: 9,648 numbers and what they compute.

A token is a letter, a place has a learned code, a layer is attention and nothing else: no
feed-forward part, no norm, no bias. Layer 1 adds the writes of its heads to the residual stream,
and the heads of layer 2 read that stream three times, for Q, for K and for V. `Switches` closes
single paths: a head as a whole, or what one read of layer 2 gets from one head of layer 1.

``python -m qkv.experiments weights two_layers`` trains the model again and writes the file.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from string import ascii_uppercase

import numpy as np

from qkv.core import (
    AttentionSteps,
    MultiHeadParameters,
    attention_steps,
    causal_mask,
    head_writes,
    multi_head_steps,
)
from qkv.data.safetensors import read_safetensors

Array = np.ndarray

PATH = Path(str(files("qkv.data").joinpath("two_layers.safetensors")))
READS = ("Q", "K", "V")


@dataclass(frozen=True, eq=False)
class Switches:
    """Which paths are open: 1 is open, 0 is closed, and `instead` then takes the write's place.

    Attributes
    ----------
    heads : array, shape (2, n_heads)
        A head of layer 1 or 2, everywhere it is read.
    reads : array, shape (3, n_heads, n_heads)
        For Q, K and V: what each head of layer 2 (row) reads of each head of layer 1 (column).
    instead : array, shape (2, ..., n_heads, n, d_model), or 0
        What stands where a write was: 0, the writes' mean, or the writes in another text.
    """

    heads: Array = field(default_factory=lambda: np.ones((2, 2)))
    reads: Array = field(default_factory=lambda: np.ones((3, 2, 2)))
    instead: Array | tuple[float, float] = (0.0, 0.0)

    @classmethod
    def without_head(cls, layer: int, head: int, instead: object = (0.0, 0.0)) -> Switches:
        """Return all paths open but those of one head; layers and heads are counted from 0."""
        heads = np.ones((2, 2))
        heads[layer, head] = 0
        return cls(heads=heads, instead=instead)  # type: ignore[arg-type]

    @classmethod
    def without_read(
        cls, read: str, reader: int, head: int, instead: object = (0.0, 0.0)
    ) -> Switches:
        """Return all paths open but one: head `reader` of layer 2 reads `head` of layer 1."""
        reads = np.ones((3, 2, 2))
        reads[READS.index(read), reader, head] = 0
        return cls(reads=reads, instead=instead)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class CopySteps:
    """What the model computes on the way from letters to scores.

    Attributes
    ----------
    X : tuple of 3 arrays, shape (..., n, d_model)
        The residual stream: before layer 1, after it, after layer 2.
    attention : tuple of 2 AttentionSteps
        Layer 1 and layer 2; their q, k, v, scores and weights have an axis for the heads.
    writes : tuple of 2 arrays, shape (..., n_heads, n, d_model)
        What each head adds to the stream.
    scores : array, shape (..., n, 26)
        One score a letter: what each row says follows.
    """

    X: tuple[Array, Array, Array]
    attention: tuple[AttentionSteps, AttentionSteps]
    writes: tuple[Array, Array]
    scores: Array

    @property
    def said(self) -> Array:
        """The letter with the largest score, as a number, for each row."""
        return self.scores.argmax(axis=-1)


@dataclass(frozen=True, eq=False, repr=False)
class CopyModel:
    """The learned arrays of a two-layer, attention-only model.

    Attributes
    ----------
    E : array, shape (26, d_model)
        The embedding, one row a letter.
    P : array, shape (24, d_model)
        The position code, one row a place.
    layers : tuple of 2 MultiHeadParameters
        The heads.
    R : array, shape (d_model, 26)
        The read-out: from the last stream to one score a letter.
    sees_itself : bool
        Whether a row may look at its own place. The shipped model may.
    """

    E: Array
    P: Array
    layers: tuple[MultiHeadParameters, ...]
    R: Array
    sees_itself: bool = True

    def __repr__(self) -> str:
        """Say what this is, without its numbers."""
        return (
            f"<CopyModel: {len(self.layers)} layers, {self.layers[0].n_heads} heads,"
            f" d_model {self.E.shape[1]}, up to {len(self.P)} letters>"
        )

    def stream(self, ids: Array) -> Array:
        """Return the rows that enter layer 1: a letter's row of E plus a place's row of P."""
        return self.E[ids] + self.P[: np.shape(ids)[-1]]

    def steps(self, ids: Array, switches: Switches | None = None) -> CopySteps:
        """Run the model on letters given as numbers, with some paths closed.

        Parameters
        ----------
        ids : int array, shape (..., n)
            Letters, 0 to 25; n is at most 24.
        switches : Switches, optional
            The paths that are open; all of them if not given.

        Returns
        -------
        CopySteps
            Every intermediate.
        """
        switches = switches or Switches()
        n = np.shape(ids)[-1]
        mask = causal_mask(n) if self.sees_itself else causal_mask(n, n, offset=-1)
        X_0 = self.stream(np.asarray(ids))
        first = multi_head_steps(X_0, X_0, self.layers[0], mask)
        one = swap(first.writes, switches.heads[0], switches.instead[0])
        reads = [_what_is_read(X_0, one, r, switches.instead[0]) for r in switches.reads]
        second = read_attention((reads[0], reads[1], reads[2]), self.layers[1], mask)
        written = head_writes(second.output, self.layers[1].W_O)
        two = swap(written, switches.heads[1], switches.instead[1])
        X_1 = X_0 + one.sum(axis=-3)
        X_2 = X_1 + two.sum(axis=-3)
        return CopySteps((X_0, X_1, X_2), (first.attention, second), (one, two), X_2 @ self.R)


def swap(writes: Array, is_open: Array, instead: object) -> Array:
    """Return the writes of the open heads, and `instead` for the closed ones."""
    kept = is_open[:, None, None]
    return kept * writes + (1 - kept) * np.asarray(instead)


def _what_is_read(X: Array, writes: Array, is_open: Array, instead: object) -> Array:
    """Return the stream as each head of layer 2 reads it, shape (..., n_heads, n, d_model)."""
    rows = [X + swap(writes, of_reader, instead).sum(axis=-3) for of_reader in is_open]
    return np.stack(rows, axis=-3)


def read_attention(
    reads: tuple[Array, Array, Array], parameters: MultiHeadParameters, mask: Array
) -> AttentionSteps:
    """Attend with a stream for Q, K and V of each head, each (..., n_heads, n, d_model)."""
    matrices = (parameters.W_Q, parameters.W_K, parameters.W_V)
    q, k, v = (
        np.stack([X[..., i, :, :] @ W[i] for i in range(len(W))], axis=-3)
        for X, W in zip(reads, matrices, strict=True)
    )
    return attention_steps(q, k, v, np.broadcast_to(mask, (*q.shape[:-1], mask.shape[-1])))


def copy_model_of(arrays: dict[str, Array]) -> CopyModel:
    """Return a model from its arrays by name: E, P, R and W_Q_0 … W_O_1."""
    layers = tuple(
        MultiHeadParameters(*(arrays[f"{name}_{layer}"] for name in ("W_Q", "W_K", "W_V", "W_O")))
        for layer in (0, 1)
    )
    return CopyModel(arrays["E"], arrays["P"], layers, arrays["R"])


@cache
def copy_model() -> CopyModel:
    """Return the trained model: it has learned to say what followed a letter before.

    Examples
    --------
    >>> import qkv
    >>> model = qkv.data.copy_model()
    >>> said = model.steps(qkv.data.letter_ids("SEVENTYSE")).said
    >>> print("the last row says", qkv.data.letters(said)[-1])
    the last row says V
    """
    return copy_model_of(read_safetensors(PATH.read_bytes()))


def letter_ids(text: str) -> Array:
    """Return the numbers of a text of capital letters: A is 0, Z is 25.

    Examples
    --------
    >>> import qkv
    >>> print(qkv.data.letter_ids("CAB"))
    [2 0 1]
    """
    unknown = sorted(set(text) - set(ascii_uppercase))
    if unknown or not text:
        raise ValueError(f"text must be letters from A to Z, got {text!r}")
    return np.array([ascii_uppercase.index(letter) for letter in text])


def letters(ids: Array) -> str:
    """Return the letters of these numbers, as one text."""
    return "".join(ascii_uppercase[i] for i in np.ravel(ids))
