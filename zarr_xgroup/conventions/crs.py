"""Coordinate reference systems: what they are, and what coordinates follow from them.

Texts are handed to pyproj, and what it answers is kept by text: stores say the same of many arrays.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import import_module
from types import MappingProxyType
from typing import Any

from zarr_xgroup.conventions.crs_texts import completed, names_no_file
from zarr_xgroup.metadata.nodes import OBJECT

#: The members of a proj object, and of the attributes of `proj`, most explicit first.
PROJJSON, WKT, CODE, EPSG = CRS_KEYS = ("proj:projjson", "proj:wkt2", "proj:code", "proj:epsg")

#: Of how many texts is kept what they mean.
_KEPT = 1024

#: Which coordinate lies along an axis, by where the axis runs.
ALONG = {"east": "X", "west": "X", "north": "Y", "south": "Y"}

#: How UDUNITS calls units of length, by their length in metres.
_LENGTHS = {1.0: "m", 1000.0: "km", 0.3048: "foot", 1200 / 3937: "US_survey_foot"}
#: The same by names that it does not know, or that tools do not.
_LENGTH_NAMES = {
    **dict.fromkeys(("metre", "metres", "meter", "meters"), "m"),
    **dict.fromkeys(("us survey foot", "us survey feet"), "US_survey_foot"),
}


@dataclass(frozen=True)
class Crs:
    """A coordinate reference system as it is written.

    Attributes
    ----------
    key : str
        Where it is written: one of `CRS_KEYS`, ``name``, or a key of another convention.
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
        """What pyproj calls it, or the text itself if that is not understood."""
        parsed = _parsed(self.text)
        return self.text if parsed is None else str(parsed.name)

    @property
    def code(self) -> str | None:
        """Its authority and code (``EPSG:32633``), if it has one."""
        authority = _authority(self.text)
        return None if authority is None else ":".join(authority)

    @property
    def is_geographic(self) -> bool:
        """Whether it is known to be geographic: its axes are longitude and latitude.

        A rotated pole is not, nor is what cannot be understood.
        """
        parsed = _parsed(self.text)
        return parsed is not None and bool(parsed.is_geographic) and not parsed.is_derived

    @property
    def is_north_first(self) -> bool:
        """Whether its first axis is known to run north or south, as that of EPSG:4326."""
        parsed = _parsed(self.text)
        axes = [] if parsed is None else parsed.axis_info
        return bool(axes) and axes[0].direction in ("north", "south")

    @property
    def variable_name(self) -> str:
        """A name for a variable that stands for it: its code, or what it is called."""
        return _variable_name(self.text)

    def is_same(self, other: Crs) -> bool:
        """Tell whether two are known to be the same system, the order of its axes apart."""
        return _compared(self.text, other.text) is True

    def differs(self, other: Crs) -> bool:
        """Tell whether two are known to be different systems."""
        return _compared(self.text, other.text) is False

    def grid_mapping(self) -> Mapping[str, Any]:
        """Return the attributes of a CF grid mapping variable (CF 1.12, section 5.6), read-only.

        What is not understood stays an attribute of the key it is written under.
        """
        return _grid_mapping(self.text) or MappingProxyType({self.key: self.text})

    def axis_attributes(self) -> dict[str, dict[str, str]]:
        """Return what the coordinates along ``X`` and ``Y`` are: units, standard_name, axis."""
        return {axis: dict(found) for axis, found in _axis_attributes(self.text).items()}


def crs_in(values: Mapping[str, Any], keys: Iterable[str] = CRS_KEYS) -> Iterator[Crs]:
    """Yield the CRSs that attributes or an object give under keys, by default those of `proj`."""
    for key in keys:
        if key not in values:
            continue
        value = values[key]
        if isinstance(value, OBJECT):
            yield Crs(key, json.dumps(value, sort_keys=True))
        elif isinstance(value, int) and not isinstance(value, bool):
            yield Crs(key, f"EPSG:{value}")
        elif isinstance(value, str) and value.strip():
            yield Crs(key, value)


def likeness(crs: Crs) -> Hashable:
    """Return what all systems share that are the same, and others may: what to look for them by."""
    return _likeness(crs.text)


