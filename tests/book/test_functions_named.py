"""Every public function of core is named on a page that a reader reads, not only in the API."""

import inspect
import re
from pathlib import Path

import pytest

from qkv import core

BOOK = Path(__file__).resolve().parents[2] / "book"
PAGES = {path.name: path.read_text(encoding="utf-8") for path in BOOK.glob("*.md")}
FUNCTIONS = [name for name in core.__all__ if inspect.isfunction(getattr(core, name))]


def test_there_are_functions_and_pages():
    assert len(FUNCTIONS) > 90
    assert len(PAGES) > 20


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_page_names_it(name):
    assert any(re.search(rf"\b{name}\b", text) for text in PAGES.values())
