"""The exercises of chapter 21: a model's file, its heads, its sink, its sentence vectors."""

# ruff: noqa: RUF001 (a minus sign is a minus sign)

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from qkv.checks.engine import register
from qkv.checks.exercise import Case, Choice, Code, Number, Option, Row, Rung, Slip, Wrong
from qkv.checks.ladder import numbers, sizes
from qkv.core.softmax import softmax

Array = np.ndarray

# --- in the page ---------------------------------------------------------------------------------


@register("real_model.slice")
def slice_() -> Row:
    """Find a head's rows in a stored matrix."""
    d, h = 32, 9
    rows = np.arange(12 * d).reshape(12, d)[h]
    first, last = float(rows[0]), float(rows[-1])
    return Row(
        title="Where in the file is head 9?",
        prompt=(
            f"A layer's `query.weight` is stored as (384, 384), that is (out, in), for 12 heads of"
            f" d_k = {d}. Heads and rows are counted from 0. Which rows of the stored matrix are"
            f" $W_Q^{{({h})}}$, the matrix of head {h}, before it is transposed?"
        ),
        labels=("first row", "last row"),
        answer=(first, last),
        right="Right. Transposed, these 32 rows are a (384, 32) matrix, ready for x W.",
        otherwise="How many rows belong to one head, and how many heads stand before head 9?",
        wrong=(
            Wrong(
                (first, last + 1),
                "In a slice the end is left out. Which row is the last that belongs to the head?",
            ),
            Wrong(
                (first - d, last - d),
                "That is the ninth head, counted from 1. And head 9 counted from 0?",
            ),
            Wrong(
                (float(h), float(h + 12 * (d - 1))),
                "You took every twelfth row. Are a head's rows scattered or together?",
            ),
            Wrong(
                (12.0 * h, 12.0 * h + 11),
                "You gave each head 12 rows. Is 12 the number of heads or the size of one?",
            ),
            Wrong((first + 1, last + 1), "Rows are counted from 0. Which is the first of all?"),
        ),
        hints=(
            "out = 384 is 12 heads of 32 columns of q.",
            "Heads stand one after the other: head 0 has rows 0 to 31.",
            "Head h begins at 32 h.",
        ),
        solution=f"Rows 32 · 9 = {first:g} to {last:g}.",
    )


@register("real_model.score")
def score() -> Number:
    """Turn a dot product into a score."""
    dot, d_k, d_model, n_heads = 131.0, 32, 384, 12
    answer = dot / math.sqrt(d_k)
    return Number(
        title="From a dot product to a score",
        prompt=(
            f"In the chapter's head the query of *apple* and the key of *an* have a dot product of"
            f" {dot:g}. The model has d_model = {d_model}, {n_heads} heads, d_k = {d_k}. Which"
            " number goes into the softmax? (One decimal.)"
        ),
        label="Score",
        answer=answer,
        tolerance=0.06,
        right="Right: the root of the width of one head's query.",
        otherwise="By the root of which size is a dot product divided?",
        wrong=(
            Wrong(
                dot / math.sqrt(d_model),
                "You divided by the root of d_model. How many terms does this dot product have?",
            ),
            Wrong(dot / d_k, "You divided by d_k. What of it is taken in the paper's formula?"),
            Wrong(dot / math.sqrt(n_heads), "Is the number of heads a length of the query?"),
            Wrong(dot, "That is the dot product. What stands between it and the softmax?"),
            Wrong(dot * math.sqrt(d_k), "You multiplied. Are scores made larger or smaller?"),
        ),
        hints=(
            "score = q · k / √d_k.",
            "d_k is the width of one head's query, 384 / 12.",
            "√32 is about 5.66.",
        ),
        solution=f"131 / √32 = {answer:.1f}.",
    )


