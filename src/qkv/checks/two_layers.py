"""The exercises of chapter 18: two looks, one head's limit, cuts, single reads, and a test."""

# ruff: noqa: RUF001 (Greek letters are Greek letters)

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from qkv.checks.engine import register
from qkv.checks.exercise import Case, Choice, Code, Number, Option, Row, Rung, Slip, Wrong
from qkv.checks.ladder import numbers
from qkv.core.masks import causal_mask
from qkv.core.scaled_dot_product import scaled_dot_product_attention
from qkv.data.copying import Switches, copy_model, letter_ids, letters

Array = np.ndarray
Say = Callable[[Array], Array]

# --- in the page ---------------------------------------------------------------------------------


def _looks(text: str, row: int) -> tuple[float, float]:
    """Return where a row looks in layer 2, and where the row it looks at has looked in layer 1."""
    H = np.eye(26)[letter_ids(text)]
    before = np.eye(len(text), k=-1)
    _, weights = scaled_dot_product_attention(99 * H, before @ H, H, causal_mask(len(text)))
    place = int(weights[row].argmax())
    return float(place), float(before[place].argmax())


@register("two_layers.two_looks")
def two_looks() -> Row:
    """Say where both looks of one answer go."""
    return Row(
        title="Where do they look?",
        prompt=(
            "The text is TOMATOES; the places are counted from 0. Row 5, the second O, is asked."
            " With the three steps above: at which place does row 5 look in layer 2, and at which"
            " place has *the row of that place* looked in layer 1?"
        ),
        labels=("layer 2: row 5 looks at place", "layer 1: that row looked at place"),
        answer=_looks("TOMATOES", 5),
        right="Right. The M carries the note O, and the row of the second O finds it and says M.",
        otherwise="Which place carries the note “before me stood an O”, and who stood before it?",
        wrong=(
            Wrong((1.0, 0.0), "Place 1 is the first O itself. Is the wanted letter there?"),
            Wrong((1.0, 2.0), "You begin at the first O. Which place carries the note O?"),
            Wrong((2.0, 3.0), "Layer 1 is causal too. Can place 2 look at place 3?"),
            Wrong((6.0, 5.0), "Place 6 stands behind the row that asks. May row 5 see it?"),
            Wrong((2.0, 2.0), "Place 2 is right. Does a previous-token head look at itself?"),
            Wrong((2.0, 0.0), "Place 2 is right. Which place stands directly before it?"),
            Wrong((5.0, 4.0), "Place 5 carries the note T. Which note does an O look for?"),
        ),
        hints=(
            "Write the notes under the text: every place notes the letter before it.",
            "T O M A T O E S has the notes: none, T O M A T O E.",
            "Row 5 is an O and looks for the note O, at a place it may see.",
        ),
        solution=(
            "Layer 2: place **2**, the M, whose note is O. Layer 1: row 2 looked at place **1**,"
            " the O before it."
        ),
    )


@register("two_layers.margin")
def margin() -> Number:
    """Derive the fourth margin of one head from the other three."""
    a, b = (4.0, -5.0), (2.0, -6.0)
    first, second, third = a[0] + b[0], a[0] + b[1], a[1] + b[0]
    answer = a[1] + b[1]
    return Number(
        title="The fourth text",
        prompt=(
            "One head in one layer, and the four texts above. For the first three the products of"
            f" margin and Z are $m_1 Z_1 = {first:g}$, $m_2 Z_2 = {second:g}$ and"
            f" $m_3 Z_3 = {third:g}$: three right answers. Derive $m_4 Z_4$."
        ),
        label="m₄ Z₄",
        answer=answer,
        right="Right: it is negative, so the fourth text, which wants B, goes wrong.",
        otherwise="Write all four as α + β. Which two sums have the same four terms?",
        wrong=(
            Wrong(-answer, "Check the sign: on which side of the equation does the first stand?"),
            Wrong(second + third, "You left out the first text. Which sum equals which?"),
            Wrong(first + second + third, "You added all three. On which side does each stand?"),
            Wrong(first, "That is what the task wants. Can the head choose it freely?"),
            Wrong(first + second - third, "Which text shares no part with the fourth?"),
            Wrong(first - second + third, "Which text shares no part with the fourth?"),
        ),
        hints=(
            "The first text has the parts α₁ and β₁, the second α₁ and β₂, the third α₂ and β₁.",
            "The fourth has α₂ and β₂. So first plus fourth equals second plus third.",
            f"{second:g} + ({third:g}) = {first:g} + m₄ Z₄.",
        ),
        solution=(
            f"$m_4 Z_4 = m_2 Z_2 + m_3 Z_3 - m_1 Z_1 = {second:g} + ({third:g}) - {first:g} ="
            f" {answer:g}$. Three right answers force the fourth to be wrong, whatever the"
            " matrices are."
        ),
    )


