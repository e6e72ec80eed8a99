"""The exercises of chapter 5: where Q, K and V come from."""

# ruff: noqa: RUF001 (a minus sign is a minus sign)

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from qkv.checks.answers import written
from qkv.checks.arrangement import Cell, Match
from qkv.checks.engine import register
from qkv.checks.exercise import Case, Choice, Code, Number, Option, Row, Rung, Slip, Wrong
from qkv.checks.ladder import numbers, sizes
from qkv.core.dot_product import dot_product_scores
from qkv.core.projections import project, project_qkv
from qkv.core.scaled_dot_product import scaled_dot_product_attention
from qkv.data import running_example


def _matrix(array: np.ndarray) -> str:
    rows = r" \\ ".join(" & ".join(f"{entry:g}" for entry in row) for row in array)
    return rf"\begin{{bmatrix}} {rows} \end{{bmatrix}}"


# --- in the page ---------------------------------------------------------------------------------


@register("projections.shapes")
def shapes() -> Row:
    """Lengthen the sentence; see what grows."""
    n, d_model, d_k = 50, 8, 4
    X, W_Q = np.ones((n, d_model)), np.ones((d_model, d_k))
    q = project(X, W_Q)
    right = (*q.shape, W_Q.size)
    return Row(
        title="Five tokens become fifty",
        prompt=(
            rf"A sentence of 5 tokens has $\X$ of shape (5, {d_model}), $\WQ$ of shape"
            rf" ({d_model}, {d_k}) and $\Q$ of shape (5, {d_k}). The next sentence has {n} tokens."
            r" How many rows and columns has $\Q$ now, and how many numbers does $\WQ$ hold?"
        ),
        labels=("rows of Q", "columns of Q", "numbers in W_Q"),
        answer=tuple(float(size) for size in right),
        right=(
            "Right. Q grew with the sentence, W_Q did not: one is computed from the input, the"
            " other was learned before the sentence was known."
        ),
        otherwise="Which of the three sizes has the number of tokens in it?",
        wrong=(
            Wrong(
                (n, d_k, n * d_k),
                "You counted the numbers in Q. Which array maps 8 columns to 4, and is it made of"
                " tokens?",
            ),
            Wrong(
                (n, d_k, 10 * d_model * d_k),
                "You let W_Q grow with the sentence. Would it then have to be learned anew for"
                " every length?",
            ),
            Wrong(
                (n, d_model, d_model * d_k),
                "That is the shape of X. What does the multiplication by W_Q do to the columns?",
            ),
            Wrong(
                (d_k, n, d_model * d_k),
                "In this book one row is one token. Which of the two numbers is the tokens?",
            ),
            Wrong(
                (5, d_k, d_model * d_k),
                "Q still has 5 rows. Who asks in the new sentence?",
            ),
        ),
        hints=(
            "Q has one row for each token: each token asks its own question.",
            r"$\X\WQ$ has the rows of $\X$ and the columns of $\WQ$.",
            f"W_Q maps {d_model} columns to {d_k}, whatever the number of rows:"
            f" {d_model} · {d_k} numbers.",
        ),
        solution=(
            f"Q has shape {q.shape}; W_Q still holds {d_model} · {d_k} = {W_Q.size} numbers. The"
            " number of tokens n stands in no W."
        ),
    )


@register("projections.entry")
def entry() -> Number:
    """Compute one entry of Q by hand."""
    X = np.array([[1.0, 1, 2], [2, -1, 3]])
    W_Q = np.array([[2.0, 1, 0, 3, 1], [0, 4, 1, -2, 5], [1, 0, 2, 1, -1]])
    q = project(X, W_Q)
    i, j = 1, 3
    terms = " + ".join(
        f"({x:g})({w:g})".replace("-", "−") for x, w in zip(X[i], W_Q[:, j], strict=True)
    )
    return Number(
        title="One entry of Q",
        prompt=(
            rf"$$\begin{{gathered}} \X = {_matrix(X)} \\[1.5ex]"
            rf" \WQ = {_matrix(W_Q)} \end{{gathered}}$$"
            "\n\n"
            rf"What stands in $\Q = \X\WQ$ in the second row and the fourth column?"
        ),
        label="The entry of Q",
        answer=float(q[i, j]),
        right=(
            "Right. You read one row of X and one column of W_Q. The other token's row was not"
            " needed, and it never is."
        ),
        otherwise=(
            "The entry is a dot product of three pairs. Which row of X and which column of W_Q go"
            " in?"
        ),
        wrong=(
            Wrong(
                float(q[i - 1, j]),
                "That is the entry above it. Which row of X is the second?",
            ),
            Wrong(
                float(q[i, j - 1]),
                "That is the entry to its left. Which column of W_Q is the fourth?",
            ),
            Wrong(
                float(q[i, j + 1]),
                "That is the entry to its right. Do you count columns from zero here? The question"
                " says: the fourth.",
            ),
            Wrong(
                float(np.abs(X[i]) @ W_Q[:, j]),
                "One sign got lost. What is −1 times −2?",
            ),
            Wrong(
                float(X[i].sum() * W_Q[:, j].sum()),
                "You added first and multiplied then. Which pairs should meet?",
            ),
        ),
        hints=(
            "An entry of a product is a row of the left matrix times a column of the right one.",
            "Second row of X, fourth column of W_Q: three numbers each.",
            f"It is {terms}.",
        ),
        solution=f"{terms} = {q[i, j]:g}.",
    )


@register("projections.cross")
def cross() -> Choice:
    """Say which arrays follow which sentence in cross-attention."""
    rng = np.random.default_rng(0)
    n_q, n_k, d_q, d_kv, d_k, d_v = 7, 5, 8, 9, 4, 2
    q, k, v = project_qkv(
        numbers(rng, n_q, d_q),
        numbers(rng, n_k, d_kv),
        numbers(rng, d_q, d_k),
        numbers(rng, d_kv, d_k),
        numbers(rng, d_kv, d_v),
    )
    five = {name for name, array in (("Q", q), ("K", k), ("V", v)) if len(array) == n_k}
    score_shape = dot_product_scores(q, k).shape
    return Choice(
        title="Two sentences, three arrays",
        prompt=(
            f"A decoder with {n_q} German tokens looks at an encoder with {n_k} English tokens."
            rf" Which of $\Q$, $\K$, $\V$ have {n_k} rows?"
        ),
        options=(
            Option(
                r"only $\V$",
                "The values come from English, yes. Each value is found by its key: how many keys"
                " must there be?",
                five == {"V"},
            ),
            Option(
                r"$\Q$ and $\K$",
                "Q and K meet in the scores, but they need only the same width. Who asks here:"
                " English or German?",
                five == {"Q", "K"},
            ),
            Option(
                r"$\K$ and $\V$",
                "Who asks gives Q, one row for each German token; what is looked at gives K and V,"
                f" one row each for each English token. The scores are {score_shape[0]} by"
                f" {score_shape[1]}.",
                five == {"K", "V"},
            ),
            Option(
                "all three",
                "Then English would ask English. What is the decoder's part?",
                five == {"Q", "K", "V"},
            ),
        ),
        hints=(
            "Ask of each array: whose tokens are its rows?",
            "The decoder asks: one query for each of *its* tokens.",
            "A key without a value would be found and have nothing to give. So K and V have equally"
            " many rows.",
        ),
        solution=(
            f"**K and V.** Q has shape {q.shape} and is made from the decoder's X_q; K {k.shape}"
            f" and V {v.shape} are made from the encoder's output X_kv. The number of rows of Q"
            " is free; K and V must agree."
        ),
    )


