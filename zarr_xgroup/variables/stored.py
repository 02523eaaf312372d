"""Zarr arrays as lazy xarray variables, made with xarray's own ZarrStore code.

Arrays with equal metadata share a template, which is made from the document. The zarr array is made when values are
read. A variable holds the store and the metadata of one array, and nothing else of the store.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache, partial
from typing import Any

import msgspec
import numpy as np
import xarray as xr
import zarr
from xarray.backends import BackendArray, ZarrStore
from xarray.core import indexing
from zarr.abc.store import Store
from zarr.storage import MemoryStore, StorePath

from zarr_xgroup._compat import ZarrArrayWrapper, array_of_metadata
from zarr_xgroup.errors import XGroupMetadataError, converting_errors
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.dimensions import DIMENSION_KEY
from zarr_xgroup.metadata.documents import Document, copy_of
from zarr_xgroup.variables.fillvalues import FILL, can_hold, plain_fill_value
from zarr_xgroup.variables.lazy import LazyArray

#: The place at which templates are opened, from which nothing is read.
_NOWHERE = StorePath(MemoryStore(), "template")


class StoredArray(BackendArray):
    """A lazy array of a store. The zarr array is made when values are read."""

    def __init__(self, store: Store, path: str, template: Template) -> None:
        self.store = store
        self.path = path
        self.template = template
        self.shape = template.shape
        self.dtype = template.dtype

    @cached_property
    def wrapper(self) -> ZarrArrayWrapper:
        """The array as opened by xarray."""
        array = array_of_metadata(self.template.metadata, StorePath(self.store, self.path))
        return ZarrArrayWrapper(array)  # type: ignore[no-untyped-call]

    def get_array(self) -> Any:
        """Return the zarr array, as xarray's own wrapper does."""
        return self.wrapper.get_array()  # type: ignore[no-untyped-call]

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        """Return the values at any kind of xarray's keys."""
        return self.wrapper[key]

    async def async_getitem(self, key: indexing.ExplicitIndexer) -> Any:
        """Return the values at a key (for `xarray.Dataset.load_async`)."""
        return await self.wrapper.async_getitem(key)  # type: ignore[no-untyped-call]

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the arguments, not the zarr array."""
        return StoredArray, (self.store, self.path, self.template)


def _transposed(array: StoredArray, key: tuple[Any, ...]) -> Any:
    """Return the values at a key of a lazy array with its axes in reverse order.

    A lazy array that xarray has transposed cannot be indexed with integers.
    """
    is_basic = not any(isinstance(part, np.ndarray) for part in key)
    kind = indexing.BasicIndexer if is_basic else indexing.OuterIndexer
    return np.transpose(array[kind(key[::-1])])


class Template(msgspec.Struct, frozen=True, eq=False):
    """The parts that variables of arrays with equal metadata share."""

    #: The metadata object of zarr, with the names of attributes but not their values.
    metadata: Any
    dims: tuple[str, ...]
    #: The type of undecoded values in xarray.
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    #: The names of the attributes that are shown. Only the value of the fill value is used.
    attributes: Mapping[str, Any]
    #: The encoding, as with engine zarr.
    encoding: Mapping[str, Any]
    #: The attribute ``_FillValue`` if it is not a valid value of the array's type.
    fill_value: str | None = None

    def variable(
        self, store: Store, path: str, document: Document, *, transposed: bool = False
    ) -> xr.Variable:
        """Return an array as a lazy, undecoded variable that shares nothing mutable.

        With `transposed`, its axes are reversed.
        """
        written = document.attributes.copied()
        attributes = {
            key: value if key == FILL or key not in written else written[key]
            for key, value in self.attributes.items()
        }
        stored = StoredArray(store, path, self)
        array: BackendArray = stored
        dims, encoding = self.dims, copy_of(self.encoding)
        if transposed:
            dims = dims[::-1]
            array = LazyArray(partial(_transposed, stored), self.shape[::-1], self.dtype)
            for key in ("chunks", "shards"):
                if isinstance(encoding.get(key), tuple):
                    encoding[key] = encoding[key][::-1]
        data = indexing.LazilyIndexedArray(array)
        return xr.Variable(dims, data, attributes, encoding, fastpath=True)

    def zarr_array(self, store: Store, path: str) -> zarr.Array[Any]:
        """Return the zarr array at a path, without reading anything."""
        return array_of_metadata(self.metadata, StorePath(store, path))


def with_dimensions(document: Mapping[str, Any], dims: Sequence[str]) -> dict[str, Any]:
    """Return an array's document with dimension names, in the form of its Zarr format."""
    if document["zarr_format"] == 3:
        return {**document, "dimension_names": list(dims)}
    return {**document, "attributes": {**document["attributes"], DIMENSION_KEY: list(dims)}}


def open_array(place: StorePath, document: Mapping[str, Any]) -> zarr.Array[Any]:
    """Return the zarr array that a document describes, or raise XGroupMetadataError. Nothing is read."""
    chunks, grid = document.get("chunks"), document.get("chunk_grid")
    if isinstance(grid, Mapping) and isinstance(grid.get("configuration"), Mapping):
        chunks = grid["configuration"].get("chunk_shape")
    chunks = chunks if isinstance(chunks, list) else []
    if any(chunk == 0 < size for chunk, size in zip(chunks, document["shape"], strict=False)):
        # Some versions of zarr accept it, and divide by 0 when values are read.
        raise XGroupMetadataError(_("its chunks {chunks} have length 0").format(chunks=chunks))
    with converting_errors():
        return zarr.Array.from_dict(place, dict(document))


