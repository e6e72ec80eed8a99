"""HeadSplitter: one layer with h heads, done rightly and in four wrong ways (chapter 10)."""

from html import escape
from typing import Any

import numpy as np
import traitlets

from qkv.core import head_writes, merge_heads, scaled_dot_product_attention, split_heads
from qkv.data import running_example
from qkv.widgets.base import BookWidget, Matrix, html_table, number, static_text

__all__ = ["HeadSplitter"]

CAPTION = (
    "One token through a multi-head layer: its query, each head's weights, what the heads found,"
    " and what each writes. Tint and number name the head. Here d_k = d_v = d_model / h, as torch"
    " has it, so that h can change."
)
WAYS = ("right", "slices", "reshape", "join", "no W_O")
TINTS = ("#0f8a80", "#c2347f", "#8a7a00", "#6a62c9")


def example_weights() -> np.ndarray:
    """Return W_Q, W_K, W_V and W_O side by side, (8, 32): for h = 2, the running example's heads.

    Head 1 asks "what goes with me?", head 2 "who, which?". Four columns of values a head are made
    of the example's two.
    """
    ex = running_example()
    V, rows = ex.W_V, ex.W_O.reshape(3, 2, 8)
    values = np.concatenate([V[0], V[2], V[1], V[1][:, ::-1]], axis=1)
    writing = np.concatenate([rows[0], rows[2], rows[1], rows[1][::-1]])
    asks = [np.concatenate(list(W[:2]), axis=1) for W in (ex.W_Q, ex.W_K)]
    return np.concatenate([*asks, values, writing], axis=1)


