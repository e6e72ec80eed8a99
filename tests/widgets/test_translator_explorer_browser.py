"""TranslatorExplorer in a real Chromium, from disk, under the strict policy."""

import pytest

from qkv.widgets import TranslatorExplorer
from qkv.widgets.base import number
from tests.widgets.page import kept_and_needed, set_traits, small_targets, traits, write_page

pytestmark = pytest.mark.browser
NAMES = ["text", "language", "site", "head", "at"]
SCRIPT = "translator-weights.js"
LOADED = "[...document.scripts].map(s => s.src.split('/').pop())"


@pytest.fixture
def path(tmp_path):
    return write_page(tmp_path, TranslatorExplorer())


def state(page):
    return traits(page, NAMES)


def assert_numbers_equal_cores(page):
    page.wait_for_selector(".qkv-translate:not([aria-busy])")
    page.wait_for_timeout(60)
    widget = TranslatorExplorer(**state(page))
    made, (rows, columns) = widget.numbers(), widget.labels()
    shown = page.eval_on_selector_all(
        "[data-matrix=weights] tbody tr",
        "all => all.map(r => [...r.cells].map(c => c.textContent))",
    )
    assert [row[0] for row in shown] == rows
    assert [row[1:] for row in shown] == [[number(x) for x in row] for row in made["weights"]]
    heads = page.eval_on_selector_all(
        "[data-matrix=weights] thead th", "all => all.map(c => c.textContent)"
    )
    assert heads == columns
    lines = page.eval_on_selector_all(".qkv-translate-line", "all => all.map(e => e.textContent)")
    assert lines == [" ".join(made["source"]), " ".join(made["written"][1:])]
    t, s = widget.at
    work = page.eval_on_selector_all(
        "[data-matrix=work] tbody tr", "all => all.map(r => [...r.cells].map(c => c.textContent))"
    )
    q, k = made["q"][t], made["k"][s]
    assert [row[1:] for row in work] == [[number(x, 1) for x in row] for row in (q, k, q * k)]


def test_start_to_end_by_keyboard(page):
    assert_numbers_equal_cores(page)
    assert SCRIPT not in page.evaluate(LOADED)
    page.focus("[data-matrix=weights] [tabindex='0']")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowLeft")
    assert state(page)["at"] == [1, 1]
    assert SCRIPT not in page.evaluate(LOADED)
    assert_numbers_equal_cores(page)
    assert "“und” has no partner" in page.inner_text(".qkv-translate-said")
    page.focus("input[value=cross]")
    page.keyboard.press("ArrowLeft")
    assert state(page)["site"] == "decoder"
    assert_numbers_equal_cores(page)
    assert SCRIPT in page.evaluate(LOADED)
    page.keyboard.press("ArrowLeft")
    assert_numbers_equal_cores(page)
    page.focus(".qkv-translate-bar >> nth=1 >> fieldset >> nth=2 >> input:checked")
    page.keyboard.press("ArrowRight")
    assert state(page)["head"] == [1, 2]
    assert_numbers_equal_cores(page)
    page.get_by_label("Number", exact=True).focus()
    page.keyboard.press("ArrowUp")
    assert state(page)["text"] == "85027"
    page.keyboard.press("Control+z")
    assert state(page)["text"] == "85026"
    page.keyboard.press("ArrowUp")
    page.get_by_label("or take").focus()
    page.keyboard.press("ArrowDown")
    set_traits(page, {"site": "cross", "at": [0, 1]})
    assert_numbers_equal_cores(page)
    for _ in range(12):
        page.focus(".qkv-translate .qkv-matrix [tabindex='0']")
        page.keyboard.press("Control+z")
    page.wait_for_timeout(60)
    assert state(page)["text"] == "85026"
    assert state(page)["head"] == [1, 1]


@pytest.mark.parametrize("text", ["0", "97", "81028", "260867", "1957-12-25", "2020-12-20"])
@pytest.mark.parametrize("language", ["de", "fr"])
def test_other_texts_equal_cores(page, text, language):
    set_traits(page, {"text": text, "language": language, "at": [1, 1]})
    assert_numbers_equal_cores(page)


def test_a_date_is_picked(page):
    page.get_by_label("or date").fill("1957-12-25")
    assert state(page)["text"] == "1957-12-25"
    assert_numbers_equal_cores(page)
    assert page.get_by_label("Number", exact=True).input_value() == ""
    assert page.inner_text(".qkv-translate-right") == "Right, word for word."


def test_a_wrong_translation_is_called_wrong(page):
    set_traits(page, {"text": "260867", "at": [0, 1]})
    assert_numbers_equal_cores(page)
    right = page.inner_text(".qkv-translate-right")
    assert right.startswith("Wrong. The rule says: zwei hundert sechzig tausend")


def test_without_the_weights_it_says_so_and_the_first_picture_works(tmp_path, chromium):
    path = write_page(tmp_path, TranslatorExplorer())
    (tmp_path / SCRIPT).unlink()
    page = chromium.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector("figure[data-qkv-state=live]")
    page.get_by_label("French").check()
    page.locator(".qkv-translate-wait", has_text="could not").wait_for()
    page.get_by_label("German").check()
    page.locator(".qkv-translate-wait").wait_for(state="hidden")
    assert_numbers_equal_cores(page)
    page.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390, 320])
def test_no_overflow_no_axe_violation_and_targets_are_large(
    path, open_live, axe_violations, width, theme
):
    page = open_live(path, width=width, theme=theme)
    set_traits(page, {"site": "decoder"})
    assert_numbers_equal_cores(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert axe_violations(page) == []
    assert small_targets(page, ".qkv-live :is(button, select, input, tbody td)") == []


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_mounting_does_not_move_the_text_below(path, open_live, width):
    page = open_live(path, width=width)
    kept, live = kept_and_needed(page)
    assert 0 <= kept - live <= 26


def test_the_size_stays_while_the_head_changes(path, open_live):
    page = open_live(path)
    page.evaluate("document.querySelector('.qkv-live').style.minHeight = ''")
    sizes = set()
    for layer in (0, 1):
        for head in range(4):
            set_traits(page, {"head": [layer, head]})
            assert_numbers_equal_cores(page)
            sizes.add(page.locator(".qkv-live").bounding_box()["height"])
    assert len(sizes) == 1, sizes


def test_without_javascript_the_weights_stand_there(path, open_page):
    page = open_page(path, width=390, java_script_enabled=False)
    assert page.is_visible(".qkv-poster svg")
