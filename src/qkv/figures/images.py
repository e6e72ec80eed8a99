"""Pictures for the chapter on images: patches, weights laid over them, accuracies, deletion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from qkv.figures.style import COLOURS, FAINT, INK, PHONE_INCHES, RC, Figure, figure, number

DASHES = ("-", (0, (6, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)), (0, (3, 1)))


def patch_maps(image: ArrayLike, size: int, maps: Mapping[str, ArrayLike]) -> Figure:
    """Draw an image cut into patches, and again with a number on each patch for each map.

    Parameters
    ----------
    image : array of shape (height, width)
        Ink, 0 to 1.
    size : int
        Pixels along one side of a patch.
    maps : mapping of str to array of shape (n_patches,)
        Title, and shares of 1, one a patch. A purple square is larger the larger the share; the
        percent is written in it. A title whose array is empty gets the numbers of the patches.

    Returns
    -------
    Figure
        Up to three panels a line.

    Examples
    --------
    >>> type(patch_maps([[0.0, 1.0], [0.5, 0.0]], 1, {"row 0": [0.1, 0.2, 0.3, 0.4]})).__name__
    'Figure'
    """
    image = np.asarray(image, float)
    across = image.shape[1] // size
    n_patches = across * (image.shape[0] // size)
    for title, shares in maps.items():
        if np.size(shares) not in (0, n_patches):
            raise ValueError(
                f"the image has {n_patches} patches, {title!r} has {np.size(shares)} numbers"
            )
    columns = min(3, len(maps))
    lines = -(-len(maps) // columns)
    with mpl.rc_context(RC):
        fig = Figure(figsize=(1.5 * columns, 1.72 * lines))
        FigureCanvasSVG(fig)
        axes = np.atleast_1d(fig.subplots(lines, columns)).ravel()
        fig.subplots_adjust(left=0, right=1, bottom=0, top=0.9, wspace=0.08, hspace=0.2)
    top = max([float(np.max(shares)) for shares in maps.values() if np.size(shares)] or [1.0])
    for ax in axes[len(maps) :]:
        ax.axis("off")
    for ax, (title, shares) in zip(axes, maps.items(), strict=False):
        _ink(ax, image, size)
        ax.set_title(title, fontsize=8.5, pad=3)
        for i in range(n_patches):
            y, x = (size * (0.5 + at) for at in divmod(i, across))
            text = str(i + 1)
            if np.size(shares):
                share = float(np.ravel(shares)[i])
                side = size * np.sqrt(max(0.0, share) / top)
                corner = (x - side / 2, y - side / 2)
                ax.add_patch(Rectangle(corner, side, side, color=COLOURS["w"], alpha=0.45, lw=0))
                text = f"{100 * share:.0f}"
            ax.text(x, y, text, ha="center", va="center", fontsize=8, color=INK, weight="bold",
                    bbox={"boxstyle": "round,pad=0.1", "fc": "white", "ec": "none", "alpha": 0.75},
                    )  # fmt: skip
    return fig


def _ink(ax: Axes, image: np.ndarray, size: int) -> None:
    """Draw pixels as grey squares and the borders of the patches."""
    height, width = image.shape
    for y in range(height):
        for x in range(width):
            ax.add_patch(Rectangle((x, y), 1, 1, color=INK, alpha=0.75 * image[y, x], lw=0))
    for y in range(0, height + 1, size):
        ax.plot([0, width], [y, y], color=FAINT, lw=0.7)
    for x in range(0, width + 1, size):
        ax.plot([x, x], [0, height], color=FAINT, lw=0.7)
    ax.set_xlim(-0.05, width + 0.05)
    ax.set_ylim(height + 0.05, -0.05)
    ax.set_aspect("equal")
    ax.axis("off")


def image_row(images: ArrayLike, titles: list[str]) -> Figure:
    """Draw small images side by side, each with a title.

    Parameters
    ----------
    images : array of shape (count, height, width)
        Ink, 0 to 1.
    titles : list of str
        One for each.

    Returns
    -------
    Figure

    Examples
    --------
    >>> type(image_row([[[0.0, 1.0]]], ["a"])).__name__
    'Figure'
    """
    pictures = np.asarray(images, float)
    if pictures.ndim != 3 or len(pictures) != len(titles):
        raise ValueError(f"{len(titles)} titles for images of shape {pictures.shape}")
    with mpl.rc_context(RC):
        fig = Figure(figsize=(1.1 * len(titles), 1.3))
        FigureCanvasSVG(fig)
        axes = np.atleast_1d(fig.subplots(1, len(titles)))
        fig.subplots_adjust(left=0, right=1, bottom=0, top=0.85, wspace=0.1)
    for ax, image, title in zip(axes, pictures, titles, strict=True):
        _ink(ax, image, max(image.shape))
        ax.set_title(title, fontsize=9, pad=3)
    return fig


def accuracy_lines(found: Mapping[str, ArrayLike]) -> Figure:
    """Draw one line a model: a dot for each seed, a bar at the mean, the mean in percent.

    Parameters
    ----------
    found : mapping of str to array of shape (n_seeds,)
        Accuracies between 0 and 1.

    Returns
    -------
    Figure

    Examples
    --------
    >>> type(accuracy_lines({"a": [0.9, 0.95]})).__name__
    'Figure'
    """
    fig, ax = figure(PHONE_INCHES, 0.36 * len(found) + 0.7)
    for line, seeds in enumerate(found.values()):
        shares = 100 * np.ravel(np.asarray(seeds, float))
        ax.plot(shares, np.full(len(shares), line), "o", ms=5, mfc="none", color=COLOURS["w"])
        ax.plot([shares.mean()] * 2, [line - 0.32, line + 0.32], color=INK, lw=2)
        ax.text(101.5, line, number(shares.mean(), 1), va="center", fontsize=9)
    ax.set_yticks(range(len(found)), list(found))
    ax.set_ylim(len(found) - 0.5, -0.5)
    worst = 100 * min(float(np.min(seeds)) for seeds in found.values())
    ax.set_xlim(max(0, 10 * np.floor(worst / 10) - 5), 100)
    ax.set_xlabel("right on test images, %")
    ax.grid(axis="x", color=FAINT, alpha=0.3)
    return fig


def deletion_curves(
    removed: ArrayLike, curves: Mapping[str, Mapping[str, ArrayLike]], ylabel: str
) -> Figure:
    """Draw accuracy against the number of patches removed, one panel a way of removing.

    Parameters
    ----------
    removed : array of shape (n,)
        How many patches are gone.
    curves : mapping of panel title to mapping of ranking to array of shape (n_seeds, n)
        Accuracies; the mean is drawn, and a band from the lowest to the highest seed.
    ylabel : str
        What the accuracies are.

    Returns
    -------
    Figure

    Examples
    --------
    >>> fig = deletion_curves([0, 1], {"blank": {"random": [[0.9, 0.5]]}}, "right, %")
    >>> type(fig).__name__
    'Figure'
    """
    x = np.asarray(removed, float)
    with mpl.rc_context(RC):
        fig = Figure(figsize=(PHONE_INCHES, 2.5 * len(curves)))
        FigureCanvasSVG(fig)
        axes = np.atleast_1d(fig.subplots(len(curves), 1, sharex=True))
        fig.subplots_adjust(hspace=0.25)
    colours: list[Any] = [COLOURS["w"], COLOURS["q"], COLOURS["k"], COLOURS["v"], FAINT]
    for ax, (title, rankings) in zip(axes, curves.items(), strict=True):
        for i, (name, seeds) in enumerate(rankings.items()):
            shares = 100 * np.atleast_2d(np.asarray(seeds, float))
            colour, dash = colours[i % 5], DASHES[i % 5]
            ax.fill_between(x, shares.min(0), shares.max(0), color=colour, alpha=0.12, lw=0)
            ax.plot(x, shares.mean(0), color=colour, ls=dash, lw=2, label=name)
        ax.set_title(title, fontsize=10, loc="left")
        ax.set_ylim(0, 100)
        ax.set_ylabel(ylabel)
    axes[-1].set_xlabel("patches removed, of 16")
    axes[-1].xaxis.get_major_locator().set_params(integer=True)
    axes[0].legend(frameon=False, fontsize=9, handlelength=2.6, loc="upper right")
    return fig
