"""The exercises of chapter 6: the variance of a dot product, which d, and what a factor changes."""

# ruff: noqa: RUF001 (a minus sign is a minus sign)

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from qkv.checks.engine import register
from qkv.checks.exercise import Case, Choice, Code, Number, Option, Row, Rung, Slip, Wrong
from qkv.checks.ladder import numbers, sizes
from qkv.core.dot_product import dot_product_scores
from qkv.core.gradients import softmax_backward
from qkv.core.softmax import softmax

# --- in the page ---------------------------------------------------------------------------------


@register("scale.variance")
def variance() -> Number:
    """Derive the variance of a dot product whose keys do not have mean 0."""
    d_k, var_q, mean_k, var_k = 5, 4, 3, 1
    answer = d_k * var_q * (var_k + mean_k**2)
    return Number(
        title="Keys that lean to one side",
        prompt=(
            f"All entries are independent. Those of a query have mean 0 and variance {var_q}; those"
            f" of a key have mean {mean_k} and variance {var_k}. There are {d_k} columns. Derive"
            " the variance of the dot product, in the three steps of the text. (Check it with a"
            " hundred thousand draws.)"
        ),
        label="Variance",
        answer=float(answer),
        right=(
            "Right: a mean in the keys counts like spread. In trained keys some columns have one."
        ),
        otherwise="What is the mean of a squared key entry, when its own mean is not 0?",
        wrong=(
            Wrong(
                float(d_k * var_q * var_k),
                "That holds for keys of mean 0. What is the mean of k squared here?",
            ),
            Wrong(float(answer / d_k), "That is one product. How many are added?"),
            Wrong(
                float(d_k * var_q * mean_k**2),
                "You took the keys for constants. Where is their own variance?",
            ),
            Wrong(
                float(d_k * (var_q + var_k)),
                "You added the two variances. That is for a sum; what happens in a product?",
            ),
            Wrong(
                float(d_k * var_q * (var_k + mean_k)),
                "Nearly: the mean of k squared is its variance plus the mean, to which power?",
            ),
            Wrong(
                float(d_k**2 * var_q * (var_k + mean_k**2)),
                "You multiplied by the number of columns twice. How do variances of independent"
                " terms add up?",
            ),
        ),
        hints=(
            "One product first: its mean is 0, so its variance is the mean of q² k².",
            "q and k are independent: the mean of q² k² is the mean of q² times the mean of k².",
            "The mean of k² is its variance plus the square of its mean.",
        ),
        solution=(
            f"One product: {var_q} · ({var_k} + {mean_k}²) = {var_q * (var_k + mean_k**2)}. The sum"
            f" of {d_k} independent ones: {answer}, so the spread is {answer**0.5:.2f}. (The terms"
            " are independent, since each has its own query entry and its own key entry.)"
        ),
    )


@register("scale.which_d")
def which_d() -> Row:
    """Say what spread each wrong divisor leaves."""
    d_model, d_k, d_v, n_k = 320, 80, 20, 5
    divisors = {"d_k": d_k, "d_model": d_model, "d_v": d_v, "n_k": n_k}
    labels = tuple(f"root of {name}" for name in divisors)

    def each(rule: Callable[[int], float]) -> tuple[float, ...]:
        return tuple(float(rule(d)) for d in divisors.values())

    return Row(
        title="Four divisors",
        prompt=(
            f"A head has d_model = {d_model}, d_k = {d_k}, d_v = {d_v} and looks at n_k = {n_k}"
            " keys. Entries of q and k are independent with mean 0 and variance 1. Which standard"
            " deviation do the scores have, if the dot products are divided by each of these?"
        ),
        labels=labels,
        answer=each(lambda d: (d_k / d) ** 0.5),
        tolerance=0.005,
        right="Right. Only the root of d_k gives 1; the others give a number of their own.",
        otherwise=(
            "The dot product has variance d_k, whatever you divide by. What does a divisor do to a"
            " standard deviation?"
        ),
        wrong=(
            Wrong(
                each(lambda d: d_k / d),
                "These are variances. Which standard deviations belong to them?",
            ),
            Wrong(
                each(lambda d: (d / d_k) ** 0.5),
                "Upside down: does a larger divisor make scores larger?",
            ),
            Wrong(
                each(lambda d: d_k**0.5 / d),
                "You divided by d where its root was asked for. What is the divisor?",
            ),
            Wrong(
                each(lambda d: d_k / d**0.5),
                "The dot product's variance is d_k. What is its standard deviation?",
            ),
            Wrong(
                each(lambda d: 1.0),
                "Does every divisor bring the variance to 1? Only one of these four is the number"
                " of terms in the sum.",
            ),
        ),
        hints=(
            "Before any division the dot product has variance d_k: one for each column.",
            "Its standard deviation is the root of d_k. Division by a number divides that.",
            "So each answer is the root of d_k over the divisor's d.",
        ),
        solution=(
            "The root of d_k / d: "
            + ", ".join(
                f"{label}: {x:g}"
                for label, x in zip(labels, each(lambda d: (d_k / d) ** 0.5), strict=True)
            )
            + ". Dividing by the root of d_model is a bug that training often hides, because it"
            " only makes the weights too even."
        ),
    )


