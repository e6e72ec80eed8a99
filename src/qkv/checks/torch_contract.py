"""Exercises of the appendix "A contract with torch". torch is not needed to answer them.

Small functions play torch's rules: bool hides or keeps, a float is added, an integer is refused.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from qkv.checks.engine import register
from qkv.checks.exercise import Case, Choice, Code, Number, Option, Row, Rung, Slip, Wrong
from qkv.checks.ladder import numbers, sizes
from qkv.checks.masks import _addend
from qkv.core.packing import unpack_in_proj
from qkv.core.softmax import softmax

# --- in the page ---------------------------------------------------------------------------------


@register("torch_contract.mask_index")
def mask_index() -> Number:
    """Find one head's mask on the joint axis of sentences and heads."""
    batch, heads, b, i = 4, 3, 2, 1
    joint = np.arange(batch * heads).reshape(batch, heads)
    return Number(
        title="Whose mask is it?",
        prompt=(
            f"{batch} sentences, {heads} heads: `attn_mask` of the layer has shape"
            f" ({batch * heads}, n_q, n_k). Which entry of its first axis is for head {i} of"
            f" sentence {b}? Everything is counted from 0."
        ),
        label="The entry",
        answer=float(joint[b, i]),
        right=f"Right: {b} · {heads} + {i}. This is the order that `repeat_interleave` makes.",
        otherwise="How many masks stand before the first one of this sentence?",
        wrong=(
            Wrong(float(i * batch + b), "That is the order of `repeat`. Which changes faster on"
                  " this axis, the head or the sentence?"),
            Wrong(float(joint[b - 1, i - 1]), "You counted from 1. Which sentence is number 0?"),
            Wrong(float(b * batch + i), "You took one mask for each sentence. How many masks has"
                  " a sentence?"),
            Wrong(float(b), "That is the sentence's own number. How many masks has each sentence"
                  " before it?"),
            Wrong(float(joint[b, i] + 1), "That is the next head. Is the first entry 0 or 1?"),
        ),
        hints=(
            "All masks of sentence 0 come first, then all of sentence 1.",
            f"A sentence has {heads} masks, one a head.",
            f"{b} sentences with {heads} masks each stand before it, then {i} more.",
        ),
        solution=f"{b} · {heads} + {i} = {joint[b, i]}.",
    )  # fmt: skip


def _nan_shares() -> tuple[float, float, float]:
    """Return the share of NaN in the gradients of q, k and v when an empty row is set to 0 late."""
    rng = np.random.default_rng(0)
    q, k, v = (rng.normal(size=shape) for shape in ((3, 7), (5, 7), (5, 2)))
    weights = softmax(q @ k.T)
    weights[1] = np.nan  # a plain softmax of a row of -inf
    grad_output = np.ones((3, 2))
    grad_output[1] = 0.0  # nan_to_num lets no gradient through where it has put a 0
    through = grad_output @ v.T
    grad_scores = weights * (through - (weights * through).sum(axis=-1, keepdims=True))
    grads = grad_scores @ k, grad_scores.T @ q, weights.T @ grad_output
    share = [float(np.isnan(g).mean()) for g in grads]
    return share[0], share[1], share[2]


@register("torch_contract.empty")
def empty() -> Choice:
    """Foretell what replacing NaN in the output does to the gradients."""
    of_q, of_k, of_v = _nan_shares()
    return Choice(
        title="Sweep it under the carpet?",
        prompt=(
            "A program asks the layer for weights; one row may look at nothing, so its output is"
            " NaN. Somebody writes `out = out.nan_to_num(0.0)` before the loss. The loss is finite"
            " now. What stands in the gradient of `in_proj_weight`?"
        ),
        options=(
            Option(
                "finite numbers: the gradient of that row is 0",
                "The gradient that arrives there is 0. By what does the softmax multiply it on the"
                " way back?",
                of_q == of_k == of_v == 0,
            ),
            Option(
                "NaN in the rows that make queries, finite numbers elsewhere",
                "The query of that row is spoilt. Which keys has it met?",
                of_q > 0 and of_k == of_v == 0,
            ),
            Option(
                "NaN for queries and keys, finite numbers for values",
                "A value's gradient is a sum over the rows that looked at it, each times its"
                " weight. What is the weight of that row?",
                of_q > 0 and of_k > 0 and of_v == 0,
            ),
            Option(
                "NaN everywhere",
                "0 times NaN is NaN: one query, but every key and every value, and with them all"
                " three matrices.",
                of_q > 0 and of_k == of_v == 1,
            ),
        ),
        hints=(
            "Replacing a number stops its gradient: 0 arrives at that row of the output.",
            "The weights of the row are NaN. Follow the 0 back through them.",
            "What is 0 times NaN?",
        ),
        solution=(
            "NaN everywhere. The weights of the row are NaN, and on the way back they multiply the"
            f" 0. Of the gradients of q, k and v {of_q:.0%}, {of_k:.0%} and {of_v:.0%} are NaN, and"
            " a matrix collects all rows. Repair the mask, not the output."
        ),
    )


