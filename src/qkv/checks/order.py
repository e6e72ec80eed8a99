"""The exercises of chapter 13: what shuffles along, position codes, rotations, and a test."""

# ruff: noqa: RUF001 (a minus sign is a minus sign)

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from qkv.checks.arrangement import Fill
from qkv.checks.engine import register
from qkv.checks.exercise import Case, Choice, Code, Number, Option, Row, Rung, Slip, Wrong
from qkv.checks.ladder import numbers
from qkv.core.masks import causal_mask
from qkv.core.positions import rotary_positions, sinusoidal_positions
from qkv.core.scaled_dot_product import scaled_dot_product_attention

Array = np.ndarray
Layer = Callable[[Array], Array]

# --- in the page ---------------------------------------------------------------------------------


@register("order.predict")
def predict() -> Choice:
    """Predict what swapping two tokens does to a third."""
    rng = np.random.default_rng(13)
    X, order = rng.normal(size=(4, 3)), [1, 0, 2, 3]
    before, after = (scaled_dot_product_attention(x, x, x) for x in (X, X[order]))
    row_same = bool(np.allclose(after[0][2], before[0][2]))
    weights_same = bool(np.allclose(after[1][2], before[1][2]))
    return Choice(
        title="Predict: the word that stays",
        prompt=(
            "Four words, self-attention without a mask and without a position code. The words 0"
            " and 1 change places; word 2 stays where it is. What becomes of row 2?"
        ),
        options=(
            Option(
                "its weights and its output stay",
                "Its output does. But the weights of row 2 stand in the order of the keys: which"
                " two keys have changed places?",
                row_same and weights_same,
            ),
            Option(
                "two of its weights change places, its output stays",
                "Each weight goes along with its key, and each value with its weight: the sum has"
                " the same terms in another order.",
                row_same and not weights_same,
            ),
            Option(
                "two of its weights change places, and so its output changes",
                "The weights have moved. And the values that they multiply?",
                not row_same and not weights_same,
            ),
            Option(
                "everything changes, since its neighbours are others now",
                "Which step of attention knows what a neighbour is?",
                False,
            ),
        ),
        hints=(
            "Write the output of row 2 as a sum over keys.",
            "Each term is a weight times a value. Which terms are new after the swap?",
            "None: two terms have changed places in the sum.",
        ),
        solution=(
            "**Two of its weights change places, its output stays.** Row 2 of P S Pᵀ has the old"
            " scores in the new order of the keys."
        ),
    )


def _changed(n_layers: int, n: int = 5) -> tuple[float, ...]:
    """Return which places of a causal stack change when tokens 0 and 1 are swapped."""
    rng = np.random.default_rng(13)
    X = rng.normal(size=(n, 3))
    both = [X, X[[1, 0, *range(2, n)]]]
    for _ in range(n_layers):
        both = [x + scaled_dot_product_attention(x, x, x, causal_mask(n))[0] for x in both]
    return tuple((np.abs(both[0] - both[1]).max(axis=-1) > 1e-9).astype(float).tolist())


@register("order.one_layer")
def one_layer() -> Row:
    """Say which rows of one causal layer notice a swap."""
    return Row(
        title="Who notices?",
        prompt=(
            "Five words, *one* causal layer, no position code. The words 0 and 1 change places."
            " Compare the outputs place by place: write 1 where the row is another one now, and 0"
            " where it is the same."
        ),
        labels=tuple(f"place {t}" for t in range(5)),
        answer=_changed(1),
        right=(
            "Right. From place 2 on, a row sees the same set as before. In a second layer it does"
            " not, since rows 0 and 1 are others now."
        ),
        otherwise="For each place: which word stands there, and which words may it look at?",
        wrong=(
            Wrong(
                _changed(2),
                "That is what *two* layers do. In the first, what exactly does row 2 look at?",
            ),
            Wrong((0.0,) * 5, "Another word stands at place 0 now. Can its row be the same?"),
            Wrong(
                (1.0, 0.0, 0.0, 0.0, 0.0),
                "Place 1 sees both words, as before. But who is asking there now?",
            ),
            Wrong(
                (0.0, 1.0, 0.0, 0.0, 0.0),
                "Place 0 sees only itself. Is it the same word?",
            ),
            Wrong(
                (0.0, 0.0, 1.0, 1.0, 1.0),
                "Those rows see the set {0, 1, …} in both cases. And the two that were swapped?",
            ),
        ),
        hints=(
            "Row t of a causal layer is a mean over places 0 to t, with weights asked for by t.",
            "At places 2, 3 and 4 the same word asks the same set of words.",
            "At places 0 and 1 another word asks.",
        ),
        solution="1, 1, 0, 0, 0. Only the places where another word stands have another row.",
    )


