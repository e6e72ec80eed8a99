"""One whole layer: attention, feed-forward, and around each a residual sum and a LayerNorm.

Post-norm is the paper's: normalise the sum. Pre-norm normalises what goes into each part and
leaves the sum itself, the residual stream, alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from qkv.core.cross_attention import cross_attention, self_attention
from qkv.core.feed_forward import FeedForwardParameters, feed_forward
from qkv.core.inputs import Array, as_layer_input, check_residual_widths
from qkv.core.layer_norm import LayerNormParameters, layer_norm
from qkv.core.multi_head import MultiHeadParameters

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


@dataclass(frozen=True, eq=False)
class EncoderLayerParameters:
    """What one encoder layer learns.

    Parameters
    ----------
    attention : MultiHeadParameters
        Self-attention.
    norm_1 : LayerNormParameters
        The LayerNorm of the attention part.
    feed_forward : FeedForwardParameters
        The feed-forward part.
    norm_2 : LayerNormParameters
        The LayerNorm of the feed-forward part.

    Raises
    ------
    ShapeError
        If the parts are not all of one width: residual sums need it.
    """

    attention: MultiHeadParameters
    norm_1: LayerNormParameters
    feed_forward: FeedForwardParameters
    norm_2: LayerNormParameters

    def __post_init__(self) -> None:  # noqa: D105
        check_residual_widths(
            d_q=self.attention.d_q,
            d_kv=self.attention.d_kv,
            W_O=self.attention.d_model,
            norm_1=self.norm_1.d_model,
            feed_forward=self.feed_forward.d_model,
            norm_2=self.norm_2.d_model,
        )


@dataclass(frozen=True, eq=False)
class DecoderLayerParameters:
    """What one decoder layer learns.

    Parameters
    ----------
    self_attention : MultiHeadParameters
        The decoder's rows look at each other.
    norm_1 : LayerNormParameters
        The LayerNorm of that part.
    cross_attention : MultiHeadParameters
        The decoder's rows look at the memory, whose width (d_kv) may be another.
    norm_2 : LayerNormParameters
        The LayerNorm of that part.
    feed_forward : FeedForwardParameters
        The feed-forward part.
    norm_3 : LayerNormParameters
        The LayerNorm of that part.

    Raises
    ------
    ShapeError
        If the parts are not all of one width: residual sums need it.
    """

    self_attention: MultiHeadParameters
    norm_1: LayerNormParameters
    cross_attention: MultiHeadParameters
    norm_2: LayerNormParameters
    feed_forward: FeedForwardParameters
    norm_3: LayerNormParameters

    def __post_init__(self) -> None:  # noqa: D105
        check_residual_widths(
            d_q=self.self_attention.d_q,
            d_kv=self.self_attention.d_kv,
            W_O=self.self_attention.d_model,
            norm_1=self.norm_1.d_model,
            cross_d_q=self.cross_attention.d_q,
            cross_W_O=self.cross_attention.d_model,
            norm_2=self.norm_2.d_model,
            feed_forward=self.feed_forward.d_model,
            norm_3=self.norm_3.d_model,
        )


def encoder_layer(
    X: Float[Array, "*batch n d_model"],
    parameters: EncoderLayerParameters,
    mask: Bool[Array, " ..."] | None = None,
) -> tuple[Float[Array, "*batch n d_model"], Float[Array, "*batch n_heads n n"]]:
    r"""Run one encoder layer, post-norm: each part's output is added, then the sum normalised.

    .. math:: X' = \operatorname{LN}_1(X + \operatorname{MultiHead}(X, X)), \qquad
        \operatorname{LN}_2(X' + \operatorname{FF}(X'))

    Parameters
    ----------
    X : array, shape (..., n, d_model)
        One token a row.
    parameters : EncoderLayerParameters
        What the layer learned.
    mask : bool array, optional
        True where the query may look, with or without the heads' axis.

    Returns
    -------
    output : array, shape (..., n, d_model)
    weights : array, shape (..., n_heads, n, n)

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
    >>> parameters = qkv.initial_encoder_layer(np.random.default_rng(0), sizes)
    >>> output, weights = qkv.encoder_layer(qkv.data.running_example().X_source, parameters)
    >>> print(output.shape, weights.shape)
    (5, 8) (3, 5, 5)
    """
    X = as_layer_input(X, parameters, EncoderLayerParameters)
    read, weights = self_attention(X, parameters.attention, mask)
    X = layer_norm(X + read, parameters.norm_1)
    X = layer_norm(X + feed_forward(X, parameters.feed_forward), parameters.norm_2)
    return X, weights


def encoder_layer_pre_norm(
    X: Float[Array, "*batch n d_model"],
    parameters: EncoderLayerParameters,
    mask: Bool[Array, " ..."] | None = None,
) -> tuple[Float[Array, "*batch n d_model"], Float[Array, "*batch n_heads n n"]]:
    r"""Run one encoder layer, pre-norm: the LayerNorm of the stream goes into each part.

    .. math:: X' = X + \operatorname{MultiHead}(\operatorname{LN}_1(X), \operatorname{LN}_1(X)),
        \qquad X' + \operatorname{FF}(\operatorname{LN}_2(X'))

    Queries, keys and values are made from the normalised rows, all three.

    Parameters
    ----------
    X : array, shape (..., n, d_model)
        One token a row.
    parameters : EncoderLayerParameters
        What the layer learned.
    mask : bool array, optional
        True where the query may look, with or without the heads' axis.

    Returns
    -------
    output : array, shape (..., n, d_model)
        Not normalised; the last layer of a stack is followed by one more LayerNorm.
    weights : array, shape (..., n_heads, n, n)

    Raises
    ------
    ShapeError
        If the shapes do not fit, or an axis has size 0.
    ValueError
        If the mask is not bool, an entry is NaN or infinite, or a product could overflow.

    References
    ----------
    Xiong et al., "On layer normalization in the transformer architecture" (2020), table 1.

    Examples
    --------
    >>> import numpy as np
    >>> import qkv
    >>> sizes = qkv.LayerSizes(d_model=8, d_ff=16, n_heads=3, d_k=4, d_v=2)
    >>> parameters = qkv.initial_encoder_layer(np.random.default_rng(0), sizes)
    >>> X = qkv.data.running_example().X_source
    >>> output, weights = qkv.encoder_layer_pre_norm(X, parameters)
    >>> print(output.shape, weights.shape)
    (5, 8) (3, 5, 5)
    """
    X = as_layer_input(X, parameters, EncoderLayerParameters)
    read, weights = self_attention(layer_norm(X, parameters.norm_1), parameters.attention, mask)
    X = X + read
    X = X + feed_forward(layer_norm(X, parameters.norm_2), parameters.feed_forward)
    return X, weights


def decoder_layer(
    X: Float[Array, "*batch n_q d_model"],
    memory: Float[Array, "*batch n_k d_memory"],
    parameters: DecoderLayerParameters,
    mask: Bool[Array, " ..."] | None = None,
    memory_mask: Bool[Array, " ..."] | None = None,
) -> tuple[
    Float[Array, "*batch n_q d_model"],
    Float[Array, "*batch n_heads n_q n_q"],
    Float[Array, "*batch n_cross_heads n_q n_k"],
]:
    r"""Run one decoder layer, post-norm.

    .. math:: X' = \operatorname{LN}_1(X + \operatorname{MultiHead}(X, X)), \quad
        X'' = \operatorname{LN}_2(X' + \operatorname{MultiHead}(X', \text{memory})), \quad
        \operatorname{LN}_3(X'' + \operatorname{FF}(X''))

    The queries of cross-attention come from X', which this same layer's self-attention has made.

    Parameters
    ----------
    X : array, shape (..., n_q, d_model)
        The decoder's rows.
    memory : array, shape (..., n_k, d_memory)
        The output of the last encoder block.
    parameters : DecoderLayerParameters
        What the layer learned.
    mask : bool array, optional
        Of self-attention; a decoder that must not look ahead needs ``causal_mask(n_q)``.
    memory_mask : bool array, optional
        Of cross-attention: which rows of the memory are real.

    Returns
    -------
    output : array, shape (..., n_q, d_model)
    self_weights : array, shape (..., n_heads, n_q, n_q)
    cross_weights : array, shape (..., n_heads, n_q, n_k)

    Raises
    ------
    ShapeError
        If the shapes do not fit, or an axis has size 0.
    ValueError
        If a mask is not bool, an entry is NaN or infinite, or a product could overflow.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.1, and figure 1 (right). The
    prose of section 3.2.3 takes the queries from "the previous decoder layer"; the figure does
    not.

    Examples
    --------
    >>> import numpy as np
    >>> import qkv
    >>> ex = qkv.data.running_example()
    >>> sizes = qkv.LayerSizes(d_model=8, d_ff=16, n_heads=3, d_k=4, d_v=2, d_memory=9)
    >>> parameters = qkv.initial_decoder_layer(np.random.default_rng(0), sizes)
    >>> output, self_weights, cross_weights = qkv.decoder_layer(
    ...     ex.X_target, ex.memory, parameters, mask=qkv.causal_mask(7)
    ... )
    >>> print(output.shape, self_weights.shape, cross_weights.shape)
    (7, 8) (3, 7, 7) (3, 7, 5)
    """
    X = as_layer_input(X, parameters, DecoderLayerParameters)
    read, self_weights = self_attention(X, parameters.self_attention, mask)
    X = layer_norm(X + read, parameters.norm_1)
    read, cross_weights = cross_attention(X, memory, parameters.cross_attention, memory_mask)
    X = layer_norm(X + read, parameters.norm_2)
    X = layer_norm(X + feed_forward(X, parameters.feed_forward), parameters.norm_3)
    return X, self_weights, cross_weights


def decoder_layer_pre_norm(
    X: Float[Array, "*batch n_q d_model"],
    memory: Float[Array, "*batch n_k d_memory"],
    parameters: DecoderLayerParameters,
    mask: Bool[Array, " ..."] | None = None,
    memory_mask: Bool[Array, " ..."] | None = None,
) -> tuple[
    Float[Array, "*batch n_q d_model"],
    Float[Array, "*batch n_heads n_q n_q"],
    Float[Array, "*batch n_cross_heads n_q n_k"],
]:
    r"""Run one decoder layer, pre-norm.

    .. math:: X' = X + \operatorname{MultiHead}(\operatorname{LN}_1 X, \operatorname{LN}_1 X),
        \quad X'' = X' + \operatorname{MultiHead}(\operatorname{LN}_2 X', \text{memory}), \quad
        X'' + \operatorname{FF}(\operatorname{LN}_3 X'')

    The memory is used as it is: the encoder's last LayerNorm has normalised it already.

    Parameters
    ----------
    X : array, shape (..., n_q, d_model)
        The decoder's rows.
    memory : array, shape (..., n_k, d_memory)
        The output of the encoder, after its last LayerNorm.
    parameters : DecoderLayerParameters
        What the layer learned.
    mask : bool array, optional
        Of self-attention; a decoder that must not look ahead needs ``causal_mask(n_q)``.
    memory_mask : bool array, optional
        Of cross-attention: which rows of the memory are real.

    Returns
    -------
    output : array, shape (..., n_q, d_model)
        Not normalised; the last layer of a stack is followed by one more LayerNorm.
    self_weights : array, shape (..., n_heads, n_q, n_q)
    cross_weights : array, shape (..., n_heads, n_q, n_k)

    Raises
    ------
    ShapeError
        If the shapes do not fit, or an axis has size 0.
    ValueError
        If a mask is not bool, an entry is NaN or infinite, or a product could overflow.

    References
    ----------
    Xiong et al., "On layer normalization in the transformer architecture" (2020), table 1.

    Examples
    --------
    >>> import numpy as np
    >>> import qkv
    >>> ex = qkv.data.running_example()
    >>> sizes = qkv.LayerSizes(d_model=8, d_ff=16, n_heads=3, d_k=4, d_v=2, d_memory=9)
    >>> parameters = qkv.initial_decoder_layer(np.random.default_rng(0), sizes)
    >>> output, _, _ = qkv.decoder_layer_pre_norm(ex.X_target, ex.memory, parameters)
    >>> print(output.shape)
    (7, 8)
    """
    X = as_layer_input(X, parameters, DecoderLayerParameters)
    normal = layer_norm(X, parameters.norm_1)
    read, self_weights = self_attention(normal, parameters.self_attention, mask)
    X = X + read
    normal = layer_norm(X, parameters.norm_2)
    read, cross_weights = cross_attention(normal, memory, parameters.cross_attention, memory_mask)
    X = X + read
    X = X + feed_forward(layer_norm(X, parameters.norm_3), parameters.feed_forward)
    return X, self_weights, cross_weights
