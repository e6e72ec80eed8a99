"""Laws of the look-ups that need no learning."""

import math

import numpy as np

from tests.core import oracles
from tests.core.lawbook import close, draw, law

N_Q, N_K, D_K, D_V = 3, 5, 7, 2


def _distance(a, b):
    return math.fsum((float(x) - float(y)) ** 2 for x, y in zip(a, b, strict=True))


@law("squared_distances")
def distances_equal_the_loop(squared_distances):
    q, k = draw((N_Q, D_K), (N_K, D_K))
    close(squared_distances(q, k), [[_distance(a, b) for b in k] for a in q])


@law("squared_distances")
def distances_of_far_away_points_are_exact(squared_distances):
    """|q|^2 - 2 q.k + |k|^2 loses every digit here."""
    close(squared_distances(np.array([[1e9, 0.0]]), np.array([[1e9, 3.0]])), [[9.0]])


@law("nearest_look_up")
def nearest_takes_the_largest_dot_product(look_up):
    q, k, v = draw((N_Q, D_K), (N_K, D_K), (N_K, D_V))
    output, weights = look_up(q, k, v)
    best = [max(range(N_K), key=lambda j, a=a: oracles.dot(a, k[j])) for a in q]
    close(output, v[best])
    close(weights, np.eye(N_K)[best])


@law("nearest_look_up")
def each_batch_is_looked_up_alone(look_up):
    q, k, v = draw((11, N_Q, D_K), (11, N_K, D_K), (11, N_K, D_V), seed=2)
    output, weights = look_up(q, k, v)
    for b in range(11):
        best = [max(range(N_K), key=lambda j, b=b, a=a: oracles.dot(a, k[b, j])) for a in q[b]]
        close(output[b], v[b, best])
        close(weights[b], np.eye(N_K)[best])


@law("nearest_look_up")
def of_equal_keys_the_first_is_taken(look_up):
    output, _ = look_up([[1.0, 0.0]], [[0.0, 1.0], [2.0, 0.0], [2.0, 9.0]], [[1.0], [2.0], [3.0]])
    close(output, [[2.0]])


@law("kernel_regression")
def kernel_equals_the_loop(regress):
    q, k, v = draw((N_Q, D_K), (N_K, D_K), (N_K, D_V))
    for bandwidth in (1.0, 2.5):
        scores = [[-_distance(a, b) / (2 * bandwidth**2) for b in k] for a in q]
        expected = oracles.attention_from_scores(scores, v)
        for actual, wanted in zip(regress(q, k, v, bandwidth), expected, strict=True):
            close(actual, wanted)
    close(regress(q, k, v)[0], regress(q, k, v, 1.0)[0], atol=0)


@law("kernel_regression")
def a_narrow_kernel_returns_the_measurement(regress):
    k, v = np.array([[0.0], [1.0], [2.0]]), np.array([[5.0], [7.0], [11.0]])
    for bandwidth in (1e-3, 1e-110):  # the square of the second is still a divisor
        close(regress(k, k, v, bandwidth)[0], v)


@law("kernel_regression")
def with_keys_of_one_length_it_is_attention(regress):
    """|q - k|^2 = |q|^2 + |k|^2 - 2 q.k, and the first two are shared by the row."""
    q, k, v = draw((N_Q, D_K), (N_K, D_K), (N_K, D_V), seed=1)
    k /= np.sqrt(np.sum(k * k, axis=-1, keepdims=True))
    bandwidth = D_K**0.25
    close(regress(q, k, v, bandwidth)[0], oracles.attention(q, k, v)[0])
