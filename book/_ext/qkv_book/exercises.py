"""The ``exercise`` directive: an exercise of ``qkv.checks`` in a page.

    ```{exercise} dot_product.sign
    ```

The page holds all of it as HTML: prompt, form, hints folded into one another, folded solution.
Without JavaScript the form rests and the rest can be read; ``js/exercises`` wakes it up. Answers
and questions travel as JSON in the page, so that nothing is fetched. Other builders get plain
paragraphs.
"""

from __future__ import annotations

import json
import re
import sys
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

from .macros import PLAIN

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.writers.html5 import HTML5Translator

    from qkv.checks import Exercise

HINT = ("Hint 1 of 3", "Hint 2 of 3", "Hint 3 of 3")
ASLEEP = "This page checks answers with a script, which is off. The hints and the solution work."


class exercise_node(nodes.General, nodes.Element):  # noqa: N801
    """The frame: id, title and number of an exercise."""


class exercise_part(nodes.General, nodes.Element):  # noqa: N801
    """A piece of it, by ``name``: prompt, form, option, fold, where."""


class ExerciseDirective(SphinxDirective):
    """Put the exercise of this id here."""

    required_arguments = 1
    has_content = False

    def run(self) -> list[nodes.Node]:
        """Build the nodes; the texts are read as Markdown of this page."""
        checks = _library(Path(self.env.srcdir))
        identity = self.arguments[0].strip()
        try:
            exercise = checks.get(identity)
        except checks.UnknownExerciseError as mistake:
            raise self.error(str(mistake)) from None
        for source in Path(checks.__file__).parent.glob("*.py"):
            self.env.note_dependency(str(source))
        return [self._frame(exercise)]

    def _frame(self, exercise: Exercise) -> exercise_node:
        seen = self.env.temp_data.setdefault("qkv_exercises", [])
        if exercise.id in seen:
            raise self.error(f"exercise {exercise.id!r} stands on this page twice")
        seen.append(exercise.id)
        name = f"exercise-{exercise.id}"
        anchor = nodes.make_id(name)
        frame = exercise_node(
            ids=[anchor], names=[], exercise=exercise.id, kind=exercise.kind,
            title=exercise.title, number=len(seen), function=getattr(exercise, "function", ""),
        )  # fmt: skip
        self.state.document.note_explicit_target(frame)
        labels = self.env.get_domain("std")
        labels.anonlabels[name.lower()] = self.env.docname, anchor
        labels.labels[name.lower()] = self.env.docname, anchor, exercise.title
        frame += self._part("prompt", exercise.prompt)
        if exercise.kind == "code":
            frame += self._stub(exercise)
        else:
            frame += self._form(exercise)
        inner = frame
        for number, text in enumerate(exercise.hints):
            fold = self._part("fold", text, label=HINT[number])
            inner += fold
            inner = fold
        frame += self._part("fold", exercise.solution, label="Solution", solution=True)
        return frame

    def _part(self, name: str, markdown: str, **more: object) -> exercise_part:
        part = exercise_part(name=name, **more)
        self.state.nested_parse(
            StringList(_with_subscripts(markdown).splitlines(), f"exercise {self.arguments[0]}"),
            0,
            part,
        )
        return part

    def _stub(self, exercise: Exercise) -> exercise_part:
        code = nodes.literal_block(exercise.stub, exercise.stub.rstrip(), language="python")
        where = exercise_part(name="where", call=exercise.call)
        return exercise_part("", code, where, name="stub")

    def _form(self, exercise: Exercise) -> exercise_part:
        form = exercise_part(name="form", data=_data(exercise), kind=exercise.kind)
        if exercise.kind in ("number", "row"):
            form["labels"] = list(getattr(exercise, "labels", ()) or (exercise.label,))
        elif exercise.kind == "cell":
            form["table"] = exercise
        for part in self._parts(exercise):
            form += part
        return form

    def _parts(self, exercise: Exercise) -> list[exercise_part]:
        """Return the options, steps or items, whose texts are Markdown."""
        if exercise.kind == "order":
            return [
                self._inline(step, name="step", key=letter, say=_spoken(step))
                for letter, step in exercise.lettered
            ]
        if exercise.kind in ("match", "fill"):
            choices = [_bare(choice) for choice in exercise.choices]
            return [
                self._inline(item, name="item", number=n, choices=choices, say=_spoken(label))
                for n, (item, label) in enumerate(zip(exercise.items, exercise.labels, strict=True))
            ]
        return [
            self._inline(
                option.text,
                name="option",
                key=option.key,
                say=_spoken(option.text) if "$" in option.text else "",
            )
            for option in exercise.options
        ]

    def _inline(self, markdown: str, **more: object) -> exercise_part:
        read = self._part("", markdown)
        inline = [child for paragraph in read.children for child in paragraph.children]
        return exercise_part("", *inline, **more)


