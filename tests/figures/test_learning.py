"""The figures of chapter 7 show the numbers that they are given."""

import numpy as np
import pytest

from qkv.figures import Map, loss_curves, signed_maps


def texts(fig):
    return [text.get_text() for text in fig.axes[0].texts]


def test_maps_write_titles_names_and_numbers_and_frame_the_largest():
    first, second = np.array([[0.5, -1.5], [2.0, 0.0]]), np.array([[1.0], [-2.0]])
    fig = signed_maps([Map("M", first, ["a", "b"]), Map("N", second, ["c"], "v")], ["r", "s"])
    said = texts(fig)
    assert said.count("M") == said.count("N") == 1
    assert [t for t in said if t[-1].isdigit()] == [
        "0.5", "\N{MINUS SIGN}1.5", "2.0", "0.0", "1.0", "\N{MINUS SIGN}2.0",
    ]  # fmt: skip
    framed = [p for p in fig.axes[0].patches if not p.get_fill() and p.get_linewidth() == 1.2]
    assert [p.get_xy() for p in framed] == [(1.6, 0.0), (1.6, 0.8)]


def test_even_rows_have_no_frame():
    fig = signed_maps([Map("even", np.full((1, 3), 0.2), ["a", "b", "c"])], ["r"])
    assert not [p for p in fig.axes[0].patches if p.get_linewidth() == 1.2]


def test_a_map_of_another_size_is_refused():
    with pytest.raises(ValueError, match="the map 'M' must be \\(1, 2\\)"):
        signed_maps([Map("M", [[1.0]], ["a", "b"])], ["r"])


def test_curves_and_levels_are_named():
    fig = loss_curves({"plain": [1.0, 0.5, 0.25], "other": [1.0, 0.9, 0.8]}, {"silent": 1.0})
    legend = fig.axes[0].get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["plain", "other"]
    assert texts(fig) == ["silent"]
    np.testing.assert_array_equal(fig.axes[0].lines[0].get_ydata(), [1.0, 0.5, 0.25])
    faint = loss_curves({"1": [1.0, 0.5], "2": [1.0, 0.6]}, {"silent": 1.0}, faint=True)
    assert texts(faint) == ["silent"]
    assert faint.axes[0].get_legend() is None
