"""The `CF` principal convention: references between the groups of a hierarchy.

Names and paths in the attributes by which arrays refer to others are resolved as CF 1.12 has it,
section 2.7, and so are the coordinate variables of dimensions: from the group of an array upwards
to its local apex, the group that defines the dimension, and then from there downwards, breadth
first. Zarr does not say which group defines a dimension, but NCZarr does. Where it is not said,
each group above is taken for the apex in turn, the nearest first, as far up as none has another
dimension of the name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

from zarr_xgroup.conventions import cf_paths
from zarr_xgroup.conventions.array import ArrayView
from zarr_xgroup.conventions.base import ConventionHandler, Surroundings
from zarr_xgroup.conventions.cf_paths import Follower
from zarr_xgroup.conventions.model import Coordinate, Interpretation, Link
from zarr_xgroup.findings import Topic, coordinate_named
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import mappings_in, words_of
from zarr_xgroup.metadata.dimensions import (
    declared_dimensions,
    dimension_keys,
    dimension_references,
)
from zarr_xgroup.metadata.documents import Document
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.metadata.paths import is_below

__all__ = ["CfHandler"]

_VERSION = re.compile(r"cf-1\.\d+")


class CfHandler(ConventionHandler):
    """Attaches what CF attributes refer to in other groups, and coordinates of dimensions there."""

    tier = "principal"
    name = "cf"
    uuid: ClassVar[str | None] = "77c308c7-4db2-4774-8b2d-aa37e9997db6"
    other_uuids = ("0c0a02d2-8a95-4303-8b62-16a50b439d74",)
    repositories = ("zarr-conventions/CF",)
    named_by_root = _VERSION
    follows_names = True
    implies = ("proj",)
    described = cf_paths.ATTRIBUTES
    rules = cf_paths.RULES
    reads = ()

    @classmethod
    def seems_meant(cls, attributes: Mapping[str, Any], around: Surroundings) -> bool:
        """Tell whether coordinates are named outside of the group, or a dimension is that of another one."""
        named = words_of(attributes, "coordinates")
        return any(map(around.leads_out, named)) or any(
            _is_of_other_group(dim, around) for dim in around.bare
        )

    @classmethod
    def seems_to_say_crs(cls, attributes: Mapping[str, Any], around: Surroundings) -> bool:
        """Tell whether a grid mapping variable is named outside of the group."""
        return any(map(around.leads_out, mappings_in(attributes)))

    def interpret(self, array: ArrayView) -> Interpretation:
        """Return what the array's attributes refer to, and the coordinates of its dimensions."""
        follower = Follower(array, by_name=True)
        links = follower.links()
        found = [
            array.try_reporting(
                _coordinate, array, it, follower, cost=partial(coordinate_named, it.dim)
            )
            for it in _axes_without_coordinate(array, links)
        ]
        return array.interpretation(*filter(None, found), links=links)


def _is_of_other_group(dim: str, around: Surroundings) -> bool:
    """Tell whether another group defines a dimension, or one above has its coordinate variable."""
    if "/" in dim:
        return around.leads_out(dim)
    nodes = [group.child(dim) for group in around.group.ancestors() if group != around.group]
    return any(_is_coordinate_variable(it, around.tree.known(it)) for it in nodes)


class _Axis(NamedTuple):
    """A dimension of an array: what is needed to find its coordinate variable.

    Attributes
    ----------
    dim : str
        What the dimension is called in the Dataset.
    name : str
        What the array's metadata call it.
    size : int
        Its size.
    reference : str or None
        Its path in the store, if that is known: that of the group that defines it, and the name.
    """

    dim: str
    name: str
    size: int
    reference: str | None

    def is_of(self, node: Node, document: Document | None) -> bool:
        """Tell whether an array is a coordinate variable of the dimension."""
        if document is None or not _is_coordinate_variable(node, document):
            return False
        return self.has(document["shape"][0], dimension_references(document)[0])

    def has(self, size: int, reference: str | None) -> bool:
        """Tell whether it has this size and path, as far as both paths are known."""
        return size == self.size and (
            None in (reference, self.reference) or reference == self.reference
        )


def _is_coordinate_variable(node: Node, document: Document | None) -> bool:
    """Tell whether an array is along one dimension, by the name of which it is called."""
    if document is None or not document.is_array:
        return False
    return declared_dimensions(document) == (node.name,)


def _axes_without_coordinate(array: ArrayView, links: tuple[Link, ...]) -> Iterator[_Axis]:
    """Yield the named dimensions of an array that neither its group nor its attributes give one."""
    attached = [link.coordinate for link in links]
    referred = {it.name for it in attached if it.source.dims == (it.name,)}
    for axis in _named_axes(array):
        if axis.dim in referred:
            continue
        own = array.sibling(axis.name)
        node = array.node.group.child(axis.name)
        if own is None or (_is_coordinate_variable(node, own) and not axis.is_of(node, own)):
            yield axis


