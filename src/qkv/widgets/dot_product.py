"""DotProduct: two vectors that the reader moves, and the arithmetic that follows (chapter 2)."""

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
import traitlets

from qkv.core import cosine_similarity, dot_product, vector_length
from qkv.widgets.base import BookWidget, Vector, html_table, number, static_text

__all__ = ["DotProduct", "plane_of"]

TURN = math.radians(20)  # the first vector of a pair; off the axes, so that no product is empty
LIMITS = (1, 1.5, 2, 3, 4, 5, 8, 10)

EXAMPLES = (
    {"name": "acute angle", "x": [3, 1], "y": [1, 2]},
    {"name": "right angle", "x": [3, 1], "y": [-1, 3]},
    {"name": "obtuse angle", "x": [3, 1], "y": [-2, 1]},
    {"name": "same direction", "x": [3, 1], "y": [1.5, 0.5]},
    {"name": "opposed", "x": [3, 1], "y": [-1.5, -0.5]},
)

CAPTION = (
    "Two vectors, their dot product, and the shadow of one on the other. On the shaded side"
    " the dot product is negative."
)
WORDS_CAPTION = (
    "Two word vectors in the plane that they span: lengths, dot product and cosine are exactly"
    " those of the full vectors. On the shaded side the dot product is negative."
)


