"""The figures of chapter 13 say what their arrays say."""

import numpy as np
import pytest

from qkv.figures import against_offset, by_place, code_map, moved_rows


def test_equal_rows_are_joined_by_whole_lines_and_others_by_broken_ones():
    outputs = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    order = [2, 0, 1]
    moved = outputs[order].copy()
    moved[1] += 0.5
    fig = moved_rows(["a", "b", "c"], outputs, order, moved)
    lines = fig.axes[0].lines
    assert [line.get_linestyle() for line in lines] == ["-", "--", "-"]
    assert [list(line.get_ydata()) for line in lines] == [[2, 0], [0, 1], [1, 2]]
    texts = [text.get_text() for text in fig.axes[0].texts]
    assert texts.count("5.00  6.00") == 2
    assert texts.count("1.50  2.50") == 1


def test_the_map_holds_the_code():
    P = np.linspace(-1, 1, 15).reshape(5, 3)
    mesh = code_map(P).axes[0].collections[0]
    np.testing.assert_array_equal(np.ravel(mesh.get_array()), P.ravel())
    assert mesh.get_clim() == (-1, 1)


def test_curves_against_offsets_and_places():
    fig = against_offset([-1, 0, 1], {"a": [1, 2, 1], "b": [0, 3, 0]}, "y")
    assert [t.get_text() for t in fig.axes[0].get_legend().get_texts()] == ["a", "b"]
    shares = np.array([[1.0, 0.5], [0.8, 0.3]])
    fig = by_place([6, 10], {"x": shares, "y": shares}, trained=8, chance=0.1)
    assert len(fig.axes) == 2
    thick = next(line for line in fig.axes[0].lines if line.get_linewidth() == 2)
    np.testing.assert_allclose(thick.get_ydata(), [0.9, 0.4])


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: moved_rows(["a", "b"], [[1.0]], [0, 1], [[1.0]]), "there are 2 words"),
        (lambda: moved_rows(["a", "b"], np.ones((2, 1)), [0, 0], np.ones((2, 1))), "once"),
        (lambda: code_map([1.0, 2.0]), "two axes"),
        (lambda: against_offset([0, 1], {"a": [1.0]}, "y"), "needs 2 numbers"),
        (lambda: by_place([0, 1], {"a": [[1.0]]}, 8, 0.1), r"needs \(seeds, 2\) numbers"),
    ],
)
def test_a_wrong_shape_is_answered(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
