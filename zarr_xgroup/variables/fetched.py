"""Lazy arrays some or all of whose values were fetched before anybody asked."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from xarray.backends import BackendArray
from xarray.core import indexing

from zarr_xgroup.variables.outer import OuterArray


class FetchedArray(BackendArray):
    """A one-dimensional array whose values were fetched.

    Parameters
    ----------
    values : numpy.ndarray
        Shared with others; what is read is copied.
    dtype : numpy.dtype
        That of the array they are from, with its metadata.
    """

    def __init__(self, values: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> None:
        self._values = values
        self.shape = values.shape
        self.dtype = dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        """Return the values at a key of any of xarray's kinds: along one axis they agree."""
        return np.array(self._values[key.tuple])

    async def async_getitem(self, key: indexing.ExplicitIndexer) -> Any:
        """Return the values at a key (for `xarray.Dataset.load_async`)."""
        return self[key]


class EndsFetched(OuterArray):
    """A lazy array of which the first and the last value were fetched.

    Parameters
    ----------
    variable : xarray.Variable
        The array, lazy.
    first, last : numpy.ndarray
        The values, of no dimensions.
    """

    def __init__(self, variable: xr.Variable, first: Any, last: Any) -> None:
        self._variable = variable
        self._first = first
        self._last = last
        self.shape = variable.shape
        self.dtype = variable.dtype

    def _read(self, key: tuple[Any, ...]) -> Any:
        if not any(isinstance(part, np.ndarray) for part in key):
            places = [np.arange(size)[part] for part, size in zip(key, self.shape, strict=True)]
            if all(np.size(place) == 1 for place in places):
                shape = tuple(np.size(place) for place in places if np.ndim(place))
                if all(np.all(place == 0) for place in places):
                    return np.broadcast_to(self._first, shape).copy()
                ends = zip(places, self.shape, strict=True)
                if all(np.all(place == size - 1) for place, size in ends):
                    return np.broadcast_to(self._last, shape).copy()
        return self._variable[key].values
