"""Coordinate reference systems: how metadata declare them, and their properties by pyproj.

pyproj parses, compares and converts texts. Its results are cached, because many arrays of a store have the same CRS.
Texts that may name a file are not passed to it (`crs_texts`).

Sources: proj convention (zarr-conventions/proj); CF 1.12, section 5.6; OGC 18-010r7 (WKT 2); PROJJSON schema 0.7.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache, cached_property, lru_cache
from importlib import import_module
from types import MappingProxyType
from typing import Annotated, Any, ClassVar

import msgspec
from msgspec.structs import replace

from zarr_xgroup.conventions.crs_texts import names_no_file
from zarr_xgroup.conventions.descriptions import (
    UNUSABLE,
    JsonType,
    Member,
    Model,
    Reader,
    misspelt,
    must_be,
    shown,
    such_as,
    write,
)
from zarr_xgroup.errors import Rule, Severity, rules_in
from zarr_xgroup.findings import Finding
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import OBJECT, Fragment
from zarr_xgroup.metadata.references import is_reference

#: The members of a proj object and the attributes of `proj`, most explicit first.
WKT, PROJJSON, CODE, EPSG = CRS_KEYS = ("proj:wkt2", "proj:projjson", "proj:code", "proj:epsg")

#: The number of texts for which results of pyproj are cached.
_KEPT = 1024

#: The CF axis by the direction in pyproj.
ALONG = {"east": "X", "west": "X", "north": "Y", "south": "Y"}

#: Names of units of length in UDUNITS, by their length in metres.
_LENGTHS = {1.0: "m", 1000.0: "km", 0.3048: "foot", 1200 / 3937: "US_survey_foot"}
#: Names of units of length in UDUNITS, by names that UDUNITS or other tools do not know.
_LENGTH_NAMES = {
    **dict.fromkeys(("metre", "metres", "meter", "meters"), "m"),
    **dict.fromkeys(("us survey foot", "us survey feet"), "US_survey_foot"),
}


class Crs(msgspec.Struct, frozen=True, dict=True):
    """A coordinate reference system as text.

    Attributes
    ----------
    key : str
        The key of its member or attribute: one of `CRS_KEYS`, ``name``, or a key of a different convention.
    text : str
        A code, WKT (also WKT1), PROJJSON or name.
    """

    key: str
    text: str

    @property
    def is_understood(self) -> bool:
        """Whether pyproj understands the text."""
        return _parsed(self.text) is not None

    @property
    def title(self) -> str:
        """The name of the CRS in pyproj, or the text if pyproj does not understand it."""
        parsed = _parsed(self.text)
        return self.text if parsed is None else str(parsed.name)

    @cached_property
    def code(self) -> str | None:
        """The authority and code (``EPSG:32633``), or None if the CRS has no code."""
        # Cached, because PROJ compares a CRS without a code with all CRSs in its database.
        parsed = _parsed(self.text)
        authority = None if parsed is None else parsed.to_authority()
        return None if authority is None else ":".join(authority)

    @property
    def is_geographic(self) -> bool:
        """Whether the CRS is known to be geographic: its axes are longitude and latitude, without a rotated pole."""
        parsed = _parsed(self.text)
        return parsed is not None and bool(parsed.is_geographic) and not parsed.is_derived

    @property
    def is_north_first(self) -> bool:
        """Whether the first axis is known to point north or south, as in EPSG:4326."""
        parsed = _parsed(self.text)
        axes = [] if parsed is None else parsed.axis_info
        return bool(axes) and axes[0].direction in ("north", "south")

    @property
    def variable_name(self) -> str:
        """A name for a grid mapping variable of this CRS: authority and code, otherwise its name."""
        if self.code is not None:
            return self.code.replace(":", "_")
        # Truncated, because the text may be a whole WKT.
        return re.sub(r"\W+", "_", self.title)[:40].strip("_")

    def is_same(self, other: Crs) -> bool:
        """Return whether two CRSs are known to be the same except for the order of axes."""
        return _is_same_crs(self, other) is True

    def differs(self, other: Crs) -> bool:
        """Return whether two CRSs are known to differ; also False if pyproj does not understand one of them."""
        return _is_same_crs(self, other) is False

    def grid_mapping(self) -> Mapping[str, Any]:
        """Return the attributes of a CF grid mapping variable; only the text if pyproj does not understand it."""
        return self._grid_mapping

    @cached_property
    def _grid_mapping(self) -> Mapping[str, Any]:
        parsed = _parsed(self.text)
        if parsed is None:
            return MappingProxyType({self.key: self.text})
        try:
            attributes: dict[str, Any] = parsed.to_cf()
        except (KeyError, ValueError, TypeError, _pyproj().exceptions.CRSError):
            attributes = {"crs_wkt": parsed.to_wkt()}  # a parameter is missing
        # GDAL and older tools read `spatial_ref` instead of `crs_wkt`.
        return MappingProxyType({**attributes, "spatial_ref": attributes["crs_wkt"]})

    def axis_attributes(self) -> dict[str, dict[str, str]]:
        """Return the CF attributes of coordinates along ``X`` and ``Y``; only ``axis`` if pyproj does not know both axes."""
        return {axis: dict(attributes) for axis, attributes in self._axis_attributes.items()}

    @cached_property
    def _axis_attributes(self) -> dict[str, dict[str, str]]:
        parsed = _parsed(self.text)
        horizontal = _horizontal_axes(parsed)
        if len(horizontal) < 2 and parsed is not None and parsed.is_projected:
            # pyproj identifies axes by their names; older GDAL wrote ``AXIS["X",EAST]``.
            projjson = parsed.to_json_dict()
            for axis in projjson.get("coordinate_system", {}).get("axis", ()):
                names = {"east": "Easting", "north": "Northing"}
                axis["name"] = names.get(axis["direction"], axis["name"])
            with suppress(_pyproj().exceptions.CRSError):
                horizontal = _horizontal_axes(_pyproj().CRS.from_json_dict(projjson))
        if len(horizontal) < 2:
            return {name: {"axis": name} for name in ("X", "Y")}
        units = {axis.unit_name.lower() for axis in parsed.axis_info if axis.direction in ALONG}
        for axis in horizontal.values():
            unit = axis.pop("units")
            # pyproj returns degrees for every geographic CRS, even if its axes are in grads.
            if not parsed.is_geographic or units == {"degree"}:
                axis["units"] = cf_length(unit)
        return horizontal

    @cached_property
    def _normalized(self) -> Any:
        """The ``pyproj.CRS`` without its code and datum shift, with its axes in the order X, Y, others.

        Two texts of one CRS may differ in these: WKT1 often has no order of axes, and may have ``TOWGS84``, which is not
        part of a CRS with a code. pyproj ignores the order of axes only for geographic CRSs.
        """
        parsed, pyproj = _parsed(self.text), _pyproj()
        try:
            projjson = (parsed.source_crs if parsed.is_bound else parsed).to_json_dict()
            for part in (projjson, *projjson.get("components", ())):
                part.pop("id", None)
                axes = part.get("coordinate_system", {}).get("axis", [])
                axes.sort(key=lambda axis: ALONG.get(axis["direction"], "Z"))
            return pyproj.CRS.from_json_dict(projjson)
        except (pyproj.exceptions.CRSError, ValueError):
            return parsed  # PROJ may write invalid JSON, or JSON that it cannot read


#: One `Crs` for each text, because results of pyproj are cached in it.
_crs = lru_cache(_KEPT)(Crs)


def crs_in(values: Mapping[str, Any], keys: Iterable[str] = CRS_KEYS) -> Iterator[Crs]:
    """Yield the CRSs in attributes or an object under some keys, by default those of `proj`.

    pyproj may not understand their texts. Values of other types are ignored.
    """
    for key in keys:
        if key not in values:
            continue
        value = values[key]
        if isinstance(value, OBJECT):
            yield _crs(key, json.dumps(value, sort_keys=True))
        elif isinstance(value, int) and not isinstance(value, bool):
            yield _crs(key, f"EPSG:{value}")
        elif isinstance(value, str) and value.strip():
            yield _crs(key, value)


def is_geographic(identity: Any, name: Any = None) -> bool:
    """Return whether a CRS is known to be geographic, by its proj object (`identity`) or its name."""
    if isinstance(identity, OBJECT):
        for crs in crs_in(identity):
            return crs.is_geographic
    return isinstance(name, str) and Crs("name", name).is_geographic


def cf_length(unit: str) -> str:
    """Return the UDUNITS name of a unit of length (``metre``, or ``0.3048 metre`` as in pyproj); others unchanged."""
    number, _space, name = unit.strip().rpartition(" ")
    if name != "metre" or not number:
        return _LENGTH_NAMES.get(unit.strip().lower(), unit)
    try:
        length = float(number)
    except ValueError:
        return unit
    names = (
        known for metres, known in _LENGTHS.items() if math.isclose(length, metres, rel_tol=1e-9)
    )
    return next(names, f"{number} m")


def horizontal_unit(name: str) -> str:
    """Return ``degree`` for any name of degrees, the UDUNITS name of a unit of length, and other units unchanged."""
    return "degree" if name.lower().startswith("degree") else cf_length(name)


# Members with a CRS: attributes ``proj:*``, and members of the proj objects of other conventions.

DOCUMENT = "proj convention (zarr-conventions/proj)"

OF_CODE = Rule("proj/code", DOCUMENT, CODE)
OF_WKT = Rule("proj/wkt2", DOCUMENT, WKT)
OF_PROJJSON = Rule("proj/projjson", DOCUMENT, PROJJSON)
UNDERSTOOD = Rule("proj/understood", DOCUMENT, "Field details")
AGREEING = Rule("proj/one-crs", DOCUMENT, "Field details")
OBJECT_OF_PROJ = Rule("proj/object", DOCUMENT, "Field details")
OF_EPSG = Rule("proj/epsg", DOCUMENT, CODE)

RULES = rules_in(vars())

#: An authority and a code.
_CODE_OF_AUTHORITY = re.compile(r"[^:]+:[^:]+")
#: The beginning of WKT 1 (OGC 01-009); WKT 2 has different keywords (OGC 18-010).
_WKT1 = re.compile(r"\s*(PROJCS|GEOGCS|GEOCCS|VERT_CS|COMPD_CS|LOCAL_CS)\s*[\[(]", re.IGNORECASE)

_EXAMPLE = f'{{"{CODE}": "EPSG:4326"}}'


class _CrsMember(JsonType, frozen=True):
    """A CRS as PROJJSON, WKT 2 or a code; read as a `Crs` if pyproj understands it."""

    def read(self, value: Fragment, reader: Reader) -> Any:
        """Return the CRS, or `UNUSABLE` if pyproj does not understand it; report a value of the wrong form."""
        key, written = reader.member.key, value.value
        crs = next(crs_in({key: written}, (key,)), None)
        is_understood = crs is not None and crs.is_understood
        if expected := _expected_form(key, written):
            text, is_kept = must_be(expected, written), crs is None or is_understood
            severity: Severity = "warning" if is_understood else "error"
            reader.refuse(value, text, _remedy(key, written), severity=severity, value_kept=is_kept)
        elif crs is not None and not is_understood:
            _report_not_understood(value, _remedy(key, written), reader)
        return crs if is_understood else UNUSABLE


def _expected_form(key: str, value: object) -> str:
    """Return the form that the value of a member must have, or "" if it has that form."""
    if key == PROJJSON and not isinstance(value, OBJECT):
        return _("an object of PROJJSON")
    is_wkt2 = isinstance(value, str) and bool(value.strip()) and not _WKT1.match(value)
    if key == WKT and not is_wkt2:
        return _("WKT 2")
    if key == CODE and not _is_code(value):
        return _("an authority and a code, such as 'EPSG:32633'")
    return ""


def _is_code(value: object) -> bool:
    """Return whether a value is an authority and a code, such as ``EPSG:32633``."""
    return isinstance(value, str) and _CODE_OF_AUTHORITY.fullmatch(value) is not None


def _code_meant(value: object) -> str:
    """Return the code of a CRS for a number (of EPSG) or a text, or "" if pyproj does not know it."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = f"EPSG:{value}"
    elif isinstance(value, str) and value.strip().isdigit():
        value = f"EPSG:{value.strip()}"
    return str(value) if _is_code(value) and _crs(CODE, str(value)).is_understood else ""


