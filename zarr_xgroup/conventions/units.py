"""Units of measure and of time: how conventions write them, and how CF does.

Conventions have codes of UCUM, CF has names of UDUNITS, ``days since 1850-01-01`` and a calendar.

Sources: uom convention (clbarnes/zarr-convention-uom); The Unified Code for Units of Measure (UCUM);
CF conventions 1.12, section 4.4 "Time coordinate".
"""

from __future__ import annotations

import json
import re
from calendar import monthrange
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar

from zarr_xgroup.conventions.descriptions import (
    UNUSABLE,
    Kind,
    Member,
    Model,
    Nested,
    Reader,
    Text,
    must_be,
    shown,
    write,
)
from zarr_xgroup.errors import Rule
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import OBJECT, Fragment

UOM_DOCUMENT = "uom convention (clbarnes/zarr-convention-uom)"
CF = "CF conventions 1.12"

UOM = Rule("uom/object", UOM_DOCUMENT, "uom object")
UCUM = Rule("uom/ucum", UOM_DOCUMENT, "UCUM object")
UNIT = Rule(
    "uom/unit", "The Unified Code for Units of Measure (UCUM)", "Full and limited conformance"
)
CALENDAR = Rule("times/calendar", CF, "4.4.2 Calendar")
UNIT_OF_TIME = Rule("times/unit", CF, "4.4.1 Time coordinate units")
EPOCH = Rule("times/epoch", CF, "4.4.1 Time coordinate units")

# Units of measure.

#: What units are called elsewhere, by their codes in UCUM.
_NAMES = {
    "m": ("meter", "meters", "metre", "metres"),
    "km": ("kilometer", "kilometers", "kilometre", "kilometres"),
    "s": ("second", "seconds", "sec"),
    "min": ("minute", "minutes"),
    "h": ("hour", "hours"),
    "d": ("day", "days"),
    "K": ("kelvin",),
    "Cel": ("degC", "deg_C", "degree_Celsius", "degrees_Celsius", "celsius", "Celsius", "\u00b0C"),
    "deg": ("\u00b0", "degree", "degrees", "degrees_north", "degrees_east"),
    "rad": ("radian", "radians"),
    "%": ("percent",),
    "Pa": ("pascal",),
    "g": ("gram",),
    "kg": ("kilogram",),
    "W": ("watt",),
    "J": ("joule",),
    "N": ("newton",),
    "1": ("dimensionless", "unitless", "none"),
    "mbar": ("millibar",),
}
_CODES = {name: code for code, names in _NAMES.items() for name in names}

#: What UDUNITS calls the units that UCUM has another code for; it reads some of these codes as other units
#: (``a`` as are, ``10*-6`` as -60). All others of the most used codes are the same in both.
# fmt: off
_UDUNITS = {
    "Cel": "degC", "[degF]": "degF", "[degR]": "degR",
    "deg": "degree", "''": "arcsecond", "gon": "grade",
    "wk": "week", "mo": "month", "a": "year", "ka": "kiloyear", "Ma": "megayear",
    "10*": "10^", "[ppth]": "1e-3", "[ppm]": "ppm", "[ppb]": "ppb", "[pptr]": "1e-12",
    "[psi]": "psi", "mm[Hg]": "mmHg", "[in_i'Hg]": "inHg", "cm[H2O]": "cmH2O",
    "[in_i]": "inch", "[ft_i]": "foot", "[ft_us]": "US_survey_foot", "[yd_i]": "yard",
    "[mi_i]": "mile", "[nmi_i]": "nautical_mile", "[kn_i]": "knot", "Ao": "angstrom",
    "AU": "astronomical_unit", "pc": "parsec", "ar": "are", "[lb_av]": "pound",
    "dyn": "dyne", "P": "poise", "cP": "centipoise", "G": "gauss", "[Btu]": "Btu",
}
# fmt: on
#: A unit in a term of UCUM, or an annotation.
_ATOM = re.compile(r"\{[^{}]*\}|10\*|''|[A-Za-z_]*\[[^\[\]]*\]|[A-Za-z_]+")
#: UCUM has one degree; CF says which by it.
_DIRECTED = {"longitude": "degrees_east", "latitude": "degrees_north"}
#: How powers are written elsewhere; ``10^`` is a unit of UCUM.
_EXPONENT = re.compile(r"\*\*|(?<!10)\^")


