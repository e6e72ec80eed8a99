"""ExplanationLab in a real Chromium, from disk, under the strict policy."""

import numpy as np
import pytest
from playwright.sync_api import expect

from qkv.data.known_truth import START, separation
from qkv.widgets import ExplanationLab
from qkv.widgets.base import number
from qkv.widgets.explanation_lab import METHODS
from tests.widgets.page import kept_and_needed, set_traits, small_targets, traits, write_page

pytestmark = pytest.mark.browser
NAMES = ["text", "model", "layer", "slide"]
TABLE = ".qkv-explain-table"


@pytest.fixture
def path(tmp_path):
    return write_page(tmp_path, ExplanationLab())


def said(page):
    return page.inner_text(".qkv-explain-said")


def settled(page):
    expect(page.locator(".qkv-explain")).not_to_have_attribute("aria-busy", "true")
    expect(page.locator(".qkv-explain-wait")).to_be_hidden()


def assert_numbers_equal_cores(page):
    page.wait_for_timeout(30)
    settled(page)
    now = traits(page, NAMES)
    made = ExplanationLab(**now).numbers()
    rows = page.eval_on_selector_all(
        f"{TABLE} tbody tr",
        "all => all.map(r => [r.querySelector('select')?.value ?? r.cells[0].textContent,"
        " ...[...r.cells].slice(1).map(c => c.textContent)])",
    )
    assert [row[0] for row in rows] == [START, *now["text"][:-1]]
    assert [row[1] == "yes" for row in rows] == made["truth"].tolist()
    shown = np.array([[float(x.replace("\u2212", "-")) for x in row[2:]] for row in rows])
    want = np.column_stack([made[name] for name in METHODS])
    np.testing.assert_allclose(shown, want, rtol=0, atol=0.00501)
    foot = page.eval_on_selector_all(f"{TABLE} tfoot td", "all => all.map(c => c.textContent)")
    agree = [separation(made[name], made["truth"]) for name in METHODS]
    assert foot == ["–" if np.isnan(x) else number(x) for x in agree]  # noqa: RUF001


def test_start_to_end_by_keyboard(page):
    loaded = []
    page.on("request", lambda request: loaded.append(request.url))
    assert_numbers_equal_cores(page)
    assert said(page).startswith("The model says 3, as the rule does. A→C and C3 matter.")
    assert not any("known-truth" in url for url in loaded)
    page.get_by_label("Token 5").focus()
    page.keyboard.press("ArrowDown")
    assert traits(page, NAMES)["text"][4] == "C4"
    assert_numbers_equal_cores(page)
    assert sum("known-truth" in url for url in loaded) == 1
    assert said(page).startswith("The model says 4, as the rule does.")
    page.get_by_label("Question").focus()
    page.keyboard.press("End")
    assert traits(page, NAMES)["text"][8] == "!"
    assert_numbers_equal_cores(page)
    assert "No token matters." in said(page)
    page.get_by_label("Question").focus()
    page.keyboard.press("ArrowUp")
    assert_numbers_equal_cores(page)
    page.locator("input[value=two]").focus()
    for model in ["hidden", "one"]:
        page.keyboard.press("ArrowRight")
        assert traits(page, NAMES)["model"] == model
        assert_numbers_equal_cores(page)
    page.get_by_label("Other weights, same output").focus()
    page.keyboard.press("End")
    assert traits(page, NAMES)["slide"] == 1
    assert_numbers_equal_cores(page)
    assert "These are other weights" in said(page)
    page.wait_for_timeout(500)
    assert page.text_content("[role=status]") == said(page)
    for _ in range(12):
        page.keyboard.press("Control+z")
    assert traits(page, NAMES) == {
        "text": ["A→C", "*", "B1", "·", "C3", "*", "·", "·", "A?"],
        "model": "two",
        "layer": 2,
        "slide": 0,
    }
    assert_numbers_equal_cores(page)


def test_every_example_and_both_layers(page):
    names = page.eval_on_selector_all(
        "select >> nth=0", "all => [...all[0].options].map(o => o.value)"
    )
    assert len(names) == 7
    for name in names[1:]:
        page.get_by_label("Look at").select_option(name)
        assert_numbers_equal_cores(page)
        assert page.get_by_label("Look at").input_value() == name
        for layer in (1, 2):
            set_traits(page, {"layer": layer})
            assert_numbers_equal_cores(page)


def test_a_letter_told_about_twice_and_a_fifth_star_are_taken_away(page):
    page.get_by_label("Token 4").select_option("A2")
    assert traits(page, NAMES)["text"][:4] == ["·", "*", "B1", "A2"]
    for place in (1, 3, 7):
        page.get_by_label(f"Token {place}").select_option("*")
    assert traits(page, NAMES)["text"].count("*") == 4
    assert_numbers_equal_cores(page)


def test_without_the_models_the_first_picture_still_works(tmp_path, chromium):
    path = write_page(tmp_path, ExplanationLab())
    (tmp_path / "known-truth-weights.js").unlink()
    page = chromium.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector("figure[data-qkv-state=live]")
    page.get_by_label("Token 5").select_option("C1")
    expect(page.locator(".qkv-explain-wait")).to_contain_text("could not be loaded")
    page.get_by_role("button", name="Undo").click()
    assert_numbers_equal_cores(page)
    page.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390, 320])
def test_no_overflow_no_axe_violation_and_targets_are_large(
    path, open_live, axe_violations, width, theme
):
    page = open_live(path, width=width, theme=theme)
    set_traits(page, {"slide": 0.6})
    settled(page)
    page.wait_for_timeout(50)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert axe_violations(page) == []
    assert small_targets(page, ".qkv-live :is(button, select, input)") == []


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_mounting_does_not_move_the_text_below(path, open_live, width):
    page = open_live(path, width=width)
    kept, live = kept_and_needed(page)
    assert 0 <= kept - live <= 26, (kept, live)


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_the_size_stays_while_everything_moves(path, open_live, width):
    page = open_live(path, width=width)
    page.evaluate("document.querySelector('.qkv-live').style.minHeight = ''")
    sizes = set()
    for words in ["A→C * B1 · C3 * · · A?", "* * A1 * * B→D C→A D→A *?", "· · · · · · · · !"]:
        for model in ["one", "hidden"]:
            for slide in [0, 1]:
                set_traits(page, {"text": words.split(), "model": model, "slide": slide})
                settled(page)
                page.wait_for_timeout(30)
                sizes.add(page.locator(".qkv-live").bounding_box()["height"])
    assert len(sizes) == 1, sizes


def test_without_javascript_the_weights_stand_there(path, open_page):
    page = open_page(path, width=390, java_script_enabled=False)
    assert page.is_visible(".qkv-poster svg")
