"""What is held in memory, counted by tracemalloc (numpy reports its arrays to it)."""

import tracemalloc

import numpy as np
import pytest

import qkv
from tests.core.lawbook import close, draw


def peak(function, *arguments):
    """Return the most bytes held at once, beyond what was there before."""
    tracemalloc.start()
    function(*arguments)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


def test_softmax_can_write_over_its_scores():
    (scores,) = draw((3, 5))
    expected = qkv.softmax(scores)
    close(scores, draw((3, 5))[0], atol=0)
    weights = qkv.softmax(scores, out=scores)
    assert weights is scores
    close(weights, expected, atol=0)


def test_tiles_need_a_twentieth_of_the_memory_and_grow_with_n():
    def measure(function, n, *options):
        q, k, v = (x.astype(np.float32) for x in draw((n, 64), (n, 64), (n, 32)))
        return peak(function, q, k, v, *options)

    naive = measure(qkv.scaled_dot_product_attention, 2048)
    tiled = measure(qkv.tiled_attention, 2048, None, 128)
    causal = measure(qkv.tiled_causal_attention, 2048, 0, 128)
    assert naive > 2048 * 2048 * 4
    assert tiled < naive / 20
    assert causal < naive / 20
    assert measure(qkv.tiled_attention, 4096, None, 128) < 2.2 * tiled


def test_a_shared_mask_is_not_copied_for_each_head():
    p = qkv.initial_multi_head(
        np.random.default_rng(0), qkv.LayerSizes(d_model=16, d_ff=16, n_heads=8, d_k=2, d_v=2)
    )
    X = np.random.default_rng(1).normal(size=(512, 16))
    with_mask = peak(qkv.multi_head_attention_stacked, X, X, p, qkv.causal_mask(512))
    without = peak(qkv.multi_head_attention_stacked, X, X, p)
    assert with_mask < without + 1.2 * 8 * 512 * 512 * 8  # one masked copy of the scores


@pytest.mark.parametrize("attend", [qkv.scaled_dot_product_attention, qkv.partial_attention])
def test_attention_holds_its_scores_once(attend):
    """The weights are written over the scores."""
    q, k, v = draw((512, 3), (512, 3), (512, 2))
    scores = 512 * 512 * 8
    assert scores < peak(attend, q, k, v) < 1.5 * scores
