"""The figures of chapter 3 say what the arrays say."""

import numpy as np
import pytest

from qkv.figures import seeds, weight_curves


def test_weight_curves_draw_each_key_once_and_tell_them_apart_by_dashes():
    weights = np.array([[0.9, 0.08, 0.02], [0.4, 0.33, 0.27]])
    fig = weight_curves([0.1, 10.0], weights, ["she", "ate", "an"])
    lines = [line for line in fig.axes[0].lines if line.get_label() in ("she", "ate", "an")]
    assert len(lines) == 3
    for line, column in zip(lines, weights.T, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), column)
    assert len({str(line._dash_pattern) for line in lines}) == 3


def test_weight_curves_answer_a_wrong_shape():
    with pytest.raises(ValueError, match=r"weights must be \(2, 3\)"):
        weight_curves([0.1, 1.0], np.ones((3, 2)), ["a", "b", "c"])


def test_seeds_draw_every_seed_and_write_the_mean():
    fig = seeds({"one": [1.0, 1.25], "two": [2.0, 2.5, 3.0]}, "loss", 1.5, "limit")
    dots = [line for line in fig.axes[0].lines if line.get_linestyle() == "None"]
    assert [len(line.get_xdata()) for line in dots] == [2, 3]
    said = " ".join(text.get_text() for text in fig.axes[0].texts)
    assert "one, mean 1.125" in said
    assert "two, mean 2.500" in said
    assert "limit" in said
