"""The exercises of chapter 3: softmax, its derivative, and the axis it runs over."""

# ruff: noqa: RUF001 (a minus sign is a minus sign)

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from qkv.checks.arrangement import Order, Rule
from qkv.checks.engine import register
from qkv.checks.exercise import Case, Choice, Code, Number, Option, Row, Rung, Slip, Wrong
from qkv.checks.ladder import numbers, sizes
from qkv.core.gradients import softmax_backward
from qkv.core.masks import causal_mask
from qkv.core.softmax import softmax, softmax_with_temperature

# --- in the page ---------------------------------------------------------------------------------


@register("softmax.shares")
def shares() -> Row:
    """Turn three scores into weights by hand."""
    powers = np.array([1.0, 3.0, 6.0])
    weights = softmax(np.log(powers))
    return Row(
        title="Three scores by hand",
        prompt=(
            r"A query has the scores $0$, $\log 3$ and $\log 6$ with three keys (natural"
            r" logarithms, so that $e^{\log 3} = 3$). Which weights does the softmax give them?"
        ),
        labels=("first key", "second key", "third key"),
        answer=tuple(weights.tolist()),
        right=(
            "Right. The differences of the scores became ratios: the third key's score is log 2"
            " above the second's, so it gets twice the weight."
        ),
        otherwise="What is e to each score, and what do the three powers add up to?",
        tolerance=1e-3,
        wrong=(
            Wrong(
                tuple((np.log(powers) / np.log(powers).sum()).tolist()),
                "You divided the scores themselves. What comes before the division?",
            ),
            Wrong(
                tuple(powers.tolist()),
                "These are the powers of e. What do weights add up to?",
            ),
            Wrong(
                tuple((powers / powers.max()).tolist()),
                "You divided by the largest power. Do your three weights sum to one?",
            ),
            Wrong(
                (0.0, *(powers[1:] / powers[1:].sum()).tolist()),
                "You gave the first key nothing. What is e to the power 0?",
            ),
            Wrong(
                tuple(softmax(powers).tolist()),
                "You took e to the power 3 and 6. The scores are the logarithms of these: what is"
                " e to the power of log 3?",
            ),
            Wrong(
                (1 / 3, 1 / 3, 1 / 3),
                "These weights are equal. Are the scores?",
            ),
        ),
        hints=(
            "First raise e to each score, then divide by the sum.",
            "The powers are 1, 3 and 6.",
            f"They add up to {powers.sum():g}; each weight is a power divided by that.",
        ),
        solution=(
            f"The powers 1, 3, 6 add up to {powers.sum():g}. The weights are"
            f" {weights[0]:.1f}, {weights[1]:.1f} and {weights[2]:.1f}."
        ),
    )


@register("softmax.shift")
def shift() -> Choice:
    """Predict which change of a row of scores changes its weights."""
    s = np.array([0.5, 2.0, -1.0])
    same = softmax(s)
    adds = np.allclose(softmax(s + 100), same)
    doubles = np.allclose(softmax(2 * s), same)
    halves = np.allclose(softmax_with_temperature(s, 0.5), softmax(2 * s))
    ratio_after = softmax(2 * s)[1] / softmax(2 * s)[0]
    squares = np.isclose(ratio_after, (same[1] / same[0]) ** 2)
    return Choice(
        title="Predict: add 100, or double",
        prompt=(
            "A row of scores is 0.5, 2, −1. Once you add 100 to all three; once you double all"
            " three. Before you run anything: what happens to the weights?"
        ),
        options=(
            Option(
                "both leave the weights as they are",
                "Adding leaves the differences as they are. Does doubling?",
                bool(adds and doubles),
            ),
            Option(
                "adding 100 makes them nearly equal; doubling leaves them as they are",
                "102 beside 100.5 looks like a small difference. Which differences does the softmax"
                " read: absolute or relative ones?",
                bool(doubles and not adds),
            ),
            Option(
                "adding 100 leaves them as they are; doubling squares the ratio of any two",
                "A difference d of scores is a ratio of e to the d. Adding keeps d; doubling makes"
                " it 2d, and the ratio is squared. That is temperature one half.",
                bool(adds and not doubles and halves and squares),
            ),
            Option(
                "adding 100 gives an overflow, so there are no weights; doubling changes them",
                "e to the power 102 is a number that a computer can hold. And what does the library"
                " take off before it raises e to anything?",
                False,
            ),
        ),
        hints=(
            "Write the ratio of two weights. What is left of the sum?",
            "The ratio of weight 2 to weight 1 is e to the power of score 2 minus score 1.",
            "Under adding, the difference 1.5 stays 1.5. Under doubling it becomes 3.",
        ),
        solution=(
            "**Adding changes nothing, doubling squares every ratio.** In the formula, 100 leaves"
            " numerator and denominator as one common factor. Doubling is a temperature of 1/2: the"
            " largest weight grows."
        ),
    )


