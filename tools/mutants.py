"""Change core in small ways, one at a time, and see whether the tests notice (mutation testing).

    python tools/mutants.py                  # softmax, scaled_dot_product, masks, multi_head
    python tools/mutants.py positions tiled  # other modules of qkv.core
    python tools/mutants.py all              # every one

Prints a table and the survivors' changes. The tool is mutmut, in one process, on a copy of the
sources under _build/mutants; it is installed there too, for nothing else needs it. The tests are
the fast ones of tests/core. What survives is listed and explained in tests/mutation.md.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "_build" / "mutants"
TOOL = FOLDER / "tool"
WORK = FOLDER / "work"
PINS = (
    "mutmut==3.8.1",
    "coverage==7.17.5",
    "libcst==1.9.0",
    "setproctitle==1.3.8",
    "textual==8.2.8",
)
MODULES = ("softmax", "scaled_dot_product", "masks", "multi_head")
TESTS = (
    "test_laws",
    "test_calls",
    "test_error_texts",
    "test_error_texts_of_layers",
    "test_error_names",
    "test_error_axes",
    "test_hostile_calls",
    "test_memory",
)
PROJECT = """\
[tool.pytest.ini_options]
addopts = "--import-mode=importlib -p no:cacheprovider"
pythonpath = [".", "src"]
filterwarnings = ["error", "ignore::DeprecationWarning:mutmut"]
markers = ["slow", "book", "browser"]

[tool.mutmut]
source_paths = ["src"]
only_mutate = {modules}
pytest_add_cli_args_test_selection = {tests}
pytest_add_cli_args = ["-k", "not annotated_shapes"]  # imports core a second time
use_git_change_detection = false
"""


def main(arguments: list[str]) -> int:
    """Run and report; the exit code does not judge."""
    every = sorted(p.stem for p in (ROOT / "src/qkv/core").glob("[a-z]*.py"))
    modules = every if arguments == ["all"] else arguments or list(MODULES)
    if unknown := sorted(set(modules) - set(every)):
        print(f"no module of qkv.core: {', '.join(unknown)}; there are {', '.join(every)}")
        return 2
    prepare(modules)
    begin = time.monotonic()
    mutmut("run", "--max-children", "1", log=True)
    report(modules, time.monotonic() - begin)
    return 0


def prepare(modules: list[str]) -> None:
    """Install the tool, copy sources and tests, write the tool's settings."""
    if not (TOOL / "mutmut").is_dir():
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
        subprocess.run([*install, "--target", str(TOOL), *PINS], check=True)
    shutil.rmtree(WORK, ignore_errors=True)
    dirt = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src/qkv", WORK / "src/qkv", ignore=dirt)
    shutil.copytree(ROOT / "tests/core", WORK / "tests/core", ignore=dirt)
    sources = [f"src/qkv/core/{module}.py" for module in modules]
    tests = [f"tests/core/{test}.py" for test in TESTS]
    (WORK / "pyproject.toml").write_text(
        PROJECT.format(modules=json.dumps(sources), tests=json.dumps(tests)), encoding="utf-8"
    )


def mutmut(*arguments: str, log: bool = False) -> str:
    """Run the tool in the copy and return what it prints; a long run leaves a log instead."""
    path = os.pathsep.join([str(TOOL), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "mutmut", *arguments]
    environment = {**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}
    if not log:
        return subprocess.run(
            command, cwd=WORK, env=environment, check=True, capture_output=True, text=True
        ).stdout
    with (FOLDER / "run.log").open("w") as file:
        code = subprocess.call(command, cwd=WORK, env=environment, stdout=file, stderr=file)
    if code:
        raise SystemExit(f"mutmut ended with {code}; see {FOLDER / 'run.log'}")
    return ""


def report(modules: list[str], seconds: float) -> None:
    """Print one row a module, then what each survivor changed."""
    results = re.findall(r"^\s*(\S+): (.+)$", mutmut("results", "--all", "true"), re.M)
    fates = {name: fate.strip() for name, fate in results}
    print(f"{'module':24}{'mutants':>8}{'killed':>8}{'timeout':>8}{'survived':>9}{'no tests':>9}")
    for module in modules:
        own = Counter(fate for name, fate in fates.items() if f".core.{module}." in name)
        cells = [own.total(), own["killed"], own["timeout"], own["survived"], own["no tests"]]
        print(f"{module:24}" + "".join(f"{n:{w}}" for n, w in zip(cells, (8, 8, 8, 9, 9))))  # noqa: B905
    print(f"{len(fates)} mutants in {seconds:.0f} s, one process")
    for name, fate in fates.items():
        if fate in ("survived", "no tests", "suspicious"):
            changed = re.findall(r"^[-+](?![-+]).*$", mutmut("show", name), re.M)
            print(f"\n{name}: {fate}", *changed, sep="\n")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
