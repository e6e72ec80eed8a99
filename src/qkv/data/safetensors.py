"""Weights in safetensors' format, as float16: eight bytes, a header in JSON, then the numbers."""

from __future__ import annotations

import json

import numpy as np


def read_safetensors(data: bytes) -> dict[str, np.ndarray]:
    """Return the float16 arrays of a file in safetensors' format, as float64.

    Eight bytes say how long the header is; the header says where each array lies.
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
