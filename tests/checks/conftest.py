"""A page with every exercise, built by a small Sphinx app and dressed like the book's."""

import html
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from qkv.checks import get, ids

ROOT = Path(__file__).resolve().parents[2]
CONF = """
import sys
sys.path[:0] = [{ext!r}, {src!r}]
extensions = ["myst_nb", "qkv_book.maths", "qkv_book.exercises"]
html_math_renderer = "qkv"
myst_enable_extensions = ["dollarmath", "amsmath"]
html_theme = "basic"
nb_execution_mode = "off"
"""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src data:;"
    " base-uri 'none'"
)


def build(folder: Path, text: str, builder: str = "html") -> subprocess.CompletedProcess:
    """Build one page with -W; return what Sphinx said."""
    folder.mkdir(parents=True, exist_ok=True)
    conf = CONF.format(ext=str(ROOT / "book" / "_ext"), src=str(ROOT / "src"))
    (folder / "conf.py").write_text(conf, encoding="utf-8")
    (folder / "index.md").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-n", "-b", builder, str(folder)]
    return subprocess.run(
        [*command, str(folder / builder)], capture_output=True, text=True, timeout=120, check=False
    )


# One of each kind and those that the tests take by name: enough where all would tell nothing more.
FEW = (
    "dot_product.sign", "dot_product.row", "dot_product.loop", "projections.entry",
    "projections.count", "projections.twice", "masks.pipeline", "projections.array_shapes",
    "scale.formula", "masks.cheat", "projections.who_looks",
)  # fmt: skip


@pytest.fixture(scope="session")
def built(tmp_path_factory) -> Path:
    """Return the folder of a page with all exercises, as Sphinx writes it."""
    return build_page(tmp_path_factory.mktemp("exercises"), ids())


@pytest.fixture(scope="session")
def dressed(tmp_path_factory) -> Path:
    """Return a page of all exercises that the page judges, as the book shows them."""
    names = [name for name in ids() if get(name).kind != "code"]
    return dress(build_page(tmp_path_factory.mktemp("judged"), names))


@pytest.fixture(scope="session")
def few(tmp_path_factory) -> Path:
    """Return such a page with a few exercises, of every kind."""
    return dress(build_page(tmp_path_factory.mktemp("few"), FEW))


def build_page(folder: Path, names: Iterable[str]) -> Path:
    """Build a page of these exercises into a folder."""
    text = "\n".join(f"```{{exercise}} {name}\n```\n" for name in names)
    done = build(folder, f"# All exercises\n\n{text}")
    assert done.returncode == 0, done.stderr
    return folder


def dress(built: Path) -> Path:
    """Give a built page the book's style, the script and a strict policy."""
    body = re.search(
        r'<div class="body" role="main">(.*?)</section>',
        (built / "html/index.html").read_text(),
        re.S,
    )[1]
    folder = built / "dressed"
    folder.mkdir()
    static = ROOT / "src/qkv/widgets/static"
    katex = (ROOT / "node_modules/katex/dist/katex.min.css").read_text()
    sheets = [(static / "widgets.css").read_text(), re.sub(r"@font-face\{[^}]*\}", "", katex)]
    sheets += [path.read_text() for path in sorted((ROOT / "book/_static/css").glob("*.css"))]
    (folder / "book.css").write_text("\n".join(sheets))
    (folder / "exercises.js").write_text((static / "exercises.js").read_text())
    book = ROOT / "book/_ext/qkv_book/theme/book.js"
    (folder / "book.js").write_text(book.read_text())
    page = folder / "index.html"
    page.write_text(
        f"""<!doctype html>
<html lang="en" data-theme="light"><head><meta charset="utf-8"><title>Exercises</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{html.escape(POLICY)}">
<link rel="icon" href="data:,"><link rel="stylesheet" href="book.css">
<script defer src="book.js"></script><script defer src="exercises.js"></script></head>
<body><main class="main"><article class="article">{body}</section></article></main></body></html>
"""
    )
    return page
