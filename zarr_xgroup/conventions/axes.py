"""Arrays to which metadata refer as coordinates: finding the array, and its dimensions.

Used by `cs`, `geolocation`, `ref` and the paths of CF.
"""

from __future__ import annotations

from typing import TypeVar

from zarr_xgroup.conventions.array import (
    ArrayView,
    own_dims_of,
    parse_once,
    shape_of,
)
from zarr_xgroup.conventions.descriptions import Model
from zarr_xgroup.conventions.multiscales import scopes_of
from zarr_xgroup.metadata.cf import axis_by_name
from zarr_xgroup.metadata.nodes import Fragment, Node, Part
from zarr_xgroup.metadata.references import Reference

M = TypeVar("M", bound=Model)

# Dimensions.


#: The attribute of `spatial` that names the dimensions along Y and X.
SPATIAL_DIMENSIONS = "spatial:dimensions"


def horizontal_dims(array: ArrayView) -> tuple[str, ...]:
    """Return the array's dimensions along Y and X, in this order: from `spatial:dimensions`, otherwise the last two."""
    declared = scopes_of(array).get(SPATIAL_DIMENSIONS)
    if declared is not None and isinstance(declared.value, list) and len(declared.value) in (2, 3):
        # `spatial` uses the last two of three names.
        names = tuple(map(str, declared.value[-2:]))
        if len({*names}) == 2 and set(names) <= set(array.dims):
            return names
    return array.dims[-2:]


def rows_and_columns(array: ArrayView) -> tuple[str, str] | None:
    """Return the array's dimensions along Y and X, or None if they are not two different dimensions."""
    dims = horizontal_dims(array)
    if len(set(dims)) != 2:
        return None
    # Y is first unless the names show the opposite order.
    y, x = dims
    return (x, y) if axis_by_name(y) == "X" and axis_by_name(x) != "X" else (y, x)


def fitting_dims(array: ArrayView, node: Node) -> tuple[str, ...]:
    """Return the dimensions that a node gets as a coordinate of an array.

    These are its own dimensions if the array has them with the same sizes; otherwise the array's horizontal dimensions
    if they match its shape; otherwise its own dimensions, which do not fit.
    """
    own, shape = own_dims_of(array, node), shape_of(array, node)
    if all(array.sizes.get(name) == size for name, size in zip(own, shape, strict=True)):
        return own
    horizontal = horizontal_dims(array)
    return horizontal if tuple(array.sizes[name] for name in horizontal) == shape else own


def name_of_target(reference: Fragment) -> str:
    """Return the name of the array to which a reference points, which need not exist."""
    return Reference.parse(reference).node.rpartition("/")[2]


def dereferenced(array: ArrayView, node: Node, item: M | Part, model: type[M]) -> tuple[Node, M]:
    """Return the node that contains an object, and the object as a model.

    `item` is the model, or a reference to the object. XGroupError is raised if the reference cannot be resolved or read.
    """
    if not isinstance(item, Part):
        return node, item
    fragment = array.resolver.fragment(item.at(node))
    fragment.as_object()
    return fragment.node, parse_once(array, model.read, fragment)
