"""Pictures for the chapter on a real model: who looks where, head by head and layer by layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from qkv.figures.style import COLOURS, FAINT, INK, PHONE_INCHES, Figure, figure

FAINTEST = 0.04  # a weight below it is drawn by no line


def head_lines(weights: ArrayLike, tokens: Sequence[str], titles: Sequence[str]) -> Figure:
    """Draw some heads side by side: queries at the left, keys at the right, lines by weight.

    Parameters
    ----------
    weights : array of shape (n_heads, n, n)
        Attention weights, queries in rows; a line below 0.04 is left out.
    tokens : sequence of str
        The names of queries and keys.
    titles : sequence of str
        One a head, above it; may have two lines.

    Returns
    -------
    Figure
        Three heads stay readable on a phone.

    Examples
    --------
    >>> type(head_lines(np.eye(2)[None], ["a", "b"], ["itself"])).__name__
    'Figure'
    """
    weights = np.asarray(weights, dtype=float)
    n_heads, n = len(titles), len(tokens)
    if weights.shape != (n_heads, n, n):
        raise ValueError(
            f"weights must be {(n_heads, n, n)}, one table a title, got {weights.shape}"
        )
    fig, ax = figure(PHONE_INCHES, 0.26 * n + 0.55)
    fig.subplots_adjust(left=0, right=1, bottom=0, top=1)
    for i in range(n_heads):
        left, right = i + 0.36, i + 0.64
        ax.text(i + 0.5, -1.0, titles[i], ha="center", va="bottom", color=INK, fontsize=9.5)
        for (t, j), weight in np.ndenumerate(weights[i]):
            if weight >= FAINTEST:
                ax.plot(
                    [left, right], [t, j], color=COLOURS["w"], lw=4 * weight,
                    alpha=0.25 + 0.6 * weight, solid_capstyle="round",
                )  # fmt: skip
        for t, token in enumerate(tokens):
            ax.text(left - 0.02, t, token, ha="right", va="center", color=COLOURS["q"], fontsize=9)
            ax.text(right + 0.02, t, token, ha="left", va="center", color=COLOURS["k"], fontsize=9)
    ax.set_xlim(0, n_heads)
    ax.set_ylim(n - 0.4, -2.3)
    ax.axis("off")
    return fig


def head_grids(grids: Mapping[str, ArrayLike]) -> Figure:
    """Draw one number for every head of a model, in per cent, a table of layers and heads a name.

    Parameters
    ----------
    grids : mapping of str to array of shape (n_layers, n_heads)
        Shares between 0 and 1; darker where larger. All of one shape.

    Returns
    -------
    Figure
        The tables stand one above the other.

    Examples
    --------
    >>> type(head_grids({"previous": [[0.1, 0.9], [0.2, 0.3]]})).__name__
    'Figure'
    """
    drawn = {name: np.asarray(grid, dtype=float) for name, grid in grids.items()}
    shapes = {grid.shape for grid in drawn.values()}
    if len(shapes) != 1 or len(next(iter(shapes))) != 2:
        raise ValueError(f"the grids must have one shape (layers, heads), got {sorted(shapes)}")
    n_layers, n_heads = next(iter(shapes))
    names, gap = 1.7, 2.6
    tall = len(drawn) * (n_layers * 0.8 + gap)
    fig, ax = figure(PHONE_INCHES, PHONE_INCHES * tall / (n_heads + names))
    fig.subplots_adjust(left=0, right=1, bottom=0, top=1)
    for i, (name, grid) in enumerate(drawn.items()):
        top = i * (n_layers * 0.8 + gap) + gap - 0.4
        ax.text(0, top - 1.0, name, ha="left", va="bottom", color=INK, fontsize=10.5)
        for head in range(n_heads):
            ax.text(
                names + head + 0.5, top - 0.1, str(head), ha="center", va="bottom",
                color=FAINT, fontsize=9,
            )  # fmt: skip
        ax.text(names - 0.25, top - 0.1, "head", ha="right", va="bottom", color=FAINT, fontsize=9)
        for (layer, head), share in np.ndenumerate(grid):
            y = top + 0.8 * layer
            ax.add_patch(
                Rectangle(
                    (names + head, y), 1, 0.8, facecolor=COLOURS["w"], alpha=0.7 * share, lw=0
                )
            )
            percent = f"{100 * share:.0f}" if share >= 0.005 else "·"
            ax.text(names + head + 0.5, y + 0.42, percent, ha="center", va="center", fontsize=9.5)
        for layer in range(n_layers):
            ax.text(
                names - 0.25, top + 0.8 * layer + 0.42, str(layer) if layer else "layer 0",
                ha="right", va="center", color=FAINT, fontsize=9,
            )  # fmt: skip
        ax.add_patch(Rectangle((names, top), n_heads, 0.8 * n_layers, fill=False, ec=FAINT, lw=0.8))
    ax.set_xlim(0, n_heads + names)
    ax.set_ylim(tall, 0)
    ax.axis("off")
    return fig


def shares_by_layer(shares: Mapping[str, ArrayLike], uniform: float, ylabel: str) -> Figure:
    """Draw a share for every head by layer, the mean of a layer thick.

    Parameters
    ----------
    shares : mapping of str to array of shape (n_layers, n_heads)
        At most two, drawn as filled and as open dots.
    uniform : float
        What equal weights give; a broken line stands there.
    ylabel : str
        What the numbers are.

    Returns
    -------
    Figure
        With a legend above.

    Examples
    --------
    >>> type(shares_by_layer({"weight": [[0.1, 0.9]]}, 0.2, "share")).__name__
    'Figure'
    """
    drawn = {name: np.asarray(rows, dtype=float) for name, rows in shares.items()}
    if any(rows.ndim != 2 for rows in drawn.values()) or len(drawn) > 2:
        raise ValueError(
            "at most two arrays of shape (layers, heads) can be told apart, got"
            f" {[rows.shape for rows in drawn.values()]}"
        )
    fig, ax = figure(PHONE_INCHES, 2.5)
    styles = ((COLOURS["w"], "o", "-", COLOURS["w"]), (COLOURS["v"], "s", (0, (6, 2)), "none"))
    for i, (name, rows) in enumerate(drawn.items()):
        colour, marker, dash, face = styles[i]
        layers = np.arange(len(rows)) + 0.16 * (i - 0.5) * (len(drawn) - 1)
        for head in rows.T:
            ax.plot(layers, head, marker, color=colour, mfc=face, ms=3.5, lw=0, alpha=0.7)
        ax.plot(layers, rows.mean(axis=1), color=colour, ls=dash, lw=2, label=name)
    ax.axhline(uniform, color=INK, lw=0.9, ls=(0, (4, 3)), label="equal weights")
    ax.set_ylim(0, 1)
    ax.set_yticks([0, 0.5, 1], ["0 %", "50 %", "100 %"])
    ax.set_xlabel("layer; one dot a head, the line is their mean")
    ax.set_ylabel(ylabel)
    ax.legend(frameon=False, handlelength=3, loc="lower left", bbox_to_anchor=(-0.16, 1.0), ncols=1)
    return fig
