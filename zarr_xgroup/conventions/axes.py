"""Coordinates that are arrays elsewhere: along which dimensions of an array they lie.

What `cs`, `geolocation`, `ref` and paths of CF need alike: which array is meant, the group's own
coordinate or the one that is referred to, and geolocation objects, which stand in `cs`, too.

Source: geolocation convention (R-CF/zarr_convention_geolocation).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Annotated, Any, ClassVar, TypeVar

from zarr_xgroup.conventions.array import (
    ArrayView,
    own_array_instead,
    own_array_wins,
    own_dims_of,
    parse_once,
    shape_of,
)
from zarr_xgroup.conventions.crs import ProjObject, crs_at
from zarr_xgroup.conventions.descriptions import (
    Member,
    Model,
    Nested,
    Reader,
    ReferenceTo,
    such_as,
)
from zarr_xgroup.conventions.model import Coordinate
from zarr_xgroup.conventions.multiscales import places_of
from zarr_xgroup.errors import Rule, XGroupReferenceError
from zarr_xgroup.findings import Topic
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import axis_by_name
from zarr_xgroup.metadata.nodes import Fragment, Node, Part
from zarr_xgroup.metadata.references import Reference
from zarr_xgroup.variables.sources import Stored

M = TypeVar("M", bound=Model)

# Dimensions.


#: The attribute of `spatial` that names the dimensions along Y and X.
SPATIAL_DIMENSIONS = "spatial:dimensions"


def horizontal_dims(array: ArrayView) -> tuple[str, ...]:
    """Return the array's dimensions along Y and X, in this order: `spatial:dimensions`, else the last two."""
    declared = places_of(array).get(SPATIAL_DIMENSIONS)
    if declared is not None and isinstance(declared.value, list):
        names = tuple(array.dim_names.get(str(name), str(name)) for name in declared.value)
        if len(names) == 2 and names[0] != names[1] and set(names) <= set(array.dims):
            return names
    return array.dims[-2:]


def rows_and_columns(array: ArrayView) -> tuple[str, str] | None:
    """Return the array's dimensions along Y and X, or None if it has no two."""
    dims = horizontal_dims(array)
    if len(set(dims)) != 2:
        return None
    first, second = map(axis_by_name, dims)  # nothing declares which is which
    return (dims[1], dims[0]) if first == "X" != second else (dims[0], dims[1])


def fitting_dims(array: ArrayView, node: Node) -> tuple[str, ...]:
    """Return the dimensions that another array has as a coordinate of an array.

    Its own, where the array has them; those of the array's horizontal axes, where its shape is
    theirs; else its own all the same.
    """
    own, shape = own_dims_of(array, node), shape_of(array, node)
    if all(array.sizes.get(name) == size for name, size in zip(own, shape, strict=True)):
        return own
    horizontal = horizontal_dims(array)
    return horizontal if tuple(array.sizes[name] for name in horizontal) == shape else own


def fits(array: ArrayView, node: Node) -> bool:
    """Tell whether another array lies along dimensions that an array has."""
    pairs = zip(fitting_dims(array, node), shape_of(array, node), strict=True)
    return all(array.sizes.get(name) == size for name, size in pairs)


# Which array is meant.


def own_coordinate(array: ArrayView, name: str) -> Node | None:
    """Return the coordinate of a name that an array's group has itself, None if it has none."""
    document = array.sibling(name)
    if document is None:
        return None
    is_one = own_array_wins(name, tuple(array.siblings[name]), document.attributes)
    return array.node.group.child(name) if is_one else None


def own_or_referred(array: ArrayView, node: Node) -> Node:
    """Return an array that is referred to, or the group's own coordinate of its name where only that fits.

    A reference leads to the whole, when a part of it was written again with its coordinates.
    """
    if node.group == array.node.group or fits(array, node):
        return node
    own = own_coordinate(array, node.name)
    return own if own is not None and fits(array, own) else node


def coordinate_referred_to(array: ArrayView, reference: Fragment) -> Node:
    """Return the array that a reference leads to; where it leads nowhere, the group's own coordinate of its name.

    A reference may be left behind when data are written again with their coordinates.
    """
    try:
        return array.resolver.array(reference)
    except XGroupReferenceError:
        own = own_coordinate(array, Reference.parse(reference).node.rpartition("/")[2])
        if own is None:
            raise
        return own_array_instead(array, reference, own.name)


def dereferenced(array: ArrayView, node: Node, item: M | Part, model: type[M]) -> tuple[Node, M]:
    """Return an object, or what a reference in its place leads to, with its node, or raise XGroupError."""
    if not isinstance(item, Part):
        return node, item
    fragment = array.resolver.fragment(item.at(node))
    fragment.as_object()
    return fragment.node, parse_once(array, model.read, fragment)


# Geolocation objects.

DOCUMENT = "geolocation convention (R-CF/zarr_convention_geolocation)"

