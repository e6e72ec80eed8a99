"""The Transformer: layers on layers, an encoder that reads and a decoder that writes."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from qkv import core
from qkv.twins.embeddings import embed, vocabulary_scores
from qkv.twins.layer import DecoderLayer, EncoderLayer
from qkv.twins.masks import causal_mask
from qkv.twins.module import Twin, as_parameter, to_core
from qkv.twins.positions import sinusoidal_positions


class Encoder(nn.ModuleList):
    """A list of encoder layers that runs them one after another.

    Parameters
    ----------
    layers : list of EncoderLayer or EncoderLayerPreNorm
        The first reads X, every other the layer before it.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.1.

    Examples
    --------
    >>> import numpy as np, qkv, torch
    >>> from qkv import twins
    >>> sizes = qkv.LayerSizes(d_model=8, d_ff=16, n_heads=3, d_k=4, d_v=2)
    >>> rng = np.random.default_rng(0)
    >>> layers = [twins.EncoderLayer(qkv.initial_encoder_layer(rng, sizes)) for _ in range(2)]
    >>> memory, weights = twins.Encoder(layers).float()(torch.ones(5, 8))
    >>> print(*memory.shape, len(weights))
    5 8 2
    """

    def forward(self, X: Tensor, mask: Tensor | None = None) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Return `encoder` with these layers."""
        return encoder(X, self, mask)


class Decoder(nn.ModuleList):
    """A list of decoder layers that runs them one after another, all reading one memory.

    Parameters
    ----------
    layers : list of DecoderLayer or DecoderLayerPreNorm
        The first reads X, every other the layer before it.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.1.

    Examples
    --------
    >>> import numpy as np, qkv, torch
    >>> from qkv import twins
    >>> sizes = qkv.LayerSizes(d_model=8, d_ff=16, n_heads=3, d_k=4, d_v=2, d_memory=9)
    >>> rng = np.random.default_rng(0)
    >>> layers = [twins.DecoderLayer(qkv.initial_decoder_layer(rng, sizes)) for _ in range(2)]
    >>> output, _, _ = twins.Decoder(layers).float()(torch.ones(7, 8), torch.ones(5, 9))
    >>> print(*output.shape)
    7 8
    """

    def forward(
        self,
        X: Tensor,
        memory: Tensor,
        mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
    ) -> tuple[Tensor, tuple[Tensor, ...], tuple[Tensor, ...]]:
        """Return `decoder` with these layers."""
        return decoder(X, memory, self, mask, memory_mask)


class Transformer(Twin):
    """The encoder-decoder Transformer that learns; its embedding table is also its read-out.

    Parameters
    ----------
    parameters : qkv.TransformerParameters
        Where its tables and layers start. If E_source and E_target are one array, they become
        one parameter, and gradients from both ends meet in it.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3 and figure 1; section 3.4 for
    the shared table.

    Examples
    --------
    >>> import numpy as np, qkv, torch
    >>> from qkv import twins
    >>> sizes = qkv.LayerSizes(d_model=8, d_ff=16, n_heads=3, d_k=4, d_v=2)
    >>> rng = np.random.default_rng(0)
    >>> parameters = qkv.initial_transformer(rng, sizes, n_layers=2, n_source=11, n_target=13)
    >>> model = twins.Transformer(parameters).float()
    >>> scores = model(torch.tensor([[3, 1, 4, 1, 5]]), torch.tensor([[0, 9, 2]]))
    >>> print(*scores.shape)
    1 3 13
    """

    core_class = core.TransformerParameters

    def __init__(self, parameters: core.TransformerParameters) -> None:
        super().__init__()
        self.E_source = as_parameter(parameters.E_source)
        one_table = parameters.E_target is parameters.E_source
        self.E_target = self.E_source if one_table else as_parameter(parameters.E_target)
        self.encoder = Encoder(EncoderLayer(layer) for layer in parameters.encoder)
        self.decoder = Decoder(DecoderLayer(layer) for layer in parameters.decoder)

    def forward(
        self, source_ids: Tensor, target_ids: Tensor, source_mask: Tensor | None = None
    ) -> Tensor:
        """Return `transformer` with these parameters."""
        return transformer(source_ids, target_ids, self, source_mask)

    def load_from_core(self, parameters: core.TransformerParameters) -> "Transformer":
        """Copy core's numbers; tables that are one parameter here must be one array there."""
        if (self.E_target is self.E_source) and parameters.E_target is not parameters.E_source:
            raise ValueError("E_source and E_target are one table here and two in the parameters")
        return super().load_from_core(parameters)

    def to_core(self) -> core.TransformerParameters:
        """Return core's dataclass with copies of the numbers; one table stays one array."""
        E_source = to_core(self.E_source)
        E_target = E_source if self.E_target is self.E_source else to_core(self.E_target)
        layers = to_core(self.encoder), to_core(self.decoder)
        return core.TransformerParameters(E_source, E_target, *layers)


