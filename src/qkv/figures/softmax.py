"""Pictures for the chapter on softmax: weights by temperature, and one dot a seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from qkv.figures.style import COLOURS, FAINT, INK, PHONE_INCHES, Figure, figure

DASHES = ("-", (0, (6, 2)), (0, (3, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)), (0, (8, 3)), (0, (2, 4)))


def weight_curves(temperatures: ArrayLike, weights: ArrayLike, names: Sequence[str]) -> Figure:
    """Draw each key's weight against the temperature, the name at the left end of its line.

    Parameters
    ----------
    temperatures : array of shape (n,)
        In rising order, above 0; the axis is logarithmic.
    weights : array of shape (n, n_k)
        One row a temperature.
    names : sequence of str
        The keys.

    Returns
    -------
    Figure
        With the line of equal weights.

    Examples
    --------
    >>> type(weight_curves([0.1, 1.0], [[0.9, 0.1], [0.6, 0.4]], ["a", "b"])).__name__
    'Figure'
    """
    temperatures, weights = np.asarray(temperatures, float), np.asarray(weights, float)
    if weights.shape != (len(temperatures), len(names)):
        raise ValueError(
            f"weights must be ({len(temperatures)}, {len(names)}), a row a temperature and a column"
            f" a name, got {weights.shape}"
        )
    fig, ax = figure(PHONE_INCHES, 2.9)
    equal = 1 / len(names)
    ax.axhline(equal, color=FAINT, lw=0.8)
    ax.text(temperatures[0], equal + 0.02, "equal weights", color=FAINT, va="bottom", fontsize=9)
    for j, name in enumerate(names):
        dash = DASHES[j % len(DASHES)]
        ax.plot(temperatures, weights[:, j], color=COLOURS["w"], lw=1.8, ls=dash, label=name)
    ax.set_xscale("log")
    ax.set_xticks([t for t in (0.1, 1, 10, 100) if temperatures[0] <= t <= temperatures[-1]])
    ax.xaxis.set_major_formatter(lambda t, _: f"{t:g}")
    ax.set_xlabel("temperature")
    ax.set_ylabel("weight")
    ax.set_ylim(-0.03, 1.05)
    ax.legend(frameon=False, handlelength=3.2, loc="upper right")
    return fig


def seeds(groups: Mapping[str, ArrayLike], xlabel: str, limit: float, limit_name: str) -> Figure:
    """Draw a line of dots for each group, one dot a seed, and a limit as a dashed line.

    Parameters
    ----------
    groups : mapping of str to array of shape (n_seeds,)
        The numbers of each group, the first on top.
    xlabel : str
        What they are.
    limit : float
        Where the dashed line stands.
    limit_name : str
        What it is.

    Returns
    -------
    Figure
        The mean stands as a number at the end of each line.

    Examples
    --------
    >>> type(seeds({"a": [1.0, 1.2], "b": [2.0, 2.5]}, "loss", 1.5, "limit")).__name__
    'Figure'
    """
    fig, ax = figure(PHONE_INCHES, 0.62 * len(groups) + 0.9)
    marks = "os^D"
    for i, (name, values) in enumerate(groups.items()):
        values = np.asarray(values, dtype=float)
        ax.plot(values, np.full(len(values), i), marks[i % 4], color=COLOURS["w"], ms=6, alpha=0.5)
        label = f"{name}, mean {values.mean():.3f}"
        below = values.mean() < limit  # the label stays on its side of the line
        at, side = (values.max(), "right") if below else (values.min(), "left")
        ax.text(at, i - 0.22, label, va="bottom", ha=side, color=INK, fontsize=9)
    ax.axvline(limit, ymax=0.86, color=INK, lw=1.0, ls=(0, (4, 3)))
    ax.text(limit, -0.92, limit_name, ha="center", va="bottom", fontsize=9)
    ax.set_ylim(len(groups) - 0.5, -1.0)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.margins(x=0.35)
    ax.set_xlabel(xlabel)
    return fig