def ucum_code(unit: str) -> str:
    """Return a unit as UCUM writes it, "" if what is meant is not known.

    Not all units that UCUM has are known here: what can be one by its form is taken for one.
    """
    if unit in _CODES:
        return _CODES[unit]
    if _is_term(unit):
        return unit
    words = re.sub(_EXPONENT, "", unit.strip()).split()
    term = ".".join(_CODES.get(word, word) for word in words)
    return term if _is_term(term) else ""


@lru_cache
def _is_term(unit: str) -> bool:
    """Tell whether a text has the form of a term of UCUM."""
    without_notes = re.sub(r"\{[!-z|~]*\}", "", unit)
    if not re.fullmatch(r"[!-~]+", unit) or _EXPONENT.search(without_notes):
        return False
    if re.search(r"[./]{2}|[./(]$|\.\)|^\.", without_notes):
        return False
    depth = 0
    for letter in re.sub(r"\[[^\[\]]*\]", "", without_notes):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth < 0 or letter in "[]{}":
            return False
    return depth == 0


class Ucum(Model, frozen=True, kw_only=True):
    """A unit of UCUM."""

    form: ClassVar[Rule] = UCUM

    unit: Annotated[str, Text(), Member(example='"unit": "m"')] = ""
    version: Annotated[str, Text(), Member(example='"version": "2.2"')] = ""

    @classmethod
    def report_further(cls, fragment: Fragment, found: dict[str, Any], reader: Reader) -> None:
        """Report that a text is no unit of UCUM."""
        unit = found.get("unit")
        code = None if unit is None else ucum_code(unit)
        if unit is not None and (not unit or code != unit):
            remedy = write("unit", code) if code else _("write its code in UCUM (https://ucum.org)")
            reason = _("{unit} is no unit of UCUM").format(unit=shown(unit))
            place = fragment.place("unit")
            reader.report(UNIT, place, reason, remedy, severity="warning", value_kept=True)


class Uom(Model, frozen=True, kw_only=True):
    """A unit of measure."""

    form: ClassVar[Rule] = UCUM

    ucum: Annotated[
        Ucum | None, Nested(Ucum), Member(required=True, example='"ucum": {"unit": "m"}')
    ] = None
    description: Annotated[
        str, Text(), Member(rule=UOM, example='"description": "mass of water"')
    ] = ""


@dataclass(frozen=True)
class UnitOfMeasure(Kind):
    """An object of `uom`, maybe in ``{"uom": ...}``; a string is taken for the unit, too."""

    #: Whether a string is right.
    or_text: bool = False

    def read(self, value: Fragment, member: Member, reader: Reader) -> Any:
        """Return the unit, as a text or as the model."""
        value = value.get("uom") or value
        if isinstance(value.value, OBJECT):
            return Uom.read(value)
        is_text = isinstance(value.value, str)
        if not (is_text and self.or_text):
            expected = _("a string or an object") if self.or_text else _("an object")
            code = ucum_code(value.value) if is_text else "m"
            remedy = _("write its code in UCUM (https://ucum.org)")
            if code:
                example = json.dumps({"ucum": {"unit": code}})
                remedy = _("write {example}").format(example=example)
            reader.report(member, value, must_be(expected, value.value), remedy, value_kept=is_text)
        return value.value if is_text else UNUSABLE


