"""Train models whose truth is known by rule; ask every method which tokens mattered.

Chapter 22. The task is that of `qkv.data.known_truth`. Two layers of attention, one layer, two
layers whose weights are frozen to be uniform, and two layers that are punished for every weight
which the question's row gives to a relevant token; one layer that counts stars alone, free and
uniform. Each model is asked by each method which tokens mattered, and the answer is compared with
the rule. About six minutes for five seeds.
"""

from __future__ import annotations

import base64
import json
import math
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from qkv.core import head_writes, same_output_directions, weighted_value_norms
from qkv.data import known_truth
from qkv.data.known_truth import (
    ANSWERS,
    BLANK,
    N_SCORED,
    PATHS,
    STAR,
    START,
    TOKENS,
    TruthModel,
    erase,
    precision,
    relevant,
    rule,
    scores_by_method,
    separation,
    truth_model_of,
)
from qkv.data.safetensors import write_safetensors
from qkv.experiments.result import load_result
from qkv.experiments.why_three import one_thread

D_MODEL, N_HEADS, D_K, D_V = 28, 2, 6, 5
POOL, BATCH, RATE = 16000, 64, 4e-3
N_TEST = 600
FINE = 2.0  # what a whole weight on a relevant token costs a "hidden" model, in nats
KINDS = ("one hop", "two hops", "count", "nothing")
SHIPPED = {"one": 1, "two": 0, "hidden": 2}  # which seed of which model the book ships

Parameters = dict[str, Tensor]
Array = np.ndarray


@dataclass(frozen=True)
class Config:
    """One setting, trained for all its seeds in one pass."""

    seeds: tuple[int, ...] = tuple(range(5))
    n_layers: int = 2
    way: str = "open"  # "open", "uniform" (weights frozen) or "hidden" (weights punished)
    steps: int = 2500
    asks: str = "all"  # which questions: "all", or "count" for stars alone


# --- the task ------------------------------------------------------------------------------------


def texts(rng: np.random.Generator, count: int, asks: str = "all") -> Array:
    """Draw texts with a question, shape (count, 10), as numbers of tokens."""
    number = {token: i for i, token in enumerate(TOKENS)}
    letters = np.arange(4)
    points_to = (letters + rng.integers(1, 4, size=(count, 4))) % 4
    pointer = np.array([[number.get(f"{a}→{b}", 0) for b in "ABCD"] for a in "ABCD"])
    told = np.where(
        rng.random((count, 4)) < 0.4,
        pointer[letters, points_to],
        5 * letters + rng.integers(5, size=(count, 4)),
    )
    told = np.where(rng.random((count, 4)) < 0.85, told, number[BLANK])
    few = np.arange(4) < rng.integers(5, size=(count, 1))
    body = np.concatenate([told, np.where(few, number[STAR], number[BLANK])], axis=1)
    start = np.full((count, 1), number[START])
    shares = [0.17] * 4 + [0.22, 0.1] if asks == "all" else [0, 0, 0, 0, 1, 0]
    asked = rng.choice(len(TOKENS) - 6 + np.arange(6), p=shares, size=(count, 1))
    return np.concatenate([start, rng.permuted(body, axis=1), asked], axis=1)


def kinds(ids: Array, truth: Array | None = None) -> Array:
    """Return the kind of each text: 0 one hop, 1 two hops, 2 count, 3 nothing is relevant."""
    hops = relevant(ids).sum(axis=-1) if truth is None else truth.sum(axis=-1)
    counts = ids[..., -1] == TOKENS.index("*?")
    return np.where(hops == 0, 3, np.where(counts, 2, np.minimum(hops, 2) - 1))


# --- the model in torch --------------------------------------------------------------------------


def shapes(config: Config) -> dict[str, tuple[int, ...]]:
    """Return the shape of every learned array of a setting."""
    found: dict[str, tuple[int, ...]] = {
        "E": (len(TOKENS), D_MODEL),
        "R": (D_MODEL, len(ANSWERS)),
    }
    for i in range(config.n_layers):
        found |= {f"{name}_{i}": (N_HEADS, D_MODEL, D_K) for name in ("W_Q", "W_K")}
        found |= {f"W_V_{i}": (N_HEADS, D_MODEL, D_V), f"W_O_{i}": (N_HEADS * D_V, D_MODEL)}
    return found


