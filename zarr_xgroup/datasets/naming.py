"""Plan the variables of a group: one variable for each source, and one name for each variable.

First, a dimension along which arrays declare different coordinate values is split into several. Then the coordinates
of each array are added, in the order of the arrays' names; the first declaration of an attribute is used. CRSs come
last (`grid_mappings`).
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec.structs import replace

from zarr_xgroup.conventions.crs import Crs
from zarr_xgroup.conventions.declaring import CONVENTIONS_KEY
from zarr_xgroup.conventions.handler_set import ArrayReading
from zarr_xgroup.conventions.model import Coordinate, Interpretation, Link
from zarr_xgroup.conventions.units import (
    is_bare_unit_of_time,
    is_same_unit_of_time,
    why_not_times,
    with_completed_units,
)
from zarr_xgroup.datasets.interpretation import GroupReading
from zarr_xgroup.datasets.plan import PlannedVariable, UsedNames, longer_name
from zarr_xgroup.errors import Severity, XGroupError, XGroupMetadataError, converting_errors
from zarr_xgroup.findings import OPEN_RULES, Finding, Place, Topic, coordinate_named, new_finding
from zarr_xgroup.i18n import _, listed
from zarr_xgroup.metadata.cf import (
    BOUNDARIES,
    LATITUDES,
    LONGITUDES,
    names_in,
    with_names,
    words_of,
)
from zarr_xgroup.metadata.dimensions import dimension_keys
from zarr_xgroup.metadata.nodes import Fragment, Node, pointer_to
from zarr_xgroup.variables.functions import RotatedCentres
from zarr_xgroup.variables.sources import Computed, HandlerVariable, Source, Stored, Unusable

if TYPE_CHECKING:
    from zarr_xgroup.variables.factory import VariableFactory

#: The role of an array for the array that refers to it. A path in the CF attribute ``coordinates`` makes it "linked".
Role: TypeAlias = Literal["coordinate", "linked", "bounds", "other"]

#: The attributes that follow from units of longitude and latitude.
_ATTRIBUTES_BY_UNITS: Mapping[str, Mapping[str, str]] = {
    **{units: {"standard_name": "longitude"} for units in LONGITUDES},
    **{units: {"standard_name": "latitude"} for units in LATITUDES},
}

#: How many arrays with renamed dimensions a text shows.
_NAMED_SPLITS = 3


class GroupPlanner:
    """Plans the variables of one group: its own arrays, then the coordinates and arrays that these refer to."""

    def __init__(
        self, reading: GroupReading, factory: VariableFactory, *, with_indexes: bool
    ) -> None:
        self.reading, self._factory, self._with_indexes = reading, factory, with_indexes
        #: The findings about the group so far.
        self.findings: list[Finding] = []
        #: The group's own arrays, with the dimensions that they have in the Dataset.
        self.arrays = self._with_split_dimensions(_without_grids_of_subsets(reading, factory))
        # Dimensions that no array has any longer are free again.
        self.names = UsedNames(reading.groups, self.arrays)
        self.reading = replace(reading, arrays=tuple(self.arrays))
        self._readings = {array.node.name: array for array in self.arrays}
        #: The variables planned so far, by name.
        self.variables = {
            array.node.name: PlannedVariable(
                *(array.node.name, Stored(array.node, array.dims), array.dims),
                array.document.attributes,
                is_own=True,
            )
            for array in self.arrays
        }
        #: The coordinates that conventions declare, with their bounds and formula terms.
        self._declared = [
            part
            for interpretation in dict.fromkeys(array.interpretation for array in self.arrays)
            for coordinate in interpretation.coordinates
            for part in coordinate.parts()
        ]
        declared = set[Node]()
        for part in self._declared:
            if isinstance(part.source, Stored):
                declared.add(part.source.node)
            elif isinstance(part.source, Unusable):
                declared.add(reading.node.child(part.name))
        #: The names of the group's own arrays that stay data even if other arrays refer to them, because they declare
        #: a principal convention themselves. If only their groups or the user declare the convention, referenced
        #: coordinates, bounds and terms are not data.
        self.data = frozenset(
            array.node.name
            for array in self.arrays
            if array.declares_principal or (array.has_principal and array.node not in declared)
        )
        #: The coordinates whose CRS differs from that of the grid, by name: the CRS, and the array that declares it.
        self.in_other_crs: dict[str, tuple[Crs, Node]] = {}
        #: The names of variables by the identity of their coordinate.
        self._names_by_identity: dict[Hashable, str] = {}
        #: The coordinates and links of each interpretation, with the names of their variables.
        self._attached: dict[
            Interpretation, tuple[list[tuple[Coordinate, str]], list[tuple[Link, str]]]
        ] = {}
        #: For each variable and CF attribute: the names of attached variables by their paths in the attribute.
        self._attached_names: defaultdict[tuple[str, str], dict[str, str]] = defaultdict(dict)
        #: The findings about declared coordinates that cannot be made, by the array.
        self._unusable: defaultdict[Node, list[Finding]] = defaultdict(list)
        #: Renamed dimensions, by the group that they come from, name and size.
        self._new_dims: dict[tuple[Node, str, int], str] = {}

    def attach_coordinates_of(self, array: ArrayReading) -> None:
        """Attach the coordinates and other arrays that an array refers to, and name them in its attributes."""
        interpretation, referrer = array.interpretation, array.node
        variable = self.variables[referrer.name]
        variable.add(interpretation.attributes)

        # 1. Coordinates and links by conventions, attached once for all arrays with the same interpretation.
        if interpretation not in self._attached:
            attached = []
            replaced: dict[str, PlannedVariable] = {}  # by the axes whose coordinate they replace
            for coordinate in interpretation.coordinates:
                axis = replaced.get(coordinate.axis)  # the array in place of its axis
                if axis is not None and not self._is_own(coordinate):
                    own = self._own_array(coordinate.name)
                    if own is None or own.dims != coordinate.source.dims:
                        axis.left_out[coordinate.source] = coordinate.name, referrer.name
                        continue
                    bounds, _terms = self._own_bounds_and_terms(
                        axis, coordinate.bounds, {}, referrer
                    )
                    coordinate = replace(coordinate, source=own.source, bounds=bounds)
                if name := self._try_to_attach(coordinate, referrer):
                    attached.append((coordinate, name))
                    if coordinate.identity in self.variables[name].overruled:
                        replaced[name] = self.variables[name]
                    crs = coordinate.crs or interpretation.crs
                    self._add_standard_name(name, crs, is_own_crs=coordinate.crs is not None)
            self._attached[interpretation] = (
                attached,
                self._attach_links(interpretation.links, referrer),
            )
        attached, linked = self._attached[interpretation]
        self._name_links(variable, linked, referrer)

        # 2. Name them in ``coordinates``, which tools such as cf_xarray use. Dimension coordinates need not be named
        #    (CF 1.12, section 5).
        names = dict.fromkeys(name for _coordinate, name in attached)
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
                names[self._try_to_attach(coordinate, referrer)] = None
        names.pop("", None)
        for name in names:
            self.variables[name].users.append(variable.name)

    def findings_of(self, array: ArrayReading) -> Iterator[Finding]:
        """Yield the findings about an array.

        Left out are choices of coordinates that own arrays of the group replace, and missing grid mapping variables if
        the array has a CRS.
        """
        interpretation, of_unusable = array.interpretation, self._unusable[array.node]
        if not interpretation.findings:
            yield from of_unusable
            return
        replaced, others = set[Node](), set[Node]()
        for coordinate, name in self._attached[interpretation][0]:
            for part in coordinate.parts():
                if isinstance(part.source, Stored):
                    is_replaced = part is coordinate and self.variables[name].is_own
                    (replaced if is_replaced else others).add(part.source.node)
        left_out = {
            (Place(str(followed.written), pointer_to(followed.keys)), followed.choice)
            for followed in interpretation.references
            if followed.leads_to in replaced - others
        }
        mapping = str(self.variables[array.node.name].get("grid_mapping"))
        has_crs = mapping in self.variables
        of_mapping = Place(str(array.node), "/attributes/grid_mapping")
        for finding in (*interpretation.findings, *of_unusable):
            if has_crs and finding.topic is Topic.PROBLEM and finding.place == of_mapping:
                continue
            if finding.topic is not Topic.CHOICE or (finding.place, finding.text) not in left_out:
                yield finding

    def declare_times(self, name: str, attributes: Mapping[str, Any]) -> None:
        """Add the units and calendar of times that all referring arrays in a tree declare for an array of the group."""
        variable = self.variables[name]
        units = variable.get("units")
        if units is None or is_bare_unit_of_time(units):
            self._attach(Coordinate(name, variable.source, attributes), self.reading.node)
            self._add_standard_name(name, None)

    def decide_decoding_of_times(self) -> None:
        """Set `is_time` of each variable, and add the attributes for decoding to its identity.

        xarray decodes bounds without units with the units of the times that name them.
        """
        variables = self.variables
        # 1. Bounds of times that the user dropped.
        for name, attributes in self.reading.bounds_of_dropped.items():
            if (bounds := variables.get(name)) is not None:
                bounds.is_time = bounds.get("units") is None
                bounds.dropped_times = attributes if bounds.is_own else {}
        # 2. Times by their units, and the bounds that they name.
        for variable in variables.values():
            if "since" in str(variable.get("units")):
                variable.is_time = True
                bounds = variables.get(str(variable.get("bounds")))
                if bounds is not None and bounds.get("units") is None:
                    bounds.is_time = True
                    are_stored = variable.is_own and bounds.is_own
                    bounds.bounds_declared_times = (
                        not are_stored or "units" in variable.declared_decoding
                    )
            # 3. If other groups declare a different unit for the same numbers, it is a different coordinate.
            if variable.identity is not None:
                declared = variable.declared_decoding.items()
                plain = (pair for pair in declared if isinstance(pair[1], str | int | float))
                variable.identity = (variable.identity, *plain)

    def _try_to_attach(
        self, coordinate: Coordinate, referrer: Node, role: Role = "coordinate"
    ) -> str:
        """Attach a coordinate and return the name of its variable; "", with a finding, if it cannot be opened."""
        try:
            with converting_errors():
                return self._attach(coordinate, referrer, role)
        except XGroupError as error:
            lost = coordinate_named(coordinate.name)
            self.findings.append(new_finding(Topic.PROBLEM, referrer, error, cost=lost))
        return ""

    def _attach(self, coordinate: Coordinate, referrer: Node, role: Role = "coordinate") -> str:
        """Attach a coordinate with its bounds, formula terms and links, and return the name of its variable.

        Raises XGroupMetadataError if it cannot be opened.
        """
        source = coordinate.source
        if winner := self._own_array_in_place_of(coordinate, referrer, role):
            # 1. The group's own array is kept. Then only `check` reports mistakes in the declaration.
            variable = self.variables[winner]
            variable.identity = variable.identity or variable.source
            variable.overruled.setdefault(coordinate.identity, (source, referrer.name))
            variable.is_coordinate = True
            if isinstance(source, Unusable) and source.finding.rule not in OPEN_RULES.values():
                unreported = {"topic": None, "severity": "warning", "arrays": (), "cost": ""}
                self._unusable[referrer].append(replace(source.finding, **unreported))
        elif isinstance(source, Unusable):
            self._unusable[referrer].append(source.finding)
            return ""
        else:
            # 2. Coordinates with the same identity are one variable: an array of the group, or a new variable.
            identity = self._identity_of(coordinate)
            if identity not in self._names_by_identity:
                name = self._own_array_of(coordinate, identity, role)
                name = name or self._new_variable(coordinate, referrer, role)
                self.variables[name].identity = identity
                self._names_by_identity[identity] = name
                self._names_by_identity.setdefault(coordinate.identity, name)
            variable = self.variables[self._names_by_identity[identity]]
            variable.is_coordinate |= variable.name not in self.data
            if coordinate.crs is not None:
                self.in_other_crs.setdefault(variable.name, (coordinate.crs, referrer))
        if role == "bounds":
            variable.transpose_like(coordinate.source)

        # 3. Add its attributes and the arrays that they name. Links of the group's own arrays are attached with these.
        attributes = self._settled_attributes(coordinate, variable, referrer, role)
        bounds, terms = coordinate.bounds, coordinate.formula_terms
        if variable.is_own:
            own = variable.own_attributes
            named = variable.get("bounds") if winner else own.get("bounds")
            if named is not None and bounds and not self._is_own(bounds, str(named)):
                bounds = None
            terms = self._terms_that_fit(variable, terms, referrer)
        if winner:
            # Bounds and terms belong to the declared coordinate, unless they are arrays of the group.
            bounds, terms = self._own_bounds_and_terms(variable, bounds, terms, referrer)
        attributes |= self._attach_companions(bounds, terms, referrer)
        variable.add(attributes)
        if role in ("coordinate", "linked") and len(variable.dims) > 1:
            is_horizontal = variable.horizontal_axis is not None
            variable.places_cells |= coordinate.places_cells or is_horizontal
        if not variable.is_own:
            self._name_links(variable, self._attach_links(coordinate.links, referrer), referrer)
        return variable.name

    def _own_bounds_and_terms(
        self,
        variable: PlannedVariable,
        bounds: Coordinate | None,
        terms: Mapping[str, Coordinate],
        referrer: Node,
    ) -> tuple[Coordinate | None, dict[str, Coordinate]]:
        """Return the bounds and formula terms that are arrays of the group, and record the others as left out."""
        own = {}
        for term, part in terms.items():
            array = self._own_array(part.name)
            if array is not None and {*array.dims} == {*part.source.dims}:
                part = replace(part, source=array.source)
            if self._is_own(part):
                own[term] = part
            else:
                variable.left_out[part.source] = part.name, referrer.name
        if bounds is not None and not self._is_own(bounds):
            variable.left_out[bounds.source] = bounds.name, referrer.name
            bounds = None
        return bounds, own

    def _terms_that_fit(
        self, variable: PlannedVariable, terms: Mapping[str, Coordinate], referrer: Node
    ) -> Mapping[str, Coordinate]:
        """Return formula terms, with the terms of the group's own coordinate in place of those that do not fit.

        Data that were written again contain their terms, but the attributes may still refer to the original ones.
        """
        words = words_of(variable.own_attributes, "formula_terms") if terms else []
        named, own_terms = dict(zip(words[::2], words[1::2], strict=False)), dict(terms)
        for term, part in terms.items():
            own = self._own_array(named.get(f"{term}:", ""))
            if own is not None and not self._fits(part.source, referrer):
                own_terms[term] = replace(part, name=own.name, source=own.source)
        return own_terms

    def _fits(self, source: Source, referrer: Node) -> bool:
        """Return whether a source can be a coordinate of an array: the array has its dimensions with the same sizes."""
        if isinstance(source, Unusable) or referrer.name not in self._readings:
            return False
        return self._factory.sizes(source).items() <= self._readings[referrer.name].sizes.items()

    def _is_own(self, coordinate: Coordinate, name: str = "") -> bool:
        """Return whether a coordinate is an array of the group, with a name if that is given."""
        source = coordinate.source
        if not (isinstance(source, Stored) and source.node.group == self.reading.node):
            return False
        return name in ("", source.node.name)

    def _attach_companions(
        self, bounds: Coordinate | None, terms: Mapping[str, Coordinate], referrer: Node
    ) -> dict[str, str]:
        """Attach the bounds and formula terms of a coordinate, and return the attributes that name them."""
        attributes = {}
        if bounds and (name := self._try_to_attach(bounds, referrer, "bounds")):
            attributes["bounds"] = name
        named = (
            (term, self._try_to_attach(part, referrer, "other")) for term, part in terms.items()
        )
        if text := " ".join(f"{term}: {name}" for term, name in named if name):
            attributes["formula_terms"] = text
        return attributes

    def _settled_attributes(
        self, coordinate: Coordinate, variable: PlannedVariable, referrer: Node, role: Role
    ) -> dict[str, Any]:
        """Return the declared attributes of a coordinate, with units of time that complete its own unit.

        Units that cannot be decoded are left out, because engine zarr could not open a store with them. They are not
        reported for bounds, which have the units of their coordinate.
        """
        declared, own = coordinate.attributes, variable.own_attributes
        attributes = dict(with_completed_units(declared, own))
        units, text = attributes.get("units"), ""
        used = {**attributes, **own, **({"units": units} if units != declared.get("units") else {})}
        if (reason := why_not_times(used)) and not why_not_times(own):
            for key in ("units", "calendar"):
                attributes.pop(key, None)
            if _is_time_axis(attributes.get("axis"), coordinate.source.dims, coordinate.name):
                attributes.setdefault("standard_name", "time")
            text = _(
                "the units and calendar of its coordinate {name!r} were not added ({units}): {reason}"
            ).format(name=coordinate.name, units=json.dumps(used["units"]), reason=reason)
        elif " since " in str(units) and not is_same_unit_of_time(str(units), declared["units"]):
            text = _(
                "its coordinate {name!r} has units {own}, but {declared} are declared; it was opened with {units}"
            ).format(
                name=coordinate.name,
                own=json.dumps(own["units"]),
                declared=json.dumps(declared["units"]),
                units=json.dumps(units),
            )
        if text and role != "bounds":
            self.findings.append(new_finding(Topic.METADATA, referrer, text))
        return attributes

    def _own_array(self, name: str) -> PlannedVariable | None:
        """Return the group's own array with a name, None if it does not exist."""
        variable = self.variables.get(name)
        return variable if variable is not None and variable.is_own else None

    def _own_array_in_place_of(self, coordinate: Coordinate, referrer: Node, role: Role) -> str:
        """Return the name of the group's own array that replaces a declared coordinate, "" if none does."""
        name, source = coordinate.name, coordinate.source
        own = self._own_array(name)
        if own is None or (isinstance(source, Unusable) and role == "bounds"):
            return ""
        if not isinstance(source, Stored):
            return name if self._own_array_wins(own, source, referrer, role) else ""
        # Bounds, formula terms and ancillary arrays are always the arrays that attributes name.
        if role in ("bounds", "other") or source.node == own.stored:
            return ""
        # If two referenced arrays have this name, `UsedNames.first_free` has given the second one a longer name.
        longer = longer_name(name, source.node.group.path)
        for candidate in (name, longer if longer != name else f"{name}_1"):
            own = self._own_array(candidate)
            if own is not None and self._own_array_wins(own, source, referrer, role):
                overruled = (declared for declared, _array in own.overruled.values())
                nodes = (declared.node for declared in overruled if isinstance(declared, Stored))
                if next(nodes, source.node) == source.node or own.dims == (candidate,):
                    return candidate
        return ""

    def _own_array_wins(
        self, own: PlannedVariable, source: Source, referrer: Node, role: Role
    ) -> bool:
        """Return whether an own array replaces a declared coordinate with the same name."""
        sizes, declared = self._factory.sizes(own.source), self._factory.sizes(source)
        is_same = sizes == declared
        # A subset that was written with its coordinates may still refer to the coordinates of the whole array.
        has_any_dims = isinstance(source, Unusable) and source.needed is None
        may_be_whole = isinstance(source, Stored | HandlerVariable) and role == "coordinate"
        if has_any_dims or (may_be_whole and not self._fits(source, referrer)):
            is_same = is_same or self._fits(own.source, referrer)
        # 1. An own dimension coordinate replaces every declared one, except an array of a different length.
        if own.dims == source.dims == (own.name,):
            return is_same or not isinstance(source, Stored | HandlerVariable)
        # 2. An array that declares a principal convention itself is data, not a coordinate.
        if self._readings[own.name].declares_principal:
            return False
        # 3. Other coordinates are replaced by an array with the same dimensions and sizes. For bounds, the dimension of
        #    the vertices may have any name, and may be stored first.
        if role == "bounds":
            lengths, expected = [*sizes.values()], [*declared.values()]
            return any(
                lengths[::order] == expected and own.dims[::order][:-1] == source.dims[:-1]
                for order in ((1, -1) if len(lengths) == 2 else (1,))  # vertices last, or first
            )
        return is_same

    def _own_array_of(self, coordinate: Coordinate, identity: Hashable, role: Role) -> str:
        """Return the name of the group's array that a coordinate refers to, "" if the coordinate needs a new variable.

        The array becomes a coordinate of the Dataset in both cases.
        """
        source = coordinate.source
        if not isinstance(source, Stored):
            return ""
        own = self._own_array(source.node.name)
        if own is None or own.stored != source.node:
            return ""
        # 1. If two arrays declare different times for the same numbers, these become two variables.
        declared = own.declared_decoding
        if "units" in declared:
            before = self._identity_of(replace(coordinate, attributes=declared))
            if identity not in (coordinate.identity, before):
                return ""
        if own.name not in self.data:
            # 2. An array that a different array refers to is a coordinate, even if only a part of it is selected.
            own.is_coordinate = True
            # 3. A dimension coordinate must have the name of its dimension.
            is_dimension_coordinate = source.dims == (coordinate.name,)
            if is_dimension_coordinate and own.name != coordinate.name:
                return ""
        # 4. Its dimensions must have the order of the coordinate's. For bounds, the dimension of the vertices may have
        #    any name; it is stored first if the bounds are transposed.
        own_dims, dims = self._readings[own.name].dims, source.along
        if role == "bounds" and len(own_dims) == len(dims):
            others = slice(1, None) if source.transposed else slice(-1)
            own_dims, dims = own_dims[others], dims[others]
        has_same_order = own_dims == dims or len(set(own_dims)) < len(
            own_dims
        )  # repeated dimension
        return own.name if has_same_order and not source.first else ""

    def _new_variable(self, coordinate: Coordinate, referrer: Node, role: Role) -> str:
        """Add a variable for a coordinate that is not an array of the group, and return its name."""
        source, wanted = coordinate.source, coordinate.name
        try:
            sizes = self._factory.sizes(source)
        except XGroupMetadataError as error:
            message = _("{node} cannot be opened: {reason}")
            node = source.node if isinstance(source, Stored) else wanted
            raise XGroupMetadataError(message.format(node=node, reason=error)) from error
        origin = (source.node if isinstance(source, Stored) else referrer).group
        name = self._free_name(wanted, source, origin, referrer)
        # Data may have a dimension with the name of the second dimension of computed and literal bounds.
        of_data = frozenset[str]()
        if role == "bounds" and not isinstance(source, Stored):
            of_data = self._data_dims.intersection(source.dims[-1:])
        renamed = self._new_names_of_dimensions(sizes, name, origin, of_data, referrer)
        self.names.add(name, {renamed.get(dim, dim): size for dim, size in sizes.items()})
        attributes: Mapping[str, Any] = {}
        if isinstance(source, HandlerVariable):
            attributes = source.variable.attrs
        elif isinstance(source, Stored):
            attributes = self._factory.attributes(source.node)
        dims = tuple(renamed.get(dim, dim) for dim in source.dims)
        self.variables[name] = PlannedVariable(
            name, source, dims, attributes, is_coordinate=True, referrer=referrer.name
        )
        return name

    def _free_name(self, wanted: str, source: Source, origin: Node, referrer: Node) -> str:
        """Return a free name for a new variable: the wanted one if possible."""
        is_dimension_coordinate = source.dims == (wanted,)
        is_too_long = is_dimension_coordinate and self._is_too_long(source)
        # A coordinate computed from an own array with the same name (packed values) replaces that array.
        packed = source.arrays if isinstance(source, Computed) else ()
        own = self.variables.get(wanted)
        can_have_name = is_dimension_coordinate or not self.names.is_dimension(wanted)
        is_replaced = own is not None and any(array.node == own.stored for array in packed)
        if is_replaced and can_have_name and not is_too_long:
            del self.variables[wanted]
            self.names.remove(wanted)

        def can_be(name: str) -> bool:
            if source.dims == (name,):
                return self.names.is_free(name) and not is_too_long
            return self.names.is_free_for_others(name)

        name = self.names.first_free(wanted, origin.path, can_be)
        if name != wanted:
            message = _(
                "its coordinate {wanted!r} is named {name!r}, because the name {wanted!r} is "
                "already used or not valid in this group"
            )
            if is_too_long:
                message = _(
                    "its coordinate {wanted!r} of length {length} is named {name!r} and "
                    "has no index, because it is too long to be read on opening"
                )
            length = next(iter(self._factory.sizes(source).values()), 1)
            text = message.format(wanted=wanted, name=name, length=length)
            self.findings.append(new_finding(Topic.NAME, referrer, text))
        return name

    def _new_names_of_dimensions(
        self,
        sizes: Mapping[str, int],
        variable: str,
        origin: Node,
        of_data: Collection[str],
        referrer: Node,
    ) -> dict[str, str]:
        """Return new names for dimensions of a variable that have a different size in the group, or are `of_data`.

        All variables from the same group, the `origin`, share the new name of a dimension.
        """
        renamed, has_other_size = {}, False
        for dim, size in sizes.items():
            can_stay = self.names.can_be_dimension(dim, size)
            if dim in of_data or not can_stay:
                key = (origin, dim, size)
                if key not in self._new_dims:
                    self._new_dims[key] = self.names.new_dimension(f"{dim}_{variable}", size)
                renamed[dim] = self._new_dims[key]
                has_other_size |= not can_stay
        if renamed:
            message = _(
                "the dimension of its boundaries {name!r} has the name of a dimension of data; "
                "renamed {renamed}"
            )
            if has_other_size:
                message = _(
                    "dimensions of its coordinate {name!r} have a different size in this group; "
                    "renamed {renamed}"
                )
            text = message.format(name=variable, renamed=_renamings(renamed))
            self.findings.append(new_finding(Topic.DIMENSION, referrer, text))
        return renamed

    @cached_property
    def _data_dims(self) -> frozenset[str]:
        """The dimensions of the group's own arrays, except those of the bounds of coordinates."""
        boundaries = [part.bounds for part in self._declared if part.bounds is not None]
        names = {bounds.name for bounds in boundaries}
        sources = (bounds.source for bounds in boundaries)
        names |= {source.node.name for source in sources if isinstance(source, Stored)}
        for array in self.arrays:
            for key in BOUNDARIES:
                names.update(names_in(array.document.attributes, key))
        return frozenset(
            dim for array in self.arrays if array.node.name not in names for dim in array.dims
        )

    def _attach_links(self, links: Iterable[Link], referrer: Node) -> list[tuple[Link, str]]:
        """Attach the arrays that CF attributes refer to, and return each link with the name of its variable.

        Links to arrays that cannot be opened are left out, with a finding.
        """
        attached = []
        for link in links:
            role: Role = "linked" if link.attribute == "coordinates" else "other"
            role = "bounds" if link.attribute in BOUNDARIES else role
            if name := self._try_to_attach(link.coordinate, referrer, role):
                attached.append((link, name))
        return attached

    def _name_links(
        self, variable: PlannedVariable, linked: Iterable[tuple[Link, str]], referrer: Node
    ) -> None:
        """Replace paths in a variable's CF attributes by the names of the variables attached for them."""
        # Each attribute is rewritten once, because rewriting it for each path would take quadratic time.
        keys = {}
        for link, name in linked:
            keys[link.attribute] = self._attached_names[variable.name, link.attribute]
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
        units, is_axis = str(variable.get("units")), variable.dims in ((), (name,))
        if " since " in units:
            if _is_time_axis(variable.get("axis"), variable.dims, name):
                variable.add({"standard_name": "time"})
        elif crs is None or crs.is_geographic or not (is_axis or is_own_crs):
            variable.add(_ATTRIBUTES_BY_UNITS.get(units, {}))

    def _identity_of(self, coordinate: Coordinate) -> Hashable:
        """Return the identity of a coordinate.

        It contains declared units and calendar of times, unless the array's own units are used or the declared ones
        cannot be decoded.
        """
        source = coordinate.source
        if not isinstance(source, Stored) or "since" not in str(coordinate.attributes.get("units")):
            return coordinate.identity
        own = self._factory.attributes(source.node)
        times = with_completed_units(coordinate.attributes, own)
        is_own = "units" in own and not is_bare_unit_of_time(own["units"])
        if is_own or why_not_times(times):
            return coordinate.identity
        return source, str(times["units"]), str(times.get("calendar"))

    def _is_too_long(self, source: Source) -> bool:
        """Return whether a source is too long for xarray to build an index."""
        return self._with_indexes and self._factory.is_too_long(source)

    # Dimensions for which arrays declare different coordinates.

    def _with_split_dimensions(self, arrays: Iterable[ArrayReading]) -> list[ArrayReading]:
        """Return the arrays, with dimensions renamed so that each dimension has one size and one coordinate.

        The first array that declares a coordinate keeps the dimension's name. Arrays that declare the same different
        coordinate share a new dimension. Everything attached to an array is renamed with it.
        """
        declared = list(arrays)
        by_size = _with_one_size(declared)
        self.names = UsedNames(self.reading.groups, by_size)
        # The identity of the first coordinate of each dimension, None if no array can have that coordinate.
        first: dict[str, Hashable] = {}
        others: dict[tuple[str, Hashable], str] = {}
        known: dict[Interpretation, tuple[dict[str, str], Interpretation]] = {}
        result = []
        for array in by_size:
            interpretation, attached = array.interpretation, list(array.inherited.coordinates)
            if interpretation not in known:
                names = self._names_of_split_dimensions(array, first, others)
                interpretation = _renamed(interpretation, names)
                linked = (link.coordinate for link in interpretation.links)
                all_attached = (*interpretation.coordinates, *linked)
                attached = [part for each in all_attached for part in each.parts()] + attached
                known[array.interpretation] = names, interpretation
            # Bounds, terms, linked and inherited coordinates can be dimension coordinates, too.
            for coordinate in attached:
                if coordinate.name not in first and self._can_be_index(coordinate):
                    first[coordinate.name] = self._identity_of(coordinate)
            names, interpretation = known[array.interpretation]
            split = array
            if names:
                dims = tuple(names.get(dim, dim) for dim in array.dims)
                split = replace(array, dims=dims, interpretation=interpretation)
            result.append(split)
        self._report_splits(declared, by_size, result)
        return result

    def _report_splits(
        self,
        declared: Iterable[ArrayReading],
        by_size: Iterable[ArrayReading],
        result: Iterable[ArrayReading],
    ) -> None:
        """Report the arrays with renamed dimensions, with one text for all that are renamed for the same reason.

        Renamed dimensions of ancestors are left out: they are reported for the group.
        """
        # By whether the sizes differ, or only the coordinates: the arrays, and their old and new names.
        splits: dict[bool, dict[ArrayReading, str]] = {True: {}, False: {}}
        for array, sized, split in zip(declared, by_size, result, strict=True):
            inherited = array.inherited.renamed
            dims = tuple(inherited.get(dim, dim) for dim in array.dims)
            if dims != split.dims:
                pairs = zip(dims, split.dims, strict=True)
                renamed = _renamings({old: new for old, new in pairs if old != new})
                splits[dims != sized.dims][array] = renamed
        for has_other_sizes, arrays in splits.items():
            text = _(
                "other arrays of the group have different coordinate values along its "
                "dimensions; renamed {renamed}"
            )
            severity: Severity = "warning"
            if has_other_sizes:
                text = _(
                    "other arrays of the group have different sizes along its dimensions; "
                    "renamed {renamed}"
                )
                severity = "error"
            text = text.format(renamed=listed(dict.fromkeys(arrays.values()), _NAMED_SPLITS))
            for array in arrays:
                place: Fragment | Node = array.node
                if has_other_sizes:
                    place = Fragment(array.node, dimension_keys(array.document), None)
                self.findings.append(new_finding(Topic.DIMENSION, place, text, severity=severity))

    def _names_of_split_dimensions(
        self,
        array: ArrayReading,
        first: dict[str, Hashable],
        others: dict[tuple[str, Hashable], str],
    ) -> dict[str, str]:
        """Return new names for dimensions along which an array declares different coordinates than previous arrays.

        Updates `first` and `others`: the first coordinate of each dimension, and the new names for other coordinates.
        """
        sizes, new_names = array.sizes, {}
        for dim, (cells, coordinate) in self._cells_along(array).items():
            # 1. If the length of its coordinate differs, no array gets this dimension's coordinate.
            if dim not in first and (coordinate is None or self._can_be_index(coordinate)):
                length = self._factory.sizes(coordinate.source)[dim] if coordinate else sizes[dim]
                first[dim] = cells if length == sizes[dim] else None
            # 2. If this one differs, the array gets a new dimension.
            if first.get(dim) not in (None, cells):
                if (dim, cells) not in others:
                    wanted = f"{dim}_{array.node.name}"
                    others[dim, cells] = self.names.new_dimension(wanted, sizes[dim])
                new_names[dim] = others[dim, cells]
        return new_names

    def _cells_along(self, array: ArrayReading) -> dict[str, tuple[Hashable, Coordinate | None]]:
        """Return the dimensions of an array, each with the identity of its coordinate, and the coordinate.

        Both dimensions of a rotated grid have the identities of both 2-D coordinates, and None. If there are several
        coordinates of a dimension, the first is returned. Dimensions with the name of an array of the group are left
        out, because the array is their only coordinate.
        """
        cells: dict[str, tuple[Hashable, Coordinate | None]] = {}
        rotated = []
        for coordinate in array.interpretation.coordinates:
            source = coordinate.source
            if isinstance(source, Unusable):
                continue
            if source.dims == (coordinate.name,) and coordinate.name in array.dims:
                cells.setdefault(coordinate.name, (self._identity_of(coordinate), coordinate))
            elif isinstance(source, Computed) and isinstance(source.function, RotatedCentres):
                rotated.append(coordinate)
        for dim in rotated[0].source.dims if rotated else ():
            cells.setdefault(dim, (tuple(map(self._identity_of, rotated)), None))
        return {dim: pair for dim, pair in cells.items() if not self.names.is_variable(dim)}

    def _can_be_index(self, coordinate: Coordinate) -> bool:
        """Return whether a coordinate can be a dimension coordinate: 1-D, with the name of its dimension, not too long."""
        name, source = coordinate.name, coordinate.source
        if source.dims != (name,) or "/" in name or name in self.reading.groups:
            return False
        if isinstance(source, Unusable):
            return False
        try:
            self._factory.sizes(source)
        except XGroupMetadataError:
            return False
        return not self._is_too_long(source)


