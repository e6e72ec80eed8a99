"""Train attention-only models to copy in context; find their heads, cut them, follow their paths.

Chapter 18. A text is 24 letters of 26, each at most twice and never twice in a row. Wherever a
letter stands for the second time, the row must say what followed it the first time. Rows are
embeddings plus a learned code of the place; a layer is attention alone. One layer, two, two without
the code, and two with W_K = W_Q, with and without its own place in sight. About a quarter of an
hour of one core for five seeds; every 20 steps the loss is kept, and what the heads look at.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from qkv.data.copying import PATH, READS, CopyModel, Switches, copy_model_of
from qkv.data.safetensors import write_safetensors
from qkv.experiments.result import Result, load_result
from qkv.experiments.why_three import one_thread

N_LETTERS, N, D_MODEL, D_K, D_V = 26, 24, 36, 10, 14
BATCH, RATE = 32, 2e-3
EVERY, WATCHED = 20, 50  # steps between two looks, and texts that are looked at
N_TEST = 400
TIES = ("none", "tied", "tied, masked")
SHIPPED_SEED = 0

Parameters = dict[str, Tensor]
Array = np.ndarray


@dataclass(frozen=True)
class Config:
    """One setting, trained for all its seeds in one pass."""

    seeds: tuple[int, ...] = tuple(range(5))
    n_layers: int = 2
    n_heads: int = 2
    ties: str = "none"
    code: bool = True
    steps: int = 2000


@dataclass(frozen=True)
class Texts:
    """Texts and what is asked of them.

    Attributes
    ----------
    ids : int array, shape (count, 24)
        The letters.
    answers : int array, shape (count, 24)
        What followed this letter the first time it stood there; -1 where it is new.
    firsts : int array, shape (count, 24)
        The place where this letter stood the first time; -1 where it is new.
    """

    ids: Array
    answers: Array
    firsts: Array

    def __getitem__(self, part: slice) -> Texts:
        """Return some of the texts."""
        return Texts(self.ids[part], self.answers[part], self.firsts[part])


# --- the task ------------------------------------------------------------------------------------


def texts(rng: np.random.Generator, count: int) -> Texts:
    """Draw texts: at place t a letter that stood there once comes back with probability 0.03 t."""
    ids = np.full((count, N), -1)
    seen, rows = np.zeros((count, N_LETTERS), dtype=int), np.arange(count)
    for t in range(N):
        again = seen == 1
        if t:
            again[rows, ids[:, t - 1]] = False
        back = (rng.random(count) < 0.03 * t) & again.any(axis=1)
        may = np.where(back[:, None], again, seen == 0)
        ids[:, t] = np.where(may, rng.random((count, N_LETTERS)), -1.0).argmax(axis=1)
        seen[rows, ids[:, t]] += 1
    return asked(ids)


def asked(ids: Array) -> Texts:
    """Find what each row is asked: by loop over the earlier place, as the rule says."""
    answers, firsts = np.full_like(ids, -1), np.full_like(ids, -1)
    for j in range(ids.shape[1] - 1):
        for t in range(j + 1, ids.shape[1]):
            same = (ids[:, j] == ids[:, t]) & (firsts[:, t] < 0)
            firsts[same, t] = j
            answers[same, t] = ids[same, j + 1]
    return Texts(ids, answers, firsts)


def guesses(drawn: Texts) -> dict[str, float]:
    """Return how often four rules without a model are right, as shares of what is asked."""
    right: dict[str, list[bool]] = {"bigram": [], "frequent": [], "before": []}
    one_of_seen = []
    follower = np.zeros((N_LETTERS, N_LETTERS))
    np.add.at(follower, (drawn.ids[:, :-1].ravel(), drawn.ids[:, 1:].ravel()), 1)
    most_often = np.bincount(drawn.answers[drawn.answers >= 0], minlength=N_LETTERS).argmax()
    for b, t in zip(*np.nonzero(drawn.answers >= 0), strict=True):
        letter, answer = drawn.ids[b, t], drawn.answers[b, t]
        right["bigram"].append(follower[letter].argmax() == answer)
        right["frequent"].append(most_often == answer)
        right["before"].append(drawn.ids[b, t - 1] == answer)
        one_of_seen.append(1 / len(set(drawn.ids[b, :t]) - {letter}))
    shares = {name: float(np.mean(hits)) for name, hits in right.items()}
    return shares | {"one of those seen": float(np.mean(one_of_seen)), "chance": 1 / N_LETTERS}


# --- the model in torch --------------------------------------------------------------------------


def shapes(config: Config) -> dict[str, tuple[int, ...]]:
    """Return the shape of every learned array of a setting."""
    h = config.n_heads
    found: dict[str, tuple[int, ...]] = {"E": (N_LETTERS, D_MODEL), "R": (D_MODEL, N_LETTERS)}
    if config.code:
        found["P"] = (N, D_MODEL)
    for i in range(config.n_layers):
        found |= {f"W_Q_{i}": (h, D_MODEL, D_K), f"W_K_{i}": (h, D_MODEL, D_K)}
        found |= {f"W_V_{i}": (h, D_MODEL, D_V), f"W_O_{i}": (h * D_V, D_MODEL)}
        if config.ties != "none":
            del found[f"W_K_{i}"]
    return found


def count_weights(config: Config) -> int:
    """Return how many numbers are learned.

    Examples
    --------
    >>> from qkv.experiments.two_layers import Config, count_weights
    >>> count_weights(Config()), count_weights(Config(n_layers=1, n_heads=4))
    (9648, 9648)
    """
    return sum(math.prod(shape) for shape in shapes(config).values())


def initial(config: Config, rng: np.random.Generator) -> dict[str, Array]:
    """Draw one seed's arrays: rows of E and P at unit spread, matrices at 1 / sqrt(width in)."""
    drawn = {}
    for name, shape in shapes(config).items():
        spread = 1.0 if name in ("E", "P") else shape[-2] ** -0.5
        drawn[name] = spread * rng.normal(size=shape)
    return drawn


