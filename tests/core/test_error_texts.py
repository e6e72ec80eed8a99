"""What a reader sees after a slip, word for word."""

import numpy as np
import pytest

import qkv


def ones(*shape):
    return np.ones(shape)


def nan_at(index, *shape):
    x = np.ones(shape)
    x[index] = np.nan
    return x


SHAPE_ERRORS = {
    "k has another width": (
        lambda: qkv.dot_product_scores(ones(4, 3), ones(7, 5)),
        "k must have d_k=3 columns as q has, got 5: q is (4, 3), k is (7, 5)",
    ),
    "k is transposed": (
        lambda: qkv.scaled_dot_product_attention(ones(4, 3), ones(3, 5), ones(5, 2)),
        "k must have d_k=3 columns as q has, got 5: q is (4, 3), k is (3, 5); it looks transposed",
    ),
    "v has another number of rows": (
        lambda: qkv.scaled_dot_product_attention(ones(4, 3), ones(5, 3), ones(6, 2)),
        "v must have n_k=5 rows as k has, got 6: k is (5, 3), v is (6, 2)",
    ),
    "v is transposed": (
        lambda: qkv.attention_steps(ones(4, 3), ones(5, 3), ones(2, 5)),
        "v must have n_k=5 rows as k has, got 2: k is (5, 3), v is (2, 5); it looks transposed",
    ),
    "batches differ": (
        lambda: qkv.scaled_dot_product_attention(ones(2, 4, 3), ones(7, 5, 3), ones(7, 5, 2)),
        "q and k must have the same leading axes, got (2,) and (7,):"
        " q is (2, 4, 3), k is (7, 5, 3)",
    ),
    "a batch of queries against one set of keys": (
        lambda: qkv.scaled_dot_product_attention(ones(2, 4, 3), ones(5, 3), ones(5, 2)),
        "q and k must have the same leading axes, got (2,) and (): q is (2, 4, 3), k is (5, 3)",
    ),
    "batches of k and v differ": (
        lambda: qkv.scaled_dot_product_attention(ones(2, 4, 3), ones(2, 5, 3), ones(5, 2)),
        "k and v must have the same leading axes, got (2,) and (): k is (2, 5, 3), v is (5, 2)",
    ),
    "mask is transposed": (
        lambda: qkv.scaled_dot_product_attention(
            ones(4, 3), ones(5, 3), ones(5, 2), ones(5, 4).astype(bool)
        ),
        "mask must end in (n_q, n_k)=(4, 5), got (5, 4); it looks transposed",
    ),
    "mask is for other sizes": (
        lambda: qkv.scaled_dot_product_attention(
            ones(4, 3), ones(5, 3), ones(5, 2), qkv.causal_mask(4)
        ),
        "mask must end in (n_q, n_k)=(4, 5), got (4, 4)",
    ),
    "mask has one axis": (
        lambda: qkv.scaled_dot_product_attention(
            ones(4, 3), ones(5, 3), ones(5, 2), ones(5).astype(bool)
        ),
        "mask must end in (n_q, n_k)=(4, 5), got (5,);"
        " for one row of keys that every query shares write mask[None, :]",
    ),
    "padding mask meets heads": (
        lambda: qkv.scaled_dot_product_attention(
            ones(2, 7, 4, 3), ones(2, 7, 5, 3), ones(2, 7, 5, 11), qkv.padding_mask([3, 5], 5)
        ),
        "mask must be (4, 5) or broadcast to (2, 7, 4, 5) axis by axis, got (2, 1, 5);"
        " give a shared axis the size 1, as in mask[:, None]",
    ),
    "one query without its axis": (
        lambda: qkv.scaled_dot_product_attention(ones(3), ones(5, 3), ones(5, 2)),
        "q must end in (n_q, d_k), got (3,); for one row write q[None, :]",
    ),
    "no keys": (
        lambda: qkv.scaled_dot_product_attention(ones(4, 3), ones(0, 3), ones(0, 2)),
        "k is empty: an axis of (0, 3) has size 0",
    ),
    "scores are one number": (
        lambda: qkv.softmax(3.0),
        "scores must end in (n_k,), got ()",
    ),
    "scores are empty": (
        lambda: qkv.softmax([]),
        "scores is empty: an axis of (0,) has size 0",
    ),
    "a number has no length": (
        lambda: qkv.vector_length(3.0),
        "x must end in (d,), got ()",
    ),
    "vectors of different length": (
        lambda: qkv.dot_product([1, 2, 3], [1, 2]),
        "x and y must have the same length d, got 3 and 2: x is (3,), y is (2,)",
    ),
    "a stack against one vector": (
        lambda: qkv.cosine_similarity(ones(4, 3), ones(3)),
        "x and y must have the same shape, got x (4, 3) and y (3,);"
        " for every row of one with every row of the other use dot_product_scores",
    ),
    "W is stored as torch stores it": (
        lambda: qkv.project(ones(5, 8), ones(4, 8)),
        "W must have d_in=8 rows, one for each column of X, got 4: X is (5, 8), W is (4, 8);"
        " it looks transposed (torch's nn.Linear stores (d_out, d_in))",
    ),
    "W has another height": (
        lambda: qkv.project(ones(5, 8), ones(7, 4)),
        "W must have d_in=8 rows, one for each column of X, got 7: X is (5, 8), W is (7, 4)",
    ),
    "all heads at once": (
        lambda: qkv.project(ones(5, 8), ones(3, 8, 4)),
        "W must be one matrix (d_in, d_out), got (3, 8, 4); to use one head write W[i]",
    ),
    "bias of another width": (
        lambda: qkv.project(ones(5, 8), ones(8, 4), ones(8)),
        "b must have d_out=4 entries, one for each column of W, got (8,): W is (8, 4)",
    ),
    "the memory has another width": (
        lambda: qkv.project_qkv(ones(7, 8), ones(5, 9), ones(8, 4), ones(8, 4), ones(8, 2)),
        "W_K must have d_in=9 rows, one for each column of X_kv, got 8:"
        " X_kv is (5, 9), W_K is (8, 4)",
    ),
    "queries and keys of different width": (
        lambda: qkv.project_qkv(ones(7, 8), ones(5, 9), ones(8, 4), ones(9, 2), ones(9, 4)),
        "W_K must have d_k=4 columns as W_Q has, got 2: W_Q is (8, 4), W_K is (9, 2);"
        " queries meet keys in a dot product",
    ),
    "ragged rows": (
        lambda: qkv.softmax([[1.0, 2.0], [3.0]]),
        "scores is ragged: its rows differ in length, and an array needs them equal",
    ),
    "lengths are one number": (
        lambda: qkv.padding_mask(3, 5),
        "lengths must be (batch,), one number a sequence, got ()",
    ),
}

