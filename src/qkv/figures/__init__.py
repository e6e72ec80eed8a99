"""The book's figures: functions from arrays to a figure. They draw; they compute no attention."""

from qkv.figures.cross_attention import cross_lines, decoder_wiring
from qkv.figures.decoded import figure_two
from qkv.figures.dot_products import heat_map, lengths, vectors_in_plane
from qkv.figures.images import accuracy_lines, deletion_curves, image_row, patch_maps
from qkv.figures.inference import against_length, cache_sizes, made_and_kept
from qkv.figures.layer import by_depth, row_path, two_orders
from qkv.figures.learning import Map, loss_curves, signed_maps
from qkv.figures.look_up import error_curves, look_up_line
from qkv.figures.masks import masked_map
from qkv.figures.multi_head import head_maps
from qkv.figures.order import against_offset, by_place, code_map, moved_rows
from qkv.figures.projections import Block, projection_flow
from qkv.figures.real_heads import head_grids, head_lines, shares_by_layer
from qkv.figures.scale import against_width, steps_needed
from qkv.figures.softmax import seeds, weight_curves
from qkv.figures.tokens import named_rows, token_rows
from qkv.figures.transformer import row_windows, whole_transformer
from qkv.figures.translator import alignment_map, head_scores, seeds_in_rows
from qkv.figures.two_layers import growing, letter_maps, two_hops
from qkv.figures.why_three import Outcome, outcomes

__all__ = [
    "Block",
    "Map",
    "Outcome",
    "accuracy_lines",
    "against_length",
    "against_offset",
    "against_width",
    "alignment_map",
    "by_depth",
    "by_place",
    "cache_sizes",
    "code_map",
    "cross_lines",
    "decoder_wiring",
    "deletion_curves",
    "error_curves",
    "figure_two",
    "growing",
    "head_grids",
    "head_lines",
    "head_maps",
    "head_scores",
    "heat_map",
    "image_row",
    "lengths",
    "letter_maps",
    "look_up_line",
    "loss_curves",
    "made_and_kept",
    "masked_map",
    "moved_rows",
    "named_rows",
    "outcomes",
    "patch_maps",
    "projection_flow",
    "row_path",
    "row_windows",
    "seeds",
    "seeds_in_rows",
    "shares_by_layer",
    "signed_maps",
    "steps_needed",
    "token_rows",
    "two_hops",
    "two_orders",
    "vectors_in_plane",
    "weight_curves",
    "whole_transformer",
]