def _remedy(key: str, value: object) -> str:
    """Return the remedy for a value that is not a CRS or does not have the form of its member."""
    if key == PROJJSON:
        return _("write the PROJJSON from `pyproj.CRS(...).to_json_dict()`")
    if key != WKT and _is_code(value):
        return _("write a code that PROJ knows (`projinfo --list-crs` lists them)")
    if key != WKT:
        return write(CODE, _code_meant(value) or "<authority>:<code>")
    remedy = _("write the WKT 2 (OGC 18-010) from `pyproj.CRS(...).to_wkt()`")
    code = _crs(WKT, value).code if isinstance(value, str) else None
    if code is None or not _crs(CODE, code).is_same(_crs(WKT, str(value))):
        return remedy
    return _("{remedy}, or {other} instead").format(remedy=remedy, other=write(CODE, code))


def _report_not_understood(value: Fragment, remedy: str, reader: Reader) -> None:
    """Report a value that pyproj does not understand as a CRS."""
    text = _("is not a CRS that pyproj understands: {text}").format(text=shown(value.value))
    reader.report(UNDERSTOOD, value, text, remedy)


def _report_conflicting_crs(place: Fragment, systems: list[Crs], reader: Reader) -> None:
    """Report each CRS that differs from the first, which is used."""
    for other in systems[1:]:
        if systems[0].differs(other):
            text = _("differs from the CRS in {key}, which is used").format(key=systems[0].key)
            remedy = _("leave one of {keys} out").format(keys=f"{systems[0].key}, {other.key}")
            reader.report(AGREEING, place.place(other.key), text, remedy, value_kept=True)


