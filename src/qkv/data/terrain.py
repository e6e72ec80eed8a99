"""Real ground to look up: the heights of some 30 by 32 km of hills.

Chapter 4 needs measurements whose truth is known everywhere, so that a look-up between them can be
judged. matplotlib ships such a grid for its own examples: heights on the border of Tennessee and
Kentucky, near Jacksboro, from the radar mission of the space shuttle (SRTM), in the public domain.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

KM_PER_DEGREE = 111.2  # of latitude


@dataclass(frozen=True, eq=False, repr=False)
class Terrain:
    """Heights on a grid of about 74 by 93 metres.

    Attributes
    ----------
    heights : array of shape (344, 403)
        Metres above the sea; rows from north to south, columns from west to east. Read-only.
    east : array of shape (403,)
        Kilometres from the western edge.
    north : array of shape (344,)
        Kilometres from the southern edge, so it falls from row to row.
    """

    heights: Array
    east: Array
    north: Array

    def at(self, east: ArrayLike, north: ArrayLike) -> Array:
        """Return the heights measured nearest to some places.

        Parameters
        ----------
        east, north : array
            Kilometres from the western and from the southern edge, of shapes that broadcast.

        Returns
        -------
        heights : array
            In metres.

        Raises
        ------
        ValueError
            If a place lies off the grid.

        Examples
        --------
        >>> import qkv
        >>> qkv.data.terrain().at(east=[10, 20], north=14.6)
        array([910., 378.])
        """
        east, north = np.asarray(east, dtype=float), np.asarray(north, dtype=float)
        if not (_inside(east, self.east) and _inside(north, self.north)):
            raise ValueError(
                f"a place lies off the grid: east goes from 0 to {self.east[-1]:.1f} km,"
                f" north from 0 to {self.north[0]:.1f} km"
            )
        column = np.round(east / self.east[1]).astype(int)
        row = np.round((self.north[0] - north) / self.north[-2]).astype(int)
        return self.heights[row, column]


def _inside(places: Array, axis: Array) -> bool:
    return bool(np.all((places >= 0) & (places <= axis.max())))


@cache
def terrain() -> Terrain:
    """Return the heights that matplotlib ships as ``jacksboro_fault_dem.npz``.

    Returns
    -------
    Terrain
        The same read-only object at every call.

    References
    ----------
    Farr et al., "The shuttle radar topography mission" (2007).

    Examples
    --------
    >>> import qkv
    >>> land = qkv.data.terrain()
    >>> print(land.heights.shape, land.heights.min(), land.heights.max())
    (344, 403) 236.0 1076.0
    """
    from matplotlib.cbook import get_sample_data  # slow, and only this needs it

    with np.load(get_sample_data("jacksboro_fault_dem.npz", asfileobj=False)) as file:
        heights = file["elevation"].astype(float)
        # The file's "ymin" is the northern edge; the middle latitude gives the width of a degree.
        middle = np.radians((file["ymin"] + file["ymax"]) / 2)
        d_north = KM_PER_DEGREE * float(file["dy"])
        d_east = KM_PER_DEGREE * float(file["dx"]) * float(np.cos(middle))
    n_north, n_east = heights.shape
    east, north = d_east * np.arange(n_east), d_north * np.arange(n_north)[::-1]
    for array in (heights, east, north):
        array.setflags(write=False)
    return Terrain(heights, east, north)
