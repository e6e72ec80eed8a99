"""Turn the MyST text of a page into Markdown that every notebook renders.

Whatever is not on the two lists below stops the export and names its file and line, so that no raw
directive, role, label or reference can reach a reader. Block structure comes from markdown-it (the
parser that the book itself uses); inside a block a small scanner skips code and formulas.
"""

from __future__ import annotations

import base64
import html
import mimetypes
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import yaml
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser
from pybtex.database import BibliographyData, Entry
from pybtex.richtext import Text

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "book" / "_ext"))

from qkv_book.macros import PLAIN  # noqa: E402

DIRECTIVES = (
    "code-cell",
    "exercise",
    "admonition",
    "note",
    "tip",
    "important",
    "warning",
    "dropdown",
    "figure",
    "image",
    "math",
    "list-table",
    "glossary",
    "bibliography",
    "epigraph",
)
ROLES = (
    "ref",
    "doc",
    "numref",
    "eq",
    "cite:p",
    "cite:t",
    "term",
    "glue:text",
    "math",
    "abbr",
    "download",
)
_BLOCKS = (
    "fence",
    "colon_fence",
    "code_block",
    "math_block",
    "math_block_label",
    "amsmath",
    "myst_target",
    "myst_line_comment",
    "myst_block_break",
    "html_block",
    "front_matter",
    "attrs_block",
)
_LEFT_OVER = (
    "myst_role",
    "myst_role_error",
    "myst_target",
    "myst_line_comment",
    "myst_block_break",
    "math_block_label",
    "footnote_ref",
    "footnote_reference_open",
    "substitution_block",
    "substitution_inline",
    "span_open",
    "attrs_block",
)


class ExportError(Exception):
    """A page that cannot become a notebook; the message starts with file and line."""


@cache
def parser() -> MarkdownIt:
    """Return the book's own parser, with the extensions that `_config.yml` enables."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf8"))
    extensions = config["parse"]["myst_enable_extensions"]
    return create_md_parser(MdParserConfig(enable_extensions=set(extensions)), RendererHTML)


@dataclass(frozen=True)
class Label:
    """A place that a reference can name."""

    page: str
    kind: str  # section, equation, figure or place
    title: str
    number: int = 0


@dataclass
class Page:
    """One source file: its name below `book/`, its text and its title."""

    name: str
    path: Path
    text: str
    title: str = ""
    has_code: bool = False


@dataclass
class Book:
    """What references need to know: pages in order, labels, the bibliography, the address."""

    pages: dict[str, Page]
    bibliography: BibliographyData
    page_url: Callable[[str], str] = lambda _: ""
    labels: dict[str, Label] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Collect the titles and labels of all pages."""
        figures = 0
        for page in self.pages.values():
            figures = self._collect(page, page.text, figures, [0])

    def _collect(self, page: Page, text: str, figures: int, equations: list[int]) -> int:
        waiting: list[str] = []
        tokens = parser().parse(text)
        for position, token in enumerate(tokens):
            if token.type == "myst_target":
                waiting.append(token.content)
                continue
            if token.type == "heading_open":
                title = re.sub(r"\s*\{[.#][^}]*\}\s*$", "", tokens[position + 1].content)
                page.title = page.title or title
                for label in waiting:
                    self._add(page, label, Label(page.name, "section", title))
            elif token.type == "math_block_label":
                equations[0] += 1
                self._add(page, token.info, Label(page.name, "equation", "", equations[0]))
            elif token.type in ("fence", "colon_fence") and token.info.startswith("{"):
                name, _, options, body, _ = read_directive(token)
                label = str(options.get("label") or options.get("name") or "")
                if name == "code-cell":
                    page.has_code = True
                elif name == "math":
                    equations[0] += bool(label)
                    if label:
                        self._add(page, label, Label(page.name, "equation", "", equations[0]))
                elif name == "figure":
                    figures += 1
                    if label:
                        self._add(page, label, Label(page.name, "figure", body, figures))
                elif label:
                    self._add(page, label, Label(page.name, "place", ""))
                if name not in ("code-cell", "math", "exercise"):
                    figures = self._collect(page, body, figures, equations)
            elif not waiting or token.nesting < 0:
                continue
            for label in waiting:
                if label not in self.labels:
                    self._add(page, label, Label(page.name, "place", ""))
            waiting = []
        return figures

    def _add(self, page: Page, label: str, value: Label) -> None:
        if label in self.labels:
            raise ExportError(f"{page.path}: the label {label!r} stands twice")
        self.labels[label] = value


