"""Functions of positions, by which coordinates and cell boundaries are computed.

Frozen and picklable: two that are equal compute the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from zarr_xgroup.i18n import _


@dataclass(frozen=True)
class Regular:
    """Values at equal distances: ``first + step * (i + offset)``, not accumulated.

    Attributes
    ----------
    first, step : int or float
        Integers give exact integers.
    offset : float
        Where in a cell its value is, if they follow from the transform of a grid: 0.5 for pixel, 0 for node
        registration.
    """

    first: float
    step: float
    offset: float | None = None

    def __call__(self, position: Any) -> Any:
        """Return the values at integer positions along the axis."""
        return self.first + self.step * (position + self.offset if self.offset else position)


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
class Months:
    """Days from a date to that day of other months, at equal distances of months.

    Where a month has no such day, it is the last one it has.

    Attributes
    ----------
    first : str
        The date, as ISO 8601 has it.
    step : int
        How many months lie between two.
    """

    first: str
    step: int

    def __call__(self, position: Any) -> Any:
        """Return the days at integer positions along the axis."""
        first = np.datetime64(self.first, "D")
        later = self.step * np.asarray(position)
        month = first.astype("datetime64[M]") + later.astype("timedelta64[M]")
        start = month.astype("datetime64[D]")
        next_month = month + np.timedelta64(1, "M")
        last = next_month.astype("datetime64[D]") - np.timedelta64(1, "D")
        day = np.minimum(start + (first - first.astype("datetime64[M]")), last)
        return (day - first).astype("int64")


@dataclass(frozen=True)
class IdsOfRanges:
    """The integers of ranges, one after the other.

    Attributes
    ----------
    size : int
        How many there are. It tells whether the ends of ranges are among them.
    """

    size: int

    def __call__(self, ranges: Any, position: Any) -> Any:
        """Return the integers at positions, given a lazy array of pairs of start and end."""
        pairs = np.asarray(ranges.values)
        starts = pairs[:, 0]
        for inclusive in (0, 1) if np.all(pairs[:, 1] >= starts) else ():
            after = np.cumsum(pairs[:, 1] - starts + inclusive)
            if (int(after[-1]) if after.size else 0) == self.size:
                index = np.searchsorted(after, position, side="right")
                before = np.concatenate([[0], after[:-1]]).astype(pairs.dtype)
                return starts[index] + (position - before[index]).astype(pairs.dtype)
        message = _("the ranges of cells do not have the {size} ids that the dimension needs")
        raise ValueError(message.format(size=self.size))


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
