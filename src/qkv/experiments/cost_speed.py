"""Time and memory of attention and of the products around it, by length (chapter 20).

Six ways to the same output, one head of width 64: numpy with all scores at once (`core`), in tiles,
in tiles with the future left out, plain torch, and torch's fused kernel, whole and causal. Then the
parts of one layer of width 256 with 4 heads: its four projections, what stands between them and the
output, and the feed-forward part.

All ways of one length are timed in turn, again and again, with one thread, on the process's own
clock: whatever else the machine does falls on all of them alike. A "seed" is one such round of
measuring, with its own random arrays. Compare times within a row of lengths, not with another
machine's. Memory is the rise of the peak resident set during one call (Linux only), with no
gradient asked for.
"""

from __future__ import annotations

import ctypes
import gc
import statistics
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch.nn.functional import scaled_dot_product_attention as torch_attention

import qkv
from qkv import twins

LENGTHS = (256, 512, 1024, 2048, 4096, 8192)
LAYER_LENGTHS = (64, 128, 256, 512, 1024, 2048, 4096)
LONG = 16384
ALL = ("core", "tiled", "tiled causal", "torch", "fused", "fused causal")
LEAN = ("tiled", "tiled causal", "fused", "fused causal")
PARTS = ("projections", "attention", "attention fused", "feed-forward")

Calls = dict[str, Callable[[], object]]


@dataclass(frozen=True)
class Config:
    """One length.

    Attributes
    ----------
    seeds : tuple of int
        Rounds of measuring.
    kind : str
        "attention" (one head or more of width 64) or "layer" (the parts of one).
    n : int
        Tokens.
    n_heads : int
        Heads; a layer always has 4.
    seconds : float
        About how long a round measures.
    """

    seeds: tuple[int, ...] = (0,)
    kind: str = "attention"
    n: int = 256
    n_heads: int = 1
    seconds: float = 1.0


def attention_calls(config: Config, rng: np.random.Generator) -> Calls:
    """Return the ways to compute the output; the longest text is left to those without n x n."""
    shape = (config.n_heads, config.n, 64)
    q, k, v = (rng.normal(size=shape).astype(np.float32) for _ in range(3))
    t_q, t_k, t_v = (torch.from_numpy(x)[None] for x in (q, k, v))
    calls: Calls = {
        "core": lambda: qkv.scaled_dot_product_attention(q, k, v)[0],
        "tiled": lambda: qkv.tiled_attention(q, k, v)[0],
        "tiled causal": lambda: qkv.tiled_causal_attention(q, k, v)[0],
        "torch": lambda: twins.scaled_dot_product_attention(t_q, t_k, t_v)[0],
        "fused": lambda: torch_attention(t_q, t_k, t_v),
        "fused causal": lambda: torch_attention(t_q, t_k, t_v, is_causal=True),
    }
    return {name: calls[name] for name in (LEAN if config.n >= LONG else ALL)}


def layer_calls(config: Config, rng: np.random.Generator) -> Calls:
    """Return the parts of a layer: d_model 256, 4 heads of 64, hidden rows of 1,024."""
    n, d = config.n, 256
    X = rng.normal(size=(n, d)).astype(np.float32)
    W = (rng.normal(size=(4, d, d)) / 16).astype(np.float32)
    hidden = rng.normal(size=(n, 4 * d)).astype(np.float32)
    W_1 = (rng.normal(size=(d, 4 * d)) / 16).astype(np.float32)
    W_2 = (rng.normal(size=(4 * d, d)) / 32).astype(np.float32)
    q, k, v = (qkv.split_heads(X @ W[i], 4) for i in range(3))
    t_q, t_k, t_v = (torch.from_numpy(np.ascontiguousarray(x))[None] for x in (q, k, v))
    return {
        "projections": lambda: [X @ W[i] for i in range(4)],
        "attention": lambda: qkv.scaled_dot_product_attention(q, k, v)[0],
        "attention fused": lambda: torch_attention(t_q, t_k, t_v),
        "feed-forward": lambda: (X @ W_1, hidden @ W_2),
    }


def run(config: Config) -> list[dict]:
    """Measure every way at one length; one row a way and round."""
    import threadpoolctl

    make = {"attention": attention_calls, "layer": layer_calls}[config.kind]
    rows = []
    with threadpoolctl.threadpool_limits(1), torch.no_grad(), _one_torch_thread():
        for seed in config.seeds:
            calls = make(config, np.random.default_rng([20, seed, config.n]))
            runs = interleaved(calls, config.seconds)
            for name, times in runs.items():
                rows.append(
                    {
                        "kind": config.kind,
                        "n": config.n,
                        "n_heads": 4 if config.kind == "layer" else config.n_heads,
                        "way": name,
                        "seed": seed,
                        "ms": round(1e3 * statistics.median(times), 4),
                        "runs": len(times),
                        "mb": peak_rise(calls[name]) if config.kind == "attention" else None,
                    }
                )
    return rows


def interleaved(calls: Calls, seconds: float, least: int = 3) -> dict[str, list[float]]:
    """Time each call in turn, again and again, for about `seconds`; the first round is thrown away.

    Parameters
    ----------
    calls : dict of str to function without arguments
    seconds : float
        On the wall's clock.
    least : int
        Rounds that are measured in any case.

    Returns
    -------
    dict of str to list of float
        Seconds of this process's own time. The same number of runs for each name, in turn.
    """
    for call in calls.values():
        call()
    runs: dict[str, list[float]] = {name: [] for name in calls}
    end = time.perf_counter() + seconds
    while len(next(iter(runs.values()))) < least or time.perf_counter() < end:
        for name, call in calls.items():
            begin = time.process_time()
            call()
            runs[name].append(time.process_time() - begin)
    return runs


def peak_rise(call: Callable[[], object]) -> float | None:
    """Return by how many MB (10^6 bytes) one call lifts the peak of resident memory, or None."""
    try:
        libc = ctypes.CDLL("libc.so.6")
        gc.collect()
        libc.malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")  # the peak starts again from here
    except OSError:
        return None
    before = _status("VmRSS")
    call()
    return round((_status("VmHWM") - before) * 1024 / 1e6, 2)


def exponent(lengths: tuple[int, ...], times: np.ndarray) -> float:
    """Return the slope of log time over log n: time grows as n to this power."""
    return float(np.polyfit(np.log(lengths), np.log(times), 1)[0])


def sweep(seeds: tuple[int, ...]) -> list[Config]:
    """Return every length; one round of a length is a part, so that its rounds lie apart."""
    rounds = []
    for seed in seeds:
        one = (seed,)
        rounds += [Config(one, "attention", n) for n in (*LENGTHS, LONG)]
        rounds += [Config(one, "attention", 1024, n_heads=8, seconds=3.0)]
        rounds += [Config(one, "layer", n) for n in LAYER_LENGTHS]
    return rounds


@contextmanager
def _one_torch_thread():  # type: ignore[no-untyped-def]
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _status(field: str) -> int:
    """Return a field of this process's status, in kB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))
