"""CrossAttention: two sentences, and every number of the output traced to both (chapter 12)."""

from html import escape
from typing import Any

import numpy as np
import traitlets

from qkv.core import MultiHeadParameters, MultiHeadSteps, ShapeError, head_writes, multi_head_steps
from qkv.data import running_example
from qkv.widgets.base import BookWidget, html_table, number, static_text

__all__ = ["CrossAttention"]

CAPTION = (
    "Cross-attention between two sentences of unequal length and width. Lines: the weights of one"
    " head, the chosen target word's in full colour. Below, the layer's output, and what each"
    " source word brings through each head into the chosen number."
)
LEAST = 0.04  # a line of less weight is not drawn


def example_inputs() -> dict[str, Any]:
    """Return the two sentences of the running example, with the names of all columns."""
    ex = running_example()
    return {
        "tokens_q": list(ex.tokens_target),
        "X": ex.X_target.tolist(),
        "tokens_kv": list(ex.tokens_source),
        "memory": ex.memory.tolist(),
        "columns": list(ex.columns),
        "columns_kv": [*ex.columns, "eaten"],
        "heads": ["meaning", "subject, article", "verb, object"],
    }


def example_parameters() -> dict[str, Any]:
    """Return the matrices of the running example's cross-attention."""
    ex = running_example()
    matrices = {"W_Q": ex.W_Q_cross, "W_K": ex.W_K_memory, "W_V": ex.W_V_memory, "W_O": ex.W_O}
    return {name: matrix.tolist() for name, matrix in matrices.items()}


class CrossAttention(BookWidget):
    """One layer of cross-attention: lines between two sentences, and where each number came from.

    Parameters
    ----------
    inputs : dict
        ``tokens_q``, ``X`` (n_q, d_model), ``tokens_kv``, ``memory`` (n_k, d_memory), and the
        names ``columns`` (of X and of the output), ``columns_kv`` and ``heads``.
    parameters : dict
        ``W_Q``, ``W_K``, ``W_V``, one matrix a head, and ``W_O``.
    order : list of int
        The source words in the order in which they stand in the memory.
    hidden : list of int
        1 for a source word that may not be looked at, by the word's own number.
    chosen : list of int
        Target word, column of the output, head, source word.

    Examples
    --------
    >>> from qkv.widgets import CrossAttention
    >>> made = CrossAttention().numbers()
    >>> made["output"].shape, made["parts"].round(2)[0].tolist()
    ((7, 8), [0.03, 2.87, 0.0, 0.02, -0.01])
    """

    name = "cross-attention"
    _esm = static_text("cross-attention.mjs")

    inputs = traitlets.Dict().tag(sync=True)
    parameters = traitlets.Dict().tag(sync=True)
    order = traitlets.List(traitlets.Int()).tag(sync=True)
    hidden = traitlets.List(traitlets.Int()).tag(sync=True)
    chosen = traitlets.List(traitlets.Int(), minlen=4, maxlen=4).tag(sync=True)

    def __init__(self, **traits: Any):
        traits.setdefault("caption", CAPTION)
        traits.setdefault("inputs", example_inputs())
        traits.setdefault("parameters", example_parameters())
        words = len(traits["inputs"].get("tokens_kv", ()))
        traits.setdefault("order", list(range(words)))
        traits.setdefault("hidden", [0] * words)
        traits.setdefault("chosen", [5, 2, 0, 1] if words > 1 else [0, 0, 0, 0])
        super().__init__(**traits)
        self._refuse()

    def _refuse(self) -> None:
        """Raise a TraitError in a sentence if the traits do not fit together."""
        n = len(self.inputs["tokens_kv"])
        if sorted(self.order) != list(range(n)):
            raise traitlets.TraitError(f"order must hold each of 0 to {n - 1} once")
        if len(self.hidden) != n or not set(self.hidden) <= {0, 1}:
            raise traitlets.TraitError(f"hidden must hold {n} numbers, each 0 or 1")
        try:
            steps = self._steps()
        except ShapeError as error:
            raise traitlets.TraitError(str(error)) from None
        n_heads, n_q, n_k = steps.attention.weights.shape
        sizes = {
            "tokens_q": n_q,
            "tokens_kv": n_k,
            "columns": steps.output.shape[1],
            "columns_kv": np.shape(self.inputs["memory"])[1],
            "heads": n_heads,
        }
        for name, size in sizes.items():
            if len(self.inputs[name]) != size:
                raise traitlets.TraitError(f"inputs[{name!r}] must hold {size} names")
        limits = (n_q, sizes["columns"], n_heads, n_k)
        if not all(0 <= at < limit for at, limit in zip(self.chosen, limits, strict=True)):
            raise traitlets.TraitError(f"chosen must lie below {limits}, got {self.chosen}")

    def _steps(self) -> MultiHeadSteps:
        X = np.array(self.inputs["X"], dtype=np.float64)
        memory = np.array(self.inputs["memory"], dtype=np.float64)[self.order]
        parameters = MultiHeadParameters(
            **{name: np.array(value, dtype=np.float64) for name, value in self.parameters.items()}
        )
        seen = np.array([self.hidden[word] == 0 for word in self.order])
        return multi_head_steps(X, memory, parameters, np.tile(seen, (len(X), 1)))

    def numbers(self) -> dict[str, Any]:
        """Return what the widget shows, by `qkv.core`; source words in their order."""
        steps = self._steps()
        t, c, head, word = self.chosen
        W_O = np.array(self.parameters["W_O"], dtype=np.float64)
        cargo = head_writes(steps.attention.v, W_O)
        weights, place = steps.attention.weights, self.order.index(word)
        return {
            "weights": weights,
            "output": steps.output,
            "cargo": cargo,
            "parts": weights[:, t] * cargo[:, :, c],
            "weight": weights[head, t, place],
            "score": steps.attention.scaled[head, t, place],
        }

    def poster(self) -> str:
        """Return the lines of the chosen head as a picture, and two tables of numbers."""
        made = self.numbers()
        t, c, head, _ = self.chosen
        asks, columns = self.inputs["tokens_q"], self.inputs["columns"]
        words = [self.inputs["tokens_kv"][word] for word in self.order]
        output = html_table(columns, zip(asks, made["output"], strict=True), "output")
        rows = [(f"head {i + 1}", row) for i, row in enumerate(made["parts"])]
        parts = html_table(words, rows, f"parts of {asks[t]}, {columns[c]}")
        picture = _picture(made["weights"][head], asks, words, t)
        return (
            f'<div class="qkv-cross-poster">{picture}'
            f"<details><summary>The numbers</summary>{output}{parts}</details></div>"
        )


