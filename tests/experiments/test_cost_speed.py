"""The experiment of chapter 20: what it calls, how it times, and what its rows say."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import qkv  # noqa: E402
from qkv.experiments import cost_speed, load_result  # noqa: E402
from qkv.experiments.cost_speed import Config, attention_calls, interleaved, layer_calls  # noqa: E402


def test_one_round_runs_again_and_gives_the_same_rows_but_for_the_times():
    """Times are another machine's; which way needs how much memory and what ran is not."""
    rows = cost_speed.run(Config(seeds=(3,), n=1024, seconds=0.05))
    kept = load_result("cost_speed").select(seed=3, n=1024, n_heads=1, kind="attention")
    same = ("kind", "n", "n_heads", "way", "seed")
    assert [[row[c] for c in same] for row in rows] == [[row[c] for c in same] for row in kept]
    assert all(row["ms"] > 0 and row["runs"] >= 3 for row in rows)
    held = {row["way"]: row["mb"] for row in rows}
    if held["core"] is not None:  # Linux
        assert held["core"] > 4 * 1024**2 / 1e6
        assert held["tiled"] < held["core"]


def test_all_ways_compute_the_same():
    calls = attention_calls(Config(n=300, n_heads=3), np.random.default_rng(0))
    assert set(calls) == set(cost_speed.ALL)
    made = {name: np.asarray(call()).reshape(3, 300, 64) for name, call in calls.items()}
    for name in ("tiled", "torch", "fused"):
        np.testing.assert_allclose(made[name], made["core"], rtol=0, atol=1e-5)
    np.testing.assert_allclose(made["tiled causal"], made["fused causal"], rtol=0, atol=1e-5)
    assert np.abs(made["fused causal"] - made["fused"]).max() > 0.1


def test_the_parts_of_a_layer_have_its_sizes():
    calls = layer_calls(Config(kind="layer", n=7), np.random.default_rng(0))
    made = {name: call() for name, call in calls.items()}
    assert [x.shape for x in made["projections"]] == [(7, 256)] * 4
    assert [x.shape for x in made["feed-forward"]] == [(7, 1024), (7, 256)]
    assert made["attention"].shape == (4, 7, 64)
    np.testing.assert_allclose(
        made["attention fused"].numpy()[0], made["attention"], rtol=0, atol=1e-5
    )


def test_calls_take_turns():
    order = []
    runs = interleaved({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, 0.0, 4)
    assert "".join(order) == "ab" * 5
    assert [len(times) for times in runs.values()] == [4, 4]


def test_an_exponent_is_a_slope():
    lengths = (256, 512, 1024)
    assert cost_speed.exponent(lengths, 3e-6 * np.array(lengths) ** 1.7) == pytest.approx(1.7)


def test_a_sweep_holds_every_setting_once():
    configs = cost_speed.sweep((0, 1))
    assert len(set(configs)) == len(configs) == 2 * (6 + 1 + 1 + 7)


def test_the_result_says_what_the_chapter_says():
    result = load_result("cost_speed")
    assert len(result.seeds) >= 5

    def times(way, n, n_heads=1, kind="attention"):
        return result.column("ms", kind=kind, way=way, n=n, n_heads=n_heads)

    long = (1024, 2048, 4096, 8192)
    slopes = {
        way: np.mean([cost_speed.exponent(long, row) for row in np.array(
            [times(way, n) for n in long]).T])
        for way in cost_speed.ALL
    }  # fmt: skip
    assert all(abs(slopes[way] - 2) < 0.1 for way in ("tiled", "fused"))
    assert min(slopes["core"], slopes["torch"]) > 2.1
    assert np.median(times("core", 1024, 8) / times("fused", 1024, 8)) <= 2.5
    memory = result.column("mb", kind="attention", way="tiled", n=cost_speed.LONG, n_heads=1)
    assert np.median(memory) < 0.02 * cost_speed.LONG**2 * 4 / 1e6
    for n in (512, 4096):
        parts = {way: np.median(times(way, n, 4, "layer")) for way in cost_speed.PARTS}
        assert parts["attention"] > parts["attention fused"] > parts["projections"]


def test_the_counts_cross_where_the_chapter_says():
    for d in (512, 768, 12288):
        sizes = qkv.LayerSizes(d_model=d, d_ff=4 * d, n_heads=d // 64, d_k=64, d_v=64)
        between = [qkv.attention_flops(n, n, d, d) for n in (2 * d, 6 * d)]
        assert 2 * between[0] == qkv.self_attention_flops(2 * d, sizes)
        assert 2 * between[1] == qkv.encoder_layer_flops(6 * d, sizes)
