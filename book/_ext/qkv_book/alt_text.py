"""Every image says what it shows.

Without ``mystnb: image: alt`` a figure made by a cell would get its file name, a hash, as its
description, which automatic checkers accept and no reader can use.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.util import logging

if TYPE_CHECKING:
    from sphinx.application import Sphinx

LOGGER = logging.getLogger(__name__)
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


def setup(app: Sphinx) -> None:
    """Connect."""
    app.connect("doctree-read", check)
