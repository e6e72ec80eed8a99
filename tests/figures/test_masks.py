"""The figure of chapter 9 says what the mask says."""

import numpy as np
import pytest

from qkv.figures import masked_map

MASK = np.array([[True, False, False], [True, True, False]])


def texts(fig):
    return [text.get_text() for text in fig.axes[0].texts]


def test_forbidden_cells_are_hatched_and_carry_no_number():
    weights = np.array([[1.0, 0.0, 0.0], [0.25, 0.75, 0.0]])
    fig = masked_map(MASK, ["q1", "q2"], ["a", "b", "c"], weights)
    hatched = [patch for patch in fig.axes[0].patches if patch.get_hatch()]
    assert len(hatched) == (~MASK).sum()
    assert [t for t in texts(fig) if t[0].isdigit()] == ["1.00", "0.25", "0.75"]


def test_a_weight_on_a_forbidden_cell_is_shown():
    fig = masked_map(MASK, ["q1", "q2"], ["a", "b", "c"], np.full((2, 3), 1 / 3))
    assert texts(fig).count("0.33") == 6


def test_without_weights_a_dot_means_may_look_and_rows_say_their_word():
    fig = masked_map(MASK, ["q1", "q2"], ["a", "b", "c"], says=["x", "y"], caption=("down", "up"))
    said = texts(fig)
    assert said.count("●") == MASK.sum()
    assert "→ x" in said
    assert "→ y" in said
    assert "down" in said


@pytest.mark.parametrize("more", [{"weights": np.ones((3, 2))}, {"says": ["only one"]}])
def test_a_wrong_shape_is_answered(more):
    with pytest.raises(ValueError, match="must have 2 rows and 3 columns"):
        masked_map(MASK, ["q1", "q2"], ["a", "b", "c"], **more)