def _untrained(rng: np.random.Generator, d_k: int) -> tuple[float, float]:
    """Return the mean size of a logit's gradient and the length of W_Q's, without a factor."""
    n, d_model, d_v = 16, 64, 8
    X = rng.normal(size=(n, d_model))
    W_Q, W_K = (rng.normal(size=(d_model, d_k)) / d_model**0.5 for _ in range(2))
    v, grad_output = rng.normal(size=(n, d_v)), rng.normal(size=(n, d_v))
    q, k = X @ W_Q, X @ W_K
    grad_scores = softmax_backward(softmax(dot_product_scores(q, k)), grad_output @ v.T)
    return float(np.abs(grad_scores).mean()), float(np.linalg.norm(X.T @ grad_scores @ k))


@register("scale.gradient")
def gradient() -> Choice:
    """Predict both gradients of an untrained head without a factor."""
    rng = np.random.default_rng(6)
    means = {d: np.mean([_untrained(rng, d) for _ in range(20)], axis=0) for d in (1, 512)}
    logit_grows, whole_grows = (bool(b > a) for a, b in zip(means[1], means[512], strict=True))
    return Choice(
        title="Predict: does the gradient vanish?",
        prompt=(
            "A head without any factor, untrained, 16 tokens. Its width d_k grows from 1 to 512."
            " Before you read on: what happens to the gradient that reaches one score (mean size),"
            " and to the length of the whole gradient of W_Q?"
        ),
        options=(
            Option(
                "both shrink: the softmax is saturated",
                "A score's gradient shrinks. But on the way to W_Q it is multiplied by the key."
                " How long is a key of 512 columns?",
                not logit_grows and not whole_grows,
            ),
            Option(
                "both grow: larger numbers everywhere",
                "The keys grow, yes. But which factor does the softmax put on a score's gradient"
                " when one weight is nearly 1?",
                logit_grows and whole_grows,
            ),
            Option(
                "the score's grows, W_Q's shrinks",
                "Which of the two passes through w (1 − w), and which is then multiplied by a long"
                " key?",
                logit_grows and not whole_grows,
            ),
            Option(
                "the score's shrinks, W_Q's grows",
                "Right. Both sides of the quarrel have measured something true.",
                not logit_grows and whole_grows,
            ),
        ),
        hints=(
            "The chain: W_Q to q, q to the score, the score to the weight.",
            "The gradient of q is the scores' gradients times the keys. No root divides it here.",
            "Saturation makes the first factor small; the length of a key grows like the root of"
            " d_k.",
        ),
        solution=(
            "**The score's shrinks, W_Q's grows.** In the mean over 20 heads the gradient of one"
            f" score goes from {means[1][0]:.3f} to {means[512][0]:.3f}, the length of W_Q's from"
            f" {means[1][1]:.0f} to {means[512][1]:.0f}. The text below says who carries it."
        ),
    )


# --- code ----------------------------------------------------------------------------------------


def _scores_case(rng: np.random.Generator, *batch: int) -> Case:
    n_q, n_k, d_k = sizes(rng, 3)
    q, k = numbers(rng, *batch, n_q, d_k), numbers(rng, *batch, n_k, d_k)
    return Case((q, k), dot_product_scores(q, k) / np.sqrt(d_k))