def read_directive(token: Token) -> tuple[str, str, dict, str, int]:
    """Take a fence apart: name, argument, options, body, and how many lines precede it."""
    match = re.match(r"\{([^}]+)\}\s*(.*)$", token.info.strip() or "{}")
    if not match:
        return "", "", {}, token.content, 0
    lines = token.content.split("\n")
    options: dict = {}
    taken = 0
    if lines[0].strip() == "---":
        taken = next((n for n, line in enumerate(lines[1:], 1) if line.strip() == "---"), 0) + 1
        options = yaml.safe_load("\n".join(lines[1 : taken - 1])) or {}
    else:
        while taken < len(lines) and (option := re.match(r":([\w-]+):\s*(.*)$", lines[taken])):
            options[option[1]] = option[2]
            taken += 1
    body = lines[taken:]
    while body and not body[0].strip():
        body.pop(0)
        taken += 1
    return match[1], match[2].strip(), options, "\n".join(body).rstrip(), taken


def expand_macros(latex: str) -> str:
    r"""Replace the book's macros by plain LaTeX, and drop the ``\html…`` wrappers of KaTeX."""
    for _ in range(8):
        before = latex
        latex = re.sub(r"\\[A-Za-z]+", lambda m: PLAIN.get(m[0], m[0]), latex)
        latex = re.sub(r"\\html(?:Class|Id|Data|Style)\{[^{}]*\}", "", latex)
        if latex == before:
            return latex
    raise ValueError(f"a macro contains itself: {latex}")


def written(value: object, spec: str) -> str:
    """Format a glued value as the page does."""
    from myst_nb.core.variables import format_plain_text

    return format_plain_text(str(value), spec)


