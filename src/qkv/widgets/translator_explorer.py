"""TranslatorExplorer: a trained translator at work, its three attention sites open (chapter 16)."""

import datetime
import re
from functools import lru_cache
from html import escape
from typing import Any

import numpy as np
import traitlets

from qkv.core import AttentionSite, greedy_decode, multi_head_steps, transformer_sites
from qkv.data import (
    Translation,
    date_translation,
    number_translation,
    translation_vocabulary,
    translator,
)
from qkv.widgets.base import BookWidget, html_table, static_text

__all__ = ["TranslatorExplorer"]

CAPTION = (
    "The trained translator runs in this page. Rows ask, columns are looked at; a row of the"
    " decoder reads one word and predicts the next. Below the weights stand the query and the key"
    " that made one of them."
)
TEXT = "85026"
SITES = ("encoder", "decoder", "cross")
LONGEST = 16
ENDS = (1, 2)
N_LAYERS, N_HEADS = 2, 4


def example(text: str, language: str) -> Translation:
    """Return the translation that the rule gives for a number or a date such as 2024-02-29."""
    if re.fullmatch(r"\d{1,6}", text):
        return number_translation(int(text), language)
    return date_translation(datetime.date.fromisoformat(text), language)


@lru_cache(maxsize=64)
def run(text: str, language: str) -> tuple[tuple[int, ...], tuple[AttentionSite, ...]]:
    """Return what the model writes, and its six attention sites."""
    words = translation_vocabulary()
    source = np.array([words.index(word) for word in example(text, language).source])
    written = greedy_decode(source, translator(), ENDS, LONGEST)
    return written, transformer_sites(source, np.array(written[:-1]), translator())


class TranslatorExplorer(BookWidget):
    """A number or a date, translated by the trained model, and one head of one attention.

    Parameters
    ----------
    text : str
        A number from 0 to 999,999 or a date from 1900-01-01 to 2099-12-31.
    language : {"de", "fr"}
        What it is translated into.
    site : {"encoder", "decoder", "cross"}
        Which attention is open.
    head : (int, int)
        Its layer and its head, both counted from 0.
    at : (int, int)
        The query and the key whose numbers stand below the weights.

    Examples
    --------
    >>> from qkv.widgets import TranslatorExplorer
    >>> made = TranslatorExplorer(text="21", language="fr").numbers()
    >>> print(*made["source"], "|", *made["written"], made["weights"].shape)
    <fr> twenty one | <s> vingt et un </s> (4, 3)
    """

    name = "translator-explorer"
    _esm = static_text("translator-explorer.mjs")

    text = traitlets.Unicode(TEXT).tag(sync=True)
    language = traitlets.Enum(["de", "fr"], "de").tag(sync=True)
    site = traitlets.Enum(list(SITES), "cross").tag(sync=True)
    head = traitlets.List(traitlets.Int(), [1, 1], minlen=2, maxlen=2).tag(sync=True)
    at = traitlets.List(traitlets.Int(), [0, 2], minlen=2, maxlen=2).tag(sync=True)
    first = traitlets.Dict().tag(sync=True)

    def __init__(self, **traits: Any):
        traits.setdefault("caption", CAPTION)
        super().__init__(**traits)
        if not self.first:
            self.first = self._first()
        self.on_msg(self._answer)

    @traitlets.validate("text")
    def _known(self, proposal: Any) -> str:
        text = proposal["value"]
        try:
            example(text, "de")
        except ValueError as error:
            raise traitlets.TraitError(
                "text must be a number from 0 to 999999 or a date such as 2024-02-29, got"
                f" {text!r}: {error}"
            ) from None
        return text

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
        """Return what the widget shows, by `qkv.core`."""
        words = translation_vocabulary()
        written, sites = run(self.text, self.language)
        layer, head = self.head
        (site,) = (s for s in sites if s.name == self.site and s.layer == layer)
        steps = multi_head_steps(site.X_q, site.X_kv, site.parameters, site.mask).attention
        return {
            "source": list(example(self.text, self.language).source),
            "written": [words[i] for i in written],
            "q": steps.q[head],
            "k": steps.k[head],
            "scores": steps.scores[head],
            "weights": steps.weights[head],
        }

    def labels(self) -> tuple[list[str], list[str]]:
        """Return the names of the rows and of the columns of the weights."""
        made = self.numbers()
        says = [f"→ {word}" for word in made["written"][1:]]
        reads = made["written"][:-1]
        return {
            "encoder": (made["source"], made["source"]),
            "decoder": (says, reads),
            "cross": (says, made["source"]),
        }[self.site]

    def _first(self) -> dict[str, Any]:
        """Return what the page shows before the weights are there."""
        made = self.numbers()
        return {
            "text": self.text,
            "language": self.language,
            "site": self.site,
            "head": list(self.head),
            "written": made["written"],
            "q": made["q"].round(5).tolist(),
            "k": made["k"].round(5).tolist(),
        }

    def _answer(self, _: Any, message: Any, buffers: Any) -> None:
        """Send the weights to a notebook that asks; a page loads them as a script instead."""
        if isinstance(message, dict) and message.get("want") == "translator-weights":
            text = static_text("translator-weights.js").partition('="')[2]
            self.send({"translatorWeights": text.partition('"')[0]})

    def poster(self) -> str:
        """Return the weights as a picture, and as a table."""
        rows, columns = self.labels()
        weights = self.numbers()["weights"]
        table = html_table(
            columns,
            list(zip(rows, weights, strict=True)),
            f"Weights, layer {self.head[0] + 1}, head {self.head[1] + 1}",
        )
        return (
            f'<div class="qkv-translate-poster">{_picture(rows, columns, weights)}'
            f"<details><summary>The numbers</summary>{table}</details></div>"
        )


def _picture(rows: list[str], columns: list[str], weights: np.ndarray) -> str:
    """Return the weights as squares, dark where a row looks."""
    left, top, cell = 110, 90, 26
    parts = []
    for t, row in enumerate(rows):
        y = top + t * cell
        parts.append(f'<text x="{left - 8}" y="{y + 18}" text-anchor="end">{escape(row)}</text>')
        for s in range(len(columns)):
            parts.append(
                f'<rect x="{left + s * cell}" y="{y}" width="{cell - 2}" height="{cell - 2}"'
                f' fill="var(--qkv-w, #7a3ea8)" fill-opacity="{weights[t, s]:.2f}"'
                ' stroke="var(--qkv-line, #c3cad2)"/>'
            )
    for s, column in enumerate(columns):
        x = left + s * cell + 16
        parts.append(
            f'<text transform="translate({x} {top - 8}) rotate(-60)">{escape(column)}</text>'
        )
    width, height = left + len(columns) * cell + 60, top + len(rows) * cell + 4
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img"'
        ' aria-label="Attention weights: a row for each word that is written, a column for each'
        ' word that is read" font-size="14" fill="currentColor">'
        f"<title>Attention weights</title>{''.join(parts)}</svg>"
    )
