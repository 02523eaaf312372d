"""`proj`: the coordinate reference system of an array.

The attributes ``proj:*`` pass through unchanged. In addition, the CRS becomes a grid mapping variable for tools: a
scalar coordinate that the array's ``grid_mapping`` names (CF 1.12, section 5.6), usually ``spatial_ref``. The members
are read by `zarr_xgroup.conventions.crs`, because other conventions have proj objects, too. `crs_of` returns the CRS of
an array to other conventions.

Source: proj convention (zarr-conventions/proj).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar

from zarr_xgroup.conventions.array import ArrayView, once_per_array
from zarr_xgroup.conventions.attributes import Attribute
from zarr_xgroup.conventions.base import ConventionHandler
from zarr_xgroup.conventions.crs import (
    AGREEING,
    CRS_KEYS,
    EPSG,
    OBJECT_OF_PROJ,
    RULES,
    SPATIAL_REF,
    Crs,
    ProjMembers,
    crs_of_grid_mapping,
    read_systems,
)
from zarr_xgroup.conventions.descriptions import fields_of
from zarr_xgroup.conventions.model import Interpretation
from zarr_xgroup.conventions.multiscales import follows_by_level, scopes_of
from zarr_xgroup.findings import Topic
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import only_mapping
from zarr_xgroup.metadata.nodes import OBJECT, Fragment

#: Attributes that only the projection extension of STAC has: beside one of these, ``proj:*`` is not the convention.
OF_STAC = (EPSG, *(f"proj:{key}" for key in ("transform", "shape", "bbox", "centroid")))

#: The attributes of arrays and groups.
ATTRIBUTES = tuple(
    Attribute(
        member.key, kind, member.rule or OBJECT_OF_PROJ, "", unless=OF_STAC, whole=ProjMembers
    )
    for kind, member in fields_of(ProjMembers).values()
    if member.key != EPSG
)


class ProjHandler(ConventionHandler):
    """Returns the CRS of an array, whichever of the built-in conventions declares it."""

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
        """Return whether the array declares the convention, or its group, or the group of its layout."""
        return follows_by_level(cls, array)

    def interpret(self, array: ArrayView) -> Interpretation:
        """Return the CRS of the array."""
        return array.interpretation(crs=crs_of(array))


# Which CRS an array has.


@once_per_array
def crs_of(array: ArrayView) -> Crs | None:
    """Return the CRS of an array, None if none is declared.

    It is that of the array's own grid mapping variable; else that of ``proj:*`` in the first object that has them
    (`scopes_of`); else that of other conventions (`ConventionHandler.crs`). The CRS of a geolocation belongs to the
    geolocation arrays, not to the grid.
    """
    mapping, before = array.try_silently(own_grid_mapping, array), len(array.findings)
    own = None if mapping is None else crs_of_grid_mapping(mapping.value)
    scopes = scopes_of(array)
    # The CRS of a group is that of its grids: 1-D arrays, such as the coordinates of axes, do not get it.
    written = scopes.own if len(array.dims) < 2 else scopes.all
    declared = next(filter(None, (crs_at(array, place) for place in written)), None)
    declared = declared or array.crs_of(array)
    if own is None:
        return declared
    # Mistakes in a CRS that is not used lose nothing: without a topic, only a check reports them.
    array.findings[before:] = [replace(finding, topic=None) for finding in array.findings[before:]]
    array.overruled_crs = declared
    return own


def own_grid_mapping(array: ArrayView) -> Fragment | None:
    """Return the attributes of an array's grid mapping variable if that is a scalar of its group, else None.

    It is the variable that the array names by ``grid_mapping``; if the array has no such attribute, ``spatial_ref``.
    """
    is_named = isinstance(array.attributes.get("grid_mapping"), str)
    name = only_mapping(array.attributes) if is_named else SPATIAL_REF
    document = None if name is None else array.sibling(name)
    if name is None or document is None or document.get("shape") != []:
        return None
    return Fragment(array.node.group.child(name), ("attributes",), document.attributes)


def crs_at(array: ArrayView, place: Fragment, keys: Iterable[str] = CRS_KEYS) -> Crs | None:
    """Return the first usable CRS that an object has under some keys, by default those of `proj`, else None.

    Report values that pyproj does not understand, which are skipped, and CRSs that differ from the first.
    """
    if not isinstance(place.value, OBJECT) or not any(map(place.value.__contains__, keys)):
        return None
    found, wrong = read_systems(place, keys)
    for finding in wrong:
        # Of CRSs that disagree one is used, so nothing is lost.
        if finding.rule is AGREEING:
            choice = replace(finding.at(place.node), topic=Topic.CHOICE)
            array.findings.append(replace(choice, arrays=(str(array.node),)))
        else:
            lost = _("the CRS of {key!r}").format(key=finding.place.keys[-1])
            array.report_wrong(place.node, [finding], lost)
    return found[0] if found else None
