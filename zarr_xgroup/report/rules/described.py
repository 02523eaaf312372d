"""What the descriptions of conventions say of the attributes of a node."""

from __future__ import annotations

from collections.abc import Iterator

from zarr_xgroup.conventions import geolocation_model, uom
from zarr_xgroup.conventions.descriptions import Attribute
from zarr_xgroup.conventions.registry import BUILT_IN, Handler, declarable, handlers
from zarr_xgroup.findings import Finding, mistake
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Fragment
from zarr_xgroup.report.rules.declarations import is_meant
from zarr_xgroup.report.rules.subject import Subject

#: Those of conventions of which nothing else is checked.
RULES = (*uom.RULES, *geolocation_model.RULES)


def check(subject: Subject) -> Iterator[Finding]:
    """Yield what is wrong with the attributes of the conventions built in that a node follows."""
    for convention in declarable():
        if convention in BUILT_IN or convention not in handlers():
            yield from of_convention(convention, subject)


def of_convention(convention: Handler, subject: Subject) -> Iterator[Finding]:
    """Yield what is wrong with the attributes of a convention, if a node follows it."""
    if not (convention.described and is_meant(subject, convention)):
        return
    for attribute in convention.described:
        written = subject.attribute(attribute.key)
        if written is not None:
            yield from _found(attribute, written, is_array=subject.is_array)


def _found(attribute: Attribute, written: Fragment, *, is_array: bool) -> Iterator[Finding]:
    """Yield that an attribute has no place at a node, or what is wrong with it."""
    if attribute.on in (None, "array" if is_array else "group"):
        yield from (it.at(written.node) for it in attribute.all_wrong(written))
    elif attribute.misplaced is not None:
        text = _("is an attribute of a group: the convention is about arrays")
        remedy = _("write it on each array")
        if is_array:
            text = _("is an attribute of an array: the convention is about groups")
            remedy = _("write it on the group")
        yield mistake(attribute.misplaced, written, text, remedy, "warning")
