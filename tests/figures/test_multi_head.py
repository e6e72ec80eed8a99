"""The figure of chapter 10 says what the weights say."""

import re

import numpy as np
import pytest

from qkv.data import running_example
from qkv.figures import head_maps


def test_each_head_has_its_numbers_in_per_cent():
    weights = np.array([[[1.0, 0.0], [0.25, 0.75]], [[0.5, 0.5], [0.995, 0.005]]])
    texts = [text.get_text() for text in head_maps(weights, ["a", "b"], ["x", "y"]).axes[0].texts]
    assert [t for t in texts if t.isdigit() or t == "·"] == [
        *("100", "·", "25", "75"),
        *("50", "50", "100", "·"),
    ]
    assert {"head 1: x", "head 2: y"} <= set(texts)


def test_the_text_can_be_read_on_a_phone():
    ex = running_example()
    drawn = head_maps(np.full((3, 5, 5), 0.2), ex.tokens_source, ex.heads)
    wide = float(re.search(r'<svg[^>]* width="([\d.]+)pt"', drawn.svg())[1])
    smallest = min(text.get_fontsize() for text in drawn.axes[0].texts)
    assert smallest * 350 / wide >= 10  # in px, in the column of a phone of 390 px


def test_a_wrong_shape_is_answered():
    with pytest.raises(ValueError, match="must be"):
        head_maps(np.ones((2, 3, 3)) / 3, ["a", "b"], ["x", "y"])
