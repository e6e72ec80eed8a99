"""The ladder of a coding exercise: one mechanism a rung, a question at the first that breaks.

A rung draws random inputs, calls the learner's function on copies of them and compares. A slip is
a known wrong way to compute: where the learner's result equals a slip's, the slip's own question
is asked. The expected values come from ``qkv.core``; the text of the solution is never read.
"""

from __future__ import annotations

import inspect
import re
import traceback
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qkv.checks.answers import UnreadableAnswerError, Value, to_value, written
from qkv.checks.limits import SECONDS, OutOfTimeError, limited
from qkv.checks.report import Difference, Result

if TYPE_CHECKING:
    from qkv.checks.exercise import Code

_DRAWS = 200
PRIMES = (2, 3, 5, 7, 11)
_HERE = str(Path(__file__).parent)
_TOLERANCE = {2: (2e-2, 2e-2), 4: (1e-4, 1e-5), 8: (1e-7, 1e-9)}
ENDLESS = (
    "Your code was still running when its time was over, and was stopped. Which loop has no end,"
    " or goes over far too much?"
)
HUGE = (
    "Your code asked for more memory than this exercise can need. Which array has become so large,"
    " and which axis is one too many?"
)
_UNTOUCHED = "inputs untouched"


@dataclass(frozen=True)
class Case:
    """The inputs of one call, and what it must return; or the error that it must raise."""

    args: tuple[Any, ...]
    expected: Any = None
    raises: type[Exception] | None = None


@dataclass(frozen=True)
class Slip:
    """A wrong way to compute; `question` is asked of whoever gets the same result."""

    name: str
    compute: Callable[..., Any]
    question: str


@dataclass(frozen=True)
class Rung:
    """One mechanism: `draw` makes a case from a random generator.

    `question` is asked of a result that differs, `crash` of code that stops with an error.
    """

    name: str
    draw: Callable[[np.random.Generator], Case]
    question: str
    slips: tuple[Slip, ...] = ()
    crash: str = "Your code stopped before it returned anything. What does the line below do here?"


@dataclass(frozen=True)
class _Outcome:
    """What one call did: gave a value, gave something unreadable, or raised."""

    value: Value | None = None
    sentence: str = ""
    error: Exception | None = None


def sizes(rng: np.random.Generator, count: int) -> list[int]:
    """Draw `count` primes, no two equal."""
    return [int(size) for size in rng.choice(PRIMES, size=count, replace=False)]