def _with_one_size(arrays: Sequence[ArrayReading]) -> list[ArrayReading]:
    """Return arrays with dimensions renamed, with all that is attached, so that each name has one size in the group.

    Dimension coordinates keep their names first, so that a dimension has the size of its coordinate. Arrays that share
    a size share the new name.
    """
    # xarray refuses a dimension with the name of a scalar variable: no size equals -1.
    sizes = {array.node.name: -1 for array in arrays if not array.dims}
    new_names: dict[tuple[str, int], str] = {}
    names_of: dict[str, dict[str, str]] = {}
    for array in sorted(arrays, key=lambda array: array.dims != (array.node.name,)):
        names = names_of[array.node.name] = {}
        for dim, size in array.sizes.items():
            declared = array.inherited.renamed.get(dim, dim)
            chosen = new_names.get((declared, size), declared)
            while sizes.setdefault(chosen, size) != size:
                chosen = f"{chosen}_{array.node.name}"
            new_names[declared, size] = chosen
            if chosen != dim:
                names[dim] = chosen
    known: dict[
        Interpretation, Interpretation
    ] = {}  # equal for arrays that share an interpretation
    result = []
    for array in arrays:
        if names := names_of[array.node.name]:
            interpretation = array.interpretation
            if interpretation not in known:
                known[interpretation] = _renamed(interpretation, names)
            coordinates = tuple(each.renamed(names) for each in array.inherited.coordinates)
            array = replace(
                array,
                dims=tuple(names.get(dim, dim) for dim in array.dims),
                interpretation=known[interpretation],
                inherited=replace(array.inherited, coordinates=coordinates),
            )
        result.append(array)
    return result


