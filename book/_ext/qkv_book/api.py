"""The API pages: each is its title in ``book/api/`` and what the docstrings say.

A page names its module by its file name; the rest is written here, as Markdown, before the page is
parsed. Every example is run by the build, and what it prints stands below it: a docstring whose
example prints something else stops the build.
"""

from __future__ import annotations

import contextlib
import dataclasses
import doctest
import importlib
import inspect
import io
import re
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from numpydoc.docscrape import NumpyDocString
from sphinx.util import logging

if TYPE_CHECKING:
    from sphinx.application import Sphinx

LOGGER = logging.getLogger(__name__)
FOLDER = "book/api/"

# The modules of qkv.core in the order in which the book needs them, and the chapter that derives
# what is in them. Where a module serves several chapters, CHAPTER_OF names the exceptions.
SYLLABUS = {
    "embeddings": 1,
    "dot_product": 2,
    "softmax": 3,
    "loss": 3,
    "look_up": 4,
    "scores": 4,
    "projections": 5,
    "errors": 5,
    "scaled_dot_product": 6,
    "soft_cap": 6,
    "gradients": 7,
    "masks": 9,
    "bias": 9,
    "multi_head": 10,
    "packing": 10,
    "cross_attention": 12,
    "positions": 13,
    "layer_norm": 14,
    "feed_forward": 14,
    "layer": 14,
    "transformer": 15,
    "initial": 15,
    "decoding": 16,
    "images": 17,
    "cache": 19,
    "cached_decoder": 19,
    "grouped_heads": 19,
    "tiled": 20,
    "counts": 20,
    "rollout": 22,
}
CHAPTER_OF = {
    "additive_scores": 2,
    "cosine_scores": 6,
    "bilinear_scores": 8,
    "soft_cap": 10,
    "soft_capped_attention": 10,
    "xavier_uniform": 10,
    "multi_head_steps": 11,
    "initial_multi_head": 12,
    "project_flops": 12,
    "unpack_in_proj": 15,
    "cross_entropy_backward": 15,
    "multi_head_attention_backward": 15,
    "project_heads_backward": 15,
    "multi_head_bias_count": 15,
    "decoder_layer_parameter_count": 15,
    "decoder_layer_flops": 15,
    "transformer_sites": 16,
    "initial_transformer": 19,
    "vocabulary_scores": 14,
    "softmax_backward": 3,
    "layer_norm_backward": 14,
    "cache_bytes": 19,
    "LayerSizes": 15,
    "count_parameters": 15,
    "multi_head_parameter_count": 10,
    "cross_attention_parameter_count": 12,
    "feed_forward_parameter_count": 14,
    "layer_norm_parameter_count": 14,
    "encoder_layer_parameter_count": 14,
    "transformer_parameter_count": 15,
}
LAST_CHAPTER = 22
INDEX = "index"
DATA = "data"  # the page of qkv.data


@dataclasses.dataclass(frozen=True)
class Chapter:
    """A chapter that is there: its number, title without the number, label and page."""

    number: int
    title: str
    label: str
    page: str


def chapters(book: Path) -> dict[int, Chapter]:
    """Return the chapters that are written, by number."""
    found = {}
    for path in sorted(book.glob("[0-9][0-9]-*.md")):
        text = path.read_text(encoding="utf-8")
        heading = re.search(r"^\((?P<label>[^)\s]+)\)=\n# \d+\. (?P<title>.+)$", text, re.M)
        if heading:
            number = int(path.name[:2])
            title = heading["title"].split(":")[0]
            found[number] = Chapter(number, title, heading["label"], f"book/{path.stem}")
    return found


def library(root: Path) -> ModuleType:
    """Import ``qkv`` of this checkout."""
    source = str(root / "src")
    if (root / "src" / "qkv" / "core").is_dir() and source not in sys.path:
        sys.path.insert(0, source)
    return importlib.import_module("qkv")


