"""Decode the conventions of one group, in a Dataset that any engine has opened.

`decode` describes the Dataset as a store with one group, and opens that store by the steps of `opening`. It shows how much of
this package a coder of xarray (pydata/xarray#11541) could do, because a coder also sees one Dataset after an engine has
opened it:

- A coder could compute coordinates from numbers (`cs` with ``regular`` and ``explicit``, `spatial`, `coords` with ``interval``
  and ``inline``, the cells of `dggs`), boundaries and formula terms, and the CRS by `proj` of the array and its group. It
  could take names of dimensions from ``spatial:dimensions``, and units and calendar from `cs` for the group's own array.
- It could not follow references to other groups and stores (`ref`, ``external``, `geolocation`, paths of CF), nor use the CRS
  and the declarations of groups above, ``multiscales`` of the parent, the option `resolution`, dimensions such as ``/time``, or
  times that several groups declare. It could not align the groups of a tree, or read all documents at one level at once.

A coder would need the attributes of the group, access to sibling variables, and the right to add variables, which xarray's
coders for single variables do not have. Both have these limits:

- The engine has decoded the variables already. Their values are kept, and only numbers that a convention declares to be times
  are decoded.
- The path of the group is unknown, so a reference that starts with ``/`` is resolved from the group itself.
- Attached lazy variables are not dask arrays, whatever the others are.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
import xarray as xr
from xarray.conventions import encode_cf_variable
from xarray.indexes import PandasMultiIndex
from zarr.storage import MemoryStore, WrapperStore

from zarr_xgroup._compat import dataset_of, default_buffer_prototype
from zarr_xgroup.backend import XGroupBackendEntrypoint
from zarr_xgroup.metadata.dimensions import DIMENSION_KEY
from zarr_xgroup.metadata.paths import is_node_name
from zarr_xgroup.options import Problems, problems_of

#: Attributes that xarray has moved to the encoding when it decoded them.
_DECODED = ("coordinates", "grid_mapping", "bounds", "formula_terms", "cell_measures")


def decode(
    dataset: xr.Dataset,
    *,
    assume_conventions: str | Iterable[str] | None = None,
    problems: Problems | None = "warn",
) -> xr.Dataset:
    """Attach the coordinates, boundaries and CRS that a Dataset's own attributes declare.

    The result is that of engine xgroup for a store that has only this group: for data that a different engine opened, or that
    never were in a store. References to other groups or stores are not followed, and attributes of groups above are not known.

    Parameters
    ----------
    dataset : xarray.Dataset
        The variables of one group, with the attributes of conventions. Not changed.
    assume_conventions : str or iterable of str, optional
        Names of conventions that are treated as declared by every array, as in `xarray.open_dataset`.
    problems : {"warn", "raise"}, optional
        What to do with coordinates that cannot be made, and other problems: warn (default), or raise one XGroupError that
        lists them.

    Returns
    -------
    xarray.Dataset
        With the same variables, which share their values with those given, and the attached ones, which are lazy. A number
        that the conventions declare to be a time is decoded.

    Raises
    ------
    ValueError
        If `assume_conventions` names an unknown convention, or `problems` is not valid.
    XGroupError
        With ``problems="raise"``, if there is a problem.

    Warns
    -----
    XGroupResolutionWarning
        If a reference leads out of the group, or an attribute is malformed.

    Examples
    --------
    >>> image = xr.Dataset({"red": (("y", "x"), np.zeros((2, 3)))})
    >>> image.attrs = {
    ...     "zarr_conventions": [{"name": "spatial"}],
    ...     "spatial:dimensions": ["y", "x"],
    ...     "spatial:transform": [10, 0, 500, 0, -10, 800],
    ... }
    >>> decode(image).x.values
    array([505., 515., 525.])
    """
    problems_of(problems)  # before values are read
    attached = xr.open_dataset(
        _GroupStore(dataset),  # type: ignore[arg-type]
        engine=XGroupBackendEntrypoint,
        consolidated=False,
        assume_conventions=assume_conventions,
        cross_store_max_stores=0,
        problems=problems,
    )
    variables: dict[Hashable, xr.Variable] = dict(dataset.variables)
    indexes: dict[Hashable, xr.Index] = dict(dataset.xindexes)
    for name, decoded in attached.variables.items():
        if (given := variables.get(name)) is not None and _is_kept(given, decoded):
            kept = given.copy(deep=False)
            kept.dims, kept.attrs = decoded.dims, decoded.attrs
            named = {key: decoded.encoding[key] for key in _DECODED if key in decoded.encoding}
            kept.encoding = {**given.encoding, **named}
            variables[name] = kept
        else:
            variables[name] = decoded
            indexes.pop(name, None)
            if name in attached.xindexes:
                indexes[name] = attached.xindexes[name]
    coordinates = {name: variables.pop(name) for name in {**attached.coords, **dataset.coords}}
    result = dataset_of(variables, coordinates, indexes, dataset.attrs)
    result.encoding = dict(dataset.encoding)
    return result


def _is_kept(given: xr.Variable, decoded: xr.Variable) -> bool:
    """Return whether a variable keeps its values: it is not a number decoded to a time, and not transposed."""
    is_renamed = given.shape == decoded.shape and 2 not in given.shape
    is_time = given.dtype.kind in "iuf" and decoded.dtype.kind in "MO"
    return (given.dims == decoded.dims or is_renamed) and not is_time


class _GroupStore(WrapperStore[MemoryStore]):
    """A Zarr v2 store with the variables of a Dataset, each in one chunk, which is made when it is read."""

    def __init__(self, dataset: xr.Dataset) -> None:
        documents = {".zgroup": {"zarr_format": 2}, ".zattrs": dataset.attrs}
        self._chunks: dict[str, xr.Variable] = {}
        for name, variable in dataset.variables.items():
            if not (isinstance(name, str) and is_node_name(name)):
                continue
            if isinstance(dataset.xindexes.get(name), PandasMultiIndex):  # which is not stored
                variable = xr.Variable(variable.dims, np.zeros(variable.shape))
            if variable.dtype.kind in "MO":  # times, or text
                variable = encode_cf_variable(variable, name=name)
            if variable.dtype.kind in "OT":
                variable = variable.copy(data=np.asarray(variable.values, object).astype(str))
            documents[f"{name}/.zarray"] = {
                "zarr_format": 2,
                "shape": variable.shape,
                "chunks": [max(size, 1) for size in variable.shape],
                "dtype": variable.dtype.str,
                "order": "C",
                **dict.fromkeys(("compressor", "filters", "fill_value")),
            }
            cf = {key: variable.encoding[key] for key in _DECODED if key in variable.encoding}
            documents[f"{name}/.zattrs"] = {**cf, **variable.attrs, DIMENSION_KEY: variable.dims}
            self._chunks[f"{name}/{'.'.join('0' * variable.ndim) or '0'}"] = variable
        as_buffer = default_buffer_prototype().buffer.from_bytes
        texts = {key: json.dumps(it, default=_plain) for key, it in documents.items()}
        super().__init__(MemoryStore({key: as_buffer(it.encode()) for key, it in texts.items()}))

    def __str__(self) -> str:
        """Return the name of the store in messages."""
        return "the Dataset"

    async def exists(self, key: str) -> bool:
        """Return whether a key is a document or a chunk."""
        return key in self._chunks or await super().exists(key)

    async def get(self, key: str, prototype: Any, byte_range: Any = None) -> Any:
        """Return a document or a chunk. Lazy values are read by a different thread: zarr waits for none in its own."""
        if key not in self._chunks:
            return await super().get(key, prototype, byte_range)
        values = await asyncio.to_thread(lambda: np.ascontiguousarray(self._chunks[key].values))
        return prototype.buffer.from_bytes(values.tobytes())


def _plain(value: Any) -> Any:
    """Return numpy's numbers and arrays as those of JSON, and any other object as text."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)
