"""A layer and a decoder behind a cache: new rows go in, old rows are not touched again."""

from collections.abc import Iterable, Sequence

from jaxtyping import Bool, Float
from torch import Tensor

from qkv.twins.cache import KVCache, extend_cache
from qkv.twins.feed_forward import feed_forward
from qkv.twins.grouped_heads import grouped_attention
from qkv.twins.inputs import as_head_mask, check_caches, check_leading_axes, check_sequence
from qkv.twins.layer import DecoderLayer
from qkv.twins.layer_norm import layer_norm
from qkv.twins.masks import causal_mask
from qkv.twins.multi_head import MultiHeadAttention, merge_heads, project_heads
from qkv.twins.projections import project


def memory_cache(
    memory: Float[Tensor, "*batch n_k d_memory"], parameters: MultiHeadAttention
) -> KVCache:
    r"""Make the keys and values of the memory, once for a sentence.

    .. math:: K^{(i)} = \text{memory}\, W_K^{(i)} + b_K^{(i)}, \qquad
        V^{(i)} = \text{memory}\, W_V^{(i)} + b_V^{(i)}

    Parameters
    ----------
    memory : tensor, shape (..., n_k, d_memory)
        The output of the encoder.
    parameters : MultiHeadAttention
        Of one layer's cross-attention.

    Returns
    -------
    cache : KVCache
        k (..., n_kv_heads, n_k, d_k) and v (..., n_kv_heads, n_k, d_v); it never grows.

    See Also
    --------
    qkv.memory_cache : the same in numpy.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.2.3: keys and values come from the
    output of the encoder, which no step of the decoder changes.

    Examples
    --------
    >>> import qkv, torch
    >>> from qkv import twins
    >>> ex = qkv.data.running_example()
    >>> cross = qkv.MultiHeadParameters(ex.W_Q_cross, ex.W_K_memory, ex.W_V_memory, ex.W_O)
    >>> of_memory = twins.memory_cache(torch.tensor(ex.memory), twins.MultiHeadAttention(cross))
    >>> print(*of_memory.k.shape, *of_memory.v.shape)
    3 5 4 3 5 2
    """
    check_sequence("memory", memory, "W_K", parameters.W_K)
    return KVCache(
        project_heads(memory, parameters.W_K, parameters.b_K),
        project_heads(memory, parameters.W_V, parameters.b_V),
    )


def cached_self_attention(
    X: Float[Tensor, "*batch n_q d_model"],
    parameters: MultiHeadAttention,
    cache: KVCache | None = None,
    mask: Bool[Tensor, " ..."] | None = None,
) -> tuple[Float[Tensor, "*batch n_q d_out"], Float[Tensor, "*batch n_heads n_q n_k"], KVCache]:
    r"""Let new rows look at themselves and at the rows before them, whose keys and values are kept.

    .. math:: \text{row } t:\quad \operatorname{Concat}_i\Big(
        \operatorname{Attention}\big(x_t W_Q^{(i)},\; K^{(i)}_{1:t},\; V^{(i)}_{1:t}\big)\Big) W_O

    Parameters
    ----------
    X : tensor, shape (..., n_q, d_model)
        The new rows only; their places are those after the cache.
    parameters : MultiHeadAttention
        The learned matrices; n_kv_heads may be smaller than n_heads (grouped heads).
    cache : KVCache, optional
        Keys and values of the rows before, (..., n_kv_heads, n, d).
    mask : bool tensor, optional
        True where the query may look, (..., n_q, n_k) with old and new keys, with or without the
        heads' axis. It is joined to the causal mask.

    Returns
    -------
    output : tensor, shape (..., n_q, d_out)
        One row for each new row.
    weights : tensor, shape (..., n_heads, n_q, n_k)
        n_k counts old rows and new.
    cache : KVCache
        For the next call.

    See Also
    --------
    qkv.cached_self_attention : the same in numpy.

    References
    ----------
    Shazeer, "Fast transformer decoding: one write-head is all you need" (2019), sections 2.4 and 3.

    Examples
    --------
    >>> import qkv, torch
    >>> from qkv import twins
    >>> ex = qkv.data.running_example()
    >>> X = torch.tensor(ex.X_target)
    >>> layer = twins.MultiHeadAttention(qkv.MultiHeadParameters(ex.W_Q, ex.W_K, ex.W_V, ex.W_O))
    >>> _, _, cache = twins.cached_self_attention(X[:6], layer)
    >>> row, weights, cache = twins.cached_self_attention(X[6:], layer, cache)
    >>> print(*row.shape, *weights.shape, cache.n)
    1 8 3 1 7 7
    """
    check_sequence("X", X, "W_K", parameters.W_K)
    k = project_heads(X, parameters.W_K, parameters.b_K)
    v = project_heads(X, parameters.W_V, parameters.b_V)
    longer = extend_cache(cache, k, v)
    allowed = causal_mask(X.shape[-2], longer.n, offset=longer.n - X.shape[-2])
    given = as_head_mask(mask, X, longer.k[..., 0, :, :], parameters.n_heads)
    if given is not None:
        allowed = allowed & given
    return *_look(X, longer, parameters, allowed), longer


