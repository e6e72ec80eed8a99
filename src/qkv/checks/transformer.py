"""The exercises of chapter 15: encoder and decoder joined, teacher forcing, writing, counting."""

# ruff: noqa: RUF001 (a minus sign is a minus sign)

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from qkv.checks.arrangement import Match, Order, Rule
from qkv.checks.engine import register
from qkv.checks.exercise import Case, Choice, Code, Number, Option, Row, Rung, Slip, Wrong
from qkv.core.counts import (
    LayerSizes,
    cross_attention_parameter_count,
    decoder_layer_parameter_count,
    encoder_layer_parameter_count,
    feed_forward_parameter_count,
    layer_norm_parameter_count,
    multi_head_bias_count,
    multi_head_parameter_count,
    transformer_parameter_count,
)
from qkv.core.initial import initial_transformer

# --- in the page ---------------------------------------------------------------------------------


@register("transformer.sites")
def sites() -> Choice:
    """Say which array joins encoder and decoder, and who reads it."""
    n_layers = 6
    sizes = LayerSizes(d_model=8, d_ff=16, n_heads=3, d_k=4, d_v=2)
    model = initial_transformer(np.random.default_rng(0), sizes, n_layers, 11, 13)
    read_memory = sum(hasattr(layer, "cross_attention") for layer in model.decoder)
    in_decoder = 2 * len(model.decoder)
    return Choice(
        title="Six and six",
        prompt=(
            f"A model has {n_layers} encoder layers and {n_layers} decoder layers. From how many"
            " encoder layers does the decoder get an array, and how many of the decoder's attention"
            " sub-layers read it?"
        ),
        options=(
            Option(
                f"from {n_layers}; decoder layer l reads the output of encoder layer l",
                "That is the ladder that many drawings suggest. In the program above, which"
                " variable goes into every decoder layer?",
                correct=False,
            ),
            Option(
                "from 1, the last; 1 sub-layer reads it, in the first decoder layer",
                "The first decoder layer reads it. What is the second argument of the others?",
                read_memory == 1,
            ),
            Option(
                f"from 1, the last; {read_memory} sub-layers read it, one in each decoder layer",
                "One array, read once in every decoder layer, each time with that layer's own"
                " matrices.",
                read_memory == n_layers,
            ),
            Option(
                f"from 1, the last; {in_decoder} sub-layers read it, all attention of the decoder",
                "Half of these are masked self-attention. Whom do they ask?",
                read_memory == in_decoder,
            ),
        ),
        hints=(
            "Look at the loop over the decoder's layers: which of its inputs changes from layer to"
            " layer, and which does not?",
            "The encoder's loop ends before the decoder's begins; only one array is left of it.",
            "Each decoder layer has two attention sub-layers. One of them asks the target itself.",
        ),
        solution=(
            f"**One array, the last encoder layer's output, read by {read_memory} sub-layers**: the"
            " cross-attention of every decoder layer. The outputs of the other encoder layers are"
            " used up inside the encoder."
        ),
    )


@register("transformer.passes")
def passes() -> Number:
    """Derive how many rows n separate passes push through the decoder."""
    n = 30
    rows = sum(range(1, n + 1))
    return Number(
        title="Predict: a pass for every word",
        prompt=(
            f"A decoder writes a translation of {n} words, one pass a word: the first pass has one"
            " target row, the second two, and so on. It keeps nothing between passes. Derive a"
            " formula for the number of target rows that go through it, and check it on the loop"
            f" above (7 words, 28 rows). What does it give for {n} words?"
        ),
        label="Target rows in all",
        answer=float(rows),
        right=(
            f"Right: n (n + 1)/2. One pass with teacher forcing needs {n} rows, so the loop needs"
            f" {rows / n:g} times as many."
        ),
        otherwise="Add the rows of the passes: 1, then 2, then 3. What is the last number?",
        wrong=(
            Wrong(float(n), "That is one pass with all words. How many passes are there?"),
            Wrong(
                float(n * n),
                "So every pass has all the rows. How many target words does the first pass know?",
            ),
            Wrong(
                float(rows - n),
                "You began with an empty pass. Which sign does the very first pass read?",
            ),
            Wrong(
                float(rows + n + 1),
                f"One pass too many: after {n} words the model is done. How long is the last pass?",
            ),
            Wrong(n * n / 2, "Nearly. Is the mean of 1, 2, …, n really n/2?"),
            Wrong(rows / n, "That is how many times dearer the loop is. How many rows is it?"),
        ),
        hints=(
            "Write the number of rows of each pass in a line, and add.",
            "Pair the first pass with the last, the second with the last but one. What is each"
            " sum?",
            "There are n/2 such pairs, each with n + 1 rows.",
        ),
        solution=(
            f"1 + 2 + … + n = n (n + 1)/2. For 7 words 28, for {n} words {rows}: {rows / n:g} times"
            f" the {n} rows of one pass."
        ),
    )


