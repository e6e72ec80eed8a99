"""ONNX's own reference cases of Attention and FlexAttention: none left out."""

import numpy as np
import pytest

from tests.onnx.adapter import (
    attention_in_one_call,
    attention_in_tiles,
    cases,
    run,
)

# The cases' numbers lie between -1 and 1, near enough. ONNX's own runner allows a relative 1e-3,
# and two units in the last place of bfloat16. Both sides round in other places: ONNX scales q and k
# by the fourth root of d_k before they meet, qkv divides the dot products by the root.
TOLERANCE = {"float64": 1e-14, "float32": 1e-6, "float16": 1e-3, "bfloat16": 2**-7}


def difference(actual, expected):
    assert actual.shape == expected.shape
    assert actual.dtype == expected.dtype
    actual, expected = actual.astype(np.float64), expected.astype(np.float64)
    same = actual == expected  # -inf against -inf
    return np.abs(np.subtract(actual, expected, where=~same, out=np.zeros_like(actual))).max()


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_case(case):
    answers = run(case)
    assert list(answers) == list(case.outputs)
    for name, expected in case.outputs.items():
        assert difference(answers[name], expected) <= TOLERANCE[expected.dtype.name], name


@pytest.mark.parametrize("road", [attention_in_one_call, attention_in_tiles])
def test_other_roads_lead_to_the_same_output(road):
    walked = 0
    for case in cases():
        if case.operator == "Attention" and (answer := road(case)) is not None:
            expected = case.outputs["Y"]
            assert difference(answer, expected) <= TOLERANCE[expected.dtype.name], case.name
            walked += 1
    assert walked >= 35


def test_the_count(capsys):
    largest, seen = {}, {"Attention": 0, "FlexAttention": 0}
    for case in cases():
        answers = run(case)
        seen[case.operator] += 1
        for name, expected in case.outputs.items():
            kind = expected.dtype.name
            largest[kind] = max(largest.get(kind, 0.0), difference(answers[name], expected))
    with capsys.disabled():
        print(f"\nONNX: {seen['Attention']} Attention and {seen['FlexAttention']} FlexAttention")
        print("cases agree; largest difference", {k: float(f"{v:.1e}") for k, v in largest.items()})
    assert seen == {"Attention": 93, "FlexAttention": 11}
