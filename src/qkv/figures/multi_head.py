"""Pictures for the chapter on heads: one table of weights a head, side by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from qkv.figures.style import COLOURS, FAINT, INK, PHONE_INCHES, Figure, figure


def head_maps(weights: ArrayLike, tokens: Sequence[str], titles: Sequence[str]) -> Figure:
    """Draw each head's weights in per cent, darker where larger; a weight below 1 % is a dot.

    Parameters
    ----------
    weights : array of shape (n_heads, n, n)
        Attention weights, queries in rows.
    tokens : sequence of str
        The names of queries and keys.
    titles : sequence of str
        What each head asks; written below, by number.

    Returns
    -------
    Figure
        Three heads of five tokens stay readable on a phone.

    Examples
    --------
    >>> type(head_maps(np.eye(2)[None], ["a", "b"], ["itself"])).__name__
    'Figure'
    """
    weights = np.asarray(weights, dtype=float)
    n_heads, n = len(titles), len(tokens)
    if weights.shape != (n_heads, n, n):
        raise ValueError(
            f"weights must be {(n_heads, n, n)}, one table a title, got {weights.shape}"
        )
    names, gap = 2.1, 0.5
    wide = names + n_heads * n + (n_heads - 1) * gap
    tall = n + 3.3 + 1.15 * n_heads
    fig, ax = figure(PHONE_INCHES, PHONE_INCHES * tall / wide)
    fig.subplots_adjust(left=0, right=1, bottom=0, top=1)
    for i in range(n_heads):
        left = names + i * (n + gap)
        ax.text(left, -2.5, f"head {i + 1}", ha="left", va="bottom", color=COLOURS["w"])
        for (r, c), weight in np.ndenumerate(weights[i]):
            ax.add_patch(
                Rectangle((left + c, r), 1, 1, facecolor=COLOURS["w"], alpha=0.65 * weight, lw=0)
            )
            text = f"{100 * weight:.0f}" if weight >= 0.01 else "·"
            ax.text(left + c + 0.5, r + 0.52, text, ha="center", va="center", fontsize=9.5)
        ax.add_patch(Rectangle((left, 0), n, n, fill=False, ec=FAINT, lw=0.8))
        for c, name in enumerate(tokens):
            ax.text(
                left + c + 0.5, -0.15, name, ha="center", va="bottom", rotation=90,
                color=COLOURS["k"], fontsize=9.5,
            )  # fmt: skip
        ax.text(0, n + 0.5 + 1.15 * i, f"head {i + 1}: {titles[i]}", va="top", color=INK)
    for r, name in enumerate(tokens):
        ax.text(names - 0.2, r + 0.5, name, ha="right", va="center", color=COLOURS["q"])
    ax.set_xlim(0, wide)
    ax.set_ylim(tall - 3.3, -3.3)
    ax.axis("off")
    return fig
