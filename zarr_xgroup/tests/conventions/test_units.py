"""Units of measure and of time, epochs, calendars and numbers: their forms in JSON, and the results."""

import math
import warnings
from collections.abc import Callable
from datetime import timedelta
from itertools import chain
from typing import Any

import cftime
import numpy as np
import pytest
import xarray as xr

from zarr_xgroup.conventions.units import (
    cf_epoch,
    cf_unit_of_time,
    cf_units_in_one_text,
    cf_units_of_time,
    epoch_exists,
    is_epoch,
    problems_of_time_units,
    why_not_times,
)
from zarr_xgroup.conventions.uom import cf_units_of_measure
from zarr_xgroup.conventions.values import explicit_values
from zarr_xgroup.errors import XGroupMetadataError
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.tests.builders import Array, Json, Nodes, declaring
from zarr_xgroup.tests.tables import check, rows

# Units of measure.


def uom(value: Any, **attrs: Any) -> Nodes:
    """Return a store of an array with a unit of measure."""
    return {"": {}, "a": Array(1.0, (), declaring("uom", uom=value, **attrs))}


def axis(unit: Any, code: str = "EPSG:3857", **axis: Any) -> Nodes:
    """Return a store of an array along an axis whose values have a unit of measure."""
    axis["coordinates"] = [{"unit": unit, "values": {"explicit": [7]}}]
    crs = {"type": "planar", "axes": {"x": axis}, "id": {"proj:code": code}}
    return {"": {}, "a": Array(1.0, (), declaring("cs", cs={"crs": [crs]}))}


KG, DEG = {"ucum": {"unit": "kg"}}, {"ucum": {"unit": "deg"}}
LOST = "! Resolution: /a was opened without the attribute 'units': /a#/attributes/uom"
EAST = "| axis=X standard_name=longitude units=degrees_east"
UOM = {
    "a uom object": (uom(KG), "a () | units=kg"),
    "with null": (uom({**KG, "uom": None}), "a () | units=kg"),
    "a text, which is used anyway": (uom("kg"), "a () | units=kg"),
    "a latitude": (
        uom(DEG, standard_name="latitude"),
        "a () | standard_name=latitude units=degrees_north",
    ),
    "null": (uom(None), "a ()"),
    "ucum is a text": (
        uom({"ucum": "kg"}),
        f'a ()\n{LOST}/ucum: must be an object, got string "kg"',
    ),
    "of an axis, as a text": (axis("mm[Hg]"), "x () 7 | units=mmHg"),
    "a degree of longitude": (axis(DEG, "EPSG:4326", abbreviation="X"), f"x () 7 {EAST}"),
    "a degree in another CRS": (axis(DEG, abbreviation="X"), "x () 7 | axis=X units=degree"),
}


@rows(UOM)
def test_a_unit_of_measure(nodes: Nodes, expected: str) -> None:
    check(nodes, expected, only="x" if expected.startswith("x") else "a")


#: Codes of UCUM that UDUNITS does not have, or has for another unit, and what is no code at all.
CODES = {
    "Cel": "degC", "[degF]": "degF", "deg": "degree", "''": "arcsecond", "a": "year", "mo": "month",
    "wk": "week", "ka": "kiloyear", "[ppm]": "ppm", "[ppth]": "1e-3", "10*-6": "10^-6",
    "10*3/m3": "10^3/m3", "[in_i]": "inch", "[ft_us]": "US_survey_foot", "[kn_i]": "knot",
    "[psi]": "psi", "Cel.m-1": "degC.m-1", "kg/ha/a": "kg/ha/year", "mm.a-1": "mm.year-1",
    "[in_i]/h": "inch/h", "[mi_i]2": "mile2", "deg/s": "degree/s", "(Cel/s)2": "(degC/s)2",
    "": None,
}  # fmt: skip
SAME_CODES = (
    "m km mm um m2 ha s min h d Hz K rad sr ' Pa hPa bar mbar dbar atm g kg t mol umol N J W V A L % 1 "
    "m.s-1 km/h kg.m-2.s-1 W.m-2.sr-1.um-1 m3/m3 [pH] dB {count} kg{a} m[H2O] cd a.u. degC"
)


@pytest.mark.parametrize(
    ("code", "units"), [*CODES.items(), *((code, code) for code in SAME_CODES.split())]
)
def test_codes_of_ucum_become_units_of_udunits(code: str, units: str | None) -> None:
    assert cf_units_of_measure(code).get("units") == units


# Units of time.

