import re

import numpy as np
import pytest
import traitlets

import qkv
from qkv.widgets import DotProduct
from qkv.widgets.base import number
from qkv.widgets.dot_product import plane_of

RNG = np.random.default_rng(7)
WORDS = {word: RNG.normal(size=384).astype(np.float32) / 14 for word in ("cat", "dog", "the")}


@pytest.mark.parametrize("size", [2, 3, 5, 384])
def test_the_plane_of_a_pair_keeps_lengths_dot_product_and_cosine(size):
    a, b = RNG.normal(size=(2, size))
    x, y = plane_of(a, b)
    np.testing.assert_allclose(qkv.dot_product(x, y), qkv.dot_product(a, b), rtol=0, atol=1e-12)
    np.testing.assert_allclose(qkv.vector_length(x), qkv.vector_length(a), rtol=1e-14)
    np.testing.assert_allclose(qkv.vector_length(y), qkv.vector_length(b), rtol=1e-14)
    np.testing.assert_allclose(
        qkv.cosine_similarity(x, y), qkv.cosine_similarity(a, b), rtol=0, atol=1e-14
    )


def test_the_plane_of_parallel_vectors_is_a_line_and_a_zero_has_none():
    x, y = plane_of([1, 2, 3], [-2, -4, -6])
    np.testing.assert_allclose(y, -2 * x, rtol=0, atol=1e-14)
    with pytest.raises(ValueError, match="a plane needs a first direction"):
        plane_of([0, 0, 0], [1, 2, 3])


def test_at_most_six_traits_and_none_is_derived():
    assert sorted(DotProduct().state()) == ["labels", "onto", "pairs", "x", "y"]


def test_words_open_on_the_first_pair():
    widget = DotProduct.from_words(WORDS, [("cat", "dog"), ("cat", "the")])
    assert widget.labels == ["cat", "dog"]
    assert [pair["name"] for pair in widget.pairs] == ["cat · dog", "cat · the"]
    want = qkv.dot_product(WORDS["cat"].astype(float), WORDS["dog"].astype(float))
    np.testing.assert_allclose(widget.numbers()["dot product"], want, rtol=0, atol=1e-12)


def test_real_words_keep_their_numbers():
    vectors = qkv.data.word_vectors()
    widget = DotProduct.from_words(vectors, [("cat", "dog")])
    cat, dog = vectors["cat"].astype(float), vectors["dog"].astype(float)
    got = widget.numbers()
    np.testing.assert_allclose(got["cosine"], qkv.cosine_similarity(cat, dog), rtol=0, atol=1e-12)
    np.testing.assert_allclose(got["length of cat"], qkv.vector_length(cat), rtol=1e-12)


@pytest.mark.parametrize(
    ("x", "y", "onto"),
    [
        ([3, 1], [1, 2], "x"),
        ([3, 1], [-2, 1.5], "y"),
        ([0, 0], [1, 2], "x"),
        ([4, -4], [4, 4], "none"),
    ],
)
def test_the_posters_numbers_equal_cores(x, y, onto):
    poster = DotProduct(x=x, y=y, labels=["a", "b"], onto=onto).poster()
    cells = dict(re.findall(r'<tr><th scope="row">([^<]*)</th><td>([^<]*)</td></tr>', poster))
    x, y = np.array(x, float), np.array(y, float)
    assert cells["dot product"] == number(qkv.dot_product(x, y))
    assert cells["length of a"] == number(qkv.vector_length(x))
    zero = not (x.any() and y.any())
    assert cells["cosine"] == ("undefined" if zero else number(qkv.cosine_similarity(x, y)))
    assert cells["shadow of a on b"] == number(qkv.dot_product(x, y) / qkv.vector_length(y))
    assert "nan" not in poster


def test_hostile_labels_stay_text_in_the_whole_figure():
    hostile = '</script><svg onload="x()">'
    html = DotProduct(x=[1, 2], y=[3, 1], labels=[hostile, "&"]).figure_html()
    assert html.count("</script>") == 1
    assert 'onload="' not in html
    assert html.count("<svg") == 1


@pytest.mark.parametrize(
    ("traits", "sentence"),
    [
        ({"x": [1, 2, 3]}, "x must be a list of numbers of shape (2), got shape (3,)"),
        ({"x": [1, np.inf]}, "x must hold finite numbers"),
        ({"pairs": [{"x": [1, 2]}]}, "a pair needs x and y, two numbers each"),
        ({"pairs": [{"x": [1, 2], "y": [1]}]}, "a pair has two labels, and two finite numbers"),
        ({"labels": ["one"]}, "labels"),
        ({"onto": "z"}, "onto"),
    ],
)  # fmt: skip
def test_a_wrong_trait_is_refused(traits, sentence):
    with pytest.raises(traitlets.TraitError, match=re.escape(sentence)):
        DotProduct(**traits)


def test_the_first_state_teaches():
    numbers = DotProduct().numbers()
    assert numbers["dot product"] == 5.0
    np.testing.assert_allclose(numbers["cosine"], np.sqrt(0.5), rtol=1e-15)
