"""The exercises of chapter 1: pieces, ids, rows of the table, and what X does not hold."""

# ruff: noqa: RUF001 (a minus sign is a minus sign)

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from qkv.checks.arrangement import Order, Rule
from qkv.checks.engine import register
from qkv.checks.exercise import Case, Choice, Code, Number, Option, Row, Rung, Slip, Wrong
from qkv.checks.ladder import numbers, sizes
from qkv.core.embeddings import embed
from qkv.data import cut_word, word_pieces

Vocabulary = Mapping[str, int]

# --- in the page ---------------------------------------------------------------------------------


@register("tokens.pieces")
def pieces() -> Choice:
    """Predict how a word falls into pieces of a small list."""
    word = "restarted"
    listed = ("re", "rest", "##st", "##start", "##art", "##ed", "##e", "##d")
    shorter = tuple(piece for piece in listed if piece != "##art")
    found, without = cut_word(word, listed), cut_word(word, shorter)

    def option(cut: list[str], why: str) -> Option:
        return Option(" ".join(f"`{piece}`" for piece in cut), why, found == cut)

    return Choice(
        title="Predict: how is it cut?",
        prompt=(
            f"A list holds the pieces {', '.join(f'`{piece}`' for piece in listed)} and no others."
            f" Before you run anything: how does the greedy rule cut the word *{word}*?"
        ),
        options=(
            option(
                ["re", "##start", "##ed"],
                "So a linguist would cut. But the rule stands at the first letter: is `re` the"
                " longest piece that fits there?",
            ),
            option(
                ["rest", "##art", "##ed"],
                "Right. From the left the longest piece that fits is `rest`, and what is left is"
                " cut in the same way. The rule knows nothing of *start*.",
            ),
            option(
                ["re", "##st", "##art", "##ed"],
                "These pieces fit. Does the rule try the short ones first, or the long ones?",
            ),
            option(
                ["[UNK]"],
                "That is what happens when at some place no piece fits. At which place would it?",
            ),
        ),
        hints=(
            "Stand at the first letter. Which pieces without ## does the word begin with?",
            "Take the longest of them. What is left of the word?",
            "For what is left only pieces with ## count; again take the longest that fits.",
        ),
        solution=(
            f"`{'` `'.join(found)}`. The rule never looks ahead: take `##art` out of the list, and"
            f" *{word}* becomes `{' '.join(without)}`, though `re` `##start` `##ed` would spell it."
        ),
    )


@register("tokens.batch")
def batch() -> Row:
    """Give the shape of a batch of framed sentences, and count its pads."""
    lengths, d_model = (3, 9, 5, 6), 384
    framed = [n + 2 for n in lengths]
    longest, b = max(framed), len(lengths)
    answer = (b, longest, d_model, b * longest - sum(framed))
    plain = max(lengths)
    return Row(
        title="The shape of a batch",
        prompt=(
            f"Four sentences are cut into {lengths[0]}, {lengths[1]}, {lengths[2]} and {lengths[3]}"
            " pieces. Each gets `[CLS]` in front and `[SEP]` behind, then all are padded to one"
            f" length and looked up in a table of {len(word_pieces()):,} rows and {d_model}"
            " columns. What is the shape of the result, and how many of its rows are those of"
            " `[PAD]`?"
        ),
        labels=("first axis", "second axis", "third axis", "rows of [PAD]"),
        answer=tuple(map(float, answer)),
        right="Right: sentence, token, column. The size of the vocabulary is in no shape of X.",
        otherwise="What does each axis count, and which sentence decides the second?",
        wrong=(
            Wrong(
                (b, plain, d_model, b * plain - sum(lengths)),
                "How long is the longest sentence once it has [CLS] and [SEP]?",
            ),
            Wrong(
                (b, longest, len(word_pieces()), answer[3]),
                "The third axis is what one row of the table holds. How many columns has it?",
            ),
            Wrong(
                (1, sum(framed), d_model, 0),
                "You put the sentences behind each other. What is the first axis of a batch?",
            ),
            Wrong(
                (longest, b, d_model, answer[3]),
                "Which axis counts the sentences, the first or the second?",
            ),
            Wrong(
                (b, longest, d_model, answer[3] + 2 * b),
                "You counted [CLS] and [SEP] as padding. Do they stand in every sentence?",
            ),
            Wrong(
                (b, longest, d_model, b * longest - sum(lengths) - b),
                "One special token a sentence, or two?",
            ),
        ),
        hints=(
            "The order of the axes is batch, token, column.",
            "The second axis is the longest sentence, counted with its two special tokens.",
            "Pads: the number of all places, minus the places that hold a piece, [CLS] or [SEP].",
        ),
        solution=(
            f"({answer[0]}, {answer[1]}, {answer[2]}), and {b} × {longest} − {sum(framed)} ="
            f" {answer[3]} rows of `[PAD]`."
        ),
    )


