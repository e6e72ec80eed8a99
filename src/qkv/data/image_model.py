"""The trained Vision Transformer of chapter 17: 14,002 numbers, stored as float16.

``python -m qkv.experiments weights images`` trains it again and writes the file.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from qkv.core import (
    EncoderLayerParameters,
    FeedForwardParameters,
    LayerNormParameters,
    MultiHeadParameters,
    VisionTransformerParameters,
)
from qkv.data.safetensors import read_safetensors

PATH = Path(str(files("qkv.data").joinpath("image_model.safetensors")))


@cache
def image_model() -> VisionTransformerParameters:
    """Return the trained Vision Transformer: digits of 8 by 8 pixels, patches of 2 by 2.

    Examples
    --------
    >>> import qkv
    >>> model = qkv.data.image_model()
    >>> print(qkv.count_parameters(model), len(model.layers), model.P.shape)
    14002 3 (17, 24)
    """
    return parameters_of(read_safetensors(PATH.read_bytes()))


def parameters_of(state: dict[str, np.ndarray]) -> VisionTransformerParameters:
    """Return core's parameters from arrays named as in the twin's state dict."""

    def below(prefix: str) -> dict[str, Any]:
        return {n[len(prefix) :]: a for n, a in state.items() if n.startswith(prefix)}

    def layer(at: str) -> EncoderLayerParameters:
        return EncoderLayerParameters(
            attention=MultiHeadParameters(**below(f"{at}attention.")),
            norm_1=LayerNormParameters(**below(f"{at}norm_1.")),
            feed_forward=FeedForwardParameters(**below(f"{at}feed_forward.")),
            norm_2=LayerNormParameters(**below(f"{at}norm_2.")),
        )

    n_layers = 1 + max(int(n.split(".")[1]) for n in state if n.startswith("layers."))
    names = ("W_E", "b_E", "x_class", "P", "W_R", "b_R")
    return VisionTransformerParameters(
        **{name: state[name] for name in names},
        layers=tuple(layer(f"layers.{i}.") for i in range(n_layers)),
        norm=LayerNormParameters(**below("norm.")),
    )
