"""The experiment of chapter 22: task, model against core, methods, and a seed once more."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import qkv  # noqa: E402
from qkv.data import truth_model  # noqa: E402
from qkv.data.known_truth import TOKENS, check_text, relevant, rule, truth_model_of  # noqa: E402
from qkv.experiments import explanation, load_result  # noqa: E402
from qkv.experiments.explanation import (  # noqa: E402
    Config,
    agreement,
    all_scores,
    forward,
    initial,
    losses,
    run,
    shapes,
    sweep,
    texts,
    train,
)

DRAWN = texts(np.random.default_rng(6), 200)


def test_every_text_is_one_that_the_rule_covers():
    for ids in DRAWN:
        check_text(ids)
    questions = {TOKENS[i] for i in DRAWN[:, -1]}
    assert questions == {"A?", "B?", "C?", "D?", "*?", "!"}
    assert {TOKENS[i] for i in texts(np.random.default_rng(6), 50, "count")[:, -1]} == {"*?"}


@pytest.mark.parametrize(("n_layers", "way"), [(2, "open"), (1, "open"), (2, "uniform")])
def test_the_trained_model_and_the_opened_one_are_one(n_layers, way):
    config = Config(seeds=(0, 1), n_layers=n_layers, way=way)
    drawn = [initial(config, np.random.default_rng(seed)) for seed in (3, 4)]
    p = {name: torch.tensor(np.stack([one[name] for one in drawn])) for name in drawn[0]}
    assert {name: tuple(x.shape[1:]) for name, x in p.items()} == shapes(config)
    ids = DRAWN[:14].reshape(2, 7, 10)
    scores, kept = forward(config, p, torch.tensor(ids))
    for i in (0, 1):
        model = explanation.model_of(config, p, i)
        steps = model.steps(ids[i])
        np.testing.assert_allclose(scores[i], steps.scores, rtol=0, atol=1e-11)
        for mine, theirs in zip(kept, steps.weights, strict=True):
            np.testing.assert_allclose(mine[i], theirs[:, :, -1], rtol=0, atol=1e-12)
        if way == "uniform":
            assert steps.weights[0].max() == pytest.approx(0.1)


def test_the_fine_is_what_the_weights_on_the_truth_cost():
    config = Config(seeds=(0,), way="hidden")
    one = initial(config, np.random.default_rng(5))
    p = {name: torch.tensor(x[None]) for name, x in one.items()}
    ids, answers = torch.tensor(DRAWN[None, :20]), torch.tensor(rule(DRAWN[None, :20]))
    truth = relevant(DRAWN[:20])
    free = losses(Config(seeds=(0,)), p, ids, answers, torch.tensor(truth[None]).double())
    fined = losses(config, p, ids, answers, torch.tensor(truth[None]).double())
    steps = truth_model_of(one).steps(DRAWN[:20])
    want = sum((w[:, :, -1, :9] * truth[:, None]).sum(-1).mean() for w in steps.weights)
    assert float(fined - free) == pytest.approx(explanation.FINE * want)


def test_chance_separates_by_one_half():
    rng = np.random.default_rng(7)
    truth = relevant(DRAWN)
    random = [np.nanmean(explanation.separation(rng.random(truth.shape), truth)) for _ in range(20)]
    assert abs(np.mean(random) - 0.5) < 0.02


def test_what_is_taken_away_by_loops():
    model, ids = truth_model(), DRAWN[:8]
    found = all_scores(model, ids)
    said = model.steps(ids).said
    mean = model.E[ids[:, 1:-1]].mean((0, 1))
    for b, place in [(0, 1), (3, 5), (7, 8)]:
        X = model.E[ids[b]]
        before = qkv.softmax(model.steps(X=X).scores)[said[b]]
        for name, row in [("zero", 0.0), ("mean", mean), ("swap", model.E[ids[b - 1, place]])]:
            other = X.copy()
            other[place] = row
            lost = before - qkv.softmax(model.steps(X=other).scores)[said[b]]
            assert found[name][b, place] == pytest.approx(lost, abs=1e-12)
    steps = model.steps(ids)
    np.testing.assert_array_equal(found["head 2.1"], steps.weights[1][:, 0, -1, :9])


def test_agreement_of_the_truth_with_itself():
    truth = relevant(DRAWN)
    found = agreement(truth_model(), DRAWN, truth)
    for kind in range(3):
        assert found["erase"][0][kind] > 0.9
    assert explanation.by_kind(
        explanation.precision(truth.astype(float), truth), explanation.kinds(DRAWN)
    ) == [1, 1, 1]


def test_the_committed_result_is_whole_and_says_what_the_page_says():
    result = load_result("explanation")
    configs = sweep(result.seeds)
    assert len(result.rows) == len(configs) * len(result.seeds) == 30
    for config in configs:
        found = result.select(n_layers=config.n_layers, way=config.way, asks=config.asks)
        assert [row["seed"] for row in found] == list(result.seeds)
        assert {row["steps"] for row in found} == {config.steps}
    assert result.seconds < 900


def test_a_short_training_learns_and_repeats():
    config = Config(seeds=(3,), n_layers=1, steps=150, asks="count")
    first, second = (train(config)[0] for _ in range(2))
    for name in first:
        torch.testing.assert_close(first[name], second[name], rtol=0, atol=0)
    (row,) = run(config)
    assert row["accuracy"][2] > 0.7
    assert row["accuracy"][0] is None


@pytest.mark.slow
def test_one_seed_comes_out_as_committed():
    """The settings that take least; all seeds train side by side, one alone gives the same."""
    config = Config(seeds=(1,), n_layers=1, way="uniform", steps=1000, asks="count")
    (row,) = run(config)
    (kept,) = load_result("explanation").select(n_layers=1, way="uniform", asks="count", seed=1)
    assert row["accuracy"] == kept["accuracy"]
    np.testing.assert_allclose(row["start_writes"], kept["start_writes"], rtol=0.1)
