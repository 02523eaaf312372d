"""The attribute ``proj:transform``: of the first version of `proj`, and of STAC if `proj` is assumed.

In the first version of the convention, ``proj:spatial_dimensions`` of arrays or groups names the dimensions of the
transform. Arrays of EOPF products have ``proj:transform``, ``proj:shape`` and ``proj:bbox`` of the projection
extension of STAC. The convention no longer defines these attributes, and they often belong to a different grid. They
are used only if a user assumes `proj`, and only for arrays of exactly that shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from zarr_xgroup.conventions.affine import (
    Transform,
    affine_of,
    coordinates_along,
    interpret_grid,
    require_cell_area,
)
from zarr_xgroup.conventions.array import ArrayView, NodeView, has_coordinate
from zarr_xgroup.conventions.axes import (
    dims_named,
    names_of_last_axes,
    report_order,
    rows_and_columns,
)
from zarr_xgroup.conventions.base import Marks
from zarr_xgroup.conventions.crs import CRS_KEYS
from zarr_xgroup.conventions.descriptions import shown, write
from zarr_xgroup.conventions.model import Interpretation
from zarr_xgroup.conventions.multiscales import scopes_of
from zarr_xgroup.conventions.proj import ProjHandler
from zarr_xgroup.conventions.values import finite_numbers, is_finite
from zarr_xgroup.conventions.written_grids import WrittenGrid
from zarr_xgroup.errors import Rule, XGroupMetadataError
from zarr_xgroup.findings import Finding, Topic, new_finding
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Fragment, Node

OF_ARRAY = Rule(
    "proj/of-the-array",
    "proj convention (zarr-conventions/proj)",
    "proj:shape, proj:transform, proj:bbox (first version)",
)

#: The attribute of the first version that names the dimensions along Y and X.
_DIMENSIONS = "proj:spatial_dimensions"

#: The last row of a transform that is written as a 3 x 3 matrix.
_LAST_ROW = [0.0, 0.0, 1.0]


class StacProjHandler(ProjHandler):
    """Returns the CRS of an array, and attaches coordinates that are computed from ``proj:transform``."""

    rules = (*ProjHandler.rules, OF_ARRAY)
    reads = ("grid_mapping",)

    @classmethod
    def marks(cls, array: ArrayView) -> Marks | None:
        """Return the dimensions of the grid if ``proj:transform`` is for the array's shape, and whether there is a CRS."""
        scopes = scopes_of(array)
        places = scopes.own if len(array.dims) < 2 else scopes.all
        has_crs = any(place.get(key) is not None for place in places for key in CRS_KEYS)
        if array.attribute("proj:transform") is None:
            return Marks(has_crs=True) if has_crs else None
        shape, dims = array.attribute("proj:shape"), rows_and_columns(array, _names(array)) or ()
        is_of_array = shape is None or shape.value == [array.sizes[dim] for dim in dims]
        return Marks(dims if is_of_array else (), has_crs)

    def interpret(self, array: ArrayView) -> Interpretation:
        """Return the CRS, and coordinates from ``proj:transform``.

        The transform is used if ``proj:spatial_dimensions`` names two dimensions of the array, or `proj` is assumed.
        """
        names = _names(array)
        dims, named = rows_and_columns(array, names), dims_named(array.dims, names)
        is_named = named is not None and self.applies(array)
        if dims is None or not (is_named or self.name in array.assumed):
            return super().interpret(array)
        attribute = scopes_of(array).get if is_named else array.attribute
        cost = partial(coordinates_along, dims)
        transform = array.try_reporting(_transform_of_array, array, dims, attribute, cost=cost)
        if transform is None:
            return super().interpret(array)
        written = scopes_of(array).get(_DIMENSIONS)
        if written is not None and named not in (None, dims):
            report_order(array, written, dims, OF_ARRAY)
        return interpret_grid(array, dims, transform)

    @classmethod
    def check(cls, subject: NodeView) -> Iterator[Finding]:
        """Report a ``proj:shape`` that is not the array's, or a transform whose grid does not fill ``proj:bbox``."""
        if not (subject.is_array and len(subject.dims) > 1 and cls in subject.declared_around):
            return

        def numbers(key: str, *counts: int) -> Fragment | None:
            written = subject.attribute(key)
            if written is None or not isinstance(written.value, list):
                return None
            is_valid = len(written.value) in counts and all(map(is_finite, written.value))
            return written if is_valid else None

        dims = rows_and_columns(subject, _names(subject))
        shape_of_grid = [subject.sizes[dim] for dim in dims] if dims else subject.shape[-2:]
        sizes = [height, width] = list(shape_of_grid)
        shape, box = numbers("proj:shape", 2), numbers("proj:bbox", 4)
        transform, grid = numbers("proj:transform", 6, 9), cls.written_grid(subject)
        own = "the array's own proj:transform, proj:bbox, or leave them out"
        if shape is not None and shape.value != sizes:
            text = f"is {shown(shape.value)}, but the array has {shown(sizes)} cells"
            remedy = f"{write('proj:shape', sizes)}, and {own}"
            yield new_finding(OF_ARRAY, shape, text, remedy, severity="warning")
        elif transform is not None and box is not None:
            a, b, _c, d, e, _f = map(abs, transform.value[:6])
            left, bottom, right, top = box.value
            spans = [a * width + b * height, d * width + e * height]
            box_spans = [abs(right - left), abs(top - bottom)]
            if abs(spans[0] - box_spans[0]) > a + b or abs(spans[1] - box_spans[1]) > d + e:
                text = f"gives the grid the extent {shown(spans)}, but proj:bbox {shown(box_spans)}"
                yield new_finding(OF_ARRAY, transform, text, f"write {own}", severity="warning")
            elif grid is not None and any(box.value):
                yield from filter(None, [grid.finding_of_box(box, box.value, OF_ARRAY)])

    @classmethod
    def written_grid(cls, array: NodeView) -> WrittenGrid | None:
        """Return the grid of the ``proj:transform`` of an array, None if it is not for the array's shape, or unusable."""
        written, dims = array.attribute("proj:transform"), rows_and_columns(array, _names(array))
        if cls not in array.declared_around or written is None or dims is None:
            return None
        sizes = array.sizes[dims[0]], array.sizes[dims[1]]
        of_shape = array.attribute("proj:shape")
        if of_shape is not None and of_shape.value != list(sizes):
            return None
        with suppress(XGroupMetadataError):  # reported when coordinates are computed from it
            return WrittenGrid(written, _parsed_transform(written), dims, sizes)
        return None

    def axis_names(self, array: ArrayView) -> tuple[str, ...]:
        """Return the names of an array's Y and X axes by ``proj:spatial_dimensions``; () if it is not declared."""
        return names_of_last_axes(array, _names(array)) if self.applies(array) else ()


