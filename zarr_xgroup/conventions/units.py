"""Units of time in conventions, and CF ``units`` such as ``days since 1850-01-01`` with a calendar.

Source: CF conventions 1.12, section 4.4 "Time coordinate".
"""

from __future__ import annotations

import json
import re
from calendar import monthrange
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import xarray as xr
from xarray.conventions import decode_cf_variables

from zarr_xgroup.errors import Rule, XGroupError, converting_errors
from zarr_xgroup.i18n import _

CF = "CF conventions 1.12"

CALENDAR = Rule("times/calendar", CF, "4.4.2 Calendar")
UNIT_OF_TIME = Rule("times/unit", CF, "4.4.1 Time coordinate units")
EPOCH = Rule("times/epoch", CF, "4.4.1 Time coordinate units")

#: The attributes by which xarray decodes times.
TIME_KEYS = ("units", "calendar")
CALENDARS = (
    *("standard", "gregorian", "proleptic_gregorian", "julian", "noleap", "365_day"),
    *("all_leap", "366_day", "360_day", "utc", "tai", "none"),
)
#: The units of time in the plural that CF writers use, with their abbreviations. `m` is a minute here.
_UNITS_OF_TIME = {
    "seconds": ("s", "sec", "secs"),
    "minutes": ("m", "min", "mins"),
    "hours": ("h", "hr", "hrs"),
    "days": ("d",),
    "weeks": ("wk", "wks"),
    "months": (),
    "years": ("y", "yr", "yrs"),
    "milliseconds": ("ms", "msec", "msecs", "millisec", "millisecs"),
    "microseconds": ("us", "\u00b5s", "\u03bcs", "microsec", "microsecs"),  # micro sign, Greek mu
    "nanoseconds": ("ns",),
    "kiloyears": (),
    "megayears": (),
    "gigayears": (),
}
_PLURALS = {
    spelling: plural
    for plural, abbreviations in _UNITS_OF_TIME.items()
    for spelling in (plural, plural[:-1], *abbreviations)
}
#: Units whose case matters: the prefix ``m`` means a thousandth. ``M`` may be a month or a minute, so it is kept.
_PLURALS_BY_EXACT_SPELLING = {"M": "M"} | {
    f"{prefix}{year}": f"{name}years"
    for prefix, name in (("k", "kilo"), ("M", "mega"), ("G", "giga"))
    for year in ("y", "yr", "yrs")
}
#: Spellings that xarray and cftime do not decode, although they decode the full names of these units.
_UNDECODED_SPELLINGS = {"m", "ns", "us", "\u00b5s", "\u03bcs"}
#: The units that are recognised without an epoch in a stored array, and their abbreviations of one letter.
_BARE_UNITS_OF_TIME, _BARE_LETTERS = {"seconds", "minutes", "hours", "days"}, {"s", "h", "d"}
#: The calendars in which times in a unit can be decoded. Times in other units can be decoded in all calendars.
_CALENDARS_OF_UNITS: Mapping[str, tuple[str, ...]] = {
    "week": (),
    **dict.fromkeys(("year", "kiloyear", "megayear", "gigayear"), ()),
    "month": ("360_day",),
    "common_year": ("noleap", "365_day"),
    "nanosecond": ("standard", "gregorian", "proleptic_gregorian"),
}
_EPOCH = re.compile(
    r"(?P<sign>[+-]?)(?P<year>\d{1,6})-(?P<month>0?[1-9]|1[0-2])-"
    r"(?P<day>0?[1-9]|[12]\d|3[01])"
    r"(?:[T ]\s*(?P<time>(?:[01]?\d|2[0-3])(?::[0-5]?\d(?::[0-5]?\d(?:\.\d*)?)?)?))?"
    r"\s*(?P<zone>Z|UTC|GMT|[+-]\d{1,2}(?::?\d{2})?)?",
    re.IGNORECASE,
)
#: Other forms of ISO 8601, which are kept unchanged: only a year, only a year and month, or no hyphens.
_OTHER_EPOCHS = re.compile(
    r"\d{4}(?:-\d{2})?|\d{8}(?:T\d{2}(?:\d{2}(?:\d{2}(?:\.\d*)?)?)?(?:Z|[+-]\d{2,4})?)?",
    re.IGNORECASE,
)


