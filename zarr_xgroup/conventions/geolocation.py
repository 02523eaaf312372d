"""The `geolocation` service convention: 2-D coordinates of curvilinear grids and swaths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from zarr_xgroup.conventions.base import (
    ArrayContext,
    Coordinate,
    DocumentHandler,
    own_dimensions,
)
from zarr_xgroup.i18n import _
from zarr_xgroup.resolver import Fragment, Node

#: What is added to the arrays of each kind; geodetic x is longitude, y is latitude.
_ATTRIBUTES: dict[tuple[str, str], dict[str, str]] = {
    ("geodetic", "x"): {"standard_name": "longitude"},
    ("geodetic", "y"): {"standard_name": "latitude"},
    ("planar", "x"): {"standard_name": "projection_x_coordinate"},
    ("planar", "y"): {"standard_name": "projection_y_coordinate"},
}


class GeolocationHandler(DocumentHandler):
    """Attaches the arrays of ``geolocation`` on the array, or else on its group."""

    tier = "service"
    name = "geolocation"
    uuid: ClassVar[str | None] = "bb9ee930-8c60-4c47-ad6b-8daa558987ed"
    repositories = ("R-CF/zarr_convention_geolocation",)

    @classmethod
    def applies(cls, context: ArrayContext) -> bool:
        """Tell whether the array or its group has geolocation arrays and declares it."""
        return super().applies(context) and _attribute(context) is not None

    def coordinates(self, context: ArrayContext) -> Iterator[Coordinate]:
        """Yield the geolocation arrays."""
        geolocation = geolocation_of(context)
        if geolocation is not None:
            yield from geolocation_coordinates(context, geolocation)


def geolocation_of(context: ArrayContext) -> Fragment | None:
    """Return the geolocation object that is about an array: its own, or its group's."""
    own = context.node.attribute("geolocation")
    if own is not None:
        return own
    shared = context.node.group.attribute("geolocation")
    return shared if shared is not None and _is_located(context, shared) else None


def _attribute(context: ArrayContext) -> Fragment | None:
    return context.node.attribute("geolocation") or context.node.group.attribute("geolocation")


def _is_located(context: ArrayContext, geolocation: Fragment) -> bool:
    """Tell whether a group's geolocation is about an array of the group.

    It is not about the geolocation arrays themselves, nor about what has fewer dimensions.
    """
    probe = ArrayContext(context.node, context.dimensions, context.reader)
    references = [
        reference
        for kind in ("geodetic", "planar")
        for axis in ("x", "y")
        if (arrays := geolocation.get(kind)) is not None
        and (reference := arrays.get(axis)) is not None
    ]
    nodes = [probe.attempt(probe.resolver.array, reference) for reference in references]
    if context.node in nodes:
        return False
    found = [node for node in nodes if node is not None]
    if not found or any(_has_dimensions(context.sizes, node) for node in found):
        return True
    # About none of the group's arrays: tie points, which all arrays of two dimensions get.
    located = [
        sizes
        for name, sizes in context.siblings.items()
        if all(name != node.name or node.group != context.node.group for node in found)
    ]
    return len(context.dimensions) > 1 and not any(
        _has_dimensions(sizes, node) for sizes in located for node in found
    )


def geolocation_coordinates(context: ArrayContext, geolocation: Fragment) -> Iterator[Coordinate]:
    """Yield the arrays that a geolocation object names, as coordinates of an array.

    Parameters
    ----------
    context : ArrayContext
        The array.
    geolocation : Fragment
        ``{"geodetic"?: {"x": ref, "y": ref, ...}, "planar"?: {...}}`` (geolocation
        convention).
    """
    geolocation = context.attempt(context.resolver.fragment, geolocation) or geolocation
    if context.attempt(geolocation.as_object) is None:
        return
    kinds = [kind for kind in ("geodetic", "planar") if geolocation.get(kind) is not None]
    if not kinds:
        context.problems.append(geolocation.error(_("has neither 'geodetic' nor 'planar'")))
    for kind in kinds:
        arrays = geolocation.get(kind)
        for axis in ("x", "y"):
            coordinate = context.attempt(_coordinate, context, arrays, kind, axis)
            if coordinate is not None:
                yield coordinate


