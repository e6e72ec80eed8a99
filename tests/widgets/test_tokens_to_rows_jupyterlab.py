"""TokensToRows in JupyterLab: the kernel sends the pieces, and the text comes back to Python."""

import json

import pytest

from qkv.widgets import TokensToRows
from qkv.widgets.base import number
from tests.widgets import test_jupyterlab
from tests.widgets.test_jupyterlab import lab  # noqa: F401 (a fixture)

pytestmark = [pytest.mark.browser, pytest.mark.slow]
CELLS = [
    "from qkv.widgets import TokensToRows\nwidget = TokensToRows()\nwidget",
    "import json, pathlib\n"
    "def save(change):\n"
    "    pathlib.Path('heard.json').write_text(json.dumps(widget.text))\n"
    "widget.observe(save, 'text')\nprint('ready')",
]


@pytest.fixture
def cells(monkeypatch):
    monkeypatch.setattr(test_jupyterlab, "CELLS", CELLS)


def run_all(page):
    from playwright.sync_api import TimeoutError

    for _ in range(5):
        page.click(".lm-MenuBar-itemLabel:text-is('Run')")
        page.click(".lm-Menu-itemLabel:text-is('Run All Cells')")
        try:
            page.wait_for_selector(".qkv-rows-tokens button, .jp-Dialog", timeout=20_000)
        except TimeoutError:
            continue  # the kernel was not there yet and the request was lost
        if not page.locator(".jp-Dialog").count():
            return
        page.click(".jp-Dialog button.jp-mod-accept")
        page.wait_for_timeout(2000)


def test_the_kernel_sends_the_pieces(cells, lab, chromium):  # noqa: F811
    address, folder = lab
    page = chromium.new_page(viewport={"width": 1280, "height": 1000})
    try:
        page.goto(f"{address}/lab/tree/try.ipynb")
        page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=60_000)
        page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status=idle]", timeout=60_000)
        run_all(page)
        page.wait_for_selector("text=ready >> nth=-1", timeout=60_000)
        page.locator(".qkv-rows input[type=text]").focus()
        page.keyboard.press("End")
        page.keyboard.type(" kangaroos dd")
        page.wait_for_selector(".qkv-rows-tokens button:has-text('kangaroo')", timeout=20_000)
        text = "The bank by the river bank kangaroos dd"
        for _ in range(60):
            heard = folder / "heard.json"
            if heard.exists() and heard.read_text() == json.dumps(text):
                break
            page.wait_for_timeout(250)
        assert json.loads(heard.read_text()) == text
        found = TokensToRows(text=text).numbers()
        assert page.locator(".qkv-rows-tokens b").all_inner_texts() == found["tokens"]
        shown = page.locator(".qkv-rows-X tbody td").all_inner_texts()
        assert shown == [number(x, 3) for x in found["X"].ravel()]
        assert page.locator(".jp-CodeCell").count() == 2  # "d d" deleted no cell
    finally:
        page.close()
