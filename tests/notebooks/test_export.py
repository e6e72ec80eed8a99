"""The exporter: what each directive and role becomes, and what it refuses."""

import json
import re
from pathlib import Path

import nbformat
import pytest

export_notebooks = pytest.importorskip("export_notebooks", reason="tools/ is not on the path")
from notebook_text import Book, Converter, ExportError, Page, expand_macros, left_overs  # noqa: E402
from qkv_book.address import Address  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
HEAD = """\
---
jupytext:
  text_representation:
    format_name: myst
kernelspec:
  name: python3
---
"""
BIBLIOGRAPHY = """\
@article{one, author = {M{\\"u}ller, Ada}, title = {A Title}, journal = {J}, year = {2001}}
@article{two, author = {Bo, B. and Ci, C.}, title = {T}, year = {2002}}
@article{many, author = {Vaswani, A. and B, B. and C, C.}, title = {All}, year = {2017}, url = {https://a.example}}
"""


@pytest.fixture
def write(tmp_path):
    def make(**pages: str) -> Path:
        source = tmp_path / "book"
        source.mkdir(exist_ok=True)
        (source / "references.bib").write_text(BIBLIOGRAPHY, "utf8")
        for name, text in pages.items():
            (source / f"{name}.md").write_text(HEAD + text, "utf8")
        return source

    return make


@pytest.fixture
def convert(write):
    def run(text: str, glued: dict | None = None, **others: str) -> str:
        source = write(page=f"(here)=\n# A page\n\n{text}", **others)
        book = export_notebooks.load_book(source, source / "references.bib", Address())
        page = book.pages["page"]
        converter = Converter(book, page, glued or {})
        out = converter.blocks(page.text.removeprefix(HEAD), HEAD.count("\n"))
        assert not list(left_overs(out)), out
        return out.split("# A page", 1)[1].strip("\n")

    return run


@pytest.mark.parametrize(
    ("source", "want"),
    [
        (r"$\Q = \Xq\WQ^{(i)}$", "${Q} = {X_q}{W_Q}^{(i)}$"),
        (r"`$\Q$` and `{ref}` stay", r"`$\Q$` and `{ref}` stay"),
        (r"costs \$3", r"costs \$3"),
        ("a {term}`query` of {term}`two queries <query>`", "a query of two queries"),
        (r"{math}`\dk`", "$d_k$"),
        ("{cite:p}`many`", "(Vaswani et al., 2017)"),
        ("{cite:p}`one,two`", "(Müller, 2001; Bo and Ci, 2002)"),
        ("{cite:t}`two`", "Bo and Ci (2002)"),
        ("{abbr}`MLP (a perceptron)`", '<abbr title="a perceptron">MLP</abbr>'),
        ("{download}`the data <x/y.csv>`", "*the data*"),
        ("{ref}`here`", "[A page](#here)"),
        ("{ref}`this page <here>`", "[this page](#here)"),
        ("[this page](#here)", "[this page](#here)"),
        ("[out](https://a.example)", "[out](https://a.example)"),
        ("% a comment\ntext", "text"),
        ("<!-- a comment -->\n\ntext", "text"),
        ("{glue:text}`x:.2f` and {glue:text}`y`", "0.33 and seven"),
    ],
)
def test_inline(convert, source, want):
    assert convert(source, {"x": "0.333", "y": "'seven'"}) == want


def test_other_pages_link_to_their_notebook_or_stand_as_titles(convert):
    code = "# Two\n\n(far)=\n## Far\n\n```{code-cell}\n1\n```\n"
    out = convert("{doc}`two`, {doc}`b <three>`, {ref}`far`", two=code, three="# Three\n")
    assert out == "[Two](two.ipynb), *b*, [Far](two.ipynb)"


def test_labelled_formulas_are_numbered_and_referred_to(convert):
    out = convert("$$\na\n$$ (first)\n\n```{math}\n:label: second\n\\X\n```\n\nby {eq}`second`.")
    assert "a \\tag{1}" in out
    assert "{X} \\tag{2}" in out
    assert "by [(2)](#second)." in out


