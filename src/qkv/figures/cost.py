"""Pictures for the chapter on cost: what grows with the length, and which tiles are computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.patches import Polygon, Rectangle
from matplotlib.ticker import FuncFormatter
from numpy.typing import ArrayLike

from qkv.figures.style import COLOURS, FAINT, INK, PHONE_INCHES, Figure, figure

DASHES = ("-", (0, (6, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)), (0, (3, 1)))


def growth(
    lengths: ArrayLike,
    curves: Mapping[str, ArrayLike],
    ylabel: str,
    marks: Mapping[float, str] | None = None,
) -> Figure:
    """Draw curves against the length, both axes logarithmic, so that a power of n is a line.

    Parameters
    ----------
    lengths : array of shape (n,)
        In rising order.
    curves : mapping of str to array of shape (n,) or (n_rounds, n)
        Told apart by their dashes. Of several rounds the median is drawn, and their range as a
        band. NaN where a curve has no number.
    ylabel : str
        What the numbers are.
    marks : mapping of float to str
        Lengths at which an upright line stands, and what is written at its top.

    Returns
    -------
    Figure
        With a legend above the curves.

    Examples
    --------
    >>> type(growth([64, 128], {"n d²": [1, 2], "n² d": [1, 4]}, "products", {90: "here"})).__name__
    'Figure'
    """
    lengths = np.asarray(lengths, float)
    drawn = {name: np.atleast_2d(np.asarray(values, float)) for name, values in curves.items()}
    if any(values.shape[1] != len(lengths) for values in drawn.values()):
        raise ValueError(
            f"each curve needs {len(lengths)} numbers, one a length, got"
            f" {[np.shape(values) for values in curves.values()]}"
        )
    fig, ax = figure(PHONE_INCHES, 3.1)
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    colours = (COLOURS["w"], INK, COLOURS["k"], COLOURS["q"], COLOURS["v"])
    for colour, dash, (name, values) in zip(colours, DASHES, drawn.items(), strict=False):
        there = ~np.isnan(values).any(axis=0)
        at, seen = lengths[there], values[:, there]
        ax.plot(at, np.median(seen, axis=0), color=colour, lw=1.8, ls=dash, label=name)
        if len(seen) > 1:
            ax.fill_between(at, seen.min(axis=0), seen.max(axis=0), color=colour, alpha=0.18, lw=0)
    for at_mark, text in (marks or {}).items():
        ax.axvline(at_mark, color=FAINT, lw=0.8, ls=(0, (2, 2)))
        ax.annotate(
            text, (at_mark, 1), (0, 3), xycoords=("data", "axes fraction"),
            textcoords="offset points", ha="center", va="bottom", fontsize=9.5, color=INK,
        )  # fmt: skip
    shown = lengths[:: 1 if len(lengths) < 8 else 2]
    ax.set_xticks(shown, [f"{n:,.0f}" for n in shown], fontsize=9)
    ax.minorticks_off()
    ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: _power_of_ten(y)))
    ax.set_xlabel("tokens n")
    ax.set_ylabel(ylabel)
    ax.legend(
        frameon=False, handlelength=3.2, loc="lower left",
        bbox_to_anchor=(-0.04, 1.07 if marks else 1.0), ncols=2, fontsize=9.5,
    )  # fmt: skip
    return fig


def tile_map(n: int, tiles: Sequence[int]) -> Figure:
    """Draw which tiles of a causal table are computed, for several sizes of a tile.

    Parameters
    ----------
    n : int
        Queries and keys.
    tiles : sequence of int
        Sizes; one panel each.

    Returns
    -------
    Figure
        A tile is full where every query may look at every key, cut where the diagonal runs through
        it, and empty where it is left out. Under a panel stand the two counts.

    Examples
    --------
    >>> type(tile_map(12, [4, 3])).__name__
    'Figure'
    """
    fig, first = figure(PHONE_INCHES, 4.4 / len(tiles) + 0.45)
    first.remove()
    for panel, tile in enumerate(tiles):
        ax = fig.add_subplot(1, len(tiles), panel + 1)
        starts, computed, size = range(0, n, tile), 0, 0
        for i in starts:
            for j in starts:
                wide, tall = min(tile, n - j), min(tile, n - i)
                edge: Any = {"edgecolor": INK, "linewidth": 0.5}
                size += 1
                ax.add_patch(Rectangle((j, i), wide, tall, facecolor="none", **edge))
                if j >= i + tall:
                    continue
                computed += 1
                if j + wide <= i + 1:
                    ax.add_patch(Rectangle((j, i), wide, tall, facecolor=COLOURS["w"], **edge))
                else:
                    low = Polygon([(j, i), (j, i + tall), (j + wide, i + tall)], closed=True)
                    low.set(facecolor=COLOURS["w"], alpha=0.55, linewidth=0)
                    ax.add_patch(low)
        ax.set_xlim(0, n)
        ax.set_ylim(n, 0)
        ax.set_aspect("equal")
        ax.set_xticks([])
        ax.set_yticks([])
        ax.spines[:].set_visible(False)
        ax.set_title(f"tiles of {tile}", fontsize=10, color=INK)
        ax.set_xlabel(f"{computed} of {size}", fontsize=10)
    fig.subplots_adjust(left=0.01, right=0.99, bottom=0.12, top=0.9, wspace=0.08)
    return fig


def _power_of_ten(y: float) -> str:
    """Return 1, 10, 100 as they are, and others with small digits that are still letters."""
    power = round(float(np.log10(y)))
    if -2 < power < 5:
        return f"{10.0**power:,.{max(0, -power)}f}"
    return "10" + str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
