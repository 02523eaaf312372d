"""Fetching together what xarray is about to read of a Dataset, one thing after the other.

xarray reads dimension coordinates to build its default indexes, and the first and the last
value of times to find out how they decode. Over a network each of these reads is a round trip.
Here they are all requested at once, each array once however many groups have it.
"""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any

import numpy as np
import xarray as xr
import zarr
from xarray.backends import BackendArray
from xarray.core import indexing
from zarr.core.sync import sync

from zarr_xgroup.assembly import AssembledGroup, left_out
from zarr_xgroup.computed import lazy_variable
from zarr_xgroup.errors import XGroupStoreError
from zarr_xgroup.i18n import _
from zarr_xgroup.paths import join_path
from zarr_xgroup.resolver import Node
from zarr_xgroup.stores import late, reason_of
from zarr_xgroup.variables import StoredArray

_OPEN_FUNCTIONS = (xr.open_dataset, xr.open_datatree, xr.open_groups)


def default_indexes_follow() -> bool:
    """Tell whether xarray will build default indexes for what is being opened.

    Its public parameter `create_default_indexes` decides that, and is not passed on to
    backends. Versions without it build them in any case, others only where an open function
    of xarray is running.
    """
    if "create_default_indexes" not in inspect.signature(xr.open_dataset).parameters:
        return True
    codes = {inspect.unwrap(function).__code__ for function in _OPEN_FUNCTIONS}
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code in codes:
            return bool(frame.f_locals.get("create_default_indexes", True))
        frame = frame.f_back
    return False


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


class EndsFetched(BackendArray):
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

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        """Return the values at a key of any of xarray's kinds."""
        return indexing.explicit_indexing_adapter(
            key, self.shape, indexing.IndexingSupport.OUTER, self._read
        )

    async def async_getitem(self, key: indexing.ExplicitIndexer) -> Any:
        """Return the values at a key (for `xarray.Dataset.load_async`)."""
        return await asyncio.to_thread(self.__getitem__, key)

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


@dataclass(frozen=True)
class _Wanted:
    """A variable of a group of which all, or the ends, will be read."""

    group: AssembledGroup
    name: str
    stored: StoredArray
    whole: bool


def fetch(
    groups: Collection[AssembledGroup],
    dropped: Collection[str],
    decode_times: Any,
    *,
    for_indexes: bool,
) -> None:
    """Fetch what xarray will read of groups, and put it in the place of their variables.

    What cannot be read is left out of its group, or left undecoded, and told.

    Parameters
    ----------
    groups : collection of AssembledGroup
        Changed in place.
    dropped : collection of str
        Variables that are not wanted.
    decode_times : object
        xarray's option, perhaps by variable; False keeps times from being looked at.
    for_indexes : bool
        Whether dimension coordinates will be read.
    """
    wanted = [
        item
        for group in groups
        for item in _wanted(group, for_indexes, decode_times)
        if item.name not in dropped
    ]
    by_array: defaultdict[tuple[Node, bool], list[_Wanted]] = defaultdict(list)
    for item in wanted:
        by_array[item.stored.node, item.whole].append(item)
    if not by_array:
        return
    read = sync(_read_all([items[0] for items in by_array.values()]))
    for items, found in zip(by_array.values(), read, strict=True):
        for item in items:
            if isinstance(found, XGroupStoreError):
                _leave(item, found)
            else:
                _put(item, found)


def _wanted(group: AssembledGroup, for_indexes: bool, decode_times: Any) -> Iterator[_Wanted]:
    for name, variable in group.variables.items():
        stored = group.stored.get(name)
        by_name = isinstance(decode_times, Mapping)
        times = (decode_times.get(name, True) if by_name else decode_times) is not False
        if stored is None or variable.size != stored.array.size:
            continue
        if for_indexes and variable.dims == (name,) and stored.array.ndim == 1:
            yield _Wanted(group, name, stored, whole=True)
        elif times and variable.size and "since" in str(variable.attrs.get("units")):
            yield _Wanted(group, name, stored, whole=False)


async def _read_all(wanted: Collection[_Wanted]) -> list[Any]:
    return await asyncio.gather(*(_read(item.stored, whole=item.whole) for item in wanted))


async def _read(stored: StoredArray, *, whole: bool) -> Any:
    """Return all values of an array, or the first and the last one, or XGroupStoreError."""
    array: zarr.AsyncArray[Any] = zarr.AsyncArray(
        metadata=stored.array.metadata, store_path=stored.array.store_path
    )
    try:
        async with asyncio.timeout(stored.timeout):
            if whole:
                return np.asarray(await array.getitem(slice(None)))
            ends = [(0,) * len(array.shape), tuple(size - 1 for size in array.shape)]
            if stored.array.nchunks == 1:
                values = np.asarray(await array.getitem(Ellipsis))
                return [values[end] for end in ends]
            return await asyncio.gather(*(array.getitem(end) for end in ends))
    except Exception as error:  # noqa: BLE001 - storage libraries and codecs raise errors of their own
        reason = reason_of(error)
        if isinstance(error, TimeoutError) and stored.timeout is not None:
            reason = late()
        message = _("{node} cannot be read: {reason}").format(node=stored.node, reason=reason)
        problem = stored.problem(message)
        problem.__cause__ = error
        return problem


def _put(item: _Wanted, found: Any) -> None:
    variable = item.group.variables[item.name]
    if item.whole:
        array: BackendArray = FetchedArray(found, variable.dtype)
    else:
        array = EndsFetched(variable, *found)
    fetched = lazy_variable(array, variable.dims, variable.attrs)
    fetched.encoding = variable.encoding
    item.group.variables[item.name] = fetched


def _leave(item: _Wanted, problem: XGroupStoreError) -> None:
    """Leave out a coordinate that xarray cannot index, or leave times undecoded."""
    group, name = item.group, item.name
    if name in group.referrers:
        group.problems.extend((path, problem) for path in group.users[name])
    elif item.whole:
        group.warnings.append(left_out(join_path(group.path, name), problem))
    if item.whole:
        del group.variables[name]
        group.coordinates.discard(name)
    else:
        group.undecoded[name] = problem
