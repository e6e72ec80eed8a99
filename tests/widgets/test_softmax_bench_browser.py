"""SoftmaxBench in a real Chromium, from disk, under the strict policy."""

import numpy as np
import pytest

from qkv.widgets import SoftmaxBench
from qkv.widgets.base import number
from tests.widgets.page import kept_and_needed, set_traits, small_targets, traits, write_page

pytestmark = pytest.mark.browser


@pytest.fixture
def path(tmp_path):
    return write_page(tmp_path, SoftmaxBench())


def state(page):
    names = ["tokens", "scores", "temperature", "axis", "times", "row"]
    return traits(page, names)


def assert_numbers_equal_cores(page):
    page.wait_for_timeout(30)
    now = state(page)
    made = SoftmaxBench(**now).numbers()
    shown = page.eval_on_selector_all(
        "[data-matrix=weights] tbody tr", "all => all.map(r => [...r.cells].map(c => c.innerText))"
    )
    body = np.column_stack([made["weights"], made["row sums"], made["moved"]])
    assert [row[1:] for row in shown[:-1]] == [[number(x) for x in row] for row in body]
    assert shown[-1][1:-2] == [number(x) for x in made["column sums"]]
    assert page.inner_text(".qkv-bench-leak") == number(made["leak"])
    line = page.eval_on_selector_all(".qkv-bench-weight", "all => all.map(b => b.textContent)")
    assert line == [number(x) for x in made["weights"][now["row"]]]


def test_start_to_end_by_keyboard(page):
    assert_numbers_equal_cores(page)
    page.focus(".qkv-bench .qkv-strip input:checked")
    page.keyboard.press("ArrowRight")
    assert state(page)["axis"] == "queries"
    assert_numbers_equal_cores(page)
    page.get_by_label("Query of “.” times").focus()
    page.keyboard.press("ArrowLeft")
    assert state(page)["times"] == 2.5
    assert_numbers_equal_cores(page)
    page.get_by_label("Temperature").focus()
    page.keyboard.press("ArrowLeft")
    assert state(page)["temperature"] == pytest.approx(2**-0.5)
    assert_numbers_equal_cores(page)
    page.focus(".qkv-bench-line input >> nth=0")
    page.keyboard.press("ArrowRight")
    assert state(page)["scores"][0][0] == pytest.approx(1.1)
    assert_numbers_equal_cores(page)
    for _ in range(4):
        page.keyboard.press("Control+z")
    assert state(page)["axis"] == "keys"
    assert_numbers_equal_cores(page)


def test_the_table_is_walked_with_arrows_and_chooses_the_row(page):
    page.focus("[data-matrix=weights] td[tabindex='0']")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert state(page)["row"] == 2
    assert_numbers_equal_cores(page)
    disabled = page.eval_on_selector_all(".qkv-bench-line input", "all => all.map(e => e.disabled)")
    assert disabled == [False, False, False, False, True]


def test_the_leak_meter_says_who_moved(page):
    assert "no earlier one" in page.inner_text(".qkv-bench-verdict")
    page.check("input[value=queries]")
    page.wait_for_timeout(30)
    made = SoftmaxBench(axis="queries").numbers()
    worst = ["ate", "an", "apple"][int(made["moved"][:-1].argmax())]
    want = f"moved a weight of “{worst}” by {number(made['leak'])}"
    assert want in page.inner_text(".qkv-bench-verdict")
    page.wait_for_timeout(500)
    assert f"leak {number(made['leak'])}" in page.text_content("[role=status]")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390, 320])
def test_no_overflow_no_axe_violation_and_targets_are_large(
    path, open_live, axe_violations, width, theme
):
    page = open_live(path, width=width, theme=theme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert axe_violations(page) == []
    assert small_targets(page, ".qkv-live :is(button, select, input)") == []


@pytest.mark.parametrize("width", [1280, 390])
def test_mounting_does_not_move_the_text_below(path, open_live, width):
    page = open_live(path, width=width)
    kept, live = kept_and_needed(page)
    assert 0 <= kept - live <= 26


@pytest.mark.parametrize("width", [1280, 390])
def test_the_height_stays_while_everything_moves(path, open_live, width):
    page = open_live(path, width=width)
    page.evaluate("document.querySelector('.qkv-live').style.minHeight = ''")
    heights = set()
    for axis, times, row, temperature in [
        ("keys", 3, 0, 1), ("queries", 3, 3, 0.125), ("queries", 1, 2, 8), ("keys", -3, 3, 0.125),
    ]:  # fmt: skip
        set_traits(page, {"axis": axis, "times": times, "row": row, "temperature": temperature})
        assert_numbers_equal_cores(page)
        heights.add(page.locator(".qkv-live").bounding_box()["height"])
    assert len(heights) == 1, heights


def test_without_javascript_the_table_stands_there(path, open_page):
    page = open_page(path, width=390, java_script_enabled=False)
    assert page.is_visible(".qkv-poster svg")
