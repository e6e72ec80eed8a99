"""What a learner sees: plain text in a terminal, accessible HTML in a notebook.

The HTML takes its colours from the notebook, so it is right in every theme; what is right or
wrong is said in words and marks, and only repeated by a colour.
"""

# ruff: noqa: RUF001 (a minus sign is a minus sign)

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html import escape
from textwrap import fill
from typing import Any

import numpy as np

from qkv.checks.answers import written

_GREEN, _AMBER, _BLUE = "#2e9e5b", "#c77700", "#4a8fd8"
_MAX_SIDE = 11


@dataclass(frozen=True)
class Difference:
    """The learner's array beside the expected one; `wrong` marks the entries that differ."""

    name: str
    yours: np.ndarray
    expected: np.ndarray
    wrong: np.ndarray | None


@dataclass(frozen=True, repr=False)
class Result:
    """The verdict on one answer; true in an ``if`` when it is right.

    Attributes
    ----------
    id, title : str
        Which exercise.
    passed : bool
        Whether the answer is right.
    message : str
        A question if it is not, a sentence if it is.
    detail : str
        The first entry that differs, or what went wrong.
    rung : str
        The rung of a coding exercise that broke, "" if none did.
    inputs : tuple
        What that rung handed to the function; take it to try by hand.
    seed : int or None
        ``check(id, function, seed=…)`` draws the same numbers again.
    """

    id: str
    title: str
    passed: bool
    message: str
    detail: str = ""
    started: bool = True
    rung: str = ""
    rungs: tuple[str, ...] = ()
    height: int = 0
    line: str = ""
    given: str = ""
    seed: int | None = None
    inputs: tuple[Any, ...] = field(default=(), compare=False)
    difference: Difference | None = field(default=None, compare=False)

    def __bool__(self) -> bool:
        """Return whether the answer is right."""
        return self.passed

    @property
    def verdict(self) -> str:
        """Return "right", "not yet" or "not started"."""
        return "right" if self.passed else "not yet" if self.started else "not started"

    def __repr__(self) -> str:
        """Return the report as plain text."""
        mark = "✓" if self.passed else "·" if not self.started else "✗"
        lines = [f"{mark} {self.verdict}: {self.title} ({self.id})"]
        if self.message:
            lines += ["", *_wrapped(plain(self.message))]
        lines += [f"  {part}" for part in (self.detail, self.line, self.given) if part]
        if self.rungs and self.started:
            lines += ["", *(f"  {mark} {name}" for mark, name in self._ladder())]
        if self.inputs:
            lines += ["", f"  same numbers again: check(…, seed={self.seed})"]
        return "\n".join(lines)

    def _ladder(self) -> list[tuple[str, str]]:
        marks = [
            "✓" if number < self.height else "✗" if name == self.rung else "–"
            for number, name in enumerate(self.rungs)
        ]
        steps = list(zip(marks, self.rungs, strict=True))
        return [*steps, ("✗", self.rung)] if self.rung not in ("", *self.rungs) else steps

    def _repr_html_(self) -> str:
        colour = _GREEN if self.passed else _AMBER if self.started else _BLUE
        mark = "✓" if self.passed else "✗" if self.started else "○"
        body = [
            f'<p style="margin:0"><strong><span aria-hidden="true">{mark} </span>'
            f"{self.verdict.capitalize()}</strong> · {escape(self.title)}</p>"
        ]
        if self.message:
            body.append(f'<p style="margin:.5em 0 0">{inline_html(self.message)}</p>')
        for part in (self.detail, self.line, self.given):
            if part:
                body.append(f'<p style="margin:.25em 0 0"><code>{escape(part)}</code></p>')
        if self.difference is not None:
            body.append(_picture(self.difference))
        if self.rungs and self.started:
            body.append(self._ladder_html())
        if self.inputs:
            body.append(
                '<p style="margin:.5em 0 0;font-size:.9em">same numbers again:'
                f" <code>check(…, seed={self.seed})</code></p>"
            )
        return _card(colour, f"Check of {self.title}", "".join(body))

    def _ladder_html(self) -> str:
        words = {"✓": "holds", "✗": "breaks here", "–": "not reached"}
        items = "".join(
            f'<li style="margin:0"><span aria-hidden="true">{mark} </span>{escape(name)}'
            f' <span style="font-size:.9em">({words[mark]})</span></li>'
            for mark, name in self._ladder()
        )
        return f'<ol style="list-style:none;margin:.6em 0 0;padding:0">{items}</ol>'


