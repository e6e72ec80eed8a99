"""CrossAttention in a real Chromium, from disk, under the strict policy."""

import numpy as np
import pytest

from qkv.widgets import CrossAttention
from qkv.widgets.base import number
from tests.widgets.page import kept_and_needed, set_traits, small_targets, traits, write_page

pytestmark = pytest.mark.browser
OUTPUT, PARTS = "[data-matrix=output]", "[data-matrix=parts]"


@pytest.fixture
def path(tmp_path):
    return write_page(tmp_path, CrossAttention())


def state(page):
    return traits(page, ["inputs", "parameters", "order", "hidden", "chosen"])


def grid(page, where):
    return page.eval_on_selector_all(
        f"{where} tbody tr", "all => all.map(r => [...r.cells].slice(1).map(c => c.textContent))"
    )


def assert_numbers_equal_cores(page):
    page.wait_for_timeout(30)
    now = state(page)
    made = CrossAttention(**now).numbers()
    assert grid(page, OUTPUT) == [[number(x) for x in row] for row in made["output"]]
    parts = np.column_stack([made["parts"], made["parts"].sum(axis=1)])
    parts = np.vstack([parts, parts.sum(axis=0)])
    assert grid(page, PARTS) == [[number(x) for x in row] for row in parts]
    t, c, head, _ = now["chosen"]
    weights = made["weights"][head, t]
    shown = page.locator(".qkv-cross-weight").all_inner_texts()
    words = [now["hidden"][word] for word in now["order"]]
    assert shown == ["hidden" if hid else number(w) for w, hid in zip(weights, words, strict=True)]
    widths = page.eval_on_selector_all(
        ".qkv-cross-picture line", "all => all.map(e => Number(e.getAttribute('stroke-width')))"
    )
    want = np.where(made["weights"][head] < 0.04, 0, 8 * made["weights"][head])
    np.testing.assert_allclose(np.reshape(widths, want.shape), want, rtol=0, atol=0.006)
    column = now["inputs"]["columns"][c]
    title = f"{now['inputs']['tokens_q'][t]}, {column}: {number(made['output'][t, c])}"
    assert page.inner_text(f"{PARTS} .qkv-matrix-head") == title


def said(page):
    page.wait_for_timeout(450)
    return page.text_content("[role=status]")


def test_start_to_end_by_keyboard(page):
    assert_numbers_equal_cores(page)
    text = page.inner_text(".qkv-cross-score")
    assert text.startswith("Score 4.00 = (1 ")
    assert text.endswith(" / 2: action 1 of gegessen, joined by 4 to action 2 of ate.")
    page.focus(f"{OUTPUT} td[tabindex='0']")
    for key in ["ArrowUp", "ArrowLeft", "ArrowLeft"]:
        page.keyboard.press(key)
        assert_numbers_equal_cores(page)
    assert state(page)["chosen"] == [4, 0, 0, 1]
    page.focus(f"{PARTS} td[tabindex='0']")
    for key in ["ArrowDown", "ArrowLeft"]:
        page.keyboard.press(key)
        assert_numbers_equal_cores(page)
    assert state(page)["chosen"] == [4, 0, 1, 0]
    assert said(page).startswith(
        "output 'Apfel', who: 4.81. query 'Apfel' looks at key 'she', weight 0.96."
    )
    page.get_by_role("button", name="hide she").focus()
    page.keyboard.press("Enter")
    assert state(page)["hidden"] == [1, 0, 0, 0, 0]
    assert_numbers_equal_cores(page)
    assert page.inner_text(".qkv-cross-score") == "she is hidden: its score is set to −∞."  # noqa: RUF001
    page.keyboard.press("Control+z")
    assert state(page)["hidden"] == [0, 0, 0, 0, 0]
    page.get_by_role("radio", name="3 verb, object").focus()
    page.keyboard.press("ArrowRight")
    assert state(page)["chosen"][2] == 0
    assert_numbers_equal_cores(page)


def test_moving_words_changes_no_output(page):
    before = grid(page, OUTPUT)
    for _ in range(3):
        page.get_by_role("button", name="move apple to the left").focus()
        page.keyboard.press("Enter")
        assert_numbers_equal_cores(page)
    assert state(page)["order"] == [3, 0, 1, 2, 4]
    assert grid(page, OUTPUT) == before
    assert page.get_by_role("button", name="move apple to the left").is_disabled()
    page.get_by_role("button", name="Reset").click()
    assert state(page)["order"] == [0, 1, 2, 3, 4]
    assert_numbers_equal_cores(page)


def test_a_target_word_and_a_cell_are_chosen_with_the_mouse(page):
    page.get_by_role("button", name="einen").click()
    assert state(page)["chosen"] == [3, 2, 0, 1]
    page.locator(f"{OUTPUT} tbody tr >> nth=0 >> td >> nth=7").click()
    assert state(page)["chosen"] == [0, 7, 0, 1]
    page.locator(f"{PARTS} tbody tr >> nth=2 >> td >> nth=3").click()
    assert state(page)["chosen"] == [0, 7, 2, 3]
    assert_numbers_equal_cores(page)
    page.locator(f"{PARTS} tbody tr >> nth=3 >> td >> nth=5").click()
    assert state(page)["chosen"] == [0, 7, 2, 3]


def test_all_words_hidden(page):
    for word in ["she", "ate", "an", "apple"]:
        page.get_by_role("button", name=f"hide {word}", exact=True).click()
        assert_numbers_equal_cores(page)
    page.get_by_role("button", name="hide .", exact=True).click()
    assert_numbers_equal_cores(page)
    assert {text for row in grid(page, OUTPUT) for text in row} == {"0.00"}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390, 320])
def test_no_overflow_no_axe_violation_and_targets_are_large(
    path, open_live, axe_violations, width, theme
):
    page = open_live(path, width=width, theme=theme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    wide = "all => all.filter(e => e.scrollWidth > e.clientWidth + 1).length"
    assert page.eval_on_selector_all(".qkv-live .qkv-matrix", wide) == 0
    assert axe_violations(page) == []
    assert small_targets(page, ".qkv-live :is(button, tbody td)") == []


@pytest.mark.parametrize("width", [1280, 700, 390, 320])
def test_mounting_does_not_move_the_text_below(path, open_live, width):
    page = open_live(path, width=width)
    kept, live = kept_and_needed(page)
    assert 0 <= kept - live <= 26


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_the_size_stays_while_everything_moves(path, open_live, width):
    page = open_live(path, width=width)
    page.evaluate("document.querySelector('.qkv-live').style.minHeight = ''")
    sizes = set()
    for hidden in ([0] * 5, [1, 1, 0, 0, 0]):
        for head, t, word in np.ndindex(3, 7, 5):
            set_traits(page, {"chosen": [t, 2, head, word], "hidden": hidden})
            page.wait_for_timeout(5)
            box = page.locator(".qkv-live").bounding_box()
            sizes.add((box["height"], page.locator(f"{OUTPUT} table").bounding_box()["width"]))
    assert len(sizes) == 1, sizes


def test_without_javascript_the_picture_stands_there(path, open_page):
    page = open_page(path, width=390, java_script_enabled=False)
    assert page.is_visible(".qkv-poster svg")
