"""One name for each variable of a group: the same thing reached twice is one, two never share one.

Pure: a reading becomes a plan. Arrays with other coordinate values along a dimension get another one. Then the
arrays are gone through in the order of their names, and what each says of coordinates is added to planned
variables: what is said first counts. CRSs come last (`grid_mappings`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from zarr_xgroup.conventions.array import CONVENTIONS_KEY
from zarr_xgroup.conventions.crs import Crs
from zarr_xgroup.conventions.model import Coordinate, Interpretation, Link
from zarr_xgroup.datasets.grid_mappings import attach_grid_mappings
from zarr_xgroup.datasets.interpretation import ArrayReading, GroupReading
from zarr_xgroup.datasets.plan import GroupPlan, PlannedVariable, UsedNames
from zarr_xgroup.errors import XGroupError, XGroupMetadataError, containing
from zarr_xgroup.findings import Finding, Topic, coordinate_named, report
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import (
    BOUNDARIES,
    DECODED_BY,
    LATITUDES,
    LONGITUDES,
    names_in,
    only_mapping,
    with_names,
)
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.variables.functions import RotatedCentres
from zarr_xgroup.variables.sources import Computed, HandlerVariable, Offset, Source, Stored

if TYPE_CHECKING:
    from zarr_xgroup.variables.making import Maker

#: What a coordinate is to the array that refers to it.
Role: TypeAlias = Literal["coordinate", "bounds", "other"]

#: What follows from units of longitudes and latitudes.
_BY_UNITS: Mapping[str, Mapping[str, str]] = {
    **{units: {"standard_name": "longitude"} for units in LONGITUDES},
    **{units: {"standard_name": "latitude"} for units in LATITUDES},
}


def plan_groups(
    readings: Iterable[GroupReading], maker: Maker, *, with_indexes: bool = False
) -> list[GroupPlan]:
    """Return what the Datasets of groups will hold.

    Groups that are alike, and of which nothing was found, share all variables that are not their own.
    """
    plans: list[GroupPlan] = []
    known: dict[Hashable, tuple[GroupPlan, frozenset[Node]]] = {}
    for reading in readings:
        key = _likeness_of(reading, maker)
        like, referred = known.get(key, (None, frozenset()))
        if like is not None and reading.node not in referred and not reading.findings:
            plans.append(_plan_like(like, reading))
            continue
        plan = plan_group(reading, maker, with_indexes=with_indexes)
        plans.append(plan)
        if like is None and not plan.findings and not reading.times:
            # An array of the group itself is something else to it than to others.
            said = dict.fromkeys(array.interpretation for array in reading.arrays)
            coordinates = [it for array in reading.arrays for it in array.inherited.coordinates]
            coordinates += (coordinate for it in said for coordinate in it.coordinates)
            coordinates += (link.coordinate for it in said for link in it.links)
            referred = frozenset(node.group for node in _nodes_of(coordinates))
            if reading.node not in referred:
                known[key] = plan, referred
    return plans


def _likeness_of(reading: GroupReading, maker: Maker) -> Hashable:
    """Return all that the plan of a group follows from, but for where the group is."""
    arrays = (
        (
            *(array.node.name, array.document.written(), array.dims, array.template),
            *(array.interpretation, array.conventions, array.is_first_class, id(array.inherited)),
        )
        for array in reading.arrays
    )
    named = maker.attributes(reading.node).text("coordinates")
    times = repr((reading.bounds_of_dropped, reading.times))
    return tuple(arrays), reading.groups, named, times


def _nodes_of(coordinates: Iterable[Coordinate]) -> Iterator[Node]:
    """Yield the arrays that coordinates are, or are computed of, with all that they refer to."""
    for coordinate in coordinates:
        for part in coordinate.parts():
            source = part.source.values if isinstance(part.source, Offset) else part.source
            if isinstance(source, Stored):
                yield source.node
            elif isinstance(source, Computed):
                yield from (packed.node for packed in source.arrays)
            yield from _nodes_of(link.coordinate for link in part.links)


def _plan_like(plan: GroupPlan, reading: GroupReading) -> GroupPlan:
    """Return the plan of a group that is like another one, with its own arrays."""
    arrays = {array.node.name: array for array in reading.arrays}
    variables = []
    for variable in plan.variables:
        if variable.is_own:
            array = arrays[variable.name]
            source, identity = Stored(array.node, variable.dims), variable.identity
            if isinstance(identity, tuple):  # it stands in the place of another one
                identity = (source, *identity[1:])
            variable = msgspec.structs.replace(
                variable, source=source, own=array.document.attributes, identity=identity
            )
        variables.append(variable)
    return GroupPlan(reading, tuple(variables), ())


def plan_group(reading: GroupReading, maker: Maker, *, with_indexes: bool) -> GroupPlan:
    """Return what the Dataset of a group will hold.

    What is too long to be read for an index must not be called as its dimension, lest xarray read it.
    """
    naming = GroupNaming(reading, maker, with_indexes=with_indexes)
    for array in naming.arrays:
        naming.attach_to(array)
    for name, attributes in reading.times.items():
        naming.attach_times(name, attributes)
    for array in naming.arrays:
        if array.conventions:
            naming.name_only_mapping(array)
    attach_grid_mappings(naming)
    naming.settle_times()
    said = (finding for array in naming.arrays for finding in array.interpretation.findings)
    findings = (*reading.findings, *naming.findings, *said)
    return GroupPlan(reading, tuple(naming.variables.values()), findings)


class GroupNaming:
    """The variables of one group while they are planned: its own arrays, then what these refer to."""

    def __init__(self, reading: GroupReading, maker: Maker, *, with_indexes: bool) -> None:
        self.reading, self.maker, self._with_indexes = reading, maker, with_indexes
        self.findings: list[Finding] = []
        self.names = _names_of(reading.groups, reading.arrays)
        self.arrays = self._along_own_dimensions(_without_grids_of_others(reading, maker))
        if (
            self.findings
        ):  # nothing may lie along a dimension any more that others got another one for
            self.names = _names_of(reading.groups, self.arrays)
        self._readings = {array.node.name: array for array in self.arrays}
        #: By name.
        self.variables: dict[str, PlannedVariable] = {
            name: PlannedVariable(
                name,
                Stored(array.node, array.dims),
                array.dims,
                array.document.attributes,
                is_own=True,
            )
            for name, array in self._readings.items()
        }
        # Arrays that stay data though others refer to them: they follow a principal convention. One that is
        # only assumed makes no data of what is declared to be a coordinate.
        said = dict.fromkeys(array.interpretation for array in self.arrays)
        sources = (coordinate.source for it in said for coordinate in it.coordinates)
        declared = {source.node for source in sources if isinstance(source, Stored)}
        self.data = frozenset(
            name
            for name, array in self._readings.items()
            if array.is_first_class or (array.has_principal and array.node not in declared)
        )
        #: The CRSs of coordinates that are in another one than the grid, with the arrays that say so.
        self.located: dict[str, tuple[Crs, Node]] = {}
        #: The names of variables by what they are.
        self._known: dict[Hashable, str] = {}
        self._wanted_names = set(self.variables)
        self._attached: dict[Interpretation, list[str]] = {}
        self._linked: dict[Interpretation, list[tuple[Link, str]]] = {}
        self._paths: defaultdict[tuple[str, str], dict[str, str]] = defaultdict(dict)
        self._stood_for: dict[str, Node] = {}
        self._new_dims: dict[tuple[Node, str, int], str] = {}

    def attach_to(self, array: ArrayReading) -> None:
        """Attach all that an array refers to, and name it in the array's attributes."""
        said, referrer = array.interpretation, array.node
        variable = self.variables[referrer.name]
        variable.add(said.attributes)

        # 1. What conventions say of it: once for all arrays of which they say the same.
        if said not in self._attached:
            attached = self._attached[said] = []
            for coordinate in said.coordinates:
                name = self._try_to_attach(coordinate, referrer)
                if name:
                    attached.append(name)
                    crs = coordinate.crs or said.crs
                    self._add_standard_name(name, crs, is_its=coordinate.crs is not None)
            self._linked[said] = self._attach_links(said.links, referrer)
        names = dict.fromkeys(self._attached[said])
        self._name_links(variable, self._linked[said], referrer)

        # 2. cf_xarray takes from a Dataset with a variable what its ``coordinates`` name. Dimension
        #    coordinates need no naming (CF 1.12, section 5).
        if names and not variable.has("coordinates"):
            dims = set(variable.dims)
            others = (name for name in names if name != variable.name and name not in dims)
            fitting = (name for name in others if dims.issuperset(self.variables[name].dims))
            variable.coordinates = tuple(fitting)

        # 3. The coordinates of dimensions of groups above, unless a convention says what is called so.
        for coordinate in array.inherited.coordinates:
            if coordinate.name not in self._wanted_names or coordinate.identity in self._known:
                name = self._try_to_attach(coordinate, referrer)
                if name:
                    names[name] = None
        for name in names:
            self.variables[name].users.append(variable.name)

    def attach_times(self, name: str, attributes: Mapping[str, Any]) -> None:
        """Say of an array of the group that it is times, as it is to all arrays of a tree."""
        variable = self.variables[name]
        if variable.get("units") is None:
            self.attach(Coordinate(name, variable.source, attributes), self.reading.node)
            self._add_standard_name(name, None)

    def attach(self, coordinate: Coordinate, referrer: Node, role: Role = "coordinate") -> str:
        """Attach a coordinate with all that belongs to it, and return the name of its variable.

        Raises
        ------
        XGroupMetadataError
            If it cannot be opened.
        """
        bounds = coordinate.bounds
        stands = self._own_that_stands(coordinate, role)
        # 1. What the group has itself stands. Boundaries are added to it if they are an array: numbers are
        #    those of the values that are declared.
        if stands:
            variable = self.variables[stands]
            variable.identity = variable.identity or variable.source
            declared = (coordinate.source, referrer.name)
            variable.stood_against.setdefault(coordinate.identity, declared)
            is_bounded = variable.get("bounds") is not None
            if is_bounded or not (bounds and isinstance(bounds.source, Stored)):
                bounds = None
        # 2. The same thing is one variable: one of the group's arrays, or a new one.
        else:
            identity = self._identity_of(coordinate)
            if identity not in self._known:
                name = self._own_array(coordinate, identity, role)
                name = name or self._new_variable(coordinate, referrer)
                self.variables[name].identity = identity
                self._known[identity] = name
                self._known.setdefault(coordinate.identity, name)
            variable = self.variables[self._known[identity]]
            if coordinate.crs is not None:
                self.located.setdefault(variable.name, (coordinate.crs, referrer))
        if stands or variable.name not in self.data:
            variable.is_coordinate = True

        # 3. What belongs to it comes along; what the group's own arrays name themselves, they have said.
        attributes = dict(coordinate.attributes)
        if bounds and (name := self._try_to_attach(bounds, referrer, "bounds")):
            attributes["bounds"] = name
        terms = [
            f"{term}: {name}"
            for term, part in coordinate.formula_terms.items()
            if (name := self._try_to_attach(part, referrer, "other"))
        ]
        if terms:
            attributes["formula_terms"] = " ".join(terms)
        variable.add(attributes)
        if not variable.is_own and coordinate.links:
            linked = self._attach_links(coordinate.links, referrer)
            self._name_links(variable, linked, referrer)
        return variable.name

    def name_only_mapping(self, array: ArrayReading) -> None:
        """Name the only CRS of an array alone: tools do not read ``crs: x y``.

        The coordinates that it names are some, as by xarray's ``decode_coords="all"``.
        """
        variable = self.variables[array.node.name]
        written = {"grid_mapping": variable.get("grid_mapping")}
        mapping = only_mapping(written)
        if mapping not in self.variables or written["grid_mapping"] == mapping:
            return
        if not self.variables[mapping].dims:
            variable.rewritten["grid_mapping"] = mapping
            for name in names_in(written, "grid_mapping"):
                if name in self.variables and name not in self.data:
                    self.variables[name].is_coordinate = True

    def settle_times(self) -> None:
        """Say of each variable whether xarray decodes it as times, and by what it is told apart.

        It decodes boundaries without units by those of the times: of its own accord where the group has both.
        """
        times: dict[str, bool] = {}  # whether units are not their own
        for name, attributes in self.reading.bounds_of_dropped.items():
            variable = self.variables.get(name)
            if variable is not None and variable.get("units") is None:
                times[name] = False
            if variable is not None and variable.is_own:
                variable.of_times = attributes
        for name, variable in self.variables.items():
            if "since" in str(variable.get("units")):
                is_declared = "units" not in variable.own
                times.setdefault(name, is_declared)
                bounds = self.variables.get(str(variable.get("bounds")))
                if bounds is not None and bounds.get("units") is None:
                    is_found = variable.is_own and bounds.is_own
                    times.setdefault(bounds.name, is_declared or not is_found)
        for name, variable in self.variables.items():
            variable.is_time = name in times
            # Numbers are something else to other groups in another unit.
            added = [
                (key, variable.attributes[key]) for key in DECODED_BY & variable.attributes.keys()
            ]
            variable.has_declared_decoding = times.get(name, False) or bool(added)
            if variable.identity is not None:
                plain = (pair for pair in sorted(added) if isinstance(pair[1], str | int | float))
                variable.identity = (variable.identity, *plain)

    def _own_that_stands(self, coordinate: Coordinate, role: Role) -> str:
        """Return the group's own array that stands in the place of a coordinate, "" if none does.

        Of what is named that is only said of coordinates: boundaries, terms and ancillary arrays are those that
        are named. Numbers name nothing.
        """
        name, source = coordinate.name, coordinate.source
        own = self.variables.get(name)
        if own is None or not own.is_own:
            return ""
        if not isinstance(source, Stored):
            return name if self._stands(own, source, role) else ""
        if role != "coordinate" or source.node == own.stored:
            return ""
        # Of two that are called alike the second one would be attached by the longer name.
        for called in (name, f"{source.node.group.path}/{name}".replace("/", "_")):
            own = self.variables.get(called)
            if own is not None and own.is_own and self._stands(own, source, role):
                first = self._stood_for.setdefault(called, source.node)
                if first == source.node or own.dims == (called,):
                    return called
        return ""

    def _stands(self, own: PlannedVariable, source: Source, role: Role) -> bool:
        """Tell whether an own array stands in the place of what would be called so."""
        sizes, meant = self.maker.sizes(own.source), self.maker.sizes(source)
        # 1. A dimension's own coordinate, whatever is declared; but no array of another length.
        if own.dims == source.dims == (own.name,):
            return sizes == meant or not isinstance(source, Stored | HandlerVariable)
        # 2. What declares a principal convention itself is data, and what a third party gives is no declaration.
        array = self._readings[own.name]
        is_data = array.is_first_class and CONVENTIONS_KEY in array.document.attributes
        if is_data or isinstance(source, HandlerVariable):
            return False
        # 3. Other coordinates, along the same dimensions and as long; boundaries, whatever their side is called.
        if role == "bounds":
            is_as_long = [*sizes.values()] == [*meant.values()]
            return is_as_long and own.dims[:-1] == source.dims[:-1]
        return sizes == meant

    def _own_array(self, coordinate: Coordinate, identity: Hashable, role: Role) -> str:
        """Return the array of the group that a coordinate is, "" if it has to be another variable."""
        source = coordinate.source
        if not isinstance(source, Stored):
            return ""
        own = self.variables.get(source.node.name)
        if own is None or not own.is_own or own.stored != source.node:
            return ""
        # 1. What is declared to be other times than before is something else.
        if "units" in own.attributes:
            before = self._identity_of(replace(coordinate, attributes=own.attributes))
            if identity not in (coordinate.identity, before):
                return ""
        if own.name not in self.data:
            # 2. What another array refers to is a coordinate, also if a part of it is meant.
            own.is_coordinate = True
            # 3. A coordinate of a dimension has to be called as it.
            if source.dims == (coordinate.name,) != (own.name,):
                return ""
        # 4. It stays as it lies, and own boundaries serve whatever their side is called.
        lies, meant = own.dims, source.dims
        if role == "bounds" and len(lies) == len(meant):
            lies, meant = lies[:-1], meant[:-1]
        is_as_it_lies = lies == meant or len(set(lies)) < len(lies)  # two that are called alike
        return own.name if source.is_whole and is_as_it_lies else ""

    def _new_variable(self, coordinate: Coordinate, referrer: Node) -> str:
        """Add a variable for what the group does not have itself, and return the best name that is free."""
        source, wanted = coordinate.source, coordinate.name
        reason = self._error_of(source)
        if reason is not None:
            message = _("{node} cannot be opened: {reason}")
            node = source.node if isinstance(source, Stored) else wanted
            raise XGroupMetadataError(message.format(node=node, reason=reason))
        # 1. What it is unpacked from is left out, if it is called so.
        packed = source.arrays if isinstance(source, Computed) else ()
        own = self.variables.get(wanted)
        can_be_called_so = source.dims == (wanted,) or not self.names.is_dimension(wanted)
        if own and can_be_called_so and any(it.node == own.stored for it in packed):
            del self.variables[wanted]
            self.names.remove(wanted)
        # 2. The arrays of the group keep their names, all else is named in the order of reference.
        sizes = self.maker.sizes(source)
        origin = (source.node if isinstance(source, Stored) else referrer).group
        is_beyond = source.dims == (wanted,) and self._is_unindexed(source)

        def can_be(name: str) -> bool:
            if source.dims == (name,):
                return self.names.is_free(name) and not is_beyond
            return self.names.is_free_for_others(name)

        name = self.names.first_free(wanted, origin.path, can_be)
        if name != wanted:
            message = _(
                "its coordinate {wanted!r} is called {name!r}, because {wanted!r} is "
                "something else here or cannot be a name"
            )
            if is_beyond:
                message = _(
                    "its coordinate {wanted!r} of length {length} is called {name!r} and "
                    "has no index, because the open would have to read too much for one"
                )
            length = next(iter(sizes.values()), 1)
            text = message.format(wanted=wanted, name=name, length=length)
            self.findings.append(report(Topic.NAME, referrer, text))
        # 3. Dimensions that have another size in the group are renamed, the same of one group alike.
        renamed = {}
        for dim, size in sizes.items():
            if not self.names.can_be_dimension(dim, size):
                key = (origin, dim, size)
                if key not in self._new_dims:
                    self._new_dims[key] = self.names.new_dimension(f"{dim}_{name}", size)
                renamed[dim] = self._new_dims[key]
        if renamed:
            message = _(
                "dimensions of its coordinate {name!r} have another size here, and "
                "were renamed {renamed}"
            )
            text = message.format(name=name, renamed=_changes(renamed))
            self.findings.append(report(Topic.DIMENSION, referrer, text))
        self.names.add(name, {renamed.get(dim, dim): size for dim, size in sizes.items()})
        own_attributes: Mapping[str, Any] = {}
        if isinstance(source, HandlerVariable):
            own_attributes = source.variable.attrs
        elif isinstance(source, Stored):
            own_attributes = self.maker.attributes(source.node)
        dims = tuple(renamed.get(dim, dim) for dim in source.dims)
        self.variables[name] = PlannedVariable(
            name, source, dims, own_attributes, is_coordinate=True, referrer=referrer.name
        )
        self._wanted_names.add(wanted)
        return name

    def _try_to_attach(
        self, coordinate: Coordinate, referrer: Node, role: Role = "coordinate"
    ) -> str:
        """Attach a coordinate and return its name; "" if it cannot be, which is told."""
        try:
            with containing():
                return self.attach(coordinate, referrer, role)
        except XGroupError as error:
            lost = coordinate_named(coordinate.name)
            self.findings.append(report(Topic.PROBLEM, referrer, error, cost=lost))
        return ""

    def _attach_links(self, links: Iterable[Link], referrer: Node) -> list[tuple[Link, str]]:
        """Attach what CF attributes refer to, and return the links with the names it got."""
        found = []
        for link in links:
            role: Role = "coordinate" if link.attribute == "coordinates" else "other"
            role = "bounds" if link.attribute in BOUNDARIES else role
            name = self._try_to_attach(link.coordinate, referrer, role)
            if name:
                found.append((link, name))
        return found

    def _name_links(
        self, variable: PlannedVariable, linked: Iterable[tuple[Link, str]], referrer: Node
    ) -> None:
        """Name in a variable's CF attributes what was attached for them."""
        for link, name in linked:
            self._paths[variable.name, link.attribute][link.path] = name
            self.variables[name].users.append(referrer.name)
        for key in {link.attribute for link, _name in linked}:
            if key in variable.own:
                paths = self._paths[variable.name, key]
                variable.rewritten[key] = with_names(key, variable.own[key], paths)

    def _add_standard_name(self, name: str, crs: Crs | None, *, is_its: bool = False) -> None:
        """Add the standard name that follows from the units of a coordinate.

        Axes of a CRS that is not geographic are no longitudes, whatever their units are: those of a
        rotated pole are written so by mistake. Neither are 2-D arrays whose own CRS (`is_its`) is such.
        """
        variable = self.variables[name]
        units, is_axis = str(variable.get("units")), variable.dims in ((), (name,))
        if " since " in units:
            axis = variable.get("axis")
            if axis == "T" or (axis is None and is_axis):
                variable.add({"standard_name": "time"})
        elif crs is None or crs.is_geographic or not (is_axis or is_its):
            variable.add(_BY_UNITS.get(units, {}))

    def _identity_of(self, coordinate: Coordinate) -> Hashable:
        """Return what a coordinate is: numbers are something else for each time they count from.

        Where an array says itself in what unit it is, that counts and not what is declared.
        """
        source, units = coordinate.source, str(coordinate.attributes.get("units"))
        if not isinstance(source, Stored) or "since" not in units:
            return coordinate.identity
        if "units" in self.maker.attributes(source.node):
            return coordinate.identity
        return source, units, str(coordinate.attributes.get("calendar"))

    def _error_of(self, source: Source) -> XGroupMetadataError | None:
        """Return why the array that a coordinate is cannot be opened, None if it can."""
        try:
            self.maker.sizes(source)
        except XGroupMetadataError as error:
            return error
        return None

    def _is_unindexed(self, source: Source) -> bool:
        """Tell whether what is read from a source must not be called as its dimension."""
        return self._with_indexes and self.maker.is_too_long(source)

    # Dimensions of which arrays have other coordinate values.

    def _along_own_dimensions(self, arrays: Iterable[ArrayReading]) -> list[ArrayReading]:
        """Return arrays along dimensions of which each has one coordinate."""
        first: dict[str, Hashable] = {}  # what says first where the cells along a dimension are
        others: dict[tuple[str, Hashable], str] = {}
        new_names: dict[Interpretation, dict[str, str]] = {}
        renamed: dict[Interpretation, Interpretation] = {}
        moved = []
        for array in arrays:
            said = array.interpretation
            brought = list(array.inherited.coordinates)
            if said not in new_names:
                names = new_names[said] = self._other_dimensions(array, first, others)
                found = (*said.coordinates, *(link.coordinate for link in said.links))
                brought = [part for it in found for part in it.renamed(names).parts()] + brought
            # What else comes along has the dimension that it is called as, if nothing had it before.
            for coordinate in brought:
                if coordinate.name not in first and self._can_be_index(coordinate):
                    first[coordinate.name] = self._identity_of(coordinate)
            names = new_names[said]
            if names:
                if said not in renamed:
                    coordinates = tuple(it.renamed(names) for it in said.coordinates)
                    renamed[said] = replace(said, coordinates=coordinates)
                dims = tuple(names.get(dim, dim) for dim in array.dims)
                array = replace(array, dims=dims, interpretation=renamed[said])
                message = _(
                    "other arrays of the group have other coordinate values along its "
                    "dimensions; renamed {renamed}"
                ).format(renamed=_changes(names))
                self.findings.append(report(Topic.DIMENSION, array.node, message))
            moved.append(array)
        return moved

    def _other_dimensions(
        self,
        array: ArrayReading,
        first: dict[str, Hashable],
        others: dict[tuple[str, Hashable], str],
    ) -> dict[str, str]:
        """Return new names for dimensions that have other coordinate values for arrays before."""
        own = {it.node.name for it in self.reading.arrays}
        names, own_first, sizes = {}, dict[str, Hashable](), _sizes_of(array)
        for dim, cells, coordinate in self._cells_along(array):
            # 1. An array of the group that is called as the dimension stands: there is nothing to divide.
            if dim in own:
                continue
            # 2. The first array that says where its cells are has the dimension, as it says it first.
            #    If the length of its coordinate differs, no array gets this dimension's coordinate.
            if dim not in first and dim not in own_first:
                if coordinate is None:
                    own_first[dim] = cells
                elif self._can_be_index(coordinate):
                    fits = self.maker.sizes(coordinate.source)[dim] == sizes[dim]
                    own_first[dim] = cells if fits else None
            # 3. So have those that say the same, and all where nobody can have it.
            if first.get(dim) in (None, cells):
                continue
            # 4. Others share one with those that say the same as they.
            if (dim, cells) not in others:
                new = self.names.new_dimension(f"{dim}_{array.node.name}", sizes[dim])
                others[dim, cells] = new
            names[dim] = others[dim, cells]
        first |= own_first
        return names

    def _cells_along(
        self, array: ArrayReading
    ) -> Iterator[tuple[str, Hashable, Coordinate | None]]:
        """Yield dimensions of an array, what says where its cells are, and the coordinate that does.

        That is the coordinate of the dimension; of a rotated grid both 2-D ones, for either.
        """
        rotated = []
        for coordinate in array.interpretation.coordinates:
            source = coordinate.source
            if source.dims == (coordinate.name,) and coordinate.name in array.dims:
                yield coordinate.name, self._identity_of(coordinate), coordinate
            elif isinstance(source, Computed) and isinstance(source.function, RotatedCentres):
                rotated.append(coordinate)
        for dim in rotated[0].source.dims if rotated else ():
            yield dim, tuple(map(self._identity_of, rotated)), None

    def _can_be_index(self, coordinate: Coordinate) -> bool:
        """Tell whether a coordinate can be called as the one dimension that it lies along."""
        name, source = coordinate.name, coordinate.source
        if source.dims != (name,) or "/" in name or name in self.reading.groups:
            return False
        return not self._is_unindexed(source) and self._error_of(source) is None


