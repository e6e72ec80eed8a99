"""Train one head with three factors before the softmax: none, 1/sqrt(d_k), 1/d_k (chapter 6).

The task is `partner` of chapter 8: twelve tokens, each asks for the value of its partner. The head
is chapter 8's as well; it divides by sqrt(d_k), so another factor is put on W_Q on the way in.

A fourth scaling, `absorbed`, has no factor but draws W_Q smaller by sqrt(d_k). At the start it is
the same function as `sqrt`, number for number; what differs is how far a step moves the scores.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from qkv.experiments import why_three

SCALINGS = ("none", "sqrt", "d", "absorbed")
WIDTHS = (16, 256)
RATES = {"adam": (1e-3, 5e-3, 2e-2), "sgd": (0.2, 1.0)}
ENOUGH = 0.95  # the share of right answers in a batch at which a head counts as trained


@dataclass(frozen=True)
class Config:
    """One setting.

    Attributes
    ----------
    seeds : tuple of int
        All are trained in one pass.
    d_k : int
        Columns of queries and keys.
    scaling : str
        One of `SCALINGS`.
    optimiser : str
        "adam" or "sgd".
    rate : float
        Its learning rate, never lowered.
    steps : int
        Each on 32 new examples of 12 questions.
    """

    seeds: tuple[int, ...] = (0,)
    d_k: int = 256
    scaling: str = "sqrt"
    optimiser: str = "adam"
    rate: float = 5e-3
    steps: int = 400


def factor(config: Config) -> float:
    """Return what a dot product is multiplied by."""
    power = {"none": 0.0, "absorbed": 0.0, "sqrt": -0.5, "d": -1.0}[config.scaling]
    return float(config.d_k**power)


def head_config(config: Config) -> why_three.Config:
    """Return the head of chapter 8 in which entries of q and k start with variance 1.

    A token is the sum of two embeddings, so each of them has variance 1/2.
    """
    return why_three.Config(
        seeds=config.seeds,
        task="partner",
        d_k=config.d_k,
        steps=config.steps,
        spread=math.sqrt(0.5),
    )


def start(config: Config) -> tuple[dict[str, Tensor], why_three.Examples]:
    """Return the drawn parameters, one more axis for the seeds, and the examples of all steps."""
    head = head_config(config)
    rngs = [np.random.default_rng([6, seed]) for seed in config.seeds]
    drawn = [why_three.initial(head, rng) for rng in rngs]
    task = why_three.TASKS[head.task]
    examples = why_three.stack(
        [why_three.draw(task, rng, config.steps, why_three.BATCH) for rng in rngs]
    )
    parameters = why_three.stack_parameters(drawn)
    if config.scaling == "absorbed":
        parameters["W_Q"] /= math.sqrt(config.d_k)
    return parameters, examples


def attend(
    config: Config, parameters: dict[str, Tensor], examples: why_three.Examples
) -> tuple[Tensor, Tensor]:
    """Return what the head says and its weights, with the factor of the setting."""
    ratio = factor(config) * math.sqrt(config.d_k)  # chapter 8 has divided by the root already
    W_Q = parameters["W_Q"] * ratio
    return why_three.head(head_config(config), {**parameters, "W_Q": W_Q}, examples)


@torch.no_grad()
def spreads(
    config: Config, parameters: dict[str, Tensor], examples: why_three.Examples
) -> np.ndarray:
    """Return for each seed the standard deviation of a row of scores, as the softmax reads it."""
    n_ids = why_three.TASKS["partner"].n_ids
    found = []
    for s in range(len(config.seeds)):
        Z, W_Q, W_K = (parameters[name][s] for name in ("Z", "W_Q", "W_K"))
        X = Z[examples.key_ids[s]] + Z[n_ids + examples.key_values[s]]
        scores = factor(config) * (X @ W_Q) @ (X @ W_K).mT
        found.append(scores.double().std(-1, correction=0).mean())
    return torch.stack(found).numpy()


def train(config: Config) -> dict[str, np.ndarray]:
    """Train all seeds; return curves of shape (steps, seeds), each measured before its step.

    `spread` has two rows only, the start and the end.
    """
    parameters, examples = start(config)
    make = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}[config.optimiser]
    optimiser = make([p.requires_grad_() for p in parameters.values()], lr=config.rate)
    right, largest = [], []
    first = why_three.step_of(examples, 0)
    spread = [spreads(config, parameters, first)]
    for step in range(config.steps):
        batch = why_three.step_of(examples, step)
        output, weights = attend(config, parameters, batch)
        optimiser.zero_grad()
        why_three.loss(output, batch.targets).backward()
        optimiser.step()
        right.append((output.detach().argmax(-1) == batch.targets).double().mean((-1, -2)).numpy())
        largest.append(weights.detach().double().amax(-1).mean((-1, -2)).numpy())
    spread.append(spreads(config, parameters, first))
    return {"right": np.stack(right), "largest": np.stack(largest), "spread": np.stack(spread)}


def run(config: Config) -> list[dict]:
    """Train one setting for all its seeds; one row a seed.

    `needed` is the first step at which the batch was answered well enough, or `steps` if none was:
    then `reached` is false.
    """
    with why_three.one_thread():
        curves = train(config)
    enough = curves["right"] >= ENOUGH
    reached = np.asarray(enough.any(axis=0))
    needed = np.where(reached, enough.argmax(axis=0), config.steps)
    ends = curves["spread"][-1].tolist()
    return [
        {
            "d_k": config.d_k,
            "scaling": config.scaling,
            "optimiser": config.optimiser,
            "rate": config.rate,
            "seed": seed,
            "needed": int(needed[i]),
            "reached": bool(reached[i]),
            "at_end": round(float(curves["right"][-20:, i].mean()), 4),
            "largest_at_start": round(float(curves["largest"][0, i]), 4),
            "spread_at_start": round(float(curves["spread"][0, i]), 3),
            # A seed that overflowed has none.
            "spread_at_end": round(end, 3) if math.isfinite(end) else None,
        }
        for i, (seed, end) in enumerate(zip(config.seeds, ends, strict=True))
    ]


def sweep(seeds: tuple[int, ...]) -> list[Config]:
    """Return every width with every scaling, optimiser and rate; all seeds in one pass."""
    return [
        replace(Config(), seeds=seeds, d_k=d_k, scaling=scaling, optimiser=optimiser, rate=rate)
        for optimiser, rates in RATES.items()
        for rate in rates
        for d_k in WIDTHS
        for scaling in SCALINGS
    ]
