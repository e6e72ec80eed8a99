"""The exercises of chapter 6: the spread of a dot product, its divisor, and the gradient."""

# ruff: noqa: RUF001 (a minus sign is a minus sign)

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from qkv.checks.arrangement import Fill
from qkv.checks.engine import register
from qkv.checks.exercise import Case, Choice, Code, Number, Option, Row, Rung, Slip, Wrong
from qkv.checks.ladder import numbers, sizes
from qkv.core.dot_product import dot_product_scores
from qkv.core.gradients import attention_backward, softmax_backward
from qkv.core.scaled_dot_product import attention_steps
from qkv.core.softmax import softmax

# --- in the page ---------------------------------------------------------------------------------


@register("scale.spread")
def spread() -> Number:
    """Carry the derivation over to other variances."""
    var_q, var_k, d_k = 4.0, 9.0, 25
    each = var_q * var_k
    return Number(
        title="Other variances",
        prompt=(
            f"Entries of q have variance {var_q:g}, entries of k variance {var_k:g}; all have mean"
            f" 0 and are independent, and d_k = {d_k}. Go through the three steps of the derivation"
            " again. What is the standard deviation of q · k?"
        ),
        label="Standard deviation",
        answer=math.sqrt(d_k * each),
        right="Right: the variances multiply in each product, and the products' variances add.",
        otherwise="What is the variance of one product, and how many products are added?",
        wrong=(
            Wrong(d_k * each, "That is the variance. What is its root?"),
            Wrong(math.sqrt(each), "That is the spread of one product. How many are added?"),
            Wrong(
                d_k * math.sqrt(each),
                "You added standard deviations. Which of the two adds up over independent terms,"
                " the standard deviation or the variance?",
            ),
            Wrong(
                math.sqrt(d_k),
                "That holds for variances of 1. What is the variance of one product here?",
            ),
            Wrong(
                round(math.sqrt(d_k * (var_q + var_k)), 2),
                "You added the two variances. What happens to variances in a product?",
            ),
            Wrong(
                math.sqrt(d_k) * each,
                "The variance of one product stands outside the root. Where does it belong?",
            ),
        ),
        tolerance=0.01,
        hints=(
            "With mean 0, the variance of an entry is the mean of its square.",
            "The square of a product is the product of the squares, and the two are independent.",
            "Add the variance of one product d_k times, and take the root at the end.",
        ),
        solution=(
            f"One product has variance {var_q:g} × {var_k:g} = {each:g}. {d_k} of them have"
            f" {d_k * each:g}, and the root is {math.sqrt(d_k * each):g}."
        ),
    )


def _mean_largest(d_k: int, n_k: int) -> float:
    rng = np.random.default_rng(6)
    q, k = rng.normal(size=(500, 1, d_k)), rng.normal(size=(500, n_k, d_k))
    return float(softmax(dot_product_scores(q, k)).max(axis=-1).mean())


@register("scale.predict")
def predict() -> Choice:
    """Predict the largest weight without a factor."""
    n_k, d_k = 16, 512
    largest = _mean_largest(d_k, n_k)
    return Choice(
        title="Predict: no factor",
        prompt=(
            f"A query and {n_k} keys of width d_k = {d_k}, all entries drawn with variance 1, and"
            " **no** division. An equal share would be"
            f" {1 / n_k:.4f}. Before you run anything: how large is the largest weight, on average?"
        ),
        options=(
            Option(
                "about 0.06: random keys share equally",
                "All keys are alike on average, but this query meets one draw of them. How far"
                " apart do two scores lie when their spread is 22?",
                largest < 0.1,
            ),
            Option(
                "about 0.25",
                "That is what scores with a spread of 1 give. What is the spread without division?",
                0.15 < largest < 0.4,
            ),
            Option(
                "exactly 1",
                "Sometimes, in rounding. But now and then the two best scores lie close together."
                " What do they do then?",
                largest == 1,
            ),
            Option(
                "about 0.95",
                "The best score mostly lies several units above the second best, and each unit is a"
                f" factor e. Sampled: {largest:.2f}.",
                0.9 < largest < 1,
            ),
        ),
        hints=(
            "What is the standard deviation of one score?",
            "The ratio of two weights is e to the difference of their scores.",
            "Among 16 scores with a spread of 22, the best two are typically several units apart.",
        ),
        solution=(
            f"**About 0.95** (a sample gives {largest:.3f}). One key that happens to lie well takes"
            " nearly everything, though nothing has been learned yet."
        ),
    )


