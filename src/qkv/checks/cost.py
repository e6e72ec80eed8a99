"""The exercises of chapter 20: counts, memory, softmax in tiles, and a test for it."""

# ruff: noqa: RUF001 (a minus sign is a minus sign)

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from qkv.checks.engine import register
from qkv.checks.exercise import Case, Choice, Code, Number, Option, Row, Rung, Slip, Wrong
from qkv.checks.ladder import PRIMES, numbers
from qkv.core.counts import (
    LayerSizes,
    attention_flops,
    encoder_layer_flops,
    feed_forward_flops,
    self_attention_flops,
)
from qkv.core.masks import causal_mask
from qkv.core.scores import attention_from_scores
from qkv.core.tiled import online_attention_steps

Array = np.ndarray
Attend = Callable[[Array, Array, int], Array]

# --- in the page ---------------------------------------------------------------------------------


@register("cost.predict")
def predict() -> Choice:
    """Predict what twice the length costs at the length of a sentence."""
    base = LayerSizes(d_model=512, d_ff=2048, n_heads=8, d_k=64, d_v=64)
    factor = encoder_layer_flops(100, base) / encoder_layer_flops(50, base)
    return Choice(
        title="Predict: twice the length",
        prompt=(
            "The paper's base layer, $d_{\\text{model}} = 512$, reads a sentence of 50 tokens, and"
            " then one of 100. By which factor does the number of multiplications of the whole"
            " layer (attention and feed-forward part) grow?"
        ),
        options=(
            Option(
                "4, since attention is quadratic",
                "One part is quadratic. In the picture above, how large is that part at 50 tokens?",
                factor > 3.5,
            ),
            Option(
                "about 3, between the two kinds of growth",
                "Both kinds are there. Which of them is larger at 50 tokens, and by how much?",
                2.5 < factor < 3.5,
            ),
            Option(
                f"hardly more than 2, namely {factor:.2f}",
                "At 50 tokens the n² part is less than 2 % of the layer. It grows by 4, the rest"
                " by 2.",
                2.0 < factor < 2.5,
            ),
            Option(
                "2, since each token goes through the same matrices",
                "That is so for projections and the feed-forward part. And who reads whom?",
                factor == 2.0,
            ),
        ),
        hints=(
            "Two lines in the picture rise as n, one as n².",
            "At 50 tokens the steep line is far below the two others.",
            "The share of the n² part is n/(n + 6d).",
        ),
        solution=(
            f"**Hardly more than 2: {factor:.2f}.** The share of the n² part at 50 tokens is"
            f" 50/(50 + 6 · 512) = {100 * 50 / (50 + 3072):.1f} %."
        ),
    )


@register("cost.crossing")
def crossing() -> Number:
    """Derive the crossing where the heads together are narrower than the model."""
    d_model, n_heads, d = 1024, 6, 96
    sizes = LayerSizes(d_model=d_model, d_ff=4096, n_heads=n_heads, d_k=d, d_v=d)

    def gap(n: int) -> int:
        between = n_heads * attention_flops(n, n, d, d)
        return 2 * between - self_attention_flops(n, sizes)

    answer = next(n for n in range(1, 10_000) if gap(n) >= 0)
    return Number(
        title="Where do they cross?",
        prompt=(
            f"A model of width {d_model:,} has {n_heads} heads with $d_k = d_v = {d}$, so that"
            f" $h\\,d_k = {n_heads * d}$ is *not* the width of the model. Derive the number of"
            " tokens at which scores and means cost as many multiplications as the four"
            " projections."
        ),
        label="Tokens",
        answer=float(answer),
        right="Right: n = 2 d_model. The heads' number and width stand on both sides.",
        otherwise="Which two products of the table do you set equal, and what cancels?",
        wrong=(
            Wrong(
                2.0 * n_heads * d,
                "You took the width of all heads for d. Into which width do the projections read?",
            ),
            Wrong(float(n_heads * d), "Does the width of all heads stand in what is left?"),
            Wrong(6.0 * d_model, "That includes the feed-forward part. What is asked?"),
            Wrong(float(d_model), "How many projections are there, and how many products of n²?"),
            Wrong(
                2.0 * n_heads * d_model,
                "You have one head on the left and all heads on the right. Does h cancel?",
            ),
            Wrong(
                4.0 * d_model,
                "Four projections, and how many products between them and the output?",
            ),
        ),
        hints=(
            "Projections: n d_model h (2 d_k + 2 d_v). Scores and means: n² h (d_k + d_v).",
            "Divide both by n h (d_k + d_v).",
            "What is left is 2 d_model = n.",
        ),
        solution=f"n d h (2 d_k + 2 d_v) = n² h (d_k + d_v) gives n = 2 d = {answer:,}.",
    )


