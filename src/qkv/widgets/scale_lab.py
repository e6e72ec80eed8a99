"""ScaleLab: random queries and keys, the spread of their scores, the largest weight (chapter 6)."""

import math
from typing import Any

import numpy as np
import traitlets

from qkv.core import dot_product_scores, softmax
from qkv.widgets.base import BookWidget, html_table, number, static_text

__all__ = ["ScaleLab"]

CAPTION = (
    "32 queries and n_k keys, every entry drawn with mean 0 and variance 1. First their scores, and"
    " the bell that the derivation foretells; then the weights of a query, largest first, as a mean"
    " over the queries. The dashed line is the equal share, 1/n_k."
)
N_Q, WIDEST, MOST_KEYS = 32, 1024, 256
BARS, BINS = 12, 40
FACTORS = {"none": "q · k", "sqrt": "q · k / √d_k", "d": "q · k / d_k"}


class ScaleLab(BookWidget):
    """How the factor before the softmax decides how much one key can take.

    Parameters
    ----------
    d_k : int
        Columns of queries and keys, 1 to 1024.
    n_k : int
        How many keys, 2 to 256.
    factor : {"none", "sqrt", "d"}
        What a dot product is divided by: nothing, the root of d_k, or d_k.
    seed : int
        Which random numbers. The same in Python and in the page.

    Examples
    --------
    >>> from qkv.widgets import ScaleLab
    >>> for factor in ("none", "sqrt", "d"):
    ...     print(factor, round(ScaleLab(factor=factor).numbers()["largest"], 2))
    none 0.79
    sqrt 0.22
    d 0.08
    """

    name = "scale-lab"
    _esm = static_text("scale-lab.mjs")

    d_k = traitlets.Int(64, min=1, max=WIDEST).tag(sync=True)
    n_k = traitlets.Int(16, min=2, max=MOST_KEYS).tag(sync=True)
    factor = traitlets.Enum(list(FACTORS), "none").tag(sync=True)
    seed = traitlets.Int(0, min=0, max=2**31 - 2).tag(sync=True)

    def __init__(self, **traits: Any):
        traits.setdefault("caption", CAPTION)
        super().__init__(**traits)

    def numbers(self) -> dict[str, Any]:
        """Return what the widget shows, by `qkv.core`."""
        q = normals(np.arange(N_Q), self.d_k, self.seed)
        k = normals(N_Q + np.arange(self.n_k), self.d_k, self.seed)
        by = {"none": 1.0, "sqrt": math.sqrt(self.d_k), "d": float(self.d_k)}[self.factor]
        scores = dot_product_scores(q, k) / by
        weights = softmax(scores)
        predicted = math.sqrt(self.d_k) / by
        edge = reach(predicted)
        return {
            "predicted": predicted,
            "spread": float(scores.std()),
            "largest": float(weights.max(axis=-1).mean()),
            "uniform": 1 / self.n_k,
            "slope": float((weights * (1 - weights)).mean()),
            "ranked": -np.sort(-weights, axis=-1).mean(axis=0)[:BARS],
            "edge": edge,
            "counts": histogram(scores, edge),
        }

    def poster(self) -> str:
        """Return both pictures, and a table of all three factors."""
        rows = []
        for factor, text in FACTORS.items():
            made = ScaleLab(d_k=self.d_k, n_k=self.n_k, factor=factor, seed=self.seed).numbers()
            names = ("predicted", "spread", "largest", "uniform", "slope")
            rows.append((text, [made[name] for name in names]))
        columns = ["foretold spread", "measured", "largest weight", "1/n_k", "mean slope"]
        table = html_table(columns, rows, f"d_k = {self.d_k}, n_k = {self.n_k}", digits=3)
        return (
            f'<div class="qkv-scale-poster">{_picture(self.numbers(), self.n_k)}'
            f"<details><summary>The numbers</summary>{table}</details></div>"
        )


