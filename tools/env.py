"""Make the place the book is built in: ``.venv``, ``node_modules``, a browser for the tests.

Needs Python 3.11 or later (``tools/find_python.sh`` found it) and nothing else: node comes from a
Python wheel. Every failure ends in a sentence that says what to do.
"""

import argparse
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = BIN / ("python.exe" if os.name == "nt" else "python")


def fail(sentence: str) -> None:
    """End with one sentence."""
    sys.exit(f"\n{sentence}\n")


def run(*command: object, quiet: bool = False) -> bool:
    """Run a command in the root; return whether it succeeded."""
    output = subprocess.DEVNULL if quiet else None
    words = [str(word) for word in command]
    return subprocess.run(words, cwd=ROOT, stdout=output, stderr=output).returncode == 0


def make_venv() -> None:
    """Create ``.venv`` and install everything at its pinned version."""
    if not PYTHON.exists():
        print("Making .venv …", flush=True)
        try:
            venv.create(VENV, with_pip=True)
        except (Exception, SystemExit):
            shutil.rmtree(VENV, ignore_errors=True)
            fail(
                "Python could not make a virtual environment.\n"
                "On Debian or Ubuntu: apt-get install python3-venv"
            )
    pip = (PYTHON, "-m", "pip", "install", "--disable-pip-version-check", "--quiet")
    print("Installing the packages of requirements.txt (some minutes the first time) …", flush=True)
    if not run(*pip, "-r", "requirements.txt"):
        fail(
            "pip could not install requirements.txt; the lines above say why.\n"
            "On Linux without a graphics card the CPU build of torch saves gigabytes; README.md "
            "has the one line for it."
        )
    if not run(*pip, "--no-deps", "--editable", "."):
        fail("pip could not install the library from this folder; the lines above say why.")


def make_node_modules() -> None:
    """Install the npm packages with the npm of the node wheel."""
    print("Installing the npm packages …", flush=True)
    if not run(BIN / "npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"):
        fail("npm could not install the packages of package-lock.json; the lines above say why.")


def find_browser() -> str:
    """Return a Chromium: $CHROMIUM, one of the system, playwright's own, or nothing."""
    asked = os.environ.get("CHROMIUM", "")
    if asked:
        return shutil.which(asked) or fail(f"CHROMIUM is set to {asked!r}, which is no program.")
    for name in ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"):
        if shutil.which(name):
            return shutil.which(name)
    code = (
        "from playwright.sync_api import sync_playwright as s\n"
        "with s() as p: print(p.chromium.executable_path)"
    )
    asked = subprocess.run([PYTHON, "-c", code], capture_output=True, text=True)
    path = asked.stdout.strip()
    return path if asked.returncode == 0 and Path(path).exists() else ""


def make_browser() -> None:
    """Find or install a Chromium; without one the book still builds."""
    found = find_browser()
    if not found and run(PYTHON, "-m", "playwright", "install", "chromium"):
        found = find_browser()
    if found:
        print(f"Browser for the tests: {found}")
    else:
        print(
            "No Chromium was found and none could be downloaded. The book builds without it, but "
            "`make test` and\n`make audit` need one: install it (Debian: apt-get install chromium) "
            "or set CHROMIUM=/path/to/it."
        )


def main() -> None:
    """Do the parts that the Makefile asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=["python", "node", "browser"])
    {"python": make_venv, "node": make_node_modules, "browser": make_browser}[
        parser.parse_args().part
    ]()


if __name__ == "__main__":
    main()
