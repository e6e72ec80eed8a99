"""Why three? One attention head trained with pieces removed or tied (chapter 8).

Every token is x = E_id[id] + E_value[value], so an input is a *two-hot* row h times one table Z.
Then a head is two small tables: T = Z M Z' says where to look, U = Z W_V W_O R what to say, and

    scores = h T h' / sqrt(d_k),    output = softmax(scores) h U.

That is the same function as with x written out, and the same gradient, but ten seeds of 1,000
steps take seconds: the seeds are the leading axis of every tensor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from qkv.twins import attention_from_scores

N_IDS, N_VALUES, D_MODEL = 12, 16, 48
N_KEYS, N_SHOWN, N_ASKED = 32, 14, 5  # recall: keys there are, keys in the text, questions
BATCH, N_TEST, RATE = 32, 500, 5e-3


@dataclass(frozen=True)
class Config:
    """One setting: a task, how the scores are made, how the values are made.

    Attributes
    ----------
    seeds : tuple of int
        All are trained in one pass.
    task : str
        One of `TASKS`.
    scores : str
        One of `SCORES`: which matrix M stands in x_i M x_j.
    values : str
        One of `VALUES`: what is handed over and how it is read out.
    d_k, d_v : int
        Columns of queries and keys, and of values.
    steps : int
        Steps of Adam, each on 32 new examples.
    spread : float
        Standard deviation of the embeddings at the start.
    """

    seeds: tuple[int, ...] = (0,)
    task: str = "clock3"
    scores: str = "separate"
    values: str = "W_V"
    d_k: int = 8
    d_v: int = 8
    steps: int = 1000
    spread: float = 1.0


# --- tasks: which token holds the answer ---------------------------------------------------------


@dataclass(frozen=True)
class Task:
    """Who asks, who is there, and whose value is the answer.

    `asked(ids)` gives the place of the token that holds the answer, for each token that asks.
    In a `cross` task the queries have a table of their own, in `bare` ones no value; `add` is
    added to the value.
    """

    asked: Callable[[np.ndarray], np.ndarray]
    n_q: int = N_IDS
    n_k: int = N_IDS
    n_ids: int = N_IDS
    cross: bool = False
    bare: bool = False
    add: int = 0


def partner(ids: np.ndarray) -> np.ndarray:
    """Pairs that look at each other: 0 and 1, 2 and 3, ..."""
    return ids ^ 1


def next_of_twelve(ids: np.ndarray) -> np.ndarray:
    """One ring of twelve: each looks at the next."""
    return (ids + 1) % N_IDS


def next_of_three(ids: np.ndarray) -> np.ndarray:
    """Four rings of three: each looks at the next of its ring."""
    return 3 * (ids // 3) + (ids + 1) % 3


def next_present(ids: np.ndarray) -> np.ndarray:
    """Three hours of a clock: each looks at the next clockwise. The ids are sorted."""
    return np.broadcast_to((np.arange(3) + 1) % 3, ids.shape)


TASKS = {
    "partner": Task(partner),
    "cycle12": Task(next_of_twelve),
    "rings": Task(next_of_three),
    "clock3": Task(next_present, n_q=3, n_k=3),
    "cross partner": Task(partner, n_q=7, cross=True, bare=True),
    "cross cycle12": Task(next_of_twelve, n_q=7, cross=True, bare=True),
    "cross rings": Task(next_of_three, n_q=7, cross=True, bare=True),
    "copy": Task(partner),
    "next": Task(partner, add=1),
    "recall": Task(lambda ids: ids, n_q=N_ASKED, n_k=N_SHOWN, n_ids=N_KEYS, bare=True),
}


@dataclass(frozen=True)
class Examples:
    """Drawn examples, small whole numbers; the leading axes are (seeds, steps, examples)."""

    query_ids: Tensor
    key_ids: Tensor
    key_values: Tensor
    asked: Tensor
    targets: Tensor


def draw(task: Task, rng: np.random.Generator, *shape: int) -> Examples:
    """Draw examples of a task."""
    everyone = np.broadcast_to(np.arange(task.n_ids), (*shape, task.n_ids))
    key_ids = everyone
    if task.n_k < task.n_ids:
        key_ids = np.sort(rng.permuted(everyone, axis=-1)[..., : task.n_k], axis=-1)
    values = rng.integers(N_VALUES, size=key_ids.shape)
    if task.n_ids == N_KEYS:  # recall: some of the keys that are there are asked for
        places = rng.permuted(np.broadcast_to(np.arange(task.n_k), key_ids.shape), axis=-1)
        asked = places[..., : task.n_q]
        query_ids = np.take_along_axis(key_ids, asked, -1)
    else:
        query_ids = key_ids[..., : task.n_q]
        asked = task.asked(query_ids)
    targets = (np.take_along_axis(values, asked, -1) + task.add) % N_VALUES
    arrays = (query_ids, key_ids, values, asked, targets)
    return Examples(*(torch.from_numpy(array.astype(np.uint8)) for array in arrays))


def two_hot(ids: Tensor, values: Tensor | None, n_ids: int) -> Tensor:
    """Return rows with a 1 at the id and, unless it is bare, a 1 at the value behind the ids."""
    h = torch.eye(n_ids + N_VALUES)[ids]
    return h if values is None else h + torch.eye(n_ids + N_VALUES)[n_ids + values]


# --- what can be tied, and what removed ----------------------------------------------------------

Parameters = dict[str, Tensor]


def symmetric(M: Tensor) -> Tensor:
    """Return the symmetric matrix whose upper triangle is that of M."""
    return M.triu() + M.triu(1).mT


# Each gives (queries, keys) from the rows of two tables; `separate` and `tied` are the famous two.
SCORES: dict[str, Callable[[Parameters, Tensor, Tensor], tuple[Tensor, Tensor]]] = {
    "separate": lambda p, Z_q, Z: (Z_q @ p["W_Q"], Z @ p["W_K"]),
    "free": lambda p, Z_q, Z: (Z_q @ p["M"], Z),
    "tied": lambda p, Z_q, Z: (Z_q @ p["W"], Z @ p["W"]),
    "indefinite": lambda p, Z_q, Z: (Z_q @ p["W"] * p["signs"][:, None], Z @ p["W"]),
    "symmetric": lambda p, Z_q, Z: (Z_q @ symmetric(p["M"]), Z),
    "tied, masked": lambda p, Z_q, Z: (Z_q @ p["W"], Z @ p["W"]),
    "none": lambda p, Z_q, Z: (Z_q, Z),
    "uniform": lambda p, Z_q, Z: (0 * Z_q, Z),
}
SCORE_MATRICES = {
    "separate": ("W_Q", "W_K"),
    "free": ("M",),
    "tied": ("W",),
    "indefinite": ("W", "signs"),
    "symmetric": ("M",),
    "tied, masked": ("W",),
    "none": (),
    "uniform": (),
}

# Each gives the map from a token's row to what is said of it; R reads out, E_value' where tied.
VALUES: dict[str, Callable[[Parameters, Tensor], Tensor]] = {
    "W_V": lambda p, Z: Z @ p["W_V"] @ p["R"],
    "K = V": lambda p, Z: Z @ p["W_K"] @ p["R"],
    "V = X": lambda p, Z: Z @ p["R"],
    "no W_O": lambda p, Z: Z @ p["W_V"],
    "residual": lambda p, Z: Z @ p["W_V"] @ p["W_O"] @ p["R"],
    "stream": lambda p, Z: Z @ p["W_V"] @ p["W_O"] @ value_rows(p),
    "stream, V = X": lambda p, Z: Z @ value_rows(p),
    "stream, V = X, W_O": lambda p, Z: Z @ p["W_O"] @ value_rows(p),
    "stream, no W_O": lambda p, Z: Z @ p["W_V"] @ value_rows(p)[:, : p["W_V"].shape[-1]],
}
VALUE_MATRICES = {
    "W_V": ("W_V", "R"),
    "K = V": ("R",),
    "V = X": ("R",),
    "no W_O": ("W_V",),
    "residual": ("W_V", "W_O", "R"),
    "stream": ("W_V", "W_O"),
    "stream, V = X": (),
    "stream, V = X, W_O": ("W_O",),
    "stream, no W_O": ("W_V",),
}


def value_rows(parameters: Parameters) -> Tensor:
    """Return the transposed value embedding: a read-out that is tied to it."""
    return parameters["Z"][:, -N_VALUES:].mT


def matrix_shapes(config: Config) -> dict[str, tuple[int, ...]]:
    """Return the shape of every learned matrix of a setting, embeddings apart."""
    d, d_k, d_v = D_MODEL, config.d_k, config.d_v
    shapes: dict[str, tuple[int, ...]] = {"W_Q": (d, d_k), "W_K": (d, d_k), "W": (d, d_k)}
    shapes |= {"M": (d, d), "signs": (d_k,), "W_V": (d, d_v), "W_O": (d_v, d), "R": (d_v, N_VALUES)}
    if config.values == "no W_O":
        shapes["W_V"] = (d, N_VALUES)
    if config.values in ("V = X", "residual"):
        shapes["R"] = (d, N_VALUES)
    if config.values == "K = V":
        shapes["R"] = (d_k, N_VALUES)
    if config.values == "stream, V = X, W_O":
        shapes["W_O"] = (d, d)
    names = SCORE_MATRICES[config.scores] + VALUE_MATRICES[config.values]
    return {name: shapes[name] for name in names}


def count_weights(config: Config) -> int:
    """Return how many numbers are learned besides the embeddings; a symmetric matrix counts half.

    Examples
    --------
    >>> [count_weights(Config(scores=s)) for s in ("separate", "free", "tied", "symmetric")]
    [1280, 2816, 896, 1688]
    """
    total = sum(math.prod(shape) for shape in matrix_shapes(config).values())
    return total - (D_MODEL * (D_MODEL - 1) // 2 if config.scores == "symmetric" else 0)


def initial(config: Config, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Draw the parameters of one seed."""
    task = TASKS[config.task]
    drawn = {"Z": rng.normal(size=(task.n_ids + N_VALUES, D_MODEL)) * config.spread}
    if task.cross:
        drawn["Z_q"] = rng.normal(size=(task.n_ids + N_VALUES, D_MODEL)) * config.spread
    for name, shape in matrix_shapes(config).items():
        drawn[name] = rng.normal(size=shape) / math.sqrt(shape[0])
    if "signs" in drawn:
        drawn["signs"] = np.where(np.arange(config.d_k) % 2, -1.0, 1.0)
    return drawn


