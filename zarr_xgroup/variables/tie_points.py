"""Functions of positions between points of which values are known: tie points, ground control points.

Frozen and picklable, as those of `functions`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np

from zarr_xgroup.i18n import _

#: By how much longitudes may be off and still be the same.
PERIOD = 360.0

#: For how many positions at once values are computed.
_CELLS = 2**18
#: Returns a part of what is known of positions.
_Cut: TypeAlias = Callable[[Any], Any]

#: The parameter that says how each interpolation subarea is interpolated.
FLAGS = "interpolation_subarea_flags"


#: What an interpolation needs to know besides tie points (CF 1.11, 8.3.8): what the method calls it, and for each
#: axis of its array the number of that axis of the tie points, and whether it has a value of each interpolation
#: subarea there, and not of each tie point.
Parameter: TypeAlias = tuple[str, tuple[tuple[int, bool], ...]]


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
    parameters : tuple of Parameter
        What is known of subareas: the coefficient ``w`` where they are quadratic along the one axis.
    """

    indexed: tuple[int | None, ...]
    period: float | None = None
    parameters: tuple[Parameter, ...] = ()

    def __call__(self, values: Any, *given: Any) -> Any:
        """Return the values at positions, given lazy arrays: values, positions of points, parameters."""
        between, arrays = _among(self.indexed, given)
        box = tuple(slice(it.first, it.last + 1) for it in between)
        corners = np.asarray(values[box].values)
        corners = corners.astype(np.result_type(corners.dtype, "float32"))
        found = _weighted(corners, between, self.period)
        for (_term, axes), array in zip(self.parameters, arrays, strict=True):
            bend, (share,) = _needed(array, between, axes).at(0), _shares(between)
            found = found + np.where(share == 0, 0, 4 * bend * share * (1 - share))
        return found


@dataclass(frozen=True)
class BetweenPlaces:
    """Latitudes or longitudes between tie points of both, quadratic along one or two axes.

    As the methods ``quadratic_latitude_longitude`` and ``bi_quadratic_latitude_longitude`` have it (CF 1.11,
    appendix J): on the sphere in three dimensions where a flag of the subarea says so, else in degrees. Besides,
    tie points stay as they are, and longitudes are taken the short way and stay in the range in which tie
    points are written; the appendix takes them as they are, and its vectors give -180 to 180 degrees.

    Attributes
    ----------
    indexed : tuple of int or None
        As that of `BetweenTiePoints`; of one or two axes.
    is_longitude : bool
        Whether longitudes are wanted.
    mask, flag : int or None
        The subarea is interpolated in three dimensions if its flags, masked, are this; if they are not 0
        where there is no `flag`.
    parameters : tuple of Parameter
        What is known of subareas: their flags, and the coefficients that there are.
    """

    indexed: tuple[int | None, ...]
    is_longitude: bool
    mask: int | None
    flag: int | None
    parameters: tuple[Parameter, ...]

    def __call__(self, latitudes: Any, longitudes: Any, *given: Any) -> Any:
        """Return the values at positions, given lazy arrays: tie points, their positions, parameters."""
        between, arrays = _among(self.indexed, given)
        known = {
            term: _needed(array, between, axes)
            for (term, axes), array in zip(self.parameters, arrays, strict=True)
        }
        whole = [(axis, False) for axis in range(len(between))]
        places = [
            _needed(it, between, whole).in_double_precision() for it in (latitudes, longitudes)
        ]
        vectors = places[0].as_vectors(places[1])
        curves = _Curves(places[self.is_longitude], vectors, known, self.is_longitude)
        return _by_parts(partial(self._found, curves, _shares(between)), between)

    def _found(self, curves: _Curves, shares: tuple[Any, ...], cut: _Cut) -> Any:
        """Return the values at a part of the positions."""
        curves, shares = curves.part(cut), tuple(map(cut, shares))
        flags = np.nan_to_num(curves.known[FLAGS].at(*(0,) * len(shares))).astype("int64")
        is_in_space, are_ends = self._is_in_space(flags), True
        method: Any = _along_one if len(shares) == 1 else _along_two
        found = np.where(
            is_in_space,
            *(
                method(curves, *shares, in_space=it) if np.any(is_in_space == it) else 0.0
                for it in (True, False)
            ),
        )
        for share in shares:
            are_ends = are_ends & ((share == 0) | (share == 1))
        known = curves.degrees
        found = np.where(are_ends, known.at_ends(shares), found)
        return _in_range(found, known.values, PERIOD) if self.is_longitude else found

    def _is_in_space(self, flags: Any) -> Any:
        masked = flags if self.mask is None else flags & self.mask
        return masked != 0 if self.flag is None else masked == self.flag


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
            _Between.of(it, position) for it, position in zip(along, (row, column), strict=True)
        ]
        box = tuple(slice(it.first, it.last + 1) for it in between)
        return _weighted(known[box], between, self.period)


