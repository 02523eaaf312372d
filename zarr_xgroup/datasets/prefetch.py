"""What xarray is about to read of Datasets, one thing after the other, fetched together.

xarray reads dimension coordinates to build its default indexes, and the first and the last
value of times to find out how they decode. Over a network each of these reads is a round trip.
Here they are all requested at once, each array once however many groups have it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import zarr

from zarr_xgroup.datasets.budget import MOST_OWN_BYTES, Cost, beyond_budget
from zarr_xgroup.datasets.plan import GroupPlan, PlannedVariable
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.metadata.snapshots import read_problem
from zarr_xgroup.storage.library import Library
from zarr_xgroup.variables.making import Maker
from zarr_xgroup.variables.sources import Stored
from zarr_xgroup.variables.stored import Template

#: By array and whether all values are wanted: these, the first and the last one, or the error.
Values: TypeAlias = Mapping[tuple[Node, bool], Any]


@dataclass(frozen=True)
class Reads:
    """What xarray will read: of which variables, for times (its option), for indexes."""

    dropped: frozenset[str]
    decode_times: Any
    for_indexes: bool

    def whole(self, planned: PlannedVariable) -> bool | None:
        """Return whether all of a variable will be read, or its ends; None if nothing will."""
        if planned.name in self.dropped or planned.stored is None:
            return None
        if self.for_indexes and (planned.is_compared or planned.dims == (planned.name,)):
            return True
        by_name = isinstance(self.decode_times, Mapping)
        times = self.decode_times.get(planned.name, True) if by_name else self.decode_times
        return False if times is not False and planned.is_time else None


def prefetch(plans: Collection[GroupPlan], reads: Reads, maker: Maker, library: Library) -> Values:
    """Return the values that xarray will read of planned groups.

    Of the group's own times it may read some itself, one after the other, as with any engine.
    """
    wanted = [item for plan in plans for item in _wanted(plan, reads, maker)]
    beyond, refused = _beyond((planned for planned, whole in wanted if not whole), maker)
    arrays = dict(_arrays(wanted, beyond, maker, library))
    text = _("{node} was not read, its chunks are too long to be read for one value")
    problems = {
        (it, False): read_problem(library.snapshots[it.store], text.format(node=it))
        for it in refused
    }
    return {**problems, **library.read_values(arrays)}


def _arrays(
    wanted: Iterable[tuple[PlannedVariable, bool]],
    beyond: Collection[Node],
    maker: Maker,
    library: Library,
) -> Iterator[tuple[tuple[Node, bool], zarr.Array[Any]]]:
    """Yield the arrays of which all values are to be read, or the ends, each once."""
    known = set()
    for planned, whole in wanted:
        node = planned.stored
        if node is None or (node, whole) in known or (not whole and node in beyond):
            continue
        known.add((node, whole))
        array = _template(planned, maker).zarr_array(library.zarr_store(node.store), node.path)
        yield (node, whole), array


def _beyond(
    ends: Iterable[PlannedVariable], maker: Maker
) -> tuple[frozenset[Node], frozenset[Node]]:
    """Return arrays whose ends are in chunks too long to be read all at once, and those of them refused.

    These must not be read by xarray either.
    """
    costs: dict[Node, Cost] = {}
    own: set[Node] = set()
    for planned in ends:
        if planned.stored is not None:
            template = _template(planned, maker)
            shape, size = template.shape, template.dtype.itemsize
            chunks = template.encoding.get("chunks") or shape
            costs[planned.stored] = Cost.of_ends(shape, size, chunks)
            own |= {planned.stored} if planned.is_own else set()
    beyond = beyond_budget(costs)
    free = {node for node in own if costs[node].bytes <= MOST_OWN_BYTES}
    return beyond, beyond - free


def _wanted(plan: GroupPlan, reads: Reads, maker: Maker) -> Iterator[tuple[PlannedVariable, bool]]:
    for planned in plan.variables:
        whole = reads.whole(planned)
        if whole or (whole is False and prod(_template(planned, maker).shape)):
            yield planned, whole


def _template(planned: PlannedVariable, maker: Maker) -> Template:
    source = planned.source
    if not isinstance(source, Stored):
        raise TypeError(source)
    return maker.template(source.node, source.along)
