"""The `coords` principal convention, named `dimensions` in newer drafts.

An array describes the coordinate of each of its dimensions, and further coordinates along them. A group describes them for
its direct child arrays. The older draft has one attribute for both (``coords:coordinates``). The newer draft has two
(``dimensions:axes``, ``dimensions:coordinates``), whose items contain the older descriptors.

Source: coords convention (zarr-conventions/coords).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import partial
from typing import Annotated, Any, ClassVar

import msgspec
import numpy as np

from zarr_xgroup.conventions.array import ArrayView, once_per_array, parse_once, shape_of
from zarr_xgroup.conventions.attributes import Attribute
from zarr_xgroup.conventions.base import ConventionHandler
from zarr_xgroup.conventions.descriptions import (
    ByName,
    Items,
    Member,
    Model,
    Nested,
    Parsed,
    Reader,
    Text,
    such_as,
)
from zarr_xgroup.conventions.model import Coordinate, Interpretation
from zarr_xgroup.conventions.units import cf_units_of_time
from zarr_xgroup.conventions.values import explicit_values, fits_64_bits, is_finite
from zarr_xgroup.errors import Rule, XGroupError, rules_in
from zarr_xgroup.findings import coordinate_named
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.variables.functions import Months, Regular
from zarr_xgroup.variables.sources import Computed, Literal, Source, Stored

DOCUMENT = "coords convention (zarr-conventions/coords)"

FORM = Rule("coords/form", DOCUMENT, "Attributes")
DESCRIPTOR = Rule("coords/descriptor", DOCUMENT, "Coordinate descriptors")
FITTING = Rule("coords/fitting", DOCUMENT, "Coordinate descriptors")

RULES = rules_in(vars())

_EXAMPLE = '{"type": "interval", "start": 0, "end": 9, "step": 1}'
#: The example in the remedy for dimensions that do not fit.
_INDEXED = '"indexed_by": ["y"]'
#: The required members of a descriptor of each type.
_REQUIRED_MEMBERS = {
    "array": ("path",),
    "inline": ("values",),
    "interval": ("start", "end", "step"),
    "reference": ("convention",),
    "affine": ("convention",),
}
#: An ISO 8601 duration with an optional sign, because intervals may descend.
_DURATION = re.compile(
    r"(?P<sign>-?)P(?=.)(?:(?P<years>\d{1,6})Y)?(?:(?P<months>\d{1,9})M)?(?:(?P<weeks>\d{1,9})W)?(?:(?P<days>\d{1,9})D)?"
    r"(?:T(?=.)(?:(?P<hours>\d{1,9})H)?(?:(?P<minutes>\d{1,9})M)?(?:(?P<seconds>\d{1,9}(?:\.\d+)?)S)?)?"
)
#: Units of time in seconds, longest first.
_SECONDS_PER_UNIT = {"days": 86400, "hours": 3600, "minutes": 60, "seconds": 1}
#: Examples of a step, for messages.
_STEP = '"step": 1, "step": "P1D"'
#: The tolerance of ``end`` for floats, as a fraction of the step, because decimal fractions are rounded.
_SLACK = 1e-6


def _number_or_time(value: Fragment) -> float | str:
    """Return a start, end or step as a number or a string (of a time), or raise XGroupMetadataError."""
    if isinstance(value.value, str) or (is_finite(value.value) and fits_64_bits(value.value)):
        number_or_time: float | str = value.value
        return number_or_time
    raise value.error(_("must be a finite number or a time"))


_NUMBER_OR_TIME = Parsed(_number_or_time)
_IndexedBy = Annotated[
    tuple[str, ...] | None, Items(Text()), Member(example='"indexed_by": ["y", "x"]')
]


class Descriptor(Model, frozen=True, kw_only=True):
    """A coordinate descriptor, which defines the values of a coordinate in the form of its type."""

    form: ClassVar[Rule] = DESCRIPTOR

    type: Annotated[
        str,
        Text(tuple(_REQUIRED_MEMBERS), rule=DESCRIPTOR),
        Member(example=_EXAMPLE, required=True),
    ] = ""
    path: Annotated[str, Text(), Member(example='"path": "time"')] = ""
    values: Annotated[
        np.ndarray[Any, Any] | None,
        Parsed(explicit_values),
        Member(example='"values": [1.5, 2.5]'),
    ] = None
    start: Annotated[float | str, _NUMBER_OR_TIME, Member(example='"start": 0')] = 0
    end: Annotated[float | str, _NUMBER_OR_TIME, Member(example='"end": 9')] = 0
    step: Annotated[float | str, _NUMBER_OR_TIME, Member(example='"step": 1')] = 0
    convention: Annotated[str, Text(), Member(example='"convention": "spatial"')] = ""
    indexed_by: _IndexedBy = None

    @classmethod
    def finish_fields(cls, fragment: Fragment, found: dict[str, Any], reader: Reader) -> None:
        """Report missing members that the type of the descriptor requires."""
        kind = found.get("type", "")
        for key in _REQUIRED_MEMBERS.get(kind, ()):
            if fragment.get(key) is None:
                text = _("is missing, but required for type {kind!r}").format(kind=kind)
                reader.report(reader.form, fragment.place(key), text, such_as(_EXAMPLE))


class NewerDescription(Model, frozen=True, kw_only=True):
    """An axis or further coordinate of the newer draft: CF-like metadata, and a descriptor in ``coords``."""

    form: ClassVar[Rule] = FORM

    type: Annotated[str, Text(), Member(severity="warning")] = ""
    axis: Annotated[str, Text(("x", "y", "z"), any_case=True, rule=FORM)] = ""
    unit: Annotated[str, Text()] = ""
    description: Annotated[str, Text()] = ""
    coords: Annotated[
        Descriptor | None, Nested(Descriptor), Member(example=f'"coords": {_EXAMPLE}')
    ] = None
    indexed_by: _IndexedBy = None

    @property
    def attributes(self) -> dict[str, str]:
        """The CF attributes ``units``, ``long_name`` and ``axis`` that have a value."""
        texts = {"units": self.unit, "long_name": self.description, "axis": self.axis.upper()}
        return {key: text for key, text in texts.items() if text}


COORDINATES = Attribute(
    "coords:coordinates",
    ByName(Nested(Descriptor)),
    FORM,
    f'"coords:coordinates": {{"time": {_EXAMPLE}}}',
)
AXES = Attribute(
    "dimensions:axes",
    ByName(Nested(NewerDescription)),
    FORM,
    f'"dimensions:axes": {{"time": {{"coords": {_EXAMPLE}}}}}',
)
OTHER_COORDINATES = Attribute(
    "dimensions:coordinates",
    ByName(Nested(NewerDescription)),
    FORM,
    f'"dimensions:coordinates": {{"lat": {{"indexed_by": ["y", "x"], "coords": {_EXAMPLE}}}}}',
)


class CoordsHandler(ConventionHandler):
    """Attaches the coordinates that an array or its group describes by name."""

    tier = "principal"
    name = "coords"
    uuid: ClassVar[str | None] = "6ca4454a-658a-4348-a667-b39ced0e58cb"
    identifiers = ("dimensions", "zarr-conventions/coords", "zarr-conventions/dimensions")
    described = (COORDINATES, AXES, OTHER_COORDINATES)
    rules = RULES
    reads = ()

    @classmethod
    def applies(cls, array: ArrayView) -> bool:
        """Return whether the array declares the convention, or its group declares it and describes coordinates for it.

        A declaration of the group does not apply to the arrays that it describes as coordinates.
        """
        if cls in array.declared:
            return True
        if not array.follows(cls):
            return False
        described = _described_coordinates(array)
        by_group = (coordinate for coordinate in described if coordinate.node != array.node)
        is_described = any(_is_about_itself(array, coordinate) for coordinate in by_group)
        return not is_described and bool(_descriptions_about(array))

    def interpret(self, array: ArrayView) -> Interpretation:
        """Return the described coordinates; the array's own descriptions take precedence over those of its group."""
        for attribute in self.described:
            array.read(attribute)  # reports an unusable attribute
        coordinates: dict[str, Coordinate | None] = {}
        for described in _descriptions_about(array):
            name, missing = described.name, partial(coordinate_named, described.name)
            if name in coordinates:
                continue
            array.report_wrong(described.node, described.descriptor, missing())
            for finding in () if described.newer is None else described.newer.wrong:
                key, is_missing = finding.place.keys[-1], described.descriptor is None
                part = _("{key!r} of {coordinate}").format(key=key, coordinate=missing())
                array.report_wrong(described.node, [finding], missing() if is_missing else part)
            try:
                coordinates[name] = _coordinate(array, described)
            except XGroupError as error:
                dims = [dim for dim in described.dims if dim in array.sizes]
                coordinates[name] = Coordinate(name, array.unusable_source(error, dims, missing()))
        return array.interpretation(*filter(None, coordinates.values()))


