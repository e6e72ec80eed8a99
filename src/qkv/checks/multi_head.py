"""The exercises of chapter 10: heads in one matrix and out of it, writes, biases, counts."""

# ruff: noqa: RUF001 (a minus sign is a minus sign)

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from qkv.checks.arrangement import Match, Order, Rule
from qkv.checks.engine import register
from qkv.checks.exercise import Case, Choice, Code, Number, Option, Row, Rung, Slip, Wrong
from qkv.checks.ladder import numbers, sizes
from qkv.core.counts import LayerSizes, multi_head_parameter_count
from qkv.core.multi_head import (
    MultiHeadParameters,
    head_writes,
    merge_heads,
    multi_head_steps,
    split_heads,
)
from qkv.core.packing import pack_in_proj

# --- in the page ---------------------------------------------------------------------------------


@register("multi_head.both")
def both() -> Choice:
    """Predict what one head can report of two neighbours."""
    value = np.array([0.5, 0.5])
    one_mean = np.array_equal(
        value @ np.array([[1, 0], [0, 1]]), value @ np.array([[0, 1], [1, 0]])
    )
    return Choice(
        title="Predict: two neighbours, one mean",
        prompt=(
            "One head gives half its weight to the left neighbour, half to the right. Their values"
            " are two different ones of 16. From this mean alone, which of the two answers"
            " (*left is …*, *right is …*) can be known?"
        ),
        options=(
            Option(
                "both: the values lie in different columns",
                "They would, if left and right used different value matrices. One head has one."
                " What is the mean of a and b, and what is the mean of b and a?",
                not one_mean,
            ),
            Option(
                "which two values they are, but not which is left",
                "With equal shares the mean is the same when the two change places. So the pair is"
                " known and its order is not.",
                one_mean,
            ),
            Option(
                "nothing",
                "A mean of two values is not noise: with 16 values there are 120 pairs of different"
                " ones. Could each have a mean of its own?",
                False,
            ),
            Option(
                "the left one for certain, the right one not at all",
                "That would be so with all the weight at the left. What are the shares here?",
                False,
            ),
        ),
        hints=(
            "Write the mean down for the pair (a, b), then for (b, a).",
            "Addition does not care about order.",
            "What differs between the two cases is not in the mean.",
        ),
        solution=(
            "**The pair, without its order.** ½ a + ½ b = ½ b + ½ a. Unequal shares would leave a"
            " trace of the order; whether it can be read depends on what follows the head."
        ),
    )


@register("multi_head.column")
def column() -> Number:
    """Find a head's column in torch's packed matrix."""
    E, h, head, col = 12, 3, 2, 1
    d = E // h
    marked = np.zeros((h, E, d))
    marked[head - 1, :, col] = 1.0
    nothing = np.zeros((h, E, d))
    packed = pack_in_proj(MultiHeadParameters(nothing, nothing, marked, np.eye(E)))
    row = int(np.flatnonzero(packed["in_proj_weight"].any(axis=1))[0])
    return Number(
        title="Where is it in the packed matrix?",
        prompt=(
            f"torch's `in_proj_weight` for E = {E} and {h} heads has {3 * E} rows, numbered from 0."
            f" Which row holds the column number {col} (counted from 0) of the *values'* matrix of"
            f" the *second* head?"
        ),
        label="Row",
        answer=float(row),
        right="Right: past the blocks of q and k, past the first head, and one on.",
        otherwise="In which order do the blocks q, k, v stand, and the heads inside a block?",
        wrong=(
            Wrong(float(row - E), "That is in the keys' block. Which block is the third?"),
            Wrong(float(row - 2 * E), "That is in the queries' block. Which block is the third?"),
            Wrong(float(row - d), "That is the first head. How many rows has each head?"),
            Wrong(float(row + d), "That is the third head. Where does the second begin?"),
            Wrong(
                float((head - 1) * 3 * d + 2 * d + col),
                "That is the order by head: q, k, v of head 1, then of head 2. Which order has"
                " torch?",
            ),
            Wrong(float(row + 1), "One too far. From which number does the counting start?"),
            Wrong(
                float(2 * E + col * h + head - 1),
                "You let the heads alternate, row by row. Do a head's rows stand together?",
            ),
        ),
        hints=(
            "First find the first row of the values' block.",
            f"Each block has {E} rows, each head in it {d}.",
            "2 E + (head − 1) · E / h + column, with heads counted from 1.",
        ),
        solution=f"2 · {E} + 1 · {d} + {col} = {row}.",
    )


