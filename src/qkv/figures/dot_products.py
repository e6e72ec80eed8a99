"""Pictures for the chapter on dot products: a table of numbers, two vectors, a row of lengths."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.patches import FancyArrowPatch, Rectangle
from numpy.typing import ArrayLike

from qkv.figures.style import COLOURS, FAINT, INK, PHONE_INCHES, Figure, figure, number


def heat_map(
    values: ArrayLike,
    rows: Sequence[str],
    columns: Sequence[str],
    role: str = "w",
    caption: tuple[str, str] | None = None,
) -> Figure:
    """Draw a table of numbers, darker where the number is larger; a frame marks each row's largest.

    Parameters
    ----------
    values : array of shape (n_rows, n_columns)
        The numbers, written out with two digits.
    rows, columns : sequence of str
        Their names.
    role : {"q", "k", "v", "w", "x"}
        Whose colour: scores and weights are "w".
    caption : tuple of str, optional
        What the rows and what the columns are.

    Returns
    -------
    Figure
        At most 7 columns stay readable on a phone.

    Examples
    --------
    >>> type(heat_map([[1.0, 0.5, 0.0], [0.2, 0.9, 0.1]], ["a", "b"], ["c", "d", "e"])).__name__
    'Figure'
    """
    values = np.asarray(values, dtype=float)
    if values.shape != (len(rows), len(columns)):
        raise ValueError(
            f"values must be {(len(rows), len(columns))}, one row a name in rows and one column"
            f" a name in columns, got {values.shape}"
        )
    n_rows, n_columns = values.shape
    fig, ax = figure(PHONE_INCHES, PHONE_INCHES * (0.46 * n_rows + 1.2) / (n_columns + 1.2))
    fig.subplots_adjust(left=0, right=1, bottom=0, top=1)
    top = max(float(values.max()), 1e-9)
    for (r, c), value in np.ndenumerate(values):
        shade = 0.6 * max(value, 0.0) / top
        ax.add_patch(Rectangle((c, r), 1, 1, facecolor=COLOURS[role], alpha=shade, lw=0))
        best = value == values[r].max()
        weight = "bold" if best else "normal"
        ax.text(c + 0.5, r + 0.5, number(value), ha="center", va="center", fontweight=weight)
        if best:
            ax.add_patch(Rectangle((c + 0.04, r + 0.06), 0.92, 0.88, fill=False, ec=INK, lw=1.6))
    ax.add_patch(Rectangle((0, 0), n_columns, n_rows, fill=False, ec=FAINT, lw=0.8))
    for r, name in enumerate(rows):
        ax.text(-0.12, r + 0.5, name, ha="right", va="center")
    for c, name in enumerate(columns):
        ax.text(c + 0.5, -0.18, name, ha="center", va="bottom")
    if caption:
        ax.text(0, n_rows + 0.25, caption[0], ha="left", va="top", fontsize=9, color=FAINT)
        ax.text(0, -0.85, caption[1], ha="left", va="bottom", fontsize=9, color=FAINT)
    ax.set_xlim(-1.15, n_columns)
    ax.set_ylim(n_rows + (0.75 if caption else 0.05), -1.4 if caption else -0.7)
    ax.axis("off")
    return fig


def vectors_in_plane(x: ArrayLike, y: ArrayLike, names: tuple[str, str] = ("x", "y")) -> Figure:
    """Draw two vectors of any length in the one plane that holds both, with the shadow of y on x.

    Lengths and angle are true: the plane is turned so that `x` lies along the horizontal axis.

    Parameters
    ----------
    x, y : array of shape (d,)
        Two vectors; neither may be zero.
    names : tuple of str
        What to write at their tips.

    Returns
    -------
    Figure
        `x` in the colour of queries, `y` in that of keys, the shadow as a thick purple line.

    Examples
    --------
    >>> type(vectors_in_plane([3.0, 1.0], [2.0, 4.0])).__name__
    'Figure'
    """
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if x.ndim != 1 or x.shape != y.shape:
        raise ValueError(f"x and y must be two vectors of one size, got {x.shape} and {y.shape}")
    length = float(np.linalg.norm(x))
    if length == 0.0 or not y.any():
        raise ValueError("a vector of length 0 has no direction to draw")
    along = float(x @ y) / length
    across = math.sqrt(max(float(y @ y) - along**2, 0.0))

    left, right = min(0.0, along), max(length, along)
    unit = max(right - left, across)
    margin = 0.16 * unit
    width, height = right - left + 2.6 * margin, across + 2.6 * margin
    fig, ax = figure(PHONE_INCHES, min(PHONE_INCHES * height / width, 3.6))
    fig.subplots_adjust(left=0, right=1, bottom=0, top=1)
    ax.plot([0, along], [0, 0], color=COLOURS["w"], lw=6, alpha=0.45, solid_capstyle="butt")
    ax.plot([along, along], [0, across], color=FAINT, lw=1.2, ls=(0, (4, 3)))
    corner = 0.05 * unit
    side = -math.copysign(corner, along)
    if across > 3 * corner and abs(along) > 2 * corner:
        ax.plot([along + side, along + side, along], [0, corner, corner], color=FAINT, lw=1.0)
    for tip, role in (((length, 0.0), "q"), ((along, across), "k")):
        arrow = FancyArrowPatch((0, 0), tip, arrowstyle="-|>", mutation_scale=16, lw=2.2,
                                shrinkA=0, shrinkB=0, color=COLOURS[role])  # fmt: skip
        ax.add_patch(arrow)
    below = -0.35 * margin
    ax.text(length, below, f"{names[0]}\nlength {number(length)}", ha="right", va="top",
            color=COLOURS["q"])  # fmt: skip
    ax.text(along, across + 0.2 * margin, f"{names[1]}, length {number(float(np.linalg.norm(y)))}",
            ha="center" if left < along < 0.8 * length else ("left" if along <= left else "right"),
            va="bottom", color=COLOURS["k"])  # fmt: skip
    shadow = f"shadow\n{number(along)}"
    ax.text(min(along / 2, 0.32 * length), below, shadow, ha="center", va="top", color=COLOURS["w"])
    angle = math.degrees(math.atan2(across, along))
    ax.text(0.12 * unit * math.cos(math.radians(angle / 2)) + 0.02 * unit,
            0.12 * unit * math.sin(math.radians(angle / 2)), f"{angle:.0f}°",
            ha="left", va="center", fontsize=9)  # fmt: skip
    ax.set_xlim(left - 0.9 * margin, right + 0.9 * margin)
    ax.set_ylim(-1.6 * margin, across + margin)
    ax.set_aspect("equal")
    ax.axis("off")
    return fig


def lengths(
    words: Sequence[str], values: ArrayLike, quiet: Sequence[str] = (), xlabel: str = "length"
) -> Figure:
    """Draw one bar a word, its number at the end; the words in `quiet` are hatched.

    Parameters
    ----------
    words : sequence of str
        What to write at the bars, the first on top.
    values : array of shape (n_words,)
        The lengths.
    quiet : sequence of str
        The words to set apart.
    xlabel : str
        What the bars show.

    Returns
    -------
    Figure
        One line a word.

    Examples
    --------
    >>> type(lengths(["the", "cat"], [0.93, 1.37], quiet=["the"])).__name__
    'Figure'
    """
    values = np.asarray(values, dtype=float)
    if values.shape != (len(words),):
        raise ValueError(f"values must be ({len(words)},), one a word, got {values.shape}")
    fig, ax = figure(PHONE_INCHES, 0.26 * len(words) + 0.5)
    for i, (word, value) in enumerate(zip(words, values, strict=True)):
        set_apart = word in quiet
        ax.barh(i, value, height=0.72, color=COLOURS["x"] if not set_apart else "none",
                alpha=0.75 if not set_apart else 1.0, edgecolor=COLOURS["x"],
                hatch="////" if set_apart else None, lw=1.0)  # fmt: skip
        ax.text(value + 0.02 * values.max(), i, number(value), va="center")
    ax.set_yticks(range(len(words)), words)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.set_xlim(0, 1.14 * values.max())
    ax.set_ylim(len(words) - 0.4, -0.6)
    ax.set_xlabel(xlabel)
    return fig
