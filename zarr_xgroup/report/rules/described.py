"""What the descriptions of conventions say of the attributes of a node."""

from __future__ import annotations

from collections.abc import Iterator

from zarr_xgroup.conventions.registry import BUILT_IN, Handler, declarable, handlers
from zarr_xgroup.errors import Rule
from zarr_xgroup.findings import Finding
from zarr_xgroup.report.rules.declarations import is_meant
from zarr_xgroup.report.rules.subject import Subject

#: Those of descriptions are in the modules of the conventions.
RULES: tuple[Rule, ...] = ()


def check(subject: Subject) -> Iterator[Finding]:
    """Yield what is wrong with the attributes of the conventions built in that a node follows."""
    for convention in declarable():
        if convention in BUILT_IN or convention not in handlers():
            yield from of_convention(convention, subject)


def of_convention(convention: Handler, subject: Subject) -> Iterator[Finding]:
    """Yield what is wrong with the attributes of a convention, if a node follows it."""
    if not (convention.described and is_meant(subject, convention)):
        return
    kind = "array" if subject.is_array else "group"
    for attribute in convention.described:
        written = subject.attribute(attribute.key)
        if written is not None and attribute.on in (None, kind):
            yield from (it.at(subject.node) for it in attribute.all_wrong(written))
