"""The one stylesheet, the fonts it needs, the scripts.

All CSS of the book is bundled into ``_static/book.css``: the book's own files, the widgets' (from
``src/qkv/widgets/static``), the colours of code, and those rules of KaTeX that some page uses.
Every font is cut down to the characters that occur in the built pages.
"""

from __future__ import annotations

import hashlib
import logging
import re
import shutil
import subprocess
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from fontTools import subset
from fontTools.ttLib import TTFont
from fontTools.varLib import instancer

from .colours import code_colours
from .tools import npm_file

if TYPE_CHECKING:
    from sphinx.application import Sphinx

logging.getLogger("fontTools").setLevel(logging.WARNING)

THEME = Path(__file__).with_name("theme")
SERIF = "@fontsource-variable/source-serif-4/files/source-serif-4-latin-wght-{}.woff2"

# Always in the text fonts: what scripts may write, what a reader may see after an edit.
BASIC_CHARACTERS = "".join(map(chr, range(0x20, 0x7F))) + "äöüÄÖÜßéèàç–—‘’“”…×·°−→←±"  # noqa: RUF001

# What a widget's script loads later, on the reader's first action.
LATER = {
    "qkv/patch-attention.js": "qkv/image-model.js",
    "qkv/tokens-to-rows.js": "qkv/word-pieces.js",
    "qkv/translator-explorer.js": "qkv/translator-weights.js",
    "qkv/induction-trace.js": "qkv/two-layers-weights.js",
    "qkv/real-heads.js": "qkv/real-heads-data.js",
}

# Until the text face arrives, a face of every system is drawn at its width, so that no line moves.
FALLBACK = "".join(
    f'@font-face{{font-family:"Book Fallback";font-style:{style};'
    f'src:local("Times New Roman{name}"),local("Liberation Serif{name}"),local("Tinos{name}");'
    f"size-adjust:{wider}%;ascent-override:{103.6 / wider:.1%};descent-override:{33.5 / wider:.1%};"
    "line-gap-override:0%}"
    for style, name, wider in (("normal", "", 119), ("italic", " Italic", 109.6))
)


def widget_files(app: Sphinx) -> Path:
    """Return the folder of built widget scripts."""
    return Path(app.srcdir) / "src" / "qkv" / "widgets" / "static"


def used_classes(pages: list[str]) -> set[str]:
    """Return every class name that stands in a page."""
    names: set[str] = set()
    for page in pages:
        for value in set(re.findall(r'class="([^"]*)"', page)):
            names.update(value.split())
    return names


def katex_rules(classes: set[str]) -> str:
    """Return the rules of KaTeX's stylesheet that the pages use, with our fonts."""
    css = npm_file("katex/dist/katex.min.css").read_text(encoding="utf-8")
    css = re.sub(r"@font-face\{[^}]*\}", "", css)
    kept = []
    for selector, rule in re.findall(r"([^{}]+)\{([^{}]*)\}", css):
        alternatives = [
            one for one in selector.split(",") if set(re.findall(r"\.([\w-]+)", one)) <= classes
        ]
        if alternatives:
            kept.append(f"{','.join(alternatives)}{{{rule}}}")
    return "\n".join(kept)


def katex_characters(pages: list[str]) -> set[str]:
    """Return every character that KaTeX draws (its MathML copy is not drawn)."""
    found: set[str] = set()
    for page in pages:
        for piece in re.findall(
            r'<span class="katex-html\b.*?(?=<span class="katex-mathml"|</p>|$)', page, re.S
        ):
            found.update(re.sub(r"<[^>]*>", "", piece))
    return found | set("0123456789")


def text_characters(pages: list[str]) -> set[str]:
    """Return every character of the pages, markup and all: it costs nothing to know too many."""
    found: set[str] = set(BASIC_CHARACTERS)
    for page in pages:
        found.update(page)
    return found


def katex_fonts(rules: str) -> dict[str, tuple[Path, str]]:
    """Return file name -> (source, @font-face) for the faces of KaTeX."""
    css = npm_file("katex/dist/katex.min.css").read_text(encoding="utf-8")
    faces = {}
    for face in re.findall(r"@font-face\{([^}]*)\}", css):
        family = re.search(r'font-family:"?([\w]+)"?', face)[1]
        source = re.search(r"url\(fonts/([\w-]+)\.woff2\)", face)[1]
        if family not in rules:
            continue
        weight = re.search(r"font-weight:(\w+)", face)[1]
        style = re.search(r"font-style:(\w+)", face)[1]
        name = source.lower().replace("_", "-") + ".woff2"
        faces[name] = (
            npm_file(f"katex/dist/fonts/{source}.woff2"),
            f"@font-face{{font-family:{family};font-weight:{weight};font-style:{style};"
            f'font-display:block;src:url("fonts/{name}") format("woff2")}}',
        )
    return faces


