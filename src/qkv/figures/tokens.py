"""Pictures for the chapter on tokens: from a sentence through a table to X, and X with names."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from qkv.figures.style import COLOURS, FAINT, INK, PHONE_INCHES, Figure, figure, number

TALL = 0.3  # inches a row
COLUMN = 0.72  # width of a number; the whole picture is about 7 wide


def token_rows(
    tokens: Sequence[str], ids: ArrayLike, X: ArrayLike, n_vocabulary: int | None = None
) -> Figure:
    """Draw the way of each token to its row of the table, and on to its row of X.

    Parameters
    ----------
    tokens : sequence of str
        The sentence, one token each.
    ids : int array of shape (n,)
        Their ids.
    X : array of shape (n, d_model)
        Their rows, written out with two digits.
    n_vocabulary : int, optional
        The number of rows of the table, named in its heading.

    Returns
    -------
    Figure
        At most 5 columns stay readable on a phone.

    Examples
    --------
    >>> type(token_rows(["the", "cat", "the"], [7, 3, 7], [[1, 2], [0, 1], [1, 2]])).__name__
    'Figure'
    """
    ids, X = np.asarray(ids, dtype=int), np.asarray(X, dtype=float)
    n = len(tokens)
    if ids.shape != (n,) or X.ndim != 2 or len(X) != n:
        raise ValueError(
            f"there must be one id and one row of X for each of the {n} tokens, got ids"
            f" {ids.shape} and X {X.shape}"
        )
    rows = np.unique(ids)
    fig, ax = figure(PHONE_INCHES, TALL * (n + 2.2))
    fig.subplots_adjust(left=0, right=1, bottom=0, top=1)
    token_x, table_x, table_wide, X_x = 1.2, 1.75, 1.15, 3.4
    end = X_x + COLUMN * X.shape[1]
    table_y = {int(i): (r + 0.5) * n / len(rows) for r, i in enumerate(rows)}
    for i, y in table_y.items():
        _box(ax, table_x, y, table_wide, f"row {i:,}".replace(",", "\N{THIN SPACE}"))
    for t, token in enumerate(tokens):
        y, row_y = t + 0.5, table_y[int(ids[t])]
        twice = int((ids == ids[t]).sum()) > 1
        style, wide = ("-", 2.0) if twice else ("--", 0.9)
        ax.text(token_x - 0.08, y, token, ha="right", va="center")
        for xs, ys in [((token_x, table_x), (y, row_y)), ((table_x + table_wide, X_x), (row_y, y))]:
            ax.plot(xs, ys, linestyle=style, lw=wide, color=COLOURS["x"])
        ax.add_patch(Rectangle((X_x, t + 0.06), end - X_x, 0.88, facecolor=INK, alpha=0.07, lw=0))
        for c, value in enumerate(X[t]):
            at = X_x + COLUMN * (c + 0.5)
            ax.text(at, y, number(value), ha="center", va="center", fontsize=8.5)
    table = "table E" if n_vocabulary is None else f"E: {n_vocabulary:,} rows"
    for x, text, side in [
        (token_x, "tokens", "right"),
        (table_x + table_wide / 2, table.replace(",", "\N{THIN SPACE}"), "center"),
        ((X_x + end) / 2, f"X: {n} rows", "center"),
    ]:
        ax.text(x, -0.25, text, ha=side, va="bottom", fontweight="bold")
    below = "thick lines: one row of the table, used twice"
    if len(rows) < n:
        ax.text(0, n + 0.35, below, ha="left", va="top", fontsize=9, color=FAINT)
    ax.set_xlim(0, end + 0.05)
    ax.set_ylim(n + (0.95 if len(rows) < n else 0.1), -1.0)
    ax.axis("off")
    return fig


def _box(ax: Axes, x: float, y: float, wide: float, text: str) -> None:
    """Draw one row of the table, with its number."""
    ax.add_patch(Rectangle((x, y - 0.38), wide, 0.76, fill=False, ec=COLOURS["x"], lw=1))
    ax.text(x + wide / 2, y, text, ha="center", va="center", fontsize=8.5)


def named_rows(X: ArrayLike, tokens: Sequence[str], columns: Sequence[str]) -> Figure:
    """Draw an array with its tokens and the names of its columns; zeros are dots.

    Parameters
    ----------
    X : array of shape (n, d_model)
        Small whole numbers.
    tokens, columns : sequence of str
        The names of rows and columns.

    Returns
    -------
    Figure
        At most 8 columns stay readable on a phone.

    Examples
    --------
    >>> type(named_rows([[1, 0, 2]], ["cat"], ["who", "thing", "small"])).__name__
    'Figure'
    """
    X = np.asarray(X, dtype=float)
    if X.shape != (len(tokens), len(columns)):
        raise ValueError(
            f"X must be {(len(tokens), len(columns))}, a row a token and a column a name, got"
            f" {X.shape}"
        )
    names = 1.5
    fig, ax = figure(PHONE_INCHES, TALL * (len(tokens) + 2.4))
    fig.subplots_adjust(left=0, right=1, bottom=0, top=1)
    for t, token in enumerate(tokens):
        ax.text(names - 0.15, t + 0.5, token, ha="right", va="center", color=COLOURS["x"])
        for c, value in enumerate(X[t]):
            if value:
                ax.add_patch(
                    Rectangle((names + c, t), 1, 1, facecolor=COLOURS["x"], alpha=0.25, lw=0)
                )
            text, colour = (f"{value:g}", INK) if value else ("·", FAINT)
            ax.text(names + c + 0.5, t + 0.5, text, ha="center", va="center", color=colour)
    n, wide = len(tokens), len(columns)
    ax.add_patch(Rectangle((names, 0), wide, n, fill=False, ec=FAINT, lw=0.8))
    for c, name in enumerate(columns):
        ax.text(
            names + c + 0.35, -0.15, name, ha="left", va="bottom", rotation=35,
            rotation_mode="anchor", fontsize=9.5,
        )  # fmt: skip
    ax.set_xlim(0, names + wide + 0.5)
    ax.set_ylim(n + 0.1, -2.2)
    ax.axis("off")
    return fig
