"""The exercises of chapter 8: one, two or three arrays."""

# ruff: noqa: RUF001 (a minus sign is a minus sign)

from __future__ import annotations

from itertools import product

import numpy as np

from qkv.checks.engine import register
from qkv.checks.exercise import Case, Choice, Code, Number, Option, Row, Rung, Slip, Wrong
from qkv.checks.ladder import numbers, sizes
from qkv.core.scaled_dot_product import scaled_dot_product_attention
from qkv.core.scores import bilinear_scores
from qkv.core.softmax import softmax

N_VALUES = 16


def best_guess(n: int) -> float:
    """Return how often the most frequent of n random values is the one that was asked for.

    Examples
    --------
    >>> [round(100 * best_guess(n), 1) for n in (1, 2, 3)]
    [100.0, 53.1, 39.5]
    """
    drawn = product(range(N_VALUES), repeat=n)
    return sum(max(map(values.count, values)) for values in drawn) / (n * N_VALUES**n)


# --- in the page ---------------------------------------------------------------------------------


@register("why_three.predict_clock")
def predict_clock() -> Number:
    """Predict the tied head on the clock before it is trained."""
    one, two, three, four = (100 * best_guess(n) for n in (1, 2, 3, 4))
    return Number(
        title="Predict before you run: the clock, tied",
        prompt=(
            "Three tokens hold one of 16 values each, at random. With W_Q = W_K the best that the"
            " head can do is to look at all three alike. It then sees only how often each value"
            " occurs, and names the most frequent one. How often is that the value of the one token"
            " that was asked for? In percent, one decimal."
        ),
        label="Right answers, %",
        answer=three,
        tolerance=0.06,
        right=(
            "Right, and nothing was trained. Now look where the tied bar of the first picture"
            " stands."
        ),
        otherwise="Are all three values different, are two of them equal, or all three?",
        wrong=(
            Wrong(
                100 / 3,
                "That is right if the three values always differ. What if two of them are equal?",
            ),
            Wrong(
                100 / N_VALUES,
                "That is a guess among all values. Does the head see none of the three?",
            ),
            Wrong(two, "That is for two values averaged. How many tokens are looked at here?"),
            Wrong(four, "That is for four values averaged. How many tokens are present?"),
            Wrong(one, "That is a head that finds its token. Can this one?"),
            Wrong(
                100 * (1 / 3 + 2 / 3 / N_VALUES),
                "You took one of the three and added luck with the other two. When two values are"
                " equal, which one does the head name?",
            ),
        ),
        hints=(
            "Three cases: all different, exactly two equal, all equal. The guess is right in 1 of"
            " 3, in 2 of 3, and always.",
            "All different: 15/16 · 14/16. All equal: 1/16 · 1/16. The rest: exactly two equal.",
            f"{15 * 14 / 256:.4f} · 1/3 + {45 / 256:.4f} · 2/3 + {1 / 256:.4f} · 1.",
        ),
        solution=(
            f"{15 * 14 / 256:.4f} · 1/3 + {45 / 256:.4f} · 2/3 + {1 / 256:.4f} · 1 ="
            f" {three:.2f} %. No attention at all gives the same, for it also averages all three."
        ),
    )


