"""Everything that must hold, quick steps first; stops late, so that one run shows every failure.

    python tools/test_all.py             all steps
    python tools/test_all.py --quick     only those that take seconds
    python tools/test_all.py types book  only the steps with these names

The quick steps run one after the other, the others two at a time. Prints a table of steps with
their seconds and closes with one line, "N passed, N failed".
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
PYTHON = sys.executable
NODE = str(BIN / "node")
PYTEST = [PYTHON, "-m", "pytest", "-q", "--color=no"]
QUICK_PYTEST = "not browser and not book and not slow"


@dataclass
class Step:
    """A command and how long it may take."""

    name: str
    command: list[str]
    quick: bool = False
    minutes: int = 50
    after: str = ""  # the name of a step that must have ended


STEPS = [
    Step("lint", [PYTHON, "-m", "ruff", "check", "."], quick=True),
    Step("types", [PYTHON, "-m", "mypy"], quick=True),
    Step("js types", [NODE, "node_modules/typescript/bin/tsc", "-p", "js/tsconfig.json"], True),
    Step("js tests", [NODE, "--test", "--test-reporter=tap", "js/**/*.test.mjs"], quick=True),
    Step("bundles fresh", [NODE, "tools/bundle.mjs", "--check"], quick=True),
    Step("goldens fresh", [PYTHON, "tools/goldens.py", "--check"], quick=True),
    Step("quick tests", [*PYTEST, "-n", "2", "-m", QUICK_PYTEST], quick=True),
    Step("book", [str(BIN / "jupyter-book"), "build", ".", "-W", "-n", "--keep-going"]),
    Step("browser tests", [*PYTEST, "-m", "browser"]),
    Step("audit", [PYTHON, "tools/audit.py", "--json", "_build/audit.json"], after="book"),
    Step("slow tests", [*PYTEST, "-m", "slow and not browser and not book"]),
    Step("small books", [*PYTEST, "-m", "book and not browser"]),
    Step("notebooks fresh", [PYTHON, "tools/export_notebooks.py", "--check"], after="book"),
]

PROCESSES: list[subprocess.Popen] = []


@dataclass
class Outcome:
    """What came of a step; counts are of tests, or one for a step that is none."""

    step: Step
    code: int
    seconds: float
    output: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0


def run(step: Step) -> Outcome:
    """Run one step in a process group of its own, so that nothing outlives it."""
    start = time.monotonic()
    with tempfile.TemporaryFile("w+", encoding="utf8", errors="replace") as log:
        process = subprocess.Popen(
            step.command,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        PROCESSES.append(process)
        try:
            code = process.wait(timeout=60 * step.minutes)
        except subprocess.TimeoutExpired:
            log.write(f"\nstopped after {step.minutes} minutes\n")
            code = 124
        finally:
            end(process)
        log.seek(0)
        output = log.read()
    if code == 5 and "pytest" in step.command:  # no test of this kind is there
        code = 0
    outcome = Outcome(step, code, time.monotonic() - start, output)
    count(outcome)
    return outcome


def run_all(steps: list[Step]) -> Iterator[Outcome]:
    """Give each outcome as it comes: quick steps one by one, then two steps at a time."""
    for step in [step for step in steps if step.quick]:
        print(f"{step.name} …", flush=True)
        yield run(step)
    waiting = [step for step in steps if not step.quick]
    with ThreadPoolExecutor(2) as pool:
        running: dict[Future[Outcome], Step] = {}
        while waiting or running:
            open_names = {step.name for step in [*waiting, *running.values()]}
            for step in [step for step in waiting if step.after not in open_names]:
                if len(running) < 2:
                    print(f"{step.name} …", flush=True)
                    running[pool.submit(run, step)] = step
                    waiting.remove(step)
            try:
                done = wait(running, return_when=FIRST_COMPLETED).done
            except KeyboardInterrupt:
                for process in PROCESSES:
                    end(process)
                raise
            for future in done:
                del running[future]
                yield future.result()


def end(process: subprocess.Popen) -> None:
    """End what is left of a step's process group."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return
    process.wait()


def count(outcome: Outcome) -> None:
    """Read the counts of pytest or node; any other step counts as one test."""
    summary = outcome.output.strip().splitlines()[-1:] or [""]
    found = dict.fromkeys(("passed", "failed", "skipped", "error"), 0)
    if "pytest" in outcome.step.command:
        pairs = re.findall(r"(\d+) (passed|failed|skipped|error)", summary[0])
    else:
        names = {"pass": "passed", "fail": "failed", "skipped": "skipped"}
        tap = re.findall(r"^# (pass|fail|skipped) (\d+)$", outcome.output, re.MULTILINE)
        pairs = [(number, names[word]) for word, number in tap]
    for number, word in pairs:
        found[word] = int(number)
    outcome.passed, outcome.skipped = found["passed"], found["skipped"]
    outcome.failed = found["failed"] + found["error"]
    if outcome.code and not outcome.failed:
        outcome.failed = 1
    elif not pairs:
        outcome.passed = 1


def main() -> int:
    """Run the steps and print the table."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("names", nargs="*", metavar="step", help="only these; default all")
    options.add_argument("--quick", action="store_true", help="only steps that take seconds")
    chosen = options.parse_args()
    known = {step.name for step in STEPS}
    if unknown := set(chosen.names) - known:
        options.error(
            f"no step {', '.join(sorted(unknown))}; there are: {', '.join(sorted(known))}"
        )
    steps = [step for step in STEPS if not chosen.names or step.name in chosen.names]
    steps = [step for step in steps if step.quick or not chosen.quick]
    start = time.monotonic()
    outcomes = []
    for outcome in run_all(steps):
        outcomes.append(outcome)
        if outcome.code or outcome.step.name in ("audit", "slow tests"):
            print(outcome.output[-12_000:], flush=True)
        verdict = "failed" if outcome.code else "passed"
        print(f"{outcome.step.name}: {verdict}, {outcome.seconds:.0f} s\n", flush=True)
    print(f"{'step':16} {'seconds':>8} {'passed':>7} {'failed':>7} {'skipped':>8}")
    for o in outcomes:
        row = f"{o.step.name:16} {o.seconds:8.0f} {o.passed:7d} {o.failed:7d} {o.skipped:8d}"
        print(row + ("  <- failed" if o.code else ""))
    passed, failed, skipped = (
        sum(getattr(o, name) for o in outcomes) for name in ("passed", "failed", "skipped")
    )
    print(f"\n{time.monotonic() - start:.0f} s\n")
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if any(o.code for o in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