def is_geographic(identity: Any, name: Any = None) -> bool:
    """Tell whether a CRS is known to be geographic: by a proj object, else by its name."""
    if isinstance(identity, OBJECT):
        for crs in crs_in(identity):
            return crs.is_geographic
    return isinstance(name, str) and Crs("name", name).is_geographic


def cf_length(unit: str) -> str:
    """Return a unit of length as UDUNITS and tools read it, any other unit as it is.

    Parameters
    ----------
    unit : str
        A name, ``metre``, or as pyproj says it, ``0.3048 metre``.
    """
    number, _space, name = unit.strip().rpartition(" ")
    if name != "metre" or not number:
        return _LENGTH_NAMES.get(unit.strip().lower(), unit)
    try:
        length = float(number)
    except ValueError:
        return unit
    known = (it for metres, it in _LENGTHS.items() if math.isclose(length, metres, rel_tol=1e-9))
    return next(known, f"{number} m")


def horizontal_unit(name: str) -> str:
    """Return a unit of length or angle by one of its names."""
    return "degree" if name.lower().startswith("degree") else cf_length(name)


@cache
def _pyproj() -> Any:
    # Imported when a CRS is first met: that takes some 45 ms, which opens without one do not need.
    return import_module("pyproj")


@lru_cache(_KEPT)
def _parsed(text: str) -> Any:
    """Return what pyproj makes of a text, None if it does not understand or must not see it."""
    if not names_no_file(text):
        return None
    pyproj = _pyproj()
    try:
        parsed = pyproj.CRS.from_user_input(completed(text))
        # PROJ reads more than it can then tell the parts of.
        _parts = parsed.sub_crs_list, parsed.is_bound and parsed.source_crs
    except (pyproj.exceptions.CRSError, ValueError):  # ValueError: also text that is not Unicode
        return None
    return parsed


@lru_cache(_KEPT)
def _authority(text: str) -> tuple[str, str] | None:
    # Kept, as PROJ compares a system that it does not know with all that it knows.
    parsed = _parsed(text)
    return None if parsed is None else parsed.to_authority()


@lru_cache(_KEPT)
def _variable_name(text: str) -> str:
    parsed, authority = _parsed(text), _authority(text)
    if authority is not None:
        return "_".join(authority)
    name = text if parsed is None else parsed.name
    return re.sub(r"\W+", "_", name)[:40].strip("_")


@lru_cache(_KEPT)
def _compared(text: str, other: str) -> bool | None:
    """Return whether two are the same, None if that cannot be known."""
    if text == other:
        return True
    mine, theirs = _parsed(text), _parsed(other)
    if mine is None or theirs is None:
        return None
    if mine.equals(theirs, ignore_axis_order=True):
        return True
    is_shifted = mine.is_bound and theirs.is_bound
    if is_shifted and mine.coordinate_operation != theirs.coordinate_operation:
        return False
    mine, theirs = _without_formalities(text), _without_formalities(other)
    if mine.equals(theirs, ignore_axis_order=True):
        return True
    # WKT1 says less than a code: what is equivalent to the system of the same code is the same.
    code = mine.to_epsg()
    return code is not None and code == theirs.to_epsg()


@lru_cache(_KEPT)
def _without_formalities(text: str) -> Any:
    """Return a system without its code and its shift to another one, with axes along X, Y, others.

    WKT1 often leaves out the order of axes, and may say ``TOWGS84``, which no code does.
    """
    parsed, pyproj = _parsed(text), _pyproj()
    try:
        described = (parsed.source_crs if parsed.is_bound else parsed).to_json_dict()
        return pyproj.CRS.from_json_dict(_without_order(described))
    except (
        pyproj.exceptions.CRSError,
        ValueError,
    ):  # what PROJ writes may be no JSON, or not be read
        return parsed


def _without_order(described: dict[str, Any]) -> dict[str, Any]:
    """Return PROJJSON, which is changed, without codes and with axes along X, Y, others."""
    for part in (described, *described.get("components", ())):
        part.pop("id", None)
        axes = part.get("coordinate_system", {}).get("axis", [])
        axes.sort(key=lambda axis: ALONG.get(axis["direction"], "Z"))
    return described


