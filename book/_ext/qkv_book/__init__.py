"""The Sphinx extension of this book: everything that Jupyter Book cannot do by itself.

One module, one job:

==============  ===============================================================
address         where the book and its repository live, if anybody said so
alt_text        refuses images without a real description; writes it into the SVG too
api             the library's pages, written from the docstrings
assets          the one stylesheet, the fonts it needs, the scripts
execution       runs cells against the sources of this checkout; each state has its own cache
macros          the table of maths macros, shared with the notebook exporter
maths           formulas, rendered at build time by KaTeX
pages           what a page needs: its scripts, its security policy, its accessible markup
site            the root page, the 404 page, the map, the zip
strict          a failed build fails again until it is cured
exercises       the ``exercise`` directive
==============  ===============================================================
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

MODULES = (
    "execution", "maths", "alt_text", "pages", "assets", "site", "strict", "exercises", "api",
)  # fmt: skip


def setup(app: Sphinx) -> dict[str, object]:
    """Let each module connect itself."""
    # Jupyter Book always sets this; the extension it belongs to is not loaded (see _config.yml).
    app.add_config_value("comments_config", {}, "")
    for name in MODULES:
        if find_spec(f"{__name__}.{name}"):
            import_module(f"{__name__}.{name}").setup(app)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": False}
