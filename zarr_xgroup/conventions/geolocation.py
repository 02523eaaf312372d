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
from zarr_xgroup.conventions.attributes import Attribute
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
from zarr_xgroup.conventions.descriptions import Nested
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
    """Attaches the coordinates that the attribute ``geolocation`` of an array, or else of its group, names."""

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
        """Tell whether the array or its group has the attribute ``geolocation``, and declares the convention."""
        written = array.attribute(ATTRIBUTE.key) or array.attribute(ATTRIBUTE.key, array.node.group)
        return written is not None and super().applies(array)

    def interpret(self, array: ArrayView) -> Interpretation:
        """Return the arrays of x and y as coordinates; none if no geolocation object is about the array."""
        written = _geolocation_about(array)
        if written is None:
            return array.interpretation()
        geolocation, _wrong = parse_once(array, ATTRIBUTE.read, written)
        return array.interpretation(*geolocation_coordinates(array, written.node, geolocation))


@once_per_array
def _geolocation_about(array: ArrayView) -> Fragment | None:
    """Return the geolocation object that is about an array: its own, or else its group's; None if neither is.

    A group's is about the arrays that have the dimensions, or the shape, of one of the geolocation arrays; it is
    not about the geolocation arrays themselves.
    """
    own = array.attribute(ATTRIBUTE.key)
    shared = array.attribute(ATTRIBUTE.key, array.node.group)
    if own is not None or shared is None:
        return own
    found, _wrong = parse_once(array, ATTRIBUTE.read, shared)
    fitting: list[bool] = []
    for reference in found.references if isinstance(found, Geolocation) else ():
        node = array.try_silently(coordinate_referred_to, array, reference.at(shared.node))
        if node == array.node:
            return None
        if node is not None:
            shape = shape_of(array, node)
            dims = zip(own_dims_of(array, node), shape, strict=True)
            has_dims = all(array.sizes.get(name) == size for name, size in dims)
            fitting.append(has_dims or array.shape[-len(shape) :] == shape)
    # If no reference leads anywhere, the object is returned: to interpret it reports that.
    return shared if any(fitting) or not fitting else None
