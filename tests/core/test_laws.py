"""Every law, held against qkv's own functions."""

import pytest

import qkv
from tests.core.calls import FUNCTIONS
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
    assert set(FUNCTIONS) - set(LAWS) == set()
    assert set(LAWS) - set(FUNCTIONS) == set()
