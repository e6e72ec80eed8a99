"""TokensToRows in JupyterLab: the kernel sends the pieces, and the text comes back to Python."""

import pytest

from qkv.widgets import TokensToRows
from qkv.widgets.base import number

pytestmark = [pytest.mark.browser, pytest.mark.slow]
CELLS = [
    "from qkv.widgets import TokensToRows\nwidget = TokensToRows()\nwidget",
    "import json, pathlib\n"
    "def save(change):\n"
    "    pathlib.Path('heard.json').write_text(json.dumps(widget.text))\n"
    "widget.observe(save, 'text')\nprint('ready')",
]


def test_the_kernel_sends_the_pieces(run_in_lab, heard):
    page = run_in_lab(*CELLS)
    page.locator(".qkv-rows input[type=text]").focus()
    page.keyboard.press("End")
    page.keyboard.type(" kangaroos dd")
    page.wait_for_selector(".qkv-rows-tokens button:has-text('kangaroo')", timeout=20_000)
    text = "The bank by the river bank kangaroos dd"
    assert heard(lambda said: said == text) == text
    found = TokensToRows(text=text).numbers()
    assert page.locator(".qkv-rows-tokens b").all_inner_texts() == found["tokens"]
    shown = page.locator(".qkv-rows-X tbody td").all_inner_texts()
    assert shown == [number(x, 3) for x in found["X"].ravel()]
    assert page.locator(".jp-CodeCell").count() == 2  # "d d" deleted no cell
