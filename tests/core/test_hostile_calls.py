"""Hostile calls, each with its documented outcome: an answer in words, or a right number.

Three outcomes are possible. A wrong shape raises `ShapeError`; anything else that is wrong raises
`ValueError`; and what looks odd and is none the less right is computed. A call that asks for more
memory than there is raises numpy's `MemoryError`. Nothing changes what it was given, and no call
ends in a warning (pytest turns warnings into errors here).
"""

import warnings

import numpy as np
import pytest

import qkv
from tests.core import samples
from tests.core.lawbook import close, draw

q, k, v = draw((3, 7), (5, 7), (5, 2))
X, W = draw((3, 5), (5, 7), seed=1)
TRUE = np.ones((3, 5), bool)
LAYER_OF_DECODER = samples.decoder_layer()
OUTPUT = qkv.scaled_dot_product_attention(q, k, v)[0]
attend = qkv.scaled_dot_product_attention


def with_entry(x, value):
    x = x.copy()
    x.flat[1] = value
    return x


def big(*shape, dtype=np.float64, factor=0.9):
    return np.full(shape, np.finfo(dtype).max * factor, dtype)


REFUSED = {
    # shapes -------------------------------------------------------------------------------
    "0-d q": (qkv.ShapeError, lambda: attend(1.0, k, v)),
    "1-d q": (qkv.ShapeError, lambda: attend(q[0], k, v)),
    "0-d scores": (qkv.ShapeError, lambda: qkv.softmax(np.float64(2.0))),
    "no scores": (qkv.ShapeError, lambda: qkv.softmax([])),
    "no queries": (qkv.ShapeError, lambda: attend(q[:0], k, v)),
    "no keys": (qkv.ShapeError, lambda: attend(q, k[:0], v[:0])),
    "keys of no width": (qkv.ShapeError, lambda: attend(q[:, :0], k[:, :0], v)),
    "values of no width": (qkv.ShapeError, lambda: attend(q, k, v[:, :0])),
    "an empty batch": (qkv.ShapeError, lambda: attend(q[None][:0], k[None][:0], v[None][:0])),
    "ragged rows": (qkv.ShapeError, lambda: qkv.softmax([[1.0, 2.0], [3.0]])),
    "ragged batch": (qkv.ShapeError, lambda: qkv.project([[[1.0]], [[1.0], [2.0]]], [[1.0]])),
    "one axis too many on W": (qkv.ShapeError, lambda: qkv.project(X, W[None])),
    "W as a vector": (qkv.ShapeError, lambda: qkv.project(X, W[:, 0])),
    "bias as a matrix": (qkv.ShapeError, lambda: qkv.project(X, W, W[:1])),
    "bias as a number": (qkv.ShapeError, lambda: qkv.project(X, W, 1.0)),
    "batch of one against batch of two": (
        qkv.ShapeError,
        lambda: attend(q[None], np.stack([k, k]), np.stack([v, v])),
    ),
    "a vector against a matrix": (qkv.ShapeError, lambda: qkv.dot_product(q, q[0])),
    "heads that do not divide": (qkv.ShapeError, lambda: qkv.split_heads(q, 3)),
    "merging two axes": (qkv.ShapeError, lambda: qkv.merge_heads(q)),
    "odd width turned": (qkv.ShapeError, lambda: qkv.rotary_positions(q)),
    "one row into a layer": (
        qkv.ShapeError,
        lambda: qkv.encoder_layer(np.ones(11), samples.encoder_layer()),
    ),
    # kinds of number ------------------------------------------------------------------------
    "None for q": (ValueError, lambda: attend(None, k, v)),
    "a string for q": (ValueError, lambda: attend("queries", k, v)),
    "strings that are numbers": (ValueError, lambda: qkv.softmax(["1", "2"])),
    "objects": (ValueError, lambda: qkv.softmax(np.array([1.0, None], dtype=object))),
    "integers too long for a float": (ValueError, lambda: qkv.softmax([10**400, 1])),
    "a dictionary": (ValueError, lambda: qkv.softmax({"a": 1.0})),
    "a generator": (ValueError, lambda: qkv.softmax(x for x in (1.0, 2.0))),
    "complex numbers": (ValueError, lambda: attend(q + 0j, k, v)),
    "truth values": (ValueError, lambda: qkv.softmax([True, False])),
    "dates": (ValueError, lambda: qkv.softmax(np.array(["2017-06-12"], "datetime64[D]"))),
    "long doubles": (ValueError, lambda: qkv.softmax(np.ones(3, np.longdouble))),
    "a structured array": (ValueError, lambda: qkv.softmax(np.zeros(3, [("a", float)]))),
    "a numpy masked array": (ValueError, lambda: qkv.softmax(np.ma.masked_less(q, 0.0))),
    # NaN, infinity, overflow -------------------------------------------------------------
    "NaN in q": (ValueError, lambda: attend(with_entry(q, np.nan), k, v)),
    "inf in k": (ValueError, lambda: attend(q, with_entry(k, np.inf), v)),
    "-inf in v": (ValueError, lambda: attend(q, k, with_entry(v, -np.inf))),
    "NaN at a forbidden key": (
        ValueError,
        lambda: attend(q, k, with_entry(v, np.nan), np.zeros((3, 5), bool)),
    ),
    "NaN in scores": (ValueError, lambda: qkv.softmax([0.0, np.nan])),
    "+inf in scores": (ValueError, lambda: qkv.softmax([0.0, np.inf])),
    "NaN beside -inf": (ValueError, lambda: qkv.softmax([-np.inf, np.nan])),
    "NaN in X": (ValueError, lambda: qkv.project(with_entry(X, np.nan), W)),
    "scores past float64": (ValueError, lambda: attend(big(3, 7), big(5, 7), v)),
    "scores past float32": (
        ValueError,
        lambda: attend(big(3, 7, dtype=np.float32), big(5, 7, dtype=np.float32), v),
    ),
    "scores past float16": (
        ValueError,
        lambda: qkv.dot_product_scores(np.full((3, 7), 300, "e"), np.full((5, 7), 300, "e")),
    ),
    "a projection past float64": (ValueError, lambda: qkv.project(big(3, 5), big(5, 7))),
    "a length past float64": (ValueError, lambda: qkv.vector_length(big(3))),
    "a direction of zeros": (ValueError, lambda: qkv.cosine_similarity([0.0, 0.0], [1.0, 0.0])),
    "a cap on -inf": (ValueError, lambda: qkv.soft_cap([-np.inf, 0.0], 2.0)),
    # masks -----------------------------------------------------------------------------------
    "a float mask of 0 and 1": (ValueError, lambda: attend(q, k, v, TRUE.astype(float))),
    "a float mask of -inf": (ValueError, lambda: attend(q, k, v, np.where(TRUE, 0.0, -np.inf))),
    "an int mask": (ValueError, lambda: attend(q, k, v, TRUE.astype(int))),
    "a mask of objects": (ValueError, lambda: attend(q, k, v, TRUE.astype(object))),
    "a mask of words": (ValueError, lambda: attend(q, k, v, [["yes"] * 5] * 3)),
    "a word for a mask": (ValueError, lambda: attend(q, k, v, "causal")),
    "True for a mask": (qkv.ShapeError, lambda: attend(q, k, v, True)),
    "a mask turned over": (qkv.ShapeError, lambda: attend(q, k, v, TRUE.T)),
    "a mask of one axis": (qkv.ShapeError, lambda: attend(q, k, v, TRUE[0])),
    "an empty mask": (qkv.ShapeError, lambda: attend(q, k, v, TRUE[:0])),
    "a mask with a batch for one sentence": (
        qkv.ShapeError,
        lambda: attend(q, k, v, TRUE[None]),
    ),
    "a ragged mask": (qkv.ShapeError, lambda: attend(q, k, v, [[True], [True, False]])),
    "a numpy masked mask": (
        ValueError,
        lambda: attend(q, k, v, np.ma.array(TRUE, mask=~TRUE)),
    ),
    "NaN for a bias": (
        ValueError,
        lambda: qkv.attention_with_bias(q, k, v, np.full((3, 5), np.nan)),
    ),
    "+inf for a bias": (
        ValueError,
        lambda: qkv.attention_with_bias(q, k, v, np.full((3, 5), np.inf)),
    ),
    # sizes, ids and settings ---------------------------------------------------------------
    "a float size": (ValueError, lambda: qkv.causal_mask(3.0)),
    "a truth value for a size": (ValueError, lambda: qkv.causal_mask(True)),
    "a negative size": (ValueError, lambda: qkv.causal_mask(-3)),
    "an array for a size": (ValueError, lambda: qkv.causal_mask(np.array([3]))),
    "a negative length": (ValueError, lambda: qkv.padding_mask([2, -1], 5)),
    "a length past the end": (ValueError, lambda: qkv.padding_mask([2, 6], 5)),
    "an id of -1": (ValueError, lambda: qkv.embed([-1], W)),
    "a float id": (ValueError, lambda: qkv.embed([1.0], W)),
    "a truth value for an id": (ValueError, lambda: qkv.embed([True], W)),
    "no ids": (qkv.ShapeError, lambda: qkv.embed(np.zeros(0, int), W)),
    "a temperature of NaN": (ValueError, lambda: qkv.softmax_with_temperature([1.0], np.nan)),
    "a temperature of 0": (ValueError, lambda: qkv.softmax_with_temperature([1.0], 0.0)),
    "a word for a temperature": (ValueError, lambda: qkv.softmax_with_temperature([1.0], "hot")),
    "a bandwidth of 1e-200": (ValueError, lambda: qkv.kernel_regression(q, k, v, 1e-200)),
    "a tile of 0": (ValueError, lambda: qkv.tiled_attention(q, k, v, None, 0)),
    "a tile of 2.5": (ValueError, lambda: qkv.tiled_attention(q, k, v, None, 2.5)),
    "a position of -1": (ValueError, lambda: qkv.sinusoidal_positions(3, 4, -1)),
    "a seed for a Generator": (ValueError, lambda: qkv.xavier_uniform(0, 3, 5)),
    "numpy's old random state": (
        ValueError,
        lambda: qkv.xavier_uniform(np.random.RandomState(0), 3, 5),
    ),
    "an array for parameters": (ValueError, lambda: qkv.layer_norm(X, np.ones(5))),
    "a dictionary for a cache": (ValueError, lambda: qkv.cached_attention(q, q, q, {"k": k})),
    "a cache too few": (ValueError, lambda: qkv.cached_decoder(X, [], [LAYER_OF_DECODER])),
    "no list of caches": (ValueError, lambda: qkv.cached_decoder(X, 3, [LAYER_OF_DECODER])),
    "an array for the memory's cache": (
        ValueError,
        lambda: qkv.cached_decoder_layer(draw((3, 11))[0], np.ones((5, 3)), LAYER_OF_DECODER),
    ),
    "four groups of six heads": (
        ValueError,
        lambda: qkv.pool_kv_heads(samples.multi_head(n_heads=6), 4),
    ),
    "a mask with a trillion columns": (MemoryError, lambda: qkv.causal_mask(10**15)),
    "an axis for softmax": (TypeError, lambda: qkv.softmax(q, axis=0)),
    "a sixth argument": (TypeError, lambda: attend(q, k, v, None, 1.0)),
}

