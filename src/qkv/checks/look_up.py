"""The exercises of chapter 4: a soft look-up, leaving one out, distances as dot products."""

# ruff: noqa: RUF001 (a minus sign is a minus sign)

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from qkv.checks.arrangement import Order, Rule
from qkv.checks.engine import register
from qkv.checks.exercise import Case, Choice, Code, Number, Option, Row, Rung, Slip, Wrong
from qkv.checks.ladder import numbers
from qkv.core.look_up import kernel_regression, nearest_look_up, squared_distances
from qkv.core.scores import attention_from_scores
from qkv.core.softmax import softmax

Array = np.ndarray

# --- in the page ---------------------------------------------------------------------------------


@register("look_up.roles")
def roles() -> Choice:
    """Predict what moves when one value changes."""
    q, k = np.array([[0.0], [1.0]]), np.array([[0.0], [1.0], [3.0]])
    v, other = np.array([[10.0], [20.0], [60.0]]), np.array([[10.0], [20.0], [90.0]])
    before, w_before = kernel_regression(q, k, v)
    after, w_after = kernel_regression(q, k, other)
    same_weights = bool(np.array_equal(w_before, w_after))
    moved = bool((before != after).all())
    return Choice(
        title="Predict: one value changes",
        prompt=(
            "Three pairs of key and value, and a look-up that gives every key some weight. You"
            " cross out the third *value* and write a larger number there. Before you run anything:"
            " what changes?"
        ),
        options=(
            Option(
                "the weights and the output, for every query",
                "Read the line that makes the weights. Does a value stand in it?",
                moved and not same_weights,
            ),
            Option(
                "the output for every query; no weight",
                "Weights are made from query and keys. The value is delivered in proportion to"
                " them, so every output moves, each by its weight on the third key.",
                moved and same_weights,
            ),
            Option(
                "the weight on the third key, since its value has grown",
                "A larger value is not a nearer key. What is a query compared with?",
                not moved and not same_weights,
            ),
            Option(
                "nothing, unless a query equals the third key",
                "That would be so in a dictionary. Which weight has a key here that is near and"
                " not equal?",
                not moved and same_weights,
            ),
        ),
        hints=(
            "Write the look-up as two lines: one for the weights, one for the output.",
            "Which of the three arrays stand in the first line, which in the second?",
            "The values stand in the second line only.",
        ),
        solution=(
            "**The output, no weight.** Values never enter the weights. That is what makes key and"
            " value two roles: you can change what is delivered without changing who is found."
        ),
    )


@register("look_up.by_hand")
def by_hand() -> Row:
    """Do one soft look-up by hand."""
    squares = 2 * np.log([1.0, 2.0, 4.0])
    values = np.array([70.0, 35.0, 7.0])
    keys = np.sqrt(squares)[:, None]
    output, weights = kernel_regression(np.zeros((1, 1)), keys, values[:, None])

    def answer(weights: Array) -> tuple[float, ...]:
        return (*weights.tolist(), float(weights @ values))

    powers = np.exp(-squares / 2)
    return Row(
        title="Three keys by hand",
        prompt=(
            r"A query lies at the *squared* distances $0$, $2\log 2$ and $2\log 4$ from three keys"
            r" (natural logarithms). The bandwidth is 1; the values are 70, 35 and 7. Which"
            r" weights, and which output?"
        ),
        labels=("first weight", "second weight", "third weight", "output"),
        answer=(*weights[0].tolist(), float(output[0, 0])),
        right=(
            "Right. The says are 1, 1/2 and 1/4; divided by their sum they are the weights, and"
            " the output is the mean of the values under them."
        ),
        otherwise="What is e to minus half of each squared distance, and what do the three sum to?",
        tolerance=2e-3,
        wrong=(
            Wrong(
                answer(softmax(-squares)),
                "Your weights fall twice as fast as they should. By what is the squared distance"
                " divided?",
            ),
            Wrong(
                answer(softmax(squares / 2)),
                "Your largest weight is on the farthest key. Which sign has the score?",
            ),
            Wrong(
                answer(powers),
                "These are the says. Do they sum to one?",
            ),
            Wrong(
                answer(np.array([1.0, 0.0, 0.0])),
                "That is the nearest key alone. What is e to minus half of 2 log 2?",
            ),
            Wrong(
                answer(np.full(3, 1 / 3)),
                "That is the plain mean. Are all keys equally near?",
            ),
            Wrong(
                answer(softmax(-np.sqrt(squares) / 2)),
                "You took the root of the squared distances. Does the kernel take the distance or"
                " its square?",
            ),
        ),
        hints=(
            "The scores are minus half the squared distances.",
            "e to the power −log 2 is 1/2, and e to the power −log 4 is 1/4.",
            f"The says sum to {powers.sum():g}. Divide each by that, then take the mean.",
        ),
        solution=(
            "Says 1, 1/2, 1/4, together 7/4. Weights 4/7, 2/7, 1/7."
            f" Output: (4 · 70 + 2 · 35 + 7) / 7 = {output[0, 0]:.0f}."
        ),
    )