@register("multi_head.footprint")
def footprint() -> Row:
    """Count what one query of one head can depend on."""
    d_model, h = 512, 8
    d = d_model // h
    return Row(
        title="What can a head see?",
        prompt=(
            f"d_model is {d_model}, and there are {h} heads of {d} columns. For each way: on how"
            " many of the numbers of its token's row can *one* number of a head's query depend, and"
            " how many different weights make all heads' queries?"
        ),
        labels=(
            "project, then split: inputs",
            "project, then split: weights",
            "split, then one Linear for all: inputs",
            "split, then one Linear for all: weights",
        ),
        answer=(float(d_model), float(d_model**2), float(d), float(d**2)),
        right=(
            f"Right: an eighth of the inputs and a sixty-fourth of the weights. ({h} Linears, one a"
            f" slice, would have {h * d**2:,}.)"
        ),
        otherwise="Which rows of which matrix does one column of the product meet?",
        wrong=(
            Wrong(
                (float(d), float(d_model**2), float(d_model), float(d**2)),
                "You exchanged the two ways' inputs. Which one cuts the row before the product?",
            ),
            Wrong(
                (float(d_model), float(d_model**2), float(d), float(h * d**2)),
                "That is one Linear for each slice. How many are there when all share one?",
            ),
            Wrong(
                (float(d_model), float(d_model * d), float(d), float(d**2)),
                "That is one head's matrix. How many heads are there?",
            ),
            Wrong(
                (float(d_model), float(h * d_model**2), float(d), float(d**2)),
                "That would be heads of full width. How wide is one head's query?",
            ),
            Wrong(
                (float(d), float(h * d**2), float(d), float(d**2)),
                "In your first way a head sees its slice only. When is the row cut, before or after"
                " the product?",
            ),
            Wrong(
                (float(d_model), float(d_model**2), float(d_model), float(d_model**2)),
                "You see no difference. What is left of the row when it has been cut?",
            ),
        ),
        hints=(
            "One number of a query is a row times a column. How long is the column?",
            f"Whole rows: {d_model} inputs. Slices: {d_model} / {h} inputs.",
            f"Weights: {h} matrices of {d_model} × {d}, against one of {d} × {d}.",
        ),
        solution=(
            f"{d_model} inputs and {h} · {d_model} · {d} = {d_model**2:,} weights; {d} inputs and"
            f" {d} · {d} = {d**2:,} weights."
        ),
    )


