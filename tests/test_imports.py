"""The rules of the house: what imports what, which names are used, how large a function may be."""

import ast
import inspect
import io
import os
import subprocess
import sys
import textwrap
import tokenize
import tomllib
from pathlib import Path

import pytest

import qkv

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "qkv"
MODULES = sorted(SOURCE.rglob("*.py"))

# Which folders of qkv a folder may import. `qkv` itself stands for the public names, core's.
MAY_IMPORT = {
    "": {"core"},
    "core": {"core"},
    "data": {"core", "data"},
    "checks": {"core", "checks", "data"},
    "figures": {"core", "figures", "data"},
    "widgets": {"core", "widgets", "data"},
    "twins": {"core", "twins"},
    "experiments": {"core", "twins", "experiments", "data"},
}
# Packages that a folder must not load when it is imported (inside a function they are allowed).
NEVER_AT_IMPORT = {
    "": {"torch", "matplotlib", "ipywidgets", "anywidget"},
    "core": {"torch", "matplotlib", "ipywidgets", "anywidget", "scipy"},
    "data": {"torch", "matplotlib", "ipywidgets", "anywidget"},
    "checks": {"torch", "matplotlib", "ipywidgets", "anywidget"},
    "figures": {"torch", "ipywidgets", "anywidget"},
    "widgets": {"torch", "matplotlib"},
}
RIVAL_NAMES = {
    "num_heads": "n_heads",
    "n_head": "n_heads",
    "nhead": "n_heads",
    "attn": "weights",
    "attn_mask": "mask",
    "attention_mask": "mask",
    "attn_weights": "weights",
    "attention_weights": "weights",
    "hidden_size": "d_model",
    "embed_dim": "d_model",
    "hidden_dim": "d_model",
    "dim_model": "d_model",
    "head_dim": "d_k",
    "seq_len": "n",
    "wq": "W_Q",
    "wk": "W_K",
    "wv": "W_V",
    "wo": "W_O",
}
LARGEST_FUNCTION = 15  # lines of code, without docstring, comments and the signature
MOST_PARAMETERS = 5


def folder(path):
    parts = path.relative_to(SOURCE).parts
    return parts[0] if len(parts) > 1 else ""


def imports(tree, at_import_only=False):
    """Yield the dotted name of everything a module imports, TYPE_CHECKING blocks left out."""
    skipped = set()
    for node in ast.walk(tree):
        typing_only = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        later = at_import_only and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        if typing_only or later:
            skipped.update(map(id, ast.walk(node)))
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def identifiers(source):
    """Yield (line, name) for every name that code makes or reads; torch's keywords may stay."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name):
            yield node.lineno, node.id
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.lineno, node.name


def code_lines(function):
    """Return how many lines of a function's body hold code: no docstring, no comment, no blank."""
    source = textwrap.dedent(inspect.getsource(function))
    (definition,) = ast.parse(source).body
    body = definition.body[1:] if ast.get_docstring(definition) else definition.body
    first, last = body[0].lineno, body[-1].end_lineno
    quiet = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    lines = {
        line
        for token in tokens
        if token.type not in quiet
        for line in range(token.start[0], token.end[0] + 1)
    }
    return len([line for line in lines if first <= line <= last])


def fresh_python(code):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_point_one_way(path):
    allowed = MAY_IMPORT[folder(path)]
    for name in imports(ast.parse(path.read_text())):
        parts = name.split(".")
        if parts[0] in ("book", "notebooks", "tests", "tools"):
            pytest.fail(f"{path.name} imports {name}")
        if parts[0] == "qkv" and len(parts) > 1 and (SOURCE / parts[1]).is_dir():
            assert parts[1] in allowed, f"{folder(path) or 'qkv'} may not import qkv.{parts[1]}"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_heavy_packages_are_not_loaded_at_import(path):
    loaded = {name.split(".")[0] for name in imports(ast.parse(path.read_text()), True)}
    assert not loaded & NEVER_AT_IMPORT.get(folder(path), set())


def test_core_needs_numpy_alone():
    allowed = {"qkv", "numpy"} | sys.stdlib_module_names
    for path in (SOURCE / "core").rglob("*.py"):
        loaded = {name.split(".")[0] for name in imports(ast.parse(path.read_text()))}
        assert loaded <= allowed, f"{path.name} imports {loaded - allowed}"


def test_import_qkv_loads_nothing_heavy():
    out = fresh_python(
        "import sys, qkv; print([m for m in ('torch', 'matplotlib', 'ipywidgets', 'anywidget',"
        " 'jaxtyping', 'qkv.checks', 'qkv.data', 'qkv.widgets') if m in sys.modules])"
    )
    assert out.strip() == "[]"


def test_import_qkv_costs_little(capsys):
    """Print `import qkv` as a multiple of `import numpy` (the budget is 2; a time is no gate)."""
    out = fresh_python(
        "import time; a = time.perf_counter(); import numpy; b = time.perf_counter();"
        " import qkv; c = time.perf_counter(); print((c - a) / (b - a))"
    )
    with capsys.disabled():
        print(f"\nimport qkv costs {float(out):.2f} times import numpy")
    assert float(out) >= 1.0


def test_lazy_names_are_listed_and_unknown_ones_refused():
    for name in ("check", "hint", "solution", "checks", "data", "widgets", "figures", "twins"):
        assert name in dir(qkv)
    with pytest.raises(AttributeError, match="module 'qkv' has no attribute 'chekc'"):
        qkv.chekc  # noqa: B018


def test_public_names():
    assert set(qkv.core.__all__) <= set(qkv.__all__)
    assert {"check", "hint", "solution"} <= set(qkv.__all__)
    assert qkv.core.__all__ == sorted(qkv.core.__all__)
    assert qkv.softmax is qkv.core.softmax


def test_version_is_the_projects():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert qkv.__version__ == project["version"]


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_names_are_the_papers(path):
    found = [
        f"line {line}: {name}, the book says {RIVAL_NAMES[name.lower()]}"
        for line, name in identifiers(path.read_text())
        if name.lower() in RIVAL_NAMES and name not in RIVAL_NAMES.values()
    ]
    assert not found, "\n".join(found)


def test_rival_names_would_be_found():
    source = "def f(num_heads): attn = nn.MultiheadAttention(embed_dim=6, num_heads=num_heads)"
    assert sorted(name for _, name in identifiers(source) if name in RIVAL_NAMES) == [
        "attn",
        "num_heads",
        "num_heads",
    ]


@pytest.mark.parametrize(
    "name", [n for n in qkv.core.__all__ if inspect.isfunction(getattr(qkv, n))]
)
def test_a_public_function_is_one_equation(name):
    function = getattr(qkv, name)
    assert len(inspect.signature(function).parameters) <= MOST_PARAMETERS
    assert code_lines(function) <= LARGEST_FUNCTION


def test_code_lines_are_counted():
    assert code_lines(qkv.dot_product) == 2