@register("softmax.ends")
def ends() -> Row:
    """Say what the temperature does at both ends, with a tie for the first place."""
    s = np.array([2.0, 2.0, 0.0, -1.0])
    cold, plain, warm = (softmax_with_temperature(s, T) for T in (1e-3, 1.0, 1e9))
    one = np.eye(4)[s.argmax()]

    def entries(low: np.ndarray, high: np.ndarray) -> tuple[float, ...]:
        return (float(low[0]), float(low[2]), float(high[0]), float(high[2]))

    return Row(
        title="Both ends of the temperature",
        prompt=(
            "Four keys have the scores 2, 2, 0 and −1. Towards which weights do the first key and"
            " the third go as T goes to 0, and as T grows without end?"
        ),
        labels=(
            "first key, T to 0",
            "third key, T to 0",
            "first key, T to infinity",
            "third key, T to infinity",
        ),
        answer=entries(cold, warm),
        right=(
            "Right. Near 0 the largest score takes everything, and whoever shares the first place"
            " shares the whole; far out all keys are alike, the lowest too."
        ),
        otherwise="Divide the scores by 0.001, then by 1,000. What becomes of their differences?",
        tolerance=1e-3,
        wrong=(
            Wrong(
                entries(one, warm),
                "You gave the first key everything at the cold end. Which other key has its score?",
            ),
            Wrong(
                entries(warm, cold),
                "Your ends are the wrong way round. Does division by a small number bring scores"
                " together, or apart?",
            ),
            Wrong(
                entries(plain, plain),
                "These are the weights at T = 1. What do you divide by at the two ends?",
            ),
            Wrong(
                entries(cold, np.zeros(4)),
                "At the warm end all scores over T go to 0. What is e to the power 0, and what do"
                " weights add up to?",
            ),
            Wrong(
                entries(cold, np.ones(4)),
                "Each power goes to 1. What is still to be divided by?",
            ),
            Wrong(
                entries(cold, plain),
                "Your cold end is right, your warm end is T = 1. Which T is far beyond that?",
            ),
        ),
        hints=(
            "Write the ratio of two weights: e to the power of (difference of scores) / T.",
            "T to 0: the ratio of a larger score to a smaller one grows without bound. T to"
            " infinity: every ratio goes to 1.",
            "Two keys share the first place. Four keys are there in all.",
        ),
        solution=(
            f"T to 0: {cold[0]:g} for each of the two largest, {cold[2]:.0f} for the others. T to"
            f" infinity: {warm[0]:.2f} for all four."
        ),
    )


@register("softmax.slope")
def slope() -> Number:
    """Use the derivative: how far does one weight move when another score grows."""
    w = np.array([0.2, 0.3, 0.5])
    step = 0.01
    row = softmax_backward(np.tile(w, (3, 1)), np.eye(3))
    change = float(row[0, 2] * step)
    return Number(
        title="One score grows a little",
        prompt=(
            "The weights of a row are 0.2, 0.3 and 0.5. The score of the *third* key grows by"
            f" {step}. By how much does the weight of the *first* key change, to first order?"
        ),
        label="Change of the first weight",
        answer=change,
        right=(
            "Right. It loses in proportion to both weights. The three changes add up to zero, for"
            " what one key gains the others must give."
        ),
        otherwise="Which entry of diag(w) − w wᵀ belongs to first weight and third score?",
        tolerance=2e-5,
        wrong=(
            Wrong(
                float(row[2, 2] * step),
                "That is the change of the third weight, whose own score grew. Which weight is"
                " asked for?",
            ),
            Wrong(
                float(row[1, 2] * step),
                "That is the change of the second weight. Which one is asked for?",
            ),
            Wrong(
                float(row[0, 0] * step),
                "That would be right if the first key's own score had grown. Whose score grew?",
            ),
            Wrong(
                float(row[0, 2]),
                f"That is the slope. By how much did the score grow, and what is slope times"
                f" {step}?",
            ),
            Wrong(
                float(-w[2] * step),
                "The first key has a small weight, so it can lose only little. Which factor is"
                " missing?",
            ),
            Wrong(
                0.0,
                "The first key's score stayed, but the sum below the line did not. Who is in that"
                " sum?",
            ),
        ),
        hints=(
            "The weight is a fraction. Its numerator did not change; its denominator did.",
            "For two different keys the derivative is minus the product of their weights.",
            f"It is −0.2 · 0.5 · {step}.",
        ),
        solution=(
            f"The entry is −w₁ w₃ = −0.2 · 0.5 = {row[0, 2]:g}; times {step} that is {change:g}."
            " The third weight gains 0.0025, the second loses 0.0015: together zero."
        ),
    )