@register("look_up.ends")
def ends() -> Choice:
    """Predict both ends of the bandwidth for a query between two keys."""
    k, v = np.array([[0.0], [2.0], [9.0]]), np.array([[10.0], [30.0], [80.0]])
    small = round(float(kernel_regression(np.ones((1, 1)), k, v, 0.05)[0][0, 0]))
    large = round(float(kernel_regression(np.ones((1, 1)), k, v, 1e5)[0][0, 0]))
    best = round(float(v[np.argmin(np.abs(k - 1.0)), 0]))
    return Choice(
        title="Predict: both ends of the bandwidth",
        prompt=(
            "Keys at 0, 2 and 9 with the values 10, 30 and 80. The query is at 1, exactly in the"
            " middle of the first two. Which output does the soft look-up go to when the bandwidth"
            " goes to 0, and which when it grows without bound?"
        ),
        options=(
            Option(
                "10 and 40",
                "The large end is right. At the small end two keys are equally near: what does a"
                " softmax do with two equal largest scores?",
                (small, large) == (best, 40),
            ),
            Option(
                "20 and 20",
                "The small end is right. With a huge bandwidth, how much farther than 1 is 8?",
                (small, large) == (20, 20),
            ),
            Option(
                "20 and 80",
                "The small end is right. A huge bandwidth makes the far key as good as the near"
                " ones. Does it make it better?",
                (small, large) == (20, 80),
            ),
            Option(
                "20 and 40",
                "Two equal largest scores share the whole, so 20. And with equal weights on all"
                " three keys the output is the plain mean, 40.",
                (small, large) == (20, 40),
            ),
        ),
        hints=(
            "The square of the bandwidth is a temperature. What are its two ends?",
            "At the small end the nearest key takes all. Here there are two of them.",
            "At the large end all three weights are 1/3.",
        ),
        solution=(
            f"**{small} and {large}.** Small: the two nearest keys share, (10 + 30)/2. Large: the"
            " mean of all values, (10 + 30 + 80)/3. A hard look-up by argmax would have taken the"
            " first of the two: the limit of a soft look-up treats equals as equals."
        ),
    )


@register("look_up.factor")
def factor() -> Number:
    """Derive how large the factor must be for a nearly exact answer."""
    n, share = 21, 0.95
    beta = float(np.log(share * (n - 1) / (1 - share)))
    if not np.isclose(softmax(beta * np.eye(n))[0, 0], share):
        raise RuntimeError("the factor does not give the share")
    return Number(
        title="How loud must a question be?",
        prompt=(
            f"{n} keys of length 1, each at a right angle to all others. The query is one of the"
            r" keys, times a factor $\beta$; scores are dot products. Derive: which $\beta$ gives"
            f" the right key the weight {share}? Then check your number with"
            f" `qkv.softmax(beta * np.eye({n}))`."
        ),
        label="The factor",
        answer=beta,
        right=(
            "Right. The factor grows with the logarithm of the number of keys, so a few more units"
            " serve a far larger table."
        ),
        otherwise="What is the weight of the right key, as a formula in the factor?",
        tolerance=0.01,
        wrong=(
            Wrong(
                float(np.log(share / (1 - share))),
                "That would do against one other key. How many others are there?",
            ),
            Wrong(
                float(np.log(share * n / (1 - share))),
                "You counted all keys as others. Is the right key one of its rivals?",
            ),
            Wrong(
                share * (n - 1) / (1 - share),
                "That is e to the power of the factor. What undoes it?",
            ),
            Wrong(
                float(np.log10(share * (n - 1) / (1 - share))),
                "That is the logarithm to the base 10. Which base has the softmax?",
            ),
            Wrong(
                float(np.log(n - 1)),
                "With that factor the right key gets one half. Which weight is asked for?",
            ),
            Wrong(
                float(np.sqrt(beta)),
                "You took a root. Is the query's length squared anywhere in the score?",
            ),
        ),
        hints=(
            "The right key scores the factor, every other key scores 0.",
            f"Its weight is e to the factor, divided by the same plus {n - 1}.",
            f"So e to the factor is {share} · {n - 1} / {1 - share:.2f}.",
        ),
        solution=(
            rf"$w = e^\beta / (e^\beta + {n - 1})$, so"
            rf" $\beta = \log\frac{{{share} \cdot {n - 1}}}{{{1 - share:.2f}}}$, which is"
            f" {beta:.2f}."
        ),
    )