def cached_decoder_layer(
    X: Float[Tensor, "*batch n_q d_model"],
    of_memory: KVCache,
    parameters: DecoderLayer,
    cache: KVCache | None = None,
    memory_mask: Bool[Tensor, " ..."] | None = None,
) -> tuple[
    Float[Tensor, "*batch n_q d_model"],
    Float[Tensor, "*batch n_heads n_q n"],
    Float[Tensor, "*batch n_cross_heads n_q n_k"],
    KVCache,
]:
    r"""Run one decoder layer, post-norm, for new rows behind a cache.

    .. math:: x'_t = \operatorname{LN}_1\big(x_t + \operatorname{MultiHead}(x_t, x_{1:t})\big),
        \quad x''_t = \operatorname{LN}_2\big(x'_t + \operatorname{MultiHead}(x'_t,
        \text{memory})\big), \quad \operatorname{LN}_3\big(x''_t + \operatorname{FF}(x''_t)\big)

    Parameters
    ----------
    X : tensor, shape (..., n_q, d_model)
        The new rows only.
    of_memory : KVCache
        Keys and values of the memory, as `memory_cache` makes them with
        ``parameters.cross_attention``.
    parameters : DecoderLayer
        What the layer learned.
    cache : KVCache, optional
        Keys and values of this layer's self-attention, of the rows before.
    memory_mask : bool tensor, optional
        Of cross-attention: which rows of the memory are real.

    Returns
    -------
    output : tensor, shape (..., n_q, d_model)
    self_weights : tensor, shape (..., n_heads, n_q, n)
        n counts old rows and new.
    cross_weights : tensor, shape (..., n_heads, n_q, n_k)
    cache : KVCache
        For the next call.

    See Also
    --------
    qkv.cached_decoder_layer : the same in numpy.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.1, and figure 1 (right); Shazeer,
    "Fast transformer decoding: one write-head is all you need" (2019), section 2.4.

    Examples
    --------
    >>> import numpy as np, qkv, torch
    >>> from qkv import twins
    >>> sizes = qkv.LayerSizes(d_model=8, d_ff=16, n_heads=3, d_k=4, d_v=2, d_memory=9)
    >>> layer = twins.DecoderLayer(qkv.initial_decoder_layer(np.random.default_rng(0), sizes))
    >>> layer = layer.float()
    >>> of_memory = twins.memory_cache(torch.ones(5, 9), layer.cross_attention)
    >>> output, _, cross_weights, cache = twins.cached_decoder_layer(
    ...     torch.ones(1, 8), of_memory, layer
    ... )
    >>> print(*output.shape, *cross_weights.shape, cache.n)
    1 8 3 1 5 1
    """
    cross = parameters.cross_attention
    one_head = of_memory.k[..., 0, :, :]
    check_leading_axes("X", X, "a head of of_memory.k", one_head)
    memory_mask = as_head_mask(memory_mask, X, one_head, cross.n_heads)
    read, self_weights, cache = cached_self_attention(X, parameters.self_attention, cache)
    X = layer_norm(X + read, parameters.norm_1)
    read, cross_weights = _look(X, of_memory, cross, memory_mask)
    X = layer_norm(X + read, parameters.norm_2)
    X = layer_norm(X + feed_forward(X, parameters.feed_forward), parameters.norm_3)
    return X, self_weights, cross_weights, cache


