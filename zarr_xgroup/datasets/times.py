"""Decide which arrays are times, in which units, and which variables xarray decodes as times."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from zarr_xgroup.conventions.handler_set import ArrayReading
from zarr_xgroup.conventions.model import Coordinate
from zarr_xgroup.conventions.units import (
    TIME_KEYS,
    is_bare_unit_of_time,
    is_same_unit_of_time,
    is_time,
    unit_and_epoch,
    units_of_bounds,
    why_not_times,
    with_completed_units,
)
from zarr_xgroup.datasets.interpretation import GroupReading
from zarr_xgroup.datasets.plan import PlannedVariable
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.variables.sources import Stored

if TYPE_CHECKING:
    from zarr_xgroup.variables.factory import VariableFactory


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
            if is_time(attributes.get("units")) and not why_not_times(attributes):
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
    if any(str(time.get(key)) != str(first.get(key)) for time in others for key in TIME_KEYS):
        return {}
    return {
        key: value for key, value in first.items() if all(time.get(key) == value for time in others)
    }


def identity_of(coordinate: Coordinate, factory: VariableFactory) -> Hashable:
    """Return the identity of a coordinate.

    It contains declared units and calendar of times, unless the array's own units are used or the declared ones
    cannot be decoded.
    """
    source = coordinate.source
    if not isinstance(source, Stored) or not is_time(coordinate.attributes.get("units")):
        return coordinate.identity
    own = factory.attributes(source.node)
    times = with_completed_units(coordinate.attributes, own)
    is_own = "units" in own and not is_bare_unit_of_time(own["units"])
    if is_own or why_not_times(times):
        return coordinate.identity
    return source, str(times["units"]), str(times.get("calendar"))


def usable_attributes(coordinate: Coordinate, own: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Return the declared attributes of a coordinate that can be used, and the problem with its units, or "".

    Units of time complete its `own` unit. Units that cannot be decoded are left out, because engine zarr could not open
    a store with them.
    """
    declared = coordinate.attributes
    attributes = dict(with_completed_units(declared, own))
    units = attributes.get("units")
    used = {**attributes, **own, **({"units": units} if units != declared.get("units") else {})}
    if (reason := why_not_times(used)) and not why_not_times(own):
        for key in TIME_KEYS:
            attributes.pop(key, None)
        if is_time_axis(attributes.get("axis"), coordinate.source.dims, coordinate.name):
            attributes.setdefault("standard_name", "time")
        text = _(
            "the units and calendar of its coordinate {name!r} were not added ({units}): {reason}"
        ).format(name=coordinate.name, units=json.dumps(used["units"]), reason=reason)
        return attributes, text
    if unit_and_epoch(units) is None or is_same_unit_of_time(str(units), declared["units"]):
        return attributes, ""
    text = _(
        "its coordinate {name!r} has units {own}, but {declared} are declared; it was opened with {units}"
    ).format(
        name=coordinate.name,
        own=json.dumps(own["units"]),
        declared=json.dumps(declared["units"]),
        units=json.dumps(units),
    )
    return attributes, text


def is_time_axis(axis: Any, dims: tuple[str, ...], name: str) -> bool:
    """Return whether times lie along a temporal axis. `axis` is their attribute ``axis``, or None."""
    return axis == "T" or (axis is None and dims in ((), (name,)))


def decide_decoding(
    variables: Mapping[str, PlannedVariable], bounds_of_dropped: Mapping[str, Mapping[str, Any]]
) -> None:
    """Set `inherited` of bounds of times, and add the attributes for decoding to the identity of each variable.

    xarray decodes bounds without units with the units of the times that name them.
    """
    # 1. Bounds of times that the user dropped.
    for name, times in bounds_of_dropped.items():
        if (bounds := variables.get(name)) is not None and bounds.is_own:
            bounds.inherited = times
    for variable in variables.values():
        # 2. Bounds of times of the group.
        for name, times in units_of_bounds(
            {**variable.times, "bounds": variable.get("bounds")}
        ).items():
            if (bounds := variables.get(name)) is not None:
                bounds.inherited = {**times, **bounds.inherited}
                are_stored = variable.is_own and bounds.is_own
                is_declared = not are_stored or "units" in variable.declared_decoding
                bounds.inherits_declared = is_declared and bounds.get("units") is None
        # 3. If other groups declare a different unit for the same numbers, it is a different coordinate.
        if variable.identity is not None:
            declared = variable.declared_decoding.items()
            plain = (pair for pair in declared if isinstance(pair[1], str | int | float))
            variable.identity = (variable.identity, *plain)