def _renamed(interpretation: Interpretation, names: Mapping[str, str]) -> Interpretation:
    """Return an interpretation with the dimensions of all coordinates renamed."""
    if not names:
        return interpretation
    links = interpretation.links
    return replace(
        interpretation,
        coordinates=tuple(each.renamed(names) for each in interpretation.coordinates),
        links=tuple(replace(link, coordinate=link.coordinate.renamed(names)) for link in links),
    )


def _without_grids_of_subsets(
    reading: GroupReading, factory: VariableFactory
) -> Iterator[ArrayReading]:
    """Yield the arrays of a group, without the computed coordinates of coordinates whose sizes no data array has.

    Such a coordinate may have been attached from a different group, subset, and written to this one. Its attributes still
    describe the whole grid, and would give the subset the coordinates of the first cells.
    """
    named = set(names_in(factory.attributes(reading.node), "coordinates"))
    for array in reading.arrays:
        named.update(names_in(array.document.attributes, "coordinates"))
    data = [
        array
        for array in reading.arrays
        if array.node.name not in named or CONVENTIONS_KEY in array.document.attributes
    ]
    sizes = {pair for array in data for pair in array.sizes.items()}
    for array in reading.arrays:
        interpretation = array.interpretation
        kept = tuple(
            coordinate
            for coordinate in interpretation.coordinates
            if not isinstance(coordinate.source, Computed)
        )
        is_of_data = not data or sizes.issuperset(array.sizes.items())
        if is_of_data or len(kept) == len(interpretation.coordinates):
            yield array
            continue
        # A choice made for the grid has no effect, so opening does not report it.
        findings = tuple(
            replace(finding, topic=None) if finding.topic is Topic.CHOICE else finding
            for finding in interpretation.findings
        )
        crs = interpretation.crs if "grid_mapping" in array.document.attributes else None
        interpretation = replace(
            interpretation, coordinates=kept, crs=crs, geotransform=None, findings=findings
        )
        yield replace(array, interpretation=interpretation)


def _is_time_axis(axis: Any, dims: tuple[str, ...], name: str) -> bool:
    """Return whether times lie along a temporal axis. `axis` is their attribute ``axis``, or None."""
    return axis == "T" or (axis is None and dims in ((), (name,)))


def _renamings(names: Mapping[str, str]) -> str:
    """Return old and new names for a message: ``'x' -> 'x_a', 'y' -> 'y_a'``."""
    return ", ".join(f"{old!r} -> {new!r}" for old, new in names.items())
