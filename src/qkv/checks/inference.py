"""The exercises of chapter 19: a step with a cache, what may be kept, and what it weighs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from qkv.checks.engine import register
from qkv.checks.exercise import Case, Choice, Code, Number, Option, Row, Rung, Slip, Wrong
from qkv.checks.ladder import numbers, sizes
from qkv.core.cache import cached_attention
from qkv.core.counts import cache_bytes
from qkv.core.grouped_heads import grouped_attention
from qkv.core.layer_norm import LayerNormParameters, layer_norm
from qkv.core.masks import causal_mask, window_mask
from qkv.core.scaled_dot_product import scaled_dot_product_attention
from qkv.data import running_example

# --- in the page ---------------------------------------------------------------------------------


@register("inference.rows")
def rows() -> Row:
    """Predict what three new rows behind a cache need and leave behind."""
    n_old, n_new, h, d_k, d_v = 11, 3, 5, 10, 6
    rng = np.random.default_rng(0)
    q, k = rng.normal(size=(h, n_new, d_k)), rng.normal(size=(h, n_old + n_new, d_k))
    v = rng.normal(size=(h, n_old + n_new, d_v))
    _, _, cache = cached_attention(k[:, :n_old], k[:, :n_old], v[:, :n_old])
    _, weights, longer = cached_attention(q, k[:, n_old:], v[:, n_old:], cache)
    allowed = causal_mask(n_new, longer.n, offset=n_old)
    added = longer.k.size + longer.v.size - cache.k.size - cache.v.size
    answer = (*weights.shape[1:], int(allowed.sum()), added)

    def wrong(question: str, **places: int) -> Wrong:
        values = dict(zip(("q", "k", "seen", "added"), map(float, answer), strict=True))
        return Wrong(tuple({**values, **places}.values()), question)

    return Row(
        title="Predict: three rows behind a cache",
        prompt=(
            f"A layer has {h} heads with $d_k$ = {d_k} and $d_v$ = {d_v}. Its cache holds"
            f" {n_old} tokens, and the next {n_new} go in together. Before you run anything: how"
            " many rows has Q (of one head), how many rows has the K that is looked at (of one"
            " head), how many entries of the mask are True, and how many numbers does the cache"
            " gain, all heads together?"
        ),
        labels=("rows of Q", "rows of K", "True in the mask", "numbers gained"),
        answer=tuple(map(float, answer)),
        right=(
            "Right. Only new rows ask and only new rows are added; what is looked at is everything"
            " up to the row itself."
        ),
        otherwise="Which tokens ask in this step, and which are looked at?",
        wrong=(
            wrong(
                "You ask for the old tokens too. Have their rows not been finished before?",
                q=n_old + n_new,
            ),
            wrong("You look at the new keys only. Who knows the old tokens then?", k=n_new),
            wrong("You look at the old keys only. May a token look at itself?", k=n_old),
            wrong(
                "In your mask all is True. May the first of the new tokens look at the third?",
                seen=n_new * (n_old + n_new),
            ),
            wrong(
                "Your mask begins at place 0. At which place stands the first new token?",
                seen=int(causal_mask(n_new, n_old + n_new).sum()),
            ),
            wrong(
                "That is what one head gains. How many heads have keys and values?",
                added=n_new * (d_k + d_v),
            ),
            wrong(
                "That is the whole cache afterwards. How many of its rows were there before?",
                added=(n_old + n_new) * h * (d_k + d_v),
            ),
            wrong("You counted keys. What else is kept?", added=n_new * h * d_k),
        ),
        hints=(
            "Feed rows in, and each of them asks once. Keys and values are those of all tokens so"
            " far.",
            f"The new tokens stand at the places {n_old}, {n_old + 1} and {n_old + 2}, and each"
            " sees its own place and all before.",
            "For each new token and each head a key and a value are added.",
        ),
        solution=(
            f"Q has {answer[0]} rows, K has {n_old} + {n_new} = {answer[1]}. The mask has"
            f" {n_old + 1} + {n_old + 2} + {n_old + 3} = {answer[2]} True entries. The cache gains"
            f" {n_new} · {h} · ({d_k} + {d_v}) = {answer[3]} numbers."
        ),
    )


def _second_keys(X: np.ndarray, mask: np.ndarray, before: Callable, after: Callable) -> np.ndarray:
    """Return the keys of layer 2 in a decoder of one head a layer."""
    ex = running_example()
    W_Q, W_K, W_V, W_O = ex.W_Q[0], ex.W_K[0], ex.W_V[0], ex.W_O[:2]
    x = before(X)
    X = after(X + scaled_dot_product_attention(x @ W_Q, x @ W_K, x @ W_V, mask)[0] @ W_O)
    return before(X) @ ex.W_K[1]


@register("inference.breaks")
def breaks() -> Choice:
    """Find the decoder whose old keys do not last."""
    X, one = running_example().X_target, LayerNormParameters(np.ones(8), np.zeros(8))

    def norm(x: np.ndarray) -> np.ndarray:
        return layer_norm(x, one)

    def same(x: np.ndarray) -> np.ndarray:
        return x

    def less_the_mean(x: np.ndarray) -> np.ndarray:
        return x - np.cumsum(x, axis=0) / np.arange(1, len(x) + 1)[:, None]

    def one_more(n: int) -> np.ndarray:
        return causal_mask(n, n, offset=1)

    def moves(mask: Callable, before: Callable, after: Callable) -> bool:
        few = _second_keys(X[:5], mask(5), before, after)
        return not np.allclose(few, _second_keys(X, mask(7), before, after)[:5])

    return Choice(
        title="Whose old keys do not last?",
        prompt=(
            "Four decoders of two layers. In which of them must keys of *earlier* words be made"
            " again when a word is written?"
        ),
        options=(
            Option(
                "Each word looks at itself and at the three words before it.",
                "A window hides more. Can hiding an old word let a new one in?",
                moves(lambda n: causal_mask(n) & window_mask(n, reach=3), same, norm),
            ),
            Option(
                "LayerNorm stands before each layer, and not behind it.",
                "It works on one row at a time there too. Which other row could come in?",
                moves(causal_mask, norm, same),
            ),
            Option(
                "Each word also looks at the one word right after it.",
                "Right. Row t of layer 1 changes when word t + 1 comes, and with it the key of"
                " layer 2. In a deeper model the damage reaches one row further back each layer.",
                moves(one_more, same, norm),
            ),
            Option(
                "From each row the mean of all rows *up to it* is taken away, before each layer.",
                "It mixes rows, but which? Does row t read any row after t?",
                moves(causal_mask, less_the_mean, same),
            ),
        ),
        hints=(
            "For each decoder ask of row t above layer 1: which rows of X is it made from?",
            "Mixing rows is allowed. Mixing in *later* rows is not.",
            "One of the four has a mask with more True entries than the causal one.",
        ),
        solution=(
            "**The one that looks one word ahead.** Computed for five words alone and with two more"
            " behind them, its second layer's keys move; those of the other three do not."
        ),
    )


@register("inference.threshold")
def threshold() -> Number:
    """Derive how many sets make K and V as large as X."""
    d_model, h, d = 3072, 16, 256
    answer = next(n for n in range(1, h + 1) if n * (d + d) == d_model)
    return Number(
        title="As large as X",
        prompt=(
            f"A layer has $d_{{\\text{{model}}}}$ = {d_model:,}, {h} heads, and $d_k$ = $d_v$ ="
            f" {d}. Its heads share $h_{{kv}}$ sets of keys and values. Derive, for any sizes, the"
            " $h_{kv}$ at which keeping K and V takes exactly as many bytes as keeping X. Which"
            " number is it here? (It need not divide the heads: it is where the scales tip.)"
        ),
        label="Sets",
        answer=float(answer),
        right=(
            "Right: the width of X over the width of a key and a value. With more sets X is"
            " smaller, with fewer sets K and V are."
        ),
        otherwise="How many numbers does a token leave behind in each case? Set them equal.",
        wrong=(
            Wrong(
                float(h),
                "With a set for each head K and V are the larger. How much does one set take?",
            ),
            Wrong(
                h / 2,
                "Half the heads is right where all heads together are as wide as X. Are they here?",
            ),
            Wrong(
                d_model / d,
                "You counted keys or values, not both. What does a token leave behind?",
            ),
            Wrong(d_model / (4 * d), "You halved once too often. Is X kept twice?"),
            Wrong(1.0, "With one set K and V are far smaller than X. How many fit into X's width?"),
            Wrong(
                float(2 * d),
                "That is the width of a key and a value. How often does it go into X's width?",
            ),
        ),
        hints=(
            "Write down the numbers that one token leaves in one layer, kept as X and kept as K"
            " and V.",
            "X: the width of the model. K and V: sets times the width of a key and a value.",
            "Set both equal and solve for the number of sets. The bytes of a number cancel.",
        ),
        solution=(
            "$d_{\\text{model}} = h_{kv}\\,(d_k + d_v)$, so $h_{kv} ="
            f" d_{{\\text{{model}}}} / (d_k + d_v)$ = {d_model:,} / {2 * d} = {answer}. With the"
            " usual $d_k = d_v = d_{\\text{model}}/h$ it is half the number of heads; these heads"
            " are wider. (That is the memory. The multiplications are another matter.)"
        ),
    )


@register("inference.bytes")
def memory() -> Number:
    """Compute the cache of a model for a batch of sentences."""
    layers, h, sets, d, sentences, n = 24, 20, 5, 96, 6, 3000
    mib = 2.0**20
    answer = sentences * layers * cache_bytes(n, sets, d, d) / mib
    return Number(
        title="How large is the cache?",
        prompt=(
            f"A model has {layers} layers, {h} heads, {sets} sets of keys and values, and"
            f" $d_k$ = $d_v$ = {d}. It writes {sentences} sentences at once, each {n:,} tokens"
            " long, with two bytes for each number. How many MiB ($2^{20}$ bytes) does its cache"
            " take at the end?"
        ),
        label="MiB",
        answer=answer,
        tolerance=0.5,
        right="Right. And all of it is read once for every further token.",
        otherwise=(
            "Multiply: sentences, tokens, layers, sets, the numbers of a key and a value, bytes."
            " Which factor differs?"
        ),
        wrong=(
            Wrong(answer / 2, "Half of it is missing. Keys, values, or a byte of each number?"),
            Wrong(answer / layers, "That is one layer. Does each layer have a cache of its own?"),
            Wrong(answer / sentences, "That is one sentence. How many are written at once?"),
            Wrong(answer * h / sets, "You gave each head its own keys. How many sets are there?"),
            Wrong(answer * 2, "Twice as much. How many bytes has a number here?"),
            Wrong(answer * mib / 1e6, "These are millions of bytes. How many has a MiB?"),
            Wrong(answer / sets, "That is one set. How many are kept?"),
        ),
        hints=(
            "Begin with one token, one layer, one set: a key and a value.",
            "Then times the sets, the layers, the tokens and the sentences. The heads that ask"
            " leave nothing behind.",
            "Two bytes for each number; divide by 1,048,576.",
        ),
        solution=(
            f"{sentences} · {n:,} · {layers} · {sets} · ({d} + {d}) · 2 bytes ="
            f" {answer * mib:,.0f} bytes = {answer:,.1f} MiB."
        ),
    )


# --- in the notebook -----------------------------------------------------------------------------

Step = tuple[np.ndarray, np.ndarray, np.ndarray]


def _attend(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray | None = None
) -> np.ndarray:
    return scaled_dot_product_attention(q, k, v, mask)[0]


def _behind(n_new: int, n_all: int) -> np.ndarray:
    return causal_mask(n_new, n_all, offset=n_all - n_new)


def _step(
    x: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    W_Q: np.ndarray,
    W_K: np.ndarray,
    W_V: np.ndarray,
    *,
    mask: Callable[[int, int], np.ndarray | None] = _behind,
    times: float = 1.0,
    in_front: bool = False,
) -> Step:
    """Make a step; the options are its slips."""
    parts_k, parts_v = [k, x @ W_K], [v, x @ W_V]
    if in_front:
        parts_k, parts_v = parts_k[::-1], parts_v[::-1]
    k, v = np.concatenate(parts_k), np.concatenate(parts_v)
    return _attend(times * (x @ W_Q), k, v, mask(len(x), len(k))), k, v


def _forgets(x, k, v, W_Q, W_K, W_V):  # type: ignore[no-untyped-def]
    return _step(x, k[:0], v[:0], W_Q, W_K, W_V)


def _never_kept(x, k, v, W_Q, W_K, W_V):  # type: ignore[no-untyped-def]
    return _step(x, k, v, W_Q, W_K, W_V)[0], k, v


def _queries_kept(x, k, v, W_Q, W_K, W_V):  # type: ignore[no-untyped-def]
    out, _, v_all = _step(x, k, v, W_Q, W_K, W_V)
    return out, np.concatenate([k, x @ W_Q]), v_all


def _old_alone(x, k, v, W_Q, W_K, W_V):  # type: ignore[no-untyped-def]
    out, k_all, v_all = _step(x, k, v, W_Q, W_K, W_V)
    return out, k_all[len(k) :], v_all[len(v) :]


def _step_case(rng: np.random.Generator, n_old: int, n_new: int) -> Case:
    d_model, d_k, d_v = sizes(rng, 3)
    args = (
        numbers(rng, n_new, d_model) / 2,
        numbers(rng, n_old, d_k) / 2,
        numbers(rng, n_old, d_v),
        numbers(rng, d_model, d_k) / 2,
        numbers(rng, d_model, d_k) / 2,
        numbers(rng, d_model, d_v) / 2,
    )
    return Case(args, _step(*args))


@register("inference.step")
def step() -> Code:
    """Write one step behind a cache."""
    return Code(
        title="One step behind a cache",
        function="step",
        prompt=(
            "Write a step of one head. `x` (n_new, d_model) are the rows of the new tokens, mostly"
            " one, for a prompt several. `k` (n_old, d_k) and `v` (n_old, d_v) are the keys and"
            " values kept so far; at the beginning they have no rows. Return three arrays: the"
            " output of the new rows, and `k` and `v` for the next step. A row may look at all"
            " before it and at itself."
        ),
        stub=(
            "def step(x, k, v, W_Q, W_K, W_V):\n"
            '    """Return the new rows\' output, and the longer k and v."""\n'
            '    raise NotImplementedError("inference.step")\n'
        ),
        returns=("output", "k", "v"),
        rungs=(
            Rung(
                "the first token",
                lambda rng: _step_case(rng, 0, 1),
                "Nothing is kept yet. At what can the only token look, and what is kept after it?",
                (
                    Slip(
                        "queries kept",
                        _queries_kept,
                        "You kept the query where the key should be. Who will read it?",
                    ),
                    Slip(
                        "nothing kept",
                        _never_kept,
                        "You return the cache as it came. What will the next token look at?",
                    ),
                ),
                crash=(
                    "With no rows kept yet your code stopped. May the new token look at itself?"
                ),
            ),
            Rung(
                "one more token",
                lambda rng: _step_case(rng, 5, 1),
                "Five tokens are kept. At how many does the new one look?",
                (
                    Slip(
                        "forgets",
                        _forgets,
                        "Your step forgets what was kept. Where are the old rows?",
                    ),
                    Slip(
                        "in front",
                        lambda *args: _step(*args, in_front=True, mask=lambda n, m: None),
                        "The output is right, but your new rows stand before the old ones. Which"
                        " place has the newest token?",
                    ),
                    Slip(
                        "not scaled",
                        lambda x, k, *W: _step(x, k, *W, times=float(np.sqrt(k.shape[1]))),
                        "Your scores are the bare dot products. What are they divided by?",
                    ),
                    Slip(
                        "divided by d_k",
                        lambda x, k, *W: _step(x, k, *W, times=float(k.shape[1] ** -0.5)),
                        "You divided by d_k. By which power of it should you?",
                    ),
                    Slip(
                        "the mask begins at 0",
                        lambda *args: _step(*args, mask=causal_mask),
                        "Your new token sees the first key and no other. At which place does it"
                        " stand?",
                    ),
                    Slip(
                        "only the new rows returned",
                        _old_alone,
                        "You return the new rows of k and v alone. Where are the old ones for the"
                        " next step?",
                    ),
                ),
            ),
            Rung(
                "three at once",
                lambda rng: _step_case(rng, 4, 3),
                "Three rows come at once. At which keys may the first of them look?",
                (
                    Slip(
                        "no mask",
                        lambda *args: _step(*args, mask=lambda n, m: None),
                        "Your first new row looks at the two after it. Which entries must be"
                        " hidden?",
                    ),
                    Slip(
                        "one too many",
                        lambda *args: _step(
                            *args, mask=lambda n, m: causal_mask(n, m, offset=m - n + 1)
                        ),
                        "Your rows see one key too many. By how much is the triangle shifted?",
                    ),
                ),
            ),
        ),
        hints=(
            "Make the new keys and values from `x` first, and put them behind the old ones.",
            "The output needs the queries of `x` only; they look at the longer `k` and `v`.",
            "With several new rows: row i may see n_old + i + 1 keys. `np.tri(n_new, n_all,"
            " k=n_old)` has these ones.",
        ),
        solution=(
            "```python\n"
            "def step(x, k, v, W_Q, W_K, W_V):\n"
            "    n_old = len(k)\n"
            "    k, v = np.concatenate([k, x @ W_K]), np.concatenate([v, x @ W_V])\n"
            "    scores = x @ W_Q @ k.T / np.sqrt(k.shape[1])\n"
            "    scores = np.where(np.tri(len(x), len(k), k=n_old) > 0, scores, -np.inf)\n"
            "    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))\n"
            "    return powers / powers.sum(axis=-1, keepdims=True) @ v, k, v\n"
            "```\n\n"
            "The cache is handed in and handed back: nothing is stored out of sight."
        ),
    )


