"""The exercises of chapter 2: the dot product, length and direction."""

# ruff: noqa: RUF001 (a minus sign is a minus sign)

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from qkv.checks.answers import written
from qkv.checks.arrangement import Cell
from qkv.checks.engine import register
from qkv.checks.exercise import Case, Choice, Code, Number, Option, Row, Rung, Slip, Wrong
from qkv.checks.ladder import numbers, sizes
from qkv.core.dot_product import (
    cosine_similarity,
    dot_product,
    dot_product_scores,
    vector_length,
)


def _listed(vector: np.ndarray) -> str:
    return "(" + ", ".join(f"{entry:g}" for entry in vector) + ")"


def _table(rows: Sequence[tuple[str, ...]], head: tuple[str, ...]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


# --- in the page ---------------------------------------------------------------------------------


@register("dot_product.sign")
def sign() -> Choice:
    """Let the angle alone decide the sign."""

    def hands(hour: float) -> float:
        angle = math.radians(30 * hour)
        short = 2 * np.array([math.sin(angle), math.cos(angle)])
        return round(float(dot_product(np.array([0.0, 3.0]), short)), 9)

    return Choice(
        title="Hands of a clock",
        prompt=(
            "The two hands of a clock are two vectors that start at its centre; the long one has"
            " length 3, the short one length 2. At which of these times is their dot product"
            " negative?"
        ),
        options=(
            Option(
                "at one o'clock",
                "At one the hands are 30 degrees apart: they point nearly the same way. What sign"
                " does a product of vectors have that agree?",
                hands(1) < 0,
            ),
            Option(
                "at three o'clock",
                "At three the hands stand at a right angle. How much of one hand lies along the"
                " other?",
                hands(3) < 0,
            ),
            Option(
                "at five o'clock",
                "At five the hands are 150 degrees apart. Beyond a right angle, what lies along the"
                " other hand lies against it, so the product is negative:"
                f" 2 · 3 · cos 150° = {hands(5):.2f}.",
                hands(5) < 0,
            ),
            Option(
                "never: lengths are positive",
                "The lengths are positive at every hour. Which other factor of |x| |y| cos(angle)"
                " can change its sign?",
                max(hands(hour) for hour in (1, 3, 5)) < 0,
            ),
        ),
        hints=(
            "The lengths are the same at all three times. What changes is the angle.",
            "The dot product is the two lengths times the cosine of the angle. For which angles is"
            " a cosine negative?",
            "A cosine is negative beyond 90 degrees. One hour is 30 degrees.",
        ),
        solution=(
            f"**Five o'clock.** The products are {hands(1):.2f} at one, {hands(3):.0f} at three and"
            f" {hands(5):.2f} at five. The sign tells whether two vectors point to the same side"
            " or to opposite sides; at a right angle neither has any part along the other."
        ),
    )


@register("dot_product.scale")
def scale() -> Choice:
    """Multiply one vector by a negative number."""
    x, y, factor = np.array([1.0, 2.0]), np.array([3.0, 1.0]), -3.0
    products = dot_product(factor * x, y) / dot_product(x, y)
    cosines = cosine_similarity(factor * x, y) / cosine_similarity(x, y)

    def true(product: float, cosine: float) -> bool:
        return math.isclose(products, product) and math.isclose(cosines, cosine)

    return Choice(
        title="Three times as long, and turned round",
        prompt=(
            "You multiply $x$ by $-3$ and leave $y$ as it is. What becomes of their dot product"
            " and of the cosine of their angle?"
        ),
        options=(
            Option(
                "both become −3 times what they were",
                "A cosine lies between −1 and 1. If it was 0.9, what would −3 times that mean?",
                true(-3, -3),
            ),
            Option(
                "the dot product becomes −3 times what it was, the cosine stays",
                "The cosine does not feel the 3. Does it feel the minus sign? Draw x and −x.",
                true(-3, 1),
            ),
            Option(
                "the dot product becomes 9 times what it was, the cosine changes its sign",
                "Nine is what x · x is multiplied by. How many of the two vectors in x · y were"
                " multiplied here?",
                true(9, -1),
            ),
            Option(
                "the dot product becomes −3 times what it was, the cosine changes its sign",
                "Each term of the sum holds x once, so the factor comes out once. The cosine"
                " divides by the length, which takes the 3 away again and leaves the sign.",
                true(-3, -1),
            ),
        ),
        hints=(
            "Write out the sum: each term is an entry of $x$ times an entry of $y$.",
            "The length of $-3x$ is 3 times the length of $x$: a length is never negative.",
            "Cosine: the dot product got a factor of −3, the length below it a factor of 3.",
        ),
        solution=(
            f"With x = {_listed(x)} and y = {_listed(y)} the dot product goes from"
            f" {dot_product(x, y):g} to {dot_product(factor * x, y):g}, the cosine from"
            f" {cosine_similarity(x, y):.3f} to {cosine_similarity(factor * x, y):.3f}. The dot"
            " product feels length and direction, the cosine direction alone; the minus sign turns"
            " the direction round."
        ),
    )


@register("dot_product.row")
def row() -> Row:
    """Score four keys for one query, by hand."""
    query = np.array([2.0, 1.0, -1.0])
    keys = np.array([[1.0, 3, 2], [0, 1, 4], [3, 0, 1], [-1, 2, -4]])
    scores = dot_product_scores(query[None], keys)[0]
    unsigned = dot_product_scores(np.abs(query)[None], keys)[0]
    lines = [(f"{n}", f"${_listed(key)}$") for n, key in enumerate(keys)]
    return Row(
        title="One query, four keys",
        prompt=(
            f"The query is $q = {_listed(query)}$. Give the row of its scores, one dot product for"
            f" each key.\n\n{_table(lines, ('key', 'entries'))}"
        ),
        labels=tuple(f"key {number}" for number in range(len(keys))),
        answer=tuple(float(score) for score in scores),
        right=(
            "Right. This row is what one token of a sentence makes of all the others: in attention"
            " there is one such row for each query."
        ),
        otherwise="Each score is a sum of three products. Which of the products did you add here?",
        wrong=(
            Wrong(
                tuple(unsigned),
                "These are the scores of (2, 1, 1). What does the last entry of the query do to"
                " the last entry of each key?",
            ),
            Wrong(
                tuple(keys.sum(axis=1)),
                "You added up the entries of each key. Where does the query come in?",
            ),
            Wrong(
                tuple((keys + query).sum(axis=1)),
                "You added query and key. What do matching entries do to each other in a dot"
                " product?",
            ),
            Wrong(
                tuple((keys * query).max(axis=1)),
                "You kept the largest of the three products. What becomes of the other two?",
            ),
            Wrong(
                tuple(float(score) for score in scores[::-1]),
                "The numbers are right. In which order do the keys stand?",
            ),
        ),
        hints=(
            "Take one key at a time. Multiply its first entry by the query's first, its second by"
            " the second, its third by the third.",
            "The query's last entry is −1: it takes the key's last entry away.",
            f"For key 0: 2·1 + 1·3 − 1·2 = {scores[0]:g}. The others go the same way.",
        ),
        solution=(
            "\n".join(
                f"- key {number}: $"
                + " + ".join(f"({q:g})({entry:g})" for q, entry in zip(query, key, strict=True))
                + f" = {score:g}$"
                for number, (key, score) in enumerate(zip(keys, scores, strict=True))
            )
        ),
    )


@register("dot_product.cosine_by_hand")
def cosine_by_hand() -> Number:
    """Divide by both lengths, once each."""
    x, y = np.array([3.0, 4.0]), np.array([6.0, 8.0]) @ np.array([[0.0, 1.0], [1.0, 0.0]])
    product = float(dot_product(x, y))
    long, short = float(vector_length(y)), float(vector_length(x))
    return Number(
        title="Take the lengths away",
        prompt=(
            f"Find the cosine of the angle between $x = {_listed(x)}$ and $y = {_listed(y)}$."
            " Every root comes out even."
        ),
        label="The cosine",
        answer=float(cosine_similarity(x, y)),
        tolerance=0.005,
        right="Right. A cosine this near to 1 says: almost the same direction.",
        otherwise=(
            "Three numbers go in: the dot product and the two lengths. What did you get for each?"
        ),
        wrong=(
            Wrong(product, "That is the dot product. What has to go out of it?"),
            Wrong(
                product / short,
                "One length has gone out. How long is the other vector?",
            ),
            Wrong(product / long, "One length has gone out. How long is the other vector?"),
            Wrong(
                product / (short**2 * long**2),
                "You divided by the squared lengths. Which root is missing?",
            ),
            Wrong(
                product / (short + long),
                "You divided by the sum of the lengths. If both vectors double, the dot product"
                " becomes four times as large: by what must you divide?",
            ),
            Wrong(
                1.0,
                "A cosine of 1 means exactly the same direction. Are these two multiples of each"
                " other?",
            ),
        ),
        hints=(
            "The cosine is the dot product divided by both lengths.",
            f"The length of x is the root of 9 + 16, so {short:g}.",
            f"The dot product is {product:g}, the lengths are {short:g} and {long:g}.",
        ),
        solution=(
            f"x · y = 3·8 + 4·6 = {product:g}; the lengths are {short:g} and {long:g}; so the"
            f" cosine is {product:g} / ({short:g} · {long:g}) = {cosine_similarity(x, y):g}."
        ),
    )


@register("dot_product.largest")
def largest() -> Choice:
    """See a key that beats the query itself."""
    x = np.array([2.0, 1.0])
    keys = np.array([[2.0, 1.0], [1.0, 2.0], [4.0, 0.0], [3.0, -2.0]])
    scores = dot_product_scores(x[None], keys)[0]
    best = scores.argmax()
    whys = (
        f"x · x = {scores[0]:g}. Nothing points more nearly the way of x than x. Is direction all"
        " that counts? Compute the other three.",
        f"The same entries, the other way about: {scores[1]:g}. Which key puts its large"
        " entry where"
        " x has its large entry?",
        f"It scores {scores[2]:g}, and x with itself {scores[0]:g}. It points a little aside, but"
        " it is nearly twice as long. A dot product rewards both.",
        f"It scores {scores[3]:g}. Its first entry helps; what does the second do?",
    )
    return Choice(
        title="Who scores highest?",
        prompt=f"Let $x = {_listed(x)}$. Which vector has the largest dot product with it?",
        options=tuple(
            Option(
                f"${_listed(key)}$" + (", which is $x$ itself" if number == 0 else ""),
                whys[number],
                number == best,
            )
            for number, key in enumerate(keys)
        ),
        hints=(
            "It takes four sums of two products. Do them all before you choose.",
            "A key does not have to point exactly the way of $x$ if it is long.",
            "Multiply the key's first entry by 2 and add the second.",
        ),
        solution=(
            f"The scores are {', '.join(f'{score:g}' for score in scores)}. The third is the"
            " largest: longer than x, and turned only a little away. So a vector need not be its"
            " own best match. Attention makes use of that: a query may prefer another token's key."
        ),
    )


@register("dot_product.words")
def words() -> Choice:
    """Rank four real words by direction, from their dot products and lengths."""
    from qkv.data import word_vectors

    table = word_vectors()
    others = ["sea", "shark", "elephant", "dolphin"]
    whale, rows = table["whale"].astype(float), table.rows(others).astype(float)
    products = dot_product_scores(whale[None], rows)[0]
    lengths = vector_length(rows)
    cosines = np.array([cosine_similarity(whale, vector) for vector in rows])
    nearest = cosines.argmax()
    lines = [
        (word, f"{product:.2f}", f"{length:.2f}")
        for word, product, length in zip(others, products, lengths, strict=True)
    ]
    whys = {
        "sea": "It is the longest of the four. What is left of its product when the length is"
        " taken away?",
        "shark": "It has the largest dot product. Is that because of where it points, or because"
        " of how long it is? Divide.",
        "elephant": "Smaller product than shark's, and nearly as long. Can it point more nearly"
        " the way of whale than shark does?",
        "dolphin": f"Its product is not the largest, but it is the shortest vector:"
        " {products[3]:.2f}"
        f" / {lengths[3]:.2f} is the largest of the four quotients. By direction, dolphin is the"
        " nearest.",
    }
    return Choice(
        title="Nearest to the whale",
        prompt=(
            "Four real word vectors, from the embedding table of a trained model. Which word points"
            " most nearly the way of *whale*?\n\n"
            + _table(lines, ("word", "dot product with whale", "length"))
        ),
        options=tuple(
            Option(word, whys[word], number == nearest) for number, word in enumerate(others)
        ),
        hints=(
            "The dot product mixes direction and length. The question is about direction alone.",
            "The length of *whale* divides all four alike, so it cannot change their order.",
            "Divide each product by the length beside it and compare the four quotients.",
        ),
        solution=(
            "The cosines, with the length of *whale* divided out too: "
            + ", ".join(
                f"{word} {cosine:.2f}" for word, cosine in zip(others, cosines, strict=True)
            )
            + f". By dot product the first is *{others[int(products.argmax())]}*, by cosine"
            f" *{others[int(nearest)]}*."
        ),
    )


@register("dot_product.itself")
def itself() -> Choice:
    """Explain why a real word prefers another word to itself."""
    from qkv.data import word_vectors

    table = word_vectors()
    vectors = table.vectors.astype(float)
    scores = dot_product_scores(vectors, vectors)
    rivals = int((scores.argmax(axis=1) != np.arange(len(vectors))).sum())
    one, other = table["matrices"].astype(float), table["matrix"].astype(float)
    own, rival = float(dot_product(one, one)), float(dot_product(one, other))
    cosine = float(cosine_similarity(one, other))
    longer = bool(vector_length(other) > vector_length(one))
    return Choice(
        title="A word that prefers another",
        prompt=(
            f"Of our {len(vectors)} words, {len(vectors) - rivals} have their largest dot product"
            f" with themselves and {rivals} do not. One of the {rivals} is *matrices*: its product"
            f" with itself is {own:.2f}, with *matrix* {rival:.2f}. What must be true?"
        ),
        options=(
            Option(
                "the cosine of *matrices* with *matrix* is larger than 1",
                "No cosine is larger than 1. What else is in a dot product?",
                cosine > 1,
            ),
            Option(
                "*matrix* is the longer vector",
                f"The cosine with oneself is 1 and with another less (here {cosine:.2f}), so only"
                " length can make up for it: |matrix| cos(angle) must be larger than |matrices|."
                f" The lengths are {vector_length(other):.2f} and {vector_length(one):.2f}.",
                longer and cosine <= 1,
            ),
            Option(
                "*matrices* does not point exactly the way of itself",
                "Every vector makes an angle of 0 with itself. What does the other vector have"
                " that makes up for its angle?",
                not math.isclose(float(cosine_similarity(one, one)), 1),
            ),
            Option(
                "*matrix*, for its part, prefers *matrices* to itself",
                f"Their product is {rival:.2f} from both sides. With itself *matrix* has"
                f" {dot_product(other, other):.2f}. So does it?",
                rival > float(dot_product(other, other)),
            ),
        ),
        hints=(
            "Write both products as lengths times a cosine.",
            "The length of *matrices* stands in both products. Divide it out.",
            "What is left: |matrices| on one side, |matrix| times a cosine below 1 on the other.",
        ),
        solution=(
            "x · y > x · x means |x| |y| cos > |x| |x|, so |y| cos > |x|. As the cosine is at most"
            " 1, **y must be longer than x**. And y never prefers x in return, because that would"
            " make x the longer one. Of a pair, at most one can prefer the other to itself: this"
            " is why attention makes queries and keys with two matrices, not one."
        ),
    )


@register("dot_product.mirror")
def mirror() -> Cell:
    """Find the cell that a table of dot products holds twice."""
    words = ("cat", "sat", "mat", "dog", "ran")
    rng = np.random.default_rng(2)
    X = rng.normal(size=(len(words), 3))
    S = dot_product_scores(X, X)
    row, column = 1, 4
    other = next(
        (int(i), int(j))
        for i, j in np.argwhere(np.isclose(S, S[row, column], rtol=0, atol=1e-12))
        if (i, j) != (row, column)
    )
    return Cell(
        title="The same number again",
        prompt=(
            "$S = XX^T$ holds the dot product of every word with every word. The cell of"
            f" *{words[row]}*"
            f" (row) and *{words[column]}* (column) holds {written(S[row, column])}. Without"
            " knowing"
            " the vectors: mark the other cell that must hold this number too."
        ),
        rows=words,
        columns=words,
        row_word="row",
        column_word="column",
        answer=other,
        right=(
            "Right. x·y = y·x, so the table is its own mirror image: whatever one word is to"
            " another,"
            " the other is to it. Chapter 5's two matrices end that."
        ),
        in_row="The row is right. With which word is it multiplied in the cell that is given?",
        in_column="The column is right. Which word did the given cell hold beside it?",
        otherwise=(
            "The given cell is one sum of products. Which other cell adds up the same products?"
        ),
        wrong=(
            Wrong(
                (row, column), "That is the cell that is given. Which other one holds its number?"
            ),
            Wrong(
                (row, row),
                "That is a word with itself, its squared length. Why should it be equal?",
            ),
            Wrong((column, column), "That is a word with itself. Does any rule tie it to a pair?"),
            Wrong(
                (row, len(words) - 1 - column),
                "You mirrored left and right. In which line is XXᵀ mirrored?",
            ),
            Wrong(
                (len(words) - 1 - row, column),
                "You mirrored top and bottom. In which line is XXᵀ mirrored?",
            ),
        ),
        hints=(
            "Write the cell as a sum of products of two words' entries. Does their order matter?",
            "x·y = y·x. Which cell has the two words the other way round?",
            "Turn the table over its diagonal: row and column change places.",
        ),
        solution=(
            f"Cell ({words[other[0]]}, {words[other[1]]}): {written(S[other])}, as x·y = y·x. S is"
            " symmetric whatever the vectors are."
        ),
    )


# --- in the notebook -----------------------------------------------------------------------------


def _positive(rng: np.random.Generator) -> Case:
    (d,) = sizes(rng, 1)
    x, y = np.abs(numbers(rng, d)), np.abs(numbers(rng, d))
    return Case((x, y), dot_product(x, y))


def _mixed(rng: np.random.Generator) -> Case:
    x, y = np.abs(numbers(rng, 7)), np.abs(numbers(rng, 7))
    signs = rng.permutation([1, 1, 1, 1, -1, -1, -1])
    return Case((x * signs, y), dot_product(x * signs, y))


def _single(rng: np.random.Generator) -> Case:
    x, y = np.abs(numbers(rng, 1)), np.abs(numbers(rng, 1))
    return Case((x, y), dot_product(x, y))


def _stops_one_short(x: np.ndarray, y: np.ndarray) -> float:
    return float(sum(x[c] * y[c] for c in range(len(x) - 1)))


@register("dot_product.loop")
def loop() -> Code:
    """Write the sum as a loop."""
    return Code(
        title="The dot product as a loop",
        function="dot_product_loop",
        prompt=(
            "Write the dot product of two vectors of the same length as a loop: multiply entry by"
            " entry and add up. Return one number. No `@`, no `np.dot`: the point is to see every"
            " product once."
        ),
        stub=(
            "def dot_product_loop(x, y):\n"
            '    """Return the dot product of two vectors, one product at a time."""\n'
            '    raise NotImplementedError("dot_product.loop")\n'
        ),
        rungs=(
            Rung(
                "one entry each",
                _single,
                "With one entry each, the dot product is one product. What did you do with the two"
                " entries?",
                (
                    Slip(
                        "adds the entries",
                        lambda x, y: x[0] + y[0],
                        "You added the two entries. What does a dot product do with them first?",
                    ),
                    Slip(
                        "squares x",
                        lambda x, y: x[0] * x[0],
                        "This is x with itself. Where does y come in?",
                    ),
                    Slip(
                        "cosine",
                        lambda x, y: 1.0,
                        "This number is 1 whatever the lengths are. Did you divide by the lengths?",
                    ),
                    Slip(
                        "leaves the loop empty",
                        lambda x, y: 0.0,
                        "With one entry your sum is still 0. Over which numbers does your `range`"
                        " run?",
                    ),
                ),
            ),
            Rung(
                "every entry",
                _positive,
                "Each entry of x meets the entry of y at the same place, once. Which products did"
                " you add?",
                (
                    Slip(
                        "keeps the last product only",
                        lambda x, y: x[-1] * y[-1],
                        "Only the last product is left. Does your loop add to the total, or does it"
                        " replace it?",
                    ),
                    Slip(
                        "returns inside the loop",
                        lambda x, y: x[0] * y[0],
                        "Only the first product is there. How far to the right does"
                        " `return` stand?",
                    ),
                    Slip(
                        "skips the first entry",
                        lambda x, y: float(np.sum(x[1:] * y[1:])),
                        "The first product is missing. At which number does your `range` begin?",
                    ),
                    Slip(
                        "stops one short",
                        _stops_one_short,
                        "The last product is missing. Where does your `range` end?",
                    ),
                    Slip(
                        "multiplies the sums",
                        lambda x, y: np.sum(x) * np.sum(y),
                        "You added first and multiplied then, so every entry of x met every entry"
                        " of y. Which pairs should meet?",
                    ),
                    Slip(
                        "takes the mean",
                        lambda x, y: np.mean(x * y),
                        "This is the mean of the products. By what did you divide, and who asked"
                        " for it?",
                    ),
                    Slip(
                        "pairs in reverse",
                        lambda x, y: float(np.sum(x * y[::-1])),
                        "Your first entry of x met the last of y. Which index do both need?",
                    ),
                    Slip(
                        "does not add up",
                        lambda x, y: x * y,
                        "You have the products, one for each entry. What turns them into one"
                        " number?",
                    ),
                ),
            ),
            Rung(
                "signs",
                _mixed,
                "Here some entries are negative. Which products should make the sum smaller?",
                (
                    Slip(
                        "drops the signs",
                        lambda x, y: float(np.sum(np.abs(x * y))),
                        "All your products count as positive. What should happen where the signs of"
                        " x and y differ?",
                    ),
                    Slip(
                        "leaves negative products out",
                        lambda x, y: float(np.sum(np.maximum(x * y, 0))),
                        "The negative products are missing from your sum. Why leave them out?",
                    ),
                ),
            ),
        ),
        hints=(
            "Start with a total of 0 and go through the places c = 0, 1, …, one at a time.",
            "At each place add `x[c] * y[c]` to the total.",
            "`for c in range(len(x)):` with one line below it that says `total += …`, and a"
            " `return` after the loop, not inside it.",
        ),
        solution=(
            "```python\n"
            "def dot_product_loop(x, y):\n"
            "    total = 0.0\n"
            "    for c in range(len(x)):\n"
            "        total += x[c] * y[c]\n"
            "    return total\n"
            "```\n\n"
            "Order does not matter to the sum, but pairing does: place c of one meets place c of"
            " the other."
        ),
    )


def _scores_case(n_q: int | None, n_k: int | None, rng: np.random.Generator) -> Case:
    drawn = sizes(rng, 3)
    q = numbers(rng, n_q or drawn[0], drawn[2])
    k = numbers(rng, n_k or drawn[1], drawn[2])
    return Case((q, k), dot_product_scores(q, k))


def _one_pair(rng: np.random.Generator) -> Case:
    return _scores_case(1, 1, rng)


def _one_query(rng: np.random.Generator) -> Case:
    return _scores_case(1, None, rng)


def _all_pairs(rng: np.random.Generator) -> Case:
    return _scores_case(None, None, rng)


def _stacks(rng: np.random.Generator) -> Case:
    batch, n_q, n_k, d_k = sizes(rng, 4)
    q, k = numbers(rng, batch, n_q, d_k), numbers(rng, batch, n_k, d_k)
    return Case((q, k), dot_product_scores(q, k))


def _unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.sqrt((rows * rows).sum(-1, keepdims=True))


def _softmaxed(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    grown = np.exp(q @ k.T - (q @ k.T).max(-1, keepdims=True))
    return grown / grown.sum(-1, keepdims=True)


@register("dot_product.scores")
def scores() -> Code:
    """Score every key for every query in one product."""
    forgets_transpose = Slip(
        "forgets the transpose",
        lambda q, k: q @ k,
        "A matrix product runs along the columns of the left array and the rows of the right one."
        " Which axis of k has the width that q has?",
    )
    return Code(
        title="All scores at once",
        function="all_scores",
        prompt=(
            "Given queries `q` of shape (n_q, d_k) and keys `k` of shape (n_k, d_k), return every"
            " dot product in one array of shape (n_q, n_k): row i holds what query i makes of each"
            " key. The last rung hands over stacks of shape (batch, n_q, d_k) and"
            " (batch, n_k, d_k)."
        ),
        stub=(
            "def all_scores(q, k):\n"
            '    """Return the dot product of every query with every key."""\n'
            '    raise NotImplementedError("dot_product.scores")\n'
        ),
        rungs=(
            Rung(
                "one query, one key",
                _one_pair,
                "One query and one key make one number, the plain dot product. What else did you"
                " do to it?",
                (
                    forgets_transpose,
                    Slip(
                        "normalises the rows",
                        lambda q, k: _unit(q) @ _unit(k).T,
                        "This is a cosine. Who asked for the lengths to be taken out?",
                    ),
                    Slip(
                        "divides by sqrt(d_k)",
                        lambda q, k: q @ k.T / math.sqrt(q.shape[-1]),
                        "You divided by the root of the width. That step comes in chapter 6; what"
                        " is the plain dot product?",
                    ),
                    Slip(
                        "scores queries with themselves",
                        lambda q, k: q @ q.T,
                        "This is the query with itself. Where do the keys come in?",
                    ),
                    Slip(
                        "applies softmax",
                        _softmaxed,
                        "You already turned scores into weights. What stood there before the"
                        " softmax?",
                    ),
                    Slip(
                        "multiplies entry by entry",
                        lambda q, k: q * k,
                        "You have the products of the entries. What turns them into one number for"
                        " each pair?",
                    ),
                    Slip(
                        "takes the outer product",
                        lambda q, k: np.outer(q, k),
                        "You multiplied every entry of q by every entry of k. Which entries should"
                        " meet, and what is added?",
                    ),
                ),
            ),
            Rung(
                "one query, several keys",
                _one_query,
                "One query asks several keys. Along which axis of your result do the keys run?",
                (
                    Slip(
                        "scores keys in rows",
                        lambda q, k: k @ q.T,
                        "Your scores stand in a column: each row belongs to a key. Whose row should"
                        " it be?",
                    ),
                    Slip(
                        "drops an axis",
                        lambda q, k: (q @ k.T)[0],
                        "The numbers are right, but the axis of the queries is gone. What is the"
                        " shape for one query?",
                    ),
                    Slip(
                        "reshapes where it should transpose",
                        lambda q, k: q @ k.reshape(k.shape[::-1]),
                        "`reshape` keeps the numbers in their order and cuts them anew, so keys get"
                        " torn apart. What turns rows into columns?",
                    ),
                    Slip(
                        "adds the keys up",
                        lambda q, k: (q * k).sum(keepdims=True),
                        "Your sum ran over the keys too. Over which axis alone should it run?",
                    ),
                    Slip(
                        "pairs by place",
                        lambda q, k: (q * k[: len(q)]).sum(-1, keepdims=True),
                        "Query 0 met key 0 only. Which keys should it meet?",
                    ),
                ),
            ),
            Rung(
                "every pair",
                _all_pairs,
                "Entry (i, j) is query i with key j. Which query and which key made yours?",
                (
                    Slip(
                        "turned round",
                        lambda q, k: k @ q.T,
                        "Your entry (i, j) is key i with query j. Which of the two should run down"
                        " the rows?",
                    ),
                    Slip(
                        "first query for all",
                        lambda q, k: np.repeat(q[:1] @ k.T, len(q), axis=0),
                        "All your rows are the row of query 0. Where does i come in?",
                    ),
                ),
            ),
            Rung(
                "a stack of sentences",
                _stacks,
                "Now q and k are stacks, one sentence each. Which two axes should be turned, and"
                " which one left alone?",
                crash="Now q and k have a batch axis in front. Which line counts on two axes?",
                slips=(
                    Slip(
                        "turns all axes",
                        lambda q, k: q @ k.T,
                        "A batch axis stands in front. `.T` turns all axes round, and a loop over"
                        " rows counts on two: which two axes should meet, whatever stands"
                        " before them? Look at `np.swapaxes`.",
                    ),
                    Slip(
                        "mixes the sentences",
                        lambda q, k: np.einsum("bid,cjd->bij", q, k),
                        "Your queries met the keys of other sentences too. Which index must be the"
                        " same on both sides?",
                    ),
                ),
            ),
        ),
        hints=(
            "Row i of q meets row j of k. A matrix product lets rows meet *columns*.",
            "So the keys must be turned: their rows must become columns before the `@`.",
            "`np.swapaxes(k, -1, -2)` turns the last two axes and leaves a batch in front alone.",
        ),
        solution=(
            "```python\n"
            "def all_scores(q, k):\n"
            "    return q @ np.swapaxes(k, -1, -2)\n"
            "```\n\n"
            "For two plain matrices `q @ k.T` is the same. `np.einsum('...id,...jd->...ij', q, k)`"
            " says it with named axes: d is summed, i and j stay."
        ),
    )


def _acute(rng: np.random.Generator) -> Case:
    x, y = _unit(np.abs(numbers(rng, 5))), _unit(np.abs(numbers(rng, 5)))
    return Case((x, y), cosine_similarity(x, y))


def _long(rng: np.random.Generator) -> Case:
    (d,) = sizes(rng, 1)
    x, y = np.abs(numbers(rng, d)) * 5, np.abs(numbers(rng, d)) * 0.5
    return Case((x, y), cosine_similarity(x, y))


def _obtuse(rng: np.random.Generator) -> Case:
    x = numbers(rng, 7)
    y = -x + 0.5 * numbers(rng, 7)
    return Case((x, y), cosine_similarity(x, y))


def _zero(rng: np.random.Generator) -> Case:
    return Case((np.zeros(3), numbers(rng, 3)), raises=ValueError)


def _cosine(x: np.ndarray, y: np.ndarray) -> float:
    return float(x @ y / (np.sqrt(x @ x) * np.sqrt(y @ y)))


@register("dot_product.cosine")
def cosine() -> Code:
    """Divide the dot product by both lengths, and refuse a vector without direction."""
    return Code(
        title="The cosine of an angle",
        function="cosine",
        prompt=(
            "Return the cosine of the angle between two vectors: their dot product divided by both"
            " lengths. A zero vector has no direction; raise a `ValueError` for it."
        ),
        stub=(
            "def cosine(x, y):\n"
            '    """Return the cosine of the angle between x and y."""\n'
            '    raise NotImplementedError("dot_product.cosine")\n'
        ),
        rungs=(
            Rung(
                "length one",
                _acute,
                "Both vectors have length 1, so there is nothing to divide away. Is yours the dot"
                " product?",
                (
                    Slip(
                        "returns the angle",
                        lambda x, y: math.acos(min(1.0, x @ y)),
                        "This is the angle itself, in radians. Which function of it is asked for?",
                    ),
                    Slip(
                        "returns a distance",
                        lambda x, y: 1 - x @ y,
                        "Yours is 1 minus the cosine, a distance. Should equal directions give 0 or"
                        " 1?",
                    ),
                    Slip(
                        "divides by the sum of lengths",
                        lambda x, y: x @ y / (np.sqrt(x @ x) + np.sqrt(y @ y)),
                        "You divided by the sum of the lengths. If both lengths double, the dot"
                        " product becomes four times as large: by what must you divide?",
                    ),
                    Slip(
                        "divides by the width",
                        lambda x, y: x @ y / len(x),
                        "You divided by the number of entries. What is the length of a vector?",
                    ),
                ),
            ),
            Rung(
                "any length",
                _long,
                "Stretching x must not change its cosine with y. Does it change yours?",
                (
                    Slip(
                        "does not divide",
                        lambda x, y: x @ y,
                        "This is the dot product: it grows when x grows. What takes the lengths"
                        " out?",
                    ),
                    Slip(
                        "divides by squared lengths",
                        lambda x, y: x @ y / ((x @ x) * (y @ y)),
                        "x · x is the length squared. Which root is missing?",
                    ),
                    Slip(
                        "divides by x's length only",
                        lambda x, y: x @ y / np.sqrt(x @ x),
                        "The length of x is out, the length of y is still in. What if you stretch"
                        " y?",
                    ),
                    Slip(
                        "divides by y's length only",
                        lambda x, y: x @ y / np.sqrt(y @ y),
                        "The length of y is out, the length of x is still in. What if you stretch"
                        " x?",
                    ),
                    Slip(
                        "takes the sum of entries for the length",
                        lambda x, y: x @ y / (np.abs(x).sum() * np.abs(y).sum()),
                        "You took the sum of the entries for the length. How long is (3, 4)?",
                    ),
                ),
            ),
            Rung(
                "beyond a right angle",
                _obtuse,
                "These two point nearly opposite ways. Which sign should the cosine have?",
                (
                    Slip(
                        "drops the sign",
                        lambda x, y: abs(_cosine(x, y)),
                        "Yours is positive, though the two point nearly opposite ways. Where did"
                        " the sign go?",
                    ),
                    Slip(
                        "cuts off below zero",
                        lambda x, y: max(0.0, _cosine(x, y)),
                        "Yours stops at 0. What is the cosine of two opposite directions?",
                    ),
                ),
            ),
            Rung(
                "a vector without direction",
                _zero,
                "x is the zero vector. It points nowhere, so no angle exists. What should your"
                " function say?",
                crash="The zero vector is to be refused with a `ValueError`. Which error is yours?",
                slips=(
                    Slip(
                        "lets nan through",
                        lambda x, y: float("nan"),
                        "0 divided by 0 gave nan, which no later line will notice. Where can you"
                        " stop it?",
                    ),
                    Slip(
                        "says zero",
                        lambda x, y: 0.0,
                        "0 would mean: at a right angle. Is the zero vector at a right angle to y,"
                        " more than to anything else? Raise a `ValueError`.",
                    ),
                ),
            ),
        ),
        hints=(
            "The length of a vector is the root of its dot product with itself.",
            "Divide the dot product by the length of x times the length of y.",
            "Compute `lengths = np.sqrt(x @ x) * np.sqrt(y @ y)` first; if it is 0, raise a"
            " `ValueError`.",
        ),
        solution=(
            "```python\n"
            "def cosine(x, y):\n"
            "    lengths = np.sqrt(x @ x) * np.sqrt(y @ y)\n"
            "    if lengths == 0:\n"
            '        raise ValueError("a zero vector has no direction")\n'
            "    return x @ y / lengths\n"
            "```"
        ),
    )


def _nearest_to(i: int, X: np.ndarray) -> int:
    products = dot_product_scores(X[i : i + 1], X)[0]
    products[i] = -np.inf
    return int(products.argmax())


def _nearest_case(i: int, X: np.ndarray) -> Case:
    return Case((i, X), _nearest_to(i, X))


def _some_word(rng: np.random.Generator) -> Case:
    n, d = 13, int(rng.choice([3, 5, 7]))
    X = np.abs(numbers(rng, n, d))
    earlier = [i for i in range(n) if _nearest_to(i, X) < i]
    return _nearest_case(int(rng.choice(earlier or [n - 1])), X)


def _later_word(rng: np.random.Generator) -> Case:
    n, d = 11, 5
    X, i = np.abs(numbers(rng, n, d)), int(rng.integers(0, n - 2))
    X[rng.integers(i + 1, n)] *= 4
    return _nearest_case(i, X)


def _all_against(rng: np.random.Generator) -> Case:
    n, d = 7, 3
    X = -np.abs(numbers(rng, n, d))
    i = int(rng.integers(n))
    X[i] = -X[i]
    return _nearest_case(i, X)


def _euclidean(i: int, X: np.ndarray) -> int:
    distance = ((X - X[i]) ** 2).sum(-1)
    distance[i] = np.inf
    return int(distance.argmin())


def _by_cosine(i: int, X: np.ndarray) -> int:
    return _nearest_to(i, _unit(X))


def _largest_first(i: int, X: np.ndarray) -> int:
    return int((X @ X[i]).argmax())


def _smallest(i: int, X: np.ndarray) -> int:
    return int((X @ X[i]).argmin())


def _longest(i: int, X: np.ndarray) -> int:
    lengths = (X * X).sum(-1)
    lengths[i] = 0
    return int(lengths.argmax())


def _zeroes_itself(i: int, X: np.ndarray) -> int:
    products = X @ X[i]
    products[i] = 0
    return int(products.argmax())


def _by_size(i: int, X: np.ndarray) -> int:
    products = np.abs(X @ X[i])
    products[i] = -1
    return int(products.argmax())


@register("dot_product.nearest")
def nearest() -> Code:
    """Find the other word with the largest dot product."""
    return Code(
        title="The best match of a word, itself left out",
        function="best_match",
        prompt=(
            "`X` holds one word vector a row. Return the index of the row, other than row `i`, that"
            " has the largest dot product with row `i`. Try it on `qkv.data.word_vectors()` when"
            " it passes."
        ),
        stub=(
            "def best_match(i, X):\n"
            '    """Return the index of the best match of row i among the other rows of X."""\n'
            '    raise NotImplementedError("dot_product.nearest")\n'
        ),
        rungs=(
            Rung(
                "the largest of the others",
                _some_word,
                "Is your row the one with the largest dot product, among all rows but row i?",
                (
                    Slip(
                        "finds itself",
                        lambda i, X: i,
                        "You found row i itself. How can it be left out of the search?",
                    ),
                    Slip(
                        "may find itself",
                        _largest_first,
                        "You found row i itself. How can it be left out of the search?",
                    ),
                    Slip(
                        "finds the smallest",
                        _smallest,
                        "You found the smallest dot product. Which end is asked for?",
                    ),
                    Slip(
                        "measures distance",
                        _euclidean,
                        "You found the row at the smallest distance. A long vector can be far away"
                        " and still have the largest dot product: which of the two is asked for?",
                    ),
                    Slip(
                        "measures the cosine",
                        _by_cosine,
                        "You found the row with the largest cosine. Which number was asked for, the"
                        " cosine or the dot product?",
                    ),
                    Slip(
                        "finds the longest",
                        _longest,
                        "You found the longest row, whichever way it points. Where does row i come"
                        " in?",
                    ),
                    Slip(
                        "returns the score",
                        lambda i, X: float((X @ X[i])[_nearest_to(i, X)]),
                        "This is the largest dot product. At which row does it stand?",
                    ),
                ),
            ),
            Rung(
                "the index in X",
                _later_word,
                "The best match stands after row i here. Does your index count the rows of X?",
                (
                    Slip(
                        "counts without row i",
                        lambda i, X: int(np.delete(X @ X[i], i).argmax()),
                        "You took row i out and counted the rest, so every later row moved up by"
                        " one. Which index does it have in X?",
                    ),
                    Slip(
                        "looks only at earlier rows",
                        lambda i, X: int((X[:i] @ X[i]).argmax()) if i else 0,
                        "You looked at the rows before row i. What of those after it?",
                    ),
                ),
            ),
            Rung(
                "all others negative",
                _all_against,
                "Here every other row has a negative dot product with row i. Which one is largest?",
                (
                    Slip(
                        "zeroes itself",
                        _zeroes_itself,
                        "You set the score of row i to 0, but here all others are below 0. Which"
                        " number is below every score?",
                    ),
                    Slip(
                        "drops the signs",
                        _by_size,
                        "You compared sizes without their signs. Which is larger, −1 or −5?",
                    ),
                ),
            ),
        ),
        hints=(
            "First make all dot products with row i at once: a matrix times a vector.",
            "Then make it impossible that row i wins, without moving the other rows.",
            "Set entry i of the scores to `-np.inf`, then take `argmax()`.",
        ),
        solution=(
            "```python\n"
            "def best_match(i, X):\n"
            "    scores = X @ X[i]\n"
            "    scores[i] = -np.inf\n"
            "    return int(scores.argmax())\n"
            "```\n\n"
            "Minus infinity is the one score that nothing is below. Chapter 9 hides tokens the same"
            " way."
        ),
    )


def _cosines_case(q: np.ndarray, k: np.ndarray) -> Case:
    lengths = vector_length(q)[..., :, None] * vector_length(k)[..., None, :]
    return Case((q, k), dot_product_scores(q, k) / lengths)


def _lone_pair(rng: np.random.Generator) -> Case:
    (d,) = sizes(rng, 1)
    return _cosines_case(numbers(rng, 1, d + 1), numbers(rng, 1, d + 1))


def _table_of_pairs(rng: np.random.Generator) -> Case:
    n_q, n_k, d = rng.permutation([3, 5, 7])
    return _cosines_case(numbers(rng, n_q, d), numbers(rng, n_k, d))


def _stacked_tables(rng: np.random.Generator) -> Case:
    n_q, n_k, d = rng.permutation([3, 5, 7])
    return _cosines_case(numbers(rng, 2, n_q, d), numbers(rng, 2, n_k, d))


def _over(rows: np.ndarray, axis: int | tuple[int, ...] | None) -> np.ndarray:
    """Divide by the root of a sum of squares that may run along the wrong axis."""
    return rows / np.sqrt((rows * rows).sum(axis=axis, keepdims=True))


def _all_products(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    return q @ np.swapaxes(k, -1, -2)


@register("dot_product.repair")
def repair() -> Code:
    """Repair a table of cosines that divides along the wrong axis."""
    from qkv.data import word_vectors

    X = word_vectors().vectors.astype(float)
    printed, right = _over(X, 0) @ _over(X, None).T, _cosines_case(X, X).expected
    for table in (printed, right):
        np.fill_diagonal(table, -np.inf)
    misled = int((printed.argmax(axis=1) != right.argmax(axis=1)).sum())
    return Code(
        title="Repair this code: all cosines at once",
        function="all_cosines",
        prompt=(
            "This code should return the cosine of every row of `q` with every row of `k`, in an"
            f" array of shape (n_q, n_k). It runs, and of our {len(X)} words it gives {misled} the"
            " wrong nearest word. There are two bugs, and a third when stacks come in: `q` of shape"
            " (batch, n_q, d) and `k` of shape (batch, n_k, d). Remove the `raise` when you begin."
        ),
        stub=(
            "def all_cosines(q, k):\n"
            '    """Return the cosine of every row of q with every row of k."""\n'
            '    raise NotImplementedError("dot_product.repair")\n'
            "    q = q / np.sqrt((q * q).sum(axis=0))\n"
            "    k = k / np.sqrt((k * k).sum())\n"
            "    return q @ k.T\n"
        ),
        rungs=(
            Rung(
                "one row each",
                _lone_pair,
                "One row each makes one cosine. What is the length of each row in your code?",
                (
                    Slip(
                        "q along axis 0",
                        lambda q, k: _over(q, -2) @ _unit(k).T,
                        "Your query became a row of 1 and −1: with a single row, axis 0 holds one"
                        " entry, which is divided by its own size. Along which axis does a vector"
                        " lie?",
                    ),
                    Slip(
                        "both along axis 0",
                        lambda q, k: _over(q, -2) @ _over(k, -2).T,
                        "Both rows became 1 and −1, so you count equal signs. Along which axis does"
                        " a vector lie?",
                    ),
                    Slip(
                        "no division",
                        lambda q, k: q @ k.T,
                        "This is the dot product. Which two numbers must go out of it?",
                    ),
                    Slip(
                        "q alone",
                        lambda q, k: _unit(q) @ k.T,
                        "The query has length 1 now. How long is the key?",
                    ),
                    Slip(
                        "k alone",
                        lambda q, k: q @ _unit(k).T,
                        "The key has length 1 now. How long is the query?",
                    ),
                    Slip(
                        "squared lengths",
                        lambda q, k: q @ k.T / ((q * q).sum() * (k * k).sum()),
                        "You divided by the squares of the lengths. Which root is missing?",
                    ),
                    Slip(
                        "sum of entries",
                        lambda q, k: q @ k.T / (np.abs(q).sum() * np.abs(k).sum()),
                        "You took the sum of the entries for the length. How long is (3, 4)?",
                    ),
                ),
            ),
            Rung(
                "every pair",
                _table_of_pairs,
                "Each row is divided by its own length. Which length met which row in your code?",
                (
                    Slip(
                        "k by the whole table",
                        lambda q, k: _unit(q) @ _over(k, None).T,
                        "All your keys were divided by one number, the length of the whole table."
                        " What is left of a long key's advantage?",
                    ),
                    Slip(
                        "both by the whole table",
                        lambda q, k: _over(q, None) @ _over(k, None).T,
                        "You divided each table by one number, so no pair changed its place in the"
                        " order. How many lengths has a table of rows?",
                    ),
                    Slip(
                        "k along axis 0",
                        lambda q, k: _unit(q) @ _over(k, -2).T,
                        "The columns of your k have length 1, not the rows. What is one word: a row"
                        " or a column?",
                    ),
                    Slip(
                        "turned round",
                        lambda q, k: _unit(k) @ _unit(q).T,
                        "Your entry (i, j) is key i with query j. Which of the two should run down"
                        " the rows?",
                    ),
                    Slip(
                        "the scores' rows",
                        lambda q, k: _unit(q @ k.T),
                        "You brought the rows of the scores to length 1. Whose lengths should go"
                        " out?",
                    ),
                ),
                crash=(
                    "The shapes do not fit when you divide. Which axis did your sum remove, and did"
                    " it leave a place for it?"
                ),
            ),
            Rung(
                "a stack of tables",
                _stacked_tables,
                "A third axis stands in front. Do you count your axes from the front or from the"
                " back?",
                (
                    Slip(
                        "axis 1 is the rows now",
                        lambda q, k: _all_products(_over(q, 1), _over(k, 1)),
                        "With a stack in front, axis 1 counts the rows. Which name of the last axis"
                        " stays right?",
                    ),
                    Slip(
                        "mixes the tables",
                        lambda q, k: np.einsum("bid,cjd->bij", _unit(q), _unit(k)),
                        "Your queries met the keys of other tables too. Which index must be the"
                        " same on both sides?",
                    ),
                ),
                crash=(
                    "A third axis stands in front, and `.T` turns all of them. Which two should"
                    " change places?"
                ),
            ),
        ),
        hints=(
            "Print the lengths of the rows of q and of k before the last line. What should"
            " they be?",
            "Each row has its own length, a sum along the last axis: `axis=-1`. `keepdims=True`"
            " leaves a column of lengths, one beside each row.",
            "Both divisions get the same two arguments. `np.swapaxes(k, -1, -2)` in place of `k.T`"
            " leaves a stack in front alone.",
        ),
        solution=(
            "```python\n"
            "def all_cosines(q, k):\n"
            "    q = q / np.sqrt((q * q).sum(axis=-1, keepdims=True))\n"
            "    k = k / np.sqrt((k * k).sum(axis=-1, keepdims=True))\n"
            "    return q @ np.swapaxes(k, -1, -2)\n"
            "```\n\n"
            "The first bug divided by the lengths of the columns, the second by one number for all"
            " keys. Neither stopped the program, because every shape fitted."
        ),
    )


Score = Callable[[np.ndarray, np.ndarray], float]


def _degrees(x: np.ndarray, y: np.ndarray) -> float:
    return math.degrees(math.acos(_cosine(x, y)))


def _y_left_in(x: np.ndarray, y: np.ndarray) -> float:
    return float(x @ y / np.sqrt(x @ x))


def _x_left_in(x: np.ndarray, y: np.ndarray) -> float:
    return float(x @ y / np.sqrt(y @ y))


def _multiple(x: np.ndarray, y: np.ndarray) -> float:
    return float(x @ y / (x @ x))


def _floored(x: np.ndarray, y: np.ndarray) -> float:
    return float(x @ y / (max(1.0, math.sqrt(x @ x)) * max(1.0, math.sqrt(y @ y))))


def _felt_case(score: Score, felt: int) -> Callable[[np.random.Generator], Case]:
    def draw(rng: np.random.Generator) -> Case:
        d = int(rng.choice([3, 5, 7]))
        x, y = (vector + 2 * _unit(vector) for vector in np.abs(numbers(rng, 2, d)))
        return Case((score, x, y), float(felt))

    return draw


def _moves(score: Score, x: np.ndarray, y: np.ndarray, a: float, b: float) -> bool:
    return abs(score(a * x, b * y) - score(x, y)) > 1e-9


@register("dot_product.expose")
def expose() -> Code:
    """Write the test that finds a score which feels a length."""
    return Code(
        title="Write the test that exposes it",
        function="lengths_felt",
        prompt=(
            "`score(x, y)` is somebody's similarity of two vectors; you do not see inside. It"
            " claims to feel direction alone. Return how many of the two lengths it feels: 0, 1 or"
            " 2. It feels the length of x if the score changes when x is made longer or shorter"
            " and keeps its direction; for y likewise. Six scores wait on the ladder, honest ones"
            " and others."
        ),
        stub=(
            "def lengths_felt(score, x, y):\n"
            '    """Return how many of the lengths of x and y change score(x, y): 0, 1 or 2."""\n'
            '    raise NotImplementedError("dot_product.expose")\n'
        ),
        rungs=(
            Rung(
                "an honest cosine",
                _felt_case(_cosine, 0),
                "You accused an honest cosine. With what did you compare it?",
                (
                    Slip(
                        "the direction changed",
                        lambda score, x, y: (
                            float(_moves(score, x, y, -2, 1)) + _moves(score, x, y, 1, -2)
                        ),
                        "You accused an honest cosine twice. Did your change leave the directions"
                        " as they were, and not turn one round?",
                    ),
                ),
                crash="Your test stopped. `score` takes two vectors: what did you hand it?",
            ),
            Rung(
                "an honest angle",
                _felt_case(_degrees, 0),
                "This score is the angle in degrees, and no length moves it. Must a score lie"
                " between −1 and 1 to be honest?",
                (
                    Slip(
                        "compared with a cosine",
                        lambda score, x, y: 2.0 * (abs(score(x, y) - _cosine(x, y)) > 1e-9),
                        "This score is the angle in degrees. You compared it with a cosine of your"
                        " own: with which other value of itself can it be compared?",
                    ),
                ),
            ),
            Rung(
                "the length of y left in",
                _felt_case(_y_left_in, 1),
                "This one divides by the length of x and forgets the length of y. How many does it"
                " feel?",
                (
                    Slip(
                        "x alone",
                        lambda score, x, y: float(_moves(score, x, y, 2, 1)),
                        "This one forgets the length of y, and you let it pass. Did you stretch y"
                        " as well as x?",
                    ),
                ),
            ),
            Rung(
                "the length of x left in",
                _felt_case(_x_left_in, 1),
                "This one divides by the length of y and forgets the length of x. How many does it"
                " feel?",
                (
                    Slip(
                        "y alone",
                        lambda score, x, y: float(_moves(score, x, y, 1, 2)),
                        "This one forgets the length of x, and you let it pass. Did you stretch x"
                        " as well as y?",
                    ),
                ),
            ),
            Rung(
                "divided by x twice",
                _felt_case(_multiple, 2),
                "This one divides by the length of x twice and never by that of y. How many"
                " lengths does it feel?",
                (
                    Slip(
                        "both at once",
                        lambda score, x, y: float(_moves(score, x, y, 2, 2)),
                        "This one divides by the length of x twice. You stretched both vectors at"
                        " once, and one change undid the other: what if only one is stretched?",
                    ),
                    Slip(
                        "yes or no",
                        lambda score, x, y: float(
                            _moves(score, x, y, 2, 1) or _moves(score, x, y, 1, 2)
                        ),
                        "You said that it feels a length. How many of the two?",
                    ),
                ),
            ),
            Rung(
                "honest only when long",
                _felt_case(_floored, 2),
                "This one never divides by less than 1, to be safe from 0. When is it a cosine, and"
                " when is it not?",
                (
                    Slip(
                        "only longer",
                        lambda score, x, y: (
                            float(_moves(score, x, y, 2, 1)) + _moves(score, x, y, 1, 2)
                        ),
                        "This one never divides by less than 1, and you let it pass. Did you try a"
                        " vector that is much shorter?",
                    ),
                ),
            ),
        ),
        hints=(
            "A score that feels direction alone gives the same number for x and for a multiple of"
            " x. Which multiples keep the direction?",
            "Compare `score(x, y)` with `score(a * x, y)`, and then with `score(x, a * y)`. Leave a"
            " little room for rounding.",
            "Try a large factor and a small one, say 100 and 0.01. Count a length if either factor"
            " moves the score by more than 1e-9.",
        ),
        solution=(
            "```python\n"
            "def lengths_felt(score, x, y):\n"
            "    base, factors = score(x, y), (100.0, 0.01)\n"
            "    x_felt = any(abs(score(a * x, y) - base) > 1e-9 for a in factors)\n"
            "    y_felt = any(abs(score(x, a * y) - base) > 1e-9 for a in factors)\n"
            "    return int(x_felt) + int(y_felt)\n"
            "```\n\n"
            "The test knows no formula. It changes what must not matter, one thing at a time, and"
            " looks whether it mattered."
        ),
    )
