"""HeadSplitter in a real Chromium, from disk, under the strict policy."""

import pytest

from qkv.widgets import HeadSplitter
from qkv.widgets.base import number
from qkv.widgets.head_splitter import WAYS
from tests.widgets.page import kept_and_needed, set_traits, small_targets, traits, write_page

pytestmark = pytest.mark.browser


@pytest.fixture
def path(tmp_path):
    return write_page(tmp_path, HeadSplitter())


def state(page):
    return traits(page, ["tokens", "x", "w", "n_heads", "way", "token"])


def short(x):
    return number(x, 0 if float(x).is_integer() else 1)


def rows(page, name):
    return page.eval_on_selector_all(
        f"[data-matrix={name}] tbody tr",
        "all => all.map(r => [...r.querySelectorAll('td')].map(c => c.textContent))",
    )


def assert_numbers_equal_cores(page):
    page.wait_for_timeout(40)
    made = HeadSplitter(**state(page)).numbers()
    assert rows(page, "weights") == [[number(x) for x in row] for row in made["weights"]]
    exact = page.eval_on_selector_all(
        "[data-matrix=writes] tbody td", "all => all.map(td => Number(td.dataset.value))"
    )
    want = [*made["writes"].ravel().tolist(), *made["output"].tolist()]
    assert exact == pytest.approx(want, rel=0, abs=1e-9)
    assert rows(page, "w_q")[-1][1:] == [short(x) for x in made["q"]]
    words = page.eval_on_selector_all(".qkv-heads-words li", "all => all.map(e => e.textContent)")
    assert f"reads {made['reads']} of the 8" in words[0]
    assert ("does not follow" in words[1]) == (made["off"] > 1e-9)
    assert f"into {made['reaches']} of the 8" in words[2]
    assert words[3].startswith(f"{made['count']} weights")


def test_start_to_end_by_keyboard(page):
    assert_numbers_equal_cores(page)
    page.get_by_label("heads h").focus()
    page.keyboard.press("ArrowRight")
    assert state(page)["n_heads"] == 4
    assert_numbers_equal_cores(page)
    page.get_by_label("Token", exact=True).focus()
    page.keyboard.press("ArrowDown")
    assert state(page)["token"] == 2
    assert_numbers_equal_cores(page)
    page.get_by_label("Way").focus()
    for way in WAYS[1:]:
        page.keyboard.press("ArrowDown")
        assert state(page)["way"] == way
        assert_numbers_equal_cores(page)
    page.wait_for_timeout(500)
    said = page.text_content("[role=status]")
    assert said.startswith("head 1: query 'an' looks most at key 'apple', weight 0.99.")
    page.focus("[data-matrix=weights] td[tabindex='0']")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.closest('tr').rowIndex") == 1
    for _ in range(6):
        page.keyboard.press("Control+z")
    assert_numbers_equal_cores(page)


def test_undo_and_reset(page):
    page.get_by_label("Way").select_option("join")
    page.get_by_label("Token", exact=True).select_option("3")
    page.get_by_role("button", name="Undo").click()
    assert (state(page)["way"], state(page)["token"]) == ("join", 1)
    page.get_by_role("button", name="Reset").click()
    assert state(page)["way"] == "right"
    assert_numbers_equal_cores(page)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390, 320])
def test_no_overflow_no_axe_violation_and_targets_are_large(
    path, open_live, axe_violations, width, theme
):
    page = open_live(path, width=width, theme=theme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert axe_violations(page) == []
    assert small_targets(page, ".qkv-live :is(button, select, input)") == []
    page.get_by_label("heads h").focus()
    page.keyboard.press("ArrowRight")
    page.get_by_label("Way").select_option("slices")
    assert axe_violations(page) == []


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_the_size_stays_and_mounting_moves_nothing(path, open_live, width):
    page = open_live(path, width=width)
    kept, _ = kept_and_needed(page)
    heights = set()
    for n_heads in (1, 2, 4):
        for way in WAYS:
            set_traits(page, {"n_heads": n_heads, "way": way})
            assert_numbers_equal_cores(page)
            heights.add(page.locator(".qkv-live").bounding_box()["height"])
    assert len(heights) == 1, heights
    assert 0 <= kept - heights.pop() <= 26


def test_without_javascript_the_picture_stands_there(path, open_page):
    page = open_page(path, width=390, java_script_enabled=False)
    assert page.is_visible(".qkv-poster svg")