@register("projections.ledger")
def ledger() -> Choice:
    """Tell what is learned from what is computed."""
    rng = np.random.default_rng(0)
    weights = [numbers(rng, 8, 4), numbers(rng, 8, 4), numbers(rng, 8, 2)]
    before = [array.copy() for array in weights]
    first, second = numbers(rng, 5, 8), numbers(rng, 5, 8)
    one, two = project_qkv(first, first, *weights), project_qkv(second, second, *weights)
    changes = [not np.allclose(a, b) for a, b in zip(one, two, strict=True)]
    q_changes, k_changes, v_changes = changes
    w_changes = any(not np.array_equal(a, b) for a, b in zip(weights, before, strict=True))
    return Choice(
        title="Learned or computed?",
        prompt=(
            "Training is over. You give the model one sentence of 5 tokens, then another one of 5"
            " tokens. Which arrays hold other numbers the second time?"
        ),
        options=(
            Option(
                r"$\Q$, $\K$ and $\V$",
                "Each is the new X times a matrix that stayed. They live for one sentence and are"
                " thrown away.",
                q_changes and k_changes and v_changes and not w_changes,
            ),
            Option(
                r"$\WQ$, $\WK$, $\WV$, $\Q$, $\K$ and $\V$",
                "What would have to happen for a W to change, and is it over?",
                w_changes and q_changes,
            ),
            Option(
                r"$\WQ$, $\WK$ and $\WV$",
                "The W's were learned. What goes into X W_Q besides W_Q, and is it the same"
                " sentence?",
                w_changes and not q_changes,
            ),
            Option(
                r"only $\Q$: keys and values are stored in the model",
                "The names suggest a store, but K and V are X times a matrix, as Q is. Which X?",
                q_changes and not k_changes,
            ),
        ),
        hints=(
            "Ask of each array: is the sentence in its formula?",
            r"$\Q = \X\WQ$: of the two factors, one is the sentence and one is the model.",
            "The model's own numbers change only while it is trained.",
        ),
        solution=(
            "**Q, K and V.** The three W's are parameters: learned, stored, the same for every"
            " sentence. Q, K and V are computed from the sentence, every time anew."
        ),
    )


@register("projections.swap")
def swap() -> Choice:
    """Swap two tokens and follow the rows."""
    rng = np.random.default_rng(0)
    X, W_Q, W_K = numbers(rng, 5, 8), numbers(rng, 8, 4), numbers(rng, 8, 4)
    order = [0, 3, 2, 1, 4]
    q, q_swapped = project(X, W_Q), project(X[order], W_Q)
    scores = dot_product_scores(q, project(X, W_K))
    scores_swapped = dot_product_scores(q_swapped, project(X[order], W_K))
    rows_follow = np.allclose(q_swapped, q[order])
    both_follow = np.allclose(scores_swapped, scores[order][:, order])
    only_rows = np.allclose(scores_swapped, scores[order])
    same = np.allclose(q_swapped, q)
    return Choice(
        title="Two tokens swap places",
        prompt=(
            r"In self-attention, rows 1 and 3 of $\X$ swap places; nothing else changes. What"
            r" happens to $\Q = \X\WQ$ and to the scores $\Q\K\T$?"
        ),
        options=(
            Option(
                r"rows 1 and 3 of $\Q$ swap; all scores are new numbers",
                "If no row of Q or K holds a new number, how can a dot product of two of them?",
                rows_follow and not both_follow and not only_rows,
            ),
            Option(
                r"rows 1 and 3 of $\Q$ swap; in the scores rows 1 and 3 swap",
                "The rows of the scores belong to the queries. Whose are the columns, and did those"
                " tokens move too?",
                rows_follow and only_rows,
            ),
            Option(
                r"every row of $\Q$ changes a little, because each word sees the others",
                "Which rows of X does row 0 of X W_Q read?",
                not rows_follow and not same,
            ),
            Option(
                r"rows 1 and 3 of $\Q$ swap; in the scores rows 1 and 3 swap, and columns 1 and 3",
                "Each row of Q and K is made from its own token and moves with it. Scores are pairs"
                " of tokens: the rows follow the queries, the columns the keys.",
                rows_follow and both_follow,
            ),
        ),
        hints=(
            "Row i of X W_Q is row i of X, times W_Q. Nothing else goes in.",
            "K is made from the same X. What happens to its rows?",
            "Score (i, j) is row i of Q with row j of K. Move both i and j.",
        ),
        solution=(
            "Q and K swap their rows 1 and 3, so the scores swap these rows *and* these columns."
            " No new number appears anywhere: attention by itself does not know the order of the"
            " words. Chapter 13 mends that."
        ),
    )