def mixed(counter: np.ndarray, seed: int) -> np.ndarray:
    """Return 32 bits that look random for each counter: the mixing steps of MurmurHash3."""
    wrap = np.uint64(2**32)
    half, low, high = np.uint64(16), np.uint64(0x85EBCA6B), np.uint64(0xC2B2AE35)
    x = counter.astype(np.uint64) * np.uint64(0x9E3779B1)
    x = (x + np.uint64((seed + 1) * 0x85EBCA77 % 2**32)) % wrap
    x = (x ^ (x >> half)) * low % wrap
    x = (x ^ (x >> np.uint64(13))) * high % wrap
    return x ^ (x >> half)


def normals(rows: np.ndarray, d_k: int, seed: int) -> np.ndarray:
    """Return the first `d_k` entries of numbered rows: normal, mean 0, variance 1."""
    at = 2 * (rows[:, None] * WIDEST + np.arange(d_k))
    u, turn = ((mixed(at + i, seed) + 0.5) / 2**32 for i in (0, 1))
    return np.sqrt(-2 * np.log(u)) * np.cos(2 * np.pi * turn)


def reach(spread: float) -> float:
    """Return how far the picture goes to either side: a power of two, at least 4."""
    return max(4.0, 2.0 ** math.ceil(math.log2(3.2 * spread)))


def histogram(scores: np.ndarray, edge: float) -> np.ndarray:
    """Count the scores in each of the bins from -edge to edge; those beyond are left out."""
    bins = np.floor((scores.ravel() + edge) / (2 * edge) * BINS).astype(int)
    return np.bincount(bins[(bins >= 0) & (bins < BINS)], minlength=BINS)


def _picture(made: dict[str, Any], n_k: int) -> str:
    """Return the histogram with its bell, and the ranked weights, as one SVG."""
    wide, tall, gap = 440, 138, 44
    total = N_Q * n_k
    step = 2 * made["edge"] / BINS
    centres = -made["edge"] + step * (np.arange(BINS) + 0.5)
    bell = np.exp(-((centres / made["predicted"]) ** 2) / 2) / math.sqrt(2 * math.pi)
    bell *= total * step / made["predicted"]
    top = max(made["counts"].max(), bell.max())
    bar = wide / BINS
    parts = [
        f'<rect x="{i * bar:.1f}" y="{tall - tall * count / top:.1f}" width="{bar - 1:.1f}"'
        f' height="{tall * count / top:.1f}" fill="var(--qkv-w, #7a3ea8)" fill-opacity=".35"/>'
        for i, count in enumerate(made["counts"])
    ]
    points = " ".join(
        f"{(i + 0.5) * bar:.1f},{tall - tall * y / top:.1f}" for i, y in enumerate(bell)
    )
    parts.append(f'<polyline points="{points}" fill="none" stroke="currentColor"/>')
    for x, anchor, value in [(0, "start", -1), (wide / 2, "middle", 0), (wide, "end", 1)]:
        label = number(value * made["edge"], 0)
        parts.append(f'<text x="{x}" y="{tall + 18}" text-anchor="{anchor}">{label}</text>')
    under, bar = tall + gap, wide / BARS
    for i, weight in enumerate(made["ranked"]):
        parts.append(
            f'<rect x="{i * bar:.1f}" y="{under + tall * (1 - weight):.1f}" width="{bar - 6:.1f}"'
            f' height="{tall * weight:.1f}" fill="var(--qkv-w, #7a3ea8)"/>'
        )
    y = under + tall * (1 - made["uniform"])
    parts.append(f'<path d="M0 {y:.1f}H{wide}" stroke="currentColor" stroke-dasharray="5 4"/>')
    said = f"largest weight {number(made['largest'])}, equal share {number(made['uniform'], 3)}"
    parts.append(f'<text x="{wide}" y="{under + 14}" text-anchor="end">{said}</text>')
    height = under + tall + 4
    return (
        f'<svg viewBox="0 0 {wide} {height}" width="{wide}" height="{height}" role="img"'
        f' aria-label="Histogram of scores, spread {number(made["spread"])}; {said}"'
        f' font-size="14" fill="currentColor">{"".join(parts)}</svg>'
    )