def members_as_zarr_writes(document: Document) -> Mapping[str, Any]:
    """Return the members of an array's document, except attributes, in the form that zarr writes.

    Defaults are filled in, and numbers have the array's type. Raises XGroupMetadataError if zarr cannot use the document.
    """
    with converting_errors():
        plain = {**document, "attributes": {}}
        members: dict[str, Any] = open_array(_NOWHERE, plain).metadata.to_dict()
        return members


def first_empty_chunk(values: np.ndarray[Any, Any], array: zarr.Array[Any]) -> str | None:
    """Return the key of the first chunk that seems to be missing, if an index of all values of a 1-D array repeats for it.

    Such chunks have only the fill value. All values in other chunks are distinct: other indexes, such as ids of stations,
    repeat on purpose. None if there is no such chunk.
    """
    with suppress(XGroupMetadataError), converting_errors():
        fill_value = array.metadata.fill_value
        fill = np.zeros_like(values) if fill_value is None else np.full_like(values, fill_value)
        is_fill = values == fill
        if values.dtype.kind in "fcmM":
            is_fill |= np.isnan(values) & np.isnan(fill)
        if np.count_nonzero(is_fill) > 1:
            (length,) = array.shards or array.chunks
            is_empty = np.logical_and.reduceat(is_fill, range(0, len(values), length))
            in_empty = np.repeat(is_empty, length)[: len(values)]
            others = values[~in_empty].tolist()
            if np.count_nonzero(in_empty) > 1 and len({*others}) == len(others):
                return array.metadata.encode_chunk_key((int(np.argmax(is_empty)),))
    return None


class ArrayDocument:
    """The document of an array as a key: equal for documents with equal templates.

    The values of attributes do not matter, except that of ``_FillValue``. `codecs` is zarr's configuration of codecs.
    """

    __slots__ = ("_key", "document")

    def __init__(self, document: Document, codecs: str) -> None:
        attributes, text = document.attributes, document.text_without_attributes()
        self._key = text, tuple(attributes), attributes.text(FILL), codecs
        self.document = document

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ArrayDocument) and self._key == other._key


def new_template_of(
    described: ArrayDocument, dims: tuple[str, ...], fill_value_masks: bool | None
) -> Template:
    """Return the template of an array, opened with the names, but not the values, of its attributes.

    Raises XGroupMetadataError if zarr or xarray cannot use the document.
    """
    document = described.document
    names: dict[str, Any] = dict.fromkeys(document.attributes)
    if FILL in names:
        names[FILL] = document.attributes[FILL]
    plain = {**document, "attributes": names}
    array = open_array(_NOWHERE, with_dimensions(plain, dims))
    if fill_value_masks is None:  # the default of engine zarr
        fill_value_masks = array.metadata.zarr_format == 2
    with converting_errors():
        variable, fill_value = _variable_of(array, masks=fill_value_masks)
    return Template(
        metadata=array.metadata,
        dims=tuple(str(dim) for dim in variable.dims),
        dtype=variable._data.array.dtype,  # type: ignore[union-attr]
        shape=tuple(variable.shape),
        attributes=dict(variable.attrs),
        encoding=dict(variable.encoding),
        fill_value=fill_value,
    )


#: The same, kept between calls: stores that are opened one after the other often have equal arrays.
template_of = lru_cache(500)(new_template_of)


def _variable_of(array: zarr.Array[Any], *, masks: bool) -> tuple[xr.Variable, str | None]:
    """Return an array as engine zarr does, even if its ``_FillValue`` is not in xarray's encoding.

    With `masks`, the storage's own fill value is used instead of that attribute. If the attribute is not a valid value,
    its text is returned, too.
    """
    attributes = dict(array.metadata.attributes)
    if masks or FILL not in attributes:
        return _by_zarr_store(array, masks=masks), None
    written = attributes.pop(FILL)
    either_sign = "_Unsigned" in attributes
    if can_hold(array.dtype, written, either_sign=either_sign):
        with suppress(XGroupMetadataError), converting_errors():
            return _by_zarr_store(array, masks=masks), None
    # xarray expects base64 of floats; GeoZarr and NZ-1.0 write a plain JSON value of the type.
    bare = zarr.Array.from_dict(_NOWHERE, {**array.metadata.to_dict(), "attributes": attributes})
    variable = _by_zarr_store(bare, masks=masks)
    value = plain_fill_value(written, array.dtype)
    if value is None:
        return variable, repr(written)
    variable.attrs[FILL] = value
    return variable, None


def _by_zarr_store(array: zarr.Array[Any], *, masks: bool) -> xr.Variable:
    metadata = {"zarr_format": array.metadata.zarr_format}
    place = StorePath(_NOWHERE.store, "")
    group = _GroupOfTemplate(zarr.AsyncGroup.from_dict(place, metadata))
    object.__setattr__(group, "known", array)  # the base class is frozen
    store = ZarrStore(group, mode="r", use_zarr_fill_value_as_mask=masks)
    variable: xr.Variable = store.open_store_variable("template")  # type: ignore[no-untyped-call]
    return variable


class _GroupOfTemplate(zarr.Group):
    """A group with one array, which any name returns. Nothing is listed or read."""

    known: zarr.Array[Any]

    def members(self, *_arguments: Any, **_options: Any) -> tuple[tuple[str, Any], ...]:
        """Return the array with its name, for xarray 2024.11 and later."""
        return (("template", self.known),)

    def __getitem__(self, _name: str) -> zarr.Array[Any]:
        """Return the array, for earlier versions of xarray."""
        return self.known
