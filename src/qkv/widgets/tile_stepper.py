"""TileStepper: one query reads its keys tile by tile, with three things in hand."""

from typing import Any

import numpy as np
import traitlets

from qkv.core import attention_from_scores, causal_mask, online_attention_steps
from qkv.widgets.base import BookWidget, Vector, html_table, number, static_text

__all__ = ["TileStepper"]

CAPTION = (
    "Finished scores of one query with eight keys; the pair below a score is the key's value. The"
    " small table has a square for each tile of all 8 by 8 scores; the frame in it is this query."
)
SCORES = (1.0, 2.0, 0.0, 1.0, 5.0, 0.0, 2.0, 3.0)
V = np.array([[1, 0], [0, 2], [3, 1], [2, 2], [0, 1], [1, 3], [2, 0], [1, 1]], dtype=np.float64)
N = len(SCORES)
LIMIT = 99.0


class TileStepper(BookWidget):
    """Running maximum, sum and output of one query over eight keys.

    Parameters
    ----------
    scores : array, shape (8,)
        Of the query with each key, between -99 and 99.
    tile : int
        Keys read at once, 1 to 8.
    read : int
        Tiles that have been read, 0 to 8. More than there are counts as all.
    causal : bool
        Whether the query may only look at keys up to its own place.
    query : int
        Its place, 0 to 7.

    Examples
    --------
    >>> from qkv.widgets import TileStepper
    >>> made = TileStepper().numbers()
    >>> made["after"].round(3).tolist(), round(made["factor"], 3)
    ([5.0, 1.1, 0.163, 1.183], 0.05)
    """

    name = "tile-stepper"
    _esm = static_text("tile-stepper.mjs")

    scores = Vector(SCORES, shape=(N,))
    tile = traitlets.Int(3, min=1, max=N).tag(sync=True)
    read = traitlets.Int(2, min=0, max=N).tag(sync=True)
    causal = traitlets.Bool(False).tag(sync=True)
    query = traitlets.Int(4, min=0, max=N - 1).tag(sync=True)

    def __init__(self, **traits: Any):
        traits.setdefault("caption", CAPTION)
        super().__init__(**traits)

    @traitlets.validate("scores")
    def _in_range(self, proposal: Any) -> np.ndarray:
        scores = np.asarray(proposal["value"])
        if np.abs(scores).max() > LIMIT:
            raise traitlets.TraitError(f"scores must be between -{LIMIT:g} and {LIMIT:g}")
        return scores

    def numbers(self) -> dict[str, Any]:
        """Return what the widget shows, by `qkv.core`.

        `before`, `kept`, `added` and `after` are [m, l, o in column 0, o in column 1]; kept is
        before times the factor, and NaN where there is nothing to multiply.
        """
        allowed = causal_mask(N)[self.query] if self.causal else np.ones(N, dtype=bool)
        row = np.where(allowed, self.scores, -np.inf)[None]
        tiles = -(-int(allowed.sum()) // self.tile)
        read = min(self.read, tiles)
        steps = online_attention_steps(row, V, self.tile)
        after = np.column_stack([steps.largest, steps.totals, steps.sums[:, 0]])
        after = np.vstack([[-np.inf, 0.0, 0.0, 0.0], after])
        first = max(read - 1, 0) * self.tile
        part = slice(first, first + self.tile if read else first)
        factor = float(steps.factors[read - 1, 0]) if read else 1.0
        before, now = after[max(read - 1, 0)], after[read]
        kept = np.array([np.nan, *(factor * before[1:])])
        added = np.array([row[0, part].max(initial=-np.inf), *(now[1:] - kept[1:])])
        full, weights = attention_from_scores(row, V)
        in_tile = len(row[0, part])
        return {
            "tiles": tiles,
            "read": read,
            "factor": factor,
            "before": before,
            "kept": kept,
            "added": added,
            "after": now,
            "mean": now[2:] / (now[1] or 1.0),
            "full": full[0],
            "weights": weights[0],
            "in_tile": in_tile,
            "computed": self._computed(),
        }

    def _computed(self) -> int:
        """Return how many tiles of the whole table are computed."""
        side = -(-N // self.tile)
        return side * (side + 1) // 2 if self.causal else side * side

    def poster(self) -> str:
        """Return the step as a table, under the scores with the tile that was read last."""
        made = self.numbers()
        first = max(made["read"] - 1, 0) * self.tile
        cells = "".join(_cell(self, made, j, first) for j in range(N))
        said = (
            f"factor {number(made['factor'], 3)}; o / l = {_pair(made['mean'])}, the full softmax"
            f" gives {_pair(made['full'])}"
        )
        spoken = said.replace("o / l", "o over l")
        picture = (
            '<svg viewBox="0 0 350 84" width="350" height="84" role="img" font-size="14"'
            f' fill="currentColor" aria-label="Eight scores in tiles of {self.tile}; {spoken}">'
            f'{cells}<text x="175" y="74" text-anchor="middle" font-size="12">{said}</text></svg>'
        )
        rows = [
            (name, [made[column][i] for column in ("before", "kept", "added", "after")])
            for i, name in enumerate(("m", "l", "o[0]", "o[1]"))
        ]
        table = html_table(
            ["before", "times the factor", "this tile", "after"], rows, "One step", digits=3
        )
        return (
            f'<div class="qkv-tile-poster">{picture}'
            f"<details><summary>The numbers</summary>{table}</details></div>"
        )


def _cell(widget: TileStepper, made: dict[str, Any], j: int, first: int) -> str:
    now = made["read"] > 0 and first <= j < first + widget.tile
    hidden = widget.causal and j > widget.query
    text = "" if hidden else number(widget.scores[j], 1)
    return (
        f'<rect x="{43 * j + 4}" y="22" width="38" height="28" fill="none" stroke="currentColor"'
        f' stroke-width="{3 if now else 1}"/>'
        f'<text x="{43 * j + 23}" y="41" text-anchor="middle">{text}</text>'
        f'<text x="{43 * j + 23}" y="14" text-anchor="middle" font-size="11">key {j}</text>'
    )


def _pair(x: np.ndarray) -> str:
    return f"({number(x[0])}, {number(x[1])})"
