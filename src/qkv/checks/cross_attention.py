"""The exercises of chapter 12: two sequences, one memory, pads of the source, and its order."""

# ruff: noqa: RUF001 (a minus sign is a minus sign)

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from qkv.checks.answers import written
from qkv.checks.arrangement import Cell
from qkv.checks.engine import register
from qkv.checks.exercise import Case, Choice, Code, Number, Option, Row, Rung, Slip, Wrong
from qkv.checks.ladder import numbers, sizes
from qkv.core.counts import LayerSizes
from qkv.core.cross_attention import cross_attention, self_attention
from qkv.core.initial import initial_decoder_layer, initial_multi_head
from qkv.core.layer import decoder_layer
from qkv.core.layer_norm import layer_norm
from qkv.core.masks import causal_mask, padding_mask
from qkv.core.multi_head import MultiHeadParameters
from qkv.core.projections import project_qkv
from qkv.core.scaled_dot_product import scaled_dot_product_attention
from qkv.core.softmax import softmax
from qkv.data import running_example

# --- in the page ---------------------------------------------------------------------------------


@register("cross_attention.shapes")
def shapes() -> Row:
    """Predict the shapes of a layer whose two sequences differ in everything."""
    n_src, n_tgt = 11, 13
    given = LayerSizes(d_model=64, d_ff=80, n_heads=5, d_k=10, d_v=6, d_memory=96)
    parameters = initial_multi_head(np.random.default_rng(0), given)
    rng = np.random.default_rng(1)
    X, memory = rng.normal(size=(n_tgt, given.d_model)), rng.normal(size=(n_src, given.d_memory))
    output, weights = cross_attention(X, memory, parameters)
    answer = (*parameters.W_K.shape[1:], *weights.shape[1:], *output.shape)

    def wrong(question: str, **places: int) -> Wrong:
        names = ("w_rows", "w_cols", "a_rows", "a_cols", "o_rows", "o_cols")
        values = dict(zip(names, map(float, answer), strict=True))
        return Wrong(tuple({**values, **places}.values()), question)

    width = given.n_heads * given.d_v
    return Row(
        title="Predict the shapes",
        prompt=(
            f"A speech recogniser writes text. Its encoder hands over {n_src} rows of"
            f" {given.d_memory} numbers; the decoder has {n_tgt} rows of {given.d_model}. The layer"
            f" has {given.n_heads} heads with $d_k$ = {given.d_k} and $d_v$ = {given.d_v}, and a"
            " $W_O$ that makes the residual sum possible. Before you run anything: which shapes"
            " have $W_K$ (of one head), the weights (of one head) and the layer's output?"
        ),
        labels=(
            "W_K rows", "W_K columns", "weights rows", "weights columns", "output rows",
            "output columns",
        ),
        answer=tuple(map(float, answer)),
        right=(
            "Right. The source gives the columns of the weights and the rows of W_K; all that"
            " comes out has the target's length and the decoder's width."
        ),
        otherwise="Which of the two sequences asks? Its length is the length of what comes back.",
        wrong=(
            wrong(
                "You have a row for each source word. Whose question is a row of the weights?",
                a_rows=n_src, a_cols=n_tgt,
            ),
            wrong(
                "Your weights are square: each target word looks at target words. Where do the keys"
                " come from?",
                a_cols=n_tgt,
            ),
            wrong(
                "Your W_K has a row for each column of the decoder. What is it multiplied with?",
                w_rows=given.d_model,
            ),
            wrong(
                "Your W_K serves all heads at once. How many columns has the one of one head?",
                w_cols=given.n_heads * given.d_k,
            ),
            wrong(
                "Your output has a row for each source word. To which array must it be added?",
                o_rows=n_src,
            ),
            wrong(
                "That is the width of all heads side by side. What does W_O do after that?",
                o_cols=width,
            ),
            wrong(
                "Your output is as wide as the memory. What is it added to?",
                o_cols=given.d_memory,
            ),
        ),
        hints=(
            "Write the products with their shapes: k = X_kv W_K, scores = q k transposed.",
            "X_q is the decoder's. A score exists for each pair of a query and a key.",
            "The residual sum adds the output to X_q, so both have one shape.",
        ),
        solution=(
            f"$W_K$ is {answer[0]} × {answer[1]}, the weights are {answer[2]} × {answer[3]}, the"
            f" output is {answer[4]} × {answer[5]}. Neither the source's length nor its width is"
            " left in what comes out."
        ),
    )  # fmt: skip


@register("cross_attention.query")
def query() -> Choice:
    """Say which array the second decoder layer's cross-attention gets as X_q."""
    ex = running_example()
    given = LayerSizes(d_model=8, d_ff=16, n_heads=3, d_k=4, d_v=2, d_memory=9)
    rng = np.random.default_rng(12)
    one, two = (initial_decoder_layer(rng, given) for _ in range(2))
    causal = causal_mask(7)
    below, _, _ = decoder_layer(ex.X_target, ex.memory, one, causal)
    _, _, used = decoder_layer(below, ex.memory, two, causal)
    read, _ = self_attention(below, two.self_attention, causal)

    def is_it(x_q: np.ndarray) -> bool:
        return np.allclose(cross_attention(x_q, ex.memory, two.cross_attention)[1], used)

    return Choice(
        title="Which array asks?",
        prompt=(
            "A post-norm decoder, as in the paper. Which array is $X_q$ in the cross-attention of"
            " decoder layer 2?"
        ),
        options=(
            Option(
                "the output of decoder layer 1",
                "That is what the paper's sentence says, and it goes into layer 2 at its foot."
                " Which sub-layer of layer 2 reads it first?",
                is_it(below),
            ),
            Option(
                "the target's embeddings, in every layer",
                "Then no layer could ask a question that depends on what was read below. What"
                " changes from layer to layer, the memory or the decoder's rows?",
                is_it(ex.X_target),
            ),
            Option(
                "what the masked self-attention of layer 2 returns, alone",
                "Nearly. Is its result added to something, and normalised, before the next"
                " sub-layer gets it?",
                is_it(read),
            ),
            Option(
                "the output of layer 2's masked self-attention, after add and norm",
                "Right: the sub-layer right below, in the same layer. So a question depends on the"
                " words written so far.",
                is_it(layer_norm(below + read, two.norm_1)),
            ),
        ),
        hints=(
            "Look at the wiring: which box has an arrow into the cross-attention from below?",
            "Three sub-layers stand in a decoder layer, and each has its own add and norm.",
            "The first sub-layer of layer 2 is masked self-attention.",
        ),
        solution=(
            "**After add and norm of the masked self-attention in layer 2 itself.** The computation"
            " on this page compares both candidates with what the decoder reports."
        ),
    )


