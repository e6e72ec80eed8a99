"""Pictures for the chapter on order: rows that move together, position codes, accuracy by place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from qkv.figures.style import COLOURS, FAINT, INK, PHONE_INCHES, Figure, figure, number

DASHES = ("-", (0, (6, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)), (0, (3, 1)))


def moved_rows(
    before: Sequence[str], outputs: ArrayLike, order: Sequence[int], moved: ArrayLike
) -> Figure:
    """Draw the outputs of a sentence and of the same words in another order, joined by lines.

    Parameters
    ----------
    before : sequence of str
        The words.
    outputs : array of shape (n, d)
        Their outputs; the first three numbers are written.
    order : sequence of int
        Row t of the second sentence is word ``order[t]``.
    moved : array of shape (n, d)
        The outputs of the second sentence.

    Returns
    -------
    Figure
        A line is whole where both rows are equal, and broken where they are not.

    Examples
    --------
    >>> type(moved_rows(["a", "b"], [[1.0], [2.0]], [1, 0], [[2.0], [1.0]])).__name__
    'Figure'
    """
    outputs, moved = np.asarray(outputs, float), np.asarray(moved, float)
    n = len(before)
    if outputs.shape != moved.shape or len(outputs) != n or sorted(order) != list(range(n)):
        raise ValueError(
            f"there are {n} words, so both outputs need {n} rows and order each of 0 to {n - 1}"
            f" once, got {outputs.shape}, {moved.shape} and {list(order)}"
        )
    fig, ax = figure(PHONE_INCHES, 0.42 * n + 0.5)
    fig.subplots_adjust(left=0, right=1, bottom=0, top=1)
    for side, words, rows in (
        (0, before, outputs),
        (1, [before[i] for i in order], moved),
    ):
        x, align = (0.0, "left") if side == 0 else (10.0, "right")
        for t, (word, row) in enumerate(zip(words, rows, strict=True)):
            text = "  ".join(number(value) for value in row[:3])
            ax.text(x, t, word, ha=align, va="center", color=COLOURS["x"], weight="bold")
            at = 1.35 if side == 0 else 8.65
            ax.text(at, t, text, ha=align, va="center", fontsize=9, color=INK)
    for t, i in enumerate(order):
        same = bool(np.allclose(outputs[i], moved[t], rtol=0, atol=1e-9))
        ax.plot([4.0, 6.0], [i, t], color=COLOURS["w"], lw=1.6, ls="-" if same else (0, (2, 3)))
    ax.text(0, -0.8, "as written", ha="left", va="center", fontsize=9, color=FAINT)
    ax.text(10, -0.8, "in another order", ha="right", va="center", fontsize=9, color=FAINT)
    ax.set_xlim(0, 10)
    ax.set_ylim(n - 0.5, -1.1)
    ax.axis("off")
    return fig


def code_map(P: ArrayLike) -> Figure:
    """Draw a position code: a row a place, a column a column, dark where the number is large.

    Parameters
    ----------
    P : array of shape (n, d)
        Numbers between -1 and 1.

    Returns
    -------
    Figure
        A bar at the right says which shade is which number.

    Examples
    --------
    >>> type(code_map([[0.0, 1.0], [0.8, 0.5]])).__name__
    'Figure'
    """
    P = np.asarray(P, float)
    if P.ndim != 2:
        raise ValueError(f"P must have two axes, places and columns, got shape {P.shape}")
    fig, ax = figure(PHONE_INCHES, 3.2)
    mesh = ax.pcolormesh(P, cmap="Purples", vmin=-1, vmax=1, linewidth=0, rasterized=False)
    ax.set_ylim(len(P), 0)
    ax.set_xlabel("column")
    ax.set_ylabel("place t")
    bar = fig.colorbar(mesh, ax=ax, ticks=[-1, 0, 1])
    bar.outline.set_visible(False)  # type: ignore[operator]
    return fig


def against_offset(offsets: ArrayLike, curves: Mapping[str, ArrayLike], ylabel: str) -> Figure:
    """Draw one curve a name against the offset between two places.

    Parameters
    ----------
    offsets : array of shape (n,)
        In rising order.
    curves : mapping of str to array of shape (n,)
        Told apart by their dashes.
    ylabel : str
        What the numbers are.

    Returns
    -------
    Figure
        With a legend above the curves.

    Examples
    --------
    >>> type(against_offset([-1, 0, 1], {"d = 4": [1.5, 2.0, 1.5]}, "dot product")).__name__
    'Figure'
    """
    offsets = np.asarray(offsets, float)
    if any(np.shape(values) != offsets.shape for values in curves.values()):
        raise ValueError(
            f"each curve needs {len(offsets)} numbers, one an offset, got"
            f" {[np.shape(values) for values in curves.values()]}"
        )
    fig, ax = figure(PHONE_INCHES, 2.6)
    for dash, (name, values) in zip(DASHES, curves.items(), strict=False):
        ax.plot(offsets, values, color=COLOURS["w"], lw=1.6, ls=dash, label=name)
    ax.axhline(0, color=FAINT, lw=0.6)
    ax.set_xlabel("offset: place of the key minus place of the query")
    ax.set_ylabel(ylabel)
    ax.legend(
        frameon=False, handlelength=3.2, loc="lower left", bbox_to_anchor=(-0.02, 1.0), ncols=2
    )
    return fig


def by_place(
    places: ArrayLike, shares: Mapping[str, ArrayLike], trained: int, chance: float
) -> Figure:
    """Draw the share of right answers by place, a panel a name, one thin line a seed.

    Parameters
    ----------
    places : array of shape (n,)
        The middle of each bin of places.
    shares : mapping of str to array of shape (n_seeds, n)
        Between 0 and 1.
    trained : int
        Training texts had so many places; a line stands there.
    chance : float
        What guessing gives.

    Returns
    -------
    Figure
        The mean of the seeds is drawn thick.

    Examples
    --------
    >>> type(by_place([2, 6], {"none": [[1.0, 0.5], [0.9, 0.4]]}, 4, 0.1)).__name__
    'Figure'
    """
    places = np.asarray(places, float)
    drawn = {name: np.asarray(rows, float) for name, rows in shares.items()}
    if any(rows.ndim != 2 or rows.shape[1] != len(places) for rows in drawn.values()):
        raise ValueError(
            f"each name needs (seeds, {len(places)}) numbers, one a bin, got"
            f" {[rows.shape for rows in drawn.values()]}"
        )
    fig, first = figure(PHONE_INCHES, 0.95 * len(drawn) + 0.5)
    first.remove()
    for i, (name, rows) in enumerate(drawn.items()):
        ax = fig.add_subplot(len(drawn), 1, i + 1)
        ax.spines[["top", "right"]].set_visible(False)
        for row in rows:
            ax.plot(places, row, color=COLOURS["w"], lw=0.6, alpha=0.45)
        ax.plot(places, rows.mean(axis=0), color=COLOURS["w"], lw=2)
        ax.axvline(trained, color=INK, lw=0.9, ls=(0, (4, 3)))
        ax.axhline(chance, color=FAINT, lw=0.6)
        ax.set_ylim(0, 1.05)
        ax.set_yticks([0, 1], ["0 %", "100 %"], fontsize=8.5)
        ax.set_xticks(range(0, 65, 16))
        if i < len(drawn) - 1:
            ax.set_xticklabels([])
        else:
            ax.set_xlabel("place; trained left of the broken line")
        ax.text(places[-1], 1.0, name, ha="right", va="top", fontsize=9.5, color=INK)
    fig.subplots_adjust(left=0.14, right=0.99, top=0.98, bottom=0.12, hspace=0.28)
    return fig
