"""The exercises of chapter 16: unseen sentences, three sites, alignments, a trained translator."""

# ruff: noqa: RUF001 (a minus sign is a minus sign)

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from qkv.checks.engine import register
from qkv.checks.exercise import Case, Choice, Code, Number, Option, Row, Rung, Slip, Wrong
from qkv.checks.ladder import numbers
from qkv.core.projections import project_qkv
from qkv.core.scaled_dot_product import scaled_dot_product_attention

Links = set[tuple[int, int]]

# --- in the page ---------------------------------------------------------------------------------


@register("translator.unseen")
def unseen() -> Number:
    """Derive how much of a range training has seen, if nothing is held out."""
    n, draws = 90_000, 72_000
    share = 100 * (1 - (1 - 1 / n) ** draws)
    once = 100 * draws / n * (1 - 1 / n) ** (draws - 1)
    return Number(
        title="Predict: how much has been seen?",
        prompt=(
            f"Suppose nothing is kept for the test, and a longer training draws {draws:,} times"
            f" one of the {n:,} numbers of five digits, each time all alike. What per cent of the"
            f" {n:,} has it seen at least once? Derive it, then check yourself with one line:"
            " `len(set(np.random.default_rng(0).integers(0, 90_000, 72_000))) / 90_000`."
        ),
        label="Per cent (one decimal)",
        answer=share,
        tolerance=0.06,
        right=(
            "Right: more than half. A test that draws from the same range without taking them out"
            " measures memory for the better part."
        ),
        otherwise="What is the chance that one given number is missed by one draw? And by all?",
        wrong=(
            Wrong(100 * draws / n, "That would be so if no number came twice. Can one?"),
            Wrong(100 - share, "That is the share that is never drawn. Which one is asked for?"),
            Wrong(once, "That is the share drawn exactly once. What of those drawn more often?"),
            Wrong(share / 100, "That is a fraction. What is it in per cent?"),
            Wrong(100.0, "There are fewer draws than numbers. Can all of them have come?"),
            Wrong(
                100 * n / (n + draws) + 0.0,
                "You divided the numbers by all there is. What is the chance to be missed once?",
            ),
        ),
        hints=(
            "Look at one number. A draw misses it with probability 1 − 1/90,000.",
            "All draws miss it with that probability to the power of the number of draws.",
            "$(1 - 1/n)^m$ is close to $e^{-m/n}$, and m/n is 0.8.",
        ),
        solution=(
            f"$1 - (1 - 1/n)^m \\approx 1 - e^{{-0.8}}$ = {share:.1f} %. That is why one tenth of"
            " the numbers was taken out before any training."
        ),
    )


@register("translator.which_array")
def which_array() -> Choice:
    """Say which array a key of the second decoder layer's cross-attention is made from."""
    n_layers = 2
    return Choice(
        title="A key of decoder layer 2",
        prompt=(
            "In *decoder layer 2*, a key of **cross-attention** is a row of 12 numbers. Which row,"
            " times which matrix, is it?"
        ),
        options=(
            Option(
                "a row of encoder layer 2's keys, handed over by the encoder",
                "The encoder has keys of its own, for its own self-attention. Did the assertions"
                " above find them anywhere in the decoder?",
                correct=False,
            ),
            Option(
                "a row of the memory, times the key matrix of this cross-attention",
                f"One memory for all {n_layers} decoder layers, and each makes its own keys.",
                correct=True,
            ),
            Option(
                "a row of the memory, times the key matrix of decoder layer 1",
                "The array is right. Is the matrix shared between the layers?",
                correct=False,
            ),
            Option(
                "a row of the German so far, behind masked self-attention, times W_K",
                "That row makes the query. Who is asked here?",
                correct=False,
            ),
        ),
        hints=(
            "Go back to the list of the six sites: what is `X_kv` of the last one?",
            "Keys and values come from X_kv, queries from X_q.",
            "The matrices stand in `site.parameters`, and every site has its own.",
        ),
        solution=(
            "**The memory times this site's own W_K**: `cross_2.X_kv @ cross_2.parameters.W_K[i]`,"
            " (7, 64) times (64, 12)."
        ),
    )


def _rate(links: list[Links], sure: list[Links], possible: list[Links]) -> float:
    hits = sum(len(a & s) + len(a & (s | p)) for a, s, p in zip(links, sure, possible, strict=True))
    return 1 - hits / sum(len(a) + len(s) for a, s in zip(links, sure, strict=True))


