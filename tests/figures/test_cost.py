"""The figures of chapter 20 say what their arrays say."""

import numpy as np
import pytest

from qkv.figures import growth, tile_map
from qkv.figures.cost import _power_of_ten


def test_the_median_of_several_rounds_is_drawn_and_what_is_missing_is_not():
    rounds = np.array([[1.0, 2.0, 4.0], [3.0, 2.0, 5.0], [2.0, 9.0, 4.5]])
    fig = growth([64, 128, 256], {"a": rounds, "b": [1.0, 8.0, np.nan]}, "ms", {100: "here"})
    ax = fig.axes[0]
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [2.0, 2.0, 4.5])
    np.testing.assert_array_equal(ax.lines[1].get_xdata(), [64, 128])
    assert len(ax.collections) == 1
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["a", "b"]
    assert [t.get_text() for t in ax.texts] == ["here"]
    assert [t.get_text() for t in ax.get_xticklabels()] == ["64", "128", "256"]


def test_powers_of_ten_are_letters():
    assert [_power_of_ten(y) for y in (0.1, 1, 100, 1e9, 1e-3)] == [
        "0.1",
        "1",
        "100",
        "10⁹",
        "10⁻³",
    ]


@pytest.mark.parametrize(("n", "tile"), [(12, 4), (12, 5), (7, 7), (6, 1)])
def test_a_tile_is_drawn_as_the_mask_says(n, tile):
    mask = np.tri(n, dtype=bool)
    starts = range(0, n, tile)
    parts = [mask[i : i + tile, j : j + tile] for i in starts for j in starts]
    ax = tile_map(n, [tile]).axes[0]
    seen = sum(part.any() for part in parts)
    full = sum(part.all() for part in parts)
    assert ax.get_xlabel() == f"{seen} of {len(parts)}"
    assert len(ax.patches) == len(parts) + seen
    whole = [p for p in ax.patches if p.get_facecolor()[3] == 1]
    assert len(whole) == full


def test_a_wrong_length_is_answered():
    with pytest.raises(ValueError, match="needs 2 numbers"):
        growth([1, 2], {"a": [1.0]}, "y")
