"""The `coords` principal convention, called `dimensions` in newer drafts: coordinates by name and dimension.

An array says of its dimensions which coordinate each has, and what other coordinates lie along them. A group
says it for its direct child arrays. The older draft has one map of both (``coords:coordinates``), the newer one
two (``dimensions:axes``, ``dimensions:coordinates``), in which the older descriptors are members.

Source: coords convention (zarr-conventions/coords).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np

from zarr_xgroup.conventions.array import ArrayView, once_per_array, parse_once, shape_of
from zarr_xgroup.conventions.base import ConventionHandler
from zarr_xgroup.conventions.declaring import is_declared_by_array, is_declared_by_group
from zarr_xgroup.conventions.descriptions import (
    Attribute,
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
from zarr_xgroup.conventions.values import (
    explicit_values,
    is_finite,
    is_representable,
)
from zarr_xgroup.errors import Rule, rules_in
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
#: What to write where dimensions are not those of the array.
_INDEXED = '"indexed_by": ["y"]'
#: What a descriptor of each type has to have.
_NEEDED = {
    "array": ("path",),
    "inline": ("values",),
    "interval": ("start", "end", "step"),
    "reference": ("convention",),
    "affine": ("convention",),
}
#: The types of which it says the values itself.
_OWN_TYPES = ("array", "inline", "interval")
#: A duration of ISO 8601; its sign is an extension of it.
_DURATION = re.compile(
    r"(?P<sign>-?)P(?=.)(?:(?P<years>\d{1,6})Y)?(?:(?P<months>\d{1,9})M)?(?:(?P<weeks>\d{1,9})W)?(?:(?P<days>\d{1,9})D)?"
    r"(?:T(?=.)(?:(?P<hours>\d{1,9})H)?(?:(?P<minutes>\d{1,9})M)?(?:(?P<seconds>\d{1,9}(?:\.\d+)?)S)?)?"
)
#: Units of time, the longest first, in seconds.
_UNITS = {"days": 86400, "hours": 3600, "minutes": 60, "seconds": 1}
#: What steps may be.
_STEP = '"step": 1, "step": "P1D"'
#: By how much of a step a number may be off that is no integer.
_SLACK = 1e-6


def _bound(value: Fragment) -> float | str:
    if isinstance(value.value, str) or (is_finite(value.value) and is_representable(value.value)):
        found: float | str = value.value
        return found
    raise value.error(_("must be a finite number or a time"))


_BOUND = Parsed(_bound)


class Descriptor(Model, frozen=True, kw_only=True):
    """Where the values of a coordinate are: how they are given is its type."""

    form: ClassVar[Rule] = DESCRIPTOR

    type: Annotated[
        str, Text(tuple(_NEEDED), rule=DESCRIPTOR), Member(example=_EXAMPLE, required=True)
    ] = ""
    path: Annotated[str, Text(), Member(example='"path": "time"')] = ""
    values: Annotated[
        np.ndarray[Any, Any] | None,
        Parsed(explicit_values),
        Member(example='"values": [1.5, 2.5]'),
    ] = None
    start: Annotated[float | str, _BOUND, Member(example='"start": 0')] = 0
    end: Annotated[float | str, _BOUND, Member(example='"end": 9')] = 0
    step: Annotated[float | str, _BOUND, Member(example='"step": 1')] = 0
    convention: Annotated[str, Text(), Member(example='"convention": "spatial"')] = ""
    indexed_by: Annotated[
        tuple[str, ...] | None, Items(Text()), Member(example='"indexed_by": ["y", "x"]')
    ] = None

    @classmethod
    def report_further(cls, fragment: Fragment, found: dict[str, Any], reader: Reader) -> None:
        """Report what a descriptor of its type lacks."""
        for key in _NEEDED.get(found.get("type", ""), ()):
            if fragment.get(key) is None:
                place = Fragment(fragment.node, (*fragment.keys, key), None)
                kind = found["type"]
                text = _("is missing, which a descriptor of type {kind!r} needs").format(kind=kind)
                reader.report(reader.form, place, text, such_as(_EXAMPLE))


_COORDS = Member(example=f'"coords": {_EXAMPLE}')


class NewerDescription(Model, frozen=True, kw_only=True):
    """What the newer draft says of an axis, or of another coordinate, with its descriptor."""

    form: ClassVar[Rule] = FORM

    type: Annotated[str, Text(), Member(example='"type": "space"', severity="warning")] = ""
    axis: Annotated[
        str, Text(("x", "y", "z"), any_case=True, rule=FORM), Member(example='"axis": "x"')
    ] = ""
    unit: Annotated[str, Text(), Member(example='"unit": "m"')] = ""
    description: Annotated[str, Text(), Member(example='"description": "..."')] = ""
    coords: Annotated[Descriptor | None, Nested(Descriptor), _COORDS] = None
    indexed_by: Annotated[
        tuple[str, ...] | None, Items(Text()), Member(example='"indexed_by": ["y", "x"]')
    ] = None

    @property
    def attributes(self) -> dict[str, str]:
        """What it says, as attributes of CF."""
        found = {"units": self.unit, "long_name": self.description, "axis": self.axis.upper()}
        return {key: text for key, text in found.items() if text}


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
OTHERS = Attribute(
    "dimensions:coordinates",
    ByName(Nested(NewerDescription)),
    FORM,
    f'"dimensions:coordinates": {{"lat": {{"indexed_by": ["y", "x"], "coords": {_EXAMPLE}}}}}',
)


class CoordsHandler(ConventionHandler):
    """Attaches the coordinates that an array or its group describes by name."""

    tier = "principal"
    name = "coords"
    aliases = ("dimensions",)
    uuid: ClassVar[str | None] = "6ca4454a-658a-4348-a667-b39ced0e58cb"
    repositories = ("zarr-conventions/coords", "zarr-conventions/dimensions")
    implies = ("proj",)
    described = (COORDINATES, AXES, OTHERS)
    rules = RULES
    reads = ()

    @classmethod
    def applies(cls, array: ArrayView) -> bool:
        """Tell whether the array declares the convention, or its group does and describes its coordinates.

        What the group names as a coordinate is described with others, and follows no convention by that.
        """
        if is_declared_by_array(cls, array):
            return True
        if not is_declared_by_group(cls, array):
            return False
        by_group = (described for described in _described(array) if described.node != array.node)
        return array.name not in {described.name for described in by_group} and bool(_wanted(array))

    @classmethod
    def why_not(cls) -> str:
        """Return why it does not apply to an array, where the array's group declares it."""
        return _("it is a coordinate, or none of its dimensions is described")

    @classmethod
    def shares_with(cls, array: ArrayView) -> frozenset[str]:
        """Return the conventions that say the values of coordinates which are described as theirs."""
        names = set()
        for described in _wanted(array):
            descriptor = described.descriptor
            if descriptor is not None and descriptor.type not in _OWN_TYPES:
                names.add(_plain(descriptor.convention))
        return frozenset(names).difference(("", cls.name, *cls.aliases))

    def interpret(self, array: ArrayView) -> Interpretation:
        """Return the coordinates, the array's own descriptions first, and the CRS."""
        for attribute in self.described:
            array.read(attribute)
        found: dict[str, Coordinate | None] = {}
        for described in _wanted(array):
            name = described.name
            if name in found:
                continue
            _report_unusable(array, described)
            dims = {array.dim_names.get(dim, dim) for dim in described.dims}
            own = None if array.sibling(name) is None else array.siblings[name]
            if own == {dim: array.sizes.get(dim) for dim in dims}:
                # The group has it itself: whatever does not fit to that is left behind.
                found[name] = array.try_silently(_coordinate, array, described)
            else:
                lost = partial(coordinate_named, name)
                found[name] = array.try_reporting(_coordinate, array, described, cost=lost)
        return array.interpretation(*filter(None, found.values()))


