"""Make lazy variables from sources."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from copy import deepcopy
from functools import lru_cache, partial
from importlib.metadata import version
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import xarray as xr
import zarr
from packaging.version import Version
from xarray.conventions import decode_cf_variable
from zarr.abc.store import Store
from zarr.storage import StorePath

from zarr_xgroup.errors import XGroupMetadataError, converting_errors
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import PACKED_BY
from zarr_xgroup.metadata.documents import Document, JsonObject
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.metadata.tree import Tree
from zarr_xgroup.variables.lazy import ComputedArray, lazy_variable, offset_bounds
from zarr_xgroup.variables.sources import (
    Computed,
    HandlerVariable,
    Literal,
    Offset,
    Source,
    Stored,
    Unusable,
)
from zarr_xgroup.variables.stored import (
    ArrayDocument,
    Template,
    new_template_of,
    open_array,
    template_of,
)

#: The greatest number of values read for one index, or for the first or the last value: 128 MiB of 8-byte numbers.
MOST_VALUES = 2**24
#: The same for the group's own times, which any engine reads. No compressor of Zarr makes larger chunks.
MOST_OWN_VALUES = 2**28

#: The attributes by which xarray unpacks numbers.
_PACKING = (*PACKED_BY, "_Unsigned")

#: Whether open calls share templates: the metadata of older versions of zarr have mutable members.
_SHARES_TEMPLATES = Version(version("zarr")) >= Version("3.4")

ZarrObjects: TypeAlias = "tuple[zarr.Group, zarr.Group, zarr.Array[Any]]"


class VariableFactory:
    """Makes lazy, undecoded variables from sources, and zarr objects from nodes.

    The variables share nothing mutable. With `fill_value_masks`, the fill value of an array's storage means missing data;
    by default it does so only in v2.
    """

    def __init__(
        self,
        tree: Tree,
        zarr_store: Callable[[int], Store],
        *,
        fill_value_masks: bool | None = None,
    ) -> None:
        self._tree = tree
        self._zarr_store = zarr_store
        self._fill_value_masks = fill_value_masks
        # zarr takes the classes of codecs from its configuration.
        self._codecs = repr(zarr.config.get("codecs"))
        self._template_of: Any = (
            template_of if _SHARES_TEMPLATES else lru_cache(None)(new_template_of)
        )
        self._by_place: dict[tuple[int, str, tuple[str, ...]], Template] = {}

    def template(self, node: Node, dims: tuple[str, ...]) -> Template:
        """Return the template of an array, with names for its dimensions.

        Raises XGroupMetadataError if the array does not exist, or zarr or xarray cannot use its document.
        """
        place = node.store, node.path, dims
        if place in self._by_place:
            return self._by_place[place]
        document = ArrayDocument(self._document(node), self._codecs)
        template: Template
        template = self._by_place[place] = self._template_of(document, dims, self._fill_value_masks)
        return template

    def _document(self, node: Node) -> Document:
        document = self._tree.document_if_read(node)
        if document is None or not document.is_array:
            raise XGroupMetadataError(_("there is no array {node}").format(node=node))
        return document

    def attributes(self, node: Node) -> JsonObject:
        """Return the attributes of a node, which must not be modified."""
        document = self._tree.document_if_read(node)
        return JsonObject({}) if document is None else document.attributes

    def zarr_objects(self, node: Node) -> ZarrObjects:
        """Return the zarr objects of the root, the group and the array of a node. Nothing is read.

        Raises XGroupMetadataError if the array does not exist, or zarr cannot use its document.
        """
        document = self._document(node)
        store = self._zarr_store(node.store)
        plain = {**document, "attributes": document.attributes.copied()}
        return (
            self._zarr_group(store, Node(node.store, "")),
            self._zarr_group(store, node.group),
            open_array(StorePath(store, node.path), plain),
        )

    def _zarr_group(self, store: Store, node: Node) -> zarr.Group:
        attributes = self.attributes(node).copied()
        zarr_format = self._tree.stores[node.store].zarr_format
        metadata = {"zarr_format": zarr_format, "attributes": attributes}
        return zarr.Group(zarr.AsyncGroup.from_dict(StorePath(store, node.path), metadata))

    def sizes(self, source: Source) -> dict[str, int]:
        """Return the sizes of the dimensions of a source's variable."""
        if isinstance(source, Literal):
            return dict(zip(source.dims, source.values.shape, strict=True))
        if isinstance(source, HandlerVariable):
            return {str(dim): size for dim, size in source.variable.sizes.items()}
        if isinstance(source, Offset):
            return {**self.sizes(source.values), source.side: 2}
        if isinstance(source, Unusable):
            return dict(source.needed or ())
        if isinstance(source, Stored):
            shape = self.template(source.node, source.along).shape
        else:
            shape = source.shape
        sizes = dict(zip(source.along, shape, strict=True))
        return {dim: sizes[dim] for dim in source.dims}

    def is_too_long(self, source: Source) -> bool:
        """Return whether a source, in whole chunks, has too many values to be read for an index.

        xarray reads a whole dimension coordinate for its index. If an attached coordinate is too long, it stays lazy,
        under a different name than its dimension, so that a few lines of metadata cannot fill the memory. The group's
        own arrays are read with any engine.
        """
        if isinstance(source, Computed):
            return prod(source.shape) > MOST_VALUES
        variable: xr.Variable | Template
        if isinstance(source, HandlerVariable):
            variable = source.variable
        elif isinstance(source, Stored):
            try:
                variable = self.template(source.node, source.along)
            except XGroupMetadataError:
                return False  # reported where it is attached
        else:
            return False
        return max(prod(variable.shape), chunk_size(variable)) > MOST_VALUES

    def decoded_dtype(self, source: Stored | Literal) -> np.dtype[Any]:
        """Return the type of a coordinate's values when it is decoded, or raise XGroupMetadataError."""
        variable = self.variable(source)
        # Decode one value: xarray decodes lazily, and raises errors only when values are read.
        one = xr.Variable((), np.zeros((), variable.dtype), variable.attrs, variable.encoding)
        with converting_errors():
            dtype: np.dtype[Any] = _decoded(source, one).values.dtype
        return dtype

    def positions(self, node: Node, values: Sequence[Any]) -> npt.NDArray[Any]:
        """Return values of a 1-D array of numbers, unpacked; raise XGroupMetadataError if they cannot be.

        None is masked, because many stores have the fill value 0 although no position is missing.
        """
        attributes = self.attributes(node)
        packing = {key: attributes[key] for key in _PACKING if key in attributes}
        with converting_errors():
            variable = xr.Variable(("i",), np.array(values), packing)
            unpacked: npt.NDArray[Any] = decode_cf_variable(node.name, variable).values
        return unpacked

    def variable(self, source: Source) -> xr.Variable:
        """Return a new variable of a source, or raise XGroupMetadataError if it cannot be made."""
        if isinstance(source, Stored):
            node = source.node
            store, name = self._zarr_store(node.store), self._tree.stores[node.store].name
            variable = self.template(node, source.along).variable(
                store, node.path, self._document(node), transposed=source.transposed
            )
            variable.encoding["source"] = f"{name.rstrip('/')}{node}"
            return _first_of(variable) if source.first else variable
        if isinstance(source, Computed):
            function = source.function
            if source.arrays:
                with converting_errors():
                    arrays = [_decoded(array, self.variable(array)) for array in source.arrays]
                function = partial(function, *arrays)
            array = ComputedArray(function, source.shape, np.dtype(source.dtype))
            variable = lazy_variable(array, source.along)
            if source.chunks:
                # dask chunks it like the data, because the whole coordinate may not fit into memory.
                variable.encoding["preferred_chunks"] = dict(source.chunks)
            return variable[0] if source.first else variable
        if isinstance(source, Literal):
            return xr.Variable(source.dims, source.values.copy())
        if isinstance(source, Offset):
            with converting_errors():
                values = _decoded(source.values, self.variable(source.values))
            bounds = offset_bounds(values, source.below, source.above)
            return lazy_variable(bounds, source.dims)
        if isinstance(source, Unusable):
            raise source.finding.as_error()
        # The copy of a third party's variable shares only lazy data. Attributes may contain arrays.
        original: xr.Variable = source.variable
        copied = original.copy(deep=isinstance(original._data, np.ndarray))
        copied.attrs, copied.encoding = deepcopy(dict(original.attrs)), dict(original.encoding)
        return copied


