"""DotProduct in a real Chromium, from disk, under the strict policy."""

import re

import numpy as np
import pytest

import qkv
from qkv.widgets import DotProduct
from qkv.widgets.base import number
from tests.widgets.page import kept_and_needed, set_traits, small_targets, write_page

pytestmark = pytest.mark.browser

PAIRS = [
    {"labels": ["cat", "dog"], "x": [1.29, 0.47], "y": [0.115, 1.297]},
    {"labels": ["cat", "the"], "x": [1.29, 0.47], "y": [-0.32, 0.871]},
]


@pytest.fixture
def path(tmp_path):
    return write_page(tmp_path, DotProduct(pairs=PAIRS))


def vectors(page):
    get = "name => document.querySelector('figure').qkvModel.get(name)"
    return np.array(page.evaluate(get, "x"), float), np.array(page.evaluate(get, "y"), float)


def assert_numbers_equal_cores(page):
    x, y = vectors(page)
    page.wait_for_timeout(30)
    shown = page.eval_on_selector_all(".qkv-dot-lines dd b", "all => all.map(b => b.textContent)")
    dot, lengths = qkv.dot_product(x, y), (qkv.vector_length(x), qkv.vector_length(y))
    assert page.inner_text(".qkv-dot-title b") == number(dot)
    want = [*lengths, qkv.cosine_similarity(x, y), dot / lengths[0]]
    assert shown == [number(value) for value in want]


def middle(page, selector):
    box = page.locator(selector).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_arrow_keys_move_a_tip_and_the_numbers_are_cores(page):
    assert_numbers_equal_cores(page)
    page.focus(".qkv-handle.qkv-arrow-y")
    for key in ("ArrowRight", "ArrowDown", "Shift+ArrowLeft"):
        before = vectors(page)[1]
        page.keyboard.press(key)
        after = vectors(page)[1]
        assert (before != after).sum() == 1
        assert_numbers_equal_cores(page)
    # A moved vector is no longer the word's.
    assert page.inner_text(".qkv-dot-title").startswith("x · y = ")
    assert page.eval_on_selector("select", "s => s.selectedOptions[0].text") == "moved by hand"


def test_the_live_region_says_the_result_once_the_hand_rests(page):
    assert page.text_content("[role=status]") == ""
    page.select_option("select", "1")
    page.wait_for_timeout(500)
    x, y = np.array(PAIRS[1]["x"]), np.array(PAIRS[1]["y"])
    want = f"cat · the = {number(x @ y)}, cosine {number(qkv.cosine_similarity(x, y))}"
    assert page.text_content("[role=status]") == want


def test_mouse_drag_undo_and_reset(page):
    start = vectors(page)
    x, y = middle(page, ".qkv-handle.qkv-arrow-x .qkv-ring")
    page.mouse.move(x, y)
    page.mouse.down()
    for step in range(1, 6):
        page.mouse.move(x - 12 * step, y + 20 * step)
    page.mouse.up()
    moved = vectors(page)
    assert moved[0][0] < start[0][0]
    assert moved[0][1] < start[0][1]
    assert (moved[1] == start[1]).all()
    assert_numbers_equal_cores(page)
    page.click("text=Undo")
    assert (vectors(page)[0] == start[0]).all()
    assert page.inner_text(".qkv-dot-title").startswith("cat · dog")
    assert page.is_disabled("text=Undo")
    page.focus(".qkv-handle.qkv-arrow-x")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Control+z")
    assert (vectors(page)[0] == start[0]).all()
    page.keyboard.press("ArrowUp")
    page.click("text=Reset")
    assert (vectors(page)[0] == start[0]).all()


def test_the_plane_keeps_its_scale_under_the_hand_and_grows_for_a_typed_number(page):
    limit = lambda: float(page.get_attribute(".qkv-handle", "aria-valuemax"))  # noqa: E731
    page.focus(".qkv-handle.qkv-arrow-y")
    for _ in range(12):
        page.keyboard.press("Shift+ArrowUp")
    assert (vectors(page)[1][1], limit()) == (1.5, 1.5)
    page.get_by_label("x, entry 1").fill("7")
    page.wait_for_timeout(30)
    assert limit() == 8
    assert_numbers_equal_cores(page)


def test_a_dragged_arrow_finds_the_exact_right_angle(page):
    x, y = vectors(page)
    px, py = middle(page, ".qkv-handle.qkv-arrow-y .qkv-ring")
    unit = page.locator(".qkv-plane").bounding_box()["width"] * 186 / 400 / 1.5
    aim = np.array([-x[1], x[0]]) * 0.7 + [0.01, 0.005]  # a little beside it
    page.mouse.move(px, py)
    page.mouse.down()
    page.mouse.move(px + unit * (aim[0] - y[0]), py - unit * (aim[1] - y[1]), steps=4)
    page.mouse.up()
    x, y = vectors(page)
    assert abs(qkv.cosine_similarity(x, y)) < 1e-15
    assert_numbers_equal_cores(page)
    assert "90.0°, a right angle" in page.inner_text(".qkv-dot-kind")


def test_touch_drag_moves_a_tip_and_does_not_scroll(path, open_live):
    page = open_live(path, width=390, has_touch=True, is_mobile=True)
    start = vectors(page)[0]
    x, y = middle(page, ".qkv-handle.qkv-arrow-x .qkv-ring")
    session = page.context.new_cdp_session(page)
    finger = lambda kind, *points: session.send(  # noqa: E731
        "Input.dispatchTouchEvent",
        {"type": kind, "touchPoints": [{"x": a, "y": b} for a, b in points]},
    )
    finger("touchStart", (x, y))
    for step in range(1, 6):
        finger("touchMove", (x - 10 * step, y + 10 * step))
    finger("touchEnd")
    page.wait_for_timeout(50)
    assert vectors(page)[0][0] < start[0]
    assert page.evaluate("scrollY") == 0
    assert_numbers_equal_cores(page)


