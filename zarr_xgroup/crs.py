"""Coordinate reference systems: what they are, and what coordinates follow from them.

pyproj does the work where it is installed; without it what the text itself says is used.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import import_module
from typing import Any

#: The members of a proj object, and of the attributes of `proj`, most explicit first.
CRS_KEYS = ("proj:projjson", "proj:wkt2", "proj:code", "proj:epsg")

_GEOGRAPHIC_WKT = re.compile(
    r"\s*(GEOGCRS|GEOGRAPHICCRS|GEODCRS|GEODETICCRS|GEOGCS)\b", re.IGNORECASE
)
_WKT = re.compile(r"\s*[A-Z_]+\s*\[", re.IGNORECASE)
#: A rotated pole, or geocentric axes.
_NOT_PLAIN = re.compile(r"BASEGEO|DERIVINGCONVERSION|CS\[Cartesian", re.IGNORECASE)
_GEOGRAPHIC_NAMES = {"wgs84", "epsg:4326", "ogc:crs84", "crs84", "epsg:4258", "epsg:4269"}


_AUTHORITY = re.compile(
    r"""(?:ID|AUTHORITY)\[\s*"EPSG"\s*,\s*"?(\d+)"?\s*\]\s*\]\s*$""", re.IGNORECASE
)
_HORIZONTAL = ("east", "west", "north", "south")
_GEOGRAPHIC_AXES = {
    "X": {"standard_name": "longitude", "units": "degrees_east"},
    "Y": {"standard_name": "latitude", "units": "degrees_north"},
}


@dataclass(frozen=True)
class Crs:
    """A coordinate reference system as it is written.

    Attributes
    ----------
    key : str
        Where it is written: one of `CRS_KEYS`, or ``name``.
    text : str
        A code, WKT (also WKT1), PROJJSON or name.
    """

    key: str
    text: str

    @property
    def is_understood(self) -> bool:
        """Whether pyproj understands the text; always true without pyproj."""
        return installed_pyproj() is None or _parsed(self.text) is not None

    @property
    def is_geographic(self) -> bool:
        """Whether it is known to be geographic: its axes are longitude and latitude.

        A rotated pole is not, nor is what cannot be understood.
        """
        if installed_pyproj() is not None:
            parsed = _parsed(self.text)
            return parsed is not None and bool(parsed.is_geographic) and not parsed.is_derived
        if self.text.startswith("{"):
            return _type_of(self.text) == "GeographicCRS"
        if _WKT.match(self.text):
            return bool(_GEOGRAPHIC_WKT.match(self.text)) and not _NOT_PLAIN.search(self.text)
        return re.sub(r"\s", "", self.text).lower() in _GEOGRAPHIC_NAMES

    @property
    def variable_name(self) -> str:
        """A name for a variable that stands for it: its code, or what it is called."""
        parsed = _parsed(self.text) if installed_pyproj() is not None else None
        authority = parsed.to_authority() if parsed is not None else None
        if authority is not None:
            return "_".join(authority)
        name = self.text if parsed is None else parsed.name
        return re.sub(r"\W+", "_", name)[:40].strip("_")

    def is_same(self, other: Crs) -> bool:
        """Tell whether two are known to be the same system, the order of its axes apart."""
        return self._compared(other) is True

    def differs(self, other: Crs) -> bool:
        """Tell whether two are known to be different systems."""
        return self._compared(other) is False

    def _compared(self, other: Crs) -> bool | None:
        """Return whether two are the same, None if that cannot be known."""
        if self.text == other.text:
            return True
        if installed_pyproj() is not None:
            mine, theirs = _parsed(self.text), _parsed(other.text)
            return _is_same(mine, theirs) if mine is not None and theirs is not None else None
        codes = _code_in(self.text), _code_in(other.text)
        if None not in codes:
            return codes[0] == codes[1]
        return False if self.key == other.key else None

    def grid_mapping(self) -> dict[str, Any]:
        """Return the attributes of a CF grid mapping variable (CF 1.12, section 5.6).

        Without pyproj a given WKT is passed on, and a code stays an attribute of its own.
        """
        parsed = _parsed(self.text) if installed_pyproj() is not None else None
        if parsed is not None:
            attributes: dict[str, Any] = parsed.to_cf()
            # What GDAL and older tools read.
            return {**attributes, "spatial_ref": attributes["crs_wkt"]}
        if _WKT.match(self.text):
            return {"crs_wkt": self.text, "spatial_ref": self.text}
        return {self.key: self.text}

    def axis_attributes(self) -> dict[str, dict[str, str]]:
        """Return what the coordinates along ``X`` and ``Y`` are: units, standard_name, axis."""
        parsed = _parsed(self.text) if installed_pyproj() is not None else None
        if parsed is None:
            geographic = self.is_geographic
            return {
                axis: {"axis": axis, **(attributes if geographic else {})}
                for axis, attributes in _GEOGRAPHIC_AXES.items()
            }
        axes = {axis["axis"]: dict(axis) for axis in parsed.cs_to_cf() if "axis" in axis}
        horizontal = [a for a in parsed.axis_info if a.direction in _HORIZONTAL]
        if parsed.is_geographic and any(axis.unit_name != "degree" for axis in horizontal):
            for attributes in axes.values():
                attributes.pop("units", None)  # pyproj says degrees whatever they are
        return {name: axes.get(name, {"axis": name}) for name in ("X", "Y")}


def crs_in(values: Mapping[str, Any]) -> Iterator[Crs]:
    """Yield the CRSs that the attributes or an object of `proj` give, most explicit first."""
    for key in CRS_KEYS:
        value = values.get(key)
        if isinstance(value, Mapping):
            yield Crs(key, json.dumps(value, sort_keys=True))
        elif isinstance(value, int) and not isinstance(value, bool):
            yield Crs(key, f"EPSG:{value}")
        elif isinstance(value, str) and value.strip():
            yield Crs(key, value)


def is_geographic(identity: Any, name: Any = None) -> bool:
    """Tell whether a CRS is known to be geographic.

    Parameters
    ----------
    identity : object
        A proj object.
    name : object
        The name of the CRS, used if there is no identity.
    """
    if isinstance(identity, Mapping):
        for crs in crs_in(identity):
            return crs.is_geographic
    return isinstance(name, str) and Crs("name", name).is_geographic


@cache
def installed_pyproj() -> Any:
    """Return pyproj, imported when a CRS is first met; None without the extra `geo`."""
    try:
        return import_module("pyproj")
    except ImportError:
        return None


@lru_cache(maxsize=128)
def _parsed(text: str) -> Any:
    pyproj = installed_pyproj()
    try:
        return pyproj.CRS.from_user_input(text)
    except (pyproj.exceptions.CRSError, ValueError):  # ValueError: text that is not Unicode
        return None


@lru_cache(maxsize=128)
def _is_same(mine: Any, theirs: Any) -> bool:
    if mine.equals(theirs, ignore_axis_order=True):
        return True
    # WKT1 says less than a code: where one has an authority, the other's best match counts.
    ours, others = mine.to_epsg(min_confidence=25), theirs.to_epsg(min_confidence=25)
    return ours is not None and ours == others


def _code_in(text: str) -> str | None:
    """Return the EPSG code that a text is, or that WKT ends in."""
    match = re.fullmatch(r"\s*EPSG:(\d+)\s*", text, re.IGNORECASE) or _AUTHORITY.search(text)
    return match[1] if match else None


def conflicting_grid_mapping(given: Mapping[str, Any], wanted: Mapping[str, Any]) -> str | None:
    """Return the attribute by which two CF grid mappings are of different CRSs, if any.

    Only what both say is compared: names of the mapping and its numbers.
    """
    for key, value in given.items():
        other = wanted.get(key)
        if key == "grid_mapping_name" and other is not None and other != value:
            return key
        if (
            isinstance(value, int | float)
            and isinstance(other, int | float)
            and not math.isclose(value, other, rel_tol=1e-6, abs_tol=1e-9)
        ):
            return key
    return None


def _type_of(projjson: str) -> object:
    try:
        value = json.loads(projjson)
    except ValueError:
        return None
    return value.get("type") if isinstance(value, dict) else None
