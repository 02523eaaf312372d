"""Values of arrays that xarray is about to read, read all at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import zarr

from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.metadata.snapshots import read_problem
from zarr_xgroup.storage.failures import late, reason_of
from zarr_xgroup.storage.limits import at_most
from zarr_xgroup.storage.stores import OpenStore
from zarr_xgroup.storage.waiting import wait

#: How many bytes a chunk of another store may have that is read while a store is opened.
MOST_STORED_BYTES = 2**28


@dataclass(frozen=True, eq=False)
class ValueRequest:
    """Which values of an array are to be read: all, or the first and the last.

    Attributes
    ----------
    node : Node
        The array.
    array : zarr.Array
        The same, to read from.
    whole : bool
        Whether all values are wanted, else the first and the last one.
    store : OpenStore
        Its store.
    """

    node: Node
    array: zarr.Array[Any]
    whole: bool
    store: OpenStore


def read_values(requests: Iterable[ValueRequest]) -> list[Any]:
    """Return, for each request, all values, the first and the last one, or XGroupStoreError."""

    async def read() -> list[Any]:
        return await asyncio.gather(*(_read(request) for request in requests))

    return wait(read())


async def _read(request: ValueRequest) -> Any:
    timeout, snapshot = request.store.limits.timeout, request.store.snapshot
    try:
        async with asyncio.timeout(timeout):
            return await _values(request)
    except Exception as error:  # noqa: BLE001 - storage libraries and codecs raise errors of their own
        reason = reason_of(error)
        if isinstance(error, TimeoutError) and timeout is not None:
            reason = late()
        message = _("{node} cannot be read: {reason}").format(node=request.node, reason=reason)
        problem = read_problem(snapshot, message)
        problem.__cause__ = error
        return problem


async def _values(request: ValueRequest) -> Any:
    array = request.array
    if request.whole:
        return np.asarray(await _part(request, slice(None)))
    ends = [(0,) * len(array.shape), tuple(size - 1 for size in array.shape)]
    if array.nchunks == 1:
        values = np.asarray(await _part(request, Ellipsis))
        return [values[end] for end in ends]
    return await asyncio.gather(*(_part(request, end) for end in ends))


async def _part(request: ValueRequest, selection: Any) -> Any:
    """Return a part of an array. Of one in several chunks zarr limits how many it reads at once."""
    reader: zarr.AsyncArray[Any] = request.array._async_array
    most = MOST_STORED_BYTES if request.store.snapshot.is_foreign else None
    async with request.store.limit:
        with at_most(most):
            return await reader.getitem(selection)