@register("projections.mixing")
def mixing() -> Row:
    """Say which rows move when one word is exchanged: projections do not mix, weights do."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(5, 8))
    other = X.copy()
    other[3] = rng.normal(size=8)
    W = [rng.normal(size=(8, width)) for width in (4, 4, 2)]

    def arrays(X: np.ndarray) -> list[np.ndarray]:
        q, k, v = project_qkv(X, X, *W)
        return [q, v, *scaled_dot_product_attention(q, k, v)[::-1]]

    moved = tuple(
        float((np.abs(a - b).max(axis=-1) > 1e-12).sum())
        for a, b in zip(arrays(X), arrays(other), strict=True)
    )
    n = float(len(X))
    return Row(
        title="Exchange one word",
        prompt=(
            r"In *she ate an apple .* you exchange the one word *apple*: row 3 of $\X$ becomes"
            " another row. In self-attention without a mask, in how many **rows** do the numbers"
            r" of $\Q$, of $\V$, of the weights and of the output change?"
        ),
        labels=("rows of Q", "rows of V", "rows of the weights", "rows of the output"),
        answer=moved,
        right=(
            "Right. A projection reads its own row and no other. The weights do the mixing: every"
            " query has a score with the changed key, and every output takes some of its value."
        ),
        otherwise="For each array: which rows of X does one of its rows read?",
        wrong=(
            Wrong(
                (1.0, 1.0, 1.0, 1.0),
                "So nobody else noticed. Who else has a score with the key of *apple*?",
            ),
            Wrong(
                (n, n, n, n),
                "So the projections mix. Which rows of X does row 0 of X W_Q read?",
            ),
            Wrong(
                (1.0, 1.0, 1.0, n),
                "The output of every row moves: right. Can weights stay when a key changes, and"
                " who looks at that key?",
            ),
            Wrong(
                (1.0, 1.0, n, 1.0),
                "All weights move, and the output is made with them. Whose output stays, then?",
            ),
            Wrong(
                (1.0, n, n, n),
                "V is a projection too. Which rows of X does row 0 of X W_V read?",
            ),
            Wrong(
                (n, 1.0, n, n),
                "Q is a projection too. Which rows of X does row 0 of X W_Q read?",
            ),
        ),
        hints=(
            "Row i of X W is row i of X, times W. Apply that to Q and V.",
            "One row of K changes. In which rows of the scores does that key have a column?",
            "Each row of the weights changes, and each output is a mean with such a row.",
        ),
        solution=(
            f"{moved[0]:g}, {moved[1]:g}, {moved[2]:g} and {moved[3]:g}. Up to Q, K and V each word"
            " is alone; the weights are the only place where words meet."
        ),
    )


@register("projections.count")
def count() -> Number:
    """Count the weights of a head with two widths."""
    d_q, d_kv, d_k, d_v = 8, 9, 4, 2
    W_Q, W_K, W_V = np.ones((d_q, d_k)), np.ones((d_kv, d_k)), np.ones((d_kv, d_v))
    project_qkv(np.ones((7, d_q)), np.ones((5, d_kv)), W_Q, W_K, W_V)  # refused if they do not fit
    return Number(
        title="Count the weights",
        prompt=(
            f"One head of cross-attention: the decoder's 7 tokens have {d_q} columns each, the"
            rf" encoder's 5 tokens have {d_kv}; $\dk = {d_k}$, $\dv = {d_v}$, no biases. How many"
            r" numbers do $\WQ$, $\WK$ and $\WV$ hold together?"
        ),
        label="How many numbers",
        answer=float(W_Q.size + W_K.size + W_V.size),
        right="Right. Two widths go in, two widths come out, and no sentence length appears.",
        otherwise="For each W: how many columns come in, and how many go out?",
        wrong=(
            Wrong(
                d_q * (d_k + d_k + d_v),
                "You gave all three W's 8 rows. Which of them read the encoder's tokens?",
            ),
            Wrong(
                d_kv * (d_k + d_k + d_v),
                "You gave all three W's 9 rows. Which of them reads the decoder's tokens?",
            ),
            Wrong(
                7 * d_k + 5 * d_k + 5 * d_v,
                "You counted the numbers in Q, K and V. Which arrays are the learned ones?",
            ),
            Wrong(
                d_q * d_k + d_kv * d_k,
                "Those are W_Q and W_K. What makes the values?",
            ),
            Wrong(
                d_q * d_k + d_kv * d_k + d_kv * d_k,
                f"You gave W_V {d_k} columns. How wide is a value here?",
            ),
            Wrong(
                d_q * d_k + d_q * d_k + d_kv * d_v,
                "You made the keys from the decoder's columns. Whose tokens are the keys?",
            ),
        ),
        hints=(
            "The number of tokens does not matter. Only widths do.",
            "W_Q reads the decoder's columns, W_K and W_V read the encoder's.",
            f"W_Q has {d_q} rows and {d_k} columns, W_K {d_kv} and {d_k}, W_V {d_kv} and {d_v}.",
        ),
        solution=(
            f"{d_q} · {d_k} + {d_kv} · {d_k} + {d_kv} · {d_v} = {W_Q.size} + {W_K.size} +"
            f" {W_V.size} = {W_Q.size + W_K.size + W_V.size}."
        ),
    )


@register("projections.array_shapes")
def array_shapes() -> Match:
    """Match every array of one head of cross-attention with its shape."""
    n_q, n_k, d_q, d_kv, d_k, d_v = 3, 11, 7, 13, 5, 2
    rng = np.random.default_rng(5)
    X_q, X_kv = rng.normal(size=(n_q, d_q)), rng.normal(size=(n_k, d_kv))
    W_Q, W_K, W_V = (rng.normal(size=size) for size in ((d_q, d_k), (d_kv, d_k), (d_kv, d_v)))
    q, k, v = project_qkv(X_q, X_kv, W_Q, W_K, W_V)
    output, weights = scaled_dot_product_attention(q, k, v)

    def size(*shape: int) -> str:
        return " × ".join(str(axis) for axis in shape)

    return Match(
        title="Which shape has it?",
        prompt=(
            f"X_q has {n_q} rows of {d_q} columns, X_kv has {n_k} rows of {d_kv}. The head's"
            " queries"
            f" have {d_k} columns, its values {d_v}. Rows are tokens, as everywhere in this book."
            " Give each array its shape."
        ),
        pairs=(
            ("W_K", size(*W_K.shape)),
            ("Q", size(*q.shape)),
            ("K", size(*k.shape)),
            ("weights", size(*weights.shape)),
            ("V", size(*v.shape)),
            ("output", size(*output.shape)),
        ),
        decoys=(size(d_q, d_k), size(d_k, d_kv), size(n_k, n_q), size(n_k, n_k)),
        right="Right. Each array tells where it comes from: no two of the sizes are equal.",
        otherwise=(
            "A product of an (a × b) and a (b × c) array is (a × c). Which two arrays make this"
            " one?"
        ),
        wrong=(
            Wrong({"W_K": size(d_q, d_k)}, "Keys are made from X_kv. How wide are its rows?"),
            Wrong(
                {"W_K": size(d_k, d_kv)},
                "Stored on its side, as torch does. Which way does X_kv W_K need it?",
            ),
            Wrong(
                {"weights": size(n_k, n_q)},
                "One row for each key. For whom does the softmax make a row?",
            ),
            Wrong(
                {"weights": size(n_k, n_k)},
                "That would be every key with every key. Who asks here?",
            ),
            Wrong({"output": size(*v.shape)}, "One output for each key? How many rows asked?"),
            Wrong(
                {"output": size(*q.shape)},
                "An output is made of values. How many columns have they?",
            ),
            Wrong(
                {"K": size(*q.shape)},
                "As many keys as queries? From which array are the keys made?",
            ),
        ),
        hints=(
            "Write each array as a product first: Q = X_q W_Q, K = X_kv W_K, V = X_kv W_V.",
            (
                "Who asks gives the rows of Q, of the weights and of the output. Who is asked"
                " gives the rest."
            ),
            f"The weights have {n_q} rows and {n_k} columns.",
        ),
        solution=(
            f"W_K is {size(*W_K.shape)}, Q {size(*q.shape)}, K {size(*k.shape)}, V"
            f" {size(*v.shape)};"
            f" the weights are {size(*weights.shape)} and the output {size(*output.shape)}."
        ),
    )


@register("projections.who_looks")
def who_looks() -> Cell:
    """Read one weight of the running example's first head."""
    ex = running_example()
    tokens = ex.tokens_source
    q, k, v = project_qkv(ex.X_source, ex.X_source, ex.W_Q[0], ex.W_K[0], ex.W_V[0])
    _, weights = scaled_dot_product_attention(q, k, v)
    asks, asked = tokens.index("apple"), tokens.index("an")
    here, there = written(round(weights[asks, asked], 2)), written(round(weights[asked, asks], 2))
    return Cell(
        title="Who looks at whom?",
        prompt=(
            "These are the weights of the running example's first head. Mark the weight with which"
            f" *{tokens[asks]}* looks at *{tokens[asked]}*."
        ),
        rows=tokens,
        columns=tokens,
        values=tuple(tuple(float(w) for w in row) for row in weights),
        answer=(asks, asked),
        right=(
            f"Right: {here}. The row is the one who asks. The other way round it is {there}:"
            " *an* looks hard at *apple*, and *apple* hardly looks back."
        ),
        in_row="The row is right: *apple* asks. Whose key does it ask about?",
        in_column="The column is right: *an* is looked at. But who looks here?",
        otherwise="Each row adds up to 1. So which of the two words belongs to a row?",
        wrong=(
            Wrong((asked, asks), "That is *an* looking at *apple*. Whose row is this?"),
            Wrong((asks, asks), "Here *apple* looks at itself. At whom should it look?"),
            Wrong((asked, asked), "Here *an* looks at itself. Who is to look, and at whom?"),
            Wrong((0, asked), "Here *she* looks at *an*. Whose row is asked for?"),
            Wrong((asks, 0), "Here *apple* looks at *she*. At whom should it look?"),
        ),
        hints=(
            "A row belongs to a query, the word that looks.",
            "Find the row of *apple* first, then go to the column of *an*.",
            "Row 3, counted from 0. Which column?",
        ),
        solution=(
            f"Row *apple*, column *an*: {here}. Row *an*, column *apple* holds {there}. The"
            " two differ"
            " because Q and K come from different matrices, and because each row is shared out by"
            " itself."
        ),
    )


# --- in the notebook -----------------------------------------------------------------------------


def _twice_case(rng: np.random.Generator, d_in: int, d_mid: int, d_out: int) -> Case:
    W_1, W_2 = numbers(rng, d_in, d_mid), numbers(rng, d_mid, d_out)
    return Case((W_1, W_2), project(W_1, W_2))


def _twice_single(rng: np.random.Generator) -> Case:
    return _twice_case(rng, 1, 1, 1)


def _twice_square(rng: np.random.Generator) -> Case:
    (d,) = sizes(rng, 1)
    return _twice_case(rng, d, d, d)


def _twice_widths(rng: np.random.Generator) -> Case:
    return _twice_case(rng, *sizes(rng, 3))


def _in_the_shape_of_the_first(W_1: np.ndarray, W_2: np.ndarray) -> np.ndarray:
    W = np.zeros_like(W_1)
    for i, j in np.ndindex(W.shape):
        W[i, j] = W_1[i] @ W_2[:, j]
    return W


