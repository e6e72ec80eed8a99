"""The examples in the docstrings run, and every public name has one and cites its source."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

import qkv
from tests.core.calls import FUNCTIONS


@pytest.mark.parametrize("module", [m.name for m in pkgutil.iter_modules(qkv.core.__path__)])
def test_examples(module):
    results = doctest.testmod(importlib.import_module(f"qkv.core.{module}"))
    assert results.failed == 0


@pytest.mark.parametrize("name", FUNCTIONS)
def test_docstring_has_its_sections(name):
    text = inspect.getdoc(getattr(qkv, name))
    for section in ("Parameters", "Returns", "Raises", "References", "Examples"):
        assert f"{section}\n{'-' * len(section)}" in text, f"{name} lacks {section}"
    assert ".. math::" in text, f"{name} shows no equation"
    for parameter in inspect.signature(getattr(qkv, name)).parameters:
        assert parameter in text.split("Parameters\n-")[1].split("Returns\n-")[0]