def _divided(by: Callable[[np.ndarray, np.ndarray], float]) -> Callable[..., np.ndarray]:
    return lambda q, k: q @ np.swapaxes(k, -1, -2) / by(q, k)


@register("scale.repair")
def repair() -> Code:
    """Repair a factor that reads the wrong axis."""
    return Code(
        title="Repair this code",
        function="scaled_scores",
        prompt=(
            "This code is right whenever there are as many keys as columns, so its author's test"
            " passed. Repair it: scores of shape (…, n_q, n_k) from q (…, n_q, d_k) and k"
            " (…, n_k, d_k), with any axes in front. Remove the `raise` when you begin."
        ),
        stub=(
            "def scaled_scores(q, k):\n"
            '    """Return q k^T / sqrt(d_k), shape (..., n_q, n_k)."""\n'
            '    raise NotImplementedError("scale.repair")\n'
            "    d = len(k)\n"
            "    return q @ np.swapaxes(k, -1, -2) / np.sqrt(d)\n"
        ),
        rungs=(
            Rung(
                "two axes",
                _scores_case,
                "With q (n_q, d_k) and k (n_k, d_k): how many products are added up in one score?",
                (
                    Slip(
                        "the root of n_k",
                        _divided(lambda q, k: np.sqrt(k.shape[-2])),
                        "You divide by the root of the number of keys. Does one score become larger"
                        " when there are more keys?",
                    ),
                    Slip(
                        "the root of n_q",
                        _divided(lambda q, k: np.sqrt(q.shape[-2])),
                        "You divide by the root of the number of queries. What has one query to do"
                        " with how many others there are?",
                    ),
                    Slip(
                        "no factor",
                        _divided(lambda q, k: 1.0),
                        "These are the plain dot products. Where is the factor?",
                    ),
                    Slip(
                        "d_k without a root",
                        _divided(lambda q, k: k.shape[-1]),
                        "You divide by d_k itself. Which spread is left then?",
                    ),
                    Slip(
                        "multiplied",
                        _divided(lambda q, k: 1 / np.sqrt(k.shape[-1])),
                        "You multiply by the root. Should scores become larger or smaller?",
                    ),
                    Slip(
                        "only half of it",
                        _divided(lambda q, k: k.shape[-1] ** 0.25),
                        "You divide by the fourth root. Did you scale q and leave k as it was?",
                    ),
                    Slip(
                        "a typed-in 8",
                        _divided(lambda q, k: 8.0),
                        "You divide by 8. For which width is that the root?",
                    ),
                    Slip(
                        "the mean",
                        _divided(lambda q, k: q.size),
                        "You divide by the number of all entries. Which axis is summed over?",
                    ),
                ),
            ),
            Rung(
                "a batch in front",
                lambda rng: _scores_case(rng, 13),
                "There is a third axis now. Which axis of k holds the columns?",
                (
                    Slip(
                        "the root of the batch",
                        _divided(lambda q, k: np.sqrt(k.shape[0])),
                        "You divide by the root of the size of the batch. From which end do you"
                        " count the axes?",
                    ),
                    Slip(
                        "the second axis",
                        _divided(lambda q, k: np.sqrt(k.shape[1])),
                        "You read axis 1. With a batch in front, what stands there?",
                    ),
                ),
                crash="There is a third axis now. Which line counts axes from the front?",
            ),
            Rung(
                "heads too",
                lambda rng: _scores_case(rng, 13, 17),
                "Batch, heads, tokens, columns: which of the four belongs under the root?",
                (
                    Slip(
                        "the root of the model's width",
                        _divided(lambda q, k: np.sqrt(k.shape[-1] * k.shape[-3])),
                        "You divide by the root of heads times columns. Over how many columns does"
                        " one head's sum run?",
                    ),
                    Slip(
                        "the third axis",
                        _divided(lambda q, k: np.sqrt(k.shape[2])),
                        "You read axis 2, which was the last when there were three. What is it now?",
                    ),
                ),
            ),
        ),
        hints=(
            "`len(k)` is the size of k's first axis. Which axis do you need?",
            "The sum of a score runs over the columns: the last axis of q and of k.",
            "Negative axes stay right, however many stand in front.",
        ),
        solution=(
            "```python\n"
            "def scaled_scores(q, k):\n"
            "    d_k = k.shape[-1]\n"
            "    return q @ np.swapaxes(k, -1, -2) / np.sqrt(d_k)\n"
            "```\n\n"
            "With as many keys as columns, and no batch, the two readings agree: that is why this"
            " book never lets two sizes be equal."
        ),
    )


