"""Pictures for the chapter on explanation: what each method says of each token, and how often."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from qkv.figures.style import COLOURS, FAINT, INK, PHONE_INCHES, Figure, figure

_BAR: dict[str, Any] = {"align": "center", "width": 0.66, "lw": 1.2}


def token_bars(
    tokens: Sequence[str], scores: Mapping[str, ArrayLike], relevant: ArrayLike
) -> Figure:
    """Draw one row of bars a method, one bar a token; filled where the token matters.

    Parameters
    ----------
    tokens : sequence of str
        The tokens, from left to right.
    scores : mapping of str to array of shape (n,)
        What each method says. Each row is scaled by its own largest size.
    relevant : bool array, shape (n,)
        Which tokens matter by the rule: their bars are filled, and they are marked below.

    Returns
    -------
    Figure
        The methods one below the other.

    Examples
    --------
    >>> type(token_bars(["A3", "*"], {"weights": [0.9, 0.1]}, [True, False])).__name__
    'Figure'
    """
    relevant = np.asarray(relevant, bool)
    n = len(tokens)
    fig, first = figure(PHONE_INCHES, 0.72 * len(scores) + 0.5)
    first.remove()
    axes: list[Axes] = list(fig.subplots(len(scores), 1, sharex=True, squeeze=False)[:, 0])
    fig.subplots_adjust(left=0.02, right=0.98, top=0.94, bottom=0.42 / (0.72 * len(scores) + 0.5))
    fig.subplots_adjust(hspace=0.75)
    for ax, (name, row) in zip(axes, scores.items(), strict=True):
        row = np.asarray(row, float)
        if row.shape != (n,) or relevant.shape != (n,):
            raise ValueError(f"{name!r} needs {n} numbers and {n} truths, got {row.shape}")
        row = np.maximum(row, 0) / max(np.abs(row).max(), 1e-12)
        colours = [COLOURS["w"] if r else "none" for r in relevant]
        ax.bar(range(n), row, color=colours, edgecolor=COLOURS["w"], **_BAR)
        ax.set_ylim(0, 1.05)
        ax.set_yticks([])
        ax.spines[["left", "top", "right"]].set_visible(False)
        ax.tick_params(axis="x", length=0)
        ax.set_title(name, loc="left", fontsize=10, pad=2)
    axes[-1].set_xticks(range(n), tokens)
    for label, matters in zip(axes[-1].get_xticklabels(), relevant, strict=True):
        label.set_fontweight("bold" if matters else "normal")
        label.set_color(INK if matters else FAINT)
    axes[-1].set_xlim(-0.6, n - 0.4)
    for place in np.flatnonzero(relevant):
        axes[-1].annotate(
            "▲", (place, 0), (0, -27), textcoords="offset points", ha="center", size=8
        )
    return fig


def agreement_dots(
    found: Mapping[str, Mapping[str, ArrayLike]], chance: float, xlabel: str
) -> Figure:
    """Draw how well each method agrees with the truth: a dot a seed, a bar at their mean.

    Parameters
    ----------
    found : mapping of str to mapping of str to array of shape (seeds,)
        For each kind of question, each method's agreement, 0 to 1. One panel a kind.
    chance : float
        What scores without a meaning reach: a dashed line.
    xlabel : str
        What is measured.

    Returns
    -------
    Figure
        The panels one below the other, a method a line, the mean at the right.

    Examples
    --------
    >>> type(agreement_dots({"count": {"weights": [0.4, 0.6]}}, 0.5, "agreement")).__name__
    'Figure'
    """
    lines = [len(methods) for methods in found.values()]
    height = 0.27 * sum(lines) + 0.42 * len(lines) + 0.3
    fig, first = figure(PHONE_INCHES, height)
    first.remove()
    grid = fig.subplots(
        len(found), 1, sharex=True, squeeze=False, gridspec_kw={"height_ratios": lines}
    )
    axes: list[Axes] = list(grid[:, 0])
    fig.subplots_adjust(left=0.34, right=0.9, top=1 - 0.28 / height, bottom=0.5 / height)
    fig.subplots_adjust(hspace=0.42 * len(lines) / (0.27 * sum(lines)))
    for ax, (kind, methods) in zip(axes, found.items(), strict=True):
        for i, (name, seeds) in enumerate(methods.items()):
            values = np.asarray(seeds, float)
            if not ((values >= 0) & (values <= 1)).all():
                raise ValueError(f"{name!r} must lie between 0 and 1, got {values}")
            ax.barh(i, values.mean(), height=0.6, color=COLOURS["w"], alpha=0.22, lw=0)
            spread = i + np.linspace(-0.16, 0.16, len(values))
            ax.plot(values, spread, ".", color=COLOURS["w"], ms=5, mew=0)
            ax.text(1.04, i, f"{values.mean():.2f}", va="center")
        ax.axvline(chance, color=FAINT, lw=1.2, ls=(0, (4, 3)))
        ax.set_yticks(range(len(methods)), list(methods))
        ax.set_ylim(len(methods) - 0.5, -0.5)
        ax.set_xlim(0, 1.03)
        ax.set_title(kind, loc="left", fontsize=10, pad=3)
        ax.tick_params(axis="y", length=0)
        ax.spines[["left", "top", "right"]].set_visible(False)
    axes[-1].set_xlabel(xlabel)
    return fig


def row_pair(tokens: Sequence[str], rows: Mapping[str, ArrayLike]) -> Figure:
    """Draw two rows of weights on one scale, side by side for each token.

    Parameters
    ----------
    tokens : sequence of str
        The tokens, from left to right.
    rows : mapping of str to array of shape (n,)
        Two rows: the first is filled, the second is hatched.

    Returns
    -------
    Figure
        One pair of bars a token.

    Examples
    --------
    >>> type(row_pair(["A3", "*"], {"its own": [0.9, 0.1], "others": [0.5, 0.5]})).__name__
    'Figure'
    """
    n = len(tokens)
    fig, ax = figure(PHONE_INCHES, 1.9)
    fig.subplots_adjust(left=0.1, right=0.99, top=0.82, bottom=0.16)
    looks: tuple[dict[str, Any], ...] = (
        {"color": COLOURS["w"]},
        {"color": "none", "hatch": "////", "ec": COLOURS["k"]},
    )
    if len(rows) != len(looks):
        raise ValueError(f"a pair is two rows, got {len(rows)}")
    for i, (name, row) in enumerate(rows.items()):
        row = np.asarray(row, float)
        if row.shape != (n,):
            raise ValueError(f"{name!r} needs {n} numbers, got {row.shape}")
        ax.bar(np.arange(n) + 0.4 * i - 0.2, row, width=0.36, label=name, **looks[i])
    ax.set_xticks(range(n), tokens)
    ax.tick_params(axis="x", length=0)
    ax.set_ylim(0, 1)
    ax.set_yticks([0, 0.5, 1])
    fig.legend(loc="upper left", ncols=2, frameon=False, fontsize=10, bbox_to_anchor=(0.08, 1.02))
    return fig
