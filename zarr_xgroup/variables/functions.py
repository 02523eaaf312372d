"""Functions of positions, by which coordinates and cell boundaries are computed.

Frozen and picklable: equal functions compute the same values.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from zarr_xgroup.i18n import _

#: The finest level of HEALPix whose ids fit into 64 bits.
FINEST = 29

#: For how many positions at once values between points are computed.
_CELLS = 2**16


@dataclass(frozen=True)
class Regular:
    """Values at equal distances: ``first + step * (i + offset)``, not accumulated.

    Attributes
    ----------
    first, step : int or float
        Integers give exact integers.
    offset : float
        The position of the value in its cell, if the values follow from the transform of a grid: 0.5 for pixel,
        0 for node registration.
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

    If a month does not have the day, its last day is used.
    """

    #: The date, in ISO 8601.
    first: str
    #: The number of months between two values.
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
class UnpackedCells:
    """The ids of nested cells of a level of HEALPix, computed from packed cells.

    Packed cells are pairs of the first id of the finest level and the id behind the last one, or cells of any level in
    the scheme ``zuniq``: a bit behind the id, and two zeros for each finer level.
    """

    #: The number of cells.
    size: int
    #: Their level.
    level: int

    def __call__(self, packed: Any, position: Any) -> Any:
        """Return the ids at positions, given a lazy array of packed cells."""
        found = np.asarray(packed.values)
        if found.ndim == 1:
            bit = found & -found
            found = np.stack([(found - bit) >> 1, (found + bit) >> 1], axis=1)
        pairs = found >> 2 * (FINEST - self.level)
        starts = pairs[:, 0]
        after = np.cumsum(pairs[:, 1] - starts)
        if np.any(pairs[:, 1] < starts) or (int(after[-1]) if after.size else 0) != self.size:
            message = _("the packed cells are not the {size} that the dimension needs")
            raise ValueError(message.format(size=self.size))
        index = np.searchsorted(after, position, side="right")
        before = np.concatenate([[0], after[:-1]]).astype(pairs.dtype)
        return starts[index] + (position - before[index]).astype(pairs.dtype)


@dataclass(frozen=True)
class RotatedCentres:
    """One coordinate of the centres of cells of a rotated grid: ``column * (j + offset) + row * (i + offset) + origin``."""

    column: float
    row: float
    origin: float
    #: 0.5 for pixel, 0 for node registration.
    offset: float

    def __call__(self, row: Any, column: Any) -> Any:
        """Return the values at positions along rows and columns."""
        return self.column * (column + self.offset) + self.row * (row + self.offset) + self.origin


@dataclass(frozen=True)
class BetweenGridPoints:
    """Values between the points of a grid, linear along rows and columns; NaN beyond them."""

    #: Values that differ by it are the same: 360 for longitudes, which are interpolated the short way and kept in the
    #: range of the points' longitudes.
    period: float | None

    def __call__(self, rows: Any, columns: Any, values: Any, row: Any, column: Any) -> Any:
        """Return the values at positions, given lazy arrays of rows, columns and values of points.

        All three are lists, or the values are a grid of rows by columns.
        """
        known, rows, columns = (np.asarray(given.values) for given in (values, rows, columns))
        if known.ndim > 1:
            rows, columns = np.repeat(rows, columns.size), np.tile(columns, rows.size)
        along = np.unique(rows), np.unique(columns)
        order = np.lexsort((columns, rows))
        grid = [positions.ravel() for positions in np.meshgrid(*along, indexing="ij")]
        if not np.array_equal([rows[order], columns[order]], grid):
            raise ValueError(_("the points that are known are no grid of rows and columns"))
        known = known.ravel()[order].reshape(along[0].size, along[1].size).astype("float64")
        parts = np.nditer(  # intermediate results take many times as much memory as the values
            [row, column, None],
            ["buffered", "external_loop"],
            [["readonly"], ["readonly"], ["writeonly", "allocate"]],
            ["int64", "int64", "float64"],
            order="C",
            buffersize=_CELLS,
        )
        with parts:
            for *positions, found in parts:
                found[...] = self._between(known, along, positions)
            return parts.operands[2]

    def _between(self, known: Any, along: tuple[Any, Any], positions: list[Any]) -> Any:
        """Return the values at rows and columns of the same number."""
        ends, shares = [], []
        for points, position in zip(along, positions, strict=True):
            first = np.clip(np.searchsorted(points, position, side="right") - 1, 0, None)
            last = np.minimum(first + 1, points.size - 1)
            width = np.where(first == last, 1, points[last] - points[first])
            share = (position - points[first]) / width
            is_beyond = (position < points[0]) | (position > points[-1])
            ends.append((first, last))
            shares.append(np.where(is_beyond, np.nan, share))
        base = known[ends[0][0], ends[1][0]]
        total = np.zeros(base.shape)
        for row, column in product((0, 1), repeat=2):
            weight = abs(1 - row - shares[0]) * abs(1 - column - shares[1])
            value = self._near(known[ends[0][row], ends[1][column]], base)
            # A point with a weight of 0 may be missing.
            total = total + np.where(weight == 0, 0, value * weight)
        half = (self.period or 0) / 2
        return self._near(total, half if np.any(known > half) else 0)

    def _near(self, values: Any, other: Any) -> Any:
        """Return values that are as near to others as the period allows."""
        if self.period is None:
            return values
        return values - self.period * np.round((values - other) / self.period)
