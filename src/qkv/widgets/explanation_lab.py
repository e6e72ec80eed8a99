"""ExplanationLab: what six methods say of each token, in a model whose truth is known."""

from html import escape
from typing import Any

import numpy as np
import traitlets

from qkv.core import attention_rollout, same_output_directions, weighted_value_norms
from qkv.data import TruthModel, TruthSteps, relevant, rule, text_ids, truth_model
from qkv.data.known_truth import (
    ANSWERS,
    N_SCORED,
    START,
    gradient_x_input,
    other_weights,
    scores_by_method,
    separation,
)
from qkv.widgets.base import BookWidget, html_table, number, static_text

__all__ = ["ExplanationLab"]

CAPTION = (
    "A text, a question, and a trained model that answers by a known rule. “matters” is the rule's"
    " own truth: erase the token, and the right answer changes. The other columns are what one"
    " looks at instead; the last line says how well each agrees with the truth (0.50 is chance)."
)
TEXT = ("A→C", "*", "B1", "·", "C3", "*", "·", "·", "A?")
MODELS = ("one", "two", "hidden")
METHODS = ("weights", "norms", "rollout", "gradient", "erased")
SCRIPT = "known-truth-weights.js"


class ExplanationLab(BookWidget):
    """What weights and four other methods say of each token of a text, beside the truth.

    Parameters
    ----------
    text : list of str
        Eight tokens and a question, as `qkv.data.text_ids` takes them.
    model : {"two", "one", "hidden"}
        Which model answers.
    layer : {1, 2}
        Whose weights are shown, in the row of the question, the mean of both heads.
    slide : float
        How far these weights are moved along a path on which the output stays, 0 to 1.

    Examples
    --------
    >>> from qkv.widgets import ExplanationLab
    >>> made = ExplanationLab().numbers()
    >>> made["said"], made["right"], made["truth"].astype(int).tolist()
    (3, 3, [0, 1, 0, 0, 0, 1, 0, 0, 0])
    """

    name = "explanation-lab"
    _esm = static_text("explanation-lab.mjs")

    text = traitlets.List(traitlets.Unicode(), list(TEXT)).tag(sync=True)
    model = traitlets.Enum(list(MODELS), "two").tag(sync=True)
    layer = traitlets.Int(2, min=1, max=2).tag(sync=True)
    slide = traitlets.Float(0.0, min=0.0, max=1.0).tag(sync=True)
    first = traitlets.Dict().tag(sync=True)

    def __init__(self, **traits: Any):
        traits.setdefault("caption", CAPTION)
        super().__init__(**traits)
        self.first = {
            "of": [self.text, self.model, self.layer, self.slide],
            "made": {
                name: np.asarray(value).astype(float).tolist()
                for name, value in self.numbers().items()
            },
        }
        self.on_msg(self._answer)

    @traitlets.validate("text")
    def _is_a_text(self, proposal: Any) -> list[str]:
        try:
            text_ids(proposal["value"])
        except ValueError as error:
            raise traitlets.TraitError(str(error)) from None
        return list(proposal["value"])

    def _answer(self, _: Any, message: Any, buffers: Any) -> None:
        """Send the weights to a notebook that asks; a page loads them as a script instead."""
        if isinstance(message, dict) and message.get("want") == SCRIPT.removesuffix(".js"):
            import json

            packed = static_text(SCRIPT).partition(".knownTruth=")[2].strip("; \n")
            self.send({"knownTruth": json.loads(packed)})

    def numbers(self) -> dict[str, Any]:
        """Return what the widget shows, by the model in `qkv.data`."""
        model = truth_model(self.model)
        ids = text_ids(self.text)
        steps = model.steps(ids)
        found = scores_by_method(model, ids)
        return {
            "said": int(steps.said),
            "right": int(rule(ids)),
            "truth": relevant(ids),
            **self._from_weights(model, steps),
            "gradient": gradient_x_input(model, steps.X[0], steps.said),
            "erased": found["erase"],
        }

    def _from_weights(self, model: TruthModel, steps: TruthSteps) -> dict[str, Any]:
        """Return everything that is made of the weights, after they have been moved."""
        place = min(self.layer, len(model.layers)) - 1
        inside = steps.layers[place].attention
        own = inside.weights[:, -1]
        rows = np.stack(
            [other_weights(w, v, self.slide) for w, v in zip(own, inside.v, strict=True)]
        )
        by_layer = [w.copy() for w in steps.weights]
        by_layer[place][:, -1] = rows
        norms = weighted_value_norms(rows[:, None], inside.v, model.layers[place].W_O)
        apart = np.einsum("hj,hjd->hd", rows - own, inside.v)
        return {
            "weights": rows.mean(axis=0)[:N_SCORED],
            "norms": norms[0, :N_SCORED],
            "rollout": attention_rollout(by_layer)[-1, :N_SCORED],
            "free": np.array([len(same_output_directions(v)) for v in inside.v]),
            "moved": float(np.abs(rows - own).sum(axis=1).mean() / 2),
            "output_moved": float(np.abs(apart).max()),
        }

    def poster(self) -> str:
        """Return the weights and the truth as bars, and everything as a table."""
        made = self.numbers()
        tokens = [START, *self.text[:-1]]
        rows = [
            (token, [float(made["truth"][j]), *(made[name][j] for name in METHODS)])
            for j, token in enumerate(tokens)
        ]
        agree = [separation(made[name], made["truth"]) for name in METHODS]
        rows.append(("agreement", [1.0 if made["truth"].any() else np.nan, *map(float, agree)]))
        caption = f"Question {self.text[-1]}, answer {ANSWERS[made['said']]}"
        table = html_table(["matters", *METHODS], rows, caption)
        return (
            f'<div class="qkv-explain-poster">{_picture(tokens, made, self.text[-1])}'
            f"<details><summary>The numbers</summary>{table}</details></div>"
        )


def _picture(tokens: list[str], made: dict[str, Any], question: str) -> str:
    """Return one line a token: its weight as a bar, filled where the token matters."""
    lines = []
    for j, token in enumerate(tokens):
        y, matters = 34 + 24 * j, bool(made["truth"][j])
        fill = "var(--qkv-w)" if matters else "none"
        bold = ' font-weight="700"' if matters else ""
        width = max(1.0, 200 * float(made["weights"][j]))
        lines.append(
            f'<text x="8" y="{y + 13}"{bold}>{escape(token)}</text>'
            f'<rect x="64" y="{y}" width="{width:.1f}" height="16" fill="{fill}"'
            ' stroke="var(--qkv-w)"/>'
            f'<text x="{72 + width:.1f}" y="{y + 13}">{number(made["weights"][j])}'
            f"{', matters' if matters else ''}</text>"
        )
    title = f"{question} – the model says {ANSWERS[made['said']]}"  # noqa: RUF001
    return (
        '<svg viewBox="0 0 350 256" width="350" height="256" role="img" font-size="14"'
        f' fill="currentColor" aria-label="{escape(title)}; weight of each token">'
        f'<text x="8" y="18">{escape(title)}. Weights:</text>{"".join(lines)}</svg>'
    )
