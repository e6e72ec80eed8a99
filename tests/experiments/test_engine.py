"""The engine: parts, resuming, writing, and the same numbers on one core, two, and a cluster."""

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

from qkv.experiments import engine, experiment, experiment_names, load_result, run_experiment
from qkv.experiments.__main__ import main
from qkv.experiments.result import Result, write_atomically

SRC = Path(__file__).parents[2] / "src"


def small_sweep(seeds):
    why = experiment("why_three")
    names = ("tied", "separate", "uniform")
    return [why.Config(seeds=seeds, task="clock3", scores=name, steps=3) for name in names]


@pytest.fixture
def small(monkeypatch):
    why = experiment("why_three")
    monkeypatch.setattr(why, "sweep", small_sweep)
    return why


@pytest.mark.parametrize("name", experiment_names())
def test_an_experiment_keeps_the_contract(name):
    module = experiment(name)
    assert is_dataclass(module.Config)
    assert len(fields(module.Config)) <= 8
    assert module.Config.__dataclass_params__.frozen
    assert module.__doc__
    configs = module.sweep((0, 1))
    assert configs
    assert all(isinstance(config, module.Config) for config in configs)


NOTHING_RANDOM = {"real_search"}  # a finished model on a fixed list of sentences


@pytest.mark.parametrize("name", experiment_names())
def test_a_result_says_how_it_was_made_and_names_no_machine(name):
    result = load_result(name)
    assert len(result.seeds) >= (1 if name in NOTHING_RANDOM else 3)
    assert result.seconds > 0
    assert {"python", "numpy"} <= set(result.versions)
    assert set(result.machine) == {"system", "processor", "cores"}
    assert result.rows


def test_a_killed_run_loses_one_part_and_goes_on(small, monkeypatch, tmp_path, capsys):
    whole = run_experiment("why_three", (0, 1), folder=tmp_path / "whole")
    real, ran = small.run, []

    def dies_at_the_second(config):
        ran.append(config.scores)
        if len(ran) == 2:
            raise KeyboardInterrupt
        return real(config)

    monkeypatch.setattr(small, "run", dies_at_the_second)
    with pytest.raises(KeyboardInterrupt):
        run_experiment("why_three", (0, 1), folder=tmp_path)
    assert not (tmp_path / "why_three.json").exists()
    again = run_experiment("why_three", (0, 1), folder=tmp_path)
    assert ran == ["tied", "separate", "separate", "uniform"]
    assert again.rows == whole.rows
    assert "1 of 3 parts were done before" in capsys.readouterr().err
    assert list((tmp_path / ".why_three").iterdir()) == []


def test_other_seeds_or_changed_code_reuse_no_part(small, monkeypatch, tmp_path):
    config = small_sweep((0,))[0]
    before = engine._fingerprint(small, config)
    assert engine._fingerprint(small, small_sweep((1,))[0]) != before
    monkeypatch.setattr(engine.inspect, "getsource", lambda module: "other code")
    assert engine._fingerprint(small, config) != before


def test_a_result_comes_back_as_it_was_saved(tmp_path):
    rows = ({"seed": 1, "accuracy": 0.5}, {"seed": 0, "accuracy": 0.25, "table": [[1.0]]})
    result = Result("x", rows, (0, 1), 1.5, {"python": "3"}, {"cores": 2})
    result.save(tmp_path / "x.json")
    loaded = Result.load(tmp_path / "x.json")
    assert loaded == result
    assert loaded.column("accuracy").tolist() == [0.25, 0.5]
    with pytest.raises(LookupError, match="x has no row with"):
        loaded.column("accuracy", seed=7)


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "x.json"
    write_atomically(path, "old")
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["x.json"]


def test_an_unknown_experiment_is_told_the_known_ones():
    with pytest.raises(LookupError, match=r"no experiment 'why_tree'; there are: .*why_three"):
        experiment("why_tree")
    with pytest.raises(LookupError, match="no result of 'nothing' is stored"):
        load_result("nothing")


def test_the_command_lists_and_runs(small, tmp_path, capsys):
    assert main(["list"]) == 0
    assert "why_three" in capsys.readouterr().out
    assert main(["run", "why_three", "--seeds", "1", "--results", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert "3 rows in why_three.json" in out
    assert "3/3" in err
    assert json.loads((tmp_path / "why_three.json").read_text())["seeds"] == [0]


def test_import_needs_neither_joblib_nor_dask_nor_torch():
    code = (
        "import sys, qkv.experiments; qkv.experiments.load_result('why_three');"
        "print([m for m in ('joblib', 'dask', 'distributed', 'torch') if m in sys.modules])"
    )
    assert run_python(code).strip() == "[]"


SWEEP = """
from qkv.experiments import engine
from qkv.experiments.why_three import Config
tasks = [(i, Config(seeds=(0, 1), task="clock3", scores=s, steps=20))
         for i, s in enumerate(("tied", "separate", "symmetric", "uniform"))]
def rows(jobs, dask=""):
    parts = dict(engine._run_parts("why_three", tasks, jobs, dask))
    return [parts[i]["rows"] for i in range(len(tasks))]
"""


@pytest.mark.slow
def test_two_jobs_give_the_numbers_of_one():
    code = f"{SWEEP}\nif __name__ == '__main__':\n    assert rows(1) == rows(2)\n    print('same')"
    assert run_python(code).strip() == "same"


@pytest.mark.slow
def test_a_dask_cluster_of_two_workers_gives_the_numbers_of_one():
    pytest.importorskip("distributed", reason="dask.distributed is not installed")
    code = f"""{SWEEP}
if __name__ == '__main__':
    from dask.distributed import LocalCluster
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None,
                      host="127.0.0.1") as cluster:
        assert rows(1) == rows(1, cluster.scheduler_address)
    print('same')
"""
    assert run_python(code).strip().splitlines()[-1] == "same"


def run_python(code, timeout=240):
    """Run a script from a file: workers that are spawned import it again."""
    environment = {**os.environ, "PYTHONPATH": str(SRC), "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "script.py"
        script.write_text(code, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, str(script)],
            capture_output=True,
            text=True,
            env=environment,
            cwd=folder,
            timeout=timeout,
        )
    assert done.returncode == 0, done.stderr
    return done.stdout
