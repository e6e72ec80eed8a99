"""The exercises of chapter 22: what matters, who says so, and whether it can be wrong."""

# ruff: noqa: RUF001 (a minus sign is a minus sign)

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from qkv.checks.engine import register
from qkv.checks.exercise import Case, Choice, Code, Number, Option, Row, Rung, Slip, Wrong
from qkv.checks.ladder import numbers
from qkv.core import same_output_directions, softmax, weighted_value_norms
from qkv.data.known_truth import ANSWERS, TOKENS, relevant, rule, separation, text_ids

Array = np.ndarray
Chance = Callable[[Array], float]
Answer = Callable[[Array], int]
Weights = Callable[[Array], Array]

# --- in the page ---------------------------------------------------------------------------------

TEXT = "B4 * C→D · D→B A0 * · D?"


@register("explanation.truth")
def truth() -> Row:
    """Mark the tokens that matter, by erasing in the head."""
    ids = text_ids(TEXT)
    words = TEXT.split()[:-1]
    matters = relevant(ids)[1:].astype(float)
    first_hop = np.array([float(w == "D→B") for w in words])
    value = np.array([float(w == "B4") for w in words])
    letters = np.array([float(w not in "*·") for w in words])
    pointed = matters + np.array([float(w == "C→D") for w in words])
    stars = np.array([float(w == "*") for w in words])
    return Row(
        title="Which tokens matter?",
        prompt=(
            f"The text is `{' '.join(words)}` and the question `{TEXT.split()[-1]}`. Write 1 under"
            " each token that matters by the rule, and 0 under the others. Erase them one after the"
            " other in your head: when does the answer change?"
        ),
        labels=tuple(f"{place}: {word}" for place, word in enumerate(words, 1)),
        answer=tuple(matters.tolist()),
        right=f"Right. The answer is {ANSWERS[rule(ids)]}, and it needs both hops.",
        otherwise="What is the answer now, and what is it when this one token is a blank?",
        wrong=(
            Wrong(tuple(first_hop.tolist()), "Where does the arrow lead? Erase what stands there."),
            Wrong(
                tuple(value.tolist()), "How does the reader get from the question to this value?"
            ),
            Wrong(tuple(letters.tolist()), "Erase A0. Does the answer to this question change?"),
            Wrong(
                tuple(pointed.tolist()),
                "One arrow points to D. Does anybody who starts at D read it?",
            ),
            Wrong(
                tuple((matters + stars).tolist()),
                "The question asks for no stars. What if one is gone?",
            ),
            Wrong(tuple((1 - matters).tolist()), "You marked those that may go. Which may not?"),
        ),
        hints=(
            "Follow the rule: what does the text say of D?",
            "It says: the value of B. What does it say of B?",
            "Two tokens are read on the way. Without either of them the answer is “–”.",
        ),
        solution=(
            "**D→B** and **B4**. Without the first nothing is said of D, without the second nothing"
            f" of B. `C→D` is never read: nobody asks for C. The answer is {ANSWERS[rule(ids)]}."
        ),
    )


@register("explanation.by_hand")
def by_hand() -> Number:
    """Compute the separation of five weights by hand."""
    weights = np.array([0.45, 0.05, 0.15, 0.15, 0.20])
    matters = np.array([True, False, True, False, False])
    answer = float(separation(weights, matters))
    pairs = float(matters.sum() * (~matters).sum())
    top = float(matters[np.argsort(-weights)[: matters.sum()]].mean())
    return Number(
        title="Score a picture by hand",
        prompt=(
            f"Five tokens have the weights {', '.join(f'{w:.2f}' for w in weights)}. The first and"
            " the third matter. What is the *separation*: the share of pairs (one that matters, one"
            " that does not) in which the one that matters has the larger weight? A tie counts one"
            " half."
        ),
        label="separation",
        answer=answer,
        tolerance=0.005,
        right="Right. Chance would give 0.50 on average.",
        otherwise="How many pairs are there, and in which of them does the right token win?",
        wrong=(
            Wrong(4 / pairs, "The third and the fourth token have equal weights. What is a tie?"),
            Wrong(5 / pairs, "The third does not beat the fourth: they are equal. What is a tie?"),
            Wrong(top, "That is the share among the two largest weights. Which pairs are there?"),
            Wrong(
                float(weights[matters].sum()),
                "That is the weight on what matters. Is the size asked for, or the order?",
            ),
            Wrong(answer * pairs, "That many pairs are won. What share is it?"),
            Wrong(answer * pairs / 10, "You divided by all pairs. Which pairs are meant?"),
        ),
        hints=(
            "Two tokens matter and three do not: six pairs.",
            "0.45 beats all three others. 0.15 beats 0.05, ties with 0.15, loses to 0.20.",
            "3 + 1 + one half, divided by 6.",
        ),
        solution=f"(3 + 1 + 0.5) / 6 = **{answer:.2f}**.",
    )


