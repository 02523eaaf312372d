"""The `geolocation` service convention: 2-D coordinates of curvilinear grids and swaths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, TypeVar

from zarr_xgroup.conventions.array import (
    ArrayView,
    is_standing,
    once,
    own_dims_of,
    parsed,
    shape_of,
    taken_instead,
)
from zarr_xgroup.conventions.base import ConventionHandler
from zarr_xgroup.conventions.crs import Crs
from zarr_xgroup.conventions.cs_model import ATTRIBUTE as CS
from zarr_xgroup.conventions.cs_model import Axis, Cs, System
from zarr_xgroup.conventions.descriptions import Model
from zarr_xgroup.conventions.geolocation_model import (
    ATTRIBUTE,
    GEODETIC,
    KINDS_OF_ARRAYS,
    RULES,
    Arrays,
    Geolocation,
)
from zarr_xgroup.conventions.layout import places_of
from zarr_xgroup.conventions.model import Coordinate, Interpretation
from zarr_xgroup.conventions.proj_model import crs_at
from zarr_xgroup.conventions.spatial_model import DIMENSIONS
from zarr_xgroup.errors import XGroupReferenceError
from zarr_xgroup.findings import Topic
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Fragment, Node, Part
from zarr_xgroup.metadata.references import Reference
from zarr_xgroup.variables.sources import Stored

M = TypeVar("M", bound=Model)

#: What is added to geodetic arrays. Planar ones get nothing that would compete with the grid's own X and Y.
_ATTRIBUTES = {"x": {"standard_name": "longitude"}, "y": {"standard_name": "latitude"}}


class GeolocationHandler(ConventionHandler):
    """Attaches the arrays of ``geolocation`` on the array, or else on its group."""

    tier = "service"
    name = ATTRIBUTE.key
    uuid: ClassVar[str | None] = "bb9ee930-8c60-4c47-ad6b-8daa558987ed"
    repositories = ("R-CF/zarr_convention_geolocation",)
    implies = ("proj",)
    described = (ATTRIBUTE,)
    rules = RULES
    reads = ()

    @classmethod
    def applies(cls, array: ArrayView) -> bool:
        """Tell whether the array or its group has geolocation arrays and declares it."""
        has = array.attribute(ATTRIBUTE.key) or array.attribute(ATTRIBUTE.key, array.node.group)
        return has is not None and super().applies(array)

    def interpret(self, array: ArrayView) -> Interpretation:
        """Return the geolocation arrays."""
        geolocation = geolocation_of(array)
        if geolocation is None:
            return array.found()
        written, _wrong = parsed(array, ATTRIBUTE.read, geolocation)
        return array.found(*geolocation_coordinates(array, geolocation.node, written))


@once
def geolocation_of(array: ArrayView) -> Fragment | None:
    """Return the geolocation object that is about an array: its own, or its group's."""
    own = array.attribute(ATTRIBUTE.key)
    if own is not None:
        return own
    shared = array.attribute(ATTRIBUTE.key, array.node.group)
    return shared if shared is not None and _is_located(array, shared) else None


def _is_located(array: ArrayView, geolocation: Fragment) -> bool:
    """Tell whether a group's geolocation is about an array of the group.

    It is not about the geolocation arrays themselves, nor about what has fewer dimensions.
    """
    found, _wrong = parsed(array, ATTRIBUTE.read, geolocation)
    references = found.references if isinstance(found, Geolocation) else ()
    nodes = (array.try_silently(_referred, array, it.at(geolocation.node)) for it in references)
    located = list(filter(None, nodes))
    if array.node in located:
        return False
    return not located or any(_has_dims(array, node) for node in located)


def geolocation_coordinates(
    array: ArrayView,
    node: Node,
    written: Geolocation | Part,
    identity: Fragment | None = None,
) -> Iterator[Coordinate]:
    """Yield the arrays that a geolocation object names, as coordinates of an array.

    Parameters
    ----------
    array : ArrayView
        The array.
    node : Node
        Where it is written.
    written : Geolocation or Part
        The object, or what refers to it.
    identity : Fragment, optional
        The ``id`` of the CRS of ``cs`` that the geolocation is part of, which overrides its own.
    """
    found = array.try_reporting(followed, array, node, written, Geolocation)
    if found is None:
        return
    node, geolocation = found
    for item in geolocation.wrong:
        kind = item.place.keys[-1]
        lost = (
            ", ".join(_lost(kind, axis) for axis in ("x", "y")) if kind in KINDS_OF_ARRAYS else ""
        )
        array.report_wrong(node, [item], lost)
    for kind, arrays in geolocation.kinds:
        yield from _Located(array, node, kind, arrays, identity).coordinates()


def _lost(kind: str, axis: str) -> str:
    return _("{axis} of its {kind} geolocation").format(axis=axis, kind=kind)