class ProjMembers(Model, frozen=True, kw_only=True):
    """The members of an object that define its CRS, most explicit first; None if missing or unusable.

    ``epsg`` is defined by STAC, not by the convention.
    """

    form: ClassVar[Rule] = OBJECT_OF_PROJ
    others: ClassVar[frozenset[str] | None] = None  # they may be among all attributes of a node

    wkt2: Annotated[Crs | None, _CrsMember(), Member(key=WKT, rule=OF_WKT)] = None
    projjson: Annotated[Crs | None, _CrsMember(), Member(key=PROJJSON, rule=OF_PROJJSON)] = None
    code: Annotated[Crs | None, _CrsMember(), Member(key=CODE, rule=OF_CODE)] = None
    epsg: Annotated[Crs | None, _CrsMember(), Member(key=EPSG, rule=OF_EPSG)] = None

    @classmethod
    def finish_fields(cls, fragment: Fragment, found: dict[str, Any], reader: Reader) -> None:
        """Report members with different CRSs, and ``proj:epsg`` if it is the only member."""
        _report_conflicting_crs(fragment, list(found.values()), reader)
        if [key for key in CRS_KEYS if fragment.get(key)] == [EPSG]:
            text = _("{key!r} is not defined by the convention").format(key=EPSG)
            remedy = write(CODE, _code_meant(fragment.value[EPSG]) or "EPSG:<code>")
            place = fragment.place(EPSG)
            reader.report(OF_EPSG, place, text, remedy, severity="warning", value_kept=True)

    @property
    def systems(self) -> list[Crs]:
        """The CRSs of all members; the first is used."""
        members = (self.wkt2, self.projjson, self.code, self.epsg)
        return [crs for crs in members if crs is not None]