class _DescribedCoordinate(msgspec.Struct, frozen=True):
    """A coordinate as an array or its group describes it."""

    node: Node  # the array or group that has the description
    name: str
    dims: tuple[str, ...]
    descriptor: Descriptor | None  # None if it cannot be used
    newer: NewerDescription | None = None  # the object of the newer draft that has the descriptor

    def at(self, *keys: str) -> Fragment:
        """Return the place of the descriptor or of one of its members, for messages."""
        written = self.descriptor or self.newer
        return Fragment(self.node, () if written is None else (*written.keys, *keys), None)


@once_per_array
def _described_coordinates(array: ArrayView) -> tuple[_DescribedCoordinate, ...]:
    """Return the coordinates that an array describes, then those that its group describes."""
    coordinates = []
    for node in (array.node, array.node.group):
        for attribute in CoordsHandler.described:
            written = array.attribute(attribute.key, node)
            items = None if written is None else parse_once(array, attribute.read, written)[0]
            for name, item in items or ():
                newer = item if isinstance(item, NewerDescription) else None
                descriptor = item if newer is None else newer.coords
                # A newer description need not have a descriptor.
                if descriptor is not None or (newer is not None and newer.wrong):
                    along = item.indexed_by
                    if along is None and descriptor is not None:
                        along = descriptor.indexed_by
                    dims = (name,) if along is None else along
                    coordinates.append(_DescribedCoordinate(node, name, dims, descriptor, newer))
    # An equal array with one of these names gets a different interpretation.
    array.resolver.reached.update(array.node.group.child(each.name) for each in coordinates)
    return tuple(coordinates)


