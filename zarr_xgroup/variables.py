"""Zarr arrays as lazy xarray variables, by xarray's own ZarrStore code.

What is handed out holds the store and the metadata of one array, never the hierarchy.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import xarray as xr
import zarr
from xarray.backends import ZarrStore
from zarr.abc.store import Store
from zarr.core.group import GroupMetadata
from zarr.core.metadata import ArrayV2Metadata, ArrayV3Metadata
from zarr.storage import StorePath

from zarr_xgroup.dimensions import DIMENSION_KEY
from zarr_xgroup.documents import Document, ZarrFormat, copy_of
from zarr_xgroup.errors import (
    XGroupError,
    XGroupMetadataError,
    XGroupMetadataWarning,
    XGroupStoreError,
)
from zarr_xgroup.hierarchy import Hierarchy
from zarr_xgroup.i18n import _
from zarr_xgroup.resolver import Node

#: What zarr and xarray raise for metadata they cannot use.
METADATA_ERRORS = (
    ValueError,  # also JSON, Unicode and most of zarr's own
    TypeError,
    LookupError,  # a missing key, an unknown codec
    AttributeError,
    ArithmeticError,
    NotImplementedError,
    AssertionError,
    ImportError,  # a codec whose package is missing
    struct.error,  # a fill value of the wrong width
)

_FILL = "_FillValue"


Metadata: TypeAlias = ArrayV2Metadata | ArrayV3Metadata
Templates: TypeAlias = dict[str, Metadata]


def with_dimensions(document: Document, dimensions: Sequence[str | None]) -> Document:
    """Return an array's document with these dimension names, where its format keeps them.

    If names are missing the document names none, so that zarr can open it all the same.
    """
    names = None if None in dimensions else list(dimensions)
    if document["zarr_format"] == 3:
        return {**document, "dimension_names": names}
    return {**document, "attributes": {**document["attributes"], DIMENSION_KEY: names}}


def open_array(
    store: Store, path: str, document: Document, templates: Templates | None = None
) -> zarr.Array[Any]:
    """Return the zarr array that a document describes, without reading anything.

    Parameters
    ----------
    store : zarr.abc.store.Store
        What holds the array.
    path : str
        Where in it.
    document : mapping
        Its metadata.
    templates : dict, optional
        Arrays that were opened, for others that differ from them in attributes only.

    Raises
    ------
    XGroupMetadataError
        If zarr cannot use the document.
    """
    templates = {} if templates is None else templates
    chunks = _chunk_lengths(document)
    if 0 in chunks and 0 not in document.get("shape", ()):
        # Some versions of zarr take it, and divide by it on reading.
        raise XGroupMetadataError(_("its chunks {chunks} have no length").format(chunks=chunks))
    place = StorePath(store, path)
    key = repr({name: value for name, value in document.items() if name != "attributes"})
    try:
        if key not in templates:
            array = zarr.Array.from_dict(place, dict(document))
            templates[key] = array.metadata
            return array
        metadata: Any = templates[key].update_attributes(dict(document["attributes"]))
        return zarr.Array(zarr.AsyncArray(metadata=metadata, store_path=place))
    except METADATA_ERRORS as error:
        message = _("{kind}: {reason}").format(kind=type(error).__name__, reason=error)
        raise XGroupMetadataError(message) from error


def _chunk_lengths(document: Document) -> list[Any]:
    """Return the chunk shape of a document, as far as it is of one length for each axis."""
    chunks = document.get("chunks")
    grid = document.get("chunk_grid")
    if isinstance(grid, Mapping) and isinstance(grid.get("configuration"), Mapping):
        chunks = grid["configuration"].get("chunk_shape")
    return list(chunks) if isinstance(chunks, list) else []


class _KnownGroup(zarr.Group):
    """A group whose members are known: nothing is listed or read."""

    def __init__(self, async_group: zarr.AsyncGroup, arrays: Mapping[str, zarr.Array[Any]]) -> None:
        super().__init__(async_group)
        object.__setattr__(self, "known", arrays)  # the base class is frozen

    known: Mapping[str, zarr.Array[Any]]

    def members(self, *_arguments: Any, **_options: Any) -> tuple[tuple[str, Any], ...]:
        """Return the arrays with their names, for xarray from 2024.11 on."""
        return tuple(self.known.items())

    def __getitem__(self, name: str) -> zarr.Array[Any]:
        """Return an array, for earlier ones."""
        return self.known[name]


@dataclass(frozen=True)
class FillValue:
    """A ``_FillValue`` of a v3 array's attributes that is not written as xarray writes it.

    Attributes
    ----------
    written : object
        The JSON value of the attribute.
    value : object
        What it means in the array's type; None if it cannot be a value of that type.
    """

    written: Any
    value: Any


class GroupVariables:
    """Makes lazy variables of one group's arrays, as engine zarr would.

    Parameters
    ----------
    store : zarr.abc.store.Store
        The store that holds the arrays.
    group : str
        The path of the group.
    arrays : mapping of str to zarr.Array
        Arrays of the group by name, their dimension names complete.
    """

    def __init__(
        self,
        store: Store,
        group: str,
        arrays: Mapping[str, zarr.Array[Any]],
        zarr_format: ZarrFormat,
    ) -> None:
        self._arrays = arrays
        self._zarr_format = zarr_format
        self._place = StorePath(store, group)
        self._zarr_store = self._zarr_store_of(arrays)

    def open(self, name: str) -> tuple[xr.Variable, FillValue | None]:
        """Return an array as a variable, undecoded.

        Returns
        -------
        variable : xarray.Variable
            Lazy; dimensions, attributes and encoding are those of engine zarr.
        fill_value : FillValue or None
            Set where engine zarr fails because of the attribute ``_FillValue``. A value
            that can be used is among the variable's attributes, another one is not.

        Raises
        ------
        XGroupMetadataError
            If xarray cannot make a variable of the array.
        """
        attributes = self._arrays[name].metadata.attributes
        try:
            try:
                return _variable_of(self._zarr_store, name), None
            except METADATA_ERRORS:
                if self._zarr_format == 2 or _FILL not in attributes:
                    raise
            return self._open_with_plain_fill_value(name)
        except METADATA_ERRORS as error:
            message = _("{kind}: {reason}").format(kind=type(error).__name__, reason=error)
            raise XGroupMetadataError(message) from error

    def _open_with_plain_fill_value(self, name: str) -> tuple[xr.Variable, FillValue]:
        """Open without ``_FillValue``, which xarray expects in base64, and put it back as is.

        GeoZarr draft standard and NZ-1.0 write a plain JSON value of the array's type.
        """
        array = self._arrays[name]
        attributes = dict(array.metadata.attributes)
        written = attributes.pop(_FILL)
        document = {**array.metadata.to_dict(), "attributes": attributes}
        bare = zarr.Array.from_dict(array.store_path, document)
        variable = _variable_of(self._zarr_store_of({name: bare}), name)
        fill_value = FillValue(written, plain_fill_value(written, array.dtype))
        if fill_value.value is not None:
            variable.attrs[_FILL] = fill_value.value
        return variable, fill_value

    def _zarr_store_of(self, arrays: Mapping[str, zarr.Array[Any]]) -> ZarrStore:
        metadata = GroupMetadata(zarr_format=self._zarr_format)
        group = _KnownGroup(zarr.AsyncGroup(metadata, self._place), arrays)
        # As engine zarr decides it: in v2 the storage's fill value means missing data.
        return ZarrStore(group, mode="r", use_zarr_fill_value_as_mask=self._zarr_format == 2)


@dataclass(frozen=True)
class StoredArray:
    """An array that a variable is read from.

    Attributes
    ----------
    node : Node
        The array's place, in a `Hierarchy`.
    array : zarr.Array
        The array.
    """

    node: Node
    array: zarr.Array[Any]

    @property
    def timeout(self) -> float | None:
        """How long an open may wait for its values, in seconds."""
        return _hierarchy(self.node).timeout

    def problem(self, reason: str) -> XGroupStoreError:
        """Return the error of an array that cannot be read."""
        return _hierarchy(self.node).read_problem(reason)


class ArrayReader:
    """Makes lazy variables of arrays anywhere, each opened once however often it is asked for.

    Attributes
    ----------
    templates : dict
        For `open_array`.
    """

    def __init__(self) -> None:
        self._variables: dict[
            tuple[Node, tuple[str, ...]], tuple[xr.Variable, FillValue | None]
        ] = {}
        self._stored: dict[Node, StoredArray] = {}
        self.templates: Templates = {}

    def stored(self, node: Node) -> StoredArray | None:
        """Return an array that variables were made of, or None if none was."""
        return self._stored.get(node)

    def problem(self, node: Node) -> XGroupError | None:
        """Return what is wrong with the attributes of an array that could be opened."""
        return _hierarchy(node).problem(node.path)

    def variable(
        self, node: Node, dimensions: tuple[str, ...]
    ) -> tuple[xr.Variable, FillValue | None]:
        """Return an array as an undecoded variable with the given dimensions.

        Parameters
        ----------
        node : Node
            An array of a `Hierarchy`.
        dimensions : tuple of str
            One name per axis.

        Returns
        -------
        variable : xarray.Variable
            Lazy; shares no mutable state with any other. ``encoding["source"]`` says where
            it is from.
        fill_value : FillValue or None
            As of `GroupVariables.open`.

        Raises
        ------
        XGroupMetadataError
            If zarr or xarray cannot use the array's document.
        """
        key = (node, dimensions)
        if key not in self._variables:
            self._variables[key] = self._open(node, dimensions)
        variable, fill_value = self._variables[key]
        return independent_copy(variable), fill_value

    def _open(
        self, node: Node, dimensions: tuple[str, ...]
    ) -> tuple[xr.Variable, FillValue | None]:
        hierarchy, document = _hierarchy(node), node.document
        if document is None:
            message = _("there is no array {node}").format(node=node)
            raise XGroupMetadataError(message)
        array = open_array(
            hierarchy.store, node.path, with_dimensions(document, dimensions), self.templates
        )
        self._stored.setdefault(node, StoredArray(node, array))
        members = {node.name: array}
        group = GroupVariables(hierarchy.store, node.group.path, members, hierarchy.zarr_format)
        variable, fill_value = group.open(node.name)
        variable.encoding["source"] = f"{hierarchy.name.rstrip('/')}{node}"
        return variable, fill_value


def zarr_objects(node: Node) -> tuple[zarr.Group, zarr.Group, zarr.Array[Any]]:
    """Return the root, the group and the array of a node as zarr objects, reading nothing."""
    hierarchy, document = _hierarchy(node), node.document
    if document is None:
        message = _("there is no array {node}").format(node=node)
        raise XGroupMetadataError(message)
    return (
        _zarr_group(hierarchy, ""),
        _zarr_group(hierarchy, node.group.path),
        open_array(hierarchy.store, node.path, document),
    )


def _zarr_group(hierarchy: Hierarchy, path: str) -> zarr.Group:
    document = hierarchy.find(path)
    attributes = {} if document is None else copy_of(document["attributes"])
    metadata = GroupMetadata(attributes=attributes, zarr_format=hierarchy.zarr_format)
    return zarr.Group(zarr.AsyncGroup(metadata, StorePath(hierarchy.store, path)))


def _hierarchy(node: Node) -> Hierarchy:
    if not isinstance(node.documents, Hierarchy):
        message = _("{node} is in no store, only among documents").format(node=node)
        raise TypeError(message)
    return node.documents


def plain_fill_value(written: Any, dtype: np.dtype[Any]) -> Any:
    """Return what a ``_FillValue`` written as plain JSON means for an array of this type.

    Parameters
    ----------
    written : object
        A number, a string, a boolean or, for complex types, a pair of numbers. Floats also
        as the fill values of the Zarr v3 core specification: ``"NaN"``, ``"Infinity"``,
        ``"-Infinity"`` or the bits in hexadecimal (``"0x7fc00000"``).
    dtype : numpy.dtype
        The type of the array.

    Returns
    -------
    object
        A value that arrays of the type can hold; None if there is none.
    """
    try:
        if dtype.kind == "f":
            return _plain_float(written, dtype)
        if dtype.kind == "c":
            real, imaginary = written
            part = np.empty(0, dtype).real.dtype
            return complex(_plain_float(real, part), _plain_float(imaginary, part))
        if dtype.kind in "OTUS" and isinstance(written, str):
            return written.encode() if dtype.kind == "S" else written
        if dtype.kind in "mM" and isinstance(written, int | str) and not isinstance(written, bool):
            return np.array(written, dtype)[()]
    except METADATA_ERRORS:
        return None
    return None


def _plain_float(written: Any, dtype: np.dtype[Any]) -> float:
    if isinstance(written, str):
        if written.startswith("0x"):
            bits = bytes.fromhex(written[2:])
            return float(np.frombuffer(bits, dtype.newbyteorder(">"), count=1)[0])
        if written not in ("NaN", "Infinity", "-Infinity"):
            raise ValueError(written)
    elif isinstance(written, bool) or not isinstance(written, int | float):
        raise TypeError(written)
    # The nearest value that the array can hold: what its writer stored for missing data.
    return float(dtype.type(written))


def _variable_of(store: ZarrStore, name: str) -> xr.Variable:
    variable: xr.Variable = store.open_store_variable(name)  # type: ignore[no-untyped-call]
    return variable


def transposed(variable: xr.Variable) -> xr.Variable:
    """Return a lazy variable with its axes the other way round, in its encoding as well."""
    result = variable.transpose()
    for key in ("chunks", "shards"):
        if isinstance(variable.encoding.get(key), tuple):
            result.encoding[key] = variable.encoding[key][::-1]
    return result


def fill_value_warning(path: str, fill_value: FillValue) -> XGroupMetadataWarning:
    """Return the warning about a ``_FillValue`` of the array at an absolute path."""
    if fill_value.value is None:
        message = _(
            "Array {path}: /attributes/_FillValue is {written!r}, which is no value of the "
            "array's type; nothing is masked by it"
        )
    else:
        message = _(
            "Array {path}: /attributes/_FillValue is plain JSON ({written!r}), which engine zarr "
            "cannot read; it masks missing data as GeoZarr and NZ-1.0 mean it"
        )
    return XGroupMetadataWarning(message.format(path=path, written=fill_value.written))


def independent_copy(variable: xr.Variable) -> xr.Variable:
    """Return a variable of the same lazy data that shares no attributes and no encoding."""
    copy = variable.copy(deep=False)
    copy.attrs = copy_of(variable.attrs)
    copy.encoding = copy_of(variable.encoding)
    return copy
