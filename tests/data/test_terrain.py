"""The ground of chapter 4 is where it says, and cannot be changed."""

import numpy as np
import pytest

import qkv
from qkv.data import terrain


def test_the_grid_is_thirty_by_thirty_two_kilometres():
    land = terrain()
    assert land.heights.shape == (len(land.north), len(land.east)) == (344, 403)
    assert 29.5 < land.east[-1] < 30.5
    assert 31.5 < land.north[0] < 32.5
    assert land.north[-1] == land.east[0] == 0
    assert (np.diff(land.north) < 0).all()


def test_heights_are_those_of_hills_in_metres():
    heights = terrain().heights
    assert (heights == heights.astype(int)).all()
    assert 200 < heights.min() < heights.max() < 1200


def test_at_gives_every_point_of_the_grid_itself():
    land = terrain()
    np.testing.assert_array_equal(land.at(land.east, land.north[:, None]), land.heights)


def test_the_north_is_the_first_row():
    land = terrain()
    assert land.at(0, land.north[0]) == land.heights[0, 0]


@pytest.mark.parametrize("place", [(-1, 3), (31, 3), (3, -0.1), (3, 32.5)])
def test_a_place_off_the_grid_is_answered(place):
    with pytest.raises(ValueError, match=r"off the grid: east goes from 0 to 29\.9 km"):
        terrain().at(*place)


def test_nothing_can_be_written():
    land = qkv.data.terrain()
    with pytest.raises(ValueError, match="read-only"):
        land.heights[0, 0] = 0