def _with_subscripts(markdown: str) -> str:
    """Write W_Q as a formula wherever it stands in plain words."""
    pieces = re.split(r"(```.*?```|`[^`]*`|\$\$.*?\$\$|\$[^$]*\$)", markdown, flags=re.DOTALL)
    return "".join(
        re.sub(r"\b([A-Z])_([A-Za-z0-9]+)\b", r"$\1_{\2}$", piece) if n % 2 == 0 else piece
        for n, piece in enumerate(pieces)
    )


def _spoken(markdown: str) -> str:
    """Return what a screen reader says for a text that may hold formulas."""
    text = re.sub(r"\\[A-Za-z]+", lambda macro: PLAIN.get(macro[0], ""), markdown)
    return re.sub(r"\\top\b", "T", text).translate(str.maketrans("", "", "${}^*`\\"))


def _bare(markdown: str) -> str:
    """Return a text without the marks of Markdown."""
    return re.sub(r"[`*$]", "", markdown)


def _library(root: Path):
    """Import ``qkv.checks`` of this checkout."""
    source = str(root / "src")
    if (root / "src" / "qkv").is_dir() and source not in sys.path:
        sys.path.insert(0, source)
    import qkv.checks

    return qkv.checks


def _data(exercise: Exercise) -> dict[str, object]:
    """Return what the script needs to judge an answer."""
    from qkv.checks.report import inline_html

    return exercise.data(inline_html)


def _script_safe(data: object) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


# --- HTML ----------------------------------------------------------------------------------------


def visit_exercise(self: HTML5Translator, node: exercise_node) -> None:
    """Open the frame with number, title and the mark of success."""
    anchor = node["ids"][0]
    self.body.append(
        f'<div class="qkv-exercise" id="{anchor}" role="group" aria-labelledby="{anchor}-title"'
        f' data-qkv-exercise="{escape(node["exercise"])}" data-kind="{node["kind"]}">'
        f'<div class="qkv-exercise-head"><p class="qkv-exercise-title" id="{anchor}-title">'
        f'<span class="qkv-exercise-number">Exercise {node["number"]}</span> '
        f"{escape(node['title'])}</p>"
    )
    if node["kind"] != "code":
        self.body.append(
            '<p class="qkv-exercise-done"><span aria-hidden="true">✓ </span>Solved</p>'
        )
    self.body.append("</div>")


def depart_exercise(self: HTML5Translator, node: exercise_node) -> None:
    """Close the frame."""
    self.body.append("</div>\n")