@register("order.length")
def length() -> Number:
    """Derive the length of a sinusoid code."""
    d_model = 512
    P = sinusoidal_positions(7, d_model)
    answer = float(np.sqrt(P[5] @ P[5]))
    return Number(
        title="How long is a code?",
        prompt=(
            f"Derive the length (the root of p · p) of the sinusoid code of *any* place, for"
            f" d_model = {d_model}. Use the formula for the dot product of two codes. What is it?"
        ),
        label="Length",
        answer=answer,
        right="Right: every pair is a point on a circle of radius 1, wherever it stands.",
        otherwise="How many pairs are there, and what does each add to p · p?",
        wrong=(
            Wrong(answer**2, "That is p · p. What is the length of a vector?"),
            Wrong(float(np.sqrt(d_model)), "Do all 512 columns hold a 1?"),
            Wrong(float(d_model), "How many pairs do 512 columns make? And then the root?"),
            Wrong(1.0, "That is the length of one pair. How many pairs are there?"),
            Wrong(0.0, "At place 0 the sines are 0. And the cosines?"),
        ),
        hints=(
            "Put s = t in the sum of cosines.",
            "Each cosine is 1, and there is one for each pair of columns.",
            "p · p = d_model / 2.",
        ),
        solution=(
            f"p · p = Σ cos 0 = d_model / 2 = {d_model // 2}, so the length is {answer:g}, at every"
            " place. (An embedding times √d_model is of the same size: chapter 1.)"
        ),
    )


@register("order.angle")
def angle() -> Number:
    """Compute a rotated dot product from an offset."""
    theta, t, j = 1.0, 7, 4
    q, k = np.array([[2.0, 0.0]]), np.array([[3.0, 0.0]])

    def turned(at_q: int, at_k: int) -> float:
        return float((rotary_positions(q, at_q) @ rotary_positions(k, at_k).T)[0, 0])

    answer = turned(t, j)
    return Number(
        title="One pair, one offset",
        prompt=(
            f"A head with d_k = 2, so one pair, at speed θ = {theta:g} radian a place. Before RoPE"
            f" the query is (2, 0) and the key (3, 0). The query stands at place {t:,}, the key at"
            f" place {j:,}. What is their dot product after RoPE? (Three decimals.)"
        ),
        label="Dot product",
        answer=answer,
        tolerance=0.01,
        right="Right: |q| |k| cos(3). At places 1,007 and 1,004 it is the same.",
        otherwise="By which angle are the two turned against each other?",
        wrong=(
            Wrong(
                6.0,
                "That is the dot product before RoPE (or degrees taken for radians). By how"
                " much is each turned?",
            ),
            Wrong(
                turned(t + j, 0),
                "You added the angles. Both turn in the same direction: what is left between them?",
            ),
            Wrong(turned(t, 0), "You turned the query only. And the key?"),
            Wrong(turned(0, j), "You turned the key only. And the query?"),
            Wrong(
                float(6 * np.sin(t - j)),
                "That is a sine. Which function gives the dot product of two vectors at an angle?",
            ),
            Wrong(-answer, "Check the sign: is the cosine of 3 radians positive?"),
        ),
        hints=(
            "The dot product is length times length times the cosine of the angle between them.",
            "Before RoPE the angle is 0. After it, it is (7 − 4) θ.",
            "6 cos(3), in radians.",
        ),
        solution=f"2 · 3 · cos((7 − 4) · 1) = 6 cos 3 = {answer:.3f}.",
    )


