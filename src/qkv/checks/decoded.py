"""The exercises of chapter 11: the paper's notation, translated."""

# ruff: noqa: RUF001 (a multiplication sign is a multiplication sign)

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from qkv.checks.arrangement import Fill
from qkv.checks.engine import register
from qkv.checks.exercise import Case, Choice, Code, Number, Option, Row, Rung, Slip, Wrong
from qkv.checks.ladder import numbers, sizes
from qkv.core.counts import LayerSizes, multi_head_parameter_count
from qkv.core.multi_head import MultiHeadParameters, multi_head_steps
from qkv.core.packing import pack_in_proj
from qkv.core.scaled_dot_product import scaled_dot_product_attention

Arrays = tuple[np.ndarray, ...]

# --- in the page ---------------------------------------------------------------------------------


def _cross_layer() -> tuple[MultiHeadParameters, np.ndarray, np.ndarray]:
    """Return a layer of the page's sizes with who asks, X_q, and who is asked, X_kv."""
    rng = np.random.default_rng(11)
    X_q, X_kv = rng.normal(size=(7, 8)), rng.normal(size=(5, 9))
    W_Q, W_K, W_V = (rng.normal(size=(3, d, n)) for d, n in ((8, 4), (9, 4), (9, 2)))
    return MultiHeadParameters(W_Q, W_K, W_V, rng.normal(size=(6, 8))), X_q, X_kv


@register("decoded.which_q")
def which_q() -> Choice:
    """Tell the input from the projected query by its width."""
    layer, X_q, X_kv = _cross_layer()
    q = multi_head_steps(X_q, X_kv, layer).attention.q
    outer, inner = X_q.shape, q.shape[1:]
    return Choice(
        title="Predict: two shapes for one letter",
        prompt=(
            "In the small layer above you print the shape of the paper's $Q$ twice: where"
            " MultiHead(Q, K, V) is entered, and where Attention(Q, K, V) is entered for one head."
            " What do you see?"
        ),
        options=(
            Option(
                "7 × 4, then 7 × 4: it is the same Q",
                "If Q had 4 columns at the door of MultiHead, how could it meet a W with 8 rows?",
                outer == inner == (7, 4),
            ),
            Option(
                "7 × 8, then 7 × 4",
                "At the outer door Q is X_q. Head i has made its own Q from it by the time the"
                " inner door is reached.",
                (outer, inner) == ((7, 8), (7, 4)),
            ),
            Option(
                "7 × 4, then 7 × 8",
                "The two doors are there, in the other order. Which one comes first on the way from"
                " the input?",
                (outer, inner) == ((7, 4), (7, 8)),
            ),
            Option(
                "7 × 8, then 5 × 4",
                "Five is the number of English tokens. Who asks in this layer?",
                (outer, inner) == ((7, 8), (5, 4)),
            ),
        ),
        hints=(
            "Which of the two formulas has W's in it?",
            "MultiHead multiplies its Q by a matrix of 8 rows.",
            "A product has the rows of its left factor and the columns of its right one.",
        ),
        solution=(
            f"**{outer[0]} × {outer[1]}, then {inner[0]} × {inner[1]}.** The first is X_q, the"
            " second X_q times the matrix of one head. One letter, two arrays."
        ),
    )


@register("decoded.boxes")
def boxes() -> Number:
    """Count the matrices behind the boxes that are called Linear."""
    h = 5
    return Number(
        title="How many matrices say Linear?",
        prompt=(
            f"A layer has {h} heads. How many learned matrices stand behind all the boxes called"
            " “Linear” in the right half of Figure 2?"
        ),
        label="Learned matrices",
        answer=float(3 * h + 1),
        right="Right. Three for each head, and one that reads all heads together.",
        otherwise="How many Linear boxes has one head, and which box is there once?",
        wrong=(
            Wrong(4, "Those are the boxes that one sees. How many heads stand behind each other?"),
            Wrong(3 * h, "You have the heads' own. Which Linear box comes after Concat?"),
            Wrong(
                4 * h, "You gave each head a last Linear of its own. Does it stand before or after"
                " the heads are joined?"
            ),
            Wrong(h + 1, "You counted one matrix a head. How many arrays does a head make?"),
            Wrong(
                3 * h + 4, "You counted wide matrices beside the small ones. Is a wide one more"
                " than the small ones side by side?"
            ),
            Wrong(2 * h + 1, "You gave keys and values one matrix. Are they one array after it?"),
        ),
        hints=(
            "Each head makes three arrays.",
            "The boxes in the paper stand h deep. The last one does not.",
            f"3 · {h}, and one more.",
        ),
        solution=f"3 · {h} + 1 = {3 * h + 1}.",
    )  # fmt: skip


