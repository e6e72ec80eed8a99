"""Take the sentences that chapter 21 measures out of Jane Austen's six novels, by a rule.

    apt-get download r-cran-janeaustenr
    python tools/real_sentences.py r-cran-janeaustenr_*_all.deb            # write the file
    python tools/real_sentences.py r-cran-janeaustenr_*_all.deb --check    # compare with it

The novels (1811 to 1817) are in the public domain; Debian's package carries the texts of Project
Gutenberg as one R data set a novel. The rule: of each novel the first 60 sentences that have 8 to
14 words, begin with a capital, end with a full stop, an exclamation or a question mark, hold no
other character than letters, spaces, commas, semicolons, apostrophes and hyphens, and have not
stood there before. Nobody chose among them.
"""

import lzma
import re
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

HERE = Path(__file__).resolve().parent
OUT = HERE.parent / "src" / "qkv" / "data" / "real_sentences.txt"
LIBRARY = "usr/lib/R/site-library/janeaustenr/data/Rdata.rdb"
NOVELS = {
    "Sense and Sensibility": "The family of Dashwood",
    "Pride and Prejudice": "It is a truth universally",
    "Mansfield Park": "About thirty years ago",
    "Emma": "Emma Woodhouse, handsome",
    "Northanger Abbey": "No one who had ever seen Catherine",
    "Persuasion": "Sir Walter Elliot, of Kellynch",
}
EACH, SHORTEST, LONGEST = 60, 8, 14
ABBREVIATION = re.compile(r"\b(Mr|Mrs|Dr|St|Messrs|Esq|Hon|Capt|Col|Rev)\.")
WHOLE = re.compile(r"[A-Z][A-Za-z ,;'-]*[.!?]")


def records(blob):
    """Yield each serialised object of an R lazy-load file: 4 bytes of length, then packed bytes."""
    for start in range(len(blob) - 6):
        size = struct.unpack(">i", blob[start : start + 4])[0]
        if not 10_000 < size < 10_000_000:
            continue
        kind, rest = blob[start + 4 : start + 5], blob[start + 4 :]
        try:
            if kind == b"Z":
                text = lzma.LZMADecompressor(lzma.FORMAT_AUTO).decompress(rest[1:])
            elif kind == b"\x78":
                text = zlib.decompressobj().decompress(rest)
            else:
                continue
        except (lzma.LZMAError, zlib.error):
            continue
        if len(text) == size:
            yield text


def strings(serialised):
    """Return the strings of the first character vector of an R object."""
    at, found = serialised.index(struct.pack(">i", 16), 14) + 4, []
    (count,) = struct.unpack(">i", serialised[at : at + 4])
    at += 4
    for _ in range(count):
        (length,) = struct.unpack(">i", serialised[at + 4 : at + 8])
        found.append(serialised[at + 8 : at + 8 + length].decode("utf-8"))
        at += 8 + max(length, 0)
    return found


def sentences(lines, opening):
    """Return the sentences of a novel that the rule takes."""
    paragraphs = re.split(r"\n\s*\n", "\n".join(lines))
    texts = [" ".join(p.split()) for p in paragraphs]
    first = next(i for i, text in enumerate(texts) if text.startswith(opening))
    found = []
    for text in texts[first:]:
        cut = re.split(r"(?<=[.!?]) (?=[A-Z\"'(_])", ABBREVIATION.sub(r"\1", text))
        found += [s for s in cut if WHOLE.fullmatch(s) and SHORTEST <= len(s.split()) <= LONGEST]
    return list(dict.fromkeys(found))[:EACH]


def main(arguments):
    """Write the file, or with --check compare it."""
    if not arguments or arguments[1:] not in ([], ["--check"]):
        raise SystemExit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["dpkg-deb", "-x", arguments[0], folder], check=True)
        novels = [strings(r) for r in records((Path(folder) / LIBRARY).read_bytes())]
    lines = []
    for title, opening in NOVELS.items():
        (own,) = [n for n in novels if any(line.startswith(opening) for line in n)]
        lines += [f"# {title}", *sentences(own, opening)]
    text = "\n".join(lines) + "\n"
    if arguments[1:] == ["--check"]:
        raise SystemExit(0 if OUT.read_text(encoding="utf-8") == text else "stale")
    OUT.write_text(text, encoding="utf-8")
    print(f"{len(text):,} bytes, {sum(not x.startswith('#') for x in lines)} sentences")


if __name__ == "__main__":
    main(sys.argv[1:])
