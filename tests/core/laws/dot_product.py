"""Laws of the dot product and of what is made from it."""

import math

import numpy as np

from tests.core import oracles
from tests.core.lawbook import close, draw, law


@law("dot_product")
def product_equals_the_loop(dot_product):
    x, y = draw((3, 5), (3, 5))
    close(dot_product(x, y), [oracles.dot(a, b) for a, b in zip(x, y, strict=True)])
    close(dot_product(x[0], y[0]), oracles.dot(x[0], y[0]))


@law("dot_product")
def product_is_linear_in_each_argument(dot_product):
    x, y, z = draw((7,), (7,), (7,), seed=1)
    close(dot_product(2 * x + z, y), 2 * dot_product(x, y) + dot_product(z, y))


@law("vector_length")
def length_by_hand(vector_length):
    close(vector_length(np.array([[3.0, 4.0], [0.0, 0.0], [-5.0, 12.0]])), [5.0, 0.0, 13.0])


@law("vector_length")
def length_scales_with_the_vector(vector_length):
    (x,) = draw((3, 5))
    close(vector_length(-2.5 * x), 2.5 * vector_length(x))


@law("cosine_similarity")
def cosine_equals_the_loop(cosine):
    x, y = draw((3, 5), (3, 5))
    expected = [
        oracles.dot(a, b) / math.sqrt(oracles.dot(a, a) * oracles.dot(b, b))
        for a, b in zip(x, y, strict=True)
    ]
    close(cosine(x, y), expected)


@law("cosine_similarity")
def cosine_ignores_lengths(cosine):
    x, y = draw((3, 5), (3, 5), seed=1)
    close(cosine(1e3 * x, 1e-3 * y), cosine(x, y))
    close(cosine(x, x), np.ones(3))
    close(cosine(x, -x), -np.ones(3))


@law("dot_product_scores")
def scores_equal_the_loop(scores_of):
    q, k = draw((3, 7), (5, 7))
    close(scores_of(q, k), oracles.scores(q, k))


@law("dot_product_scores")
def scores_work_in_batches(scores_of):
    q, k = draw((2, 3, 7), (2, 5, 7), seed=1)
    close(scores_of(q, k), [oracles.scores(*pair) for pair in zip(q, k, strict=True)])


@law("dot_product_scores")
def swapping_the_roles_transposes_the_scores(scores_of):
    q, k = draw((3, 7), (5, 7), seed=2)
    close(scores_of(k, q), scores_of(q, k).T)
