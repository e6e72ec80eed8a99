"""Write one notebook per chapter into notebooks/, from the pages in book/.

    python tools/export_notebooks.py            write them
    python tools/export_notebooks.py --check    exit 1 and name the notebooks that are not fresh

The same pages and library give the same bytes: cell ids come from the cells' own text. Numbers in
the prose are taken from one run of the page. QKV_BOOK_URL and QKV_REPOSITORY_URL, which only a
deploying workflow knows, put the links to the page and to the published wheel in.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
for folder in (ROOT / "src", ROOT / "tools", ROOT / "book" / "_ext"):
    sys.path.insert(0, str(folder))

import nbformat  # noqa: E402
from notebook_text import (  # noqa: E402
    Book,
    Converter,
    ExportError,
    Page,
    left_overs,
    parser,
    read_directive,
)
from pybtex.database import parse_file  # noqa: E402
from qkv_book.address import BRANCH, Address  # noqa: E402

import qkv.checks  # noqa: E402

TITLE = "Where Do Q, K and V Come From?"
SETUP = """\
# @title Set-up: run this cell first
import importlib.util
import pathlib
import subprocess
import sys

WHEEL = "{wheel}"


def missing(*names):
    return [name for name in names if importlib.util.find_spec(name) is None]


def install(*what):
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *what], check=True)


if missing("qkv"):
    here = pathlib.Path.cwd()
    checkout = [folder / "src" for folder in (here, *here.parents) if (folder / "src/qkv").is_dir()]
    if checkout:
        sys.path.insert(0, str(checkout[0]))
    elif WHEEL:
        install("--no-deps", WHEEL)
    else:
        raise ModuleNotFoundError(
            "This notebook needs the book's library, qkv. Open it inside a copy of the book's"
            " repository (the folder notebooks/ beside src/), then run this cell again."
        )
if needed := missing({needs}):
    install(*needed)  # only what is not there: nothing that is installed is moved
importlib.invalidate_caches()

