"""LayerStepper: one token's row at every place of a layer, and what it is made of (chapter 14)."""

from collections.abc import Mapping
from html import escape
from typing import Any, NamedTuple

import numpy as np
import traitlets

from qkv.core import (
    EncoderLayerParameters,
    FeedForwardParameters,
    LayerNormParameters,
    MultiHeadParameters,
    feed_forward,
    layer_norm,
    multi_head_steps,
    relu,
    softmax,
    vocabulary_scores,
)
from qkv.data import running_example
from qkv.widgets.base import BookWidget, html_table, number, static_text

__all__ = ["LayerStepper"]

CAPTION = (
    "One token's row at every place of a layer. A bar shows what a column is made of: the word"
    " itself, each head, the feed-forward part. A LayerNorm shrinks all parts alike."
)
ARRAYS = ("X", "W_Q", "W_K", "W_V", "W_O", "W_1", "b_1", "W_2", "E")
NAMES = ("tokens", "columns", "units", "words")


class Place(NamedTuple):
    """Where the row was read; `parts` sum to `row`: the word, each head, the feed-forward part."""

    name: str
    kind: str
    row: np.ndarray
    parts: np.ndarray


def example_layer() -> dict[str, Any]:
    """Return the layer of the chapter: names and numbers of the running example."""
    ex = running_example()
    names = {"tokens": ex.tokens_source, "columns": ex.columns, "units": ex.units}
    lists = {name: list(value) for name, value in {**names, "words": ex.words}.items()}
    arrays = {"X": ex.X_source, **{name: getattr(ex, name) for name in ARRAYS if name != "X"}}
    return {**lists, **{name: array.tolist() for name, array in arrays.items()}}


class LayerStepper(BookWidget):
    """A token's way through one encoder layer, post-norm or pre-norm, and on to the words.

    Parameters
    ----------
    layer : dict
        Names (tokens, columns, units, words) and arrays (X, W_Q, W_K, W_V, W_O, W_1, b_1, W_2, E),
        as nested lists; the running example's if left out. Gains are 1, shifts 0, and there are no
        biases but b_1.
    token : int
        Whose row is shown.
    place : int
        Where on its way, counted from 0.
    order : {"post", "pre"}
        Whether the norms stand on the sum or before the parts.
    residual : bool
        Whether a part's answer is added to the row; if not, it replaces it.

    Examples
    --------
    >>> from qkv.widgets import LayerStepper
    >>> made = LayerStepper().numbers()
    >>> made["names"][4], made["length"].round(2)[4:6].tolist()
    ('sum', [4.71, 2.83])
    """

    name = "layer-stepper"
    _esm = static_text("layer-stepper.mjs")

    layer = traitlets.Dict().tag(sync=True)
    token = traitlets.Int(2).tag(sync=True)
    place = traitlets.Int(4).tag(sync=True)
    order = traitlets.Enum(["post", "pre"], "post").tag(sync=True)
    residual = traitlets.Bool(True).tag(sync=True)

    def __init__(self, **traits: Any):
        traits.setdefault("caption", CAPTION)
        traits.setdefault("layer", example_layer())
        super().__init__(**traits)

    @traitlets.validate("layer")
    def _valid_layer(self, proposal: Any) -> dict[str, Any]:
        layer = dict(proposal["value"])
        if set(layer) != {*NAMES, *ARRAYS}:
            raise traitlets.TraitError(f"layer must hold {', '.join((*NAMES, *ARRAYS))}")
        try:
            parameters(layer)
        except ValueError as error:
            raise traitlets.TraitError(f"layer: {error}") from None
        arrays = {name: np.array(layer[name], dtype=float) for name in ARRAYS}
        wanted = {
            "tokens": len(arrays["X"]),
            "columns": arrays["X"].shape[1],
            "units": arrays["W_1"].shape[1],
            "words": len(arrays["E"]),
        }
        for name, count in wanted.items():
            if len(layer[name]) != count:
                raise traitlets.TraitError(
                    f"layer: {count} {name} are needed, got {len(layer[name])}"
                )
        if arrays["E"].shape[1] != wanted["columns"]:
            raise traitlets.TraitError("layer: E must have as many columns as X")
        lists = {name: [str(text) for text in layer[name]] for name in NAMES}
        return {**lists, **{name: array.tolist() for name, array in arrays.items()}}

    @traitlets.validate("token")
    def _valid_token(self, proposal: Any) -> int:
        if not 0 <= proposal["value"] < len(self.layer["tokens"]):
            raise traitlets.TraitError(f"token must be a row of X, got {proposal['value']}")
        return int(proposal["value"])

    @traitlets.validate("place")
    def _valid_place(self, proposal: Any) -> int:
        last = len(self.layer["W_Q"]) + 8
        if not 0 <= proposal["value"] <= last:
            raise traitlets.TraitError(f"place must be 0 to {last}, got {proposal['value']}")
        return int(proposal["value"])

    def path(self) -> list[Place]:
        """Return every place of the token's way, by `qkv.core`."""
        p, t, pre = parameters(self.layer), self.token, self.order == "pre"
        X = np.array(self.layer["X"], dtype=float)
        n_heads, d = p.attention.n_heads, X.shape[1]
        stream, parts = X, np.zeros((n_heads + 2, d))
        parts[0] = X[t]

        def only(at: int, row: np.ndarray) -> np.ndarray:
            return np.eye(n_heads + 2)[:, [at]] * row

        def norm() -> np.ndarray:
            root = np.sqrt(stream[t].var() + p.norm_1.epsilon)
            return (parts - parts.mean(axis=-1, keepdims=True)) / root

        places = [Place("X", "stream", X[t], parts)]
        read = layer_norm(X, p.norm_1) if pre else X
        if pre:
            places.append(Place("LayerNorm 1", "copy", read[t], norm()))
        steps = multi_head_steps(read, read, p.attention)
        for i, write in enumerate(steps.writes[:, t]):
            places.append(Place(f"head {i + 1} writes", "write", write, only(i + 1, write)))
        stream = stream + steps.output if self.residual else steps.output
        first = parts[:1] if self.residual else np.zeros((1, d))
        parts = np.concatenate([first, steps.writes[:, t], np.zeros((1, d))])
        places.append(Place("sum", "stream", stream[t], parts))
        read = layer_norm(stream, p.norm_1)
        if pre:
            places.append(Place("LayerNorm 2", "copy", read[t], norm()))
        else:
            stream, parts = read, norm()
            places.append(Place("LayerNorm 1", "stream", read[t], parts))
        hidden = relu(read @ p.feed_forward.W_1 + p.feed_forward.b_1)
        places.append(Place("hidden units", "hidden", hidden[t], np.zeros((0, d))))
        made = feed_forward(read, p.feed_forward)
        written = only(n_heads + 1, made[t])
        places.append(Place("units write", "write", made[t], written))
        stream = stream + made if self.residual else made
        parts = parts + written if self.residual else written
        places.append(Place("second sum", "stream", stream[t], parts))
        parts, stream = norm(), layer_norm(stream, p.norm_2)
        name = "last LayerNorm" if pre else "LayerNorm 2"
        places.append(Place(name, "stream", stream[t], parts))
        scores = vocabulary_scores(stream, np.array(self.layer["E"], dtype=float))
        places.append(Place("words", "words", scores[t], np.zeros((0, d))))
        return places

    def numbers(self) -> dict[str, Any]:
        """Return what the widget shows."""
        places = self.path()
        at = min(self.place, len(places) - 1)
        return {
            "names": [place.name for place in places],
            "mean": np.array([place.row.mean() for place in places]),
            "length": np.array([np.linalg.norm(place.row) for place in places]),
            "row": places[at].row,
            "parts": places[at].parts,
            "probabilities": softmax(places[-1].row),
        }

    def poster(self) -> str:
        """Return the row where it stands as a picture, and the rows of all places as a table."""
        places = self.path()
        place = places[min(self.place, len(places) - 1)]
        names = {"hidden": "units", "words": "words"}.get(place.kind, "columns")
        token = self.layer["tokens"][self.token]
        rows = [
            (p.name, [*p.row, p.row.mean(), np.linalg.norm(p.row)])
            for p in places
            if p.kind not in ("hidden", "words")
        ]
        columns = [*self.layer["columns"], "mean", "length"]
        scores = zip(places[-1].row, softmax(places[-1].row), strict=True)
        words = zip(self.layer["words"], scores, strict=True)
        return (
            f'<div class="qkv-layer-poster">'
            f"<p>The row of “{escape(token)}”: {place.name}</p>"
            f"{_picture(place, self.layer[names])}"
            "<details><summary>The numbers</summary>"
            f"{html_table(columns, rows, f'The row of “{token}” at every place')}"
            f"{html_table(['score', 'probability'], words, 'Words')}"
            "</details></div>"
        )