@register("torch_contract.shapes")
def shapes() -> Row:
    """Count the weights that a layer returns, averaged and not."""
    batch, heads, n_q, n_k = 2, 3, 4, 7
    each = np.zeros((batch, heads, n_q, n_k))
    mean = each.mean(axis=1)
    return Row(
        title="How many weights come back?",
        prompt=(
            f"{batch} sentences, {heads} heads, {n_q} queries, {n_k} keys. How many numbers hold"
            " the weights that `nn.MultiheadAttention` returns by default, and how many with"
            " `average_attn_weights=False`?"
        ),
        labels=("by default", "without averaging"),
        answer=(float(mean.size), float(each.size)),
        right=f"Right: shapes {mean.shape} and {each.shape}.",
        otherwise="Write the shape first. Which axis does the mean remove?",
        wrong=(
            Wrong((each.size, mean.size), "The other way round. What is the default?"),
            Wrong((mean.size, mean.size), "The mean over heads has no axis of heads. And without"
                  " the mean?"),
            Wrong((each.size, each.size), "Each head's map is there in one of the two. What does"
                  " the layer do by default?"),
            Wrong((mean.size / batch, each.size / batch), "That is one sentence. How many are"
                  " there?"),
            Wrong((mean.size * n_q / n_k, each.size * n_q / n_k), "A row has one weight for each"
                  " key. How many keys are there?"),
        ),
        hints=(
            "A map has one row a query and one column a key.",
            "Each sentence has its own; each head too, unless they are averaged.",
            f"{n_q} · {n_k} for one map.",
        ),
        solution=f"{mean.size} in {mean.shape}, and {each.size} in {each.shape}.",
    )  # fmt: skip


@register("torch_contract.xavier")
def xavier() -> Number:
    """Derive how much larger a separate key matrix starts than the packed one."""
    E, width = 96, 24

    def limit(fan_in: int, fan_out: int) -> float:
        return float(np.sqrt(6 / (fan_in + fan_out)))

    ratio = limit(width, E) / limit(E, 3 * E)
    return Number(
        title="Another width, another start",
        prompt=(
            "Xavier's rule draws numbers uniformly, of size at most a, with"
            " a² = 6 / (inputs + outputs). `nn.MultiheadAttention(96, 3)` packs its matrices into"
            f" one of shape (288, {E}), stored (outputs, inputs). With `kdim={width}, vdim={width}`"
            f" the keys' matrix is its own, ({E}, {width}). How many times larger does it start?"
            " Give two decimals."
        ),
        label="Times",
        answer=ratio,
        tolerance=0.005,
        right="Right. Two layers with the same rule, and not the same start.",
        otherwise="Write inputs + outputs for both matrices. What stands under the root?",
        wrong=(
            Wrong(2**0.5, "That is the ratio at equal widths. How many inputs has the keys' matrix"
                  " here?"),
            Wrong(ratio**2, "That is the ratio of the squares. What does the rule say of a?"),
            Wrong(1 / ratio, "That is packed over separate. Which of the two is asked for?"),
            Wrong(limit(width, E) / limit(E, E), "You gave the packed matrix as many outputs as"
                  " inputs. How many rows has it?"),
            Wrong(limit(width, 0) / limit(E, 0), "You counted inputs only. What else does Xavier's"
                  " rule count?"),
        ),
        hints=(
            "The packed matrix has 96 inputs and 288 outputs.",
            f"The keys' matrix has {width} inputs and {E} outputs.",
            "The ratio is the root of (96 + 288) over the other sum.",
        ),
        solution=f"√(384 / {width + E}) = {ratio:.2f}.",
    )  # fmt: skip


