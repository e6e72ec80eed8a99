"""A layer and a decoder behind a cache: new rows go in, old rows are not touched again.

What each function returns is, row for row, what the function without a cache returns for the whole
sequence at once; the tests say so for every layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from qkv.core.cache import KVCache, extend_cache
from qkv.core.feed_forward import feed_forward
from qkv.core.grouped_heads import grouped_attention
from qkv.core.inputs import (
    Array,
    as_caches,
    as_floats,
    as_head_mask,
    as_layer_input,
    as_layers,
    as_sequence,
    check_kind,
    check_leading_axes,
)
from qkv.core.layer import DecoderLayerParameters
from qkv.core.layer_norm import layer_norm
from qkv.core.masks import causal_mask
from qkv.core.multi_head import MultiHeadParameters, merge_heads, project_heads
from qkv.core.projections import project

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


def memory_cache(
    memory: Float[Array, "*batch n_k d_memory"], parameters: MultiHeadParameters
) -> KVCache:
    r"""Make the keys and values of the memory, once for a sentence.

    .. math:: K^{(i)} = \text{memory}\, W_K^{(i)} + b_K^{(i)}, \qquad
        V^{(i)} = \text{memory}\, W_V^{(i)} + b_V^{(i)}

    Parameters
    ----------
    memory : array, shape (..., n_k, d_memory)
        The output of the encoder.
    parameters : MultiHeadParameters
        Of one layer's cross-attention.

    Returns
    -------
    cache : KVCache
        k (..., n_kv_heads, n_k, d_k) and v (..., n_kv_heads, n_k, d_v); it never grows.

    Raises
    ------
    ShapeError
        If the memory is not as wide as the matrices.
    ValueError
        If an entry is NaN or infinite, or a product could overflow.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.2.3: keys and values come from the
    output of the encoder, which no step of the decoder changes.

    Examples
    --------
    >>> import qkv
    >>> ex = qkv.data.running_example()
    >>> cross = qkv.MultiHeadParameters(ex.W_Q_cross, ex.W_K_memory, ex.W_V_memory, ex.W_O)
    >>> of_memory = qkv.memory_cache(ex.memory, cross)
    >>> print(of_memory.k.shape, of_memory.v.shape)
    (3, 5, 4) (3, 5, 2)
    """
    check_kind("parameters", parameters, MultiHeadParameters)
    memory = as_sequence("memory", memory, "W_K", parameters.W_K)
    return KVCache(
        project_heads(memory, parameters.W_K, parameters.b_K),
        project_heads(memory, parameters.W_V, parameters.b_V),
    )


def cached_self_attention(
    X: Float[Array, "*batch n_q d_model"],
    parameters: MultiHeadParameters,
    cache: KVCache | None = None,
    mask: Bool[Array, " ..."] | None = None,
) -> tuple[Float[Array, "*batch n_q d_out"], Float[Array, "*batch n_heads n_q n_k"], KVCache]:
    r"""Let new rows look at themselves and at the rows before them, whose keys and values are kept.

    .. math:: \text{row } t:\quad \operatorname{Concat}_i\Big(
        \operatorname{Attention}\big(x_t W_Q^{(i)},\; K^{(i)}_{1:t},\; V^{(i)}_{1:t}\big)\Big) W_O

    Parameters
    ----------
    X : array, shape (..., n_q, d_model)
        The new rows only; their places are those after the cache.
    parameters : MultiHeadParameters
        The learned matrices; n_kv_heads may be smaller than n_heads (grouped heads).
    cache : KVCache, optional
        Keys and values of the rows before, (..., n_kv_heads, n, d).
    mask : bool array, optional
        True where the query may look, (..., n_q, n_k) with old and new keys, with or without the
        heads' axis. It is joined to the causal mask.

    Returns
    -------
    output : array, shape (..., n_q, d_out)
        One row for each new row.
    weights : array, shape (..., n_heads, n_q, n_k)
        n_k counts old rows and new.
    cache : KVCache
        For the next call.

    Raises
    ------
    ShapeError
        If the shapes do not fit each other or the cache.
    ValueError
        If the mask is not bool, an entry is NaN or infinite, or a product could overflow.

    References
    ----------
    Shazeer, "Fast transformer decoding: one write-head is all you need" (2019), sections 2.4 and 3.

    Examples
    --------
    >>> import numpy as np
    >>> import qkv
    >>> ex = qkv.data.running_example()
    >>> parameters = qkv.MultiHeadParameters(ex.W_Q, ex.W_K, ex.W_V, ex.W_O)
    >>> _, _, cache = qkv.cached_self_attention(ex.X_target[:6], parameters)
    >>> row, weights, cache = qkv.cached_self_attention(ex.X_target[6:], parameters, cache)
    >>> print(row.shape, weights.shape, cache.n)
    (1, 8) (3, 1, 7) 7
    >>> whole, _ = qkv.self_attention(ex.X_target, parameters, qkv.causal_mask(7))
    >>> print(np.allclose(row[0], whole[6]))
    True
    """
    check_kind("parameters", parameters, MultiHeadParameters)
    X = as_sequence("X", X, "W_K", parameters.W_K)
    k = project_heads(X, parameters.W_K, parameters.b_K)
    v = project_heads(X, parameters.W_V, parameters.b_V)
    longer = extend_cache(cache, k, v)
    allowed = causal_mask(X.shape[-2], longer.n, offset=longer.n - X.shape[-2])
    given = as_head_mask(mask, X, longer.k[..., 0, :, :], parameters.n_heads)
    if given is not None:
        allowed = allowed & given
    return *_look(X, longer, parameters, allowed), longer


def cached_decoder_layer(
    X: Float[Array, "*batch n_q d_model"],
    of_memory: KVCache,
    parameters: DecoderLayerParameters,
    cache: KVCache | None = None,
    memory_mask: Bool[Array, " ..."] | None = None,
) -> tuple[
    Float[Array, "*batch n_q d_model"],
    Float[Array, "*batch n_heads n_q n"],
    Float[Array, "*batch n_cross_heads n_q n_k"],
    KVCache,
]:
    r"""Run one decoder layer, post-norm, for new rows behind a cache.

    .. math:: x'_t = \operatorname{LN}_1\big(x_t + \operatorname{MultiHead}(x_t, x_{1:t})\big),
        \quad x''_t = \operatorname{LN}_2\big(x'_t + \operatorname{MultiHead}(x'_t,
        \text{memory})\big), \quad \operatorname{LN}_3\big(x''_t + \operatorname{FF}(x''_t)\big)

    Parameters
    ----------
    X : array, shape (..., n_q, d_model)
        The new rows only.
    of_memory : KVCache
        Keys and values of the memory, as `memory_cache` makes them with
        ``parameters.cross_attention``.
    parameters : DecoderLayerParameters
        What the layer learned.
    cache : KVCache, optional
        Keys and values of this layer's self-attention, of the rows before.
    memory_mask : bool array, optional
        Of cross-attention: which rows of the memory are real.

    Returns
    -------
    output : array, shape (..., n_q, d_model)
    self_weights : array, shape (..., n_heads, n_q, n)
        n counts old rows and new.
    cross_weights : array, shape (..., n_heads, n_q, n_k)
    cache : KVCache
        For the next call.

    Raises
    ------
    ShapeError
        If the shapes do not fit each other or the caches.
    ValueError
        If a mask is not bool, an entry is NaN or infinite, or a product could overflow.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.1, and figure 1 (right); Shazeer,
    "Fast transformer decoding: one write-head is all you need" (2019), section 2.4.

    Examples
    --------
    >>> import numpy as np
    >>> import qkv
    >>> ex = qkv.data.running_example()
    >>> sizes = qkv.LayerSizes(d_model=8, d_ff=16, n_heads=3, d_k=4, d_v=2, d_memory=9)
    >>> parameters = qkv.initial_decoder_layer(np.random.default_rng(0), sizes)
    >>> of_memory = qkv.memory_cache(ex.memory, parameters.cross_attention)
    >>> output, self_weights, cross_weights, cache = qkv.cached_decoder_layer(
    ...     ex.X_target[:1], of_memory, parameters
    ... )
    >>> print(output.shape, self_weights.shape, cross_weights.shape, cache.n)
    (1, 8) (3, 1, 1) (3, 1, 5) 1
    """
    X = as_layer_input(X, parameters, DecoderLayerParameters)
    cross = parameters.cross_attention
    check_kind("of_memory", of_memory, KVCache)
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
    X: Float[Array, "*batch n_q d_model"],
    of_memory: Sequence[KVCache],
    layers: Sequence[DecoderLayerParameters],
    caches: Sequence[KVCache] | None = None,
    memory_mask: Bool[Array, " ..."] | None = None,
) -> tuple[
    Float[Array, "*batch n_q d_model"],
    tuple[Float[Array, "*batch _ n_q n"], ...],
    tuple[Float[Array, "*batch _ n_q n_k"], ...],
    tuple[KVCache, ...],
]:
    r"""Run the decoder for new rows: each layer has its own cache, and its own of the memory.

    .. math:: X^{(l)} = \operatorname{DecoderLayer}_l(X^{(l-1)}, \text{cache}_l,
        \text{memory cache}_l)

    Parameters
    ----------
    X : array, shape (..., n_q, d_model)
        The first X of the new tokens: embeddings and positions after the cache's.
    of_memory : sequence of KVCache
        One a layer, as `memory_cache` makes them.
    layers : sequence of DecoderLayerParameters
        From the first layer to the last.
    caches : sequence of KVCache, optional
        One a layer, as the call before returned them; None for the first tokens.
    memory_mask : bool array, optional
        Of cross-attention: which rows of the memory are real.

    Returns
    -------
    output : array, shape (..., n_q, d_model)
    self_weights : tuple of arrays, each of shape (..., n_heads, n_q, n)
    cross_weights : tuple of arrays, each of shape (..., n_heads, n_q, n_k)
    caches : tuple of KVCache
        For the next call.

    Raises
    ------
    ShapeError
        If the shapes do not fit each other or the caches.
    ValueError
        If there is not one cache a layer, a mask is not bool, an entry is NaN or infinite, or a
        product could overflow.

    References
    ----------
    Shazeer, "Fast transformer decoding: one write-head is all you need" (2019), section 2.4.

    Examples
    --------
    >>> import numpy as np
    >>> import qkv
    >>> ex = qkv.data.running_example()
    >>> sizes = qkv.LayerSizes(d_model=8, d_ff=16, n_heads=3, d_k=4, d_v=2, d_memory=9)
    >>> rng = np.random.default_rng(0)
    >>> layers = [qkv.initial_decoder_layer(rng, sizes) for _ in range(2)]
    >>> of_memory = [qkv.memory_cache(ex.memory, layer.cross_attention) for layer in layers]
    >>> output, *_, caches = qkv.cached_decoder(ex.X_target[:4], of_memory, layers)
    >>> output, *_, caches = qkv.cached_decoder(ex.X_target[4:5], of_memory, layers, caches)
    >>> print(output.shape, [cache.n for cache in caches])
    (1, 8) [5, 5]
    """
    X, layers = as_floats("X", X, "n_q d_model"), as_layers("layers", layers)
    of_memory = as_caches("of_memory", of_memory, len(layers))
    old = as_caches("caches", caches, len(layers)) if caches is not None else (None,) * len(layers)
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
    X: Array, cache: KVCache, parameters: MultiHeadParameters, mask: Array | None
) -> tuple[Array, Array]:
    """Make queries of the new rows, let them look into a cache, and write."""
    q = project_heads(X, parameters.W_Q, parameters.b_Q)
    heads, weights = grouped_attention(q, cache.k, cache.v, mask)
    return project(merge_heads(heads), parameters.W_O, parameters.b_O), weights
