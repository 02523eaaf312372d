"""Units, epochs and calendars of time: what xarray makes of them."""

import warnings
from datetime import timedelta
from typing import Any

import cftime
import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from zarr_xgroup.conventions.units import (
    cf_epoch,
    cf_unit_of_time,
    cf_units_in_one_text,
    cf_units_of_time,
    epoch_exists,
    is_epoch,
    problems_of_time_units,
)
from zarr_xgroup.tests.builders import some_pairs

UNITS: dict[str, tuple[str, ...]] = {
    "days": ("day", "days", "d", "Day", "DAYS", "D", " days "),
    "hours": ("hour", "hours", "h", "hr", "hrs", "Hour", "HOURS", "H"),
    "minutes": ("minute", "minutes", "m", "min", "mins", "Minute", "MINUTES"),
    "seconds": ("second", "seconds", "s", "sec", "secs", "Second", "SECONDS", "S"),
    "milliseconds": ("millisecond", "milliseconds", "ms", "msec", "msecs", "Milliseconds"),
    "microseconds": ("microsecond", "microseconds", "us", "\u00b5s", "\u03bcs", "Microsecond"),
    "nanoseconds": ("nanosecond", "nanoseconds", "ns", "Nanoseconds"),
    "years": ("year", "years", "y", "Year", "Y"),
    "months": ("month", "months", "Month"),
}
ALL_UNITS = [(spelled, unit) for unit, spellings in UNITS.items() for spelled in spellings]

#: How long each unit is that has one length only.
LENGTHS = {
    "days": timedelta(days=1),
    "hours": timedelta(hours=1),
    "minutes": timedelta(minutes=1),
    "seconds": timedelta(seconds=1),
    "milliseconds": timedelta(milliseconds=1),
    "microseconds": timedelta(microseconds=1),
}

REAL_CALENDARS = ("standard", "gregorian", "proleptic_gregorian")
OTHER_CALENDARS = ("julian", "noleap", "365_day", "360_day", "all_leap", "366_day")