class _Between(NamedTuple):
    """Where positions along an axis are among its points.

    Attributes
    ----------
    before : numpy.ndarray
        The number of the point before each. A point belongs to what ends with it, but for the first one of
        each continuous area.
    share : numpy.ndarray or None
        Where it is between that and the next one, from 0 to 1; NaN beyond all points. None along an axis of
        which all values are known.
    first, last : int
        The points that are needed.
    subarea : numpy.ndarray
        The number of the interpolation subarea of each.
    """

    before: Any
    share: Any
    first: int
    last: int
    subarea: Any

    @classmethod
    def of(cls, points: Any, position: Any) -> Self:
        """Return where positions are among points in increasing order."""
        points = points.astype("float64")
        if not np.all(np.diff(points) > 0):
            raise ValueError(_("the positions of points that are known do not increase"))
        position, most = np.asarray(position), max(points.size - 2, 0)
        before = np.clip(np.searchsorted(points, position) - 1, 0, most)
        after = np.minimum(before + 1, points.size - 1)
        # Nothing lies between neighbours: there an area ends, and the next one begins.
        is_next = (position == points[after]) & (points[after] - points[before] == 1)
        before = np.minimum(before + is_next, most)
        after = np.minimum(before + 1, points.size - 1)
        width = np.maximum(points[after] - points[before], 1)
        share = (position - points[before]) / width
        is_within = (position >= points[0]) & (position <= points[-1])
        number = np.clip(np.cumsum(np.diff(points, append=0) != 1) - 1, 0, None)
        share = np.where(is_within, share, np.nan)
        last = min(int(before.max()) + bool(np.any(share != 0)), points.size - 1)
        return cls(before, share, int(before.min()), last, number[before])

    @classmethod
    def exactly(cls, position: Any) -> Self:
        """Return where positions are on an axis of which all values are known."""
        position = np.asarray(position)
        return cls(position, None, int(position.min()), int(position.max()), position)

    def at(self, end: int) -> Any:
        """Return the number of the point at an end, 0 or 1, of what each position is in."""
        return np.minimum(self.before + end, self.last)


class _Known(NamedTuple):
    """The part of an array that is needed around positions.

    Attributes
    ----------
    values : numpy.ndarray
        The part.
    numbers : tuple of tuple
        For each axis where in it the values are that are meant at either end.
    of_ends : tuple of int or None
        For each axis which of the ends of the axes that have tie points counts, if any.
    """

    values: Any
    numbers: tuple[tuple[Any, Any], ...]
    of_ends: tuple[int | None, ...]

    def at(self, *ends: Any) -> Any:
        """Return the values at ends, 0 or 1, of the axes that have tie points."""
        return self.values[
            tuple(
                pair[0] if number is None else pair[ends[number]]
                for pair, number in zip(self.numbers, self.of_ends, strict=True)
            )
        ]

    def at_ends(self, shares: Iterable[Any]) -> Any:
        """Return the values of the tie points at which positions are, any where they are at none."""
        ends = [it == 1 for it in shares]
        return self.values[
            tuple(
                pair[0] if number is None else np.where(ends[number], pair[1], pair[0])
                for pair, number in zip(self.numbers, self.of_ends, strict=True)
            )
        ]

    def part(self, cut: _Cut) -> Self:
        """Return what is needed of it for a part of the positions."""
        return self._replace(numbers=tuple((cut(it), cut(other)) for it, other in self.numbers))

    def in_double_precision(self) -> Self:
        """Return it with values of double precision."""
        return self._replace(values=self.values.astype("float64"))

    def as_vectors(self, longitudes: Self) -> Self:
        """Return, of latitudes, the vectors from the centre of the unit sphere (``fll2v``)."""
        latitude, longitude = np.deg2rad(self.values), np.deg2rad(longitudes.values)
        x, y = np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude)
        return self._replace(values=np.stack([x, y, np.sin(latitude)], axis=-1))


