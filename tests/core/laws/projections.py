"""Laws of projections."""

import numpy as np

from tests.core import oracles
from tests.core.lawbook import close, draw, law


@law("project")
def projection_equals_the_loop(project):
    X, W, b = draw((3, 5), (5, 7), (7,))
    close(project(X, W), oracles.project(X, W))
    close(project(X, W, b), oracles.project(X, W, b))


@law("project")
def projection_works_on_one_row_and_on_batches(project):
    X, W, b = draw((2, 3, 5), (5, 7), (7,), seed=1)
    close(project(X, W, b), [oracles.project(x, W, b) for x in X])
    close(project(X[1, 2], W, b), oracles.project(X[1, 2:], W, b)[0])


@law("project")
def projections_do_not_mix_tokens(project):
    """Changing one row of X changes that row of the result and no other."""
    X, W = draw((3, 5), (5, 7), seed=2)
    other = X.copy()
    other[1] += 1.0
    changed = np.any(project(other, W) != project(X, W), axis=-1)
    assert changed.tolist() == [False, True, False]


@law("project")
def projecting_twice_is_one_matrix(project):
    X, W, W_next = draw((3, 5), (5, 7), (7, 2), seed=3)
    close(project(project(X, W), W_next), project(X, W @ W_next))


@law("project_qkv")
def each_comes_from_its_own_sequence_and_matrix(project_qkv):
    X_q, X_kv, W_Q, W_K, W_V = draw((3, 5), (7, 11), (5, 2), (11, 2), (11, 13))
    q, k, v = project_qkv(X_q, X_kv, W_Q, W_K, W_V)
    close(q, oracles.project(X_q, W_Q))
    close(k, oracles.project(X_kv, W_K))
    close(v, oracles.project(X_kv, W_V))


@law("project_qkv")
def self_attention_is_one_sequence_twice(project_qkv):
    X, W_Q, W_K, W_V = draw((3, 5), (5, 2), (5, 2), (5, 7), seed=1)
    q, k, v = project_qkv(X, X, W_Q, W_K, W_V)
    close(q, X @ W_Q)
    close(k, X @ W_K)
    close(v, X @ W_V)
