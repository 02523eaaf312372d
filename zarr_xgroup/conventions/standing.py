"""What the data carry themselves stands: against what, what is compared, and what is said.

Whoever opens, subsets, reprojects and writes data leaves the attributes of conventions behind. Reopening must
not bring back what they say. What is declared adds where absent.

====================  ==========================  =================================  ======================
declared              stands                      compared                           if they differ
====================  ==========================  =================================  ======================
values of a           the array of the group      where xarray reads the coordinate  one choice is told; the
coordinate (inline,   that is called so, see      anyway                             own ones are used, and
computed)             `is_standing`                                                  no declared boundaries
another array, as     the 1-D array of the group  in the same case; of equal values  both are kept, the name
a dimension's         that is called as its       the own one alone is kept          is told
coordinate            dimension
boundaries            those that the own          with the values that they are      the declared ones are
                      coordinate names; else at   declared for, as these             left out
                      the declared distances
                      from the own values
a CRS                 the grid mapping variable   always, as far as both say the     the choice is told, and
                      that an array names, else   same things, see                   nothing is added to it
                      ``spatial_ref``             `contradicting_crs`
====================  ==========================  =================================  ======================

Decided is here which one stands; `datasets.comparing` compares values once they are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from zarr_xgroup.conventions.array import CONVENTIONS_KEY
from zarr_xgroup.conventions.crs import Crs, conflicting_grid_mapping
from zarr_xgroup.conventions.model import Coordinate
from zarr_xgroup.variables.sources import Computed, HandlerVariable, Offset, Stored


def is_standing(name: str, dims: tuple[str, ...], attributes: Mapping[str, Any]) -> bool:
    """Tell whether an array of a group stands where metadata give values for what is called so.

    A coordinate does, whoever wrote it. An array that declares conventions may be data; it is a
    coordinate all the same where it is called like its only dimension.
    """
    return dims == (name,) or CONVENTIONS_KEY not in attributes


def stands(own: Stored, attributes: Mapping[str, Any], declared: Coordinate) -> bool:
    """Tell whether a group's own array stands in the place of a coordinate that is declared.

    Parameters
    ----------
    own : Stored
        The array that is called as the coordinate, along the dimensions that it has.
    attributes : mapping
        Its attributes.
    declared : Coordinate
        What is declared.
    """
    source = declared.source
    if isinstance(source, HandlerVariable) or sorted(own.dims) != sorted(source.dims):
        return False
    if not isinstance(source, Stored):
        return is_standing(declared.name, source.dims, attributes)
    return source.dims == (declared.name,) and source.node != own.node


def boundaries_of(own: Stored, declared: Coordinate) -> Coordinate:
    """Return boundaries at distances from declared values as those at these from the own values.

    Parameters
    ----------
    own : Stored
        The group's own coordinate, of numbers.
    declared : Coordinate
        Its boundaries as they are declared.
    """
    source = declared.source
    if not isinstance(source, Computed | Offset):
        return declared
    distances = source.function if isinstance(source, Computed) else source
    offset = Offset(own, distances.below, distances.above, source.dims[-1])
    return replace(declared, source=offset)


def contradicting_crs(own: Mapping[str, Any], declared: Crs) -> str | None:
    """Return the attribute by which a grid mapping variable is of another CRS than is declared, if any.

    Parameters
    ----------
    own : mapping
        The attributes of the variable.
    declared : Crs
        What is declared.
    """
    for key in ("crs_wkt", "spatial_ref"):
        given = own.get(key)
        if isinstance(given, str) and Crs(key, given).differs(declared):
            return key
    return conflicting_grid_mapping(own, declared.grid_mapping())