def _among(
    indexed: tuple[int | None, ...], given: tuple[Any, ...]
) -> tuple[tuple[_Between, ...], tuple[Any, ...]]:
    """Return where positions are along each axis, given arrays of the positions of points, others, and positions.

    And these others.
    """
    count = len(indexed) - indexed.count(None)
    arrays, positions = given[: -len(indexed)], given[-len(indexed) :]
    points = [np.asarray(it.values) for it in arrays[:count]]
    between = tuple(
        _Between.exactly(position) if number is None else _Between.of(points[number], position)
        for number, position in zip(indexed, positions, strict=True)
    )
    return between, arrays[count:]


def _shares(between: Iterable[_Between]) -> tuple[Any, ...]:
    """Return where positions are between two points, along each axis that has such."""
    return tuple(it.share for it in between if it.share is not None)


def _needed(array: Any, between: Sequence[_Between], axes: Sequence[tuple[int, bool]]) -> _Known:
    """Return the part of a lazy array that is needed; its axes are as a `Parameter` has them."""
    along = [axis for axis, it in enumerate(between) if it.share is not None]
    numbers = [
        (between[axis].subarea,) * 2
        if is_of_subareas
        else (between[axis].at(0), between[axis].at(1))
        for axis, is_of_subareas in axes
    ]
    box = [(int(start.min()), int(end.max()) + 1) for start, end in numbers]
    if any(stop > size for (_start, stop), size in zip(box, array.shape, strict=True)):
        message = _("interpolation parameters of shape {shape} are too few for the tie points")
        raise ValueError(message.format(shape=list(array.shape)))
    return _Known(
        np.asarray(array[tuple(slice(*it) for it in box)].values),
        tuple(
            (first - start, second - start)
            for (first, second), (start, _stop) in zip(numbers, box, strict=True)
        ),
        tuple(
            None if is_of_subareas or axis not in along else along.index(axis)
            for axis, is_of_subareas in axes
        ),
    )


class _Curves(NamedTuple):
    """What a quadratic interpolation of places goes by, in the terms of CF's appendix J.

    Attributes
    ----------
    degrees : _Known
        The tie points of what is wanted.
    vectors : _Known
        The tie points as vectors.
    known : dict
        The coefficients, by term.
    is_longitude : bool
        Whether longitudes are wanted.
    """

    degrees: _Known
    vectors: _Known
    known: dict[str, _Known]
    is_longitude: bool

    def part(self, cut: _Cut) -> Self:
        """Return what is needed of it for a part of the positions."""
        known = {term: it.part(cut) for term, it in self.known.items()}
        return self._replace(
            degrees=self.degrees.part(cut), vectors=self.vectors.part(cut), known=known
        )

    def bent(self, start: Any, end: Any, number: str, ends: tuple[int, ...], share: Any) -> Any:
        """Return vectors between two, bent by the coefficients of a number (``fcea2cv`` and ``fqv``)."""
        along, across = (
            self.known[term].at(*ends)[..., None] if term in self.known else 0.0
            for term in (f"ce{number}", f"ca{number}")
        )
        middle = (start + end) / 2
        length = np.sqrt((middle**2).sum(axis=-1, keepdims=True))
        radial = np.sqrt(1 - along**2 - across**2) - length
        bend = along * (start - end) + across * np.cross(start, end) + radial * middle
        return _bent(start, end, bend, np.asarray(share)[..., None])

    def of(self, vectors: Any) -> Any:
        """Return the latitudes or longitudes of vectors, in degrees (``fv2ll``)."""
        x, y, z = np.moveaxis(vectors, -1, 0)
        angle = np.arctan2(y, x) if self.is_longitude else np.arctan2(z, np.sqrt(x**2 + y**2))
        return np.rad2deg(angle)

    def through(self, start: Any, middle: Any, end: Any, share: Any) -> Any:
        """Return degrees of the curve through the values at the start, half way and the end."""
        if self.is_longitude:
            middle, end = _near(middle, start, PERIOD), _near(end, start, PERIOD)
        return _through(start, middle, end, share)


def _along_one(it: _Curves, share: Any, *, in_space: bool) -> Any:
    """Return what is interpolated along one axis, in space or in degrees."""
    a, b = (it.vectors.at(end) for end in (0, 1))
    if in_space:
        return it.of(it.bent(a, b, "", (0,), share))
    half = it.of(it.bent(a, b, "", (0,), 0.5))
    return it.through(it.degrees.at(0), half, it.degrees.at(1), share)