@register("transformer.layer_count")
def layer_count() -> Row:
    """Count an encoder layer, a decoder layer and a whole model from its sizes."""
    sizes = LayerSizes(d_model=10, d_ff=24, n_heads=3, d_k=4, d_v=5)
    n_layers, n_rows = 2, 50
    encoder, decoder = encoder_layer_parameter_count(sizes), decoder_layer_parameter_count(sizes)
    attention = multi_head_parameter_count(sizes)
    norm, biases = layer_norm_parameter_count(sizes), multi_head_bias_count(sizes)
    table = n_rows * sizes.d_model

    def answer(one: int, other: int, tables: int = 1, depth: int = n_layers) -> tuple[float, ...]:
        return float(one), float(other), float(depth * (one + other) + tables * table)

    hidden_biases = sizes.d_ff + sizes.d_model
    all_d_k = 4 * sizes.n_heads * sizes.d_model * sizes.d_k
    return Row(
        title="Count a model",
        prompt=(
            f"Sizes: d_model {sizes.d_model}, d_ff {sizes.d_ff}, {sizes.n_heads} heads, d_k"
            f" {sizes.d_k}, d_v {sizes.d_v}. As in the paper: no biases in the attention, two in"
            f" the"
            " feed-forward part, a gain and a shift in each LayerNorm. How many parameters has an"
            f" encoder layer, a decoder layer, and the whole model with {n_layers} + {n_layers}"
            f" layers and one table of {n_rows} rows? Write the numbers without commas."
        ),
        labels=("encoder layer", "decoder layer", "whole model"),
        answer=answer(encoder, decoder),
        right="Right, and without making a single array. The table counts once.",
        otherwise=(
            "Go part by part: h d_model (2 d_k + 2 d_v) for each attention, then the feed-forward"
            " part, then 2 d_model for each norm. Which part differs?"
        ),
        wrong=(
            Wrong(
                answer(encoder, encoder),
                "Your decoder layer is as large as an encoder layer. What does it have besides?",
            ),
            Wrong(
                answer(encoder, decoder - norm),
                "A decoder layer has three parts, each with a norm behind it. How many norms did"
                " you count?",
            ),
            Wrong(
                answer(encoder + biases, decoder + 2 * biases),
                "You gave the attention biases. Does this model have them?",
            ),
            Wrong(
                answer(encoder - hidden_biases, decoder - hidden_biases),
                "The feed-forward part has two biases. How wide are they?",
            ),
            Wrong(
                answer(encoder - attention + all_d_k, decoder - 2 * attention + 2 * all_d_k),
                "You used d_k for all four matrices. How wide is a value?",
            ),
            Wrong(
                answer(encoder, decoder, tables=3),
                "You counted the table once for each use. How many arrays is it?",
            ),
            Wrong(
                answer(encoder, decoder, depth=1),
                "That is the model with one layer on each side. How many does it have?",
            ),
        ),
        hints=(
            "W_Q and W_K are d_model × d_k a head, W_V is d_model × d_v; W_O is h d_v × d_model.",
            "Feed-forward: d_model × d_ff, d_ff, d_ff × d_model, d_model. A norm: 2 d_model.",
            "A decoder layer is an encoder layer, plus one attention, plus one norm.",
        ),
        solution=(
            f"Attention {attention}, feed-forward {feed_forward_parameter_count(sizes)}, a norm"
            f" {norm}. Encoder layer {encoder}, decoder layer {decoder}, whole model"
            f" {n_layers} · ({encoder} + {decoder}) + {table} ="
            f" {n_layers * (encoder + decoder) + table}."
        ),
    )


