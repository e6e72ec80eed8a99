"""TokensToRows: a text becomes tokens, ids, rows of a table, and X (chapter 1)."""

import json
from html import escape
from typing import Any

import numpy as np
import traitlets

from qkv.core import embed
from qkv.data import running_example, word_pieces
from qkv.widgets.base import BookWidget, html_table, number, static_text

__all__ = ["TokensToRows"]

CAPTION = (
    "A text becomes X. Each token has an id, the id names a row of the table E, and a copy of that"
    " row is the token's row of X. With word pieces the numbers are those of a trained model."
)
TEXT = "The bank by the river bank"
MODES = ("wordpiece", "whitespace")
SPECIAL = ("[UNK]", "[CLS]", "[SEP]")
WIDTH = 384  # columns of the model's table, of which the shipped file has five


def small_list() -> dict[str, Any]:
    """Return the running example as a list of words with one row each; the first is "unknown"."""
    ex = running_example()
    rows = dict(zip(ex.tokens_source, ex.X_source.tolist(), strict=True))
    rows.update(zip(ex.tokens_target, ex.X_target.tolist(), strict=True))
    rows = {"<unk>": [0.0] * len(ex.columns), **rows}
    return {
        "tokens": list(rows),
        "columns": list(ex.columns),
        "numbers": [[int(x) for x in row] for row in rows.values()],
    }


def seed_of(text: str) -> dict[str, Any]:
    """Return the pieces of one text, so that the first picture needs no vocabulary."""
    pieces = word_pieces()
    tokens = list(dict.fromkeys([*SPECIAL, *pieces.tokenize(text)]))
    ids = pieces.ids(tokens)
    return {
        "text": text,
        "tokens": tokens,
        "ids": ids.tolist(),
        "size": len(pieces),
        "width": WIDTH,
        "columns": [str(c) for c in range(pieces.E.shape[1])],
        "numbers": pieces.E[ids].tolist(),
    }


class TokensToRows(BookWidget):
    """A text, its tokens and ids, and the rows that they name.

    Parameters
    ----------
    text : str
        Any text.
    mode : {"wordpiece", "whitespace"}
        Cut by the 30,522 pieces of a real model, or at spaces by a short list of words.
    special : bool
        Whether ``[CLS]`` and ``[SEP]`` are put around the pieces.
    at : int
        The token that is lit up; -1 for none.
    small : dict
        The short list: ``tokens`` (the first stands for all unknown words), ``columns`` and
        ``numbers``; the words of the running example if left out.

    Examples
    --------
    >>> from qkv.widgets import TokensToRows
    >>> found = TokensToRows(text="Kangaroos!").numbers()
    >>> found["tokens"], found["ids"].tolist(), found["X"].shape
    (['kangaroo', '##s', '!'], [21652, 2015, 999], (3, 5))
    """

    name = "tokens-to-rows"
    _esm = static_text("tokens-to-rows.mjs")

    text = traitlets.Unicode(TEXT).tag(sync=True)
    mode = traitlets.Enum(list(MODES), "wordpiece").tag(sync=True)
    special = traitlets.Bool(False).tag(sync=True)
    at = traitlets.Int(1).tag(sync=True)
    small = traitlets.Dict().tag(sync=True)
    seed = traitlets.Dict().tag(sync=True)

    def __init__(self, **traits: Any):
        traits.setdefault("caption", CAPTION)
        traits.setdefault("small", small_list())
        traits.setdefault("seed", seed_of(traits.get("text", TEXT)))
        super().__init__(**traits)
        self.on_msg(self._answer)

    @traitlets.validate("small")
    def _check_small(self, proposal: Any) -> dict[str, Any]:
        small = proposal["value"]
        rows, columns = len(small["tokens"]), len(small["columns"])
        if np.shape(small["numbers"]) != (rows, columns):
            raise traitlets.TraitError(
                f"small must have one row for each of its {rows} tokens and {columns} columns, got"
                f" shape {np.shape(small['numbers'])}"
            )
        return small

    def _answer(self, _: Any, message: Any, buffers: Any) -> None:
        """Send all pieces to a notebook that asks; a page loads them as a script instead."""
        if isinstance(message, dict) and message.get("want") == "word-pieces":
            packed = static_text("word-pieces.js").partition(".wordPieces=")[2]
            self.send({"wordPieces": json.loads(packed.rstrip(";\n"))})

    def vocabulary(self) -> tuple[list[str], np.ndarray]:
        """Return the tokens that have a row now, and the table."""
        if self.mode == "whitespace":
            return self.small["tokens"], np.array(self.small["numbers"], dtype=float)
        pieces = word_pieces()
        return list(pieces.tokens), pieces.E

    def numbers(self) -> dict[str, Any]:
        """Return what the widget shows, by `qkv.data` and `qkv.core`."""
        known, E = self.vocabulary()
        if self.mode == "whitespace":
            tokens = self.text.split()
            place = {token: i for i, token in enumerate(known)}
            ids = np.array([place.get(token, 0) for token in tokens], dtype=np.int64)
        else:
            tokens = word_pieces().tokenize(self.text, self.special)
            ids = word_pieces().ids(tokens)
        X = embed(ids, E) if len(ids) else np.zeros((0, E.shape[1]))
        used, place_of = np.unique(ids, return_inverse=True)
        return {"tokens": tokens, "ids": ids, "X": X, "used": used, "place": place_of}

    def poster(self) -> str:
        """Return the way from the text to X as a picture, and X as a table."""
        found = self.numbers()
        known, E = self.vocabulary()
        columns = self.small["columns"] if self.mode == "whitespace" else self.seed["columns"]
        digits = 0 if self.mode == "whitespace" else 3
        names = [
            f"{token} (id {i})" for token, i in zip(found["tokens"], found["ids"], strict=True)
        ]
        table = html_table(columns, list(zip(names, found["X"], strict=True)), "X", digits)
        return (
            f'<div class="qkv-rows-poster">{_picture(found, known, E, digits)}'
            f"<details><summary>The numbers</summary>{table}</details></div>"
        )