def _still_says(cut: Switches) -> bool:
    """Return whether the model still answers QUERYKEYVALU."""
    return letters(copy_model().steps(letter_ids("QUERYKEYVALU"), cut).said)[-1] == "E"


@register("two_layers.predict_cut")
def predict_cut() -> Choice:
    """Predict what the loss of one of two induction heads does."""
    one = _still_says(Switches.without_head(1, 0)) and _still_says(Switches.without_head(1, 1))
    both = _still_says(Switches(heads=np.array([[1.0, 1.0], [0.0, 0.0]])))
    return Choice(
        title="Predict: one of two",
        prompt=(
            "Both heads of layer 2 are induction heads: in rows that are asked each gives nearly"
            " all of its weight to the right place. You take *one* of them out. How many answers"
            " stay right?"
        ),
        options=(
            Option(
                "about half: each carried half of them",
                "Both look at the same place, in the same rows. Which half would be missing?",
                False,
            ),
            Option(
                "hardly any, as without both",
                "The other head still says the same letter. What would have to happen for it to"
                " lose against the rest?",
                not one,
            ),
            Option(
                "nearly all; without both hardly any",
                "Both say the same letter, and one voice is enough in nearly every row.",
                one and not both,
            ),
            Option(
                "all of them, and also without both",
                "Who would still say the letter, if nobody looks at it?",
                both,
            ),
        ),
        hints=(
            "What does each of the two add to the scores of an asked row?",
            "The largest score wins. Does the winner change if its lead becomes smaller?",
            "Take them out in the widget: first one, then both.",
        ),
        solution=(
            "**Nearly all; without both hardly any.** Each head adds the right letter's score."
            " Without one the lead is smaller, and still a lead. So “cutting it changes nothing”"
            " does not mean “it does nothing”."
        ),
    )


@register("two_layers.which_read")
def which_read() -> Choice:
    """Say which read carries the place of the earlier copy."""
    return Choice(
        title="Predict: another program",
        prompt=(
            "Suppose layer 1 cannot find the place before. But it can find the *same letter*: the"
            " second U looks at the first U, and writes the code of its place into its own row:"
            " “my letter stood at place 1”. Layer 2 must now look at place 2. Which of its reads"
            " must get what layer 1 wrote?"
        ),
        options=(
            Option(
                "the read for K: the keys say what stood before them",
                "The write stands in the row of the *second* U. Whose key would it change?",
                False,
            ),
            Option(
                "the read for V: the value is the place",
                "The value decides what is said once place 2 is found. What finds it?",
                False,
            ),
            Option(
                "none: the place code is in the stream anyway",
                "Row 11 holds the code of place 11. Who tells it the number 1?",
                False,
            ),
            Option(
                "the read for Q: the row that asks asks for a place",
                "The row that asks carries the message, so it is its query that must read it.",
                True,
            ),
        ),
        hints=(
            "In which row does the write of layer 1 stand, in the row that asks or in the row that"
            " is looked at?",
            "In the row that asks. Which of Q, K and V is made from that row?",
            "Only the query. (The matrix then also moves the place by one, as in chapter 13.)",
        ),
        solution=(
            "**Q.** The write stands in the row that asks. Its query says “place 1, and one on”;"
            " the keys need nothing but their own place code. That is Q-composition."
        ),
    )


def _norms() -> tuple[float, float]:
    """Return the norms of the Q and of the K path of one reader with W_K = W_Q."""
    rng = np.random.default_rng(18)
    N, W = numbers(rng, 7, 7), numbers(rng, 7, 3)
    M = W @ W.T
    size = float(np.linalg.norm(N) * np.linalg.norm(M))
    return float(np.linalg.norm(N @ M)) / size, float(np.linalg.norm(M @ N.T)) / size