@register("scale.which_d")
def which_d() -> Row:
    """Say how the scores spread under three divisors."""
    d_k, d_model, n = 64, 512, 100
    candidates = np.array([d_k, d_model, n], dtype=float)

    def row(values: np.ndarray) -> tuple[float, ...]:
        return tuple(float(x) for x in values)

    return Row(
        title="Three roots",
        prompt=(
            f"A head of the paper's size: d_model = {d_model}, d_k = {d_k}, and a sentence of n ="
            f" {n} tokens. Entries of q and k have variance 1. Three programs divide by the root of"
            " three different sizes. What is the standard deviation of the scores in each (two"
            " decimals)?"
        ),
        labels=("root of d_k", "root of d_model", "root of n"),
        answer=row(np.sqrt(d_k / candidates)),
        right=(
            "Right. Two of them run, train and look healthy; their temperature is not the one that"
            " was meant, and one of them changes with every sentence."
        ),
        otherwise="What is the spread before the division? Divide it by each of the three roots.",
        wrong=(
            Wrong(row(d_k / candidates), "These are variances. What is a standard deviation?"),
            Wrong(
                row(np.sqrt(candidates / d_k)),
                "You have the ratios upside down. Which root is the spread, which the divisor?",
            ),
            Wrong(
                row(np.full(3, 1.0)),
                "All three cannot give 1. How many products does one dot product add?",
            ),
            Wrong(
                row(np.sqrt(d_model / candidates)),
                "You took d_model as the number of products. How long are q and k in one head?",
            ),
            Wrong(
                row(1 / np.sqrt(candidates)),
                "That is the factor alone. What is it multiplied with?",
            ),
        ),
        tolerance=0.006,
        hints=(
            "The spread of a bare dot product is the root of the number of products in it.",
            "A head's queries and keys have d_k columns, whatever d_model and n are.",
            "So each answer is 8 divided by a root.",
        ),
        solution=(
            "The spread before is √64 = 8. Then: 8/√64 = 1, 8/√512 = "
            f"{math.sqrt(d_k / d_model):.2f}, 8/√100 = {math.sqrt(d_k / n):.2f}."
        ),
    )


def _gradient_sizes(d_k: int, raw: bool) -> tuple[float, float]:
    """Return mean and median size of a query's gradient, over many random heads."""
    rng = np.random.default_rng(66)
    q, k = rng.normal(size=(300, 13, d_k)), rng.normal(size=(300, 16, d_k))
    v, grad = rng.normal(size=(300, 16, 5)), rng.normal(size=(300, 13, 5))
    longer = math.sqrt(d_k) if raw else 1.0  # a longer query undoes the division
    grad_q = longer * attention_backward(longer * q, k, v, grad)[0]
    each = np.linalg.norm(grad_q, axis=-1)
    return float(each.mean()), float(np.median(each))


@register("scale.vanish")
def vanish() -> Choice:
    """Decide what vanishes without the factor."""
    (mean_raw, median_raw), (mean, median) = (_gradient_sizes(512, raw) for raw in (True, False))
    spiky = mean_raw > mean and median_raw < median
    return Choice(
        title="Does the gradient vanish?",
        prompt=(
            "At d_k = 512 without the factor, compared with the same head with it: what happens to"
            " the gradient that a query receives?"
        ),
        options=(
            Option(
                "it is smaller for all queries",
                "Saturated rows pass little on. But what multiplies it on the way to the query, and"
                " how long is a key?",
                mean_raw < mean and median_raw < median,
            ),
            Option(
                "its mean is larger and its median smaller",
                "A few queries, whose two best keys are nearly tied, receive a large gradient; most"
                " receive next to none.",
                spiky,
            ),
            Option(
                "it is larger for all queries",
                "The keys are long and undivided. But what does a row with a weight of 0.9999 pass"
                " on to its scores?",
                mean_raw > mean and median_raw > median,
            ),
            Option(
                "it is exactly zero for most queries",
                "In real numbers no weight is exactly 0 or 1. What does the derivative say then?",
                median_raw == 0,
            ),
        ),
        hints=(
            "Two things change: what the softmax passes on, and what it is multiplied by.",
            "The gradient of a query is a sum of keys, each times the gradient of its score.",
            "Think of two kinds of rows: one key far ahead, and two keys nearly tied.",
        ),
        solution=(
            "**Mean up, median down.** In a sample the mean goes from"
            f" {mean:.2f} to {mean_raw:.2f}, the median from {median:.2f} to {median_raw:.4f}."
        ),
    )


@register("scale.formula")
def formula() -> Fill:
    """Fill the formula of scaled dot-product attention."""
    return Fill(
        title="Fill the formula",
        prompt=(
            "One head, with queries $\\Q$, keys $\\K$ and values $\\V$, a token a row. What"
            " stands in"
            " the boxes?\n\n"
            "$$\\softmax\\left(\\frac{\\boxed{1}\\;\\boxed{2}}{\\sqrt{\\boxed{3}}}\\right)\\boxed{4}$$"
        ),
        pairs=(("1", "Q"), ("2", "Kᵀ"), ("3", "d_k"), ("4", "V")),
        plain=("box 1", "box 2", "box 3", "box 4"),
        decoys=("K", "Qᵀ", "d_model", "d_v", "n_k", "Vᵀ"),
        right=(
            "Right. Scores are (n_q × n_k), so the weights can be multiplied by the n_k rows of V."
        ),
        otherwise=(
            "Check the shapes from left to right: what has n_q rows, and what must the product"
            " have?"
        ),
        wrong=(
            Wrong(
                {"2": "K"},
                "Q has d_k columns and K has n_k rows. Can these two be multiplied as they stand?",
            ),
            Wrong({"1": "K"}, "Then keys would get the rows. For whom is each row of weights?"),
            Wrong({"2": "Qᵀ"}, "Queries against queries? Who is asked here?"),
            Wrong({"3": "d_model"}, "The sum in a score has how many terms, d_model or fewer?"),
            Wrong(
                {"3": "n_k"}, "n_k is the number of scores in a row. How many terms has each score?"
            ),
            Wrong(
                {"3": "d_v"},
                "The values are not in the scores. Whose width decides how large they get?",
            ),
            Wrong(
                {"4": "Vᵀ"},
                "The weights have n_k columns. Which way must V stand to have n_k rows?",
            ),
        ),
        hints=(
            "A score is the dot product of one query row with one key row.",
            "All dot products at once: Q times K turned over. Each is a sum of d_k products.",
            (
                "The weights (n_q × n_k) multiply n_k rows. Which array has one row for each key,"
                " and is not K?"
            ),
        ),
        solution=(
            "softmax(Q Kᵀ / √d_k) V. Each score is a sum of d_k products, so its spread grows"
            " like the"
            " root of d_k; neither n_k nor the model's width has a part in it."
        ),
    )