@register("order.longer")
def longer() -> Choice:
    """Say what a formula promises about longer texts."""
    table = np.zeros((16, 6))
    exists = sinusoidal_positions(64, 6).shape[0] == 64 and len(table) == 16
    return Choice(
        title="What does a formula promise?",
        prompt=(
            "A model was trained with sinusoids on texts of 512 places. Somebody writes:"
            " “Sinusoids are defined for every place, so the model works for any length.” Which"
            " reply is right?"
        ),
        options=(
            Option(
                "Right: only learned tables have a limit.",
                "A table ends with an error. What did the sinusoid model do at place 16 in the"
                " experiment above?",
                False,
            ),
            Option(
                "Wrong: the program stops with an error at place 512.",
                "Which array would be too short? A formula has no last row.",
                not exists,
            ),
            Option(
                "The program runs. Whether it still answers well has to be measured.",
                "The code exists at place 600, but the matrices never met it in training.",
                exists,
            ),
            Option(
                "The program runs, and answers as well, since only offsets count.",
                "Only offsets count in p · p. What stands between the two codes in a layer's"
                " score?",
                False,
            ),
        ),
        hints=(
            "Two things have to go on behind place 511: the code, and what was learned.",
            "Which of the two does the formula speak of?",
            "Look at the second panel of the experiment.",
        ),
        solution=(
            "**It runs; whether it works has to be measured.** In the experiment sinusoids fell to"
            " chance within a few places, with a formula that is defined everywhere."
        ),
    )


@register("order.rope")
def rope() -> Fill:
    """Say what RoPE turns and what a score then depends on."""
    return Fill(
        title="Fill in: what RoPE turns",
        prompt=(
            "RoPE turns the **(1)** of a head, after the projection, by an angle that grows"
            " with the"
            " place. The **(2)** stay as they are. So the score of a query at place m with a key at"
            " place n depends on their places only through **(3)**, and a text that is moved by ten"
            " places as a whole has **(4)** weights."
        ),
        pairs=(
            ("1", "queries and keys"),
            ("2", "values"),
            ("3", "n − m"),
            ("4", "the same"),
        ),
        plain=("gap 1", "gap 2", "gap 3", "gap 4"),
        decoys=("keys and values", "queries alone", "m + n", "m alone", "other"),
        right=(
            "Right. Turning both by their own angles leaves only the difference of the angles in"
            " their dot product."
        ),
        otherwise=(
            "Where does the place have to show, in what is looked for or in what is handed over?"
        ),
        wrong=(
            Wrong(
                {"1": "keys and values"},
                (
                    "Values are handed over after the weights are known. Must they know their"
                    " place for that?"
                ),
            ),
            Wrong(
                {"1": "queries alone"},
                "Then a score would depend on the query's place alone. What has to turn with it?",
            ),
            Wrong(
                {"2": "keys and values"},
                "Keys that stay: how would a score learn how far away they are?",
            ),
            Wrong(
                {"3": "m + n"},
                "Both are turned the same way round. What is left when two angles are compared?",
            ),
            Wrong(
                {"3": "m alone"},
                "The key is turned as well. What is left when both angles are compared?",
            ),
            Wrong({"4": "other"}, "All places grow by ten. What becomes of their differences?"),
        ),
        hints=(
            "A dot product of two vectors does not change when both are turned by the same angle.",
            "The weights come from queries and keys; what is handed over comes from the values.",
            "Turned by m and by n steps: the angle between them changes by n − m steps.",
        ),
        solution=(
            "Queries and keys are turned, values are not; the score depends on n − m, and"
            " moving the"
            " whole text changes nothing."
        ),
    )


# --- in the notebook -----------------------------------------------------------------------------


