"""Exercises that know why an answer is wrong.

``check`` judges an answer, ``hint`` gives the next of three hints, ``solution`` shows the answer.
The book's pages and notebooks are made from the same exercises: see ``get`` and ``ids``.
"""

from qkv.checks import (
    cross_attention,
    decoded,
    dot_product,
    layer,
    learning,
    look_up,
    masks,
    multi_head,
    order,
    projections,
    scale,
    softmax,
    tokens,
    torch_contract,
    transformer,
    translator,
    why_three,
)
from qkv.checks.engine import UnknownExerciseError, check, get, hint, ids, register, solution
from qkv.checks.exercise import (
    Case,
    Choice,
    Code,
    Exercise,
    Number,
    Option,
    Row,
    Rung,
    Slip,
    Wrong,
)
from qkv.checks.report import Note, Result

__all__ = [
    "Case",
    "Choice",
    "Code",
    "Exercise",
    "Note",
    "Number",
    "Option",
    "Result",
    "Row",
    "Rung",
    "Slip",
    "UnknownExerciseError",
    "Wrong",
    "check",
    "cross_attention",
    "decoded",
    "dot_product",
    "get",
    "hint",
    "ids",
    "layer",
    "learning",
    "look_up",
    "masks",
    "multi_head",
    "order",
    "projections",
    "register",
    "scale",
    "softmax",
    "solution",
    "tokens",
    "torch_contract",
    "transformer",
    "translator",
    "why_three",
]