@register("decoded.count")
def count() -> Number:
    """Count the triples and their weights in the big model."""
    layers, heads, d_model, d_k = 6, 16, 1024, 64
    triples = 3 * layers * heads
    sizes_ = LayerSizes(d_model=d_model, d_ff=4096, n_heads=heads, d_k=d_k, d_v=d_k)
    weights = 3 * layers * (multi_head_parameter_count(sizes_) - heads * d_k * d_model)
    return Number(
        title="The big model's triples",
        prompt=(
            f"The paper's big model (Table 3) has {layers} layers on each side, h = {heads} heads"
            f" and `d_model` = {d_model}; with `d_k` = `d_v` = {d_k}, how many millions of weights"
            " do all its triples of matrices hold together? Give it to two decimals."
        ),
        label="Million weights",
        answer=round(weights / 1e6, 2),
        tolerance=0.005,
        right=f"Right: {triples} triples, {weights:,} weights.",
        otherwise="How many attention sub-layers are there, and how many triples in each?",
        wrong=(
            Wrong(
                round(weights * 4 / 3 / 1e6, 2),
                "You counted W^O too. Is it one of the three that are asked for?",
            ),
            Wrong(
                round(weights * 2 / 3 / 1e6, 2),
                "You have two attention sub-layers for each of six layers. Which third use is"
                " there?",
            ),
            Wrong(
                round(weights / 3 / 1e6, 2),
                "You have one matrix a head, or one use of attention. Which factor of three is"
                " missing?",
            ),
            Wrong(
                round(weights / heads / 1e6, 2),
                "You have one head in each sub-layer. How many are there?",
            ),
            Wrong(
                round(weights * heads / 1e6, 2),
                "You let every head be 1024 wide. How many columns has W_i^Q?",
            ),
            Wrong(
                float(triples),
                "That is the number of triples. How many weights has one?",
            ),
        ),
        hints=(
            "Encoder, decoder, and between them: three uses, six layers each.",
            f"{triples} triples. One matrix is {d_model} × {d_k}.",
            f"{triples} · 3 · {d_model} · {d_k}, divided by a million.",
        ),
        solution=(
            f"3 · {layers} · {heads} = {triples} triples of 3 · {d_model} · {d_k} weights:"
            f" {weights:,}."
        ),
    )


def _rows(W: np.ndarray) -> str:
    """Return a matrix of whole numbers as a list of its rows."""
    return str(W.astype(int).tolist())


@register("decoded.fold")
def fold() -> Number:
    """Derive the one matrix that does the work of two, and compute an entry."""
    W, W_i = np.array([[1.0, 2], [0, -1], [3, 1]]), np.array([[2.0, 0, 1], [-1, 4, 3]])
    folded = W @ W_i
    row = " ".join(f"{entry:g}" for entry in W[0])
    column = " ".join(f"{entry:g}" for entry in W_i[:, 1])
    return Number(
        title="Two matrices, one matrix",
        prompt=(
            f"A slide makes `q = x @ W` and then `q_i = q @ W_i`, with `W = {_rows(W)}` and"
            f" `W_i = {_rows(W_i)}`. Derive the single matrix that the paper would call $W_i^Q$."
            " What stands in its first row and second column?"
        ),
        label="The entry",
        answer=float(folded[0, 1]),
        right=(
            "Right: (xW)W_i = x(WW_i). This one has 9 entries and rank 2, for it came through 2"
            " columns."
        ),
        otherwise="Move the brackets in (xW)W_i. Which product appears?",
        wrong=(
            Wrong(float((W_i @ W)[0, 1]), "That is W_i W. Which matrix does x meet first?"),
            Wrong(float(folded[1, 0]), "That is row 2, column 1. Which comes first, row or"
                  " column?"),
            Wrong(float(W[0, 1] + W_i[0, 1]), "You added. How do two maps in a row combine?"),
            Wrong(float(folded[0, 0]), "That is its left neighbour. Which column is the second?"),
            Wrong(float(folded[0, 2]), "That is its right neighbour. Which column is the second?"),
        ),
        hints=(
            "Matrix products can be regrouped: (xW)W_i = x(WW_i).",
            "So W_i^Q is W W_i. The entry is a row of W times a column of W_i.",
            f"Row ({row}) times column ({column}).",
        ),
        solution=f"The matrix is `W @ W_i`; the entry is 1 · 0 + 2 · 4 = {folded[0, 1]:g}.",
    )  # fmt: skip


@register("decoded.uses")
def uses() -> Choice:
    """Say which arrays enter the middle sub-layer of a decoder layer."""
    return Choice(
        title="Which two arrays?",
        prompt=(
            "Decoder layer 3 of 6, cross-attention. Which array is $\\Xq$, and which is $\\Xkv$?"
        ),
        options=(
            Option(
                "the output of decoder layer 2; the encoder's last output",
                "So says the sentence in 3.2.3. Which sub-layer of layer 3 stands between, and"
                " where does its output go?",
                False,
            ),
            Option(
                "layer 3's masked self-attention, after add and norm; the output of encoder layer"
                " 3",
                "The queries are right. Does each decoder layer have an encoder layer of its own?",
                False,
            ),
            Option(
                "layer 3's masked self-attention, after add and norm; the encoder's last output",
                "As the arrows of Figure 1 say. The second array is the same for all six layers.",
                True,
            ),
            Option(
                "the encoder's last output; layer 3's masked self-attention, after add and norm",
                "Then English would ask and German be read. How many rows must the output have?",
                False,
            ),
        ),
        hints=(
            "The output has one row for each row of X_q, and goes on through the decoder.",
            "Follow the arrows of Figure 1 into the middle box of the decoder.",
            "The arrows from the encoder leave above its last layer.",
        ),
        solution=(
            "X_q is what the masked self-attention of the *same* layer put out, after add and norm;"
            " X_kv the encoder's last output. The hook on this page has compared both readings."
        ),
    )


