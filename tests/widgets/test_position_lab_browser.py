"""PositionLab in a real Chromium, from disk, under the strict policy."""

import pytest

from qkv.widgets import PositionLab
from qkv.widgets.base import number
from qkv.widgets.position_lab import WORDS
from tests.widgets.page import kept_and_needed, set_traits, small_targets, traits, write_page

pytestmark = pytest.mark.browser
TABLE = "[data-matrix=weights]"
WORD = ".qkv-order-word"


@pytest.fixture
def path(tmp_path):
    return write_page(tmp_path, PositionLab())


def state(page):
    return traits(page, ["order", "code", "start", "causal"])


def said(page):
    return page.inner_text(".qkv-order-said")


def assert_numbers_equal_cores(page):
    page.wait_for_timeout(30)
    now = state(page)
    made = PositionLab(**now).numbers()
    shown = page.eval_on_selector_all(
        f"{TABLE} tbody tr", "all => all.map(r => [...r.cells].map(c => c.textContent))"
    )
    assert [row[0] for row in shown] == [WORDS[i] for i in now["order"]]
    if made["ends"]:
        assert {cell for row in shown for cell in row[1:]} == {"–"}  # noqa: RUF001
        return
    rows = zip(made["weights"], made["moved"], strict=True)
    assert [row[1:] for row in shown] == [[number(x) for x in (*w, m)] for w, m in rows]
    words = page.eval_on_selector_all(WORD, "all => all.map(b => b.textContent)")
    assert words == [WORDS[i] for i in now["order"]]


def test_start_to_end_by_keyboard(page):
    assert_numbers_equal_cores(page)
    assert said(page) == "Largest change of a word's output: 0. The order is not seen."
    page.focus(f"{WORD} >> nth=3")
    for key in ["ArrowLeft"] * 3:
        page.keyboard.press(key)
    assert state(page)["order"] == [0, 3, 1, 2, 4]
    assert page.evaluate("document.activeElement.textContent") == "she"
    assert_numbers_equal_cores(page)
    page.keyboard.press("ArrowLeft")
    assert state(page)["order"] == [0, 3, 1, 2, 4]
    page.focus("input[value=none]")
    for code in ["sinusoids", "learned", "rotary"]:
        page.keyboard.press("ArrowRight")
        assert state(page)["code"] == code
        assert_numbers_equal_cores(page)
        assert said(page).endswith("The order is seen.")
    page.wait_for_timeout(500)
    assert page.text_content("[role=status]") == said(page)
    page.get_by_role("button", name="In order").focus()
    page.keyboard.press("Enter")
    page.get_by_label("Place of the first word").focus()
    page.keyboard.press("End")
    assert state(page)["start"] == 40
    assert said(page) == "Largest change of a word's output: 0. The start is not seen."
    assert_numbers_equal_cores(page)
    page.get_by_label("causal mask").focus()
    page.keyboard.press("Space")
    assert_numbers_equal_cores(page)
    for _ in range(9):
        page.keyboard.press("Control+z")
    assert state(page) == {"order": [3, 1, 2, 0, 4], "code": "none", "start": 0, "causal": False}
    assert_numbers_equal_cores(page)


def test_the_learned_table_ends_and_says_so(page):
    set_traits(page, {"code": "learned", "start": 21})
    assert_numbers_equal_cores(page)
    assert "there is none for place 25" in said(page)
    set_traits(page, {"start": 20})
    assert_numbers_equal_cores(page)


def test_a_causal_mask_without_a_code_sees_the_order(page):
    page.get_by_label("causal mask").click()
    assert said(page).endswith("The order is seen.")
    hidden = page.eval_on_selector_all(f"{TABLE} .qkv-masked", "all => all.length")
    assert hidden == 10


def test_a_tap_swaps_with_the_right_neighbour(path, open_live):
    page = open_live(path, width=390, has_touch=True, is_mobile=True)
    page.locator(WORD).nth(0).tap()
    assert state(page)["order"] == [1, 3, 2, 0, 4]
    page.locator(WORD).nth(4).tap()
    assert state(page)["order"] == [1, 3, 2, 4, 0]
    assert_numbers_equal_cores(page)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390, 320])
def test_no_overflow_no_axe_violation_and_targets_are_large(
    path, open_live, axe_violations, width, theme
):
    page = open_live(path, width=width, theme=theme)
    set_traits(page, {"code": "sinusoids", "causal": True})
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
    for code in ["none", "sinusoids", "learned", "rotary"]:
        for start in [0, 9, 40]:
            for order in [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0]]:
                set_traits(page, {"code": code, "start": start, "order": order})
                assert_numbers_equal_cores(page)
                sizes.add(page.locator(".qkv-live").bounding_box()["height"])
    assert len(sizes) == 1, sizes


def test_without_javascript_the_words_stand_there(path, open_page):
    page = open_page(path, width=390, java_script_enabled=False)
    assert page.is_visible(".qkv-poster svg")