class Converter:
    """Converts the text of one page; remembers what it cites."""

    def __init__(self, book: Book, page: Page, glued: Mapping[str, str]):
        self.book, self.page, self.glued = book, page, glued
        self.cited: list[str] = []

    def fail(self, line: int, sentence: str) -> ExportError:
        """Return an error that names the file and the line (counted from zero)."""
        path = self.page.path
        shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
        return ExportError(f"{shown}:{line + 1}: {sentence}")

    # Blocks

    def blocks(self, text: str, line: int = 0, nested: bool = False) -> str:
        """Convert block-level Markdown; `line` is where the text starts in its file."""
        lines = text.split("\n")
        out: list[str] = []
        done = 0
        for token in parser().parse(text):
            if token.type not in _BLOCKS or token.map is None or token.map[0] < done:
                continue
            start, end = token.map
            out += self._prose(lines[done:start], line + done)
            prefix = re.match(r"[\s>]*", lines[start])[0] if token.level else ""
            if token.level and re.match(r"[\s>]*([-*+]|\d+[.)])\s", lines[start]):
                raise self.fail(line + start, "a block in a list needs a line of its own")
            new = self._block(token, line + start, nested or bool(prefix))
            out += [f"{prefix}{row}".rstrip() for row in new.split("\n")] if new is not None else []
            done = end
        out += self._prose(lines[done:], line + done)
        return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).strip("\n")

    def _prose(self, lines: list[str], line: int) -> list[str]:
        out: list[str] = []
        chunk: list[str] = []
        for number, row in enumerate([*lines, ""]):
            if row.strip():
                chunk.append(row)
                continue
            if chunk:
                out += self.inline("\n".join(chunk), line + number - len(chunk)).split("\n")
                chunk = []
            out.append("")
        return out[:-1]

    def _block(self, token: Token, line: int, nested: bool) -> str | None:
        if token.type in ("math_block", "math_block_label"):
            label = token.info if token.type == "math_block_label" else ""
            return self._display(token.content, label, nested)
        if token.type == "amsmath":
            return self._display(token.content, "", nested)
        if token.type == "myst_target":
            return f'<a id="{html.escape(token.content)}"></a>\n'
        if token.type in ("fence", "colon_fence") and token.info.strip().startswith("{"):
            name, argument, options, body, above = read_directive(token)
            if name not in DIRECTIVES:
                raise self.fail(line, f"the directive {{{name}}} is not on the exporter's list")
            handler = getattr(self, "_do_" + name.replace("-", "_"), None)
            if handler is None:
                if name in ("code-cell", "exercise"):
                    raise self.fail(line, f"{{{name}}} must stand at the top level of the page")
                handler = self._admonition
            return handler(name, argument, options, body, line + 1 + above)
        if token.type == "colon_fence":
            raise self.fail(line, "a colon fence without a directive")
        if token.type == "fence":
            return f"{token.markup}{token.info}\n{token.content}{token.markup}"
        if token.type == "code_block":
            return "\n".join(f"    {row}".rstrip() for row in token.content.split("\n"))
        if token.type == "html_block" and not token.content.lstrip().startswith("<!--"):
            return token.content.rstrip("\n")
        return None

    def _display(self, latex: str, label: str, nested: bool) -> str:
        latex = expand_macros(latex.strip())
        if label:
            latex += rf" \tag{{{self.book.labels[label].number}}}"
        anchor = f'<a id="{html.escape(label)}"></a>\n\n' if label else ""
        if nested:  # a quote's marks would stand inside a formula of several lines
            return anchor + "$$" + " ".join(latex.split()) + "$$"
        return f"{anchor}$$\n{latex}\n$$"

    def _admonition(self, name: str, argument: str, options: dict, body: str, line: int) -> str:
        if name != "admonition":
            body, argument = f"{argument}\n{body}".strip(), name.capitalize()
        if "dropdown" in str(options.get("class", "")).split():
            return self._do_dropdown(name, argument, options, body, line)
        text = f"**{self.inline(argument, line)}**\n\n{self.blocks(body, line, nested=True)}"
        return "\n".join(f"> {row}".rstrip() for row in text.split("\n"))

    def _do_dropdown(self, name: str, argument: str, options: dict, body: str, line: int) -> str:
        title = self._html(self.inline(argument or "Open", line))
        inside = self.blocks(body, line, nested=True)
        return f"<details>\n<summary><b>{title}</b></summary>\n\n{inside}\n\n</details>"

    def _do_epigraph(self, name: str, argument: str, options: dict, body: str, line: int) -> str:
        return "\n".join(f"> {row}".rstrip() for row in self.blocks(body, line, True).split("\n"))

    def _do_math(self, name: str, argument: str, options: dict, body: str, line: int) -> str:
        return self._display(f"{argument}\n{body}", str(options.get("label", "")), nested=False)

    def _do_image(self, name: str, argument: str, options: dict, body: str, line: int) -> str:
        path = (
            ROOT / "book" / argument.lstrip("/")
            if argument.startswith("/")
            else self.page.path.parent / argument
        )
        if not path.is_file():
            raise self.fail(line - 1, f"there is no image {argument}")
        if not options.get("alt"):
            raise self.fail(line - 1, f"the image {argument} has no alt text")
        kind = mimetypes.guess_type(path.name)[0]
        data = base64.b64encode(path.read_bytes()).decode()
        return f'<img alt="{html.escape(str(options["alt"]))}" src="data:{kind};base64,{data}">'

    def _do_figure(self, name: str, argument: str, options: dict, body: str, line: int) -> str:
        image = self._do_image(name, argument, options, "", line)
        label = self.book.labels.get(str(options.get("name", "")))
        number = f"**Figure {label.number}.** " if label else ""
        caption = self.blocks(body, line)
        return f"{image}\n\n{number}{caption}".rstrip()

    def _do_list_table(self, name: str, argument: str, options: dict, body: str, line: int) -> str:
        rows = [[self._cell(cell, line) for cell in row] for row in _table_rows(body)]
        if not rows or len({len(row) for row in rows}) > 1:
            raise self.fail(line, "a list-table needs rows of equal length")
        if str(options.get("header-rows", "0")) != "1":
            rows.insert(0, [""] * len(rows[0]))
        rows.insert(1, ["---"] * len(rows[0]))
        table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
        title = f"**{self.inline(argument, line)}**\n\n" if argument else ""
        return title + table

    def _cell(self, text: str, line: int) -> str:
        """Keep a bar inside a formula or a code span from ending the table's cell."""
        text = " ".join(self.inline(text, line).split())
        text = re.sub(r"\$[^$]+\$", lambda m: _bars(m[0]), text)
        return text.replace("|", r"\|")

    def _do_glossary(self, name: str, argument: str, options: dict, body: str, line: int) -> str:
        raise self.fail(line - 1, "a glossary belongs on a page without code")

    def _do_bibliography(
        self, name: str, argument: str, options: dict, body: str, line: int
    ) -> None:
        return None  # every notebook closes with the references it cites

    # Inside a block

    def inline(self, text: str, line: int) -> str:
        """Convert roles, formulas and links in running text; code spans stay as they are."""
        out: list[str] = []
        position = 0
        while position < len(text):
            rest = text[position:]
            here = line + text.count("\n", 0, position)
            if match := re.match(r"\{([a-zA-Z][\w:+.-]*)\}(`+)(.+?)(?<!`)\2(?!`)", rest, re.DOTALL):
                out.append(self._role(match[1], " ".join(match[3].split()), here))
            elif match := re.match(
                r"(`+)(?!`).+?(?<!`)\1(?!`)|\\[^A-Za-z\d\s]|<[a-z/!][^>]*>", rest, re.DOTALL
            ):
                out.append(match[0])
            elif match := re.match(r"\$\$(?!\$)(.+?)\$\$[ ]*(\([\w:.-]+\))?", rest, re.DOTALL):
                if match[2]:
                    raise self.fail(here, "put a blank line before a formula that has a label")
                out.append("$$" + " ".join(expand_macros(match[1]).split()) + "$$")
            elif match := re.match(r"\$(?=\S)((?:\\.|[^$\\])+?)(?<=\S)\$(?!\d)", rest, re.DOTALL):
                out.append("$" + " ".join(expand_macros(match[1]).split()) + "$")
            elif match := re.match(r"\[([^\[\]]*)\]\(([^()\s]+)\)", rest):
                out.append(self._link(match[1], match[2], here))
            elif match := re.match(r"(?<=[\]`)$*])\{[.#][^}\n]*\}", rest) if position else None:
                pass
            else:
                match = re.match(r"[^{`\\<$\[]+|.", rest, re.DOTALL)
                out.append(match[0])
            position += match.end()
        return "".join(out)

    def _role(self, name: str, content: str, line: int) -> str:
        if name not in ROLES:
            raise self.fail(line, f"the role {{{name}}} is not on the exporter's list")
        target, text = content, ""
        if match := re.fullmatch(r"(.+?)\s*<([^<>]+)>", content):
            text, target = match[1], match[2]
        if name == "math":
            return f"${expand_macros(content)}$"
        if name == "term":
            return text or target
        if name == "download":
            return f"*{text or Path(target).name}*"
        if name == "abbr":
            short, _, long = content.partition(" (")
            return f'<abbr title="{html.escape(long.rstrip(")"))}">{html.escape(short)}</abbr>'
        if name == "glue:text":
            key, _, spec = content.partition(":")
            if key not in self.glued:
                raise self.fail(line, f"nothing is glued under {key!r}")
            return written(self.glued[key], spec)
        if name.startswith("cite:"):
            return self._citation(name, content, line)
        if name == "doc":
            return self._to_page(target, text, line)
        return self._to_label(name, target, text, line)

    def _link(self, text: str, target: str, line: int) -> str:
        if re.match(r"(https?:|mailto:)", target):
            return f"[{self.inline(text, line)}]({target})"
        if target.startswith("#"):
            return self._to_label("ref", target[1:], self.inline(text, line), line)
        page, _, label = target.partition("#")
        if page.endswith(".md") and not label:
            return self._to_page(page.removesuffix(".md"), self.inline(text, line), line)
        if page.endswith(".md"):
            return self._to_label("ref", label, self.inline(text, line), line)
        raise self.fail(line, f"the link {target!r} leads nowhere from a notebook")

    def _to_page(self, target: str, text: str, line: int) -> str:
        name = target.lstrip("/").removeprefix("book/")
        if name not in self.book.pages:
            raise self.fail(line, f"there is no page {target!r}")
        page = self.book.pages[name]
        return self._linked(page.name, "", text or self.inline(page.title, line))

    def _to_label(self, role: str, target: str, text: str, line: int) -> str:
        label = self.book.labels.get(target)
        if label is None:
            raise self.fail(line, f"the reference {target!r} is not resolved")
        if role == "eq":
            text = f"({label.number})"
            if label.page != self.page.name:
                text = f"equation {text} of {self.book.pages[label.page].title}"
        elif role == "numref" and label.number:
            pattern = text or "Figure %s"
            text = pattern.replace("%s", str(label.number)).replace("{number}", str(label.number))
        text = text or self.inline(label.title, line)
        if not text:
            raise self.fail(
                line, f"the reference {target!r} needs a text: {{ref}}`text <{target}>`"
            )
        return self._linked(label.page, target, text)

    def _linked(self, page: str, label: str, text: str) -> str:
        if page == self.page.name:
            return f"[{text}](#{label})" if label else text
        anchor = f"#{label}" if label else ""
        if address := self.book.page_url(page):
            return f"[{text}]({address}{anchor})"
        if self.book.pages[page].has_code:
            return f"[{text}]({page}.ipynb)"
        return f"*{text}*"

    # The bibliography

    def _citation(self, role: str, keys: str, line: int) -> str:
        shown = []
        for key in (part.strip() for part in keys.split(",")):
            if key not in self.book.bibliography.entries:
                raise self.fail(line, f"{key!r} is not in the bibliography")
            if key not in self.cited:
                self.cited.append(key)
            entry = self.book.bibliography.entries[key]
            names, year = _names(entry), entry.fields["year"]
            shown.append(f"{names}, {year}" if role == "cite:p" else f"{names} ({year})")
        return f"({'; '.join(shown)})" if role == "cite:p" else ", ".join(shown)

    def references(self) -> str:
        """Return the list of what the page cites, in the order of the names."""
        entries = sorted((self.book.bibliography.entries[key] for key in self.cited), key=_sorting)
        return "\n".join(f"- {_reference(entry)}" for entry in entries)

    def _html(self, markdown: str) -> str:
        return MarkdownIt().renderInline(markdown)


