"""Share keys and values between heads: from the start, and in a finished layer (chapter 19).

A memory of 9 rows. Each row has three labels, each unique in its own way, and one of 16 values. One
row asks with three labels, one of each kind, and must say the three values. One attention layer of
six heads does it all: no residual, no feed-forward part, one-hot inputs.

A finished layer with six sets of keys and values is then turned into one with fewer sets, in three
ways, and trained on for a little.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from qkv import core, twins
from qkv.experiments.why_three import one_thread

N_ROWS, N_KINDS, N_VALUES, N_HEADS = 9, 3, 16, 6
D_ASKS, D_ROWS = N_KINDS * N_ROWS, N_KINDS * N_ROWS + N_VALUES
BATCH, STEPS, TESTED = 64, 1500, 1000
WIDTHS = (4, 8, 16)
KV_HEADS = (6, 3, 2, 1)
MADE_FROM = ("mean", "first", "new")  # how a group's matrices are made of its heads'
MORE = (0, 25, 75, 300)  # steps of training after that
TURNED_WIDTH = 8


@dataclass(frozen=True)
class Config:
    """One layer.

    Attributes
    ----------
    seeds : tuple of int
        Each draws the first matrices and the memories.
    width : int
        d_k = d_v of a head.
    kv_heads : int
        How many of the six heads have keys and values of their own.
    turned : bool
        False: trained like this from the start. True: six sets are trained; from them are made
        layers with `kv_heads` sets in three ways, and each is trained a little more.
    """

    seeds: tuple[int, ...] = (0,)
    width: int = 8
    kv_heads: int = 6
    turned: bool = False


def questions(rng: np.random.Generator, batch: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return the rows that ask (batch, 1, 27), the memories (batch, 9, 43) and the answers."""
    labels = rng.permuted(np.tile(np.arange(N_ROWS), (batch, N_KINDS, 1)), axis=-1)
    values = rng.integers(N_VALUES, size=(batch, N_ROWS))
    asked = rng.integers(N_ROWS, size=(batch, N_KINDS))  # which label of each kind
    where = (labels == asked[..., None]).argmax(axis=-1)  # (batch, kinds): the row that has it
    rows = np.concatenate(
        [*(np.eye(N_ROWS)[labels[:, i]] for i in range(N_KINDS)), np.eye(N_VALUES)[values]], axis=-1
    )
    asks = np.eye(N_ROWS)[asked].reshape(batch, 1, D_ASKS)
    answers = np.take_along_axis(values, where, axis=1)
    return torch.tensor(asks).float(), torch.tensor(rows).float(), torch.tensor(answers)


def first_matrices(rng: np.random.Generator, width: int, kv_heads: int) -> core.MultiHeadParameters:
    """Return a layer whose dot products and outputs have a size of about 1."""
    d_out = N_KINDS * N_VALUES

    def draw(*shape: int, scale: float) -> np.ndarray:
        return rng.normal(size=shape) * scale

    return core.MultiHeadParameters(
        draw(N_HEADS, D_ASKS, width, scale=0.5),
        draw(kv_heads, D_ROWS, width, scale=0.5),
        draw(kv_heads, D_ROWS, width, scale=0.5),
        draw(N_HEADS * width, d_out, scale=(N_HEADS * width) ** -0.5),
    )


def train(
    parameters: core.MultiHeadParameters, rng: np.random.Generator, steps: int, rate: float = 5e-3
) -> core.MultiHeadParameters:
    """Return the layer after some steps of Adam, each on 64 new memories."""
    layer = twins.GroupedMultiHeadAttention(parameters).float()
    optimiser = torch.optim.Adam(layer.parameters(), lr=rate)
    for _ in range(steps):
        asks, rows, answers = questions(rng, BATCH)
        output, _ = layer(asks, rows)
        scores = output.reshape(-1, N_KINDS, N_VALUES)
        loss = twins.cross_entropy(scores, answers).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return layer.to_core()


def right(parameters: core.MultiHeadParameters, rng: np.random.Generator) -> float:
    """Return the share of right values on new memories."""
    layer = twins.GroupedMultiHeadAttention(parameters).float()
    with torch.no_grad():
        asks, rows, answers = questions(rng, TESTED)
        output, _ = layer(asks, rows)
    says = output.reshape(-1, N_KINDS, N_VALUES).argmax(-1)
    return float((says == answers).double().mean())


def turn(
    parameters: core.MultiHeadParameters, kv_heads: int, made_from: str, rng: np.random.Generator
) -> core.MultiHeadParameters:
    """Return the layer with fewer sets of keys and values; queries and W_O stay."""
    if made_from == "mean":
        return core.pool_kv_heads(parameters, kv_heads)
    times = N_HEADS // kv_heads
    new = first_matrices(rng, parameters.d_k, kv_heads)
    W_K, W_V = (
        (parameters.W_K[::times], parameters.W_V[::times])
        if made_from == "first"
        else (new.W_K, new.W_V)
    )
    return replace(parameters, W_K=W_K, W_V=W_V)


def row(config: Config, seed: int, made_from: str, more: int, share: float) -> dict:
    """Return one row of the result."""
    return {
        "width": config.width,
        "kv_heads": config.kv_heads,
        "made_from": made_from,
        "more": more,
        "seed": seed,
        "right": round(share, 4),
    }


def run(config: Config) -> list[dict]:
    """Train one layer for each seed, and turn it if that is wanted; one row a layer tested."""
    rows = []
    with one_thread():
        for seed in config.seeds:
            rng, test = np.random.default_rng([19, seed]), [19, seed, 1]
            kv_heads = N_HEADS if config.turned else config.kv_heads
            layer = train(first_matrices(rng, config.width, kv_heads), rng, STEPS)
            if not config.turned:
                share = right(layer, np.random.default_rng(test))
                rows.append(row(config, seed, "", 0, share))
                continue
            for made_from in MADE_FROM:
                other = turn(layer, config.kv_heads, made_from, np.random.default_rng(test))
                for before, now in zip((0, *MORE), MORE, strict=False):
                    other = train(other, rng, now - before, rate=2e-3)
                    share = right(other, np.random.default_rng(test))
                    rows.append(row(config, seed, made_from, now, share))
    return rows


def sweep(seeds: tuple[int, ...]) -> list[Config]:
    """Return every width and number of sets from the start, then the layers that are turned."""
    start = [
        Config(seeds=(seed,), width=width, kv_heads=kv_heads)
        for width in WIDTHS
        for kv_heads in KV_HEADS
        for seed in seeds
    ]
    turned = [
        Config(seeds=(seed,), width=TURNED_WIDTH, kv_heads=kv_heads, turned=True)
        for kv_heads in KV_HEADS[1:]
        for seed in seeds
    ]
    return start + turned
