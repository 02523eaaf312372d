"""The `cs` principal convention: coordinate sets for every axis of an array.

After OGC 18-005 (referencing by coordinates). Where documents of different dates disagree,
both spellings are read.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import xarray as xr
from xarray.conventions import decode_cf_variable

from zarr_xgroup.computed import (
    ComputedArray,
    OffsetBounds,
    Regular,
    RegularBounds,
    lazy_variable,
)
from zarr_xgroup.conventions.base import (
    ArrayContext,
    Coordinate,
    DocumentHandler,
    own_dimensions,
)
from zarr_xgroup.conventions.geolocation import (
    all_axes,
    fitting_dimensions,
    geolocation_coordinates,
    named_axes,
)
from zarr_xgroup.conventions.uom import unit_of
from zarr_xgroup.conventions.values import is_finite
from zarr_xgroup.crs import is_geographic
from zarr_xgroup.errors import XGroupError
from zarr_xgroup.i18n import _
from zarr_xgroup.resolver import Fragment, Node, kind_of
from zarr_xgroup.timeunits import cf_units, cf_units_of_reference
from zarr_xgroup.variables import transposed

#: The dimension of the two sides of a cell.
BOUNDS = "bounds"

_DEGREES = {"degree", "degrees", "deg", "°"} | {
    f"{word}{end}"
    for word in ("degree", "degrees")
    for end in ("_east", "_north", "_e", "_n", "east", "north", "e", "n")
}
_ABBREVIATIONS = ("X", "Y", "Z", "T")
_DIRECTIONS = {"east": "X", "west": "X", "north": "Y", "south": "Y"}


class CsHandler(DocumentHandler):
    """Attaches the coordinates that an array's ``cs`` declares for its axes."""

    tier = "principal"
    name = "cs"
    uuid: ClassVar[str | None] = "e4dbf0b7-7a00-4ce6-b23e-484292014ab4"
    repositories = ("R-CF/zarr_convention_cs", "R-CF/zarr_conventions_cs")

    @classmethod
    def applies(cls, context: ArrayContext) -> bool:
        """Tell whether the array declares the convention, or has a ``cs`` that its group declares."""
        document = context.node.document
        if document is not None and cls.is_declared(document["attributes"]):
            return True
        return context.node.attribute("cs") is not None and super().applies(context)

    def coordinates(self, context: ArrayContext) -> Iterator[Coordinate]:
        """Yield the coordinates of all axes of all coordinate reference systems."""
        cs = context.node.attribute("cs")
        if cs is None:
            place = Fragment(context.node, ("attributes", "cs"), None)
            context.problems.append(place.error(_("is declared, but missing")))
            return
        systems = context.attempt(_required, cs, "crs")
        items = context.attempt(lambda: list(systems.items())) if systems is not None else None
        for item in items or ():
            system = context.attempt(context.resolver.fragment, item)
            if system is not None:
                yield from _system(context, system, cs.get("id"))


def _required(fragment: Fragment, key: str) -> Fragment:
    fragment.as_object()
    member = fragment.get(key)
    if member is None:
        raise fragment.error(_("has no {key!r}").format(key=key))
    return member


def _system(
    context: ArrayContext, system: Fragment, identity: Fragment | None
) -> Iterator[Coordinate]:
    """Yield the coordinates of one CRS; `identity` is the ``id`` that overrides its own."""
    axes = context.attempt(_required, system, "axes")
    identity = identity or system.get("id")
    name = system.get("name")
    geographic = is_geographic(identity and identity.value, name and name.value)
    for axis_name, axis in context.attempt(_axes, axes) or () if axes is not None else ():
        axis = context.attempt(context.resolver.fragment, axis) or axis
        if context.attempt(axis.as_object) is not None:
            name_here = context.names.get(axis_name, axis_name)
            yield from _Axis(context, name_here, axis, geographic).coordinates()
    geolocation = system.get("geolocation")
    if geolocation is not None:
        yield from geolocation_coordinates(context, geolocation)


