"""Every law, held against qkv's own functions."""

import inspect

import pytest

import qkv
from tests.core.lawbook import all_laws

LAWS = all_laws()


@pytest.mark.parametrize(
    ("name", "check"),
    [
        pytest.param(name, check, id=f"{name}-{check.__name__}")
        for name, checks in LAWS.items()
        for check in checks
    ],
)
def test_law(name, check):
    check(getattr(qkv, name))


def test_every_public_function_has_a_law():
    functions = {n for n in qkv.core.__all__ if inspect.isfunction(getattr(qkv, n))}
    assert functions - set(LAWS) == set()
    assert set(LAWS) - functions == set()
