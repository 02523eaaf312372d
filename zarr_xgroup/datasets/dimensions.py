"""Name the dimensions of a group's arrays as their documents declare them.

Conventions see these names. The planner renames dimensions later, if a name has two sizes or two coordinates in the
group.

A name with a leading slash refers to a dimension of an ancestor (GeoZarr draft standard, "Dimensions").
An axis without a name gets ``phony_dim_N``, numbered as in h5netcdf: in the order in which sizes first appear, with
one name per size, or as many as one array needs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import count
from typing import Any

from zarr_xgroup.conventions.model import Coordinate, Inherited, Link
from zarr_xgroup.errors import Severity, XGroupMetadataError
from zarr_xgroup.findings import Finding, Topic, new_finding
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import BOUNDARIES, candidate_paths, names_in
from zarr_xgroup.metadata.dimensions import (
    declared_dimensions,
    dimension_keys,
    has_unusable_names,
    name_with_size,
)
from zarr_xgroup.metadata.documents import Document
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.metadata.tree import Tree
from zarr_xgroup.resolver import Followed
from zarr_xgroup.variables.sources import Stored

#: Attributes of a coordinate whose arrays are attached with it.
_COMPANIONS = (*BOUNDARIES, "formula_terms", "ancillary_variables", "cell_measures")

#: The prefix of the names of unnamed dimensions, as in h5netcdf.
_PHONY = "phony_dim_"

Names = tuple[str | None, ...]


def name_dimensions(
    arrays: Mapping[str, Mapping[str, Any]],
    group: Node,
    declared: Mapping[str, Names],
    hints: Mapping[str, tuple[str, ...]],
) -> tuple[Mapping[str, tuple[str, ...]], Mapping[str, Finding]]:
    """Return a name for every dimension of a group's arrays, and a finding for each array with unusable names.

    No name has two sizes in one array.

    `arrays` are documents with valid shapes. `declared` are the names in the documents, None for an unnamed axis.
    `hints` are names of the last axes by conventions, for unnamed axes.
    """
    shapes = {name: document["shape"] for name, document in arrays.items()}
    hinted = {name: _hinted(dims, hints.get(name, ())) for name, dims in declared.items()}
    named = _with_phony_names(hinted, shapes)
    findings = {}
    for name, document in arrays.items():
        before, shape = named[name], list(shapes[name])
        if declared[name] != before:
            text = _("has no usable names for axes {axes}; its dimensions are named {dimensions}")
            if all(dim in declared[name] or dim.startswith(_PHONY) for dim in before):
                text = _("has no usable names for dimensions; they are named phony_dim_0 and so on")
            axes = [axis for axis, dim in enumerate(declared[name]) if dim is None]
            text = text.format(axes=axes, dimensions=list(before))
            is_lost = has_unusable_names(document)
        elif len(set(zip(before, shape, strict=True))) > len(set(before)):
            sizes: dict[str, int] = {}
            distinct = []
            for dim, size in zip(before, shape, strict=True):
                distinct.append(name_with_size(dim, size, sizes, name))
            named[name] = tuple(distinct)
            text = _(
                "repeats a dimension with different sizes in shape {shape}; its dimensions are "
                "named {dimensions}"
            ).format(shape=shape, dimensions=list(named[name]))
            is_lost = True
        else:
            continue
        place = Fragment(group.child(name), dimension_keys(document), None)
        severity: Severity = "error" if is_lost else "warning"
        findings[name] = new_finding(Topic.DIMENSION, place, text, severity=severity)
    return named, findings


def _hinted(dims: Names, hints: Names) -> Names:
    """Return dimension names with hints in place of None for the last axes, unchanged if there are too many hints."""
    begin = len(dims) - len(hints)
    if begin < 0:
        return dims
    pairs = zip(dims[begin:], hints, strict=True)
    ends = (hint if dim is None and hint not in dims else dim for dim, hint in pairs)
    return (*dims[:begin], *ends)


def _with_phony_names(
    declared: Mapping[str, Names], shapes: Mapping[str, Sequence[int]]
) -> dict[str, tuple[str, ...]]:
    """Return dimension names with ``phony_dim_N`` for unnamed axes; arrays share the name for a size."""
    axes_of = {name: list(zip(shapes[name], dims, strict=True)) for name, dims in declared.items()}
    needed: Counter[int] = Counter()  # the number of names for each size
    for axes in axes_of.values():
        needed |= Counter(size for size, dim in axes if dim is None)
    taken = {dim for dims in declared.values() for dim in dims}
    free = (phony for number in count() if (phony := f"{_PHONY}{number}") not in taken)
    names = {size: [next(free) for _axis in range(times)] for size, times in needed.items()}
    named = {}
    for name, axes in axes_of.items():
        unused = {size: iter(names.get(size, ())) for size, _dim in axes}
        named[name] = tuple(next(unused[size]) if dim is None else dim for size, dim in axes)
    return named


# Dimensions of ancestors.


def inherited_dimensions(tree: Tree, array: Node, document: Document) -> Inherited:
    """Return the names of an array's dimensions, with references to dimensions of ancestors resolved.

    The name ``/time`` refers to the dimension ``time`` of the nearest ancestor that has it. If no ancestor has it, the
    name is kept. If the group itself has an array, a group or a dimension ``time``, the name gets the ancestor's path
    as a prefix: ``a_b_time``, or ``root_time``. Raises XGroupMetadataError if the array has no valid shape.
    """
    declared = declared_dimensions(document)
    if all(_name_in_ancestor(written) is None for written in declared):
        return Inherited(declared)
    group, keys = array.group, dimension_keys(document)
    names = list(declared)
    renamed: dict[str, str] = {}
    coordinates: list[Coordinate] = []
    findings: list[Finding] = []
    references: list[Followed] = []
    for axis, (written, size) in enumerate(zip(declared, document["shape"], strict=True)):
        dim = _name_in_ancestor(written)
        if dim is None or (nearest := _nearest_with(tree, group, dim)) is None:
            continue
        ancestor, length = nearest
        # 1. A dimension of a different length is not the ancestor's dimension.
        if length != size:
            text = _(
                "its dimension {name!r} has length {size}, but that of group {ancestor} has "
                "length {length}; its name was kept"
            ).format(name=written, size=size, ancestor=ancestor, length=length)
            findings.append(new_finding(Topic.DIMENSION, array, text, severity="error"))
            references.append(Followed(array, array, keys, str(written), None, text=text))
            continue
        # 2. It has the same name as in the ancestor, unless an array, group or dimension of this group has that name.
        name, taken = dim, tree.memo(group, _taken_names, tree, group)
        if dim in taken:
            name = longer = f"{_prefix(ancestor)}_{dim}"
            numbers = count(1)
            while name in taken:
                name = f"{longer}_{next(numbers)}"
            text = _(
                "the dimension {written!r} of its arrays (from group {ancestor}) and its coordinate are "
                "named {name!r}, because the group itself has the name {dim!r}"
            ).format(written=written, ancestor=ancestor, name=name, dim=dim)
            findings.append(new_finding(Topic.DIMENSION, group, text))
        # Until it is renamed by the planner, the array has it under its own name, unless that would be repeated.
        here = name if dim in names else dim
        names[axis], renamed[here] = here, name
        # 3. It has the ancestor's coordinate, if there is one.
        coordinate = _coordinate_along(tree, ancestor, dim, here, name)
        if coordinate is not None:
            coordinates.append(coordinate)
        target = ancestor if coordinate is None else ancestor.child(dim)
        references.append(Followed(array, array, keys, str(written), target))
    renamed = {old: new for old, new in renamed.items() if old != new}
    attached = tuple(coordinates), tuple(findings), tuple(references)
    return Inherited(tuple(names), renamed, *attached, is_own=False)


def _name_in_ancestor(written: str | None) -> str | None:
    """Return ``time`` for the dimension name ``/time``, which refers to an ancestor; None for any other name."""
    if written is None or not written.startswith("/"):
        return None
    dim = written[1:]
    return dim if dim and "/" not in dim else None


def _nearest_with(tree: Tree, group: Node, dim: str) -> tuple[Node, int] | None:
    """Return the nearest ancestor that has a dimension, with the dimension's length.

    None if no ancestor has it, or as long as documents are missing.
    """

    def ancestor_with_length(ancestor: Node) -> tuple[Node, int] | None:
        length = tree.memo(ancestor, _sizes_by_dimension, tree, ancestor).get(dim)
        return None if length is None else (ancestor, length)

    return tree.first(ancestor_with_length, group.ancestors())


def _sizes_by_array(tree: Tree, group: Node) -> dict[str, dict[str | None, int]]:
    """Return the dimension sizes of a group's arrays, by the name of the array; {} if the group cannot be listed."""
    sizes = {}
    for name, document in tree.arrays(group).items():
        with suppress(XGroupMetadataError):
            sizes[name] = dict(zip(declared_dimensions(document), document["shape"], strict=True))
    return sizes