@register("real_model.predict")
def predict() -> Choice:
    """Predict what a place head does with shuffled words."""
    return Choice(
        title="Predict: the same words in random order",
        prompt=(
            "A head gives the piece before 0.44 of its weight, mean over 360 sentences. Now the"
            " pieces of every sentence are put in random order, and it is measured again. What"
            " does the new number tell?"
        ),
        options=(
            Option(
                "If it stays near 0.44, the head goes by places.",
                "Places are all that is left of the sentence: who stands before whom is random"
                " now, and still the head looks there.",
                True,
            ),
            Option(
                "If it stays near 0.44, the head goes by the meaning of the words.",
                "What is left of meaning between neighbours when they were drawn at random?",
                False,
            ),
            Option(
                "It must fall to 1/n, since the order is random.",
                "Random order of the *words*. Are the rows of the position table shuffled too?",
                False,
            ),
            Option(
                "Nothing: attention does not see the order of its rows.",
                "It does not see it by itself. What was added to each row before layer 0?",
                False,
            ),
        ),
        hints=(
            "X is a word's row plus a place's row.",
            "Shuffling the pieces puts other words on the same places.",
            "A head that reads only the place's part sees no difference.",
        ),
        solution=(
            "**Near 0.44 means: by places.** This is what the control in the chapter is for. (That"
            " head, layer 2 head 11, even rises when the words no longer belong together.)"
        ),
    )


@register("real_model.carried")
def carried() -> Number:
    """Weigh a key by the length of its value."""
    weight, short, long = 0.84, 0.5, 4.0
    answer = weight * short / (weight * short + (1 - weight) * long)
    return Number(
        title="How much does the sink carry?",
        prompt=(
            f"A query gives [CLS] the weight {weight:g}; the rest, {1 - weight:.2g}, goes to words."
            f" The value of [CLS] writes a vector of length {short:g}, those of the words of length"
            f" {long:g}. Multiply each weight by the length of what it sends. Which share of the"
            " sum has [CLS]? (Two decimals.)"
        ),
        label="Share of [CLS]",
        answer=answer,
        tolerance=0.006,
        right="Right: five sixths of the weight, and the smaller part of what is carried.",
        otherwise="What does [CLS] send, what do the words send, and what is the sum of both?",
        wrong=(
            Wrong(weight, "That is the share of the weight. And with the lengths?"),
            Wrong(weight * short, "That is what [CLS] sends. Out of how much?"),
            Wrong(1 - answer, "That is the words' share. And the one of [CLS]?"),
            Wrong(
                short / (short + long),
                "You compared the lengths alone. Where are the weights?",
            ),
            Wrong(
                weight * long / (weight * long + (1 - weight) * short),
                "You gave [CLS] the long value. Whose value is short?",
            ),
        ),
        hints=(
            "[CLS] sends 0.84 · 0.5.",
            "The words send 0.16 · 4.",
            "0.42 / (0.42 + 0.64).",
        ),
        solution=f"0.84 · 0.5 / (0.84 · 0.5 + 0.16 · 4) = {answer:.2f}.",
    )


@register("real_model.roles")
def roles() -> Choice:
    """Predict which of two sentences is nearer."""
    from qkv.data import changed_roles, saved_vectors

    vectors = saved_vectors()
    one, passive, changed = changed_roles()[0]
    fooled = bool(vectors[one] @ vectors[changed] > vectors[one] @ vectors[passive])
    return Choice(
        title="Predict: who chased whom?",
        prompt=(
            f"*{one}* The model makes a vector of it: the mean of its rows after six layers. Which"
            " sentence has the larger cosine similarity with it?"
        ),
        options=(
            Option(
                f"{passive}",
                "It states the same fact. But what is trained, and what does a mean over tokens"
                " keep? Open the numbers below.",
                not fooled,
            ),
            Option(
                f"{changed}",
                "The same words, about the same thing. Who did what is in the order, and the mean"
                " hardly shows it.",
                fooled,
            ),
            Option(
                "Both the same: a mean does not see order.",
                "The mean does not. But are the rows that it is taken over still the same, after"
                " six layers with positions?",
                False,
            ),
            Option(
                "Neither: both are as far away as any other sentence.",
                "Any other sentence shares no dog and no cat. What is the vector trained to show?",
                False,
            ),
        ),
        hints=(
            "A mean of the embedding's rows would not tell the first sentence from the third.",
            "Six layers have mixed the places in. Does that outweigh two more words (was, by)?",
            "Think of what the vectors are trained for: finding what is about the same thing.",
        ),
        solution=(
            "**The one with the roles changed**, and so in all 12 triples of the chapter. The"
            " vectors tell what a sentence is about better than what it says."
            if fooled
            else "**The passive.**"
        ),
    )