@register("cross_attention.mask")
def mask() -> Choice:
    """Choose the mask for a batch of unequal pairs."""
    src, tgt = np.array([4, 6]), np.array([5, 3])
    rng = np.random.default_rng(3)
    given = LayerSizes(d_model=8, d_ff=16, n_heads=3, d_k=4, d_v=2, d_memory=9)
    parameters = initial_multi_head(rng, given)
    X, memory = rng.normal(size=(2, 5, 8)), rng.normal(size=(2, 6, 9))

    def is_it(may_look: np.ndarray) -> bool:
        try:
            output, _ = cross_attention(X, memory, parameters, may_look)
        except ValueError:
            return False
        alone = [
            cross_attention(X[b, : tgt[b]], memory[b, : src[b]], parameters)[0] for b in range(2)
        ]
        return all(np.allclose(output[b, : tgt[b]], alone[b]) for b in range(2))

    return Choice(
        title="Which mask?",
        prompt=(
            "Two pairs in one batch: sources of 4 and 6 words (filled up to 6), targets of 5 and 3"
            " (filled up to 5). Which mask belongs into the cross-attention?"
        ),
        options=(
            Option(
                "`padding_mask([5, 3], n_k=5)`",
                "These are the target's pads, and it has a column for each target word. Who is"
                " looked at?",
                is_it(padding_mask(tgt, 5)),
            ),
            Option(
                "`padding_mask([4, 6], n_k=6)`",
                "Right: the source's pads, a column for each source place, shared by all rows of"
                " the pair. The target's pads are queries, and nobody looks at a query.",
                is_it(padding_mask(src, 6)),
            ),
            Option(
                "`causal_mask(5, 6) & padding_mask([4, 6], n_k=6)`",
                "Row 0 could then look at the first source word only. Is the rest of the source"
                " still to be written?",
                is_it(causal_mask(5, 6) & padding_mask(src, 6)),
            ),
            Option(
                "none: the loss leaves the pads out",
                "The loss leaves out the rows of target pads. Do real rows look at source pads"
                " then?",
                is_it(np.ones((5, 6), dtype=bool)),
            ),
        ),
        hints=(
            "The weights have a row for each target place and a column for each source place.",
            "A mask hides what nobody may look at. Looked at are keys.",
            "Keys come from the source.",
        ),
        solution=(
            "**`padding_mask([4, 6], n_k=6)`**, of shape (2, 1, 6). With it every real row equals"
            " the one of its pair alone; with each of the others some row does not."
        ),
    )


@register("cross_attention.shuffle")
def shuffle() -> Choice:
    """Predict what a shuffled memory does."""
    ex = running_example()
    parameters = MultiHeadParameters(ex.W_Q_cross, ex.W_K_memory, ex.W_V_memory, ex.W_O)
    order = [3, 0, 4, 1, 2]
    output, weights = cross_attention(ex.X_target, ex.memory, parameters)
    new, new_weights = cross_attention(ex.X_target, ex.memory[order], parameters)
    same, moved = np.allclose(new, output), np.allclose(new_weights, weights[..., order])
    still = np.allclose(new_weights, weights)
    return Choice(
        title="Predict: a shuffled memory",
        prompt="The memory's five rows change places; the decoder's rows and all matrices stay.",
        options=(
            Option(
                "The output stays, and the columns of the weights change places.",
                "Right. A weight goes with its key, and a sum does not care for the order of its"
                " terms.",
                bool(same and moved and not still),
            ),
            Option(
                "The rows of the output change places in the same way.",
                "That is what happens in self-attention, where the same rows also ask. Which rows"
                " of this output belong to source words?",
                bool(not same),
            ),
            Option(
                "Neither output nor weights change.",
                "Is the third column of the weights still about the same word?",
                bool(same and still),
            ),
            Option(
                "The weights change their sizes, and the output with them.",
                "Does the score of a query and a key know at which place the key stands?",
                bool(not same and not moved),
            ),
        ),
        hints=(
            "Follow one score: which two rows is it made from?",
            "The softmax divides by a sum over all keys. Does that sum change?",
            "The output of a row is the sum of weight times value over all keys.",
        ),
        solution=(
            "**The output stays, the weights' columns move.** Each score is made from one query and"
            " one key; place enters nowhere."
        ),
    )


