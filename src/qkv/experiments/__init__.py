"""The evidence: each experiment is one file, one command, and one small committed result.

``python -m qkv.experiments run why_three --seeds 10 --jobs 2`` makes a result again. A page reads
it with ``load_result("why_three")``. An experiment is a module with three names: ``Config`` (a
frozen dataclass), ``run(config)``, which returns rows (dicts), and ``sweep(seeds)``, which returns
the configs that make up the whole.
"""

from qkv.experiments.engine import experiment, experiment_names, run_experiment
from qkv.experiments.result import Result, load_result

__all__ = ["Result", "experiment", "experiment_names", "load_result", "run_experiment"]