def _code(
    n: int,
    d: int,
    offset: int,
    base: float = 1e4,
    swap: bool = False,
    blocks: bool = False,
    power: Callable[[Array, int], Array] = lambda i, d: 2 * i / d,
) -> Array:
    i = np.arange(d // 2)
    angle = np.arange(offset, offset + n)[:, None] / base ** power(i, d)
    pair = [np.cos(angle), np.sin(angle)] if swap else [np.sin(angle), np.cos(angle)]
    if blocks:
        return np.concatenate(pair, axis=-1)
    return np.stack(pair, axis=-1).reshape(n, d)


def _sizes_case(rng: np.random.Generator, d: int, offset: bool = False) -> Case:
    n = int(rng.choice([5, 7, 11]))
    first = int(rng.integers(2, 40)) if offset else 0
    return Case((n, d, first), sinusoidal_positions(n, d, first))


@register("order.sinusoids")
def sinusoids() -> Code:
    """Write the paper's position code."""
    return Code(
        title="Clock hands",
        function="position_code",
        prompt=(
            "Return the paper's position code for n places, the first of which is `offset`: an"
            " array (n, d) with d even, whose columns 2i and 2i + 1 are the sine and the cosine of"
            " t · 10000^(−2i/d)."
        ),
        stub=(
            "def position_code(n, d, offset):\n"
            '    """Return sines and cosines in turn, shape (n, d)."""\n'
            '    raise NotImplementedError("order.sinusoids")\n'
        ),
        rungs=(
            Rung(
                "one pair",
                lambda rng: _sizes_case(rng, 2),
                "One pair, speed 1: column 0 is the sine of 0, 1, 2 and so on. What is yours?",
                (
                    Slip(
                        "cosine first",
                        lambda n, d, o: _code(n, d, o, swap=True),
                        "Your pair begins with the cosine. Which one stands in column 2i?",
                    ),
                    Slip(
                        "counted from 1",
                        lambda n, d, o: _code(n, d, o + 1),
                        "Your first row is the code of place 1. Where do we count from?",
                    ),
                    Slip(
                        "the exponent counts columns",
                        lambda n, d, o: np.where(
                            np.arange(d) % 2,
                            np.cos(np.arange(o, o + n)[:, None] / 1e4 ** (np.arange(d) / d)),
                            np.sin(np.arange(o, o + n)[:, None] / 1e4 ** (np.arange(d) / d)),
                        ),
                        "Your sine and your cosine of one pair turn at two speeds. Is the point"
                        " still on a circle?",
                    ),
                    Slip(
                        "degrees",
                        lambda n, d, o: np.stack(
                            [f(np.radians(np.arange(o, o + n))) for f in (np.sin, np.cos)], axis=-1
                        ),
                        "You took the places for degrees. Which unit does np.sin want?",
                    ),
                ),
            ),
            Rung(
                "several pairs",
                lambda rng: _sizes_case(rng, int(rng.choice([6, 10]))),
                "Column 0 turns fastest. By which factor is each pair slower than the one before?",
                (
                    Slip(
                        "all sines, then all cosines",
                        lambda n, d, o: _code(n, d, o, blocks=True),
                        "All your sines stand in front. In which columns does the paper put them?",
                    ),
                    Slip(
                        "the factor 2 forgotten",
                        lambda n, d, o: _code(n, d, o, power=lambda i, d: i / d),
                        "Your pairs slow down half as fast as they should. Is the exponent i/d or"
                        " 2i/d?",
                    ),
                    Slip(
                        "multiplied, not divided",
                        lambda n, d, o: _code(n, d, o, power=lambda i, d: -2 * i / d),
                        "Your pairs get faster. Does the place get divided or multiplied?",
                    ),
                    Slip(
                        "another base",
                        lambda n, d, o: _code(n, d, o, base=1e3),
                        "Your slow pairs are too fast. What is the base?",
                    ),
                    Slip(
                        "one speed",
                        lambda n, d, o: _code(n, d, o, power=lambda i, d: 0 * i),
                        "All your pairs turn at one speed. After 6 or 7 places, what can tell them"
                        " apart?",
                    ),
                ),
            ),
            Rung(
                "a later start",
                lambda rng: _sizes_case(rng, 6, offset=True),
                "The first row is the code of place `offset`. Which rows did you return?",
                (
                    Slip(
                        "offset ignored",
                        lambda n, d, o: _code(n, d, 0),
                        "You began at place 0. What is `offset` for?",
                    ),
                    Slip(
                        "offset subtracted",
                        lambda n, d, o: _code(n, d, -o),
                        "You moved the start the wrong way. Is a later place larger or smaller?",
                    ),
                ),
            ),
        ),
        hints=(
            "Make a column of places and a row of speeds; their product is a table of angles.",
            "`np.arange(offset, offset + n)[:, None]` and `10000.0 ** (-np.arange(0, d, 2) / d)`.",
            "Fill an empty (n, d) array: `P[:, 0::2]` takes the sines, `P[:, 1::2]` the cosines.",
        ),
        solution=(
            "```python\n"
            "def position_code(n, d, offset):\n"
            "    places = np.arange(offset, offset + n)[:, None]\n"
            "    angles = places * 10000.0 ** (-np.arange(0, d, 2) / d)\n"
            "    P = np.empty((n, d))\n"
            "    P[:, 0::2] = np.sin(angles)\n"
            "    P[:, 1::2] = np.cos(angles)\n"
            "    return P\n"
            "```\n\n"
            "One column, one row, and numpy makes the table."
        ),
    )


def _step_at(angles: Array) -> Array:
    T = np.zeros((2 * len(angles), 2 * len(angles)))
    for i, (c, z) in enumerate(zip(np.cos(angles), np.sin(angles), strict=True)):
        T[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[c, -z], [z, c]]
    return T


def _step(d: int, s: int) -> Array:
    return _step_at(s * 1e4 ** (-np.arange(0, d, 2) / d))


def _step_case(d: int, s: int) -> Case:
    return Case((d, s), _step(d, s))


@register("order.step")
def step() -> Code:
    """Derive the matrix that moves a sinusoid code."""
    return Code(
        title="A step is a matrix",
        function="step_matrix",
        prompt=(
            "Derive the (d, d) matrix T with p[t + s] = p[t] @ T for *every* place t, where p is"
            " the paper's position code (sines in even columns, cosines in odd ones). s may be"
            " negative. Check yourself on numbers before you call `check`:"
            " `qkv.sinusoidal_positions`."
        ),
        stub=(
            "def step_matrix(d, s):\n"
            '    """Return T, shape (d, d), with p[t + s] = p[t] @ T."""\n'
            '    raise NotImplementedError("order.step")\n'
        ),
        rungs=(
            Rung(
                "one pair",
                lambda rng: _step_case(2, int(rng.integers(1, 4))),
                "Multiply (sin t, cos t) by your matrix on paper. Is it (sin(t+s), cos(t+s))?",
                (
                    Slip(
                        "transposed",
                        lambda d, s: _step(d, s).T,
                        "Your matrix goes backwards: p[t] @ T is p[t − s]. On which side does the"
                        " row stand?",
                    ),
                    Slip(
                        "a reflection",
                        lambda d, s: _step(d, s) * np.where(np.arange(d) % 2, 1.0, -1.0),
                        "One of your columns has the wrong sign: the new sine comes out negative."
                        " What is sin(a + b)?",
                    ),
                    Slip(
                        "no minus sign",
                        lambda d, s: np.cos(s) * np.eye(2) + np.sin(s) * np.eye(2)[::-1],
                        "Both sines of your block have the same sign. Is it still a rotation?",
                    ),
                ),
            ),
            Rung(
                "several pairs",
                lambda rng: _step_case(int(rng.choice([6, 10])), int(rng.integers(2, 9))),
                "Each pair has its own speed. Which angle does pair i turn by in s places?",
                (
                    Slip(
                        "one speed",
                        lambda d, s: np.kron(np.eye(d // 2), _step(2, s)),
                        "All your pairs turn at speed 1. What is the speed of pair i?",
                    ),
                    Slip(
                        "the factor 2 forgotten",
                        lambda d, s: _step_at(s * 1e4 ** (-np.arange(d // 2) / d)),
                        "Your pairs slow down half as fast as they should. Is the exponent i/d or"
                        " 2i/d?",
                    ),
                    Slip(
                        "the first pair only",
                        lambda d, s: np.where(np.arange(d)[:, None] < 2, _step(d, s), np.eye(d)),
                        "Only your first pair turns. What do the others do in s places?",
                    ),
                    Slip(
                        "fitted to a few places",
                        lambda d, s: (
                            np.linalg.pinv(sinusoidal_positions(2, d))
                            @ sinusoidal_positions(2, d, s)
                        ),
                        "Your matrix moves the places 0 and 1, and not every place. Is it fitted or"
                        " derived?",
                    ),
                ),
            ),
            Rung(
                "backwards",
                lambda rng: _step_case(6, -int(rng.integers(1, 9))),
                "s is negative now. Does your matrix undo the step of −s?",
                (
                    Slip(
                        "the sign lost",
                        lambda d, s: _step(d, abs(s)),
                        "You went forwards. Where does the sign of s go?",
                    ),
                ),
            ),
        ),
        hints=(
            "sin(a + b) = sin a cos b + cos a sin b, and cos(a + b) = cos a cos b − sin a sin b.",
            "Your row vector stands at the left: column 0 of the 2 × 2 block makes the new sine.",
            "The block is [[cos, −sin], [sin, cos]] of the angle s · 10000^(−2i/d).",
        ),
        solution=(
            "```python\n"
            "def step_matrix(d, s):\n"
            "    T = np.zeros((d, d))\n"
            "    for i in range(d // 2):\n"
            "        angle = s * 10000.0 ** (-2 * i / d)\n"
            "        c, z = np.cos(angle), np.sin(angle)\n"
            "        T[2 * i:2 * i + 2, 2 * i:2 * i + 2] = [[c, -z], [z, c]]\n"
            "    return T\n"
            "```\n\n"
            "The place t does not occur: one matrix for all of them. Its inverse is its transpose."
        ),
    )


def _behind(rng: np.random.Generator, batch: tuple[int, ...] = (), cached: bool = True) -> Case:
    n_new, past = (int(x) for x in rng.permutation([2, 3, 5])[:2])
    past = past if cached else 0
    q, k, v = (numbers(rng, *batch, n, d) / 2 for n, d in
               [(n_new, 4), (past + n_new, 4), (past + n_new, 6)])  # fmt: skip
    return Case((q, k, v), _behind_cache(q, k, v))


def _behind_cache(q: Array, k: Array, v: Array, first: int | None = None) -> Array:
    n_q, n_k = q.shape[-2], k.shape[-2]
    at = n_k - n_q if first is None else first
    mask = causal_mask(n_q, n_k, n_k - n_q)
    return scaled_dot_product_attention(rotary_positions(q, at), rotary_positions(k), v, mask)[0]


@register("order.repair")
def repair() -> Code:
    """Repair RoPE behind a cache."""
    return Code(
        title="Repair this code: RoPE behind a cache",
        function="rope_step",
        prompt=(
            "A decoder keeps its keys (not yet turned) and values. `q` (…, n_new, d_k) are the"
            " queries of the newest tokens, `k` and `v` (…, n, ·) those of *all* tokens, the newest"
            " last. Return the outputs of the new rows, causally. This program runs, and has three"
            " bugs. Repair it. Remove the `raise` when you begin."
        ),
        stub=(
            "def rope_step(q, k, v):\n"
            '    """Return causal RoPE attention of the newest queries."""\n'
            '    raise NotImplementedError("order.repair")\n'
            "    n_new, n = q.shape[-2], k.shape[-2]\n"
            "    q, k, v = (qkv.rotary_positions(x) for x in (q, k, v))\n"
            "    mask = qkv.causal_mask(n_new, n)\n"
            "    return qkv.scaled_dot_product_attention(q, k, v, mask)[0]\n"
        ),
        rungs=(
            Rung(
                "no cache yet",
                lambda rng: _behind(rng, cached=False),
                "All tokens are new here, so queries and keys both begin at place 0. What else does"
                " the program turn?",
                (
                    Slip(
                        "all at the last place",
                        lambda q, k, v: _behind_cache(q, k, v, first=k.shape[-2] - 1),
                        "Your first query stands where the last one should. Is the offset n − 1 or"
                        " n − n_new?",
                    ),
                    Slip(
                        "values turned",
                        lambda q, k, v: _behind_cache(q, k, rotary_positions(v)),
                        "You turn the values too. What would a turned value carry into the output?",
                    ),
                    Slip(
                        "nothing turned",
                        lambda q, k, v: scaled_dot_product_attention(
                            q, k, v, causal_mask(q.shape[-2], k.shape[-2])
                        )[0],
                        "You turn nothing. Where does the order come from?",
                    ),
                    Slip(
                        "queries only",
                        lambda q, k, v: scaled_dot_product_attention(
                            rotary_positions(q), k, v, causal_mask(q.shape[-2], k.shape[-2])
                        )[0],
                        "You turn the queries and not the keys. Does the score then depend on the"
                        " offset alone?",
                    ),
                    Slip(
                        "no mask",
                        lambda q, k, v: scaled_dot_product_attention(
                            rotary_positions(q), rotary_positions(k), v
                        )[0],
                        "Your rows see later tokens. Which argument is missing?",
                    ),
                ),
            ),
            Rung(
                "behind a cache",
                _behind,
                "The newest queries stand behind the cached keys. Which place has the first?",
                (
                    Slip(
                        "queries begin at place 0",
                        lambda q, k, v: _behind_cache(q, k, v, first=0),
                        "Your queries are turned as if they stood at place 0. How many tokens stand"
                        " before them?",
                    ),
                    Slip(
                        "the triangle at the upper left",
                        lambda q, k, v: scaled_dot_product_attention(
                            rotary_positions(q, k.shape[-2] - q.shape[-2]),
                            rotary_positions(k),
                            v,
                            causal_mask(q.shape[-2], k.shape[-2]),
                        )[0],
                        "Your places are right, and your mask begins at the upper left corner. What"
                        " may the first new query see?",
                    ),
                ),
            ),
            Rung(
                "a batch in front",
                lambda rng: _behind(rng, (7,)),
                "There is a third axis now. Do you count your axes from the back?",
                crash="There is a third axis now. Which line counts axes from the front?",
            ),
        ),
        hints=(
            "RoPE turns two of the three arrays.",
            "`qkv.rotary_positions` and `qkv.causal_mask` both take an `offset`.",
            "The first new query stands at place n − n_new: that is the offset of both.",
        ),
        solution=(
            "```python\n"
            "import qkv\n\n"
            "def rope_step(q, k, v):\n"
            "    n_new, n = q.shape[-2], k.shape[-2]\n"
            "    q = qkv.rotary_positions(q, offset=n - n_new)\n"
            "    k = qkv.rotary_positions(k)\n"
            "    mask = qkv.causal_mask(n_new, n, offset=n - n_new)\n"
            "    return qkv.scaled_dot_product_attention(q, k, v, mask)[0]\n"
            "```\n\n"
            "Values stay, and both the places and the triangle begin behind the cache."
        ),
    )


def _plain(rng: np.random.Generator) -> Layer:
    W_Q, W_K, W_V = (0.7 * rng.normal(size=(3, d)) for d in (4, 4, 2))
    return lambda X: scaled_dot_product_attention(X @ W_Q, X @ W_K, X @ W_V)[0]


def _coded(rng: np.random.Generator, size: float = 1.0) -> Layer:
    inner = _plain(rng)
    return lambda X: inner(X + size * sinusoidal_positions(len(X), 4)[:, :3])


def _causal(rng: np.random.Generator) -> Layer:
    W_Q, W_K, W_V = (0.7 * rng.normal(size=(3, d)) for d in (4, 4, 2))
    return lambda X: scaled_dot_product_attention(
        X @ W_Q, X @ W_K, X @ W_V, causal_mask(len(X))
    )[0]  # fmt: skip


def _ends(rng: np.random.Generator) -> Layer:
    """Only the last place is special: it gets a number added."""
    inner = _plain(rng)

    def layer(X: Array) -> Array:
        output = inner(X)
        output[-1] = output[-1] + 1.0
        return output

    return layer


def _layer_case(
    make: Callable[[np.random.Generator], Layer], sees: float
) -> Callable[[np.random.Generator], Case]:
    def draw(rng: np.random.Generator) -> Case:
        return Case((make(rng), numbers(rng, int(rng.choice([5, 7])), 3) / 2), sees)

    return draw


def _moves(layer: Layer, X: Array, order: Array, along: bool = True) -> float:
    """Return how far the output of shuffled rows is from the shuffled output (or the output)."""
    before = layer(X.copy())
    return float(np.abs(layer(X[order]) - (before[order] if along else before)).max())


@register("order.sees_order")
def sees_order() -> Code:
    """Write the test that tells whether a layer sees order."""
    return Code(
        title="Write the test that exposes it",
        function="sees_order",
        prompt=(
            "`layer(X)` is somebody's layer: X has shape (n, 3), the output (n, 2), one row a"
            " token. Return 1 if it sees the order of its rows, and 0 if it does not (if a shuffled"
            " input gives the shuffled output, for any shuffle). Five layers wait on the ladder."
        ),
        stub=(
            "def sees_order(layer, X):\n"
            '    """Return 1 if shuffling the rows does more than shuffle the output, else 0."""\n'
            '    raise NotImplementedError("order.sees_order")\n'
        ),
        rungs=(
            Rung(
                "plain attention",
                _layer_case(_plain, 0.0),
                "Plain attention does not see order, and you accused it. What do you compare the"
                " output of the shuffled rows with?",
                (
                    Slip(
                        "invariance for equivariance",
                        lambda f, X: float(_moves(f, X, np.arange(len(X))[::-1], False) > 1e-9),
                        "You accused plain attention. Do you ask whether the output *stays*, though"
                        " another word stands there, or is your limit below rounding?",
                    ),
                ),
                crash="Your test stopped. What does `layer` take, and what does it return?",
            ),
            Rung(
                "a position code",
                _layer_case(_coded, 1.0),
                "This layer adds a position code, so the answer is 1. Do you shuffle the rows, and"
                " do you return 0 or 1?",
                (
                    Slip(
                        "never sees",
                        lambda f, X: 0.0,
                        "You call every layer blind. Does your shuffle change anything?",
                    ),
                ),
            ),
            Rung(
                "a causal mask",
                _layer_case(_causal, 1.0),
                "This layer has no position code, and a causal mask. Is it blind to order?",
            ),
            Rung(
                "a special last place",
                _layer_case(_ends, 1.0),
                "Only the last place is special in this layer. Does your shuffle move it?",
                (
                    Slip(
                        "the first two swapped",
                        lambda f, X: float(
                            _moves(f, X, np.array([1, 0, *range(2, len(X))])) > 1e-9
                        ),
                        "You swapped the first two rows and no others. What about the end?",
                    ),
                ),
            ),
            Rung(
                "a faint code",
                _layer_case(lambda rng: _coded(rng, 1e-4), 1.0),
                "This layer's position code is ten thousand times smaller. From which size on is a"
                " difference more than rounding?",
                (
                    Slip(
                        "small differences ignored",
                        lambda f, X: float(_moves(f, X, np.arange(len(X))[::-1]) > 1e-2),
                        "You let small differences pass. How large is rounding in float64?",
                    ),
                ),
            ),
        ),
        hints=(
            "Choose an order that moves every row, for instance the reversed one.",
            "Compare `layer(X[order])` with `layer(X)[order]`.",
            "Rounding is below 1e-9 here.",
        ),
        solution=(
            "```python\n"
            "def sees_order(layer, X):\n"
            "    order = np.roll(np.arange(len(X)), 1)\n"
            "    difference = np.abs(layer(X[order]) - layer(X)[order]).max()\n"
            "    return float(difference > 1e-9)\n"
            "```\n\n"
            "One shuffle that moves every row finds all of these layers. To be certain of *every*"
            " order, try all swaps of neighbours: they generate all shuffles."
        ),
    )
