"""Where the book and its repository live. Nothing is invented: unknown means absent.

``QKV_BOOK_URL`` is the address of the published site, ``QKV_REPOSITORY_URL`` that of the repository
on GitHub. Only a deploying workflow knows them. They give the canonical links, the OpenGraph tags
and the site map, and the buttons that open a chapter's notebook on Colab or Binder.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

BRANCH = "published"
"""The branch that the deploying workflow fills with the notebooks and the wheel."""


@dataclass(frozen=True)
class Address:
    """The two addresses, empty when unknown."""

    book: str = ""
    repository: str = ""

    @classmethod
    def from_environment(cls) -> Address:
        """Read both, without their closing slashes; refuse what is not an https address."""
        values = []
        for name in ("QKV_BOOK_URL", "QKV_REPOSITORY_URL"):
            value = os.environ.get(name, "").strip().rstrip("/").removesuffix(".git")
            if value and not re.fullmatch(r"https?://[^\s/\"'<>]+(/[^\s\"'<>]*)?", value):
                raise ValueError(f"{name} must be an address such as https://…, got {value!r}")
            values.append(value)
        return cls(*values)

    @property
    def path(self) -> str:
        """Return the path of the book on its host, with a slash at both ends."""
        return urlsplit(self.book).path.rstrip("/") + "/"

    @property
    def issues(self) -> str:
        """Return where to report an error."""
        return f"{self.repository}/issues" if self.repository else ""

    def page(self, name: str) -> str:
        """Return the address of a page of the site."""
        return f"{self.book}/{quote(name)}" if self.book else ""

    def launchers(self, notebook: str) -> list[tuple[str, str]]:
        """Return (label, address) for each service that opens a notebook of the repository."""
        match = re.fullmatch(r"https://github\.com/([^/]+/[^/]+)", self.repository)
        if not match:
            return []
        path = quote(f"notebooks/{notebook}")
        return [
            (
                "Colab",
                f"https://colab.research.google.com/github/{match[1]}/blob/{BRANCH}/{path}",
            ),
            (
                "Binder",
                f"https://mybinder.org/v2/gh/{match[1]}/{BRANCH}?urlpath=lab/tree/{path}",
            ),
        ]
