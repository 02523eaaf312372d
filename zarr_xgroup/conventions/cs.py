"""The `cs` principal convention: coordinate sets for every axis of an array.

After OGC 18-005 (referencing by coordinates). What the JSON says is read in `cs_model`; here it
becomes the coordinates of an array with dimensions, with values from `cs_values`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any, ClassVar

from zarr_xgroup.conventions.array import ArrayView, once_per_array
from zarr_xgroup.conventions.axes import dereferenced, geolocation_coordinates
from zarr_xgroup.conventions.base import Checkable, ConventionHandler
from zarr_xgroup.conventions.crs import ALONG, Crs, is_geographic
from zarr_xgroup.conventions.cs_model import (
    ABBREVIATIONS,
    ATTRIBUTE,
    EVERY,
    OF_SET,
    RULES,
    SHARED,
    Axis,
    Boundaries,
    CoordinateSet,
    Cs,
    Described,
    System,
)
from zarr_xgroup.conventions.cs_values import ArrayAxis, bounds_of, source_of, terms_of
from zarr_xgroup.conventions.declaring import is_declared_by_array, is_declared_by_group
from zarr_xgroup.conventions.model import Coordinate, Interpretation
from zarr_xgroup.conventions.proj_model import crs_at
from zarr_xgroup.errors import Severity
from zarr_xgroup.findings import Finding, Topic, coordinate_named
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.dimensions import declared_dimensions
from zarr_xgroup.metadata.nodes import Fragment, Node, Part
from zarr_xgroup.variables.functions import Regular
from zarr_xgroup.variables.sources import Source

_DEGREES = {"degree", "degrees", "deg", "°"} | {
    f"{word}{end}"
    for word in ("degree", "degrees")
    for end in ("_east", "_north", "_e", "_n", "east", "north", "e", "n")
}
_ANY_VALUES = '{"regular": [first, step]}'
_STANDARD_NAMES = {"X": "longitude", "Y": "latitude"}


class CsHandler(ConventionHandler):
    """Attaches the coordinates that an array's ``cs`` declares for its axes."""

    tier = "principal"
    name = ATTRIBUTE.key
    uuid: ClassVar[str | None] = "e4dbf0b7-7a00-4ce6-b23e-484292014ab4"
    repositories = ("R-CF/zarr_convention_cs", "R-CF/zarr_conventions_cs")
    implies = ("proj",)
    described = (ATTRIBUTE, SHARED)
    rules = RULES
    reads = ()

    @classmethod
    def applies(cls, array: ArrayView) -> bool:
        """Tell whether the array declares the convention, or has a ``cs`` that its group declares."""
        if is_declared_by_array(cls, array):
            return True
        return array.attribute(ATTRIBUTE.key) is not None and is_declared_by_group(cls, array)

    @classmethod
    def owned(cls, attributes: Mapping[str, Any]) -> Iterator[str]:
        """Yield ``cs`` of an array, and ``crs`` of a group that holds what arrays refer to."""
        yield from super().owned(attributes)
        if isinstance(attributes.get(SHARED.key), Mapping):
            yield SHARED.key

    @classmethod
    def why_not(cls) -> str:
        """Return why it does not apply to an array, where the array's group declares it."""
        return _("it has no attribute 'cs'")

    def interpret(self, array: ArrayView) -> Interpretation:
        """Return the coordinates of all axes of all coordinate reference systems, and the CRS."""
        if array.attribute(ATTRIBUTE.key) is None:
            place = Fragment(array.node, ("attributes", ATTRIBUTE.key), None)
            lost = _("the coordinates of its dimensions")
            array.report(Topic.PROBLEM, place, _("is declared, but missing"), cost=lost)
        model: Cs | None = array.read(ATTRIBUTE)
        if model is None:
            return array.interpretation()
        array.report_wrong(array.node, model)
        _tell_of_bare_dims(array, model)
        systems = (_system(array, item, model.id) for item in model.crs)
        return array.interpretation(*chain.from_iterable(systems))

    @classmethod
    def crs(cls, array: ArrayView) -> Crs | None:
        """Return the CRS that ``id`` of an array's ``cs`` says, or that of one of its CRSs."""
        model: Cs | None = array.try_silently(array.read, ATTRIBUTE)
        places = [] if model is None or model.id is None else [model.id.at(array.node)]
        places += (it.id.at(node) for node, it in _systems_of(array) if it.id is not None)
        return next(filter(None, (crs_at(array, place) for place in places)), None)

    @classmethod
    def check(cls, subject: Checkable) -> Iterable[Finding]:
        """Return what is wrong with the CRSs that a group shares, whatever it declares."""
        written = None if subject.is_array else subject.attribute(SHARED.key)
        if written is None or SHARED.read(written)[0] is None:
            return ()  # that of others, unless the convention is declared
        return (it.at(subject.node) for it in SHARED.all_wrong(written))