@dataclass(frozen=True, repr=False)
class Note:
    """A hint or a solution: Markdown in a notebook, plain text elsewhere."""

    heading: str
    markdown: str

    def __repr__(self) -> str:
        """Return the note as plain text."""
        parts = re.split(r"(```.*?```)", self.markdown, flags=re.DOTALL)
        lines = [self.heading, ""]
        for part in parts:
            if part.startswith("```"):
                lines += [f"    {line}" for line in part.split("\n")[1:-1]] + [""]
            else:
                for paragraph in filter(None, (text.strip() for text in part.split("\n\n"))):
                    lines += [*_wrapped(plain(paragraph)), ""]
        return "\n".join(lines).rstrip()

    def _repr_markdown_(self) -> str:
        return f"**{self.heading}**\n\n{self.markdown}"


def plain(markdown: str) -> str:
    """Return Markdown without the marks that only a renderer needs."""
    return re.sub(r"\*\*|\$", "", markdown)


def inline_html(markdown: str) -> str:
    """Return one paragraph of Markdown (code, bold, emphasis) as HTML."""
    pieces = re.split(r"(`[^`]+`)", markdown)
    return "".join(
        f"<code>{escape(piece[1:-1])}</code>" if piece.startswith("`") else _emphasised(piece)
        for piece in pieces
    )


def _emphasised(text: str) -> str:
    html = escape(text, quote=False)
    html = re.sub(r"\b([A-Z])_([A-Za-z0-9]+)\b", r"\1<sub>\2</sub>", html)
    html = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", html)
    return re.sub(r"\*(?=\S)(.+?)(?<=\S)\*", r"<em>\1</em>", html)


def _wrapped(text: str) -> list[str]:
    return fill(" ".join(text.split()), 88, break_long_words=False).split("\n")


def _card(colour: str, label: str, body: str) -> str:
    return (
        f'<div role="group" aria-label="{escape(label)}" style="border-left:4px solid {colour};'
        "padding:.4em .9em;margin:.3em 0;max-width:46em;line-height:1.45;color:inherit;"
        f'background:transparent">{body}</div>'
    )


def _picture(difference: Difference) -> str:
    """Draw both arrays as tables, side by side; nothing for numbers and deep or large arrays."""
    tables = []
    for title, array in (("yours", difference.yours), ("expected", difference.expected)):
        if array.ndim not in (1, 2) or max(array.shape) > _MAX_SIDE:
            return ""
        wrong = None if title == "expected" else difference.wrong
        tables.append(_table(f"{title} {array.shape}", array, wrong))
    return f'<div style="display:flex;flex-wrap:wrap;gap:.6em 2em">{"".join(tables)}</div>'


def _table(title: str, array: np.ndarray, wrong: np.ndarray | None) -> str:
    rows = np.atleast_2d(array)
    marks = np.zeros(rows.shape, bool) if wrong is None else np.atleast_2d(wrong)
    head = "".join(
        f'<th scope="col" style="{_CELL}">{column}</th>' for column in range(rows.shape[1])
    )
    body = ""
    for number, (row, wrong_row) in enumerate(zip(rows, marks, strict=True)):
        cells = "".join(_cell(*pair) for pair in zip(row, wrong_row, strict=True))
        body += f'<tr><th scope="row" style="{_CELL}">{number}</th>{cells}</tr>'
    return (
        '<table style="border-collapse:collapse;margin:.6em 0 0;font-size:.85em;'
        'font-variant-numeric:tabular-nums;border:0;color:inherit">'
        f'<caption style="caption-side:top;text-align:left;padding:0 0 .2em;color:inherit">'
        f'{escape(title)}</caption><thead><tr><td style="{_CELL}"></td>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table>"
    )


def _cell(number: float, wrong: bool) -> str:
    text = escape(written(number))
    if not wrong:
        return f'<td style="{_CELL}">{text}</td>'
    style = f"{_CELL};outline:2px solid {_AMBER};outline-offset:-2px;font-weight:700"
    return f'<td style="{style}"><span aria-label="differs:">≠ </span>{text}</td>'


_CELL = "padding:.15em .6em;text-align:right;background:transparent;color:inherit;border:0"
