"""The figures of chapter 4 say what the arrays say."""

import numpy as np
import pytest

from qkv.figures import error_curves, look_up_line

KEYS, VALUES = [0.0, 2.0, 5.0], [30.0, 10.0, 20.0]


def test_every_measurement_is_a_dot_and_every_weight_a_bar():
    weights = np.array([0.2, 0.7, 0.1])
    curve = (np.arange(4), np.ones(4))
    fig = look_up_line(KEYS, VALUES, {"one": curve, "two": curve}, query=(1.5, 15.0, weights))
    top, low = fig.axes
    dots = [line for line in top.lines if line.get_marker() == "o"]
    np.testing.assert_array_equal(dots[0].get_xydata(), np.column_stack([KEYS, VALUES]))
    assert [bar.get_height() for bar in low.patches] == weights.tolist()
    assert [text.get_text() for text in low.texts] == ["0.20", "0.70", "0.10"]
    assert [text.get_text() for text in top.texts] == ["query 1.5: 15"]
    assert [text.get_text() for text in top.get_legend().get_texts()] == ["one", "two"]


def test_two_curves_differ_by_more_than_colour():
    curve = (np.arange(4), np.ones(4))
    fig = look_up_line(KEYS, VALUES, {"one": curve, "two": curve}, ground=curve)
    lines = {line.get_label(): line for line in fig.axes[0].lines}
    assert lines["one"].get_linestyle() != lines["two"].get_linestyle()
    assert lines["the ground itself"].get_linewidth() < lines["one"].get_linewidth()


def test_the_lowest_place_of_each_line_is_marked():
    fig = error_curves([0.5, 1.0, 2.0], {"a": [3, 1, 2], "b": [5, 4, 2]})
    assert [text.get_text() for text in fig.axes[0].texts] == ["1.00", "2.00"]


@pytest.mark.parametrize(
    ("draw", "sentence"),
    [
        (lambda: look_up_line(KEYS, VALUES[:2], {}), "values must be one number a key"),
        (
            lambda: look_up_line(KEYS, VALUES, {}, query=(1.0, 2.0, [1.0])),
            "weights must be one number a key",
        ),
        (lambda: error_curves([1.0, 2.0], {"a": [1.0]}), "'a' must have 2 numbers"),
    ],
)
def test_a_wrong_shape_is_answered(draw, sentence):
    with pytest.raises(ValueError, match=sentence):
        draw()
