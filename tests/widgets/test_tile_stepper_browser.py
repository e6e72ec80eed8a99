"""TileStepper in a real Chromium, from disk, under the strict policy."""

import numpy as np
import pytest

from qkv.widgets import TileStepper
from qkv.widgets.base import number
from tests.widgets.page import kept_and_needed, set_traits, small_targets, traits, write_page

pytestmark = pytest.mark.browser
NAMES = ["scores", "tile", "read", "causal", "query"]
TABLE = "[data-matrix=step] tbody"
FIRST = {"scores": [1, 2, 0, 1, 5, 0, 2, 3], "tile": 3, "read": 2, "causal": False, "query": 4}


@pytest.fixture
def path(tmp_path):
    return write_page(tmp_path, TileStepper())


def said(page):
    return page.inner_text(".qkv-tile-said")


def shown(x):
    return "–" if np.isnan(x) else number(x, 3)  # noqa: RUF001


def assert_numbers_equal_cores(page):
    page.wait_for_timeout(30)
    now = traits(page, NAMES)
    made = TileStepper(**now).numbers()
    want = np.column_stack([made[name] for name in ("before", "kept", "added", "after")])
    cells = page.eval_on_selector_all(f"{TABLE} td", "all => all.map(c => c.textContent)")
    assert cells == [shown(x) for x in want.ravel()]
    answers = page.eval_on_selector_all(
        ".qkv-tile-answers dd", "all => all.map(c => c.textContent)"
    )
    pairs = [f"({', '.join(number(x) for x in made[name])})" for name in ("mean", "full")]
    assert answers[:2] == pairs
    side = -(-8 // now["tile"])
    drawn = page.locator(".qkv-tile-computed, .qkv-tile-at").count()
    assert drawn == made["computed"]
    assert page.locator(".qkv-tile-skipped").count() == side**2 - made["computed"]


def test_start_to_end_by_keyboard(page):
    assert_numbers_equal_cores(page)
    assert "a larger score, 5 after 2" in said(page)
    page.get_by_role("button", name="Next tile").focus()
    for _ in range(3):  # one press too many: nothing happens, and the focus stays
        page.keyboard.press("Enter")
    assert traits(page, NAMES)["read"] == 3
    assert page.evaluate("document.activeElement.textContent") == "Next tile"
    assert "equal: every tile is read" in page.inner_text(".qkv-tile-answers")
    assert_numbers_equal_cores(page)
    page.get_by_role("button", name="Back").focus()
    for _ in range(3):
        page.keyboard.press("Space")
        assert_numbers_equal_cores(page)
    assert said(page).startswith("Nothing is read yet")
    page.wait_for_timeout(500)
    assert page.text_content("[role=status]").startswith(said(page))
    page.get_by_label("Keys in a tile").focus()
    page.keyboard.press("ArrowLeft")
    page.get_by_label("Query", exact=True).focus()
    page.keyboard.press("Home")
    page.get_by_label("causal mask").focus()
    page.keyboard.press("Space")
    assert_numbers_equal_cores(page)
    page.get_by_label("score of key 0", exact=True).focus()
    for _ in range(3):
        page.keyboard.press("ArrowUp")
    assert traits(page, NAMES)["scores"][0] == 4
    page.get_by_role("button", name="Next tile").focus()
    page.keyboard.press("Enter")
    assert_numbers_equal_cores(page)
    for _ in range(14):
        page.keyboard.press("Control+z")
    assert traits(page, NAMES) == FIRST
    assert_numbers_equal_cores(page)


def test_the_table_is_walked_with_the_arrow_keys(page):
    cell = page.locator(f"{TABLE} td").first
    cell.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    at = page.evaluate("[document.activeElement.parentElement.sectionRowIndex,"
                       " document.activeElement.cellIndex]")  # fmt: skip
    assert at == [1, 2]


def test_a_larger_first_score_needs_no_rescaling(page):
    page.get_by_label("score of key 0", exact=True).fill("9")
    page.wait_for_timeout(30)
    assert "no larger score. m stays 9" in said(page)
    assert_numbers_equal_cores(page)
    page.get_by_label("score of key 0", exact=True).fill("1000")
    assert traits(page, NAMES)["scores"][0] == 99
    page.get_by_label("score of key 0", exact=True).fill("")
    assert traits(page, NAMES)["scores"][0] == 99
    page.get_by_role("button", name="Reset").click()
    assert traits(page, NAMES) == FIRST
    assert_numbers_equal_cores(page)


def test_a_causal_mask_hides_keys_and_skips_tiles(page):
    set_traits(page, {"causal": True, "query": 3, "read": 8, "tile": 2})
    assert_numbers_equal_cores(page)
    assert page.locator(".qkv-tile-hidden").count() == 4
    assert said(page).startswith("Tile 2 of 2")
    assert page.locator(".qkv-tile-skipped").count() == 6


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390, 320])
def test_no_overflow_no_axe_violation_and_targets_are_large(
    path, open_live, axe_violations, width, theme
):
    page = open_live(path, width=width, theme=theme)
    set_traits(page, {"causal": True, "query": 4, "scores": [-9.75, 2, 0, 1, 5, 0, 2, 99]})
    page.wait_for_timeout(50)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert axe_violations(page) == []
    assert small_targets(page, ".qkv-live :is(button, select, input, tbody td)") == []


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_mounting_does_not_move_the_text_below(path, open_live, width):
    page = open_live(path, width=width)
    kept, live = kept_and_needed(page)
    assert 0 <= kept - live <= 26


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_the_size_stays_while_everything_moves(path, open_live, width):
    page = open_live(path, width=width)
    page.evaluate("document.querySelector('.qkv-live').style.minHeight = ''")
    sizes = set()
    for scores in (FIRST["scores"], [-99.5 + 1, -88.25, -77.75, -66, -55, -44, -33, -22.5]):
        for tile in (1, 3, 8):
            for read in (0, 1, 2, 8):
                for causal in (False, True):
                    set_traits(
                        page, {"scores": scores, "tile": tile, "read": read, "causal": causal}
                    )
                    assert_numbers_equal_cores(page)
                    sizes.add(page.locator(".qkv-live").bounding_box()["height"])
    assert len(sizes) == 1, sizes


def test_without_javascript_the_scores_stand_there(path, open_page):
    page = open_page(path, width=390, java_script_enabled=False)
    assert page.is_visible(".qkv-poster svg")
