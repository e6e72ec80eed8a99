"""The picture of chapter 11: the paper's Figure 2, both halves in one, all matrices visible."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle
from numpy.typing import ArrayLike

from qkv.figures.style import COLOURS, FAINT, INK, PHONE_INCHES, Figure, figure

WIDE, TALL = 10.0, 18.9  # of the drawing, in its own units
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
    height: float = 0.95


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
        Rectangle((0.35, 5.35), 9.3, 8.0, fill=False, ec=COLOURS["w"], lw=1.1, ls=(0, (4, 3)))
    )
    _say(ax, 0.6, 12.97, r"Attention$(Q, K, V)$", "w", ha="left")
    _say(ax, 0.6, 12.4, f"left half of Figure 2, {n_heads} times", "", ha="left", fontsize=8)
    boxes = _boxes(size, n_heads)
    for start, end in _arrows():
        ax.add_patch(
            FancyArrowPatch(
                start, end, arrowstyle="-|>", mutation_scale=8, lw=1, color=INK, alpha=0.7,
                shrinkA=0, shrinkB=0,
            )
        )  # fmt: skip
    for box in boxes:
        _draw(ax, box)
    for x, name, role, paper in (
        (1.75, "q", "q", "$QW_i^Q$"),
        (5.0, "k", "k", "$KW_i^K$"),
        (8.25, "v", "v", "$VW_i^V$"),
    ):
        _say(ax, x - 0.15 - 0.25 * (name == "v"), 4.63, f"${name}$", role, ha="right", fontsize=12)
        _say(ax, x + 0.2 - 0.25 * (name == "v"), 4.63, f"{size[name]}", "", ha="left", fontsize=9)
        _say(ax, x + 0.2 - 0.25 * (name == "v"), 5.03, paper, "", ha="left", fontsize=8)
    _say(ax, 3.6, 7.42, size["scores"], "", ha="left", fontsize=9)
    _say(ax, 3.85, 10.42, size["weights"], "", ha="left", fontsize=9)
    _say(ax, 5.2, 13.7, rf"$\mathrm{{head}}_i$  {size['head']}", "", ha="left", fontsize=9)
    _say(ax, 5.2, 15.37, size["concatenated"], "", ha="left", fontsize=9)
    _say(ax, 5.2, 17.15, f"output  {size['output']}", "", ha="left", fontsize=9)
    _say(ax, 5.0, 17.85, r"MultiHead$(Q, K, V)$", "", fontsize=11)
    _say(ax, 5.0, 18.45, "the whole picture: right half of Figure 2", "", fontsize=8)
    ax.set_xlim(0, WIDE)
    ax.set_ylim(0, TALL)
    ax.axis("off")
    return fig


def _boxes(size: Mapping[str, str], n_heads: int) -> list[_Box]:
    linear = "“Linear”"
    return [
        _Box(1.75, 0.95, 2.7, rf"$X_q$  {size['X_q']}", "x", r"paper: $Q$"),
        _Box(
            6.62, 0.95, 5.9, rf"$X_{{kv}}$  {size['X_kv']}", "x", r"paper: $K$ and $V$, one array"
        ),
        _Box(1.75, 3.1, 2.5, rf"$W_Q^{{(i)}}$  {size['W_Q']}", "q", linear, copies=True),
        _Box(5.0, 3.1, 2.5, rf"$W_K^{{(i)}}$  {size['W_K']}", "k", linear, copies=True),
        _Box(8.25, 3.1, 2.5, rf"$W_V^{{(i)}}$  {size['W_V']}", "v", linear, copies=True),
        _Box(3.38, 6.6, 4.2, r"MatMul:  $q\,k^{\top}$", "w"),
        _Box(3.38, 8.3, 4.2, r"Scale: divide by √$d_k$", "w"),
        _Box(3.38, 9.6, 4.2, "Mask (opt.), SoftMax", "w"),
        _Box(5.0, 11.4, 4.2, r"MatMul:  weights $\cdot\,v$", "v"),
        _Box(5.0, 14.6, 6.2, f"Concat: {n_heads} heads side by side", "v"),
        _Box(5.0, 16.3, 3.6, rf"$W_O$  {size['W_O']}", "x", linear),
    ]


def _arrows() -> list[tuple[tuple[float, float], tuple[float, float]]]:
    return [
        ((1.75, 1.45), (1.75, 2.6)), ((5.0, 1.45), (5.0, 2.6)), ((8.25, 1.45), (8.25, 2.6)),
        ((1.75, 3.6), (1.75, 6.1)), ((5.0, 3.6), (5.0, 6.1)), ((8.25, 3.6), (6.6, 10.9)),
        ((3.38, 7.1), (3.38, 7.8)), ((3.38, 8.8), (3.38, 9.1)), ((3.38, 10.1), (3.9, 10.9)),
        ((5.0, 11.9), (5.0, 14.1)), ((5.0, 15.1), (5.0, 15.8)), ((5.0, 16.8), (5.0, 17.5)),
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
    _say(ax, box.x, box.y, box.text, "")
    if box.note:
        # beside the arrow that comes in, or below where none does
        beside = box.note.startswith("“")
        x = box.x - 0.15 if beside else box.x
        _say(ax, x, bottom - 0.27, box.note, "", ha="right" if beside else "center", fontsize=8)


def _say(
    ax: Axes, x: float, y: float, text: str, role: str, ha: str = "center", fontsize: float = 10
) -> None:
    colour = COLOURS[role] if role else (FAINT if fontsize < 9 else INK)
    ax.text(x, y, text, ha=ha, va="center", color=colour, fontsize=fontsize)


def _size(array: ArrayLike) -> str:
    return "\N{MULTIPLICATION SIGN}".join(str(n) for n in np.shape(array))
