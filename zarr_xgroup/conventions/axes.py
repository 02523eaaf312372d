"""Arrays that metadata refer to as coordinates: which array is meant, and along which dimensions it lies.

`cs`, `geolocation`, `ref` and the paths of CF share these functions.
"""

from __future__ import annotations

from typing import TypeVar

from zarr_xgroup.conventions.array import (
    ArrayView,
    fall_back_to_own_array,
    may_replace_declared,
    own_dims_of,
    parse_once,
    shape_of,
)
from zarr_xgroup.conventions.descriptions import Model
from zarr_xgroup.conventions.multiscales import scopes_of
from zarr_xgroup.errors import XGroupReferenceError
from zarr_xgroup.metadata.cf import axis_by_name
from zarr_xgroup.metadata.nodes import Fragment, Node, Part
from zarr_xgroup.metadata.references import Reference

M = TypeVar("M", bound=Model)

# Dimensions.


#: The attribute of `spatial` that names the dimensions along Y and X.
SPATIAL_DIMENSIONS = "spatial:dimensions"


def horizontal_dims(array: ArrayView) -> tuple[str, ...]:
    """Return the array's dimensions along Y and X, in this order: `spatial:dimensions`, otherwise the last two."""
    declared = scopes_of(array).get(SPATIAL_DIMENSIONS)
    if declared is not None and isinstance(declared.value, list) and len(declared.value) in (2, 3):
        # The last two of three names, as in `spatial`.
        names = tuple(array.dim_names.get(str(name), str(name)) for name in declared.value[-2:])
        if len({*names}) == 2 and set(names) <= set(array.dims):
            return names
    return array.dims[-2:]


def rows_and_columns(array: ArrayView) -> tuple[str, str] | None:
    """Return the array's dimensions along Y and X, or None if it does not have two different ones."""
    dims = horizontal_dims(array)
    if len(set(dims)) != 2:
        return None
    # Y comes first, unless the names of the dimensions show the opposite order.
    y, x = dims
    return (x, y) if axis_by_name(y) == "X" and axis_by_name(x) != "X" else (y, x)


def fitting_dims(array: ArrayView, node: Node) -> tuple[str, ...]:
    """Return the dimensions that another array gets as a coordinate of an array.

    Its own dimensions if the array has them with the same sizes; otherwise the array's horizontal dimensions if those have its
    shape; otherwise its own again, with which it does not fit.
    """
    own, shape = own_dims_of(array, node), shape_of(array, node)
    if all(array.sizes.get(name) == size for name, size in zip(own, shape, strict=True)):
        return own
    horizontal = horizontal_dims(array)
    return horizontal if tuple(array.sizes[name] for name in horizontal) == shape else own


def fits_as_coordinate(array: ArrayView, node: Node) -> bool:
    """Return whether a node can be a coordinate of an array: the array has all of its dimensions with these sizes."""
    pairs = zip(fitting_dims(array, node), shape_of(array, node), strict=True)
    return all(array.sizes.get(name) == size for name, size in pairs)


# Which array is meant.


def own_coordinate_of_group(array: ArrayView, name: str) -> Node | None:
    """Return the array of the same group that is a coordinate of a name, or None if there is none."""
    document = array.sibling(name)
    if document is None:
        return None
    is_one = may_replace_declared(name, tuple(array.siblings[name]), document.attributes)
    return array.node.group.child(name) if is_one else None


def own_or_referred(array: ArrayView, node: Node) -> Node:
    """Return the array that is referred to, or the array of the same name in the array's own group.

    The latter if only that fits: a subset that was written with its coordinates may still refer to the coordinates
    of the whole. If neither fits, it is the array that is referred to.
    """
    if node.group == array.node.group or fits_as_coordinate(array, node):
        return node
    own = own_coordinate_of_group(array, node.name)
    return own if own is not None and fits_as_coordinate(array, own) else node


def name_of_target(reference: Fragment) -> str:
    """Return the name of the array that a reference names, whether it exists or not."""
    return Reference.parse(reference).node.rpartition("/")[2]


def coordinate_referred_to(array: ArrayView, reference: Fragment) -> Node:
    """Return the array that a reference points to, or raise XGroupReferenceError.

    If that does not exist, the coordinate of its name in the array's own group is returned: data that were written again
    have their coordinates with them, and references to the earlier places of these.
    """
    try:
        return array.resolver.array(reference)
    except XGroupReferenceError:
        own = own_coordinate_of_group(array, name_of_target(reference))
        if own is None:
            raise
        return fall_back_to_own_array(array, reference, own.name)


def dereferenced(array: ArrayView, node: Node, item: M | Part, model: type[M]) -> tuple[Node, M]:
    """Return the node where an object is written, and the object as a model.

    `item` is the model, or a reference to the object, which is followed and read; XGroupError if that fails.
    """
    if not isinstance(item, Part):
        return node, item
    fragment = array.resolver.fragment(item.at(node))
    fragment.as_object()
    return fragment.node, parse_once(array, model.read, fragment)