def cached_decoder(
    X: Float[Tensor, "*batch n_q d_model"],
    of_memory: Sequence[KVCache],
    layers: Iterable[DecoderLayer],
    caches: Sequence[KVCache] | None = None,
    memory_mask: Bool[Tensor, " ..."] | None = None,
) -> tuple[
    Float[Tensor, "*batch n_q d_model"],
    tuple[Float[Tensor, "*batch _ n_q n"], ...],
    tuple[Float[Tensor, "*batch _ n_q n_k"], ...],
    tuple[KVCache, ...],
]:
    r"""Run the decoder for new rows: each layer has its own cache, and its own of the memory.

    .. math:: X^{(l)} = \operatorname{DecoderLayer}_l(X^{(l-1)}, \text{cache}_l,
        \text{memory cache}_l)

    Parameters
    ----------
    X : tensor, shape (..., n_q, d_model)
        The first X of the new tokens: embeddings and positions after the cache's.
    of_memory : sequence of KVCache
        One a layer, as `memory_cache` makes them.
    layers : sequence of DecoderLayer
        From the first layer to the last.
    caches : sequence of KVCache, optional
        One a layer, as the call before returned them; None for the first tokens.
    memory_mask : bool tensor, optional
        Of cross-attention: which rows of the memory are real.

    Returns
    -------
    output : tensor, shape (..., n_q, d_model)
    self_weights : tuple of tensors, each of shape (..., n_heads, n_q, n)
    cross_weights : tuple of tensors, each of shape (..., n_heads, n_q, n_k)
    caches : tuple of KVCache
        For the next call.

    See Also
    --------
    qkv.cached_decoder : the same in numpy.

    References
    ----------
    Shazeer, "Fast transformer decoding: one write-head is all you need" (2019), section 2.4.

    Examples
    --------
    >>> import numpy as np, qkv, torch
    >>> from qkv import twins
    >>> sizes = qkv.LayerSizes(d_model=8, d_ff=16, n_heads=3, d_k=4, d_v=2, d_memory=9)
    >>> rng = np.random.default_rng(0)
    >>> layers = [twins.DecoderLayer(qkv.initial_decoder_layer(rng, sizes)) for _ in range(2)]
    >>> X, memory = torch.ones(5, 8, dtype=torch.float64), torch.ones(4, 9, dtype=torch.float64)
    >>> of_memory = [twins.memory_cache(memory, layer.cross_attention) for layer in layers]
    >>> output, *_, caches = twins.cached_decoder(X[:4], of_memory, layers)
    >>> output, *_, caches = twins.cached_decoder(X[4:], of_memory, layers, caches)
    >>> print(*output.shape, [cache.n for cache in caches])
    1 8 [5, 5]
    """
    layers = tuple(layers)
    check_caches("of_memory", of_memory, len(layers))
    old = (None,) * len(layers) if caches is None else caches
    check_caches("caches", old, len(layers))
    self_by_layer, cross_by_layer, new = [], [], []
    for parameters, once, cache in zip(layers, of_memory, old, strict=True):
        X, self_weights, cross_weights, cache = cached_decoder_layer(
            X, once, parameters, cache, memory_mask
        )
        self_by_layer.append(self_weights)
        cross_by_layer.append(cross_weights)
        new.append(cache)
    return X, tuple(self_by_layer), tuple(cross_by_layer), tuple(new)


def _look(
    X: Tensor, cache: KVCache, parameters: MultiHeadAttention, mask: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Make queries of the new rows, let them look into a cache, and write."""
    q = project_heads(X, parameters.W_Q, parameters.b_Q)
    heads, weights = grouped_attention(q, cache.k, cache.v, mask)
    return project(merge_heads(heads), parameters.W_O, parameters.b_O), weights
