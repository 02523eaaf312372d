"""What is said of a group's variables: attributes added to them, and by which they name each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from zarr_xgroup.conventions.crs import Crs
from zarr_xgroup.conventions.model import Claim, Interpretation
from zarr_xgroup.datasets.naming.collecting import Wanted
from zarr_xgroup.datasets.naming.names import Named
from zarr_xgroup.datasets.naming.uniting import Attached, Links, Thing, United
from zarr_xgroup.findings import Finding
from zarr_xgroup.metadata.cf import LATITUDES, LONGITUDES, names_in, only_mapping, with_names
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.variables.sources import Computed, Literal, Stored


class Attributes:
    """The attributes of a group's variables: their own, and those that are added where there is none.

    Parameters
    ----------
    own : mapping of str to mapping
        The attributes that the variables have themselves.
    added, rewritten : mapping of str to mapping, optional
        Those added so far, and those in which paths were replaced by names.
    """

    def __init__(
        self,
        own: Mapping[str, Mapping[str, Any]],
        added: Mapping[str, Mapping[str, Any]] | None = None,
        rewritten: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        self.own = own
        self.added = defaultdict(dict, {name: dict(it) for name, it in (added or {}).items()})
        self.rewritten = defaultdict(dict, {k: dict(it) for k, it in (rewritten or {}).items()})

    def get(self, name: str, key: str) -> Any:
        """Return an attribute of a variable, or None."""
        if name in self.rewritten and key in self.rewritten[name]:
            return self.rewritten[name][key]
        own = self.own.get(name, {})
        return own[key] if key in own else self.added.get(name, {}).get(key)

    def has(self, name: str, key: str) -> bool:
        """Tell whether a variable has an attribute."""
        return key in self.own.get(name, {}) or key in self.added.get(name, {})

    def all_of(self, name: str) -> dict[str, Any]:
        """Return the attributes that a variable has, but for names in place of paths."""
        return {**self.added.get(name, {}), **self.own.get(name, {})}

    def add(self, name: str, attributes: Mapping[str, Any]) -> None:
        """Add attributes where there is none of the name."""
        own = self.own.get(name, {})
        for key, value in attributes.items():
            if key not in own:
                self.added[name].setdefault(key, value)


@dataclass(frozen=True, eq=False)
class Described:
    """A group's variables with what is said of them, each by name.

    Attributes
    ----------
    named : Named
        The variables.
    attributes : Attributes
        Their attributes.
    coordinates : mapping of str to tuple
        The coordinates that each names in its encoding.
    mentioned : frozenset of str
        What is a coordinate because an attribute ``grid_mapping`` mentions it.
    users : mapping of str to sequence of Node
        The arrays that have each as a coordinate.
    claims : mapping of str to mapping
        Other values that are declared of each, with the array that does.
    bounds_of : mapping of str to str
        See `PlannedVariable`.
    located : mapping of str to tuple
        The coordinates that are in another CRS than the grid, with that and the array that says so.
    findings : tuple of Finding
        What was found so far.
    """

    named: Named
    attributes: Attributes
    coordinates: Mapping[str, tuple[str, ...]]
    mentioned: frozenset[str]
    users: Mapping[str, list[Node]]
    claims: Mapping[str, Mapping[Hashable, tuple[Claim, Node]]]
    bounds_of: Mapping[str, str]
    located: Mapping[str, tuple[Crs, Node]]
    findings: tuple[Finding, ...]


def describe(wanted: Wanted, united: United, named: Named) -> Described:
    """Return what is said of a group's variables."""
    describing = _Describing(wanted, named)
    for attached in united.attached:
        describing.describe_array(attached)
    for times in united.times:
        describing.describe(times, wanted.reading.node)
        describing.add_standard_name(named.name_of(times), None)
    return Described(
        named,
        describing.attributes,
        coordinates=describing.coordinates,
        mentioned=frozenset(describing.mentioned),
        users=describing.users,
        claims=describing.claims,
        bounds_of=describing.bounds_of,
        located=describing.located,
        findings=(*wanted.findings, *united.findings, *named.findings),
    )


