"""Validation of CRS texts: only texts that do not name a file are passed to pyproj.

PROJ opens the files that a text names when it parses the text: files in PROJ parameters (``+nadgrids=``, ``+init=``), and
files in WKT and PROJJSON, if the CRS includes a transformation to a different datum. If its network is enabled, it also
requests them from its server. A store must not choose which files are opened on the reader's machine.

Sources: PROJ, "Cartographic projection", "Resource files"; OGC 18-010r7 (WKT 2), section 9; PROJJSON schema 0.7;
the sources of PROJ (``io.cpp``), for the extensions of WKT 1 that it reads.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import pairwise

_WKT = re.compile(r"\s*[A-Z][A-Z0-9_]*\s*[\[(].*", re.DOTALL | re.IGNORECASE)
#: Names and codes: an authority and a code, a compound of two codes, or an OGC URN or URL.
_NAME = re.compile(r"[\w\ .:()/-]+|\w+:\w+\+\w+")

#: Keywords of WKT that name a file. PROJ also looks for a file named ``null``, on its server, too.
_FILE_IN_WKT = re.compile("PARAMETERFILE|PROJ4_GRIDS", re.IGNORECASE)
_SPACES = " \t\n\r\f\v"
#: The value after an equals sign, up to a space or a quote that is not doubled.
_VALUE = re.compile(r"""\A\s*((?:[^\s"]|"")*).*""", re.ASCII | re.DOTALL)
#: A number, several numbers or an angle. Punctuation may follow if the parameters are in the name of a CRS.
_NUMBER = re.compile(r"[-+.]?[0-9][-+.,0-9eEdrDR'\u00b0]*+[NSEWnsew]?[)\];:,.]*")
#: Longer values are refused: numbers and words of PROJ are shorter.
_LONGEST_VALUE = 200
_WORD = re.compile(r"[A-Za-z][\w-]*", re.ASCII)
#: PROJ parameters whose value is a word that does not name a file.
_WORDS = frozenset(
    {"axis", "datum", "ellps", "o_proj", "pm", "proj", "sweep", "title", "type", "units", "vunits"}
)
#: PROJ parameters whose value is a file name, even if it looks like a number.
_FILES = frozenset(
    {"catalog", "file", "geoidgrids", "grids", "init", "model", "xy_grids", "z_grids"}
)


def names_no_file(text: str) -> bool:
    """Return whether a text is WKT, PROJJSON, a code or a name, and does not name a file that PROJ would open."""
    if not text.lstrip().startswith("{"):
        if _WKT.fullmatch(text):
            return _FILE_IN_WKT.search(text) is None and _has_harmless_parameters(text)
        return _NAME.fullmatch(text.strip()) is not None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    # pyproj interprets an object with one of these keys as PROJ parameters.
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
                return False  # the text value of a method's parameter is a file name
            pending += [*part, *part.values()]
    return True


def _has_harmless_parameters(text: str) -> bool:
    """Return whether all PROJ parameters (``+key=value``) in a text are numbers or words that do not name a file.

    Names of methods and extensions of WKT 1 contain such parameters.
    """
    pieces = text.split("=")
    if any(not re.search(r'[\s"]', piece, re.ASCII) for piece in pieces[1:-1]):
        return False  # `a=b=c`: it is unknown which part PROJ uses as the value
    for before, after in pairwise(pieces):
        key = re.split(r'[\s"]', before.rstrip(_SPACES), flags=re.ASCII)[-1].lstrip("+").lower()
        value = _VALUE.sub(r"\1", after)
        if key == "nadgrids":
            is_harmless = value == "@null"  # no grid; in WKT of Web Mercator
        elif len(value) > _LONGEST_VALUE:
            is_harmless = False
        elif _NUMBER.fullmatch(value):
            is_harmless = key not in _FILES
        else:
            is_harmless = key in _WORDS and _WORD.fullmatch(value) is not None
        if not is_harmless:
            return False
    return True