# --- in the notebook -----------------------------------------------------------------------------


def _stored(rng: np.random.Generator, n_heads: int | None, square: bool = False) -> Case:
    n, d_in, d, many = sizes(rng, 4)
    n_heads = n_heads or many
    d_in = n_heads * d if square else d_in
    X, weight = numbers(rng, n, d_in), numbers(rng, n_heads * d, d_in)
    bias, h = numbers(rng, n_heads * d), int(rng.integers(n_heads))
    if n_heads > 2:
        h = int(rng.integers(1, n_heads - 1))
    return Case((X, weight, bias, h, n_heads), _queries(X, weight, bias, h, n_heads))


def _queries(X: Array, weight: Array, bias: Array, h: int, n_heads: int) -> Array:
    return (X @ weight.T + bias).reshape(len(X), n_heads, -1)[:, h]


def _width(bias: Array, n_heads: int) -> int:
    return len(bias) // n_heads


@register("real_model.read_head")
def read_head() -> Code:
    """Take one head's queries out of a stored layer."""
    return Code(
        title="Open a file: the queries of one head",
        function="head_queries",
        prompt=(
            "`weight` (n_heads · d_k, d_in) and `bias` (n_heads · d_k,) are one layer's"
            " `query.weight` and `query.bias`, as torch stores them: (out, in), the heads one after"
            " the other. Return the queries of head `h` (counted from 0) for the rows `X`"
            " (n, d_in): an array (n, d_k)."
        ),
        stub=(
            "def head_queries(X, weight, bias, h, n_heads):\n"
            '    """Return the queries of head h, shape (n, d_k)."""\n'
            '    raise NotImplementedError("real_model.read_head")\n'
        ),
        rungs=(
            Rung(
                "one head",
                lambda rng: _stored(rng, 1),
                "One head, so nothing to cut. What is done with X, the weight and the bias?",
                (
                    Slip(
                        "no bias",
                        lambda X, W, b, h, m: X @ W.T,
                        "You left the bias out. What does a Linear add?",
                    ),
                    Slip(
                        "bias taken away",
                        lambda X, W, b, h, m: X @ W.T - b,
                        "You took the bias away. With which sign does a Linear use it?",
                    ),
                ),
                crash="The weight is stored as (out, in). What must happen before X can be"
                " multiplied with it?",
            ),
            Rung(
                "several heads",
                lambda rng: _stored(rng, None),
                "Several heads now. Which of the columns of q belong to head h?",
                (
                    Slip(
                        "interleaved",
                        lambda X, W, b, h, m: X @ W[h::m].T + b[h::m],
                        "You took every n_heads-th row. Do a head's rows stand together, or"
                        " scattered?",
                    ),
                    Slip(
                        "always the first",
                        lambda X, W, b, h, m: _queries(X, W, b, 0, m),
                        "You return head 0 whatever h is. Where does h come in?",
                    ),
                    Slip(
                        "counted from one",
                        lambda X, W, b, h, m: _queries(X, W, b, h - 1, m),
                        "You return the head before. From which number are heads counted?",
                    ),
                    Slip(
                        "the first head's bias",
                        lambda X, W, b, h, m: _queries(X, W, np.tile(b[: _width(b, m)], m), h, m),
                        "The matrix is head h's, and the bias is head 0's. Is the bias cut"
                        " as well?",
                    ),
                    Slip(
                        "all heads",
                        lambda X, W, b, h, m: X @ W.T + b,
                        "You return the queries of all heads. Which columns are asked for?",
                    ),
                ),
                crash="It worked with one head. What has another shape now, the rows or the bias?",
            ),
            Rung(
                "a square file",
                lambda rng: _stored(rng, None, square=True),
                "This matrix is square, as in the model: no shape warns you. Do you cut rows of the"
                " stored matrix, or columns?",
                (
                    Slip(
                        "columns of the stored matrix",
                        lambda X, W, b, h, m: _queries(X, W.T, b, h, m),
                        "You cut columns of the stored matrix, or forgot the transpose. Which of"
                        " its axes is `out`?",
                    ),
                ),
            ),
        ),
        hints=(
            "Linear computes X W^T + b, with W as it is stored.",
            "d_k is the number of rows divided by n_heads; head h owns d_k rows in one block.",
            "The block is slice(h * d_k, (h + 1) * d_k), of the weight's rows and of the bias.",
        ),
        solution=(
            "```python\n"
            "def head_queries(X, weight, bias, h, n_heads):\n"
            "    d_k = len(weight) // n_heads\n"
            "    own = slice(h * d_k, (h + 1) * d_k)\n"
            "    return X @ weight[own].T + bias[own]\n"
            "```\n\n"
            "Rows of the stored matrix are columns of ours. `qkv.unstack_heads` does it for all"
            " heads at once."
        ),
    )


