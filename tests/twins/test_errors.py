"""Wrong shapes and wrong masks are answered in core's words."""

import numpy as np
import pytest
import torch

import qkv
from qkv import twins
from tests.twins.cases import CROSS_SIZES, HEADS, to_torch


def ones(shapes):
    """Return arrays of ones: "3,7 5,2b" is a (3, 7) of floats and a (5, 2) of bools."""
    for shape in shapes.split():
        sizes = tuple(int(n) for n in shape.rstrip("b").split(","))
        yield np.ones(sizes, bool if shape.endswith("b") else float)


WRONG = {
    "k has another width": ("scaled_dot_product_attention", *ones("3,7 5,2 5,4")),
    "k is transposed": ("scaled_dot_product_attention", *ones("3,7 7,5 5,4")),
    "v has too few rows": ("scaled_dot_product_attention", *ones("3,7 5,7 4,5")),
    "batches differ": ("scaled_dot_product_attention", *ones("2,3,7 1,5,7 1,5,2")),
    "q is one row": ("scaled_dot_product_attention", *ones("7 5,7 5,2")),
    "no keys": ("scaled_dot_product_attention", *ones("3,7 0,7 0,2")),
    "mask is transposed": ("scaled_dot_product_attention", *ones("3,7 5,7 5,2 5,3b")),
    "mask is one row": ("attention_steps", *ones("3,7 5,7 5,2 5b")),
    "mask has the wrong batch": ("scaled_dot_product_attention", *ones("2,3,7 2,5,7 2,5,2 4,3,5b")),
    "mask lacks an axis": ("grouped_attention", *ones("2,6,3,7 2,2,5,7 2,2,5,4 2,3,5b")),
    "bias is transposed": ("attention_with_bias", *ones("3,7 5,7 5,2 5,3")),
    "heads do not divide": ("grouped_attention", *ones("5,3,7 2,5,7 2,5,4")),
    "v of finished scores": ("attention_from_scores", *ones("3,5 2,5")),
    "vectors differ in length": ("dot_product", *ones("3 5")),
    "stacks differ": ("dot_product", *ones("2,3 4,3")),
    "W is transposed": ("project", *ones("2,3 5,3")),
    "W is a stack": ("project", *ones("2,3 4,3,5")),
    "b is too long": ("project", *ones("2,3 3,5 3")),
    "W_K does not fit": ("project_qkv", *ones("2,3 5,7 3,4 3,4 7,2")),
    "M is too small": ("bilinear_scores", *ones("2,3 5,7 3,4")),
    "d_a differs": ("additive_scores", *ones("2,3 5,7 3,4 7,4 2")),
    "width is no multiple": ("split_heads", *ones("3,7"), 2),
    "X is too narrow": ("project_heads", *ones("3,7 2,5,4")),
    "X is transposed": ("project_heads", *ones("5,7 2,5,4")),
    "targets are too few": ("cross_entropy", *ones("3,7"), np.array([0, 1])),
    "gain is too short": ("rms_norm", *ones("3,7 5")),
    "odd width": ("rotary_positions", *ones("3,7")),
    "table ends": ("learned_positions", *ones("5,3"), 4, 2),
    "offset is negative": ("rotary_positions_halves", *ones("3,4"), -1),
    "cache of another width": ("extend_cache", qkv.KVCache(*ones("5,3 5,2")), *ones("1,4 1,2")),
    "mask of heads": ("multi_head_attention", *ones("3,13 5,17"), HEADS, *ones("2,3,5b")),
    "X_q is too narrow": ("multi_head_attention_einsum", *ones("3,12 5,17"), HEADS),
    "X_kv is transposed": ("multi_head_attention_stacked", *ones("3,13 17,5"), HEADS),
    "sizes of a mask": ("causal_mask", 3.0),
    "lengths": ("padding_mask", np.array([2, 7]), 5),
    "reach": ("window_mask", 3, 3, -1),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_the_same_sentence_as_core(case):
    name, *args = WRONG[case]
    with pytest.raises(ValueError) as of_core:  # noqa: PT011 - compared in full below
        getattr(qkv, name)(*args)
    with pytest.raises(ValueError) as of_twin:  # noqa: PT011
        getattr(twins, name)(*map(to_torch, args))
    assert str(of_twin.value) == str(of_core.value)
    assert of_twin.type is of_core.type


@pytest.mark.parametrize(
    ("mask", "text"),
    [
        (torch.ones(3, 5), "for numbers added to the scores use attention_with_bias"),
        (torch.ones(3, 5, dtype=torch.int64), r"write mask.bool\(\) if 1 means may look"),
    ],
)
def test_a_mask_is_bool(mask, text):
    q, k, v = torch.ones(3, 7), torch.ones(5, 7), torch.ones(5, 2)
    with pytest.raises(ValueError, match=f"mask must be bool.*{text}"):
        twins.scaled_dot_product_attention(q, k, v, mask)


def test_an_id_below_zero_is_refused():
    with pytest.raises(IndexError):
        twins.embed(torch.tensor([-1]), torch.ones(3, 2))


def test_inputs_are_left_alone():
    layer = twins.DecoderLayer(qkv.initial_decoder_layer(np.random.default_rng(0), CROSS_SIZES))
    X, memory = torch.ones(3, 13, dtype=torch.float64), torch.ones(5, 17, dtype=torch.float64)
    mask = torch.tril(torch.ones(3, 3, dtype=torch.bool))
    kept = [x.clone() for x in (X, memory, mask)]
    layer(X, memory, mask)
    assert all(map(torch.equal, (X, memory, mask), kept))
