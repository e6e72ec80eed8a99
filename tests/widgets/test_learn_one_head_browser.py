"""LearnOneHead in a real Chromium, from disk, under the strict policy."""

import numpy as np
import pytest

from qkv.widgets import LearnOneHead
from qkv.widgets.base import number
from qkv.widgets.learn_one_head import MATRICES
from tests.widgets.page import kept_and_needed, set_traits, small_targets, traits, write_page

pytestmark = pytest.mark.browser


@pytest.fixture
def path(tmp_path):
    return write_page(tmp_path, LearnOneHead())


def state(page):
    return traits(page, [*MATRICES, "rate", "steps"])


def change_text(x):
    text = number(1000 * x, 1 if abs(1000 * x) < 99.5 else 0)
    return f"+{text}" if x > 0 and float(text) != 0 else text


def cells(page, name):
    return page.eval_on_selector_all(
        f"[data-matrix={name}] tbody td", "all => all.map(td => td.textContent)"
    )


def assert_numbers_equal_cores(page, changes=True):
    page.wait_for_timeout(60)
    made = LearnOneHead(**state(page)).numbers()
    for name in ("scores", "weights", "answers", "where", "what"):
        assert cells(page, name) == [number(x) for x in np.ravel(made[name])], name
    for name, change in zip(MATRICES, made["changes"], strict=True):
        want = [change_text(x) for x in change.ravel()]
        assert cells(page, name) == (want if changes else [number(x) for x in made[name].ravel()])
    said = page.inner_text(".qkv-learn-words")
    assert f"loss {number(made['losses'][-1], 3)}" in said


def test_start_to_end_by_keyboard(page):
    assert_numbers_equal_cores(page)
    for name, steps in [("Step", 2), ("10 steps", 12), ("Back one", 11), ("100 steps", 111)]:
        page.get_by_role("button", name=name, exact=True).focus()
        page.keyboard.press("Enter")
        assert state(page)["steps"] == steps
        assert_numbers_equal_cores(page)
    page.wait_for_timeout(500)
    assert page.text_content("[role=status]").startswith("After 111 steps: loss 0.0")
    page.get_by_label("the last step, in thousandths").focus()
    page.keyboard.press("ArrowRight")
    assert_numbers_equal_cores(page, changes=False)
    page.get_by_label("Learning rate").focus()
    page.keyboard.press("ArrowUp")
    assert state(page)["rate"] == 0.25
    assert_numbers_equal_cores(page, changes=False)
    page.keyboard.press("Control+z")
    assert state(page)["rate"] == 0.5
    page.get_by_role("button", name="Start again").focus()
    page.keyboard.press("Enter")
    assert state(page)["steps"] == 0
    assert_numbers_equal_cores(page, changes=False)


def test_one_number_before_and_after_the_step(page):
    page.focus("[data-matrix=W_O] td[tabindex='0']")
    now, before = LearnOneHead().numbers()["W_O"][0, 0], LearnOneHead().W_O[0, 0]
    said = page.inner_text(".qkv-learn-readout")
    assert said.startswith(f"W_O, row 0, column →: {number(now, 3)}. It was {number(before, 3)};")
    page.keyboard.press("ArrowDown")
    assert page.inner_text(".qkv-learn-readout").startswith("W_O, row 1")
    page.focus("[data-matrix=weights] td[tabindex='0']")
    page.keyboard.press("ArrowRight")
    weight = LearnOneHead().numbers()["weights"][0, 1]
    said = page.inner_text(".qkv-learn-readout")
    assert said.startswith(f"Ann looks at Bob with weight {number(weight, 3)}. Before the last")
    page.wait_for_timeout(500)
    assert page.text_content("[role=status]") == said


def test_it_stops_at_400_steps_and_longer_steps_are_rough(page):
    page.get_by_label("Learning rate").select_option("1")
    for _ in range(4):
        page.get_by_role("button", name="100 steps").click()
    assert state(page)["steps"] == 400
    assert page.get_by_role("button", name="Step", exact=True).is_disabled()
    losses = LearnOneHead(rate=1.0, steps=400).numbers()["losses"]
    assert (np.diff(losses) > 0.05).any()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390, 320])
def test_no_overflow_no_axe_violation_and_targets_are_large(
    path, open_live, axe_violations, width, theme
):
    page = open_live(path, width=width, theme=theme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert axe_violations(page) == []
    assert small_targets(page, ".qkv-live :is(button, select, td[tabindex])") == []


@pytest.mark.parametrize("width", [1280, 390])
def test_mounting_does_not_move_the_text_below(path, open_live, width):
    page = open_live(path, width=width)
    kept, live = kept_and_needed(page)
    assert 0 <= kept - live <= 26


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_the_size_stays_while_everything_moves(path, open_live, width):
    page = open_live(path, width=width)
    page.evaluate("document.querySelector('.qkv-live').style.minHeight = ''")
    heights = set()
    for steps in (0, 1, 30, 250):
        set_traits(page, {"steps": steps})
        page.wait_for_timeout(80)
        heights.add(page.locator(".qkv-live").bounding_box()["height"])
        page.focus("[data-matrix=W_Q] td[tabindex='0']")
        heights.add(page.locator(".qkv-live").bounding_box()["height"])
    assert len(heights) == 1, heights


def test_without_javascript_the_table_stands_there(path, open_page):
    page = open_page(path, width=390, java_script_enabled=False)
    assert page.is_visible(".qkv-poster svg")