@register("decoded.values")
def values() -> Choice:
    """Find the sense of values by its shape."""
    n_q, n_k, d_model, d_v = 7, 5, 8, 2
    shape = (n_q, d_v)
    return Choice(
        title="Which values are these?",
        prompt=(
            f"Seven tokens ask five; the model is {d_model} wide, $d_v = {d_v}$, three heads. An"
            f" array that the paper calls *values* has shape {n_q} × {d_v}. Which is it?"
        ),
        options=(
            Option(
                "the values that enter MultiHead",
                "Those have a row for each token that is asked. How many are asked?",
                shape == (n_k, d_model),
            ),
            Option(
                "the projected values of one head",
                "The width is right. Do values belong to the tokens that ask, or to those that are"
                " asked?",
                shape == (n_k, d_v),
            ),
            Option(
                "the output values of one head",
                "One row for each query, as wide as a value: a mean of values for each query.",
                shape == (n_q, d_v),
            ),
            Option(
                "the final values",
                "Those have passed W^O. How wide does it make them?",
                shape == (n_q, d_model),
            ),
        ),
        hints=(
            "Seven rows: so the rows are queries.",
            "Two columns: W^O has not acted yet.",
            "What does a head return?",
        ),
        solution=f"The output values of one head: head_i has shape {n_q} × {d_v}.",
    )


@register("decoded.columns")
def columns() -> Row:
    """Give the shapes of one head with tokens as columns."""
    n_q, n_k, d_x, d_z, d_attn = 7, 5, 8, 9, 4
    X, Z = np.ones((d_x, n_q)), np.ones((d_z, n_k))
    W_q, W_k = np.ones((d_attn, d_x)), np.ones((d_attn, d_z))
    S = (W_k @ Z).T @ (W_q @ X)
    right = (*W_q.shape, *S.shape)
    return Row(
        title="Turn it on its side",
        prompt=(
            f"Tokens are columns: $X$ is {d_x} × {n_q} and asks, $Z$ is {d_z} × {n_k} and is asked,"
            f" $Q = W_q X$ has {d_attn} rows. Give the shapes of $W_q$ and of $S = K^\\top Q$."
        ),
        labels=("rows of W_q", "columns of W_q", "rows of S", "columns of S"),
        answer=tuple(float(n) for n in right),
        right="Right. Every array is ours on its side, so the queries are the columns of S.",
        otherwise="Write the sizes under each product. Which inner sizes must agree?",
        wrong=(
            Wrong(
                (d_x, d_attn, n_k, n_q),
                "That is our W_Q, with a row for each column of X. On which side of X does it stand"
                " here?",
            ),
            Wrong(
                (d_attn, d_x, n_q, n_k),
                "S is right for rows. In K'Q, whose tokens are the rows?",
            ),
            Wrong(
                (d_x, d_attn, n_q, n_k),
                "Those are the shapes with one token a row. What turns when tokens are columns?",
            ),
            Wrong(
                (d_attn, d_x, d_attn, d_attn),
                "You let the tokens be summed away. Which axis do Q and K share here?",
            ),
            Wrong(
                (d_attn, d_z, n_k, n_q),
                "That W would fit Z. Which sequence asks?",
            ),
            Wrong(
                (d_attn, d_x, n_k, n_k),
                "You let Z ask itself. Whose tokens are the columns of Q?",
            ),
        ),
        hints=(
            "W_q X must be defined: W_q has as many columns as X has rows.",
            "Q is 4 × 7 and K is 4 × 5.",
            "K turned is 5 × 4, times Q.",
        ),
        solution=(
            f"W_q is {W_q.shape[0]} × {W_q.shape[1]}; S is {S.shape[0]} × {S.shape[1]}, one column"
            " a query, so the softmax runs down the columns."
        ),
    )


@register("decoded.to_code")
def to_code() -> Choice:
    """Translate a product of the paper into a line of code."""
    layer, X_target, memory = _cross_layer()
    W_K, k = layer.W_K, multi_head_steps(X_target, memory, layer).attention.k

    def is_it(made: np.ndarray) -> bool:
        return made.shape == k[1].shape and bool(np.allclose(made, k[1]))

    return Choice(
        title="From the paper to code",
        prompt=(
            "Cross-attention of a decoder layer, head i. Which expression is the paper's $KW_i^K$?"
        ),
        options=(
            Option(
                "`memory @ W_K[i]`",
                "In MultiHead the paper's K is the encoder's output, and one matrix stands between"
                " it and the keys.",
                is_it(memory @ W_K[1]),
            ),
            Option(
                "`X_target @ W_K[i]`",
                "Those would be keys of the sentence that asks. Which sentence is asked here?",
                is_it(X_target @ np.ones((X_target.shape[1], W_K.shape[2]))),
            ),
            Option(
                "`k @ W_K[i]`",
                "Here k is what head i has made. Is that the K that MultiHead was given?",
                is_it(k[1] @ np.ones((W_K.shape[2], W_K.shape[2]))),
            ),
            Option(
                "`memory @ W_K @ W_K[i]`",
                "That has two matrices in a row. How many stand in the paper's product?",
                False,
            ),
        ),
        hints=(
            "The K of this product is an argument of MultiHead.",
            "In cross-attention that argument is what the encoder puts out.",
            "One array times the matrix of one head.",
        ),
        solution="`memory @ W_K[i]`: the paper's K is the array `X_kv`, here the memory.",
    )