@register("look_up.steps")
def steps() -> Order:
    """Put a soft look-up in order."""
    return Order(
        title="A soft look-up, step by step",
        prompt="Put in order what a soft look-up does with one query, four keys and four values.",
        steps=(
            "compare the query with each key: four scores",
            "turn the scores into four weights that add up to 1",
            "multiply each value by the weight of its key",
            "add the four products up: one answer",
        ),
        rules=(
            Rule(0, 1, "Weights of what? What tells how near each key is?"),
            Rule(1, 2, "With what do you multiply the values, if there are no weights yet?"),
            Rule(
                2,
                3,
                "Added up before they are weighted, all values would count alike. Is that wanted?",
            ),
        ),
        right="Right. Keys decide how much, values decide what; they meet in the third step.",
        hints=(
            "The query meets the keys first. Where do the values come in?",
            "Values are used only in the last two steps.",
            "Scores, weights, products, sum.",
        ),
        solution=(
            "Scores from query and keys; weights from the scores; each value times its"
            " weight; the sum."
            " A dictionary does the same with one weight of 1 and all others 0."
        ),
    )


# --- in the notebook -----------------------------------------------------------------------------


def _distances(q: Array, k: Array) -> Array:
    return np.sum((q[..., :, None, :] - k[..., None, :, :]) ** 2, axis=-1)


def _plain(scores: Array) -> Array:
    powers = np.exp(scores)
    return powers / powers.sum(axis=-1, keepdims=True)


def _soft_case(q: Array, k: Array, v: Array, b: float) -> Case:
    return Case((q, k, v, b), kernel_regression(q, k, v, b)[0])


def _soft(rng: np.random.Generator, n_q: int, n_k: int, d_k: int, d_v: int) -> Case:
    b = float(rng.choice([0.7, 1.4, 1.8]))
    return _soft_case(numbers(rng, n_q, d_k), numbers(rng, n_k, d_k), numbers(rng, n_k, d_v), b)


def _soft_far(rng: np.random.Generator) -> Case:
    q = numbers(rng, 2, 3) + np.array([[60.0, -80.0, 70.0]])
    return _soft_case(q, numbers(rng, 5, 3), numbers(rng, 5, 1), 0.7)


def _soft_batch(rng: np.random.Generator) -> Case:
    q, k, v = numbers(rng, 2, 3, 5), numbers(rng, 2, 7, 5), numbers(rng, 2, 7, 1)
    return _soft_case(q, k, v, 1.4)