@register("tokens.gradient")
def gradient() -> Row:
    """Derive the gradient of a small table, one column of it."""
    ids, g, n = np.array([3, 1, 3, 0]), np.array([5.0, 2.0, -2.0, 7.0]), 5
    answer = _table_gradient(ids, g[:, None], n)[:, 0]
    last, first, mean = np.zeros(n), np.zeros(n), answer.copy()
    last[ids] = g
    first[ids[::-1]] = g[::-1]
    mean[3] /= 2
    by_place = np.append(g, 0.0)
    count = np.bincount(ids, minlength=n).astype(float)
    loud = _table_gradient(ids, np.abs(g)[:, None], n)[:, 0]

    def row(values: np.ndarray) -> tuple[float, ...]:
        return tuple(map(float, values))

    return Row(
        title="Who gets how much?",
        prompt=(
            "A table has 5 rows and 1 column, and the sentence has the ids 3, 1, 3, 0. The loss has"
            " the gradients 5, 2, −2 and 7 with respect to the four rows of X, in order. Derive the"
            " gradient of each row of the table. Then check it against the cell above: which of its"
            " assertions is your formula?"
        ),
        labels=tuple(f"row {i}" for i in range(n)),
        answer=row(answer),
        right=(
            "Right. Equal ids add up, absent ones get exactly 0. It is the transpose of the one-hot"
            " matrix times the gradient of X."
        ),
        otherwise="For each row of the table: at which places of the sentence does its id stand?",
        wrong=(
            Wrong(row(last), "Row 3 stands twice. What becomes of the first of its two gradients?"),
            Wrong(row(first), "Row 3 stands twice. What becomes of the second of its gradients?"),
            Wrong(row(mean), "You took the mean for row 3. Does the chain rule add or average?"),
            Wrong(
                row(by_place),
                "You gave place t's gradient to row t. Which row does place t read?",
            ),
            Wrong(row(count), "That is how often each row is read. What does it get each time?"),
            Wrong(row(loud), "You added sizes. Which sign has the third gradient?"),
            Wrong(
                row(np.full(n, g.sum())),
                "You gave the whole sum to every row. Which rows does the loss depend on?",
            ),
        ),
        hints=(
            "Nudge one row of the table by a little. Which rows of X move, and by how much?",
            "Row 3 of the table is read at places 0 and 2, so both rows of X move with it.",
            "A row that is read nowhere moves nothing: its gradient is 0.",
        ),
        solution=(
            f"Row 0: 7, row 1: 2, row 3: 5 − 2 = {answer[3]:g}, rows 2 and 4: 0. In the chapter's"
            " cell it is `H.T @ G`, and `G[0] + G[5]` for the word that stood there twice."
        ),
    )


@register("tokens.parameters")
def parameters() -> Number:
    """Derive how the share of the table changes with the width."""
    whole = word_pieces().whole_table
    table = whole["entries"] * whole["columns"]
    rest = whole["parameters_of_model"] - table

    def share(table: float, rest: float) -> float:
        return table / (table + rest)

    answer = share(2 * table, 4 * rest)
    return Number(
        title="A wider model",
        prompt=(
            f"MiniLM's table has {whole['entries']:,} × {whole['columns']} numbers, and all the"
            f" rest of the model {rest:,}, nearly all of them in matrices that are `d_model` wide"
            " *and* a multiple of `d_model` high. Make `d_model` twice as large, and keep the"
            " vocabulary and the number of layers. Which share of the new model is the table, as a"
            " number between 0 and 1? (Treat the whole rest as such matrices.)"
        ),
        label="Share of the table",
        answer=answer,
        tolerance=0.005,
        right=(
            "Right: the table grows with the width, the layers with its square. In wide models the"
            " table is a small part."
        ),
        otherwise="By which factor does the table grow, and by which factor does the rest?",
        wrong=(
            Wrong(
                share(table, rest),
                "That is the share before. Do both parts grow by the same factor?",
            ),
            Wrong(share(table, 4 * rest), "Your table did not grow. How many columns has it now?"),
            Wrong(
                share(4 * table, 2 * rest),
                "You squared the wrong part. Which of the two has d_model on one side only?",
            ),
            Wrong(100 * answer, "That is in percent. What is it as a number between 0 and 1?"),
            Wrong(
                2 * table / (4 * rest),
                "That is the table beside the rest. What is it beside the whole?",
            ),
            Wrong(1 - answer, "That is the share of the rest. And the table's?"),
        ),
        hints=(
            "Write T for the table's numbers now and R for the rest.",
            "Twice the columns: the table becomes 2 T. A matrix twice as wide and twice as high"
            " has four times the numbers.",
            "The share is 2 T / (2 T + 4 R).",
        ),
        solution=(
            f"T = {table:,}, R = {rest:,}; the share falls from {share(table, rest):.3f} to"
            f" 2 T / (2 T + 4 R) = {answer:.3f}."
        ),
    )


