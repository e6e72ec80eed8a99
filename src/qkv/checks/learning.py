"""The exercises of chapter 7: a gradient by hand, frozen starts, twins, a test of gradients."""

# ruff: noqa: RUF001 (a minus sign is a minus sign)

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np

from qkv.checks.arrangement import Order, Rule
from qkv.checks.engine import register
from qkv.checks.exercise import Case, Choice, Code, Number, Option, Row, Rung, Slip, Wrong
from qkv.checks.ladder import numbers, sizes
from qkv.core.gradients import (
    attention_backward,
    multi_head_attention_backward,
    project_backward,
    softmax_backward,
)
from qkv.core.multi_head import MultiHeadParameters
from qkv.core.projections import project_qkv
from qkv.core.softmax import softmax

# --- in the page ---------------------------------------------------------------------------------


@register("learning.score_gradient")
def score_gradient() -> Row:
    """Take one gradient back through one row of weights, by hand."""
    weights, values, wanted = np.array([0.5, 0.3, 0.2]), np.array([4.0, 0.0, -1.0]), 0.8
    says = float(weights @ values)
    slope = 2 * (says - wanted)
    better = slope * values

    def row(array: np.ndarray) -> tuple[float, ...]:
        return tuple(np.round(array, 12).tolist())

    right = softmax_backward(weights, better)
    return Row(
        title="Which score should rise?",
        prompt=(
            "One query, three keys. The weights are 0.5, 0.3, 0.2 and the values are the numbers 4,"
            f" 0, −1, so the output is {says:g}. Wanted was {wanted:g}, and the loss is the square"
            " of the difference. What is the gradient of the loss with respect to each of the three"
            " scores?"
        ),
        labels=("score 0", "score 1", "score 2"),
        answer=row(right),
        tolerance=0.005,
        right=(
            "Right, and they sum to 0. The output is too large, so the step lowers the score of the"
            " largest value and raises the other two."
        ),
        otherwise=(
            "First the gradient of the output, then of each weight, then: weight times (its"
            " gradient minus the weighted mean of the gradients). At which of the three do you"
            " differ?"
        ),
        wrong=(
            Wrong(
                row(weights * better),
                "Your three numbers do not sum to 0. When one score rises, what do the other"
                " weights do?",
            ),
            Wrong(
                row(-right),
                "These are the directions of the step. Which sign has the gradient itself?",
            ),
            Wrong(row(right / 2), "What is the derivative of a square?"),
            Wrong(
                row(better),
                "That is the gradient of the weights. What does the softmax do to it?",
            ),
            Wrong(
                row(better - weights @ better),
                "Nearly: better or worse than the mean. How far can a score move a weight that is"
                " already small?",
            ),
            Wrong(
                row(weights * (better - better.mean())),
                "You took off the plain mean. With which weights is the mean of the output made?",
            ),
        ),
        hints=(
            f"The gradient of the output is 2 ({says:g} − {wanted:g}) = {slope:g}.",
            "The gradient of weight j is that number times value j.",
            "Take off their weighted mean, with the weights 0.5, 0.3, 0.2, then multiply each by"
            " its own weight.",
        ),
        solution=(
            f"Gradients of the weights: {slope:g} times 4, 0, −1 = 8, 0, −2. Their weighted mean:"
            f" {weights @ better:g}. So 0.5 (8 − 3.6) = {right[0]:g}, 0.3 (0 − 3.6) ="
            f" {right[1]:g}".replace("-", "−")
            + f", 0.2 (−2 − 3.6) = {right[2]:g}.".replace("-", "−")
        ),
    )


def _best_even_loss(n: int) -> float:
    """Return the least loss of a head whose weights are all 1/n, over all ways n coins can lie."""
    coins = np.array(list(product((1.0, -1.0), repeat=n)))
    mean, wanted = coins.mean(axis=1), coins[:, 1]
    factor = (mean @ wanted) / (mean @ mean)
    return float(((factor * mean - wanted) ** 2).mean())


@register("learning.even_loss")
def even_loss() -> Number:
    """Derive the loss of a head that knows what to move and not yet where to look."""
    n = 9
    answer = _best_even_loss(n)
    return Number(
        title="What, but not where",
        prompt=(
            "Nobody knows yet where to look: every weight is 1/n. The head moves c times the coin,"
            " so each of the n people says c times the mean of all coins. Derive the mean square of"
            " (said − neighbour's coin) over all ways the coins can lie, and the c that makes it"
            f" least. Check your formula with the {_best_even_loss(5):g} of five people. What is"
            f" the least loss with n = {n}?"
        ),
        label="Least loss (three decimals)",
        answer=answer,
        tolerance=0.0006,
        right=(
            "Right: c²/n − 2c/n + 1 is least at c = 1, and leaves 1 − 1/n. The more there are to"
            " choose from, the less there is to gain before one looks."
        ),
        otherwise=(
            "Write said − wanted as a sum over coins. Coins are independent with mean 0 and square"
            " 1: which products survive the mean?"
        ),
        wrong=(
            Wrong(1 / n, "That is what a head can gain. How much loss is left?"),
            Wrong(_best_even_loss(5), "That is for five people. How does it depend on n?"),
            Wrong(1.0, "That is a head that says nothing, c = 0. Is that the best c?"),
            Wrong(
                1 - 1 / (n - 1),
                "You left one person out. Does a head that looks evenly also look at itself?",
            ),
            Wrong(
                1 - 2 / n,
                "You forgot that the mean of the coins has a square as well. What is the mean of"
                " its square?",
            ),
            Wrong(float(n - 1), "That is c = n: the sum of all coins. Which c is best?"),
        ),
        hints=(
            "Expand (c · mean − w)²: three terms, each to be averaged over all coins.",
            "The mean of mean² is 1/n, the mean of mean · w is 1/n, the mean of w² is 1.",
            "c²/n − 2c/n + 1: set its derivative by c to zero.",
        ),
        solution=(
            "The average is c²/n − 2c/n + 1. Its derivative 2c/n − 2/n is zero at c = 1, where"
            f" 1 − 1/n is left: 0.8 for five people, {answer:.3f} for {n}."
        ),
    )


