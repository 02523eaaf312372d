"""The `proj` service convention: the coordinate reference system of an array.

Its attributes pass through as they are. What tools read is a scalar coordinate besides, named
by the array's ``grid_mapping`` (CF 1.12, section 5.6), ``spatial_ref`` as a rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from zarr_xgroup.conventions.base import ArrayContext, DocumentHandler
from zarr_xgroup.conventions.geolocation import geolocation_of
from zarr_xgroup.conventions.layout import layout_of
from zarr_xgroup.crs import Crs, crs_in
from zarr_xgroup.errors import XGroupMetadataError
from zarr_xgroup.i18n import _
from zarr_xgroup.resolver import Fragment, Node

#: How much of a text that is no CRS a message shows.
_SHOWN = 60


class ProjHandler(DocumentHandler):
    """Finds the CRS of an array; the assembly hands it over with the array's coordinates."""

    tier = "service"
    name = "proj"
    uuid: ClassVar[str | None] = "f17cb550-5864-4468-aeb7-f3180cfb622f"
    repositories = (
        "zarr-conventions/proj",
        "zarr-conventions/geo-proj",
        "zarr-experimental/geo-proj",
    )


def crs_of(context: ArrayContext) -> Crs | None:
    """Return the CRS of an array.

    From ``proj:*`` of the array, else of its group, else of the group whose multiscales
    layout has it, else ``id`` of its ``cs``, ``id`` of a CRS there, ``crs`` of a geolocation.
    What contradicts itself is told; what pyproj does not understand is told and passed over.
    """
    for place in _places(context):
        if not isinstance(place.value, Mapping):
            continue
        found = [crs for crs in crs_in(place.value) if _is_understood(context, place, crs)]
        if not found:
            continue
        for other in found[1:]:
            if found[0].differs(other):
                message = _("{place}: {other} is another CRS than {first}, which was used")
                context.note(message.format(place=place, other=other.key, first=found[0].key))
        return found[0]
    return None


def _is_understood(context: ArrayContext, place: Fragment, crs: Crs) -> bool:
    if not crs.is_understood:
        message = _("{place}: {key} is no CRS that pyproj understands: {text!r}")
        context.problems.append(
            XGroupMetadataError(message.format(place=place, key=crs.key, text=crs.text[:_SHOWN]))
        )
    return crs.is_understood


def _places(context: ArrayContext) -> Iterator[Fragment]:
    """Yield the objects that may say which CRS an array has, the one that counts first."""
    yield from _attributes(context.node)
    if len(context.dimensions) > 1:  # what a group says is of its grids, not of their axes
        yield from _attributes(context.node.group)
        level = layout_of(context)
        if level is not None:
            yield from _attributes(level.group)
    cs = context.node.attribute("cs")
    if cs is not None:
        yield from _members(cs, "id")
        yield from _of_systems(context, cs)
    geolocation = geolocation_of(context)
    if geolocation is not None:
        yield from _of_geolocation(geolocation)


def _attributes(node: Node) -> Iterator[Fragment]:
    document = node.document
    if document is not None:
        yield Fragment(node, ("attributes",), document["attributes"])


def _members(fragment: Fragment, *keys: str) -> Iterator[Fragment]:
    for key in keys:
        member = fragment.get(key)
        if member is not None:
            yield member


def _of_systems(context: ArrayContext, cs: Fragment) -> Iterator[Fragment]:
    systems = cs.get("crs")
    if systems is None or not isinstance(systems.value, list):
        return
    probe = ArrayContext(context.node, context.dimensions, context.reader)
    resolved = [probe.attempt(probe.resolver.fragment, item) for item in systems.items()]
    for system in resolved:
        yield from _members(system, "id") if system is not None else ()
    for system in resolved:
        for geolocation in _members(system, "geolocation") if system is not None else ():
            yield from _of_geolocation(geolocation)


def _of_geolocation(geolocation: Fragment) -> Iterator[Fragment]:
    """Yield the CRS of planar arrays before that of geodetic ones: the grid is in the former."""
    for kind in ("planar", "geodetic"):
        for arrays in _members(geolocation, kind):
            yield from _members(arrays, "crs", "id")
