"""What a page needs and no more: its scripts, its security policy, its accessible markup.

The layout (``book/_templates/layout.html``) reads the ``qkv_*`` variables made here. The body of
the page, already HTML at this point, is cured of what a reader or a browser would stumble over.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from pygments.token import STANDARD_TYPES
from sphinx.util import logging

from .address import Address
from .colours import TOKENS as COLOURED

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.config import Config

LOGGER = logging.getLogger(__name__)
TOKENS = frozenset(STANDARD_TYPES.values()) - {""}
THEME = Path(__file__).with_name("theme")
MATHS_FONTS = ("katex-main-regular.woff2", "katex-math-italic.woff2")


@lru_cache
def head_script() -> str:
    """Return the one inline script: it sets the colours before the first paint."""
    lines = (THEME / "head.js").read_text(encoding="utf-8").splitlines()
    return " ".join(line.strip() for line in lines if not line.strip().startswith("//"))


@lru_cache
def content_policy() -> str:
    """Return the Content-Security-Policy: this site, and that one inline script by its hash."""
    digest = base64.b64encode(hashlib.sha256(head_script().encode()).digest()).decode()
    return "; ".join(
        [
            "default-src 'self'",
            f"script-src 'self' 'sha256-{digest}'",
            "style-src 'self' 'unsafe-inline'",  # KaTeX places glyphs with style attributes
            "img-src 'self' data:",
            "object-src 'none'",
            "base-uri 'none'",
        ]
    )


def scripts_for(body: str) -> list[str]:
    """Return the scripts that this body needs, in the order they must run."""
    names = sorted(set(re.findall(r'data-qkv-widget="([a-z0-9-]+)"', body)))
    scripts = ["book.js", *(f"qkv/{name}.js" for name in names)]
    if names:
        scripts.append("qkv/host.js")
    if "data-qkv-exercise" in body:
        scripts.append("qkv/exercises.js")
    return scripts


def fonts_for(body: str) -> list[str]:
    """Return the fonts worth asking for before the stylesheet is read."""
    return [
        "text.woff2",
        *(["text-italic.woff2"] if "<em" in body else []),
        *(MATHS_FONTS if 'class="katex"' in body else ()),
    ]


def notebook_of(app: Sphinx, pagename: str) -> str:
    """Return the file name of the page's notebook, or nothing when there is none."""
    name = f"{pagename.removeprefix('book/')}.ipynb"
    return name if (Path(app.srcdir) / "notebooks" / name).is_file() else ""


def description(doctree: nodes.document | None) -> str:
    """Return the first paragraph of prose, shortened at a word."""
    if doctree is None:
        return ""
    for paragraph in doctree.findall(nodes.paragraph):
        if not isinstance(paragraph.parent, nodes.section) or list(paragraph.findall(nodes.math)):
            continue
        text = " ".join(paragraph.astext().split())
        if len(text) >= 40 and not re.match(r"About \d+ minutes", text):
            return text if len(text) <= 180 else text[:180].rsplit(" ", 1)[0] + " …"
    return ""


def part_of(app: Sphinx, pagename: str) -> str:
    """Return the caption of the part that holds a page."""
    for tree in app.config.external_site_map[app.config.root_doc].subtrees:
        if tree.caption and pagename in list(tree.files()):
            return tree.caption
    return ""


def inner_toc(toc: str | None) -> str:
    """Return the sections of a page without the page's own title."""
    found = re.search(r"</a>\s*(<ul>.*</ul>)\s*</li>\s*</ul>", toc or "", re.S)
    return found[1] if found else ""


def image_size(path: Path) -> tuple[int, int] | None:
    """Return the size of an SVG or PNG picture in CSS pixels."""
    if path.suffix == ".png":
        head = path.read_bytes()[:24]
        return int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")
    if path.suffix == ".svg":
        tag = re.search(r"<svg\b[^>]*>", path.read_text(encoding="utf-8")[:4000])
        sizes = []
        for name in ("width", "height"):
            found = tag and re.search(rf'\s{name}="([\d.]+)(pt|px|)"', tag[0])
            if not found:
                return None
            sizes.append(round(float(found[1]) * (4 / 3 if found[2] == "pt" else 1)))
        return sizes[0], sizes[1]
    return None


def size_images(app: Sphinx, body: str) -> str:
    """Give every picture its size, so that nothing moves when it arrives."""
    files = {name: Path(app.srcdir, source) for source, name in app.builder.images.items()}

    def with_size(match: re.Match[str]) -> str:
        tag = match[0]
        source = re.search(r'src="[^"]*_images/([^"]+)"', tag)
        if not source or "width=" in tag or source[1] not in files:
            return tag
        size = image_size(files[source[1]])
        if not size:
            return tag
        extra = f' width="{size[0]}" height="{size[1]}" decoding="async"'
        return tag.rstrip(" />") + extra + ">"

    return re.sub(r"<img\b[^>]*>", with_size, body)