KINDS = Rule("geolocation/kinds", DOCUMENT, "geodetic, planar")
PAIR = Rule("geolocation/x-and-y", DOCUMENT, "x, y")

#: What may stand in it.
GEODETIC, PLANAR = KINDS_OF_ARRAYS = ("geodetic", "planar")

EXAMPLE = '"geodetic": {"x": {"node": "longitude"}, "y": {"node": "latitude"}}'
_PAIR = Member(example='{"x": {"node": ...}, "y": {"node": ...}}', rule=PAIR)


class Arrays(Model, frozen=True, kw_only=True):
    """Two arrays of positions, and their CRS: `crs` counts before `id`."""

    form: ClassVar[Rule] = PAIR

    x: Annotated[
        Part | None, ReferenceTo(), Member(required=True, example='"x": {"node": "longitude"}')
    ] = None
    y: Annotated[
        Part | None, ReferenceTo(), Member(required=True, example='"y": {"node": "latitude"}')
    ] = None
    crs: Annotated[Part | None, ProjObject()] = None
    id: Annotated[Part | None, ProjObject()] = None


class Geolocation(Model, frozen=True, kw_only=True):
    """The arrays that say where the cells of a grid are."""

    form: ClassVar[Rule] = KINDS

    geodetic: Annotated[Arrays | None, Nested(Arrays), _PAIR] = None
    planar: Annotated[Arrays | None, Nested(Arrays), _PAIR] = None

    @classmethod
    def report_further(cls, fragment: Fragment, found: dict[str, Any], reader: Reader) -> None:
        """Report that there are no arrays at all."""
        is_lost = any(finding.topic for finding in reader.wrong)  # one that is misspelt
        if not is_lost and not any(map(fragment.get, KINDS_OF_ARRAYS)):
            reason = _("has neither 'geodetic' nor 'planar'")
            reader.report(reader.form, fragment, reason, such_as(EXAMPLE))

    @property
    def references(self) -> tuple[Part, ...]:
        """What refers to the arrays."""
        pairs = [pair for pair in (self.geodetic, self.planar) if pair is not None]
        return tuple(axis for pair in pairs for axis in (pair.x, pair.y) if axis is not None)


def geolocation_coordinates(
    array: ArrayView,
    node: Node,
    written: Geolocation | Part,
    identity: Fragment | None = None,
) -> Iterator[Coordinate]:
    """Yield the arrays that a geolocation object, or one that is referred to, names, as coordinates of an array.

    `identity` is the ``id`` of the CRS of ``cs`` that the object is part of, which overrides its own.
    """
    found = array.try_reporting(dereferenced, array, node, written, Geolocation)
    if found is None:
        return
    node, geolocation = found

    def lost(kind: str, axis: str) -> str:
        return _("{axis} of its {kind} geolocation").format(axis=axis, kind=kind)

    for wrong in geolocation.wrong:
        kind = wrong.place.keys[-1]
        both = (lost(kind, axis) for axis in ("x", "y") if kind in KINDS_OF_ARRAYS)
        array.report_wrong(node, [wrong], ", ".join(both))
    for kind in KINDS_OF_ARRAYS:
        arrays: Arrays | None = getattr(geolocation, kind)
        if arrays is None:
            continue
        # The `id` of a CRS of `cs` counts, unless it cannot be that of longitudes and latitudes.
        own = (part.at(node) for part in (arrays.crs, arrays.id) if part is not None)
        systems = (crs_at(array, place) for place in (identity, *own) if place is not None)
        is_planar = kind == PLANAR
        crs = next((crs for crs in systems if crs and (is_planar or crs.is_geographic)), None)
        for axis, name in (("x", "longitude"), ("y", "latitude")):
            reference: Part | None = getattr(arrays, axis)
            if reference is None:
                array.report_wrong(node, filter(None, [arrays.wrong_with(axis)]), lost(kind, axis))
                continue
            make, cost = (_geolocated, array, reference.at(node)), partial(lost, kind, axis)
            source = array.try_reporting(*make, cost=cost)
            if source is not None:
                # Planar arrays get nothing that would compete with the grid's own X and Y.
                attributes = {"standard_name": name} if kind == GEODETIC else {}
                yield Coordinate(source.node.name, source, attributes, crs=crs)


def _geolocated(array: ArrayView, reference: Fragment) -> Stored:
    """Return an array of positions, along the dimensions that it has as a coordinate."""
    node = own_or_referred(array, coordinate_referred_to(array, reference))
    dims = fitting_dims(array, node)
    if not set(dims) <= set(array.dims):
        message = _(
            "the shape of {node} is not that of the array's horizontal axes; it was attached "
            "under its own dimensions {dimensions}"
        ).format(node=node, dimensions=", ".join(dims))
        array.report(Topic.CHOICE, reference, message)
    return array.stored(Stored(node, dims), reference)