UNITS: dict[str, tuple[str, ...]] = {
    "days": ("day", "days", "d", "D", " Days "),
    "hours": ("hour", "hours", "h", "hr", "hrs"),
    "minutes": ("minute", "minutes", "m", "min", "mins"),
    "seconds": ("second", "seconds", "s", "sec", "secs"),
    "milliseconds": ("millisecond", "milliseconds", "ms", "msec", "msecs"),
    "microseconds": ("microsecond", "microseconds", "us", "\u00b5s", "\u03bcs"),
    "nanoseconds": ("nanosecond", "nanoseconds", "ns"),
    "years": ("year", "years", "y"),
    "months": ("month", "months"),
    "kiloyears": ("ky", "kyr", "kiloyear", "Kiloyears"),
    "megayears": ("My", "Myr", "megayears"),
    "gigayears": ("Gy", "Gyrs", "gigayears"),
}
#: What nobody decodes: M is a month as often as a minute.
UNKNOWN = {
    **{
        unit: unit
        for unit in ("M", "", "n", "u", "e", "week of", "since", "millidays", "dayss", "my", "KY")
    },
    " M ": "M",
    " Fortnights ": "Fortnights",
}
CALENDARS = (
    *("standard", "gregorian", "proleptic_gregorian", "julian"),
    *("noleap", "365_day", "360_day", "all_leap", "366_day"),
)


def decoded(number: float, units: str, calendar: str | None) -> Any:
    """Return what xarray makes of a time, as cftime or datetime64; warnings are errors."""
    attrs = {"units": units} | ({} if calendar is None else {"calendar": calendar})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # What xarray says of any date that datetime64 cannot hold.
        warnings.filterwarnings("ignore", "Unable to decode time axis into full numpy.datetime64")
        dataset = xr.decode_cf(xr.Dataset({"t": ("t", np.array([number]), attrs)}))
        return dataset["t"].values[0]


def fields(time: Any) -> tuple[int, ...]:
    """Return year, month, day, hour, minute, second, microsecond of a time of any type."""
    if isinstance(time, np.datetime64):
        time = time.astype("M8[us]").item()
    names = ("year", "month", "day", "hour", "minute", "second", "microsecond")
    return tuple(getattr(time, name) for name in names)


@pytest.mark.parametrize(
    ("written", "unit"),
    [*((it, unit) for unit, spellings in UNITS.items() for it in spellings), *UNKNOWN.items()],
)
def test_spellings_of_a_unit_of_time(written: str, unit: str) -> None:
    assert cf_unit_of_time(written) == unit
    if unit.endswith("years"):  # known, though xarray does not decode it
        found = problems_of_time_units(written, "2000-01-01", "360_day")
        assert [text.partition(" is ")[2] for _rule, text in found] == [
            "not a unit in which times can be decoded"
        ]
    if written in UNKNOWN:
        for calendar in (None, "360_day"):
            with pytest.raises(ValueError, match="unable to decode time units"):
                decoded(1, cf_units_of_time(written, "2000-01-01"), calendar)
    if unit == "nanoseconds":
        time = decoded(2_000_003_000, cf_units_of_time(written, "2001-02-03"), None)
        assert time == np.datetime64("2001-02-03T00:00:02.000003")


@pytest.mark.parametrize("calendar", CALENDARS)
@pytest.mark.parametrize(
    "unit", [*chain.from_iterable(UNITS.values()), *UNKNOWN, "common_year", "common_years"]
)
def test_units_of_time_without_problems_are_those_that_xarray_decodes(
    unit: str, calendar: str
) -> None:
    units = f"{unit} since 2000-01-01 00:00:00"
    try:
        decoded(1, units, calendar)
    except (ValueError, KeyError):
        is_decoded = False
    else:
        is_decoded = True
    assert is_decoded == (not why_not_times({"units": units, "calendar": calendar}))


# Epochs.

#: What is written, in CF, and the time that it is.
EPOCHS = [
    (" 1850-01-01 ", "1850-01-01 00:00:00", (1850, 1, 1)),
    ("1850-01-01  06:30:15", "1850-01-01 06:30:15", (1850, 1, 1, 6, 30, 15)),
    ("1850-01-01t06:30:15z", "1850-01-01 06:30:15", (1850, 1, 1, 6, 30, 15)),
    ("1850-01-01 00:00:00 UTC", "1850-01-01 00:00:00", (1850, 1, 1)),
    ("1850-01-01T00:00:01.250", "1850-01-01 00:00:01.250", (1850, 1, 1, 0, 0, 1, 250000)),
    ("1850-01-02T01:00:00+02:00", "1850-01-02 01:00:00 +02:00", (1850, 1, 1, 23)),
    ("1850-01-02 01:00:00 +2", "1850-01-02 01:00:00 +02:00", (1850, 1, 1, 23)),
    ("1850-01-01 00:00:00 -6:00", "1850-01-01 00:00:00 -06:00", (1850, 1, 1, 6)),
    ("1850-01-01 00:00:00 -0530", "1850-01-01 00:00:00 -05:30", (1850, 1, 1, 5, 30)),
    ("1850-01-01T00:00:00-05", "1850-01-01 00:00:00 -05:00", (1850, 1, 1, 5)),
    ("1850-1-1 6:5:4", "1850-01-01 06:05:04", (1850, 1, 1, 6, 5, 4)),
    ("1-1-1", "0001-01-01 00:00:00", (1, 1, 1)),
]