class _Describing:
    """What arrays say of variables, one array after the other: what is said first counts.

    Parameters
    ----------
    wanted : Wanted
        The group.
    named : Named
        Its variables.
    """

    def __init__(self, wanted: Wanted, named: Named) -> None:
        self._wanted = wanted
        self._named = named
        self._known: set[Interpretation] = set()
        self._linked: set[Interpretation] = set()
        self._paths: defaultdict[tuple[str, str], dict[str, str]] = defaultdict(dict)
        self.attributes = Attributes(named.attributes)
        self.coordinates: dict[str, tuple[str, ...]] = {}
        self.mentioned: set[str] = set()
        self.users: defaultdict[str, list[Node]] = defaultdict(list)
        self.claims: defaultdict[str, dict[Hashable, tuple[Claim, Node]]] = defaultdict(dict)
        self.bounds_of: dict[str, str] = {}
        self.located: dict[str, tuple[Crs, Node]] = {}

    def describe_array(self, attached: Attached) -> None:
        """Take down what is said of an array, and of its coordinates."""
        array, said = attached.array, attached.array.interpretation
        name = array.node.name
        self.attributes.add(name, said.attributes)
        if said not in self._known:
            self._known.add(said)
            self._describe_coordinates(attached)
        for claim in attached.claims:
            self._claim(claim.coordinate.name, claim, array.node)
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
        things = [self._named.name_of(it) for it in attached.things]
        for other in dict.fromkeys([*things, *self._describe_inherited(attached)]):
            self.users[other].append(array.node)

    def _describe_coordinates(self, attached: Attached) -> None:
        said = attached.array.interpretation
        for thing in attached.things:
            crs = thing.coordinate.crs
            self.describe(thing, attached.array.node)
            name = self._named.name_of(thing)
            self.add_standard_name(name, crs or said.crs, is_its=crs is not None)

    def describe(self, thing: Thing, referrer: Node) -> None:
        """Take down what is said of a coordinate and of all that belongs to it."""
        name, coordinate = self._named.name_of(thing), thing.coordinate
        attributes = dict(coordinate.attributes)
        if thing.bounds is not None:
            self.describe(thing.bounds, referrer)
            attributes["bounds"] = self._named.name_of(thing.bounds)
            self._tie_bounds(attributes["bounds"], name, stands=bool(thing.own))
        for term in thing.terms.values():
            self.describe(term, referrer)
        if thing.terms:
            terms = ((term, self._named.name_of(it)) for term, it in thing.terms.items())
            attributes["formula_terms"] = " ".join(f"{term}: {it}" for term, it in terms)
        self.attributes.add(name, attributes)
        if thing.own:
            self._describe_beside(thing, referrer)
        elif coordinate.crs is not None:
            self.located.setdefault(name, (coordinate.crs, referrer))
        if thing.links:
            for _link, linked in thing.links:
                self.describe(linked, referrer)
            self._link(self._named.attached_as(thing), thing.links, referrer)

    def _describe_beside(self, thing: Thing, referrer: Node) -> None:
        """Take down what is declared and in whose place the group's own coordinate stands."""
        if not isinstance(thing.coordinate.source, Stored):
            self._claim(thing.own, Claim(thing.coordinate), referrer)
        elif thing.is_new:
            name = self._named.attached_as(thing)
            self.attributes.add(name, thing.coordinate.attributes)
            self.users[name].append(referrer)

    def _claim(self, name: str, claim: Claim, referrer: Node) -> None:
        """Take down other values that an array declares, the same ones once."""
        self.claims[name].setdefault(claim.coordinate.identity, (claim, referrer))

    def _tie_bounds(self, bounds: str, name: str, *, stands: bool) -> None:
        """Take down which boundaries go with the values that they are declared for.

        Whoever cuts data, drops the coordinate and writes them leaves boundaries of other numbers.
        """
        variables, budget = self._named.variables, self._wanted.budget
        own, bounded = variables[bounds], variables[name]
        if stands:
            # 1. Boundaries that are declared of the group's own coordinate.
            is_tied = not own.is_own
        else:
            # 2. The group's own, with values that are compared, of declared numbers that make an index.
            is_index = isinstance(bounded.source, Computed | Literal) and bounded.dims == (name,)
            is_compared = own.is_own and bounds in self.claims
            is_tied = is_compared and is_index and not budget.leaves_out(own.source)
        if is_tied:
            self.bounds_of[bounds] = name

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
            attached = self._named.attached_as(thing)
            self._paths[name, link.attribute][link.path] = attached
            self.users[attached].append(referrer)
        self._rewrite(name, {link.attribute for link, _thing in links})

    def _rewrite(self, name: str, keys: Iterable[str]) -> None:
        own = self._named.attributes[name]
        for key in keys:
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
        if self._named.is_scalar(mapping):
            self.attributes.rewritten[name]["grid_mapping"] = mapping
            named = self._named.variables.keys() & set(names_in(written, "grid_mapping"))
            self.mentioned |= named - self._wanted.first_class

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
        self.coordinates[name] = tuple(it for it in named if dims.issuperset(variables[it].dims))

    def _describe_inherited(self, attached: Attached) -> list[str]:
        """Return what is attached of groups above, and take down what is said of it."""
        found, referrer = [], attached.array.node
        for thing, companions in attached.inherited:
            self.describe(thing, referrer)
            name = self._named.name_of(thing)
            found.append(name)
            for key, named in companions.items():
                for written, companion in named.items():
                    self.describe(companion, referrer)
                    self._paths[name, key][written] = self._named.attached_as(companion)
                found.extend(self._named.attached_as(it) for it in named.values())
            self._rewrite(name, [key for key, named in companions.items() if named])
        return found


#: What follows from units of longitudes and latitudes.
_BY_UNITS: Mapping[str, Mapping[str, str]] = {
    **{units: {"standard_name": "longitude"} for units in LONGITUDES},
    **{units: {"standard_name": "latitude"} for units in LATITUDES},
}
