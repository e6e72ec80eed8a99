"""PositionLab: move words, choose how the order is written down, see what attention notices."""

from html import escape
from typing import Any

import numpy as np
import traitlets

from qkv.core import (
    causal_mask,
    learned_positions,
    project_qkv,
    rotary_positions,
    scaled_dot_product_attention,
    sinusoidal_positions,
)
from qkv.data import running_example
from qkv.widgets.base import BookWidget, html_table, number, static_text

__all__ = ["PositionLab"]

CAPTION = (
    "Five words and one head of the running example. “moved” compares a word's output with the one"
    " it has when the words stand in order at place 0, under the same code and mask."
)
WORDS = running_example().tokens_source
CODES = ("none", "sinusoids", "learned", "rotary")
N_TABLE = 25  # rows of the learned table
FARTHEST = 40
REACH = 12  # offsets in the picture


def learned_table() -> np.ndarray:
    """Return the stand-in for a learned table: scattered numbers in [-1, 1), shape (25, 8)."""
    count = np.arange(1, 8 * N_TABLE + 1).reshape(N_TABLE, 8)
    return (7919 * count**3 + 104729 * count) % 65537 / 32768.5 - 1


class PositionLab(BookWidget):
    """One head on five words in any order, with one of four codes for the order.

    Parameters
    ----------
    order : list of int
        Which word stands at each place; each of 0 to 4 once.
    code : {"none", "sinusoids", "learned", "rotary"}
        How the order is written down. The learned table has 25 rows.
    start : int
        The place of the first word, 0 to 40.
    causal : bool
        Whether a row may only look at places up to its own.

    Examples
    --------
    >>> from qkv.widgets import PositionLab
    >>> float(PositionLab().numbers()["moved"].max().round(6))
    0.0
    >>> float(PositionLab(code="rotary").numbers()["moved"].max().round(2))
    1.92
    """

    name = "position-lab"
    _esm = static_text("position-lab.mjs")

    order = traitlets.List(traitlets.Int(), [3, 1, 2, 0, 4]).tag(sync=True)
    code = traitlets.Enum(list(CODES), "none").tag(sync=True)
    start = traitlets.Int(0, min=0, max=FARTHEST).tag(sync=True)
    causal = traitlets.Bool(False).tag(sync=True)

    def __init__(self, **traits: Any):
        traits.setdefault("caption", CAPTION)
        super().__init__(**traits)

    @traitlets.validate("order")
    def _each_once(self, proposal: Any) -> list[int]:
        order = list(proposal["value"])
        if sorted(order) != list(range(len(WORDS))):
            raise traitlets.TraitError(
                f"order must hold each of 0 to {len(WORDS) - 1} once, got {order}"
            )
        return order

    def _attend(self, order: list[int], start: int) -> tuple[np.ndarray, np.ndarray]:
        """Return (output, weights) of the words in this order, by `qkv.core`."""
        ex, n = running_example(), len(WORDS)
        X = ex.X_source[order]
        if self.code == "sinusoids":
            X = X + sinusoidal_positions(n, X.shape[1], start)
        elif self.code == "learned":
            X = X + learned_positions(learned_table(), n, start)
        q, k, v = project_qkv(X, X, ex.W_Q[0], ex.W_K[0], ex.W_V[0])
        if self.code == "rotary":
            q, k = rotary_positions(q, start), rotary_positions(k, start)
        return scaled_dot_product_attention(q, k, v, causal_mask(n) if self.causal else None)

    @property
    def ends(self) -> bool:
        """Whether the learned table has no row for the last word."""
        return self.code == "learned" and self.start + len(WORDS) > N_TABLE

    def numbers(self) -> dict[str, Any]:
        """Return what the widget shows; no weights where the learned table ends."""
        shown = {"hands": self._hands(), "offsets": self._offsets(), "ends": self.ends}
        if self.ends:
            return shown
        output, weights = self._attend(self.order, self.start)
        first, _ = self._attend(list(range(len(WORDS))), 0)
        moved = np.abs(output - first[self.order]).max(axis=1)
        return {**shown, "weights": weights, "output": output, "moved": moved}

    def _hands(self) -> np.ndarray:
        """Return each place's pairs (right, up), shape (5, pairs, 2): the hands of its clocks."""
        n = len(WORDS)
        if self.code == "none" or self.ends:
            return np.zeros((n, 4, 2))
        if self.code == "learned":
            return learned_positions(learned_table(), n, self.start).reshape(n, 4, 2)
        return sinusoidal_positions(n, 8 if self.code == "sinusoids" else 4, self.start).reshape(
            n, -1, 2
        )

    def _offsets(self) -> np.ndarray:
        """Return how alike two places are, by offset -12 to 12, seen from place 12."""
        n = 2 * REACH + 1
        if self.code == "none":
            return np.zeros(n)
        if self.code == "learned":
            P = learned_positions(learned_table(), n)
        else:  # a query and a key of (0, 1) pairs, turned by RoPE: the same sines and cosines
            P = sinusoidal_positions(n, 8 if self.code == "sinusoids" else 4)
        return P @ P[REACH]

    def poster(self) -> str:
        """Return the weights as a table under the words."""
        made = self.numbers()
        words = [WORDS[i] for i in self.order]
        line = " ".join(
            f'<text x="{70 * t + 35}" y="24" text-anchor="middle">{escape(word)}</text>'
            for t, word in enumerate(words)
        )
        picture = (
            '<svg viewBox="0 0 350 60" width="350" height="60" role="img" font-size="15"'
            f' fill="currentColor" aria-label="The words in this order: {escape(" ".join(words))}">'
            f'{line}<text x="175" y="50" text-anchor="middle" font-size="13">{_said(made)}</text>'
            "</svg>"
        )
        if self.ends:
            return f'<div class="qkv-order-poster">{picture}</div>'
        rows = [
            (word, [*weights, moved])
            for word, weights, moved in zip(words, made["weights"], made["moved"], strict=True)
        ]
        table = html_table([*words, "moved"], rows, "Weights, and how far each output moved")
        return (
            f'<div class="qkv-order-poster">{picture}'
            f"<details><summary>The numbers</summary>{table}</details></div>"
        )


def _said(made: dict[str, Any]) -> str:
    if made["ends"]:
        return f"The learned table has {N_TABLE} rows, and a later place is asked for."
    return f"Largest change of a word's output: {number(made['moved'].max())}"
