"""What the attributes of `spatial` say: each is described once, wherever it stands.

Source: spatial convention (zarr-conventions/spatial).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

from affine import Affine

from zarr_xgroup.conventions.descriptions import (
    UNUSABLE,
    Attribute,
    Field,
    Kind,
    Parsed,
    Reader,
    Schema,
    shown,
)
from zarr_xgroup.conventions.values import finite_numbers
from zarr_xgroup.errors import Rule
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Fragment
from zarr_xgroup.redaction import redact

DOCUMENT = "spatial convention (zarr-conventions/spatial)"

NAMES = Rule("spatial/dimensions", DOCUMENT, "spatial:dimensions")
OF_ARRAY = Rule("spatial/dimensions-of-the-array", DOCUMENT, "spatial:dimensions")
REQUIRED = Rule("spatial/dimensions-required", DOCUMENT, "spatial:dimensions")
Y_FIRST = Rule("spatial/order-of-dimensions", DOCUMENT, "spatial:dimensions")
NUMBERS = Rule("spatial/transform", DOCUMENT, "spatial:transform")
ORDER = Rule("spatial/order-of-transform", DOCUMENT, "spatial:transform")
TYPE = Rule("spatial/transform-type", DOCUMENT, "spatial:transform_type")
PIXEL_OR_NODE = Rule("spatial/registration", DOCUMENT, "spatial:registration")
SIDES = Rule("spatial/bbox", DOCUMENT, "spatial:bbox")
BOX_OF_GRID = Rule("spatial/bbox-of-the-grid", DOCUMENT, "spatial:bbox")
SIZES = Rule("spatial/shape", DOCUMENT, "spatial:shape")
SHAPE_OF_ARRAY = Rule("spatial/shape-of-the-array", DOCUMENT, "spatial:shape")

RULES = (
    NAMES,
    OF_ARRAY,
    REQUIRED,
    Y_FIRST,
    NUMBERS,
    ORDER,
    TYPE,
    PIXEL_OR_NODE,
    SIDES,
    BOX_OF_GRID,
    SIZES,
    SHAPE_OF_ARRAY,
)

#: Where the centre of a cell is in its index, by registration.
CENTRES = {"pixel": 0.5, "node": 0.0}

#: How much of a wrong value a message shows.
_SHOWN = 100


def usable(affine: Affine, place: Fragment) -> Affine:
    """Return a transform if cells have an area by it, else raise XGroupMetadataError."""
    area = affine.a * affine.e - affine.b * affine.d
    if area == 0 or not math.isfinite(area):
        raise place.error(_("is degenerate: cells have no area"))
    return affine


def _names(written: Fragment) -> tuple[str, str]:
    names = written.value
    if not (isinstance(names, list) and len(names) == 2 and names[0] != names[1]) or not all(
        isinstance(name, str) for name in names
    ):
        message = _("must be the names of two dimensions, got {value}")
        raise written.error(message.format(value=redact(str(names))[:_SHOWN]))
    return names[0], names[1]


def _affine(written: Fragment) -> Affine:
    return usable(Affine(*finite_numbers(written, 6)), written)


def _centre(written: Fragment) -> float:
    name = written.as_text()
    if name not in CENTRES:
        raise written.error(_("must be 'pixel' or 'node', got {name!r}").format(name=name))
    return CENTRES[name]


@dataclass(frozen=True)
class _Box(Kind):
    """Four numbers: a box, which should have an area; zeros stand for none."""

    def read(self, value: Fragment, field: Field, reader: Reader) -> Any:
        """Return the numbers."""
        box = _FOUR_NUMBERS.read(value, field, reader)
        # A box across the antimeridian ends west of where it begins.
        if box is not UNUSABLE and (box[0] == box[2] or box[1] >= box[3]):
            reader.object_to(
                value,
                _("{value} spans no area").format(value=shown(value.value)),
                _('write "spatial:bbox": [xmin, ymin, xmax, ymax] of the grid, or leave it out'),
                field=field,
                severity="warning",
                is_used=True,
            )
        return box

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        """Return the JSON Schema."""
        return _FOUR_NUMBERS.schema(definitions)


def _sizes(written: Fragment) -> tuple[int, int]:
    sizes = written.value
    if not (isinstance(sizes, list) and len(sizes) == 2 and all(map(_is_size, sizes))):
        message = _("must be two positive integers, got {value}")
        raise written.error(message.format(value=shown(sizes)))
    return sizes[0], sizes[1]


def _is_size(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and number > 0


def _list_of(kind: str, count: int) -> Schema:
    return {"type": "array", "items": {"type": kind}, "minItems": count, "maxItems": count}


_FOUR_NUMBERS = Parsed(partial(finite_numbers, count=4), _list_of("number", 4))

DIMENSIONS = Attribute(
    "spatial:dimensions",
    Parsed(_names, _list_of("string", 2) | {"uniqueItems": True}),
    NAMES,
    '"spatial:dimensions": ["y", "x"]',
)
TRANSFORM = Attribute(
    "spatial:transform",
    Parsed(_affine, _list_of("number", 6)),
    NUMBERS,
    '"spatial:transform": [a, b, c, d, e, f], by which x = a*column + b*row + c and '
    "y = d*column + e*row + f",
    is_needed=False,
)
TRANSFORM_TYPE = Attribute(
    "spatial:transform_type",
    Parsed(Fragment.as_text, {"type": "string"}),
    TYPE,
    '"spatial:transform_type": "affine"',
    is_needed=False,
)
REGISTRATION = Attribute(
    "spatial:registration",
    Parsed(_centre, {"enum": list(CENTRES)}),
    PIXEL_OR_NODE,
    '"spatial:registration": "pixel"',
    is_needed=False,
)
BOX = Attribute(
    "spatial:bbox",
    _Box(),
    SIDES,
    '"spatial:bbox": [xmin, ymin, xmax, ymax]',
    is_needed=False,
)
SHAPE = Attribute(
    "spatial:shape",
    Parsed(_sizes, _list_of("integer", 2)),
    SIZES,
    '"spatial:shape": [height, width]',
    severity="warning",
    is_needed=False,
)

#: All attributes of the convention, of arrays, groups and items of layouts.
ATTRIBUTES = (DIMENSIONS, TRANSFORM, TRANSFORM_TYPE, REGISTRATION, BOX, SHAPE)