@register("look_up.soft")
def soft() -> Code:
    """Write the soft look-up."""
    return Code(
        title="Write the soft look-up",
        function="soft_look_up",
        prompt=(
            "Write kernel regression: `q` (n_q, d_k), `k` (n_k, d_k), `v` (n_k, d_v) and a"
            " bandwidth b. The score of a key is minus its squared distance over 2b²; the output"
            " (n_q, d_v) is the mean of the values under the softmax of the scores. A query may"
            " lie far from all keys, and the last rung has a batch in front."
        ),
        stub=(
            "def soft_look_up(q, k, v, bandwidth):\n"
            '    """Return for each query the mean of the values, near keys counting more."""\n'
            '    raise NotImplementedError("look_up.soft")\n'
        ),
        rungs=(
            Rung(
                "one query",
                lambda rng: _soft(rng, 1, 5, 1, 1),
                "One query, five keys on a line. What are the five scores, and what does the"
                " softmax make of them?",
                (
                    Slip(
                        "the nearest alone",
                        lambda q, k, v, b: v[[np.argmin(np.abs(q - k.T))]],
                        "You returned the value of the nearest key. What do the other keys say?",
                    ),
                    Slip(
                        "the plain mean",
                        lambda q, k, v, b: v.mean(axis=0, keepdims=True),
                        "You returned the mean of all values. Where does the distance count?",
                    ),
                    Slip(
                        "no minus sign",
                        lambda q, k, v, b: softmax(_distances(q, k) / (2 * b * b)) @ v,
                        "The farthest key has your largest weight. Which sign has the score?",
                    ),
                    Slip(
                        "no two",
                        lambda q, k, v, b: softmax(-_distances(q, k) / (b * b)) @ v,
                        "Your weights fall twice as fast as asked. By what is the squared distance"
                        " divided?",
                    ),
                    Slip(
                        "bandwidth not squared",
                        lambda q, k, v, b: softmax(-_distances(q, k) / (2 * b)) @ v,
                        "The distance is squared and your bandwidth is not. In which unit is the"
                        " score then?",
                    ),
                    Slip(
                        "no bandwidth",
                        lambda q, k, v, b: softmax(-_distances(q, k) / 2) @ v,
                        "Your answer is that of a bandwidth of 1. Where does `bandwidth` enter?",
                    ),
                    Slip(
                        "distance not squared",
                        lambda q, k, v, b: softmax(-np.sqrt(_distances(q, k)) / (2 * b * b)) @ v,
                        "You took the distance itself. What does the Gaussian take?",
                    ),
                    Slip(
                        "not divided by the sum",
                        lambda q, k, v, b: np.exp(-_distances(q, k) / (2 * b * b)) @ v,
                        "You added up the says. What must weights sum to?",
                    ),
                    Slip(
                        "dot products",
                        lambda q, k, v, b: softmax(q @ k.T / (b * b)) @ v,
                        "You took dot products. Have these keys one length?",
                    ),
                ),
            ),
            Rung(
                "several queries, wider values",
                lambda rng: _soft(rng, 3, 5, 1, 2),
                "Three queries, and values of two columns. Which axis of the weights is the keys?",
                (
                    Slip(
                        "the sum over the queries",
                        lambda q, k, v, b: (
                            softmax((-_distances(q, k) / (2 * b * b)).swapaxes(-1, -2)).swapaxes(
                                -1, -2
                            )
                            @ v
                        ),
                        "Your sums run over the queries. Who shares out one whole?",
                    ),
                    Slip(
                        "one sum for the table",
                        lambda q, k, v, b: (
                            np.exp(-_distances(q, k) / (2 * b * b))
                            / np.exp(-_distances(q, k) / (2 * b * b)).sum()
                            @ v
                        ),
                        "All your weights together sum to 1. How many queries are there?",
                    ),
                ),
                crash="There is more than one query now. How does every query meet every key?",
            ),
            Rung(
                "keys with several columns",
                lambda rng: _soft(rng, 2, 5, 3, 1),
                "A key has three columns now. What is the squared distance of two rows?",
                (
                    Slip(
                        "the first column only",
                        lambda q, k, v, b: softmax(-((q[:, :1] - k[:, 0]) ** 2) / (2 * b * b)) @ v,
                        "You used the first column of the keys. What about the others?",
                    ),
                    Slip(
                        "sum, then square",
                        lambda q, k, v, b: (
                            softmax(
                                -((q.sum(-1, keepdims=True) - k.sum(-1)[None]) ** 2) / (2 * b * b)
                            )
                            @ v
                        ),
                        "You added the columns up before you squared, so that differences can"
                        " cancel. In which order does Pythagoras do it?",
                    ),
                    Slip(
                        "absolute differences",
                        lambda q, k, v, b: (
                            softmax(-(np.abs(q[:, None] - k[None]).sum(-1) ** 2) / (2 * b * b)) @ v
                        ),
                        "You added absolute differences and squared the sum. What does Pythagoras"
                        " square?",
                    ),
                ),
                crash="A key has three columns now. Which line expects one?",
            ),
            Rung(
                "far from every key",
                _soft_far,
                "These queries lie some hundred bandwidths away. What is e to the power of such a"
                " score on a computer?",
                (
                    Slip(
                        "0 divided by 0",
                        lambda q, k, v, b: _plain(-_distances(q, k) / (2 * b * b)) @ v,
                        "All your says round to 0, and 0 divided by 0 is not a number. What may be"
                        " taken off a row of scores?",
                    ),
                    Slip(
                        "nothing found",
                        lambda q, k, v, b: np.zeros((len(q), v.shape[-1])),
                        "You returned zeros. A softmax never says that there is nothing: which key"
                        " is the nearest of them all?",
                    ),
                ),
            ),
            Rung(
                "a batch in front",
                _soft_batch,
                "There is a third axis now. Do you count your axes from the back?",
                crash="There is a third axis now. Which line counts axes from the front?",
            ),
        ),
        hints=(
            "`q[..., :, None, :] - k[..., None, :, :]` holds all differences, (…, n_q, n_k, d_k).",
            "Square, sum over the last axis, divide by −2 b²: the scores.",
            "Take each row's largest score off before `np.exp`; divide by the row's sum; `@ v`.",
        ),
        solution=(
            "```python\n"
            "def soft_look_up(q, k, v, bandwidth):\n"
            "    differences = q[..., :, None, :] - k[..., None, :, :]\n"
            "    scores = -np.sum(differences**2, axis=-1) / (2 * bandwidth**2)\n"
            "    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))\n"
            "    return powers / powers.sum(axis=-1, keepdims=True) @ v\n"
            "```\n\n"
            "The last two lines are those of attention. What differs is how the scores are made."
        ),
    )


