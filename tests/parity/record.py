"""Largest differences measured by the parity tests, printed once at the end of a run."""

from collections import defaultdict

import numpy as np

COUNT: dict[str, int] = defaultdict(int)
LARGEST: dict[str, float] = defaultdict(float)
NOTES: list[str] = []


def record(what, difference):
    """Note one comparison and the largest absolute difference it saw."""
    COUNT[what] += 1
    LARGEST[what] = max(LARGEST[what], float(difference))


def note(text):
    """Keep a sentence for the end of the run."""
    NOTES.append(text)


def report(write):
    """Write everything down, and forget it."""
    for what in sorted(COUNT):
        write(f"{what}: {COUNT[what]} comparisons, largest difference {LARGEST[what]:.1e}")
    for text in NOTES:
        write(text)
    COUNT.clear()
    LARGEST.clear()
    NOTES.clear()


def close(what, actual, expected, atol):
    """Assert equal shapes and numbers equal to `atol`, and note the largest difference."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape, f"{what}: {actual.shape} against {expected.shape}"
    if actual.dtype == bool:
        assert expected.dtype == bool
        assert np.array_equal(actual, expected)
        record(what, 0.0)
        return
    np.testing.assert_allclose(actual, expected, rtol=0, atol=atol, err_msg=what)
    finite = np.isfinite(expected)
    record(what, np.abs(actual[finite] - expected[finite]).max(initial=0.0))
