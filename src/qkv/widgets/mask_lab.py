"""MaskLab: paint a mask; see the weights, what leaks, and which rows are empty (chapter 9)."""

from html import escape
from typing import Any

import numpy as np
import traitlets

from qkv.core import attention_steps, causal_mask, project_qkv, softmax
from qkv.data import running_example
from qkv.widgets.base import BookWidget, Matrix, html_table, number, static_text

__all__ = ["MaskLab"]

CAPTION = (
    "Weights of one head under a mask that can be painted: each row is a query. Hatched cells are"
    " hidden; “later” is the weight that a row gives to tokens after itself."
)
TOKENS = ("sie", "hat", "einen", "Apfel", ".", "pad", "pad")
HOLE = (2, 3)  # "einen" may look at "Apfel", the word that it has to predict
RULES = ("-inf", "-1e9", "0", "after", "again")


def example_scores() -> np.ndarray:
    """Return the scaled scores of the running example's first head; a pad is a row of zeros."""
    ex = running_example()
    rows = dict(zip(ex.tokens_target, ex.X_target, strict=True))
    X = np.stack([rows.get(token, np.zeros(len(ex.columns))) for token in TOKENS])
    q, k, v = project_qkv(X, X, ex.W_Q[0], ex.W_K[0], ex.W_V[0])
    return attention_steps(q, k, v).scaled


class MaskLab(BookWidget):
    """Weights under a painted mask, by one of five rules for a hidden key.

    Parameters
    ----------
    tokens : list of str
        Each is a query and a key; a token "pad" is a pad.
    scores : array, shape (n, n)
        Scaled scores; those of the running example if left out.
    mask : array, shape (n, n)
        1 where the query may look, 0 where not; causal with one cell too many if left out.
    rule : {"-inf", "-1e9", "0", "after", "again"}
        What a hidden key gets: a score before the softmax, or the weight 0 after it ("again":
        and then each row is divided by its sum).
    join : bool
        Whether the presets join with the mask that stands there, by "and".

    Examples
    --------
    >>> from qkv.widgets import MaskLab
    >>> MaskLab().numbers()["later"].round(2).tolist()
    [0.0, 0.0, 0.95, 0.0, 0.0, 0.0, 0.0]
    """

    name = "mask-lab"
    _esm = static_text("mask-lab.mjs")

    tokens = traitlets.List(traitlets.Unicode(), list(TOKENS), minlen=2).tag(sync=True)
    scores = Matrix()
    mask = Matrix()
    rule = traitlets.Enum(list(RULES), "-inf").tag(sync=True)
    join = traitlets.Bool(False).tag(sync=True)

    def __init__(self, **traits: Any):
        traits.setdefault("caption", CAPTION)
        n = len(traits.get("tokens", TOKENS))
        if "scores" not in traits:
            traits["scores"] = example_scores()
        if "mask" not in traits:
            traits["mask"] = causal_mask(n)
            if n > max(HOLE):
                traits["mask"][HOLE] = True
        super().__init__(**traits)
        if self.scores.shape != (n, n) or self.mask.shape != (n, n):
            raise traitlets.TraitError(
                f"scores and mask must be ({n}, {n}), a row and a column for each token, got"
                f" {self.scores.shape} and {self.mask.shape}"
            )
        if not np.isin(self.mask, (0, 1)).all():
            raise traitlets.TraitError("mask must hold 0 (hidden) and 1 (may look) and no more")

    def weights(self) -> np.ndarray:
        """Return the weights, by `qkv.core`."""
        may_look = self.mask > 0.5
        if self.rule in ("after", "again"):
            late = np.where(may_look, softmax(self.scores), 0.0)
            if self.rule == "after":
                return late
            with np.errstate(invalid="ignore"):  # an empty row is 0 divided by 0: it is shown
                return late / late.sum(axis=1, keepdims=True)
        hide = {"-inf": -np.inf, "-1e9": -1e9, "0": 0.0}[self.rule]
        return softmax(np.where(may_look, self.scores, hide))

    def numbers(self) -> dict[str, Any]:
        """Return what the widget shows."""
        weights = self.weights()
        later = ~causal_mask(len(weights))
        hidden = later & (self.mask < 0.5)
        lost = np.where(hidden, softmax(self.scores), 0.0) if self.rule == "after" else 0.0 * later
        return {
            "weights": weights,
            "sum": weights.sum(axis=1),
            "later": np.where(later, weights, 0.0).sum(axis=1),
            "lost": lost.sum(axis=1),
            "on pads": weights[:, [token == "pad" for token in self.tokens]].sum(axis=1),
            "empty": np.flatnonzero(~(self.mask > 0.5).any(axis=1)),
        }

    def poster(self) -> str:
        """Return the weights as a picture, and a table with the sums."""
        made = self.numbers()
        rows = [
            (token, [*weights, total, later])
            for token, weights, total, later in zip(
                self.tokens, made["weights"], made["sum"], made["later"], strict=True
            )
        ]
        table = html_table([*self.tokens, "sum", "later"], rows, "Weights under the mask")
        return (
            f'<div class="qkv-mask-poster">{_picture(made["weights"], self.mask, self.tokens)}'
            f"<details><summary>The numbers</summary>{table}</details></div>"
        )


def _picture(weights: np.ndarray, mask: np.ndarray, tokens: list[str]) -> str:
    """Return the table as SVG: darker where the weight is larger, a cross where a key is hidden."""
    wide, tall, left, top = 52, 34, 70, 30
    line = "var(--qkv-line, #c3cad2)"
    parts = []
    for j, key in enumerate(tokens):
        x = left + (j + 0.5) * wide
        parts.append(f'<text x="{x}" y="{top - 9}" text-anchor="middle">{escape(key)}</text>')
    for i, query in enumerate(tokens):
        y = top + i * tall
        parts.append(f'<text x="{left - 9}" y="{y + 22}" text-anchor="end">{escape(query)}</text>')
        for j, weight in enumerate(weights[i]):
            x = left + j * wide
            shade = 0.0 if np.isnan(weight) else 0.5 * min(1.0, weight)
            parts.append(
                f'<rect x="{x}" y="{y}" width="{wide}" height="{tall}" stroke="{line}"'
                f' fill="var(--qkv-w, #7a3ea8)" fill-opacity="{shade:.2f}"/>'
            )
            text = "" if weight == 0 else number(weight)
            if not mask[i, j]:
                parts.append(f'<path d="M{x} {y + tall}l{wide} -{tall}" stroke="{line}"/>')
            if text:
                at = f'x="{x + wide / 2:g}" y="{y + 22}"'
                parts.append(f'<text {at} text-anchor="middle">{text}</text>')
    width, height = left + wide * len(tokens) + 2, top + tall * len(tokens) + 2
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img"'
        ' aria-label="Weights under the mask; a stroke marks a hidden key" font-size="14"'
        f' fill="currentColor">{"".join(parts)}</svg>'
    )
