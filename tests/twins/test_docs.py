"""The docstrings' examples run, sections are there, and a twin is as short as its original."""

import doctest
import importlib
import inspect
import pkgutil
import subprocess
import sys

import pytest

from qkv import twins
from tests.test_imports import LARGEST_FUNCTION, MOST_PARAMETERS, code_lines

FUNCTIONS = [n for n in twins.__all__ if inspect.isfunction(getattr(twins, n))]
CLASSES = [n for n in twins.__all__ if inspect.isclass(getattr(twins, n))]


@pytest.mark.parametrize("module", [m.name for m in pkgutil.iter_modules(twins.__path__)])
def test_examples(module):
    results = doctest.testmod(importlib.import_module(f"qkv.twins.{module}"))
    assert results.failed == 0


@pytest.mark.parametrize("name", FUNCTIONS)
def test_docstring_has_its_sections(name):
    text = inspect.getdoc(getattr(twins, name))
    for section in ("Parameters", "Returns", "See Also", "References", "Examples"):
        assert f"{section}\n{'-' * len(section)}" in text, f"{name} lacks {section}"
    assert ".. math::" in text
    assert "array" not in text.replace("np.array", "")
    for parameter in inspect.signature(getattr(twins, name)).parameters:
        assert parameter in text.split("Parameters\n")[1].split("Returns\n")[0]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_twin_is_one_equation(name):
    function = getattr(twins, name)
    assert len(inspect.signature(function).parameters) <= MOST_PARAMETERS
    assert code_lines(function) <= LARGEST_FUNCTION


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_says_what_it_holds(name):
    text = inspect.getdoc(getattr(twins, name))
    assert "Parameters\n---" in text or "Attributes\n---" in text


def test_names_are_listed_in_order():
    assert twins.__all__ == sorted(twins.__all__)


def test_annotated_shapes_are_the_shapes():
    """In a fresh Python every case runs with the annotations checked by jaxtyping."""
    code = """
import sys
from jaxtyping import install_import_hook
with install_import_hook("qkv.twins", "beartype.beartype"):
    from qkv import twins
from tests.twins.cases import CALLS, arguments
for name, number in CALLS:
    getattr(twins, name)(*arguments(name, number)[1])
import torch
try:
    twins.project(torch.ones(3, 5), [[1.0]])
except Exception as e:
    print(len(CALLS), type(e).__name__)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.split()[1] == "TypeCheckError"