def _axes(axes: Fragment) -> list[tuple[str, Fragment]]:
    if not isinstance(axes.value, dict | list):
        raise axes.error(
            _("must be an object or a list, got {kind}").format(kind=kind_of(axes.value))
        )
    found = list(named_axes(axes))
    if len(found) != len(axes.value):
        raise axes.error(_("must give each axis a name"))
    return found


@dataclass
class _Axis:
    """One axis of a CRS, for one array."""

    context: ArrayContext
    name: str
    fragment: Fragment
    geographic: bool

    def coordinates(self) -> Iterator[Coordinate]:
        """Yield a coordinate for each coordinate set, the positions where there is none."""
        sets = self.fragment.get("coordinates")
        if sets is None or sets.value == []:
            if self.is_dimension:
                yield self._ordinal(self._described(self.fragment), self.name)
            return
        items = self.context.attempt(lambda: list(sets.items()))
        for index, item in enumerate(items or ()):
            coordinate = self.context.attempt(self._coordinate, index, item)
            if coordinate is not None:
                yield coordinate

    @property
    def is_dimension(self) -> bool:
        """Whether the array has a dimension along the axis; a scalar coordinate has none."""
        return self.name in self.context.sizes

    @property
    def length(self) -> int:
        """The number of values along the axis."""
        return self.context.sizes.get(self.name, 1)

    @property
    def dimensions(self) -> tuple[str, ...]:
        """The dimensions of a coordinate along the axis."""
        return (self.name,) if self.is_dimension else ()

    def _coordinate(self, index: int, item: Fragment) -> Coordinate:
        item = self.context.resolver.fragment(item)
        item.as_object()
        attributes = self._described(item)
        name = self._set_name(index, item)
        parametric = item.get("parametric")
        if item.get("values") is None and parametric is not None and self.is_dimension:
            coordinate = self._ordinal(attributes, name)
        else:
            coordinate = self._valued(_required(item, "values"), attributes, name)
        if parametric is not None:
            self.context.attempt(self._add_parametric, coordinate, parametric)
        boundaries = item.get("boundaries")
        if boundaries is not None:
            coordinate.bounds = self.context.attempt(self._bounds, coordinate, boundaries)
        return coordinate

    def _set_name(self, index: int, item: Fragment) -> str:
        name = item.get("name")
        if index == 0:
            return self.name
        return name.as_text() if name is not None else f"{self.name}_{index}"

    # What a coordinate is told to be.

    def _described(self, item: Fragment) -> dict[str, Any]:
        """Return the attributes that an axis and one of its sets give a coordinate."""
        attributes: dict[str, Any] = {}
        for source in (item, self.fragment):
            given = source.get("attributes")
            if given is not None and self.context.attempt(given.as_object) is not None:
                attributes = {**given.value, **attributes}
        units = self.context.attempt(self._units, item) or {}
        attributes = {**units, **attributes}
        abbreviation = self._text("abbreviation", self.fragment).upper()
        direction = (
            self._text("direction", item) or self._text("direction", self.fragment)
        ).lower()
        if abbreviation in _ABBREVIATIONS:
            attributes.setdefault("axis", abbreviation)
        if abbreviation == "Z" and direction in ("up", "down"):
            attributes.setdefault("positive", direction)
        along = abbreviation or _DIRECTIONS.get(direction)
        if self.geographic and str(attributes.get("units", "")).lower() in _DEGREES:
            if along == "X":
                attributes.setdefault("standard_name", "longitude")
            elif along == "Y":
                attributes.setdefault("standard_name", "latitude")
        return attributes

    def _text(self, key: str, fragment: Fragment) -> str:
        member = fragment.get(key)
        return (self.context.attempt(member.as_text) or "") if member is not None else ""

    def _units(self, item: Fragment) -> dict[str, str]:
        time, unit = item.get("time"), item.get("unit")
        if time is not None:
            return _time_units(time)
        return {"units": unit_of(unit)} if unit is not None else {}

    # Values.

    def _ordinal(self, attributes: dict[str, Any], name: str) -> Coordinate:
        return self._regular(Regular(0, 1), attributes, name)

    def _valued(self, values: Fragment, attributes: dict[str, Any], name: str) -> Coordinate:
        kind, value = _kind_of_values(values, ("regular", "explicit", "external"))
        if kind == "regular":
            return self._regular(_regular(value, self.length), attributes, name)
        if kind == "explicit":
            return self._explicit(_explicit(value, self.length), attributes, name)
        node = self.context.resolver.array(value, self._is_along_axis)
        return self._external(node, attributes, name, value)

    def _regular(self, function: Regular, attributes: dict[str, Any], name: str) -> Coordinate:
        dtype = np.result_type(type(function.first), type(function.step))
        array = ComputedArray(function, (self.length,), dtype)
        variable = lazy_variable(array, (self.name,))
        return Coordinate(
            name=name,
            variable=variable if self.is_dimension else variable[0],
            identity=(function, dtype, *self._kind(attributes, name)),
            attributes=attributes,
        )

    def _explicit(
        self, values: np.ndarray[Any, Any], attributes: dict[str, Any], name: str
    ) -> Coordinate:
        variable = xr.Variable((self.name,), values)
        return Coordinate(
            name=name,
            variable=variable if self.is_dimension else variable[0],
            identity=(tuple(values.tolist()), str(values.dtype), *self._kind(attributes, name)),
            attributes=attributes,
        )

    def _kind(self, attributes: Mapping[str, Any], name: str) -> tuple[Any, ...]:
        """Return what tells equal numbers apart: where they lie, in which unit, called how."""
        return (name, *self.dimensions, attributes.get("units"), attributes.get("calendar"))

    def _external(
        self, node: Node, attributes: dict[str, Any], name: str, place: Fragment
    ) -> Coordinate:
        document = node.document
        is_scalar = document is not None and document["shape"] == []
        variable = self.context.variable(node, () if is_scalar else (self.name,), place)
        if not self.is_dimension and not is_scalar:
            variable = variable[0]
        return Coordinate(
            name=name,
            variable=variable,
            identity=(node, variable.dims),
            attributes=attributes,
            source=node,
            as_stored=self.is_dimension or is_scalar,
        )

    def _is_along_axis(self, node: Node) -> str | None:
        document = node.document
        shape = list(document["shape"]) if document is not None else None
        if shape == [self.length] or (not self.is_dimension and shape == []):
            return None
        return _("its shape is {shape}, the axis {axis!r} needs {needed}").format(
            shape=shape, axis=self.name, needed=[self.length]
        )

    # Boundaries.

    def _bounds(self, coordinate: Coordinate, boundaries: Fragment) -> Coordinate:
        boundaries.as_object()
        kind, value = _kind_of_values(boundaries, ("regular", "external"))
        if kind == "regular":
            bounds = self._regular_bounds(coordinate, value)
        else:
            bounds = self._external_bounds(value)
        name = boundaries.get("name")
        bounds.name = f"{coordinate.name}_{BOUNDS}" if name is None else name.as_text()
        given = boundaries.get("attributes")
        if given is not None:
            bounds.attributes.update(given.as_object())
        # Decoded like the coordinate: with the units that it really has.
        known = {**coordinate.attributes, **coordinate.variable.attrs}
        if "since" in str(known.get("units", "")):
            for key in ("units", "calendar"):
                if key in known:
                    bounds.attributes.setdefault(key, known[key])
        return bounds

    def _regular_bounds(self, coordinate: Coordinate, offsets: Fragment) -> Coordinate:
        below, above = _two_numbers(offsets)
        identity = ("bounds", coordinate.identity, below, above)
        function = _function_of(coordinate)
        if function is not None:
            ends = [function(position) for position in (0, self.length - 1)]
            if not all(_is_representable(end + n) for end in ends for n in (below, above)):
                raise offsets.error(_("gives boundaries beyond 64 bits"))
            dtype = np.result_type(coordinate.variable.dtype, type(below), type(above))
            array = ComputedArray(RegularBounds(function, below, above), (self.length, 2), dtype)
            variable = lazy_variable(array, (self.name, BOUNDS))
            variable = variable if self.is_dimension else variable[0]
        else:
            values = decode_cf_variable(self.name, coordinate.variable, decode_times=False)
            if values.dtype.kind not in "iuf":
                message = _("gives offsets to values that are no numbers")
                raise offsets.error(message)
            variable = lazy_variable(OffsetBounds(values, below, above), (*values.dims, BOUNDS))
        return Coordinate("", variable, identity)

    def _external_bounds(self, reference: Fragment) -> Coordinate:
        node = self.context.resolver.array(reference, self._are_bounds)
        document = node.document
        shape = list(document["shape"]) if document is not None else []
        if not self.is_dimension and shape == [2]:
            variable = self.context.variable(node, (BOUNDS,), reference)
            return Coordinate("", variable, (node, variable.dims), source=node, as_stored=True)
        sides_first = self._sides_first(node)
        dimensions = (BOUNDS, self.name) if sides_first else (self.name, BOUNDS)
        variable = self.context.variable(node, dimensions, reference)
        variable = transposed(variable) if sides_first else variable
        return Coordinate(
            name="",
            variable=variable if self.is_dimension else variable[0],
            identity=(node, sides_first, self.dimensions),
            source=node,
            as_stored=self.is_dimension and not sides_first,
        )

    def _are_bounds(self, node: Node) -> str | None:
        document = node.document
        shape = list(document["shape"]) if document is not None else None
        fitting = [[self.length, 2], [2, self.length]]
        if shape in fitting or (not self.is_dimension and shape == [2]):
            return None
        needed = " / ".join(dict.fromkeys(str(choice) for choice in fitting))
        return _("its shape is {shape}, the boundaries of axis {axis!r} need {needed}").format(
            shape=shape, axis=self.name, needed=needed
        )

    def _sides_first(self, node: Node) -> bool:
        """Tell whether boundaries are stored as (2, n), as the document of the convention has it."""
        document = node.document
        shape = list(document["shape"]) if document is not None else []
        if self.length != 2:
            return bool(shape[0] == 2)
        # Either way round: names of dimensions tell, and without them the document does.
        return own_dimensions(node)[0] != self.name

    # Parametric vertical coordinates.

    def _add_parametric(self, coordinate: Coordinate, parametric: Fragment) -> None:
        parametric.as_object()
        formula = _required(parametric, "formula").as_text()
        coordinate.attributes.setdefault("standard_name", formula)
        for term, values in _required(parametric, "terms").members():
            found = self.context.attempt(self._term, term, values)
            if found is not None:
                coordinate.formula_terms[term] = found

    def _term(self, term: str, values: Fragment) -> Coordinate:
        kind, value = _kind_of_values(values, ("regular", "explicit", "external"))
        name = f"{self.name}_{term}"
        if kind == "external":
            return self._external_term(self.context.resolver.array(value), value)
        if kind == "explicit" and len(value.as_list()) == 1 and self.length != 1:
            scalar = xr.Variable((), _explicit(value, 1)[0])
            return Coordinate(name, scalar, ("term", name, scalar.values.item(), str(scalar.dtype)))
        return self._valued(values, {}, name)

    def _external_term(self, node: Node, reference: Fragment) -> Coordinate:
        document = node.document
        shape = list(document["shape"]) if document is not None else []
        dimensions = fitting_dimensions(self.context, node)
        if (
            self.is_dimension
            and shape == [self.length]
            and self.context.sizes.get(dimensions[0]) != self.length
        ):
            dimensions = (self.name,)  # along the axis, whatever its own dimension is called
        variable = self.context.variable(node, dimensions, reference)
        is_scalar = shape == [1] and self.context.sizes.get(dimensions[0]) != 1
        return Coordinate(
            name=node.name,
            variable=variable[0] if is_scalar else variable,
            identity=(node, () if is_scalar else dimensions),
            source=node,
            as_stored=not is_scalar,
        )