def _continue(
    e: np.ndarray,
    codes: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    W_Q: np.ndarray,
    W_K: np.ndarray,
    W_V: np.ndarray,
    *,
    first: Callable[[int, int], int] = lambda n_old, n_new: n_old,
    mask: Callable[[int, int], np.ndarray | None] = _behind,
) -> np.ndarray:
    """Go on with a text; the options are the slips."""
    place = first(len(k), len(e))
    return _step(e + codes[place : place + len(e)], k, v, W_Q, W_K, W_V, mask=mask)[0]


def _continued(**options: Any) -> Callable[..., np.ndarray]:
    return lambda *args: _continue(*args, **options)


def _zero(n_old: int, n_new: int) -> int:
    return 0


def _continue_case(rng: np.random.Generator, n_old: int, n_new: int) -> Case:
    d_model, d_k, d_v = sizes(rng, 3)
    args = (
        numbers(rng, n_new, d_model) / 2,
        numbers(rng, 17, d_model) / 2,
        numbers(rng, n_old, d_k) / 2,
        numbers(rng, n_old, d_v),
        numbers(rng, d_model, d_k) / 2,
        numbers(rng, d_model, d_k) / 2,
        numbers(rng, d_model, d_v) / 2,
    )
    return Case(args, _continue(*args))


