"""CF: units of time, and attributes that others judge, the type and the shape of their array, or other arrays."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from zarr_xgroup.conventions.cf import CfHandler
from zarr_xgroup.conventions.cf_model import (
    BOUNDS,
    FLAGS,
    FORMULAS,
    GRID_MAPPING,
    MAPPINGS,
    MEASURES,
    OF_CALENDAR,
    TERMS,
    UNITS,
    UP_OR_DOWN,
    VALID,
    WITH_ROLES,
)
from zarr_xgroup.conventions.descriptions import got, shown, such_as, write
from zarr_xgroup.conventions.timeunits import CALENDAR, EPOCH, UNIT_OF_TIME, is_epoch, is_unit
from zarr_xgroup.conventions.values import is_finite
from zarr_xgroup.errors import Rule, Severity, XGroupError, containing
from zarr_xgroup.findings import Finding, mistake
from zarr_xgroup.i18n import _, ngettext
from zarr_xgroup.metadata.cf import (
    BOUNDARIES,
    LATITUDES,
    LONGITUDES,
    mappings_in,
    words_of,
)
from zarr_xgroup.metadata.nodes import Fragment
from zarr_xgroup.report.rules.described import is_meant
from zarr_xgroup.report.rules.subject import Subject
from zarr_xgroup.variables.fillvalues import can_hold, plain_fill_value

RULES = (CALENDAR, UNIT_OF_TIME, EPOCH)

#: Standard names of points of time.
_TIMES = ("time", "forecast_reference_time")
_SINCE = re.compile(r"(\S+)\s+since\s+(\S.*)", re.IGNORECASE)

#: Attributes with values of the type of the array.
_OF_ITS_TYPE = {
    "missing_value": VALID,
    "valid_min": VALID,
    "valid_max": VALID,
    "valid_range": VALID,
    "flag_values": FLAGS,
    "flag_masks": FLAGS,
}
_FLAGS = ("flag_values", "flag_masks")
_MEASURES = ("area", "volume")
#: Units of pressure: whether such a coordinate grows upwards is known.
_PRESSURES = frozenset(
    {"Pa", "hPa", "kPa", "pascal", "bar", "mbar", "millibar", "millibars", "mb", "dbar", "decibar"}
    | {"atm", "atmosphere", "bars", "decibars", "pascals", "hectopascal", "hectopascals"}
)
#: Units by standard name; the first of those that mean the same is what most write.
_UNITS = {"latitude": ("degrees_north", LATITUDES), "longitude": ("degrees_east", LONGITUDES)}


def check(subject: Subject) -> Iterator[Finding]:
    """Yield what is wrong with the attributes of an array that follows CF."""
    yield from _times(subject)
    if not (subject.is_array and is_meant(subject, CfHandler)):
        return
    for rule in (_types, _flags, _range, _units, _positive, _measures):
        yield from rule(subject)
    for rule in (_parameters, _mappings, _formula, _boundaries):
        yield from rule(subject)


def _text(subject: Subject, key: str) -> str:
    """Return an attribute that is text, "" where there is none or it is something else."""
    value = subject.attributes.get(key)
    return value if isinstance(value, str) else ""


def _missing(subject: Subject, key: str, rule: Rule, text: str, value: Any) -> Finding:
    return mistake(rule, subject.all_attributes, text, write(key, value), "warning", key=key)


# Times.


def _times(subject: Subject) -> Iterator[Finding]:
    """Yield what is wrong with ``units`` and ``calendar`` of an array of times.

    Only in stores that declare conventions: others may mean anything by their attributes.
    """
    units = subject.attribute("units")
    if not subject.is_array or units is None or not subject.store.declares_something:
        return
    match = _SINCE.fullmatch(units.value.strip()) if isinstance(units.value, str) else None
    if match is not None:
        yield from _times_since(subject, units, *match.groups())
    elif isinstance(units.value, str) and subject.attributes.get("standard_name") in _TIMES:
        text = got(_("a unit of time since a date"), units.value)
        yield mistake(UNIT_OF_TIME, units, text, write("units", "days since 1970-01-01"))


def _times_since(subject: Subject, units: Fragment, unit: str, epoch: str) -> Iterator[Finding]:
    """Yield what is wrong with units of time, with the date, and with the calendar beside them."""
    if not is_unit(unit):
        text = _("{value} is no unit of time").format(value=shown(unit))
        yield mistake(UNIT_OF_TIME, units, text, _("write seconds, minutes, hours or days"))
    if not is_epoch(epoch):
        text = got(_("a date and time as ISO 8601 writes it"), epoch)
        remedy = _("write, for example, {example}").format(
            example=f'"units": "{unit} since 2028-02-01T00:00:00"'
        )
        yield mistake(EPOCH, units, text, remedy)
    if (calendar := subject.attribute("calendar")) is not None:
        yield from (it.at(subject.node) for it in OF_CALENDAR.all_wrong(calendar))


# Values of the type of the array.


def _types(subject: Subject) -> Iterator[Finding]:
    """Yield values that are none of the array's type."""
    dtype = _dtype(subject)
    for key, rule in _OF_ITS_TYPE.items() if dtype is not None else ():
        written = subject.attribute(key)
        if dtype is None or written is None:
            continue
        values = written.value if isinstance(written.value, list) else [written.value]
        wrong = [it for it in values if not _is_of(dtype, it, subject)]
        if wrong:
            text = _("{value} is no value of the array's type, {dtype}")
            text = text.format(value=shown(wrong[0]), dtype=dtype.name)
            remedy = _("write a value of the array's type, or leave {key} out").format(key=key)
            yield mistake(rule, written, text, remedy, "warning")
        elif key == "flag_masks" and dtype.kind not in "iu":
            text = _("are bits of integers, the array is of type {dtype}").format(dtype=dtype.name)
            yield mistake(rule, written, text, _('write "flag_values"'), "warning")


