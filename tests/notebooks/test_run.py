"""Each notebook alone in a fresh kernel, in this environment and in the readers'."""

import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import nbformat
import pytest

notebook_env = pytest.importorskip("notebook_env", reason="tools/ is not on the path")
import export_notebooks  # noqa: E402
import run_notebooks  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def environment(name: str) -> str:
    """Return the Python of an environment; without the right Python here, skip."""
    try:
        return str(notebook_env.ready(name))
    except notebook_env.NoEnvironmentError as error:
        if str(error).startswith("none of Python"):
            pytest.skip(str(error))
        raise


def setup_cell(wheel: str = "", needs: str = '"numpy", "jaxtyping"') -> str:
    return export_notebooks.SETUP.format(wheel=wheel, needs=needs)


def test_binder_has_the_pins_of_the_book():
    book = notebook_env.pins((ROOT / "requirements.txt").read_text("utf8"))
    binder = notebook_env.pins((ROOT / ".binder/requirements.txt").read_text("utf8"))
    assert binder.items() <= book.items()
    assert f'TORCH="torch=={book["torch"]}"' in (ROOT / ".binder/torch.sh").read_text("utf8")
    assert not binder.keys() & {"jupyter-book", "playwright", "pytest", "onnx", "transformers"}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ["this", "colab", "binder"])
def test_every_notebook_runs_alone(name, capsys):
    assert NOTEBOOKS
    python = sys.executable if name == "this" else environment(name)
    well = run_notebooks.report(NOTEBOOKS, python)
    table = capsys.readouterr().out
    with capsys.disabled():
        print(f"\n{name}\n{table}", end="")
    assert well, table


def test_the_cells_that_need_torch_can_be_left_out():
    cells = ["import numpy as np\nimport torch", "x = torch.ones(2)", "y = x + 1", "z = np.ones(3)"]
    cells += ["x = z", "x + 1", "from qkv.twins import attention\nattention"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    assert run_notebooks.leave_out_torch(notebook) == 3
    left = [cell.source for cell in notebook.cells]
    assert left == ["import numpy as np", "", "", "z = np.ones(3)", "x = z", "x + 1", ""]


def bare(code: str, folder: Path) -> subprocess.CompletedProcess:
    """Run code in a Python that sees nothing installed."""
    command = [sys.executable, "-S", "-c", code]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_away_from_the_book_the_set_up_says_what_to_do(tmp_path):
    done = bare(setup_cell(needs=""), tmp_path)
    assert done.returncode == 1
    assert (
        "ModuleNotFoundError: This notebook needs the book's library, qkv. Open it" in done.stderr
    )


def test_inside_a_checkout_the_set_up_takes_the_checkout(tmp_path):
    (tmp_path / "src/qkv").mkdir(parents=True)
    (tmp_path / "src/qkv/__init__.py").write_text("check = hint = solution = 'this one'", "utf8")
    (tmp_path / "notebooks").mkdir()
    done = bare(f"{setup_cell(needs='')}\nprint(check)", tmp_path / "notebooks")
    assert done.stdout == "this one\n", done.stderr


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_on_colab_the_wheel_is_installed_and_nothing_is_moved(tmp_path):
    colab = environment("colab")
    wheel = build_wheel(tmp_path)
    # A new environment that sees Colab's packages, so that the cached one stays as it is.
    subprocess.run([colab, "-m", "venv", tmp_path / "venv"], check=True)
    python = str(tmp_path / "venv/bin/python")
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    theirs, ours = (
        subprocess.run([p, "-c", where], capture_output=True, text=True, check=True).stdout.strip()
        for p in (colab, python)
    )
    (Path(ours) / "colab.pth").write_text(theirs, "utf8")
    script = setup_cell(str(wheel)) + textwrap.dedent(
        """
        import anywidget, ipywidgets, numpy, qkv
        from qkv.widgets import DotProduct, QKVTracer
        DotProduct(), QKVTracer()
        print(check("dot_product.sign", ...))
        print([numpy.__version__, ipywidgets.__version__, anywidget.__version__])
        print(qkv.__file__)
        """
    )
    done = subprocess.run([python, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "not started" in done.stdout
    assert "['2.0.2', '7.7.1', '0.9.21']" in done.stdout
    assert str(tmp_path / "venv") in done.stdout
    installed = {path.name.split("-")[0] for path in Path(ours).glob("*.dist-info")}
    assert installed <= {"qkv", "pip", "setuptools"}


def build_wheel(folder: Path) -> Path:
    tree = folder / "tree"
    shutil.copytree(ROOT / "src", tree / "src", ignore=shutil.ignore_patterns("*.egg-info"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        if (ROOT / name).is_file():
            shutil.copy(ROOT / name, tree / name)
    pip = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        str(tree),
        "-w",
        str(folder),
    ]
    subprocess.run(pip, check=True)
    return next(folder.glob("qkv-*.whl"))