# --- in the notebook -----------------------------------------------------------------------------

Attend = Callable[..., np.ndarray]


def _only(name: str, given: tuple[object, ...], named: dict[str, object]) -> object:
    """Return the one argument of a call, by place or by torch's name for it."""
    by_name = dict(zip((name,), given, strict=False)) | named
    if len(given) + len(named) != 1 or set(by_name) != {name}:
        raise TypeError(f"takes {name}, and nothing else")
    return by_name[name]


def _players(scores: np.ndarray) -> tuple[Attend, Attend]:
    """Return a layer and a function that read `attn_mask` as torch's do."""
    batch, heads, n_q, n_k = scores.shape

    def layer(*given: object, **named: object) -> np.ndarray:
        added = _addend(_only("attn_mask", given, named), "attn_mask", true_hides=True)
        if added.shape not in ((n_q, n_k), (batch * heads, n_q, n_k)):
            raise ValueError(
                f"attn_mask has shape {added.shape}, and should have {(n_q, n_k)}"
                f" or {(batch * heads, n_q, n_k)}"
            )
        if added.ndim == 3:
            added = added.reshape(batch, heads, n_q, n_k)
        return softmax(scores + added)

    def function(*given: object, **named: object) -> np.ndarray:
        rule = _only("attn_mask", given, named)
        return softmax(scores + _addend(rule, "attn_mask", true_hides=False))

    return layer, function


def _mask_case(rng: np.random.Generator, batch: int) -> Case:
    heads, n_q, n_k = 2, 5, 7
    allowed = rng.random((batch, n_q, n_k)) < 0.5
    allowed |= np.arange(n_k) == rng.integers(n_k - 1, size=(batch, n_q, 1))
    allowed[..., -1] = False  # so that no two readings agree by chance
    scores = numbers(rng, batch, heads, n_q, n_k)
    expected = softmax(np.where(allowed[:, None], scores, -np.inf))
    return Case((allowed, heads, *_players(scores)), (expected, expected))


def _each(allowed: np.ndarray, heads: int) -> np.ndarray:
    return np.repeat(allowed, heads, axis=0)


