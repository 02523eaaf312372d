"""Names for the dimensions of a group's arrays: those of ancestors, and all so that they fit together.

A name with a leading slash is that of an ancestor's dimension (GeoZarr draft standard, "Dimensions").
An axis without a name gets ``phony_dim_N``, numbered as h5netcdf does: in the order in which
sizes first appear, one name per size and as many as one array needs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import Any

from zarr_xgroup.conventions.model import Coordinate, Link
from zarr_xgroup.errors import XGroupMetadataError
from zarr_xgroup.findings import Finding, Topic, report
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import BOUNDARIES, candidate_paths, names_in
from zarr_xgroup.metadata.dimensions import declared_dimensions, dimension_keys
from zarr_xgroup.metadata.documents import Document
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.metadata.tree import Tree
from zarr_xgroup.resolver import Followed
from zarr_xgroup.variables.sources import Stored

#: Attributes of a coordinate that name arrays which come along with it.
_COMPANIONS = (*BOUNDARIES, "formula_terms", "ancillary_variables", "cell_measures")

#: How names of dimensions begin that nothing names, as h5netcdf has it.
_PHONY = "phony_dim_"

Names = tuple[str | None, ...]


@dataclass(frozen=True)
class Assigned:
    """The dimensions of a group's arrays, by array."""

    #: One name per axis. No name has two sizes within the group.
    dims: Mapping[str, tuple[str, ...]]
    #: The same before names with two sizes were told apart.
    named: Mapping[str, tuple[str, ...]]
    findings: Mapping[str, Finding]


def assign_dimensions(
    arrays: Mapping[str, Mapping[str, Any]],
    group: Node,
    declared: Mapping[str, Names],
    hints: Mapping[str, tuple[str, ...]],
) -> Assigned:
    """Return a name for every dimension of a group's arrays, in the order in which these take names.

    Their documents have valid shapes. `declared` are the names that there are, `hints` what conventions
    call the last axes: used for those of them without a name.
    """
    shapes = {name: document["shape"] for name, document in arrays.items()}
    hinted = {name: _with_hints(dims, hints.get(name, ())) for name, dims in declared.items()}
    named = _with_phony_names(hinted, shapes)
    assigned = _without_conflicts(named, shapes)
    findings = {}
    for name, document in arrays.items():
        before, after = named[name], assigned[name]
        keys = dimension_keys(document)
        shape = list(shapes[name])
        if declared[name] != before:
            text = _(
                "gives axes {axes} of shape {shape} no usable name; its dimensions are "
                "called {dimensions}"
            )
            if all(dim in declared[name] or dim.startswith(_PHONY) for dim in after):
                text = _("gives dimensions no usable names; they are called phony_dim_0 and so on")
            axes = [axis for axis, dim in enumerate(declared[name]) if dim is None]
            text = text.format(shape=shape, axes=axes, dimensions=list(after))
        elif before != after:
            changes = zip(before, after, strict=True)
            renamed = ", ".join(f"{old!r} -> {new!r}" for old, new in changes if old != new)
            text = _(
                "gives shape {shape} the dimensions {named}, of which other "
                "arrays of the group have another size; renamed {renamed}"
            ).format(shape=shape, named=list(before), renamed=renamed)
        else:
            continue
        place = Fragment(group.child(name), keys, None)
        findings[name] = report(Topic.DIMENSION, place, text)
    return Assigned(assigned, named, findings)


def _with_hints(declared: Names, last: tuple[str, ...]) -> Names:
    """Name those of the last axes that have no name, unless there are more names than axes."""
    first = len(declared) - len(last)
    if first < 0:
        return declared
    hinted = zip(declared[first:], last, strict=True)
    ends = (hint if name is None and hint not in declared else name for name, hint in hinted)
    return (*declared[:first], *ends)


def _with_phony_names(
    declared: Mapping[str, Names], shapes: Mapping[str, Sequence[int]]
) -> dict[str, tuple[str, ...]]:
    """Name the axes without a name, the same for all arrays that have an axis of that size."""
    needed: dict[int, int] = {}
    for name, dims in declared.items():
        axes = zip(shapes[name], dims, strict=True)
        for size, times in Counter(size for size, dim in axes if dim is None).items():
            needed[size] = max(times, needed.get(size, 0))
    taken = {dim for dims in declared.values() for dim in dims}
    free = (phony for number in count() if (phony := f"{_PHONY}{number}") not in taken)
    names = {size: [next(free) for _axis in range(times)] for size, times in needed.items()}
    named = {}
    for name, dims in declared.items():
        left = {size: iter(names.get(size, ())) for size in shapes[name]}
        axes = zip(shapes[name], dims, strict=True)
        named[name] = tuple(next(left[size]) if dim is None else dim for size, dim in axes)
    return named


def _without_conflicts(
    named: Mapping[str, tuple[str, ...]], shapes: Mapping[str, Sequence[int]]
) -> dict[str, tuple[str, ...]]:
    """Rename where a name has another size already; a dimension's own coordinate goes first."""
    # xarray refuses a dimension that is called as a scalar.
    sizes = {name: -1 for name, shape in shapes.items() if not shape}
    assigned = {}
    known: dict[tuple[str, int], str] = {}  # arrays that share a size share the name
    for name in sorted(named, key=lambda name: named[name] != (name,)):
        dimensions = []
        for dimension, size in zip(named[name], shapes[name], strict=True):
            chosen = known.get((dimension, size), dimension)
            while sizes.setdefault(chosen, size) != size:
                chosen = f"{chosen}_{name}"
            known[dimension, size] = chosen
            dimensions.append(chosen)
        assigned[name] = tuple(dimensions)
    return assigned


