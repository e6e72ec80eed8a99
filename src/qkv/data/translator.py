"""The trained translator of chapter 16: 198,912 numbers, stored as float16 in safetensors' format.

``python -m qkv.experiments translator-weights`` trains it again and writes the file.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from qkv.core import (
    DecoderLayerParameters,
    EncoderLayerParameters,
    FeedForwardParameters,
    LayerNormParameters,
    MultiHeadParameters,
    TransformerParameters,
)
from qkv.data.safetensors import read_safetensors

PATH = Path(str(files("qkv.data").joinpath("translator.safetensors")))


@cache
def translator() -> TransformerParameters:
    """Return the trained translator: English to German and French, numbers and dates.

    Its ids are places in `translation_vocabulary`; one table serves both ends.

    Examples
    --------
    >>> import qkv
    >>> model = qkv.data.translator()
    >>> print(qkv.count_parameters(model), len(model.encoder), model.E_source.shape)
    198912 2 (258, 64)
    """
    return parameters_of(read_safetensors(PATH.read_bytes()))


def parameters_of(state: dict[str, np.ndarray]) -> TransformerParameters:
    """Return core's parameters from arrays named as in the twin's state dict."""

    def below(prefix: str) -> dict[str, Any]:
        return {n[len(prefix) :]: a for n, a in state.items() if n.startswith(prefix)}

    def heads(prefix: str) -> MultiHeadParameters:
        return MultiHeadParameters(**below(prefix))

    def norm(prefix: str) -> LayerNormParameters:
        return LayerNormParameters(**below(prefix))

    def hidden(prefix: str) -> FeedForwardParameters:
        return FeedForwardParameters(**below(prefix))

    def encoder_layer(at: str) -> EncoderLayerParameters:
        return EncoderLayerParameters(
            attention=heads(f"{at}attention."),
            norm_1=norm(f"{at}norm_1."),
            feed_forward=hidden(f"{at}feed_forward."),
            norm_2=norm(f"{at}norm_2."),
        )

    def decoder_layer(at: str) -> DecoderLayerParameters:
        return DecoderLayerParameters(
            self_attention=heads(f"{at}self_attention."),
            norm_1=norm(f"{at}norm_1."),
            cross_attention=heads(f"{at}cross_attention."),
            norm_2=norm(f"{at}norm_2."),
            feed_forward=hidden(f"{at}feed_forward."),
            norm_3=norm(f"{at}norm_3."),
        )

    E = state["E_source"]
    n_encoder, n_decoder = (
        1 + max(int(n.split(".")[1]) for n in state if n.startswith(stack))
        for stack in ("encoder.", "decoder.")
    )
    return TransformerParameters(
        E,
        E,
        tuple(encoder_layer(f"encoder.{i}.") for i in range(n_encoder)),
        tuple(decoder_layer(f"decoder.{i}.") for i in range(n_decoder)),
    )
