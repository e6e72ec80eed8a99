"""Pictures for the chapter on projections: the arrays of one head, with their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, Rectangle
from numpy.typing import ArrayLike

from qkv.figures.style import COLOURS, INK, Figure, figure, number

UNIT = 0.325  # inches a cell: the widest level is then as wide as PHONE_INCHES
GAP = 1.0
Spot = tuple[float, float, float]  # the middle of an array, its top and its bottom


@dataclass(frozen=True)
class Block:
    """One array to draw: what it is called, whose colour it has, and what its rows mean."""

    title: str
    values: ArrayLike
    role: str
    rows: Sequence[str] | None = None
    columns: Sequence[str] | None = None

    @property
    def whole(self) -> bool:
        """Whether all numbers are whole, so that they need no decimals."""
        values = np.asarray(self.values, dtype=float)
        return bool(np.all(values == np.round(values)))

    @property
    def cell(self) -> float:
        """The width of one cell: decimals need more room."""
        if self.whole:
            return 1.0
        return 1.8 if np.min(self.values) < 0 else 1.45

    @property
    def width(self) -> float:
        """The width of the whole array."""
        return self.cell * np.shape(self.values)[1]


def projection_flow(X: Block, projected: Sequence[Block], results: Sequence[Block]) -> Figure:
    """Draw X on top, what is made from it in the middle, weights and output below.

    Parameters
    ----------
    X : Block
        The input, one token a row.
    projected : sequence of Block
        Queries, keys and values.
    results : sequence of Block
        Weights and output.

    Returns
    -------
    Figure
        As narrow as a phone needs: its numbers can be read at 358 px.

    Examples
    --------
    >>> import numpy as np
    >>> x = Block("X", np.ones((2, 3)), "x", rows=("a", "b"))
    >>> q = Block("Q", np.ones((2, 2)), "q", rows=("a", "b"))
    >>> type(projection_flow(x, [q], [q])).__name__
    'Figure'
    """
    levels = [[X], list(projected), list(results)]
    width = max(map(_level_width, levels))
    heights = [max(np.shape(b.values)[0] for b in level) for level in levels]
    has_columns = 1.7 if X.columns else 0.0
    total = sum(heights) + has_columns + 2.5 * len(levels)
    fig, ax = figure(UNIT * (width + 1.9), UNIT * total)
    y = 0.0
    anchors: list[list[Spot]] = []
    for level, height in zip(levels, heights, strict=True):
        x = (width - _level_width(level)) / 2
        y -= 1.5 + (has_columns if level[0].columns else 0.0)
        spots = []
        for i, block in enumerate(level):
            draw_array(ax, block, x, y, names=i == 0)
            top = y + 0.95 + (has_columns if block.columns else 0.0)
            spots.append((x + block.width / 2, top, y - np.shape(block.values)[0]))
            x += block.width + GAP
        anchors.append(spots)
        y -= height + 1.0
    for above, below in pairwise(anchors):
        _arrows(ax, above, below)
    ax.set_xlim(-1.8, width + 0.1)
    ax.set_ylim(y + 0.7, 0.2)
    ax.set_aspect("equal")
    ax.axis("off")
    return fig


def draw_array(ax: Axes, block: Block, x: float, y: float, names: bool = True) -> None:
    """Draw one array with its numbers, its upper left corner at (x, y), one unit a cell.

    Parameters
    ----------
    ax : Axes
        Where to draw.
    block : Block
        What to draw.
    x, y : float
        The upper left corner, y upwards.
    names : bool
        Whether to write the names of the rows at the left.
    """
    values = np.asarray(block.values, dtype=float)
    colour = COLOURS[block.role]
    largest = float(np.abs(values).max()) or 1.0
    for (r, c), value in np.ndenumerate(values):
        shade = 0.42 * abs(value) / largest
        left = x + c * block.cell
        ax.add_patch(
            Rectangle((left, y - r - 1), block.cell, 1, facecolor=colour, alpha=shade, lw=0)
        )
        ax.text(
            left + block.cell / 2,
            y - r - 0.53,
            number(value, 0 if block.whole else 2),
            ha="center",
            va="center",
            fontsize=9.5,
            color=INK,
        )
    n_rows = len(values)
    ax.add_patch(
        Rectangle((x, y - n_rows), block.width, n_rows, facecolor="none", edgecolor=colour, lw=1.4)
    )
    lift = 1.7 if block.columns else 0.0
    ax.text(
        x + block.width / 2,
        y + 0.28 + lift,
        block.title,
        ha="center",
        va="bottom",
        color=colour,
        fontsize=11,
        fontweight="bold",
    )
    for c, name in enumerate(block.columns or ()):
        ax.text(
            x + (c + 0.5) * block.cell,
            y + 0.15,
            name,
            ha="left",
            va="bottom",
            fontsize=8,
            rotation=45,
            rotation_mode="anchor",
            color=INK,
        )
    for r, name in enumerate((block.rows or ()) if names else ()):
        ax.text(x - 0.25, y - r - 0.53, name, ha="right", va="center", fontsize=9.5, color=INK)


def _level_width(level: Sequence[Block]) -> float:
    return sum(block.width for block in level) + GAP * (len(level) - 1)


def _arrows(
    ax: Axes,
    above: Sequence[tuple[float, float, float]],
    below: Sequence[tuple[float, float, float]],
) -> None:
    """Join every array to those made from it: from one to all, or each to its own part."""
    if len(above) == 1:
        pairs = [(above[0], spot) for spot in below]
    else:  # queries and keys make the weights; weights and values make the output
        pairs = [(above[0], below[0]), (above[1], below[0]), (above[-1], below[-1])]
    for (x0, _, bottom), (x1, top, _) in pairs:
        ax.add_patch(
            FancyArrowPatch(
                (x0, bottom - 0.08),
                (x1, top + 0.12),
                arrowstyle="-|>",
                mutation_scale=9,
                lw=1.0,
                color=INK,
                alpha=0.65,
                shrinkA=0,
                shrinkB=0,
            )
        )