def _maps(rng: np.random.Generator, heads: tuple[int, ...], n: int | None = None) -> Case:
    n = n or int(rng.choice([5, 7, 11]))
    weights = softmax(numbers(rng, *heads, n, n))
    return Case((weights,), _before(weights))


def _before(weights: Array) -> Array:
    n = weights.shape[-1]
    t = np.arange(1, n - 1)
    return weights[..., t, t - 1].mean(-1)


def _pure(rng: np.random.Generator) -> Case:
    n = int(rng.choice([5, 7, 11]))
    weights = np.full((n, n), 0.0)
    share = round(float(rng.uniform(0.55, 0.95)), 2)
    for t in range(n):
        weights[t, max(t - 1, 0)] += share
        weights[t, -1] += 1 - share
    weights[-1] = 0.0
    weights[-1, 0] = 1.0
    return Case((weights,), _before(weights))


def _diagonal(weights: Array, shift: int, start: int, stop: int) -> Array:
    t = np.arange(start, stop)
    return weights[..., t, t + shift].mean(-1)


@register("real_model.previous")
def previous() -> Code:
    """Measure a head for the piece before."""
    return Code(
        title="A measure for a head",
        function="previous_share",
        prompt=(
            "`weights` (n, n) are one head's attention on a sentence; the first token is [CLS], the"
            " last is [SEP]. Return how much of its weight a piece gives to the token before it,"
            " mean over the pieces. [CLS] and [SEP] are looked at, and do not ask. With axes in"
            " front (heads, layers), return one number for each."
        ),
        stub=(
            "def previous_share(weights):\n"
            '    """Return the mean weight on the token before."""\n'
            '    raise NotImplementedError("real_model.previous")\n'
        ),
        rungs=(
            Rung(
                "a head that does",
                _pure,
                "Every piece here gives the same share to the token before. Which share do you"
                " return?",
                (
                    Slip(
                        "the last row asks too",
                        lambda w: _diagonal(w, -1, 1, w.shape[-1]),
                        "[SEP] asks in your mean. Which rows are the pieces?",
                    ),
                    Slip(
                        "a sum",
                        lambda w: _before(w) * (w.shape[-1] - 2),
                        "Your number grows with the sentence. What is left to do after a sum?",
                    ),
                    Slip(
                        "divided by n",
                        lambda w: _before(w) * (w.shape[-1] - 2) / w.shape[-1],
                        "You divide by n. How many pieces ask?",
                    ),
                ),
            ),
            Rung(
                "a head that does not",
                lambda rng: _maps(rng, ()),
                "For the query in row t: in which column stands the token before it?",
                (
                    Slip(
                        "the piece after",
                        lambda w: _diagonal(w, 1, 1, w.shape[-1] - 1),
                        "You measured the token after. Is row t the one that asks, or the one that"
                        " is looked at?",
                    ),
                    Slip(
                        "rows and columns changed",
                        lambda w: _diagonal(np.swapaxes(w, -1, -2), -1, 1, w.shape[-1] - 1),
                        "Row and column have changed places. Does weights[t, j] belong to query t"
                        " or to key t?",
                    ),
                    Slip(
                        "itself",
                        lambda w: _diagonal(w, 0, 1, w.shape[-1] - 1),
                        "You measured the piece itself. How far from the diagonal is the token"
                        " before?",
                    ),
                    Slip(
                        "the first piece left out",
                        lambda w: _diagonal(w, -1, 2, w.shape[-1] - 1),
                        "The first piece has a token before it too: [CLS]. Does it ask in your"
                        " mean?",
                    ),
                    Slip(
                        "how often it is the largest",
                        lambda w: (w.argmax(-1)[..., 1:-1] == np.arange(w.shape[-1] - 2)).mean(-1),
                        "You count how often the token before has the largest weight. Is a share of"
                        " the weight asked for, or a count?",
                    ),
                ),
            ),
            Rung(
                "all heads of two layers",
                lambda rng: _maps(rng, (2, 3)),
                "There are axes in front now. Do you count your axes from the back?",
                (
                    Slip(
                        "mean over everything",
                        lambda w: _before(w).mean(),
                        "You return one number for all heads. Over which axis is the mean?",
                    ),
                ),
                crash="There are axes in front now. Which line counts axes from the front?",
            ),
        ),
        hints=(
            "The pieces are the rows 1 to n − 2.",
            "The token before row t is column t − 1.",
            "With t = np.arange(1, n - 1), look at weights[..., t, t - 1].",
        ),
        solution=(
            "```python\n"
            "def previous_share(weights):\n"
            "    t = np.arange(1, weights.shape[-1] - 1)\n"
            "    return weights[..., t, t - 1].mean(axis=-1)\n"
            "```\n\n"
            "A baseline belongs beside it: equal weights give 1/n."
        ),
    )


