"""Grid mappings: the variables that stand for the CRSs of a group's arrays."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from functools import cached_property

import msgspec
import numpy as np

from zarr_xgroup.conventions.crs import Crs, likeness
from zarr_xgroup.conventions.model import GridMapping, Interpretation
from zarr_xgroup.conventions.standing import CRS_ATTRIBUTES, SPATIAL_REF, crs_of_grid_mapping
from zarr_xgroup.datasets.interpretation import ArrayReading
from zarr_xgroup.datasets.naming.collecting import Wanted
from zarr_xgroup.datasets.naming.describing import Described
from zarr_xgroup.datasets.naming.taken import Taken
from zarr_xgroup.datasets.plan import PlannedVariable
from zarr_xgroup.errors import XGroupError, containing
from zarr_xgroup.findings import Finding, Kind, noted, problem_of
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.variables.sources import Literal


def with_grid_mappings(wanted: Wanted, described: Described) -> Described:
    """Return what is said of a group's variables with the CRS of each.

    An array that is no coordinate names the CRS of its grid; a coordinate that is in another one names
    that, never as that of the grid.
    """
    gridded = [array for array in wanted.arrays if array.interpretation.crs is not None]
    if not gridded and not described.located:
        return described
    mappings = _Mappings(wanted, described)
    for array in gridded:
        mappings.attach(array)
    for name, (crs, referrer) in described.located.items():
        mappings.attach_located(name, GridMapping(crs), referrer)
    findings = (*described.findings, *mappings.findings)
    return Described(mappings.variables, mappings.attributes, described.located, findings)


class _Mappings:
    """The grid mappings of a group, one after the other."""

    def __init__(self, wanted: Wanted, described: Described) -> None:
        self._wanted = wanted
        self._used: dict[str, GridMapping] = {}
        self._known: dict[Interpretation, str] = {}
        self._alike: defaultdict[Hashable, list[str]] = defaultdict(list)
        self.variables = dict(described.variables)
        self.attributes = described.attributes.copy()
        self.findings: list[Finding] = []

    @cached_property
    def _taken(self) -> Taken:
        sizes = ((it.name, dict.fromkeys(it.dims, 0)) for it in self.variables.values())
        return Taken(self._wanted.reading.groups, sizes)

    def attach(self, array: ArrayReading) -> None:
        """Attach the CRS of an array that is no coordinate."""
        name, said = array.node.name, array.interpretation
        if said.grid_mapping is None or self._is_coordinate(name):
            return
        if said in self._known and self.attributes.get(name, "grid_mapping") is None:
            self.attributes.add(name, {"grid_mapping": self._known[said]})
            return
        try:
            with containing():
                self._name_grid_mapping(array, said.grid_mapping)
        except XGroupError as error:
            self.findings.append(problem_of(array.node, error))

    def attach_located(self, name: str, mapping: GridMapping, referrer: Node) -> None:
        """Name the CRS of a coordinate by its ``grid_mapping``."""
        named = self._named_by(name)
        if named and self._is_something_else(named):
            named = ""
        chosen = named or self._same(mapping) or self._name_for_located(mapping.crs)
        self._use(chosen, mapping, name, referrer)

    def _is_coordinate(self, name: str) -> bool:
        """Tell whether a variable is a coordinate, also if only another array says so."""
        variable, wanted = self.variables[name], self._wanted
        if variable.is_coordinate or variable.dims == (name,):
            return True
        return name in wanted.named_coordinates and name not in wanted.first_class

    def _name_grid_mapping(self, array: ArrayReading, mapping: GridMapping) -> None:
        """Name an array's CRS by its ``grid_mapping``, in a scalar coordinate.

        An array of the group that serves as such is completed, never doubled.
        """
        named = self._named_by(array.node.name)
        if named and self._is_something_else(named):
            return  # not ours to change
        name = named or self._same(mapping) or self._name_for(mapping.crs)
        if self._use(name, mapping, array.node.name, array.node):
            self._known[array.interpretation] = name

    def _named_by(self, name: str) -> str:
        """Return the grid mapping that a variable names, "" if what it names can be none."""
        named = self.attributes.get(name, "grid_mapping")
        return named if isinstance(named, str) and named.isidentifier() else ""

    def _same(self, mapping: GridMapping) -> str:
        """Return the variable that was used of the same CRS and grid, "" if there is none."""
        alike = self._alike[likeness(mapping.crs), mapping.geotransform]
        return next((name for name in alike if self._used[name].crs.is_same(mapping.crs)), "")

    def _name_for(self, crs: Crs) -> str:
        """Return a variable for the CRS of a grid that nothing was used for.

        That is `spatial_ref`, unless it was made of another CRS or is something else.
        """
        there = self.variables.get(SPATIAL_REF)
        if (there is None or there.is_own) and not self._is_something_else(SPATIAL_REF):
            return SPATIAL_REF
        return self._new_name(crs.variable_name or SPATIAL_REF)

    def _name_for_located(self, crs: Crs) -> str:
        """Return a variable for the CRS of coordinates: a scalar array that says it, and no other one."""
        wanted = crs.variable_name or "crs"
        there = self.variables.get(wanted)
        if there is not None and there.is_own and not there.dims:
            own = crs_of_grid_mapping(self.attributes.own[wanted])
            if own is not None and own.is_same(crs):
                return wanted
        return self._new_name(wanted)

    def _new_name(self, wanted: str) -> str:
        return self._taken.first_free(wanted, "", self._taken.is_free_for_others)

    def _use(self, name: str, mapping: GridMapping, user: str, referrer: Node) -> bool:
        """Have a scalar coordinate stand for the CRS of a variable; one is made if there is none.

        It is completed unless an array before has another CRS by that name: then that is told.
        """
        crs, source = mapping.crs, Literal(np.array(0, np.int64), ())
        made = PlannedVariable(name, source, (), identity=("crs", crs.text))
        variable = self.variables.get(name, made)
        self.variables[name] = msgspec.structs.replace(variable, is_coordinate=True)
        if variable is made:
            self._taken.add(name, {})
        first = self._used.setdefault(name, mapping)
        if first is mapping:
            self._alike[likeness(crs), mapping.geotransform].append(name)
        self.attributes.add(user, {"grid_mapping": name})
        own = self.attributes.own.get(name, {})
        if self._says_crs(name) and crs.text not in (own.get("crs_wkt"), own.get("spatial_ref")):
            return True  # it is the CRS that it says, whatever is declared
        if first.crs.differs(crs):
            message = _(
                "the CRS ({key}) is another one than {name!r} has for other arrays ({other})"
            )
            text = message.format(key=crs.key, name=name, other=first.crs.key)
            self.findings.append(noted(Kind.CHOICE, text, referrer))
            return False
        self.attributes.add(name, crs.grid_mapping())
        if mapping.geotransform is not None:
            self.attributes.add(name, {"GeoTransform": mapping.geotransform})
        return True

    def _says_crs(self, name: str) -> bool:
        """Tell whether an array of the group says a CRS itself."""
        return not CRS_ATTRIBUTES.isdisjoint(self.attributes.own.get(name, {}))

    def _is_something_else(self, name: str) -> bool:
        """Tell whether a name is that of something that cannot stand for a CRS: no scalar."""
        if name in self.variables:
            return bool(self.variables[name].dims) or self._taken.is_dimension(name)
        return not self._taken.is_free_for_others(name)