def test_number_fields_keep_what_is_half_typed(page):
    field = page.get_by_label("dog, entry 1")
    field.fill("")
    assert_numbers_equal_cores(page)
    field.press_sequentially("-0.5")
    assert vectors(page)[1][0] == -0.5
    assert_numbers_equal_cores(page)
    page.keyboard.press("ArrowUp")
    assert vectors(page)[1][0] > -0.5
    assert_numbers_equal_cores(page)


def test_a_zero_vector_has_no_cosine_and_says_so(page):
    for entry in (1, 2):
        page.locator(".qkv-entries").first.locator("input").nth(entry - 1).fill("0")
    page.wait_for_timeout(30)
    text = page.inner_text(".qkv-dot-right")
    assert "A vector without length points nowhere" in text
    assert "undefined" in text
    assert "NaN" not in page.inner_html("figure").replace("isNaN", "")


def test_the_figure_keeps_its_height_while_the_vectors_move(path, open_live):
    page = open_live(path, width=390)
    page.set_viewport_size({"width": 389, "height": 900})  # lets go of the reserved height
    heights = set()
    for x, y in [((1, 0.5), (1, 1)), ((1, 0.5), (-0.5, 1)), ((1, 0.5), (-1.4, -1.3)),
                 ((1, 0.5), (-1, -0.5)), ((1, 0.5), (0.5, 0.25)), ((1, 0.5), (0, 0))]:  # fmt: skip
        set_traits(page, {"x": x, "y": y, "labels": ["cat", "dog"]})
        page.wait_for_timeout(50)
        heights.add(page.locator(".qkv-live").bounding_box()["height"])
    assert len(heights) == 1, heights


def test_long_names_do_not_widen_a_phone_page(tmp_path, open_live):
    names = ["internationalization", "counterrevolutionaries"]
    widget = DotProduct(x=[-3.25, 1.5], y=[-2.5, -3.75], labels=names)
    page = open_live(write_page(tmp_path, widget), width=320)
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390, 320])
def test_no_overflow_no_axe_violation_and_targets_are_large(
    path, open_live, axe_violations, width, theme
):
    page = open_live(path, width=width, theme=theme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert axe_violations(page) == []
    assert small_targets(page, ".qkv-live :is(button, select, input, .qkv-handle)") == []


def test_the_theme_follows_page_jupyterlab_and_system(path, open_page):
    def colour(page):
        return page.eval_on_selector(".qkv-name-x", "e => getComputedStyle(e).color")

    blue, light_blue = "rgb(11, 92, 173)", "rgb(124, 183, 255)"
    page = open_page(path, theme="light", color_scheme="dark")
    assert colour(page) == blue
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    assert colour(page) == light_blue
    page.evaluate("delete document.documentElement.dataset.theme")
    assert colour(page) == light_blue  # the system's
    page.evaluate("document.body.dataset.jpThemeLight = 'true'")
    assert colour(page) == blue
    page = open_page(path, theme="light", color_scheme="light")
    page.evaluate("document.body.dataset.jpThemeLight = 'false'")
    assert colour(page) == light_blue


@pytest.mark.parametrize("width", [1280, 700, 390])
def test_mounting_does_not_move_the_text_below(path, open_live, width):
    page = open_live(path, width=width, java_script_enabled=True)
    live = kept_and_needed(page)
    assert abs(live[0] - live[1]) <= 26, live
    shift = page.evaluate(
        "() => new Promise(done => { let sum = 0; new PerformanceObserver(list => {"
        " for (const entry of list.getEntries()) sum += entry.value; })"
        ".observe({type: 'layout-shift', buffered: true}); setTimeout(() => done(sum), 200) })"
    )
    assert shift < 0.02


def test_the_widget_may_register_before_the_host(tmp_path, open_page):
    page = open_page(write_page(tmp_path, DotProduct(), DotProduct(), host_first=False))
    page.wait_for_selector("figure[data-qkv-state=live]")
    assert page.locator("figure[data-qkv-state=live]").count() == 2
    ids = page.eval_on_selector_all("[id]", "all => all.map(e => e.id)")
    assert len(ids) == len(set(ids))


def test_print_shows_the_poster_and_screen_the_widget(page):
    assert not page.is_visible(".qkv-poster")
    page.emulate_media(media="print")
    assert page.is_visible(".qkv-poster svg")
    assert page.is_visible(".qkv-poster table >> nth=1")
    assert not page.is_visible(".qkv-live")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_without_javascript_picture_and_numbers_stand_there(path, open_page, theme):
    page = open_page(path, width=390, theme=theme, java_script_enabled=False)
    assert page.is_visible(".qkv-poster svg")
    assert re.search(r"dot product\s+0\.76", page.inner_text(".qkv-poster"))


def test_input_to_paint_is_quick(page):
    page.focus(".qkv-handle.qkv-arrow-y")
    spent = page.evaluate(
        """async () => {
          const handle = document.querySelector('.qkv-handle.qkv-arrow-y');
          const times = [];
          for (let i = 0; i < 60; i += 1) {
            const key = i % 20 < 10 ? 'ArrowLeft' : 'ArrowRight';
            const start = performance.now();
            handle.dispatchEvent(new KeyboardEvent('keydown', { key, cancelable: true }));
            await Promise.resolve();
            document.querySelector('figure').getBoundingClientRect();
            times.push(performance.now() - start);
            await new Promise(requestAnimationFrame);
          }
          return times.sort((a, b) => a - b)[30];
        }"""
    )
    print(f"key press to laid out: median {spent:.2f} ms")
    assert spent > 0