@register("two_layers.equal_norms")
def equal_norms() -> Number:
    """Derive the K norm of a tied reader from its Q norm."""
    asked, answer = _norms()
    given = round(asked, 3)
    return Number(
        title="The other norm",
        prompt=(
            "A head of layer 2 has $W_K = W_Q$. For what it reads of one head of layer 1 the norm"
            f" of the Q path is {given:g}. Derive the norm of the K path (three digits)."
        ),
        label="Norm of the K path",
        answer=round(answer, 3),
        tolerance=0.0005,
        right=(
            "Right: the two products are transposes of each other, whatever the head of layer 1"
            " writes. The norms cannot say which of the two reads carries the message."
        ),
        otherwise="Write both products. What is the transpose of M, if M is W times its transpose?",
        wrong=(
            Wrong(0.0, "Is the K read closed? The norm knows matrices, not their use."),
            Wrong(1.0, "The norm is 1 only if one direction is written and read. Who says so?"),
            Wrong(round(1 - given, 3), "The two norms are no shares of one whole. Which is M N′?"),
            Wrong(round(given**2, 3), "Nothing is multiplied twice. What is the transpose of N M?"),
            Wrong(round(given / 2, 3), "Is the norm divided among the reads? Write M N′."),
            Wrong(round(given**0.5, 3), "Where would a root come from? Write M N′ and turn it."),
        ),
        hints=(
            "With $W_K = W_Q$ the matrix M is W times its own transpose. Turn M: what do you get?",
            "The Q product is N M. Its transpose is the transpose of M times that of N.",
            "M equals its transpose, so the transpose of N M is M N′. Turning keeps the norm.",
        ),
        solution=(
            "$M = W_Q W_Q^T$ equals its transpose, so $(N M)^T = M^T N^T = M N^T$: the K product is"
            " the Q product, turned. The sum of squares does not change, nor do the two factors"
            f" below the line. So the K norm is **{given:g}** too, for every N."
        ),
    )


# --- in the notebook -----------------------------------------------------------------------------


def _one_hots(rng: np.random.Generator, *batch: int) -> Array:
    """Draw texts of 7 letters of 5 as one-hot rows; the letters come back."""
    return np.eye(5)[rng.integers(5, size=(*batch, 7))]


def _hand(
    H: Array,
    gain: float,
    notes: Array | None = None,
    values: Array | None = None,
    masked: bool = True,
    scaled: bool = True,
) -> Array:
    n = H.shape[-2]
    notes = np.eye(n, k=-1) @ H if notes is None else notes
    mask = np.broadcast_to(causal_mask(n), (*H.shape[:-1], n)) if masked else None
    q = gain * H * (1.0 if scaled else np.sqrt(H.shape[-1]))
    return scaled_dot_product_attention(q, notes, H if values is None else values, mask)[0]


def _hand_case(rng: np.random.Generator, gain: float, *batch: int) -> Case:
    H = _one_hots(rng, *batch)
    return Case((H, gain), _hand(H, gain))


