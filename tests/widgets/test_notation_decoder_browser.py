"""NotationDecoder in a real Chromium, from disk, under the strict policy."""

import numpy as np
import pytest

from qkv.widgets import NotationDecoder
from qkv.widgets.base import number
from qkv.widgets.notation_decoder import NAMES, NOTATIONS, USES
from tests.widgets.page import kept_and_needed, set_traits, small_targets, traits, write_page

pytestmark = pytest.mark.browser
TRAITS = ["notation", "use", "head", "focus", "inputs", "weights"]


@pytest.fixture
def path(tmp_path):
    return write_page(tmp_path, NotationDecoder())


def state(page):
    return traits(page, TRAITS)


def put(page, values):
    set_traits(page, values)
    page.wait_for_timeout(20)


def text(x, whole):
    return "−∞" if x == -np.inf else number(x, 0 if whole else 2)  # noqa: RUF001


def twins(page):
    return page.eval_on_selector_all(".qkv-twin", "all => [...new Set(all.map(e => e.dataset.id))]")


def assert_numbers_equal_cores(page):
    page.wait_for_timeout(30)
    now = state(page)
    made = NotationDecoder(**now).written()
    want = made[now["focus"]]
    whole = all(x in (-np.inf, np.round(x)) for x in want.ravel())
    shown = page.eval_on_selector_all(
        ".qkv-decoder-numbers tr", "all => all.map(r => [...r.cells].map(c => c.textContent))"
    )
    assert shown == [[text(x, whole) for x in row] for row in want]
    sizes = page.eval_on_selector_all(
        ".qkv-decoder-box .qkv-decoder-size", "all => all.map(e => e.textContent)"
    )
    assert sizes == [f"{a.shape[0]} \N{MULTIPLICATION SIGN} {a.shape[1]}" for a in made.values()]
    assert twins(page) == [now["focus"]]


def test_start_to_end_by_keyboard(page):
    assert_numbers_equal_cores(page)
    page.locator(".qkv-decoder-formula [tabindex='0']").focus()
    page.keyboard.press("Home")
    assert state(page)["focus"] == "output"
    page.keyboard.press("ArrowRight")
    assert state(page)["focus"] == "x_q"
    assert_numbers_equal_cores(page)
    page.wait_for_timeout(500)
    said = page.text_content("[role=status]")
    assert said.startswith("Q, head 1: the input that asks; the paper's Q in MultiHead. 7")
    page.locator(".qkv-decoder-diagram [tabindex='0']").focus()
    for _ in range(5):
        page.keyboard.press("ArrowUp")
    assert state(page)["focus"] == "q"
    assert_numbers_equal_cores(page)
    page.locator(".qkv-decoder-code [tabindex='0']").focus()
    page.keyboard.press("End")
    assert state(page)["focus"] == "w_o"
    assert_numbers_equal_cores(page)
    page.get_by_label("Head", exact=True).focus()
    page.keyboard.press("ArrowDown")
    assert state(page)["head"] == 1
    page.get_by_label("Use").focus()
    page.keyboard.press("ArrowDown")
    assert state(page)["use"] == "encoder"
    page.get_by_label("the paper", exact=True).focus()
    for notation in NOTATIONS[1:]:
        page.keyboard.press("ArrowRight")
        assert state(page)["notation"] == notation
        assert_numbers_equal_cores(page)
    for _ in range(9):
        page.keyboard.press("Control+z")
    now = state(page)
    assert (now["notation"], now["use"], now["head"]) == ("paper", "cross", 0)
    assert now["focus"] == "w_o"  # where one looks is no change
    assert_numbers_equal_cores(page)


def test_undo_and_reset_take_changes_back(page):
    undo, reset = (page.get_by_role("button", name=name) for name in ("Undo", "Reset"))
    assert undo.is_disabled()
    assert reset.is_disabled()
    page.locator(".qkv-decoder-box[data-id=w_k]").hover()
    assert state(page)["focus"] == "w_k"
    assert undo.is_disabled()
    page.get_by_label("Use").select_option("decoder")
    page.get_by_label("Head", exact=True).select_option("2")
    undo.click()
    assert (state(page)["use"], state(page)["head"]) == ("decoder", 0)
    reset.click()
    assert state(page)["use"] == "cross"
    undo.click()
    assert state(page)["use"] == "decoder"
    assert_numbers_equal_cores(page)


def test_one_tab_stop_in_each_of_the_three_groups(page):
    for part in ("diagram", "formula", "code"):
        for focus in ("q", "concat", "x_kv"):
            put(page, {"focus": focus})
            assert page.locator(f".qkv-decoder-{part} [tabindex='0']").count() == 1


def test_the_papers_q_is_two_arrays(page):
    page.locator(".qkv-decoder-formula p >> nth=0").get_by_role("button", name="Q").hover()
    assert state(page)["focus"] == "x_q"
    page.locator(".qkv-decoder-formula p >> nth=2").get_by_role(
        "button", name="Q", exact=True
    ).hover()
    assert state(page)["focus"] == "q"
    assert_numbers_equal_cores(page)


def test_every_symbol_in_every_notation_and_use(page):
    for notation in NOTATIONS:
        for use in USES:
            for focus in NAMES:
                put(page, {"notation": notation, "use": use, "focus": focus})
                assert_numbers_equal_cores(page)


def test_a_tap_chooses(path, open_live):
    page = open_live(path, width=390, has_touch=True, is_mobile=True)
    page.locator(".qkv-decoder-box[data-id=w_k]").tap()
    assert state(page)["focus"] == "w_k"
    assert_numbers_equal_cores(page)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390, 320])
def test_no_overflow_no_axe_violation_and_targets_are_large(
    path, open_live, axe_violations, width, theme
):
    page = open_live(path, width=width, theme=theme)
    for notation in NOTATIONS:
        put(page, {"notation": notation})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert axe_violations(page) == []
        assert small_targets(page, ".qkv-live :is(button, select, input, g[role=button])") == []


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
    for notation in NOTATIONS:
        for use in USES:
            for focus in NAMES:
                put(page, {"notation": notation, "use": use, "focus": focus})
                sizes.add(page.locator(".qkv-live").bounding_box()["height"])
    assert len(sizes) == 1, sizes


def test_without_javascript_the_table_stands_there(path, open_page):
    page = open_page(path, width=390, java_script_enabled=False)
    assert page.is_visible(".qkv-poster table")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
