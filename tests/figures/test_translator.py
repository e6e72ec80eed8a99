"""The figures of chapter 16 say what the arrays say."""

import numpy as np
import pytest

from qkv.figures import alignment_map, head_scores, seeds_in_rows


def test_squares_have_the_weights_as_areas_and_frames_stand_at_the_partners():
    weights = np.array([[0.81, 0.09, 0.1], [0.0, 0.36, 0.64]])
    fig = alignment_map(weights, ["vier", "und"], ["<de>", "four", "and"], {(0, 1)})
    patches = fig.axes[0].patches
    squares = [p for p in patches if p.get_fill()]
    areas = np.array([p.get_width() * p.get_height() for p in squares]).reshape(2, 3)
    np.testing.assert_allclose(areas / areas[0, 0], weights / weights[0, 0], atol=1e-12)
    (frame,) = [p for p in patches if not p.get_fill()]
    assert (frame.get_x() + 0.5, frame.get_y() + 0.5) == (1, 0)
    assert fig.svg() == fig.svg()


def test_weights_of_another_shape_are_answered():
    with pytest.raises(ValueError, match=r"weights must be \(1, 2\)"):
        alignment_map([[1.0]], ["a"], ["b", "c"])


def test_bars_are_the_scores_and_lines_the_baselines():
    fig = head_scores(
        ["1.1", "1.2"], {"predicts": [0.4, 0.8], "reads": [0.1, 0.2]}, {"random": 0.12}
    )
    heights = [p.get_height() for p in fig.axes[0].patches]
    assert heights == [0.4, 0.8, 0.1, 0.2]
    assert [t.get_text().strip() for t in fig.axes[0].texts] == ["random"]
    with pytest.raises(ValueError, match="each score needs 1 numbers"):
        head_scores(["1.1"], {"predicts": [0.4, 0.8], "reads": [0.1]}, {})


def test_every_seed_is_a_dot_and_the_mean_is_written():
    fig = seeds_in_rows({"all": [0.99, 1.0, 0.995], "none": [0.2, 0.1, 0.3]}, "exact")
    dots = [line.get_xdata().tolist() for line in fig.axes[0].lines]
    assert dots == [[0.99, 1.0, 0.995], [0.2, 0.1, 0.3]]
    assert [t.get_text() for t in fig.axes[0].texts] == ["99.5", "20.0"]
