"""Grouped heads: several heads ask, and share one set of keys and values.

With one set for all it is multi-query attention; with as many as heads it is multi-head.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from qkv.core.inputs import (
    Array,
    as_floats,
    as_grouped_inputs,
    as_kv_head_count,
    as_size,
    check_kind,
)
from qkv.core.multi_head import (
    MultiHeadParameters,
    as_multi_head_inputs,
    merge_heads,
    project_heads,
)
from qkv.core.projections import project
from qkv.core.scaled_dot_product import scaled_dot_product_attention

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


def repeat_kv_heads(
    x: Float[Array, "*batch n_kv_heads n d"], times: int
) -> Float[Array, "*batch {times}*n_kv_heads n d"]:
    r"""Repeat each head, one after the other: 0, 0, 0, 1, 1, 1 and never 0, 1, 0, 1, 0, 1.

    .. math:: y_h = x_{\lfloor h / \text{times} \rfloor}

    Parameters
    ----------
    x : array, shape (..., n_kv_heads, n, d)
        Keys or values.
    times : int
        How many heads share one.

    Returns
    -------
    repeated : array, shape (..., n_kv_heads * times, n, d)

    Raises
    ------
    ShapeError
        If `x` has fewer than three axes, or an axis of size 0.
    ValueError
        If `times` is not an integer of at least 1.

    References
    ----------
    Ainslie et al., "GQA: training generalized multi-query transformer models from multi-head
    checkpoints" (2023), section 2.2 and figure 2.

    Examples
    --------
    >>> import qkv
    >>> print(qkv.repeat_kv_heads([[[1, 2]], [[3, 4]]], times=3)[:, 0, 0])
    [1. 1. 1. 3. 3. 3.]
    """
    x, times = as_floats("x", x, "n_kv_heads n d"), as_size("times", times)
    return np.repeat(x, times, axis=-3)


def grouped_attention(
    q: Float[Array, "*batch n_heads n_q d_k"],
    k: Float[Array, "*batch n_kv_heads n_k d_k"],
    v: Float[Array, "*batch n_kv_heads n_k d_v"],
    mask: Bool[Array, " ..."] | None = None,
) -> tuple[Float[Array, "*batch n_heads n_q d_v"], Float[Array, "*batch n_heads n_q n_k"]]:
    r"""Let head h of the queries look at head floor(h / times) of the keys and values.

    .. math:: o_h = \operatorname{Attention}(q_h, k_{\lfloor h/r \rfloor}, v_{\lfloor h/r \rfloor}),
        \qquad r = n_{\text{heads}} / n_{\text{kv heads}}

    Parameters
    ----------
    q : array, shape (..., n_heads, n_q, d_k)
        Each head's queries.
    k : array, shape (..., n_kv_heads, n_k, d_k)
        Keys, fewer heads of them; n_kv_heads divides n_heads.
    v : array, shape (..., n_kv_heads, n_k, d_v)
        Values, one head for each of the keys'.
    mask : bool array, broadcastable to (..., n_heads, n_q, n_k), optional
        True where the query may look.

    Returns
    -------
    output : array, shape (..., n_heads, n_q, d_v)
    weights : array, shape (..., n_heads, n_q, n_k)

    Raises
    ------
    ShapeError
        If n_kv_heads does not divide n_heads, or the shapes do not fit.
    ValueError
        If the mask is not bool, an entry is NaN or infinite, or a score could overflow.

    References
    ----------
    Ainslie et al., "GQA: training generalized multi-query transformer models from multi-head
    checkpoints" (2023), section 2.2; Shazeer, "Fast transformer decoding: one write-head is all
    you need" (2019), section 3, for one head of keys and values.

    Examples
    --------
    >>> import numpy as np
    >>> import qkv
    >>> q, k, v = np.ones((6, 3, 4)), np.ones((2, 5, 4)), np.ones((2, 5, 7))
    >>> output, weights = qkv.grouped_attention(q, k, v)
    >>> print(output.shape, weights.shape)
    (6, 3, 7) (6, 3, 5)
    """
    q, k, v, times = as_grouped_inputs(q, k, v)
    return scaled_dot_product_attention(
        q, repeat_kv_heads(k, times), repeat_kv_heads(v, times), mask
    )


def grouped_multi_head_attention(
    X_q: Float[Array, "*batch n_q d_q"],
    X_kv: Float[Array, "*batch n_k d_kv"],
    parameters: MultiHeadParameters,
    mask: Bool[Array, " ..."] | None = None,
) -> tuple[Float[Array, "*batch n_q d_model"], Float[Array, "*batch n_heads n_q n_k"]]:
    r"""Compute multi-head attention with fewer heads of keys and values than of queries.

    .. math:: \operatorname{head}_i = \operatorname{Attention}\big(X_q W_Q^{(i)},
        X_{kv} W_K^{(\lfloor i/r \rfloor)}, X_{kv} W_V^{(\lfloor i/r \rfloor)}\big)

    Parameters
    ----------
    X_q : array, shape (..., n_q, d_q)
        The sequence that asks.
    X_kv : array, shape (..., n_k, d_kv)
        The sequence that is looked at.
    parameters : MultiHeadParameters
        With n_kv_heads a divisor of n_heads.
    mask : bool array, optional
        True where the query may look, with or without the heads' axis.

    Returns
    -------
    output : array, shape (..., n_q, d_model)
    weights : array, shape (..., n_heads, n_q, n_k)

    Raises
    ------
    ShapeError
        If the shapes do not fit, or an axis has size 0.
    ValueError
        If the mask is not bool, an entry is NaN or infinite, or a product could overflow.

    References
    ----------
    Ainslie et al., "GQA: training generalized multi-query transformer models from multi-head
    checkpoints" (2023), section 2.2.

    Examples
    --------
    >>> import qkv
    >>> ex = qkv.data.running_example()
    >>> multi_query = qkv.MultiHeadParameters(ex.W_Q, ex.W_K[:1], ex.W_V[:1], ex.W_O)
    >>> output, weights = qkv.grouped_multi_head_attention(ex.X_target, ex.X_source, multi_query)
    >>> print(output.shape, weights.shape)
    (7, 8) (3, 7, 5)
    """
    X_q, X_kv, mask = as_multi_head_inputs(X_q, X_kv, parameters, mask, grouped=True)
    q = project_heads(X_q, parameters.W_Q, parameters.b_Q)
    k = project_heads(X_kv, parameters.W_K, parameters.b_K)
    v = project_heads(X_kv, parameters.W_V, parameters.b_V)
    heads, weights = grouped_attention(q, k, v, mask)
    return project(merge_heads(heads), parameters.W_O, parameters.b_O), weights


def pool_kv_heads(parameters: MultiHeadParameters, n_kv_heads: int) -> MultiHeadParameters:
    r"""Make grouped heads of separate ones: each group keeps the mean of its keys' matrices.

    .. math:: \bar W_K^{(g)} = \frac{1}{r} \sum_{i = gr}^{gr + r - 1} W_K^{(i)}, \qquad
        \bar W_V^{(g)} = \frac{1}{r} \sum_{i = gr}^{gr + r - 1} W_V^{(i)}

    Parameters
    ----------
    parameters : MultiHeadParameters
        What there is; its queries and W_O stay as they are.
    n_kv_heads : int
        How many heads of keys and values to keep; a divisor of those there are.

    Returns
    -------
    grouped : MultiHeadParameters
        Neighbouring heads share a group, as `repeat_kv_heads` gives them out.

    Raises
    ------
    ValueError
        If `n_kv_heads` does not divide the number of heads of W_K.

    References
    ----------
    Ainslie et al., "GQA: training generalized multi-query transformer models from multi-head
    checkpoints" (2023), sections 2.1 and 2.2; there the model is trained on for a while after.

    Examples
    --------
    >>> import qkv
    >>> ex = qkv.data.running_example()
    >>> separate = qkv.MultiHeadParameters(ex.W_Q, ex.W_K, ex.W_V, ex.W_O)
    >>> shared = qkv.pool_kv_heads(separate, n_kv_heads=1)
    >>> print(shared.W_Q.shape, shared.W_K.shape, shared.W_V.shape)
    (3, 8, 4) (1, 8, 4) (1, 8, 2)
    """
    check_kind("parameters", parameters, MultiHeadParameters)
    n = as_kv_head_count(n_kv_heads, parameters.n_kv_heads)
    pooled = {}
    for name in ("W_K", "W_V", "b_K", "b_V"):
        stack = getattr(parameters, name)
        if stack is not None:
            pooled[name] = stack.reshape(n, -1, *stack.shape[1:]).mean(axis=1)
    return replace(parameters, **pooled)
