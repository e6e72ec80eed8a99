"""Kinds of exercise whose answer is an arrangement: an order, a matching, a cell of a table.

Each is answered with letters or indices in a notebook and with native controls in the page. The
letters are given out by the exercise, in an order drawn from its id, so that the place of a step
or of a choice tells nothing.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from qkv.checks.exercise import Exercise
from qkv.checks.report import Result

Say = Callable[[str], str]
LETTERS = "abcdefghijklmnop"


def read_letters(answer: object) -> list[str]:
    """Return the letters of "c a b", "c, a, b", "cab" or ["c", "a", "b"]."""
    if isinstance(answer, list | tuple):
        answer = " ".join(str(entry) for entry in answer)
    words = re.sub(r"[^a-z]+", " ", str(answer).lower()).split()
    return list(words[0]) if len(words) == 1 else words


@dataclass(frozen=True)
class Rule:
    """One step must come before another, both by their place in `Order.steps`; and why."""

    before: int
    after: int
    question: str


@dataclass(frozen=True, kw_only=True)
class Order(Exercise):
    """Steps to put in order; right is every order that keeps all rules.

    `steps` stand in one right order. A rule names two of them, and its question is asked of
    whoever turns them round; the first rule that is broken speaks.
    """

    kind: ClassVar[str] = "order"
    steps: tuple[str, ...]
    rules: tuple[Rule, ...]
    right: str

    def __post_init__(self) -> None:
        """Refuse rules that the given order breaks, and steps that no rule ties down."""
        count = len(self.steps)
        if any(not 0 <= rule.before < rule.after < count for rule in self.rules):
            raise ValueError(f"{self.title}: a rule must name two steps in their right order")
        if {place for rule in self.rules for place in (rule.before, rule.after)} != {*range(count)}:
            raise ValueError(f"{self.title}: every step needs a rule")

    @property
    def shown(self) -> tuple[int, ...]:
        """Return the steps' places in the order in which they are shown: never a right one."""
        places = list(range(len(self.steps)))
        draw = random.Random(self.id)
        while self._broken(places) is None or places == sorted(places):
            draw.shuffle(places)
        return tuple(places)

    @property
    def lettered(self) -> tuple[tuple[str, str], ...]:
        """Return (letter, step) as shown."""
        return tuple((LETTERS[n], self.steps[place]) for n, place in enumerate(self.shown))

    @property
    def answer(self) -> str:
        """Return the letters of the order in which the steps were declared."""
        shown = self.shown
        return " ".join(LETTERS[shown.index(place)] for place in range(len(self.steps)))

    def sheet(self) -> list[str]:
        """Return the lines of a notebook that show the steps."""
        return [f"- **{letter}** · {step}" for letter, step in self.lettered]

    @property
    def advice(self) -> str:
        """Return what to write in a notebook."""
        return f'the letters in order, such as "{" ".join(LETTERS[: len(self.steps)])}"'

    def judge(self, answer: object, seed: int | None = None) -> Result:
        """Ask the question of the first rule that the order breaks."""
        if answer is ...:
            return self._not_started()
        letters = read_letters(answer)
        known = [letter for letter, _ in self.lettered]
        if sorted(letters) != known:
            return self._no(f"Write each of the letters {', '.join(known)} once; got {answer!r}.")
        broken = self._broken([self.shown[LETTERS.index(letter)] for letter in letters])
        if broken is not None:
            return self._no(broken.question)
        return Result(self.id, self.title, passed=True, message=self.right)

    def data(self, say: Say) -> dict[str, Any]:
        """Return what the page needs to judge an order, by the steps' letters."""
        letter = {place: LETTERS[n] for n, place in enumerate(self.shown)}
        rules = [
            {"before": letter[rule.before], "after": letter[rule.after], "why": say(rule.question)}
            for rule in self.rules
        ]
        return {"kind": self.kind, "rules": rules, "right": say(self.right)}

    def _broken(self, places: list[int]) -> Rule | None:
        at = {place: n for n, place in enumerate(places)}
        return next((rule for rule in self.rules if at[rule.before] > at[rule.after]), None)