def _sizes_by_dimension(tree: Tree, group: Node) -> dict[str | None, int]:
    """Return the sizes of a group's dimensions.

    If arrays have different sizes, a dimension has the size of its coordinate, otherwise that of the first array.
    """
    sizes: dict[str | None, int] = {}
    by_array = _sizes_by_array(tree, group)
    for sizes_of_array in reversed(by_array.values()):
        sizes.update(sizes_of_array)
    for name, sizes_of_array in by_array.items():
        if [*sizes_of_array] == [name]:
            sizes.update(sizes_of_array)
    return sizes


def _taken_names(tree: Tree, group: Node) -> frozenset[str | None]:
    """Return the names of a group's arrays, child groups and dimensions."""
    arrays = _sizes_by_array(tree, group)
    dims = {name for sizes in arrays.values() for name in sizes}
    return frozenset({*arrays, *tree.groups(group), *dims})


def _prefix(ancestor: Node) -> str:
    """Return the path of a group as the prefix of a name: ``a_b``, or ``root``."""
    return ancestor.path.replace("/", "_") or "root"


def _coordinate_along(
    tree: Tree, ancestor: Node, dim: str, here: str, name: str
) -> Coordinate | None:
    """Return the coordinate of an ancestor's dimension, with links to its companions; None if there is none.

    This is the 1-D array with the name of the dimension. `here` is that name for the array, `name` that in the Dataset.
    """
    node = ancestor.child(dim)
    document = tree.document(node)
    own_dims = tree.memo(ancestor, _sizes_by_array, tree, ancestor).get(dim, ())
    if document is None or list(own_dims) != [dim]:
        return None
    links = tuple(
        Link(key, path, companion)
        for key in _COMPANIONS
        for path in names_in(document.attributes, key)
        if (companion := _linked_coordinate(tree, node, key, path, here, name))
    )
    return Coordinate(here, Stored(node, (here,)), links=links)


def _linked_coordinate(
    tree: Tree, coordinate: Node, key: str, path: str, here: str, name: str
) -> Coordinate | None:
    """Return the array that an attribute of an ancestor's coordinate names, as a coordinate of the group.

    None if the array does not exist or cannot be the bounds of the coordinate. `here` is the name of the coordinate
    and its dimension for the array, `name` that in the Dataset.
    """
    for candidate in candidate_paths(path, coordinate.group.path):
        node = Node(coordinate.store, candidate)
        document = tree.document(node)
        if document is not None and document.is_array:
            break
    else:
        return None
    written = declared_dimensions(document)
    is_bounds = key in BOUNDARIES
    if is_bounds and (len(written) != 2 or written[0] != coordinate.name):
        return None
    along: list[str] = []
    for axis, declared in enumerate(written):
        nameless = f"{node.name}_dim_{axis}"
        dim = _name_in_ancestor(declared) or declared or ("bounds" if is_bounds else nameless)
        dim = here if dim == coordinate.name else dim
        along.append(nameless if dim in along else dim)
    wanted = node.name if name == coordinate.name else f"{_prefix(coordinate.group)}_{node.name}"
    return Coordinate(wanted, Stored(node, tuple(along)))