def count_weights(config: Config) -> int:
    """Return how many numbers are learned.

    Examples
    --------
    >>> from qkv.experiments.explanation import Config, count_weights
    >>> count_weights(Config()), count_weights(Config(n_layers=1))
    (3780, 2548)
    """
    return sum(math.prod(shape) for shape in shapes(config).values())


def initial(config: Config, rng: np.random.Generator) -> dict[str, Array]:
    """Draw one seed's arrays: rows of E at unit spread, matrices at 1 / sqrt(width in)."""
    return {
        name: (1.0 if name == "E" else shape[-2] ** -0.5) * rng.normal(size=shape)
        for name, shape in shapes(config).items()
    }


def forward(config: Config, p: Parameters, ids: Tensor) -> tuple[Tensor, list[Tensor]]:
    """Return scores (seeds, batch, answers) and each layer's weights of the question's row.

    The last layer is computed for the question's row alone: nobody reads the others.
    """
    X = p["E"][torch.arange(len(ids))[:, None, None], ids]
    kept = []
    for i in range(config.n_layers):
        W_Q, W_K, W_V = (p[f"{name}_{i}"][:, None] for name in ("W_Q", "W_K", "W_V"))
        asking = X[:, :, -1:] if i == config.n_layers - 1 else X
        Z = X.unsqueeze(2)
        scores = (asking.unsqueeze(2) @ W_Q) @ (Z @ W_K).mT / math.sqrt(D_K)
        weights = (0 * scores if config.way == "uniform" else scores).softmax(-1)
        heads = (weights @ (Z @ W_V)).transpose(2, 3).flatten(-2)
        X = asking + heads @ p[f"W_O_{i}"][:, None]
        kept.append(weights[..., -1, :])
    return X[:, :, -1] @ p["R"], kept


def losses(config: Config, p: Parameters, ids: Tensor, answers: Tensor, truth: Tensor) -> Tensor:
    """Return each seed's loss: cross-entropy, and for a hidden model the fine on its weights."""
    scores, kept = forward(config, p, ids)
    each = cross_entropy(scores.flatten(0, 1), answers.flatten(), reduction="none")
    loss = each.view(answers.shape).mean(1)
    if config.way == "hidden":
        for weights in kept:
            on_truth = (weights[..., :N_SCORED] * truth.unsqueeze(2)).sum(-1)
            loss = loss + FINE * on_truth.mean((1, 2))
    return loss


def train(config: Config) -> tuple[Parameters, list[Array]]:
    """Train every seed side by side; return the parameters, and each seed's texts to test on."""
    rngs = [np.random.default_rng([22, seed]) for seed in config.seeds]
    drawn = [initial(config, rng) for rng in rngs]
    p = {name: torch.tensor(np.stack([one[name] for one in drawn])).float() for name in drawn[0]}
    pools = np.stack([texts(rng, POOL + N_TEST, config.asks) for rng in rngs])
    ids, answers = torch.tensor(pools), torch.tensor(rule(pools))
    truth = torch.tensor(relevant(pools)).float()
    adam = torch.optim.Adam([x.requires_grad_() for x in p.values()], RATE, fused=True)
    falling = torch.optim.lr_scheduler.LinearLR(adam, 1.0, 0.0, total_iters=config.steps)
    which = torch.arange(len(rngs))[:, None]
    for _ in range(config.steps):
        batch = torch.tensor(np.stack([rng.integers(POOL, size=BATCH) for rng in rngs]))
        loss = losses(config, p, ids[which, batch], answers[which, batch], truth[which, batch])
        adam.zero_grad()
        loss.sum().backward()  # a mean for each seed, summed over seeds
        adam.step()
        falling.step()
    return {name: x.detach() for name, x in p.items()}, [one[POOL:] for one in pools]


