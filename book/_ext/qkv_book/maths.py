"""Formulas, rendered at build time by KaTeX: no script in the page, MathML for screen readers.

A formula that LaTeX would refuse stops the build with the page, the line and the reason.
"""

from __future__ import annotations

import json
import subprocess
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.errors import SphinxError
from sphinx.locale import _
from sphinx.util.math import get_node_equation_number

from .macros import MACROS
from .tools import node, npm_file

if TYPE_CHECKING:
    from sphinx.application import Sphinx

WORKER = Path(__file__).with_name("katex_worker.mjs")


class FormulaError(SphinxError):
    """A formula that cannot be rendered."""

    category = "Broken formula"


class Katex:
    """A node process that renders formulas, started at the first one and stopped with the build."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None
        self.render = lru_cache(maxsize=None)(self._render)

    def _render(self, tex: str, display: bool) -> str:
        if self.process is None:
            katex = str(npm_file("katex/dist/katex.mjs"))
            command = [node(), str(WORKER), katex, json.dumps(MACROS)]
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"tex": tex, "display": display}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise FormulaError("KaTeX ended without an answer")
        answer = json.loads(line)
        if "error" in answer:
            raise FormulaError(answer["error"])
        return answer["html"]

    def stop(self) -> None:
        """End the process; the next formula would start another."""
        if self.process is None:
            return
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None


KATEX = Katex()


def render(node_: nodes.Element, display: bool) -> str:
    """Render a maths node; a failure names the page and the line."""
    try:
        return KATEX.render(node_.astext().strip(), display)
    except FormulaError as error:
        parent = node_
        while parent.line is None and parent.parent is not None:
            parent = parent.parent
        source, line = parent.source or node_.source, parent.line
        raise FormulaError(f"{source}:{line}: {error}\n    {node_.astext().strip()}") from None


def visit_math(self, node_: nodes.math) -> None:
    """Write a formula inside a sentence."""
    self.body.append(f'<span class="math">{render(node_, display=False)}</span>')
    raise nodes.SkipNode


def visit_displaymath(self, node_: nodes.math_block) -> None:
    """Write a displayed formula: a box that scrolls, and the number beside it."""
    self.body.append(self.starttag(node_, "div", "", CLASS="math-display"))
    self.body.append(f'<div class="math-scroll">{render(node_, display=True)}</div>')
    if node_["number"]:
        self.body.append(f'<span class="eqno">({get_node_equation_number(self, node_)})')
        self.add_permalink_ref(node_, _("Permalink to this equation"))
        self.body.append("</span>")
    self.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Register the renderer; ``html_math_renderer: qkv`` chooses it."""
    app.add_html_math_renderer("qkv", (visit_math, None), (visit_displaymath, None))
    app.connect("build-finished", lambda _app, _error: KATEX.stop())
