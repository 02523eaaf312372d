"""The `geolocation` service convention: 2-D coordinates of curvilinear grids and swaths.

A geolocation object names their arrays. What such an object is, and the coordinates that it gives, is in
`axes`: a CRS of `cs` may hold one, too.

Source: geolocation convention (R-CF/zarr_convention_geolocation).
"""

from __future__ import annotations

from typing import ClassVar

from zarr_xgroup.conventions.array import (
    ArrayView,
    once_per_array,
    own_dims_of,
    parse_once,
    shape_of,
)
from zarr_xgroup.conventions.axes import (
    EXAMPLE,
    KINDS,
    KINDS_OF_ARRAYS,
    PAIR,
    Geolocation,
    coordinate_referred_to,
    geolocation_coordinates,
)
from zarr_xgroup.conventions.base import ConventionHandler
from zarr_xgroup.conventions.descriptions import Attribute, Nested
from zarr_xgroup.conventions.model import Interpretation
from zarr_xgroup.metadata.nodes import Fragment

#: The attribute of an array, or of a group for its arrays.
ATTRIBUTE = Attribute(
    "geolocation",
    Nested(Geolocation, or_reference=True),
    KINDS,
    EXAMPLE,
    marks=KINDS_OF_ARRAYS,
)


class GeolocationHandler(ConventionHandler):
    """Attaches the arrays of ``geolocation`` on the array, or else on its group."""

    tier = "service"
    name = ATTRIBUTE.key
    uuid: ClassVar[str | None] = "bb9ee930-8c60-4c47-ad6b-8daa558987ed"
    repositories = ("R-CF/zarr_convention_geolocation",)
    implies = ("proj",)
    described = (ATTRIBUTE,)
    rules = (KINDS, PAIR)
    reads = ()

    @classmethod
    def applies(cls, array: ArrayView) -> bool:
        """Tell whether the array or its group has geolocation arrays and declares it."""
        has = array.attribute(ATTRIBUTE.key) or array.attribute(ATTRIBUTE.key, array.node.group)
        return has is not None and super().applies(array)

    def interpret(self, array: ArrayView) -> Interpretation:
        """Return the geolocation arrays."""
        written = _geolocation_of(array)
        if written is None:
            return array.interpretation()
        geolocation, _wrong = parse_once(array, ATTRIBUTE.read, written)
        return array.interpretation(*geolocation_coordinates(array, written.node, geolocation))


@once_per_array
def _geolocation_of(array: ArrayView) -> Fragment | None:
    """Return the geolocation object that is about an array: its own, or its group's.

    That of a group is not about the geolocation arrays themselves, nor about what has fewer dimensions.
    """
    own = array.attribute(ATTRIBUTE.key)
    shared = array.attribute(ATTRIBUTE.key, array.node.group)
    if own is not None or shared is None:
        return own
    found, _wrong = parse_once(array, ATTRIBUTE.read, shared)
    located = []
    for reference in found.references if isinstance(found, Geolocation) else ():
        node = array.try_silently(coordinate_referred_to, array, reference.at(shared.node))
        if node == array.node:
            return None
        if node is not None:
            shape = shape_of(array, node)
            dims = zip(own_dims_of(array, node), shape, strict=True)
            has_dims = all(array.sizes.get(name) == size for name, size in dims)
            located.append(has_dims or array.shape[-len(shape) :] == shape)
    return shared if any(located) or not located else None