@dataclass(frozen=True)
class _Located:
    """The geolocation arrays of one kind, of an array.

    Attributes
    ----------
    array : ArrayView
        The array.
    node : Node
        Where the object is written that names them.
    kind : {"geodetic", "planar"}
        The kind.
    arrays : Arrays
        What is written.
    identity : Fragment or None
        What overrides their CRS.
    """

    array: ArrayView
    node: Node
    kind: str
    arrays: Arrays
    identity: Fragment | None

    def coordinates(self) -> Iterator[Coordinate]:
        """Yield the coordinates."""
        array = self.array
        for axis in ("x", "y"):
            wrong = self.arrays.wrong_with(axis)
            if wrong is not None:
                array.report_wrong(self.node, [wrong], _lost(self.kind, axis))
                continue
            added = _ATTRIBUTES[axis] if self.kind == GEODETIC else {}
            lost = partial(_lost, self.kind, axis)
            coordinate = array.try_reporting(self._coordinate, axis, added, cost=lost)
            if coordinate is not None:
                yield coordinate

    def _reference(self, axis: str) -> Fragment:
        """Return what refers to the array along an axis."""
        part: Part = getattr(self.arrays, axis)
        return part.at(self.node)

    def _coordinate(self, axis: str, added: Mapping[str, str]) -> Coordinate:
        array, reference = self.array, self._reference(axis)
        node = standing_for(array, _referred(array, reference))
        dims = fitting_dims(array, node)
        if not set(dims) <= set(array.dims):
            message = _(
                "the shape of {node} is not that of the array's horizontal axes; it was attached "
                "under its own dimensions {dimensions}"
            )
            array.report(
                Topic.CHOICE, reference, message.format(node=node, dimensions=", ".join(dims))
            )
        source = array.stored(Stored(node, dims), reference)
        return Coordinate(node.name, source, added, crs=self._crs())

    def _crs(self) -> Crs | None:
        """Return the CRS of the arrays, which is not that of the array they locate.

        The ``id`` of a CRS of ``cs`` overrides their own, unless it cannot be that of longitudes and
        latitudes.
        """
        for place in (self.identity, *(it.at(self.node) for it in self.arrays.identities)):
            found = None if place is None else crs_at(self.array, place)
            if found is not None and (self.kind != GEODETIC or found.is_geographic):
                return found
        return None


def _referred(array: ArrayView, reference: Fragment) -> Node:
    """Return the array that a reference leads to.

    Where it leads nowhere, the group's own coordinate of that name: a reference may be left behind
    when data are written again with their coordinates.
    """
    try:
        return array.resolver.array(reference)
    except XGroupReferenceError:
        own = _own_coordinate(array, Reference.parse(reference).node.rpartition("/")[2])
        if own is None:
            raise
        return taken_instead(array, reference, own.name)


def standing_for(array: ArrayView, node: Node) -> Node:
    """Return an array that is referred to, or the group's own coordinate of its name in its stead.

    The latter where only that fits: a reference leads to the whole, when a part of it was written
    again with its coordinates.
    """
    if node.group == array.node.group or fits(array, node):
        return node
    own = _own_coordinate(array, node.name)
    return own if own is not None and fits(array, own) else node


def _own_coordinate(array: ArrayView, name: str) -> Node | None:
    """Return the group's own coordinate of a name, if there is one."""
    document = array.sibling(name)
    if document is None:
        return None
    if not is_standing(name, tuple(array.siblings[name]), document.attributes):
        return None
    return array.node.group.child(name)


def fits(array: ArrayView, node: Node) -> bool:
    """Tell whether another array lies along dimensions that an array has."""
    pairs = zip(fitting_dims(array, node), shape_of(array, node), strict=True)
    return all(array.sizes.get(name) == size for name, size in pairs)


def _has_dims(array: ArrayView, node: Node) -> bool:
    """Tell whether an array has the dimensions of another one, or its last ones have that one's shape."""
    shape = shape_of(array, node)
    own = zip(own_dims_of(array, node), shape, strict=True)
    return all(array.sizes.get(name) == size for name, size in own) or (
        array.shape[-len(shape) :] == shape
    )


def fitting_dims(array: ArrayView, node: Node) -> tuple[str, ...]:
    """Return the dimensions that an array has as a coordinate of another one.

    Its own, where they are the other's; those of the other's horizontal axes, where its
    shape is theirs; else its own all the same.
    """
    own, shape = own_dims_of(array, node), shape_of(array, node)
    if all(array.sizes.get(name) == size for name, size in zip(own, shape, strict=True)):
        return own
    horizontal = horizontal_dims(array)
    return horizontal if tuple(array.sizes[name] for name in horizontal) == shape else own


def horizontal_dims(array: ArrayView) -> tuple[str, ...]:
    """Return the array's dimensions along Y and X, in this order: `spatial:dimensions`, else the last two."""
    declared = places_of(array).get(DIMENSIONS.key)
    if declared is not None and isinstance(declared.value, list):
        names = tuple(array.names.get(str(name), str(name)) for name in declared.value)
        if len(names) == 2 and names[0] != names[1] and set(names) <= set(array.dims):
            return names
    return array.dims[-2:]


def axes_of(array: ArrayView) -> Iterator[tuple[Node, str, Axis | Part]]:
    """Yield the axes of an array's ``cs`` with their names and where they are written."""
    for node, system in systems_of(array):
        yield from ((node, name, axis) for name, axis in system.axes)


@once
def systems_of(array: ArrayView) -> tuple[tuple[Node, System], ...]:
    """Return the CRSs of an array's ``cs`` and where they are written, as far as they can be read."""
    model: Cs | None = array.try_silently(array.read, CS)
    systems = () if model is None else model.crs
    found = (array.try_silently(followed, array, array.node, it, System) for it in systems)
    return tuple(filter(None, found))


def followed(array: ArrayView, node: Node, item: M | Part, model: type[M]) -> tuple[Node, M]:
    """Return an object of ``cs`` with the node that it is written in, or raise XGroupError."""
    if not isinstance(item, Part):
        return node, item
    fragment = array.resolver.fragment(item.at(node))
    fragment.as_object()
    return fragment.node, parsed(array, model.read, fragment)
