"""The exercises of chapter 17: patches, the class token, rollout, and what a map does not know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from qkv.checks.engine import register
from qkv.checks.exercise import Case, Choice, Code, Number, Option, Row, Rung, Slip, Wrong
from qkv.checks.ladder import numbers
from qkv.core.counts import LayerSizes
from qkv.core.images import VisionTransformerParameters, cut_patches, vision_transformer
from qkv.core.initial import initial_encoder_layer
from qkv.core.layer_norm import LayerNormParameters
from qkv.core.rollout import attention_rollout
from qkv.core.softmax import softmax

Array = np.ndarray
Explain = Callable[[Array, Array, int], Array]
SIZES = LayerSizes(d_model=7, d_ff=11, n_heads=2, d_k=3, d_v=5)


def _model(rng: np.random.Generator, n_patches: int) -> VisionTransformerParameters:
    d = SIZES.d_model
    return VisionTransformerParameters(
        W_E=rng.normal(size=(4, d)),
        b_E=rng.normal(size=d),
        x_class=rng.normal(size=d),
        P=rng.normal(size=(1 + n_patches, d)),
        layers=tuple(initial_encoder_layer(rng, SIZES) for _ in range(2)),
        norm=LayerNormParameters(np.ones(d), np.zeros(d)),
        W_R=rng.normal(size=(d, 4)),
        b_R=np.zeros(4),
    )


# --- in the page ---------------------------------------------------------------------------------


@register("images.predict")
def predict() -> Choice:
    """Predict what one shuffle of all patches does to training."""
    rng = np.random.default_rng(17)
    image, order = rng.random((4, 6)), rng.permutation(6)
    model = _model(rng, 6)
    moved = replace(model, P=model.P[np.concatenate([[0], 1 + order])])
    patches = cut_patches(image, 2)[order]
    shuffled = patches.reshape(2, 3, 2, 2).swapaxes(1, 2).reshape(4, 6)
    same = bool(np.allclose(vision_transformer(image, model)[0],
                            vision_transformer(shuffled, moved)[0]))  # fmt: skip
    return Choice(
        title="Predict: confetti",
        prompt=(
            "The patches of *all* pictures, training and test, are shuffled by one and the same"
            " order. A Vision Transformer is trained anew on them, position codes and all. How"
            " does its accuracy compare with that on the pictures as they were?"
        ),
        options=(
            Option(
                "near chance: strokes no longer meet",
                "To your eye they do not. Which part of the model knows which patches lie beside"
                " each other?",
                False,
            ),
            Option(
                "clearly worse, as it must learn harder pictures",
                "Harder for whom? What does the table P know about patch 2 before training?",
                not same,
            ),
            Option(
                "the same as without position codes",
                "Without codes it sees a bag. Can a table be learned for the shuffled places?",
                False,
            ),
            Option(
                "the same, up to the luck of the seed",
                "With the rows of P shuffled alike, every score is the same; and at the start all"
                " rows of P are drawn alike.",
                same,
            ),
        ),
        hints=(
            "Which arrays of the model depend on the place of a patch?",
            "Only P. Its rows are drawn alike, one for each place, before training.",
            "Shuffle the patches and the rows of P alike: what has changed for attention?",
        ),
        solution=(
            "**The same, up to the luck of the seed.** For every model on the pictures there is one"
            " on the confetti, with the rows of $P$ in the other order, that says the same; and"
            " both are equally likely to be drawn at the start. A convolution would suffer: it is"
            " told what a neighbour is."
        ),
    )


@register("images.shapes")
def shapes() -> Row:
    """Count rows, queries, weights and embedding numbers of a coloured picture."""
    height, width, colours, size = 12, 20, 3, 2
    d_model, n_heads, d_k = 30, 3, 7
    patches = cut_patches(np.zeros((height, width)), size)
    n = 1 + len(patches)
    d_patch = colours * patches.shape[1]
    answer = (n, n_heads * n * d_k, n_heads * n * n, d_patch * d_model)

    def with_rows(n: int) -> tuple[float, ...]:
        return (n, n_heads * n * d_k, n_heads * n * n, d_patch * d_model)

    return Row(
        title="Count before you build",
        prompt=(
            f"A colour picture of {height} by {width} pixels, {colours} numbers a pixel, is cut"
            f" into patches of {size} by {size}; a class token is put in front. d_model ="
            f" {d_model}, {n_heads} heads, d_k = {d_k}. How many rows has X? And how many numbers"
            " have Q (of all heads), the weights of one layer, and $W_E$ (without its bias)?"
        ),
        labels=("rows of X", "Q", "weights", "W_E"),
        answer=answer,
        right="Right. The weights grow with the square of the rows, Q with the rows, W_E not.",
        otherwise="How many patches are there, and how many numbers has a patch?",
        wrong=(
            Wrong(with_rows(n - 1), "Does the class token have no query, and no key?"),
            Wrong(
                with_rows(1 + colours * (n - 1)),
                "You made a row of each colour of a patch. Are the colours of one patch not in one"
                " row?",
            ),
            Wrong(
                with_rows(1 + height * width),
                "You made a row of each pixel. What is a token here?",
            ),
            Wrong(
                (n, n * d_k, n * n, d_patch * d_model),
                "That is one head. How many heads look at once?",
            ),
            Wrong(
                (*answer[:3], size * size * d_model),
                "How many numbers has a patch with its colours?",
            ),
            Wrong(
                (*answer[:3], n * d_model),
                "Is there one matrix a row, or one matrix for all patches?",
            ),
        ),
        hints=(
            "6 patches down, 10 across.",
            "The class token makes one row more. Each head has its own Q and its own weights.",
            "A patch has 2 · 2 · 3 numbers, and W_E turns them into d_model.",
        ),
        solution=(
            f"1 + 6 · 10 = {n} rows; Q has 3 · {n} · 7 = {answer[1]:,} numbers, the weights"
            f" 3 · {n} · {n} = {answer[2]:,}, and $W_E$ 12 · 30 = {answer[3]}. $W_E$ does not know"
            " how large the picture is; only $P$ does."
        ),
    )


@register("images.class_position")
def class_position() -> Number:
    """Derive what two vectors that occur only as a sum do to a step of training."""
    rate, gradient = 0.1, 3.0
    x_class, code = 0.4, -0.2
    after = (x_class - rate * gradient) + (code - rate * gradient)
    answer = float(round(after - (x_class + code), 12))
    return Number(
        title="Two vectors, one sum",
        prompt=(
            f"Row 0 of X is x_class + P[0], and both are learned. In one column x_class is"
            f" {x_class:g} and P[0] is {code:g}, and the gradient of the loss with respect to that"
            f" entry of X is {gradient:g}. Take one step of plain gradient descent with rate"
            f" {rate:g}. By how much does the entry of X change? (With its sign.)"
        ),
        label="Change",
        answer=answer,
        right=(
            "Right: both parts get the whole gradient, so the sum moves twice as far. The code adds"
            " nothing that the model can say, and something to how it learns."
        ),
        otherwise="What is the gradient of each of the two parts of a sum?",
        wrong=(
            Wrong(answer / 2, "That is one of the two. Does the other stand still?"),
            Wrong(0.0, "Do the two steps go in different directions?"),
            Wrong(answer / 4, "Is a gradient shared out among the parts of a sum?"),
            Wrong(-2 * gradient, "That is without the rate. How long is a step?"),
            Wrong(-2 * gradient / rate, "You divided by the rate. Is a small rate a long step?"),
            Wrong(after, "That is where the entry ends. By how much has it changed?"),
        ),
        hints=(
            "The derivative of a sum with respect to each of its parts is 1.",
            "So x_class and P[0] both have the gradient 3.",
            "Both move by −0.1 · 3.",  # noqa: RUF001
        ),
        solution=(
            f"Each part moves by -{rate:g} · {gradient:g}; the sum moves by {answer:g}. Fold the"
            " two into one vector and the same training needs twice the rate for that row. (Adam"
            " would move each part by its own normalised step: again twice.)"
        ),
    )


@register("images.compare")
def compare() -> Number:
    """Compute how many pictures one standard error is."""
    n, p = 497, 0.92
    answer = float(np.sqrt(n * p * (1 - p)))
    return Number(
        title="How many pictures are luck?",
        prompt=(
            f"A model is right on {100 * p:.0f} % of {n} test pictures. Take each picture as a toss"
            " that succeeds with this probability. What is the standard deviation of the *number*"
            " of right pictures? (One decimal.)"
        ),
        label="Pictures",
        answer=answer,
        tolerance=0.06,
        right=(
            "Right: about six pictures, more than one point of accuracy, before any seed is"
            " changed. Two models on the *same* pictures share some of this luck; count the"
            " pictures on which they disagree."
        ),
        otherwise="What is the variance of one toss, and of the sum of n of them?",
        wrong=(
            Wrong(answer**2, "That is the variance. What is its unit?"),
            Wrong(answer / n * 100, "That is in points of accuracy. How many pictures is it?"),
            Wrong(float(np.sqrt(p * (1 - p))), "That is one toss. How many are there?"),
            Wrong(float(np.sqrt(n)), "Is each toss off by a whole picture?"),
            Wrong(float(n * (1 - p)), "That is the number of wrong ones. How far does it vary?"),
            Wrong(float(np.sqrt(n * p)), "Is a toss that nearly always succeeds as uncertain?"),
        ),
        hints=(
            "One toss has the variance p (1 − p).",  # noqa: RUF001
            "Variances of independent tosses add up.",
            "The root of 497 · 0.92 · 0.08.",
        ),
        solution=(
            f"√(497 · 0.92 · 0.08) = {answer:.1f} pictures, or {100 * answer / n:.1f} points. A"
            " table of accuracies on 497 pictures with two decimals prints noise."
        ),
    )


FIRST = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
SECOND = np.array([[0.0, 0.75, 0.25], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


def _row(R: Array) -> tuple[float, ...]:
    return tuple(float(x) for x in R)


@register("images.rollout")
def rollout() -> Row:
    """Roll two small layers out by hand."""
    answer = _row(attention_rollout([FIRST[None], SECOND[None]])[0])
    half = [0.5 * np.eye(3) + 0.5 * w for w in (FIRST, SECOND)]
    return Row(
        title="Rollout by hand",
        prompt=(
            "A class token (row 0) and two patches, one head. In layer 1 row 0 looks only at"
            " row 1, row 1 only at row 2, row 2 only at row 0. In layer 2 row 0 gives 0.75 to row 1"
            " and 0.25 to row 2, row 1 looks at row 0, row 2 at row 1. Compute row 0 of the rollout"
            " over both layers."
        ),
        labels=("class token", "patch 1", "patch 2"),
        answer=answer,
        tolerance=1e-3,
        right="Right. Half of half stays at home, and the rest has taken one step or two.",
        otherwise="Half of row 0 of layer 2 stays. What is each row that it looks at made of?",
        wrong=(
            Wrong(
                _row((SECOND @ FIRST)[0]),
                "That is without the residual. Which half of each row stays?",
            ),
            Wrong(
                _row((half[0] @ half[1])[0]),
                "You began with layer 1 at the left. Which layer does the class token leave last?",
            ),
            Wrong(_row(half[1][0]), "That is layer 2 alone. What are its rows made of?"),
            Wrong(_row(half[0][0]), "That is layer 1 alone. What does layer 2 do with it?"),
            Wrong(
                _row((FIRST + SECOND)[0] / 2), "A mean of layers? Do they not follow each other?"
            ),
            Wrong(_row((half[1] @ half[0])[:, 0]), "That is a column. Who asks, row or column?"),
        ),
        hints=(
            "Layer 2 makes row 0 of 0.5 of row 0, 0.375 of row 1 and 0.125 of row 2.",
            "Layer 1: row 0 is half row 0 and half row 1; row 1 half row 1 and half row 2; row 2"
            " half row 2 and half row 0.",
            "0.5 · (0.5, 0.5, 0) + 0.375 · (0, 0.5, 0.5) + 0.125 · (0.5, 0, 0.5).",
        ),
        solution=(
            f"({', '.join(f'{x:g}' for x in answer)}). The class token keeps a large share only"
            " because rollout *assumes* that the residual is half of each row."
        ),
    )


def _rollout_moves(
    change: Callable[[VisionTransformerParameters], VisionTransformerParameters],
) -> bool:
    rng = np.random.default_rng(18)
    image, model = rng.random((4, 6)), _model(rng, 6)
    before, after = (vision_transformer(image, m)[1] for m in (model, change(model)))
    return not np.allclose(attention_rollout(before), attention_rollout(after), rtol=0, atol=1e-12)


def _last(model: VisionTransformerParameters, **parts: float) -> VisionTransformerParameters:
    """Return the model with matrices of its last layer's attention times a number."""
    layer = model.layers[-1]
    scaled = {name: by * getattr(layer.attention, name) for name, by in parts.items()}
    layer = replace(layer, attention=replace(layer.attention, **scaled))
    return replace(model, layers=(*model.layers[:-1], layer))


