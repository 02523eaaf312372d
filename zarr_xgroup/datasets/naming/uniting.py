"""What is the same thing among all that arrays want, and what of it the group has itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import msgspec

from zarr_xgroup.conventions.model import Claim, Coordinate, Interpretation, Link
from zarr_xgroup.conventions.standing import boundaries_of, stands
from zarr_xgroup.datasets.interpretation import ArrayReading
from zarr_xgroup.datasets.naming.collecting import Wanted
from zarr_xgroup.datasets.naming.taken import Taken
from zarr_xgroup.errors import XGroupError, XGroupMetadataError, containing
from zarr_xgroup.findings import Finding, coordinate_named, problem_of
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import DECODED_BY, REFERRING
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.variables.sources import Stored


class Thing(msgspec.Struct, frozen=True, eq=False):
    """A coordinate that arrays want, with what belongs to it.

    Attributes
    ----------
    key : int
        A number: equal for all that is the same, -1 for what is never attached itself.
    coordinate : Coordinate
        What is said of it.
    own : str
        The group's own coordinate that stands in its place, "" if none does.
    is_new : bool
        Whether it is the first one of that key.
    bounds : Thing or None
        Its boundaries.
    terms : mapping of str to Thing
        The terms of its formula.
    links : tuple of tuple
        What its own CF attributes refer to.
    """

    key: int
    coordinate: Coordinate
    own: str = ""
    is_new: bool = False
    bounds: Thing | None = None
    terms: Mapping[str, Thing] = {}
    links: Links = ()


#: Links, each with what it leads to.
Links: TypeAlias = tuple[tuple[Link, Thing], ...]


class Nameless(msgspec.Struct, frozen=True, eq=False):
    """A thing that the group does not have itself, so that it needs a name.

    Attributes
    ----------
    key : int
        The number of the thing.
    identity : hashable
        What it is, to other groups as well.
    coordinate : Coordinate
        What was first said of it.
    referrer : Node
        The array that wants it first.
    sizes : mapping of str to int
        The sizes of its dimensions.
    beside : str
        The group's own coordinate that stands in its place, "" if none does.
    """

    key: int
    identity: Hashable
    coordinate: Coordinate
    referrer: Node
    sizes: Mapping[str, int]
    beside: str = ""


class Attached(msgspec.Struct, frozen=True, eq=False):
    """What an array has.

    Attributes
    ----------
    array : ArrayReading
        The array.
    things : tuple of Thing
        Its coordinates.
    links : tuple of tuple
        What its CF attributes refer to; None if something failed before.
    inherited : tuple of tuple
        The coordinates of dimensions of groups above: each with what its attributes name, by attribute
        and by what is written there.
    claims : tuple of Claim
        What it declares of coordinates that the group has itself.
    """

    array: ArrayReading
    things: tuple[Thing, ...]
    links: Links | None = None
    inherited: tuple[tuple[Thing, Mapping[str, Mapping[str, Thing]]], ...] = ()
    claims: tuple[Claim, ...] = ()


@dataclass(frozen=True, eq=False)
class United:
    """What a group's arrays have, each thing once.

    Attributes
    ----------
    attached : tuple of Attached
        What each array has.
    times : tuple of Thing
        The group's own arrays that others of the tree take for times.
    names : mapping of int to str
        The names of what the group has itself, by its key.
    sources : mapping of str to Stored
        The group's own arrays by name, along the dimensions that they are to have.
    identities : mapping of str to hashable
        What those that are coordinates are to other groups.
    coordinates : frozenset of str
        Those that are coordinates.
    nameless : tuple of Nameless
        What the group does not have itself, in the order of reference.
    findings : tuple of Finding
        What could not be attached.
    """

    attached: tuple[Attached, ...]
    times: tuple[Thing, ...]
    names: Mapping[int, str]
    sources: Mapping[str, Stored]
    identities: Mapping[str, Hashable]
    coordinates: frozenset[str]
    nameless: tuple[Nameless, ...]
    findings: tuple[Finding, ...]


def unite(wanted: Wanted) -> United:
    """Return what arrays have: the same things once, the group's own before others."""
    uniting = _Uniting(wanted)
    attached = tuple(uniting.attached(array) for array in wanted.arrays)
    times = tuple(uniting.unite_times())
    own = uniting.own
    return United(
        attached,
        times,
        names=uniting.names,
        sources=own.sources,
        identities=own.identities,
        coordinates=frozenset(own.coordinates),
        nameless=tuple(uniting.nameless),
        findings=tuple(uniting.findings),
    )