@register("tokens.order")
def order() -> Choice:
    """Say which two sentences differ for a reader that adds the rows up."""
    wp = word_pieces()

    def differ(one: str, other: str) -> bool:
        a, b = (embed(wp.ids(text.split()), wp.E).sum(axis=0) for text in (one, other))
        return not np.allclose(a, b, rtol=0, atol=1e-12)

    def option(one: str, other: str, why: str) -> Option:
        return Option(f"*{one}* and *{other}*", why, differ(one, other))

    return Choice(
        title="A reader that adds up",
        prompt=(
            "Somebody builds the plainest reader of sentences: it takes X, adds up its rows, and"
            " works on with the one row of sums. Which of these pairs can it tell apart?"
        ),
        options=(
            option(
                "dog bites man",
                "man bites dog",
                "The same three rows. Does a sum ask in which order it was added?",
            ),
            option(
                "the bank of the river",
                "the river of the bank",
                "Count the words of both. Which row is in one sum and not in the other?",
            ),
            option(
                "she ate an apple",
                "an apple ate she",
                "Who ate whom is in the order. Is the order in the rows?",
            ),
            option(
                "the dog bites",
                "the dog the dog bites",
                "Right: a row that comes twice is added twice. How often a word stands there is in"
                " X. Where it stands is not.",
            ),
        ),
        hints=(
            "Write the two sentences as bags of words.",
            "A sum of rows depends on which rows, and how often each.",
            "In three of the pairs both sentences are made of the same words, equally often.",
        ),
        solution=(
            "Only *the dog bites* and *the dog the dog bites*. Attention adds up rows too, with"
            " weights; without a position code its weights do not know the places either."
        ),
    )


@register("tokens.path")
def path() -> Order:
    """Put the way from a text to its queries in order."""
    return Order(
        title="From a text to X",
        prompt=(
            "Put the way of a sentence in order, from its letters to the first layer of the model."
        ),
        steps=(
            "cut the text into pieces",
            "look up the whole number of each piece",
            "copy the row with this number out of the table E",
            "put the rows below one another: X",
            "hand X to the first layer, which multiplies it by learned matrices",
        ),
        rules=(
            Rule(0, 1, "A number belongs to a piece. Where do the pieces come from?"),
            Rule(1, 2, "A row of E is found by its number. What has told you the number?"),
            Rule(2, 3, "X is made of rows. Which step fetches them?"),
            Rule(3, 4, "What does a layer multiply: pieces of text, or an array of numbers?"),
        ),
        right="Right. Up to X everything is a look-up; the first product comes in the first layer.",
        hints=(
            "Each step needs what the step before has made. Which of them needs the text itself?",
            "Text, pieces, numbers, rows. What is made of the rows?",
            "The last step is the only one that multiplies.",
        ),
        solution=(
            "Text → pieces → whole numbers (ids) → rows of E → X → the first layer. The ids are"
            " names and nothing is computed with them; all arithmetic begins with the rows."
        ),
    )


# --- in the notebook -----------------------------------------------------------------------------

LETTERS = "abcdef"


def _word(rng: np.random.Generator, n: int) -> str:
    return "".join(rng.choice(list(LETTERS), size=n))


def _vocabulary(rng: np.random.Generator, listed: list[str]) -> dict[str, int]:
    """Return a vocabulary with shuffled ids; [UNK] is always in it."""
    names = list(dict.fromkeys(["[UNK]", *listed]))
    ids = rng.permutation(np.arange(100, 100 + 3 * len(names)))[: len(names)]
    return {name: int(i) for name, i in zip(names, ids, strict=True)}


def _letters(but: str = "") -> list[str]:
    kept = [c for c in LETTERS if c not in but]
    return kept + [f"##{c}" for c in kept]


def _ids_of(cut: list[str], vocabulary: Vocabulary) -> np.ndarray:
    return np.array([vocabulary[piece] for piece in cut])


def _cut_ids(word: str, vocabulary: Vocabulary) -> np.ndarray:
    return _ids_of(cut_word(word, vocabulary), vocabulary)


def _whole(rng: np.random.Generator) -> Case:
    word = _word(rng, 5)
    args = (word, _vocabulary(rng, [*_letters(), word, word[:3], f"##{word[3:]}", f"##{word}"]))
    return Case(args, _cut_ids(*args))


def _pieces_inside(rng: np.random.Generator) -> Case:
    word = _word(rng, 7)
    listed = [word[:3], word[3:5], f"##{word[3:5]}", f"##{word[5:]}", word[5:]]
    args = (word, _vocabulary(rng, [*_letters(), *listed]))
    return Case(args, _cut_ids(*args))


def _nested(rng: np.random.Generator) -> Case:
    word = _word(rng, 7)
    listed = [word[:4], word[:5], f"##{word[2:]}", f"##{word[4:]}"]
    args = (word, _vocabulary(rng, [*_letters(), *listed]))
    return Case(args, _cut_ids(*args))


