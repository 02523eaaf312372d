"""The convention `geolocation`: the CRSs of the arrays, on arrays, on groups and in `cs`."""

from __future__ import annotations

from collections.abc import Iterator

from zarr_xgroup.conventions import geolocation_model
from zarr_xgroup.conventions.geolocation import GeolocationHandler
from zarr_xgroup.conventions.geolocation_model import ATTRIBUTE
from zarr_xgroup.findings import Finding
from zarr_xgroup.metadata.nodes import Fragment
from zarr_xgroup.report.rules.declarations import is_meant
from zarr_xgroup.report.rules.subject import Subject, mistakes_at

RULES = geolocation_model.RULES


def check(subject: Subject) -> Iterator[Finding]:
    """Yield what is wrong with the attribute ``geolocation`` of a node."""
    geolocation = subject.attribute(ATTRIBUTE.key)
    if geolocation is not None and is_meant(subject, GeolocationHandler):
        yield from of_object(geolocation)


def of_object(geolocation: Fragment) -> Iterator[Finding]:
    """Yield what is wrong with a geolocation object."""
    yield from mistakes_at(geolocation.node, ATTRIBUTE.all_wrong(geolocation))
