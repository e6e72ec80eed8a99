"""A build that failed fails again until it is cured.

Sphinx saves what it has read even when a page had warnings; the next build would not read that page
again, say nothing and succeed. After a build with a warning or an error the memory is dropped.
Executed cells stay in their cache, so reading everything again is quick.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def forget_failed_build(app: Sphinx, error: Exception | None) -> None:
    """Remove the saved environment after a build that was not clean."""
    if error is not None or app._warncount:
        (Path(app.doctreedir) / "environment.pickle").unlink(missing_ok=True)


def setup(app: Sphinx) -> None:
    """Connect as the last listener, when every warning has been counted."""
    app.connect("build-finished", forget_failed_build, priority=900)
