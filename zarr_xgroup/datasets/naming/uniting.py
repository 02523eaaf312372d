"""What is the same thing among all that arrays want, and what of it the group has itself."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import msgspec

from zarr_xgroup.conventions.array import CONVENTIONS_KEY
from zarr_xgroup.conventions.model import Coordinate, Interpretation, Link
from zarr_xgroup.datasets.interpretation import ArrayReading
from zarr_xgroup.datasets.naming.collecting import Attributes, Wanted
from zarr_xgroup.datasets.plan import PlannedVariable
from zarr_xgroup.errors import XGroupError, XGroupMetadataError, containing
from zarr_xgroup.findings import Finding, coordinate_named, problem_of
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import BOUNDARIES
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.variables.sources import Computed, HandlerVariable, Stored

#: What a coordinate is to the array that refers to it.
_Role: TypeAlias = Literal["coordinate", "bounds", "other"]


def _role_of(attribute: str) -> _Role:
    """Return what an array is that a CF attribute names."""
    if attribute in BOUNDARIES:
        return "bounds"
    return "coordinate" if attribute == "coordinates" else "other"


class Thing(msgspec.Struct, frozen=True, eq=False):
    """A coordinate that arrays want, with what belongs to it."""

    #: Equal for all that is the same, -1 for what is never attached itself.
    key: int
    coordinate: Coordinate
    #: The group's own coordinate that stands in its place, "" if none does.
    own: str = ""
    bounds: Thing | None = None
    terms: Mapping[str, Thing] = {}
    links: Links = ()


#: Links of CF attributes, each with what it leads to.
Links: TypeAlias = tuple[tuple[Link, Thing], ...]


class Attached(msgspec.Struct, frozen=True, eq=False):
    """What an array has."""

    array: ArrayReading
    things: tuple[Thing, ...]
    #: None if something failed before.
    links: Links | None = None
    #: The coordinates of dimensions of groups above.
    inherited: tuple[Thing, ...] = ()


@dataclass(frozen=True, eq=False)
class United:
    """What a group's arrays have, each thing once."""

    attached: tuple[Attached, ...]
    #: The group's own arrays that others of the tree take for times.
    times: tuple[Thing, ...]
    #: The group's own arrays, along the dimensions that they are to have, and which of them things are.
    own: Mapping[str, PlannedVariable]
    names: Mapping[int, str]
    #: What the group does not have itself, by key, in the order of reference, as it is to be called.
    others: Mapping[int, PlannedVariable]
    findings: tuple[Finding, ...]


def unite(wanted: Wanted) -> United:
    """Return what arrays have: the same things once, the group's own before others."""
    uniting = _Uniting(wanted)
    attached = tuple(uniting.attached(array) for array in wanted.arrays)
    times = tuple(uniting.unite_times())
    own, findings = uniting.own.planned(), tuple(uniting.findings)
    return United(attached, times, own, uniting.names, uniting.others, findings)


