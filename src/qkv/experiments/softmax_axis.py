"""Train one causal head with the softmax over the keys, and one with it over the queries.

Chapter 3. The task: a few random tokens, then the same tokens again; at every position, say the
next token. In the first half nothing can be known, and no honest model gets below log(n_tokens).
In the second half a head that looks back to the right position knows everything.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.nn.functional import cross_entropy


@dataclass(frozen=True)
class Config:
    """One training run; `axis` says what each sum of the softmax runs over: keys or queries."""

    seed: int = 0
    axis: str = "keys"
    n_tokens: int = 7
    half: int = 5
    d_model: int = 24
    d_k: int = 8
    steps: int = 800
    batch: int = 64


class Head(torch.nn.Module):
    """Embeddings, one causal head with a residual, a linear read-out."""

    def __init__(self, config: Config):
        super().__init__()
        n, d, d_k = 2 * config.half - 1, config.d_model, config.d_k
        self.dim = {"keys": -1, "queries": -2}[config.axis]

        def drawn(*shape: int) -> torch.nn.Parameter:
            return torch.nn.Parameter(torch.randn(*shape) / math.sqrt(shape[-2]))

        self.E, self.P = drawn(config.n_tokens, d), drawn(n, d)
        self.W_Q, self.W_K, self.W_V = drawn(d, d_k), drawn(d, d_k), drawn(d, d)
        self.read_out = drawn(d, config.n_tokens)

    def weights(self, X: torch.Tensor) -> torch.Tensor:
        """Return the attention weights, normalised along the axis under test."""
        n = X.shape[-2]
        scores = (X @ self.W_Q) @ (X @ self.W_K).mT / math.sqrt(self.W_Q.shape[1])
        later = torch.ones(n, n, dtype=torch.bool).triu(1)
        return scores.masked_fill(later, -math.inf).softmax(dim=self.dim)

    def embed(self, ids: torch.Tensor) -> torch.Tensor:
        """Return one row for each token, its position added."""
        return self.E[ids] + self.P[: ids.shape[-1]]

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Return the scores of the next token at each position."""
        X = self.embed(ids)
        return (X + self.weights(X) @ (X @ self.W_V)) @ self.read_out


def texts(config: Config, count: int, rng: torch.Generator) -> torch.Tensor:
    """Draw `count` texts: `half` random tokens, and the same again."""
    first = torch.randint(config.n_tokens, (count, config.half), generator=rng)
    return torch.cat([first, first], dim=1)


def train(config: Config) -> Head:
    """Train one head with Adam, its rate falling to 0 in a straight line."""
    torch.manual_seed(config.seed)
    rng = torch.Generator().manual_seed(1000 + config.seed)
    model = Head(config)
    adam = torch.optim.Adam(model.parameters(), lr=1e-2)
    falling = torch.optim.lr_scheduler.LinearLR(adam, 1.0, 0.0, total_iters=config.steps)
    for _ in range(config.steps):
        ids = texts(config, config.batch, rng)
        loss = cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        adam.zero_grad()
        loss.backward()
        adam.step()
        falling.step()
    return model


@torch.no_grad()
def losses(model: Head, ids: torch.Tensor, one_by_one: bool = False) -> torch.Tensor:
    """Return the mean loss at each position.

    The whole text is given at once, as in training; or, `one_by_one`, each position is given what
    stands before it and no more, as in writing a text.
    """
    given, targets = ids[:, :-1], ids[:, 1:]
    n = given.shape[1]
    if one_by_one:
        scores = torch.stack([model(given[:, : t + 1])[:, -1] for t in range(n)], dim=1)
    else:
        scores = model(given)
    return cross_entropy(scores.mT, targets, reduction="none").mean(dim=0)


@torch.no_grad()
def leak(model: Head, ids: torch.Tensor, n_tokens: int) -> float:
    """Change the last token; return the largest change of an earlier score of the next token."""
    given = ids[:, :-1]
    changed = given.clone()
    changed[:, -1] = (changed[:, -1] + 1) % n_tokens
    return float((model(changed) - model(given))[:, :-1].abs().max())


def run(config: Config) -> list[dict[str, Any]]:
    """Train one head and measure it on 1,000 new texts."""
    model = train(config)
    ids = texts(config, 1000, torch.Generator().manual_seed(2000 + config.seed))
    at_once, alone = losses(model, ids), losses(model, ids, one_by_one=True)
    unknown = slice(0, config.half - 1)  # the targets that nothing before them tells
    known = slice(config.half - 1, None)
    with torch.no_grad():
        weights = model.weights(model.embed(ids[:, :-1]))
    return [
        {
            "seed": config.seed,
            "axis": config.axis,
            "loss": float(at_once.mean()),
            "loss_unknown": float(at_once[unknown].mean()),
            "loss_known": float(at_once[known].mean()),
            "loss_alone": float(alone.mean()),
            "loss_alone_unknown": float(alone[unknown].mean()),
            "loss_alone_known": float(alone[known].mean()),
            "row_sum_low": float(weights.sum(dim=-1).min()),
            "row_sum_high": float(weights.sum(dim=-1).max()),
            "leak": leak(model, ids, config.n_tokens),
        }
    ]


def sweep(seeds: tuple[int, ...]) -> list[Config]:
    """Return every seed with both axes."""
    axes = ("keys", "queries")
    return [replace(Config(), seed=seed, axis=axis) for axis in axes for seed in seeds]
