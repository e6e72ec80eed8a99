import re

import numpy as np
import pytest
import traitlets

from qkv.widgets import TileStepper
from qkv.widgets.base import number
from qkv.widgets.tile_stepper import SCORES, V


def by_keys(scores, allowed, stop):
    """(m, l, o) of the first `stop` keys, all at once."""
    seen = [j for j in range(min(stop, allowed))]
    m = max(scores[j] for j in seen)
    powers = [np.exp(scores[j] - m) for j in seen]
    return np.array([m, sum(powers), *sum(p * V[j] for p, j in zip(powers, seen, strict=True))])


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("tile", [1, 3, 5, 8])
def test_each_step_is_what_all_keys_so_far_give(tile, causal):
    scores, query = np.random.default_rng(tile).normal(size=8) * 3, 4
    allowed = 5 if causal else 8
    tiles = -(-allowed // tile)
    for read in range(1, tiles + 1):
        widget = TileStepper(scores=scores, tile=tile, read=read, causal=causal, query=query)
        made = widget.numbers()
        assert (made["read"], made["tiles"]) == (read, tiles)
        want = by_keys(scores, allowed, read * tile)
        np.testing.assert_allclose(made["after"], want, rtol=0, atol=1e-12)
        np.testing.assert_allclose(
            made["after"][1:], made["kept"][1:] + made["added"][1:], rtol=0, atol=1e-12
        )
        np.testing.assert_allclose(made["kept"][1:], made["factor"] * made["before"][1:], atol=0)
    np.testing.assert_allclose(made["mean"], made["full"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(made["full"], made["weights"] @ V, rtol=0, atol=1e-12)


def test_the_first_state_teaches():
    made = TileStepper().numbers()
    assert made["after"][0] > made["before"][0] > -np.inf
    assert 0 < made["factor"] < 0.1
    assert made["read"] < made["tiles"]
    assert np.abs(made["mean"] - made["full"]).max() > 0.05


def test_nothing_read():
    made = TileStepper(read=0).numbers()
    assert made["after"].tolist() == [-np.inf, 0, 0, 0]
    assert made["mean"].tolist() == [0, 0]
    assert made["in_tile"] == 0


def test_tiles_of_the_whole_table():
    def counts(tile):
        return [TileStepper(tile=tile, causal=c).numbers()["computed"] for c in (False, True)]

    assert counts(1) == [64, 36]
    assert counts(3) == [9, 6]
    assert counts(8) == [1, 1]


def test_more_tiles_than_there_are_count_as_all():
    assert TileStepper(read=8, tile=4).numbers()["read"] == 2


def test_at_most_six_traits_and_none_is_derived():
    assert sorted(TileStepper().state()) == ["causal", "query", "read", "scores", "tile"]


@pytest.mark.parametrize("traits", [{}, {"read": 0}, {"read": 1, "causal": True, "query": 0}])
def test_the_posters_numbers_equal_cores(traits):
    widget = TileStepper(**traits)
    made = widget.numbers()
    cells = re.findall(r"<td>([^<]+)</td>", widget.poster())
    want = np.column_stack([made[name] for name in ("before", "kept", "added", "after")])
    assert cells == [number(x, 3) for x in want.ravel()]
    shown = re.findall(r'y="41"[^>]*>([^<]*)<', widget.poster())
    hidden = 8 - (widget.query + 1 if widget.causal else 8)
    assert shown == [number(x, 1) for x in SCORES[: 8 - hidden]] + [""] * hidden


@pytest.mark.parametrize(
    ("traits", "sentence"),
    [
        ({"scores": [1, 2, 3]}, "of shape (8)"),
        ({"scores": [100] + 7 * [0]}, "scores must be between -99 and 99"),
        ({"scores": [float("nan")] + 7 * [0]}, "NaN"),
        ({"tile": 0}, "tile"),
        ({"tile": 9}, "tile"),
        ({"read": -1}, "read"),
        ({"query": 8}, "query"),
        ({"causal": "yes"}, "causal"),
    ],
)
def test_a_wrong_trait_is_refused(traits, sentence):
    with pytest.raises(traitlets.TraitError, match=re.escape(sentence)):
        TileStepper(**traits)