def _without_grids_of_others(reading: GroupReading, maker: Maker) -> Iterator[ArrayReading]:
    """Yield the arrays of a group, those that are coordinates without a grid that no array of data has.

    An array of another group may have been attached, cut, and written with the group that it was a coordinate
    of. What that declares of its own grid is not said of it, and would give it the first cells.
    """
    attributes = [
        maker.attributes(reading.node),
        *(it.document.attributes for it in reading.arrays),
    ]
    named = {name for own in attributes for name in names_in(own, "coordinates")}
    data = {
        array
        for array in reading.arrays
        if array.node.name not in named or CONVENTIONS_KEY in array.document.attributes
    }
    sizes = {along for array in data for along in _sizes_of(array).items()}
    for array in reading.arrays:
        said = array.interpretation
        kept = tuple(it for it in said.coordinates if not isinstance(it.source, Computed))
        is_of_data = not data or array in data or sizes.issuperset(_sizes_of(array).items())
        if not is_of_data and len(kept) < len(said.coordinates):
            crs = said.crs if "grid_mapping" in array.document.attributes else None
            # Which choice was made for the grid is no matter to an open any more.
            findings = tuple(
                replace(it, topic=None) if it.topic is Topic.CHOICE else it for it in said.findings
            )
            said = replace(said, coordinates=kept, crs=crs, geotransform=None, findings=findings)
            array = replace(array, interpretation=said)
        yield array


def _names_of(groups: Collection[str], arrays: Iterable[ArrayReading]) -> UsedNames:
    """Return the names that groups and arrays have."""
    names = UsedNames(groups)
    for array in arrays:
        names.add(array.node.name, _sizes_of(array))
    return names


def _sizes_of(array: ArrayReading) -> dict[str, int]:
    """Return the sizes of an array's dimensions."""
    return dict(zip(array.dims, array.shape, strict=True))


def _changes(names: Mapping[str, str]) -> str:
    """Return old and new names in words."""
    return ", ".join(f"{old!r} -> {new!r}" for old, new in names.items())