@register("torch_contract.translate_mask")
def translate_mask() -> Code:
    """Bring one rule for each sentence into the layer's and the function's form."""
    return Code(
        title="One rule, two forms",
        function="translate_mask",
        returns=("layer", "function"),
        prompt=(
            "`allowed` is bool, shape (batch, n_q, n_k): True where a query **may look**, another"
            " rule for each sentence. `layer(attn_mask)` reads its mask as `nn.MultiheadAttention`"
            " does and takes the shape (n_q, n_k) or (batch · n_heads, n_q, n_k);"
            " `function(attn_mask)` as `scaled_dot_product_attention`, with scores of shape"
            " (batch, n_heads, n_q, n_k). Both return weights. Call each under the rule, and"
            " return what the two give."
        ),
        stub=(
            "def translate_mask(allowed, n_heads, layer, function):\n"
            '    """Return layer(...) and function(...) under the same rule."""\n'
            '    raise NotImplementedError("torch_contract.translate_mask")\n'
        ),
        rungs=(
            Rung(
                "one sentence",
                lambda rng: _mask_case(rng, 1),
                "What does True say in the layer, and what in the function?",
                (
                    Slip(
                        "as it is in the layer",
                        lambda a, h, layer, f: (layer(_each(a, h)), f(a[:, None])),
                        "Your layer looks where it must not. What does True do in its mask?",
                    ),
                    Slip(
                        "inverted in both",
                        lambda a, h, layer, f: (layer(_each(~a, h)), f(~a[:, None])),
                        "Your function looks where it must not. Does True keep there, or block?",
                    ),
                    Slip(
                        "changed places",
                        lambda a, h, layer, f: (layer(_each(a, h)), f(~a[:, None])),
                        "Both look where they must not. Which of the two wants the inverse?",
                    ),
                    Slip(
                        "floats in both",
                        lambda a, h, layer, f: (
                            layer(_each(~a, h).astype(float)),
                            f(a[:, None].astype(float)),
                        ),
                        "Nothing is hidden: 0 and 1 were added to the scores. Which type hides?",
                    ),
                    Slip(
                        "floats in the function",
                        lambda a, h, layer, f: (layer(_each(~a, h)), f(a[:, None].astype(float))),
                        "Your function hides nothing. What happens to a float mask there?",
                    ),
                    Slip(
                        "floats in the layer",
                        lambda a, h, layer, f: (layer(_each(~a, h).astype(float)), f(a[:, None])),
                        "Your layer hides nothing. What happens to a float mask there?",
                    ),
                ),
                crash="A mask was refused. Which types and which shapes does each of the two take?",
            ),
            Rung(
                "three sentences",
                lambda rng: _mask_case(rng, 3),
                "With one sentence it was right. Which sentence's rule does each entry of your"
                " masks hold?",
                (
                    Slip(
                        "repeat",
                        lambda a, h, layer, f: (layer(np.tile(~a, (h, 1, 1))), f(a[:, None])),
                        "In your layer some heads follow another sentence's rule. On its first"
                        " axis, what changes faster: the sentence or the head?",
                    ),
                    Slip(
                        "the first rule for all",
                        lambda a, h, layer, f: (layer(~a[0]), f(a[:, None])),
                        "Your layer gives the first sentence's rule to all. Which shape holds one"
                        " for each?",
                    ),
                    Slip(
                        "the first rule for all in both",
                        lambda a, h, layer, f: (layer(~a[0]), f(a[0])),
                        "All sentences follow the rule of the first one. Where are the others?",
                    ),
                ),
                crash="Three sentences and two heads: write your mask's shape beside the one that"
                " is wanted. Which axis is missing or too short?",
            ),
        ),
        hints=(
            "In the layer True blocks, in the function True keeps.",
            "The layer's first axis: all heads of sentence 0, then all of sentence 1.",
            "np.repeat copies each entry in its place; the function's heads need an axis of size"
            " 1.",
        ),
        solution=(
            "```python\n"
            "def translate_mask(allowed, n_heads, layer, function):\n"
            "    blocked = np.repeat(~allowed, n_heads, axis=0)\n"
            "    return layer(blocked), function(allowed[:, None])\n"
            "```\n\n"
            "In torch the first is `(~allowed).repeat_interleave(n_heads, dim=0)`: numpy's repeat"
            " is torch's repeat_interleave, and torch's repeat is numpy's tile."
        ),
    )


def _weights_case(rng: np.random.Generator, heads: int) -> Case:
    d_k = int(rng.choice([2, 3, 5])) if heads > 1 else 5
    E = heads * d_k
    packed, out = numbers(rng, 3 * E, E), numbers(rng, E, E)
    p = unpack_in_proj({"in_proj_weight": packed, "out_proj.weight": out}, heads)
    return Case((packed, out, heads), (p.W_Q, p.W_K, p.W_V, p.W_O))


