"""The base of every widget: one source, three homes.

A subclass names itself, its caption and its poster; the scripts come from ``static/`` (built by
``tools/bundle.mjs``). In a notebook anywidget runs the script. On the static page the ``text/html``
made here carries the state as JSON, a still picture and a table of numbers, and the page's own
script mounts the same widget on it without a kernel.
"""

import json
import math
from collections.abc import Callable, Iterable, Sequence
from decimal import ROUND_HALF_UP, Decimal
from html import escape
from importlib.resources import files
from typing import Any, ClassVar

import anywidget
import numpy as np
import traitlets

__all__ = ["BookWidget", "Matrix", "Vector", "html_table", "number", "static_text"]


def static_text(name: str) -> str:
    """Text of a built file in ``static/``."""
    return files("qkv.widgets").joinpath("static", name).read_text(encoding="utf-8")


class Matrix(traitlets.TraitType):
    """A trait holding a read-only float64 array in Python and nested lists on the wire.

    Every value passes through one conversion, so the integer 1 that a browser sends for 1.0 becomes
    1.0 again.

    Parameters
    ----------
    shape : tuple of int or None
        Sizes that must match; None leaves a size free.
    """

    default_value = ()
    n_axes: ClassVar[int] = 2
    kind: ClassVar[str] = "a table of numbers (rows of equal length)"

    def __init__(self, value: Any = None, shape: Sequence[int | None] | None = None, **kwargs: Any):
        self.shape = tuple(shape) if shape is not None else (None,) * self.n_axes
        if value is None:
            value = np.zeros([size or 0 for size in self.shape])
        super().__init__(default_value=_frozen(value), **kwargs)
        self.tag(sync=True, to_json=_to_json, from_json=_from_json)

    def validate(self, obj: Any, value: Any) -> np.ndarray:
        """Return the value as a read-only float64 array, or raise a TraitError in a sentence."""
        try:
            array = _frozen(value)
        except (TypeError, ValueError):
            raise traitlets.TraitError(f"{self.name} must be {self.kind}") from None
        if array.ndim != len(self.shape) or any(
            want is not None and want != size
            for want, size in zip(self.shape, array.shape, strict=True)
        ):
            want = ", ".join("any" if size is None else str(size) for size in self.shape)
            raise traitlets.TraitError(
                f"{self.name} must be {self.kind} of shape ({want}), got shape {array.shape}"
            )
        if not np.isfinite(array).all():
            raise traitlets.TraitError(f"{self.name} must hold finite numbers, got NaN or infinity")
        return array

    def set(self, obj: Any, value: Any) -> None:
        """Set the value; an equal array is no change (traitlets cannot compare arrays itself)."""
        new = np.asarray(self._validate(obj, value))
        old = np.asarray(self.get(obj))
        if old.shape == new.shape and np.array_equal(old, new):
            return
        obj._trait_values[self.name] = new
        obj._notify_trait(self.name, old, new)


class Vector(Matrix):
    """A trait holding a read-only float64 vector, a list on the wire."""

    n_axes = 1
    kind = "a list of numbers"


def _frozen(value: Any) -> np.ndarray:
    array = np.array(value, dtype=np.float64)
    array.setflags(write=False)
    return array


def _to_json(value: np.ndarray, obj: Any) -> list:
    return value.tolist()


def _from_json(value: list, obj: Any) -> np.ndarray:
    return np.array(value, dtype=np.float64)


class BookWidget(anywidget.AnyWidget):
    """A widget of the book.

    A subclass sets `name` (of its script), `_esm`, and overrides `poster`. At most six synced
    traits; anything that can be computed from them is not a trait.
    """

    name: ClassVar[str]
    _css = static_text("widgets.css")

    caption = traitlets.Unicode("", help="The sentence under the figure on the page.")

    def poster(self) -> str:
        """Return a still picture (SVG) and a table of numbers, for no JavaScript and for print."""
        raise NotImplementedError(f"{type(self).__name__} draws no poster")

    def state(self) -> dict[str, Any]:
        """Return the traits of this widget as they go over the wire."""
        own = [
            name
            for name in self.trait_names(sync=True)
            if not name.startswith("_") and name in type(self)._own_traits()
        ]
        return {name: self._trait_to_wire(name) for name in sorted(own)}

    def figure_html(self) -> str:
        """Return the static figure: state, poster, caption."""
        state = _script_json(self.state())
        return (
            f'<figure class="qkv-widget" data-qkv-widget="{escape(self.name)}">\n'
            f'<script type="application/json" class="qkv-state">{state}</script>\n'
            f'<div class="qkv-poster">\n{self.poster()}\n</div>\n'
            + (f"<figcaption>{escape(self.caption)}</figcaption>\n" if self.caption else "")
            + "</figure>"
        )

    def __repr__(self) -> str:
        """Return the class's name; an address in memory would differ from build to build."""
        return f"<{type(self).__name__} widget>"

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle = super()._repr_mimebundle_(**kwargs)
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle or {}, {})
        return {**data, "text/html": self.figure_html()}, metadata

    def _trait_to_wire(self, name: str) -> Any:
        to_json: Callable = self.trait_metadata(name, "to_json", self._trait_to_json)
        return to_json(getattr(self, name), self)

    @classmethod
    def _own_traits(cls) -> set[str]:
        return set(cls.class_trait_names()) - set(anywidget.AnyWidget.class_trait_names())


def _script_json(state: dict[str, Any]) -> str:
    """JSON that cannot end its script element or open a comment, whatever the strings in it say."""
    text = json.dumps(state, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def number(x: float, digits: int = 2) -> str:
    """Return a number as the widgets print it: fixed decimals, a true minus sign, no minus zero."""
    if math.isnan(x):
        return "undefined"
    if math.isinf(x):
        return "∞" if x > 0 else "\u2212∞"
    # Halves go up, as in JavaScript's toFixed; Python's format sends them to the even neighbour.
    size = Decimal(abs(float(x))).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    return f"\u2212{size}" if x < 0 and size != 0 else str(size)


def html_table(
    columns: Sequence[str],
    rows: Iterable[tuple[str, Sequence[float]]],
    caption: str,
    digits: int = 2,
) -> str:
    """Return a table of numbers with a header row and a header column."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    body = "".join(
        f'<tr><th scope="row">{escape(name)}</th>'
        + "".join(f"<td>{number(x, digits)}</td>" for x in values)
        + "</tr>"
        for name, values in rows
    )
    return (
        f"<table><caption>{escape(caption)}</caption>"
        f"<thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table>"
    )
