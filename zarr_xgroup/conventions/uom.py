"""The `uom` service convention: units of measure by their UCUM code."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from zarr_xgroup.conventions.array import ArrayView
from zarr_xgroup.conventions.base import ConventionHandler, Surroundings
from zarr_xgroup.conventions.descriptions import (
    UNUSABLE,
    Attribute,
    Judged,
    Kind,
    Member,
    Model,
    Nested,
    Reader,
    Text,
    got,
    shown,
    such_as,
    write,
)
from zarr_xgroup.conventions.model import Interpretation
from zarr_xgroup.errors import Rule, rules_in
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import OBJECT, Fragment

DOCUMENT = "uom convention (clbarnes/zarr-convention-uom)"

UOM = Rule("uom/object", DOCUMENT, "uom object")
UCUM = Rule("uom/ucum", DOCUMENT, "UCUM object")
UNIT = Rule(
    "uom/unit", "The Unified Code for Units of Measure (UCUM)", "Full and limited conformance"
)

OF_ARRAY = Rule("uom/of-arrays", DOCUMENT, "Applicability")

RULES = rules_in(vars())

#: What units are called elsewhere, by their codes in UCUM.
_CALLED = {
    "m": ("meter", "meters", "metre", "metres"),
    "km": ("kilometer", "kilometers", "kilometre", "kilometres"),
    "s": ("second", "seconds", "sec"),
    "min": ("minute", "minutes"),
    "h": ("hour", "hours"),
    "d": ("day", "days"),
    "K": ("kelvin",),
    "Cel": ("degC", "deg_C", "degree_Celsius", "degrees_Celsius", "celsius", "Celsius", "\u00b0C"),
    "deg": ("\u00b0", "degree", "degrees", "degrees_north", "degrees_east"),
    "rad": ("radian", "radians"),
    "%": ("percent",),
    "Pa": ("pascal",),
    "g": ("gram",),
    "kg": ("kilogram",),
    "W": ("watt",),
    "J": ("joule",),
    "N": ("newton",),
    "1": ("dimensionless", "unitless", "none"),
    "mbar": ("millibar",),
}
_CODES = {name: code for code, names in _CALLED.items() for name in names}

#: What UDUNITS, by which CF has units, calls the units that UCUM has another code for; it reads some of these codes
#: as other units (``a`` as are, ``10*-6`` as -60). All others of the most used codes are the same in both.
# fmt: off
_UDUNITS = {
    "Cel": "degC", "[degF]": "degF", "[degR]": "degR",
    "deg": "degree", "''": "arcsecond", "gon": "grade",
    "wk": "week", "mo": "month", "a": "year", "ka": "kiloyear", "Ma": "megayear",
    "10*": "10^", "[ppth]": "1e-3", "[ppm]": "ppm", "[ppb]": "ppb", "[pptr]": "1e-12",
    "[psi]": "psi", "mm[Hg]": "mmHg", "[in_i'Hg]": "inHg", "cm[H2O]": "cmH2O",
    "[in_i]": "inch", "[ft_i]": "foot", "[ft_us]": "US_survey_foot", "[yd_i]": "yard",
    "[mi_i]": "mile", "[nmi_i]": "nautical_mile", "[kn_i]": "knot", "Ao": "angstrom",
    "AU": "astronomical_unit", "pc": "parsec", "ar": "are", "[lb_av]": "pound",
    "dyn": "dyne", "P": "poise", "cP": "centipoise", "G": "gauss", "[Btu]": "Btu",
}
# fmt: on
#: A unit in a term of UCUM, or an annotation.
_ATOM = re.compile(r"\{[^{}]*\}|10\*|''|[A-Za-z_]*\[[^\[\]]*\]|[A-Za-z_]+")
#: UCUM has one degree; CF says which by it.
_DIRECTED = {"longitude": "degrees_east", "latitude": "degrees_north"}

_UNIT = re.compile(r"[!-~]*")
#: How powers are written elsewhere; ``10^`` is a unit of UCUM.
_EXPONENT = re.compile(r"\*\*|(?<!10)\^")


def _right_unit(written: Fragment) -> str:
    """Return the remedy for a unit that is no text: a number of one is the unit one."""
    return write("unit", "1") if str(written.value) == "1" else such_as('"unit": "m"')


def _known_unit(unit: str, value: Fragment, member: Member, reader: Reader) -> str:
    """Take down that a text is no unit of UCUM."""
    code = code_of(unit)
    if not unit or code != unit:
        remedy = write(member.key, code) if code else _("write its code in UCUM (https://ucum.org)")
        reason = _("{unit} is no unit of UCUM").format(unit=shown(unit))
        reader.report(UNIT, value, reason, remedy, severity="warning", value_kept=True)
    return unit


class Ucum(Model, frozen=True, kw_only=True):
    """A unit of UCUM."""

    form: ClassVar[Rule] = UCUM

    unit: Annotated[
        str, Judged(Text(remedy=_right_unit), _known_unit), Member(example='"unit": "m"')
    ] = ""
    version: Annotated[str, Text(), Member(example='"version": "2.2"')] = ""


class Uom(Model, frozen=True, kw_only=True):
    """A unit of measure."""

    form: ClassVar[Rule] = UCUM

    ucum: Annotated[
        Ucum | None, Nested(Ucum), Member(required=True, example='"ucum": {"unit": "m"}')
    ] = None
    description: Annotated[
        str, Text(), Member(rule=UOM, example='"description": "mass of water"')
    ] = ""

    @property
    def unit(self) -> str:
        """Its code in UCUM, "" where that is missing."""
        return "" if self.ucum is None else self.ucum.unit


@dataclass(frozen=True)
class UnitOfMeasure(Kind):
    """An object of `uom`, maybe in ``{"uom": ...}``; a string is taken for the unit, too.

    Attributes
    ----------
    or_text : bool
        Whether a string is right.
    """

    or_text: bool = False

    def read(self, value: Fragment, member: Member, reader: Reader) -> Any:
        """Return the unit, as a text or as the model."""
        value = value.get(ATTRIBUTE.key) or value
        if isinstance(value.value, OBJECT):
            return Uom.read(value)
        is_used = isinstance(value.value, str)
        if not (is_used and self.or_text):
            expected = _("a string or an object") if self.or_text else _("an object")
            code = code_of(value.value) if is_used else "m"
            remedy = _("write its code in UCUM (https://ucum.org)")
            if code:
                example = json.dumps({"ucum": {"unit": code}})
                remedy = _("write {example}").format(example=example)
            reader.report(member, value, got(expected, value.value), remedy, value_kept=is_used)
        return value.value if is_used else UNUSABLE


#: The attribute of an array.
ATTRIBUTE = Attribute(
    "uom",
    UnitOfMeasure(),
    UOM,
    '"uom": {"ucum": {"unit": "m"}}',
    on="array",
    misplaced=OF_ARRAY,
    marks=("ucum",),
)


def units_of(unit: str | Uom | None, standard_name: object = None) -> Mapping[str, str]:
    """Return CF ``units`` of what has a standard name, or none; no units where these are not known."""
    code = unit.unit if isinstance(unit, Uom) else unit
    if not code:
        return {}
    if code == "deg" and standard_name in _DIRECTED:
        return {"units": _DIRECTED[str(standard_name)]}
    if not _is_term(code):
        return {"units": code}
    return {"units": _ATOM.sub(lambda atom: _UDUNITS.get(atom[0], atom[0]), code)}


class UomHandler(ConventionHandler):
    """Gives an array the ``units`` of its ``uom``, which passes through as it is."""

    tier = "service"
    name = ATTRIBUTE.key
    uuid: ClassVar[str | None] = "3bbe438d-df37-49fe-8e2b-739296d46dfb"
    repositories = ("clbarnes/zarr-convention-uom",)
    implies = ("proj",)
    described = (ATTRIBUTE,)
    rules = RULES
    reads = ("standard_name",)

    @classmethod
    def seems_meant(cls, attributes: Mapping[str, Any], around: Surroundings) -> bool:
        """Tell that no coordinates follow from it."""
        return False

    def interpret(self, array: ArrayView) -> Interpretation:
        """Return ``units`` for the array."""
        unit = array.read(ATTRIBUTE, cost=_("the attribute 'units'"))
        if isinstance(unit, Uom):
            array.report_wrong(array.node, unit.all_wrong(), _("the attribute 'units'"))
        return array.interpretation(
            attributes=units_of(unit, array.attributes.get("standard_name"))
        )


def code_of(unit: str) -> str:
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
