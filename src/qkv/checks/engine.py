"""The register of exercises and the three words of a learner: check, hint, solution."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import replace
from functools import cache

from qkv.checks.exercise import Builder, Exercise
from qkv.checks.report import Note, Result

_builders: dict[str, Builder] = {}
_hints_given: dict[str, int] = {}


class UnknownExerciseError(LookupError):
    """No exercise has this id; the message names the nearest one."""


def register(identity: str) -> Callable[[Builder], Builder]:
    """Enter a function that builds an exercise; it runs when the exercise is first asked for."""

    def enter(builder: Builder) -> Builder:
        if identity in _builders:
            raise ValueError(f"there are two exercises {identity!r}")
        _builders[identity] = builder
        return builder

    return enter


def ids(topic: str = "") -> tuple[str, ...]:
    """Return the ids of all exercises, or of one topic, in the order of the book.

    Examples
    --------
    >>> import qkv
    >>> "projections.twice" in qkv.checks.ids("projections")
    True
    """
    return tuple(name for name in _builders if not topic or name.split(".")[0] == topic)


@cache
def _built(identity: str) -> Exercise:
    return replace(_builders[identity](), id=identity)


def get(identity: str) -> Exercise:
    """Return an exercise; its numbers are computed at the first call.

    Parameters
    ----------
    identity : str
        Its id, such as ``"projections.twice"``.

    Returns
    -------
    Exercise
        With ``id``, ``kind``, ``title``, ``prompt``, ``hints``, ``solution`` and, by kind,
        ``stub``, ``options``, ``wrong``.

    Raises
    ------
    UnknownExerciseError
        If there is none of this name; the message names the nearest.

    Examples
    --------
    >>> import qkv
    >>> qkv.checks.get("projection.twice")
    Traceback (most recent call last):
        ...
    qkv.checks.engine.UnknownExerciseError: there is no exercise "projection.twice"; \
did you mean "projections.twice"?
    """
    if not isinstance(identity, str):
        raise UnknownExerciseError(
            f"the name of the exercise comes first, as text; got {type(identity).__name__}"
        )
    if identity not in _builders:
        near = difflib.get_close_matches(identity, _builders, n=1, cutoff=0.4)
        guess = f'; did you mean "{near[0]}"?' if near else f"; there are: {', '.join(_builders)}"
        raise UnknownExerciseError(f'there is no exercise "{identity}"{guess}')
    return _built(identity)


def check(identity: str, answer: object, seed: int | None = None) -> Result:
    """Judge an answer.

    Parameters
    ----------
    identity : str
        The id of the exercise.
    answer : object
        A number, a row of numbers, the letter of an option, or your function, as the exercise asks.
    seed : int, optional
        Draws a coding exercise's numbers again, as its report tells; new ones come otherwise.

    Returns
    -------
    Result
        True in an ``if`` when the answer is right; if it is not, it shows a question.

    Examples
    --------
    >>> import qkv
    >>> bool(qkv.check("dot_product.sign", "c"))
    True
    """
    return get(identity).judge(answer, seed)


def hint(identity: str) -> Note:
    """Give the next of three hints; after the third, the third again.

    Examples
    --------
    >>> import qkv
    >>> print(str(qkv.hint("dot_product.sign")).splitlines()[0])
    Hint 1 of 3: Hands of a clock
    """
    exercise = get(identity)
    given = min(_hints_given.get(identity, 0), len(exercise.hints) - 1)
    _hints_given[identity] = given + 1
    heading = f"Hint {given + 1} of {len(exercise.hints)}: {exercise.title}"
    return Note(heading, exercise.hints[given])


def solution(identity: str) -> Note:
    """Show the solution.

    Examples
    --------
    >>> import qkv
    >>> print(str(qkv.solution("dot_product.sign")).splitlines()[0])
    Solution: Hands of a clock
    """
    exercise = get(identity)
    return Note(f"Solution: {exercise.title}", exercise.solution)
