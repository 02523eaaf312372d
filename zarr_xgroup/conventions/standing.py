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

Decided is here which one stands; `datasets.build` compares values once they are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from zarr_xgroup.conventions.array import CONVENTIONS_KEY, ArrayView
from zarr_xgroup.conventions.crs import Crs, conflicting_grid_mapping
from zarr_xgroup.conventions.model import Coordinate
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import names_in, only_mapping
from zarr_xgroup.metadata.nodes import Fragment
from zarr_xgroup.variables.sources import Computed, HandlerVariable, Offset, Stored

#: What tools expect the variable of a CRS to be called.
SPATIAL_REF = "spatial_ref"


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
    if not is_told and _is_named(array):
        return None  # where arrays name their CRS, this one has none
    return Fragment(array.node.group.child(name), ("attributes",), document.attributes)


def _is_named(array: ArrayView) -> bool:
    """Tell whether arrays of the group name its ``spatial_ref`` by their ``grid_mapping``."""
    key, known = (_is_named, array.node.group), array.models.of_groups
    if key not in known:
        siblings = (array.sibling(name) for name in array.siblings)
        known[key] = any(
            SPATIAL_REF in mappings_in(it.attributes) for it in siblings if it is not None
        )
    return bool(known[key])


def mappings_in(attributes: Mapping[str, Any]) -> list[str]:
    """Return the names in the attribute ``grid_mapping``, those of coordinates included."""
    return [name.rstrip(":") for name in names_in(attributes, "grid_mapping")]


def own_crs(array: ArrayView) -> Crs | None:
    """Return the CRS that stands: that of the array that serves as grid mapping, if it says one."""
    own = own_grid_mapping(array)
    return None if own is None else crs_of_grid_mapping(own.value)


def crs_of_grid_mapping(attributes: Mapping[str, Any]) -> Crs | None:
    """Return the CRS that the attributes of a grid mapping variable say, if it is understood."""
    return next((crs for crs in _written_in(attributes) if crs.is_understood), None)


def _written_in(attributes: Mapping[str, Any]) -> Iterator[Crs]:
    """Yield what a grid mapping variable says of its CRS as text."""
    for key in ("crs_wkt", "spatial_ref"):
        if isinstance(text := attributes.get(key), str):
            yield Crs(key, text)


def reconciled(array: ArrayView, own: Crs | None, declared: Crs | None) -> Crs | None:
    """Return the CRS that stands, else the declared one; if they differ, that is told."""
    if own is not None and declared is not None and own.differs(declared):
        message = _(
            "the CRS ({key}) is another one than that of {name!r} ({conflict}), which was left "
            "as it is"
        )
        name = array.attributes.get("grid_mapping") or SPATIAL_REF
        array.note(message.format(key=declared.key, name=name, conflict=own.key))
    return own or declared


def contradicting_crs(own: Mapping[str, Any], declared: Crs) -> str | None:
    """Return the attribute by which a grid mapping variable is of another CRS than is declared, if any.

    Parameters
    ----------
    own : mapping
        The attributes of the variable.
    declared : Crs
        What is declared.
    """
    differing = (crs.key for crs in _written_in(own) if crs.differs(declared))
    return next(differing, None) or conflicting_grid_mapping(own, declared.grid_mapping())
