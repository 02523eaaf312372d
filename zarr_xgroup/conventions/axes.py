"""Coordinates that are arrays which metadata refer to: along which dimensions of an array they lie.

`cs`, `geolocation`, `ref` and paths of CF share it: which array is meant, the one that is referred to or a
coordinate of the array's own group, and geolocation objects, which may stand in a CRS of `cs`, too.

Source: geolocation convention (R-CF/zarr_convention_geolocation).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Annotated, Any, ClassVar, TypeVar

from zarr_xgroup.conventions.array import (
    ArrayView,
    fall_back_to_own_array,
    own_array_wins,
    own_dims_of,
    parse_once,
    shape_of,
)
from zarr_xgroup.conventions.crs import Crs, ProjObject
from zarr_xgroup.conventions.descriptions import (
    Member,
    Model,
    Nested,
    Reader,
    ReferenceTo,
    such_as,
)
from zarr_xgroup.conventions.model import Coordinate
from zarr_xgroup.conventions.multiscales import scopes_of
from zarr_xgroup.conventions.proj import crs_at
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
    declared = scopes_of(array).get(SPATIAL_DIMENSIONS)
    if declared is not None and isinstance(declared.value, list):
        # Of three names the last two, as in `spatial`.
        last = declared.value[-2:] if len(declared.value) in (2, 3) else []
        names = tuple(array.dim_names.get(str(name), str(name)) for name in last)
        if len({*names}) == 2 and set(names) <= set(array.dims):
            return names
    return array.dims[-2:]


def rows_and_columns(array: ArrayView) -> tuple[str, str] | None:
    """Return the array's dimensions along Y and X, or None if it does not have two different ones."""
    dims = horizontal_dims(array)
    if len(set(dims)) != 2:
        return None
    # Y comes first, unless their names say the contrary: nothing else tells.
    first, second = map(axis_by_name, dims)
    is_x_first = first == "X" and second != "X"
    return (dims[1], dims[0]) if is_x_first else (dims[0], dims[1])


def fitting_dims(array: ArrayView, node: Node) -> tuple[str, ...]:
    """Return the dimensions that another array gets as a coordinate of an array.

    Its own dimensions if the array has them with the same sizes; else the array's horizontal dimensions, if
    those have its shape; else its own again, with which it does not fit.
    """
    own, shape = own_dims_of(array, node), shape_of(array, node)
    if all(array.sizes.get(name) == size for name, size in zip(own, shape, strict=True)):
        return own
    horizontal = horizontal_dims(array)
    return horizontal if tuple(array.sizes[name] for name in horizontal) == shape else own


def fits_as_coordinate(array: ArrayView, node: Node) -> bool:
    """Tell whether a node can be a coordinate of an array, which then has all of the node's dimensions and sizes."""
    pairs = zip(fitting_dims(array, node), shape_of(array, node), strict=True)
    return all(array.sizes.get(name) == size for name, size in pairs)


# Which array is meant.


