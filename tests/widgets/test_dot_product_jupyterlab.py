"""DotProduct in JupyterLab, in a real browser: a key press reaches Python."""

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]
CELLS = [
    "from qkv.widgets import DotProduct\nwidget = DotProduct()\nwidget",
    "import json, pathlib\n"
    "def save(change):\n"
    "    heard = [widget.x.tolist(), str(widget.x.dtype)]\n"
    "    pathlib.Path('heard.json').write_text(json.dumps(heard))\n"
    "widget.observe(save, 'x')\nprint('ready')",
]


def test_a_key_press_in_jupyterlab_reaches_python(run_in_lab, heard):
    page = run_in_lab(*CELLS)
    assert page.locator("figure.qkv-widget").count() == 0  # the live widget, not the poster
    page.focus(".qkv-handle.qkv-arrow-x")
    page.keyboard.press("ArrowRight")
    assert heard() == [[3.1, 1.0], "float64"]
    assert page.inner_text(".qkv-dot-title").endswith("= 5.10")
    # JupyterLab leaves the keys to the widget: no other cell is chosen, none is deleted.
    for key in ("ArrowDown", "ArrowDown", "d", "d"):
        page.keyboard.press(key)
    page.wait_for_timeout(200)
    assert page.inner_text(".qkv-dot-title").endswith("= 4.70")
    assert page.locator(".jp-CodeCell").count() == 2
