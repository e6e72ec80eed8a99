"""One whole layer: attention, feed-forward, and around each a residual sum and a LayerNorm."""

from jaxtyping import Bool, Float
from torch import Tensor

from qkv import core
from qkv.twins.cross_attention import cross_attention, self_attention
from qkv.twins.feed_forward import FeedForward, feed_forward
from qkv.twins.layer_norm import LayerNorm, layer_norm
from qkv.twins.module import Twin
from qkv.twins.multi_head import MultiHeadAttention


class EncoderLayer(Twin):
    """One encoder layer that learns, post-norm as in the paper.

    Parameters
    ----------
    parameters : qkv.EncoderLayerParameters
        Where its parts start: attention, norm_1, feed_forward, norm_2.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.1 and figure 1 (left).

    Examples
    --------
    >>> import numpy as np, qkv, torch
    >>> from qkv import twins
    >>> sizes = qkv.LayerSizes(d_model=8, d_ff=16, n_heads=3, d_k=4, d_v=2)
    >>> rng = np.random.default_rng(0)
    >>> layer = twins.EncoderLayer(qkv.initial_encoder_layer(rng, sizes)).float()
    >>> output, weights = layer(torch.ones(5, 8), mask=twins.causal_mask(5))
    >>> print(*output.shape, *weights.shape)
    5 8 3 5 5
    """

    core_class = core.EncoderLayerParameters

    def __init__(self, parameters: core.EncoderLayerParameters) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(parameters.attention)
        self.norm_1 = LayerNorm(parameters.norm_1)
        self.feed_forward = FeedForward(parameters.feed_forward)
        self.norm_2 = LayerNorm(parameters.norm_2)

    def forward(self, X: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return `encoder_layer` with these parameters."""
        return encoder_layer(X, self, mask)


class EncoderLayerPreNorm(EncoderLayer):
    """One encoder layer that learns, pre-norm.

    Parameters
    ----------
    parameters : qkv.EncoderLayerParameters
        Where its parts start: attention, norm_1, feed_forward, norm_2.

    References
    ----------
    Xiong et al., "On layer normalization in the transformer architecture" (2020), table 1.

    Examples
    --------
    >>> import numpy as np, qkv, torch
    >>> from qkv import twins
    >>> sizes = qkv.LayerSizes(d_model=8, d_ff=16, n_heads=3, d_k=4, d_v=2)
    >>> rng = np.random.default_rng(0)
    >>> layer = twins.EncoderLayerPreNorm(qkv.initial_encoder_layer(rng, sizes)).float()
    >>> output, weights = layer(torch.ones(5, 8))
    >>> print(*output.shape, *weights.shape)
    5 8 3 5 5
    """

    def forward(self, X: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return `encoder_layer_pre_norm` with these parameters."""
        return encoder_layer_pre_norm(X, self, mask)


class DecoderLayer(Twin):
    """One decoder layer that learns, post-norm as in the paper.

    Parameters
    ----------
    parameters : qkv.DecoderLayerParameters
        Where its parts start: self_attention, norm_1, cross_attention, norm_2, feed_forward,
        norm_3.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.1 and figure 1 (right).

    Examples
    --------
    >>> import numpy as np, qkv, torch
    >>> from qkv import twins
    >>> sizes = qkv.LayerSizes(d_model=8, d_ff=16, n_heads=3, d_k=4, d_v=2, d_memory=9)
    >>> rng = np.random.default_rng(0)
    >>> layer = twins.DecoderLayer(qkv.initial_decoder_layer(rng, sizes)).float()
    >>> output, self_weights, cross_weights = layer(torch.ones(7, 8), torch.ones(5, 9))
    >>> print(*output.shape, *self_weights.shape, *cross_weights.shape)
    7 8 3 7 7 3 7 5
    """

    core_class = core.DecoderLayerParameters

    def __init__(self, parameters: core.DecoderLayerParameters) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(parameters.self_attention)
        self.norm_1 = LayerNorm(parameters.norm_1)
        self.cross_attention = MultiHeadAttention(parameters.cross_attention)
        self.norm_2 = LayerNorm(parameters.norm_2)
        self.feed_forward = FeedForward(parameters.feed_forward)
        self.norm_3 = LayerNorm(parameters.norm_3)

    def forward(
        self,
        X: Tensor,
        memory: Tensor,
        mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return `decoder_layer` with these parameters."""
        return decoder_layer(X, memory, self, mask, memory_mask)


class DecoderLayerPreNorm(DecoderLayer):
    """One decoder layer that learns, pre-norm; the memory goes in as it is.

    Parameters
    ----------
    parameters : qkv.DecoderLayerParameters
        Where its parts start: self_attention, norm_1, cross_attention, norm_2, feed_forward,
        norm_3.

    References
    ----------
    Xiong et al., "On layer normalization in the transformer architecture" (2020), table 1.

    Examples
    --------
    >>> import numpy as np, qkv, torch
    >>> from qkv import twins
    >>> sizes = qkv.LayerSizes(d_model=8, d_ff=16, n_heads=3, d_k=4, d_v=2, d_memory=9)
    >>> rng = np.random.default_rng(0)
    >>> layer = twins.DecoderLayerPreNorm(qkv.initial_decoder_layer(rng, sizes)).float()
    >>> output, self_weights, cross_weights = layer(torch.ones(7, 8), torch.ones(5, 9))
    >>> print(*output.shape, *self_weights.shape, *cross_weights.shape)
    7 8 3 7 7 3 7 5
    """

    def forward(
        self,
        X: Tensor,
        memory: Tensor,
        mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return `decoder_layer_pre_norm` with these parameters."""
        return decoder_layer_pre_norm(X, memory, self, mask, memory_mask)


def encoder_layer(
    X: Float[Tensor, "*batch n d_model"],
    parameters: EncoderLayer,
    mask: Bool[Tensor, " ..."] | None = None,
) -> tuple[Float[Tensor, "*batch n d_model"], Float[Tensor, "*batch n_heads n n"]]:
    r"""Run one encoder layer, post-norm: each part's output is added, then the sum normalised.

    .. math:: X' = \operatorname{LN}_1(X + \operatorname{MultiHead}(X, X)), \qquad
        \operatorname{LN}_2(X' + \operatorname{FF}(X'))

    Parameters
    ----------
    X : tensor, shape (..., n, d_model)
        One token a row.
    parameters : EncoderLayer
        What the layer learned.
    mask : bool tensor, optional
        True where the query may look, with or without the heads' axis.

    Returns
    -------
    output : tensor, shape (..., n, d_model)
    weights : tensor, shape (..., n_heads, n, n)

    See Also
    --------
    qkv.encoder_layer : the same in numpy.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.1, and figure 1 (left).

    Examples
    --------
    >>> import numpy as np, qkv, torch
    >>> from qkv import twins
    >>> sizes = qkv.LayerSizes(d_model=8, d_ff=16, n_heads=3, d_k=4, d_v=2)
    >>> rng = np.random.default_rng(0)
    >>> layer = twins.EncoderLayer(qkv.initial_encoder_layer(rng, sizes)).float()
    >>> output, weights = twins.encoder_layer(torch.ones(5, 8), layer)
    >>> print(*output.shape, *weights.shape)
    5 8 3 5 5
    """
    read, weights = self_attention(X, parameters.attention, mask)
    X = layer_norm(X + read, parameters.norm_1)
    X = layer_norm(X + feed_forward(X, parameters.feed_forward), parameters.norm_2)
    return X, weights


def encoder_layer_pre_norm(
    X: Float[Tensor, "*batch n d_model"],
    parameters: EncoderLayer,
    mask: Bool[Tensor, " ..."] | None = None,
) -> tuple[Float[Tensor, "*batch n d_model"], Float[Tensor, "*batch n_heads n n"]]:
    r"""Run one encoder layer, pre-norm: the LayerNorm of the stream goes into each part.

    .. math:: X' = X + \operatorname{MultiHead}(\operatorname{LN}_1(X), \operatorname{LN}_1(X)),
        \qquad X' + \operatorname{FF}(\operatorname{LN}_2(X'))

    Queries, keys and values are made from the normalised rows, all three.

    Parameters
    ----------
    X : tensor, shape (..., n, d_model)
        One token a row.
    parameters : EncoderLayer
        What the layer learned.
    mask : bool tensor, optional
        True where the query may look, with or without the heads' axis.

    Returns
    -------
    output : tensor, shape (..., n, d_model)
        Not normalised; the last layer of a stack is followed by one more LayerNorm.
    weights : tensor, shape (..., n_heads, n, n)

    See Also
    --------
    qkv.encoder_layer_pre_norm : the same in numpy.

    References
    ----------
    Xiong et al., "On layer normalization in the transformer architecture" (2020), table 1.

    Examples
    --------
    >>> import numpy as np, qkv, torch
    >>> from qkv import twins
    >>> sizes = qkv.LayerSizes(d_model=8, d_ff=16, n_heads=3, d_k=4, d_v=2)
    >>> rng = np.random.default_rng(0)
    >>> layer = twins.EncoderLayerPreNorm(qkv.initial_encoder_layer(rng, sizes)).float()
    >>> output, weights = twins.encoder_layer_pre_norm(torch.ones(5, 8), layer)
    >>> print(*output.shape, *weights.shape)
    5 8 3 5 5
    """
    read, weights = self_attention(layer_norm(X, parameters.norm_1), parameters.attention, mask)
    X = X + read
    X = X + feed_forward(layer_norm(X, parameters.norm_2), parameters.feed_forward)
    return X, weights


def decoder_layer(
    X: Float[Tensor, "*batch n_q d_model"],
    memory: Float[Tensor, "*batch n_k d_memory"],
    parameters: DecoderLayer,
    mask: Bool[Tensor, " ..."] | None = None,
    memory_mask: Bool[Tensor, " ..."] | None = None,
) -> tuple[
    Float[Tensor, "*batch n_q d_model"],
    Float[Tensor, "*batch n_heads n_q n_q"],
    Float[Tensor, "*batch n_cross_heads n_q n_k"],
]:
    r"""Run one decoder layer, post-norm.

    .. math:: X' = \operatorname{LN}_1(X + \operatorname{MultiHead}(X, X)), \quad
        X'' = \operatorname{LN}_2(X' + \operatorname{MultiHead}(X', \text{memory})), \quad
        \operatorname{LN}_3(X'' + \operatorname{FF}(X''))

    The queries of cross-attention come from X', which this same layer's self-attention has made.

    Parameters
    ----------
    X : tensor, shape (..., n_q, d_model)
        The decoder's rows.
    memory : tensor, shape (..., n_k, d_memory)
        The output of the last encoder block.
    parameters : DecoderLayer
        What the layer learned.
    mask : bool tensor, optional
        Of self-attention; a decoder that must not look ahead needs ``causal_mask(n_q)``.
    memory_mask : bool tensor, optional
        Of cross-attention: which rows of the memory are real.

    Returns
    -------
    output : tensor, shape (..., n_q, d_model)
    self_weights : tensor, shape (..., n_heads, n_q, n_q)
    cross_weights : tensor, shape (..., n_heads, n_q, n_k)

    See Also
    --------
    qkv.decoder_layer : the same in numpy.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.1, and figure 1 (right). The
    prose of section 3.2.3 takes the queries from "the previous decoder layer"; the figure does
    not.

    Examples
    --------
    >>> import numpy as np, qkv, torch
    >>> from qkv import twins
    >>> sizes = qkv.LayerSizes(d_model=8, d_ff=16, n_heads=3, d_k=4, d_v=2, d_memory=9)
    >>> rng = np.random.default_rng(0)
    >>> layer = twins.DecoderLayer(qkv.initial_decoder_layer(rng, sizes)).float()
    >>> X, memory = torch.ones(7, 8), torch.ones(5, 9)
    >>> output, self_weights, cross_weights = twins.decoder_layer(X, memory, layer)
    >>> print(*output.shape, *self_weights.shape, *cross_weights.shape)
    7 8 3 7 7 3 7 5
    """
    read, self_weights = self_attention(X, parameters.self_attention, mask)
    X = layer_norm(X + read, parameters.norm_1)
    read, cross_weights = cross_attention(X, memory, parameters.cross_attention, memory_mask)
    X = layer_norm(X + read, parameters.norm_2)
    X = layer_norm(X + feed_forward(X, parameters.feed_forward), parameters.norm_3)
    return X, self_weights, cross_weights


def decoder_layer_pre_norm(
    X: Float[Tensor, "*batch n_q d_model"],
    memory: Float[Tensor, "*batch n_k d_memory"],
    parameters: DecoderLayer,
    mask: Bool[Tensor, " ..."] | None = None,
    memory_mask: Bool[Tensor, " ..."] | None = None,
) -> tuple[
    Float[Tensor, "*batch n_q d_model"],
    Float[Tensor, "*batch n_heads n_q n_q"],
    Float[Tensor, "*batch n_cross_heads n_q n_k"],
]:
    r"""Run one decoder layer, pre-norm.

    .. math:: X' = X + \operatorname{MultiHead}(\operatorname{LN}_1 X, \operatorname{LN}_1 X),
        \quad X'' = X' + \operatorname{MultiHead}(\operatorname{LN}_2 X', \text{memory}), \quad
        X'' + \operatorname{FF}(\operatorname{LN}_3 X'')

    The memory is used as it is: the encoder's last LayerNorm has normalised it already.

    Parameters
    ----------
    X : tensor, shape (..., n_q, d_model)
        The decoder's rows.
    memory : tensor, shape (..., n_k, d_memory)
        The output of the encoder, after its last LayerNorm.
    parameters : DecoderLayer
        What the layer learned.
    mask : bool tensor, optional
        Of self-attention; a decoder that must not look ahead needs ``causal_mask(n_q)``.
    memory_mask : bool tensor, optional
        Of cross-attention: which rows of the memory are real.

    Returns
    -------
    output : tensor, shape (..., n_q, d_model)
        Not normalised; the last layer of a stack is followed by one more LayerNorm.
    self_weights : tensor, shape (..., n_heads, n_q, n_q)
    cross_weights : tensor, shape (..., n_heads, n_q, n_k)

    See Also
    --------
    qkv.decoder_layer_pre_norm : the same in numpy.

    References
    ----------
    Xiong et al., "On layer normalization in the transformer architecture" (2020), table 1.

    Examples
    --------
    >>> import numpy as np, qkv, torch
    >>> from qkv import twins
    >>> sizes = qkv.LayerSizes(d_model=8, d_ff=16, n_heads=3, d_k=4, d_v=2, d_memory=9)
    >>> rng = np.random.default_rng(0)
    >>> layer = twins.DecoderLayerPreNorm(qkv.initial_decoder_layer(rng, sizes)).float()
    >>> X, memory = torch.ones(7, 8), torch.ones(5, 9)
    >>> output, self_weights, cross_weights = twins.decoder_layer_pre_norm(X, memory, layer)
    >>> print(*output.shape, *self_weights.shape, *cross_weights.shape)
    7 8 3 7 7 3 7 5
    """
    normal = layer_norm(X, parameters.norm_1)
    read, self_weights = self_attention(normal, parameters.self_attention, mask)
    X = X + read
    normal = layer_norm(X, parameters.norm_2)
    read, cross_weights = cross_attention(normal, memory, parameters.cross_attention, memory_mask)
    X = X + read
    X = X + feed_forward(layer_norm(X, parameters.norm_3), parameters.feed_forward)
    return X, self_weights, cross_weights
