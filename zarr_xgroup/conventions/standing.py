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
a CRS                 the grid mapping variable   never                              nothing is added to it
                      that an array names, else
                      ``spatial_ref``
====================  ==========================  =================================  ======================

Decided is here which one stands; `datasets.build` compares values once they are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from zarr_xgroup.conventions.array import CONVENTIONS_KEY, ArrayView
from zarr_xgroup.conventions.crs import Crs
from zarr_xgroup.conventions.model import Coordinate
from zarr_xgroup.metadata.cf import only_mapping
from zarr_xgroup.metadata.nodes import Fragment
from zarr_xgroup.variables.sources import Computed, HandlerVariable, Offset, Stored

#: What tools expect the variable of a CRS to be called.
SPATIAL_REF = "spatial_ref"

#: Attributes by which a variable says a CRS.
CRS_ATTRIBUTES = frozenset({"grid_mapping_name", "crs_wkt", "spatial_ref"})


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


def own_grid_mapping(array: ArrayView) -> Fragment | None:
    """Return the attributes of the array of the group that serves as grid mapping, None without one."""
    is_told = isinstance(array.attributes.get("grid_mapping"), str)
    name = only_mapping(array.attributes) if is_told else SPATIAL_REF
    document = None if name is None else array.sibling(name)
    if name is None or document is None or document.get("shape") != []:
        return None
    return Fragment(array.node.group.child(name), ("attributes",), document.attributes)


def own_crs(array: ArrayView) -> Crs | None:
    """Return the CRS that stands: that of the array that serves as grid mapping, if it says one."""
    own = own_grid_mapping(array)
    return None if own is None else crs_of_grid_mapping(own.value)


def crs_of_grid_mapping(attributes: Mapping[str, Any]) -> Crs | None:
    """Return the CRS that the attributes of a grid mapping variable say, if it is understood."""
    texts = ((key, attributes.get(key)) for key in ("crs_wkt", "spatial_ref"))
    systems = (Crs(key, text) for key, text in texts if isinstance(text, str))
    return next((crs for crs in systems if crs.is_understood), None)
