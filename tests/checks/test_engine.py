"""The engine: ids, hints, reports, and everything a learner's function may do."""

import re
import subprocess
import sys
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

import qkv
from qkv.checks import Case, Code, Rung, Slip, UnknownExerciseError, check, get, hint, ids, register
from qkv.checks.answers import written
from qkv.checks.ladder import numbers, sizes
from qkv.checks.limits import OutOfTimeError, limited


def exercise(*rungs, **more):
    fields = {"title": "t", "prompt": "p", "hints": ("", "", ""), "solution": "", "stub": ""}
    return Code(id="x.y", function="f", rungs=rungs, **(fields | more))


def doubling(rng):
    X = numbers(rng, *sizes(rng, 2))
    return Case((X,), 2 * X)


DOUBLE = exercise(Rung("double", doubling, "What is twice X?"))


def test_unknown_names():
    with pytest.raises(UnknownExerciseError, match=r'did you mean "projections.twice"\?'):
        check("projection.twise", None)
    with pytest.raises(UnknownExerciseError, match=f"there are: {re.escape(ids()[0])}, "):
        get("zzzzzzzzzz")
    with pytest.raises(UnknownExerciseError, match="comes first, as text; got function"):
        check(test_unknown_names, "projections.twice")
    with pytest.raises(ValueError, match="there are two exercises"):
        register("projections.twice")(lambda: DOUBLE)


def test_hints_climb_and_stay_at_the_third():
    headings = [hint("projections.swap").heading[:11] for _ in range(4)]
    assert headings == ["Hint 1 of 3", "Hint 2 of 3", "Hint 3 of 3", "Hint 3 of 3"]
    assert repr(qkv.solution("projections.twice")).count("    def one_matrix(W_1, W_2):") == 1
    assert qkv.solution("projections.twice")._repr_markdown_().startswith("**Solution: ")


def raises(X):
    return X / 0 + undefined


def endless(X):
    return endless(X)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda X: None, "returned None. Does every way"),
        (lambda X: "text", "Your answer is text; numbers are asked for"),
        (lambda X: {"a": X}, "a dictionary"),
        (lambda X: (x for x in X), "a generator"),
        (lambda X: X > 0, "True or False"),
        (lambda X: X + 1j, "complex"),
        (lambda X: [[1.0], [1.0, 2.0]], "different lengths"),
        (lambda X: (X, X), "returned 2 things; one is asked for"),
        (lambda X: lambda: X, "Did you forget to call it"),
        (lambda X: (2 * X).T, "yours has shape"),
        (lambda X: (2 * X).T, "it looks transposed"),
        (lambda X: np.where(X.max() == X, np.nan, 2 * X), "yours nan, expected"),
        (lambda X: 3 * X, "at (0, 0): yours"),
        (lambda X, Y: X, "Your function takes 2 arguments (X, Y); it is called with 1"),
        (raises, "NameError: name 'undefined' is not defined"),
        (raises, "return X / 0 + undefined"),
        (endless, "calls itself without an end"),
        (lambda X: sys.exit(3), "it called exit(3)"),
        (np.ones((2, 3)), "Hand over the function itself, without calling it: `check("),
        (..., "in place of `...`"),
    ],
)
def test_what_a_function_may_do_wrong(function, words):
    result = DOUBLE.judge(function, seed=1)
    assert not result
    assert words in repr(result).replace("\n", " ")
    assert result._repr_html_().startswith("<div role=")


def loops(X):
    while True:
        X = X + 0.0


def swallows(X):
    for _ in range(3):
        try:
            loops(X)
        except BaseException:
            continue
    return loops(X)


def hoards(X):
    return 2 * np.ones((100, 10**9))[: len(X), : X.shape[1]] * X


def deletes(X):
    del X
    return 2 * X


def takes_the_last_row(X):
    X.resize((X.shape[0] - 1, X.shape[1]), refcheck=False)
    return 2 * X


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (loops, "was still running when its time was over"),
        (loops, "stopped after 10 seconds"),
        (swallows, "Which loop has no end"),
        (hoards, "more memory than this exercise can need"),
        (hoards, "np.ones((100, 10**9))"),
        (endless, "calls itself without an end"),
        (takes_the_last_row, "yours has shape"),
        (deletes, "UnboundLocalError"),
        (lambda X: globals()["no_more"], "KeyError: 'no_more'"),
    ],
)
def test_code_that_does_not_end_well_ends_in_a_sentence(function, words, monkeypatch):
    monkeypatch.setattr("qkv.checks.limits.SECONDS", 0.3)
    result = DOUBLE.judge(function, seed=1)
    assert not result
    assert words in repr(result).replace("\n", " ")
    assert "?" in result.message
    # And the kernel is whole: the next answer is judged as if nothing had been.
    assert DOUBLE.judge(lambda X: 2 * X, seed=1)