class ProjObject(JsonType, frozen=True):
    """A proj object or a reference to one, read as a `Part` for `proj.crs_at`."""

    def read(self, value: Fragment, reader: Reader) -> Any:
        """Return the object or reference as a `Part`, or `UNUSABLE`; report mistakes in its members."""
        if is_reference(value.value):
            return value.part
        if not isinstance(value.value, OBJECT):
            code = _code_meant(value.value)
            example = f'{{"{CODE}": "{code}"}}' if code else _EXAMPLE
            expected = _("a proj object such as {example}").format(example=_EXAMPLE)
            remedy = _("write {example}").format(example=example)
            reader.report(OBJECT_OF_PROJ, value, must_be(expected, value.value), remedy)
            return UNUSABLE
        spelt = misspelt(value.value, CRS_KEYS, ("name", "type", "description"))
        for key, meant in spelt.items():
            reader.report_misspelt(value.place(key), meant)
        if not spelt and not any(key in value.value for key in CRS_KEYS):
            text = _("must have at least one of {keys}").format(keys=", ".join(CRS_KEYS[:3]))
            reader.report(OBJECT_OF_PROJ, value, text, such_as(_EXAMPLE), value_kept=True)
        # A check reports unusable CRSs here; opening reports them in `proj.crs_at`.
        findings = ProjMembers.read(value).wrong
        reader.wrong.extend(replace(finding, topic=None) for finding in findings)
        return value.part


