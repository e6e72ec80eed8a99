"""QKVTracer: one attention head from X to its output, and where each number came from."""

import math
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
import traitlets

from qkv.core import AttentionSteps, attention_steps, causal_mask, project_qkv
from qkv.data import running_example
from qkv.widgets.base import BookWidget, Matrix, number, static_text

__all__ = ["QKVTracer"]

CAPTION = (
    "One attention head, all its numbers. The inputs X and the learned matrices W can be changed;"
    " Q, K, V, scores, weights and output follow."
)
MOST_NUMBERS = 700  # a page of real tables; above that nobody follows a single number

Numbers = Sequence[Sequence[float]]


class QKVTracer(BookWidget):
    """One attention head as tables: X and W, then Q, K and V, scores, weights and output.

    Any number of X and W can be edited. A number of any other table shows the row and the column
    it was computed from, with the arithmetic written out.

    Parameters
    ----------
    inputs : dict
        ``tokens_kv`` and ``X_kv`` (n_kv, d_model), the sequence that is looked at; ``tokens_q``
        and ``X_q``, the sequence that asks when `mode` is "cross"; ``columns``, the names of X's
        columns, and ``columns_kv`` where X_kv has columns of its own. By default the running
        example.
    w_q, w_k, w_v : array, shape (d_model, d_k), (d_model, d_k), (d_model, d_v)
        The learned matrices. Their shapes are fixed once the widget is made.
    mode : {"self", "cross"}
        In self-attention ``X_kv`` asks itself.
    mask : {"none", "causal"}
        Has an effect in self-attention only.

    Examples
    --------
    >>> from qkv.widgets import QKVTracer
    >>> widget = QKVTracer()
    >>> an, apple = widget.inputs["tokens_kv"].index("an"), 3
    >>> print(widget.weights[an].round(2))
    [0.02 0.02 0.02 0.93 0.02]
    >>> widget.w_q = 0 * widget.w_q
    >>> print(widget.weights[an])
    [0.2 0.2 0.2 0.2 0.2]
    """

    name = "qkv-tracer"
    _esm = static_text("qkv-tracer.mjs")

    inputs = traitlets.Dict().tag(sync=True)
    w_q = Matrix()
    w_k = Matrix()
    w_v = Matrix()
    mode = traitlets.Enum(["self", "cross"], "self").tag(sync=True)
    mask = traitlets.Enum(["none", "causal"], "none").tag(sync=True)

    def __init__(self, **traits: Any):
        ex = running_example()
        self._made = False
        super().__init__(
            **{
                "inputs": {
                    "tokens_q": ex.tokens_target,
                    "X_q": ex.X_target,
                    "tokens_kv": ex.tokens_source,
                    "X_kv": ex.X_source,
                    "columns": ex.columns,
                },
                "w_q": ex.W_Q[0],
                "w_k": ex.W_K[0],
                "w_v": ex.W_V[0],
                "caption": CAPTION,
                **traits,
            }
        )
        self._made = True
        count = sum(array.size for array in self._arrays().values())
        if count > MOST_NUMBERS:
            raise ValueError(
                f"these sizes make {count} numbers to show, and QKVTracer shows {MOST_NUMBERS} at"
                " most; give it fewer tokens or columns"
            )

    @classmethod
    def head(cls, i: int, **traits: Any) -> "QKVTracer":
        """Make the widget for head `i` (0, 1 or 2) of the running example."""
        ex = running_example()
        return cls(**{"w_q": ex.W_Q[i], "w_k": ex.W_K[i], "w_v": ex.W_V[i], **traits})

    @property
    def X_q(self) -> np.ndarray:  # noqa: N802
        """The sequence that asks; in self-attention it is `X_kv`."""
        return self.X_kv if self.mode == "self" else np.array(self.inputs["X_q"])

    @property
    def X_kv(self) -> np.ndarray:  # noqa: N802
        """The sequence that is looked at."""
        return np.array(self.inputs["X_kv"])

    @property
    def steps(self) -> AttentionSteps:
        """Everything between q, k, v and the output, computed by `qkv.core`."""
        q, k, v = project_qkv(self.X_q, self.X_kv, self.w_q, self.w_k, self.w_v)
        hides = self.mask == "causal" and self.mode == "self"
        return attention_steps(q, k, v, causal_mask(len(q)) if hides else None)

    @property
    def q(self) -> np.ndarray:
        """The queries, shape (n_q, d_k)."""
        return self.steps.q

    @property
    def k(self) -> np.ndarray:
        """The keys, shape (n_kv, d_k)."""
        return self.steps.k

    @property
    def v(self) -> np.ndarray:
        """The values, shape (n_kv, d_v)."""
        return self.steps.v

    @property
    def scores(self) -> np.ndarray:
        """The scaled scores, shape (n_q, n_kv); -inf where the mask hides a key."""
        return self.steps.scores

    @property
    def weights(self) -> np.ndarray:
        """The attention weights, shape (n_q, n_kv); each row sums to 1."""
        return self.steps.weights

    @property
    def output(self) -> np.ndarray:
        """The weighted means of the values, shape (n_q, d_v)."""
        return self.steps.output

    @traitlets.validate("inputs")
    def _plain_inputs(self, proposal: Any) -> dict[str, Any]:
        inputs = _inputs(proposal["value"])
        if self._made:
            old = self.inputs
            for key in ("X_q", "X_kv"):
                if len(old[key][0]) != len(inputs[key][0]):
                    raise traitlets.TraitError(
                        f"{key} must keep its {len(old[key][0])} columns, got"
                        f" {len(inputs[key][0])}; make a new QKVTracer for another width"
                    )
        return inputs

    @traitlets.validate("w_q", "w_k", "w_v")
    def _same_shape(self, proposal: Any) -> np.ndarray:
        name, value = proposal["trait"].name, proposal["value"]
        if self._made and value.shape != (want := getattr(self, name).shape):
            raise traitlets.TraitError(
                f"{name} must keep its shape {want}, got {value.shape};"
                " make a new QKVTracer for another size"
            )
        return value

    @traitlets.validate("mode")
    def _mode_fits(self, proposal: Any) -> str:
        if self._made and proposal["value"] == "self":
            _check_self(self.inputs)
        return proposal["value"]

    def _arrays(self) -> dict[str, np.ndarray]:
        if self.mode == "self":
            _check_self(self.inputs)
        steps = self.steps
        given = {} if self.mode == "self" else {"X_q": self.X_q}
        return given | {
            "X_kv": self.X_kv,
            "W_Q": self.w_q,
            "W_K": self.w_k,
            "W_V": self.w_v,
            "Q": steps.q,
            "K": steps.k,
            "V": steps.v,
            "scores": steps.scores,
            "weights": steps.weights,
            "output": steps.output,
        }

    def poster(self) -> str:
        """Return the whole flow as SVG, and its tables of numbers folded below."""
        arrays = self._arrays()
        names = _axes(self, arrays)
        tables = "".join(
            _table(_title(name, self.mode), *names[name], array, _texts(name, array))
            for name, array in arrays.items()
        )
        return (
            '<div class="qkv-flow-poster" role="region" tabindex="0"'
            f' aria-label="Still picture of the attention head">{_picture(self, arrays, names)}'
            f"</div><details><summary>The numbers as tables</summary>{tables}</details>"
        )