ODD_AND_RIGHT = {
    "columns in reverse memory": lambda: (attend(q[:, ::-1], k[:, ::-1], v)[0], OUTPUT),
    "Fortran order": lambda: (attend(*map(np.asfortranarray, (q, k, v)))[0], OUTPUT),
    "every other element of a wide array": lambda: (
        attend(np.repeat(q, 2, axis=1)[:, ::2], k, v)[0],
        OUTPUT,
    ),
    "read-only arrays": lambda: (attend(*map(frozen, (q, k, v)))[0], OUTPUT),
    "rows that are views of one row": lambda: (
        attend(np.broadcast_to(q[0], (3, 7)), k, v)[0],
        np.repeat(OUTPUT[:1], 3, axis=0),
    ),
    "numbers stored the other way round": lambda: (
        attend(q.astype(">f8"), k.astype(">f8"), v.astype(">f8"))[0],
        OUTPUT,
    ),
    "np.matrix": lambda: (attend(*map(as_matrix, (q, k, v)))[0], OUTPUT),
    "lists": lambda: (attend(q.tolist(), k.tolist(), v.tolist())[0], OUTPUT),
    "tuples of arrays": lambda: (attend(tuple(q), tuple(k), tuple(v))[0], OUTPUT),
    "bytes of integers": lambda: (
        qkv.dot_product(np.array([100, 100], np.int8), np.array([100, 100], np.int8)),
        20000.0,
    ),
    "unsigned integers": lambda: (qkv.softmax(np.array([1, 3], np.uint8)), qkv.softmax([1.0, 3.0])),
    "mixed precision": lambda: (
        attend(q.astype(np.float32), k, v)[0],
        attend(q.astype(np.float32).astype(np.float64), k, v)[0],
    ),
    "a mask as nested lists": lambda: (attend(q, k, v, TRUE.tolist())[0], OUTPUT),
    "a mask of one shared row": lambda: (attend(q, k, v, TRUE[:1])[0], OUTPUT),
    "a mask that allows nothing": lambda: (attend(q, k, v, ~TRUE)[0], np.zeros((3, 2))),
    "scores at the end of float64": lambda: (
        qkv.softmax([-np.finfo(float).max, np.finfo(float).max]),
        [0.0, 1.0],
    ),
    "scores of -0.0": lambda: (qkv.softmax([-0.0, 0.0]), [0.5, 0.5]),
    "numbers below the normal range": lambda: (qkv.softmax([5e-324, 0.0]), [0.5, 0.5]),
    "a lone score of -inf": lambda: (qkv.softmax([-np.inf]), [0.0]),
    "a length of 0": lambda: (qkv.padding_mask([0], 3), np.zeros((1, 1, 3), bool)),
    "a numpy integer for a size": lambda: (qkv.causal_mask(np.int64(2)), np.tri(2, dtype=bool)),
    "more queries than keys": lambda: (
        qkv.causal_mask(3, 2, offset=-1),
        np.array([[0, 0], [1, 0], [1, 1]], bool),
    ),
    "a tile larger than everything": lambda: (
        qkv.tiled_attention(q, k, v, None, 10**9)[0],
        OUTPUT,
    ),
    "one token": lambda: (attend(q[:1, :1], k[:1, :1], v[:1, :1])[0], v[:1, :1]),
    "a position far out": lambda: (
        np.sum(qkv.sinusoidal_positions(1, 10, 10**9) ** 2),
        5.0,
    ),
    "a constant row": lambda: (
        qkv.layer_norm(np.full((1, 11), 7.0), samples.norm()),
        samples.norm().shift[None],
    ),
}


