"""CF time units from what conventions say about time.

The result is what xarray and cftime decode: ``days since 1850-01-01 00:00:00`` and a calendar.
Source: CF conventions 1.12, section 4.4 "Time coordinate".
"""

import json
import re
from calendar import monthrange
from collections.abc import Iterator
from functools import lru_cache

from zarr_xgroup.errors import Rule
from zarr_xgroup.i18n import _

CF = "CF conventions 1.12"

CALENDAR = Rule("times/calendar", CF, "4.4.2 Calendar")
UNIT_OF_TIME = Rule("times/unit", CF, "4.4.1 Time coordinate units")
EPOCH = Rule("times/epoch", CF, "4.4.1 Time coordinate units")

CALENDARS = (
    "standard",
    "gregorian",
    "proleptic_gregorian",
    "julian",
    "noleap",
    "365_day",
    "all_leap",
    "366_day",
    "360_day",
    "utc",
    "tai",
    "none",
)

#: One-letter abbreviations and prefixed seconds; `m` is a minute, as in no other table.
_ABBREVIATIONS = {
    "s": "seconds",
    "m": "minutes",
    "h": "hours",
    "d": "days",
    "y": "years",
    "ms": "milliseconds",
    "us": "microseconds",
    "\u00b5s": "microseconds",  # micro sign
    "\u03bcs": "microseconds",  # Greek mu
    "ns": "nanoseconds",
    "sec": "seconds",
    "secs": "seconds",
    "min": "minutes",
    "mins": "minutes",
    "hr": "hours",
    "hrs": "hours",
    "msec": "milliseconds",
    "msecs": "milliseconds",
}
_UNITS = {
    f"{prefix}{unit}"
    for unit in ("second", "minute", "hour", "day", "week", "month", "year")
    for prefix in ("", "milli", "micro", "nano")
    if not prefix or unit == "second"
}
_EPOCH = re.compile(
    r"(?P<sign>[+-]?)(?P<year>\d{1,6})-(?P<month>0?[1-9]|1[0-2])-"
    r"(?P<day>0?[1-9]|[12]\d|3[01])"
    r"(?:[T ]\s*(?P<time>(?:[01]?\d|2[0-3])(?::[0-5]?\d(?::[0-5]?\d(?:\.\d*)?)?)?))?"
    r"\s*(?P<zone>Z|UTC|GMT|[+-]\d{1,2}(?::?\d{2})?)?",
    re.IGNORECASE,
)


#: Other forms of ISO 8601, which are left as they are: only a year or month, or no hyphens.
_OTHER_EPOCHS = re.compile(
    r"\d{4}(?:-\d{2})?|\d{8}(?:T\d{2}(?:\d{2}(?:\d{2}(?:\.\d*)?)?)?(?:Z|[+-]\d{2,4})?)?",
    re.IGNORECASE,
)


def cf_unit(unit: str) -> str:
    """Return a unit of time in the plural that CF writers use.

    Parameters
    ----------
    unit : str
        Singular, plural, or abbreviated: ``day``, ``Days``, ``d``, ``ms``.
    """
    word = unit.strip().lower()
    if unit.strip() == "M":
        return "M"  # a month as often as a minute
    if word in _ABBREVIATIONS:
        return _ABBREVIATIONS[word]
    if word in _UNITS:
        return f"{word}s"
    # What is unknown stays: with an "s" it might be known as something else.
    return word if word.removesuffix("s") in _UNITS else unit.strip()


def faults_of(units: str, calendar: str) -> Iterator[tuple[Rule, str]]:
    """Yield why times of these units, ``days since 1850-01-01``, cannot be decoded, by the rule that is broken.

    What xarray and cftime say of any of it is that the units cannot be decoded, and that cftime might help.
    """
    unit, _since, epoch = units.partition(" since ")
    name, calendar = cf_unit(unit), calendar or "standard"
    if name.removesuffix("s") not in _UNITS:
        yield UNIT_OF_TIME, _("{unit} is no unit of time").format(unit=json.dumps(unit))
    elif name in ("weeks", "years") or (name == "months" and calendar.lower() != "360_day"):
        text = _("{unit} is no unit by which times are decoded")
        yield UNIT_OF_TIME, text.format(unit=json.dumps(unit))
    if calendar.lower() not in CALENDARS or calendar.lower() in ("utc", "tai", "none"):
        text = _("{calendar!r} is no calendar in which times are decoded")
        yield CALENDAR, text.format(calendar=calendar)
    elif not is_date(epoch, calendar):
        text = _("the calendar {calendar!r} has no such day: {epoch}")
        yield EPOCH, text.format(calendar=calendar, epoch=json.dumps(epoch))


def is_date(epoch: str, calendar: str) -> bool:
    """Tell whether there is the day of an epoch in a calendar; it is there in one that is not known."""
    match, calendar = _EPOCH.fullmatch(epoch.strip()), calendar.lower()
    if match is None:
        return True
    year, month, day = int(match["year"]), int(match["month"]), int(match["day"])
    if calendar == "360_day":
        return day <= 30
    is_mixed = calendar in ("standard", "gregorian")
    if (is_mixed or calendar == "julian") and year == 0:
        return False
    if is_mixed and "1582-10-05" <= f"{year:04}-{month:02}-{day:02}" <= "1582-10-14":
        return False
    is_julian = calendar == "julian" or (is_mixed and year < 1582)
    is_leap = year % 4 == 0 and (is_julian or year % 100 != 0 or year % 400 == 0)
    is_leap = {"noleap": False, "365_day": False, "all_leap": True, "366_day": True}.get(
        calendar, is_leap
    )
    return day <= monthrange(2000 if is_leap else 2001, month)[1]


@lru_cache
def is_epoch(text: str) -> bool:
    """Tell whether a text is a date, or a date and time, as ISO 8601 or CF writes it."""
    text = text.strip()
    return bool(_EPOCH.fullmatch(text) or _OTHER_EPOCHS.fullmatch(text))


def cf_epoch(epoch: str) -> str:
    """Return an epoch as ``date time[ zone]``, for any calendar.

    ``T`` becomes a space, ``Z`` is left out (CF times without a zone are in UTC), an offset
    stays. A text that is no date and time is returned as it is: it may still mean something
    to who decodes it.
    """
    match = _EPOCH.fullmatch(epoch.strip())
    if match is None:
        return epoch.strip()
    time = (match["time"] or "0").split(":")
    padded = [part.zfill(2) for part in (*time, "0", "0")][:3]
    zone = match["zone"] or ""
    if zone.upper() in ("Z", "UTC", "GMT"):
        zone = ""
    # xarray warns of years with less than four digits.
    date = f"{match['sign']}{match['year'].zfill(4)}-{match['month'].zfill(2)}-"
    date += match["day"].zfill(2)
    return f"{date} {':'.join(padded)}{zone and ' ' + _zone(zone)}"


def _zone(offset: str) -> str:
    digits = offset[1:].replace(":", "")
    hours, minutes = (digits[:-2], digits[-2:]) if len(digits) > 2 else (digits, "00")
    return f"{offset[0]}{hours.zfill(2)}:{minutes}"


@lru_cache
def cf_units(unit: str, epoch: str) -> str:
    """Return the CF units of time since an epoch; the same is asked of many arrays."""
    return f"{cf_unit(unit)} since {cf_epoch(epoch)}"


def cf_units_of_reference(reference: str) -> str:
    """Return CF units given as one text, ``days since 1850-01-01``."""
    unit, since, epoch = re.sub(r"\s+", " ", reference.strip()).partition(" since ")
    return cf_units(unit, epoch) if since else reference
