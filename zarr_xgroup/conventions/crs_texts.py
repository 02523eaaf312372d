"""Texts of CRSs that pyproj may be given: they name no file that PROJ would open.

PROJ opens the files that a text names as soon as it parses the text: files in its own parameters (``+nadgrids=``,
``+init=``), and files in WKT and PROJJSON, where a transformation to another datum is part of the CRS. If its
network is switched on, it also asks its server for them. A store must not choose which files are opened on the
reader's machine.

Sources: PROJ, "Cartographic projection", "Resource files"; OGC 18-010r7 (WKT 2), section 9; PROJJSON schema 0.7;
the sources of PROJ (``io.cpp``), for the extensions of WKT 1 that it reads.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import pairwise

_WKT = re.compile(r"\s*[A-Z][A-Z0-9_]*\s*[\[(].*", re.DOTALL | re.IGNORECASE)
#: Codes of an authority, of a horizontal system with a vertical one, also as URN or URL of OGC, and names.
_NAME = re.compile(r"[\w\ .:()/-]+|\w+:\w+\+\w+")

#: Where WKT names a file. Also ``null`` is looked for, on a server too.
_FILE_IN_WKT = re.compile("PARAMETERFILE|PROJ4_GRIDS", re.IGNORECASE)
_SPACES = " \t\n\r\f\v"
#: The value behind an equals sign, up to a space or to a quote that is not doubled.
_VALUE = re.compile(r"""\A\s*((?:[^\s"]|"")*).*""", re.ASCII | re.DOTALL)
#: A number, several or an angle; punctuation may follow where parameters stand within the name of a CRS.
_NUMBER = re.compile(r"[-+.]?[0-9][-+.,0-9eEdrDR'\u00b0]*+[NSEWnsew]?[)\];:,.]*")
#: Parameters with longer values are treated as harmful: no number or word of PROJ is as long.
_LONGEST_VALUE = 200
_WORD = re.compile(r"[A-Za-z][\w-]*", re.ASCII)
#: Parameters of PROJ whose value is a word that names no file.
_WORDS = frozenset(
    {"axis", "datum", "ellps", "o_proj", "pm", "proj", "sweep", "title", "type", "units", "vunits"}
)
#: Parameters of PROJ whose value is a file, be it that its name looks like a number.
_FILES = frozenset(
    {"catalog", "file", "geoidgrids", "grids", "init", "model", "xy_grids", "z_grids"}
)


def names_no_file(text: str) -> bool:
    """Return whether a text is WKT, PROJJSON, a code or a name, without a file that PROJ would open."""
    if not text.lstrip().startswith("{"):
        if _WKT.fullmatch(text):
            return _FILE_IN_WKT.search(text) is None and _has_harmless_parameters(text)
        return _NAME.fullmatch(text.strip()) is not None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    # pyproj takes an object with one of these for parameters of PROJ.
    if {"proj", "init"} & set(value):
        return False
    pending = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, str) and not _has_harmless_parameters(part):
            return False
        if isinstance(part, list):
            pending += part
        elif isinstance(part, Mapping):
            if isinstance(part.get("value"), str):
                return (
                    False  # the parameter of a method in PROJJSON: numbers, or the name of a file
                )
            pending += [*part, *part.values()]
    return True


def _has_harmless_parameters(text: str) -> bool:
    """Return whether all parameters of PROJ (``+key=value``) in a text have numbers, or words that name no file.

    Such parameters are in the names of methods and in extensions of WKT 1.
    """
    pieces = text.split("=")
    if any(not re.search(r'[\s"]', piece, re.ASCII) for piece in pieces[1:-1]):
        return False  # `a=b=c`: it is not known which part PROJ takes for the value
    for before, after in pairwise(pieces):
        key = re.split(r'[\s"]', before.rstrip(_SPACES), flags=re.ASCII)[-1].lstrip("+").lower()
        value = _VALUE.sub(r"\1", after)
        if key == "nadgrids":
            is_harmless = value == "@null"  # no grid: WKT of Web Mercator has it
        elif len(value) > _LONGEST_VALUE:
            is_harmless = False
        elif _NUMBER.fullmatch(value):
            is_harmless = key not in _FILES
        else:
            is_harmless = key in _WORDS and _WORD.fullmatch(value) is not None
        if not is_harmless:
            return False
    return True
