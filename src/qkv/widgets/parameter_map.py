"""ParameterMap: all numbers of a Transformer as areas, while its sizes change (chapter 15)."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import traitlets

from qkv.core import LayerSizes, multi_head_bias_count
from qkv.data import PaperModel, paper_table
from qkv.widgets.base import BookWidget, Vector, html_table, number, static_text

__all__ = ["ParameterMap"]

CAPTION = (
    "Every number that the paper's base model learns, with a table of 37,000 rows. A field is one"
    " kind of matrix in all layers of a side; its area is its share of the whole."
)
BASE = (512, 2048, 8, 64, 64)
LIMITS = (16_384, 65_536, 128, 1024, 1024)  # d_model, d_ff, n_heads, d_k, d_v
MOST_LAYERS, MOST_ROWS = 128, 1_000_000
SIDES = ("encoder", "decoder", "table")
GROUPS = ("feed-forward", "cross-attention", "self-attention", "biases and norms", "table")
TABLES = {
    1: ("E, all three uses",),
    2: ("E, source", "E, target and read-out"),
    3: ("E, source", "E, target", "read-out"),
}
TIMES = "\N{MULTIPLICATION SIGN}"


@dataclass(frozen=True)
class Part:
    """One kind of matrix on one side of the model.

    Attributes
    ----------
    side, group, name : str
        "decoder", "cross-attention", "W_K".
    shape : str
        Of the matrix in one layer.
    each : int
        How many numbers one layer has of it.
    layers : int
        In how many layers it stands.
    """

    side: str
    group: str
    name: str
    shape: str
    each: int
    layers: int

    @property
    def id(self) -> str:
        """Return the name that the trait `at` uses."""
        return f"{self.side} {self.group} {self.name}"

    @property
    def count(self) -> int:
        """Return the numbers in all layers."""
        return self.each * self.layers


def all_parts(
    sizes: LayerSizes, layers: Sequence[int], rows: int, tables: int, biases: bool
) -> list[Part]:
    """Return the parts of a model: first the encoder's, then the decoder's, then the tables."""
    d, f = sizes.d_model, sizes.d_ff
    found = []

    def attention(side: str, group: str, depth: int) -> list[Part]:
        h, widths = sizes.n_heads, {"W_Q": sizes.d_k, "W_K": sizes.d_k, "W_V": sizes.d_v}
        heads = [
            Part(side, group, name, f"{h} heads, {d} {TIMES} {width}", h * d * width, depth)
            for name, width in widths.items()
        ]
        wide = h * sizes.d_v
        return [*heads, Part(side, group, "W_O", f"{wide} {TIMES} {d}", wide * d, depth)]

    for side, depth, sites in (
        ("encoder", layers[0], ("self-attention",)),
        ("decoder", layers[1], ("cross-attention", "self-attention")),
    ):
        found += [
            Part(side, "feed-forward", "W_1", f"{d} {TIMES} {f}", d * f, depth),
            Part(side, "feed-forward", "W_2", f"{f} {TIMES} {d}", f * d, depth),
        ]
        for site in sites:
            found += attention(side, site, depth)
        n_norms = len(sites) + 1
        small = f + d + n_norms * 2 * d + biases * len(sites) * multi_head_bias_count(sizes)
        shape = f"b_1, b_2, {n_norms} norms" + biases * ", attention biases"
        found.append(Part(side, "biases and norms", "rest", shape, small, depth))
    found += [
        Part("table", "table", name, f"{rows} {TIMES} {d}", rows * d, 1) for name in TABLES[tables]
    ]
    return found


def layout(parts: Sequence[Part], width: float, height: float) -> list[tuple[float, ...]]:
    """Return (x, y, width, height) for each part: sides in columns, groups stacked, parts in a row.

    A table is a group of its own, so that several lie one above the other.
    """
    total = sum(part.count for part in parts)
    boxes: list[tuple[float, ...]] = []
    left = 0.0
    for side in SIDES:
        inside = [part for part in parts if part.side == side]
        of_side = sum(part.count for part in inside)
        column, top = width * of_side / total, 0.0
        stacks: dict[str, list[Part]] = {}
        for part in inside:
            stacks.setdefault(part.id if side == "table" else part.group, []).append(part)
        for stack in stacks.values():
            of_stack = sum(part.count for part in stack)
            tall = height * of_stack / of_side if of_side else 0.0
            x = left
            for part in stack:
                wide = column * part.count / of_stack if of_stack else 0.0
                boxes.append((x, top, wide, tall))
                x += wide
            top += tall
        left += column
    return boxes


class ParameterMap(BookWidget):
    """All numbers of a Transformer as areas, while its sizes change.

    Parameters
    ----------
    sizes : array, shape (5,)
        d_model, d_ff, n_heads, d_k, d_v; integers, those of the base model if left out.
    layers : array, shape (2,)
        Layers of the encoder and of the decoder, from 0.
    rows : int
        Rows of an embedding table.
    tables : {1, 2, 3}
        One table for all uses, or one for the source and one for target and read-out, or three.
    biases : bool
        Whether the attention has biases, as in torch.
    at : str
        The part in focus: side, group and name.

    Examples
    --------
    >>> from qkv.widgets import ParameterMap
    >>> ParameterMap().numbers()["total"]
    63045632
    """

    name = "parameter-map"
    _esm = static_text("parameter-map.mjs")

    sizes = Vector(shape=(5,), value=BASE)
    layers = Vector(shape=(2,), value=(6, 6))
    rows = traitlets.Int(37_000, min=1, max=MOST_ROWS).tag(sync=True)
    tables = traitlets.Enum(list(TABLES), 1).tag(sync=True)
    biases = traitlets.Bool(False).tag(sync=True)
    at = traitlets.Unicode("table table E, all three uses").tag(sync=True)

    def __init__(self, **traits: Any):
        traits.setdefault("caption", CAPTION)
        super().__init__(**traits)

    @traitlets.validate("sizes", "layers")
    def _whole(self, proposal: Any) -> np.ndarray:
        name, value = proposal["trait"].name, proposal["value"]
        least, most = (1, LIMITS) if name == "sizes" else (0, (MOST_LAYERS,) * 2)
        if not (value == np.round(value)).all() or (value < least).any() or (value > most).any():
            raise traitlets.TraitError(
                f"{name} must be integers from {least} to {tuple(most)}, got {value.tolist()}"
            )
        return value

    def parts(self) -> list[Part]:
        """Return the parts, fields of the map."""
        sizes = LayerSizes(*(int(size) for size in self.sizes))
        layers = [int(n) for n in self.layers]
        return all_parts(sizes, layers, self.rows, self.tables, self.biases)

    def printed(self) -> PaperModel | None:
        """Return the row of the paper's table 3 that has these sizes and a printed count."""
        here = [int(size) for size in self.sizes]
        for row in paper_table():
            s = row.sizes
            same = here == [s.d_model, s.d_ff, s.n_heads, s.d_k, s.d_v]
            if same and row.printed and (self.layers == row.n_layers).all():
                return row
        return None

    def numbers(self) -> dict[str, Any]:
        """Return what the widget shows."""
        parts = self.parts()
        total = sum(part.count for part in parts)
        groups = {g: sum(part.count for part in parts if part.group == g) for g in GROUPS}
        made = {
            "counts": [part.count for part in parts],
            "total": total,
            "groups": [groups[g] for g in GROUPS],
            "printed": None,
            "fits": None,
        }
        row = self.printed()
        if row is not None and row.printed is not None:
            width = self.tables * int(self.sizes[0])
            rest = row.printed * 1_000_000 - (total - self.rows * width)
            made["printed"] = row.printed
            made["fits"] = [-(-(rest - 500_000) // width), (rest + 499_999) // width]
        return made

    def poster(self) -> str:
        """Return the map as a picture, and a table of all parts."""
        parts, made = self.parts(), self.numbers()
        rows = [
            (f"{part.side}, {part.group}: {part.name}", part) for part in parts if part.count
        ]  # fmt: skip
        body = [
            (name, [part.each, part.layers, part.count, 100 * part.count / made["total"]])
            for name, part in rows
        ]
        columns = ["in a layer", "layers", "in all", "percent"]
        table = html_table(columns, body, f"All {made['total']:,} numbers", digits=0)
        sentence = f"{made['total']:,} numbers, {number(made['total'] / 1e6, 1)} million."
        if made["printed"]:
            low, high = made["fits"]
            sentence += (
                f" The paper prints {made['printed']} million; that needs {low:,} to {high:,} rows."
            )
        return (
            f'<div class="qkv-map-poster">{_picture(parts)}<p>{escape(sentence)}</p>'
            f"<details><summary>The numbers</summary>{table}</details></div>"
        )


ROLES = {"W_Q": "q", "W_K": "k", "W_V": "v"}


def _picture(parts: Sequence[Part]) -> str:
    """Return the map as SVG, 700 by 320."""
    width, height = 700, 320
    drawn = []
    for part, (x, y, wide, tall) in zip(parts, layout(parts, width, height), strict=True):
        if not part.count:
            continue
        fill, opacity = f"var(--qkv-{ROLES.get(part.name, 'x')})", 0.3
        if part.group == "feed-forward":
            opacity = 0.1
        box = f'x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{tall:.1f}"'
        drawn.append(
            f'<rect {box} fill="{fill}" fill-opacity="{opacity}" stroke="currentColor"'
            ' stroke-opacity="0.5"/>'
        )
        if wide > 9 * min(len(part.name), 8) and tall > 20:
            label = part.name if wide > 9 * len(part.name) else "E"
            drawn.append(
                f'<text x="{x + wide / 2:.1f}" y="{y + tall / 2 + 5:.1f}"'
                f' text-anchor="middle">{escape(label)}</text>'
            )
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img"'
        ' aria-label="The parts of the model as fields; the area of a field is its share"'
        f' font-size="14" fill="currentColor">{"".join(drawn)}</svg>'
    )