def _two(rng: np.random.Generator, n_heads: int = 0, at: int | None = None) -> Case:
    n, d = int(rng.choice([5, 7])), int(rng.choice([2, 3]))
    lead = (n_heads,) if n_heads else ()
    scores, v = numbers(rng, *lead, n, n), numbers(rng, *lead, n, d)
    j = int(rng.integers(1, n - 1)) if at is None else at
    return Case((scores, v, j), _hide_and_silence(scores, v, j))


def _hide_and_silence(
    scores: Array, v: Array, j: int, own: bool = True, late: bool = False
) -> tuple[Array, Array]:
    others = (np.arange(scores.shape[-1]) != j) | (not own)
    hidden = scores.copy()
    hidden[..., others, j] = -np.inf
    silent = softmax(scores)
    silent[..., others, j] = 0
    if late:
        silent = silent / silent.sum(-1, keepdims=True)
    return softmax(hidden) @ v, silent @ v


@register("real_model.silent")
def silent() -> Code:
    """Write the two interventions."""
    return Code(
        title="Two interventions",
        function="hide_and_silence",
        prompt=(
            "`scores` (n, n) are scaled scores, `v` (n, d_v) the values, `j` the number of a key."
            " Return two arrays (n, d_v), the outputs after each intervention. *Hidden*: no query"
            " but j itself may look at key j. *Silent*: every weight stays as it is, and for all"
            " queries but j the value of key j counts as zero. Axes in front may be there."
        ),
        stub=(
            "def hide_and_silence(scores, v, j):\n"
            '    """Return the outputs with key j hidden, and with key j silent."""\n'
            '    raise NotImplementedError("real_model.silent")\n'
        ),
        returns=("hidden", "silent"),
        rungs=(
            Rung(
                "one key of one head",
                _two,
                "For which queries does each of your two outputs differ from the plain one, and"
                " what becomes of the weight of key j?",
                (
                    Slip(
                        "both hidden",
                        lambda s, v, j: _hide_and_silence(s, v, j, late=True),
                        "Your silent rows sum to 1 without key j, so the weight went elsewhere."
                        " Which of the two interventions is that?",
                    ),
                    Slip(
                        "both silent",
                        lambda s, v, j: (_hide_and_silence(s, v, j)[1],) * 2,
                        "In your hidden output the weight of key j is lost. Where does a softmax"
                        " send it when the score is minus infinity?",
                    ),
                    Slip(
                        "also for itself",
                        lambda s, v, j: _hide_and_silence(s, v, j, own=False),
                        "You changed the query j as well. Which query may still look at key j?",
                    ),
                    Slip(
                        "the other order",
                        lambda s, v, j: _hide_and_silence(s, v, j)[::-1],
                        "Both outputs are there. In which order are they asked for?",
                    ),
                    Slip(
                        "a score of zero",
                        lambda s, v, j: (
                            softmax(
                                np.where(
                                    (np.arange(s.shape[-1]) == j)
                                    & (np.arange(s.shape[-1]) != j)[:, None],
                                    0.0,
                                    s,
                                )
                            )
                            @ v,
                            _hide_and_silence(s, v, j)[1],
                        ),
                        "You set the hidden scores to 0. What does exp make of a 0?",
                    ),
                    Slip(
                        "the query taken away",
                        lambda s, v, j: _rows_instead(s, v, j),
                        "You changed row j, the query. Along which axis do the keys stand?",
                    ),
                ),
            ),
            Rung(
                "the first key",
                lambda rng: _two(rng, at=0),
                "Key 0 is changed here, the one of [CLS]. Does your code treat 0 as any other"
                " number?",
            ),
            Rung(
                "several heads",
                lambda rng: _two(rng, 3),
                "There is an axis of heads in front now. Do you count your axes from the back?",
                crash="There is an axis of heads in front now. Which line counts from the front?",
            ),
        ),
        hints=(
            "Both change column j in all rows but row j.",
            "Hidden: put −inf into the scores, before the softmax. Silent: put 0 into the weights,"
            " after it.",
            "others = np.arange(n) != j, and then scores[..., others, j] in a copy.",
        ),
        solution=(
            "```python\n"
            "import qkv\n\n"
            "def hide_and_silence(scores, v, j):\n"
            "    others = np.arange(scores.shape[-1]) != j\n"
            "    masked, weights = scores.copy(), qkv.softmax(scores)\n"
            "    masked[..., others, j] = -np.inf\n"
            "    weights[..., others, j] = 0\n"
            "    return qkv.softmax(masked) @ v, weights @ v\n"
            "```\n\n"
            "A key whose two outputs are equally far from the plain one carries something. A sink"
            " is missed only when it is hidden."
        ),
    )


