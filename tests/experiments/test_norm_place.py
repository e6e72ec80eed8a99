"""Post-norm and pre-norm trained: what the chapter says, and one run once more."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from qkv.experiments import load_result, norm_place  # noqa: E402
from qkv.experiments.norm_place import Config, Stack, run  # noqa: E402


def best(depth, kind, reads=1.0):
    result = load_result("norm_place")
    where = {"depth": depth, "kind": kind, "reads": reads}
    return max(
        np.median(result.column("right", rate=rate, warm_up=warm_up, **where))
        for rate in norm_place.RATES
        for warm_up in norm_place.WARM_UPS
    )


def test_the_result_says_what_the_chapter_says():
    assert best(2, "post") > 0.98
    assert best(2, "pre") > 0.98
    assert best(6, "post") < 0.2
    assert best(6, "pre") > 0.99
    assert best(6, "post", 0.25) > 0.99


def test_one_run_gives_the_committed_row_again():
    (row,) = run(Config(seeds=(1,), kind="pre", depth=2, rate=3e-3))
    (kept,) = load_result("norm_place").select(
        seed=1, kind="pre", depth=2, rate=3e-3, warm_up=0, reads=1.0
    )
    assert row["right"] == pytest.approx(kept["right"], abs=0.03)


@pytest.mark.parametrize("kind", ["post", "pre"])
def test_only_pre_norm_has_a_norm_at_the_end_and_reads_shrink_the_writes(kind):
    whole = Stack(np.random.default_rng(0), kind, 2, 1.0)
    small = Stack(np.random.default_rng(0), kind, 2, 0.25)
    assert isinstance(whole.last, torch.nn.LayerNorm) == (kind == "pre")
    for one, other in zip(whole.layers, small.layers, strict=True):
        torch.testing.assert_close(0.25 * one.attention.W_O, other.attention.W_O)
        torch.testing.assert_close(one.attention.W_V, other.attention.W_V)