def spoken(match: re.Match[str]) -> str:
    """Return a heading cell or a label whose formulas also have a name in words.

    A name is made of text, and neither browsers nor checkers take MathML for text.
    """
    return re.sub(
        r'(<span class="katex-mathml">)<math\b.*?</math>',
        lambda m: m[1] + " ".join(re.sub(r"<[^>]*>", " ", m[0]).split()),
        match[0],
        flags=re.S,
    )


def cure(body: str) -> str:
    """Mend the markup that docutils, Sphinx and the theme leave behind."""
    # roles that assistive technology no longer knows
    body = body.replace(' role="doc-biblioentry"', ' role="listitem"')
    # a note is no landmark
    body = re.sub(
        r'<aside class="footnote-list.*?</aside>\s*</aside>',
        lambda m: re.sub(r"(</?)aside\b", r"\1div", m[0]),
        body,
        flags=re.S,
    )
    # the sign after a heading
    body = re.sub(
        r'(<a class="headerlink" href="[^"]*") title="([^"]*)"', r'\1 aria-label="\2"', body
    )
    # the sign to unfold code: what it says is its name
    body = body.replace('<summary aria-label="Toggle hidden content">', "<summary>")
    # a table's empty corner is no heading
    body = re.sub(r'<th class="[^"]*">\s*(<p>\s*</p>)?\s*</th>', "<td></td>", body)
    body = re.sub(r"<(th|label)\b.*?</\1>", spoken, body, flags=re.S)
    body = lighten_code(body)
    # time and prerequisites under the title
    return re.sub(r"(</h1>\s*)<p>(?=(?:<em>)?About \d+ minutes)", r'\1<p class="time">', body)


def lighten_code(body: str) -> str:
    """Drop the elements around code tokens that have no colour: half of all there are."""
    body = re.sub(
        r'<span class="(\w+)">([^<]*)</span>',
        lambda m: m[0] if m[1] in COLOURED or m[1] not in TOKENS else m[2],
        body,
    )
    return re.sub(r'<span class="pre">([^<]*)</span>', r"\1", body)


def refuse_inline_code(body: str, pagename: str) -> None:
    """Warn about code that the policy would block in the reader's browser."""
    for tag in re.findall(r"<script\b[^>]*>", body):
        if "application/json" not in tag:
            LOGGER.warning("the policy blocks this inline script: %s", tag, location=pagename)
    for tag in re.findall(r"<[a-z]+\b[^>]*\son[a-z]+\s*=\s*[\"'][^>]*>", body):
        LOGGER.warning("the policy blocks this inline handler: %s", tag, location=pagename)


def fill_context(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> str | None:
    """Prepare one page."""
    address: Address = app.config.qkv_address
    body = context.get("body") or ""
    if body:
        refuse_inline_code(body, pagename)
        body = context["body"] = size_images(app, cure(body))
    notebook = notebook_of(app, pagename)
    is_front = pagename == app.config.root_doc
    context.update(
        qkv_head_script=head_script(),
        qkv_csp=content_policy(),
        qkv_scripts=scripts_for(body),
        qkv_preload=fonts_for(body),
        qkv_description=description(doctree),
        qkv_part=part_of(app, pagename),
        qkv_page_toc=inner_toc(context.get("toc")) if context.get("display_toc") else "",
        qkv_notebook=context["pathto"](f"notebooks/{notebook}", 1) if notebook else "",
        qkv_launchers=address.launchers(notebook) if notebook else [],
        qkv_repository=address.repository,
        qkv_issues=address.issues,
        qkv_canonical=address.page("" if is_front else f"{pagename}.html") if doctree else "",
        qkv_book_toc=book_toc(context),
    )
    return None


def book_toc(context: dict[str, Any]) -> str:
    """Return the list of chapters by parts; the current page is marked for everybody."""
    if "toctree" not in context:
        return ""
    html = context["toctree"](collapse=True, titles_only=True, includehidden=True, maxdepth=1)
    html = re.sub(r' role="heading"| aria-level="\d"', "", html or "")
    return re.sub(r'<a class="current', '<a aria-current="page" class="current', html)


def read_address(app: Sphinx, config: Config) -> None:
    """Take the addresses from the environment."""
    config.qkv_address = Address.from_environment()


def setup(app: Sphinx) -> None:
    """Connect after the theme, whose variables are then complete."""
    app.add_config_value("qkv_address", Address(), "html", [Address])
    app.connect("config-inited", read_address)
    app.connect("html-page-context", fill_context, priority=900)
