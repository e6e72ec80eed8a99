"""Every image says what it shows.

Without ``mystnb: image: alt`` a figure made by a cell would get its file name, a hash, as its
description, which automatic checkers accept and no reader can use. The description also goes into
the picture's own file, as its title and desc, so that it is not lost when the SVG is taken out of
the page.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.util import logging

if TYPE_CHECKING:
    from sphinx.application import Sphinx

LOGGER = logging.getLogger(__name__)
PICTURES: dict[str, str] = {}
NO_DESCRIPTION = re.compile(r"^\s*$|^\S*[0-9a-f]{16,}\S*$|^\S+\.(png|svg|jpe?g|gif|webp)$")


def check(_app: Sphinx, doctree: nodes.document) -> None:
    """Warn (``-W`` turns it into an error) about each image without a real description."""
    for image in doctree.findall(nodes.image):
        if NO_DESCRIPTION.match(image.get("alt", "")):
            LOGGER.warning(
                "image without alt text; say what it shows (in a cell: `mystnb: image: alt:`)",
                location=image,
                type="qkv",
                subtype="alt",
            )


def described(svg: str, alt: str) -> str:
    """Return a picture that says what it shows: the first sentence as title, all of it as desc."""
    start = re.search(r"<svg\b[^>]*>", svg)
    if start is None or "<desc" in svg:
        return svg
    title = re.split(r"(?<=[.:?!])\s", alt.strip(), maxsplit=1)[0].rstrip(".:")
    tag = start[0][:-1] + ' aria-labelledby="title" aria-describedby="desc">'
    said = f'<title id="title">{escape(title)}</title><desc id="desc">{escape(alt.strip())}</desc>'
    return svg[: start.start()] + tag + said + svg[start.end() :]


def collect(app: Sphinx, doctree: nodes.document, _name: str) -> None:
    """Remember what each picture of a page shows."""
    PICTURES.update({image["uri"]: image.get("alt", "") for image in doctree.findall(nodes.image)})


def describe(app: Sphinx, failed: Exception | None) -> None:
    """Write the descriptions into the copied pictures."""
    for uri, name in () if failed else app.builder.images.items():
        copied = Path(app.outdir, app.builder.imagedir, name)
        if PICTURES.get(uri) and copied.suffix == ".svg":
            text = described(copied.read_text(encoding="utf-8"), PICTURES[uri])
            copied.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Connect."""
    app.connect("doctree-read", check)
    app.connect("doctree-resolved", collect)
    app.connect("build-finished", describe)
