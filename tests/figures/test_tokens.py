"""The figures of chapter 1 say what the ids say."""

import numpy as np
import pytest

from qkv.figures import named_rows, token_rows

TOKENS, IDS = ["the", "cat", "the"], [1996, 7, 1996]
X = [[0.5, -1.25], [2.0, 0.0], [0.5, -1.25]]


def texts(fig):
    return [text.get_text() for text in fig.axes[0].texts]


def test_one_row_of_the_table_for_each_id_and_one_row_of_x_for_each_token():
    fig = token_rows(TOKENS, IDS, X, n_vocabulary=3000)
    said = texts(fig)
    assert said.count("the") == 2
    assert said.count("row 1\u2009996") == 1
    assert said.count("row 7") == 1
    assert said.count("\u22121.25") == 2
    assert "E: 3\u2009000 rows" in said
    assert "X: 3 rows" in said


def test_lines_lead_through_the_tokens_own_row_and_are_thick_where_it_is_used_twice():
    lines = token_rows(TOKENS, IDS, X).axes[0].lines
    ways = np.array([line.get_ydata() for line in lines]).reshape(3, 2, 2)
    np.testing.assert_array_equal(ways[:, 0, 1], ways[:, 1, 0])
    assert ways[0, 0, 1] == ways[2, 0, 1] > ways[1, 0, 1]
    np.testing.assert_array_equal(ways[:, 0, 0], ways[:, 1, 1])
    assert [line.get_linewidth() > 1 for line in lines[::2]] == [True, False, True]


def test_without_a_repeated_token_nothing_is_said_of_thick_lines():
    assert not any("thick" in t for t in texts(token_rows(["a", "b"], [0, 1], [[1.0], [2.0]])))


def test_named_rows_write_numbers_and_dots():
    said = texts(named_rows([[1, 0, 2]], ["cat"], ["who", "thing", "small"]))
    assert said == ["cat", "1", "·", "2", "who", "thing", "small"]


@pytest.mark.parametrize(
    "call",
    [
        lambda: token_rows(TOKENS, IDS[:2], X),
        lambda: token_rows(TOKENS, IDS, X[:2]),
        lambda: named_rows(X, TOKENS, ["a", "b", "c"]),
    ],
)
def test_a_wrong_shape_is_answered(call):
    with pytest.raises(ValueError, match="must be"):
        call()