def _tell_of_bare_dims(array: ArrayView, cs: Cs) -> None:
    """Say which dimensions have no axis, if all axes are known: only a check tells it."""
    axes, systems = _dims_of_axes(array), [system for _node, system in _systems_of(array)]
    is_unknown = cs.wrong_with("crs") or any(system.wrong_with("axes") for system in systems)
    if axes.issuperset(array.dims) or is_unknown or len(systems) < len(cs.crs):
        return
    for name in declared_dimensions(array.document):
        if name is not None and array.dim_names.get(name, name) not in axes:
            is_there = array.sibling(name) is not None
            values = f'{{"external": {{"node": "{name}"}}}}' if is_there else _ANY_VALUES
            text = _("there is no axis for the dimension {name!r}").format(name=name)
            remedy = _("add to the axes of one of the CRSs {example}").format(
                example=f'"{name}": {{"coordinates": [{{"values": {values}}}]}}'
            )
            place = cs.place(array.node, "crs")
            severity: Severity = "warning" if is_there else "error"
            array.report(EVERY, place, text, remedy, severity=severity)


# From systems to axes to coordinate sets; each may be a reference.


def _system(array: ArrayView, item: System | Part, identity: Part | None) -> Iterator[Coordinate]:
    """Yield the coordinates of one CRS; `identity` is the ``id`` that overrides its own."""
    found = array.try_reporting(dereferenced, array, array.node, item, System)
    if found is None:
        return
    node, system = found
    array.report_wrong(node, system)
    own = identity or system.id
    geographic = is_geographic(own and own.value, system.name)
    for name, axis in system.axes:
        yield from _axis(array, node, array.dim_names.get(name, name), axis, geographic)
    if system.geolocation is not None:
        yield from geolocation_coordinates(
            array, node, system.geolocation, None if own is None else own.at(node)
        )


def _axis(
    array: ArrayView, node: Node, name: str, item: Axis | Part, geographic: bool
) -> Iterator[Coordinate]:
    lost = partial(coordinate_named, name)
    found = array.try_reporting(dereferenced, array, node, item, Axis, cost=lost)
    if found is not None:
        yield from _coordinates(ArrayAxis(array, found[0], name, found[1], geographic))


def _coordinates(axis: ArrayAxis) -> Iterator[Coordinate]:
    """Yield a coordinate for each coordinate set of an axis, the positions where there is none."""
    array, sets = axis.array, axis.axis.coordinates
    wrong = axis.axis.wrong_with("coordinates")
    if wrong is not None:  # without them it would be taken to have none
        array.report_wrong(axis.node, [wrong], coordinate_named(axis.name))
        return
    if sets or axis.is_dimension:
        _tell_of_parts(axis, axis.axis, axis.node)
    if not sets and axis.is_dimension:
        yield Coordinate(axis.name, axis.regular(Regular(0, 1)), _attributes(axis, axis.axis))
    for index, item in enumerate(sets):
        lost = partial(_lost, axis, index, item)
        coordinate = array.try_reporting(_coordinate, axis, index, item, cost=lost)
        if coordinate is not None:
            yield coordinate


def _name_of(axis: ArrayAxis, index: int, item: CoordinateSet | Part) -> str:
    """Return what the coordinate of a set is called, as far as that can be read."""
    if index == 0:
        return axis.name
    own = "" if isinstance(item, Part) else item.name
    return own or f"{axis.name}_{index}"


