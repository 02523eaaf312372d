"""Lazy arrays of computed values: reading some computes just these."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from xarray.backends import BackendArray
from xarray.core import indexing

from zarr_xgroup.i18n import _


class ComputedArray(BackendArray):
    """A lazy array of computed values: reading some computes just these.

    Parameters
    ----------
    function : callable
        Given an integer array of positions for each axis, all broadcastable against one
        another, returns the values there. Must be picklable.
    shape : tuple of int
        The shape.
    dtype : numpy.dtype
        The type of the values.
    """

    def __init__(
        self, function: Callable[..., Any], shape: tuple[int, ...], dtype: np.dtype[Any]
    ) -> None:
        self.function = function
        self.shape = shape
        self.dtype = dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        """Return the values at a key of any of xarray's kinds."""
        return self._select(key.tuple, isinstance(key, indexing.VectorizedIndexer))

    async def async_getitem(self, key: indexing.ExplicitIndexer) -> Any:
        """Return the values at a key (for `xarray.Dataset.load_async`)."""
        return self[key]

    def _select(self, key: tuple[Any, ...], pointwise: bool) -> Any:
        """Compute the values at a key with an integer, slice or array for each axis.

        Arrays select pointwise (together, their axes first in the result) or each along
        its own axis of the result.
        """
        positions = [_positions(part, size) for part, size in zip(key, self.shape, strict=True)]
        if len(positions) == 1:  # selects the same either way
            return self._values(positions).copy()
        together = [pointwise and not isinstance(part, slice) for part in key]
        pairs = list(zip(positions, together, strict=True))
        points = np.broadcast_shapes(*(np.shape(p) for p, joint in pairs if joint))
        lengths = tuple(np.size(p) for p, joint in pairs if np.ndim(p) and not joint)
        mesh = []
        axis = len(points)
        for p, joint in pairs:
            shape = [1] * (len(points) + len(lengths))
            if joint:
                shape[: len(points)] = points
                p = np.broadcast_to(p, points)
            elif np.ndim(p):
                shape[axis] = np.size(p)
                axis += 1
            mesh.append(np.reshape(p, shape))
        return np.broadcast_to(self._values(mesh), points + lengths).copy()

    def _values(self, positions: Iterable[Any]) -> Any:
        return np.asarray(self.function(*positions)).astype(self.dtype, copy=False)


def _positions(key: Any, size: int) -> Any:
    """Return what a key along one axis selects, as non-negative positions."""
    if isinstance(key, slice):
        return np.arange(*key.indices(size))
    positions = np.asarray(key)
    if positions.dtype.kind == "b":
        return np.flatnonzero(positions)
    if np.any(positions < -size) or np.any(positions >= size):
        message = _("index out of bounds for axis of size {size}").format(size=size)
        raise IndexError(message)
    return np.where(positions < 0, positions + size, positions)


@dataclass(frozen=True)
class _ReadBounds:
    """Cell boundaries of a coordinate that has to be read: its values plus two offsets."""

    values: xr.Variable
    offsets: np.ndarray[Any, Any]
    dtype: np.dtype[Any]

    def __call__(self, *positions: Any) -> Any:
        *along, side = positions
        values = self._read(along[0]) if along else np.asarray(self.values.values)
        values = values.astype(self.dtype, copy=False)
        offsets = self.offsets[side].astype(self.dtype, copy=False)
        bounds = values + offsets
        if self.dtype.kind in "iu" and np.any((bounds < values) != (offsets < 0)):
            message = _("cell boundaries exceed 64 bits")
            raise OverflowError(message)
        return bounds

    def _read(self, positions: Any) -> np.ndarray[Any, Any]:
        """Return the values at positions of any shape, each read once."""
        wanted, places = np.unique(positions, return_inverse=True)
        if wanted.size and wanted[-1] - wanted[0] + 1 == wanted.size:
            read = self.values[int(wanted[0]) : int(wanted[-1]) + 1]
        else:
            read = self.values[wanted]
        return np.asarray(read.values)[places.reshape(np.shape(positions))]


class OffsetBounds(ComputedArray):
    """Lazy cell boundaries of a lazy coordinate: its values plus two offsets.

    Parameters
    ----------
    values : xarray.Variable
        The coordinate, decoded (an offset is in its unit, not in that of packed data); 1-D,
        or 0-D for boundaries of shape (2,).
    below, above : int or float
        Offsets added to each value.
    """

    def __init__(self, values: xr.Variable, below: float, above: float) -> None:
        offsets = np.array([below, above])
        dtype = np.result_type(values.dtype, offsets.dtype)
        super().__init__(_ReadBounds(values, offsets, dtype), (*values.shape, 2), dtype)


def lazy_variable(
    array: BackendArray, dims: tuple[Hashable, ...], attrs: dict[str, Any] | None = None
) -> xr.Variable:
    """Return a variable that reads an array lazily."""
    return xr.Variable(dims, indexing.LazilyIndexedArray(array), attrs, fastpath=True)
