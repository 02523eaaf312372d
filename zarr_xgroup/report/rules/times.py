"""Times: units and calendars, of `cs` and of the CF attributes of arrays."""

from __future__ import annotations

import re
from collections.abc import Iterator

from zarr_xgroup.conventions.spelling import alike
from zarr_xgroup.conventions.timeunits import (
    CALENDAR,
    CALENDARS,
    EPOCH,
    UNIT_OF_TIME,
    is_epoch,
    is_unit,
)
from zarr_xgroup.findings import Finding
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Fragment
from zarr_xgroup.report.rules.subject import Subject, got, mistake, shown

RULES = (CALENDAR, UNIT_OF_TIME, EPOCH)

_SINCE = re.compile(r"(?P<unit>\S+)\s+since\s+(?P<epoch>\S.*)", re.IGNORECASE)


def check(subject: Subject) -> Iterator[Finding]:
    """Yield what is wrong with ``units`` and ``calendar`` of an array of times.

    Only in stores that declare conventions: others may mean anything by their attributes.
    """
    units = subject.attribute("units")
    if not subject.is_array or units is None or not subject.store.declares_something:
        return
    match = _SINCE.fullmatch(units.value.strip()) if isinstance(units.value, str) else None
    if match is None:
        return
    if not is_unit(match["unit"]):
        yield from of_unit(Fragment(units.node, units.keys, match["unit"]))
    if not is_epoch(match["epoch"]):
        text = got(_("a date and time as ISO 8601 writes it"), match["epoch"])
        remedy = _("write, for example, {example}").format(
            example=f'"units": "{match["unit"]} since 2028-02-01T00:00:00"'
        )
        yield mistake(EPOCH, units, text, remedy)
    if (calendar := subject.attribute("calendar")) is not None:
        yield from of_calendar(calendar)


def of_unit(unit: Fragment) -> Iterator[Finding]:
    """Yield that a text is no unit of time."""
    text = _("{value} is no unit of time").format(value=shown(unit.value))
    yield mistake(UNIT_OF_TIME, unit, text, _("write seconds, minutes, hours or days"))


def of_calendar(calendar: Fragment) -> Iterator[Finding]:
    """Yield that a value is no calendar."""
    value = calendar.value
    if isinstance(value, str) and value.lower() in CALENDARS:
        return
    meant = alike(value.lower(), CALENDARS) if isinstance(value, str) else None
    remedy = _("write {example}").format(example=f'"calendar": "{meant or "standard"}"')
    if meant is None:
        remedy = _("write one of {names}").format(names=", ".join(CALENDARS))
    text = _("{value} is no calendar of CF").format(value=shown(value))
    yield mistake(CALENDAR, calendar, text, remedy)
