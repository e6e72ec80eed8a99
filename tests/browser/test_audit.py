"""The audit finds what it claims to find: each fault is planted in a page of its own."""

import asyncio
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]
ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests")]

GOOD = """<!doctype html><html lang="en" data-theme="light">
<head><meta charset="utf-8"><title>Page</title>
<meta name="viewport" content="width=device-width"><link rel="icon" href="icon.svg">
<link rel="stylesheet" href="style.css">{head}</head>
<body><main><h1>A page</h1>{body}</main></body></html>"""

FAULTS = {
    "blocking": {"head": '<script src="a.js"></script>'},
    "external": {"body": '<img alt="a far picture" src="http://127.0.0.1:9/x.png">'},
    "csp": {
        "head": '<meta http-equiv="Content-Security-Policy" content="script-src \'self\'">',
        "body": "<script>1</script>",
    },
    "console": {"body": "<script>console.error('no')</script>"},
    "axe": {"body": '<button style="width:40px;height:40px"></button>'},
    "overflow": {"body": '<div style="width:3000px">wide</div>'},
    "cut formulas": {
        "body": '<div style="overflow:hidden"><span class="katex-display"><span class="katex-html">'
        '<span class="base" style="display:inline-block;width:900px">x</span></span></span></div>'
    },
    "no alt": {"body": '<img src="icon.svg" alt="9f86d081884c7d659a2feaa0c55ad015a3bf4f1b">'},
    "dead links": {"body": '<a href="good.html#nowhere">a link</a>'},
    "widgets": {"body": '<figure data-qkv-widget="unknown" data-qkv-state="live">a</figure>'},
    "elements": {"body": "<p>" + "<b>.</b>" * 6001 + "</p>"},
    "kB": {"head": '<script defer src="heavy.js"></script>'},
    "shift": {
        "body": f'<p id="up"></p><pre>{"moved text <br>" * 30}</pre><script>'
        "requestAnimationFrame(() => setTimeout(() => {"
        " document.getElementById('up').style.height = '400px' }, 10))</script>"
    },
    "requests": {"body": "".join(f'<img alt="one of many" src="icon.svg?{n}">' for n in range(30))},
}
# A formula that a finger and a key can scroll, a decoration beside its words, a link that exists.
FINE = (
    '<div style="overflow-x:auto" tabindex="0" role="group" aria-label="a formula">'
    '<span class="katex-display"><span class="katex-html">'
    '<span class="base" style="display:inline-block;width:900px">x</span></span></span></div>'
    '<a href="good.html#here"><img alt="" src="icon.svg" width="9" height="9"> home</a>'
    '<p id="here">here</p>'
)


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    import audit

    folder = tmp_path_factory.mktemp("site")
    (folder / "style.css").write_text("body { margin: 20px; background: white; color: black }")
    (folder / "icon.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'
    )
    (folder / "a.js").write_text("")
    (folder / "heavy.js").write_text(f"/* {random.Random(0).randbytes(200_000).hex()} */")
    pages = {"good": {"body": FINE}} | {name.replace(" ", "-"): f for name, f in FAULTS.items()}
    for name, parts in pages.items():
        (folder / f"{name}.html").write_text(
            GOOD.format(**{"head": "", "body": ""} | parts), "utf8"
        )
    said = []
    with ThreadPoolExecutor() as thread:  # the main thread has playwright's loop in a whole run
        found = thread.submit(asyncio.run, audit.audit(folder, [], said.append)).result()
    assert "page" in said[0]
    return {report.page: report for report in found}


def test_a_good_page_breaks_no_limit(reports):
    assert reports["good.html"].broken == [], reports["good.html"].details


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(reports, fault):
    report = reports[f"{fault.replace(' ', '-')}.html"]
    assert fault in report.broken, report.numbers


def test_figures_that_are_no_widget_of_ours_have_no_test(reports):
    assert "has no test for the widget unknown" in reports["widgets.html"].details["widgets"][0]
