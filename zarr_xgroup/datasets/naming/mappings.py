"""Grid mappings: the variables that stand for the CRSs of a group's arrays."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from dataclasses import replace
from functools import cached_property

import numpy as np

from zarr_xgroup.conventions.crs import Crs, likeness
from zarr_xgroup.conventions.model import GridMapping, Interpretation
from zarr_xgroup.conventions.proj import SPATIAL_REF
from zarr_xgroup.conventions.standing import contradicting_crs
from zarr_xgroup.datasets.interpretation import ArrayReading
from zarr_xgroup.datasets.naming.collecting import Wanted
from zarr_xgroup.datasets.naming.describing import Attributes, Described
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
    return replace(
        described,
        named=replace(described.named, variables={**described.named.variables, **mappings.made}),
        attributes=mappings.attributes,
        mentioned=described.mentioned | mappings.used.keys(),
        findings=(*described.findings, *mappings.findings),
    )


class _Mappings:
    """The grid mappings of a group, one after the other.

    Parameters
    ----------
    wanted : Wanted
        The group.
    described : Described
        Its variables and what is said of them.
    """

    def __init__(self, wanted: Wanted, described: Described) -> None:
        self._wanted = wanted
        self._described = described
        self._variables = described.named.variables
        self._known: dict[Interpretation, str] = {}
        self._alike: defaultdict[Hashable, list[str]] = defaultdict(list)
        before = described.attributes
        self.attributes = Attributes(before.own, before.added, before.rewritten)
        self.used: dict[str, GridMapping] = {}
        self.made: dict[str, PlannedVariable] = {}
        self.findings: list[Finding] = []

    @cached_property
    def _dimensions(self) -> frozenset[str]:
        return frozenset(dim for it in self._variables.values() for dim in it.dims)

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
        chosen = self._name_for_located(name, mapping)
        self._use(chosen, mapping)
        self._complete(chosen, mapping, referrer)
        self.attributes.add(name, {"grid_mapping": chosen})

    def _is_coordinate(self, name: str) -> bool:
        """Tell whether a variable is a coordinate, also if only another array says so."""
        variable, wanted = self._variables[name], self._wanted
        if variable.is_coordinate or name in self._described.mentioned or variable.dims == (name,):
            return True
        return name in wanted.named_coordinates and name not in wanted.first_class

    def _name_grid_mapping(self, array: ArrayReading, mapping: GridMapping) -> None:
        """Name an array's CRS by its ``grid_mapping``, in a scalar coordinate.

        An array of the group that serves as such is completed, never doubled.
        """
        named = _named_by(self.attributes, array.node.name)
        if named is not None and self._is_something_else(named):
            return  # not ours to change
        name = named or self._name_for(mapping)
        self._use(name, mapping)
        self.attributes.add(array.node.name, {"grid_mapping": name})
        if self._complete(name, mapping, array.node):
            self._known[array.interpretation] = name

    def _name_for(self, mapping: GridMapping) -> str:
        """Return the variable of a CRS and grid, or a name for one."""
        # 1. The one that is the same already.
        same = self._same(mapping)
        if same is not None:
            return same
        # 2. `spatial_ref`, which stands if the data carry it; what was made of another CRS, or is that of
        #    arrays that name it, is another one.
        if not self._is_something_else(SPATIAL_REF):
            there = self._variable(SPATIAL_REF)
            if there is None or (there.is_own and not self._is_of_others(mapping)):
                return SPATIAL_REF
        # 3. A new one.
        return self._new_name(mapping.crs.variable_name or SPATIAL_REF)

    def _name_for_located(self, located: str, mapping: GridMapping) -> str:
        """Return the variable that a coordinate names, or one of its CRS, or a new name."""
        # 1. What it names itself.
        named = _named_by(self.attributes, located)
        if named is not None and not self._is_something_else(named):
            return named
        # 2. The one that is the same already, whoever made it.
        same = self._same(mapping)
        if same is not None:
            return same
        wanted = mapping.crs.variable_name or "crs"
        if _is_of(self._variables.get(wanted), self.attributes, mapping.crs):
            return wanted
        # 3. A new one.
        return self._new_name(wanted)

    def _new_name(self, wanted: str) -> str:
        sizes = ((it.name, dict.fromkeys(it.dims, 0)) for it in self._variables.values())
        taken = Taken(self._wanted.reading.groups, sizes)
        for name in self.made:
            taken.add(name, {})
        return taken.first_free(wanted, "", taken.is_free_for_others)

    def _variable(self, name: str) -> PlannedVariable | None:
        return self._variables.get(name) or self.made.get(name)

    def _use(self, name: str, mapping: GridMapping) -> None:
        """Have a scalar coordinate stand for a CRS, one that is made if there is none of that name."""
        if self._variable(name) is None:
            source, identity = Literal(np.array(0, np.int64), ()), ("crs", mapping.crs.text)
            self.made[name] = PlannedVariable(
                name, source, (), identity=identity, is_coordinate=True
            )
        if name not in self.used:
            self.used[name] = mapping
            self._alike[likeness(mapping.crs), mapping.geotransform].append(name)

    def _complete(self, name: str, mapping: GridMapping, referrer: Node) -> bool:
        """Complete a grid mapping variable, unless it is of another CRS: then that is told."""
        conflict = _conflict(self.attributes, name, mapping.crs)
        if conflict is not None:
            message = _(
                "the CRS ({key}) is another one than that of {name!r} ({conflict}), which was left "
                "as it is"
            )
            text = message.format(key=mapping.crs.key, name=name, conflict=conflict)
            self.findings.append(noted(Kind.CHOICE, text, referrer))
            return False
        self.attributes.add(name, mapping.crs.grid_mapping())
        if mapping.geotransform is not None:
            self.attributes.add(name, {"GeoTransform": mapping.geotransform})
        return True

    def _same(self, mapping: GridMapping) -> str | None:
        """Return the variable that was used of the same CRS and grid, if there is one."""
        alike = self._alike[likeness(mapping.crs), mapping.geotransform]
        return next((name for name in alike if self.used[name].crs.is_same(mapping.crs)), None)

    def _is_something_else(self, name: str) -> bool:
        """Tell whether a name is that of something that cannot stand for a CRS: no scalar."""
        is_variable = name in self._variables and bool(self._variables[name].dims)
        return is_variable or name in self._wanted.reading.groups or name in self._dimensions

    def _is_of_others(self, mapping: GridMapping) -> bool:
        """Tell whether the group's ``spatial_ref`` is another CRS, and that of arrays that name it."""
        return (
            SPATIAL_REF in self._wanted.mappings
            and _conflict(self.attributes, SPATIAL_REF, mapping.crs) is not None
        )


#: Attributes by which a variable says a CRS.
_OF_CRS = frozenset({"grid_mapping_name", "crs_wkt", "spatial_ref"})


def _named_by(attributes: Attributes, name: str) -> str | None:
    """Return the grid mapping that a variable names, None if what it names can be none."""
    named = attributes.get(name, "grid_mapping")
    return named if isinstance(named, str) and named.isidentifier() else None


def _conflict(attributes: Attributes, name: str, crs: Crs) -> str | None:
    """Return what of a grid mapping variable is of another CRS."""
    return contradicting_crs(attributes.all_of(name), crs)


def _is_of(variable: PlannedVariable | None, attributes: Attributes, crs: Crs) -> bool:
    """Tell whether there is a scalar array of the group that stands for a CRS, and no other one."""
    if variable is None or not variable.is_own or variable.dims:
        return False
    says_one = not _OF_CRS.isdisjoint(attributes.own[variable.name])
    return says_one and _conflict(attributes, variable.name, crs) is None
