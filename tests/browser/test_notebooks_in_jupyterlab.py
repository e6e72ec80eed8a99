"""The committed notebooks in JupyterLab: run all, edit a widget by key, and Python has it."""

import json
import os

import nbformat
import numpy as np
import pytest

import qkv
from qkv.widgets import DotProduct, QKVTracer
from tests.jupyterlab import ROOT, jupyterlab, run_notebook, wait_until

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(300)]

# Added to a copy of the notebook, as its last cell: it reports what the newest widget of the kind
# holds in Python.
LISTEN = """
import json, os
from ipywidgets.widgets.widget import _instances
from qkv.widgets import {kind}
widget = [thing for thing in _instances.values() if isinstance(thing, {kind})][-1]
def report(change=None):
    with open("part.json", "w") as file:
        json.dump({{name: getattr(widget, name).tolist() for name in {names}}}, file)
    os.replace("part.json", "held.json")
widget.observe(report)
report()
print("all cells " + "ran")
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """Start one JupyterLab; yield its address and its folder."""
    folder = tmp_path_factory.mktemp("lab")
    with jupyterlab(folder) as address:
        yield address, folder


@pytest.fixture
def open_notebook(lab, chromium):
    address, folder = lab
    pages = []

    def open_(name, kind, names):
        notebook = nbformat.read(ROOT / "notebooks" / name, 4)
        notebook.cells.append(nbformat.v4.new_code_cell(LISTEN.format(kind=kind, names=names)))
        nbformat.write(notebook, folder / name)
        page = chromium.new_page(viewport={"width": 1400, "height": 1000})
        pages.append(page)
        # A workspace of its own, so that one test's open files are not another's.
        run_notebook(
            page, f"{address}/lab/workspaces/{kind}/tree/{name}?reset", printed="all cells ran"
        )
        return page

    yield open_
    for page in pages:
        if pictures := os.environ.get("QKV_PICTURES"):
            page.screenshot(path=f"{pictures}/jupyterlab-{len(os.listdir(pictures))}.png")
        page.close()


def held(lab):
    return {
        name: np.array(value)
        for name, value in json.loads((lab[1] / "held.json").read_text()).items()
    }


def test_qkv_tracer_in_the_notebook_of_chapter_5(open_notebook, lab):
    page = open_notebook("05-projections.ipynb", "QKVTracer", ["w_q", "w_k", "w_v", "weights"])
    before = held(lab)
    errors = page.locator("[data-mime-type='application/vnd.jupyter.stderr']").all_inner_texts()
    assert not errors
    widget = page.locator(".qkv-live, .jp-OutputArea-output").filter(
        has=page.locator("[data-matrix=w_q]")
    )
    cell = widget.last.locator("[data-matrix=w_q] tbody tr:nth-child(4) td").first
    cell.scroll_into_view_if_needed()
    cell.focus()
    page.keyboard.type("-1.5")
    page.keyboard.press("Enter")
    wait_until(lambda: held(lab)["w_q"][3, 0] == -1.5, 30, "the edit does not reach widget.w_q")
    want = before["w_q"].copy()
    want[3, 0] = -1.5
    after = held(lab)
    np.testing.assert_array_equal(after["w_q"], want)
    shown = widget.last.locator("[data-matrix=weights] tbody td").evaluate_all(
        "all => all.map(td => Number(td.dataset.value))"
    )
    np.testing.assert_allclose(shown, after["weights"].ravel(), rtol=0, atol=1e-12)
    ex = qkv.data.running_example()
    core = QKVTracer(w_q=want, w_k=after["w_k"], w_v=after["w_v"]).weights
    assert core.shape == (len(ex.tokens_source),) * 2
    np.testing.assert_allclose(after["weights"], core, rtol=0, atol=1e-12)


def test_dot_product_in_the_notebook_of_chapter_2(open_notebook, lab):
    page = open_notebook("02-dot-products.ipynb", "DotProduct", ["x", "y"])
    before = held(lab)
    handle = page.locator(".qkv-handle.qkv-arrow-y").last
    handle.scroll_into_view_if_needed()
    handle.focus()
    page.keyboard.press("ArrowRight")
    wait_until(lambda: held(lab)["y"][0] > before["y"][0], 30, "the key does not reach widget.y")
    after = held(lab)
    np.testing.assert_array_equal(after["x"], before["x"])
    product = DotProduct(x=after["x"], y=after["y"]).numbers()["dot product"]
    title = page.locator(".qkv-dot-title b").last.inner_text()
    assert float(title.replace("\u2212", "-")) == pytest.approx(product, abs=0.005)
