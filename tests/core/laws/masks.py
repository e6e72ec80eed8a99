"""Laws of masks."""

import numpy as np

from tests.core import oracles
from tests.core.lawbook import law


def _same(mask, expected):
    assert mask.dtype == np.bool_
    assert mask.shape == np.shape(expected)
    assert np.array_equal(mask, expected)


@law("causal_mask")
def causal_equals_the_loop(causal_mask):
    for n_q, n_k, offset in [(3, 3, 0), (3, 5, 2), (2, 7, 1), (5, 3, -2), (1, 7, 6)]:
        _same(causal_mask(n_q, n_k, offset), oracles.causal(n_q, n_k, offset))


@law("causal_mask")
def causal_sizes_follow_from_the_offset(causal_mask):
    _same(causal_mask(3), oracles.causal(3, 3))
    _same(causal_mask(3, offset=2), oracles.causal(3, 5, 2))


@law("causal_mask")
def a_query_behind_a_cache_sees_the_cache_and_itself(causal_mask):
    _same(causal_mask(1, offset=4), [[True] * 5])


@law("padding_mask")
def padding_by_hand(padding_mask):
    T, F = True, False
    _same(padding_mask([2, 0, 3], 3), [[[T, T, F]], [[F, F, F]], [[T, T, T]]])


@law("padding_mask")
def padding_joins_with_causal(padding_mask):
    joined = oracles.causal(3, 5, 2) & padding_mask([1, 4], 5)
    assert joined.shape == (2, 3, 5)
    assert joined.sum() == 3 + (3 + 4 + 4)


@law("window_mask")
def window_equals_the_loop(window_mask):
    for n_q, n_k, reach, offset in [(3, 3, 1, 0), (5, 7, 2, 1), (2, 7, 0, 3), (3, 11, 5, 4)]:
        expected = [[abs(t + offset - j) <= reach for j in range(n_k)] for t in range(n_q)]
        _same(window_mask(n_q, n_k, reach, offset), expected)


@law("window_mask")
def window_sizes_follow_from_the_offset(window_mask):
    assert window_mask(3, offset=2).shape == (3, 5)


@law("window_mask")
def window_joins_with_causal(window_mask):
    """The last `reach` tokens and the query itself."""
    joined = oracles.causal(5, 5) & window_mask(5, reach=2)
    assert joined.sum(axis=1).tolist() == [1, 2, 3, 3, 3]


@law("window_mask")
def a_window_reaches_the_neighbours_unless_told(window_mask):
    _same(window_mask(5), [[abs(t - j) <= 1 for j in range(5)] for t in range(5)])
