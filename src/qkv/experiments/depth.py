"""Stacks of encoder layers before any training: rows, gradients and likeness by depth (chapter 14).

Five kinds of layer from the same drawn parameters: post-norm, pre-norm, post-norm without the
residual sums, attention alone (no sums, no norms, no feed-forward part), and post-norm in which W_O
is a quarter as large. Measured are the
length of a row after each layer, how far the rows of a sentence are from being all the same, and
the gradient of the loss with respect to each layer's parameters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from qkv import twins
from qkv.core import LayerSizes, TransformerParameters, initial_transformer
from qkv.experiments.why_three import one_thread

KINDS = ("post", "pre", "no residual", "attention only", "post, small reads")
DEPTHS = (1, 2, 4, 8, 16, 24)
SIZES = LayerSizes(d_model=64, d_ff=256, n_heads=4, d_k=24, d_v=16)
N_WORDS, N_TOKENS, BATCH = 211, 20, 6


@dataclass(frozen=True)
class Config:
    """One kind of layer in stacks of one depth.

    Attributes
    ----------
    seeds : tuple of int
        Each draws a table, the layers, sentences and targets.
    kind : str
        One of `KINDS`.
    depth : int
        Number of layers.
    """

    seeds: tuple[int, ...] = (0,)
    kind: str = "post"
    depth: int = 24


def start(seed: int, depth: int) -> tuple[TransformerParameters, np.ndarray, np.ndarray]:
    """Return drawn parameters (the encoder is used), word numbers and target words.

    A seed draws sentences first and layers after them: a deeper stack begins as a shallow one.
    """
    rng = np.random.default_rng([14, seed])
    ids, targets = rng.integers(N_WORDS, size=(2, BATCH, N_TOKENS))
    return initial_transformer(rng, SIZES, depth, N_WORDS, 2), ids, targets


def one_layer(kind: str, X: Tensor, layer: twins.EncoderLayer) -> Tensor:
    """Return what one layer of this kind makes of X."""
    if kind.startswith("post"):
        return twins.encoder_layer(X, layer)[0]
    if kind == "pre":
        return twins.encoder_layer_pre_norm(X, layer)[0]
    read = twins.self_attention(X, layer.attention)[0]
    if kind == "attention only":
        return read
    X = twins.layer_norm(read, layer.norm_1)
    return twins.layer_norm(twins.feed_forward(X, layer.feed_forward), layer.norm_2)


def spread(X: Tensor) -> float:
    """Return the share of a sentence's size that is not in its mean row: 0 if all rows are one."""
    deviation = X - X.mean(dim=-2, keepdim=True)
    size = X.square().sum((-1, -2))
    return float((deviation.square().sum((-1, -2)) / size).sqrt().mean())


def measure(config: Config, seed: int) -> list[dict]:
    """Return one row a layer, with row 0 for the input."""
    parameters, ids, targets = start(seed, config.depth)
    layers = [twins.EncoderLayer(layer) for layer in parameters.encoder]
    if config.kind == "post, small reads":
        with torch.no_grad():
            for layer in layers:
                layer.attention.W_O.mul_(0.25)
    E = torch.from_numpy(parameters.E_source)
    X = twins.embed_tokens(torch.from_numpy(ids), E)
    found = [X]
    for layer in layers:
        X = one_layer(config.kind, X, layer)
        found.append(X)
    if config.kind == "pre":
        X = torch.nn.functional.layer_norm(X, X.shape[-1:])
    scores = twins.vocabulary_scores(X, E)
    twins.cross_entropy(scores, torch.from_numpy(targets)).mean().backward()
    return [
        {
            "kind": config.kind,
            "depth": config.depth,
            "layer": number,
            "seed": seed,
            "length": float(f"{X.detach().norm(dim=-1).mean():.4g}"),
            "spread": float(f"{spread(X.detach()):.4g}"),
            "gradient": gradient_length(layers[number - 1]) if number else None,
        }
        for number, X in enumerate(found)
    ]


def gradient_length(layer: twins.EncoderLayer) -> float:
    """Return the length of the gradient of all of a layer's parameters, taken as one vector."""
    squares = [p.grad.square().sum() for p in layer.parameters() if p.grad is not None]
    return float(f"{torch.stack(squares).sum().sqrt():.4g}")


def run(config: Config) -> list[dict]:
    """Measure one kind of stack for each seed; of a shallow stack keep the two ends."""
    with one_thread():
        rows = [row for seed in config.seeds for row in measure(config, seed)]
    ends = (1, config.depth)
    return [row for row in rows if config.depth == max(DEPTHS) or row["layer"] in ends]


def sweep(seeds: tuple[int, ...]) -> list[Config]:
    """Return post and pre at every depth, the two others at the largest only."""
    return [
        Config(seeds, kind, depth)
        for kind in KINDS
        for depth in DEPTHS
        if kind in ("post", "pre") or depth == max(DEPTHS)
    ]
