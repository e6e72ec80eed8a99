"""Make the environments that readers have, to run the notebooks in: Colab's and Binder's.

    python tools/notebook_env.py colab          Colab's versions, Python 3.12 where there is one
    python tools/notebook_env.py colab-torch    the same and torch, on this book's Python
    python tools/notebook_env.py binder         .binder/requirements.txt, as Binder installs it

They lie in a cache outside the tree ($QKV_CACHE, or ~/.cache/qkv-book), under a name that changes
with what is in them. torch for another Python can mean gigabytes, so `colab` has none and the
runner leaves out the cells that need it; those run in `colab-torch`.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TORCH_CPU = ROOT / ".binder" / "torch.sh"
COLAB = (
    "numpy==2.0.2",
    "matplotlib==3.10.0",
    "ipywidgets==7.7.1",
    "anywidget==0.9.21",
    "ipython==7.34.0",
    "ipykernel==6.17.1",
    "jaxtyping>=0.2.30",
    "setuptools",  # IPython 7 needs it on Python 3.12
)
COLAB_PYTHONS = ("3.12", "3.13", "3.11")  # the first that is found


class NoEnvironmentError(Exception):
    """An environment that cannot be made here; the message says why."""


def pythons(version: str) -> list[str]:
    """Return where a Python of this version may lie."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [shutil.which(f"python{version}") or ""]
    found += [str(path / "bin/python") for path in sorted(pyenv.glob(f"{version}.*"))]
    if ".".join(map(str, sys.version_info[:2])) == version:
        found.append(sys.executable)
    return [path for path in found if path and _runs(path, version)]


def _runs(path: str, version: str) -> bool:
    code = "import sys, venv; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run([path, "-c", code], capture_output=True, text=True, check=False)
    return done.returncode == 0 and done.stdout.strip() == version


def wanted(name: str) -> tuple[str, list[str]]:
    """Return the Python and pip's arguments for an environment."""
    if name == "binder":
        python = (ROOT / ".binder/runtime.txt").read_text("utf8").strip().removeprefix("python-")
        versions, arguments = (python,), ["-r", str(ROOT / ".binder/requirements.txt"), "ipykernel"]
    else:
        versions = ("3.11",) if name == "colab-torch" else COLAB_PYTHONS
        arguments = list(COLAB)
    for version in versions:
        if found := pythons(version):
            return found[0], arguments
    raise NoEnvironmentError(f"none of Python {', '.join(versions)} is on this machine")


def ready(name: str) -> Path:
    """Return the Python of an environment, making it first if it is not there."""
    python, arguments = wanted(name)
    version = subprocess.run([python, "-V"], capture_output=True, text=True, check=True).stdout
    content = "".join(
        Path(argument).read_text("utf8") if argument.startswith("/") else argument
        for argument in [*arguments, *([str(TORCH_CPU)] if name != "colab" else [])]
    )
    digest = hashlib.sha256((version + content).encode()).hexdigest()[:10]
    home = Path(os.environ.get("QKV_CACHE") or Path.home() / ".cache" / "qkv-book")
    folder = home / f"{name}-{digest}"
    inside = folder / "bin" / "python"
    if (folder / "complete").is_file():
        return inside
    print(f"Making the {name} environment in {folder} …", file=sys.stderr, flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([python, "-m", "venv", str(folder)], check=True)
    pip = [str(inside), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*pip, *arguments], capture_output=True, text=True, check=False)
    if name != "colab" and not done.returncode:
        script = ["bash", str(TORCH_CPU)]
        path = {**os.environ, "PYTHON": str(inside)}
        done = subprocess.run(script, env=path, capture_output=True, text=True, check=False)
    if done.returncode:
        shutil.rmtree(folder, ignore_errors=True)
        raise NoEnvironmentError(
            f"pip could not make the {name} environment:\n{done.stderr[-2000:]}"
        )
    (folder / "complete").write_text("", "utf8")
    return inside


def pins(text: str) -> dict[str, str]:
    """Return the exact pins of a requirements file."""
    return dict(re.findall(r"^([A-Za-z0-9_.-]+)==(\S+)", text, re.MULTILINE))


def main() -> int:
    """Make an environment and print its Python."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("name", choices=["colab", "colab-torch", "binder"])
    chosen = options.parse_args()
    try:
        print(ready(chosen.name))
    except NoEnvironmentError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