def _bars(formula: str) -> str:
    """Write the bars of a formula by name: a table's cell would end at the sign."""
    return re.sub(r"\\\||\|", lambda m: r"\Vert " if m[0] == r"\|" else r"\vert ", formula)


def _table_rows(body: str) -> list[list[str]]:
    rows: list[list[str]] = []
    depth = 0
    for token in parser().parse(body):
        depth += token.nesting if token.type.startswith("bullet_list") else 0
        if token.type == "list_item_open":
            rows.append([]) if depth == 1 else rows[-1].append("")
        elif token.type == "inline" and depth == 2:
            rows[-1][-1] = f"{rows[-1][-1]} {token.content}".strip()
    return rows


def _plain(latex: str) -> str:
    return str(Text.from_latex(latex))


def _people(entry: Entry) -> list[str]:
    persons = entry.persons.get("author") or entry.persons.get("editor") or []
    return [_plain(" ".join(person.prelast_names + person.last_names)) for person in persons]


def _names(entry: Entry) -> str:
    people = _people(entry) or [_plain(entry.fields["title"])]
    if len(people) > 2:
        return f"{people[0]} et al."
    return " and ".join(people)


def _sorting(entry: Entry) -> tuple:
    return [name.casefold() for name in _people(entry)], entry.fields["year"]