def forward(config: Config, p: Parameters, ids: Tensor) -> tuple[Tensor, list[Tensor]]:
    """Return scores (seeds, batch, n, letters) and each layer's weights (…, n_heads, n, n)."""
    n = ids.shape[-1]
    X = p["E"][torch.arange(len(ids))[:, None, None], ids]
    if config.code:
        X = X + p["P"][:, None, :n]
    look = 0 if config.ties == "tied, masked" else 1
    hidden = torch.ones(n, n, dtype=torch.bool).triu(look)
    kept = []
    for i in range(config.n_layers):
        W_Q, W_V = p[f"W_Q_{i}"][:, None], p[f"W_V_{i}"][:, None]
        W_K = p[f"W_K_{i}"][:, None] if config.ties == "none" else W_Q
        Z = X.unsqueeze(2)
        scores = (Z @ W_Q) @ (Z @ W_K).mT / math.sqrt(D_K)
        weights = scores.masked_fill(hidden, -math.inf).softmax(-1).nan_to_num(0.0)
        heads = (weights @ (Z @ W_V)).transpose(2, 3).flatten(-2)
        X = X + heads @ p[f"W_O_{i}"][:, None]
        kept.append(weights)
    return X @ p["R"][:, None], kept


def losses(scores: Tensor, answers: Tensor) -> Tensor:
    """Return each seed's mean cross-entropy over the rows that are asked."""
    each = cross_entropy(
        scores.flatten(0, -2), answers.flatten(), ignore_index=-1, reduction="none"
    )
    return each.view(answers.shape).sum((1, 2)) / (answers >= 0).sum((1, 2))


Watch = Callable[[int, Parameters, Tensor], None]


