"""Dimensions that arrays take from ancestor groups (GeoZarr draft standard, "Dimensions")."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain

from zarr_xgroup.conventions.model import Coordinate, Link
from zarr_xgroup.errors import XGroupMetadataError
from zarr_xgroup.findings import Finding, Kind, noted
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import BOUNDARIES, candidate_paths, names_in
from zarr_xgroup.metadata.dimensions import declared_dimensions, dimension_keys
from zarr_xgroup.metadata.documents import Document
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.metadata.snapshots import Lookup, Snapshot
from zarr_xgroup.resolver import Followed
from zarr_xgroup.variables.sources import Stored

#: Attributes of a coordinate that name arrays which come along with it.
_COMPANIONS = (*BOUNDARIES, "formula_terms", "ancillary_variables", "cell_measures")


@dataclass(frozen=True)
class Inherited:
    """The names of an array's dimensions, and those of them that ancestors define."""

    #: The names that its document gives; in place of one with a leading slash, that of the ancestor's
    #: dimension, which is another one where the group has something else called so.
    declared: tuple[str | None, ...]
    #: Those of the dimensions taken from ancestors, as far as these have one: called and lying along
    #: as the dimension is called in the group, with the arrays that their attributes name.
    coordinates: tuple[Coordinate, ...] = ()
    findings: tuple[Finding, ...] = ()
    #: Where names with a leading slash lead: to the coordinate, or to the group without one.
    references: tuple[Followed, ...] = ()

    @property
    def is_own(self) -> bool:
        """Whether no ancestor was looked at for them."""
        return not self.references and all(_meant(written) is None for written in self.declared)


def inherited_dimensions(lookup: Lookup, array: Node, document: Document) -> Inherited:
    """Return the names of an array's dimensions, those of ancestors resolved.

    A dimension name with a leading slash, ``/time``, is that of the nearest ancestor that
    has it. One that no ancestor has keeps its name. Where the group itself has something called
    ``time`` (an array, a group, a dimension), the ancestor's is called by the ancestor's path,
    too: ``a_b_time``, or ``root_time``.

    Raises
    ------
    XGroupMetadataError
        If the array has no valid shape.
    LackingError
        If the members of an ancestor are not known.
    """
    declared = declared_dimensions(document)
    if all(_meant(written) is None for written in declared):
        return Inherited(declared)
    axes = zip(declared, document["shape"], strict=True)
    found = [_of_axis(lookup, array, document, written, size) for written, size in axes]
    return Inherited(
        tuple(chain.from_iterable(it.declared for it in found)),
        tuple(chain.from_iterable(it.coordinates for it in found)),
        tuple(chain.from_iterable(it.findings for it in found)),
        tuple(chain.from_iterable(it.references for it in found)),
    )


def _of_axis(
    lookup: Lookup, array: Node, document: Document, written: str | None, size: int
) -> Inherited:
    """Return the name of one of an array's dimensions, and its coordinate if it is an ancestor's."""
    dim = _meant(written)
    place = None if dim is None else _nearest_with(lookup, array.group, dim)
    if dim is None or place is None:
        return Inherited((written,))
    ancestor, length = place
    if length != size:
        finding = _left(array, written, size, ancestor, length)
        reference = _followed(array, document, written, None, finding.text)
        return Inherited((written,), (), (finding,), (reference,))
    name = _name_of(lookup, array.group, dim, ancestor)
    coordinates = tuple(_coordinate(lookup, ancestor, dim, name))
    is_told = name != dim and array == _first_with(lookup, array.group, written)
    findings = (_renamed(array, written, ancestor, name),) if is_told else ()
    leads_to = ancestor.child(dim) if coordinates else ancestor
    reference = _followed(array, document, written, leads_to)
    return Inherited((name,), coordinates, findings, (reference,))


def _followed(
    array: Node, document: Document, written: str | None, leads_to: Node | None, text: str = ""
) -> Followed:
    keys = dimension_keys(document)
    return Followed(array, array, keys, str(written), leads_to, text=text)


def _meant(written: str | None) -> str | None:
    """Return the name of an ancestor's dimension, or None if none is meant."""
    if written is None or not written.startswith("/"):
        return None
    dim = written[1:]
    return dim if dim and "/" not in dim else None


def _nearest_with(lookup: Lookup, group: Node, dim: str) -> tuple[Node, int] | None:
    """Return the nearest ancestor of a group that has a dimension, and the length of it."""
    for ancestor in group.ancestors():
        lengths = lookup.of_members(ancestor, _lengths)
        if dim in lengths:
            return ancestor, lengths[dim]
    return None


