"""Plan groups: one variable for each source, and one name for each variable.

The steps are those of `_plan_group`: dimensions are split (`splitting`), the coordinates of each array are attached in
the order of the arrays' names (`planner`), the first declaration of an attribute is used, and CRSs come last
(`grid_mappings`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from zarr_xgroup.conventions.declaring import CONVENTIONS_KEY
from zarr_xgroup.conventions.handler_set import ArrayReading
from zarr_xgroup.datasets.grid_mappings import attach_grid_mappings
from zarr_xgroup.datasets.interpretation import GroupReading
from zarr_xgroup.datasets.plan import Declaration, GroupPlan
from zarr_xgroup.datasets.planner import GroupPlanner
from zarr_xgroup.datasets.splitting import split_dimensions
from zarr_xgroup.datasets.times import decide_decoding
from zarr_xgroup.findings import OPEN_RULES, Finding, Place, Topic
from zarr_xgroup.metadata.cf import names_in
from zarr_xgroup.metadata.nodes import Node, pointer_to
from zarr_xgroup.variables.sources import Computed, Stored, Unusable

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
    return GroupPlan(reading, tuple(variables), (), plan.replaced)


def _plan_group(
    reading: GroupReading, factory: VariableFactory, *, with_indexes: bool
) -> GroupPlan:
    """Return the plan of one group."""
    reading = _without_grids_of_subsets(reading, factory)
    reading, of_dimensions = split_dimensions(reading, factory, with_indexes=with_indexes)
    planner = GroupPlanner(reading, factory, with_indexes=with_indexes)
    for array in reading.arrays:
        planner.attach_coordinates_of(array)
    for name, attributes in reading.times.items():
        planner.declare_times(name, attributes)
    planner.remove_names_of_other_arrays()
    attach_grid_mappings(planner)
    planner.remove_names_of_other_arrays()  # of the grid mapping variables
    decide_decoding(planner.variables, reading.bounds_of_dropped)
    of_arrays = _findings_of_arrays(planner)
    findings = (*reading.findings, *of_dimensions, *planner.findings, *of_arrays)
    variables = tuple(planner.variables.values())
    return GroupPlan(reading, variables, findings, _replaced(planner.declarations))


def _replaced(declarations: Iterable[Declaration]) -> tuple[Declaration, ...]:
    """Return the coordinates that are replaced or left out: of equal ones, the first replaced and the last left out."""
    replaced: dict[tuple[str, Hashable], Declaration] = {}
    left_out: dict[tuple[str, Hashable], Declaration] = {}
    for declared in declarations:
        if declared.is_replaced:
            replaced.setdefault((declared.variable, declared.identity), declared)
        elif declared.outcome == "left out":
            left_out[declared.variable, declared.source] = declared
    return (*replaced.values(), *left_out.values())


def _without_grids_of_subsets(reading: GroupReading, factory: VariableFactory) -> GroupReading:
    """Return a reading without the computed coordinates of coordinates whose sizes no data array has.

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
    if not data or all(sizes.issuperset(array.sizes.items()) for array in reading.arrays):
        return reading
    arrays = (
        array if sizes.issuperset(array.sizes.items()) else _without_grid(array)
        for array in reading.arrays
    )
    return replace(reading, arrays=tuple(arrays))


def _without_grid(array: ArrayReading) -> ArrayReading:
    """Return an array without computed coordinates, and without the CRS and findings that follow from them."""
    interpretation = array.interpretation
    coordinates = interpretation.coordinates
    kept = tuple(each for each in coordinates if not isinstance(each.source, Computed))
    if len(kept) == len(coordinates):
        return array
    # A choice made for the grid has no effect, so opening does not report it.
    findings = tuple(
        replace(finding, topic=None) if finding.topic is Topic.CHOICE else finding
        for finding in interpretation.findings
    )
    crs = interpretation.crs if "grid_mapping" in array.document.attributes else None
    interpretation = replace(
        interpretation, coordinates=kept, crs=crs, geotransform=None, findings=findings
    )
    return replace(array, interpretation=interpretation)


def _findings_of_arrays(planner: GroupPlanner) -> Iterator[Finding]:
    """Yield the findings about arrays.

    Left out are choices of coordinates that own arrays of the group replace, and missing grid mapping variables if
    the array has a CRS.
    """
    unusable: defaultdict[Node, list[Finding]] = defaultdict(list)
    for declared in planner.declarations:
        if isinstance(declared.source, Unusable):
            finding = declared.source.finding
            if declared.outcome == "unusable":
                unusable[declared.referrer].append(finding)
            elif declared.is_replaced and finding.rule not in OPEN_RULES.values():
                # Only `check` reports it.
                unreported = {"topic": None, "severity": "warning", "arrays": (), "cost": ""}
                unusable[declared.referrer].append(replace(finding, **unreported))
    for array in planner.reading.arrays:
        findings = array.interpretation.findings
        choices = _choices_without_effect(array, planner) if findings else ()
        mapping = str(planner.variables[array.node.name].get("grid_mapping"))
        has_crs = bool(findings) and mapping in planner.variables
        of_mapping = Place(str(array.node), "/attributes/grid_mapping")
        for finding in (*findings, *unusable[array.node]):
            if has_crs and finding.topic is Topic.PROBLEM and finding.place == of_mapping:
                continue
            if finding.topic is not Topic.CHOICE or (finding.place, finding.text) not in choices:
                yield finding


def _choices_without_effect(
    array: ArrayReading, planner: GroupPlanner
) -> Collection[tuple[Place, str]]:
    """Return place and text of choices of references whose coordinates are all replaced by own arrays."""
    interpretation = array.interpretation
    replaced, others = set[Node](), set[Node]()
    coordinates, _links = planner.attached[interpretation]
    for declared in coordinates:
        for part in declared.coordinate.parts():
            if isinstance(part.source, Stored):
                is_top = part is declared.coordinate
                is_replaced = is_top and planner.variables[declared.variable].is_own
                (replaced if is_replaced else others).add(part.source.node)
    return {
        (Place(str(followed.written), pointer_to(followed.keys)), followed.choice)
        for followed in interpretation.references
        if followed.leads_to in replaced - others
    }
