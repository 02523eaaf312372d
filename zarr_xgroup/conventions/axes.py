"""Which dimensions of an array are Y and X; and arrays to which metadata refer as coordinates, with their dimensions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from zarr_xgroup.conventions.array import (
    ArrayView,
    NodeView,
    coordinate_variable,
    own_dims_of,
    parse_once,
    shape_of,
)
from zarr_xgroup.conventions.descriptions import Model, shown, write
from zarr_xgroup.conventions.multiscales import scopes_of
from zarr_xgroup.errors import Rule
from zarr_xgroup.findings import Topic
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import PAIRS_OF_NAMES, axis_by_attributes
from zarr_xgroup.metadata.nodes import Fragment, Node, Part
from zarr_xgroup.metadata.references import Reference

M = TypeVar("M", bound=Model)

# The dimensions along Y and X.

#: The attribute of `spatial` that names the dimensions along Y and X.
SPATIAL_DIMENSIONS = "spatial:dimensions"

#: Pairs of names of dimensions along Y and X, in lower case.
_PAIRS = (
    *PAIRS_OF_NAMES,
    *(("row", "col"), ("row", "column"), ("rows", "cols"), ("rows", "columns")),
)
_AXES = {name: axis for pair in _PAIRS for name, axis in zip(pair, "YX", strict=True)}


def axis_of_dimension(name: str) -> str | None:
    """Return the axis of a grid that the name of a dimension suggests, ``X`` or ``Y``, or None."""
    return _AXES.get(name.lower())


def two_names(written: Any) -> tuple[str, str] | None:
    """Return the names of the Y and X dimensions in a value of ``spatial:dimensions``, None if it is not valid.

    They are the last two of three: the README of tag v1 of the convention allows a third name before them.
    """
    is_list = isinstance(written, list) and all(isinstance(name, str) for name in written)
    if not (is_list and len(written) in (2, 3) and len({*written}) == len(written)):
        return None
    return written[-2], written[-1]


def spatial_names(array: NodeView) -> tuple[str, ...]:
    """Return the names of Y and X in ``spatial:dimensions`` of an array, () if it is missing or not valid."""
    written = scopes_of(array).get(SPATIAL_DIMENSIONS)
    return (None if written is None else two_names(written.value)) or ()


def dims_named(dims: Iterable[str | None], names: Sequence[str]) -> tuple[str, str] | None:
    """Return the two dimensions that have two names, in any case; None if one is missing."""
    known = [dim for dim in dims if dim is not None]
    any_case = {dim.lower(): dim for dim in known}
    found = [name if name in known else any_case.get(name.lower()) for name in names]
    y, x = found if len(found) == 2 else (None, None)
    return (y, x) if y is not None and x is not None and x != y else None


def _known_pair(dims: Sequence[str]) -> tuple[str, str] | None:
    """Return the dimensions along Y and X whose names are a known pair, in any case; None if there are none."""
    return next(filter(None, (dims_named(dims, pair) for pair in _PAIRS)), None)


def rows_and_columns(array: NodeView, names: Sequence[str] = ()) -> tuple[str, str] | None:
    """Return the dimensions of an array along Y and X, or None if it does not have two different dimensions.

    They are among the two that metadata name, otherwise among all of the array. The first of these that shows which is Y
    and which is X is used:

    1. the group's coordinate variables: ``standard_name``, ``axis``, ``units``, or else the name of each;
    2. names of dimensions that are a known pair, such as y and x;
    3. the order of the names in metadata: Y, X;
    4. the order of the last two dimensions, unless one of their names shows the opposite.

    Parameters
    ----------
    array : NodeView
        The array.
    names : sequence of str, optional
        The names in metadata that take precedence over those in ``spatial:dimensions``.
    """
    named = dims_named(array.dims, names) or dims_named(array.dims, spatial_names(array))
    dims = named or tuple(dict.fromkeys(filter(None, array.dims)))
    if len(dims) < 2:
        return None
    variables = {dim: coordinate_variable(array, dim) for dim in dims}
    stored = {
        dim: axis_by_attributes(variable.attributes) or axis_of_dimension(dim)
        for dim, variable in variables.items()
        if variable is not None
    }
    decided = _along_axes(dims, stored) or _known_pair(dims) or named
    last = array.dims[-2:]
    if decided or None in last or len(set(last)) < 2:
        return decided
    y, x = map(str, last)
    return _along_axes((y, x), {dim: axis_of_dimension(dim) for dim in (y, x)}) or (y, x)


def _along_axes(dims: Sequence[str], axes: Mapping[str, str | None]) -> tuple[str, str] | None:
    """Return the only dimension along Y and the only one along X, None if they are not known.

    `axes` are the known axes. Of two dimensions, one is enough.
    """
    y, x = ([dim for dim in dims if axes.get(dim) == axis] for axis in "YX")
    if len(dims) == 2 and len(y) + len(x) == 1:
        others = [dim for dim in dims if dim not in (*y, *x)]
        y, x = y or others, x or others
    return (y[0], x[0]) if len(y) == len(x) == 1 else None


def names_of_last_axes(array: NodeView, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names in metadata, Y and X, in the order in which they are names of an array's last axes.

    Names that are a known pair are used as Y, X, whatever their order, unless more coordinate variables of the group fit
    the order as written.
    """
    if not len(names) == 2 <= len(array.shape):
        return names

    def fitting(order: tuple[str, ...]) -> int:
        dims = (*(None for _axis in array.shape[2:]), *order)
        view = NodeView(array.node, array.document, array.tree, dims)
        return sum(coordinate_variable(view, dim) is not None for dim in order)

    return max((_known_pair(names) or names, names), key=fitting)


def report_order(array: ArrayView, written: Fragment, dims: tuple[str, str], rule: Rule) -> None:
    """Report names of dimensions in metadata that are not in the order Y, X, which is that of `dims`."""
    text = _(
        "is {names}, but Y must be first; by their coordinates or names, {y!r} is used as Y and {x!r} as X"
    ).format(names=shown(written.value), y=dims[0], x=dims[1])
    remedy = write(written.keys[-1], [*written.value[:-2], *dims])
    array.report(rule, written, text, remedy, topic=Topic.CHOICE, severity="warning")


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
