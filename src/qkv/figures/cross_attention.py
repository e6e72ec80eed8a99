"""Pictures for the chapter on cross-attention: two sentences, and who hands what to whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle
from numpy.typing import ArrayLike

from qkv.figures.style import COLOURS, FAINT, INK, PHONE_INCHES, Figure, figure, number


def cross_lines(weights: ArrayLike, queries: Sequence[str], keys: Sequence[str]) -> Figure:
    """Draw two sentences, one above the other, and a line from each query to each key.

    Parameters
    ----------
    weights : array of shape (n_q, n_k)
        A line is as thick as its weight; below 0.04 it is left out.
    queries, keys : sequence of str
        The words above and below.

    Returns
    -------
    Figure
        Below each query stands its largest weight.

    Examples
    --------
    >>> type(cross_lines([[0.9, 0.1]], ["a"], ["b", "c"])).__name__
    'Figure'
    """
    weights = np.asarray(weights, dtype=float)
    if weights.shape != (len(queries), len(keys)):
        raise ValueError(
            f"weights must be {(len(queries), len(keys))}, one row a query, got {weights.shape}"
        )
    fig, ax = figure(PHONE_INCHES, 2.3)
    fig.subplots_adjust(left=0, right=1, bottom=0, top=1)
    above, below = _spread(queries), _spread(keys)
    for (t, j), weight in np.ndenumerate(weights):
        if weight < 0.04:
            continue
        ax.plot(
            [above[t], below[j]], [0.74, 0.24], color=COLOURS["w"], lw=6 * weight,
            alpha=0.25 + 0.6 * weight, solid_capstyle="round",
        )  # fmt: skip
    for x, word, row in zip(above, queries, weights, strict=True):
        ax.text(x, 0.9, word, ha="center", va="bottom", color=COLOURS["q"], fontsize=10.5)
        ax.text(x, 0.86, number(row.max()), ha="center", va="top", color=FAINT, fontsize=8.5)
    for x, word in zip(below, keys, strict=True):
        ax.text(x, 0.15, word, ha="center", va="top", color=COLOURS["k"], fontsize=10.5)
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1.05)
    ax.axis("off")
    return fig


def _spread(words: Sequence[str]) -> np.ndarray:
    """Return the middles of words set in one line from edge to edge, each as wide as its text."""
    widths = np.array([len(word) + 2.2 for word in words])
    return (np.cumsum(widths) - widths / 2) / widths.sum()


# Of the picture of a decoder, in its own units: where layer 1 begins, how tall a layer is with the
# gap above it, and how high its cross-attention stands in it.
FOOT, STEP, CROSS = 1.6, 6.9, 3.15


@dataclass(frozen=True)
class _Box:
    x: float
    y: float
    width: float
    text: str
    role: str = ""
    height: float = 0.8


def decoder_wiring(n_layers: int, source: tuple[int, int], target: tuple[int, int]) -> Figure:
    """Draw which array each decoder layer's cross-attention gets, and from where.

    Parameters
    ----------
    n_layers : int
        How many encoder and decoder layers are drawn.
    source : tuple of int
        Length and width of the memory.
    target : tuple of int
        Length and width of the decoder's rows.

    Returns
    -------
    Figure
        From the bottom up; the encoder at the left, the decoder at the right.

    Examples
    --------
    >>> type(decoder_wiring(2, (5, 9), (7, 8))).__name__
    'Figure'
    """
    top = FOOT + STEP * n_layers
    fig, ax = figure(PHONE_INCHES, PHONE_INCHES * (top + 1.0) / 10)
    fig.subplots_adjust(left=0, right=1, bottom=0, top=1)
    left, right, stem = 1.75, 6.9, 3.7
    _box(ax, _Box(left, 0.6, 3.1, "source words", "x"))
    _box(ax, _Box(right, 0.6, 5.6, "target words so far", "x"))
    for layer in range(n_layers):
        y = 2.0 + 1.4 * layer
        last = layer == n_layers - 1
        name = "last encoder layer" if last else f"encoder layer {layer + 1}"
        _box(ax, _Box(left, y, 3.1, name))
        _arrow(ax, (left, y - 1.0), (left, y - 0.4))
    memory = 2.2 + 1.4 * n_layers
    _arrow(ax, (left, memory - 1.2), (left, memory - 0.6))
    _box(ax, _Box(left, memory, 3.1, f"memory\n{_size(source)}", "k", 1.2))
    crosses = [FOOT + STEP * layer + CROSS for layer in range(n_layers)]
    orange = COLOURS["k"]
    ax.plot([left, left, stem], [memory + 0.6, memory + 1.0, memory + 1.0], color=orange)
    ends = [*crosses, memory + 1.0]
    ax.plot([stem, stem], [min(ends), max(ends)], color=orange)
    for layer, cross in enumerate(crosses):
        _layer(ax, layer + 1, right, target)
        _arrow(ax, (stem, cross), (right - 2.6, cross), role="k")
    _arrow(ax, (right, top - 0.4), (right, top + 0.35))
    _say(ax, right, top + 0.65, "to the scores of all words", 9)
    ax.set_xlim(0, 10)
    ax.set_ylim(0, top + 1.0)
    ax.axis("off")
    return fig


def _layer(ax: Axes, layer: int, x: float, target: tuple[int, int]) -> None:
    """Draw one decoder layer, counted from 1, around the line x."""
    y = FOOT + STEP * (layer - 1)
    frame = Rectangle((4.0, y), 5.85, STEP - 0.55, fill=False, ec=FAINT, lw=0.9, ls=(0, (4, 3)))
    ax.add_patch(frame)
    _say(ax, 4.15, y + STEP - 0.83, f"decoder layer {layer}", 8.5, ha="left")
    own = "cross-attention\nits own $W_Q,\\; W_K,\\; W_V$"
    boxes = [
        _Box(x, y + 0.6, 5.2, "masked self-attention", "", 0.72),
        _Box(x, y + 1.6, 5.2, "add & norm", "", 0.72),
        _Box(x, y + CROSS, 5.2, own, "w", 1.3),
        _Box(x, y + 4.4, 5.2, "add & norm", "", 0.72),
        _Box(x, y + 5.4, 5.2, "feed-forward, add & norm", "", 0.72),
    ]
    low = y - (0.6 if layer == 1 else 0.5)
    for box in boxes:
        _arrow(ax, (x, low), (x, box.y - box.height / 2), role="q" if box.role else "")
        _box(ax, box)
        low = box.y + box.height / 2
    _say(ax, x + 0.15, y + 2.2, f"$X_q$  {_size(target)}", 9, ha="left", role="q")


def _box(ax: Axes, box: _Box) -> None:
    colour = COLOURS[box.role] if box.role else INK
    corner = (box.x - box.width / 2, box.y - box.height / 2)
    style = "round,pad=0,rounding_size=0.15"
    filled = FancyBboxPatch(corner, box.width, box.height, boxstyle=style, fc=colour, ec="none")
    filled.set_alpha(0.12 if box.role else 0.04)
    frame = FancyBboxPatch(corner, box.width, box.height, boxstyle=style, fill=False, ec=colour)
    frame.set_linewidth(1.2 if box.role else 0.8)
    ax.add_patch(filled)
    ax.add_patch(frame)
    _say(ax, box.x, box.y, box.text, 9.5)


def _arrow(ax: Axes, start: tuple[float, float], end: tuple[float, float], role: str = "") -> None:
    ax.add_patch(
        FancyArrowPatch(
            start, end, arrowstyle="-|>", mutation_scale=8, lw=1.4 if role else 1.0,
            color=COLOURS[role] if role else INK, alpha=1.0 if role else 0.7, shrinkA=0, shrinkB=0,
        )
    )  # fmt: skip


def _say(
    ax: Axes, x: float, y: float, text: str, size: float, ha: str = "center", role: str = ""
) -> None:
    colour = COLOURS[role] if role else (FAINT if size < 9 else INK)
    ax.text(x, y, text, ha=ha, va="center", color=colour, fontsize=size)


def _size(shape: tuple[int, int]) -> str:
    return f"{shape[0]} \N{MULTIPLICATION SIGN} {shape[1]}"
