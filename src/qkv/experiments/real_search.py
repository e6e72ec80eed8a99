"""Thirty sentences look for their paraphrase among 390: a real model and three baselines (ch. 21).

The model is all-MiniLM-L6-v2. "rows" is the mean of the embedding's rows, without any layer;
"rows, centred" the same after the mean over the 390 was subtracted; "shared pieces" the pieces in
common over all pieces of both (Jaccard). A tie counts as not found. Nothing is random: one seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from qkv.core import vector_length
from qkv.data.minilm import MiniLM, minilm
from qkv.data.sentences import changed_roles, paraphrases, real_sentences

Array = np.ndarray

WAYS = ("model", "rows", "rows, centred", "shared pieces")
CHUNK = 30  # sentences at once


@dataclass(frozen=True)
class Config:
    """One way to compare sentences.

    Attributes
    ----------
    seeds : tuple of int
        One is enough.
    by : {"model", "rows", "rows, centred", "shared pieces"}
        What is compared.
    """

    seeds: tuple[int, ...] = (0,)
    by: str = "model"


def unit(x: Array) -> Array:
    """Return the rows at length 1."""
    return x / vector_length(x)[..., None]


def model_vectors(model: MiniLM, texts: Sequence[str]) -> Array:
    """Return the model's vector of each text."""
    parts = [texts[i : i + CHUNK] for i in range(0, len(texts), CHUNK)]
    return np.concatenate([model.run(model.tokenize(part)).sentence_vectors for part in parts])


def pieces(model: MiniLM, text: str) -> Array:
    """Return a text's ids without [CLS] and [SEP]."""
    return model.tokenize([text]).ids[0, 1:-1]


def row_vectors(model: MiniLM, texts: Sequence[str]) -> Array:
    """Return the mean of the embedding's rows of each text, at length 1."""
    return unit(np.stack([model.E[pieces(model, text)].mean(axis=0) for text in texts]))


def similarities(model: MiniLM, by: str, asked: Sequence[str], texts: Sequence[str]) -> Array:
    """Return how alike each asked sentence and each text are, one way."""
    if by == "shared pieces":
        sets = [[set(pieces(model, text).tolist()) for text in side] for side in (asked, texts)]
        return np.array([[len(a & b) / len(a | b) for b in sets[1]] for a in sets[0]])
    make = model_vectors if by == "model" else row_vectors
    a, b = make(model, asked), make(model, texts)
    if by == "rows, centred":
        a, b = unit(a - b.mean(axis=0)), unit(b - b.mean(axis=0))
    return a @ b.T


def run(config: Config) -> list[dict]:
    """Count the paraphrases found, and the triples whose roles fool the way."""
    model = minilm()
    asked, meant = zip(*paraphrases(), strict=True)
    scores = similarities(model, config.by, asked, (*meant, *real_sentences()))
    own = scores[np.arange(len(asked)), np.arange(len(asked))]
    rank = (scores >= own[:, None]).sum(axis=-1) - 1
    fooled = 0
    for one, passive, changed in changed_roles():
        near, far = similarities(model, config.by, (one,), (passive, changed))[0]
        fooled += int(far > near)
    row = {"found": int(np.sum(rank == 0)), "among_five": int(np.sum(rank < 5))}
    row |= {"fooled": fooled, "of": len(asked), "triples": len(changed_roles())}
    return [{"by": config.by, "seed": seed} | row for seed in config.seeds]


def sweep(seeds: tuple[int, ...]) -> list[Config]:
    """Return each way; more seeds would give the same."""
    return [Config(seeds[:1], by) for by in WAYS]
