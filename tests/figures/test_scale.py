"""The figures of chapter 6 say what the arrays say."""

import numpy as np
import pytest

from qkv.figures import against_width, steps_needed


def texts(fig):
    return [text.get_text() for text in fig.axes[0].texts]


@pytest.mark.parametrize("log", [False, True])
def test_curves_are_drawn_as_given_and_told_apart_by_dashes(log):
    curves = {"none": [0.3, 0.5, 0.9], "root": [0.25, 0.24, 0.26]}
    fig = against_width([1, 4, 16], curves, "weight", level=(0.0625, "equal"), log=log)
    lines = [line for line in fig.axes[0].lines if line.get_label() in curves]
    for line, values in zip(lines, curves.values(), strict=True):
        np.testing.assert_array_equal(line.get_ydata(), values)
    assert len({str(line._dash_pattern) for line in lines}) == 2
    assert texts(fig) == ["equal"]
    assert (fig.axes[0].get_yscale() == "log") == log
    assert fig.svg() == fig.svg()


def test_a_curve_of_another_length_is_answered():
    with pytest.raises(ValueError, match="each curve needs 3 numbers"):
        against_width([1, 2, 4], {"none": [0.1, 0.2]}, "weight")


def test_steps_show_every_seed_and_cross_those_that_never_got_there():
    fig = steps_needed(
        {"none": ([90, 400, 120], [True, False, True]), "root": ([30, 40, 50], [True] * 3)},
        limit=400,
        xlabel="steps",
    )
    lines = fig.axes[0].lines
    assert sum(len(line.get_xdata()) for line in lines if line.get_marker() == "o") == 5
    assert sum(len(line.get_xdata()) for line in lines if line.get_marker() == "x") == 1
    assert texts(fig) == ["median 120", "median 40"]


def test_a_group_that_mostly_fails_has_no_median():
    fig = steps_needed({"none": ([400, 400, 120], [False, False, True])}, 400, "steps")
    assert texts(fig) == ["median never"]
