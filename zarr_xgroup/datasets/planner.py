"""Plan the variables of a group: its own arrays, then the coordinates and other arrays that these refer to.

Each declared coordinate is one `Declaration` and takes four steps (`GroupPlanner._attach`):

1. decide which variable it is (`own_arrays` answers whether it is an array of the group);
2. name a new variable and its dimensions (`names`);
3. add its attributes (`times` decides about units of time);
4. attach its bounds and formula terms, and the arrays that its CF attributes name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from zarr_xgroup.conventions.crs import Crs
from zarr_xgroup.conventions.handler_set import ArrayReading
from zarr_xgroup.conventions.model import Coordinate, Interpretation, Link
from zarr_xgroup.conventions.units import (
    is_bare_unit_of_time,
    is_epoch,
    unit_and_epoch,
    why_not_times,
)
from zarr_xgroup.datasets.interpretation import GroupReading
from zarr_xgroup.datasets.names import UsedNames
from zarr_xgroup.datasets.own_arrays import OwnArrays
from zarr_xgroup.datasets.plan import Declaration, PlannedVariable, Role
from zarr_xgroup.datasets.times import identity_of, is_time_axis, usable_attributes
from zarr_xgroup.errors import Severity, XGroupError, XGroupMetadataError, converting_errors
from zarr_xgroup.findings import Finding, Topic, coordinate_named, new_finding
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import BOUNDARIES, LATITUDES, LONGITUDES, names_by_key, with_names
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.variables.sources import Computed, HandlerVariable, Source, Stored, Unusable

if TYPE_CHECKING:
    from zarr_xgroup.variables.factory import VariableFactory

#: The attributes that follow from units of longitude and latitude.
_ATTRIBUTES_BY_UNITS: Mapping[str, Mapping[str, str]] = {
    **{units: {"standard_name": "longitude"} for units in LONGITUDES},
    **{units: {"standard_name": "latitude"} for units in LATITUDES},
}


class GroupPlanner:
    """Plans the variables of one group: its own arrays, then the coordinates and arrays that these refer to."""

    def __init__(
        self, reading: GroupReading, factory: VariableFactory, *, with_indexes: bool
    ) -> None:
        self.reading, self._factory, self._with_indexes = reading, factory, with_indexes
        self.findings: list[Finding] = []
        self.names = UsedNames(reading.groups, reading.arrays)
        #: The variables planned so far, by name.
        self.variables = {
            array.node.name: PlannedVariable(
                array.node.name,
                Stored(array.node, array.dims),
                array.dims,
                array.document.attributes,
                is_own=True,
            )
            for array in reading.arrays
        }
        self.own = OwnArrays(reading, self.variables, factory)
        #: The declared coordinates with their outcomes, in the order in which they were attached.
        self.declarations: list[Declaration] = []
        #: The attached coordinates and links of each interpretation, the links with the names of their variables.
        self.attached: dict[Interpretation, tuple[list[Declaration], list[tuple[Link, str]]]] = {}
        #: The names of variables by the identity of their coordinate.
        self._names_by_identity: dict[Hashable, str] = {}
        #: For each variable and CF attribute: the names of attached variables by their paths in the attribute.
        self._names_of_links: defaultdict[tuple[str, str], dict[str, str]] = defaultdict(dict)

    def attach_coordinates_of(self, array: ArrayReading) -> None:
        """Attach the coordinates and other arrays that an array refers to, and name them in its attributes."""
        interpretation, referrer = array.interpretation, array.node
        variable = self.variables[referrer.name]
        variable.add(interpretation.attributes)

        # 1. Coordinates and links by conventions, attached once for all arrays with the same interpretation.
        if interpretation not in self.attached:
            coordinates = self._attach_declared(interpretation, referrer)
            links = self._attach_links(interpretation.links, referrer)
            self.attached[interpretation] = coordinates, links
        declared, linked = self.attached[interpretation]
        self._name_links(variable, linked, referrer)

        # 2. Name them in ``coordinates``, which tools such as cf_xarray use. Dimension coordinates need not be named
        #    (CF 1.12, section 5).
        names = dict.fromkeys(each.variable for each in declared)
        if names and not variable.has("coordinates"):
            dims = set(variable.dims)
            variable.coordinates = tuple(
                name
                for name in names
                if name not in (variable.name, *dims) and dims.issuperset(self.variables[name].dims)
            )

        # 3. Coordinates of inherited dimensions, unless a convention declares one with the same name.
        for coordinate in array.inherited.coordinates:
            is_free = coordinate.name not in self.variables
            if is_free or coordinate.identity in self._names_by_identity:
                names[self._attach(Declaration(coordinate, referrer)).variable] = None
        names.pop("", None)
        for name in names:
            self.variables[name].users.append(variable.name)

    def declare_times(self, name: str, attributes: Mapping[str, Any]) -> None:
        """Add the units and calendar of times that all referring arrays in a tree declare for an array of the group."""
        variable = self.variables[name]
        units = variable.get("units")
        if units is None or is_bare_unit_of_time(units):
            coordinate = Coordinate(name, variable.source, attributes)
            self._attach(Declaration(coordinate, self.reading.node))
            self._add_standard_name(name, None)

    def remove_names_of_other_arrays(self) -> None:
        """Remove CF attributes of attached arrays that would name different arrays in this group.

        Names in attributes mean arrays of the group in which they are written, or those that links attached for them.
        """
        for variable in self.variables.values():
            node = variable.stored
            if node is None or node.group == self.reading.node:
                continue
            for key, name in [*names_by_key(variable.own_attributes)]:
                named = self.variables.get(name)
                is_linked = name in self._names_of_links.get((variable.name, key), ())
                if named is not None and not is_linked and named.stored != node.group.child(name):
                    variable.remove(key)

    def _attach_declared(self, interpretation: Interpretation, referrer: Node) -> list[Declaration]:
        """Attach the coordinates of an interpretation, and return those that have a variable."""
        attached = []
        replaced = set[str]()  # arrays of the group that take the place of an axis
        for coordinate in interpretation.coordinates:
            declared = Declaration(coordinate, referrer)
            if coordinate.axis in replaced:
                declared = self._of_replaced_axis(declared)
            if declared.outcome == "left out":
                continue
            declared = self._attach(declared)
            if not declared.variable:
                continue
            attached.append(declared)
            if declared.is_replaced:
                replaced.add(declared.variable)
            own_crs = coordinate.crs
            crs, is_own_crs = own_crs or interpretation.crs, own_crs is not None
            self._add_standard_name(declared.variable, crs, is_own_crs=is_own_crs)
        return attached

    def _of_replaced_axis(self, declared: Declaration) -> Declaration:
        """Return a coordinate of an axis whose place an array of the group takes: an array of the group, or left out."""
        coordinate, axis = declared.coordinate, declared.coordinate.axis
        if self.own.contain(coordinate):
            return declared
        own = self.own.named(coordinate.name)
        if own is None or own.dims != coordinate.source.dims:
            return self._leave_out(coordinate, declared.referrer, axis)
        bounds, _terms, left_out = self.own.kept_companions(coordinate.bounds, {})
        for part in left_out:
            self._leave_out(part, declared.referrer, axis)
        return replace(declared, coordinate=replace(coordinate, source=own.source, bounds=bounds))

    def _leave_out(self, coordinate: Coordinate, referrer: Node, own: str) -> Declaration:
        """Record a coordinate that is left out, because an own array of the group takes the place of its axis."""
        self.declarations.append(
            Declaration(coordinate, referrer, outcome="left out", variable=own)
        )
        return self.declarations[-1]

    # The steps of a declared coordinate.

    def _attach(self, declared: Declaration) -> Declaration:
        """Attach a coordinate and return it with its outcome. If it cannot be opened, this is reported."""
        try:
            with converting_errors():
                return self._attach_in_steps(self._decided(declared))
        except XGroupError as error:
            lost = coordinate_named(declared.coordinate.name)
            self.findings.append(new_finding(Topic.PROBLEM, declared.referrer, error, cost=lost))
        return replace(declared, outcome="unusable")

    def _attach_in_steps(self, declared: Declaration) -> Declaration:
        """Attach a decided coordinate with its bounds, formula terms and links, and return it with its variable."""
        if declared.outcome == "new":
            declared = replace(declared, variable=self._new_variable(declared))
        self.declarations.append(declared)
        if not declared.variable:
            return declared
        variable = self.variables[declared.variable]
        self._identify(variable, declared)
        if declared.role in ("coordinate", "linked") and self._has_other_dimensions(declared):
            self._report_other_dimensions(declared)
        if declared.role == "bounds":
            variable.transpose_like(declared.source)
        attributes = self._usable_attributes(variable, declared)
        variable.add(attributes | self._attach_companions(variable, declared))
        if declared.role in ("coordinate", "linked") and len(variable.dims) > 1:
            is_horizontal = variable.horizontal_axis is not None
            variable.places_cells |= declared.coordinate.places_cells or is_horizontal
        if not variable.is_own:  # links of the group's own arrays are attached with these
            linked = self._attach_links(declared.coordinate.links, declared.referrer)
            self._name_links(variable, linked, declared.referrer)
        return declared

    def _decided(self, declared: Declaration) -> Declaration:
        """1. Return a declared coordinate with its outcome. Nothing is changed yet."""
        coordinate = declared.coordinate
        if own := self.own.in_place_of(declared):
            identity = coordinate.identity
            return replace(declared, outcome="replaced", variable=own.name, identity=identity)
        if isinstance(coordinate.source, Unusable):
            return replace(declared, outcome="unusable")
        declared = replace(declared, identity=identity_of(coordinate, self._factory))
        if name := self._names_by_identity.get(declared.identity):
            return replace(declared, outcome="known", variable=name)
        if own := self.own.same_as(declared):
            return replace(declared, outcome="known", variable=own.name)
        return declared

    def _identify(self, variable: PlannedVariable, declared: Declaration) -> None:
        """Set the identity of the variable of a coordinate, and make it a coordinate unless it is data."""
        source = declared.source
        if declared.is_replaced:
            variable.is_coordinate = True
            variable.identity = variable.identity or variable.source
            if variable.instead_of is None and isinstance(source, Stored):
                variable.instead_of = source.node
            return
        # An array that a different array refers to is a coordinate, even if only a part of it is selected.
        for referred in (variable, self.own.of_source(source)):
            if referred is not None and referred.name not in self.own.data:
                referred.is_coordinate = True
        if declared.identity not in self._names_by_identity:
            variable.identity = declared.identity
            self._names_by_identity[declared.identity] = variable.name
            self._names_by_identity.setdefault(declared.coordinate.identity, variable.name)

    def _has_other_dimensions(self, declared: Declaration) -> bool:
        """Return whether a coordinate is an own array that the referring array cannot have, because of dimension names."""
        own, referrer = self.own.of_source(declared.source), declared.referrer.name
        if own is None or declared.variable != own.name or referrer not in self.variables:
            return False
        dims = {*self.variables[referrer].dims}
        return dims.issuperset(declared.source.dims) and not dims.issuperset(own.dims)

    def _report_other_dimensions(self, declared: Declaration) -> None:
        """Report an own array that the referring array does not get because of its dimension names."""
        message = _("{node} has the dimensions {own}, not {dimensions}")
        text = message.format(
            node=self.reading.node.child(declared.variable),
            own=", ".join(self.variables[declared.variable].dims),
            dimensions=", ".join(declared.source.dims),
        )
        remedy = "write the same dimension names in both arrays"
        lost = coordinate_named(declared.coordinate.name)
        finding = new_finding(Topic.PROBLEM, declared.referrer, text, remedy, cost=lost)
        self.findings.append(finding)

    def _new_variable(self, declared: Declaration) -> str:
        """2. Add a variable for a coordinate that is not an array of the group, and return its name."""
        source, wanted, referrer = declared.source, declared.coordinate.name, declared.referrer
        try:
            sizes = self._factory.sizes(source)
        except XGroupMetadataError as error:
            message = _("{node} cannot be opened: {reason}")
            node = source.node if isinstance(source, Stored) else wanted
            raise XGroupMetadataError(message.format(node=node, reason=error)) from error
        is_index = self._with_indexes and declared.coordinate.is_dimension_coordinate
        is_too_long = is_index and self._factory.is_too_long(source)
        if not is_too_long:
            self._remove_packed(wanted, source)

        origin, of_data = referrer.group, frozenset[str]()
        attributes: Mapping[str, Any] = {}
        if isinstance(source, Stored):
            origin, attributes = source.node.group, self._factory.attributes(source.node)
        elif declared.role == "bounds":
            # Data may have a dimension with the name of the second dimension of computed and literal bounds.
            of_data = self.own.dimensions_of_data.intersection(source.dims[-1:])
        if isinstance(source, HandlerVariable):
            attributes = source.variable.attrs

        name, why_other_name = self.names.new_name(
            wanted, source.dims, sizes, origin.path, is_too_long=is_too_long
        )
        renamed, why_renamed = self.names.new_dimensions(name, sizes, origin, of_data)
        if why_other_name:
            self.findings.append(new_finding(Topic.NAME, referrer, why_other_name))
        if why_renamed:
            severity: Severity = "warning" if of_data.issuperset(renamed) else "error"
            finding = new_finding(Topic.DIMENSION, referrer, why_renamed, severity=severity)
            self.findings.append(finding)
        self.names.add(name, {renamed.get(dim, dim): size for dim, size in sizes.items()})
        dims = tuple(renamed.get(dim, dim) for dim in source.dims)
        self.variables[name] = PlannedVariable(
            name, source, dims, attributes, is_coordinate=True, referrer=referrer.name
        )
        return name

    def _remove_packed(self, name: str, source: Source) -> None:
        """Remove the own array of a name if the coordinate is computed from it (packed values) and takes its place."""
        packed = source.arrays if isinstance(source, Computed) else ()
        if packed and (source.dims == (name,) or not self.names.is_dimension(name)):
            own = self.variables.get(name)
            if own is not None and any(array.node == own.stored for array in packed):
                del self.variables[name]
                self.names.remove(name)

    def _usable_attributes(
        self, variable: PlannedVariable, declared: Declaration
    ) -> dict[str, Any]:
        """3. Return the declared attributes that can be used for a variable, and report units that cannot."""
        attributes, problem = usable_attributes(declared.coordinate, variable.own_attributes)
        if problem and declared.role != "bounds":  # these have the units of their coordinate
            self.findings.append(new_finding(Topic.METADATA, declared.referrer, problem))
        return attributes

    def _attach_companions(
        self, variable: PlannedVariable, declared: Declaration
    ) -> dict[str, str]:
        """4. Attach the bounds and formula terms of a coordinate, and return the attributes that name them."""
        referrer = declared.referrer
        bounds, terms, left_out = self.own.companions(declared, variable)
        for part in left_out:
            self._leave_out(part, referrer, variable.name)
        attributes = {}
        if bounds and (name := self._attach(Declaration(bounds, referrer, "bounds")).variable):
            attributes["bounds"] = name
        named = (
            (term, self._attach(Declaration(part, referrer, "other")).variable)
            for term, part in terms.items()
        )
        if text := " ".join(f"{term}: {name}" for term, name in named if name):
            attributes["formula_terms"] = text
        return attributes

    def _attach_links(self, links: Iterable[Link], referrer: Node) -> list[tuple[Link, str]]:
        """Attach the arrays that CF attributes refer to, and return each link with the name of its variable.

        Links to arrays that cannot be opened are left out, with a finding.
        """
        attached = []
        for link in links:
            role: Role = "linked" if link.attribute == "coordinates" else "other"
            role = "bounds" if link.attribute in BOUNDARIES else role
            if name := self._attach(Declaration(link.coordinate, referrer, role)).variable:
                attached.append((link, name))
        return attached

    def _name_links(
        self, variable: PlannedVariable, linked: Iterable[tuple[Link, str]], referrer: Node
    ) -> None:
        """Replace paths in a variable's CF attributes by the names of the variables attached for them."""
        # Each attribute is rewritten once, because rewriting it for each path would take quadratic time.
        keys = {}
        for link, name in linked:
            keys[link.attribute] = self._names_of_links[variable.name, link.attribute]
            keys[link.attribute][link.path] = name
            self.variables[name].users.append(referrer.name)
        for key, names in keys.items():
            if key in variable.own_attributes:
                variable.rewritten[key] = with_names(key, variable.own_attributes[key], names)

    def _add_standard_name(self, name: str, crs: Crs | None, *, is_own_crs: bool = False) -> None:
        """Add the standard name that follows from the units of a coordinate.

        Axes of a CRS that is not geographic get none, even if they have units of longitude by mistake, as axes of
        rotated poles do. The same applies to 2-D coordinates whose CRS differs from that of the grid (`is_own_crs`).
        """
        variable = self.variables[name]
        units, is_axis = variable.get("units"), variable.dims in ((), (name,))
        if (parts := unit_and_epoch(units)) is not None:
            has_date = is_epoch(parts[1]) or not why_not_times(variable.times)
            if has_date and is_time_axis(variable.get("axis"), variable.dims, name):
                variable.add({"standard_name": "time"})
        elif crs is None or crs.is_geographic or not (is_axis or is_own_crs):
            variable.add(_ATTRIBUTES_BY_UNITS.get(str(units), {}))
