"""A JupyterLab of the tests' own: started, a notebook opened, all its cells run."""

import contextlib
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
IDLE = ".jp-Notebook-ExecutionIndicator[data-status=idle]"


@contextlib.contextmanager
def jupyterlab(folder: Path) -> Iterator[str]:
    """Serve a folder on loopback, with no settings of anybody's; give the address."""
    pytest.importorskip("jupyterlab", reason="jupyterlab is not installed")
    settings = folder / ".settings" / "@jupyterlab" / "notebook-extension"
    settings.mkdir(parents=True)
    # Cells out of sight are otherwise not in the page.
    (settings / "tracker.jupyterlab-settings").write_text(
        '{"windowingMode": "none", "autoStartDefaultKernel": true}', "utf8"
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    hidden = str(folder / ".settings")
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "src"),
        "JUPYTER_CONFIG_DIR": hidden,
        "JUPYTERLAB_SETTINGS_DIR": hidden,
    }
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"]
    command += ["--IdentityProvider.token=", "--ServerApp.ip=127.0.0.1"]
    command += [f"--ServerApp.port={port}", f"--ServerApp.root_dir={folder}"]
    server = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    address = f"http://127.0.0.1:{port}"
    try:
        wait_until(lambda: answers(f"{address}/api"), 90, "JupyterLab does not answer")
        yield address
    finally:
        server.terminate()
        try:
            server.wait(timeout=30)
        except subprocess.TimeoutExpired:  # a kernel that does not answer holds it up
            server.kill()  # its kernels look for their parent, and end without it
            server.wait()


def answers(address: str) -> bool:
    """Say whether something is served there."""
    with contextlib.suppress(OSError):
        urllib.request.urlopen(address, timeout=2).close()
        return True
    return False


def wait_until(true: Callable[[], bool], seconds: float, sentence: str) -> None:
    """Wait for something to become true, or fail with a sentence."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if true():
            return
        time.sleep(0.1)
    pytest.fail(sentence)


def run_notebook(page, address: str, printed: str) -> None:
    """Open a notebook, run all its cells; wait for what its last cell prints and for a widget.

    JupyterLab may send the cells to a kernel that is not there yet, and they wait for ever; or its
    widget manager misses the start of the kernel, and shows "model not found" for every widget
    there is. A reader reloads the page then, and so does this.
    """
    from playwright.sync_api import TimeoutError

    page.on("dialog", lambda dialog: dialog.accept())  # leave the page without saving
    for _ in range(3):
        with contextlib.suppress(TimeoutError):
            page.goto(address)
            page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=90_000)
            page.wait_for_selector(IDLE, state="attached", timeout=90_000)
            run_all(page)
            page.wait_for_selector(f"pre:has-text({printed!r})", timeout=60_000)
            page.wait_for_selector(IDLE, state="attached", timeout=60_000)
            page.wait_for_selector(".jp-OutputArea .qkv-ui", state="attached", timeout=20_000)
            return
    outputs = page.locator(".jp-Cell-outputArea").all_inner_texts()
    pytest.fail("no widget is shown; the outputs say: " + " | ".join(filter(None, outputs))[:2000])


def run_all(page) -> None:
    """Choose Run All Cells; again if the kernel was not there yet and the request got lost."""
    from playwright.sync_api import TimeoutError

    for _ in range(6):
        with contextlib.suppress(TimeoutError):
            choose_kernel(page)  # the question may come late
            page.click(".lm-MenuBar-itemLabel:text-is('Run')", timeout=10_000)
            page.click(".lm-Menu-itemLabel:text-is('Run All Cells')", timeout=10_000)
            started = ".jp-CodeCell .jp-InputPrompt:text-matches('\\\\[(\\\\*|\\\\d+)\\\\]')"
            page.wait_for_selector(f"{started}, .jp-Dialog", state="attached", timeout=10_000)
            if not choose_kernel(page):
                return
    pytest.fail("Run All Cells does not start")


def choose_kernel(page) -> bool:
    """Where JupyterLab asks for a kernel, take the one that is offered; say whether it asked."""
    if not page.locator(".jp-Dialog").count():
        return False
    page.click(".jp-Dialog button.jp-mod-accept", timeout=10_000)
    page.wait_for_selector(".jp-Dialog", state="detached", timeout=10_000)
    return True