@register("decoded.to_paper")
def to_paper() -> Choice:
    """Translate an einsum into a symbol of the paper."""
    layer, X_q, X_kv = _cross_layer()
    made = np.einsum("jd,hdv->hjv", X_kv, layer.W_V)[1]
    steps = multi_head_steps(X_q, X_kv, layer).attention

    def is_it(array: np.ndarray) -> bool:
        return array.shape == made.shape and bool(np.allclose(array, made))

    return Choice(
        title="From code to the paper",
        prompt=(
            'A program has `A = np.einsum("jd,hdv->hjv", X_kv, W_V)` and goes on with `A[i]`. What'
            " does the paper write for `A[i]`?"
        ),
        options=(
            Option(
                "$W_i^V$",
                "That one is learned, and has no token in it. Which letter of the einsum counts"
                " tokens?",
                is_it(layer.W_V[1]),
            ),
            Option(
                "the V of MultiHead",
                "That array is as wide as the memory. Over which letter does the einsum sum?",
                is_it(X_kv),
            ),
            Option(
                "head_i",
                "A head has a row for each query. Where is a query in this line?",
                is_it(steps.output[1]),
            ),
            Option(
                "$VW_i^V$, which Attention calls V",
                "One row for each token that is asked, one matrix a head: the values of head i.",
                is_it(steps.v[1]),
            ),
        ),
        hints=(
            "Read the letters: j counts tokens, h heads; d is summed away.",
            "For one h it is a product of two matrices.",
            "`A[i]` equals `X_kv @ W_V[i]`.",
        ),
        solution=(
            "`A[i]` is `X_kv @ W_V[i]`. The paper writes $VW_i^V$ for it in head_i, and V once it"
            " is inside Attention."
        ),
    )


@register("decoded.packed_rows")
def packed_rows() -> Row:
    """Find one head's key matrix in torch's packed weight of the base model."""
    h, d, i = 8, 64, 3
    E = h * d
    rows = np.arange(3 * E).reshape(3, h, d)
    # what `pack_in_proj` does to matrices whose columns are numbered as the rows they become
    W_Q, W_K, W_V = (np.repeat(block[:, None, :], E, axis=1).astype(float) for block in rows)
    layer = MultiHeadParameters(W_Q, W_K, W_V, np.eye(E))
    packed = pack_in_proj(layer)["in_proj_weight"]
    assert np.array_equal(packed[:, 0], np.arange(3 * E))
    right = (float(layer.W_K[i - 1, 0, 0]), float(layer.W_K[i - 1, 0, -1]))
    return Row(
        title="From the paper to torch",
        prompt=(
            f"In torch, the base model's `in_proj_weight` has shape ({3 * E}, {E}). Which rows of"
            f" it, counted from 0 as Python does, are the paper's $W_{i}^K$? Heads are counted"
            " from 1 in the paper."
        ),
        labels=("first row", "last row"),
        answer=right,
        right=f"Right: `in_proj_weight[{right[0]:g}:{right[1] + 1:g}]` is that matrix on its side.",
        otherwise="Which block of rows holds the keys, and how many rows has a head in it?",
        wrong=(
            Wrong((right[0], right[1] + 1), "A slice ends before its second number. Which row is"
                  " the last one in it?"),
            Wrong((right[0] + 1, right[1] + 1), "The block is right. Is its first row counted as 0"
                  " or as 1?"),
            Wrong((right[0] + d, right[1] + d), "That is the next head. Does the paper count heads"
                  " from 0 or from 1?"),
            Wrong((right[0] - E, right[1] - E), "Those rows make queries. In which order do the"
                  " three blocks stand?"),
            Wrong((right[0] + E, right[1] + E), "Those rows make values. In which order do the"
                  " three blocks stand?"),
            Wrong((float((3 * (i - 1) + 1) * d), float((3 * (i - 1) + 2) * d - 1)),
                  "You let the q, k and v of a head stand together. Which comes first in torch,"
                  " the head or the kind?"),
            Wrong((float(E), float(2 * E - 1)), "That is the block of all heads' keys. How many"
                  " rows of it belong to one head?"),
        ),
        hints=(
            f"Three blocks of {E} rows: queries, keys, values.",
            f"In each block {h} heads of {d} rows each.",
            f"{E} rows before the keys, and {i - 1} heads of {d} before head {i}.",
        ),
        solution=(
            f"{E} + {i - 1} · {d} = {right[0]:g} is the first, {right[1]:g} the last."
            " `nn.Linear` stores (out, in), so the paper's matrix stands there on its side."
        ),
    )  # fmt: skip


@register("decoded.multi")
def multi() -> Fill:
    """Write head i of a cross-attention layer with names that cannot be mixed up."""
    return Fill(
        title="The paper's head, with names of its own",
        prompt=(
            "Write head $i$ of a *cross-attention* layer so that no letter has two meanings."
            " The decoder's"
            " rows ask; the encoder's output is asked. What stands in the boxes?\n\n"
            "$$\\begin{aligned} \\mathrm{head}_i = \\operatorname{Attention}("
            "&\\boxed{1}\\,\\WQ^{(i)},\\\\ &\\boxed{2}\\,\\WK^{(i)},\\\\"
            " &\\boxed{3}\\,\\WV^{(i)}) \\end{aligned}$$\n\n"
            "$$\\text{output} = [\\mathrm{head}_1 \\cdots \\mathrm{head}_h]\\;\\boxed{4}$$"
        ),
        pairs=(("1", "X_q"), ("2", "X_kv"), ("3", "X_kv"), ("4", "W_O")),
        plain=("box 1", "box 2", "box 3", "box 4"),
        decoys=("X_q W_Q", "X_kv W_K", "X_kv W_V", "W_V"),
        right=(
            "Right. Two arrays come in, each is projected once in each head, and W_O comes after"
            " the heads."
        ),
        otherwise="Ask for each box: is this array an input of the layer, or already a product?",
        wrong=(
            Wrong(
                {"1": "X_q W_Q"},
                "Then W_Q would be there twice. What is handed in, the input or a product?",
            ),
            Wrong(
                {"2": "X_kv W_K"},
                "The matrix stands right beside the box. Is it to be multiplied twice?",
            ),
            Wrong(
                {"3": "X_kv W_V"},
                "The matrix stands right beside the box. Is it to be multiplied twice?",
            ),
            Wrong({"1": "X_kv"}, "That is who is asked. Whose rows ask in cross-attention?"),
            Wrong(
                {"2": "X_q", "3": "X_q"},
                "That would be self-attention. Where do keys and values come from here?",
            ),
            Wrong(
                {"3": "X_q"}, "The values would come from those who ask. What do they want to read?"
            ),
            Wrong(
                {"4": "W_V"},
                "The values are projected inside the heads. Which matrix comes after them?",
            ),
        ),
        hints=(
            "The paper writes Q, K, V in the boxes, and means the inputs.",
            "Cross-attention has two inputs: one for the first box, one for the second and third.",
            "The last box is the only matrix that all heads share.",
        ),
        solution=(
            "X_q, X_kv, X_kv and W_O. In the paper's letters: MultiHead's Q is X_q, its K and"
            " V are both"
            " X_kv, the encoder's output. Nothing is projected twice."
        ),
    )


