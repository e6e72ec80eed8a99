"""Pictures for the chapter on the whole layer: a row on its way, two orders, numbers by depth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch, Rectangle
from numpy.typing import ArrayLike

from qkv.figures.scale import DASHES
from qkv.figures.style import COLOURS, FAINT, INK, PHONE_INCHES, Figure, figure, number

NAMES = 2.9  # room for the names of the places, in cells


def row_path(
    places: Sequence[str], rows: ArrayLike, columns: Sequence[str], streams: Sequence[bool]
) -> Figure:
    """Draw one token's row at every place of a layer, with its mean and its length.

    Parameters
    ----------
    places : sequence of str
        Where each row was read.
    rows : array of shape (n_places, d_model)
        Darker is further from 0; a number below zero is grey and stands on white.
    columns : sequence of str
        Names of the columns.
    streams : sequence of bool
        Which rows are the row itself; the others are what is added to it, and stand further in.

    Returns
    -------
    Figure
        Eight columns stay readable on a phone.

    Examples
    --------
    >>> type(row_path(["X"], [[1.0, -2.0]], ["a", "b"], [True])).__name__
    'Figure'
    """
    rows = np.asarray(rows, dtype=float)
    n, d = len(places), len(columns)
    if rows.shape != (n, d) or len(streams) != n:
        raise ValueError(
            f"rows must be {(n, d)}, one row a place and one number a column, and streams {n}"
            f" bools, got {rows.shape} and {len(streams)}"
        )
    wide, tall, high = NAMES + d + 2.2, 0.95 * n + 1.9, 0.95
    fig, ax = figure(PHONE_INCHES, PHONE_INCHES * tall / wide)
    fig.subplots_adjust(left=0, right=1, bottom=0, top=1)
    top = max(float(np.abs(rows).max()), 1e-9)
    for c, name in enumerate(columns):
        ax.text(
            NAMES + c + 0.35, -0.12, name, ha="left", va="bottom", color=COLOURS["x"], rotation=35,
            rotation_mode="anchor", fontsize=8.5,
        )  # fmt: skip
    for text, at in (("mean", d + 0.65), ("length", d + 1.65)):
        ax.text(
            NAMES + at - 0.2, -0.12, text, ha="left", va="bottom", color=FAINT, rotation=35,
            rotation_mode="anchor", fontsize=8.5,
        )  # fmt: skip
    for r, (place, row, stream) in enumerate(zip(places, rows, streams, strict=True)):
        y = high * r
        ax.text(
            0.0 if stream else 0.35, y + high / 2, place, ha="left", va="center", fontsize=8.5,
            color=INK if stream else FAINT, weight="bold" if stream else "normal",
        )  # fmt: skip
        for c, value in enumerate(row):
            box = Rectangle((NAMES + c, y + 0.04), 0.96, high - 0.08, lw=0)
            box.set_facecolor(COLOURS["x" if stream else "v"])
            box.set_alpha(0.65 * max(float(value), 0.0) / top)
            ax.add_patch(box)
            text = number(value, 1)
            ax.text(
                NAMES + c + 0.48, y + high / 2, text, ha="center", va="center", fontsize=8,
                color=FAINT if value < 0.05 else INK,
            )  # fmt: skip
        for value, at in ((float(row.mean()), d + 0.65), (float(np.linalg.norm(row)), d + 1.65)):
            ax.text(
                NAMES + at, y + high / 2, number(value, 1), ha="center", va="center", fontsize=8
            )
    ax.plot([NAMES + d + 0.1] * 2, [0, high * n], color=FAINT, lw=0.8)
    ax.set_xlim(0, wide)
    ax.set_ylim(high * n + 0.05, -1.85)
    ax.axis("off")
    return fig


def two_orders(sizes: Mapping[str, int]) -> Figure:
    """Draw a layer post-norm and pre-norm side by side: one line up is the stream.

    Parameters
    ----------
    sizes : mapping of str to int
        ``n``, ``d_model`` and ``d_ff``, written beside the arrays.

    Returns
    -------
    Figure

    Examples
    --------
    >>> type(two_orders({"n": 5, "d_model": 8, "d_ff": 16})).__name__
    'Figure'
    """
    fig, ax = figure(PHONE_INCHES, 6.0)
    fig.subplots_adjust(left=0, right=1, bottom=0, top=1)
    width = f"{sizes['n']} \N{MULTIPLICATION SIGN} {sizes['d_model']}"
    for x, title, order in ((0.0, "post-norm, as printed", "post"), (5.2, "pre-norm", "pre")):
        _order(ax, x, title, order, width, sizes["d_ff"])
    ax.set_xlim(-0.1, 9.9)
    ax.set_ylim(-0.9, 13.2)
    ax.axis("off")
    return fig


def _order(ax: Axes, x: float, title: str, order: str, width: str, d_ff: int) -> None:
    """Draw one layer from the bottom up."""
    stream = x + 1.0
    ax.text(x, 12.9, title, ha="left", va="top", weight="bold", fontsize=10)
    ax.text(stream, -0.25, f"X  {width}", ha="center", va="top", color=COLOURS["x"])
    ax.plot([stream, stream], [0, 10.9], color=COLOURS["x"], lw=2.4, zorder=1)
    y = 0.3
    for part, colour in (("attention", "w"), (f"feed-forward\n({d_ff} wide)", "v")):
        branch = y
        side = x + 3.1
        if order == "pre":
            ax.plot([stream, side, side], [branch, branch, branch + 0.7], color=INK, lw=1, zorder=1)
            _box(ax, side, branch + 0.7, 0.8, "LayerNorm", "q", 1.0)
            ax.plot([side, side], [branch + 1.5, branch + 1.9], color=INK, lw=1, zorder=1)
            bottom = branch + 1.9
        else:
            ax.plot([stream, side, side], [branch, branch, branch + 1.2], color=INK, lw=1, zorder=1)
            bottom = branch + 1.2
        _box(ax, side, bottom, 1.1, part, colour, 1.05)
        add = branch + 3.6
        ax.plot([side, side, stream + 0.3], [bottom + 1.1, add, add], color=INK, lw=1, zorder=1)
        ax.text(
            stream, add, "+", ha="center", va="center", fontsize=12, zorder=3,
            bbox={"boxstyle": "circle,pad=0.15", "fc": "white", "ec": INK, "lw": 1},
        )  # fmt: skip
        y = add + 0.55
        if order == "post":
            _box(ax, stream, y, 0.8, "LayerNorm", "q", 1.0)
            y += 0.8
        y += 0.45
    ax.annotate(
        "", (stream, 11.4), (stream, 10.8), arrowprops={"arrowstyle": "-|>", "color": COLOURS["x"]}
    )
    end = "next layer" if order == "post" else "next layer; after the\nlast, one more LayerNorm"
    ax.text(x, 11.5, end, ha="left", va="bottom", fontsize=9, color=FAINT)


def _box(ax: Axes, x: float, y: float, tall: float, text: str, colour: str, half: float) -> None:
    """Draw one named part."""
    ax.add_patch(
        FancyBboxPatch(
            (x - half, y),
            2 * half,
            tall,
            boxstyle="round,pad=0.02,rounding_size=0.15",
            facecolor="white",
            edgecolor=COLOURS[colour],
            lw=1.3,
            zorder=2,
        )
    )
    ax.text(
        x, y + tall / 2, text, ha="center", va="center", fontsize=9, color=COLOURS[colour], zorder=3
    )


def by_depth(
    layers: ArrayLike,
    curves: Mapping[str, ArrayLike],
    ylabel: str,
    xlabel: str = "layer",
    log: bool = False,
) -> Figure:
    """Draw one curve a name against the layer: the median of the seeds, and all of them behind.

    Parameters
    ----------
    layers : array of shape (n,)
        Numbers of layers, or depths.
    curves : mapping of str to array of shape (n_seeds, n)
        At most four, told apart by their dashes.
    ylabel, xlabel : str
        What the numbers are.
    log : bool
        Whether the numbers stand on a logarithmic axis.

    Returns
    -------
    Figure
        With a legend above the curves.

    Examples
    --------
    >>> type(by_depth([0, 1], {"post": [[8.0, 8.0], [7.9, 8.0]]}, "length")).__name__
    'Figure'
    """
    layers = np.asarray(layers, dtype=float)
    fig, ax = figure(PHONE_INCHES, 3.0)
    colours = [COLOURS[role] for role in ("w", "k", "q", "v")]
    for dash, colour, (name, values) in zip(DASHES, colours, curves.items(), strict=False):
        values = np.asarray(values, dtype=float)
        if values.ndim != 2 or values.shape[1] != len(layers):
            raise ValueError(
                f"'{name}' must be (n_seeds, {len(layers)}), a row a seed and a number a layer, got"
                f" {values.shape}"
            )
        ax.fill_between(
            layers, values.min(axis=0), values.max(axis=0), color=colour, alpha=0.18, lw=0
        )
        ax.plot(layers, np.median(values, axis=0), color=colour, lw=1.8, ls=dash, label=name)
    if log:
        ax.set_yscale("log")
    else:
        ax.set_ylim(bottom=0)
    ax.set_xlabel(xlabel)
    ax.set_ylabel(ylabel)
    ax.set_xticks(layers if len(layers) < 8 else layers[::4])
    ax.legend(
        frameon=False, handlelength=3.2, loc="lower left", bbox_to_anchor=(-0.02, 1.0),
        ncols=2, columnspacing=1.2, borderaxespad=0.1,
    )  # fmt: skip
    return fig