def module_of(page: str) -> ModuleType:
    """Return the module that a page describes."""
    return importlib.import_module("qkv.data" if page == DATA else f"qkv.core.{page}")


@lru_cache
def public_names(page: str) -> tuple[str, ...]:
    """Return the public names that a page describes, in the order of the source."""
    module = module_of(page)
    if page == DATA:
        functions = [n for n in module.__all__ if inspect.isfunction(getattr(module, n))]
        return (*functions, *(n for n in module.__all__ if n not in functions))
    core = importlib.import_module("qkv.core")
    own = [n for n in core.__all__ if getattr(core, n).__module__ == module.__name__]
    return tuple(sorted(own, key=lambda n: inspect.getsourcelines(getattr(core, n))[1]))


@lru_cache
def pages_of_names() -> dict[str, str]:
    """Return the page of every public name."""
    return {name: page for page in (*SYLLABUS, DATA) for name in public_names(page)}


def chapter_number(name: str) -> int | None:
    """Return the number of the chapter that derives a public name."""
    return CHAPTER_OF.get(name, SYLLABUS.get(pages_of_names()[name]))


def anchor(name: str) -> str:
    """Return the label of a public name; labels know no capitals, so classes have their own."""
    thing = getattr(module_of(pages_of_names()[name]), name)
    return f"api-{'class-' * inspect.isclass(thing)}{name.lower()}"


# --- from a docstring to Markdown ----------------------------------------------------------------


def markdown(lines: list[str], known: tuple[str, ...] = ()) -> str:
    """Return lines of a docstring as Markdown: formulas, code, links to other names."""
    text = "\n".join(lines)
    text = re.sub(
        r"^\.\. math::(.*(?:\n(?:[ \t]+\S.*)?)*)",  # and the indented or blank lines below it
        lambda m: f"$$\n{inspect.cleandoc(m[1]).strip()}\n$$\n\n",
        text,
        flags=re.M,
    )
    pieces = re.split(r"(\$\$.*?\$\$|``.*?``|`[^`\n]*`)", text, flags=re.S)
    return "".join(_piece(piece, known) for piece in pieces).strip()


def _piece(piece: str, known: tuple[str, ...]) -> str:
    if piece.startswith("$$"):
        return piece
    if piece.startswith("``"):
        return f"`{piece[2:-2]}`"
    if piece.startswith("`"):
        name = piece[1:-1]
        is_other = name not in known and name in pages_of_names()
        return linked(name) if is_other else piece
    piece = re.sub(r"^\.\. \[(\d+)\] ", r"\1. ", piece, flags=re.M)
    piece = re.sub(r" \[\d+\]_", "", piece)
    return re.sub(r"([*<$])", r"\\\1", piece)


def kind_of(text: str) -> str:
    """Return a parameter's type as words, its shape as code."""
    return re.sub(r"\(([^()]*(?:,|\.\.\.)[^()]*)\)", lambda m: f"`{m[0]}`", text)


def part(title: str) -> str:
    """Return the label above a part of an entry; a heading of its own would fill the contents."""
    return f"{{.api-part}}\n{title}"


def definitions(entries: list[Any], known: tuple[str, ...]) -> str:
    """Return a definition list of parameters, returns or errors."""
    rows = []
    for name, kind, lines in entries:
        term = ", ".join(f"`{part}`" for part in re.split(r",\s*", name)) if name else ""
        words = kind_of(kind)
        term = f"{term} · {words}" if term and words else term or words
        body = markdown(lines, known).replace("\n", "\n  ") or "&nbsp;"
        rows.append(f"{term}\n: {body}\n")
    return "\n".join(rows)


def parameters_of(thing: Any) -> list[inspect.Parameter]:
    """Return the parameters of a function or a class; an exception's are of no interest."""
    if inspect.isclass(thing) and issubclass(thing, Exception):
        return []
    public = inspect.signature(thing).parameters.values()
    return [parameter for parameter in public if not parameter.name.startswith("_")]