@register("explanation.predict_layers")
def predict_layers() -> Choice:
    """Predict how far the last layer's weights agree in a model of two layers."""
    return Choice(
        title="Predict: one layer more",
        prompt=(
            "One layer answers questions of one hop perfectly, and its weights agree with the truth"
            " perfectly. Now the same texts, the same questions, and a model with *two* layers that"
            " answers them perfectly as well. You look at the weights of its last layer, in the row"
            " of the question. Five seeds: how well do they agree with the truth?"
        ),
        options=(
            Option(
                "as well: 1.00 for each seed, for the answer must be fetched from that token",
                "It must be fetched. By whom, and in which layer? The question's row is not the"
                " only one that can fetch it.",
                correct=False,
            ),
            Option(
                "about 0.50 for each seed: the last layer is arbitrary",
                "Shuffle these weights, and most answers change. Are they arbitrary?",
                correct=False,
            ),
            Option(
                "between about 0.7 and 0.9, another number for each seed",
                "Row j of the last layer is no longer token j alone. Which row carries the answer"
                " is a matter of the seed.",
                correct=True,
            ),
            Option(
                "below 0.50: the token was read in layer 1 and is avoided now",
                "Nothing rewards avoiding it. What would a loss have to say for that?",
                correct=False,
            ),
        ),
        hints=(
            "After layer 1 the row of a blank can hold what the blank has looked at.",
            "Then layer 2 may look at the blank. Must it?",
            "Some seeds do, some do not, most do both a little.",
        ),
        solution=(
            "**Between about 0.7 and 0.9.** The weights of layer 2 are about rows, and the rows are"
            " mixed by then. Equal answers do not make equal weights."
        ),
    )


@register("explanation.free_directions")
def free_directions() -> Number:
    """Derive how many directions of weights an output cannot see."""
    n_k, d_v = 17, 6
    v = np.random.default_rng(22).normal(size=(n_k, d_v))
    answer = float(len(same_output_directions(v)))
    return Number(
        title="What the output cannot see",
        prompt=(
            f"A head looks at $n_k = {n_k}$ tokens whose values, with $d_v = {d_v}$ numbers each,"
            " point in general directions. In how many independent directions can its row of"
            " weights move while the output *and* the sum of the weights stay?"
        ),
        label="directions",
        answer=answer,
        right="Right: unknowns minus conditions.",
        otherwise="How many unknowns has a row of weights, and how many equations bind it?",
        wrong=(
            Wrong(n_k - d_v, "The output gives that many. What must the weights add up to?"),
            Wrong(n_k - d_v + 1, "Is the sum one condition more, or one less?"),
            Wrong(d_v + 1, "Those are the conditions. How many unknowns do they leave free?"),
            Wrong(d_v, "Those are the numbers of the output. What do they leave free?"),
            Wrong(n_k - 1, "You kept the sum. How many numbers of the output must stay, too?"),
            Wrong(n_k, "That would be so if nothing had to stay. What has to?"),
        ),
        hints=(
            f"A row of weights has {n_k} numbers.",
            f"The output fixes {d_v} of their combinations, the sum one more.",
            f"{n_k} − ({d_v} + 1).",
        ),
        solution=(
            f"$n_k - (d_v + 1) = {n_k} - {d_v + 1} = {answer:.0f}$. If some values depend on each"
            " other, as those of two equal tokens in layer 1, there are more. How *far* the weights"
            " can move is another question: none may become negative."
        ),
    )