def _rows_instead(scores: Array, v: Array, j: int) -> tuple[Array, Array]:
    others = np.arange(scores.shape[-1]) != j
    hidden, weights = scores.copy(), softmax(scores)
    hidden[..., j, others] = -np.inf
    weights[..., j, others] = 0
    return softmax(hidden) @ v, weights @ v


def _batch(rng: np.random.Generator, batch: int, pads: bool) -> Case:
    n, d = (int(x) for x in rng.permutation([5, 7])[:2])
    lengths = np.full(batch, n)
    if pads:
        lengths[1:] = rng.integers(2, n, size=batch - 1)
    X = numbers(rng, batch, n, d)
    return Case((X, lengths), _means(X, lengths))


def _means(X: Array, lengths: Array, ends: int = 0) -> Array:
    rows = [x[ends : m - ends].mean(0) for x, m in zip(X, lengths, strict=True)]
    return np.stack([r / np.sqrt(r @ r) for r in rows])


def _unit(x: Array) -> Array:
    return x / np.sqrt((x * x).sum(-1, keepdims=True))


@register("real_model.repair")
def repair() -> Code:
    """Repair the mean of a padded batch."""
    return Code(
        title="Repair this code: one vector a sentence",
        function="sentence_vectors",
        prompt=(
            "`X` (batch, n, d) are the last rows of several sentences, `lengths` (batch,) says how"
            " many rows are a sentence's own; the rest is padding. Return the mean of each"
            " sentence's own rows, scaled to length 1: (batch, d). This program runs, and has three"
            " bugs. Repair it. Remove the `raise` when you begin."
        ),
        stub=(
            "def sentence_vectors(X, lengths):\n"
            '    """Return one vector of length 1 for each sentence."""\n'
            '    raise NotImplementedError("real_model.repair")\n'
            "    means = X.mean(axis=0)\n"
            "    size = np.abs(means).sum(axis=-1, keepdims=True)\n"
            "    return means / size\n"
        ),
        rungs=(
            Rung(
                "one sentence",
                lambda rng: _batch(rng, 1, pads=False),
                "One sentence without pads. Over which axis is the mean, and what has length 1?",
                (
                    Slip(
                        "not scaled",
                        lambda X, m: X.mean(1),
                        "Your mean is right, and its length is not 1. What is left to do?",
                    ),
                    Slip(
                        "divided by the sum of sizes",
                        lambda X, m: X.mean(1) / np.abs(X.mean(1)).sum(-1, keepdims=True),
                        "The sizes of your entries sum to 1. Is that the length of a vector?",
                    ),
                    Slip(
                        "scaled first",
                        lambda X, m: _unit(X).mean(1),
                        "You scaled the rows and then took the mean. Has the mean length 1?",
                    ),
                    Slip(
                        "the ends left out",
                        lambda X, m: _means(X, m, ends=1),
                        "You left the first and the last row out. Are they not rows of the"
                        " sentence too?",
                    ),
                    Slip(
                        "the first row",
                        lambda X, m: _unit(X[:, 0]),
                        "You took the row of [CLS]. Some models do. What is asked for here?",
                    ),
                    Slip(
                        "not divided by the root",
                        lambda X, m: X.mean(1) / (X.mean(1) ** 2).sum(-1, keepdims=True),
                        "You divide by the squared length. What is missing?",
                    ),
                ),
            ),
            Rung(
                "several sentences",
                lambda rng: _batch(rng, 3, pads=False),
                "Three sentences now. Is each scaled by its own length?",
                (
                    Slip(
                        "one length for all",
                        lambda X, m: X.mean(1) / np.sqrt((X.mean(1) ** 2).sum()),
                        "You divide all sentences by one number. Over which axis is a vector's"
                        " length?",
                    ),
                ),
            ),
            Rung(
                "padding",
                lambda rng: _batch(rng, 3, pads=True),
                "Some sentences are shorter. Which rows are in your mean, and by how many do you"
                " divide?",
                (
                    Slip(
                        "pads in the mean",
                        lambda X, m: _unit(X.mean(1)),
                        "The pads are in your mean. What is `lengths` for?",
                    ),
                    Slip(
                        "one row short",
                        lambda X, m: _unit(
                            np.stack([x[: k - 1].mean(0) for x, k in zip(X, m, strict=True)])
                        ),
                        "Your mean ends one row early. Is the row number lengths − 1 the last own"
                        " one?",
                    ),
                ),
            ),
        ),
        hints=(
            "axis=0 is the batch. Which axis are the tokens?",
            "A vector's length is the root of the sum of its squares.",
            "np.arange(n) < lengths[:, None] says which rows are a sentence's own.",
        ),
        solution=(
            "```python\n"
            "def sentence_vectors(X, lengths):\n"
            "    own = np.arange(X.shape[1]) < np.asarray(lengths)[:, None]\n"
            "    sums = (X * own[..., None]).sum(axis=1)\n"
            "    return sums / np.sqrt((sums**2).sum(axis=-1, keepdims=True))\n"
            "```\n\n"
            "Sum or mean is the same here: the scale goes away. `qkv.data.sentence_vectors` is this"
            " function."
        ),
    )


