"""Books that must not build: each failure names its place, and fails again until it is cured."""

import pytest
from small_book import NOTEBOOK

pytestmark = [pytest.mark.book, pytest.mark.slow]

SOUND = "# A sound page\n\nNothing is wrong here.\n"
CELL = "\n```{{code-cell}} ipython3\n{}\n```\n"


def twice(book):
    """Build twice; return both, so that a forgetful second build shows."""
    builds = book.build(), book.build()
    assert [build.left_behind for build in builds] == [[], []]
    return builds


def test_a_cell_that_raises(make_book):
    book = make_book(
        front=SOUND, broken=NOTEBOOK + "# Broken\n" + CELL.format("raise ValueError('on purpose')")
    )
    for build in twice(book):
        assert build.code != 0
        assert "on purpose" in build.log
    book.write("broken", NOTEBOOK + "# Cured\n" + CELL.format("print(1)"))
    assert book.build().code == 0


def test_a_broken_formula(make_book):
    book = make_book(front=SOUND, broken="# Broken\n\nText.\n\n$$\n\\frac{a}{\n$$\n")
    for build in twice(book):
        assert build.code != 0
        assert "Broken formula" in build.log
        assert "broken.md:5" in build.log


def test_unknown_macros_directives_and_missing_descriptions(make_book):
    picture = "import matplotlib.pyplot as plt\nplt.plot([1, 2]);"
    inline = "from IPython.display import HTML\nHTML('<script>alert(1)</script>')"
    book = make_book(
        front=SOUND,
        directive="# A directive\n\n```{bogus} x\n```\n",
        picture=NOTEBOOK + "# A picture\n" + CELL.format(picture),
        inline=NOTEBOOK + "# A script\n" + CELL.format(inline),
    )
    first, second = twice(book)
    for build in (first, second):
        assert build.code != 0
        assert "Unknown directive type: 'bogus'" in build.log
        assert "image without alt text" in build.log
        assert "blocks this inline script" in build.log