def _dtype(subject: Subject) -> np.dtype[Any] | None:
    """Return the type of an array's values, None where numpy has none of its name."""
    written = subject.document.get("data_type", subject.document.get("dtype"))
    with suppress(XGroupError), containing():
        return np.dtype(written) if isinstance(written, str) else None
    return None


def _is_of(dtype: np.dtype[Any], value: Any, subject: Subject) -> bool:
    if dtype.kind in "iub":
        return can_hold(dtype, value, either_sign="_Unsigned" in subject.attributes)
    if dtype.kind == "f":
        return plain_fill_value(value, dtype) is not None
    return dtype.kind not in "SUTO" or isinstance(value, str)


def _range(subject: Subject) -> Iterator[Finding]:
    """Yield limits of which the first is the greater one, and that they are given in two ways."""
    written = subject.attribute("valid_range")
    # Numbers with a sign may stand for those without one.
    if written is not None and "_Unsigned" not in subject.attributes and _is_turned(written.value):
        text = _("must not end below where it begins: {value}").format(value=shown(written.value))
        yield mistake(VALID, written, text, such_as('"valid_range": [0, 100]'), "warning")
    others = [key for key in ("valid_min", "valid_max") if key in subject.attributes]
    if written is not None and others:
        text = _("stands beside {keys}, which says the same in another way")
        remedy = _("leave one of {keys} out").format(keys=", ".join(("valid_range", *others)))
        yield mistake(VALID, written, text.format(keys=", ".join(others)), remedy, "warning")


def _is_turned(limits: Any) -> bool:
    are_two = isinstance(limits, list) and len(limits) == 2 and all(map(is_finite, limits))
    return are_two and bool(limits[0] > limits[1])


# Flags.


def _flags(subject: Subject) -> Iterator[Finding]:
    """Yield flags of which not each has a meaning, and that cannot be told apart."""
    meanings = subject.attribute("flag_meanings")
    lists = {key: subject.attributes.get(key) for key in _FLAGS}
    given = {key: it for key, it in lists.items() if it is not None}
    if meanings is None:
        for key, values in given.items():
            text = _("is missing: what each of {key} means").format(key=key)
            count = len(values) if isinstance(values, list) else 1
            words = " ".join(f"meaning_{number}" for number in range(1, count + 1))
            yield _missing(subject, "flag_meanings", FLAGS, text, words)
            return
    elif not given:
        text = _("has neither {values} nor {masks} beside it")
        text = text.format(values=_FLAGS[0], masks=_FLAGS[1])
        count = len(words_of(subject.attributes, "flag_meanings"))
        remedy = write(_FLAGS[0], list(range(count)))
        yield mistake(FLAGS, meanings, text, remedy, "warning")
    elif isinstance(meanings.value, str):
        yield from _lengths(meanings, given)
    yield from _distinct(subject, given)