def _two_maps(rng: np.random.Generator, d_q: int, d_kv: int, d_k: int) -> Case:
    W_Q, W_K = numbers(rng, d_q, d_k), numbers(rng, d_kv, d_k)
    M = W_Q @ W_K.T
    return Case((W_Q, W_K), float(np.sqrt((M**2).sum() / d_k)))


def _norm(A: np.ndarray) -> float:
    return float(np.sqrt((A**2).sum()))


@register("scale.spread")
def spread() -> Code:
    """Predict the spread of the scores from the two matrices."""
    return Code(
        title="The spread from the matrices alone",
        function="score_spread",
        prompt=(
            "Now W_Q (d_q, d_k) and W_K (d_kv, d_k) are given, trained or not, and the *inputs* are"
            " random: two independent rows, entries independent with mean 0 and variance 1. A"
            " scaled score is x W_Q (y W_K)ᵀ / √d_k. Derive its standard deviation from the two"
            " matrices, and return it. (Write the score as a sum over all pairs of an entry of x"
            " and an entry of y.)"
        ),
        stub=(
            "def score_spread(W_Q, W_K):\n"
            '    """Return the standard deviation of a scaled score for random inputs."""\n'
            '    raise NotImplementedError("scale.spread")\n'
        ),
        rungs=(
            Rung(
                "one column",
                lambda rng: _two_maps(rng, *sizes(rng, 2), 1),
                "With one column: x meets W_Q's column and y meets W_K's. Which spread has a"
                " product of two independent numbers?",
                (
                    Slip(
                        "the variance",
                        lambda Q, K: _norm(Q @ K.T) ** 2,
                        "You return the variance. Which step is left?",
                    ),
                    Slip(
                        "the sum of entries",
                        lambda Q, K: (Q @ K.T).sum(),
                        "You added the entries. What adds up in a sum of independent terms?",
                    ),
                    Slip(
                        "absolute values",
                        lambda Q, K: np.abs(Q @ K.T).sum(),
                        "You added sizes. Spreads of independent terms do not add; what does?",
                    ),
                    Slip(
                        "the mean square",
                        lambda Q, K: np.sqrt(((Q @ K.T) ** 2).mean()),
                        "You took a mean over the pairs of entries. The score is their sum: what"
                        " becomes of its variance?",
                    ),
                    Slip(
                        "the widest entry",
                        lambda Q, K: np.abs(Q @ K.T).max(),
                        "You took the largest pair alone. What do the others add?",
                    ),
                    Slip(
                        "the assumption",
                        lambda Q, K: 1.0,
                        "You return 1, as if q and k had variance 1. Do these matrices give that?",
                    ),
                ),
            ),
            Rung(
                "several columns",
                lambda rng: _two_maps(rng, 5, 7, 3),
                "Several columns now. What stands between an entry of x and an entry of y?",
                (
                    Slip(
                        "no factor",
                        lambda Q, K: _norm(Q @ K.T),
                        "This is the spread of the dot product. Where is the factor of the score?",
                    ),
                    Slip(
                        "d_k without a root",
                        lambda Q, K: _norm(Q @ K.T) / Q.shape[1],
                        "You divided by d_k. Of what is a score's divisor the root?",
                    ),
                    Slip(
                        "the two lengths",
                        lambda Q, K: _norm(Q) * _norm(K) / np.sqrt(Q.shape[1]),
                        "You multiplied the sizes of the two matrices. When one column of W_Q is"
                        " paired with another column of W_K, does that pair stand in the score?",
                    ),
                    Slip(
                        "column by column",
                        lambda Q, K: np.sqrt(((Q**2).sum(0) * (K**2).sum(0)).sum() / Q.shape[1]),
                        "You treated the columns' terms as independent. Do two columns of q come"
                        " from different inputs?",
                    ),
                    Slip(
                        "the largest stretch",
                        lambda Q, K: np.linalg.norm(Q @ K.T, 2) / np.sqrt(Q.shape[1]),
                        "You took the largest stretch of the matrix. Random inputs meet all its"
                        " directions: what do the others add?",
                    ),
                    Slip(
                        "the root of the input's width",
                        lambda Q, K: _norm(Q @ K.T) / np.sqrt(Q.shape[0]),
                        "You divided by the root of the width of x. Which width belongs there?",
                    ),
                ),
            ),
            Rung(
                "small numbers",
                lambda rng: _small_maps(rng),
                "These matrices are small, and so are the scores. Did you add something, or cut"
                " something off?",
            ),
        ),
        hints=(
            "x W_Q W_Kᵀ yᵀ is a sum over a and b of x_a M_ab y_b, with M = W_Q W_Kᵀ.",
            "The products x_a y_b have mean 0 and variance 1, and no two of them are correlated.",
            "So the variance of the dot product is the sum of all squared entries of M.",
        ),
        solution=(
            "```python\n"
            "def score_spread(W_Q, W_K):\n"
            "    M = W_Q @ W_K.T\n"
            "    return np.sqrt((M ** 2).sum() / W_Q.shape[1])\n"
            "```\n\n"
            "Fresh matrices with entries of variance 1/d give about 1, as the text says. After"
            " training the number may be anything: the factor promises it for the start alone."
        ),
    )


