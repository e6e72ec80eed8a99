"""The KV cache: under a causal mask, keys and values once made never change, so keep them."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from qkv.twins.inputs import check_cache_goes_on
from qkv.twins.masks import causal_mask
from qkv.twins.scaled_dot_product import scaled_dot_product_attention


@dataclass(frozen=True, eq=False)
class KVCache:
    """The keys and values of all tokens so far.

    Parameters
    ----------
    k : tensor, shape (..., n, d_k)
        One key a token.
    v : tensor, shape (..., n, d_v)
        One value a token.
    """

    k: Float[Tensor, "*batch n d_k"]
    v: Float[Tensor, "*batch n d_v"]

    @property
    def n(self) -> int:
        """Number of tokens so far, and the position of the next one."""
        return self.k.shape[-2]


def extend_cache(
    cache: KVCache | None, k: Float[Tensor, "*batch n d_k"], v: Float[Tensor, "*batch n d_v"]
) -> KVCache:
    r"""Return a new cache with the keys and values of new tokens behind the old ones.

    .. math:: K_{1:n+m} = \begin{bmatrix} K_{1:n} \\ K_{n+1:n+m} \end{bmatrix}, \qquad
        V_{1:n+m} = \begin{bmatrix} V_{1:n} \\ V_{n+1:n+m} \end{bmatrix}

    Parameters
    ----------
    cache : KVCache or None
        What there is so far; None for nothing.
    k : tensor, shape (..., n, d_k)
        Keys of the new tokens.
    v : tensor, shape (..., n, d_v)
        Their values.

    Returns
    -------
    cache : KVCache
        A new one; the old one is left as it was.

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    See Also
    --------
    qkv.extend_cache : the same in numpy.

    References
    ----------
    Shazeer, "Fast transformer decoding: one write-head is all you need" (2019), section 2.4.

    Examples
    --------
    >>> import torch
    >>> from qkv import twins
    >>> cache = twins.extend_cache(None, k=torch.ones(4, 3), v=torch.ones(4, 2))
    >>> longer = twins.extend_cache(cache, k=torch.ones(1, 3), v=torch.ones(1, 2))
    >>> print(cache.n, longer.n)
    4 5
    """
    if cache is None:
        return KVCache(k, v)
    check_cache_goes_on(cache, k, v)
    return KVCache(torch.cat([cache.k, k], dim=-2), torch.cat([cache.v, v], dim=-2))


def cached_attention(
    q: Float[Tensor, "*batch n_q d_k"],
    k: Float[Tensor, "*batch n_q d_k"],
    v: Float[Tensor, "*batch n_q d_v"],
    cache: KVCache | None = None,
) -> tuple[Float[Tensor, "*batch n_q d_v"], Float[Tensor, "*batch n_q n_k"], KVCache]:
    r"""Compute causal attention for new tokens behind a cache.

    .. math:: o_t = \operatorname{Attention}(q_t,\; K_{1:t},\; V_{1:t})

    The causal mask is shifted by the length of the cache: the first new token is at position n,
    and may look at all n old ones and itself.

    Parameters
    ----------
    q, k : tensor, shape (..., n_q, d_k)
        Queries and keys of the new tokens.
    v : tensor, shape (..., n_q, d_v)
        Their values.
    cache : KVCache, optional
        Keys and values of the tokens before.

    Returns
    -------
    output : tensor, shape (..., n_q, d_v)
        One row for each new token.
    weights : tensor, shape (..., n_q, n_k)
        What each new token looks at; n_k counts old and new.
    cache : KVCache
        For the next call.

    See Also
    --------
    qkv.cached_attention : the same in numpy.

    References
    ----------
    Shazeer, "Fast transformer decoding: one write-head is all you need" (2019), section 2.4.

    Examples
    --------
    >>> import torch
    >>> from qkv import twins
    >>> q, k, v = torch.eye(3, 4), torch.ones(3, 4), torch.tensor([[1.0], [2], [3]])
    >>> whole, _ = twins.scaled_dot_product_attention(q, k, v, twins.causal_mask(3))
    >>> _, _, cache = twins.cached_attention(q[:2], k[:2], v[:2])
    >>> last, _, cache = twins.cached_attention(q[2:], k[2:], v[2:], cache)
    >>> print(whole[2].item() == last[0].item(), cache.n)
    True 3
    """
    longer = extend_cache(cache, k, v)
    n_q = k.shape[-2]
    mask = causal_mask(n_q, longer.n, offset=longer.n - n_q)
    output, weights = scaled_dot_product_attention(q, longer.k, longer.v, mask)
    return output, weights, longer
