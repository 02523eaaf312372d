"""The `geolocation` service convention: 2-D coordinates of curvilinear grids and swaths."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import ClassVar

from zarr_xgroup.conventions.array import ArrayView, is_standing
from zarr_xgroup.conventions.axes import axis_by_name, is_turned, what_turns
from zarr_xgroup.conventions.base import ConventionHandler
from zarr_xgroup.conventions.crs import CRS_KEYS, Crs, crs_in
from zarr_xgroup.conventions.layout import places_of
from zarr_xgroup.conventions.model import Coordinate, Interpretation
from zarr_xgroup.conventions.spatial_model import DIMENSIONS
from zarr_xgroup.errors import XGroupMetadataError, XGroupReferenceError
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import OBJECT, Fragment, Node
from zarr_xgroup.metadata.references import Reference
from zarr_xgroup.redaction import redact
from zarr_xgroup.variables.sources import Stored

#: What is added to the arrays of each kind; geodetic x is longitude, y is latitude. Planar ones
#: get nothing that would compete with the grid's own X and Y.
_ATTRIBUTES: dict[tuple[str, str], dict[str, str]] = {
    ("geodetic", "x"): {"standard_name": "longitude"},
    ("geodetic", "y"): {"standard_name": "latitude"},
}
_KINDS = ("geodetic", "planar")

#: How much of a text that is no CRS a message shows.
_SHOWN = 60


class GeolocationHandler(ConventionHandler):
    """Attaches the arrays of ``geolocation`` on the array, or else on its group."""

    tier = "service"
    name = "geolocation"
    uuid: ClassVar[str | None] = "bb9ee930-8c60-4c47-ad6b-8daa558987ed"
    repositories = ("R-CF/zarr_convention_geolocation",)
    implies = ("proj",)
    reads = ("geolocation",)

    @classmethod
    def applies(cls, array: ArrayView) -> bool:
        """Tell whether the array or its group has geolocation arrays and declares it."""
        has = array.attribute("geolocation") or array.attribute_of(array.node.group, "geolocation")
        return has is not None and super().applies(array)

    def interpret(self, array: ArrayView) -> Interpretation:
        """Return the geolocation arrays."""
        geolocation = array.derived(geolocation_of)
        if geolocation is None:
            return array.found()
        return array.found(*geolocation_coordinates(array, geolocation))


def geolocation_of(array: ArrayView) -> Fragment | None:
    """Return the geolocation object that is about an array: its own, or its group's."""
    own = array.attribute("geolocation")
    if own is not None:
        return own
    shared = array.attribute_of(array.node.group, "geolocation")
    return shared if shared is not None and _is_located(array, shared) else None


def _is_located(array: ArrayView, geolocation: Fragment) -> bool:
    """Tell whether a group's geolocation is about an array of the group.

    It is not about the geolocation arrays themselves, nor about what has fewer dimensions.
    """
    references = [
        reference
        for kind in _KINDS
        for axis in ("x", "y")
        if (arrays := geolocation.get(kind)) is not None
        and (reference := arrays.get(axis)) is not None
    ]
    nodes = [array.quietly(_referred, array, reference) for reference in references]
    found = [node for node in nodes if node is not None]
    if any(array.is_me(node) for node in found):
        return False
    if not found or any(_has_dims(array, array.sizes, node) for node in found):
        return True
    # About none of the group's arrays: tie points, which all arrays of two dimensions get.
    located = [
        sizes
        for name, sizes in array.siblings.items()
        if all(name != node.name or node.group != array.node.group for node in found)
    ]
    return len(array.dims) > 1 and not any(
        _has_dims(array, sizes, node) for sizes in located for node in found
    )


