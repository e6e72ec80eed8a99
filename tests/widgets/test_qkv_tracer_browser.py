"""QKVTracer in a real Chromium, from disk, under the strict policy."""

import re

import numpy as np
import pytest

import qkv
from qkv.widgets import QKVTracer
from tests.widgets.page import write_page

pytestmark = pytest.mark.browser

MINUS = "\u2212"
DERIVED = ("q", "k", "v", "scores", "weights", "output")


@pytest.fixture
def path(tmp_path):
    return write_page(tmp_path, QKVTracer())


def trait(page, name):
    return page.evaluate("name => document.querySelector('figure').qkvModel.get(name)", name)


def shown(page, name):
    """Return the numbers of a table: exact, and as printed."""
    cells = page.eval_on_selector_all(
        f"[data-matrix={name}] tbody tr",
        "rows => rows.map(row => [...row.querySelectorAll('td')]"
        ".map(td => [td.dataset.value, td.textContent]))",
    )
    exact = [[float(value.replace("Infinity", "inf")) for value, _ in row] for row in cells]
    return np.array(exact), [[text for _, text in row] for row in cells]


def assert_all_numbers_equal_cores(page):
    """Compute everything again in Python from what the page holds now, and compare all tables."""
    page.wait_for_timeout(30)
    names = ("inputs", "w_q", "w_k", "w_v", "mode", "mask")
    widget = QKVTracer(**{name: trait(page, name) for name in names})
    given = {"w_q": widget.w_q, "w_k": widget.w_k, "w_v": widget.w_v, "x_kv": widget.X_kv}
    if widget.mode == "cross":
        given["x_q"] = widget.X_q
    for name, want in given.items():
        np.testing.assert_array_equal(shown(page, name)[0], want)
    for name in DERIVED:
        want = getattr(widget, name)
        exact, printed = shown(page, name)
        np.testing.assert_allclose(exact, want, rtol=0, atol=1e-12)
        texts = [[text.replace(MINUS, "-").replace("∞", "inf") for text in row] for row in printed]
        np.testing.assert_allclose(np.array(texts, float), want, rtol=0, atol=0.005 + 1e-9)
    return widget


def cell(page, name, row, col):
    return page.locator(f"[data-matrix={name}] tbody tr:nth-child({row + 1}) td").nth(col)


def focused(page):
    return page.evaluate(
        """() => {
          const td = document.activeElement;
          const name = td.closest("[data-matrix]")?.dataset.matrix;
          return name ? [name, td.parentElement.sectionRowIndex, td.cellIndex - 1] : null;
        }"""
    )


def title(page):
    return page.inner_text(".qkv-readout-title")


def work(page):
    parts = page.eval_on_selector_all(
        ".qkv-part > span", "all => all.map(span => span.textContent)"
    )
    return " ".join(parts)


def test_it_opens_on_the_books_pair_with_cores_numbers(page):
    widget = assert_all_numbers_equal_cores(page)
    assert round(float(widget.weights[2, 3]), 2) == 0.93
    assert title(page) == "weights[an, apple] ≈ 0.932"
    assert page.locator("[data-matrix=x_q]").count() == 0
    assert page.text_content("[role=status]") == ""


@pytest.mark.parametrize(
    ("name", "row", "col"), [("x_kv", 4, 3), ("w_q", 3, 2), ("w_k", 1, 1), ("w_v", 6, 0)]
)
def test_typing_a_number_changes_every_table_as_core_would(page, name, row, col):
    cell(page, name, row, col).focus()
    page.keyboard.type("-2.5")
    assert_all_numbers_equal_cores(page)
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    widget = assert_all_numbers_equal_cores(page)
    value = widget.X_kv[row, col] if name == "x_kv" else getattr(widget, name)[row, col]
    assert value == -1.5
    assert focused(page) == [name, row, col]
    assert page.locator("[data-matrix] input").count() == 0


def test_editing_in_cross_attention_reaches_the_asking_sequence(page):
    page.check("input[value=cross]")
    assert page.locator("[data-matrix=scores] tbody tr").count() == 7
    cell(page, "x_q", 2, 5).focus()
    page.keyboard.type("3")
    page.keyboard.press("Tab")
    widget = assert_all_numbers_equal_cores(page)
    assert widget.X_q[2, 5] == 3
    assert widget.weights.shape == (7, 5)
    assert page.is_disabled("input[value=causal]")
    assert "the keys are another sentence" in page.inner_text(".qkv-flow-why")


def test_causal_mask(page):
    page.check("input[value=causal]")
    widget = assert_all_numbers_equal_cores(page)
    assert (widget.weights[~qkv.causal_mask(5)] == 0).all()
    assert shown(page, "scores")[1][0][1] == f"{MINUS}∞"
    cell(page, "scores", 1, 3).hover()
    assert "Masked: apple comes after ate" in page.inner_text(".qkv-readout-note")
    page.check("input[value=cross]")
    assert_all_numbers_equal_cores(page)
    page.check("input[value=self]")
    assert assert_all_numbers_equal_cores(page).mask == "causal"


