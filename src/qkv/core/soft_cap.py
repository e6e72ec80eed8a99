"""A soft cap: scores that bend before they grow too large."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from qkv.core.inputs import Array, as_attention_inputs, as_divisor, as_floats
from qkv.core.scores import attention_from_scores

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


def soft_cap(scores: Float[Array, "*rows"], cap: float) -> Float[Array, "*rows"]:
    r"""Bend scores so that none passes `cap`: near 0 nothing changes, far out they flatten.

    .. math:: c \tanh(s / c)

    Parameters
    ----------
    scores : array, any shape
        Finite scores. Cap first and mask afterwards: a capped -inf would be -cap, a key like
        any other.
    cap : float
        The bound, the c of the equation.

    Returns
    -------
    capped : array, same shape
        Between -cap and cap.

    Raises
    ------
    ShapeError
        If an axis has size 0.
    ValueError
        If a score is NaN or infinite, or the cap is not above 0 or far too small.

    References
    ----------
    Gemma Team, "Gemma 2: improving open language models at a practical size" (2024), section 2,
    "Logit soft-capping".

    Examples
    --------
    >>> import qkv
    >>> print(qkv.soft_cap([-500.0, 0.1, 1.0, 10.0], cap=2.0).round(3))
    [-2.     0.1    0.924  2.   ]
    """
    scores = as_floats("scores", scores)
    cap = as_divisor("cap", cap, "scores", scores)
    return cap * np.tanh(scores / cap)


def soft_capped_attention(
    q: Float[Array, "*batch n_q d_k"],
    k: Float[Array, "*batch n_k d_k"],
    v: Float[Array, "*batch n_k d_v"],
    cap: float,
    mask: Bool[Array, " ..."] | None = None,
) -> tuple[Float[Array, "*batch n_q d_v"], Float[Array, "*batch n_q n_k"]]:
    r"""Compute attention whose scaled scores are capped before the mask and the softmax.

    .. math:: \operatorname{softmax}\!\left(c \tanh \frac{Q K^\top}{c \sqrt{d_k}}\right) V

    Parameters
    ----------
    q : array, shape (..., n_q, d_k)
        Queries, one a row.
    k : array, shape (..., n_k, d_k)
        Keys, as wide as the queries.
    v : array, shape (..., n_k, d_v)
        Values, one for each key.
    cap : float
        The bound on a score, the c of the equation.
    mask : bool array, broadcastable to (..., n_q, n_k), optional
        True where the query may look.

    Returns
    -------
    output : array, shape (..., n_q, d_v)
        One row for each query; zeros for a query that may look at nothing.
    weights : array, shape (..., n_q, n_k)
        No two allowed weights of a row differ by more than a factor of exp(2 cap).

    Raises
    ------
    ShapeError
        If the shapes do not fit, or an axis has size 0.
    ValueError
        If the mask is not bool, an entry is NaN or infinite, or the cap is not above 0.

    References
    ----------
    Gemma Team, "Gemma 2: improving open language models at a practical size" (2024), section 2,
    "Logit soft-capping".

    Examples
    --------
    >>> import qkv
    >>> _, weights = qkv.soft_capped_attention([[900, 0]], [[1, 0], [0, 1]], [[1], [2]], cap=1.0)
    >>> print(weights.round(3))
    [[0.731 0.269]]
    """
    q, k, v, mask = as_attention_inputs(q, k, v, mask)
    scaled = q @ np.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1])
    return attention_from_scores(soft_cap(scaled, cap), v, mask)
