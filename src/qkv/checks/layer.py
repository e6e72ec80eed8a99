"""The exercises of chapter 14: LayerNorm and its gradient, two orders, the table's transpose."""

# ruff: noqa: RUF001 (a minus sign is a minus sign)

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from qkv.checks.arrangement import Match, Order, Rule
from qkv.checks.engine import register
from qkv.checks.exercise import Case, Choice, Code, Number, Option, Row, Rung, Slip, Wrong
from qkv.checks.ladder import numbers
from qkv.core.counts import LayerSizes, feed_forward_parameter_count, multi_head_parameter_count
from qkv.core.gradients import layer_norm_backward
from qkv.core.layer_norm import LayerNormParameters, layer_norm

Array = np.ndarray
Part = Callable[[Array], Array]

# --- in the page ---------------------------------------------------------------------------------


@register("layer.norm_row")
def norm_row() -> Row:
    """Normalise a row by hand."""
    x = np.array([1.0, 7.0, 1.0, 7.0])
    gain, shift = np.array([1.0, 2.0, 3.0, 1.0]), np.array([0.0, 0.0, 1.0, 10.0])
    y = layer_norm(x, LayerNormParameters(np.ones(4), np.zeros(4), 1e-12))

    def row(values: Array) -> tuple[float, ...]:
        return tuple(np.round(values, 6).tolist())

    deviation = x.std()
    return Row(
        title="By hand",
        prompt=(
            "A row holds 1, 7, 1, 7. The gain is 1, 2, 3, 1 and the shift 0, 0, 1, 10. Forget ε."
            " What does LayerNorm make of the row?"
        ),
        labels=tuple(f"column {c}" for c in range(4)),
        answer=row(gain * y + shift),
        tolerance=0.005,
        right="Right. Before gain and shift the row is −1, 1, −1, 1: mean 0, variance 1, length 2.",
        otherwise="What is the mean of the row, and what is left when it is taken off?",
        wrong=(
            Wrong(row(y), "That row has mean 0 and variance 1. What do gain and shift do to it?"),
            Wrong(row(gain * y), "You multiplied by the gain. What is still to be added?"),
            Wrong(
                row(gain * (y + shift)),
                "You added the shift first and then multiplied. Which comes first?",
            ),
            Wrong(
                row(gain * x / deviation + shift),
                "Your row still has its mean. What comes before the division?",
            ),
            Wrong(
                row(gain * (x - x.mean()) / deviation**2 + shift),
                "You divided by the variance. Then the result has variance 1/9. What must you"
                " divide by to make it 1?",
            ),
            Wrong(
                row(gain * (x - x.mean()) / x.std(ddof=1) + shift),
                "You divided the sum of squares by 3. Over how many columns does LayerNorm take"
                " the mean of the squares?",
            ),
            Wrong(
                row(gain * (x - x.mean()) / np.linalg.norm(x - x.mean()) + shift),
                "You divided by the length, so the row has length 1. Which length has a row of four"
                " numbers whose squares average to 1?",
            ),
        ),
        hints=(
            "Mean first: (1 + 7 + 1 + 7) / 4.",
            "The squares of what is left are all 9, so the variance is 9 and its root 3.",
            "The normalised row is −1, 1, −1, 1. Multiply column by column, then add.",
        ),
        solution=(
            "Mean 4, root of the variance 3, so −1, 1, −1, 1. Times the gain: −1, 2, −3, 1. Plus"
            f" the shift: {', '.join(f'{v:g}' for v in row(gain * y + shift))}."
        ),
    )


@register("layer.louder")
def louder() -> Choice:
    """Predict what LayerNorm makes of a row turned round, stretched and moved."""
    x = np.array([0.5, 2.0, -1.0, 0.0, 1.5])
    norm = LayerNormParameters(np.ones(5), np.zeros(5), 1e-12)
    y, z = layer_norm(x, norm), layer_norm(-20 * x + 300, norm)
    return Choice(
        title="Predict: louder, moved, and turned round",
        prompt=(
            "LayerNorm (gain 1, shift 0, ε very small) makes y of a row x. Before you run anything:"
            " what does it make of −20 x + 300?"
        ),
        options=(
            Option(
                "y",
                "The 300 and the 20 are gone, that is so. But a row and its negative point to"
                " opposite sides. Which of the two steps could turn one into the other?",
                bool(np.allclose(z, y)),
            ),
            Option(
                "−y",
                "Mean and length are thrown away, the direction is kept, and this one was turned"
                " round.",
                bool(np.allclose(z, -y)),
            ),
            Option(
                "−20 y",
                "Then its variance would be 400. Which variance has every row that leaves a"
                " LayerNorm?",
                bool(np.allclose(z, -20 * y)),
            ),
            Option(
                "−20 y + 300",
                "That is what a linear map would do. What is the mean of a row that leaves a"
                " LayerNorm?",
                bool(np.allclose(z, -20 * y + 300)),
            ),
        ),
        hints=(
            "Do it in two steps: first add 300 to a row, then multiply a row by −20.",
            "The mean moves with the row, and is taken off. The root of the variance is positive.",
            "The root of the variance of −20 x is 20 times that of x, without the sign.",
        ),
        solution="**−y.** The 300 goes with the mean, the 20 with the variance; the sign stays.",
    )


