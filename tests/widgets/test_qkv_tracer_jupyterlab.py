"""QKVTracer in JupyterLab: what the reader edits is what `widget.w_q` holds."""

import json

import numpy as np
import pytest

import qkv
from tests.widgets import test_jupyterlab
from tests.widgets.test_jupyterlab import lab  # noqa: F401 (a fixture)

pytestmark = [pytest.mark.browser, pytest.mark.slow]
CELLS = [
    "from qkv.widgets import QKVTracer\nwidget = QKVTracer()\nwidget",
    "import json, pathlib\n"
    "def save(change):\n"
    "    heard = [widget.w_q.tolist(), str(widget.w_q.dtype), widget.weights.tolist()]\n"
    "    pathlib.Path('heard.json').write_text(json.dumps(heard))\n"
    "widget.observe(save, 'w_q')\nprint('ready')",
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
            page.wait_for_selector("[data-matrix=w_q], .jp-Dialog", timeout=20_000)
        except TimeoutError:
            continue  # the kernel was not there yet and the request was lost
        if not page.locator(".jp-Dialog").count():
            return
        page.click(".jp-Dialog button.jp-mod-accept")
        page.wait_for_timeout(2000)


def test_an_edit_reaches_python_and_the_keys_stay_with_the_widget(cells, lab, chromium):  # noqa: F811
    address, folder = lab
    page = chromium.new_page(viewport={"width": 1280, "height": 1000})
    try:
        page.goto(f"{address}/lab/tree/try.ipynb")
        page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=60_000)
        page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status=idle]", timeout=60_000)
        run_all(page)
        page.wait_for_selector("text=ready >> nth=-1", timeout=60_000)
        page.locator("[data-matrix=w_q] tbody tr:nth-child(4) td").first.focus()
        for key in ("0", "Enter", "ArrowDown", "ArrowUp", "ArrowRight", "1", "Enter"):
            page.keyboard.press(key)
        heard = folder / "heard.json"
        for _ in range(60):
            if heard.exists() and json.loads(heard.read_text())[0][3][1] == 1:
                break
            page.wait_for_timeout(250)
        w_q, dtype, weights = json.loads(heard.read_text())
        assert dtype == "float64"
        ex = qkv.data.running_example()
        want = np.array(ex.W_Q[0])
        want[3, :2] = 0, 1
        np.testing.assert_array_equal(w_q, want)
        q, k, v = qkv.project_qkv(ex.X_source, ex.X_source, want, ex.W_K[0], ex.W_V[0])
        shown = page.eval_on_selector_all(
            "[data-matrix=weights] tbody td", "all => all.map(td => Number(td.dataset.value))"
        )
        expected = qkv.scaled_dot_product_attention(q, k, v)[1]
        np.testing.assert_allclose(shown, expected.ravel(), rtol=0, atol=1e-12)
        np.testing.assert_allclose(weights, expected, rtol=0, atol=1e-12)
        assert page.locator(".jp-CodeCell").count() == 2
        page.screenshot(path=str(folder / "lab.png"))
    finally:
        page.close()