def _coordinate(context: ArrayContext, arrays: Fragment, kind: str, axis: str) -> Coordinate:
    arrays.as_object()
    reference = arrays.get(axis)
    if reference is None:
        raise arrays.error(_("has no {axis!r}").format(axis=axis))
    node = context.resolver.array(reference)
    dimensions = fitting_dimensions(context, node)
    if not set(dimensions) <= set(context.dimensions):
        message = _(
            "{place}: the shape of {node} is not that of the array's horizontal axes; it was "
            "attached under its own dimensions {dimensions}"
        )
        context.note(message.format(place=reference, node=node, dimensions=", ".join(dimensions)))
    return Coordinate(
        name=node.name,
        variable=context.variable(node, dimensions, reference),
        identity=(node, dimensions),
        attributes=dict(_ATTRIBUTES[kind, axis]),
        source=node,
        as_stored=True,
    )


def _has_dimensions(sizes: Mapping[str, int], node: Node) -> bool:
    """Tell whether dimensions of these sizes include those of an array, or have its shape."""
    document = node.document
    shape = [] if document is None else list(document["shape"])
    own = zip(own_dimensions(node), shape, strict=True)
    return all(sizes.get(name) == size for name, size in own) or (
        list(sizes.values())[-len(shape) :] == shape
    )


def fitting_dimensions(context: ArrayContext, node: Node) -> tuple[str, ...]:
    """Return the dimensions that an array has as a coordinate of another one.

    Its own, where they are the other's; those of the other's horizontal axes, where its
    shape is theirs; else its own all the same.
    """
    own = own_dimensions(node)
    document = node.document
    shape = tuple(document["shape"]) if document is not None else ()
    if all(context.sizes.get(name) == size for name, size in zip(own, shape, strict=True)):
        return own
    horizontal = horizontal_dimensions(context)
    for names in (horizontal, horizontal[::-1]):
        if len(names) == len(shape) and tuple(context.sizes[name] for name in names) == shape:
            return names
    return own


def horizontal_dimensions(context: ArrayContext) -> tuple[str, ...]:
    """Return the array's dimensions along Y and X, in this order.

    From ``spatial:dimensions``, else from the axes of ``cs`` that are abbreviated so, else
    the last two.
    """
    for node in (context.node, context.node.group):
        declared = node.attribute("spatial:dimensions")
        if declared is not None and isinstance(declared.value, list):
            names = [context.names.get(str(name), str(name)) for name in declared.value]
            if _are_dimensions(context, names):
                return tuple(names)
    axes = dict(_abbreviated_axes(context))
    if {"X", "Y"} <= set(axes) and _are_dimensions(context, [axes["Y"], axes["X"]]):
        return axes["Y"], axes["X"]
    return context.dimensions[-2:]


def _are_dimensions(context: ArrayContext, names: object) -> bool:
    return (
        isinstance(names, list)
        and len(names) == 2
        and all(isinstance(name, str) and name in context.sizes for name in names)
    )


def _abbreviated_axes(context: ArrayContext) -> Iterator[tuple[str, str]]:
    """Yield the abbreviation and the name of the axes of ``cs`` that have one."""
    for name, axis in all_axes(context):
        abbreviation = axis.get("abbreviation")
        if abbreviation is not None and isinstance(abbreviation.value, str):
            yield abbreviation.value.upper(), context.names.get(name, name)


def all_axes(context: ArrayContext) -> Iterator[tuple[str, Fragment]]:
    """Yield the axes of an array's ``cs`` by name, as far as they can be read."""
    cs = context.node.attribute("cs")
    systems = cs.get("crs") if cs is not None else None
    if systems is None or not isinstance(systems.value, list):
        return
    probe = ArrayContext(context.node, context.dimensions, context.reader)
    for item in systems.items():
        system = probe.attempt(probe.resolver.fragment, item)
        axes = system.get("axes") if system is not None else None
        if axes is not None:
            yield from named_axes(axes)


def named_axes(axes: Fragment) -> Iterator[tuple[str, Fragment]]:
    """Yield the axes of a CRS by name: an object keyed by it, or a list of named objects."""
    if isinstance(axes.value, list):
        for axis in axes.items():
            name = axis.get("name")
            if name is not None and isinstance(name.value, str):
                yield name.value, axis
    elif isinstance(axes.value, dict):
        yield from axes.members()
