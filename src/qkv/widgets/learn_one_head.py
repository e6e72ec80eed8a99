"""LearnOneHead: press "step" and watch the four matrices of one head move (chapter 7)."""

from html import escape
from typing import Any

import numpy as np
import traitlets

from qkv.core import attention_backward, attention_steps, project, project_backward, project_qkv
from qkv.data import round_table
from qkv.widgets.base import BookWidget, Matrix, html_table, number, static_text

__all__ = ["LearnOneHead"]

CAPTION = (
    "One head learns to say the coin of its right neighbour. Each step changes four matrices by"
    " minus the learning rate times the gradient of the loss over all 32 tables."
)
SHOWN = 0b01101  # heads, tails, tails, heads, tails
MOST_STEPS = 400
MATRICES = ("W_Q", "W_K", "W_V", "W_O")
Array = np.ndarray


def loss_and_gradients(
    W_Q: Array, W_K: Array, W_V: Array, W_O: Array
) -> tuple[float, tuple[Array, ...]]:
    """Return the loss over all tables and the gradient of each matrix, by `qkv.core`."""
    task = round_table()
    q, k, v = project_qkv(task.X, task.X, W_Q, W_K, W_V)
    heads = attention_steps(q, k, v).output
    gap = project(heads, W_O) - task.wanted
    grad_heads, grad_W_O, _ = project_backward(heads, W_O, 2 * gap / gap.size)
    grads = attention_backward(q, k, v, grad_heads)
    three = [project_backward(task.X, W, g)[1] for W, g in zip((W_Q, W_K, W_V), grads, strict=True)]
    return float((gap**2).mean()), (*three, grad_W_O)


class LearnOneHead(BookWidget):
    """The training of one head, step by step, from a given start.

    Parameters
    ----------
    W_Q, W_K, W_V, W_O : arrays of shape (6, 4), (6, 4), (6, 2), (2, 1)
        The start; seed 7 of `qkv.data.round_table().start` if left out.
    rate : float
        The learning rate, at most 1.
    steps : int
        How many steps from the start are shown, at most 400.

    Examples
    --------
    >>> from qkv.widgets import LearnOneHead
    >>> print(LearnOneHead(steps=2).numbers()["losses"].round(3))
    [0.977 0.955 0.934]
    """

    name = "learn-one-head"
    _esm = static_text("learn-one-head.mjs")

    W_Q = Matrix(shape=(6, 4))
    W_K = Matrix(shape=(6, 4))
    W_V = Matrix(shape=(6, 2))
    W_O = Matrix(shape=(2, 1))
    rate = traitlets.CFloat(0.5, min=0.0, max=1.0).tag(sync=True)
    steps = traitlets.Int(1, min=0, max=MOST_STEPS).tag(sync=True)

    def __init__(self, **traits: Any):
        traits.setdefault("caption", CAPTION)
        for name, W in zip(MATRICES, round_table().start(seed=7), strict=True):
            traits.setdefault(name, W)
        super().__init__(**traits)

    def numbers(self) -> dict[str, Any]:
        """Return what the widget shows: losses, matrices before and after, one table, two maps."""
        four = [np.asarray(getattr(self, name)) for name in MATRICES]
        before, losses = None, []
        for step in range(self.steps + 1):
            loss, gradients = loss_and_gradients(*four)
            losses.append(loss)
            if step < self.steps:
                before = four
                four = [W - self.rate * g for W, g in zip(four, gradients, strict=True)]
        W_Q, W_K, W_V, W_O = four
        task = round_table()
        X = task.X[SHOWN]
        steps = attention_steps(*project_qkv(X, X, W_Q, W_K, W_V))
        return {
            "losses": np.array(losses),
            "scores": steps.scores,
            "weights": steps.weights,
            "answers": np.hstack([project(steps.output, W_O), task.wanted[SHOWN]]),
            "where": W_Q @ W_K.T,
            "what": W_V @ W_O,
            **dict(zip(MATRICES, four, strict=True)),
            "changes": [a - b for a, b in zip(four, before or four, strict=True)],
        }

    def poster(self) -> str:
        """Return the weights of one table as a picture, and tables of the numbers."""
        made, task = self.numbers(), round_table()
        rows = [(name, row) for name, row in zip(task.names, made["weights"], strict=True)]
        where = [(name, row) for name, row in zip(task.columns, made["where"], strict=True)]
        said = (
            f"Loss {number(made['losses'][-1], 3)} after {self.steps}"
            f" step{'' if self.steps == 1 else 's'}"
        )
        return (
            f'<div class="qkv-learn-poster">{_picture(made["weights"], task.names, said)}'
            "<details><summary>The numbers</summary>"
            + html_table(task.names, rows, f"Weights of one table. {said}")
            + html_table(task.columns, where, "Where to look: W_Q times W_K transposed")
            + "</details></div>"
        )


def _picture(weights: np.ndarray, names: tuple[str, ...], said: str) -> str:
    """Return the weights as SVG, darker where larger; a frame marks the right neighbour."""
    wide, tall, left, top = 62, 34, 60, 56
    parts = [f'<text x="{left}" y="18">{escape(said)}</text>']
    for i, name in enumerate(names):
        x, y = left + (i + 0.5) * wide, top + i * tall + 22
        parts.append(f'<text x="{x:g}" y="{top - 9}" text-anchor="middle">{escape(name)}</text>')
        parts.append(f'<text x="{left - 9}" y="{y}" text-anchor="end">{escape(name)}</text>')
    for (i, j), weight in np.ndenumerate(weights):
        x, y = left + j * wide, top + i * tall
        right = j == (i + 1) % len(names)
        bold = ' font-weight="700"' if right else ""
        shade = 0.5 * float(np.nan_to_num(weight))
        parts.append(
            f'<rect x="{x}" y="{y}" width="{wide}" height="{tall}" fill="var(--qkv-w, #7a3ea8)"'
            f' fill-opacity="{shade:.2f}" stroke="var(--qkv-line, #c3cad2)"/>'
            f'<text x="{x + wide / 2:g}" y="{y + 22}" text-anchor="middle"{bold}>'
            f"{number(weight)}</text>"
        )
    width, height = left + wide * len(names) + 2, top + tall * len(names) + 2
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img"'
        f' aria-label="Weights of one table, the right neighbour in bold. {escape(said)}"'
        f' font-size="14" fill="currentColor">{"".join(parts)}</svg>'
    )
