"""Weights read as an explanation: rollout, lengths of what is written, and what weights hide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from qkv.core.inputs import Array, as_floats, as_weights_and_values, as_weights_by_layer

if TYPE_CHECKING:
    from jaxtyping import Float


def attention_rollout(
    weights_by_layer: Sequence[Float[Array, "*batch _ n n"]],
) -> Float[Array, "*batch n n"]:
    r"""Follow the weights down through the layers, half of every step staying where it is.

    .. math:: R_0 = I, \qquad R_l = \left(\tfrac12 I + \tfrac12 \bar W_l\right) R_{l-1},
        \qquad \bar W_l = \frac{1}{h} \sum_i W_l^{(i)}

    The half stands for the residual stream. Values, W_O and the feed-forward parts are left out,
    so this is a picture of the weights and not of what flows.

    Parameters
    ----------
    weights_by_layer : sequence of arrays, each of shape (..., n_heads, n, n)
        Weights of self-attention, first layer first.

    Returns
    -------
    rollout : array, shape (..., n, n)
        Row t: the share of each first token in token t of the last layer. Rows sum to 1.

    Raises
    ------
    ShapeError
        If there is no layer, or the arrays are not square and of one size.
    ValueError
        If an entry is NaN or infinite.

    References
    ----------
    Abnar and Zuidema, "Quantifying attention flow in transformers" (2020), section 3,
    equation 1.

    Examples
    --------
    >>> import qkv
    >>> print(qkv.attention_rollout([[[[1.0, 0.0], [1.0, 0.0]]], [[[1.0, 0.0], [0.0, 1.0]]]]))
    [[1.  0. ]
     [0.5 0.5]]
    """
    layers = as_weights_by_layer(weights_by_layer)
    n = layers[0].shape[-1]
    stay = np.eye(n, dtype=layers[0].dtype)
    rollout = stay
    for weights in layers:
        step = 0.5 * stay + 0.5 * weights.mean(axis=-3)
        rollout = step @ rollout
    return rollout


def weighted_value_norms(
    weights: Float[Array, "*batch n_heads n_q n_k"],
    v: Float[Array, "*batch n_heads n_k d_v"],
    W_O: Float[Array, "n_heads*d_v d_model"],
) -> Float[Array, "*batch n_q n_k"]:
    r"""Measure what each key writes into each query's row: weight and value together.

    .. math:: N_{tj} = \Bigl\| \sum_i w_{tj}^{(i)}\, v_j^{(i)} W_O^{(i)} \Bigr\|

    A key with a large weight and a value near zero writes nothing, and heads that write against
    each other cancel. The length says how much is written, not whether anything reads it.

    Parameters
    ----------
    weights : array, shape (..., n_heads, n_q, n_k)
        Attention weights of one layer.
    v : array, shape (..., n_heads, n_k, d_v)
        The values of its heads.
    W_O : array, shape (n_heads * d_v, d_model)
        The matrix that writes.

    Returns
    -------
    norms : array, shape (..., n_q, n_k)
        One length for each query and key.

    Raises
    ------
    ShapeError
        If the shapes do not fit, or an axis has size 0.
    ValueError
        If an entry is NaN or infinite, or a product could overflow.

    References
    ----------
    Kobayashi et al., "Attention is not only a weight" (2020), section 3 and equation 4.

    Examples
    --------
    >>> import qkv
    >>> weights = [[[0.9, 0.1]], [[0.5, 0.5]]]
    >>> v = [[[0.0], [3.0]], [[0.0], [4.0]]]
    >>> print(qkv.weighted_value_norms(weights, v, [[1.0, 0.0], [0.0, 1.0]]).round(2))
    [[0.   2.02]]
    """
    weights, v, W_O = as_weights_and_values(weights, v, W_O)
    n_heads, _, d_v = v.shape[-3:]
    writes = v @ W_O.reshape(n_heads, d_v, -1)
    return np.linalg.norm(np.einsum("...htj,...hjd->...tjd", weights, writes), axis=-1)


def same_output_directions(v: Float[Array, "n_k d_v"]) -> Float[Array, "n_free n_k"]:
    r"""Return the directions in which a row of weights can move while the output stays.

    .. math:: \{\, d : \; d V = 0, \; d \mathbf{1} = 0 \,\}, \qquad
        n_{free} = n_k - \operatorname{rank}[\,V \; \mathbf{1}\,] \ge n_k - d_v - 1

    The weights are a mean of values with :math:`n_k` unknowns, and the output has only
    :math:`d_v` numbers. With more keys than :math:`d_v + 1` the output cannot tell the weights.

    Parameters
    ----------
    v : array, shape (n_k, d_v)
        The values of one head.

    Returns
    -------
    directions : array, shape (n_free, n_k)
        An orthonormal basis; no rows where the weights are determined.

    Raises
    ------
    ShapeError
        If v has not two axes, or an axis has size 0.
    ValueError
        If an entry is NaN or infinite.

    References
    ----------
    Brunner et al., "On identifiability in transformers" (2020), section 3.

    Examples
    --------
    >>> import numpy as np, qkv
    >>> v = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [1.0, 0.0]])
    >>> directions = qkv.same_output_directions(v)
    >>> directions.shape, bool(np.abs(directions @ v).max() < 1e-12)
    ((1, 4), True)
    """
    v = as_floats("v", v, "n_k d_v", exactly=True)
    largest = max(float(np.abs(v).max()), np.finfo(v.dtype).tiny)
    wide = np.promote_types(v.dtype, np.float32)  # no decomposition in half precision
    conditions = np.hstack([v / largest, np.ones((len(v), 1))]).astype(wide)
    U, sizes, _ = np.linalg.svd(conditions)
    rank = int((sizes > 100 * len(v) * np.finfo(wide).eps * sizes[0]).sum())
    return U[:, rank:].T.astype(v.dtype)