@register("learning.zero_start")
def zero_start() -> Choice:
    """Predict which gradients vanish when one of the two matrices starts at zero."""
    rng = np.random.default_rng(7)
    X, W_K, W_V, grad = (rng.normal(size=shape) for shape in ((5, 6), (6, 4), (6, 2), (5, 2)))
    W_Q = np.zeros((6, 4))
    q, k, v = project_qkv(X, X, W_Q, W_K, W_V)
    grad_q, grad_k, _ = attention_backward(q, k, v, grad)
    dead_Q = not project_backward(X, W_Q, grad_q)[1].any()
    dead_K = not project_backward(X, W_K, grad_k)[1].any()
    return Choice(
        title="Predict: one matrix starts at zero",
        prompt=(
            "W_Q starts as all zeros, the other three matrices at random. All scores are 0, all"
            " weights equal. Before you run anything: which of W_Q and W_K gets a gradient of"
            " exactly 0 at the first step?"
        ),
        options=(
            Option(
                "W_Q, because it is zero",
                "The gradient of W_Q is made with the keys, and these are not zero. Which array"
                " stands beside the gradient of the scores in it?",
                dead_Q and not dead_K,
            ),
            Option(
                "W_K, because the queries are zero",
                "Each of the two learns through the other: the gradient of the keys is the gradient"
                " of the scores times the queries, all zero here. After one step W_Q is not zero"
                " any more, and W_K begins to move.",
                dead_K and not dead_Q,
            ),
            Option(
                "both: equal weights teach nothing",
                "Equal weights are not the end: one value can still be better than the mean. What"
                " is the gradient of a score when weights are equal and values are not?",
                dead_Q and dead_K,
            ),
            Option(
                "neither",
                "One of the two gradients is a product with the queries. What are the queries?",
                not dead_Q and not dead_K,
            ),
        ),
        hints=(
            "Write both gradients: what is multiplied by the gradient of the scores?",
            "For the queries it is the keys, for the keys it is the queries.",
            "With W_Q = 0 every query is a row of zeros.",
        ),
        solution=(
            "**W_K.** Its gradient contains the queries, and these are zero. W_Q's contains the"
            " keys. With both at zero neither would ever move."
        ),
    )


@register("learning.twins")
def twins() -> Choice:
    """Say whether two heads that differ in W_O only stay equal."""
    rng = np.random.default_rng(8)
    X, grad = rng.normal(size=(5, 6)), rng.normal(size=(5, 1))
    W_Q, W_K, W_V = (np.repeat(rng.normal(size=(1, 6, d)), 2, axis=0) for d in (4, 4, 7))
    parameters = MultiHeadParameters(W_Q, W_K, W_V, rng.normal(size=(14, 1)))
    made = multi_head_attention_backward(X, X, parameters, grad)[2]
    apart = [not np.array_equal(g[0], g[1]) for g in (made.W_Q, made.W_K, made.W_V)]
    return Choice(
        title="Nearly twins",
        prompt=(
            "Two heads start with equal W_Q, W_K and W_V. Their rows of W_O differ. What does the"
            " first step do to the three pairs?"
        ),
        options=(
            Option(
                "all three stay equal: the same input, the same matrices",
                "The forward pass is the same up to W_O. What reaches each head on the way back?",
                not any(apart),
            ),
            Option(
                "W_V separates, W_Q and W_K stay equal",
                "W_O changes the gradient of the head's output. Does the gradient of the weights"
                " not contain it too?",
                apart == [False, False, True],
            ),
            Option(
                "all three separate",
                "The gradient that comes back through W_O is another one for each head, and all"
                " three gradients are made from it. To stay equal, twins need equal rows of W_O"
                " too.",
                all(apart),
            ),
            Option(
                "W_Q and W_K separate, W_V stays equal",
                "The gradient of the values is the weights, turned, times the gradient of the"
                " head's output. Is the second factor the same for both heads?",
                apart == [True, True, False],
            ),
        ),
        hints=(
            "Follow the gradient back from the output to the two heads.",
            "The first matrix that it meets is W_O.",
            "Everything behind it is a product with what came through.",
        ),
        solution=(
            "**All three separate.** Identical heads need identical rows of W_O as well; then, and"
            " only then, their gradients agree and they stay one head, computed twice."
        ),
    )