@once_per_array
def _descriptions_about(array: ArrayView) -> tuple[_DescribedCoordinate, ...]:
    """Return the described coordinates of an array: its own, and those of its group along its dimensions.

    A description of the array itself is left out.
    """
    known = set(array.dims)
    return tuple(
        described
        for described in _described_coordinates(array)
        if (described.node == array.node or known.issuperset(described.dims))
        and not (_is_about_itself(array, described) and described.dims == array.dims)
    )


def _is_about_itself(array: ArrayView, described: _DescribedCoordinate) -> bool:
    """Return whether an array has the name of a coordinate that it or its group describes."""
    return array.node == array.node.group.child(described.name)


def _coordinate(array: ArrayView, described: _DescribedCoordinate) -> Coordinate | None:
    """Return a described coordinate, or raise XGroupError.

    None if a different convention defines its values, or if its descriptor cannot be used, which is already reported.
    """
    dims, descriptor, place, remedy = (
        described.dims,
        described.descriptor,
        described.at(),
        such_as(_INDEXED),
    )
    if len(set(array.dims).intersection(dims)) < len(dims):
        text = _("has the dimensions {dims}, but the array has {own}")
        raise place.error(text.format(dims=list(dims), own=list(array.dims)), FITTING, remedy)
    if descriptor is None or descriptor.lost is not None:
        return None
    attributes = {} if described.newer is None else described.newer.attributes
    shape = tuple(array.sizes[dim] for dim in dims)
    source: Source
    if descriptor.type == "array":
        source = _array_source(array, described, descriptor, dims)
    elif descriptor.type == "inline":
        source = _inline_source(described, descriptor, dims, shape)
    elif descriptor.type == "interval":
        if len(dims) != 1:
            text = _("is an interval, which must have one dimension")
            raise place.error(text, FITTING, remedy)
        function, units = _interval(described, descriptor, shape[0])
        dtype = np.asarray(function(np.arange(1))).dtype
        source, attributes = Computed(function, shape, dtype.str, dims), attributes | units
    else:
        name = descriptor.convention.strip().rstrip(":").lower()
        if name in CoordsHandler.names():
            text = _("is the convention itself, which does not define values for this type")
            raise described.at("convention").error(text, DESCRIPTOR)
        if name not in array.conventions:
            text = _("refers to convention {name!r}, which is not declared for the array")
            raise described.at("convention").error(text.format(name=name), DESCRIPTOR)
        return None
    return Coordinate(described.name, source, attributes)


def _array_source(
    array: ArrayView, described: _DescribedCoordinate, descriptor: Descriptor, dims: tuple[str, ...]
) -> Stored:
    """Return the array at ``path`` of a descriptor as a source, or raise XGroupError if none has the shape."""
    shape = tuple(array.sizes[dim] for dim in dims)

    def shape_misfit(node: Node) -> str | None:
        """Return a message if an array does not have the shape of the coordinate, otherwise None."""
        actual = shape_of(array, node)
        text = _("its shape is {shape}, the coordinate needs {needed}")
        return None if actual == shape else text.format(shape=list(actual), needed=list(shape))

    reference = Fragment(described.node, described.at("path").keys, {"node": descriptor.path})
    node = array.resolver.array(reference, shape_misfit)
    return array.stored(Stored(node, dims), reference)


