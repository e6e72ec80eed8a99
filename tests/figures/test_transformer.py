import re
from collections import Counter

import numpy as np
import pytest

import qkv
from qkv.figures import row_windows, whole_transformer

SIZES = qkv.LayerSizes(d_model=8, d_ff=16, n_heads=3, d_k=4, d_v=2)


def steps_of(source, target, **more):
    parameters = qkv.initial_transformer(np.random.default_rng(15), SIZES, 2, 11, 13)
    return qkv.transformer_steps(source, target, parameters, **more)


def words_of(fig):
    return " ".join(text.get_text() for text in fig.axes[0].texts)


def test_every_size_in_the_picture_is_an_arrays():
    text = words_of(whole_transformer(steps_of([3, 1, 4, 1, 5], [0, 9, 2, 6, 5, 3, 7])))
    sizes = re.findall(r"\d+(?:x\d+)+", text.replace("\N{MULTIPLICATION SIGN}", "x"))
    assert Counter(sizes) == {"5x8": 4, "7x8": 3, "3x5x5": 1, "3x7x7": 1, "3x7x5": 1, "7x13": 1}
    for words in ("self-attention", "cross-attention", "memory", "encoder layer, 2 of them"):
        assert words in text


def test_the_same_arrays_give_the_same_bytes():
    one, other = (whole_transformer(steps_of([3, 1, 4], [0, 9])).svg() for _ in range(2))
    assert one == other


def test_a_batch_is_refused():
    with pytest.raises(ValueError, match="steps must be of one sentence"):
        whole_transformer(steps_of([[3, 1], [4, 1]], [[0], [2]]))


def test_one_bar_for_each_window():
    text = words_of(row_windows(["base", "big"], [[1, 4], [5, 6]], (2, 3), 2.5))
    assert "base" in text
    assert "big" in text
    with pytest.raises(ValueError, match=r"windows must be \(2, 2\)"):
        row_windows(["base", "big"], [[1, 4]], (2, 3), 2.5)