@register("two_layers.by_hand")
def by_hand() -> Code:
    """Write two looks as attention, without learning."""
    return Code(
        title="Two looks, no training",
        function="two_looks",
        prompt=(
            "`H` has shape (…, n, n_letters): a 1 in each row, in the column of its letter. Return"
            " the output of layer 2, of the same shape: the queries are `gain * H`, the keys are"
            " the *notes* (the row of H one place earlier; a row of zeros for place 0), the values"
            " are H, and no row sees a later one. Scale as always."
        ),
        stub=(
            "def two_looks(H, gain):\n"
            '    """Return what layer 2 writes, shape (..., n, n_letters)."""\n'
            '    raise NotImplementedError("two_layers.by_hand")\n'
        ),
        rungs=(
            Rung(
                "gain 0: who is seen, and what is said",
                lambda rng: _hand_case(rng, 0.0),
                "With gain 0 all scores are 0: row t is the mean of the rows of H up to t. What is"
                " yours?",
                (
                    Slip(
                        "no mask",
                        lambda H, g: _hand(H, g, masked=False),
                        "Your rows see later letters. Where is the mask?",
                    ),
                    Slip(
                        "the notes as values",
                        lambda H, g: _hand(H, g, values=np.eye(H.shape[-2], k=-1) @ H),
                        "You hand over the note, so the letter *before* the right one. What should"
                        " be said?",
                    ),
                ),
            ),
            Rung(
                "one text",
                lambda rng: _hand_case(rng, 3.0),
                "Compare your scores of one row: which rows of H should score high for it?",
                (
                    Slip(
                        "keys from the letters",
                        lambda H, g: _hand(H, g, notes=H),
                        "Your keys are the letters themselves, so each row looks for its own"
                        " letter. What should the key of place j say?",
                    ),
                    Slip(
                        "notes of the next letter",
                        lambda H, g: _hand(H, g, notes=np.eye(H.shape[-2], k=1) @ H),
                        "Your notes name the letter that comes *after*. Who stands one place"
                        " earlier?",
                    ),
                    Slip(
                        "notes turned round",
                        lambda H, g: _hand(H, g, notes=np.roll(H, 1, axis=-2)),
                        "Your place 0 has a note of the last letter. What stood before place 0?",
                    ),
                    Slip(
                        "queries and keys exchanged",
                        lambda H, g: (
                            lambda notes: scaled_dot_product_attention(
                                g * notes, H, H, causal_mask(H.shape[-2])
                            )[0]
                        )(np.eye(H.shape[-2], k=-1) @ H),
                        "You ask with the note and are found by the letter. Who asks with what?",
                    ),
                    Slip(
                        "not scaled",
                        lambda H, g: _hand(H, g, scaled=False),
                        "Your weights are too sharp. By what are scores divided?",
                    ),
                ),
            ),
            Rung(
                "a batch in front",
                lambda rng: _hand_case(rng, 3.0, 3),
                "There is a third axis now. Which of your axes is counted from the front?",
                crash="There is a third axis now. Which line counts axes from the front?",
            ),
        ),
        hints=(
            "The notes are one product: a matrix with ones below the diagonal, times H.",
            "`np.eye(n, k=-1) @ H` works for a batch as well.",
            "Give `scaled_dot_product_attention` a causal mask; with a batch, broadcast it.",
        ),
        solution=(
            "```python\n"
            "import qkv\n\n"
            "def two_looks(H, gain):\n"
            "    n = H.shape[-2]\n"
            "    notes = np.eye(n, k=-1) @ H\n"
            "    mask = np.broadcast_to(qkv.causal_mask(n), (*H.shape[:-1], n))\n"
            "    return qkv.scaled_dot_product_attention(gain * H, notes, H, mask)[0]\n"
            "```\n\n"
            "Q from the letter, K from what another layer wrote, V from the letter."
        ),
    )


def _pairs(ids: Array) -> list[tuple[int, int]]:
    return [(t, j) for t in range(len(ids)) for j in range(t) if ids[j] == ids[t]]


def _look(
    weights: Array,
    ids: Array,
    shift: int = 1,
    turned: bool = False,
    by: Callable[[list[float], int], float] = lambda found, n: sum(found) / max(1, len(found)),
) -> float:
    table = weights.T if turned else weights
    found = [float(table[t, j + shift]) for t, j in _pairs(ids) if 0 <= j + shift < len(ids)]
    return by(found, len(ids))


def _score_case(rng: np.random.Generator, repeats: int) -> Case:
    """Draw a text of which the first letters come back in another order, and weights."""
    fresh = rng.permutation(26)[:6]
    back = rng.permutation(fresh[1:5])[:repeats]
    ids = np.concatenate([fresh, back])
    weights = rng.random((len(ids), len(ids)))
    weights /= weights.sum(axis=1, keepdims=True)
    return Case((weights, ids), _look(weights, ids))