def embed_tokens(
    ids: Int[Tensor, "*batch n"], E: Float[Tensor, "n_vocabulary d_model"], offset: int = 0
) -> Float[Tensor, "*batch n d_model"]:
    r"""Make the X of the first block: embeddings times the root of d_model, plus positions.

    .. math:: x_t = \sqrt{d_{\text{model}}}\, E_{\text{id}_t} + P_t

    Parameters
    ----------
    ids : int tensor, shape (..., n)
        One id a token.
    E : tensor, shape (n_vocabulary, d_model)
        The embedding table.
    offset : int, default 0
        Position of the first token.

    Returns
    -------
    X : tensor, shape (..., n, d_model)

    See Also
    --------
    qkv.embed_tokens : the same in numpy.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), sections 3.4 and 3.5.

    Examples
    --------
    >>> import torch
    >>> from qkv import twins
    >>> X = twins.embed_tokens(torch.tensor([2, 0]), torch.ones(3, 4))
    >>> print(X.numpy().round(3))
    [[2.    3.    2.    3.   ]
     [2.841 2.54  2.01  3.   ]]
    """
    X = embed(ids, E)
    n, d_model = X.shape[-2:]
    P = sinusoidal_positions(n, d_model, offset)
    return math.sqrt(d_model) * X + P.to(X.dtype)


def encoder(
    X: Float[Tensor, "*batch n d_model"],
    layers: Iterable[nn.Module],
    mask: Bool[Tensor, " ..."] | None = None,
) -> tuple[Float[Tensor, "*batch n d_model"], tuple[Float[Tensor, "*batch _ n n"], ...]]:
    r"""Run the encoder: each layer reads what the layer before wrote.

    .. math:: X^{(l)} = \operatorname{EncoderLayer}_l(X^{(l-1)})

    Parameters
    ----------
    X : tensor, shape (..., n, d_model)
        The first X: embeddings and positions.
    layers : sequence of EncoderLayer
        From the first layer to the last.
    mask : bool tensor, optional
        True where the query may look; the same for every layer.

    Returns
    -------
    memory : tensor, shape (..., n, d_model)
        What the last layer wrote: the one tensor that every decoder layer looks at.
    weights : tuple of tensors, each of shape (..., n_heads, n, n)
        One for each layer.

    See Also
    --------
    qkv.encoder : the same in numpy.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.1, and figure 1 (left).

    Examples
    --------
    >>> import numpy as np, qkv, torch
    >>> from qkv import twins
    >>> sizes = qkv.LayerSizes(d_model=8, d_ff=16, n_heads=3, d_k=4, d_v=2)
    >>> rng = np.random.default_rng(0)
    >>> layers = [twins.EncoderLayer(qkv.initial_encoder_layer(rng, sizes)) for _ in range(2)]
    >>> memory, weights = twins.encoder(torch.ones(5, 8, dtype=torch.float64), layers)
    >>> print(*memory.shape, len(weights))
    5 8 2
    """
    weights_by_layer = []
    for layer in layers:
        X, weights = layer(X, mask)
        weights_by_layer.append(weights)
    return X, tuple(weights_by_layer)