def _plain(name: str) -> str:
    return name.strip().rstrip(":").lower()


@dataclass(frozen=True)
class _Described:
    """A coordinate as an array or its group describes it."""

    node: Node
    name: str
    #: As they are written.
    dims: tuple[str, ...]
    #: None where it cannot be read.
    descriptor: Descriptor | None
    newer: NewerDescription | None = None

    def at(self, *keys: str) -> Fragment:
        """Return the place of its descriptor, or of a part of that."""
        written = self.descriptor or self.newer
        return Fragment(self.node, () if written is None else (*written.keys, *keys), None)


@once_per_array
def _described(array: ArrayView) -> tuple[_Described, ...]:
    """Return the coordinates that an array describes, then those of its group."""
    found = []
    for node in (array.node, array.node.group):
        for attribute in CoordsHandler.described:
            written = array.attribute(attribute.key, node)
            items = None if written is None else parse_once(array, attribute.read, written)[0]
            for name, item in items or ():
                newer, descriptor = (
                    (item, item.coords) if isinstance(item, NewerDescription) else (None, item)
                )
                along = item.indexed_by
                if along is None and descriptor is not None:
                    along = descriptor.indexed_by
                if descriptor is not None or (newer is not None and newer.wrong):
                    dims = (name,) if along is None else along
                    found.append(_Described(node, name, dims, descriptor, newer))
    return tuple(found)


