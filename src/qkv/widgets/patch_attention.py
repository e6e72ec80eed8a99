"""PatchAttention: a trained Vision Transformer at work on a picture to paint (chapter 17)."""

from functools import lru_cache
from html import escape
from typing import Any

import numpy as np
import traitlets

from qkv.core import attention_rollout, cut_patches, softmax, vision_transformer
from qkv.data import digits, image_model
from qkv.widgets.base import BookWidget, Vector, html_table, number, static_text

__all__ = ["PatchAttention"]

CAPTION = (
    "The trained model runs in this page. The patch you stand on asks; the larger a purple square,"
    " the more it looks there. Paint with the pointer, or with the arrow keys and the space bar."
)
VIEWS = ("0", "1", "2", "mean", "rollout")
SIDE, ACROSS, FULL, N_LAYERS, N_ROWS = 8, 4, 16, 3, 17
NAMES = ("class token", *(f"patch {i}" for i in range(1, N_ROWS)))
FIRST = 1300  # a 3, the first picture that no training saw


def shipped_ink(place: int) -> np.ndarray:
    """Return the 64 pixels of a picture of the file, 0 to 16."""
    return np.round(FULL * digits().images[place]).ravel()


@lru_cache(maxsize=64)
def run(ink: tuple[float, ...]) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """Return the scores of the classes, and the weights of the three layers."""
    return vision_transformer(np.reshape(ink, (SIDE, SIDE)) / FULL, image_model())


class PatchAttention(BookWidget):
    """A picture of 8 by 8 pixels, and what a row of the model looks at.

    Parameters
    ----------
    ink : list of 64 whole numbers from 0 to 16
        The pixels, line by line.
    layer : int
        Counted from 0.
    view : {"0", "1", "2", "mean", "rollout"}
        A head, the mean of the heads, or rollout up to this layer.
    query : int
        The row that asks: 0 is the class token, then the patches.

    Examples
    --------
    >>> from qkv.widgets import PatchAttention
    >>> made = PatchAttention(layer=2, view="rollout").numbers()
    >>> print(made["weights"].shape, made["scores"].argmax())
    (17, 17) 3
    """

    name = "patch-attention"
    _esm = static_text("patch-attention.mjs")

    ink = Vector(shape=(SIDE * SIDE,), value=shipped_ink(FIRST))
    layer = traitlets.Int(0, min=0, max=N_LAYERS - 1).tag(sync=True)
    view = traitlets.Enum(list(VIEWS), "0").tag(sync=True)
    query = traitlets.Int(0, min=0, max=N_ROWS - 1).tag(sync=True)
    first = traitlets.Dict().tag(sync=True)

    def __init__(self, **traits: Any):
        traits.setdefault("caption", CAPTION)
        super().__init__(**traits)
        if not self.first:
            self.first = self._first()
        self.on_msg(self._answer)

    @traitlets.validate("ink")
    def _is_ink(self, proposal: Any) -> np.ndarray:
        ink = proposal["value"]
        if np.any((ink < 0) | (ink > FULL) | (ink != np.round(ink))):
            raise traitlets.TraitError(f"ink must hold whole numbers from 0 to {FULL}")
        return ink

    def numbers(self) -> dict[str, np.ndarray]:
        """Return what the widget shows, by `qkv.core`: all rows, and the scores."""
        scores, layers = run(tuple(self.ink.tolist()))
        if self.view == "rollout":
            weights = attention_rollout(layers[: self.layer + 1])
        elif self.view == "mean":
            weights = layers[self.layer].mean(axis=0)
        else:
            weights = layers[self.layer][int(self.view)]
        return {"weights": weights, "scores": scores}

    def _first(self) -> dict[str, Any]:
        """Return what the page shows before the model is there."""
        made = self.numbers()
        return {
            "ink": self.ink.astype(int).tolist(),
            "layer": self.layer,
            "view": self.view,
            "weights": made["weights"].round(5).tolist(),
            "scores": made["scores"].round(5).tolist(),
        }

    def _answer(self, _: Any, message: Any, buffers: Any) -> None:
        """Send the model to a notebook that asks; a page loads it as a script instead."""
        if isinstance(message, dict) and message.get("want") == "image-model":
            self.send({"imageModel": static_text("image-model.js").split('"')[1]})

    def poster(self) -> str:
        """Return the patches with what the row looks at, and all of it as tables."""
        made = self.numbers()
        row = made["weights"][self.query]
        looks = html_table(
            ["share"],
            [(name, [share]) for name, share in zip(NAMES, row, strict=True)],
            f"What {NAMES[self.query]} looks at",
        )
        classes = html_table(
            [str(c) for c in range(10)],
            [("score", made["scores"].tolist()), ("share", softmax(made["scores"]).tolist())],
            "What the model says",
        )
        return (
            f'<div class="qkv-patch-poster">{self._picture(row)}'
            f"<details><summary>The numbers</summary>{looks}{classes}</details></div>"
        )

    def _picture(self, row: np.ndarray) -> str:
        """Return the picture, a purple square and a percentage on each patch."""
        cell, top = 60, 44
        parts = []
        for p, four in enumerate(cut_patches(self.ink.reshape(SIDE, SIDE), 2)):
            x, y = (p % ACROSS) * cell, top + (p // ACROSS) * cell
            for i, ink in enumerate(four):
                parts.append(
                    f'<rect x="{x + 30 * (i % 2)}" y="{y + 30 * (i // 2)}" width="30" height="30"'
                    f' fill="currentColor" fill-opacity="{0.55 * ink / FULL:.2f}"/>'
                )
            parts.append(_mark(x + cell / 2, y + cell / 2, cell, row[1 + p], row.max()))
            parts.append(
                f'<rect x="{x}" y="{y}" width="{cell}" height="{cell}" fill="none"'
                ' stroke="var(--qkv-edge, #6b7480)"/>'
            )
        parts.append('<text x="8" y="25">class token</text>')
        parts.append(_mark(150, 20, 36, row[0], row.max()))
        label = escape(f"What {NAMES[self.query]} looks at, in percent, on the 16 patches")
        return (
            f'<svg viewBox="-1 -1 242 {top + 242}" width="242" height="{top + 242}" role="img"'
            f' aria-label="{label}" font-size="13" fill="currentColor"><title>{label}</title>'
            f"{''.join(parts)}</svg>"
        )


def _mark(x: float, y: float, room: float, share: float, top: float) -> str:
    side = room * float(np.sqrt(share / top))
    return (
        f'<rect x="{x - side / 2:.1f}" y="{y - side / 2:.1f}" width="{side:.1f}"'
        f' height="{side:.1f}" fill="var(--qkv-w, #7a3ea8)" fill-opacity="0.5"/>'
        f'<rect x="{x - 17}" y="{y - 10}" width="34" height="19" rx="3"'
        ' fill="var(--qkv-surface, #fff)"/>'
        f'<text x="{x}" y="{y + 5}" text-anchor="middle">{number(100 * share, 1)}</text>'
    )