@register("learning.step")
def step() -> Order:
    """Put one training step in order."""
    return Order(
        title="One step, from front to back",
        prompt=(
            "Put one training step of a head in order. Each gradient needs the one that"
            " stands nearer"
            " to the loss."
        ),
        steps=(
            "scores, weights, output: the forward pass",
            "the loss compares the output with what was wanted",
            "the gradient of the output",
            "through the weighted sum: gradients of the weights and of V",
            "through the softmax: gradients of the scores",
            "through the dot products: gradients of Q and K, then of W_Q and W_K",
            "every matrix goes a little against its gradient",
        ),
        rules=(
            Rule(0, 6, "If the matrices move first, whose forward pass are the gradients of?"),
            Rule(0, 1, "What does the loss compare, before there is an output?"),
            Rule(1, 2, "A gradient of what? Which number is it that should fall?"),
            Rule(
                2,
                3,
                "The weighted sum stands before the output. From which gradient does its own come?",
            ),
            Rule(3, 4, "The softmax makes the weights. Whose gradient does it need to hand on?"),
            Rule(4, 5, "Q and K only make scores. Which gradient must be known first?"),
            Rule(5, 6, "Moved before its gradient is known? In which direction would it go?"),
        ),
        right=(
            "Right. Backwards the order is the forward one turned round, and only then something"
            " moves."
        ),
        hints=(
            "Forward, loss, backward, move.",
            "Backward is forward turned round: output, weighted sum, softmax, dot products.",
            "The weights are known before the scores, seen from the loss.",
        ),
        solution=(
            "Forward pass, loss, gradient of the output, of the weights and V, of the scores,"
            " of Q and K"
            " and their matrices, and at last the move. W_V gets its gradient with V, one stage"
            " before W_Q and W_K do."
        ),
    )


# --- in the notebook -----------------------------------------------------------------------------

Three = tuple[np.ndarray, np.ndarray, np.ndarray]


def _backward(
    X: np.ndarray,
    W_Q: np.ndarray,
    W_K: np.ndarray,
    W_V: np.ndarray,
    G: np.ndarray,
    slip: str = "",
) -> Three:
    """Return the three gradients, right or with one named slip."""
    q, k, v = X @ W_Q, X @ W_K, X @ W_V
    root = np.sqrt({"d_model": X.shape[1], "d_v": v.shape[1]}.get(slip, q.shape[1]))
    w = softmax(q @ k.T / np.sqrt(q.shape[1]))
    gw = G @ v.T
    mean = (w * gw).sum(axis=-1, keepdims=True)
    gs = w * (gw - mean)
    if slip == "no mean":
        gs = w * gw
    elif slip == "plain mean":
        gs = w * (gw - gw.mean(axis=-1, keepdims=True))
    elif slip == "column mean":
        gs = w * (gw - (w * gw).sum(axis=0))
    elif slip == "no weight":
        gs = gw - mean
    if slip != "no root":
        gs = gs / root
    gq, gk, gv = gs @ k, gs.T @ q, w.T @ G
    if slip == "swapped":
        gq, gk = gs @ q, gs.T @ k
    elif slip == "scores not turned":
        gk = gs @ q
    elif slip == "weights not turned":
        gv = w @ G
    elif slip == "down":
        gq, gk, gv = -gq, -gk, -gv
    elif slip == "rows":
        return gq, gk, gv
    return X.T @ gq, X.T @ gk, X.T @ gv


def _slip(name: str, question: str) -> Slip:
    return Slip(name, lambda X, Q, K, V, G: _backward(X, Q, K, V, G, name), question)


def _head(rng: np.random.Generator, n: int) -> Case:
    d_model, d_k, d_v = [size for size in sizes(rng, 4) if size != n][:3]
    X, G = numbers(rng, n, d_model) / 3, numbers(rng, n, d_v)
    W_Q, W_K, W_V = (numbers(rng, d_model, d) / 3 for d in (d_k, d_k, d_v))
    q, k, v = project_qkv(X, X, W_Q, W_K, W_V)
    grads = attention_backward(q, k, v, G)
    expected = tuple(
        project_backward(X, W, g)[1] for W, g in zip((W_Q, W_K, W_V), grads, strict=True)
    )
    return Case((X, W_Q, W_K, W_V, G), expected)