def cut_font(
    source: Path, characters: set[str], weights: tuple[int, int] | int | None
) -> bytes | None:
    """Return a woff2 with these characters only, or nothing when it has none of them."""
    with TTFont(source) as font:
        # KaTeX's stroke through "=" (U+E020) is private, and Python calls that not printable.
        drawn = {c for c in characters if c.isprintable() or "\ue000" <= c <= "\uf8ff"}
        wanted = {ord(c) for c in drawn} & set(font.getBestCmap())
        if not wanted - {0x20, 0xA0}:
            return None
        if weights:
            instancer.instantiateVariableFont(font, {"wght": weights}, inplace=True)
        options = subset.Options(
            flavor="woff2", hinting=False, layout_features=["kern", "liga", "mark", "lnum", "tnum"]
        )
        cutter = subset.Subsetter(options)
        cutter.populate(unicodes=wanted)
        cutter.subset(font)
        font.flavor = "woff2"
        font.recalcTimestamp = False
        out = BytesIO()
        font.save(out)
        return out.getvalue()


def write_fonts(folder: Path, cache: Path, pages: list[str], rules: str) -> str:
    """Write the fonts and return their @font-face rules; unchanged ones come from the cache."""
    folder.mkdir(parents=True, exist_ok=True)
    cache.mkdir(parents=True, exist_ok=True)
    maths, text = katex_characters(pages), text_characters(pages)
    jobs = [
        (name, source, maths, None, face) for name, (source, face) in katex_fonts(rules).items()
    ]
    for name, kind, weights, css_weight in (
        ("text.woff2", "normal", (400, 700), "400 700"),
        ("text-italic.woff2", "italic", 400, "400"),
    ):
        face = (
            f'@font-face{{font-family:"Book Serif";font-style:{kind};font-weight:{css_weight};'
            f'font-display:swap;src:url("fonts/{name}") format("woff2")}}'
        )
        jobs.append((name, npm_file(SERIF.format(kind)), text, weights, face))
    faces = [FALLBACK]
    for name, source, characters, weights, face in jobs:
        with TTFont(source, lazy=True) as font:
            covered = sorted(characters & set(map(chr, font.getBestCmap())))
        key = hashlib.sha256(f"3{source.name}{weights}{''.join(covered)}".encode()).hexdigest()[:16]
        kept = cache / f"{key}.woff2"
        if not kept.exists():
            kept.write_bytes(cut_font(source, characters, weights) or b"")
        if kept.stat().st_size:
            shutil.copyfile(kept, folder / name)
            faces.append(face)
        else:
            (folder / name).unlink(missing_ok=True)
    return "\n".join(faces)


def minify(css: str) -> str:
    """Return the stylesheet without what only its authors read."""
    esbuild = npm_file("esbuild/bin/esbuild")
    done = subprocess.run(
        [str(esbuild), "--minify", "--loader=css", "--target=chrome109,firefox115,safari16.4"],
        input=css,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    if done.stderr.strip():
        raise RuntimeError(f"the stylesheet has a mistake:\n{done.stderr}")
    return done.stdout


def write_assets(app: Sphinx, error: Exception | None) -> None:
    """Write everything into ``_static`` once all pages exist."""
    if error is not None or app.builder.format != "html":
        return
    out = Path(app.outdir)
    static = out / "_static"
    pages = [
        path.read_text(encoding="utf-8")
        for path in sorted(out.rglob("*.html"))
        if path.relative_to(out).parts[0] != "_static"
    ]
    rules = katex_rules(used_classes(pages))
    faces = write_fonts(static / "fonts", out.parent / ".fonts", pages, rules)
    own = sorted((Path(app.srcdir) / "book" / "_static" / "css").glob("*.css"))
    widgets = widget_files(app) / "widgets.css"
    sheets = [faces, rules, code_colours()]
    sheets += [path.read_text(encoding="utf-8") for path in [widgets, *own] if path.exists()]
    (static / "book.css").write_text(minify("\n".join(sheets)), encoding="utf-8")
    for name in ("book.js", "search.js", "favicon.svg"):
        shutil.copyfile(THEME / name, static / name)
    needed = {name for page in pages for name in re.findall(r"_static/(qkv/[\w.-]+\.js)", page)}
    needed |= {later for script, later in LATER.items() if script in needed}
    for name in sorted(needed):
        source = widget_files(app) / Path(name).name
        if not source.exists():
            raise FileNotFoundError(f"{source} is missing: build it with `make bundle`")
        (static / "qkv").mkdir(exist_ok=True)
        shutil.copyfile(source, static / name)


def setup(app: Sphinx) -> None:
    """Connect after the theme has copied its own files."""
    app.connect("build-finished", write_assets, priority=700)
