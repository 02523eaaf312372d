"""Plan groups: name their variables (`naming`), then add the grid mappings of their CRSs (`grid_mappings`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from zarr_xgroup.datasets.grid_mappings import attach_grid_mappings
from zarr_xgroup.datasets.interpretation import GroupReading
from zarr_xgroup.datasets.naming import GroupPlanner
from zarr_xgroup.datasets.plan import GroupPlan
from zarr_xgroup.variables.sources import Stored

if TYPE_CHECKING:
    from zarr_xgroup.variables.factory import VariableFactory


def plan_groups(
    readings: Iterable[GroupReading], factory: VariableFactory, *, with_indexes: bool = False
) -> list[GroupPlan]:
    """Return the plans of groups, in the order of their readings.

    Groups that share a reading share all planned variables except their own arrays, unless the plan has findings.
    If xarray will build indexes (`with_indexes`), a coordinate that is too long for an index does not get the name of
    its dimension.
    """
    plans: list[GroupPlan] = []
    shared: dict[object, GroupPlan] = {}
    for reading in readings:
        sharing = None if reading.times else reading.sharing
        if sharing is not None and sharing in shared:
            plans.append(_plan_like(reading, shared[sharing]))
            continue
        plans.append(_plan_group(reading, factory, with_indexes=with_indexes))
        if sharing is not None and not plans[-1].findings:
            shared[sharing] = plans[-1]
    return plans


def _plan_like(reading: GroupReading, plan: GroupPlan) -> GroupPlan:
    """Return a copy of the plan of an equal group, with the own arrays replaced."""
    arrays = {array.node.name: array for array in reading.arrays}
    planned = (
        replace(array, node=arrays[name].node, document=arrays[name].document)
        for array in plan.reading.arrays
        for name in [array.node.name]
    )
    reading = replace(reading, arrays=tuple(planned))
    variables = []
    for variable in plan.variables:
        if variable.is_own and isinstance(variable.source, Stored):
            array = arrays[variable.name]
            source, identity = replace(variable.source, node=array.node), variable.identity
            if isinstance(identity, tuple):  # the source, then decoding attributes
                identity = (source, *identity[1:])
            variable = replace(
                variable, source=source, own_attributes=array.document.attributes, identity=identity
            )
        variables.append(variable)
    return GroupPlan(reading, tuple(variables), ())


def _plan_group(
    reading: GroupReading, factory: VariableFactory, *, with_indexes: bool
) -> GroupPlan:
    """Return the plan of one group."""
    planner = GroupPlanner(reading, factory, with_indexes=with_indexes)
    for array in planner.arrays:
        planner.attach_coordinates_of(array)
    for name, attributes in reading.times.items():
        planner.declare_times(name, attributes)
    attach_grid_mappings(planner)
    planner.decide_decoding_of_times()
    of_arrays = (finding for array in planner.arrays for finding in planner.findings_of(array))
    findings = (*reading.findings, *planner.findings, *of_arrays)
    return GroupPlan(planner.reading, tuple(planner.variables.values()), findings)
