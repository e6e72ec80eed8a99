"""PatchAttention in a real Chromium, from disk, under the strict policy."""

import numpy as np
import pytest

import qkv
from qkv.widgets import PatchAttention
from qkv.widgets.base import number
from qkv.widgets.patch_attention import VIEWS, shipped_ink
from tests.widgets.page import kept_and_needed, set_traits, small_targets, traits, write_page

pytestmark = pytest.mark.browser
NAMES = ["ink", "layer", "view", "query"]
SCRIPT = "image-model.js"
LOADED = "[...document.scripts].map(s => s.src.split('/').pop())"
TEXTS = "all => all.map(e => e.textContent)"
PIXELS = ".qkv-patch-picture td"


@pytest.fixture
def path(tmp_path):
    return write_page(tmp_path, PatchAttention())


def state(page):
    return traits(page, NAMES)


def assert_numbers_equal_cores(page):
    page.wait_for_selector(".qkv-patch:not([aria-busy])")
    page.wait_for_timeout(60)
    widget = PatchAttention(**state(page))
    made = widget.numbers()
    row = made["weights"][widget.query]
    shown = page.eval_on_selector_all(".qkv-patch-text", TEXTS)
    assert shown == [number(100 * x, 1) for x in row]
    cells = page.eval_on_selector_all("[data-matrix=classes] tbody td", TEXTS)
    scores = made["scores"]
    assert cells == [number(x, 1) for x in (*scores, *(100 * qkv.softmax(scores)))]
    assert f"says {scores.argmax()}," in page.inner_text(".qkv-patch-says")
    inks = page.eval_on_selector_all(
        PIXELS, "all => all.map(e => +e.getAttribute('aria-label').match(/ink (\\d+)/)[1])"
    )
    assert inks == widget.ink.tolist()
    asks = page.eval_on_selector_all(
        ".qkv-patch-table td", "all => all.findIndex(e => e.ariaSelected === 'true')"
    )
    assert asks == widget.query


def test_start_to_end_by_keyboard(page):
    assert_numbers_equal_cores(page)
    assert SCRIPT not in page.evaluate(LOADED)
    page.focus(".qkv-patch-table [tabindex='0']")
    for key, query in [("ArrowDown", 1), ("ArrowRight", 2), ("ArrowDown", 6), ("End", 8),
                       ("ArrowUp", 4), ("ArrowUp", 0), ("End", 16), ("ArrowUp", 12)]:  # fmt: skip
        page.keyboard.press(key)
        assert state(page)["query"] == query
    assert_numbers_equal_cores(page)
    assert SCRIPT not in page.evaluate(LOADED)
    page.focus(".qkv-patch-bar >> nth=1 >> fieldset >> nth=0 >> input:checked")
    page.keyboard.press("ArrowRight")
    assert state(page)["layer"] == 1
    assert_numbers_equal_cores(page)
    assert SCRIPT in page.evaluate(LOADED)
    page.focus(".qkv-patch-bar >> nth=1 >> fieldset >> nth=1 >> input:checked")
    for view in VIEWS[1:]:
        page.keyboard.press("ArrowRight")
        assert state(page)["view"] == view
        assert_numbers_equal_cores(page)
    assert "rollout up to layer 2" in page.inner_text(".qkv-patch-said")
    page.focus(f"{PIXELS}[tabindex='0']")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    page.keyboard.press(" ")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("-")
    ink = shipped_ink(1300)
    assert (ink[9], ink[10]) == (3, 13)
    assert state(page)["ink"][8:12] == [0, 0, 9, ink[11]]
    assert_numbers_equal_cores(page)
    assert page.get_by_label("Picture", exact=True).input_value() == ""
    page.keyboard.press("Control+z")
    page.keyboard.press("Control+z")
    page.wait_for_timeout(60)
    assert state(page)["ink"] == ink.tolist()
    for name in ("Shuffle patches", "Blank"):
        page.get_by_role("button", name=name).focus()
        page.keyboard.press("Enter")
        assert_numbers_equal_cores(page)
    assert not any(state(page)["ink"])
    page.get_by_label("Picture", exact=True).focus()
    page.keyboard.press("ArrowDown")
    assert_numbers_equal_cores(page)
    page.get_by_role("button", name="Reset").click()
    page.wait_for_timeout(60)
    assert state(page)["ink"] == ink.tolist()
    assert_numbers_equal_cores(page)


def test_paint_with_a_pointer(page):
    box = page.locator(PIXELS).nth(0).bounding_box()
    x, y = box["x"] + 15, box["y"] + 15
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y + 100, steps=10)
    page.mouse.up()
    ink = np.reshape(state(page)["ink"], (8, 8))
    assert ink[:4, 0].tolist() == [16] * 4
    assert_numbers_equal_cores(page)
    page.mouse.click(x, y)
    assert state(page)["ink"][0] == 0
    assert_numbers_equal_cores(page)


@pytest.mark.parametrize("place", [1307, 1323, 1338])
def test_other_pictures_equal_cores(page, place):
    page.get_by_label("Picture", exact=True).select_option(str(place))
    for query in (0, 11):
        set_traits(page, {"layer": 2, "view": "1", "query": query})
        assert_numbers_equal_cores(page)
    wrong = "Wrong: it is a" in page.inner_text(".qkv-patch-says")
    assert wrong == (place != 1307)


def test_without_the_weights_it_says_so_and_the_first_picture_works(tmp_path, chromium):
    path = write_page(tmp_path, PatchAttention())
    (tmp_path / SCRIPT).unlink()
    page = chromium.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector("figure[data-qkv-state=live]")
    page.get_by_label("rollout").check()
    page.locator(".qkv-patch-wait", has_text="could not").wait_for()
    page.get_by_label("head 1").check()
    page.locator(".qkv-patch-wait", has_text="no training saw it").wait_for()
    assert_numbers_equal_cores(page)
    page.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390, 320])
def test_no_overflow_no_axe_violation_and_targets_are_large(
    path, open_live, axe_violations, width, theme
):
    page = open_live(path, width=width, theme=theme)
    set_traits(page, {"layer": 2, "view": "mean", "query": 6})
    assert_numbers_equal_cores(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert axe_violations(page) == []
    assert small_targets(page, ".qkv-live :is(button, select, input, tbody td)") == []


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_mounting_does_not_move_the_text_below(path, open_live, width):
    page = open_live(path, width=width)
    kept, live = kept_and_needed(page)
    assert 0 <= kept - live <= 26, (kept, live)


def test_the_size_stays_while_the_view_changes(path, open_live):
    for width in (1280, 390):
        page = open_live(path, width=width)
        page.evaluate("document.querySelector('.qkv-live').style.minHeight = ''")
        sizes = set()
        for layer in range(3):
            for view in VIEWS:
                set_traits(page, {"layer": layer, "view": view, "query": 5 * layer})
                assert_numbers_equal_cores(page)
                sizes.add(page.locator(".qkv-live").bounding_box()["height"])
        assert len(sizes) == 1, sizes


def test_without_javascript_the_weights_stand_there(path, open_page):
    page = open_page(path, width=390, java_script_enabled=False)
    assert page.is_visible(".qkv-poster svg")