@register("learning.backward")
def backward() -> Code:
    """Write the backward pass of one head down to its matrices."""
    return Code(
        title="One head, backwards",
        function="head_gradients",
        returns=("grad_W_Q", "grad_W_K", "grad_W_V"),
        prompt=(
            "One head in self-attention: X has one token a row, `G` is the gradient of the loss"
            " with respect to the head's output (before any W_O), shape (n, d_v). Return the"
            " gradients of W_Q, W_K and W_V, each of its matrix's shape. You need the forward pass"
            " inside. numpy only: `qkv.attention_backward` would make it one line."
        ),
        stub=(
            "def head_gradients(X, W_Q, W_K, W_V, G):\n"
            '    """Return the gradients of W_Q, W_K and W_V."""\n'
            '    raise NotImplementedError("learning.backward")\n'
        ),
        rungs=(
            Rung(
                "a single token",
                lambda rng: _head(rng, 1),
                "With a single key the weight is 1 whatever the score. Which two gradients must be"
                " exactly zero, and what is left for W_V?",
                (
                    _slip(
                        "no mean",
                        "With one key no score can matter, yet your W_Q gets a gradient. What does"
                        " the softmax take off between weights and scores?",
                    ),
                    _slip(
                        "rows",
                        "You returned the gradients of q, k and v. How does a row's gradient become"
                        " the matrix's?",
                    ),
                    _slip(
                        "down",
                        "The size is right, the sign is not. Is the gradient the direction of the"
                        " step, or the one that the step goes against?",
                    ),
                ),
            ),
            Rung(
                "several tokens",
                lambda rng: _head(rng, int(rng.choice([3, 7]))),
                "Compare array by array: G to the values and weights, weights to scores, scores to"
                " q and k. Where does yours first differ from qkv.attention_backward?",
                (
                    _slip(
                        "plain mean",
                        "You took off the plain mean. With which weights is the mean of a row"
                        " taken?",
                    ),
                    _slip(
                        "column mean",
                        "You took the mean over the queries. Over which axis do the weights sum to"
                        " 1?",
                    ),
                    _slip(
                        "no weight",
                        "You have “better than the mean”. By which factor does a score reach its"
                        " weight?",
                    ),
                    _slip(
                        "no root",
                        "W_V is right, W_Q and W_K are too large by one factor. What were the"
                        " scores divided by?",
                    ),
                    _slip("d_model", "You divided by the root of d_model. Whose width counts?"),
                    _slip("d_v", "You divided by the root of d_v. Whose width counts?"),
                    _slip(
                        "swapped",
                        "You paired the queries' gradient with the queries. A score is q times k:"
                        " what is its derivative by q?",
                    ),
                    _slip(
                        "scores not turned",
                        "A key hears from all queries: a column of the scores. Which way did you"
                        " multiply?",
                    ),
                    _slip(
                        "weights not turned",
                        "A value hears from all queries that look at it: a column of the weights."
                        " Which way did you multiply?",
                    ),
                ),
            ),
        ),
        hints=(
            "Forward first: q, k, v, scores, weights. Then go back through the same five.",
            "grad_v = weights.T @ G and grad_weights = G @ v.T; then the softmax, row by row:"
            " weight times (gradient minus the weighted mean).",
            "Divide by the root of d_k; grad_q is that times k, grad_k its transpose times q; each"
            " matrix gets X.T times its rows' gradient.",
        ),
        solution=(
            "```python\n"
            "def head_gradients(X, W_Q, W_K, W_V, G):\n"
            "    q, k, v = X @ W_Q, X @ W_K, X @ W_V\n"
            "    scores = q @ k.T / np.sqrt(q.shape[1])\n"
            "    powers = np.exp(scores - scores.max(axis=1, keepdims=True))\n"
            "    weights = powers / powers.sum(axis=1, keepdims=True)\n"
            "    grad_weights = G @ v.T\n"
            "    mean = (weights * grad_weights).sum(axis=1, keepdims=True)\n"
            "    grad_dots = weights * (grad_weights - mean) / np.sqrt(q.shape[1])\n"
            "    return X.T @ (grad_dots @ k), X.T @ (grad_dots.T @ q), X.T @ (weights.T @ G)\n"
            "```\n\n"
            "With one token the weighted mean is the gradient itself: the bracket is exactly 0."
        ),
    )


Gradients = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