def cf_unit_of_time(unit: str) -> str:
    """Return a unit of time (``day``, ``Days``, ``d``, ``ms``, ``ky``) in the plural that CF writers use.

    An unknown unit is returned unchanged, because with an "s" it might be a different unit.
    """
    unit = unit.strip()
    return _PLURALS_BY_EXACT_SPELLING.get(unit) or _PLURALS.get(unit.lower(), unit)


@lru_cache
def cf_units_of_time(unit: str, epoch: str) -> str:
    """Return the CF units of time since an epoch: ``days since 1850-01-01 00:00:00``."""
    return f"{cf_unit_of_time(unit)} since {cf_epoch(epoch)}"


def unit_and_epoch(units: object) -> tuple[str, str] | None:
    """Return the unit and the epoch in units such as ``days since 1850-01-01``; None for any other value.

    As for xarray, "since" is in lower case.
    """
    text = " ".join(units.split()) if isinstance(units, str) else ""
    unit, since, epoch = f" {text} ".partition(" since ")
    return (unit.strip(), epoch.strip()) if since else None


def is_time(units: object) -> bool:
    """Return whether xarray tries to decode a variable with these units as times."""
    return isinstance(units, str) and "since" in units


def units_of_bounds(attributes: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return units and calendar of times by the name of their bounds, which xarray decodes with them.

    {} if the attributes are not those of times that can be decoded, or name no bounds.
    """
    bounds = attributes.get("bounds")
    is_decoded = is_time(attributes.get("units")) and not why_not_times(attributes)
    if not (is_decoded and isinstance(bounds, str)):
        return {}
    return {bounds: {key: attributes[key] for key in TIME_KEYS if key in attributes}}


def cf_units_in_one_text(reference: str) -> str:
    """Return units such as ``days since 1850-01-01`` with the unit and the epoch in CF's form.

    Any other text is returned unchanged.
    """
    unit, epoch = unit_and_epoch(reference) or ("", "")
    return cf_units_of_time(unit, epoch) if unit and epoch else reference


def is_bare_unit_of_time(units: object) -> bool:
    """Return whether the attribute ``units`` is seconds, minutes, hours or days without an epoch; ``m`` is a metre."""
    if not isinstance(units, str):
        return False
    unit = units.strip()
    is_spelled_out = len(unit) > 1 or unit in _BARE_LETTERS
    return is_spelled_out and cf_unit_of_time(unit) in _BARE_UNITS_OF_TIME


def with_completed_units(declared: Mapping[str, Any], own: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return declared attributes with the array's own unit, if that is a unit of time without an epoch.

    For example, the declared ``hours since 1970-01-01 00:00:00`` and the array's ``days`` become
    ``days since 1970-01-01 00:00:00``.
    """
    parts = unit_and_epoch(declared.get("units"))
    if parts is None or not is_bare_unit_of_time(own.get("units")):
        return declared
    return {**declared, "units": f"{cf_unit_of_time(own['units'])} since {parts[1]}"}


def units_of_times(declared: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``units`` and ``calendar`` of an array with declared and own attributes, or {} if it is not a time.

    Its own attributes take precedence, but a unit without an epoch is completed with the declared epoch.
    """
    known, completed = {**declared, **own}, with_completed_units(declared, own)
    if completed is not declared:
        known["units"] = completed["units"]
    are_times = is_time(known.get("units"))
    return {key: known[key] for key in TIME_KEYS if are_times and key in known}


def is_same_unit_of_time(units: str, other: str) -> bool:
    """Return whether two CF units of time have the same unit, regardless of epoch and spelling."""
    first, second = (
        cf_unit_of_time((unit_and_epoch(text) or (text,))[0]) for text in (units, other)
    )
    return first == second


def is_regular_epoch(epoch: str) -> bool:
    """Return whether an epoch has the form ``year-month-day``, with or without a time and a zone."""
    return _EPOCH.fullmatch(epoch.strip()) is not None


def cf_epoch(epoch: str) -> str:
    """Return an epoch as ``date time[ zone]``, for any calendar.

    ``T`` becomes a space, ``Z`` is removed (CF times without a zone are in UTC), and an offset is kept. A text that is not
    a date and time is returned unchanged, because cftime may be able to decode it.
    """
    match = _EPOCH.fullmatch(epoch.strip())
    if match is None:
        return epoch.strip()
    # xarray warns about years with fewer than four digits.
    date = (
        f"{match['sign']}{match['year'].zfill(4)}-{match['month'].zfill(2)}-{match['day'].zfill(2)}"
    )
    parts = [*(match["time"] or "0").split(":"), "0", "0"]
    time = ":".join(part.zfill(2) for part in parts[:3])
    zone = match["zone"] or ""
    if zone.upper() in ("", "Z", "UTC", "GMT"):
        return f"{date} {time}"
    digits = zone[1:].replace(":", "")
    hours, minutes = (digits[:-2], digits[-2:]) if len(digits) > 2 else (digits, "00")
    return f"{date} {time} {zone[0]}{hours.zfill(2)}:{minutes}"


@lru_cache
def is_epoch(text: str) -> bool:
    """Return whether a text is a date, or a date and time, in a form of ISO 8601 or CF."""
    text = text.strip()
    return bool(_EPOCH.fullmatch(text) or _OTHER_EPOCHS.fullmatch(text))


@lru_cache
def epoch_exists(epoch: str, calendar: str) -> bool:
    """Return whether a calendar has the day of an epoch; True if the epoch cannot be parsed.

    An unknown calendar is treated as the proleptic Gregorian one.
    """
    match, calendar = _EPOCH.fullmatch(epoch.strip()), calendar.lower()
    if match is None:
        return True
    year, month, day = int(match["year"]), int(match["month"]), int(match["day"])
    if calendar == "360_day":
        return day <= 30
    is_mixed = calendar in ("standard", "gregorian")
    if (is_mixed or calendar == "julian") and year == 0:
        return False
    # The days that were skipped when the Gregorian calendar replaced the Julian one.
    if is_mixed and "1582-10-05" <= f"{year:04}-{month:02}-{day:02}" <= "1582-10-14":
        return False
    is_julian = calendar == "julian" or (is_mixed and year < 1582)
    is_leap = year % 4 == 0 and (is_julian or year % 100 != 0 or year % 400 == 0)
    if calendar in ("noleap", "365_day", "all_leap", "366_day"):
        is_leap = calendar in ("all_leap", "366_day")
    return day <= monthrange(2000 if is_leap else 2001, month)[1]


def problems_of_time_units(unit: str, epoch: str, calendar: str) -> Iterator[tuple[Rule, str]]:
    """Yield each reason why times in a unit since an epoch cannot be decoded, with the broken rule.

    The messages of xarray and cftime do not state the reason.
    """
    name, calendar = cf_unit_of_time(unit), calendar or "standard"
    calendars = _CALENDARS_OF_UNITS.get(name.removesuffix("s"))
    is_decodable = calendars is None or calendar.lower() in calendars
    if calendars is None and name not in _UNITS_OF_TIME:
        yield UNIT_OF_TIME, _("{unit} is not a unit of time").format(unit=json.dumps(unit))
    elif not is_decodable or unit.strip() in _UNDECODED_SPELLINGS:
        text = _("{unit} is not a unit in which times can be decoded")
        yield UNIT_OF_TIME, text.format(unit=json.dumps(unit))
    if calendar.lower() not in CALENDARS or calendar.lower() in ("utc", "tai", "none"):
        text = _("{calendar!r} is not a calendar in which times can be decoded")
        yield CALENDAR, text.format(calendar=calendar)
    elif not epoch_exists(epoch, calendar):
        text = _("the calendar {calendar!r} has no such day: {epoch}")
        yield EPOCH, text.format(calendar=calendar, epoch=json.dumps(epoch))


def why_not_times(attributes: Mapping[str, Any]) -> str:
    """Return why the units and calendar in `attributes` cannot be decoded as times, "" if no reason is known."""
    units, calendar = (attributes.get(key, "") for key in TIME_KEYS)
    parts = unit_and_epoch(units)
    if parts is None or not isinstance(calendar, str):
        return ""
    reason = next((text for _rule, text in problems_of_time_units(*parts, calendar)), "")
    return reason or _why_not_epoch(units, parts[1], calendar)


@lru_cache
def _why_not_epoch(units: str, epoch: str, calendar: str) -> str:
    """Return why the epoch of units cannot be decoded, "" if it can. Unit and calendar are known to be valid.

    An epoch is tried only if its validity depends on the calendar, or only pandas can parse it.
    """
    if is_regular_epoch(epoch):
        return ""
    attributes = {"units": units} | ({"calendar": calendar} if calendar else {})
    try:
        with converting_errors():
            decode_cf_variables({"times": xr.Variable((), 0.0, attributes)}, {})
    except XGroupError:
        text = _("{epoch} is not a date and time that can be decoded in the calendar {calendar!r}")
        return text.format(epoch=json.dumps(epoch), calendar=calendar or "standard")
    return ""
