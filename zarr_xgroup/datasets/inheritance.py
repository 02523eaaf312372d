"""Dimensions that arrays take from ancestor groups (GeoZarr draft standard, "Dimensions")."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from zarr_xgroup.errors import XGroupMetadataError
from zarr_xgroup.findings import Finding, Kind
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.dimensions import declared_dimensions
from zarr_xgroup.metadata.documents import Document
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.metadata.snapshots import Lookup


@dataclass(frozen=True)
class Inherited:
    """The names of an array's dimensions, and those of them that ancestors define.

    Attributes
    ----------
    declared : tuple of str or None
        The names that its document gives, without the slash where an ancestor is meant.
    coordinates : mapping of str to Node or None
        The dimensions taken from ancestors, with the array that is their coordinate.
    findings : tuple of Finding
        Where an ancestor's dimension cannot be the array's.
    """

    declared: tuple[str | None, ...]
    coordinates: Mapping[str, Node | None] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()


def inherited_dimensions(lookup: Lookup, array: Node, document: Document) -> Inherited:
    """Return the names of an array's dimensions, those of ancestors resolved.

    A dimension name with a leading slash, ``/time``, is that of the nearest ancestor that
    has it. One that no ancestor has keeps its name.

    Raises
    ------
    XGroupMetadataError
        If the array has no valid shape.
    LackingError
        If the members of an ancestor are not known.
    """
    declared = declared_dimensions(document)
    if not any(name is not None and name.startswith("/") for name in declared):
        return Inherited(declared)
    found: dict[str, Node | None] = {}
    findings = []
    for name, size in zip(declared, document["shape"], strict=True):
        dim = (name or "").removeprefix("/")
        if name == dim or not dim or "/" in dim:
            continue
        place = _nearest_with(lookup, array.group, dim)
        if place is None:
            continue
        ancestor, length = place
        there = lookup.document(ancestor.child(dim))
        is_taken = lookup.document(array.group.child(dim)) is not None
        if length != size or is_taken:
            findings.append(_left(array, name or "", size, ancestor, length))
        else:
            is_coordinate = there is not None and there.get("shape") == [size]
            found[dim] = ancestor.child(dim) if is_coordinate else None
    names = {f"/{dim}": dim for dim in found}
    return Inherited(
        tuple(None if name is None else names.get(name, name) for name in declared),
        found,
        tuple(findings),
    )


def _nearest_with(lookup: Lookup, group: Node, dim: str) -> tuple[Node, int] | None:
    """Return the nearest ancestor of a group that has a dimension, and the length of it."""
    for ancestor in group.ancestors():
        snapshot = lookup.members(ancestor)  # of a group that cannot be listed there are none
        for document in snapshot.arrays(ancestor.path).values():
            with suppress(XGroupMetadataError):
                sizes = dict(zip(declared_dimensions(document), document["shape"], strict=True))
                if dim in sizes:
                    return ancestor, sizes[dim]
    return None


def _left(array: Node, name: str, size: int, ancestor: Node, length: int) -> Finding:
    message = _(
        "Array {path}: its dimension {name!r} of length {size} cannot be that of group "
        "{ancestor} (length {length}), or the name is taken here; it was left as it is"
    )
    text = message.format(path=array, name=name, size=size, ancestor=ancestor, length=length)
    return Finding(Kind.DIMENSION, text, (str(array),), array)