@register("softmax.last_column")
def last_column() -> Choice:
    """Predict what the sum over queries makes of the last token."""
    rng = np.random.default_rng(3)
    scores = np.where(causal_mask(4), numbers(rng, 4, 4), -np.inf)
    wrong = softmax(scores.T).T
    always_one = bool(np.isclose(wrong[-1, -1], 1.0))
    changed = scores.copy()
    changed[-1, :-1] += np.array([1.0, -1.0, 2.0])
    moved = np.abs(softmax(changed.T).T - wrong)[:-1, :-1].max(axis=1) > 1e-9
    return Choice(
        title="Predict: the last token under the wrong axis",
        prompt=(
            "Four tokens under a causal mask, and the softmax by mistake summed over the *queries*:"
            " each column adds up to 1. Which weight does the last token give itself, and which"
            " rows move when the last token's query changes?"
        ),
        options=(
            Option(
                "it depends on the scores; only the last row moves",
                "That is how it is with the sum over keys. How many queries may look at the last"
                " key, and over whom does the sum run?",
                not always_one and not moved.any(),
            ),
            Option(
                "always 1; only the last row moves",
                "The weight is right. Now take the first column: whose scores stand in its sum?",
                always_one and not moved.any(),
            ),
            Option(
                "it depends on the scores; all rows move",
                "The rows are right. In the last column all queries but one are masked: what is one"
                " number divided by itself?",
                not always_one and bool(moved.all()),
            ),
            Option(
                "always 1; all rows move",
                "The last column has one visible query, so its share is the whole. And the last"
                " query stands in the sum of every column, so it moves every row above.",
                always_one and bool(moved.all()),
            ),
        ),
        hints=(
            "Draw the triangle of visible entries. Then read it by columns.",
            "The last column has one visible entry. The first has four.",
            "Each column's sum holds the last query's entry. Which rows are divided by that sum?",
        ),
        solution=(
            "**Always 1; all rows move.** A softmax over one visible entry is 1 whatever the score."
            " And the last query is in the denominator of every column, so rows 0, 1 and 2 move"
            " with it: they have seen the future."
        ),
    )


@register("softmax.recipe")
def recipe() -> Order:
    """Put the softmax of a row in an order that cannot overflow."""
    return Order(
        title="A softmax that survives large scores",
        prompt=(
            "Put the steps in order, for one row of scores that may hold 1000. The result is the"
            " row's weights."
        ),
        steps=(
            "take the largest score off every score of the row",
            "raise e to each of the numbers",
            "add the numbers up over the keys",
            "divide each number by that sum",
        ),
        rules=(
            Rule(0, 1, "e to the 1000 is already too large for a float. What has to come first?"),
            Rule(1, 2, "What is added up here: scores, which may be negative, or powers of e?"),
            Rule(2, 3, "Divide by which sum? Has it been taken yet?"),
        ),
        right=(
            "Right. Taking the largest off changes no weight, for it cancels in the division; it"
            " only keeps the powers at 1 or below."
        ),
        hints=(
            "Which step can overflow, and which one prevents it?",
            "The weights are shares of powers of e, so the division comes last.",
            "First the largest goes off, then the powers, then their sum.",
        ),
        solution=(
            "Largest off, powers, sum, division. With 1000, 999, 0 the powers are 1, 0.37 and 0;"
            " without the first step the first of them is infinite and the weight is inf/inf."
        ),
    )


# --- in the notebook -----------------------------------------------------------------------------


def _softmax_case(scores: np.ndarray) -> Case:
    return Case((scores,), softmax(scores))


def _one_row(rng: np.random.Generator) -> Case:
    return _softmax_case(numbers(rng, *sizes(rng, 1)))


def _many_rows(rng: np.random.Generator) -> Case:
    return _softmax_case(numbers(rng, *sizes(rng, 2)))


def _huge(rng: np.random.Generator) -> Case:
    n_q, n_k = sizes(rng, 2)
    levels = np.array([800.0, -800.0, 0.0] * 4)[:n_q, None]  # each row far from the next
    return _softmax_case(numbers(rng, n_q, n_k) + levels)


def _with_empty(rng: np.random.Generator) -> Case:
    n_q, n_k = sizes(rng, 2)
    scores = numbers(rng, n_q, n_k)
    scores[rng.integers(n_q)] = -np.inf
    scores[0, rng.integers(n_k)] = -np.inf
    return _softmax_case(scores)


def _plain(s: np.ndarray) -> np.ndarray:
    return np.exp(s) / np.exp(s).sum(axis=-1, keepdims=True)


def _one_maximum(s: np.ndarray) -> np.ndarray:
    powers = np.exp(s - s.max())
    return powers / powers.sum(axis=-1, keepdims=True)


