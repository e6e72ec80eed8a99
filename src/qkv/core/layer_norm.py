"""LayerNorm: each row alone is moved to mean 0 and stretched to variance 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qkv.core.inputs import Array, as_norm_row, as_positive, as_rows_as_wide, check_kind

if TYPE_CHECKING:
    from jaxtyping import Float


@dataclass(frozen=True, eq=False)
class LayerNormParameters:
    """What LayerNorm learns: a factor and a summand for each column.

    Parameters
    ----------
    gain : array, shape (d_model,)
        Multiplies the normalised row; 1 at the start.
    shift : array, shape (d_model,)
        Is added to it; 0 at the start.
    epsilon : float, default 1e-5
        Added to the variance, so that a row of equal numbers does not divide by 0.

    Raises
    ------
    ShapeError
        If `gain` and `shift` are not rows of one width.
    ValueError
        If an entry is NaN or infinite, or `epsilon` is not above 0.
    """

    gain: Float[Array, " d_model"]
    shift: Float[Array, " d_model"]
    epsilon: float = 1e-5

    def __post_init__(self) -> None:  # noqa: D105
        object.__setattr__(self, "gain", as_norm_row("gain", self.gain))
        object.__setattr__(self, "shift", as_norm_row("shift", self.shift, self.gain))
        object.__setattr__(self, "epsilon", as_positive("epsilon", self.epsilon))

    @property
    def d_model(self) -> int:
        """Width of a row."""
        return self.gain.shape[0]


def layer_norm(
    X: Float[Array, "*rows d_model"], parameters: LayerNormParameters
) -> Float[Array, "*rows d_model"]:
    r"""Move each row to mean 0, stretch it to variance 1, then apply gain and shift.

    .. math:: \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}} \odot g + b, \qquad
        \mu = \frac{1}{d} \sum_c x_c, \quad \sigma^2 = \frac{1}{d} \sum_c (x_c - \mu)^2

    The means run over the columns of one row. No row sees another.

    Parameters
    ----------
    X : array, shape (..., d_model)
        One token a row.
    parameters : LayerNormParameters
        Gain, shift and epsilon.

    Returns
    -------
    normalised : array, shape (..., d_model)

    Raises
    ------
    ShapeError
        If the widths differ, or an axis has size 0.
    ValueError
        If an entry is NaN or infinite, or so large that a square could overflow.

    References
    ----------
    Ba, Kiros and Hinton, "Layer normalization" (2016), section 3, equation 3.

    Examples
    --------
    >>> import qkv
    >>> parameters = qkv.LayerNormParameters(gain=[1, 1, 1], shift=[0, 0, 10])
    >>> print(qkv.layer_norm([[1, 2, 3], [10, 20, 30]], parameters).round(2))
    [[-1.22  0.   11.22]
     [-1.22  0.   11.22]]
    """
    check_kind("parameters", parameters, LayerNormParameters)
    X = as_rows_as_wide("X", X, "gain", parameters.gain)
    mean = X.mean(axis=-1, keepdims=True)
    variance = np.mean((X - mean) ** 2, axis=-1, keepdims=True)
    normalised = (X - mean) / np.sqrt(variance + parameters.epsilon)
    return normalised * parameters.gain + parameters.shift


def rms_norm(
    X: Float[Array, "*rows d_model"], gain: Float[Array, " d_model"], epsilon: float = 1e-5
) -> Float[Array, "*rows d_model"]:
    r"""Divide each row by the root of its mean square: LayerNorm without the mean.

    .. math:: \frac{x}{\sqrt{\frac{1}{d} \sum_c x_c^2 + \epsilon}} \odot g

    Parameters
    ----------
    X : array, shape (..., d_model)
        One token a row.
    gain : array, shape (d_model,)
        Multiplies the normalised row.
    epsilon : float, default 1e-5
        Added to the mean square.

    Returns
    -------
    normalised : array, shape (..., d_model)

    Raises
    ------
    ShapeError
        If the widths differ, or an axis has size 0.
    ValueError
        If an entry is NaN or infinite, or `epsilon` is not above 0.

    References
    ----------
    Zhang and Sennrich, "Root mean square layer normalization" (2019), section 3, equation 4.

    Examples
    --------
    >>> import qkv
    >>> print(qkv.rms_norm([[3, 4], [30, 40]], gain=[1, 2]).round(3))
    [[0.849 2.263]
     [0.849 2.263]]
    """
    gain, epsilon = as_norm_row("gain", gain), as_positive("epsilon", epsilon)
    X = as_rows_as_wide("X", X, "gain", gain)
    mean_square = np.mean(X**2, axis=-1, keepdims=True)
    return X / np.sqrt(mean_square + epsilon) * gain