def parameters(layer: Mapping[str, Any]) -> EncoderLayerParameters:
    """Return core's parameters: gains 1, shifts 0, no biases but b_1."""
    a = {name: np.array(layer[name], dtype=float) for name in ARRAYS}
    d = a["X"].shape[-1]
    norm = LayerNormParameters(np.ones(d), np.zeros(d))
    attention = MultiHeadParameters(a["W_Q"], a["W_K"], a["W_V"], a["W_O"])
    hidden = FeedForwardParameters(a["W_1"], a["b_1"], a["W_2"], None)
    return EncoderLayerParameters(attention, norm, hidden, norm)


def _picture(place: Place, names: list[str]) -> str:
    """Return one bar a column, from 0 to the right or to the left, as SVG."""
    tall, left, wide = 24, 130, 300
    top = max(float(np.abs(place.row).max()), 1e-9)
    zero = left + wide / 2
    parts = []
    for i, (name, value) in enumerate(zip(names, place.row, strict=True)):
        y = i * tall
        length = abs(value) / top * (wide / 2 - 30)
        x = zero if value >= 0 else zero - length
        parts.append(
            f'<text x="{left - 10}" y="{y + 17}" text-anchor="end">{escape(name)}</text>'
            f'<rect x="{x:.1f}" y="{y + 4}" width="{length:.1f}" height="{tall - 8}"'
            ' fill="var(--qkv-x, #444b54)" fill-opacity="0.55"/>'
            f'<text x="{left + wide + 50}" y="{y + 17}" text-anchor="end">{number(value)}</text>'
        )
    height = tall * len(names)
    width = left + wide + 52
    parts.append(
        f'<path d="M{zero} 0V{height}" stroke="var(--qkv-edge, #818a95)" stroke-width="1"/>'
    )
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img"'
        f' aria-label="One bar a column: {escape(place.name)}" font-size="14"'
        f' fill="currentColor">{"".join(parts)}</svg>'
    )
