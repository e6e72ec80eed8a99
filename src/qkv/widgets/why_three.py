"""WhyThree: what one head learned with pieces tied, and why it could not learn more (chapter 8)."""

from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np
import traitlets

from qkv.core import softmax
from qkv.widgets.base import BookWidget, html_table, number, static_text

__all__ = ["WhyThree", "difference_eigenvalues"]

CAPTION = (
    "A head trained on one task with its scores tied in one way: the weights that seed 0 learned"
    " (framed: where the answer is), the results of ten seeds, and the eigenvalues of the symmetric"
    " part of its scores on differences of tokens. Hollow bars are below zero."
)
TITLES = {
    "partner": "mutual partners",
    "cycle12": "one ring of twelve",
    "rings": "rings of three",
    "clock3": "clock: three of twelve",
}
WAYS = {
    "separate": "W_Q and W_K",
    "free": "one free matrix",
    "tied": "W_Q = W_K",
    "indefinite": "symmetric, same size",
    "symmetric": "one free symmetric",
    "tied, masked": "W_Q = W_K, diagonal masked",
}
HOURS = (1, 5, 10)  # of the clock: one example of the three that are present


def difference_eigenvalues(scores: Any) -> np.ndarray:
    """Return the eigenvalues of the symmetric part of scores, on differences of tokens.

    Parameters
    ----------
    scores : array, shape (n, n)
        Every token with every token.

    Returns
    -------
    array, shape (n - 1,)
        The smallest first. None is negative if the scores are dot products of rows with themselves.

    Examples
    --------
    >>> u = np.array([[1.0, 0, 2], [0, 1, 1], [3, 1, 0], [1, 1, 1]])
    >>> bool(difference_eigenvalues(u @ u.T).min() > -1e-12)
    True
    """
    S = np.asarray(scores, dtype=np.float64)
    n = len(S)
    basis = np.zeros((n - 1, n))
    for k in range(n - 1):
        basis[k, : k + 1] = 1.0
        basis[k, k + 1] = -(k + 1.0)
        basis[k] /= np.sqrt((k + 1) * (k + 2))
    return np.linalg.eigvalsh(basis @ ((S + S.T) / 2) @ basis.T)


class WhyThree(BookWidget):
    """Learned weights, eigenvalues and outcomes of one head with pieces tied.

    Parameters
    ----------
    settings : list of dict
        One for each task and way of scoring; `from_result` makes them.
    task, scores : str
        Which of them is shown.

    Examples
    --------
    >>> from qkv.experiments import load_result
    >>> from qkv.widgets import WhyThree
    >>> widget = WhyThree.from_result(load_result("why_three"))
    >>> widget.scores, widget.numbers()["eigenvalues below zero"]
    ('tied', 0)
    """

    name = "why-three"
    _esm = static_text("why-three.mjs")

    task = traitlets.Unicode("partner").tag(sync=True)
    scores = traitlets.Unicode("tied").tag(sync=True)
    settings = traitlets.List(traitlets.Dict(), minlen=1).tag(sync=True)

    def __init__(self, **traits: Any):
        traits.setdefault("caption", CAPTION)
        super().__init__(**traits)
        self.setting()

    @classmethod
    def from_result(cls, result: Any, **traits: Any) -> "WhyThree":
        """Make the widget from the result of the experiment `why_three`.

        Parameters
        ----------
        result : qkv.experiments.Result
            As `load_result("why_three")` returns it.
        """
        settings = [_setting(result, task, scores) for task in TITLES for scores in WAYS]
        return cls(settings=settings, **traits)

    def setting(self) -> dict[str, Any]:
        """Return the setting that is shown."""
        for setting in self.settings:
            if setting["task"] == self.task and setting["scores"] == self.scores:
                return setting
        raise traitlets.TraitError(f"no setting has task {self.task!r} and scores {self.scores!r}")

    def numbers(self) -> dict[str, float]:
        """Return what the widget shows beside the table, by numpy."""
        setting = self.setting()
        S = np.array(setting["table"])
        values = difference_eigenvalues(S)
        shares = 100 * np.array(setting["accuracy"])
        return {
            "right answers, mean, %": float(shares.mean()),
            "worst seed, %": float(shares.min()),
            "best seed, %": float(shares.max()),
            "without attention, %": 100 * setting["baseline"],
            "smallest eigenvalue": float(values[0]),
            "eigenvalues below zero": int((values < -0.05).sum()),
            "antisymmetric share, %": float(100 * (((S - S.T) / 2) ** 2).sum() / (S**2).sum()),
        }

    def learned_weights(self) -> np.ndarray:
        """Return the weights of the table, by `qkv.core`."""
        S = np.array(self.setting()["table"])
        if self.scores == "tied, masked":
            S = np.where(np.eye(len(S), dtype=bool), -np.inf, S)
        return softmax(S)

    def poster(self) -> str:
        """Return the learned weights as a picture, and the numbers."""
        setting = self.setting()
        weights, names = self.learned_weights(), setting["names"]
        rows = [(name, row.tolist()) for name, row in zip(names, weights, strict=True)]
        title = f"{setting['title']}, {setting['ways']}"
        table = html_table(names, rows, f"Learned weights: {title}")
        results = html_table(["value"], [(k, [v]) for k, v in self.numbers().items()], title)
        return (
            f"{_picture(weights, setting)}<details open><summary>The numbers</summary>"
            f'{results}<div class="qkv-matrix">{table}</div></details>'
        )


