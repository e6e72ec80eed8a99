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
from qkv.data.minilm import N_LAYERS, MiniLM, minilm
from qkv.data.sentences import real_sentences

Array = np.ndarray

N_FOLDS = 10


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


def run(config: Config) -> list[dict]:
    """Measure the 72 heads on each fold."""
    model, rows = minilm(), []
    for seed in config.seeds:
        rng = np.random.default_rng([21, seed])
        sums: dict[str, list[Array]] = {}
        n_keys, n_repeats = [], 0
        for text in fold(seed)[: config.n_sentences]:
            sentence = model.tokenize([text])
            steps = model.run(sentence)
            ids, n = sentence.ids[0], int(sentence.lengths[0])
            weights = np.stack([w[0] for w in steps.weights])  # (6, 12, n, n)
            each: dict[str, list[Array]] = {}
            for layer in range(N_LAYERS):
                found = looks(weights[layer]) | in_layer(steps.X[layer][0], model, layer)
                for name, values in found.items():
                    each.setdefault(name, []).append(values)
            for name, values in each.items():
                sums.setdefault(name, []).append(np.stack(values))
            n_keys.append(n)

            order = np.concatenate([[0], rng.permutation(np.arange(1, n - 1)), [n - 1]])
            mixed = model.run(type(sentence)(ids[order][None], sentence.lengths, sentence.tokens))
            control = [looks(w[0]) for w in mixed.weights]
            for name in ("previous", "next"):
                values = np.stack([found[name] for found in control])
                sums.setdefault(f"{name}_mixed", []).append(values)

            words = np.array([token.isalpha() for token in sentence.tokens[0]])
            words[[0, -1]] = False
            same = same_piece(ids) & words & words[:, None]
            other = words & words[:, None] & ~same & ~np.eye(n, dtype=bool)
            for t in np.flatnonzero(same.any(-1)):
                n_repeats += 1
                sums.setdefault("same", []).append(weights[:, :, t, same[t]].mean(-1))
                sums.setdefault("other", []).append(weights[:, :, t, other[t]].mean(-1))
        means = {name: np.mean(values, axis=0) for name, values in sums.items()}
        largest = {name: np.max(sums[name], axis=0) for name in ("key_bias", "query_bias")}
        for layer in range(N_LAYERS):
            for head in range(weights.shape[1]):
                row = {"layer": layer, "head": head, "seed": seed}
                row |= {"uniform": round(float(np.mean(1 / np.array(n_keys))), 4)}
                row |= {"repeats": n_repeats}
                row |= {
                    name: round(float(values[layer, head]), 4)
                    for name, values in means.items()
                    if name not in largest
                }
                row |= {
                    name: float(f"{values[layer, head]:.2g}") for name, values in largest.items()
                }
                rows.append(row)
    return rows


def sweep(seeds: tuple[int, ...]) -> list[Config]:
    """Return each fold as a part of its own."""
    return [Config((seed,)) for seed in seeds]