def _along_two(it: _Curves, second: Any, first: Any, *, in_space: bool) -> Any:
    """Return what is interpolated along two axes, in space or in degrees.

    CF calls the slower axis the second. The corners are ``a`` and ``b`` at its start, ``c`` and ``d`` at its end.
    """
    ends = ((0, 0), (0, 1), (1, 0), (1, 1))
    a, b, c, d = (it.vectors.at(*pair) for pair in ends)
    ab, cd = it.bent(a, b, "1", (0, 0), 0.5), it.bent(c, d, "1", (1, 0), 0.5)
    sides = ((a, c, "2", (0, 0)), (ab, cd, "3", (0, 0)), (b, d, "2", (0, 1)))
    if in_space:
        start, middle, end = (it.bent(*side, second) for side in sides)
        return it.of(_through(start, middle, end, np.asarray(first)[..., None]))
    starts = (it.degrees.at(0, 0), it.of(ab), it.degrees.at(0, 1))
    stops = (it.degrees.at(1, 0), it.of(cd), it.degrees.at(1, 1))
    halves = (it.of(it.bent(*side, 0.5)) for side in sides)
    start, middle, end = (
        it.through(*curve, second) for curve in zip(starts, halves, stops, strict=True)
    )
    return it.through(start, middle, end, first)


def _bent(start: Any, end: Any, bend: Any, share: Any) -> Any:
    """Return values between two, bent half way by so much (``fq``)."""
    return start * (1 - share) + end * share + 4 * bend * share * (1 - share)


def _through(start: Any, middle: Any, end: Any, share: Any) -> Any:
    """Return values of the curve through the start, half way and the end (``fq`` with ``fw`` of 0.5)."""
    return _bent(start, end, middle - (start + end) / 2, share)


def _near(values: Any, base: Any, period: float) -> Any:
    """Return values that are as near to others as the period allows."""
    return values - period * np.round((values - base) / period)


def _in_range(values: Any, known: Any, period: float) -> Any:
    """Return values in the range in which those that are known are written, if they are beyond it."""
    low = 0.0 if np.any(known > period / 2) else -period / 2
    values = np.where(values > low + period, values - period, values)
    return np.where(values < low, values + period, values)


def _by_parts(compute: Callable[[_Cut], Any], between: Iterable[_Between]) -> Any:
    """Return values that are computed for one part of positions after the other.

    What is computed on the way takes many times as much memory as the values do.
    """
    shape = np.broadcast_shapes(*(np.shape(it.before) for it in between))
    step = max(1, _CELLS // max(1, math.prod(shape[1:])))
    if not shape or shape[0] <= step:
        return compute(lambda it: it)
    found: Any = None
    for start in range(0, shape[0], step):
        part = slice(start, start + step)
        values = compute(partial(_cut, part=part, axes=len(shape)))
        found = np.empty(shape, values.dtype) if found is None else found
        found[part] = values
    return found


def _cut(array: Any, part: slice, axes: int) -> Any:
    """Return the part along the first of so many axes of an array, whole if it is equal along that."""
    is_along = np.ndim(array) == axes and np.shape(array)[0] > 1
    return array[part] if is_along else array


def _weighted(corners: Any, between: Sequence[_Between], period: float | None) -> Any:
    """Return values between those of corners, exact at these; `corners` begin with the first point needed."""
    return _by_parts(partial(_weighted_part, corners, between, period), between)


def _weighted_part(
    corners: Any, between: Sequence[_Between], period: float | None, cut: _Cut
) -> Any:
    between = [
        it._replace(before=cut(it.before), share=None if it.share is None else cut(it.share))
        for it in between
    ]
    base = corners[tuple(it.before - it.first for it in between)]
    total: Any = 0.0
    for ends in product(*((0,) if it.share is None else (0, 1) for it in between)):
        weight: Any = 1.0
        for end, it in zip(ends, between, strict=True):
            if it.share is not None:
                weight = weight * (it.share if end else 1 - it.share)
        value = corners[tuple(it.at(end) - it.first for end, it in zip(ends, between, strict=True))]
        if period is not None:
            value = _near(value, base, period)
        total = total + np.where(weight == 0, 0, value * weight)
    return total if period is None else _in_range(total, corners, period)
