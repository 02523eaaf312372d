"""The ground control points of EOPF's Sentinel-1 products, if `gcp` is assumed.

The group ``conditions/gcp`` next to ``measurements`` has latitudes and longitudes at lines and pixels of the
measurements, as a list or as a grid. No attribute connects points and measurements.

Source: the products (Sentinel-1 GRD of EOPF, version 2).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from zarr_xgroup.conventions.array import ArrayView, chunks_along, shape_of
from zarr_xgroup.conventions.base import ConventionHandler, Marks
from zarr_xgroup.conventions.model import Coordinate, Interpretation
from zarr_xgroup.findings import coordinate_named
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.variables.functions import BetweenGridPoints
from zarr_xgroup.variables.sources import Computed, Stored

#: The name of the group whose arrays have control points.
MEASUREMENTS = "measurements"
#: The interpolated coordinates: their units, and the period after which values repeat, or None.
_INTERPOLATED = {"latitude": ("degrees_north", None), "longitude": ("degrees_east", 360.0)}
#: The arrays with the positions of points, in rows and columns of the measurements.
_POSITIONS = ("line", "pixel")


class GcpHandler(ConventionHandler):
    """Interpolates latitudes and longitudes of measurements between ground control points."""

    tier = "principal"
    name = "gcp"
    identifiers = None
    priority = 2
    reads = ()

    @classmethod
    def marks(cls, array: ArrayView) -> Marks | None:
        """Return both dimensions of a 2-D array of measurements whose product has control points, or None."""
        if not _is_measured_grid(array):
            return None
        exist = [array.exists(node) for node in _arrays_of_points(array)]  # asked for in one round
        return Marks(array.dims) if all(exist) else None

    @classmethod
    def applies(cls, array: ArrayView) -> bool:
        """Return whether `gcp` is assumed, the array is a 2-D array of measurements, and all control points exist."""
        if cls.name not in array.assumed or not _is_measured_grid(array):
            return False
        documents = [array.document_of(node) for node in _arrays_of_points(array)]
        return all(document is not None and document.is_array for document in documents)

    def interpret(self, array: ArrayView) -> Interpretation:
        """Return the latitudes and longitudes of all cells; they are computed when they are read."""
        coordinates = [
            array.try_reporting(
                _interpolated_coordinate, array, name, cost=partial(coordinate_named, name)
            )
            for name in _INTERPOLATED
        ]
        return array.interpretation(*filter(None, coordinates))


def _is_measured_grid(array: ArrayView) -> bool:
    """Return whether an array is a 2-D array of measurements."""
    return len(array.dims) == 2 and array.node.group.name == MEASUREMENTS


def _arrays_of_points(array: ArrayView) -> Iterator[Node]:
    """Yield the arrays of the control points, whether or not they exist."""
    return map(_group_of_points(array).child, (*_POSITIONS, *_INTERPOLATED))


def _group_of_points(array: ArrayView) -> Node:
    """Return the group of the control points, ``../conditions/gcp``, whether or not it exists."""
    return array.node.group.group.child("conditions").child("gcp")


def _interpolated_coordinate(array: ArrayView, name: str) -> Coordinate:
    """Return a coordinate that is interpolated between control points, or raise XGroupMetadataError.

    The points are either a list, with 1-D arrays of one length, or a grid whose axes are the lines and pixels.
    """
    group = _group_of_points(array)
    nodes = [group.child(member) for member in (*_POSITIONS, name)]
    *shapes, shape = (shape_of(array, node) for node in nodes)
    if shapes != ([shape, shape] if len(shape) == 1 else [shape[:1], shape[1:]]):
        place = Fragment(nodes[-1], ("shape",), None)
        text = _("is {shape}, but the arrays of lines and pixels have the shapes {positions}")
        raise place.error(text.format(shape=list(shape), positions=list(map(list, shapes))))
    place = Fragment(group, (), None)
    arrays = []
    for node in nodes:
        dims = tuple(f"axis_{axis}" for axis in range(len(shape_of(array, node))))
        is_packed = any(array.attribute(key, node) for key in ("scale_factor", "add_offset"))
        # Positions are not decoded: the first line and pixel are 0, which may also be the fill value.
        stored = array.stored(Stored(node, dims, decoded=is_packed or node.name == name), place)
        if 0 in shape or array.factory.decoded_dtype(stored).kind not in "iuf":
            text, remedy = _("needs numbers in {node}"), _("use an array of numbers")
            raise place.error(text.format(node=node), remedy=remedy)
        arrays.append(stored)
    array.referred.update(nodes)
    units, period = _INTERPOLATED[name]
    source = Computed(
        BetweenGridPoints(period),
        array.shape,
        "float64",
        array.dims,
        chunks=chunks_along(array, array.dims),
        arrays=tuple(arrays),
    )
    return Coordinate(name, source, {"units": units, "standard_name": name})
