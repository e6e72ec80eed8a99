"""Pack scikit-learn's handwritten digits for the book.

    python tools/digits.py            # write src/qkv/data/digits.npz
    python tools/digits.py --check    # say whether the committed file is fresh

scikit-learn ships them as text; a reader's notebook need not install it for 1,797 small pictures.
"""

import io
import sys
from pathlib import Path

import numpy as np

PATH = Path(__file__).resolve().parents[1] / "src" / "qkv" / "data" / "digits.npz"


def packed() -> bytes:
    """Return the file: the ink of each pixel, 0 to 16, and what was written."""
    from sklearn.datasets import load_digits

    found = load_digits()
    file = io.BytesIO()
    np.savez_compressed(
        file, ink=found.images.astype(np.uint8), labels=found.target.astype(np.uint8)
    )
    return file.getvalue()


def main() -> int:
    """Write the file, or compare the numbers in it."""
    if "--check" not in sys.argv:
        PATH.write_bytes(packed())
        print(f"{PATH.name}: {PATH.stat().st_size:,} bytes")
        return 0
    with np.load(io.BytesIO(packed())) as fresh, np.load(PATH) as old:
        same = all(np.array_equal(fresh[name], old[name]) for name in ("ink", "labels"))
    print("fresh" if same else "stale: run python tools/digits.py")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