def _inline_source(
    described: _DescribedCoordinate,
    descriptor: Descriptor,
    dims: tuple[str, ...],
    shape: tuple[int, ...],
) -> Literal:
    """Return ``values`` of a descriptor as a source, or raise XGroupMetadataError if their number does not fit."""
    values: Any = descriptor.values
    if len(dims) > 1:
        text = _("has one-dimensional values, but several dimensions")
        raise described.at().error(text, FITTING, such_as(_INDEXED))
    (size,) = shape or (1,)
    if len(values) != size:
        text = _("has {number} values, the axis needs {length}")
        remedy = _("write {size} values, or refer to an array of them").format(size=size)
        text = text.format(number=len(values), length=size)
        raise described.at("values").error(text, FITTING, remedy)
    return Literal(values if dims else values[0], dims)


# Intervals.


def _interval(
    described: _DescribedCoordinate, written: Descriptor, size: int
) -> tuple[Callable[[Any], Any], dict[str, str]]:
    """Return the function that computes the values of an interval from positions, and the CF attributes of times.

    The values of times are relative to the start. XGroupMetadataError is raised if start, end and step are unusable, or do
    not match the size of the dimension: ``end`` must be less than one step after the last value.
    """
    start, end, step = written.start, written.end, written.step
    function: Callable[[Any], Any]
    last: float | Fraction
    attributes: dict[str, str] = {}
    if isinstance(start, str) or isinstance(end, str) or isinstance(step, str):
        times = (_time_in_utc(described.at(key), getattr(written, key)) for key in ("start", "end"))
        first_time, last_time = times
        months, seconds = _months_or_seconds(described.at("step"), step)
        step = months or seconds
        if months:
            function, unit = Months(first_time.date().isoformat(), months), "days"
        else:
            # The longest unit that divides the step keeps values integers.
            units = (name for name, length in _SECONDS_PER_UNIT.items() if seconds % length == 0)
            unit = next(units, "seconds")
            number = seconds / _SECONDS_PER_UNIT[unit]
            function = Regular(0, int(number) if number.is_integer() else number)
        microseconds = (last_time - first_time) // timedelta(microseconds=1)
        last = Fraction(microseconds, 1_000_000 * _SECONDS_PER_UNIT[unit])
        # ISO 8601 uses the proleptic Gregorian calendar; CF's "standard" is Julian before 1582-10-15.
        cf_units = cf_units_of_time(unit, first_time.isoformat())
        attributes = {"units": cf_units, "calendar": "proleptic_gregorian"}
    else:
        function, last = Regular(start, step), end
    if step == 0:
        raise described.at("step").error(_("must not be 0"), DESCRIPTOR, such_as(_STEP))
    sign = 1 if step > 0 else -1
    final, next_one = (sign * function(position) for position in (size - 1, size))
    slack = (
        abs(next_one - final) * _SLACK if isinstance(next_one, float) else 0
    )  # integers are exact
    if size and not final <= sign * last + slack < next_one:
        text = _("start, end and step do not match the size of the dimension, {size}")
        remedy = _('write the "end" that gives {size} values').format(size=size)
        raise described.at().error(text.format(size=size), FITTING, remedy)
    return function, attributes


def _time_in_utc(place: Fragment, value: float | str) -> datetime:
    """Return an ISO 8601 time as a naive datetime, in UTC if it has a zone, or raise XGroupMetadataError."""
    try:
        time = datetime.fromisoformat(str(value))
        return time if time.tzinfo is None else time.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError) as error:  # OverflowError: datetime has no such year in UTC
        text = _("must be an ISO 8601 time, because one of start, end and step is a string")
        raise place.error(text, DESCRIPTOR) from error


def _months_or_seconds(place: Fragment, step: float | str) -> tuple[int, float]:
    """Return an ISO 8601 duration as ``(months, seconds)``, one of them 0, or raise XGroupMetadataError.

    Months have no fixed length, so a duration of months and days is invalid.
    """
    match = _DURATION.fullmatch(str(step))
    if match is None:
        text = _("must be an ISO 8601 duration, such as 'P1D'")
        raise place.error(text, DESCRIPTOR, such_as(_STEP))
    parts = {key: float(text or 0) for key, text in match.groupdict().items() if key != "sign"}
    sign = -1 if match["sign"] else 1
    months = int(12 * parts["years"] + parts["months"])
    seconds = parts["seconds"] + 60 * parts["minutes"] + 3600 * parts["hours"]
    seconds += 86400 * (parts["days"] + 7 * parts["weeks"])
    if months and seconds:
        text = _("must not combine months or years with units of fixed length")
        raise place.error(text, DESCRIPTOR, such_as(_STEP))
    return sign * months, sign * seconds
