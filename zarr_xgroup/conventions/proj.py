"""`proj`: the coordinate reference system of an array.

The attributes ``proj:*`` pass through as they are. For tools the CRS becomes a grid mapping variable besides, a scalar
coordinate that the array's ``grid_mapping`` names (CF 1.12, section 5.6), ``spatial_ref`` as a rule. What the members
say, and whether PROJ understands it, is in `zarr_xgroup.conventions.crs`: other conventions have proj objects, too.

Source: proj convention (zarr-conventions/proj).
"""

from __future__ import annotations

from typing import ClassVar

from zarr_xgroup.conventions.array import ArrayView
from zarr_xgroup.conventions.attributes import Attribute
from zarr_xgroup.conventions.base import ConventionHandler
from zarr_xgroup.conventions.crs import EPSG, OBJECT_OF_PROJ, RULES, ProjMembers, crs_of
from zarr_xgroup.conventions.declaring import is_declared_by_array
from zarr_xgroup.conventions.descriptions import fields_of
from zarr_xgroup.conventions.model import Interpretation
from zarr_xgroup.conventions.multiscales import is_declared_by_group_or_layout

#: Attributes that only the projection extension of STAC writes: beside one of these, ``proj:*`` is not the convention.
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
        """Tell whether the array declares the convention, or its group, or the group of its layout."""
        return is_declared_by_array(cls, array) or is_declared_by_group_or_layout(cls, array)

    def interpret(self, array: ArrayView) -> Interpretation:
        """Return the CRS of the array."""
        return array.interpretation(crs=crs_of(array))