@register("images.blind")
def blind() -> Choice:
    """Say which change of a model its rollout notices."""
    return Choice(
        title="What does the map notice?",
        prompt=(
            "You change one thing in a trained Vision Transformer and draw the rollout of the same"
            " picture again. Which of these changes moves the map?"
        ),
        options=(
            Option(
                "exchange the columns of $W_R$ for 3 and 8",
                "Every 3 is called an 8 now. Does a weight of any layer depend on the read-out?",
                _rollout_moves(lambda m: replace(m, W_R=m.W_R[:, ::-1])),
            ),
            Option(
                "set $W_Q$ of the last layer to zero",
                "All scores of the layer are 0 then, and its weights even. Rollout reads weights,"
                " and nothing else.",
                _rollout_moves(lambda m: _last(m, W_Q=0.0)),
            ),
            Option(
                "set $W_O$ of the last layer to zero",
                "Its heads bring nothing now. Have they stopped looking?",
                _rollout_moves(lambda m: _last(m, W_O=0.0)),
            ),
            Option(
                "multiply $W_V$ of the last layer by −5",  # noqa: RUF001
                "Other values are carried. Which layer's weights come after them?",
                _rollout_moves(lambda m: _last(m, W_V=-5.0)),
            ),
        ),
        hints=(
            "Rollout is a product of weights. Which arrays make a weight?",
            "In the *last* layer: its X, its W_Q, its W_K. What comes later is not seen.",
            "Values, W_O, the ReLU part and the read-out of the last layer all come later.",
        ),
        solution=(
            "**$W_Q$ of the last layer.** The other three change the answer and leave the map, bit"
            " for bit. An explanation that stays when the answer changes explains something else."
        ),
    )