def _small_maps(rng: np.random.Generator) -> Case:
    case = _two_maps(rng, 7, 5, 2)
    return Case(tuple(1e-3 * W for W in case.args), 1e-6 * case.expected)


def _fold_case(rng: np.random.Generator, bias: bool, *heads: int) -> Case:
    d_model, d_k = (int(d) for d in rng.permutation([3, 5, 7, 11])[:2])
    W, b = numbers(rng, *heads, d_model, d_k), numbers(rng, *heads, d_k) * bias
    return Case((W, b), (W / np.sqrt(d_k), b / np.sqrt(d_k)))


def _folded(
    by: Callable[[np.ndarray], float], bias: Callable[[np.ndarray], float] | None = None
) -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    return lambda W, b: (W / by(W), b / (bias or by)(W))


def _root(W: np.ndarray) -> float:
    return float(np.sqrt(W.shape[-1]))


@register("scale.fold")
def fold() -> Code:
    """Fold the factor into the query's projection."""
    return Code(
        title="Fold the factor into W_Q",
        function="fold",
        returns=("W_Q", "b_Q"),
        prompt=(
            "A device has softmax and matrix products and no place for a factor. Given W_Q"
            " (d_model, d_k) and b_Q (d_k,) of a *trained* head, return a new pair, so that plain"
            " dot products of the new queries with the old keys are the old scaled scores. Then do"
            " it for all heads at once: W_Q (n_heads, d_model, d_k), b_Q (n_heads, d_k)."
        ),
        stub=(
            "def fold(W_Q, b_Q):\n"
            '    """Return (W_Q, b_Q) with the factor 1/sqrt(d_k) inside."""\n'
            '    raise NotImplementedError("scale.fold")\n'
        ),
        rungs=(
            Rung(
                "no bias yet",
                lambda rng: _fold_case(rng, False),
                "The bias is 0 here. By what must a query be divided, and which size says it?",
                (
                    Slip(
                        "nothing done",
                        _folded(lambda W: 1.0),
                        "You return what came in. Where is the factor now?",
                    ),
                    Slip(
                        "d_k without a root",
                        _folded(lambda W: W.shape[-1]),
                        "You divided by d_k. The keys stay as they are, but is that the factor?",
                    ),
                    Slip(
                        "the fourth root",
                        _folded(lambda W: W.shape[-1] ** 0.25),
                        "You divided by the fourth root: that is half the work. Who does the other"
                        " half, if the keys stay as they are?",
                    ),
                    Slip(
                        "the wrong axis",
                        _folded(lambda W: np.sqrt(W.shape[-2])),
                        "You read the width of the input. Which axis of W_Q holds the columns of q?",
                    ),
                    Slip(
                        "multiplied",
                        _folded(lambda W: 1 / _root(W)),
                        "You multiplied. Should the new queries be longer or shorter?",
                    ),
                    Slip(
                        "normalised",
                        lambda W, b: (W / _norm(W), b / _norm(W)),
                        "You brought the matrix to length 1. Is that the factor, or another number?",
                    ),
                ),
            ),
            Rung(
                "with a bias",
                lambda rng: _fold_case(rng, True),
                "Now q = x W_Q + b_Q. What happens to the second term of the score?",
                (
                    Slip(
                        "the bias forgotten",
                        _folded(_root, lambda W: 1.0),
                        "Your bias is as it was. Is it not a part of the query?",
                    ),
                    Slip(
                        "the bias dropped",
                        lambda W, b: (W / _root(W), 0 * b),
                        "Your bias is gone. Did the old scores not contain it?",
                    ),
                    Slip(
                        "the bias divided twice",
                        _folded(_root, lambda W: W.shape[-1]),
                        "Your bias is divided twice. Through how many factors does it go?",
                    ),
                ),
            ),
            Rung(
                "all heads",
                lambda rng: _fold_case(rng, True, 13),
                "Three axes now, heads first. Which one is d_k?",
                (
                    Slip(
                        "the root of all columns",
                        _folded(lambda W: np.sqrt(W.shape[-1] * W.shape[0])),
                        "You took the columns of all heads together. Over how many does one head's"
                        " dot product run?",
                    ),
                    Slip(
                        "the second axis",
                        _folded(lambda W: np.sqrt(W.shape[1])),
                        "You read axis 1, which was d_k when there were two. What is it now?",
                    ),
                    Slip(
                        "the number of heads",
                        _folded(lambda W: np.sqrt(W.shape[0])),
                        "You divided by the root of the number of heads. Do heads add up in a"
                        " score?",
                    ),
                ),
                crash="Three axes now, heads first. Which line counts axes from the front?",
            ),
        ),
        hints=(
            "(c q) · k = c (q · k): the factor may stand on the query.",
            "The query is x W_Q + b_Q, so c stands on both.",
            "The size of the last axis is d_k, with heads or without.",
        ),
        solution=(
            "```python\n"
            "def fold(W_Q, b_Q):\n"
            "    root = np.sqrt(W_Q.shape[-1])\n"
            "    return W_Q / root, b_Q / root\n"
            "```\n\n"
            "For a finished model the two are the same function. For one that still learns they are"
            " not: a step of the same size moves the scores further."
        ),
    )