def visit_part(self: HTML5Translator, node: exercise_part) -> None:
    """Open a part."""
    anchor = _anchor(node)
    name = node["name"]
    if name == "form":
        self.body.append(
            f'<form class="qkv-exercise-form" novalidate aria-labelledby="{anchor}-title">'
            '<fieldset disabled><legend class="qkv-sr-only">Your answer</legend>'
            f"{_OPEN[node['kind']]}"
        )
        if "table" in node:
            self.body.append(_grid(node["table"], anchor))
        for number, label in enumerate(node.get("labels", ())):
            field = f"{anchor}-{number}"
            self.body.append(
                f'<div class="qkv-exercise-field"><label for="{field}">{_subscripts(label)}</label>'
                f'<input id="{field}" name="answer" type="text" inputmode="text" size="7"'
                ' autocomplete="off" autocapitalize="off" spellcheck="false"></div>'
            )
    elif name == "option":
        self.body.append(
            f'<label class="qkv-exercise-option"><input type="radio" name="{anchor}"'
            f' value="{node["key"]}"{_label(node["say"])}><span>'
        )
    elif name == "step":
        self.body.append(f'<li data-key="{node["key"]}"><span class="qkv-exercise-step">')
    elif name == "item":
        field = f"{anchor}-{node['number']}"
        self.body.append(f'<div class="qkv-exercise-item"><label for="{field}">')
    elif name == "fold":
        kind = "solution" if node.get("solution") else "hint"
        self.body.append(
            f'<details class="qkv-fold qkv-fold-{kind}"><summary>{node["label"]}</summary>'
            '<div class="qkv-fold-body">'
        )
    elif name == "where":
        call = escape(node["call"])
        link = _notebook_link(self)
        place = "the notebook of this chapter"
        if link:
            place = f'<a href="{escape(link)}" download>{place}</a>'
        self.body.append(
            f'<p class="qkv-exercise-where">Write it in {place}; there <code>{call}</code> says'
            " what differs, and asks why.</p>"
        )
    else:
        self.body.append(f'<div class="qkv-exercise-{name}">')


def depart_part(self: HTML5Translator, node: exercise_part) -> None:
    """Close a part."""
    name = node["name"]
    if name == "form":
        self.body.append(
            f"{_CLOSE.get(node['kind'], '</div>')}"
            '<button type="submit" class="qkv-exercise-check">Check</button></fieldset>'
            f'<noscript><p class="qkv-exercise-asleep">{ASLEEP}</p></noscript>'
            '<div class="qkv-exercise-feedback" role="status"></div>'
            '<script type="application/json" class="qkv-exercise-data">'
            f"{_script_safe(node['data'])}</script></form>"
        )
    elif name == "option":
        self.body.append("</span></label>")
    elif name == "step":
        self.body.append(f"</span>{_mover('up', node)}{_mover('down', node)}</li>")
    elif name == "item":
        field = f"{_anchor(node)}-{node['number']}"
        choices = "".join(
            f'<option value="{n}">{escape(choice)}</option>'
            for n, choice in enumerate(node["choices"])
        )
        self.body.append(
            f'</label><select id="{field}" name="answer"{_label(node["say"])}>'
            f'<option value="">choose</option>{choices}</select></div>'
        )
    elif name == "fold":
        self.body.append("</div></details>")
    elif name != "where":
        self.body.append("</div>")


_OPEN = {
    "choice": '<div class="qkv-exercise-options">',
    "number": '<div class="qkv-exercise-fields">',
    "row": '<div class="qkv-exercise-fields">',
    "order": '<ol class="qkv-exercise-order">',
    "match": '<div class="qkv-exercise-items">',
    "fill": '<div class="qkv-exercise-items qkv-exercise-blanks">',
    "cell": '<div class="qkv-exercise-grid">',
}
_CLOSE = {"order": '</ol><p class="qkv-sr-only" aria-live="polite"></p>'}


def _mover(way: str, step: exercise_part) -> str:
    """Return the button that moves a step up or down."""
    arrow = {"up": "↑", "down": "↓"}[way]
    return (
        f'<button type="button" class="qkv-exercise-move" data-move="{way}"'
        f' aria-label="Move {way}: {escape(step["say"])}">{arrow}</button>'
    )


