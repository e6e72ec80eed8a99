"""Train on short texts, test on longer ones, with each way to write down the order.

Chapter 13. Every token must say the token one place back, or three places back. Two layers (one
head and a ReLU layer each, residuals, norms without learned gains) are trained on texts of 16
places and tested on 64. Place 0 holds a begin sign. ``shifted`` training texts start at a random
place of the code instead of at 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, layer_norm

from qkv.core.positions import sinusoidal_positions
from qkv.twins import rotary_positions

N_TOKENS, D_MODEL, D_K, D_V, D_FF = 10, 32, 16, 24, 64
TRAINED, TESTED = 16, 64  # places
BIN = 4  # places in a bin; the first bin holds places before the first that is always asked
BATCH = 16
CODES = ("none", "sinusoids", "learned", "rotary")
RATE = 4e-3

Parameters = dict[str, Tensor]


@dataclass(frozen=True)
class Config:
    """One setting, trained for all its seeds in one pass."""

    seeds: tuple[int, ...] = tuple(range(10))
    code: str = "sinusoids"
    causal: bool = True
    back: int = 1
    shifted: bool = False
    n_layers: int = 2
    steps: int = 1500
    test: int = 200


def initial(config: Config, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Draw one seed's arrays: embeddings at spread 1, matrices at 1 / sqrt(width in)."""
    shapes = {"E": (N_TOKENS + 1, D_MODEL), "R": (D_MODEL, N_TOKENS)}
    if config.code == "learned":
        shapes["P"] = (TESTED, D_MODEL)
    for layer in range(config.n_layers):
        for name, shape in [
            ("W_Q", (D_MODEL, D_K)),
            ("W_K", (D_MODEL, D_K)),
            ("W_V", (D_MODEL, D_V)),
            ("W_O", (D_V, D_MODEL)),
            ("W_1", (D_MODEL, D_FF)),
            ("b_1", (1, D_FF)),
            ("W_2", (D_FF, D_MODEL)),
            ("b_2", (1, D_MODEL)),
        ]:
            shapes[f"{name}_{layer}"] = shape
    drawn = {}
    for name, shape in shapes.items():
        spread = 1.0 if name in ("E", "P") else 0.0 if name[0] == "b" else shape[0] ** -0.5
        drawn[name] = spread * rng.normal(size=shape)
    return drawn


def forward(config: Config, p: Parameters, ids: Tensor, offset: int = 0) -> Tensor:
    """Return scores (seeds, batch, places, tokens) for ids (seeds, batch, places)."""
    n = ids.shape[-1]
    X = p["E"][torch.arange(len(ids))[:, None, None], ids]
    if config.code == "sinusoids":
        X = X + torch.tensor(sinusoidal_positions(n, D_MODEL, offset), dtype=X.dtype)
    elif config.code == "learned":
        X = X + p["P"][:, None, offset : offset + n]
    hidden = torch.ones(n, n, dtype=torch.bool).triu(1) if config.causal else None
    for layer in range(config.n_layers):
        W = {name[:-2]: x[:, None] for name, x in p.items() if name.endswith(f"_{layer}")}
        normed = layer_norm(X, (D_MODEL,))
        q, k, v = normed @ W["W_Q"], normed @ W["W_K"], normed @ W["W_V"]
        if config.code == "rotary":
            q, k = rotary_positions(q, offset), rotary_positions(k, offset)
        scores = q @ k.mT / math.sqrt(D_K)
        if hidden is not None:
            scores = scores.masked_fill(hidden, -math.inf)
        X = X + scores.softmax(-1) @ v @ W["W_O"]
        inner = (layer_norm(X, (D_MODEL,)) @ W["W_1"] + W["b_1"]).relu()
        X = X + inner @ W["W_2"] + W["b_2"]
    return layer_norm(X, (D_MODEL,)) @ p["R"][:, None]


def texts(rng: np.random.Generator, count: int, places: int) -> np.ndarray:
    """Draw texts, shape (count, places): a begin sign, then random tokens."""
    ids = rng.integers(N_TOKENS, size=(count, places))
    ids[:, 0] = N_TOKENS
    return ids


def train(config: Config) -> tuple[Parameters, Tensor, Tensor]:
    """Train every seed side by side; return the parameters, and short and long texts to test on."""
    rngs = [np.random.default_rng([13, seed]) for seed in config.seeds]
    drawn = [initial(config, rng) for rng in rngs]
    p = {name: torch.tensor(np.stack([one[name] for one in drawn])).float() for name in drawn[0]}
    count = config.steps * BATCH
    ids = torch.tensor(np.stack([texts(rng, count, TRAINED) for rng in rngs]))
    short = torch.tensor(np.stack([texts(rng, config.test, TRAINED) for rng in rngs]))
    long = torch.tensor(np.stack([texts(rng, config.test, TESTED) for rng in rngs]))
    starts = np.random.default_rng(13).integers(TESTED - TRAINED + 1, size=config.steps)
    adam = torch.optim.Adam([x.requires_grad_() for x in p.values()], RATE, fused=True)
    falling = torch.optim.lr_scheduler.LinearLR(adam, 1.0, 0.0, total_iters=config.steps)
    first = 1 + config.back  # the first place whose answer is a token
    for step in range(config.steps):
        batch = ids[:, step * BATCH : (step + 1) * BATCH]
        offset = int(starts[step]) if config.shifted else 0
        scores = forward(config, p, batch, offset)[:, :, first:]
        targets = batch[:, :, 1 : -config.back]
        losses = cross_entropy(scores.flatten(0, -2), targets.flatten(), reduction="sum")
        adam.zero_grad()
        (losses / targets[0].numel()).backward()  # a mean for each seed, summed over seeds
        adam.step()
        falling.step()
    return {name: x.detach() for name, x in p.items()}, short, long


def right(config: Config, p: Parameters, ids: Tensor) -> np.ndarray:
    """Return the share of right answers at the places from BIN on, shape (seeds, places - BIN)."""
    said = forward(config, p, ids)[:, :, BIN:].argmax(-1)
    wanted = ids[:, :, BIN - config.back : ids.shape[-1] - config.back]
    return (said == wanted).double().mean(1).numpy()


def run(config: Config) -> list[dict[str, Any]]:
    """Train one setting for all its seeds and measure it; one row a seed."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        p, short, long = train(config)
        with torch.no_grad():
            at_short, at_long = right(config, p, short), right(config, p, long)
    finally:
        torch.set_num_threads(before)
    return [
        {
            "code": config.code,
            "causal": config.causal,
            "back": config.back,
            "shifted": config.shifted,
            "n_layers": config.n_layers,
            "seed": seed,
            "trained": round(float(at_short[i].mean()), 4),
            "by_place": at_long[i].reshape(-1, BIN).mean(axis=1).round(4).tolist(),
        }
        for i, seed in enumerate(config.seeds)
    ]


def sweep(seeds: tuple[int, ...]) -> list[Config]:
    """Return each code under a causal mask, no code without a mask or in one layer, and shifts."""
    cells = []
    for back in (1, 3):
        cells += [Config(seeds, code, back=back) for code in CODES]
        cells += [Config(seeds, "none", causal=False, back=back)]
        cells += [Config(seeds, "none", back=back, n_layers=1)]
        cells += [Config(seeds, code, back=back, shifted=True) for code in ("sinusoids", "learned")]
    return cells
