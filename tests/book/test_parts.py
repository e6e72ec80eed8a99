"""The parts of the extension that need no build."""

import json
import subprocess
from io import BytesIO

import pytest
from fontTools.ttLib import TTFont
from qkv_book.address import Address
from qkv_book.alt_text import NO_DESCRIPTION, described
from qkv_book.assets import cut_font
from qkv_book.execution import state_of_sources
from qkv_book.macros import MACROS, PLAIN
from qkv_book.site import at_the_root
from qkv_book.tools import node, npm_file


def test_no_address_means_no_links():
    address = Address()
    assert address.page("x.html") == ""
    assert address.issues == ""
    assert address.launchers("02-dot-products.ipynb") == []
    assert address.path == "/"


def test_addresses_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("QKV_BOOK_URL", " https://example.org/a/ ")
    monkeypatch.setenv("QKV_REPOSITORY_URL", "https://github.com/x/y.git")
    address = Address.from_environment()
    assert address.page("") == "https://example.org/a/"
    assert address.path == "/a/"
    assert address.repository == "https://github.com/x/y"
    assert [label for label, _ in address.launchers("n.ipynb")] == ["Colab", "Binder"]


def test_an_address_that_is_none_is_refused(monkeypatch):
    monkeypatch.setenv("QKV_BOOK_URL", "my book")
    with pytest.raises(ValueError, match="QKV_BOOK_URL must be an address"):
        Address.from_environment()


@pytest.mark.parametrize("alt", ["", " ", "54e2a80315fb23c8214e123f92638ec1", "figure.svg"])
def test_what_is_no_description(alt):
    assert NO_DESCRIPTION.match(alt)


@pytest.mark.parametrize("alt", ["A line that rises.", "Figure 2, redrawn", "cat"])
def test_what_is_a_description(alt):
    assert not NO_DESCRIPTION.match(alt)


def test_a_picture_says_what_it_shows_once():
    svg = described('<?xml version="1.0"?><svg width="3pt"><g/></svg>', "Rows & <keys>: two. More.")
    assert '<svg width="3pt" aria-labelledby="title" aria-describedby="desc">' in svg
    assert '<title id="title">Rows &amp; &lt;keys&gt;</title>' in svg
    assert '<desc id="desc">Rows &amp; &lt;keys&gt;: two. More.</desc><g/>' in svg
    assert described(svg, "Another.") == svg
    assert described("no picture", "A line.") == "no picture"


def test_macros_without_colours():
    assert set(PLAIN) == set(MACROS)
    assert PLAIN[r"\Q"] == "{Q}"
    assert PLAIN[r"\Xkv"] == "{X_{kv}}"
    assert not any("htmlClass" in body for body in PLAIN.values())


def test_every_macro_renders():
    worker = npm_file("katex").parents[1] / "book" / "_ext" / "qkv_book" / "katex_worker.mjs"
    katex = str(npm_file("katex/dist/katex.mjs"))
    formulas = [f"X{name}" for name in MACROS] + [r"\WQ^{(i)} \K\T", r"\unknown"]
    asked = "".join(json.dumps({"tex": tex, "display": True}) + "\n" for tex in formulas)
    done = subprocess.run(
        [node(), str(worker), katex, json.dumps(MACROS)],
        input=asked,
        capture_output=True,
        text=True,
        timeout=60,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert ["html" in answer for answer in answers] == [True] * (len(formulas) - 1) + [False]


def test_the_root_copy_of_a_page_has_its_own_links():
    html = (
        '<html data-content_root="../"><a href="../_static/x.css"><a href="notation.html#a">'
        '<a href="#here"><a href="https://example.org/">'
    )
    assert at_the_root(html, "book") == (
        '<html data-content_root="./"><a href="_static/x.css"><a href="book/notation.html#a">'
        '<a href="#here"><a href="https://example.org/">'
    )


def test_the_state_of_the_sources_ignores_what_no_cell_reads(tmp_path):
    source = tmp_path / "src" / "a.py"
    source.parent.mkdir()
    source.write_text("x = 1")
    before = state_of_sources(tmp_path)
    (source.parent / "__pycache__").mkdir()
    (source.parent / "__pycache__" / "a.pyc").write_text("compiled")
    assert state_of_sources(tmp_path) == before
    source.write_text("x = 2")
    assert state_of_sources(tmp_path) != before


def test_the_stroke_of_a_not_equal_sign_stays_in_the_font():
    """KaTeX draws it from the private use area; without it "not equal" reads "equal"."""
    source = npm_file("katex/dist/fonts/KaTeX_Main-Regular.woff2")
    cut = cut_font(source, {"=", "\ue020", "\x07"}, None)
    assert set(TTFont(BytesIO(cut)).getBestCmap()) == {0x3D, 0xE020}