def _lengths(meanings: Fragment, given: dict[str, Any]) -> Iterator[Finding]:
    count = len(meanings.value.split())
    for key, values in given.items():
        number = len(values) if isinstance(values, list) else 1
        if number != count:
            text = ngettext(
                "has {count} word, {key} {number}", "has {count} words, {key} {number}", count
            )
            text = text.format(count=count, key=key, number=number)
            remedy = _("write a word for each of {key}, with blanks between them").format(key=key)
            yield mistake(FLAGS, meanings, text, remedy, "warning")


def _distinct(subject: Subject, given: dict[str, Any]) -> Iterator[Finding]:
    """Yield that two flags have the same value, or value and mask."""
    lists = [it for it in given.values() if isinstance(it, list)]
    flags = list(map(repr, zip(*lists, strict=False)))
    if len(set(flags)) < len(flags):
        key = next(iter(given))
        text = _("has the same for two flags: {value}").format(value=shown(given[key]))
        written = Fragment(subject.node, ("attributes", key), None)
        yield mistake(FLAGS, written, text, _("give each flag a value of its own"), "warning")


# Coordinates.


def _units(subject: Subject) -> Iterator[Finding]:
    """Yield longitudes and latitudes without their units, and times without any."""
    name, units = _text(subject, "standard_name"), subject.attribute("units")
    usual, known = _UNITS.get(name, ("", frozenset[str]()))
    if name in _TIMES and units is None and not _is_datetime(subject):
        usual = "days since 1970-01-01"
    if not usual or _text(subject, "units") in known:
        return
    if units is None:
        text = _("is missing, which each {name} has").format(name=name)
        yield _missing(subject, "units", UNITS, text, usual)
    elif isinstance(units.value, str):
        text = _("{value} is no unit of {name}").format(value=shown(units.value), name=name)
        yield mistake(UNITS, units, text, write("units", usual), "warning")


def _is_datetime(subject: Subject) -> bool:
    """Tell whether the type of an array says its units: one of numpy's, or an extension of Zarr v3."""
    dtype = _dtype(subject)
    written = subject.document.get("data_type")
    return isinstance(written, dict) or (dtype is not None and dtype.kind == "M")


def _positive(subject: Subject) -> Iterator[Finding]:
    """Yield vertical coordinates of which it is not known which way they grow."""
    is_vertical = _text(subject, "axis") == "Z" and _text(subject, "units") not in _PRESSURES
    if is_vertical and subject.attribute("positive") is None:
        text = _("is missing, which a vertical coordinate has whose units are not of pressure")
        yield _missing(subject, "positive", UP_OR_DOWN, text, "up")


def _measures(subject: Subject) -> Iterator[Finding]:
    """Yield measures of cells that CF does not know."""
    key = "cell_measures"
    written = subject.attribute(key)
    if written is None:
        return
    for role in [""] if written.value == "" else _roles(subject, key):
        if role not in _MEASURES:
            known = ", ".join(_MEASURES)
            text = _("{role} is no measure of cells: {known}").format(role=shown(role), known=known)
            remedy = such_as(f'"{key}": "{WITH_ROLES[key]}"')
            yield mistake(MEASURES, written, text, remedy, "warning")


def _roles(subject: Subject, key: str) -> list[str]:
    """Return the roles in an attribute: the words that end with a colon."""
    return [it.removesuffix(":") for it in words_of(subject.attributes, key) if it.endswith(":")]


def _formula(subject: Subject) -> Iterator[Finding]:
    """Yield what a vertical coordinate lacks that follows by a formula from others."""
    key, name = "formula_terms", _text(subject, "standard_name")
    written, choices = subject.attribute(key), FORMULAS.get(name, ())
    if written is None:
        if choices:
            text = _("is missing, by which {name} becomes heights").format(name=name)
            terms = " ".join(f"{it}: {it}" for it in choices[0][0].split())
            yield _missing(subject, key, TERMS, text, terms)
    elif choices:
        yield from _terms(written, _roles(subject, key), choices)
    elif name or subject.group is None or subject.node.name not in subject.group.boundaries:
        text = _("has no formula: {name} is no standard name of appendix D").format(
            name=shown(name or None)
        )
        remedy = _('write "standard_name", one of {names}').format(names=", ".join(FORMULAS))
        yield mistake(TERMS, written, text, remedy, "warning")