def _row_maximum(s: np.ndarray) -> np.ndarray:
    powers = np.exp(s - s.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


@register("softmax.stable")
def stable() -> Code:
    """Write a softmax that no score can break."""
    return Code(
        title="A softmax that does not break",
        function="stable_softmax",
        prompt=(
            "Write the softmax over the last axis for any number of axes, so that every row sums to"
            " 1. Scores of 800 or −800 must not break it, even when one row stands far above"
            " another. The last rung masks entries with `-np.inf`; a row with nothing left must"
            " give zeros."
        ),
        stub=(
            "def stable_softmax(scores):\n"
            '    """Return weights: each row (last axis) sums to 1, or is zero if it is empty."""\n'
            '    raise NotImplementedError("softmax.stable")\n'
        ),
        rungs=(
            Rung(
                "one row",
                _one_row,
                "For one row: what is e to each score, divided by the sum of these powers?",
                (
                    Slip("powers only", np.exp, "These are the powers. What do weights sum to?"),
                    Slip(
                        "scores divided by their sum",
                        lambda s: s / s.sum(),
                        "You divided the scores themselves, so a negative score gave a negative"
                        " weight or worse. What makes every number positive first?",
                    ),
                    Slip(
                        "powers divided by the largest",
                        lambda s: np.exp(s - s.max()),
                        "Your largest weight is 1, whatever the others. By what must all be divided"
                        " to sum to one?",
                    ),
                    Slip(
                        "a sigmoid",
                        lambda s: 1 / (1 + np.exp(-s)),
                        "Each of your weights is made from its own score alone. Where do the keys"
                        " compete?",
                    ),
                    Slip(
                        "the logarithm",
                        lambda s: s - np.log(np.exp(s).sum()),
                        "These are the logarithms of the weights. What undoes a logarithm?",
                    ),
                    Slip(
                        "a negative sign",
                        lambda s: _plain(-s),
                        "Your largest weight stands at the smallest score. Which sign has the"
                        " exponent?",
                    ),
                ),
            ),
            Rung(
                "every row for itself",
                _many_rows,
                "Each row belongs to one query and sums to 1. Along which axis does your sum run?",
                (
                    Slip(
                        "one sum for the whole table",
                        lambda s: np.exp(s) / np.exp(s).sum(),
                        "The whole table sums to 1, so queries share one budget. Whose budget"
                        " should it be?",
                    ),
                    Slip(
                        "the sum over the first axis",
                        lambda s: np.exp(s) / np.exp(s).sum(axis=0),
                        "Your columns sum to 1: queries compete for a key. Which axis are the"
                        " keys?",
                    ),
                ),
                crash="There are rows now. Which axis of your sum has to stay, so that the division"
                " fits?",
            ),
            Rung(
                "rows far apart",
                _huge,
                "Scores near 800 and near −800 stand in different rows. What is e to the power 800"
                " on a computer, and what may be taken off a row without changing its weights?",
                (
                    Slip(
                        "nothing taken off",
                        _plain,
                        "e to the power 800 is more than a computer holds. What may be taken off"
                        " all scores of a row?",
                    ),
                    Slip(
                        "one maximum for the whole table",
                        _one_maximum,
                        "You took the table's largest score off every row, and rows far below it"
                        " went to zero. Whose largest score belongs to a row?",
                    ),
                    Slip(
                        "the smallest taken off",
                        lambda s: _plain(s - s.min()),
                        "You took off the smallest score, and the large ones still overflow. Which"
                        " one makes every exponent at most 0?",
                    ),
                    Slip(
                        "scores cut at some size",
                        lambda s: _plain(np.clip(s, -700, 700)),
                        "You cut the scores, and rows beyond the cut became uniform. What leaves"
                        " the differences as they are?",
                    ),
                ),
            ),
            Rung(
                "nothing to look at",
                _with_empty,
                "One row has nothing but -inf. What does your code take off that row, and by which"
                " sum does it divide?",
                (
                    Slip(
                        "an empty row gives nan",
                        _row_maximum,
                        "The largest score of an empty row is -inf, and -inf minus -inf is nan."
                        " What can be taken off such a row instead?",
                    ),
                    Slip(
                        "an empty row gives equal weights",
                        lambda s: softmax(np.maximum(s, -1e9)),
                        "Your empty row came out uniform: it looks at every key that it must not"
                        " see. What should a query get that may look nowhere?",
                    ),
                ),
            ),
        ),
        hints=(
            "Take off each row's largest score, raise e to it, divide by the row's sum."
            " `keepdims=True` keeps the axis for the division.",
            "For an empty row the largest score is -inf: put 0 in its place with `np.where`.",
            "Its sum is then 0: put 1 in its place before you divide.",
        ),
        solution=(
            "```python\n"
            "def stable_softmax(scores):\n"
            "    largest = scores.max(axis=-1, keepdims=True)\n"
            "    powers = np.exp(scores - np.where(largest == -np.inf, 0, largest))\n"
            "    total = powers.sum(axis=-1, keepdims=True)\n"
            "    return powers / np.where(total == 0, 1, total)\n"
            "```\n\n"
            "Taking a number off a whole row changes no weight. Taking off the largest makes every"
            " power at most 1, and at least one of them exactly 1."
        ),
    )


def _jacobian(w: np.ndarray) -> np.ndarray:
    return softmax_backward(np.tile(w, (len(w), 1)), np.eye(len(w)))


def _two_keys(rng: np.random.Generator) -> Case:
    w = softmax(numbers(rng, 2))
    return Case((w,), _jacobian(w))


def _several_keys(rng: np.random.Generator) -> Case:
    w = softmax(numbers(rng, int(rng.choice([3, 5, 7]))))
    return Case((w,), _jacobian(w))


def _masked_key(rng: np.random.Generator) -> Case:
    scores = numbers(rng, 5)
    scores[rng.integers(5)] = -np.inf
    w = softmax(scores)
    return Case((w,), _jacobian(w))


@register("softmax.jacobian")
def jacobian() -> Code:
    """Write down the derivative of softmax as a matrix."""
    return Code(
        title="The derivative as a matrix",
        function="jacobian",
        prompt=(
            "Given the weights `w` of one row, return the matrix whose entry (i, j) says how fast"
            " weight i grows when score j grows. The ladder compares it with the library's backward"
            " pass. Derive it on paper first: one case for i = j, one for the rest."
        ),
        stub=(
            "def jacobian(w):\n"
            '    """Return the derivatives of the weights by the scores, shape (n_k, n_k)."""\n'
            '    raise NotImplementedError("softmax.jacobian")\n'
        ),
        rungs=(
            Rung(
                "two keys",
                _two_keys,
                "With two keys, what one gains the other loses. What must every row of the matrix"
                " add up to?",
                (
                    Slip(
                        "the diagonal alone",
                        lambda w: np.diag(w * (1 - w)),
                        "The diagonal is right, and all else is 0. A score that grows makes the sum"
                        " grow: who is divided by that sum?",
                    ),
                    Slip("diag(w)", np.diag, "What of the sum below the line, which grows too?"),
                    Slip(
                        "the outer product alone",
                        lambda w: -np.outer(w, w),
                        "That is what each weight loses to the larger sum. What does a weight gain"
                        " from its own score?",
                    ),
                    Slip(
                        "the wrong sign",
                        lambda w: np.outer(w, w) - np.diag(w),
                        "Every sign is turned round. Does a weight fall when its own score grows?",
                    ),
                    Slip(
                        "plus for minus",
                        lambda w: np.diag(w) + np.outer(w, w),
                        "All your entries are positive, so all weights would grow at once. What"
                        " must they sum to?",
                    ),
                    Slip(
                        "the identity for diag(w)",
                        lambda w: np.eye(len(w)) - np.outer(w, w),
                        "Your diagonal begins with 1. How large can the slope of a weight be that"
                        " is itself nearly 0?",
                    ),
                    Slip(
                        "one number a key",
                        lambda w: w * (1 - w),
                        "You returned the diagonal as a row. How many pairs of a weight and a score"
                        " are there?",
                    ),
                ),
            ),
            Rung(
                "several keys",
                _several_keys,
                "Take one entry off the diagonal: weight i, score j. Which two weights are in it?",
                (
                    Slip(
                        "what is lost is spread evenly",
                        lambda w: (
                            np.diag(w * (1 - w)) - (1 - np.eye(len(w))) * w * (1 - w) / (len(w) - 1)
                        ),
                        "You let the other keys pay equal shares. Does a key with weight 0 have"
                        " anything to give?",
                    ),
                    Slip(
                        "w for w w",
                        lambda w: np.diag(w) - np.outer(w, 1 - w) / (len(w) - 1),
                        "Your matrix is not symmetric. What should change if weight i and score j"
                        " exchange their places?",
                    ),
                ),
            ),
            Rung(
                "a masked key",
                _masked_key,
                "One weight is exactly 0. What do its row and its column hold, and does your code"
                " divide by it?",
            ),
        ),
        hints=(
            "The weight is e to score i, divided by the sum S. Use the rule for a quotient.",
            "For i = j it gives w_i − w_i²; for the rest −w_i w_j.",
            "`np.diag(w)` makes the first term, `np.outer(w, w)` the second.",
        ),
        solution=(
            "```python\n"
            "def jacobian(w):\n"
            "    return np.diag(w) - np.outer(w, w)\n"
            "```\n\n"
            "It is symmetric, and every row adds up to 0: a constant added to all scores changes"
            " nothing."
        ),
    )


def _causal_case(scores: np.ndarray) -> Case:
    mask = causal_mask(*scores.shape[-2:])
    return Case((scores,), softmax(np.where(mask, scores, -np.inf)))


def _tri(s: np.ndarray, k: int = 0) -> np.ndarray:
    n_q, n_k = s.shape[-2:]
    return np.tri(n_q, n_k, k, dtype=bool)


def _unequal(rng: np.random.Generator) -> Case:
    return _causal_case(numbers(rng, *[(3, 5), (5, 7), (3, 7)][rng.integers(3)]))


def _far_apart(rng: np.random.Generator) -> Case:
    scores = numbers(rng, 3, 5)
    scores[rng.integers(3)] += 1000.0
    return _causal_case(scores)


def _stack(rng: np.random.Generator) -> Case:
    return _causal_case(numbers(rng, 2, 5, 7))


def _over(s: np.ndarray, axis: int | None, k: int = 0) -> np.ndarray:
    powers = np.exp(np.where(_tri(s, k), s, -np.inf))
    return powers / powers.sum(axis=axis, keepdims=True)


@register("softmax.axis")
def axis() -> Code:
    """Repair a causal softmax that sums over the queries."""
    return Code(
        title="Repair this code",
        function="causal_weights",
        prompt=(
            "This code runs and trains, and lets the future in. Repair it: query i may look at"
            " the keys 0 to i, each row sums to 1, rows may differ by thousands, and a batch may"
            " stand in front. There are two bugs. Remove the `raise` when you begin."
        ),
        stub=(
            "def causal_weights(scores):\n"
            '    """Return causal attention weights from scores of shape (..., n_q, n_k)."""\n'
            '    raise NotImplementedError("softmax.axis")\n'
            "    may_look = np.tri(*scores.shape[-2:], dtype=bool)\n"
            "    scores = np.where(may_look, scores, -np.inf)\n"
            "    powers = np.exp(scores - scores.max())\n"
            "    return powers / powers.sum(axis=0)\n"
        ),
        rungs=(
            Rung(
                "each query shares out one",
                _unequal,
                "Look at the sums of your rows. Who shares out what: a query among keys, or a key"
                " among queries?",
                (
                    Slip(
                        "the sum over the queries",
                        lambda s: _over(s, -2),
                        "Your columns sum to 1, so the sum runs over the queries, later ones too."
                        " Over which axis should it run?",
                    ),
                    Slip(
                        "one sum for all",
                        lambda s: _over(s, None),
                        "The whole table sums to 1. Who has one whole to share out?",
                    ),
                    Slip(
                        "masked after the softmax",
                        lambda s: np.where(_tri(s), softmax(s), 0.0),
                        "Your mask came after the division, so rows sum to less than 1 and the"
                        " future still stands below the line. What must happen first?",
                    ),
                    Slip(
                        "no mask",
                        softmax,
                        "Your first query looks at keys that come later. What became of the mask?",
                    ),
                    Slip(
                        "zeros for -inf",
                        lambda s: softmax(np.where(_tri(s), s, 0.0)),
                        "A masked score of 0 still gets e to the power 0. Which score gets"
                        " nothing?",
                    ),
                    Slip(
                        "not even itself",
                        lambda s: _over(s, -1, k=-1),
                        "Your first query may look nowhere. May a token look at itself?",
                    ),
                    Slip(
                        "the mask the other way",
                        lambda s: softmax(np.where(_tri(s), -np.inf, s)),
                        "Each query looks at later keys only. What does True mean in the mask?",
                    ),
                ),
                crash="The shapes do not fit when you divide. Does your sum keep its axis?",
            ),
            Rung(
                "rows far apart",
                _far_apart,
                "One row stands 1,000 above the others. Which number does your code take off each"
                " row?",
                (
                    Slip(
                        "one maximum for the table",
                        lambda s: _one_maximum(np.where(_tri(s), s, -np.inf)),
                        "You take the same number off every row, and the rows far below it become 0"
                        " divided by 0. Which number belongs to a row?",
                    ),
                    Slip(
                        "no maximum at all",
                        lambda s: _over(s, -1),
                        "Nothing is taken off, and e to the power 1,000 is more than a computer"
                        " holds. What may be taken off a row?",
                    ),
                ),
            ),
            Rung(
                "a batch in front",
                _stack,
                "There is a third axis now. Do you count your axes from the front or from the"
                " back?",
                (
                    Slip(
                        "axis 1 is the queries now",
                        lambda s: _over(s, 1),
                        "With a batch in front, axis 1 is the queries. Which name of the keys' axis"
                        " stays right?",
                    ),
                ),
                crash="There is a third axis now. Which line counts on two?",
            ),
        ),
        hints=(
            "Print the sums of the rows and of the columns of what the code returns.",
            "`axis=-1` is the keys, with and without a batch. `keepdims=True` keeps the shapes"
            " fitting.",
            "The largest score must be each row's own: both `max` and `sum` get the same two"
            " arguments.",
        ),
        solution=(
            "```python\n"
            "def causal_weights(scores):\n"
            "    may_look = np.tri(*scores.shape[-2:], dtype=bool)\n"
            "    scores = np.where(may_look, scores, -np.inf)\n"
            "    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))\n"
            "    return powers / powers.sum(axis=-1, keepdims=True)\n"
            "```\n\n"
            "`max` and `sum` run over the keys, `axis=-1`, which stays right when axes are added in"
            " front."
        ),
    )


WeightsOf = Callable[[np.ndarray], np.ndarray]


def _masked(s: np.ndarray) -> np.ndarray:
    return np.where(_tri(s), s, -np.inf)


def _over_keys(scores: np.ndarray) -> np.ndarray:
    return softmax(_masked(scores))


def _over_queries(scores: np.ndarray) -> np.ndarray:
    return softmax(_masked(scores).T).T


def _queries_then_keys(scores: np.ndarray) -> np.ndarray:
    weights = _over_queries(scores)
    return weights / weights.sum(axis=-1, keepdims=True)


def _sigmoid(scores: np.ndarray) -> np.ndarray:
    return np.where(_tri(scores), 1 / (1 + np.exp(-scores)), 0.0)


def _shifted_over_queries(scores: np.ndarray) -> np.ndarray:
    return _over_queries(scores - scores.max(axis=-1, keepdims=True))


def _leak_case(weights_of: WeightsOf, leaks: bool) -> Callable[[np.random.Generator], Case]:
    def draw(rng: np.random.Generator) -> Case:
        n = int(rng.choice([3, 5, 7]))
        return Case((weights_of, numbers(rng, n, n)), float(leaks))

    return draw


@register("softmax.leak_test")
def leak_test() -> Code:
    """Write the test that finds a look into the future."""
    return Code(
        title="Write the test that exposes it",
        function="leaks",
        prompt=(
            "`weights_of(scores)` is somebody's causal attention: it takes scores of shape (n, n)"
            " and returns weights of that shape. Return 1 if a later token can move an earlier row"
            " of the weights, 0 if it cannot. Row i of the scores belongs to token i. You may call"
            " `weights_of` as often as you like. Five layers wait on the ladder, honest ones and"
            " others; one of them has rows that sum to 1 and leaks."
        ),
        stub=(
            "def leaks(weights_of, scores):\n"
            '    """Return 1 if changing the last row of scores moves an earlier row, else 0."""\n'
            '    raise NotImplementedError("softmax.leak_test")\n'
        ),
        rungs=(
            Rung(
                "an honest layer",
                _leak_case(_over_keys, False),
                "You accused a layer that sums over the keys. Its last row may move when the last"
                " token changes: which rows may not?",
                crash="Your test stopped. What does `weights_of` take, and what does it return?",
            ),
            Rung(
                "the sum over the queries",
                _leak_case(_over_queries, True),
                "This layer sums over the queries, and you let it pass. Did you change a token that"
                " comes last, and look at the rows that come before it?",
            ),
            Rung(
                "rows that sum to one",
                _leak_case(_queries_then_keys, True),
                "This layer divides by column sums first and then makes its rows sum to 1; it"
                " leaks, and you let it pass. What does a row sum say about the future?",
            ),
            Rung(
                "honest, with other row sums",
                _leak_case(_sigmoid, False),
                "Here each weight is made from its own score alone, so rows do not sum to 1, but no"
                " row sees a later one. Is a leak the same as a wrong sum?",
            ),
            Rung(
                "a constant is taken off",
                _leak_case(_shifted_over_queries, True),
                "This layer takes the largest score off each row and then sums over the queries. It"
                " leaks, and you let it pass. Which change of a row can such a layer not feel?",
            ),
        ),
        hints=(
            "Compute the weights twice: for the scores, and for a copy whose last row is changed.",
            "Compare all rows but the last. Change a copy, not the array that you were given.",
            "Adding one number to the whole last row is a change that a layer may cancel. Change"
            " its entries by different amounts.",
        ),
        solution=(
            "```python\n"
            "def leaks(weights_of, scores):\n"
            "    changed = scores.copy()\n"
            "    changed[-1] += 1.0 + np.arange(len(scores))\n"
            "    moved = weights_of(changed)[:-1] - weights_of(scores)[:-1]\n"
            "    return float(np.abs(moved).max() > 1e-9)\n"
            "```\n\n"
            "The test knows nothing of how the layer works. It changes the future and looks at the"
            " past."
        ),
    )


def _at_temperature(s: np.ndarray, T: float) -> np.ndarray:
    """Return the weights at any temperature; at 0 and infinity, what they go to."""
    if 0 < T < np.inf:
        return softmax_with_temperature(s, T)
    kept = s > -np.inf if T else s == s.max(axis=-1, keepdims=True)
    return kept / kept.sum(axis=-1, keepdims=True)


def _ordinary(rng: np.random.Generator) -> Case:
    s, T = numbers(rng, 3, 5), float(rng.choice([0.4, 0.6, 1.7, 2.6]))
    return Case((s, T), _at_temperature(s, T))


def _cold(rng: np.random.Generator) -> Case:
    s = numbers(rng, 2, 5) + 30
    return Case((s, 0.01), _at_temperature(s, 0.01))


def _coldest(rng: np.random.Generator, *batch: int) -> Case:
    s = numbers(rng, *batch, 3, 5)
    s[..., 0, 1] = s[..., 0, 3] = s[..., 0, :].max(axis=-1) + 1
    return Case((s, 0.0), _at_temperature(s, 0.0))


def _warmest(rng: np.random.Generator) -> Case:
    s = numbers(rng, 3, 5)
    s[1, int(rng.integers(5))] = -np.inf
    return Case((s, np.inf), _at_temperature(s, np.inf))


def _shifted(s: np.ndarray) -> np.ndarray:
    powers = np.exp(s - s.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


@register("softmax.temperature")
def temperature() -> Code:
    """Write a softmax with a temperature that holds at both ends."""
    return Code(
        title="A temperature from 0 to infinity",
        function="at_temperature",
        prompt=(
            "Write the softmax of scores at temperature T, for any number of axes in front, and for"
            " every T from 0 to `np.inf`: at the ends return what the weights go to. At 0 the"
            " largest score of a row takes everything (keys that share the first place share it"
            " alike); at infinity all keys are alike. A score of −inf is a hidden key and gets 0"
            " at any T."
        ),
        stub=(
            "def at_temperature(scores, T):\n"
            '    """Return the weights at temperature T, 0 and infinity included."""\n'
            '    raise NotImplementedError("softmax.temperature")\n'
        ),
        rungs=(
            Rung(
                "an ordinary T",
                _ordinary,
                "T is an ordinary number here. What is divided by it, and when?",
                (
                    Slip(
                        "no temperature",
                        lambda s, T: _shifted(s),
                        "Your weights do not depend on T. Where does it go in?",
                    ),
                    Slip(
                        "times T",
                        lambda s, T: _shifted(s * T),
                        "You multiplied by T. Should a high temperature make the scores larger?",
                    ),
                    Slip(
                        "after the softmax",
                        lambda s, T: _shifted(s) / T,
                        "Your rows do not add up to 1: you divided the weights. What should be"
                        " divided?",
                    ),
                    Slip(
                        "the powers, not their sum",
                        lambda s, T: _shifted(s) ** (1 / T),
                        "These have the right ratios. What must they add up to?",
                    ),
                    Slip(
                        "the root",
                        lambda s, T: _shifted(s / np.sqrt(T)),
                        "You took the root of T. Where did that root come from?",
                    ),
                    Slip(
                        "over the queries",
                        lambda s, T: np.swapaxes(_shifted(np.swapaxes(s, -1, -2) / T), -1, -2),
                        "Your columns add up to 1. Who shares one query's weights?",
                    ),
                ),
            ),
            Rung(
                "a cold row",
                _cold,
                "Scores of about 30, and T = 0.01. Which power of e is the largest you raise?",
                (
                    Slip(
                        "overflow",
                        lambda s, T: np.exp(s / T) / np.exp(s / T).sum(axis=-1, keepdims=True),
                        "Infinity over infinity is NaN. What may be taken off every score of a row"
                        " before it is raised?",
                    ),
                    Slip(
                        "a floor under T",
                        lambda s, T: _shifted(s / max(T, 0.1)),
                        "You never let T go below some number of yours. What goes wrong at T = 0.01"
                        " that does not at 0.1?",
                    ),
                ),
            ),
            Rung(
                "T = 0, and a tie",
                _coldest,
                "At T = 0 nothing can be divided by T. Which keys are left, and how do they share?",
                (
                    Slip(
                        "NaN",
                        lambda s, T: _shifted(s / T),
                        "A score divided by 0 is infinite, and the row is NaN. What do the weights"
                        " go to as T goes to 0?",
                    ),
                    Slip(
                        "the first of them",
                        lambda s, T: np.eye(s.shape[-1])[s.argmax(axis=-1)],
                        "Two keys have the largest score, and you gave all to the first. At T ="
                        " 0.01, what would each of them get?",
                    ),
                    Slip(
                        "not shared",
                        lambda s, T: (s == s.max(axis=-1, keepdims=True)) * 1.0,
                        "Two keys have 1 each. What must a row add up to?",
                    ),
                    Slip(
                        "all alike",
                        lambda s, T: np.full(s.shape, 1 / s.shape[-1]),
                        "Your keys are all alike. At which end is that so?",
                    ),
                    Slip(
                        "the table's largest",
                        lambda s, T: (s == s.max()) / (s == s.max()).sum(),
                        "One row has everything and the others nothing. Whose largest score is"
                        " meant?",
                    ),
                ),
                crash="Your code stopped at T = 0. Which weights are approached, and do you need T"
                " to write them?",
            ),
            Rung(
                "T infinite, a key hidden",
                _warmest,
                "T is infinite: all keys that may be looked at are alike. Which are these?",
                (
                    Slip(
                        "NaN",
                        lambda s, T: _shifted(s / T),
                        "−inf divided by infinity is not a number. How is a hidden key told from"
                        " the others before anything is divided?",
                    ),
                    Slip(
                        "the hidden one too",
                        lambda s, T: np.full(s.shape, 1 / s.shape[-1]),
                        "Your hidden key has a share. Does any temperature bring it back?",
                    ),
                    Slip(
                        "the largest",
                        lambda s, T: _at_temperature(s, 0.0),
                        "That is the other end. Are scores far apart or close when they are"
                        " divided by a huge number?",
                    ),
                ),
            ),
            Rung(
                "a batch in front",
                lambda rng: _coldest(rng, 2),
                "There is a third axis now. Do you count your axes from the back?",
                crash="There is a third axis now. Which line counts axes from the front?",
            ),
        ),
        hints=(
            "Three cases: T = 0, T infinite, and every other T, where the scores are divided.",
            "At 0 mark the keys whose score equals the row's largest; at infinity mark those whose"
            " score is above -inf. In between take the powers of e, less the row's largest.",
            "In all three cases the last line is the same: divide by the row's sum.",
        ),
        solution=(
            "```python\n"
            "def at_temperature(scores, T):\n"
            "    largest = scores.max(axis=-1, keepdims=True)\n"
            "    if T == 0:\n"
            "        share = (scores == largest).astype(float)\n"
            "    elif T == np.inf:\n"
            "        share = (scores > -np.inf).astype(float)\n"
            "    else:\n"
            "        share = np.exp((scores - largest) / T)\n"
            "    return share / share.sum(axis=-1, keepdims=True)\n"
            "```\n\n"
            "The limits are not special rules: make T smaller and smaller in the last branch and"
            " the numbers of the first appear."
        ),
    )
