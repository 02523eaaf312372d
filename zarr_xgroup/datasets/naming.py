"""One name for each variable of a group: the same thing reached twice is one, two never share one.

Pure: readings become a plan.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from zarr_xgroup.conventions.array import is_standing
from zarr_xgroup.conventions.crs import Crs, conflicting_grid_mapping, likeness
from zarr_xgroup.conventions.model import Claim, Coordinate, GridMapping, Interpretation, Link
from zarr_xgroup.conventions.proj import SPATIAL_REF, mappings_in
from zarr_xgroup.datasets.budget import NO_LIMIT, IndexBudget
from zarr_xgroup.datasets.interpretation import ArrayReading, GroupReading
from zarr_xgroup.datasets.plan import GroupPlan, PlannedVariable, Rival
from zarr_xgroup.errors import XGroupError, XGroupMetadataError, containing
from zarr_xgroup.findings import Finding, Kind, coordinate_named, noted, problem_of
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import (
    DECODED_BY,
    LATITUDES,
    LONGITUDES,
    REFERRING,
    names_in,
    only_mapping,
    referred_names,
    with_names,
)
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.variables.functions import RotatedCentres
from zarr_xgroup.variables.sources import (
    Computed,
    Given,
    Literal,
    Offset,
    Source,
    Stored,
    renamed,
)

if TYPE_CHECKING:
    from zarr_xgroup.variables.making import Maker


def plan_group(reading: GroupReading, maker: Maker, budget: IndexBudget = NO_LIMIT) -> GroupPlan:
    """Return what the Dataset of a group will hold.

    Parameters
    ----------
    reading : GroupReading
        The group, interpreted.
    maker : Maker
        Says what sizes sources have.
    budget : IndexBudget, optional
        Which coordinates must not be called as their dimension, lest xarray read them.
    """
    return _Naming(reading, maker, budget).plan()


class _Variable:
    """A variable while names are given: becomes a PlannedVariable."""

    def __init__(
        self,
        source: Source,
        dims: tuple[str, ...],
        sizes: Mapping[str, int],
        own: Mapping[str, Any],
        *,
        is_own: bool = False,
    ) -> None:
        self.source = source
        self.dims = dims
        self.sizes = sizes
        self.own = own
        self.is_own = is_own
        self.added: dict[str, Any] = {}
        self.identity: Hashable | None = None
        self.referrer: Node | None = None
        self.coordinates: tuple[str, ...] = ()
        self.claims: dict[Hashable, tuple[Claim, Node]] = {}
        self.rival: Rival | None = None
        self.bounds_of = ""
        self.flat_names: defaultdict[str, dict[str, str]] = defaultdict(dict)
        self.rewritten: dict[str, str] = {}

    @property
    def meaning(self) -> Hashable | None:
        """What it is to other groups: the same numbers are something else in another unit."""
        if self.identity is None:
            return None
        added = ((key, self.added[key]) for key in sorted(DECODED_BY & self.added.keys()))
        return self.identity, *(item for item in added if isinstance(item[1], str | int | float))

    def rename(self, names: Mapping[str, str]) -> None:
        """Rename dimensions."""
        self.source = renamed(self.source, names)
        self.dims = tuple(names.get(dim, dim) for dim in self.dims)
        self.sizes = {names.get(dim, dim): size for dim, size in self.sizes.items()}

    def attribute(self, key: str) -> Any:
        """Return one of its attributes, or None."""
        if key in self.rewritten:
            return self.rewritten[key]
        return self.own[key] if key in self.own else self.added.get(key)

    def claim(self, claim: Claim, referrer: Node) -> None:
        """Take down other values that an array declares for it, the same ones once."""
        self.claims.setdefault(claim.coordinate.identity, (claim, referrer))

    def add(self, attributes: Mapping[str, Any]) -> None:
        """Add attributes where there is none of the name."""
        for key, value in attributes.items():
            if key not in self.own:
                self.added.setdefault(key, value)


class _Dimensions:
    """The sizes of the dimensions that a group's variables have."""

    def __init__(self) -> None:
        self._sizes: dict[str, int] = {}
        self._users: Counter[str] = Counter()

    def __contains__(self, dim: str) -> bool:
        """Tell whether a variable has a dimension."""
        return self._users[dim] > 0

    def add(self, sizes: Mapping[str, int]) -> None:
        """Take over the dimensions of a variable."""
        self._sizes.update(sizes)
        self._users.update(sizes.keys())

    def remove(self, sizes: Mapping[str, int]) -> None:
        """Forget the dimensions of a variable, but for those that others have too."""
        self._users.subtract(sizes.keys())

    def can_have(self, dim: str, size: int) -> bool:
        """Tell whether a dimension of this name and size fits among what there is."""
        return dim not in self or self._sizes[dim] == size


