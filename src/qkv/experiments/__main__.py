"""The command: ``python -m qkv.experiments list`` and ``... run NAME`` and ``... weights NAME``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from qkv.experiments.engine import RESULTS, experiment, experiment_names, run_experiment

WITH_WEIGHTS = (
    "translator",
    "two_layers",
    "images",
)  # experiments with a function `write_weights`


def main(arguments: list[str] | None = None) -> int:
    """Read the command line and do what it says."""
    parser = argparse.ArgumentParser(prog="python -m qkv.experiments", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="name the experiments")
    run = commands.add_parser("run", help="make a result again, or go on with a run that stopped")
    run.add_argument("name", choices=experiment_names())
    run.add_argument("--seeds", type=int, default=10, help="how many, counted from 0 (default 10)")
    run.add_argument("--jobs", type=int, default=1, help="how many parts at once (default 1)")
    run.add_argument("--dask", default="", metavar="ADDRESS", help="run on this Dask scheduler")
    run.add_argument("--results", type=Path, default=RESULTS, help="folder of the result")
    weights = commands.add_parser("weights", help="train again what the book ships, and write it")
    weights.add_argument("name", choices=[n for n in experiment_names() if n in WITH_WEIGHTS])
    given = parser.parse_args(arguments)
    if given.command == "list":
        for name in experiment_names():
            print(f"{name:<14} {(experiment(name).__doc__ or '').strip().splitlines()[0]}")
        return 0
    if given.command == "weights":
        for path in experiment(given.name).write_weights():
            print(f"{path.name}: {path.stat().st_size:,} bytes")
        return 0
    seeds = tuple(range(given.seeds))
    result = run_experiment(given.name, seeds, given.jobs, given.dask, given.results)
    print(f"{len(result.rows)} rows in {given.name}.json, {result.seconds:.0f} s of computing")
    return 0


if __name__ == "__main__":
    sys.exit(main())
