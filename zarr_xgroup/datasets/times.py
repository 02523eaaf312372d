"""Times of a tree: arrays that only references from different groups declare to be times."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from zarr_xgroup.conventions.units import is_bare_unit_of_time
from zarr_xgroup.datasets.decode import why_not_times
from zarr_xgroup.datasets.interpretation import GroupReading
from zarr_xgroup.metadata.nodes import Node


def with_times(readings: Sequence[GroupReading]) -> list[GroupReading]:
    """Return the readings of a tree's groups with `times` set: the arrays that are times by references alone.

    An array without units, or whose own units are a unit of time without an epoch, is a time if all arrays that refer to it, at least one of them in another
    group, declare the same units of time and calendar for it. It is then decoded in its own group, too.
    """
    # For each array: the attributes of times that each referring array declares of it.
    declared: dict[Node, dict[Node, list[Mapping[str, Any]]]] = defaultdict(dict)
    for referrer in (array for reading in readings for array in reading.arrays):
        for node, attributes in referrer.said_of_arrays():
            times = declared[node].setdefault(referrer.node, [])
            units = attributes.get("units")
            if isinstance(units, str) and "since" in units and not why_not_times(attributes):
                times.append(attributes)

    def agreed(node: Node) -> dict[str, Any]:
        """Return the attributes that all referring arrays declare alike of an array; {} if it is not a time to all."""
        by_referrer = declared.get(node, {})
        is_local = all(referrer.group == node.group for referrer in by_referrer)
        if not all(by_referrer.values()) or is_local:
            return {}
        times = [attributes for each in by_referrer.values() for attributes in each]
        if len({(time["units"], str(time.get("calendar"))) for time in times}) > 1:
            return {}
        shared = times[0].items()
        return {
            key: value for key, value in shared if all(time.get(key) == value for time in times)
        }

    found = []
    for reading in readings:
        unitless = (
            array.node
            for array in reading.arrays
            for units in (array.document.attributes.get("units"),)
            if units is None or is_bare_unit_of_time(units)
        )
        times_by_name = {node.name: attributes for node in unitless if (attributes := agreed(node))}
        found.append(replace(reading, times=times_by_name) if times_by_name else reading)
    return found