VALUE_ERRORS = {
    "mask of floats": (
        lambda: qkv.scaled_dot_product_attention(ones(4, 3), ones(5, 3), ones(5, 2), np.tri(4, 5)),
        "mask must be bool, True where the query may look, got dtype float64;"
        " for numbers added to the scores use attention_with_bias",
    ),
    "mask of 0 and 1": (
        lambda: qkv.scaled_dot_product_attention(
            ones(4, 3), ones(5, 3), ones(5, 2), np.tri(4, 5, dtype=np.int64)
        ),
        "mask must be bool, True where the query may look, got dtype int64;"
        " write mask.astype(bool) if 1 means may look",
    ),
    "NaN in q": (
        lambda: qkv.scaled_dot_product_attention(nan_at((0, 2), 4, 3), ones(5, 3), ones(5, 2)),
        "q holds nan at (0, 2); every entry must be finite",
    ),
    "inf in a vector": (
        lambda: qkv.vector_length([1.0, np.inf]),
        "x holds inf at 1; every entry must be finite",
    ),
    "NaN in scores": (
        lambda: qkv.softmax([[0.0, 1.0], [np.nan, 2.0]]),
        "scores cannot hold nan, found at (1, 0): a score is a finite number,"
        " or -inf where the query may not look",
    ),
    "+inf in scores": (
        lambda: qkv.softmax([0.0, np.inf]),
        "scores cannot hold inf, found at 1: a score is a finite number,"
        " or -inf where the query may not look",
    ),
    "a zero vector has no direction": (
        lambda: qkv.cosine_similarity([0.0, 0.0], [1.0, 2.0]),
        "x or y has a row of length 0; without a direction it has no cosine",
    ),
    "a mask in place of q": (
        lambda: qkv.dot_product_scores(ones(4, 3).astype(bool), ones(5, 3)),
        "q must hold float16, float32 or float64 numbers (integers become float64),"
        " got dtype bool; a mask is an argument of its own",
    ),
    "complex numbers": (
        lambda: qkv.project(ones(5, 8) * 1j, ones(8, 4)),
        "X must hold float16, float32 or float64 numbers (integers become float64),"
        " got dtype complex128",
    ),
    "a masked array": (
        lambda: qkv.softmax(np.ma.masked_greater([1.0, 2.0], 1.5)),
        "scores is a numpy masked array; pass scores.filled(...) and a bool mask",
    ),
    "a dot product that overflows": (
        lambda: qkv.dot_product_scores(
            np.full((4, 3), 1e20, np.float32), np.full((5, 3), 1e20, np.float32)
        ),
        "a dot product of q and k can reach 3e+40, and float32 ends at 3.4e+38",
    ),
    "a length that overflows": (
        lambda: qkv.vector_length([1e200, 0.0]),
        "a dot product of x and x can reach inf, and float64 ends at 1.8e+308",
    ),
    "a size that is a float": (
        lambda: qkv.causal_mask(4.0),
        "n_q must be an integer, got 4.0",
    ),
    "a size of zero": (
        lambda: qkv.causal_mask(0),
        "n_q must be at least 1, got 0",
    ),
    "lengths of real numbers": (
        lambda: qkv.padding_mask([2.0, 3.0], 5),
        "lengths must be integers, got dtype float64",
    ),
    "a length above n_k": (
        lambda: qkv.padding_mask([2, 7], 5),
        "lengths must lie between 0 and n_k=5, got 7",
    ),
}


@pytest.mark.parametrize("slip", SHAPE_ERRORS)
def test_shape_errors_name_axis_sizes_and_slip(slip):
    call, text = SHAPE_ERRORS[slip]
    with pytest.raises(qkv.ShapeError) as caught:
        call()
    assert str(caught.value) == text


@pytest.mark.parametrize("slip", VALUE_ERRORS)
def test_value_errors_say_what_is_wrong(slip):
    call, text = VALUE_ERRORS[slip]
    with pytest.raises(ValueError) as caught:  # noqa: PT011  (the text is compared in full)
        call()
    assert type(caught.value) is ValueError
    assert str(caught.value) == text


def test_softmax_has_no_axis_argument():
    with pytest.raises(TypeError):
        qkv.softmax(ones(2, 3), axis=0)
