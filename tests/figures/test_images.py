"""The figures of chapter 17 say what their arrays say."""

import numpy as np
import pytest

from qkv.figures import accuracy_lines, deletion_curves, image_row, patch_maps


def test_squares_have_the_shares_as_areas_and_percents_are_written():
    image = np.linspace(0, 1, 24).reshape(4, 6)
    shares = np.array([0.04, 0.16, 0.36, 0.09, 0.25, 0.1])
    fig = patch_maps(image, 2, {"patches": [], "row 0": shares})
    numbered, drawn = fig.axes[:2]
    assert [t.get_text() for t in numbered.texts] == list("123456")
    assert [t.get_text() for t in drawn.texts] == ["4", "16", "36", "9", "25", "10"]
    squares = [p for p in drawn.patches if p.get_alpha() == 0.45]
    areas = np.array([p.get_width() * p.get_height() for p in squares])
    np.testing.assert_allclose(areas / areas[2], shares / 0.36, atol=1e-12)
    assert areas[2] == pytest.approx(4)
    assert fig.svg() == fig.svg()


def test_ink_is_the_picture():
    image = np.array([[0.0, 1.0], [0.5, 0.25]])
    (ax,) = image_row([image], ["a"]).axes
    assert [p.get_alpha() for p in ax.patches] == [0.75 * x for x in image.ravel()]
    assert ax.get_title() == "a"


def test_every_seed_is_a_dot_and_the_mean_is_written():
    (ax,) = accuracy_lines({"a": [0.9, 0.94], "b": [0.5]}).axes
    dots = [line.get_xdata().tolist() for line in ax.lines if line.get_marker() == "o"]
    assert dots == [[90.0, 94.0], [50.0]]
    assert [t.get_text() for t in ax.texts] == ["92.0", "50.0"]


def test_curves_are_means_over_seeds():
    seeds = [[0.9, 0.5], [0.7, 0.3]]
    fig = deletion_curves([0, 4], {"blank": {"x": seeds}, "hidden": {"x": seeds}}, "right, %")
    assert [ax.get_title(loc="left") for ax in fig.axes] == ["blank", "hidden"]
    np.testing.assert_allclose(fig.axes[1].lines[0].get_ydata(), [80, 40])


@pytest.mark.parametrize(
    ("draw", "sentence"),
    [
        (lambda: patch_maps(np.ones((4, 4)), 2, {"a": [1.0]}), "has 4 patches, 'a' has 1"),
        (lambda: image_row(np.ones((2, 3, 3)), ["a"]), "1 titles for images of shape"),
    ],
)
def test_arrays_that_do_not_fit_are_answered(draw, sentence):
    with pytest.raises(ValueError, match=sentence):
        draw()
