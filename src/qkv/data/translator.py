"""The trained translator of chapter 16: 198,912 numbers, stored as float16 in safetensors' format.

``python -m qkv.experiments translator-weights`` trains it again and writes the file.
"""

from __future__ import annotations

import json
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


def read_safetensors(data: bytes) -> dict[str, np.ndarray]:
    """Return the float16 arrays of a file in safetensors' format, as float64.

    Eight bytes say how long the header is; the header is JSON and says where each array lies.
    """
    length = int.from_bytes(data[:8], "little")
    header, body = json.loads(data[8 : 8 + length]), data[8 + length :]
    header.pop("__metadata__", None)
    found = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        numbers = np.frombuffer(body[begin:end], "<f2").astype(np.float64)
        found[name] = numbers.reshape(entry["shape"])
        found[name].flags.writeable = False
    return found


def write_safetensors(arrays: dict[str, np.ndarray]) -> bytes:
    """Return arrays as a file in safetensors' format, rounded to float16."""
    header, body = {}, b""
    for name, array in sorted(arrays.items()):
        part = np.ascontiguousarray(array, "<f2").tobytes()
        header[name] = {
            "dtype": "F16",
            "shape": list(array.shape),
            "data_offsets": [len(body), len(body) + len(part)],
        }
        body += part
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + body


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