def _middles(words: list[str], room: float) -> np.ndarray:
    widths = np.array([len(word) + room for word in words])
    return 700 * (np.cumsum(widths) - widths / 2) / widths.sum()


def _picture(weights: np.ndarray, asks: list[str], words: list[str], chosen: int) -> str:
    """Return two lines of words and the weights between them as SVG."""
    above, below = _middles(asks, 3.5), _middles(words, 9)
    parts = []
    for (i, j), weight in np.ndenumerate(weights):
        if weight >= LEAST:
            strong = 1 if i == chosen else 0.28
            parts.append(
                f'<line x1="{above[i]:.1f}" y1="34" x2="{below[j]:.1f}" y2="126"'
                f' stroke="var(--qkv-w, #7a3ea8)" stroke-width="{8 * weight:.2f}"'
                f' stroke-opacity="{strong}" stroke-linecap="round"/>'
            )
    for i, word in enumerate(asks):
        bold = ' font-weight="700"' if i == chosen else ""
        parts.append(_text(above[i], 22, word, "q", bold))
    for j, word in enumerate(words):
        parts.append(_text(below[j], 146, number(weights[chosen, j]), "w", ' font-size="13"'))
        parts.append(_text(below[j], 168, word, "k"))
    j = int(weights[chosen].argmax())
    label = f"query {asks[chosen]!r} looks at key {words[j]!r}, weight {number(weights[chosen, j])}"
    return (
        '<svg viewBox="0 0 700 180" width="700" height="180" role="img"'
        f' aria-label="Two sentences joined by the weights of one head; {escape(label)}"'
        f' font-size="16" font-family="system-ui, sans-serif">{"".join(parts)}</svg>'
    )


def _text(x: float, y: float, text: str, role: str, more: str = "") -> str:
    colour = {"q": "#0b5cad", "k": "#a34700", "w": "#7a3ea8"}[role]
    return (
        f'<text x="{x:.1f}" y="{y}" text-anchor="middle" fill="var(--qkv-{role}, {colour})"{more}>'
        f"{escape(text)}</text>"
    )
