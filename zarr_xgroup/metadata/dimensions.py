"""The dimension names in an array's document.

Sources, in this order: ``dimension_names`` (Zarr v3), ``_ARRAY_DIMENSIONS`` (xarray's Zarr
encoding), ``dimrefs`` (NCZarr).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from zarr_xgroup.errors import XGroupMetadataError
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Keys

NZ = "NZ-1.0 convention (zarr-conventions/nz)"

#: xarray's Zarr encoding: the attribute that names a v2 array's dimensions.
DIMENSION_KEY = "_ARRAY_DIMENSIONS"
#: The attributes of NCZarr about an array.
NCZARR_KEYS = ("_NCZARR_ARRAY", "_nczarr_array")
NCZARR_REFERENCES = ("dimrefs", "dimension_references")

_INTEGERS = {int, bool}


def declared_dimensions(document: Mapping[str, Any]) -> tuple[str | None, ...]:
    """Return the dimension names in an array's document, None for a dimension without a name.

    A list of names whose length is not the number of dimensions is ignored, as are names that are not strings.

    Raises
    ------
    XGroupMetadataError
        If the document has no valid shape.
    """
    ndim = len(shape_of(document))
    for names in (document.get("dimension_names"), document["attributes"].get(DIMENSION_KEY)):
        if isinstance(names, list | tuple) and len(names) == ndim:
            return tuple([name if isinstance(name, str) else None for name in names])
    for paths in _nczarr_references(document):
        if len(paths) == ndim:
            return tuple(
                path.rpartition("/")[2] if isinstance(path, str) else None for path in paths
            )
    return (None,) * ndim


def has_unusable_names(document: Mapping[str, Any]) -> bool:
    """Return whether an array's document has dimension names that `declared_dimensions` ignores."""
    written = document.get("dimension_names") or document["attributes"].get(DIMENSION_KEY)
    unnamed = written.count(None) if isinstance(written, list) else 0
    return written is not None and declared_dimensions(document).count(None) > unnamed


def name_with_size(name: str, size: int, sizes: dict[str, int], suffix: str) -> str:
    """Return a name for a dimension that has no different size, and add it to `sizes`.

    The suffix is appended until there is no different size.
    """
    while sizes.setdefault(name, size) != size:
        name = f"{name}_{suffix}"
    return name


def distinct_names(names: Sequence[str | None], prefix: str) -> tuple[str, ...]:
    """Return unique names of dimensions: a missing or repeated name becomes the prefix and the number of its axis."""
    return tuple(
        f"{prefix}{axis}" if name is None or name in names[:axis] else name
        for axis, name in enumerate(names)
    )


def shape_of(document: Mapping[str, Any]) -> Sequence[int]:
    """Return an array's shape. As in zarr, one number is a list of one, and ``true`` is 1.

    Raises
    ------
    XGroupMetadataError
        If it is not a list of lengths.
    """
    shape = document.get("shape")
    sizes: Any = [shape] if isinstance(shape, int) else shape
    if (
        isinstance(sizes, list)
        and set(map(type, sizes)) <= _INTEGERS
        and min(sizes, default=0) >= 0
    ):
        return list(map(int, sizes))
    message = _("'shape' must be a list of lengths, got {shape!r}").format(shape=shape)
    raise XGroupMetadataError(message)


def dimension_keys(document: Mapping[str, Any]) -> Keys:
    """Return the keys of the dimension names in a document of its format."""
    return ("dimension_names",) if document["zarr_format"] == 3 else ("attributes", DIMENSION_KEY)


def dimension_references(document: Mapping[str, Any]) -> tuple[str | None, ...]:
    """Return the paths of an array's dimensions in its store, ``/group/name``; None if unknown.

    NCZarr writes these paths; they contain the group that defines a dimension.
    """
    ndim = len(shape_of(document))
    for paths in _nczarr_references(document):
        if len(paths) == ndim:
            return tuple(
                path if isinstance(path, str) and path.startswith("/") else None for path in paths
            )
    return (None,) * ndim


def _nczarr_references(document: Mapping[str, Any]) -> Iterator[list[Any]]:
    """Yield the lists of paths of dimensions that NCZarr writes in a document."""
    for place in (document, document["attributes"]):
        for key in NCZARR_KEYS:
            if key in place and isinstance(nczarr := place[key], Mapping):
                for reference in NCZARR_REFERENCES:
                    if isinstance(paths := nczarr.get(reference), list):
                        yield paths
