"""A widget's page, opened and alive; a widget in JupyterLab."""

import contextlib
import json
import os

import nbformat
import pytest

from tests.jupyterlab import jupyterlab, run_notebook, wait_until


@pytest.fixture
def open_live(open_page):
    """Open a page from disk as `open_page` does, and wait until its first widget is mounted."""

    def open_(path, width=1280, theme="light", **context):
        page = open_page(path, width, theme, **context)
        page.wait_for_selector("figure[data-qkv-state=live]")
        return page

    return open_


@pytest.fixture
def page(path, open_live):
    """The page of the module's fixture `path`."""
    return open_live(path)


@pytest.fixture
def run_in_lab(tmp_path, chromium):
    """Run cells in a JupyterLab; give the page. The kernel works in `tmp_path`."""
    with contextlib.ExitStack() as stack:

        def run(*cells):
            notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
            notebook.metadata["kernelspec"] = {
                "name": "python3",
                "display_name": "Python 3 (ipykernel)",
                "language": "python",
            }
            nbformat.write(notebook, tmp_path / "try.ipynb")
            address = stack.enter_context(jupyterlab(tmp_path))
            page = chromium.new_page(viewport={"width": 1280, "height": 1000})
            stack.callback(page.close)
            if picture := os.environ.get("QKV_PICTURES"):
                stack.callback(page.screenshot, path=f"{picture}/{tmp_path.name}.png")
            run_notebook(page, f"{address}/lab/tree/try.ipynb", "ready")
            return page

        yield run


@pytest.fixture
def heard(tmp_path):
    """Return what a cell wrote into heard.json, once `right` accepts it."""
    path = tmp_path / "heard.json"

    def wait(right=lambda said: True):
        # A file that is being written is not JSON yet.
        def told():
            with contextlib.suppress(OSError, json.JSONDecodeError):
                return right(json.loads(path.read_text()))
            return False

        wait_until(told, 15, "what the reader did does not reach Python")
        return json.loads(path.read_text())

    return wait
