"""The feed-forward part: two matrices and a bend between them, for each row alone."""

from collections.abc import Callable
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from qkv import core
from qkv.twins.module import Twin, as_parameter
from qkv.twins.projections import project


def relu(x: Float[Tensor, "*any"]) -> Float[Tensor, "*any"]:
    r"""Keep what is positive and set the rest to 0.

    .. math:: \max(0, x)

    Parameters
    ----------
    x : tensor, any shape

    Returns
    -------
    y : tensor, same shape

    See Also
    --------
    qkv.relu : the same in numpy.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.3, equation 2.

    Examples
    --------
    >>> import torch
    >>> from qkv import twins
    >>> print(twins.relu(torch.tensor([-2.0, 0.0, 3.0])).numpy())
    [0. 0. 3.]
    """
    return torch.relu(x)


def gelu(x: Float[Tensor, "*any"]) -> Float[Tensor, "*any"]:
    r"""Multiply each number by the chance that a standard normal number is smaller.

    .. math:: x\, \Phi(x) = \frac{x}{2} \left(1 + \operatorname{erf} \frac{x}{\sqrt 2}\right)

    Parameters
    ----------
    x : tensor, any shape

    Returns
    -------
    y : tensor, same shape
        Exact, not the approximation by tanh.

    See Also
    --------
    qkv.gelu : the same in numpy.

    References
    ----------
    Hendrycks and Gimpel, "Gaussian error linear units" (2016), section 2.

    Examples
    --------
    >>> import torch
    >>> from qkv import twins
    >>> print(twins.gelu(torch.tensor([-2.0, 0.0, 3.0])).numpy().round(3))
    [-0.046  0.     2.996]
    """
    return functional.gelu(x)  # the exact one, by erf


ACTIVATIONS: dict[Callable, Callable] = {core.relu: relu, core.gelu: gelu}


class FeedForward(Twin):
    """The feed-forward part that learns.

    Parameters
    ----------
    parameters : qkv.FeedForwardParameters
        Where W_1 (d_model, d_ff), b_1, W_2 (d_ff, d_model) and b_2 start; the activation is
        core's relu or gelu.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.3, equation 2.

    Examples
    --------
    >>> import numpy as np, qkv, torch
    >>> from qkv import twins
    >>> W_1, W_2 = np.array([[1.0, -1.0]]), np.array([[1.0], [1.0]])
    >>> absolute = twins.FeedForward(qkv.FeedForwardParameters(W_1, None, W_2, None))
    >>> print(absolute(torch.tensor([[-3.0], [2.0]], dtype=torch.float64)).detach().numpy())
    [[3.]
     [2.]]
    """

    core_class = core.FeedForwardParameters
    settings = ("activation",)

    def __init__(self, parameters: core.FeedForwardParameters) -> None:
        super().__init__()
        if parameters.activation not in ACTIVATIONS:
            raise ValueError("the activation must be qkv.relu or qkv.gelu to have a twin")
        self.W_1 = as_parameter(parameters.W_1)
        self.b_1 = as_parameter(parameters.b_1)
        self.W_2 = as_parameter(parameters.W_2)
        self.b_2 = as_parameter(parameters.b_2)
        self.activation = ACTIVATIONS[parameters.activation]

    def forward(self, X: Tensor) -> Tensor:
        """Return `feed_forward` with these parameters."""
        return feed_forward(X, self)

    def to_core(self) -> core.FeedForwardParameters:
        """Return core's dataclass with copies of the numbers, and core's activation."""
        of_core = {twin: function for function, twin in ACTIVATIONS.items()}
        return replace(super().to_core(), activation=of_core[self.activation])


def feed_forward(
    X: Float[Tensor, "*rows d_model"], parameters: FeedForward
) -> Float[Tensor, "*rows d_model"]:
    r"""Widen each row, bend it, and bring it back.

    .. math:: f(X W_1 + b_1)\, W_2 + b_2

    Parameters
    ----------
    X : tensor, shape (..., d_model)
        One token a row; no row sees another.
    parameters : FeedForward
        Two matrices, two biases and the f of the equation.

    Returns
    -------
    output : tensor, shape (..., d_model)

    See Also
    --------
    qkv.feed_forward : the same in numpy.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.3, equation 2.

    Examples
    --------
    >>> import numpy as np, qkv, torch
    >>> from qkv import twins
    >>> W_1, W_2 = np.array([[1.0, -1.0]]), np.array([[1.0], [1.0]])
    >>> absolute = twins.FeedForward(qkv.FeedForwardParameters(W_1, None, W_2, None))
    >>> X = torch.tensor([[-5.0]], dtype=torch.float64)
    >>> print(twins.feed_forward(X, absolute).detach().numpy())
    [[5.]]
    """
    hidden = parameters.activation(project(X, parameters.W_1, parameters.b_1))
    return project(hidden, parameters.W_2, parameters.b_2)