# --- in the notebook -----------------------------------------------------------------------------


def _dots(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    return np.asarray(q) @ np.swapaxes(k, -1, -2)


def _score_case(rng: np.random.Generator, *batch: int) -> Case:
    n_q, n_k, d_k = sizes(rng, 3)
    q, k = numbers(rng, *batch, n_q, d_k), numbers(rng, *batch, n_k, d_k)
    return Case((q, k), attention_steps(q, k, k).scaled)


@register("scale.divide")
def divide() -> Code:
    """Repair a division by the wrong size."""
    return Code(
        title="Repair this code",
        function="scaled_scores",
        prompt=(
            "Scores as in the paper: dot products of queries (..., n_q, d_k) with keys"
            " (..., n_k, d_k), divided by the root of d_k. The code below passed its author's test,"
            " in which the arrays were square. Repair it; there may be a batch in front. Remove the"
            " `raise` when you begin."
        ),
        stub=(
            "def scaled_scores(q, k):\n"
            '    """Return scores of shape (..., n_q, n_k)."""\n'
            '    raise NotImplementedError("scale.divide")\n'
            "    n_tokens = len(q)\n"
            "    return q @ k.T / np.sqrt(n_tokens)\n"
        ),
        rungs=(
            Rung(
                "one head",
                _score_case,
                "How many products does one entry of your table add up?",
                (
                    Slip(
                        "number of queries",
                        lambda q, k: _dots(q, k) / math.sqrt(q.shape[-2]),
                        "You divide by the root of the number of queries. Which axis does the dot"
                        " product sum over?",
                    ),
                    Slip(
                        "number of keys",
                        lambda q, k: _dots(q, k) / math.sqrt(k.shape[-2]),
                        "You divide by the root of the number of keys. Does one score get larger"
                        " when other keys join?",
                    ),
                    Slip("no division", _dots, "These are bare dot products. Where is the root?"),
                    Slip(
                        "by d_k",
                        lambda q, k: _dots(q, k) / q.shape[-1],
                        "You divide by d_k itself. Does the spread of a sum grow like the number of"
                        " terms?",
                    ),
                    Slip(
                        "times the root",
                        lambda q, k: _dots(q, k) * math.sqrt(q.shape[-1]),
                        "You multiply by the root. Were the scores too small or too large?",
                    ),
                    Slip(
                        "twice",
                        lambda q, k: _dots(q, k) / q.shape[-1] ** 0.25,
                        "You divide by the fourth root. If you scale q and k each, what becomes of"
                        " the product?",
                    ),
                    Slip(
                        "by the lengths",
                        lambda q, k: _dots(q, k) / np.linalg.norm(q, axis=-1)[..., :, None],
                        "You divide by each query's own length. Is the root of d_k the length of"
                        " this query, or what it would be on average?",
                    ),
                ),
            ),
            Rung(
                "a batch",
                lambda rng: _score_case(rng, 13, 17),
                "With a batch in front, which axis is d_k, and which axes do you swap?",
                (
                    Slip(
                        "the batch's size",
                        lambda q, k: _dots(q, k) / math.sqrt(q.shape[0]),
                        "You divide by the root of the batch. Which axis holds the columns of q?",
                    ),
                    Slip(
                        "second axis",
                        lambda q, k: _dots(q, k) / math.sqrt(q.shape[1]),
                        "You took axis 1 for d_k, which is right with two axes only. From which end"
                        " should one count?",
                    ),
                ),
                crash=(
                    "`k.T` turns all axes round, the batch too. Which two axes should be swapped?"
                    " Look at `np.swapaxes`."
                ),
            ),
        ),
        hints=(
            "One score is a sum. Count its terms.",
            "d_k is the last axis of q, and of k.",
            "`np.swapaxes(k, -1, -2)` turns the last two axes; `q.shape[-1]` is d_k.",
        ),
        solution=(
            "```python\n"
            "def scaled_scores(q, k):\n"
            "    d_k = q.shape[-1]\n"
            "    return q @ np.swapaxes(k, -1, -2) / np.sqrt(d_k)\n"
            "```\n\n"
            "In a square test n and d_k are one number: no error, no wrong shape, and a temperature"
            " that changes with the sentence."
        ),
    )


def _spread(mean_q: float, var_q: float, mean_k: float, var_k: float, d_k: int) -> float:
    each = var_q * var_k + var_q * mean_k**2 + var_k * mean_q**2
    return math.sqrt(d_k * each)


def _spread_case(rng: np.random.Generator, means: str) -> Case:
    d_k = int(rng.choice([3, 5, 7, 11]))
    mean_q, mean_k = (float(x) for x in numbers(rng, 2))
    var_q, var_k = (float(x) for x in np.round(rng.uniform(0.3, 4.0, size=2), 2))
    mean_q = mean_q if "q" in means else 0.0
    mean_k = mean_k if "k" in means else 0.0
    args = (mean_q, var_q, mean_k, var_k, d_k)
    return Case(args, _spread(*args))


@register("scale.means")
def means() -> Code:
    """Derive the spread of a dot product when the means are not 0."""
    return Code(
        title="Derive: means that are not 0",
        function="foretold_spread",
        prompt=(
            "The derivation took all means as 0. Drop that: entries of q have mean `mean_q` and"
            " variance `var_q`, entries of k `mean_k` and `var_k`, all independent. Derive the"
            " standard deviation of q · k for width `d_k`, and return it. (Check it on a sample"
            " before you hand it in.)"
        ),
        stub=(
            "def foretold_spread(mean_q, var_q, mean_k, var_k, d_k):\n"
            '    """Return the standard deviation of the dot product."""\n'
            '    raise NotImplementedError("scale.means")\n'
        ),
        rungs=(
            Rung(
                "both means 0",
                lambda rng: _spread_case(rng, ""),
                "With means of 0: what is the variance of one product, and of d_k of them?",
                (
                    Slip(
                        "the variance",
                        lambda mq, vq, mk, vk, d: _spread(mq, vq, mk, vk, d) ** 2,
                        "That is the variance. What was asked for?",
                    ),
                    Slip(
                        "one product",
                        lambda mq, vq, mk, vk, d: _spread(mq, vq, mk, vk, 1),
                        "That is the spread of one product. How many are added?",
                    ),
                    Slip(
                        "d_k outside the root",
                        lambda mq, vq, mk, vk, d: d * _spread(mq, vq, mk, vk, 1),
                        "You added standard deviations d_k times. What adds up over independent"
                        " terms?",
                    ),
                    Slip(
                        "variances added",
                        lambda mq, vq, mk, vk, d: math.sqrt(d * (vq + vk)),
                        "You added the variances of q and k. That is right for a sum; what is it"
                        " for a product?",
                    ),
                    Slip(
                        "variances squared",
                        lambda mq, vq, mk, vk, d: math.sqrt(d) * vq * vk,
                        "You took the variances for standard deviations. What is the root of their"
                        " product?",
                    ),
                    Slip(
                        "the root of d_k alone",
                        lambda mq, vq, mk, vk, d: math.sqrt(d),
                        "That holds for variances of 1. Where do yours come in?",
                    ),
                ),
            ),
            Rung(
                "one mean",
                lambda rng: _spread_case(rng, "k"),
                "Let the keys have a mean and almost no variance. What is q · k then, and how far"
                " does it spread?",
                (
                    Slip(
                        "means ignored",
                        lambda mq, vq, mk, vk, d: math.sqrt(d * vq * vk),
                        "Your result does not know the means. If all keys are one constant, is the"
                        " product constant too?",
                    ),
                    Slip(
                        "mean not squared",
                        lambda mq, vq, mk, vk, d: math.sqrt(d * (vq * vk + vq * abs(mk))),
                        "Double the keys, and their part of the variance must grow fourfold. Does"
                        " yours?",
                    ),
                    Slip(
                        "wrong partner",
                        lambda mq, vq, mk, vk, d: math.sqrt(d * (vq * vk + vk * mk**2)),
                        "You paired the mean of k with the variance of k. Whose spread does a"
                        " constant key stretch?",
                    ),
                ),
            ),
            Rung(
                "two means",
                lambda rng: _spread_case(rng, "qk"),
                "Write the mean of the squared product, and take off the square of the mean.",
                (
                    Slip(
                        "second moments",
                        lambda mq, vq, mk, vk, d: math.sqrt(d * (vq + mq**2) * (vk + mk**2)),
                        "That is the mean of the square. What must be taken off to get a variance?",
                    ),
                    Slip(
                        "the mean of the keys alone",
                        lambda mq, vq, mk, vk, d: math.sqrt(d * (vq * vk + vq * mk**2)),
                        "The mean of the keys has its term. What has the mean of the queries?",
                    ),
                ),
            ),
        ),
        hints=(
            "The variance of a product is the mean of its square less the square of its mean.",
            "For independent entries, the mean of a product is the product of the means; the mean"
            " of a square is variance plus squared mean.",
            "Multiply out (var_q + mean_q²)(var_k + mean_k²), and take off mean_q² mean_k².",
        ),
        solution=(
            "```python\n"
            "def foretold_spread(mean_q, var_q, mean_k, var_k, d_k):\n"
            "    one = var_q * var_k + var_q * mean_k**2 + var_k * mean_q**2\n"
            "    return np.sqrt(d_k * one)\n"
            "```\n\n"
            "A mean in the keys makes scores spread more, and what it adds is the same for all keys"
            " of a row: the softmax does not see that part."
        ),
    )


def _backward_case(rng: np.random.Generator, n_q: int | None = None, *batch: int) -> Case:
    n_k, d_k, other = sizes(rng, 3)
    rows = other if n_q is None else n_q
    weights = softmax(numbers(rng, *batch, rows, n_k))
    grad = numbers(rng, *batch, rows, n_k)
    k = numbers(rng, *batch, n_k, d_k)
    factor = float(np.round(rng.uniform(0.2, 0.8), 2))
    expected = factor * softmax_backward(weights, grad) @ k
    return Case((weights, grad, k, factor), expected)


def _through(w: np.ndarray, g: np.ndarray) -> np.ndarray:
    return w * (g - (w * g).sum(axis=-1, keepdims=True))


@register("scale.backward")
def backward() -> Code:
    """Take a gradient back to the queries, the factor in its place."""
    return Code(
        title="Back to the queries",
        function="query_gradient",
        prompt=(
            "Scores are `factor * q @ k.T`, and `weights` is their softmax. Given the weights and"
            " the gradient of the loss with respect to them, both (..., n_q, n_k), the keys"
            " (..., n_k, d_k) and the factor: return the gradient with respect to q,"
            " (..., n_q, d_k)."
        ),
        stub=(
            "def query_gradient(weights, grad_weights, k, factor):\n"
            '    """Return the gradient of the loss with respect to the queries."""\n'
            '    raise NotImplementedError("scale.backward")\n'
        ),
        rungs=(
            Rung(
                "one query",
                lambda rng: _backward_case(rng, 1),
                "First the gradient of the scores, by the derivative of chapter 3. Then: how does"
                " one score depend on q?",
                (
                    Slip(
                        "softmax skipped",
                        lambda w, g, k, f: f * g @ k,
                        "You went from the weights to the query at once. Where is the derivative of"
                        " the softmax?",
                    ),
                    Slip(
                        "mean not taken off",
                        lambda w, g, k, f: f * (w * g) @ k,
                        "If all weights were pulled up by the same amount, nothing could move. Does"
                        " your gradient vanish then?",
                    ),
                    Slip(
                        "plain mean",
                        lambda w, g, k, f: f * (w * (g - g.mean(axis=-1, keepdims=True))) @ k,
                        "You took off the plain mean of the gradients. Which mean belongs to the"
                        " weights?",
                    ),
                    Slip(
                        "diagonal alone",
                        lambda w, g, k, f: f * (w * (1 - w) * g) @ k,
                        "You used the diagonal of the derivative. What does one score do to the"
                        " other weights?",
                    ),
                    Slip(
                        "weight missing",
                        lambda w, g, k, f: f * (g - (w * g).sum(axis=-1, keepdims=True)) @ k,
                        "A key without weight is pushed as hard as one with weight. What is"
                        " missing?",
                    ),
                    Slip(
                        "no factor",
                        lambda w, g, k, f: _through(w, g) @ k,
                        "The size is off by the factor. If the scores are divided by 8, by how much"
                        " does a step of q move them?",
                    ),
                    Slip(
                        "factor squared",
                        lambda w, g, k, f: f * f * _through(w, g) @ k,
                        "The factor is in it twice. How often does it stand between q and a score?",
                    ),
                    Slip(
                        "divided by the factor",
                        lambda w, g, k, f: _through(w, g) @ k / f,
                        "You divide by the factor. Smaller scores: is the pull on q larger or"
                        " smaller?",
                    ),
                    Slip(
                        "stops at the scores",
                        lambda w, g, k, f: _through(w, g),
                        "That is the gradient of the scores. Which keys do they come from?",
                    ),
                ),
            ),
            Rung(
                "several queries",
                _backward_case,
                "Each query has its own row of weights. Along which axis do you sum?",
                (
                    Slip(
                        "one sum for all",
                        lambda w, g, k, f: f * (w * (g - (w * g).sum())) @ k,
                        "Your weighted mean runs over all queries. Whose gradient should it take"
                        " off?",
                    ),
                    Slip(
                        "wrong axis",
                        lambda w, g, k, f: f * (w * (g - (w * g).sum(axis=0))) @ k,
                        "You summed down the columns. Do queries share one whole, or do keys?",
                    ),
                ),
            ),
            Rung(
                "a batch",
                lambda rng: _backward_case(rng, None, 13),
                "With a batch in front, which axis is the keys?",
                (
                    Slip(
                        "axis 1",
                        lambda w, g, k, f: f * (w * (g - (w * g).sum(axis=1, keepdims=True))) @ k,
                        "Axis 1 is the keys with two axes only. From which end should one count?",
                    ),
                ),
            ),
        ),
        hints=(
            "Two steps: weights to scores, scores to queries.",
            "Scores: weight times (its gradient less the weighted mean of the row's gradients).",
            "One score is factor times q · k, so q receives factor times that key.",
        ),
        solution=(
            "```python\n"
            "def query_gradient(weights, grad_weights, k, factor):\n"
            "    mean = (weights * grad_weights).sum(axis=-1, keepdims=True)\n"
            "    grad_scores = weights * (grad_weights - mean)\n"
            "    return factor * grad_scores @ k\n"
            "```\n\n"
            "Two forces stand in it. A saturated row makes `grad_scores` small; a factor of 1 in"
            " place of 1/√d_k makes what follows large."
        ),
    )


Slope = Callable[[np.ndarray], np.ndarray]


def _plain(gradient: np.ndarray) -> np.ndarray:
    return gradient


def _folded_case(
    n: int, step: Slope, *heads: int, rate: float
) -> Callable[[np.random.Generator], Case]:
    """Return a draw: two heads that are one function, and the slope of a real head's loss."""

    def draw(rng: np.random.Generator) -> Case:
        n_k, d_model, d_k, d_v = sizes(rng, 4)
        X, k = numbers(rng, 13, d_model) / 4, numbers(rng, *heads, n_k, d_k) / 4
        v, wanted = numbers(rng, *heads, n_k, d_v), numbers(rng, *heads, 13, d_v)
        W_Q = numbers(rng, *heads, d_model, d_k)

        def slope(M: np.ndarray) -> np.ndarray:
            weights = softmax(X @ np.asarray(M) @ np.swapaxes(k, -1, -2))
            grad_weights = (weights @ v - wanted) @ np.swapaxes(v, -1, -2) / 13
            return np.asarray(X.T @ softmax_backward(weights, grad_weights) @ k)

        return Case((W_Q, slope, step, rate, n), _two_heads(W_Q, slope, step, rate, n))

    return draw


def _two_heads(
    W_Q: np.ndarray, slope: Slope, step: Slope, rate: float, n: int, slip: str = ""
) -> tuple[np.ndarray, np.ndarray]:
    """Train with the factor kept and with the factor absorbed, or with one named slip."""
    widths: dict[str, int] = {
        "input": W_Q.shape[-2],
        "axis 1": W_Q.shape[1],
        "heads": W_Q.shape[0],
        "all columns": W_Q.shape[0] * W_Q.shape[-1],
    }
    width: int = widths.get(slip) or W_Q.shape[-1]
    roots = {"no factor": 1.0, "d_k": float(width), "times": width**-0.5}
    root = roots.get(slip, math.sqrt(width))
    kept, absorbed = W_Q / root, W_Q / root
    rate = -rate if slip == "up" else rate
    step = _plain if slip == "no step" else step
    first = slope(absorbed)
    for _ in range(min(n, 1) if slip == "one step" else n):
        at_kept = slope(kept * root if slip == "whole matrix" else kept)
        at_absorbed = slope(absorbed)
        if slip == "first slope":
            at_kept = at_absorbed = first
        moves = step(at_kept / root) / root
        if slip == "no chain":
            moves = step(at_kept) / root
        elif slip == "divided after the step":
            moves = step(at_kept) / root**2
        kept = kept - rate * moves
        absorbed = absorbed - rate * step(at_absorbed)
    if slip == "W_Q":
        kept = kept * root
    elif slip == "both absorbed":
        kept = absorbed
    elif slip == "both kept":
        absorbed = kept
    elif slip == "swapped":
        kept, absorbed = absorbed, kept
    return kept, absorbed


def _fold_slip(name: str, question: str) -> Slip:
    return Slip(name, lambda W, s, t, r, n: _two_heads(W, s, t, r, n, name), question)


@register("scale.fold")
def fold() -> Code:
    """Train two heads that start as one function, with the factor and with it absorbed."""
    return Code(
        title="The same start, another training",
        function="two_heads",
        returns=("kept", "absorbed"),
        prompt=(
            r"A head's scores are $\X M \K\T$, with the keys held still: M is all that multiplies"
            " them, and `slope(M)` is the gradient of the loss with respect to M. Two heads start"
            r" as the same function, $M = \WQ/\sqrt{\dk}$. The first **keeps** the factor: it"
            r" trains W_Q, and its M is $\WQ/\sqrt{\dk}$ at every step. The second has **absorbed**"
            " it: it trains M itself."
            " One step of either is: matrix − `rate` · `step`(gradient with respect to *that*"
            " matrix). `step` returns the gradient as it is (plain descent), or its signs (nearly"
            " what Adam does first). Return the **M** of both heads after `n` steps. Then say"
            " it: how many times further does the second move in its first step, by each rule?"
        ),
        stub=(
            "def two_heads(W_Q, slope, step, rate, n):\n"
            '    """Return M of the head with the factor, and of the one that absorbed it."""\n'
            '    raise NotImplementedError("scale.fold")\n'
        ),
        rungs=(
            Rung(
                "the start",
                _folded_case(0, _plain, rate=0.5),
                "Before any step both heads are the same function. By what is W_Q divided in M?",
                (
                    _fold_slip(
                        "W_Q",
                        "Your second head is right; of the first you returned W_Q. What multiplies"
                        " its keys?",
                    ),
                    _fold_slip(
                        "no factor",
                        "You returned W_Q twice. Where did the factor go when no one divides any"
                        " more?",
                    ),
                    _fold_slip(
                        "d_k", "You divided by d_k. What are the scores of this chapter divided by?"
                    ),
                    _fold_slip(
                        "times",
                        "You multiplied by the root. If the scores must stay as they are, should M"
                        " be larger than W_Q, or smaller?",
                    ),
                    _fold_slip(
                        "input",
                        "You took the root of the width of the input. Over which of W_Q's two axes"
                        " does the dot product of a query and a key sum?",
                    ),
                ),
                crash="Your code stopped at n = 0, where no step is taken. What is M then?",
            ),
            Rung(
                "one plain step",
                _folded_case(1, _plain, rate=0.5),
                "Here each head takes one step. What is the gradient with respect to W_Q, when the"
                " slope is given for M = W_Q/√d_k, and what does that step do to M?",
                (
                    _fold_slip(
                        "both absorbed",
                        "Your two heads took the same step. The first trains W_Q: how far does M"
                        " move when W_Q moves by 1?",
                    ),
                    _fold_slip(
                        "both kept",
                        "Your two heads took the same short step. Is anything divided in the head"
                        " that trains M itself?",
                    ),
                    _fold_slip(
                        "no chain",
                        "The second head is right. In the first, the slope by M went straight into"
                        " W_Q. Which factor does the chain rule bring?",
                    ),
                    _fold_slip(
                        "whole matrix",
                        "You asked for the slope at W_Q itself. At which point is the loss of the"
                        " first head taken?",
                    ),
                    _fold_slip(
                        "swapped",
                        "Both numbers are right and stand in each other's place. Which head is"
                        " braked, the one that keeps the factor or the other?",
                    ),
                    _fold_slip("up", "Your heads go uphill. Which sign makes the loss smaller?"),
                ),
                crash="Your code stopped at the first step. What do `slope` and `step` take?",
            ),
            Rung(
                "three plain steps",
                _folded_case(3, _plain, rate=0.5),
                "One step was right. After it the two heads stand at different points. From where"
                " does each take its next slope?",
                (
                    _fold_slip("one step", "You stopped after one step. How many are asked for?"),
                    _fold_slip(
                        "first slope",
                        "All your steps use the slope at the start. Where must it be taken again?",
                    ),
                ),
            ),
            Rung(
                "three steps by sign",
                _folded_case(3, np.sign, rate=0.02),
                "A sign does not know how large the gradient was. Which of the two roots does it"
                " swallow, and which is left?",
                (
                    _fold_slip(
                        "no step",
                        "You went down by the gradient itself. Where is `step` called?",
                    ),
                    _fold_slip(
                        "divided after the step",
                        "You brake the first head by d_k whatever the rule. Does the sign of a"
                        " gradient change when the gradient is divided by a root?",
                    ),
                ),
            ),
            Rung(
                "all heads at once",
                _folded_case(2, _plain, 13, rate=0.5),
                "W_Q has three axes now, heads first. Which of them is d_k?",
                (
                    _fold_slip(
                        "axis 1",
                        "You read axis 1, which was d_k while there were two. What is it now?",
                    ),
                    _fold_slip(
                        "heads",
                        "You took the number of heads. Do heads add up in a score?",
                    ),
                    _fold_slip(
                        "all columns",
                        "You took the columns of all heads together. Over how many does one head's"
                        " dot product run?",
                    ),
                ),
                crash="Three axes now, heads first. Which line counts axes from the front?",
            ),
        ),
        hints=(
            "Keep two matrices: W_Q for the first head, M for the second. Only the first is divided"
            " when its M is needed.",
            "M = W_Q/√d_k. So the gradient with respect to W_Q is slope(W_Q/√d_k) divided by √d_k:"
            " the chain rule.",
            "After the last step divide the first matrix once more: that is the second root. Plain"
            " descent meets both roots, a sign only the second.",
        ),
        solution=(
            "```python\n"
            "def two_heads(W_Q, slope, step, rate, n):\n"
            "    root = np.sqrt(W_Q.shape[-1])\n"
            "    W, M = W_Q, W_Q / root\n"
            "    for _ in range(n):\n"
            "        W = W - rate * step(slope(W / root) / root)\n"
            "        M = M - rate * step(slope(M))\n"
            "    return W / root, M\n"
            "```\n\n"
            "At the start nobody can tell the two apart. In the first plain step the second moves"
            " d_k times as far, in a step by sign √d_k times: the factor is a brake on every step,"
            " and how strong a brake depends on the optimiser."
        ),
    )


Scores = Callable[[np.ndarray, np.ndarray], np.ndarray]


def _scorer(divisor: Callable[[np.ndarray, np.ndarray], float]) -> Scores:
    def scores_of(q: np.ndarray, k: np.ndarray) -> np.ndarray:
        return np.asarray(q) @ np.asarray(k).T / divisor(np.asarray(q), np.asarray(k))

    return scores_of


def _counted(rng: np.random.Generator) -> Case:
    axis_of_queries = bool(rng.integers(2))
    return Case((_scorer(lambda q, k: math.sqrt(len(q) if axis_of_queries else len(k))),), 0.0)


def _fixed(rng: np.random.Generator) -> Case:
    number = float(rng.choice([4.0, 8.0, 16.0]))
    return Case((_scorer(lambda q, k: number),), 0.0)


def _measured(scores_of: Scores, d_k: int, n_q: int = 3, n_k: int = 5) -> float:
    """Return the factor at one width: with entries of 1 the dot product is d_k."""
    return float(scores_of(np.ones((n_q, d_k)), np.ones((n_k, d_k)))[0, 0]) / d_k


@register("scale.expose")
def expose() -> Code:
    """Write the test that tells a divisor by what it does."""
    return Code(
        title="Write the test",
        function="power_of_width",
        prompt=(
            "`scores_of(q, k)` takes queries (n_q, d_k) and keys (n_k, d_k), and returns dot"
            " products times some factor that you cannot see. Find out how the factor depends on"
            " the width: return the power p in factor = c · d_k**p. The paper's attention has p ="
            " −0.5. Some authors divided by something else: a fixed number, or the root of a number"
            " of tokens. For those p is 0, and your test must not be fooled. Exact to many digits,"
            " so no random spreads: choose q and k cleverly."
        ),
        stub=(
            "def power_of_width(scores_of):\n"
            '    """Return the power of d_k in the factor of scores_of."""\n'
            '    raise NotImplementedError("scale.expose")\n'
        ),
        rungs=(
            Rung(
                "the paper's",
                lambda rng: Case((_scorer(lambda q, k: math.sqrt(q.shape[-1])),), -0.5),
                "Doubling the width should multiply this factor by the root of 1/2. What does your"
                " test measure?",
                (
                    Slip(
                        "the scores, not the factor",
                        lambda f: math.log2(2 * _measured(f, 8) / _measured(f, 4)),
                        "You get plus one half. Did you take the dot product itself out of the"
                        " score, and which width stands on top?",
                    ),
                    Slip(
                        "the ratio",
                        lambda f: _measured(f, 8) / _measured(f, 4),
                        "That is the ratio of two factors at widths d and 2d. Which power of 2 is"
                        " it?",
                    ),
                    Slip(
                        "the factor",
                        lambda f: _measured(f, 16),
                        "That is the factor at one width. What is its power?",
                    ),
                    Slip(
                        "natural logarithm",
                        lambda f: math.log(_measured(f, 8) / _measured(f, 4)),
                        "You took a logarithm of the ratio. By what must it be divided, so that it"
                        " is a power?",
                    ),
                ),
                crash="Your test stopped. Which shapes does `scores_of` take?",
            ),
            Rung(
                "no factor",
                lambda rng: Case((_scorer(lambda q, k: 1.0),), 0.0),
                "Here nothing is divided. What is the power of a constant?",
                (
                    Slip(
                        "always the paper",
                        lambda f: -0.5,
                        "You said −0.5 of a program that divides by nothing. What did you measure?",
                    ),
                    Slip(
                        "one unit more",
                        lambda f: math.log2(2 * _measured(f, 8) / _measured(f, 4)),
                        "You get 1, which is how the bare dot product grows. What is left for the"
                        " factor?",
                    ),
                ),
            ),
            Rung(
                "one over d_k",
                lambda rng: Case((_scorer(lambda q, k: float(q.shape[-1])),), -1.0),
                "This one divides by d_k itself. Which power is that?",
                (
                    Slip(
                        "paper or nothing",
                        lambda f: -0.5 if _measured(f, 8) < 1 else 0.0,
                        "You tell “divided” from “not divided”. How would you tell two divisors"
                        " apart?",
                    ),
                ),
            ),
            Rung(
                "a fixed number",
                _fixed,
                "This one divides by the same number at every width. Which power is that?",
                (
                    Slip(
                        "one width",
                        lambda f: math.log(_measured(f, 64)) / math.log(64),
                        "You measured at one width, and there a fixed number looks like a root. How"
                        " many widths does a power need?",
                    ),
                ),
            ),
            Rung(
                "a number of tokens",
                _counted,
                "This one divides by the root of a number of tokens. What else changed between your"
                " two measurements?",
                (
                    Slip(
                        "square arrays",
                        lambda f: math.log2(_measured(f, 8, 8, 8) / _measured(f, 4, 4, 4)),
                        "Between your two measurements the number of tokens grew as well. What must"
                        " stay fixed?",
                    ),
                ),
            ),
        ),
        hints=(
            "Take vectors of ones: their dot product is d_k exactly.",
            "Divide the score by d_k, at two widths and with the same numbers of queries and keys.",
            "A power of the width: the logarithm of the ratio of factors, divided by the logarithm"
            " of the ratio of widths.",
        ),
        solution=(
            "```python\n"
            "def power_of_width(scores_of):\n"
            "    def factor(d_k):\n"
            "        q, k = np.ones((3, d_k)), np.ones((5, d_k))\n"
            "        return scores_of(q, k)[0, 0] / d_k\n"
            "    return np.log(factor(28) / factor(7)) / np.log(28 / 7)\n"
            "```\n\n"
            "Two widths, all other sizes fixed and different. With square arrays the root of n and"
            " the root of d_k are one number."
        ),
    )
