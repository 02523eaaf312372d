"""Lazy arrays that are not read from a store as they are: computed, or fetched before anybody asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Mapping
from functools import partial
from typing import Any

import numpy as np
import xarray as xr
from xarray.backends import BackendArray
from xarray.core import indexing

from zarr_xgroup.i18n import _


class LazyArray(BackendArray):
    """A lazy array that reads along each axis on its own: xarray makes all other keys of that.

    Its function, which must be picklable, is given an integer, a slice or an array of positions for each
    axis, and returns the values there.
    """

    def __init__(
        self, function: Callable[..., Any], shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> None:
        self.function = function
        self.shape = shape
        self.dtype = dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        """Return the values at a key of any of xarray's kinds."""
        return indexing.explicit_indexing_adapter(
            key, self.shape, indexing.IndexingSupport.OUTER, self.function
        )

    async def async_getitem(self, key: indexing.ExplicitIndexer) -> Any:
        """Return the values at a key (for `xarray.Dataset.load_async`)."""
        return await asyncio.to_thread(self.__getitem__, key)


def fetched(values: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> LazyArray:
    """Return values that were fetched and are shared with others as a lazy array: what is read is copied.

    `dtype` is that of the array they are from, with its metadata.
    """
    return LazyArray(partial(_copied, values), values.shape, dtype)


def _copied(values: np.ndarray[Any, Any], key: tuple[Any, ...]) -> Any:
    return np.array(values[key])


def ends_fetched(variable: xr.Variable, first: Any, last: Any) -> LazyArray:
    """Return a lazy variable as a lazy array of which the first and the last value were fetched."""
    ends: dict[tuple[int | None, ...], Any] = {
        (0,) * variable.ndim: first,
        tuple(size - 1 for size in variable.shape): last,
    }
    return LazyArray(partial(_read_unless_known, variable, ends), variable.shape, variable.dtype)


def _read_unless_known(
    variable: xr.Variable, known: Mapping[tuple[int | None, ...], Any], key: tuple[Any, ...]
) -> Any:
    """Return the values at a key; of a single element that is known, by its position, without reading it again."""
    if not any(isinstance(part, np.ndarray) for part in key):
        read = [range(size)[part] for part, size in zip(key, variable.shape, strict=True)]
        value = known.get(tuple(map(_only, read)))
        if value is not None:  # axes that were sliced keep a length of 1, integers drop theirs
            return np.broadcast_to(value, [1 for part in read if isinstance(part, range)]).copy()
    return variable[key].values


def _only(positions: int | range) -> int | None:
    """Return the position that is all there is, None if there are none or more."""
    if isinstance(positions, range):
        return positions[0] if len(positions) == 1 else None
    return positions


class ComputedArray(LazyArray):
    """A lazy array of computed values: reading some computes just these.

    Its function is given an integer array of positions for each axis, all broadcastable against one
    another.
    """

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        """Return the values at a key of any of xarray's kinds.

        Arrays select pointwise (together, their axes first in the result) or each along
        its own axis of the result.
        """
        positions = [
            _positions(part, size) for part, size in zip(key.tuple, self.shape, strict=True)
        ]
        if len(positions) == 1:  # selects the same either way
            return self._values(positions).copy()
        is_pointwise = isinstance(key, indexing.VectorizedIndexer)
        together = [is_pointwise and not isinstance(part, slice) for part in key.tuple]
        points, shape, mesh = _mesh(positions, together)
        return np.broadcast_to(self._values(mesh), points + shape).copy()

    def _values(self, positions: list[Any]) -> np.ndarray[Any, Any]:
        if not all(map(np.size, positions)):
            return np.empty(np.broadcast_shapes(*map(np.shape, positions)), self.dtype)
        return np.asarray(self.function(*positions)).astype(self.dtype, copy=False)


def _mesh(
    positions: list[Any], together: list[bool]
) -> tuple[tuple[int, ...], tuple[int, ...], list[Any]]:
    """Return positions that broadcast against one another, and the shape in which they do.

    First the axes of those that select together, then one for each of the others but integers.
    """
    pairs = list(zip(positions, together, strict=True))
    points = np.broadcast_shapes(*(np.shape(part) for part, joint in pairs if joint))
    alone = np.ix_(*(part for part, joint in pairs if np.ndim(part) and not joint))
    trailing = (1,) * len(alone)
    shape = tuple(np.size(part) for part in alone)
    others = iter(alone)
    mesh = []
    for part, joint in pairs:
        if joint:
            mesh.append(np.broadcast_to(part, points).reshape(points + trailing))
        else:
            mesh.append(next(others) if np.ndim(part) else part)
    return points, shape, mesh


def _positions(key: Any, size: int) -> Any:
    """Return what a key along one axis selects, as non-negative positions."""
    if isinstance(key, slice):
        return np.arange(*key.indices(size))
    positions = np.asarray(key)
    if np.any(positions < -size) or np.any(positions >= size):
        message = _("index out of bounds for axis of size {size}").format(size=size)
        raise IndexError(message)
    return np.where(positions < 0, positions + size, positions)


def offset_bounds(values: xr.Variable, below: float, above: float) -> ComputedArray:
    """Return lazy cell boundaries of a lazy coordinate: its values plus two offsets.

    The coordinate is decoded (an offset is in its unit, not in that of packed data) and 1-D, or 0-D for
    boundaries of shape (2,).
    """
    offsets = np.array([below, above])
    dtype = np.result_type(values.dtype, offsets.dtype)
    function = partial(_bounds_of, values, offsets.astype(dtype, copy=False))
    return ComputedArray(function, (*values.shape, 2), dtype)


def _bounds_of(values: xr.Variable, offsets: np.ndarray[Any, Any], *positions: Any) -> Any:
    """Return the boundaries at positions along the axis of a coordinate that is read for it."""
    *along, side = positions
    read = _read_once(values, along[0]) if along else np.asarray(values.values)
    read, offset = read.astype(offsets.dtype, copy=False), offsets[side]
    bounds = read + offset
    if offsets.dtype.kind in "iu" and np.any((bounds < read) != (offset < 0)):
        raise OverflowError(_("cell boundaries exceed 64 bits"))
    return bounds


def _read_once(values: xr.Variable, positions: Any) -> np.ndarray[Any, Any]:
    """Return the values at positions of any shape, each read once."""
    wanted, places = np.unique(positions, return_inverse=True)
    if wanted.size and wanted[-1] - wanted[0] + 1 == wanted.size:
        read = values[int(wanted[0]) : int(wanted[-1]) + 1]
    else:
        read = values[wanted]
    return np.asarray(read.values)[places.reshape(np.shape(positions))]


def lazy_variable(
    array: BackendArray, dims: tuple[Hashable, ...], attrs: dict[str, Any] | None = None
) -> xr.Variable:
    """Return a variable that reads an array lazily."""
    return xr.Variable(dims, indexing.LazilyIndexedArray(array), attrs, fastpath=True)