def _dead_end(rng: np.random.Generator) -> Case:
    word = _word(rng, 6) + "x"
    args = (word, _vocabulary(rng, [*_letters(), word[:3], f"##{word[3:6]}", "x"]))
    return Case(args, _cut_ids(*args))


def _greedy(
    word: str, vocabulary: Vocabulary, *, mark: str = "##", longest: bool = True, lost: str = "all"
) -> np.ndarray:
    """Cut like `cut_word`, with one thing wrong."""
    found: list[str] = []
    start = 0
    while start < len(word):
        ends = range(start + 1, len(word) + 1)
        for end in reversed(ends) if longest else ends:
            piece = (mark if start else "") + word[start:end]
            if piece in vocabulary:
                break
        else:
            if lost == "all":
                return _ids_of(["[UNK]"], vocabulary)
            if lost == "rest":
                return _ids_of([*found, "[UNK]"], vocabulary)
            if lost == "stop":
                return _ids_of(found, vocabulary)
            start += 1
            continue
        found.append(piece)
        start = end
    return _ids_of(found, vocabulary)


def _from_the_right(word: str, vocabulary: Vocabulary) -> np.ndarray:
    found: list[str] = []
    end = len(word)
    while end > 0:
        for start in range(end):
            piece = ("##" if start else "") + word[start:end]
            if piece in vocabulary:
                break
        else:
            return _ids_of(["[UNK]"], vocabulary)
        found.insert(0, piece)
        end = start
    return _ids_of(found, vocabulary)


def _fewest(word: str, vocabulary: Vocabulary) -> np.ndarray:
    best: list[list[str] | None] = [[], *[None] * len(word)]
    for end in range(1, len(word) + 1):
        for start in range(end):
            before, piece = best[start], ("##" if start else "") + word[start:end]
            if before is None or piece not in vocabulary:
                continue
            now = best[end]
            if now is None or len(before) + 1 < len(now):
                best[end] = [*before, piece]
    return _ids_of(best[-1] or ["[UNK]"], vocabulary)


@register("tokens.cut")
def cut() -> Code:
    """Write the greedy rule."""
    return Code(
        title="Cut a word into pieces",
        function="cut_ids",
        prompt=(
            "`vocabulary` is a dict from pieces to ids; pieces that go on inside a word begin with"
            " `##`. Cut `word` by the greedy rule and return the ids, in order, as a list: at each"
            " place the longest piece that fits. If at some place none fits, the whole word is"
            ' unknown: return the one id of `"[UNK]"`.'
        ),
        stub=(
            "def cut_ids(word, vocabulary):\n"
            '    """Return the ids of the pieces of one word."""\n'
            '    raise NotImplementedError("tokens.cut")\n'
        ),
        rungs=(
            Rung(
                "a word that is in the list",
                _whole,
                "This word is in the list whole. What is the longest piece that fits at its first"
                " letter?",
                (
                    Slip(
                        "shortest first",
                        lambda w, v: _greedy(w, v, longest=False),
                        "You took the shortest piece that fits. Which end do you try first?",
                    ),
                    Slip(
                        "marked from the start",
                        lambda w, v: _ids_of([f"##{w}"], v),
                        "You took the piece with ## at the first letter. When does a piece carry"
                        " that mark?",
                    ),
                    Slip(
                        "letters",
                        lambda w, v: _ids_of([w[0], *(f"##{c}" for c in w[1:-1])], v),
                        "Your last letter is missing. Where does your loop end?",
                    ),
                ),
                crash=(
                    "Your code stopped. Is what you look up in the dict surely one of its keys?"
                ),
            ),
            Rung(
                "pieces inside",
                _pieces_inside,
                "Inside the word only pieces with ## count. Does yours go on behind the first"
                " piece, and to the end?",
                (
                    Slip(
                        "no mark inside",
                        lambda w, v: _greedy(w, v, mark=""),
                        "You looked for the pieces inside the word without ##. Which pieces may"
                        " stand there?",
                    ),
                    Slip(
                        "only the first piece",
                        lambda w, v: _cut_ids(w, v)[:1],
                        "You stop behind the first piece. What becomes of the rest of the word?",
                    ),
                ),
            ),
            Rung(
                "short against long",
                _nested,
                "Two pieces fit at the same place here. Which one does the rule take, and does it"
                " look ahead?",
                (
                    Slip(
                        "from the right",
                        _from_the_right,
                        "You cut from the end of the word. At which end does the rule begin?",
                    ),
                    Slip(
                        "the fewest pieces",
                        _fewest,
                        "You found a cut with fewer pieces. The rule does not count pieces: what"
                        " does it take at the first letter?",
                    ),
                ),
            ),
            Rung(
                "no piece fits",
                _dead_end,
                "The last letter has no piece. What does the rule say of the whole word then?",
                (
                    Slip(
                        "unknown rest",
                        lambda w, v: _greedy(w, v, lost="rest"),
                        "You kept the pieces you had and made the rest unknown. What does the rule"
                        " say of the *whole* word?",
                    ),
                    Slip(
                        "the letter is skipped",
                        lambda w, v: _greedy(w, v, lost="stop"),
                        "You left the letter out, and nobody will know. What does the rule return"
                        " instead?",
                    ),
                ),
                crash="A letter has no piece here, and your code stopped. Where would `end` go?",
            ),
        ),
        hints=(
            "Keep one number, `start`: everything before it is cut.",
            'For `end` from `len(word)` down to `start + 1`, look whether the piece `("##" if start'
            ' else "") + word[start:end]` is in the vocabulary.',
            "If the inner loop ends without a piece, return the id of `[UNK]` at once, and drop"
            " what was found.",
        ),
        solution=(
            "```python\n"
            "def cut_ids(word, vocabulary):\n"
            "    ids, start = [], 0\n"
            "    while start < len(word):\n"
            '        mark = "##" if start else ""\n'
            "        for end in range(len(word), start, -1):\n"
            "            if mark + word[start:end] in vocabulary:\n"
            "                break\n"
            "        else:\n"
            '            return [vocabulary["[UNK]"]]\n'
            "        ids.append(vocabulary[mark + word[start:end]])\n"
            "        start = end\n"
            "    return ids\n"
            "```\n\n"
            "The `else` of a `for` runs when the loop was not broken off."
        ),
    )