def _sizes(snapshot: Snapshot, group: str) -> dict[str, dict[str | None, int]]:
    """Return the sizes of the dimensions that a group's arrays name, by the name of the array.

    Of a group that cannot be listed there are none.
    """
    found = {}
    for name, document in snapshot.arrays(group).items():
        with suppress(XGroupMetadataError):
            found[name] = dict(zip(declared_dimensions(document), document["shape"], strict=True))
    return found


def _lengths(snapshot: Snapshot, group: str) -> dict[str | None, int]:
    """Return the sizes of a group's dimensions, those of its first arrays."""
    found: dict[str | None, int] = {}
    for sizes in reversed(_sizes(snapshot, group).values()):
        found.update(sizes)
    return found


def _taken(snapshot: Snapshot, group: str) -> frozenset[str | None]:
    """Return the names of all that is in a group: arrays, groups, dimensions."""
    arrays = _sizes(snapshot, group)
    dims = {name for sizes in arrays.values() for name in sizes}
    return frozenset({*arrays, *snapshot.groups(group), *dims})


def _name_of(lookup: Lookup, group: Node, dim: str, ancestor: Node) -> str:
    """Return what an ancestor's dimension is called in a group."""
    taken = lookup.of_members(group, _taken)
    longer = f"{_prefix(ancestor)}_{dim}"
    if dim not in taken:
        return dim
    wanted = (longer, *(f"{longer}_{number}" for number in range(1, len(taken) + 1)))
    return next(name for name in wanted if name not in taken)


def _prefix(ancestor: Node) -> str:
    return ancestor.path.replace("/", "_") or "root"


def _first_with(lookup: Lookup, group: Node, written: str | None) -> Node:
    """Return the first array of a group that has a dimension: what tells of it."""
    arrays = lookup.of_members(group, _sizes)
    return group.child(next(name for name, sizes in arrays.items() if written in sizes))


def _coordinate(lookup: Lookup, ancestor: Node, dim: str, name: str) -> Iterator[Coordinate]:
    """Yield the coordinate of an ancestor's dimension if it has one: its array along just that."""
    node = ancestor.child(dim)
    document = lookup.document(node)
    if document is None or list(lookup.of_members(ancestor, _sizes).get(dim, ())) != [dim]:
        return
    links = tuple(
        Link(key, written, companion)
        for key in _COMPANIONS
        for written in names_in(document.attributes, key)
        if (companion := _companion(lookup, node, key, written, {dim: name}))
    )
    yield Coordinate(name, Stored(node, (name,)), links=links)


def _companion(
    lookup: Lookup, coordinate: Node, key: str, written: str, names: Mapping[str, str]
) -> Coordinate | None:
    """Return an array that an attribute of an ancestor's coordinate names, None without one.

    `names` is what the ancestor's dimension is called in the group.
    """
    nodes = (
        Node(coordinate.store, path) for path in candidate_paths(written, coordinate.group.path)
    )
    for node in nodes:
        document = lookup.document(node)
        if document is not None and document.is_array:
            own = declared_dimensions(document)
            is_other = key in BOUNDARIES and (len(own) != 2 or own[0] not in names)
            return None if is_other else _along(coordinate, key, node, own, names)
    return None


def _along(
    coordinate: Node, key: str, node: Node, own: Sequence[str | None], names: Mapping[str, str]
) -> Coordinate:
    """Return an array that comes along with an ancestor's coordinate, along the group's dimensions."""
    nameless = ["bounds" if key in BOUNDARIES else f"{node.name}_dim_{n}" for n in range(len(own))]
    dims = [_meant(it) or it or other for it, other in zip(own, nameless, strict=True)]
    is_same = all(dim == name for dim, name in names.items())
    wanted = node.name if is_same else f"{_prefix(coordinate.group)}_{node.name}"
    along = (
        names.get(dim, dim) if dim not in dims[:axis] else f"{node.name}_dim_{axis}"
        for axis, dim in enumerate(dims)
    )
    return Coordinate(wanted, Stored(node, tuple(along)))


def _left(array: Node, name: str | None, size: int, ancestor: Node, length: int) -> Finding:
    message = _(
        "Array {path}: its dimension {name!r} of length {size} cannot be that of group "
        "{ancestor} (length {length}); it was left as it is"
    )
    text = message.format(path=array, name=name, size=size, ancestor=ancestor, length=length)
    return noted(Kind.DIMENSION, text, array)


def _renamed(array: Node, written: str | None, ancestor: Node, name: str) -> Finding:
    message = _(
        "Group {group}: the dimension {written!r} of its arrays, that of group {ancestor}, is called "
        "{name!r} with its coordinate, because the group has something else called {dim!r}"
    )
    text = message.format(
        group=array.group, written=written, ancestor=ancestor, name=name, dim=_meant(written)
    )
    return noted(Kind.DIMENSION, text, array)