class _Own:
    """The group's own arrays: which of them coordinates are."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self.sources = {array.node.name: Stored(array.node, array.dims) for array in wanted.arrays}
        self.attributes = Attributes(
            {name: array.document.attributes for name, array in wanted.own.items()}
        )
        self.coordinates: set[str] = set()
        self._stood_for: dict[str, Node] = {}
        self.identities: dict[str, Hashable] = {}

    def planned(self) -> dict[str, PlannedVariable]:
        """Return the arrays as variables by name."""
        return {
            name: PlannedVariable(
                name,
                source,
                source.dims,
                identity=self.identities.get(name),
                is_own=True,
                is_coordinate=name in self.coordinates,
            )
            for name, source in self.sources.items()
        }

    def standing_for(self, coordinate: Coordinate, role: _Role) -> str:
        """Return the group's own array that stands in the place of a coordinate, "" if none does.

        What is named and no coordinate is that which is named; numbers name nothing.
        """
        name, source = coordinate.name, coordinate.source
        if name not in self.sources:
            return ""
        if not isinstance(source, Stored):
            return name if self._stands(name, coordinate, role) else ""
        if role != "coordinate" or source.node == self.sources[name].node:
            return ""
        # Of two that are called alike the second one would be attached by the longer name.
        for called in (name, f"{source.node.group.path}/{name}".replace("/", "_")):
            if called in self.sources and self._stands(called, coordinate, role):
                first = self._stood_for.setdefault(called, source.node)
                if first == source.node or self.sources[called].dims == (called,):
                    return called
        return ""

    def _stands(self, name: str, coordinate: Coordinate, role: _Role) -> bool:
        """Tell whether an own array stands in the place of a coordinate that would be called so."""
        own, source, sizes = self.sources[name], coordinate.source, self._wanted.maker.sizes
        # 1. A dimension's own coordinate, whatever is declared; but no array of another length.
        if own.dims == source.dims == (name,):
            is_array = isinstance(source, Stored | HandlerVariable)
            return not is_array or sizes(own) == sizes(source)
        # 2. What declares a principal convention itself is data, and what a third party gives is no declaration.
        array = self._wanted.own[name]
        is_data = array.is_first_class and CONVENTIONS_KEY in array.document.attributes
        if is_data or isinstance(source, HandlerVariable):
            return False
        # 3. Other coordinates, along the same dimensions and as long; boundaries, whatever their side is called.
        if role == "bounds":
            is_as_long = [*sizes(own).values()] == [*sizes(source).values()]
            return is_as_long and own.dims[:-1] == source.dims[:-1]
        return sizes(own) == sizes(source)

    def unpack(self, coordinate: Coordinate) -> None:
        """Leave out the array that a coordinate of its name is unpacked from."""
        source, name = coordinate.source, coordinate.name
        packed = source.arrays if isinstance(source, Computed) else ()
        if name in self.sources and any(it.node == self.sources[name].node for it in packed):
            del self.sources[name]

    def name_of(self, coordinate: Coordinate, role: _Role) -> str:
        """Return the name of the array that a coordinate is, "" if it is none of the group."""
        source = coordinate.source
        if not isinstance(source, Stored) or source.node.group != self._wanted.reading.node:
            return ""
        name = source.node.name
        if name not in self.sources or self._counts_otherwise(name, coordinate):
            return ""
        return name if self._can_serve(name, coordinate, source, role) else ""

    def _can_serve(self, name: str, coordinate: Coordinate, source: Stored, role: _Role) -> bool:
        """Tell whether an array can be a coordinate as it is meant."""
        if name not in self._wanted.first_class:
            # 1. What another array refers to is a coordinate, also if a part of it is meant.
            self.coordinates.add(name)
            # 2. A coordinate of a dimension has to be called as it.
            if source.dims == (coordinate.name,) != (name,):
                return False
        # 3. It stays as it lies, and own boundaries serve whatever their side is called.
        dims, meant = self.sources[name].dims, source.dims
        if role == "bounds" and len(dims) == len(meant):
            dims, meant = dims[:-1], meant[:-1]
        is_as_it_lies = dims == meant or len(set(dims)) < len(dims)  # two that are called alike
        return source.is_whole and is_as_it_lies

    def _counts_otherwise(self, name: str, coordinate: Coordinate) -> bool:
        """Tell whether an array is to be other times than were declared of it before."""
        added = self.attributes.added.get(name, {})
        if "units" not in added:
            return False
        declared = self._wanted.identity_of(coordinate)
        before = self._wanted.identity_of(replace(coordinate, attributes=added))
        return declared not in (coordinate.identity, before)


class _Uniting:
    """What arrays want, in the order of reference: each thing once."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._keys: dict[Hashable, int] = {}
        self._attached: dict[Interpretation, list[Thing]] = {}
        self._links: dict[Interpretation, Links] = {}
        self._names: set[str] = set(wanted.own)
        self.own = _Own(wanted)
        self.names: dict[int, str] = {}
        self.others: dict[int, PlannedVariable] = {}
        self.findings: list[Finding] = []

    def attached(self, array: ArrayReading) -> Attached:
        """Return what an array has; what failed is told, and what would have come after it is lost."""
        said, links = array.interpretation, None
        inherited: tuple[Thing, ...] = ()
        self.own.attributes.add(array.node.name, said.attributes)
        try:
            with containing():
                if said not in self._attached:
                    things = self._attached[said] = []
                    for coordinate in said.coordinates:
                        things.append(self._thing(coordinate, array.node))
                if said not in self._links:
                    self._links[said] = self._linked(said.links, array.node)
                inherited = tuple(self._inherited(array))
                links = self._links[said]
        except XGroupError as error:
            self.findings.append(problem_of(array.node, error))
        return Attached(array, tuple(self._attached[said]), links, inherited)

    def unite_times(self) -> Iterator[Thing]:
        """Yield the arrays that others of the tree take for times, as such."""
        for name, attributes in self._wanted.reading.times.items():
            if self.own.attributes.get(name, "units") is None:
                times = Coordinate(name, self.own.sources[name], attributes)
                yield self._thing(times, self._wanted.reading.node)

    def _thing(self, coordinate: Coordinate, referrer: Node, role: _Role = "coordinate") -> Thing:
        """Return a coordinate as one thing with all that is the same, with what belongs to it."""
        own = self.own.standing_for(coordinate, role)
        key = -1 if own else self._key(coordinate, referrer, role)
        name = own or self.names.get(key, "")
        self._is_coordinate(name, stands=bool(own))
        bounds = coordinate.bounds
        if own and bounds is not None and not self._can_be_bounds_of(own, bounds):
            bounds = None
        united = None if bounds is None else self._thing(bounds, referrer, "bounds")
        terms = {
            term: self._thing(it, referrer, "other")
            for term, it in coordinate.formula_terms.items()
        }
        if name:  # what is declared of the group's own arrays and absent is added to them
            self.own.attributes.add(name, coordinate.attributes)
            self.own.attributes.add(name, {"bounds": united} if united else {})
        # What the group's own arrays name themselves, they have said.
        links = () if name else self._linked(coordinate.links, referrer)
        return Thing(key, coordinate, own, united, terms, links)

    def _is_coordinate(self, name: str, *, stands: bool) -> None:
        """Take down that one of the group's own arrays is a coordinate, unless it stays data."""
        if stands:
            self.own.identities.setdefault(name, self.own.sources[name])
        if stands or (name and name not in self._wanted.first_class):
            self.own.coordinates.add(name)

    def _can_be_bounds_of(self, own: str, bounds: Coordinate) -> bool:
        """Tell whether declared boundaries can be those of an own coordinate that stands: if they are an array.

        Numbers are those of the values that are declared.
        """
        return isinstance(bounds.source, Stored) and self.own.attributes.get(own, "bounds") is None

    def _key(self, coordinate: Coordinate, referrer: Node, role: _Role) -> int:
        """Return the key of a coordinate; what is new is one of the own arrays, or needs a name."""
        identity = self._wanted.identity_of(coordinate)
        if identity in self._keys:
            return self._keys[identity]
        key, source = len(self._keys), coordinate.source
        name = self.own.name_of(coordinate, role)
        if name:
            self.names[key] = name
            self.own.identities[name] = identity
        else:
            self._wanted.maker.sizes(source)  # or it is raised that it cannot be opened
            self.own.unpack(coordinate)
            self.others[key] = PlannedVariable(
                coordinate.name,
                source,
                source.dims,
                identity=identity,
                is_coordinate=True,
                referrer=referrer,
            )
            self._names.add(coordinate.name)
        self._keys[identity] = key
        self._keys.setdefault(coordinate.identity, key)
        return key

    def _linked(self, links: Iterable[Link], referrer: Node) -> Links:
        return tuple(
            (link, self._thing(link.coordinate, referrer, _role_of(link.attribute)))
            for link in links
        )

    def _inherited(self, array: ArrayReading) -> Iterator[Thing]:
        """Yield the coordinates of dimensions that an array takes from ancestor groups."""
        for it in array.inherited.coordinates:
            if it.name in self._names and it.identity not in self._keys:
                continue  # a convention of the array says what it is
            if self._can_be_opened(it, array.node):
                links = (o for o in it.links if self._can_be_opened(o.coordinate, array.node))
                yield self._thing(replace(it, links=tuple(links)), array.node)

    def _can_be_opened(self, coordinate: Coordinate, referrer: Node) -> bool:
        """Tell whether the array that a coordinate is can be opened, and find why if not."""
        reason = self._wanted.error_of(coordinate)
        if reason is not None and isinstance(coordinate.source, Stored):
            message = _("{node} cannot be opened: {reason}").format(
                node=coordinate.source.node, reason=reason
            )
            error, lost = XGroupMetadataError(message), coordinate_named(coordinate.name)
            self.findings.append(problem_of(referrer, error, lost))
        return reason is None