def _grid(exercise: Exercise, anchor: str) -> str:
    """Return a table with one radio button in each cell, shaded by its value."""
    words = exercise.row_word, exercise.column_word
    head = "".join(f'<th scope="col">{_subscripts(name)}</th>' for name in exercise.columns)
    lines = []
    for r, row in enumerate(exercise.rows):
        cells = []
        for c, column in enumerate(exercise.columns):
            text = exercise.text(r, c)
            say = f"{words[0]} {row}, {words[1]} {column}" + (f": {text}" if text else "")
            shade = f' style="--share:{exercise.share(r, c):.2f}"' if text else ""
            cells.append(
                f'<td{shade}><label><input type="radio" name="{anchor}" value="{r} {c}"'
                f' aria-label="{escape(say)}"><span>{escape(text)}</span></label></td>'
            )
        lines.append(f'<tr><th scope="row">{_subscripts(row)}</th>{"".join(cells)}</tr>')
    corner = f"{escape(words[0])} ↓ {escape(words[1])} →"
    return (
        f'<table><caption class="qkv-sr-only">{corner}</caption><thead><tr>'
        f"<td>{corner}</td>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
    )


def _anchor(node: nodes.Element) -> str:
    while not isinstance(node, exercise_node):
        node = node.parent
    return node["ids"][0]


def _label(text: str) -> str:
    return f' aria-label="{escape(text)}"' if text else ""


def _subscripts(label: str) -> str:
    """Write W_Q with a lowered Q."""
    words = []
    for word in label.split():
        stem, _, low = word.partition("_")
        words.append(f"{escape(stem)}<sub>{escape(low)}</sub>" if low else escape(word))
    return " ".join(words)


def _notebook_link(translator: HTML5Translator) -> str:
    """Return the address of this page's notebook, or nothing when there is none."""
    builder = translator.builder
    page = builder.current_docname
    name = f"{page.removeprefix('book/')}.ipynb"
    if not (Path(builder.srcdir) / "notebooks" / name).is_file():
        return ""
    return "../" * builder.get_target_uri(page).count("/") + f"notebooks/{name}"


# --- everything but HTML -------------------------------------------------------------------------


class PlainExercises(SphinxPostTransform):
    """Turn exercises into paragraphs for builders that know no forms."""

    default_priority = 5

    def is_supported(self) -> bool:
        """Leave HTML alone."""
        return self.app.builder.format != "html"

    def run(self, **kwargs: object) -> None:
        """Replace every frame by what it says."""
        for frame in list(self.document.findall(exercise_node)):
            title = nodes.strong("", f"Exercise {frame['number']}. {frame['title']}")
            frame.replace_self([nodes.paragraph("", "", title), *self._plain(frame)])

    def _plain(self, parent: nodes.Element) -> list[nodes.Node]:
        out: list[nodes.Node] = []
        for part in parent.children:
            if not isinstance(part, exercise_part):
                out.append(part)
            elif part["name"] == "form":
                items = [
                    nodes.list_item("", nodes.paragraph("", "", *option.children))
                    for option in part.children
                ]
                out += [nodes.bullet_list("", *items)] if items else []
                choices = [choice for item in part.children for choice in item.get("choices", ())]
                if choices:
                    out.append(nodes.paragraph("", " · ".join(dict.fromkeys(choices))))
                if "table" in part:
                    out.append(nodes.literal_block("", "\n".join(part["table"].sheet())))
            elif part["name"] == "where":
                out.append(nodes.paragraph("", f"Check it in the notebook: {part['call']}"))
            else:
                if "label" in part:
                    out.append(nodes.paragraph("", "", nodes.emphasis("", f"{part['label']}:")))
                out += self._plain(part)
        return out


def setup(app: Sphinx) -> dict[str, object]:
    """Add the directive, its nodes and the plain form."""
    app.add_directive("exercise", ExerciseDirective)
    app.add_node(exercise_node, html=(visit_exercise, depart_exercise))
    app.add_node(exercise_part, html=(visit_part, depart_part))
    app.add_post_transform(PlainExercises)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
