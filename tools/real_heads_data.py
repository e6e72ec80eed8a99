"""Write what the widget RealHeads shows: queries and keys of 72 heads on eight sentences.

    python tools/real_heads_data.py            # write src/qkv/widgets/static/real-heads-data.js
    python tools/real_heads_data.py --check    # say whether the committed file is fresh

Each query and each key is stored as 32 bytes and the size of one step (int8, one scale a row), so
the weights made from them are not quite the model's. The script prints the largest difference.
With them stand the length of what each value writes (|v W_O|), and, from the result of
qkv.experiments.real_heads, where each head looks over 360 sentences.
"""

import base64
import json
import sys
from pathlib import Path

import numpy as np

from qkv.core import project_heads, scaled_dot_product_attention, softmax, vector_length
from qkv.data import minilm
from qkv.experiments import load_result

OUT = Path(__file__).resolve().parent.parent / "src/qkv/widgets/static/real-heads-data.js"
SENTENCES = (
    "The bank by the river is not the bank in the town.",
    "She ate an apple.",
    "The cat saw the dog and ran.",
    "Anna paid Peter, and Peter thanked Anna.",
    "A rose is a rose is a rose.",
    "He said that he had paid.",
    "Who saw whom?",
    "Er sah sie nicht.",
)
MEASURES = ("previous", "next", "itself", "cls", "sep", "same", "other", "carried")


def quantised(x):
    """Return rows as int8 and the size of a step of each row, float32."""
    scale = (np.abs(x).max(axis=-1, keepdims=True) / 127).astype(np.float32)
    return np.round(x / scale).astype(np.int8), scale[..., 0]


def packed(model, text):
    """Return one sentence's tokens and bytes, and the largest error of a weight."""
    sentence = model.tokenize([text])
    rows = model.run(sentence).X
    codes, scales, lengths, errors = [], [], [], []
    for layer, X in zip(model.layers, rows, strict=False):
        heads, x = layer.attention, X[0]
        q = project_heads(x, heads.W_Q, heads.b_Q)
        k = project_heads(x, heads.W_K, heads.b_K)
        v = project_heads(x, heads.W_V, heads.b_V)
        (q_code, q_scale), (k_code, k_scale) = quantised(q), quantised(k)
        codes.append(np.stack([q_code, k_code], axis=1))  # (12, 2, n, 32)
        scales.append(np.stack([q_scale, k_scale], axis=1))  # (12, 2, n)
        lengths.append(vector_length(v @ heads.W_O.reshape(heads.n_heads, heads.d_v, -1)))
        near = (q_code * q_scale[..., None]) @ np.swapaxes(k_code * k_scale[..., None], -1, -2)
        exact = scaled_dot_product_attention(q, k, v)[1]
        errors.append(np.abs(softmax(near / np.sqrt(heads.d_k)) - exact).max())
    parts = {"codes": np.stack(codes), "scales": np.stack(scales), "lengths": np.stack(lengths)}
    parts["lengths"] = parts["lengths"].astype(np.float32)
    text_of = {name: base64.b64encode(part.tobytes()).decode() for name, part in parts.items()}
    return {"text": text, "tokens": sentence.tokens[0], **text_of}, max(errors)


def measures():
    """Return the mean of each measure over the folds, (6, 12) each, in per cent."""
    result = load_result("real_heads")
    found = {}
    for name in MEASURES:
        sums = np.zeros((6, 12))
        for row in result.rows:
            sums[row["layer"], row["head"]] += row[name] / len(result.seeds)
        found[name] = (100 * sums).round(1).tolist()
    return found


def content():
    """Return the script, and the largest error of a weight."""
    model = minilm()
    sentences, errors = zip(*(packed(model, text) for text in SENTENCES), strict=True)
    data = {"sentences": sentences, "looks": measures()}
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return f"(globalThis.qkvBook??={{}}).realHeads={text};\n", max(errors)


def main(arguments):
    """Write the file, or with --check compare it."""
    text, error = content()
    if arguments == ["--check"]:
        raise SystemExit(0 if OUT.read_text(encoding="utf-8") == text else f"stale: {OUT.name}")
    if arguments:
        raise SystemExit(__doc__)
    OUT.write_text(text, encoding="utf-8")
    print(f"{len(text.encode()):,} bytes; a weight differs from the model's by at most {error:.3f}")


if __name__ == "__main__":
    main(sys.argv[1:])