# --- in the notebook -----------------------------------------------------------------------------


def _turned(W_q: np.ndarray, W_k: np.ndarray, W_v: np.ndarray, W_o: np.ndarray) -> Arrays:
    return tuple(np.swapaxes(W, -1, -2) for W in (W_q, W_k, W_v, W_o))


def _column_case(rng: np.random.Generator, h: int) -> Case:
    d_x, d_z, d_attn, d_mid, d_out = sizes(rng, 5)
    args = (
        numbers(rng, h, d_attn, d_x),
        numbers(rng, h, d_attn, d_z),
        numbers(rng, h, d_mid, d_z),
        numbers(rng, d_out, h * d_mid),
    )
    return Case(args, _turned(*args))


def _several(rng: np.random.Generator) -> Case:
    return _column_case(rng, 3)


def _alone(rng: np.random.Generator) -> Case:
    return _column_case(rng, 1)


@register("decoded.from_columns")
def from_columns() -> Code:
    """Take over the weights of a layer that is written for columns."""
    return Code(
        title="Translate the weights",
        function="from_columns",
        returns=("W_Q", "W_K", "W_V", "W_O"),
        prompt=(
            "Somebody's layer keeps one token a *column*: Q = `W_q[h] @ X` with `W_q` of shape"
            " (h, d_attn, d_x), `W_k` (h, d_attn, d_z), `W_v` (h, d_mid, d_z). The heads stand"
            " below each other, and `W_o` of shape (d_out, h·d_mid) multiplies them. Return the"
            " four arrays for one token a *row*, as `multi_head` of this chapter takes them."
        ),
        stub=(
            "def from_columns(W_q, W_k, W_v, W_o):\n"
            '    """Return W_Q, W_K, W_V, W_O for one token a row."""\n'
            '    raise NotImplementedError("decoded.from_columns")\n'
        ),
        rungs=(
            Rung(
                "one head",
                _alone,
                "Compare your shapes with ours: (h, d_in, d_out) for the three, (h·d_v, d_model)"
                " for the last. Which one is off, or holds its numbers in another order?",
                (
                    Slip(
                        "as they are",
                        lambda *W: W,
                        "You returned them as they came. In x W, how many rows must W have?",
                    ),
                    Slip(
                        "all axes",
                        lambda *W: tuple(w.T for w in W),
                        "`.T` turns all three axes of a stack around. Which axis counts the heads,"
                        " and should it move?",
                    ),
                    Slip(
                        "W_o forgotten",
                        lambda *W: (*_turned(*W)[:3], W[3]),
                        "The heads' matrices are right. What about the one that writes?",
                    ),
                    Slip(
                        "reshape",
                        lambda *W: tuple(w.reshape(_turned(w, w, w, w)[0].shape) for w in W),
                        "The shapes are right and the numbers are not. Does `reshape` turn a"
                        " matrix, or only cut the same row of numbers anew?",
                    ),
                    Slip(
                        "only W_o",
                        lambda *W: (*W[:3], W[3].T),
                        "The last one is right. Does X stand left or right of the other three?",
                    ),
                    Slip(
                        "keys for queries",
                        lambda q, k, v, o: _turned(k, q, v, o),
                        "W_Q and W_K changed places. Which of them reads X, who asks?",
                    ),
                ),
                crash="Your code stopped. Three of the arrays have three axes: which line takes"
                " them for matrices?",
            ),
            Rung(
                "three heads",
                _several,
                "With one head it was right. What does your code do to the axis of the heads?",
                (
                    Slip(
                        "heads reversed",
                        lambda *W: tuple(
                            w if w.ndim == 2 else w[::-1] for w in _turned(*W)
                        ),
                        "Your heads stand in reverse. W_O counts on their order: which one is"
                        " first?",
                    ),
                    Slip(
                        "first head for all",
                        lambda *W: tuple(
                            w if w.ndim == 2 else np.repeat(w[:1], len(w), axis=0)
                            for w in _turned(*W)
                        ),
                        "All your heads are the first one. Where does the index come in?",
                    ),
                ),
                crash="With one head it ran, with three it stops. Which line counts on one head?",
            ),
        ),
        hints=(
            "(W x)' = x' W': a token on its side meets the matrix on its side.",
            "Only the last two axes turn; the heads stay in front.",
            "`np.swapaxes(W, -1, -2)` does it for matrices and for stacks of them.",
        ),
        solution=(
            "```python\n"
            "def from_columns(W_q, W_k, W_v, W_o):\n"
            "    return tuple(np.swapaxes(W, -1, -2) for W in (W_q, W_k, W_v, W_o))\n"
            "```\n\n"
            "Nothing is computed: the numbers are the same, the paper is turned."
        ),
    )  # fmt: skip


