"""SoftLookup: move a query along a line of keys; see weights, values and the output (chapter 4)."""

from html import escape
from typing import Any

import numpy as np
import traitlets

from qkv.core import attention_from_scores, dot_product_scores, squared_distances
from qkv.data import terrain
from qkv.widgets.base import BookWidget, Matrix, html_table, number, static_text

__all__ = ["SoftLookup"]

CAPTION = (
    "A soft look-up on a line. Dots are pairs of key and value, the bars below are the weights of"
    " the query, the curve is the output at every place."
)
ROW, POSTS = 188, np.linspace(12, 390, 17).round().astype(int)


def survey() -> np.ndarray:
    """Return 17 posts of chapter 4: kilometres from the western edge, and metres of height."""
    land = terrain()
    return np.stack([land.east[POSTS], land.heights[ROW, POSTS]], axis=1)


class SoftLookup(BookWidget):
    """One query on a line of pairs, answered softly or by one key.

    Parameters
    ----------
    pairs : array, shape (n, 2)
        A key and its value in each row; the survey of chapter 4 if left out.
    query : float
        Where a value is wanted.
    bandwidth : float
        How far "near" reaches, 1/8 to 128.
    score : {"distance", "dot"}
        What makes the scores: minus half the squared distance, or the product of query and key;
        both over the squared bandwidth.
    hard : bool
        Whether the key with the largest score takes all.
    labels : list of two str
        The units of keys and values.

    Examples
    --------
    >>> from qkv.widgets import SoftLookup
    >>> SoftLookup(pairs=[[0, 10], [2, 30]], query=1.0).numbers()["output"]
    20.0
    """

    name = "soft-lookup"
    _esm = static_text("soft-lookup.mjs")

    pairs = Matrix(shape=(None, 2))
    query = traitlets.Float(7.3).tag(sync=True)
    bandwidth = traitlets.Float(1.0, min=0.125, max=128.0).tag(sync=True)
    score = traitlets.Enum(["distance", "dot"], "distance").tag(sync=True)
    hard = traitlets.Bool(False).tag(sync=True)
    labels = traitlets.List(traitlets.Unicode(), ["", ""], minlen=2, maxlen=2).tag(sync=True)

    def __init__(self, **traits: Any):
        traits.setdefault("caption", CAPTION)
        if "pairs" not in traits:
            traits["pairs"] = survey()
            traits.setdefault("labels", ["km", "m"])
        super().__init__(**traits)
        if len(np.unique(self.pairs[:, 0])) < 2:
            raise traitlets.TraitError("pairs must hold at least two different keys")

    def look_up(self, queries: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return outputs, weights and scores of several queries, by `qkv.core`."""
        q, k, v = np.asarray(queries, dtype=float)[:, None], self.pairs[:, :1], self.pairs[:, 1:]
        closeness = (
            dot_product_scores(q, k) if self.score == "dot" else -squared_distances(q, k) / 2
        )
        scores = closeness / self.bandwidth**2
        if self.hard:
            weights = np.eye(len(k))[scores.argmax(axis=-1)]
            return (weights @ v)[:, 0], weights, scores
        output, weights = attention_from_scores(scores, v)
        return output[:, 0], weights, scores

    def numbers(self) -> dict[str, Any]:
        """Return what the widget shows of its query."""
        output, weights, scores = self.look_up(np.array([self.query]))
        return {
            "scores": scores[0],
            "weights": weights[0],
            "parts": weights[0] * self.pairs[:, 1],
            "output": float(output[0]),
        }

    def poster(self) -> str:
        """Return the picture, and a table of all pairs with their weights."""
        made = self.numbers()
        key_unit, value_unit = (name and f" {name}" for name in self.labels)
        rows = [
            (f"{number(key, 1)}{key_unit}", [value, weight, part])
            for (key, value), weight, part in zip(
                self.pairs, made["weights"], made["parts"], strict=True
            )
        ]
        title = (
            f"Query {number(self.query, 1)}{key_unit}: output"
            f" {number(made['output'], 1)}{value_unit}"
        )
        table = html_table(["value", "weight", "product"], rows, title)
        return (
            f'<div class="qkv-lookup-poster">{self._picture(made, title)}'
            f"<details><summary>The numbers</summary>{table}</details></div>"
        )

    def _picture(self, made: dict[str, Any], title: str) -> str:
        """Return dots, curve and query above the bars of the weights, as SVG."""
        keys, values = self.pairs.T
        left, right, top, bottom, bar_top, axis = 12, 412, 34, 214, 236, 300
        low, high = min(keys.min(), self.query), max(keys.max(), self.query)
        places = np.linspace(low, high, 121)
        curve, _, _ = self.look_up(places)
        heights = [values.min(), values.max() if values.max() > values.min() else values.min() + 1]
        x = left + (right - left) * (np.append(keys, self.query) - low) / (high - low)
        y = np.interp([*values, made["output"], *curve], heights, [bottom, top])
        n = len(keys)
        line = " ".join(
            f"{a:.1f},{b:.1f}"
            for a, b in zip(np.linspace(left, right, 121), y[n + 1 :], strict=True)
        )
        parts = [
            f'<text x="{left}" y="16">{escape(title)}</text>',
            f'<path d="M{left} {axis}H{right}" stroke="var(--qkv-line, #c3cad2)"/>',
            f'<polyline points="{line}" fill="none" stroke="var(--qkv-v, #1b7a3d)"/>',
            f'<path d="M{x[n]:.1f} {top}V{axis}" stroke="var(--qkv-q, #0b5cad)"'
            ' stroke-dasharray="6 3"/>',
        ]
        for j in range(n):
            tall = float(made["weights"][j]) * (axis - bar_top)
            parts.append(
                f'<circle cx="{x[j]:.1f}" cy="{y[j]:.1f}" r="5" fill="var(--qkv-v, #1b7a3d)"/>'
                f'<path d="M{x[j]:.1f} {axis - 4}v8" stroke="var(--qkv-k, #a34700)"/>'
                f'<rect x="{x[j] - 6:.1f}" y="{axis - tall:.1f}" width="12" height="{tall:.1f}"'
                ' fill="var(--qkv-w, #7a3ea8)"/>'
            )
        parts.append(
            f'<circle cx="{x[n]:.1f}" cy="{y[n]:.1f}" r="7" fill="var(--qkv-q, #0b5cad)"/>'
        )
        return (
            f'<svg viewBox="0 0 424 312" width="424" height="312" role="img"'
            f' aria-label="{escape(title)}; bars below are the weights of the keys" font-size="15"'
            f' fill="currentColor">{"".join(parts)}</svg>'
        )
