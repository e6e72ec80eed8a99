"""A small part of the real model, for a machine on which its 83 MB are not installed.

Two sentences, the rows of the tables that they need, two of the 72 heads, and what the published
library computes on the sentences. See tools/minilm_excerpt.py, which cuts them out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

from qkv.core import LayerNormParameters, MultiHeadParameters
from qkv.data.minilm import EPSILON
from qkv.data.sentences import changed_roles, paraphrases, real_sentences

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class SavedSentence:
    """One sentence, what the model's tables hold for it, and what the published library computes.

    Attributes
    ----------
    text : str
        The sentence.
    tokens : tuple of str
        Its pieces, with ``[CLS]`` and ``[SEP]``.
    ids : int array, shape (n,)
        Their ids.
    E, P : arrays, shape (n, 384)
        The rows of the embedding and of the table of positions.
    X : mapping of int to array, shape (n, 384)
        What enters the layer of that number; 6 is what leaves the last.
    weights : array, shape (6, 12, n, n)
        The attention weights of every head.
    vector : array, shape (384,)
        The sentence's vector.
    """

    text: str
    tokens: tuple[str, ...]
    ids: Array
    E: Array
    P: Array
    X: Mapping[int, Array]
    weights: Array
    vector: Array


@dataclass(frozen=True, eq=False, repr=False)
class MiniLMExcerpt:
    """What the package carries of all-MiniLM-L6-v2.

    Attributes
    ----------
    sentences : tuple of SavedSentence
        Two.
    S : array, shape (384,)
        The row added to every piece of a first sentence.
    norm : LayerNormParameters
        Normalises the sum of the three rows.
    heads : mapping of (layer, head) to MultiHeadParameters
        One head each, n_heads 1; its W_O is the head's own 32 rows, without the layer's bias.
    tensors : mapping of str to tuple of int
        The name and the shape, as stored, of every tensor in the model's file.
    bias_lengths : mapping of str to array, shape (6, 12)
        The length of ``b_Q``, ``b_K`` and ``b_V`` of every head.
    versions : mapping of str to str
        Of the packages that computed the reference.
    """

    sentences: tuple[SavedSentence, ...]
    S: Array
    norm: LayerNormParameters
    heads: Mapping[tuple[int, int], MultiHeadParameters]
    tensors: Mapping[str, tuple[int, ...]]
    bias_lengths: Mapping[str, Array]
    versions: Mapping[str, str]

    def __repr__(self) -> str:
        """Say what is in it."""
        heads = " and ".join(f"layer {layer} head {h}" for layer, h in self.heads)
        return f"<MiniLMExcerpt: {len(self.sentences)} sentences, {heads}>"


def _load(name: str) -> Mapping[str, Array]:
    with np.load(str(files("qkv.data").joinpath(name))) as file:
        return {key: file[key] for key in file.files}


@cache
def minilm_excerpt() -> MiniLMExcerpt:
    """Load the part of the real model that is shipped with qkv.

    Returns
    -------
    MiniLMExcerpt
        Two sentences, two heads, and the reference's results, float32.

    References
    ----------
    Reimers and Gurevych, "Sentence-BERT" (2019), section 3; Wang et al., "MiniLM" (2020).

    Examples
    --------
    >>> import qkv
    >>> saved = qkv.data.minilm_excerpt()
    >>> saved
    <MiniLMExcerpt: 2 sentences, layer 0 head 2 and layer 2 head 9>
    >>> print(*saved.sentences[0].tokens, saved.heads[0, 2].W_Q.shape)
    [CLS] she ate an apple . [SEP] (1, 384, 32)
    """
    facts = json.loads(files("qkv.data").joinpath("minilm_excerpt.json").read_text("utf-8"))
    arrays = _load("minilm_excerpt.npz")
    first_of_second = facts["heads"][1][0]
    sentences = []
    for i, sentence in enumerate(facts["sentences"]):
        X = arrays[f"X_{i}"]
        numbers = range(len(X)) if i == 0 else [first_of_second]
        sentences.append(
            SavedSentence(
                text=sentence["text"],
                tokens=tuple(sentence["tokens"]),
                ids=np.array(sentence["ids"]),
                E=arrays[f"E_{i}"],
                P=arrays["P"][: len(sentence["ids"])],
                X=dict(zip(numbers, X, strict=True)),
                weights=arrays[f"weights_{i}"],
                vector=arrays[f"vector_{i}"],
            )
        )
    heads = {}
    for layer, h in facts["heads"]:
        end = f"{layer}_{h}"
        parts = {name: arrays[f"{name}_{end}"] for name in ("W_Q", "W_K", "W_V")}
        biases = {name: arrays[f"{name}_{end}"][None] for name in ("b_Q", "b_K", "b_V")}
        heads[layer, h] = MultiHeadParameters(
            **{name: W[None] for name, W in parts.items()}, **biases, W_O=arrays[f"W_O_{end}"]
        )
    return MiniLMExcerpt(
        sentences=tuple(sentences),
        S=arrays["S"],
        norm=LayerNormParameters(arrays["gain"], arrays["shift"], EPSILON),
        heads=heads,
        tensors={name: tuple(shape) for name, shape in facts["tensors"].items()},
        bias_lengths={name: np.array(rows) for name, rows in facts["bias_lengths"].items()},
        versions=facts["versions"],
    )


@cache
def saved_vectors() -> Mapping[str, Array]:
    """Return the real model's vector of every sentence that chapter 21 searches.

    Returns
    -------
    vectors : mapping of str to array, shape (384,)
        By text: `real_sentences`, `paraphrases` and `changed_roles`. Computed by core, stored as
        float16, at length 1 to within half a thousandth.

    Examples
    --------
    >>> import qkv
    >>> vectors = qkv.data.saved_vectors()
    >>> one, other = qkv.data.paraphrases()[0]
    >>> round(float(vectors[one] @ vectors[other]), 1)
    0.5
    """
    texts = [*real_sentences(), *sum(paraphrases(), ()), *sum(changed_roles(), ())]
    rows = _load("sentence_vectors.npz")["vectors"].astype(np.float32)
    return dict(zip(texts, rows, strict=True))
