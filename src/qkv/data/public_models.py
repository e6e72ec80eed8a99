"""Sizes of public language models, as far as their caches go. All of it is quoted.

Read from configuration files: GPT-2 small from ``src/model.py`` of OpenAI's repository ``gpt-2``
(commit 122c55a), the two Gemmas from ``gemma/config.py`` of Google's ``gemma_pytorch`` (commit
03e6575), the others from ``litgpt/config.py`` of Lightning AI's LitGPT (commit 0006c97), which
copies each model's published ``config.json`` and names it. Keys and values of a head have one width
in all of them. Nothing here is computed, so that it can be compared.
"""

from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class PublicModel:
    """A published decoder-only model.

    Attributes
    ----------
    name : str
        As its makers call it.
    n_layers : int
        Each has a cache of its own.
    d_model : int
        Width of a row of X.
    n_heads : int
        Heads that ask.
    n_kv_heads : int
        Heads of keys and values: n_heads, fewer (grouped), or 1 (multi-query).
    d_k : int
        Width of a key, and of a value.
    window : int or None
        How many tokens a query may look at, where that is limited.
    source : str
        Key of the bibliography entry that the sizes were read from.
    """

    name: str
    n_layers: int
    d_model: int
    n_heads: int
    n_kv_heads: int
    d_k: int
    window: int | None
    source: str


# name, layers, d_model, heads, heads of keys and values, d_k, window, source
_ROWS = (
    ("GPT-2 small", 12, 768, 12, 12, 64, None, "openai2019model"),
    ("Gemma 2B", 18, 2048, 8, 1, 256, None, "google2024gemma"),
    ("Gemma 7B", 28, 3072, 16, 16, 256, None, "google2024gemma"),
    ("Falcon 7B", 32, 4544, 71, 1, 64, None, "lightning2025litgpt"),
    ("Mistral 7B", 32, 4096, 32, 8, 128, 4096, "lightning2025litgpt"),
    ("Llama 2 7B", 32, 4096, 32, 32, 128, None, "lightning2025litgpt"),
    ("Llama 3 8B", 32, 4096, 32, 8, 128, None, "lightning2025litgpt"),
    ("Llama 2 70B", 80, 8192, 64, 8, 128, None, "lightning2025litgpt"),
    ("Llama 3.1 405B", 126, 16384, 128, 8, 128, None, "lightning2025litgpt"),
)


@cache
def public_models() -> tuple[PublicModel, ...]:
    """Return the sizes of nine public models, the smaller ones first.

    Returns
    -------
    tuple of PublicModel
        As their configurations give them.

    References
    ----------
    OpenAI, ``gpt-2/src/model.py``; Google, ``gemma_pytorch/gemma/config.py``; Lightning AI,
    ``litgpt/config.py``.

    Examples
    --------
    >>> import qkv
    >>> small = qkv.data.public_models()[0]
    >>> small.name, small.n_layers, small.n_kv_heads, small.d_k
    ('GPT-2 small', 12, 12, 64)
    >>> small.n_layers * qkv.cache_bytes(1, small.n_kv_heads, small.d_k, small.d_k)
    36864
    """
    return tuple(PublicModel(*row) for row in _ROWS)
