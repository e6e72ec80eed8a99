"""Write n tokens with nothing kept, with X kept, and with keys and values kept (chapter 19).

A decoder of four layers with random numbers, alone, without a memory; greedy, one sentence, float32
on one thread. All three ways write the same tokens. The cache is joined anew in every step, as
`extend_cache` does; a program for use would set room aside.

Times depend on the machine, and only their ratios within one run are of use. The multiplications
are counted, and do not depend on anything.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from qkv import core, twins
from qkv.experiments.why_three import one_thread

SIZES = core.LayerSizes(d_model=192, d_ff=512, n_heads=6, d_k=24, d_v=40)
N_LAYERS, N_WORDS = 4, 211
LENGTHS = (16, 32, 64, 128, 256, 512)
KEPT = ("nothing", "X", "K and V")

Kept = list[Any]  # by layer: None, rows X, or a KVCache


@dataclass(frozen=True)
class Config:
    """One length.

    Attributes
    ----------
    seeds : tuple of int
        Each draws the layers and writes once in each way.
    n : int
        How many tokens are written.
    """

    seeds: tuple[int, ...] = (0,)
    n: int = 32


class Writer:
    """A table and layers, and the three ways to make the row that says the next token."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng([19, seed])
        start = core.initial_transformer(rng, SIZES, N_LAYERS, N_WORDS, 2)
        self.E = torch.tensor(start.E_source).float()
        self.layers = [twins.EncoderLayer(layer).float() for layer in start.encoder]

    def step(self, ids: list[int], kept: Kept, way: str) -> tuple[Tensor, Kept]:
        """Return the last row after all layers, and what is kept for the next step."""
        if way == "nothing":
            x = twins.embed_tokens(torch.tensor(ids), self.E)
            for layer in self.layers:
                x, _ = layer(x, twins.causal_mask(len(ids)))
            return x[-1:], kept
        x, new = twins.embed_tokens(torch.tensor(ids[-1:]), self.E, len(ids) - 1), []
        for layer, old in zip(self.layers, kept, strict=True):
            read, now = _of_rows(x, layer, old) if way == "X" else _of_cache(x, layer, old)
            x = twins.layer_norm(x + read, layer.norm_1)
            x = twins.layer_norm(x + twins.feed_forward(x, layer.feed_forward), layer.norm_2)
            new.append(now)
        return x, new


def _of_cache(x: Tensor, layer: twins.EncoderLayer, old: twins.KVCache | None) -> tuple:
    read, _, cache = twins.cached_self_attention(x, layer.attention, old)
    return read, cache


def _of_rows(x: Tensor, layer: twins.EncoderLayer, old: Tensor | None) -> tuple:
    rows = x if old is None else torch.cat([old, x])
    read, _ = twins.multi_head_attention_stacked(x, rows, layer.attention)
    return read, rows


def write(writer: Writer, n: int, way: str) -> tuple[list[int], Tensor, float]:
    """Return the n tokens written after token 0, their rows, and the seconds."""
    ids, rows = [0], []
    kept: Kept = [None] * N_LAYERS
    start = time.perf_counter()
    with torch.no_grad():
        for _ in range(n):
            x, kept = writer.step(ids, kept, way)
            rows.append(x)
            ids.append(int(twins.vocabulary_scores(x, writer.E)[0].argmax()))
    return ids[1:], torch.cat(rows), time.perf_counter() - start


def multiplications(n: int, way: str) -> int:
    """Count the multiplications of n steps: matrix products of all layers, as core counts them."""
    d, h, d_k, d_v = SIZES.d_model, SIZES.n_heads, SIZES.d_k, SIZES.d_v
    total = 0
    for t in range(1, n + 1):
        rows = t if way == "nothing" else 1  # that go through the layer
        made = 1 if way == "K and V" else t  # rows of keys and values
        total += core.project_flops(rows, d, h * d_k) + core.project_flops(rows, h * d_v, d)
        total += core.project_flops(made, d, h * (d_k + d_v))
        total += h * core.attention_flops(rows, t, d_k, d_v) + core.feed_forward_flops(rows, SIZES)
    return N_LAYERS * total // 2


def run(config: Config) -> list[dict]:
    """Write in the three ways, one after the other, for each seed; one row a seed and way."""
    rows = []
    with one_thread():
        for seed in config.seeds:
            writer = Writer(seed)
            for way in KEPT:  # the first calls are slower
                write(writer, 4, way)
            written = {way: write(writer, config.n, way) for way in KEPT}
            ids, whole, _ = written["nothing"]
            for way, (said, made, seconds) in written.items():
                rows.append(
                    {
                        "n": config.n,
                        "kept": way,
                        "seed": seed,
                        "seconds": round(seconds, 4),
                        "multiplications": multiplications(config.n, way),
                        "same": said == ids,
                        "off": float(f"{(made - whole).abs().max():.2g}"),
                    }
                )
    return rows


def sweep(seeds: tuple[int, ...]) -> list[Config]:
    """Return every length, seed by seed."""
    return [Config(seeds=(seed,), n=n) for seed in seeds for n in LENGTHS]