def axis_lengths(context: ArrayContext) -> Iterator[tuple[str, int | None]]:
    """Yield the names of the axes of an array's ``cs``, and their lengths where these are told.

    For arrays whose dimensions have no names. What cannot be read is left out: it is told
    when the coordinates are resolved.
    """
    for name, axis in all_axes(context):
        items = axis.get("coordinates")
        sets = list(items.items()) if items is not None and isinstance(items.value, list) else []
        lengths = {length for item in sets if (length := _told_length(context, item)) is not None}
        if lengths != {1}:
            yield name, lengths.pop() if len(lengths) == 1 else None


def _told_length(context: ArrayContext, item: Fragment) -> int | None:
    values = item.get("values")
    try:
        kind, value = _kind_of_values(values or item, ("regular", "explicit", "external"))
        if kind == "explicit":
            return len(value.as_list())
        if kind == "external":
            document = context.resolver.array(value).document
            shape = [] if document is None else document["shape"]
            return int(shape[0]) if len(shape) == 1 else None
    except XGroupError:
        return None
    return None


def _kind_of_values(values: Fragment, kinds: tuple[str, ...]) -> tuple[str, Fragment]:
    """Return how values are given, and the value of that member.

    ``external`` is spelled ``{"external": ref}`` or ``{"ref": {"external": ref}}``.
    """
    values.as_object()
    inner = values.get("ref")
    if inner is not None and inner.get("external") is not None:
        values = inner
    given = [(kind, member) for kind in kinds if (member := values.get(kind)) is not None]
    if len(given) != 1:
        raise values.error(_("must have exactly one of {kinds}").format(kinds=", ".join(kinds)))
    return given[0]


