"""Pictures for the chapter on learning: labelled maps side by side, and curves of the loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from qkv.figures.style import COLOURS, FAINT, INK, PHONE_INCHES, Figure, figure, number


class Map(NamedTuple):
    """One labelled table of a `signed_maps` figure."""

    title: str
    values: ArrayLike
    columns: Sequence[str]
    role: str = "w"


def signed_maps(maps: Sequence[Map], rows: Sequence[str], digits: int = 1) -> Figure:
    """Draw tables that share the names of their rows, side by side.

    Darker is larger, a number below zero stands on white and in grey, and a frame marks the
    largest of each row.

    Parameters
    ----------
    maps : sequence of Map
        A title, an array with one row a name, the names of its columns, the colour of its role.
    rows : sequence of str
        The names of the rows.
    digits : int
        Decimals of the numbers.

    Returns
    -------
    Figure
        At most 11 columns in all stay readable on a phone.

    Examples
    --------
    >>> type(signed_maps([Map("M", [[1.0, -2.0]], ["a", "b"])], ["x"])).__name__
    'Figure'
    """
    tables = [np.asarray(m.values, dtype=float) for m in maps]
    for table, m in zip(tables, maps, strict=True):
        if table.shape != (len(rows), len(m.columns)):
            raise ValueError(
                f"the map '{m.title}' must be {(len(rows), len(m.columns))}, one row and one"
                f" column a name, got {table.shape}"
            )
    wide = 1.6 + sum(len(m.columns) for m in maps) + 0.6 * (len(maps) - 1)
    tall = 0.8 * len(rows) + 2.5
    fig, ax = figure(PHONE_INCHES, PHONE_INCHES * tall / wide)
    fig.subplots_adjust(left=0, right=1, bottom=0, top=1)
    size = min(10.0, 100 / wide)
    x = 1.6
    for table, m in zip(tables, maps, strict=True):
        ax.text(x, -1.25, m.title, ha="left", va="bottom", color=COLOURS[m.role], fontsize=10)
        top = max(float(table.max()), 1e-9)
        for c, name in enumerate(m.columns):
            ax.text(x + c + 0.5, -0.15, name, ha="center", va="bottom", fontsize=size)
        for (r, c), value in np.ndenumerate(table):
            box = Rectangle((x + c, 0.8 * r), 1, 0.8, facecolor=COLOURS[m.role], lw=0)
            box.set_alpha(0.6 * max(value, 0.0) / top)
            ax.add_patch(box)
            ax.text(
                x + c + 0.5, 0.8 * r + 0.4, number(value, digits), ha="center", va="center",
                fontsize=size, color=INK if value >= 0 else FAINT,
            )  # fmt: skip
            if len(m.columns) > 1 and value == table[r].max() and value > table[r].min():
                frame = Rectangle((x + c, 0.8 * r), 1, 0.8, fill=False, ec=INK, lw=1.2)
                ax.add_patch(frame)
        ax.add_patch(
            Rectangle((x, 0), len(m.columns), 0.8 * len(rows), fill=False, ec=FAINT, lw=0.7)
        )
        x += len(m.columns) + 0.6
    for r, name in enumerate(rows):
        ax.text(1.5, 0.8 * r + 0.4, name, ha="right", va="center", fontsize=size)
    ax.set_xlim(0, wide)
    ax.set_ylim(0.8 * len(rows) + 0.1, -2.4)
    ax.axis("off")
    return fig


def loss_curves(
    curves: Mapping[str, ArrayLike], levels: Mapping[str, float], faint: bool = False
) -> Figure:
    """Draw the loss step by step, with dashed lines at levels that are known beforehand.

    Parameters
    ----------
    curves : mapping of str to array of shape (n_steps,)
        One loss a step; the names stand in a legend.
    levels : mapping of str to float
        Named levels.
    faint : bool
        Draw thin curves without names: for many seeds.

    Returns
    -------
    Figure

    Examples
    --------
    >>> type(loss_curves({"one": [1.0, 0.5, 0.2]}, {"silent": 1.0})).__name__
    'Figure'
    """
    fig, ax = figure(PHONE_INCHES, 2.6)
    fig.subplots_adjust(left=0.13, right=0.98, bottom=0.18, top=0.97)
    styles = ["-", "--", "-.", ":"]
    last = max(np.size(curve) for curve in curves.values()) - 1
    for i, (name, curve) in enumerate(curves.items()):
        losses = np.asarray(curve, dtype=float)
        colour = COLOURS["w"] if faint or i == 0 else list(COLOURS.values())[i % 3]
        style = "-" if faint else styles[i % 4]
        ax.plot(losses, lw=0.8 if faint else 1.8, ls=style, color=colour, label=name)
    if not faint:
        ax.legend(loc="center right", frameon=False, fontsize=9)
    for name, level in levels.items():
        ax.axhline(level, lw=0.9, ls=(0, (2, 3)), color=FAINT)
        ax.text(last, level + 0.015, name, ha="right", va="bottom", color=FAINT, fontsize=9)
    ax.set_xlim(0, last)
    ax.set_ylim(bottom=0)
    ax.set_xlabel("steps")
    ax.set_ylabel("loss")
    return fig
