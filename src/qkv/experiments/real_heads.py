"""What the 72 heads of a real model look at, over 360 sentences that nobody chose (chapter 21).

The model is all-MiniLM-L6-v2, the sentences are `qkv.data.real_sentences`. A "seed" is a fold: the
sentences whose number leaves that remainder when divided by ten, 36 of them. A row is one head on
one fold, each column a mean over the fold's sentences. Queries are a sentence's own pieces; [CLS]
and [SEP] are looked at and do not ask.

The control: the same pieces in random order. What a head owes to places stays, what it owes to
words that belong together goes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qkv.core import project_heads, scaled_dot_product_attention, vector_length
from qkv.data.minilm import N_HEADS, N_LAYERS, MiniLM, Sentences, minilm
from qkv.data.sentences import real_sentences

Array = np.ndarray

N_FOLDS = 10
LARGEST = ("key_bias", "query_bias")  # of these the largest counts, not the mean


@dataclass(frozen=True)
class Config:
    """Some folds.

    Attributes
    ----------
    seeds : tuple of int
        Numbers of folds, 0 to 9.
    n_sentences : int
        At most so many of each fold.
    """

    seeds: tuple[int, ...] = (0,)
    n_sentences: int = 36


def fold(number: int) -> tuple[str, ...]:
    """Return the sentences of a fold; all six novels are in it."""
    return real_sentences()[number % N_FOLDS :: N_FOLDS]


def same_piece(ids: Array) -> Array:
    """Return which key is the query's piece at another place, shape (n, n)."""
    n = len(ids)
    return (ids[:, None] == ids) & ~np.eye(n, dtype=bool)


def looks(weights: Array) -> dict[str, Array]:
    """Measure where the pieces of one sentence look.

    Parameters
    ----------
    weights : array, shape (n_heads, n, n)
        The first key is [CLS], the last one [SEP].

    Returns
    -------
    measures : dict of str to array, shape (n_heads,)
        Mean weight on the piece before, the piece after, the piece itself, on [CLS], on [SEP] and
        on the piece before [SEP] (the stop), and the entropy as a share of its largest value.
    """
    n = weights.shape[-1]
    t = np.arange(1, n - 1)
    own = weights[:, 1:-1]
    powers = np.where(own > 0, own, 1.0)
    entropy = -np.sum(own * np.log(powers), axis=-1) / np.log(n)
    return {
        "previous": weights[:, t, t - 1].mean(-1),
        "next": weights[:, t, t + 1].mean(-1),
        "itself": weights[:, t, t].mean(-1),
        "cls": own[..., 0].mean(-1),
        "sep": own[..., -1].mean(-1),
        "stop": own[..., -2].mean(-1),
        "entropy": entropy.mean(-1),
    }


def in_layer(X: Array, model: MiniLM, layer: int) -> dict[str, Array]:
    """Measure what only the queries, keys and values tell, for the heads of one layer.

    Parameters
    ----------
    X : array, shape (n, 384)
        What enters the layer, one sentence.
    model : MiniLM
        The model.
    layer : int
        0 to 5.

    Returns
    -------
    measures : dict of str to array, shape (n_heads,)
        ``carried``, the share of [CLS] when each weight is multiplied by the length of what its
        value writes; ``value_cls``, that length at [CLS] over the mean of the pieces; ``key_bias``
        and ``query_bias``, the largest change of a weight when that bias is left out.
    """
    heads = model.layers[layer].attention
    assert heads.b_Q is not None
    assert heads.b_K is not None
    q = project_heads(X, heads.W_Q, heads.b_Q)
    k = project_heads(X, heads.W_K, heads.b_K)
    v = project_heads(X, heads.W_V, heads.b_V)
    writes = v @ heads.W_O.reshape(heads.n_heads, heads.d_v, -1)
    length = vector_length(writes)  # (n_heads, n)
    _, weights = scaled_dot_product_attention(q, k, v)
    carried = weights[:, 1:-1] * length[:, None]
    _, no_k = scaled_dot_product_attention(q, k - heads.b_K[:, None], v)
    _, no_q = scaled_dot_product_attention(q - heads.b_Q[:, None], k, v)
    return {
        "carried": (carried[..., 0] / carried.sum(-1)).mean(-1),
        "value_cls": length[:, 0] / length[:, 1:-1].mean(-1),
        "key_bias": np.abs(no_k - weights).max((-2, -1)),
        "query_bias": np.abs(no_q - weights).max((-2, -1)),
    }


def measured(model: MiniLM, text: str, rng: np.random.Generator) -> dict[str, list[Array]]:
    """Measure every head on one sentence and on its pieces in random order.

    Parameters
    ----------
    model : MiniLM
        The model.
    text : str
        A sentence.
    rng : Generator
        Draws the order.

    Returns
    -------
    measures : dict of str to list of arrays, shape (6, 12)
        One array for the sentence; for ``same`` and ``other`` one for each piece that occurs again.
    """
    sentence = model.tokenize([text])
    steps, ids, n = model.run(sentence), sentence.ids[0], int(sentence.lengths[0])
    order = np.concatenate([[0], rng.permutation(np.arange(1, n - 1)), [n - 1]])
    mixed = model.run(Sentences(ids[order][None], sentence.lengths, sentence.tokens))
    found: dict[str, list[Array]] = {"uniform": [np.full((N_LAYERS, N_HEADS), 1 / n)]}
    by_layer = [
        looks(steps.weights[layer][0]) | in_layer(steps.X[layer][0], model, layer)
        for layer in range(N_LAYERS)
    ]
    control = [looks(weights[0]) for weights in mixed.weights]
    for name in by_layer[0]:
        found[name] = [np.array([values[name] for values in by_layer])]
    for name in ("previous", "next"):
        found[f"{name}_mixed"] = [np.array([values[name] for values in control])]

    weights = np.array([w[0] for w in steps.weights])  # (6, 12, n, n)
    words = np.array([token.isalpha() for token in sentence.tokens[0]])
    words[[0, -1]] = False
    same = same_piece(ids) & words & words[:, None]
    other = words & words[:, None] & ~same & ~np.eye(n, dtype=bool)
    repeated = np.flatnonzero(same.any(-1))
    found["same"] = [weights[:, :, t, same[t]].mean(-1) for t in repeated]
    found["other"] = [weights[:, :, t, other[t]].mean(-1) for t in repeated]
    return found


def run(config: Config) -> list[dict]:
    """Measure the 72 heads on each fold."""
    model, rows = minilm(), []
    for seed in config.seeds:
        rng = np.random.default_rng([21, seed])
        all_of: dict[str, list[Array]] = {}
        for text in fold(seed)[: config.n_sentences]:
            for name, values in measured(model, text, rng).items():
                all_of.setdefault(name, []).extend(values)
        means = {name: np.mean(v, axis=0) for name, v in all_of.items() if name not in LARGEST}
        largest = {name: np.max(all_of[name], axis=0) for name in LARGEST}
        for layer, head in np.ndindex(N_LAYERS, N_HEADS):
            place = {"layer": layer, "head": head, "seed": seed, "repeats": len(all_of["same"])}
            shares = {name: round(float(v[layer, head]), 4) for name, v in means.items()}
            changes = {name: float(f"{v[layer, head]:.2g}") for name, v in largest.items()}
            rows.append({**place, **shares, **changes})
    return rows


def sweep(seeds: tuple[int, ...]) -> list[Config]:
    """Return each fold as a part of its own."""
    return [Config((seed,)) for seed in seeds]
