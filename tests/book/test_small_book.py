"""A small book that builds: what stands in its pages, its files, its zip."""

import base64
import hashlib
import io
import re
import zipfile

import pytest
from bs4 import BeautifulSoup
from fontTools.ttLib import TTFont
from small_book import NOTEBOOK

pytestmark = pytest.mark.book

FRONT = """\
# The front

Where does a small book begin? With a sentence long enough to describe it to a stranger.

See {doc}`chapter`.
"""

CHAPTER = (
    NOTEBOOK
    + """\
# 1. A chapter

About 5 minutes. You need: nothing.

## A formula

Inline $\\Q = \\Xq \\WQ$ and displayed:

$$
\\softmax\\left(\\frac{\\Q \\K\\T}{\\sqrt{\\dk}}\\right) \\V
$$

```{code-cell} ipython3
from pocket import NUMBER
print("the number is", NUMBER)
```

```{code-cell} ipython3
---
mystnb:
  image:
    alt: A line from one to two.
---
import matplotlib.pyplot as plt
plt.figure(figsize=(3, 2))
plt.plot([1, 2]);
```

```{code-cell} ipython3
from IPython.display import HTML
HTML('''<figure class="qkv-widget" data-qkv-widget="dot-product">
<script type="application/json" class="qkv-state">{}</script>
<figcaption>A widget.</figcaption></figure>''')
```
"""
)

PAGES = ("index.html", "book/front.html", "book/chapter.html", "search.html", "404.html")


@pytest.fixture(scope="module")
def book(make_book):
    return make_book(front=FRONT, chapter=CHAPTER)


@pytest.fixture(scope="module")
def built(book):
    build = book.build()
    assert build.code == 0, build.log[-3000:]
    return build


@pytest.fixture
def page(book, built):
    return lambda name: BeautifulSoup(book.page(name), "html.parser")


def test_no_child_outlives_a_piped_build(built):
    assert built.left_behind == []


@pytest.mark.parametrize("name", PAGES)
def test_the_policy_allows_exactly_the_inline_script(page, name):
    soup = page(name)
    policy = soup.find("meta", {"http-equiv": "Content-Security-Policy"})["content"]
    inline = [s for s in soup("script") if not s.get("src") and s.get("type") is None]
    hashes = {
        f"'sha256-{base64.b64encode(hashlib.sha256(s.string.encode()).digest()).decode()}'"
        for s in inline
    }
    assert len(inline) == 1
    script_sources = re.search(r"script-src ([^;]*)", policy)[1].split()
    assert set(script_sources) == {"'self'", *hashes}
    assert not [tag for tag in soup(True) if any(a.startswith("on") for a in tag.attrs)]


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_loaded_from_elsewhere_and_every_file_exists(book, page, name):
    soup = page(name)
    loaded = [tag.get("src") for tag in soup(True) if tag.get("src")]
    loaded += [link["href"] for link in soup("link") if "alternate" not in link.get("rel", [])]
    loaded += [a["href"] for a in soup("a") if "#" not in a["href"]]
    fonts = soup.find("script", {"data-fonts": True})["data-fonts"].split()
    for url in [*loaded, *fonts]:
        assert not re.match(r"[a-z]+:|//", url), url
        start = book.site if url.startswith("/") else (book.site / name).parent
        assert (start / url.lstrip("/")).resolve().is_file(), f"{name} needs {url}"


def test_styles_and_scripts_name_no_other_host(book, built):
    for path in (book.site / "_static").rglob("*"):
        if path.suffix in (".css", ".js") and path.name not in ("doctools.js", "searchtools.js"):
            text = path.read_text(encoding="utf-8").replace("http://www.w3.org/", "")
            assert not re.search(r"(url\(|import\(|src=)[\"']?(https?:)?//", text), path.name
    css = (book.site / "_static" / "book.css").read_text(encoding="utf-8")
    fonts = re.findall(r"url\(\"?(fonts/[^)\"]+)", css)
    assert fonts
    for font in fonts:
        assert (book.site / "_static" / font).is_file()


@pytest.mark.parametrize("name", PAGES)
def test_one_file_blocks_rendering(page, name):
    soup = page(name)
    assert len(soup("link", rel="stylesheet")) == 1
    assert all(s.has_attr("defer") for s in soup("script") if s.get("src"))
    assert not soup("style")


def test_scripts_stand_only_where_they_are_needed(page):
    def scripts(name):
        sources = [s["src"].rpartition("_static/")[2] for s in page(name)("script") if s.get("src")]
        return [source for source in sources if source]

    assert scripts("book/front.html") == ["book.js"]
    assert scripts("book/chapter.html") == ["book.js", "qkv/dot-product.js", "qkv/host.js"]
    assert "../searchindex.js" not in str(page("book/front.html"))
    assert "searchindex.js" in str(page("search.html"))


def test_formulas_are_finished_and_keep_their_mathml(page):
    soup = page("book/chapter.html")
    assert len(soup.select(".katex-html")) == 2
    assert len(soup.select("math")) == 2
    assert len(soup.select(".math-scroll .katex-display")) == 1
    assert soup.select(".katex .qkv-q")