def _scores_of_pairs(k: Array, b: float) -> Array:
    return -squared_distances(k, k) / (2 * b * b)


def _left_out(k: Array, v: Array, b: float) -> Array:
    return attention_from_scores(_scores_of_pairs(k, b), v, ~np.eye(len(k), dtype=bool))[0]


def _left_case(k: Array, v: Array, b: float) -> Case:
    return Case((k, v, b), _left_out(k, v, b))


def _late(k: Array, v: Array, b: float) -> Array:
    return softmax(_scores_of_pairs(k, b)) * (1 - np.eye(len(k)))


def _late_again(k: Array, v: Array, b: float) -> Array:
    weights = _late(k, v, b)
    return weights / weights.sum(axis=-1, keepdims=True) @ v


def _without_twins(k: Array, v: Array, b: float) -> Array:
    return attention_from_scores(_scores_of_pairs(k, b), v, squared_distances(k, k) > 0)[0]


def _twins(rng: np.random.Generator) -> Case:
    k = numbers(rng, 5, 2)
    k[3] = k[1]
    return _left_case(k, numbers(rng, 5, 3), 1.4)


def _lonely(rng: np.random.Generator) -> Case:
    k = numbers(rng, 5, 2)
    k[rng.integers(5)] += 300.0
    return _left_case(k, numbers(rng, 5, 3), 1.4)