@register("two_layers.score")
def score() -> Code:
    """Write the induction score."""
    return Code(
        title="Score a head",
        function="induction_score",
        prompt=(
            "`weights` (n, n) are one head's attention weights on one text, `ids` (n,) its"
            " letters; each stands there at most twice. Return the mean, over the rows whose letter"
            " stood there before, of the weight on the place *behind* the first one. If no letter"
            " comes back, return 0."
        ),
        stub=(
            "def induction_score(weights, ids):\n"
            '    """Return one number between 0 and 1."""\n'
            '    raise NotImplementedError("two_layers.score")\n'
        ),
        rungs=(
            Rung(
                "one letter comes back",
                lambda rng: _score_case(rng, 1),
                "One row is asked here. Which entry of the table is its weight on the place behind"
                " the first copy?",
                (
                    Slip(
                        "the first copy itself",
                        lambda w, ids: _look(w, ids, shift=0),
                        "That is the weight on the earlier copy itself. What must be *said*, and"
                        " where does it stand?",
                    ),
                    Slip(
                        "the place before it",
                        lambda w, ids: _look(w, ids, shift=-1),
                        "You read the place before the first copy. Which side is the answer on?",
                    ),
                    Slip(
                        "rows and columns exchanged",
                        lambda w, ids: _look(w, ids, turned=True),
                        "You read the weight that the earlier row gives to the later one. Which"
                        " index of the table is the row that looks?",
                    ),
                    Slip(
                        "mean over all rows",
                        lambda w, ids: _look(w, ids, by=lambda found, n: sum(found) / n),
                        "You divide by the number of all rows. How many are asked?",
                    ),
                ),
            ),
            Rung(
                "three letters come back",
                lambda rng: _score_case(rng, 3),
                "Three rows are asked here. How do you join their three weights?",
                (
                    Slip(
                        "a sum",
                        lambda w, ids: _look(w, ids, by=lambda found, n: sum(found)),
                        "Your score grows with the number of asked rows. Is a sum a mean?",
                    ),
                    Slip(
                        "the best row",
                        lambda w, ids: _look(w, ids, by=lambda found, n: max(found)),
                        "You report the best row. Would a head that works once get the same score?",
                    ),
                    Slip(
                        "the first row only",
                        lambda w, ids: _look(w, ids, by=lambda found, n: found[0]),
                        "You stop at the first row that is asked. And the others?",
                    ),
                    Slip(
                        "the last row only",
                        lambda w, ids: _look(w, ids, by=lambda found, n: found[-1]),
                        "Your last row overwrites the others. Where do you collect them?",
                    ),
                ),
            ),
            Rung(
                "none comes back",
                lambda rng: _score_case(rng, 0),
                "No row is asked here. What is the score then, by the rule above?",
                crash="No row is asked here. What do you divide by?",
            ),
        ),
        hints=(
            "Two loops: t over the rows, j over the places before t.",
            "If ids[j] equals ids[t], the weight you want is weights[t, j + 1].",
            "Collect them in a list. An empty list has no mean.",
        ),
        solution=(
            "```python\n"
            "def induction_score(weights, ids):\n"
            "    found = []\n"
            "    for t in range(len(ids)):\n"
            "        for j in range(t):\n"
            "            if ids[j] == ids[t]:\n"
            "                found.append(weights[t, j + 1])\n"
            "    return np.mean(found) if found else 0.0\n"
            "```\n\n"
            "A previous-token score is shorter: `np.diag(weights, -1).mean()`."
        ),
    )


def _read(
    given: tuple[Array, ...],
    cut: str = "K",
    put: bool = True,
    take: bool = True,
    masked: bool = True,
) -> Array:
    X, note, mean, W_Q, W_K, W_V = given
    other = X - (note if take else 0) + (mean if put else 0)
    q, k, v = (
        (other if name in cut else X) @ W for name, W in zip("QKV", (W_Q, W_K, W_V), strict=True)
    )
    n = X.shape[-2]
    mask = np.broadcast_to(causal_mask(n), (*X.shape[:-1], n)) if masked else None
    return scaled_dot_product_attention(q, k, v, mask)[0]


def _read_case(rng: np.random.Generator, n: int, *batch: int) -> Case:
    X, note, mean = (numbers(rng, *batch, n, 7) / 3 for _ in range(3))
    W_Q, W_K, W_V = (numbers(rng, 7, d) / 3 for d in (3, 3, 2))
    given = (X, note, mean, W_Q, W_K, W_V)
    return Case(given, _read(given))


