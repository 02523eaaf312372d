"""One name for each variable of a group: the same thing reached twice is one, two never share one.

Pure: a reading becomes a plan in steps, from values to values that nobody edits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from zarr_xgroup.datasets.interpretation import GroupReading
from zarr_xgroup.datasets.naming.collecting import Wanted, collect
from zarr_xgroup.datasets.naming.describing import Described, describe
from zarr_xgroup.datasets.naming.mappings import with_grid_mappings
from zarr_xgroup.datasets.naming.names import give_names
from zarr_xgroup.datasets.naming.uniting import unite
from zarr_xgroup.datasets.plan import GroupPlan, PlannedVariable
from zarr_xgroup.metadata.cf import DECODED_BY

if TYPE_CHECKING:
    from zarr_xgroup.variables.making import Maker


def plan_group(reading: GroupReading, maker: Maker, *, with_indexes: bool) -> GroupPlan:
    """Return what the Dataset of a group will hold.

    What is too long to be read for an index must not be called as its dimension, lest xarray read it.
    """
    wanted = collect(reading, maker, with_indexes=with_indexes)
    united = unite(wanted)
    named = give_names(wanted, united)
    described = describe(wanted, united, named)
    return planned(wanted, with_grid_mappings(wanted, described))


def planned(wanted: Wanted, described: Described) -> GroupPlan:
    """Return the plan of a group."""
    reading = wanted.reading
    times: dict[str, bool] = {}
    for name, is_declared in _times(wanted, described):
        times.setdefault(name, is_declared)  # boundaries of several are decoded by the first
    variables = tuple(
        _planned(it, described, times, reading.bounds_of_dropped)
        for it in described.variables.values()
    )
    said = (finding for array in wanted.arrays for finding in array.interpretation.findings)
    return GroupPlan(reading, variables, (*reading.findings, *described.findings, *said))


def _times(wanted: Wanted, described: Described) -> Iterator[tuple[str, bool]]:
    """Yield what xarray decodes as times, and whether their units are not their own.

    So it does boundaries of times that have no units: of its own accord where a group has both.
    """
    attributes, variables = described.attributes, described.variables
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
    # Numbers are something else to other groups in another unit.
    units = ((key, added[key]) for key in sorted(DECODED_BY & added.keys()))
    meaning = variable.identity, *(it for it in units if isinstance(it[1], str | int | float))
    return msgspec.structs.replace(
        variable,
        identity=None if variable.identity is None else meaning,
        attributes=added,
        names_coordinates=attributes.has(name, "coordinates"),
        rewritten=attributes.rewritten.get(name, {}),
        of_times=bounds_of_dropped.get(name, {}) if variable.is_own else {},
        is_time=name in times,
        has_declared_decoding=times.get(name, False) or not DECODED_BY.isdisjoint(added),
    )