class HeadSplitter(BookWidget):
    """A layer with 1, 2 or 4 heads for one token, by the right way and by four others.

    Parameters
    ----------
    tokens : list of str
        The names of the rows of x.
    x : array, shape (n, d_model)
        One token a row; the running example's if left out.
    w : array, shape (d_model, 4 * d_model)
        W_Q, W_K, W_V and W_O side by side.
    n_heads : int
        1, 2 or 4.
    way : {"right", "slices", "reshape", "join", "no W_O"}
        Project, then split; split, then project; reshape without turning; join without turning
        back; without W_O.
    token : int
        Which row is shown.

    Examples
    --------
    >>> from qkv.widgets import HeadSplitter
    >>> HeadSplitter().numbers()["weights"].round(2).tolist()
    [[0.02, 0.02, 0.02, 0.93, 0.02], [0.93, 0.02, 0.02, 0.02, 0.02]]
    """

    name = "head-splitter"
    _esm = static_text("head-splitter.mjs")

    tokens = traitlets.List(traitlets.Unicode(), minlen=2).tag(sync=True)
    x = Matrix()
    w = Matrix()
    n_heads = traitlets.Int(2).tag(sync=True)
    way = traitlets.Enum(list(WAYS), "right").tag(sync=True)
    token = traitlets.Int(1).tag(sync=True)

    def __init__(self, **traits: Any):
        ex = running_example()
        traits.setdefault("caption", CAPTION)
        traits.setdefault("tokens", list(ex.tokens_source))
        traits.setdefault("x", ex.X_source)
        traits.setdefault("w", example_weights())
        super().__init__(**traits)
        n, d = self.x.shape
        if n != len(self.tokens) or self.w.shape != (d, 4 * d) or d % 4:
            raise traitlets.TraitError(
                f"x must be (n, d), one row a token, and w (d, 4 * d) with d a multiple of 4; got"
                f" {len(self.tokens)} tokens, x {self.x.shape}, w {self.w.shape}"
            )

    @traitlets.validate("n_heads")
    def _valid_heads(self, proposal: Any) -> int:
        if proposal["value"] not in (1, 2, 4):
            raise traitlets.TraitError(f"n_heads must be 1, 2 or 4, got {proposal['value']}")
        return int(proposal["value"])

    @traitlets.validate("token")
    def _valid_token(self, proposal: Any) -> int:
        if not 0 <= proposal["value"] < len(self.tokens):
            raise traitlets.TraitError(f"token must be a row of x, got {proposal['value']}")
        return int(proposal["value"])

    def layer(self, x: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return q, weights, what was found and W_O, for all tokens, by the way that is set."""
        n, d = x.shape
        h = self.n_heads
        W_Q, W_K, W_V, W_O = np.split(self.w, 4, axis=1)
        if self.way == "slices":
            inside = np.kron(np.eye(h), np.ones((d // h, d // h)))
            W_Q, W_K, W_V = (W * inside for W in (W_Q, W_K, W_V))
        if self.way == "no W_O":
            W_O = np.eye(d)
        wide = [x @ W for W in (W_Q, W_K, W_V)]
        if self.way == "reshape":
            q, k, v = (a.reshape(h, n, d // h) for a in wide)
        else:
            q, k, v = (split_heads(a, h) for a in wide)
        heads, weights = scaled_dot_product_attention(q, k, v)
        straight = self.way in ("reshape", "join")
        found = heads.reshape(n, d) if straight else merge_heads(heads)
        return wide[0], weights, found, W_O

    def numbers(self) -> dict[str, Any]:
        """Return what is shown for the token, and what the way breaks."""
        x, h, d = np.asarray(self.x), self.n_heads, self.x.shape[1]
        q, weights, found, W_O = self.layer(x)
        writes = head_writes(split_heads(found, h), W_O)
        turned = self.layer(x[::-1])[2] @ W_O
        parts = 3 * d * d // (h if self.way == "slices" else 1)
        return {
            "q": q[self.token],
            "weights": weights[:, self.token],
            "found": found[self.token],
            "writes": writes[:, self.token],
            "output": (found @ W_O)[self.token],
            "reads": d // h if self.way == "slices" else d,
            "off": float(np.abs(turned - (found @ W_O)[::-1]).max()),
            "reaches": d // h if self.way == "no W_O" else d,
            "count": parts + (0 if self.way == "no W_O" else d * d),
        }

    def poster(self) -> str:
        """Return the heads as a picture, and the token's numbers as tables."""
        made = self.numbers()
        heads = [f"head {i + 1}" for i in range(self.n_heads)]
        columns = list(running_example().columns)
        columns = (
            columns if len(columns) == len(made["output"]) else [*map(str, range(len(made["q"])))]
        )
        looks = html_table(
            self.tokens,
            zip(heads, made["weights"], strict=True),
            f"Weights of “{self.tokens[self.token]}”",
        )
        rows = [*zip(heads, made["writes"], strict=True), ("output", made["output"])]
        writes = html_table(columns, rows, "What each head writes")
        return (
            f'<div class="qkv-heads-poster">{self._picture(made)}'
            f"<details><summary>The numbers</summary>{looks}{writes}</details></div>"
        )

    def _picture(self, made: dict[str, Any]) -> str:
        """Return query, weights and writes as SVG; a head's cells have its tint and its number."""
        wide, tall, left = 46, 30, 90
        d, h = len(made["q"]), self.n_heads
        token = escape(self.tokens[self.token])
        parts: list[str] = []

        def line(y: float, name: str, cells: Any, heads: list[int], digits: int) -> None:
            parts.append(f'<text x="{left - 8}" y="{y + 20}" text-anchor="end">{name}</text>')
            for j, (x, head) in enumerate(zip(cells, heads, strict=True)):
                at = left + j * wide
                fill = "none" if head < 0 else TINTS[head]
                parts.append(
                    f'<rect x="{at}" y="{y}" width="{wide}" height="{tall}" fill="{fill}"'
                    ' fill-opacity="0.22" stroke="var(--qkv-line, #c3cad2)"/>'
                    f'<text x="{at + wide / 2:g}" y="{y + 20}" text-anchor="middle">'
                    f"{number(x, digits)}</text>"
                )

        def title(y: float, text: str) -> None:
            parts.append(f'<text x="{left}" y="{y}" font-weight="600">{text}</text>')

        of = [c * h // d for c in range(d)]
        title(18, f"query of “{token}”; a tint a head")
        line(26, "q", made["q"], of, 1)
        title(84, "weights on " + ", ".join(escape(t) for t in self.tokens))
        y = 92
        for i in range(h):
            line(y, f"head {i + 1}", made["weights"][i], [i] * len(self.tokens), 2)
            y += tall
        title(y + 26, "what each head writes")
        y += 34
        for i in range(h):
            line(y, f"head {i + 1}", made["writes"][i], [i] * d, 1)
            y += tall
        line(y, "output", made["output"], [-1] * d, 1)
        width, height = left + wide * d + 2, y + tall + 2
        looks = "; ".join(
            f"in head {i + 1} at “{escape(self.tokens[row.argmax()])}”, weight {number(row.max())}"
            for i, row in enumerate(made["weights"])
        )
        return (
            f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img"'
            f' font-size="14" fill="currentColor"><title>Query, weights and writes of “{token}”,'
            f" head by head</title><desc>“{token}” looks most {looks}. Below, a row of numbers for"
            " what each head writes into the columns of the output, and their sum. The numbers"
            f" stand in the tables that follow.</desc>{''.join(parts)}</svg>"
        )
