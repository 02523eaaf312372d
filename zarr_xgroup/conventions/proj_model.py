"""Proj objects: how other conventions say which CRS they mean.

Source: proj convention (zarr-conventions/proj).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from zarr_xgroup.conventions.crs import CRS_KEYS, Crs
from zarr_xgroup.conventions.descriptions import (
    UNUSABLE,
    Attribute,
    Field,
    Kind,
    Parsed,
    Reader,
    ReferenceTo,
    Schema,
    got,
)
from zarr_xgroup.conventions.spelling import misspelt
from zarr_xgroup.errors import Rule
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import OBJECT, Fragment
from zarr_xgroup.metadata.references import is_reference

DOCUMENT = "proj convention (zarr-conventions/proj)"

OBJECT_OF_PROJ = Rule("proj/object", DOCUMENT, "Field details")

#: An authority and a code.
CODE_OF_AUTHORITY = re.compile(r"[^:]+:[^:]+")

_EXAMPLE = '{"proj:code": "EPSG:4326"}'


def code_of(value: object) -> str:
    """Return the code that a number or a text stands for, "" if it is none."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = f"EPSG:{value}"
    elif isinstance(value, str) and value.strip().isdigit():
        value = f"EPSG:{value.strip()}"
    if (
        isinstance(value, str)
        and CODE_OF_AUTHORITY.fullmatch(value)
        and Crs("proj:code", value).is_understood
    ):
        return value
    return ""


@dataclass(frozen=True)
class ProjObject(Kind):
    """A proj object, or a reference to one; it stays a `Part`."""

    def read(self, value: Fragment, field: Field, reader: Reader) -> Any:
        """Return the object with the way to it."""
        if is_reference(value.value):
            return value.part
        if not isinstance(value.value, OBJECT):
            code = code_of(value.value)
            example = f'{{"proj:code": "{code}"}}' if code else _EXAMPLE
            expected = _("a proj object such as {example}").format(example=_EXAMPLE)
            remedy = _("write {example}").format(example=example)
            reader.object_to(value, got(expected, value.value), remedy, rule=OBJECT_OF_PROJ)
            return UNUSABLE
        for key, meant in misspelt(value.value, CRS_KEYS, ("name", "type", "description")).items():
            reader.misspelt(Fragment(value.node, (*value.keys, key), None), meant)
        return value.part

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        """Return the JSON Schema."""
        proj = {"type": "object", "anyOf": [{"required": [key]} for key in CRS_KEYS]}
        return {"anyOf": [proj, ReferenceTo().schema(definitions)]}


#: What only the projection extension of STAC writes: beside these, ``proj:*`` is not the convention.
OF_STAC = tuple(f"proj:{key}" for key in ("epsg", "transform", "shape", "bbox", "centroid"))


def _described(key: str, schema: Schema, example: str) -> Attribute:
    """Return one of the attributes; which of them can be used is judged by all that there are."""
    kind = Parsed(lambda written: written.value, schema)
    return Attribute(
        f"proj:{key}", kind, OBJECT_OF_PROJ, f'"proj:{key}": {example}', unless=OF_STAC
    )


#: The attributes of arrays and groups.
ATTRIBUTES = (
    _described("code", {"type": "string", "pattern": CODE_OF_AUTHORITY.pattern}, '"EPSG:4326"'),
    _described("wkt2", {"type": "string"}, '"..."'),
    _described("projjson", {"type": "object"}, "{...}"),
)
