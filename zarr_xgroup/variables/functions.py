"""Functions of positions that compute coordinates and cell boundaries.

They are frozen and picklable. Equal functions compute the same values. A new one needs a text in `_described`
(`report/explaining.py`).
"""

from __future__ import annotations

from itertools import product
from typing import Any

import msgspec
import numpy as np

from zarr_xgroup.i18n import _

#: The finest level of HEALPix whose ids fit into 64 bits.
FINEST = 29

#: The number of positions for which values between points are computed at once.
_CELLS = 2**16


class Regular(msgspec.Struct, frozen=True):
    """Regularly spaced values: ``first + step * (i + offset)``, not accumulated.

    Attributes
    ----------
    first, step : int or float
        Integers give exact integers.
    offset : float
        The position of the value in its cell if a grid's transform defines the values: 0.5 for pixel registration, 0 for
        node registration.
    """

    first: float
    step: float
    offset: float | None = None

    def __call__(self, position: Any) -> Any:
        """Return the values at integer positions along the axis."""
        return self.first + self.step * (position + self.offset if self.offset else position)


class RegularBounds(msgspec.Struct, frozen=True):
    """Cell boundaries at fixed distances from regular values.

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


class Months(msgspec.Struct, frozen=True):
    """The number of days from a date to the same day of later months, at equal distances of months.

    If a month does not have that day, its last day is used.
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


class UnpackedCells(msgspec.Struct, frozen=True):
    """The ids of nested HEALPix cells of one level, computed from packed cells.

    Packed cells are ranges of ids of the finest level (the first id, and the id after the last one), or cells of any
    level in the scheme ``zuniq``: the id, a bit of 1, and two bits of 0 for each finer level.
    """

    #: The number of cells.
    size: int
    #: Their level.
    level: int

    def __call__(self, packed: Any, position: Any) -> Any:
        """Return the ids at positions, given a lazy array of packed cells."""
        ids = np.asarray(packed.values)
        if ids.ndim == 1:
            bit = ids & -ids
            ids = np.stack([(ids - bit) >> 1, (ids + bit) >> 1], axis=1)
        pairs = ids >> 2 * (FINEST - self.level)
        starts = pairs[:, 0]
        after = np.cumsum(pairs[:, 1] - starts)
        if np.any(pairs[:, 1] < starts) or (int(after[-1]) if after.size else 0) != self.size:
            message = _("the packed cells do not unpack to {size} cells, the size of the dimension")
            raise ValueError(message.format(size=self.size))
        index = np.searchsorted(after, position, side="right")
        before = np.concatenate([[0], after[:-1]]).astype(pairs.dtype)
        return starts[index] + (position - before[index]).astype(pairs.dtype)


class RotatedCentres(msgspec.Struct, frozen=True):
    """One coordinate of cell centres in a rotated grid: ``column * (j + offset) + row * (i + offset) + origin``."""

    column: float
    row: float
    origin: float
    #: 0.5 for pixel registration, 0 for node registration.
    offset: float

    def __call__(self, row: Any, column: Any) -> Any:
        """Return the values at positions along rows and columns."""
        return self.column * (column + self.offset) + self.row * (row + self.offset) + self.origin


class BetweenGridPoints(msgspec.Struct, frozen=True):
    """Values interpolated linearly between the points of a grid, along rows and columns; NaN outside the grid."""

    #: Values that differ by the period are equal. It is 360 for longitudes, which are interpolated along the shorter way
    #: and kept in the range of the points' longitudes.
    period: float | None

    def __call__(self, rows: Any, columns: Any, values: Any, row: Any, column: Any) -> Any:
        """Return the values at positions, given lazy arrays of the rows, columns and values of points.

        All three arrays are 1-D, with one item for each point, or the values are a grid of rows by columns.
        """
        known, rows, columns = (np.asarray(array.values) for array in (values, rows, columns))
        if known.ndim > 1:
            rows, columns = np.repeat(rows, columns.size), np.tile(columns, rows.size)
        along = np.unique(rows), np.unique(columns)
        order = np.lexsort((columns, rows))
        grid = [positions.ravel() for positions in np.meshgrid(*along, indexing="ij")]
        if not np.array_equal([rows[order], columns[order]], grid):
            raise ValueError(_("the known points do not form a grid of rows and columns"))
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
            for *positions, result in parts:
                result[...] = self._between(known, along, positions)
            return parts.operands[2]

    def _between(self, known: Any, along: tuple[Any, Any], positions: list[Any]) -> Any:
        """Return the values at pairs of rows and columns."""
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
            # A point with weight 0 may be missing.
            total = total + np.where(weight == 0, 0, value * weight)
        half = (self.period or 0) / 2
        return self._near(total, half if np.any(known > half) else 0)

    def _near(self, values: Any, other: Any) -> Any:
        """Return values shifted by whole periods so that they are as near to others as possible."""
        if self.period is None:
            return values
        return values - self.period * np.round((values - other) / self.period)