class _Own:
    """The group's own arrays: which of them coordinates are.

    Parameters
    ----------
    wanted : Wanted
        The group.
    """

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._copies: set[str] = set()
        self.sources = {array.node.name: Stored(array.node, array.dims) for array in wanted.arrays}
        self.added: defaultdict[str, dict[str, Any]] = defaultdict(dict)
        self.coordinates: set[str] = set()
        self.identities: dict[str, Hashable] = {}

    @cached_property
    def _taken(self) -> Taken:
        return self._wanted.taken()

    def add(self, name: str, attributes: Mapping[str, Any]) -> None:
        """Take down what is declared of an array and counts for what follows: the first of each."""
        own = self._wanted.own[name].document.attributes if name in self.sources else {}
        for key in ("units", "calendar", "bounds"):
            if key in attributes and key not in own:
                self.added[name].setdefault(key, attributes[key])

    def has_bounds(self, name: str) -> bool:
        """Tell whether an array has boundaries already."""
        own = self._wanted.own[name].document.attributes
        bounds = own["bounds"] if "bounds" in own else self.added[name].get("bounds")
        return bounds is not None

    def standing_for(self, coordinate: Coordinate) -> str:
        """Return the group's own coordinate for which another one is declared, "" without one."""
        own = self.sources.get(coordinate.name)
        if own is None:
            return ""
        attributes = self._wanted.own[coordinate.name].document.attributes
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
        is_claimed = name in self.coordinates
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
        is_beyond = source.dims == (name,) and self._wanted.budget.leaves_out(source)
        return not is_claimed and not is_beyond and self._takes(name, source)

    def _takes(self, name: str, source: Stored) -> bool:
        """Give an array other dimensions, if these fit those of the others.

        Not if others have it as a coordinate along those that it has.
        """
        sizes = self._wanted.maker.sizes(source)
        self._taken.remove(name)
        fits = all(self._taken.fits(dim, size) for dim, size in sizes.items())
        if not fits or self._is_needed(name):
            self._taken.add(name, self._sizes(name))
            return False
        self.sources[name] = source
        self._taken.add(name, sizes)
        return True

    def _sizes(self, name: str) -> dict[str, int]:
        shape = self._wanted.own[name].shape
        return dict(zip(self.sources[name].dims, shape, strict=True))

    def _is_needed(self, name: str) -> bool:
        """Tell whether data have an array as a coordinate, which is not counted any more.

        They have its dimensions, and name it unless it is called as its dimension. Coordinates that
        name each other do not count.
        """
        dims = self.sources[name].dims
        if dims == (name,):
            return self._taken.is_dimension(name)
        referring = self._wanted.referring
        data = (it for it in referring.get(name, ()) if it not in referring)
        return any(set(dims) <= set(self.sources[it].dims) for it in data)

    def _counts_otherwise(self, name: str, coordinate: Coordinate) -> bool:
        """Tell whether an array is to be other times than were declared of it before."""
        added = self.added.get(name, {})
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
        if self._sizes(name) != self._wanted.maker.sizes(source):
            return False
        own = self._wanted.own[name].document.attributes
        theirs = self._wanted.attributes_of(source)
        kept = (key for key in theirs if key not in DECODED_BY and key not in REFERRING)
        return all(key in own and own[key] == theirs[key] for key in kept)


