"""The `proj` service convention: the coordinate reference system of an array.

Its attributes pass through as they are. What tools read is a scalar coordinate besides, named
by the array's ``grid_mapping`` (CF 1.12, section 5.6), ``spatial_ref`` as a rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from zarr_xgroup.conventions.array import ArrayView
from zarr_xgroup.conventions.base import ConventionHandler
from zarr_xgroup.conventions.cf_paths import array_named
from zarr_xgroup.conventions.crs import GDAL_KEYS, Crs
from zarr_xgroup.conventions.declaring import is_declared_by_array
from zarr_xgroup.conventions.dialects.tiles import crs_of_tiles
from zarr_xgroup.conventions.geolocation import systems_of
from zarr_xgroup.conventions.layout import is_declared_around, places_of
from zarr_xgroup.conventions.model import Interpretation
from zarr_xgroup.conventions.proj_model import ATTRIBUTES, crs_at
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import names_in, only_mapping
from zarr_xgroup.metadata.nodes import Fragment, Node

#: The name under which the draft of the GeoZarr standard is assumed.
GEOZARR = "geozarr"

#: What tools expect the variable of a CRS to be called.
SPATIAL_REF = "spatial_ref"


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

    @classmethod
    def applies(cls, array: ArrayView) -> bool:
        """Tell whether the array declares the convention, or its group or that of its layout."""
        return is_declared_by_array(cls, array) or is_declared_around(cls, array)

    def interpret(self, array: ArrayView) -> Interpretation:
        """Return the CRS of the array."""
        return array.found(crs=array.derived(crs_of))


def crs_of(array: ArrayView) -> Crs | None:
    """Return the CRS of an array.

    That of its grid mapping variable (named by its ``grid_mapping``, else ``spatial_ref`` in its
    group, unless other arrays there name that one), for what the data carry themselves stands. Else from ``proj:*``
    of the first place that has them (`places_of`), else ``id`` of its ``cs``, else
    ``id`` of a CRS there, else ``proj:*`` directly in it, else GDAL's ``_CRS`` or that of the tile
    matrix set where GeoZarr is assumed. That of a geolocation is the CRS of its arrays, not of the grid.
    """
    own = array.quietly(_of_grid_mapping, array)
    declared = _declared_crs(array, is_needed=own is None)
    if own is not None and declared is not None and own.differs(declared):
        message = _(
            "the CRS ({key}) is another one than that of {name!r} ({conflict}), which was left "
            "as it is"
        )
        name = array.attributes.get("grid_mapping") or SPATIAL_REF
        array.note(message.format(key=declared.key, name=name, conflict=own.key))
    return own or declared


def _declared_crs(array: ArrayView, *, is_needed: bool) -> Crs | None:
    """Return the CRS that is declared; that of tiles only if it is needed."""
    for place in _places(array):
        if (crs := crs_at(array, place)) is not None:
            return crs
    if GEOZARR not in array.assumed:
        return None
    return _of_gdal(array) or (crs_of_tiles(array) if is_needed else None)


def own_grid_mapping(array: ArrayView) -> Fragment | None:
    """Return the attributes of the array that serves as grid mapping, None if there is none.

    It is in the group of the array; where GeoZarr is assumed, maybe in one above.
    """
    node = grid_mapping_named(array) if GEOZARR in array.assumed else None
    if node is None:
        is_told = isinstance(array.attributes.get("grid_mapping"), str)
        name = only_mapping(array.attributes) if is_told else SPATIAL_REF
        if name is None or array.sibling(name) is None:
            return None
        if not is_told and _is_named(array):
            return None  # where arrays name their CRS, this one has none
        node = array.node.group.child(name)
    document = array.document_of(node)
    if document is None or document.get("shape") != []:
        return None
    return Fragment(node, ("attributes",), document.attributes)


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


def grid_mapping_named(array: ArrayView) -> Node | None:
    """Return the array that the attribute ``grid_mapping`` names first (CF 1.12, 2.7 and 5.6)."""
    names = names_in(array.attributes, "grid_mapping")
    if not names:
        return None
    place = Fragment(array.node, ("attributes", "grid_mapping"), names[0].rstrip(":"))
    return array_named(array, place)


def _of_grid_mapping(array: ArrayView) -> Crs | None:
    """Return the CRS of the array that serves as grid mapping, if it says one."""
    own = own_grid_mapping(array)
    attributes = {} if own is None else own.value
    for key in ("crs_wkt", "spatial_ref"):
        text = attributes.get(key)
        if isinstance(text, str) and (crs := Crs(key, text)).is_understood:
            return crs
    return None


def _of_gdal(array: ArrayView) -> Crs | None:
    """Return the CRS of ``_CRS``, which GDAL writes on arrays."""
    written = array.attribute("_CRS")
    if written is None or array.attempt(written.as_object) is None:
        return None
    return crs_at(array, written, GDAL_KEYS)


def _places(array: ArrayView) -> Iterator[Fragment]:
    """Yield the objects that may say which CRS an array has, the one that counts first."""
    places = array.derived(places_of)
    yield from places.own
    if len(array.dims) > 1:  # what a group says is of its grids, not of their axes
        yield from places.around
    cs = array.attribute("cs")
    if cs is not None:
        yield from _members(cs, "id")
        for system in array.derived(systems_of):
            yield from _members(system, "id")
            yield system


def _members(fragment: Fragment, *keys: str) -> Iterator[Fragment]:
    for key in keys:
        member = fragment.get(key)
        if member is not None:
            yield member
