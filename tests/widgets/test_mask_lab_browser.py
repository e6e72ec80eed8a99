"""MaskLab in a real Chromium, from disk, under the strict policy."""

import numpy as np
import pytest

import qkv
from qkv.widgets import MaskLab
from qkv.widgets.base import number
from tests.widgets.page import kept_and_needed, set_traits, small_targets, traits, write_page

pytestmark = pytest.mark.browser
TABLE = "[data-matrix=weights]"


@pytest.fixture
def path(tmp_path):
    return write_page(tmp_path, MaskLab())


def state(page):
    return traits(page, ["tokens", "scores", "mask", "rule", "join"])


def text(x):
    return "NaN" if np.isnan(x) else "" if x == 0 else number(x)


def assert_numbers_equal_cores(page):
    page.wait_for_timeout(30)
    now = state(page)
    made = MaskLab(**now).numbers()
    shown = page.eval_on_selector_all(
        f"{TABLE} tbody tr", "all => all.map(r => [...r.cells].map(c => c.textContent))"
    )
    assert [row[1:-2] for row in shown] == [[text(x) for x in row] for row in made["weights"]]
    for at, name in ((-2, "sum"), (-1, "later")):
        want = ["NaN" if np.isnan(x) else number(x) for x in made[name]]
        assert [row[at] for row in shown] == want
    chosen = page.eval_on_selector_all(
        f"{TABLE} [aria-selected]", "all => all.map(td => td.ariaSelected === 'true')"
    )
    np.testing.assert_array_equal(np.reshape(chosen, np.shape(now["mask"])), now["mask"])
    empty = page.inner_text(".qkv-mask-words li >> nth=2")
    assert (empty == "No row is empty.") == (len(made["empty"]) == 0)


def cell(page, row, col):
    return page.locator(f"{TABLE} tbody tr >> nth={row} >> td >> nth={col}")


def words(page):
    return page.eval_on_selector_all(".qkv-mask-words li", "all => all.map(e => e.textContent)")


def test_start_to_end_by_keyboard(page):
    assert_numbers_equal_cores(page)
    assert "reach 1 row; most of all “einen”, 0.95" in words(page)[0]
    page.focus(f"{TABLE} td[tabindex='0']")
    for key in ["ArrowDown"] * 2 + ["ArrowRight"] * 3 + ["Space"]:
        page.keyboard.press(key)
    assert state(page)["mask"] == qkv.causal_mask(7).astype(int).tolist()
    assert_numbers_equal_cores(page)
    assert words(page)[0] == "No row takes anything from a later token."
    page.wait_for_timeout(500)
    said = page.text_content("[role=status]")
    assert said.startswith("query 'einen' may not look at key 'Apfel', weight 0.")
    page.get_by_label("join with &").focus()
    page.keyboard.press("Space")
    page.get_by_role("button", name="padding").focus()
    page.keyboard.press("Enter")
    both = qkv.causal_mask(7) & qkv.padding_mask([5], 7)[0]
    assert state(page)["mask"] == both.astype(int).tolist()
    assert_numbers_equal_cores(page)
    page.get_by_label("A hidden key gets").focus()
    for rule in ["-1e9", "0", "after", "again"]:
        page.keyboard.press("ArrowDown")
        assert state(page)["rule"] == rule
        assert_numbers_equal_cores(page)
    for _ in range(7):
        page.keyboard.press("Control+z")
    assert_numbers_equal_cores(page)
    assert state(page)["mask"][2][3] == 1


def test_a_row_is_emptied_and_said(page):
    for col in range(3):
        cell(page, 1, col).click() if state(page)["mask"][1][col] else None
    assert_numbers_equal_cores(page)
    assert words(page)[2] == "Empty: “hat”; its weights are zeros, its output too."
    page.get_by_label("A hidden key gets").select_option("again")
    assert_numbers_equal_cores(page)
    assert "NaN" in words(page)[2]


def test_one_stroke_of_the_mouse_paints_and_is_undone_at_once(page):
    before = state(page)["mask"]
    boxes = [cell(page, 0, col).bounding_box() for col in (1, 4)]
    points = [(b["x"] + b["width"] / 2, b["y"] + b["height"] / 2) for b in boxes]
    page.mouse.move(*points[0])
    page.mouse.down()
    page.mouse.move(*points[1], steps=12)
    page.mouse.up()
    assert state(page)["mask"][0] == [1, 1, 1, 1, 1, 0, 0]
    assert_numbers_equal_cores(page)
    page.get_by_role("button", name="Undo").click()
    assert state(page)["mask"] == before


def test_presets_say_which_one_stands(page):
    page.get_by_role("button", name="causal").click()
    pressed = "all => all.filter(b => b.ariaPressed === 'true').map(b => b.textContent)"
    assert page.eval_on_selector_all("[aria-pressed]", pressed) == ["causal"]
    page.get_by_role("button", name="window").click()
    assert page.eval_on_selector_all("[aria-pressed]", pressed) == ["window"]
    assert_numbers_equal_cores(page)


def test_a_tap_paints_one_cell(path, open_live):
    page = open_live(path, width=390, has_touch=True, is_mobile=True)
    cell(page, 0, 2).tap()
    assert state(page)["mask"][0] == [1, 0, 1, 0, 0, 0, 0]
    assert_numbers_equal_cores(page)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390, 320])
def test_no_overflow_no_axe_violation_and_targets_are_large(
    path, open_live, axe_violations, width, theme
):
    page = open_live(path, width=width, theme=theme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert axe_violations(page) == []
    assert small_targets(page, ".qkv-live :is(button, select, input, td[aria-selected])") == []


@pytest.mark.parametrize("width", [1280, 390])
def test_mounting_does_not_move_the_text_below(path, open_live, width):
    page = open_live(path, width=width)
    kept, live = kept_and_needed(page)
    assert 0 <= kept - live <= 26


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_the_size_stays_while_everything_moves(path, open_live, width):
    page = open_live(path, width=width)
    page.evaluate("document.querySelector('.qkv-live').style.minHeight = ''")
    sizes = set()
    masks = [qkv.causal_mask(7), np.ones((7, 7)), np.zeros((7, 7)), qkv.window_mask(7)]
    for mask in masks:
        for rule in ["-inf", "-1e9", "after", "again"]:
            set_traits(page, {"mask": mask.astype(int).tolist(), "rule": rule})
            assert_numbers_equal_cores(page)
            box = page.locator(".qkv-live").bounding_box()
            sizes.add((box["height"], page.locator(f"{TABLE} table").bounding_box()["width"]))
    assert len(sizes) == 1, sizes


def test_without_javascript_the_table_stands_there(path, open_page):
    page = open_page(path, width=390, java_script_enabled=False)
    assert page.is_visible(".qkv-poster svg")
