"""The Transformer: layers on layers, an encoder that reads and a decoder that writes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qkv.core.cross_attention import self_attention
from qkv.core.embeddings import embed, vocabulary_scores
from qkv.core.inputs import Array, as_floats, as_layers, check_kind, check_layers_follow
from qkv.core.layer import (
    DecoderLayerParameters,
    EncoderLayerParameters,
    decoder_layer,
    encoder_layer,
)
from qkv.core.layer_norm import layer_norm
from qkv.core.masks import causal_mask
from qkv.core.multi_head import MultiHeadParameters
from qkv.core.positions import sinusoidal_positions

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int


@dataclass(frozen=True, eq=False)
class TransformerParameters:
    """What an encoder-decoder Transformer learns.

    Parameters
    ----------
    E_source : array, shape (n_source, d_memory)
        Embedding table of the source language.
    E_target : array, shape (n_target, d_model)
        Embedding table of the target language; its transpose scores the next word.
    encoder : tuple of EncoderLayerParameters
        From the first layer to the last.
    decoder : tuple of DecoderLayerParameters
        From the first layer to the last.

    Raises
    ------
    ShapeError
        If the layers are not as wide as their tables, or the decoder's cross-attention is not as
        wide as the encoder.
    """

    E_source: Float[Array, "n_source d_memory"]
    E_target: Float[Array, "n_target d_model"]
    encoder: tuple[EncoderLayerParameters, ...]
    decoder: tuple[DecoderLayerParameters, ...]

    def __post_init__(self) -> None:  # noqa: D105
        for name in ("E_source", "E_target"):
            table = as_floats(name, getattr(self, name), "n_vocabulary d_model", exactly=True)
            object.__setattr__(self, name, table)
        object.__setattr__(self, "encoder", as_layers("encoder", self.encoder))
        object.__setattr__(self, "decoder", as_layers("decoder", self.decoder))
        d_memory, d_model = self.E_source.shape[1], self.E_target.shape[1]
        check_layers_follow("encoder", [layer.norm_1.d_model for layer in self.encoder], d_memory)
        check_layers_follow("decoder", [layer.norm_1.d_model for layer in self.decoder], d_model)
        memory_widths = [layer.cross_attention.d_kv for layer in self.decoder]
        check_layers_follow("the decoder's cross-attention", memory_widths, d_memory)


def embed_tokens(
    ids: Int[Array, "*batch n"], E: Float[Array, "n_vocabulary d_model"], offset: int = 0
) -> Float[Array, "*batch n d_model"]:
    r"""Make the X of the first block: embeddings times the root of d_model, plus positions.

    .. math:: x_t = \sqrt{d_{\text{model}}}\, E_{\text{id}_t} + P_t

    Parameters
    ----------
    ids : int array, shape (..., n)
        One id a token.
    E : array, shape (n_vocabulary, d_model)
        The embedding table.
    offset : int, default 0
        Position of the first token.

    Returns
    -------
    X : array, shape (..., n, d_model)

    Raises
    ------
    ShapeError
        If there is no row of ids, or E is not one table.
    ValueError
        If an id is no integer, or names no row of E.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), sections 3.4 and 3.5.

    Examples
    --------
    >>> import qkv
    >>> print(qkv.embed_tokens([1, 1], E=[[0, 0, 0, 0], [1, 2, 3, 4]]).round(2))
    [[2.   5.   6.   9.  ]
     [2.84 4.54 6.01 9.  ]]
    """
    X = embed(np.atleast_1d(ids), E)
    n, d_model = X.shape[-2:]
    P = sinusoidal_positions(n, d_model, offset)
    return math.sqrt(d_model) * X + P.astype(X.dtype)


def encoder(
    X: Float[Array, "*batch n d_model"],
    layers: Sequence[EncoderLayerParameters],
    mask: Bool[Array, " ..."] | None = None,
) -> tuple[Float[Array, "*batch n d_model"], tuple[Float[Array, "*batch _ n n"], ...]]:
    r"""Run the encoder: each layer reads what the layer before wrote.

    .. math:: X^{(l)} = \operatorname{EncoderLayer}_l(X^{(l-1)})

    Parameters
    ----------
    X : array, shape (..., n, d_model)
        The first X: embeddings and positions.
    layers : sequence of EncoderLayerParameters
        From the first layer to the last.
    mask : bool array, optional
        True where the query may look; the same for every layer.

    Returns
    -------
    memory : array, shape (..., n, d_model)
        What the last layer wrote: the one array that every decoder layer looks at.
    weights : tuple of arrays, each of shape (..., n_heads, n, n)
        One for each layer.

    Raises
    ------
    ShapeError
        If the shapes do not fit, or an axis has size 0.
    ValueError
        If the mask is not bool, an entry is NaN or infinite, or a product could overflow.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.1, and figure 1 (left).

    Examples
    --------
    >>> import numpy as np
    >>> import qkv
    >>> sizes = qkv.LayerSizes(d_model=8, d_ff=16, n_heads=3, d_k=4, d_v=2)
    >>> rng = np.random.default_rng(0)
    >>> layers = [qkv.initial_encoder_layer(rng, sizes) for _ in range(2)]
    >>> memory, weights = qkv.encoder(qkv.data.running_example().X_source, layers)
    >>> print(memory.shape, [w.shape for w in weights])
    (5, 8) [(3, 5, 5), (3, 5, 5)]
    """
    X = as_floats("X", X, "n d_model")
    weights_by_layer = []
    for parameters in as_layers("layers", layers):
        X, weights = encoder_layer(X, parameters, mask)
        weights_by_layer.append(weights)
    return X, tuple(weights_by_layer)


def decoder(
    X: Float[Array, "*batch n_q d_model"],
    memory: Float[Array, "*batch n_k d_memory"],
    layers: Sequence[DecoderLayerParameters],
    mask: Bool[Array, " ..."] | None = None,
    memory_mask: Bool[Array, " ..."] | None = None,
) -> tuple[
    Float[Array, "*batch n_q d_model"],
    tuple[Float[Array, "*batch _ n_q n_q"], ...],
    tuple[Float[Array, "*batch _ n_q n_k"], ...],
]:
    r"""Run the decoder: each layer reads the layer before it, and all read one memory.

    .. math:: X^{(l)} = \operatorname{DecoderLayer}_l(X^{(l-1)}, \text{memory})

    Parameters
    ----------
    X : array, shape (..., n_q, d_model)
        The first X: embeddings and positions of the target.
    memory : array, shape (..., n_k, d_memory)
        The output of the last encoder layer.
    layers : sequence of DecoderLayerParameters
        From the first layer to the last.
    mask : bool array, optional
        Of self-attention; ``causal_mask(n_q)`` for a decoder that must not look ahead.
    memory_mask : bool array, optional
        Of cross-attention: which rows of the memory are real.

    Returns
    -------
    output : array, shape (..., n_q, d_model)
    self_weights : tuple of arrays, each of shape (..., n_heads, n_q, n_q)
    cross_weights : tuple of arrays, each of shape (..., n_heads, n_q, n_k)

    Raises
    ------
    ShapeError
        If the shapes do not fit, or an axis has size 0.
    ValueError
        If a mask is not bool, an entry is NaN or infinite, or a product could overflow.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.1, and figure 1 (right).

    Examples
    --------
    >>> import numpy as np
    >>> import qkv
    >>> ex = qkv.data.running_example()
    >>> sizes = qkv.LayerSizes(d_model=8, d_ff=16, n_heads=3, d_k=4, d_v=2, d_memory=9)
    >>> layers = [qkv.initial_decoder_layer(np.random.default_rng(0), sizes)]
    >>> output, _, cross_weights = qkv.decoder(ex.X_target, ex.memory, layers, qkv.causal_mask(7))
    >>> print(output.shape, cross_weights[0].shape)
    (7, 8) (3, 7, 5)
    """
    X = as_floats("X", X, "n_q d_model")
    self_by_layer, cross_by_layer = [], []
    for parameters in as_layers("layers", layers):
        X, self_weights, cross_weights = decoder_layer(X, memory, parameters, mask, memory_mask)
        self_by_layer.append(self_weights)
        cross_by_layer.append(cross_weights)
    return X, tuple(self_by_layer), tuple(cross_by_layer)


@dataclass(frozen=True, eq=False)
class TransformerSteps:
    """Every array between the ids and the scores of an encoder-decoder Transformer.

    Attributes
    ----------
    X_source : array, shape (..., n_k, d_memory)
        The first X of the encoder.
    memory : array, shape (..., n_k, d_memory)
        The output of the last encoder layer.
    encoder_weights : tuple of arrays, each of shape (..., n_heads, n_k, n_k)
        One for each encoder layer.
    X_target : array, shape (..., n_q, d_model)
        The first X of the decoder.
    self_weights : tuple of arrays, each of shape (..., n_heads, n_q, n_q)
        One for each decoder layer.
    cross_weights : tuple of arrays, each of shape (..., n_heads, n_q, n_k)
        One for each decoder layer.
    output : array, shape (..., n_q, d_model)
        The output of the last decoder layer.
    scores : array, shape (..., n_q, n_target)
        Row t scores the word that follows target word t.
    """

    X_source: Float[Array, "*batch n_k d_memory"]
    memory: Float[Array, "*batch n_k d_memory"]
    encoder_weights: tuple[Float[Array, "*batch _ n_k n_k"], ...]
    X_target: Float[Array, "*batch n_q d_model"]
    self_weights: tuple[Float[Array, "*batch _ n_q n_q"], ...]
    cross_weights: tuple[Float[Array, "*batch _ n_q n_k"], ...]
    output: Float[Array, "*batch n_q d_model"]
    scores: Float[Array, "*batch n_q n_target"]


def transformer_steps(
    source_ids: Int[Array, "*batch n_k"],
    target_ids: Int[Array, "*batch n_q"],
    parameters: TransformerParameters,
    source_mask: Bool[Array, " ..."] | None = None,
) -> TransformerSteps:
    r"""Run the whole Transformer and keep every intermediate.

    .. math:: \text{ids} \;\to\; X \;\to\; \text{memory} \;\to\; \text{output} \;\to\;
        \text{scores}

    Parameters
    ----------
    source_ids : int array, shape (..., n_k)
        The sentence to be read.
    target_ids : int array, shape (..., n_q)
        The sentence written so far, beginning with the start symbol.
    parameters : TransformerParameters
        What the model learned.
    source_mask : bool array, optional
        Which source tokens are real, as ``padding_mask`` makes it; for encoder and
        cross-attention alike. The target's mask is causal.

    Returns
    -------
    steps : TransformerSteps
        What pages and widgets show, by name.

    Raises
    ------
    ShapeError
        If the shapes do not fit, or an axis has size 0.
    ValueError
        If an id names no row of its table, or the mask is not bool.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3 and figure 1.

    Examples
    --------
    >>> import numpy as np
    >>> import qkv
    >>> sizes = qkv.LayerSizes(d_model=8, d_ff=16, n_heads=3, d_k=4, d_v=2)
    >>> parameters = qkv.initial_transformer(np.random.default_rng(0), sizes, 1, 11, 13)
    >>> steps = qkv.transformer_steps([3, 1, 4, 1, 5], [0, 9, 2, 6, 5, 3, 7], parameters)
    >>> print(steps.memory.shape, steps.cross_weights[0].shape, steps.scores.shape)
    (5, 8) (3, 7, 5) (7, 13)
    """
    check_kind("parameters", parameters, TransformerParameters)
    X_source = embed_tokens(source_ids, parameters.E_source)
    memory, encoder_weights = encoder(X_source, parameters.encoder, source_mask)
    X_target = embed_tokens(target_ids, parameters.E_target)
    mask = causal_mask(X_target.shape[-2])
    output, self_weights, cross_weights = decoder(
        X_target, memory, parameters.decoder, mask, source_mask
    )
    scores = vocabulary_scores(output, parameters.E_target)
    return TransformerSteps(
        X_source, memory, encoder_weights, X_target, self_weights, cross_weights, output, scores
    )


@dataclass(frozen=True, eq=False)
class AttentionSite:
    """One attention sub-layer of a Transformer, and the arrays that it was handed.

    Attributes
    ----------
    name : str
        "encoder" and "decoder" for self-attention, "cross" for the decoder's look at the memory.
    layer : int
        Counted from 0.
    X_q : array, shape (..., n_q, d_model)
        The rows that ask.
    X_kv : array, shape (..., n_k, d_kv)
        The rows that are looked at.
    parameters : MultiHeadParameters
        The matrices that make queries, keys and values from them.
    mask : bool array, shape (n_q, n_k), or None
        The causal mask in the decoder's self-attention, else None.
    """

    name: str
    layer: int
    X_q: Float[Array, "*batch n_q d_model"]
    X_kv: Float[Array, "*batch n_k d_kv"]
    parameters: MultiHeadParameters
    mask: Bool[Array, "n_q n_k"] | None


def transformer_sites(
    source_ids: Int[Array, "*batch n_k"],
    target_ids: Int[Array, "*batch n_q"],
    parameters: TransformerParameters,
) -> tuple[AttentionSite, ...]:
    r"""Return every attention sub-layer of a Transformer with the X_q and X_kv that it gets.

    .. math:: \text{encoder: } X_q = X_{kv} = X, \qquad \text{decoder: } X_q = X_{kv} = X,
        \qquad \text{cross: } X_{kv} = \text{memory}

    Parameters
    ----------
    source_ids : int array, shape (..., n_k)
        The sentence to be read, without padding.
    target_ids : int array, shape (..., n_q)
        The sentence written so far, beginning with the start symbol.
    parameters : TransformerParameters
        What the model learned.

    Returns
    -------
    sites : tuple of AttentionSite
        The encoder's layers in order, then self-attention and cross-attention of each decoder
        layer. ``multi_head_steps(site.X_q, site.X_kv, site.parameters, site.mask)`` opens one.

    Raises
    ------
    ShapeError
        If the shapes do not fit, or an axis has size 0.
    ValueError
        If an id names no row of its table.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.2.3 and figure 1.

    Examples
    --------
    >>> import numpy as np
    >>> import qkv
    >>> sizes = qkv.LayerSizes(d_model=8, d_ff=16, n_heads=3, d_k=4, d_v=2)
    >>> parameters = qkv.initial_transformer(np.random.default_rng(0), sizes, 1, 11, 13)
    >>> for site in qkv.transformer_sites([3, 1, 4, 1, 5], [0, 9, 2], parameters):
    ...     print(site.name, site.X_q.shape, site.X_kv.shape)
    encoder (5, 8) (5, 8)
    decoder (3, 8) (3, 8)
    cross (3, 8) (5, 8)
    """
    check_kind("parameters", parameters, TransformerParameters)
    X, sites = embed_tokens(source_ids, parameters.E_source), []
    for n, reading in enumerate(parameters.encoder):
        sites.append(AttentionSite("encoder", n, X, X, reading.attention, None))
        X, _ = encoder_layer(X, reading)
    memory, X = X, embed_tokens(target_ids, parameters.E_target)
    mask = causal_mask(X.shape[-2])
    for n, layer in enumerate(parameters.decoder):
        sites.append(AttentionSite("decoder", n, X, X, layer.self_attention, mask))
        found, _ = self_attention(X, layer.self_attention, mask)
        X_q = layer_norm(X + found, layer.norm_1)
        sites.append(AttentionSite("cross", n, X_q, memory, layer.cross_attention, None))
        X, _, _ = decoder_layer(X, memory, layer, mask)
    return tuple(sites)


def transformer(
    source_ids: Int[Array, "*batch n_k"],
    target_ids: Int[Array, "*batch n_q"],
    parameters: TransformerParameters,
    source_mask: Bool[Array, " ..."] | None = None,
) -> Float[Array, "*batch n_q n_target"]:
    r"""Score every word of the target language as the next one, after each target word.

    .. math:: \operatorname{decoder}\big(X_{\text{target}}, \operatorname{encoder}(
        X_{\text{source}})\big)\, E_{\text{target}}^\top

    Parameters
    ----------
    source_ids : int array, shape (..., n_k)
        The sentence to be read.
    target_ids : int array, shape (..., n_q)
        The sentence written so far, beginning with the start symbol.
    parameters : TransformerParameters
        What the model learned.
    source_mask : bool array, optional
        Which source tokens are real, as ``padding_mask`` makes it.

    Returns
    -------
    scores : array, shape (..., n_q, n_target)
        Row t scores the word that follows target word t, and depends on no later one.

    Raises
    ------
    ShapeError
        If the shapes do not fit, or an axis has size 0.
    ValueError
        If an id names no row of its table, or the mask is not bool.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3 and figure 1.

    Examples
    --------
    >>> import numpy as np
    >>> import qkv
    >>> sizes = qkv.LayerSizes(d_model=8, d_ff=16, n_heads=3, d_k=4, d_v=2)
    >>> parameters = qkv.initial_transformer(np.random.default_rng(0), sizes, 1, 11, 13)
    >>> print(qkv.transformer([3, 1, 4, 1, 5], [0, 9, 2], parameters).shape)
    (3, 13)
    """
    return transformer_steps(source_ids, target_ids, parameters, source_mask).scores
