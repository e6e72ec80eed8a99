"""What the paper prints about its models: sizes, millions of parameters, BLEU. All is quoted.

From Vaswani et al., "Attention is all you need", table 3 (and table 2 for the test sets), arXiv
version 7 of 2 August 2023. A size that a row leaves blank is, as the caption says, the base
model's; for "big" the blank d_k and d_v are d_model / h = 64, section 3.2.2's rule. Rows (D) and
(E) change no size, and are left out. Nothing here is computed, so that it can be compared.
"""

from dataclasses import dataclass
from functools import cache

from qkv.core import LayerSizes


@dataclass(frozen=True)
class PaperModel:
    """One row of the paper's table 3.

    Attributes
    ----------
    group : str
        "base", "A", "B", "C" or "big", as the paper marks the row.
    name : str
        What the row changes.
    n_layers : int
        Layers of the encoder, and as many of the decoder.
    sizes : LayerSizes
        Of each layer.
    printed : int or None
        Millions of parameters, as printed; None where the paper prints nothing.
    bleu : float
        English to German on the development set newstest2013, as printed.
    """

    group: str
    name: str
    n_layers: int
    sizes: LayerSizes
    printed: int | None
    bleu: float


# group, what the row changes, N, d_model, d_ff, h, d_k, d_v, printed millions, BLEU (dev)
_ROWS = (
    ("base", "base", 6, 512, 2048, 8, 64, 64, 65, 25.8),
    ("A", "h = 1, d_k = d_v = 512", 6, 512, 2048, 1, 512, 512, None, 24.9),
    ("A", "h = 4, d_k = d_v = 128", 6, 512, 2048, 4, 128, 128, None, 25.5),
    ("A", "h = 16, d_k = d_v = 32", 6, 512, 2048, 16, 32, 32, None, 25.8),
    ("A", "h = 32, d_k = d_v = 16", 6, 512, 2048, 32, 16, 16, None, 25.4),
    ("B", "d_k = 16", 6, 512, 2048, 8, 16, 64, 58, 25.1),
    ("B", "d_k = 32", 6, 512, 2048, 8, 32, 64, 60, 25.4),
    ("C", "N = 2", 2, 512, 2048, 8, 64, 64, 36, 23.7),
    ("C", "N = 4", 4, 512, 2048, 8, 64, 64, 50, 25.3),
    ("C", "N = 8", 8, 512, 2048, 8, 64, 64, 80, 25.5),
    ("C", "d_model = 256, d_k = d_v = 32", 6, 256, 2048, 8, 32, 32, 28, 24.5),
    ("C", "d_model = 1024, d_k = d_v = 128", 6, 1024, 2048, 8, 128, 128, 168, 26.0),
    ("C", "d_ff = 1024", 6, 512, 1024, 8, 64, 64, 53, 25.4),
    ("C", "d_ff = 4096", 6, 512, 4096, 8, 64, 64, 90, 26.2),
    ("big", "big", 6, 1024, 4096, 16, 64, 64, 213, 26.4),
)


@dataclass(frozen=True)
class QuotedBLEU:
    """BLEU of the paper's two models on newstest2014, by where it is printed.

    Attributes
    ----------
    where : str
        Version and place.
    base_to_german, big_to_german, base_to_french, big_to_french : float or None
        As printed there; None where that place does not give it.
    """

    where: str
    base_to_german: float | None
    big_to_german: float | None
    base_to_french: float | None
    big_to_french: float | None


_BLEU = (
    QuotedBLEU("proceedings (2017), table 2", 27.3, 28.4, 38.1, 41.0),
    QuotedBLEU("proceedings (2017), section 6.1", None, 28.4, None, 41.0),
    QuotedBLEU("arXiv version 7 (2023), table 2", 27.3, 28.4, 38.1, 41.8),
    QuotedBLEU("arXiv version 7 (2023), section 6.1", None, 28.4, None, 41.0),
)


@cache
def paper_table() -> tuple[PaperModel, ...]:
    """Return the rows of the paper's table 3 that have sizes of their own.

    Returns
    -------
    tuple of PaperModel
        15 rows, as printed, from "base" to "big".

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), table 3; arXiv version 7.

    Examples
    --------
    >>> import qkv
    >>> base = qkv.data.paper_table()[0]
    >>> base.printed, base.sizes.d_model, base.n_layers
    (65, 512, 6)
    """
    return tuple(
        PaperModel(group, name, n_layers, LayerSizes(*sizes), printed, bleu)
        for group, name, n_layers, *sizes, printed, bleu in _ROWS
    )


@cache
def paper_bleu() -> tuple[QuotedBLEU, ...]:
    """Return the BLEU that the paper prints for its two models, place by place.

    Returns
    -------
    tuple of QuotedBLEU

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), table 2 and section 6.1; the proceedings,
    and arXiv version 7.

    Examples
    --------
    >>> import qkv
    >>> [quoted.big_to_french for quoted in qkv.data.paper_bleu()]
    [41.0, 41.0, 41.8, 41.0]
    """
    return _BLEU