@register("why_three.heal")
def heal() -> Choice:
    """Say which cure lets a head find directed rings."""
    rng = np.random.default_rng(0)
    ring = rng.normal(size=(500, 3, 5))
    A, B = rng.normal(size=(2, 5, 5))
    t = np.arange(3)

    def finds(M: np.ndarray) -> bool:
        scores = bilinear_scores(ring, ring, np.broadcast_to(M, (5, 5)))
        gains = scores[:, t, (t + 1) % 3] - scores[:, t, (t - 1) % 3]
        return bool((gains > 0).all(axis=1).any())

    return Choice(
        title="Predict: what heals the clock?",
        prompt=(
            "A head with W_Q = W_K fails both on mutual partners and on the clock. Which single"
            " change lets it do the *clock*, where each of three tokens looks at the next?"
        ),
        options=(
            Option(
                "Mask the diagonal, so that no token sees itself.",
                "That removes one rival, oneself. Which other token may win in place of the next?",
                finds(A @ A.T),
            ),
            Option(
                "Let the symmetric matrix have negative eigenvalues too.",
                "Then both of a pair can prefer each other. Add up the gains once around the ring:"
                " what comes out?",
                finds(A + A.T),
            ),
            Option(
                "One free matrix M, not symmetric.",
                "Around the ring a score and its reverse are now two numbers, so nothing has to"
                " cancel. Two matrices are only the cheap way to make such an M.",
                finds(A),
            ),
            Option(
                "Wider keys: twice as many columns in the one matrix W.",
                "How many columns W has stands in neither identity. Is W W' still symmetric?",
                finds(np.hstack([A, B]) @ np.hstack([A, B]).T),
            ),
        ),
        hints=(
            "Two limits: one about pairs, one about rings. Which one does each change touch?",
            "The ring identity needs one property of M only. Which?",
            "As long as M equals its transpose, the gains around a ring add up to 0.",
        ),
        solution=(
            "**One free matrix.** The ring identity holds for every symmetric M, with any signs,"
            " any mask and any width. Only an M that differs from its transpose escapes."
        ),
    )


@register("why_three.ring_of_five")
def ring_of_five() -> Number:
    """Derive the ceiling of symmetric scores on rings of five."""
    n = 5
    answer = 100 * ((n - 1) / n + 1 / (n * N_VALUES))
    return Number(
        title="Derive it: rings of five",
        prompt=(
            "Each of five tokens on a ring must say the value of its successor; there are 16"
            " values. The scores are symmetric. Write a_t for the score of token t with its"
            " successor, add up what every token gains over its predecessor, and say: which share"
            " of answers is the highest possible? In percent. A token that looks at the wrong"
            " neighbour is still right when both hold the same value."
        ),
        label="At most, %",
        answer=answer,
        tolerance=0.06,
        right="Right. On a ring of n the ceiling is (n − 1)/n + 1/(16 n).",
        otherwise="How many of the five gains can be positive if they add up to 0?",
        wrong=(
            Wrong(100 * (n - 1) / n, "Almost: is the one that fails never right by luck?"),
            Wrong(
                100 * (n - 2) / n + 200 / (n * N_VALUES),
                "You gave up two tokens. Must two gains be negative for the sum to be 0?",
            ),
            Wrong(50 + 50 / N_VALUES, "That is two values averaged. Is every token torn here?"),
            Wrong(100 * (11 / 12 + 1 / 192), "That is the ring of twelve. How long is this one?"),
            Wrong(100 * (2 / 3 + 1 / 48), "That is the ring of three. How long is this one?"),
            Wrong(100, "The five gains add up to 0. Can all of them be positive?"),
        ),
        hints=(
            "Token t gains a_t − a_(t−1): the score with its successor, less that with its"
            " predecessor.",
            "Once around, every a_t comes once with plus and once with minus.",
            "Four tokens can win; the fifth is right once in 16: (4 + 1/16) / 5.",
        ),
        solution=(
            "The gains add up to 0, so at least one is not positive; four can be, for instance with"
            f" a_t growing along the ring. (4 + 1/16) / 5 = {answer:.2f} %."
        ),
    )