def _folded(W: np.ndarray, b: np.ndarray, heads: np.ndarray) -> Arrays:
    return W @ heads, b @ heads


def _fold_case(rng: np.random.Generator, h: int, bias: bool) -> Case:
    d_in, d_mid, d_k = sizes(rng, 3)
    W, heads = numbers(rng, d_in, d_mid), numbers(rng, h, d_mid, d_k)
    b = numbers(rng, d_mid) if bias else np.zeros(d_mid)
    return Case((W, b, heads), _folded(W, b, heads))


@register("decoded.fold_code")
def fold_code() -> Code:
    """Fold a first projection, with its bias, into the heads' matrices."""
    return Code(
        title="Undo the double projection",
        function="fold",
        returns=("W_Q", "b_Q"),
        prompt=(
            "A layer computes `q = x @ W + b` and then, for each head, `q_i = q @ W_heads[i]`."
            " Derive the one matrix and the one bias with which `q_i = x @ W_Q[i] + b_Q[i]`."
            " `W` has shape (d_in, d_mid), `b` (d_mid,), `W_heads` (h, d_mid, d_k). Return `W_Q` of"
            " shape (h, d_in, d_k) and `b_Q` of shape (h, d_k)."
        ),
        stub=(
            "def fold(W, b, W_heads):\n"
            '    """Return W_Q (h, d_in, d_k) and b_Q (h, d_k)."""\n'
            '    raise NotImplementedError("decoded.fold_code")\n'
        ),
        rungs=(
            Rung(
                "one head, no bias",
                lambda rng: _fold_case(rng, 1, bias=False),
                "Multiply out (xW)W_i for one row x. Which matrix does x meet?",
                (
                    Slip(
                        "the heads alone",
                        lambda W, b, heads: (heads, b @ heads),
                        "You returned the heads' matrices. Where did the first projection go?",
                    ),
                    Slip(
                        "the first alone",
                        lambda W, b, heads: (np.repeat(W[None], len(heads), 0), b @ heads),
                        "You returned the first projection. Where do the heads come in?",
                    ),
                    Slip(
                        "no axis of heads",
                        lambda W, b, heads: (W @ heads[0], b @ heads[0]),
                        "One head's matrix is right. Where is the axis that counts the heads?",
                    ),
                    Slip(
                        "turned",
                        lambda W, b, heads: (np.swapaxes(W @ heads, 1, 2), b @ heads),
                        "Your matrices stand on their side. In x W, which axis of W meets x?",
                    ),
                ),
                crash="Your code stopped. Write the three shapes below each other: which sizes must"
                " meet?",
            ),
            Rung(
                "three heads",
                lambda rng: _fold_case(rng, 3, bias=False),
                "With one head it was right. Which head does each of your matrices belong to?",
                (
                    Slip(
                        "summed heads",
                        lambda W, b, heads: (
                            np.repeat((W @ heads).sum(0, keepdims=True), len(heads), 0),
                            b @ heads,
                        ),
                        "You added the heads up. Does each head not keep its own matrix?",
                    ),
                    Slip(
                        "the first head for all",
                        lambda W, b, heads: _folded(W, b, np.repeat(heads[:1], len(heads), 0)),
                        "All your heads are the first one. Where does the index come in?",
                    ),
                    Slip(
                        "side by side",
                        lambda W, b, heads: (
                            np.concatenate(list(W @ heads), axis=-1), (b @ heads).reshape(-1)
                        ),
                        "You laid the heads side by side. The numbers are right: which shape is"
                        " asked for?",
                    ),
                ),
            ),
            Rung(
                "a bias",
                lambda rng: _fold_case(rng, 3, bias=True),
                "The matrices are right. Multiply out (xW + b)W_i: what becomes of b?",
                (
                    Slip(
                        "bias dropped",
                        lambda W, b, heads: (W @ heads, 0 * (b @ heads)),
                        "Your bias is zero. Multiply out (xW + b)W_i: is there a term without x?",
                    ),
                    Slip(
                        "bias as it was",
                        lambda W, b, heads: (W @ heads, np.repeat(b[None], len(heads), 0)),
                        "You handed the first bias on. What does W_i do to it on the way?",
                    ),
                    Slip(
                        "bias through both",
                        lambda W, b, heads: (W @ heads, (W @ heads).sum(1) + b @ heads),
                        "Something was added to the bias. Which terms of (xW + b)W_i have no x in"
                        " them?",
                    ),
                    Slip(
                        "bias with a minus",
                        lambda W, b, heads: (W @ heads, -(b @ heads)),
                        "The size of the bias is right. Which sign has it, and why?",
                    ),
                ),
            ),
        ),
        hints=(
            "Multiply out: (xW + b)W_i = x(WW_i) + bW_i.",
            "`@` multiplies a matrix with every matrix of a stack: W @ W_heads is a stack.",
            "The same holds for the row b: b @ W_heads has one row a head.",
        ),
        solution=(
            "```python\n"
            "def fold(W, b, W_heads):\n"
            "    matrices = W @ W_heads\n"
            "    return matrices, b @ W_heads\n"
            "```\n\n"
            "Two linear maps in a row are one, with or without a bias between them."
        ),
    )  # fmt: skip


