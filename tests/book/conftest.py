"""Fixtures of the book tests; the helpers live in small_book.py."""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "book" / "_ext")]


@pytest.fixture(scope="session")
def make_book(tmp_path_factory):
    from small_book import SmallBook

    def make(**pages: str) -> SmallBook:
        return SmallBook(tmp_path_factory.mktemp("small") / "tree", pages)

    return make
