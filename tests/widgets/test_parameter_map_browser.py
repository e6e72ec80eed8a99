"""ParameterMap in a real Chromium, from disk, under the strict policy."""

import pytest

from qkv.widgets import ParameterMap
from qkv.widgets.parameter_map import GROUPS, TIMES, layout
from tests.widgets.page import kept_and_needed, set_traits, small_targets, traits, write_page

pytestmark = pytest.mark.browser
NAMES = ["sizes", "layers", "rows", "tables", "biases", "at"]
BIG = {"sizes": [1024, 4096, 16, 64, 64], "layers": [6, 6]}


@pytest.fixture
def path(tmp_path):
    return write_page(tmp_path, ParameterMap())


def map_of(page):
    return ParameterMap(**traits(page, NAMES))


def assert_numbers_equal_cores(page):
    page.wait_for_timeout(40)
    here = map_of(page)
    parts, made = here.parts(), here.numbers()
    shown = page.locator(".qkv-map-shares tbody td:nth-child(2)").all_inner_texts()
    assert [int(text.replace(",", "")) for text in shown] == made["groups"]
    assert page.inner_text(".qkv-map-total").startswith(f"{made['total']:,} numbers")
    options = page.locator(".qkv-map-picture [role=option]")
    labels = options.evaluate_all("all => all.map(e => e.getAttribute('aria-label'))")
    assert len(labels) == len(parts)
    for label, part in zip(labels, parts, strict=True):
        assert f"{part.count:,} numbers" in label
        assert part.shape in label
    width = page.locator(".qkv-map-picture").evaluate("e => e.clientWidth")
    boxes = options.locator("rect").evaluate_all(
        "all => all.map(r => ['x', 'y', 'width', 'height'].map(n => Number(r.getAttribute(n))))"
    )
    for (x, y, wide, tall), want in zip(boxes, layout(parts, width, 300), strict=True):
        assert [x, y - 20, wide, tall] == pytest.approx(want, abs=1e-6)


def test_start_to_end_by_keyboard(page):
    assert_numbers_equal_cores(page)
    total = page.inner_text(".qkv-map-total")
    assert "63.0 million" in total
    assert "Table 3 prints 65" in total
    assert "39,841 to 41,793 rows" in total
    page.focus(".qkv-map-picture [tabindex='0']")
    page.keyboard.press("Home")
    assert traits(page, ["at"])["at"] == "encoder feed-forward W_1"
    for key in ["ArrowRight"] * 3 + ["ArrowDown"] * 6 + ["ArrowLeft"]:
        page.keyboard.press(key)
    focused = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert focused.startswith(f"decoder, feed-forward: W_2. 2048 {TIMES} 512 in each of 6 layers")
    assert page.inner_text(".qkv-map-part") == focused
    page.get_by_label("table rows").focus()
    for _ in range(5):
        page.keyboard.press("ArrowUp")
    assert traits(page, ["rows"])["rows"] == 42_000
    assert_numbers_equal_cores(page)
    page.keyboard.press("ArrowDown")
    assert "and so does this count" in page.inner_text(".qkv-map-total")
    page.wait_for_timeout(500)
    said = page.text_content("[role=status]")
    assert said.startswith("65,093,632 numbers")
    assert "decoder, feed-forward: W_2" in said
    for label, key in (("d_k", "ArrowDown"), ("encoder layers", "ArrowUp"), ("d_v", "ArrowUp")):
        page.get_by_label(label, exact=True).focus()
        page.keyboard.press(key)
        assert_numbers_equal_cores(page)
    page.get_by_label("biases in the attention").focus()
    page.keyboard.press("Space")
    page.get_by_label("Tables").focus()
    page.keyboard.press("ArrowDown")
    assert_numbers_equal_cores(page)
    assert traits(page, ["tables", "biases"]) == {"tables": 2, "biases": True}
    for _ in range(8):
        page.keyboard.press("Control+z")
    assert_numbers_equal_cores(page)
    assert map_of(page).numbers()["total"] == 63_045_632


def test_presets_say_which_one_stands(page):
    pressed = "all => all.filter(b => b.ariaPressed === 'true').map(b => b.textContent)"
    for name in ("big", "like BERT base", "ours", "base"):
        page.get_by_role("button", name=name, exact=True).click()
        assert_numbers_equal_cores(page)
        assert page.eval_on_selector_all("[aria-pressed]", pressed) == [name]
    page.get_by_role("button", name="Undo").click()
    assert page.eval_on_selector_all("[aria-pressed]", pressed) == ["ours"]


def test_a_field_that_vanishes_gives_its_place_to_another(page):
    set_traits(page, {"at": "decoder cross-attention W_K"})
    page.wait_for_timeout(40)
    assert page.inner_text(".qkv-map-part").startswith("decoder, cross-attention: W_K")
    set_traits(page, {"layers": [6, 0]})
    assert_numbers_equal_cores(page)
    assert page.inner_text(".qkv-map-part").startswith("encoder, feed-forward: W_1")
    assert page.locator(".qkv-map-picture [tabindex='0']").count() == 1
    cross = GROUPS.index("cross-attention")
    shown = page.locator(".qkv-map-shares tbody td:nth-child(2)").nth(cross)
    assert shown.inner_text() == "0"
    set_traits(page, {"layers": [0, 0]})
    assert_numbers_equal_cores(page)


def test_a_click_chooses_a_field_and_a_half_typed_number_is_left_alone(page):
    page.locator(".qkv-map-picture [role=option]").nth(5).click()
    assert page.inner_text(".qkv-map-part").startswith("encoder, self-attention: W_O")
    field = page.get_by_label("d_ff")
    field.fill("")
    assert traits(page, ["sizes"])["sizes"][1] == 2048
    field.fill("999999")
    assert traits(page, ["sizes"])["sizes"][1] == 65_536
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


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_mounting_does_not_move_the_text_below(path, open_live, width):
    page = open_live(path, width=width)
    kept, live = kept_and_needed(page)
    assert 0 <= kept - live <= 26


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_the_size_stays_while_everything_moves(path, open_live, width):
    page = open_live(path, width=width)
    page.evaluate("document.querySelector('.qkv-live').style.minHeight = ''")
    heights = set()
    states = [
        {},
        BIG,
        {"layers": [6, 0]},
        {"sizes": [1024, 2048, 8, 128, 128], "layers": [6, 6], "tables": 3, "biases": True},
        {"sizes": [8, 16, 3, 4, 2], "rows": 13, "layers": [128, 128]},
    ]
    for state in states:
        for at in ("decoder biases and norms rest", "decoder cross-attention W_Q", "nothing"):
            set_traits(page, {**state, "at": at})
            assert_numbers_equal_cores(page)
            heights.add(page.locator(".qkv-live").bounding_box()["height"])
    assert len(heights) == 1, heights


def test_without_javascript_the_map_stands_there(path, open_page):
    page = open_page(path, width=390, java_script_enabled=False)
    assert page.is_visible(".qkv-poster svg")
    page.locator(".qkv-poster summary").click()
    assert "1572864" in page.inner_text(".qkv-poster table")