def _heads(X_q: np.ndarray, X_kv: np.ndarray, W_Q: np.ndarray, W_K: np.ndarray,
           W_V: np.ndarray) -> np.ndarray:  # fmt: skip
    return scaled_dot_product_attention(X_q @ W_Q, X_kv @ W_K, X_kv @ W_V)[0]


def _per_head(
    X_q: np.ndarray, X_kv: np.ndarray, W_Q: np.ndarray, W_K: np.ndarray, W_V: np.ndarray
) -> np.ndarray:
    triples = zip(W_Q, W_K, W_V, strict=True)
    return np.stack([_heads(X_q, X_kv, *triple) for triple in triples])


def _repair_case(rng: np.random.Generator, square: bool) -> Case:
    n_q, n_k, d_q, d_kv, d_k, d_v = (
        [*sizes(rng, 5), 4] if not square else [*sizes(rng, 2), *[5] * 4]
    )
    X_q, X_kv = numbers(rng, n_q, d_q) / 4, numbers(rng, n_k, d_kv) / 4
    stacks = [numbers(rng, 3, d, n) / 4 for d, n in ((d_q, d_k), (d_kv, d_k), (d_kv, d_v))]
    return Case((X_q, X_kv, *stacks), _per_head(X_q, X_kv, *stacks))


def _twice(X_q: np.ndarray, X_kv: np.ndarray, *W: np.ndarray) -> np.ndarray:
    made = [X @ w[0] for X, w in zip((X_q, X_kv, X_kv), W, strict=True)]
    return np.stack(
        [
            scaled_dot_product_attention(*(m @ w[i] for m, w in zip(made, W, strict=True)))[0]
            for i in range(len(W[0]))
        ]
    )


@register("decoded.repair")
def repair() -> Code:
    """Repair a layer that was written from two sources at once."""
    return Code(
        title="Repair this code",
        function="heads",
        prompt=(
            "From a forum, with the remark “it runs, but it is not the paper's layer”:\n\n"
            "```python\n"
            "def heads(X_q, X_kv, W_Q, W_K, W_V):\n"
            "    # every tutorial: Q = X W_Q\n"
            "    Q, K, V = X_q @ W_Q[0], X_kv @ W_K[0], X_kv @ W_V[0]\n"
            "    out = []\n"
            "    for i in range(len(W_Q)):\n"
            "        # the paper: head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V)\n"
            "        head, _ = qkv.scaled_dot_product_attention(\n"
            "            Q @ W_Q[i], K @ W_K[i], V @ W_V[i])\n"
            "        out.append(head)\n"
            "    return np.stack(out)\n"
            "```\n\n"
            "Repair it. It returns all heads, shape (h, n_q, d_v). The first rung has square"
            " matrices, so that even the broken code runs."
        ),
        stub=(
            "def heads(X_q, X_kv, W_Q, W_K, W_V):\n"
            '    """Return the h heads, shape (h, n_q, d_v)."""\n'
            '    raise NotImplementedError("decoded.repair")\n'
        ),
        rungs=(
            Rung(
                "square matrices",
                lambda rng: _repair_case(rng, square=True),
                "Which array is the paper's Q in head_i: an input, or something made of it?",
                (
                    Slip(
                        "projected twice",
                        _twice,
                        "It is still projected twice. Inside MultiHead, what do the letters Q, K, V"
                        " stand for?",
                    ),
                    Slip(
                        "not projected",
                        lambda X_q, X_kv, W_Q, W_K, W_V: np.stack(
                            [scaled_dot_product_attention(X_q, X_kv, X_kv)[0]] * len(W_Q)
                        ),
                        "Now nothing is projected. Which of the two projections is the paper's?",
                    ),
                    Slip(
                        "one W for all heads",
                        lambda X_q, X_kv, *W: np.stack([_heads(X_q, X_kv, *(w[0] for w in W))] * 3),
                        "All your heads are equal. Which i does the paper's W_i^Q carry?",
                    ),
                    Slip(
                        "self-attention",
                        lambda X_q, X_kv, *W: _per_head(X_q, X_q, *W),
                        "Your queries ask their own sentence. Where do K and V come from?",
                    ),
                    Slip(
                        "the other way round",
                        lambda X_q, X_kv, *W: _per_head(X_kv, X_q, *W),
                        "The two sequences changed places. Which one asks?",
                    ),
                    Slip(
                        "values without a matrix",
                        lambda X_q, X_kv, W_Q, W_K, W_V: np.stack(
                            [
                                scaled_dot_product_attention(X_q @ q, X_kv @ k, X_kv)[0]
                                for q, k in zip(W_Q, W_K, strict=True)
                            ]
                        ),
                        "Your values are the input itself. Which matrix makes them?",
                    ),
                    Slip(
                        "side by side",
                        lambda *a: np.concatenate(list(_per_head(*a)), axis=-1),
                        "You joined the heads already. Which shape is asked for here?",
                    ),
                    Slip(
                        "keys made with W_Q",
                        lambda X_q, X_kv, W_Q, W_K, W_V: _per_head(X_q, X_kv, W_Q, W_Q, W_V),
                        "Your keys are made with the queries' matrices. Which stack is theirs?",
                    ),
                ),
            ),
            Rung(
                "all sizes differ",
                lambda rng: _repair_case(rng, square=False),
                "With square matrices it was right. Which line counts on one width?",
                crash="Now all sizes differ, as in cross-attention. Which product has inner sizes"
                " that do not meet?",
            ),
        ),
        hints=(
            "One of the two projections has to go. Which one has an i?",
            "In MultiHead the paper's Q is X_q, and its K and V are X_kv.",
            "Delete the line with W_Q[0]; multiply X_q and X_kv in the loop.",
        ),
        solution=(
            "```python\n"
            "def heads(X_q, X_kv, W_Q, W_K, W_V):\n"
            "    out = []\n"
            "    for i in range(len(W_Q)):\n"
            "        q, k, v = X_q @ W_Q[i], X_kv @ W_K[i], X_kv @ W_V[i]\n"
            "        scores = q @ k.T / np.sqrt(q.shape[-1])\n"
            "        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))\n"
            "        out.append(weights / weights.sum(axis=-1, keepdims=True) @ v)\n"
            "    return np.stack(out)\n"
            "```\n\n"
            "`qkv.scaled_dot_product_attention(q, k, v)[0]` does for the last three lines of the"
            " loop."
        ),
    )