@register("cost.exponent")
def exponent() -> Number:
    """Compute an exponent from two times."""
    n, ms = (512, 4096), (3.0, 96.0)
    slope = float(np.polyfit(np.log(n), np.log(ms), 1)[0])
    return Number(
        title="An exponent from two times",
        prompt=(
            f"A kernel takes {ms[0]:g} ms for {n[0]:,} tokens and {ms[1]:g} ms for {n[1]:,}. If"
            " time grows as $n^p$, what is $p$? (Two decimals.)"
        ),
        label="p",
        answer=slope,
        tolerance=0.01,
        right=(
            "Right: 8 times the length, 32 times the time. Below 2, and that alone does not say"
            " that the kernel has less than n² to do: its fixed costs are in the first time."
        ),
        otherwise="By which factor did the length grow, and by which the time?",
        wrong=(
            Wrong(1 / slope, "You have length against time. Which of the two is raised to p?"),
            Wrong(32.0, "That is the factor of the time. To which power must 8 be raised for it?"),
            Wrong(4.0, "32/8 is 4. Is a power found by dividing the factors?"),
            Wrong(5.0, "32 is 2 to the 5th. And 8?"),
            Wrong(2.0, "That is what you expect. What do the two times say?"),
            Wrong(3.0, "8 is 2 to the 3rd. And 32?"),
        ),
        hints=(
            "Length: times 8. Time: times 32.",
            "8 to the power p is 32. Take logarithms.",
            "p = log 32 / log 8 = 5/3.",
        ),
        solution=f"p = log(96/3) / log(4096/512) = log 32 / log 8 = 5/3 = {slope:.2f}.",
    )


@register("cost.bytes")
def held_bytes() -> Number:
    """Compute the bytes of all tables of weights in training."""
    batch, n_heads, n_layers, n, size = 4, 16, 24, 2000, 2
    answer = batch * n_heads * n_layers * n**2 * size / 1e9
    return Number(
        title="Bytes of weights",
        prompt=(
            f"A model of {n_layers} layers with {n_heads} heads each is trained on texts of"
            f" {n:,} tokens, {batch} at a time, in float16 ({size} bytes a number). Plain attention"
            " keeps one table of weights a head for the backward pass. How many thousand million"
            " bytes (10⁹) are all these tables? (Two decimals.)"
        ),
        label="10⁹ bytes",
        answer=answer,
        tolerance=0.01,
        right="Right. A fused kernel keeps 2,000 times less: one number for each query.",
        otherwise="How many tables are there, how many numbers has one, how many bytes a number?",
        wrong=(
            Wrong(answer / batch, "That is for one text. How many are read at a time?"),
            Wrong(answer / n_layers, "That is one layer. When may its tables be thrown away?"),
            Wrong(answer / n_heads, "That is one head a layer. Do heads share their weights?"),
            Wrong(answer / size, "You counted numbers. How many bytes has each?"),
            Wrong(2 * answer, "You took 4 bytes a number. How many has float16?"),
            Wrong(answer / n, "Each query has a weight for each key. How many is that?"),
        ),
        hints=(
            "One table has n² numbers.",
            "There are batch × layers × heads tables.",
            "4 · 24 · 16 tables, each of 2,000² numbers of 2 bytes.",
        ),
        solution=(
            f"{batch} · {n_layers} · {n_heads} · {n:,}² · {size} bytes = {answer:.2f} · 10⁹ bytes."
        ),
    )


