"""Functions of positions, by which coordinates and cell boundaries are computed.

Frozen and picklable: two that are equal compute the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple, Self

import numpy as np

from zarr_xgroup.i18n import _


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
        for inclusive in (0, 1):
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


@dataclass(frozen=True)
class BetweenTiePoints:
    """Values between points of which few are known, linear along each axis (CF 1.9 and later, appendix J).

    Attributes
    ----------
    indexed : tuple of int or None
        For each axis the number of the array that says at which positions its points are; None for an axis
        of which all values are known.
    period : float or None
        By how much values may be off and still be the same: 360 of longitudes, which are taken the short way.
    is_quadratic : bool
        Whether the last array has a coefficient of each subarea, for an axis along which it is quadratic.
    """

    indexed: tuple[int | None, ...]
    period: float | None = None
    is_quadratic: bool = False

    def __call__(self, values: Any, *given: Any) -> Any:
        """Return the values at positions, given lazy arrays: values, positions of points, coefficients."""
        arrays, positions = given[: -len(self.indexed)], given[-len(self.indexed) :]
        points = [np.asarray(it.values).astype("int64") for it in arrays]
        between = [
            _Between.exactly(position) if number is None else _Between.of(points[number], position)
            for number, position in zip(self.indexed, positions, strict=True)
        ]
        box = tuple(slice(it.first, it.last + 1) for it in between)
        corners = np.asarray(values[box].values)
        corners = corners.astype(np.result_type(corners.dtype, "float32"))
        found = _weighted(corners, between, self.period)
        if self.is_quadratic:
            axis = next(n for n, number in enumerate(self.indexed) if number is not None)
            number = self.indexed[axis]
            share = between[axis].share
            bend = np.asarray(arrays[-1].values)[_subareas(points[number or 0], between[axis])]
            found = found + np.where(share == 0, 0, 4 * bend * share * (1 - share))
        return found


@dataclass(frozen=True)
class BetweenGridPoints:
    """Values between the points of a grid that is written as a list, linear along rows and columns.

    Attributes
    ----------
    period : float or None
        As that of `BetweenTiePoints`.
    """

    period: float | None = None

    def __call__(self, values: Any, rows: Any, columns: Any, row: Any, column: Any) -> Any:
        """Return the values at positions, given lazy arrays of the values, rows and columns of points."""
        known, rows, columns = (np.asarray(it.values) for it in (values, rows, columns))
        along = rows, columns
        if known.ndim == 1:
            along = np.unique(rows), np.unique(columns)
            shape = tuple(map(len, along))
            order = np.lexsort((columns, rows))
            expected = np.repeat(along[0], shape[1]), np.tile(along[1], shape[0])
            if known.size != len(expected[0]) or any(
                (it[order] != wanted).any()
                for it, wanted in zip((rows, columns), expected, strict=True)
            ):
                raise ValueError(_("the points that are known are no grid of rows and columns"))
            known = known[order].reshape(shape)
        between = [
            _Between.of(it.astype("int64"), position)
            for it, position in zip(along, (row, column), strict=True)
        ]
        box = tuple(slice(it.first, it.last + 1) for it in between)
        return _weighted(known[box], between, self.period)


class _Between(NamedTuple):
    """Where positions along an axis are among its points.

    Attributes
    ----------
    before : numpy.ndarray
        The number of the point before each.
    share : numpy.ndarray
        Where it is between that and the next one, from 0 to 1; NaN beyond all points.
    first, last : int
        The points that are needed.
    """

    before: Any
    share: Any
    first: int
    last: int

    @classmethod
    def of(cls, points: Any, position: Any) -> Self:
        """Return where positions are among points in increasing order."""
        if np.any(np.diff(points) <= 0):
            raise ValueError(_("the positions of points that are known do not increase"))
        position = np.asarray(position)
        before = np.clip(
            np.searchsorted(points, position, side="right") - 1, 0, max(points.size - 2, 0)
        )
        after = np.minimum(before + 1, points.size - 1)
        width = np.maximum(points[after] - points[before], 1)
        share = (position - points[before]) / width
        is_within = (position >= points[0]) & (position <= points[-1])
        return cls.within(before, np.where(is_within, share, np.nan), points.size)

    @classmethod
    def exactly(cls, position: Any) -> Self:
        """Return where positions are on an axis of which all values are known."""
        position = np.asarray(position)
        return cls.within(position, np.zeros(position.shape), np.inf)

    @classmethod
    def within(cls, before: Any, share: Any, size: float) -> Self:
        """Return where positions are, with the points that are needed for them."""
        if not before.size:
            return cls(before, share, 0, 0)
        last = int(before.max()) + (1 if np.any(share != 0) else 0)
        return cls(before, share, int(before.min()), int(min(last, size - 1)))


def _weighted(corners: Any, between: list[_Between], period: float | None) -> Any:
    """Return values between those of corners, exact at these; `corners` begin with the first point needed."""
    base = corners[tuple(it.before - it.first for it in between)]
    total: Any = 0.0
    for ends in product((0, 1), repeat=len(between)):
        weight: Any = 1.0
        for end, it in zip(ends, between, strict=True):
            weight = weight * (it.share if end else 1 - it.share)
        places = tuple(
            np.minimum(it.before - it.first + end, it.last - it.first)
            for end, it in zip(ends, between, strict=True)
        )
        value = corners[places]
        if period is not None:
            value = value - period * np.round((value - base) / period)
        total = total + np.where(weight == 0, 0, value * weight)
    if period is not None:
        # What goes over the edge of the range in which values are written comes back to it.
        low = 0.0 if np.any(corners > period / 2) else -period / 2
        total = np.where(total > low + period, total - period, total)
        total = np.where(total < low, total + period, total)
    return total


def _subareas(points: Any, between: _Between) -> Any:
    """Return the number of the subarea of each position: none is between areas, whose points are neighbours."""
    number = np.cumsum(np.diff(points) != 1) - 1
    return np.clip(number, 0, None)[between.before]