@register("inference.repair")
def repair() -> Code:
    """Repair code that is right as long as the cache is empty."""
    return Code(
        title="Repair this code",
        function="continue_text",
        prompt=(
            "`e` (n_new, d_model) are embeddings of new tokens without position; `codes` has one"
            " row for each place, from 0 on. `k` and `v` hold n_old tokens before them. The code"
            " adds the codes, makes keys and values, and attends. With an empty cache it is right;"
            " behind a cache it is wrong in two places. Repair it. Remove the `raise` when you"
            " begin."
        ),
        stub=(
            "def continue_text(e, codes, k, v, W_Q, W_K, W_V):\n"
            '    """Return the output of the new tokens behind n_old kept ones."""\n'
            '    raise NotImplementedError("inference.repair")\n'
            "    n_old, n_new = len(k), len(e)\n"
            "    x = e + codes[:n_new]\n"
            "    k, v = np.concatenate([k, x @ W_K]), np.concatenate([v, x @ W_V])\n"
            "    scores = x @ W_Q @ k.T / np.sqrt(k.shape[1])\n"
            "    scores = np.where(np.tri(n_new, n_old + n_new) > 0, scores, -np.inf)\n"
            "    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))\n"
            "    return powers / powers.sum(axis=-1, keepdims=True) @ v\n"
        ),
        rungs=(
            Rung(
                "an empty cache",
                lambda rng: _continue_case(rng, 0, 5),
                "With an empty cache the code was right. What have you changed besides?",
                (
                    Slip(
                        "no mask",
                        _continued(mask=lambda n, m: None),
                        "You took the mask away. Which later token does the first one see now?",
                    ),
                    Slip(
                        "places from 1",
                        _continued(first=lambda n_old, n_new: n_old + 1),
                        "Your first token of all stands at place 1. Which row of `codes` is its?",
                    ),
                    Slip(
                        "no codes",
                        lambda e, codes, *more: _continue(e, 0 * codes, *more),
                        "You left the codes out. How does a row know its place?",
                    ),
                ),
                crash=(
                    "With an empty cache your code stopped. Which rows of `codes` did you take,"
                    " and which shape has your mask?"
                ),
            ),
            Rung(
                "two tokens behind four",
                lambda rng: _continue_case(rng, 4, 2),
                "Four tokens are kept. At which places stand the new ones, and what may they see?",
                (
                    Slip(
                        "as printed",
                        _continued(first=_zero, mask=causal_mask),
                        "Two things in your code take the new tokens for the first of all. Which"
                        " lines do not use `n_old`?",
                    ),
                    Slip(
                        "all see all",
                        lambda *args: _continue(
                            *args, mask=_behind if len(args[2]) == 0 else lambda n, m: None
                        ),
                        "Behind a cache your tokens see each other both ways. Which entries must"
                        " stay hidden?",
                    ),
                    Slip(
                        "one place for all",
                        lambda e, codes, k, v, *W: _step(
                            e + (codes[: len(e)] if len(k) == 0 else codes[len(k)]), k, v, *W
                        )[0],
                        "All your new tokens carry the code of one place. Which rows of `codes` do"
                        " three tokens need?",
                    ),
                    Slip(
                        "the place alone is wrong",
                        _continued(first=_zero),
                        "Your tokens look at the right keys, but they carry the codes of the places"
                        " 0 and 1. Where do they stand?",
                    ),
                    Slip(
                        "the mask alone is wrong",
                        _continued(mask=causal_mask),
                        "Your tokens carry the right codes, but they see the first keys and no"
                        " others. Where does the triangle begin?",
                    ),
                ),
            ),
            Rung(
                "three tokens behind five",
                lambda rng: _continue_case(rng, 5, 3),
                "Five tokens are kept now, and three come. What was right for two behind four?",
                (
                    Slip(
                        "four typed in",
                        lambda e, codes, k, v, *W: _continue(
                            e,
                            codes,
                            k,
                            v,
                            *W,
                            first=lambda n_old, n_new: min(n_old, 4),
                            mask=lambda n, m: causal_mask(n, m, offset=min(m - n, 4)),
                        ),
                        "A 4 stands in your code. How many tokens are kept now?",
                    ),
                ),
            ),
        ),
        hints=(
            "With an empty cache n_old is 0. Which lines would have to use n_old, and do not?",
            "The new tokens stand at the places n_old, n_old + 1, and so on.",
            "`np.tri(rows, columns, k=n_old)` shifts the triangle by n_old columns to the right.",
        ),
        solution=(
            "```python\n"
            "def continue_text(e, codes, k, v, W_Q, W_K, W_V):\n"
            "    n_old, n_new = len(k), len(e)\n"
            "    x = e + codes[n_old : n_old + n_new]\n"
            "    k, v = np.concatenate([k, x @ W_K]), np.concatenate([v, x @ W_V])\n"
            "    scores = x @ W_Q @ k.T / np.sqrt(k.shape[1])\n"
            "    scores = np.where(np.tri(n_new, n_old + n_new, k=n_old) > 0, scores, -np.inf)\n"
            "    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))\n"
            "    return powers / powers.sum(axis=-1, keepdims=True) @ v\n"
            "```\n\n"
            "Place and mask are the two things that a new row must be told about the old ones."
        ),
    )


