"""The first parameters of a model, drawn from a Generator that you pass in."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING

import numpy as np

from qkv.core.counts import LayerSizes
from qkv.core.feed_forward import FeedForwardParameters
from qkv.core.inputs import Array, as_generator, as_size, check_kind
from qkv.core.layer import DecoderLayerParameters, EncoderLayerParameters
from qkv.core.layer_norm import LayerNormParameters
from qkv.core.multi_head import MultiHeadParameters
from qkv.core.transformer import TransformerParameters

if TYPE_CHECKING:
    from jaxtyping import Float


def xavier_uniform(
    rng: np.random.Generator, d_in: int, d_out: int
) -> Float[Array, "{d_in} {d_out}"]:
    r"""Draw a matrix whose entries are small enough that rows keep their size.

    .. math:: W_{rc} \sim \operatorname{U}\left(-\sqrt{\tfrac{6}{d_{\text{in}} + d_{\text{out}}}},
        \sqrt{\tfrac{6}{d_{\text{in}} + d_{\text{out}}}}\right)

    Parameters
    ----------
    rng : numpy Generator
        ``np.random.default_rng(seed)``.
    d_in : int
        Rows of the matrix.
    d_out : int
        Columns of the matrix.

    Returns
    -------
    W : array, shape (d_in, d_out)

    Raises
    ------
    ValueError
        If a size is not an integer of at least 1, or `rng` is not a Generator.

    References
    ----------
    Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural networks"
    (2010), equation 16.

    Examples
    --------
    >>> import numpy as np
    >>> import qkv
    >>> W = qkv.xavier_uniform(np.random.default_rng(0), 200, 100)
    >>> print(W.shape, abs(W).max() < (6 / 300) ** 0.5)
    (200, 100) True
    """
    rng, d_in, d_out = as_generator(rng), as_size("d_in", d_in), as_size("d_out", d_out)
    bound = math.sqrt(6.0 / (d_in + d_out))
    return rng.uniform(-bound, bound, size=(d_in, d_out))


def initial_multi_head(rng: np.random.Generator, sizes: LayerSizes) -> MultiHeadParameters:
    r"""Draw the matrices of multi-head attention, without biases, each head's on its own.

    .. math:: W_Q^{(i)}, W_K^{(i)}, W_V^{(i)}, W_O \sim \operatorname{Xavier}

    W_K and W_V have d_memory rows, so the same function serves cross-attention.

    Parameters
    ----------
    rng : numpy Generator
    sizes : LayerSizes

    Returns
    -------
    parameters : MultiHeadParameters

    Raises
    ------
    ValueError
        If `rng` is not a Generator.

    References
    ----------
    Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural networks"
    (2010), equation 16.

    Examples
    --------
    >>> import numpy as np
    >>> import qkv
    >>> sizes = qkv.LayerSizes(d_model=8, d_ff=16, n_heads=3, d_k=4, d_v=2, d_memory=9)
    >>> parameters = qkv.initial_multi_head(np.random.default_rng(0), sizes)
    >>> print(parameters.W_Q.shape, parameters.W_K.shape, parameters.W_O.shape)
    (3, 8, 4) (3, 9, 4) (6, 8)
    """
    check_kind("sizes", sizes, LayerSizes)
    heads, d_kv = range(sizes.n_heads), sizes.d_memory
    W_Q = np.stack([xavier_uniform(rng, sizes.d_model, sizes.d_k) for _ in heads])
    W_K = np.stack([xavier_uniform(rng, d_kv, sizes.d_k) for _ in heads])
    W_V = np.stack([xavier_uniform(rng, d_kv, sizes.d_v) for _ in heads])
    W_O = xavier_uniform(rng, sizes.n_heads * sizes.d_v, sizes.d_model)
    return MultiHeadParameters(W_Q, W_K, W_V, W_O)


def initial_encoder_layer(rng: np.random.Generator, sizes: LayerSizes) -> EncoderLayerParameters:
    r"""Draw one encoder layer: Xavier matrices, biases 0, gains 1.

    .. math:: W \sim \operatorname{Xavier}, \quad b = 0, \quad g = 1

    Parameters
    ----------
    rng : numpy Generator
    sizes : LayerSizes

    Returns
    -------
    parameters : EncoderLayerParameters

    Raises
    ------
    ShapeError
        If d_memory is not d_model: an encoder layer looks at itself.
    ValueError
        If `rng` is not a Generator.

    References
    ----------
    Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural networks"
    (2010), equation 16.

    Examples
    --------
    >>> import numpy as np
    >>> import qkv
    >>> sizes = qkv.LayerSizes(d_model=8, d_ff=16, n_heads=3, d_k=4, d_v=2)
    >>> parameters = qkv.initial_encoder_layer(np.random.default_rng(0), sizes)
    >>> print(qkv.count_parameters(parameters) == qkv.encoder_layer_parameter_count(sizes))
    True
    """
    attention = initial_multi_head(rng, sizes)
    return EncoderLayerParameters(
        attention, _first_norm(sizes), _first_feed_forward(rng, sizes), _first_norm(sizes)
    )


def initial_decoder_layer(rng: np.random.Generator, sizes: LayerSizes) -> DecoderLayerParameters:
    r"""Draw one decoder layer: Xavier matrices, biases 0, gains 1.

    .. math:: W \sim \operatorname{Xavier}, \quad b = 0, \quad g = 1

    Parameters
    ----------
    rng : numpy Generator
    sizes : LayerSizes
        d_memory is the width of the encoder.

    Returns
    -------
    parameters : DecoderLayerParameters

    Raises
    ------
    ValueError
        If `rng` is not a Generator.

    References
    ----------
    Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural networks"
    (2010), equation 16.

    Examples
    --------
    >>> import numpy as np
    >>> import qkv
    >>> sizes = qkv.LayerSizes(d_model=8, d_ff=16, n_heads=3, d_k=4, d_v=2, d_memory=9)
    >>> parameters = qkv.initial_decoder_layer(np.random.default_rng(0), sizes)
    >>> print(parameters.self_attention.d_kv, parameters.cross_attention.d_kv)
    8 9
    """
    check_kind("sizes", sizes, LayerSizes)
    within = initial_multi_head(rng, dataclasses.replace(sizes, d_memory=sizes.d_model))
    across = initial_multi_head(rng, sizes)
    hidden = _first_feed_forward(rng, sizes)
    norm_1, norm_2, norm_3 = (_first_norm(sizes) for _ in range(3))
    return DecoderLayerParameters(within, norm_1, across, norm_2, hidden, norm_3)


def initial_transformer(
    rng: np.random.Generator, sizes: LayerSizes, n_layers: int, n_source: int, n_target: int
) -> TransformerParameters:
    r"""Draw an encoder-decoder Transformer: two tables, n layers on each side.

    .. math:: E \sim \operatorname{N}(0, 1 / d_{\text{model}}), \quad
        W \sim \operatorname{Xavier}, \quad b = 0, \quad g = 1

    An embedding row then has length about 1, and about the root of d_model after scaling.

    Parameters
    ----------
    rng : numpy Generator
    sizes : LayerSizes
        d_memory, if it differs from d_model, is the width of the whole encoder.
    n_layers : int
        Layers of the encoder, and as many of the decoder.
    n_source : int
        Words of the source language.
    n_target : int
        Words of the target language.

    Returns
    -------
    parameters : TransformerParameters

    Raises
    ------
    ValueError
        If a number is not an integer of at least 1, or `rng` is not a Generator.

    References
    ----------
    Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural networks"
    (2010), equation 16.

    Examples
    --------
    >>> import numpy as np
    >>> import qkv
    >>> sizes = qkv.LayerSizes(d_model=8, d_ff=16, n_heads=3, d_k=4, d_v=2)
    >>> parameters = qkv.initial_transformer(np.random.default_rng(0), sizes, 2, 11, 13)
    >>> print(len(parameters.encoder), parameters.E_source.shape, parameters.E_target.shape)
    2 (11, 8) (13, 8)
    """
    rng, layers = as_generator(rng), range(as_size("n_layers", n_layers))
    n_source, n_target = as_size("n_source", n_source), as_size("n_target", n_target)
    check_kind("sizes", sizes, LayerSizes)
    reading = dataclasses.replace(sizes, d_model=sizes.d_memory)
    E_source = rng.normal(size=(n_source, reading.d_model)) / math.sqrt(reading.d_model)
    E_target = rng.normal(size=(n_target, sizes.d_model)) / math.sqrt(sizes.d_model)
    encoder = tuple(initial_encoder_layer(rng, reading) for _ in layers)
    decoder = tuple(initial_decoder_layer(rng, sizes) for _ in layers)
    return TransformerParameters(E_source, E_target, encoder, decoder)


def _first_norm(sizes: LayerSizes) -> LayerNormParameters:
    return LayerNormParameters(np.ones(sizes.d_model), np.zeros(sizes.d_model))


def _first_feed_forward(rng: np.random.Generator, sizes: LayerSizes) -> FeedForwardParameters:
    W_1 = xavier_uniform(rng, sizes.d_model, sizes.d_ff)
    W_2 = xavier_uniform(rng, sizes.d_ff, sizes.d_model)
    return FeedForwardParameters(W_1, np.zeros(sizes.d_ff), W_2, np.zeros(sizes.d_model))
