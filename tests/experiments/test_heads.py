"""The experiment of chapter 10: its layer is core's, its counts agree, its numbers come again."""

import numpy as np
import pytest
import torch

import qkv
from qkv.experiments import heads, load_result
from qkv.experiments.heads import Config

RESULT = load_result("heads")


def setting(config):
    return {name: getattr(config, name) for name in ("n_heads", "asked", "read_out", "steps")}


@pytest.mark.parametrize("n_heads", [1, 2, 4])
@pytest.mark.parametrize("read_out", heads.READ_OUTS)
def test_the_layer_is_cores(n_heads, read_out):
    config = Config(seeds=(3, 5), n_heads=n_heads, read_out=read_out)
    drawn = [heads.initial(config, np.random.default_rng([10, s])) for s in config.seeds]
    p = {name: torch.tensor(np.stack([one[name] for one in drawn])) for name in drawn[0]}
    values = torch.randint(16, (2, 3, 12), generator=torch.Generator().manual_seed(0))
    scores, weights = heads.forward(config, p, values)
    for i, one in enumerate(drawn):
        X = one["E_place"] + one["E_value"][values[i].numpy()]
        parameters = qkv.MultiHeadParameters(
            one["W_Q"], one["W_K"], one["W_V"], one["W_O"], b_O=one["b_O"][0]
        )
        output, want = qkv.self_attention(X, parameters)
        output = qkv.relu(output) if read_out == "relu" else output
        np.testing.assert_allclose(weights[i], want, rtol=0, atol=1e-12)
        got = scores[i].flatten(-2)
        np.testing.assert_allclose(got, output @ one["R"], rtol=0, atol=1e-11)


def test_the_targets_stand_where_the_task_says():
    values = torch.arange(12)[None, None]
    asked = heads.targets_of(Config(asked=4), values)[0, 0]
    assert asked[5].tolist() == [3, 4, 6, 7]
    assert asked[0].tolist() == [10, 11, 1, 2]


def test_every_setting_has_ten_seeds_and_heads_cost_nothing():
    for config in heads.sweep(RESULT.seeds):
        rows = RESULT.select(**setting(config))
        assert [row["seed"] for row in rows] == list(range(10))
        assert {row["weights"] for row in rows} == {heads.count_weights(config)}
    assert len(RESULT.rows) == 10 * len(heads.sweep(RESULT.seeds))
    assert len({row["weights"] for row in RESULT.select(asked=2)}) == 1


def test_no_linear_read_out_of_one_mean_is_right_for_all_pairs():
    """The proof by renaming, on the mean table: alpha on the diagonal, beta off it."""
    for w in (0.3, 0.5, 0.7):
        for alpha, beta in ((1.0, 0.0), (0.0, 1.0), (-1.0, 2.0)):
            A = beta + (alpha - beta) * np.eye(16)
            held = w * np.eye(16)[3] + (1 - w) * np.eye(16)[8]
            best = (A @ held).argmax()
            assert {best == 3, best == 8} != {True}
    assert RESULT.column("all_right", asked=2, n_heads=1, read_out="linear").max() < 0.2


@pytest.mark.slow
@pytest.mark.parametrize("n_heads", [1, 2])
def test_a_seed_trained_again_gives_the_committed_number(n_heads):
    config = Config(seeds=(7,), n_heads=n_heads)
    (again,) = heads.run(config)
    (committed,) = RESULT.select(**setting(config), seed=7)
    assert again["weights"] == committed["weights"]
    assert abs(again["all_right"] - committed["all_right"]) <= 0.02