@register("cost.rescale")
def rescale() -> Row:
    """Do one step of the online softmax by hand."""
    scores, values = np.array([[0.0, 0.0, np.log(4)]]), np.array([[2.0], [4.0], [10.0]])
    steps = online_attention_steps(scores, values, tile=2)
    factor, total, o = steps.factors[1, 0], steps.totals[1, 0], steps.sums[1, 0, 0]
    old_l, old_o = steps.totals[0, 0], steps.sums[0, 0, 0]

    def row(*entries: float) -> tuple[float, ...]:
        return tuple(float(x) for x in entries)

    return Row(
        title="One step by hand",
        prompt=(
            f"So far $m = 0$, $l = {old_l:g}$, and $o$ has one column, $o = {old_o:g}$. Now a key"
            f" with score $s = \\ln 4$ and value {values[2, 0]:g} comes. Give the factor"
            " $e^{m - m'}$, the new $l$, the new $o$, and $o/l$."
        ),
        labels=("factor", "l", "o", "o / l"),
        answer=row(factor, total, o, steps.output[0, 0]),
        tolerance=0.005,
        right="Right. The old mean 3 had weight 2 of 2; now it has 0.5 of 1.5.",
        otherwise="What is the new maximum, and what are the old l and o worth against it?",
        wrong=(
            Wrong(
                row(1, old_l + 1, old_o + 10, (old_o + 10) / (old_l + 1)),
                "Your old sums stayed as they were. Against which maximum were they measured?",
            ),
            Wrong(
                row(factor, total, old_o + 10, (old_o + 10) / total),
                "You shrank l and not o. Do both hold the same powers?",
            ),
            Wrong(
                row(factor, old_l + 1, o, o / (old_l + 1)),
                "You shrank o and not l. Do both hold the same powers?",
            ),
            Wrong(
                row(4, 4 * old_l + 1, 4 * old_o + 10, (4 * old_o + 10) / (4 * old_l + 1)),
                "Your factor is larger than 1. Which maximum is subtracted from which?",
            ),
            Wrong(
                row(factor, factor * old_l + 4, factor * old_o + 40, 41.5 / 4.5),
                "You added the power of the score itself. What is subtracted from it first?",
            ),
            Wrong(
                row(factor, total, o, (old_o / old_l + 10) / 2),
                "The first three hold. Is the mean of two means the mean of all?",
            ),
        ),
        hints=(
            "The new maximum is ln 4.",
            "The factor is e^(0 − ln 4) = 1/4, and the new key adds e^0 = 1.",
            "l = 2/4 + 1 and o = 6/4 + 10.",
        ),
        solution=(
            f"m' = ln 4, factor {factor:g}, l = {factor:g} · {old_l:g} + 1 = {total:g},"
            f" o = {factor:g} · {old_o:g} + 10 = {o:g}, o/l = {steps.output[0, 0]:.3f}."
            " Check: the weights are 1/6, 1/6, 4/6."
        ),
    )


@register("cost.tiles")
def tiles() -> Number:
    """Count the tiles of a causal table whose last tile is cut."""
    n, tile = 1000, 64
    starts, mask = range(0, n, tile), causal_mask(n)
    side = len(starts)
    answer = sum(bool(mask[i : i + tile, j : j + tile].any()) for i in starts for j in starts)
    return Number(
        title="How many tiles are computed?",
        prompt=(
            f"Causal self-attention on {n:,} tokens in tiles of {tile} (the last row and column of"
            " tiles are smaller). How many tiles must be computed?"
        ),
        label="Tiles",
        answer=float(answer),
        right=f"Right: {answer} of {side**2}, a little more than half.",
        otherwise="How many tiles are there a side, and which of them does a causal row reach?",
        wrong=(
            Wrong(float(side**2), "Those are all tiles. Which of them lie wholly in the future?"),
            Wrong(
                float(side**2 - answer),
                "You left the diagonal out, counted what is skipped, or lost the small last tile."
                " Are tiles on the diagonal read?",
            ),
            Wrong(side**2 / 2, "Half of all. And the tiles that the diagonal cuts?"),
            Wrong(float(side), "Those are the tiles on the diagonal. And those below it?"),
            Wrong(n * (n + 1) / 2, "You counted entries. How many stand in a tile?"),
        ),
        hints=(
            "1,000/64 is 15.6, so there are 16 tiles a side.",
            "Row of tiles i reaches i + 1 tiles.",
            "1 + 2 + … + 16.",
        ),
        solution=f"T = {side}, and T(T + 1)/2 = {answer}.",
    )


@register("cost.fused")
def fused() -> Choice:
    """Say what a fused kernel leaves as it was."""
    return Choice(
        title="What stays?",
        prompt=(
            "In a model, plain attention is replaced by a fused kernel that works in tiles. Which"
            " of these four stays as it was?"
        ),
        options=(
            Option(
                "the peak of memory in a forward pass",
                "Which array of n² numbers does the plain version hold, and the fused one not?",
                False,
            ),
            Option(
                "what is kept for the backward pass",
                "What did torch keep in the cell above: a table, or one number for each query?",
                False,
            ),
            Option(
                "that the table of weights can be looked at afterwards",
                "When would all weights of a row be there at once?",
                False,
            ),
            Option(
                "the number of multiplications without a mask",
                "Each query still meets each key, and each weight each value.",
                True,
            ),
        ),
        hints=(
            "What is never there cannot be kept or shown.",
            "Three of the four speak of the table of weights.",
            "Every score must still be computed.",
        ),
        solution=(
            "**The number of multiplications.** The rest hangs on the table, which is never there"
            " at once. (In the backward pass a fused kernel multiplies *more*: it computes the"
            " scores again.)"
        ),
    )


