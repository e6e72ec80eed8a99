"""ScaleLab in a real Chromium, from disk, under the strict policy."""

import pytest

from qkv.widgets import ScaleLab
from tests.widgets.page import kept_and_needed, set_traits, small_targets, traits, write_page

pytestmark = pytest.mark.browser
NAMES = ("predicted", "spread", "largest", "uniform", "slope")


@pytest.fixture
def path(tmp_path):
    return write_page(tmp_path, ScaleLab())


def state(page):
    return traits(page, ["d_k", "n_k", "factor", "seed"])


def assert_numbers_equal_cores(page):
    page.wait_for_timeout(60)
    made = ScaleLab(**state(page)).numbers()
    shown = page.eval_on_selector_all(".qkv-scale-numbers b", "all => all.map(b => b.textContent)")
    for name, text in zip(NAMES, shown, strict=True):
        digits = len(text.partition(".")[2])
        assert float(text) == pytest.approx(made[name], rel=0, abs=0.51 * 10**-digits), name
    heights = page.eval_on_selector_all(
        ".qkv-scale-panel >> nth=1 >> rect", "all => all.map(r => Number(r.getAttribute('height')))"
    )
    assert heights[: len(made["ranked"])] == pytest.approx(150 * made["ranked"], abs=1e-6)
    assert not any(heights[len(made["ranked"]) :])


def test_start_to_end_by_keyboard(page):
    assert_numbers_equal_cores(page)
    page.focus(".qkv-scale .qkv-strip input:checked")
    page.keyboard.press("ArrowRight")
    assert state(page)["factor"] == "sqrt"
    assert_numbers_equal_cores(page)
    page.get_by_label("Key width d_k").focus()
    page.keyboard.press("End")
    assert state(page)["d_k"] == 1024
    assert_numbers_equal_cores(page)
    page.keyboard.press("Home")
    assert state(page)["d_k"] == 1
    assert_numbers_equal_cores(page)
    page.get_by_label("Keys n_k").focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert state(page)["n_k"] == 4
    assert_numbers_equal_cores(page)
    page.get_by_role("button", name="New numbers").focus()
    page.keyboard.press("Enter")
    assert state(page)["seed"] == 1
    assert_numbers_equal_cores(page)
    page.keyboard.press("Control+z")
    assert state(page)["seed"] == 0
    page.get_by_role("button", name="Reset").focus()
    page.keyboard.press("Enter")
    assert state(page) == {"d_k": 64, "n_k": 16, "factor": "none", "seed": 0}
    assert_numbers_equal_cores(page)


def test_what_changed_is_said(page):
    page.focus(".qkv-scale .qkv-strip input:checked")
    page.keyboard.press("ArrowRight")
    page.wait_for_timeout(500)
    said = page.text_content("[role=status]")
    assert "width 64, 16 keys" in said
    assert f"{ScaleLab(factor='sqrt').numbers()['largest']:.3f}" in said


def test_a_width_between_two_stops_from_python_is_shown(path, open_page, tmp_path):
    page = open_page(write_page(tmp_path, ScaleLab(d_k=96, n_k=3, factor="d")))
    page.wait_for_selector("figure[data-qkv-state=live]")
    assert_numbers_equal_cores(page)
    assert "96" in page.inner_text(".qkv-scale-sliders output >> nth=0")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390, 320])
def test_no_overflow_no_axe_violation_and_targets_are_large(
    path, open_live, axe_violations, width, theme
):
    page = open_live(path, width=width, theme=theme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert axe_violations(page) == []
    assert small_targets(page, ".qkv-live :is(button, input)") == []


@pytest.mark.parametrize("width", [1280, 390])
def test_mounting_moves_nothing_and_the_height_stays(path, open_live, width):
    page = open_live(path, width=width)
    kept, live = kept_and_needed(page)
    assert 0 <= kept - live <= 26
    heights = {live}
    for values in [(1, 2, "none"), (1024, 256, "d"), (512, 16, "sqrt")]:
        set_traits(page, dict(zip(("d_k", "n_k", "factor"), values, strict=True)))
        assert_numbers_equal_cores(page)
        heights.add(page.evaluate("document.querySelector('.qkv-live').offsetHeight"))
    assert len(heights) == 1, heights


def test_without_javascript_the_table_stands_there(path, open_page):
    page = open_page(path, width=390, java_script_enabled=False)
    assert page.is_visible(".qkv-poster svg")