def read_systems(
    place: Fragment, keys: Iterable[str] = CRS_KEYS
) -> tuple[list[Crs], tuple[Finding, ...]]:
    """Return the usable CRSs of an object, and findings about conflicting or unusable ones.

    `keys` are by default those of `proj`.
    """
    if keys is CRS_KEYS:
        members = ProjMembers.read(place)
        return members.systems, members.wrong
    reader, systems = Reader(UNDERSTOOD, UNDERSTOOD), []
    for crs in crs_in(place.value, keys):
        if crs.is_understood:
            systems.append(crs)
        else:
            _report_not_understood(place.required(crs.key), "", reader)
    _report_conflicting_crs(place, systems, reader)
    return systems, tuple(reader.wrong)


# Grid mapping variables.

#: The name of grid mapping variables that tools expect.
SPATIAL_REF = "spatial_ref"

#: Attributes of grid mapping variables that define a CRS, most explicit first.
CRS_ATTRIBUTES = ("crs_wkt", SPATIAL_REF, "grid_mapping_name")


def crs_of_grid_mapping(attributes: Mapping[str, Any]) -> Crs | None:
    """Return the CRS of a grid mapping variable from its WKT (``crs_wkt``, ``spatial_ref``), or None."""
    systems = crs_in(attributes, ("crs_wkt", SPATIAL_REF))
    return next((crs for crs in systems if crs.is_understood), None)


# Functions that use pyproj.


@cache
def _pyproj() -> Any:
    """Return pyproj, imported when first needed, because the import takes about 45 ms."""
    return import_module("pyproj")


@lru_cache(_KEPT)
def _parsed(text: str) -> Any:
    """Return the ``pyproj.CRS`` of a text, or None if pyproj does not understand it or it may name a file.

    Also None if PROJ would truncate it at a NUL in a name or remark.
    """
    if not names_no_file(text):
        return None
    pyproj = _pyproj()
    try:
        parsed = pyproj.CRS.from_user_input(text)
        # PROJ parses some texts but fails to return their parts: raise here, not later.
        _parts = parsed.sub_crs_list, parsed.is_bound and parsed.source_crs
        pyproj.CRS.from_wkt(parsed.to_wkt())  # as readers of `crs_wkt` do
    except (pyproj.exceptions.CRSError, ValueError):  # ValueError: for example, invalid Unicode
        return None
    return parsed


@lru_cache(_KEPT)
def _is_same_crs(crs: Crs, other: Crs) -> bool | None:
    """Return whether two CRSs are the same except for the order of axes.

    None if one is not understood, or if their EPSG codes differ because of that order (OGC:CRS84 and EPSG:4326).
    """
    if crs.text == other.text:
        return True
    mine, theirs = _parsed(crs.text), _parsed(other.text)
    if mine is None or theirs is None:
        return None
    if mine.equals(theirs, ignore_axis_order=True):
        is_one_code = mine.equals(theirs) or mine.to_epsg() == theirs.to_epsg()
        return True if is_one_code else None
    # CRSs with different datum shifts differ. A datum shift in only one of the texts is ignored.
    is_shifted = mine.is_bound and theirs.is_bound
    if is_shifted and mine.coordinate_operation != theirs.coordinate_operation:
        return False
    return bool(crs._normalized.equals(other._normalized, ignore_axis_order=True))


def _horizontal_axes(crs: Any) -> dict[str, dict[str, str]]:
    """Return the CF attributes of the axes ``X`` and ``Y`` of a ``pyproj.CRS`` that pyproj knows."""
    axes = () if crs is None else crs.cs_to_cf()
    return {axis["axis"]: dict(axis) for axis in axes if axis["axis"] in ("X", "Y")}
