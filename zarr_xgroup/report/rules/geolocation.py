"""The convention `geolocation`, on arrays, on groups and in the CRSs of `cs`."""

from __future__ import annotations

from collections.abc import Iterator

from zarr_xgroup.conventions.geolocation import GeolocationHandler
from zarr_xgroup.errors import Rule
from zarr_xgroup.findings import Finding
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import OBJECT, Fragment
from zarr_xgroup.metadata.references import is_reference
from zarr_xgroup.report.rules import proj
from zarr_xgroup.report.rules.declarations import is_meant
from zarr_xgroup.report.rules.subject import Subject, got, mistake

DOCUMENT = "geolocation convention (R-CF/zarr_convention_geolocation)"

KINDS = Rule("geolocation/kinds", DOCUMENT, "geodetic, planar")
PAIR = Rule("geolocation/x-and-y", DOCUMENT, "x, y")

RULES = (KINDS, PAIR)

_EXAMPLE = '"geodetic": {"x": {"node": "longitude"}, "y": {"node": "latitude"}}'


def check(subject: Subject) -> Iterator[Finding]:
    """Yield what is wrong with the attribute ``geolocation`` of a node."""
    geolocation = subject.attribute("geolocation")
    if geolocation is not None and is_meant(subject, GeolocationHandler):
        yield from of_object(geolocation)


def of_object(geolocation: Fragment) -> Iterator[Finding]:
    """Yield what is wrong with a geolocation object."""
    if is_reference(geolocation.value):
        return
    remedy = _("write {example}").format(example=_EXAMPLE)
    if not isinstance(geolocation.value, OBJECT):
        yield mistake(KINDS, geolocation, got(_("an object"), geolocation.value), remedy)
        return
    kinds = [it for key in ("geodetic", "planar") if (it := geolocation.get(key)) is not None]
    if not kinds:
        yield mistake(KINDS, geolocation, _("has neither 'geodetic' nor 'planar'"), remedy)
    for arrays in kinds:
        yield from _arrays(arrays)


def _arrays(arrays: Fragment) -> Iterator[Finding]:
    if not isinstance(arrays.value, OBJECT):
        remedy = _("write {example}").format(example='{"x": {"node": ...}, "y": {"node": ...}}')
        yield mistake(PAIR, arrays, got(_("an object"), arrays.value), remedy)
        return
    for key, name in (("x", "longitude"), ("y", "latitude")):
        value = arrays.value.get(key)
        if not is_reference(value):
            text = _("is missing") if value is None else got(_("a reference to an array"), value)
            node = value if isinstance(value, str) else name
            remedy = _("write {example}").format(example=f'"{key}": {{"node": "{node}"}}')
            yield mistake(PAIR, arrays, text, remedy, key=key)
    for key in ("crs", "id"):
        if (identity := arrays.get(key)) is not None:
            yield from proj.of_object(identity)