def _regular(fragment: Fragment, length: int) -> Regular:
    first, step = _two_numbers(fragment)
    if step == 0:
        raise fragment.error(_("has a step of 0"))
    if not _is_representable(first + step * (length - 1)):
        raise fragment.error(_("has values beyond 64 bits"))
    return Regular(first, step)


def _two_numbers(fragment: Fragment) -> tuple[float, float]:
    numbers = fragment.as_list()
    if len(numbers) != 2 or not all(is_finite(number) for number in numbers):
        raise fragment.error(_("must be two finite numbers, got {value}").format(value=numbers))
    if not all(_is_representable(number) for number in numbers):
        raise fragment.error(_("has values beyond 64 bits"))
    return numbers[0], numbers[1]


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _is_representable(number: float) -> bool:
    """Tell whether a number is a finite float or a 64-bit integer."""
    return math.isfinite(number) if isinstance(number, float) else -(2**63) <= number < 2**63


def _explicit(fragment: Fragment, length: int) -> np.ndarray[Any, Any]:
    values = fragment.as_list()
    if len(values) != length:
        raise fragment.error(
            _("has {number} values, the axis needs {length}").format(
                number=len(values), length=length
            )
        )
    if all(isinstance(value, str) for value in values):
        return np.array(values, dtype=object if not values else None)
    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        raise fragment.error(_("must be all numbers or all strings"))
    try:
        array = np.array(values)
    except OverflowError:
        array = np.array(values, dtype=object)
    # Python compares exactly: a number that the type of all cannot hold is told, not rounded.
    if array.dtype.kind not in "iuf" or not all(
        given == held or _is_nan(given) for given, held in zip(values, array.tolist(), strict=True)
    ):
        raise fragment.error(_("has integers that no type for all of its numbers holds exactly"))
    return array


def _time_units(time: Fragment) -> dict[str, str]:
    """Return CF units and calendar of a ``time`` object, in its older or newer spelling."""
    time.as_object()
    reference, calendar = time.get("reference"), time.get("calendar")
    if reference is not None:
        units = cf_units_of_reference(reference.as_text())
    else:
        units = cf_units(_required(time, "unit").as_text(), _required(time, "epoch").as_text())
    return {"units": units} | ({"calendar": calendar.as_text()} if calendar is not None else {})


def _function_of(coordinate: Coordinate) -> Regular | None:
    identity = coordinate.identity
    if isinstance(identity, tuple) and isinstance(identity[0], Regular):
        return identity[0]
    return None
