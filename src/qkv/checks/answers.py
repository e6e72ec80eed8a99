"""Read what a learner gives: a number, a row, or whatever a function returned.

An answer that cannot be read raises `UnreadableAnswerError`, whose text is a sentence for the
learner.
"""

from __future__ import annotations

import types
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

Value = np.ndarray | tuple[np.ndarray, ...]


class UnreadableAnswerError(ValueError):
    """The answer is not of a kind that can be judged; the text says which kind is."""


def read_number(answer: object) -> float:
    """Return `answer` as a finite float; text such as "3/4" or "0,75" is read too."""
    if isinstance(answer, str):
        text = answer.strip().replace("\N{MINUS SIGN}", "-").replace(",", ".").replace(" ", "")
        try:
            number = float(Fraction(text))
        except (ValueError, ZeroDivisionError):
            raise UnreadableAnswerError(
                f"{answer!r} is not a number that can be read. Try 2, -0.5 or 3/4."
            ) from None
    else:
        array = to_array(answer)
        if array.size != 1:
            raise UnreadableAnswerError(
                f"One number is asked for; you gave {array.size} (shape {array.shape})."
            )
        number = float(array.reshape(()))
    if not np.isfinite(number):
        raise UnreadableAnswerError(f"{number} is not a number to compare. Which step made it?")
    return number


def read_row(answer: object, labels: Sequence[str]) -> list[float]:
    """Return `answer` as one float for each label."""
    named = ", ".join(labels)
    if isinstance(answer, str):
        answer = answer.strip("[]() ").split(";" if ";" in answer else None)
    if isinstance(answer, list | tuple):
        numbers = [read_number(entry) for entry in answer]
    else:
        numbers = [float(entry) for entry in to_array(answer).reshape(-1)]
    if len(numbers) != len(labels):
        raise UnreadableAnswerError(
            f"{len(labels)} numbers are asked for ({named}); you gave {len(numbers)}."
        )
    return numbers


def to_value(raw: object, returns: Sequence[str]) -> Value:
    """Return what a function gave back as an array, or as one array for each name in `returns`."""
    if raw is None:
        raise UnreadableAnswerError(
            "Your function returned None. Does every way through it end in `return`?"
        )
    if not returns:
        if isinstance(raw, tuple) and any(np.ndim(entry) for entry in raw if entry is not None):
            raise UnreadableAnswerError(
                f"Your function returned {len(raw)} things; one is asked for. Which one?"
            )
        return to_array(raw)
    named = ", ".join(returns)
    if not isinstance(raw, list | tuple):
        raise UnreadableAnswerError(
            f"Your function returned one thing ({_kind(raw)}); {len(returns)} are asked for:"
            f" {named}, in this order."
        )
    if len(raw) != len(returns):
        raise UnreadableAnswerError(
            f"Your function returned {len(raw)} things; {len(returns)} are asked for:"
            f" {named}, in this order."
        )
    return tuple(to_array(entry, name) for entry, name in zip(raw, returns, strict=True))


def to_array(raw: object, name: str = "") -> np.ndarray:
    """Return numbers, lists, arrays and tensors as a float array of their own precision."""
    subject = f"{name} is" if name else "Your answer is"
    if raw is None:
        raise UnreadableAnswerError(f"{subject} None. Where should it have been made?")
    if callable(raw):
        raise UnreadableAnswerError(f"{subject} a function. Did you forget to call it?")
    if isinstance(raw, str | bytes | dict | set | types.GeneratorType):
        raise UnreadableAnswerError(f"{subject} {_kind(raw)}; numbers are asked for.")
    try:
        array = np.asarray(_from_tensor(raw))
    except (ValueError, TypeError):
        raise UnreadableAnswerError(
            f"{subject} a list whose rows have different lengths, or that holds no numbers."
            " Which row is shorter?"
        ) from None
    if array.dtype == bool:
        raise UnreadableAnswerError(f"{subject} True or False; numbers are asked for.")
    if np.iscomplexobj(array):
        raise UnreadableAnswerError(f"{subject} complex; real numbers are asked for.")
    if array.dtype.kind not in "iuf":
        raise UnreadableAnswerError(f"{subject} {_kind(raw)}; numbers are asked for.")
    return array if array.dtype.kind == "f" else array.astype(np.float64)


def written(number: float) -> str:
    """Write a number as a reader would: 3, -1.1042, 0.2381."""
    number = float(number)
    if not np.isfinite(number):
        return str(number)
    if number == int(number) and abs(number) < 1e6:
        return str(int(number))
    return f"{number:.4f}" if 1e-3 <= abs(number) < 1e6 else f"{number:.3g}"


def _from_tensor(raw: Any) -> Any:
    """Return a torch tensor (or a list of them) as numpy, without importing torch."""
    if isinstance(raw, list | tuple):
        return [_from_tensor(entry) for entry in raw]
    if hasattr(raw, "detach") and hasattr(raw, "cpu"):
        raw = raw.detach().cpu()
        return (raw.half() if "bfloat16" in str(raw.dtype) else raw).numpy()
    return raw


def _kind(raw: object) -> str:
    names: dict[type, str] = {
        str: "text",
        dict: "a dictionary",
        set: "a set",
        types.GeneratorType: "a generator",
    }
    name = type(raw).__name__
    return names.get(type(raw), f"of type {name}" if name != "ndarray" else "an array")