# --- the head, training, and what is measured ----------------------------------------------------


def tables(config: Config, parameters: Parameters) -> tuple[Tensor, Tensor]:
    """Return T, where to look, and U, what to say; rows and columns are ids, then values."""
    Z = parameters["Z"]
    queries, keys = SCORES[config.scores](parameters, parameters.get("Z_q", Z), Z)
    return queries @ keys.mT / math.sqrt(keys.shape[-1]), VALUES[config.values](parameters, Z)


def head(config: Config, parameters: Parameters, examples: Examples) -> tuple[Tensor, Tensor]:
    """Return what the head says, one score a value, and its weights."""
    task = TASKS[config.task]
    T, U = tables(config, parameters)
    h_k = two_hot(examples.key_ids, examples.key_values, task.n_ids)
    h_q = two_hot(examples.query_ids, None, task.n_ids) if task.bare else h_k
    flat = h_q.flatten(1, 2) @ T  # (seeds, examples * n_q, rows of Z)
    scores = flat.unflatten(1, h_q.shape[1:3]) @ h_k.mT
    mask = ~torch.eye(task.n_q, dtype=torch.bool) if config.scores == "tied, masked" else None
    v = (h_k.flatten(1, 2) @ U).unflatten(1, h_k.shape[1:3])
    output, weights = attention_from_scores(scores, v, mask)
    if config.values.startswith(("residual", "stream")):
        R = parameters["R"] if config.values == "residual" else value_rows(parameters)
        own = (h_q.flatten(1, 2) @ (parameters["Z"] @ R)).unflatten(1, h_q.shape[1:3])
        output = output + own
    return output, weights