def call(name: str, thing: Any, doc: NumpyDocString) -> str:
    """Return how a name is called, without annotations, and what comes back."""
    words = []
    for parameter in parameters_of(thing):
        default = parameter.default
        if default is parameter.empty:
            words.append(parameter.name)
        else:
            shown = default.__name__ if callable(default) else repr(default)
            words.append(f"{parameter.name}={shown}")
    line = f"{name}({', '.join(words)})"
    if len(line) > 76:
        line = f"{name}(\n    " + ",\n    ".join(words) + ",\n)"
    results = [r.name or r.type for r in doc["Returns"]]
    return f"{line} -> {', '.join(results)}" if results else line


def examples(name: str, doc: NumpyDocString) -> str:
    """Run the examples; return their code and what it printed, one block after the other."""
    source = "\n".join(doc["Examples"])
    blocks: list[list[str]] = []
    space: dict[str, Any] = {}
    absent = False  # an example marked SKIP needs an optional package; without it, it is only shown
    for example in doctest.DocTestParser().get_examples(source):
        printed = run_example(example, space)
        optional = example.options.get(doctest.SKIP, False)
        absent = absent or (optional and printed.startswith("ModuleNotFoundError"))
        if absent:
            printed = example.want
        if not matches(example, printed):
            LOGGER.warning("the example of %s prints %r, not %r", name, printed, example.want)
        if not blocks or blocks[-1][1]:
            blocks.append(["", ""])
        blocks[-1][0] += example.source
        blocks[-1][1] += printed
    return "\n".join(
        f":::::{{div}} cell\n::::{{div}} cell_input\n```python\n{code.rstrip()}\n```\n::::\n"
        + (
            f"::::{{div}} cell_output\n:::{{div}} output text_plain\n```text\n{out.rstrip()}\n```"
            "\n:::\n::::\n"
            if out
            else ""
        )
        + ":::::\n"
        for code, out in blocks
    )


def run_example(example: doctest.Example, space: dict[str, Any]) -> str:
    """Return what one example prints; an exception prints its last line."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            exec(compile(example.source, "<example>", "single"), space)
        except Exception as error:
            kind = type(error)
            print(f"{kind.__name__}: {error}")
    return out.getvalue()


def matches(example: doctest.Example, printed: str) -> bool:
    """Tell whether the docstring shows what the example prints."""
    if example.exc_msg is not None:
        return example.exc_msg.strip().endswith(printed.strip())
    return doctest.OutputChecker().check_output(example.want, printed, doctest.ELLIPSIS)


def members(thing: Any) -> list[tuple[str, str, list[str]]]:
    """Return the properties and methods of a class that are its own, with their first lines."""
    found = []
    for name, member in vars(thing).items():
        if name.startswith("_") and name != "__getitem__":
            continue
        is_property = isinstance(member, property)
        if is_property or inspect.isfunction(member):
            function = member.fget if is_property else member
            first = NumpyDocString(inspect.getdoc(function) or "")["Summary"]
            words = list(inspect.signature(function).parameters)[1:]
            found.append((name if is_property else f"{name}({', '.join(words)})", "", first))
    return found


# --- pages ---------------------------------------------------------------------------------------


def entry(name: str, thing: Any, here: dict[int, Chapter]) -> Iterator[str]:
    """Yield the Markdown of one public name."""
    doc = NumpyDocString(inspect.getdoc(thing) or "")
    known = (name, *(parameter.name for parameter in parameters_of(thing)))
    yield f"({anchor(name)})=\n## `{name}`"
    yield f"```python\n{call(name, thing, doc)}\n```"
    yield markdown(doc["Summary"], known)
    yield markdown(doc["Extended Summary"], known)
    is_class = inspect.isclass(thing)
    own = members(thing) if is_class and not issubclass(thing, Exception) else []
    for title, entries in (
        ("Parameters", doc["Parameters"]),
        ("Attributes", doc["Attributes"]),
        ("Returns", doc["Returns"]),
        ("Raises", doc["Raises"]),
        ("Also has", own),
    ):
        if entries:
            yield f"{part(title)}\n\n{definitions(entries, known)}"
    if doc["Notes"]:
        yield f"{part('Notes')}\n\n{markdown(doc['Notes'], known)}"
    if doc["Examples"]:
        yield f"{part('Example')}\n\n{examples(name, doc)}"
    yield from ends(name, doc, known, here)


def ends(
    name: str, doc: NumpyDocString, known: tuple[str, ...], here: dict[int, Chapter]
) -> Iterator[str]:
    """Yield where a name comes from and where to go on."""
    if doc["References"]:
        yield f"{part('Source')}\n\n{markdown(doc['References'], known)}"
    chapter = here.get(chapter_number(name) or 0)
    if chapter:
        yield (
            f"**Derived in** {{ref}}`chapter {chapter.number}, {chapter.title} <{chapter.label}>`."
        )
    for group, lines in doc["See Also"]:
        names = ", ".join(linked(n) for n, _ in group)
        words = markdown(lines, known)
        yield f"**See also** {names}: {words}"


def module_page(page: str, here: dict[int, Chapter]) -> str:
    """Return the Markdown below the title of one module's page."""
    module = module_of(page)
    pieces = [markdown([paragraph]) for paragraph in about(module)]
    pieces.append(overview(page))
    for name in public_names(page):
        pieces += entry(name, getattr(module, name), here)
    return "\n\n".join(piece for piece in pieces if piece)


