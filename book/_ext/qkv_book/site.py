"""The site around the pages: the root page, the 404 page, the map, the zip; nothing else stays."""

from __future__ import annotations

import re
import shutil
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .pages import content_policy, head_script

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

ZIP = "_static/qkv-book.zip"
# What the theme and others put into _static is dropped, but for the scripts of the search page.
STATIC_KEPT = {
    "book.css", "book.js", "search.js", "favicon.svg", "fonts", "qkv",
    "documentation_options.js", "doctools.js", "sphinx_highlight.js", "searchtools.js",
    "language_data.js",
}  # fmt: skip


def not_found_page(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield the 404 page."""
    pages = [
        (app.env.titles[name].astext(), f"{name}.html")
        for name in app.env.toctree_includes.get(app.config.root_doc, [])
        if name in app.env.titles
    ]
    yield (
        "404",
        {
            "qkv_base": app.config.qkv_address.path,
            "qkv_pages": pages,
            "qkv_csp": content_policy(),
            "qkv_head_script": head_script(),
        },
        "404.html",
    )


def at_the_root(html: str, folder: str) -> str:
    """Rewrite the links of a page of ``folder`` for a copy of it at the root."""

    def moved(match: re.Match[str]) -> str:
        name, url = match[1], match[2]
        if url.startswith("../"):
            url = url[3:]
        elif not re.match(r"[a-z][a-z0-9+.-]*:|//|/|#|$", url, re.I):
            url = f"{folder}/{url}"
        return f'{name}="{url}"'

    html = re.sub(r'\b(href|src|action)="([^"]*)"', moved, html)
    html = re.sub(r'data-fonts="[^"]*"', lambda m: m[0].replace("../", ""), html)
    return html.replace('data-content_root="../"', 'data-content_root="./"')


def write_root_page(out: Path, root_doc: str) -> None:
    """Write ``index.html``: the front page itself, not a redirection."""
    source = out / f"{root_doc}.html"
    folder = Path(root_doc).parent.as_posix()
    if source.exists() and folder not in ("", "."):
        (out / "index.html").write_text(
            at_the_root(source.read_text(encoding="utf-8"), folder), encoding="utf-8"
        )


def write_map(app: Sphinx, out: Path) -> None:
    """Write ``sitemap.xml`` and ``robots.txt`` when the address is known."""
    address = app.config.qkv_address
    for name in ("sitemap.xml", "robots.txt"):
        (out / name).unlink(missing_ok=True)
    if not address.book:
        return
    names = sorted(name for name in app.env.found_docs if (out / f"{name}.html").exists())
    pages = ["" if name == app.config.root_doc else f"{name}.html" for name in names]
    urls = "\n".join(f"  <url><loc>{address.page(page)}</loc></url>" for page in sorted(pages))
    (out / "sitemap.xml").write_text(
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{urls}\n</urlset>\n',
        encoding="utf-8",
    )
    (out / "robots.txt").write_text(
        f"User-agent: *\nAllow: /\nSitemap: {address.page('sitemap.xml')}\n", encoding="utf-8"
    )


def write_zip(out: Path) -> None:
    """Pack the site; the same site gives the same bytes."""
    target = out / ZIP
    target.unlink(missing_ok=True)
    left_out = {".buildinfo", "objects.inv", "404.html", "sitemap.xml", "robots.txt"}
    files = [p for p in sorted(out.rglob("*")) if p.is_file() and p.name not in left_out]
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in files:
            info = zipfile.ZipInfo(f"qkv-book/{path.relative_to(out).as_posix()}")
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            archive.writestr(info, path.read_bytes())


def finish(app: Sphinx, error: Exception | None) -> None:
    """Complete the site."""
    if error is not None or app.builder.format != "html":
        return
    out = Path(app.outdir)
    for entry in (out / "_static").iterdir():
        if entry.name not in STATIC_KEPT:
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    shutil.rmtree(out / "notebooks", ignore_errors=True)
    notebooks = sorted((Path(app.srcdir) / "notebooks").glob("*.ipynb"))
    if notebooks:
        (out / "notebooks").mkdir()
        for notebook in notebooks:
            shutil.copyfile(notebook, out / "notebooks" / notebook.name)
    write_root_page(out, app.config.root_doc)
    write_map(app, out)
    write_zip(out)


def setup(app: Sphinx) -> None:
    """Connect after the assets are in place."""
    app.connect("html-collect-pages", not_found_page)
    app.connect("build-finished", finish, priority=800)