@register("cross_attention.copies")
def copies() -> Number:
    """Derive the weight of a word that lies in the memory several times."""
    ex, times = running_example(), 3
    an = ex.tokens_source.index("an")
    einen = ex.tokens_target.index("einen")
    parameters = MultiHeadParameters(ex.W_Q_cross, ex.W_K_memory, ex.W_V_memory, ex.W_O)
    _, before = cross_attention(ex.X_target, ex.memory, parameters)
    more = np.concatenate([ex.memory] + (times - 1) * [ex.memory[[an]]])
    _, after = cross_attention(ex.X_target, more, parameters)
    w = float(before[1, einen, an])
    total = float(after[1, einen, [an, 5, 6]].sum())
    return Number(
        title="A word that lies there three times",
        prompt=(
            f"In head 2, *einen* gives *an* the weight {w:.3f}. By mistake the memory holds the row"
            f" of *an* {times} times, and no mask hides the copies. Derive a formula for the weight"
            f" that all {times} copies get together, from $w$ = {w:.3f} alone. What is it?"
        ),
        label="All copies together",
        answer=total,
        tolerance=0.002,
        right=(
            "Right: c w / (1 + (c − 1) w). The copies crowd the others out, though no score has"
            " changed. Pads without a mask do the same."
        ),
        otherwise="Write the weight as a fraction. What is above the line, and what below, now?",
        wrong=(
            Wrong(times * w, "More than all there is? Which sum below the line has grown, too?"),
            Wrong(w, "So copies would not count. How many terms has the sum below the line now?"),
            Wrong(
                w / (1 + (times - 1) * w),
                "That is the weight of one copy. How much do all of them get?",
            ),
            Wrong(
                times * w / (1 + times * w),
                "You added all copies to the sum below the line. Was one of them in it already?",
            ),
            Wrong(
                float(np.exp(times) / (np.exp(times) + 4)),
                "You made the score larger. Does a copy have another score?",
            ),
            Wrong(
                1 - (1 - w) ** times,
                "That is a chance of finding it at least once. Which fraction of the powers is it?",
            ),
        ),
        hints=(
            "Let a be the power of e for *an*, and r the sum of the others: w = a / (a + r).",
            "With c copies it is c a / (c a + r).",
            "Divide above and below by a + r: a / (a + r) is w, and r / (a + r) is 1 − w.",
        ),
        solution=(
            r"$\frac{c\,a}{c\,a + r} = \frac{c\,w}{c\,w + (1 - w)} = \frac{c\,w}{1 + (c - 1)\,w}$."
            f" With c = {times} and w = {w:.3f}: {total:.3f}."
        ),
    )


@register("cross_attention.cell")
def cell() -> Cell:
    """Read one weight of a table that is not square."""
    ex = running_example()
    rows, columns = ex.tokens_target, ex.tokens_source
    q, k, v = project_qkv(ex.X_target, ex.memory, ex.W_Q[1], ex.W_K_memory[1], ex.W_V_memory[1])
    _, weights = scaled_dot_product_attention(q, k, v)
    r, c = rows.index("Apfel"), columns.index("apple")
    value = written(round(weights[r, c], 2))
    return Cell(
        title="A table that is not square",
        prompt=(
            "The weights of the second head, target against source. Which cell tells how much"
            " of the"
            " value of *apple* goes into the output row of *Apfel*?"
        ),
        rows=rows,
        columns=columns,
        values=tuple(tuple(float(w) for w in row) for row in weights),
        answer=(r, c),
        right=(
            f"Right: {value}. The row gives the output row, the column the value. What the"
            " head says"
            " is the sum over the columns of this one row."
        ),
        in_row="The row is right. The value of which source word is asked for?",
        in_column="The column is right. Into which output row does it go?",
        otherwise=(
            "An output row is a sum over the source words. So is the output a row or a column here?"
        ),
        wrong=(
            Wrong(
                (c, r),
                "You counted row and column the other way round. Which words stand at the rows?",
            ),
            Wrong((r - 1, c), "That goes into the row of *einen*. Which row is asked for?"),
            Wrong((r, c - 1), "That is how much comes from *an*. From which word should it come?"),
            Wrong((r + 1, c), "That goes into the row of *gegessen*. Which row is asked for?"),
            Wrong(
                (r, c + 1),
                "That is how much comes from the full stop. From which word should it come?",
            ),
        ),
        hints=(
            "Target words ask, so they have the rows. Source words are asked.",
            "Go to the row of *Apfel*.",
            "Then to the column of *apple*, the last word before the full stop.",
        ),
        solution=(
            f"Row *Apfel*, column *apple*: {value}. The table has {len(rows)} rows and"
            f" {len(columns)}"
            " columns, and each row adds up to 1."
        ),
    )


# --- in the notebook -----------------------------------------------------------------------------


