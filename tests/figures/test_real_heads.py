"""The figures of chapter 21 say what their arrays say."""

import numpy as np
import pytest

from qkv.figures import head_grids, head_lines, shares_by_layer


def test_a_line_is_as_thick_as_its_weight():
    weights = np.array([[[0.97, 0.03, 0.0], [0.5, 0.5, 0.0], [0.0, 0.25, 0.75]]])
    fig = head_lines(weights, ["a", "b", "c"], ["one"])
    lines = fig.axes[0].lines
    assert [line.get_linewidth() / 4 for line in lines] == [0.97, 0.5, 0.5, 0.25, 0.75]
    assert [list(line.get_ydata()) for line in lines] == [[0, 0], [1, 0], [1, 1], [2, 1], [2, 2]]


def test_the_grids_hold_per_cents():
    grid = np.array([[0.004, 0.5, 1.0], [0.126, 0.25, 0.0]])
    texts = [t.get_text() for t in head_grids({"x": grid, "y": grid}).axes[0].texts]
    assert texts.count("·") == 4
    assert texts.count("13") == texts.count("25") == texts.count("100") == 2
    assert texts.index("x") < texts.index("y")


def test_the_thick_line_is_the_mean_of_the_heads():
    rows = np.array([[0.1, 0.5], [0.3, 0.9]])
    ax = shares_by_layer({"weight": rows, "carried": rows / 2}, 0.07, "share").axes[0]
    means = [line.get_ydata() for line in ax.lines if line.get_linewidth() == 2]
    np.testing.assert_allclose(means, [[0.3, 0.6], [0.15, 0.3]])


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: head_lines(np.ones((1, 2, 3)), ["a", "b"], ["t"]), r"must be \(1, 2, 2\)"),
        (lambda: head_grids({"a": [[0.1]], "b": [[0.1, 0.2]]}), "one shape"),
        (lambda: head_grids({"a": [0.1]}), "one shape"),
        (lambda: shares_by_layer({"a": [0.1]}, 0.1, "y"), "at most two"),
        (lambda: shares_by_layer({key: [[0.1]] for key in "abc"}, 0.1, "y"), "at most two"),
    ],
)
def test_a_wrong_shape_is_answered(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
