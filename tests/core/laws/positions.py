"""Laws of positions."""

import numpy as np

from tests.core import oracles
from tests.core.lawbook import close, draw, law

rotation = law("rotary_positions", "rotary_positions_halves")


@law("sinusoidal_positions")
def sinusoids_equal_the_loop(positions):
    for n, d_model, offset in [(7, 10, 0), (3, 5, 2), (2, 1, 9), (1, 2, 4000)]:
        close(positions(n, d_model, offset), oracles.sinusoid(n, d_model, offset))
    close(positions(7, 10), oracles.sinusoid(7, 10))


@law("sinusoidal_positions")
def a_step_is_one_matrix(positions):
    """The same matrix takes every position to the one three later."""
    P = positions(23, 10)
    step = np.zeros((10, 10))
    for i in range(5):
        angle = 3 * 10000 ** (-2 * i / 10)
        turn = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
        step[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = turn
    close(P[:20] @ step, P[3:])


@law("learned_positions")
def learned_rows_are_taken_in_order(positions):
    (P,) = draw((11, 3))
    close(positions(P, 5), P[:5], atol=0)
    close(positions(P, 5, 2), P[2:7], atol=0)


@law("rotary_positions")
def rotary_equals_the_loop(rotate):
    (x,) = draw((5, 6))
    close(rotate(x), oracles.rotary(x))
    close(rotate(x, 3), oracles.rotary(x, 3))
    close(rotate(np.stack([x, -x]), 3, 50.0)[1], -oracles.rotary(x, 3, 50.0))


@law("rotary_positions_halves")
def rotary_halves_equal_the_loop(rotate):
    (x,) = draw((5, 6))
    close(rotate(x), oracles.rotary(x, halves=True))
    close(rotate(x, 3, 50.0), oracles.rotary(x, 3, 50.0, halves=True))


@rotation
def a_turn_keeps_lengths(rotate):
    (x,) = draw((2, 5, 6), seed=1)
    close(np.sum(rotate(x) ** 2, axis=-1), np.sum(x**2, axis=-1))


@rotation
def the_first_position_is_left_alone(rotate):
    (x,) = draw((5, 6), seed=2)
    close(rotate(x)[0], x[0], atol=0)


@rotation
def scores_depend_on_the_distance_alone(rotate):
    q, k = draw((5, 6), (5, 6), seed=3)
    here = rotate(q) @ rotate(k).T
    there = rotate(q, 1000) @ rotate(k, 1000).T
    close(there, here, atol=1e-11)
    assert np.abs(rotate(q) @ k.T - q @ k.T).max() > 0.1


@rotation
def a_later_row_can_be_turned_alone(rotate):
    (x,) = draw((5, 6), seed=4)
    close(rotate(x[3:], 3), rotate(x)[3:])


@law("rotary_attention")
def rotary_attention_equals_the_loop(attend):
    q, k, v = draw((3, 6), (5, 6), (5, 2), seed=5)
    mask = oracles.causal(3, 5, 1)
    turned_q, turned_k = oracles.rotary(q), oracles.rotary(k)
    for given in (None, mask):
        expected = oracles.attention(turned_q, turned_k, v, given)
        for a, b in zip(attend(q, k, v, given), expected, strict=True):
            close(a, b)


@law("rotary_attention")
def one_key_still_means_its_value(attend):
    q, k, v = draw((3, 6), (1, 6), (1, 2), seed=6)
    close(attend(q, k, v)[0], np.repeat(v, 3, axis=0))


@law("rotary_attention")
def equal_values_are_returned_as_they_are(attend):
    q, k, v = draw((3, 6), (5, 6), (1, 2), seed=7)
    close(attend(q, k, np.repeat(v, 5, axis=0))[0], np.repeat(v, 3, axis=0))