@register("projections.twice")
def twice() -> Code:
    """Collapse two projections into one matrix."""
    return Code(
        title="Projecting twice is projecting once",
        function="one_matrix",
        prompt=(
            "A token's row is projected by `W_1` and the result by `W_2`: `(X @ W_1) @ W_2`. Derive"
            " the one matrix `W` with which `X @ W` equals this for every `X`, and return it."
            " Random matrices will check it. (This is why the"
            r" paper's $Q W_i^Q$ cannot mean that the query is projected a second time.)"
        ),
        stub=(
            "def one_matrix(W_1, W_2):\n"
            '    """Return W such that X @ W equals (X @ W_1) @ W_2 for every X."""\n'
            '    raise NotImplementedError("projections.twice")\n'
        ),
        rungs=(
            Rung(
                "one column",
                _twice_single,
                "With one column everything is a plain number: x becomes x·w₁, then x·w₁·w₂. By"
                " what was x multiplied in all?",
                (
                    Slip(
                        "adds the matrices",
                        lambda W_1, W_2: W_1 + W_2,
                        "You added the two matrices. If W_1 doubles x and W_2 triples it, what do"
                        " both together do?",
                    ),
                    Slip(
                        "takes the mean",
                        lambda W_1, W_2: (W_1 + W_2) / 2,
                        "You took the mean of the matrices. If W_1 doubles x and W_2 triples it,"
                        " what do both together do?",
                    ),
                    Slip(
                        "keeps the first",
                        lambda W_1, W_2: W_1,
                        "This is W_1 alone. What happens to X W_1 afterwards?",
                    ),
                    Slip(
                        "keeps the second",
                        lambda W_1, W_2: W_2,
                        "This is W_2 alone. What happened to X before it came to W_2?",
                    ),
                ),
            ),
            Rung(
                "order",
                _twice_square,
                "X meets W_1 first and W_2 second. In which order do they stand in your product?",
                (
                    Slip(
                        "turns the order round",
                        lambda W_1, W_2: W_2 @ W_1,
                        "X @ (W_2 @ W_1) lets X meet W_2 first. Which of the two stands next to X"
                        " in (X W_1) W_2?",
                    ),
                    Slip(
                        "multiplies entry by entry",
                        lambda W_1, W_2: W_1 * W_2,
                        "You multiplied entry by entry. Which columns of W_1 does one entry of W"
                        " need?",
                    ),
                    Slip(
                        "transposes both",
                        lambda W_1, W_2: W_1.T @ W_2.T,
                        "You turned both matrices. In this book X stands on the left: is any turn"
                        " needed?",
                    ),
                    Slip(
                        "transposes the result",
                        lambda W_1, W_2: (W_1 @ W_2).T,
                        "Your result is turned round. Which axis of W does X meet: rows or"
                        " columns?",
                    ),
                    Slip(
                        "transposes W_2",
                        lambda W_1, W_2: W_1 @ W_2.T,
                        "You turned W_2, as if its columns came first (torch's `nn.Linear` stores"
                        " it so). Here W_2 has one row for each column of X W_1: is a turn needed?",
                    ),
                ),
            ),
            Rung(
                "three widths",
                _twice_widths,
                "X has the rows of W_1 as its width, the result has the columns of W_2. Which shape"
                " must W have?",
                (
                    Slip(
                        "takes the shape of W_1",
                        _in_the_shape_of_the_first,
                        "Your result has the shape of W_1. How many columns has X after W_2?",
                    ),
                ),
            ),
        ),
        hints=(
            "Write `(X @ W_1) @ W_2` and move the brackets. Nothing else.",
            "Matrix products may be bracketed as you like: `(A @ B) @ C` is `A @ (B @ C)`.",
            "W is `W_1 @ W_2`, in this order.",
        ),
        solution=(
            "```python\n"
            "def one_matrix(W_1, W_2):\n"
            "    return W_1 @ W_2\n"
            "```\n\n"
            "Two linear maps in a row are one linear map. A second matrix adds nothing that the"
            " first could not learn, unless something that is not linear stands between them, or"
            " the middle is narrower than both ends."
        ),
    )


def _qkv_case(X_q: np.ndarray, X_kv: np.ndarray, rng: np.random.Generator, *d: int) -> Case:
    d_k, d_v = d
    weights = (
        numbers(rng, X_q.shape[-1], d_k),
        numbers(rng, X_kv.shape[-1], d_k),
        numbers(rng, X_kv.shape[-1], d_v),
    )
    return Case((X_q, X_kv, *weights), project_qkv(X_q, X_kv, *weights))


def _self(rng: np.random.Generator) -> Case:
    n, d_model, d_k, d_v = sizes(rng, 4)
    X = numbers(rng, n, d_model)
    return _qkv_case(X, X.copy(), rng, d_k, d_v)


def _two_inputs(rng: np.random.Generator) -> Case:
    n_q, n_k, d_model, d_k, d_v = sizes(rng, 5)
    return _qkv_case(numbers(rng, n_q, d_model), numbers(rng, n_k, d_model), rng, d_k, d_v)


def _two_widths(rng: np.random.Generator) -> Case:
    n_q, n_k, d_q, d_k, d_v = sizes(rng, 5)
    return _qkv_case(numbers(rng, n_q, d_q), numbers(rng, n_k, d_q + 1), rng, d_k, d_v)


def _batched(rng: np.random.Generator) -> Case:
    n_q, n_k, d_model, d_k, d_v = sizes(rng, 5)
    return _qkv_case(numbers(rng, 4, n_q, d_model), numbers(rng, 4, n_k, d_model), rng, d_k, d_v)


