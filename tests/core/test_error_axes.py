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
from tests.core.calls import CALLS

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
    texts = {}
    for name in (n for n in qkv.core.__all__ if inspect.isfunction(getattr(qkv, n))):
        function = getattr(qkv, name)
        given = inspect.signature(function).bind(*CALLS[name](np.float64)).arguments
        for argument, value in given.items():
            if not (isinstance(value, np.ndarray) and value.ndim and value.size):
                continue
            for slip, change in SLIPS.items():
                text = ""
                try:
                    function(**{**given, argument: change(value)})
                except ValueError as error:
                    text = str(error)
                texts.setdefault(name, {}).setdefault(argument, {})[slip] = text
    return texts


@pytest.fixture(scope="module")
def now():
    return said()


@pytest.mark.parametrize("name", json.loads(KEPT.read_text("utf8")) if KEPT.exists() else [])
def test_the_texts_are_the_kept_ones(name, now):
    assert now[name] == json.loads(KEPT.read_text("utf8"))[name]


def test_every_function_that_takes_an_array_is_kept(now):
    assert list(now) == list(json.loads(KEPT.read_text("utf8")))


if __name__ == "__main__":
    KEPT.write_text(json.dumps(said(), indent=1, ensure_ascii=False) + "\n", "utf8")