Attend = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def _attend(times: float) -> Attend:
    return lambda q, k, v: softmax(times * (q @ np.swapaxes(k, -1, -2))) @ v


def _layer_case(rule: Callable[[int, int], float]) -> Callable[[np.random.Generator], Case]:
    def draw(rng: np.random.Generator) -> Case:
        d_k, n_k = (int(d) for d in rng.permutation([3, 5, 7, 11])[:2])
        times = rule(d_k, n_k)
        return Case((_attend(times), d_k, n_k), times)

    return draw


def _probe(attend: Attend, d_k: int, n_k: int, size: float) -> np.ndarray:
    """Return the weights of a query that has the dot product size² with key 0 and 0 with others."""
    q, k = np.zeros((1, d_k)), np.zeros((n_k, d_k))
    q[0, 0] = k[0, 0] = size
    return attend(q, k, np.eye(n_k))[0]


def _factor(attend: Attend, d_k: int, n_k: int, size: float = 0.1) -> float:
    weights = _probe(attend, d_k, n_k, size)
    return float(np.log(weights[0] / weights[1]) / size**2)


def _all_ones(attend: Attend, d_k: int, n_k: int) -> float:
    q, k = np.ones((1, d_k)), np.zeros((n_k, d_k))
    k[0] = 1.0
    weights = attend(q, k, np.eye(n_k))[0]
    return float(np.log(weights[0] / weights[1]) / d_k)


