"""What holds of every public function alike: precision, inputs left alone, annotated shapes."""

import dataclasses
import importlib
import inspect
import sys
import typing

import beartype  # noqa: F401  (loaded before TYPE_CHECKING is turned on below)
import numpy as np
import pytest
from jaxtyping import TypeCheckError, install_import_hook

import qkv
from tests.core.calls import CALLS, FUNCTIONS, MAKE_FLOAT64


def arrays(result):
    """Return every array inside a result: a tuple, a dataclass, or one array."""
    if dataclasses.is_dataclass(result):
        result = tuple(getattr(result, field.name) for field in dataclasses.fields(result))
    if isinstance(result, dict):
        result = tuple(result.values())
    if isinstance(result, (tuple, list)):
        return [a for part in result for a in arrays(part)]
    return [np.asarray(result)] if isinstance(result, (np.ndarray, np.generic)) else []


def test_every_public_function_has_a_call():
    assert set(CALLS) == set(FUNCTIONS)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_precision_is_kept(name, dtype):
    wanted = np.float64 if name in MAKE_FLOAT64 else dtype
    for array in arrays(getattr(qkv, name)(*CALLS[name](dtype))):
        assert array.dtype in (wanted, np.bool_), name


@pytest.mark.parametrize("name", FUNCTIONS)
def test_inputs_are_left_alone(name):
    arguments, before = CALLS[name](np.float64), CALLS[name](np.float64)
    for array in arrays(arguments):
        array.flags.writeable = False
    getattr(qkv, name)(*arguments)
    for used, kept in zip(arrays(arguments), arrays(before), strict=True):
        assert np.array_equal(used, kept)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_memory_layout_does_not_matter(name):
    def strided(x):
        if not isinstance(x, np.ndarray):
            return x
        wide = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)
        wide[..., ::2] = x
        return wide[..., ::2]

    expected = arrays(getattr(qkv, name)(*CALLS[name](np.float64)))
    actual = arrays(getattr(qkv, name)(*map(strided, CALLS[name](np.float64))))
    for a, b in zip(actual, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_lists_are_read_as_arrays(name):
    arguments = CALLS[name](np.float64)
    lists = [a.tolist() if isinstance(a, np.ndarray) else a for a in arguments]
    arguments = CALLS[name](np.float64)  # a Generator has moved on
    for a, b in zip(
        arrays(getattr(qkv, name)(*lists)), arrays(getattr(qkv, name)(*arguments)), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)


@pytest.fixture(scope="module")
def typed_core():
    """A second copy of qkv.core in which beartype checks every annotated shape.

    The annotations need jaxtyping only here: `TYPE_CHECKING` is True while the copy is imported.
    """
    plain = {n: sys.modules.pop(n) for n in list(sys.modules) if n.split(".")[0] == "qkv"}
    was, typing.TYPE_CHECKING = typing.TYPE_CHECKING, True
    try:
        with install_import_hook("qkv.core", "beartype.beartype"):
            copy = importlib.import_module("qkv.core")
    finally:
        typing.TYPE_CHECKING = was
        for n in [n for n in sys.modules if n.split(".")[0] == "qkv"]:
            del sys.modules[n]
        sys.modules.update(plain)
    return copy


def copied_into(core, value):
    """Rebuild dataclasses of parameters as those of another copy of qkv.core."""
    if isinstance(value, tuple):
        return tuple(copied_into(core, part) for part in value)
    if not dataclasses.is_dataclass(value):
        return value
    fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    same = getattr(core, type(value).__name__)
    return same(**{name: copied_into(core, part) for name, part in fields.items()})


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_annotated_shapes_are_true(typed_core, name, dtype):
    arguments = [copied_into(typed_core, a) for a in CALLS[name](dtype)]
    getattr(typed_core, name)(*arguments)


def test_annotations_are_really_checked(typed_core):
    with pytest.raises(TypeCheckError):
        typed_core.dot_product_scores(np.ones((2, 3)), np.ones((5, 4)))
    with pytest.raises(ValueError, match="must have d_k=3 columns"):
        qkv.dot_product_scores(np.ones((2, 3)), np.ones((5, 4)))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_annotation_can_be_read(typed_core, name):
    function = getattr(typed_core, name)
    assert set(typing.get_type_hints(function)) >= {*inspect.signature(function).parameters}
