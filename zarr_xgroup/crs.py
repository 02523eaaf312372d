"""Coordinate reference systems, as far as coordinates depend on them.

pyproj does the work where it is installed; without it what the text itself says is used.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

pyproj: Any
try:
    import pyproj
except ImportError:  # the extra `geo` is not installed
    pyproj = None

_GEOGRAPHIC_WKT = re.compile(
    r"\s*(GEOGCRS|GEOGRAPHICCRS|GEODCRS|GEODETICCRS|GEOGCS)\b", re.IGNORECASE
)
_WKT = re.compile(r"\s*[A-Z_]+\s*\[", re.IGNORECASE)
#: A rotated pole, or geocentric axes.
_NOT_PLAIN = re.compile(r"BASEGEO|DERIVINGCONVERSION|CS\[Cartesian", re.IGNORECASE)
_GEOGRAPHIC_NAMES = {"wgs84", "epsg:4326", "ogc:crs84", "crs84", "epsg:4258", "epsg:4269"}


def is_geographic(identity: Any, name: Any = None) -> bool:
    """Tell whether a CRS is known to be geographic (its axes are longitude and latitude).

    Parameters
    ----------
    identity : object
        A proj object: ``proj:code``, ``proj:wkt2``, ``proj:projjson`` or ``proj:epsg``.
    name : object
        The name of the CRS, used if there is no identity.

    Returns
    -------
    bool
        False also for what cannot be understood, and for a rotated pole.
    """
    if isinstance(identity, Mapping):
        for key in ("proj:projjson", "proj:wkt2", "proj:code", "proj:epsg"):
            if identity.get(key) is not None:
                return _is_geographic_text(_as_text(identity[key]))
    return isinstance(name, str) and _is_geographic_text(name)


def _as_text(value: Any) -> str:
    if isinstance(value, Mapping):
        return json.dumps(value, sort_keys=True)
    if isinstance(value, int):
        return f"EPSG:{value}"
    return str(value)


def _type_of(projjson: str) -> object:
    try:
        value = json.loads(projjson)
    except ValueError:
        return None
    return value.get("type") if isinstance(value, dict) else None


@lru_cache(maxsize=64)
def _is_geographic_text(text: str) -> bool:
    if pyproj is not None:
        try:
            crs = pyproj.CRS.from_user_input(text)
        except (pyproj.exceptions.CRSError, ValueError):  # ValueError: text that is not Unicode
            return False
        return bool(crs.is_geographic) and not crs.is_derived
    if text.startswith("{"):
        return _type_of(text) == "GeographicCRS"
    if _WKT.match(text):
        return bool(_GEOGRAPHIC_WKT.match(text)) and not _NOT_PLAIN.search(text)
    return re.sub(r"\s", "", text).lower() in _GEOGRAPHIC_NAMES
