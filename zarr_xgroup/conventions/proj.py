"""The `proj` service convention: the coordinate reference system of an array.

Its attributes pass through as they are. What tools read is a scalar coordinate besides, named
by the array's ``grid_mapping`` (CF 1.12, section 5.6), ``spatial_ref`` as a rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from zarr_xgroup.conventions.array import ArrayView
from zarr_xgroup.conventions.base import ConventionHandler
from zarr_xgroup.conventions.crs import Crs, crs_in
from zarr_xgroup.conventions.geolocation import geolocation_of, systems_of
from zarr_xgroup.conventions.layout import layout_of
from zarr_xgroup.conventions.model import Interpretation
from zarr_xgroup.errors import XGroupMetadataError
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Fragment, Node

#: How much of a text that is no CRS a message shows.
_SHOWN = 60


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
    reads = ("proj:", "cs", "geolocation", "multiscales")

    def interpret(self, array: ArrayView) -> Interpretation:
        """Return the CRS of the array."""
        return array.found(crs=array.derived(crs_of))


def crs_of(array: ArrayView) -> Crs | None:
    """Return the CRS of an array.

    From ``proj:*`` of the array, else of its group, else of the group whose multiscales
    layout has it, else ``id`` of its ``cs``, ``id`` of a CRS there, ``crs`` of a geolocation.
    What contradicts itself is told; what pyproj does not understand is told and passed over.
    """
    for place in _places(array):
        if not isinstance(place.value, Mapping):
            continue
        found = [crs for crs in crs_in(place.value) if _is_understood(array, place, crs)]
        if not found:
            continue
        for other in found[1:]:
            if found[0].differs(other):
                message = _("{place}: {other} is another CRS than {first}, which was used")
                array.note(message.format(place=place, other=other.key, first=found[0].key))
        return found[0]
    return None


def _is_understood(array: ArrayView, place: Fragment, crs: Crs) -> bool:
    if not crs.is_understood:
        message = _("{place}: {key} is no CRS that pyproj understands: {text!r}")
        text = message.format(place=place, key=crs.key, text=crs.text[:_SHOWN])
        array.problem(XGroupMetadataError(text))
    return crs.is_understood


def _places(array: ArrayView) -> Iterator[Fragment]:
    """Yield the objects that may say which CRS an array has, the one that counts first."""
    yield from _attributes(array, array.node)
    if len(array.dims) > 1:  # what a group says is of its grids, not of their axes
        yield from _attributes(array, array.node.group)
        level = array.derived(layout_of)
        if level is not None:
            yield from _attributes(array, level.group)
    cs = array.attribute("cs")
    if cs is not None:
        yield from _members(cs, "id")
        yield from _of_systems(array)
    geolocation = array.derived(geolocation_of)
    if geolocation is not None:
        yield from _of_geolocation(geolocation)


def _attributes(array: ArrayView, node: Node) -> Iterator[Fragment]:
    document = array.document_of(node)
    if document is not None:
        yield Fragment(node, ("attributes",), document.attributes)


def _members(fragment: Fragment, *keys: str) -> Iterator[Fragment]:
    for key in keys:
        member = fragment.get(key)
        if member is not None:
            yield member


def _of_systems(array: ArrayView) -> Iterator[Fragment]:
    systems = array.derived(systems_of)
    for system in systems:
        yield from _members(system, "id")
    for system in systems:
        for geolocation in _members(system, "geolocation"):
            yield from _of_geolocation(geolocation)


def _of_geolocation(geolocation: Fragment) -> Iterator[Fragment]:
    """Yield the CRS of planar arrays before that of geodetic ones: the grid is in the former."""
    for kind in ("planar", "geodetic"):
        for arrays in _members(geolocation, kind):
            yield from _members(arrays, "crs", "id")
