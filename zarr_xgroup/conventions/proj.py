"""`proj`: the coordinate reference system of an array.

The attributes ``proj:*`` are kept unchanged. In addition, the CRS becomes a grid mapping variable: a scalar coordinate,
usually ``spatial_ref``, that the array's ``grid_mapping`` names (CF 1.12, section 5.6). `zarr_xgroup.conventions.crs`
reads proj objects, also for other conventions, which use `crs_of`.

Source: proj convention (zarr-conventions/proj).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from msgspec.structs import replace

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

#: Attributes of the projection extension of STAC only. If there is one, ``proj:*`` does not mean the convention.
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
    """Returns the CRS of an array, by `proj` or by a different convention."""

    tier = "service"
    name = "proj"
    uuid: ClassVar[str | None] = "f17cb550-5864-4468-aeb7-f3180cfb622f"
    identifiers = (
        "zarr-conventions/proj",
        "zarr-conventions/geo-proj",
        "zarr-experimental/geo-proj",
    )
    described = ATTRIBUTES
    rules = RULES
    reads = ("grid_mapping",)

    @classmethod
    def applies(cls, array: ArrayView) -> bool:
        """Return whether the array, its group, or the group with its layout declares the convention."""
        return follows_by_level(cls, array)

    def interpret(self, array: ArrayView) -> Interpretation:
        """Return the CRS of the array."""
        return array.interpretation(crs=crs_of(array))


# The CRS of an array.


@once_per_array
def crs_of(array: ArrayView) -> Crs | None:
    """Return the CRS of an array, None if it is not declared.

    It is the CRS of the array's own grid mapping variable; else of ``proj:*`` in the first object that has them
    (`scopes_of`); else of other conventions (`ConventionHandler.crs`). The CRS of a geolocation belongs to the
    geolocation arrays, not to the grid.
    """
    mapping, before = array.try_without_findings(own_grid_mapping, array), len(array.findings)
    own = None if mapping is None else crs_of_grid_mapping(mapping.value)
    scopes = scopes_of(array)
    # The CRS of a group is for its grids, not for 1-D arrays such as the coordinates of axes.
    written = scopes.own if len(array.dims) < 2 else scopes.all
    declared = next(filter(None, (crs_at(array, place) for place in written)), None)
    declared = declared or array.crs_of(array)
    if own is None:
        return declared
    # Without a topic, only `check` reports the mistakes in a CRS that is not used.
    array.findings[before:] = [replace(finding, topic=None) for finding in array.findings[before:]]
    array.overruled_crs = declared
    return own


def own_grid_mapping(array: ArrayView) -> Fragment | None:
    """Return the attributes of an array's grid mapping variable if that is a scalar in its group, or None.

    The variable is named by the array's ``grid_mapping``, and is ``spatial_ref`` if the array has no such attribute.
    """
    is_named = isinstance(array.attributes.get("grid_mapping"), str)
    name = only_mapping(array.attributes) if is_named else SPATIAL_REF
    document = None if name is None else array.sibling(name)
    if name is None or document is None or document.get("shape") != []:
        return None
    return Fragment(array.node.group.child(name), ("attributes",), document.attributes)


def crs_at(array: ArrayView, place: Fragment, keys: Iterable[str] = CRS_KEYS) -> Crs | None:
    """Return the first usable CRS that an object has under some keys, by default those of `proj`, or None.

    Report values that pyproj cannot read, and CRSs that differ from the first.
    """
    if not isinstance(place.value, OBJECT) or not any(map(place.value.__contains__, keys)):
        return None
    systems, findings = read_systems(place, keys)
    for finding in findings:
        # One of different CRSs is used, so none is missing.
        if finding.rule is AGREEING:
            choice = replace(finding.at(place.node), topic=Topic.CHOICE, severity="warning")
            array.findings.append(replace(choice, arrays=(str(array.node),)))
        else:
            cost = _("the CRS of {key!r}").format(key=finding.place.keys[-1])
            array.report_wrong(place.node, [finding], cost)
    return systems[0] if systems else None
