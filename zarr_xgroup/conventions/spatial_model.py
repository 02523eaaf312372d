"""What the attributes of `spatial` say: each is described once, wherever it stands.

Source: spatial convention (zarr-conventions/spatial).
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from affine import Affine

from zarr_xgroup.conventions.descriptions import (
    UNUSABLE,
    Attribute,
    Member,
    Parsed,
    Reader,
    shown,
)
from zarr_xgroup.conventions.values import finite_numbers
from zarr_xgroup.errors import Rule, rules_in
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Fragment

DOCUMENT = "spatial convention (zarr-conventions/spatial)"

NAMES = Rule("spatial/dimensions", DOCUMENT, "spatial:dimensions")
OF_ARRAY = Rule("spatial/dimensions-of-the-array", DOCUMENT, "spatial:dimensions")
REQUIRED = Rule("spatial/dimensions-required", DOCUMENT, "spatial:dimensions")
NUMBERS = Rule("spatial/transform", DOCUMENT, "spatial:transform")
ORDER = Rule("spatial/order-of-transform", DOCUMENT, "spatial:transform")
TYPE = Rule("spatial/transform-type", DOCUMENT, "spatial:transform_type")
PIXEL_OR_NODE = Rule("spatial/registration", DOCUMENT, "spatial:registration")
SIDES = Rule("spatial/bbox", DOCUMENT, "spatial:bbox")
BOX_OF_GRID = Rule("spatial/bbox-of-the-grid", DOCUMENT, "spatial:bbox")
SIZES = Rule("spatial/shape", DOCUMENT, "spatial:shape")
SHAPE_OF_ARRAY = Rule("spatial/shape-of-the-array", DOCUMENT, "spatial:shape")

RULES = rules_in(vars())

#: Where the centre of a cell is in its index, by registration.
CENTRES = {"pixel": 0.5, "node": 0.0}


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
        raise written.error(message.format(value=shown(names)))
    return names[0], names[1]


def _affine(written: Fragment) -> Affine:
    return usable(Affine(*finite_numbers(written, 6)), written)


def _centre(written: Fragment) -> float:
    name = written.as_text()
    if name not in CENTRES:
        raise written.error(_("must be 'pixel' or 'node', got {name!r}").format(name=name))
    return CENTRES[name]


class _Box(Parsed):
    """A box, of which a check reports that it has no area; zeros stand for none."""

    def read(self, value: Fragment, member: Member, reader: Reader) -> Any:
        """Return the numbers."""
        box = super().read(value, member, reader)
        # A box across the antimeridian ends west of where it begins; one of a single row of nodes has no height.
        if box is not UNUSABLE and (box[1] > box[3] or (box[0] == box[2] and box[1] == box[3])):
            reader.report(
                member,
                value,
                _("{value} spans no area").format(value=shown(value.value)),
                _("write {example} of the grid, or leave it out").format(example=BOX.example),
                severity="warning",
                value_kept=True,
            )
        return box


def _sizes(written: Fragment) -> tuple[int, int]:
    sizes = written.value
    if not (isinstance(sizes, list) and len(sizes) == 2 and all(map(_is_size, sizes))):
        message = _("must be two positive integers, got {value}")
        raise written.error(message.format(value=shown(sizes)))
    return sizes[0], sizes[1]


def _is_size(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and number > 0


DIMENSIONS = Attribute(
    "spatial:dimensions",
    Parsed(_names),
    NAMES,
    '"spatial:dimensions": ["y", "x"]',
)
TRANSFORM = Attribute(
    "spatial:transform",
    Parsed(_affine),
    NUMBERS,
    '"spatial:transform": [a, b, c, d, e, f], by which x = a*column + b*row + c and '
    "y = d*column + e*row + f",
    is_needed=False,
)
TRANSFORM_TYPE = Attribute(
    "spatial:transform_type",
    Parsed(Fragment.as_text),
    TYPE,
    '"spatial:transform_type": "affine"',
    is_needed=False,
)
REGISTRATION = Attribute(
    "spatial:registration",
    Parsed(_centre),
    PIXEL_OR_NODE,
    '"spatial:registration": "pixel"',
    is_needed=False,
)
BOX = Attribute(
    "spatial:bbox",
    _Box(partial(finite_numbers, count=4)),
    SIDES,
    '"spatial:bbox": [xmin, ymin, xmax, ymax]',
    is_needed=False,
)
SHAPE = Attribute(
    "spatial:shape",
    Parsed(_sizes),
    SIZES,
    '"spatial:shape": [height, width]',
    severity="warning",
    is_needed=False,
)

#: All attributes of the convention, of arrays, groups and items of layouts.
ATTRIBUTES = (DIMENSIONS, TRANSFORM, TRANSFORM_TYPE, REGISTRATION, BOX, SHAPE)
