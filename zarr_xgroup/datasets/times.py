"""Times of a tree: arrays that are times because arrays in different groups declare it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from zarr_xgroup.conventions.handler_set import ArrayReading
from zarr_xgroup.conventions.units import is_bare_unit_of_time, why_not_times
from zarr_xgroup.datasets.interpretation import GroupReading
from zarr_xgroup.metadata.nodes import Node


def with_times(readings: Sequence[GroupReading]) -> list[GroupReading]:
    """Return the readings of a tree's groups, with `times` set for arrays that are times only by references.

    An array without units, or with a unit of time without an epoch, is a time if all arrays that refer to it, at least
    one of them in a different group, declare the same units of time and calendar for it. It is then decoded in its own
    group, too.
    """
    # The attributes of times that each referring array declares for an array.
    declared: dict[Node, dict[Node, list[Mapping[str, Any]]]] = defaultdict(dict)
    for referrer in (array for reading in readings for array in reading.arrays):
        for node, attributes in referrer.referred_arrays():
            times = declared[node].setdefault(referrer.node, [])
            units = attributes.get("units")
            if isinstance(units, str) and "since" in units and not why_not_times(attributes):
                times.append(attributes)

    result = []
    for reading in readings:
        times_by_name = {
            array.node.name: _agreed_times(array, declared[array.node]) for array in reading.arrays
        }
        times_by_name = {name: times for name, times in times_by_name.items() if times}
        result.append(replace(reading, times=times_by_name) if times_by_name else reading)
    return result


def _agreed_times(
    array: ArrayReading, declared: Mapping[Node, Sequence[Mapping[str, Any]]]
) -> dict[str, Any]:
    """Return the attributes of times on which all referring arrays agree, {} if the array is not a time."""
    units = array.document.attributes.get("units")
    is_local = all(referrer.group == array.node.group for referrer in declared)
    if is_local or not all(declared.values()):
        return {}
    if units is not None and not is_bare_unit_of_time(units):
        return {}
    first, *others = (time for times in declared.values() for time in times)
    keys = ("units", "calendar")
    if any(str(time.get(key)) != str(first.get(key)) for time in others for key in keys):
        return {}
    return {
        key: value for key, value in first.items() if all(time.get(key) == value for time in others)
    }