QueriesOf = Callable[[np.ndarray], np.ndarray]


def _queries(W: np.ndarray, b: np.ndarray | float = 0.0) -> QueriesOf:
    return lambda X: X @ W + b


def _probe_case(rng: np.random.Generator, kind: str) -> Case:
    d_in, h, d_k = 29, int(rng.choice([2, 3])), int(rng.choice([5, 7]))
    W = rng.normal(size=(h, d_in, d_k))
    width = h * d_k
    if kind in ("a narrow step", "a bias"):
        width = int(rng.choice([2, 3]))
        W = rng.normal(size=(d_in, width)) @ rng.normal(size=(h, width, d_k))
    elif kind == "one matrix for all heads":
        W, width = np.repeat(W[:1], h, axis=0), d_k
    b = rng.normal(size=(h, 1, d_k)) if kind == "a bias" else 0.0
    return Case((_queries(W, b), d_in), float(width))


def _rank(queries_of: QueriesOf, d_in: int, bias: bool = True) -> float:
    made = queries_of(np.eye(d_in)) - (queries_of(np.zeros((1, d_in))) if bias else 0.0)
    return float(np.linalg.matrix_rank(np.concatenate(list(made), axis=-1)))


@register("decoded.double_test")
def double_test() -> Code:
    """Write the test that exposes a narrow first projection."""

    def rung(kind: str, question: str, *slips: Slip) -> Rung:
        return Rung(
            kind,
            lambda rng: _probe_case(rng, kind),
            question,
            slips,
            crash="Your test stopped. `queries_of` takes X of shape (n, d_in) and returns"
            " (h, n, d_k). What did you hand it?",
        )

    return Code(
        title="Write the test that exposes it",
        function="query_dimensions",
        prompt=(
            "`queries_of(X)` makes the queries of all heads, shape (h, n, d_k), from X of shape"
            " (n, d_in). You cannot see its matrices. Somebody may have put a narrow projection"
            " before the heads. Return how many dimensions the queries of all heads *together* can"
            " fill when X varies: h·d_k for the paper's layer if d_in is large enough (here 29),"
            " fewer if a narrow step or a shared matrix hides inside."
        ),
        stub=(
            "def query_dimensions(queries_of, d_in):\n"
            '    """Return the rank of the map from x to the queries of all heads."""\n'
            '    raise NotImplementedError("decoded.double_test")\n'
        ),
        rungs=(
            rung(
                "the paper's layer",
                "An honest layer: each head has its own matrix. How do you join the heads before"
                " you count?",
                Slip(
                    "one head",
                    lambda f, d: float(np.linalg.matrix_rank(f(np.eye(d))[0])),
                    "You looked at one head. What do the others add?",
                ),
                Slip(
                    "d_in",
                    lambda f, d: float(d),
                    "You returned the width of X. Is that what comes out?",
                ),
                Slip(
                    "one token",
                    lambda f, d: 1.0,
                    "You found one dimension. How many different x did you try?",
                ),
            ),
            rung(
                "a narrow step",
                "Two or three numbers are all that reaches the heads here. Your test says more:"
                " what did it count?",
                Slip(
                    "columns",
                    lambda f, d: float(f(np.eye(d)).shape[0] * f(np.eye(d)).shape[2]),
                    "You counted the columns of the queries. Can they not depend on each other?",
                ),
                Slip(
                    "sum over heads",
                    lambda f, d: float(sum(np.linalg.matrix_rank(q) for q in f(np.eye(d)))),
                    "You added the ranks of the heads. Do two heads that see the same two numbers"
                    " see four?",
                ),
            ),
            rung(
                "one matrix for all heads",
                "All heads share one matrix here. Do equal queries fill new dimensions?",
            ),
            rung(
                "a bias",
                "This layer adds a bias. Does a constant that x cannot move count as a dimension?",
                Slip(
                    "bias counted",
                    lambda f, d: _rank(f, d, bias=False),
                    "You found one dimension too many. What does `queries_of` return for a row of"
                    " zeros?",
                ),
            ),
        ),
        hints=(
            "The rows of the identity are the simplest probes: row j gives row j of each matrix.",
            "Lay the heads side by side, then `np.linalg.matrix_rank`.",
            "Subtract what a row of zeros gives, and a bias is gone.",
        ),
        solution=(
            "```python\n"
            "def query_dimensions(queries_of, d_in):\n"
            "    made = queries_of(np.eye(d_in)) - queries_of(np.zeros((1, d_in)))\n"
            "    side_by_side = np.concatenate(list(made), axis=-1)\n"
            "    return np.linalg.matrix_rank(side_by_side)\n"
            "```\n\n"
            "A rank below h·d_k (with d_in at least that) says that something narrow stands before"
            " the heads, or that they share."
        ),
    )
