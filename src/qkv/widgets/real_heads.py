"""RealHeads: the 72 heads of a trained model on eight sentences (chapter 21)."""

import base64
import json
from functools import cache
from html import escape
from typing import Any

import numpy as np
import traitlets

from qkv.core import dot_product_scores, softmax
from qkv.widgets.base import BookWidget, html_table, number, static_text

__all__ = ["RealHeads"]

CAPTION = (
    "All heads of all-MiniLM-L6-v2 on a few sentences. The map says what each head does over 360"
    " sentences; the table below what the chosen one does here. Queries and keys are stored in a"
    " byte a number, so a weight may differ from the model's by 0.02."
)
N_LAYERS, N_HEADS, D_K = 6, 12, 32
MEASURES = ("same", "previous", "next", "itself", "cls", "sep")


@cache
def stored() -> dict[str, Any]:
    """Return what tools/real_heads_data.py wrote: sentences as bytes, and measures of heads."""
    text = static_text("real-heads-data.js").partition("realHeads=")[2]
    return json.loads(text.rstrip().rstrip(";"))


def head_of(sentence: int, layer: int, head: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return queries (n, 32), keys (n, 32) and the lengths that the values write (n,)."""
    packed = stored()["sentences"][sentence]
    n = len(packed["tokens"])

    def read(name: str, kind: str) -> np.ndarray:
        return np.frombuffer(base64.b64decode(packed[name]), kind)

    codes = read("codes", "i1").reshape(N_LAYERS, N_HEADS, 2, n, D_K)[layer, head].astype(float)
    scales = read("scales", "<f4").reshape(N_LAYERS, N_HEADS, 2, n)[layer, head].astype(float)
    q, k = codes * scales[..., None]
    return q, k, read("lengths", "<f4").reshape(N_LAYERS, N_HEADS, n)[layer, head].astype(float)


class RealHeads(BookWidget):
    """A sentence, and one of 72 trained heads on it.

    Parameters
    ----------
    sentence : int
        Its number, 0 to 7.
    head : (int, int)
        Layer, 0 to 5, and head, 0 to 11.
    at : (int, int)
        The query and the key whose numbers stand below the weights.
    measure : {"same", "previous", "next", "itself", "cls", "sep"}
        What the map of all heads shows.

    Examples
    --------
    >>> from qkv.widgets import RealHeads
    >>> made = RealHeads(sentence=1, head=[0, 2]).numbers()
    >>> print(made["tokens"][4], made["tokens"][made["weights"][4].argmax()])
    apple an
    """

    name = "real-heads"
    _esm = static_text("real-heads.mjs")

    sentence = traitlets.Int(0).tag(sync=True)
    head = traitlets.List(traitlets.Int(), [2, 9], minlen=2, maxlen=2).tag(sync=True)
    at = traitlets.List(traitlets.Int(), [2, 9], minlen=2, maxlen=2).tag(sync=True)
    measure = traitlets.Enum(list(MEASURES), "same").tag(sync=True)
    first = traitlets.Dict().tag(sync=True)

    def __init__(self, **traits: Any):
        traits.setdefault("caption", CAPTION)
        super().__init__(**traits)
        if not self.first:
            self.first = self._first()
        self.on_msg(self._answer)

    @traitlets.validate("sentence")
    def _shipped(self, proposal: Any) -> int:
        n = len(stored()["sentences"])
        if not 0 <= proposal["value"] < n:
            raise traitlets.TraitError(f"sentence must be 0 to {n - 1}, got {proposal['value']}")
        return proposal["value"]

    @traitlets.validate("head")
    def _there(self, proposal: Any) -> list[int]:
        layer, head = proposal["value"]
        if not (0 <= layer < N_LAYERS and 0 <= head < N_HEADS):
            raise traitlets.TraitError(
                f"head must be a layer below {N_LAYERS} and a head below {N_HEADS},"
                f" got {[layer, head]}"
            )
        return proposal["value"]

    def numbers(self) -> dict[str, Any]:
        """Return what the widget shows, by `qkv.core` from the stored queries and keys."""
        q, k, lengths = head_of(self.sentence, *self.head)
        scores = dot_product_scores(q, k) / np.sqrt(D_K)
        weights = softmax(scores)
        tokens = stored()["sentences"][self.sentence]["tokens"]
        made = {"q": q, "k": k, "lengths": lengths, "scores": scores, "weights": weights}
        return {"tokens": tokens, **made, "carried": weights * lengths}

    def _first(self) -> dict[str, Any]:
        """Return what the page shows before the other heads are there."""
        made = self.numbers()
        looks = stored()["looks"]
        return {
            "sentence": self.sentence,
            "head": list(self.head),
            "tokens": made["tokens"],
            "texts": [sentence["text"] for sentence in stored()["sentences"]],
            "looks": {name: looks[name] for name in MEASURES},
            "q": made["q"].round(6).tolist(),
            "k": made["k"].round(6).tolist(),
            "lengths": made["lengths"].round(6).tolist(),
        }

    def _answer(self, _: Any, message: Any, buffers: Any) -> None:
        """Send the heads to a notebook that asks; a page loads them as a script instead."""
        if isinstance(message, dict) and message.get("want") == "real-heads-data":
            self.send({"realHeads": stored()})

    def poster(self) -> str:
        """Return the chosen query's weights as bars, and all weights as a table."""
        made = self.numbers()
        tokens, t = made["tokens"], min(self.at[0], len(made["tokens"]) - 1)
        bars = []
        for j, (token, weight) in enumerate(zip(tokens, made["weights"][t], strict=True)):
            y = 20 * j
            bars.append(
                f'<text x="70" y="{y + 14}" text-anchor="end">{escape(token)}</text>'
                f'<rect x="78" y="{y + 3}" width="{210 * weight:.1f}" height="13"'
                ' fill="var(--qkv-w, #7a3ea8)"/>'
                f'<text x="{84 + 210 * weight:.1f}" y="{y + 14}">{number(weight)}</text>'
            )
        layer, head = self.head
        says = f"layer {layer} head {head}: where {tokens[t]} looks"
        picture = (
            f'<svg viewBox="0 0 350 {20 * len(tokens) + 4}" width="350" role="img" font-size="13"'
            f' fill="currentColor" aria-label="Weights of {escape(says)}">{"".join(bars)}</svg>'
        )
        table = html_table(
            tokens,
            list(zip(tokens, made["weights"], strict=True)),
            f"Weights of layer {layer}, head {head}",
        )
        return (
            f'<div class="qkv-real-poster"><p>{escape(says[0].upper() + says[1:])}</p>{picture}'
            f"<details><summary>The numbers</summary>{table}</details></div>"
        )