def _attend(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    return scaled_dot_product_attention(q, k, v)[0]


def _by(
    X: np.ndarray, memory: np.ndarray, W_Q: np.ndarray, W_K: np.ndarray, W_V: np.ndarray
) -> np.ndarray:
    return _attend(X @ W_Q, memory @ W_K, memory @ W_V)


def _scaled(root: Callable[..., float]) -> Callable[..., np.ndarray]:
    """Return the layer with its scores divided by something else."""

    def compute(X, memory, W_Q, W_K, W_V):  # type: ignore[no-untyped-def]
        scores = (X @ W_Q) @ np.swapaxes(memory @ W_K, -1, -2) / root(X, memory, W_Q, W_V)
        return softmax(scores) @ (memory @ W_V)

    return compute


def _other_axis(X, memory, W_Q, W_K, W_V):  # type: ignore[no-untyped-def]
    scores = (X @ W_Q) @ np.swapaxes(memory @ W_K, -1, -2) / np.sqrt(W_Q.shape[1])
    weights = np.swapaxes(softmax(np.swapaxes(scores, -1, -2)), -1, -2)
    return weights @ (memory @ W_V)


def _causal(X, memory, W_Q, W_K, W_V):  # type: ignore[no-untyped-def]
    triangle = causal_mask(X.shape[-2], memory.shape[-2])
    return scaled_dot_product_attention(X @ W_Q, memory @ W_K, memory @ W_V, triangle)[0]


def _layer_case(
    rng: np.random.Generator, batch: tuple[int, ...] = (), one_width: bool = False, n_q: int = 0
) -> Case:
    length, n_k, d_model, d_memory, d_k = sizes(rng, 5)
    d_v = d_k + 1
    n_q = n_q or length
    if one_width:
        d_memory = d_model
    args = (
        numbers(rng, *batch, n_q, d_model) / 2,
        numbers(rng, *batch, n_k, d_memory) / 2,
        numbers(rng, d_model, d_k) / 2,
        numbers(rng, d_memory, d_k) / 2,
        numbers(rng, d_memory, d_v),
    )
    return Case(args, _by(*args))


@register("cross_attention.layer")
def layer() -> Code:
    """Write one head of cross-attention."""
    return Code(
        title="One head between two sequences",
        function="cross_head",
        prompt=(
            "Write one head of cross-attention. `X` (..., n_q, d_model) asks; `memory` (..., n_k,"
            " d_memory) is asked. `W_Q` is (d_model, d_k), `W_K` (d_memory, d_k), `W_V` (d_memory,"
            " d_v). Return the output, (..., n_q, d_v). A batch may stand in front of both"
            " sequences."
        ),
        stub=(
            "def cross_head(X, memory, W_Q, W_K, W_V):\n"
            '    """Return what each row of X brings home from the memory."""\n'
            '    raise NotImplementedError("cross_attention.layer")\n'
        ),
        rungs=(
            Rung(
                "one query",
                lambda rng: _layer_case(rng, n_q=1),
                "One row asks. Over which axis does its weight sum to 1, and what is weighted?",
                (
                    Slip(
                        "the queries' axis",
                        _other_axis,
                        "With a single query all your weights are 1. Along which axis is the"
                        " softmax taken?",
                    ),
                    Slip(
                        "not scaled",
                        _scaled(lambda X, m, W_Q, W_V: 1.0),
                        "Your scores are the bare dot products. What are they divided by?",
                    ),
                    Slip(
                        "divided by d_k",
                        _scaled(lambda X, m, W_Q, W_V: float(W_Q.shape[1])),
                        "You divided by d_k. By which power of it should you?",
                    ),
                    Slip(
                        "the root of d_v",
                        _scaled(lambda X, m, W_Q, W_V: float(np.sqrt(W_V.shape[1]))),
                        "You divided by the root of d_v. How many terms does a dot product of a"
                        " query and a key have?",
                    ),
                    Slip(
                        "the root of d_model",
                        _scaled(lambda X, m, W_Q, W_V: float(np.sqrt(X.shape[-1]))),
                        "You divided by the root of the decoder's width. What is the length of a"
                        " query?",
                    ),
                    Slip(
                        "the first key",
                        _causal,
                        "Your only query sees the first source word and no other. Which rule hid"
                        " the rest, and has it a place here?",
                    ),
                    Slip(
                        "equal weights",
                        lambda X, m, W_Q, W_K, W_V: (
                            0 * (X @ W_Q).sum(-1, keepdims=True)
                            + (m @ W_V).mean(axis=-2, keepdims=True)
                        ),
                        "You took the plain mean of the values. What became of the question?",
                    ),
                ),
                crash=(
                    "Two widths do not fit. Which of the two sequences has as many columns as W_K"
                    " has rows?"
                ),
            ),
            Rung(
                "two sequences of one width",
                lambda rng: _layer_case(rng, one_width=True),
                "Here both sequences have one width, so a swapped array runs. Which one asks?",
                (
                    Slip(
                        "the decoder asks itself",
                        lambda X, m, W_Q, W_K, W_V: _by(X, X, W_Q, W_K, W_V),
                        "Your output never reads the memory. Where do your keys and values come"
                        " from?",
                    ),
                    Slip(
                        "the memory asks",
                        lambda X, m, W_Q, W_K, W_V: _by(m, X, W_Q, W_K, W_V),
                        "Your output has a row for each source word. Who asks?",
                    ),
                    Slip(
                        "the memory asks itself",
                        lambda X, m, W_Q, W_K, W_V: _by(m, m, W_Q, W_K, W_V),
                        "Your output never reads X. Where do your queries come from?",
                    ),
                    Slip(
                        "keys and values exchanged",
                        lambda X, m, W_Q, W_K, W_V: _attend(X @ W_Q, m @ W_K, m @ W_K),
                        "You handed over keys. What is it that a found word pays out?",
                    ),
                ),
            ),
            Rung(
                "more rows",
                _layer_case,
                "Each row of X asks for itself. Which of your rows differs from the row alone?",
                (
                    Slip(
                        "causal",
                        _causal,
                        "Your early rows do not see the end of the source. Is there a part of the"
                        " source that is not yet known?",
                    ),
                ),
            ),
            Rung(
                "a batch in front",
                lambda rng: _layer_case(rng, batch=(2,)),
                "Two pairs in a batch: which sentence's memory does the second pair read?",
                crash=(
                    "`.T` turns all axes around, the batch's too. Which two axes should change"
                    " places?"
                ),
            ),
        ),
        hints=(
            "Three products first: q from X, k and v from the memory.",
            "The scores are q times k with its last two axes swapped, over the root of d_k.",
            "`np.swapaxes(k, -1, -2)` leaves a batch in front alone; the softmax runs along the"
            " last axis.",
        ),
        solution=(
            "```python\n"
            "def cross_head(X, memory, W_Q, W_K, W_V):\n"
            "    q, k, v = X @ W_Q, memory @ W_K, memory @ W_V\n"
            "    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(W_Q.shape[1])\n"
            "    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))\n"
            "    return powers / powers.sum(axis=-1, keepdims=True) @ v\n"
            "```\n\n"
            "Self-attention is the call `cross_head(X, X, W_Q, W_K, W_V)`."
        ),
    )


def _hide(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, may_look: np.ndarray, what: float = -np.inf
) -> np.ndarray:
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    return softmax(np.where(may_look, scores, what)) @ v


def _real(k: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    return np.arange(k.shape[-2]) < np.asarray(lengths)[:, None, None]


def _of_queries(q: np.ndarray, k: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    rows = np.arange(q.shape[-2]) < np.asarray(lengths)[:, None]
    return rows[:, :, None] & np.ones(k.shape[-2], dtype=bool)


def _late(q: np.ndarray, k: np.ndarray, v: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    return np.where(_real(k, lengths), softmax(scores), 0.0) @ v


def _padded_case(rng: np.random.Generator, batch: int) -> Case:
    n_q, n_k = (int(n) for n in rng.permutation([6, 7]))
    d_k, d_v = (int(n) for n in rng.permutation([3, 5]))
    lengths = rng.choice(np.arange(2, n_k), size=batch, replace=False)
    if batch > 1:
        lengths = np.sort(lengths)
        lengths[[0, 1]] = lengths[[1, 0]]
    q, k = numbers(rng, batch, n_q, d_k) / 2, numbers(rng, batch, n_k, d_k) / 2
    v = numbers(rng, batch, n_k, d_v)
    return Case((q, k, v, lengths), _hide(q, k, v, _real(k, lengths)))


@register("cross_attention.padded")
def padded() -> Code:
    """Write attention from targets to padded sources of unequal length."""
    return Code(
        title="Sources of unequal length",
        function="from_padded_sources",
        prompt=(
            "A batch of translations. `q` (batch, n_q, d_k) are the target's queries, `k` (batch,"
            " n_k, d_k) and `v` (batch, n_k, d_v) come from memories that are filled up with pads"
            " at the end. `source_lengths` says how many rows of each memory are real, at least"
            " one. Return the output, (batch, n_q, d_v). Each pair must get what it would get"
            " alone."
        ),
        stub=(
            "def from_padded_sources(q, k, v, source_lengths):\n"
            '    """Return what each query brings home from the real rows of its source."""\n'
            '    raise NotImplementedError("cross_attention.padded")\n'
        ),
        rungs=(
            Rung(
                "one pair",
                lambda rng: _padded_case(rng, 1),
                "Cut the pads off by hand and compute the pair alone. Where does yours differ?",
                (
                    Slip(
                        "no mask",
                        lambda q, k, v, n: _attend(q, k, v),
                        "Your queries look at the pads. What became of `source_lengths`?",
                    ),
                    Slip(
                        "rows hidden",
                        lambda q, k, v, n: _hide(q, k, v, _of_queries(q, k, n)),
                        "You hid queries by the source's lengths. Which axis of the scores belongs"
                        " to the source?",
                    ),
                    Slip(
                        "zero hides",
                        lambda q, k, v, n: _hide(q, k, v, _real(k, n), 0.0),
                        "You gave pads the score 0, and they got e to the power 0. Which score"
                        " gets nothing?",
                    ),
                    Slip(
                        "values of pads zeroed",
                        _late,
                        "Your pads bring nothing, and still they take a share of every row. Who"
                        " else's weight must grow?",
                    ),
                    Slip(
                        "the inverted mask",
                        lambda q, k, v, n: _hide(q, k, v, ~_real(k, n)),
                        "You read the pads and nothing else. What does True mean in your mask?",
                    ),
                    Slip(
                        "one pad left",
                        lambda q, k, v, n: _hide(q, k, v, _real(k, np.asarray(n) + 1)),
                        "The first pad is still seen. Is key number `length` real, when the first"
                        " has number 0?",
                    ),
                    Slip(
                        "one word lost",
                        lambda q, k, v, n: _hide(q, k, v, _real(k, np.asarray(n) - 1)),
                        "The last real word is hidden. With a length of 2, which numbers do the"
                        " real keys have?",
                    ),
                    Slip(
                        "causal too",
                        lambda q, k, v, n: _hide(
                            q, k, v, _real(k, n) & causal_mask(q.shape[-2], k.shape[-2])
                        ),
                        "Your early queries do not see the end of the source. Which of its words"
                        " are not yet written?",
                    ),
                ),
            ),
            Rung(
                "three pairs",
                lambda rng: _padded_case(rng, 3),
                "Each source has its own length. Whose did you use for the second pair?",
                (
                    Slip(
                        "the first one's length for all",
                        lambda q, k, v, n: _hide(
                            q, k, v, _real(k, np.repeat(np.asarray(n)[0], len(n)))
                        ),
                        "Every pair got the length of the first. Along which axis do the lengths"
                        " run?",
                    ),
                    Slip(
                        "the longest for all",
                        lambda q, k, v, n: _hide(q, k, v, _real(k, np.repeat(np.max(n), len(n)))),
                        "Every pair got the length of the longest. Who sees pads then?",
                    ),
                    Slip(
                        "the shortest for all",
                        lambda q, k, v, n: _hide(q, k, v, _real(k, np.repeat(np.min(n), len(n)))),
                        "Every pair got the length of the shortest. Who loses words then?",
                    ),
                ),
                crash=(
                    "A mask of shape (batch, n_k) meets scores of shape (batch, n_q, n_k), and"
                    " numpy lines up the last axes. Which axis of size 1 is missing?"
                ),
            ),
        ),
        hints=(
            "The scores have the axes pair, query, key. A pad is a key.",
            "Number the keys from 0, and hide those that are not below the length: −inf, before"
            " the softmax.",
            "`np.arange(n_k) < np.asarray(source_lengths)[:, None, None]` has shape (batch, 1,"
            " n_k).",
        ),
        solution=(
            "```python\n"
            "def from_padded_sources(q, k, v, source_lengths):\n"
            "    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])\n"
            "    real = np.arange(k.shape[1]) < np.asarray(source_lengths)[:, None, None]\n"
            "    scores = np.where(real, scores, -np.inf)\n"
            "    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))\n"
            "    return powers / powers.sum(axis=-1, keepdims=True) @ v\n"
            "```\n\n"
            "The target's lengths are not needed: nobody looks at a query."
        ),
    )


def _stack(
    X: np.ndarray,
    memory: np.ndarray,
    W_Q: np.ndarray,
    W_K: np.ndarray,
    W_V: np.ndarray,
    key: Callable[[int], int] = lambda i: i,
    value: Callable[[int], int] = lambda i: i,
    *,
    first_asks: bool = False,
    residual: bool = True,
    grows: bool = False,
) -> np.ndarray:
    """Run the stack of the exercise; the options are its slips."""
    x = X
    for i in range(len(W_Q)):
        asks = X if first_asks else x
        read = _attend(asks @ W_Q[i], memory @ W_K[key(i)], memory @ W_V[value(i)])
        x = x + read if residual else read
        if grows:
            memory = memory + _attend(memory @ W_K[i], memory @ W_K[i], memory)
    return x


def _slipped(**options: Any) -> Callable[..., np.ndarray]:
    """Return the stack with one thing wrong."""
    return lambda X, memory, W_Q, W_K, W_V: _stack(X, memory, W_Q, W_K, W_V, **options)


def _first(_: int) -> int:
    return 0


def _at_most_one(i: int) -> int:
    return min(i, 1)


def _stack_case(rng: np.random.Generator, n_layers: int) -> Case:
    n_q, n_k, d_model, d_memory, d_k = sizes(rng, 5)
    args = (
        numbers(rng, n_q, d_model) / 2,
        numbers(rng, n_k, d_memory) / 2,
        numbers(rng, n_layers, d_model, d_k) / 2,
        numbers(rng, n_layers, d_memory, d_k) / 2,
        numbers(rng, n_layers, d_memory, d_model) / 2,
    )
    return Case(args, _stack(*args))


@register("cross_attention.repair")
def repair() -> Code:
    """Repair a stack of layers that share what should be their own."""
    return Code(
        title="Repair this code",
        function="decode",
        prompt=(
            "A bare decoder: layer after layer adds to its rows what it reads in the memory. `W_Q`"
            " is (n_layers, d_model, d_k), `W_K` (n_layers, d_memory, d_k), `W_V` (n_layers,"
            " d_memory, d_model). With one layer the code is right; with more, it is wrong in two"
            " places. Repair it. Remove the `raise` when you begin."
        ),
        stub=(
            "def decode(X, memory, W_Q, W_K, W_V):\n"
            '    """Return X after all layers, each with its own keys and values."""\n'
            '    raise NotImplementedError("cross_attention.repair")\n'
            "    k, v = memory @ W_K[0], memory @ W_V[0]\n"
            "    x = X\n"
            "    for i in range(len(W_Q)):\n"
            "        scores = (X @ W_Q[i]) @ k.T / np.sqrt(k.shape[1])\n"
            "        powers = np.exp(scores - scores.max(axis=-1, keepdims=True))\n"
            "        x = x + powers / powers.sum(axis=-1, keepdims=True) @ v\n"
            "    return x\n"
        ),
        rungs=(
            Rung(
                "one layer",
                lambda rng: _stack_case(rng, 1),
                "With one layer the code was right. What have you changed besides?",
                (
                    Slip(
                        "no residual",
                        _slipped(residual=False),
                        "Your layer returns what it has read, and no more. What was it to be added"
                        " to?",
                    ),
                    Slip(
                        "nothing read",
                        lambda X, m, *W: 1.0 * X,
                        "You returned X as it came. Where is what was read?",
                    ),
                    Slip(
                        "added twice",
                        lambda X, m, *W: 2 * _stack(X, m, *W) - X,
                        "What was read has been added twice. How often does a layer read?",
                    ),
                ),
            ),
            Rung(
                "two layers",
                lambda rng: _stack_case(rng, 2),
                "Layer 1 is right. What does layer 2 ask with, and what is it asked through?",
                (
                    Slip(
                        "as printed",
                        _slipped(key=_first, value=_first, first_asks=True),
                        "Two things stand still from layer to layer that should not. Which arrays"
                        " are made before the loop, and which rows ask?",
                    ),
                    Slip(
                        "shared keys and values",
                        _slipped(key=_first, value=_first),
                        "Your second layer reads with the matrices of the first. Whose keys and"
                        " values should it use?",
                    ),
                    Slip(
                        "shared keys",
                        _slipped(key=_first),
                        "Your second layer looks for words by the keys of the first. Which matrix"
                        " makes its own?",
                    ),
                    Slip(
                        "shared values",
                        _slipped(value=_first),
                        "Your second layer is handed the values of the first. Which matrix makes"
                        " its own?",
                    ),
                    Slip(
                        "the first rows ask",
                        _slipped(first_asks=True),
                        "Your second layer asks as if the first had read nothing. Which rows should"
                        " ask?",
                    ),
                    Slip(
                        "the order of the layers",
                        lambda X, m, *W: _stack(X, m, *(w[::-1] for w in W)),
                        "You ran the last layer first. Does the order matter, when each asks with"
                        " what the one before has read?",
                    ),
                    Slip(
                        "no residual",
                        _slipped(residual=False),
                        "Your second layer threw away what the rows held. What is added to what?",
                    ),
                    Slip(
                        "another memory",
                        _slipped(grows=True),
                        "Your memory changes from layer to layer. What does the encoder hand over,"
                        " and how often?",
                    ),
                ),
            ),
            Rung(
                "three layers",
                lambda rng: _stack_case(rng, 3),
                "Two layers were right. What is different in the third?",
                (
                    Slip(
                        "the last but one",
                        _slipped(key=_at_most_one, value=_at_most_one),
                        "Your third layer uses the matrices of the second. Which index do you"
                        " take?",
                    ),
                ),
            ),
        ),
        hints=(
            "Write down, for layer 2, where its q, its k and its v come from.",
            "One memory, but keys and values of its own for each layer: what must move into the"
            " loop?",
            "The rows that ask are those that the layer before has changed: `x`, not `X`.",
        ),
        solution=(
            "```python\n"
            "def decode(X, memory, W_Q, W_K, W_V):\n"
            "    x = X\n"
            "    for i in range(len(W_Q)):\n"
            "        k, v = memory @ W_K[i], memory @ W_V[i]\n"
            "        scores = (x @ W_Q[i]) @ k.T / np.sqrt(k.shape[1])\n"
            "        powers = np.exp(scores - scores.max(axis=-1, keepdims=True))\n"
            "        x = x + powers / powers.sum(axis=-1, keepdims=True) @ v\n"
            "    return x\n"
            "```\n\n"
            "All keys and values may still be made before the first word is written: one pair for"
            " *each layer*."
        ),
    )


Attend = Callable[[np.ndarray, np.ndarray], np.ndarray]


def _someones(rng: np.random.Generator, kind: str, d_model: int, d_memory: int, n_k: int) -> Attend:
    """Return somebody's cross-attention, honest or not."""
    W_Q, W_K, W_V, W_X = (
        0.4 * rng.normal(size=(n, 4)) for n in (d_model, d_memory, d_memory, d_model)
    )
    W_Q, W_K = W_Q / 2, W_K / 2  # no weight so small that an honest movement looks like rounding
    if kind == "one column":  # only the memory's last column matters
        W_K[:-1], W_V[:-1] = 0.0, 0.0
    if kind == "cancels":  # what one output column gains, the other loses
        W_V = np.stack([W_V[:, 0], -W_V[:, 0]], axis=1)
    hidden = n_k - 2

    def attend(X: np.ndarray, memory: np.ndarray) -> np.ndarray:
        q, k, v = X @ W_Q, memory @ W_K, memory @ W_V
        may_look = np.ones((len(X), len(memory)), dtype=bool)
        if kind == "pads":
            may_look[:, hidden:] = False
        if kind == "causal":
            may_look = causal_mask(len(X), len(memory))
        if kind == "deaf":
            k, v = X @ W_X, X @ W_Q
            may_look = np.ones((len(X), len(X)), dtype=bool)
        scores = q @ k.T / 2
        if kind == "faint":
            scores = scores - 14.0 * (np.arange(len(memory)) >= hidden)
        return softmax(np.where(may_look, scores, -np.inf)) @ v

    return attend


def _footprint(
    attend: Attend, X: np.ndarray, memory: np.ndarray, least: float = 1e-9
) -> np.ndarray:
    before, table = attend(X, memory), np.zeros((len(X), len(memory)))
    for j in range(len(memory)):
        changed = memory.copy()
        changed[j] += 1.0
        table[:, j] = np.abs(attend(X, changed) - before).max(axis=1) > least
    return table


def _footprint_case(kind: str) -> Callable[[np.random.Generator], Case]:
    def draw(rng: np.random.Generator) -> Case:
        n_q, n_k = (int(n) for n in rng.permutation([5, 7]))
        d_model, d_memory = (int(n) for n in rng.permutation([2, 3]))
        attend = _someones(rng, kind, d_model, d_memory, n_k)
        X, memory = numbers(rng, n_q, d_model) / 4, numbers(rng, n_k, d_memory) / 4
        reach = np.ones((n_q, n_k))
        if kind == "pads":
            reach[:, n_k - 2 :] = 0.0
        elif kind == "causal":
            reach = causal_mask(n_q, n_k).astype(float)
        elif kind == "deaf":
            reach[:] = 0.0
        return Case((attend, X, memory), reach)

    return draw


def _first_column(attend: Attend, X: np.ndarray, memory: np.ndarray) -> np.ndarray:
    before, table = attend(X, memory), np.zeros((len(X), len(memory)))
    for j in range(len(memory)):
        changed = memory.copy()
        changed[j, 0] += 1.0
        table[:, j] = np.abs(attend(X, changed) - before).max(axis=1) > 1e-9
    return table


def _by_sums(attend: Attend, X: np.ndarray, memory: np.ndarray) -> np.ndarray:
    before, table = attend(X, memory).sum(axis=1), np.zeros((len(X), len(memory)))
    for j in range(len(memory)):
        changed = memory.copy()
        changed[j] += 1.0
        table[:, j] = np.abs(attend(X, changed).sum(axis=1) - before) > 1e-9
    return table


def _any_row(attend: Attend, X: np.ndarray, memory: np.ndarray) -> np.ndarray:
    return 0 * _footprint(attend, X, memory) + _footprint(attend, X, memory).max(axis=0)


def _of_targets(attend: Attend, X: np.ndarray, memory: np.ndarray) -> np.ndarray:
    before, table = attend(X, memory), np.zeros((len(X), len(X)))
    for t in range(len(X)):
        changed = X.copy()
        changed[t] += 1.0
        table[:, t] = np.abs(attend(changed, memory) - before).max(axis=1) > 1e-9
    return table


@register("cross_attention.footprint")
def footprint() -> Code:
    """Write the test that shows what a decoder can see of the source."""
    return Code(
        title="Write the test that exposes it",
        function="footprint",
        prompt=(
            "`attend(X, memory)` is somebody's cross-attention: X has shape (n_q, d_model), the"
            " memory (n_k, d_memory), the output one row for each row of X. You see neither"
            " matrices nor masks. Return a table (n_q, n_k) of 1 and 0: 1 where changing source"
            " row j moves output row t. On the ladder wait an honest layer, one with hidden pads,"
            " one with a triangle that should not be there, one that never reads the source, and"
            " three that hide from careless tests."
        ),
        stub=(
            "def footprint(attend, X, memory):\n"
            '    """Return 1 where source row j moves output row t, else 0: (n_q, n_k)."""\n'
            '    raise NotImplementedError("cross_attention.footprint")\n'
        ),
        rungs=(
            Rung(
                "an honest layer",
                _footprint_case("honest"),
                "In this layer every output row depends on every source row. Which entry of your"
                " table says otherwise?",
                (
                    Slip(
                        "transposed",
                        lambda attend, X, m: _footprint(attend, X, m).T,
                        "Your table has a row for each source row. Which sequence do its rows"
                        " belong to?",
                    ),
                    Slip(
                        "the target changed",
                        _of_targets,
                        "You changed rows of X. Which sequence should be changed?",
                    ),
                    Slip(
                        "nothing moves",
                        lambda attend, X, m: np.zeros((len(X), len(m))),
                        "You found that nothing moves. Did the changed memory reach `attend`, and"
                        " what was its output compared with?",
                    ),
                    Slip(
                        "how much it moves",
                        lambda attend, X, m: np.stack(
                            [
                                np.abs(
                                    attend(X, m + (np.arange(len(m)) == j)[:, None]) - attend(X, m)
                                ).max(axis=1)
                                for j in range(len(m))
                            ],
                            axis=1,
                        ),
                        "You returned how far each row moves. What is asked for: how far, or"
                        " whether?",
                    ),
                ),
                crash="Your test stopped. What does `attend` take, and what does it return?",
            ),
            Rung(
                "hidden pads",
                _footprint_case("pads"),
                "The last two source rows of this layer are pads, hidden by a mask. What does your"
                " table say of them?",
                (
                    Slip(
                        "all ones",
                        lambda attend, X, m: np.ones((len(X), len(m))),
                        "You say that all is seen. Did you run the layer at all?",
                    ),
                ),
            ),
            Rung(
                "a triangle",
                _footprint_case("causal"),
                "Somebody laid a causal mask on the source. Is each output row judged by itself?",
                (
                    Slip(
                        "any row",
                        _any_row,
                        "You asked whether any output row moves. Which rows are they?",
                    ),
                ),
            ),
            Rung(
                "deaf",
                _footprint_case("deaf"),
                "This layer takes its keys and values from X: the source moves nothing. What did"
                " your test see moving?",
            ),
            Rung(
                "one column",
                _footprint_case("one column"),
                "This layer reads only the last column of the memory. Did your change reach it?",
                (
                    Slip(
                        "only the first column changed",
                        _first_column,
                        "You changed one number of a source row, and this layer reads another."
                        " Which numbers of the row should change?",
                    ),
                ),
            ),
            Rung(
                "two that cancel",
                _footprint_case("cancels"),
                "In this layer what one output column gains, the other loses. What do you compare?",
                (
                    Slip(
                        "sums of rows",
                        _by_sums,
                        "You compared sums of output rows. Can a row move while its sum stays?",
                    ),
                ),
            ),
            Rung(
                "faint",
                _footprint_case("faint"),
                "Two source rows are pushed down by 14 and not hidden: e to the power −14 is small"
                " and not 0. How large must a movement be for you to count it?",
                (
                    Slip(
                        "small movements ignored",
                        lambda attend, X, m: _footprint(attend, X, m, 1e-4),
                        "You let small movements pass. From which size on is a movement more than"
                        " rounding?",
                    ),
                ),
            ),
        ),
        hints=(
            "Run the layer once as it is. Then, for each source row j, change that row in a copy"
            " of the memory and run it again.",
            "Column j of the table: which output rows differ from before, in any of their numbers?",
            "Change the whole row, and count a movement from 1e-9 on.",
        ),
        solution=(
            "```python\n"
            "def footprint(attend, X, memory):\n"
            "    before = attend(X, memory)\n"
            "    table = np.zeros((len(X), len(memory)))\n"
            "    for j in range(len(memory)):\n"
            "        changed = memory.copy()\n"
            "        changed[j] += 1.0\n"
            "        moved = np.abs(attend(X, changed) - before).max(axis=1)\n"
            "        table[:, j] = moved > 1e-9\n"
            "    return table\n"
            "```\n\n"
            "No look inside is needed: a wrong mask, a wrong input and a wrong wiring all leave"
            " their footprint."
        ),
    )
