"""The exercises of chapter 8: one, two or three arrays."""

# ruff: noqa: RUF001 (a minus sign is a minus sign)

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np

from qkv.checks.answers import written
from qkv.checks.arrangement import Cell
from qkv.checks.engine import register
from qkv.checks.exercise import Case, Choice, Code, Number, Option, Row, Rung, Slip, Wrong
from qkv.checks.ladder import numbers, sizes
from qkv.core.dot_product import dot_product_scores
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


@register("why_three.harmless")
def harmless() -> Choice:
    """Say which missing piece costs nothing: a matrix that another one can swallow."""
    rng = np.random.default_rng(1)
    X, W_V, W_O = (rng.normal(size=shape) for shape in ((7, 5), (5, 3), (3, 5)))
    w = softmax(rng.normal(size=(7, 7)))
    swallowed = np.allclose(w @ X @ (W_V @ W_O), w @ (X @ W_V) @ W_O)
    wanted = w @ X @ W_V @ W_O  # is it some mean of the rows of X?
    means, *_ = np.linalg.lstsq(X[:4].T, wanted.T, rcond=None)
    means_only = np.allclose(X[:4].T @ means, wanted.T)
    return Choice(
        title="Which missing piece costs nothing?",
        prompt=(
            "One head, and of everything else enough. Four times one piece is taken away. In which"
            " of the four can *every* function of the whole head still be had?"
        ),
        options=(
            Option(
                "K = V, with as few columns as the matching alone needs",
                "One array must be found by its columns and hand the same columns over. What is"
                " left for the message when all of them are busy being found?",
                False,
            ),
            Option(
                "V = X and no W_O; the output is added to the stream and read by the embedding",
                "What is handed over is then a weighted mean of rows as they are. How could such a"
                " mean say *the value after* the partner's?",
                bool(means_only),
            ),
            Option(
                "V = X, and a free W_O of full size after it",
                "Weights act on rows, W_V on columns, so the order does not matter: W_O takes over"
                " what the product of W_V and W_O did. It only costs more numbers.",
                bool(swallowed),
            ),
            Option(
                "W_Q = W_K, in self-attention, where each must find its partner",
                "Add the two margins of a pair. Can both be positive when M is W W'?",
                False,
            ),
        ),
        hints=(
            "Write the output as weights · X · something. Which pieces act on columns only?",
            "Two matrices in a row can be multiplied into one. Which two stand in a row?",
            "weights (X W_V) W_O = weights X (W_V W_O).",
        ),
        solution=(
            "**V = X with a free W_O.** Any W_V W_O is some W_O. Without W_O, in a residual stream,"
            " the head can hand over rows only as they are; and K = V needs columns for both jobs."
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


@register("why_three.one_of_two")
def one_of_two() -> Cell:
    """Find the one token that prefers another in a table of tied scores."""
    u = np.array([[1.0, 0.0], [2.0, 1.0], [-1.0, 2.0]])
    names = ("A", "B", "C")
    scores = dot_product_scores(u, u)
    better = np.argwhere(scores > np.diag(scores)[:, None])
    (found,) = [(int(i), int(j)) for i, j in better]
    i, j = found
    return Cell(
        title="Who prefers another to itself?",
        prompt=(
            "Tied scores, W_Q = W_K, of three tokens. One token has a larger score with"
            " another token"
            " than with itself. Mark this score."
        ),
        rows=names,
        columns=names,
        digits=0,
        values=tuple(tuple(float(s) for s in row) for row in scores),
        answer=found,
        right=(
            f"Right: {names[i]} scores {written(scores[i, j])} with {names[j]} and"
            f" {written(scores[i, i])} with itself. The other way round it cannot be:"
            f" {names[j]} has the longer vector, and prefers itself."
        ),
        in_row=(
            "The row is right. Compare its other scores with the one on the diagonal: which is"
            " larger?"
        ),
        in_column="Compare this score with the diagonal of its own *row*. Is it larger?",
        otherwise="Go row by row: is any score larger than the one on the row's diagonal?",
        wrong=(
            Wrong(
                (j, i), "The same number, in another row. Is it larger than that row's diagonal?"
            ),
            Wrong(
                (j, j),
                "The largest number of the table. But does it say that a token prefers *another*?",
            ),
            Wrong((i, i), "That is the token with itself. Which score beats it?"),
            Wrong((2, 2), "That is a token with itself. Which one prefers another?"),
        ),
        hints=(
            "The diagonal holds each token with itself.",
            "In which row is the diagonal not the largest?",
            "Look at the shortest vector: its score with itself is small.",
        ),
        solution=(
            f"({names[i]}, {names[j]}): {written(scores[i, j])} > {written(scores[i, i])}. The"
            " table is"
            f" symmetric, so ({names[j]}, {names[i]}) holds the same number, and there it is"
            " less than"
            f" {written(scores[j, j])}. With tied matrices at most one of two tokens can prefer the"
            " other to itself."
        ),
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


Head = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def _shared_head(X: np.ndarray) -> Head:
    """Return a head over X in which keys and values are one array."""

    def head(W_Q: np.ndarray, W_KV: np.ndarray, W_O: np.ndarray) -> np.ndarray:
        q, kv = X @ np.asarray(W_Q), X @ np.asarray(W_KV)
        if q.shape[-1] != kv.shape[-1]:
            raise ValueError(f"Q has {q.shape[-1]} columns, the one array has {kv.shape[-1]}")
        if kv.shape[-1] != np.shape(W_O)[-2]:
            raise ValueError(f"the array has {kv.shape[-1]} columns, W_O {np.shape(W_O)[-2]} rows")
        scores = q @ np.swapaxes(kv, -1, -2) / np.sqrt(kv.shape[-1])
        return softmax(scores) @ kv @ W_O

    return head


def _one_array_case(rng: np.random.Generator, d_k: int, d_v: int, *heads: int) -> Case:
    n, d = 5, 6
    X = 0.5 * numbers(rng, n, d)
    W_Q, W_K, W_V = (0.5 * numbers(rng, *heads, d, width) for width in (d_k, d_k, d_v))
    W_O = numbers(rng, *heads, d_v, d)
    output, _ = scaled_dot_product_attention(X @ W_Q, X @ W_K, X @ W_V)
    return Case((_shared_head(X), W_Q, W_K, W_V, W_O), output @ W_O)


def _packed(
    head: Head,
    W_Q: np.ndarray,
    W_K: np.ndarray,
    W_V: np.ndarray,
    W_O: np.ndarray,
    root: float,
    query: str,
) -> np.ndarray:
    """Call the shared head with keys and values side by side; `query` says what is asked."""
    d_k, d_v = W_K.shape[-1], W_V.shape[-1]
    nothing = np.zeros((*W_Q.shape[:-1], d_v))
    if query == "both":
        nothing = np.resize(np.swapaxes(W_Q, -1, -2), (*W_Q.shape[:-2], d_v, W_Q.shape[-2]))
        nothing = np.swapaxes(nothing, -1, -2) * root
    asked = [root * W_Q, nothing]
    none = np.zeros((*W_O.shape[:-2], d_k, W_O.shape[-1]))
    return head(
        np.concatenate(asked if query != "values" else asked[::-1], axis=-1),
        np.concatenate([W_K, W_V], axis=-1),
        np.concatenate([none, W_O], axis=-2),
    )


def _pack_slip(
    name: str, question: str, root: Callable[[int, int], float], query: str = "keys"
) -> Slip:
    def compute(
        head: Head, W_Q: np.ndarray, W_K: np.ndarray, W_V: np.ndarray, W_O: np.ndarray
    ) -> np.ndarray:
        factor = root(W_K.shape[-1], W_V.shape[-1])
        return _packed(head, W_Q, W_K, W_V, W_O, factor, query)

    return Slip(name, compute, question)


def _right_root(d_k: int, d_v: int) -> float:
    return float(np.sqrt((d_k + d_v) / d_k))


@register("why_three.one_array")
def one_array() -> Code:
    """Make a head with K = V do what an ordinary head does, and see what it costs."""
    return Code(
        title="What K = V costs",
        function="one_array",
        prompt=(
            r"`head(W_Q, W_KV, W_O)` is a head with $\K = \V$ over a sentence that you do not see:"
            r" it makes $\Q = \X\WQ$ and *one* array $\X W_{KV}$ that is both K and V, divides the"
            " scores by the root of **its own** number of columns, and multiplies what it hands"
            " over by W_O. You are given an ordinary head's W_Q, W_K, W_V, W_O. Return"
            " `head(...)` with matrices of your making, such that its output is the ordinary"
            " head's. How many more columns than d_k did you need?"
        ),
        stub=(
            "def one_array(head, W_Q, W_K, W_V, W_O):\n"
            '    """Return head(...) with K = V, equal to the head of the four matrices."""\n'
            '    raise NotImplementedError("why_three.one_array")\n'
        ),
        rungs=(
            Rung(
                "one head",
                lambda rng: _one_array_case(rng, 4, 3),
                "One array has to be found and to be handed over. Which of its columns are for"
                " which job, and who must not see the others?",
                (
                    _pack_slip(
                        "no root",
                        "Nearly: the weights are too even. By which root does this head divide, and"
                        " by which does the ordinary one?",
                        lambda d_k, d_v: 1.0,
                    ),
                    _pack_slip(
                        "root upside down",
                        "Your factor makes the weights more even still. Which of the two roots is"
                        " the larger?",
                        lambda d_k, d_v: 1 / _right_root(d_k, d_v),
                    ),
                    _pack_slip(
                        "no root in the factor",
                        "Your factor is too large. Is it columns or their roots that are divided"
                        " by?",
                        lambda d_k, d_v: (d_k + d_v) / d_k,
                    ),
                    _pack_slip(
                        "the widths of the other",
                        "Your factor compares with d_v. Which width did the ordinary head divide"
                        " by?",
                        lambda d_k, d_v: float(np.sqrt((d_k + d_v) / d_v)),
                    ),
                    _pack_slip(
                        "the query asks the values",
                        "Your queries meet the columns of the values. In which order stand the"
                        " columns of the one array?",
                        _right_root,
                        query="values",
                    ),
                    _pack_slip(
                        "the query asks both",
                        "Your queries meet the keys' columns and the values'. What must a query"
                        " hold where it is not to ask?",
                        _right_root,
                        query="both",
                    ),
                    Slip(
                        "keys alone",
                        lambda head, Q, K, V, out: head(
                            Q, K, np.resize(out, (K.shape[-1], out.shape[-1]))
                        ),
                        "Your one array holds the keys only. Where does the value come from?",
                    ),
                ),
                crash="Your code stopped. How many columns has the one array, and how many columns"
                " and rows do the matrices before and behind it need?",
            ),
            Rung(
                "more values than keys",
                lambda rng: _one_array_case(rng, 2, 5),
                "Here d_v is larger than d_k. Which of your sizes were right by luck?",
                crash="Here d_v is larger than d_k. Which of your sizes were right by luck?",
            ),
            Rung(
                "three heads at once",
                lambda rng: _one_array_case(rng, 4, 2, 3),
                "There is an axis of heads in front now. Along which axes do you join?",
                crash="There is an axis of heads in front now. Which line counts axes from the"
                " front?",
            ),
        ),
        hints=(
            "Put the keys and the values side by side: W_KV = [W_K, W_V], d_k + d_v columns.",
            "Where the values stand, give the query zeros, so that they do not add to a score."
            " Where the keys stand, give W_O rows of zeros, so that they are not handed over.",
            "The head divides by the root of d_k + d_v. Multiply W_Q by the root of"
            " (d_k + d_v) / d_k, and the scores are the old ones.",
        ),
        solution=(
            "```python\n"
            "def one_array(head, W_Q, W_K, W_V, W_O):\n"
            "    d_k, d_v = W_K.shape[-1], W_V.shape[-1]\n"
            "    asks = W_Q * np.sqrt((d_k + d_v) / d_k)\n"
            "    silent = np.zeros(W_V.shape)\n"
            "    kept = np.zeros((*W_O.shape[:-2], d_k, W_O.shape[-1]))\n"
            "    return head(np.concatenate([asks, silent], axis=-1),\n"
            "                np.concatenate([W_K, W_V], axis=-1),\n"
            "                np.concatenate([kept, W_O], axis=-2))\n"
            "```\n\n"
            "d_v more columns, and nothing is lost: K = V costs nothing where the one array is as"
            " wide as both jobs together. With fewer columns something has to give, and training"
            " shows where."
        ),
    )


class _Training:
    """Accuracies of a setting by seed, drawn from a key; a run may be had once or often."""

    def __init__(self, key: int, noise: tuple[float, float, float], luck: float, once: bool):
        self.key, self.noise, self.luck, self.once = key, noise, luck, once
        self.runs: list[tuple[str, int]] = []

    def __repr__(self) -> str:
        return "train"

    def __call__(self, setting: str, seed: int) -> float:
        names = ("whole", "removed", "baseline")
        if setting not in names:
            raise KeyError(f"{setting!r}: the settings are {', '.join(names)}")
        if self.once and (setting, int(seed)) in self.runs:
            raise RuntimeError(f"{setting}, seed {seed}: trained before, and a run takes an hour")
        self.runs.append((setting, int(seed)))
        number = names.index(setting)
        own = np.random.default_rng([self.key, number, int(seed)]).normal()
        shared = np.random.default_rng([self.key, 9, int(seed)]).normal()
        middle = (90.0, 60.0, 25.0)[number] + self.key % 7
        return float(middle + self.noise[number] * own + self.luck * shared)


def _evidence(train: Callable[[str, int], float], seeds: list[int]) -> tuple[np.ndarray, ...]:
    runs = np.array([[train(s, n) for n in seeds] for s in ("whole", "removed", "baseline")])
    cost = runs[0] - runs[1]
    return (
        runs.mean(axis=1),
        runs.std(axis=1, ddof=1),
        np.array([cost.mean(), cost.std(ddof=1)]),
    )


def _compare_case(
    rng: np.random.Generator,
    noise: tuple[float, float, float],
    luck: float = 0.0,
    once: bool = False,
) -> Case:
    seeds = [int(seed) for seed in rng.choice(np.arange(10, 99), size=7, replace=False)]
    key = int(rng.integers(1, 10_000))
    expected = _evidence(_Training(key, noise, luck, once=False), seeds)
    return Case((_Training(key, noise, luck, once), seeds), expected)


def _evidence_slip(
    name: str,
    question: str,
    mean: Callable[[np.ndarray], np.ndarray] = lambda runs: runs.mean(axis=1),
    spread: Callable[[np.ndarray], np.ndarray] = lambda runs: runs.std(axis=1, ddof=1),
    cost: Callable[[np.ndarray], tuple[float, float]] = lambda runs: (
        float((runs[0] - runs[1]).mean()),
        float((runs[0] - runs[1]).std(ddof=1)),
    ),
    seeds_of: Callable[[int, list[int]], list[int]] = lambda setting, seeds: seeds,
) -> Slip:
    def compute(train: Callable[[str, int], float], seeds: list[int]) -> tuple[np.ndarray, ...]:
        names = ("whole", "removed", "baseline")
        runs = np.array([[train(s, n) for n in seeds_of(i, seeds)] for i, s in enumerate(names)])
        return mean(runs), spread(runs), np.array(cost(runs))

    return Slip(name, compute, question)


@register("why_three.compare")
def compare() -> Code:
    """Test a claim: a piece removed, a baseline beside it, several seeds."""
    return Code(
        title="Remove a piece, honestly",
        function="compare",
        returns=("means", "spreads", "cost"),
        prompt=(
            "Somebody claims that a piece of the layer is needed. `train(setting, seed)` trains a"
            ' model and returns its accuracy in percent; the settings are `"whole"`,'
            ' `"removed"` (the piece taken out) and `"baseline"` (no attention at all).'
            " Train each with every one of the given seeds, once. Return **means** (three numbers,"
            " in this order), **spreads** (the three sample standard deviations over the seeds,"
            " divided by n − 1) and **cost**: the mean and the sample standard deviation of whole"
            " minus removed, taken seed by seed."
        ),
        stub=(
            "def compare(train, seeds):\n"
            '    """Return means (3), spreads (3) and cost (2) over the seeds."""\n'
            '    raise NotImplementedError("why_three.compare")\n'
        ),
        rungs=(
            Rung(
                "no luck at all",
                lambda rng: _compare_case(rng, (0.0, 0.0, 0.0)),
                "Here every seed gives the same number. Which three settings, in which order, and"
                " what minus what?",
                (
                    _evidence_slip(
                        "another order",
                        "Your three settings stand in another order than whole, removed, baseline."
                        " Which is which?",
                        mean=lambda runs: runs.mean(axis=1)[::-1],
                    ),
                    _evidence_slip(
                        "no baseline",
                        "Your baseline is 0. What does this task give to a model that looks at"
                        " nothing?",
                        mean=lambda runs: runs.mean(axis=1) * [1, 1, 0],
                    ),
                    _evidence_slip(
                        "against the baseline",
                        "Your cost is whole minus baseline: what attention is worth. What is the"
                        " *piece* worth?",
                        cost=lambda runs: (float((runs[0] - runs[2]).mean()), 0.0),
                    ),
                    _evidence_slip(
                        "the other sign",
                        "Your cost has the other sign. Is a piece that helps a positive cost when"
                        " it goes?",
                        cost=lambda runs: (float((runs[1] - runs[0]).mean()), 0.0),
                    ),
                    _evidence_slip(
                        "a share",
                        "You gave the cost as a share of the whole. In which unit are accuracies"
                        " subtracted?",
                        cost=lambda runs: (float(1 - runs[1].mean() / runs[0].mean()), 0.0),
                    ),
                ),
            ),
            Rung(
                "one setting that varies",
                lambda rng: _compare_case(rng, (0.0, 6.0, 3.0)),
                "Now the seeds differ. Over which runs is your mean, and from what does your spread"
                " count?",
                (
                    _evidence_slip(
                        "the best seed",
                        "You report each setting's best seed. What would a coin report that was"
                        " thrown often enough?",
                        mean=lambda runs: runs.max(axis=1),
                    ),
                    _evidence_slip(
                        "the median",
                        "These are the medians. Which middle is asked for?",
                        mean=lambda runs: np.median(runs, axis=1),
                    ),
                    _evidence_slip(
                        "divided by n",
                        "Your spread is a little too small: you divided by n. From how many runs"
                        " was the mean itself taken?",
                        spread=lambda runs: runs.std(axis=1),
                        cost=lambda runs: (
                            float((runs[0] - runs[1]).mean()),
                            float((runs[0] - runs[1]).std()),
                        ),
                    ),
                    _evidence_slip(
                        "the error of the mean",
                        "You divided by the root of n as well. Is it asked how far runs lie apart,"
                        " or how well their mean is known?",
                        spread=lambda runs: runs.std(axis=1, ddof=1) / np.sqrt(runs.shape[1]),
                    ),
                    _evidence_slip(
                        "lowest to highest",
                        "Your spread is highest minus lowest. Does that stay as it is when more"
                        " seeds are run?",
                        spread=lambda runs: np.ptp(runs, axis=1),
                    ),
                    _evidence_slip(
                        "seeds counted from 0",
                        "These are the runs of the seeds 0, 1, 2, …. Which seeds were you given?",
                        seeds_of=lambda setting, seeds: list(range(len(seeds))),
                    ),
                    _evidence_slip(
                        "one seed",
                        "You ran the first seed only. What would the second have said?",
                        mean=lambda runs: runs[:, 0],
                        spread=lambda runs: np.zeros(3),
                        cost=lambda runs: (float(runs[0, 0] - runs[1, 0]), 0.0),
                    ),
                ),
            ),
            Rung(
                "luck that both share",
                lambda rng: _compare_case(rng, (1.0, 2.0, 1.0), luck=8.0),
                "A seed here is good or bad for all settings alike. Is your cost taken seed by"
                " seed, before anything is averaged?",
                (
                    _evidence_slip(
                        "as if they were strangers",
                        "You added the two variances. That holds when the runs know nothing of each"
                        " other: do two runs with one seed?",
                        cost=lambda runs: (
                            float((runs[0] - runs[1]).mean()),
                            float(np.hypot(*runs[:2].std(axis=1, ddof=1))),
                        ),
                    ),
                    _evidence_slip(
                        "difference of the spreads",
                        "You subtracted the spreads. What is the spread of the differences?",
                        cost=lambda runs: (
                            float((runs[0] - runs[1]).mean()),
                            float(abs(np.subtract(*runs[:2].std(axis=1, ddof=1)))),
                        ),
                    ),
                    _evidence_slip(
                        "sorted first",
                        "You paired the best run with the best, the worst with the worst. Which two"
                        " runs belong together?",
                        cost=lambda runs: (
                            float((runs[0] - runs[1]).mean()),
                            float((np.sort(runs[0]) - np.sort(runs[1])).std(ddof=1)),
                        ),
                    ),
                ),
            ),
            Rung(
                "a run takes an hour",
                lambda rng: _compare_case(rng, (1.0, 2.0, 1.0), luck=3.0, once=True),
                "Here a run can be had only once. What do you keep?",
                crash="A setting was trained twice with one seed, and a run takes an hour. Where"
                " could its number be kept?",
            ),
        ),
        hints=(
            "Train everything first: a table with one row a setting and one column a seed.",
            "Means and spreads go along the row; np.std divides by n unless you give it ddof=1.",
            "For the cost subtract row 1 from row 0, column by column, and only then take the mean"
            " and the spread of what is left.",
        ),
        solution=(
            "```python\n"
            "def compare(train, seeds):\n"
            "    table = np.array([[train(setting, seed) for seed in seeds]\n"
            '                      for setting in ("whole", "removed", "baseline")])\n'
            "    gap = table[0] - table[1]\n"
            "    return (table.mean(axis=1), table.std(axis=1, ddof=1),\n"
            "            np.array([gap.mean(), gap.std(ddof=1)]))\n"
            "```\n\n"
            "The same seeds for all: what a seed brings in luck to both settings cancels in the"
            " difference. And the baseline says how much of the accuracy attention could lose."
        ),
    )
