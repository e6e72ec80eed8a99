"""What an experiment leaves behind: rows of numbers, and how, where and with what."""

from __future__ import annotations

import json
import os
import platform
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Result:
    """The rows of one experiment, and how they were made.

    Attributes
    ----------
    experiment : str
        Its name.
    rows : tuple of dict
        One row for each seed of each setting, the columns by name.
    seeds : tuple of int
        The seeds of the whole sweep.
    seconds : float
        Computing time, summed over the parts.
    versions : dict
        Of Python and of the packages that computed.
    machine : dict
        System, processor and number of cores.
    """

    experiment: str
    rows: tuple[Row, ...]
    seeds: tuple[int, ...]
    seconds: float
    versions: Mapping[str, str]
    machine: Mapping[str, Any]

    def select(self, **wanted: Any) -> tuple[Row, ...]:
        """Return the rows in which every named column has the wanted value, in order of seeds."""
        found = [r for r in self.rows if all(r.get(k) == v for k, v in wanted.items())]
        return tuple(sorted(found, key=lambda row: row.get("seed", 0)))

    def column(self, name: str, **wanted: Any) -> np.ndarray:
        """Return one column of the selected rows; an empty selection is an error."""
        found = self.select(**wanted)
        if not found:
            raise LookupError(f"{self.experiment} has no row with {wanted}")
        return np.array([row[name] for row in found])

    def save(self, path: Path) -> None:
        """Write the result to a file, all or nothing."""
        columns = list(dict.fromkeys(name for row in self.rows for name in row))
        head = {k: v for k, v in asdict(self).items() if k != "rows"} | {"columns": columns}
        lines = [json.dumps([row.get(name) for name in columns]) for row in self.rows]
        text = json.dumps(head, indent=1)[:-2] + ',\n "rows": [\n' + ",\n".join(lines) + "\n]}\n"
        write_atomically(path, text)

    @classmethod
    def load(cls, path: Path) -> Result:
        """Read a result from a file."""
        data = json.loads(path.read_text(encoding="utf-8"))
        columns = data.pop("columns")
        rows = tuple(
            {k: v for k, v in zip(columns, row, strict=True) if v is not None}
            for row in data.pop("rows")
        )
        return cls(rows=rows, seeds=tuple(data.pop("seeds")), **data)


def load_result(name: str) -> Result:
    """Return the committed result of an experiment.

    Examples
    --------
    >>> from qkv.experiments import load_result
    >>> result = load_result("why_three")
    >>> len(result.column("accuracy", task="clock3", scores="tied", values="W_V"))
    10
    """
    path = Path(str(files("qkv.experiments").joinpath("results", f"{name}.json")))
    if not path.exists():
        raise LookupError(
            f"no result of {name!r} is stored; make it: python -m qkv.experiments run {name}"
        )
    return Result.load(path)


def write_atomically(path: Path, text: str) -> None:
    """Write a file so that a reader sees the old text or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def versions(packages: Iterable[str] = ("numpy", "torch", "qkv")) -> dict[str, str]:
    """Return the versions of Python and of these packages, where they are installed."""
    found = {"python": platform.python_version()}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def machine() -> dict[str, Any]:
    """Return what the numbers were computed on; no name of the computer."""
    return {
        "system": platform.system(),
        "processor": platform.machine(),
        "cores": os.cpu_count(),
    }
