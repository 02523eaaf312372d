"""The `uom` service convention: the unit of an array, by its code in UCUM.

An axis of `cs` may also have a uom object. The convention uses UCUM codes; CF ``units`` are names of UDUNITS.

Sources: uom convention (clbarnes/zarr-convention-uom); The Unified Code for Units of Measure (UCUM).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any, ClassVar

from zarr_xgroup.conventions.array import ArrayView
from zarr_xgroup.conventions.attributes import Attribute
from zarr_xgroup.conventions.base import ConventionHandler, Marks
from zarr_xgroup.conventions.descriptions import (
    UNUSABLE,
    JsonType,
    Member,
    Model,
    Nested,
    Reader,
    Text,
    must_be,
    shown,
    write,
)
from zarr_xgroup.conventions.model import Interpretation
from zarr_xgroup.errors import Rule
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import OBJECT, Fragment

DOCUMENT = "uom convention (clbarnes/zarr-convention-uom)"

UOM = Rule("uom/object", DOCUMENT, "uom object")
UCUM = Rule("uom/ucum", DOCUMENT, "UCUM object")
UNIT = Rule(
    "uom/unit", "The Unified Code for Units of Measure (UCUM)", "Full and limited conformance"
)
OF_ARRAY = Rule("uom/of-arrays", DOCUMENT, "Applicability")

#: Names of units that are not UCUM codes, by UCUM code.
_OTHER_NAMES = {
    "m": ("meter", "meters", "metre", "metres"),
    "km": ("kilometer", "kilometers", "kilometre", "kilometres"),
    "s": ("second", "seconds", "sec"),
    "min": ("minute", "minutes"),
    "h": ("hour", "hours"),
    "d": ("day", "days"),
    "wk": ("week", "weeks", "wks"),
    "mo": ("month", "months"),
    "a": ("year", "years", "yr", "yrs"),
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
_CODES_BY_NAME = {name: code for code, names in _OTHER_NAMES.items() for name in names}

#: The UDUNITS names of common units with a different UCUM code. UDUNITS reads some of these codes as other units:
#: ``a`` as are, ``10*-6`` as -60.
# fmt: off
_UDUNITS_BY_CODE = {
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
#: A unit, or an annotation in braces, in a UCUM code of several units.
_UNIT_OR_ANNOTATION = re.compile(r"\{[^{}]*\}|10\*|''|[A-Za-z_]*\[[^\[\]]*\]|[A-Za-z_]+")
#: The CF units of longitudes and latitudes, by standard name. UCUM has one code, ``deg``, for both.
_DEGREES_ALONG = {"longitude": "degrees_east", "latitude": "degrees_north"}
#: Signs of a power, which UCUM does not use; ``10^`` is a unit in UCUM.
_EXPONENT = re.compile(r"\*\*|(?<!10)\^")


def ucum_code(unit: str) -> str:
    """Return the UCUM code of a unit, or "". Any text in the form of a UCUM code is accepted as a code."""
    if unit in _CODES_BY_NAME:
        return _CODES_BY_NAME[unit]
    if _has_form_of_ucum(unit):
        return unit
    # Convert names, spaces and signs of powers: "kg m**-2" is "kg.m-2" in UCUM.
    words = re.sub(_EXPONENT, "", unit.strip()).split()
    code = ".".join(_CODES_BY_NAME.get(word, word) for word in words)
    return code if _has_form_of_ucum(code) else ""


@lru_cache
def _has_form_of_ucum(unit: str) -> bool:
    """Return whether a text has the form of a UCUM code, of any units."""
    without_annotations = re.sub(r"\{[!-z|~]*\}", "", unit)
    if not re.fullmatch(r"[!-~]+", unit) or _EXPONENT.search(without_annotations):
        return False
    # An operator is between two units; a code may begin with "/".
    if re.search(r"[./]{2}|[./(]$|\.\)|^\.", without_annotations):
        return False
    # Parentheses match. Pairs of square brackets and braces are removed, so none may remain.
    depth = 0
    for letter in re.sub(r"\[[^\[\]]*\]", "", without_annotations):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth < 0 or letter in "[]{}":
            return False
    return depth == 0


class Ucum(Model, frozen=True, kw_only=True):
    """The member ``ucum`` of a uom object: a unit by its UCUM code."""

    form: ClassVar[Rule] = UCUM

    unit: Annotated[str, Text(), Member(example='"unit": "m"')] = ""
    version: Annotated[str, Text(), Member(example='"version": "2.2"')] = ""

    @classmethod
    def finish_fields(cls, fragment: Fragment, fields: dict[str, Any], reader: Reader) -> None:
        """Warn if the unit is not a valid UCUM code."""
        unit = fields.get("unit")
        code = None if unit is None else ucum_code(unit)
        if unit is not None and (not unit or code != unit):
            remedy = write("unit", code) if code else _("write its UCUM code (https://ucum.org)")
            text = _("{unit} is not a UCUM code").format(unit=shown(unit))
            place = fragment.place("unit")
            reader.report(UNIT, place, text, remedy, severity="warning", value_kept=True)


class Uom(Model, frozen=True, kw_only=True):
    """A uom object: a unit of measure."""

    form: ClassVar[Rule] = UCUM

    ucum: Annotated[
        Ucum | None, Nested(Ucum), Member(required=True, example='"ucum": {"unit": "m"}')
    ] = None
    description: Annotated[
        str, Text(), Member(rule=UOM, example='"description": "mass of water"')
    ] = ""


class UnitOfMeasure(JsonType, frozen=True):
    """A uom object, bare or in ``{"uom": ...}``; a string is read as the unit.

    Attributes
    ----------
    or_text : bool
        Whether a string is allowed. If not, it is reported, but used.
    """

    or_text: bool = False

    def read(self, value: Fragment, reader: Reader) -> Any:
        """Return the unit as a `Uom` or a string, or report why it cannot be used and return `UNUSABLE`."""
        value = value.get("uom") or value
        if isinstance(value.value, OBJECT):
            return Uom.read(value)
        is_text = isinstance(value.value, str)
        if not (is_text and self.or_text):
            expected = _("a string or an object") if self.or_text else _("an object")
            code = ucum_code(value.value) if is_text else "m"
            remedy = _("write its UCUM code (https://ucum.org)")
            if code:
                example = json.dumps({"ucum": {"unit": code}})
                remedy = _("write {example}").format(example=example)
            reader.refuse(value, must_be(expected, value.value), remedy, value_kept=is_text)
        return value.value if is_text else UNUSABLE


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


class UomHandler(ConventionHandler):
    """Adds the CF ``units`` of ``uom`` to an array, and keeps the attribute ``uom``."""

    tier = "service"
    name = ATTRIBUTE.key
    uuid: ClassVar[str | None] = "3bbe438d-df37-49fe-8e2b-739296d46dfb"
    identifiers = ("clbarnes/zarr-convention-uom",)
    described = (ATTRIBUTE,)
    rules = (UOM, UCUM, UNIT, OF_ARRAY)
    reads = ("standard_name",)

    @classmethod
    def marks(cls, array: ArrayView) -> Marks | None:
        """Return None, because ``uom`` defines no coordinates."""
        return None

    def interpret(self, array: ArrayView) -> Interpretation:
        """Return CF ``units`` for the array if its ``uom`` can be used."""
        unit = array.read(ATTRIBUTE, cost=_("the attribute 'units'"))
        if isinstance(unit, Uom):
            array.report_wrong(array.node, unit.all_wrong(), _("the attribute 'units'"))
        standard_name = array.attributes.get("standard_name")
        return array.interpretation(attributes=cf_units_of_measure(unit, standard_name))


def _udunits_of(atom: str) -> str:
    """Return the UDUNITS name of a unit by its UCUM code, unchanged if they are equal. Years are also written ``yr``."""
    code = "a" if atom in ("yr", "yrs") else atom
    return _UDUNITS_BY_CODE.get(code, code)


def cf_units_of_measure(unit: str | Uom | None, standard_name: object = None) -> Mapping[str, str]:
    """Return the CF attribute ``units`` for a unit of measure, or no attribute if there is no unit.

    `standard_name` is that of the array or coordinate: a longitude is in ``degrees_east``, not in ``degree``.
    """
    code = unit if not isinstance(unit, Uom) else unit.ucum and unit.ucum.unit
    if not code:
        return {}
    if code == "deg" and standard_name in _DEGREES_ALONG:
        return {"units": _DEGREES_ALONG[str(standard_name)]}
    if not _has_form_of_ucum(code):
        return {"units": code}
    return {"units": _UNIT_OR_ANNOTATION.sub(lambda atom: _udunits_of(atom[0]), code)}
