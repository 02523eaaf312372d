"""CF time units from what conventions say about time.

The result is what xarray and cftime decode: ``days since 1850-01-01 00:00:00`` and a calendar.
Source: CF conventions 1.12, section 4.4 "Time coordinate".
"""

import re
from functools import lru_cache

from zarr_xgroup.errors import Rule

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
    r"(?:[T ]\s*(?P<time>\d{1,2}(?::\d{1,2}(?::\d{1,2}(?:\.\d*)?)?)?))?"
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


def is_unit(unit: str) -> bool:
    """Tell whether a text is a unit of time that is known."""
    return cf_unit(unit) in {f"{name}s" for name in _UNITS}


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