def _picture(found: dict[str, Any], known: list[str], E: np.ndarray, digits: int) -> str:
    """Return rows of E at the left, rows of X at the right, and a line for each token."""
    tall, top, cell, names = 27, 52, 46, 118
    shown = min(5, E.shape[1])
    wide = names + shown * cell
    right = wide + 70
    parts = []

    def row(x: float, y: float, key: object, token: str, values: np.ndarray) -> None:
        parts.append(
            f'<rect x="{x}" y="{y}" width="{wide}" height="{tall}" fill="none"'
            f' stroke="var(--qkv-line, #c3cad2)"/><text x="{x + 6}" y="{y + 18}">'
            f'{key} <tspan font-weight="600">{escape(token)}</tspan></text>'
        )
        for c, value in enumerate(values[:shown]):
            at = f'x="{x + names + (c + 1) * cell - 4}" y="{y + 18}"'
            parts.append(f'<text {at} text-anchor="end">{number(value, digits)}</text>')

    for place, i in enumerate(found["used"]):
        row(0, top + place * tall, i, known[i], E[i])
    for t, token in enumerate(found["tokens"]):
        row(right, top + t * tall, t, token, found["X"][t])
        y = top + (found["place"][t] + 0.5) * tall
        z = top + (t + 0.5) * tall
        mid = (wide + right) / 2
        parts.append(
            f'<path d="M{wide} {y}C{mid} {y} {mid} {z} {right} {z}" fill="none"'
            ' stroke="var(--qkv-x, #444b54)"/>'
        )
    heads = ((0, "E: the rows in use, by id"), (right, "X: one row a token"))
    parts += [f'<text x="{x}" y="34" font-weight="600">{text}</text>' for x, text in heads]
    width = right + wide + 2
    height = top + tall * max(len(found["tokens"]), len(found["used"]), 1) + 2
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img"'
        ' aria-label="Rows of the table E on the left, rows of X on the right, a line for each'
        ' token" font-size="13" fill="currentColor">'
        f"{''.join(parts)}</svg>"
    )