#: The convention to assume so that its transforms are used.
TO_BE_ASSUMED = StacProjHandler.name


def _names(array: NodeView) -> tuple[str, ...]:
    """Return the names in ``proj:spatial_dimensions`` (first version of `proj`): Y, then X; () without them."""
    declared = scopes_of(array).get(_DIMENSIONS)
    if declared is None or not isinstance(declared.value, list):
        return ()
    return tuple(name for name in declared.value if isinstance(name, str))


def _transform_of_array(
    array: ArrayView, dims: tuple[str, str], attribute: Callable[[str], Fragment | None]
) -> Transform | None:
    """Return the transform of ``proj:transform``; None if it is missing, or ``proj:shape`` is not the array's.

    Report such a shape if coordinates are missing because of it, and a ``proj:bbox`` that the grid does not fill.
    `attribute` returns the attribute of a key.
    """
    written, shape, box = (attribute(f"proj:{key}") for key in ("transform", "shape", "bbox"))
    if written is None:
        return None
    sizes = array.sizes[dims[0]], array.sizes[dims[1]]
    if shape is not None and shape.value != list(sizes):
        if not all(has_coordinate(array, dim) for dim in dims):
            message = _("is {shape}, but the array has {sizes} cells; proj:transform is not used")
            text = message.format(sizes=list(sizes), shape=shape.value)
            array.report(Topic.CHOICE, shape, text, severity="error")
        return None
    transform = _parsed_transform(written)
    sides = None if box is None else array.try_reporting(finite_numbers, box, 4)
    # Products write zeros if they have no box.
    if box and sides and any(sides) and not transform.fills(sides, sizes):
        message = _("is {box}, but proj:transform gives {actual}, which is used")
        text = message.format(box=sides, actual=transform.extent(sizes))
        array.report(Topic.CHOICE, box, text)
    return transform


def transform_of_stac(
    array: Node, attributes: Mapping[str, Any], sizes: Sequence[int]
) -> Transform | None:
    """Return the transform of ``proj:transform``, given an array's attributes and its rows and columns.

    None if it is missing or cannot be used, or if ``proj:shape`` is missing or has other sizes.
    """
    members = Fragment(array, ("attributes",), attributes)
    written, shape = members.get("proj:transform"), members.get("proj:shape")
    if written is None or shape is None or shape.value != list(sizes):
        return None
    with suppress(XGroupMetadataError):  # reported when coordinates are computed from it
        return _parsed_transform(written)
    return None


def _parsed_transform(written: Fragment) -> Transform:
    """Return a transform of six numbers, or nine with its last row, or raise XGroupMetadataError."""
    count = 9 if len(written.as_list()) == 9 else 6
    numbers = finite_numbers(written, count)
    if numbers[6:] not in ([], _LAST_ROW):
        raise written.error(_("is not an affine transform: its last row must be 0, 0, 1"))
    return Transform(require_cell_area(affine_of(*numbers[:6]), written))
