"""Pictures for the chapter on masks: a table of weights with the forbidden cells hatched."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from qkv.figures.style import COLOURS, FAINT, INK, PHONE_INCHES, Figure, figure, number

NAMES = 1.9  # room for the names of the queries, in cells


def masked_map(
    mask: ArrayLike,
    queries: Sequence[str],
    keys: Sequence[str],
    weights: ArrayLike | None = None,
    says: Sequence[str] | None = None,
    caption: tuple[str, str] | None = None,
) -> Figure:
    """Draw which query may look at which key; hatched cells are forbidden.

    Parameters
    ----------
    mask : bool array of shape (n_q, n_k)
        True where the query may look.
    queries, keys : sequence of str
        Their names.
    weights : array of shape (n_q, n_k), optional
        Written into the cells, darker where larger; a dot stands for "may look" without them.
    says : sequence of str, optional
        What each row must predict, written at its right.
    caption : tuple of str, optional
        What stands below and what stands above the table.

    Returns
    -------
    Figure
        At most 7 columns stay readable on a phone.

    Examples
    --------
    >>> type(masked_map([[True, False], [True, True]], ["a", "b"], ["a", "b"])).__name__
    'Figure'
    """
    mask = np.asarray(mask, dtype=bool)
    n_q, n_k = len(queries), len(keys)
    shapes = [mask.shape] if weights is None else [mask.shape, np.shape(weights)]
    if any(shape != (n_q, n_k) for shape in shapes) or (says and len(says) != n_q):
        raise ValueError(
            f"mask, weights and says must have {n_q} rows and {n_k} columns, one a name, got"
            f" {shapes} and {says and len(says)} words"
        )
    right = NAMES + 0.2 if says else 0.1
    above, below = (2.0, 0.9) if caption else (1.1, 0.1)
    wide, tall = NAMES + n_k + right, n_q * 0.75 + above + below
    fig, ax = figure(PHONE_INCHES, PHONE_INCHES * tall / wide)
    fig.subplots_adjust(left=0, right=1, bottom=0, top=1)
    for r in range(n_q):
        y = 0.75 * r
        for c in range(n_k):
            _cell(
                ax, c, y, bool(mask[r, c]), None if weights is None else np.asarray(weights)[r, c]
            )
        ax.text(-0.15, y + 0.38, queries[r], ha="right", va="center", color=COLOURS["q"])
        if says:
            ax.text(n_k + 0.15, y + 0.38, f"→ {says[r]}", ha="left", va="center", color=INK)
    ax.add_patch(Rectangle((0, 0), n_k, 0.75 * n_q, fill=False, ec=FAINT, lw=0.8))
    for c, name in enumerate(keys):
        ax.text(
            c + 0.4, -0.12, name, ha="left", va="bottom", color=COLOURS["k"], rotation=30,
            rotation_mode="anchor", fontsize=9.5,
        )  # fmt: skip
    if caption:
        ax.text(-NAMES, 0.75 * n_q + 0.2, caption[0], ha="left", va="top", fontsize=9, color=FAINT)
        ax.text(-NAMES, -1.45, caption[1], ha="left", va="bottom", fontsize=9, color=FAINT)
    ax.set_xlim(-NAMES, n_k + right)
    ax.set_ylim(0.75 * n_q + below, -above)
    ax.axis("off")
    return fig


def _cell(ax: Axes, x: float, y: float, open_: bool, weight: float | None) -> None:
    """Draw one cell: hatched if forbidden, else its weight or a dot."""
    shade = 0.15 if weight is None else 0.6 * float(weight)
    colour = COLOURS["w"]
    ax.add_patch(Rectangle((x, y), 1, 0.75, facecolor=colour, alpha=shade if open_ else 0, lw=0))
    if not open_:
        ax.add_patch(
            Rectangle((x, y), 1, 0.75, fill=False, hatch="////", ec=FAINT, lw=0, alpha=0.45)
        )
    if weight is not None and (open_ or weight > 0):
        ax.text(x + 0.5, y + 0.38, number(weight), ha="center", va="center", fontsize=9)
    elif weight is None and open_:
        ax.text(x + 0.5, y + 0.36, "●", ha="center", va="center", fontsize=8, color=colour)