def _one_hot(ids: np.ndarray, n: int) -> np.ndarray:
    return np.eye(n)[ids]


def _ids_case(rng: np.random.Generator, *batch: int, twice: bool = False) -> Case:
    n = 5
    vocabulary = 11
    ids = np.stack(
        [rng.permutation(vocabulary - 1)[:n] + 1 for _ in range(int(np.prod(batch, dtype=int)))]
    ).reshape(*batch, n)
    if twice:
        ids[..., 3] = ids[..., 1]
    return Case((ids, vocabulary), _one_hot(ids, vocabulary))


@register("tokens.one_hot")
def one_hot() -> Code:
    """Write the matrix that makes a look-up out of a product."""
    return Code(
        title="The look-up as a product",
        function="one_hot",
        prompt=(
            "Return the matrix H for which `H @ E` is `E[ids]`, whatever the table E: one row a"
            " token, one column a row of the table, for ids of any number of axes."
        ),
        stub=(
            "def one_hot(ids, n_vocabulary):\n"
            '    """Return zeros with a single 1 in each row, at the place of its id."""\n'
            '    raise NotImplementedError("tokens.one_hot")\n'
        ),
        rungs=(
            Rung(
                "one sentence",
                _ids_case,
                "Multiply your H by a table. Which row of the table does each row of H pick?",
                (
                    Slip(
                        "transposed",
                        lambda ids, n: _one_hot(ids, n).T,
                        "Your rows are the table's. Which axis of H meets the rows of E in H @ E?",
                    ),
                    Slip(
                        "off by one",
                        lambda ids, n: np.eye(n)[ids - 1],
                        "Every 1 stands one column too far left. From which number are ids"
                        " counted?",
                    ),
                    Slip(
                        "by place",
                        lambda ids, n: np.eye(len(ids), n),
                        "You put the 1 of token t into column t. Which column belongs to its id?",
                    ),
                    Slip(
                        "ids for ones",
                        lambda ids, n: _one_hot(ids, n) * ids[:, None],
                        "You wrote the id where a 1 belongs. By what is the row of E multiplied?",
                    ),
                    Slip(
                        "one column too many",
                        lambda ids, n: np.eye(n + 1)[ids],
                        "Your H has a column too many. How many rows has E?",
                    ),
                    Slip(
                        "width by the largest id",
                        lambda ids, n: np.eye(int(ids.max()) + 1)[ids],
                        "Your H is as wide as the largest id here. Who says how wide it must be?",
                    ),
                    Slip(
                        "counted",
                        lambda ids, n: np.bincount(ids, minlength=n).astype(float),
                        "You counted how often each id comes. Where is the row of each token?",
                    ),
                ),
            ),
            Rung(
                "a token twice",
                lambda rng: _ids_case(rng, twice=True),
                "One token stands there twice. How many rows of H have their 1 in its column?",
                (
                    Slip(
                        "only once",
                        _first_only,
                        "The second of two equal tokens got no 1. Does each token have a row of its"
                        " own?",
                    ),
                ),
            ),
            Rung(
                "a batch in front",
                lambda rng: _ids_case(rng, 3, twice=True),
                "The ids have two axes here, so H has three. Does your code count on one axis?",
                (
                    Slip(
                        "flattened",
                        lambda ids, n: np.eye(n)[np.ravel(ids)],
                        "You made one long sentence of the batch. Which shape must H have for"
                        " ids of shape (batch, n)?",
                    ),
                ),
                crash="The ids have two axes here. Which line counts on one?",
            ),
        ),
        hints=(
            "Row t of H is 0 everywhere but at column `ids[t]`.",
            "Row i of the identity matrix has its 1 at column i.",
            "So H is the identity matrix, indexed by the ids.",
        ),
        solution=(
            "```python\n"
            "def one_hot(ids, n_vocabulary):\n"
            "    return np.eye(n_vocabulary)[ids]\n"
            "```\n\n"
            "It is itself a look-up, in a table that happens to be the identity. That is why"
            " nobody computes the product."
        ),
    )


