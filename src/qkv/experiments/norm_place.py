"""Train stacks, post-norm and pre-norm, with and without warm-up (chapter 14).

The task is to say a sentence of random words backwards. One layer would do; two or six stand there,
so that a signal has a longer way. Adam; the rate rises linearly during warm-up and then stays.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from qkv import twins
from qkv.core import LayerSizes, initial_transformer
from qkv.experiments.why_three import one_thread

SIZES = LayerSizes(d_model=48, d_ff=96, n_heads=3, d_k=20, d_v=16)
N_WORDS, N_TOKENS, BATCH, STEPS, TESTED = 29, 10, 32, 300, 500
RATES = (3e-4, 1e-3, 3e-3)
WARM_UPS = (0, 100)
WAYS = ((2, "post", 1.0), (2, "pre", 1.0), (6, "post", 1.0), (6, "pre", 1.0), (6, "post", 0.25))


@dataclass(frozen=True)
class Config:
    """One way to train.

    Attributes
    ----------
    seeds : tuple of int
        Each draws a table, the layers and the sentences.
    kind : str
        "post" or "pre".
    depth : int
        Number of layers.
    rate : float
        Adam's learning rate after warm-up.
    warm_up : int
        Steps over which the rate rises from 0.
    reads : float
        W_O is drawn this much smaller, and so is what attention adds at the start.
    steps : int
        Each on 32 new sentences of 10 words.
    """

    seeds: tuple[int, ...] = (0,)
    kind: str = "post"
    depth: int = 6
    rate: float = 1e-3
    warm_up: int = 0
    reads: float = 1.0
    steps: int = STEPS


class Stack(nn.Module):
    """A table, used at both ends, and layers between; pre-norm has a norm of its own at the end."""

    def __init__(self, rng: np.random.Generator, kind: str, depth: int, reads: float) -> None:
        super().__init__()
        start = initial_transformer(rng, SIZES, depth, N_WORDS, 2)
        self.E = nn.Parameter(torch.from_numpy(start.E_source).float())
        kind_of_layer = twins.EncoderLayerPreNorm if kind == "pre" else twins.EncoderLayer
        layers = [kind_of_layer(parameters).float() for parameters in start.encoder]
        with torch.no_grad():
            for layer in layers:
                layer.attention.W_O.mul_(reads)
        self.layers = nn.ModuleList(layers)
        self.last = nn.LayerNorm(SIZES.d_model) if kind == "pre" else nn.Identity()

    def forward(self, ids: Tensor) -> Tensor:
        """Return a score for each word at each place."""
        X = twins.embed_tokens(ids, self.E)
        for layer in self.layers:
            X, _ = layer(X)
        return twins.vocabulary_scores(self.last(X), self.E)


def train(config: Config, seed: int) -> tuple[list[float], float]:
    """Return the loss of every step, and the share of right words on new sentences."""
    rng = np.random.default_rng([14, seed])
    model = Stack(rng, config.kind, config.depth, config.reads)
    optimiser = torch.optim.Adam(model.parameters(), lr=config.rate)
    losses = []
    for step in range(config.steps):
        for group in optimiser.param_groups:
            group["lr"] = config.rate * min(1.0, (step + 1) / max(1, config.warm_up))
        ids = torch.from_numpy(rng.integers(N_WORDS, size=(BATCH, N_TOKENS)))
        loss = twins.cross_entropy(model(ids), ids.flip(-1)).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    with torch.no_grad():
        ids = torch.from_numpy(rng.integers(N_WORDS, size=(TESTED, N_TOKENS)))
        right = (model(ids).argmax(-1) == ids.flip(-1)).double().mean()
    return losses, float(right)


def run(config: Config) -> list[dict]:
    """Train one way for each seed; one row a seed."""
    rows = []
    with one_thread():
        for seed in config.seeds:
            losses, right = train(config, seed)
            end = float(np.mean(losses[-20:]))
            rows.append(
                {
                    "kind": config.kind,
                    "depth": config.depth,
                    "rate": config.rate,
                    "warm_up": config.warm_up,
                    "reads": config.reads,
                    "seed": seed,
                    "loss": round(end, 4) if math.isfinite(end) else None,
                    "right": round(right, 4),
                }
            )
    return rows


def sweep(seeds: tuple[int, ...]) -> list[Config]:
    """Return each kind at every depth and rate, with and without warm-up; small reads at 6."""
    return [
        replace(
            Config(), seeds=seeds, kind=kind, depth=depth, rate=rate, warm_up=warm_up, reads=reads
        )
        for depth, kind, reads in WAYS
        for rate in RATES
        for warm_up in WARM_UPS
    ]
