"""The figures say what the arrays say."""

import math
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from qkv.figures import heat_map, lengths, vectors_in_plane
from qkv.figures.style import MINUS


def texts(fig):
    root = ET.fromstring(fig.svg())
    return ["".join(t.itertext()).strip() for t in root.iter("{http://www.w3.org/2000/svg}text")]


def test_heat_map_writes_every_number_and_name():
    values = np.array([[1.0, -0.25, 0.5], [0.125, 2.0, -3.0]])
    found = texts(heat_map(values, ["she", "ate"], ["an", "apple", "."]))
    assert {"1.00", MINUS + "0.25", "0.50", "0.12", "2.00", MINUS + "3.00"} <= set(found)
    assert {"she", "ate", "an", "apple", "."} <= set(found)


def test_heat_map_marks_the_largest_of_each_row_not_by_colour_alone():
    fig = heat_map([[1.0, 3.0, 2.0], [5.0, 4.0, 0.0]], ["a", "b"], ["c", "d", "e"])
    bold = [t.get_text() for t in fig.axes[0].texts if t.get_fontweight() == "bold"]
    assert bold == ["3.00", "5.00"]


def test_vectors_in_plane_keeps_lengths_and_angle():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 384))
    found = " ".join(texts(vectors_in_plane(x, y, ("cat", "dog"))))
    angle = math.degrees(math.acos(x @ y / np.linalg.norm(x) / np.linalg.norm(y)))
    assert f"{angle:.0f}°" in found
    numbers = [float(n.replace(MINUS, "-")) for n in re.findall(MINUS + r"?\d+\.\d\d", found)]
    want = [np.linalg.norm(x), np.linalg.norm(y), x @ y / np.linalg.norm(x)]
    assert sorted(numbers) == pytest.approx(sorted(want), abs=0.005)


@pytest.mark.parametrize(("y", "shadow"), [((1.0, 2.0), "2.00"), ((-3.0, 4.0), "0.00"),
                                           ((-2.0, -1.0), MINUS + "2.20")])  # fmt: skip
def test_the_shadow_has_the_sign_of_the_dot_product(y, shadow):
    assert shadow in texts(vectors_in_plane([4.0, 3.0], y))


def test_lengths_sets_the_quiet_words_apart_by_hatching():
    fig = lengths(["the", "cat"], [0.93, 1.37], quiet=["the"])
    assert [bar.get_hatch() for bar in fig.axes[0].patches] == ["////", None]
    assert {"0.93", "1.37", "the", "cat"} <= set(texts(fig))


@pytest.mark.parametrize(
    ("draw", "sentence"),
    [
        (lambda: heat_map(np.ones((2, 3)), ["a", "b"], ["c", "d"]), r"values must be \(2, 2\)"),
        (lambda: vectors_in_plane([1.0, 2.0], [1.0]), r"two vectors of one size, got \(2,\)"),
        (lambda: vectors_in_plane([0.0, 0.0], [1.0, 1.0]), "no direction to draw"),
        (lambda: lengths(["a"], [1.0, 2.0]), r"values must be \(1,\), one a word"),
    ],
)
def test_wrong_arrays_are_answered(draw, sentence):
    with pytest.raises(ValueError, match=sentence):
        draw()