def test_undo_reset_escape_and_refusal(page):
    start = trait(page, "w_q")
    spot = cell(page, "w_q", 3, 0)
    spot.focus()
    page.keyboard.type("12")
    page.keyboard.press("Escape")
    page.wait_for_timeout(30)
    assert trait(page, "w_q") == start
    spot.focus()
    page.keyboard.type("7")
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowRight")
    page.keyboard.type("5")
    page.keyboard.press("Enter")
    page.click("text=Undo")
    assert trait(page, "w_q")[3][:2] == [7, 0]
    page.keyboard.press("Control+z")
    page.wait_for_timeout(30)
    assert trait(page, "w_q") == start
    assert page.is_disabled("text=Undo")
    spot.focus()
    page.keyboard.type("4e9")
    page.keyboard.type("x")
    assert page.locator("input[aria-invalid]").count() == 1
    page.keyboard.press("Enter")
    page.wait_for_timeout(500)
    assert trait(page, "w_q") == start
    assert "not a number between" in page.text_content("[role=status]")
    page.check("input[value=cross]")
    page.click("text=Reset")
    assert_all_numbers_equal_cores(page)
    assert trait(page, "mode") == "self"


def test_pointing_lights_the_row_and_the_column_with_the_arithmetic(page):
    cell(page, "q", 2, 0).hover()
    assert title(page) == "Q[an, 0] = 4"
    assert work(page) == "0·0 + 0·0 + 0·2 + 1·4 + 0·0 + 0·0 + 0·0 + 0·2 = 4"
    lit = page.eval_on_selector_all(
        ".qkv-lit",
        "all => all.map(td => [td.closest('[data-matrix]').dataset.matrix,"
        " td.parentElement.sectionRowIndex, td.cellIndex - 1])",
    )
    want = [["x_kv", 2, j] for j in range(8)] + [["w_q", i, 0] for i in range(8)]
    assert sorted(lit) == sorted(want)
    cell(page, "output", 2, 1).hover()
    assert page.locator("[data-matrix=v] .qkv-lit").count() == 5
    assert page.locator("[data-matrix=weights] .qkv-lit").count() == 5
    cell(page, "x_kv", 2, 3).hover()
    assert page.locator(".qkv-use").count() == 10
    # Never by colour alone: a lit band has a border, its names are underlined.
    cell(page, "scores", 0, 1).hover()
    edge = "td => getComputedStyle(td, '::before').borderTopWidth"
    assert float(page.eval_on_selector("[data-matrix=k] .qkv-lit", edge)[:-2]) >= 2
    line = "head => getComputedStyle(head).textDecorationLine"
    assert page.eval_on_selector(".qkv-lit-head", line) == "underline"


def test_with_the_keyboard_alone_from_an_output_number_back_to_x(page):
    page.focus("input[value=self]")
    for _ in range(30):
        page.keyboard.press("Tab")
        if (focused(page) or [""])[0] == "output":
            break
    page.keyboard.press("Control+Home")
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    assert focused(page) == ["output", 2, 1]
    path = [tuple(focused(page))]
    page.keyboard.press("Enter")
    for _ in range(4):
        page.keyboard.press("Enter")  # to the strongest source
        page.keyboard.press("Enter")  # hold it
        path.append(tuple(focused(page)))
    want = [("output", 2, 1), ("weights", 2, 3), ("scores", 2, 3), ("q", 2, 0), ("x_kv", 2, 3)]
    assert path == want
    assert title(page) == "X[an, small] = 1"
    crumbs = page.locator(".qkv-path button").all_inner_texts()
    assert crumbs == ["output[an, 1]", "weights[an, apple]", "scores[an, apple]", "Q[an, 0]"]
    page.keyboard.press("Backspace")
    assert focused(page) == ["q", 2, 0]
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowLeft")  # another number of the lit row
    page.wait_for_timeout(500)
    assert "Enter goes on from here" in page.text_content("[role=status]")
    page.keyboard.press("Escape")
    assert focused(page) == ["output", 2, 1]
    assert page.locator(".qkv-path li, .qkv-let-go").count() == 0


def test_one_tab_stop_a_table(page):
    stops = page.eval_on_selector_all(
        "[data-matrix]",
        "all => all.map(el => el.querySelectorAll('td[tabindex=\"0\"]').length)",
    )
    assert stops == [1] * 10
    cell(page, "w_k", 0, 0).focus()
    page.keyboard.press("End")
    assert focused(page) == ["w_k", 0, 3]
    page.keyboard.press("Control+End")
    assert focused(page) == ["w_k", 7, 3]
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    assert focused(page) == ["w_k", 7, 3]


def test_the_live_region_says_who_looks_at_whom(page):
    cell(page, "weights", 2, 3).focus()
    page.wait_for_timeout(500)
    assert page.text_content("[role=status]") == "query 'an' looks at key 'apple', weight 0.93"