def _descent_case(steps: int) -> Callable[[np.random.Generator], Case]:
    def draw(rng: np.random.Generator) -> Case:
        rows, columns, width = sizes(rng, 3)
        W_Q, W_K = numbers(rng, rows, width) / 4, numbers(rng, columns, width) / 4
        M = numbers(rng, rows, columns)
        rate = float(rng.choice([0.01, 0.02, 0.03]))

        def gradients(W_Q: np.ndarray, W_K: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            gap = np.tanh(W_Q @ W_K.T - M)
            return gap @ W_K, gap.T @ W_Q

        return Case((W_Q, W_K, gradients, rate, steps), _descend(W_Q, W_K, gradients, rate, steps))

    return draw


def _descend(
    W_Q: np.ndarray, W_K: np.ndarray, gradients: Gradients, rate: float, steps: int, slip: str = ""
) -> tuple[np.ndarray, np.ndarray]:
    """Go down together, or with one named slip."""
    first = gradients(W_Q, W_K)
    for _ in range(1 if slip == "one step" else steps):
        grad_Q, grad_K = first if slip == "once" else gradients(W_Q, W_K)
        if slip == "up":
            grad_Q, grad_K = -grad_Q, -grad_K
        elif slip == "no rate":
            rate = 1.0
        elif slip == "only queries":
            grad_K = 0 * grad_K
        next_Q = W_Q - rate * grad_Q
        if slip == "queries first":
            grad_K = gradients(next_Q, W_K)[1]
        next_K = W_K - rate * grad_K
        if slip == "keys first":
            next_Q = W_Q - rate * gradients(W_Q, next_K)[0]
        W_Q, W_K = next_Q, next_K
    return W_Q, W_K


def _down(name: str, question: str) -> Slip:
    return Slip(name, lambda Q, K, g, r, s: _descend(Q, K, g, r, s, name), question)


@register("learning.repair")
def repair() -> Code:
    """Repair a training loop whose second matrix sees the first one's new value."""
    return Code(
        title="Repair this loop",
        function="train",
        returns=("W_Q", "W_K"),
        prompt=(
            "This loop trains, reaches a small loss, and is not gradient descent:\n\n"
            "```python\n"
            "def train(W_Q, W_K, gradients, rate, steps):\n"
            "    for _ in range(steps):\n"
            "        W_Q -= rate * gradients(W_Q, W_K)[0]\n"
            "        W_K -= rate * gradients(W_Q, W_K)[1]\n"
            "    return W_Q, W_K\n"
            "```\n\n"
            "`gradients(W_Q, W_K)` returns the two gradients at the point it is given. Repair it:"
            " both matrices step from the *same* point, and the arrays that the caller handed in"
            " stay as they are."
        ),
        stub=(
            "def train(W_Q, W_K, gradients, rate, steps):\n"
            '    """Return W_Q and W_K after some steps of gradient descent."""\n'
            '    raise NotImplementedError("learning.repair")\n'
        ),
        rungs=(
            Rung(
                "one step",
                _descent_case(1),
                "One step: new matrix = old matrix minus rate times its gradient at the old point."
                " Which of the two differs?",
                (
                    _down(
                        "queries first",
                        "W_Q is right, W_K is not: its gradient was taken after W_Q had moved. At"
                        " which point must both be taken?",
                    ),
                    _down(
                        "keys first",
                        "W_K is right, W_Q is not: its gradient was taken after W_K had moved. At"
                        " which point must both be taken?",
                    ),
                    _down("up", "Your step goes uphill. Which sign makes the loss smaller?"),
                    _down("no rate", "Your step is the whole gradient. Where is the rate?"),
                    _down("only queries", "W_K did not move. Where is its step?"),
                ),
                crash="Your code stopped. What does `gradients` take, and what does it return?",
            ),
            Rung(
                "three steps",
                _descent_case(3),
                "The first step was right. From which point does the second start?",
                (
                    _down("one step", "You returned after the first step. Where does it end?"),
                    _down(
                        "once",
                        "All your steps use the first gradient. Where must it be taken again?",
                    ),
                ),
            ),
        ),
        hints=(
            "Call `gradients` once a step, before anything moves.",
            "`-=` on an array writes into the caller's array. `W_Q = W_Q - …` makes a new one.",
            "grad_Q, grad_K = gradients(W_Q, W_K), then the two subtractions.",
        ),
        solution=(
            "```python\n"
            "def train(W_Q, W_K, gradients, rate, steps):\n"
            "    for _ in range(steps):\n"
            "        grad_Q, grad_K = gradients(W_Q, W_K)\n"
            "        W_Q = W_Q - rate * grad_Q\n"
            "        W_K = W_K - rate * grad_K\n"
            "    return W_Q, W_K\n"
            "```\n\n"
            "Steps one after the other have a name of their own (coordinate descent), and can work."
            " They are not what torch's optimisers do, so numbers would not agree."
        ),
    )


def _numbers_of(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return np.asarray(numbers(rng, *shape) / 2)


def _maps(
    W_Q: np.ndarray, W_K: np.ndarray, W_V: np.ndarray, W_O: np.ndarray, *, slip: str = ""
) -> tuple[np.ndarray, np.ndarray]:
    """Return the two maps of every head, or those of one named slip."""
    out = W_O.shape[-1]
    heads = W_V.shape[:-2]
    if slip == "interleaved":
        rows = np.swapaxes(W_O.reshape(W_V.shape[-1], *heads, out), 0, 1)
    else:
        rows = W_O.reshape(*heads, W_V.shape[-1], out)
    where, what = W_Q @ np.swapaxes(W_K, -1, -2), W_V @ rows
    if slip == "inner where":
        where = np.swapaxes(W_Q, -1, -2) @ W_K
    elif slip == "asked by keys":
        where = np.swapaxes(where, -1, -2)
    elif slip == "root in it":
        where = where / np.sqrt(W_Q.shape[-1])
    elif slip == "root of the input":
        where = where / np.sqrt(W_Q.shape[-2])
    elif slip == "inner what":
        what = rows @ W_V
    elif slip == "what turned":
        what = np.swapaxes(what, -1, -2)
    elif slip == "added up":
        where, what = where.sum(axis=0), what.sum(axis=0)
    elif slip == "what added up":
        what = what.sum(axis=0)
    elif slip == "backwards":
        rows = rows[::-1]
        what = W_V @ rows
    return where, what


def _map_slip(name: str, question: str) -> Slip:
    return Slip(name, lambda *four: _maps(*four, slip=name), question)


def _maps_case(*heads: int, square: bool = False) -> Callable[[np.random.Generator], Case]:
    def draw(rng: np.random.Generator) -> Case:
        d_q, d_k, d_v, d_out, d_kv = sizes(rng, 5)
        if square:
            d_kv = d_out = d_q
        shapes = (d_q, d_k), (d_kv, d_k), (d_kv, d_v)
        W_Q, W_K, W_V = (_numbers_of(rng, (*heads, *shape)) for shape in shapes)
        W_O = _numbers_of(rng, (int(np.prod(heads)) * d_v, d_out))
        return Case((W_Q, W_K, W_V, W_O), _maps(W_Q, W_K, W_V, W_O))

    return draw


@register("learning.two_maps")
def two_maps() -> Code:
    """Make the two products that say where a head looks and what it moves."""
    return Code(
        title="Read a head: its two maps",
        function="two_maps",
        returns=("where", "what"),
        prompt=(
            "Given a head's four matrices, return the two maps that the forward pass knows: `where`"
            r" with $\text{score}_{ij} = x_i\, \mathit{where}\; y_j\T / \sqrt{\dk}$, and `what`"
            " with"
            r" $\text{output}_i = \sum_j w_{ij}\, y_j\, \mathit{what}$."
            " Queries come from x; keys and values come from y, which may be of another"
            " width. At the end all heads come at once: W_Q, W_K and W_V with the heads in front,"
            " and the paper's W_O of shape (heads · d_v, d_out), head 0's rows on top. Then return"
            " one pair of maps for each head."
        ),
        stub=(
            "def two_maps(W_Q, W_K, W_V, W_O):\n"
            '    """Return the map of where to look and the map of what to move."""\n'
            '    raise NotImplementedError("learning.two_maps")\n'
        ),
        rungs=(
            Rung(
                "one head",
                _maps_case(square=True),
                "Write a score with q = x W_Q and k = y W_K put in, and the output with v = y W_V."
                " What stands between the two rows, and what behind y?",
                (
                    _map_slip(
                        "inner where",
                        "Your first map is d_k by d_k. Its rows and columns should be columns of x"
                        " and y: which axis has to be summed away?",
                    ),
                    _map_slip(
                        "asked by keys",
                        "You have the map turned round: its rows belong to the one who is looked"
                        " at. Who stands on the left in the score?",
                    ),
                    _map_slip(
                        "root in it",
                        "You put the root into the map. Where does the prompt's formula divide?",
                    ),
                    _map_slip(
                        "root of the input",
                        "You divided by the root of the width of x. Is there a factor in this map"
                        " at all?",
                    ),
                    _map_slip(
                        "inner what",
                        "Your second map is d_v by d_v. Which of the two matrices does y meet"
                        " first?",
                    ),
                    _map_slip(
                        "what turned",
                        "Your second map is turned round. A row y goes in from the left: what must"
                        " its rows stand for?",
                    ),
                ),
                crash="Two shapes did not fit. Which axis do W_Q and W_K share, and which W_V and"
                " W_O?",
            ),
            Rung(
                "another source",
                _maps_case(),
                "Keys and values come from rows of another width. What are the sizes of the two"
                " maps now?",
                crash="x and y have different widths here. Which line needs them equal?",
            ),
            Rung(
                "all heads",
                _maps_case(13),
                "Heads stand in front. Does each head meet its own d_v rows of W_O?",
                (
                    _map_slip(
                        "interleaved",
                        "You dealt the rows of W_O out like cards. Which rows does head 0 own?",
                    ),
                    _map_slip(
                        "added up",
                        "You added the heads up. Can one softmax stand for the sum of thirteen?",
                    ),
                    _map_slip(
                        "what added up",
                        "You added what the heads move. Do they all look at the same place?",
                    ),
                    _map_slip(
                        "backwards",
                        "You dealt W_O out from the bottom. Whose rows stand on top?",
                    ),
                ),
                crash="Heads come first now; W_O still has two. Which axes should be swapped,"
                " and how is W_O cut?",
            ),
        ),
        hints=(
            "q kᵀ = (x W_Q)(y W_K)ᵀ = x W_Q W_Kᵀ yᵀ.",
            "The values are y W_V, then comes W_O; put the brackets round the right pair:"
            " (y W_V) W_O = y (W_V W_O).",
            "With heads in front turn only the last two axes, and cut W_O:"
            " `W_O.reshape(*W_V.shape[:-2], W_V.shape[-1], -1)`.",
        ),
        solution=(
            "```python\n"
            "def two_maps(W_Q, W_K, W_V, W_O):\n"
            "    own_rows = W_O.reshape(*W_V.shape[:-2], W_V.shape[-1], W_O.shape[-1])\n"
            "    return W_Q @ np.swapaxes(W_K, -1, -2), W_V @ own_rows\n"
            "```\n\n"
            "Both maps stand between columns that have names, and d_k and d_v are summed away. That"
            " is why they can be read."
        ),
    )


def _disguised(
    W_Q: np.ndarray,
    W_K: np.ndarray,
    W_V: np.ndarray,
    W_O: np.ndarray,
    A: np.ndarray,
    B: np.ndarray,
    *,
    slip: str = "",
) -> tuple[np.ndarray, ...]:
    """Return another set of four with the same two maps, or what one named slip makes."""
    back_A, back_B = np.linalg.inv(A).T, np.linalg.inv(B)
    if slip == "not turned":
        back_A = back_A.T
    elif slip == "the same":
        back_A = A
    elif slip == "B only turned":
        back_B = B.T
    elif slip == "B again":
        back_B = B
    one, two, three, four = W_Q @ A, W_K @ back_A, W_V @ B, back_B @ W_O
    if slip == "keys first":
        one, two = W_Q @ back_A, W_K @ A
    elif slip == "only the first pair":
        three, four = W_V, W_O
    return one, two, three, four


def _disguise_slip(name: str, question: str) -> Slip:
    return Slip(name, lambda *args: _disguised(*args, slip=name), question)


def _disguise_case(kind: str) -> Callable[[np.random.Generator], Case]:
    def draw(rng: np.random.Generator) -> Case:
        d_model, d_k, d_v, d_out = (int(d) for d in rng.permutation([3, 5, 7, 11]))
        shapes = (d_model, d_k), (d_model, d_k), (d_model, d_v), (d_v, d_out)
        W_Q, W_K, W_V, W_O = (_numbers_of(rng, shape) for shape in shapes)
        args = W_Q, W_K, W_V, W_O, _basis(rng, d_k, kind), _basis(rng, d_v, kind)
        return Case(args, _disguised(*args))

    return draw


def _basis(rng: np.random.Generator, d: int, kind: str) -> np.ndarray:
    """Return a rotation, a stretching of each axis, or a well-behaved general matrix."""
    turned = np.linalg.qr(rng.normal(size=(d, d)))[0]
    stretched = np.diag(rng.choice([-2.0, -0.5, 0.25, 1.5, 3.0], size=d))
    return np.asarray(
        {"turn": turned, "stretch": stretched, "any": stretched @ turned + 0.1 * np.eye(d)}[kind]
    )


@register("learning.disguise")
def disguise() -> Code:
    """Make four other matrices that are the same head."""
    return Code(
        title="The same head in disguise",
        function="disguise",
        returns=("W_Q", "W_K", "W_V", "W_O"),
        prompt=(
            "Derive four other matrices that no forward pass can tell from the given ones. Let the"
            " new W_Q be W_Q A and the new W_V be W_V B, with A (d_k, d_k) and B (d_v, d_v)"
            " invertible. What must become of W_K and W_O, so that both maps stay as they are?"
            " Check it with your `two_maps` before you hand it in."
        ),
        stub=(
            "def disguise(W_Q, W_K, W_V, W_O, A, B):\n"
            '    """Return four other matrices with the same two maps."""\n'
            '    raise NotImplementedError("learning.disguise")\n'
        ),
        rungs=(
            Rung(
                "turned",
                _disguise_case("turn"),
                "A and B only turn here: the inverse is the transpose. Which of your four differs,"
                " and what is its map?",
                (
                    _disguise_slip(
                        "not turned",
                        "Your W_K got the inverse of A, or its transpose, which is the same here."
                        " In the map W_K stands transposed: what stands beside A then?",
                    ),
                    _disguise_slip(
                        "B again",
                        "W_V and W_O both got B (its inverse turned round is the same here). What"
                        " must stand between the two so that B is gone?",
                    ),
                    _disguise_slip(
                        "only the first pair",
                        "W_V and W_O are as they were. Where did B go?",
                    ),
                ),
                crash="Two shapes did not fit. On which side of W_O does d_v stand?",
            ),
            Rung(
                "stretched",
                _disguise_case("stretch"),
                "A and B only stretch here, so no transpose can be seen. Which of your four is"
                " stretched the wrong way?",
                (
                    _disguise_slip(
                        "the same",
                        "W_Q and W_K both got A. That holds when A only turns. If A doubles a"
                        " query, what must happen to the keys?",
                    ),
                    _disguise_slip(
                        "keys first",
                        "You gave A to W_K. Which of the two was to become W_Q A?",
                    ),
                    _disguise_slip(
                        "B only turned",
                        "W_O got the transpose of B. That undoes a turn: does it undo a stretch?",
                    ),
                ),
            ),
            Rung(
                "any basis",
                _disguise_case("any"),
                "A and B turn and stretch. Multiply your new pair out: what is left between W_Q and"
                " the transpose of W_K?",
            ),
        ),
        hints=(
            "Write the first map with the new pair: W_Q A (W_K C)ᵀ = W_Q A Cᵀ W_Kᵀ.",
            "A Cᵀ must be the identity. So what is C?",
            "W_V B D W_O: here nothing is transposed, and B D must be the identity.",
        ),
        solution=(
            "```python\n"
            "def disguise(W_Q, W_K, W_V, W_O, A, B):\n"
            "    new_keys = W_K @ np.linalg.inv(A).T\n"
            "    new_out = np.linalg.inv(B) @ W_O\n"
            "    return W_Q @ A, new_keys, W_V @ B, new_out\n"
            "```\n\n"
            "A is free, so any one entry of W_Q can be given any value, and the head stays the same"
            " function. Only the products are bound."
        ),
    )


Loss = Callable[[np.ndarray], float]
Slope = Callable[[np.ndarray], np.ndarray]


def _suspect(
    spoil: Callable[[np.ndarray, np.random.Generator], np.ndarray],
) -> Callable[[np.random.Generator], Case]:
    """Return a draw: a head's loss as a function of W_Q, and a gradient that may be spoiled."""

    def draw(rng: np.random.Generator) -> Case:
        n, d_model, d_k, d_v = 5, 3, 2, 7
        X, W_K, W_V = (numbers(rng, *s) / 2 for s in ((n, d_model), (d_model, d_k), (d_model, d_v)))
        wanted, W = numbers(rng, n, d_v), numbers(rng, d_model, d_k) / 2
        k, v = X @ W_K, X @ W_V

        def output(W: np.ndarray) -> np.ndarray:
            return np.asarray(softmax((X @ W) @ k.T / np.sqrt(d_k)) @ v)

        def loss(W: np.ndarray) -> float:
            return float(((output(W) - wanted) ** 2).sum() / 10)

        def honest(W: np.ndarray) -> np.ndarray:
            grad_q, _, _ = attention_backward(X @ W, k, v, (output(W) - wanted) / 5)
            return np.asarray(X.T @ grad_q)

        right = honest(W)
        spoiled = spoil(right, rng) - right

        def gradient(W: np.ndarray) -> np.ndarray:
            return honest(W) + spoiled

        return Case((loss, gradient, W), float((np.abs(spoiled) > 1e-3).sum()))

    return draw


def _slopes(loss: Loss, W: np.ndarray, step: float = 1e-4, one_sided: bool = False) -> np.ndarray:
    result = np.zeros_like(W)
    for place in np.ndindex(W.shape):
        up, down = W.copy(), W.copy()
        up[place] += step
        down[place] -= 0.0 if one_sided else step
        result[place] = (loss(up) - loss(down)) / (step if one_sided else 2 * step)
    return result


def _count(loss: Loss, gradient: Slope, W: np.ndarray, step: float = 1e-4) -> float:
    return float((np.abs(_slopes(loss, W, step) - gradient(W)) > 1e-3).sum())


def _one_off(right: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    spoiled = right.copy()
    spoiled[2, 1] += 0.01
    return spoiled


def _cancels(right: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    spoiled = right.copy()
    spoiled[0, 1] += 0.4
    spoiled[1, 0] -= 0.4
    return spoiled


def _column_turned(right: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    spoiled = right.copy()
    spoiled[:, 1] += 0.5
    return spoiled


@register("learning.slope_test")
def slope_test() -> Code:
    """Write the test that finds a wrong gradient."""
    return Code(
        title="Write the test that exposes it",
        function="wrong_entries",
        prompt=(
            "Somebody derived the gradient of a head's loss with respect to W_Q. You get `loss(W)`,"
            " one number, `gradient(W)`, an array of W's shape, and W, 3 × 2. Return *how many*"
            " entries of the gradient are wrong: those that differ from the slope of the loss by"
            " more than 0.001. The slope at an entry: move that entry alone a little up and a"
            " little down, and divide the difference of the losses by the whole way. Five gradients"
            " wait on the ladder."
        ),
        stub=(
            "def wrong_entries(loss, gradient, W):\n"
            '    """Return how many entries of gradient(W) are not the slope of the loss."""\n'
            '    raise NotImplementedError("learning.slope_test")\n'
        ),
        rungs=(
            Rung(
                "an honest gradient",
                _suspect(lambda right, rng: right),
                "You accused an honest gradient. Do you move one entry at a time, by a small step,"
                " and divide by the whole way from down to up?",
                crash="Your test stopped. What do `loss` and `gradient` take and return?",
            ),
            Rung(
                "all too large",
                _suspect(lambda right, rng: right + 0.3),
                "Every entry of this gradient is too large. How many entries has W?",
                (
                    Slip(
                        "yes or no",
                        lambda loss, gradient, W: float(_count(loss, gradient, W) > 0),
                        "You said that something is wrong. How many entries are?",
                    ),
                    Slip(
                        "rows",
                        lambda loss, gradient, W: float(
                            (np.abs(_slopes(loss, W) - gradient(W)) > 1e-3).any(axis=1).sum()
                        ),
                        "You found three: rows, or one column? How many entries are there in all?",
                    ),
                    Slip(
                        "believes everything",
                        lambda loss, gradient, W: 0.0,
                        "You found nothing, and every entry is wrong. What do you compare with"
                        " what?",
                    ),
                ),
            ),
            Rung(
                "one column",
                _suspect(_column_turned),
                "One column of this gradient is wrong. Does your loop reach every column?",
                (
                    Slip(
                        "first column only",
                        lambda loss, gradient, W: float(
                            (np.abs(_slopes(loss, W) - gradient(W)) > 1e-3)[:, 0].sum()
                        ),
                        "You looked at the first column. Where does your second loop run?",
                    ),
                ),
            ),
            Rung(
                "two errors that cancel",
                _suspect(_cancels),
                "Two entries are wrong, one up and one down. Do you compare entry by entry, with"
                " the sign taken off?",
                (
                    Slip(
                        "no absolute value",
                        lambda loss, gradient, W: float(
                            (gradient(W) - _slopes(loss, W) > 1e-3).sum()
                        ),
                        "You count an entry that is too large, and let one pass that is too small."
                        " What is missing around the difference?",
                    ),
                ),
            ),
            Rung(
                "one small error",
                _suspect(_one_off),
                "One entry is off by 0.01. Is your limit 0.001, and is your step small enough to"
                " see it?",
                (
                    Slip(
                        "a loose limit",
                        lambda loss, gradient, W: float(
                            (np.abs(_slopes(loss, W) - gradient(W)) > 0.1).sum()
                        ),
                        "You let a small error pass. From which difference on is an entry wrong?",
                    ),
                ),
            ),
        ),
        hints=(
            "Two loops, over the rows and the columns of W. In each, a copy up and a copy down.",
            "A step of 1e-4 is small enough for the curve and large enough for the rounding.",
            "Count with abs(slope − gradient entry) > 0.001. Call gradient(W) once, with the"
            " unmoved W.",
        ),
        solution=(
            "```python\n"
            "def wrong_entries(loss, gradient, W):\n"
            "    claimed, wrong = gradient(W), 0\n"
            "    for place in np.ndindex(W.shape):\n"
            "        up, down = W.copy(), W.copy()\n"
            "        up[place] += 1e-4\n"
            "        down[place] -= 1e-4\n"
            "        slope = (loss(up) - loss(down)) / 2e-4\n"
            "        wrong += abs(slope - claimed[place]) > 1e-3\n"
            "    return wrong\n"
            "```\n\n"
            "The test knows nothing of softmax or attention. That is why it can be trusted."
        ),
    )