def decoder(
    X: Float[Tensor, "*batch n_q d_model"],
    memory: Float[Tensor, "*batch n_k d_memory"],
    layers: Iterable[nn.Module],
    mask: Bool[Tensor, " ..."] | None = None,
    memory_mask: Bool[Tensor, " ..."] | None = None,
) -> tuple[
    Float[Tensor, "*batch n_q d_model"],
    tuple[Float[Tensor, "*batch _ n_q n_q"], ...],
    tuple[Float[Tensor, "*batch _ n_q n_k"], ...],
]:
    r"""Run the decoder: each layer reads the layer before it, and all read one memory.

    .. math:: X^{(l)} = \operatorname{DecoderLayer}_l(X^{(l-1)}, \text{memory})

    Parameters
    ----------
    X : tensor, shape (..., n_q, d_model)
        The first X: embeddings and positions of the target.
    memory : tensor, shape (..., n_k, d_memory)
        The output of the last encoder layer.
    layers : sequence of DecoderLayer
        From the first layer to the last.
    mask : bool tensor, optional
        Of self-attention; ``causal_mask(n_q)`` for a decoder that must not look ahead.
    memory_mask : bool tensor, optional
        Of cross-attention: which rows of the memory are real.

    Returns
    -------
    output : tensor, shape (..., n_q, d_model)
    self_weights : tuple of tensors, each of shape (..., n_heads, n_q, n_q)
    cross_weights : tuple of tensors, each of shape (..., n_heads, n_q, n_k)

    See Also
    --------
    qkv.decoder : the same in numpy.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.1, and figure 1 (right).

    Examples
    --------
    >>> import numpy as np, qkv, torch
    >>> from qkv import twins
    >>> sizes = qkv.LayerSizes(d_model=8, d_ff=16, n_heads=3, d_k=4, d_v=2, d_memory=9)
    >>> rng = np.random.default_rng(0)
    >>> layers = [twins.DecoderLayer(qkv.initial_decoder_layer(rng, sizes)) for _ in range(2)]
    >>> X, memory = torch.ones(7, 8, dtype=torch.float64), torch.ones(5, 9, dtype=torch.float64)
    >>> output, self_weights, cross_weights = twins.decoder(X, memory, layers)
    >>> print(*output.shape, len(self_weights), len(cross_weights))
    7 8 2 2
    """
    self_by_layer, cross_by_layer = [], []
    for layer in layers:
        X, self_weights, cross_weights = layer(X, memory, mask, memory_mask)
        self_by_layer.append(self_weights)
        cross_by_layer.append(cross_weights)
    return X, tuple(self_by_layer), tuple(cross_by_layer)


@dataclass(frozen=True, eq=False)
class TransformerSteps:
    """Every tensor between the ids and the scores of an encoder-decoder Transformer.

    Attributes
    ----------
    X_source : tensor, shape (..., n_k, d_memory)
        What the first encoder layer reads.
    memory : tensor, shape (..., n_k, d_memory)
        What the last encoder layer wrote.
    encoder_weights : tuple of tensors, shape (..., n_heads, n_k, n_k)
        One a layer.
    X_target : tensor, shape (..., n_q, d_model)
        What the first decoder layer reads.
    self_weights : tuple of tensors, shape (..., n_heads, n_q, n_q)
        One a layer.
    cross_weights : tuple of tensors, shape (..., n_heads, n_q, n_k)
        One a layer.
    output : tensor, shape (..., n_q, d_model)
        What the last decoder layer wrote.
    scores : tensor, shape (..., n_q, n_target)
        One for each word of the target language.
    """

    X_source: Float[Tensor, "*batch n_k d_memory"]
    memory: Float[Tensor, "*batch n_k d_memory"]
    encoder_weights: tuple[Float[Tensor, "*batch _ n_k n_k"], ...]
    X_target: Float[Tensor, "*batch n_q d_model"]
    self_weights: tuple[Float[Tensor, "*batch _ n_q n_q"], ...]
    cross_weights: tuple[Float[Tensor, "*batch _ n_q n_k"], ...]
    output: Float[Tensor, "*batch n_q d_model"]
    scores: Float[Tensor, "*batch n_q n_target"]


