"""What a trained model's scores look like, head by head: all-MiniLM-L6-v2 (chapter 6).

The argument for sqrt(d_k) is about random queries and keys. Here the queries and keys are learned:
72 heads, d_k = 32. A "seed" is the number of a sentence. Each head is measured twice: as it is, and
with the columns of its keys shuffled. A shuffle leaves every entry's size as it was and destroys
what the columns of q and k have to do with each other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from qkv.core import dot_product_scores, project_heads, softmax
from qkv.data.minilm import N_LAYERS, minilm

SHUFFLES = 20
SENTENCES = (
    "She ate an apple in the garden before the guests arrived.",
    "The old bridge was closed because its beams had rusted.",
    "Nobody knows why the cat follows the postman every morning.",
    "Water boils at a lower temperature on a high mountain.",
    "They painted the door green, and the neighbours complained at once.",
    "A small boat crossed the lake while the storm was still far away.",
    "If you divide by the wrong number, the answer looks right and is not.",
    "My grandmother kept every letter that she received during the war.",
    "The committee will publish its report at the end of next month.",
    "Birds return in spring, when the days are long enough to feed their young.",
)


@dataclass(frozen=True)
class Config:
    """One layer.

    Attributes
    ----------
    seeds : tuple of int
        Numbers of sentences.
    layer : int
        0 to 5.
    """

    seeds: tuple[int, ...] = (0,)
    layer: int = 0


def spread(q: np.ndarray, k: np.ndarray) -> float:
    """Return the standard deviation of a row of scaled scores, mean over the rows."""
    return float((dot_product_scores(q, k) / math.sqrt(q.shape[-1])).std(axis=-1).mean())


def run(config: Config) -> list[dict]:
    """Measure the twelve heads of one layer on each sentence."""
    model = minilm()
    heads = model.layers[config.layer].attention
    rows = []
    for seed in config.seeds:
        rng = np.random.default_rng([6, seed, config.layer])
        sentences = model.tokenize([SENTENCES[seed % len(SENTENCES)]])
        X = model.run(sentences).X[config.layer][0].astype(np.float64)
        q = project_heads(X, heads.W_Q.astype(np.float64), heads.b_Q)
        k = project_heads(X, heads.W_K.astype(np.float64), heads.b_K)
        for h in range(heads.n_heads):
            shuffled = [spread(q[h], k[h][:, rng.permutation(heads.d_k)]) for _ in range(SHUFFLES)]
            weights = softmax(dot_product_scores(q[h], k[h]) / math.sqrt(heads.d_k))
            rows.append(
                {
                    "layer": config.layer,
                    "head": h,
                    "seed": seed,
                    "n_k": len(X),
                    "d_k": heads.d_k,
                    "spread": round(spread(q[h], k[h]), 3),
                    "shuffled": round(float(np.mean(shuffled)), 3),
                    "largest": round(float(weights.max(axis=-1).mean()), 3),
                }
            )
    return rows


def sweep(seeds: tuple[int, ...]) -> list[Config]:
    """Return every layer; all sentences in one pass."""
    return [Config(seeds, layer) for layer in range(N_LAYERS)]