@dataclass(frozen=True, kw_only=True)
class Match(Exercise):
    """Give each item one of the choices; `pairs` are right, `decoys` fit nothing.

    A `Wrong` holds the pairs that somebody with one misunderstanding would give, as a dict from
    item to choice; its question is asked if all of them are among the answer's.
    """

    kind: ClassVar[str] = "match"
    pairs: tuple[tuple[str, str], ...]
    right: str
    otherwise: str
    decoys: tuple[str, ...] = ()
    plain: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse items of one name, and known wrong pairs that are right or unknown."""
        items = dict(self.pairs)
        if len(items) != len(self.pairs):
            raise ValueError(f"{self.title}: two items have one name")
        if {*self.decoys} & {choice for _, choice in self.pairs}:
            raise ValueError(f"{self.title}: a decoy is the right choice of an item")
        for wrong in self.wrong:
            known = all(item in items and c in self.choices for item, c in wrong.value.items())
            if not known or all(items[item] == choice for item, choice in wrong.value.items()):
                raise ValueError(f"{self.title}: {wrong.value} is not a wrong answer")

    @property
    def items(self) -> tuple[str, ...]:
        """Return what gets a choice each."""
        return tuple(item for item, _ in self.pairs)

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the items in plain words, for those who hear them."""
        return self.plain or self.items

    @property
    def choices(self) -> tuple[str, ...]:
        """Return all choices, each once, in the order in which they are shown."""
        return tuple(sorted({choice for _, choice in self.pairs} | {*self.decoys}, key=_natural))

    @property
    def answer(self) -> str:
        """Return one letter for each item."""
        return " ".join(LETTERS[self.choices.index(choice)] for _, choice in self.pairs)

    def sheet(self) -> list[str]:
        """Return the lines of a notebook that show items and choices."""
        lines = [f"{n}. {item}" for n, item in enumerate(self.items, 1)]
        choices = (f"- **{LETTERS[n]}** · {choice}" for n, choice in enumerate(self.choices))
        return [*lines, "", *choices]

    @property
    def advice(self) -> str:
        """Return what to write in a notebook."""
        return f'{len(self.items)} letters, one for each line, such as "a b …"'

    def judge(self, answer: object, seed: int | None = None) -> Result:
        """Compare item by item; a known confusion meets its own question."""
        if answer is ...:
            return self._not_started()
        letters = read_letters(answer)
        known = LETTERS[: len(self.choices)]
        if len(letters) != len(self.items) or any(letter not in known for letter in letters):
            return self._no(
                f"{len(self.items)} letters are asked for, each of {', '.join(known)};"
                f" got {answer!r}."
            )
        given = dict(
            zip(self.items, (self.choices[LETTERS.index(c)] for c in letters), strict=True)
        )
        again = [
            label
            for label, (item, choice) in zip(self.labels, self.pairs, strict=True)
            if given[item] != choice
        ]
        if not again:
            return Result(self.id, self.title, passed=True, message=self.right)
        detail = f"look again at: {', '.join(again)}"
        for wrong in self.wrong:
            if all(given[item] == choice for item, choice in wrong.value.items()):
                return self._no(wrong.question, detail)
        return self._no(self.otherwise, detail)

    def data(self, say: Say) -> dict[str, Any]:
        """Return what the page needs to judge a matching: numbers of items and choices."""
        place = {item: n for n, item in enumerate(self.items)}
        number = {choice: n for n, choice in enumerate(self.choices)}
        wrong = [
            {
                "pairs": [[place[item], number[c]] for item, c in known.value.items()],
                "question": say(known.question),
            }
            for known in self.wrong
        ]
        return {
            "kind": "match",
            "answer": [number[choice] for _, choice in self.pairs],
            "labels": list(self.labels),
            "wrong": wrong,
            "right": say(self.right),
            "otherwise": say(self.otherwise),
        }


@dataclass(frozen=True, kw_only=True)
class Fill(Match):
    """A formula with numbered blanks, each a `Match` item; the blanks stand in the prompt."""

    kind: ClassVar[str] = "fill"


@dataclass(frozen=True, kw_only=True)
class Cell(Exercise):
    """One cell of a table to mark, by (row, column) counted from 0.

    `in_row` is asked when the row is right and the column is not, `in_column` the other way
    round, a `Wrong` of exactly its cell. `values`, if given, are shown and shaded.
    """

    kind: ClassVar[str] = "cell"
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    answer: tuple[int, int]
    right: str
    in_row: str
    in_column: str
    otherwise: str
    values: tuple[tuple[float, ...], ...] = ()
    digits: int = 2
    row_word: str = "query"
    column_word: str = "key"

    def __post_init__(self) -> None:
        """Refuse cells outside the table."""
        cells = [self.answer, *(wrong.value for wrong in self.wrong)]
        if any(not (0 <= r < len(self.rows) and 0 <= c < len(self.columns)) for r, c in cells):
            raise ValueError(f"{self.title}: a cell lies outside the table")
        if any(wrong.value == self.answer for wrong in self.wrong):
            raise ValueError(f"{self.title}: a wrong cell is the right one")
        if self.values and {len(row) for row in self.values} != {len(self.columns)}:
            raise ValueError(f"{self.title}: a row of values has another length")

    def sheet(self) -> list[str]:
        """Return the lines of a notebook that draw the table."""
        head = [f"{self.row_word} \\ {self.column_word}", *self.columns]
        body = [
            [row, *(self.text(r, c) or " " for c in range(len(self.columns)))]
            for r, row in enumerate(self.rows)
        ]
        lines = [f"| {' | '.join(cells)} |" for cells in (head, *body)]
        return [lines[0], f"|{' --- |' * len(head)}", *lines[1:]]

    def text(self, row: int, column: int) -> str:
        """Return what stands in a cell."""
        return f"{self.values[row][column]:.{self.digits}f}" if self.values else ""

    def share(self, row: int, column: int) -> float:
        """Return a cell's value as a share of the largest, for its shade."""
        largest = max(abs(value) for line in self.values for value in line) or 1.0
        return abs(self.values[row][column]) / largest

    @property
    def advice(self) -> str:
        """Return what to write in a notebook."""
        return "(row, column), both counted from 0"

    def judge(self, answer: object, seed: int | None = None) -> Result:
        """Compare the marked cell."""
        if answer is ...:
            return self._not_started()
        found = re.findall(r"\d+", str(answer))
        if len(found) != 2:
            return self._no(f"One cell is asked for, as (row, column); got {answer!r}.")
        row, column = int(found[0]), int(found[1])
        if row >= len(self.rows) or column >= len(self.columns):
            size = f"{len(self.rows)} rows and {len(self.columns)} columns"
            return self._no(f"The table has {size}, counted from 0; got {answer!r}.")
        yours = (
            f"yours: {self.row_word} {self.rows[row]}, {self.column_word} {self.columns[column]}"
        )
        if (row, column) == self.answer:
            return Result(self.id, self.title, passed=True, message=self.right)
        for wrong in self.wrong:
            if (row, column) == wrong.value:
                return self._no(wrong.question, yours)
        if row == self.answer[0]:
            return self._no(self.in_row, yours)
        return self._no(self.in_column if column == self.answer[1] else self.otherwise, yours)

    def data(self, say: Say) -> dict[str, Any]:
        """Return what the page needs to judge a cell."""
        return {
            "kind": self.kind,
            "answer": list(self.answer),
            "wrong": [
                {"cell": list(wrong.value), "question": say(wrong.question)} for wrong in self.wrong
            ],
            "right": say(self.right),
            "inRow": say(self.in_row),
            "inColumn": say(self.in_column),
            "otherwise": say(self.otherwise),
        }


def _natural(text: str) -> list[tuple[int, int, str]]:
    """Sort numbers in a text by size, not by digit."""
    pieces = re.split(r"(\d+)", text)
    return [(0, int(p), "") if p.isdigit() else (1, 0, p.casefold()) for p in pieces if p]