def _by_sets(q: np.ndarray, k: np.ndarray, v: np.ndarray, of_k: Any, of_v: Any) -> np.ndarray:
    """Attend with the sets given to the heads by two lists of numbers."""
    return _attend(q, k[np.asarray(of_k)], v[np.asarray(of_v)])


def _orders(q: np.ndarray, k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    heads = np.arange(len(q))
    return heads // (len(q) // len(k)), heads % len(k)


def _tiled(keys: bool, values: bool) -> Callable[..., np.ndarray]:
    def compute(q, k, v):  # type: ignore[no-untyped-def]
        right, tiled = _orders(q, k)
        return _by_sets(q, k, v, tiled if keys else right, tiled if values else right)

    return compute


def _one_set(which: int) -> Callable[..., np.ndarray]:
    return lambda q, k, v: _by_sets(q, k, v, *(2 * [[which] * len(q)]))


def _groups_case(rng: np.random.Generator, n_heads: int, n_sets: int) -> Case:
    n_q, n_k, d_k, d_v = (int(n) for n in rng.choice((3, 5, 7, 11), size=4, replace=False))
    q, k = numbers(rng, n_heads, n_q, d_k) / 2, numbers(rng, n_sets, n_k, d_k) / 2
    v = numbers(rng, n_sets, n_k, d_v)
    return Case((q, k, v), grouped_attention(q, k, v)[0])


@register("inference.groups")
def groups() -> Code:
    """Write attention in which groups of heads share keys and values."""
    return Code(
        title="Heads that share",
        function="shared_heads",
        prompt=(
            "`q` (n_heads, n_q, d_k) are the queries of all heads, `k` (n_sets, n_k, d_k) and `v`"
            " (n_sets, n_k, d_v) the shared sets; n_sets divides n_heads. Neighbouring heads share"
            " a set, as in published models. Return the outputs, (n_heads, n_q, d_v). No mask."
        ),
        stub=(
            "def shared_heads(q, k, v):\n"
            '    """Return each head\'s output; neighbouring heads share keys and values."""\n'
            '    raise NotImplementedError("inference.groups")\n'
        ),
        rungs=(
            Rung(
                "a set for each head",
                lambda rng: _groups_case(rng, 3, 3),
                "Here each head has its own set. Which head differs from attention with its own?",
                (
                    Slip(
                        "the first set for all",
                        _one_set(0),
                        "All your heads use the first set. Which is the second head's?",
                    ),
                    Slip(
                        "sets turned round",
                        lambda q, k, v: _attend(q, k[::-1], v[::-1]),
                        "Your first head uses the last set. In which order are the sets given out?",
                    ),
                    Slip(
                        "the mean of the sets",
                        lambda q, k, v: _attend(
                            q,
                            np.repeat(k.mean(0, keepdims=True), len(q), 0),
                            np.repeat(v.mean(0, keepdims=True), len(q), 0),
                        ),
                        "You mixed the sets into one. Does a head read more than one set?",
                    ),
                    Slip(
                        "one question for all",
                        lambda q, k, v: _attend(np.repeat(q[:1], len(q), axis=0), k, v),
                        "All your heads ask the first head's question. What is shared, and what is"
                        " not?",
                    ),
                    Slip(
                        "the mean question",
                        lambda q, k, v: _attend(
                            np.repeat(q.mean(0, keepdims=True), len(q), axis=0), k, v
                        ),
                        "You took the mean of the queries. Are the queries shared too?",
                    ),
                    Slip(
                        "not scaled",
                        lambda q, k, v: _attend(q * np.sqrt(q.shape[-1]), k, v),
                        "Your scores are the bare dot products. What are they divided by?",
                    ),
                    Slip(
                        "scaled by the number of heads",
                        lambda q, k, v: _attend(q * np.sqrt(q.shape[-1] / len(q)), k, v),
                        "You divided by the root of the number of heads. How many terms has a dot"
                        " product of a query and a key?",
                    ),
                ),
            ),
            Rung(
                "one set for all",
                lambda rng: _groups_case(rng, 4, 1),
                "Four heads ask one set. Does each keep its own question?",
                crash="The numbers of heads and sets differ here. How often is each set used?",
            ),
            Rung(
                "two groups of three",
                lambda rng: _groups_case(rng, 6, 2),
                "Six heads, two sets. Which heads share the first?",
                (
                    Slip(
                        "dealt out in turn",
                        _tiled(True, True),
                        "You dealt the sets out in turn: 0, 1, 0, 1, 0, 1. Which heads are"
                        " neighbours?",
                    ),
                    Slip(
                        "keys dealt out in turn",
                        _tiled(True, False),
                        "Your values are handed out in groups, and your keys in turn. Do a key and"
                        " its value belong together?",
                    ),
                    Slip(
                        "values dealt out in turn",
                        _tiled(False, True),
                        "Your keys are handed out in groups, and your values in turn. Do a value"
                        " and its key belong together?",
                    ),
                ),
                crash="Three heads share a set here. How often is each set used, in which order?",
            ),
        ),
        hints=(
            "How many heads share a set? n_heads // n_sets.",
            "Head h uses set h // that number.",
            "`np.repeat(k, times, axis=0)` gives 0, 0, 0, 1, 1, 1; `np.tile` gives 0, 1, 0, 1.",
        ),
        solution=(
            "```python\n"
            "def shared_heads(q, k, v):\n"
            "    times = len(q) // len(k)\n"
            "    k, v = np.repeat(k, times, axis=0), np.repeat(v, times, axis=0)\n"
            "    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])\n"
            "    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))\n"
            "    return powers / powers.sum(axis=-1, keepdims=True) @ v\n"
            "```\n\n"
            "The copies can be avoided: shape the queries as (n_sets, times · n_q, d_k), since one"
            " head with several queries is what several heads with one set are."
        ),
    )


Stepper = Callable[[np.ndarray, Any], tuple[np.ndarray, Any]]


def _someones_cache(rng: np.random.Generator, kind: str, d_model: int) -> tuple[Stepper, Callable]:
    """Return somebody's step with a cache, honest or not, and the full pass."""
    W_Q, W_K, W_V = (numbers(rng, d_model, width) / 6 for width in (3, 3, 2))  # no weight tiny
    if kind == "cancels":
        W_V = np.stack([W_V[:, 0], -W_V[:, 0]], axis=1)
    codes = numbers(rng, 12, d_model) / 3

    def step(rows: np.ndarray, cache: Any) -> tuple[np.ndarray, Any]:
        n_old, n_new = (0 if cache is None else len(cache[0])), len(rows)
        n_before = n_old if cache is None else cache[2]
        first = 0 if kind == "places" else n_before
        x = rows + codes[first : first + n_new]
        k, v = x @ W_K, x @ W_V
        if cache is not None:
            k, v = np.concatenate([cache[0], k]), np.concatenate([cache[1], v])
        mask = _behind(n_new, len(k))
        if cache is not None and kind == "open":
            mask = np.ones_like(mask)
        if cache is not None and kind in ("corner", "cancels") and n_new == 1:
            mask = causal_mask(1, len(k))
        output = _attend(x @ W_Q, k, v, mask)
        if cache is not None and kind == "faint":
            output = output + 1e-6
        if kind == "forgets":
            k, v = k[-3:], v[-3:]
        return output, (k, v, n_before + n_new)

    def whole(rows: np.ndarray) -> np.ndarray:
        x = rows + codes[: len(rows)]
        return _attend(x @ W_Q, x @ W_K, x @ W_V, causal_mask(len(rows)))

    return step, whole


def _cuts(
    step: Stepper,
    whole: Callable,
    X: np.ndarray,
    *,
    differ: Callable[[np.ndarray, np.ndarray], bool] | None = None,
    least: float = 1e-9,
) -> np.ndarray:
    """Return which cuts give other rows than the full pass; the options are the slips."""
    expected, found = whole(X), np.zeros(len(X) - 1)
    for m in range(1, len(X)):
        first, cache = step(X[:m], None)
        second, _ = step(X[m:], cache)
        got = np.concatenate([first, second])
        wrong = differ(got, expected) if differ else np.abs(got - expected).max() > least
        found[m - 1] = float(wrong)
    return found


def _one_by_one(step: Stepper, whole: Callable, X: np.ndarray) -> np.ndarray:
    cache, out = None, []
    for t in range(len(X)):
        row, cache = step(X[t : t + 1], cache)
        out.append(row)
    return (np.abs(np.concatenate(out) - whole(X)).max(axis=1) > 1e-9)[1:].astype(float)


def _cut_case(kind: str) -> Callable[[np.random.Generator], Case]:
    def draw(rng: np.random.Generator) -> Case:
        n, d_model = (int(m) for m in rng.choice((5, 6, 7), size=2, replace=False))
        step, whole = _someones_cache(rng, kind, d_model)
        X, expected = numbers(rng, n, d_model) / 2, np.ones(n - 1)
        if kind == "honest":
            expected[:] = 0.0
        if kind in ("corner", "cancels"):  # only a single row behind the cut
            expected[:-1] = 0.0
        if kind == "open":  # only several rows behind the cut
            expected[-1] = 0.0
        if kind == "forgets":
            expected[:3] = 0.0
        return Case((step, whole, X), expected)

    return draw


@register("inference.test")
def cut_test() -> Code:
    """Write the test that finds what is wrong with a cache."""
    return Code(
        title="Write the test that exposes it",
        function="wrong_cuts",
        prompt=(
            "`step(rows, cache)` is somebody's layer with a cache: it takes new rows and what the"
            " call before returned (None at the beginning), and returns their output and the next"
            " cache. `whole(X)` is the full pass, and right. A cache must be right wherever a text"
            " is cut. For each cut m from 1 to n − 1 feed in `X[:m]`, then `X[m:]`, and return a"  # noqa: RUF001
            " list of n − 1 numbers: 1 where any row differs from the full pass, else 0. On the"  # noqa: RUF001
            " ladder wait an honest cache and six that are wrong, some of them at a single cut."
        ),
        stub=(
            "def wrong_cuts(step, whole, X):\n"
            '    """Return, for each cut 1 to n - 1, whether the two pieces give other rows."""\n'
            '    raise NotImplementedError("inference.test")\n'
        ),
        rungs=(
            Rung(
                "an honest cache",
                _cut_case("honest"),
                "You accuse an honest cache. With which rows do you compare which?",
                (
                    Slip(
                        "all of them",
                        lambda step, whole, X: np.ones(len(X) - 1),
                        "You call every cut of an honest cache wrong. Did the second call get what"
                        " the first returned, and does a 1 mark what is wrong?",
                    ),
                ),
                crash="Your test stopped. What does `step` take, and what does it return?",
            ),
            Rung(
                "places that begin anew",
                _cut_case("places"),
                "This cache gives the first new row the code of place 0, after every cut. Which of"
                " your entries says that it is right?",
                (
                    Slip(
                        "nothing found",
                        lambda step, whole, X: np.zeros(len(X) - 1),
                        "You found nothing wrong. Which rows stand behind a cache, and did you"
                        " compare those?",
                    ),
                    Slip(
                        "the last cut left out",
                        lambda *args: np.append(_cuts(*args)[:-1], 0.0),
                        "You never cut before the last row. How many rows may the second piece"
                        " have?",
                    ),
                    Slip(
                        "the first cut left out",
                        lambda *args: np.append(0.0, _cuts(*args)[1:]),
                        "You never cut after the first row. How many rows may the first piece"
                        " have?",
                    ),
                ),
            ),
            Rung(
                "a single new row",
                _cut_case("corner"),
                "This one is wrong when a single row comes behind a cache, and only then. At which"
                " cut is that?",
                (
                    Slip(
                        "row by row",
                        _one_by_one,
                        "You marked every cut. Is each judged by itself, with all the rest of the"
                        " text as one second piece?",
                    ),
                    Slip(
                        "one cut for all",
                        lambda step, whole, X: np.full(len(X) - 1, _cuts(step, whole, X)[0]),
                        "You found nothing here. At which cut does a single row come second?",
                    ),
                ),
            ),
            Rung(
                "several new rows",
                _cut_case("open"),
                "Behind this cache new rows see each other both ways. With how many new rows does"
                " that show?",
                (
                    Slip(
                        "the last row alone",
                        lambda *args: _cuts(
                            *args, differ=lambda a, b: bool(np.abs(a - b)[-1].max() > 1e-9)
                        ),
                        "You compared the last row alone, and it may see everything. Which rows"
                        " see too much?",
                    ),
                ),
            ),
            Rung(
                "a short memory",
                _cut_case("forgets"),
                "This cache keeps three rows and no more. From which cut on does it lose one?",
            ),
            Rung(
                "two that cancel",
                _cut_case("cancels"),
                "What one column of this output gains, the other loses. What do you compare?",
                (
                    Slip(
                        "sums of rows",
                        lambda *args: _cuts(
                            *args,
                            differ=lambda a, b: bool(np.abs(a.sum(1) - b.sum(1)).max() > 1e-9),
                        ),
                        "You compared sums of rows. Can a row be wrong while its sum is right?",
                    ),
                ),
            ),
            Rung(
                "a little off",
                _cut_case("faint"),
                "Behind a cache these rows are off by a millionth. From which size on do you count"
                " a difference?",
                (
                    Slip(
                        "small differences let pass",
                        lambda *args: _cuts(*args, least=1e-4),
                        "You let small differences pass. How large is rounding in float64?",
                    ),
                ),
            ),
        ),
        hints=(
            "Call `whole(X)` once. Then, for each m, call `step` twice: the second call gets the"
            " cache of the first.",
            "Put the rows of both pieces behind each other, and compare all of them.",
            "Count a difference from 1e-9 on: rounding is smaller, and no mistake is.",
        ),
        solution=(
            "```python\n"
            "def wrong_cuts(step, whole, X):\n"
            "    expected, found = whole(X), []\n"
            "    for m in range(1, len(X)):\n"
            "        first, cache = step(X[:m], None)\n"
            "        second, cache = step(X[m:], cache)\n"
            "        rows = np.concatenate([first, second])\n"
            "        found.append(float(np.abs(rows - expected).max() > 1e-9))\n"
            "    return np.array(found)\n"
            "```\n\n"
            "A test that feeds in one row at a time passes a cache that is wrong for prompts, and"
            " the other way round."
        ),
    )