# --- in the notebook -----------------------------------------------------------------------------


def _parts(
    *sizes: int, writes: int = 1, means: int = 1, one_head: bool = False, power: int = 2,
    back: int = 1,
) -> Array:  # fmt: skip
    """Return the three counts, with what can be forgotten as a switch."""
    n, d, h, d_k, d_v, d_ff = sizes
    h = 1 if one_head else h
    around, between = n * d * h * (2 * d_k + (1 + writes) * d_v), h * (d_k + means * d_v)
    return np.array([around, n**power * between, (1 + back) * n * d * d_ff], float)


def _layer_case(rng: np.random.Generator, one_head: bool = False) -> Case:
    n, d, h, d_k, d_v, d_ff = (int(x) for x in rng.permutation([2, 3, 5, 7, 11, 13]))
    h = 1 if one_head else h
    sizes = LayerSizes(d_model=d, d_ff=d_ff, n_heads=h, d_k=d_k, d_v=d_v)
    between = h * attention_flops(n, n, d_k, d_v) // 2
    around = self_attention_flops(n, sizes) // 2 - between
    counted = np.array([around, between, feed_forward_flops(n, sizes) // 2], float)
    return Case((n, d, h, d_k, d_v, d_ff), counted)


@register("cost.multiplications")
def multiplications() -> Code:
    """Count the multiplications of a layer."""
    return Code(
        title="Count a layer",
        function="multiplications",
        prompt=(
            "Return three numbers, the multiplications of one self-attention layer on n tokens:"
            " of the four projections, of scores and means together, of the feed-forward part. The"
            " sizes are the model's width d_model, the number of heads and their widths d_k and"
            " d_v, and the hidden width d_ff. No two are equal."
        ),
        stub=(
            "def multiplications(n, d_model, n_heads, d_k, d_v, d_ff):\n"
            '    """Return [projections, scores and means, feed-forward]."""\n'
            '    raise NotImplementedError("cost.multiplications")\n'
        ),
        rungs=(
            Rung(
                "one head",
                lambda rng: _layer_case(rng, one_head=True),
                "One head. Write each product as (rows, inner) times (inner, columns): how many"
                " multiplications is that, and which products are there?",
                (
                    Slip(
                        "no W_O",
                        lambda *a: _parts(*a, writes=0),
                        "Your projections are three. Which fourth matrix brings the heads back to"
                        " the model's width?",
                    ),
                    Slip(
                        "scores only",
                        lambda *a: _parts(*a, means=0),
                        "You counted the scores. And the product of weights and values?",
                    ),
                    Slip(
                        "n once",
                        lambda *a: _parts(*a, power=1),
                        "Your scores and means grow as n. How many scores has each query?",
                    ),
                    Slip(
                        "one of two feed-forward matrices",
                        lambda *a: _parts(*a, back=0),
                        "Your feed-forward part goes to d_ff. How does it come back?",
                    ),
                    Slip(
                        "operations",
                        lambda *a: 2 * _parts(*a),
                        "You counted multiplications and additions. What is asked for?",
                    ),
                ),
            ),
            Rung(
                "several heads",
                _layer_case,
                "Several heads. Which of your three numbers must grow with their number?",
                (
                    Slip(
                        "heads forgotten",
                        lambda *a: _parts(*a, one_head=True),
                        "Your numbers are those of one head. How many tables of scores are there?",
                    ),
                ),
            ),
        ),
        hints=(
            "A product of (a, b) and (b, c) takes a b c multiplications.",
            "Scores: (n, d_k) times (d_k, n), for each head. Means: (n, n) times (n, d_v).",
            "Projections: n d_model times all columns of W_Q, W_K, W_V and all rows of W_O.",
        ),
        solution=(
            "```python\n"
            "def multiplications(n, d_model, n_heads, d_k, d_v, d_ff):\n"
            "    projections = n * d_model * n_heads * (2 * d_k + 2 * d_v)\n"
            "    between = n * n * n_heads * (d_k + d_v)\n"
            "    return [projections, between, 2 * n * d_model * d_ff]\n"
            "```\n\n"
            "Only the second grows as n²."
        ),
    )


def _full(scores: Array, values: Array) -> Array:
    """Return what one row of attention must be, from core."""
    return attention_from_scores(scores[None], values)[0][0]


def _online(
    scores: Array, values: Array, tile: int,
    for_l: bool = True, for_o: bool = True, careful: bool = True, ragged: bool = True,
    subtract: bool = True,
) -> Array:  # fmt: skip
    """Return one row in tiles, with what can go wrong as a switch."""
    m, l, o = -np.inf, 0.0, np.zeros(values.shape[1])  # noqa: E741
    stop = len(scores) if ragged else max(len(scores) // tile, 1) * tile
    for j in range(0, stop, tile):
        part, v = scores[j : j + tile], values[j : j + tile]
        new = max(m, part.max()) if subtract else 0.0
        finite = 0.0 if careful and new == -np.inf else new
        factor, powers = (np.exp(m - finite) if subtract else 1.0), np.exp(part - finite)
        l = (factor if for_l else float(l != 0)) * l + powers.sum()  # noqa: E741
        o = (factor if for_o else 1.0) * o + powers @ v
        m = new
    return o / (l if l or not careful else 1.0)


def _means(scores: Array, values: Array, tile: int) -> Array:
    """Return the mean of each tile's own attention: wrong."""
    starts = range(0, len(scores), tile)
    return np.mean([_full(scores[j : j + tile], values[j : j + tile]) for j in starts], axis=0)


def _row_case(
    rng: np.random.Generator, tiles: int, rest: int = 0, order: str = "any", by: float = 1.0,
    forbidden: str = "",
) -> Case:  # fmt: skip
    tile = int(rng.choice([3, 5])) if tiles > 1 else 11
    n = tile * tiles + rest if tiles > 1 else 7
    scores = by * numbers(rng, n)
    if order == "falling":
        scores = np.sort(scores)[::-1].copy()
    if order == "rising":
        scores = np.sort(scores)
    if forbidden == "front":
        scores[:tile] = -np.inf
    if forbidden == "all":
        scores[:] = -np.inf
    values = numbers(rng, n, 2)
    return Case((scores, values, tile), _full(scores, values))


@register("cost.online")
def online() -> Code:
    """Write one row of attention in tiles."""
    return Code(
        title="Softmax in tiles",
        function="online_row",
        prompt=(
            "`scores` (n,) are the finished scores of one query, −inf where it may not look;"
            " `values` is (n, d_v). Read `tile` keys at a time, keep a running maximum, sum and"
            " output, and return the output (d_v,). A query that may look at nothing gets zeros."
        ),
        stub=(
            "def online_row(scores, values, tile):\n"
            '    """Return the output of one query, read in tiles."""\n'
            '    raise NotImplementedError("cost.online")\n'
        ),
        rungs=(
            Rung(
                "one tile",
                lambda rng: _row_case(rng, 1),
                "All keys fit into one tile here. What must be divided by what at the end?",
                (
                    Slip(
                        "not divided",
                        lambda s, v, t: np.exp(s - s.max()) @ v,
                        "You return the running output. What is it divided by at the end?",
                    ),
                ),
            ),
            Rung(
                "scores that fall",
                lambda rng: _row_case(rng, 3, order="falling"),
                "Three tiles, the largest score in the first. Do the later tiles measure against"
                " the same maximum?",
                (
                    Slip(
                        "mean of the tiles",
                        _means,
                        "You took the mean of each tile's own attention. Has each tile the same"
                        " sum of powers?",
                    ),
                    Slip(
                        "the last tile only",
                        lambda s, v, t: _full(s[-t:], v[-t:]),
                        "Your result knows the last tile only. Where do l and o start?",
                    ),
                ),
            ),
            Rung(
                "scores that rise",
                lambda rng: _row_case(rng, 3, order="rising"),
                "The largest score comes last here. What are the old sums worth against it?",
                (
                    Slip(
                        "never rescaled",
                        lambda s, v, t: _online(s, v, t, for_l=False, for_o=False),
                        "Neither of your sums was rescaled. What were they measured against?",
                    ),
                    Slip(
                        "l only",
                        lambda s, v, t: _online(s, v, t, for_o=False),
                        "Your sum was rescaled, and the running output was not. Which powers are in"
                        " it?",
                    ),
                    Slip(
                        "o only",
                        lambda s, v, t: _online(s, v, t, for_l=False),
                        "Your running output was rescaled, and the sum was not. Which powers are in"
                        " it?",
                    ),
                ),
            ),
            Rung(
                "a smaller last tile",
                lambda rng: _row_case(rng, 3, rest=2),
                "The tile does not divide the number of keys here. What becomes of the rest?",
                (
                    Slip(
                        "the rest forgotten",
                        lambda s, v, t: _online(s, v, t, ragged=False),
                        "The last keys are missing. Where does your loop stop?",
                    ),
                ),
            ),
            Rung(
                "large scores",
                lambda rng: _row_case(rng, 3, by=1000.0),
                "The scores are thousands here. What must be subtracted before a power is taken?",
                (
                    Slip(
                        "no maximum",
                        lambda s, v, t: _online(s, v, t, subtract=False),
                        "A power of a thousand is no number any more. What do you subtract first?",
                    ),
                ),
            ),
            Rung(
                "a forbidden first tile",
                lambda rng: _row_case(rng, 3, forbidden="front"),
                "All keys of the first tile are forbidden. What is m then, and what do they add?",
                (
                    Slip(
                        "infinity minus infinity",
                        lambda s, v, t: _online(s, v, t, careful=False),
                        "NaN: you subtracted minus infinity from minus infinity. What could be"
                        " subtracted as long as nothing has been seen?",
                    ),
                ),
            ),
            Rung(
                "nothing to look at",
                lambda rng: _row_case(rng, 2, forbidden="all"),
                "The query may look at nothing. What is l, and what is asked for?",
            ),
        ),
        hints=(
            "Start with m = −inf, l = 0 and o = zeros.",
            "Per tile: new maximum, factor exp(m − new), powers exp(part − new); then l and o are"
            " multiplied by the factor and get the tile's terms.",
            "As long as the new maximum is −inf, subtract 0 in its place; at the end, if l is 0,"
            " return zeros.",
        ),
        solution=(
            "```python\n"
            "def online_row(scores, values, tile):\n"
            "    m, l, o = -np.inf, 0.0, np.zeros(values.shape[1])\n"
            "    for j in range(0, len(scores), tile):\n"
            "        part = scores[j : j + tile]\n"
            "        new = max(m, part.max())\n"
            "        base = 0.0 if new == -np.inf else new\n"
            "        factor, powers = np.exp(m - base), np.exp(part - base)\n"
            "        l = factor * l + powers.sum()\n"
            "        o = factor * o + powers @ values[j : j + tile]\n"
            "        m = new\n"
            "    return o / l if l > 0 else o\n"
            "```\n\n"
            "After each tile m, l and o are what one pass over the keys so far would give."
        ),
    )


Part = tuple[Array, Array, Array]


def _part(rng: np.random.Generator, n_q: int, d_v: int, empty: bool = False) -> Part:
    """Return (m, l, o) of some keys, for n_q queries; the first query finds nothing if `empty`."""
    n = int(rng.choice(PRIMES))
    scores = numbers(rng, n_q, n)
    if empty:
        scores[0] = -np.inf
    steps = online_attention_steps(scores, numbers(rng, n, d_v), tile=n)
    return steps.largest[0], steps.totals[0], steps.sums[0]


def _merge(
    a: Part, b: Part, for_l: bool = True, for_o: bool = True, careful: bool = True,
) -> Part:  # fmt: skip
    (m_a, l_a, o_a), (m_b, l_b, o_b) = a, b
    m = np.maximum(m_a, m_b)
    finite = np.where(m == -np.inf, 0.0, m) if careful else m
    f_a, f_b = np.exp(m_a - finite), np.exp(m_b - finite)
    l = f_a * l_a + f_b * l_b if for_l else l_a + l_b  # noqa: E741
    o = f_a[:, None] * o_a + f_b[:, None] * o_b if for_o else o_a + o_b
    return m, l, o


def _merge_case(
    rng: np.random.Generator, n_q: int, d_v: int, same: bool = False, empty: str = "",
) -> Case:  # fmt: skip
    a, b = (_part(rng, n_q, d_v, name in empty) for name in ("a", "b"))
    if same:
        b = (a[0], b[1], b[2])
    return Case((*a, *b), _merge(a, b))


def _wrong_merge(**how: Any) -> Callable[..., Part]:
    return lambda *parts: _merge(parts[:3], parts[3:], **how)


@register("cost.repair")
def repair() -> Code:
    """Repair the merge of two parts."""
    return Code(
        title="Repair this code: two parts joined",
        function="merge",
        prompt=(
            "Two machines have read different keys for the same queries. Each hands over `m` (n_q,)"
            " the largest score, `l` (n_q,) the sum of powers exp(s − m), and `o` (n_q, d_v) the"
            " sum of powers times values. Return m, l and o of all keys together. This program has"
            " three bugs. Repair it. Remove the `raise` when you begin."
        ),
        stub=(
            "def merge(m_a, l_a, o_a, m_b, l_b, o_b):\n"
            '    """Return (m, l, o) as if one machine had read all keys."""\n'
            '    raise NotImplementedError("cost.repair")\n'
            "    m = np.maximum(m_a, m_b)\n"
            "    l = l_a + l_b\n"
            "    o = np.exp(m_a - m) * o_a + np.exp(m_b - m) * o_b\n"
            "    return m, l, o\n"
        ),
        returns=("m", "l", "o"),
        rungs=(
            Rung(
                "one query, equal largest scores",
                lambda rng: _merge_case(rng, 1, 3, same=True),
                "Both parts have the same m here. What are l and o then?",
                (
                    Slip(
                        "already divided",
                        lambda *p: (p[0], p[1] + p[4], (p[2] + p[5]) / (p[1] + p[4])[:, None]),
                        "You divided o by l already. What would a third part be added to?",
                    ),
                    Slip(
                        "means",
                        lambda *p: (p[0], (p[1] + p[4]) / 2, (p[2] + p[5]) / 2),
                        "You took means. Are l and o means, or sums?",
                    ),
                ),
            ),
            Rung(
                "one query, different largest scores",
                lambda rng: _merge_case(rng, 1, 3),
                "The two parts have different maxima. Which of m, l and o know of it?",
                (
                    Slip(
                        "l as it was",
                        _wrong_merge(for_l=False),
                        "Your l adds powers that were measured against two different maxima. What"
                        " brings them to one?",
                    ),
                    Slip(
                        "nothing rescaled",
                        _wrong_merge(for_l=False, for_o=False),
                        "Neither l nor o was rescaled. What do both hold?",
                    ),
                    Slip(
                        "o as it was",
                        _wrong_merge(for_o=False),
                        "Your o adds powers that were measured against two different maxima. What"
                        " brings them to one?",
                    ),
                    Slip(
                        "maxima added",
                        lambda *p: (p[0] + p[3], *_merge(p[:3], p[3:])[1:]),
                        "You added the maxima. What is the largest of all scores?",
                    ),
                ),
            ),
            Rung(
                "several queries",
                lambda rng: _merge_case(rng, 5, 3),
                "Several queries now: a factor for each *row* of o. Along which axis is yours?",
                crash="Several queries now: the factors are (n_q,) and o is (n_q, d_v). Which axis"
                " is missing?",
            ),
            Rung(
                "a part that found nothing",
                lambda rng: _merge_case(rng, 5, 3, empty="b"),
                "For the first query one part found no key: its m is −inf. What should it add?",
            ),
            Rung(
                "both found nothing",
                lambda rng: _merge_case(rng, 5, 3, empty="ab"),
                "Both parts found nothing for the first query. What is asked for?",
                (
                    Slip(
                        "infinity minus infinity",
                        _wrong_merge(careful=False),
                        "NaN: minus infinity was subtracted from itself. What could be subtracted"
                        " where nothing was seen?",
                    ),
                ),
            ),
        ),
        hints=(
            "l and o hold the same powers, so both need the same factors.",
            "A factor is (n_q,); for o it must become (n_q, 1).",
            "Where m is −inf, subtract 0 in its place.",
        ),
        solution=(
            "```python\n"
            "def merge(m_a, l_a, o_a, m_b, l_b, o_b):\n"
            "    m = np.maximum(m_a, m_b)\n"
            "    base = np.where(m == -np.inf, 0.0, m)\n"
            "    from_a, from_b = np.exp(m_a - base), np.exp(m_b - base)\n"
            "    l = from_a * l_a + from_b * l_b\n"
            "    o = from_a[:, None] * o_a + from_b[:, None] * o_b\n"
            "    return m, l, o\n"
            "```\n\n"
            "Sums may be merged in any order; they are divided once, at the very end."
        ),
    )


def _attend(**how: bool) -> Attend:
    return lambda scores, values, tile: _online(scores, values, tile, **how)


def _right(scores: Array, values: Array, tile: int) -> Array:
    """Return one row in tiles, from core."""
    return online_attention_steps(scores[None], values, tile).output[0]


def _judged(attend: Attend, verdict: float) -> Callable[[np.random.Generator], Case]:
    return lambda rng: Case((attend,), verdict)


def _tried(
    attend: Attend, sizes: tuple[int, int], by: float = 1.0, rising: bool = True,
) -> float:  # fmt: skip
    """Return 1 if one try finds nothing wrong: n keys, a tile, rising or falling scores."""
    n, tile = sizes
    scores = by * np.linspace(-2, 2, n)[:: 1 if rising else -1]
    values = np.arange(2.0 * n).reshape(n, 2)
    return float(np.allclose(attend(scores, values, tile), _full(scores, values)))


@register("cost.expose")
def expose() -> Code:
    """Write the test that exposes wrong tiles."""
    return Code(
        title="Write the test that exposes it",
        function="is_right",
        prompt=(
            "`attend(scores, values, tile)` is somebody's attention in tiles for one query: scores"
            " (n,), −inf where it may not look, values (n, d_v), the result (d_v,). You choose what"
            " to call it with. Return 1 if it is right, and 0 if it is not. Five versions wait on"
            " the ladder, one of them right. `qkv.softmax` may help."
        ),
        stub=(
            "def is_right(attend):\n"
            '    """Return 1 if `attend` is exact for any scores and tiles, else 0."""\n'
            '    raise NotImplementedError("cost.expose")\n'
        ),
        rungs=(
            Rung(
                "a right one",
                _judged(_right, 1.0),
                "This one is right, and you accused it. What do you compare it with, how closely,"
                " and do you return 0 or 1?",
                crash="Your test stopped. What does `attend` take, and in which shapes?",
            ),
            Rung(
                "old sums not rescaled",
                _judged(_attend(for_o=False), 0.0),
                "This version forgets to rescale its output. It is right if the largest score"
                " stands in the first tile. Where does it stand in your test, and is there more"
                " than one tile?",
                (
                    Slip(
                        "one try, all keys in one tile or scores that fall",
                        lambda f: _tried(f, (6, 3), rising=False),
                        "This version forgets to rescale, and you called it right. Is there more"
                        " than one tile in your test, and where does the largest score stand?",
                    ),
                ),
            ),
            Rung(
                "the rest forgotten",
                _judged(_attend(ragged=False), 0.0),
                "This version forgets the keys behind the last full tile. Which tile must you"
                " choose to see it?",
                (
                    Slip(
                        "the tile divides n",
                        lambda f: _tried(f, (6, 3)),
                        "This version forgets the keys behind the last full tile, and you called it"
                        " right. Does your tile divide your number of keys?",
                    ),
                ),
            ),
            Rung(
                "nothing subtracted",
                _judged(_attend(subtract=False), 0.0),
                "This version takes powers of the scores as they are. Which scores make that fail?",
                (
                    Slip(
                        "small scores",
                        lambda f: _tried(f, (7, 3)),
                        "This version takes powers of the scores as they are, and you called it"
                        " right. How large are the scores of your test?",
                    ),
                ),
            ),
            Rung(
                "forbidden keys in front",
                _judged(_attend(careful=False), 0.0),
                "This version makes NaN if the first tile holds nothing. Which scores show it?",
                (
                    Slip(
                        "nothing forbidden",
                        lambda f: min(_tried(f, (7, 3)), _tried(f, (7, 3), by=1000.0)),
                        "This version makes NaN in a certain case, and you called it right. Which"
                        " scores may be −inf in your test, and how many in a row?",
                    ),
                ),
            ),
        ),
        hints=(
            "Compare with softmax(scores) @ values, up to rounding.",
            "Let the scores rise, and let no tile divide n. Then multiply the scores by 1,000.",
            "Then forbid the first tile. A NaN must count as wrong: np.allclose sees to it.",
        ),
        solution=(
            "```python\n"
            "import qkv\n\n"
            "def is_right(attend):\n"
            "    values = np.arange(14.0).reshape(7, 2)\n"
            "    rising = np.linspace(-2.0, 2.0, 7)\n"
            "    hidden = np.where(np.arange(7) < 3, -np.inf, rising)\n"
            "    for scores in (rising, rising[::-1], 1000 * rising, hidden):\n"
            '        with np.errstate(all="ignore"):\n'
            "            output = attend(scores, values, 3)\n"
            "        if not np.allclose(output, qkv.softmax(scores) @ values):\n"
            "            return 0\n"
            "    return 1\n"
            "```\n\n"
            "Each line of inputs is there for one version of the ladder."
        ),
    )