def _terms(
    written: Fragment, roles: Sequence[str], choices: Sequence[tuple[str, str]]
) -> Iterator[Finding]:
    """Yield terms that a formula needs and are not named, and that it does not have."""
    known = {term for needed, others in choices for term in f"{needed} {others}".split()}
    needed, _others = next((it for it in choices if it[0].split()[0] in roles), choices[-1])
    missing = [term for term in needed.split() if term not in roles]
    unknown = [term for term in roles if term not in known]
    if missing or unknown:
        text = _("has no {terms}") if missing else _("has {terms}, which the formula does not have")
        text = text.format(terms=", ".join(missing or unknown))
        example = " ".join(f"{term}: {term}" for term in needed.split())
        remedy = _("name the terms of the formula: {example}").format(example=example)
        yield mistake(TERMS, written, text, remedy, "warning")


def _boundaries(subject: Subject) -> Iterator[Finding]:
    """Yield boundaries that do not lie along the dimensions of their array, and then along vertices."""
    for key in BOUNDARIES:
        written, name = subject.attribute(key), _text(subject, key)
        cells = subject.named(name) if name else None
        if written is None or cells is None:
            continue
        if not _are_cells(subject, cells, is_climatology=key == "climatology"):
            text = _(
                "{name} has the dimensions {dims} of shape {shape}, which are not those of the array and a last one of vertices"
            )
            text = text.format(
                name=name, dims=shown(list(cells.dims)), shape=shown(list(cells.document["shape"]))
            )
            dims = shown([*subject.dims, "bnds"])
            remedy = _("write boundaries along {dims}").format(dims=dims)
            yield mistake(BOUNDS, written, text, remedy, "warning")


def _are_cells(subject: Subject, cells: Subject, *, is_climatology: bool) -> bool:
    """Tell whether an array can have the boundaries of another one."""
    *shape, vertices = cells.document["shape"] or (0,)
    pairs = zip(subject.dims, cells.dims, strict=False)
    is_along = all(one is None or other is None or one == other for one, other in pairs)
    are_two = is_climatology or subject.dims == (subject.node.name,)
    is_enough = vertices == 2 if are_two else vertices > 1
    return shape == list(subject.document["shape"]) and is_along and is_enough


# Grid mappings.


def _parameters(subject: Subject) -> Iterator[Finding]:
    """Yield what a grid mapping lacks that its name needs."""
    name, attributes = _text(subject, "grid_mapping_name"), subject.attributes
    for keys in MAPPINGS.get(name, ()):
        if not any(attributes.get(key) is not None for key in keys):
            text = _("is missing, which {name} needs").format(name=name)
            remedy = _("write {text}").format(text=_(" or ").join(f'"{key}"' for key in keys))
            severity: Severity = "warning" if _says_otherwise(subject) else "error"
            yield mistake(GRID_MAPPING, subject.all_attributes, text, remedy, severity, key=keys[0])


def _says_otherwise(subject: Subject) -> bool:
    """Tell whether a grid mapping says the CRS as WKT, too."""
    return bool(_text(subject, "crs_wkt") or _text(subject, "spatial_ref"))


def _mappings(subject: Subject) -> Iterator[Finding]:
    """Yield variables that an array names as its grid mapping and are none."""
    for name in mappings_in(subject.attributes):
        mapping = subject.named(name)
        if mapping is not None and mapping.attribute("grid_mapping_name") is None:
            text = _("is missing: arrays name this one as their grid mapping")
            severity: Severity = "warning" if _says_otherwise(mapping) else "error"
            yield mistake(
                GRID_MAPPING,
                mapping.all_attributes,
                text,
                _("write one of {names}").format(names=", ".join(MAPPINGS)),
                severity,
                key="grid_mapping_name",
            )
