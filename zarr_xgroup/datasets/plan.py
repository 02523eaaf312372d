"""What a group's Dataset will hold: planned from readings, before any variable is made.

Pure. Naming and merging are done in `naming`; a plan is not edited afterwards.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import msgspec

from zarr_xgroup.conventions.model import Claim
from zarr_xgroup.conventions.registry import (
    Handler,
    declared_principal,
    seemingly_meant,
    why_not_declared,
)
from zarr_xgroup.datasets.interpretation import ArrayReading, GroupReading
from zarr_xgroup.findings import Finding, Kind, noted
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import candidate_paths, referred_names
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.metadata.snapshots import Snapshot
from zarr_xgroup.variables.sources import Source, Stored

#: Attributes that name coordinates, or the boundaries of some.
_OF_COORDINATES = ("coordinates", "bounds", "climatology")


@dataclass(frozen=True)
class Rival:
    """What is to be said of an array that is declared beside the group's own coordinate.

    Attributes
    ----------
    own : str
        The name of the coordinate that the group has itself: of equal values only it is kept.
    finding : Finding
        Told where both are kept.
    """

    own: str
    finding: Finding


class PlannedVariable(msgspec.Struct, frozen=True, eq=False):
    """A variable of a group's Dataset. There are thousands, and each is moved to many groups.

    Attributes
    ----------
    name : str
        Its name.
    source : Source
        What it is read from.
    dims : tuple of str
        The names of its dimensions, which may be others than those of the source.
    identity : hashable or None
        What it is, if it is a coordinate: equal in two groups if it is the same.
    is_own : bool
        Whether it is an array of the group.
    is_coordinate : bool
        Whether it is a coordinate, besides those that xarray makes such.
    attributes : mapping
        Added where it has none of the name.
    coordinates : tuple of str
        The names of its coordinates that are to be named in its encoding.
    referrer : Node or None
        The array that brought it, if it is no array of the group.
    users : tuple of Node
        The arrays that have it as a coordinate.
    names_coordinates : bool
        Whether its metadata name its coordinates.
    claims : tuple of tuple
        Other values that metadata declare for it, with the array that does: only compared.
    bounds_of : str
        Set for boundaries of which only these, or only the coordinate that is named here, are declared,
        and the other one is the group's own: what is declared is left out if it is not of the other one.
    rewritten : mapping of str to str
        Attributes in which paths were replaced by names.
    of_times : mapping of str
        Units and calendar of times that are not wanted, and whose boundaries it is.
    is_time : bool
        Whether xarray decodes it as times: because of its units, or of those of what it bounds.
    has_declared_decoding : bool
        Whether attributes that it has not itself have a say in how xarray decodes it.
    rival : Rival or None
        Set for an array that is declared as coordinate of a dimension for which the group has one.
    """

    name: str
    source: Source
    dims: tuple[str, ...]
    identity: Hashable | None = None
    is_own: bool = False
    is_coordinate: bool = False
    attributes: Mapping[str, Any] = msgspec.field(default_factory=dict)
    coordinates: tuple[str, ...] = ()
    referrer: Node | None = None
    users: tuple[Node, ...] = ()
    names_coordinates: bool = False
    claims: tuple[tuple[Claim, Node], ...] = ()
    rival: Rival | None = None
    bounds_of: str = ""
    rewritten: Mapping[str, str] = msgspec.field(default_factory=dict)
    of_times: Mapping[str, Any] = msgspec.field(default_factory=dict)
    is_time: bool = False
    has_declared_decoding: bool = False

    @property
    def is_compared(self) -> bool:
        """Whether it is read to be compared, though xarray reads no index of it."""
        return self.rival is not None or (self.is_own and bool(self.bounds_of))

    @property
    def stored(self) -> Node | None:
        """The array whose values, all of them, are those of the variable."""
        return self.source.node if isinstance(self.source, Stored) else None


@dataclass(frozen=True, eq=False)
class GroupPlan:
    """What a group's Dataset will hold.

    Attributes
    ----------
    reading : GroupReading
        What it was planned from.
    variables : tuple of PlannedVariable
        The group's own arrays sorted by name, then what these refer to.
    findings : tuple of Finding
        What was found about the group and its arrays.
    """

    reading: GroupReading
    variables: tuple[PlannedVariable, ...]
    findings: tuple[Finding, ...]

    @property
    def node(self) -> Node:
        """The group."""
        return self.reading.node


def without_principal(
    plans: Collection[GroupPlan],
    snapshot: Snapshot,
    *,
    assumed: Collection[str] = (),
    is_tree: bool = False,
) -> Iterator[Finding]:
    """Yield a finding for each array of data that declares no principal convention.

    Not for coordinates, nor for arrays that others or the group's ``coordinates`` refer to. Of those
    of a group that declares one it is told what they lack, if a grid is without coordinates. In a
    tree groups have the coordinates of their parents. What is assumed already would not help.
    """
    found = {plan: arrays for plan in plans if (arrays := list(_undeclared(plan)))}
    if not found:
        return
    referred = set(chain.from_iterable(_referred(plan, snapshot) for plan in plans))
    known = {plan.node: plan for plan in plans if is_tree}
    for plan, arrays in found.items():
        bare = without_coordinate(plan, snapshot, _parents(plan, known))
        others = [it for it in arrays if it.node not in referred]
        yield from _of_group(plan, others, bare, snapshot, assumed)


def _parents(plan: GroupPlan, known: Mapping[Node, GroupPlan]) -> list[GroupPlan]:
    """Return the groups whose coordinates a group may have."""
    return [known[node] for node in plan.node.ancestors() if node in known]


def _of_group(
    plan: GroupPlan,
    arrays: Iterable[ArrayReading],
    bare: Mapping[Node | None, tuple[str, ...]],
    snapshot: Snapshot,
    assumed: Collection[str],
) -> Iterator[Finding]:
    """Yield the findings of arrays of a group; `bare` are their dimensions without coordinates."""
    principal = declared_principal(_attributes(plan.node, snapshot))
    if principal is not None:
        yield from _lacking(arrays, bare, principal)
    else:
        yield from _undeclaring(plan, arrays, bare, snapshot, assumed)


def _lacking(
    arrays: Iterable[ArrayReading], bare: Mapping[Node | None, tuple[str, ...]], principal: Handler
) -> Iterator[Finding]:
    """Yield what grids lack to follow the convention that their group declares."""
    for array in arrays:
        if len(array.dims) > 1 and (dims := bare.get(array.node)):
            message = _(
                "its group declares {name!r}, but {lack}: it has no coordinates along {dims}"
            )
            text = message.format(
                name=principal.name, lack=principal.why_not(), dims=", ".join(map(repr, dims))
            )
            yield noted(Kind.CHOICE, text, array.node)


def _undeclaring(
    plan: GroupPlan,
    arrays: Iterable[ArrayReading],
    bare: Mapping[Node | None, tuple[str, ...]],
    snapshot: Snapshot,
    assumed: Collection[str],
) -> Iterator[Finding]:
    """Yield the findings of a group's arrays: why what they declare does not count, what helps.

    Where conventions are assumed that give an array its CRS and coordinates, nothing is lacking.
    """
    siblings = [array.node.name for array in plan.reading.arrays]
    group = _attributes(plan.node, snapshot)
    of_group = _why_not(plan.node, group)
    for array in arrays:
        node, attributes = array.node, array.document.attributes
        dims = bare.get(node, ())
        if assumed and array.interpretation.crs is not None and not dims:
            continue
        grid = _of_grid(plan, attributes, snapshot) if dims else []
        meant = seemingly_meant([attributes, group, *grid], siblings)
        assumable = tuple(name for name in meant if name not in assumed)
        found = noted(Kind.NO_PRINCIPAL, _why_not(node, attributes) or of_group, node)
        yield replace(found, bare=dims, assumable=assumable)


def _why_not(node: Node, attributes: Mapping[str, Any]) -> str:
    """Return why what a node declares does not count, "" if it declares nothing."""
    why = why_not_declared(attributes)
    return f"{node}: {why}" if why else ""


def without_coordinate(
    plan: GroupPlan, snapshot: Snapshot, parents: Iterable[GroupPlan]
) -> dict[Node | None, tuple[str, ...]]:
    """Return the dimensions along which there is no coordinate, of each array of a group."""
    along = set(_with_coordinate(plan, snapshot))
    sizes = _sizes(plan)
    for parent in parents if sizes.keys() - along else ():
        along.update(_passed_on(parent, sizes))
    own = (it for it in plan.variables if it.is_own)
    return {it.stored: tuple(dim for dim in it.dims if dim not in along) for it in own}


def _passed_on(parent: GroupPlan, sizes: Mapping[str, int]) -> Iterator[str]:
    """Yield the dimensions of a group whose coordinate it has from a group above."""
    theirs = _sizes(parent)
    for it in parent.variables:
        if it.dims == (it.name,) and it.name in sizes and theirs.get(it.name) == sizes[it.name]:
            yield it.name


def _with_coordinate(plan: GroupPlan, snapshot: Snapshot) -> Iterator[str]:
    """Yield the dimensions of a group along which there is a coordinate, also if it is only named."""
    documents = [array.document.attributes for array in plan.reading.arrays]
    named: set[Node] = set()
    for attributes in (_attributes(plan.node, snapshot), *documents):
        naming = {key: attributes.get(key) for key in _OF_COORDINATES}
        named.update(_named(plan, naming, snapshot))
    for it in plan.variables:
        if it.is_coordinate or it.dims == (it.name,) or it.stored in named:
            yield from it.dims


def _sizes(plan: GroupPlan) -> dict[str, int]:
    """Return the sizes of the dimensions of a group's arrays."""
    arrays = plan.reading.arrays
    return {dim: size for it in arrays for dim, size in zip(it.dims, it.shape, strict=True)}


