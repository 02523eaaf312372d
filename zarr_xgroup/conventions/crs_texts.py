"""Texts that name CRSs: which of them pyproj may be given, and what it needs besides.

PROJ opens the files that a text names as soon as it understands it: of its own parameters
(``+nadgrids=``, ``+init=``), but also of WKT and PROJJSON, where a transformation to another datum
is part of the CRS. With its network switched on it looks for them on a server, too. A store must
not choose which files are opened on the reader's machine, so what names one is not handed over.

Sources: PROJ, "Cartographic projection", "Resource files"; OGC 18-010r7 (WKT 2), section 9; PROJJSON
schema 0.7; the sources of PROJ (``io.cpp``), for what it takes from WKT 1.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_WKT = re.compile(r"\s*[A-Z][A-Z0-9_]*\s*[\[(].*", re.DOTALL | re.IGNORECASE)
#: Codes of an authority, of a horizontal system with a vertical one, also as URN or URL of OGC, and names.
_NAME = re.compile(r"[\w\ .:()/-]+|\w+:\w+\+\w+")

#: Where WKT names a file. Also ``null`` is looked for, on a server too.
_FILE_IN_WKT = re.compile("PARAMETERFILE|PROJ4_GRIDS", re.IGNORECASE)
#: Units of axes by the kind of coordinate system; in those that are left out, axes need none.
_UNITS = {"Cartesian": "metre", "vertical": "metre", "ellipsoidal": "degree", "spherical": "degree"}
_SPACES = " \t\n\r\f\v"
#: What stands behind an equals sign, up to a space or to a quote that is not doubled.
_VALUE = re.compile(r"""\A\s*((?:[^\s"]|"")*).*""", re.ASCII | re.DOTALL)
#: A number, several or an angle; a name that says what a CRS was made of may go on after it.
_NUMBER = re.compile(r"[-+.]?[0-9][-+.,0-9eEdrDR'\u00b0]*+[NSEWnsew]?[)\];:,.]*")
_LONGEST = 200
_WORD = re.compile(r"[A-Za-z][\w-]*", re.ASCII)
#: Parameters of PROJ whose value is a word that names no file.
_WORDS = frozenset(
    {"axis", "datum", "ellps", "o_proj", "pm", "proj", "sweep", "title", "type", "units", "vunits"}
)
#: Those that name files, which may be called as a number is.
_FILES = frozenset(
    {"catalog", "file", "geoidgrids", "grids", "init", "model", "xy_grids", "z_grids"}
)


def names_no_file(text: str) -> bool:
    """Tell whether a text is WKT, PROJJSON, a code or a name, and names no file."""
    if text.lstrip().startswith("{"):
        return _is_harmless_json(text)
    if _WKT.fullmatch(text):
        return _FILE_IN_WKT.search(text) is None and _has_harmless_parameters(text)
    return _NAME.fullmatch(text.strip()) is not None


def completed(text: str) -> str:
    """Return PROJJSON with a unit for each axis, and any other text as it is.

    Its schema has units optional. PROJ reads what has none, but not what it then writes of it:
    neither WKT nor parts of the CRS. Lengths are metres, and angles degrees.
    """
    if not text.lstrip().startswith("{"):
        return text
    value = json.loads(text)
    bare = list(_axes_without_unit(value))
    for kind, axis in bare:
        axis["unit"] = "metre" if axis.get("direction") in ("up", "down") else _UNITS[kind]
    return json.dumps(value, sort_keys=True) if bare else text


def _axes_without_unit(value: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the axes that need a unit and have none, each with the kind of its coordinate system."""
    for system in _objects(value):
        kind, axes = str(system.get("subtype")), system.get("axis")
        for axis in axes if kind in _UNITS and isinstance(axes, list) else ():
            if isinstance(axis, dict) and "unit" not in axis:
                yield kind, axis


def _is_harmless_json(text: str) -> bool:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    # pyproj takes an object with one of these for parameters of PROJ.
    if {"proj", "init"} & set(value):
        return False
    return all(_has_harmless_parameters(part) for part in _texts(value)) and not any(
        isinstance(part.get("value"), str)  # of a parameter that is a file
        for part in _objects(value)
    )


def _has_harmless_parameters(text: str) -> bool:
    """Tell whether the parameters of PROJ within a text are numbers, or words that are no files.

    They stand in the names of methods and in extensions of WKT 1.
    """
    pieces = text.split("=")
    keys = [re.split(r'[\s"]', piece.rstrip(_SPACES), flags=re.ASCII)[-1] for piece in pieces[:-1]]
    values = [_VALUE.sub(r"\1", piece) for piece in pieces[1:]]
    is_nested = any(not re.search(r'[\s"]', piece, re.ASCII) for piece in pieces[1:-1])
    return not is_nested and all(map(_is_harmless, keys, values))


def _is_harmless(key: str, value: str) -> bool:
    name = key.lstrip("+").lower()
    if name == "nadgrids":  # that of the Mercator projection of web maps
        return value == "@null"
    if len(value) > _LONGEST:
        return False
    if _NUMBER.fullmatch(value):
        return name not in _FILES
    return name in _WORDS and _WORD.fullmatch(value) is not None


def _parts(value: Any) -> Iterator[Any]:
    """Yield a JSON value and all that is in it, keys too."""
    pending = [value]
    while pending:
        part = pending.pop()
        yield part
        if isinstance(part, Mapping):
            pending += [*part, *part.values()]
        elif isinstance(part, list):
            pending += part


def _texts(value: Any) -> Iterable[str]:
    return (part for part in _parts(value) if isinstance(part, str))


def _objects(value: Any) -> Iterable[Mapping[str, Any]]:
    return (part for part in _parts(value) if isinstance(part, Mapping))
