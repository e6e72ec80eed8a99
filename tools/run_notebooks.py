"""Run notebooks, each alone in a fresh kernel, and print how long it took and its peak memory.

    python tools/run_notebooks.py                 notebooks/*.ipynb, in this environment
    python tools/run_notebooks.py --env colab     with Colab's versions (tools/notebook_env.py)
    python tools/run_notebooks.py --env binder    in the reader's environment of .binder/

Where an environment has no torch (for another Python it can mean gigabytes), the cells that name
torch, and those that need what such a cell defined, are left out and counted.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import nbformat
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

ROOT = Path(__file__).resolve().parent.parent
os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # or older kernels print four lines of advice
MEMORY_LIMIT = 1024  # MB; Binder ends a kernel at 2 GB


@dataclass
class Run:
    """What came of one notebook."""

    notebook: nbformat.NotebookNode
    seconds: float
    peak: float
    skipped: int
    error: str = ""

    @property
    def unfriendly(self) -> list[str]:
        """Return the exercise cells that answered with a traceback or not at all."""
        found = []
        for cell in self.notebook.cells:
            tags = cell.metadata.get("tags", [])
            if "exercise-check" not in tags or "left-out" in tags:
                continue
            shown = [o for o in cell.outputs if o.output_type in ("execute_result", "display_data")]
            if not shown or "Traceback" in str(cell.outputs):
                found.append(cell.source)
        return found


class _Kernel(AsyncKernelManager):
    """A kernel of any Python, without a kernel spec on disk."""

    python = sys.executable

    @property
    def kernel_spec(self) -> KernelSpec:
        argv = [self.python, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        argv.append("--log-level=ERROR")  # quiet about what only servers on a network need
        return KernelSpec(argv=argv, display_name="Python 3", language="python")


# Linux's own count begins anew with each program; ru_maxrss begins with the parent's peak.
_PEAK = """
try:
    print(open("/proc/self/status").read().split("VmHWM:")[1].split()[0])
except OSError:
    print(__import__("resource").getrusage(__import__("resource").RUSAGE_SELF).ru_maxrss)
"""


def run(notebook: nbformat.NotebookNode, python: str, folder: Path, torch: bool = True) -> Run:
    """Run a copy of a notebook in `folder`."""
    notebook = nbformat.from_dict(notebook)
    skipped = 0 if torch else leave_out_torch(notebook)
    notebook.cells.append(nbformat.v4.new_code_cell(_PEAK))
    manager = _Kernel()
    manager.python = python
    client = NotebookClient(
        notebook, km=manager, timeout=300, resources={"metadata": {"path": str(folder)}}
    )
    start = time.monotonic()
    error = ""
    try:
        client.execute(cleanup_kc=True)
    except CellExecutionError as failure:
        error = re.sub(r"\x1b\[[\d;]*m", "", str(failure))
    seconds = time.monotonic() - start
    last = notebook.cells.pop()
    peak = float(last.outputs[0].text) / 1024 if last.get("outputs") else 0.0
    return Run(notebook, seconds, peak, skipped, error)


# The engine of qkv.experiments needs no torch; the experiments do.
_EXPERIMENTS = (ROOT / "src" / "qkv" / "experiments").glob("[!_]*.py")
NEED_TORCH = {"torch", "twins", *(p.stem for p in _EXPERIMENTS if "import torch" in p.read_text())}


def leave_out_torch(notebook: nbformat.NotebookNode) -> int:
    """Empty the cells that need torch; return how many."""
    lost = {"torch"}
    count = 0
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        tree = ast.parse(re.sub(r"^[%!].*$", "pass", cell.source, flags=re.MULTILINE))
        names = {
            node.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        }
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
        imported = set().union(*map(_modules, imports))
        if "set-up" in cell.metadata.get("tags", []):
            cell.source = cell.source.replace(', "torch"', "")
        elif imports and len(imports) == len(tree.body):
            kept = [node for node in imports if not _modules(node) & NEED_TORCH]
            lost |= _defined(tree) - _defined(ast.Module(kept, []))
            cell.source = ast.unparse(ast.Module(kept, []))
        elif (names | imported) & (lost | NEED_TORCH):
            lost |= _defined(tree)
            cell.source = ""
            cell.metadata["tags"] = [*cell.metadata.get("tags", []), "left-out"]
            count += 1
        else:
            lost -= _defined(tree)
    return count


def _modules(node: ast.Import | ast.ImportFrom) -> set[str]:
    names = {alias.name for alias in node.names} | {getattr(node, "module", None) or ""}
    return {part for name in names for part in name.split(".")}


def _defined(tree: ast.AST) -> set[str]:
    found = {
        n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {alias.asname or alias.name.split(".")[0] for alias in node.names}
    return found


def has(python: str, module: str) -> bool:
    """Whether a Python can find a module."""
    code = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    return subprocess.run([python, "-c", code], check=False).returncode == 0


def report(paths: list[Path], python: str, folder: Path | None = None) -> bool:
    """Run notebooks and print a table; whether all is well."""
    torch = has(python, "torch")
    print(
        f"{'notebook':32} {'cells':>5} {'seconds':>8} {'peak MB':>8} {'torch cells left out':>21}"
    )
    well = True
    for path in paths:
        done = run(nbformat.read(path, 4), python, folder or path.parent, torch)
        code = sum(cell.cell_type == "code" for cell in done.notebook.cells)
        print(f"{path.name:32} {code:5d} {done.seconds:8.1f} {done.peak:8.0f} {done.skipped:21d}")
        for problem in [done.error, *(f"no friendly sentence: {s}" for s in done.unfriendly)]:
            if problem:
                well = False
                print(problem)
        if done.peak > MEMORY_LIMIT:
            well = False
            print(f"{path.name} needs {done.peak:.0f} MB, more than {MEMORY_LIMIT}")
    return well


def main() -> int:
    """Run the notebooks that the command line names."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("notebooks", nargs="*", type=Path)
    environments = ["this", "colab", "colab-torch", "binder"]
    options.add_argument("--env", choices=environments, default="this")
    options.add_argument("--away", action="store_true", help="run outside the checkout")
    chosen = options.parse_args()
    python = sys.executable
    if chosen.env != "this":
        import notebook_env

        python = str(notebook_env.ready(chosen.env))
    paths = chosen.notebooks or sorted((ROOT / "notebooks").glob("*.ipynb"))
    if not chosen.away:
        return 0 if report(paths, python) else 1
    with tempfile.TemporaryDirectory() as folder:
        return 0 if report(paths, python, Path(folder)) else 1


if __name__ == "__main__":
    sys.exit(main())