@register("translator.aer_by_hand")
def aer_by_hand() -> Row:
    """Compute an accuracy and an alignment error rate by hand."""
    sure, more = {(0, 1), (2, 3), (3, 2)}, {(3, 4)}
    links = {(0, 1), (1, 3), (2, 3), (3, 4)}
    in_sure, in_possible = len(links & sure), len(links & (sure | more))
    accuracy = in_sure / len({t for t, _ in sure})
    rate = _rate([links], [sure], [more])
    return Row(
        title="An error rate by hand",
        prompt=(
            "Four words are written. Sure links, as (place in the translation, place in the"
            " source): (0, 1), (2, 3), (3, 2). One more link is possible: (3, 4). Word 1 has no"
            " partner. A head's largest weights give (0, 1), (1, 3), (2, 3), (3, 4). What is its"
            " **accuracy** (of the words with a sure partner, the share whose link is sure), and"
            " what is its **AER**? Two decimals."
        ),
        labels=("accuracy", "AER"),
        answer=(accuracy, rate),
        tolerance=0.006,
        right=(
            "Right. The possible link lowers the error rate and leaves the accuracy; the link of"
            " the word without a partner raises it."
        ),
        otherwise="How many links are guessed, how many of them are sure, how many possible?",
        wrong=(
            Wrong(
                (accuracy, 1 - 2 * in_sure / (len(links) + len(sure))),
                "You counted the possible link as wrong. In which of the two sums does it stand?",
            ),
            Wrong(
                (accuracy, 1 - rate),
                "Your second number is the agreement. What is the error?",
            ),
            Wrong(
                (in_sure / len(links), rate),
                "For the accuracy you divided by all four words. How many have a sure partner?",
            ),
            Wrong(
                (in_possible / len(sure), rate),
                "For the accuracy you counted the possible link too. Which links does it ask for?",
            ),
            Wrong(
                (accuracy, 1 - (in_sure + in_possible) / (len(links) - 1 + len(sure))),
                "You left out the link of word 1. Does a guess without a partner count?",
            ),
            Wrong(
                (accuracy, 1 - (in_sure + in_possible) / (len(links) + len(sure) + len(more))),
                "You put the possible links into the denominator. Whose sizes stand there?",
            ),
            Wrong(
                (accuracy, 1 - in_possible / len(links)),
                "That is the share of guesses that are wrong. What of the sure link not found?",
            ),
        ),
        hints=(
            "A has 4 links, S has 3, P has 4: the sure ones belong to it.",
            "Two of the guesses are sure, three are possible.",
            "1 − (2 + 3)/(4 + 3).",
        ),
        solution=(
            f"Accuracy {in_sure}/3 = {accuracy:.2f}. AER = 1 − ({in_sure} + {in_possible})/"
            f"({len(links)} + {len(sure)}) = {rate:.2f}."
        ),
    )


@register("translator.beams")
def beams() -> Row:
    """Follow greedy decoding and beam search through a small tree by hand."""
    first = {"a": 0.40, "b": 0.32, "c": 0.28}
    second = {"a": (0.45, 0.35, 0.20), "b": (0.60, 0.25, 0.15), "c": (0.90, 0.06, 0.04)}
    whole = {word: first[word] * max(second[word]) for word in first}
    order = sorted(first, key=lambda word: -first[word])
    one, two, three = (max(whole[word] for word in order[:n]) for n in (1, 2, 3))
    after = "; ".join(
        f"after *{word}* they have {', '.join(f'{p:.2f}' for p in second[word])}" for word in first
    )
    return Row(
        title="Three ways through a small tree",
        prompt=(
            "Sentences of two words. The first word is "
            + ", ".join(f"*{word}* with probability {p:.2f}" for word, p in first.items())
            + f". For the second word there are always three choices: {after}. What is the"
            " probability of the whole sentence that **greedy** decoding finds, of the one that"
            " **two beams** find, and of the one that **three beams** find? Three decimals."
        ),
        labels=("greedy", "two beams", "three beams"),
        answer=(one, two, three),
        tolerance=0.0006,
        right=(
            "Right. The likeliest sentence begins with the least likely word, and a beginning that"
            " was dropped never comes back."
        ),
        otherwise="Which first words are kept, and what is each of their best sentences worth?",
        wrong=(
            Wrong(
                (three, three, three),
                "You found the likeliest sentence each time. Is its first word still there for"
                " greedy and for two beams?",
            ),
            Wrong(
                (one, one, one),
                "You went on from the likeliest first word only. What do the other beams do?",
            ),
            Wrong(
                tuple(max(max(second[w]) for w in order[:n]) for n in (1, 2, 3)),
                "Those are probabilities of second words. What is a whole sentence worth?",
            ),
            Wrong(
                tuple(max((first[w] + max(second[w])) / 2 for w in order[:n]) for n in (1, 2, 3)),
                "You averaged the two probabilities. How likely is it that both happen?",
            ),
            Wrong(
                tuple(max(first[w] + max(second[w]) for w in order[:n]) for n in (1, 2, 3)),
                "You added probabilities. What adds up, and what is multiplied?",
            ),
            Wrong(
                (one, three, three),
                "Two beams keep two first words. Is the likeliest sentence's first word one of"
                " them?",
            ),
        ),
        hints=(
            "One beam keeps *a*, two keep *a* and *b*, three keep them all.",
            "A sentence is worth its first probability times its second.",
            "The best sentences are 0.40 × 0.45, 0.32 × 0.60 and 0.28 × 0.90.",
        ),
        solution=(
            f"Greedy {one:.3f}, two beams {two:.3f}, three beams {three:.3f}. Each beam that is"
            " added can only help here, and only the third finds the likeliest sentence."
        ),
    )


