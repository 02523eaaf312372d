"""Which dimensions of an array are Y and X; and arrays to which metadata refer as coordinates, with their dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from zarr_xgroup.conventions.array import (
    ArrayView,
    NodeView,
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

# The dimensions along Y and X.

#: The attribute of `spatial` that names the dimensions along Y and X.
SPATIAL_DIMENSIONS = "spatial:dimensions"


def two_names(written: Any) -> tuple[str, str] | None:
    """Return the names of the Y and X dimensions in a value of ``spatial:dimensions``, None if it is not valid.

    They are the last two of three: the README of tag v1 of the convention allows a third name before them.
    """
    is_list = isinstance(written, list) and all(isinstance(name, str) for name in written)
    if not (is_list and len(written) in (2, 3) and len({*written}) == len(written)):
        return None
    return written[-2], written[-1]


def dims_named(array: NodeView, names: Sequence[str]) -> tuple[str, str] | None:
    """Return the two dimensions of an array that have two names, in any case; None if one is missing."""
    dims = [dim for dim in array.dims if dim is not None]
    any_case = {dim.lower(): dim for dim in dims}
    found = [name if name in dims else any_case.get(name.lower()) for name in names]
    y, x = found if len(found) == 2 else (None, None)
    return (y, x) if y is not None and x is not None and x != y else None


def rows_and_columns(array: NodeView) -> tuple[str, str] | None:
    """Return the dimensions of an array along Y and X, or None if it does not have two different dimensions.

    They are those of ``spatial:dimensions``, otherwise the last two.
    """
    declared = scopes_of(array).get(SPATIAL_DIMENSIONS)
    names = None if declared is None else two_names(declared.value)
    dims = array.dims[-2:] if names is None else dims_named(array, names) or array.dims[-2:]
    if None in dims or len(set(dims)) != 2:
        return None
    # Y is first unless the names show the opposite order.
    y, x = map(str, dims)
    return (x, y) if axis_by_name(y) == "X" and axis_by_name(x) != "X" else (y, x)


# Arrays to which metadata refer.


def fitting_dims(array: ArrayView, node: Node) -> tuple[str, ...]:
    """Return the dimensions that a node gets as a coordinate of an array.

    These are its own dimensions if the array has them with the same sizes; otherwise the array's dimensions along Y and X
    if they match its shape; otherwise its own dimensions, which do not fit.
    """
    own, shape = own_dims_of(array, node), shape_of(array, node)
    if all(array.sizes.get(name) == size for name, size in zip(own, shape, strict=True)):
        return own
    horizontal = rows_and_columns(array) or array.dims[-2:]
    if scopes_of(array).get(SPATIAL_DIMENSIONS) is None:  # then in the order of the array's axes
        horizontal = tuple(dim for dim in array.dims if dim in horizontal)
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