@once_per_array
def _wanted(array: ArrayView) -> tuple[_Described, ...]:
    """Return the descriptions that are about an array: its own, and those of the group that can be."""
    known = {*array.dims, *array.dim_names}
    return tuple(
        described
        for described in _described(array)
        if (described.node == array.node or known.issuperset(described.dims))
        and (described.name != array.name or described.dims != array.dims)
    )


def _report_unusable(array: ArrayView, described: _Described) -> None:
    """Report what of a description cannot be used."""
    coordinate = coordinate_named(described.name)
    array.report_wrong(described.node, described.descriptor, coordinate)
    for wrong in () if described.newer is None else described.newer.wrong:
        key = wrong.place.keys[-1]
        part = _("{key!r} of {what}").format(key=key, what=coordinate)
        lost = coordinate if described.descriptor is None else part
        array.report_wrong(described.node, [wrong], lost)


def _coordinate(array: ArrayView, described: _Described) -> Coordinate | None:
    """Return a coordinate, or raise XGroupError; None for one that another convention says, or that is told."""
    dims = tuple(array.dim_names.get(dim, dim) for dim in described.dims)
    descriptor, place, remedy = described.descriptor, described.at(), such_as(_INDEXED)
    if len(set(array.dims).intersection(dims)) < len(dims):
        text = _("lies along {dims}, but the array has {own}")
        raise place.error(text.format(dims=list(dims), own=list(array.dims)), FITTING, remedy)
    if descriptor is None or descriptor.lost is not None:
        return None
    name = dims[0] if described.dims == (described.name,) else described.name
    attributes = {} if described.newer is None else described.newer.attributes
    shape = tuple(array.sizes[dim] for dim in dims)
    source: Source
    if descriptor.type == "array":

        def misfit(node: Node) -> str | None:
            found = shape_of(array, node)
            text = _("its shape is {shape}, the coordinate needs {needed}")
            return None if found == shape else text.format(shape=list(found), needed=list(shape))

        written = described.at("path")
        reference = Fragment(written.node, written.keys, {"node": descriptor.path})
        node = array.resolver.array(reference, misfit)
        source = array.stored(Stored(node, dims), reference)
    elif descriptor.type == "inline":
        values: Any = descriptor.values
        if len(dims) > 1:
            text = _("has values of one dimension, but several are meant")
            raise place.error(text, FITTING, remedy)
        (size,) = shape or (1,)
        if len(values) != size:
            text = _("has {number} values, the axis needs {length}")
            remedy = _("write {size} values, or refer to an array of them").format(size=size)
            text = text.format(number=len(values), length=size)
            raise described.at("values").error(text, FITTING, remedy)
        source = Literal(values if dims else values[0], dims)
    elif descriptor.type == "interval":
        if len(dims) != 1:
            text = _("is an interval, but not of one dimension")
            raise place.error(text, FITTING, remedy)
        function, units = _interval(described, descriptor, shape[0])
        dtype = np.asarray(function(np.arange(1))).dtype
        source, attributes = Computed(function, shape, dtype.str, dims), attributes | units
    else:
        if _plain(descriptor.convention) in (CoordsHandler.name, *CoordsHandler.aliases):
            text = _("is the convention itself, which has no such type")
            raise described.at("convention").error(text, DESCRIPTOR)
        return None
    return Coordinate(name, source, attributes)


