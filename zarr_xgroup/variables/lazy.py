"""Lazy arrays that are computed, or partly fetched in advance."""

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
    """A lazy array that is indexed along each axis separately. xarray converts all other keys to such keys.

    Its function gets an integer, a slice or an array of positions for each axis, and returns the values there. It must be
    picklable.
    """

    def __init__(
        self, function: Callable[..., Any], shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> None:
        self.function = function
        self.shape = shape
        self.dtype = dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        """Return the values at any kind of xarray's keys."""
        return indexing.explicit_indexing_adapter(
            key, self.shape, indexing.IndexingSupport.OUTER, self.function
        )

    async def async_getitem(self, key: indexing.ExplicitIndexer) -> Any:
        """Return the values at a key (for `xarray.Dataset.load_async`)."""
        return await asyncio.to_thread(self.__getitem__, key)


def fetched(values: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> LazyArray:
    """Return fetched values as a lazy array. Reading copies them, because they are shared.

    `dtype` is that of their array, including its metadata.
    """
    return LazyArray(partial(_copied, values), values.shape, dtype)


def _copied(values: np.ndarray[Any, Any], key: tuple[Any, ...]) -> Any:
    return np.array(values[key])


def ends_fetched(variable: xr.Variable, first: Any, last: Any) -> LazyArray:
    """Return a lazy variable as a lazy array with fetched first and last values."""
    ends = {(0,) * variable.ndim: first, tuple(size - 1 for size in variable.shape): last}
    return LazyArray(partial(_read_unless_known, variable, ends), variable.shape, variable.dtype)


def _read_unless_known(
    variable: xr.Variable, known: Mapping[tuple[Any, ...], Any], key: tuple[Any, ...]
) -> Any:
    """Return the values at a key. A single element whose value is known is not read again."""
    if not any(isinstance(part, np.ndarray) for part in key):
        read = [range(size)[part] for part, size in zip(key, variable.shape, strict=True)]
        element = (part[0] if isinstance(part, range) and len(part) == 1 else part for part in read)
        value = known.get(tuple(element))
        if value is not None:  # axes that were sliced keep a length of 1, integers drop theirs
            return np.broadcast_to(value, [1 for part in read if isinstance(part, range)]).copy()
    return variable[key].values


class ComputedArray(LazyArray):
    """A lazy array that computes only the values that are read.

    Its function gets integer arrays of positions, one for each axis, that broadcast against each other.
    """

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        """Return the values at any kind of xarray's keys.

        Arrays in a key select pointwise (their joint axes are first in the result), or each along its own axis.
        """
        if len(key.tuple) == 1 and isinstance(part := key.tuple[0], slice):  # most keys
            positions = np.arange(*part.indices(self.shape[0]))
            if positions.size:
                return np.array(self.function(positions), self.dtype)
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
        separate = np.ix_(*(part for part, joint in selected if np.ndim(part) and not joint))
        shape = points + tuple(map(np.size, separate))
        if 0 in shape:
            return np.empty(shape, self.dtype)
        others, mesh = iter(separate), []
        for part, joint in selected:
            if joint:
                mesh.append(np.broadcast_to(part, points).reshape(points + (1,) * len(separate)))
            else:
                mesh.append(next(others) if np.ndim(part) else part)
        values = np.asarray(self.function(*mesh)).astype(self.dtype, copy=False)
        return np.broadcast_to(values, shape).copy()


def offset_bounds(values: xr.Variable, below: float, above: float) -> ComputedArray:
    """Return lazy cell boundaries of a lazy coordinate: its values plus two offsets.

    The coordinate must be decoded, because offsets are in its unit, and 1-D, or 0-D for boundaries of shape (2,).
    """
    offsets = np.array([below, above])
    dtype = np.result_type(values.dtype, offsets.dtype)
    function = partial(_bounds_of, values, offsets.astype(dtype, copy=False))
    return ComputedArray(function, (*values.shape, 2), dtype)


def _bounds_of(values: xr.Variable, offsets: np.ndarray[Any, Any], *positions: Any) -> Any:
    """Return the boundaries at positions along the axis of a coordinate. Each value is read once."""
    *along, side = positions
    if along:
        unique, inverse = np.unique(along[0], return_inverse=True)
        is_gapless = unique.size and unique[-1] - unique[0] + 1 == unique.size
        part = values[slice(unique[0], unique[-1] + 1) if is_gapless else unique]
        read = np.asarray(part.values)[inverse.reshape(np.shape(along[0]))]
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