def step_of(examples: Examples, step: int) -> Examples:
    """Return the examples of one step, for all seeds."""
    names = Examples.__dataclass_fields__
    return Examples(*(getattr(examples, name)[:, step].long() for name in names))


def stack(drawn: list[Examples]) -> Examples:
    """Join the examples of several seeds on a new first axis."""
    names = Examples.__dataclass_fields__
    return Examples(*(torch.stack([getattr(one, name) for one in drawn]) for name in names))


def stack_parameters(drawn: list[dict[str, np.ndarray]]) -> Parameters:
    """Return the parameters of several seeds, with one more axis in front for the seeds."""
    return {
        name: torch.tensor(np.stack([one[name] for one in drawn]), dtype=torch.float32)
        for name in drawn[0]
    }


def loss(output: Tensor, targets: Tensor) -> Tensor:
    """Return the mean cross-entropy of each seed, summed over the seeds: none feels another."""
    losses = torch.nn.functional.cross_entropy(
        output.flatten(0, -2), targets.flatten(), reduction="sum"
    )
    return losses / targets[0].numel()


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep torch to one thread: its results then do not depend on the machine's cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def train(config: Config) -> tuple[Parameters, Examples]:
    """Train all seeds in one pass; return the parameters and the test examples."""
    task = TASKS[config.task]
    rngs = [np.random.default_rng([8, seed]) for seed in config.seeds]
    drawn = [initial(config, rng) for rng in rngs]
    examples = stack([draw(task, rng, config.steps, BATCH) for rng in rngs])
    test = step_of(stack([draw(task, rng, 1, N_TEST) for rng in rngs]), 0)
    parameters = stack_parameters(drawn)
    adam = torch.optim.Adam([p.requires_grad_() for p in parameters.values()], RATE, fused=True)
    for step in range(config.steps):
        batch = step_of(examples, step)
        output, _ = head(config, parameters, batch)
        adam.zero_grad()
        loss(output, batch.targets).backward()
        adam.step()
    return {name: p.detach() for name, p in parameters.items()}, test


