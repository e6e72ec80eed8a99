"""Print Lighthouse's mobile scores: the median of five runs on three pages (`make lighthouse`).

Printed, not a gate: the scores for speed depend on the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from urllib.parse import urljoin

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from browser import FLAGS, chromium  # noqa: E402
from serve import serving  # noqa: E402

PAGES = ("book/index.html", "book/02-dot-products.html", "book/05-projections.html")
SCORES = ("performance", "accessibility", "best-practices", "seo")
TIMES = ("first-contentful-paint", "largest-contentful-paint", "total-blocking-time")


def run(address: str) -> dict[str, float]:
    """Run Lighthouse once."""
    node = str(Path(sys.executable).parent / "node")
    command = [node, "node_modules/lighthouse/cli/index.js", address, "--quiet", "--output=json"]
    command += [f"--chrome-flags=--headless {' '.join(FLAGS)}"]
    command += [f"--only-categories={','.join(SCORES)}"]
    environment = {**os.environ, "CHROME_PATH": chromium()}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=180
    )
    if done.returncode:
        sys.exit(f"Lighthouse failed on {address}:\n{done.stderr[-2000:]}")
    result = json.loads(done.stdout)
    scores = {name: 100 * (result["categories"][name]["score"] or 0) for name in SCORES}
    return scores | {name: result["audits"][name]["numericValue"] for name in TIMES}


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--runs", type=int, default=5)
    options.add_argument("--site", type=Path, default=ROOT / "_build" / "html")
    chosen = options.parse_args()
    print(
        f"{'median of ' + str(chosen.runs):28}" + "".join(f"{n[:14]:>16}" for n in SCORES + TIMES)
    )
    with serving(chosen.site) as address:
        for page in PAGES:
            results = [run(urljoin(address, page)) for _ in range(chosen.runs)]
            medians = (statistics.median(r[name] for r in results) for name in SCORES + TIMES)
            print(f"{page:28}" + "".join(f"{value:16.0f}" for value in medians), flush=True)


if __name__ == "__main__":
    main()
