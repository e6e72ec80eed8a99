"""Time and memory of qkv's attention beside torch's, measured on this machine in one run.

    python benchmarks/attention.py               # everything, a few minutes
    python benchmarks/attention.py --sizes 128 1024

Four ways to compute the same output: core (numpy), its twin (plain torch), torch's fused CPU kernel
and torch's math path. Times are medians of interleaved runs, so that whatever else the machine does
falls on all four alike; read the ratios. With one thread the clock is the process's own CPU time,
with two it is the wall's. Memory is the rise of the peak resident set during one call (Linux).

The measuring runs in a child process without OPENBLAS_CORETYPE and OPENBLAS_L2_SIZE, which would
choose another kernel than a reader gets, and says which kernel ran.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import threadpoolctl
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention as torch_attention

import qkv
from qkv import twins

N_HEADS, D = 8, 64
SIZES = (128, 256, 512, 1024, 2048, 4096)
LONG = 16384  # tokens of the tiled row, one head
SECONDS = 6.0  # spent on each row, about
CHOOSERS = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
Calls = dict[str, Callable[[], object]]


def main() -> None:
    """Start a child for each number of threads, or be that child."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--long", type=int, default=LONG)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--threads", type=int, nargs="+", default=(1, 2))
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return measure(options.sizes, options.long, options.seconds, options.threads[0])
    set_here = [name for name in CHOOSERS if name in os.environ]
    print(f"{' and '.join(set_here) or 'no kernel chooser'} set in this shell; the child has none")
    environment = {name: value for name, value in os.environ.items() if name not in CHOOSERS}
    environment["PYTHONPATH"] = str(Path(qkv.__file__).parents[1])
    for threads in options.threads:
        command = [sys.executable, __file__, "--child", "--threads", str(threads)]
        command += ["--long", str(options.long), "--seconds", str(options.seconds)]
        command += ["--sizes", *map(str, options.sizes)]
        pools = {"OPENBLAS_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
        subprocess.run(command, check=True, env={**environment, **pools})
    return None


def measure(sizes: Sequence[int], long: int, seconds: float, threads: int) -> None:
    """Print all tables for one number of threads."""
    torch.set_num_threads(threads)
    clock = time.process_time if threads == 1 else time.perf_counter
    print(f"\n=== {threads} thread{'s' * (threads > 1)}, float32, {N_HEADS} heads, d = {D} ===")
    for pool in threadpoolctl.threadpool_info():
        kernel = pool.get("architecture", pool["user_api"])
        print(f"{Path(pool['filepath']).name}: {kernel}, {pool['num_threads']} thread(s)")
    print(f"torch {torch.__version__}: {torch.backends.cpu.get_cpu_capability()}")
    print(f"numpy {np.__version__}; load of the machine {os.getloadavg()[0]:.1f}")

    print("\nForward")
    forward = table(sizes, forward_calls, seconds, clock)
    print("\nForward and backward (core: the hand-derived gradient)")
    table(sizes, backward_calls, seconds, clock)
    print(f"\nTime grows as n to the power (fit over n >= {max(256, min(sizes))}):")
    for name, times in forward.items():
        print(f"  {name:5} {exponent(sizes, times):.2f}")
    if threads == 1:
        print(f"\nn = {long}, one head")
        tiled_row(long, seconds, clock)


def forward_calls(n: int) -> Calls:
    """Return the four ways to compute the output."""
    q, k, v = draw(n)
    tensors = [torch.from_numpy(x)[None] for x in (q, k, v)]
    return {
        "core": lambda: qkv.scaled_dot_product_attention(q, k, v)[0],
        "twin": lambda: twins.scaled_dot_product_attention(*tensors)[0],
        "fused": lambda: with_kernel(SDPBackend.FLASH_ATTENTION, *tensors),
        "math": lambda: with_kernel(SDPBackend.MATH, *tensors),
    }


def backward_calls(n: int) -> Calls:
    """Return the four ways to compute the gradients of q, k and v from the inputs."""
    q, k, v, grad_output = draw(n, 4)
    leaves = [torch.from_numpy(x)[None].requires_grad_() for x in (q, k, v)]
    grad = torch.from_numpy(grad_output)[None]

    def of(output: torch.Tensor) -> torch.Tensor:
        return torch.autograd.grad(output, leaves, grad)[0]

    return {
        "core": lambda: qkv.attention_backward(q, k, v, grad_output)[0],
        "twin": lambda: of(twins.scaled_dot_product_attention(*leaves)[0]),
        "fused": lambda: of(with_kernel(SDPBackend.FLASH_ATTENTION, *leaves)),
        "math": lambda: of(with_kernel(SDPBackend.MATH, *leaves)),
    }


def with_kernel(backend: SDPBackend, *tensors: torch.Tensor) -> torch.Tensor:
    """Run torch's attention on one backend; it raises where that backend cannot."""
    with sdpa_kernel(backend):
        return torch_attention(*tensors)


def draw(n: int, how_many: int = 3, n_heads: int = N_HEADS) -> list[np.ndarray]:
    rng = np.random.default_rng(n)
    return [rng.normal(size=(n_heads, n, D)).astype(np.float32) for _ in range(how_many)]


def table(
    sizes: Sequence[int],
    make: Callable[[int], Calls],
    seconds: float,
    clock: Callable[[], float],
) -> dict[str, list[float]]:
    """Print one row a size and return the median times of each way."""
    print("     n     core     twin    fused     math  ms   core/fused core/math"
          "     core   twin  fused   math  MB")  # fmt: skip
    medians: dict[str, list[float]] = {}
    for n in sizes:
        calls = make(n)
        agree(calls)
        runs = interleaved(calls, seconds, clock)
        memory = {name: peak_rise(call) for name, call in calls.items()}
        times = {name: statistics.median(of_one) for name, of_one in runs.items()}
        for name, value in times.items():
            medians.setdefault(name, []).append(value)
        ratios = [ratio(runs, "core", other) for other in ("fused", "math")]
        print(
            f"{n:6}" + "".join(f"{times[name] * 1e3:9.2f}" for name in calls)
            + f"      {ratios[0]:9.2f} {ratios[1]:9.2f}  "
            + "".join(f"{memory[name]:7.0f}" for name in calls)
            + f"    {len(runs['core'])} runs",
            flush=True,
        )  # fmt: skip
    return medians


def agree(calls: Calls) -> None:
    """Stop unless all ways give the same numbers."""
    first, *others = (np.asarray(call()).squeeze() for call in calls.values())
    for other in others:
        np.testing.assert_allclose(first, other, rtol=0, atol=1e-4)


def interleaved(
    calls: Calls, seconds: float, clock: Callable[[], float], least: int = 3
) -> dict[str, list[float]]:
    """Time each call in turn, again and again, for about `seconds`."""
    runs: dict[str, list[float]] = {name: [] for name in calls}
    end = time.perf_counter() + seconds
    while len(next(iter(runs.values()))) < least or time.perf_counter() < end:
        for name, call in calls.items():
            begin = clock()
            call()
            runs[name].append(clock() - begin)
    return runs


def ratio(runs: dict[str, list[float]], one: str, other: str) -> float:
    """Return the median ratio of runs that stood next to each other."""
    return statistics.median(a / b for a, b in zip(runs[one], runs[other], strict=True))


def peak_rise(call: Callable[[], object]) -> float:
    """Return by how many MB one call lifts the peak of the resident set, or NaN off Linux."""
    try:
        libc = ctypes.CDLL("libc.so.6")
        gc.collect()
        libc.malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")  # the peak starts again from here
    except OSError:
        return float("nan")
    before = status("VmRSS")
    call()
    return (status("VmHWM") - before) / 1024


def status(field: str) -> int:
    """Return a field of this process's status, in kB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))


def exponent(sizes: Sequence[int], times: Sequence[float]) -> float:
    """Return the slope of log time over log n, without the smallest sizes if others remain."""
    pairs = [(n, t) for n, t in zip(sizes, times, strict=True) if n >= 256]
    if len(pairs) < 2:
        pairs = list(zip(sizes, times, strict=True))
    if len(pairs) < 2:
        return float("nan")
    return float(np.polyfit(*np.log(np.array(pairs)).T, 1)[0])


def tiled_row(n: int, seconds: float, clock: Callable[[], float]) -> None:
    """Print the naive and the tiled version on one long sequence."""
    q, k, v = draw(n, n_heads=1)
    calls = {
        "naive": lambda: qkv.scaled_dot_product_attention(q, k, v)[0],
        "tiled": lambda: qkv.tiled_attention(q, k, v)[0],
        "tiled causal": lambda: qkv.tiled_causal_attention(q, k, v)[0],
    }
    agree({name: calls[name] for name in ("naive", "tiled")})
    memory = {name: peak_rise(call) for name, call in calls.items()}
    runs = interleaved(calls, seconds, clock)
    for name, of_one in runs.items():
        print(
            f"  {name:12} {statistics.median(of_one):6.2f} s {memory[name]:8.1f} MB"
            f"   time x {ratio(runs, name, 'naive'):.2f}"
            f"   memory 1/{memory['naive'] / memory[name]:.0f}"
        )


if __name__ == "__main__":
    main()