def test_admonitions_become_quotes_with_formulas_on_one_line(convert):
    out = convert(":::{tip}\nTry\n\n$$\na\n= b\n$$\n:::\n")
    assert out == "> **Tip**\n>\n> Try\n>\n> $$a = b$$"
    nested = convert("::::{admonition} *Now* {term}`go`\n:::{note}\ninner\n:::\n::::\n")
    assert nested == "> ***Now* go**\n>\n> > **Note**\n> >\n> > inner"


def test_dropdowns_fold(convert):
    out = convert(":::{dropdown} Open *me*\nInside {term}`x`.\n:::\n")
    assert out == (
        "<details>\n<summary><b>Open <em>me</em></b></summary>\n\nInside x.\n\n</details>"
    )


def test_list_tables_keep_bars_inside_formulas(convert):
    out = convert(
        ":::{list-table}\n:header-rows: 1\n\n* - a\n  - b\n* - $|x|$\n  - one {term}`y`\n:::\n"
    )
    assert out == "| a | b |\n| --- | --- |\n| $\\vert x\\vert $ | one y |"


def test_a_directive_in_a_list_keeps_its_place(convert):
    assert convert("- item\n\n  ```{note}\n  text\n  ```\n\n- next") == (
        "- item\n\n  > **Note**\n  >\n  > text\n\n- next"
    )


def test_images_travel_inside_and_need_alt_text(convert, write):
    (write() / "a.svg").write_text("<svg/>", "utf8")
    out = convert("```{figure} a.svg\n:alt: A line\n:name: fig\n\nCaption.\n```\n\n{numref}`fig`")
    assert '<img alt="A line" src="data:image/svg+xml;base64,PHN2Zy8+">' in out
    assert "**Figure 1.** Caption." in out
    assert "[Figure 1](#fig)" in out
    with pytest.raises(ExportError, match="no alt text"):
        convert("```{image} a.svg\n```\n")


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("x\n\n```{mermaid}\n```", "page.md:13: the directive {mermaid} is not on the exporter's"),
        ("some {kbd}`Esc`", "page.md:11: the role {kbd} is not on the exporter's list"),
        ("two\nlines {glue:md}`x`", "page.md:12: the role {glue:md}"),
        ("{ref}`nowhere`", "the reference 'nowhere' is not resolved"),
        ("{doc}`nowhere`", "there is no page 'nowhere'"),
        ("{cite:p}`nobody`", "'nobody' is not in the bibliography"),
        ("{glue:text}`nothing`", "nothing is glued under 'nothing'"),
        ("[x](file.txt)", "the link 'file.txt' leads nowhere"),
        (":::{note}\n```{exercise} dot_product.sign\n```\n:::", "must stand at the top level"),
        (":::{note}\ntext\n\nand {kbd}`x`\n:::", "page.md:14: the role {kbd}"),
        ("a\n$$\nb\n$$ (label)", "put a blank line before a formula that has a label"),
    ],
)
def test_it_refuses_what_it_does_not_know_and_says_where(convert, source, sentence):
    with pytest.raises(ExportError) as error:
        convert(source)
    assert sentence in str(error.value)


def test_macros_are_plain_latex():
    assert expand_macros(r"\softmax(\Q\K\T/\sqrt{\dk})") == (
        r"\operatorname{softmax}({Q}{K}^{\top}/\sqrt{d_k})"
    )


CHAPTER = """\
# 1. A chapter

Ten minutes.

```{code-cell} ipython3
import qkv
```

```{code-cell} ipython3
:tags: [remove-cell]
from myst_nb import glue
glue("n", 4.25, display=False)
```

## Next

It is {glue:text}`n:.1f` {cite:p}`many`.

```{code-cell} ipython3
---
tags: [hide-input]
mystnb:
  image:
    alt: "a picture"
---
1 + 1
```

```{exercise} dot_product.sign
```

```{exercise} projections.twice
```
"""


