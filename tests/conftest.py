"""One Chromium for all browser tests: two of playwright's cannot live in one process."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
AXE = ROOT / "node_modules/axe-core/axe.min.js"


@pytest.fixture(scope="session")
def chromium() -> Iterator:
    """Yield a running Chromium, the one that tools/browser.py finds."""
    import browser
    from playwright.sync_api import sync_playwright

    with sync_playwright() as running:
        opened = running.chromium.launch(executable_path=browser.chromium(), args=browser.FLAGS)
        yield opened
        opened.close()


@pytest.fixture
def open_page(chromium):
    """Open a page from disk; at the end nothing may stand in its console."""
    contexts, complaints = [], []

    def open_(path: Path, width: int = 1280, theme: str = "light", **context):
        contexts.append(chromium.new_context(viewport={"width": width, "height": 900}, **context))
        page = contexts[-1].new_page()
        page.on(
            "console",
            lambda message: (
                complaints.append(message.text) if message.type in ("error", "warning") else None
            ),
        )
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "request",
            lambda request: (
                complaints.append(f"left the page: {request.url}")
                if not request.url.startswith(("file:", "data:"))
                else None
            ),
        )
        page.goto(path.as_uri())
        if context.get("java_script_enabled", True):
            page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture
def axe_violations():
    """Return a function that runs axe on a page and returns its violations as short lines."""

    def run(page) -> list[str]:
        # Injected by the debugger's protocol, which the page's policy does not concern.
        page.evaluate(AXE.read_text(encoding="utf-8") + "; undefined")
        found = page.evaluate(
            "() => axe.run({preload: false, runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa',"
            " 'wcag22aa', 'best-practice']}).then(result => result.violations)"
        )
        return [
            f"{violation['id']}: {node['html'][:120]} {node.get('failureSummary', '')}"
            for violation in found
            for node in violation["nodes"]
        ]

    return run