# Intervals.


def _interval(
    described: _Described, written: Descriptor, size: int
) -> tuple[Callable[[Any], Any], dict[str, str]]:
    """Return what gives values at equal distances, of numbers or of times, and the units of times.

    Raises
    ------
    XGroupMetadataError
        If there are not as many of them as the dimension has.
    """
    start, end, step = written.start, written.end, written.step
    attributes: dict[str, str] = {}
    last: float | Fraction
    if not isinstance(start, str) and not isinstance(end, str) and not isinstance(step, str):
        function: Callable[[Any], Any] = Regular(start, step)
        last, towards = end, step
    else:
        first, stop = (_time(described.at(key), getattr(written, key)) for key in ("start", "end"))
        months, towards = _duration(described.at("step"), step)
        if months:
            function, unit = Months(first.date().isoformat(), months), "days"
        else:
            whole = (name for name, length in _UNITS.items() if towards % length == 0)
            unit = next(whole, "seconds")
            number = towards / _UNITS[unit]
            function = Regular(0, int(number) if number.is_integer() else number)
        last = Fraction((stop - first) // timedelta(microseconds=1), 1_000_000 * _UNITS[unit])
        # ISO 8601 has no Julian calendar, which CF's "standard" is before 1582-10-15.
        attributes = {"units": cf_units_of_time(unit, first.isoformat())}
        attributes["calendar"] = "proleptic_gregorian"
        towards = months or towards
    if towards == 0:
        raise described.at("step").error(_("must not be 0"), DESCRIPTOR, such_as(_STEP))
    sign = 1 if towards > 0 else -1
    before, after = (sign * function(position) for position in (size - 1, size))
    slack = abs(after - before) * _SLACK if isinstance(after, float) else 0  # integers are exact
    if size and not before <= sign * last + slack < after:
        text = _("start, end and step do not give as many values as the dimension has: {size}")
        remedy = _('write the "end" of {size} values').format(size=size)
        raise described.at().error(text.format(size=size), FITTING, remedy)
    return function, attributes


def _time(place: Fragment, value: float | str) -> datetime:
    """Return a time of ISO 8601, in UTC and without a zone, or raise XGroupMetadataError."""
    try:
        found = datetime.fromisoformat(str(value))
        return found if found.tzinfo is None else found.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError) as error:  # the latter of a year that is none in UTC
        text = _("must be a time of ISO 8601, as start, end and step belong together")
        raise place.error(text, DESCRIPTOR) from error


def _duration(place: Fragment, step: float | str) -> tuple[int, float]:
    """Return the months or the seconds of a duration, or raise XGroupMetadataError."""
    match = _DURATION.fullmatch(str(step))
    if match is None:
        text = _("must be a duration of ISO 8601, such as 'P1D'")
        raise place.error(text, DESCRIPTOR, such_as(_STEP))
    parts = {key: float(text or 0) for key, text in match.groupdict().items() if key != "sign"}
    sign = -1 if match["sign"] else 1
    months = int(12 * parts["years"] + parts["months"])
    seconds = parts["seconds"] + 60 * parts["minutes"] + 3600 * parts["hours"]
    seconds += 86400 * (parts["days"] + 7 * parts["weeks"])
    if months and seconds:
        text = _("has both months and what has a fixed length")
        raise place.error(text, DESCRIPTOR, such_as(_STEP))
    return sign * months, sign * seconds
