import re

import numpy as np
import pytest
import traitlets

import qkv
from qkv.widgets import PositionLab
from qkv.widgets.base import number
from qkv.widgets.position_lab import CODES, N_TABLE, WORDS, learned_table

HOME = [0, 1, 2, 3, 4]


def plain(order, code, start, causal):
    """One head by nested loops: the slow, certain version."""
    ex = qkv.data.running_example()
    rows = []
    for t, word in enumerate(order):
        x = ex.X_source[word].copy()
        place = start + t
        for c in range(8):
            if code == "sinusoids":
                angle = place / 10000 ** ((c - c % 2) / 8)
                x[c] += np.cos(angle) if c % 2 else np.sin(angle)
            elif code == "learned":
                x[c] += learned_table()[place, c]
        rows.append(x)
    q, k, v = ([x @ W[0] for x in rows] for W in (ex.W_Q, ex.W_K, ex.W_V))
    if code == "rotary":
        for rows_of in (q, k):
            for t in range(5):
                for i in range(2):
                    a = (start + t) * 10000 ** (-2 * i / 4)
                    x, y = rows_of[t][2 * i : 2 * i + 2]
                    rows_of[t][2 * i] = x * np.cos(a) - y * np.sin(a)
                    rows_of[t][2 * i + 1] = x * np.sin(a) + y * np.cos(a)
    weights, output = np.zeros((5, 5)), np.zeros((5, 2))
    for t in range(5):
        for j in range(t + 1 if causal else 5):
            weights[t, j] = np.exp(q[t] @ k[j] / 2)
        weights[t] /= weights[t].sum()
        for j in range(5):
            output[t] += weights[t, j] * v[j]
    return weights, output


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("code", CODES)
def test_the_numbers_equal_the_loops(code, causal):
    order = [4, 2, 0, 1, 3]
    made = PositionLab(order=order, code=code, start=9, causal=causal).numbers()
    weights, output = plain(order, code, 9, causal)
    np.testing.assert_allclose(made["weights"], weights, rtol=0, atol=1e-12)
    np.testing.assert_allclose(made["output"], output, rtol=0, atol=1e-12)
    _, first = plain(HOME, code, 0, causal)
    for t in range(5):
        want = max(abs(output[t][c] - first[order[t]][c]) for c in range(2))
        assert made["moved"][t] == pytest.approx(want, abs=1e-12)


def test_the_first_state_teaches():
    widget = PositionLab()
    assert widget.order != HOME
    assert widget.numbers()["moved"].max() < 1e-12


def test_what_each_code_notices():
    def moved(**traits):
        return PositionLab(**traits).numbers()["moved"].max()

    for order in ([1, 0, 2, 3, 4], [4, 3, 2, 1, 0]):
        assert moved(order=order) < 1e-12
        assert moved(order=order, causal=True) > 0.1
        assert all(moved(order=order, code=code) > 0.1 for code in CODES[1:])
    assert moved(order=HOME, start=20, code="rotary") < 1e-12
    assert moved(order=HOME, start=20, code="sinusoids") > 0.1
    assert moved(order=HOME, start=20, code="learned") > 0.1


def test_likeness_of_a_learned_table_does_not_depend_on_the_offset_alone():
    P = learned_table()
    assert np.abs(P).max() <= 1
    for step in (1, 5):
        assert np.diag(P @ P.T, step).std() > 0.5
    made = PositionLab(code="sinusoids").numbers()["offsets"]
    np.testing.assert_allclose(made, made[::-1], rtol=0, atol=1e-12)
    assert made[12] == pytest.approx(4)


def test_the_learned_table_ends():
    last = N_TABLE - len(WORDS)
    assert not PositionLab(code="learned", start=last).ends
    made = PositionLab(code="learned", start=last + 1).numbers()
    assert made["ends"]
    assert "weights" not in made
    assert "25 rows" in PositionLab(code="learned", start=last + 1).poster()


def test_at_most_six_traits_and_none_is_derived():
    assert sorted(PositionLab().state()) == ["causal", "code", "order", "start"]


@pytest.mark.parametrize("code", CODES)
def test_the_posters_numbers_equal_cores(code):
    widget = PositionLab(code=code, causal=True)
    made = widget.numbers()
    cells = re.findall(r"<td>([^<]+)</td>", widget.poster())
    want = np.column_stack([made["weights"], made["moved"]])
    assert cells == [number(x) for x in want.ravel()]


@pytest.mark.parametrize(
    ("traits", "sentence"),
    [
        ({"order": [0, 1, 2, 3]}, "order must hold each of 0 to 4 once"),
        ({"order": [0, 1, 2, 3, 3]}, "order must hold each of 0 to 4 once"),
        ({"code": "rope"}, "code"),
        ({"start": 41}, "start"),
        ({"start": -1}, "start"),
        ({"causal": "yes"}, "causal"),
    ],
)
def test_a_wrong_trait_is_refused(traits, sentence):
    with pytest.raises(traitlets.TraitError, match=re.escape(sentence)):
        PositionLab(**traits)