@register("two_layers.one_read")
def one_read() -> Code:
    """Repair a path patch that cuts too much."""
    return Code(
        title="Repair this code: one read",
        function="patched_keys",
        prompt=(
            "`X` (…, n, d_model) is the stream that layer 2 reads; `note` is what one head of layer"
            " 1 added to it, `mean` that head's mean write. Return the causal attention output of a"
            " head of layer 2 whose *keys* read `mean` in place of `note`; its queries and values"
            " read X as it is. This program runs, and has three bugs. Repair it. Remove the `raise`"
            " when you begin."
        ),
        stub=(
            "def patched_keys(X, note, mean, W_Q, W_K, W_V):\n"
            '    """Return the output of a head that reads other notes for its keys."""\n'
            '    raise NotImplementedError("two_layers.one_read")\n'
            "    X = X - note\n"
            "    q, k, v = X @ W_Q, X @ W_K, X @ W_V\n"
            "    return qkv.scaled_dot_product_attention(q, k, v)[0]\n"
        ),
        rungs=(
            Rung(
                "one row",
                lambda rng: _read_case(rng, 1),
                "With one row the output is its value, whatever the keys are. What do your values"
                " read?",
                (
                    Slip(
                        "the values are cut too",
                        lambda *given: _read(given, "KV"),
                        "Your values read the mean as well. Which of Q, K, V should it reach?",
                    ),
                    Slip(
                        "all reads lose the note",
                        lambda *given: _read(given, "QKV", put=False),
                        "You took the note out of X, so the values lose it too. Who else reads X?",
                    ),
                    Slip(
                        "the note doubled",
                        lambda *given: given[0] @ given[5] + given[1] @ given[5],
                        "You added the note to the values. Is it in X already?",
                    ),
                ),
            ),
            Rung(
                "several rows",
                lambda rng: _read_case(rng, 5),
                "Which array do your keys read, and may your rows see later ones?",
                (
                    Slip(
                        "no mask",
                        lambda *given: _read(given, masked=False),
                        "Your reads are right, and your rows see later ones. What is missing?",
                    ),
                    Slip(
                        "nothing in its place",
                        lambda *given: _read(given, put=False),
                        "You took the note out of the keys. What should stand in its place?",
                    ),
                    Slip(
                        "the note still there",
                        lambda *given: _read(given, take=False),
                        "Your keys read the mean *and* the note. What must go first?",
                    ),
                    Slip(
                        "queries instead of keys",
                        lambda *given: _read(given, "Q"),
                        "You patched the queries. Which read was asked for?",
                    ),
                    Slip(
                        "queries and keys",
                        lambda *given: _read(given, "QK"),
                        "You patched the queries as well as the keys. Which of them should read X"
                        " as it is?",
                    ),
                    Slip(
                        "nothing patched",
                        lambda *given: _read(given, ""),
                        "Your head reads X for everything. Where do `note` and `mean` go?",
                    ),
                ),
            ),
            Rung(
                "a batch in front",
                lambda rng: _read_case(rng, 5, 2),
                "There is a third axis now. Which of your axes is counted from the front?",
                crash="There is a third axis now. Which line counts axes from the front?",
            ),
        ),
        hints=(
            "Keep X, and make a second stream for the keys.",
            "The second stream is X minus the note plus the mean.",
            "The mask: `qkv.causal_mask(n)`; with a batch, broadcast it to (…, n, n).",
        ),
        solution=(
            "```python\n"
            "import qkv\n\n"
            "def patched_keys(X, note, mean, W_Q, W_K, W_V):\n"
            "    X_k = X - note + mean\n"
            "    n = X.shape[-2]\n"
            "    mask = np.broadcast_to(qkv.causal_mask(n), (*X.shape[:-1], n))\n"
            "    q, k, v = X @ W_Q, X_k @ W_K, X @ W_V\n"
            "    return qkv.scaled_dot_product_attention(q, k, v, mask)[0]\n"
            "```\n\n"
            "One read changed, two left alone: that is path patching."
        ),
    )


Matrices = tuple[Array, Array, Array, Array, Array]


def _match(given: Matrices, note: str = "VO", turned: bool = False) -> Array:
    """Compare each letter's query with each letter's note; or with something else."""
    E, W_V, W_O, W_Q, W_K = given
    written = {"VO": E @ W_V @ W_O, "": E, "both": E + E @ W_V @ W_O}[note]
    table = (E @ W_Q) @ (written @ W_K).T
    return table.T if turned else table


def _match_case(rng: np.random.Generator, same: bool = False) -> Case:
    """Draw matrices; with `same`, the note of a letter is the letter's own row."""
    E = numbers(rng, 5, 7) / 2
    W_V, W_O = numbers(rng, 7, 2) / 2, numbers(rng, 2, 7) / 2
    if same:
        W_V = np.linalg.pinv(E) @ numbers(rng, 5, 2)
        W_O = np.linalg.pinv(W_V) @ np.eye(7)
        E = E @ W_V @ W_O  # rows that W_V W_O leaves as they are
    W_Q, W_K = numbers(rng, 7, 3) / 2, numbers(rng, 7, 3) / 2
    given = (E, W_V, W_O, W_Q, W_K)
    return Case(given, _match(given))