Head = Callable[[Array], Array]


def _places(share: float) -> Head:
    """Give the token before `share` of the weight, whatever the words are."""

    def weights_of(ids: Array) -> Array:
        n = len(ids)
        weights = np.full((n, n), (1 - share) / n)
        weights[np.arange(n), np.maximum(np.arange(n) - 1, 0)] += share
        return weights

    return weights_of


def _itself(ids: Array) -> Array:
    return np.eye(len(ids))


def _pairs(ids: Array) -> Array:
    """Look at the piece whose id is the next smaller one, wherever it stands; else at token 0."""
    ids, n = np.asarray(ids), len(ids)
    weights = np.zeros((n, n))
    for t in range(n):
        smaller = [j for j in range(n) if ids[j] < ids[t]]
        weights[t, max(smaller, key=lambda j: ids[j], default=0)] = 1
    return weights


def _head_case(
    make: Callable[[np.random.Generator], Head], answer: float
) -> Callable[[np.random.Generator], Case]:
    def draw(rng: np.random.Generator) -> Case:
        n = int(rng.choice([7, 11]))
        return Case((make(rng), int(rng.integers(20, 90)) + 3 * np.arange(n)), answer)

    return draw


def _looks_back(weights: Array, least: float = 0.5) -> float:
    return float((np.diag(weights, -1) > least).all())


