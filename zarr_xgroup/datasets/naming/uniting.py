"""What is the same thing among all that arrays want, and what of it the group has itself."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import msgspec

from zarr_xgroup.conventions.model import Coordinate, Interpretation, Link
from zarr_xgroup.conventions.standing import boundaries_of, stands
from zarr_xgroup.datasets.interpretation import ArrayReading
from zarr_xgroup.datasets.naming.collecting import Attributes, Wanted
from zarr_xgroup.datasets.naming.taken import Taken
from zarr_xgroup.datasets.plan import PlannedVariable
from zarr_xgroup.errors import XGroupError, XGroupMetadataError, containing
from zarr_xgroup.findings import Finding, coordinate_named, problem_of
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import DECODED_BY, REFERRING
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.variables.sources import Stored


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
        self._copies: set[str] = set()
        self.sources = {array.node.name: Stored(array.node, array.dims) for array in wanted.arrays}
        self.attributes = Attributes(
            {name: array.document.attributes for name, array in wanted.own.items()}
        )
        self.coordinates: set[str] = set()
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

    @cached_property
    def _taken(self) -> Taken:
        return self._wanted.taken()

    def standing_for(self, coordinate: Coordinate) -> str:
        """Return the group's own coordinate for which another one is declared, "" without one."""
        own = self.sources.get(coordinate.name)
        if own is None:
            return ""
        attributes = self.attributes.own[coordinate.name]
        return coordinate.name if stands(own, attributes, coordinate) else ""

    def name_of(self, coordinate: Coordinate) -> str:
        """Return the name of the array that a coordinate is, "" if it is none of the group."""
        source = coordinate.source
        if not isinstance(source, Stored):
            return ""
        if source.node.group != self._wanted.reading.node:
            return self._copy_of(coordinate, source)
        name = source.node.name
        if name not in self.sources or self._counts_otherwise(name, coordinate):
            return ""
        return name if self._can_serve(name, coordinate, source) else ""

    def _can_serve(self, name: str, coordinate: Coordinate, source: Stored) -> bool:
        """Tell whether an array can be a coordinate as it is meant."""
        # 1. Data stay as they are.
        if name in self._wanted.first_class:
            return source.is_whole and self.sources[name].dims == source.dims
        # 2. What another array refers to is a coordinate, also if a part of it is meant.
        was_coordinate = name in self.coordinates
        self.coordinates.add(name)
        if not source.is_whole:
            return False
        # 3. A coordinate of a dimension has to be called as it.
        if source.dims == (coordinate.name,) != (name,):
            return False
        # 4. The first that refers to it says along which dimensions it lies.
        dims = self.sources[name].dims
        if dims == source.dims or len(set(dims)) < len(dims):
            return True
        is_beyond = source.dims == (name,) and self._wanted.is_unindexed(source)
        return not was_coordinate and not is_beyond and self._takes(name, source)

    def _takes(self, name: str, source: Stored) -> bool:
        """Give an array other dimensions, if these fit those of the others.

        Not if others have it as a coordinate along those that it has.
        """
        sizes = self._wanted.maker.sizes(source)
        self._taken.remove(name)
        fits = all(self._taken.fits(dim, size) for dim, size in sizes.items())
        if not fits or self._is_needed(name):
            self._taken.add(name, self._wanted.maker.sizes(self.sources[name]))
            return False
        self.sources[name] = source
        self._taken.add(name, sizes)
        return True

    def _is_needed(self, name: str) -> bool:
        """Tell whether data have an array as a coordinate, which is not counted any more.

        They have its dimensions, and name it unless it is called as its dimension, along which other
        coordinates may be. Coordinates that name each other do not count.
        """
        dims = self.sources[name].dims
        if dims == (name,):
            return self._taken.is_dimension(name) or name in self._wanted.dims_of_coordinates
        referring = self._wanted.referring
        data = (it for it in referring.get(name, ()) if it not in referring)
        return any(set(dims) <= set(self.sources[it].dims) for it in data)

    def _counts_otherwise(self, name: str, coordinate: Coordinate) -> bool:
        """Tell whether an array is to be other times than were declared of it before."""
        added = self.attributes.added.get(name, {})
        if "units" not in added:
            return False
        declared = self._wanted.identity_of(coordinate)
        before = self._wanted.identity_of(replace(coordinate, attributes=added))
        return declared not in (coordinate.identity, before)

    def _copy_of(self, coordinate: Coordinate, source: Stored) -> str:
        """Return the group's own copy of an array elsewhere, as it has one where it was written again.

        It is not read to tell. Such an array has the name that the other one is, or would be, attached
        by, its dimensions and its attributes; an array of the group names it; and it is a copy of
        one array alone.
        """
        longer = f"{source.node.group.path}/{coordinate.name}".replace("/", "_")
        for name in (coordinate.name, longer):
            if name in self._wanted.referring and self._is_copy(name, source):
                self._copies.add(name)
                return name
        return ""

    def _is_copy(self, name: str, source: Stored) -> bool:
        """Tell whether an array of the group is described as another one, and no other's copy."""
        if name not in self.sources or name in self._copies:
            return False
        sizes = self._wanted.maker.sizes
        if sizes(self.sources[name]) != sizes(source):
            return False
        own = self.attributes.own[name]
        theirs = self._wanted.attributes_of(source)
        kept = (key for key in theirs if key not in DECODED_BY and key not in REFERRING)
        return all(key in own and own[key] == theirs[key] for key in kept)


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

    def _thing(self, coordinate: Coordinate, referrer: Node) -> Thing:
        """Return a coordinate as one thing with all that is the same, with what belongs to it."""
        # 1. What is declared of the group's own coordinate and absent is added to that.
        own = self.own.standing_for(coordinate)
        key = -1 if own else self._key(coordinate, referrer)
        name = own or self.names.get(key, "")
        self._is_coordinate(name, stands=bool(own))
        bounds = self._bounds_of(coordinate, own)
        united = None if bounds is None else self._thing(bounds, referrer)
        terms = self._terms(coordinate, referrer)
        if name:
            self.own.attributes.add(name, coordinate.attributes)
            self.own.attributes.add(name, {"bounds": united} if united else {})
        # 2. Another array is attached beside it.
        if own and isinstance(coordinate.source, Stored):
            key = self._key(coordinate, referrer, beside=own)
        # 3. What the group's own arrays name themselves, they have said.
        is_own = key < 0 or key in self.names
        links = () if is_own else self._linked(coordinate.links, referrer)
        return Thing(key, coordinate, own, united, terms, links)

    def _is_coordinate(self, name: str, *, stands: bool) -> None:
        """Take down that one of the group's own arrays is a coordinate, unless it stays data."""
        if stands:
            self.own.identities.setdefault(name, self.own.sources[name])
        if stands or (name and name not in self._wanted.first_class):
            self.own.coordinates.add(name)

    def _terms(self, coordinate: Coordinate, referrer: Node) -> dict[str, Thing]:
        return {term: self._thing(it, referrer) for term, it in coordinate.formula_terms.items()}

    def _key(self, coordinate: Coordinate, referrer: Node, beside: str = "") -> int:
        """Return the key of a coordinate; what is new is one of the own arrays, or needs a name."""
        identity = coordinate.identity if beside else self._wanted.identity_of(coordinate)
        if identity in self._keys:
            return self._keys[identity]
        key, source = len(self._keys), coordinate.source
        name = "" if beside else self.own.name_of(coordinate)
        if name:
            self.names[key] = name
            # A copy is read itself: to other groups it is not what it was copied from.
            own = self._wanted.reading.node
            is_itself = isinstance(source, Stored) and source.node.group == own
            self.own.identities[name] = identity if is_itself else self.own.sources[name]
        else:
            self._wanted.maker.sizes(source)  # or it is raised that it cannot be opened
            self.others[key] = PlannedVariable(
                coordinate.name,
                source,
                source.dims,
                identity=identity,
                is_coordinate=True,
                referrer=referrer,
                beside=beside,
            )
            self._names.add(coordinate.name)
        self._keys[identity] = key
        self._keys.setdefault(coordinate.identity, key)
        return key

    def _bounds_of(self, coordinate: Coordinate, own: str) -> Coordinate | None:
        """Return what boundaries are declared of a coordinate, or of an own one that has none itself.

        Those at distances from declared values are at these from the own values then.
        """
        bounds = coordinate.bounds
        if not own or bounds is None:
            return bounds
        if self.own.attributes.get(own, "bounds") is not None:
            return None
        source = self.own.sources[own]
        found = boundaries_of(source, bounds)
        try:
            if found is bounds or self._wanted.maker.decoded_dtype(source).kind in "iuf":
                return found
        except XGroupMetadataError:  # told when it is decoded for the Dataset
            return None
        return None

    def _linked(self, links: Iterable[Link], referrer: Node) -> Links:
        return tuple((link, self._thing(link.coordinate, referrer)) for link in links)

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
