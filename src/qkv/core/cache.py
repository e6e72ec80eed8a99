"""The KV cache: under a causal mask, keys and values once made never change, so keep them.

Nothing here is stored out of sight: a function takes a cache and returns a new one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qkv.core.inputs import Array, as_cache_entries, check_cache_goes_on, check_kind
from qkv.core.masks import causal_mask
from qkv.core.scaled_dot_product import scaled_dot_product_attention

if TYPE_CHECKING:
    from jaxtyping import Float


@dataclass(frozen=True, eq=False)
class KVCache:
    """The keys and values of all tokens so far.

    Parameters
    ----------
    k : array, shape (..., n, d_k)
        One key a token, in order.
    v : array, shape (..., n, d_v)
        One value a token.

    Raises
    ------
    ShapeError
        If there is not one value for each key.
    ValueError
        If an entry is NaN or infinite.
    """

    k: Float[Array, "*batch n d_k"]
    v: Float[Array, "*batch n d_v"]

    def __post_init__(self) -> None:  # noqa: D105
        k, v = as_cache_entries(self.k, self.v)
        object.__setattr__(self, "k", k)
        object.__setattr__(self, "v", v)

    @property
    def n(self) -> int:
        """Number of tokens so far, and the position of the next one."""
        return self.k.shape[-2]


def extend_cache(
    cache: KVCache | None, k: Float[Array, "*batch n d_k"], v: Float[Array, "*batch n d_v"]
) -> KVCache:
    r"""Return a new cache with the keys and values of new tokens behind the old ones.

    .. math:: K_{1:n+m} = \begin{bmatrix} K_{1:n} \\ K_{n+1:n+m} \end{bmatrix}, \qquad
        V_{1:n+m} = \begin{bmatrix} V_{1:n} \\ V_{n+1:n+m} \end{bmatrix}

    Parameters
    ----------
    cache : KVCache or None
        What there is so far; None for nothing.
    k : array, shape (..., n, d_k)
        Keys of the new tokens.
    v : array, shape (..., n, d_v)
        Their values.

    Returns
    -------
    cache : KVCache
        A new one; the old one is left as it was.

    Raises
    ------
    ShapeError
        If widths or leading axes are not those of the cache.
    ValueError
        If an entry is NaN or infinite.

    References
    ----------
    Shazeer, "Fast transformer decoding: one write-head is all you need" (2019), section 2.4.

    Examples
    --------
    >>> import qkv
    >>> cache = qkv.extend_cache(None, k=[[1, 2]], v=[[10]])
    >>> longer = qkv.extend_cache(cache, k=[[3, 4]], v=[[20]])
    >>> print(cache.n, longer.n, longer.v[:, 0])
    1 2 [10. 20.]
    """
    k, v = as_cache_entries(k, v)
    if cache is None:
        return KVCache(k, v)
    check_kind("cache", cache, KVCache)
    check_cache_goes_on(cache, k, v)
    return KVCache(np.concatenate([cache.k, k], axis=-2), np.concatenate([cache.v, v], axis=-2))


def cached_attention(
    q: Float[Array, "*batch n_q d_k"],
    k: Float[Array, "*batch n_q d_k"],
    v: Float[Array, "*batch n_q d_v"],
    cache: KVCache | None = None,
) -> tuple[Float[Array, "*batch n_q d_v"], Float[Array, "*batch n_q n_k"], KVCache]:
    r"""Compute causal attention for new tokens behind a cache.

    .. math:: o_t = \operatorname{Attention}(q_t,\; K_{1:t},\; V_{1:t})

    The causal mask is shifted by the length of the cache: the first new token is at position n,
    and may look at all n old ones and itself.

    Parameters
    ----------
    q, k : array, shape (..., n_q, d_k)
        Queries and keys of the new tokens.
    v : array, shape (..., n_q, d_v)
        Their values.
    cache : KVCache, optional
        Keys and values of the tokens before.

    Returns
    -------
    output : array, shape (..., n_q, d_v)
        One row for each new token.
    weights : array, shape (..., n_q, n_k)
        What each new token looks at; n_k counts old and new.
    cache : KVCache
        For the next call.

    Raises
    ------
    ShapeError
        If the shapes do not fit each other or the cache.
    ValueError
        If an entry is NaN or infinite, or a score could overflow.

    References
    ----------
    Shazeer, "Fast transformer decoding: one write-head is all you need" (2019), section 2.4.

    Examples
    --------
    >>> import qkv
    >>> _, _, cache = qkv.cached_attention(q=[[0, 1]], k=[[1, 0]], v=[[10]])
    >>> output, weights, cache = qkv.cached_attention(q=[[0, 0]], k=[[0, 1]], v=[[20]], cache=cache)
    >>> print(output, weights, cache.n)
    [[15.]] [[0.5 0.5]] 2
    """
    longer = extend_cache(cache, k, v)
    n_q = np.shape(k)[-2]
    mask = causal_mask(n_q, longer.n, offset=longer.n - n_q)
    output, weights = scaled_dot_product_attention(q, longer.k, longer.v, mask)
    return output, weights, longer