@register("projections.project_qkv")
def three_arrays() -> Code:
    """Make Q, K and V, each from its own input."""
    return Code(
        title="Make Q, K and V",
        function="make_qkv",
        returns=("q", "k", "v"),
        prompt=(
            "Return the queries, `X_q` times `W_Q`; the keys, `X_kv` times `W_K`; and the values,"
            " `X_kv` times `W_V`. In self-attention both inputs are the same array; in"
            " cross-attention they differ in length and may differ in width. The last rung puts a"
            " batch in front."
        ),
        stub=(
            "def make_qkv(X_q, X_kv, W_Q, W_K, W_V):\n"
            '    """Return q, k and v."""\n'
            '    raise NotImplementedError("projections.project_qkv")\n'
        ),
        rungs=(
            Rung(
                "self-attention",
                _self,
                "Both inputs are one array here. Which matrix made each of your three results?",
                (
                    Slip(
                        "returns them in another order",
                        lambda X_q, X_kv, W_Q, W_K, W_V: (X_kv @ W_K, X_q @ W_Q, X_kv @ W_V),
                        "The arrays are right, their order is not. What comes first: q or k?",
                    ),
                    Slip(
                        "makes q with W_K",
                        lambda X_q, X_kv, W_Q, W_K, W_V: (X_q @ W_K, X_kv @ W_K, X_kv @ W_V),
                        "Your queries were made with the keys' matrix, so every token asks for"
                        " itself. Which matrix is the queries' own?",
                    ),
                    Slip(
                        "makes k with W_Q",
                        lambda X_q, X_kv, W_Q, W_K, W_V: (X_q @ W_Q, X_kv @ W_Q, X_kv @ W_V),
                        "Your keys were made with the queries' matrix. Which matrix is the keys'"
                        " own?",
                    ),
                    Slip(
                        "uses the keys as values",
                        lambda X_q, X_kv, W_Q, W_K, W_V: (X_q @ W_Q, X_kv @ W_K, X_kv @ W_K),
                        "Your values are the keys. What a token is found by, and what it hands"
                        " over: which matrix makes the second?",
                    ),
                    Slip(
                        "makes v from k",
                        lambda X_q, X_kv, W_Q, W_K, W_V: (
                            X_q @ W_Q,
                            X_kv @ W_K,
                            X_kv @ W_K @ W_V,
                        ),
                        "Your values were made from the keys. Which array do keys and values both"
                        " come from?",
                    ),
                    Slip(
                        "hands X on as v",
                        lambda X_q, X_kv, W_Q, W_K, W_V: (X_q @ W_Q, X_kv @ W_K, X_kv),
                        "Your values are the input as it came. Which matrix says what a token hands"
                        " over?",
                    ),
                    Slip(
                        "takes the weights for (out, in)",
                        lambda X_q, X_kv, W_Q, W_K, W_V: (
                            X_q @ W_Q.T,
                            X_kv @ W_K.T,
                            X_kv @ W_V.T,
                        ),
                        "You turned the weights, as torch's `nn.Linear` stores them (out, in). Here"
                        " W_Q has one row for each column of X: is a turn needed?",
                    ),
                    Slip(
                        "projects along the tokens",
                        lambda X_q, X_kv, W_Q, W_K, W_V: (
                            X_q.T @ W_Q,
                            X_kv.T @ W_K,
                            X_kv.T @ W_V,
                        ),
                        "You turned X, so the matrix met the tokens and not their columns. What"
                        " should a projection mix: the columns of one token, or the tokens?",
                    ),
                    Slip(
                        "divides by sqrt(d_k)",
                        lambda X_q, X_kv, W_Q, W_K, W_V: (
                            X_q @ W_Q / math.sqrt(W_Q.shape[1]),
                            X_kv @ W_K,
                            X_kv @ W_V,
                        ),
                        "Your queries are divided by the root of d_k. That belongs to the scores:"
                        " what is a query before them?",
                    ),
                ),
            ),
            Rung(
                "two inputs",
                _two_inputs,
                "Now the sequence that asks is not the one that is looked at. Which input goes into"
                " each of your three results?",
                (
                    Slip(
                        "makes k from X_q",
                        lambda X_q, X_kv, W_Q, W_K, W_V: (X_q @ W_Q, X_q @ W_K, X_kv @ W_V),
                        "Your keys come from the sequence that asks. Who wants to be found?",
                    ),
                    Slip(
                        "makes v from X_q",
                        lambda X_q, X_kv, W_Q, W_K, W_V: (X_q @ W_Q, X_kv @ W_K, X_q @ W_V),
                        "Your values come from the sequence that asks, so it would be handed only"
                        " what it has. Which sequence hands over?",
                    ),
                    Slip(
                        "makes all from X_q",
                        lambda X_q, X_kv, W_Q, W_K, W_V: (X_q @ W_Q, X_q @ W_K, X_q @ W_V),
                        "All three come from X_q: that is self-attention. What is X_kv for?",
                    ),
                    Slip(
                        "makes all from X_kv",
                        lambda X_q, X_kv, W_Q, W_K, W_V: (X_kv @ W_Q, X_kv @ W_K, X_kv @ W_V),
                        "All three come from X_kv, so the looked-at sequence asks itself. Who asks"
                        " here?",
                    ),
                    Slip(
                        "exchanges the inputs",
                        lambda X_q, X_kv, W_Q, W_K, W_V: (X_kv @ W_Q, X_q @ W_K, X_q @ W_V),
                        "The two sequences changed places. Which one asks, and which one is looked"
                        " at?",
                    ),
                ),
            ),
            Rung(
                "two widths",
                _two_widths,
                "X_q and X_kv have different numbers of columns. Where does your code take one"
                " width for both?",
                crash="X_q and X_kv have different numbers of columns here. Which line takes one"
                " width for both?",
            ),
            Rung(
                "a batch in front",
                _batched,
                "X_q and X_kv have a batch axis in front. Which axis does the matrix meet?",
                crash="Both inputs have a batch axis in front here. Which line counts on two axes?",
            ),
        ),
        hints=(
            "Three lines, three matrix products. The formulas name the input of each.",
            "Q comes from the sequence that asks; K and V come from the sequence that is"
            " looked at.",
            "`X_q @ W_Q` is the first. The other two both begin with `X_kv @`.",
        ),
        solution=(
            "```python\n"
            "def make_qkv(X_q, X_kv, W_Q, W_K, W_V):\n"
            "    q = X_q @ W_Q\n"
            "    k = X_kv @ W_K\n"
            "    v = X_kv @ W_V\n"
            "    return q, k, v\n"
            "```\n\n"
            "`@` works on the last two axes, so a batch in front needs no extra line."
        ),
    )


def _unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.sqrt((rows * rows).sum(-1, keepdims=True))


def _rows_case(rng: np.random.Generator, n: int, d_in: int, d_out: int) -> Case:
    X, W = numbers(rng, n, d_in), numbers(rng, d_in, d_out)
    return Case((X, W), project(X, W))


def _one_token(rng: np.random.Generator) -> Case:
    d_in, d_out = sizes(rng, 2)
    return _rows_case(rng, 1, d_in, d_out)


def _every_token(rng: np.random.Generator) -> Case:
    return _rows_case(rng, *sizes(rng, 3))


def _alone(rng: np.random.Generator) -> Case:
    n, d_in, d_out = sizes(rng, 3)
    case = _rows_case(rng, n + 1, d_in, d_out)
    X, W = case.args
    expected, lost = case.expected.copy(), int(rng.integers(n + 1))
    X[lost], expected[lost] = np.nan, np.nan
    return Case((X, W), expected)


@register("projections.rows")
def rows() -> Code:
    """Project token by token, and survive a neighbour that is lost."""
    return Code(
        title="Each token is projected alone",
        function="project_rows",
        prompt=(
            r"Write $\X W$ as a loop over the tokens, so that one can see it: row i of the result"
            r" is made from row i of $\X$ and from no other. The last rung hands over an $\X$ in"
            r" which one token is lost: its row is all `nan`. Every other row must come out"
            " unharmed."
        ),
        stub=(
            "def project_rows(X, W):\n"
            '    """Return X @ W, made one token at a time."""\n'
            '    raise NotImplementedError("projections.rows")\n'
        ),
        rungs=(
            Rung(
                "one token",
                _one_token,
                "With one token there is one row. What does the matrix do to it?",
                (
                    Slip(
                        "drops the axis of the tokens",
                        lambda X, W: X[0] @ W,
                        "The numbers are right, but you returned one row and not an array of rows."
                        " Where are the rows collected?",
                    ),
                    Slip(
                        "takes W for (out, in)",
                        lambda X, W: X @ W.T,
                        "You turned W, as torch's `nn.Linear` stores it (out, in). Here W has one"
                        " row for each column of X: is a turn needed?",
                    ),
                    Slip(
                        "adds to X",
                        lambda X, W: X + X @ W,
                        "You added X itself. That is the residual of chapter 14; what is the"
                        " projection alone?",
                    ),
                    Slip(
                        "leaves nothing of a single token",
                        lambda X, W: (X - X.mean(axis=0)) @ W,
                        "With one token your row is zero. Does your `range` stop before the last"
                        " token, or is a mean over the tokens taken away?",
                    ),
                    Slip(
                        "normalises each row",
                        lambda X, W: _unit(X) @ W,
                        "You brought the token to length 1 first. Who asked for that?",
                    ),
                ),
            ),
            Rung(
                "every token",
                _every_token,
                "Row i of the result belongs to token i. Which token made yours?",
                (
                    Slip(
                        "projects the first token each time",
                        lambda X, W: np.repeat(X[:1] @ W, len(X), axis=0),
                        "All your rows are the first token's. Where does i come in?",
                    ),
                    Slip(
                        "adds up the tokens so far",
                        lambda X, W: np.cumsum(X @ W, axis=0),
                        "Each of your rows holds the rows before it too. Where is the total set"
                        " back to zero?",
                    ),
                    Slip(
                        "gives every token the mean",
                        lambda X, W: np.repeat(X.mean(axis=0, keepdims=True) @ W, len(X), axis=0),
                        "Every row is the mean of all tokens. Mixing tokens is the work of the"
                        " attention weights: what does a projection do?",
                    ),
                    Slip(
                        "reverses the tokens",
                        lambda X, W: (X @ W)[::-1],
                        "Your rows stand in reverse. At which end do you put a new row?",
                    ),
                    Slip(
                        "puts tokens in columns",
                        lambda X, W: (X @ W).T,
                        "Your tokens stand in columns. Along which axis did you stack them?",
                    ),
                    Slip(
                        "runs the rows together",
                        lambda X, W: (X @ W).reshape(-1),
                        "All your rows stand in one long row. What keeps them apart?",
                    ),
                    Slip(
                        "cuts X along the wrong axis",
                        lambda X, W: X.reshape(X.shape[::-1]).T @ W,
                        "`reshape` cut the tokens anew, so a row holds pieces of two. Which index"
                        " picks out one token?",
                    ),
                ),
            ),
            Rung(
                "one token lost",
                _alone,
                "One row of X is nan. Which other rows of yours read it, and why?",
                (
                    Slip(
                        "lets nan reach every row",
                        lambda X, W: np.full((len(X), W.shape[1]), np.nan),
                        "One lost token spoiled every row of yours. Which line reads all of X at"
                        " once?",
                    ),
                    Slip(
                        "hides the lost token",
                        lambda X, W: np.nan_to_num(X) @ W,
                        "The lost token came out as zeros. Nobody asked to mend it: what is a"
                        " number times nan?",
                    ),
                ),
            ),
        ),
        hints=(
            "Go through the tokens: `for x in X` gives one row after the other.",
            "One row times W is one row of the result: `x @ W`.",
            "Collect the rows in a list and make an array of it: `np.array([… for x in X])`.",
        ),
        solution=(
            "```python\n"
            "def project_rows(X, W):\n"
            "    return np.array([x @ W for x in X])\n"
            "```\n\n"
            "It equals `X @ W`: the matrix product never mixed tokens. In a layer of attention only"
            " the weights do."
        ),
    )


