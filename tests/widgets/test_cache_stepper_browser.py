"""CacheStepper in a real Chromium, from disk, under the strict policy."""

import pytest

from qkv.widgets import CacheStepper
from qkv.widgets.base import number
from qkv.widgets.cache_stepper import WAYS, WORDS
from tests.widgets.page import kept_and_needed, set_traits, small_targets, traits, write_page

pytestmark = pytest.mark.browser
TABLE = ".qkv-cache-table tbody tr"
BILL = ".qkv-cache-bill tbody tr"


@pytest.fixture
def path(tmp_path):
    return write_page(tmp_path, CacheStepper())


def state(page):
    return traits(page, ["word", "kept", "sets", "head"])


def said(page):
    return page.inner_text(".qkv-cache-said")


def cells(page, rows):
    return page.eval_on_selector_all(
        rows, "all => all.map(r => [...r.querySelectorAll('td')].map(c => c.textContent))"
    )


def short(x):
    return number(x, 0) if float(x).is_integer() else number(x)


def assert_numbers_equal_cores(page):
    page.wait_for_timeout(30)
    now = state(page)
    made = CacheStepper(**now).numbers()
    query, *rows = cells(page, TABLE)
    assert query[:4] == [short(x) for x in made["q"]]
    for t, row in enumerate(rows):
        if t > now["word"]:
            assert set(row) == {""}
            continue
        want = [short(x) for x in (*made["k"][t], *made["v"][t])]
        assert row == [*want, number(made["weights"][t])]
    marks = page.eval_on_selector_all(f"{TABLE} th i", "all => all.map(e => e.textContent)")
    later = [""] * (6 - now["word"])
    assert marks == ["■" if fresh else "□" for fresh in made["made"]] + later
    assert cells(page, BILL) == [[f"{x:,}" for x in row] for row in made["table"]]


def test_start_to_end_by_keyboard(page):
    assert_numbers_equal_cores(page)
    assert said(page).startswith("“gegessen” looks at 6 rows, head 1 most at “Apfel”")
    page.get_by_role("button", name="Back").focus()
    for word in (4, 3, 2, 1, 0, 0):
        page.keyboard.press("Enter")
        assert state(page)["word"] == word
        assert_numbers_equal_cores(page)
    page.get_by_role("button", name="Next word").focus()
    for word in (1, 2):
        page.keyboard.press("Space")
        assert state(page)["word"] == word
    page.focus(".qkv-strip input[value='2']:checked")
    page.keyboard.press("ArrowRight")
    assert state(page)["word"] == 3
    page.focus("input[value='K and V']")
    for kept in ("X", "nothing"):
        page.keyboard.press("ArrowLeft")
        assert state(page)["kept"] == kept
        assert_numbers_equal_cores(page)
    page.focus("fieldset:has(legend:text-is('Sets of K and V')) input:checked")
    page.keyboard.press("ArrowRight")
    assert state(page)["sets"] == 1
    assert_numbers_equal_cores(page)
    page.focus("fieldset:has(legend:text-is('Head')) input:checked")
    page.keyboard.press("ArrowRight")
    assert state(page)["head"] == 1
    assert_numbers_equal_cores(page)
    page.wait_for_timeout(500)
    assert page.text_content("[role=status]") == said(page)
    for _ in range(14):
        page.keyboard.press("Control+z")
    assert state(page) == {"word": 5, "kept": "K and V", "sets": 3, "head": 0}
    assert_numbers_equal_cores(page)


def test_what_is_kept_changes_no_weight(page):
    numbers = []
    for kept in WAYS:
        set_traits(page, {"kept": kept})
        assert_numbers_equal_cores(page)
        numbers.append(cells(page, TABLE))
    assert numbers[0] == numbers[1] == numbers[2]


def test_by_touch(path, open_live):
    page = open_live(path, width=390, has_touch=True, is_mobile=True)
    page.get_by_label("einen").tap()
    assert state(page)["word"] == WORDS.index("einen")
    page.get_by_label("1 for all").tap()
    assert state(page)["sets"] == 1
    page.get_by_role("button", name="Reset").tap()
    assert state(page) == {"word": 5, "kept": "K and V", "sets": 3, "head": 0}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390, 320])
def test_no_overflow_no_axe_violation_and_targets_are_large(
    path, open_live, axe_violations, width, theme
):
    page = open_live(path, width=width, theme=theme)
    set_traits(page, {"sets": 1, "kept": "X"})
    page.wait_for_timeout(50)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    tables = page.eval_on_selector_all(
        ".qkv-live table", "all => all.map(e => e.getBoundingClientRect().right)"
    )
    assert max(tables) <= width
    assert axe_violations(page) == []
    assert small_targets(page, ".qkv-live :is(button, input)") == []


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_mounting_does_not_move_the_text_below(path, open_live, width):
    page = open_live(path, width=width)
    kept, live = kept_and_needed(page)
    assert 0 <= kept - live <= 26, (kept, live)


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_the_size_stays_while_everything_moves(path, open_live, width):
    page = open_live(path, width=width)
    page.evaluate("document.querySelector('.qkv-live').style.minHeight = ''")
    sizes = set()
    for word in (0, 3, 5, 6):
        for kept in WAYS:
            for sets in (3, 1):
                set_traits(page, {"word": word, "kept": kept, "sets": sets, "head": word % 3})
                assert_numbers_equal_cores(page)
                sizes.add(page.locator(".qkv-live").bounding_box()["height"])
    assert len(sizes) == 1, sizes


def test_without_javascript_the_words_stand_there(path, open_page):
    page = open_page(path, width=390, java_script_enabled=False)
    assert page.is_visible(".qkv-poster svg")