@register("why_three.weights")
def weights() -> Row:
    """Count the weights behind the scores, four ways."""
    d, d_k = 48, 8
    W, M = np.ones((d, d_k)), np.ones((d, d))
    upper = int(np.triu(M).sum())
    right = (2 * W.size, W.size, M.size, upper)
    return Row(
        title="What each way of scoring costs",
        prompt=(
            f"X has {d} columns, d_k is {d_k}. How many numbers are learned for the scores alone"
            " with W_Q and W_K, with W_Q = W_K, with one free M, and with one free symmetric M?"
        ),
        labels=("W_Q and W_K", "W_Q = W_K", "free M", "free symmetric M"),
        answer=tuple(float(count) for count in right),
        right="Right. The pair is the cheapest that can be asymmetric.",
        otherwise="For each: what is its shape, and which of its entries are free?",
        wrong=(
            Wrong(
                (right[0], right[1], right[2], right[2]),
                "You counted a symmetric matrix in full. Which entries follow from others?",
            ),
            Wrong(
                (right[0], right[1], right[2], right[2] // 2),
                "Half of all entries: did you halve the diagonal too?",
            ),
            Wrong(
                (right[0], right[1], right[2], d * (d - 1) // 2),
                "You left out the diagonal. Is it fixed by the symmetry?",
            ),
            Wrong(
                (right[1], right[1], right[2], upper),
                "You counted one matrix for the pair. How many are learned?",
            ),
            Wrong(
                (right[0], right[1], d_k * d_k, d_k * (d_k + 1) // 2),
                "Your M is d_k wide. Which rows does x M x' multiply it with?",
            ),
        ),
        hints=(
            "M stands between two rows of X: it has as many rows and columns as X has columns.",
            "A symmetric matrix is known from its diagonal and one triangle.",
            f"2 · {d} · {d_k}, {d} · {d_k}, {d}², {d} · {d + 1} / 2.",
        ),
        solution=f"{right[0]}, {right[1]}, {right[2]} and {right[3]}.",
    )


# --- in the notebook -----------------------------------------------------------------------------


def _bend(M: np.ndarray) -> float:
    return float(np.linalg.eigvalsh((M + M.T) / 2)[0])


def _square(rng: np.random.Generator) -> Case:
    (d,) = sizes(rng, 1)
    M = numbers(rng, d, d)
    return Case((M,), _bend(M))


def _bend_small(rng: np.random.Generator) -> Case:
    M = numbers(rng, 2, 2)
    return Case((M,), _bend(M))


def _bend_factors(rng: np.random.Generator) -> Case:
    W_Q, W_K = numbers(rng, 2, 7, 3)
    return Case((W_Q @ W_K.T,), _bend(W_Q @ W_K.T))


@register("why_three.smallest_bend")
def smallest_bend() -> Code:
    """Find how far below zero the symmetric part of M reaches."""
    return Code(
        title="Derive and check: can two tokens prefer each other?",
        function="smallest_bend",
        prompt=(
            r"The two margins of a pair add up to $-\delta M \delta\T$ with $\delta = x_i - x_j$."
            r" Return the smallest value that $\delta M \delta\T$ takes over all $\delta$ of length"
            r" 1. Below zero: some pair can prefer each other. (Only the symmetric part of $M$"
            r" counts; its smallest eigenvalue is that value.)"
        ),
        stub=(
            "def smallest_bend(M):\n"
            '    """Return the minimum of d @ M @ d over all d of length 1."""\n'
            '    raise NotImplementedError("why_three.smallest_bend")\n'
        ),
        rungs=(
            Rung(
                "two columns",
                _bend_small,
                "Try d = (1, 0), (0, 1) and the turns between them. Which number is the smallest"
                " that d M d' takes?",
                (
                    Slip(
                        "forgets the half",
                        lambda M: np.linalg.eigvalsh(M + M.T)[0],
                        "Yours is twice too large. What is the symmetric part of a number: m + m,"
                        " or half of that?",
                    ),
                    Slip(
                        "one triangle only",
                        lambda M: np.linalg.eigvalsh(M)[0],
                        "`eigvalsh` reads one triangle and believes the other. Which matrix should"
                        " it be given?",
                    ),
                    Slip(
                        "largest",
                        lambda M: np.linalg.eigvalsh((M + M.T) / 2)[-1],
                        "That is the largest value. Which end of the list is the smallest?",
                    ),
                    Slip(
                        "smallest in size",
                        lambda M: np.abs(np.linalg.eigvalsh((M + M.T) / 2)).min(),
                        "You took sizes. Is a value of −5 smaller or larger than 1?",
                    ),
                    Slip(
                        "eigenvalues of M",
                        lambda M: np.linalg.eigvals(M).real.min(),
                        "Those are eigenvalues of M itself, which may be complex. What of M"
                        " survives in d M d'?",
                    ),
                    Slip(
                        "singular values",
                        lambda M: np.linalg.svd(M, compute_uv=False).min(),
                        "Singular values are never negative. Can d M d' be?",
                    ),
                    Slip(
                        "smallest entry of the diagonal",
                        lambda M: np.diag(M).min(),
                        "You tried only directions along the axes. What of those between them?",
                    ),
                    Slip(
                        "the antisymmetric part",
                        lambda M: np.linalg.eigvals((M - M.T) / 2).real.min(),
                        "You kept the antisymmetric part. What does it give in d M d'?",
                    ),
                ),
            ),
            Rung("any width", _square, "M is wider now. Which line counts on two columns?"),
            Rung(
                "made of W_Q and W_K",
                _bend_factors,
                "M is the product of two narrow matrices here. Does your code ask for its inverse?",
            ),
        ),
        hints=(
            "d M d' is a number, so it equals its own transpose d M' d'. Take the mean of both.",
            "The symmetric part is (M + M') / 2; `np.linalg.eigvalsh` gives its eigenvalues, the"
            " smallest first.",
            "`np.linalg.eigvalsh((M + M.T) / 2)[0]`.",
        ),
        solution=(
            "```python\n"
            "def smallest_bend(M):\n"
            "    return np.linalg.eigvalsh((M + M.T) / 2)[0]\n"
            "```\n\n"
            "For M = W W' it is never below 0, whatever W is: d W W' d' is the squared length of"
            " d W."
        ),
    )


def _repaired(X: np.ndarray, W: np.ndarray, W_V: np.ndarray) -> np.ndarray:
    mask = ~np.eye(len(X), dtype=bool)
    return scaled_dot_product_attention(X @ W, X @ W, X @ W_V, mask)[0]


def _shared_case(rng: np.random.Generator, n: int, d: int, d_k: int, d_v: int) -> Case:
    X, W, W_V = numbers(rng, n, d) / 2, numbers(rng, d, d_k) / 2, numbers(rng, d, d_v)
    return Case((X, W, W_V), _repaired(X, W, W_V))


def _two_tokens(rng: np.random.Generator) -> Case:
    return _shared_case(rng, 2, *sizes(rng, 3))


def _more_tokens(rng: np.random.Generator) -> Case:
    d, d_k, d_v = sizes(rng, 3)
    return _shared_case(rng, 6, d, d_k, d_v)


def _shared_scores(X: np.ndarray, W: np.ndarray) -> np.ndarray:
    return X @ W @ (X @ W).T / np.sqrt(W.shape[1])


def _off(X: np.ndarray) -> np.ndarray:
    return ~np.eye(len(X), dtype=bool)


@register("why_three.repair")
def repair() -> Code:
    """Repair shared-QK attention that masks in the wrong place."""
    return Code(
        title="Repair this code: shared-QK",
        function="shared_attention",
        prompt=(
            "This head uses one matrix for queries and keys, and no token may look at itself. It"
            " runs, and it is wrong:\n\n"
            "```python\n"
            "def shared_attention(X, W, W_V):\n"
            "    u = X @ W\n"
            "    scores = u @ u.T / np.sqrt(X.shape[1])\n"
            "    weights = qkv.softmax(scores)\n"
            "    np.fill_diagonal(weights, 0)\n"
            "    return weights @ X @ W_V\n"
            "```\n\n"
            "Two lines are to blame. Return the output as it should be."
        ),
        stub=(
            "def shared_attention(X, W, W_V):\n"
            '    """Return the output; queries and keys are X @ W, no token sees itself."""\n'
            '    raise NotImplementedError("why_three.repair")\n'
        ),
        rungs=(
            Rung(
                "two tokens",
                _two_tokens,
                "With two tokens each can look at the other only. Whose value must it return?",
                (
                    Slip(
                        "no mask",
                        lambda X, W, W_V: softmax(_shared_scores(X, W)) @ X @ W_V,
                        "Each token still sees itself. Where are the scores of the diagonal taken"
                        " out?",
                    ),
                    Slip(
                        "zero weights after the softmax",
                        lambda X, W, W_V: softmax(_shared_scores(X, W)) * _off(X) @ X @ W_V,
                        "Your rows no longer sum to 1: the diagonal was taken out after the"
                        " softmax. When must it go?",
                    ),
                    Slip(
                        "zero scores",
                        lambda X, W, W_V: softmax(_shared_scores(X, W) * _off(X)) @ X @ W_V,
                        "A score of 0 still gets weight. Which score gets none?",
                    ),
                    Slip(
                        "keeps the diagonal only",
                        lambda X, W, W_V: X @ W_V,
                        "Each token returns its own value. Did the mask keep what it should take"
                        " out?",
                    ),
                    Slip(
                        "hands over X",
                        lambda X, W, W_V: (
                            softmax(np.where(_off(X), _shared_scores(X, W), -np.inf)) @ X
                        ),
                        "You return means of X. What does a token hand over?",
                    ),
                ),
            ),
            Rung(
                "six tokens",
                _more_tokens,
                "Five others are to be seen now. By what are the scores divided, and along which"
                " axis do the weights sum to 1?",
                (
                    Slip(
                        "root of the wrong width",
                        lambda X, W, W_V: (
                            softmax(
                                np.where(
                                    _off(X),
                                    _shared_scores(X, W) * np.sqrt(W.shape[1] / X.shape[1]),
                                    -np.inf,
                                )
                            )
                            @ X
                            @ W_V
                        ),
                        "You divide by the root of X's width. How many columns has a query?",
                    ),
                    Slip(
                        "no scale",
                        lambda X, W, W_V: (
                            softmax(
                                np.where(
                                    _off(X), _shared_scores(X, W) * np.sqrt(W.shape[1]), -np.inf
                                )
                            )
                            @ X
                            @ W_V
                        ),
                        "Your scores are not divided by anything. What is missing?",
                    ),
                    Slip(
                        "softmax over the queries",
                        lambda X, W, W_V: (
                            softmax(np.where(_off(X), _shared_scores(X, W), -np.inf)).T @ X @ W_V
                        ),
                        "Your columns sum to 1, not your rows. Who shares out its attention?",
                    ),
                    Slip(
                        "hides the future too",
                        lambda X, W, W_V: (
                            softmax(
                                np.where(np.tri(len(X), k=-1) > 0, _shared_scores(X, W), -np.inf)
                            )
                            @ X
                            @ W_V
                        ),
                        "Your tokens see only what stands before them. Which pairs are forbidden"
                        " here?",
                    ),
                ),
            ),
        ),
        hints=(
            "One wrong line is about a width, the other about an order of two steps.",
            "Put −inf into the scores on the diagonal, before the softmax.",
            "`scores = np.where(np.eye(len(X), dtype=bool), -np.inf, u @ u.T /"
            " np.sqrt(W.shape[1]))`.",
        ),
        solution=(
            "```python\n"
            "def shared_attention(X, W, W_V):\n"
            "    u = X @ W\n"
            "    scores = u @ u.T / np.sqrt(W.shape[1])\n"
            "    np.fill_diagonal(scores, -np.inf)\n"
            "    weights = np.exp(scores - scores.max(axis=1, keepdims=True))\n"
            "    weights /= weights.sum(axis=1, keepdims=True)      # or qkv.softmax(scores)\n"
            "    return weights @ X @ W_V\n"
            "```\n\n"
            "The scores are divided by the root of W's columns, and the mask comes before the"
            " softmax, so that each row still sums to 1."
        ),
    )


def _share(S: np.ndarray) -> float:
    return float((((S - S.T) / 2) ** 2).sum() / (S**2).sum())


def _any_scores(rng: np.random.Generator) -> Case:
    (n,) = sizes(rng, 1)
    S = numbers(rng, n, n)
    return Case((S,), _share(S))


def _one_pair(rng: np.random.Generator) -> Case:
    S = numbers(rng, 2, 2)
    return Case((S,), _share(S))


def _tied_scores(rng: np.random.Generator) -> Case:
    X, W = numbers(rng, 5, 7), numbers(rng, 7, 3)
    S = bilinear_scores(X, X, W @ W.T)
    return Case(((S + S.T) / 2,), 0.0)


@register("why_three.asymmetry")
def asymmetry() -> Code:
    """Write the test that exposes tied matrices from the scores alone."""
    return Code(
        title="Write the test that exposes a tie",
        function="asymmetry",
        prompt=(
            "You are given the scores S of a head and not its matrices. Return the share of S that"
            r" is antisymmetric: the sum of the squares of $(S - S\T)/2$, divided by the sum of the"
            " squares of S. It is 0 for a head with W_Q = W_K on every input, so a single input"
            " with more than 0 acquits it."
        ),
        stub=(
            "def asymmetry(S):\n"
            '    """Return the antisymmetric share of S, between 0 and 1."""\n'
            '    raise NotImplementedError("why_three.asymmetry")\n'
        ),
        rungs=(
            Rung(
                "two tokens",
                _one_pair,
                "With two tokens two entries can differ from their mirror images. What is squared,"
                " and by what is it divided?",
                (
                    Slip(
                        "forgets the half",
                        lambda S: ((S - S.T) ** 2).sum() / (S**2).sum(),
                        "Yours is four times too large. Half of what was to be squared?",
                    ),
                    Slip(
                        "does not square",
                        lambda S: np.sqrt((((S - S.T) / 2) ** 2).sum() / (S**2).sum()),
                        "Yours is the root of the share. Which step is one too many?",
                    ),
                    Slip(
                        "adds with signs",
                        lambda S: ((S - S.T) / 2).sum() / S.sum(),
                        "Your differences cancel each other, so every head looks tied. What keeps"
                        " them from cancelling?",
                    ),
                    Slip(
                        "symmetric share",
                        lambda S: (((S + S.T) / 2) ** 2).sum() / (S**2).sum(),
                        "That is the symmetric share. Which of the two parts is asked for?",
                    ),
                    Slip(
                        "compares with the symmetric part",
                        lambda S: ((S - S.T) ** 2).sum() / ((S + S.T) ** 2).sum(),
                        "You divide by the symmetric part. Of what is it to be a share?",
                    ),
                    Slip(
                        "largest difference",
                        lambda S: np.abs(S - S.T).max(),
                        "That grows with the scores. What makes it a share?",
                    ),
                    Slip(
                        "tests the weights",
                        lambda S: _share(softmax(S)),
                        "You tested the weights. Why are they asymmetric even for a tied head?",
                    ),
                ),
            ),
            Rung(
                "more tokens",
                _any_scores,
                "More pairs now. Does every pair count, and each of its two entries?",
            ),
            Rung(
                "a tied head",
                _tied_scores,
                "These scores come from W_Q = W_K. What must a test say that is to expose it?",
            ),
        ),
        hints=(
            "Every S is a symmetric part plus an antisymmetric part.",
            "The antisymmetric part is (S − S') / 2. Square its entries and add them up.",
            "`(((S - S.T) / 2) ** 2).sum() / (S**2).sum()`.",
        ),
        solution=(
            "```python\n"
            "def asymmetry(S):\n"
            "    return (((S - S.T) / 2) ** 2).sum() / (S**2).sum()\n"
            "```\n\n"
            "The two parts are at right angles, so the shares add up to 1. The test needs the"
            " scores: after the softmax a tied head no longer looks tied."
        ),
    )