@pytest.mark.parametrize(("epoch", "expected", "time"), EPOCHS)
def test_every_form_of_an_epoch_is_decoded(
    epoch: str, expected: str, time: tuple[int, ...]
) -> None:
    assert is_epoch(epoch)
    units = cf_units_of_time("h", epoch)
    assert units == cf_units_in_one_text(f" h\tsince\n{epoch}") == f"hours since {expected}"
    calendars = [None, "standard", "julian"]
    # cftime: time zones only in calendars of the real world.
    calendars += [] if expected[-6:-5] in "+-" else ["noleap"]
    for calendar in calendars:
        start = cftime.datetime(*time, calendar=calendar or "standard")
        assert fields(decoded(3, units, calendar)) == fields(start + timedelta(hours=3))


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        *((text, True) for text in (" 2000 ", "2000-01", "20000101", " 20000101T0600Z ")),
        *((text, False) for text in ("2000-01-01x", "x2000", "soon", "", "T", "{}")),
        *((text, False) for text in ("2000-01-01T25:61", "2000-13-01", "2000-01-32")),
    ],
)
def test_other_texts_for_an_epoch_are_unchanged(text: str, is_one: bool) -> None:
    assert is_epoch(text) is is_one
    assert cf_epoch(text) == text.strip()
    assert cf_units_in_one_text(f" since {text}") == f" since {text}"


# Calendars.


@pytest.mark.parametrize("calendar", ["", *CALENDARS, "NoLeap"])
def test_units_and_days_are_those_that_are_decoded(calendar: str) -> None:
    def fails(function: Callable[..., Any], *arguments: Any) -> bool:
        try:
            function(*arguments)
        except ValueError:
            return True
        return False

    for year in (0, 4, 1500, 1582, 1900, 2000, 2001):
        for month in range(1, 13):
            for day in (4, 5, 14, 15, 28, 29, 30, 31):
                date = f"{year:04}-{month:02}-{day:02}"
                written = (0, f"days since {date}", calendar.lower() or "standard")
                exists = not fails(cftime.num2date, *written)
                assert epoch_exists(date, calendar or "standard") is exists, date
    for unit in ("seconds", "days", "weeks", "months", "years"):
        units = f"{unit} since 2000-01-01"
        has_problems = bool(list(problems_of_time_units(unit, "2000-01-01", calendar)))
        assert has_problems is fails(decoded, 1, units, calendar.lower() or None), unit


@pytest.mark.parametrize("calendar", ["utc", "TAI", "none", "mayan"])
def test_calendars_in_which_times_are_not_decoded(calendar: str) -> None:
    ((_rule, text),) = problems_of_time_units("days", "2000-01-01", calendar)
    assert text == f"'{calendar}' is not a calendar in which times can be decoded"


# Numbers.

NAN, INF = math.nan, math.inf
#: Beyond the greatest float.
HUGE = 10**400


def reading(function: Callable[[Fragment], Any], value: Any) -> Any:
    """Return what becomes of a JSON value, or why it is refused."""
    try:
        return function(Fragment(Node(0, "a"), ("attributes", "b"), value))
    except XGroupMetadataError as error:
        return str(error).removeprefix("/a#/attributes/b: ")


NO_TYPE = "has integers that no common type of its numbers represents exactly"
VALUES: dict[str, tuple[Json | list[Any], str]] = {
    "a float": ([1, 2.5], "float64"),
    "not finite": ([NAN, -INF, 1], "float64"),
    "an integer that a float holds": ([2**53, 0.5], "float64"),
    "great integers": ([2**63, 2**63 + 1], "uint64"),
    "a small integer and a great one": ([1, 2**64 - 1], "uint64"),
    "an integer beyond 64 bits": ([1, 2**64], NO_TYPE),
    "strings": (["a", "bcd"], "<U3"),
    "nothing: neither strings nor numbers": ([], "object"),
    "an integer that no float holds": ([2**53 + 1, 0.5], NO_TYPE),
    "a great and a negative integer": ([2**63 + 1, -1], NO_TYPE),
    "beyond 64 bits": ([0, 2**64], NO_TYPE),
    "beyond floats": ([0.5, HUGE], NO_TYPE),
}  # fmt: skip


@rows(VALUES, "values, expected")
def test_a_list_of_values(values: list[Any], expected: str) -> None:
    found = reading(explicit_values, values)
    if isinstance(found, str):
        assert found == expected
    else:
        assert (found.dtype, found.flags.writeable) == (np.dtype(expected), False)
        np.testing.assert_array_equal(found, np.array(values, expected))
