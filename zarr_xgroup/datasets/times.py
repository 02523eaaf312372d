"""Times of a tree: what all arrays that refer to an array take it for, it is in its own group, too.

Pure.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from zarr_xgroup.datasets.interpretation import ArrayReading, GroupReading
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.variables.sources import Stored

#: By array, and by who refers to it: the attributes of times that it is declared to have.
_Declared: TypeAlias = Mapping[Node, Mapping[Node, list[Mapping[str, Any]]]]


def with_times(readings: Sequence[GroupReading]) -> list[GroupReading]:
    """Return the readings of a tree's groups, told which of their arrays are times.

    Those are arrays without units of their own that arrays of other groups refer to, and to which
    all that refer to them give the same units and calendar.
    """
    declared = _declared(readings)
    return [_told(reading, declared) for reading in readings]


def _told(reading: GroupReading, declared: _Declared) -> GroupReading:
    """Return a reading with the times among its arrays; it is like that of no other group then."""
    times = {
        array.node.name: attributes
        for array in reading.arrays
        if array.node in declared
        and "units" not in array.document.attributes
        and any(node.group != array.node.group for node in declared[array.node])
        and (attributes := _agreed(declared[array.node]))
    }
    return replace(reading, times=times, like=None) if times else reading


def _declared(readings: Iterable[GroupReading]) -> _Declared:
    """Return what arrays declare of those that they refer to; an empty list if no times."""
    declared: dict[Node, dict[Node, list[Mapping[str, Any]]]] = defaultdict(dict)
    for array in (it for reading in readings for it in reading.arrays):
        for node, attributes in _references(array):
            times = declared[node].setdefault(array.node, [])
            if isinstance(units := attributes.get("units"), str) and "since" in units:
                times.append(attributes)
    return declared


def _references(array: ArrayReading) -> Iterator[tuple[Node, Mapping[str, Any]]]:
    """Yield the arrays that an array refers to, each with what it declares of it."""
    yield from ((node, {}) for node in array.interpretation.referred)
    linked = (link.coordinate for link in array.interpretation.links)
    inherited = array.inherited.coordinates
    companions = (link.coordinate for it in inherited for link in it.links)
    for coordinate in (*array.interpretation.coordinates, *linked, *inherited, *companions):
        for part in coordinate.parts():
            if isinstance(part.source, Stored):
                yield part.source.node, part.attributes


def _agreed(declared: Mapping[Node, Sequence[Mapping[str, Any]]]) -> dict[str, Any] | None:
    """Return what all declare of an array; None unless it is the same times."""
    if not all(declared.values()):
        return None
    first, *others = (attributes for times in declared.values() for attributes in times)
    if any(_units(it) != _units(first) for it in others):
        return None
    return {key: it for key, it in first.items() if all(key in o and o[key] == it for o in others)}


def _units(times: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return what times count from, and by which calendar."""
    return times.get("units"), times.get("calendar")
