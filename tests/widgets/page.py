"""A page like the book's, small: one or more figures, the host, the style, a strict policy."""

import html
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from qkv.widgets.base import BookWidget, static_text

LATER = {  # loaded on a reader's first action
    "patch-attention": "image-model.js",
    "tokens-to-rows": "word-pieces.js",
    "translator-explorer": "translator-weights.js",
    "induction-trace": "two-layers-weights.js",
    "real-heads": "real-heads-data.js",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src data:;"
    " base-uri 'none'"
)


def write_page(
    folder: Path, *widgets: BookWidget, host_first: bool = True, script: bool = True
) -> Path:
    """Write index.html and its scripts; return the page."""
    names = sorted({widget.name for widget in widgets})
    files = ["host.js", *(f"{name}.js" for name in names)]
    later = [LATER[name] for name in names if name in LATER]
    for name in [*files, *later, "widgets.css"]:
        (folder / name).write_text(static_text(name), encoding="utf-8")
    (folder / "page.css").write_text(PAGE_CSS, encoding="utf-8")
    scripts = "".join(
        f'<script defer src="{name}"></script>' for name in (files if host_first else files[::-1])
    )
    policy = POLICY if script else POLICY.replace("script-src 'self'", "script-src 'none'")
    figures = "\n".join(widget.figure_html() for widget in widgets)
    page = folder / "index.html"
    page.write_text(
        f"""<!doctype html>
<html lang="en" data-theme="light"><head><meta charset="utf-8"><title>Widgets</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">
<link rel="icon" href="data:,"><link rel="stylesheet" href="widgets.css">
<link rel="stylesheet" href="page.css">{scripts if script else ""}</head>
<body><main><h1>Two vectors</h1><p>Text before the figure.</p>
{figures}
<p id="after">Text after the figure.</p></main></body></html>
""",
        encoding="utf-8",
    )
    return page


def traits(page, names: Iterable[str]) -> dict[str, Any]:
    """Return what the first figure's model holds."""
    return page.evaluate(
        "names => Object.fromEntries(names.map("
        "name => [name, document.querySelector('figure').qkvModel.get(name)]))",
        list(names),
    )


def set_traits(page, values: dict[str, Any]) -> None:
    """Set traits of the first figure's model, as a kernel would."""
    page.evaluate(
        "values => { const model = document.querySelector('figure').qkvModel;"
        " for (const [name, value] of Object.entries(values)) model.set(name, value) }",
        values,
    )


def small_targets(page, selector: str) -> list:
    """Return the controls that a finger could miss: less than 24 px wide or high."""
    return page.eval_on_selector_all(
        selector,
        "all => all.map(e => [e.outerHTML.slice(0, 60), e.getBoundingClientRect()])"
        ".filter(([, box]) => box.width < 24 || box.height < 24)",
    )


def kept_and_needed(page) -> tuple[float, float]:
    """Return the height kept for the widget and the one that it needs; let go of the first."""
    kept, live = page.evaluate(
        "() => { const e = document.querySelector('.qkv-live');"
        " const kept = parseFloat(e.style.minHeight);"
        " e.style.minHeight = ''; return [kept, e.offsetHeight] }"
    )
    return kept, live


PAGE_CSS = """
html { background: #fff; color: #222; color-scheme: light; }
html[data-theme="dark"] { background: #14181e; color: #ced6dd; color-scheme: dark; }
body { font: 16px/1.6 system-ui, "Liberation Sans", sans-serif; margin: 0; }
main { max-width: 46rem; margin: 0 auto; padding: 1rem; }
"""