class _Uniting:
    """What arrays want, in the order of reference: each thing once.

    Parameters
    ----------
    wanted : Wanted
        The group.
    """

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._keys: dict[Hashable, int] = {}
        self._attached: dict[Interpretation, list[Thing]] = {}
        self._links: dict[Interpretation, Links] = {}
        self._names: set[str] = set(wanted.own)
        self.own = _Own(wanted)
        self.names: dict[int, str] = {}
        self.nameless: list[Nameless] = []
        self.findings: list[Finding] = []

    def attached(self, array: ArrayReading) -> Attached:
        """Return what an array has; what failed is told, and what would have come after it is lost."""
        said, claims = array.interpretation, tuple[Claim, ...]()
        self.own.add(array.node.name, said.attributes)
        try:
            with containing():
                if said not in self._attached:
                    things = self._attached[said] = []
                    for coordinate in said.coordinates:
                        things.append(self._thing(coordinate, array.node))
                    claims = tuple(it for it in said.claims if self.own.standing_for(it.coordinate))
                if said not in self._links:
                    self._links[said] = self._linked(said.links, array.node)
                inherited = tuple(self._inherited(array))
        except XGroupError as error:
            self.findings.append(problem_of(array.node, error))
            return Attached(array, tuple(self._attached[said]), claims=claims)
        things = self._attached[said]
        return Attached(array, tuple(things), self._links[said], inherited, claims)

    def unite_times(self) -> Iterator[Thing]:
        """Yield the arrays that others of the tree take for times, as such."""
        for name, attributes in self._wanted.reading.times.items():
            if "units" not in self.own.added.get(name, {}):
                times = Coordinate(name, self.own.sources[name], attributes)
                yield self._thing(times, self._wanted.reading.node)

    def _thing(self, coordinate: Coordinate, referrer: Node) -> Thing:
        """Return a coordinate as one thing with all that is the same, with what belongs to it."""
        own = self.own.standing_for(coordinate)
        if own:
            thing, is_own = self._beside(own, coordinate, referrer)
        else:
            thing, is_own = self._alone(coordinate, referrer)
        if coordinate.links and not is_own:
            links = self._linked(coordinate.links, referrer)
            thing = msgspec.structs.replace(thing, links=links)
        return thing

    def _alone(self, coordinate: Coordinate, referrer: Node) -> tuple[Thing, bool]:
        """Return a thing in whose place nothing stands, and whether it is the group's own."""
        identity = self._wanted.identity_of(coordinate)
        known = self._keys.get(identity)
        is_new = known is None
        key = self._place(identity, coordinate, referrer) if known is None else known
        name = self.names.get(key, "")
        if name and name not in self._wanted.first_class:
            self.own.coordinates.add(name)
        bounds = None if coordinate.bounds is None else self._thing(coordinate.bounds, referrer)
        terms = self._terms(coordinate, referrer)
        self._add(name, coordinate, bounds)
        thing = Thing(key, coordinate, is_new=is_new, bounds=bounds, terms=terms)
        return thing, bool(name)

    def _place(self, identity: Hashable, coordinate: Coordinate, referrer: Node) -> int:
        """Find what is new among the group's own arrays, or take down that it needs a name."""
        key = len(self._keys)
        name = self.own.name_of(coordinate)
        if name:
            self.names[key] = name
            # A copy is read itself: to other groups it is not what it was copied from.
            own, source = self._wanted.reading.node, coordinate.source
            is_itself = isinstance(source, Stored) and source.node.group == own
            self.own.identities[name] = identity if is_itself else self.own.sources[name]
        else:
            self._needs_name(key, identity, coordinate, referrer)
        self._keys[identity] = key
        self._keys.setdefault(coordinate.identity, key)
        return key

    def _needs_name(
        self,
        key: int,
        identity: Hashable,
        coordinate: Coordinate,
        referrer: Node,
        beside: str = "",
    ) -> None:
        sizes = self._wanted.maker.sizes(coordinate.source)
        self.nameless.append(Nameless(key, identity, coordinate, referrer, sizes, beside))
        self._names.add(coordinate.name)

    def _beside(self, own: str, coordinate: Coordinate, referrer: Node) -> tuple[Thing, bool]:
        """Return a thing in whose place the group's own coordinate stands.

        What is declared of it and absent is added to the own one; another array is attached beside it.
        """
        self.own.identities.setdefault(own, self.own.sources[own])
        bounds = None
        if coordinate.bounds is not None and not self.own.has_bounds(own):
            of_own = self._of_own_values(self.own.sources[own], coordinate.bounds)
            bounds = None if of_own is None else self._thing(of_own, referrer)
        self.own.coordinates.add(own)
        terms = self._terms(coordinate, referrer)
        self._add(own, coordinate, bounds)
        is_array, identity = isinstance(coordinate.source, Stored), coordinate.identity
        is_new = is_array and identity not in self._keys
        if is_new:
            key = len(self._keys)
            self._needs_name(key, identity, coordinate, referrer, beside=own)
            self._keys[identity] = key
        key = self._keys.get(identity, -1)
        thing = Thing(key, coordinate, own, is_new, bounds, terms)
        return thing, key < 0 or key in self.names

    def _add(self, name: str, coordinate: Coordinate, bounds: Thing | None) -> None:
        """Take down what is declared of the group's own array."""
        if name:
            has_bounds = {} if bounds is None else {"bounds": bounds}
            self.own.add(name, {**coordinate.attributes, **has_bounds})

    def _of_own_values(self, own: Stored, bounds: Coordinate) -> Coordinate | None:
        """Return boundaries at distances from declared values as those from the own values."""
        found = boundaries_of(own, bounds)
        try:
            if found is bounds or self._wanted.maker.decoded_dtype(own).kind in "iuf":
                return found
        except XGroupMetadataError:  # told when it is decoded for the Dataset
            return None
        return None

    def _terms(self, coordinate: Coordinate, referrer: Node) -> dict[str, Thing]:
        found = coordinate.formula_terms
        return {term: self._thing(it, referrer) for term, it in found.items()} if found else {}

    def _linked(self, links: Iterable[Link], referrer: Node) -> Links:
        return tuple((link, self._thing(link.coordinate, referrer)) for link in links)

    def _inherited(
        self, array: ArrayReading
    ) -> Iterator[tuple[Thing, Mapping[str, Mapping[str, Thing]]]]:
        """Yield the coordinates of dimensions that an array takes from ancestor groups."""
        for inherited in array.inherited.coordinates:
            coordinate = inherited.coordinate
            if coordinate.name in self._names and coordinate.identity not in self._keys:
                continue  # a convention of the array says what it is
            if not self._can_be_opened(coordinate, array.node):
                continue
            thing = self._thing(coordinate, array.node)
            companions = {
                key: {
                    written: self._thing(it, array.node)
                    for written, it in named.items()
                    if self._can_be_opened(it, array.node)
                }
                for key, named in inherited.companions.items()
            }
            yield thing, companions

    def _can_be_opened(self, coordinate: Coordinate, referrer: Node) -> bool:
        """Tell whether the array that a coordinate is can be opened, and find why if not."""
        reason = self._wanted.error_of(coordinate)
        if reason is not None and isinstance(coordinate.source, Stored):
            message = _("{place}: {node} cannot be opened: {reason}").format(
                place=referrer, node=coordinate.source.node, reason=reason
            )
            error, lost = XGroupMetadataError(message), coordinate_named(coordinate.name)
            self.findings.append(problem_of(referrer, error, lost))
        return reason is None