def train(config: Config, watch: Watch | None = None) -> tuple[Parameters, list[Texts]]:
    """Train every seed side by side; return the parameters, and each seed's texts to test on."""
    rngs = [np.random.default_rng([18, seed]) for seed in config.seeds]
    drawn = [initial(config, rng) for rng in rngs]
    p = {name: torch.tensor(np.stack([one[name] for one in drawn])).float() for name in drawn[0]}
    data = [texts(rng, config.steps * BATCH + N_TEST) for rng in rngs]
    ids = torch.tensor(np.stack([one.ids for one in data]))
    answers = torch.tensor(np.stack([one.answers for one in data]))
    adam = torch.optim.Adam([x.requires_grad_() for x in p.values()], RATE, fused=True)
    falling = torch.optim.lr_scheduler.LinearLR(adam, 1.0, 0.0, total_iters=config.steps)
    for step in range(config.steps):
        part = slice(step * BATCH, (step + 1) * BATCH)
        each = losses(forward(config, p, ids[:, part])[0], answers[:, part])
        if watch and step % EVERY == 0:
            watch(step, p, each.detach())
        adam.zero_grad()
        each.sum().backward()  # a mean for each seed, summed over seeds
        adam.step()
        falling.step()
    return {name: x.detach() for name, x in p.items()}, [one[-N_TEST:] for one in data]


# --- what is measured ----------------------------------------------------------------------------


def head_looks(weights: Array, drawn: Texts) -> dict[str, Array]:
    """Return each head's mean weight on three places: what a head is called follows from them.

    Parameters
    ----------
    weights : array, shape (count, n_heads, n, n)
        Attention weights of one layer.
    drawn : Texts
        The texts they belong to.

    Returns
    -------
    looks : dict of arrays, shape (n_heads,)
        ``previous``: the place before, mean over all rows but the first. ``same``: the first place
        of the same letter, and ``induction``: the place behind it, mean over the rows asked.
    """
    b, t = np.nonzero(drawn.answers >= 0)
    first = drawn.firsts[b, t]
    return {
        "previous": weights.diagonal(-1, -2, -1).mean(axis=(0, 2)),
        "same": weights[b, :, t, first].mean(axis=0),
        "induction": weights[b, :, t, first + 1].mean(axis=0),
    }


def accuracy(model: CopyModel, drawn: Texts, switches: Switches | None = None) -> float:
    """Return the share of asked rows that say the right letter, with some paths closed."""
    said = model.steps(drawn.ids, switches).said
    return float((said == drawn.answers)[drawn.answers >= 0].mean())


def mean_writes(model: CopyModel, drawn: Texts) -> tuple[Array, Array]:
    """Return each head's mean write at each place, shape (n_heads, n, d_model) a layer."""
    one, two = model.steps(drawn.ids).writes
    return one.mean(axis=0), two.mean(axis=0)


def cut_heads(model: CopyModel, drawn: Texts, instead: Any = (0.0, 0.0)) -> Array:
    """Return the accuracy without each head, shape (2 layers, n_heads)."""
    pairs = [(layer, head) for layer in (0, 1) for head in (0, 1)]
    shares = [accuracy(model, drawn, Switches.without_head(*at, instead)) for at in pairs]
    return np.reshape(shares, (2, 2))


def cut_layers(model: CopyModel, drawn: Texts, instead: Any = (0.0, 0.0)) -> Array:
    """Return the accuracy without both heads of layer 1, and of layer 2."""
    shares = []
    for layer in (0, 1):
        heads = np.ones((2, 2))
        heads[layer] = 0
        shares.append(accuracy(model, drawn, Switches(heads=heads, instead=instead)))
    return np.array(shares)


def cut_reads(model: CopyModel, drawn: Texts, instead: Any = (0.0, 0.0)) -> Array:
    """Return the accuracy without each single read, shape (Q K V, reader, head that is read)."""
    paths = [(read, reader, head) for read in READS for reader in (0, 1) for head in (0, 1)]
    shares = [accuracy(model, drawn, Switches.without_read(*at, instead)) for at in paths]
    return np.reshape(shares, (3, 2, 2))


def cut_kinds(model: CopyModel, drawn: Texts, instead: Any, keep: bool = False) -> Array:
    """Return the accuracy without the Q, the K, the V reads of layer 1; or with that kind alone."""
    shares = []
    for kind in range(3):
        reads = np.zeros((3, 2, 2)) if keep else np.ones((3, 2, 2))
        reads[kind] = 1.0 if keep else 0.0
        shares.append(accuracy(model, drawn, Switches(reads=reads, instead=instead)))
    return np.array(shares)


