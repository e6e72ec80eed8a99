import math
import re

import numpy as np
import pytest
import traitlets

import qkv
from qkv.widgets import ScaleLab
from qkv.widgets.base import number
from qkv.widgets.scale_lab import FACTORS, N_Q, histogram, mixed, normals


def murmur(counter, seed):
    """The mixing written with Python's integers: the slow, certain version."""
    x = (counter * 0x9E3779B1 + (seed + 1) * 0x85EBCA77) % 2**32
    x = (x ^ (x >> 16)) * 0x85EBCA6B % 2**32
    x = (x ^ (x >> 13)) * 0xC2B2AE35 % 2**32
    return x ^ (x >> 16)


@pytest.mark.parametrize("seed", [0, 7, 2**31 - 2])
def test_the_random_bits_equal_plain_integers(seed):
    counters = np.array([0, 1, 5, 1023, 294912, 589823])
    assert mixed(counters, seed).tolist() == [murmur(int(c), seed) for c in counters]


def test_the_draws_are_standard_normal_and_uncorrelated():
    drawn = normals(np.arange(96), 1024, 2)
    assert abs(drawn.mean()) < 0.01
    assert abs(drawn.var() - 1) < 0.01
    assert abs((drawn**4).mean() - 3) < 0.1
    between = np.corrcoef(drawn) - np.eye(96)
    assert np.abs(between).max() < 5 / math.sqrt(1024)
    assert not np.allclose(drawn, normals(np.arange(96), 1024, 3))


@pytest.mark.parametrize("factor", list(FACTORS))
@pytest.mark.parametrize(("d_k", "n_k"), [(3, 5), (64, 16), (257, 7)])
def test_the_numbers_equal_the_loops(factor, d_k, n_k):
    made = ScaleLab(d_k=d_k, n_k=n_k, factor=factor, seed=4).numbers()
    q, k = normals(np.arange(N_Q), d_k, 4), normals(np.arange(N_Q, N_Q + n_k), d_k, 4)
    by = {"none": 1.0, "sqrt": d_k**0.5, "d": d_k}[factor]
    scores = [[sum(a * b for a, b in zip(x, y, strict=True)) / by for y in k] for x in q]
    powers = np.exp(np.array(scores) - np.max(scores))
    weights = powers / powers.sum(axis=1)[:, None]
    assert made["spread"] == pytest.approx(np.std(scores), rel=1e-12)
    assert made["largest"] == pytest.approx(weights.max(axis=1).mean(), rel=1e-9)
    assert made["slope"] == pytest.approx((weights * (1 - weights)).mean(), rel=1e-9)
    assert made["ranked"][0] == pytest.approx(made["largest"], rel=1e-12)
    assert made["counts"].sum() <= N_Q * n_k


def test_the_root_gives_cores_attention():
    lab = ScaleLab(factor="sqrt", d_k=16, n_k=7)
    q, k = normals(np.arange(N_Q), 16, 0), normals(np.arange(N_Q, N_Q + 7), 16, 0)
    _, weights = qkv.scaled_dot_product_attention(q, k, np.eye(7))
    assert lab.numbers()["largest"] == pytest.approx(weights.max(axis=1).mean(), rel=1e-12)


def test_the_first_state_teaches():
    made = ScaleLab().numbers()
    assert made["largest"] > 10 * made["uniform"]
    assert abs(made["spread"] / made["predicted"] - 1) < 0.1


def test_four_traits_and_none_is_derived():
    assert sorted(ScaleLab().state()) == ["d_k", "factor", "n_k", "seed"]


def test_a_histogram_leaves_out_what_lies_beyond():
    assert histogram(np.array([-4.0, 0.0, 3.99, 4.0, 9.0, -4.01]), 4.0).sum() == 3


@pytest.mark.parametrize("d_k", [64, 512])
def test_the_posters_numbers_equal_cores(d_k):
    poster = ScaleLab(d_k=d_k).poster()
    cells = re.findall(r"<td>([^<]+)</td>", poster)
    made = [ScaleLab(d_k=d_k, factor=factor).numbers() for factor in FACTORS]
    names = ("predicted", "spread", "largest", "uniform", "slope")
    assert cells == [number(one[name], 3) for one in made for name in names]
    assert f"largest weight {number(made[0]['largest'])}" in poster


@pytest.mark.parametrize(
    ("traits", "words"),
    [({"d_k": 0}, "d_k"), ({"d_k": 1025}, "d_k"), ({"n_k": 1}, "n_k"), ({"n_k": 257}, "n_k"),
     ({"factor": "cube"}, "factor"), ({"seed": -1}, "seed")],
)  # fmt: skip
def test_a_wrong_trait_is_refused(traits, words):
    with pytest.raises(traitlets.TraitError, match=words):
        ScaleLab(**traits)