def _inputs(value: Any) -> dict[str, Any]:
    """Return `inputs` as text and float lists, every size checked."""
    missing = [key for key in ("tokens_kv", "X_kv", "columns") if key not in value]
    if missing:
        raise traitlets.TraitError(f"inputs lacks {', '.join(missing)}")
    whole = {"tokens_q": value["tokens_kv"], "X_q": value["X_kv"], **value}
    whole.setdefault("columns_kv", whole["columns"])
    known = ("tokens_q", "X_q", "tokens_kv", "X_kv", "columns", "columns_kv")
    if unknown := set(whole) - set(known):
        raise traitlets.TraitError(f"inputs has no {', '.join(sorted(unknown))}; it has {known}")
    plain: dict[str, Any] = {
        key: [str(word) for word in whole[key]] for key in known if not key.startswith("X")
    }
    for key, tokens, columns in (
        ("X_q", "tokens_q", "columns"),
        ("X_kv", "tokens_kv", "columns_kv"),
    ):
        try:
            array = np.array(whole[key], dtype=np.float64)
        except (TypeError, ValueError):
            raise traitlets.TraitError(f"{key} must be a table of numbers") from None
        want = (len(plain[tokens]), len(plain[columns]))
        if array.shape != want or 0 in want:
            raise traitlets.TraitError(
                f"{key} must be {want}, one row for each of {tokens} and one column for each of"
                f" {columns}, got {array.shape}"
            )
        if not np.isfinite(array).all():
            raise traitlets.TraitError(f"{key} must hold finite numbers, got NaN or infinity")
        plain[key] = array.tolist()
    return plain