def about(module: ModuleType) -> list[str]:
    """Return the paragraphs of a module's docstring; what repeats the title is left out."""
    summary, *rest = (inspect.getdoc(module) or "").split("\n\n")
    head, colon, tail = summary.partition(": ")
    if colon and len(head.split()) <= 4:
        summary = tail[0].upper() + tail[1:]
    return [summary, *rest]


def overview(page: str) -> str:
    """Return the list of a page's names with their first sentences, if there are several."""
    names = public_names(page)
    if len(names) < 2:
        return ""
    return "\n".join(f"- {linked(name)}: {first_sentence(page, name)}" for name in names)


def linked(name: str) -> str:
    """Return a name as a link to its place."""
    return f"[`{name}`](#{anchor(name)})"


def first_sentence(page: str, name: str) -> str:
    """Return the first line of a name's docstring."""
    doc = NumpyDocString(inspect.getdoc(getattr(module_of(page), name)) or "")
    return markdown(doc["Summary"], (name,))


def index_page() -> str:
    """Return the Markdown of the list of all names, module by module."""
    pieces = []
    for page in (*SYLLABUS, DATA):
        summary = about(module_of(page))[0]
        title = "qkv.data" if page == DATA else page
        names = " · ".join(linked(name) for name in public_names(page))
        pieces.append(f"{{doc}}`{title} <{page}>`\n: {markdown([summary])}\n\n  {names}\n")
    return "\n".join(pieces)


def write_page(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put the docstrings below the title of an API page, before it is parsed."""
    if not docname.startswith(FOLDER):
        return
    root = Path(app.srcdir)
    package = library(root)
    page = docname.removeprefix(FOLDER)
    written = chapters(root / "book").items()
    here = {number: chapter for number, chapter in written if chapter.page in app.env.found_docs}
    source[0] += "\n" + (index_page() if page == INDEX else module_page(page, here)) + "\n"
    if package.__file__:
        for path in sorted(Path(package.__file__).parent.glob("*/*.py")):
            if path.parent.name in ("core", "data"):
                app.env.note_dependency(str(path))


def setup(app: Sphinx) -> None:
    """Connect before other readers of the source."""
    app.connect("source-read", write_page, priority=100)