@register("look_up.left_out")
def left_out() -> Code:
    """Write leaving one out: every pair guessed from the others."""
    return Code(
        title="Leave one out",
        function="left_out",
        prompt=(
            "Keys `k` (n, d_k), values `v` (n, d_v), a bandwidth. For each pair, guess its value"
            " from the *other* pairs by kernel regression, and return the guesses, shape (n, d_v)."
            " Two keys may be equal, and one key may lie far from all the others. (With it you can"
            " choose a bandwidth for any line of the map.)"
        ),
        stub=(
            "def left_out(k, v, bandwidth):\n"
            '    """Return for each pair the value that the other pairs give at its key."""\n'
            '    raise NotImplementedError("look_up.left_out")\n'
        ),
        rungs=(
            Rung(
                "five pairs",
                lambda rng: _left_case(numbers(rng, 5, 2), numbers(rng, 5, 3), 1.4),
                "Take the first pair away by hand and guess its value from the other four. Is that"
                " your first row?",
                (
                    Slip(
                        "itself included",
                        lambda k, v, b: softmax(_scores_of_pairs(k, b)) @ v,
                        "Every key finds itself at distance 0, so you guess with the answer in"
                        " hand. Who may not look at whom?",
                    ),
                    Slip(
                        "itself alone",
                        lambda k, v, b: v,
                        "Your guesses are the values themselves. Is True in a mask what may be"
                        " looked at, or what may not?",
                    ),
                    Slip(
                        "set to zero afterwards",
                        lambda k, v, b: _late(k, v, b) @ v,
                        "You took the own weight away after the softmax, and the rest does not sum"
                        " to 1. What must happen before?",
                    ),
                    Slip(
                        "the plain mean of the others",
                        lambda k, v, b: (v.sum(axis=0) - v) / (len(v) - 1),
                        "All the others have equal weights. Where does the distance count?",
                    ),
                    Slip(
                        "the errors",
                        lambda k, v, b: _left_out(k, v, b) - v,
                        "You returned the errors. What is asked for?",
                    ),
                    Slip(
                        "bandwidth not squared",
                        lambda k, v, b: attention_from_scores(
                            -squared_distances(k, k) / (2 * b), v, ~np.eye(len(k), dtype=bool)
                        )[0],
                        "The distance is squared and your bandwidth is not. Which power of b"
                        " belongs to the kernel?",
                    ),
                    Slip(
                        "no minus sign",
                        lambda k, v, b: attention_from_scores(
                            -_scores_of_pairs(k, b), v, ~np.eye(len(k), dtype=bool)
                        )[0],
                        "The farthest of the others has the largest weight. Which sign has the"
                        " score?",
                    ),
                ),
            ),
            Rung(
                "two pairs",
                lambda rng: _left_case(numbers(rng, 2, 3), numbers(rng, 2, 5), 0.7),
                "With two pairs, each can only be guessed from the other. What must come out?",
            ),
            Rung(
                "two keys are equal",
                _twins,
                "Two keys are at one place, with values of their own. Which of them is left out?",
                (
                    Slip(
                        "all at distance 0",
                        _without_twins,
                        "You left out everything at distance 0, the twin as well. How else can you"
                        " tell a pair from itself?",
                    ),
                ),
            ),
            Rung(
                "one far away",
                _lonely,
                "One key is far from all the others; its guess still exists. What does the softmax"
                " see in its row?",
                (
                    Slip(
                        "divided again, 0 by 0",
                        _late_again,
                        "You took the own weight away after the softmax and divided again: in the"
                        " far row nothing is left to divide. What must be hidden before the"
                        " powers?",
                    ),
                    Slip(
                        "zeros for the far one",
                        lambda k, v, b: np.nan_to_num(_late_again(k, v, b)),
                        "Your guess for the far key is 0. Which of the others is its nearest?",
                    ),
                ),
            ),
        ),
        hints=(
            "Each key is a query here: the table of scores is n by n.",
            "On the diagonal a pair meets itself. Give that score minus infinity.",
            "`np.where(np.eye(len(k), dtype=bool), -np.inf, scores)`, then the softmax as ever.",
        ),
        solution=(
            "```python\n"
            "def left_out(k, v, bandwidth):\n"
            "    squares = np.sum((k[:, None] - k[None]) ** 2, axis=-1)\n"
            "    scores = np.where(np.eye(len(k)), -np.inf, -squares / (2 * bandwidth**2))\n"
            "    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))\n"
            "    return powers / powers.sum(axis=-1, keepdims=True) @ v\n"
            "```\n\n"
            "One mask does what a loop with deletions would. To choose a bandwidth, compare the"
            " guesses with `v` for several."
        ),
    )


def _unit(rows: Array) -> Array:
    return rows / np.sqrt((rows**2).sum(axis=-1, keepdims=True))


def _circle(rng: np.random.Generator) -> Case:
    return _soft_case(numbers(rng, 3, 2), _unit(numbers(rng, 7, 2)), numbers(rng, 7, 5), 0.7)


def _unequal(rng: np.random.Generator) -> Case:
    b = float(rng.choice([0.7, 1.4]))
    return _soft_case(numbers(rng, 3, 2), numbers(rng, 5, 2), numbers(rng, 5, 1), b)


def _many(rng: np.random.Generator) -> Case:
    q, k, v = numbers(rng, 2, 3, 5), numbers(rng, 2, 7, 5), numbers(rng, 2, 7, 1)
    return _soft_case(q, k, v, 1.4)


def _with_term(term: Callable[[Array], Array]) -> Callable[[Array, Array, Array, float], Array]:
    def compute(q: Array, k: Array, v: Array, b: float) -> Array:
        return softmax((q @ k.T - term(k)) / (b * b)) @ v

    return compute


