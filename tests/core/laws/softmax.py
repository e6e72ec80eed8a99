"""Laws of softmax."""

import math

import numpy as np

from tests.core import oracles
from tests.core.lawbook import close, draw, law


@law("softmax")
def equals_the_loop(softmax):
    (scores,) = draw((3, 5))
    close(softmax(scores), [oracles.softmax(row) for row in scores])


@law("softmax")
def rows_sum_to_one(softmax):
    (scores,) = draw((2, 3, 5), seed=1)
    close(softmax(scores).sum(axis=-1), np.ones((2, 3)))


@law("softmax")
def adding_a_number_to_a_row_changes_nothing(softmax):
    (scores,) = draw((3, 5), seed=2)
    close(softmax(scores + np.array([[-7.0], [0.5], [300.0]])), softmax(scores), atol=1e-13)


@law("softmax")
def order_of_keys_is_kept(softmax):
    (scores,) = draw((3, 5), seed=3)
    order = np.array([4, 0, 3, 1, 2])
    close(softmax(scores[:, order]), softmax(scores)[:, order])


@law("softmax")
def a_difference_is_a_ratio(softmax):
    """Two keys whose scores differ by ln 3 get shares of 3 to 1."""
    close(softmax(np.array([[0.0, math.log(3.0)]])), [[0.25, 0.75]])


@law("softmax")
def huge_scores_stay_finite(softmax):
    scores = np.array([[1e4, 1e4 - math.log(3.0), -1e4], [-1e300, 1e300, 0.0], [-9e4, -9e4, -9e9]])
    with np.errstate(all="ignore"):
        weights = softmax(scores)
    close(weights, [[0.75, 0.25, 0.0], [0.0, 1.0, 0.0], [0.5, 0.5, 0.0]], atol=1e-11)


@law("softmax")
def a_masked_key_gets_nothing(softmax):
    weights = softmax(np.array([[0.3, -np.inf, 1.1]]))
    close(weights[0, 1], 0.0, atol=0)
    close(weights[0, [0, 2]], oracles.softmax([0.3, 1.1]))


@law("softmax")
def an_empty_row_gives_zeros(softmax):
    scores = np.array([[-np.inf, -np.inf, -np.inf], [0.0, 1.0, 2.0]])
    with np.errstate(all="ignore"):
        weights = softmax(scores)
    close(weights[0], np.zeros(3), atol=0)
    close(weights[1].sum(), 1.0)


@law("softmax")
def float32_stays_float32(softmax):
    assert softmax(np.ones((2, 3), np.float32)).dtype == np.float32


@law("softmax_with_temperature")
def temperature_equals_the_loop(softmax):
    (scores,) = draw((3, 5), seed=4)
    for temperature in (0.3, 1.0, 7.0):
        expected = [oracles.softmax([s / temperature for s in row]) for row in scores]
        close(softmax(scores, temperature), expected)


@law("softmax_with_temperature")
def heat_levels_and_cold_decides(softmax):
    scores = np.array([0.0, 1.0, 3.0, -np.inf])
    close(softmax(scores, 1e9), [1 / 3, 1 / 3, 1 / 3, 0.0], atol=1e-8)
    close(softmax(scores, 1e-3), [0.0, 0.0, 1.0, 0.0])