def _named_axes(array: ArrayView) -> Iterator[_Axis]:
    """Yield an array's dimensions, but for those whose names are not as its document has them.

    Such names were made up, or lead with a slash to an ancestor, whose coordinate comes with them.
    """
    names = {here: name for name, here in array.dim_names.items()}
    named = zip(
        array.dims,
        declared_dimensions(array.document),
        array.shape,
        dimension_references(array.document),
        strict=True,
    )
    for dim, name, size, ref in named:
        if name is not None and name == names.get(dim, dim):
            yield _Axis(dim, name, size, ref)


def _coordinate(array: ArrayView, axis: _Axis, follower: Follower) -> Coordinate | None:
    """Return the coordinate of a dimension, or None if no array can be, or several may be."""
    nodes = _coordinate_variables(array, axis)
    place = Fragment(array.node, dimension_keys(array.document), axis.name)
    if len(nodes) > 1:
        message = _(
            "dimension {dim!r} has no coordinate in its group or above it, and {nodes} are equally "
            "near; none of them was attached"
        )
        array.report(
            Topic.CHOICE,
            array.node,
            message.format(dim=axis.name, nodes=", ".join(map(str, nodes))),
        )
    if len(nodes) != 1:
        return None
    array.resolver.take_down(place, axis.name, nodes[0])
    found = follower.attached(nodes[0], (axis.dim,), place)
    return replace(found, name=axis.dim)


def _coordinate_variables(array: ArrayView, axis: _Axis) -> list[Node]:
    """Return the coordinate variable of a dimension; several if they are equally near."""
    before = len(array.tree.lacking)
    apexes = _possible_apexes(array, axis)
    nodes = [apex.child(axis.name) for apex in apexes]
    for node in nodes:
        if axis.is_of(node, array.document_of(node)):
            return [node]
    for apex in apexes if axis.reference is None else apexes[-1:]:
        if len(array.tree.lacking) > before:
            break  # before it is known, nobody looks further
        found = _nearest_below(array, axis, apex)
        if found:
            return found
    return []


def _possible_apexes(array: ArrayView, axis: _Axis) -> list[Node]:
    """Return the groups that may define a dimension, from the array's own upwards."""
    groups = list(array.node.ancestors())
    if axis.reference is not None:
        apex = Node(array.node.store, axis.reference.rpartition("/")[0].strip("/"))
        return [group for group in groups if is_below(group.path, apex.path)] or [apex]
    nodes = [group.child(axis.name) for group in groups]
    apexes = groups[:1]
    for group, node in zip(groups[1:], nodes[1:], strict=True):
        document = array.document_of(node)
        if _is_coordinate_variable(node, document) and not axis.is_of(node, document):
            break  # further up, the name is that of another dimension
        apexes.append(group)
    return apexes


def _nearest_below(array: ArrayView, axis: _Axis, apex: Node) -> list[Node]:
    """Return the coordinate variables of a dimension that are the fewest levels below a group."""
    _list_below(array, apex)
    groups = array.tree.groups_with(apex.store, axis.name)
    variables = array.memo(
        _all_coordinate_variables,
        *(array, groups, axis.name),
        by=(apex.store, axis.name, len(groups)),  # more become known, never fewer
    )
    levels: dict[int, list[Node]] = {}
    for node, size, reference in variables:
        if is_below(node.path, apex.path) and axis.has(size, reference):
            levels.setdefault(node.path.count("/"), []).append(node)
    return levels[min(levels)] if levels else []


def _all_coordinate_variables(
    array: ArrayView, groups: list[Node], name: str
) -> list[tuple[Node, int, str | None]]:
    """Return the coordinate variables of a name in groups, with size and dimension."""
    found = ((node, array.document_of(node)) for node in (group.child(name) for group in groups))
    return [
        (node, document["shape"][0], dimension_references(document)[0])
        for node, document in found
        if document is not None and _is_coordinate_variable(node, document)
    ]


def _list_below(array: ArrayView, group: Node) -> None:
    """Make sure that the members of all groups below one are known, level by level."""
    tree = array.tree
    listed: set[Node] = array.memo(set, by=_list_below)
    if group in listed:
        return
    before = len(tree.lacking)
    level = [] if tree.is_consolidated(group) else [group]
    while level:
        below = (parent.child(name) for parent in level for name in tree.groups(parent))
        level = [child for child in below if child not in listed]
    if len(tree.lacking) == before:
        listed.add(group)
