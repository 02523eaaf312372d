"""Lazy arrays that are not simply read from a store: computed, or fetched in advance."""

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
    """A lazy array that reads along each axis separately; xarray expresses all other keys by such keys.

    Its function, which must be picklable, gets an integer, a slice or an array of positions for each axis, and returns
    the values there.
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
    """Return values that were fetched, and are shared, as a lazy array: reading copies them.

    `dtype` is that of the array they are from, with its metadata.
    """
    return LazyArray(partial(_copied, values), values.shape, dtype)


def _copied(values: np.ndarray[Any, Any], key: tuple[Any, ...]) -> Any:
    return np.array(values[key])


def ends_fetched(variable: xr.Variable, first: Any, last: Any) -> LazyArray:
    """Return a lazy variable as a lazy array whose first and last values were fetched."""
    ends = {(0,) * variable.ndim: first, tuple(size - 1 for size in variable.shape): last}
    return LazyArray(partial(_read_unless_known, variable, ends), variable.shape, variable.dtype)


def _read_unless_known(
    variable: xr.Variable, known: Mapping[tuple[Any, ...], Any], key: tuple[Any, ...]
) -> Any:
    """Return the values at a key; a single element whose value is known by its position is not read again."""
    if not any(isinstance(part, np.ndarray) for part in key):
        read = [range(size)[part] for part, size in zip(key, variable.shape, strict=True)]
        element = (part[0] if isinstance(part, range) and len(part) == 1 else part for part in read)
        value = known.get(tuple(element))
        if value is not None:  # axes that were sliced keep a length of 1, integers drop theirs
            return np.broadcast_to(value, [1 for part in read if isinstance(part, range)]).copy()
    return variable[key].values


class ComputedArray(LazyArray):
    """A lazy array of computed values: reading some values computes only these.

    Its function gets an integer array of positions for each axis, all broadcastable against one another.
    """

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        """Return the values at a key of any of xarray's kinds.

        Arrays select pointwise (together, their axes first in the result) or each along its own axis of the result.
        """
        is_pointwise = isinstance(key, indexing.VectorizedIndexer)
        # The positions along each axis, and whether they select pointwise.
        selected: list[tuple[Any, bool]] = []
        for part, size in zip(key.tuple, self.shape, strict=True):
            if isinstance(part, slice):
                selected.append((np.arange(*part.indices(size)), False))
                continue
            positions = np.asarray(part)
            if np.any(positions < -size) or np.any(positions >= size):
                message = _("index out of bounds for axis of size {size}").format(size=size)
                raise IndexError(message)
            positions = np.where(positions < 0, positions + size, positions)
            selected.append((positions, is_pointwise))
        points = np.broadcast_shapes(*(np.shape(part) for part, joint in selected if joint))
        alone = np.ix_(*(part for part, joint in selected if np.ndim(part) and not joint))
        shape = points + tuple(map(np.size, alone))
        if 0 in shape:
            return np.empty(shape, self.dtype)
        others, mesh = iter(alone), []
        for part, joint in selected:
            if joint:
                mesh.append(np.broadcast_to(part, points).reshape(points + (1,) * len(alone)))
            else:
                mesh.append(next(others) if np.ndim(part) else part)
        values = np.asarray(self.function(*mesh)).astype(self.dtype, copy=False)
        return np.broadcast_to(values, shape).copy()


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
    """Return the boundaries at positions along the axis of a coordinate, each of whose values is read once."""
    *along, side = positions
    if along:
        wanted, places = np.unique(along[0], return_inverse=True)
        is_gapless = wanted.size and wanted[-1] - wanted[0] + 1 == wanted.size
        part = values[slice(wanted[0], wanted[-1] + 1) if is_gapless else wanted]
        read = np.asarray(part.values)[places.reshape(np.shape(along[0]))]
    else:
        read = np.asarray(values.values)
    read, offset = read.astype(offsets.dtype, copy=False), offsets[side]
    bounds = read + offset
    if offsets.dtype.kind in "iu" and np.any((bounds < read) != (offset < 0)):
        raise OverflowError(_("cell boundaries exceed 64 bits"))
    return bounds


def lazy_variable(
    array: BackendArray, dims: tuple[Hashable, ...], attrs: dict[str, Any] | None = None
) -> xr.Variable:
    """Return a variable that reads an array lazily."""
    return xr.Variable(dims, indexing.LazilyIndexedArray(array), attrs, fastpath=True)
