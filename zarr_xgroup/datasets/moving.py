"""Plans of groups that differ only in where they are: each made of the plan of the first.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from zarr_xgroup.datasets.budget import NO_LIMIT, IndexBudget
from zarr_xgroup.datasets.interpretation import GroupReading
from zarr_xgroup.datasets.naming import plan_group
from zarr_xgroup.datasets.plan import GroupPlan, PlannedVariable
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.variables.sources import Computed, Literal, Stored

if TYPE_CHECKING:
    from zarr_xgroup.variables.making import Maker


def plan_groups(
    readings: Iterable[GroupReading], maker: Maker, budget: IndexBudget = NO_LIMIT
) -> list[GroupPlan]:
    """Return what the Datasets of groups will hold.

    Parameters
    ----------
    readings : iterable of GroupReading
        The groups, interpreted.
    maker, budget
        See `plan_group`.
    """
    plans: dict[GroupReading, GroupPlan] = {}
    for reading in readings:
        like = None if reading.like is None else plans.get(reading.like)
        if like is not None and _can_be_moved(like, reading.node):
            plans[reading] = _moved(like, reading)
        else:
            plans[reading] = plan_group(reading, maker, budget)
    return list(plans.values())


def _can_be_moved(plan: GroupPlan, group: Node) -> bool:
    """Tell whether a group whose reading is like that of a plan has the same plan.

    Not if anything was found, as that was found in another place, nor if an array of one of the two
    groups is a coordinate by reference: in that group it is the group's own, in the other it is not.
    """
    return not plan.findings and all(
        _is_as_read(it) if it.is_own else _is_of_neither(it, (plan.node, group))
        for it in plan.variables
    )


def _is_as_read(own: PlannedVariable) -> bool:
    """Tell whether nothing is declared of the values of an array of the group."""
    return own.identity is None and not own.claims


def _is_of_neither(planned: PlannedVariable, groups: tuple[Node, Node]) -> bool:
    """Tell whether a coordinate follows from metadata or is an array of other groups."""
    source = planned.source
    if isinstance(source, Stored):
        return source.node.group not in groups
    return isinstance(source, Computed | Literal)


def _moved(plan: GroupPlan, reading: GroupReading) -> GroupPlan:
    """Return a plan with the arrays of another group in place of its own."""
    pairs = zip(plan.reading.arrays, reading.arrays, strict=True)
    nodes = {theirs.node: mine.node for theirs, mine in pairs}

    def moved(planned: PlannedVariable) -> PlannedVariable:
        source = planned.source
        if isinstance(source, Stored) and source.node in nodes:
            source = replace(source, node=nodes[source.node])
        users = tuple(nodes[user] for user in planned.users)
        referrer = None if planned.referrer is None else nodes[planned.referrer]
        return msgspec.structs.replace(planned, source=source, users=users, referrer=referrer)

    return GroupPlan(reading, tuple(map(moved, plan.variables)), ())