def _check_self(inputs: dict[str, Any]) -> None:
    d_q, d_kv = len(inputs["columns"]), len(inputs["columns_kv"])
    if d_q != d_kv:
        raise traitlets.TraitError(
            f"self-attention has one sequence, and here W_Q takes {d_q} columns where X_kv has"
            f' {d_kv}: use mode="cross"'
        )


# The poster ---------------------------------------------------------------------------------------

CELL, LABEL, GAP, ROW = 25, 56, 12, 25
COLOURS = {"q": "#0b5cad", "k": "#a34700", "v": "#1b7a3d", "w": "#7a3ea8", "x": "#444b54"}
COLOURS |= {"ink": "#1f2429", "muted": "#59626d", "line": "#c3cad2"}
ROLES = {"X_q": "x", "X_kv": "x", "W_Q": "q", "Q": "q", "W_K": "k", "K": "k", "W_V": "v", "V": "v"}
ROLES |= {"scores": "w", "weights": "w", "output": "ink"}

Axes = tuple[Sequence[str], Sequence[str]]


def _axes(widget: QKVTracer, arrays: dict[str, np.ndarray]) -> dict[str, Axes]:
    """Return row and column names of every array."""
    inputs = widget.inputs
    looked = inputs["tokens_kv"]
    asking = looked if widget.mode == "self" else inputs["tokens_q"]
    numbers = {name: [str(i) for i in range(array.shape[1])] for name, array in arrays.items()}
    rows = {
        "X_q": asking,
        "X_kv": looked,
        "W_Q": inputs["columns"],
        "W_K": inputs["columns_kv"],
        "W_V": inputs["columns_kv"],
        "K": looked,
        "V": looked,
    }
    columns = {"X_q": inputs["columns"], "X_kv": inputs["columns_kv"]}
    columns |= {"scores": looked, "weights": looked}
    return {name: (rows.get(name, asking), columns.get(name, numbers[name])) for name in arrays}


def _title(name: str, mode: str) -> str:
    X_q = "X" if mode == "self" else "X_q"
    X_kv = "X" if mode == "self" else "X_kv"
    return {
        "X_kv": "X = X_q = X_kv" if mode == "self" else "X_kv",
        "Q": f"Q = {X_q} W_Q",
        "K": f"K = {X_kv} W_K",
        "V": f"V = {X_kv} W_V",
        "scores": "scores = Q Kᵀ ÷ √d_k",
        "weights": "weights = softmax by row",
        "output": "output = weights V",
    }.get(name, name)


def _texts(name: str, array: np.ndarray) -> list[list[str]]:
    """Return the numbers as the widget prints them."""
    if name.startswith(("X", "W")):
        return [[_short(float(x)) for x in row] for row in array]
    finite = array[np.isfinite(array)]
    exact = (d for d in (0, 1) if np.allclose(finite * 10**d, np.round(finite * 10**d), 0, 1e-9))
    digits = 2 if name in ("weights", "output") else next(exact, 2)
    return [[number(float(x), digits) for x in row] for row in array]


