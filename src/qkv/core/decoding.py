"""Decoding: from scores for the next word to a sentence, by the best word or by several at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qkv.core.embeddings import vocabulary_scores
from qkv.core.inputs import as_row_of_ids, as_size, check_kind
from qkv.core.masks import causal_mask
from qkv.core.transformer import TransformerParameters, decoder, embed_tokens, encoder

if TYPE_CHECKING:
    from jaxtyping import Float, Int

    from qkv.core.inputs import Array

Beam = tuple[tuple[int, ...], float]  # the ids so far, and the log of their probability


def greedy_decode(
    source_ids: Int[Array, " n_k"],
    parameters: TransformerParameters,
    ends: tuple[int, int],
    longest: int = 20,
) -> tuple[int, ...]:
    r"""Write a sentence by taking the best next word, again and again.

    .. math:: y_t = \operatorname{arg\,max}_{y}\; p(y \mid y_0, \dots, y_{t-1}, \text{source})

    Parameters
    ----------
    source_ids : int array, shape (n_k,)
        The sentence to be read.
    parameters : TransformerParameters
        What the model learned.
    ends : (int, int)
        The ids of the start and of the stop symbol.
    longest : int, default 20
        How many ids may be written, the stop symbol among them.

    Returns
    -------
    written : tuple of int
        The start symbol, then what was written; the stop symbol is last unless there was no room.

    Raises
    ------
    ShapeError
        If source_ids is not one row, or ends are not two ids.
    ValueError
        If an id names no row of its table, or longest is no positive whole number.

    References
    ----------
    Vaswani et al., "Attention is all you need" (2017), section 3.1: the model is auto-regressive.

    Examples
    --------
    >>> import numpy as np
    >>> import qkv
    >>> sizes = qkv.LayerSizes(d_model=8, d_ff=16, n_heads=3, d_k=4, d_v=2)
    >>> parameters = qkv.initial_transformer(np.random.default_rng(0), sizes, 1, 11, 13)
    >>> written = qkv.greedy_decode([3, 1, 4, 1, 5], parameters, ends=(0, 12), longest=6)
    >>> print(len(written), written[0])
    7 0
    """
    return beam_search(source_ids, parameters, ends, n_beams=1, longest=longest)[0][0]


def beam_search(
    source_ids: Int[Array, " n_k"],
    parameters: TransformerParameters,
    ends: tuple[int, int],
    n_beams: int = 4,
    longest: int = 20,
) -> list[tuple[tuple[int, ...], float]]:
    r"""Write several sentences side by side, and keep the likeliest beginnings.

    .. math:: \log p(y \mid \text{source}) = \sum_t \log p(y_t \mid y_0, \dots, y_{t-1},
        \text{source})

    Every beginning is continued by every word; of all these, `n_beams` are kept. With one beam
    this is greedy decoding. Nothing is divided by the length, so short sentences have it easier.

    Parameters
    ----------
    source_ids : int array, shape (n_k,)
        The sentence to be read.
    parameters : TransformerParameters
        What the model learned.
    ends : (int, int)
        The ids of the start and of the stop symbol.
    n_beams : int, default 4
        How many beginnings are kept.
    longest : int, default 20
        How many ids may be written, the stop symbol among them.

    Returns
    -------
    sentences : list of (tuple of int, float)
        At most `n_beams`, the likeliest first: the ids with the start symbol, and the natural log
        of their probability.

    Raises
    ------
    ShapeError
        If source_ids is not one row, or ends are not two ids.
    ValueError
        If an id names no row of its table, or a number is no positive whole number.

    References
    ----------
    Sutskever, Vinyals and Le, "Sequence to sequence learning with neural networks" (2014),
    section 3.2.

    Examples
    --------
    >>> import numpy as np
    >>> import qkv
    >>> sizes = qkv.LayerSizes(d_model=8, d_ff=16, n_heads=3, d_k=4, d_v=2)
    >>> parameters = qkv.initial_transformer(np.random.default_rng(0), sizes, 1, 11, 13)
    >>> found = qkv.beam_search([3, 1, 4, 1, 5], parameters, ends=(0, 12), n_beams=3, longest=6)
    >>> print(len(found), found[0][1] >= found[1][1] >= found[2][1])
    3 True
    """
    check_kind("parameters", parameters, TransformerParameters)
    ids = as_row_of_ids("source_ids", source_ids, parameters.E_source.shape[0])
    start, stop = as_row_of_ids("ends", ends, parameters.E_target.shape[0], exactly=2).tolist()
    n_beams, longest = as_size("n_beams", n_beams), as_size("longest", longest)
    memory, _ = encoder(embed_tokens(ids, parameters.E_source), parameters.encoder)
    beams: list[Beam] = [((start,), 0.0)]
    for _ in range(longest):
        longer = [more for beam in beams for more in _continued(beam, stop, memory, parameters)]
        beams = sorted(longer, key=lambda beam: -beam[1])[:n_beams]
        if all(written[-1] == stop for written, _ in beams):
            break
    return beams


def _continued(
    beam: Beam, stop: int, memory: Float[Array, "n_k d_memory"], p: TransformerParameters
) -> list[Beam]:
    """Return a beginning with every next word; one that is finished stays as it is."""
    written, log_p = beam
    if len(written) > 1 and written[-1] == stop:
        return [beam]
    more = _next_log_probabilities(written, memory, p)
    return [((*written, i), log_p + float(x)) for i, x in enumerate(more)]


def _next_log_probabilities(
    written: tuple[int, ...], memory: Float[Array, "n_k d_memory"], p: TransformerParameters
) -> Float[Array, " n_target"]:
    """Return log p of every word as the next one."""
    X = embed_tokens(np.array(written), p.E_target)
    output, _, _ = decoder(X, memory, p.decoder, causal_mask(len(written)))
    scores = vocabulary_scores(output[-1:], p.E_target)[0]
    scores = scores - scores.max()
    return scores - np.log(np.exp(scores).sum())
