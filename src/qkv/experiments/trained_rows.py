"""How different the rows of a sentence stay in a trained post-norm model (chapter 14).

The model is all-MiniLM-L6-v2: six post-norm layers. A "seed" is the number of a sentence of
`real_scores`. Layer 0 is what enters the first layer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qkv.core import self_attention, vector_length
from qkv.data.minilm import N_LAYERS, minilm
from qkv.experiments.real_scores import SENTENCES


@dataclass(frozen=True)
class Config:
    """Some sentences.

    Attributes
    ----------
    seeds : tuple of int
        Numbers of sentences.
    """

    seeds: tuple[int, ...] = (0,)


def spread(X: np.ndarray) -> float:
    """Return the share of a sentence's size that is not in its mean row: 0 if all rows are one."""
    return float(np.linalg.norm(X - X.mean(axis=0)) / np.linalg.norm(X))


def run(config: Config) -> list[dict]:
    """Measure the spread after each layer, and how long what the next one reads is for the row."""
    model, rows = minilm(), []
    for seed in config.seeds:
        steps = model.run(model.tokenize([SENTENCES[seed % len(SENTENCES)]]))
        for number, (X,) in enumerate(steps.X):
            row = {"seed": seed, "layer": number, "spread": round(spread(X), 4)}
            if number < N_LAYERS:
                read, _ = self_attention(X, model.layers[number].attention)
                row["reads"] = round(float((vector_length(read) / vector_length(X)).mean()), 4)
            rows.append(row)
    return rows


def sweep(seeds: tuple[int, ...]) -> list[Config]:
    """Return all sentences in one part."""
    return [Config(seeds)]
