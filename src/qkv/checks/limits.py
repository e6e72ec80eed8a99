"""Run a learner's code so that an endless loop or a huge array ends in a sentence.

Time: a watching thread raises `OutOfTimeError` in the thread that runs the code. It is no
`Exception`, so that a learner's ``except Exception`` does not catch it, and it is raised again
until the code gives up. Code that sits in one long call of a C library is stopped when that call
returns. Memory: on Linux the address space may grow by a few gigabytes and no further, so that
numpy refuses the array before the machine does. Elsewhere only the time is limited.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import resource
except ImportError:  # Windows has no such limits
    resource = None  # type: ignore[assignment]

SECONDS = 10.0
BYTES = 4 * 2**30
_AGAIN = 0.2
_SIZES = Path("/proc/self/statm")


class OutOfTimeError(BaseException):
    """The learner's code was still running when its time was over."""


@contextmanager
def limited(seconds: float | None = None, memory: int = BYTES) -> Iterator[None]:
    """Limit time and memory of what runs inside.

    Parameters
    ----------
    seconds : float, optional
        After so many seconds the code is stopped; ``SECONDS`` by default.
    memory : int
        By so many bytes the address space may grow; more raises ``MemoryError``.

    Raises
    ------
    OutOfTimeError
        If the time is over.

    Examples
    --------
    >>> import numpy as np
    >>> with limited(seconds=5.0):
    ...     print(np.arange(3))
    [0 1 2]
    """
    with _memory(memory), _time(SECONDS if seconds is None else seconds):
        yield


@contextmanager
def _time(seconds: float) -> Iterator[None]:
    # A plain lock, for an error may arrive at any line and a lock is taken or given in one.
    gate, ended = threading.Lock(), [False]
    thread = threading.get_ident()
    gate.acquire()

    def watch() -> None:
        armed.acquire()
        wait = seconds
        while not gate.acquire(timeout=wait):
            _raise_in(thread, OutOfTimeError)
            wait = _AGAIN
        ended[0] = True

    armed = threading.Lock()
    armed.acquire()
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        armed.release()  # from here on the time runs
        yield
    finally:
        for _ in range(2):  # the time may be over in these very lines, but not twice so soon
            try:
                while not ended[0]:
                    if gate.locked():
                        gate.release()
                    time.sleep(0)
            except OutOfTimeError:
                continue
        _raise_in(thread, None)
        watcher.join()


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    """Raise an error in a thread at its next line of Python; None takes a waiting one back."""
    raised = ctypes.py_object(error) if error is not None else None
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), raised)


@contextmanager
def _memory(extra: int) -> Iterator[None]:
    if resource is None or not _SIZES.is_file():
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    held = int(_SIZES.read_text().split()[0]) * resource.getpagesize()
    wanted = held + extra
    tighter = soft == resource.RLIM_INFINITY or wanted < soft
    if tighter:
        resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))
    try:
        yield
    finally:
        if tighter:
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
