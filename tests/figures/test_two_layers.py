"""The figures of chapter 18 say what their arrays say."""

import numpy as np
import pytest

from qkv.figures import growing, letter_maps, two_hops


def test_two_hops_follow_the_largest_weights():
    first, second = np.eye(5, k=-1), np.zeros((5, 5))
    first[3, 2], second[4] = 0.75, [0.1, 0.0, 0.0, 0.9, 0.0]
    fig = two_hops("ABCDC", first, second, 4, "D")
    texts = [text.get_text() for text in fig.axes[0].texts]
    assert "layer 2 looks: 0.90" in texts
    assert "layer 1 looked: 0.75" in texts
    assert "says D" in texts
    bold = [t.get_position()[0] for t in fig.axes[0].texts[:5] if t.get_weight() == "bold"]
    assert bold == [2, 3, 4]


def test_thin_lines_are_seeds_and_the_thick_one_is_their_mean():
    runs = np.array([[3.0, 1.0, 0.5], [2.0, 1.0, 0.1]])
    fig = growing([0, 20, 40], {"loss": {"two": runs, "one": runs + 1}, "score": {"two": 1 / runs}})
    assert [ax.get_title(loc="left") for ax in fig.axes] == ["loss", "score"]
    thick = [line for line in fig.axes[0].lines if line.get_linewidth() == 2]
    np.testing.assert_allclose(thick[0].get_ydata(), runs.mean(0))
    assert thick[0].get_linestyle() != thick[1].get_linestyle()
    assert len(fig.axes[0].lines) == 6


def test_each_row_of_a_map_runs_from_0_to_1():
    table = np.array([[5.0, 4.0, 1.0], [0.0, 10.0, 2.0], [1.0, 2.0, 3.0]])
    mesh = letter_maps({"a": table}, "XYZ", ("seen", "said")).axes[0].collections[0]
    want = [[1, 0.75, 0], [0, 1, 0.2], [0, 0.5, 1]]
    np.testing.assert_allclose(np.reshape(mesh.get_array(), (3, 3)), want)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: two_hops("ABC", np.eye(2), np.eye(3), 1, "A"), "3 letters need"),
        (lambda: two_hops("ABC", np.eye(3), np.eye(3), 3, "A"), "row from 0 to 2"),
        (lambda: growing([0, 20], {"loss": {"two": [[1.0]]}}), "needs 2 numbers a seed"),
        (lambda: letter_maps({"a": np.eye(2)}, "ABC", ("x", "y")), "needs 3 rows"),
    ],
)
def test_a_wrong_shape_is_answered(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
