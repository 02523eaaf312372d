"""The convention `uom`: units of measure."""

from __future__ import annotations

from collections.abc import Iterator

from zarr_xgroup.conventions import uom
from zarr_xgroup.conventions.uom import ATTRIBUTE, DOCUMENT, UomHandler
from zarr_xgroup.errors import Rule
from zarr_xgroup.findings import Finding
from zarr_xgroup.i18n import _
from zarr_xgroup.report.rules.declarations import is_meant
from zarr_xgroup.report.rules.subject import Subject, mistake

OF_ARRAY = Rule("uom/of-arrays", DOCUMENT, "Applicability")

RULES = (*uom.RULES, OF_ARRAY)


def check(subject: Subject) -> Iterator[Finding]:
    """Yield that a group has the attribute ``uom``."""
    written = None if subject.is_array else subject.attribute(ATTRIBUTE.key)
    if written is not None and is_meant(subject, UomHandler):
        text = _("is an attribute of a group: the convention is about arrays")
        yield mistake(OF_ARRAY, written, text, _("write it on each array"), "warning")