@register("explanation.baseline")
def baseline() -> Choice:
    """Say what a good score of uniform weights means."""
    return Choice(
        title="The same model, blindfolded",
        prompt=(
            "A classifier of film reviews looks at every word, and its picture of weights is"
            " convincing: “dreadful” is dark. You train it again with all weights frozen to 1/n,"
            " and it is right as often as before. What follows?"
        ),
        options=(
            Option(
                "the picture is wrong: “dreadful” does not matter",
                "It may matter a great deal: its value may carry the answer. What has the picture"
                " shown you of values?",
                correct=False,
            ),
            Option(
                "the task does not need the weights, so a picture of them cannot be the reason why"
                " the model succeeds",
                "What the answer rests on goes through the values. The weights may show it too, or"
                " not: on such a task nothing forces them.",
                correct=True,
            ),
            Option(
                "the frozen model has no attention, so the two cannot be compared",
                "They differ in one thing alone. Is that not what a baseline is for?",
                correct=False,
            ),
            Option(
                "nothing: only accuracy on other data would tell",
                "Say both were tested on other data. Which part of the model did the work?",
                correct=False,
            ),
        ),
        hints=(
            "With weights 1/n the output is the mean of the values.",
            "Which part of the model can still tell “dreadful” from “the”?",
            "W_V. So the picture of weights is at best one of several places where it shows.",
        ),
        solution=(
            "**The task does not need the weights.** Wiegreffe and Pinter (2019) ask for this"
            " baseline before anything is said about a picture."
        ),
    )


# --- in the notebook -----------------------------------------------------------------------------


def _sure(seed: int, n: int, d: int) -> Chance:
    """Return a chance that depends on all rows at once, and on a few of them much more."""
    rng = np.random.default_rng(seed)
    W, u, gain = numbers(rng, d, 3) / 2, numbers(rng, 3), rng.permutation(n) / n

    def chance(X: Array) -> float:
        return float(1 / (1 + np.exp(-(gain @ np.tanh(X @ W)) @ u)))

    return chance


def _erased(
    chance: Chance,
    X: Array,
    blank: Array,
    *,
    kept: bool = False,
    size: bool = False,
    by: str = "minus",
    put: str = "blank",
) -> list[float]:
    """Return how much probability each erased row costs, or what a slip returns."""
    before, lost, Y = chance(X), [], X.copy()
    for j in range(len(X)):
        if not kept:
            Y = X.copy()
        if put == "out":
            Y = np.delete(X, j, axis=0)
        elif put == "rest":
            Y = np.tile(blank, (len(X), 1))
            Y[j] = X[j]
        else:
            Y[j] = 0.0 if put == "zero" else blank
        after = chance(Y)
        lost.append({"minus": before - after, "share": 1 - after / before, "after": after}[by])
    return [abs(x) for x in lost] if size else lost


def _erase_case(n: int, d: int, harmful: bool) -> Callable[[np.random.Generator], Case]:
    def draw(rng: np.random.Generator) -> Case:
        while True:
            chance = _sure(int(rng.integers(10_000)), n, d)
            X, blank = numbers(rng, n, d) / 2, numbers(rng, d) / 2
            lost = np.array(_erased(chance, X, blank))
            if (lost.min() < -0.01) == harmful and np.abs(lost).max() > 0.01:
                return Case((chance, X, blank), lost)

    return draw