@register("translator.rate")
def rate() -> Choice:
    """Predict which training collapses."""
    return Choice(
        title="Predict before you look: which rate?",
        prompt=(
            "The same model, the same 300 steps, three seeds each; only the rate differs. Predict"
            " the order, from best to worst, before you look at the figure: **a** peak 0.006 after"
            " 50 steps of warm-up; **b** 0.006 from the first step on; **c** 0.02 after 50 steps"
            " of warm-up."
        ),
        options=(
            Option(
                "a, b, c; and c gets next to nothing right",
                "A warm-up widens the range of rates that work, but it does not remove its end.",
                correct=True,
            ),
            Option(
                "c, a, b: a higher rate learns faster",
                "It does, up to a point. What happens to a step when the rate is three times as"
                " large and the curvature is the same?",
                correct=False,
            ),
            Option(
                "a, c, b: with a warm-up any rate is safe",
                "After the warm-up the rate is at its peak. What protects the weights then?",
                correct=False,
            ),
            Option(
                "all alike: Adam divides by the size of the gradient",
                "So every step is about as long as the rate says. Is that any length at all?",
                correct=False,
            ),
        ),
        hints=(
            "At the start, Adam has seen few gradients, and its estimate of their size is poor.",
            "Chapter 14 looked at the gradients of post-norm layers at the start.",
            "The figure has these three among its four rows.",
        ),
        solution=(
            "**a, b, c.** Without the warm-up two seeds lose a few per cent and one loses half;"
            " at 0.02 all three collapse."
        ),
    )


# --- in the notebook -----------------------------------------------------------------------------


def _weights(rng: np.random.Generator, heads: int, n_target: int, n_source: int) -> np.ndarray:
    """Return weights whose rows have their largest entries at places that differ a lot."""
    scores = rng.normal(size=(heads, n_target + 1, n_source))
    for head in scores:
        for t, row in enumerate(head):
            row[int(rng.integers(n_source))] += 4 + 0.1 * t
    e = np.exp(scores)
    return e / e.sum(-1, keepdims=True)


def _links_case(heads: int) -> Callable[[np.random.Generator], Case]:
    def draw(rng: np.random.Generator) -> Case:
        weights = _weights(rng, heads, int(rng.choice([5, 7])), int(rng.choice([8, 11])))
        return Case((weights,), weights[:, :-1].argmax(-1))

    return draw


@register("translator.links")
def links() -> Code:
    """Read a head's alignment at the row that predicts the word."""
    return Code(
        title="The row that predicts",
        function="links",
        prompt=(
            "`weights` (n_heads, 1 + n_target, n_source) are the cross-attention weights of one"
            " decoder layer. Row 0 reads the start sign and predicts word 0; row t reads word"
            " t - 1 and predicts word t; the last row predicts the stop sign. Return an array"
            " (n_heads, n_target): for each head and each word of the translation, the place in"
            " the source where the row that **predicts** the word has its largest weight."
        ),
        stub=(
            "def links(weights):\n"
            '    """Return the place each head looks at most when it predicts each word."""\n'
            '    raise NotImplementedError("translator.links")\n'
        ),
        rungs=(
            Rung(
                "one head",
                _links_case(1),
                "Which row belongs to word 0, and which row belongs to no word at all?",
                (
                    Slip(
                        "the row that reads",
                        lambda w: w[:, 1:].argmax(-1),
                        "You took the row that reads the word. Which row has to say it?",
                    ),
                    Slip(
                        "a row too many",
                        lambda w: w.argmax(-1),
                        "You have a row too many. What does the last one predict?",
                    ),
                    Slip(
                        "the weight, not the place",
                        lambda w: w[:, :-1].max(-1),
                        "You returned the largest weights. Where do they stand?",
                    ),
                    Slip(
                        "the smallest weight",
                        lambda w: w[:, :-1].argmin(-1),
                        "You found the smallest weights. Which end is asked for?",
                    ),
                    Slip(
                        "a place in the translation",
                        lambda w: w[:, :-1].argmax(-2),
                        "You have one number for each source word. Along which axis do the weights"
                        " of one row lie?",
                    ),
                    Slip(
                        "shifted in the source",
                        lambda w: w[:, :-1].argmax(-1) - 1,
                        "All your places are one too small. Does the source have a start sign that"
                        " must be taken off?",
                    ),
                ),
            ),
            Rung(
                "several heads",
                _links_case(3),
                "There are three heads now. Does each of them have links of its own?",
                (
                    Slip(
                        "the mean head",
                        lambda w: w[:, :-1].mean(0).argmax(-1)[None],
                        "You averaged the heads first. How many rows of links are wanted?",
                    ),
                    Slip(
                        "the first head",
                        lambda w: w[:1, :-1].argmax(-1),
                        "Only the first head has answered. Which axis holds the others?",
                    ),
                    Slip(
                        "the mean head, repeated",
                        lambda w: np.repeat(w[:, :-1].mean(0).argmax(-1)[None], len(w), 0),
                        "All your heads agree in every word. Did you average before you looked?",
                    ),
                ),
            ),
        ),
        hints=(
            "Write down what row 0, row 1 and the last row read and predict.",
            "Word t is predicted by row t; the last row predicts no word of the translation.",
            "Drop the last row, then take argmax over the last axis.",
        ),
        solution=(
            "```python\n"
            "def links(weights):\n"
            "    return weights[:, :-1].argmax(axis=-1)\n"
            "```\n\n"
            "With `weights[:, 1:]` it would be the row that reads: the same shape, and in the"
            " chapter's model about a tenth of the accuracy."
        ),
    )


def _as_arrays(links: list[Links]) -> np.ndarray:
    array = np.zeros((len(links), 6, 8), dtype=bool)
    for n, part in enumerate(links):
        for t, s in part:
            array[n, t, s] = True
    return array


def _pairs(rng: np.random.Generator, low: int, high: int) -> Links:
    every = [(t, s) for t in range(6) for s in range(8)]
    chosen = rng.choice(len(every), size=int(rng.integers(low, high)), replace=False)
    return {every[i] for i in chosen}


