"""The convention `cs`: the attribute ``cs`` of arrays, and the CRSs that groups share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from zarr_xgroup.conventions.cs import CsHandler
from zarr_xgroup.conventions.cs_model import (
    KINDS_OF_VALUES,
    Axis,
    CoordinateSet,
    Cs,
    System,
    Wrong,
    kind_of_values,
)
from zarr_xgroup.conventions.geolocation import named_axes
from zarr_xgroup.conventions.spelling import alike
from zarr_xgroup.conventions.timeunits import is_unit
from zarr_xgroup.conventions.values import explicit_values, is_finite
from zarr_xgroup.errors import XGroupMetadataError
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import OBJECT, Fragment
from zarr_xgroup.metadata.references import is_reference
from zarr_xgroup.report.rules import geolocation, proj, times, uom
from zarr_xgroup.report.rules.declarations import is_meant
from zarr_xgroup.report.rules.subject import Severity, Subject, got, mistake, shown, write
from zarr_xgroup.report.verdict import Mistake, Rule

DOCUMENT = "cs convention (R-CF/zarr_convention_cs)"
TABLE = "OGC 18-005 (Referencing by coordinates)"

REQUIRED = Rule("cs/required", DOCUMENT, "cs; CRS; coordinate set; time")
FORM = Rule("cs/form", DOCUMENT, "cs; CRS; axis; coordinate set")
SPELLING = Rule("cs/spelling", DOCUMENT, "cs; CRS; axis; coordinate set")
EVERY = Rule("cs/axis-for-every-dimension", DOCUMENT, "axes")
ABBREVIATION = Rule("cs/abbreviation", DOCUMENT, "axis: abbreviation")
UNIQUE = Rule("cs/unique-abbreviations", TABLE, "Coordinate system axis")
DIRECTION = Rule("cs/direction", TABLE, "Table 48: axis direction")
TYPE = Rule("cs/type", DOCUMENT, "CRS: type")
VALUES = Rule("cs/values", DOCUMENT, "coordinate set: values")
INCREMENT = Rule("cs/increment", DOCUMENT, "values: regular")
LENGTH = Rule("cs/number-of-values", DOCUMENT, "values: explicit")
BOUNDARIES = Rule("cs/boundaries", DOCUMENT, "coordinate set: boundaries")

RULES = (
    REQUIRED,
    FORM,
    SPELLING,
    EVERY,
    ABBREVIATION,
    UNIQUE,
    DIRECTION,
    TYPE,
    VALUES,
    INCREMENT,
    LENGTH,
    BOUNDARIES,
)

_TYPES = ("compound", "planar", "vertical", "temporal", "undefined")
_ABBREVIATIONS = ("X", "Y", "Z", "T")
_POINTS = ("north", "south", "east", "west")
_DIRECTIONS = (
    *_POINTS,
    *(f"{side}{corner}" for side in ("north", "south") for corner in ("East", "West")),
    *(f"{point}{side}East" for point, side in (("north", "North"), ("south", "South"))),
    *(f"{point}{side}West" for point, side in (("north", "North"), ("south", "South"))),
    *(f"{point}{side}{point.title()}" for point in ("east", "west") for side in ("North", "South")),
    *(f"geocentric{axis}" for axis in "XYZ"),
    *(f"{line}{sign}" for line in ("column", "row") for sign in ("Positive", "Negative")),
    *(f"display{side}" for side in ("Right", "Left", "Up", "Down")),
    *("up", "down", "future", "past", "towards", "away", "awayFrom", "forward", "aft"),
    *("port", "starboard", "clockwise", "counterClockwise", "unspecified"),
)

#: What to write, by the key that is wrong or missing.
_EXAMPLES: Mapping[str, str] = {
    "cs": '"cs": {"crs": [{"axes": {...}}]}',
    "crs": '"crs": [{"axes": {...}}]',
    "axes": '"axes": {"lat": {"abbreviation": "Y", "coordinates": [...]}}',
    "coordinates": '"coordinates": [{"values": {"regular": [0, 1]}}]',
    "attributes": '"attributes": {"long_name": "..."}',
    "unit": '"unit": "m"',
    "time": '"time": {"unit": "days", "epoch": "2000-01-01", "calendar": "standard"}',
    "epoch": '"epoch": "2028-02-01T00:00:00"',
    "reference": '"unit": "days", "epoch": "2028-02-01T00:00:00"',
    "calendar": '"calendar": "standard"',
    "direction": '"direction": "east"',
    "abbreviation": '"abbreviation": "X"',
    "regular": '"regular": [first, step]',
    "explicit": '"explicit": [1.5, 2.5]',
    "values": '"values": {"regular": [first, step]}',
    "id": '"id": {"proj:code": "EPSG:4326"}',
}
_UNIT_OF_TIME = '"unit": "days"'


def check(subject: Subject) -> Iterator[Mistake]:
    """Yield what is wrong with ``cs`` of an array, or with the CRSs that a group shares."""
    if subject.is_array:
        cs = subject.attribute("cs")
        if cs is not None and is_meant(subject, CsHandler):
            yield from _cs(subject, cs)
        return
    shared = subject.attribute("crs")
    if shared is not None and isinstance(shared.value, OBJECT):
        for _key, system in shared.members():
            if isinstance(system.value, OBJECT) and "axes" in system.value:
                yield from _system(system)


def _cs(subject: Subject, cs: Fragment) -> Iterator[Mistake]:
    if not isinstance(cs.value, OBJECT):
        yield mistake(FORM, cs, got(_("an object"), cs.value), _such_as("cs"))
        return
    yield from _lacking(cs, "crs")
    yield from _wrong_or_identity(cs, Cs.parse(cs).wrong)
    crs = cs.get("crs")
    if crs is None or not isinstance(crs.value, list):
        return
    for item in crs.items():
        yield from _system(item)
    yield from _dimensions(subject, crs)


def _such_as(key: str) -> str:
    example = _EXAMPLES.get(key, f'"{key}"')
    return _("write, for example, {example}").format(example=example)


def _lacking(place: Fragment, key: str, remedy: str = "") -> Iterator[Mistake]:
    if place.value.get(key) is None:
        text = _("is missing")
        yield mistake(REQUIRED, place, text, remedy or _such_as(key), key=key)


def _wrong(place: Fragment, items: Iterable[Wrong]) -> Iterator[Mistake]:
    """Yield what a model found wrong with its parts; what an object lacks is told elsewhere."""
    for item in items:
        if item.keys == place.keys:
            continue
        where = Fragment(place.node, item.keys, None)
        if item.meant:
            text = _("{key!r} is not known there").format(key=item.keys[-1])
            yield mistake(SPELLING, where, text, _('call it "{key}"').format(key=item.meant))
        else:
            yield mistake(FORM, where, item.reason, _such_as(_key(item.keys)))


def _key(keys: tuple[str, ...]) -> str:
    """Return the last key that is no index of a list."""
    return next((key for key in reversed(keys) if not key.isdigit()), "")


def _wrong_or_identity(place: Fragment, items: Iterable[Wrong]) -> Iterator[Mistake]:
    """Yield what is wrong with an object and with its ``id``."""
    of_id = (*place.keys, "id")
    items = [it for it in items if it.keys != of_id]
    yield from _wrong(place, items)
    identity = place.get("id")
    if identity is not None and not any(it.keys[: len(of_id)] == of_id for it in items):
        yield from proj.of_object(identity)


# CRSs and axes.


def _system(system: Fragment) -> Iterator[Mistake]:
    """Yield what is wrong with a CRS, unless it is written elsewhere."""
    if is_reference(system.value):
        return
    if not isinstance(system.value, OBJECT):
        remedy = _("write {example}").format(example='{"axes": {...}}')
        yield mistake(FORM, system, got(_("an object or a reference"), system.value), remedy)
        return
    yield from _lacking(system, "axes")
    yield from _wrong_or_identity(system, System.parse(system).wrong)
    kind = system.value.get("type", "undefined")
    if kind not in _TYPES:
        meant = alike(str(kind).lower(), _TYPES)
        remedy = _("write one of {all}").format(all=", ".join(_TYPES))
        if meant:
            remedy = write("type", meant)
        text = _("{value} is no type of CRS").format(value=shown(kind))
        yield mistake(TYPE, system, text, remedy, "warning", key="type")
    if (located := system.get("geolocation")) is not None:
        yield from geolocation.of_object(located)
    if (axes := system.get("axes")) is not None:
        found = list(named_axes(axes))
        yield from _abbreviations(found)
        for _name, axis in found:
            yield from _axis(axis)


def _abbreviations(axes: Iterable[tuple[str, Fragment]]) -> Iterator[Mistake]:
    """Yield abbreviations that are none, or that an earlier axis of the CRS has."""
    known: dict[str, str] = {}
    for name, axis in axes:
        value = axis.value.get("abbreviation") if isinstance(axis.value, OBJECT) else None
        if not isinstance(value, str):
            continue
        if value not in _ABBREVIATIONS:
            is_close = value.upper() in _ABBREVIATIONS
            remedy = (
                write("abbreviation", value.upper())
                if is_close
                else _("write one of {all}, or leave it out").format(all=", ".join(_ABBREVIATIONS))
            )
            text = got(_("X, Y, Z or T"), value)
            yield mistake(ABBREVIATION, axis, text, remedy, "warning", key="abbreviation")
        elif value in known:
            text = _("{value} is the abbreviation of axis {other!r}, too").format(
                value=shown(value), other=known[value]
            )
            others = [it for it in _ABBREVIATIONS if it not in known]
            remedy = _('write another "abbreviation" ({others}), or leave it out').format(
                others=", ".join(others)
            )
            yield mistake(UNIQUE, axis, text, remedy, "warning", key="abbreviation")
        known.setdefault(value, name)


def _axis(axis: Fragment) -> Iterator[Mistake]:
    if is_reference(axis.value):
        return
    if not isinstance(axis.value, OBJECT):
        yield mistake(FORM, axis, got(_("an object"), axis.value), _such_as("coordinates"))
        return
    model = Axis.parse(axis)
    yield from _wrong(axis, [*model.wrong, *model.wrong_sets])
    yield from _direction(axis)
    sets = axis.get("coordinates")
    for item in sets.items() if sets is not None and isinstance(sets.value, list) else ():
        yield from _set(item)


def _direction(place: Fragment) -> Iterator[Mistake]:
    direction = place.value.get("direction")
    known = {it.lower(): it for it in _DIRECTIONS}
    if isinstance(direction, str) and direction.lower() not in known:
        meant = alike(direction.lower(), known)
        remedy = (
            write("direction", known[meant])
            if meant
            else _('write one of the table, such as "east", "north", "up" or "future"')
        )
        text = _("{value} is no direction").format(value=shown(direction))
        yield mistake(DIRECTION, place, text, remedy, "warning", key="direction")


# Coordinate sets.


def _set(item: Fragment) -> Iterator[Mistake]:
    if is_reference(item.value):
        return
    if not isinstance(item.value, OBJECT):
        yield mistake(FORM, item, got(_("an object"), item.value), _such_as("coordinates"))
        return
    # What is wrong with units and times is told below.
    model = CoordinateSet.parse(item)
    others = [
        it for it in model.wrong if it.keys[len(item.keys) :][:1] not in (("time",), ("unit",))
    ]
    yield from _wrong(item, others)
    yield from _direction(item)
    yield from _units(item)
    if item.value.get("values") is None and item.value.get("parametric") is None:
        yield from _lacking(item, "values")
    elif (values := item.get("values")) is not None:
        yield from _values(values)
    if (boundaries := item.get("boundaries")) is not None:
        yield from _boundaries(boundaries)
    if (parametric := item.get("parametric")) is not None:
        yield from _parametric(parametric)


def _units(item: Fragment) -> Iterator[Mistake]:
    unit, time = item.get("unit"), item.get("time")
    if unit is not None and isinstance(unit.value, OBJECT):
        yield from uom.of_value(unit.get("uom") or unit)
    elif unit is not None and not isinstance(unit.value, str):
        yield mistake(
            FORM, unit, got(_("a string or an object of uom"), unit.value), _such_as("unit")
        )
    if time is not None:
        yield from _time(time)


def _time(time: Fragment) -> Iterator[Mistake]:
    if not isinstance(time.value, OBJECT):
        yield mistake(FORM, time, got(_("an object"), time.value), _such_as("time"))
        return
    wrong = CoordinateSet.parse(Fragment(time.node, time.keys[:-1], {"time": time.value})).wrong
    yield from _wrong(time, wrong)
    calendar = time.get("calendar")
    if calendar is not None:
        yield from times.of_calendar(calendar)
    if time.value.get("reference") is not None:
        return
    yield from _lacking(
        time, "unit", _("write, for example, {example}").format(example=_UNIT_OF_TIME)
    )
    yield from _lacking(time, "epoch")
    unit = time.get("unit")
    if unit is not None and isinstance(unit.value, str) and not is_unit(unit.value):
        yield from times.of_unit(unit)


def _values(values: Fragment) -> Iterator[Mistake]:
    try:
        kind, value = kind_of_values(values, KINDS_OF_VALUES)
    except XGroupMetadataError as error:
        yield mistake(VALUES, values, error.reason, _such_as("values"))
        return
    if kind == "regular":
        yield from _regular(value)
    elif kind == "explicit":
        try:
            explicit_values(value, None)
        except XGroupMetadataError as error:
            yield mistake(VALUES, value, error.reason, _such_as("explicit"))
    elif not is_reference(value.value):
        text = got(_("a reference to an array"), value.value)
        node = value.value if isinstance(value.value, str) else "time"
        remedy = _("write {example}").format(example=f'"external": {{"node": "{node}"}}')
        yield mistake(VALUES, value, text, remedy)


def _are_two_numbers(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(is_finite, value))


def _regular(value: Fragment) -> Iterator[Mistake]:
    if not _are_two_numbers(value.value):
        text = got(_("two finite numbers, first and step"), value.value)
        yield mistake(VALUES, value, text, _such_as("regular"))
    elif value.value[1] == 0:
        remedy = _("write the step, or of a single value {example}").format(
            example=f'"explicit": [{value.value[0]}]'
        )
        yield mistake(INCREMENT, value, _("has a step of 0: all values are the same"), remedy)


def _boundaries(boundaries: Fragment) -> Iterator[Mistake]:
    example = _("write, for example, {example}").format(
        example='"boundaries": {"regular": [-0.5, 0.5]} (offsets from each value)'
    )
    try:
        kind, value = kind_of_values(boundaries, ("regular", "external"))
    except XGroupMetadataError as error:
        yield mistake(BOUNDARIES, boundaries, error.reason, example)
        return
    if kind == "external":
        if not is_reference(value.value):
            text = got(_("a reference to an array"), value.value)
            yield mistake(BOUNDARIES, value, text, example)
    elif not _are_two_numbers(value.value):
        text = got(_("two finite numbers, the offsets of both sides"), value.value)
        yield mistake(BOUNDARIES, value, text, example)
    elif value.value[0] == value.value[1]:
        text = _("{value}: cells have no width").format(value=shown(value.value))
        yield mistake(BOUNDARIES, value, text, example, "warning")


def _parametric(parametric: Fragment) -> Iterator[Mistake]:
    example = '"parametric": {"formula": "atmosphere_sigma_coordinate", "terms": {...}}'
    remedy = _("write, for example, {example}").format(example=example)
    if not isinstance(parametric.value, OBJECT):
        yield mistake(FORM, parametric, got(_("an object"), parametric.value), remedy)
        return
    yield from _lacking(parametric, "formula", remedy)
    yield from _lacking(parametric, "terms", remedy)


# What goes with the array.


def _dimensions(subject: Subject, crs: Fragment) -> Iterator[Mistake]:
    """Yield dimensions without an axis, and axes with another number of values."""
    found: dict[str, Fragment] = {}
    for item in crs.items():
        system = subject.follow(item)
        if system is None:
            return  # what it would have is not known; that it leads nowhere is told elsewhere
        axes = system.get("axes")
        if axes is not None:
            found.update(named_axes(axes))
    for name, size in subject.sizes.items():
        if name not in found:
            text = _("there is no axis for the dimension {name!r}").format(name=name)
            severity: Severity = "warning" if _has_array(subject, name) else "error"
            yield mistake(EVERY, crs, text, _axis_for(subject, name), severity)
        elif found[name].node == subject.node:
            yield from _lengths(found[name], size)


def _has_array(subject: Subject, name: str) -> bool:
    return name in subject.store.snapshot.names(subject.node.group.path)


def _axis_for(subject: Subject, name: str) -> str:
    """Return the axis to add: with the array of the group that is called so, if there is one."""
    values = '{"regular": [first, step]}'
    if _has_array(subject, name):
        values = f'{{"external": {{"node": "{name}"}}}}'
    example = f'"{name}": {{"coordinates": [{{"values": {values}}}]}}'
    return _("add to the axes of one of the CRSs {example}").format(example=example)


def _lengths(axis: Fragment, size: int) -> Iterator[Mistake]:
    sets = axis.get("coordinates")
    for item in sets.items() if sets is not None and isinstance(sets.value, list) else ():
        values = item.get("values")
        explicit = None if values is None else values.get("explicit")
        if explicit is None or not isinstance(explicit.value, list):
            continue
        if len(explicit.value) != size:
            text = _("has {number} values, but the dimension has {size}").format(
                number=len(explicit.value), size=size
            )
            remedy = _("write {size} values, or refer to an array of them").format(size=size)
            yield mistake(LENGTH, explicit, text, remedy)
