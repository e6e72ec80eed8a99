"""The feed-forward part: two matrices and a bend between them, for each row alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qkv.core.inputs import Array, as_floats, as_projection, check_feed_forward_fits, check_kind
from qkv.core.projections import project

if TYPE_CHECKING:
    from jaxtyping import Float


def relu(x: Float[Array, "*any"]) -> Float[Array, "*any"]:
    r"""Keep what is positive and set the rest to 0.

    .. math:: \max(0, x)

    Parameters
    ----------
    x : array, any shape

    Returns
    -------
    y : array, same shape

    Raises
    ------
    ShapeError
        If an axis has size 0.
    ValueError
        If an entry is NaN or infinite.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.3, equation 2.

    Examples
    --------
    >>> import qkv
    >>> print(qkv.relu([-2.0, 0.0, 3.0]))
    [0. 0. 3.]
    """
    x = as_floats("x", x)
    return np.maximum(x, 0.0)


def gelu(x: Float[Array, "*any"]) -> Float[Array, "*any"]:
    r"""Multiply each number by the chance that a standard normal number is smaller.

    .. math:: x\, \Phi(x) = \frac{x}{2} \left(1 + \operatorname{erf} \frac{x}{\sqrt 2}\right)

    Parameters
    ----------
    x : array, any shape

    Returns
    -------
    y : array, same shape
        Exact, not the approximation by tanh.

    Raises
    ------
    ShapeError
        If an axis has size 0.
    ValueError
        If an entry is NaN or infinite.

    References
    ----------
    Hendrycks and Gimpel, "Gaussian error linear units" (2016), section 2.

    Examples
    --------
    >>> import qkv
    >>> print(qkv.gelu([-2.0, 0.0, 3.0]).round(3))
    [-0.046  0.     2.996]
    """
    x = as_floats("x", x)
    erf = np.vectorize(math.erf, otypes=[x.dtype])
    return x * ((1.0 + erf(x / math.sqrt(2.0))) / 2.0)


@dataclass(frozen=True, eq=False)
class FeedForwardParameters:
    """What the feed-forward part learns, and the function between its two matrices.

    Parameters
    ----------
    W_1 : array, shape (d_model, d_ff)
        Widens each row.
    b_1 : array, shape (d_ff,), or None
        Its bias.
    W_2 : array, shape (d_ff, d_model)
        Brings each row back to its width.
    b_2 : array, shape (d_model,), or None
        Its bias.
    activation : function, default `relu`
        Applied to each number of the wide row; `gelu` is the other one here.

    Raises
    ------
    ShapeError
        If the shapes do not fit each other.
    ValueError
        If an entry is NaN or infinite, or the activation is not a function.
    """

    W_1: Float[Array, "d_model d_ff"]
    b_1: Float[Array, " d_ff"] | None
    W_2: Float[Array, "d_ff d_model"]
    b_2: Float[Array, " d_model"] | None
    activation: Callable[[Array], Array] = relu

    def __post_init__(self) -> None:  # noqa: D105
        object.__setattr__(self, "W_1", as_floats("W_1", self.W_1, "d_model d_ff", True))
        object.__setattr__(self, "W_2", as_floats("W_2", self.W_2, "d_ff d_model", True))
        for name in ("b_1", "b_2"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, as_floats(name, getattr(self, name)))
        check_feed_forward_fits(self)

    @property
    def d_model(self) -> int:
        """Width of a row."""
        return self.W_1.shape[0]

    @property
    def d_ff(self) -> int:
        """Width of the hidden row."""
        return self.W_1.shape[1]


def feed_forward(
    X: Float[Array, "*rows d_model"], parameters: FeedForwardParameters
) -> Float[Array, "*rows d_model"]:
    r"""Widen each row, bend it, and bring it back.

    .. math:: f(X W_1 + b_1)\, W_2 + b_2

    Parameters
    ----------
    X : array, shape (..., d_model)
        One token a row; no row sees another.
    parameters : FeedForwardParameters
        Two matrices, two biases and the f of the equation.

    Returns
    -------
    output : array, shape (..., d_model)

    Raises
    ------
    ShapeError
        If the widths differ, or an axis has size 0.
    ValueError
        If an entry is NaN or infinite, or a product could overflow.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.3, equation 2.

    Examples
    --------
    >>> import qkv
    >>> parameters = qkv.FeedForwardParameters(
    ...     W_1=[[1, -1, 0], [0, 0, 1]], b_1=[0, 0, -1], W_2=[[1, 0], [1, 0], [0, 1]], b_2=[0, 5]
    ... )
    >>> print(qkv.feed_forward([[-3, 2]], parameters))
    [[3. 6.]]
    """
    check_kind("parameters", parameters, FeedForwardParameters)
    X, W_1, b_1 = as_projection(X, parameters.W_1, parameters.b_1, "X W_1 b_1")
    hidden = parameters.activation(project(X, W_1, b_1))
    return project(hidden, parameters.W_2, parameters.b_2)
