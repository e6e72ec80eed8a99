"""Pictures of chapter 19: what is made and what is kept, sizes of caches, times against length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.ticker import NullLocator
from numpy.typing import ArrayLike

from qkv.figures.style import COLOURS, FAINT, INK, PHONE_INCHES, RC, Figure, figure

NOTHING, KEPT, MADE = 0, 1, 2
DASHES = ("-", (0, (5, 2)), (0, (1, 1.6)), (0, (7, 2, 1.5, 2)))
ROLES = ("x", "k", "w", "v")


def made_and_kept(tokens: Sequence[str], tables: Mapping[str, ArrayLike]) -> Figure:
    """Draw, step by step, whose row is made anew and whose is kept from before.

    Parameters
    ----------
    tokens : sequence of str
        One a row and a column: in step t the token t is new.
    tables : mapping of str to array of shape (n, n)
        A title to a table: 2 where a row is made, 1 where it is kept, 0 where it does not exist.

    Returns
    -------
    Figure
        A filled square with a dot for a row that is made, an empty one for a row that is kept.

    Examples
    --------
    >>> type(made_and_kept(["a", "b"], {"kept": [[2, 0], [1, 2]]})).__name__
    'Figure'
    """
    n = len(tokens)
    for title, table in tables.items():
        if np.shape(table) != (n, n):
            raise ValueError(f"'{title}' must be ({n}, {n}), got {np.shape(table)}")
    with mpl.rc_context(RC):
        fig, first = figure(PHONE_INCHES, 0.95 + 0.27 * n)
        first.remove()
        axes = fig.subplots(1, len(tables), sharey=True)
    for ax, (title, table) in zip(np.atleast_1d(axes), tables.items(), strict=True):
        _grid(ax, tokens, title, np.asarray(table))
    np.atleast_1d(axes)[0].set_ylabel("step: the new token")
    fig.subplots_adjust(left=0.22, right=0.99, bottom=0.05, top=0.7, wspace=0.12)
    return fig


def _grid(ax: Axes, tokens: Sequence[str], title: str, table: np.ndarray) -> None:
    n, orange = len(tokens), COLOURS["k"]
    for (t, j), kind in np.ndenumerate(table):
        if kind == NOTHING:
            continue
        look: Any = {"fc": orange, "alpha": 0.9} if kind == MADE else {"fill": False}
        ax.add_patch(Rectangle((j - 0.42, t - 0.42), 0.84, 0.84, ec=orange, lw=1.0, **look))
        if kind == MADE:
            ax.plot(j, t, "o", color="white", ms=3)
    ax.set_xlim(-0.6, n - 0.4)
    ax.set_ylim(n - 0.4, -0.6)
    ax.set_xticks(range(n), tokens, rotation=90, fontsize=9)
    ax.xaxis.tick_top()
    ax.set_yticks(range(n), tokens, fontsize=9)
    ax.tick_params(length=0)
    for side in ("left", "bottom", "top", "right"):
        ax.spines[side].set_visible(False)
    ax.set_title(title, fontsize=9.5, color=INK, pad=8)


def cache_sizes(
    names: Sequence[str], sizes: ArrayLike, if_separate: ArrayLike, xlabel: str
) -> Figure:
    """Draw the size of each model's cache, and what it would be with keys of every head's own.

    Parameters
    ----------
    names : sequence of str
        One a line, from the top down.
    sizes : array of shape (n,)
        What is kept.
    if_separate : array of shape (n,)
        What would be kept if every head had keys and values of its own; the same where it has.
    xlabel : str
        The unit.

    Returns
    -------
    Figure
        A full dot for what is kept, an empty one for what would be; the axis is logarithmic.

    Examples
    --------
    >>> type(cache_sizes(["a", "b"], [36, 128], [36, 512], "KiB")).__name__
    'Figure'
    """
    sizes, if_separate = np.asarray(sizes, float), np.asarray(if_separate, float)
    if not sizes.shape == if_separate.shape == (len(names),):
        raise ValueError(
            f"sizes and if_separate must be ({len(names)},), one a name,"
            f" got {sizes.shape} and {if_separate.shape}"
        )
    fig, ax = figure(PHONE_INCHES, 0.75 + 0.42 * len(names))
    low = 0.7 * sizes.min()
    for n, (name, here, whole) in enumerate(zip(names, sizes, if_separate, strict=True)):
        ax.plot([here, whole], [n, n], color=COLOURS["k"], lw=1.0, ls=(0, (3, 2)))
        ax.plot(here, n, "o", color=COLOURS["k"], ms=7)
        if whole > here:
            ax.plot(whole, n, "o", mfc="white", mec=COLOURS["k"], ms=6)
        said = f"{here:,.0f}" + (f" in place of {whole:,.0f}" if whole > here else "")
        ax.text(low, n - 0.42, f"{name}: {said}", ha="left", va="center", fontsize=8.5, color=INK)
    ax.set_xscale("log", base=2)
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}")
    ax.set_xlim(low, 1.3 * if_separate.max())
    ax.set_ylim(len(names) - 0.6, -0.8)
    ax.yaxis.set_visible(False)
    ax.spines["left"].set_visible(False)
    ax.set_xlabel(xlabel)
    ax.tick_params(labelsize=9)
    return fig


def against_length(lengths: ArrayLike, curves: Mapping[str, ArrayLike], ylabel: str) -> Figure:
    """Draw one curve a name against the number of tokens, both axes logarithmic.

    Parameters
    ----------
    lengths : array of shape (n,)
        Numbers of tokens.
    curves : mapping of str to array of shape (n_seeds, n)
        At most four, told apart by their dashes; the median of the seeds, and their range behind.
    ylabel : str
        What the numbers are.

    Returns
    -------
    Figure
        With a legend above the curves.

    Examples
    --------
    >>> type(against_length([16, 32], {"kept": [[0.1, 0.2], [0.1, 0.3]]}, "seconds")).__name__
    'Figure'
    """
    lengths = np.asarray(lengths, float)
    fig, ax = figure(PHONE_INCHES, 3.1)
    for dash, role, (name, values) in zip(DASHES, ROLES, curves.items(), strict=False):
        values = np.asarray(values, float)
        if values.ndim != 2 or values.shape[1] != len(lengths):
            raise ValueError(
                f"'{name}' must be (n_seeds, {len(lengths)}), a row a seed, got {values.shape}"
            )
        colour = COLOURS[role]
        low, high = values.min(axis=0), values.max(axis=0)
        ax.fill_between(lengths, low, high, color=colour, alpha=0.18, lw=0)
        ax.plot(
            lengths, np.median(values, axis=0), color=colour, lw=1.8, ls=dash, label=name,
            marker="o", ms=3.5,
        )  # fmt: skip
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.set_xticks(lengths)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(lambda x, _: f"{x:g}")
    ax.set_xlabel("tokens written")
    ax.set_ylabel(ylabel)
    ax.grid(axis="y", color=FAINT, alpha=0.25, lw=0.6)
    ax.legend(
        frameon=False, handlelength=3.2, loc="lower left", bbox_to_anchor=(-0.02, 1.0),
        ncols=2, columnspacing=1.2, borderaxespad=0.1,
    )  # fmt: skip
    return fig