@register("real_model.by_place")
def by_place() -> Code:
    """Write the test that tells places from words."""
    return Code(
        title="Write the test that exposes it",
        function="goes_by_place",
        prompt=(
            "`weights_of(ids)` is somebody's head: it takes the ids of a text (n,) and returns the"
            " weights (n, n). On the text `ids`, whose ids are all different, perhaps every token"
            " gives more than half of its weight to the token before. Return 1 if it does so"
            " because of the *places*, whatever the words are, and 0 if not. Four heads wait."
        ),
        stub=(
            "def goes_by_place(weights_of, ids):\n"
            '    """Return 1 if the head looks at the token before, whatever the words are."""\n'
            '    raise NotImplementedError("real_model.by_place")\n'
        ),
        rungs=(
            Rung(
                "by places",
                _head_case(lambda rng: _places(1.0), 1.0),
                "This head looks at the place before, always. What do you look at in its weights?",
                (
                    Slip(
                        "never",
                        lambda f, ids: 0.0,
                        "You say no to a head that goes by places. In which entries of the weights"
                        " is the token before?",
                    ),
                ),
                crash="Your test stopped. What does `weights_of` take, and what does it return?",
            ),
            Rung(
                "at itself",
                _head_case(lambda rng: _itself, 0.0),
                "This head looks at the token itself, in any order of the words. Is it enough that"
                " the weights stay when the words are moved?",
            ),
            Rung(
                "by words",
                _head_case(lambda rng: _pairs, 0.0),
                "On this text every token's partner stands before it, by chance. What happens to"
                " this head when you put the words in another order?",
            ),
            Rung(
                "by places, softly",
                _head_case(lambda rng: _places(float(rng.uniform(0.6, 0.75))), 1.0),
                "This head gives the place before between 0.6 and 0.8, in any order. How much is"
                " asked for?",
            ),
        ),
        hints=(
            "Call `weights_of` twice: with the ids as they are, and in another order.",
            "In which diagonal of the weights stands the token before?",
            "ids[::-1] moves nearly every neighbour to the other side.",
        ),
        solution=(
            "```python\n"
            "def goes_by_place(weights_of, ids):\n"
            "    texts = [ids, ids[::-1]]\n"
            "    before = [np.diag(weights_of(x), -1) for x in texts]\n"
            "    return float(min(b.min() for b in before) > 0.5)\n"
            "```\n\n"
            "One text on which the words fit is no evidence. Another order of the same words is the"
            " control."
        ),
    )
