"""All uses of private names of xarray and zarr, each with its reason.

A test fails when a public replacement exists; then the use can be removed.

One more wish to xarray: import only the requested backend. For an engine that is not built in, ``get_backend`` calls
``list_engines``, which imports the modules of all entry points in ``xarray.backends``. So the first call with engine A also
imports B to Z, which takes several seconds if many packages provide engines, and warns about broken ones. The entry point
could first be looked up by name, with ``list_engines`` only if there is no entry point or several of that name.
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
from xarray.backends.zarr import ZarrArrayWrapper
from zarr.abc.store import Store
from zarr.core.sync import sync
from zarr.storage import WrapperStore
from zarr.storage._common import make_store_path

try:
    from zarr.buffer import default_buffer_prototype
except ImportError:  # older versions of zarr
    from zarr.core.buffer import default_buffer_prototype

__all__ = [
    "ZarrArrayWrapper",
    "array_of_metadata",
    "async_array_of",
    "dataset_of",
    "default_buffer_prototype",
    "default_indexes_follow",
    "has_index_option",
    "make_store_path",
    "sync",
    "wrapped_store",
]

# `sync` runs a coroutine on zarr's event loop, on which stores with asynchronous filesystems must be
# used. Public replacement needed: such a function in zarr.

# `make_store_path` makes a store, and a path in it, from a path, a URL or a mapping, without reading
# anything. Public replacement needed: the same function.

# `default_buffer_prototype` is an argument that `zarr.abc.store.Store.get` requires. It is public in newer
# versions of zarr only.

# `ZarrArrayWrapper` indexes a zarr array as engine zarr does, which is what law 1 of the design requires.
# Public replacement needed: the class in `xarray.backends`, as `ZarrStore` is.

# `xarray.Variable._data` is used directly elsewhere: the public `Variable.data` reads lazy data.
# Public replacement needed: a public attribute that returns lazy data.

_OPEN_FUNCTIONS = (xr.open_dataset, xr.open_datatree, xr.open_groups)


@cache
def has_index_option() -> bool:
    """Return whether xarray's open functions have the option `create_default_indexes`."""
    return "create_default_indexes" in inspect.signature(xr.open_dataset).parameters


def default_indexes_follow() -> bool:
    """Return whether xarray will build default indexes in the current call of one of its open functions.

    The public parameter `create_default_indexes` decides that, but xarray does not pass it on to backends.
    Versions of xarray without it always build indexes. Public replacement needed: that backends get it.
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
    """Return the zarr array with some metadata at a place, without reading anything.

    The constructor of `zarr.AsyncArray` is documented, but not as public. Public replacement needed: a way
    to make an array of metadata that have been read already.
    """
    return zarr.Array(zarr.AsyncArray(metadata=metadata, store_path=place))


def async_array_of(array: zarr.Array[Any]) -> Any:
    """Return the asynchronous array of an array: by a public attribute in newer versions of zarr."""
    return array.async_array if hasattr(zarr.Array, "async_array") else array._async_array


def wrapped_store(store: WrapperStore[Any]) -> Store:
    """Return the store inside a wrapper store. Public replacement needed: a public attribute of `zarr.storage.WrapperStore`."""
    inner: Store = store._store
    return inner


def dataset_of(
    data: Mapping[Hashable, xr.Variable],
    coordinates: Mapping[Hashable, xr.Variable],
    indexes: Mapping[Hashable, xr.Index],
    attributes: Mapping[str, Any],
) -> xr.Dataset:
    """Return the Dataset ``xr.Dataset(data, xr.Coordinates(coordinates, indexes), attributes)`` without copies.

    The constructor copies and aligns all variables; in a tree of small groups that takes more time than
    decoding them. Public replacement needed: a way to make a Dataset of variables that fit together.
    """
    variables = {**data, **coordinates}
    named_as_dimensions = {dim for variable in variables.values() for dim in variable.dims}
    return xr.Dataset._construct_direct(
        variables,
        {*coordinates, *(variables.keys() & named_as_dimensions)},
        attrs=dict(attributes) or None,
        indexes=dict(indexes),
    )