# --- in the notebook -----------------------------------------------------------------------------


def _cut(images: Array, a: int, b: int, down: bool = False, turned: bool = False) -> Array:
    *batch, height, width = images.shape
    four = images.reshape(*batch, height // a, a, width // b, b)
    n = len(batch)
    r, u, c, v = n, n + 1, n + 2, n + 3
    axes = [*(([c, r]) if down else [r, c]), *(([v, u]) if turned else [u, v])]
    return four.transpose(*range(n), *axes).reshape(*batch, -1, a * b)


def _pictures(rng: np.random.Generator, down: int, across: int, *batch: int) -> Case:
    a, b = (int(x) for x in rng.permutation([2, 3]))
    images = numbers(rng, *batch, a * down, b * across)
    return Case((images, a, b), _cut(images, a, b))


def _whole(rng: np.random.Generator, *batch: int) -> Case:
    """Draw pictures that can be cut by a and b both ways round."""
    a, b = (int(x) for x in rng.permutation([2, 3]))
    images = numbers(rng, *batch, 6, 12)
    return Case((images, a, b), _cut(images, a, b))


@register("images.patches")
def patches() -> Code:
    """Cut pictures into patches that are no squares."""
    return Code(
        title="Cut it",
        function="cut",
        prompt=(
            "`images` has shape (..., height, width). Cut each into patches of `a` rows and `b`"
            " columns of pixels and return them as rows, shape (..., n_patches, a * b): patches"
            " from left to right, then downwards, and the pixels of a patch in the same order. No"
            " loop over pixels is needed."
        ),
        stub=(
            "def cut(images, a, b):\n"
            '    """Return the patches as rows, shape (..., n_patches, a * b)."""\n'
            '    raise NotImplementedError("images.patches")\n'
        ),
        rungs=(
            Rung(
                "one patch",
                lambda rng: _pictures(rng, 1, 1),
                "The picture is one patch here: one row of a * b numbers, line after line. What is"
                " yours?",
                (
                    Slip(
                        "pixels downwards",
                        lambda x, a, b: _cut(x, a, b, turned=True),
                        "Your pixels go downwards first. How do you read a line of text?",
                    ),
                ),
                crash="One patch is all there is. Which line fails when there is one patch?",
            ),
            Rung(
                "side by side",
                lambda rng: _pictures(rng, 1, 5),
                "Five patches lie side by side. Do the pixels of one patch lie side by side in"
                " memory?",
                (
                    Slip(
                        "strips",
                        lambda x, a, b: x.reshape(*x.shape[:-2], -1, a * b),
                        "You cut the list of pixels, so each row is a piece of a line. Where is the"
                        " second line of a patch?",
                    ),
                ),
            ),
            Rung(
                "a whole picture",
                _whole,
                "There are patches below each other now. In which order do they come, and which of"
                " `a` and `b` is the height?",
                (
                    Slip(
                        "patches downwards",
                        lambda x, a, b: _cut(x, a, b, down=True),
                        "Your patches go downwards first. Which one is the second?",
                    ),
                    Slip(
                        "a and b exchanged",
                        lambda x, a, b: _cut(x, b, a),
                        "Your patches have `b` rows and `a` columns. Which is which?",
                    ),
                ),
            ),
            Rung(
                "several pictures",
                lambda rng: _whole(rng, 5, 7),
                "There are two axes in front. Do you count your axes from the back?",
                crash="There are two axes in front. Which line counts axes from the front?",
            ),
        ),
        hints=(
            "Give each pixel four numbers as its address: patch row, row inside, patch column,"
            " column inside.",
            "`images.reshape(..., height // a, a, width // b, b)` does it; write the front axes"
            " with `*images.shape[:-2]`.",
            "Then `np.swapaxes(four, -3, -2)`, and one reshape to (..., n_patches, a * b).",
        ),
        solution=(
            "```python\n"
            "def cut(images, a, b):\n"
            "    *batch, height, width = images.shape\n"
            "    four = images.reshape(*batch, height // a, a, width // b, b)\n"
            "    return np.swapaxes(four, -3, -2).reshape(*batch, -1, a * b)\n"
            "```\n\n"
            "The swap is the whole point: without it a reshape cuts the list, not the picture."
        ),
    )


def _kernel(rng: np.random.Generator, filters: int, channels: int) -> Case:
    a, b = (int(x) for x in rng.permutation([2, 3]))
    kernel = numbers(rng, filters, channels, a, b)
    return Case((kernel,), kernel.reshape(filters, -1).T)


@register("images.from_convolution")
def from_convolution() -> Code:
    """Turn a convolution's kernel into an embedding matrix."""
    return Code(
        title="A convolution is a matrix",
        function="embedding_of",
        prompt=(
            "A checkpoint embeds patches by `Conv2d(channels, d_model, (a, b), stride=(a, b))`. Its"
            " kernel has shape (d_model, channels, a, b). Derive the matrix W_E, shape"
            " (channels * a * b, d_model), with `patch.reshape(-1) @ W_E` equal to what the"
            " convolution gives for a patch of shape (channels, a, b), without the bias. (torch"
            " lays the kernel on the patch as it is and multiplies entry by entry.)"
        ),
        stub=(
            "def embedding_of(kernel):\n"
            '    """Return W_E, shape (channels * a * b, d_model)."""\n'
            '    raise NotImplementedError("images.from_convolution")\n'
        ),
        rungs=(
            Rung(
                "one filter",
                lambda rng: _kernel(rng, 1, 1),
                "With one filter W_E is one column: the filter's numbers, line after line. What is"
                " yours?",
                (
                    Slip(
                        "the kernel turned round",
                        lambda k: k[..., ::-1, ::-1].reshape(len(k), -1).T,
                        "You turned the filter round, as a convolution of mathematics does. What"
                        " does torch do?",
                    ),
                    Slip(
                        "pixels downwards",
                        lambda k: k.swapaxes(-1, -2).reshape(len(k), -1).T,
                        "Your filter is read downwards first. In which order does"
                        " `patch.reshape(-1)` read?",
                    ),
                ),
            ),
            Rung(
                "several filters",
                lambda rng: _kernel(rng, int(rng.choice([5, 7])), 1),
                "Each filter makes one number of the row: one column of W_E. Do your columns hold a"
                " filter each?",
                (
                    Slip(
                        "reshaped, not transposed",
                        lambda k: k.reshape(-1, len(k)),
                        "Your shape is right, and the numbers of several filters are mixed in each"
                        " column. Which axis must come last before you reshape?",
                    ),
                    Slip(
                        "stored as torch stores a Linear",
                        lambda k: k.reshape(len(k), -1),
                        "Your filters are rows. On which side does the patch stand?",
                    ),
                ),
            ),
            Rung(
                "several channels",
                lambda rng: _kernel(rng, 5, 7),
                "There are colours now. In which order does `patch.reshape(-1)` read a patch of"
                " shape (channels, a, b)?",
                (
                    Slip(
                        "channels last",
                        lambda k: k.transpose(0, 2, 3, 1).reshape(len(k), -1).T,
                        "You put the colours of a pixel together. Which axis of the patch comes"
                        " first?",
                    ),
                    Slip(
                        "channels summed",
                        lambda k: k.sum(axis=1).reshape(len(k), -1).T,
                        "You added the colours' filters. Does each colour not have numbers of its"
                        " own?",
                    ),
                ),
            ),
        ),
        hints=(
            "The number of filter f is the sum over channel, row and column of kernel times patch.",
            "Flatten kernel[f] as you flatten the patch: the sum is a dot product.",
            "Flatten all filters at once, `kernel.reshape(d_model, -1)`, then transpose.",
        ),
        solution=(
            "```python\n"
            "def embedding_of(kernel):\n"
            "    return kernel.reshape(len(kernel), -1).T\n"
            "```\n\n"
            "Filter by filter into rows, then rows into columns. Check: random patch, both ways,"
            " compare."
        ),
    )


def _map(layers: list[Array], order: int = 1, stay: float = 0.5, pool: str = "mean") -> Array:
    n = layers[0].shape[-1]
    R = np.broadcast_to(np.eye(n), (*layers[0].shape[:-3], n, n))
    for w in layers:
        step = stay * np.eye(n) + (1 - stay) * getattr(w, pool)(axis=-3)
        R = step @ R if order == 1 else R @ step
    return R


def _share(row: Array) -> Array:
    return row / row.sum(axis=-1, keepdims=True)


def _patch_map(layers: list[Array], **how: object) -> Array:
    return _share(_map(layers, **how)[..., 0, 1:])  # type: ignore[arg-type]


def _layers(rng: np.random.Generator, n_layers: int, n_heads: int, *batch: int) -> Case:
    n = int(rng.choice([5, 7]))
    layers = [softmax(numbers(rng, *batch, n_heads, n, n)) for _ in range(n_layers)]
    return Case((layers,), _patch_map(layers))


@register("images.repair")
def repair() -> Code:
    """Repair a rollout."""
    return Code(
        title="Repair this code: rollout",
        function="patch_map",
        prompt=(
            "`layers` is a list of weights (..., n_heads, n, n), first layer first; token 0 is the"
            " class token. Return the rollout of the class token over the *patches*, shape"
            " (..., n - 1), divided so that it sums to 1. Heads are averaged, half of every row"
            " stays. This program runs, and has six bugs. Repair it. Remove the `raise` when you"
            " begin."
        ),
        stub=(
            "def patch_map(layers):\n"
            '    """Return the class token\'s rollout over the patches; it sums to 1."""\n'
            '    raise NotImplementedError("images.repair")\n'
            "    R = np.eye(layers[0].shape[-1])\n"
            "    for w in layers:\n"
            "        R = R @ w.max(axis=0)\n"
            "    return R[0, :-1]\n"
        ),
        rungs=(
            Rung(
                "one layer, one head",
                lambda rng: _layers(rng, 1, 1),
                "One layer, one head: the map is the class token's row over the patches, divided by"
                " its sum. What is yours?",
                (
                    Slip(
                        "the last patch cut off",
                        lambda w: _share(_map(w)[..., 0, :-1]),
                        "You cut off the last column. Which column is not a patch?",
                    ),
                    Slip(
                        "both",
                        lambda w: _map(w, stay=0.0)[..., 0, :-1],
                        "You cut off the last column, and your map does not sum to 1. Which column"
                        " is not a patch?",
                    ),
                    Slip(
                        "not divided",
                        lambda w: _map(w)[..., 0, 1:],
                        "Your map does not sum to 1. Where has the rest gone?",
                    ),
                    Slip(
                        "not divided, nothing stays",
                        lambda w: _map(w, stay=0.0)[..., 0, 1:],
                        "Your map does not sum to 1. Where has the rest gone?",
                    ),
                    Slip(
                        "a column",
                        lambda w: _share(_map(w)[..., 1:, 0]),
                        "That is who looks at the class token. Whom does it look at?",
                    ),
                ),
            ),
            Rung(
                "several heads",
                lambda rng: _layers(rng, 1, 3),
                "There are three heads now. How do they become one?",
                (
                    Slip(
                        "the largest",
                        lambda w: _patch_map(w, pool="max"),
                        "You take the largest weight of any head. What does the task ask for?",
                    ),
                    Slip(
                        "the first head",
                        lambda w: _patch_map([x[..., :1, :, :] for x in w]),
                        "You take one head. What do the others look at?",
                    ),
                ),
            ),
            Rung(
                "several layers",
                lambda rng: _layers(rng, 3, 2),
                "There are three layers. Which stands at the left of the product, and what stays?",
                (
                    Slip(
                        "nothing stays",
                        lambda w: _patch_map(w, stay=0.0),
                        "You left the residual out. Which half of each row stays where it is?",
                    ),
                    Slip(
                        "the order turned round",
                        lambda w: _patch_map(w, order=-1),
                        "Your first layer stands at the left. Which layer does the class token"
                        " leave last?",
                    ),
                    Slip(
                        "both bugs",
                        lambda w: _patch_map(w, order=-1, stay=0.0),
                        "Nothing stays, and the first layer stands at the left. Which half of each"
                        " row stays, and which layer is the last?",
                    ),
                    Slip(
                        "the last layer only",
                        lambda w: _patch_map(w[-1:]),
                        "That is the last layer alone. What are its rows made of?",
                    ),
                    Slip(
                        "the mean of the layers",
                        lambda w: _share(np.mean([_map([x])[..., 0, 1:] for x in w], axis=0)),
                        "You took a mean of layers. Do they stand beside or behind each other?",
                    ),
                ),
            ),
            Rung(
                "a batch in front",
                lambda rng: _layers(rng, 2, 3, 11),
                "There is a batch now. Do you count your axes from the back?",
                crash="There is a batch now. Which line counts axes from the front?",
            ),
        ),
        hints=(
            "A step is half the identity and half the mean over heads.",
            "`R = step @ R`: the newest layer at the left.",
            "With a batch the heads are axis -3, and the map is `R[..., 0, 1:]`, over its sum.",
        ),
        solution=(
            "```python\n"
            "def patch_map(layers):\n"
            "    R = np.eye(layers[0].shape[-1])\n"
            "    for w in layers:\n"
            "        step = 0.5 * np.eye(w.shape[-1]) + 0.5 * w.mean(axis=-3)\n"
            "        R = step @ R\n"
            "    row = R[..., 0, 1:]\n"
            "    return row / row.sum(axis=-1, keepdims=True)\n"
            "```\n\n"
            "Mean for max, the heads' axis counted from the back, half that stays, the order, the"
            " class token's column, and the sum."
        ),
    )


def _by_weights(rng: np.random.Generator) -> Explain:
    u = 0.5 * rng.normal(size=3)
    return lambda X, W_R, c: softmax(X @ u)


def _by_class(rng: np.random.Generator) -> Explain:
    return lambda X, W_R, c: np.abs(X * W_R[:, c]).sum(axis=-1)


def _scaled(rng: np.random.Generator) -> Explain:
    inner = _by_weights(rng)
    return lambda X, W_R, c: (2.0 + c) * inner(X, W_R, c)


def _one_class(rng: np.random.Generator) -> Explain:
    inner, other = _by_weights(rng), _by_class(rng)

    def explain(X: Array, W_R: Array, c: int) -> Array:
        return (other if c == W_R.shape[1] - 1 else inner)(X, W_R, c)

    return explain


def _faint(rng: np.random.Generator) -> Explain:
    inner, other = _by_weights(rng), _by_class(rng)
    return lambda X, W_R, c: inner(X, W_R, c) + 1e-6 * other(X, W_R, c)


def _explained(
    make: Callable[[np.random.Generator], Explain], blind: float
) -> Callable[[np.random.Generator], Case]:
    def draw(rng: np.random.Generator) -> Case:
        X = numbers(rng, int(rng.choice([5, 7])), 3)
        return Case((make(rng), X, numbers(rng, 3, 4)), blind)

    return draw


def _apart(
    explain: Explain, X: Array, W_R: Array, classes: list[int] | None = None, share: bool = True
) -> float:
    maps = np.stack([explain(X, W_R, c) for c in classes or range(W_R.shape[1])])
    if share:
        maps = _share(maps)
    return float(np.abs(maps - maps[0]).max())


@register("images.class_blind")
def class_blind() -> Code:
    """Write the test that tells whether a map knows what it is asked about."""
    return Code(
        title="Write the test that exposes it",
        function="class_blind",
        prompt=(
            "`explain(X, W_R, c)` is somebody's explanation: from the patches X (n, 3), a read-out"
            " W_R (3, n_classes) and a class c it makes a map of n positive numbers. Return 1 if it"
            " is blind to the class: if the map, divided by its sum, is the same for *every* class."
            " Return 0 if it is not. Five explanations wait on the ladder."
        ),
        stub=(
            "def class_blind(explain, X, W_R):\n"
            '    """Return 1 if the map is the same for every class, else 0."""\n'
            '    raise NotImplementedError("images.class_blind")\n'
        ),
        rungs=(
            Rung(
                "from weights alone",
                _explained(_by_weights, 1.0),
                "This map comes from weights, and never looks at the class: the answer is 1. What"
                " do you compare?",
                (
                    Slip(
                        "never blind",
                        lambda f, X, W: 0.0,
                        "You call no explanation blind. Do you compare maps at all?",
                    ),
                ),
                crash="Your test stopped. What does `explain` take, and what does it return?",
            ),
            Rung(
                "from a gradient",
                _explained(_by_class, 0.0),
                "This map is made with the class's column of W_R, so the answer is 0. Do you ask it"
                " about more than one class?",
                (
                    Slip(
                        "always blind",
                        lambda f, X, W: 1.0,
                        "You call every explanation blind. Do you ask about two different classes?",
                    ),
                ),
            ),
            Rung(
                "louder for some classes",
                _explained(_scaled, 1.0),
                "This map is larger for some classes and has one shape for all. What does the task"
                " say about its sum?",
                (
                    Slip(
                        "not divided",
                        lambda f, X, W: float(_apart(f, X, W, share=False) < 1e-9),
                        "You compare the maps as they come. What does the task say about their"
                        " sum?",
                    ),
                ),
            ),
            Rung(
                "one class only",
                _explained(_one_class, 0.0),
                "One class has another map than the rest. Do you ask about all of them?",
                (
                    Slip(
                        "the first two classes",
                        lambda f, X, W: float(_apart(f, X, W, [0, 1]) < 1e-9),
                        "You asked about the classes 0 and 1. What about the others?",
                    ),
                ),
            ),
            Rung(
                "a faint difference",
                _explained(_faint, 0.0),
                "This map depends on the class a little. From which size on is a difference more"
                " than rounding?",
                (
                    Slip(
                        "small differences pass",
                        lambda f, X, W: float(_apart(f, X, W) < 1e-3),
                        "You let small differences pass. How large is rounding in float64?",
                    ),
                ),
            ),
        ),
        hints=(
            "Ask for the map of each class: `range(W_R.shape[1])`.",
            "Divide each map by its own sum, then compare all with the first.",
            "Rounding is below 1e-12 here; 1e-9 is a safe limit.",
        ),
        solution=(
            "```python\n"
            "def class_blind(explain, X, W_R):\n"
            "    maps = np.stack([explain(X, W_R, c) for c in range(W_R.shape[1])])\n"
            "    maps = maps / maps.sum(axis=-1, keepdims=True)\n"
            "    return float(np.abs(maps - maps[0]).max() < 1e-9)\n"
            "```\n\n"
            "Rollout, the last layer's row and every mean of weights fail this test by"
            " construction: they are never told the class."
        ),
    )