@register("explanation.erase")
def erase_code() -> Code:
    """Score every token by what its absence costs."""
    return Code(
        title="Erase, and look",
        function="erase_scores",
        prompt=(
            "`chance(X)` is somebody's model: rows in, the probability of its answer out. `X` has"
            " shape (n, d), `blank` (d,) is the row of a blank. Return n numbers: how much"
            " probability the answer *loses* when row j, and it alone, is the blank. A token whose"
            " absence helps gets a negative number."
        ),
        stub=(
            "def erase_scores(chance, X, blank):\n"
            '    """Return what the absence of each row costs, shape (n,)."""\n'
            '    raise NotImplementedError("explanation.erase")\n'
        ),
        rungs=(
            Rung(
                "two tokens",
                _erase_case(2, 3, harmful=False),
                "Take the first row. What is the chance with it, what without it, and which is"
                " subtracted from which?",
                (
                    Slip(
                        "the other way round",
                        lambda c, X, b: [-x for x in _erased(c, X, b)],
                        "Your signs are turned. A token that is needed must get a positive number:"
                        " what is subtracted from what?",
                    ),
                    Slip(
                        "what is left",
                        lambda c, X, b: _erased(c, X, b, by="after"),
                        "You return the chance without the token. How much was *lost*?",
                    ),
                    Slip(
                        "a share",
                        lambda c, X, b: _erased(c, X, b, by="share"),
                        "You divided by the chance before. Was a share asked for?",
                    ),
                    Slip(
                        "zeros",
                        lambda c, X, b: _erased(c, X, b, put="zero"),
                        "You put zeros there. Which row stands for a blank?",
                    ),
                    Slip(
                        "all but one",
                        lambda c, X, b: _erased(c, X, b, put="rest"),
                        "You erased all rows but one. Which one is to be erased?",
                    ),
                    Slip(
                        "one by one",
                        lambda c, X, b: _erased(c, X, b, kept=True),
                        "The first number is right, the second is not. What stands in row 0 when"
                        " you erase row 1?",
                    ),
                ),
                crash="Your code stopped. Does `chance` get all n rows?",
            ),
            Rung(
                "seven tokens, some in the way",
                _erase_case(7, 5, harmful=True),
                "With more rows it differs. Is every other row as it was?",
                (
                    Slip(
                        "sizes",
                        lambda c, X, b: _erased(c, X, b, size=True),
                        "You took the sign away. What of a token whose absence makes the answer"
                        " surer?",
                    ),
                ),
            ),
        ),
        hints=(
            "Compute the chance of the whole text once, before the loop.",
            "In the loop start from a fresh copy each time: `without = X.copy()`.",
            "`without[j] = blank`, then `before - chance(without)`.",
        ),
        solution=(
            "```python\n"
            "def erase_scores(chance, X, blank):\n"
            "    before, lost = chance(X), []\n"
            "    for j in range(len(X)):\n"
            "        without = X.copy()\n"
            "        without[j] = blank\n"
            "        lost.append(before - chance(without))\n"
            "    return np.array(lost)\n"
            "```\n\n"
            "It costs n passes. Where two tokens say the same, neither is missed alone: erase both."
        ),
    )


def _written(weights: Array, v: Array, W_O: Array, *, slip: str = "") -> Array:
    """Return the length of what each key writes, or a slip's number."""
    parts = np.einsum("hj,hjd,hdm->hjm", weights, v, W_O)
    lengths = np.linalg.norm(parts, axis=-1)
    if slip == "lengths added":
        return np.asarray(lengths.sum(axis=0))
    if slip == "mean of heads":
        return np.asarray(np.linalg.norm(parts.mean(axis=0), axis=-1))
    if slip == "no W_O":
        return np.asarray((weights * np.linalg.norm(v, axis=-1)).sum(axis=0))
    if slip == "no weights":
        return np.asarray(np.linalg.norm(np.einsum("hjd,hdm->jm", v, W_O), axis=-1))
    if slip == "squared":
        return np.asarray((parts.sum(axis=0) ** 2).sum(axis=-1))
    if slip == "all keys":
        return np.asarray(np.linalg.norm(parts.sum(axis=(0, 1))))
    if slip == "mean weight":
        return np.asarray(weights.mean(axis=0) * np.linalg.norm(parts.sum(axis=0), axis=-1))
    return np.asarray(np.linalg.norm(parts.sum(axis=0), axis=-1))


def _norm_case(n_heads: int) -> Callable[[np.random.Generator], Case]:
    def draw(rng: np.random.Generator) -> Case:
        n_k, d_v, d_model = 5, 3, 7
        weights = softmax(numbers(rng, n_heads, n_k) / 2)
        v, W_O = numbers(rng, n_heads, n_k, d_v), numbers(rng, n_heads, d_v, d_model) / 2
        flat = W_O.reshape(n_heads * d_v, d_model)
        return Case((weights, v, W_O), weighted_value_norms(weights[:, None], v, flat)[0])

    return draw


def _norm_slip(name: str, question: str) -> Slip:
    return Slip(name, lambda w, v, W_O: _written(w, v, W_O, slip=name), question)


