"""Times: units and calendars in the CF attributes of arrays."""

from __future__ import annotations

import re
from collections.abc import Iterator

from zarr_xgroup.conventions.cf_model import OF_CALENDAR
from zarr_xgroup.conventions.timeunits import (
    CALENDAR,
    EPOCH,
    UNIT_OF_TIME,
    is_epoch,
    is_unit,
)
from zarr_xgroup.findings import Finding
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Fragment
from zarr_xgroup.report.rules.subject import Subject, got, mistake, shown, write

RULES = (CALENDAR, UNIT_OF_TIME, EPOCH)

#: Standard names of points of time.
TIMES = ("time", "forecast_reference_time")
_SINCE = re.compile(r"(\S+)\s+since\s+(\S.*)", re.IGNORECASE)


def check(subject: Subject) -> Iterator[Finding]:
    """Yield what is wrong with ``units`` and ``calendar`` of an array of times.

    Only in stores that declare conventions: others may mean anything by their attributes.
    """
    units = subject.attribute("units")
    if not subject.is_array or units is None or not subject.store.declares_something:
        return
    match = _SINCE.fullmatch(units.value.strip()) if isinstance(units.value, str) else None
    if match is not None:
        yield from _judged(subject, units, *match.groups())
    elif isinstance(units.value, str) and _is_time(subject):
        text = got(_("a unit of time since a date"), units.value)
        yield mistake(UNIT_OF_TIME, units, text, write("units", "days since 1970-01-01"))


def _is_time(subject: Subject) -> bool:
    """Tell whether attributes say that an array has points of time, whatever its units."""
    return subject.attributes.get("standard_name") in TIMES


def _judged(subject: Subject, units: Fragment, unit: str, epoch: str) -> Iterator[Finding]:
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