def _first_only(ids: np.ndarray, n: int) -> np.ndarray:
    H = _one_hot(ids, n)
    for column in range(n):
        H[np.flatnonzero(H[:, column])[1:], column] = 0
    return H


def _table_gradient(ids: np.ndarray, G: np.ndarray, n: int) -> np.ndarray:
    H = _one_hot(ids, n).reshape(-1, n)
    return H.T @ G.reshape(-1, G.shape[-1])


def _gradient_case(rng: np.random.Generator, *batch: int, twice: bool = False) -> Case:
    ids = _ids_case(rng, *batch, twice=twice).args[0]
    n, d = 13, 3
    G = numbers(rng, *ids.shape, d)
    return Case((ids, G, n), _table_gradient(ids, G, n))


def _writes(ids: np.ndarray, G: np.ndarray, n: int, order: int) -> np.ndarray:
    """Return the table in which of equal ids one wins."""
    table = np.zeros((n, G.shape[-1]))
    for i, g in list(zip(ids.ravel(), G.reshape(-1, G.shape[-1]), strict=True))[::order]:
        table[i] = g
    return table


def _mean_gradient(ids: np.ndarray, G: np.ndarray, n: int) -> np.ndarray:
    count = np.maximum(np.bincount(ids.ravel(), minlength=n), 1)
    return _table_gradient(ids, G, n) / count[:, None]


def _by_place(ids: np.ndarray, G: np.ndarray, n: int) -> np.ndarray:
    table = np.zeros((n, G.shape[-1]))
    table[: len(G)] = G
    return table


def _last_sentence(ids: np.ndarray, G: np.ndarray, n: int) -> np.ndarray:
    return _table_gradient(ids, G, n) if ids.ndim == 1 else _table_gradient(ids[-1], G[-1], n)


def _a_table_each(ids: np.ndarray, G: np.ndarray, n: int) -> np.ndarray:
    if ids.ndim == 1:
        return _table_gradient(ids, G, n)
    return np.stack([_table_gradient(i, g, n) for i, g in zip(ids, G, strict=True)])


@register("tokens.table_gradient")
def table_gradient() -> Code:
    """Repair the backward pass of the look-up."""
    return Code(
        title="Repair this code: the gradient of the table",
        function="table_gradient",
        prompt=(
            "The backward pass of `X = E[ids]` gets G, the gradient with respect to X, and returns"
            " the gradient with respect to the table. This one runs, has the right shape, and"
            " passes on *dog bites man*. It trains a model whose frequent words learn too little."
            " Find the line, and make it work for a batch too (ids of shape (batch, n), G of shape"
            " (batch, n, d)).\n\n"
            "```python\n"
            "def table_gradient(ids, G, n_vocabulary):\n"
            "    grad = np.zeros((n_vocabulary, G.shape[-1]))\n"
            "    grad[ids] += G\n"
            "    return grad\n"
            "```"
        ),
        stub=(
            "def table_gradient(ids, G, n_vocabulary):\n"
            '    """Return the gradient with respect to the table, (n_vocabulary, d)."""\n'
            '    raise NotImplementedError("tokens.table_gradient")\n'
        ),
        rungs=(
            Rung(
                "no token twice",
                _gradient_case,
                "Each row of G belongs to one row of the table. To which?",
                (
                    Slip(
                        "by place",
                        _by_place,
                        "You gave row t of G to row t of the table. Which row did token t read?",
                    ),
                    Slip(
                        "the shape of X",
                        lambda ids, G, n: G,
                        "That is G itself. How many rows has the gradient of a table?",
                    ),
                    Slip(
                        "forward again",
                        lambda ids, G, n: _one_hot(ids, n) @ np.resize(G, (n, G.shape[-1])),
                        "You looked rows of G up. Going back, rows are handed out: from where to"
                        " where?",
                    ),
                    Slip(
                        "minus",
                        lambda ids, G, n: -_table_gradient(ids, G, n),
                        "Your signs are turned. The step goes against the gradient; does the"
                        " gradient itself?",
                    ),
                ),
            ),
            Rung(
                "a token twice",
                lambda rng: _gradient_case(rng, twice=True),
                "One token stands there twice. What does its row of the table get from each place?",
                (
                    Slip(
                        "the last one wins",
                        lambda ids, G, n: _writes(ids, G, n, 1),
                        "Your row has the gradient of the last place only: numpy read, added and"
                        " wrote once. Which function adds at every index?",
                    ),
                    Slip(
                        "the first one wins",
                        lambda ids, G, n: _writes(ids, G, n, -1),
                        "Your row has the gradient of the first place only. What of the second?",
                    ),
                    Slip(
                        "the mean",
                        _mean_gradient,
                        "You divided by how often the token comes. Does the chain rule?",
                    ),
                ),
            ),
            Rung(
                "a batch in front",
                lambda rng: _gradient_case(rng, 2, twice=True),
                "Two sentences read one table here. Do both of them pay in?",
                (
                    Slip(
                        "one sentence",
                        _last_sentence,
                        "Only the last sentence paid in. What of the first?",
                    ),
                    Slip(
                        "a table each",
                        _a_table_each,
                        "You returned a table for each sentence. How many tables are trained?",
                    ),
                ),
                crash="There is a batch axis now. Which line counts on ids of one axis?",
            ),
        ),
        hints=(
            "Try it on ids that hold one token twice, and compare with a loop.",
            "`grad[ids] += G` is `grad[ids] = grad[ids] + G`: with two equal ids the second"
            " writing covers the first.",
            "`np.add.at` adds once for every index, equal ones included, in any number of axes.",
        ),
        solution=(
            "```python\n"
            "def table_gradient(ids, G, n_vocabulary):\n"
            "    grad = np.zeros((n_vocabulary, G.shape[-1]))\n"
            "    np.add.at(grad, ids, G)\n"
            "    return grad\n"
            "```\n\n"
            "The same as the transpose of the one-hot matrix times G, without the zeros."
        ),
    )


