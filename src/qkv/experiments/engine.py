"""Run an experiment's parts, in this process, on several cores or on a Dask cluster.

A part is one config. Its rows are written to a file as soon as they arrive, so that a run that is
killed goes on where it stopped. A finished run joins the parts and removes them.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from types import ModuleType
from typing import Any, TextIO

from qkv.experiments.result import Result, machine, versions, write_atomically

RESULTS = Path(str(files("qkv.experiments").joinpath("results")))
_NOT_EXPERIMENTS = {"__init__", "__main__", "engine", "result"}


def experiment_names() -> tuple[str, ...]:
    """Return the names of all experiments.

    Examples
    --------
    >>> from qkv.experiments import experiment_names
    >>> "why_three" in experiment_names()
    True
    """
    found = {path.stem for path in Path(__file__).parent.glob("*.py")}
    return tuple(sorted(found - _NOT_EXPERIMENTS))


def experiment(name: str) -> ModuleType:
    """Return the module of an experiment; the error names all there are."""
    if name not in experiment_names():
        raise LookupError(f"no experiment {name!r}; there are: {', '.join(experiment_names())}")
    return importlib.import_module(f"qkv.experiments.{name}")


def run_experiment(
    name: str,
    seeds: tuple[int, ...] = tuple(range(10)),
    jobs: int = 1,
    dask: str = "",
    folder: Path = RESULTS,
) -> Result:
    """Run a whole sweep, or what is left of it, and write its result.

    Parameters
    ----------
    name : str
        The experiment.
    seeds : tuple of int
        Its seeds.
    jobs : int
        How many parts run at once on this machine.
    dask : str
        The address of a Dask scheduler that runs the parts instead.
    folder : Path
        Where ``name.json`` is written.

    Returns
    -------
    Result
        What was written. The rows do not depend on `jobs` and `dask`.
    """
    module = experiment(name)
    configs = list(module.sweep(seeds))
    parts = folder / f".{name}"
    files_of_parts = [parts / f"{_fingerprint(module, config)}.json" for config in configs]
    missing = [i for i, path in enumerate(files_of_parts) if not path.exists()]
    bar = _Bar(len(configs), len(configs) - len(missing), sys.stderr)
    for i, part in _run_parts(name, [(i, configs[i]) for i in missing], jobs, dask):
        write_atomically(files_of_parts[i], json.dumps(part))
        bar.step()
    done = [json.loads(path.read_text(encoding="utf-8")) for path in files_of_parts]
    result = Result(
        experiment=name,
        rows=tuple(row for part in done for row in part["rows"]),
        seeds=tuple(seeds),
        seconds=round(sum(part["seconds"] for part in done), 1),
        versions=versions(),
        machine=machine(),
    )
    result.save(folder / f"{name}.json")
    for path in files_of_parts:
        path.unlink(missing_ok=True)
    return result


def _run_parts(
    name: str, tasks: list[tuple[int, Any]], jobs: int, dask: str
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (number, part) in the order in which the parts are finished."""
    if jobs == 1 and not dask:
        yield from (_run_part(name, i, config) for i, config in tasks)
        return
    import joblib

    with _backend(dask):
        pool = joblib.Parallel(n_jobs=-1 if dask else jobs, return_as="generator_unordered")
        yield from pool(joblib.delayed(_run_part)(name, i, config) for i, config in tasks)


def _run_part(name: str, i: int, config: Any) -> tuple[int, dict[str, Any]]:
    start = time.perf_counter()
    rows = experiment(name).run(config)
    return i, {"rows": rows, "seconds": time.perf_counter() - start}


@contextmanager
def _backend(address: str) -> Iterator[None]:
    """Send joblib's work to a Dask cluster, if an address is given."""
    if not address:
        yield
        return
    import joblib
    from dask.distributed import Client

    with Client(address), joblib.parallel_config(backend="dask"):
        yield


def _fingerprint(module: ModuleType, config: Any) -> str:
    """Name a part by its config and by the experiment's code, so that no stale part is reused."""
    text = json.dumps(asdict(config), sort_keys=True) + inspect.getsource(module)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


class _Bar:
    """How many parts are done; a bar on a terminal, a line now and then elsewhere."""

    def __init__(self, total: int, done: int, stream: TextIO):
        self.total, self.done, self.stream = total, done, stream
        self.before, self.start = done, time.perf_counter()
        if done:
            print(f"{done} of {total} parts were done before", file=stream)

    def step(self) -> None:
        """Count one part."""
        self.done += 1
        seconds = time.perf_counter() - self.start
        left = seconds / (self.done - self.before) * (self.total - self.done)
        filled = 30 * self.done // self.total
        bar = "#" * filled + "." * (30 - filled)
        text = f"[{bar}] {self.done}/{self.total}, {seconds:.0f} s, about {left:.0f} s left"
        terminal = self.stream.isatty()
        if terminal:
            end = "\n" if self.done == self.total else ""
            print(f"\r{text}   ", end=end, file=self.stream, flush=True)
        elif self.done == self.total or self.done % 10 == 0:
            print(text, file=self.stream, flush=True)
