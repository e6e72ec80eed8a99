"""Laws of the embedding table, of the head that reads with it, and of the loss."""

import math

import numpy as np

from tests.core import oracles
from tests.core.lawbook import close, draw, law


@law("embed")
def a_token_takes_its_row(embed):
    (E,) = draw((7, 3))
    close(embed(np.array([[5, 0, 5, 6, 1]]), E), [[E[5], E[0], E[5], E[6], E[1]]], atol=0)


@law("embed")
def the_result_is_a_copy(embed):
    (E,) = draw((7, 3))
    X = embed([2, 3], E)
    X += 1.0
    close(E, draw((7, 3))[0], atol=0)


@law("vocabulary_scores")
def the_head_is_the_transpose(head):
    X, E, b = draw((2, 3, 5), (7, 5), (7,))
    for given in (None, b):
        expected = [[[oracles.dot(x, e) for e in E] for x in rows] for rows in X]
        close(head(X, E, given), np.array(expected) + (0 if given is None else b))


@law("vocabulary_scores")
def a_row_of_the_table_scores_its_own_square(head):
    (E,) = draw((7, 5), seed=1)
    close(np.diagonal(head(E, E)), [oracles.dot(e, e) for e in E])


@law("embed_tokens")
def first_x_equals_the_loop(embed_tokens):
    (E,) = draw((7, 5), seed=2)
    close(embed_tokens([3, 0, 6], E), oracles.embed_tokens([3, 0, 6], E))
    batch = embed_tokens(np.array([[3, 0, 6], [1, 1, 1]]), E)
    close(batch[1], oracles.embed_tokens([1, 1, 1], E))


@law("embed_tokens")
def first_x_goes_on_at_an_offset(embed_tokens):
    (E,) = draw((7, 5), seed=3)
    whole = embed_tokens([3, 0, 6, 2, 2], E)
    close(embed_tokens([6, 2, 2], E, offset=2), whole[2:])


@law("cross_entropy")
def loss_equals_the_loop(cross_entropy):
    (scores,) = draw((3, 5), seed=4)
    expected = [-math.log(oracles.softmax(r)[t]) for r, t in zip(scores, (4, 0, 2), strict=True)]
    close(cross_entropy(scores, np.array([4, 0, 2])), expected)
    close(cross_entropy(scores[1], 0), expected[1])


@law("cross_entropy")
def each_row_has_its_own_largest_score(cross_entropy):
    expected = -math.log(oracles.softmax([0.0, 1.0])[0])
    close(cross_entropy([[[1e4, 1e4]], [[0.0, 1.0]]], [[0], [0]]), [[math.log(2)], [expected]])


@law("cross_entropy")
def loss_of_huge_scores_stays_finite(cross_entropy):
    with np.errstate(all="ignore"):
        losses = cross_entropy(np.array([[1e4, 0.0], [1e4, 0.0]]), np.array([0, 1]))
    close(losses, [0.0, 1e4])


@law("cross_entropy")
def a_score_far_below_another_costs_nothing(cross_entropy):
    close(cross_entropy([[1.5e308, -1.5e308]], [0]), [0.0])
