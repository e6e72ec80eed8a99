"""Pictures for the chapter "Why three?": what was learned, beside what was foretold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from qkv.figures.style import COLOURS, FAINT, INK, PHONE_INCHES, Figure, figure


@dataclass(frozen=True)
class Outcome:
    """One bar: its name, the accuracy of every seed, and what a closed form says (or None)."""

    name: str
    accuracy: ArrayLike
    foretold: float | None = None


def outcomes(
    bars: Sequence[Outcome],
    baseline: float,
    xlabel: str = "right answers, %",
    called: str = "no attention",
) -> Figure:
    """Draw one bar a variant (the mean), one dot a seed, a diamond where the closed form stands.

    Parameters
    ----------
    bars : sequence of Outcome
        From top to bottom; accuracies are shares between 0 and 1.
    baseline : float
        The share without attention (uniform weights), or another line to compare with: dashed.
    xlabel : str
        What the bars show.
    called : str
        What the dashed line is called.

    Returns
    -------
    Figure
        One line a variant.

    Examples
    --------
    >>> type(outcomes([Outcome("tied", [0.38, 0.4], 0.395)], 0.39)).__name__
    'Figure'
    """
    fig, ax = figure(PHONE_INCHES, 0.34 * len(bars) + 0.75)
    fig.subplots_adjust(left=0.37, right=0.9)
    for i, bar in enumerate(bars):
        seeds = 100 * np.asarray(bar.accuracy, dtype=float)
        ax.barh(i, seeds.mean(), height=0.62, color=COLOURS["w"], alpha=0.28, lw=0)
        ax.plot([seeds.mean()] * 2, [i - 0.31, i + 0.31], color=COLOURS["w"], lw=2)
        spread = np.linspace(-0.2, 0.2, len(seeds))
        ax.plot(seeds, i + spread, ".", color=COLOURS["w"], ms=4.5, mew=0, alpha=0.8)
        ax.text(104, i, f"{seeds.mean():.1f}", ha="left", va="center")
        if bar.foretold is not None:
            ax.plot(100 * bar.foretold, i, "D", mfc="none", mec=INK, ms=7, mew=1.4)
    ax.axvline(100 * baseline, color=FAINT, lw=1.2, ls=(0, (4, 3)))
    ax.text(100 * baseline, -0.62, called, ha="left", va="bottom", fontsize=9, color=FAINT)
    ax.set_yticks(range(len(bars)), [bar.name for bar in bars])
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    ax.set_xlim(0, 103)
    ax.set_ylim(len(bars) - 0.5, -0.6)
    ax.set_xlabel(xlabel)
    return fig