def plane_of(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return two vectors of any width as they lie in the plane they span.

    Gram and Schmidt: the first axis points along `a`, the second along what `b` has besides `a`.
    Then the plane is turned by 20 degrees. Lengths, dot product and cosine stay as they were.

    Parameters
    ----------
    a, b : array, shape (d,)
        Two vectors; `a` may not be zero.

    Returns
    -------
    x, y : array, shape (2,)
        Their coordinates in the plane.

    Examples
    --------
    >>> x, y = plane_of([2, 0, 0, 1], [1, 1, 3, 0])
    >>> print(round(float(x @ y), 12), round(float(y @ y), 12))
    2.0 11.0
    """
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    length = vector_length(a)
    if length == 0:
        raise ValueError("the first vector has length 0; a plane needs a first direction")
    along = dot_product(a, b) / length
    across = vector_length(b - along * a / length)
    turn = np.array(
        [[math.cos(TURN), math.sin(TURN)], [-math.sin(TURN), math.cos(TURN)]], dtype=np.float64
    )
    return np.array([length, 0.0]) @ turn, np.array([along, across]) @ turn


class DotProduct(BookWidget):
    """Two vectors in a plane: dot product, lengths, cosine, and the shadow of one on the other.

    Parameters
    ----------
    x, y : array, shape (2,)
        The vectors. By default the first of `pairs`.
    labels : list of str
        Their names.
    pairs : list of dict
        Pairs to choose from: ``{"labels": ["cat", "dog"], "x": [...], "y": [...]}``, and a
        ``"name"`` for the list if "cat · dog" will not do.
    onto : {"x", "y", "none"}
        Which vector the shadow falls on.

    Examples
    --------
    >>> from qkv.widgets import DotProduct
    >>> widget = DotProduct(x=[3, 1], y=[1, 2])
    >>> print(widget.numbers()["dot product"])
    5.0
    """

    name = "dot-product"
    _esm = static_text("dot-product.mjs")

    x = Vector(shape=(2,))
    y = Vector(shape=(2,))
    labels = traitlets.List(traitlets.Unicode(), ["x", "y"], minlen=2, maxlen=2).tag(sync=True)
    pairs = traitlets.List(traitlets.Dict()).tag(sync=True)
    onto = traitlets.Enum(["x", "y", "none"], "x").tag(sync=True)

    def __init__(self, **traits: Any):
        traits.setdefault("pairs", [] if {"x", "y"} & traits.keys() else EXAMPLES)
        pairs = [_pair(item) for item in traits["pairs"]]
        first = pairs[0] if pairs else {"x": [3.0, 1.0], "y": [1.0, 2.0], "labels": ["x", "y"]}
        if not {"x", "y"} & traits.keys():
            traits.setdefault("labels", first["labels"])
        traits = {"x": first["x"], "y": first["y"], **traits, "pairs": pairs}
        traits.setdefault("caption", CAPTION)
        super().__init__(**traits)

    @classmethod
    def from_words(
        cls,
        vectors: Mapping[str, np.ndarray] | Any,
        pairs: Iterable[tuple[str, str]],
        **traits: Any,
    ) -> "DotProduct":
        """Make the widget for real word vectors, each pair in the plane that it spans.

        Parameters
        ----------
        vectors : mapping
            ``vectors["cat"]`` is the vector of a word, as in `qkv.data.word_vectors()`.
        pairs : list of (str, str)
            The pairs to choose from; the widget opens on the first.
        """
        traits.setdefault("caption", WORDS_CAPTION)
        made = []
        for first, second in pairs:
            x, y = plane_of(vectors[first], vectors[second])
            made.append({"labels": [first, second], "x": x.tolist(), "y": y.tolist()})
        return cls(pairs=made, **traits)

    @traitlets.validate("pairs")
    def _plain_pairs(self, proposal: Any) -> list[dict[str, Any]]:
        return [_pair(item) for item in proposal["value"]]

    def numbers(self) -> dict[str, float]:
        """Return what the widget shows, by `qkv.core`; NaN where a vector has no length."""
        x, y = self.x, self.y
        lengths = vector_length(x), vector_length(y)
        dot = float(dot_product(x, y))
        a, b = self.labels
        return {
            "dot product": dot,
            f"length of {a}": float(lengths[0]),
            f"length of {b}": float(lengths[1]),
            "cosine": float(cosine_similarity(x, y)) if all(lengths) else math.nan,
            f"shadow of {b} on {a}": dot / float(lengths[0]) if lengths[0] else math.nan,
            f"shadow of {a} on {b}": dot / float(lengths[1]) if lengths[1] else math.nan,
        }

    def poster(self) -> str:
        """Return the plane as SVG beside its numbers."""
        a, b = self.labels
        numbers = self.numbers()
        vectors = html_table(["1", "2"], [(a, self.x), (b, self.y)], "Entries")
        results = html_table(
            ["value"], [(name, [value]) for name, value in numbers.items()], f"{a} · {b}"
        )
        return (
            f'<div class="qkv-dot-poster">{_picture(self)}'
            f"<details open><summary>The numbers</summary>{vectors}{results}</details></div>"
        )


def _pair(item: Mapping[str, Any]) -> dict[str, Any]:
    try:
        x, y = ([float(number) for number in item[key]] for key in "xy")
        labels = [str(label) for label in item.get("labels", ["x", "y"])]
    except (KeyError, TypeError, ValueError, AttributeError):
        raise traitlets.TraitError(
            "a pair needs x and y, two numbers each, and may have labels and a name"
        ) from None
    if not (len(x) == len(y) == len(labels) == 2 and np.isfinite([x, y]).all()):
        raise traitlets.TraitError("a pair has two labels, and two finite numbers in x and in y")
    return {"name": str(item.get("name", " · ".join(labels))), "labels": labels, "x": x, "y": y}


def _limit(widget: DotProduct) -> float:
    """Return how far the plane reaches: a round number that holds every vector."""
    vectors: list[Sequence[float]] = [widget.x, widget.y]
    vectors += [pair[key] for pair in widget.pairs for key in "xy"]
    reach = 1.1 * max(abs(float(entry)) for vector in vectors for entry in vector)
    return next((limit for limit in LIMITS if reach <= limit), math.ceil(reach))


def _picture(widget: DotProduct) -> str:
    """Return the plane as it stands, in the geometry of js/ui/dot-plane.mjs."""
    unit = 186 / _limit(widget)

    def at(vector: Any) -> np.ndarray:
        return np.array([200 + unit * float(vector[0]), 200 - unit * float(vector[1])])

    origin = at((0, 0))
    base, other = (widget.y, widget.x) if widget.onto == "y" else (widget.x, widget.y)
    squared = float(dot_product(base, base))
    parts = [
        '<rect x="0.5" y="0.5" width="399" height="399" rx="10" fill="none"'
        ' stroke="var(--qkv-line, #c3cad2)"/>',
        '<path d="M0 200H400M200 0V400" stroke="var(--qkv-line, #c3cad2)" fill="none"/>',
    ]
    if widget.onto != "none" and squared:
        foot = at(float(dot_product(other, base)) / squared * base)
        parts.append(_line(origin, foot, "w", 'stroke-width="8" stroke-opacity="0.5"'))
        parts.append(_line(at(other), foot, "w", 'stroke-width="1.5"'))
    pairs = [(widget.x, widget.y, "q"), (widget.y, widget.x, "k")]
    for (vector, neighbour, colour), label in zip(pairs, widget.labels, strict=True):
        parts.append(_arrow(origin, at(vector), colour))
        parts.append(_name(label, vector, neighbour, at(vector), colour))
    a, b = widget.labels
    numbers = widget.numbers()
    says = f"{a} · {b} = {number(numbers['dot product'])}, cosine {number(numbers['cosine'])}"
    return (
        '<svg viewBox="0 0 400 400" width="400" height="400" role="img"'
        f' aria-label="{escape(f"Two vectors in a plane: {says}")}" font-size="16">'
        + "".join(parts)
        + "</svg>"
    )


COLOURS = {"q": "#0b5cad", "k": "#a34700", "w": "#7a3ea8"}


def _ink(what: str, colour: str) -> str:
    return f'{what}="var(--qkv-{colour}, {COLOURS[colour]})"'


def _line(start: np.ndarray, end: np.ndarray, colour: str, more: str) -> str:
    return (
        f'<line x1="{start[0]:.2f}" y1="{start[1]:.2f}" x2="{end[0]:.2f}" y2="{end[1]:.2f}"'
        f" {_ink('stroke', colour)} {more}/>"
    )


def _arrow(start: np.ndarray, tip: np.ndarray, colour: str) -> str:
    length = float(np.hypot(*(tip - start)))
    along = (tip - start) / length if length else np.array([1.0, 0.0])
    head = min(13.0, length)
    aside = 0.42 * head * np.array([-along[1], along[0]])
    corners = (tip, tip - head * along + aside, tip - head * along - aside)
    points = " ".join(f"{x:.2f},{y:.2f}" for x, y in corners)
    shaft = _line(start, tip - 0.8 * head * along, colour, 'stroke-width="2.75"')
    return f'{shaft}<polygon points="{points}" {_ink("fill", colour)}/>'


def _name(
    label: str, vector: np.ndarray, neighbour: np.ndarray, tip: np.ndarray, colour: str
) -> str:
    """Return the vector's name beyond its tip, on the side away from the other vector."""
    size = float(vector_length(vector)) or 1.0
    side = 1 if vector[0] * neighbour[1] > vector[1] * neighbour[0] else -1
    x = tip[0] + (17 * vector[0] + 9 * side * vector[1]) / size
    y = tip[1] - (17 * vector[1] - 9 * side * vector[0]) / size + 5
    anchor = "start" if x - tip[0] > 6 else "end" if x - tip[0] < -6 else "middle"
    width = 8.5 * len(label)
    if (anchor == "start" and x + width > 398) or (anchor == "end" and x - width < 2):
        x, y, anchor = tip[0], tip[1] - 18, "end" if tip[0] > 200 else "start"
    y = min(max(y, 16), 394)
    return (
        f'<text x="{x:.2f}" y="{y:.2f}" text-anchor="{anchor}" {_ink("fill", colour)}'
        f' font-weight="600">{escape(label)}</text>'
    )
