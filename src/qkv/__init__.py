"""Attention in numpy, one function an equation.

The library of the book *Where Do Q, K and V Come From?* The functions of ``qkv.core`` are here
under their own names. Everything else loads when it is first asked for, so that ``import qkv``
needs numpy and nothing more.
"""

import importlib
from typing import Any

from qkv.core import *  # noqa: F403
from qkv.core import __all__ as _core_names

__version__ = "0.1.0"

_FROM_CHECKS = ("check", "hint", "solution")
_SUBPACKAGES = ("checks", "data", "experiments", "figures", "twins", "widgets")

__all__ = [*_core_names, *_FROM_CHECKS]


def __getattr__(name: str) -> Any:
    if name in _FROM_CHECKS:
        return getattr(importlib.import_module("qkv.checks"), name)
    if name in _SUBPACKAGES:
        return importlib.import_module(f"qkv.{name}")
    raise AttributeError(f"module 'qkv' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_FROM_CHECKS, *_SUBPACKAGES})
