"""The attributes of the convention `proj`."""

from __future__ import annotations

from collections.abc import Iterator

from zarr_xgroup.conventions import proj_model
from zarr_xgroup.conventions.proj import ProjHandler
from zarr_xgroup.conventions.proj_model import ProjMembers
from zarr_xgroup.findings import Finding
from zarr_xgroup.report.rules.declarations import is_meant
from zarr_xgroup.report.rules.subject import Subject, mistakes_at

RULES = proj_model.RULES


def check(subject: Subject) -> Iterator[Finding]:
    """Yield what is wrong with the attributes of `proj` of a node."""
    if is_meant(subject, ProjHandler):
        members = ProjMembers.read(subject.all_attributes)
        yield from mistakes_at(subject.node, members.wrong)
