"""The directive on a small Sphinx app: HTML that needs no script, plain text elsewhere."""

import json
import re

import pytest
from bs4 import BeautifulSoup

from qkv.checks import get, ids
from tests.checks.conftest import build

pytestmark = pytest.mark.book


@pytest.fixture(scope="module")
def soup(built):
    return BeautifulSoup((built / "html/index.html").read_text(encoding="utf-8"), "lxml")


FIELDS = {
    "choice": "input[type=radio]", "number": "input[type=text]", "row": "input[type=text]",
    "order": "li[data-key] button", "match": "select", "fill": "select", "cell": "td input",
}  # fmt: skip


def fields_of(exercise):
    return {
        "choice": lambda: len(exercise.options),
        "number": lambda: 1,
        "row": lambda: len(exercise.labels),
        "order": lambda: 2 * len(exercise.steps),
        "match": lambda: len(exercise.items),
        "fill": lambda: len(exercise.items),
        "cell": lambda: len(exercise.rows) * len(exercise.columns),
    }[exercise.kind]()


def test_every_exercise_is_whole_without_a_script(soup):
    frames = soup.select("[data-qkv-exercise]")
    assert [frame["data-qkv-exercise"] for frame in frames] == list(ids())
    for frame in frames:
        exercise = get(frame["data-qkv-exercise"])
        assert frame["role"] == "group"
        assert exercise.title in soup.find(id=frame["aria-labelledby"]).get_text()
        # Hints lie in one another, the solution beside them.
        assert len(frame.select(".qkv-fold-hint .qkv-fold-hint .qkv-fold-hint")) == 1
        assert len(frame.select(":scope > .qkv-fold-solution")) == 1
        assert not frame.select("details[open]")
        if exercise.kind == "code":
            assert not frame.select("form, input, button")
            assert "raise" in frame.select_one(".qkv-exercise-stub pre").get_text()
            assert exercise.call in frame.select_one(".qkv-exercise-where code").get_text()
        else:
            assert frame.select_one("fieldset").has_attr("disabled")
            assert frame.select_one("noscript")
            assert len(frame.select(FIELDS[exercise.kind])) == fields_of(exercise)


def test_formulas_are_rendered_at_build_time(soup):
    entry = soup.find(id="exercise-projections-entry")
    assert entry.select(".katex")
    assert entry.select(".qkv-q")
    shown = entry.select_one(".qkv-exercise-prompt").get_text()
    assert "$" not in shown


def test_no_handlers_and_data_that_cannot_end_its_script(soup):
    for element in soup.select(".qkv-exercise, .qkv-exercise *"):
        assert not [name for name in element.attrs if name.startswith("on")]
    for script in soup.select(".qkv-exercise script"):
        assert script["type"] == "application/json"
        assert "<" not in script.string
        assert json.loads(script.string)["kind"] in FIELDS


def test_ids_are_unique_and_every_field_has_its_label(soup):
    names = [element["id"] for element in soup.select("[id]")]
    assert len(names) == len(set(names))
    for field in soup.select(".qkv-exercise-field"):
        assert field.label["for"] == field.input["id"]


@pytest.mark.parametrize("builder", ["text", "latex"])
def test_other_builders_get_paragraphs(tmp_path, builder):
    name = "dot_product.words"
    text = f"# One\n\n```{{exercise}} {name}\n```\n\n```{{exercise}} projections.twice\n```\n"
    done = build(tmp_path, text, builder)
    assert done.returncode == 0, done.stderr
    out = next(p for p in (tmp_path / builder).iterdir() if p.suffix in (".txt", ".tex"))
    said = re.sub(r"\s+", " ", out.read_text(encoding="utf-8"))
    for words in (
        get(name).title,
        "dolphin",
        "Hint 3 of 3",
        "Solution",
        "Check it in the notebook",
    ):
        assert words in said


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("```{exercise} dot_product.sing\n```\n", 'did you mean "dot_product.sign"?'),
        ("```{exercise} dot_product.sign\n```\n" * 2, "stands on this page twice"),
    ],
)
def test_a_mistake_fails_the_build(tmp_path, text, words):
    done = build(tmp_path, f"# One\n\n{text}")
    assert done.returncode != 0
    assert words in done.stderr


def test_a_page_can_refer_to_an_exercise(tmp_path):
    text = "# One\n\nSee {ref}`exercise-dot_product.sign`.\n\n```{exercise} dot_product.sign\n```\n"
    done = build(tmp_path, text)
    assert done.returncode == 0, done.stderr
    assert 'href="#exercise-dot-product-sign"' in (tmp_path / "html/index.html").read_text()
