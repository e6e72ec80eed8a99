"""The task of chapter 7 is what its page says it is."""

import numpy as np

import qkv


def test_every_way_five_coins_can_lie_once():
    task = qkv.data.round_table()
    assert len({tuple(row) for row in task.coins}) == 2**5 == len(task.coins)
    assert set(task.coins.ravel()) == {1.0, -1.0}


def test_each_must_say_the_coin_of_the_next():
    task = qkv.data.round_table()
    for coins, X, wanted in zip(task.coins, task.X, task.wanted, strict=True):
        for i in range(5):
            assert X[i].tolist() == [*np.eye(5)[i], coins[i]]
            assert wanted[i, 0] == coins[(i + 1) % 5]


def test_nothing_can_be_written_and_seeds_differ():
    task = qkv.data.round_table()
    assert not any(a.flags.writeable for a in (task.coins, task.X, task.wanted))
    first, again, other = task.start(3), task.start(3), task.start(4)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[0], other[0])
    assert [W.shape for W in first] == [(6, 4), (6, 4), (6, 2), (2, 1)]
    np.testing.assert_allclose(task.start(3, size=0.6)[1], 2 * first[1], rtol=0, atol=1e-15)
