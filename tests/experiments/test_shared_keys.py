"""The experiment of chapter 12: its layers are core's, its task is what it says, it comes again."""

import numpy as np
import pytest
import torch

import qkv
from qkv.experiments import load_result, shared_keys
from qkv.experiments.shared_keys import Config

RESULT = load_result("shared_keys")


def setting(config):
    return {name: getattr(config, name) for name in ("shared", "width", "steps")}


@pytest.mark.parametrize("shared", shared_keys.SHARED)
def test_the_layers_are_cores(shared):
    config = Config(seeds=(3, 5), shared=shared, width=6)
    drawn = [shared_keys.initial(config, np.random.default_rng([12, s])) for s in config.seeds]
    p = {name: torch.tensor(np.stack([one[name] for one in drawn])) for name in drawn[0]}
    tasks = torch.tensor(np.stack([shared_keys.draw(np.random.default_rng(s), 4) for s in (1, 2)]))
    scores, looks = shared_keys.forward(p, tasks)
    for i, one in enumerate(drawn):
        for b, (names, labels, pointers, values, asked) in enumerate(tasks[i].numpy()):
            memory = one["E_name"][names] + one["E_label"][labels]
            memory = memory + one["E_pointer"][pointers] + one["E_value"][values]
            x = one["E_ask"][asked[:1]]
            for layer in range(2):
                W_K, W_V = (one[n][0 if len(one[n]) == 1 else layer] for n in ("W_K", "W_V"))
                matrices = one["W_Q"][layer][None], W_K[None], W_V[None], one["W_O"][layer]
                output, weights = qkv.cross_attention(x, memory, qkv.MultiHeadParameters(*matrices))
                x = x + output
                np.testing.assert_allclose(looks[layer][i, b], weights[0], rtol=0, atol=1e-12)
            np.testing.assert_allclose(scores[i, b], (x @ one["R"])[0], rtol=0, atol=1e-10)


def test_the_answer_is_at_the_end_of_two_look_ups():
    tasks = shared_keys.draw(np.random.default_rng(0), 50)
    got = shared_keys.answers(torch.tensor(tasks))
    for (names, labels, pointers, values, asked), answer in zip(tasks, got, strict=True):
        first = names.tolist().index(asked[0])
        second = labels.tolist().index(pointers[first])
        assert answer == values[second]


def test_every_setting_has_ten_seeds_and_its_count():
    for config in shared_keys.sweep(RESULT.seeds):
        rows = RESULT.select(**setting(config))
        assert [row["seed"] for row in rows] == list(range(10))
        assert {row["weights"] for row in rows} == {shared_keys.count_weights(config)}
    assert len(RESULT.rows) == 10 * len(shared_keys.sweep(RESULT.seeds))


def test_sharing_saves_one_matrix_each():
    own, keys, values, both = (
        shared_keys.count_weights(Config(shared=shared)) for shared in shared_keys.SHARED
    )
    assert own - keys == own - values == shared_keys.D_MEMORY * Config().width
    assert own - both == 2 * (own - keys)


@pytest.mark.slow
@pytest.mark.parametrize("shared", ["nothing", "both"])
def test_a_seed_trained_again_gives_the_committed_number(shared):
    config = Config(seeds=(7,), shared=shared, width=8)
    (again,) = shared_keys.run(config)
    (committed,) = RESULT.select(**setting(config), seed=7)
    assert again["weights"] == committed["weights"]
    assert abs(again["right"] - committed["right"]) <= 0.05
