"""Grid mappings: the scalar coordinates that hold the CRSs of a group's arrays."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator
from functools import lru_cache
from itertools import chain

import numpy as np

from zarr_xgroup.conventions.crs import (
    CRS_ATTRIBUTES,
    SPATIAL_REF,
    Crs,
    crs_of_grid_mapping,
)
from zarr_xgroup.conventions.handler_set import ArrayReading
from zarr_xgroup.conventions.model import Interpretation
from zarr_xgroup.datasets.plan import PlannedVariable
from zarr_xgroup.datasets.planner import GroupPlanner
from zarr_xgroup.errors import XGroupError, converting_errors
from zarr_xgroup.findings import Topic, new_finding
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import mappings_in, names_in, only_mapping
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.variables.sources import Literal


def attach_grid_mappings(group: GroupPlanner) -> None:
    """Add grid mapping variables for the CRSs of a group's arrays, and name them in ``grid_mapping``.

    A data array gets the CRS of its grid. A coordinate in a different CRS gets its own CRS.
    """
    _name_mappings_alone(group)
    variables, mappings = group.variables, _GridMappings(group)
    known: dict[Interpretation, str] = {}  # arrays with the same interpretation have the same CRS
    for array, crs in _arrays_on_grids(group):
        interpretation, variable = array.interpretation, variables[array.node.name]
        if interpretation in known and variable.get("grid_mapping") is None:
            variable.add({"grid_mapping": known[interpretation]})
            continue
        try:
            with converting_errors():
                transform = interpretation.geotransform
                mapping = mappings.use(variable, crs, array.node, transform, is_grid=True)
        except XGroupError as error:
            group.findings.append(new_finding(Topic.PROBLEM, array.node, error))
        else:
            if mapping:
                known[interpretation] = mapping

    in_other_crs: dict[str, tuple[Crs, Node]] = {}
    for declared in group.declarations:
        other = declared.coordinate.crs
        if other is not None and declared.outcome in ("new", "known"):
            in_other_crs.setdefault(declared.variable, (other, declared.referrer))
    for name, (crs, referrer) in in_other_crs.items():
        mappings.use(variables[name], crs, referrer)


def _name_mappings_alone(group: GroupPlanner) -> None:
    """Replace ``crs: x y`` by ``crs`` if it is the only CRS of an array: most tools do not read the longer form.

    The variables x and y become coordinates, as with xarray's ``decode_coords="all"``.
    """
    variables = group.variables
    for array in group.reading.arrays:
        variable = variables[array.node.name]
        written = {"grid_mapping": variable.get("grid_mapping")} if array.conventions else {}
        only = only_mapping(written)
        if only in variables and written["grid_mapping"] != only and not variables[only].dims:
            variable.rewritten["grid_mapping"] = only
            for name in names_in(written, "grid_mapping"):
                if name in variables and name not in group.own.data:
                    variables[name].is_coordinate = True


def _arrays_on_grids(group: GroupPlanner) -> Iterator[tuple[ArrayReading, Crs]]:
    """Yield the arrays of a group that need the CRS of their grid: all except coordinates and bounds.

    An array that becomes a grid mapping during the iteration is then a coordinate.
    """
    systems = [(array, array.interpretation.crs) for array in group.reading.arrays]
    gridded = [(array, crs) for array, crs in systems if crs is not None]
    attributes = [array.document.attributes for array in (group.reading.arrays if gridded else ())]
    keys = ("coordinates", "bounds")
    named = {
        name for own in attributes for key in keys for name in names_in(own, key)
    } - group.own.data
    for array, crs in gridded:
        variable = group.variables[array.node.name]
        if not variable.is_in_coords and variable.name not in named:
            yield array, crs


class _GridMappings:
    """The grid mapping variables of a group, one for each CRS and geotransform."""

    def __init__(self, group: GroupPlanner) -> None:
        self._group = group
        #: The CRS that each variable is used for.
        self._crs_by_name: dict[str, Crs] = {}
        #: Names of the variables by `_numbers` and geotransform: only CRSs with the same numbers are compared.
        self._names_by_numbers: defaultdict[Hashable, list[str]] = defaultdict(list)

    def use(
        self,
        user: PlannedVariable,
        crs: Crs,
        referrer: Node,
        geotransform: str | None = None,
        *,
        is_grid: bool = False,
    ) -> str:
        """Name the CRS of a variable in its ``grid_mapping``, and return the name of the grid mapping variable.

        If that variable does not exist, it is added, and replaces a path to a missing one. Return "" if the variable's
        own ``grid_mapping`` names a variable that cannot be a grid mapping, or one that does not describe this CRS.
        """
        variables, names = self._group.variables, self._group.names
        same_numbers = self._names_by_numbers[_numbers(crs), geotransform]
        name = user.get("grid_mapping")
        if isinstance(name, str) and name.isidentifier():
            if not self._can_be_mapping(name):
                return ""  # the attribute is stored, and is kept
        else:
            equal = (name for name in same_numbers if self._crs_by_name[name].is_same(crs))
            missing = mappings_in({"grid_mapping": name})
            name = next(equal, None) or self._new_name(crs, is_grid=is_grid)
            if missing and variables.keys().isdisjoint(missing):
                user.rewritten["grid_mapping"] = name
        if name not in variables:
            source = Literal(np.array(0, np.int64), ())
            variables[name] = PlannedVariable(name, source, (), {}, identity=("crs", crs.text))
            names.add(name, {})
        variable = variables[name]
        variable.is_coordinate = True
        if name not in self._crs_by_name:
            self._crs_by_name[name] = crs
            same_numbers.append(name)
        user.add({"grid_mapping": name})
        return name if self._describe(variable, crs, referrer, geotransform) else ""

    def _describe(
        self, mapping: PlannedVariable, crs: Crs, referrer: Node, geotransform: str | None
    ) -> bool:
        """Add the attributes of a CRS to a grid mapping variable, unless it is an array that describes a CRS itself.

        Return False, with a finding, if other arrays use the variable for a different CRS.
        """
        own = mapping.own_attributes if mapping.is_own else {}
        has_this_crs = crs.text in (own.get("crs_wkt"), own.get("spatial_ref"))
        if not has_this_crs and any(key in own for key in CRS_ATTRIBUTES):
            return True  # the store's own grid mapping takes precedence over a declared CRS
        if (first := self._crs_by_name[mapping.name]).differs(crs):
            message = _(
                "the CRS ({key}) differs from that of other arrays with grid mapping {name!r} ({other})"
            )
            text = message.format(key=crs.key, name=mapping.name, other=first.key)
            finding = new_finding(Topic.CHOICE, referrer, text, severity="error")
            self._group.findings.append(finding)
            return False
        mapping.add(crs.grid_mapping())
        if geotransform is not None:
            mapping.add({"GeoTransform": geotransform})
        return True

    def _can_be_mapping(self, name: str) -> bool:
        """Return whether a grid mapping can have this name: it is free, or the name of a scalar variable."""
        variable = self._group.variables.get(name)
        if variable is None:
            return self._group.names.is_free_for_others(name)
        return not variable.dims and not self._group.names.is_dimension(name)

    def _new_name(self, crs: Crs, *, is_grid: bool) -> str:
        """Return the name of a grid mapping variable for a CRS that does not have one yet.

        For a grid, this is ``spatial_ref`` as in rioxarray, unless that was added for a different CRS or cannot be a grid
        mapping. For a coordinate, it is a scalar array of the group with the name and attributes of the CRS.
        """
        variables, names = self._group.variables, self._group.names
        wanted = crs.variable_name or "crs"
        own = variables.get(SPATIAL_REF if is_grid else wanted)
        if is_grid:
            if (own is None or own.is_own) and self._can_be_mapping(SPATIAL_REF):
                return SPATIAL_REF
        elif own is not None and own.is_own and not own.dims:
            described = crs_of_grid_mapping(own.own_attributes)
            if described is not None and described.is_same(crs):
                return wanted
        return names.first_free(wanted, "", names.is_free_for_others)


@lru_cache  # most arrays have the same CRS
def _numbers(crs: Crs) -> Hashable:
    """Return the rounded numbers of a CRS's grid mapping, or its text if pyproj does not understand the CRS.

    Numbers 0 and 1 are left out, because equivalent projection methods may not have offsets or scales.
    """
    if not crs.is_understood:
        return crs.text
    values = [value for key, value in crs.grid_mapping().items() if key != "towgs84"]
    numbers = chain.from_iterable(value if isinstance(value, list) else [value] for value in values)
    return frozenset(
        f"{number:.8g}"
        for number in numbers
        if isinstance(number, int | float) and number not in (0, 1)
    )