Embedder = Callable[[np.ndarray], np.ndarray]


def _embedder_case(
    change: Callable[[np.ndarray, np.ndarray], np.ndarray],
    expected: Callable[[np.ndarray], int],
    ids: Callable[[np.random.Generator], np.ndarray] | None = None,
) -> Callable[[np.random.Generator], Case]:
    """Draw a table, and an embedder that adds `change(X, ids)` to the rows it looked up."""

    def draw(rng: np.random.Generator) -> Case:
        E = numbers(rng, 17, 3)

        def embedder(given: np.ndarray) -> np.ndarray:
            given = np.atleast_1d(np.asarray(given))
            X = E[given]
            return X + change(X, given)

        drawn = _some_ids(rng) if ids is None else ids(rng)
        return Case((embedder, drawn), float(expected(drawn)))

    return draw


def _some_ids(rng: np.random.Generator) -> np.ndarray:
    n = max(sizes(rng, 2)) + 1
    ids = rng.permutation(17)[:n]
    ids[-1] = ids[1] if n > 3 else ids[0]
    return ids


def _many_ids(rng: np.random.Generator) -> np.ndarray:
    ids = rng.permutation(17)[:9]
    ids[[4, 6, 7]] = ids[[1, 1, 3]]
    return ids


def _again(ids: np.ndarray) -> np.ndarray:
    """Return True where an id has come before."""
    return np.array([i in ids[:t] for t, i in enumerate(ids)])


def _different(embedder: Embedder, ids: np.ndarray, least: float = 1e-9) -> np.ndarray:
    alone = np.concatenate([embedder(ids[t : t + 1]) for t in range(len(ids))])
    return np.abs(embedder(ids) - alone).max(axis=-1) > least


def _equal_ids_differ(embedder: Embedder, ids: np.ndarray) -> float:
    X = embedder(ids)
    first = [int(np.flatnonzero(ids == i)[0]) for i in ids]
    return float((np.abs(X - X[first]).max(axis=-1) > 1e-9).sum())


def _shuffle_differs(embedder: Embedder, ids: np.ndarray) -> float:
    turned = embedder(ids[::-1])[::-1]
    return float((np.abs(embedder(ids) - turned).max(axis=-1) > 1e-9).sum())


