"""Pictures of chapter 15: the whole Transformer with its arrays; what a printed count implies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle
from matplotlib.ticker import MultipleLocator
from numpy.typing import ArrayLike

from qkv.core import TransformerSteps
from qkv.figures.style import COLOURS, FAINT, INK, PHONE_INCHES, Figure, figure

TALL = 15.5  # of the drawing of the Transformer, in its own units; it is 10 wide
LEFT, RIGHT, WIDTH = 2.4, 7.55, 3.7  # the middles of encoder and decoder, and how wide a box is
TIMES = "\N{MULTIPLICATION SIGN}"


@dataclass(frozen=True)
class _Box:
    x: float
    y: float
    lines: tuple[str, ...]
    role: str = ""
    height: float = 0.72


def whole_transformer(steps: TransformerSteps) -> Figure:
    """Draw encoder and decoder from the bottom up, with the sizes of one sentence's arrays.

    Parameters
    ----------
    steps : TransformerSteps
        Of one sentence and its translation, no batch; sizes and depths are read off.

    Returns
    -------
    Figure
        At each of the three attention sites stand X_q, X_kv and the weights.

    Examples
    --------
    >>> import numpy as np
    >>> import qkv
    >>> sizes = qkv.LayerSizes(d_model=8, d_ff=16, n_heads=3, d_k=4, d_v=2)
    >>> parameters = qkv.initial_transformer(np.random.default_rng(0), sizes, 1, 11, 13)
    >>> steps = qkv.transformer_steps([3, 1, 4, 1, 5], [0, 9, 2], parameters)
    >>> type(whole_transformer(steps)).__name__
    'Figure'
    """
    if np.ndim(steps.memory) != 2:
        raise ValueError(f"steps must be of one sentence, got a memory of {steps.memory.shape}")
    fig, ax = figure(PHONE_INCHES, PHONE_INCHES * TALL / 10)
    fig.subplots_adjust(left=0, right=1, bottom=0, top=1)
    _frame(ax, LEFT, 8.75, "encoder layer", len(steps.encoder_weights))
    _frame(ax, RIGHT, 12.15, "decoder layer", len(steps.self_weights))
    encoder, decoder = _encoder(steps), _decoder(steps)
    for column in (encoder, decoder):
        for low, high in pairwise(column):
            _arrow(ax, (low.x, low.y + low.height / 2), (high.x, high.y - high.height / 2))
    for column, ends in ((encoder, (3, 5)), (decoder, (3, 5, 7))):
        for n in ends:
            _around(ax, column[n - 1], column[n])
    for box in (*encoder, *decoder):
        _box(ax, box)
    memory, cross = encoder[-1], decoder[4]
    x, stem = memory.x + WIDTH / 2, 4.97
    ax.plot([x, stem, stem], [memory.y, memory.y, cross.y], color=COLOURS["k"], lw=1.6)
    _arrow(ax, (stem, cross.y), (cross.x - WIDTH / 2, cross.y), "k")
    _say(ax, LEFT, memory.y + 1.14, "one array, handed to", 8.5)
    _say(ax, LEFT, memory.y + 0.76, "every decoder layer", 8.5)
    ax.set_xlim(0, 10)
    ax.set_ylim(0, TALL)
    ax.axis("off")
    return fig


def _encoder(steps: TransformerSteps) -> list[_Box]:
    X, weights = steps.X_source, steps.encoder_weights[0]
    attention = (
        "self-attention",
        rf"$X_q = X_{{kv}} = X$  {_size(X)}",
        f"weights {_size(weights)}",
    )
    return [
        _Box(LEFT, 0.6, (f"{len(X)} source ids",), "x"),
        _Box(LEFT, 1.85, _embedding(X), "x", 1.1),
        _Box(LEFT, 4.3, attention, "w", 1.6),
        _Box(LEFT, 5.85, ("add & norm",)),
        _Box(LEFT, 6.85, ("feed-forward",)),
        _Box(LEFT, 7.85, ("add & norm",)),
        _Box(LEFT, 10.0, (f"memory  {_size(steps.memory)}",), "k", 0.9),
    ]


def _decoder(steps: TransformerSteps) -> list[_Box]:
    X, own, cross = steps.X_target, steps.self_weights[0], steps.cross_weights[0]
    masked = (
        "masked self-attention", rf"$X_q = X_{{kv}} = X$  {_size(X)}", f"weights {_size(own)}",
    )  # fmt: skip
    across = (
        "cross-attention", rf"$X_q$: from below  {_size(X)}",
        rf"$X_{{kv}}$ = memory  {_size(steps.memory)}", f"weights {_size(cross)}",
    )  # fmt: skip
    scores = ("output · $E^{\\top}$", f"scores  {_size(steps.scores)}")
    return [
        _Box(RIGHT, 0.6, (f"{len(X)} target ids, shifted",), "x"),
        _Box(RIGHT, 1.85, _embedding(X), "x", 1.1),
        _Box(RIGHT, 4.3, masked, "w", 1.6),
        _Box(RIGHT, 5.85, ("add & norm",)),
        _Box(RIGHT, 7.65, across, "w", 2.1),
        _Box(RIGHT, 9.4, ("add & norm",)),
        _Box(RIGHT, 10.3, ("feed-forward",)),
        _Box(RIGHT, 11.2, ("add & norm",)),
        _Box(RIGHT, 13.4, scores, "x", 1.1),
        _Box(RIGHT, 14.75, ("softmax: the next word",)),
    ]


def _embedding(X: np.ndarray) -> tuple[str, str]:
    return (rf"$E$[ids] · √{X.shape[-1]} + positions", f"$X$  {_size(X)}")


def _frame(ax: Axes, x: float, top: float, name: str, n_layers: int) -> None:
    style: Any = {"fill": False, "ec": FAINT, "lw": 0.9, "ls": (0, (4, 3))}
    ax.add_patch(Rectangle((x - 2.3, 2.85), 4.6, top - 2.85, **style))
    _say(ax, x - 2.15, top - 0.3, f"{name}, {n_layers} of them", 8.5, "left")


def _around(ax: Axes, part: _Box, norm: _Box) -> None:
    """Draw the residual: around a part, from its foot to the norm above it."""
    x, side = part.x, part.x + WIDTH / 2 + 0.22
    foot = part.y - part.height / 2 - 0.2
    ax.plot([x, side, side], [foot, foot, norm.y], color=INK, lw=0.9, alpha=0.55)
    _arrow(ax, (side, norm.y), (x + WIDTH / 2, norm.y))


def _box(ax: Axes, box: _Box) -> None:
    colour = COLOURS[box.role] if box.role else INK
    shape: Any = {
        "xy": (box.x - WIDTH / 2, box.y - box.height / 2), "width": WIDTH, "height": box.height,
        "boxstyle": "round,pad=0,rounding_size=0.15",
    }  # fmt: skip
    ax.add_patch(FancyBboxPatch(**shape, fc=colour, ec="none", alpha=0.12 if box.role else 0.04))
    ax.add_patch(FancyBboxPatch(**shape, fill=False, ec=colour, lw=1.2 if box.role else 0.8))
    middle = (len(box.lines) - 1) / 2
    for n, line in enumerate(box.lines):
        _say(ax, box.x, box.y + 0.46 * (middle - n), line, 9.5)


def _arrow(ax: Axes, start: tuple[float, float], end: tuple[float, float], role: str = "") -> None:
    ax.add_patch(
        FancyArrowPatch(
            start, end, arrowstyle="-|>", mutation_scale=8, lw=1.6 if role else 1.0,
            color=COLOURS[role] if role else INK, alpha=1.0 if role else 0.7, shrinkA=0, shrinkB=0,
        )
    )  # fmt: skip


def _say(ax: Axes, x: float, y: float, text: str, size: float, ha: str = "center") -> None:
    colour = FAINT if size < 9 else INK
    ax.text(x, y, text, ha=ha, va="center", color=colour, fontsize=size)


def _size(array: np.ndarray) -> str:
    return TIMES.join(str(n) for n in array.shape)


def row_windows(
    names: Sequence[str], windows: ArrayLike, band: tuple[float, float], stated: float
) -> Figure:
    """Draw, for each printed count, which numbers of embedding rows round to it.

    Parameters
    ----------
    names : sequence of str
        One for each bar, from the top down.
    windows : array of shape (n, 2)
        The least and the largest number of rows.
    band : tuple of float
        A stripe behind the bars: the rows that most of them share.
    stated : float
        A broken line: the rows that the text states.

    Returns
    -------
    Figure

    Examples
    --------
    >>> type(row_windows(["base", "big"], [[1, 4], [2, 3]], (2, 3), 2.5)).__name__
    'Figure'
    """
    windows = np.asarray(windows, dtype=float)
    if windows.shape != (len(names), 2):
        raise ValueError(f"windows must be ({len(names)}, 2), a row a name, got {windows.shape}")
    fig, ax = figure(PHONE_INCHES, 0.9 + 0.42 * len(names))
    fig.subplots_adjust(left=0.02, right=0.98, bottom=0.42 / (0.9 + 0.42 * len(names)), top=0.97)
    low, high = windows.min(), windows.max()
    ax.axvspan(*band, color=COLOURS["v"], alpha=0.18, lw=0)
    ax.axvline(stated, color=INK, lw=1.2, ls=(0, (4, 3)), alpha=0.55)
    for n, (name, (least, most)) in enumerate(zip(names, windows, strict=True)):
        inside = least <= band[0] and band[1] <= most
        colour = COLOURS["v"] if inside else COLOURS["k"]
        ax.plot(
            [least, most], [n, n], color=colour, lw=6, solid_capstyle="butt",
            ls="-" if inside else (0, (1.2, 0.6)),
        )  # fmt: skip
        ax.text(low, n - 0.42, name, ha="left", va="center", fontsize=8.5, color=INK)
    ax.text(stated, -1.15, " stated", ha="left", va="center", fontsize=8.5)
    ax.text(band[1], -1.15, " shared", ha="left", va="center", fontsize=8.5, color=COLOURS["v"])
    ax.set_ylim(len(names) - 0.5, -1.5)
    ax.set_xlim(low - 0.02 * (high - low), high + 0.02 * (high - low))
    ax.yaxis.set_visible(False)
    ax.spines["left"].set_visible(False)
    ax.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}")
    ax.xaxis.set_major_locator(MultipleLocator(2000))
    ax.tick_params(labelsize=9)
    return fig