@register("two_layers.letter_table")
def letter_table() -> Code:
    """Write the table of queries against notes."""
    return Code(
        title="Who looks for which note?",
        function="match_table",
        prompt=(
            "`E` (n_letters, d_model) is the embedding; `W_V` (d_model, d_v) and `W_O`"
            " (d_v, d_model) belong to the head of layer 1 that writes, `W_Q` and `W_K`"
            " (d_model, d_k) to the head of layer 2 that reads. Return the table (n_letters,"
            " n_letters) whose row a, column b is the dot product of the query of letter a with"
            " the key of the *note* of letter b, and of nothing but the note. No scale, no softmax."
        ),
        stub=(
            "def match_table(E, W_V, W_O, W_Q, W_K):\n"
            '    """Return the table, shape (n_letters, n_letters)."""\n'
            '    raise NotImplementedError("two_layers.letter_table")\n'
        ),
        rungs=(
            Rung(
                "a note that is the letter's own row",
                lambda rng: _match_case(rng, same=True),
                "Here the head of layer 1 writes each row as it is, so query meets key as in one"
                " layer. Which product of four matrices is it?",
                (
                    Slip(
                        "turned",
                        lambda *g: _match(g, turned=True),
                        "Your table is turned. Is row a the query of letter a, made with W_Q?",
                    ),
                    Slip(
                        "scaled",
                        lambda *g: _match(g) / np.sqrt(g[3].shape[-1]),
                        "You divided by a root. Was that asked?",
                    ),
                    Slip(
                        "the letter and its note",
                        lambda *g: _match(g, note="both"),
                        "Your keys hold the letter as well as its note. Which part was asked?",
                    ),
                ),
            ),
            Rung(
                "any note",
                _match_case,
                "Write down what a row holds that has looked at letter b and kept nothing else."
                " What is it, before W_K?",
                (
                    Slip(
                        "keys of the letters",
                        lambda *g: _match(g, note=""),
                        "Your keys are made of the letters themselves, so layer 1 plays no part."
                        " What does it write?",
                    ),
                    Slip(
                        "queries from notes too",
                        lambda E, W_V, W_O, W_Q, W_K: (
                            (E @ W_V @ W_O @ W_Q) @ (E @ W_V @ W_O @ W_K).T
                        ),
                        "Your queries are notes too. What does the row that asks start from?",
                    ),
                    Slip(
                        "the note in the query",
                        lambda E, W_V, W_O, W_Q, W_K: (E @ W_V @ W_O @ W_Q) @ (E @ W_K).T,
                        "You put the note into the query: that is Q-composition. Which read was"
                        " asked for?",
                    ),
                    Slip(
                        "what the reader says",
                        lambda E, W_V, W_O, W_Q, W_K: (E @ W_V @ W_O) @ E.T,
                        "That compares notes with letters, without the reader. Where are W_Q and"
                        " W_K?",
                    ),
                ),
            ),
        ),
        hints=(
            "The note of all letters at once: `E @ W_V @ W_O`, one row a letter.",
            "The queries are `E @ W_Q`; the keys are the notes times W_K.",
            "Rows are queries: `queries @ keys.T`.",
        ),
        solution=(
            "```python\n"
            "def match_table(E, W_V, W_O, W_Q, W_K):\n"
            "    notes = E @ W_V @ W_O\n"
            "    return (E @ W_Q) @ (notes @ W_K).T\n"
            "```\n\n"
            "For `qkv.data.copy_model()`, head 1.2 read by 2.1, its diagonal is the largest in"
            " every row: the reader looks for the note of its own letter."
        ),
    )


def _copyist(reach: int = 99, luck: float = 1.0, unasked: int = -1) -> Say:
    """Return a copyist that sees `reach` places back and is right in a share `luck` of rows."""

    def say(ids: Array) -> Array:
        ids = np.asarray(ids)
        said = np.array([int(x) if unasked < 0 else unasked for x in ids])
        for t in range(len(ids)):
            for j in range(max(0, t - reach), t):
                if ids[j] == ids[t]:
                    said[t] = ids[j + 1]
                    if (7 * t + 3 * int(ids[t]) + int(ids[j + 1])) % 10 >= 10 * luck:
                        said[t] = (said[t] + 1) % 26
                    break
        return said

    return say