@register("layer.share")
def share() -> Number:
    """Derive at which width the feed-forward part has as many weights as attention."""

    def surplus(ratio: float, d: int = 64) -> int:
        sizes = LayerSizes(d_model=d, d_ff=int(ratio * d), n_heads=4, d_k=d // 4, d_v=d // 4)
        biases = sizes.d_ff + d
        return feed_forward_parameter_count(sizes) - biases - multi_head_parameter_count(sizes)

    equal = next(r / 2 for r in range(1, 20) if surplus(r / 2) == 0)
    return Number(
        title="When are the two parts equal?",
        prompt=(
            "The heads together are as wide as the model: h · d_k = h · d_v = d_model. Leave out"
            " all biases. Derive how many weights the attention part has (four matrices) and how"
            " many the feed-forward part, for d_ff = r · d_model. At which r have both equally"
            " many? Check your formula against the printed table above (r = 4)."
        ),
        label="r",
        answer=float(equal),
        right=(
            "Right: 4 d² against 2 r d². The paper's r = 4 gives the feed-forward part twice as"
            " many, two thirds of the whole."
        ),
        otherwise="Count in units of d_model squared: how many such squares has each part?",
        wrong=(
            Wrong(4.0, "That is the paper's r. Which share does the table above show for it?"),
            Wrong(1.5, "You counted three matrices. Which fourth one brings the heads back?"),
            Wrong(3.0, "You counted three matrices of attention, and one of the other part?"),
            Wrong(1.0, "At r = 1 the feed-forward part has two squares. How many has attention?"),
            Wrong(
                0.5, "Turn the equation round: 2 r squares on one side. What stands on the other?"
            ),
            Wrong(
                8.0,
                "Did you give every head a matrix as wide as the model? How wide is one head's?",
            ),
        ),
        hints=(
            "All heads' W_Q side by side have d_model rows and h · d_k columns.",
            "So W_Q, W_K, W_V and W_O have d_model² entries each: 4 d² in all.",
            "W_1 has d · r d entries and W_2 as many.",
        ),
        solution=(
            "Attention 4 d², feed-forward 2 r d²; equal at r = 2. At r = 4 the feed-forward part"
            " has 8 of 12 squares: two thirds, as in the table, where biases and norms add a"
            " little."
        ),
    )


@register("layer.inverse")
def inverse() -> Choice:
    """Say which product of a table with its transpose or pseudo-inverse is an identity."""
    E = np.random.default_rng(14).normal(size=(11, 8))
    E_plus = np.linalg.pinv(E)

    def identity(product: Array) -> bool:
        return bool(np.allclose(product, np.eye(len(product))))

    return Choice(
        title="Which product is an identity?",
        prompt=(
            "A table E of 11 words and 8 columns has rank 8. E⁺ is its pseudo-inverse (8 × 11), Eᵀ"
            " its transpose. One of these products is an identity matrix, whatever the numbers in"
            " E. Which?"
        ),
        options=(
            Option(
                "E E⁺",
                "It is 11 × 11, and it passes through 8 columns. Which rank can it have at most,"
                " and which would it need?",
                identity(E @ E_plus),
            ),
            Option(
                "E⁺ E",
                "8 × 8, and E has rank 8: a row of 8 numbers survives the way through the words."
                " The other order does not work.",
                identity(E_plus @ E),
            ),
            Option(
                "E Eᵀ",
                "It holds the dot products of all words with each other. When would these be 1 with"
                " itself and 0 with all ten others?",
                identity(E @ E.T),
            ),
            Option(
                "Eᵀ E",
                "It is 8 × 8, but is it the identity for any E? Try 2 E in place of E.",
                identity(E.T @ E),
            ),
        ),
        hints=(
            "Write the shape of each product. Which rank does an identity of that size have?",
            "The rank of a product is at most that of each factor.",
            "Only two products are small enough, and one of them changes when E is doubled.",
        ),
        solution=(
            "**E⁺ E.** From scores h E⁺ you get h back by multiplying with E. From a word you do"
            " *not* get the word back: E E⁺ is 11 × 11 of rank 8, never the identity."
        ),
    )


@register("layer.pre")
def pre() -> Order:
    """Put a pre-norm layer in order."""
    return Order(
        title="Pre-norm, in order",
        prompt="Put one layer of a *pre-norm* encoder in order. X is the residual stream.",
        steps=(
            "LayerNorm of X, for the heads alone",
            "the heads read the normed rows, and W_O makes one row of them",
            "this row is added to X itself",
            "LayerNorm of the sum, for the feed-forward part alone",
            "two matrices with a bend between them",
            "their result is added to the sum",
        ),
        rules=(
            Rule(0, 1, "What do the heads of a pre-norm layer read, X or its norm?"),
            Rule(1, 2, "What is added, before the heads have written it?"),
            Rule(2, 3, "Which sum is normed here? Has it been made?"),
            Rule(3, 4, "What does the feed-forward part of a pre-norm layer read?"),
            Rule(4, 5, "What is added at the end, before it has been computed?"),
        ),
        right=(
            "Right. The norms stand on side roads: the stream itself is only ever added to, and so"
            " needs one last LayerNorm before the words are read off."
        ),
        hints=(
            "Pre-norm: first the norm, then the part, then the sum. This happens twice.",
            "The first round is the heads', the second the feed-forward part's.",
            "Norm, heads, sum; norm, two matrices, sum.",
        ),
        solution=(
            "Norm, heads, sum, norm, feed-forward, sum. In a post-norm layer it would be"
            " heads, sum,"
            " norm, feed-forward, sum, norm: there the stream itself goes through every norm."
        ),
    )


@register("layer.array_shapes")
def array_shapes() -> Match:
    """Match the arrays of the feed-forward part and the read-out with their shapes."""
    n, d_model, d_ff, words = 7, 10, 24, 37
    rng = np.random.default_rng(14)
    X, W_1, W_2 = (rng.normal(size=s) for s in ((n, d_model), (d_model, d_ff), (d_ff, d_model)))
    E = rng.normal(size=(words, d_model))
    hidden = np.maximum(0, X @ W_1)

    def size(*shape: int) -> str:
        return " × ".join(str(axis) for axis in shape)

    gain = f"{d_model} numbers"
    return Match(
        title="The shapes of the other half",
        prompt=(
            f"{n} tokens, d_model {d_model}, d_ff {d_ff}, a vocabulary of {words} words, the"
            " read-out"
            " tied to the table E. Give each array its shape."
        ),
        pairs=(
            ("W_1", size(*W_1.shape)),
            ("hidden units", size(*hidden.shape)),
            ("W_2", size(*W_2.shape)),
            ("gain of a LayerNorm", gain),
            ("E", size(*E.shape)),
            ("scores of the words", size(*(hidden @ W_2 @ E.T).shape)),
        ),
        decoys=(f"{n} numbers", size(n, d_model), size(d_model, words), size(d_model, d_model)),
        right="Right. Only what has n rows depends on the sentence; all the others are learned.",
        otherwise="Which arrays are learned, and so cannot know how many tokens there are?",
        wrong=(
            Wrong(
                {"W_1": size(*W_2.shape)},
                "That is wide to narrow. Which way does the first matrix go?",
            ),
            Wrong(
                {"gain of a LayerNorm": f"{n} numbers"},
                (
                    "A learned array with one entry a token? How long would it be for the next"
                    " sentence?"
                ),
            ),
            Wrong(
                {"scores of the words": size(n, d_model)},
                "That is the row before the read-out. How many words get a score?",
            ),
            Wrong(
                {"E": size(d_model, words)},
                "That is E turned over, as the read-out uses it. Which way does the table lie?",
            ),
            Wrong(
                {"hidden units": size(n, d_model)},
                "The hidden units lie between the two matrices. How wide is it there?",
            ),
            Wrong({"W_1": size(d_model, d_model)}, "Then nothing would get wider. What is d_ff?"),
        ),
        hints=(
            "X is n × d_model. Multiply your way through: W_1, then W_2, then E turned over.",
            "d_ff is the width between the two matrices.",
            "E has one row for each word of the vocabulary.",
        ),
        solution=(
            f"W_1 {size(*W_1.shape)}, hidden {size(*hidden.shape)}, W_2 {size(*W_2.shape)},"
            f" gain {gain},"
            f" E {size(*E.shape)}, scores {size(n, words)}."
        ),
    )


# --- in the notebook -----------------------------------------------------------------------------


def _normal(X: Array, gain: Array, shift: Array, epsilon: float) -> Array:
    return layer_norm(X, LayerNormParameters(gain, shift, epsilon))


def _drawn(
    rng: np.random.Generator,
    *shape: int,
    plain: bool = False,
    epsilon: float = 1e-12,
    flat: bool = False,
) -> Case:
    X, d = numbers(rng, *shape), shape[-1]
    if flat:
        X[..., 0, :] = X[..., 0, :1]
    gain, shift = (np.ones(d), np.zeros(d)) if plain else (numbers(rng, d), numbers(rng, d))
    return Case((X, gain, shift, epsilon), _normal(X, gain, shift, epsilon))


def _by(X: Array, gain: Array, shift: Array, mean: Array, root: Array) -> Array:
    return (X - mean) / root * gain + shift


def _last(X: Array, power: str, **more: int) -> Array:
    return getattr(X, power)(axis=-1, keepdims=True, **more)


@register("layer.norm")
def norm() -> Code:
    """Write LayerNorm."""
    return Code(
        title="Write LayerNorm",
        function="normalise",
        prompt=(
            "Write LayerNorm for X of shape (..., d): each row to mean 0 and variance 1 (with"
            " `epsilon` added to the variance), then `gain` times that plus `shift`, both of shape"
            " (d,)."
        ),
        stub=(
            "def normalise(X, gain, shift, epsilon):\n"
            '    """Return LayerNorm of each row of X."""\n'
            '    raise NotImplementedError("layer.norm")\n'
        ),
        rungs=(
            Rung(
                "rows alone",
                lambda rng: _drawn(rng, 5, 7, plain=True),
                "Take one row of your result: is its mean 0, and do its squares average to 1?",
                (
                    Slip(
                        "over the tokens",
                        lambda X, g, b, e: _by(X, g, b, X.mean(axis=0), np.sqrt(X.var(axis=0) + e)),
                        "Your columns have mean 0, your rows do not. Whose mean is it, a token's or"
                        " a column's?",
                    ),
                    Slip(
                        "over everything",
                        lambda X, g, b, e: _by(X, g, b, X.mean(), np.sqrt(X.var() + e)),
                        "You took one mean over all rows. May a token's numbers depend on the other"
                        " tokens?",
                    ),
                    Slip(
                        "divided by d - 1",
                        lambda X, g, b, e: _by(
                            X, g, b, _last(X, "mean"), np.sqrt(_last(X, "var", ddof=1) + e)
                        ),
                        "Your squares average to a little less than 1. Do you divide the sum of"
                        " squares by d, or by d − 1?",
                    ),
                    Slip(
                        "no root",
                        lambda X, g, b, e: _by(X, g, b, _last(X, "mean"), _last(X, "var") + e),
                        "You divided by the variance. If all numbers are doubled, by how much does"
                        " the variance grow?",
                    ),
                    Slip(
                        "mean not taken off",
                        lambda X, g, b, e: _by(X, g, b, np.zeros(1), np.sqrt(_last(X, "var") + e)),
                        "Your rows still have a mean. What is subtracted before the division?",
                    ),
                    Slip(
                        "root of the mean square",
                        lambda X, g, b, e: X / np.sqrt(_last(X**2, "mean") + e) * g + b,
                        "That is the other norm, which leaves the mean in. Which two numbers does"
                        " LayerNorm throw away?",
                    ),
                    Slip(
                        "length one",
                        lambda X, g, b, e: (
                            (X - _last(X, "mean"))
                            / np.linalg.norm(X - _last(X, "mean"), axis=-1, keepdims=True)
                        ),
                        "Your rows have length 1. Which length has a row of d numbers whose squares"
                        " average to 1?",
                    ),
                    Slip(
                        "a fixed epsilon",
                        lambda X, g, b, e: _normal(X, g, b, 1e-5),
                        "Your ε is always the same. Where does the argument enter?",
                    ),
                    Slip(
                        "only the mean",
                        lambda X, g, b, e: X - _last(X, "mean"),
                        "You took the mean off. What about the variance?",
                    ),
                ),
            ),
            Rung(
                "gain and shift",
                lambda rng: _drawn(rng, 3, 5),
                "The normalised row is right. What happens to it, column by column?",
                (
                    Slip(
                        "left out",
                        lambda X, g, b, e: _normal(X, np.ones_like(g), np.zeros_like(b), e),
                        "Gain and shift are not in your result. Where do they enter?",
                    ),
                    Slip(
                        "shift first",
                        lambda X, g, b, e: (
                            (_normal(X, np.ones_like(g), np.zeros_like(b), e) + b) * g
                        ),
                        "You added the shift and then multiplied both by the gain. Which comes"
                        " first?",
                    ),
                    Slip(
                        "before the norm",
                        lambda X, g, b, e: _normal(X * g + b, np.ones_like(g), np.zeros_like(b), e),
                        "You applied gain and shift to X. Which row do they belong to, the one"
                        " before or the one after?",
                    ),
                ),
            ),
            Rung(
                "epsilon",
                lambda rng: _drawn(rng, 3, 5, epsilon=0.5, flat=True),
                "Here ε is 0.5, and one row holds equal numbers. Under which root does ε stand?",
                (
                    Slip(
                        "left out",
                        lambda X, g, b, e: _by(X, g, b, _last(X, "mean"), np.sqrt(_last(X, "var"))),
                        "One row is NaN: its variance is 0. What is ε for?",
                    ),
                    Slip(
                        "outside the root",
                        lambda X, g, b, e: _by(
                            X, g, b, _last(X, "mean"), np.sqrt(_last(X, "var")) + e
                        ),
                        "You added ε to the root. To what is it added?",
                    ),
                ),
            ),
            Rung(
                "a batch in front",
                lambda rng: _drawn(rng, 2, 3, 5),
                "There is a third axis now. Which axis holds the columns of a row?",
                (
                    Slip(
                        "axis 1",
                        lambda X, g, b, e: _by(
                            X,
                            g,
                            b,
                            X.mean(axis=1, keepdims=True),
                            np.sqrt(X.var(axis=1, keepdims=True) + e),
                        ),
                        "Axis 1 was the columns when there were two axes. Which number has the last"
                        " axis, always?",
                    ),
                ),
                crash="There is a third axis now. Which line counts axes from the front?",
            ),
        ),
        hints=(
            "Mean and variance run over the last axis. Keep that axis, with size 1.",
            "`X.mean(axis=-1, keepdims=True)` and `X.var(axis=-1, keepdims=True)`.",
            "Divide by the root of variance + epsilon, then times gain, then plus shift.",
        ),
        solution=(
            "```python\n"
            "def normalise(X, gain, shift, epsilon):\n"
            "    mean = X.mean(axis=-1, keepdims=True)\n"
            "    variance = X.var(axis=-1, keepdims=True)\n"
            "    return (X - mean) / np.sqrt(variance + epsilon) * gain + shift\n"
            "```\n\n"
            "numpy's `var` divides by d; `torch.var` divides by d − 1 unless told otherwise."
        ),
    )


def _plain_norm(X: Array) -> Array:
    return (X - X.mean(axis=-1, keepdims=True)) / np.sqrt(X.var(axis=-1, keepdims=True) + 1e-5)


def _part(rng: np.random.Generator, d: int, mixes: bool) -> Part:
    W = rng.normal(size=(d, d))
    if mixes:
        return lambda X: np.tanh(X.mean(axis=-2, keepdims=True) + X) @ W
    return lambda X: np.maximum(0, X @ W)


def _stack_case(rng: np.random.Generator, times: int) -> Case:
    n, d = (int(x) for x in rng.permutation([3, 5, 7])[:2])
    X, attend, think = numbers(rng, n, d), _part(rng, d, True), _part(rng, d, False)
    return Case((X, attend, think, _plain_norm, times), _pre(X, attend, think, _plain_norm, times))


def _pre(X: Array, attend: Part, think: Part, norm: Part, times: int) -> Array:
    for _ in range(times):
        X = X + attend(norm(X))
        X = X + think(norm(X))
    return norm(X)


def _without_last(X: Array, attend: Part, think: Part, norm: Part, times: int) -> Array:
    for _ in range(times):
        X = X + attend(norm(X))
        X = X + think(norm(X))
    return X


def _hurried(X: Array, attend: Part, think: Part, norm: Part, times: int) -> Array:
    for _ in range(times):
        X = norm(X)
        X = X + attend(X)
        X = norm(X)
        X = X + think(X)
    return X


def _hurried_last(X: Array, attend: Part, think: Part, norm: Part, times: int) -> Array:
    return norm(_hurried(X, attend, think, norm, times))


def _post(X: Array, attend: Part, think: Part, norm: Part, times: int) -> Array:
    for _ in range(times):
        X = norm(X + attend(X))
        X = norm(X + think(X))
    return X


def _no_sums(X: Array, attend: Part, think: Part, norm: Part, times: int) -> Array:
    for _ in range(times):
        X = think(norm(attend(norm(X))))
    return norm(X)


def _norm_after(X: Array, attend: Part, think: Part, norm: Part, times: int) -> Array:
    for _ in range(times):
        X = X + norm(attend(X))
        X = X + norm(think(X))
    return norm(X)


def _side_by_side(X: Array, attend: Part, think: Part, norm: Part, times: int) -> Array:
    for _ in range(times):
        X = X + attend(norm(X)) + think(norm(X))
    return norm(X)


def _norm_each_layer(X: Array, attend: Part, think: Part, norm: Part, times: int) -> Array:
    for _ in range(times):
        X = _pre(X, attend, think, norm, 1)
    return X


def _one_layer(X: Array, attend: Part, think: Part, norm: Part, times: int) -> Array:
    return _pre(X, attend, think, norm, 1)


@register("layer.repair")
def repair() -> Code:
    """Repair a pre-norm stack that overwrites its stream."""
    return Code(
        title="Repair this code",
        function="pre_norm_stack",
        prompt=(
            "This was meant to be a pre-norm stack: `times` layers, each with the functions"
            " `attend` and `think` (both take and return an array of X's shape) and the function"
            " `norm`. It runs, and it is neither of the two orders. Two things are wrong. Remove"
            " the `raise` when you begin."
        ),
        stub=(
            "def pre_norm_stack(X, attend, think, norm, times):\n"
            '    """Return the rows that are compared with the words."""\n'
            '    raise NotImplementedError("layer.repair")\n'
            "    for _ in range(times):\n"
            "        X = norm(X)\n"
            "        X = X + attend(X)\n"
            "        X = norm(X)\n"
            "        X = X + think(X)\n"
            "    return X\n"
        ),
        rungs=(
            Rung(
                "one layer",
                lambda rng: _stack_case(rng, 1),
                "What does a part read, and to what is its answer added?",
                (
                    Slip(
                        "as it was",
                        _hurried,
                        "The stream itself is normalised, and the sum at the end is not. Which"
                        " array may be overwritten in pre-norm, and which not?",
                    ),
                    Slip(
                        "only the last norm added",
                        _hurried_last,
                        "The last norm is there now. But X is still overwritten by its norm: to"
                        " what is a part's answer added?",
                    ),
                    Slip(
                        "no last norm",
                        _without_last,
                        "The layer is right. Nothing ever shortens the stream: what is needed"
                        " before the words are scored?",
                    ),
                    Slip(
                        "post-norm",
                        _post,
                        "That is post-norm: the norm stands on the sum. Where does it stand in"
                        " pre-norm?",
                    ),
                    Slip(
                        "no residual sums",
                        _no_sums,
                        "The row itself is gone. What is a part's answer added to?",
                    ),
                    Slip(
                        "norm after the part",
                        _norm_after,
                        "You normalised what the part returns. What is normalised in pre-norm, the"
                        " part's input or its output?",
                    ),
                    Slip(
                        "both from one row",
                        _side_by_side,
                        "Both parts read the same row. Should `think` see what `attend` has added?",
                    ),
                ),
                crash="Your code stopped. What does each of the three functions take?",
            ),
            Rung(
                "three layers",
                lambda rng: _stack_case(rng, 3),
                "One layer is right, three are not. What happens between two layers?",
                (
                    Slip(
                        "a norm after every layer",
                        _norm_each_layer,
                        "You normalise the stream after every layer. Where does the last norm"
                        " stand, in the loop or behind it?",
                    ),
                    Slip("one layer only", _one_layer, "How many layers did you run?"),
                ),
            ),
            Rung(
                "no layer",
                lambda rng: _stack_case(rng, 0),
                "With no layer at all: what is left to be done to X?",
            ),
        ),
        hints=(
            "A part reads norm(X), and its answer is added to X.",
            "So no line says `X = norm(X)` in the loop.",
            "After the loop the stream has any length: return its norm.",
        ),
        solution=(
            "```python\n"
            "def pre_norm_stack(X, attend, think, norm, times):\n"
            "    for _ in range(times):\n"
            "        X = X + attend(norm(X))\n"
            "        X = X + think(norm(X))\n"
            "    return norm(X)\n"
            "```\n\n"
            "Each part reads a normalised copy. The stream itself is only ever added to."
        ),
    )


def _backward(X: Array, grad: Array, epsilon: float) -> Array:
    d = X.shape[-1]
    return layer_norm_backward(X, LayerNormParameters(np.ones(d), np.zeros(d), epsilon), grad)[0]


def _pieces(X: Array, epsilon: float) -> tuple[Array, Array]:
    root = np.sqrt(X.var(axis=-1, keepdims=True) + epsilon)
    return (X - X.mean(axis=-1, keepdims=True)) / root, root


def _taken_out(
    X: Array, grad: Array, epsilon: float, mean: float = 1.0, stretch: float = 1.0
) -> Array:
    y, root = _pieces(X, epsilon)
    out = grad - mean * _last(grad, "mean") - stretch * y * _last(grad * y, "mean")
    return out / root


def _with_sums(X: Array, grad: Array, epsilon: float) -> Array:
    y, root = _pieces(X, epsilon)
    return (grad - _last(grad, "sum") - y * _last(grad * y, "sum")) / root


def _all_rows(X: Array, grad: Array, epsilon: float) -> Array:
    y, root = _pieces(X, epsilon)
    return (grad - grad.mean() - y * (grad * y).mean()) / root


def _grad_case(rng: np.random.Generator, *shape: int, epsilon: float = 1e-12) -> Case:
    X, grad = numbers(rng, *shape), numbers(rng, *shape)
    return Case((X, grad, epsilon), _backward(X, grad, epsilon))


@register("layer.backward")
def backward() -> Code:
    """Derive and write the gradient of LayerNorm."""
    return Code(
        title="Derive the gradient",
        function="norm_backward",
        prompt=(
            "LayerNorm without gain and shift makes y of a row x. Given `grad`, the gradient of a"
            " loss with respect to y, derive the gradient with respect to x, and write it for"
            " arrays of shape (..., d). Check it yourself first: move one number of X by 1e-6 and"
            " compare the change of `(y * grad).sum()`."
        ),
        stub=(
            "def norm_backward(X, grad, epsilon):\n"
            '    """Return the gradient with respect to X, of X\'s shape."""\n'
            '    raise NotImplementedError("layer.backward")\n'
        ),
        rungs=(
            Rung(
                "one row",
                lambda rng: _grad_case(rng, 1, 7),
                "Add a constant to the whole row: y does not move. What is the sum of your"
                " gradient over the columns?",
                (
                    Slip(
                        "the root alone",
                        lambda X, g, e: _taken_out(X, g, e, 0.0, 0.0),
                        "You took mean and variance for constants. Do they not depend on x?",
                    ),
                    Slip(
                        "variance held constant",
                        lambda X, g, e: _taken_out(X, g, e, 1.0, 0.0),
                        "You let the mean move with x and held the variance. What happens to y when"
                        " the row is stretched?",
                    ),
                    Slip(
                        "mean held constant",
                        lambda X, g, e: _taken_out(X, g, e, 0.0, 1.0),
                        "You let the variance move with x and held the mean. What happens to y when"
                        " a constant is added to the row?",
                    ),
                    Slip(
                        "not divided",
                        lambda X, g, e: _taken_out(X, g, e) * _pieces(X, e)[1],
                        "If x is twice as large, y is the same. How large must the gradient be"
                        " then? Something must be divided by the root: what?",
                    ),
                    Slip(
                        "divided by the variance",
                        lambda X, g, e: _taken_out(X, g, e) / _pieces(X, e)[1],
                        "You divided by the variance. By how much does y move when x moves by a"
                        " little: one over the root, or one over its square?",
                    ),
                    Slip(
                        "sums for means",
                        _with_sums,
                        "You subtracted sums. The mean is a sum divided by d: did you keep the"
                        " factor 1/d?",
                    ),
                    Slip(
                        "added",
                        lambda X, g, e: _taken_out(X, g, e, -1.0, -1.0),
                        "You added both corrections. Do mean and variance follow x, or run away"
                        " from it?",
                    ),
                    Slip(
                        "forwards",
                        lambda X, g, e: _pieces(X, e)[0],
                        "That is y itself. Where does `grad` enter?",
                    ),
                ),
            ),
            Rung(
                "several rows",
                lambda rng: _grad_case(rng, 5, 3),
                "One row was right. Does a row's gradient depend on other rows?",
                (
                    Slip(
                        "means over all rows",
                        _all_rows,
                        "You took the means over all rows. Over what do they run?",
                    ),
                ),
                crash="There are several rows now. Which mean has lost its axis?",
            ),
            Rung(
                "epsilon",
                lambda rng: _grad_case(rng, 3, 5, epsilon=0.7),
                "Here ε is 0.7. Is y the row divided by the root with ε in it, in both places?",
                (
                    Slip(
                        "left out",
                        lambda X, g, e: _backward(X, g, 1e-12),
                        "ε is not in your result. Which root divides the row?",
                    ),
                ),
            ),
            Rung(
                "a batch in front",
                lambda rng: _grad_case(rng, 2, 3, 5),
                "There is a third axis now. Do your means run over the last?",
                crash="There is a third axis now. Which line counts axes from the front?",
            ),
        ),
        hints=(
            "y_c = (x_c − μ) / σ. Differentiate with respect to x_j: three places hold it.",
            "dμ/dx_j = 1/d, and dσ/dx_j = y_j / d.",
            "Collect: (grad − mean of grad − y · mean of grad·y) / σ, means over the columns.",
        ),
        solution=(
            "With σ for the root (ε in it), dμ/dx_j = 1/d and dσ/dx_j = (x_j − μ)/(d σ) = y_j/d."
            " So dy_c/dx_j = (1 if c = j, else 0, minus 1/d, minus y_c y_j/d) / σ. Sum over c with"
            " the weights grad_c:\n\n"
            "```python\n"
            "def norm_backward(X, grad, epsilon):\n"
            "    root = np.sqrt(X.var(axis=-1, keepdims=True) + epsilon)\n"
            "    y = (X - X.mean(axis=-1, keepdims=True)) / root\n"
            "    mean = grad.mean(axis=-1, keepdims=True)\n"
            "    stretch = (grad * y).mean(axis=-1, keepdims=True)\n"
            "    return (grad - mean - y * stretch) / root\n"
            "```"
        ),
    )


def _count(layer: Part, X: Array, change: Callable[[Array], Array], least: float = 1e-9) -> Array:
    """Return for each token how many other rows move when it is changed."""
    before, moved = layer(X), []
    for j in range(len(X)):
        other = X.copy()
        other[j] = change(other[j])
        rows = np.abs(layer(other) - before).max(axis=-1) > least
        rows[j] = False
        moved.append(int(rows.sum()))
    return np.array(moved)


def _turned(x: Array) -> Array:
    return x + np.arange(1.0, len(x) + 1) ** 2


def _by_column(X: Array) -> Array:
    return (X - X.mean(axis=0)) / np.sqrt(X.var(axis=0) + 1e-5)


def _neighbour_root(X: Array) -> Array:
    root = np.sqrt(X.var(axis=-1, keepdims=True) + 1e-5)
    return (X - X.mean(axis=-1, keepdims=True)) / np.roll(root, 1, axis=0)


def _first_mean(X: Array) -> Array:
    return X - X[:1].mean()


def _faint(X: Array) -> Array:
    return _plain_norm(X) + 1e-5 * X.mean(axis=0)


def _expose_case(layer: Part, moved: Callable[[int], int]) -> Callable[[np.random.Generator], Case]:
    def draw(rng: np.random.Generator) -> Case:
        n, d = (int(x) for x in rng.permutation([3, 5, 7])[:2])
        return Case((layer, numbers(rng, n, d)), float(moved(n)))

    return draw


@register("layer.expose")
def expose() -> Code:
    """Write the test that finds a part in which rows see each other."""
    return Code(
        title="Write the test that exposes it",
        function="others_moved",
        prompt=(
            "`part(X)` is somebody's LayerNorm or feed-forward part: X has shape (n, d), one row a"
            " token, and so has the result. Each row should depend on itself alone. Return the"
            " largest number of *other* rows that move when one token is changed: 0 for an honest"
            " part. Six parts wait on the ladder."
        ),
        stub=(
            "def others_moved(part, X):\n"
            '    """Return the largest number of other rows that one token moves."""\n'
            '    raise NotImplementedError("layer.expose")\n'
        ),
        rungs=(
            Rung(
                "an honest LayerNorm",
                _expose_case(_plain_norm, lambda n: 0),
                "You accused an honest part. When a token changes, whose row may move?",
                (
                    Slip(
                        "itself counted",
                        lambda part, X: float(_count(part, X, _turned).max() + 1),
                        "You counted the changed row itself. Which rows may not move?",
                    ),
                ),
                crash="Your test stopped. What does `part` take, and what does it return?",
            ),
            Rung(
                "an honest feed-forward part",
                _expose_case(lambda X: np.maximum(0, X - 0.3) ** 2, lambda n: 0),
                "You accused an honest part. When a token changes, whose row may move?",
            ),
            Rung(
                "the mean over tokens",
                _expose_case(_by_column, lambda n: n - 1),
                "This part takes mean and variance over the tokens: one token moves all. Did you"
                " count the rows?",
                (
                    Slip(
                        "yes or no",
                        lambda part, X: float(_count(part, X, _turned).max() > 0),
                        "You said that rows move. How many?",
                    ),
                    Slip(
                        "all of them",
                        lambda part, X: float(
                            (_count(part, X, _turned).max() > 0)
                            * (_count(part, X, _turned).max() + 1)
                        ),
                        "You counted the changed row too. How many *others* move?",
                    ),
                    Slip(
                        "numbers, not rows",
                        lambda part, X: float(_count(part, X, _turned).max() * X.shape[-1]),
                        "You counted numbers. How many rows are that?",
                    ),
                    Slip(
                        "summed over the tokens",
                        lambda part, X: float(_count(part, X, _turned).sum()),
                        "You added up the counts of all tokens. How many rows does *one* token"
                        " move?",
                    ),
                ),
            ),
            Rung(
                "the mean of the first row",
                _expose_case(_first_mean, lambda n: n - 1),
                "This part uses the first row's mean for all. Only one token moves the others:"
                " did you try every token?",
                (
                    Slip(
                        "only the last token changed",
                        lambda part, X: float(_count(part, X, _turned)[-1]),
                        "You changed the last token and no other. What if only the first matters?",
                    ),
                    Slip(
                        "the average",
                        lambda part, X: float(_count(part, X, _turned).mean()),
                        "You averaged over the tokens. Which one of the counts is asked for?",
                    ),
                ),
            ),
            Rung(
                "the neighbour's root",
                _expose_case(_neighbour_root, lambda n: 1),
                "This part divides each row by the root of the row before. Does your change of a"
                " token change its variance?",
                (
                    Slip(
                        "a constant added",
                        lambda part, X: float(_count(part, X, lambda x: x + 1.0).max()),
                        "You added one number to all columns of a token. That moves its mean: which"
                        " of a row's two numbers stays as it was?",
                    ),
                ),
            ),
            Rung(
                "a faint leak",
                _expose_case(_faint, lambda n: n - 1),
                "This part adds a hundred-thousandth of the other rows. How large must a movement"
                " be for you to count it?",
                (
                    Slip(
                        "small movements ignored",
                        lambda part, X: float(_count(part, X, _turned, 1e-3).max()),
                        "You let small movements pass. From which size on is a movement more than"
                        " rounding?",
                    ),
                ),
            ),
        ),
        hints=(
            "Change one token in a copy of X, run the part, and see which other rows moved.",
            "Do it for every token, and return the largest count.",
            "Change the columns of the token by different amounts: some parts do not feel a"
            " constant.",
        ),
        solution=(
            "```python\n"
            "def others_moved(part, X):\n"
            "    before, largest = part(X), 0\n"
            "    for j in range(len(X)):\n"
            "        changed = X.copy()\n"
            "        changed[j] += np.arange(1, X.shape[1] + 1) ** 2\n"
            "        moved = np.abs(part(changed) - before).max(axis=-1) > 1e-9\n"
            "        moved[j] = False\n"
            "        largest = max(largest, int(moved.sum()))\n"
            "    return largest\n"
            "```\n\n"
            "The change is not a constant: LayerNorm would not feel one, and so hide what it does."
        ),
    )
