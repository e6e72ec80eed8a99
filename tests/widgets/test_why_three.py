import re

import numpy as np
import pytest
import traitlets

import qkv
from qkv.experiments import load_result, why_three
from qkv.widgets import WhyThree
from qkv.widgets.base import number
from qkv.widgets.why_three import TITLES, WAYS, difference_eigenvalues

RESULT = load_result("why_three")
RNG = np.random.default_rng(8)


@pytest.mark.parametrize("n", [2, 3, 5, 7, 12])
def test_eigenvalues_on_differences_are_those_of_the_centred_table(n):
    S = RNG.normal(size=(n, n))
    centre = np.eye(n) - 1 / n
    whole = np.linalg.eigvalsh(centre @ ((S + S.T) / 2) @ centre)
    nearest_zero = np.abs(whole).argmin()
    want = np.delete(whole, nearest_zero)
    np.testing.assert_allclose(difference_eigenvalues(S), want, rtol=0, atol=1e-12)


def test_at_most_six_traits_and_none_is_derived():
    assert sorted(WhyThree.from_result(RESULT).state()) == ["scores", "settings", "task"]


@pytest.mark.parametrize("task", TITLES)
@pytest.mark.parametrize("scores", WAYS)
def test_a_setting_is_what_the_experiment_says(task, scores):
    widget = WhyThree.from_result(RESULT, task=task, scores=scores)
    setting, rule = widget.setting(), why_three.TASKS[task]
    ids = np.array([[int(name) for name in setting["names"]]])
    assert setting["answers"] == rule.asked(ids)[0].tolist()
    want = RESULT.column("accuracy", task=task, scores=scores, values="W_V", d_k=8, spread=1.0)
    assert setting["accuracy"] == want.tolist()
    if scores.startswith("tied"):
        assert widget.numbers()["eigenvalues below zero"] == 0
    if task == "partner" and scores in ("separate", "free", "indefinite", "symmetric"):
        assert widget.numbers()["eigenvalues below zero"] > 0


def test_foretold_numbers_are_the_experiments_closed_forms():
    told = {(s["task"], s["scores"]): s["foretold"] for s in WhyThree.from_result(RESULT).settings}
    assert told["partner", "tied"] == pytest.approx(why_three.guess_from(2), abs=1e-12)
    assert told["clock3", "tied"] == pytest.approx(why_three.guess_from(3), abs=1e-12)
    assert told["cycle12", "symmetric"] == pytest.approx(why_three.one_lost(12), abs=1e-12)
    assert told["rings", "symmetric"] == pytest.approx(why_three.one_lost(3), abs=1e-12)
    assert told["clock3", "separate"] is None


def test_the_posters_numbers_equal_cores():
    widget = WhyThree.from_result(RESULT, task="clock3", scores="tied, masked")
    poster = widget.poster()
    S = np.where(np.eye(3, dtype=bool), -np.inf, np.array(widget.setting()["table"]))
    rows = re.findall(r'<tr><th scope="row">(?:1|5|10)</th>(.*?)</tr>', poster)
    shown = [re.findall(r"<td>([^<]*)</td>", row) for row in rows]
    assert shown == [[number(x) for x in row] for row in qkv.softmax(S)]
    mean = 100 * np.mean(widget.setting()["accuracy"])
    assert number(mean) in poster


def test_an_unknown_setting_is_refused():
    with pytest.raises(traitlets.TraitError, match="no setting has task 'partner' and scores 'x'"):
        WhyThree.from_result(RESULT, scores="x")


def test_the_first_state_teaches():
    widget = WhyThree.from_result(RESULT)
    assert (widget.task, widget.scores) == ("partner", "tied")
    assert widget.numbers()["right answers, mean, %"] < 55
    weights = widget.learned_weights()
    np.testing.assert_allclose(weights[0, :2], 0.5, rtol=0, atol=0.05)
