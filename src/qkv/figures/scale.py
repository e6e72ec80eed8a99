"""Pictures for the chapter on the scale factor: curves against the width, steps seed by seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.ticker import NullLocator
from numpy.typing import ArrayLike

from qkv.figures.style import COLOURS, FAINT, INK, PHONE_INCHES, Figure, figure

DASHES = ("-", (0, (6, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)))


def against_width(
    widths: ArrayLike,
    curves: Mapping[str, ArrayLike],
    ylabel: str,
    level: tuple[float, str] | None = None,
    log: bool = False,
) -> Figure:
    """Draw one curve a name against the width d_k; both axes may be logarithmic.

    Parameters
    ----------
    widths : array of shape (n,)
        In rising order; the axis is logarithmic, a doubling a step.
    curves : mapping of str to array of shape (n,)
        At most four, told apart by their dashes.
    ylabel : str
        What the numbers are.
    level : tuple of float and str, optional
        Where a thin line stands, and its name.
    log : bool
        Whether the numbers, too, stand on a logarithmic axis.

    Returns
    -------
    Figure
        With a legend above the curves.

    Examples
    --------
    >>> type(against_width([1, 2, 4], {"raw": [0.3, 0.4, 0.5]}, "weight")).__name__
    'Figure'
    """
    widths = np.asarray(widths, float)
    if any(np.shape(values) != widths.shape for values in curves.values()):
        raise ValueError(
            f"each curve needs {len(widths)} numbers, one a width, got"
            f" {[np.shape(values) for values in curves.values()]}"
        )
    fig, ax = figure(PHONE_INCHES, 3.1)
    for dash, (name, values) in zip(DASHES, curves.items(), strict=False):
        ax.plot(widths, values, color=COLOURS["w"], lw=1.8, ls=dash, label=name)
    if level:
        ax.axhline(level[0], color=FAINT, lw=0.8)
        ax.text(widths[0], level[0], level[1], color=FAINT, ha="left", va="bottom", fontsize=9)
    ax.set_xscale("log", base=2)
    ax.set_xticks(widths[:: max(1, len(widths) // 5)])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(lambda w, _: f"{w:g}")
    if log:
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(lambda y, _: f"{y:g}")
    ax.set_xlabel("width of queries and keys, d_k")
    ax.set_ylabel(ylabel)
    ax.legend(
        frameon=False, handlelength=3.2, loc="lower left", bbox_to_anchor=(-0.02, 1.0),
        ncols=2, columnspacing=1.2, borderaxespad=0.1,
    )  # fmt: skip
    return fig


def steps_needed(
    groups: Mapping[str, tuple[ArrayLike, Sequence[bool]]], limit: int, xlabel: str
) -> Figure:
    """Draw a line of dots for each group, one dot a seed; a cross is a seed that never got there.

    Parameters
    ----------
    groups : mapping of str to (steps, reached), two arrays of shape (n_seeds,)
        The steps that each seed needed, and whether it got there at all; the first group on top.
    limit : int
        How many steps there were.
    xlabel : str
        What a step is counted for.

    Returns
    -------
    Figure
        The median of each group stands beside its name.

    Examples
    --------
    >>> type(steps_needed({"sqrt": ([30, 40], [True, True])}, 400, "steps")).__name__
    'Figure'
    """
    fig, ax = figure(PHONE_INCHES, 0.5 * len(groups) + 0.75)
    for i, (steps, reached) in enumerate(groups.values()):
        steps, there = np.asarray(steps, float), np.asarray(reached, bool)
        jitter = i + 0.16 * (np.arange(len(steps)) % 3 - 1)
        ax.plot(steps[there], jitter[there], "o", color=COLOURS["w"], ms=5, alpha=0.55)
        ax.plot(steps[~there], jitter[~there], "x", color=COLOURS["k"], ms=7, mew=2, clip_on=False)
        middle = f"{np.median(steps):.0f}" if there.mean() > 0.5 else "never"
        ax.text(1.04 * limit, i, f"median {middle}", va="center", fontsize=9, color=INK)
    ax.set_xlim(0, limit)
    ax.set_ylim(len(groups) - 0.5, -0.5)
    ax.set_yticks(range(len(groups)), list(groups))
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    for i in range(len(groups) - 1):
        ax.axhline(i + 0.5, color=FAINT, lw=0.4)
    ax.set_xlabel(xlabel)
    return fig