@register("explanation.norms")
def norms() -> Code:
    """Repair a measure that lets two heads write against each other unseen."""
    return Code(
        title="Repair this measure",
        function="written",
        prompt=(
            "How much does each key write into the question's row? `weights` has shape (n_heads,"
            " n_k), `v` (n_heads, n_k, d_v), `W_O` (n_heads, d_v, d_model). Somebody wrote\n\n"
            "```python\n"
            "def written(weights, v, W_O):\n"
            "    lengths = np.linalg.norm(v, axis=-1)\n"
            "    return (weights * lengths).sum(axis=0)\n"
            "```\n\n"
            "Two heads that write the same vector with opposite signs get a large number here, and"
            " a value that W_O does not read does, too. Repair it: return, for each key, the length"
            " of the *vector* that all heads together add to the row because of this key."
        ),
        stub=(
            "def written(weights, v, W_O):\n"
            '    """Return one length for each key, shape (n_k,)."""\n'
            '    raise NotImplementedError("explanation.norms")\n'
        ),
        rungs=(
            Rung(
                "one head",
                _norm_case(1),
                "With one head: take one key. What vector does it add to the row, and how long is"
                " it?",
                (
                    _norm_slip(
                        "no W_O",
                        "You took the length of the value. What does W_O make of it before it"
                        " reaches the row?",
                    ),
                    _norm_slip("no weights", "You forgot how much of the value arrives. Weights?"),
                    _norm_slip("squared", "A length is a root. Of what have you not taken it?"),
                    _norm_slip(
                        "all keys",
                        "That is the length of all vectors together. One number a key is asked for:"
                        " over which axis must you not sum?",
                    ),
                    _norm_slip(
                        "mean weight",
                        "You multiplied by the weight twice. Where is it already?",
                    ),
                ),
                crash="Your code stopped. Which axes do weights, v and W_O have in common?",
            ),
            Rung(
                "three heads, which may cancel",
                _norm_case(3),
                "With one head it was right. What do you do first, add over the heads or take the"
                " length?",
                (
                    _norm_slip(
                        "lengths added",
                        "You added lengths. Two heads that write against each other: what is left"
                        " of their sum?",
                    ),
                    _norm_slip(
                        "mean of heads",
                        "You took the mean over heads. What does a layer do with what they write?",
                    ),
                ),
            ),
        ),
        hints=(
            "For one head and one key the vector is weight times value times that head's W_O.",
            "Add these vectors over the heads first; then take the length over d_model.",
            "`np.einsum('hj,hjd,hdm->jm', weights, v, W_O)` adds over heads.",
        ),
        solution=(
            "```python\n"
            "def written(weights, v, W_O):\n"
            "    vectors = np.einsum('hj,hjd,hdm->jm', weights, v, W_O)\n"
            "    return np.linalg.norm(vectors, axis=-1)\n"
            "```\n\n"
            "The length says how much arrives, not whether a later layer reads it."
        ),
    )


def _as_far(weights: Array, line: Array, *, slip: str = "") -> Array:
    """Return the end of a straight line on which no weight is negative, or a slip's end."""
    ratios = -weights / line
    falling = line < 0
    if slip == "one step":
        return np.asarray(weights + line)
    if slip == "first in order":
        return np.asarray(weights + ratios[falling][0] * line)
    if slip == "last to fall":
        return np.asarray(weights + ratios[falling].max() * line)
    if slip == "cut off":
        return np.asarray(np.maximum(weights + line, 0.0))
    if slip == "cut and scaled":
        cut = np.maximum(weights + line, 0.0)
        return np.asarray(cut / cut.sum())
    if slip == "backwards":
        return np.asarray(weights - (weights[~falling] / line[~falling]).min() * line)
    if slip == "smallest ratio":
        return np.asarray(weights + ratios.min() * line)
    if slip == "any size":
        return np.asarray(weights + np.abs(ratios).min() * line)
    return np.asarray(weights + ratios[falling].min() * line)


def _far_case(n_k: int, d_v: int, least_falling: int) -> Callable[[np.random.Generator], Case]:
    def draw(rng: np.random.Generator) -> Case:
        while True:
            weights = softmax(numbers(rng, n_k) / 2)
            directions = same_output_directions(numbers(rng, n_k, d_v))
            line = numbers(rng, len(directions)) @ directions
            falling = int((line < 0).sum())
            if falling == 1 if least_falling == 1 else falling >= least_falling:
                return Case((weights, line), _as_far(weights, line))

    return draw


def _far_slip(name: str, question: str) -> Slip:
    return Slip(name, lambda w, line: _as_far(w, line, slip=name), question)


