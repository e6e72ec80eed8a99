"""Stacks before training: what the chapter says of them, and one seed once more."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from qkv import core  # noqa: E402
from qkv.experiments import depth, load_result  # noqa: E402


def median(name, kind, layer, of=24):
    return np.median(load_result("depth").column(name, kind=kind, depth=of, layer=layer))


@pytest.mark.parametrize("kind", depth.KINDS)
def test_one_seed_gives_the_committed_rows_again(kind):
    result = load_result("depth")
    of = 8 if kind in ("post", "pre") else 24
    for row in depth.run(depth.Config(seeds=(4,), kind=kind, depth=of)):
        if row["layer"] not in (1, of):
            continue
        (kept,) = result.select(seed=4, kind=kind, depth=of, layer=row["layer"])
        assert row["length"] == pytest.approx(kept["length"], rel=0.01)
        assert row["gradient"] == pytest.approx(kept["gradient"], rel=0.01)
        if kept["spread"] > 1e-6:  # below it is rounding
            assert row["spread"] == pytest.approx(kept["spread"], rel=0.01)


def test_lengths_are_what_the_chapter_says():
    assert median("length", "post", 24) == pytest.approx(8, abs=0.01)
    assert 40 < median("length", "pre", 24) < 60


def test_the_last_gradient_falls_with_the_root_of_the_depth_in_pre_norm_only():
    for of in depth.DEPTHS[1:]:
        last = {kind: median("gradient", kind, of, of) for kind in ("post", "pre")}
        assert 1.1 < last["post"] < 1.6
        assert 0.7 < last["pre"] * np.sqrt(of) / median("gradient", "pre", 1, 1) < 1.3


def test_the_rows_become_one_without_sums_and_slowly_with_them():
    for kind in ("no residual", "attention only"):
        assert median("spread", kind, 5) < 1e-14
    assert 1e-6 < median("spread", "post", 24) < 1e-4
    assert median("spread", "pre", 24) > 0.2
    assert median("spread", "post, small reads", 24) > 0.2


def test_spread_is_the_share_outside_the_mean_row():
    X = torch.tensor([[[3.0, 1.0], [1.0, 1.0]]])
    assert depth.spread(X) == pytest.approx(np.sqrt(2 / 12))
    assert depth.spread(torch.ones(2, 5, 3)) == 0


def test_the_layers_are_cores():
    parameters, ids, _ = depth.start(0, 2)
    X = core.embed_tokens(ids, parameters.E_source)
    for layer in parameters.encoder:
        X, _ = core.encoder_layer_pre_norm(X, layer)
    (row,) = [r for r in depth.measure(depth.Config(kind="pre", depth=2), 0) if r["layer"] == 2]
    assert row["length"] == pytest.approx(np.linalg.norm(X, axis=-1).mean(), rel=1e-3)