def _stacks(
    blocks: list[np.ndarray], out: np.ndarray, heads: int, turn: bool = True
) -> tuple[np.ndarray, ...]:
    """Return each (E, E) block, with its inputs as rows, cut into heads, and W_O."""
    E = len(out)
    cut = [W.reshape(E, heads, E // heads).swapaxes(0, 1) for W in blocks]
    return (*cut, out.T if turn else out)


def _turned(packed: np.ndarray) -> list[np.ndarray]:
    return [W.T for W in np.split(packed, 3)]


def _head_by_head(packed: np.ndarray, out: np.ndarray, heads: int) -> tuple[np.ndarray, ...]:
    E = len(out)
    blocks = packed.reshape(heads, 3, E // heads, E).swapaxes(0, 1).swapaxes(2, 3)
    return (*blocks, out.T)


@register("torch_contract.copy_weights")
def copy_weights() -> Code:
    """Take torch's packed matrix apart into one matrix a head."""

    def reordered(order: tuple[int, int, int]) -> Callable[..., tuple[np.ndarray, ...]]:
        return lambda p, o, h: _stacks([_turned(p)[n] for n in order], o, h)

    return Code(
        title="Copy torch's weights",
        function="copy_weights",
        returns=("W_Q", "W_K", "W_V", "W_O"),
        prompt=(
            "`in_proj_weight` (3E, E) and `out_proj_weight` (E, E) come from a"
            " `nn.MultiheadAttention` with `n_heads` heads. Return `W_Q`, `W_K`, `W_V`, each of"
            " shape (n_heads, E, d_k) with d_k = E / n_heads, so that head i's queries are"
            " `X @ W_Q[i]`; and `W_O` (E, E), so that the layer ends with `heads @ W_O`."
        ),
        stub=(
            "def copy_weights(in_proj_weight, out_proj_weight, n_heads):\n"
            '    """Return W_Q, W_K, W_V (n_heads, E, d_k) and W_O (E, E)."""\n'
            '    raise NotImplementedError("torch_contract.copy_weights")\n'
        ),
        rungs=(
            Rung(
                "one head",
                lambda rng: _weights_case(rng, 1),
                "One head: three square blocks. In which order do they stand, and which way round?",
                (
                    Slip(
                        "nothing turned",
                        lambda p, o, h: _stacks(np.split(p, 3), o, h, turn=False),
                        "Your matrices stand as torch stores them: outputs first. Which way round"
                        " do they stand in X @ W?",
                    ),
                    Slip(
                        "the last one not turned",
                        lambda p, o, h: _stacks(_turned(p), o, h, turn=False),
                        "Three are right. How does `nn.Linear` store the last one?",
                    ),
                    Slip(
                        "only the last one turned",
                        lambda p, o, h: _stacks(np.split(p, 3), o, h),
                        "W_O is right, the other three are on their side. Which axis of W must"
                        " meet X?",
                    ),
                    Slip(
                        "k, q, v",
                        reordered((1, 0, 2)),
                        "Queries and keys changed places. Which block comes first?",
                    ),
                    Slip(
                        "q, v, k",
                        reordered((0, 2, 1)),
                        "Keys and values changed places. Which block comes last?",
                    ),
                    Slip(
                        "no axis of heads",
                        lambda p, o, h: (*_turned(p), o.T),
                        "The numbers are right. One head or many: where is the axis that counts"
                        " them?",
                    ),
                    Slip(
                        "columns cut",
                        lambda p, o, h: _stacks(np.split(p.reshape(len(o), -1), 3, axis=1), o, h),
                        "You cut the same numbers into another shape. Along which axis do the"
                        " three blocks lie?",
                    ),
                ),
            ),
            Rung(
                "three heads",
                lambda rng: _weights_case(rng, 3),
                "With one head it was right. Which of a block's rows make the queries of head 0?",
                (
                    Slip(
                        "cut without moving an axis",
                        lambda p, o, h: (
                            *(W.reshape(h, len(o), -1) for W in _turned(p)),
                            o.T,
                        ),
                        "The shape is right, and numbers of several heads stand in one. Is the"
                        " heads' axis the first one before you cut?",
                    ),
                    Slip(
                        "heads take turns",
                        lambda p, o, h: (
                            *(W.reshape(len(o), -1, h).transpose(2, 0, 1) for W in _turned(p)),
                            o.T,
                        ),
                        "You dealt the columns out in turn, as cards. Do a head's columns lie"
                        " apart, or side by side?",
                    ),
                    Slip(
                        "q, k, v of each head together",
                        _head_by_head,
                        "You let q, k and v of one head stand together, as other programs do. Which"
                        " comes first in torch, the kind or the head?",
                    ),
                ),
                crash="Three heads now. Which sizes has a block, and into which three do you cut"
                " it?",
            ),
        ),
        hints=(
            "Split the rows into three blocks: q, k, v.",
            "nn.Linear stores (out, in): turn every matrix over.",
            "After turning, a head's d_k columns lie side by side: cut the columns into"
            " (n_heads, d_k), then bring the heads' axis to the front.",
        ),
        solution=(
            "```python\n"
            "def copy_weights(in_proj_weight, out_proj_weight, n_heads):\n"
            "    stacks = []\n"
            "    for block in np.split(in_proj_weight, 3):\n"
            "        turned = block.T.reshape(len(block), n_heads, -1)\n"
            "        stacks.append(np.moveaxis(turned, 1, 0))\n"
            "    return *stacks, out_proj_weight.T\n"
            "```\n\n"
            "`qkv.unpack_in_proj` does the same, with biases and with separate matrices."
        ),
    )


def _encoder(rng: np.random.Generator, d: int, zeros: bool) -> Attend:
    """Return an encoder that reads key_padding_mask as torch does; `zeros` is its fast path."""
    W = 0.5 * rng.normal(size=(3, d, d))

    def encoder(X: np.ndarray, key_padding_mask: object) -> np.ndarray:
        added = _addend(key_padding_mask, "key_padding_mask", true_hides=True)
        if added.shape != X.shape[:2]:
            raise ValueError(f"key_padding_mask has shape {added.shape}, not {X.shape[:2]}")
        q, k, v = (X @ w for w in W)
        out = X + softmax(q @ np.swapaxes(k, 1, 2) / np.sqrt(d) + added[:, None, :]) @ v
        return np.where(np.isneginf(added)[..., None], 0.0, out) if zeros else out

    return encoder


def _word_mean(encoder: Attend, X: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    out = []
    for x, n in zip(X, lengths, strict=True):
        out.append(encoder(x[None, :n], np.zeros((1, n), bool))[0].mean(axis=0))
    return np.stack(out)


def _pads_case(rng: np.random.Generator, kind: str) -> Case:
    batch, n, d = 3, 7, int(rng.choice([2, 5]))
    lengths = np.full(batch, n) if kind == "no pads" else rng.permutation([2, 4, n])
    encoder = _encoder(rng, d, zeros=kind == "zeros at the pads")
    X = numbers(rng, batch, n, d)
    return Case((encoder, X, lengths), _word_mean(encoder, X, lengths))


def _is_pad(X: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    return np.arange(X.shape[1]) >= np.asarray(lengths)[:, None]


def _pool(encoder: Attend, X: np.ndarray, lengths: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Return the mean over words, of what the encoder gives under `mask`."""
    kept = np.where(_is_pad(X, lengths)[..., None], 0.0, encoder(X, mask))
    return kept.sum(axis=1) / np.asarray(lengths)[:, None]


@register("torch_contract.repair_pads")
def repair_pads() -> Code:
    """Repair a mean over words that lets pads in twice."""
    return Code(
        title="Repair this code",
        function="sentence_vectors",
        prompt=(
            "One vector for each sentence: the mean of what the encoder gives for its *words*."
            " Somebody wrote\n\n"
            "```python\n"
            "def sentence_vectors(encoder, X, lengths):\n"
            "    mask = np.arange(X.shape[1]) < lengths[:, None]\n"
            "    return encoder(X, mask).mean(axis=1)\n"
            "```\n\n"
            "`encoder(X, key_padding_mask)` reads its mask as torch's does; X is (batch, n, d),"
            " pads stand at the right. Repair it. A sentence must get the vector that it gets"
            " alone, without pads, whatever the encoder puts into the rows of pads."
        ),
        stub=(
            "def sentence_vectors(encoder, X, lengths):\n"
            '    """Return one vector for each sentence, shape (batch, d)."""\n'
            '    raise NotImplementedError("torch_contract.repair_pads")\n'
        ),
        rungs=(
            Rung(
                "no pads",
                lambda rng: _pads_case(rng, "no pads"),
                "No pads yet: a plain mean of rows. Over which axis?",
                (
                    Slip(
                        "True is a word",
                        lambda e, X, n: _pool(e, X, n, ~_is_pad(X, n)),
                        "Your encoder may look at nothing but pads, and there are none. What does"
                        " True say in `key_padding_mask`?",
                    ),
                    Slip(
                        "the sum",
                        lambda e, X, n: e(X, _is_pad(X, n)).sum(axis=1),
                        "That is a sum. By what is a mean divided?",
                    ),
                    Slip(
                        "the first row",
                        lambda e, X, n: e(X, _is_pad(X, n))[:, 0],
                        "That is the first word's row. Where are the others?",
                    ),
                    Slip(
                        "the last row",
                        lambda e, X, n: e(X, _is_pad(X, n))[np.arange(len(X)), np.asarray(n) - 1],
                        "That is the last word's row. Where are the others?",
                    ),
                ),
                crash="The encoder was not content. Which shape and type has its mask, and are"
                " its rows sentences?",
            ),
            Rung(
                "pads",
                lambda rng: _pads_case(rng, "pads"),
                "Two sentences have pads now. In how many places can a pad come in?",
                (
                    Slip(
                        "the mean over all rows",
                        lambda e, X, n: e(X, _is_pad(X, n)).mean(axis=1),
                        "The words no longer look at pads, but your mean does. Which rows does it"
                        " count?",
                    ),
                    Slip(
                        "no mask",
                        lambda e, X, n: _pool(e, X, n, np.zeros(X.shape[:2], bool)),
                        "Your mean is over words, but these words have looked at pads. What does"
                        " the encoder have to know?",
                    ),
                    Slip(
                        "neither",
                        lambda e, X, n: e(X, np.zeros(X.shape[:2], bool)).mean(axis=1),
                        "Pads come in twice: through the weights, and through the mean. Which did"
                        " you leave open?",
                    ),
                    Slip(
                        "divided by all",
                        lambda e, X, n: (
                            _pool(e, X, n, _is_pad(X, n)) * np.asarray(n)[:, None] / X.shape[1]
                        ),
                        "The sum is over words, the division by all places. How many words are"
                        " there?",
                    ),
                ),
                crash="Sentences of unequal length: what does your code do with a row of bools for"
                " each?",
            ),
            Rung(
                "zeros at the pads",
                lambda rng: _pads_case(rng, "zeros at the pads"),
                "This encoder takes torch's fast path and puts zeros at the pads. Does your mean"
                " count on another number there?",
            ),
        ),
        hints=(
            "There are two mistakes: one in the mask, one in the mean.",
            "In key_padding_mask True marks a pad.",
            "Set the rows of pads to 0, sum, and divide by the number of words.",
        ),
        solution=(
            "```python\n"
            "def sentence_vectors(encoder, X, lengths):\n"
            "    is_pad = np.arange(X.shape[1]) >= lengths[:, None]\n"
            "    rows = encoder(X, is_pad)\n"
            "    total = np.where(is_pad[..., None], 0.0, rows).sum(axis=1)\n"
            "    return total / lengths[:, None]\n"
            "```\n\n"
            "`np.where` and not a product with 0 and 1: if a pad's row is NaN, 0 times it is NaN."
        ),
    )


Batch = Callable[[np.ndarray], np.ndarray]


def _batch_layer(rng: np.random.Generator, d: int, kind: str) -> Batch:
    """Return a layer over (batch, n, d) that is honest, or mixes sentences in one of three ways."""
    W = 0.5 * rng.normal(size=(3, d, d))

    def attend(X: np.ndarray) -> np.ndarray:
        q, k, v = (X @ w for w in W)
        scores = q @ np.swapaxes(k, 1, 2) / np.sqrt(d)
        if kind == "a triangle over sentences":
            scores = np.where(np.tri(X.shape[1], dtype=bool), scores, -np.inf)
        return softmax(scores) @ v

    def layer(X: np.ndarray) -> np.ndarray:
        X = np.asarray(X, dtype=float)
        if kind == "an honest layer":
            return attend(X)
        if kind == "a faint mixture":
            return attend(X) + 1e-4 * X.mean(axis=(0, 1))
        return np.swapaxes(attend(np.swapaxes(X, 0, 1)), 0, 1)

    return layer


def _moved(
    layer: Batch, X: np.ndarray, which: int, least: float = 1e-9, itself: bool = False
) -> float:
    """Return how many other sentences move when sentence `which` changes."""
    changed = X.copy()
    changed[which] += 1.0
    moves = np.abs(layer(changed) - layer(X)).max(axis=(1, 2)) > least
    if not itself:
        moves[which] = False
    return float(moves.sum())


def _batch_case(rng: np.random.Generator, kind: str) -> Case:
    batch, n = sizes(rng, 2)
    d = int(rng.choice([4, 6]))
    layer, X = _batch_layer(rng, d, kind), numbers(rng, batch, n, d) / 4
    return Case((layer, X), max(_moved(layer, X, b) for b in range(batch)))


def _any(layer: Batch, X: np.ndarray, least: float = 1e-9, itself: bool = False) -> float:
    return max(_moved(layer, X, b, least, itself) for b in range(len(X)))


@register("torch_contract.batch_test")
def batch_test() -> Code:
    """Write the test that shows whether a layer mixes the sentences of a batch."""

    def rung(kind: str, question: str, *slips: Slip) -> Rung:
        return Rung(
            kind,
            lambda rng: _batch_case(rng, kind),
            question,
            slips,
            crash="Your test stopped. `layer` takes an array (batch, n, d) and returns one of the"
            " same shape. What did you hand it?",
        )

    return Code(
        title="Write the test that exposes it",
        function="strangers_moved",
        prompt=(
            "`layer(X)` takes and returns (batch, n, d). It may have been built without"
            " `batch_first=True`, and you cannot look inside. Change one sentence and see which"
            " *other* sentences move. Return the largest number of others that move, over all"
            " choices of the sentence you change: 0 for an honest layer."
        ),
        stub=(
            "def strangers_moved(layer, X):\n"
            '    """Return how many other sentences move, at most, when one is changed."""\n'
            '    raise NotImplementedError("torch_contract.batch_test")\n'
        ),
        rungs=(
            rung(
                "an honest layer",
                "An honest layer: no sentence hears of another. What moved in your test?",
                Slip(
                    "itself counted",
                    lambda f, X: _any(f, X, itself=True),
                    "You counted the sentence that you changed. May it move?",
                ),
                Slip(
                    "all but one",
                    lambda f, X: float(len(X) - 1),
                    "You say that all the others move. Did you run the layer twice?",
                ),
                Slip(
                    "the number of sentences",
                    lambda f, X: float(len(X)),
                    "You say that all sentences move. Did you run the layer twice?",
                ),
            ),
            rung(
                "the batch is not first",
                "This layer takes the first axis for the words. What did you change, and what did"
                " you look at?",
                Slip(
                    "always 0",
                    lambda f, X: 0.0,
                    "Your test finds nothing, and all the others moved. Which two outputs do you"
                    " compare?",
                ),
                Slip(
                    "yes or no",
                    lambda f, X: float(_any(f, X) > 0),
                    "You answer yes or no. How many sentences moved?",
                ),
            ),
            rung(
                "a triangle over sentences",
                "Here a sentence hears only of those before it in the batch. Which one did you"
                " change?",
                Slip(
                    "the last one changed",
                    lambda f, X: _moved(f, X, len(X) - 1),
                    "You changed the last sentence, and nobody stands behind it. Which others could"
                    " you change?",
                ),
            ),
            rung(
                "a faint mixture",
                "Here a small part of the batch's mean is added to every row. How small a move"
                " does your test see?",
                Slip(
                    "too coarse",
                    lambda f, X: _any(f, X, least=1e-3),
                    "All the others moved, by less than your limit. How exact is a float64?",
                ),
            ),
        ),
        hints=(
            "Run the layer on X, and on a copy of X with one sentence changed.",
            "Compare the outputs sentence by sentence, and leave out the one you changed.",
            "Do it for every sentence, with a limit such as 1e-9, and take the largest count.",
        ),
        solution=(
            "```python\n"
            "def strangers_moved(layer, X):\n"
            "    most = 0\n"
            "    for b in range(len(X)):\n"
            "        other = X.copy()\n"
            "        other[b] += 1.0\n"
            "        moves = np.abs(layer(other) - layer(X)).max(axis=(1, 2)) > 1e-9\n"
            "        most = max(most, int(np.delete(moves, b).sum()))\n"
            "    return most\n"
            "```\n\n"
            "Three lines of this in a test of your own model are enough to find a forgotten"
            " batch_first. Run it in evaluation mode: dropout moves everything."
        ),
    )
