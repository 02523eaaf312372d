"""What is said of a group's variables: attributes added to them, and by which they name each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import msgspec

from zarr_xgroup.conventions.crs import Crs
from zarr_xgroup.conventions.model import Interpretation
from zarr_xgroup.datasets.naming.collecting import Attributes, Wanted
from zarr_xgroup.datasets.naming.names import Named
from zarr_xgroup.datasets.naming.uniting import Attached, Links, Thing, United
from zarr_xgroup.datasets.plan import PlannedVariable
from zarr_xgroup.findings import Finding
from zarr_xgroup.metadata.cf import LATITUDES, LONGITUDES, names_in, only_mapping, with_names
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.variables.sources import Source


@dataclass(frozen=True, eq=False)
class Described:
    """A group's variables with what is said of them, each by name."""

    variables: Mapping[str, PlannedVariable]
    attributes: Attributes
    #: Those in another CRS than the grid, with that and the array that says so.
    located: Mapping[str, tuple[Crs, Node]]
    findings: tuple[Finding, ...]


def describe(wanted: Wanted, united: United, named: Named) -> Described:
    """Return what is said of a group's variables."""
    describing = _Describing(wanted, united, named)
    for attached in united.attached:
        describing.describe_array(attached)
    for times in united.times:
        describing.describe(times, wanted.reading.node)
        describing.add_standard_name(named.name_of(times), None)
    findings = (*wanted.findings, *united.findings, *named.findings)
    variables, attributes = describing.variables(), describing.attributes
    return Described(variables, attributes, describing.located, findings)