Attend = Callable[[np.ndarray], np.ndarray]


def _mixture(attend: Attend, v: np.ndarray) -> np.ndarray:
    nothing = attend(np.zeros_like(v))
    columns = []
    for j in range(len(v)):
        one = np.zeros_like(v)
        one[j] = 1.0
        columns.append((attend(one) - nothing).mean(axis=1))
    return np.stack(columns, axis=1)


def _mixing_case(
    kind: str, n_q: int, n_k: int, d_v: int, bias: bool = False
) -> Callable[[np.random.Generator], Case]:
    def draw(rng: np.random.Generator) -> Case:
        q, k, v = numbers(rng, n_q, 3) / 2, numbers(rng, n_k, 3) / 2, numbers(rng, n_k, d_v)
        b = numbers(rng, d_v) if bias else np.zeros(d_v)
        weights = np.eye(n_k)
        if kind == "soft":
            weights = scaled_dot_product_attention(q, k, v)[1]

        def attend(values: np.ndarray) -> np.ndarray:
            return np.asarray(weights @ np.asarray(values) + b)

        return Case((attend, v), weights)

    return draw


@register("projections.measure")
def measure() -> Code:
    """Find out from the outside how a layer mixes its tokens."""
    return Code(
        title="Who reaches whom? Measure it",
        function="mixing",
        prompt=(
            "`attend(v)` is somebody's layer: it takes one row of values for each token and returns"
            " one row for each query. Its queries and keys stay as they are, and you do not see"
            " them. Find out how it mixes the tokens: return the table whose entry (i, j) says how"
            " much of token j's row arrives in output i. `v` is one array that it takes; you may"
            " call `attend` with others of its shape, as often as you like. A layer that projects"
            " each token alone gives the identity; what does attention give?"
        ),
        stub=(
            "def mixing(attend, v):\n"
            '    """Return the table (n_q, n_k): how much of row j of v is in output i."""\n'
            '    raise NotImplementedError("projections.measure")\n'
        ),
        rungs=(
            Rung(
                "each token for itself",
                _mixing_case("alone", 5, 5, 3),
                "This layer hands each token its own row and nothing else. Give it an array in"
                " which only token 0 is not zero: which outputs move, and by how much?",
                (
                    Slip(
                        "the output itself",
                        lambda attend, v: attend(v),
                        "You returned the output. What is asked for is how it depends on each"
                        " token: what did you change?",
                    ),
                    Slip(
                        "nothing changed",
                        lambda attend, v: np.zeros((len(attend(v)), len(v))),
                        "Your table is all zeros. Did the token that you changed differ from"
                        " before?",
                    ),
                    Slip(
                        "everything reaches everything",
                        lambda attend, v: np.ones((len(attend(v)), len(v))),
                        "Your table says that every token reaches every output in full. In this"
                        " layer each output holds one token: which?",
                    ),
                    Slip(
                        "columns added up",
                        lambda attend, v: v.shape[1] * _mixture(attend, v),
                        "You added the columns of a row up. How much of the *row* has arrived, if"
                        " all its columns moved alike?",
                    ),
                ),
                crash="Your test stopped. `attend` takes an array of the shape of v: which of your"
                " arrays has another?",
            ),
            Rung(
                "attention",
                _mixing_case("soft", 5, 5, 3),
                "This one is attention: every output is a mean of the values. What must each row of"
                " your table add up to?",
                (
                    Slip(
                        "yes or no",
                        lambda attend, v: (_mixture(attend, v) > 1e-9) * 1.0,
                        "You said who reaches whom. How much of each token arrives?",
                    ),
                    Slip(
                        "turned round",
                        lambda attend, v: _mixture(attend, v).T,
                        "Your columns add up to 1, where rows should. Which axis belongs to the"
                        " token that you changed?",
                    ),
                    Slip(
                        "the identity",
                        lambda attend, v: np.eye(len(attend(v)), len(v)),
                        "The identity says that no token reaches another. Did you change one token"
                        " and look at the rows of the *others*?",
                    ),
                    Slip(
                        "as large as the largest",
                        lambda attend, v: (lambda A: A / A.max())(_mixture(attend, v)),
                        "You divided by your largest entry. By how much did the value itself move?",
                    ),
                    Slip(
                        "shares of the columns",
                        lambda attend, v: (lambda A: A / A.sum(axis=0))(_mixture(attend, v)),
                        "You made the columns sum to 1. Does a token have one whole to give away,"
                        " or does an output have one whole to take?",
                    ),
                ),
            ),
            Rung(
                "more queries than keys",
                _mixing_case("soft", 7, 5, 3),
                "Seven queries look at five tokens. How many rows and how many columns has the"
                " table?",
                crash="Seven queries look at five tokens. Which line takes the two for equal?",
            ),
            Rung(
                "one column",
                _mixing_case("soft", 3, 5, 1),
                "The values have one column here. Does your code ask for a second?",
                crash="The values have one column here. Which line asks for another?",
            ),
            Rung(
                "something is added",
                _mixing_case("soft", 5, 7, 2, bias=True),
                "This layer adds the same row to every output, whatever the values are. Whose part"
                " of the output is that?",
                (
                    Slip(
                        "the addend counted",
                        lambda attend, v: np.stack(
                            [
                                attend(np.eye(len(v))[:, [j]] * np.ones(v.shape)).mean(axis=1)
                                for j in range(len(v))
                            ],
                            axis=1,
                        ),
                        "This layer adds a row of its own, and you counted it as the tokens'. What"
                        " does it return when all values are zero?",
                    ),
                ),
            ),
        ),
        hints=(
            "Give every token zeros, but for one, which gets ones. What comes out is that token's"
            " part.",
            "Do that for each token j; what arrives in output i is entry (i, j).",
            "Take off what comes out for zeros everywhere: no token has brought that.",
        ),
        solution=(
            "```python\n"
            "def mixing(attend, v):\n"
            "    nothing = attend(np.zeros(v.shape))\n"
            "    table = np.zeros((len(nothing), len(v)))\n"
            "    for j in range(len(v)):\n"
            "        one = np.zeros(v.shape)\n"
            "        one[j] = 1.0\n"
            "        table[:, j] = (attend(one) - nothing)[:, 0]\n"
            "    return table\n"
            "```\n\n"
            "A layer that treats each token alone gives the identity. Attention gives its weights:"
            " they are the mixing, all of it, and they can be measured without looking inside."
        ),
    )


def _packed_case(
    X_q: np.ndarray, X_kv: np.ndarray, rng: np.random.Generator, d_k: int, d_v: int
) -> Case:
    d_model = X_q.shape[-1]
    W = [numbers(rng, d_model, width) for width in (d_k, d_k, d_v)]
    return Case((X_q, X_kv, np.hstack(W), d_k), project_qkv(X_q, X_kv, *W))


def _packed_self(rng: np.random.Generator) -> Case:
    n, d_model, d_k, d_v = rng.permutation([3, 5, 7, 11])
    X = numbers(rng, n, d_model)
    return _packed_case(X, X, rng, d_k, d_v)


