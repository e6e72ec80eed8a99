"""SoftmaxBench: scores to weights, temperature, the axis of the sum, a leak meter (chapter 3)."""

from html import escape
from typing import Any

import numpy as np
import traitlets

from qkv.core import causal_mask, softmax, softmax_with_temperature
from qkv.widgets.base import BookWidget, Matrix, html_table, number, static_text

__all__ = ["SoftmaxBench"]

CAPTION = (
    "Scores of a few queries under a causal mask, and the weights that softmax makes of them. The"
    " meter shows the largest change of a weight in a row that comes before the changed token."
)
TOKENS = ("she", "ate", "an", "apple", ".")
SCORES = (
    (1.0, 2.0, 0.0, 0.0, 0.0),
    (-0.5, 0.5, 1.0, 0.0, 0.0),
    (0.0, 1.5, 0.5, 2.0, 0.0),
    (0.5, 1.0, -1.0, 0.5, 1.5),
)


class SoftmaxBench(BookWidget):
    """Weights from scores along either axis, and how far the future reaches into the past.

    Parameters
    ----------
    tokens : list of str
        All tokens; each is a key.
    scores : array, shape (n_q, n_k)
        The queries are the last n_q of the tokens.
    temperature : float
        What the scores are divided by, 1/8 to 8.
    axis : {"keys", "queries"}
        What each sum of the softmax runs over; "keys" is attention.
    times : float
        The last query is multiplied by it; the meter compares with times 1.
    row : int
        Whose scores stand on the sliders.

    Examples
    --------
    >>> from qkv.widgets import SoftmaxBench
    >>> SoftmaxBench().numbers()["leak"]
    0.0
    >>> SoftmaxBench(axis="queries").numbers()["leak"] > 0.1
    True
    """

    name = "softmax-bench"
    _esm = static_text("softmax-bench.mjs")

    tokens = traitlets.List(traitlets.Unicode(), list(TOKENS), minlen=2).tag(sync=True)
    scores = Matrix()
    temperature = traitlets.Float(1.0, min=0.125, max=8.0).tag(sync=True)
    axis = traitlets.Enum(["keys", "queries"], "keys").tag(sync=True)
    times = traitlets.Float(3.0, min=-3.0, max=3.0).tag(sync=True)
    row = traitlets.Int(0, min=0).tag(sync=True)

    def __init__(self, **traits: Any):
        traits.setdefault("scores", SCORES)
        traits.setdefault("caption", CAPTION)
        super().__init__(**traits)
        n_q, n_k = self.scores.shape
        if n_k != len(self.tokens) or not 2 <= n_q <= n_k or self.row >= n_q:
            raise traitlets.TraitError(
                f"scores must be (n_q, {len(self.tokens)}) with 2 to {len(self.tokens)} queries,"
                f" row one of them; got {self.scores.shape} and row {self.row}"
            )

    def weights(self, times: float | None = None) -> np.ndarray:
        """Return the weights, by `qkv.core`, with the last query multiplied by `times`."""
        scores = self.scores.copy()
        scores[-1] *= self.times if times is None else times
        n_q, n_k = scores.shape
        scores = np.where(causal_mask(n_q, n_k, n_k - n_q), scores, -np.inf)
        if self.axis == "keys":
            return softmax_with_temperature(scores, self.temperature)
        return softmax(scores.T / self.temperature).T

    def numbers(self) -> dict[str, Any]:
        """Return what the widget shows."""
        weights = self.weights()
        moved = np.abs(weights - self.weights(times=1.0)).max(axis=1)
        return {
            "weights": weights,
            "row sums": weights.sum(axis=1),
            "column sums": weights.sum(axis=0),
            "moved": moved,
            "leak": float(moved[:-1].max()),
        }

    def poster(self) -> str:
        """Return the weights as a picture, and a table with their sums."""
        made = self.numbers()
        queries = self.tokens[-len(self.scores) :]
        columns = [*self.tokens, "sum", "moved"]
        rows = [
            (query, [*weights, total, moved])
            for query, weights, total, moved in zip(
                queries, made["weights"], made["row sums"], made["moved"], strict=True
            )
        ]
        over = f"each sum over the {self.axis}, leak {number(made['leak'])}"
        table = html_table(columns, rows, f"Weights: {over}")
        return (
            f'<div class="qkv-bench-poster">{_picture(made["weights"], queries, self.tokens, over)}'
            f"<details><summary>The numbers</summary>{table}</details></div>"
        )


def _picture(weights: np.ndarray, queries: list[str], keys: list[str], over: str) -> str:
    """Return the table of weights as SVG, darker where the weight is larger."""
    wide, tall, left, top = 64, 40, 76, 34
    parts = []
    for j, key in enumerate(keys):
        x = left + (j + 0.5) * wide
        parts.append(f'<text x="{x}" y="{top - 10}" text-anchor="middle">{escape(key)}</text>')
    for i, query in enumerate(queries):
        y = top + (i + 0.5) * tall + 5
        parts.append(f'<text x="{left - 10}" y="{y}" text-anchor="end">{escape(query)}</text>')
        for j, weight in enumerate(weights[i]):
            parts.append(
                f'<rect x="{left + j * wide}" y="{top + i * tall}" width="{wide}" height="{tall}"'
                f' fill="var(--qkv-w, #7a3ea8)" fill-opacity="{0.5 * min(1.0, weight):.2f}"'
                ' stroke="var(--qkv-line, #c3cad2)"/>'
                f'<text x="{left + (j + 0.5) * wide}" y="{y}" text-anchor="middle">'
                f"{number(weight)}</text>"
            )
    width, height = left + wide * len(keys) + 2, top + tall * len(queries) + 2
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img"'
        f' aria-label="{escape(f"Table of weights: {over}")}" font-size="15"'
        f' fill="currentColor">{"".join(parts)}</svg>'
    )
