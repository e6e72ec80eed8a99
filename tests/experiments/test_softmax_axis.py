"""The experiment of chapter 3: what its rows say, and that a seed gives the same again."""

import math
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from qkv.experiments import load_result  # noqa: E402
from qkv.experiments.softmax_axis import Config, Head, leak, run, texts  # noqa: E402


@pytest.mark.parametrize("axis", ["keys", "queries"])
def test_one_seed_gives_the_committed_row_again(axis):
    torch.set_num_threads(1)
    (row,) = run(Config(seed=1, axis=axis))
    (kept,) = load_result("softmax_axis").select(seed=1, axis=axis)
    for name in ("loss", "loss_unknown", "loss_known", "loss_alone"):
        # Another machine rounds otherwise; 800 steps blow that up.
        assert row[name] == pytest.approx(kept[name], rel=0.15), name


def test_the_result_says_what_the_chapter_says():
    result = load_result("softmax_axis")
    right = {name: result.column(name, axis="keys") for name in result.rows[0] if name != "axis"}
    wrong = {name: result.column(name, axis="queries") for name in right}
    limit = math.log(Config().n_tokens)
    assert len(result.seeds) == 10
    assert (wrong["loss"] < right["loss"]).all()
    assert wrong["loss_unknown"].max() < limit < right["loss_unknown"].min()
    assert (right["leak"] == 0).all()
    assert (wrong["leak"] > 1).all()
    assert (wrong["loss_alone"] > limit).all()
    np.testing.assert_allclose(right["loss_alone"], right["loss"], rtol=0, atol=1e-5)


@pytest.mark.parametrize("axis", ["keys", "queries"])
def test_the_axis_is_the_one_that_sums_to_one_and_an_untrained_head_leaks_or_not(axis):
    config = replace(Config(), axis=axis)
    torch.manual_seed(0)
    model = Head(config)
    ids = texts(config, 3, torch.Generator().manual_seed(0))
    weights = model.weights(model.embed(ids[:, :-1])).detach()
    sums = weights.sum(dim={"keys": -1, "queries": -2}[axis])
    np.testing.assert_allclose(sums.numpy(), 1, rtol=0, atol=1e-6)
    assert (torch.triu(weights, 1) == 0).all()
    assert (leak(model, ids, config.n_tokens) == 0) == (axis == "keys")


def test_a_text_says_its_first_half_twice():
    config = Config()
    ids = texts(config, 11, torch.Generator().manual_seed(0))
    assert ids.shape == (11, 2 * config.half)
    assert (ids[:, : config.half] == ids[:, config.half :]).all()