def _rate_case(n: int, possible: bool) -> Callable[[np.random.Generator], Case]:
    def draw(rng: np.random.Generator) -> Case:
        sure = [_pairs(rng, 4, 7) for _ in range(n)]
        more = [_pairs(rng, 3, 6) - s if possible else set() for s in sure]
        guessed = []
        for i, (s, p) in enumerate(zip(sure, more, strict=True)):
            kept = {link for j, link in enumerate(sorted(s)) if (j + i) % 3}
            guessed.append(kept | set(sorted(p)[:2]) | (_pairs(rng, 2, 5 + 4 * i) - s - p))
        both = [s | p for s, p in zip(sure, more, strict=True)]
        args = _as_arrays(guessed), _as_arrays(sure), _as_arrays(both)
        return Case(args, _rate(guessed, sure, more))

    return draw


def _sizes(a: np.ndarray, s: np.ndarray, p: np.ndarray) -> tuple[int, ...]:
    """Return |A and S|, |A and P|, |A|, |S|, |P|, over all sentences."""
    return tuple(int(part.sum()) for part in (a & s, a & p, a, s, p))


def _rate_of(a: np.ndarray, s: np.ndarray, p: np.ndarray) -> float:
    in_sure, in_possible, guessed, sure, _ = _sizes(a, s, p)
    return 1 - (in_sure + in_possible) / (guessed + sure)


def _of_sizes(
    formula: Callable[..., float],
) -> Callable[[np.ndarray, np.ndarray, np.ndarray], float]:
    return lambda a, s, p: formula(*_sizes(a, s, p))


@register("translator.error_rate")
def error_rate() -> Code:
    """Compute the alignment error rate of a whole test set."""
    return Code(
        title="The alignment error rate",
        function="error_rate",
        prompt=(
            "`links`, `sure` and `possible` are bool arrays (n_sentences, n_target, n_source); True"
            " stands where a word of the translation is linked to a word of the source. Every sure"
            " link is possible too. Return the alignment error rate of all sentences: one minus"
            " (the guessed links that are sure, plus the guessed links that are possible) over"
            " (all guessed links plus all sure links), each counted over all sentences together."
        ),
        stub=(
            "def error_rate(links, sure, possible):\n"
            '    """Return the alignment error rate over all sentences together."""\n'
            '    raise NotImplementedError("translator.error_rate")\n'
        ),
        rungs=(
            Rung(
                "one sentence, all links sure",
                _rate_case(1, possible=False),
                "Here every possible link is sure. Which two sizes stand below the line, and what"
                " stands above it?",
                (
                    Slip(
                        "precision",
                        _of_sizes(lambda i, j, a, s, p: 1 - i / a),
                        "You divided by the guesses alone. What about sure links that nobody"
                        " guessed?",
                    ),
                    Slip(
                        "recall",
                        _of_sizes(lambda i, j, a, s, p: 1 - i / s),
                        "You divided by the sure links alone. What do wrong guesses cost?",
                    ),
                    Slip(
                        "the agreement",
                        _of_sizes(lambda i, j, a, s, p: (i + j) / (a + s)),
                        "That grows when the guess gets better. What turns it into an error?",
                    ),
                    Slip(
                        "half the sum",
                        _of_sizes(lambda i, j, a, s, p: 1 - i / (a + s)),
                        "A perfect guess would have an error of one half. Which term is missing?",
                    ),
                    Slip(
                        "union",
                        _of_sizes(lambda i, j, a, s, p: 1 - i / (a + s - i)),
                        "You divided by the union. Which two sizes are added here?",
                    ),
                ),
            ),
            Rung(
                "possible links",
                _rate_case(1, possible=True),
                "Now some links are possible and not sure. Where does P stand in the formula, and"
                " where does it not?",
                (
                    Slip(
                        "sure links only",
                        _of_sizes(lambda i, j, a, s, p: 1 - 2 * i / (a + s)),
                        "Your possible links count for nothing. In which term do they help?",
                    ),
                    Slip(
                        "possible as good as sure",
                        _of_sizes(lambda i, j, a, s, p: 1 - 2 * j / (a + s)),
                        "You count every possible link twice. How often does a link count that is"
                        " possible and not sure?",
                    ),
                    Slip(
                        "possible below the line",
                        _of_sizes(lambda i, j, a, s, p: 1 - (i + j) / (a + p)),
                        "You ask the guess to find the possible links as well. Must it?",
                    ),
                ),
            ),
            Rung(
                "several sentences",
                _rate_case(3, possible=True),
                "There are three sentences of different sizes. What is added up before the"
                " division?",
                (
                    Slip(
                        "the mean of the rates",
                        lambda a, s, p: float(
                            np.mean([_rate_of(*part) for part in zip(a, s, p, strict=True)])
                        ),
                        "You averaged the sentences' rates. Does a link of a short sentence weigh"
                        " more than one of a long sentence?",
                    ),
                    Slip(
                        "the first sentence",
                        lambda a, s, p: _rate_of(a[:1], s[:1], p[:1]),
                        "Only the first sentence was counted. Does your loop return too early?",
                    ),
                    Slip(
                        "the sum of the rates",
                        lambda a, s, p: sum(_rate_of(*part) for part in zip(a, s, p, strict=True)),
                        "You added the sentences' rates, so the error can pass 1. What is added"
                        " before the division?",
                    ),
                ),
            ),
        ),
        hints=(
            "Two bool arrays have `&` for where both are True, and `.sum()` counts the True ones.",
            "Count the hits first: `(links & sure).sum() + (links & possible).sum()`.",
            "Below the line stands `links.sum() + sure.sum()`.",
        ),
        solution=(
            "```python\n"
            "def error_rate(links, sure, possible):\n"
            "    hits = (links & sure).sum() + (links & possible).sum()\n"
            "    return 1 - hits / (links.sum() + sure.sum())\n"
            "```"
        ),
    )


