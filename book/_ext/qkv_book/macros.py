r"""The maths macros of the book: one table for KaTeX (pages) and for the exporter (notebooks).

A chapter writes ``\Q = \Xq \WQ`` and every reader gets the same letters in the same colours.
KaTeX understands ``\htmlClass``; MathJax in Jupyter does not, so notebooks take :data:`PLAIN`.
"""

from __future__ import annotations

import re

MACROS: dict[str, str] = {
    # the projected arrays, in their colours
    r"\Q": r"\htmlClass{qkv-q}{Q}",
    r"\K": r"\htmlClass{qkv-k}{K}",
    r"\V": r"\htmlClass{qkv-v}{V}",
    # one row of each
    r"\q": r"\htmlClass{qkv-q}{q}",
    r"\k": r"\htmlClass{qkv-k}{k}",
    r"\v": r"\htmlClass{qkv-v}{v}",
    # the learned matrices; per head: \WQ^{(i)}
    r"\WQ": r"\htmlClass{qkv-q}{W_Q}",
    r"\WK": r"\htmlClass{qkv-k}{W_K}",
    r"\WV": r"\htmlClass{qkv-v}{W_V}",
    r"\WO": r"W_O",
    # the inputs of a layer
    r"\X": r"\htmlClass{qkv-x}{X}",
    r"\Xq": r"\htmlClass{qkv-x}{X_q}",
    r"\Xkv": r"\htmlClass{qkv-x}{X_{kv}}",
    # sizes
    r"\dk": r"d_k",
    r"\dv": r"d_v",
    r"\dmodel": r"d_{\text{model}}",
    r"\nq": r"n_q",
    r"\nk": r"n_k",
    # the rest
    r"\softmax": r"\operatorname{softmax}",
    r"\R": r"\mathbb{R}",
    r"\T": r"^{\top}",
}

PLAIN: dict[str, str] = {
    name: re.sub(r"\\htmlClass\{[^}]*\}\{((?:[^{}]|\{[^{}]*\})*)\}", r"{\1}", body)
    for name, body in MACROS.items()
}
r"""The same table without the colours, for renderers that know no ``\htmlClass``."""