def _attributes(node: Node, snapshot: Snapshot) -> Mapping[str, Any]:
    document = snapshot.document(node.path)
    return {} if document is None else document.attributes


def _of_grid(
    plan: GroupPlan, attributes: Mapping[str, Any], snapshot: Snapshot
) -> Iterator[Mapping[str, Any]]:
    """Yield what describes the grid of an array elsewhere, as far as it is known.

    That is the attributes of its grid mapping variables, and ``multiscales`` of the group above.
    """
    yield {"multiscales": _attributes(plan.node.group, snapshot).get("multiscales")}
    for node in _named(plan, {"grid_mapping": attributes.get("grid_mapping")}, snapshot):
        yield _attributes(node, snapshot)


def _undeclared(plan: GroupPlan) -> Iterator[ArrayReading]:
    """Yield the arrays of data of a group to which no principal convention applies."""
    coordinates = {
        planned.name
        for planned in plan.variables
        if planned.is_coordinate or planned.dims == (planned.name,)
    }
    for array in plan.reading.arrays:
        if not array.has_principal and array.node.name not in coordinates:
            yield array


def _referred(plan: GroupPlan, snapshot: Snapshot) -> Iterator[Node]:
    """Yield the arrays that a group and its arrays refer to."""
    yield from _named(plan, _attributes(plan.node, snapshot), snapshot)
    for array in plan.reading.arrays:
        yield from array.interpretation.referred
        yield from (
            source.node for item in array.inherited.coordinates for source in item.sources()
        )
        for coordinate in array.interpretation.coordinates:
            sources = (part.source for part in coordinate.parts())
            yield from (source.node for source in sources if isinstance(source, Stored))
        yield from _named(plan, array.document.attributes, snapshot)


def _named(plan: GroupPlan, attributes: Mapping[str, Any], snapshot: Snapshot) -> Iterator[Node]:
    """Yield the arrays that CF attributes name."""
    for name in referred_names(attributes):
        for path in candidate_paths(name, plan.node.path):
            document = snapshot.document(path)
            if document is not None and document.is_array:
                yield Node(plan.node.store, path)
                break
