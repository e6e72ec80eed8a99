"""The exercises of chapter 9: masks, empty rows, the shift, and the test for a leak."""

# ruff: noqa: RUF001 (a minus sign is a minus sign)

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from qkv.checks.arrangement import Cell, Order, Rule
from qkv.checks.engine import register
from qkv.checks.exercise import Case, Choice, Code, Number, Option, Row, Rung, Slip, Wrong
from qkv.checks.ladder import numbers
from qkv.core.gradients import softmax_backward
from qkv.core.masks import causal_mask, padding_mask, window_mask
from qkv.core.softmax import softmax
from qkv.data import running_example

# --- in the page ---------------------------------------------------------------------------------


@register("masks.count")
def count() -> Number:
    """Derive how many pairs a causal window allows."""
    n, reach = 1000, 3
    causal, window = causal_mask(n), window_mask(n, reach=reach)
    allowed = int((causal & window).sum())
    return Number(
        title="How many pairs are left?",
        prompt=(
            f"A text of {n:,} tokens, and a mask that is causal *and* a window with reach {reach}"
            f" (a token sees itself and the {reach} before it). Derive a formula for the number of"
            " allowed pairs with n tokens and reach r. Check it on the printed table above (n = 6,"
            f" r = 2, fifteen ones). What does it give for n = {n:,} and r = {reach}?"
        ),
        label="Allowed pairs",
        answer=float(allowed),
        right=(
            "Right: n (r + 1) minus what the first r rows lack. It grows like n, where the full"
            " triangle grows like n squared."
        ),
        otherwise="How many ones has a row in the middle, and how many do the first rows lack?",
        wrong=(
            Wrong(
                float(n * (reach + 1)),
                "So every row has r + 1 ones. How many words stand before the very first one?",
            ),
            Wrong(
                float(allowed - n),
                "You left out the diagonal. May a token look at itself?",
            ),
            Wrong(float(causal.sum()), "That is the whole triangle. Where is the window?"),
            Wrong(
                float(window.sum()),
                "That window looks both ways. What does the causal mask take away?",
            ),
            Wrong(float(n * n), "That is every pair. Which pairs are allowed?"),
            Wrong(
                float(n * (reach + 1) - reach * (reach - 1) // 2),
                "Nearly. Row 0 lacks r ones, row 1 lacks r − 1: where does that sum end?",
            ),
        ),
        hints=(
            "Count the ones row by row. Far from the start each row has the same number.",
            "Row 0 lacks r ones, row 1 lacks r − 1, and so on down to row r − 1, which lacks one.",
            "The first rows lack 1 + 2 + … + r = r (r + 1) / 2 in all.",
        ),
        solution=(
            f"n (r + 1) − r (r + 1)/2. For n = 6, r = 2: 18 − 3 = 15. For n = {n:,}, r = {reach}:"
            f" {n * (reach + 1):,} − {reach * (reach + 1) // 2} = {allowed:,}; the full triangle"
            f" has {int(causal.sum()):,}."
        ),
    )


@register("masks.join")
def join() -> Row:
    """Say how many keys each row sees under a causal and a padding mask."""
    n, length = 7, 4
    causal, padding = causal_mask(n), padding_mask(np.array([length]), n)[0]
    strict = causal_mask(n, offset=-1, n_k=n) & padding
    real_rows = (np.arange(n) < length)[:, None]

    def per_row(mask: np.ndarray) -> tuple[float, ...]:
        return tuple(np.broadcast_to(mask, (n, n)).sum(axis=-1).astype(float).tolist())

    return Row(
        title="Causal and padded",
        prompt=(
            f"A sentence of {length} words, padded at the right to {n} places, in a decoder: its"
            " mask is the causal one `&` the padding mask (only columns of pads are hidden). How"
            f" many keys may each of the {n} rows look at?"
        ),
        labels=tuple(f"row {t}" for t in range(n)),
        answer=per_row(causal & padding),
        right=(
            "Right. The real rows grow one by one; a pad's row sees all real words, and no row is"
            " empty."
        ),
        otherwise="For each row, take the keys up to itself, then strike out those that are pads.",
        wrong=(
            Wrong(per_row(causal), "These are the causal rows. Which columns belong to pads?"),
            Wrong(
                per_row(np.broadcast_to(padding, (n, n))),
                "Here every row sees every real word. What became of the causal rule?",
            ),
            Wrong(
                per_row(causal | padding),
                "That is what either rule allows. Is a pair allowed when one of two rules forbids"
                " it?",
            ),
            Wrong(
                per_row(causal & padding & real_rows),
                "You emptied the rows of the pads. Which are hidden, the pads' columns or their"
                " rows?",
            ),
            Wrong(per_row(strict), "Your row 0 sees nothing. May a word look at itself?"),
            Wrong(
                per_row(~(causal & padding)),
                "These are the hidden keys. How many are left in each row?",
            ),
        ),
        hints=(
            "Draw the triangle, then strike out the columns of the pads.",
            f"The columns {length} to {n - 1} are pads. The rows {length} to {n - 1} stay.",
            f"From row {length - 1} on, every row sees the same {length} keys.",
        ),
        solution=(
            "Row t sees min(t + 1, number of words) keys: "
            + ", ".join(f"{x:g}" for x in per_row(causal & padding))
            + ". The rows of the pads are not empty; they are left out of the loss."
        ),
    )


@register("masks.large_number")
def large_number() -> Choice:
    """Predict what adding a large negative number to a whole row does."""
    s = np.array([0.5, 2.0, -1.0, 0.0, 1.5])
    with np.errstate(all="ignore"):
        w = softmax(s - 1e9)
        same = np.allclose(w, softmax(s), atol=1e-6)
        uniform = np.allclose(w, 1 / len(s), atol=1e-6)
    return Choice(
        title="Predict: minus a billion, everywhere",
        prompt=(
            "A program hides a key by *adding* −1,000,000,000 to its score, in float64. One query"
            " may look at nothing, so all of its scores get the addend. Before you run anything:"
            " what are its weights?"
        ),
        options=(
            Option(
                "zeros: all powers of e are 0",
                "Each power alone would be 0. But which number is taken off a row before anything"
                " is raised to a power?",
                not w.any(),
            ),
            Option(
                "NaN: 0 divided by 0",
                "It would be, if the powers were taken as written. What does every softmax take off"
                " first, and what is left then?",
                bool(np.isnan(w).any()),
            ),
            Option(
                "equal weights for all keys",
                "That happens when all scores become *one* number. Is 0.5 − 1,000,000,000 the same"
                " number as 2 − 1,000,000,000 in float64?",
                bool(uniform),
            ),
            Option(
                "the weights of the row without any mask",
                "Adding one constant to a whole row changes nothing, however large it is, as long"
                " as the differences survive the rounding. In float64 they do.",
                bool(same and not uniform),
            ),
        ),
        hints=(
            "Write the ratio of two weights of this row.",
            "It reads the difference of their scores. What does the addend do to a difference?",
            "float64 keeps about 16 digits: next to a billion there is room for seven decimals.",
        ),
        solution=(
            "**The weights without a mask.** The softmax reads differences, and the constant leaves"
            " them alone. In float32 the decimals do not fit beside a billion: there the row"
            " becomes uniform."
        ),
    )


@register("masks.empty_values")
def empty_values() -> Row:
    """Follow the gradient of an empty row to a value that it may not see."""
    powers = np.array([[1.0, 2.0, 5.0]])
    scores, nothing = np.log(powers), np.zeros((1, 3), dtype=bool)
    slope = np.ones((1, 1))

    def to_the_third(seen: np.ndarray) -> float:
        return float((softmax(seen).swapaxes(-1, -2) @ slope)[2, 0])

    zeros = to_the_third(_hidden(scores, nothing))
    filled = to_the_third(_hidden(scores, nothing, -1e9))
    added = to_the_third(scores - 1e9)
    return Row(
        title="A value that nobody may see",
        prompt=(
            r"A row may look at none of its three keys; their scores are $\log 1$, $\log 2$ and"
            r" $\log 5$. Each value is one number, and the loss grows with the row's output at"
            r" slope $1$. How large is the gradient that the *third value* gets from this row, for"
            r" three ways to hide all keys: $-\infty$ (and zeros for an empty row), $-10^9$"
            r" *filled in*, and $-10^9$ *added* in float64?"
        ),
        labels=("minus infinity", "filled in", "added"),
        answer=(zeros, filled, added),
        right=(
            "Right. A value's gradient from a row is its weight there, so what the empty row sees"
            " in secret is also what it trains."
        ),
        otherwise="Which weights has the row in each case, and what is the output's slope by v?",
        tolerance=1e-3,
        wrong=(
            Wrong((0, 0, 0), "All zeros: in which of the three are the weights really zeros?"),
            Wrong(
                (filled, filled, added),
                "With minus infinity this library gives an empty row zeros. What do zero weights"
                " hand back?",
            ),
            Wrong(
                (zeros, filled, filled),
                "In float32 you would be right. Do differences of scores survive beside a billion"
                " in float64?",
            ),
            Wrong(
                (zeros, added, added),
                "Filled in, every score is the same number. Which weights do three equal scores"
                " get?",
            ),
            Wrong(
                (zeros, added, filled),
                "These two are exchanged. Which way replaces the scores, and which one shifts"
                " them?",
            ),
            Wrong(
                (zeros, 1, 1),
                "The slope of the loss is 1, but it reaches the third value through a weight."
                " Which one?",
            ),
            Wrong(
                (zeros, filled, powers[0, 2]),
                "That is the power of e. By what is it divided to be a weight?",
            ),
        ),
        hints=(
            r"The output is $\sum_j w_j v_j$, so its slope by $v_3$ is $w_3$.",
            "Zeros in the first case; three equal scores in the second; the scores as if there"
            " were no mask in the third.",
            r"The powers of e are $1$, $2$ and $5$.",
        ),
        solution=(
            rf"${zeros:g}$; ${filled:.4f}$, one of three equal weights; ${added:g}$, the weight"
            r" without any mask, $5/8$. A hidden value is trained by a row that was to see nothing,"
            r" and no message says so."
        ),
    )


@register("masks.true")
def true() -> Choice:
    """Say what is seen when a mask of words is taken for a mask of pads."""
    n, n_words = 7, 4
    is_word = np.arange(n) < n_words
    layer, _ = _torch_rules(np.zeros((1, 1, 1, n)))
    seen = np.flatnonzero(layer(np.zeros((1, n), bool), is_word[None]).ravel()).tolist()
    words, pads = np.flatnonzero(is_word).tolist(), np.flatnonzero(~is_word).tolist()
    return Choice(
        title="Predict: a mask of words",
        prompt=(
            f"A sentence has {n_words} words and {n - n_words} pads. Somebody has `is_word`, True"
            " at the words, and calls `nn.MultiheadAttention` with `key_padding_mask=is_word`."
            " There is no other mask. What does the first word look at?"
        ),
        options=(
            Option(
                "at the four words",
                "That was the intention. What does True mean in this argument: a key that may be"
                " looked at, or a pad?",
                seen == words,
            ),
            Option(
                "at words and pads alike",
                "That is what an integer or float mask of 0 and 1 would give, nearly. Is a bool"
                " mask added, or does it hide?",
                len(seen) == n,
            ),
            Option(
                "at the three pads",
                "True means: this key is a pad. So the four words are hidden, and what is left are"
                " the pads. Nothing fails: every row has keys, and sums to 1.",
                seen == pads,
            ),
            Option(
                "at nothing: its row is NaN",
                "A row is empty when *all* its keys are hidden. How many are hidden here?",
                not seen,
            ),
        ),
        hints=(
            "Read the line of `key_padding_mask` in the table above.",
            "True at the words says to this layer: the words are pads.",
            "It hides where True stands. Which keys are left?",
        ),
        solution=(
            "**At the three pads.** The right call is `key_padding_mask=~is_word`. With sentences"
            " of full length the same slip shows at once, for then every key is hidden and each"
            " row is NaN."
        ),
    )


@register("masks.shift")
def shift() -> Choice:
    """Say which row of the weights belongs to the choice of a word."""
    words = ("<s>", "sie", "hat", "einen", "Apfel", "gegessen", ".")
    read, said = words[:-1], words[1:]
    wanted = said.index("Apfel")
    saw = [read[j] for j in np.flatnonzero(causal_mask(len(read))[wanted])]
    return Choice(
        title="Which row to read",
        prompt=(
            "A trained decoder has written *sie hat einen Apfel gegessen .* You want to know what"
            " it looked at when it chose the word *Apfel*. Where in the causal weights do you look?"
        ),
        options=(
            Option(
                "in the row of *Apfel*",
                "That row reads *Apfel*: the word was already chosen. Which word does this row have"
                " to predict?",
                read[wanted] == "Apfel",
            ),
            Option(
                "in the row of *einen*",
                "Row t predicts word t + 1. The row that reads *einen* is the one that says"
                " *Apfel*, from the words up to itself.",
                read[wanted] == "einen" and saw[-1] == "einen",
            ),
            Option(
                "in the column of *Apfel*",
                "A column is what one key receives. Who looks at *Apfel*, the row that chose it or"
                " rows that come later?",
                "Apfel" in saw,
            ),
            Option(
                "in the row of *gegessen*",
                "That row has seen *Apfel* already. One too far: in which direction is the shift?",
                read[wanted] == "gegessen",
            ),
        ),
        hints=(
            "At the moment of the choice, which words had been written?",
            "The last of them is the query.",
            "Look at the first picture: which row has “→ Apfel” at its right?",
        ),
        solution=(
            "**The row of *einen*.** It is the last word that was read when *Apfel* was chosen. In"
            " many published pictures the row of the word itself is read instead: one too late."
        ),
    )


@register("masks.cheat")
def cheat() -> Cell:
    """Find the cell that shows a row the word it has to predict."""
    tokens = running_example().tokens_target[:-1]
    t = tokens.index("einen")
    hidden = [int(j) for j in np.flatnonzero(~causal_mask(len(tokens))[t])]
    return Cell(
        title="The cell that gives it away",
        prompt=(
            "A decoder is trained on this sentence, and somebody forgot the causal mask. Row"
            " t has to"
            f" predict word t + 1. Mark the cell through which the row of *{tokens[t]}* can see the"
            " very word that it has to predict."
        ),
        rows=tokens,
        columns=tokens,
        answer=(t, hidden[0]),
        right=(
            f"Right: row *{tokens[t]}* predicts *{tokens[hidden[0]]}*, so that column must be"
            " hidden."
            " The cells above the diagonal next to it, one a row, are the whole leak; the"
            " mask hides"
            " the later ones too, for they say much about it."
        ),
        in_row="The row is right. Which word comes next in the sentence?",
        in_column="The column is right. Which row has to predict this word?",
        otherwise="Say it aloud: the row of … predicts …. Which column is the second word's?",
        wrong=(
            Wrong(
                (t, t), f"A row may see its own word. What does the row of *{tokens[t]}* predict?"
            ),
            Wrong((t + 1, t), "That is a later word looking back. Who must not look at whom?"),
            Wrong(
                (t - 1, t), f"This row predicts *{tokens[t]}*. Which row predicts the next word?"
            ),
            Wrong((t, t - 1), "That lies in the past, and may be seen. Where is the future?"),
            Wrong((t, t + 2), "That is the future too. But is it the word that this row predicts?"),
            Wrong(
                (t + 1, t + 1),
                "A row that sees its own word: allowed. Which row predicts this word?",
            ),
        ),
        hints=(
            "Rows ask, columns are asked. The row is named in the question.",
            f"Which word follows *{tokens[t]}*?",
            "The cell lies right of the diagonal, directly beside it.",
        ),
        solution=(
            f"Row *{tokens[t]}*, column *{tokens[hidden[0]]}*. Row t predicts word t + 1, so"
            " the cells"
            " (t, t + 1) give the answers away; the causal mask hides everything right of the"
            " diagonal."
        ),
    )


@register("masks.pipeline")
def pipeline() -> Order:
    """Say where the mask goes, and what may change places."""
    return Order(
        title="Where does the mask go?",
        prompt=(
            "Put one head of masked attention in order. Two of the steps may change places; either"
            " order counts."
        ),
        steps=(
            "dot products of all queries with all keys",
            "divide by the root of `d_k`",
            "write −∞ where a query may not look",
            "softmax over the keys",
            "weighted sum of the values",
        ),
        rules=(
            Rule(0, 1, "Divide what? Which numbers must exist first?"),
            Rule(0, 2, "Where is −∞ written, if there are no scores yet?"),
            Rule(
                2,
                3,
                (
                    "After the softmax the hidden keys have taken their share. What becomes of"
                    " the sum 1?"
                ),
            ),
            Rule(
                1,
                3,
                "The factor is there to keep the softmax from saturating. Can it come after it?",
            ),
            Rule(3, 4, "With what are the values weighted, before there are weights?"),
        ),
        right="Right. −∞ divided by √d_k is −∞, so those two may change places; nothing else may.",
        hints=(
            "The scores come first, the values last.",
            (
                "A hidden key must get the weight 0 *and* leave its share to the others. Before"
                " which step?"
            ),
            "Division and mask may stand in either order, both before the softmax.",
        ),
        solution=(
            "Dot products; division and mask in either order; softmax; weighted sum. A mask"
            " behind the"
            " softmax makes rows that add up to less than 1."
        ),
    )


# --- in the notebook -----------------------------------------------------------------------------


def _hidden(scores: np.ndarray, mask: np.ndarray, hide: float = -np.inf) -> np.ndarray:
    return np.where(mask, scores, hide)


def _tri(scores: np.ndarray, k: int) -> np.ndarray:
    n_q, n_k = scores.shape[-2:]
    return np.tri(n_q, n_k, k, dtype=bool)


def _square(rng: np.random.Generator) -> Case:
    n = int(rng.choice([3, 5, 7]))
    scores = numbers(rng, n, n)
    return Case((scores, 0), _hidden(scores, causal_mask(n)))


def _behind(rng: np.random.Generator, spare: int = 0, batch: tuple[int, ...] = ()) -> Case:
    n_q, offset = (int(x) for x in rng.permutation([2, 3, 5])[:2])
    n_k = n_q + offset + spare
    scores = numbers(rng, *batch, n_q, n_k)
    return Case((scores, offset), _hidden(scores, causal_mask(n_q, n_k, offset)))


@register("masks.causal")
def causal() -> Code:
    """Write the causal mask with an offset, as masked scores."""
    return Code(
        title="Hide the future",
        function="hide_future",
        prompt=(
            "Return a copy of the scores, shape (..., n_q, n_k), with `-np.inf` wherever the key"
            " comes later than the query. Key j stands at place j, query t at place t + offset (as"
            " many keys stand before the first query). The shapes come from the scores; there may"
            " be more keys than n_q + offset, and a batch in front."
        ),
        stub=(
            "def hide_future(scores, offset):\n"
            '    """Return scores with -inf where the key comes after the query."""\n'
            '    raise NotImplementedError("masks.causal")\n'
        ),
        rungs=(
            Rung(
                "no offset",
                _square,
                "Take row 1: it may look at the keys 0 and 1. What does your row 1 hold?",
                (
                    Slip(
                        "not even itself",
                        lambda s, o: _hidden(s, _tri(s, -1)),
                        "Your first row is empty. May a token look at itself?",
                    ),
                    Slip(
                        "one too many",
                        lambda s, o: _hidden(s, _tri(s, 1)),
                        "Each of your rows sees one key too many: the word that it must predict."
                        " Which places do you compare?",
                    ),
                    Slip(
                        "the past hidden",
                        lambda s, o: _hidden(s, ~_tri(s, -1)),
                        "You hid what came before. Which side of the diagonal is the future, when"
                        " queries are rows?",
                    ),
                    Slip(
                        "the inverted triangle",
                        lambda s, o: _hidden(s, ~_tri(s, 0)),
                        "You hid what was allowed and kept what was forbidden. What does True mean"
                        " in your mask?",
                    ),
                    Slip(
                        "zeros",
                        lambda s, o: _hidden(s, _tri(s, 0), 0.0),
                        "You wrote 0 where a key is hidden. What is e to the power 0?",
                    ),
                    Slip(
                        "a large number",
                        lambda s, o: _hidden(s, _tri(s, 0), -1e9),
                        "−1e9 hides in an ordinary row. What does it do in an empty one, and which"
                        " value is asked for?",
                    ),
                    Slip(
                        "the mask itself",
                        lambda s, o: _tri(s, 0).astype(float),
                        "You returned the mask. Where are the scores?",
                    ),
                    Slip(
                        "the addend",
                        lambda s, o: _hidden(0 * s, _tri(s, 0)),
                        "That is what you would add to the scores. Where are the scores?",
                    ),
                ),
            ),
            Rung(
                "behind a cache",
                _behind,
                "The first query stands behind `offset` keys. Which is the last key it may see?",
                (
                    Slip(
                        "offset ignored",
                        lambda s, o: _hidden(s, _tri(s, 0)),
                        "Your triangle starts in the upper left corner, as if no key stood before"
                        " the first query. What is the place of query 0?",
                    ),
                    Slip(
                        "offset subtracted",
                        lambda s, o: _hidden(s, _tri(s, -o)),
                        "You moved the triangle to the wrong side, and rows are empty. With more"
                        " keys behind it, does a query see more or fewer?",
                    ),
                    Slip(
                        "one short",
                        lambda s, o: _hidden(s, _tri(s, o - 1)),
                        "Your query does not see itself any more. Is `offset` the place of the last"
                        " cached key or of the first query?",
                    ),
                    Slip(
                        "no mask",
                        lambda s, o: s,
                        "You hid nothing. With several new queries, may the first see the last?",
                    ),
                ),
                crash="There are more keys than queries now. Which line needs a square?",
            ),
            Rung(
                "keys to spare",
                lambda rng: _behind(rng, spare=2),
                "There are keys behind the last query. Who may look at those?",
                (
                    Slip(
                        "the lower right corner",
                        lambda s, o: _hidden(s, _tri(s, s.shape[-1] - s.shape[-2])),
                        "You aligned the triangle with the last key. Do you use `offset`, or a"
                        " difference of sizes?",
                    ),
                ),
            ),
            Rung(
                "a batch in front",
                lambda rng: _behind(rng, batch=(7,)),
                "There is a third axis now. Which two axes are queries and keys?",
                crash="There is a third axis now. Which line counts axes from the front?",
            ),
        ),
        hints=(
            "Make a column of the queries' places and a row of the keys' places, and compare.",
            "`np.arange(n_q)[:, None] + offset` is the column, `np.arange(n_k)` the row.",
            "Take the sizes from `scores.shape[-2:]`, and let `np.where` choose score or −inf.",
        ),
        solution=(
            "```python\n"
            "def hide_future(scores, offset):\n"
            "    n_q, n_k = scores.shape[-2:]\n"
            "    place_of_query = np.arange(n_q)[:, None] + offset\n"
            "    may_look = np.arange(n_k) <= place_of_query\n"
            "    return np.where(may_look, scores, -np.inf)\n"
            "```\n\n"
            "The mask has two axes, and `np.where` lets it serve every axis in front."
        ),
    )


def _padded(rng: np.random.Generator, batch: int, empty: bool = False) -> Case:
    n_q, n_k = 3, 7
    if batch == 3:
        n_q = 5
    lengths = rng.permutation(np.arange(1, n_k))[:batch]
    if empty:
        lengths[rng.integers(batch)] = 0
    scores = numbers(rng, batch, n_q, n_k)
    return Case((scores, lengths), _hidden(scores, padding_mask(lengths, n_k)))


def _table(scores: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    return np.arange(scores.shape[-1]) < np.asarray(lengths)[:, None, None]


def _rows(scores: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    return np.arange(scores.shape[-2])[:, None] < np.asarray(lengths)[:, None, None]


@register("masks.padding")
def padding() -> Code:
    """Hide the columns of pads in a batch."""
    return Code(
        title="Hide the pads",
        function="hide_pads",
        prompt=(
            "Scores of a batch, shape (batch, n_q, n_k), and `lengths`, shape (batch,): how many"
            " keys of each sentence are real (the first ones). Return a copy of the scores with"
            " `-np.inf` in the columns of pads. A length may be 0."
        ),
        stub=(
            "def hide_pads(scores, lengths):\n"
            '    """Return scores with -inf at the keys that are pads."""\n'
            '    raise NotImplementedError("masks.padding")\n'
        ),
        rungs=(
            Rung(
                "one sentence",
                lambda rng: _padded(rng, 1),
                "With one sentence of `lengths[0]` real keys: which columns must be −inf?",
                (
                    Slip(
                        "the real ones",
                        lambda s, n: _hidden(s, ~_table(s, n)),
                        "You hid the real words and kept the pads. What does True mean in your"
                        " mask?",
                    ),
                    Slip(
                        "one pad left",
                        lambda s, n: _hidden(s, _table(s, np.asarray(n) + 1)),
                        "The first pad is still visible. Is key number `length` real, when the"
                        " first has number 0?",
                    ),
                    Slip(
                        "one word lost",
                        lambda s, n: _hidden(s, _table(s, np.asarray(n) - 1)),
                        "The last real word is hidden. With a length of 2, which numbers do the"
                        " real keys have?",
                    ),
                    Slip(
                        "rows",
                        lambda s, n: _hidden(s, _rows(s, n)),
                        "You hid rows. A row is what one query asks: whom should nobody look at, a"
                        " query or a key?",
                    ),
                    Slip(
                        "rows and columns",
                        lambda s, n: _hidden(s, _table(s, n) & _rows(s, n)),
                        "You hid the pads' rows as well, and made rows that may look at nothing."
                        " Who reads the rows of pads?",
                    ),
                    Slip(
                        "from the left",
                        lambda s, n: _hidden(s, _table(s, n)[..., ::-1]),
                        "You kept the last keys. Which end do the pads stand at?",
                    ),
                    Slip(
                        "zeros",
                        lambda s, n: _hidden(s, _table(s, n), 0.0),
                        "You wrote 0 at the pads. What is e to the power 0?",
                    ),
                    Slip(
                        "cut off",
                        lambda s, n: s[..., : int(np.asarray(n)[0])],
                        "You cut the pads off. What if another sentence of the batch is longer?",
                    ),
                ),
            ),
            Rung(
                "three sentences",
                lambda rng: _padded(rng, 3),
                "Each sentence has its own length. Whose length did you use for the second?",
                (
                    Slip(
                        "the first one's length for all",
                        lambda s, n: _hidden(s, _table(s, np.repeat(np.asarray(n)[0], len(n)))),
                        "Every sentence got the length of the first. Along which axis do the"
                        " lengths run?",
                    ),
                    Slip(
                        "the longest for all",
                        lambda s, n: _hidden(s, _table(s, np.repeat(np.max(n), len(n)))),
                        "Every sentence got the length of the longest. Who has pads then?",
                    ),
                ),
                crash=(
                    "A mask of shape (batch, n_k) meets scores of shape (batch, n_q, n_k), and"
                    " numpy lines up the last axes. Which axis of size 1 is missing?"
                ),
            ),
            Rung(
                "an empty sentence",
                lambda rng: _padded(rng, 3, empty=True),
                "One sentence has no word at all. What must its scores be?",
                (
                    Slip(
                        "at least one key",
                        lambda s, n: _hidden(s, _table(s, np.maximum(n, 1))),
                        "Your empty sentence has kept one key, and that key is a pad. What does a"
                        " length of 0 say?",
                    ),
                ),
            ),
        ),
        hints=(
            "Number the keys from 0 and compare each number with the length.",
            "For a batch, the lengths must stand on the first of three axes.",
            "`np.asarray(lengths)[:, None, None]` has shape (batch, 1, 1); compare `np.arange(n_k)`"
            " with it.",
        ),
        solution=(
            "```python\n"
            "def hide_pads(scores, lengths):\n"
            "    n_k = scores.shape[-1]\n"
            "    real = np.arange(n_k) < np.asarray(lengths)[:, None, None]\n"
            "    return np.where(real, scores, -np.inf)\n"
            "```\n\n"
            "`real` has shape (batch, 1, n_k): all queries of a sentence share it."
        ),
    )


def _some_allowed(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Draw a mask in which each row allows one key and hides another."""
    mask = rng.random(shape) < 0.5
    first = rng.integers(shape[-1], size=shape[:-1])[..., None]
    np.put_along_axis(mask, first, True, axis=-1)
    np.put_along_axis(mask, (first + 1) % shape[-1], False, axis=-1)
    return mask


def _masked_case(scores: np.ndarray, mask: np.ndarray) -> Case:
    return Case((scores, mask), softmax(_hidden(scores, mask)))


def _plain_masked(rng: np.random.Generator) -> Case:
    n_q, n_k = (int(x) for x in rng.permutation([3, 5, 7])[:2])
    return _masked_case(numbers(rng, n_q, n_k), _some_allowed(rng, n_q, n_k))


def _loud_hidden(rng: np.random.Generator) -> Case:
    mask = _some_allowed(rng, 3, 5)
    return _masked_case(numbers(rng, 3, 5) + np.where(mask, 0.0, 2000.0), mask)


def _very_low(rng: np.random.Generator) -> Case:
    mask = _some_allowed(rng, 5, 7)
    return _masked_case(numbers(rng, 5, 7) - np.where(mask, 4e9, 0.0), mask)


def _late(scores: np.ndarray, mask: np.ndarray) -> np.ndarray:
    return np.where(mask, softmax(scores), 0.0)


def _late_again(scores: np.ndarray, mask: np.ndarray) -> np.ndarray:
    late = _late(scores, mask)
    return late / late.sum(axis=-1, keepdims=True)


def _power_share(masked: np.ndarray, largest: np.ndarray) -> np.ndarray:
    powers = np.exp(masked - largest)
    return powers / powers.sum(axis=-1, keepdims=True)


@register("masks.after_softmax")
def after_softmax() -> Code:
    """Repair a mask that comes after the softmax."""
    return Code(
        title="Repair this code",
        function="masked_weights",
        prompt=(
            "This code masks after the softmax and divides again. With small scores its weights are"
            " right. Repair it, so that a hidden key cannot spoil a row, however large its score."
            " Each row has at least one allowed key; `mask` is bool, True = may look. Remove the"
            " `raise` when you begin."
        ),
        stub=(
            "def masked_weights(scores, mask):\n"
            '    """Return weights (n_q, n_k): 0 at hidden keys, rows sum to 1."""\n'
            '    raise NotImplementedError("masks.after_softmax")\n'
            "    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))\n"
            "    weights = powers / powers.sum(axis=-1, keepdims=True)\n"
            "    weights = weights * mask\n"
            "    return weights / weights.sum(axis=-1, keepdims=True)\n"
        ),
        rungs=(
            Rung(
                "ordinary scores",
                _plain_masked,
                "Among the allowed keys of a row: do your weights sum to 1, in the ratio of e to"
                " the difference of scores?",
                (
                    Slip(
                        "not divided again",
                        _late,
                        "Your rows sum to less than 1: the hidden keys keep their place below the"
                        " line. What must happen before the sum is taken?",
                    ),
                    Slip(
                        "no mask",
                        lambda s, m: softmax(s),
                        "Your hidden keys have weight. What became of the mask?",
                    ),
                    Slip(
                        "the inverted mask",
                        lambda s, m: softmax(_hidden(s, ~m)),
                        "Your weights stand at the hidden keys only. What does True mean here?",
                    ),
                    Slip(
                        "zero hides",
                        lambda s, m: softmax(s * m),
                        "You gave hidden keys the score 0, and they got e to the power 0. Which"
                        " score gets nothing?",
                    ),
                    Slip(
                        "one sum for all",
                        lambda s, m: _late(s, m) / _late(s, m).sum(),
                        "All your rows together sum to 1. Whose shares are these?",
                    ),
                    Slip(
                        "shared equally",
                        lambda s, m: m / m.sum(axis=-1, keepdims=True),
                        "All allowed keys of a row have the same weight. Where did the scores go?",
                    ),
                    Slip(
                        "the rest shared out",
                        lambda s, m: (
                            _late(s, m)
                            + m
                            * (1 - _late(s, m).sum(axis=-1, keepdims=True))
                            / m.sum(axis=-1, keepdims=True)
                        ),
                        "You shared out what was missing in equal parts. Which ratio should two"
                        " allowed weights keep?",
                    ),
                ),
            ),
            Rung(
                "a loud hidden key",
                _loud_hidden,
                "A hidden key stands 2,000 above all others. Which numbers of your row does it"
                " still touch?",
                (
                    Slip(
                        "masked after, divided again",
                        _late_again,
                        "Beside the hidden key all allowed numbers round to 0, and then you divide"
                        " 0 by 0. Where does its score still enter: in the sum, or as the largest"
                        " that you take off?",
                    ),
                    Slip(
                        "a small constant below the line",
                        lambda s, m: _late(s, m) / (_late(s, m).sum(axis=-1, keepdims=True) + 1e-9),
                        "No NaN, but your row is all zeros: the allowed weights had been rounded"
                        " away before you divided. Does a small constant bring them back?",
                    ),
                ),
            ),
            Rung(
                "very low scores",
                _very_low,
                "The allowed scores are very low, yet all there is. Does a hidden key win?",
                (
                    Slip(
                        "a large number hides",
                        lambda s, m: softmax(_hidden(s, m, -1e9)),
                        "Your hidden keys got −1e9, and here that is more than the allowed scores."
                        " Which number lies below every other?",
                    ),
                ),
            ),
        ),
        hints=(
            "The order is the bug: mask, then softmax.",
            "Make a copy of the scores with −inf where the mask is False, and use it everywhere.",
            "The largest score that you take off must be the largest of the masked copy.",
        ),
        solution=(
            "```python\n"
            "def masked_weights(scores, mask):\n"
            "    visible = np.where(mask, scores, -np.inf)\n"
            "    powers = np.exp(visible - visible.max(axis=-1, keepdims=True))\n"
            "    return powers / powers.sum(axis=-1, keepdims=True)\n"
            "```\n\n"
            "e to the power −inf is an exact 0, so no second division is needed."
        ),
    )


def _with_empty(rng: np.random.Generator, *batch: int) -> Case:
    n_q, n_k = 3, 5
    mask = _some_allowed(rng, *batch, n_q, n_k)
    mask[..., int(rng.integers(n_q)), :] = False
    return _masked_case(numbers(rng, *batch, n_q, n_k), mask)


def _deep(rng: np.random.Generator) -> Case:
    return _masked_case(numbers(rng, 5, 7) - 900.0, _some_allowed(rng, 5, 7))


def _plain(scores: np.ndarray, mask: np.ndarray) -> np.ndarray:
    visible = _hidden(scores, mask)
    return _power_share(visible, visible.max(axis=-1, keepdims=True))


def _no_maximum(scores: np.ndarray, mask: np.ndarray) -> np.ndarray:
    powers = np.exp(_hidden(scores, mask))
    total = powers.sum(axis=-1, keepdims=True)
    return powers / np.where(total == 0, 1.0, total)


@register("masks.empty_row")
def empty_row() -> Code:
    """Write masked weights in which an empty row gives zeros."""
    return Code(
        title="A row that may look at nothing",
        function="safe_weights",
        prompt=(
            "Write weights from scores and a bool mask (True = may look) for any number of axes in"
            " front. Allowed keys of a row share 1 by the softmax; a row whose mask is all False"
            " gives zeros, never NaN and never shares of what is hidden. Scores may lie at −900."
        ),
        stub=(
            "def safe_weights(scores, mask):\n"
            '    """Return weights; a row that may look at nothing gives zeros."""\n'
            '    raise NotImplementedError("masks.empty_row")\n'
        ),
        rungs=(
            Rung(
                "every row has a key",
                _plain_masked,
                "No row is empty here. Are your weights the softmax of the allowed scores?",
                (
                    Slip(
                        "no mask",
                        lambda s, m: softmax(s),
                        "Your hidden keys have weight. What became of the mask?",
                    ),
                    Slip(
                        "the inverted mask",
                        lambda s, m: softmax(_hidden(s, ~m)),
                        "Your weights stand at the hidden keys. What does True mean here?",
                    ),
                    Slip(
                        "masked after",
                        _late,
                        "Your rows sum to less than 1. Did the softmax see the hidden scores?",
                    ),
                    Slip(
                        "only zeros",
                        lambda s, m: np.zeros_like(s),
                        "All your rows are zeros. Which rows should be?",
                    ),
                ),
            ),
            Rung(
                "one empty row",
                _with_empty,
                "One row may look at nothing. What do you divide by what, in that row?",
                (
                    Slip(
                        "NaN",
                        _plain,
                        "Your empty row is NaN: its largest score is −inf, and −inf minus −inf is"
                        " not a number. What could you take off such a row instead?",
                    ),
                    Slip(
                        "uniform",
                        lambda s, m: softmax(_hidden(s, m, -1e9)),
                        "Your empty row is uniform: it looks at all that was hidden. Which"
                        " number hides a key even when nothing else is there?",
                    ),
                    Slip(
                        "the mask vanished",
                        lambda s, m: np.where(
                            m.any(axis=-1, keepdims=True), softmax(_hidden(s, m)), softmax(s)
                        ),
                        "Your empty row has the weights of no mask at all. Was one number added to"
                        " the whole row?",
                    ),
                    Slip(
                        "itself",
                        lambda s, m: np.where(
                            m.any(axis=-1, keepdims=True),
                            softmax(_hidden(s, m)),
                            np.eye(s.shape[-2], s.shape[-1]),
                        ),
                        "Your empty row looks at itself. Who allowed that?",
                    ),
                    Slip(
                        "all zeros after one empty row",
                        lambda s, m: np.zeros_like(s) if not m.any(axis=-1).all() else softmax(s),
                        "One empty row emptied all the others. Which axis did you test?",
                    ),
                ),
            ),
            Rung(
                "low but not empty",
                _deep,
                "These rows are not empty: their scores are low. How do you tell the two apart?",
                (
                    Slip(
                        "no maximum taken off",
                        _no_maximum,
                        "e to the power −900 rounds to 0, and you took the row for an empty one."
                        " What must be taken off first?",
                    ),
                ),
            ),
            Rung(
                "a batch in front",
                lambda rng: _with_empty(rng, 7),
                "There is a third axis now. Do you count your axes from the back?",
                crash="There is a third axis now. Which line counts axes from the front?",
            ),
        ),
        hints=(
            "Only two lines of an ordinary masked softmax break on an empty row: which?",
            "Where the row's largest score is −inf, take off 0 instead.",
            "Where the sum of the powers is 0, divide by 1 instead.",
        ),
        solution=(
            "```python\n"
            "def safe_weights(scores, mask):\n"
            "    visible = np.where(mask, scores, -np.inf)\n"
            "    largest = visible.max(axis=-1, keepdims=True)\n"
            "    powers = np.exp(visible - np.where(np.isfinite(largest), largest, 0.0))\n"
            "    total = powers.sum(axis=-1, keepdims=True)\n"
            "    return powers / np.where(total == 0, 1.0, total)\n"
            "```\n\n"
            "No row is repaired afterwards: no NaN ever exists, so none can reach a gradient."
        ),
    )


Layer = Callable[[np.ndarray], np.ndarray]
MaskOf = Callable[[int], np.ndarray]


def _layer(rng: np.random.Generator, mask_of: MaskOf, hide: float, late: bool) -> Layer:
    """Return one head with small random matrices under a mask."""
    W_Q, W_K, W_V = (0.4 * rng.normal(size=(3, d)) for d in (5, 5, 2))

    def layer(X: np.ndarray) -> np.ndarray:
        scores = (X @ W_Q) @ (X @ W_K).T / np.sqrt(5)
        mask = mask_of(len(X))
        weights = _late(scores, mask) if late else softmax(_hidden(scores, mask, hide))
        return weights @ (X @ W_V)

    return layer


def _blocks(n: int) -> np.ndarray:
    block = np.arange(n) // 3
    return causal_mask(n) | (block[:, None] == block)


def _reach_case(
    mask_of: MaskOf, reach: Callable[[int], int], hide: float = -np.inf, late: bool = False
) -> Callable[[np.random.Generator], Case]:
    def draw(rng: np.random.Generator) -> Case:
        n = int(rng.choice([5, 7, 11]))
        return Case((_layer(rng, mask_of, hide, late), numbers(rng, n, 3) / 2), float(reach(n)))

    return draw


def _movers(layer: Layer, X: np.ndarray, least: float = 1e-9) -> np.ndarray:
    """Return a bool table: whether row t moves when token j changes."""
    table = np.zeros((len(X), len(X)), dtype=bool)
    for j in range(len(X)):
        changed = X.copy()
        changed[j] += 1.0
        table[:, j] = np.abs(layer(changed) - layer(X)).max(axis=-1) > least
    return table


def _ahead(table: np.ndarray) -> float:
    t, j = np.nonzero(table)
    return float(max((j - t).max(initial=0), 0))


def _last_only(layer: Layer, X: np.ndarray) -> float:
    table = _movers(layer, X)
    table[:, :-1] = False
    return _ahead(table)


def _both_ways(layer: Layer, X: np.ndarray) -> float:
    t, j = np.nonzero(_movers(layer, X))
    return float(np.abs(j - t).max(initial=0))


@register("masks.leak_test")
def leak_test() -> Code:
    """Write the test that finds a mask that is off by one, or by more."""
    return Code(
        title="Write the test that exposes it",
        function="reach_ahead",
        prompt=(
            "`layer(X)` is somebody's causal layer: X has shape (n, 3), the output (n, 2), one row"
            " a token. You see neither weights nor mask. Return how far it looks ahead: the largest"
            " j − t such that changing token j moves row t of the output, and 0 if no row sees"
            " anything later. Six layers wait on the ladder: an honest one, one whose mask is off"
            " by one, and worse."
        ),
        stub=(
            "def reach_ahead(layer, X):\n"
            '    """Return the largest j - t such that token j moves row t, or 0."""\n'
            '    raise NotImplementedError("masks.leak_test")\n'
        ),
        rungs=(
            Rung(
                "an honest layer",
                _reach_case(lambda n: causal_mask(n), lambda n: 0),
                "You accused an honest layer. When token j changes, which rows may move?",
                (
                    Slip(
                        "both directions",
                        _both_ways,
                        "You counted rows that come after the changed token. Which direction is a"
                        " leak?",
                    ),
                    Slip(
                        "one too many",
                        lambda layer, X: _ahead(_movers(layer, X)) + 1,
                        "You found 1 where a token moved its own row. How far ahead is a token of"
                        " itself?",
                    ),
                    Slip(
                        "how many rows move",
                        lambda layer, X: float(_movers(layer, X).sum(axis=0).max()),
                        "You counted how many rows move. Which of them come before the changed"
                        " token, and how far?",
                    ),
                ),
                crash="Your test stopped. What does `layer` take, and what does it return?",
            ),
            Rung(
                "off by one",
                _reach_case(lambda n: np.tri(n, k=1, dtype=bool), lambda n: 1),
                "This mask is off by one: row t sees word t + 1, its answer. You let it pass. Do"
                " you look at the row right before the changed token?",
            ),
            Rung(
                "no mask",
                _reach_case(lambda n: np.ones((n, n), dtype=bool), lambda n: n - 1),
                "This layer has no mask: its first row sees the last token. How far is that?",
                (
                    Slip(
                        "yes or no",
                        lambda layer, X: float(_ahead(_movers(layer, X)) > 0),
                        "You said that it leaks. How far does it look?",
                    ),
                    Slip(
                        "only the neighbour",
                        lambda layer, X: float(np.diag(_movers(layer, X), 1).any()),
                        "You looked one place ahead. What about two?",
                    ),
                ),
            ),
            Rung(
                "blocks of three",
                _reach_case(_blocks, lambda n: 2),
                "In this layer the tokens 0, 1, 2 see each other, then 3, 4, 5, and so on. Is the"
                " widest look always at the last token?",
                (
                    Slip(
                        "only the last token changed",
                        _last_only,
                        "You changed the last token and no other. Could a layer leak in the middle"
                        " and be honest at the end?",
                    ),
                ),
            ),
            Rung(
                "a faint leak",
                _reach_case(lambda n: causal_mask(n), lambda n: n - 1, hide=-12.0),
                "This layer hides keys with −12 in place of −inf: e to the power −12 is small and"
                " not 0. How large must a movement be for you to count it?",
                (
                    Slip(
                        "small movements ignored",
                        lambda layer, X: _ahead(_movers(layer, X, 1e-3)),
                        "You let small movements pass. From which size on is a movement more than"
                        " rounding?",
                    ),
                ),
            ),
            Rung(
                "masked after the softmax",
                _reach_case(lambda n: causal_mask(n), lambda n: n - 1, late=True),
                "This layer masks after the softmax: no weight on a later key, and later keys still"
                " stand in the sums. You let it pass. What does your test look at?",
            ),
        ),
        hints=(
            "Change one token in a copy of X, run the layer, and see which rows moved.",
            "Do that for every token j. The first row t that moved gives j − t.",
            "Rounding moves nothing by more than 1e-9 here, and a faint leak moves more than that.",
        ),
        solution=(
            "```python\n"
            "def reach_ahead(layer, X):\n"
            "    before, reach = layer(X), 0\n"
            "    for j in range(len(X)):\n"
            "        changed = X.copy()\n"
            "        changed[j] += 1.0\n"
            "        moved = np.abs(layer(changed) - before).max(axis=-1) > 1e-9\n"
            "        if moved.any():\n"
            "            reach = max(reach, j - int(moved.argmax()))\n"
            "    return reach\n"
            "```\n\n"
            "The test never looks at a mask. It changes the future and watches the past."
        ),
    )


TorchLayer = Callable[..., np.ndarray]
TorchFunction = Callable[..., np.ndarray]


def _addend(mask: object, name: str, true_hides: bool) -> np.ndarray:
    """Return what torch adds to the scores for a mask: bool hides, float is added, int refused."""
    given = np.asarray(mask.detach().cpu() if hasattr(mask, "detach") else mask)
    if given.dtype.kind == "f":
        return given
    if given.dtype != bool:
        raise TypeError(f"{name} is {given.dtype}; only bool and floating types are supported")
    return np.where(given if true_hides else ~given, -np.inf, 0.0)


def _torch_rules(scores: np.ndarray) -> tuple[TorchLayer, TorchFunction]:
    """Return a layer and a function that read masks as torch's do, over (batch, heads, q, k)."""
    batch, _, n_q, n_k = scores.shape

    def masks(
        names: tuple[str, ...], given: tuple[object, ...], named: dict[str, object]
    ) -> list[Any]:
        """Return the masks in the order of their names, as a call to torch would take them."""
        by_name = dict(zip(names, given, strict=False)) | named
        if len(given) > len(names) or set(by_name) != set(names):
            raise TypeError(f"takes {' and '.join(names)}; got {len(given) + len(named)} masks")
        return [by_name[name] for name in names]

    def layer(*given: object, **named: object) -> np.ndarray:
        rule, is_pad = masks(("attn_mask", "key_padding_mask"), given, named)
        pairs = _addend(rule, "attn_mask", true_hides=True)
        pads = _addend(is_pad, "key_padding_mask", true_hides=True)
        if pairs.shape != (n_q, n_k):
            raise ValueError(f"attn_mask has shape {pairs.shape}, and should have {(n_q, n_k)}")
        if pads.shape != (batch, n_k):
            raise ValueError(f"key_padding_mask has shape {pads.shape}, not {(batch, n_k)}")
        return softmax(scores + pairs + pads[:, None, None, :])

    def function(*given: object, **named: object) -> np.ndarray:
        (rule,) = masks(("attn_mask",), given, named)
        return softmax(scores + _addend(rule, "attn_mask", true_hides=False))

    return layer, function


def _torch_case(rng: np.random.Generator, padded: bool) -> Case:
    batch, heads, n_q, n_k = 3, 2, 5, 7
    pairs = causal_mask(n_q, n_k, offset=n_k - n_q)
    lengths = rng.permutation([2, 4, n_k]) if padded else np.full(batch, n_k)
    real = np.arange(n_k) < lengths[:, None]
    scores = numbers(rng, batch, heads, n_q, n_k)
    layer, function = _torch_rules(scores)
    expected = softmax(_hidden(scores, (pairs & real[:, None, :])[:, None]))
    return Case((pairs, real, layer, function), (expected, expected))


def _both(pairs: np.ndarray, real: np.ndarray) -> np.ndarray:
    return (pairs & real[:, None, :])[:, None]


@register("masks.to_torch")
def to_torch() -> Code:
    """Hand one may-look mask to torch's layer and to torch's function."""
    return Code(
        title="One rule, two readers",
        function="to_torch",
        returns=("layer", "function"),
        prompt=(
            "You hold two bool arrays: `pairs` (n_q, n_k), True where a query **may look** at a"
            " key, and `real` (batch, n_k), True where a key is a **word**, not a pad."
            " `layer(attn_mask, key_padding_mask)` reads its masks as `nn.MultiheadAttention`"
            " does, `function(attn_mask)` as `scaled_dot_product_attention` does; both return"
            " weights (batch, heads, n_q, n_k). Call each so that a query looks at allowed words"
            " only, and return what the two give. Bool hides, a float is *added*, an integer is"
            " refused, as in torch."
        ),
        stub=(
            "def to_torch(pairs, real, layer, function):\n"
            '    """Return layer(...) and function(...) under the same rule."""\n'
            '    raise NotImplementedError("masks.to_torch")\n'
        ),
        rungs=(
            Rung(
                "a rule about pairs",
                lambda rng: _torch_case(rng, padded=False),
                "No pads yet. What does True say in `attn_mask` of the layer, and what in that of"
                " the function?",
                (
                    Slip(
                        "the rule as it is, in the layer",
                        lambda p, r, layer, f: (layer(p, ~r), f(_both(p, r))),
                        "Your layer looks at the future only. What does True mean in its"
                        " `attn_mask`?",
                    ),
                    Slip(
                        "the words as they are, in the layer",
                        lambda p, r, layer, f: (layer(~p, r), f(_both(p, r))),
                        "In your layer nobody may look at anything. What does True say in"
                        " `key_padding_mask`: a word, or a pad?",
                    ),
                    Slip(
                        "inverted in the function too",
                        lambda p, r, layer, f: (layer(~p, ~r), f(~_both(p, r))),
                        "Your function sees what it should not. Does True keep there, or block?",
                    ),
                    Slip(
                        "numbers for bools",
                        lambda p, r, layer, f: (
                            layer((~p).astype(float), (~r).astype(float)),
                            f(_both(p, r).astype(float)),
                        ),
                        "Nothing is hidden: your masks are floats, and 0 and 1 were added to the"
                        " scores. Which type hides?",
                    ),
                    Slip(
                        "numbers for bools in the function",
                        lambda p, r, layer, f: (layer(~p, ~r), f(_both(p, r).astype(float))),
                        "Your function hides nothing: a float mask of 0 and 1 is added to the"
                        " scores. Which type hides?",
                    ),
                    Slip(
                        "either",
                        lambda p, r, layer, f: (
                            layer(~p, ~r),
                            f((p | r[:, None, :])[:, None]),
                        ),
                        "In your function a pair is allowed when one of two rules allows it. How"
                        " are two masks of may-look joined?",
                    ),
                ),
                crash="A mask was refused. Which types does torch take, and which shape does each"
                " of the three want?",
            ),
            Rung(
                "and pads",
                lambda rng: _torch_case(rng, padded=True),
                "Two sentences have pads now. Which of the three masks knows of them?",
                (
                    Slip(
                        "no pads in the function",
                        lambda p, r, layer, f: (layer(~p, ~r), f(p)),
                        "Your function looks at pads: it has one mask for everything. What must be"
                        " joined to the rule?",
                    ),
                    Slip(
                        "no pads in the layer",
                        lambda p, r, layer, f: (layer(~p, np.zeros(r.shape, bool)), f(_both(p, r))),
                        "Your layer looks at pads. Which of its two masks is about each sentence?",
                    ),
                ),
                crash="The weights have four axes: batch, heads, n_q, n_k. Which axis is missing in"
                " your mask, and at which place?",
            ),
        ),
        hints=(
            "In the layer True blocks, in both of its masks. In the function True keeps.",
            "The function has one mask for both rules: join them with &, and mind the axes.",
            "real[:, None, None, :] has an axis for the heads and one for the queries; pairs fits"
            " from behind.",
        ),
        solution=(
            "```python\n"
            "def to_torch(pairs, real, layer, function):\n"
            "    kept = pairs & real[:, None, None, :]\n"
            "    return layer(~pairs, ~real), function(kept)\n"
            "```\n\n"
            "Two inversions for the layer, none for the function; the page's table says which name"
            " means what. The third name, is_causal, would draw its triangle from the upper left"
            " corner, and so be wrong here, behind two older keys."
        ),
    )


def _gradients(
    s: np.ndarray, m: np.ndarray, v: np.ndarray, g: np.ndarray, weights: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    w = softmax(_hidden(s, m)) if weights is None else weights
    return softmax_backward(w, g @ np.swapaxes(v, -1, -2)), np.swapaxes(w, -1, -2) @ g


def _gradient_case(rng: np.random.Generator, kind: str, *batch: int) -> Case:
    n_q, n_k, d_v = 4, 6, 3
    mask = np.ones((*batch, n_q, n_k), bool)
    if kind != "open":
        mask = _some_allowed(rng, *batch, n_q, n_k)
    if kind == "empty":
        mask[..., int(rng.integers(n_q)), :] = False
    s, v, g = (numbers(rng, *batch, *shape) for shape in ((n_q, n_k), (n_k, d_v), (n_q, d_v)))
    return Case((s, mask, v, g), _gradients(s, mask, v, g))


def _by_hand(
    s: np.ndarray, m: np.ndarray, v: np.ndarray, g: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the formulas as written, also where the weights are NaN."""
    up = g @ np.swapaxes(v, -1, -2)
    mean = (weights * up).sum(axis=-1, keepdims=True)
    return weights * (up - mean), np.swapaxes(weights, -1, -2) @ g


@register("masks.empty_gradient")
def empty_gradient() -> Code:
    """Write the way back through masked weights; an empty row sends nothing."""
    return Code(
        title="The way back through an empty row",
        function="backward",
        returns=("grad_scores", "grad_V"),
        prompt=(
            "Output = weights V, with weights the softmax of the scores that `mask` allows (True ="
            " may look), and zeros in a row that may look at nothing. Given `grad_output`, return"
            " the gradients of the loss with respect to the **scores** and to **V**. A hidden"
            " score and a row that looks at nothing have the gradient 0, and no NaN may reach V."
        ),
        stub=(
            "def backward(scores, mask, V, grad_output):\n"
            '    """Return the gradients with respect to the scores and to V."""\n'
            '    raise NotImplementedError("masks.empty_gradient")\n'
        ),
        rungs=(
            Rung(
                "all may look",
                lambda rng: _gradient_case(rng, "open"),
                "Nothing is hidden here. What is the derivative of a row of weights, and what goes"
                " back to V?",
                (
                    Slip(
                        "only the diagonal",
                        lambda s, m, v, g: (softmax(s) * (g @ v.T), softmax(s).T @ g),
                        "Each score moves the other weights of its row too. What is taken off?",
                    ),
                    Slip(
                        "the plain mean",
                        lambda s, m, v, g: (
                            softmax(s) * (g @ v.T - (g @ v.T).mean(axis=-1, keepdims=True)),
                            softmax(s).T @ g,
                        ),
                        "You took off the plain mean of the row. With which weights is that mean"
                        " taken?",
                    ),
                    Slip(
                        "no weight in front",
                        lambda s, m, v, g: (
                            g @ v.T - (softmax(s) * (g @ v.T)).sum(axis=-1, keepdims=True),
                            softmax(s).T @ g,
                        ),
                        "Your gradient does not get small where a weight is small. Which factor"
                        " stands in front?",
                    ),
                    Slip(
                        "over the queries",
                        lambda s, m, v, g: (
                            softmax(s)
                            * (g @ v.T - (softmax(s) * (g @ v.T)).sum(axis=0, keepdims=True)),
                            softmax(s).T @ g,
                        ),
                        "You summed over the queries. Which scores share one softmax?",
                    ),
                    Slip(
                        "stopped at the weights",
                        lambda s, m, v, g: (g @ v.T, softmax(s).T @ g),
                        "That is the gradient of the weights. Which step is left to the scores?",
                    ),
                ),
                crash="Your code stopped. Write the shapes down: which of them must be turned?",
            ),
            Rung(
                "some are hidden",
                lambda rng: _gradient_case(rng, "some"),
                "Some keys are hidden now. Which weights went forward?",
                (
                    Slip(
                        "no mask",
                        lambda s, m, v, g: _gradients(s, m, v, g, softmax(s)),
                        "Your hidden keys get a gradient. Were they looked at?",
                    ),
                    Slip(
                        "hidden after the softmax",
                        lambda s, m, v, g: _gradients(s, m, v, g, softmax(s) * m),
                        "Your weights were struck out after the softmax. Do the rows that went"
                        " forward add up to 1?",
                    ),
                    Slip(
                        "hidden on the way back only",
                        lambda s, m, v, g: (
                            np.where(m, _gradients(s, m, v, g, softmax(s))[0], 0),
                            softmax(s).T @ g,
                        ),
                        "You hid the gradients, not the scores. With which weights did the output"
                        " come about?",
                    ),
                ),
            ),
            Rung(
                "a row that sees nothing",
                lambda rng: _gradient_case(rng, "empty"),
                "One row may look at nothing. What are its weights, and what can it send back?",
                (
                    Slip(
                        "NaN",
                        lambda s, m, v, g: _by_hand(s, m, v, g, _plain(s, m)),
                        "One row of NaN, and every row of V's gradient is NaN: 0 times NaN is NaN."
                        " Where must the NaN not be born?",
                    ),
                    Slip(
                        "NaN made 0 at the end",
                        lambda s, m, v, g: tuple(
                            np.nan_to_num(x) for x in _by_hand(s, m, v, g, _plain(s, m))
                        ),
                        "You turned NaN into 0 at the end, and V lost what the honest rows sent"
                        " it. At which step is it still one row?",
                    ),
                    Slip(
                        "NaN made 0 in the scores",
                        lambda s, m, v, g: (
                            np.nan_to_num(_by_hand(s, m, v, g, _plain(s, m))[0]),
                            _by_hand(s, m, v, g, _plain(s, m))[1],
                        ),
                        "Your scores are mended, V's gradient is NaN in every row. Which product"
                        " carried it there?",
                    ),
                    Slip(
                        "minus a billion",
                        lambda s, m, v, g: _gradients(s, m, v, g, softmax(_hidden(s, m, -1e9))),
                        "Your empty row looks at all keys alike and sends them gradients. Who"
                        " allowed that?",
                    ),
                    Slip(
                        "minus a billion, scores hidden",
                        lambda s, m, v, g: (
                            np.where(m, _gradients(s, m, v, g)[0], 0),
                            np.swapaxes(softmax(_hidden(s, m, -1e9)), -1, -2) @ g,
                        ),
                        "Your scores are right, but the empty row still sends something to V."
                        " With which weights?",
                    ),
                ),
            ),
            Rung(
                "a batch in front",
                lambda rng: _gradient_case(rng, "empty", 5),
                "There is a third axis now. Do you count your axes from the back?",
                crash="There is a third axis now. Which line turns all axes, or counts from the"
                " front?",
            ),
        ),
        hints=(
            "Make the weights first, with zeros in the empty row. If no NaN is born there, none"
            " can travel.",
            "The weights' gradient is grad_output times V transposed. V's gradient is the weights,"
            " transposed, times grad_output.",
            "A row's scores: weights * (gradient - (weights * gradient) summed along the row).",
        ),
        solution=(
            "```python\n"
            "def backward(scores, mask, V, grad_output):\n"
            "    seen = np.where(mask, scores, -np.inf)\n"
            "    largest = seen.max(axis=-1, keepdims=True)\n"
            "    powers = np.exp(seen - np.where(np.isfinite(largest), largest, 0.0))\n"
            "    total = powers.sum(axis=-1, keepdims=True)\n"
            "    weights = powers / np.where(total == 0, 1.0, total)\n"
            "    up = grad_output @ np.swapaxes(V, -1, -2)\n"
            "    grad_scores = weights * (up - (weights * up).sum(axis=-1, keepdims=True))\n"
            "    return grad_scores, np.swapaxes(weights, -1, -2) @ grad_output\n"
            "```\n\n"
            "Zeros in front of everything: nothing has to be repaired on the way back."
        ),
    )