@lru_cache(_KEPT)
def _likeness(text: str) -> Hashable:
    """Return what all systems have in common that are compared as the same."""
    if _parsed(text) is None:
        return text
    system = _without_formalities(text)
    return frozenset(
        number for part in system.sub_crs_list or [system] for number in _numbers(part)
    )


def _numbers(system: Any) -> Iterator[str]:
    """Yield the numbers that say what a system is, in units of SI, as far as these are exact.

    Not 0 and 1, which one method of projection has as a parameter and another one does not. Angles
    may be a turn apart.
    """
    operation, ellipsoid = system.coordinate_operation, system.ellipsoid
    found = [axis.unit_conversion_factor for axis in system.axis_info]
    if operation is not None:
        found += [it.value * it.unit_conversion_factor for it in operation.params]
    if ellipsoid is not None:
        found += [ellipsoid.semi_major_metre, ellipsoid.inverse_flattening]
    turned = (number % math.tau if abs(number) < math.tau else number for number in found)
    return (f"{number:.8g}" for number in turned if number not in (0, 1))


@lru_cache(_KEPT)
def _grid_mapping(text: str) -> Mapping[str, Any]:
    parsed = _parsed(text)
    if parsed is None:
        return MappingProxyType({})
    try:
        attributes: dict[str, Any] = parsed.to_cf()
    except (
        KeyError,
        ValueError,
        TypeError,
        _pyproj().exceptions.CRSError,
    ):  # a parameter is missing
        attributes = {"crs_wkt": parsed.to_wkt()}
    # What GDAL and older tools read.
    return MappingProxyType({**attributes, "spatial_ref": attributes["crs_wkt"]})


@lru_cache(_KEPT)
def _axis_attributes(text: str) -> dict[str, dict[str, str]]:
    parsed = _parsed(text)
    # pyproj takes an axis of geocentric coordinates for a northing.
    if parsed is None or parsed.is_geocentric:
        return {name: {"axis": name} for name in ("X", "Y")}
    axes = _axes_by_direction(parsed)
    are_known = completed(text) == text and _are_units_known(parsed)
    for attributes in axes.values():
        if not are_known:
            attributes.pop("units", None)
        elif "units" in attributes:
            attributes["units"] = cf_length(attributes["units"])
    return {name: axes.get(name, {"axis": name}) for name in ("X", "Y")}


def _are_units_known(parsed: Any) -> bool:
    """Tell whether pyproj knows the units of horizontal axes: it says degrees of any geographic ones."""
    units = {axis.unit_name for axis in parsed.axis_info if axis.direction in ALONG}
    return not parsed.is_geographic or units <= {"degree"}


def _axes_by_direction(parsed: Any) -> dict[str, dict[str, str]]:
    """Return what pyproj says of the axes along ``X`` and ``Y``, nothing if they cannot be told apart.

    It goes by their names, and takes those for ``Y`` that it does not know, ``AXIS["X",EAST]``, and
    the height of a projected system, too. Horizontal axes are the first two.
    """
    try:
        said = [dict(axis) for axis in parsed.cs_to_cf()[:2] if axis.get("axis") in ("X", "Y")]
    except KeyError:  # they have no unit
        return {}
    meant = _directed(parsed.axis_info[:2])
    if len(meant) == len(said):
        said = [_as_x(it) if name == "X" else it for it, name in zip(said, meant, strict=True)]
    axes = {axis["axis"]: axis for axis in said}
    return axes if len(axes) == 2 else {}


def _directed(axes: Sequence[Any]) -> list[str]:
    """Return ``X`` and ``Y`` in the order of the axes along them, nothing if that is not known.

    Towards a pole both axes run the same way, or as GDAL wrote it for years, in none that is known:
    ``AXIS["X",UNKNOWN]``. Then their names count.
    """
    ways = ([ALONG.get(it.direction, "") for it in axes], [it.name for it in axes])
    return next((names for names in ways if sorted(names) == ["X", "Y"]), [])


def _as_x(said: Mapping[str, str]) -> dict[str, str]:
    """Return what pyproj says of an axis as it would if it took that for the one along ``X``."""
    names = {
        key: said[key].replace("latitude", "longitude").replace("projection_y", "projection_x")
        for key in ("standard_name", "long_name")
    }
    return {**said, **names, "axis": "X"}