def _short(x: float) -> str:
    """Return a number with at most three decimals and no trailing zeros."""
    text = number(x, 3)
    return text.rstrip("0").rstrip(".") if "." in text else text


def _table(
    title: str,
    rows: Sequence[str],
    columns: Sequence[str],
    array: np.ndarray,
    texts: list[list[str]],
) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    body = "".join(
        f'<tr><th scope="row">{escape(name)}</th>'
        + "".join(f"<td>{text}</td>" for text in line)
        + "</tr>"
        for name, line in zip(rows, texts, strict=True)
    )
    size = " × ".join(map(str, array.shape))  # noqa: RUF001
    return (
        f"<table><caption>{escape(title)} ({size})</caption>"
        f"<thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def _picture(widget: QKVTracer, arrays: dict[str, np.ndarray], names: dict[str, Axes]) -> str:
    """Return the flow in the places that it has in js/ui/matrix.css: W above, X beside."""
    texts = {name: _texts(name, array) for name, array in arrays.items()}
    least = {"scores": 42, "weights": 42, "output": 42}
    cell = {name: max(least.get(name, CELL), 10 + 7 * _longest(texts[name])) for name in arrays}
    width = {name: array.shape[1] * cell[name] for name, array in arrays.items()}
    wide = {"Q": max(width["Q"], width["W_Q"]), "K": max(width["K"], width["W_K"])}
    given = [name for name in ("X_q", "X_kv") if name in arrays]
    x_q = LABEL + max(width[name] for name in given) + GAP + LABEL
    x_k = x_q + wide["Q"] + GAP + 10
    x_v = x_k + wide["K"] + GAP + 10
    parts: list[str] = []
    draw = _Drawing(arrays, names, texts, cell, widget.mode, parts)
    y = 50.0
    draw.matrix("W_Q", x_q, y)
    draw.matrix("W_K", x_k, y, labels=False)
    draw.matrix("W_V", x_v, y, labels=False)
    y += ROW * max(len(widget.w_q), len(widget.w_k))
    for name in given:
        y += 50 + _upright(names[name][1])
        draw.matrix(name, LABEL, y, upright=True)
        if name == given[0]:
            draw.matrix("Q", x_q, y, labels=False)
        if name == "X_kv":
            draw.matrix("K", x_k, y, labels=len(given) == 2)
            draw.matrix("V", x_v, y, labels=False)
        y += ROW * len(arrays[name])
    y += 62
    x_w = LABEL + width["scores"] + 3 * GAP
    x_o = x_w + max(width["weights"], 195) + 3 * GAP
    draw.matrix("scores", LABEL, y)
    draw.matrix("weights", x_w, y, labels=False)
    draw.matrix("output", x_o, y, labels=False)
    y += ROW * len(arrays["weights"]) + 34
    equals = np.argwhere(arrays["weights"] > arrays["weights"].max() - 1e-9)
    row, column = equals[len(equals) // 2]
    asks, looks = names["weights"][0][row], names["weights"][1][column]
    says = f"query {asks!r} looks at key {looks!r}, weight {texts['weights'][row][column]}"
    parts.append(f'<text x="{LABEL}" y="{y}" {_ink("w")} font-weight="600">{escape(says)}</text>')
    right = max(x_v + max(width["V"], 90), x_o + max(width["output"], 150))
    kind = "self-attention" if widget.mode == "self" else "cross-attention"
    label = f"One head of {kind}, from X to the output; {says}"
    return (
        f'<svg viewBox="0 0 {right:.0f} {y + 12:.0f}" width="{right:.0f}" height="{y + 12:.0f}"'
        f' role="img" aria-label="{escape(label)}" font-size="13"'
        f' font-family="system-ui, sans-serif" {_ink("ink")}>' + "".join(parts) + "</svg>"
    )


class _Drawing:
    def __init__(
        self,
        arrays: dict[str, np.ndarray],
        names: dict[str, Axes],
        texts: dict[str, list[list[str]]],
        cell: dict[str, int],
        mode: str,
        parts: list[str],
    ):
        self.arrays, self.names, self.texts = arrays, names, texts
        self.cell, self.mode, self.parts = cell, mode, parts

    def matrix(
        self, name: str, x: float, y: float, labels: bool = True, upright: bool = False
    ) -> None:
        """Draw one array with its corner at (x, y): formula, names, frame and numbers."""
        rows, columns = self.names[name]
        array, cell, role = self.arrays[name], self.cell[name], ROLES[name]
        above = _upright(columns) if upright else 16
        size = " × ".join(map(str, array.shape))  # noqa: RUF001
        add = self.parts.append
        add(f'<text x="{x}" y="{y - above - 22}" {_ink(role)} font-weight="600">')
        add(f"{_subscripts(_title(name, self.mode))}</text>")
        add(f'<text x="{x}" y="{y - above - 7}" {_ink("muted")} font-size="11">{size}</text>')
        if name == "weights":
            for i, j in np.argwhere(array > 0.05):
                add(
                    f'<rect x="{x + j * cell}" y="{y + i * ROW}" width="{cell}" height="{ROW}"'
                    f' {_ink("w")} fill-opacity="{array[i, j] / 2:.2f}"/>'
                )
        add(
            f'<rect x="{x}" y="{y}" width="{cell * array.shape[1]}" height="{ROW * len(rows)}"'
            f' fill="none" {_ink(role, "stroke")}/>'
        )
        for j, column in enumerate(columns):
            middle = x + (j + 0.5) * cell
            turn = f'transform="rotate(-90 {middle + 4} {y - 5})"' if upright else ""
            place = f'x="{middle + 4}" y="{y - 5}"' if upright else f'x="{middle}" y="{y - 4}"'
            anchor = "" if upright else 'text-anchor="middle"'
            add(f'<text {place} {anchor} {turn} {_ink("muted")} font-size="11">{escape(column)}')
            add("</text>")
        for i, row in enumerate(rows):
            line = y + (i + 0.5) * ROW + 4.5
            if labels:
                place = f'x="{x - 6}" y="{line}" text-anchor="end"'
                add(f'<text {place} {_ink("muted")} font-size="12">{escape(row)}</text>')
            middles = [x + (j + 0.5) * cell for j in range(array.shape[1])]
            numbers = _spread(self.texts[name][i], middles)
            add(f'<text y="{line}" text-anchor="middle"{numbers}</text>')


def _spread(texts: list[str], middles: list[float]) -> str:
    """Return the rest of a text element with one text at each place, in as few elements as can be.

    One character each: the element's own list of places, one a character. Longer: spans.
    """
    if all(len(text) == 1 for text in texts):
        return f' x="{" ".join(map(str, middles))}">{"".join(texts)}'
    pairs = zip(texts, middles, strict=True)
    return ">" + "".join(f'<tspan x="{middle}">{text}</tspan>' for text, middle in pairs)


def _ink(colour: str, what: str = "fill") -> str:
    return f'{what}="var(--qkv-{colour}, {COLOURS[colour]})"'


def _longest(texts: list[list[str]]) -> int:
    return max(len(text) for line in texts for text in line)


def _upright(columns: Sequence[str]) -> int:
    return 12 + math.ceil(6.2 * max(map(len, columns)))


def _subscripts(title: str) -> str:
    """Return a formula with its subscripts lowered."""
    words = []
    for word in escape(title).split(" "):
        base, _, sub = word.partition("_")
        down = f'<tspan dy="3" font-size="10">{sub}</tspan><tspan dy="-3"> </tspan>' if sub else ""
        words.append(base + (down or " "))
    return "".join(words).strip()