def _far(distance: int) -> Say:
    """Return somebody who says the letter that stands `distance` places back."""
    return lambda ids: np.roll(np.asarray(ids), distance)


def _by_table(rng: np.random.Generator) -> Say:
    """Return somebody who has one follower for each letter; alphabetical texts suit her best."""
    shift = int(rng.choice([1, 1, 2]))
    return lambda ids: (np.asarray(ids) + shift) % 26


def _says_case(
    make: Callable[[np.random.Generator], Say], copies: float
) -> Callable[[np.random.Generator], Case]:
    return lambda rng: Case((make(rng),), copies)


@register("two_layers.copies")
def copies() -> Code:
    """Write the test that tells whether somebody copies in context."""
    return Code(
        title="Write the test that exposes it",
        function="copies",
        prompt=(
            "`say(ids)` is somebody's model: it takes up to 24 letters, numbers from 0 to 25, and"
            " returns one letter a row. Return 1 if it copies in context (if in nearly all rows"
            " whose letter stands there for the second time it says what followed the first time),"
            " and 0 if not. What it says in other rows does not matter. Draw your own texts."
        ),
        stub=(
            "def copies(say):\n"
            '    """Return 1 if `say` copies in context, else 0."""\n'
            '    raise NotImplementedError("two_layers.copies")\n'
        ),
        rungs=(
            Rung(
                "a copyist",
                _says_case(lambda rng: _copyist(unasked=int(rng.integers(26))), 1.0),
                "This one copies, and says one and the same letter wherever it is not asked. Which"
                " rows do you count, or which letter do you expect?",
                (
                    Slip(
                        "nobody copies",
                        lambda say: 0.0,
                        "You accuse a copyist. Do you count rows that are not asked, or expect"
                        " another letter than the one behind the first copy?",
                    ),
                ),
                crash="Your test stopped. What does `say` take, and what does it return?",
            ),
            Rung(
                "her own letter",
                _says_case(lambda rng: lambda ids: np.array(ids), 0.0),
                "This one repeats the letter of its own row, and you let it pass. What is the"
                " right answer of a row?",
                (
                    Slip(
                        "everybody copies",
                        lambda say: 1.0,
                        "You let everybody pass. Do you compare with anything?",
                    ),
                ),
            ),
            Rung(
                "a table",
                _says_case(_by_table, 0.0),
                "This one knows one follower for each letter (B after A, and so on), and you let it"
                " pass. Are your texts alphabetical?",
            ),
            Rung(
                "a fixed distance",
                _says_case(lambda rng: _far(int(rng.choice([2, 3, 4, 5, 7, 9, 11]))), 0.0),
                "This one says the letter a fixed number of places back, and you let it pass. Do"
                " your texts repeat a block?",
            ),
            Rung(
                "a short memory",
                _says_case(lambda rng: _copyist(reach=6), 0.0),
                "This one sees 6 places back and no further, and you let it pass. How far apart"
                " are the two copies in your texts?",
            ),
            Rung(
                "often right",
                _says_case(lambda rng: _copyist(luck=0.7), 0.0),
                "This one is right in about seven rows of ten, and you let it pass. How many rows"
                " do you ask, and how many must be right?",
            ),
        ),
        hints=(
            "A text with far copies: 12 different letters, then the same letters in another order.",
            "Row t of the second half asks for `ids[j + 1]`, where j is the first place of its"
            " letter. Leave out the letter of place 11: what follows it depends on your text.",
            "Draw 20 such texts, count right rows, and ask for more than 0.9.",
        ),
        solution=(
            "```python\n"
            "def copies(say):\n"
            "    rng, right = np.random.default_rng(0), []\n"
            "    for _ in range(20):\n"
            "        first = rng.permutation(26)[:12]\n"
            "        ids = np.concatenate([first, rng.permutation(first[:11])])\n"
            "        said = np.asarray(say(ids))\n"
            "        for t in range(12, 23):\n"
            "            j = np.flatnonzero(first == ids[t])[0]\n"
            "            right.append(said[t] == ids[j + 1])\n"
            "    return float(np.mean(right) > 0.9)\n"
            "```\n\n"
            "Random letters defeat the table, a random order defeats the distance, long texts"
            " defeat the short memory, and many rows defeat luck."
        ),
    )
