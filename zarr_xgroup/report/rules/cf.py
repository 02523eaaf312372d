"""The attributes of CF by which values are decoded; those that refer to arrays are told where they are followed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from zarr_xgroup.conventions.descriptions import Attribute, Text, got, such_as
from zarr_xgroup.conventions.units import (
    CALENDAR,
    CALENDARS,
    CF,
    EPOCH,
    UNIT_OF_TIME,
    faults_of,
    is_epoch,
)
from zarr_xgroup.conventions.values import is_finite
from zarr_xgroup.errors import Rule
from zarr_xgroup.findings import Finding, report
from zarr_xgroup.metadata.nodes import OBJECT
from zarr_xgroup.report.rules.subject import Subject

MISSING = Rule("cf/missing-value", CF, "2.5.1 Missing data, valid and actual range of data")
PACKED = Rule("cf/packed", CF, "8.1 Packed Data")

RULES = (CALENDAR, UNIT_OF_TIME, EPOCH, MISSING, PACKED)

_CALENDAR = Attribute(
    "calendar",
    Text(CALENDARS, any_case=True, rule=CALENDAR, severity="error"),
    CALENDAR,
    '"calendar": "standard"',
)
_SINCE = re.compile(r"(\S+)\s+since\s+(\S.*)", re.IGNORECASE)


def check(subject: Subject) -> Iterator[Finding]:
    """Yield by what the values of an array cannot be decoded, which an open leaves as they are then.

    Only in stores that declare conventions: others may mean anything by their attributes.
    """
    if not (subject.is_array and subject.store.declares_something):
        return
    for key, example in (("scale_factor", "0.01"), ("add_offset", "0.0")):
        packing = subject.attribute(key)
        values = [] if packing is None else packing.value
        (number, *others) = values if isinstance(values, list) and values else [values]
        if packing is not None and (others or not is_finite(number)):
            text = got("a number", packing.value)
            yield report(PACKED, packing, text, such_as(f'"{key}": {example}'))
    missing = subject.attribute("missing_value")
    if missing is not None and isinstance(missing.value, OBJECT):
        text = got("a value of the array's type", missing.value)
        yield report(MISSING, missing, text, such_as('"missing_value": -999.0'))
    units, calendar = subject.attribute("units"), subject.attribute("calendar")
    match = units and isinstance(units.value, str) and _SINCE.fullmatch(units.value.strip())
    if not (units and match):
        return
    unit, epoch = match.groups()
    example = f'"units": "{unit} since 2028-02-01T00:00:00"'
    remedies = {UNIT_OF_TIME: "write seconds, minutes, hours or days", EPOCH: such_as(example)}
    counted_in = "" if calendar is None else str(calendar.value)
    for rule, text in faults_of(f"{unit} since {epoch}", counted_in):
        if rule in remedies:
            yield report(rule, units, text, remedies[rule])
    if not is_epoch(epoch):
        text = got("a date and time as ISO 8601 writes it", epoch)
        yield report(EPOCH, units, text, remedies[EPOCH])
    if calendar is not None:
        yield from (found.at(subject.node) for found in _CALENDAR.all_wrong(calendar))
