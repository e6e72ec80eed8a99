"""The figures of chapter 22 say what the numbers say."""

import numpy as np
import pytest

from qkv.figures import agreement_dots, row_pair, token_bars


def test_bars_are_scaled_by_their_row_and_filled_where_a_token_matters():
    scores = {"weights": [0.2, 0.4, 0.0], "erase": [1.0, -0.5, 0.0]}
    fig = token_bars(["A3", "*", "·"], scores, [True, False, False])
    heights = [[bar.get_height() for bar in ax.patches] for ax in fig.axes]
    np.testing.assert_allclose(heights, [[0.5, 1, 0], [1, 0, 0]])
    filled = [bar.get_facecolor()[3] for bar in fig.axes[0].patches]
    assert filled == [1, 0, 0]
    assert [ax.get_title(loc="left") for ax in fig.axes] == ["weights", "erase"]
    marks = [text for text in fig.axes[-1].texts if text.get_text() == "▲"]
    assert [mark.xy[0] for mark in marks] == [0]


def test_dots_and_the_mean_of_each_method():
    found = {"one": {"weights": [0.5, 0.75, 1.0]}, "two": {"a": [0.2, 0.4], "b": [1.0, 1.0]}}
    fig = agreement_dots(found, 0.5, "separation")
    assert len(fig.axes) == 2
    np.testing.assert_array_equal(fig.axes[0].lines[0].get_xdata(), [0.5, 0.75, 1.0])
    assert [text.get_text() for text in fig.axes[1].texts] == ["0.30", "1.00"]


def test_a_pair_of_rows():
    fig = row_pair(["A3", "*"], {"own": [0.9, 0.1], "others": [0.4, 0.6]})
    assert [bar.get_height() for bar in fig.axes[0].patches] == [0.9, 0.1, 0.4, 0.6]


@pytest.mark.parametrize(
    ("draw", "sentence"),
    [
        (lambda: token_bars(["A", "B"], {"w": [1.0]}, [True, False]), "'w' needs 2 numbers"),
        (lambda: agreement_dots({"k": {"w": [1.2]}}, 0.5, "x"), "'w' must lie between 0 and 1"),
        (lambda: row_pair(["A"], {"w": [1.0]}), "a pair is two rows, got 1"),
        (lambda: row_pair(["A"], {"w": [1.0], "v": [1.0, 2.0]}), "'v' needs 1 numbers"),
    ],
)
def test_a_wrong_shape_is_answered(draw, sentence):
    with pytest.raises(ValueError, match=sentence):
        draw()