def geolocation_coordinates(
    array: ArrayView, geolocation: Fragment, identity: Fragment | None = None
) -> Iterator[Coordinate]:
    """Yield the arrays that a geolocation object names, as coordinates of an array.

    Parameters
    ----------
    array : ArrayView
        The array.
    geolocation : Fragment
        ``{"geodetic"?: {"x": ref, "y": ref, ...}, "planar"?: {...}}`` (geolocation
        convention).
    identity : Fragment, optional
        The ``id`` of the CRS of ``cs`` that the geolocation is part of, which overrides its own.
    """
    geolocation = array.attempt(array.resolver.fragment, geolocation) or geolocation
    if array.attempt(geolocation.as_object) is None:
        return
    kinds = [kind for kind in _KINDS if geolocation.get(kind) is not None]
    if not kinds:
        array.problem(geolocation.error(_("has neither 'geodetic' nor 'planar'")))
    for kind in kinds:
        arrays = geolocation.get(kind)
        reason = array.quietly(_what_swaps, array, arrays)
        if reason:
            message = _("{place}: {reason}, x is along Y, and y along X; they were swapped")
            array.note(message.format(place=arrays, reason=reason), arrays)
        for axis, other in (("x", "y"), ("y", "x")):
            lost = partial(_lost, kind, axis)
            wanted = (kind, axis)
            added = _ATTRIBUTES.get((kind, other if reason else axis), {})
            coordinate = array.attempt(
                _coordinate, array, arrays, wanted, added, identity, lost=lost
            )
            if coordinate is not None:
                yield coordinate


def _lost(kind: str, axis: str) -> str:
    return _("{axis} of its {kind} geolocation").format(axis=axis, kind=kind)


def _what_swaps(array: ArrayView, arrays: Fragment) -> str:
    """Return by what arrays are the other way round than they are declared, "" if by nothing."""
    nodes = [standing_for(array, _referred(array, arrays.required(axis))) for axis in ("y", "x")]
    documents = map(array.document_of, nodes)
    attributes = ({} if it is None else it.attributes for it in documents)
    return what_turns([node.name for node in nodes], attributes)


def _coordinate(
    array: ArrayView,
    arrays: Fragment,
    kind: tuple[str, str],
    added: Mapping[str, str],
    identity: Fragment | None,
) -> Coordinate:
    reference = arrays.required(kind[1])
    node = standing_for(array, _referred(array, reference))
    dims = fitting_dims(array, node)
    if not set(dims) <= set(array.dims):
        message = _(
            "{place}: the shape of {node} is not that of the array's horizontal axes; it was "
            "attached under its own dimensions {dimensions}"
        )
        text = message.format(place=reference, node=node, dimensions=", ".join(dims))
        array.note(text, reference)
    source = array.stored(Stored(node, dims), reference)
    return Coordinate(node.name, source, added, crs=_crs(array, arrays, kind[0], identity))


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
        return array.instead_of(reference, own.name)


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
    pairs = zip(fitting_dims(array, node), array.shape_of(node), strict=True)
    return all(array.sizes.get(name) == size for name, size in pairs)


def _crs(array: ArrayView, arrays: Fragment, kind: str, identity: Fragment | None) -> Crs | None:
    """Return the CRS of geolocation arrays, which is not that of the array they locate.

    The ``id`` of a CRS of ``cs`` overrides their own, unless it cannot be that of longitudes and
    latitudes.
    """
    for place in (identity, arrays.get("crs"), arrays.get("id")):
        found = None if place is None else crs_at(array, place)
        if found is not None and (kind == "planar" or found.is_geographic):
            return found
    return None


def crs_at(array: ArrayView, place: Fragment, keys: Iterable[str] = CRS_KEYS) -> Crs | None:
    """Return the CRS that an object gives under keys, by default those of `proj`, or None.

    What contradicts itself is told; what pyproj does not understand is told and passed over.
    """
    if not isinstance(place.value, OBJECT):
        return None
    found = [crs for crs in crs_in(place.value, keys) if _is_understood(array, place, crs)]
    for other in found[1:]:
        if found[0].differs(other):
            message = _("{place}: {other} is another CRS than {first}, which was used")
            text = message.format(place=place, other=other.key, first=found[0].key)
            array.note(text, place)
    return found[0] if found else None


