"""The convention `uom`: units of measure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from zarr_xgroup.conventions.uom import UomHandler
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import OBJECT, Fragment
from zarr_xgroup.report.rules.declarations import is_meant
from zarr_xgroup.report.rules.subject import Subject, got, mistake, shown, write
from zarr_xgroup.report.verdict import Mistake, Rule

DOCUMENT = "uom convention (clbarnes/zarr-convention-uom)"

UOM = Rule("uom/object", DOCUMENT, "uom object")
UCUM = Rule("uom/ucum", DOCUMENT, "UCUM object")
UNIT = Rule(
    "uom/unit", "The Unified Code for Units of Measure (UCUM)", "Full and limited conformance"
)
OF_ARRAY = Rule("uom/of-arrays", DOCUMENT, "Applicability")

RULES = (UOM, UCUM, UNIT, OF_ARRAY)

_EXAMPLE = '{"ucum": {"unit": "m"}}'

#: What units are called elsewhere, and their codes in UCUM.
_CODES = {
    "meter": "m",
    "meters": "m",
    "metre": "m",
    "metres": "m",
    "kilometer": "km",
    "kilometers": "km",
    "kilometre": "km",
    "kilometres": "km",
    "second": "s",
    "seconds": "s",
    "sec": "s",
    "minute": "min",
    "minutes": "min",
    "hour": "h",
    "hours": "h",
    "day": "d",
    "days": "d",
    "kelvin": "K",
    "degC": "Cel",
    "deg_C": "Cel",
    "degree_Celsius": "Cel",
    "degrees_Celsius": "Cel",
    "celsius": "Cel",
    "Celsius": "Cel",
    "\u00b0C": "Cel",
    "\u00b0": "deg",
    "degree": "deg",
    "degrees": "deg",
    "degrees_north": "deg",
    "degrees_east": "deg",
    "radian": "rad",
    "radians": "rad",
    "percent": "%",
    "pascal": "Pa",
    "gram": "g",
    "kilogram": "kg",
    "watt": "W",
    "joule": "J",
    "newton": "N",
    "dimensionless": "1",
    "unitless": "1",
    "none": "1",
    "millibar": "mbar",
}

_UNIT = re.compile(r"[!-~]*")
#: How powers are written elsewhere; ``10^`` is a unit of UCUM.
_EXPONENT = re.compile(r"\*\*|(?<!10)\^")


def check(subject: Subject) -> Iterator[Mistake]:
    """Yield what is wrong with the attribute ``uom`` of a node."""
    uom = subject.attribute("uom")
    if uom is None or not is_meant(subject, UomHandler):
        return
    if not subject.is_array:
        text = _("is an attribute of a group: the convention is about arrays")
        yield mistake(OF_ARRAY, uom, text, _("write it on each array"), "warning")
    yield from of_value(uom)


def of_value(uom: Fragment) -> Iterator[Mistake]:
    """Yield what is wrong with an object of the convention."""
    if not isinstance(uom.value, OBJECT):
        code = _code(uom.value) if isinstance(uom.value, str) else ""
        example = f'{{"ucum": {{"unit": "{code}"}}}}' if code else _EXAMPLE
        remedy = _("write {example}").format(example=example)
        yield mistake(UOM, uom, got(_("an object"), uom.value), remedy)
        return
    ucum = uom.value.get("ucum")
    if not isinstance(ucum, OBJECT):
        remedy = _("write {example}").format(example='"ucum": {"unit": "m"}')
        text = _("is missing") if ucum is None else got(_("an object"), ucum)
        yield mistake(UCUM, uom, text, remedy, key="ucum")
        return
    if "description" in uom.value and not isinstance(uom.value["description"], str):
        text = got(_("a string"), uom.value["description"])
        remedy = _("write a string, or leave it out")
        yield mistake(UOM, uom, text, remedy, "warning", key="description")
    yield from _ucum(Fragment(uom.node, (*uom.keys, "ucum"), ucum))


def _ucum(ucum: Fragment) -> Iterator[Mistake]:
    if "version" in ucum.value and not isinstance(ucum.value["version"], str):
        text = got(_("a string"), ucum.value["version"])
        remedy = write("version", str(ucum.value["version"]))
        yield mistake(UCUM, ucum, text, remedy, "warning", key="version")
    unit = ucum.value.get("unit")
    if not isinstance(unit, str):
        text = _("is missing") if unit is None else got(_("a string"), unit)
        remedy = write("unit", "1") if unit in (1, None) else _('write, for example, "unit": "m"')
        yield mistake(UCUM, ucum, text, remedy, key="unit")
    elif not unit or _code(unit) != unit:
        text = _("{unit} is no unit of UCUM").format(unit=shown(unit))
        code = _code(unit)
        remedy = write("unit", code) if code else _("write its code in UCUM (https://ucum.org)")
        yield mistake(UNIT, ucum, text, remedy, "warning", key="unit")


def _code(unit: str) -> str:
    """Return a unit as UCUM writes it, "" if what is meant is not known.

    Not all units that UCUM has are known here: what can be one by its form is taken for one.
    """
    if unit in _CODES:
        return _CODES[unit]
    if _is_term(unit):
        return unit
    words = re.sub(_EXPONENT, "", unit.strip()).split()
    known = [_CODES.get(word, word) for word in words]
    term = ".".join(known)
    return term if known and _is_term(term) else ""


def _is_term(unit: str) -> bool:
    """Tell whether a text has the form of a term of UCUM."""
    without_notes = re.sub(r"\{[!-z|~]*\}", "", unit)
    if not unit or not _UNIT.fullmatch(unit) or _EXPONENT.search(without_notes):
        return False
    return _are_balanced(without_notes) and not re.search(r"[./]{2}|[./(]$|\.\)|^\.", without_notes)


def _are_balanced(text: str) -> bool:
    depth = 0
    for letter in re.sub(r"\[[^\[\]]*\]", "", text):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth < 0 or letter in "[]{}":
            return False
    return depth == 0