Rows = tuple[np.ndarray, np.ndarray]


def _attend(q: np.ndarray, k: np.ndarray, v: np.ndarray, root: float) -> Rows:
    scores = k @ q / root
    weights = np.exp(scores - scores.max())
    weights /= weights.sum()
    return weights, weights @ v


def _cross_case(first: bool) -> Callable[[np.random.Generator], Case]:
    def draw(rng: np.random.Generator) -> Case:
        n_target, n_source, d, d_k, d_v = 7, 5, 6, 3, 2
        X, memory = numbers(rng, n_target, d) / 2, numbers(rng, n_source, d) / 2
        matrices = numbers(rng, d, d_k), numbers(rng, d, d_k), numbers(rng, d, d_v)
        t = 0 if first else int(rng.integers(1, 4))
        q, k, v = project_qkv(X, memory, *matrices)
        output, weights = scaled_dot_product_attention(q, k, v)
        return Case((X, memory, *matrices, t), (weights[t], output[t]))

    return draw


@register("translator.cross_rows")
def cross_rows() -> Code:
    """Repair one row of cross-attention."""

    def swapped(X, M, W_Q, W_K, W_V, t):  # type: ignore[no-untyped-def]
        return _attend(M[t] @ W_Q, X @ W_K, X @ W_V, math.sqrt(W_K.shape[1]))

    def values_of_target(X, M, W_Q, W_K, W_V, t):  # type: ignore[no-untyped-def]
        return _attend(X[t] @ W_Q, X @ W_K, X @ W_V, math.sqrt(W_K.shape[1]))

    def query_of_source(X, M, W_Q, W_K, W_V, t):  # type: ignore[no-untyped-def]
        return _attend(M[t] @ W_Q, M @ W_K, M @ W_V, math.sqrt(W_K.shape[1]))

    def scaled_by(root):  # type: ignore[no-untyped-def]
        def compute(X, M, W_Q, W_K, W_V, t):  # type: ignore[no-untyped-def]
            return _attend(X[t] @ W_Q, M @ W_K, M @ W_V, root(M @ W_V, W_K))

        return compute

    def exchanged(X, M, W_Q, W_K, W_V, t):  # type: ignore[no-untyped-def]
        return _attend(X[t] @ W_K, M @ W_Q, M @ W_V, math.sqrt(W_K.shape[1]))

    def next_row(X, M, W_Q, W_K, W_V, t):  # type: ignore[no-untyped-def]
        return _attend(X[t + 1] @ W_Q, M @ W_K, M @ W_V, math.sqrt(W_K.shape[1]))

    def causal(X, M, W_Q, W_K, W_V, t):  # type: ignore[no-untyped-def]
        seen = M[: t + 1]
        weights, output = _attend(X[t] @ W_Q, seen @ W_K, seen @ W_V, math.sqrt(W_K.shape[1]))
        return np.append(weights, np.zeros(len(M) - len(seen))), output

    def order(X, M, W_Q, W_K, W_V, t):  # type: ignore[no-untyped-def]
        return _attend(X[t] @ W_Q, M @ W_K, M @ W_V, math.sqrt(W_K.shape[1]))[::-1]

    return Code(
        title="Repair this code: who asks, who is asked",
        function="cross_row",
        returns=("weights", "output"),
        prompt=(
            "One head of a translator's cross-attention. `X` (n_target, d) are the decoder's rows,"
            " behind their self-attention; `memory` (n_source, d) is the encoder's output. Row `t`"
            " of the decoder asks. Return its weights over the source, (n_source,), and its"
            " output, (d_v,). This code runs without an error and has two mistakes in four lines."
            " Repair it. Remove the `raise` when you begin."
        ),
        stub=(
            "def cross_row(X, memory, W_Q, W_K, W_V, t):\n"
            '    """Return the weights and the output of decoder row t."""\n'
            '    raise NotImplementedError("translator.cross_rows")\n'
            "    q = memory[t] @ W_Q\n"
            "    k, v = X @ W_K, X @ W_V\n"
            "    scores = k @ q / np.sqrt(v.shape[1])\n"
            "    weights = np.exp(scores - scores.max())\n"
            "    weights = weights / weights.sum()\n"
            "    return weights, weights @ v\n"
        ),
        rungs=(
            Rung(
                "the first row",
                _cross_case(first=True),
                "Row 0 reads the start sign. From which array comes its query, and from which come"
                " all keys and values?",
                (
                    Slip(
                        "the roles exchanged",
                        swapped,
                        "The source asks the target in your code. Who is writing?",
                    ),
                    Slip(
                        "self-attention",
                        values_of_target,
                        "That is self-attention of the target. How many weights should there be?",
                    ),
                    Slip(
                        "self-attention of the source",
                        query_of_source,
                        "The query comes from the memory. Whose question is it?",
                    ),
                    Slip(
                        "no root",
                        scaled_by(lambda v, W_K: 1.0),
                        "The arrays are right, the weights too sharp. What are scores divided by?",
                    ),
                    Slip(
                        "root of d_v",
                        scaled_by(lambda v, W_K: math.sqrt(v.shape[1])),
                        "The arrays are right. How many products does one score add up?",
                    ),
                    Slip(
                        "root of the number of keys",
                        scaled_by(lambda v, W_K: math.sqrt(len(v))),
                        "You divide by the root of the number of keys. Does it have to do with a"
                        " single score?",
                    ),
                    Slip(
                        "W_Q and W_K exchanged",
                        exchanged,
                        "W_Q and W_K have changed places. Both shapes fit; which one is for whom?",
                    ),
                    Slip(
                        "output first",
                        order,
                        "Both results are there, in the other order. Which comes first?",
                    ),
                ),
            ),
            Rung(
                "a later row",
                _cross_case(first=False),
                "The first row was right. What is different about row t?",
                (
                    Slip(
                        "always row 0",
                        lambda X, M, W_Q, W_K, W_V, t: _attend(
                            X[0] @ W_Q, M @ W_K, M @ W_V, math.sqrt(W_K.shape[1])
                        ),
                        "That is row 0 again. Where does `t` stand in your code?",
                    ),
                    Slip(
                        "the next row",
                        next_row,
                        "That is the query of the row below. Which row predicts word t?",
                    ),
                    Slip(
                        "a causal memory",
                        causal,
                        "Your row may not look at all of the source. Is there a future in a"
                        " sentence that is already complete?",
                    ),
                ),
            ),
        ),
        hints=(
            "Who writes? The decoder. So the decoder's row asks.",
            "Keys and values both come from the memory: there must be n_source of each.",
            "A score adds up d_k products, so divide by the root of W_K's number of columns.",
        ),
        solution=(
            "```python\n"
            "def cross_row(X, memory, W_Q, W_K, W_V, t):\n"
            "    q = X[t] @ W_Q\n"
            "    k, v = memory @ W_K, memory @ W_V\n"
            "    scores = k @ q / np.sqrt(k.shape[1])\n"
            "    weights = np.exp(scores - scores.max())\n"
            "    weights = weights / weights.sum()\n"
            "    return weights, weights @ v\n"
            "```"
        ),
    )


