"""Train an encoder-decoder on numbers and dates; see what each part is worth (chapter 16).

English to German and French; the first source token names the language. Three hundred steps, about
twenty seconds on one core. The page trains by the same functions, or loads the weights that
``python -m qkv.experiments weights translator`` writes.
"""

from __future__ import annotations

import base64
import datetime
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from qkv import core, twins
from qkv.data.safetensors import write_safetensors
from qkv.data.translations import (
    FIRST_YEAR,
    LANGUAGES,
    LAST_YEAR,
    PAD,
    START,
    STOP,
    Translation,
    alignment_error_rate,
    date_translation,
    number_translation,
    translation_vocabulary,
)
from qkv.data.translator import PATH
from qkv.experiments.why_three import one_thread

SIZES = core.LayerSizes(d_model=64, d_ff=160, n_heads=4, d_k=12, d_v=20)
EVEN = replace(SIZES, d_k=16, d_v=16)  # the same number of weights; a key can be a value
PARTS = ("all", "W_K = W_Q", "W_V = W_K", "V = X", "V = a quarter of X", "uniform")
SHIPPED_SEED = 2
RATES = ((6e-3, 0), (1e-2, 50), (2e-2, 50))  # beside 6e-3 with a warm-up of 50 steps
MIX = (
    ("number", "fr"), ("number", "de"), ("number", "fr"), ("date", "de"),
    ("number", "fr"), ("number", "de"), ("number", "fr"), ("date", "fr"),
)  # fmt: skip
LARGEST = 99_999  # of the numbers that are trained
LONGEST = 20  # tokens that the model may write
N_TEST = 2000
FIRST_DAY = datetime.date(FIRST_YEAR, 1, 1)
N_DAYS = (datetime.date(LAST_YEAR, 12, 31) - FIRST_DAY).days + 1


@dataclass(frozen=True)
class Config:
    """One training.

    Attributes
    ----------
    seed : int
        Of the weights and of the examples.
    parts : str
        One of `PARTS`: what is learned, or what takes its place.
    rate : float
        The highest learning rate of Adam.
    warm_up : int
        Steps in which the rate rises to it; after that it falls to zero in a straight line.
    steps : int
        How many.
    batch : int
        Examples a step.
    """

    seed: int = 0
    parts: str = "all"
    rate: float = 6e-3
    warm_up: int = 50
    steps: int = 300
    batch: int = 128