def own_coordinate_of_group(array: ArrayView, name: str) -> Node | None:
    """Return the array of the same group that is a coordinate of a name, or None if there is none."""
    document = array.sibling(name)
    if document is None:
        return None
    is_one = own_array_wins(name, tuple(array.siblings[name]), document.attributes)
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
    """Return the array that a reference leads to, or raise XGroupReferenceError.

    If it leads nowhere, the coordinate of its name in the array's own group is returned: data that were written
    again have their coordinates with them, and references to where these used to be.
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


# Geolocation objects.

DOCUMENT = "geolocation convention (R-CF/zarr_convention_geolocation)"

KINDS = Rule("geolocation/kinds", DOCUMENT, "geodetic, planar")
PAIR = Rule("geolocation/x-and-y", DOCUMENT, "x, y")

#: The members of a geolocation object: arrays of longitude and latitude, arrays of projected x and y.
GEODETIC, PLANAR = KINDS_OF_ARRAYS = ("geodetic", "planar")

EXAMPLE = '"geodetic": {"x": {"node": "longitude"}, "y": {"node": "latitude"}}'
_PAIR = Member(example='{"x": {"node": ...}, "y": {"node": ...}}', rule=PAIR)


class ArrayPair(Model, frozen=True, kw_only=True):
    """The arrays of x and y positions, and their CRS: `crs` takes precedence over `id`."""

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
    """A geolocation object: names the arrays that say where each cell of a grid is."""

    form: ClassVar[Rule] = KINDS

    geodetic: Annotated[ArrayPair | None, Nested(ArrayPair), _PAIR] = None
    planar: Annotated[ArrayPair | None, Nested(ArrayPair), _PAIR] = None

    @classmethod
    def report_further(cls, fragment: Fragment, found: dict[str, Any], reader: Reader) -> None:
        """Report an object without ``geodetic`` and ``planar``, unless one of them is misspelt."""
        is_misspelt = any(finding.topic for finding in reader.wrong)
        if not is_misspelt and not any(map(fragment.get, KINDS_OF_ARRAYS)):
            reason = _("has neither 'geodetic' nor 'planar'")
            reader.report(reader.form, fragment, reason, such_as(EXAMPLE))

    @property
    def references(self) -> tuple[Part, ...]:
        """The references to the arrays of x and y, as far as they are given."""
        pairs = [pair for pair in (self.geodetic, self.planar) if pair is not None]
        return tuple(axis for pair in pairs for axis in (pair.x, pair.y) if axis is not None)


def geolocation_coordinates(
    array: ArrayView,
    node: Node,
    written: Geolocation | Part,
    identity: Fragment | None = None,
) -> Iterator[Coordinate]:
    """Yield the arrays that a geolocation object names as coordinates of an array.

    `written` is the object, or a reference to it. `identity` is the ``id`` of the CRS of ``cs`` that the object
    is part of: it takes precedence over the CRS of the object.
    """
    found = array.try_reporting(dereferenced, array, node, written, Geolocation)
    if found is None:
        return
    node, geolocation = found
    for wrong in geolocation.wrong:
        kind = wrong.place.keys[-1]
        both = (_axis_of_geolocation(kind, axis) for axis in ("x", "y") if kind in KINDS_OF_ARRAYS)
        array.report_wrong(node, [wrong], ", ".join(both))
    for kind in KINDS_OF_ARRAYS:
        pair: ArrayPair | None = getattr(geolocation, kind)
        if pair is not None:
            yield from _coordinates_of_pair(array, node, kind, pair, identity)


def _axis_of_geolocation(kind: str, axis: str) -> str:
    """Return what messages call the coordinate of one axis of a geolocation object."""
    return _("{axis} of its {kind} geolocation").format(axis=axis, kind=kind)


def _coordinates_of_pair(
    array: ArrayView, node: Node, kind: str, pair: ArrayPair, identity: Fragment | None
) -> Iterator[Coordinate]:
    """Yield the arrays of x and y of a pair written in `node` as coordinates; unusable ones are reported."""
    own = (part.at(node) for part in (pair.crs, pair.id) if part is not None)
    crs = _crs_of_pair(array, kind, (identity, *own))
    for axis, name in (("x", "longitude"), ("y", "latitude")):
        lost = partial(_axis_of_geolocation, kind, axis)
        reference: Part | None = getattr(pair, axis)
        if reference is None:
            array.report_wrong(node, filter(None, [pair.wrong_with(axis)]), lost())
            continue
        source = array.try_reporting(_stored_positions, array, reference.at(node), cost=lost)
        if source is not None:
            # A standard name of planar arrays would compete with those of the grid's own X and Y.
            attributes = {"standard_name": name} if kind == GEODETIC else {}
            yield Coordinate(source.node.name, source, attributes, crs=crs, places_cells=True)


def _crs_of_pair(array: ArrayView, kind: str, places: Iterable[Fragment | None]) -> Crs | None:
    """Return the first CRS of `places` that can be used for a pair of arrays, or None.

    Longitudes and latitudes can only be in a geographic CRS: another one is passed over.
    """
    systems = (crs_at(array, place) for place in places if place is not None)
    is_planar = kind == PLANAR
    return next((crs for crs in systems if crs and (is_planar or crs.is_geographic)), None)


def _stored_positions(array: ArrayView, reference: Fragment) -> Stored:
    """Return the array of x or y that a reference leads to as a source, or raise XGroupError.

    Where it does not fit to the array, it keeps dimensions of its own, which is reported.
    """
    node = own_or_referred(array, coordinate_referred_to(array, reference))
    dims = fitting_dims(array, node)
    if not set(dims) <= set(array.dims):
        message = _(
            "the shape of {node} is not that of the array's horizontal axes; it was attached "
            "under its own dimensions {dimensions}"
        ).format(node=node, dimensions=", ".join(dims))
        array.report(Topic.CHOICE, reference, message)
    return array.stored(Stored(node, dims), reference)
