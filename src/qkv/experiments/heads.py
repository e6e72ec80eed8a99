"""Ask one head, and several, how many places one row can report.

Chapter 10. Twelve tokens stand in a ring, each with one of 16 random values. Every token must say
the values of 1, 2 or 4 neighbours, all at once. Widths are shared out among the heads, so that one,
two and four heads have exactly as many weights. After the heads comes W_O, and then either a linear
read-out or a ReLU and a linear read-out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

N_PLACES, N_VALUES, D_MODEL = 12, 16, 48
WIDTH_K, WIDTH_V = 20, 24  # of all heads together
ASKED = {1: (1,), 2: (-1, 1), 4: (-2, -1, 1, 2)}  # places, seen from the token that asks
READ_OUTS = ("linear", "relu")
RATE = 5e-3

Parameters = dict[str, Tensor]


@dataclass(frozen=True)
class Config:
    """One setting, trained for all its seeds in one pass."""

    seeds: tuple[int, ...] = tuple(range(10))
    n_heads: int = 1
    asked: int = 2
    read_out: str = "linear"
    steps: int = 1000
    batch: int = 32
    test: int = 300


def shapes(config: Config) -> dict[str, tuple[int, ...]]:
    """Return the shape of every learned array."""
    h = config.n_heads
    return {
        "E_place": (N_PLACES, D_MODEL),
        "E_value": (N_VALUES, D_MODEL),
        "W_Q": (h, D_MODEL, WIDTH_K // h),
        "W_K": (h, D_MODEL, WIDTH_K // h),
        "W_V": (h, D_MODEL, WIDTH_V // h),
        "W_O": (WIDTH_V, D_MODEL),
        "b_O": (1, D_MODEL),
        "R": (D_MODEL, config.asked * N_VALUES),
    }


def initial(config: Config, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Draw one seed's arrays: rows of E at unit spread, matrices at 1 / sqrt(width in)."""
    drawn = {}
    for name, shape in shapes(config).items():
        spread = {"E_place": 1.0, "E_value": 1.0, "b_O": 0.0}.get(name, shape[-2] ** -0.5)
        drawn[name] = spread * rng.normal(size=shape)
    return drawn


def count_weights(config: Config) -> int:
    """Return how many numbers are learned; it does not depend on n_heads."""
    return sum(math.prod(shape) for shape in shapes(config).values())


def forward(config: Config, p: Parameters, values: Tensor) -> tuple[Tensor, Tensor]:
    """Return scores (seeds, batch, places, asked, values) and weights (seeds, batch, heads, …)."""
    seeds = torch.arange(values.shape[0])[:, None, None]
    X = (p["E_place"][:, None] + p["E_value"][seeds, values]).unsqueeze(2)  # an axis for the heads
    q, k, v = (X @ p[name][:, None] for name in ("W_Q", "W_K", "W_V"))
    weights = (q @ k.mT / math.sqrt(q.shape[-1])).softmax(dim=-1)
    concatenated = (weights @ v).transpose(2, 3).flatten(-2)
    output = concatenated @ p["W_O"][:, None] + p["b_O"][:, None]
    if config.read_out == "relu":
        output = output.relu()
    scores = output @ p["R"][:, None]
    return scores.unflatten(-1, (config.asked, N_VALUES)), weights


def targets_of(config: Config, values: Tensor) -> Tensor:
    """Return what each token must say, shape (seeds, batch, places, asked)."""
    return torch.stack([values.roll(-step, dims=-1) for step in ASKED[config.asked]], dim=-1)


def train(config: Config) -> tuple[Parameters, Tensor]:
    """Train every seed side by side; return the parameters and new texts to test on."""
    rngs = [np.random.default_rng([10, seed]) for seed in config.seeds]
    drawn = [initial(config, rng) for rng in rngs]
    p = {name: torch.tensor(np.stack([one[name] for one in drawn])).float() for name in drawn[0]}
    n_texts = config.steps * config.batch + config.test
    texts = torch.tensor(np.stack([r.integers(N_VALUES, size=(n_texts, N_PLACES)) for r in rngs]))
    adam = torch.optim.Adam([x.requires_grad_() for x in p.values()], RATE, fused=True)
    falling = torch.optim.lr_scheduler.LinearLR(adam, 1.0, 0.0, total_iters=config.steps)
    for step in range(config.steps):
        values = texts[:, step * config.batch : (step + 1) * config.batch]
        scores, _ = forward(config, p, values)
        targets = targets_of(config, values)
        losses = cross_entropy(scores.flatten(0, -2), targets.flatten(), reduction="sum")
        adam.zero_grad()
        (losses / targets[0].numel()).backward()  # a mean for each seed, summed over seeds
        adam.step()
        falling.step()
    return {name: x.detach() for name, x in p.items()}, texts[:, -config.test :]


def run(config: Config) -> list[dict[str, Any]]:
    """Train one setting for all its seeds and measure it; one row a seed."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        p, test = train(config)
        with torch.no_grad():
            scores, weights = forward(config, p, test)
    finally:
        torch.set_num_threads(before)
    right = scores.argmax(-1) == targets_of(config, test)
    rows = []
    for i, seed in enumerate(config.seeds):
        row = {
            "n_heads": config.n_heads,
            "asked": config.asked,
            "read_out": config.read_out,
            "steps": config.steps,
            "seed": seed,
            "weights": count_weights(config),
            "all_right": round(float(right[i].all(dim=-1).double().mean()), 5),
            "each_right": right[i].double().mean((0, 1)).numpy().round(4).tolist(),
            "looks": looks(weights[i]),
        }
        rows.append(row)
    return rows


def looks(weights: Tensor) -> list[list[float]]:
    """Return each head's mean weight on the places -2 to +2, seen from the token that asks."""
    places = torch.arange(N_PLACES)
    return [
        [
            round(float(head[:, places, (places + step) % N_PLACES].mean()), 3)
            for step in range(-2, 3)
        ]
        for head in weights.unbind(1)
    ]


def sweep(seeds: tuple[int, ...]) -> list[Config]:
    """Return one control, as many heads as answers or fewer, and the slowest for longer."""
    pairs = [(asked, n_heads) for asked in (2, 4) for n_heads in (1, 2, 4) if n_heads <= asked]
    cells = [Config(seeds, n_heads, asked, r) for asked, n_heads in pairs for r in READ_OUTS]
    longer = [Config(seeds, n_heads=1, read_out=r, steps=3000) for r in READ_OUTS]
    return [Config(seeds, n_heads=1, asked=1), *cells, *longer]