class _Names:
    """Names for the variables of a group."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def first(self, wanted: str, group: str, can_be: Callable[[str], bool]) -> str:
        """Return the best name that can be given: design, section "Names".

        Numbers go on where they were: to begin anew for each of many variables of one name would
        take quadratic time.
        """
        longer = wanted.replace("/", "_")
        if can_be(wanted):
            return wanted
        if group:
            longer = f"{group.replace('/', '_')}_{longer}"
            if can_be(longer):
                return longer
        number = self._numbers.get(longer, 1)
        while not can_be(f"{longer}_{number}"):
            number += 1
        self._numbers[longer] = number
        return f"{longer}_{number}"


def _first_class(reading: GroupReading) -> Iterator[str]:
    """Yield the arrays that stay data though others refer to them: they follow a principal convention.

    One that is only assumed makes no data of what is declared to be a coordinate.
    """
    said = dict.fromkeys(array.interpretation for array in reading.arrays)
    sources = (coordinate.source for it in said for coordinate in it.coordinates)
    declared = {source.node for source in sources if isinstance(source, Stored)}
    for array in reading.arrays:
        if array.is_first_class or (array.has_principal and array.node not in declared):
            yield array.node.name


class _Naming:
    """The naming of one group's variables."""

    def __init__(self, reading: GroupReading, maker: Maker, budget: IndexBudget) -> None:
        self._reading = reading
        self._maker = maker
        self._budget = budget
        self._findings = list(reading.findings)
        self._coordinates: set[str] = set()
        self._names: dict[Hashable, str] = {}
        self._crs: dict[str, GridMapping] = {}
        self._alike: defaultdict[Hashable, list[str]] = defaultdict(list)
        self._linked: dict[Interpretation, list[tuple[Link, str]]] = {}
        self._copies: set[str] = set()
        self._located: dict[str, tuple[Crs, Node]] = {}
        self._rotated: dict[str, Hashable] = {}
        self._split: dict[tuple[str, Hashable], str] = {}
        self._renamed: dict[tuple[Node, str, int], str] = {}
        self._users: defaultdict[str, list[Node]] = defaultdict(list)
        self._first_class = frozenset(_first_class(reading))
        self._variables = {
            array.node.name: _Variable(
                Stored(array.node, array.dims),
                array.dims,
                dict(zip(array.dims, array.shape, strict=True)),
                array.document.attributes,
                is_own=True,
            )
            for array in reading.arrays
        }
        self._free_names = _Names()
        self._dimensions = _Dimensions()
        for variable in self._variables.values():
            self._dimensions.add(variable.sizes)

    def plan(self) -> GroupPlan:
        """Return the plan."""
        known: dict[Interpretation, tuple[dict[str, str], list[str]]] = {}
        for array in self._reading.arrays:
            with self._telling(array):
                self._attach(array, known)
        self._attach_times()
        self._attach_grid_mappings()
        self._attach_located()
        for array in self._reading.arrays:
            self._findings.extend(array.interpretation.findings)
        times: dict[str, bool] = {}
        for name, is_declared in self._times():
            times.setdefault(name, is_declared)  # boundaries of several are decoded by the first
        variables = tuple(self._planned(name, it, times) for name, it in self._variables.items())
        return GroupPlan(self._reading, variables, tuple(self._findings))

    @contextmanager
    def _telling(self, array: ArrayReading) -> Iterator[None]:
        """Say of an array what is raised on behalf of it."""
        try:
            with containing():
                yield
        except XGroupError as error:
            self._findings.append(problem_of(array.node, error))

    def _times(self) -> Iterator[tuple[str, bool]]:
        """Yield what xarray decodes as times, and whether their units are not their own.

        So it does boundaries of times that have no units: of its own accord where a group has both.
        """
        for name in self._reading.bounds_of_dropped:
            if name in self._variables and self._variables[name].attribute("units") is None:
                yield name, False
        for name, variable in self._variables.items():
            if "since" in str(variable.attribute("units")):
                is_declared = "units" not in variable.own
                yield name, is_declared
                bounds = self._variables.get(str(variable.attribute("bounds")))
                if bounds is not None and bounds.attribute("units") is None:
                    is_found = variable.is_own and bounds.is_own
                    yield str(variable.attribute("bounds")), is_declared or not is_found

    def _planned(
        self, name: str, variable: _Variable, times: Mapping[str, bool]
    ) -> PlannedVariable:
        """Return a variable as it is planned; `times` says whether units of times are declared."""
        return PlannedVariable(
            name,
            variable.source,
            variable.dims,
            variable.meaning,
            variable.is_own,
            name in self._coordinates,
            variable.added,
            variable.coordinates,
            variable.referrer,
            tuple(self._users.get(name, ())),
            "coordinates" in variable.own or "coordinates" in variable.added,
            tuple(variable.claims.values()),
            variable.rival,
            variable.bounds_of,
            variable.rewritten,
            self._reading.bounds_of_dropped.get(name, {}) if variable.is_own else {},
            name in times,
            times.get(name, False) or not DECODED_BY.isdisjoint(variable.added),
        )

    # Coordinates.

    def _attach(
        self, array: ArrayReading, known: dict[Interpretation, tuple[dict[str, str], list[str]]]
    ) -> None:
        """Attach the coordinates of an array."""
        name, interpretation = array.node.name, array.interpretation
        variable = self._variables[name]
        variable.add(interpretation.attributes)
        if interpretation not in known:
            names = self._diverging(array)
            found = [item.renamed(names) for item in interpretation.coordinates]
            known[interpretation] = names, []
            self._rename(array, names)
            for item in found:
                other = self._add(item, array.node)
                known[interpretation][1].append(other)
                self._tell_by_units(
                    other, item.crs or interpretation.crs, is_its=item.crs is not None
                )
            for claim in interpretation.claims:
                if self._standing(claim.coordinate) is not None:
                    self._variables[claim.coordinate.name].claim(claim, array.node)
        elif known[interpretation][0]:
            self._rename(array, known[interpretation][0])
        attached = known[interpretation][1]
        if interpretation not in self._linked:
            links = interpretation.links
            self._linked[interpretation] = [
                (it, self._added(it.coordinate, array.node)[1]) for it in links
            ]
        self._link(name, self._linked[interpretation], array.node)
        if array.conventions:
            self._name_only_mapping(variable)
        named = [
            other
            for other in dict.fromkeys(attached)
            if other != name
            and other not in variable.sizes
            and self._variables[other].sizes.keys() <= variable.sizes.keys()
        ]
        # Dimension coordinates need no naming (CF 1.12, section 5). cf_xarray takes from a
        # Dataset with a variable what is named so.
        if "coordinates" not in variable.own and "coordinates" not in variable.added:
            variable.coordinates = tuple(named)
        for other in dict.fromkeys([*attached, *self._attach_inherited(array)]):
            self._users[other].append(array.node)

    def _attach_times(self) -> None:
        """Make times of the arrays that others of the tree take for such."""
        for name, attributes in self._reading.times.items():
            variable = self._variables[name]
            if "units" not in variable.added:
                self._add(Coordinate(name, variable.source, attributes), self._reading.node)
                self._tell_by_units(name, None)

    def _tell_by_units(self, name: str, crs: Crs | None, *, is_its: bool = False) -> None:
        """Add the standard name that follows from the units of a coordinate.

        Axes of a CRS that is not geographic are no longitudes, whatever their units are: those of a
        rotated pole are written so by mistake. Neither are 2-D arrays whose own CRS (`is_its`) is such.
        """
        variable = self._variables[name]
        units, axis = variable.attribute("units"), variable.attribute("axis")
        is_axis = variable.dims in ((), (name,))
        if " since " in str(units):
            if axis == "T" or (axis is None and is_axis):
                variable.add({"standard_name": "time"})
        elif not ((is_axis or is_its) and crs is not None and not crs.is_geographic):
            for told, known in (("longitude", LONGITUDES), ("latitude", LATITUDES)):
                if units in known:
                    variable.add({"standard_name": told})

    def _link(self, name: str, links: Iterable[tuple[Link, str]], referrer: Node) -> None:
        """Name in a variable's CF attributes what was attached for them."""
        variable = self._variables[name]
        for link, attached in links:
            variable.flat_names[link.attribute][link.path] = attached
            self._users[attached].append(referrer)
        for key, names in variable.flat_names.items():
            variable.rewritten[key] = with_names(key, variable.own[key], names)

    def _name_only_mapping(self, variable: _Variable) -> None:
        """Name a variable's only CRS alone: tools do not read ``crs: x y``.

        The coordinates that it names are some, as by xarray's ``decode_coords="all"``.
        """
        written = {"grid_mapping": variable.attribute("grid_mapping")}
        name = only_mapping(written)
        if name not in self._variables or written["grid_mapping"] == name:
            return
        if self._is_no_grid_mapping(name):
            return
        variable.rewritten["grid_mapping"] = name
        named = {word for word in names_in(written, "grid_mapping") if word in self._variables}
        self._coordinates |= named - self._first_class

    def _attach_inherited(self, array: ArrayReading) -> Iterator[str]:
        """Attach the coordinates of dimensions that an array takes from ancestor groups."""
        for inherited in array.inherited.coordinates:
            coordinate = inherited.coordinate
            if coordinate.name in self._variables and coordinate.identity not in self._names:
                continue  # a convention of the array says what it is
            if not self._can_be_opened(coordinate, array.node):
                continue
            name = self._add(coordinate, array.node)
            yield name
            for key, companions in inherited.companions.items():
                flat = dict(self._attach_companions(companions, array.node))
                if flat:
                    variable = self._variables[name]
                    variable.rewritten[key] = with_names(key, variable.own[key], flat)
                yield from flat.values()

    def _attach_companions(
        self, companions: Mapping[str, Coordinate], referrer: Node
    ) -> Iterator[tuple[str, str]]:
        """Attach what a coordinate names, and yield what it is called for what is written."""
        for written, companion in companions.items():
            if self._can_be_opened(companion, referrer):
                yield written, self._added(companion, referrer)[1]

    def _can_be_opened(self, coordinate: Coordinate, referrer: Node) -> bool:
        """Tell whether the array that a coordinate is can be opened, and find why if not."""
        source = coordinate.source
        if not isinstance(source, Stored):
            return True
        try:
            self._maker.template(source.node, source.along)
        except XGroupMetadataError as error:
            message = _("{place}: {node} cannot be opened: {reason}").format(
                place=referrer, node=source.node, reason=error
            )
            lost, error = coordinate_named(coordinate.name), XGroupMetadataError(message)
            self._findings.append(problem_of(referrer, error, lost))
            return False
        return True

    def _identity(self, coordinate: Coordinate) -> Hashable:
        """Return what a coordinate is: numbers are something else for each time they count from.

        Where an array says itself in what unit it is, that counts and not what is declared.
        """
        source, units = coordinate.source, str(coordinate.attributes.get("units"))
        if not isinstance(source, Stored) or "since" not in units:
            return coordinate.identity
        if "units" in self._maker.attributes(source.node):
            return coordinate.identity
        return source, units, str(coordinate.attributes.get("calendar"))

    def _diverging(self, array: ArrayReading) -> dict[str, str]:
        """Return new names for dimensions that have other coordinate values for other arrays.

        The same for all arrays of the group that have the same values.
        """
        names = {}
        for dim, place, is_rotated in self._places_along(array):
            there = self._variables.get(dim)
            is_along = there is not None and there.dims == (dim,)
            first = there.identity if there is not None and is_along else self._rotated.get(dim)
            if first in (None, place) or (there is not None and there.is_own):
                if is_rotated:
                    self._rotated.setdefault(dim, place)
                continue
            if (dim, place) not in self._split:
                size = self._variables[array.node.name].sizes[dim]
                self._split[dim, place] = self._free_dimension(f"{dim}_{array.node.name}", size)
            names[dim] = self._split[dim, place]
        return names

    def _places_along(self, array: ArrayReading) -> Iterator[tuple[str, Hashable, bool]]:
        """Yield dimensions of an array, what says where its cells are, and whether they are rotated.

        That is the coordinate of the dimension; of a rotated grid both 2-D ones, for either.
        """
        rotated = []
        for coordinate in array.interpretation.coordinates:
            source = coordinate.source
            if source.dims == (coordinate.name,) and coordinate.name in array.dims:
                yield coordinate.name, self._identity(coordinate), False
            elif isinstance(source, Computed) and isinstance(source.function, RotatedCentres):
                rotated.append(coordinate)
        for dim in rotated[0].source.dims if rotated else ():
            yield dim, tuple(map(self._identity, rotated)), True

    def _rename(self, array: ArrayReading, names: Mapping[str, str]) -> None:
        """Rename dimensions of an array whose coordinates are others than those of the group."""
        if not names:
            return
        variable = self._variables[array.node.name]
        self._dimensions.remove(variable.sizes)
        variable.rename(names)
        self._dimensions.add(variable.sizes)
        changes = ", ".join(f"{old!r} -> {new!r}" for old, new in names.items())
        message = _(
            "Array {path}: other arrays of the group have other coordinate values along its "
            "dimensions; renamed {renamed}"
        ).format(path=array.node, renamed=changes)
        self._findings.append(noted(Kind.DIMENSION, message, array.node))

    def _standing(self, coordinate: Coordinate) -> str | None:
        """Return the group's own coordinate for which another one is declared.

        What the data carry themselves stands: the coordinate of a dimension whatever is declared
        for it, another one where values for it stand in the metadata.
        """
        name, source = coordinate.name, coordinate.source
        variable = self._variables.get(name)
        if isinstance(source, Given) or variable is None or not variable.is_own:
            return None
        if sorted(variable.dims) != sorted(source.dims):
            return None
        if not isinstance(source, Stored):
            return name if is_standing(name, source.dims, variable.own) else None
        own = variable.source.node if isinstance(variable.source, Stored) else None
        return name if source.dims == (name,) and source.node != own else None

    def _add_beside(self, name: str, coordinate: Coordinate, referrer: Node) -> str:
        """Add to the group's own coordinate what is declared of it and absent."""
        variable, source = self._variables[name], coordinate.source
        variable.identity = variable.identity or variable.source
        attributes = dict(coordinate.attributes)
        if coordinate.bounds is not None and variable.attribute("bounds") is None:
            bounds = self._of_own_values(variable, coordinate.bounds)
            if bounds is not None:
                attributes["bounds"] = self._add(bounds, referrer)
                if not self._variables[attributes["bounds"]].is_own:
                    self._variables[attributes["bounds"]].bounds_of = name
        self._coordinates.add(name)
        variable.add({**attributes, **self._terms(coordinate, referrer)})
        if not isinstance(source, Stored):
            variable.claim(Claim(coordinate), referrer)
        elif coordinate.identity not in self._names:
            rival = self._take_name(coordinate, referrer, beside=name)
            self._names[coordinate.identity] = rival
            self._variables[rival].identity = coordinate.identity
            self._variables[rival].add(coordinate.attributes)
            self._coordinates.add(rival)
            self._users[rival].append(referrer)
        return name

    def _of_own_values(self, variable: _Variable, bounds: Coordinate) -> Coordinate | None:
        """Return boundaries at distances from declared values as those from the own values."""
        source, own = bounds.source, variable.source
        if not isinstance(source, Computed | Offset) or not isinstance(own, Stored):
            return bounds
        try:
            if self._maker.decoded_dtype(own).kind not in "iuf":
                return None
        except XGroupMetadataError:  # told when it is decoded for the Dataset
            return None
        distances = source.function if isinstance(source, Computed) else source
        offset = Offset(own, distances.below, distances.above, source.dims[-1])
        return replace(bounds, source=offset)

    def _terms(self, coordinate: Coordinate, referrer: Node) -> dict[str, str]:
        """Add the terms of a parametric coordinate, and return the attribute that names them."""
        if not coordinate.formula_terms:
            return {}
        terms = {
            term: self._add(found, referrer) for term, found in coordinate.formula_terms.items()
        }
        return {"formula_terms": " ".join(f"{term}: {terms[term]}" for term in terms)}

    def _add(self, coordinate: Coordinate, referrer: Node) -> str:
        """Add a coordinate of an array, with all that belongs to it, and return its name."""
        return self._added(coordinate, referrer)[0]

    def _added(self, coordinate: Coordinate, referrer: Node) -> tuple[str, str]:
        """Add a coordinate; return its name, and that of what is read from its very array.

        They are two where the group's own coordinate stands, and the other is added beside it.
        """
        standing = self._standing(coordinate)
        if standing is None:
            name = attached = self._add_alone(coordinate, referrer)
        else:
            name = self._add_beside(standing, coordinate, referrer)
            attached = self._names.get(coordinate.identity, name)
        if coordinate.links and not self._variables[attached].is_own:
            links = [(it, self._added(it.coordinate, referrer)[1]) for it in coordinate.links]
            self._link(attached, links, referrer)
        return name, attached

    def _add_alone(self, coordinate: Coordinate, referrer: Node) -> str:
        """Add a coordinate for which the group has none itself, with boundaries and terms."""
        identity = self._identity(coordinate)
        name = self._names.get(identity)
        if name is None:
            copied = self._copy_of(coordinate)
            name = copied or self._own_name(coordinate) or self._take_name(coordinate, referrer)
            self._names[identity] = name
            self._names.setdefault(coordinate.identity, name)
            variable = self._variables[name]
            # A copy is read itself: to other groups it is not what it was copied from.
            variable.identity = variable.source if name == copied else identity
        if name not in self._first_class:
            self._coordinates.add(name)
        attributes = dict(coordinate.attributes)
        if coordinate.bounds is not None:
            attributes["bounds"] = self._add(coordinate.bounds, referrer)
            self._compare_own_bounds(attributes["bounds"], name)
        self._variables[name].add({**attributes, **self._terms(coordinate, referrer)})
        if coordinate.crs is not None:
            self._located.setdefault(name, (coordinate.crs, referrer))
        return name

    def _compare_own_bounds(self, bounds: str, name: str) -> None:
        """Have boundaries of the group's own compared with those declared of numbers that make an index.

        Whoever cuts data, drops the coordinate and writes them leaves boundaries of other numbers.
        """
        own, declared = self._variables[bounds], self._variables[name]
        is_computed = isinstance(declared.source, Computed | Literal) and declared.dims == (name,)
        if own.is_own and own.claims and is_computed and not self._budget.leaves_out(own.source):
            own.bounds_of = name

    def _own_name(self, coordinate: Coordinate) -> str | None:
        """Return the name of the group's own array that a coordinate is, if it can serve as such."""
        source = coordinate.source
        if not isinstance(source, Stored) or source.node.group != self._reading.node:
            return None
        name = source.node.name
        variable = self._variables.get(name)
        if variable is None or not variable.is_own or self._counts_otherwise(variable, coordinate):
            return None
        if name in self._first_class:
            return name if source.is_whole and variable.dims == source.dims else None
        claimed = name in self._coordinates
        self._coordinates.add(name)
        if not source.is_whole:
            return None
        if source.dims == (coordinate.name,) != (name,):
            return None  # a dimension coordinate has to be called as its dimension
        has_one_twice = len(set(variable.dims)) < len(variable.dims)
        if variable.dims != source.dims and not has_one_twice:
            sizes = self._maker.sizes(source)
            is_beyond = source.dims == (name,) and self._budget.leaves_out(source)
            if claimed or is_beyond or not self._takes(name, sizes):
                return None
            variable.source, variable.dims, variable.sizes = source, source.dims, sizes
        return name

    def _counts_otherwise(self, variable: _Variable, coordinate: Coordinate) -> bool:
        """Tell whether an array is to be other times than were declared of it before."""
        if "units" not in variable.added:
            return False
        declared = self._identity(coordinate)
        before = self._identity(replace(coordinate, attributes=variable.added))
        return declared not in (coordinate.identity, before)

    def _copy_of(self, coordinate: Coordinate) -> str | None:
        """Return the group's own copy of an array elsewhere, as it has one where it was written again.

        It is not read to tell. Such an array has the name that the other one is, or would be, attached
        by, its dimensions and its attributes; an array of the group names it; and it is a copy of
        one array alone.
        """
        source = coordinate.source
        if not isinstance(source, Stored) or source.node.group == self._reading.node:
            return None
        longer = f"{source.node.group.path}/{coordinate.name}".replace("/", "_")
        for name in (coordinate.name, longer):
            if name in self._referring and self._is_copy(name, source):
                self._copies.add(name)
                return name
        return None

    def _is_copy(self, name: str, source: Stored) -> bool:
        """Tell whether an array of the group is described as another one, and no other's copy."""
        own = self._variables.get(name)
        if own is None or not own.is_own or name in self._copies:
            return False
        if own.sizes != self._maker.sizes(source):
            return False
        told = self._own_attributes(source)
        kept = (key for key in told if key not in DECODED_BY and key not in REFERRING)
        return all(key in own.own and own.own[key] == told[key] for key in kept)

    @cached_property
    def _referring(self) -> Mapping[str, list[ArrayReading]]:
        """The arrays of the group whose CF attributes hold each name."""
        found = defaultdict(list)
        for array in self._reading.arrays:
            for name in referred_names(array.document.attributes):
                found[name].append(array)
        return found

    def _take_name(self, coordinate: Coordinate, referrer: Node, beside: str = "") -> str:
        source = coordinate.source
        origin = source.node.group if isinstance(source, Stored) else referrer.group
        is_beyond = self._budget.leaves_out(source)

        def can_be(name: str) -> bool:
            if source.dims == (name,):
                return self._is_free(name) and not is_beyond
            return self._is_free(name) and name not in self._dimensions

        name = self._free_names.first(coordinate.name, origin.path, can_be)
        rival = None
        if name != coordinate.name:
            finding = self._renaming(coordinate, name, referrer, is_beyond=is_beyond)
            if beside and not is_beyond:
                rival = Rival(beside, finding)
            else:
                self._findings.append(finding)
        sizes = self._maker.sizes(source)
        names = self._fitting_names(sizes, name, origin, referrer)
        dims = tuple(names.get(dim, dim) for dim in source.dims)
        sizes = {names.get(dim, dim): size for dim, size in sizes.items()}
        variable = _Variable(source, dims, sizes, self._own_attributes(source))
        self._variables[name] = variable
        variable.referrer, variable.rival = referrer, rival
        self._dimensions.add(sizes)
        return name

    def _renaming(
        self, coordinate: Coordinate, name: str, referrer: Node, *, is_beyond: bool
    ) -> Finding:
        """Return the finding of a coordinate that could not have its name."""
        if is_beyond and coordinate.source.dims == (coordinate.name,):
            message = _(
                "Array {array}: its coordinate {wanted!r} of length {length} is called {name!r} and "
                "has no index, because the open would have to read too much for one"
            )
        else:
            message = _(
                "Array {array}: its coordinate {wanted!r} is called {name!r}, because {wanted!r} is "
                "something else here or cannot be a name"
            )
        (length, *_others) = (*self._maker.sizes(coordinate.source).values(), 1)
        text = message.format(array=referrer, wanted=coordinate.name, name=name, length=length)
        return noted(Kind.NAME, text, referrer)

    def _own_attributes(self, source: Source) -> Mapping[str, Any]:
        if isinstance(source, Given):
            attributes: Mapping[str, Any] = source.variable.attrs
            return attributes
        return self._maker.attributes(source.node) if isinstance(source, Stored) else {}

    # Dimensions.

    def _takes(self, name: str, sizes: Mapping[str, int]) -> bool:
        """Give a variable other dimensions, if these fit those of the others.

        Not if others have it as a coordinate along those that it has.
        """
        variable = self._variables[name]
        self._dimensions.remove(variable.sizes)
        fits = all(self._dimensions.can_have(dim, size) for dim, size in sizes.items())
        can_take = fits and not self._is_needed(name)
        self._dimensions.add(sizes if can_take else variable.sizes)
        return can_take

    def _is_needed(self, name: str) -> bool:
        """Tell whether data have a variable as a coordinate, which is not counted any more.

        They have its dimensions, and name it unless it is called as its dimension. Coordinates that
        name each other do not count.
        """
        variable = self._variables[name]
        if variable.dims == (name,):
            return name in self._dimensions
        names = (it.node.name for it in self._referring.get(name, ()))
        data = (self._variables[it] for it in names if it not in self._referring)
        return any(variable.sizes.keys() <= it.sizes.keys() for it in data)

    def _is_free(self, name: str) -> bool:
        # xarray's trees take no name with a slash.
        is_taken = name in self._variables or name in self._reading.groups
        return "/" not in name and not is_taken

    def _is_free_for_scalar(self, name: str) -> bool:
        return self._is_free(name) and name not in self._dimensions

    def _fitting_names(
        self, sizes: Mapping[str, int], name: str, origin: Node, referrer: Node
    ) -> dict[str, str]:
        """Return other names for the dimensions that have another size in the group."""
        names = {
            dim: self._other_dimension(dim, size, name, origin)
            for dim, size in sizes.items()
            if not self._can_have(dim, size)
        }
        if not names:
            return names
        changes = ", ".join(f"{old!r} -> {new!r}" for old, new in names.items())
        message = _(
            "Array {array}: dimensions of its coordinate {name!r} have another size here, and "
            "were renamed {renamed}"
        ).format(array=referrer, name=name, renamed=changes)
        self._findings.append(noted(Kind.DIMENSION, message, referrer))
        return names

    def _other_dimension(self, dim: str, size: int, name: str, origin: Node) -> str:
        """Return a free name for a dimension, the same for all arrays of its group that have it."""
        key = (origin, dim, size)
        if key not in self._renamed:
            self._renamed[key] = self._free_dimension(f"{dim}_{name}", size)
        return self._renamed[key]

    def _free_dimension(self, wanted: str, size: int) -> str:
        return self._free_names.first(
            wanted,
            "",
            lambda other: self._can_have(other, size) and other not in self._variables,
        )

    def _can_have(self, dim: str, size: int) -> bool:
        """Tell whether a dimension of this name and size fits among what there is."""
        if dim in self._variables and not self._variables[dim].sizes:
            return False  # xarray refuses a dimension that is called as a scalar
        return self._dimensions.can_have(dim, size)

    # Grid mappings.

    def _attach_grid_mappings(self) -> None:
        """Attach the CRS of each array that is no coordinate."""
        known: dict[Interpretation, str] = {}
        for array in self._reading.arrays:
            name, interpretation = array.node.name, array.interpretation
            mapping, variable = interpretation.grid_mapping, self._variables[array.node.name]
            if mapping is None or self._is_coordinate(name):
                continue
            if interpretation in known and variable.attribute("grid_mapping") is None:
                variable.add({"grid_mapping": known[interpretation]})
                continue
            with self._telling(array):
                attached = self._add_grid_mapping(variable, mapping, array.node)
                if attached is not None:
                    known[interpretation] = attached

    def _is_coordinate(self, name: str) -> bool:
        """Tell whether a variable is a coordinate, also if only another array says so."""
        if name in self._coordinates or self._variables[name].dims == (name,):
            return True
        return name in self._named_coordinates and name not in self._first_class

    @cached_property
    def _named_coordinates(self) -> frozenset[str]:
        """The names in ``coordinates`` and ``bounds`` of the group's arrays."""
        attributes = [array.document.attributes for array in self._reading.arrays]
        keys = ("coordinates", "bounds")
        return frozenset(name for it in attributes for key in keys for name in names_in(it, key))

    def _add_grid_mapping(
        self, array: _Variable, mapping: GridMapping, referrer: Node
    ) -> str | None:
        """Name an array's CRS by its ``grid_mapping``, in a scalar coordinate.

        An array of the group that serves as such is completed, never doubled. None if there is
        one that says something else.
        """
        named = array.attribute("grid_mapping")
        if not (isinstance(named, str) and named.isidentifier()):
            named = None
        if named is not None and self._is_no_grid_mapping(named):
            return None  # it names something else: not ours to change
        name = named or self._grid_mapping_name(mapping)
        self._make_grid_mapping(name, mapping)
        array.add({"grid_mapping": name})
        return name if self._completed(name, mapping, referrer) else None

    def _make_grid_mapping(self, name: str, mapping: GridMapping) -> None:
        """Make a scalar coordinate that stands for a CRS, unless there is one of that name."""
        if name not in self._variables:
            variable = _Variable(Literal(np.array(0, np.int64), ()), (), {}, {})
            variable.identity = ("crs", mapping.crs.text)
            self._variables[name] = variable
        if name not in self._crs:
            self._crs[name] = mapping
            self._alike[likeness(mapping.crs), mapping.geotransform].append(name)
        self._coordinates.add(name)

    def _attach_located(self) -> None:
        """Name the CRS of geolocation arrays by their ``grid_mapping``, never as that of the grid."""
        for name, (crs, referrer) in self._located.items():
            mapping = GridMapping(crs)
            chosen = self._located_name(self._variables[name], mapping)
            self._make_grid_mapping(chosen, mapping)
            self._completed(chosen, mapping, referrer)
            self._variables[name].add({"grid_mapping": chosen})

    def _located_name(self, located: _Variable, mapping: GridMapping) -> str:
        """Return the variable that a geolocation array names, or one of its CRS, or a new name."""
        named = located.attribute("grid_mapping")
        if isinstance(named, str) and named.isidentifier() and not self._is_no_grid_mapping(named):
            return named
        same = self._same_grid_mapping(mapping)
        if same is not None:
            return same
        wanted = mapping.crs.variable_name or "crs"
        if self._is_grid_mapping(wanted) and self._conflict(wanted, mapping) is None:
            return wanted
        return self._free_names.first(wanted, "", self._is_free_for_scalar)

    def _is_grid_mapping(self, name: str) -> bool:
        """Tell whether the group has a scalar array of a name that stands for a CRS."""
        there = self._variables.get(name)
        if there is None or not there.is_own or there.sizes:
            return False
        return not {"grid_mapping_name", "crs_wkt", "spatial_ref"}.isdisjoint(there.own)

    def _completed(self, name: str, mapping: GridMapping, referrer: Node) -> bool:
        """Complete a grid mapping variable, unless it is of another CRS: then that is told."""
        conflict = self._conflict(name, mapping)
        if conflict is not None:
            message = _(
                "the CRS ({key}) is another one than that of {name!r} ({conflict}), which was left "
                "as it is"
            )
            text = message.format(key=mapping.crs.key, name=name, conflict=conflict)
            self._findings.append(noted(Kind.CHOICE, text, referrer))
            return False
        given = self._variables[name]
        given.add(mapping.crs.grid_mapping())
        if mapping.geotransform is not None:
            given.add({"GeoTransform": mapping.geotransform})
        return True

    def _is_no_grid_mapping(self, name: str) -> bool:
        """Tell whether a name is that of something that cannot stand for a CRS: no scalar."""
        is_variable = name in self._variables and bool(self._variables[name].sizes)
        return name in self._reading.groups or is_variable or name in self._dimensions

    def _conflict(self, name: str, mapping: GridMapping) -> str | None:
        """Return what of an existing grid mapping variable is of another CRS."""
        variable = self._variables[name]
        for key in ("crs_wkt", "spatial_ref"):
            given = variable.attribute(key)
            if isinstance(given, str) and Crs(key, given).differs(mapping.crs):
                return key
        return conflicting_grid_mapping(
            {**variable.added, **variable.own}, mapping.crs.grid_mapping()
        )

    def _grid_mapping_name(self, mapping: GridMapping) -> str:
        """Return the variable of the same CRS and grid, or a name for one."""
        same = self._same_grid_mapping(mapping)
        if same is not None:
            return same
        if not self._is_no_grid_mapping(SPATIAL_REF):
            there = self._variables.get(SPATIAL_REF)
            # What the data carry stands; what was made for another array is another one.
            if there is None or (there.is_own and not self._is_of_others(mapping)):
                return SPATIAL_REF
        wanted = mapping.crs.variable_name or SPATIAL_REF
        return self._free_names.first(wanted, "", self._is_free_for_scalar)

    def _same_grid_mapping(self, mapping: GridMapping) -> str | None:
        """Return the variable of the same CRS and grid, if there is one."""
        alike = self._alike[likeness(mapping.crs), mapping.geotransform]
        return next((name for name in alike if self._crs[name].crs.is_same(mapping.crs)), None)

    def _is_of_others(self, mapping: GridMapping) -> bool:
        """Tell whether the group's ``spatial_ref`` is another CRS, and that of arrays that name it."""
        return self._is_spatial_ref_named and self._conflict(SPATIAL_REF, mapping) is not None

    @cached_property
    def _is_spatial_ref_named(self) -> bool:
        attributes = (array.document.attributes for array in self._reading.arrays)
        return any(SPATIAL_REF in mappings_in(it) for it in attributes)