def _is_understood(array: ArrayView, place: Fragment, crs: Crs) -> bool:
    if not crs.is_understood:
        message = _("{place}: {key} is no CRS that pyproj understands: {text!r}")
        text = message.format(place=place, key=crs.key, text=redact(crs.text)[:_SHOWN])
        array.problem(XGroupMetadataError(text), _("the CRS of {key!r}").format(key=crs.key))
    return crs.is_understood


def _has_dims(array: ArrayView, sizes: Mapping[str, int], node: Node) -> bool:
    """Tell whether dimensions of these sizes include those of an array, or have its shape."""
    shape = array.shape_of(node)
    own = zip(array.own_dims_of(node), shape, strict=True)
    return all(sizes.get(name) == size for name, size in own) or (
        tuple(sizes.values())[-len(shape) :] == shape
    )


def fitting_dims(array: ArrayView, node: Node) -> tuple[str, ...]:
    """Return the dimensions that an array has as a coordinate of another one.

    Its own, where they are the other's; those of the other's horizontal axes, where its
    shape is theirs; else its own all the same.
    """
    own, shape = array.own_dims_of(node), array.shape_of(node)
    if all(array.sizes.get(name) == size for name, size in zip(own, shape, strict=True)):
        return own
    horizontal = horizontal_dims(array)
    for names in (horizontal, horizontal[::-1]):
        if len(names) == len(shape) and tuple(array.sizes[name] for name in names) == shape:
            return names
    return own


def horizontal_dims(array: ArrayView) -> tuple[str, ...]:
    """Return the array's dimensions along Y and X, in this order.

    From ``spatial:dimensions``, else from the axes of ``cs`` that are abbreviated so, else
    the last two.
    """
    declared = array.derived(places_of).get(DIMENSIONS.key)
    if declared is not None and isinstance(declared.value, list):
        names = [array.names.get(str(name), str(name)) for name in declared.value]
        if _are_dims(array, names):
            return tuple(reversed(names) if _are_turned(declared.value) else names)
    axes = dict(_abbreviated_axes(array))
    if {"X", "Y"} <= set(axes) and _are_dims(array, [axes["Y"], axes["X"]]):
        return axes["Y"], axes["X"]
    return array.dims[-2:]


def _are_turned(names: Iterable[object]) -> bool:
    return is_turned(axis_by_name(str(name)) for name in names) is True


def _are_dims(array: ArrayView, names: object) -> bool:
    return (
        isinstance(names, list)
        and len(names) == 2
        and names[0] != names[1]
        and all(isinstance(name, str) and name in array.sizes for name in names)
    )


def _abbreviated_axes(array: ArrayView) -> Iterator[tuple[str, str]]:
    """Yield the abbreviation and the name of the axes of ``cs`` that have one."""
    for name, axis in all_axes(array):
        abbreviation = axis.get("abbreviation")
        if abbreviation is not None and isinstance(abbreviation.value, str):
            yield abbreviation.value.upper(), array.names.get(name, name)


def all_axes(array: ArrayView) -> Iterator[tuple[str, Fragment]]:
    """Yield the axes of an array's ``cs`` by name, as far as they can be read."""
    for system in array.derived(systems_of):
        axes = system.get("axes")
        if axes is not None:
            yield from named_axes(axes)


def systems_of(array: ArrayView) -> tuple[Fragment, ...]:
    """Return the CRSs of an array's ``cs``, references followed, as far as they can be read."""
    cs = array.attribute("cs")
    systems = cs.get("crs") if cs is not None else None
    if systems is None or not isinstance(systems.value, list):
        return ()
    found = (array.quietly(array.resolver.fragment, item) for item in systems.items())
    return tuple(system for system in found if system is not None)


def named_axes(axes: Fragment) -> Iterator[tuple[str, Fragment]]:
    """Yield the axes of a CRS by name: an object keyed by it, or a list of named objects."""
    if isinstance(axes.value, list):
        for axis in axes.items():
            name = axis.get("name")
            if name is not None and isinstance(name.value, str):
                yield name.value, axis
    elif isinstance(axes.value, dict):
        yield from axes.members()