def test_the_limits_are_lifted_again():
    resource = pytest.importorskip("resource", reason="this system has no such limits")
    before = resource.getrlimit(resource.RLIMIT_AS)
    threads = threading.active_count()
    for _ in range(200):
        with limited(seconds=5.0):
            pass
    with pytest.raises(ZeroDivisionError), limited():
        1 / 0  # noqa: B018
    assert resource.getrlimit(resource.RLIMIT_AS) == before
    assert threading.active_count() == threads


def test_time_that_ends_with_the_code_leaves_no_error_behind():
    stopped = 0
    for seconds in np.linspace(0.0, 0.08, 60):
        end = time.perf_counter() + 0.04
        try:
            with limited(seconds=float(seconds)):
                while time.perf_counter() < end:
                    pass
        except OutOfTimeError:
            stopped += 1
        sum(range(2000))  # an error that still waits would be raised here
    assert 0 < stopped < 60


def emptied(words, table):
    return float(len(words) + len(table))


def clears_the_list(words, table):
    n = float(len(words) + len(table))
    words.clear()
    return n


def pops_an_entry(words, table):
    n = float(len(words) + len(table))
    table.popitem()
    return n


@pytest.mark.parametrize(
    ("function", "name"), [(clears_the_list, "words"), (pops_an_entry, "table")]
)
def test_an_input_that_was_emptied_is_noticed(function, name):
    def draw(rng):
        return Case((["a", "b", "c"], {"a": 1, "b": 2}), 5.0)

    count = replace(DOUBLE, function="count", rungs=(Rung("counts", draw, "How many?"),))
    assert count.judge(emptied)
    result = count.judge(function)
    assert not result
    assert f"`{name}` is not what it was" in result.message


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_any_precision_passes(dtype):
    assert DOUBLE.judge(lambda X: (2 * X).astype(dtype))
    assert DOUBLE.judge(lambda X: (2 * X).tolist())


def test_bfloat16_passes():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    assert DOUBLE.judge(lambda X: torch.tensor(2 * X).to(torch.bfloat16))


def test_a_touched_input_is_noticed_and_the_original_is_safe():
    def in_place(X):
        X *= 2
        return X

    result = DOUBLE.judge(in_place, seed=1)
    assert "`X` is not what it was before" in result.message
    assert result.detail.startswith("at (0, 0): was ")
    assert DOUBLE.judge(lambda X: 2 * X, seed=1)


def test_a_failure_can_be_repeated_and_taken_in_hand():
    first, again = (DOUBLE.judge(lambda X: X, seed=7) for _ in range(2))
    assert first == again
    (X,) = first.inputs
    yours, expected = written(X[0, 0]), written(2 * X[0, 0])
    assert first.detail == f"at (0, 0): yours {yours}, expected {expected}"
    assert "seed=7" in repr(first)
    seeds = {DOUBLE.judge(lambda X: X).seed for _ in range(5)}
    assert len(seeds) > 1


def test_a_slip_that_is_never_wrong_is_refused():
    rung = Rung("double", doubling, "?", (Slip("right after all", lambda X: X + X, "?"),))
    with pytest.raises(RuntimeError, match="one of its slips is never wrong"):
        exercise(rung).judge(lambda X: X)


def test_the_solution_is_never_read():
    class Forbidden(str):
        __slots__ = ()

        def __getattribute__(self, name):
            raise AssertionError("the check read the solution")

    sealed = exercise(*DOUBLE.rungs, solution=Forbidden("2 * X"))
    assert sealed.judge(lambda X: 2 * X)
    assert not sealed.judge(lambda X: X)


def test_sizes_are_distinct_primes():
    for seed in range(50):
        drawn = sizes(np.random.default_rng(seed), 4)
        assert len(set(drawn)) == 4
        assert set(drawn) <= {2, 3, 5, 7, 11}


def test_the_report_shows_both_arrays_with_the_difference_marked():
    def one_off(X):
        Y = 2 * X
        Y[1, 0] = 99
        return Y

    page = DOUBLE.judge(one_off, seed=1)._repr_html_()
    assert page.count("<table") == 2
    assert page.count("≠") == 1
    assert page.count('aria-label="differs:"') == 1
    assert "<caption" in page
    assert 'scope="col"' in page
    assert "color:inherit" in page


def test_html_escapes_what_the_learner_wrote():
    def angry(X):
        raise ValueError("<script>alert(1)</script>")

    assert "<script>" not in DOUBLE.judge(angry)._repr_html_()


def test_checks_load_nothing_heavy_and_need_no_network():
    code = (
        "import sys, socket; socket.socket.connect = None; import qkv;"
        "assert 'qkv.checks' not in sys.modules;"
        "qkv.check('dot_product.loop', lambda x, y: x @ y);"
        "heavy = {'torch', 'matplotlib', 'ipywidgets', 'IPython'} & set(sys.modules);"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env=_env())


def _env():
    import os
    from pathlib import Path

    return os.environ | {"PYTHONPATH": str(Path(qkv.__file__).parents[1])}
