"""Transpose or pseudo-inverse of an embedding table: how far apart, and which finds the word.

Tables: the real one of all-MiniLM-L6-v2 (30,522 words by 384 columns), and normal random numbers of
the same shape (chapter 14). Rows to read out: a word's own row, and the row with noise added, as
long as a given multiple of the row. A "seed" draws the random table, the noise and 1,000 words.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qkv.data.minilm import minilm

TABLES = ("trained", "random")
NOISES = (0.0, 0.5, 1.0, 2.0)
N_ROWS = 1000


@dataclass(frozen=True)
class Config:
    """One table.

    Attributes
    ----------
    seeds : tuple of int
        Numbers of draws.
    table : str
        "trained" or "random".
    """

    seeds: tuple[int, ...] = (0,)
    table: str = "trained"


def pseudo_inverse(E: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the pseudo-inverse (d, V) of a table of full rank, and its singular values.

    The table is tall, so E⁺ = (EᵀE)⁻¹ Eᵀ, and a d x d matrix is all there is to take apart.
    """
    squares, directions = np.linalg.eigh(E.T @ E)
    return (directions / squares) @ directions.T @ E.T, np.sqrt(squares)


def distance(sizes: np.ndarray) -> float:
    r"""Return what is left of the pseudo-inverse when the best multiple of the transpose is gone.

    With singular values s the share is sqrt(1 - d² / (sum of s² · sum of 1/s²)).
    """
    return float(np.sqrt(1 - len(sizes) ** 2 / ((sizes**2).sum() * (sizes**-2.0).sum())))


def first(rows: np.ndarray, read_out: np.ndarray, words: np.ndarray) -> float:
    """Return how often the largest score of a row is that of its word."""
    return float(((rows @ read_out).argmax(axis=-1) == words).mean())


def run(config: Config) -> list[dict]:
    """Measure one table for each seed and each noise."""
    trained = minilm().E.astype(np.float64)
    rows = []
    for seed in config.seeds:
        rng = np.random.default_rng([14, seed])
        E = trained if config.table == "trained" else rng.normal(size=trained.shape)
        inverse, sizes = pseudo_inverse(E)
        words = rng.choice(len(E), size=N_ROWS, replace=False)
        noise = rng.normal(size=(N_ROWS, E.shape[1]))
        noise *= np.linalg.norm(E[words], axis=1, keepdims=True)
        noise /= np.linalg.norm(noise, axis=1, keepdims=True)
        for size in NOISES:
            given = E[words] + size * noise
            rows.append(
                {
                    "table": config.table,
                    "noise": size,
                    "seed": seed,
                    "n_words": len(E),
                    "d_model": E.shape[1],
                    "distance": round(distance(sizes), 4),
                    "largest": float(f"{sizes[-1]:.4g}"),
                    "smallest": float(f"{sizes[0]:.4g}"),
                    "transpose": first(given, E.T, words),
                    "pseudo_inverse": first(given, inverse, words),
                }
            )
    return rows


def sweep(seeds: tuple[int, ...]) -> list[Config]:
    """Return both tables, one seed a part."""
    return [Config((seed,), table) for table in TABLES for seed in seeds]