def test_clicks_hold_walk_back_and_let_go(page):
    cell(page, "weights", 2, 3).click()
    cell(page, "output", 0, 0).hover()
    assert title(page).startswith("weights[an, apple]")
    cell(page, "scores", 2, 3).click()
    page.click(".qkv-readout-foot >> text=row apple of K")
    assert title(page) == "K[apple, 0] = 2"
    assert focused(page) == ["k", 3, 0]
    page.click(".qkv-path >> text=scores")
    assert title(page) == "scores[an, apple] = 4"
    page.click("text=Let go")
    assert focused(page) == ["weights", 2, 3]
    cell(page, "w_v", 0, 0).click()
    cell(page, "w_v", 0, 0).click()
    assert page.locator("[data-matrix=w_v] input").count() == 1
    page.keyboard.press("Escape")
    page.click("text=+ 1")
    page.click("text=+ 1")
    assert assert_all_numbers_equal_cores(page).w_v[0, 0] == 3
    page.click("text=Undo")
    page.wait_for_timeout(30)
    assert trait(page, "w_v")[0][0] == 1


@pytest.mark.parametrize("mode", ["self", "cross"])
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_and_nothing_overflows(
    tmp_path, open_page, axe_violations, width, theme, mode
):
    page = open_page(write_page(tmp_path, QKVTracer(mode=mode, mask="causal")), width, theme)
    page.wait_for_selector("figure[data-qkv-state=live]")
    # One state with a path, one with a field open.
    cell(page, "output", 1, 1).focus()
    for _ in range(5):
        page.keyboard.press("Enter")
    assert axe_violations(page) == []
    if mode == "self":
        cell(page, "w_q", 2, 0).focus()
        page.keyboard.type("-x")
        assert axe_violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    inside = page.eval_on_selector_all(
        "[data-matrix]", "all => all.every(el => el.scrollWidth <= el.clientWidth)"
    )
    assert inside
    assert page.evaluate("document.querySelectorAll('.qkv-ui *').length") < 1000


def test_on_a_phone_the_arithmetic_stays_in_sight_and_taps_work(path, open_live):
    page = open_live(path, width=390, has_touch=True, is_mobile=True)
    for name in ("x_kv", "w_q", "scores", "output"):
        spot = cell(page, name, 2, 1)
        spot.focus()
        page.wait_for_timeout(100)
        box, target = page.locator(".qkv-readout").bounding_box(), spot.bounding_box()
        assert box["y"] + box["height"] <= 901
        assert target["y"] + target["height"] <= box["y"]
        assert min(target["width"], target["height"]) >= 24
    cell(page, "weights", 2, 3).tap()
    assert page.locator(".qkv-held").count() == 0
    assert title(page).startswith("weights[an, apple]")
    cell(page, "weights", 2, 3).tap()
    assert page.locator(".qkv-held").count() == 1
    cell(page, "scores", 2, 3).tap()
    assert title(page) == "scores[an, apple] = 4"
    cell(page, "w_q", 3, 0).tap()
    cell(page, "w_q", 3, 0).tap()
    page.keyboard.type("0")
    page.keyboard.press("Enter")
    widget = assert_all_numbers_equal_cores(page)
    np.testing.assert_allclose(widget.weights[2], 0.2, rtol=0, atol=1e-12)


def test_two_figures_on_a_page_are_independent(tmp_path, open_page):
    page = open_page(write_page(tmp_path, QKVTracer(), QKVTracer.head(1)))
    page.locator("[data-qkv-state=live]").nth(1).wait_for()
    second = page.locator("figure").nth(1)
    second.locator("input[value=cross]").check()
    assert page.locator("figure").first.locator("[data-matrix=x_q]").count() == 0
    ids = page.eval_on_selector_all("[id]", "all => all.map(el => el.id)")
    assert len(ids) == len(set(ids))


def test_an_edit_is_painted_within_a_frame(page):
    cell(page, "w_q", 3, 0).focus()
    times = page.evaluate(
        """async () => {
          const model = document.querySelector("figure").qkvModel;
          const times = [];
          for (let i = 0; i < 30; i += 1) {
            const w = structuredClone(model.get("w_q"));
            w[3][0] = i % 7 - 2;
            const start = performance.now();
            model.set("w_q", w);
            await Promise.resolve();
            await Promise.resolve();
            document.body.offsetHeight;
            times.push(performance.now() - start);
          }
          return times.sort((a, b) => a - b);
        }"""
    )
    print(f"\nedit to layout: median {times[15]:.1f} ms, slowest {times[-1]:.1f} ms")
    assert_all_numbers_equal_cores(page)


def test_without_script_the_picture_and_the_tables_stand(tmp_path, open_page, axe_violations):
    page = open_page(
        write_page(tmp_path, QKVTracer(), script=False), 1280, java_script_enabled=False
    )
    assert page.locator(".qkv-poster svg").is_visible()
    page.click("summary")
    tables = page.locator(".qkv-poster table")
    assert tables.count() == 10
    assert tables.last.is_visible()
    assert re.search(r"0\.93", page.inner_text(".qkv-poster"))
