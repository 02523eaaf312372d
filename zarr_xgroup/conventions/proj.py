"""The `proj` service convention: the coordinate reference system of an array.

Its attributes pass through as they are. What tools read is a scalar coordinate besides, named
by the array's ``grid_mapping`` (CF 1.12, section 5.6), ``spatial_ref`` as a rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from zarr_xgroup.conventions.array import ArrayView, once_per_array
from zarr_xgroup.conventions.base import ConventionHandler
from zarr_xgroup.conventions.crs import Crs
from zarr_xgroup.conventions.declaring import is_declared_by_array
from zarr_xgroup.conventions.model import Interpretation
from zarr_xgroup.conventions.multiscales import is_declared_around, places_of
from zarr_xgroup.conventions.proj_model import ATTRIBUTES, RULES, crs_at
from zarr_xgroup.metadata.cf import only_mapping
from zarr_xgroup.metadata.nodes import Fragment

#: What tools expect the variable of a CRS to be called.
SPATIAL_REF = "spatial_ref"

#: Attributes by which a variable says a CRS.
CRS_ATTRIBUTES = frozenset({"grid_mapping_name", "crs_wkt", "spatial_ref"})


class ProjHandler(ConventionHandler):
    """Says which CRS an array has, whichever of the conventions built in declares it."""

    tier = "service"
    name = "proj"
    uuid: ClassVar[str | None] = "f17cb550-5864-4468-aeb7-f3180cfb622f"
    repositories = (
        "zarr-conventions/proj",
        "zarr-conventions/geo-proj",
        "zarr-experimental/geo-proj",
    )
    described = ATTRIBUTES
    rules = RULES
    reads = ()

    @classmethod
    def applies(cls, array: ArrayView) -> bool:
        """Tell whether the array declares the convention, or its group or that of its layout."""
        return is_declared_by_array(cls, array) or is_declared_around(cls, array)

    def interpret(self, array: ArrayView) -> Interpretation:
        """Return the CRS of the array."""
        return array.interpretation(crs=crs_of(array))


@once_per_array
def crs_of(array: ArrayView) -> Crs | None:
    """Return the CRS of an array.

    That of its grid mapping variable (named by its ``grid_mapping``, else ``spatial_ref`` in its
    group), for what the data carry themselves stands. Else from ``proj:*``
    of the first place that has them (`places_of`), else what other conventions say (`ConventionHandler.crs`).
    That of a geolocation is the CRS of its arrays, not of the grid.
    """
    own, before = array.try_silently(own_crs, array), len(array.findings)
    declared = next(filter(None, (crs_at(array, place) for place in _places(array))), None)
    declared = declared or array.crs_of(array)
    if own is None:
        return declared
    # Only a check tells what is wrong with what does not count.
    array.findings[before:] = [replace(finding, topic=None) for finding in array.findings[before:]]
    array.overruled_crs = declared
    return own


def _places(array: ArrayView) -> Iterator[Fragment]:
    """Yield the objects that may say which CRS an array has, the one that counts first."""
    places = places_of(array)
    yield from places.own
    if len(array.dims) > 1:  # what a group says is of its grids, not of their axes
        yield from places.around


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
