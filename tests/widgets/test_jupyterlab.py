"""The widgets in JupyterLab, in a real browser: a key press reaches Python."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import nbformat
import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]
ROOT = Path(__file__).resolve().parents[2]
CELLS = [
    "from qkv.widgets import DotProduct\nwidget = DotProduct()\nwidget",
    "import json, pathlib\n"
    "def save(change):\n"
    "    heard = [widget.x.tolist(), str(widget.x.dtype)]\n"
    "    pathlib.Path('heard.json').write_text(json.dumps(heard))\n"
    "widget.observe(save, 'x')\nprint('ready')",
]


@pytest.fixture
def lab(tmp_path):
    """Start a JupyterLab on loopback; yield its address and the folder it serves."""
    pytest.importorskip("jupyterlab", reason="jupyterlab is not installed")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in CELLS])
    notebook.metadata["kernelspec"] = {
        "name": "python3",
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
    }
    nbformat.write(notebook, tmp_path / "try.ipynb")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = tmp_path / "settings"
    settings.mkdir()
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "src"),
        "JUPYTERLAB_SETTINGS_DIR": str(settings),
        "JUPYTER_CONFIG_DIR": str(settings),
    }
    server = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "jupyterlab",
            "--no-browser",
            "--allow-root",
            "--IdentityProvider.token=",
            f"--ServerApp.port={port}",
            "--ServerApp.ip=127.0.0.1",
            f"--ServerApp.root_dir={tmp_path}",
        ],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(120):
            try:
                urllib.request.urlopen(f"{address}/api", timeout=2).close()
                break
            except OSError:
                time.sleep(0.5)
        yield address, tmp_path
    finally:
        server.terminate()
        server.wait(timeout=30)


def run_all(page):
    """Run every cell; where JupyterLab asks for a kernel first, answer and run again."""
    from playwright.sync_api import TimeoutError

    for _ in range(5):
        page.click(".lm-MenuBar-itemLabel:text-is('Run')")
        page.click(".lm-Menu-itemLabel:text-is('Run All Cells')")
        try:
            page.wait_for_selector(".qkv-dot .qkv-handle, .jp-Dialog", timeout=20_000)
        except TimeoutError:
            continue  # the kernel was not there yet and the request was lost
        if not page.locator(".jp-Dialog").count():
            return
        page.click(".jp-Dialog button.jp-mod-accept")
        page.wait_for_timeout(2000)


def test_a_key_press_in_jupyterlab_reaches_python(lab, chromium):
    address, folder = lab
    page = chromium.new_page(viewport={"width": 1280, "height": 1000})
    try:
        page.goto(f"{address}/lab/tree/try.ipynb")
        page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=60_000)
        page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status=idle]", timeout=60_000)
        run_all(page)
        page.wait_for_selector("text=ready >> nth=-1", timeout=60_000)
        assert page.locator("figure.qkv-widget").count() == 0  # the live widget, not the poster
        page.focus(".qkv-handle.qkv-arrow-x")
        page.keyboard.press("ArrowRight")
        heard = folder / "heard.json"
        for _ in range(60):
            if heard.exists():
                break
            page.wait_for_timeout(250)
        assert json.loads(heard.read_text()) == [[3.1, 1.0], "float64"]
        assert page.inner_text(".qkv-dot-title").endswith("= 5.10")
        # JupyterLab leaves the keys to the widget: no other cell is chosen, none is deleted.
        for key in ("ArrowDown", "ArrowDown", "d", "d"):
            page.keyboard.press(key)
        page.wait_for_timeout(200)
        assert page.inner_text(".qkv-dot-title").endswith("= 4.70")
        assert page.locator(".jp-CodeCell").count() == 2
    finally:
        if picture := os.environ.get("QKV_PICTURES"):
            page.screenshot(path=f"{picture}/jupyterlab.png")
        page.close()