@register("explanation.other_row")
def other_row() -> Code:
    """Move a row of weights as far as it goes while the output stays."""
    return Code(
        title="The same output, another picture",
        function="other_row",
        prompt=(
            "`line` is a direction in which a row of weights can move while the output and the sum"
            " stay (a row of `same_output_directions`, or a sum of such rows). Return the weights"
            " after going along `line` as far as possible: until the first weight is 0. Both have"
            " shape (n_k,), every weight is positive, and no entry of `line` is 0."
        ),
        stub=(
            "def other_row(weights, line):\n"
            '    """Return other weights with the same output, shape (n_k,)."""\n'
            '    raise NotImplementedError("explanation.other_row")\n'
        ),
        rungs=(
            Rung(
                "three tokens, one direction",
                _far_case(3, 1, 1),
                "Some weights fall along the line. After how many steps is each of them 0, and"
                " which is first?",
                (
                    _far_slip(
                        "one step",
                        "You took one step of length 1. When does the first weight reach 0?",
                    ),
                    _far_slip(
                        "cut off",
                        "You set negative weights to 0. Is the sum still 1, and the output the"
                        " same?",
                    ),
                    _far_slip(
                        "cut and scaled",
                        "You cut and divided by the sum. The sum is 1 again. And the output?",
                    ),
                    _far_slip(
                        "smallest ratio",
                        "Your step is negative: a rising weight was asked when it will be 0. Which"
                        " weights may be asked?",
                    ),
                    _far_slip(
                        "any size",
                        "A weight that rises never reaches 0. Which ones may you look at?",
                    ),
                    _far_slip("backwards", "You went against the line. Which sign has your step?"),
                ),
            ),
            Rung(
                "eleven tokens",
                _far_case(11, 5, 3),
                "One of your weights is negative, or none is 0. Which weights ever reach 0 along"
                " the line?",
                (
                    _far_slip(
                        "last to fall",
                        "You waited for the last weight to reach 0. Where are the others by then?",
                    ),
                    _far_slip(
                        "first in order",
                        "You stopped at the first falling weight of the list. Which one is first"
                        " to reach 0?",
                    ),
                ),
            ),
        ),
        hints=(
            "After s steps weight j is weights[j] + s * line[j].",
            "It reaches 0 only where line[j] is negative, at s = weights[j] / -line[j].",
            "Take the smallest of these s.",
        ),
        solution=(
            "```python\n"
            "def other_row(weights, line):\n"
            "    falling = line < 0\n"
            "    steps = (weights[falling] / -line[falling]).min()\n"
            "    return weights + steps * line\n"
            "```\n\n"
            "Repeat it with the key that has fallen left out, and at most d_v + 1 weights remain."
        ),
    )


# What a suspect's weights point to: what matters, a blank, or one of the two by turns.


def _suspect(kind: str) -> Callable[[np.random.Generator], Case]:
    """Draw a case: an answer by the rule, weights that are honest or not, and 12 texts."""

    def draw(rng: np.random.Generator) -> Case:
        texts = _some_texts(rng, nothing=kind == "with nothing asked")
        peaks = {}
        for i, ids in enumerate(texts):
            matters = relevant(ids)
            honest = kind == "honest" or (kind != "hidden" and i % 3 != 0)
            pool = np.flatnonzero(matters == honest) if matters.any() else np.arange(9)
            peaks[ids.tobytes()] = int(rng.choice(pool[pool > 0]))
        noise = rng.random(9) / 20

        def answer(ids: Array) -> int:
            return int(rule(np.asarray(ids)))

        def weights(ids: Array) -> Array:
            row = 0.05 + noise
            row[peaks.get(np.asarray(ids).tobytes(), 0)] = 0.5
            return np.asarray(row / row.sum())

        blank = TOKENS.index("·")
        return Case((answer, weights, texts, blank), _misled(answer, weights, texts, blank))

    return draw


def _some_texts(rng: np.random.Generator, nothing: bool) -> list[Array]:
    """Draw texts in which one or two tokens matter, and, if wanted, some in which none does."""
    texts: list[Array] = []
    while len(texts) < 12:
        letters = rng.permutation(4)[:3]
        words = [f"{'ABCD'[a]}{rng.integers(5)}" for a in letters]
        if rng.random() < 0.4:
            words[0] = f"{'ABCD'[letters[0]]}→{'ABCD'[letters[1]]}"
        words += ["*"] * int(rng.integers(1, 4))
        words += ["·"] * (8 - len(words))
        asked = f"{'ABCD'[letters[0]]}?"
        if nothing and len(texts) % 4 == 3:
            asked = "!"
        texts.append(text_ids([*rng.permutation(words), asked]))
    return texts