def test_fonts_hold_every_character_of_the_formulas(book, page):
    drawn = set("".join(e.get_text() for e in page("book/chapter.html").select(".katex-html")))
    have = set()
    for path in (book.site / "_static" / "fonts").glob("katex-*.woff2"):
        with TTFont(path) as font:
            have |= set(map(chr, font.getBestCmap()))
    assert {c for c in drawn if c.isprintable() and not c.isspace()} <= have


def test_pictures_have_a_description_and_a_size(book, page):
    (picture,) = page("book/chapter.html").select(".cell_output img")
    assert picture["alt"] == "A line from one to two."
    assert int(picture["width"]) > 100
    assert int(picture["height"]) > 100
    svg = (book.site / "_images" / picture["src"].rsplit("/", 1)[-1]).read_text()
    assert svg.count('<title id="title">A line from one to two</title>') == 1
    assert svg.count('<desc id="desc">A line from one to two.</desc>') == 1


def test_colours_without_scripts_and_the_rest_of_the_frame(page):
    soup = page("book/chapter.html")
    assert soup.html["data-theme"] == "light"
    assert soup.html["lang"] == "en"
    assert soup.main["role"] == "main"  # where Sphinx's search looks for a page's text
    assert soup.select_one("p.time").get_text().startswith("About 5 minutes")
    assert [a.get_text(strip=True) for a in soup.select(".page-toc a")] == ["A formula"]
    assert soup.select_one(".book-toc a[aria-current=page]").get_text() == "1. A chapter"
    assert soup.select_one(".page-part").get_text() == "Part I · Small"
    assert not soup.find("link", rel="canonical")
    assert not soup.select(".page-tools, .foot a")


def test_the_root_page_is_the_front_page(page):
    root, front = page("index.html"), page("book/front.html")
    assert root.article.get_text() == front.article.get_text()
    assert not root.find("meta", {"http-equiv": "Refresh"})


def test_the_zip_holds_the_site_and_not_itself(book, built):
    path = book.site / "_static" / "qkv-book.zip"
    first = path.read_bytes()
    with zipfile.ZipFile(io.BytesIO(first)) as archive:
        names = archive.namelist()
        assert archive.testzip() is None
    assert "qkv-book/index.html" in names
    assert "qkv-book/_static/book.css" in names
    assert not [name for name in names if name.endswith(".zip")]


def test_only_what_the_pages_use_stays(book, built):
    names = {path.name for path in (book.site / "_static").iterdir()}
    assert {"book.css", "book.js", "fonts", "qkv", "favicon.svg"} <= names
    assert not [name for name in names if re.search(r"theme|bootstrap|awesome|thebe|vendor", name)]
    assert sum(p.stat().st_size for p in book.site.rglob("*") if p.suffix != ".zip") < 700_000


@pytest.mark.slow
def test_later_builds(book, built):
    """An unchanged book, an edited library, known addresses: in this order, on the same book."""
    site = book.site
    zip_before = (site / "_static" / "qkv-book.zip").read_bytes()
    written = (site / "book" / "chapter.html").stat().st_mtime_ns
    again = book.build()
    assert again.code == 0
    assert (site / "book" / "chapter.html").stat().st_mtime_ns == written, "page was built again"
    assert (site / "_static" / "qkv-book.zip").read_bytes() == zip_before

    (book.folder / "src" / "pocket.py").write_text("NUMBER = 43\n")
    edited = book.build(
        QKV_BOOK_URL="https://example.org/qkv/",
        QKV_REPOSITORY_URL="https://github.com/someone/book",
    )
    assert edited.code == 0, edited.log[-3000:]
    chapter = book.page("book/chapter.html")
    assert "the number is 43" in chapter
    assert '<link rel="canonical" href="https://example.org/qkv/book/chapter.html">' in chapter
    assert 'content="https://example.org/qkv/book/chapter.html"' in chapter
    assert "https://github.com/someone/book/issues" in chapter
    assert "<loc>https://example.org/qkv/book/chapter.html</loc>" in book.page("sitemap.xml")
    assert 'href="/qkv/_static/book.css"' in book.page("404.html")

    (book.folder / "notebooks").mkdir()
    (book.folder / "notebooks" / "chapter.ipynb").write_text("{}")
    book.write("chapter", CHAPTER + "\nOne more sentence.\n")
    launched = book.build(QKV_REPOSITORY_URL="https://github.com/someone/book")
    assert launched.code == 0, launched.log[-3000:]
    chapter = book.page("book/chapter.html")
    assert 'href="../notebooks/chapter.ipynb"' in chapter
    assert (site / "notebooks" / "chapter.ipynb").is_file()
    assert "github/someone/book/blob/published/notebooks/chapter.ipynb" in chapter
    assert "mybinder.org/v2/gh/someone/book/published?urlpath=lab/tree/notebooks" in chapter
    assert not (site / "sitemap.xml").exists()
    assert "canonical" not in chapter