# Dimensions of ancestors.


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


def inherited_dimensions(tree: Tree, array: Node, document: Document) -> Inherited:
    """Return the names of an array's dimensions, those of ancestors resolved.

    A dimension name with a leading slash, ``/time``, is that of the nearest ancestor that
    has it. One that no ancestor has keeps its name. Where the group itself has something called
    ``time`` (an array, a group, a dimension), the ancestor's is called by the ancestor's path,
    too: ``a_b_time``, or ``root_time``.

    Raises
    ------
    XGroupMetadataError
        If the array has no valid shape.
    """
    declared = declared_dimensions(document)
    if all(_meant(written) is None for written in declared):
        return Inherited(declared)
    names, keys = list(declared), dimension_keys(document)
    coordinates: list[Coordinate] = []
    findings: list[Finding] = []
    references: list[Followed] = []
    for axis, (written, size) in enumerate(zip(declared, document["shape"], strict=True)):
        dim = _meant(written)
        place = None if dim is None else _nearest_with(tree, array.group, dim)
        if dim is None or place is None:
            continue
        ancestor, length = place
        if length != size:
            text = _(
                "its dimension {name!r} of length {size} cannot be that of group "
                "{ancestor} (length {length}); it was left as it is"
            ).format(name=written, size=size, ancestor=ancestor, length=length)
            findings.append(report(Topic.DIMENSION, array, text))
            references.append(Followed(array, array, keys, str(written), None, text=text))
            continue
        name = names[axis] = _name_of(tree, array.group, dim, ancestor)
        # The first array that has the dimension tells of it.
        having = (
            it for it, sizes in tree.of_members(array.group, _sizes).items() if written in sizes
        )
        if name != dim and array.name == next(having):
            text = _(
                "the dimension {written!r} of its arrays, that of group {ancestor}, is called {name!r} "
                "with its coordinate, because the group has something else called {dim!r}"
            ).format(written=written, ancestor=ancestor, name=name, dim=dim)
            findings.append(report(Topic.DIMENSION, array.group, text))
        coordinate = _coordinate(tree, ancestor, dim, name)
        coordinates += [] if coordinate is None else [coordinate]
        leads_to = ancestor if coordinate is None else ancestor.child(dim)
        references.append(Followed(array, array, keys, str(written), leads_to))
    return Inherited(tuple(names), tuple(coordinates), tuple(findings), tuple(references))


def _meant(written: str | None) -> str | None:
    """Return the name of an ancestor's dimension, or None if none is meant."""
    if written is None or not written.startswith("/"):
        return None
    dim = written[1:]
    return dim if dim and "/" not in dim else None


def _nearest_with(tree: Tree, group: Node, dim: str) -> tuple[Node, int] | None:
    """Return the nearest ancestor of a group that has a dimension, and the length of it."""
    before = len(tree.lacking)
    for ancestor in group.ancestors():
        lengths = tree.of_members(ancestor, _lengths)
        if dim in lengths:
            return ancestor, lengths[dim]
        if len(tree.lacking) > before:
            break  # before it is known, nobody looks further up
    return None


def _sizes(tree: Tree, group: Node) -> dict[str, dict[str | None, int]]:
    """Return the sizes of the dimensions that a group's arrays name, by the name of the array.

    Of a group that cannot be listed there are none.
    """
    found = {}
    for name, document in tree.arrays(group).items():
        with suppress(XGroupMetadataError):
            found[name] = dict(zip(declared_dimensions(document), document["shape"], strict=True))
    return found


def _lengths(tree: Tree, group: Node) -> dict[str | None, int]:
    """Return the sizes of a group's dimensions, those of its first arrays."""
    found: dict[str | None, int] = {}
    for sizes in reversed(_sizes(tree, group).values()):
        found.update(sizes)
    return found


def _taken(tree: Tree, group: Node) -> frozenset[str | None]:
    """Return the names of all that is in a group: arrays, groups, dimensions."""
    arrays = _sizes(tree, group)
    dims = {name for sizes in arrays.values() for name in sizes}
    return frozenset({*arrays, *tree.groups(group), *dims})


def _name_of(tree: Tree, group: Node, dim: str, ancestor: Node) -> str:
    """Return what an ancestor's dimension is called in a group."""
    taken = tree.of_members(group, _taken)
    longer = f"{_prefix(ancestor)}_{dim}"
    if dim not in taken:
        return dim
    wanted = (longer, *(f"{longer}_{number}" for number in range(1, len(taken) + 1)))
    return next(name for name in wanted if name not in taken)


def _prefix(ancestor: Node) -> str:
    return ancestor.path.replace("/", "_") or "root"


def _coordinate(tree: Tree, ancestor: Node, dim: str, name: str) -> Coordinate | None:
    """Return the coordinate of an ancestor's dimension, its array along just that; None without one."""
    node = ancestor.child(dim)
    document = tree.document(node)
    if document is None or list(tree.of_members(ancestor, _sizes).get(dim, ())) != [dim]:
        return None
    links = tuple(
        Link(key, written, companion)
        for key in _COMPANIONS
        for written in names_in(document.attributes, key)
        if (companion := _companion(tree, node, key, written, {dim: name}))
    )
    return Coordinate(name, Stored(node, (name,)), links=links)


def _companion(
    tree: Tree, coordinate: Node, key: str, written: str, names: Mapping[str, str]
) -> Coordinate | None:
    """Return an array that an attribute of an ancestor's coordinate names, None without one.

    `names` is what the ancestor's dimension is called in the group.
    """
    nodes = (
        Node(coordinate.store, path) for path in candidate_paths(written, coordinate.group.path)
    )
    for node in nodes:
        document = tree.document(node)
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
