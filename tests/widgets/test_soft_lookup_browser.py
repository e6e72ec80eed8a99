"""SoftLookup in a real Chromium, from disk, under the strict policy."""

import numpy as np
import pytest

from qkv.widgets import SoftLookup
from qkv.widgets.base import number
from tests.widgets.page import kept_and_needed, set_traits, small_targets, traits, write_page

pytestmark = pytest.mark.browser
SLIDER = ".qkv-lookup-handle"


@pytest.fixture
def path(tmp_path):
    return write_page(tmp_path, SoftLookup())


def state(page):
    return traits(page, ["pairs", "query", "bandwidth", "score", "hard", "labels"])


def rows(page):
    return page.eval_on_selector_all(
        ".qkv-lookup-sum tbody tr", "all => all.map(r => [...r.cells].map(c => c.textContent))"
    )


def assert_numbers_equal_cores(page):
    page.wait_for_timeout(30)
    now = state(page)
    made = SoftLookup(**now).numbers()
    keys, values = np.transpose(now["pairs"])
    order = sorted(range(len(keys)), key=lambda j: (-made["weights"][j], j))
    shown = rows(page)
    for row, j in zip(shown, order[:4], strict=False):
        assert row == [
            number(keys[j], 1),
            number(made["weights"][j]),
            number(values[j], 0),
            number(made["parts"][j], 1),
        ]
    assert shown[4][0] == "13 others"
    assert shown[4][1] == number(made["weights"][order[4:]].sum())
    assert shown[5][3] == number(made["output"], 1)
    tall = page.eval_on_selector_all(
        ".qkv-lookup-bar", "all => all.map(bar => Number(bar.getAttribute('height')))"
    )
    np.testing.assert_allclose(np.divide(tall, 64), made["weights"], rtol=0, atol=1e-9)


def test_start_to_end_by_keyboard(page):
    assert_numbers_equal_cores(page)
    page.focus(SLIDER)
    for key, query in [
        ("ArrowRight", 7.4), ("Shift+ArrowRight", 8.4), ("ArrowLeft", 8.3), ("Home", 0.0),
        ("PageUp", 0.9), ("PageUp", 2.7), ("PageDown", 0.9), ("End", 30.4),
    ]:  # fmt: skip
        page.keyboard.press(key)
        page.wait_for_timeout(20)
        assert state(page)["query"] == pytest.approx(query)
        assert_numbers_equal_cores(page)
    page.wait_for_timeout(500)
    said = page.text_content("[role=status]")
    assert said.startswith("output 32")
    assert "from the key at 29.0" in said
    text = page.get_attribute(SLIDER, "aria-valuetext")
    assert text.startswith("30.4 km, output 32")
    page.get_by_label("Bandwidth b").focus()
    for _ in range(8):
        page.keyboard.press("ArrowLeft")
    assert state(page)["bandwidth"] == 0.125
    assert_numbers_equal_cores(page)
    for _ in range(20):
        page.keyboard.press("ArrowRight")
    assert state(page)["bandwidth"] == 128
    assert_numbers_equal_cores(page)
    assert "nearly equal" in page.inner_text(".qkv-lookup-said")
    page.get_by_role("radio", name="soft").focus()
    page.keyboard.press("ArrowRight")
    assert state(page)["hard"] is True
    assert_numbers_equal_cores(page)
    for _ in range(40):
        page.keyboard.press("Control+z")
    page.wait_for_timeout(30)
    assert state(page)["query"] == 7.3
    assert page.get_by_role("button", name="Undo").is_disabled()


def test_by_dot_product_the_longest_key_wins_and_it_is_said(page):
    page.get_by_role("radio", name="dot product").check(force=True)
    assert state(page)["score"] == "dot"
    assert_numbers_equal_cores(page)
    said = page.inner_text(".qkv-lookup-said")
    assert said.startswith("The key at 29.0 km wins, not the nearest one at 7.9 km")
    page.get_by_role("button", name="Reset").click()
    assert state(page)["score"] == "distance"
    assert_numbers_equal_cores(page)


def test_the_mouse_drags_the_query_from_anywhere(page):
    box = page.locator(".qkv-lookup-plot").bounding_box()
    unit = box["width"] / 420

    def at(km):
        return box["x"] + unit * (44 + km / 30.4235 * 368), box["y"] + unit * 120

    page.mouse.move(*at(20))
    page.mouse.down()
    assert state(page)["query"] == pytest.approx(20, abs=0.11)
    page.mouse.move(*at(16), steps=8)
    page.mouse.move(*at(40))
    page.mouse.up()
    assert 30.3 <= state(page)["query"] <= 30.43
    assert_numbers_equal_cores(page)
    page.get_by_role("button", name="Undo").click()
    assert state(page)["query"] == 7.3


def test_a_finger_moves_the_query(path, open_live):
    page = open_live(path, width=390, has_touch=True, is_mobile=True)
    page.locator(".qkv-lookup-plot").tap(position={"x": 200, "y": 100})
    assert state(page)["query"] != 7.3
    assert_numbers_equal_cores(page)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390, 320])
def test_no_overflow_no_axe_violation_and_targets_are_large(
    path, open_live, axe_violations, width, theme
):
    page = open_live(path, width=width, theme=theme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert axe_violations(page) == []
    assert small_targets(page, ".qkv-live :is(button, select, input, .qkv-hit)") == []


@pytest.mark.parametrize("width", [1280, 700, 390, 320])
def test_mounting_does_not_move_the_text_below(path, open_live, width):
    page = open_live(path, width=width)
    kept, live = kept_and_needed(page)
    assert 0 <= kept - live <= 26, (kept, live)


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_the_size_stays_while_everything_moves(path, open_live, width):
    page = open_live(path, width=width)
    page.evaluate("document.querySelector('.qkv-live').style.minHeight = ''")
    heights = set()
    for query in (0.0, 7.3, 30.4):
        for bandwidth in (0.125, 1.0, 128.0):
            for score in ("distance", "dot"):
                for hard in (False, True):
                    shown = dict(query=query, bandwidth=bandwidth, score=score, hard=hard)
                    set_traits(page, shown)
                    assert_numbers_equal_cores(page)
                    heights.add(page.locator(".qkv-live").bounding_box()["height"])
                    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert len(heights) == 1, heights


def test_without_javascript_the_table_stands_there(path, open_page):
    page = open_page(path, width=390, java_script_enabled=False)
    assert page.is_visible(".qkv-poster svg")
