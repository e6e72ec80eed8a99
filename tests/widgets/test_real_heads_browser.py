"""RealHeads in a real Chromium, from disk, under the strict policy."""

import pytest

from qkv.widgets import RealHeads
from qkv.widgets.base import number
from qkv.widgets.real_heads import stored
from tests.widgets.page import kept_and_needed, set_traits, small_targets, traits, write_page

pytestmark = pytest.mark.browser
NAMES = ["sentence", "head", "at", "measure"]
SCRIPT = "real-heads-data.js"
LOADED = "[...document.scripts].map(s => s.src.split('/').pop())"
ROWS = "all => all.map(r => [...r.cells].map(c => c.textContent))"


@pytest.fixture
def path(tmp_path):
    return write_page(tmp_path, RealHeads())


def state(page):
    return traits(page, NAMES)


def rows(page, name):
    return page.eval_on_selector_all(f"[data-matrix={name}] tbody tr", ROWS)


def assert_numbers_equal_cores(page):
    page.wait_for_selector(".qkv-real:not([aria-busy])")
    page.wait_for_timeout(60)
    widget = RealHeads(**state(page))
    made, tokens = widget.numbers(), widget.numbers()["tokens"]
    shown = rows(page, "weights")
    assert [row[0] for row in shown] == tokens
    assert [row[1:] for row in shown] == [[number(100 * x, 0) for x in w] for w in made["weights"]]
    t, j = (min(i, len(tokens) - 1) for i in widget.at)
    row = rows(page, "row")
    assert row[1][1:] == [number(x) for x in made["weights"][t]]
    assert row[3][1:] == [number(x) for x in made["carried"][t]]
    q, k = made["q"][t], made["k"][j]
    assert [r[1:] for r in rows(page, "work")] == [[number(x, 1) for x in y] for y in (q, k, q * k)]
    layer, head = widget.head
    looks = stored()["looks"][widget.measure]
    assert [r[1:] for r in rows(page, "heads")] == [[number(x, 0) for x in row] for row in looks]
    assert f"Layer {layer}, head {head}," in page.inner_text(".qkv-real-role")


def test_start_to_end_by_keyboard(page):
    assert_numbers_equal_cores(page)
    page.focus("[data-matrix=weights] [tabindex='0']")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Home")
    assert state(page)["at"] == [3, 0]
    assert "“by” looks at “[CLS]”, weight 0.9" in page.inner_text(".qkv-real-said")
    page.get_by_label("Map shows").focus()
    page.keyboard.press("ArrowDown")
    assert state(page)["measure"] == "previous"
    assert_numbers_equal_cores(page)
    assert SCRIPT not in page.evaluate(LOADED)
    page.focus("[data-matrix=heads] [tabindex='0']")
    page.keyboard.press("ArrowUp")
    assert state(page)["head"] == [1, 9]
    assert_numbers_equal_cores(page)
    assert SCRIPT in page.evaluate(LOADED)
    page.keyboard.press("Control+Home")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert state(page)["head"] == [0, 2]
    assert (
        page.evaluate("document.activeElement.closest('[data-matrix]').dataset.matrix") == "heads"
    )
    assert_numbers_equal_cores(page)
    page.get_by_label("Sentence").focus()
    page.keyboard.press("ArrowDown")
    assert state(page)["sentence"] == 1
    assert_numbers_equal_cores(page)
    for _ in range(8):
        page.focus("[data-matrix=heads] [tabindex='0']")
        page.keyboard.press("Control+z")
    page.wait_for_timeout(60)
    assert state(page)["sentence"] == 0
    assert state(page)["head"] == [2, 9]
    assert state(page)["measure"] == "same"


@pytest.mark.parametrize("sentence", range(8))
def test_every_sentence_equals_core(page, sentence):
    set_traits(page, {"sentence": sentence, "head": [sentence % 6, 11 - sentence], "at": [99, 1]})
    assert_numbers_equal_cores(page)


def test_without_the_heads_it_says_so_and_the_first_picture_works(tmp_path, chromium):
    path = write_page(tmp_path, RealHeads())
    (tmp_path / SCRIPT).unlink()
    page = chromium.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector("figure[data-qkv-state=live]")
    page.get_by_label("Sentence").select_option("1")
    page.locator(".qkv-real-wait", has_text="could not").wait_for()
    page.get_by_label("Sentence").select_option("0")
    page.locator(".qkv-real-wait", has_text="Layer 2, head 9").wait_for()
    assert_numbers_equal_cores(page)
    page.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390, 320])
def test_no_overflow_no_axe_violation_and_targets_are_large(
    path, open_live, axe_violations, width, theme
):
    page = open_live(path, width=width, theme=theme)
    set_traits(page, {"head": [0, 2]})
    assert_numbers_equal_cores(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert axe_violations(page) == []
    assert small_targets(page, ".qkv-live :is(button, select, tbody td)") == []


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_mounting_does_not_move_the_text_below(path, open_live, width):
    page = open_live(path, width=width)
    kept, live = kept_and_needed(page)
    assert 0 <= kept - live <= 26


def test_the_size_stays_while_the_head_changes(path, open_live):
    page = open_live(path)
    page.evaluate("document.querySelector('.qkv-live').style.minHeight = ''")
    sizes = set()
    for head in ([0, 0], [0, 2], [3, 11], [5, 7]):
        set_traits(page, {"head": head})
        assert_numbers_equal_cores(page)
        sizes.add(page.locator(".qkv-live").bounding_box()["height"])
    assert len(sizes) == 1, sizes


def test_without_javascript_the_weights_stand_there(path, open_page):
    page = open_page(path, width=390, java_script_enabled=False)
    assert page.is_visible(".qkv-poster svg")
