"""QKVTracer in JupyterLab: what the reader edits is what `widget.w_q` holds."""

import numpy as np
import pytest

import qkv

pytestmark = [pytest.mark.browser, pytest.mark.slow]
CELLS = [
    "from qkv.widgets import QKVTracer\nwidget = QKVTracer()\nwidget",
    "import json, pathlib\n"
    "def save(change):\n"
    "    heard = [widget.w_q.tolist(), str(widget.w_q.dtype), widget.weights.tolist()]\n"
    "    pathlib.Path('heard.json').write_text(json.dumps(heard))\n"
    "widget.observe(save, 'w_q')\nprint('ready')",
]


def test_an_edit_reaches_python_and_the_keys_stay_with_the_widget(run_in_lab, heard):
    page = run_in_lab(*CELLS)
    page.locator("[data-matrix=w_q] tbody tr:nth-child(4) td").first.focus()
    for key in ("0", "Enter", "ArrowDown", "ArrowUp", "ArrowRight", "1", "Enter"):
        page.keyboard.press(key)
    w_q, dtype, weights = heard(lambda said: said[0][3][1] == 1)
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