@register("transformer.row_b")
def row_b() -> Number:
    """Predict how the base model's count changes with d_k."""
    n_layers, rows = 6, 41_100

    def count(d_k: int, d_v: int = 64) -> int:
        sizes = LayerSizes(d_model=512, d_ff=2048, n_heads=8, d_k=d_k, d_v=d_v)
        return transformer_parameter_count(sizes, n_layers, rows)

    fewer = count(64) - count(48)
    return Number(
        title="Predict: a row that Table 3 does not have",
        prompt=(
            "Rows (B) have d_k 16 and 32. Imagine one with d_k = 48, all else as in *base* (6 + 6"
            " layers, d_model 512, 8 heads, d_v 64). By how many parameters is it smaller than"
            " *base*? Derive it, and check your formula on the two printed rows."
        ),
        label="Fewer parameters (no commas)",
        answer=float(fewer),
        right=(
            f"Right: {fewer:,}, whatever the vocabulary. With about 41,000 rows such a row would"
            f" print {count(48) / 1e6:.0f}."
        ),
        otherwise="How many matrices have d_k columns in the whole model, and how many rows each?",
        wrong=(
            Wrong(
                float(fewer // 2),
                "You shortened one of two matrices. Which two have d_k columns?",
            ),
            Wrong(
                float(2 * fewer),
                "You shortened four matrices. Do W_V and W_O depend on d_k?",
            ),
            Wrong(float(fewer // 3), "That is one kind of site. How many are there?"),
            Wrong(
                float(2 * fewer // 3),
                "You counted one attention a layer. How many has a decoder layer?",
            ),
            Wrong(float(fewer // 8), "That is one head. How many are there?"),
            Wrong(float(3 * fewer), "You took 48 columns away. How many should go?"),
            Wrong(
                float(fewer // 18),
                "That is one sub-layer. How many attention sub-layers has the model?",
            ),
        ),
        hints=(
            "Only W_Q and W_K have d_k columns, and both have 512 rows.",
            "There are 8 heads in each attention sub-layer, and 16 columns go.",
            "The model has 6 + 6 + 6 attention sub-layers.",
        ),
        solution=(
            f"18 sub-layers · 8 heads · 2 matrices · 512 rows · 16 columns = {fewer:,}. For d_k ="
            f" 32: {count(64) - count(32):,}, for 16: {count(64) - count(16):,}."
        ),
    )


@register("transformer.sources")
def sources() -> Match:
    """Say for each of the three sites which array is projected."""
    source, target = (
        "rows of the source, out of the encoder layer below",
        "rows of the target, out of the decoder layer below",
    )
    own, memory = (
        "rows of the target, after this layer's masked self-attention",
        "the encoder's last output",
    )
    below = "the output of the encoder layer with the same number"
    return Match(
        title="Whose rows are projected?",
        prompt=(
            "A post-norm Transformer as in the paper, layer 3 of 6 on both sides. Which array is"
            " multiplied by W_Q, W_K or W_V at each place?"
        ),
        pairs=(
            ("W_Q in the encoder", source),
            ("W_V in the encoder", source),
            ("W_K of the decoder's masked self-attention", target),
            ("W_Q of its cross-attention", own),
            ("W_K of its cross-attention", memory),
            ("W_V of its cross-attention", memory),
        ),
        decoys=(below,),
        right=(
            "Right. Only cross-attention has two different inputs, and its queries come from the"
            " layer it stands in."
        ),
        otherwise=(
            "Follow the arrows of Figure 1 backwards from this matrix. Which array do you meet?"
        ),
        wrong=(
            Wrong(
                {"W_K of its cross-attention": below},
                "All decoder layers read one and the same memory. Which?",
            ),
            Wrong(
                {"W_V of its cross-attention": below},
                "All decoder layers read one and the same memory. Which?",
            ),
            Wrong(
                {"W_Q of its cross-attention": target},
                (
                    "So says the paper's prose. What stands in Figure 1 between the layer below"
                    " and the cross-attention?"
                ),
            ),
            Wrong(
                {"W_Q of its cross-attention": memory}, "The encoder's output is asked. Who asks?"
            ),
            Wrong(
                {"W_K of its cross-attention": own},
                "Then the target would ask itself. Whom should it ask?",
            ),
            Wrong(
                {"W_V in the encoder": memory},
                "The last output is made of this layer's values. Can it be there already?",
            ),
            Wrong(
                {"W_K of the decoder's masked self-attention": memory},
                "Self-attention has one input. Which rows look at each other?",
            ),
        ),
        hints=(
            "In self-attention one array goes into all three matrices.",
            (
                "Cross-attention: the queries from the target's side, keys and values from the"
                " source's."
            ),
            "The target's rows have passed the masked self-attention of the same layer already.",
        ),
        solution=(
            "Encoder: the rows out of the layer below, three times. Masked self-attention:"
            " the target's"
            " rows out of the layer below, three times. Cross-attention: queries from the"
            " target's rows"
            " after this layer's masked self-attention (and its add and norm); keys and"
            " values from the"
            " encoder's last output."
        ),
    )


@register("transformer.one_pass")
def one_pass() -> Order:
    """Put one pass of the encoder-decoder in order."""
    return Order(
        title="One pass through the model",
        prompt=(
            "Put one pass in order, with one layer on each side. Encoder and decoder do not"
            " wait for each"
            " other until they must: every order that keeps what is needed counts."
        ),
        steps=(
            "rows of the source: embeddings and position codes",
            "the encoder layer makes the memory",
            "rows of the target, shifted right: embeddings and position codes",
            "masked self-attention among the target's rows",
            "cross-attention: the target's rows read the memory",
            "feed-forward part of the decoder layer",
            "product with the table turned over: scores of all words",
            "softmax over the vocabulary",
        ),
        rules=(
            Rule(0, 1, "What does the encoder read, before the source has rows?"),
            Rule(2, 3, "Which rows look at each other, before the target is embedded?"),
            Rule(1, 4, "Cross-attention reads the memory. Has it been made?"),
            Rule(
                3,
                4,
                "Whose rows ask in cross-attention: those before or after masked self-attention?",
            ),
            Rule(4, 5, "In Figure 1, what stands below the decoder's feed-forward part?"),
            Rule(5, 6, "Which rows are compared with the table: those of a half finished layer?"),
            Rule(6, 7, "A softmax of what? Where do the scores of the words come from?"),
        ),
        right="Right. Up to the cross-attention the two sides know nothing of each other.",
        hints=(
            "Two roads, one for each sentence. They meet in one step.",
            "Source: rows, memory. Target: rows, masked self-attention. Then they meet.",
            "Cross-attention, feed-forward, scores of the words, softmax.",
        ),
        solution=(
            "Source rows, then the memory; target rows, then masked self-attention; these two"
            " roads in"
            " any order. Then cross-attention, feed-forward, scores, softmax."
        ),
    )


# --- in the notebook -----------------------------------------------------------------------------

START, END, PAD = 1, 2, 0


def _shifted(
    targets: np.ndarray, lengths: np.ndarray, start: int, end: int, pad: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    targets, lengths = np.asarray(targets), np.asarray(lengths)
    batch, n = targets.shape
    read, said = np.full((batch, n + 1), pad), np.full((batch, n + 1), pad)
    read[:, 0], read[:, 1:], said[:, :-1] = start, targets, targets
    said[np.arange(batch), lengths] = end
    return read, said, (np.arange(n + 1) <= lengths[:, None]).astype(float)


def _shift_case(rng: np.random.Generator, batch: int, empty: bool = False) -> Case:
    n = int(rng.choice([5, 7]))
    lengths = (
        np.array([n]) if batch == 1 else np.append(n, rng.permutation(np.arange(1, n)))[:batch]
    )
    if empty:
        lengths[-1] = 0
    start, end, pad = (int(x) for x in rng.permutation([1, 2, 3]))
    targets = rng.integers(4, 30, size=(batch, n))
    targets[np.arange(n) >= lengths[:, None]] = pad
    args = targets, lengths, start, end, pad
    return Case(args, _shifted(*args))


def _end_at_the_edge(t, n, start, end, pad):  # type: ignore[no-untyped-def]
    read, said, real = _shifted(t, n, start, end, pad)
    said[np.arange(len(t)), n] = pad
    said[:, -1] = end
    return read, said, real


def _end_is_read(t, n, start, end, pad):  # type: ignore[no-untyped-def]
    read, said, real = _shifted(t, n, start, end, pad)
    shorter = np.asarray(n) + 1 < read.shape[1]
    read[np.arange(len(t))[shorter], np.asarray(n)[shorter] + 1] = end
    return read, said, real


def _without_end(t, n, start, end, pad):  # type: ignore[no-untyped-def]
    read, said, real = _shifted(t, n, start, end, pad)
    return read, np.where(said == end, pad, said), real


def _counted(t, n, start, end, pad, *, more):  # type: ignore[no-untyped-def]
    read, said, _ = _shifted(t, n, start, end, pad)
    return read, said, (np.arange(read.shape[1]) < np.asarray(n)[:, None] + more).astype(float)


@register("transformer.shift_right")
def shift_right() -> Code:
    """Make what a decoder reads, what it must say, and which rows count."""

    def swapped(*args):  # type: ignore[no-untyped-def]
        read, said, real = _shifted(*args)
        return said, read, real

    def no_shift(*args):  # type: ignore[no-untyped-def]
        _, said, real = _shifted(*args)
        return said, said, real

    def all_start(*args):  # type: ignore[no-untyped-def]
        read, _, real = _shifted(*args)
        return read, read, real

    return Code(
        title="Teacher forcing as arrays",
        function="training_rows",
        prompt=(
            "`targets` (batch, n) holds the ids of translated sentences, filled up with `pad` at"
            " the"
            " right; `lengths` (batch,) says how many words each really has. Return three arrays of"
            " shape (batch, n + 1): what the decoder **reads** (the start sign, then the words,"
            " then"
            " pads), what it must **say** (the words, then the end sign, then pads), and which rows"
            " **count** in the loss (1.0 or 0.0). A sentence may be empty."
        ),
        stub=(
            "def training_rows(targets, lengths, start, end, pad):\n"
            '    """Return read, said and real, each of shape (batch, n + 1)."""\n'
            '    raise NotImplementedError("transformer.shift_right")\n'
        ),
        returns=("read", "said", "real"),
        rungs=(
            Rung(
                "one full sentence",
                lambda rng: _shift_case(rng, 1),
                "For the words a b c: what does row 0 read, and what must the last row say?",
                (
                    Slip(
                        "swapped",
                        swapped,
                        "You have taken one for the other. Which of the two begins with the start"
                        " sign?",
                    ),
                    Slip(
                        "no shift",
                        no_shift,
                        "Your rows read the very word that they must say. What is left to predict?",
                    ),
                    Slip(
                        "start in both",
                        all_start,
                        "Your first row must say the start sign, which it reads. What comes after"
                        " it?",
                    ),
                    Slip(
                        "no end",
                        _without_end,
                        "No row ever says that the sentence is over. When will such a model stop?",
                    ),
                    Slip(
                        "the last row does not count",
                        lambda *a: _counted(*a, more=0),
                        "Your last real row does not count. Which row must say the end sign?",
                    ),
                    Slip(
                        "no row counts",
                        lambda *a: _counted(*a, more=-99),
                        "No row counts. What does 1.0 stand for?",
                    ),
                ),
                crash="Your code stopped at one sentence without pads. Which shapes do you join?",
            ),
            Rung(
                "a padded batch",
                lambda rng: _shift_case(rng, 3),
                "The sentences have different lengths. Where does each of them end?",
                (
                    Slip(
                        "the end sign at the edge",
                        _end_at_the_edge,
                        "Your end sign stands behind the pads. After which word is a short sentence"
                        " over?",
                    ),
                    Slip(
                        "the end sign is read",
                        _end_is_read,
                        "A short sentence reads its own end sign. Is there anything to say after"
                        " it?",
                    ),
                    Slip(
                        "pads count",
                        lambda *a: _counted(*a, more=99),
                        "All rows count, those of pads too. What would the model learn from them?",
                    ),
                    Slip(
                        "one pad counts",
                        lambda *a: _counted(*a, more=2),
                        "One row too many counts: the one after the end sign. How many words must"
                        " be said, the end sign included?",
                    ),
                ),
                crash="The lengths differ now. Which line holds for one length only?",
            ),
            Rung(
                "an empty sentence",
                lambda rng: _shift_case(rng, 3, empty=True),
                "One sentence has no word. What must its first row say?",
                crash="One sentence has no word. Which line needs one?",
            ),
        ),
        hints=(
            "What is read and what is said are the same sentence, one place apart.",
            "Start from arrays full of `pad`; put `start` in column 0 of one, and the end sign of"
            " each sentence at column `lengths` of the other.",
            "`said[np.arange(batch), lengths] = end` writes one entry a row. The rows that count"
            " are"
            " those with `np.arange(n + 1) <= lengths[:, None]`.",
        ),
        solution=(
            "```python\n"
            "def training_rows(targets, lengths, start, end, pad):\n"
            "    targets, lengths = np.asarray(targets), np.asarray(lengths)\n"
            "    batch, n = targets.shape\n"
            "    read = np.full((batch, n + 1), pad)\n"
            "    said = np.full((batch, n + 1), pad)\n"
            "    read[:, 0] = start\n"
            "    read[:, 1:] = targets\n"
            "    said[:, :-1] = targets\n"
            "    said[np.arange(batch), lengths] = end\n"
            "    real = (np.arange(n + 1) <= lengths[:, None]).astype(float)\n"
            "    return read, said, real\n"
            "```\n\n"
            "A sentence of m words has m + 1 rows that count: the last one says that it is over."
        ),
    )


Scorer = Callable[[list[int]], np.ndarray]
TOO_LONG = 60


def _scorer(plan: list[int], start: int, lost: int, rng: np.random.Generator) -> Scorer:
    """Return a model that writes `plan`, and says `lost` after any prefix that is not its own."""
    n_words = 13
    noise = rng.normal(size=(TOO_LONG + 1, n_words))

    def scores_of(ids: list[int]) -> np.ndarray:
        ids = [int(i) for i in ids]
        if len(ids) > TOO_LONG:
            raise ValueError(f"{len(ids)} words and no end: does your loop stop?")
        scores = noise[: len(ids)].copy()
        for t in range(len(ids)):
            known = ids[: t + 1] == [start, *plan[:t]]
            scores[t, plan[t] if known and t < len(plan) else lost] += 9.0 + t
        return scores

    return scores_of


def _write_case(rng: np.random.Generator, n: int, longest: int, ends: bool = True) -> Case:
    ids = [int(i) for i in rng.permutation(13)]
    start, end, lost, words = ids[0], ids[1], ids[2], ids[3:]
    plan = [words[t % len(words)] for t in range(n)] + [end] * ends
    args = _scorer(plan, start, lost, rng), start, end, longest
    return Case(args, [float(i) for i in plan[:n][:longest]])


def _writer(
    pick: Callable[[np.ndarray], int] = lambda s: int(s[-1].argmax()),
    see: Callable[[list[int]], list[int]] = lambda ids: ids,
    stop: bool = True,
    first: int = 1,
    more: int = 0,
    keep_end: bool = False,
) -> Callable[..., list[int]]:
    """Return a greedy loop, right by default; each argument spoils one thing."""

    def write(scores_of: Scorer, start: int, end: int, longest: int) -> list[int]:
        written = [start]
        while len(written) < longest + 1 + more:
            word = pick(scores_of(see(written)))
            if word == end and stop:
                if keep_end:
                    written.append(word)
                break
            written.append(word)
        return written[first:]

    return write


@register("transformer.greedy")
def greedy() -> Code:
    """Repair the loop that writes a translation."""
    return Code(
        title="Repair this code: the loop that writes",
        function="write",
        prompt=(
            "`scores_of(ids)` is a trained decoder: it takes the list of words read so far"
            " (beginning with the start sign) and returns scores of shape (len(ids), n_words),"
            " row t"
            " for the word after word t. The loop below should write greedily. Return the list of"
            " words written, without the start sign and without the end sign, and at most `longest`"
            " of them. Three things are wrong with it. Remove the `raise` when you begin."
        ),
        stub=(
            "def write(scores_of, start, end, longest):\n"
            '    """Return the words written, without start and end sign."""\n'
            '    raise NotImplementedError("transformer.greedy")\n'
            "    written = [start]\n"
            "    while written[-1] != end:\n"
            "        scores = scores_of(written)\n"
            "        written.append(int(scores[0].argmax()))\n"
            "    return written\n"
        ),
        rungs=(
            Rung(
                "a short sentence",
                lambda rng: _write_case(rng, 4, 11),
                "Which row of the scores says what comes next, and what belongs to the answer?",
                (
                    Slip(
                        "row 0",
                        _writer(pick=lambda s: int(s[0].argmax())),
                        "You ask row 0 every time, and it always gives the first word. Which row"
                        " has read the last word?",
                    ),
                    Slip(
                        "row 0, until it is stopped",
                        _writer(pick=lambda s: int(s[0].argmax()), more=999),
                        "You ask row 0 every time, and it always gives the first word. Which row"
                        " has read the last word?",
                    ),
                    Slip(
                        "only the last word is fed",
                        _writer(see=lambda ids: ids[-1:]),
                        "You feed one word at a time. How should the decoder know what came"
                        " before?",
                    ),
                    Slip(
                        "the best of all rows",
                        _writer(pick=lambda s: int(s.argmax() % s.shape[-1]), more=1, first=0),
                        "You took the best entry of the whole table. Which row is the new one, and"
                        " which signs do not belong to the answer?",
                    ),
                    Slip(
                        "rows added up",
                        _writer(pick=lambda s: int(s.sum(axis=0).argmax())),
                        "You added the rows up. The older rows speak about older words: which one"
                        " speaks about the next?",
                    ),
                    Slip(
                        "the worst word",
                        _writer(pick=lambda s: int(s[-1].argmin())),
                        "You took the smallest score. Which word does a large score mean?",
                    ),
                    Slip(
                        "start and end kept",
                        _writer(first=0, keep_end=True),
                        "The words are right, with both signs around them. Which of them belong to"
                        " the answer?",
                    ),
                    Slip(
                        "start kept",
                        _writer(first=0),
                        "Your list begins with the start sign. Did the model write that?",
                    ),
                    Slip(
                        "end kept",
                        _writer(keep_end=True),
                        "Your list ends with the end sign. Is that a word of the translation?",
                    ),
                    Slip(
                        "never stops",
                        _writer(stop=False),
                        "You wrote on after the end sign. What does it say?",
                    ),
                ),
                crash=(
                    "Your loop stopped with an error. What does the decoder take, and does your"
                    " loop come to an end?"
                ),
            ),
            Rung(
                "no end in sight",
                lambda rng: _write_case(rng, 40, 7, ends=False),
                "This model never says the end sign. How many words may the answer have?",
                (
                    Slip(
                        "the start sign counts",
                        _writer(more=-1),
                        "You wrote one word too few. Does the start sign count as one of them?",
                    ),
                    Slip(
                        "one too many",
                        _writer(more=1),
                        "You wrote one word too many. Is the limit tested before or after a word is"
                        " added?",
                    ),
                ),
                crash="This model never says the end sign. What else must end your loop?",
            ),
            Rung(
                "exactly full",
                lambda rng: _write_case(rng, 5, 5),
                "This sentence has exactly as many words as are allowed, and then the end sign. Is"
                " your last word still a word?",
            ),
            Rung(
                "nothing to say",
                lambda rng: _write_case(rng, 0, 5),
                "This model says the end sign at once. What is left?",
                crash="This model says the end sign at once. Which line needs a word?",
            ),
        ),
        hints=(
            "Row t has read the words up to t. The newest row is the last one.",
            "Look at the new word before you append it: the end sign is no word.",
            "`while len(written) <= longest:` lets `longest` words join the start sign.",
        ),
        solution=(
            "```python\n"
            "def write(scores_of, start, end, longest):\n"
            "    written = [start]\n"
            "    while len(written) <= longest:\n"
            "        word = int(scores_of(written)[-1].argmax())\n"
            "        if word == end:\n"
            "            break\n"
            "        written.append(word)\n"
            "    return written[1:]\n"
            "```\n\n"
            "Wrong were the row (0 in place of −1), the missing limit, and the two signs in the"
            " answer."
        ),
    )


def _total(sizes: LayerSizes, n_layers: int, n_rows: int, **spoiled: int) -> int:
    """Count a model; `spoiled` puts another number in the place of one part's count."""
    part = {
        "own": multi_head_parameter_count(sizes),
        "cross": cross_attention_parameter_count(sizes),
        "hidden": feed_forward_parameter_count(sizes),
        "norm": layer_norm_parameter_count(sizes),
        "norms": 5,
        "encoders": n_layers,
        "decoders": n_layers,
        "tables": 1,
        **spoiled,
    }
    encoder_norms = min(part["norms"], 2)
    encoder = part["own"] + part["hidden"] + encoder_norms * part["norm"]
    decoder = part["own"] + part["cross"] + part["hidden"]
    decoder += (part["norms"] - encoder_norms) * part["norm"]
    layers = part["encoders"] * encoder + part["decoders"] * decoder
    return layers + part["tables"] * n_rows * sizes.d_model


Spoil = Callable[[LayerSizes, int], dict[str, int]]


def _count_slip(name: str, spoil: Spoil, question: str) -> Slip:
    def compute(d_model, d_ff, n_heads, d_k, d_v, n_layers, n_rows):  # type: ignore[no-untyped-def]
        sizes = LayerSizes(d_model, d_ff, n_heads, d_k, d_v)
        return _total(sizes, n_layers, n_rows, **spoil(sizes, n_layers))

    return Slip(name, compute, question)


def _count_case(
    rng: np.random.Generator, even_heads: bool = False, n_layers: int | None = None
) -> Case:
    n_heads = int(rng.choice([3, 5]))
    d_k, d_v = (int(x) for x in rng.permutation([2, 4, 7])[:2])
    d_model = int(rng.choice([16, 19, 22]))
    if even_heads:
        d_v, d_model = d_k, n_heads * d_k
    depth = int(rng.choice([2, 4])) if n_layers is None else n_layers
    d_ff, n_rows = int(rng.choice([31, 37, 41])), int(rng.choice([53, 59, 61]))
    args = d_model, d_ff, n_heads, d_k, d_v, depth, n_rows
    return Case(args, float(_total(LayerSizes(*args[:5]), depth, n_rows)))


def _with_biases(s: LayerSizes, n: int) -> dict[str, int]:
    biases = multi_head_bias_count(s)
    return {
        "own": multi_head_parameter_count(s) + biases,
        "cross": cross_attention_parameter_count(s) + biases,
    }


def _with_attention(count: Callable[[LayerSizes], int]) -> Spoil:
    return lambda s, n: {"own": count(s), "cross": count(s)}


@register("transformer.count")
def count() -> Code:
    """Count the parameters of an encoder-decoder Transformer."""
    return Code(
        title="Count the parameters",
        function="count",
        prompt=(
            "Return how many numbers the paper's Transformer learns: `n_layers` encoder and"
            " `n_layers` decoder layers and one embedding table of `n_rows` rows, shared by source,"
            " target and read-out. No biases in the attention, two in each feed-forward part, a"
            " gain"
            " and a shift in each LayerNorm; positions are sinusoids. Do not use the library's"
            " counts."
        ),
        stub=(
            "def count(d_model, d_ff, n_heads, d_k, d_v, n_layers, n_rows):\n"
            '    """Return the number of parameters."""\n'
            '    raise NotImplementedError("transformer.count")\n'
        ),
        rungs=(
            Rung(
                "one layer on each side",
                lambda rng: _count_case(rng, even_heads=True, n_layers=1),
                "Count part by part. Which one do you leave out, or take twice?",
                (
                    _count_slip(
                        "no cross-attention",
                        lambda s, n: {"cross": 0},
                        "Your decoder has no cross-attention. How does it hear of the source?",
                    ),
                    _count_slip(
                        "two norms in the decoder",
                        lambda s, n: {"norms": 4},
                        "You are 2 d_model short: the third norm of the decoder, or the second bias"
                        " of both feed-forward parts. Which did you leave out?",
                    ),
                    _count_slip(
                        "a decoder layer like an encoder layer",
                        lambda s, n: {"cross": 0, "norms": 4},
                        "Your decoder layer is as large as an encoder layer. What has it besides?",
                    ),
                    _count_slip(
                        "no biases",
                        lambda s, n: {"hidden": 2 * s.d_model * s.d_ff},
                        "Your feed-forward part has no biases. How many numbers are in its two?",
                    ),
                    _count_slip(
                        "attention with biases",
                        _with_biases,
                        "You gave the attention biases. Does the paper's have them?",
                    ),
                    _count_slip(
                        "norms without a shift",
                        lambda s, n: {"norm": s.d_model},
                        "A norm of yours learns one row of numbers. What does it learn besides the"
                        " gain?",
                    ),
                    _count_slip(
                        "no norms",
                        lambda s, n: {"norm": 0},
                        "You left the norms out. What do they learn?",
                    ),
                    _count_slip(
                        "three tables",
                        lambda s, n: {"tables": 3},
                        "You counted the table once for each use. How many arrays is it?",
                    ),
                    _count_slip(
                        "two tables",
                        lambda s, n: {"tables": 2},
                        "You counted two tables. How many arrays are shared by all uses?",
                    ),
                    _count_slip(
                        "no table",
                        lambda s, n: {"tables": 0},
                        "Your model has no words. How large is the embedding table?",
                    ),
                    _count_slip(
                        "no W_O",
                        _with_attention(
                            lambda s: s.n_heads * s.d_model * (2 * s.d_k + s.d_v),
                        ),
                        "Your attention has three matrices. Which one comes after the heads?",
                    ),
                    _count_slip(
                        "one head",
                        _with_attention(lambda s: s.d_model * (2 * s.d_k + 2 * s.d_v)),
                        "You counted one head. How many are there?",
                    ),
                ),
            ),
            Rung(
                "sizes that have nothing to do with each other",
                lambda rng: _count_case(rng, n_layers=1),
                "Now d_k is not d_v, and h · d_v is not d_model. Which matrix has which shape?",
                (
                    _count_slip(
                        "four squares",
                        _with_attention(lambda s: 4 * s.d_model**2),
                        "You took four squares of d_model. When is h · d_k equal to d_model?",
                    ),
                    _count_slip(
                        "d_k for all",
                        _with_attention(lambda s: 4 * s.n_heads * s.d_model * s.d_k),
                        "You used d_k for values as well. How wide are they?",
                    ),
                    _count_slip(
                        "d_v for all",
                        _with_attention(lambda s: 4 * s.n_heads * s.d_model * s.d_v),
                        "You used d_v for queries and keys as well. How wide are they?",
                    ),
                    _count_slip(
                        "W_O square",
                        _with_attention(
                            lambda s: s.n_heads * s.d_model * (2 * s.d_k + s.d_v) + s.d_model**2
                        ),
                        "Your W_O is square. How many columns do the heads have, side by side?",
                    ),
                ),
            ),
            Rung(
                "several layers",
                lambda rng: _count_case(rng),
                "There are several layers on each side now. What is counted once for each, and what"
                " once in all?",
                (
                    _count_slip(
                        "one layer on each side",
                        lambda s, n: {"encoders": 1, "decoders": 1},
                        "You counted one layer on each side. Do the layers share their matrices?",
                    ),
                    _count_slip(
                        "a table for each layer",
                        lambda s, n: {"tables": n},
                        "You counted the table once a layer. How many are there?",
                    ),
                    _count_slip(
                        "one decoder layer",
                        lambda s, n: {"decoders": 1},
                        "Your decoder has one layer. How many should it have?",
                    ),
                ),
            ),
        ),
        hints=(
            "Attention: W_Q and W_K are d_model × d_k a head, W_V is d_model × d_v a head, W_O is"
            " h d_v × d_model.",
            "An encoder layer: one attention, feed-forward, two norms. A decoder layer: two"
            " attentions, feed-forward, three norms.",
            "`attention = n_heads * d_model * (2 * d_k + 2 * d_v)`; a norm is `2 * d_model`; the"
            " table, `n_rows * d_model`, comes once.",
        ),
        solution=(
            "```python\n"
            "def count(d_model, d_ff, n_heads, d_k, d_v, n_layers, n_rows):\n"
            "    attention = n_heads * d_model * (2 * d_k + 2 * d_v)\n"
            "    feed_forward = 2 * d_model * d_ff + d_ff + d_model\n"
            "    norm = 2 * d_model\n"
            "    encoder_layer = attention + feed_forward + 2 * norm\n"
            "    decoder_layer = 2 * attention + feed_forward + 3 * norm\n"
            "    return n_layers * (encoder_layer + decoder_layer) + n_rows * d_model\n"
            "```\n\n"
            "With the base model's sizes and 37,000 rows it gives 63,045,632."
        ),
    )


Score = Callable[[np.ndarray], np.ndarray]


def _model(rng: np.random.Generator, fault: str) -> Score:
    """Return a model whose row t is a mean of embeddings, mapped to scores; `fault` spoils it."""
    E, W, P = rng.normal(size=(11, 5)), rng.normal(size=(5, 3)), rng.normal(size=(13, 5))

    def score(ids: np.ndarray) -> np.ndarray:
        X, n = E[np.asarray(ids, dtype=int)], len(ids)
        last = {"no mask": [n] * n, "off by one": [min(t + 2, n) for t in range(n)]}.get(
            fault, [t + 1 for t in range(n)]
        )
        if fault == "blocks":
            last = [min(3 * (t // 3) + 3, n) for t in range(n)]
        rows = np.stack([X[:end].mean(axis=0) for end in last])
        places = np.arange(n)[::-1] if fault == "from the end" else np.arange(n)
        rows = rows + P[places]
        if fault == "faint":
            rows = rows + 1e-6 * X.mean(axis=0)
        return rows @ W

    return score


def _prefix_count(score: Score, ids: np.ndarray, least: float = 1e-9, cut: int = 1) -> float:
    """Count the rows of one pass that are not the last row of the pass over their prefix."""
    at_once, wrong = score(ids), 0
    for t in range(len(ids)):
        prefix = ids[: max(t + cut, 1)]
        wrong += bool(np.abs(score(prefix)[-1] - at_once[t]).max() > least)
    return float(wrong)


def _moved_count(score: Score, ids: np.ndarray) -> float:
    """Count the rows that move when a later word is exchanged: it cannot see a length."""
    before, moved = score(ids), np.zeros(len(ids), dtype=bool)
    for j in range(1, len(ids)):
        other = np.array(ids)
        other[j] = (other[j] + 1) % 11
        moved[:j] |= np.abs(score(other)[:j] - before[:j]).max(axis=-1) > 1e-9
    return float(moved.sum())


def _prefix_case(fault: str) -> Callable[[np.random.Generator], Case]:
    def draw(rng: np.random.Generator) -> Case:
        n = int(rng.choice([5, 7, 8]))
        score, ids = _model(rng, fault), rng.permutation(11)[:n]
        return Case((score, ids), _prefix_count(score, ids))

    return draw


@register("transformer.prefix_test")
def prefix_test() -> Code:
    """Write the test that one pass is n passes."""

    def last_only(score: Score, ids: np.ndarray) -> float:
        return float(np.abs(score(ids)[-1] - score(ids[:-1])[-1]).max() > 1e-9)

    def share(score: Score, ids: np.ndarray) -> float:
        return _prefix_count(score, ids) / len(ids)

    def yes_or_no(score: Score, ids: np.ndarray) -> float:
        return float(_prefix_count(score, ids) > 0)

    def equal_rows(score: Score, ids: np.ndarray) -> float:
        return len(ids) - _prefix_count(score, ids)

    return Code(
        title="Write the test that exposes it",
        function="rows_that_differ",
        prompt=(
            "`score(ids)` is somebody's decoder with the source already inside: it takes n ids and"
            " returns scores (n, n_words). Teacher forcing trusts that one pass gives what n passes"
            " give. Test it: return how many rows t of the one pass differ from the **last row of"
            " the pass over ids 0 to t alone**. Six decoders wait on the ladder. One of them passes"
            " the test of chapter 9, in which a later word is exchanged, and is still wrong."
        ),
        stub=(
            "def rows_that_differ(score, ids):\n"
            '    """Return how many rows of one pass are not what separate passes give."""\n'
            '    raise NotImplementedError("transformer.prefix_test")\n'
        ),
        rungs=(
            Rung(
                "an honest decoder",
                _prefix_case("honest"),
                "You accused an honest decoder. Which row of which pass do you compare with row t?",
                (
                    Slip(
                        "a word too few",
                        lambda score, ids: _prefix_count(score, ids, cut=0),
                        "You accuse all rows but one. Where does the prefix of row t end, and which"
                        " row of its pass has read all of it?",
                    ),
                    Slip(
                        "rows that agree",
                        equal_rows,
                        "You counted the rows that agree. Which are asked for?",
                    ),
                    Slip(
                        "the last row against the one before",
                        last_only,
                        "You compared two different rows. Which prefix belongs to the last row?",
                    ),
                ),
                crash="Your test stopped. What does `score` take, and may it be handed no words?",
            ),
            Rung(
                "no mask",
                _prefix_case("no mask"),
                "This decoder has no mask: every row but one sees later words. You found another"
                " number. Do you look at all rows?",
                (
                    Slip(
                        "yes or no",
                        yes_or_no,
                        "You said that it is wrong. In how many rows?",
                    ),
                    Slip("a share", share, "You returned a share. How many rows is it?"),
                ),
            ),
            Rung(
                "off by one",
                _prefix_case("off by one"),
                "Its mask is off by one: row t sees word t + 1. You found another number. What does"
                " the last row see?",
            ),
            Rung(
                "blocks of three",
                _prefix_case("blocks"),
                "Here the words 0, 1, 2 see each other, then 3, 4, 5. Some rows are honest. Do you"
                " compare each row with its own prefix?",
                (
                    Slip(
                        "all or nothing",
                        lambda score, ids: (len(ids) - 1.0) * yes_or_no(score, ids),
                        "You found one wrong row and blamed all. How many are wrong?",
                    ),
                ),
            ),
            Rung(
                "a faint dependence",
                _prefix_case("faint"),
                "Later words move these rows by about a millionth. From which size on is a"
                " difference more than rounding?",
                (
                    Slip(
                        "small differences ignored",
                        lambda score, ids: _prefix_count(score, ids, least=1e-4),
                        "You let small differences pass. How large is rounding in float64?",
                    ),
                ),
            ),
            Rung(
                "places counted from the end",
                _prefix_case("from the end"),
                "Exchange a later word here, and no earlier row moves. But append one, and all do:"
                " this decoder counts its places from the end. Does your test ever change the"
                " length?",
                (
                    Slip(
                        "exchanging later words",
                        _moved_count,
                        "You exchange later words, and this decoder does not care which they"
                        " are. It"
                        " cares how many. What does a separate pass not have?",
                    ),
                ),
            ),
        ),
        hints=(
            "Run the model once on all ids, then once on every prefix.",
            "The prefix of row t is `ids[: t + 1]`, and its pass has t + 1 rows. The last is"
            " meant.",
            "Two rows differ when the largest difference is more than 1e-9.",
        ),
        solution=(
            "```python\n"
            "def rows_that_differ(score, ids):\n"
            "    at_once, count = score(ids), 0\n"
            "    for t in range(len(ids)):\n"
            "        alone = score(ids[: t + 1])[-1]\n"
            "        count += int(np.abs(alone - at_once[t]).max() > 1e-9)\n"
            "    return count\n"
            "```\n\n"
            "Two things must hold for one pass to be n passes: a row may not depend on *which*"
            " words"
            " come later, and not on *how many*."
        ),
    )