def composition(model: CopyModel) -> Array:
    """Return the norms of Elhage et al. (2021), shape (Q K V, reader, head that is read).

    With M = W_Q W_K' of the reader and N = W_V W_O of the head that is read: |N M|, |M N'| and
    |N (W_V W_O of the reader)|, each divided by the norms of both factors.
    """
    one, two = model.layers
    found = np.zeros((3, 2, 2))
    for reader in (0, 1):
        M = two.W_Q[reader] @ two.W_K[reader].T
        moves = moved(two, reader)
        for head in (0, 1):
            N_one = moved(one, head)
            products = (N_one @ M, M @ N_one.T, N_one @ moves)
            sizes = (np.linalg.norm(M), np.linalg.norm(M), np.linalg.norm(moves))
            for kind, (product, size) in enumerate(zip(products, sizes, strict=True)):
                found[kind, reader, head] = np.linalg.norm(product) / (size * np.linalg.norm(N_one))
    return found


def moved(layer: Any, head: int) -> Array:
    """Return W_V W_O of one head: what it adds to the stream for a row it looks at."""
    return layer.W_V[head] @ layer.W_O.reshape(*layer.W_V.shape[:1], -1, D_MODEL)[head]


def start_norms(n: int) -> Array:
    """Return the same norms before training, for n seeds, shape (n, Q K V, reader, head)."""
    drawn = [initial(Config(), np.random.default_rng([18, seed])) for seed in range(n)]
    return np.array([composition(copy_model_of(arrays)) for arrays in drawn])


def maps(model: CopyModel) -> tuple[Array, Array]:
    """Return letter-by-letter maps: what layer 2 says for what it sees, and what it matches.

    The first has shape (n_heads, 26, 26): row a, column b is what looking at letter a adds to the
    score of letter b. The second has shape (reader, head, 26, 26): row a, column b is the dot
    product of a query of letter a with a key into which `head` of layer 1 has written letter b.
    """
    one, two = model.layers
    says = [model.E @ moved(two, reader) @ model.R for reader in (0, 1)]
    written = [model.E @ moved(one, head) for head in (0, 1)]
    match = [
        [model.E @ two.W_Q[reader] @ (w @ two.W_K[reader]).T for w in written] for reader in (0, 1)
    ]
    return np.array(says), np.array(match)


def on_diagonal(table: Array) -> Array:
    """Return the share of rows whose largest entry stands on the diagonal."""
    return (table.argmax(axis=-1) == np.arange(table.shape[-1])).mean(axis=-1)


def model_of(config: Config, p: Parameters, i: int) -> CopyModel:
    """Return seed number i of a two-layer setting as core runs it, in float64."""
    arrays = {name: x[i].double().numpy() for name, x in p.items()}
    arrays.setdefault("P", np.zeros((N, D_MODEL)))
    for layer in (0, 1):
        arrays.setdefault(f"W_K_{layer}", arrays[f"W_Q_{layer}"])
    model = copy_model_of(arrays)
    return CopyModel(model.E, model.P, model.layers, model.R, config.ties != "tied, masked")


def inside(model: CopyModel, drawn: Texts) -> dict[str, Any]:
    """Return everything that is cut out of, and measured in, one two-layer model."""
    mean = mean_writes(model, drawn)
    found = {
        "cut_zero": cut_heads(model, drawn),
        "cut_mean": cut_heads(model, drawn, mean),
        "cut_reads": cut_reads(model, drawn, mean),
        "without_kind": cut_kinds(model, drawn, mean),
        "only_kind": cut_kinds(model, drawn, mean, keep=True),
        "composition": composition(model),
        "says_it": on_diagonal(maps(model)[0]),
        "matches_it": on_diagonal(maps(model)[1]),
        "cut_layer": cut_layers(model, drawn, mean),
    }
    return {name: array.round(4).tolist() for name, array in found.items()}