def model_of(config: Config, p: Parameters, i: int) -> TruthModel:
    """Return seed number i as core runs it, in float64; uniform weights are W_Q = 0."""
    arrays = {name: x[i].double().numpy() for name, x in p.items()}
    if config.way == "uniform":
        arrays |= {name: 0 * x for name, x in arrays.items() if name.startswith("W_Q")}
    return truth_model_of(arrays)


# --- what is measured ----------------------------------------------------------------------------


def by_kind(values: Array, kind: Array) -> list[float]:
    """Return the mean of each kind of text; NaN entries are left out, and NaN stands for none."""
    return [mean_of(values[kind == i]) for i in range(3)]


def mean_of(values: Array) -> float:
    """Return the mean of the entries that are numbers; NaN if there is none."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else math.nan


def rounded(values: Any) -> Any:
    """Return nested lists of numbers with four decimals; None stands for NaN."""
    if np.ndim(values):
        return [rounded(value) for value in values]
    return None if math.isnan(values) else round(float(values), 4)


def agreement(model: TruthModel, ids: Array, truth: Array) -> dict[str, list[list[float]]]:
    """Return each method's separation and precision for the kinds that have a truth."""
    kind = kinds(ids, truth)
    found = all_scores(model, ids)
    return {
        name: [by_kind(separation(s, truth), kind), by_kind(precision(s, truth), kind)]
        for name, s in found.items()
    }


def all_scores(model: TruthModel, ids: Array) -> dict[str, Array]:
    """Return every method's scores; three ways to take a token's row away besides the blank.

    Single heads are named "head 1.1" and so on.
    """
    steps = model.steps(ids)
    found = scores_by_method(model, ids)
    for layer, weights in enumerate(steps.weights):
        for head in range(N_HEADS):
            found[f"head {layer + 1}.{head + 1}"] = weights[..., head, -1, :N_SCORED]
    found["norms alone"] = written_lengths(model, steps)
    for name, rows in (("zero", 0.0), ("mean", mean_row(model, ids)), ("swap", None)):
        found[name] = _taken_away(model, steps, rows)
    return found


def written_lengths(model: TruthModel, steps: Any) -> Array:
    """Return the length of what a token would write with the whole weight, in the last layer."""
    v, W_O = steps.layers[-1].attention.v, model.layers[-1].W_O
    full = np.ones((*v.shape[:-2], 1, v.shape[-2]))
    return weighted_value_norms(full, v, W_O)[..., 0, :N_SCORED]


def mean_row(model: TruthModel, ids: Array) -> Array:
    """Return the mean row of all tokens between start and question."""
    return np.asarray(model.E[ids[:, 1:-1]].mean(axis=(0, 1)))


def _taken_away(model: TruthModel, steps: Any, row: Array | float | None) -> Array:
    """Return how much probability is lost with another row at each place; None: of another text."""
    before = model.chance(steps.said, X=steps.X[0])
    lost = []
    for place in range(N_SCORED):
        X = steps.X[0].copy()
        X[:, place] = np.roll(X[:, place], 1, axis=0) if row is None else row
        lost.append(before - model.chance(steps.said, X=X))
    return np.stack(lost, axis=-1)


def erased_right(model: TruthModel, ids: Array) -> float:
    """Return how often the model follows the rule on texts with one token erased."""
    each = [erase(ids, place) for place in range(1, N_SCORED)]
    return float(np.mean([model.steps(e).said == rule(e) for e in each]))


def permuted(model: TruthModel, ids: Array, rng: np.random.Generator) -> list[float]:
    """Return how often the answer stays when the last layer's weights are shuffled, by kind."""
    steps = model.steps(ids)
    inside, parameters = steps.layers[-1].attention, model.layers[-1]
    weights = rng.permuted(inside.weights[:, :, -1:], axis=-1)
    written = head_writes(weights @ inside.v, parameters.W_O).sum(axis=1)
    said = ((steps.X[-2][:, -1] + written[:, 0]) @ model.R).argmax(axis=-1)
    return by_kind((said == steps.said).astype(float), kinds(ids))