def _lost(axis: ArrayAxis, index: int, item: CoordinateSet | Part) -> str:
    return coordinate_named(_name_of(axis, index, item))


def _coordinate(axis: ArrayAxis, index: int, item: CoordinateSet | Part) -> Coordinate:
    """Return the coordinate of a set, or raise XGroupError if it has no values."""
    node, written = dereferenced(axis.array, axis.node, item, CoordinateSet)
    _tell_of_parts(axis, written, node)
    attributes = _attributes(axis, written)
    name = _name_of(axis, index, written)
    source = _valued(axis, written, node, name)
    terms: Mapping[str, Coordinate] = {}
    if written.parametric is not None:
        terms = terms_of(axis, written.parametric, node)
        if written.parametric.formula:
            attributes.setdefault("standard_name", written.parametric.formula)
    coordinate = Coordinate(name, source, attributes, formula_terms=terms)
    own = axis.own_coordinate(axis.name)
    has_bounds = own is not None and own.attributes.get("bounds") is not None
    if written.boundaries is None or has_bounds:
        return coordinate
    return _bounded(axis, coordinate, written.boundaries, node)


def _valued(axis: ArrayAxis, written: CoordinateSet, node: Node, name: str) -> Source:
    """Return the values of a set; a parametric one that has none are positions."""
    if wrong := written.wrong_with(OF_SET):
        raise wrong.at(node).as_error()
    if written.values is not None:
        return source_of(axis, written.values, node, name)
    if not axis.is_dimension:
        raise written.place(node, OF_SET).error(_("is missing"))
    return axis.regular(Regular(0, 1))


def _bounded(
    axis: ArrayAxis, coordinate: Coordinate, written: Boundaries, node: Node
) -> Coordinate:
    def lost() -> str:
        return _("the boundaries of {name!r}").format(name=coordinate.name)

    for wrong in written.wrong:
        key = "".join(wrong.place.keys[len(written.keys) :][:1])
        is_part = key in ("name", "attributes")
        part = _("{key!r} of {what}").format(key=key, what=lost()) if is_part else lost()
        axis.array.report_wrong(node, [wrong], part)
    bounds = axis.array.try_reporting(bounds_of, axis, coordinate, written, node, cost=lost)
    return replace(coordinate, bounds=bounds)


# What a coordinate is told to be.


def _attributes(axis: ArrayAxis, item: Described) -> dict[str, Any]:
    """Return the attributes that an axis and one of its sets give a coordinate.

    CF attributes that follow from the abbreviation and the direction are added where none is written.
    """
    abbreviation = axis.axis.abbreviation.upper()
    direction = (item.direction or axis.axis.direction).lower()
    along = abbreviation or ALONG.get(direction, "")
    name = _STANDARD_NAMES.get(along) if axis.is_geographic else None
    written = {**item.units(name), **axis.axis.attributes, **item.attributes}
    derived = {}
    if abbreviation in ABBREVIATIONS:
        derived["axis"] = abbreviation
    if abbreviation == "Z" and direction in ("up", "down"):
        derived["positive"] = direction
    if name is not None and str(written.get("units", "")).lower() in _DEGREES:
        derived["standard_name"] = name
    return derived | written


def _tell_of_parts(axis: ArrayAxis, item: Described, node: Node) -> None:
    """Say which members of an axis, or of one of its sets, cannot be used."""
    for wrong, lost in item.lost_of(axis.name):
        axis.array.report_wrong(node, [wrong], lost)


@once_per_array
def _dims_of_axes(array: ArrayView) -> frozenset[str]:
    """Return the names of all axes of an array, as its dimensions are called."""
    names = (name for _node, system in _systems_of(array) for name, _axis in system.axes)
    return frozenset(array.dim_names.get(name, name) for name in names)


@once_per_array
def _systems_of(array: ArrayView) -> tuple[tuple[Node, System], ...]:
    """Return the CRSs of an array's ``cs`` and where they are written, as far as they can be read."""
    model: Cs | None = array.try_silently(array.read, ATTRIBUTE)
    systems = () if model is None else model.crs
    found = (array.try_silently(dereferenced, array, array.node, it, System) for it in systems)
    return tuple(filter(None, found))