class _Describing:
    """What arrays say of variables, one array after the other: what is said first counts."""

    def __init__(self, wanted: Wanted, united: United, named: Named) -> None:
        self._wanted = wanted
        self._named = named
        self._known: set[Interpretation] = set()
        self._linked: set[Interpretation] = set()
        self._paths: defaultdict[tuple[str, str], dict[str, str]] = defaultdict(dict)
        self._coordinates: dict[str, tuple[str, ...]] = {}
        self._mentioned: set[str] = set()
        self._users: defaultdict[str, list[Node]] = defaultdict(list)
        self._stood_against: defaultdict[str, dict[Hashable, tuple[Source, Node]]] = defaultdict(
            dict
        )
        self.attributes = Attributes(
            {name: wanted.attributes_of(it.source) for name, it in named.variables.items()}
        )
        self.located: dict[str, tuple[Crs, Node]] = {}

    def variables(self) -> dict[str, PlannedVariable]:
        """Return the variables with what was said of them."""
        return {
            name: msgspec.structs.replace(
                it,
                is_coordinate=it.is_coordinate or name in self._mentioned,
                coordinates=self._coordinates.get(name, ()),
                users=tuple(self._users.get(name, ())),
                stood_against=tuple(self._stood_against.get(name, {}).values()),
            )
            for name, it in self._named.variables.items()
        }

    def describe_array(self, attached: Attached) -> None:
        """Take down what is said of an array, and of its coordinates."""
        array, said = attached.array, attached.array.interpretation
        name = array.node.name
        self.attributes.add(name, said.attributes)
        if said not in self._known:
            self._known.add(said)
            self._describe_coordinates(attached)
        if attached.links is None:
            return
        if said not in self._linked:
            self._linked.add(said)
            for _link, thing in attached.links:
                self.describe(thing, array.node)
        self._link(name, attached.links, array.node)
        if array.conventions:
            self._name_only_mapping(name)
        self._name_coordinates(attached)
        for thing in attached.inherited:
            self.describe(thing, array.node)
        things = (self._named.name_of(it) for it in (*attached.things, *attached.inherited))
        for other in dict.fromkeys(things):
            self._users[other].append(array.node)

    def _describe_coordinates(self, attached: Attached) -> None:
        said, referrer = attached.array.interpretation, attached.array.node
        for thing in attached.things:
            crs = thing.coordinate.crs
            self.describe(thing, referrer)
            name = self._named.name_of(thing)
            self.add_standard_name(name, crs or said.crs, is_its=crs is not None)

    def describe(self, thing: Thing, referrer: Node) -> None:
        """Take down what is said of a coordinate and of all that belongs to it."""
        name, coordinate = self._named.name_of(thing), thing.coordinate
        attributes = dict(coordinate.attributes)
        if thing.bounds is not None:
            self.describe(thing.bounds, referrer)
            attributes["bounds"] = self._named.name_of(thing.bounds)
        for term in thing.terms.values():
            self.describe(term, referrer)
        if thing.terms:
            terms = ((term, self._named.name_of(it)) for term, it in thing.terms.items())
            attributes["formula_terms"] = " ".join(f"{term}: {it}" for term, it in terms)
        self.attributes.add(name, attributes)
        if thing.own:
            against = (coordinate.source, referrer)
            self._stood_against[name].setdefault(coordinate.identity, against)
        elif coordinate.crs is not None:
            self.located.setdefault(name, (coordinate.crs, referrer))
        for _link, linked in thing.links:
            self.describe(linked, referrer)
        self._link(self._named.name_of(thing), thing.links, referrer)

    def add_standard_name(self, name: str, crs: Crs | None, *, is_its: bool = False) -> None:
        """Add the standard name that follows from the units of a coordinate.

        Axes of a CRS that is not geographic are no longitudes, whatever their units are: those of a
        rotated pole are written so by mistake. Neither are 2-D arrays whose own CRS (`is_its`) is such.
        """
        units = str(self.attributes.get(name, "units"))
        is_axis = self._named.variables[name].dims in ((), (name,))
        if " since " in units:
            axis = self.attributes.get(name, "axis")
            if axis == "T" or (axis is None and is_axis):
                self.attributes.add(name, {"standard_name": "time"})
        elif crs is None or crs.is_geographic or not (is_axis or is_its):
            self.attributes.add(name, _BY_UNITS.get(units, {}))

    def _link(self, name: str, links: Links, referrer: Node) -> None:
        """Name in a variable's CF attributes what was attached for them."""
        for link, thing in links:
            attached = self._named.name_of(thing)
            self._paths[name, link.attribute][link.path] = attached
            self._users[attached].append(referrer)
        own = self.attributes.own[name]
        for key in {link.attribute for link, _thing in links}:
            if key in own:
                text = with_names(key, own[key], self._paths[name, key])
                self.attributes.rewritten[name][key] = text

    def _name_only_mapping(self, name: str) -> None:
        """Name a variable's only CRS alone: tools do not read ``crs: x y``.

        The coordinates that it names are some, as by xarray's ``decode_coords="all"``.
        """
        written = {"grid_mapping": self.attributes.get(name, "grid_mapping")}
        mapping = only_mapping(written)
        if mapping is None or written["grid_mapping"] == mapping:
            return
        variables = self._named.variables
        if mapping in variables and not variables[mapping].dims:
            self.attributes.rewritten[name]["grid_mapping"] = mapping
            named = variables.keys() & set(names_in(written, "grid_mapping"))
            self._mentioned |= named - self._wanted.first_class

    def _name_coordinates(self, attached: Attached) -> None:
        """Take down which coordinates an array is to name.

        Dimension coordinates need no naming (CF 1.12, section 5). cf_xarray takes from a Dataset with
        a variable what is named so.
        """
        name, variables = attached.array.node.name, self._named.variables
        if self.attributes.has(name, "coordinates"):
            return
        dims = set(variables[name].dims)
        others = dict.fromkeys(self._named.name_of(it) for it in attached.things)
        named = (it for it in others if it != name and it not in dims)
        self._coordinates[name] = tuple(it for it in named if dims.issuperset(variables[it].dims))


#: What follows from units of longitudes and latitudes.
_BY_UNITS: Mapping[str, Mapping[str, str]] = {
    **{units: {"standard_name": "longitude"} for units in LONGITUDES},
    **{units: {"standard_name": "latitude"} for units in LATITUDES},
}
