"""The experiment of chapter 13: what its model can see, what its rows say, and a seed once more."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from qkv.experiments import load_result, order  # noqa: E402
from qkv.experiments.order import CODES, Config, forward, initial, right, run, texts  # noqa: E402

SEEDS = (0, 1)


def start(config):
    drawn = [initial(config, np.random.default_rng([13, seed])) for seed in config.seeds]
    p = {name: torch.tensor(np.stack([one[name] for one in drawn])) for name in drawn[0]}
    rng = np.random.default_rng(5)
    return p, torch.tensor(np.stack([texts(rng, 3, 7) for _ in config.seeds]))


def moved(config, ids, other, p, **more):
    return np.flatnonzero(
        (forward(config, p, ids, **more) - forward(config, p, other)).abs().amax((0, 1, 3)) > 1e-9
    )


def test_without_code_and_mask_the_order_is_not_seen():
    config = Config(seeds=SEEDS, code="none", causal=False)
    p, ids = start(config)
    turn = [0, 3, 1, 6, 2, 5, 4]
    a, b = forward(config, p, ids)[:, :, turn], forward(config, p, ids[:, :, turn])
    torch.testing.assert_close(a, b, rtol=0, atol=1e-12)


def test_one_causal_layer_sees_sets_and_two_see_the_order():
    for n_layers, want in [(1, {1, 2}), (2, {1, 2, 3, 4, 5, 6})]:
        config = Config(seeds=SEEDS, code="none", n_layers=n_layers)
        p, ids = start(config)
        ids[:, :, 1], ids[:, :, 2] = 3, 4
        assert set(moved(config, ids, ids[:, :, [0, 2, 1, 3, 4, 5, 6]], p)) == want


@pytest.mark.parametrize("code", CODES)
def test_no_row_sees_later_tokens_and_only_some_codes_see_the_start(code):
    config = Config(seeds=SEEDS, code=code)
    p, ids = start(config)
    other = ids.clone()
    other[:, :, 4] = (other[:, :, 4] + 1) % order.N_TOKENS
    assert moved(config, ids, other, p).min() == 4
    later = moved(config, ids, ids, p, offset=9)
    assert (len(later) > 0) == (code in ("sinusoids", "learned"))


def test_right_counts_the_token_asked_for():
    config = Config(seeds=(0,), back=3)
    ids = torch.arange(12).reshape(1, 1, 12) % 10

    def oracle(config, p, ids):
        return torch.nn.functional.one_hot(ids.roll(3, dims=-1), 10).double()

    before, order.forward = order.forward, oracle
    try:
        assert (right(config, {}, ids) == 1).all()
        assert (right(Config(seeds=(0,), back=1), {}, ids) == 0).all()
    finally:
        order.forward = before


def test_one_seed_gives_the_committed_row_again():
    (row,) = run(Config(seeds=(3,)))
    wanted = {"code": "sinusoids", "causal": True, "back": 1, "shifted": False, "n_layers": 2}
    (kept,) = load_result("order").select(seed=3, **wanted)
    assert row["trained"] == pytest.approx(kept["trained"], abs=0.01)
    assert np.mean(row["by_place"][4:]) == pytest.approx(np.mean(kept["by_place"][4:]), abs=0.08)


def test_the_result_says_what_the_chapter_says():
    result = load_result("order")
    assert len(result.seeds) >= 10

    def shares(code, back, **more):
        wanted = {"causal": True, "shifted": False, "n_layers": 2, **more}
        return (
            result.column("trained", code=code, back=back, **wanted),
            result.column("by_place", code=code, back=back, **wanted),
        )

    for back in (1, 3):
        assert all(shares(code, back)[0].min() > 0.99 for code in CODES)
        assert shares("none", back, causal=False)[0].max() < 0.27
        assert shares("none", back, n_layers=1)[0].max() < 0.35
        assert shares("rotary", back)[1][:, 3].min() > 0.95
        assert shares("learned", back)[1][:, 3:].mean() < 0.15
        assert shares("sinusoids", back)[1][:, 3].max() < 0.7
        assert shares("sinusoids", back, shifted=True)[1][:, 14].mean() > 0.5
    assert shares("none", 1)[1][:, 3].min() > 0.9
    assert shares("none", 3)[1][:, 3].max() < 0.2
