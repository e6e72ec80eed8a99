"""InductionTrace: a two-layer model copies in context; follow the note, and cut what carries it."""

from html import escape
from typing import Any

import numpy as np
import traitlets

from qkv.core import softmax
from qkv.data import CopySteps, Switches, copy_model, letter_ids, letters
from qkv.widgets.base import BookWidget, html_table, number, static_text

__all__ = ["InductionTrace"]

CAPTION = (
    "A trained model of two layers with two heads each says what followed a letter before. Layer 1"
    " writes notes, layer 2 finds the right one. A head that is taken out writes zeros; a read that"
    " is closed gets the letters and places alone."
)
TEXT = "QUERYKEYVALU"
LONGEST = 16
PATHS = ("1.1", "1.2", "2.1", "2.2", "Q", "K", "V")
PARTS = ("letter", "head 1.1", "head 1.2")


def switches(closed: list[str]) -> Switches:
    """Return the model's switches with these paths closed."""
    heads = [[float(f"{layer}.{head}" not in closed) for head in (1, 2)] for layer in (1, 2)]
    reads = [np.full((2, 2), float(read not in closed)) for read in "QKV"]
    return Switches(heads=np.array(heads), reads=np.array(reads))


class InductionTrace(BookWidget):
    """Follow one answer of the two-layer model from note to key to weight to letter.

    Parameters
    ----------
    text : str
        1 to 16 letters from A to Z.
    row : int
        The place of the row that asks; -1 is the last.
    head : {0, 1}
        The head of layer 2 that is followed.
    step : int
        How far the story is told: 1 note, 2 key, 3 weight, 4 letter.
    closed : list of str
        Paths that are closed: ``"1.1"`` to ``"2.2"`` a head, ``"Q"``, ``"K"`` or ``"V"`` what both
        heads of layer 2 read of layer 1 for it.

    Examples
    --------
    >>> from qkv.widgets import InductionTrace
    >>> InductionTrace().numbers()["said"][-1], InductionTrace(closed=["K"]).numbers()["said"][-1]
    (4, 11)
    """

    name = "induction-trace"
    _esm = static_text("induction-trace.mjs")

    text = traitlets.Unicode(TEXT).tag(sync=True)
    row = traitlets.Int(-1, min=-1, max=LONGEST - 1).tag(sync=True)
    head = traitlets.Int(0, min=0, max=1).tag(sync=True)
    step = traitlets.Int(4, min=1, max=4).tag(sync=True)
    closed = traitlets.List(traitlets.Enum(list(PATHS))).tag(sync=True)
    first = traitlets.Dict().tag(sync=True)

    def __init__(self, **traits: Any):
        traits.setdefault("caption", CAPTION)
        super().__init__(**traits)
        self.first = {
            "of": [self.text, self.row, self.head, sorted(self.closed)],
            "made": {name: np.asarray(a).tolist() for name, a in self.numbers().items()},
        }
        self.on_msg(self._answer)

    @traitlets.validate("text")
    def _is_letters(self, proposal: Any) -> str:
        text = proposal["value"]
        if len(text) > LONGEST:
            raise traitlets.TraitError(f"text may have {LONGEST} letters, got {len(text)}")
        try:
            letter_ids(text)
        except ValueError as error:
            raise traitlets.TraitError(str(error)) from None
        return text

    def _answer(self, _: Any, message: Any, buffers: Any) -> None:
        """Send the weights to a notebook that asks; a page loads them as a script instead."""
        if isinstance(message, dict) and message.get("want") == "two-layers-weights":
            packed = static_text("two-layers-weights.js").partition(".twoLayers=")[2]
            self.send({"twoLayers": packed.strip('";\n')})

    def numbers(self) -> dict[str, Any]:
        """Return what the widget shows of one row, by the model in `qkv.data`."""
        ids = letter_ids(self.text)
        last = len(ids) - 1
        row = last if self.row < 0 else min(self.row, last)
        steps = copy_model().steps(ids, switches(self.closed))
        weights = steps.attention[1].weights[self.head, row, : row + 1]
        middle = int(weights.argmax())
        chances = softmax(steps.scores[row])
        top = np.argsort(-chances, kind="stable")[:4]
        return {
            "row": row,
            "middle": middle,
            "looks": steps.attention[0].weights[:, middle, : middle + 1],
            "parts": self._parts(steps, row),
            "scores": steps.attention[1].scaled[self.head, row, : row + 1],
            "weights": weights,
            "said": steps.said,
            "top": top,
            "chances": chances[top],
        }

    def _parts(self, steps: CopySteps, row: int) -> np.ndarray:
        """Return what letter, head 1.1 and head 1.2 add to each score, shape (3, row + 1)."""
        written = steps.writes[0] * (0.0 if "K" in self.closed else 1.0)
        stream = np.stack([steps.X[0], *written])[:, : row + 1]
        keys = stream @ copy_model().layers[1].W_K[self.head]
        q = steps.attention[1].q[self.head, row]
        return np.asarray(keys @ q / np.sqrt(len(q)))

    def poster(self) -> str:
        """Return the letters with both looks, and the scores as a table."""
        made = self.numbers()
        rows = [
            (
                f"{place} {self.text[place]}",
                [*made["parts"][:, place], made["scores"][place], made["weights"][place]],
            )
            for place in range(made["row"] + 1)
        ]
        asks = f"Place {made['row']}, {self.text[made['row']]}, head 2.{self.head + 1}"
        table = html_table([*PARTS, "score", "weight"], rows, f"{asks}: scores and weights")
        return (
            f'<div class="qkv-trace-poster">{_picture(self.text, made)}'
            f"<details><summary>The numbers</summary>{table}</details></div>"
        )


def _picture(text: str, made: dict[str, Any]) -> str:
    """Return the letters, the look of layer 2 above and the sharpest look of layer 1 below."""
    row, middle = made["row"], made["middle"]
    head, end = np.unravel_index(made["looks"].argmax(), made["looks"].shape)
    bold = {t: ' font-weight="700"' for t in (row, middle, int(end))}
    words = [
        f'<text x="{26 * t + 20}" y="96" text-anchor="middle"{bold.get(t, "")}>{letter}</text>'
        for t, letter in enumerate(text)
    ]
    weight, look = made["weights"][middle], made["looks"][head, end]
    says = letters(made["said"][row : row + 1])
    arcs = _arc(row, middle, 78, 20, "q") + _arc(middle, int(end), 104, 150, "k")
    told = [
        (14, "q", f"layer 2: place {row} looks at place {middle}, {number(weight)}"),
        (166, "k", f"layer 1: place {middle} looked at place {end}, {number(look)}"),
        (186, "v", f"place {row} says {says}"),
    ]
    lines = "".join(
        f'<text x="8" y="{y}" font-size="13" fill="var(--qkv-{role})">{line}</text>'
        for y, role, line in told
    )
    width = max(340, 26 * len(text) + 20)
    return (
        f'<svg viewBox="0 0 {width} 192" width="{width}" height="192" role="img" font-size="16"'
        f' fill="currentColor" aria-label="{escape("; ".join(line for _, _, line in told))}">'
        f"{''.join(words)}{arcs}{lines}</svg>"
    )


def _arc(begin: int, end: int, y: int, peak: int, role: str) -> str:
    """Return a curve from one place to another."""
    x, z = 26 * begin + 20, 26 * end + 20
    bend = (
        f"C{x} {peak} {z} {peak} {z} {y}" if begin != end else f"c-14 {peak - y} 14 {peak - y} 0 0"
    )
    return f'<path d="M{x} {y}{bend}" fill="none" stroke="var(--qkv-{role})" stroke-width="2"/>'
