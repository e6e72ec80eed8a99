"""The figures of chapter 14 say what the numbers say."""

import numpy as np
import pytest

from qkv.figures import by_depth, row_path, two_orders


def texts(fig):
    return [text.get_text() for text in fig.axes[0].texts]


def test_a_row_carries_its_numbers_its_mean_and_its_length():
    fig = row_path(["X", "write"], [[3.0, -4.0, 1.0], [0.0, 0.5, 0.0]], "abc", [True, False])
    said = texts(fig)
    for number in ("3.0", "\N{MINUS SIGN}4.0", "1.0", "0.5", "0.0", "5.1"):
        assert number in said
    assert said.index("X") < said.index("write")
    assert {"mean", "length", "a", "b", "c"} <= set(said)


@pytest.mark.parametrize(("columns", "streams"), [("ab", [True]), ("abc", [True, False])])
def test_a_wrong_shape_is_answered(columns, streams):
    with pytest.raises(ValueError, match="one row a place and one number a column"):
        row_path(["X"], [[1.0, 2.0, 3.0]], columns, streams)


def test_each_order_has_its_norms_and_its_sums():
    said = texts(two_orders({"n": 5, "d_model": 8, "d_ff": 16}))
    assert said.count("LayerNorm") == 4
    assert said.count("+") == 4
    assert said.count("attention") == 2
    assert any("one more LayerNorm" in text for text in said)


def test_curves_show_the_median_and_all_seeds():
    values = np.array([[1.0, 2.0, 3.0], [1.0, 4.0, 9.0], [1.0, 3.0, 5.0]])
    fig = by_depth([0, 1, 2], {"post": values, "pre": values + 1}, "length")
    lines = fig.axes[0].lines
    np.testing.assert_array_equal(lines[0].get_ydata(), [1, 3, 5])
    assert lines[0].get_linestyle() != lines[1].get_linestyle()
    assert len(fig.axes[0].collections) == 2
    with pytest.raises(ValueError, match="a row a seed and a number a layer"):
        by_depth([0, 1], {"post": values}, "length")
