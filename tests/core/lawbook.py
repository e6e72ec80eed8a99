"""A law is a check that takes an implementation, so that it can be held against any of them.

`test_laws.py` holds every law against qkv's own function, and all must pass;
`test_planted_bugs.py` holds the same laws against wrong versions, and each must be refused.
Sizes are primes and no two are equal; tolerances are absolute.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

Law = Callable[[Callable[..., Any]], None]
LAWS: dict[str, list[Law]] = defaultdict(list)


def law(*targets: str) -> Callable[[Law], Law]:
    """Register a check for the public functions named by `targets`."""

    def register(check: Law) -> Law:
        for target in targets:
            LAWS[target].append(check)
        return check

    return register


def all_laws() -> dict[str, list[Law]]:
    """Return the laws of every function, after importing the files that state them."""
    laws = importlib.import_module("tests.core.laws")
    for module in pkgutil.iter_modules(laws.__path__):
        importlib.import_module(f"tests.core.laws.{module.name}")
    return LAWS


def close(actual: Any, expected: Any, atol: float = 1e-12) -> None:
    """Assert equal shapes and equal numbers, by absolute difference alone."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape, f"shape {actual.shape}, expected {expected.shape}"
    np.testing.assert_allclose(actual, expected, rtol=0, atol=atol)


def draw(*shapes: tuple[int, ...], seed: int = 0) -> list[np.ndarray]:
    """Return one standard normal float64 array for each shape."""
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape) for shape in shapes]