def run(config: Config) -> list[dict]:
    """Train one setting for all its seeds and measure it; one row a seed."""
    with one_thread():
        parameters, test = train(config)
        with torch.no_grad():
            output, weights = head(config, parameters, test)
    right = (output.argmax(-1) == test.targets).double().mean((-1, -2))
    at_answer = weights.gather(-1, test.asked.unsqueeze(-1)).mean((1, 2, 3))
    at_itself = weights.diagonal(dim1=-2, dim2=-1).mean((1, 2))
    rows = []
    for i, seed in enumerate(config.seeds):
        row = {
            "task": config.task,
            "scores": config.scores,
            "values": config.values,
            "d_k": config.d_k,
            "d_v": config.d_v,
            "spread": config.spread,
            "seed": seed,
            "weights": count_weights(config),
            "accuracy": round(float(right[i]), 5),
            "at_answer": round(float(at_answer[i]), 4),
            "at_itself": round(float(at_itself[i]), 4),
        }
        if seed == 0 and config.task in SHOWN and config.values == "W_V":
            row["table"] = np.round(id_scores(config, parameters)[i].double().numpy(), 2).tolist()
        rows.append(row)
    return rows


def id_scores(config: Config, parameters: Parameters) -> Tensor:
    """Return the learned scores between the ids, each with the mean value embedding."""
    with torch.no_grad():
        T, _ = tables(config, parameters)
    n_ids = TASKS[config.task].n_ids
    h = torch.zeros(n_ids, n_ids + N_VALUES)
    h[:, :n_ids] = torch.eye(n_ids)
    h[:, n_ids:] = 1 / N_VALUES
    return h @ T @ h.mT


