"""LayerNorm: each row alone is moved to mean 0 and stretched to variance 1."""

import torch
from jaxtyping import Float
from torch import Tensor

from qkv import core
from qkv.twins.inputs import check_width
from qkv.twins.module import Twin, as_parameter


class LayerNorm(Twin):
    """LayerNorm that learns its gain and shift.

    Parameters
    ----------
    parameters : qkv.LayerNormParameters
        Where gain and shift (d_model,) start, and epsilon.

    References
    ----------
    Ba, Kiros and Hinton, "Layer normalization" (2016), section 3.

    Examples
    --------
    >>> import numpy as np, qkv, torch
    >>> from qkv import twins
    >>> norm = twins.LayerNorm(qkv.LayerNormParameters(gain=np.ones(4), shift=np.zeros(4)))
    >>> X = torch.tensor([[1.0, 2, 3, 4]], dtype=torch.float64)
    >>> print(norm(X).detach().numpy().round(3))
    [[-1.342 -0.447  0.447  1.342]]
    """

    core_class = core.LayerNormParameters
    settings = ("epsilon",)

    def __init__(self, parameters: core.LayerNormParameters) -> None:
        super().__init__()
        self.gain = as_parameter(parameters.gain)
        self.shift = as_parameter(parameters.shift)
        self.epsilon = parameters.epsilon

    def forward(self, X: Tensor) -> Tensor:
        """Return `layer_norm` with these parameters."""
        return layer_norm(X, self)


def layer_norm(
    X: Float[Tensor, "*rows d_model"], parameters: LayerNorm
) -> Float[Tensor, "*rows d_model"]:
    r"""Move each row to mean 0, stretch it to variance 1, then apply gain and shift.

    .. math:: \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}} \odot g + b, \qquad
        \mu = \frac{1}{d} \sum_c x_c, \quad \sigma^2 = \frac{1}{d} \sum_c (x_c - \mu)^2

    The means run over the columns of one row. No row sees another.

    Parameters
    ----------
    X : tensor, shape (..., d_model)
        One token a row.
    parameters : LayerNorm
        Gain, shift and epsilon.

    Returns
    -------
    normalised : tensor, shape (..., d_model)

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    See Also
    --------
    qkv.layer_norm : the same in numpy.

    References
    ----------
    Ba, Kiros and Hinton, "Layer normalization" (2016), section 3, equation 3.

    Examples
    --------
    >>> import numpy as np, qkv, torch
    >>> from qkv import twins
    >>> norm = twins.LayerNorm(qkv.LayerNormParameters(gain=np.ones(4), shift=np.zeros(4)))
    >>> X = torch.tensor([[10.0, 20, 30, 40]], dtype=torch.float64)
    >>> print(twins.layer_norm(X, norm).detach().numpy().round(3))
    [[-1.342 -0.447  0.447  1.342]]
    """
    check_width("X", X, "gain", parameters.gain)
    mean = X.mean(dim=-1, keepdim=True)
    variance = ((X - mean) ** 2).mean(dim=-1, keepdim=True)
    normalised = (X - mean) / torch.sqrt(variance + parameters.epsilon)
    return normalised * parameters.gain + parameters.shift


def rms_norm(
    X: Float[Tensor, "*rows d_model"], gain: Float[Tensor, " d_model"], epsilon: float = 1e-5
) -> Float[Tensor, "*rows d_model"]:
    r"""Divide each row by the root of its mean square: LayerNorm without the mean.

    .. math:: \frac{x}{\sqrt{\frac{1}{d} \sum_c x_c^2 + \epsilon}} \odot g

    Parameters
    ----------
    X : tensor, shape (..., d_model)
        One token a row.
    gain : tensor, shape (d_model,)
        Multiplies the normalised row.
    epsilon : float, default 1e-5
        Added to the mean square.

    Returns
    -------
    normalised : tensor, shape (..., d_model)

    Raises
    ------
    ShapeError
        If the shapes do not fit.

    See Also
    --------
    qkv.rms_norm : the same in numpy.

    References
    ----------
    Zhang and Sennrich, "Root mean square layer normalization" (2019), section 3, equation 4.

    Examples
    --------
    >>> import torch
    >>> from qkv import twins
    >>> print(twins.rms_norm(torch.tensor([[3.0, 4.0]]), torch.ones(2)).numpy().round(3))
    [[0.849 1.131]]
    """
    check_width("X", X, "gain", gain)
    mean_square = (X**2).mean(dim=-1, keepdim=True)
    return X / torch.sqrt(mean_square + epsilon) * gain
