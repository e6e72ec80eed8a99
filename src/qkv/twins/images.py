"""Images: patches are tokens, one more row collects the answer, and the layers are the same."""

from math import isqrt

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from qkv import core
from qkv.twins.layer import EncoderLayerPreNorm
from qkv.twins.layer_norm import LayerNorm, layer_norm
from qkv.twins.module import Twin, as_parameter
from qkv.twins.projections import project
from qkv.twins.transformer import Encoder


class VisionTransformer(Twin):
    """A Vision Transformer that learns: patches, a class token, pre-norm layers.

    Parameters
    ----------
    parameters : qkv.VisionTransformerParameters
        Where its parts start.

    References
    ----------
    Dosovitskiy et al., "An image is worth 16x16 words" (2021), section 3.1 and figure 1.

    Examples
    --------
    >>> import qkv, torch
    >>> from qkv import twins
    >>> model = twins.VisionTransformer(qkv.data.image_model()).float()
    >>> scores, weights = model(torch.ones(5, 8, 8))
    >>> print(*scores.shape, len(weights))
    5 10 3
    """

    core_class = core.VisionTransformerParameters

    def __init__(self, parameters: core.VisionTransformerParameters) -> None:
        super().__init__()
        self.W_E = as_parameter(parameters.W_E)
        self.b_E = as_parameter(parameters.b_E)
        self.x_class = as_parameter(parameters.x_class)
        self.P = as_parameter(parameters.P)
        self.layers = Encoder(EncoderLayerPreNorm(layer) for layer in parameters.layers)
        self.norm = LayerNorm(parameters.norm)
        self.W_R = as_parameter(parameters.W_R)
        self.b_R = as_parameter(parameters.b_R)

    def forward(
        self, images: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Return `vision_transformer` with these parameters."""
        return vision_transformer(images, self, mask)


def cut_patches(
    images: Float[Tensor, "*batch height width"], size: int
) -> Float[Tensor, "*batch n_patches d_patch"]:
    r"""Cut images into square patches: one patch a row, read as text is.

    .. math:: X_{rC + c,\; us + v} = \text{image}_{rs + u,\; cs + v}, \qquad
        C = \text{width} / s

    Parameters
    ----------
    images : tensor, shape (..., height, width)
        One number a pixel.
    size : int
        Pixels along one side of a patch, s.

    Returns
    -------
    X : tensor, shape (..., n_patches, size * size)
        Patches from left to right, then downwards; the pixels of each in the same order.

    See Also
    --------
    qkv.cut_patches : the same in numpy.

    References
    ----------
    Dosovitskiy et al., "An image is worth 16x16 words" (2021), section 3.1.

    Examples
    --------
    >>> import torch
    >>> from qkv import twins
    >>> print(twins.cut_patches(torch.arange(12).reshape(2, 6), size=2).numpy())
    [[ 0  1  6  7]
     [ 2  3  8  9]
     [ 4  5 10 11]]
    """
    *batch, height, width = images.shape
    cut = images.reshape(*batch, height // size, size, width // size, size)
    return cut.transpose(-3, -2).reshape(*batch, -1, size * size)


def image_tokens(
    images: Float[Tensor, "*batch height width"], parameters: VisionTransformer
) -> Float[Tensor, "*batch n d_model"]:
    r"""Return the first X of an image: the class token's row, then one row a patch.

    .. math:: X = \begin{pmatrix} x_{\text{class}} \\ \text{patches}\, W_E + b_E \end{pmatrix} + P

    Parameters
    ----------
    images : tensor, shape (..., height, width)
        One number a pixel.
    parameters : VisionTransformer
        What the model learned.

    Returns
    -------
    X : tensor, shape (..., 1 + n_patches, d_model)

    See Also
    --------
    qkv.image_tokens : the same in numpy.

    References
    ----------
    Dosovitskiy et al., "An image is worth 16x16 words" (2021), equation 1.

    Examples
    --------
    >>> import qkv, torch
    >>> from qkv import twins
    >>> model = twins.VisionTransformer(qkv.data.image_model())
    >>> print(*twins.image_tokens(torch.ones(5, 8, 8).double(), model).shape)
    5 17 24
    """
    patches = cut_patches(images, isqrt(parameters.W_E.shape[0]))
    embedded = project(patches, parameters.W_E, parameters.b_E)
    first = parameters.x_class.expand(*embedded.shape[:-2], 1, -1)
    return torch.cat([first, embedded], dim=-2) + parameters.P


def vision_transformer(
    images: Float[Tensor, "*batch height width"],
    parameters: VisionTransformer,
    mask: Bool[Tensor, " ..."] | None = None,
) -> tuple[Float[Tensor, "*batch n_classes"], tuple[Float[Tensor, "*batch _ n n"], ...]]:
    r"""Score the classes of an image: an encoder over its patches, read at the class token.

    .. math:: \operatorname{LN}\big(\operatorname{encoder}(X)_0\big)\, W_R + b_R

    Parameters
    ----------
    images : tensor, shape (..., height, width)
        One number a pixel.
    parameters : VisionTransformer
        What the model learned.
    mask : bool tensor, optional
        True where the query may look, for the class token and the patches; the same for every
        layer.

    Returns
    -------
    scores : tensor, shape (..., n_classes)
    weights : tuple of tensors, each of shape (..., n_heads, 1 + n_patches, 1 + n_patches)
        One for each layer.

    See Also
    --------
    qkv.vision_transformer : the same in numpy.

    References
    ----------
    Dosovitskiy et al., "An image is worth 16x16 words" (2021), equations 1 to 4.

    Examples
    --------
    >>> import qkv, torch
    >>> from qkv import twins
    >>> model = twins.VisionTransformer(qkv.data.image_model())
    >>> image = torch.tensor(qkv.data.digits().images[3])
    >>> scores, _ = twins.vision_transformer(image, model)
    >>> print(int(scores.argmax()))
    3
    """
    output, weights = parameters.layers(image_tokens(images, parameters), mask)
    first = layer_norm(output[..., 0, :], parameters.norm)
    return project(first, parameters.W_R, parameters.b_R), weights