# --- what to expect, before anything is trained --------------------------------------------------


def guess_from(n: int) -> float:
    """Return how often the best guess is right when n random values are averaged, one is asked.

    Only their counts are seen, so the best guess is the most frequent value: the expected largest
    count, divided by n.

    Examples
    --------
    >>> [round(100 * guess_from(n), 1) for n in (1, 2, 3, 4)]
    [100.0, 53.1, 39.5, 33.7]
    """
    expected = 0.0
    for shape in _partitions(n):
        if len(shape) > N_VALUES:
            continue
        ways = math.perm(N_VALUES, len(shape)) * math.factorial(n)
        for count in shape:
            ways //= math.factorial(count)
        for count in set(shape):
            ways //= math.factorial(shape.count(count))
        expected += ways / N_VALUES**n * max(shape)
    return expected / n


def _partitions(n: int, largest: int | None = None) -> list[tuple[int, ...]]:
    """Return all ways to write n as a sum of counts, largest first."""
    if n == 0:
        return [()]
    top = min(n, largest or n)
    return [(k, *rest) for k in range(top, 0, -1) for rest in _partitions(n - k, k)]


def one_lost(n: int) -> float:
    """Return the ceiling where one of n must go wrong and is then right by chance.

    Examples
    --------
    >>> print(round(100 * one_lost(12), 1), round(100 * one_lost(3), 1))
    92.2 68.8
    """
    return (n - 1) / n + 1 / (n * N_VALUES)


# --- the whole sweep -----------------------------------------------------------------------------

SHOWN = ("partner", "cycle12", "rings", "clock3")
TIED = ("separate", "free", "tied", "indefinite", "symmetric", "tied, masked", "none", "uniform")


def sweep(seeds: tuple[int, ...]) -> list[Config]:
    """Return every setting of the chapter."""
    cells = [Config(seeds, task, scores) for task in SHOWN for scores in TIED]
    cells += [Config(seeds, task, "none", spread=0.3) for task in SHOWN]
    cells += [
        Config(seeds, task, scores, "residual")
        for task in SHOWN
        for scores in ("separate", "tied", "uniform")
    ]
    cells += [
        Config(seeds, f"cross {task}", scores)
        for task in ("partner", "cycle12", "rings")
        for scores in ("separate", "tied", "uniform")
    ]
    cells += [Config(seeds, "partner", values=values) for values in ("V = X", "no W_O")]
    cells += [
        Config(seeds, "cycle12", "separate", values, d_k, d_v=8)
        for values in ("W_V", "K = V")
        for d_k in (2, 3, 4)
    ]
    streams = [name for name in VALUES if name.startswith("stream")]
    for task in ("copy", "next"):  # a read-out that is tied to the embedding wants small rows
        cells += [Config(seeds, task, values=values, spread=0.15) for values in streams]
        cells += [Config(seeds, task, values="stream", d_v=2, spread=0.15)]
        cells += [Config(seeds, task, "uniform", "stream", spread=0.15)]
    cells += [Config(seeds, "recall", d_k=d_k) for d_k in (3, 4, 16)]
    cells += [Config(seeds, "recall", values="K = V", d_k=d_k) for d_k in (4, 5, 6, 8, 16)]
    cells += [Config(seeds, "recall", scores) for scores in ("tied", "none", "uniform")]
    cells += [Config(seeds, "recall", "none", "V = X")]
    return cells
