import re

import numpy as np
import pytest
import traitlets

import qkv
from qkv.widgets import NotationDecoder
from qkv.widgets.base import number
from qkv.widgets.notation_decoder import LEARNED, NAMES, NOTATIONS, USES


def plain_layer(X_q, X_kv, W_Q, W_K, W_V, W_O, causal):
    """Every head by nested loops: the slow, certain version."""
    outputs, weights = [], []
    for Q, K, V in zip(W_Q, W_K, W_V, strict=True):
        q, k, v = X_q @ Q, X_kv @ K, X_kv @ V
        table = np.zeros((len(q), len(k)))
        for t in range(len(q)):
            for j in range(len(k)):
                if not (causal and j > t):
                    table[t, j] = np.exp(sum(q[t] * k[j]) / len(q[t]) ** 0.5)
            table[t] /= table[t].sum()
        weights.append(table)
        outputs.append(table @ v)
    return weights, outputs, np.concatenate(outputs, axis=1) @ W_O


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("head", range(3))
def test_the_arrays_equal_the_loops(use, head):
    ex = qkv.data.running_example()
    X_q, X_kv = {
        "cross": (ex.X_target, ex.memory),
        "encoder": (ex.X_source, ex.X_source),
        "decoder": (ex.X_target, ex.X_target),
    }[use]
    W = (ex.W_Q, ex.W_K, ex.W_V)
    if use == "cross":
        W = (ex.W_Q_cross, ex.W_K_memory, ex.W_V_memory)
    weights, outputs, written = plain_layer(X_q, X_kv, *W, ex.W_O, use == "decoder")
    arrays = NotationDecoder(use=use, head=head).arrays()
    for name, want in {
        "x_q": X_q,
        "x_kv": X_kv,
        "w_v": W[2][head],
        "q": X_q @ W[0][head],
        "weights": weights[head],
        "head": outputs[head],
        "concat": np.concatenate(outputs, axis=1),
        "output": written,
    }.items():
        np.testing.assert_allclose(arrays[name], want, rtol=0, atol=1e-13, err_msg=name)


def test_at_most_six_traits_and_none_is_derived():
    traits = ["focus", "head", "inputs", "notation", "use", "weights"]
    assert sorted(NotationDecoder().state()) == traits


def test_the_first_state_teaches():
    widget = NotationDecoder()
    assert (widget.notation, widget.use, widget.focus) == ("paper", "cross", "q")
    shapes = {array.shape for array in widget.arrays().values()}
    assert len(shapes) >= 10  # what is not the same thing has another shape


def test_every_symbol_has_a_name_in_every_notation():
    assert list(NAMES) == list(NotationDecoder().arrays())
    assert all(len(names) == len(NOTATIONS) and all(names) for names in NAMES.values())


@pytest.mark.parametrize("notation", NOTATIONS)
@pytest.mark.parametrize("focus", ["x_kv", "weights", "w_o"])
def test_the_posters_numbers_equal_cores(notation, focus):
    widget = NotationDecoder(notation=notation, focus=focus, use="decoder")
    table, numbers = widget.poster().split("<details>")
    want = widget.arrays()[focus]
    want = want.T if notation == "columns" else want
    assert re.findall(r"<td>([^<]+)</td>", numbers) == [number(x) for x in want.ravel()]
    for array in widget.written().values():
        assert f"<td>{array.shape[0]} \N{MULTIPLICATION SIGN} {array.shape[1]}</td>" in table
    assert table.count("<td>learned</td>") == len(LEARNED)
    assert "W<sub>i</sub><sup>Q</sup>" in table


@pytest.mark.parametrize(
    ("traits", "sentence"),
    [
        ({"head": 3}, "head must be below 3"),
        ({"head": -1}, "head"),
        ({"focus": "y"}, "focus"),
        ({"notation": "latin"}, "notation"),
        ({"use": "self"}, "use"),
    ],
)
def test_a_wrong_trait_is_refused(traits, sentence):
    with pytest.raises(traitlets.TraitError, match=sentence):
        NotationDecoder(**traits)
