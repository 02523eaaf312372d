"""Grid mappings: the scalar coordinates that stand for the CRSs of a group's arrays."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from itertools import chain

import numpy as np

from zarr_xgroup.conventions.crs import (
    CRS_ATTRIBUTES,
    SPATIAL_REF,
    Crs,
    crs_of_grid_mapping,
)
from zarr_xgroup.conventions.model import GridMapping, Interpretation
from zarr_xgroup.datasets.plan import PlannedVariable, UnfinishedPlan
from zarr_xgroup.errors import XGroupError, containing
from zarr_xgroup.findings import Topic, report
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import names_in, only_mapping
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.variables.sources import Literal


def attach_grid_mappings(group: UnfinishedPlan) -> None:
    """Add grid mapping variables for the CRSs of a group's arrays, and name them by ``grid_mapping``.

    An array that is no coordinate names the CRS of its grid. A coordinate in another CRS names its own, which is
    never taken for the CRS of the grid.
    """
    # 1. Most tools do not read ``crs: x y``: the only CRS of an array is named alone. The variables that the
    #    attribute names become coordinates, as by xarray's ``decode_coords="all"``.
    variables = group.variables
    for array in group.arrays:
        variable = variables[array.node.name]
        written = {"grid_mapping": variable.get("grid_mapping")} if array.conventions else {}
        only = only_mapping(written)
        if only in variables and written["grid_mapping"] != only and not variables[only].dims:
            variable.rewritten["grid_mapping"] = only
            for name in names_in(written, "grid_mapping"):
                if name in variables and name not in group.data:
                    variables[name].is_coordinate = True

    # 2. The CRSs of grids. Coordinates and bounds name none. Arrays with one interpretation have the same CRS.
    gridded = [array for array in group.arrays if array.interpretation.crs is not None]
    if not gridded and not group.in_other_crs:
        return
    mappings = _GridMappings(group)
    attributes = [array.document.attributes for array in group.arrays]
    keys = ("coordinates", "bounds")
    named = {name for own in attributes for key in keys for name in names_in(own, key)} - group.data
    known: dict[Interpretation, str] = {}
    for array in gridded:
        said, variable = array.interpretation, variables[array.node.name]
        is_axis = variable.is_coordinate or variable.dims == (variable.name,)
        if said.grid_mapping is None or is_axis or variable.name in named:
            continue
        if said in known and variable.get("grid_mapping") is None:
            variable.add({"grid_mapping": known[said]})
            continue
        try:
            with containing():
                used = mappings.use_for_grid(variable, said.grid_mapping, array.node)
        except XGroupError as error:
            group.findings.append(report(Topic.PROBLEM, array.node, error))
        else:
            if used:
                known[said] = used

    # 3. The CRSs of coordinates that are in another one.
    for name, (crs, referrer) in group.in_other_crs.items():
        mappings.use_for_coordinate(variables[name], GridMapping(crs), referrer)


class _GridMappings:
    """The grid mapping variables of a group, one for each CRS and geotransform."""

    def __init__(self, group: UnfinishedPlan) -> None:
        self._group = group
        self._used: dict[str, GridMapping] = {}
        #: Names of grid mapping variables by `_numbers`: only CRSs with the same numbers are compared.
        self._names_by_numbers: defaultdict[Hashable, list[str]] = defaultdict(list)

    def use_for_grid(self, array: PlannedVariable, mapping: GridMapping, referrer: Node) -> str:
        """Name the CRS of an array's grid by its ``grid_mapping``, and return the name.

        "" if the attribute names a variable that is no grid mapping or has another CRS. An array of the group that
        is the grid mapping gets the attributes that it lacks; no second one is made.
        """
        name = _grid_mapping_of(array)
        if name and not self._can_be_mapping(name):
            return ""  # the attribute is the store's, and stays
        name = name or self._name_used_for(mapping)
        if not name:
            # `spatial_ref`, as rioxarray has it, unless that was made for another CRS or cannot be a grid mapping.
            there = self._group.variables.get(SPATIAL_REF)
            is_free = (there is None or there.is_own) and self._can_be_mapping(SPATIAL_REF)
            name = SPATIAL_REF if is_free else self._new_name(mapping.crs, SPATIAL_REF)
        return name if self._use(name, mapping, array, referrer) else ""

    def use_for_coordinate(
        self, coordinate: PlannedVariable, mapping: GridMapping, referrer: Node
    ) -> None:
        """Name the CRS of a coordinate by its ``grid_mapping``."""
        name = _grid_mapping_of(coordinate)
        if not name or not self._can_be_mapping(name):
            name = self._name_used_for(mapping)
        if not name:
            # A scalar array of the group serves if its attributes describe this CRS.
            name = mapping.crs.variable_name or "crs"
            there = self._group.variables.get(name)
            own = None
            if there is not None and there.is_own and not there.dims:
                own = crs_of_grid_mapping(there.own_attributes)
            if own is None or not own.is_same(mapping.crs):
                name = self._new_name(mapping.crs, "crs")
        self._use(name, mapping, coordinate, referrer)

    def _can_be_mapping(self, name: str) -> bool:
        """Tell whether a grid mapping can have a name: that of a scalar variable, or a free one."""
        variable = self._group.variables.get(name)
        if variable is None:
            return self._group.names.is_free_for_others(name)
        return not variable.dims and not self._group.names.is_dimension(name)

    def _name_used_for(self, mapping: GridMapping) -> str:
        """Return the grid mapping variable used for the same CRS and geotransform, "" if there is none."""
        names = self._names_by_numbers[_numbers(mapping.crs), mapping.geotransform]
        return next((name for name in names if self._used[name].crs.is_same(mapping.crs)), "")

    def _new_name(self, crs: Crs, otherwise: str) -> str:
        """Return a free name for a CRS: from the name that its convention gives it, else from `otherwise`."""
        names = self._group.names
        return names.first_free(crs.variable_name or otherwise, "", names.is_free_for_others)

    def _use(self, name: str, mapping: GridMapping, user: PlannedVariable, referrer: Node) -> bool:
        """Name a grid mapping in the ``grid_mapping`` of a variable; it is made if there is none of the name.

        It gets the attributes of the CRS. False, with a finding, if other arrays use it for another CRS.
        """
        crs, variables = mapping.crs, self._group.variables
        if name not in variables:
            source = Literal(np.array(0, np.int64), ())
            variables[name] = PlannedVariable(name, source, (), {}, identity=("crs", crs.text))
            self._group.names.add(name, {})
        variable = variables[name]
        variable.is_coordinate = True
        first = self._used.setdefault(name, mapping)
        if first is mapping:
            self._names_by_numbers[_numbers(crs), mapping.geotransform].append(name)
        user.add({"grid_mapping": name})
        own = variable.own_attributes if variable.is_own else {}
        has_this_crs = crs.text in (own.get("crs_wkt"), own.get("spatial_ref"))
        if not has_this_crs and any(key in own for key in CRS_ATTRIBUTES):
            return (
                True  # a CRS that the store's own grid mapping describes goes before a declared one
            )
        if first.crs.differs(crs):
            message = _(
                "the CRS ({key}) is another one than {name!r} has for other arrays ({other})"
            )
            text = message.format(key=crs.key, name=name, other=first.crs.key)
            self._group.findings.append(report(Topic.CHOICE, referrer, text))
            return False
        variable.add(crs.grid_mapping())
        if mapping.geotransform is not None:
            variable.add({"GeoTransform": mapping.geotransform})
        return True


def _grid_mapping_of(variable: PlannedVariable) -> str:
    """Return the name in a variable's ``grid_mapping``, "" without one or if it is not a single name."""
    name = variable.get("grid_mapping")
    return name if isinstance(name, str) and name.isidentifier() else ""


def _numbers(crs: Crs) -> Hashable:
    """Return the rounded numbers of a CRS's grid mapping, or its text if pyproj does not understand the CRS.

    Offsets of 0 and scales of 1 are left out: one method of projection has them, an equivalent one has not.
    """
    if not crs.is_understood:
        return crs.text
    mapping = crs.grid_mapping()
    values = [value for key, value in mapping.items() if key != "towgs84"]
    numbers = chain.from_iterable(value if isinstance(value, list) else [value] for value in values)
    return frozenset(
        f"{it:.8g}" for it in numbers if isinstance(it, int | float) and it not in (0, 1)
    )
