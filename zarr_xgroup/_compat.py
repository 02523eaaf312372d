"""Every touch of something that xarray or zarr do not promise, each with its reason.

Where a public way appears, a test fails and the touch can go.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Hashable, Mapping
from functools import cache
from types import FrameType
from typing import Any

import xarray as xr
import zarr
from zarr.core.sync import sync
from zarr.storage._common import make_store_path

__all__ = [
    "array_of_metadata",
    "dataset_of",
    "default_indexes_follow",
    "has_index_option",
    "make_store_path",
    "sync",
]

# `sync` runs a coroutine on zarr's event loop, on which its stores of asynchronous filesystems
# have to be used. Wished for: a public function of zarr for that.

# `make_store_path` is zarr's way from what a user names (a path, a URL, a mapping) to a store
# and a path in it, without reading anything. Wished for: the same as a public function.

_OPEN_FUNCTIONS = (xr.open_dataset, xr.open_datatree, xr.open_groups)


@cache
def has_index_option() -> bool:
    """Tell whether xarray's open functions have the option `create_default_indexes`."""
    return "create_default_indexes" in inspect.signature(xr.open_dataset).parameters


def default_indexes_follow() -> bool:
    """Tell whether xarray will build default indexes for what is being opened.

    Its public parameter `create_default_indexes` decides that, and is not passed on to
    backends. Versions without it build them in any case, others only where an open function
    of xarray is running. Wished for: the parameter among those that a backend is given.
    """
    if not has_index_option():
        return True
    codes = {inspect.unwrap(function).__code__ for function in _OPEN_FUNCTIONS}
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code in codes:
            return bool(frame.f_locals.get("create_default_indexes", True))
        frame = frame.f_back
    return False


def array_of_metadata(metadata: Any, place: Any) -> zarr.Array[Any]:
    """Return the array that metadata describes at a place, without reading anything.

    zarr documents the constructor of `zarr.AsyncArray` without promising it to users. Wished
    for: a public way to make an array of metadata that was read by other means.
    """
    return zarr.Array(zarr.AsyncArray(metadata=metadata, store_path=place))


def dataset_of(
    data: Mapping[Hashable, xr.Variable],
    coordinates: Mapping[Hashable, xr.Variable],
    indexes: Mapping[Hashable, xr.Index],
    attributes: Mapping[str, Any],
) -> xr.Dataset:
    """Return what ``xr.Dataset(data, xr.Coordinates(coordinates, indexes), attributes)`` does.

    The variables become its own. The constructor copies each and looks for others to align them with:
    in a tree of small groups that takes more time than to decode them all. Wished for: a public way to
    make a Dataset of variables that are known to go together.
    """
    variables = {**data, **coordinates}
    named_as_dimensions = {dim for variable in variables.values() for dim in variable.dims}
    return xr.Dataset._construct_direct(
        variables,
        {*coordinates, *(variables.keys() & named_as_dimensions)},
        attrs=dict(attributes) or None,
        indexes=dict(indexes),
    )