def largest_move(model: TruthModel, ids: Array, count: int = 60) -> list[list[float]]:
    """Return, by kind, how far the last layer's weights can move, and in how many directions.

    The distance is half the sum of absolute differences, 1 at most; the mean over the heads.
    """
    kind = kinds(ids)
    moves, free = np.full(len(ids), np.nan), np.full(len(ids), np.nan)
    for i in range(3):
        for t in np.flatnonzero(kind == i)[:count]:
            inside = model.steps(ids[t]).layers[-1].attention
            pairs = [(w[-1], v) for w, v in zip(inside.weights, inside.v, strict=True)]
            moved = [known_truth.other_weights(w, v) for w, v in pairs]
            moves[t] = np.mean(
                [np.abs(m - w).sum() / 2 for m, (w, _) in zip(moved, pairs, strict=True)]
            )
            free[t] = np.mean([len(same_output_directions(v)) for _, v in pairs])
    return [by_kind(moves, kind), by_kind(free, kind)]


def best_head(model: TruthModel, ids: Array) -> str:
    """Return the head whose weights agree best with the truth on these texts, over the kinds."""
    found = agreement(model, ids, relevant(ids))
    heads = [name for name in found if name.startswith("head")]
    return max(heads, key=lambda name: np.nansum(found[name][0]))


def measured(config: Config, model: TruthModel, i: int, test: Array) -> dict[str, Any]:
    """Return the row of one seed."""
    truth = relevant(test)
    kind = kinds(test, truth)
    steps = model.steps(test)
    right = steps.said == rule(test)
    rows = np.stack([w[:, :, -1] for w in steps.weights])  # (layers, texts, heads, places)
    row: dict[str, Any] = {
        "n_layers": config.n_layers,
        "way": config.way,
        "steps": config.steps,
        "asks": config.asks,
        "seed": config.seeds[i],
        "weights": count_weights(config),
        "accuracy": rounded([mean_of(right[kind == k].astype(float)) for k in range(4)]),
        "erased_right": round(erased_right(model, test), 5),
        "on_truth": rounded([by_kind(on_truth(w, truth), kind) for w in rows]),
        "largest_of_nothing": rounded(rows[:, kind == 3].max(-1).mean(1)),
        "on_start": rounded([w[kind == 3, :, 0].mean(0) for w in rows]),
        "start_writes": start_writes(model, test),
    }
    if config.way == "uniform":
        return row
    rng = np.random.default_rng([22, 1, config.seeds[i]])
    found = agreement(model, test, truth)
    found["best head"] = found[best_head(model, texts(rng, 200, config.asks))]
    row["agreement"] = {name: rounded(numbers) for name, numbers in sorted(found.items())}
    row["permuted"] = rounded(permuted(model, test, rng))
    row["moves"] = rounded(largest_move(model, test))
    return row


def on_truth(weights: Array, truth: Array) -> Array:
    """Return how much weight of the question's row lies on what matters, the mean over heads."""
    return np.asarray((weights[..., :N_SCORED] * truth[:, None]).sum(-1).mean(1))


def start_writes(model: TruthModel, ids: Array) -> list[list[float]]:
    """Return the length of the start token's write over the mean of all, of each layer's heads."""
    found = []
    for layer, parameters in zip(model.steps(ids).layers, model.layers, strict=True):
        lengths = np.linalg.norm(head_writes(layer.attention.v, parameters.W_O), axis=-1)
        found.append((lengths[..., 0].mean(0) / lengths[..., :N_SCORED].mean((0, 2))).round(3))
    return [one.tolist() for one in found]


def across_seeds(models: list[TruthModel], ids: Array) -> dict[str, float]:
    """Return the mean correlation, over pairs of seeds and texts, of two methods' scores."""
    ids = ids[kinds(ids) < 3]
    by_seed = [scores_by_method(model, ids) for model in models]
    last = f"weights, layer {len(models[0].layers)}"
    found = {}
    for name, key in (("weights", last), ("erase", "erase")):
        pairs = combinations([one[key] for one in by_seed], 2)
        found[name] = round(float(np.mean([_correlation(a, b).mean() for a, b in pairs])), 4)
    return found