from qkv import check, hint, solution"""


def load_book(source: Path, bibliography: Path, address: Address) -> Book:
    """Read the pages that the table of contents names, in its order; without one, all pages."""
    toc = source.parent / "_toc.yml"
    names = sorted(path.stem for path in source.glob("*.md"))
    if toc.is_file():
        listed = re.findall(rf"(?:root|file):\s*{source.name}/(\S+)", toc.read_text("utf8"))
        names = [name for name in listed if (source / f"{name}.md").is_file()]
    pages = {}
    for name in names:
        path = source / f"{name}.md"
        pages[name] = Page(name, path, path.read_text("utf8"))
    entries = parse_file(str(bibliography), bib_format="bibtex")
    return Book(pages, entries, lambda page: address.page(f"{source.name}/{page}.html"))


@dataclass
class Piece:
    """A stretch of a page: Markdown, a code cell or an exercise."""

    kind: str
    text: str
    line: int
    options: dict


def pieces(page: Page) -> list[Piece]:
    """Cut a page at its code cells, its exercises and its headings."""
    lines = page.text.split("\n")
    found: list[Piece] = []
    done = 0

    def prose(end: int) -> None:
        if any(line.strip() for line in lines[done:end]):
            found.append(Piece("prose", "\n".join(lines[done:end]), done, {}))

    targets: int | None = None
    for token in parser().parse(page.text):
        if token.level or token.map is None:
            continue
        start, end = token.map
        if token.type == "front_matter":
            done = end
        elif token.type == "myst_target":
            targets = start if targets is None else targets
            continue
        elif token.type == "heading_open" and token.tag in ("h1", "h2", "h3"):
            start = start if targets is None else targets
            prose(start)
            done = start
        elif token.type in ("fence", "colon_fence"):
            name, argument, options, body, _ = read_directive(token)
            if name in ("code-cell", "exercise"):
                prose(start)
                found.append(Piece(name, body if name == "code-cell" else argument, start, options))
                done = end
        targets = None
    prose(len(lines))
    return found


def tags_of(options: dict) -> list[str]:
    """Return the tags of a cell, written as a list or as text."""
    tags = options.get("tags", [])
    return tags if isinstance(tags, list) else [tag for tag in re.split(r"[\s,\[\]]+", tags) if tag]


def glued_values(page: Page, cells: list[Piece]) -> dict[str, str]:
    """Run a page once and return what it glues; kept until the page or the library changes."""
    wanted = re.findall(r"\{glue:text\}`([^:`]+)", page.text)
    if not wanted:
        return {}
    sources = [cell.text for cell in cells if cell.kind == "code-cell"]
    digest = hashlib.sha256(json.dumps(sources).encode())
    for path in sorted((ROOT / "src").rglob("*")):
        if path.is_file() and path.suffix in (".py", ".json", ".npz"):
            digest.update(path.relative_to(ROOT).as_posix().encode() + path.read_bytes())
    kept = ROOT / "_build" / "glue" / f"{page.name}-{digest.hexdigest()[:16]}.json"
    if kept.is_file():
        return json.loads(kept.read_text("utf8"))
    values = _run_for_glue(page, sources)
    kept.parent.mkdir(parents=True, exist_ok=True)
    part = kept.with_suffix(f".{os.getpid()}")
    part.write_text(json.dumps(values, indent=1), "utf8")
    part.replace(kept)
    return values


def _run_for_glue(page: Page, sources: list[str]) -> dict[str, str]:
    from run_notebooks import run

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(s) for s in sources])
    result = run(notebook, sys.executable, page.path.parent)
    if result.error:
        raise ExportError(f"{page.path}: a cell fails:\n{result.error}")
    values = {}
    for cell in result.notebook.cells:
        for output in cell.outputs:
            if about := output.get("metadata", {}).get("scrapbook"):
                values[about["name"]] = output.data[f"{about.get('mime_prefix', '')}text/plain"]
    return values


class Notebook:
    """Collects cells and gives each an id that only its own text decides."""

    def __init__(self, name: str):
        self.name = name
        self.cells: list = []
        self._seen: dict[str, int] = {}

    def add(self, kind: str, source: str, **metadata: object) -> None:
        """Append a cell."""
        source = source.strip("\n")
        key = f"{self.name}/{kind}/{source}"
        count = self._seen[key] = self._seen.get(key, 0) + 1
        identity = hashlib.sha256(f"{key}/{count}".encode()).hexdigest()[:12]
        new = nbformat.v4.new_code_cell if kind == "code" else nbformat.v4.new_markdown_cell
        self.cells.append(new(source, id=identity, metadata=metadata))

    def text(self) -> str:
        """Return the notebook as it is written to disk."""
        notebook = nbformat.v4.new_notebook(
            cells=self.cells,
            metadata={
                "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
                "language_info": {"name": "python"},
            },
        )
        notebook.nbformat_minor = 5
        nbformat.validate(notebook)
        return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def exercise_cells(notebook: Notebook, convert: Converter, piece: Piece) -> None:
    """Write an exercise: its prompt, the cell that checks, and the solution, folded."""
    try:
        exercise = qkv.checks.get(piece.text)
    except LookupError as error:
        raise convert.fail(piece.line, str(error)) from None

    def text(markdown: str) -> str:
        return convert.blocks(markdown, piece.line)

    prompt = [f'<a id="exercise-{exercise.id}"></a>', "", f"**Exercise · {exercise.title}**", ""]
    prompt.append(text(exercise.prompt))
    if sheet := exercise.sheet():
        prompt += ["", text("\n".join(sheet))]
    notebook.add("markdown", "\n".join(prompt), tags=["exercise"])
    if exercise.kind == "code":
        notebook.add("code", exercise.stub, tags=["exercise-stub"])
        notebook.add("code", exercise.call, tags=["exercise-check"])
    else:
        advice = f"# Put your answer ({exercise.advice}) in place of the three dots."
        notebook.add("code", f"{advice}\n{exercise.call}", tags=["exercise-check"])
    # As a comment, or "run all" would tell the first hint of every exercise.
    stuck = "# Stuck? Take the # away and run this cell, again for the next of three hints."
    notebook.add("code", f'{stuck}\n# hint("{exercise.id}")', tags=["exercise-hint"])
    folded = (
        f"<details>\n<summary><b>Solution</b></summary>\n\n{text(exercise.solution)}\n\n</details>"
    )
    notebook.add("markdown", folded, tags=["exercise-solution"])


def code_cell(notebook: Notebook, piece: Piece) -> None:
    """Write a code cell, hidden if the page hides it, absent if the page drops it."""
    tags = tags_of(piece.options)
    if "remove-cell" in tags:
        return
    metadata: dict = {"tags": tags} if tags else {}
    if {"hide-input", "remove-input", "hide-cell"} & set(tags):
        metadata["jupyter"] = {"source_hidden": True}
    notebook.add("code", piece.text, **metadata)


def convert_page(book: Book, page: Page, wheel: str) -> str:
    """Return the notebook of one page as text."""
    cells = pieces(page)
    convert = Converter(book, page, glued_values(page, cells))
    notebook = Notebook(page.name)
    needs = ["numpy", "jaxtyping", "matplotlib", "ipywidgets", "anywidget"]
    if any(re.search(r"\btorch\b", cell.text) for cell in cells if cell.kind == "code-cell"):
        needs.append("torch")
    first = True
    for piece in cells:
        if piece.kind == "code-cell":
            code_cell(notebook, piece)
        elif piece.kind == "exercise":
            exercise_cells(notebook, convert, piece)
        else:
            text = convert.blocks(piece.text, piece.line)
            if first and (match := re.search(r"^# .*$", text, re.MULTILINE)):
                title, text = text[: match.end()], text[match.end() :]
                notebook.add("markdown", f"{title}\n\n{_about(book, page)}")
                setup = SETUP.format(wheel=wheel, needs=", ".join(f'"{name}"' for name in needs))
                hidden = {"source_hidden": True}
                notebook.add("code", setup, tags=["set-up"], cellView="form", jupyter=hidden)
                first = False
            if text.strip():
                notebook.add("markdown", text)
    if first:
        raise convert.fail(0, "the page has no title")
    if convert.cited:
        notebook.add("markdown", f"## References\n\n{convert.references()}")
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and (rest := list(left_overs(cell.source))):
            raise ExportError(f"{page.path}: MyST is left over in a cell: {rest[0]}")
    return notebook.text()


def _about(book: Book, page: Page) -> str:
    line = f"A chapter of *{TITLE}*, as a notebook. Run the cells from the top; change them."
    if address := book.page_url(page.name):
        line += f" [Read it as a page]({address})."
    return line


def wheel_url(address: Address) -> str:
    """Return where the published wheel lies, or nothing while the repository is unknown."""
    if not address.repository:
        return ""
    project = (ROOT / "pyproject.toml").read_text("utf8")
    version = re.search(r'^version = "([^"]+)"', project, re.MULTILINE)[1]
    return f"{address.repository}/raw/{BRANCH}/wheels/qkv-{version}-py3-none-any.whl"


def export(source: Path, bibliography: Path, address: Address) -> dict[str, str]:
    """Return file name and text of the notebook of every page that holds code."""
    book = load_book(source, bibliography, address)
    return {
        f"{page.name}.ipynb": convert_page(book, page, wheel_url(address))
        for page in book.pages.values()
        if page.has_code
    }


def main(arguments: list[str] | None = None) -> int:
    """Write the notebooks, or tell which are not fresh."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--check", action="store_true", help="write nothing; exit 1 if not fresh")
    options.add_argument("--source", type=Path, default=ROOT / "book")
    options.add_argument("--output", type=Path, default=ROOT / "notebooks")
    chosen = options.parse_args(arguments)
    address = Address() if chosen.check else Address.from_environment()
    try:
        notebooks = export(chosen.source, chosen.source / "references.bib", address)
    except ExportError as error:
        print(error, file=sys.stderr)
        return 1
    old = {path.name for path in chosen.output.glob("*.ipynb")}
    stale = sorted(old - set(notebooks))
    for name, text in notebooks.items():
        path = chosen.output / name
        if path.is_file() and path.read_text("utf8") == text:
            continue
        stale.append(name)
        if not chosen.check:
            chosen.output.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf8")
    if chosen.check and stale:
        print(f"not fresh: {', '.join(stale)}; run `make notebooks`", file=sys.stderr)
        return 1
    if not chosen.check:
        for name in old - set(notebooks):
            (chosen.output / name).unlink()
    print(f"{len(notebooks)} notebooks, {len(stale)} {'stale' if chosen.check else 'written'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
