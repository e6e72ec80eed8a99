"""Small books, built by the real extension with the real configuration."""

import os
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import yaml

ROOT = Path(__file__).resolve().parents[2]

NOTEBOOK = """\
---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

"""


@dataclass
class Build:
    """What one build did."""

    code: int
    log: str
    seconds: float
    left_behind: list[str] = field(default_factory=list)


class SmallBook:
    """A book of a few pages in a temporary folder, with a library of one number."""

    def __init__(self, folder: Path, pages: dict[str, str]) -> None:
        self.folder = folder
        (folder / "book").mkdir(parents=True)
        for name in ("_ext", "_static", "_templates"):
            (folder / "book" / name).symlink_to(ROOT / "book" / name)
        (folder / "src").mkdir()
        (folder / "src" / "pocket.py").write_text("NUMBER = 41\n")
        (folder / "src" / "qkv").mkdir()
        (folder / "src" / "qkv" / "widgets").symlink_to(ROOT / "src" / "qkv" / "widgets")
        (folder / "book" / "references.bib").write_text("")
        config = (ROOT / "_config.yml").read_text(encoding="utf-8")
        (folder / "_config.yml").write_text(config, encoding="utf-8")
        names = list(pages)
        toc = {"format": "jb-book", "root": f"book/{names[0]}"}
        if names[1:]:
            chapters = [{"file": f"book/{name}"} for name in names[1:]]
            toc["parts"] = [{"caption": "Part I · Small", "chapters": chapters}]
        (folder / "_toc.yml").write_text(yaml.safe_dump(toc))
        for name, text in pages.items():
            self.write(name, text)

    @property
    def site(self) -> Path:
        return self.folder / "_build" / "html"

    def write(self, name: str, text: str) -> None:
        (self.folder / "book" / f"{name}.md").write_text(text, encoding="utf-8")

    def page(self, name: str) -> str:
        return (self.site / name).read_text(encoding="utf-8")

    def build(self, **environment: str) -> Build:
        """Build through a pipe, as `make html 2>&1 | tail` would, and look for what lives on."""
        mark = uuid.uuid4().hex
        started = time.monotonic()
        command = (
            f'"{Path(sys.executable).with_name("jupyter-book")}" build . -W -n --keep-going; '
            "echo code=$?"
        )
        done = subprocess.run(
            f"( {command} ) 2>&1 | cat",
            shell=True,
            cwd=self.folder,
            env={**os.environ, **environment, "QKV_TEST_MARK": mark},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=150,
        )
        seconds = time.monotonic() - started
        log, _, code = done.stdout.rpartition("code=")
        return Build(int(code), log, seconds, living(mark))


def living(mark: str) -> list[str]:
    """Return the processes that carry the mark in their environment."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("QKV_TEST_MARK") == mark:
                found.append(" ".join(process.cmdline()))
        except (psutil.Error, OSError):
            continue
    return found
