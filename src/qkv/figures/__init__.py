"""The book's figures: functions from arrays to a figure. They draw; they compute no attention."""

from qkv.figures.decoded import figure_two
from qkv.figures.dot_products import heat_map, lengths, vectors_in_plane
from qkv.figures.learning import Map, loss_curves, signed_maps
from qkv.figures.look_up import error_curves, look_up_line
from qkv.figures.masks import masked_map
from qkv.figures.projections import Block, projection_flow
from qkv.figures.scale import against_width, steps_needed
from qkv.figures.softmax import seeds, weight_curves
from qkv.figures.tokens import named_rows, token_rows
from qkv.figures.why_three import Outcome, outcomes

__all__ = [
    "Block",
    "Map",
    "Outcome",
    "against_width",
    "error_curves",
    "figure_two",
    "heat_map",
    "lengths",
    "look_up_line",
    "loss_curves",
    "masked_map",
    "named_rows",
    "outcomes",
    "projection_flow",
    "seeds",
    "signed_maps",
    "steps_needed",
    "token_rows",
    "vectors_in_plane",
    "weight_curves",
]
