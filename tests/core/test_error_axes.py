"""What each public function says of an argument with an axis or a number too few or too many.

The texts are kept in error_axes.json, which a person reads when it changes:
`python -m tests.core.test_error_axes` writes it anew.
"""

import inspect
import json
from pathlib import Path

import numpy as np
import pytest

import qkv
from tests.core.calls import CALLS, FUNCTIONS

KEPT = Path(__file__).with_name("error_axes.json")
SLIPS = {
    "no axis": lambda array: array.reshape(-1)[0],
    "one axis less": lambda array: array[0],
    "one axis more": lambda array: np.stack([array] * 3),
    "first axis longer": lambda array: np.concatenate([array, array[:1]]),
    "last axis longer": lambda array: np.concatenate([array, array[..., :1]], axis=-1),
}


def said():
    """Return what is said: {function: {argument: {slip: text, empty where it is taken}}}."""
    return {name: texts for name in FUNCTIONS if (texts := said_by(name))}


def said_by(name):
    function = getattr(qkv, name)
    given = inspect.signature(function).bind(*CALLS[name](np.float64)).arguments
    return {
        argument: {
            slip: refusal(function, {**given, argument: change(value)})
            for slip, change in SLIPS.items()
        }
        for argument, value in given.items()
        if isinstance(value, np.ndarray) and value.ndim and value.size
    }


def refusal(function, given):
    try:
        function(**given)
    except ValueError as error:
        return str(error)
    return ""


@pytest.fixture(scope="module")
def kept():
    return json.loads(KEPT.read_text("utf8"))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_texts_are_the_kept_ones(name, kept):
    assert said_by(name) == kept.get(name, {})


def test_nothing_else_is_kept(kept):
    assert set(kept) <= set(FUNCTIONS)


if __name__ == "__main__":
    KEPT.write_text(json.dumps(said(), indent=1, ensure_ascii=False) + "\n", "utf8")
