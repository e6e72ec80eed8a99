"""What becomes of a real model's sentence vectors when a key is taken away (chapter 21).

The model is all-MiniLM-L6-v2, the sentences and the folds are those of `real_heads`. A key (that of
[CLS], of [SEP], of the stop or of a random word) is changed for every other query, in all layers:

hidden      masked, so that its weight goes to the other keys;
silent      looked at as before, but its value counts as zero;
constant    looked at as before, but its value is the mean value of that key over another fold.

A row of task "vectors" is the cosine between a sentence's vector with and without the change, mean
over a fold. A row of task "search" counts for how many of 30 sentences the nearest of 390 is still
their paraphrase.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qkv.core import (
    feed_forward,
    layer_norm,
    merge_heads,
    project,
    project_heads,
    scaled_dot_product_attention,
)
from qkv.data.minilm import MiniLM, Sentences, minilm, sentence_vectors
from qkv.data.sentences import paraphrases, real_sentences
from qkv.experiments.real_heads import fold

Array = np.ndarray

KEYS = ("none", "cls", "sep", "stop", "word")
CHANGES = ("hidden", "silent", "constant")
CHUNK = 30  # sentences at once


@dataclass(frozen=True)
class Config:
    """One change.

    Attributes
    ----------
    seeds : tuple of int
        Numbers of folds; for "search", draws of the random word.
    task : {"vectors", "search"}
        What is measured.
    key : {"none", "cls", "sep", "stop", "word"}
        Whose key is changed.
    change : {"hidden", "silent", "constant"}
        How. "constant" is for "cls", whose place is the same in every sentence.
    """

    seeds: tuple[int, ...] = (0,)
    task: str = "vectors"
    key: str = "cls"
    change: str = "hidden"


def chosen_keys(key: str, lengths: Array, rng: np.random.Generator) -> Array:
    """Return the place of the changed key in each sentence."""
    if key == "word":
        return rng.integers(1, lengths - 2)
    return {"cls": 0 * lengths, "sep": lengths - 1, "stop": lengths - 2}[key]


def run_changed(
    model: MiniLM, sentences: Sentences, at: Array, change: str, constant: Array | None = None
) -> tuple[Array, Array]:
    """Run the model with one key of each sentence changed for all other queries.

    Parameters
    ----------
    model : MiniLM
        The model.
    sentences : Sentences
        A batch.
    at : int array, shape (batch,)
        The place of the key in each sentence.
    change : {"none", "hidden", "silent", "constant"}
        What is done to it.
    constant : array, shape (6, 12, 32), optional
        The value that stands in for the key's own.

    Returns
    -------
    vectors : array, shape (batch, 384)
        One a sentence.
    values : array, shape (6, batch, 12, 32)
        The value of the key, layer by layer.
    """
    n = sentences.ids.shape[-1]
    others = np.arange(n) != at[:, None]  # (batch, n): the queries that are meant
    meant = others[:, None, :, None] & ~others[:, None, None, :]  # (batch, 1, n, n)
    mask = sentences.mask[:, None] & np.ones_like(meant)
    if change == "hidden":
        mask = mask & ~meant
    X, values = model.embed(sentences.ids), []
    rows = np.arange(len(at))
    for number, layer in enumerate(model.layers):
        heads = layer.attention
        q = project_heads(X, heads.W_Q, heads.b_Q)
        k = project_heads(X, heads.W_K, heads.b_K)
        v = project_heads(X, heads.W_V, heads.b_V)
        own = v[rows, :, at]  # (batch, 12, 32)
        values.append(own)
        output, weights = scaled_dot_product_attention(q, k, v, mask)
        if change in ("silent", "constant"):
            put = np.zeros_like(own) if constant is None else constant[number] + 0 * own
            moved = np.where(meant, weights, 0).sum(-1, keepdims=True)  # (batch, 12, n, 1)
            output = output + moved * (put - own)[:, :, None]
        X = layer_norm(X + project(merge_heads(output), heads.W_O, heads.b_O), layer.norm_1)
        X = layer_norm(X + feed_forward(X, layer.feed_forward), layer.norm_2)
    return sentence_vectors(X, sentences), np.stack(values)


def vectors(model: MiniLM, texts: tuple[str, ...], config: Config, seed: int) -> Array:
    """Return one vector a text, with the config's change."""
    rng, constant, found = np.random.default_rng([22, seed]), None, []
    if config.change == "constant":
        other = model.tokenize(fold(seed + 1))
        _, values = run_changed(model, other, 0 * other.lengths, "none")
        constant = values.mean(axis=1)
    for start in range(0, len(texts), CHUNK):
        sentences = model.tokenize(texts[start : start + CHUNK])
        if config.key == "none":
            at, change = 0 * sentences.lengths, "none"
        else:
            at, change = chosen_keys(config.key, sentences.lengths, rng), config.change
        found.append(run_changed(model, sentences, at, change, constant)[0])
    return np.concatenate(found)


def run(config: Config) -> list[dict]:
    """Measure one change, on each fold or with each draw."""
    model, rows = minilm(), []
    for seed in config.seeds:
        row = {"task": config.task, "key": config.key, "change": config.change, "seed": seed}
        if config.task == "vectors":
            texts = fold(seed)
            plain = vectors(model, texts, Config(key="none"), seed)
            changed = vectors(model, texts, config, seed)
            cosines = np.sum(plain * changed, axis=-1)
            pairs = plain @ plain.T
            two = (pairs.sum() - np.trace(pairs)) / (len(texts) * (len(texts) - 1))
            row |= {
                "cosine": round(float(cosines.mean()), 4),
                "lowest": round(float(cosines.min()), 4),
                "two_sentences": round(float(two), 4),
            }
        else:
            asked, meant = zip(*paraphrases(), strict=True)
            queries = vectors(model, asked, config, seed)
            answers = vectors(model, (*meant, *real_sentences()), config, seed)
            first = (queries @ answers.T).argmax(axis=-1)
            row |= {"found": int(np.sum(first == np.arange(len(asked)))), "of": len(asked)}
        rows.append(row)
    return rows


def sweep(seeds: tuple[int, ...]) -> list[Config]:
    """Return every change on every fold, and the search with each change, once."""
    settings = [(key, change) for key in KEYS[1:] for change in CHANGES[:2]]
    settings.append(("cls", "constant"))
    parts = [Config((seed,), "vectors", *s) for s in settings for seed in seeds]
    return parts + [Config((0,), "search", *s) for s in [("none", "hidden"), *settings]]
