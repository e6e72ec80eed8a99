"""How much `import qkv` costs beside `import numpy`: the median of interleaved fresh processes.

    python benchmarks/imports.py [--runs 15]

Each process imports one of the two and prints its own CPU time since the import began. The budget
is twice numpy; qkv itself imports numpy.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
PROGRAM = "import time; begin = time.process_time(); import {}; print(time.process_time() - begin)"
HEAVY = ("torch", "matplotlib", "ipywidgets", "anywidget", "jaxtyping")


def main() -> None:
    """Print the two medians, their ratio, and what `import qkv` loaded."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=15)
    runs = parser.parse_args().runs
    seconds: dict[str, list[float]] = {"numpy": [], "qkv": []}
    for _ in range(runs + 1):  # the first round fills the disk's cache and is dropped
        for name, of_one in seconds.items():
            of_one.append(float(fresh_python(PROGRAM.format(name))))
    median = {name: statistics.median(of_one[1:]) for name, of_one in seconds.items()}
    pairs = zip(seconds["qkv"][1:], seconds["numpy"][1:], strict=True)
    ratio = statistics.median(a / b for a, b in pairs)
    for name, value in median.items():
        print(f"import {name:6} {value * 1e3:6.1f} ms (median of {runs})")
    print(f"import qkv costs {ratio:.2f} times import numpy (budget 2)")
    loaded = fresh_python(f"import sys, qkv; print([m for m in {HEAVY} if m in sys.modules])")
    print(f"of {', '.join(HEAVY)} it loads: {loaded.strip()}")


def fresh_python(program: str) -> str:
    """Run a program in an interpreter of its own and return what it prints."""
    return subprocess.run(
        [sys.executable, "-c", program],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    ).stdout


if __name__ == "__main__":
    main()
