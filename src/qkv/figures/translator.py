"""Pictures for the translator: what a head looked at and the truth, heads scored, seeds shown."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from qkv.figures.style import COLOURS, FAINT, INK, PHONE_INCHES, Figure, figure


def alignment_map(
    weights: ArrayLike,
    rows: Sequence[str],
    columns: Sequence[str],
    partners: Collection[tuple[int, int]] = (),
) -> Figure:
    """Draw attention weights as squares, and a frame where the truth is.

    Parameters
    ----------
    weights : array of shape (n_q, n_k)
        Between 0 and 1; the area of a square is the weight.
    rows, columns : sequence of str
        The words that ask, from above, and the words that are looked at.
    partners : collection of (int, int)
        Places (row, column) that belong together.

    Returns
    -------
    Figure

    Examples
    --------
    >>> type(alignment_map([[0.9, 0.1]], ["vier"], ["four", "and"], {(0, 0)})).__name__
    'Figure'
    """
    weights = np.asarray(weights, float)
    if weights.shape != (len(rows), len(columns)):
        raise ValueError(
            f"weights must be ({len(rows)}, {len(columns)}), a row a word that asks, got"
            f" {weights.shape}"
        )
    fig, ax = figure(PHONE_INCHES, 0.9 + 0.27 * len(rows))
    for (t, s), weight in np.ndenumerate(weights):
        side = 0.92 * np.sqrt(weight)
        corner = (s - side / 2, t - side / 2)
        ax.add_patch(Rectangle(corner, side, side, color=COLOURS["w"], lw=0, gid=f"w{t}-{s}"))
    for t, s in sorted(partners):
        ax.add_patch(Rectangle((s - 0.5, t - 0.5), 1, 1, fill=False, ec=INK, lw=1.3))
    ax.set_xlim(-0.6, len(columns) - 0.4)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_aspect("equal")
    ax.set_xticks(range(len(columns)), columns, rotation=55, ha="left", rotation_mode="anchor")
    ax.set_yticks(range(len(rows)), rows)
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)
    return fig


def head_scores(
    names: Sequence[str], scores: Mapping[str, ArrayLike], levels: Mapping[str, float]
) -> Figure:
    """Draw two scores a head as bars side by side, and baselines as lines.

    Parameters
    ----------
    names : sequence of str
        One a head.
    scores : mapping of str to array of shape (n_heads,)
        Two, between 0 and 1; the first is filled, the second hatched.
    levels : mapping of str to float
        Lines across, with their names at the right.

    Returns
    -------
    Figure

    Examples
    --------
    >>> fig = head_scores(["1.1"], {"predicts": [0.8], "reads": [0.1]}, {"random": 0.1})
    >>> len(fig.axes[0].patches)
    2
    """
    if any(len(np.ravel(values)) != len(names) for values in scores.values()):
        raise ValueError(f"each score needs {len(names)} numbers, one a head")
    fig, ax = figure(PHONE_INCHES, 2.9)
    places = np.arange(len(names))
    looks: tuple[dict[str, Any], ...] = (
        {"color": COLOURS["w"]},
        {"color": "none", "ec": COLOURS["w"], "hatch": "////"},
    )
    for i, ((name, values), look) in enumerate(zip(scores.items(), looks, strict=True)):
        ax.bar(places + 0.4 * i - 0.2, values, 0.38, label=name, **look)
    for name, level in levels.items():
        ax.axhline(level, color=INK, lw=0.9, ls=(0, (5, 3)))
        ax.text(len(names) - 0.4, level, f" {name}", va="center", fontsize=9, color=FAINT)
    ax.set_xticks(places, names)
    ax.set_ylim(0, 1)
    ax.set_ylabel("words aligned with a partner")
    ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(-0.02, 1.0), ncols=2)
    return fig


def seeds_in_rows(values: Mapping[str, ArrayLike], xlabel: str) -> Figure:
    """Draw a row for each setting and a dot for each seed, from 0 to 1.

    Parameters
    ----------
    values : mapping of str to array of shape (n_seeds,)
        By the name of the setting; the first is on top.
    xlabel : str
        What the numbers are.

    Returns
    -------
    Figure
        With the mean written at the right of each row.

    Examples
    --------
    >>> fig = seeds_in_rows({"all": [0.99, 1.0], "uniform": [0.2, 0.3]}, "exact")
    >>> [text.get_text() for text in fig.axes[0].texts]
    ['99.5', '25.0']
    """
    fig, ax = figure(PHONE_INCHES, 0.6 + 0.3 * len(values))
    for row, shares in enumerate(values.values()):
        shares = np.asarray(shares, float)
        ax.plot(shares, np.full(len(shares), row), "o", color=COLOURS["w"], ms=5, mfc="none")
        ax.text(1.04, row, f"{100 * shares.mean():.1f}", va="center", ha="left", fontsize=9)
    ax.set_yticks(range(len(values)), list(values))
    ax.set_ylim(len(values) - 0.5, -0.5)
    ax.set_xlim(-0.02, 1.02)
    ax.set_xlabel(xlabel)
    ax.xaxis.set_major_formatter(lambda x, _: f"{100 * x:.0f}")
    ax.grid(axis="x", color=FAINT, alpha=0.3, lw=0.6)
    return fig