@register("look_up.one_length")
def one_length() -> Code:
    """Repair a look-up by dot products so that it equals the one by distances."""
    return Code(
        title="Repair this code: dot products for distances",
        function="dot_look_up",
        prompt=(
            "This code should give exactly what kernel regression gives, by dot products: no"
            " difference of a query and a key may be formed. It runs, and it is right in one"
            " special case. Repair it for keys of any length, any bandwidth, and a batch in front."
            " Remove the `raise` when you begin."
        ),
        stub=(
            "def dot_look_up(q, k, v, bandwidth):\n"
            '    """Return what kernel regression returns, from dot products."""\n'
            '    raise NotImplementedError("look_up.one_length")\n'
            "    scores = q @ k.T / bandwidth\n"
            "    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))\n"
            "    return powers / powers.sum(axis=-1, keepdims=True) @ v\n"
        ),
        rungs=(
            Rung(
                "keys on a circle",
                _circle,
                "All these keys have length 1, so dot products suffice. By what are they divided?",
                (
                    Slip(
                        "bandwidth not squared",
                        lambda q, k, v, b: softmax(q @ k.T / b) @ v,
                        "Your dot products are divided by the bandwidth. Multiply the squared"
                        " distance out: what stands below the dot product?",
                    ),
                    Slip(
                        "twice the square",
                        lambda q, k, v, b: softmax(q @ k.T / (2 * b * b)) @ v,
                        "You divided by twice the square. How often does the dot product stand in"
                        " the squared distance?",
                    ),
                    Slip(
                        "no bandwidth",
                        lambda q, k, v, b: softmax(q @ k.T) @ v,
                        "Your answer does not depend on the bandwidth. Which temperature has the"
                        " softmax?",
                    ),
                    Slip(
                        "times the square",
                        lambda q, k, v, b: softmax(q @ k.T * (b * b)) @ v,
                        "You multiplied where you should divide. Is a wide bandwidth hot or cold?",
                    ),
                    Slip(
                        "root of the width",
                        lambda q, k, v, b: softmax(q @ k.T / np.sqrt(k.shape[-1])) @ v,
                        "You divided by the root of the width, as attention does. Which number"
                        " stands in its place here?",
                    ),
                    Slip(
                        "queries brought to length 1",
                        lambda q, k, v, b: softmax(_unit(q) @ k.T / (b * b)) @ v,
                        "You brought the queries to length 1. Which term may be dropped: the"
                        " query's own length, or the query's length in the dot product?",
                    ),
                ),
            ),
            Rung(
                "keys of several lengths",
                _unequal,
                "These keys differ in length. Which term of the squared distance is not the same"
                " for all of them?",
                (
                    Slip(
                        "no term for the length",
                        _with_term(lambda k: np.zeros(len(k))),
                        "Long keys are too loud in your scores. Which of the three terms is"
                        " missing?",
                    ),
                    Slip(
                        "the wrong sign",
                        _with_term(lambda k: -(k**2).sum(-1) / 2),
                        "Your term makes long keys louder still. Which sign has it in minus half"
                        " the squared distance?",
                    ),
                    Slip(
                        "no half",
                        _with_term(lambda k: (k**2).sum(-1)),
                        "Your term is twice as large as it should be. What is half of a squared"
                        " length, and what did you take?",
                    ),
                    Slip(
                        "length not squared",
                        _with_term(lambda k: np.sqrt((k**2).sum(-1)) / 2),
                        "You took the length. What stands in the squared distance?",
                    ),
                    Slip(
                        "keys brought to length 1",
                        lambda q, k, v, b: softmax(q @ _unit(k).T / (b * b)) @ v,
                        "You brought the keys to one length, which moves them to other places. Is"
                        " that the look-up that was asked for?",
                    ),
                    Slip(
                        "the term outside the bandwidth",
                        lambda q, k, v, b: softmax(q @ k.T / (b * b) - (k**2).sum(-1) / 2) @ v,
                        "Your term is right for a bandwidth of 1. By what is it divided?",
                    ),
                ),
            ),
            Rung(
                "a batch in front",
                _many,
                "There is a third axis now. What does `.T` do to three axes, and to which axis"
                " does the keys' term belong?",
                crash="There is a third axis now. Which line works for two axes only?",
            ),
        ),
        hints=(
            "Minus half the squared distance is q·k minus half of each squared length.",
            "The query's own term is the same for a whole row: leave it out. The keys' is not.",
            "`np.sum(k**2, axis=-1)[..., None, :] / 2` has one number a key, shape (…, 1, n_k).",
        ),
        solution=(
            "```python\n"
            "def dot_look_up(q, k, v, bandwidth):\n"
            "    half_squares = np.sum(k**2, axis=-1)[..., None, :] / 2\n"
            "    scores = (q @ np.swapaxes(k, -1, -2) - half_squares) / bandwidth**2\n"
            "    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))\n"
            "    return powers / powers.sum(axis=-1, keepdims=True) @ v\n"
            "```\n\n"
            "The correction is one number a key. A key with one more column could carry it."
        ),
    )


LookUp = Callable[[Array, Array, Array], Array]


def _honest(q: Array, k: Array, v: Array) -> Array:
    return kernel_regression(q, k, v)[0]


def _hard(q: Array, k: Array, v: Array) -> Array:
    return nearest_look_up(q, k, v)[0]


def _biased(bias: Callable[[int], Array]) -> LookUp:
    def look_up(q: Array, k: Array, v: Array) -> Array:
        scores = -squared_distances(q, k) / 2 + bias(len(k))
        return attention_from_scores(scores, v)[0]

    return look_up


