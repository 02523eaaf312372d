"""The ground control points of EOPF's Sentinel-1 products, where it is assumed that they are meant.

The group ``conditions/gcp`` beside ``measurements`` has latitudes and longitudes at lines and pixels of the
measurements, as a list or as a grid. No attribute says that these belong together.

Source: the products (Sentinel-1 GRD of EOPF, version 2).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from zarr_xgroup.conventions.array import ArrayView, chunks_along, shape_of
from zarr_xgroup.conventions.base import ConventionHandler
from zarr_xgroup.conventions.model import Coordinate, Interpretation
from zarr_xgroup.conventions.tie_points import positions
from zarr_xgroup.findings import coordinate_named
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.variables.sources import Computed, Stored
from zarr_xgroup.variables.tie_points import PERIOD, BetweenGridPoints

#: The group of the arrays that have control points.
MEASUREMENTS = "measurements"
#: What is interpolated: by which units, and over which period.
_WANTED = {"latitude": ("degrees_north", None), "longitude": ("degrees_east", PERIOD)}
#: The arrays of the positions of points.
_POSITIONS = ("line", "pixel")


class GcpHandler(ConventionHandler):
    """Interpolates latitudes and longitudes of measurements between ground control points."""

    tier = "principal"
    name = "gcp"
    is_declarable = False
    gives_way = True

    @classmethod
    def applies(cls, array: ArrayView) -> bool:
        """Tell whether it is assumed, and the array is one of measurements beside control points."""
        is_one = cls.name in array.assumed and len(array.dims) == 2
        return is_one and array.node.group.name == MEASUREMENTS and _points(array) is not None

    def interpret(self, array: ArrayView) -> Interpretation:
        """Return the latitudes and longitudes."""
        return array.found(*_coordinates(array))


def _points(array: ArrayView) -> Node | None:
    """Return the group of control points, None if it lacks any that are needed."""
    group = array.node.group.group.child("conditions").child("gcp")
    nodes = [group.child(name) for name in (*_WANTED, *_POSITIONS)]
    array.lookup.know(nodes)
    documents = [array.document_of(node) for node in nodes]
    return group if all(it is not None and it.is_array for it in documents) else None


def _coordinates(array: ArrayView) -> Iterator[Coordinate]:
    group = _points(array)
    for name in _WANTED if group is not None else ():
        lost = partial(coordinate_named, name)
        found = array.attempt(_coordinate, array, group, name, lost=lost)
        if found is not None:
            yield found


def _coordinate(array: ArrayView, group: Node, name: str) -> Coordinate:
    """Return a coordinate that is interpolated, or raise XGroupMetadataError."""
    nodes = [group.child(it) for it in (name, *_POSITIONS)]
    shape, *shapes = (shape_of(array, node) for node in nodes)
    if shapes != ([shape, shape] if len(shape) == 1 else [shape[:1], shape[1:]]):
        place = Fragment(nodes[0], ("shape",), None)
        text = _("is {shape}, but lines and pixels of the points are {positions}")
        raise place.error(text.format(shape=list(shape), positions=list(map(list, shapes))))
    place = Fragment(group, (), None)
    known, *along = (tuple(f"axis_{n}" for n in range(len(shape_of(array, it)))) for it in nodes)
    values = array.stored(Stored(nodes[0], known))
    points = (positions(array, *it, place) for it in zip(nodes[1:], along, strict=True))
    array.referred.update(nodes)
    units, period = _WANTED[name]
    source = Computed(
        BetweenGridPoints(period),
        array.shape,
        "float64",
        array.dims,
        chunks=chunks_along(array, array.dims),
        arrays=(values, *points),
    )
    return Coordinate(name, source, {"units": units, "standard_name": name})
