"""Pictures for the chapter on the soft look-up: a line of measurements, and errors by bandwidth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from numpy.typing import ArrayLike

from qkv.figures.softmax import DASHES
from qkv.figures.style import COLOURS, FAINT, INK, PHONE_INCHES, RC, Figure, figure, number

CURVES = (("-", "v"), ((0, (5, 2)), "x"), ((0, (1, 1.5)), "k"))


def look_up_line(
    keys: ArrayLike,
    values: ArrayLike,
    curves: Mapping[str, tuple[ArrayLike, ArrayLike]],
    *,
    ground: tuple[ArrayLike, ArrayLike] | None = None,
    query: tuple[float, float, ArrayLike] | None = None,
    labels: Sequence[str] = ("key", "value"),
) -> Figure:
    """Draw measurements on a line, what look-ups make of them, and one query with its weights.

    Parameters
    ----------
    keys, values : array of shape (n_k,)
        Where it was measured, and what.
    curves : mapping of str to (places, outputs)
        A line each, told apart by dashes; the name goes to the legend.
    ground : (places, heights), optional
        The truth, as a thin line.
    query : (place, output, weights), optional
        One query, its output, and its weights as bars under the keys.
    labels : two str
        Of the two axes.

    Returns
    -------
    Figure
        With the weights in a strip below if there is a query.

    Examples
    --------
    >>> fig = look_up_line([0, 1], [3, 5], {"mean": ([0, 1], [4, 4])}, query=(0.5, 4, [0.5, 0.5]))
    >>> len(fig.axes)
    2
    """
    keys, values = np.asarray(keys, dtype=float), np.asarray(values, dtype=float)
    weights = np.zeros_like(keys) if query is None else np.asarray(query[2], dtype=float)
    for name, array in (("values", values), ("weights", weights)):
        if array.shape != keys.shape:
            raise ValueError(
                f"{name} must be one number a key, of shape {keys.shape}, got {array.shape}"
            )
    fig, top, low = _axes(query is not None)
    if ground is not None:
        top.plot(*ground, color=FAINT, lw=0.9, label="the ground itself")
    for (dash, role), (name, curve) in zip(CURVES, curves.items(), strict=False):
        top.plot(*curve, color=COLOURS[role], lw=1.9, ls=dash, label=name)
    top.plot(keys, values, "o", color=COLOURS["v"], mec="white", mew=0.8, ms=6.5, zorder=3)
    top.set_ylabel(labels[1])
    if query is not None and low is not None:
        place, output, _ = query
        top.axvline(place, color=COLOURS["q"], lw=1.3, ls=(0, (4, 2)))
        top.plot([place], [output], "D", color=COLOURS["q"], ms=6, zorder=4)
        side, away = ("left", 5) if place < keys.mean() else ("right", -5)
        top.annotate(
            f"query {number(place, 1)}: {number(output, 0)}",
            (place, 0.05),
            (away, 0),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            ha=side,
            color=COLOURS["q"],
            fontweight="bold",
        )
        wide = 0.55 * float(np.diff(np.sort(keys)).min())
        low.bar(keys, weights, wide, color=COLOURS["w"])
        low.plot(keys, np.zeros_like(keys), "|", color=COLOURS["k"], ms=9, mew=1.6, clip_on=False)
        for key, weight in zip(keys, weights, strict=True):
            if weight >= 0.05:
                side, edge = ("right", wide / 2) if key < place else ("left", -wide / 2)
                low.text(key + edge, weight + 0.03, number(weight), ha=side, fontsize=9)
        low.axvline(place, color=COLOURS["q"], lw=1.3, ls=(0, (4, 2)))
        low.set_ylim(0, float(weights.max()) * 1.45)
        low.set_yticks([])
        low.set_ylabel("weight")
        low.set_xlabel(labels[0])
    else:
        top.set_xlabel(labels[0])
    handles, _ = top.get_legend_handles_labels()
    if len(handles) > 1:
        top.legend(frameon=False, fontsize=9, handlelength=2.6, loc="upper right")
    return fig


def _axes(two: bool) -> tuple[Figure, Axes, Axes | None]:
    if not two:
        fig, ax = figure(PHONE_INCHES, 2.7)
        return fig, ax, None
    with mpl.rc_context(RC):
        fig = Figure(figsize=(PHONE_INCHES, 3.5))
        FigureCanvasSVG(fig)
        top, low = fig.subplots(
            2, 1, sharex=True, height_ratios=(3, 1), gridspec_kw={"hspace": 0.1}
        )
    return fig, top, low


def error_curves(
    bandwidths: ArrayLike,
    errors: Mapping[str, ArrayLike],
    *,
    labels: Sequence[str] = ("bandwidth", "error"),
) -> Figure:
    """Draw errors against the bandwidth and mark the smallest of each line.

    Parameters
    ----------
    bandwidths : array of shape (n,)
        Above 0; the axis is logarithmic.
    errors : mapping of str to array of shape (n,)
        A line each.
    labels : two str
        Of the two axes.

    Returns
    -------
    Figure
        A dot and the bandwidth stand at each line's lowest place.

    Examples
    --------
    >>> type(error_curves([1.0, 2.0, 4.0], {"all": [5, 3, 4]})).__name__
    'Figure'
    """
    bandwidths = np.asarray(bandwidths, dtype=float)
    fig, ax = figure(PHONE_INCHES, 2.7)
    for dash, (name, line) in zip(DASHES, errors.items(), strict=False):
        line = np.asarray(line, dtype=float)
        if line.shape != bandwidths.shape:
            raise ValueError(f"{name!r} must have {len(bandwidths)} numbers, got {line.shape}")
        ax.plot(bandwidths, line, color=COLOURS["v"], lw=1.8, ls=dash, label=name)
        best = int(np.argmin(line))
        ax.plot(bandwidths[best], line[best], "o", color=COLOURS["v"], ms=6)
        ax.annotate(
            number(bandwidths[best]),
            (bandwidths[best], line[best]),
            (0, -13),
            textcoords="offset points",
            ha="center",
            color=INK,
        )
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.set_xlabel(labels[0])
    ax.set_ylabel(labels[1])
    ax.set_ylim(bottom=0)
    ax.legend(frameon=False, fontsize=9, handlelength=3.2, loc="lower right")
    return fig
