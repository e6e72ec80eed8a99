"""Attention rollout: a guess, from the weights alone, at what the last rows are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from qkv.core.inputs import Array, as_weights_by_layer

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
