"""What xarray is about to read of Datasets, one thing after the other, fetched together.

xarray reads dimension coordinates to build its default indexes, and the first and the last
value of times to find out how they decode. Over a network each of these reads is a round trip.
Here they are all requested at once, each array once however many groups have it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

from zarr_xgroup.datasets.plan import GroupPlan, PlannedVariable
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.storage.library import Library
from zarr_xgroup.storage.values import ValueRequest
from zarr_xgroup.variables.making import Maker
from zarr_xgroup.variables.sources import Stored
from zarr_xgroup.variables.stored import Template

#: By array and whether all values are wanted: these, the first and the last one, or the error.
Values: TypeAlias = Mapping[tuple[Node, bool], Any]


@dataclass(frozen=True)
class Wishes:
    """What xarray will read.

    Attributes
    ----------
    dropped : frozenset of str
        Variables that are not wanted.
    decode_times : object
        xarray's option, perhaps by variable; False keeps times from being looked at.
    for_indexes : bool
        Whether dimension coordinates will be read.
    """

    dropped: frozenset[str]
    decode_times: Any
    for_indexes: bool

    def whole(self, planned: PlannedVariable, units: object) -> bool | None:
        """Return whether all of a variable will be read, or its ends; None if nothing will."""
        if planned.name in self.dropped or planned.stored is None:
            return None
        is_compared = planned.rival is not None
        if self.for_indexes and (is_compared or planned.dims == (planned.name,)):
            return True
        by_name = isinstance(self.decode_times, Mapping)
        times = self.decode_times.get(planned.name, True) if by_name else self.decode_times
        return False if times is not False and "since" in str(units) else None


def prefetch(
    plans: Collection[GroupPlan], wishes: Wishes, maker: Maker, library: Library
) -> Values:
    """Return the values that xarray will read of planned groups."""
    requests: dict[tuple[Node, bool], ValueRequest] = {}
    for planned, whole in (item for plan in plans for item in _wanted(plan, wishes, maker)):
        node = planned.stored
        if node is not None and (node, whole) not in requests:
            template = _template(planned, maker)
            requests[node, whole] = ValueRequest(
                node,
                template.zarr_array(library.zarr_store(node.store), node.path),
                whole,
                library.snapshots[node.store],
                library.limit(node.store),
                library.timeout(node.store),
            )
    if not requests:
        return {}
    return dict(zip(requests, library.values(requests.values()), strict=True))


def _wanted(
    plan: GroupPlan, wishes: Wishes, maker: Maker
) -> Iterator[tuple[PlannedVariable, bool]]:
    for planned in plan.variables:
        if planned.stored is None:
            continue
        units = maker.attributes(planned.stored).get("units", planned.attributes.get("units"))
        whole = wishes.whole(planned, units)
        if whole or (whole is False and prod(_template(planned, maker).shape)):
            yield planned, whole


def _template(planned: PlannedVariable, maker: Maker) -> Template:
    source = planned.source
    if not isinstance(source, Stored):
        raise TypeError(source)
    return maker.template(source.node, source.along)
