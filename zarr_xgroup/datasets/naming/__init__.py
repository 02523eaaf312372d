"""One name for each variable of a group: the same thing reached twice is one, two never share one.

Pure: a reading becomes a plan in steps, from values to values that nobody edits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from zarr_xgroup.datasets.budget import NO_LIMIT, IndexBudget
from zarr_xgroup.datasets.interpretation import GroupReading
from zarr_xgroup.datasets.naming.collecting import collect
from zarr_xgroup.datasets.naming.describing import describe
from zarr_xgroup.datasets.naming.mappings import with_grid_mappings
from zarr_xgroup.datasets.naming.names import give_names
from zarr_xgroup.datasets.naming.planned import planned
from zarr_xgroup.datasets.naming.uniting import unite
from zarr_xgroup.datasets.plan import GroupPlan

if TYPE_CHECKING:
    from zarr_xgroup.variables.making import Maker


def plan_group(reading: GroupReading, maker: Maker, budget: IndexBudget = NO_LIMIT) -> GroupPlan:
    """Return what the Dataset of a group will hold.

    Parameters
    ----------
    reading : GroupReading
        The group, interpreted.
    maker : Maker
        Says what sizes sources have.
    budget : IndexBudget, optional
        Which coordinates must not be called as their dimension, lest xarray read them.
    """
    wanted = collect(reading, maker, budget)
    united = unite(wanted)
    named = give_names(wanted, united)
    described = describe(wanted, united, named)
    return planned(wanted, with_grid_mappings(wanted, described))
