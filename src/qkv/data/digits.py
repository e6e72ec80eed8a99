"""Handwritten digits of 8 by 8 pixels, in the order in which they were collected.

``tools/digits.py`` packs those that scikit-learn ships; source and licence stand in
``digits_LICENSE.txt`` beside this file.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

N_TRAIN = 1300
MOST_INK = 16  # of a pixel: 4 by 4 dots of the scanned form


@dataclass(frozen=True, eq=False, repr=False)
class Digits:
    """Pictures of digits, and what they are. All arrays are read-only.

    Attributes
    ----------
    images : array of shape (1797, 8, 8)
        The ink of each pixel, 0 to 1 in steps of 1/16.
    labels : array of shape (1797,)
        What was written, 0 to 9.
    """

    images: NDArray[np.float64]
    labels: NDArray[np.int64]

    @property
    def train(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """The first 1,300: images and labels."""
        return self.images[:N_TRAIN], self.labels[:N_TRAIN]

    @property
    def test(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """The last 497: images and labels. No training in this book sees them."""
        return self.images[N_TRAIN:], self.labels[N_TRAIN:]

    def __repr__(self) -> str:
        """Say what this is, without 115,008 pixels."""
        return f"<Digits: {len(self.images):,} images of 8 x 8 pixels, {N_TRAIN:,} to train on>"


@cache
def digits() -> Digits:
    """Return the handwritten digits that scikit-learn ships.

    Returns
    -------
    Digits
        The same read-only object at every call.

    References
    ----------
    Alpaydin and Kaynak, "Optical recognition of handwritten digits" (1998), UCI Machine Learning
    Repository: its test part, written by 13 people.

    Examples
    --------
    >>> import qkv
    >>> found = qkv.data.digits()
    >>> print(found, found.test[0].shape)
    <Digits: 1,797 images of 8 x 8 pixels, 1,300 to train on> (497, 8, 8)
    """
    with files("qkv.data").joinpath("digits.npz").open("rb") as file, np.load(file) as stored:
        images = stored["ink"] / MOST_INK
        labels = stored["labels"].astype(np.int64)
    for array in (images, labels):
        array.setflags(write=False)
    return Digits(images, labels)