def _reference(entry: Entry) -> str:
    persons = entry.persons.get("author") or entry.persons.get("editor") or []
    people = [_plain(f"{' '.join(p.first_names + p.middle_names)} {name}".strip())
              for p, name in zip(persons, _people(entry), strict=True)]  # fmt: skip
    if len(people) > 8:
        people = [*people[:8], "and others"]
    fields = entry.fields
    place = next(
        (
            fields[k]
            for k in ("journal", "booktitle", "publisher", "howpublished", "institution")
            if k in fields
        ),
        "",
    )
    text = f"{', '.join(people)} ({fields['year']}). *{_plain(fields['title'])}*."
    if place:
        text += f" {_plain(place)}."
    if fields.get("archiveprefix", "").lower() == "arxiv":
        text += f" [arXiv:{fields['eprint']}](https://arxiv.org/abs/{fields['eprint']})"
    elif "url" in fields:
        text += f" <{fields['url']}>"
    elif "doi" in fields:
        text += f" <https://doi.org/{fields['doi']}>"
    return text


def left_overs(source: str) -> Iterator[str]:
    """Yield everything in a converted cell that only MyST understands."""
    for token in parser().parse(source):
        for item in (token, *(token.children or ())):
            info = item.info.strip()
            if item.type in _LEFT_OVER:
                yield f"{item.type}: {item.content or item.meta}"
            elif item.type in ("fence", "colon_fence") and (
                info.startswith("{") or item.type == "colon_fence"
            ):
                yield f"directive {info}"
            elif item.type == "link_open":
                href = str(item.attrs.get("href", ""))
                if not re.match(r"https?:|mailto:|#|[\w.-]+\.ipynb$", href):
                    yield f"link to {href}"
            elif item.type.startswith("math") or item.type == "amsmath":
                names = [name for name in re.findall(r"\\[A-Za-z]+", item.content) if name in PLAIN]
                if names or r"\html" in item.content:
                    yield f"macros {names} in {item.content}"