@cache
def held_out() -> tuple[frozenset[int], frozenset[int]]:
    """Return the numbers (none below 100) and days, one in ten, that no training ever sees."""
    rng = np.random.default_rng(16)
    numbers = rng.choice(np.arange(100, LARGEST + 1), LARGEST // 10, replace=False)
    days = rng.choice(N_DAYS, N_DAYS // 10, replace=False)
    return frozenset(numbers.tolist()), frozenset(days.tolist())


def draw_training(rng: np.random.Generator, n: int) -> list[Translation]:
    """Return n examples to learn from; of eight, four are French numbers: they are the hardest.

    What is rare is drawn more often: zeros among the digits, and years whose halves are equal.
    """
    numbers, days = held_out()
    found: list[Translation] = []
    while len(found) < n:
        kind, language = MIX[len(found) % len(MIX)]
        if kind == "date":
            day = _drawn_day(rng)
            if day not in days:
                found.append(date_translation(_date(day), language))
        else:
            n_digits = rng.integers(1, 6)
            digits = rng.integers(0, 10, n_digits) * (rng.random(n_digits) > 0.2)
            number = int("".join(map(str, digits)))
            if number not in numbers:
                found.append(number_translation(number, language))
    return found


def draw_test(n: int = N_TEST, seed: int = 0) -> list[Translation]:
    """Return n examples that no training has seen, all equally likely, a quarter of each kind."""
    numbers, days = (sorted(held) for held in held_out())
    rng = np.random.default_rng([16, seed])
    return [
        date_translation(_date(int(rng.choice(days))), LANGUAGES[i % 2])
        if i % 4 >= 2
        else number_translation(int(rng.choice(numbers)), LANGUAGES[i % 2])
        for i in range(n)
    ]


def draw_larger(n: int = 500, seed: int = 0) -> list[Translation]:
    """Return numbers from 100,000 to 999,999: longer than any that was trained."""
    rng = np.random.default_rng([17, seed])
    return [
        number_translation(int(rng.integers(LARGEST + 1, 10 * (LARGEST + 1))), LANGUAGES[i % 2])
        for i in range(n)
    ]


def _drawn_day(rng: np.random.Generator) -> int:
    day = int(rng.integers(N_DAYS))
    if rng.random() < 0.1:
        twice = FIRST_YEAR // 100 * 101, LAST_YEAR // 100 * 101  # 1919 and 2020
        day = (datetime.date(int(rng.choice(twice)), 1, 1) - FIRST_DAY).days + day % 365
    return day


def _date(day: int) -> datetime.date:
    return FIRST_DAY + datetime.timedelta(day)


def as_ids(sentences: Sequence[Sequence[str]]) -> Tensor:
    """Return the sentences' ids, one a row, filled up with padding at the right."""
    place = _places()
    longest = max(map(len, sentences))
    rows = [[place[w] for w in words] + [PAD] * (longest - len(words)) for words in sentences]
    return torch.tensor(rows)


@cache
def _places() -> dict[str, int]:
    return {word: i for i, word in enumerate(translation_vocabulary())}


def new_model(config: Config = Config()) -> twins.Transformer:
    """Return an untrained translator: 2 + 2 layers, one table for all languages and both ends."""
    rng = np.random.default_rng([16, config.seed])
    sizes = {
        "W_V = W_K": EVEN,
        "V = a quarter of X": EVEN,
        "V = X": replace(SIZES, d_v=SIZES.d_model),
    }.get(config.parts, SIZES)
    E = rng.normal(size=(len(translation_vocabulary()), sizes.d_model)) / math.sqrt(sizes.d_model)
    encoder = tuple(core.initial_encoder_layer(rng, sizes) for _ in range(2))
    decoder = tuple(core.initial_decoder_layer(rng, sizes) for _ in range(2))
    model = twins.Transformer(core.TransformerParameters(E, E, encoder, decoder)).float()
    for attention in attentions(model):
        _put_in_place(attention, config.parts)
    if config.parts == "uniform":
        for attention in attentions(model)[3::2]:  # cross-attention
            _fix(attention.W_Q, 0.0)
    return model


def attentions(model: twins.Transformer) -> list[twins.MultiHeadAttention]:
    """Return the six attentions: two of the encoder, then self and cross of each decoder layer."""
    return [m for m in model.modules() if isinstance(m, twins.MultiHeadAttention)]


def _put_in_place(attention: twins.MultiHeadAttention, parts: str) -> None:
    """Replace what is not learned of its own."""
    if parts == "W_K = W_Q":
        attention.W_K = attention.W_Q
    elif parts == "W_V = W_K":
        attention.W_V = attention.W_K
    elif parts == "V = X":
        _fix(attention.W_V, torch.eye(SIZES.d_model))
    elif parts == "V = a quarter of X":
        quarters = torch.eye(EVEN.d_model).reshape(EVEN.d_model, EVEN.n_heads, EVEN.d_v)
        _fix(attention.W_V, quarters.transpose(0, 1))


def _fix(parameter: torch.nn.Parameter, value: Tensor | float) -> None:
    with torch.no_grad():
        parameter.copy_(torch.as_tensor(value).expand_as(parameter))
    parameter.requires_grad_(False)


def n_learned(model: twins.Transformer) -> int:
    """Return how many numbers the model learns."""
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


def rate_at(config: Config, step: int) -> float:
    """Return the learning rate of a step: up in a straight line, then down to zero."""
    if step < config.warm_up:
        return config.rate * (step + 1) / config.warm_up
    return config.rate * (config.steps - step) / (config.steps - config.warm_up)


def loss_of(model: twins.Transformer, examples: Sequence[Translation]) -> Tensor:
    """Return the mean cross-entropy of the next token, with teacher forcing."""
    source = as_ids([x.source for x in examples])
    target = as_ids([("<s>", *x.target, "</s>") for x in examples])
    scores = model(source, target[:, :-1], source_mask(source))
    return cross_entropy(scores.flatten(0, 1), target[:, 1:].flatten(), ignore_index=PAD)


def source_mask(source: Tensor) -> Tensor:
    """Return which source tokens may be looked at: all but the padding."""
    return (source != PAD)[:, None, :]


def train(
    config: Config = Config(), progress: Callable[[int, float], None] | None = None
) -> tuple[twins.Transformer, list[float]]:
    """Train one translator.

    Parameters
    ----------
    config : Config
        What and how.
    progress : function of (step, loss), optional
        Called after every step; a notebook draws its bar there.

    Returns
    -------
    model : twins.Transformer
        Trained.
    losses : list of float
        One a step, before the step.
    """
    model, rng = new_model(config), np.random.default_rng([18, config.seed])
    learned = [p for p in model.parameters() if p.requires_grad]
    optimiser = torch.optim.Adam(learned, betas=(0.9, 0.98))
    losses = []
    for step in range(config.steps):
        optimiser.param_groups[0]["lr"] = rate_at(config, step)
        loss = loss_of(model, draw_training(rng, config.batch))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
        if progress:
            progress(step + 1, losses[-1])
    return model, losses


def progress_line(total: int) -> Callable[[int, float], None]:
    """Return what `train` may call after each step: one line that is written over and over."""

    def show(step: int, loss: float) -> None:
        filled = 30 * step // total
        end = "\n" if step == total else ""
        bar = "#" * filled + "." * (30 - filled)
        print(f"\r[{bar}] step {step} of {total}, loss {loss:.3f}", end=end, flush=True)

    return show


@torch.no_grad()
def translate(
    model: twins.Transformer, sources: Sequence[Sequence[str]], longest: int = LONGEST
) -> list[tuple[str, ...]]:
    """Translate many sentences at once, always by the best next token; without start and stop."""
    source = as_ids(sources)
    mask = source_mask(source)
    memory, _ = model.encoder(twins.embed_tokens(source, model.E_source), mask)
    written = torch.full((len(sources), 1), START)
    while written.shape[1] <= longest and not (written == STOP).any(1).all():
        X = twins.embed_tokens(written, model.E_target)
        output, _, _ = model.decoder(X, memory, twins.causal_mask(X.shape[-2]), mask)
        best = twins.vocabulary_scores(output[:, -1:], model.E_target).argmax(-1)
        written = torch.cat([written, best], 1)
    words = translation_vocabulary()
    rows = [row[: row.index(STOP)] if STOP in row else row for row in written[:, 1:].tolist()]
    return [tuple(words[i] for i in row) for row in rows]


def exact(model: twins.Transformer, examples: Sequence[Translation]) -> np.ndarray:
    """Return for each example whether the translation is right in every token."""
    said = translate(model, [x.source for x in examples])
    return np.array([x.target == y for x, y in zip(examples, said, strict=True)])


@torch.no_grad()
def cross_weights(model: twins.Transformer, examples: Sequence[Translation]) -> list[np.ndarray]:
    """Return for each example its cross-attention weights, (layers, heads, 1 + n_target, n_source).

    Row t is the row that reads token t - 1 and predicts token t; row 0 reads the start symbol.
    """
    source = as_ids([x.source for x in examples])
    target = as_ids([("<s>", *x.target) for x in examples])
    steps = twins.transformer_steps(source, target, model, source_mask(source))
    weights = torch.stack(steps.cross_weights, 1).numpy()
    return [
        w[:, :, : 1 + len(x.target), : len(x.source)]
        for w, x in zip(weights, examples, strict=True)
    ]


def alignments(
    weights: Sequence[np.ndarray], examples: Sequence[Translation], row: str = "predicts"
) -> list[dict[str, float]]:
    """Score what each head looks at most against the gold alignment.

    Parameters
    ----------
    weights : list of arrays, shape (..., 1 + n_target, n_source)
        As `cross_weights` returns them; the leading axes are scored one by one.
    examples : list of Translation
        With their gold alignments.
    row : {"predicts", "reads"}
        Whether target word t is looked up in the row that predicts it, or in the row that reads
        it, one further down: the common mistake.

    Returns
    -------
    scores : list of dict
        For each entry of the leading axes: ``accuracy``, the share of words with a sure partner
        whose largest weight is on one; ``aer``, the alignment error rate over all words.
    """
    shift = {"predicts": 0, "reads": 1}[row]
    looked = [
        w.reshape(-1, *w.shape[-2:]).argmax(-1)[:, shift : shift + len(x.target)]
        for w, x in zip(weights, examples, strict=True)
    ]
    found = []
    for head in range(len(looked[0])):
        links = [set(enumerate(rows[head].tolist())) for rows in looked]
        found.append(
            {
                "accuracy": alignment_accuracy(links, examples),
                "aer": alignment_error_rate(links, examples),
            }
        )
    return found


def alignment_accuracy(
    links: Sequence[set[tuple[int, int]]], examples: Sequence[Translation]
) -> float:
    """Return the share of target words with a sure partner that are linked to one of them."""
    pairs = zip(links, examples, strict=True)
    hit = sum(len({t for t, _ in a & x.sure}) for a, x in pairs)
    return hit / sum(len({t for t, _ in x.sure}) for x in examples)


def baselines(examples: Sequence[Translation]) -> dict[str, dict[str, float]]:
    """Score two aligners that know nothing, and the best that one link a word can do.

    ``uniform`` looks everywhere alike: its accuracy is that of a link drawn at random.
    ``diagonal`` goes through the source at an even pace.
    """
    diagonal, best = [], []
    expected = total = 0.0
    for x in examples:
        n_target, n_source = len(x.target), len(x.source) - 1  # the tag is nobody's partner
        pace = np.minimum((np.arange(n_target) + 0.5) * n_source / n_target, n_source - 1e-9)
        diagonal.append({(t, 1 + int(s)) for t, s in enumerate(pace)})
        best.append({min(ties) for t in range(n_target) if (ties := _partners(x, t))})
        partners = [sum(t == u for u, _ in x.sure) for t in range(n_target)]
        expected += sum(partners) / len(x.source)
        total += sum(map(bool, partners))
    return {
        "uniform": {"accuracy": expected / total, "aer": _expected_error_rate(examples)},
        "diagonal": {
            "accuracy": alignment_accuracy(diagonal, examples),
            "aer": alignment_error_rate(diagonal, examples),
        },
        "best": {
            "accuracy": alignment_accuracy(best, examples),
            "aer": alignment_error_rate(best, examples),
        },
    }


def _partners(x: Translation, t: int) -> list[tuple[int, int]]:
    sure = [link for link in x.sure if link[0] == t]
    return sure or [link for link in x.possible if link[0] == t]


def _expected_error_rate(examples: Sequence[Translation]) -> float:
    """Return the error rate of one random link a word, each count replaced by its mean."""
    hits = sum((len(x.sure) + len(x.possible)) / len(x.source) for x in examples)
    return 1 - hits / sum(len(x.target) + len(x.sure) for x in examples)


def crossings(examples: Sequence[Translation]) -> float:
    """Return the share of sure alignments in which at least two links cross."""
    return float(np.mean([any(_cross(a, b) for a in x.sure for b in x.sure) for x in examples]))


def _cross(a: tuple[int, int], b: tuple[int, int]) -> bool:
    return (a[0] - b[0]) * (a[1] - b[1]) < 0


def without_head(model: twins.Transformer, layer: int, head: int) -> twins.Transformer:
    """Return a copy in which one head of one cross-attention writes nothing."""
    copy = twins.Transformer(model.to_core())
    cross = attentions(copy)[3::2][layer]
    d_v = cross.W_V.shape[-1]
    with torch.no_grad():
        cross.W_O[head * d_v : (head + 1) * d_v] = 0
    return copy


def run(config: Config) -> list[dict]:
    """Train one translator; one row for the whole, and one for each cross-attention head."""
    with one_thread():
        model, losses = train(config)
        test = draw_test()
        right = exact(model, test)
        common = {
            "parts": config.parts,
            "rate": config.rate,
            "warm_up": config.warm_up,
            "steps": config.steps,
            "seed": config.seed,
        }
        rows = [
            {
                **common,
                "learned": n_learned(model),
                "exact": round(float(right.mean()), 4),
                "numbers_de": round(float(right[0::4].mean()), 4),
                "numbers_fr": round(float(right[1::4].mean()), 4),
                "dates_de": round(float(right[2::4].mean()), 4),
                "dates_fr": round(float(right[3::4].mean()), 4),
                "larger": round(float(exact(model, draw_larger()).mean()), 4),
                "loss": round(float(np.mean(losses[-20:])), 5),
                "worst_loss": round(max(losses[config.steps // 2 :]), 4),
            }
        ]
        if config == Config(seed=config.seed):
            rows += [{**common, **row} for row in _rows_of_heads(model, test)]
    return rows


def _rows_of_heads(model: twins.Transformer, test: list[Translation]) -> list[dict]:
    weights = cross_weights(model, test)
    predicts, reads = (alignments(weights, test, row) for row in ("predicts", "reads"))
    rows = []
    for i, (at_predicts, at_reads) in enumerate(zip(predicts, reads, strict=True)):
        layer, head = divmod(i, SIZES.n_heads)
        less = without_head(model, layer, head)
        others = alignments(cross_weights(less, test), test)
        rows.append(
            {
                "layer": layer,
                "head": head,
                "accuracy": round(at_predicts["accuracy"], 4),
                "aer": round(at_predicts["aer"], 4),
                "accuracy_reads": round(at_reads["accuracy"], 4),
                "aer_reads": round(at_reads["aer"], 4),
                "exact_without": round(float(exact(less, test).mean()), 4),
                "best_other_accuracy": round(
                    max(o["accuracy"] for j, o in enumerate(others) if j != i), 4
                ),
            }
        )
    return rows


def sweep(seeds: tuple[int, ...]) -> list[Config]:
    """Return three seeds of every choice of parts, and of the rates; a run takes about 25 s."""
    few = seeds[:3]
    return [
        *(Config(seed=seed, parts=parts) for parts in PARTS for seed in few),
        *(Config(seed=seed, rate=rate, warm_up=warm_up) for rate, warm_up in RATES for seed in few),
    ]


def write_weights() -> list[Path]:
    """Train the translator that the book ships; write it for Python and as a script for pages."""
    with one_thread():
        model, _ = train(Config(seed=SHIPPED_SEED))
    state = {name: p.detach().numpy() for name, p in model.state_dict().items()}
    state.pop("E_target")  # the same table as E_source
    data = write_safetensors(state)
    text = base64.b64encode(data).decode()
    script = Path(str(files("qkv.widgets").joinpath("static", "translator-weights.js")))
    PATH.write_bytes(data)
    script.write_text(
        f'(globalThis.qkvBook??={{}}).translatorWeights="{text}";\n', encoding="utf-8"
    )
    return [PATH, script]
