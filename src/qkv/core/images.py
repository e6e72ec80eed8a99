"""Images: patches are tokens, one more row collects the answer, and the layers are the same."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from typing import TYPE_CHECKING

import numpy as np

from qkv.core.inputs import (
    Array,
    as_floats,
    as_images,
    as_layers,
    check_kind,
    check_rows_for_patches,
    check_vision_fits,
)
from qkv.core.layer import EncoderLayerParameters, encoder_layer_pre_norm
from qkv.core.layer_norm import LayerNormParameters, layer_norm
from qkv.core.projections import project

if TYPE_CHECKING:
    from jaxtyping import Bool, Float


@dataclass(frozen=True, eq=False)
class VisionTransformerParameters:
    """What a Vision Transformer learns.

    Parameters
    ----------
    W_E : array, shape (size * size, d_model)
        Turns the numbers of one patch, row by row, into a row of X.
    b_E : array, shape (d_model,)
        Its bias.
    x_class : array, shape (d_model,)
        The class token: a row that is the same for every image.
    P : array, shape (1 + n_patches, d_model)
        The position code: of the class token, then of the patches.
    layers : tuple of EncoderLayerParameters
        From the first layer to the last, pre-norm.
    norm : LayerNormParameters
        The LayerNorm behind the last layer.
    W_R : array, shape (d_model, n_classes)
        Reads the classes' scores from the class token's row.
    b_R : array, shape (n_classes,)
        Its bias.

    Raises
    ------
    ShapeError
        If the shapes do not fit each other, or the rows of W_E are not those of a square patch.
    ValueError
        If an entry is NaN or infinite.
    """

    W_E: Float[Array, "d_patch d_model"]
    b_E: Float[Array, " d_model"]
    x_class: Float[Array, " d_model"]
    P: Float[Array, "n d_model"]
    layers: tuple[EncoderLayerParameters, ...]
    norm: LayerNormParameters
    W_R: Float[Array, "d_model n_classes"]
    b_R: Float[Array, " n_classes"]

    def __post_init__(self) -> None:  # noqa: D105
        for name, axes in [
            ("W_E", "d_patch d_model"),
            ("b_E", "d_model"),
            ("x_class", "d_model"),
            ("P", "n d_model"),
            ("W_R", "d_model n_classes"),
            ("b_R", "n_classes"),
        ]:
            object.__setattr__(self, name, as_floats(name, getattr(self, name), axes, exactly=True))
        object.__setattr__(self, "layers", as_layers("layers", self.layers))
        check_kind("norm", self.norm, LayerNormParameters)
        check_vision_fits(self)

    @property
    def size(self) -> int:
        """Pixels along one side of a patch."""
        return isqrt(self.W_E.shape[0])

    @property
    def d_model(self) -> int:
        """Width of a row."""
        return self.W_E.shape[1]


def cut_patches(
    images: Float[Array, "*batch height width"], size: int
) -> Float[Array, "*batch n_patches d_patch"]:
    r"""Cut images into square patches: one patch a row, read as text is.

    .. math:: X_{rC + c,\; us + v} = \text{image}_{rs + u,\; cs + v}, \qquad
        C = \text{width} / s

    Parameters
    ----------
    images : array, shape (..., height, width)
        One number a pixel.
    size : int
        Pixels along one side of a patch, s.

    Returns
    -------
    X : array, shape (..., n_patches, size * size)
        Patches from left to right, then downwards; the pixels of each in the same order.

    Raises
    ------
    ShapeError
        If the height or the width is no multiple of `size`.
    ValueError
        If `size` is not an integer of at least 1, or a pixel is NaN or infinite.

    References
    ----------
    Dosovitskiy et al., "An image is worth 16x16 words" (2021), section 3.1.

    Examples
    --------
    >>> import numpy as np
    >>> import qkv
    >>> print(qkv.cut_patches(np.arange(12).reshape(2, 6), size=2))
    [[ 0.  1.  6.  7.]
     [ 2.  3.  8.  9.]
     [ 4.  5. 10. 11.]]
    """
    images, size = as_images(images, size)
    *batch, height, width = images.shape
    cut = images.reshape(*batch, height // size, size, width // size, size)
    return np.swapaxes(cut, -3, -2).reshape(*batch, -1, size * size)


def image_tokens(
    images: Float[Array, "*batch height width"], parameters: VisionTransformerParameters
) -> Float[Array, "*batch n d_model"]:
    r"""Return the first X of an image: the class token's row, then one row a patch.

    .. math:: X = \begin{pmatrix} x_{\text{class}} \\ \text{patches}\, W_E + b_E \end{pmatrix} + P

    Parameters
    ----------
    images : array, shape (..., height, width)
        One number a pixel.
    parameters : VisionTransformerParameters
        What the model learned.

    Returns
    -------
    X : array, shape (..., 1 + n_patches, d_model)

    Raises
    ------
    ShapeError
        If the image does not have as many patches as P has rows for, or cannot be cut.
    ValueError
        If a pixel is NaN or infinite, or a product could overflow.

    References
    ----------
    Dosovitskiy et al., "An image is worth 16x16 words" (2021), equation 1.

    Examples
    --------
    >>> import qkv
    >>> model = qkv.data.image_model()
    >>> image = qkv.data.digits().images[0]
    >>> print(image.shape, qkv.image_tokens(image, model).shape)
    (8, 8) (17, 24)
    """
    check_kind("parameters", parameters, VisionTransformerParameters)
    patches = cut_patches(images, parameters.size)
    check_rows_for_patches(parameters.P, patches)
    embedded = project(patches, parameters.W_E, parameters.b_E)
    first = np.broadcast_to(parameters.x_class, (*embedded.shape[:-2], 1, parameters.d_model))
    return np.concatenate([first, embedded], axis=-2) + parameters.P


def vision_transformer(
    images: Float[Array, "*batch height width"],
    parameters: VisionTransformerParameters,
    mask: Bool[Array, " ..."] | None = None,
) -> tuple[Float[Array, "*batch n_classes"], tuple[Float[Array, "*batch _ n n"], ...]]:
    r"""Score the classes of an image: an encoder over its patches, read at the class token.

    .. math:: \operatorname{LN}\big(\operatorname{encoder}(X)_0\big)\, W_R + b_R

    Parameters
    ----------
    images : array, shape (..., height, width)
        One number a pixel.
    parameters : VisionTransformerParameters
        What the model learned.
    mask : bool array, optional
        True where the query may look, for the class token and the patches; the same for every
        layer.

    Returns
    -------
    scores : array, shape (..., n_classes)
    weights : tuple of arrays, each of shape (..., n_heads, 1 + n_patches, 1 + n_patches)
        One for each layer.

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    ValueError
        If the mask is not bool, a pixel is NaN or infinite, or a product could overflow.

    References
    ----------
    Dosovitskiy et al., "An image is worth 16x16 words" (2021), equations 1 to 4.

    Examples
    --------
    >>> import qkv
    >>> digits = qkv.data.digits()
    >>> scores, weights = qkv.vision_transformer(digits.images[:2], qkv.data.image_model())
    >>> print(scores.argmax(-1), digits.labels[:2], [w.shape for w in weights])
    [0 1] [0 1] [(2, 3, 17, 17), (2, 3, 17, 17), (2, 3, 17, 17)]
    """
    X = image_tokens(images, parameters)
    weights_by_layer = []
    for layer in parameters.layers:
        X, weights = encoder_layer_pre_norm(X, layer, mask)
        weights_by_layer.append(weights)
    first = layer_norm(X[..., 0, :], parameters.norm)
    return project(first, parameters.W_R, parameters.b_R), tuple(weights_by_layer)
