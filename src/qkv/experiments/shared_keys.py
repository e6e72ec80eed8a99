"""Let two decoder layers share the keys and values of one memory, or make their own.

Chapter 12. A memory has nine rows, each with a name, a label, a pointer to a label and a value.
One row asks by name. Layer 1 must find the row of that name and take its pointer; layer 2 must find
the row with the label pointed to and take its value; a linear read-out says the value. Queries and
W_O are every layer's own. W_K and W_V are made for each layer, or one of them, or both, are shared.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, one_hot

N_ROWS, N_VALUES, D_MODEL, D_MEMORY = 9, 15, 32, 40
SHARED = ("nothing", "keys", "values", "both")
WIDTHS = (4, 6, 8, 12, 16)
RATE = 5e-3

Parameters = dict[str, Tensor]


@dataclass(frozen=True)
class Config:
    """One setting, trained for all its seeds in one pass."""

    seeds: tuple[int, ...] = tuple(range(10))
    shared: str = "nothing"
    width: int = 4
    steps: int = 2000
    batch: int = 64
    test: int = 1000


def shapes(config: Config) -> dict[str, tuple[int, ...]]:
    """Return the shape of every learned array; a shared one has one layer in front, else two."""
    keys = 1 if config.shared in ("keys", "both") else 2
    values = 1 if config.shared in ("values", "both") else 2
    d = config.width
    return {
        "E_ask": (N_ROWS, D_MODEL),
        "E_name": (N_ROWS, D_MEMORY),
        "E_label": (N_ROWS, D_MEMORY),
        "E_pointer": (N_ROWS, D_MEMORY),
        "E_value": (N_VALUES, D_MEMORY),
        "W_Q": (2, D_MODEL, d),
        "W_K": (keys, D_MEMORY, d),
        "W_V": (values, D_MEMORY, d),
        "W_O": (2, d, D_MODEL),
        "R": (D_MODEL, N_VALUES),
    }


def count_weights(config: Config) -> int:
    """Return how many numbers are learned."""
    return sum(math.prod(shape) for shape in shapes(config).values())


def initial(config: Config, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Draw one seed's arrays: tables at unit spread, matrices at 1 / sqrt(width in)."""
    return {
        name: (1.0 if name.startswith("E_") else shape[-2] ** -0.5) * rng.normal(size=shape)
        for name, shape in shapes(config).items()
    }


def draw(rng: np.random.Generator, count: int) -> np.ndarray:
    """Return so many tasks: names, labels, pointers, values of 9 rows, and who is asked for."""
    names, labels = (rng.permuted(np.tile(np.arange(N_ROWS), (count, 1)), axis=1) for _ in range(2))
    pointers = rng.integers(N_ROWS, size=(count, N_ROWS))
    values = rng.integers(N_VALUES, size=(count, N_ROWS))
    asked = np.repeat(rng.integers(N_ROWS, size=(count, 1)), N_ROWS, axis=1)
    return np.stack([names, labels, pointers, values, asked], axis=1).astype(np.int8)


def path(tasks: Tensor) -> tuple[Tensor, Tensor]:
    """Return the row that layer 1 must find, and the row that layer 2 must find."""
    names, labels, pointers, _, asked = tasks.unbind(-2)
    first = (names == asked).int().argmax(-1, keepdim=True)
    second = (labels == pointers.gather(-1, first)).int().argmax(-1, keepdim=True)
    return first, second


def answers(tasks: Tensor) -> Tensor:
    """Return the value at the end of both look-ups."""
    return tasks[..., 3, :].gather(-1, path(tasks)[1]).squeeze(-1).long()


def rows_of(table: Tensor, ids: Tensor) -> Tensor:
    """Return each seed's rows; as a product, since its gradient is faster than that of an index."""
    return one_hot(ids.long(), table.shape[1]).to(table.dtype) @ table[:, None]


def forward(p: Parameters, tasks: Tensor) -> tuple[Tensor, list[Tensor]]:
    """Return scores (seeds, batch, values) and each layer's weights (seeds, batch, 1, rows)."""
    names, labels, pointers, values, asked = tasks.unbind(-2)
    memory = rows_of(p["E_name"], names) + rows_of(p["E_label"], labels)
    memory = memory + rows_of(p["E_pointer"], pointers) + rows_of(p["E_value"], values)
    x = rows_of(p["E_ask"], asked[..., :1])
    looks = []
    for layer in range(2):
        W_K, W_V = (p[name][:, min(layer, p[name].shape[1] - 1), None] for name in ("W_K", "W_V"))
        q, k, v = x @ p["W_Q"][:, layer, None], memory @ W_K, memory @ W_V
        weights = (q @ k.mT / math.sqrt(q.shape[-1])).softmax(dim=-1)
        x = x + weights @ v @ p["W_O"][:, layer, None]
        looks.append(weights)
    return (x @ p["R"][:, None]).squeeze(-2), looks


def train(config: Config) -> tuple[Parameters, Tensor]:
    """Train every seed side by side; return the parameters and new tasks to test on."""
    rngs = [np.random.default_rng([12, seed]) for seed in config.seeds]
    drawn = [initial(config, rng) for rng in rngs]
    p = {name: torch.tensor(np.stack([one[name] for one in drawn])).float() for name in drawn[0]}
    count = config.steps * config.batch + config.test
    tasks = torch.tensor(np.stack([draw(rng, count) for rng in rngs]))
    adam = torch.optim.Adam([x.requires_grad_() for x in p.values()], RATE, fused=True)
    falling = torch.optim.lr_scheduler.LinearLR(adam, 1.0, 0.0, total_iters=config.steps)
    for step in range(config.steps):
        now = tasks[:, step * config.batch : (step + 1) * config.batch]
        scores, _ = forward(p, now)
        losses = cross_entropy(scores.flatten(0, 1), answers(now).flatten(), reduction="sum")
        adam.zero_grad()
        (losses / config.batch).backward()  # a mean for each seed, summed over seeds
        adam.step()
        falling.step()
    return {name: x.detach() for name, x in p.items()}, tasks[:, -config.test :]


def run(config: Config) -> list[dict[str, Any]]:
    """Train one setting for all its seeds and measure it; one row a seed."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        p, test = train(config)
        with torch.no_grad():
            scores, looks = forward(p, test)
    finally:
        torch.set_num_threads(before)
    found = [
        look.squeeze(-2).gather(-1, row).mean((1, 2))
        for look, row in zip(looks, path(test), strict=True)
    ]
    right = (scores.argmax(-1) == answers(test)).double().mean(-1)
    return [
        {
            "shared": config.shared,
            "width": config.width,
            "steps": config.steps,
            "seed": seed,
            "weights": count_weights(config),
            "right": round(float(right[i]), 5),
            "found": [round(float(layer[i]), 3) for layer in found],
        }
        for i, seed in enumerate(config.seeds)
    ]


def sweep(seeds: tuple[int, ...]) -> list[Config]:
    """Return every way of sharing at every width, and three that failed for three times as long."""
    cells = [Config(seeds, shared, width) for width in WIDTHS for shared in SHARED]
    failed = ("nothing", 6), ("values", 8), ("both", 8)
    return [*cells, *(Config(seeds, shared, width, steps=6000) for shared, width in failed)]
