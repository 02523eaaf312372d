"""What the descriptions of conventions say of the attributes of a node."""

from __future__ import annotations

from collections.abc import Iterator

from zarr_xgroup.conventions.registry import declarable
from zarr_xgroup.errors import Rule
from zarr_xgroup.findings import Finding
from zarr_xgroup.report.rules.declarations import is_meant
from zarr_xgroup.report.rules.subject import Subject

#: Those of descriptions are in the modules of the conventions.
RULES: tuple[Rule, ...] = ()


def check(subject: Subject) -> Iterator[Finding]:
    """Yield what is wrong with the attributes of conventions that a node follows."""
    kind = "array" if subject.is_array else "group"
    for convention in declarable():
        if convention.described and is_meant(subject, convention):
            for attribute in convention.described:
                written = subject.attribute(attribute.key)
                if written is not None and attribute.on in (None, kind):
                    yield from (it.at(subject.node) for it in attribute.all_wrong(written))