def _correlation(a: Array, b: Array) -> Array:
    a, b = (x - x.mean(axis=-1, keepdims=True) for x in (a, b))
    return (a * b).sum(-1) / np.sqrt((a * a).sum(-1) * (b * b).sum(-1))


def run(config: Config) -> list[dict[str, Any]]:
    """Train one setting for all its seeds and measure it; one row a seed."""
    with one_thread():
        p, tests = train(config)
        models = [model_of(config, p, i) for i in range(len(config.seeds))]
        rows = [measured(config, model, i, tests[i]) for i, model in enumerate(models)]
        if config.way != "uniform" and len(models) > 1:
            rows[0]["across_seeds"] = across_seeds(models, tests[0])
    return rows


def sweep(seeds: tuple[int, ...]) -> list[Config]:
    """Return every setting of the chapter."""
    return [
        Config(seeds),
        Config(seeds, n_layers=1),
        Config(seeds, way="uniform"),
        Config(seeds, way="hidden", steps=4000),
        Config(seeds, n_layers=1, steps=1000, asks="count"),
        Config(seeds, n_layers=1, way="uniform", steps=1000, asks="count"),
    ]


def of_seeds(method: str, kind: int, measure: int = 0, **which: Any) -> Array:
    """Return one number a seed from the committed result.

    Parameters
    ----------
    method : str
        As in `scores_by_method` and `all_scores`, or "best head".
    kind : int
        0 one hop, 1 two hops, 2 count.
    measure : int
        0 the separation, 1 the precision.
    **which
        The setting: n_layers (2 if not given), way ("open"), asks ("all").

    Returns
    -------
    array, shape (seeds,)

    Examples
    --------
    >>> from qkv.experiments.explanation import of_seeds
    >>> of_seeds("weights, layer 1", 0, n_layers=1).shape
    (5,)
    """
    setting = {"n_layers": 2, "way": "open", "asks": "all"} | which
    rows = load_result("explanation").select(**setting)
    return np.array([row["agreement"][method][measure][kind] for row in rows], dtype=float)


# --- the models that the book ships --------------------------------------------------------------


def arrays_of(model: TruthModel) -> dict[str, Array]:
    """Return a model's arrays by name."""
    arrays = {"E": model.E, "R": model.R}
    for i, layer in enumerate(model.layers):
        arrays |= {f"{n}_{i}": getattr(layer, n) for n in ("W_Q", "W_K", "W_V", "W_O")}
    return arrays


def shipped() -> dict[str, TruthModel]:
    """Train the models that the book ships again, among the five seeds they were trained with."""
    found = {}
    for name, config in zip(("two", "one", "hidden"), sweep_of_shipped(), strict=True):
        with one_thread():
            p, _ = train(config)
        found[name] = model_of(config, p, config.seeds.index(SHIPPED[name]))
    return found


def sweep_of_shipped() -> list[Config]:
    """Return the settings of the three models that the book ships: two layers, one, hidden."""
    return [config for config in sweep(Config().seeds) if config.way != "uniform"][:3]


def write_weights() -> list[Path]:
    """Train the models that the book ships; write them for Python and as a script for pages."""
    packed = {name: write_safetensors(arrays_of(model)) for name, model in shipped().items()}
    for name, data in packed.items():
        PATHS[name].write_bytes(data)
    static = Path(known_truth.__file__).parents[1] / "widgets" / "static"
    script = static / "known-truth-weights.js"
    as_text = {name: base64.b64encode(data).decode() for name, data in packed.items()}
    text = json.dumps(as_text, separators=(",", ":"))
    script.write_text(f"(globalThis.qkvBook??={{}}).knownTruth={text};\n", encoding="utf-8")
    return [*PATHS.values(), script]
