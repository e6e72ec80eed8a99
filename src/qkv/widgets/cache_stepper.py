"""CacheStepper: write the running example word by word, and see what is made and what is kept."""

from html import escape
from typing import Any

import numpy as np
import traitlets

from qkv.core import (
    MultiHeadParameters,
    attention_flops,
    cached_self_attention,
    pool_kv_heads,
    project_flops,
    project_heads,
    repeat_kv_heads,
)
from qkv.data import running_example
from qkv.widgets.base import BookWidget, html_table, number, static_text

__all__ = ["CacheStepper"]

CAPTION = (
    "The German side of the running example, written by three heads. A full square: this row of K"
    " and V is made in this step; an empty one: it is kept from before. One set for all heads is"
    " made by the mean of the three heads' matrices."
)
WORDS = running_example().tokens_target
WAYS = ("nothing", "X", "K and V")
N_HEADS = 3


class CacheStepper(BookWidget):
    """One step of writing: the new word's query, the rows that it looks at, and the bill.

    Parameters
    ----------
    word : int
        The new word, 0 to 6.
    kept : {"nothing", "X", "K and V"}
        What is kept from step to step.
    sets : int
        Sets of keys and values: 3, one a head, or 1 for all.
    head : int
        Whose numbers are shown, 0 to 2.

    Examples
    --------
    >>> from qkv.widgets import CacheStepper
    >>> made = CacheStepper().numbers()
    >>> made["weights"].round(2).tolist(), made["made"]
    ([0.02, 0.02, 0.02, 0.02, 0.92, 0.02], [0, 0, 0, 0, 0, 1])
    """

    name = "cache-stepper"
    _esm = static_text("cache-stepper.mjs")

    word = traitlets.Int(5, min=0, max=len(WORDS) - 1).tag(sync=True)
    kept = traitlets.Enum(list(WAYS), "K and V").tag(sync=True)
    sets = traitlets.Enum([3, 1], 3).tag(sync=True)
    head = traitlets.Int(0, min=0, max=N_HEADS - 1).tag(sync=True)

    def __init__(self, **traits: Any):
        traits.setdefault("caption", CAPTION)
        super().__init__(**traits)

    @property
    def parameters(self) -> MultiHeadParameters:
        """The example's matrices, with as many sets of keys and values as are chosen."""
        ex = running_example()
        separate = MultiHeadParameters(ex.W_Q, ex.W_K, ex.W_V, ex.W_O)
        return pool_kv_heads(separate, self.sets)

    def numbers(self) -> dict[str, Any]:
        """Return what the widget shows, by `qkv.core`: a step behind the cache of those before."""
        parameters, X = self.parameters, running_example().X_target
        cache = None
        if self.word:
            _, _, cache = cached_self_attention(X[: self.word], parameters)
        new = X[self.word : self.word + 1]
        _, weights, longer = cached_self_attention(new, parameters, cache)
        times = N_HEADS // self.sets
        k = repeat_kv_heads(longer.k, times)[self.head]
        v = repeat_kv_heads(longer.v, times)[self.head]
        return {
            "q": project_heads(new, parameters.W_Q)[self.head, 0],
            "k": k,
            "v": v,
            "weights": weights[self.head, 0],
            "output": weights[self.head, 0] @ v,
            "made": [int(self.kept != "K and V" or t == self.word) for t in range(longer.n)],
            "table": [self._bill(way) for way in WAYS],
        }

    def _bill(self, way: str) -> list[int]:
        """Return multiplications of this step and of all so far, and the numbers kept after it."""
        n = self.word + 1
        steps = [self._step(t, way) for t in range(1, n + 1)]
        _, d_model, d_k = running_example().W_Q.shape
        d_v = running_example().W_V.shape[2]
        kept = {"nothing": 0, "X": n * d_model, "K and V": n * self.sets * (d_k + d_v)}
        return [steps[-1], sum(steps), kept[way]]

    def _step(self, n: int, way: str) -> int:
        """Count the multiplications of the step that writes word n: half of core's operations."""
        h, d_model, d_k = running_example().W_Q.shape
        d_v = running_example().W_V.shape[2]
        rows, made = n if way == "nothing" else 1, 1 if way == "K and V" else n
        operations = project_flops(rows, d_model, h * d_k) + project_flops(rows, h * d_v, d_model)
        operations += project_flops(made, d_model, self.sets * (d_k + d_v))
        return (operations + h * attention_flops(rows, n, d_k, d_v)) // 2

    def poster(self) -> str:
        """Return the rows made and kept as a picture, and two tables of numbers."""
        made = self.numbers()
        words = WORDS[: self.word + 1]
        squares = "".join(
            f'<rect x="{92 * t + 34}" y="8" width="20" height="20" stroke="var(--qkv-k, #a34700)"'
            f' stroke-width="2" fill="{"var(--qkv-k, #a34700)" if fresh else "none"}"/>'
            f'<text x="{92 * t + 44}" y="50" text-anchor="middle">{escape(word)}</text>'
            f'<text x="{92 * t + 44}" y="72" text-anchor="middle" font-size="13"'
            f' fill="var(--qkv-w, #7a3ea8)">{number(weight)}</text>'
            for t, (word, fresh, weight) in enumerate(
                zip(words, made["made"], made["weights"], strict=True)
            )
        )
        wide = 92 * len(WORDS)
        label = f"made: {sum(made['made'])}, kept: {len(words) - sum(made['made'])} rows of K and V"
        picture = (
            f'<svg viewBox="0 0 {wide} 80" width="{wide}" height="80" role="img" font-size="15"'
            f' fill="currentColor" aria-label="{label}; below, the weights of the new word">'
            f"{squares}</svg>"
        )
        rows = [
            (word, [*k, *v, w])
            for word, k, v, w in zip(words, made["k"], made["v"], made["weights"], strict=True)
        ]
        columns = ["k 1", "k 2", "k 3", "k 4", "v 1", "v 2", "weight"]
        table = html_table(columns, rows, "Keys, values, and weights of the new word")
        bill = html_table(
            ["this step", "so far", "kept now"],
            zip(WAYS, np.array(made["table"]), strict=True),
            "Multiplications, and numbers kept",
            digits=0,
        )
        return (
            f'<div class="qkv-cache-poster">{picture}'
            f"<details><summary>The numbers</summary>{table}{bill}</details></div>"
        )
