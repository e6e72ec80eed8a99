"""The figures of chapter 19 say what their arrays say."""

import numpy as np
import pytest

from qkv.figures import against_length, cache_sizes, made_and_kept


def test_full_squares_are_made_and_empty_ones_kept():
    fig = made_and_kept(
        ["a", "b", "c"], {"x": [[2, 0, 0], [1, 2, 0], [1, 1, 2]], "y": 2 * np.eye(3)}
    )
    first, second = fig.axes
    filled = [patch.get_fill() for patch in first.patches]
    assert filled == [True, False, True, False, False, True]
    assert [patch.get_fill() for patch in second.patches] == 3 * [True]
    assert first.get_title() == "x"


def test_sizes_are_written_beside_their_dots():
    fig = cache_sizes(["a", "b"], [36, 128], [36, 512], "KiB")
    texts = [text.get_text() for text in fig.axes[0].texts]
    assert texts == ["a: 36", "b: 128 in place of 512"]
    xs = [line.get_xdata() for line in fig.axes[0].lines]
    assert [list(np.ravel(x)) for x in xs] == [[36, 36], [36], [128, 512], [128], [512]]


def test_curves_are_medians():
    fig = against_length([2, 4], {"k": [[1, 2], [3, 4], [8, 9]], "v": [[1, 1]]}, "y")
    lines = fig.axes[0].lines
    np.testing.assert_allclose(lines[0].get_ydata(), [3, 4])
    assert lines[0].get_linestyle() != lines[1].get_linestyle()


@pytest.mark.parametrize(
    ("draw", "sentence"),
    [
        (lambda: made_and_kept(["a"], {"t": [[1, 2]]}), "'t' must be"),
        (lambda: cache_sizes(["a"], [1, 2], [1, 2], "x"), "one a name"),
        (lambda: against_length([1, 2], {"c": [[1.0]]}, "y"), "a row a seed"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(draw, sentence):
    with pytest.raises(ValueError, match=sentence):
        draw()