def _misled(
    answer: Answer, weights: Weights, texts: list[Array], blank: int, *, slip: str = ""
) -> float:
    """Return the share of texts whose largest weight is on a token that can go."""
    wrong = []
    for ids in texts:
        before = answer(ids)
        changed = []
        for j in range(9):
            without = np.array(ids)
            without[j] = blank
            changed.append(answer(without) != before)
        if not any(changed) and slip != "nothing counts":
            continue
        row = weights(ids)
        place = int(np.argmin(row) if slip == "smallest" else np.argmax(row))
        wrong.append(changed[place] if slip == "the others" else not changed[place])
        if slip == "second too":
            second = int(np.argsort(row)[-2])
            wrong[-1] = wrong[-1] and not changed[second]
    if slip == "count":
        return float(sum(wrong))
    if slip == "any":
        return float(any(wrong))
    if slip == "over all":
        return float(sum(wrong)) / len(texts)
    return float(np.mean(wrong))


def _misled_slip(name: str, question: str) -> Slip:
    return Slip(name, lambda a, w, t, b: _misled(a, w, t, b, slip=name), question)


@register("explanation.misled_test")
def misled_test() -> Code:
    """Write the test that exposes weights which point elsewhere."""
    return Code(
        title="Write the test that exposes it",
        function="misled",
        prompt=(
            "Somebody claims: “the token with the largest weight is one that the answer rests on”."
            " Make it a test. `answer(ids)` gives the model's answer to a text of ten token"
            " numbers, `weights(ids)` nine weights, for the tokens before the question. Put `blank`"
            " in place of the token with the largest weight. If the answer stays, the weights have"
            " misled you. Return the *share* of texts in which they do. Leave out the texts in"
            " which no token of the nine changes the answer when it is erased: nothing can be"
            " right there."
        ),
        stub=(
            "def misled(answer, weights, texts, blank):\n"
            '    """Return the share of texts whose largest weight is on a token that can go."""\n'
            '    raise NotImplementedError("explanation.misled_test")\n'
        ),
        rungs=(
            Rung(
                "honest weights",
                _suspect("honest"),
                "You accused honest weights. What must happen to the answer when the token with the"
                " largest weight is erased?",
                (
                    _misled_slip(
                        "the others",
                        "You count the texts in which the answer *changes*. Which ones mislead?",
                    ),
                    _misled_slip(
                        "smallest",
                        "You erased the token with the smallest weight. Which one is claimed?",
                    ),
                ),
                crash="Your test stopped. How many places has a text, and how many have a weight?",
            ),
            Rung(
                "one text in three",
                _suspect("by turns"),
                "Some of these texts mislead, some do not. How many of how many?",
                (
                    Slip(
                        "believes everything",
                        lambda a, w, t, b: 0.0,
                        "You found nothing, and one text in three misleads. What do you erase?",
                    ),
                    _misled_slip("count", "You counted. What share is it?"),
                    _misled_slip("any", "You said that they mislead. In what share of texts?"),
                    _misled_slip(
                        "second too",
                        "You let it pass if the second largest weight is on a token that matters."
                        " What does the claim say?",
                    ),
                ),
            ),
            Rung(
                "hidden weights",
                _suspect("hidden"),
                "These weights always point to a token that can go. Do you find it in every text?",
            ),
            Rung(
                "with nothing asked",
                _suspect("with nothing asked"),
                "In some of these texts nothing is asked, so no token matters. What do they say"
                " about the weights?",
                (
                    _misled_slip(
                        "nothing counts",
                        "You counted texts in which nothing matters. Every weight is wrong there,"
                        " and none could be right. What does that say?",
                    ),
                    _misled_slip(
                        "over all",
                        "You left them out above the line and counted them below. By how many texts"
                        " do you divide?",
                    ),
                ),
            ),
        ),
        hints=(
            "For each text compute the answer, and the answer with each of the nine places blank.",
            "If none of the nine differs, go on to the next text.",
            "Otherwise look at `np.argmax(weights(ids))`: does erasing that place change it?",
        ),
        solution=(
            "```python\n"
            "def misled(answer, weights, texts, blank):\n"
            "    found = []\n"
            "    for ids in texts:\n"
            "        stays = []\n"
            "        for j in range(9):\n"
            "            without = np.array(ids)\n"
            "            without[j] = blank\n"
            "            stays.append(answer(without) == answer(ids))\n"
            "        if not all(stays):\n"
            "            found.append(stays[np.argmax(weights(ids))])\n"
            "    return np.mean(found)\n"
            "```\n\n"
            "A claim about a picture is a claim about what happens when something is changed."
        ),
    )