def _packed_two(rng: np.random.Generator) -> Case:
    n_q, n_k, d_model, d_k, d_v = rng.permutation([2, 3, 5, 7, 11])
    return _packed_case(numbers(rng, n_q, d_model), numbers(rng, n_k, d_model), rng, d_k, d_v)


def _packed_batch(rng: np.random.Generator) -> Case:
    n_q, n_k, d_model, d_k, d_v = rng.permutation([2, 3, 5, 7, 11])
    return _packed_case(numbers(rng, 4, n_q, d_model), numbers(rng, 4, n_k, d_model), rng, d_k, d_v)


Three = tuple[np.ndarray, np.ndarray, np.ndarray]


def _cut(*sources: np.ndarray, W: np.ndarray, d: int) -> Three:
    q, k, v = (X @ W for X in sources)
    return q[..., :d], k[..., d : 2 * d], v[..., 2 * d :]


def _thirds(X_q: np.ndarray, X_kv: np.ndarray, W: np.ndarray, d: int) -> Three:
    q, k, v = np.array_split(X_q @ W, 3, axis=-1)
    return q, k, v


def _cut_tokens(X_q: np.ndarray, X_kv: np.ndarray, W: np.ndarray, d: int) -> Three:
    q, kv = X_q @ W, X_kv @ W
    return q[:, :d], kv[:, d : 2 * d], kv[:, 2 * d :]


@register("projections.repair")
def repair() -> Code:
    """Repair a packed projection: three matrices in one array."""
    return Code(
        title="Repair this code: three matrices in one",
        function="packed_qkv",
        returns=("q", "k", "v"),
        prompt=(
            "Many programs keep `W_Q`, `W_K` and `W_V` side by side in one array `W`, of shape"
            " (d_model, d_k + d_k + d_v), and cut the product. This one runs without an error. It"
            " has two bugs, and a third when a batch stands in front. Repair it: `q` is made from"
            " `X_q`, `k` and `v` from `X_kv`. Remove the `raise` when you begin."
        ),
        stub=(
            "def packed_qkv(X_q, X_kv, W, d_k):\n"
            '    """Return q, k and v; W holds W_Q, W_K and W_V side by side."""\n'
            '    raise NotImplementedError("projections.repair")\n'
            "    packed = X_q @ W\n"
            "    q = packed[:, :d_k]\n"
            "    k = packed[:, d_k:2 * d_k]\n"
            "    v = packed[:, d_k:]\n"
            "    return q, k, v\n"
        ),
        rungs=(
            Rung(
                "one sequence",
                _packed_self,
                "Both inputs are one array here. Which columns of the product belong to each of"
                " your three results?",
                (
                    Slip(
                        "v begins with the keys",
                        lambda X_q, X_kv, W, d: (
                            (X_q @ W)[:, :d],
                            (X_q @ W)[:, d : 2 * d],
                            (X_q @ W)[:, d:],
                        ),
                        "Your values begin with the keys' columns. How many columns stand before"
                        " the first value?",
                    ),
                    Slip(
                        "three equal parts",
                        _thirds,
                        "You cut the product into three parts as equal as can be. Is a value as"
                        " wide as a key?",
                    ),
                    Slip(
                        "the last d_k columns",
                        lambda X_q, X_kv, W, d: (
                            (X_q @ W)[:, :d],
                            (X_q @ W)[:, d : 2 * d],
                            (X_q @ W)[:, -d:],
                        ),
                        "You took the last d_k columns for the values. How many columns has a value"
                        " here?",
                    ),
                    Slip(
                        "k before q",
                        lambda X_q, X_kv, W, d: (
                            (X_q @ W)[:, d : 2 * d],
                            (X_q @ W)[:, :d],
                            (X_q @ W)[:, 2 * d :],
                        ),
                        "Queries and keys have changed places. Which matrix stands first in W?",
                    ),
                    Slip(
                        "v is k",
                        lambda X_q, X_kv, W, d: (
                            (X_q @ W)[:, :d],
                            (X_q @ W)[:, d : 2 * d],
                            (X_q @ W)[:, d : 2 * d],
                        ),
                        "Your values are the keys, so the last columns of W are never read. Whose"
                        " are they?",
                    ),
                    Slip(
                        "cut before the product",
                        lambda X_q, X_kv, W, d: (W[:, :d], W[:, d : 2 * d], W[:, 2 * d :]),
                        "You returned the three matrices. What are they multiplied with?",
                    ),
                ),
            ),
            Rung(
                "two sequences",
                _packed_two,
                "Now the sequence that asks is not the one that is looked at. Which input went into"
                " each of your three results?",
                (
                    Slip(
                        "all from X_q",
                        lambda X_q, X_kv, W, d: _cut(X_q, X_q, X_q, W=W, d=d),
                        "All three are cut from the product of X_q. Where does X_kv come in?",
                    ),
                    Slip(
                        "all from X_kv",
                        lambda X_q, X_kv, W, d: _cut(X_kv, X_kv, X_kv, W=W, d=d),
                        "All three are cut from the product of X_kv. Who asks here?",
                    ),
                    Slip(
                        "k from X_q",
                        lambda X_q, X_kv, W, d: _cut(X_q, X_q, X_kv, W=W, d=d),
                        "Your keys come from the sequence that asks. Who wants to be found?",
                    ),
                    Slip(
                        "v from X_q",
                        lambda X_q, X_kv, W, d: _cut(X_q, X_kv, X_q, W=W, d=d),
                        "Your values come from the sequence that asks. Which sequence hands"
                        " something over?",
                    ),
                    Slip(
                        "exchanged",
                        lambda X_q, X_kv, W, d: _cut(X_kv, X_q, X_q, W=W, d=d),
                        "The two sequences have changed places. Which one asks?",
                    ),
                ),
            ),
            Rung(
                "a batch in front",
                _packed_batch,
                "A batch axis stands in front. Does your cut still meet the columns?",
                (
                    Slip(
                        "cuts the tokens",
                        _cut_tokens,
                        "With a batch in front, the second axis counts tokens, and you cut them."
                        " How do you name the last axis, whatever stands before it?",
                    ),
                ),
                crash="A batch axis stands in front. Which line counts on two axes?",
            ),
        ),
        hints=(
            "Print the shapes of q, k and v. How wide should each be, and how many rows should k"
            " have when the two sequences differ?",
            "The values begin after d_k columns of queries *and* d_k columns of keys. And two"
            " products are needed, one for each input.",
            "`[..., :d_k]` cuts the last axis, with and without a batch. k and v are cut from"
            " `X_kv @ W`.",
        ),
        solution=(
            "```python\n"
            "def packed_qkv(X_q, X_kv, W, d_k):\n"
            "    asks, found = X_q @ W, X_kv @ W\n"
            "    q = asks[..., :d_k]\n"
            "    k = found[..., d_k:2 * d_k]\n"
            "    v = found[..., 2 * d_k:]\n"
            "    return q, k, v\n"
            "```\n\n"
            "To save the work on columns that are thrown away, cut W first and multiply then. The"
            " numbers are the same: a column of the product needs one column of W."
        ),
    )


Layer = Callable[[np.ndarray, np.ndarray], Three]


def _before(rows: np.ndarray, share: float) -> np.ndarray:
    """Add a share of the row before to every row."""
    return rows + share * np.vstack([0 * rows[:1], rows[:-1]])


def _layer_case(
    change: Callable[[Layer, np.ndarray, np.ndarray], Three], mixes: int, strays: int
) -> Callable[[np.random.Generator], Case]:
    """Draw a layer with biases, changed by `change`, and two sequences of one length."""

    def draw(rng: np.random.Generator) -> Case:
        n, d, d_k = (int(size) for size in rng.permutation([3, 5, 7]))
        W = [numbers(rng, d, d_k) for _ in range(3)]
        b = numbers(rng, 3, d_k)

        def right(X_q: np.ndarray, X_kv: np.ndarray) -> Three:
            q, k, v = project_qkv(X_q, X_kv, *W)
            return q + b[0], k + b[1], v + b[2]

        def layer(X_q: np.ndarray, X_kv: np.ndarray) -> Three:
            return change(right, X_q, X_kv)

        X_q, X_kv = numbers(rng, 2, n, d)
        return Case((layer, X_q, X_kv), (float(mixes), float(strays)))

    return draw


