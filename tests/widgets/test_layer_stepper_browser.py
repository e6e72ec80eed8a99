"""LayerStepper in a real Chromium, from disk, under the strict policy."""

import numpy as np
import pytest

from qkv.widgets import LayerStepper
from qkv.widgets.base import number
from tests.widgets.page import kept_and_needed, set_traits, small_targets, traits, write_page

pytestmark = pytest.mark.browser
LINES = ".qkv-step-panel tbody tr:not([hidden])"


@pytest.fixture
def path(tmp_path):
    return write_page(tmp_path, LayerStepper())


def state(page):
    return traits(page, ["layer", "token", "place", "order", "residual"])


def assert_numbers_equal_cores(page):
    page.wait_for_timeout(30)
    widget = LayerStepper(**state(page))
    made = widget.numbers()
    shown = page.eval_on_selector_all(
        LINES, "all => all.map(r => r.lastElementChild.dataset.value).map(Number)"
    )
    np.testing.assert_allclose(shown, made["row"], rtol=0, atol=1e-12)
    texts = page.eval_on_selector_all(LINES, "all => all.map(r => r.lastElementChild.textContent)")
    assert texts == [number(x) for x in made["row"]]
    ladder = page.eval_on_selector_all(
        ".qkv-step-ladder label:not([hidden])",
        "all => all.map(l => [...l.querySelectorAll('b, i')].map(e => e.textContent))",
    )
    places = widget.path()
    assert [row[0] for row in ladder] == made["names"]
    for row, place, mean, length in zip(ladder, places, made["mean"], made["length"], strict=True):
        flat = place.kind in ("hidden", "words")
        assert row[1:] == (["", ""] if flat else [number(mean, 1), number(length, 1)])
    # A bar is as long as its parts; the same reach on both sides.
    if len(made["parts"]):
        wide = page.eval_on_selector_all(
            f"{LINES} .qkv-step-bar div",
            "all => all.map(d => [...d.children].map(s => parseFloat(s.style.width)))",
        )
        want = np.abs(made["parts"]).T
        np.testing.assert_allclose(
            np.array(wide) / np.max(wide), want / want.max(), rtol=0, atol=0.002
        )


def test_start_to_end_by_keyboard(page):
    assert_numbers_equal_cores(page)
    page.locator(".qkv-step-ladder input:checked").focus()
    for at in range(5, 11):
        page.keyboard.press("ArrowDown")
        assert state(page)["place"] == at
        assert_numbers_equal_cores(page)
    page.wait_for_timeout(500)
    said = page.text_content("[role=status]")
    assert said.startswith("an, words.")
    assert "“apple” and “Apfel”, 1.66" in said
    assert page.get_by_role("button", name="Step").is_disabled()
    page.get_by_role("button", name="Back").focus()
    page.keyboard.press("Enter")
    assert state(page)["place"] == 9
    page.get_by_label("post-norm").focus()
    page.keyboard.press("ArrowRight")
    assert state(page)["order"] == "pre"
    assert_numbers_equal_cores(page)
    page.get_by_label("apple", exact=True).focus()
    page.keyboard.press("ArrowRight")
    assert state(page)["token"] == 4
    assert_numbers_equal_cores(page)
    page.get_by_label("residual sums").focus()
    page.keyboard.press("Space")
    assert state(page)["residual"] is False
    assert_numbers_equal_cores(page)
    for _ in range(5):
        page.keyboard.press("Control+z")
    now = state(page)
    assert (now["token"], now["place"], now["order"], now["residual"]) == (2, 4, "post", True)
    assert_numbers_equal_cores(page)


def test_a_walk_is_one_undo_and_reset_comes_back(page):
    for _ in range(3):
        page.get_by_role("button", name="Step").click()
    assert state(page)["place"] == 7
    page.get_by_role("button", name="Undo").click()
    assert state(page)["place"] == 4
    page.get_by_label("pre-norm").check(force=True)
    page.get_by_role("button", name="Reset").click()
    assert state(page)["order"] == "post"


def test_a_line_says_what_it_is_made_of(page):
    page.locator(f"{LINES} td[tabindex='0']").focus()
    assert page.inner_text(".qkv-step-made") == ("small: 1.00 from the word “an”, 0.80 from head 2")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.inner_text(".qkv-step-made").startswith("living: 0.80 from head 2")
    page.wait_for_timeout(500)
    assert page.text_content("[role=status]").startswith("living: 0.80 from head 2")
    page.keyboard.press("Home")
    assert page.inner_text(".qkv-step-made").startswith("who:")
    page.locator(f"{LINES} >> nth=7").click()
    assert page.inner_text(".qkv-step-made").startswith("past:")


def test_a_kernels_change_is_shown(page):
    set_traits(page, {"place": 6, "token": 0})
    assert_numbers_equal_cores(page)
    assert page.locator(LINES).count() == 16
    set_traits(page, {"order": "pre", "place": 11})
    assert_numbers_equal_cores(page)
    assert page.locator(LINES).count() == 11


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390, 320])
def test_no_overflow_no_axe_violation_and_targets_are_large(
    path, open_live, axe_violations, width, theme
):
    page = open_live(path, width=width, theme=theme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert axe_violations(page) == []
    fingers = ("button", "input[type=checkbox]", ".qkv-strip label", ".qkv-step-ladder label", "tr")
    assert small_targets(page, f".qkv-step :is({', '.join(fingers)}):not([hidden])") == []


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_the_room_kept_is_the_room_needed(path, open_live, width):
    page = open_live(path, width=width)
    kept, live = kept_and_needed(page)
    assert abs(kept - live) <= 2
    heights = set()
    for order, last in (("post", 11), ("pre", 12)):
        for place in range(last):
            set_traits(page, {"order": order, "place": place})
            page.wait_for_timeout(20)
            heights.add(page.evaluate("document.querySelector('.qkv-live').offsetHeight"))
    assert max(heights) - min(heights) <= 1