@register("multi_head.count")
def count() -> Number:
    """Derive a layer's weights for free widths, and check on the paper's base model."""
    d_model, h, d_k, d_v = 512, 8, 16, 64
    total = multi_head_parameter_count(LayerSizes(d_model, 2048, h, d_k, d_v))
    base = multi_head_parameter_count(LayerSizes(d_model, 2048, h, 64, 64))
    return Number(
        title="Narrow keys",
        prompt=(
            "Derive a formula for the weights of one multi-head layer, without biases, from"
            " d_model, h, d_k and d_v. Check it on the running example (8, 3, 4, 2 give 288). What"
            f" does it give for d_model = {d_model}, h = {h}, d_k = {d_k}, d_v = {d_v}? (A layer of"
            " the paper's Table 3, rows (B).)"
        ),
        label="Weights",
        answer=float(total),
        right=(
            f"Right: 2 h d_model (d_k + d_v), {base - total:,} fewer than the base model's layer."
        ),
        otherwise="Four matrices a layer. Which two have d_k in their shape, and which two d_v?",
        wrong=(
            Wrong(float(base), "That is the base model, with keys of 64. Which matrices shrink?"),
            Wrong(
                float(h * d_model * (2 * d_k + d_v)),
                "That is Q, K and V. Which matrix writes the answers back?",
            ),
            Wrong(float(total // h), "That is one head. How many are there?"),
            Wrong(
                float(h * d_model * (3 * d_k + d_v)),
                "You gave the values the width of the keys. Which width has what is handed over?",
            ),
            Wrong(
                float(h * d_model * (d_k + 2 * d_v)),
                "Queries or keys are missing. How many matrices have width d_k?",
            ),
            Wrong(
                float(4 * h * d_model * d_k),
                "All four matrices of width d_k? Which width do values and W_O have?",
            ),
        ),
        hints=(
            "A head has W_Q, W_K and W_V, and its own rows of W_O.",
            "W_Q and W_K: d_model × d_k each. W_V: d_model × d_v; its rows of W_O: d_v × d_model.",
            "A head: 2 d_model d_k + 2 d_model d_v.",
        ),
        solution=(
            "h · (2 d_model d_k + 2 d_model d_v) = 2 h d_model (d_k + d_v). Running example:"
            f" 2 · 3 · 8 · 6 = 288. Here: 2 · {h} · {d_model} · {d_k + d_v} = {total:,}."
        ),
    )


@register("multi_head.biases")
def biases() -> Choice:
    """Predict which bias moves the attention weights."""
    rng = np.random.default_rng(3)
    q, k, b = rng.normal(size=(5, 3)), rng.normal(size=(7, 3)), rng.normal(size=3)

    def weights(q: np.ndarray, k: np.ndarray) -> np.ndarray:
        e = np.exp(q @ k.T)
        return e / e.sum(axis=1, keepdims=True)

    query = not np.allclose(weights(q + b, k), weights(q, k))
    key = not np.allclose(weights(q, k + b), weights(q, k))
    return Choice(
        title="Predict: which bias moves a weight?",
        prompt=(
            "A layer gets one bias: on its queries, on its keys, on its values, or on its output."
            " Nothing else changes, and all weights come from a plain softmax. Which of the four"
            " can move an attention *weight*?"
        ),
        options=(
            Option(
                "the queries' and the keys': both enter the score",
                "Both do. But what the softmax ignores is a number that is the same for a whole"
                " row. Which of the two terms is?",
                query and key,
            ),
            Option(
                "the queries' only",
                "It adds b · k_j, which differs from key to key. The keys' bias adds q_i · b, the"
                " same for the whole row of query i.",
                query and not key,
            ),
            Option(
                "the keys' only",
                "Add b to every key: query i's scores all grow by q_i · b. What does the softmax do"
                " with a constant?",
                key and not query,
            ),
            Option(
                "all but the output's",
                "Values are not in the scores. Where do they come in?",
                False,
            ),
        ),
        hints=(
            "Multiply out: (q + b) · k, then q · (k + b).",
            "In the row of query i, j runs over the keys. Which of the new terms contains j?",
            "A term without j is one number for the whole row.",
        ),
        solution=(
            "**The queries' only.** (q_i + b) · k_j = q_i · k_j + b · k_j depends on the key;"
            " q_i · (k_j + b) = q_i · k_j + q_i · b adds one number to the row of query i."
        ),
    )


@register("multi_head.pipeline")
def pipeline() -> Order:
    """Put a multi-head layer in order."""
    return Order(
        title="From X to X again",
        prompt="Put a multi-head self-attention layer in order, as programs compute it.",
        steps=(
            "multiply X by the wide W_Q, W_K, W_V",
            "cut the columns into heads",
            "scores and softmax, each head for itself",
            "weighted sum of the values, each head for itself",
            "lay the heads side by side again",
            "multiply by W_O",
        ),
        rules=(
            Rule(
                0,
                1,
                (
                    "Cut before they are projected, each head would see only a strip of X. Is it"
                    " so in the paper?"
                ),
            ),
            Rule(1, 2, "One softmax over the whole width would be one head. What makes them many?"),
            Rule(2, 3, "Which weights? What has to be known before values are summed?"),
            Rule(3, 4, "What is laid side by side: queries and keys, or what the heads hand over?"),
            Rule(4, 5, "W_O has h·d_v rows. What is that wide?"),
        ),
        right="Right. Project, then cut: every head reads all of X, through its own columns of W.",
        hints=(
            "Which comes first, the wide product or the cut?",
            "Between cut and side by side each head works alone.",
            "W_O is the last.",
        ),
        solution=(
            "Project, cut into heads, scores and softmax, weighted sum, side by side, W_O."
            " Cutting X"
            " itself first is another function: then a head sees d_model/h of the columns."
        ),
    )


@register("multi_head.array_shapes")
def array_shapes() -> Match:
    """Match the arrays of a multi-head layer with their shapes."""
    n, d_model, h, d_k, d_v = 7, 10, 3, 4, 5
    rng = np.random.default_rng(10)
    X = rng.normal(size=(n, d_model))
    W_Q, W_K, W_V = (rng.normal(size=(h, d_model, d)) for d in (d_k, d_k, d_v))
    layer = MultiHeadParameters(W_Q, W_K, W_V, rng.normal(size=(h * d_v, d_model)))
    steps = multi_head_steps(X, X, layer)

    def size(*shape: int) -> str:
        return " × ".join(str(axis) for axis in shape)

    wide = size(d_model, h * d_k)
    return Match(
        title="Shapes with a head axis",
        prompt=(
            f"{n} tokens, d_model {d_model}, {h} heads, d_k {d_k}, d_v {d_v}; self-attention,"
            " no batch."
            " Arrays of all heads have the head axis first. Give each its shape."
        ),
        pairs=(
            ("W_Q of all heads, side by side", wide),
            ("queries of all heads", size(*steps.attention.q.shape)),
            ("weights of all heads", size(*steps.attention.weights.shape)),
            ("head outputs", size(*steps.attention.output.shape)),
            ("head outputs, side by side", size(n, h * d_v)),
            ("W_O", size(*layer.W_O.shape)),
        ),
        decoys=(size(d_model, d_k), size(n, n), size(d_model, h * d_v), size(h, d_k, n)),
        right="Right. Side by side the head axis is gone and its columns are in the last axis.",
        otherwise="Take each apart: which axis counts heads, which tokens, which columns?",
        wrong=(
            Wrong(
                {"W_Q of all heads, side by side": size(d_model, d_k)},
                "That is one head's W_Q. How many are side by side?",
            ),
            Wrong(
                {"weights of all heads": size(n, n)},
                "One table of weights? How many heads look, each in its own way?",
            ),
            Wrong(
                {"W_O": size(d_model, h * d_v)},
                "Stored on its side. Which way does the concatenation meet it?",
            ),
            Wrong(
                {"queries of all heads": size(h, d_k, n)},
                "Here tokens are columns. What is a token in this book?",
            ),
            Wrong(
                {"head outputs": size(*steps.attention.q.shape)},
                "A head hands over values. How many columns have they?",
            ),
            Wrong(
                {"head outputs, side by side": size(n, n)},
                (
                    "Each of the heads lays its columns beside the others'. How many are that"
                    " together?"
                ),
            ),
        ),
        hints=(
            "One head first: queries n × d_k, weights n × n, output n × d_v.",
            "All heads: a head axis in front. Side by side: its columns times the number of heads.",
            (
                f"The heads' outputs side by side are {h} · {d_v} columns wide, and W_O brings"
                " them back to d_model."
            ),
        ),
        solution=(
            f"Wide W_Q {wide}; queries {size(*steps.attention.q.shape)}; weights"
            f" {size(*steps.attention.weights.shape)}; outputs"
            f" {size(*steps.attention.output.shape)}, side"
            f" by side {size(n, h * d_v)}; W_O {size(*layer.W_O.shape)}."
        ),
    )


# --- in the notebook -----------------------------------------------------------------------------


def _shape(x: np.ndarray, h: int) -> tuple[tuple[int, ...], int, int]:
    *batch, n, width = x.shape
    return tuple(batch), n, width // h


def _straight(x: np.ndarray, h: int) -> np.ndarray:
    batch, n, d = _shape(x, h)
    return x.reshape(*batch, h, n, d)


def _unturned(x: np.ndarray, h: int) -> np.ndarray:
    batch, n, d = _shape(x, h)
    return x.reshape(*batch, n, h, d)


def _alternating(x: np.ndarray, h: int) -> np.ndarray:
    batch, n, d = _shape(x, h)
    return np.moveaxis(x.reshape(*batch, n, d, h), -1, -3)


def _backwards(x: np.ndarray, h: int) -> np.ndarray:
    return split_heads(x, h)[..., ::-1, :, :]


def _split_case(rng: np.random.Generator, batch: bool = False) -> Case:
    b, n, h, d = sizes(rng, 4)
    x = numbers(rng, *((b,) if batch else ()), n, h * d)
    return Case((x, h), split_heads(x, h))


@register("multi_head.split")
def split() -> Code:
    """Write the split of wide rows into heads."""
    return Code(
        title="Cut into heads",
        function="cut",
        prompt=(
            "`x` holds all heads side by side, shape (..., n, n_heads · d). Return the heads in"
            " front, shape (..., n_heads, n, d): head 0 has the first d columns of each row. There"
            " may be a batch in front."
        ),
        stub=(
            "def cut(x, n_heads):\n"
            '    """Return x cut into heads, (..., n_heads, n, d)."""\n'
            '    raise NotImplementedError("multi_head.split")\n'
        ),
        rungs=(
            Rung(
                "one sentence",
                _split_case,
                "Take head 0: its row for token 1 is columns 0 to d − 1 of which row of x?",
                (
                    Slip(
                        "straight reshape",
                        _straight,
                        "You reshaped to (n_heads, n, d) at once, and that cuts by tokens. What"
                        " stands in row 1 of your head 0?",
                    ),
                    Slip(
                        "not turned",
                        _unturned,
                        "You have tokens in front, then heads. Which two axes must change places?",
                    ),
                    Slip(
                        "alternating",
                        _alternating,
                        "Your head 0 has every n_heads-th column. Do a head's columns stand"
                        " together?",
                    ),
                    Slip(
                        "on their side",
                        lambda x, h: np.swapaxes(split_heads(x, h), -1, -2),
                        "Your heads lie on their side: columns in front of tokens. Which axis is"
                        " last?",
                    ),
                    Slip(
                        "backwards",
                        _backwards,
                        "Your heads run backwards. Which columns belong to head 0?",
                    ),
                    Slip(
                        "transposed by number",
                        lambda x, h: _unturned(x, h).T.swapaxes(0, 1),
                        "`.T` turns every axis round. Which two should change places?",
                    ),
                ),
            ),
            Rung(
                "a batch in front",
                lambda rng: _split_case(rng, batch=True),
                "There is a batch in front now. Do you count your axes from the back?",
                (
                    Slip(
                        "turned from the front",
                        lambda x, h: np.swapaxes(_unturned(x, h), 0, 1),
                        "You turned the first two axes, and the first is the batch now. What are"
                        " heads and tokens, counted from the back?",
                    ),
                    Slip(
                        "heads in front of the batch",
                        lambda x, h: np.moveaxis(split_heads(x, h), -3, 0),
                        "Your heads stand in front of the batch. Where should the batch stay?",
                    ),
                ),
                crash="There is a batch in front now. Which line takes exactly two sizes?",
            ),
        ),
        hints=(
            "Two steps: give each row two axes in place of one, then swap two axes.",
            "Reshape to (..., n, n_heads, d): each row is cut by itself.",
            "The axes to swap are the third and the second from the back.",
        ),
        solution=(
            "```python\n"
            "def cut(x, n_heads):\n"
            "    *batch, n, width = x.shape\n"
            "    pieces = x.reshape(*batch, n, n_heads, width // n_heads)\n"
            "    return pieces.swapaxes(-3, -2)\n"
            "```\n\n"
            "First cut each row, then bring the heads to the front. The other order mixes tokens."
        ),
    )


def _merge_case(rng: np.random.Generator, batch: bool = False) -> Case:
    b, h, n, d = sizes(rng, 4)
    heads = numbers(rng, *((b,) if batch else ()), h, n, d)
    return Case((heads,), merge_heads(heads))


def _merge_straight(heads: np.ndarray) -> np.ndarray:
    *batch, h, n, d = heads.shape
    return heads.reshape(*batch, n, h * d)


@register("multi_head.merge")
def merge() -> Code:
    """Repair a merge that forgets to turn back."""
    return Code(
        title="Repair the merge",
        function="side_by_side",
        prompt=(
            "Somebody lays the heads, shape (..., n_heads, n, d), side by side like this:\n\n"
            "```python\n"
            "def side_by_side(heads):\n"
            "    n_heads, n, d = heads.shape\n"
            "    return heads.reshape(n, n_heads * d)\n"
            "```\n\n"
            "It runs, the shape is right, and the model learns badly. Repair it: row t of the"
            " result must hold head 0's row t, then head 1's row t, and so on. A batch may stand in"
            " front."
        ),
        stub=(
            "def side_by_side(heads):\n"
            '    """Return the heads side by side in each row, (..., n, n_heads * d)."""\n'
            '    raise NotImplementedError("multi_head.merge")\n'
        ),
        rungs=(
            Rung(
                "one sentence",
                _merge_case,
                "Row 0 must hold row 0 of every head. What does yours hold after the first d"
                " numbers?",
                (
                    Slip(
                        "as it was",
                        _merge_straight,
                        "That is the code as it was. After head 0's row 0, which row comes next in"
                        " memory?",
                    ),
                    Slip(
                        "alternating",
                        lambda x: np.moveaxis(x, -3, -1).reshape(*x.shape[:-3], x.shape[-2], -1),
                        "Your columns alternate between heads. What varies fastest inside a row?",
                    ),
                    Slip(
                        "the mean",
                        lambda x: x.mean(axis=-3),
                        "You averaged the heads. Where is what each of them found?",
                    ),
                    Slip(
                        "the sum",
                        lambda x: x.sum(axis=-3),
                        "You added the heads. They are added after each has met its rows of W_O;"
                        " what happens before?",
                    ),
                    Slip(
                        "one below the other",
                        lambda x: x.reshape(*x.shape[:-3], -1, x.shape[-1]),
                        "You put the heads one below the other. Along which axis should they join?",
                    ),
                    Slip(
                        "backwards",
                        lambda x: merge_heads(x[..., ::-1, :, :]),
                        "Your last head comes first. Which rows of W_O belong to head 0?",
                    ),
                ),
            ),
            Rung(
                "a batch in front",
                lambda rng: _merge_case(rng, batch=True),
                "There is a batch in front now. Do you count your axes from the back?",
                (
                    Slip(
                        "turned from the front",
                        lambda x: np.swapaxes(x, 0, 1).reshape(x.shape[0], x.shape[2], -1),
                        "You turned the first two axes, and the first is the batch now. Which two"
                        " are heads and tokens?",
                    ),
                ),
                crash="There is a batch in front now. Which line takes exactly three sizes?",
            ),
        ),
        hints=(
            "A reshape never moves a number; it only reads them in another grid.",
            "Turn first, so that token, head, column is the order in which they are read.",
            "Swap the axes −3 and −2, then join the last two.",
        ),
        solution=(
            "```python\n"
            "def side_by_side(heads):\n"
            "    *batch, n_heads, n, d = heads.shape\n"
            "    return heads.swapaxes(-3, -2).reshape(*batch, n, n_heads * d)\n"
            "```\n\n"
            "The forward step was cut, then turn; the way back is turn, then join."
        ),
    )


def _without(i: int, heads: np.ndarray, W_O: np.ndarray) -> np.ndarray:
    writes = head_writes(heads, W_O)
    return np.delete(writes, i, axis=0).sum(axis=0)


def _writes_case(rng: np.random.Generator, last: bool = False) -> Case:
    h, n, d_v, d_model = sizes(rng, 4)
    while h == 2:
        h, n, d_v, d_model = sizes(rng, 4)
    i = h - 1 if last else int(rng.integers(1, h - 1))
    heads, W_O = numbers(rng, h, n, d_v), numbers(rng, h * d_v, d_model)
    return Case((i, heads, W_O), _without(i, heads, W_O))


def _write(i: int, heads: np.ndarray, W_O: np.ndarray) -> np.ndarray:
    return np.asarray(head_writes(heads, W_O)[i])


def _with_rows_removed(i: int, heads: np.ndarray, W_O: np.ndarray) -> np.ndarray:
    h, _, d_v = heads.shape
    return merge_heads(np.delete(heads, i, axis=0)) @ W_O[: (h - 1) * d_v]


@register("multi_head.writes")
def writes() -> Code:
    """Take one head's write out of the output."""
    return Code(
        title="Silence a head",
        function="without_head",
        prompt=(
            "`heads`, shape (n_heads, n, d_v), is what the heads found; `W_O`, shape"
            " (n_heads · d_v, d_model), writes it. Return the layer's output, shape (n, d_model),"
            " as it would be if head number `i` wrote nothing."
        ),
        stub=(
            "def without_head(i, heads, W_O):\n"
            '    """Return the output without what head i writes, (n, d_model)."""\n'
            '    raise NotImplementedError("multi_head.writes")\n'
        ),
        rungs=(
            Rung(
                "a head in the middle",
                _writes_case,
                "The output is a sum over the heads. Which rows of W_O does head i use?",
                (
                    Slip(
                        "nothing silenced",
                        lambda i, heads, W_O: merge_heads(heads) @ W_O,
                        "That is the whole output. What does head i add to it?",
                    ),
                    Slip(
                        "only that head",
                        _write,
                        "That is what head i writes. What is left when it is taken away?",
                    ),
                    Slip(
                        "the first rows for all others",
                        _with_rows_removed,
                        "You took the head out and let the later ones slide onto its rows of W_O."
                        " Whose rows are those?",
                    ),
                    Slip(
                        "row i only",
                        lambda i, heads, W_O: (
                            merge_heads(heads) @ np.where(np.arange(len(W_O))[:, None] == i, 0, W_O)
                        ),
                        "You silenced one row of W_O. How many rows has a head?",
                    ),
                    Slip(
                        "every h-th row",
                        lambda i, heads, W_O: (
                            merge_heads(heads)
                            @ np.where((np.arange(len(W_O)) % len(heads) == i)[:, None], 0, W_O)
                        ),
                        "You silenced every n_heads-th row of W_O. Do a head's rows lie together?",
                    ),
                    Slip(
                        "the rest made larger",
                        lambda i, heads, W_O: (
                            _without(i, heads, W_O) * (len(heads) / (len(heads) - 1))
                        ),
                        "You scaled the others up, as for a mean. Is the output a mean of the"
                        " writes, or their sum?",
                    ),
                    Slip(
                        "the next head",
                        lambda i, heads, W_O: _without(i + 1, heads, W_O),
                        "You silenced the head after it. From which number do you count?",
                    ),
                    Slip(
                        "merged without turning",
                        lambda i, heads, W_O: (
                            np.where(np.arange(len(heads))[:, None, None] == i, 0, heads).reshape(
                                heads.shape[1], -1
                            )
                            @ W_O
                        ),
                        "You reshaped the heads without turning them back, so tokens are mixed."
                        " Which axes change places first?",
                    ),
                ),
            ),
            Rung(
                "the last head",
                lambda rng: _writes_case(rng, last=True),
                "This time it is the last head. Which are its rows of W_O?",
                crash="This time it is the last head. Which index runs past the end?",
            ),
        ),
        hints=(
            "Head i's rows of W_O are i · d_v to (i + 1) · d_v − 1.",
            "Its write is heads[i] @ those rows.",
            "Add the writes of all the others; or set heads[i] to 0 in a copy.",
        ),
        solution=(
            "```python\n"
            "def without_head(i, heads, W_O):\n"
            "    n_heads, n, d_v = heads.shape\n"
            "    rows = W_O.reshape(n_heads, d_v, -1)\n"
            "    others = [j for j in range(n_heads) if j != i]\n"
            "    return sum(heads[j] @ rows[j] for j in others)\n"
            "```\n\n"
            "This is how heads are switched off when one asks what a head is good for."
        ),
    )


Splitter = Callable[[np.ndarray, int], np.ndarray]


def _last_piece_turned(x: np.ndarray, h: int) -> np.ndarray:
    heads = np.array(split_heads(x, h))
    heads[-1, -1] = heads[-1, -1, ::-1]
    return heads


def _distinct(n: int, h: int, d: int) -> np.ndarray:
    return np.arange(float(n * h * d)).reshape(n, h * d)


def _wrong_pieces(split: Splitter, n: int, h: int, d: int) -> np.ndarray:
    x = _distinct(n, h, d)
    got, want = split(x, h), split_heads(x, h)
    return np.asarray((got != want).any(axis=-1))


def _test_case(split: Splitter) -> Callable[[np.random.Generator], Case]:
    def draw(rng: np.random.Generator) -> Case:
        n, h, d = (int(x) for x in rng.permutation([3, 5, 7]))
        return Case((split, n, h, d), float(_wrong_pieces(split, n, h, d).sum()))

    return draw


@register("multi_head.mix_test")
def mix_test() -> Code:
    """Write the test that finds a wrong split."""
    return Code(
        title="Write the test that exposes it",
        function="wrong_pieces",
        prompt=(
            "`split(x, n_heads)` is somebody's split: from (n, n_heads · d) to (n_heads, n, d). All"
            " the splits on this ladder return the right shape. Choose an input yourself and count"
            " the pieces that are wrong: a piece is the d numbers of one token in one head, and"
            " there are n_heads · n of them. A right split has 0."
        ),
        stub=(
            "def wrong_pieces(split, n, n_heads, d):\n"
            '    """Return how many of the n_heads * n pieces are wrong."""\n'
            '    raise NotImplementedError("multi_head.mix_test")\n'
        ),
        rungs=(
            Rung(
                "an honest split",
                _test_case(split_heads),
                "You accused an honest split. Which columns of x belong to head i?",
                (
                    Slip(
                        "held against a straight reshape",
                        lambda s, n, h, d: float(
                            (s(_distinct(n, h, d), h) != _straight(_distinct(n, h, d), h))
                            .any(axis=-1)
                            .sum()
                        ),
                        "You compared with a straight reshape, and that one is wrong itself. How do"
                        " you get a head's columns for certain?",
                    ),
                    Slip(
                        "right pieces counted",
                        lambda s, n, h, d: float((~_wrong_pieces(s, n, h, d)).sum()),
                        "You counted the right pieces. How many are wrong?",
                    ),
                ),
                crash="Your test stopped. What does `split` take, and what does it return?",
            ),
            Rung(
                "a straight reshape",
                _test_case(_straight),
                "This split reshapes at once and mixes tokens. Does your input show it?",
                (
                    Slip(
                        "shape only",
                        lambda s, n, h, d: 0.0,
                        "You found nothing wrong. Is the shape enough? And could all entries of"
                        " your input be alike?",
                    ),
                    Slip(
                        "numbers counted",
                        lambda s, n, h, d: float(
                            (s(_distinct(n, h, d), h) != split_heads(_distinct(n, h, d), h)).sum()
                        ),
                        "You counted single numbers. What is a piece?",
                    ),
                    Slip(
                        "yes or no",
                        lambda s, n, h, d: float(_wrong_pieces(s, n, h, d).any()),
                        "You said that it is wrong. How many pieces are?",
                    ),
                    Slip(
                        "heads counted",
                        lambda s, n, h, d: float(_wrong_pieces(s, n, h, d).any(axis=1).sum()),
                        "You counted heads. How many pieces has a head?",
                    ),
                ),
            ),
            Rung(
                "heads backwards",
                _test_case(_backwards),
                "In this split the heads run backwards. Which of them is right by accident?",
            ),
            Rung(
                "one piece turned round",
                _test_case(_last_piece_turned),
                "Only one piece is wrong here: its numbers are the right ones in the wrong order."
                " Do you compare sums, or numbers?",
                (
                    Slip(
                        "sums compared",
                        lambda s, n, h, d: float(
                            (
                                s(_distinct(n, h, d), h).sum(-1)
                                != split_heads(_distinct(n, h, d), h).sum(-1)
                            ).sum()
                        ),
                        "Your test let it pass: the piece has the right sum. What about the order"
                        " of its numbers?",
                    ),
                ),
            ),
        ),
        hints=(
            "Take an input in which no two numbers are alike: `np.arange(n * n_heads * d)`.",
            "The right piece of head i and token t is `x[t, i * d : (i + 1) * d]`.",
            "Two loops, one comparison, one count.",
        ),
        solution=(
            "```python\n"
            "def wrong_pieces(split, n, n_heads, d):\n"
            "    x = np.arange(float(n * n_heads * d)).reshape(n, n_heads * d)\n"
            "    heads, wrong = split(x, n_heads), 0\n"
            "    for i in range(n_heads):\n"
            "        for t in range(n):\n"
            "            piece = x[t, i * d : (i + 1) * d]\n"
            "            wrong += not np.array_equal(heads[i, t], piece)\n"
            "    return wrong\n"
            "```\n\n"
            "Shapes say nothing, sums of rows say nothing; distinct numbers say it all."
        ),
    )
