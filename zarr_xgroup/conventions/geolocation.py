"""The `geolocation` service convention: 2-D coordinates of curvilinear grids and swaths.

A geolocation object names the arrays of these coordinates. A CRS of `cs` may also have such an object.

Source: geolocation convention (R-CF/zarr_convention_geolocation).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Annotated, Any, ClassVar

from zarr_xgroup.conventions.array import (
    ArrayView,
    once_per_array,
    own_dims_of,
    parse_once,
    shape_of,
)
from zarr_xgroup.conventions.attributes import Attribute
from zarr_xgroup.conventions.axes import (
    dereferenced,
    fitting_dims,
    name_of_target,
)
from zarr_xgroup.conventions.base import ConventionHandler
from zarr_xgroup.conventions.crs import ProjObject
from zarr_xgroup.conventions.descriptions import (
    Member,
    Model,
    Nested,
    Reader,
    ReferenceTo,
    such_as,
)
from zarr_xgroup.conventions.model import Coordinate, Interpretation
from zarr_xgroup.conventions.proj import crs_at
from zarr_xgroup.errors import Rule, XGroupError, XGroupReferenceError
from zarr_xgroup.findings import Topic
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Fragment, Node, Part
from zarr_xgroup.variables.sources import Source, Stored

DOCUMENT = "geolocation convention (R-CF/zarr_convention_geolocation)"

KINDS = Rule("geolocation/kinds", DOCUMENT, "geodetic, planar")
PAIR = Rule("geolocation/x-and-y", DOCUMENT, "x, y")

#: The members of a geolocation object: arrays of longitude and latitude, and of projected x and y.
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
    """A geolocation object, which names the arrays with the position of each cell of a grid."""

    form: ClassVar[Rule] = KINDS

    geodetic: Annotated[ArrayPair | None, Nested(ArrayPair), _PAIR] = None
    planar: Annotated[ArrayPair | None, Nested(ArrayPair), _PAIR] = None

    @classmethod
    def finish_fields(cls, fragment: Fragment, fields: dict[str, Any], reader: Reader) -> None:
        """Report an object without ``geodetic`` and ``planar``, unless one of them is misspelt."""
        is_misspelt = any(finding.topic for finding in reader.wrong)
        if not is_misspelt and not any(map(fragment.get, KINDS_OF_ARRAYS)):
            text = _("must have 'geodetic' or 'planar'")
            reader.report(reader.form, fragment, text, such_as(EXAMPLE))

    @property
    def references(self) -> tuple[Part, ...]:
        """The valid references to the arrays of x and y."""
        pairs = [pair for pair in (self.geodetic, self.planar) if pair is not None]
        return tuple(axis for pair in pairs for axis in (pair.x, pair.y) if axis is not None)


#: The attribute of an array, or of a group for its arrays.
ATTRIBUTE = Attribute(
    "geolocation",
    Nested(Geolocation, or_reference=True),
    KINDS,
    EXAMPLE,
    marks=KINDS_OF_ARRAYS,
)


class GeolocationHandler(ConventionHandler):
    """Attaches the coordinates that ``geolocation`` of an array or its group names."""

    tier = "service"
    name = ATTRIBUTE.key
    uuid: ClassVar[str | None] = "bb9ee930-8c60-4c47-ad6b-8daa558987ed"
    identifiers = ("R-CF/zarr_convention_geolocation",)
    described = (ATTRIBUTE,)
    rules = (KINDS, PAIR)
    reads = ()

    @classmethod
    def applies(cls, array: ArrayView) -> bool:
        """Return whether the array or its group has the attribute ``geolocation``, and the convention is declared."""
        written = array.attribute(ATTRIBUTE.key) or array.attribute(ATTRIBUTE.key, array.node.group)
        return written is not None and super().applies(array)

    def interpret(self, array: ArrayView) -> Interpretation:
        """Return the arrays of x and y as coordinates, if a geolocation object applies to the array."""
        written = _geolocation_for(array)
        if written is None:
            return array.interpretation()
        geolocation, _findings = parse_once(array, ATTRIBUTE.read, written)
        return array.interpretation(*geolocation_coordinates(array, written.node, geolocation))


@once_per_array
def _geolocation_for(array: ArrayView) -> Fragment | None:
    """Return the geolocation object of an array, otherwise of its group if that applies to the array, or None.

    A group's object applies to the arrays with the dimensions or the shape of one of the geolocation arrays, except
    these arrays themselves.
    """
    own = array.attribute(ATTRIBUTE.key)
    shared = array.attribute(ATTRIBUTE.key, array.node.group)
    if own is not None or shared is None:
        return own
    geolocation, _findings = parse_once(array, ATTRIBUTE.read, shared)
    fitting: list[bool] = []
    for reference in geolocation.references if isinstance(geolocation, Geolocation) else ():
        node = array.try_without_findings(_target_or_namesake, array, reference.at(shared.node))
        if node == array.node:
            return None
        if node is not None:
            shape = shape_of(array, node)
            dims = zip(own_dims_of(array, node), shape, strict=True)
            has_dims = all(array.sizes.get(name) == size for name, size in dims)
            fitting.append(has_dims or array.shape[-len(shape) :] == shape)
    # If no referenced array exists, the object is returned, so that `interpret` reports it.
    return shared if any(fitting) or not fitting else None


def _target_or_namesake(array: ArrayView, reference: Fragment) -> Node:
    """Return the array to which a reference points, or the group's own array of that name if it does not exist.

    Raises XGroupReferenceError if there is neither.
    """
    try:
        return array.resolver.array(reference)
    except XGroupReferenceError:
        name = name_of_target(reference)
        if array.sibling(name) is None:
            raise
        namesake = array.node.group.child(name)
        array.resolver.reached.add(namesake)
        return namesake


def geolocation_coordinates(
    array: ArrayView, node: Node, written: Geolocation | Part, identity: Fragment | None = None
) -> Iterator[Coordinate]:
    """Yield the arrays that a geolocation object names as coordinates of an array, and report unusable ones.

    `written` is the object, or a reference to it. `identity` is the ``id`` of the CRS of ``cs`` that contains the
    object, and takes precedence over the CRS of the object.
    """
    resolved = array.try_reporting(dereferenced, array, node, written, Geolocation)
    if resolved is None:
        return
    node, geolocation = resolved
    for finding in geolocation.wrong:
        kind = finding.place.keys[-1]
        both = (_axis_of_geolocation(kind, axis) for axis in ("x", "y") if kind in KINDS_OF_ARRAYS)
        array.report_wrong(node, [finding], ", ".join(both))
    for kind, pair in ((GEODETIC, geolocation.geodetic), (PLANAR, geolocation.planar)):
        if pair is None:
            continue
        # Longitudes and latitudes can only be in a geographic CRS.
        own = (part.at(node) for part in (pair.crs, pair.id) if part is not None)
        systems = (crs_at(array, place) for place in (identity, *own) if place is not None)
        crs = next((crs for crs in systems if crs and (kind == PLANAR or crs.is_geographic)), None)
        for axis, reference, name in (("x", pair.x, "longitude"), ("y", pair.y, "latitude")):
            cost = partial(_axis_of_geolocation, kind, axis)
            if reference is None:
                array.report_wrong(node, filter(None, [pair.wrong_with(axis)]), cost())
                continue
            # Standard names of planar arrays would compete with those of the grid's own X and Y.
            attributes = {"standard_name": name} if kind == GEODETIC else {}
            source: Source
            try:
                source = _stored_positions(array, reference.at(node))
                name = source.node.name
            except XGroupError as error:
                source, name = (
                    array.unusable_source(error, None, cost()),
                    name_of_target(reference.at(node)),
                )
            yield Coordinate(name, source, attributes, crs=crs, places_cells=True)


def _axis_of_geolocation(kind: str, axis: str) -> str:
    """Return the name of the coordinate along x or y of a geolocation object, for messages."""
    return _("{axis} of its {kind} geolocation").format(axis=axis, kind=kind)


def _stored_positions(array: ArrayView, reference: Fragment) -> Stored:
    """Return the array of x or y that a reference points to as a source, or raise XGroupError.

    An array that does not fit keeps its own dimensions, which is reported.
    """
    node = array.resolver.array(reference)
    dims = fitting_dims(array, node)
    if not set(dims) <= set(array.dims):
        message = _(
            "the shape of {node} does not match the array's horizontal axes; it is attached with "
            "its own dimensions {dimensions}"
        ).format(node=node, dimensions=", ".join(dims))
        array.report(Topic.CHOICE, reference, message)
    return array.stored(Stored(node, dims), reference)
