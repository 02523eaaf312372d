"""Times: units and calendars in the CF attributes of arrays."""

from __future__ import annotations

import re
from collections.abc import Iterator

from zarr_xgroup.conventions.descriptions import Attribute, Text
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
from zarr_xgroup.report.rules.subject import Subject, got, mistake, shown

RULES = (CALENDAR, UNIT_OF_TIME, EPOCH)

_SINCE = re.compile(r"(\S+)\s+since\s+(\S.*)", re.IGNORECASE)
_CALENDAR = Attribute(
    "calendar",
    Text(CALENDARS, any_case=True, rule=CALENDAR, severity="error"),
    CALENDAR,
    '"calendar": "standard"',
)


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
    unit, epoch = match.groups()
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
        yield from (it.at(subject.node) for it in _CALENDAR.all_wrong(calendar))
