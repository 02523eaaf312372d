"""The convention `proj`: its attributes, and the proj objects of other conventions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from zarr_xgroup.conventions.crs import CRS_KEYS, Crs, crs_in
from zarr_xgroup.conventions.descriptions import Attribute
from zarr_xgroup.conventions.proj import ProjHandler
from zarr_xgroup.conventions.proj_model import (
    CODE_OF_AUTHORITY,
    DOCUMENT,
    OBJECT_OF_PROJ,
    ProjObject,
    code_of,
)
from zarr_xgroup.errors import Rule
from zarr_xgroup.findings import Finding
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import OBJECT, Fragment
from zarr_xgroup.metadata.references import is_reference
from zarr_xgroup.report.rules.declarations import is_meant
from zarr_xgroup.report.rules.subject import (
    Severity,
    Subject,
    got,
    mistake,
    mistakes_at,
    shown,
    write,
)

CODE = Rule("proj/code", DOCUMENT, "proj:code")
WKT = Rule("proj/wkt2", DOCUMENT, "proj:wkt2")
PROJJSON = Rule("proj/projjson", DOCUMENT, "proj:projjson")
UNDERSTOOD = Rule("proj/understood", DOCUMENT, "Field details")
AGREEING = Rule("proj/one-crs", DOCUMENT, "Field details")
EPSG = Rule("proj/epsg", DOCUMENT, "proj:code")

RULES = (CODE, WKT, PROJJSON, UNDERSTOOD, AGREEING, OBJECT_OF_PROJ, EPSG)

#: How WKT of the first version begins (OGC 01-009); the second has other keywords (OGC 18-010).
_WKT1 = re.compile(r"\s*(PROJCS|GEOGCS|GEOCCS|VERT_CS|COMPD_CS|LOCAL_CS)\s*[\[(]", re.IGNORECASE)


def check(subject: Subject) -> Iterator[Finding]:
    """Yield what is wrong with the attributes of `proj` of a node."""
    if is_meant(subject, ProjHandler):
        yield from of_members(subject.all_attributes)


#: What stands for a CRS in other conventions.
_OBJECT = Attribute("crs", ProjObject(), OBJECT_OF_PROJ, "")


def of_object(place: Fragment) -> Iterator[Finding]:
    """Yield what is wrong with a value that must be a proj object, such as ``id`` of a CRS."""
    yield from mistakes_at(place.node, _OBJECT.all_wrong(place))
    if is_reference(place.value) or not isinstance(place.value, OBJECT):
        return
    if not any(key in place.value for key in CRS_KEYS):
        text = _("has none of {keys}").format(keys=", ".join(CRS_KEYS[:3]))
        remedy = _("write, for example, {example}").format(example='{"proj:code": "EPSG:4326"}')
        yield mistake(OBJECT_OF_PROJ, place, text, remedy)
    else:
        yield from of_members(place)


def of_members(place: Fragment) -> Iterator[Finding]:
    """Yield what is wrong with the members ``proj:*`` of an object; null means none."""
    value = {key: place.value[key] for key in CRS_KEYS if place.value.get(key) is not None}
    if "proj:code" in value:
        yield from _code(place, value["proj:code"])
    elif not any(key in value for key in ("proj:wkt2", "proj:projjson")) and "proj:epsg" in value:
        code = code_of(value["proj:epsg"])
        text = _("'proj:epsg' is not known in the convention")
        remedy = write("proj:code", code) if code else _('write "proj:code": "EPSG:<code>"')
        yield mistake(EPSG, place, text, remedy, "warning", key="proj:epsg")
    if "proj:wkt2" in value:
        yield from _wkt(place, value["proj:wkt2"])
    if "proj:projjson" in value:
        yield from _projjson(place, value["proj:projjson"])
    yield from _contradictions(place)


def _code(place: Fragment, value: Any) -> Iterator[Finding]:
    if not (isinstance(value, str) and CODE_OF_AUTHORITY.fullmatch(value)):
        text = got(_("an authority and a code, such as 'EPSG:32633'"), value)
        code = code_of(value)
        remedy = write("proj:code", code) if code else _('write "proj:code": "<authority>:<code>"')
        yield mistake(CODE, place, text, remedy, _severity(place), key="proj:code")
    elif not Crs("proj:code", value).is_understood:
        text = _("PROJ does not know the code {value}").format(value=shown(value))
        remedy = _("write a code of the authority as PROJ lists it (`projinfo --list-crs`)")
        yield mistake(UNDERSTOOD, place, text, remedy, key="proj:code")


def _severity(place: Fragment) -> Severity:
    """Return "warning" where another member says the CRS all the same."""
    return "warning" if _understood(place.value) else "error"


def _understood(members: Mapping[str, Any]) -> list[Crs]:
    return [crs for crs in crs_in(members) if crs.is_understood]


def _wkt(place: Fragment, value: Any) -> Iterator[Finding]:
    code = _known_code(value) if isinstance(value, str) else ""
    remedy = _("write WKT 2 (OGC 18-010), as `pyproj.CRS(...).to_wkt()` gives it")
    if code:
        remedy = _("{remedy}, or {other} in its place").format(
            remedy=remedy, other=write("proj:code", code)
        )
    if not isinstance(value, str):
        severity = _severity(place)
        yield mistake(WKT, place, got(_("WKT 2"), value), remedy, severity, key="proj:wkt2")
    elif not Crs("proj:wkt2", value).is_understood:
        text = _("PROJ does not understand the WKT {value}").format(value=shown(value))
        yield mistake(UNDERSTOOD, place, text, remedy, key="proj:wkt2")
    elif _WKT1.match(value):
        text = _("is WKT 1, not WKT 2: {value}").format(value=shown(value))
        yield mistake(WKT, place, text, remedy, "warning", key="proj:wkt2")


def _known_code(text: str) -> str:
    """Return the code of a CRS, as far as its WKT says one."""
    name = Crs("proj:wkt2", text).variable_name.replace("_", ":", 1)
    return (
        name
        if CODE_OF_AUTHORITY.fullmatch(name) and Crs("proj:code", name).is_same(Crs("", text))
        else ""
    )


def _projjson(place: Fragment, value: Any) -> Iterator[Finding]:
    remedy = _("write PROJJSON, as `pyproj.CRS(...).to_json_dict()` gives it")
    if not isinstance(value, OBJECT):
        text = got(_("an object of PROJJSON"), value)
        severity = _severity(place)
        yield mistake(PROJJSON, place, text, remedy, severity, key="proj:projjson")
    elif not any(crs.is_understood for crs in crs_in(place.value, ("proj:projjson",))):
        text = _("PROJ does not understand the PROJJSON {value}").format(value=shown(value))
        yield mistake(UNDERSTOOD, place, text, remedy, key="proj:projjson")


def _contradictions(place: Fragment) -> Iterator[Finding]:
    found = _understood(place.value)
    for first, other in zip(found[:1] * len(found), found[1:], strict=False):
        if first.differs(other):
            text = _("is another CRS than {key}").format(key=first.key)
            remedy = _("leave one of {keys} out").format(keys=f"{first.key}, {other.key}")
            yield mistake(AGREEING, place, text, remedy, key=other.key)