@pytest.fixture
def notebook(write):
    source = write(chapter=CHAPTER, plain="# No code\n")
    made = export_notebooks.export(source, source / "references.bib", Address())
    assert list(made) == ["chapter.ipynb"]
    return made["chapter.ipynb"]


def test_a_chapter_becomes_a_notebook(notebook):
    cells = nbformat.reads(notebook, 4).cells
    assert cells[0].source.startswith("# 1. A chapter")
    assert cells[1].metadata.tags == ["set-up"]
    sources = [cell.source for cell in cells]
    assert not any("glue" in source for source in sources)
    assert "## Next\n\nIt is 4.2 (Vaswani et al., 2017)." in sources
    hidden = next(cell for cell in cells if cell.source == "1 + 1")
    assert hidden.metadata == {"tags": ["hide-input"], "jupyter": {"source_hidden": True}}
    assert sources[-1].startswith("## References")
    assert "<https://a.example>" in sources[-1]
    stub = next(cell for cell in cells if "exercise-stub" in cell.metadata.get("tags", []))
    assert "NotImplementedError" in stub.source
    checks = [cell.source for cell in cells if "exercise-check" in cell.metadata.get("tags", [])]
    assert 'check("dot_product.sign", ...)' in checks[0]
    assert re.fullmatch(r'check\("projections.twice", \w+\)', checks[1])
    assert all(cell.outputs == [] for cell in cells if cell.cell_type == "code")


def test_the_same_page_gives_the_same_bytes_and_ids_follow_the_text(write, notebook):
    source = write(chapter=CHAPTER)
    again = export_notebooks.export(source, source / "references.bib", Address())
    assert again["chapter.ipynb"] == notebook
    write(chapter=CHAPTER.replace("Ten minutes", "Twenty minutes"))
    changed = export_notebooks.export(source, source / "references.bib", Address())
    old = [cell["id"] for cell in json.loads(notebook)["cells"]]
    new = [cell["id"] for cell in json.loads(changed["chapter.ipynb"])["cells"]]
    assert sum(a != b for a, b in zip(old, new, strict=True)) == 1
    assert len(set(new)) == len(new)


def test_a_known_address_gives_links_and_the_wheel(write):
    source = write(chapter=CHAPTER)
    address = Address("https://o.github.io/r", "https://github.com/o/r")
    made = export_notebooks.export(source, source / "references.bib", address)
    cells = nbformat.reads(made["chapter.ipynb"], 4).cells
    assert "(https://o.github.io/r/book/chapter.html)" in cells[0].source
    assert re.search(
        r'WHEEL = "https://github.com/o/r/raw/published/wheels/qkv-[\d.]+-py3-none-any.whl"',
        cells[1].source,
    )


def test_an_unknown_exercise_stops_the_export(write):
    source = write(chapter="# T\n\n```{exercise} dot_product.sing\n```\n\n```{code-cell}\n1\n```\n")
    with pytest.raises(ExportError, match=r'chapter.md:10: .*did you mean "dot_product.sign"'):
        export_notebooks.export(source, source / "references.bib", Address())


def test_command_line_names_what_is_not_fresh(write, tmp_path, capsys):
    source = write(chapter=CHAPTER)
    where = ["--source", str(source), "--output", str(tmp_path / "out")]
    assert export_notebooks.main([*where, "--check"]) == 1
    assert "not fresh: chapter.ipynb" in capsys.readouterr().err
    assert export_notebooks.main(where) == 0
    assert export_notebooks.main([*where, "--check"]) == 0


@pytest.mark.slow
def test_the_committed_notebooks_are_fresh():
    assert export_notebooks.main(["--check"]) == 0


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda p: p.stem)
def test_a_committed_notebook_holds_no_myst_and_no_output(path):
    notebook = nbformat.read(path, 4)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None
        else:
            assert not list(left_overs(cell.source))


def test_book_refuses_a_label_that_stands_twice(tmp_path):
    page = Page("a", tmp_path / "a.md", "(x)=\n# A\n\n(x)=\n## B\n")
    with pytest.raises(ExportError, match="'x' stands twice"):
        Book({"a": page}, None)