def cf_units_of_measure(unit: str | Uom | None, standard_name: object = None) -> Mapping[str, str]:
    """Return CF ``units`` of what has a standard name, or none; no units where these are not known."""
    code = unit if not isinstance(unit, Uom) else unit.ucum and unit.ucum.unit
    if not code:
        return {}
    if code == "deg" and standard_name in _DIRECTED:
        return {"units": _DIRECTED[str(standard_name)]}
    if not _is_term(code):
        return {"units": code}
    return {"units": _ATOM.sub(lambda atom: _UDUNITS.get(atom[0], atom[0]), code)}


# Units of time.

CALENDARS = (
    *("standard", "gregorian", "proleptic_gregorian", "julian", "noleap", "365_day"),
    *("all_leap", "366_day", "360_day", "utc", "tai", "none"),
)
#: One-letter abbreviations and prefixed seconds; `m` is a minute, as in no other table.
_ABBREVIATIONS = {
    **dict.fromkeys(("s", "sec", "secs"), "seconds"),
    **dict.fromkeys(("m", "min", "mins"), "minutes"),
    **dict.fromkeys(("h", "hr", "hrs"), "hours"),
    "d": "days",
    "y": "years",
    "ns": "nanoseconds",
    **dict.fromkeys(("ms", "msec", "msecs"), "milliseconds"),
    **dict.fromkeys(("us", "\u00b5s", "\u03bcs"), "microseconds"),  # micro sign, Greek mu
}
_UNITS = {
    *("second", "minute", "hour", "day", "week", "month", "year"),
    *("millisecond", "microsecond", "nanosecond"),
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


def cf_unit_of_time(unit: str) -> str:
    """Return a unit of time, such as ``day``, ``Days``, ``d``, ``ms``, in the plural that CF writers use."""
    word = unit.strip().lower()
    if unit.strip() == "M":
        return "M"  # a month as often as a minute
    if word in _ABBREVIATIONS:
        return _ABBREVIATIONS[word]
    if word in _UNITS:
        return f"{word}s"
    # What is unknown stays: with an "s" it might be known as something else.
    return word if word.removesuffix("s") in _UNITS else unit.strip()


@lru_cache
def cf_units_of_time(unit: str, epoch: str) -> str:
    """Return the CF units of time since an epoch: ``days since 1850-01-01 00:00:00``."""
    return f"{cf_unit_of_time(unit)} since {cf_epoch(epoch)}"


def cf_units_in_one_text(reference: str) -> str:
    """Return CF units of time that are given as one text, ``days since 1850-01-01``."""
    unit, since, epoch = re.sub(r"\s+", " ", reference.strip()).partition(" since ")
    return cf_units_of_time(unit, epoch) if since else reference


def cf_epoch(epoch: str) -> str:
    """Return an epoch as ``date time[ zone]``, for any calendar.

    ``T`` becomes a space, ``Z`` is left out (CF times without a zone are in UTC), an offset
    stays. A text that is no date and time is returned as it is: it may still mean something
    to who decodes it.
    """
    match = _EPOCH.fullmatch(epoch.strip())
    if match is None:
        return epoch.strip()
    # xarray warns of years with less than four digits.
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
    """Tell whether a text is a date, or a date and time, as ISO 8601 or CF writes it."""
    text = text.strip()
    return bool(_EPOCH.fullmatch(text) or _OTHER_EPOCHS.fullmatch(text))


@lru_cache
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
    if calendar in ("noleap", "365_day", "all_leap", "366_day"):
        is_leap = calendar in ("all_leap", "366_day")
    return day <= monthrange(2000 if is_leap else 2001, month)[1]


def faults_of(units: str, calendar: str) -> Iterator[tuple[Rule, str]]:
    """Yield why times of these units, ``days since 1850-01-01``, cannot be decoded, by the rule that is broken.

    What xarray and cftime say of any of it is that the units cannot be decoded, and that cftime might help.
    """
    unit, _since, epoch = units.partition(" since ")
    name, calendar = cf_unit_of_time(unit), calendar or "standard"
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
