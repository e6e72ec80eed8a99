"""Pictures for the chapter on two layers: two looks back, training in panels, maps of letters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from qkv.figures.style import COLOURS, FAINT, INK, PHONE_INCHES, Figure, figure

DASHES = ("-", (0, (6, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)))


def two_hops(text: str, first: ArrayLike, second: ArrayLike, row: int, says: str) -> Figure:
    """Draw where one row of layer 2 looks, and where the row it looks at has looked in layer 1.

    Parameters
    ----------
    text : str
        One letter a place.
    first, second : array of shape (n, n)
        Attention weights of a head of layer 1 and of a head of layer 2.
    row : int
        The row of layer 2 that asks.
    says : str
        What that row then says.

    Returns
    -------
    Figure
        The look of layer 2 stands above the letters, that of layer 1 below.

    Examples
    --------
    >>> import numpy as np
    >>> type(two_hops("ABA", np.eye(3), np.eye(3)[[0, 0, 1]], 2, "B")).__name__
    'Figure'
    """
    first, second = np.asarray(first, float), np.asarray(second, float)
    n = len(text)
    if first.shape != (n, n) or second.shape != (n, n) or not 0 <= row < n:
        raise ValueError(
            f"{n} letters need two arrays of weights ({n}, {n}) and a row from 0 to {n - 1},"
            f" got {first.shape}, {second.shape} and row {row}"
        )
    fig, ax = figure(PHONE_INCHES, 2.3)
    fig.subplots_adjust(left=0, right=1, bottom=0, top=1)
    middle = int(second[row].argmax())
    end = int(first[middle].argmax())
    for t, letter in enumerate(text):
        strong = t in (row, middle, end)
        ax.text(
            t, 0, letter, ha="center", va="center", size=13 if strong else 11,
            weight="bold" if strong else "normal", color=INK if strong else FAINT,
        )  # fmt: skip
    _hop(ax, (row, middle), 1, COLOURS["q"], f"layer 2 looks: {second[row, middle]:.2f}")
    _hop(ax, (middle, end), -1, COLOURS["k"], f"layer 1 looked: {first[middle, end]:.2f}")
    ax.annotate(
        f"says {says}", (row + 0.3, 0), (row + 0.9, -1.5), ha="right", va="top", weight="bold",
        color=COLOURS["v"], arrowprops={"arrowstyle": "<-", "color": COLOURS["v"]},
    )  # fmt: skip
    ax.set_xlim(-0.7, n + 0.3)
    ax.set_ylim(-2.5, 2.6)
    ax.axis("off")
    return fig


def _hop(ax: Axes, places: tuple[int, int], side: int, colour: str, words: str) -> None:
    """Draw an arc from the place that looks to the place that is looked at, and say how much."""
    begin, end = places
    bend = side * min(0.45, 1.6 / max(1, abs(begin - end)))
    arrow = {"arrowstyle": "->", "color": colour, "lw": 2, "connectionstyle": f"arc3,rad={bend}"}
    ax.annotate("", (end, 0.42 * side), (begin, 0.42 * side), arrowprops=arrow)
    height = side * (0.75 + 0.5 * abs(bend) * abs(begin - end))
    place = ((begin + end) / 2, height) if abs(begin - end) > 3 else (max(begin, end) - 1.4, height)
    align = "center" if abs(begin - end) > 3 else "left"
    va = "bottom" if side > 0 else "top"
    ax.text(*place, words, ha=align, va=va, color=colour, size=10)


def growing(steps: ArrayLike, panels: Mapping[str, Mapping[str, ArrayLike]]) -> Figure:
    """Draw curves over the steps of training, one panel below the other.

    Parameters
    ----------
    steps : array of shape (n,)
        The steps.
    panels : mapping of str to mapping of str to array of shape (seeds, n)
        What a panel shows, and its curves by name: a thin line a seed, a thick one their mean.

    Returns
    -------
    Figure
        Curves of one panel are told apart by their dashes, and named at the right.

    Examples
    --------
    >>> type(growing([0, 20], {"loss": {"two layers": [[3.0, 0.1], [3.0, 0.2]]}})).__name__
    'Figure'
    """
    steps = np.asarray(steps, float)
    fig, first = figure(PHONE_INCHES, 1.75 * len(panels) + 0.4)
    first.remove()
    axes = fig.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    fig.subplots_adjust(left=0.13, right=0.98, hspace=0.3, bottom=0.45 / (1.75 * len(panels) + 0.4))
    for ax, (name, curves) in zip(axes, panels.items(), strict=True):
        for (label, shares), dashes in zip(curves.items(), DASHES, strict=False):
            runs = np.atleast_2d(np.asarray(shares, float))
            if runs.shape[-1] != len(steps):
                raise ValueError(f"{label!r} needs {len(steps)} numbers a seed, got {runs.shape}")
            colour = COLOURS["w"] if dashes == "-" else INK
            for run in runs:
                ax.plot(steps, run, color=colour, lw=0.8, alpha=0.45)
            ax.plot(steps, runs.mean(axis=0), color=colour, lw=2, ls=dashes, label=label)
        ax.set_title(name, loc="left", fontsize=10)
        ax.spines[["top", "right"]].set_visible(False)
        if len(curves) > 1:
            ax.legend(frameon=False, fontsize=9, handlelength=3)
    axes[-1].set_xlabel("step")
    return fig


def letter_maps(maps: Mapping[str, ArrayLike], letters: str, axes: tuple[str, str]) -> Figure:
    """Draw tables of letters by letters, dark where the number is large in its row.

    Parameters
    ----------
    maps : mapping of str to array of shape (n, n)
        Each row is shifted and scaled to run from 0 to 1, as the softmax does not see a shift.
    letters : str
        The names of the rows and of the columns.
    axes : pair of str
        What a row is, and what a column is.

    Returns
    -------
    Figure
        The tables side by side.

    Examples
    --------
    >>> import numpy as np
    >>> type(letter_maps({"head 1": np.eye(3)}, "ABC", ("seen", "said"))).__name__
    'Figure'
    """
    n = len(letters)
    fig, first = figure(PHONE_INCHES, PHONE_INCHES / len(maps) + 0.35)
    first.remove()
    panels: Sequence[Axes] = fig.subplots(1, len(maps), squeeze=False)[0]
    fig.subplots_adjust(left=0.09, right=0.99, wspace=0.18)
    for ax, (name, table) in zip(panels, maps.items(), strict=True):
        table = np.asarray(table, float)
        if table.shape != (n, n):
            raise ValueError(f"{name!r} needs {n} rows and {n} columns, got {table.shape}")
        low, high = table.min(axis=1, keepdims=True), table.max(axis=1, keepdims=True)
        ax.pcolormesh((table - low) / (high - low), cmap="Purples", vmin=0, vmax=1, rasterized=True)
        ax.set_aspect("equal")
        ax.set_ylim(n, 0)
        every = range(0, n, max(1, n // 6))
        ax.set_xticks([i + 0.5 for i in every], [letters[i] for i in every])
        ax.set_yticks([i + 0.5 for i in every], [letters[i] for i in every])
        ax.tick_params(length=0)
        ax.set_title(name, fontsize=10)
        ax.set_xlabel(axes[1])
    panels[0].set_ylabel(axes[0])
    return fig