def _setting(result: Any, task: str, scores: str) -> dict[str, Any]:
    rows = result.select(task=task, scores=scores, values="W_V", d_k=8, spread=1.0)
    table = np.array(rows[0]["table"], dtype=np.float64)
    ids = np.array(HOURS if task == "clock3" else range(len(table)))
    baseline = result.column("accuracy", task=task, scores="uniform", values="W_V").mean()
    return {
        "task": task,
        "title": TITLES[task],
        "scores": scores,
        "ways": WAYS[scores],
        "names": [str(i) for i in ids],
        "answers": _answers(task, ids),
        "table": table[np.ix_(ids, ids)].tolist(),
        "accuracy": [row["accuracy"] for row in rows],
        "weights": rows[0]["weights"],
        "baseline": round(float(baseline), 5),
        "foretold": _foretold(task, scores),
    }


def _answers(task: str, ids: np.ndarray) -> list[int]:
    n = len(ids)
    if task == "partner":
        return [int(i) ^ 1 for i in range(n)]
    if task == "rings":
        return [3 * (i // 3) + (i + 1) % 3 for i in range(n)]
    return [(i + 1) % n for i in range(n)]


def _foretold(task: str, scores: str) -> float | None:
    """Return the share that the two identities foretell: two or three averaged, or one lost."""
    two, three = 17 / 32, 101 / 256
    told: Mapping[str, Mapping[str, float]] = {
        "partner": {"tied": two},
        "cycle12": dict.fromkeys(("tied", "indefinite", "symmetric", "tied, masked"), 177 / 192),
        "rings": {"tied": three, "indefinite": 11 / 16, "symmetric": 11 / 16, "tied, masked": two},
        "clock3": {"tied": three, "indefinite": two, "symmetric": two, "tied, masked": two},
    }
    return told[task].get(scores)


def _picture(weights: np.ndarray, setting: Mapping[str, Any]) -> str:
    n = len(weights)
    size = 312 // n
    parts = []
    for (i, j), weight in np.ndenumerate(weights):
        x, y = 28 + size * j, 24 + size * i
        answer = setting["answers"][i] == j
        edge = (
            ' stroke="var(--qkv-ink, #1f2429)" stroke-width="2"'
            if answer
            else ' stroke="var(--qkv-line, #c3cad2)" stroke-width="0.5"'
        )
        parts.append(
            f'<rect x="{x}" y="{y}" width="{size}" height="{size}" fill="var(--qkv-w, #7a3ea8)"'
            f' fill-opacity="{0.75 * weight:.2f}"{edge}/>'
        )
    for i, name in enumerate(setting["names"]):
        middle = size * i + size / 2
        parts.append(f'<text x="{28 + middle}" y="17" text-anchor="middle">{escape(name)}</text>')
        parts.append(f'<text x="22" y="{28 + middle}" text-anchor="end">{escape(name)}</text>')
    mean = number(100 * float(np.mean(setting["accuracy"])), 1)
    label = f"Learned weights: {setting['title']}, {setting['ways']}; {mean} % right answers"
    return (
        f'<svg viewBox="0 0 344 340" width="344" height="340" role="img" font-size="12"'
        f' fill="var(--qkv-ink, #1f2429)" aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )
