"""What an exercise is: kinds, each of which can judge an answer.

`Number`, `Row` and `Choice`, and the kinds of `arrangement`, are answered in the page or in a
notebook; `Code` in a notebook.
Texts are Markdown. Questions, whys and sentences hold no formulas, for they are also printed as
plain text; prompts, hints and solutions may.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from qkv.checks.answers import UnreadableAnswerError, read_number, read_row, written
from qkv.checks.ladder import Case, Rung, Slip, climb
from qkv.checks.report import Result

__all__ = ["Case", "Choice", "Code", "Exercise", "Number", "Option", "Row", "Rung", "Slip", "Wrong"]

SIGN = "The size is right. Which sign should it have, and why?"
ROUNDING = "Close. Is this a matter of rounding? Keep one more digit and try again."
NOT_STARTED = "Put your answer in place of `...`, then run the cell again."


@dataclass(frozen=True)
class Wrong:
    """A wrong answer that has a known cause, and the question it deserves."""

    value: Any
    question: str


@dataclass(frozen=True)
class Option:
    """One answer to choose; `why` says why it is right, or asks back why it is not."""

    text: str
    why: str
    correct: bool
    key: str = ""


@dataclass(frozen=True, kw_only=True)
class Exercise:
    """What all kinds have in common."""

    kind: ClassVar[str] = ""
    id: str = ""
    title: str
    prompt: str
    hints: tuple[str, str, str]
    solution: str
    stub: str = ""
    options: tuple[Option, ...] = ()
    wrong: tuple[Wrong, ...] = ()

    @property
    def call(self) -> str:
        """Return the line of a notebook that checks an answer."""
        return f'check("{self.id}", ...)'

    @property
    def advice(self) -> str:
        """Return, in words, what to write in a notebook."""
        return "what you computed"

    def sheet(self) -> list[str]:
        """Return the lines that a notebook shows below the prompt."""
        return []

    def judge(self, answer: object, seed: int | None = None) -> Result:
        """Say whether `answer` is right, and if it is not, ask why."""
        raise NotImplementedError

    def data(self, say: Callable[[str], str]) -> dict[str, Any]:
        """Return what a script needs to judge an answer; `say` turns a text into HTML."""
        raise NotImplementedError

    def _no(self, question: str, detail: str = "") -> Result:
        return Result(self.id, self.title, passed=False, message=question, detail=detail)

    def _not_started(self) -> Result:
        return Result(self.id, self.title, passed=False, started=False, message=NOT_STARTED)


@dataclass(frozen=True, kw_only=True)
class Number(Exercise):
    """One number; `otherwise` is asked when a wrong one has no known cause."""

    kind: ClassVar[str] = "number"
    answer: float
    right: str
    otherwise: str
    tolerance: float = 1e-6
    label: str = "Your number"

    def judge(self, answer: object, seed: int | None = None) -> Result:
        """Compare one number within the tolerance."""
        if answer is ...:
            return self._not_started()
        try:
            number = read_number(answer)
        except UnreadableAnswerError as sentence:
            return self._no(str(sentence))
        if self._near(number, self.answer):
            return Result(self.id, self.title, passed=True, message=self.right)
        yours = f"yours: {written(number)}"
        for known in self.wrong:
            if self._near(number, float(known.value)):
                return self._no(known.question, yours)
        if self._near(number, -self.answer):
            return self._no(SIGN, yours)
        if self.rounds and abs(number - self.answer) <= 4 * self.tolerance:
            return self._no(ROUNDING, yours)
        return self._no(self.otherwise, yours)

    @property
    def rounds(self) -> bool:
        """Whether the answer is one that a reader must round."""
        return self.tolerance > 1e-6

    def data(self, say: Callable[[str], str]) -> dict[str, Any]:
        """Return the answer, its tolerance and the questions."""
        return {
            "kind": self.kind,
            "answer": float(self.answer),
            "tolerance": self.tolerance,
            "wrong": [
                {"value": float(wrong.value), "question": say(wrong.question)}
                for wrong in self.wrong
            ],
            "right": say(self.right),
            "otherwise": say(self.otherwise),
            "rounds": self.rounds,
            "sign": SIGN,
            "rounding": ROUNDING,
        }

    def _near(self, number: float, target: float) -> bool:
        return abs(number - target) <= self.tolerance * (1 + 1e-9)


@dataclass(frozen=True, kw_only=True)
class Row(Exercise):
    """A row of numbers, one label each."""

    kind: ClassVar[str] = "row"
    answer: tuple[float, ...]
    labels: tuple[str, ...]
    right: str
    otherwise: str
    tolerance: float = 1e-6

    def judge(self, answer: object, seed: int | None = None) -> Result:
        """Compare entry by entry; say which entries hold, never what they should be."""
        if answer is ...:
            return self._not_started()
        try:
            numbers = read_row(answer, self.labels)
        except UnreadableAnswerError as sentence:
            return self._no(str(sentence))
        holds = self._near(numbers, self.answer)
        if all(holds):
            return Result(self.id, self.title, passed=True, message=self.right)
        again = [label for label, ok in zip(self.labels, holds, strict=True) if not ok]
        detail = f"look again at: {', '.join(again)}"
        for known in self.wrong:
            if all(self._near(numbers, known.value)):
                return self._no(known.question, detail)
        return self._no(self.otherwise, detail)

    def data(self, say: Callable[[str], str]) -> dict[str, Any]:
        """Return the answer by entry, its tolerance, the labels and the questions."""
        return {
            "kind": self.kind,
            "answer": [float(entry) for entry in self.answer],
            "tolerance": self.tolerance,
            "wrong": [
                {"value": [float(v) for v in wrong.value], "question": say(wrong.question)}
                for wrong in self.wrong
            ],
            "right": say(self.right),
            "otherwise": say(self.otherwise),
            "labels": list(self.labels),
        }

    def _near(self, numbers: Any, target: Any) -> list[bool]:
        return [
            abs(a - b) <= self.tolerance * (1 + 1e-9) for a, b in zip(numbers, target, strict=True)
        ]


@dataclass(frozen=True, kw_only=True)
class Choice(Exercise):
    """One of a few options, named a, b, c, …; exactly one is right."""

    kind: ClassVar[str] = "choice"

    def __post_init__(self) -> None:
        """Give the options their letters and refuse two right answers."""
        lettered = tuple(
            Option(option.text, option.why, bool(option.correct), "abcdefgh"[number])
            for number, option in enumerate(self.options)
        )
        if sum(option.correct for option in lettered) != 1:
            raise ValueError(f"{self.title}: exactly one option must be correct")
        object.__setattr__(self, "options", lettered)

    @property
    def answer(self) -> str:
        """Return the letter of the right option."""
        return next(option.key for option in self.options if option.correct)

    @property
    def advice(self) -> str:
        """Return what to write in a notebook."""
        return '"a", "b", …'

    def sheet(self) -> list[str]:
        """Return the options with their letters."""
        return [f"- **{option.key}** · {option.text}" for option in self.options]

    def data(self, say: Callable[[str], str]) -> dict[str, Any]:
        """Return whether each option is right, and why."""
        whys = {o.key: {"correct": o.correct, "why": say(o.why)} for o in self.options}
        return {"kind": self.kind, "options": whys}

    def judge(self, answer: object, seed: int | None = None) -> Result:
        """Look the letter up and give the option's why."""
        if answer is ...:
            return self._not_started()
        letter = str(answer).strip().strip("().").lower()
        for option in self.options:
            if letter == option.key:
                return Result(self.id, self.title, passed=option.correct, message=option.why)
        letters = ", ".join(f'"{option.key}"' for option in self.options)
        return self._no(f"Answer with one of the letters {letters}; you gave {answer!r}.")


@dataclass(frozen=True, kw_only=True)
class Code(Exercise):
    """A function to write: a stub, and a ladder that it climbs."""

    kind: ClassVar[str] = "code"
    function: str
    rungs: tuple[Rung, ...]
    returns: tuple[str, ...] = ()

    @property
    def call(self) -> str:
        """Return the line of a notebook that checks the function."""
        return f'check("{self.id}", {self.function})'

    @property
    def known_slips(self) -> tuple[tuple[str, Slip], ...]:
        """Return every (rung, slip) that has its own question."""
        return tuple((rung.name, slip) for rung in self.rungs for slip in rung.slips)

    def judge(self, answer: object, seed: int | None = None) -> Result:
        """Climb the ladder with new random numbers, rung by rung."""
        if answer is ...:
            return self._not_started()
        if seed is None:
            seed = int(np.random.default_rng().integers(10_000))
        return climb(self, answer, seed)


Builder = Callable[[], Exercise]
