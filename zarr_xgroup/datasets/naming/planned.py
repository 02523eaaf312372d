"""The plan of a group: its variables with all that is said of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from zarr_xgroup.datasets.naming.collecting import Wanted
from zarr_xgroup.datasets.naming.describing import Attributes, Described
from zarr_xgroup.datasets.plan import GroupPlan, PlannedVariable
from zarr_xgroup.metadata.cf import DECODED_BY


def planned(wanted: Wanted, described: Described) -> GroupPlan:
    """Return the plan of a group."""
    reading = wanted.reading
    times: dict[str, bool] = {}
    for name, is_declared in _times(wanted, described):
        times.setdefault(name, is_declared)  # boundaries of several are decoded by the first
    variables = tuple(
        _planned(it, described, times, reading.bounds_of_dropped)
        for it in described.named.variables.values()
    )
    said = (finding for array in wanted.arrays for finding in array.interpretation.findings)
    return GroupPlan(reading, variables, (*reading.findings, *described.findings, *said))


def _times(wanted: Wanted, described: Described) -> Iterator[tuple[str, bool]]:
    """Yield what xarray decodes as times, and whether their units are not their own.

    So it does boundaries of times that have no units: of its own accord where a group has both.
    """
    attributes, variables = described.attributes, described.named.variables
    for name in wanted.reading.bounds_of_dropped:
        if name in variables and attributes.get(name, "units") is None:
            yield name, False
    for name, variable in variables.items():
        if "since" in str(attributes.get(name, "units")):
            is_declared = "units" not in attributes.own.get(name, {})
            yield name, is_declared
            bounds = str(attributes.get(name, "bounds"))
            if bounds in variables and attributes.get(bounds, "units") is None:
                is_found = variable.is_own and variables[bounds].is_own
                yield bounds, is_declared or not is_found


def _planned(
    variable: PlannedVariable,
    described: Described,
    times: Mapping[str, bool],
    bounds_of_dropped: Mapping[str, Mapping[str, Any]],
) -> PlannedVariable:
    """Return a variable as it is planned; `times` says whether units of times are declared."""
    name, attributes = variable.name, described.attributes
    added = attributes.added.get(name, {})
    is_declared = times.get(name, False) or not DECODED_BY.isdisjoint(added)
    return msgspec.structs.replace(
        variable,
        identity=_meaning(variable, attributes),
        is_coordinate=variable.is_coordinate or name in described.mentioned,
        attributes=added,
        coordinates=described.coordinates.get(name, ()),
        users=tuple(described.users.get(name, ())),
        names_coordinates=attributes.has(name, "coordinates"),
        claims=tuple(described.claims.get(name, {}).values()),
        bounds_of=described.bounds_of.get(name, ""),
        rewritten=attributes.rewritten.get(name, {}),
        of_times=bounds_of_dropped.get(name, {}) if variable.is_own else {},
        is_time=name in times,
        has_declared_decoding=is_declared,
    )


def _meaning(variable: PlannedVariable, attributes: Attributes) -> Any:
    """Return what a variable is to other groups: numbers are something else in another unit."""
    if variable.identity is None:
        return None
    added = attributes.added.get(variable.name, {})
    units = ((key, added[key]) for key in sorted(DECODED_BY & added.keys()))
    return variable.identity, *(it for it in units if isinstance(it[1], str | int | float))
