"""The first experiment of chapter 19: three ways that write the same, and their counts."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from qkv import core  # noqa: E402
from qkv.experiments import cache_speed, load_result  # noqa: E402
from qkv.experiments.cache_speed import KEPT, LENGTHS, N_LAYERS, SIZES, Config  # noqa: E402

RESULT = load_result("cache_speed")


def test_three_ways_write_what_cores_layers_write():
    writer = cache_speed.Writer(3)
    ids = {way: cache_speed.write(writer, 6, way) for way in KEPT}
    said, rows, _ = ids["nothing"]
    for other, made, _ in ids.values():
        assert other == said
        np.testing.assert_allclose(made, rows, rtol=0, atol=1e-5)
    X = core.embed_tokens([0, *said[:-1]], writer.E.double().numpy())
    for layer in writer.layers:
        X, _ = core.encoder_layer(X, layer.double().to_core(), core.causal_mask(6))
    np.testing.assert_allclose(rows, X, rtol=0, atol=1e-4)


@pytest.mark.parametrize("way", KEPT)
def test_the_count_is_the_number_of_products(way):
    """Matrix products are counted while the decoder writes; each adds its multiplications."""
    counted = []

    class Watch(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            out = function(*args, **(kwargs or {}))
            if function in (torch.matmul, torch.Tensor.matmul, torch.Tensor.__matmul__):
                counted.append(out.numel() * args[0].shape[-1])
            if function is torch.einsum and args[0] == "...tr,hrc->...htc":
                counted.append(out.numel() * args[1].shape[-1])
            return out

    writer, n = cache_speed.Writer(0), 5
    with Watch():
        cache_speed.write(writer, n, way)
    read_out = n * SIZES.d_model * cache_speed.N_WORDS
    assert sum(counted) - read_out == cache_speed.multiplications(n, way)


def test_every_length_has_its_seeds_and_the_counts_of_now():
    for n in LENGTHS:
        for way in KEPT:
            rows = RESULT.select(n=n, kept=way)
            assert [row["seed"] for row in rows] == list(RESULT.seeds)
            assert {row["multiplications"] for row in rows} == {cache_speed.multiplications(n, way)}
            assert all(row["same"] and row["off"] < 1e-4 for row in rows)
    assert len(RESULT.rows) == len(LENGTHS) * len(KEPT) * len(RESULT.seeds)
    assert len(cache_speed.Writer(0).layers) == N_LAYERS


def test_a_seed_written_again_says_the_same():
    for row in cache_speed.run(Config(seeds=(2,), n=16)):
        (before,) = RESULT.select(n=16, kept=row["kept"], seed=2)
        assert row["same"]
        assert row["multiplications"] == before["multiplications"]
