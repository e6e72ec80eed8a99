"""RealHeads in JupyterLab: the kernel sends the heads, and the reader's choice reaches Python."""

import pytest

from qkv.widgets import RealHeads
from qkv.widgets.base import number

pytestmark = [pytest.mark.browser, pytest.mark.slow]
CELLS = [
    "from qkv.widgets import RealHeads\nwidget = RealHeads()\nwidget",
    "import json, pathlib\n"
    "def save(change):\n"
    "    pathlib.Path('heard.json').write_text(json.dumps(widget.head))\n"
    "widget.observe(save, 'head')\nprint('ready')",
]


def test_the_kernel_sends_the_heads(run_in_lab, heard):
    page = run_in_lab(*CELLS)
    page.focus(".qkv-real [data-matrix=heads] [tabindex='0']")
    page.keyboard.press("ArrowUp")
    assert heard(lambda said: said == [1, 9]) == [1, 9]
    page.locator(".qkv-real-wait", has_text="Layer 1, head 9").wait_for(timeout=20_000)
    made = RealHeads(head=[1, 9]).numbers()
    shown = page.locator(".qkv-real [data-matrix=weights] tbody td").all_inner_texts()
    assert shown == [number(100 * x, 0) for x in made["weights"].ravel()]