Keep = Callable[[np.ndarray, np.ndarray, np.ndarray, int], np.ndarray]


def _totals(log_p: np.ndarray, next_log_p: np.ndarray, done: np.ndarray) -> np.ndarray:
    """Return the log-probability of every continuation; a finished beginning has one, itself."""
    totals = log_p[:, None] + next_log_p
    totals[done] = -np.inf
    totals[done, 0] = log_p[done]
    return totals


def _best(totals: np.ndarray, n: int) -> np.ndarray:
    """Return the places (row, column) of the n largest entries, the largest first."""
    order = np.argsort(-totals, axis=None)[:n]
    return np.stack(np.unravel_index(order, totals.shape), axis=-1)


def _beam_case(n_beams: int, *, done: bool) -> Callable[[np.random.Generator], Case]:
    def draw(rng: np.random.Generator) -> Case:
        n_words, n = 7, n_beams
        scores = 1.5 * rng.normal(size=(n, n_words))
        next_log_p = scores - np.log(np.exp(scores).sum(-1, keepdims=True))
        log_p = np.sort(-1.5 + rng.normal(size=n))[::-1].copy()
        finished = np.zeros(n, dtype=bool)
        if done:
            finished[1] = True
            log_p[1] = log_p.max() - 0.3
        keep = _best(_totals(log_p, next_log_p, finished), n)
        return Case((log_p, next_log_p, finished, n), keep)

    return draw