@register("scale.factor_test")
def factor_test() -> Code:
    """Measure which factor a closed attention function uses."""
    return Code(
        title="Write the test that exposes it",
        function="factor_of",
        prompt=(
            "`attend(q, k, v)` is somebody's attention without a mask: q (n_q, d_k), k (n_k, d_k),"
            " v (n_k, anything); it returns the output only. By what does it multiply a dot"
            " product? Choose your own q, k and v, with exactly `d_k` columns and `n_k` keys, and"
            " return the factor. Six functions wait on the ladder; only the first is right."
        ),
        stub=(
            "def factor_of(attend, d_k, n_k):\n"
            '    """Return the number by which attend multiplies a dot product."""\n'
            '    raise NotImplementedError("scale.factor_test")\n'
        ),
        rungs=(
            Rung(
                "the paper's",
                _layer_case(lambda d, n: d**-0.5),
                "This one divides by the root of d_k. What do two weights of a row tell about the"
                " difference of their scores?",
                (
                    Slip(
                        "the divisor",
                        lambda a, d, n: 1 / _factor(a, d, n),
                        "You return the divisor. By what is a dot product multiplied?",
                    ),
                    Slip(
                        "the score",
                        lambda a, d, n: _factor(a, d, n) * 0.01,
                        "You return a difference of scores. How large was the dot product behind"
                        " it?",
                    ),
                    Slip(
                        "the ratio",
                        lambda a, d, n: float(np.divide(*_probe(a, d, n, 1.0)[:2])),
                        "You return the ratio of two weights. Which function turns it into a"
                        " difference of scores?",
                    ),
                    Slip(
                        "one weight",
                        lambda a, d, n: float(np.log(_probe(a, d, n, 1.0)[0])),
                        "You took the logarithm of one weight, and the row's sum is still in it."
                        " What makes the sum cancel?",
                    ),
                    Slip(
                        "twice the sign",
                        lambda a, d, n: -_factor(a, d, n),
                        "The size is right. Which of the two weights belongs on top?",
                    ),
                    Slip(
                        "the base of two",
                        lambda a, d, n: _factor(a, d, n) / np.log(2),
                        "Your logarithm has another base. Of which number is softmax made of"
                        " powers?",
                    ),
                ),
                crash="Your test stopped. Which shapes does `attend` ask for?",
            ),
            Rung(
                "no factor",
                _layer_case(lambda d, n: 1.0),
                "This one has no factor. Did you measure, or assume?",
                (
                    Slip(
                        "assumed",
                        lambda a, d, n: d**-0.5,
                        "You return what the factor should be. What did the function do?",
                    ),
                ),
            ),
            Rung(
                "d_k without a root",
                _layer_case(lambda d, n: 1 / d),
                "This one divides by d_k itself. Do you tell it from the root?",
                (
                    Slip(
                        "only two answers",
                        lambda a, d, n: min(
                            (1.0, d**-0.5), key=lambda c: abs(c - _factor(a, d, n))
                        ),
                        "You choose between two factors. Could there be a third?",
                    ),
                ),
            ),
            Rung(
                "the root of the number of keys",
                _layer_case(lambda d, n: n**-0.5),
                "This one divides by the root of n_k. How many keys does your probe have?",
                (
                    Slip(
                        "always two keys",
                        lambda a, d, n: _factor(a, d, 2),
                        "Your probe has two keys, whatever n_k says. What if the factor depends on"
                        " their number?",
                    ),
                ),
            ),
            Rung(
                "a loud one",
                _layer_case(lambda d, n: 300.0),
                "This one multiplies by 300. How large may a probe's dot product be, before a"
                " weight rounds to 0?",
                (
                    Slip(
                        "a large probe",
                        _all_ones,
                        "Your probe saturates the softmax: one weight is 0 and its logarithm is"
                        " infinite. How small could the probe be?",
                    ),
                ),
            ),
            Rung(
                "the wrong sign",
                _layer_case(lambda d, n: -(d**-0.5)),
                "This one turns the scores round. Did you take a size where a sign was to be seen?",
                (
                    Slip(
                        "without its sign",
                        lambda a, d, n: abs(_factor(a, d, n)),
                        "You return a size. Which key got more weight, the like or the unlike?",
                    ),
                ),
            ),
        ),
        hints=(
            "With v the identity matrix, the output of a query is its row of weights.",
            "The logarithm of the ratio of two weights is the difference of their scores.",
            "Let one dot product be small and known, 0.01 say, and all others 0.",
        ),
        solution=(
            "```python\n"
            "def factor_of(attend, d_k, n_k):\n"
            "    q, k = np.zeros((1, d_k)), np.zeros((n_k, d_k))\n"
            "    q[0, 0] = k[0, 0] = 0.1\n"
            "    weights = attend(q, k, np.eye(n_k))[0]\n"
            "    return np.log(weights[0] / weights[1]) / 0.01\n"
            "```\n\n"
            "One query, one known dot product, two weights: no look inside was needed."
        ),
    )