def _honest(right: Layer, X_q: np.ndarray, X_kv: np.ndarray) -> Three:
    return right(X_q, X_kv)


def _value_before(right: Layer, X_q: np.ndarray, X_kv: np.ndarray) -> Three:
    q, k, v = right(X_q, X_kv)
    return q, k, _before(v, 0.5)


def _keys_astray(right: Layer, X_q: np.ndarray, X_kv: np.ndarray) -> Three:
    q, _, v = right(X_q, X_kv)
    return q, right(X_q, X_q)[1], v


def _query_astray(right: Layer, X_q: np.ndarray, X_kv: np.ndarray) -> Three:
    _, k, v = right(X_q, X_kv)
    return right(X_kv, X_kv)[0], k, v


def _centred(right: Layer, X_q: np.ndarray, X_kv: np.ndarray) -> Three:
    return right(X_q - X_q.mean(axis=0), X_kv - X_kv.mean(axis=0))


def _faint(right: Layer, X_q: np.ndarray, X_kv: np.ndarray) -> Three:
    q, k, v = right(X_q, X_kv)
    return _before(q, 1e-5), k, v


def _faults(
    layer: Layer,
    X_q: np.ndarray,
    X_kv: np.ndarray,
    least: float = 1e-9,
    own: bool = False,
    last: bool = False,
    looked_at: str = "qkv",
) -> tuple[float, float]:
    """Count as the solution does, or with one of its steps left out."""
    before = layer(X_q, X_kv)
    mixes, strays = set(), set()
    for side in (0, 1):
        for i in range(len(X_q) - 1 if last else 0, len(X_q)):
            inputs = [X_q.copy(), X_kv.copy()]
            inputs[side][i] += 1.0
            for name, old, new in zip("qkv", before, layer(*inputs), strict=True):
                moved = set(np.flatnonzero(np.abs(new - old).max(axis=1) > least).tolist())
                if side != (name != "q"):
                    strays |= {name} if moved and name in looked_at else set()
                elif moved if own else moved - {i}:
                    mixes.add(name)
    return float(len(mixes)), float(len(strays))


@register("projections.expose")
def expose() -> Code:
    """Write the test that finds projections that read what is not theirs."""
    return Code(
        title="Write the test that exposes it",
        function="faults",
        returns=("mixes", "strays"),
        prompt=(
            "`layer(X_q, X_kv)` is somebody's projections: it returns q, k and v, and you do not"
            " see inside. In a right one, row i of q reads row i of `X_q` and nothing else; row j"
            " of k and of v reads row j of `X_kv` and nothing else. Return two counts: `mixes`, how"
            " many of q, k, v have a row that reads *another row* of its own sequence; `strays`,"
            " how many read the *other sequence*. Both sequences have one length, so shapes tell"
            " nothing."
        ),
        stub=(
            "def faults(layer, X_q, X_kv):\n"
            '    """Return mixes and strays: how many of q, k, v read what is not theirs."""\n'
            '    raise NotImplementedError("projections.expose")\n'
        ),
        rungs=(
            Rung(
                "right projections",
                _layer_case(_honest, 0, 0),
                "You accused right projections, which have a bias each. What may move when one"
                " token changes, and what may not?",
                (
                    Slip(
                        "its own row counted",
                        lambda layer, X_q, X_kv: _faults(layer, X_q, X_kv, own=True),
                        "You counted arrays in which the changed token's own row moved. Which rows"
                        " must stay?",
                    ),
                    Slip(
                        "the sides confused",
                        lambda layer, X_q, X_kv: _faults(lambda a, b: layer(b, a), X_q, X_kv),
                        "You called it astray that q follows X_q, and k and v follow X_kv. Which"
                        " sequence is each array's own?",
                    ),
                ),
                crash="Your test stopped. `layer` takes two arrays and returns three: which line"
                " does not?",
            ),
            Rung(
                "values that take in the row before",
                _layer_case(_value_before, 1, 0),
                "Each row of v takes in half of the row before it. Which of your changes can show"
                " that, and in how many arrays?",
                (
                    Slip(
                        "the last token",
                        lambda layer, X_q, X_kv: _faults(layer, X_q, X_kv, last=True),
                        "Each row of v takes in the row before it, and you let it pass. You changed"
                        " the last token: who comes after it?",
                    ),
                    Slip(
                        "rows counted",
                        lambda layer, X_q, X_kv: (
                            (len(X_q) - 1.0) * _faults(layer, X_q, X_kv)[0],
                            0.0,
                        ),
                        "You counted rows. How many of the three arrays are mixed?",
                    ),
                ),
            ),
            Rung(
                "keys from X_q",
                _layer_case(_keys_astray, 0, 1),
                "This layer makes its keys from X_q. Which array should not move when X_q does?",
                (
                    Slip(
                        "q alone",
                        lambda layer, X_q, X_kv: _faults(layer, X_q, X_kv, looked_at="q"),
                        "This layer makes its keys from X_q, and you let it pass. Which arrays"
                        " should stay as they are when X_q changes?",
                    ),
                ),
            ),
            Rung(
                "queries from X_kv",
                _layer_case(_query_astray, 0, 1),
                "This layer makes its queries from X_kv. Which array should not move when X_kv"
                " does?",
                (
                    Slip(
                        "k and v alone",
                        lambda layer, X_q, X_kv: _faults(layer, X_q, X_kv, looked_at="kv"),
                        "This layer makes its queries from X_kv, and you let it pass. Did you"
                        " change X_kv and look at q?",
                    ),
                ),
            ),
            Rung(
                "the mean taken off",
                _layer_case(_centred, 3, 0),
                "This layer takes the mean of the tokens off before it projects. How many of its"
                " arrays are mixed?",
                (
                    Slip(
                        "yes or no",
                        lambda layer, X_q, X_kv: (
                            float(_faults(layer, X_q, X_kv)[0] > 0),
                            float(_faults(layer, X_q, X_kv)[1] > 0),
                        ),
                        "You said that something is mixed. How many of the three arrays are?",
                    ),
                ),
            ),
            Rung(
                "a faint mixture",
                _layer_case(_faint, 1, 0),
                "Each row of q takes in a hundred-thousandth of the row before. How many arrays are"
                " mixed?",
                (
                    Slip(
                        "small differences ignored",
                        lambda layer, X_q, X_kv: _faults(layer, X_q, X_kv, least=1e-2),
                        "Each row of q takes in a hundred-thousandth of the row before, and you let"
                        " it pass. From which size on is a difference more than rounding?",
                    ),
                ),
            ),
        ),
        hints=(
            "Change one token of one sequence, in a copy, and compare all three arrays with what"
            " they were.",
            "If X_q was changed in row i, only row i of q may move. If X_kv was changed in row j,"
            " only row j of k and row j of v may.",
            "Go through every token of both sequences. Keep two sets of names, one for mixing and"
            " one for straying, and return their sizes.",
        ),
        solution=(
            "```python\n"
            "def faults(layer, X_q, X_kv):\n"
            "    before, mixes, strays = layer(X_q, X_kv), set(), set()\n"
            "    for side, own in ((0, 'q'), (1, 'kv')):\n"
            "        for i in range(len((X_q, X_kv)[side])):\n"
            "            inputs = [X_q.copy(), X_kv.copy()]\n"
            "            inputs[side][i] += 1.0\n"
            "            for name, old, new in zip('qkv', before, layer(*inputs)):\n"
            "                moved = np.flatnonzero(np.abs(new - old).max(axis=1) > 1e-9)\n"
            "                if name not in own and len(moved):\n"
            "                    strays.add(name)\n"
            "                if name in own and set(moved) - {i}:\n"
            "                    mixes.add(name)\n"
            "    return float(len(mixes)), float(len(strays))\n"
            "```\n\n"
            "Every layer of a Transformer but attention passes a test like this one. In attention"
            " the rows do mix, and only where its weights say so."
        ),
    )
