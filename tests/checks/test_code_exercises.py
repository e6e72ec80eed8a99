"""Every coding exercise against its table: the right pass, the wrong meet their own question."""

import re

import numpy as np
import pytest

from qkv.checks import check, get, ids
from tests.checks.answers_table import RIGHT, WRONG

CODE = [name for name in ids() if get(name).kind == "code"]
TABLE = [(name, n, *line) for name, lines in WRONG.items() for n, line in enumerate(lines)]
SEEDS = range(5)


def solution_of(exercise):
    source = re.search(r"```python\n(.*?)```", exercise.solution, re.S)[1]
    space = {"np": np}
    exec(source, space)
    return space[exercise.function], source


def test_there_are_tables_for_all():
    assert set(CODE) == set(WRONG) == set(RIGHT)
    assert all(len(lines) >= 6 for lines in WRONG.values())
    for topic in ("dot_product", "projections"):
        assert sum(name.startswith(topic) for name in CODE) >= 3
        assert len(ids(topic)) - sum(name.startswith(topic) for name in CODE) >= 5


@pytest.mark.parametrize("name", CODE)
def test_the_solution_passes_with_any_numbers(name):
    function, _ = solution_of(get(name))
    for seed in range(60):
        result = check(name, function, seed=seed)
        assert result, result
        assert result.message == ""


@pytest.mark.parametrize("name", CODE)
def test_the_stub_names_its_exercise_and_fails(name):
    space = {}
    exec(get(name).stub, space)
    function = space[get(name).function]
    with pytest.raises(NotImplementedError, match=f"^{re.escape(name)}$"):
        function(*range(function.__code__.co_argcount))
    result = check(name, function)
    assert not result
    assert result.verdict == "not started"
    assert get(name).function in result.message
    assert function.__doc__


@pytest.mark.parametrize(
    ("name", "number", "function", "rung", "words"),
    TABLE,
    ids=[f"{name}-{n}-{getattr(f, '__name__', '').strip('<>')}" for name, n, f, _, _ in TABLE],
)
def test_a_wrong_answer_meets_its_own_question(name, number, function, rung, words):
    _, source = solution_of(get(name))
    body = [line.strip() for line in source.splitlines()[1:] if len(line.strip()) > 9]
    for seed in SEEDS:
        result = check(name, function, seed=seed)
        text, page = repr(result), result._repr_html_()
        assert not result
        assert result.rung == rung, text
        assert words in result.message, text
        assert "?" in result.message or "asked for" in result.message
        # Nothing of the solution leaks, and what is seen is the same in both forms.
        leaks = [line for line in body if line in re.sub(r"line \d+: .*", "", text)]
        assert not leaks
        assert result.verdict in text
        assert result.verdict.capitalize() in page


@pytest.mark.parametrize(
    ("name", "function"),
    [
        pytest.param(name, function, id=f"{name}-{n}")
        for name, functions in RIGHT.items()
        for n, function in enumerate(functions)
    ],
)
def test_another_right_way_passes(name, function):
    for seed in SEEDS:
        result = check(name, function, seed=seed)
        assert result, result


@pytest.mark.parametrize("name", CODE)
def test_torch_tensors_pass(name):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    function, _ = solution_of(get(name))

    def with_torch(*args):
        out = function(*args)
        if isinstance(out, tuple):
            return tuple(
                torch.tensor(part, requires_grad=np.asarray(part).dtype.kind == "f") for part in out
            )
        return torch.tensor(out)

    assert check(name, with_torch)


@pytest.mark.parametrize("name", CODE)
def test_a_typed_in_answer_fails(name):
    function, _ = solution_of(get(name))
    first = get(name).rungs[0].draw(np.random.default_rng([3, 0]))
    result = function(*first.args)
    assert not check(name, lambda *args: result, seed=4)


@pytest.mark.parametrize("name", CODE)
def test_every_slip_is_told_apart_from_the_right_answer(name):
    questions = {}
    for rung, slip in get(name).known_slips:
        assert slip.question.endswith(("?", "`ValueError`.", "Look at `np.swapaxes`.")), slip.name
        questions.setdefault(slip.question, []).append((rung, slip.name))
    shared = [names for names in questions.values() if len(names) > 1]
    assert all(len({name for _, name in names}) <= 2 for names in shared)


def test_the_matrix_of_wrong_answers(capsys):
    """Print how many wrong answers each rung of each exercise catches."""
    with capsys.disabled():
        for name in CODE:
            rungs = [rung.name for rung in get(name).rungs] + ["inputs untouched"]
            caught = [sum(line[1] == rung for line in WRONG[name]) for rung in rungs]
            print(
                f"\n{name:26}", *(f"{r}: {c}" for r, c in zip(rungs, caught, strict=True)), sep="  "
            )
            assert sum(caught) == len(WRONG[name])
