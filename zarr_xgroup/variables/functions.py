"""Functions of positions, by which coordinates and cell boundaries are computed.

Frozen and picklable: two that are equal compute the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Regular:
    """Values at equal distances: ``first + step * i``, not accumulated.

    Attributes
    ----------
    first, step : int or float
        Integers give exact integers.
    """

    first: float
    step: float

    def __call__(self, position: Any) -> Any:
        """Return the values at integer positions along the axis."""
        return self.first + self.step * position


@dataclass(frozen=True)
class RegularBounds:
    """Cell boundaries at fixed distances from the regular values they belong to.

    Attributes
    ----------
    values : Regular
        The coordinate.
    below, above : int or float
        Offsets added to each value.
    """

    values: Regular
    below: float
    above: float

    def __call__(self, position: Any, side: Any) -> Any:
        """Return the boundaries at positions along the axis and at sides 0 and 1."""
        return self.values(position) + np.where(np.equal(side, 0), self.below, self.above)


@dataclass(frozen=True)
class Centres:
    """The centres of cells along an axis: ``origin + step * (i + offset)``, not accumulated."""

    origin: float
    step: float
    offset: float

    def __call__(self, position: Any) -> Any:
        """Return the values at integer positions."""
        return self.origin + self.step * (position + self.offset)


@dataclass(frozen=True)
class RotatedCentres:
    """One coordinate of the centres of cells of a rotated grid.

    Attributes
    ----------
    column, row, origin : float
        Coefficients: ``column * (j + offset) + row * (i + offset) + origin``.
    offset : float
        0.5 for pixel, 0 for node registration.
    """

    column: float
    row: float
    origin: float
    offset: float

    def __call__(self, row: Any, column: Any) -> Any:
        """Return the values at positions along rows and columns."""
        return self.column * (column + self.offset) + self.row * (row + self.offset) + self.origin
