"""InductionTrace in a real Chromium, from disk, under the strict policy."""

import re

import pytest

from qkv.data import letters
from qkv.widgets import InductionTrace
from qkv.widgets.base import number
from tests.widgets.page import kept_and_needed, set_traits, small_targets, traits, write_page

pytestmark = pytest.mark.browser
TEXTS = ["QUERYKEYVALU", "A", "ABCDEFGHIJKLMABC"]


@pytest.fixture
def path(tmp_path):
    return write_page(tmp_path, InductionTrace())


def state(page):
    return traits(page, ["text", "row", "head", "step", "closed"])


def said(page):
    return page.inner_text(".qkv-trace-said")


def assert_numbers_equal_the_models(page):
    page.locator(".qkv-trace:not([aria-busy])").wait_for()
    page.wait_for_timeout(30)
    now = state(page)
    made = InductionTrace(**now).numbers()
    shown = page.eval_on_selector_all(
        ".qkv-trace-table tbody tr",
        "all => all.map(r => [...r.cells].map(c => c.textContent)).filter(r => r[0])",
    )
    places = range(made["row"] + 1)
    assert [row[0] for row in shown[: len(places)]] == [f"{p} {now['text'][p]}" for p in places]
    for place in places:
        scores = [number(x, 1) for x in (*made["parts"][:, place], made["scores"][place])]
        want = scores if now["step"] >= 2 else [""] * 4
        want.append(number(made["weights"][place]) if now["step"] >= 3 else "")
        assert shown[place][1:] == want
    if now["step"] == 4:
        says = letters(made["said"][made["row"] : made["row"] + 1])
        assert said(page).startswith(f"Place {made['row']} says {says}, probability ")
        names = page.eval_on_selector_all(
            ".qkv-trace-chances dt", "all => all.map(e => e.textContent)"
        )
        assert "".join(names) == letters(made["top"])


def test_the_first_picture_needs_no_weights(page):
    assert_numbers_equal_the_models(page)
    assert page.evaluate("globalThis.qkvBook.twoLayers") is None
    assert said(page).endswith("U stood at place 1, and E came after it: right.")


def test_start_to_end_by_keyboard(page):
    page.get_by_role("radio", name="4 letter").focus()
    steps = []
    for step in (3, 2, 1):
        page.keyboard.press("ArrowLeft")
        assert state(page)["step"] == step
        assert_numbers_equal_the_models(page)
        steps.append(said(page))
    assert "looks at place 2 (E), weight" in steps[0]
    assert "meets the query of place 11 (U)" in steps[1]
    assert steps[2].startswith("Layer 1, row 2 (E): head 1.1 looks at")
    page.keyboard.press("End")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert state(page)["step"] == 4
    page.get_by_label("1.2", exact=True).focus()
    page.keyboard.press("Space")
    assert state(page)["closed"] == ["1.2"]
    assert_numbers_equal_the_models(page)
    page.wait_for_timeout(500)
    assert page.text_content("[role=status]") == said(page)
    page.keyboard.press("Space")
    for read, right in (("Q", True), ("K", False), ("V", True)):
        page.get_by_label(read, exact=True).focus()
        page.keyboard.press("Space")
        assert_numbers_equal_the_models(page)
        assert said(page).endswith("right." if right else "wrong.")
        page.keyboard.press("Space")
    page.get_by_label("Place that asks").focus()
    page.keyboard.press("ArrowLeft")
    assert state(page)["row"] == 10
    assert_numbers_equal_the_models(page)
    assert said(page).endswith("L is new here, so nobody asks.")
    page.get_by_role("radio", name="2.1").focus()
    page.keyboard.press("ArrowRight")
    assert state(page)["head"] == 1
    assert_numbers_equal_the_models(page)
    page.get_by_role("button", name="Reset").focus()
    page.keyboard.press("Enter")
    assert state(page) == {"text": "QUERYKEYVALU", "row": -1, "head": 0, "step": 4, "closed": []}
    assert_numbers_equal_the_models(page)


def test_a_text_of_ones_own(page):
    field = page.get_by_label("Text", exact=True)
    field.focus()
    page.keyboard.press("Control+a")
    page.keyboard.type("banjo-band 7")
    assert state(page)["text"] == "BANJOBAND"
    assert_numbers_equal_the_models(page)
    page.keyboard.press("Tab")
    assert field.input_value() == "BANJOBAND"
    page.locator(".qkv-trace-letter").nth(6).click()
    assert state(page)["row"] == 6
    assert_numbers_equal_the_models(page)
    page.get_by_label("or take").select_option("HOCUSPOCUS")
    assert state(page)["text"] == "HOCUSPOCUS"
    assert_numbers_equal_the_models(page)
    field.fill("")
    assert state(page)["text"] == "HOCUSPOCUS"
    page.get_by_role("button", name="Undo").click()
    assert state(page)["text"] == "BANJOBAND"
    assert_numbers_equal_the_models(page)


def test_weights_that_do_not_load_are_named_and_asked_for_again(path, chromium):
    script = path.with_name("two-layers-weights.js")
    kept = script.read_text()
    script.unlink()
    page = chromium.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector("figure[data-qkv-state=live]")
    page.get_by_label("K", exact=True).click()
    page.get_by_text("The weights could not be loaded").wait_for()
    assert not page.is_visible(".qkv-trace-said")
    assert page.is_visible(".qkv-trace-picture")
    script.write_text(kept)
    page.get_by_label("Text", exact=True).focus()
    assert_numbers_equal_the_models(page)
    assert said(page).endswith("wrong.")
    page.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390, 320])
def test_no_overflow_no_axe_violation_and_targets_are_large(
    path, open_live, axe_violations, width, theme
):
    page = open_live(path, width=width, theme=theme)
    set_traits(page, {"text": TEXTS[2], "closed": ["1.1", "V"]})
    assert_numbers_equal_the_models(page)
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
    sizes = set()
    for closed in [[], ["1.1", "1.2", "K"]]:
        for step in (1, 2, 3, 4):
            for row in (-1, 0, 5):
                set_traits(page, {"closed": closed, "step": step, "row": row})
                assert_numbers_equal_the_models(page)
                sizes.add(page.locator(".qkv-live").bounding_box()["height"])
    assert len(sizes) == 1, sizes


def test_without_javascript_the_looks_stand_there(path, open_page):
    page = open_page(path, width=390, java_script_enabled=False)
    assert page.is_visible(".qkv-poster svg")
    assert re.search(r"place 11 says E", page.inner_text(".qkv-poster"))
