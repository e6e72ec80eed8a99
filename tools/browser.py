"""Find the Chromium that tests and the audit drive, and start it without calling home."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from env import find_browser

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
ADVICE = (
    "No Chromium was found. Install one (Debian: apt-get install chromium) or set"
    " CHROMIUM=/path/to/it, then run this again."
)


def chromium() -> str:
    """Return the path of a Chromium, or end with a sentence that says what to do."""
    return find_browser() or sys.exit(ADVICE)


if __name__ == "__main__":
    print(chromium())
