"""Coordinates that are known at tie points, and interpolated between them (CF 1.9 and later, section 8.3).

An array says by ``coordinate_interpolation`` which variables have the tie points, and which one says how to
interpolate. What is interpolated is computed when it is read, in the chunks of the array.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import NamedTuple

from zarr_xgroup.conventions.array import ArrayView, chunks_along, own_dims_of, shape_of
from zarr_xgroup.conventions.cf_paths import array_named
from zarr_xgroup.conventions.model import Coordinate
from zarr_xgroup.findings import coordinate_named
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.variables.functions import BetweenTiePoints
from zarr_xgroup.variables.sources import Computed, Stored

#: The attribute of data.
KEY = "coordinate_interpolation"

#: How is interpolated, by CF's names: along how many dimensions, whether quadratic.
_METHODS = {"linear": (1, False), "bi_linear": (2, False), "quadratic": (1, True)}

#: What of the attributes of tie points holds for what is interpolated.
_KEPT = ("units", "standard_name", "long_name")
#: How the name of what is interpolated ends where all others are taken.
_INTERPOLATED = "_interpolated"
_WORD = re.compile(r"([^\s:]+)(:?)")


def tie_point_coordinates(array: ArrayView) -> Iterator[Coordinate]:
    """Yield the coordinates of an array that are interpolated between tie points."""
    written = array.attribute(KEY)
    if written is None or not isinstance(written.value, str):
        return
    names: list[str] = []
    for match in _WORD.finditer(written.value):
        if match[2]:
            names.append(match[1])
            continue
        for name in names:
            if _is_there(array, name.rpartition("/")[2]):
                continue  # what was interpolated before stands
            lost = partial(coordinate_named, name)
            found = array.attempt(_coordinate, array, written, name, match[1], lost=lost)
            if found is not None:
                yield found
        names = []


def _is_there(array: ArrayView, name: str) -> bool:
    """Tell whether the group has an array of a name along dimensions of the array, whole."""
    document = array.sibling(name)
    dims = () if document is None else tuple(array.siblings[name])
    shape = None if document is None else tuple(document["shape"])
    return bool(dims) and tuple(array.sizes.get(dim) for dim in dims) == shape


@dataclass(frozen=True)
class _Mapped:
    """A dimension that has tie points.

    Attributes
    ----------
    dim : str
        The dimension.
    points : Node
        The array of the positions of tie points along it.
    """

    dim: str
    points: Node


def _named(array: ArrayView, place: Fragment, name: str) -> Node:
    """Return the array that is called so, or raise XGroupMetadataError."""
    node = array_named(array, Fragment(place.node, place.keys, name))
    if node is None:
        raise place.error(_("names {name!r}, which is no array").format(name=name))
    array.referred.add(node)
    return node


def _coordinate(
    array: ArrayView, written: Fragment, name: str, container: str
) -> Coordinate | None:
    """Return the coordinate that is interpolated of tie points, or raise XGroupError.

    None where the group has it: whoever writes what was interpolated, or a part of it, may leave tie points.
    """
    node, how = _named(array, written, name), _named(array, written, container)
    if _has_interpolated(array, node):
        return None
    number, is_quadratic = _method(array, how)
    laid = _laid(array, node, _mapped(array, how), written)
    points = tuple(it.points for it in laid if it.points is not None)
    if len(points) != number:
        text = _("interpolates along {count} dimensions, not {number}")
        place = Fragment(how, ("attributes", "interpolation_name"), None)
        raise place.error(text.format(count=number, number=len(points)))
    values = array.stored(Stored(node, own_dims_of(array, node)), written)
    bends = _coefficients(array, how) if is_quadratic else ()
    dims = tuple(it.dim for it in laid)
    source = Computed(
        BetweenTiePoints(_indexed(laid), _period(array, node), is_quadratic=bool(bends)),
        tuple(array.sizes[dim] for dim in dims),
        _precision(array, values, how, written),
        dims,
        chunks=chunks_along(array, dims),
        arrays=(values, *points, *bends),
    )
    return Coordinate(_name(array, node), source, _attributes(array, node))


def _has_interpolated(array: ArrayView, node: Node) -> bool:
    """Tell whether the group has what is interpolated of tie points, by the names that it may have."""
    known = (_standard_name(array, node), f"{node.name}{_INTERPOLATED}")
    return any(name and _is_there(array, name) for name in known)


def _method(array: ArrayView, how: Node) -> tuple[int, bool]:
    """Return along how many dimensions is interpolated and whether in squares, or raise XGroupMetadataError."""
    written = array.attribute("interpolation_name", how)
    if written is None or not isinstance(written.value, str) or written.value not in _METHODS:
        place = written or Fragment(how, ("attributes", "interpolation_name"), None)
        text = _("is no interpolation that is known here ({known})")
        raise place.error(text.format(known=", ".join(_METHODS)))
    return _METHODS[written.value]


class _Laid(NamedTuple):
    """What a dimension of tie points is to the array: which of its own, and the positions of points along it."""

    dim: str
    points: Stored | None


def _laid(
    array: ArrayView, node: Node, mapped: Mapping[str, _Mapped], written: Fragment
) -> list[_Laid]:
    """Return what the dimensions of tie points are to an array, or raise XGroupMetadataError."""
    found = []
    for dim, size in zip(own_dims_of(array, node), shape_of(array, node), strict=True):
        if dim in mapped:
            it = _Laid(mapped[dim].dim, _points(array, mapped[dim], written, size))
            fits = it.dim in array.sizes
        else:
            it = _Laid(array.names.get(dim, dim), None)
            fits = array.sizes.get(it.dim) == size
        if not fits:
            text = _("names {node}, whose dimension {dim!r} is none of the array")
            raise written.error(text.format(node=node, dim=dim))
        found.append(it)
    return found


def _precision(array: ArrayView, values: Stored, how: Node, written: Fragment) -> str:
    """Return of which type the values are, or raise XGroupMetadataError if tie points are no numbers."""
    kind = array.describer.decoded_dtype(values)
    if kind.kind not in "iuf":
        raise written.error(_("names {node}, which has no numbers").format(node=values.node))
    precision = array.attribute("computational_precision", how)
    is_double = kind.itemsize > 4 or (precision is not None and str(precision.value) == "64")
    return "float64" if is_double else "float32"


def _mapped(array: ArrayView, how: Node) -> dict[str, _Mapped]:
    """Return the dimensions with tie points, by the dimension of these, or raise XGroupMetadataError."""
    written = array.attribute("tie_point_mapping", how)
    if written is None or not isinstance(written.value, str):
        place = written or Fragment(how, ("attributes", "tie_point_mapping"), None)
        raise place.error(_("must be text such as {example}").format(example="'x: x_indices tp_x'"))
    found = {}
    for match in re.finditer(r"(?<!\S)([^\s:]+):\s+([^\s:]+)\s+([^\s:]+)(?!\S)", written.value):
        dim = array.names.get(match[1], match[1])
        found[match[3]] = _Mapped(dim, _named(array, written, match[2]))
    return found


def _points(array: ArrayView, mapped: _Mapped, written: Fragment, size: int) -> Stored:
    """Return the array of the positions of tie points along a dimension."""
    if shape_of(array, mapped.points) != (size,):
        text = _("needs {size} positions of tie points, {node} has the shape {shape}")
        shape = list(shape_of(array, mapped.points))
        raise written.error(text.format(size=size, node=mapped.points, shape=shape))
    return array.stored(Stored(mapped.points, ("tie_point",)), written)


def _coefficients(array: ArrayView, how: Node) -> tuple[Stored, ...]:
    """Return the array of the term ``w`` of a quadratic interpolation, if it has one."""
    written = array.attribute("interpolation_parameters", how)
    if written is None:
        return ()
    match = re.search(r"(?:^|\s)w:\s+([^\s:]+)", str(written.value))
    if match is None:
        return ()
    node = _named(array, written, match[1])
    if len(shape_of(array, node)) != 1:
        raise written.error(_("names {node}, which is not of one dimension").format(node=node))
    return (array.stored(Stored(node, ("subarea",)), written),)


def _indexed(laid: Iterable[_Laid]) -> tuple[int | None, ...]:
    """Return for each dimension the number of the array of positions along it."""
    numbers = count()
    return tuple(None if it.points is None else next(numbers) for it in laid)


def _period(array: ArrayView, node: Node) -> float | None:
    """Return by how much values may be off and still be the same, which those of longitudes may."""
    found = (array.attribute(key, node) for key in ("standard_name", "units"))
    is_longitude = any(it is not None and it.value in ("longitude", "degrees_east") for it in found)
    return 360.0 if is_longitude else None


def _attributes(array: ArrayView, node: Node) -> dict[str, str]:
    found = {key: array.attribute(key, node) for key in _KEPT}
    return {key: it.value for key, it in found.items() if it is not None}


def _name(array: ArrayView, node: Node) -> str:
    """Return what is interpolated is called: as its tie points, unless the group has these by that name."""
    if array.sibling(node.name) is None:
        return node.name
    name = _standard_name(array, node)
    if name and array.sibling(name) is None:
        return name
    return f"{node.name}{_INTERPOLATED}"


def _standard_name(array: ArrayView, node: Node) -> str:
    """Return the standard name of an array where it can be a name, else ""."""
    written = array.attribute("standard_name", node)
    name = "" if written is None else str(written.value)
    return name if name.isidentifier() else ""