@register("translator.beam_step")
def beam_step() -> Code:
    """Write one step of beam search."""

    def by(totals: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Keep:
        return lambda b, x, d, n: _best(totals(b, x), n)

    def one_each(b: np.ndarray, x: np.ndarray, d: np.ndarray, n: int) -> np.ndarray:
        best = _totals(b, x, d)
        order = np.argsort(-best.max(-1))[:n]
        return np.stack([order, best.argmax(-1)[order]], axis=-1)

    def only_best(b: np.ndarray, x: np.ndarray, d: np.ndarray, n: int) -> np.ndarray:
        totals = _totals(b, x, d)
        totals[np.arange(len(b)) != int(b.argmax())] = -np.inf
        return _best(totals, n)

    def dropped(b: np.ndarray, x: np.ndarray, d: np.ndarray, n: int) -> np.ndarray:
        totals = _totals(b, x, d)
        totals[d] = -np.inf
        return _best(totals, n)

    def stop_again(b: np.ndarray, x: np.ndarray, d: np.ndarray, n: int) -> np.ndarray:
        totals = _totals(b, x, d)
        totals[d, 0] = (b + x[:, 0])[d]
        return _best(totals, n)

    def free(b: np.ndarray, x: np.ndarray, d: np.ndarray, n: int) -> np.ndarray:
        return _best(b[:, None] + np.where(d[:, None], 0.0, x), n)

    return Code(
        title="One step of beam search",
        function="beam_step",
        prompt=(
            "`log_p` (n,) holds the log-probability of each beginning, `next_log_p` (n, n_words)"
            " the log-probability of every next word after it, and `done` (n,) is True where a"
            " beginning already ends with the stop sign, whose id is 0. Return the `n_beams`"
            " likeliest beginnings that are one word longer, as an int array (n_beams, 2): the"
            " place of the beginning, and the id of the next word; the likeliest first. A finished"
            " beginning is not continued: it competes once, as it stands, with the id 0."
        ),
        stub=(
            "def beam_step(log_p, next_log_p, done, n_beams):\n"
            '    """Return (beginning, next word) of the likeliest continuations, best first."""\n'
            '    raise NotImplementedError("translator.beam_step")\n'
        ),
        rungs=(
            Rung(
                "one beam",
                _beam_case(1, done=False),
                "One beginning, one beam: that is greedy decoding. Which word does it take?",
                (
                    Slip(
                        "the worst",
                        lambda b, x, d, n: _best(-_totals(b, x, d), n),
                        "You kept the least likely word. Is it the wrong end of the order, or did"
                        " you multiply two logs, which are both negative?",
                    ),
                    Slip(
                        "word first",
                        lambda b, x, d, n: _best(_totals(b, x, d), n)[:, ::-1],
                        "Both numbers are there, in the other order. Which comes first?",
                    ),
                ),
            ),
            Rung(
                "four beams",
                _beam_case(4, done=False),
                "Four beginnings with seven words each make 28 continuations. Among how many do you"
                " look, and by which number?",
                (
                    Slip(
                        "the next word alone",
                        by(lambda b, x: 0 * b[:, None] + x),
                        "You compare next words only. What is the beginning's probability for?",
                    ),
                    Slip(
                        "sums of probabilities",
                        by(lambda b, x: np.exp(b)[:, None] + np.exp(x)),
                        "You added probabilities. How likely is it that both words come?",
                    ),
                    Slip(
                        "one of each beginning",
                        one_each,
                        "Each of your beginnings is continued once. May one have two heirs, and"
                        " another none?",
                    ),
                    Slip(
                        "the best beginning only",
                        only_best,
                        "All of yours continue the best beginning. What were the others kept for?",
                    ),
                    Slip(
                        "the best last",
                        lambda b, x, d, n: _best(_totals(b, x, d), n)[::-1],
                        "The right ones, in reverse. Which one comes first?",
                    ),
                ),
            ),
            Rung(
                "a finished beginning",
                _beam_case(4, done=True),
                "Beginning 1 is finished. How often does it compete, and at what cost?",
                (
                    Slip(
                        "continued",
                        by(lambda b, x: b[:, None] + x),
                        "You continue a sentence after its stop sign. What should happen to it?",
                    ),
                    Slip(
                        "dropped",
                        dropped,
                        "The finished sentence is gone. Could it still be the likeliest?",
                    ),
                    Slip(
                        "stops twice",
                        stop_again,
                        "You let it pay for a second stop sign. Which number does it compete with?",
                    ),
                    Slip(
                        "once for every word",
                        free,
                        "It competes once for each word, free of charge. How often should it?",
                    ),
                ),
            ),
        ),
        hints=(
            "Logs of probabilities add: `log_p[:, None] + next_log_p` is what every"
            " continuation is worth, (n, n_words).",
            "In the rows of finished beginnings write -np.inf, then their own log_p at word 0.",
            "`np.argsort(-totals, axis=None)[:n_beams]` orders all entries at once, and"
            " `np.unravel_index(order, totals.shape)` turns places back into rows and columns.",
        ),
        solution=(
            "```python\n"
            "def beam_step(log_p, next_log_p, done, n_beams):\n"
            "    totals = log_p[:, None] + next_log_p\n"
            "    totals[done] = -np.inf\n"
            "    totals[done, 0] = log_p[done]\n"
            "    order = np.argsort(-totals, axis=None)[:n_beams]\n"
            "    return np.stack(np.unravel_index(order, totals.shape), axis=-1)\n"
            "```"
        ),
    )


Score = Callable[[np.ndarray, np.ndarray], np.ndarray]


def _translator(rng: np.random.Generator, fault: str) -> Score:
    """Return a stand-in for a translator, ids to scores; `fault` spoils what it reads."""
    E, P, W = rng.normal(size=(11, 4)), rng.normal(size=(9, 4)), rng.normal(size=(4, 3))

    def score(source: np.ndarray, read: np.ndarray) -> np.ndarray:
        X = np.array([E[i] * P[s] for s, i in enumerate(np.asarray(source))])
        own = np.cumsum(E[np.asarray(read)], axis=0)
        seen = {"deaf": X[:0], "short sight": X[:3], "every other": X[::2]}.get(fault, X)
        about = seen.sum(0)
        rows = own + (1e-6 if fault == "faint" else 1.0) * about
        if fault == "late":
            rows = own.copy()
            rows[-1] += about
        if fault == "early":
            rows = own.copy()
            rows[0] += about
        return rows @ W

    return score


def _places(score: Score, source: np.ndarray, read: np.ndarray, least: float = 1e-9) -> np.ndarray:
    """Return for each source place how far each row of scores moves when it is exchanged."""
    before, moved = score(source, read), []
    for s in range(len(source)):
        other = np.array(source)
        other[s] = (other[s] + 1) % 11
        moved.append(np.abs(score(other, read) - before).max(-1) > least)
    return np.array(moved)


def _read_case(fault: str) -> Callable[[np.random.Generator], Case]:
    def draw(rng: np.random.Generator) -> Case:
        n = int(rng.choice([5, 7]))
        score, source, read = (
            _translator(rng, fault),
            rng.permutation(11)[:n],
            rng.integers(11, size=4),
        )
        return Case((score, source, read), float(_places(score, source, read).any(1).sum()))

    return draw


@register("translator.leak_test")
def leak_test() -> Code:
    """Write the test that finds a translator which does not read its source."""

    def count(score: Score, source: np.ndarray, read: np.ndarray) -> float:
        return float(_places(score, source, read).any(1).sum())

    def cumulative(score: Score, source: np.ndarray, read: np.ndarray) -> float:
        before, other, found = score(source, read), np.array(source), 0
        for s in range(len(source)):
            other[s] = (other[s] + 1) % 11
            found += bool(np.abs(score(other, read) - before).max() > 1e-9)
        return float(found)

    def of_target(score: Score, source: np.ndarray, read: np.ndarray) -> float:
        before, found = score(source, read), 0
        for t in range(len(read)):
            other = np.array(read)
            other[t] = (other[t] + 1) % 11
            found += bool(np.abs(score(source, other) - before).max() > 1e-9)
        return float(found)

    return Code(
        title="Write the test that exposes it",
        function="places_read",
        prompt=(
            "`score(source, read)` is somebody's translator: source ids (n_source,) and the target"
            " ids read so far (n_target,), both arrays of ids from 0 to 10, give scores"
            " (n_target, n_words). A decoder can become fluent and never look at the source, and"
            " no shape will tell. Return **how many places of the source matter**: exchange the id"
            " at one place, leave all others, and see whether any score of any row moves. Six"
            " translators wait on the ladder."
        ),
        stub=(
            "def places_read(score, source, read):\n"
            '    """Return how many source places move some score when their id is exchanged."""\n'
            '    raise NotImplementedError("translator.leak_test")\n'
        ),
        rungs=(
            Rung(
                "an honest translator",
                _read_case("honest"),
                "This one reads every place of its source. Which places did your test miss?",
                (
                    Slip(
                        "target places",
                        of_target,
                        "You exchanged ids of the target. Which of the two sequences is in"
                        " question?",
                    ),
                    Slip(
                        "yes or no",
                        lambda f, s, r: float(count(f, s, r) > 0),
                        "You said that it reads. How many places?",
                    ),
                    Slip(
                        "places that do not matter",
                        lambda f, s, r: len(s) - count(f, s, r),
                        "You counted the places that do not matter. Which are asked for?",
                    ),
                    Slip(
                        "pairs of place and row",
                        lambda f, s, r: float(_places(f, s, r).sum()),
                        "You counted each place once for every row. How many places are there?",
                    ),
                ),
                crash="Your test stopped. What does `score` take, and are both of them arrays?",
            ),
            Rung(
                "a deaf one",
                _read_case("deaf"),
                "This one never looks at its source, and you found places that matter. What else"
                " changed between your two calls?",
            ),
            Rung(
                "short sight",
                _read_case("short sight"),
                "It reads the first three places only. You found another number. Do you put the"
                " old id back before you go on?",
                (
                    Slip(
                        "a share",
                        lambda f, s, r: count(f, s, r) / len(s),
                        "You returned a share. How many places is it?",
                    ),
                    Slip(
                        "ids not put back",
                        cumulative,
                        "From the first place on, everything seems to matter. Is only one id"
                        " exchanged at a time?",
                    ),
                ),
            ),
            Rung(
                "only the last row listens",
                _read_case("late"),
                "All rows but the last are deaf. Which rows do you compare?",
                (
                    Slip(
                        "the first row",
                        lambda f, s, r: float(_places(f, s, r)[:, 0].sum()),
                        "You found none. Do you look at one row alone, or ask that every row"
                        " moves?",
                    ),
                ),
            ),
            Rung(
                "only the first row listens",
                _read_case("early"),
                "All rows but the first are deaf. Which rows do you compare?",
                (
                    Slip(
                        "the last row",
                        lambda f, s, r: float(_places(f, s, r)[:, -1].sum()),
                        "You looked at the last row alone. Which rows may move?",
                    ),
                ),
            ),
            Rung(
                "a faint voice",
                _read_case("faint"),
                "The source moves these scores by about a millionth. From which size on is a"
                " difference more than rounding?",
                (
                    Slip(
                        "small differences ignored",
                        lambda f, s, r: float(_places(f, s, r, 1e-4).any(1).sum()),
                        "You let small differences pass. How large is rounding in float64?",
                    ),
                ),
            ),
        ),
        hints=(
            "One call with the source as it is, then one call for each place.",
            "Copy the source before you exchange an id, so that the others stay.",
            "other[s] = (other[s] + 1) % 11; it matters if any score moves by more than 1e-9.",
        ),
        solution=(
            "```python\n"
            "def places_read(score, source, read):\n"
            "    before, count = score(source, read), 0\n"
            "    for s in range(len(source)):\n"
            "        other = source.copy()\n"
            "        other[s] = (other[s] + 1) % 11\n"
            "        count += int(np.abs(score(other, read) - before).max() > 1e-9)\n"
            "    return count\n"
            "```\n\n"
            "A place that does not matter in one sentence may matter in another: run such a test on"
            " many."
        ),
    )