def numbers(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Draw numbers with two decimals, none of them zero."""
    drawn = np.round(rng.normal(size=shape) * 2, 2)
    return np.where(drawn == 0, 1.25, drawn)


def climb(exercise: Code, function: object, seed: int) -> Result:
    """Call `function` on every rung's case and report the first that breaks."""
    names = tuple(rung.name for rung in exercise.rungs)

    def report(passed: bool, message: str, **more: Any) -> Result:
        more.setdefault("rung", "")
        return Result(
            exercise.id, exercise.title, passed=passed, message=message, rungs=names, **more
        )

    if not callable(function):
        return report(
            False,
            f"Hand over the function itself, without calling it: `{exercise.call}`.",
            detail=f"got: {_short(function)}",
        )
    touched = None
    for number, rung in enumerate(exercise.rungs):
        rng = np.random.default_rng([seed, number])
        case = _telling_case(rung, exercise.returns, rng)
        given = deepcopy(case.args)
        misfit = _misfit(function, case.args)
        if misfit:
            return report(False, misfit, rung=rung.name, height=number)
        outcome = _call(function, given, exercise.returns, limited)
        if isinstance(outcome.error, NotImplementedError):
            message = f"Write `{exercise.function}` first: it still raises NotImplementedError."
            return report(False, message, started=False)
        if not _agrees(outcome, case, exercise.returns):
            return report(
                False,
                _question(rung, case, outcome, exercise.returns),
                rung=rung.name,
                height=number,
                seed=seed,
                inputs=case.args,
                **_evidence(function, case, outcome, exercise.returns),
            )
        if touched is None:
            touched = _first_touched(function, case.args, given)
    if touched is not None:
        return report(
            False,
            f"The numbers are right, but `{touched[0]}` is not what it was before your call."
            " Which line writes into its argument?",
            detail=touched[1],
            rung=_UNTOUCHED,
            height=len(names),
            seed=seed,
        )
    return report(True, "", height=len(names), seed=seed)


def _telling_case(rung: Rung, returns: tuple[str, ...], rng: np.random.Generator) -> Case:
    """Draw until no slip is right by chance and no two slips look alike."""
    spare = None
    for _ in range(_DRAWS):
        case = rung.draw(rng)
        outcomes = [
            (slip.question, _call(slip.compute, deepcopy(case.args), returns))
            for slip in rung.slips
        ]
        if any(_agrees(outcome, case, returns) for _, outcome in outcomes):
            continue
        if not any(
            asked != other and _alike(one, two)
            for (asked, one), (other, two) in combinations(outcomes, 2)
        ):
            return case
        spare = spare or case
    if spare is None:
        raise RuntimeError(f"rung {rung.name!r}: one of its slips is never wrong")
    return spare


def _call(
    function: Any,
    args: tuple[Any, ...],
    returns: tuple[str, ...],
    limits: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> _Outcome:
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"), limits():
            warnings.simplefilter("ignore")
            return _Outcome(value=to_value(function(*args), returns))
    except UnreadableAnswerError as sentence:
        return _Outcome(sentence=str(sentence))
    except OutOfTimeError as stopped:
        late = TimeoutError(f"stopped after {SECONDS:g} seconds").with_traceback(
            stopped.__traceback__
        )
        return _Outcome(error=late, sentence=ENDLESS)
    except MemoryError as error:
        return _Outcome(error=error, sentence=HUGE)
    except SystemExit as error:
        return _Outcome(error=RuntimeError(f"it called exit({error.code or ''})"))
    except Exception as error:  # whatever the learner's code raises is shown to the learner
        return _Outcome(error=error)


def _agrees(outcome: _Outcome, case: Case, returns: tuple[str, ...]) -> bool:
    if case.raises is not None:
        return isinstance(outcome.error, case.raises)
    if outcome.value is None:
        return False
    return _same(outcome.value, to_value(case.expected, returns))


def _same(yours: Value, expected: Value) -> bool:
    if isinstance(yours, tuple) or isinstance(expected, tuple):
        return (
            isinstance(yours, tuple)
            and isinstance(expected, tuple)
            and len(yours) == len(expected)
            and all(_same(a, b) for a, b in zip(yours, expected, strict=True))
        )
    return yours.shape == expected.shape and not _differs(yours, expected).any()


def _differs(yours: np.ndarray, expected: np.ndarray) -> np.ndarray:
    relative, absolute = _TOLERANCE.get(yours.dtype.itemsize, _TOLERANCE[8])
    # The size of a sum's terms is not known here; the largest expected entry stands in for it.
    finite = np.abs(expected[np.isfinite(expected)])
    absolute *= max(1.0, float(finite.max(initial=0.0)))
    return ~np.isclose(yours, expected, rtol=relative, atol=absolute, equal_nan=True)


def _question(rung: Rung, case: Case, outcome: _Outcome, returns: tuple[str, ...]) -> str:
    """Return the question of the slip that does the same, or else the rung's own."""
    for slip in rung.slips:
        known = _call(slip.compute, deepcopy(case.args), returns)
        if _alike(outcome, known):
            return slip.question
    return outcome.sentence or (rung.crash if outcome.error is not None else rung.question)


def _alike(one: _Outcome, other: _Outcome) -> bool:
    if one.value is not None and other.value is not None:
        return _same(one.value, other.value)
    if one.error is not None and other.error is not None:
        return _complaint(one.error) == _complaint(other.error)
    return bool(one.sentence) and one.sentence == other.sentence


def _evidence(
    function: Any, case: Case, outcome: _Outcome, returns: tuple[str, ...]
) -> dict[str, Any]:
    """Return what the report shows below the question."""
    if outcome.error is not None:
        given = ", ".join(f"{name} {shape}" for name, shape in _shapes(function, case.args))
        return {
            "detail": _complaint(outcome.error),
            "line": _line_of(outcome.error, function),
            "given": given and f"shapes: {given}",
        }
    if outcome.value is None:
        return {"detail": ""}
    if case.raises is not None:
        return {
            "detail": f"yours returned {_short(outcome.value)},"
            f" expected: raise {case.raises.__name__}"
        }
    expected = to_value(case.expected, returns)
    pairs = list(zip(returns or ("",), _all(outcome.value), _all(expected), strict=True))
    name, yours, right = next(pair for pair in pairs if not _same(pair[1], pair[2]))
    where = f"in {name}, " if name else ""
    if yours.shape != right.shape:
        slip = "; it looks transposed" if yours.shape == right.shape[::-1] != right.shape else ""
        return {
            "detail": f"{where}yours has shape {yours.shape}, expected {right.shape}{slip}",
            "difference": Difference(name, yours, right, None),
        }
    wrong = _differs(yours, right)
    at = tuple(int(index) for index in np.argwhere(wrong)[0])
    place = f"at {at}: " if len(at) > 1 else f"at [{at[0]}]: " if at else ""
    mine, theirs = written(yours[at]), written(right[at])
    if mine == theirs:
        mine, theirs = repr(float(yours[at])), repr(float(right[at]))
    detail = f"{where}{place}yours {mine}, expected {theirs}"
    if np.isnan(yours[at]):
        detail += "; nan is born where 0 is divided by 0, or where a nan was read"
    return {"detail": detail, "difference": Difference(name, yours, right, wrong)}


def _all(value: Value) -> tuple[np.ndarray, ...]:
    return value if isinstance(value, tuple) else (value,)


def _misfit(function: Any, args: tuple[Any, ...]) -> str:
    """Return a sentence if the function cannot take these arguments."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return ""
    try:
        signature.bind(*args)
    except TypeError:
        takes = len(signature.parameters)
        return (
            f"Your function takes {takes} argument{'s' * (takes != 1)} {signature};"
            f" it is called with {len(args)}. Did its first line change?"
        )
    return ""


def _names(function: Any, args: tuple[Any, ...]) -> list[str]:
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        names = []
    return [names[n] if n < len(names) else f"argument {n}" for n in range(len(args))]


def _shapes(function: Any, args: tuple[Any, ...]) -> list[tuple[str, tuple[int, ...]]]:
    named = zip(_names(function, args), args, strict=True)
    return [(name, arg.shape) for name, arg in named if isinstance(arg, np.ndarray)]


def _first_touched(
    function: Any, before: tuple[Any, ...], after: tuple[Any, ...]
) -> tuple[str, str] | None:
    """Return the name of the first argument that the call changed, and where."""
    for name, old, new in zip(_names(function, before), before, after, strict=True):
        if callable(old) or isinstance(old, str):
            continue
        if isinstance(old, dict):
            if old != new:
                return name, f"it had {len(old)} entries, now {len(new)}"
            continue
        if isinstance(old, list | tuple) and len(old) != len(new):
            return name, f"it had {len(old)} entries, now {len(new)}"
        old, new = np.asarray(old), np.asarray(new)
        if old.dtype.kind not in "iufb":
            if not np.array_equal(old, new):
                return name, "its entries are not the same"
            continue
        if old.shape != new.shape:
            return name, f"its shape was {old.shape}, now {new.shape}"
        changed = np.argwhere(~np.isclose(old, new, rtol=0, atol=0, equal_nan=True))
        if len(changed):
            at = tuple(int(index) for index in changed[0])
            return name, f"at {at}: was {written(old[at])}, now {written(new[at])}"
    return None


def _complaint(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "RecursionError: it calls itself without an end"
    text = re.sub(r", with gufunc signature \S+", "", str(error).split("\n")[0])
    return f"{type(error).__name__}: {text[:300]}" if text else type(error).__name__


def _line_of(error: Exception, function: Any) -> str:
    """Return the learner's line in which the error happened, as "line 3: …"."""
    frames = traceback.extract_tb(error.__traceback__)
    code = getattr(inspect.unwrap(function), "__code__", None) if callable(function) else None
    home = code.co_filename if code else ""
    mine = [frame for frame in frames if frame.filename == home] or [
        frame
        for frame in frames
        if not frame.filename.startswith((_HERE, "<__array"))
        and "site-packages" not in frame.filename
    ]
    if not mine:
        return ""
    line = (mine[-1].line or "").strip()
    return f"line {mine[-1].lineno}" + (f": {line}" if line else "")


def _short(thing: object) -> str:
    with np.printoptions(precision=4, threshold=12, edgeitems=2):
        text = " ".join(str(thing).split())
    return text if len(text) <= 80 else text[:77] + "…"
