"""The second experiment of chapter 19: its task, its layers, its ways to share, a seed again."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import qkv  # noqa: E402
from qkv.experiments import grouped, load_result  # noqa: E402
from qkv.experiments.grouped import KV_HEADS, MADE_FROM, MORE, N_HEADS, WIDTHS, Config  # noqa: E402

RESULT = load_result("grouped")


def test_the_answers_are_the_values_of_the_rows_asked_for():
    asks, rows, answers = grouped.questions(np.random.default_rng(0), 20)
    assert asks.shape == (20, 1, 27)
    assert rows.shape == (20, 9, 43)
    for ask, memory, answer in zip(asks[:, 0], rows, answers, strict=True):
        for kind in range(3):
            label = ask[9 * kind : 9 * (kind + 1)]
            found = [row for row in memory if torch.equal(row[9 * kind : 9 * (kind + 1)], label)]
            assert len(found) == 1
            assert found[0][27:].argmax() == answer[kind]


def test_a_perfect_look_up_is_all_right_and_an_untrained_one_guesses():
    rng = np.random.default_rng(1)
    W_Q, W_K = np.zeros((6, 27, 9)), np.zeros((6, 43, 9))
    W_V, W_O = np.zeros((6, 43, 16)), np.zeros((96, 48))
    for kind in range(3):
        part = slice(9 * kind, 9 * kind + 9)
        W_Q[kind, part], W_K[kind, part] = 60 * np.eye(9), np.eye(9)
        W_V[kind, 27:] = np.eye(16)
        W_O[16 * kind : 16 * kind + 16, 16 * kind : 16 * kind + 16] = np.eye(16)
    assert grouped.right(qkv.MultiHeadParameters(W_Q, W_K, W_V, W_O), rng) == 1
    assert grouped.right(grouped.first_matrices(rng, 8, 2), rng) < 0.12


def test_ways_to_turn():
    layer = grouped.first_matrices(np.random.default_rng(0), 4, 6)
    for n in KV_HEADS:
        mean, first, new = (
            grouped.turn(layer, n, made, np.random.default_rng(1)) for made in MADE_FROM
        )
        times = N_HEADS // n
        for g in range(n):
            np.testing.assert_allclose(mean.W_K[g], layer.W_K[g * times : (g + 1) * times].mean(0))
            np.testing.assert_array_equal(first.W_V[g], layer.W_V[g * times])
        assert new.W_K.shape == first.W_K.shape == (n, 43, 4)
        assert new.W_Q is layer.W_Q


def test_every_setting_has_its_seeds():
    seeds = list(RESULT.seeds)
    for width in WIDTHS:
        for n in KV_HEADS:
            rows = RESULT.select(width=width, kv_heads=n, made_from="")
            assert [row["seed"] for row in rows] == seeds
    for n in KV_HEADS[1:]:
        for made in MADE_FROM:
            for more in MORE:
                rows = RESULT.select(kv_heads=n, made_from=made, more=more)
                assert [row["seed"] for row in rows] == seeds
    settings = len(WIDTHS) * len(KV_HEADS) + (len(KV_HEADS) - 1) * len(MADE_FROM) * len(MORE)
    assert len(RESULT.rows) == len(seeds) * settings


@pytest.mark.slow
def test_a_seed_trained_again_gives_the_committed_number():
    (again,) = grouped.run(Config(seeds=(1,), width=4, kv_heads=2))
    (before,) = RESULT.select(width=4, kv_heads=2, made_from="", seed=1)
    assert abs(again["right"] - before["right"]) <= 0.05
