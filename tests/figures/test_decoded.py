import numpy as np
import pytest

from qkv.figures import figure_two
from qkv.figures.decoded import NAMES

SHAPES = {name: np.ones((2 + n, 30 - n)) for n, name in enumerate(NAMES)}


def test_every_size_is_written_and_the_same_bytes_come_twice():
    svg = figure_two(SHAPES, n_heads=5).svg()
    for array in SHAPES.values():
        rows, columns = array.shape
        assert f"{rows}\N{MULTIPLICATION SIGN}{columns}" in svg.replace(" ", "")
    assert svg == figure_two(SHAPES, n_heads=5).svg()


def test_the_heads_are_said():
    assert "left half of Figure 2, 5 times" in figure_two(SHAPES, n_heads=5).svg()


def test_a_missing_array_is_named():
    with pytest.raises(ValueError, match="W_O"):
        figure_two({name: SHAPES[name] for name in NAMES if name != "W_O"}, n_heads=5)
