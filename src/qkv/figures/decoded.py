"""The picture of chapter 11: the paper's Figure 2, both halves in one, all matrices visible."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle
from numpy.typing import ArrayLike

from qkv.figures.style import COLOURS, FAINT, INK, PHONE_INCHES, Figure, figure

WIDE, TALL = 10.0, 20.1  # of the drawing, in its own units
SMALL = 10.0  # points: 11 px on a phone; nothing in the picture is smaller
NAMES = (
    "X_q", "X_kv", "W_Q", "W_K", "W_V", "q", "k", "v", "scores", "weights", "head", "concatenated",
    "W_O", "output",
)  # fmt: skip


@dataclass(frozen=True)
class _Box:
    """One box: its middle, its width, what it says, and whose colour it has."""

    x: float
    y: float
    width: float
    text: str
    role: str = ""
    note: str = ""
    copies: bool = False
    height: float = 0.96


def figure_two(shapes: Mapping[str, ArrayLike], n_heads: int) -> Figure:
    """Draw a multi-head layer as the paper does, from the bottom up, with its arrays and sizes.

    Parameters
    ----------
    shapes : mapping from str to array
        The arrays of one head and of the layer, by the names in `NAMES`; their shapes are written.
    n_heads : int
        How many heads the layer has.

    Returns
    -------
    Figure
        The dashed frame is the left half of the paper's figure; all of it is the right half.

    Examples
    --------
    >>> import numpy as np
    >>> type(figure_two(dict.fromkeys(NAMES, np.ones((2, 3))), n_heads=5)).__name__
    'Figure'
    """
    missing = [name for name in NAMES if name not in shapes]
    if missing:
        raise ValueError(f"the picture needs an array for each of {missing}")
    size = {name: _size(shapes[name]) for name in NAMES}
    fig, ax = figure(PHONE_INCHES, PHONE_INCHES * TALL / WIDE)
    fig.subplots_adjust(left=0, right=1, bottom=0, top=1)
    ax.add_patch(
        Rectangle((0.35, 5.45), 9.3, 8.95, fill=False, ec=COLOURS["w"], lw=1.1, ls=(0, (4, 3)))
    )
    for y, text, role in (
        (13.95, r"Attention$(Q, K, V)$:", "w"),
        (13.4, "left half of Figure 2,", ""),
        (12.85, f"{n_heads} times", ""),
    ):
        _say(ax, 0.6, y, text, role, ha="left")
    for start, end in _arrows():
        ax.add_patch(
            FancyArrowPatch(
                start, end, arrowstyle="-|>", mutation_scale=8, lw=1, color=INK, alpha=0.7,
                shrinkA=0, shrinkB=0,
            )
        )  # fmt: skip
    for box in _boxes(size, n_heads):
        _draw(ax, box)
    for x, name, made, inside in (
        (1.75, "q", "$QW_i^Q$", "$Q$"),
        (5.0, "k", "$KW_i^K$", "$K$"),
        (8.25, "v", "$VW_i^V$", "$V$"),
    ):
        _say(ax, x - 0.15, 4.5, f"${name}$", name, ha="right", fontsize=13)
        _say(ax, x + 0.2, 4.5, size[name], "", ha="left")
        _say(ax, x + 0.2, 5.08, made, "", ha="left", faint=True)
        last = name == "v"  # right of it the frame ends, and left of it stands K
        at, ha = ((x - 0.2, 6.95), "right") if last else ((x + 0.2, 5.93), "left")
        _say(ax, *at, f"paper: {inside}", "", ha=ha, faint=True)
    for x, y, text in (
        (3.58, 7.8, size["scores"]),
        (3.58, 10.95, size["weights"]),
        (5.2, 14.8, rf"$\mathrm{{head}}_i$  {size['head']}"),
        (5.2, 16.55, size["concatenated"]),
        (5.2, 18.35, f"output  {size['output']}"),
    ):
        _say(ax, x, y, text, "", ha="left")
    _say(ax, 5.0, 19.7, r"MultiHead$(Q, K, V)$:", "", fontsize=11)
    _say(ax, 5.0, 19.1, "the whole picture, right half of Figure 2", "")
    ax.set_xlim(0, WIDE)
    ax.set_ylim(0, TALL)
    ax.axis("off")
    return fig


def _boxes(size: Mapping[str, str], n_heads: int) -> list[_Box]:
    linear = "“Linear”"
    return [
        _Box(1.75, 1.2, 2.7, rf"$X_q$  {size['X_q']}", "x", r"paper: $Q$"),
        _Box(6.62, 1.2, 5.9, rf"$X_{{kv}}$  {size['X_kv']}", "x", r"paper: $K$ and $V$, one array"),
        _Box(1.75, 3.3, 2.5, rf"$W_Q^{{(i)}}$  {size['W_Q']}", "q", linear, copies=True),
        _Box(5.0, 3.3, 2.5, rf"$W_K^{{(i)}}$  {size['W_K']}", "k", linear, copies=True),
        _Box(8.25, 3.3, 2.5, rf"$W_V^{{(i)}}$  {size['W_V']}", "v", linear, copies=True),
        _Box(3.38, 6.95, 4.6, r"MatMul:  $q\,k^{\top}$", "w"),
        _Box(3.38, 8.65, 4.6, r"Scale: divide by √$d_k$", "w"),
        _Box(3.38, 10.1, 4.6, "Mask (opt.), SoftMax", "w"),
        _Box(5.3, 11.9, 7.2, r"MatMul:  weights $\cdot\,v$", "v"),
        _Box(5.0, 15.7, 6.2, f"Concat: {n_heads} heads side by side", "v"),
        _Box(5.0, 17.5, 3.6, rf"$W_O$  {size['W_O']}", "x", linear),
    ]


def _arrows() -> list[tuple[tuple[float, float], tuple[float, float]]]:
    return [
        ((1.75, 1.68), (1.75, 2.82)), ((5.0, 1.68), (5.0, 2.82)), ((8.25, 1.68), (8.25, 2.82)),
        ((1.75, 3.78), (1.75, 6.47)), ((5.0, 3.78), (5.0, 6.47)), ((8.25, 3.78), (8.25, 11.42)),
        ((3.38, 7.43), (3.38, 8.17)), ((3.38, 9.13), (3.38, 9.62)), ((3.38, 10.58), (3.38, 11.42)),
        ((5.0, 12.38), (5.0, 15.22)), ((5.0, 16.18), (5.0, 17.02)), ((5.0, 17.98), (5.0, 18.75)),
    ]  # fmt: skip


def _draw(ax: Axes, box: _Box) -> None:
    colour = COLOURS[box.role] if box.role else INK
    left, bottom = box.x - box.width / 2, box.y - box.height / 2
    style = "round,pad=0,rounding_size=0.18"
    for shift in (0.24, 0.12) if box.copies else ():
        ax.add_patch(
            FancyBboxPatch(
                (left + shift, bottom + shift), box.width, box.height, boxstyle=style, fill=False,
                ec=colour, lw=0.8, alpha=0.6,
            )
        )  # fmt: skip
    ax.add_patch(
        FancyBboxPatch(
            (left, bottom), box.width, box.height, boxstyle=style, fc=colour, ec="none", alpha=0.13
        )
    )
    ax.add_patch(
        FancyBboxPatch(
            (left, bottom), box.width, box.height, boxstyle=style, fill=False, ec=colour, lw=1.3
        )
    )
    _say(ax, box.x, box.y, box.text, "", fontsize=11)
    if box.note:
        # beside the arrow that comes in, or below where none does
        beside = box.note.startswith("“")
        x = box.x - 0.15 if beside else box.x
        y = bottom - 0.35
        _say(ax, x, y, box.note, "", ha="right" if beside else "center", faint=True)


def _say(
    ax: Axes,
    x: float,
    y: float,
    text: str,
    role: str,
    ha: str = "center",
    fontsize: float = SMALL,
    faint: bool = False,
) -> None:
    colour = COLOURS[role] if role else (FAINT if faint else INK)
    ax.text(x, y, text, ha=ha, va="center", color=colour, fontsize=fontsize)


def _size(array: ArrayLike) -> str:
    return "\N{MULTIPLICATION SIGN}".join(str(n) for n in np.shape(array))
