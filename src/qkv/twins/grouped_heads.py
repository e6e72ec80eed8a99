"""Grouped heads: several heads ask, and share one set of keys and values."""

from jaxtyping import Bool, Float
from torch import Tensor

from qkv.twins.inputs import check_grouped
from qkv.twins.multi_head import (
    MultiHeadAttention,
    as_multi_head_mask,
    merge_heads,
    project_heads,
)
from qkv.twins.projections import project
from qkv.twins.scaled_dot_product import scaled_dot_product_attention


class GroupedMultiHeadAttention(MultiHeadAttention):
    """Multi-head attention with fewer heads of keys and values than of queries.

    Parameters
    ----------
    parameters : qkv.MultiHeadParameters
        W_K and W_V have n_kv_heads matrices, and n_kv_heads divides n_heads.

    References
    ----------
    Ainslie et al., "GQA: training generalized multi-query transformer models from multi-head
    checkpoints" (2023), section 2.2.

    Examples
    --------
    >>> import qkv, torch
    >>> from qkv import twins
    >>> ex = qkv.data.running_example()
    >>> one = qkv.MultiHeadParameters(ex.W_Q, ex.W_K[:1], ex.W_V[:1], ex.W_O)
    >>> layer = twins.GroupedMultiHeadAttention(one)
    >>> output, weights = layer(torch.tensor(ex.X_target), torch.tensor(ex.X_source))
    >>> print(layer.n_kv_heads, *output.shape, *weights.shape)
    1 7 8 3 7 5
    """

    def forward(
        self, X_q: Tensor, X_kv: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Return `grouped_multi_head_attention` with these parameters."""
        return grouped_multi_head_attention(X_q, X_kv, self, mask)


def repeat_kv_heads(
    x: Float[Tensor, "*batch n_kv_heads n d"], times: int
) -> Float[Tensor, "*batch {times}*n_kv_heads n d"]:
    r"""Repeat each head, one after the other: 0, 0, 0, 1, 1, 1 and never 0, 1, 0, 1, 0, 1.

    .. math:: y_h = x_{\lfloor h / \text{times} \rfloor}

    Parameters
    ----------
    x : tensor, shape (..., n_kv_heads, n, d)
        Keys or values.
    times : int
        How many heads share one.

    Returns
    -------
    repeated : tensor, shape (..., n_kv_heads * times, n, d)

    See Also
    --------
    qkv.repeat_kv_heads : the same in numpy.

    References
    ----------
    Ainslie et al., "GQA: training generalized multi-query transformer models from multi-head
    checkpoints" (2023), section 2.2 and figure 2.

    Examples
    --------
    >>> import torch
    >>> from qkv import twins
    >>> x = torch.tensor([[[0.0]], [[1.0]]])
    >>> print(twins.repeat_kv_heads(x, times=3).flatten().tolist())
    [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]
    """
    return x.repeat_interleave(times, dim=-3)


def grouped_attention(
    q: Float[Tensor, "*batch n_heads n_q d_k"],
    k: Float[Tensor, "*batch n_kv_heads n_k d_k"],
    v: Float[Tensor, "*batch n_kv_heads n_k d_v"],
    mask: Bool[Tensor, " ..."] | None = None,
) -> tuple[Float[Tensor, "*batch n_heads n_q d_v"], Float[Tensor, "*batch n_heads n_q n_k"]]:
    r"""Let head h of the queries look at head floor(h / times) of the keys and values.

    .. math:: o_h = \operatorname{Attention}(q_h, k_{\lfloor h/r \rfloor}, v_{\lfloor h/r \rfloor}),
        \qquad r = n_{\text{heads}} / n_{\text{kv heads}}

    Parameters
    ----------
    q : tensor, shape (..., n_heads, n_q, d_k)
        Each head's queries.
    k : tensor, shape (..., n_kv_heads, n_k, d_k)
        Keys, fewer heads of them; n_kv_heads divides n_heads.
    v : tensor, shape (..., n_kv_heads, n_k, d_v)
        Values, one head for each of the keys'.
    mask : bool tensor, broadcastable to (..., n_heads, n_q, n_k), optional
        True where the query may look.

    Returns
    -------
    output : tensor, shape (..., n_heads, n_q, d_v)
    weights : tensor, shape (..., n_heads, n_q, n_k)

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    ValueError
        If the mask is not bool.

    See Also
    --------
    qkv.grouped_attention : the same in numpy.

    References
    ----------
    Ainslie et al., "GQA: training generalized multi-query transformer models from multi-head
    checkpoints" (2023), section 2.2; Shazeer, "Fast transformer decoding: one write-head is all
    you need" (2019), section 3, for one head of keys and values.

    Examples
    --------
    >>> import torch
    >>> from qkv import twins
    >>> q, k, v = torch.ones(6, 3, 4), torch.ones(2, 5, 4), torch.ones(2, 5, 7)
    >>> output, weights = twins.grouped_attention(q, k, v)
    >>> print(*output.shape, *weights.shape)
    6 3 7 6 3 5
    """
    check_grouped(q, k)
    times = q.shape[-3] // k.shape[-3]
    return scaled_dot_product_attention(
        q, repeat_kv_heads(k, times), repeat_kv_heads(v, times), mask
    )


def grouped_multi_head_attention(
    X_q: Float[Tensor, "*batch n_q d_q"],
    X_kv: Float[Tensor, "*batch n_k d_kv"],
    parameters: MultiHeadAttention,
    mask: Bool[Tensor, " ..."] | None = None,
) -> tuple[Float[Tensor, "*batch n_q d_model"], Float[Tensor, "*batch n_heads n_q n_k"]]:
    r"""Compute multi-head attention with fewer heads of keys and values than of queries.

    .. math:: \operatorname{head}_i = \operatorname{Attention}\big(X_q W_Q^{(i)},
        X_{kv} W_K^{(\lfloor i/r \rfloor)}, X_{kv} W_V^{(\lfloor i/r \rfloor)}\big)

    Parameters
    ----------
    X_q : tensor, shape (..., n_q, d_q)
        The sequence that asks.
    X_kv : tensor, shape (..., n_k, d_kv)
        The sequence that is looked at.
    parameters : MultiHeadAttention
        With n_kv_heads a divisor of n_heads.
    mask : bool tensor, optional
        True where the query may look, with or without the heads' axis.

    Returns
    -------
    output : tensor, shape (..., n_q, d_model)
    weights : tensor, shape (..., n_heads, n_q, n_k)

    See Also
    --------
    qkv.grouped_multi_head_attention : the same in numpy.

    References
    ----------
    Ainslie et al., "GQA: training generalized multi-query transformer models from multi-head
    checkpoints" (2023), section 2.2.

    Examples
    --------
    >>> import qkv, torch
    >>> from qkv import twins
    >>> ex = qkv.data.running_example()
    >>> one = qkv.MultiHeadParameters(ex.W_Q, ex.W_K[:1], ex.W_V[:1], ex.W_O)
    >>> layer = twins.GroupedMultiHeadAttention(one)
    >>> X_target, X_source = torch.tensor(ex.X_target), torch.tensor(ex.X_source)
    >>> output, weights = twins.grouped_multi_head_attention(X_target, X_source, layer)
    >>> print(*output.shape, *weights.shape)
    7 8 3 7 5
    """
    mask = as_multi_head_mask(X_q, X_kv, parameters, mask)
    q = project_heads(X_q, parameters.W_Q, parameters.b_Q)
    k = project_heads(X_kv, parameters.W_K, parameters.b_K)
    v = project_heads(X_kv, parameters.W_V, parameters.b_V)
    heads, weights = grouped_attention(q, k, v, mask)
    return project(merge_heads(heads), parameters.W_O, parameters.b_O), weights
