"""Cells run against the sources of this checkout, with the Python that runs the build.

Jupyter's cache knows a page's cells but not the library they call, and Sphinx does not even read a
page again when only the library changed. The cache therefore lives in a folder named by a hash of
``src/``: another state of the library is another cache, and the changed setting makes Sphinx read
every page again.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.config import Config

STATES_KEPT = 3

# The built scripts are copied into the site, no cell's output depends on them.
IGNORED_PARTS = {"__pycache__", "static"}

KERNEL_CONFIG = """\
c = get_config()
c.InlineBackend.figure_formats = ["svg"]
c.InlineBackend.print_figure_kwargs = {"bbox_inches": "tight", "metadata": {"Date": None}}
c.InlineBackend.rc = {"svg.hashsalt": "qkv", "savefig.transparent": True}
c.HistoryManager.enabled = False
"""


def state_of_sources(root: Path) -> str:
    """Return a short hash of everything a cell's output depends on besides the page."""
    digest = hashlib.sha256()
    files = sorted(path for path in (root / "src").rglob("*") if path.is_file())
    for path in [*files, root / "requirements.txt", root / "constraints.txt", Path(__file__)]:
        relative = path.relative_to(root) if path.is_relative_to(root) else Path(path.name)
        if not path.exists() or IGNORED_PARTS.intersection(relative.parts):
            continue
        if any(part.endswith(".egg-info") for part in relative.parts):
            continue
        digest.update(relative.as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def choose_cache(app: Sphinx, config: Config) -> None:
    """Point the execution cache at the folder of this state and forget old states."""
    caches = Path(app.outdir).parent / ".jupyter_cache"
    cache = caches / state_of_sources(Path(app.srcdir))
    cache.mkdir(parents=True, exist_ok=True)
    cache.touch()
    states = sorted((p for p in caches.iterdir() if p.is_dir()), key=lambda p: p.stat().st_mtime)
    for old in states[:-STATES_KEPT]:
        shutil.rmtree(old, ignore_errors=True)
    config.nb_execution_cache_path = str(cache)


def prepare_kernel(app: Sphinx, _config: Config) -> None:
    """Give the kernel this environment, this checkout's ``src`` and figures without dates."""
    home = Path(app.outdir).parent / ".kernel"
    profile = home / "ipython" / "profile_default"
    profile.mkdir(parents=True, exist_ok=True)
    (profile / "ipython_kernel_config.py").write_text(KERNEL_CONFIG, encoding="utf-8")
    sources = str(Path(app.srcdir) / "src")
    paths = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p and p != sources]
    os.environ.update(
        IPYTHONDIR=str(home / "ipython"),
        MPLCONFIGDIR=str(home / "matplotlib"),
        JUPYTER_PREFER_ENV_PATH="1",
        PYTHONPATH=os.pathsep.join([sources, *paths]),
        PYTHONHASHSEED="0",
        PYDEVD_DISABLE_FILE_VALIDATION="1",
    )


def setup(app: Sphinx) -> None:
    """Connect; both must run before myst-nb reads its settings."""
    app.connect("config-inited", choose_cache)
    app.connect("config-inited", prepare_kernel)