@register("tokens.alone")
def alone() -> Code:
    """Write the test that finds rows that know more than their token."""
    return Code(
        title="Write the test that exposes it",
        function="rows_that_know_more",
        prompt=(
            "`embedder(ids)` is somebody's first layer: an int array of shape (n,) goes in, X of"
            " shape (n, 3) comes out. You do not see inside. Return how many rows of"
            " `embedder(ids)` depend on more than their own token: how many differ from the row"
            " that the token gets when it stands alone. Six embedders wait on the ladder: an honest"
            " table, one that writes in the place, and worse."
        ),
        stub=(
            "def rows_that_know_more(embedder, ids):\n"
            '    """Return how many rows are not those of their token alone."""\n'
            '    raise NotImplementedError("tokens.alone")\n'
        ),
        rungs=(
            Rung(
                "an honest table",
                _embedder_case(lambda X, ids: 0.0 * X, lambda ids: 0),
                "You accused an honest table. With what do you compare its rows?",
                (
                    Slip(
                        "equal rows counted",
                        lambda embedder, ids: float(_again(ids).sum()),
                        "You counted tokens that come twice. Is it wrong for equal tokens to have"
                        " equal rows?",
                    ),
                    Slip(
                        "all compared with the first",
                        lambda embedder, ids: float(
                            (np.abs(embedder(ids) - embedder(ids)[0]).max(axis=-1) > 1e-9).sum()
                        ),
                        "You compared all rows with the first. With which row should each be"
                        " compared?",
                    ),
                ),
                crash=(
                    "Your test stopped. `embedder` takes an array of ids of one axis: is a single"
                    " id one?"
                ),
            ),
            Rung(
                "the place is written in",
                _embedder_case(
                    lambda X, ids: 0.1 * np.arange(len(ids))[:, None],
                    lambda ids: len(ids) - 1,
                    _many_ids,
                ),
                "This one adds a position code to each row; at place 0 the code is 0. How many rows"
                " are changed by it?",
                (
                    Slip(
                        "only equal ids",
                        _equal_ids_differ,
                        "You only looked at tokens that come twice. What of a token that comes"
                        " once and still knows its place?",
                    ),
                    Slip(
                        "yes or no",
                        lambda embedder, ids: float(_different(embedder, ids).any()),
                        "You said that something is wrong. How many rows is it?",
                    ),
                    Slip(
                        "the shares",
                        lambda embedder, ids: float(_different(embedder, ids).mean()),
                        "You returned a share. How many rows is it?",
                    ),
                    Slip(
                        "each id once",
                        lambda embedder, ids: float(
                            len(set(ids[_different(embedder, ids)].tolist()))
                        ),
                        "You counted tokens. How many rows are changed?",
                    ),
                ),
            ),
            Rung(
                "the mean is mixed in",
                _embedder_case(lambda X, ids: 0.5 * (X.mean(axis=0) - X), lambda ids: len(ids)),
                "This one mixes the mean of the sentence into every row. How many rows know more"
                " than their token?",
                (
                    Slip(
                        "a shuffle",
                        _shuffle_differs,
                        "You shuffled the tokens, and a mean does not mind. With what else can you"
                        " compare a row?",
                    ),
                ),
            ),
            Rung(
                "the second time",
                _embedder_case(
                    lambda X, ids: 0.3 * _again(ids)[:, None] * np.ones(3),
                    lambda ids: int(_again(ids).sum()),
                    _many_ids,
                ),
                "This one changes a token's row when the token has come before. Which rows are"
                " those?",
                (
                    Slip(
                        "all rows of such a token",
                        lambda embedder, ids: float(
                            np.isin(ids, ids[_different(embedder, ids)]).sum()
                        ),
                        "You counted every row of a token that is changed somewhere. Is its first"
                        " row changed?",
                    ),
                ),
            ),
            Rung(
                "a faint neighbour",
                _embedder_case(
                    lambda X, ids: np.vstack([1e-5 * X[1:], 0 * X[:1]]), lambda ids: len(ids) - 1
                ),
                "This one lets a little of the next token into each row, a hundred-thousandth. How"
                " large must a difference be for you to count it?",
                (
                    Slip(
                        "small differences ignored",
                        lambda embedder, ids: float(_different(embedder, ids, 1e-3).sum()),
                        "You let small differences pass. From which size on is a difference more"
                        " than rounding?",
                    ),
                ),
            ),
            Rung(
                "one column",
                _embedder_case(
                    lambda X, ids: np.outer(np.arange(len(ids)) == 2, [0.0, 0.0, 1.0]),
                    lambda ids: 1,
                    _many_ids,
                ),
                "Here one row differs, in its last column only. Do you look at all columns?",
                (
                    Slip(
                        "the first column",
                        lambda embedder, ids: float(
                            _different(lambda given: embedder(given)[:, :1], ids).sum()
                        ),
                        "You looked at the first column. Which columns has a row?",
                    ),
                ),
            ),
        ),
        hints=(
            "What a row should be, the embedder itself tells you: ask it for the token alone.",
            "`embedder(ids[t:t + 1])[0]` is the row of token t alone.",
            "Count the t at which some column differs by more than 1e-9.",
        ),
        solution=(
            "```python\n"
            "def rows_that_know_more(embedder, ids):\n"
            "    X, count = embedder(ids), 0\n"
            "    for t in range(len(ids)):\n"
            "        alone = embedder(ids[t:t + 1])[0]\n"
            "        count += np.abs(X[t] - alone).max() > 1e-9\n"
            "    return int(count)\n"
            "```\n\n"
            "Two such rows are what attention is for: after it, every row may know more than its"
            " token. Before it, none should, but for the place."
        ),
    )
