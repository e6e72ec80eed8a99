"""WhyThree in a real Chromium, from disk, under the strict policy."""

import re

import numpy as np
import pytest

from qkv.experiments import load_result
from qkv.widgets import WhyThree
from qkv.widgets.base import number
from tests.widgets.page import small_targets, write_page

pytestmark = pytest.mark.browser

RESULT = load_result("why_three")


@pytest.fixture
def path(tmp_path):
    return write_page(tmp_path, WhyThree.from_result(RESULT))


def assert_numbers_equal_cores(page):
    get = "name => document.querySelector('figure').qkvModel.get(name)"
    widget = WhyThree.from_result(
        RESULT, task=page.evaluate(get, "task"), scores=page.evaluate(get, "scores")
    )
    page.wait_for_timeout(30)
    weights = widget.learned_weights()
    shown = page.eval_on_selector_all(
        ".qkv-why tbody tr",
        "rows => rows.map(r => [...r.querySelectorAll('td')].map(td => Number(td.textContent)))",
    )
    np.testing.assert_allclose(np.array(shown), 100 * weights, rtol=0, atol=0.5 + 1e-9)
    text, numbers = page.inner_text(".qkv-why"), widget.numbers()
    assert f"Mean {number(numbers['right answers, mean, %'], 1)} %" in text
    assert f"Without attention {number(numbers['without attention, %'], 1)} %" in text
    n = len(weights) - 1
    assert f"{numbers['eigenvalues below zero']} of {n} below zero" in text
    assert f"scores: {number(numbers['antisymmetric share, %'], 1)} %" in text


def test_by_keyboard_from_start_to_end(page):
    assert_numbers_equal_cores(page)
    page.get_by_label("Scores from").focus()
    for _ in range(4):
        page.keyboard.press("ArrowDown")
        assert_numbers_equal_cores(page)
    page.get_by_label("Task").focus()
    for _ in range(3):
        page.keyboard.press("ArrowDown")
        assert_numbers_equal_cores(page)
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Undo"
    page.keyboard.press("Enter")
    assert_numbers_equal_cores(page)
    page.get_by_role("button", name="Reset").focus()
    page.keyboard.press("Enter")
    assert page.get_by_label("Task").input_value() == "partner"
    assert_numbers_equal_cores(page)


def test_arrows_walk_the_table_and_write_the_margins(page):
    page.focus(".qkv-why td[tabindex='0']")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    S = np.array(WhyThree.from_result(RESULT).setting()["table"])
    one, other = S[1, 2] - S[1, 1], S[2, 1] - S[2, 2]
    text = page.inner_text(".qkv-why-pair")
    assert "1 looks at 2" in text
    assert f"= {number(one)}" in text
    assert f"= {number(other)}" in text
    assert f"Sum: {number(one + other)}" in text
    page.wait_for_timeout(500)
    assert page.text_content("[role=status]").startswith("1 looks at 2 with weight")


def test_silent_at_first_then_says_the_outcome(page):
    assert page.text_content("[role=status]") == ""
    page.get_by_label("Scores from").select_option("free")
    page.wait_for_timeout(500)
    assert re.match(
        r"mutual partners, one free matrix\. Mean 100", page.text_content("[role=status]")
    )


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390, 320])
def test_no_overflow_no_axe_violation(path, open_live, axe_violations, width, theme):
    page = open_live(path, width=width, theme=theme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert axe_violations(page) == []
    assert small_targets(page, ".qkv-live :is(button, select)") == []


@pytest.mark.parametrize("width", [1280, 700, 390])
def test_mounting_does_not_move_the_text_below(path, open_live, width):
    page = open_live(path, width=width)
    shift = page.evaluate(
        "() => new Promise(done => { let sum = 0; new PerformanceObserver(list => {"
        " for (const entry of list.getEntries()) sum += entry.value; })"
        ".observe({type: 'layout-shift', buffered: true}); setTimeout(() => done(sum), 200) })"
    )
    assert shift < 0.02


@pytest.mark.parametrize("width", [1280, 390])
def test_the_figure_keeps_its_height_whatever_is_chosen(path, open_live, width):
    page = open_live(path, width=width)
    heights = set()
    for task in ("partner", "rings", "clock3", "cycle12"):
        for scores in ("tied", "symmetric", "separate"):
            page.get_by_label("Task").select_option(task)
            page.get_by_label("Scores from").select_option(scores)
            page.wait_for_timeout(30)
            heights.add(page.locator(".qkv-live").bounding_box()["height"])
    assert max(heights) - min(heights) < 2, heights


def test_without_javascript_picture_and_numbers_stand_there(path, open_page):
    page = open_page(path, width=390, java_script_enabled=False)
    assert page.is_visible(".qkv-poster svg")
    assert re.search(r"right answers, mean, %\s+52\.", page.inner_text(".qkv-poster"))