def _torn(q: Array, k: Array, v: Array) -> Array:
    return _honest(q, k[np.argsort(k[:, 0])], v)


def _forgets_last(q: Array, k: Array, v: Array) -> Array:
    return _honest(q, k[:-1], v[:-1])


def _ring(q: Array, k: Array, v: Array) -> Array:
    """Score each key together with the key that comes after it, round a ring."""
    return _honest(q, (k + np.roll(k, -1, axis=0)) / 2, v)


def _order_case(look_up: LookUp, matters: bool) -> Callable[[np.random.Generator], Case]:
    def draw(rng: np.random.Generator) -> Case:
        q, k, v = numbers(rng, 3, 2) / 2, numbers(rng, 7, 2) / 2, numbers(rng, 7, 5)
        return Case((look_up, q, k, v), float(matters))

    return draw


@register("look_up.order_test")
def order_test() -> Code:
    """Write the test that finds a look-up in which the order of the pairs counts."""
    return Code(
        title="Write the test that exposes it",
        function="order_matters",
        prompt=(
            "`look_up(q, k, v)` is somebody's soft look-up; it returns outputs of shape (n_q, d_v)."
            " In an honest one the pairs of key and value have no order. Return 1 if the order in"
            " which the pairs stand can change the output, 0 if it cannot. Seven look-ups wait on"
            " the ladder; rounding is not a change."
        ),
        stub=(
            "def order_matters(look_up, q, k, v):\n"
            '    """Return 1 if the order of the pairs changes the output, else 0."""\n'
            '    raise NotImplementedError("look_up.order_test")\n'
        ),
        rungs=(
            Rung(
                "an honest look-up",
                _order_case(_honest, False),
                "You accused an honest look-up. In another order, does each value stay with its"
                " key, and are the queries as they were? (Rounding is no change.)",
                crash="Your test stopped. What does `look_up` take, and what does it return?",
            ),
            Rung(
                "later pairs count more",
                _order_case(_biased(lambda n: np.arange(n) / 2), True),
                "In this look-up a pair counts more the later it stands, and you let it pass. Did"
                " the pairs change places?",
            ),
            Rung(
                "the middle counts more",
                _order_case(_biased(lambda n: -np.abs(np.arange(n) - (n - 1) / 2)), True),
                "In this look-up the middle of the list counts more, and you let it pass. If you"
                " turned the list round: what does that do to a look-up that is the same from both"
                " ends?",
            ),
            Rung(
                "the last pair is forgotten",
                _order_case(_forgets_last, True),
                "This look-up forgets the last pair, and you let it pass. Who stands last before"
                " your change of order, and who after it?",
            ),
            Rung(
                "keys sorted, values not",
                _order_case(_torn, True),
                "This look-up sorts its keys and forgets to sort the values, and you let it pass."
                " What happens to a pair in it?",
            ),
            Rung(
                "a ring",
                _order_case(_ring, True),
                "In this look-up each key is mixed with the one that stands after it, the last with"
                " the first. You let it pass. Does anybody get a new neighbour when the whole list"
                " is shifted?",
            ),
            Rung(
                "a faint order",
                _order_case(_biased(lambda n: 1e-4 * np.arange(n)), True),
                "Here the order counts for a ten-thousandth in the scores. How large must a"
                " difference be for you to count it?",
            ),
            Rung(
                "an honest hard look-up",
                _order_case(_hard, False),
                "This look-up takes the value of the largest dot product, whatever the order. You"
                " accused it. What did you compare?",
            ),
        ),
        hints=(
            "Call `look_up` on the pairs as they are and in another order; compare the outputs.",
            "The same order for keys and values: `k[order], v[order]`.",
            "One order can be blind. Try twenty of `np.random.default_rng(0).permutation(len(k))`.",
        ),
        solution=(
            "```python\n"
            "def order_matters(look_up, q, k, v):\n"
            "    rng, before = np.random.default_rng(0), look_up(q, k, v)\n"
            "    for _ in range(20):\n"
            "        order = rng.permutation(len(k))\n"
            "        after = look_up(q, k[order], v[order])\n"
            "        if np.abs(after - before).max() > 1e-9:\n"
            "            return 1\n"
            "    return 0\n"
            "```\n\n"
            "One reversal or one shift can be fooled by a look-up that has the same symmetry."
            " Twenty shuffles cannot, for practical purposes."
        ),
    )
