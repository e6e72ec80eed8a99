"""LearnOneHead computes by core; core is held against finite differences and against torch."""

import re

import numpy as np
import pytest
import traitlets

import qkv
from qkv.widgets import LearnOneHead
from qkv.widgets.base import number
from qkv.widgets.learn_one_head import MATRICES, loss_and_gradients


def plain_loss(W_Q, W_K, W_V, W_O):
    """The loss by nested loops: the slow, certain version."""
    task = qkv.data.round_table()
    total = 0.0
    for X, wanted in zip(task.X, task.wanted, strict=True):
        for i in range(5):
            powers = [np.exp((X[i] @ W_Q) @ (X[j] @ W_K) / 2.0) for j in range(5)]
            says = sum(p * (X[j] @ W_V @ W_O)[0] for j, p in enumerate(powers)) / sum(powers)
            total += (says - wanted[i, 0]) ** 2
    return total / 160


def test_the_gradient_is_the_slope_of_the_loss_by_loops():
    four = list(qkv.data.round_table().start(seed=3, size=0.7))
    loss, gradients = loss_and_gradients(*four)
    assert abs(loss - plain_loss(*four)) < 1e-14
    for m, gradient in enumerate(gradients):
        for place in list(np.ndindex(gradient.shape))[::5]:
            ends = []
            for step in (1e-5, -1e-5):
                moved = [W.copy() for W in four]
                moved[m][place] += step
                ends.append(plain_loss(*moved))
            slope = (ends[0] - ends[1]) / 2e-5
            assert abs(slope - gradient[place]) < 1e-9, (MATRICES[m], place)


def test_the_gradient_is_torchs():
    torch = pytest.importorskip("torch", reason="torch is the second opinion")
    task = qkv.data.round_table()
    four = task.start(seed=5)
    _, gradients = loss_and_gradients(*four)
    W = [torch.tensor(w, requires_grad=True) for w in four]
    X, wanted = torch.tensor(task.X.copy()), torch.tensor(task.wanted.copy())
    weights = ((X @ W[0]) @ (X @ W[1]).transpose(-1, -2) / 2).softmax(dim=-1)
    ((weights @ (X @ W[2]) @ W[3] - wanted) ** 2).mean().backward()
    for w, gradient in zip(W, gradients, strict=True):
        np.testing.assert_allclose(gradient, w.grad.numpy(), rtol=0, atol=1e-14)


def test_a_step_is_the_rate_times_the_gradient():
    widget = LearnOneHead(steps=4, rate=0.25)
    before = LearnOneHead(steps=3, rate=0.25).numbers()
    _, gradients = loss_and_gradients(*(before[name] for name in MATRICES))
    for change, gradient in zip(widget.numbers()["changes"], gradients, strict=True):
        np.testing.assert_allclose(change, -0.25 * gradient, rtol=0, atol=1e-15)


def test_the_first_state_teaches_that_scores_learn_last():
    made = LearnOneHead().numbers()
    sizes = [np.abs(change).max() for change in made["changes"]]
    assert max(sizes[:2]) < 0.1 * min(sizes[2:])
    assert made["losses"][1] < made["losses"][0]


def test_no_step_changes_nothing():
    made = LearnOneHead(steps=0).numbers()
    assert all((change == 0).all() for change in made["changes"])
    assert len(made["losses"]) == 1


def test_six_traits_and_none_is_derived():
    assert sorted(LearnOneHead().state()) == sorted([*MATRICES, "rate", "steps"])


def test_the_posters_numbers_equal_cores():
    widget = LearnOneHead(steps=30)
    made = widget.numbers()
    cells = re.findall(r"<td>([^<]+)</td>", widget.poster())
    assert cells == [number(x) for x in [*made["weights"].ravel(), *made["where"].ravel()]]
    assert f"Loss {number(made['losses'][-1], 3)} after 30 steps" in widget.poster()


@pytest.mark.parametrize(
    ("traits", "sentence"),
    [
        ({"W_Q": np.ones((6, 3))}, "of shape (6, 4), got shape (6, 3)"),
        ({"steps": 401}, "steps"),
        ({"steps": -1}, "steps"),
        ({"rate": 3.0}, "rate"),
    ],
)
def test_a_wrong_trait_is_refused(traits, sentence):
    with pytest.raises(traitlets.TraitError, match=re.escape(sentence)):
        LearnOneHead(**traits)
