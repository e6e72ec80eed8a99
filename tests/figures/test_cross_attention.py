"""The figures of chapter 12 say what the arrays say."""

import numpy as np
import pytest

from qkv.figures import cross_lines, decoder_wiring

WEIGHTS = np.array([[0.9, 0.1, 0.0], [0.02, 0.48, 0.5]])


def texts(fig):
    return [text.get_text() for text in fig.axes[0].texts]


def test_a_line_a_weight_as_thick_as_it_and_none_for_a_small_one():
    fig = cross_lines(WEIGHTS, ["q1", "q2"], ["a", "b", "c"])
    widths = sorted(line.get_linewidth() for line in fig.axes[0].lines)
    np.testing.assert_allclose(widths, sorted(6 * WEIGHTS[WEIGHTS >= 0.04]))
    assert [t for t in texts(fig) if t[0].isdigit()] == ["0.90", "0.50"]
    assert [t for t in texts(fig) if t in "abc"] == ["a", "b", "c"]


def test_lines_join_the_words_they_belong_to():
    fig = cross_lines(WEIGHTS, ["q1", "q2"], ["a", "b", "c"])
    at = {text.get_text(): text.get_position()[0] for text in fig.axes[0].texts}
    ends = {(line.get_xdata()[0], line.get_xdata()[1]) for line in fig.axes[0].lines}
    want = [("q1", "a"), ("q1", "b"), ("q2", "b"), ("q2", "c")]
    assert ends == {(at[q], at[k]) for q, k in want}


def test_a_wrong_shape_is_answered():
    with pytest.raises(ValueError, match=r"weights must be \(3, 2\), one row a query"):
        cross_lines(WEIGHTS, ["q1", "q2", "q3"], ["a", "b"])


@pytest.mark.parametrize("n_layers", [1, 2, 3])
def test_every_decoder_layer_has_its_own_matrices_and_there_is_one_memory(n_layers):
    said = texts(decoder_wiring(n_layers, (5, 9), (7, 8)))
    times = "\N{MULTIPLICATION SIGN}"
    assert sum(text.startswith("cross-attention\nits own") for text in said) == n_layers
    assert said.count(f"memory\n5 {times} 9") == 1
    assert said.count(f"$X_q$  7 {times} 8") == n_layers
    assert said.count("last encoder layer") == 1
