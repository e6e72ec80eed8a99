"""The picture of chapter 11 says which Q is which, in letters that a phone can show."""

import re

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
    said = [text.get_text() for text in figure_two(SHAPES, n_heads=5).axes[0].texts]
    assert {"left half of Figure 2,", "5 times", "Concat: 5 heads side by side"} <= set(said)


def test_the_papers_letters_stand_at_both_borders():
    said = [text.get_text() for text in figure_two(SHAPES, n_heads=5).axes[0].texts]
    assert said.count("paper: $Q$") == 2
    assert {"paper: $K$ and $V$, one array", "paper: $K$", "paper: $V$"} <= set(said)
    assert said.count("“Linear”") == 4


def test_the_text_can_be_read_on_a_phone_and_is_text():
    drawn = figure_two(SHAPES, n_heads=5)
    svg = drawn.svg()
    wide = float(re.search(r'<svg[^>]* width="([\d.]+)pt"', svg)[1])
    smallest = min(text.get_fontsize() for text in drawn.axes[0].texts)
    assert smallest * 350 / wide >= 10  # in px, in the column of a phone of 390 px
    assert svg.count("<text") >= len(drawn.axes[0].texts)


def test_a_missing_array_is_named():
    with pytest.raises(ValueError, match="W_O"):
        figure_two({name: SHAPES[name] for name in NAMES if name != "W_O"}, n_heads=5)