def run(config: Config) -> list[dict[str, Any]]:
    """Train one setting for all its seeds and measure it; one row a seed."""
    watched = texts(np.random.default_rng([18, 0, 0]), WATCHED)
    ids = torch.tensor(np.stack([watched.ids] * len(config.seeds)))
    curves: dict[str, list[list[float]]] = {"loss": [], "previous": [], "induction": []}

    def watch(step: int, p: Parameters, each: Tensor) -> None:
        with torch.no_grad():
            kept = forward(config, p, ids)[1]
        curves["loss"].append(each.tolist())
        for name, weights in (("previous", kept[0]), ("induction", kept[-1])):
            looks = [head_looks(one.double().numpy(), watched)[name] for one in weights]
            curves[name].append([float(heads.max()) for heads in looks])

    with one_thread():
        p, tests = train(config, watch)
        rows = [measured(config, p, i, tests[i]) for i in range(len(config.seeds))]
    for i, row in enumerate(rows):
        row["curves"] = {n: [round(at[i], 3) for at in curve] for n, curve in curves.items()}
    return rows


def measured(config: Config, p: Parameters, i: int, test: Texts) -> dict[str, Any]:
    """Return the row of one seed."""
    with torch.no_grad():
        of_seed = {name: x[i : i + 1] for name, x in p.items()}
        scores, kept = forward(config, of_seed, torch.tensor(test.ids)[None])
    right = scores[0].argmax(-1).numpy() == test.answers
    looks = [head_looks(weights[0].double().numpy(), test) for weights in kept]
    row: dict[str, Any] = {
        "n_layers": config.n_layers,
        "n_heads": config.n_heads,
        "ties": config.ties,
        "code": config.code,
        "steps": config.steps,
        "seed": config.seeds[i],
        "weights": count_weights(config),
        "accuracy": round(float(right[test.answers >= 0].mean()), 4),
    }
    for name in looks[0]:
        row[name] = [layer[name].round(3).tolist() for layer in looks]
    if config.n_layers == 2:
        row |= inside(model_of(config, p, i), test)
    return row


# --- the whole sweep, and the model that the book ships ------------------------------------------


def sweep(seeds: tuple[int, ...]) -> list[Config]:
    """Return every setting of the chapter."""
    tied = [Config(seeds, ties=ties, steps=steps) for steps in (2000, 4000) for ties in TIES[1:]]
    one = [Config(seeds, 1, n_heads) for n_heads in (2, 4)]
    return [Config(seeds), *one, Config(seeds, 1, 4, steps=4000), Config(seeds, code=False), *tied]


@cache
def kept() -> Result:
    """Return the committed result, read once."""
    return load_result("two_layers")


def of_seeds(name: str, **way: Any) -> Array:
    """Return what was kept of each seed in one setting; what is not named is as in `Config`.

    Examples
    --------
    >>> from qkv.experiments.two_layers import of_seeds
    >>> of_seeds("accuracy").shape, of_seeds("composition", ties="tied").shape
    ((5,), (5, 3, 2, 2))
    """
    setting = asdict(Config(**way))
    del setting["seeds"]
    return kept().column(name, **setting)


def arrays_of(model: CopyModel) -> dict[str, Array]:
    """Return a model's arrays by name."""
    arrays = {"E": model.E, "P": model.P, "R": model.R}
    for i, layer in enumerate(model.layers):
        arrays |= {f"{n}_{i}": getattr(layer, n) for n in ("W_Q", "W_K", "W_V", "W_O")}
    return arrays


def write_weights() -> list[Path]:
    """Train the model that the book ships; write it for Python and as a script for pages."""
    config = Config()
    with one_thread():
        p, _ = train(config)
    data = write_safetensors(arrays_of(model_of(config, p, config.seeds.index(SHIPPED_SEED))))
    text = base64.b64encode(data).decode()
    script = Path(str(files("qkv.widgets").joinpath("static", "two-layers-weights.js")))
    PATH.write_bytes(data)
    script.write_text(f'(globalThis.qkvBook??={{}}).twoLayers="{text}";\n', encoding="utf-8")
    return [PATH, script]