def _first_of(variable: xr.Variable) -> xr.Variable:
    """Return the first element of a variable along its first axis, whose chunks are not part of the encoding."""
    first, dim = variable[0], variable.dims[0]
    encoding = dict(variable.encoding)
    for key in ("chunks", "shards"):
        if isinstance(lengths := encoding.pop(key, None), tuple) and len(lengths) > 1:
            encoding[key] = lengths[1:]
    chunks = encoding.pop("preferred_chunks", {})
    encoding["preferred_chunks"] = {name: size for name, size in chunks.items() if name != dim}
    first.encoding = encoding
    return first


def chunk_size(variable: xr.Variable | Template) -> int:
    """Return the number of values in the largest chunk of a variable, by its encoding."""
    chunks: Collection[int | Collection[int]] = variable.encoding.get("chunks") or variable.shape
    return prod(length if isinstance(length, int) else max(length, default=0) for length in chunks)


def _decoded(source: Stored | Literal, variable: xr.Variable) -> xr.Variable:
    """Return a decoded variable. xarray's warnings about attributes show the name of its array."""
    if isinstance(source, Stored) and not source.decoded:
        return variable
    name = source.node.name if isinstance(source, Stored) else "coordinate"
    decoded: xr.Variable = decode_cf_variable(name, variable, decode_times=False)
    return decoded