def transformer_steps(
    source_ids: Int[Tensor, "*batch n_k"],
    target_ids: Int[Tensor, "*batch n_q"],
    parameters: Transformer,
    source_mask: Bool[Tensor, " ..."] | None = None,
) -> TransformerSteps:
    r"""Run the whole Transformer and keep every intermediate.

    .. math:: \text{ids} \;\to\; X \;\to\; \text{memory} \;\to\; \text{output} \;\to\;
        \text{scores}

    Parameters
    ----------
    source_ids : int tensor, shape (..., n_k)
        The sentence to be read.
    target_ids : int tensor, shape (..., n_q)
        The sentence written so far, beginning with the start symbol.
    parameters : Transformer
        What the model learned.
    source_mask : bool tensor, optional
        Which source tokens are real, as ``padding_mask`` makes it; for encoder and
        cross-attention alike. The target's mask is causal.

    Returns
    -------
    steps : TransformerSteps
        What pages and widgets show, by name.

    See Also
    --------
    qkv.transformer_steps : the same in numpy.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3 and figure 1.

    Examples
    --------
    >>> import numpy as np, qkv, torch
    >>> from qkv import twins
    >>> sizes = qkv.LayerSizes(d_model=8, d_ff=16, n_heads=3, d_k=4, d_v=2)
    >>> rng = np.random.default_rng(0)
    >>> parameters = qkv.initial_transformer(rng, sizes, n_layers=2, n_source=11, n_target=13)
    >>> model = twins.Transformer(parameters)
    >>> source_ids, target_ids = torch.tensor([3, 1, 4, 1, 5]), torch.tensor([0, 9, 2])
    >>> steps = twins.transformer_steps(source_ids, target_ids, model)
    >>> print(*steps.memory.shape, *steps.cross_weights[0].shape, *steps.scores.shape)
    5 8 3 3 5 3 13
    """
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


def transformer(
    source_ids: Int[Tensor, "*batch n_k"],
    target_ids: Int[Tensor, "*batch n_q"],
    parameters: Transformer,
    source_mask: Bool[Tensor, " ..."] | None = None,
) -> Float[Tensor, "*batch n_q n_target"]:
    r"""Score every word of the target language as the next one, after each target word.

    .. math:: \operatorname{decoder}\big(X_{\text{target}}, \operatorname{encoder}(
        X_{\text{source}})\big)\, E_{\text{target}}^\top

    Parameters
    ----------
    source_ids : int tensor, shape (..., n_k)
        The sentence to be read.
    target_ids : int tensor, shape (..., n_q)
        The sentence written so far, beginning with the start symbol.
    parameters : Transformer
        What the model learned.
    source_mask : bool tensor, optional
        Which source tokens are real, as ``padding_mask`` makes it.

    Returns
    -------
    scores : tensor, shape (..., n_q, n_target)
        Row t scores the word that follows target word t, and depends on no later one.

    See Also
    --------
    qkv.transformer : the same in numpy.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3 and figure 1.

    Examples
    --------
    >>> import numpy as np, qkv, torch
    >>> from qkv import twins
    >>> sizes = qkv.LayerSizes(d_model=8, d_ff=16, n_heads=3, d_k=4, d_v=2)
    >>> rng = np.random.default_rng(0)
    >>> parameters = qkv.initial_transformer(rng, sizes, n_layers=2, n_source=11, n_target=13)
    >>> model = twins.Transformer(parameters)
    >>> scores = twins.transformer(torch.tensor([3, 1, 4, 1, 5]), torch.tensor([0, 9, 2]), model)
    >>> print(*scores.shape)
    3 13
    """
    return transformer_steps(source_ids, target_ids, parameters, source_mask).scores