def decoded(values: list[float], units: str, calendar: str | None) -> list[Any]:
    """Return what xarray makes of times, as cftime or datetime64; warnings are errors."""
    attrs = {"units": units} | ({} if calendar is None else {"calendar": calendar})
    dataset = xr.Dataset({"t": ("t", np.array(values), attrs)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # What xarray says of any date that datetime64 cannot hold.
        warnings.filterwarnings("ignore", "Unable to decode time axis into full numpy.datetime64")
        return list(xr.decode_cf(dataset)["t"].values)


def fields(time: Any) -> tuple[int, ...]:
    """Return year, month, day, hour, minute, second, microsecond of a time of any type."""
    if isinstance(time, np.datetime64):
        time = time.astype("M8[us]").item()
    names = ("year", "month", "day", "hour", "minute", "second", "microsecond")
    return tuple(getattr(time, name) for name in names)


# Units.


@pytest.mark.parametrize(("spelled", "expected"), ALL_UNITS)
def test_every_spelling_of_a_unit(spelled: str, expected: str) -> None:
    assert cf_unit_of_time(spelled) == expected


UNKNOWN = ["M", "", "n", "u", "fortnight", "e", "week of", "since"]


@pytest.mark.parametrize("unit", UNKNOWN)
@pytest.mark.parametrize("calendar", [None, "360_day"])
def test_an_unknown_unit_is_not_decoded(unit: str, calendar: str | None) -> None:
    with pytest.raises(ValueError, match="unable to decode time units"):
        decoded([1], cf_units_of_time(unit, "2000-01-01"), calendar)


@pytest.mark.parametrize("spelled", UNITS["nanoseconds"])
def test_nanoseconds_are_decoded(spelled: str) -> None:
    (time,) = decoded([2_000_003_000], cf_units_of_time(spelled, "2001-02-03"), None)
    assert time == np.datetime64("2001-02-03T00:00:02.000003")


# Epochs.

EPOCHS = [
    ("1850-01-01", "1850-01-01 00:00:00", (1850, 1, 1)),
    (" 1850-01-01 ", "1850-01-01 00:00:00", (1850, 1, 1)),
    ("1850-01-01 00", "1850-01-01 00:00:00", (1850, 1, 1)),
    ("1850-01-01 06:30", "1850-01-01 06:30:00", (1850, 1, 1, 6, 30)),
    ("1850-01-01 06:30:15", "1850-01-01 06:30:15", (1850, 1, 1, 6, 30, 15)),
    ("1850-01-01  06:30:15", "1850-01-01 06:30:15", (1850, 1, 1, 6, 30, 15)),
    ("1850-01-01T06:30:15", "1850-01-01 06:30:15", (1850, 1, 1, 6, 30, 15)),
    ("1850-01-01t06:30:15z", "1850-01-01 06:30:15", (1850, 1, 1, 6, 30, 15)),
    ("1850-01-01T06", "1850-01-01 06:00:00", (1850, 1, 1, 6)),
    ("1850-01-01T06:30Z", "1850-01-01 06:30:00", (1850, 1, 1, 6, 30)),
    ("1850-01-01T06:30:15Z", "1850-01-01 06:30:15", (1850, 1, 1, 6, 30, 15)),
    ("1850-01-01Z", "1850-01-01 00:00:00", (1850, 1, 1)),
    ("1850-01-01 00:00:00 UTC", "1850-01-01 00:00:00", (1850, 1, 1)),
    ("1850-01-01 00:00:00 GMT", "1850-01-01 00:00:00", (1850, 1, 1)),
    ("1850-01-01T00:00:00.000Z", "1850-01-01 00:00:00.000", (1850, 1, 1)),
    ("1850-01-01T00:00:01.250", "1850-01-01 00:00:01.250", (1850, 1, 1, 0, 0, 1, 250000)),
    ("1850-01-01T00:00:00+00:00", "1850-01-01 00:00:00 +00:00", (1850, 1, 1)),
    ("1850-01-02T01:00:00+02:00", "1850-01-02 01:00:00 +02:00", (1850, 1, 1, 23)),
    ("1850-01-02 01:00:00 +2", "1850-01-02 01:00:00 +02:00", (1850, 1, 1, 23)),
    ("1850-01-01 00:00:00 -6:00", "1850-01-01 00:00:00 -06:00", (1850, 1, 1, 6)),
    ("1850-01-01 00:00:00 -0530", "1850-01-01 00:00:00 -05:30", (1850, 1, 1, 5, 30)),
    ("1850-01-01T00:00:00-05", "1850-01-01 00:00:00 -05:00", (1850, 1, 1, 5)),
    ("1850-1-1", "1850-01-01 00:00:00", (1850, 1, 1)),
    ("1850-1-1 6:5:4", "1850-01-01 06:05:04", (1850, 1, 1, 6, 5, 4)),
    ("1-1-1", "0001-01-01 00:00:00", (1, 1, 1)),
    ("0001-01-01 00:00:00", "0001-01-01 00:00:00", (1, 1, 1)),
    ("850-01-01", "0850-01-01 00:00:00", (850, 1, 1)),
]


@pytest.mark.parametrize(
    ("form", "calendar"),
    some_pairs(EPOCHS, [None, "standard", "proleptic_gregorian", "julian", "noleap"], step=3),
    ids=lambda it: str(it[0] if isinstance(it, tuple) else it),
)
def test_every_form_of_an_epoch_is_decoded(
    form: tuple[str, str, tuple[int, ...]], calendar: str | None
) -> None:
    epoch, _text, expected = form
    is_in_zone = calendar == "noleap" and epoch[-5:] in ("02:00", "-6:00", "-0530")
    if is_in_zone or epoch.endswith((" +2", "-05")):
        calendar = None  # cftime: time zones only in calendars of the real world
    (time,) = decoded([3], cf_units_of_time("hours", epoch), calendar)
    start = cftime.datetime(*expected, calendar=calendar or "standard")
    assert fields(time) == fields(start + timedelta(hours=3))


@pytest.mark.parametrize("epoch", ["", "now", "1850", "day one", "2000-01-01T25:61", "T", "{}"])
def test_what_is_no_epoch_is_left_to_who_decodes_it(epoch: str) -> None:
    assert cf_epoch(epoch) == epoch or cf_epoch(epoch).startswith("2000-01-01 25:61")


# Calendars.


@settings(derandomize=True, deadline=None, max_examples=80)
@given(
    st.sampled_from([*REAL_CALENDARS, *OTHER_CALENDARS]),
    st.integers(150, 2500),
    st.integers(1, 12),
    st.integers(1, 28),
    st.sampled_from(["days", "hours", "minutes", "seconds"]),
    st.integers(-40_000, 40_000),
)
def test_any_date_in_any_calendar(
    calendar: str, year: int, month: int, day: int, unit: str, number: int
) -> None:
    start = cftime.datetime(year, month, day, calendar=calendar)
    expected = start + number * LENGTHS[unit]
    for epoch in (f"{year:04}-{month:02}-{day:02}", f"{year}-{month}-{day}T0:00Z"):
        (time,) = decoded([number], cf_units_of_time(unit, epoch), calendar)
        assert fields(time) == fields(expected)


# In one text.


@pytest.mark.parametrize("epoch", [epoch for epoch, _text, _it in EPOCHS])
def test_both_spellings_say_the_same(epoch: str) -> None:
    for unit in ("days", "d", "hour", "min", "s"):
        assert cf_units_in_one_text(f"{unit} since {epoch}") == cf_units_of_time(unit, epoch)


@pytest.mark.parametrize(
    ("unit", "expected", "is_known"),
    [
        (" Days ", "days", True),
        ("day", "days", True),
        ("D", "days", True),
        ("MIN", "minutes", True),
        ("m", "minutes", True),
        ("M", "M", False),  # a month as often as a minute
        (" M ", "M", False),
        ("Milliseconds", "milliseconds", True),
        ("millidays", "millidays", False),
        (" Fortnights ", "Fortnights", False),
        ("dayss", "dayss", False),
        ("", "", False),
    ],
)
def test_units_of_time(unit: str, expected: str, is_known: bool) -> None:
    assert cf_unit_of_time(unit) == expected
    assert (list(problems_of_time_units(f"{unit} since 2000-01-01", "")) == []) is is_known


@pytest.mark.parametrize("calendar", ["", *REAL_CALENDARS, *OTHER_CALENDARS, "NoLeap"])
def test_units_and_days_are_those_that_are_decoded(calendar: str) -> None:
    years, days = (0, 4, 1500, 1582, 1900, 2000, 2001), (4, 5, 14, 15, 28, 29, 30, 31)
    dates = [(year, month, day) for year in years for month in range(1, 13) for day in days]
    for year, month, day in dates:
        epoch, is_one = f"{year:04}-{month:02}-{day:02}", True
        try:
            cftime.num2date(0, f"days since {epoch}", calendar.lower() or "standard")
        except ValueError:
            is_one = False
        assert epoch_exists(epoch, calendar or "standard") is is_one, epoch
    for unit in ("seconds", "days", "weeks", "months", "years"):
        try:
            is_one = bool(decoded([1], f"{unit} since 2000-01-01", calendar.lower() or None))
        except ValueError:
            is_one = False
        assert (
            list(problems_of_time_units(f"{unit} since 2000-01-01", calendar)) == []
        ) is is_one, unit


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" 2000-01-01 ", True),
        ("2000", True),
        ("2000-01", True),
        (" 20000101T0600Z ", True),
        ("2000-01-01x", False),
        ("x2000", False),
        ("soon", False),
        ("", False),
    ],
)
def test_what_is_an_epoch(text: str, expected: bool) -> None:
    assert is_epoch(text) is expected
    assert expected or cf_epoch(f" {text} ") == text


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("day\tsince\n1850-01-01", "days since 1850-01-01 00:00:00"),
        (" since 1850-01-01", " since 1850-01-01"),
    ],
    ids=["spaces of other kinds", "no unit"],
)
def test_a_reference_is_one_of_unit_and_epoch(reference: str, expected: str) -> None:
    assert cf_units_in_one_text(reference) == expected
