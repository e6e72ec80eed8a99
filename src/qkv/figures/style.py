"""How every figure of the book looks: dark ink on nothing, one colour a role, the same bytes twice.

A page shows the SVG as a picture; in the dark theme its stylesheet turns the ink light. Sizes are
chosen so that the text can still be read when the picture is as wide as a phone, 358 px.
"""

from __future__ import annotations

import io
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure as MatplotlibFigure

INK = "#1f2328"
FAINT = "#6e7781"
# The colour code of the book, light theme: queries, keys, values, scores and weights, inputs.
COLOURS = {"q": "#0b5cad", "k": "#a34700", "v": "#1b7a3d", "w": "#7a3ea8", "x": "#444b54"}
MINUS = "\N{MINUS SIGN}"
PHONE_INCHES = 4.4  # at this width 10 points of text are 11 px on a phone

RC: Any = {
    "font.family": "sans-serif",
    "font.size": 10.0,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "svg.fonttype": "none",
    "svg.hashsalt": "qkv",
}


class Figure(MatplotlibFigure):
    """A matplotlib figure that shows itself as SVG wherever a cell ends with it."""

    def svg(self) -> str:
        """Return the picture as SVG text: transparent, no date in it, equal for equal arrays."""
        with mpl.rc_context(RC):
            buffer = io.StringIO()
            self.savefig(
                buffer,
                format="svg",
                transparent=True,
                bbox_inches="tight",
                pad_inches=0.03,
                metadata={"Date": None, "Creator": None},
            )
        return buffer.getvalue()

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"image/svg+xml": self.svg()}


def figure(width: float, height: float) -> tuple[Figure, Axes]:
    """Return an empty figure in the book's style and its one axes.

    Parameters
    ----------
    width, height : float
        In inches.

    Returns
    -------
    fig, ax : Figure, Axes
        Draw on `ax`; return `fig`.
    """
    with mpl.rc_context(RC):
        fig = Figure(figsize=(width, height))
        FigureCanvasSVG(fig)
        return fig, fig.add_subplot()


def number(value: float, digits: int = 2) -> str:
    """Return a number as text with a real minus sign, and none in front of a zero.

    Examples
    --------
    >>> number(0.125), number(-0.001), number(-1.5, 1) == MINUS + "1.5"
    ('0.12', '0.00', True)
    """
    return f"{round(float(value), digits) + 0.0:.{digits}f}".replace("-", MINUS)
