"""Cut the vocabulary, and five columns of the embedding table, out of a real model.

    python tools/word_pieces.py            # write the files
    python tools/word_pieces.py --check    # say whether the committed files are fresh

It writes src/qkv/data/word_pieces.npz for Python, and src/qkv/widgets/static/word-pieces.js, the
same numbers as a classic script, which a page loads on the reader's first action (a script, since a
page opened from disk may not fetch). In the script each number is two characters: thousandths plus
SHIFT, in base 57, counted from "#".
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
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":")).join(SCRIPT)
    return {
        SRC / "data" / "word_pieces.npz": npz.getvalue(),
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