def frozen(x):
    x = x.copy()
    x.flags.writeable = False
    return x


def as_matrix(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        return np.matrix(x)


def test_there_are_at_least_sixty():
    assert len(REFUSED) + len(ODD_AND_RIGHT) >= 60


@pytest.mark.parametrize("call", REFUSED)
def test_a_hostile_call_is_refused(call):
    error, act = REFUSED[call]
    with pytest.raises(error) as caught:
        act()
    if error in (ValueError, qkv.ShapeError):
        assert type(caught.value) is error, f"{type(caught.value).__name__}: {caught.value}"
        assert 20 < len(str(caught.value)) < 300


@pytest.mark.parametrize("call", ODD_AND_RIGHT)
def test_an_odd_call_is_answered(call):
    actual, expected = ODD_AND_RIGHT[call]()
    close(actual, expected)


def test_nothing_was_changed():
    """After all of the above, the shared inputs are what they were drawn as."""
    for used, drawn in zip((q, k, v), draw((3, 7), (5, 7), (5, 2)), strict=True):
        assert np.array_equal(used, drawn)
    for used, drawn in zip((X, W), draw((3, 5), (5, 7), seed=1), strict=True):
        assert np.array_equal(used, drawn)


def test_tensors_of_torch_are_read_if_they_carry_no_graph():
    torch = pytest.importorskip("torch", reason="torch is what this is about")
    close(attend(*map(torch.tensor, (q, k, v)))[0], OUTPUT)
    with pytest.raises(ValueError, match=r"q cannot be read as an array: .*detach"):
        attend(torch.tensor(q, requires_grad=True), k, v)
