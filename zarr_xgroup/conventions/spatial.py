"""`spatial`: coordinates of gridded imagery that follow from an affine transform.

Attributes stand on the array, or on its group for all direct child arrays; items of a layout (`multiscales`) may have
attributes of their levels. Each attribute is looked up by itself (`multiscales.AttributeScopes`). The grid of a level
that is derived from another level follows from the grid of that level.

Source: spatial convention (zarr-conventions/spatial).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar, TypeAlias

from affine import Affine

from zarr_xgroup.conventions.affine import (
    CENTRES,
    Transform,
    area_of,
    coordinates_along,
    has_coordinate,
    interpret_grid,
    require_cell_area,
    transform_of_gdal,
)
from zarr_xgroup.conventions.array import ArrayView, NodeView
from zarr_xgroup.conventions.attributes import Attribute
from zarr_xgroup.conventions.axes import SPATIAL_DIMENSIONS
from zarr_xgroup.conventions.base import ConventionHandler
from zarr_xgroup.conventions.crs import horizontal_unit
from zarr_xgroup.conventions.descriptions import Parsed, shown, write
from zarr_xgroup.conventions.model import Interpretation
from zarr_xgroup.conventions.multiscales import ATTRIBUTE as LAYOUT
from zarr_xgroup.conventions.multiscales import (
    OVERHANG,
    AttributeScopes,
    Item,
    LevelMembership,
    follows_by_level,
    level_of,
    scopes_of,
)
from zarr_xgroup.conventions.proj import crs_of, own_grid_mapping
from zarr_xgroup.conventions.values import finite_numbers
from zarr_xgroup.errors import Rule, XGroupError, XGroupMetadataError, rules_in
from zarr_xgroup.findings import Finding, Topic, report
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import axis_by_name
from zarr_xgroup.metadata.dimensions import declared_dimensions
from zarr_xgroup.metadata.documents import Document
from zarr_xgroup.metadata.nodes import Fragment, Node

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

RULES = rules_in(vars())

#: The number of rows, and of columns.
Sizes: TypeAlias = tuple[int, int]

#: The axis that a name of a dimension means in a grid, besides the names in `axis_by_name`, in lower case.
_ROWS_AND_COLUMNS = {
    **dict.fromkeys(("row", "rows"), "Y"),
    **dict.fromkeys(("col", "cols", "column", "columns"), "X"),
}


# The attributes, of arrays, groups and items of layouts, and the functions that parse their values.


def _two_names(written: Fragment) -> tuple[str, str]:
    """Return the names of the Y and X dimensions, or raise XGroupMetadataError.

    They are the last two if there are three: the README of tag v1 of the convention allows a third one before them.
    """
    names = written.value
    is_list = isinstance(names, list) and all(isinstance(name, str) for name in names)
    if not (is_list and len(names) in (2, 3) and len({*names}) == len(names)):
        text = _("must be the names of two dimensions, got {value}").format(value=shown(names))
        raise written.error(text)
    return names[-2], names[-1]


def _centre_of_registration(written: Fragment) -> float:
    """Return how far centres of cells are from their index, by "pixel" or "node", or raise XGroupMetadataError."""
    name = written.as_text()
    if name not in CENTRES:
        raise written.error(_("must be 'pixel' or 'node', got {name!r}").format(name=name))
    return CENTRES[name]


def _two_sizes(written: Fragment) -> Sizes:
    """Return the number of rows and of columns, or raise XGroupMetadataError."""
    sizes = written.value
    is_list = isinstance(sizes, list) and all(type(size) is int and size > 0 for size in sizes)
    if not (is_list and len(sizes) == 2):
        text = _("must be two positive integers, got {value}").format(value=shown(sizes))
        raise written.error(text)
    return sizes[0], sizes[1]


DIMENSIONS = Attribute(
    SPATIAL_DIMENSIONS, Parsed(_two_names), NAMES, '"spatial:dimensions": ["y", "x"]'
)
TRANSFORM = Attribute(
    "spatial:transform",
    Parsed(lambda written: require_cell_area(Affine(*finite_numbers(written, 6)), written)),
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
    Parsed(_centre_of_registration),
    PIXEL_OR_NODE,
    '"spatial:registration": "pixel"',
    is_needed=False,
)
BOX = Attribute(
    "spatial:bbox",
    Parsed(partial(finite_numbers, count=4)),
    SIDES,
    '"spatial:bbox": [xmin, ymin, xmax, ymax]',
    is_needed=False,
)
SHAPE = Attribute(
    "spatial:shape",
    Parsed(_two_sizes),
    SIZES,
    '"spatial:shape": [height, width]',
    severity="warning",
    is_needed=False,
)

#: All attributes of the convention.
ATTRIBUTES = (DIMENSIONS, TRANSFORM, TRANSFORM_TYPE, REGISTRATION, BOX, SHAPE)


class SpatialHandler(ConventionHandler):
    """Attaches the coordinates that follow from an array's spatial attributes."""

    tier = "principal"
    name = "spatial"
    uuid: ClassVar[str | None] = "689b58e2-cf7b-45e0-9fff-9cfc0883d6b4"
    repositories = ("zarr-conventions/spatial",)
    implies = ("proj",)
    described = ATTRIBUTES
    rules = RULES
    reads = ()

    @classmethod
    def applies(cls, array: ArrayView) -> bool:
        """Tell whether the array declares the convention, or has the dimensions that its group names.

        If the group's ``spatial:dimensions`` cannot be used, the convention applies to all arrays with two dimensions
        or more, so that `interpret` reports it.
        """
        if cls in array.declared:
            return True
        if not follows_by_level(cls, array):
            return False
        declared = scopes_of(array).get(DIMENSIONS.key)
        if declared is None:
            return False
        names = DIMENSIONS.read(declared)[0]
        return len(array.dims) > 1 if names is None else _dims_of_names(array, names) is not None

    @classmethod
    def why_not(cls) -> str:
        """Return why it does not apply to an array, where the array's group declares it."""
        return _("spatial:dimensions does not name two of its dimensions")

    def axis_names(self, array: ArrayView) -> tuple[str, ...]:
        """Return the names that ``spatial:dimensions`` gives to an array's Y and X axes; () if it has none, or is not declared."""
        if not follows_by_level(type(self), array):
            return ()
        return array.try_silently(scopes_of(array).value, DIMENSIONS) or ()

    @classmethod
    def check(cls, subject: NodeView) -> Iterator[Finding]:
        """Yield mistakes in items of a layout, bounding boxes without area, and dimensions that no array has."""
        layout = None if subject.is_array else subject.attribute(LAYOUT.key)
        levels = None if layout is None else layout.get("layout")
        is_list = levels is not None and isinstance(levels.value, list)
        items = list(levels.items()) if levels is not None and is_list else []
        for item in items:
            for attribute in ATTRIBUTES:
                written = item.get(attribute.key)
                wrong = () if written is None else attribute.all_wrong(written)
                # An open reports it where it needs the attribute.
                yield from (replace(finding.at(item.node), topic=None) for finding in wrong)
        for box in (subject.attribute(BOX.key), *(item.get(BOX.key) for item in items)):
            if box is not None:
                yield from _box_without_area(box)
        if not subject.is_array:
            yield from _dimensions_of_no_array(subject, has_levels=bool(items))

    def interpret(self, array: ArrayView) -> Interpretation:
        """Return the coordinates of cell centres, the CRS, and the ``GeoTransform`` if coordinates do not say it.

        They follow from the transform, unless the group has 1-D arrays for both dimensions.
        """
        lost = _("the coordinates of {convention!r}").format(convention=self.name)
        dims = array.try_reporting(_declared_dims, array, cost=lambda: lost)
        if dims is None:
            return array.interpretation(crs=crs_of(array))
        missing = [dim for dim in dims if not has_coordinate(array, dim)]
        if missing:
            along = partial(coordinates_along, missing)
            transform = array.try_reporting(_transform_of_array, array, dims, missing, cost=along)
            _report_contradictions(array, dims, transform, Topic.CHOICE)
            # The GeoTransform of a grid mapping variable wins over the transform: GDAL reads it.
            mapping = array.try_silently(own_grid_mapping, array)
            written = None if mapping is None else mapping.get("GeoTransform")
            if transform is not None and written is not None:
                transform = array.try_silently(transform_of_gdal, written) or transform
        else:
            # The group's own coordinate variables win, so a mistake in other attributes loses nothing: only a
            # check reports it. A rotated transform is not used beside 1-D coordinates.
            scopes = scopes_of(array)
            is_written = scopes.get(TRANSFORM.key) is not None
            transform = (
                array.try_silently(_declared_transform, array, scopes) if is_written else None
            )
            _report_contradictions(array, dims, transform, None)
            transform = None if transform is None or transform.is_rotated else transform
        return interpret_grid(array, dims, transform, is_declared=True)


# Checks of single nodes.


def _box_without_area(box: Fragment) -> Iterator[Finding]:
    """Yield that a bounding box spans no area, if that is so."""
    left, bottom, right, top = BOX.read(box)[0] or (0, 0, 1, 1)
    # A box across the antimeridian ends west of where it begins; that of a single row of nodes has no height.
    if bottom > top or (left == right and bottom == top):
        text = f"{shown(box.value)} spans no area"
        remedy = f"write {BOX.example} of the grid, or leave it out"
        yield report(SIDES, box, text, remedy, severity="warning")


def _dimensions_of_no_array(group: NodeView, *, has_levels: bool) -> Iterator[Finding]:
    """Yield that no array which a group's ``spatial:dimensions`` is about has these dimensions, if that is so.

    It is about the group's own arrays, and if the group has a layout, about the arrays of its levels; but not
    about arrays for which the array itself or its group names other dimensions.
    """
    declared = group.attribute(DIMENSIONS.key)
    wanted = {name.lower() for name in (declared and DIMENSIONS.read(declared)[0]) or ()}
    if declared is None or not wanted:
        return
    grids = []
    for array in group.below():
        is_own = array.node.group == group.node
        if not (array.is_array and len(array.dims) > 1 and (is_own or has_levels)):
            continue
        near = [array] if is_own or array.group is None else [array, array.group]
        if None not in array.dims and not any(node.attribute(DIMENSIONS.key) for node in near):
            grids.append([name for name in array.dims if name is not None])
    if grids and not any(wanted <= {*map(str.lower, dims)} for dims in grids):
        text = (
            f"{shown(declared.value)} are not both dimensions of the array, which has "
            f"{shown(grids[0])}"
        )
        yield report(OF_ARRAY, declared, text, write(DIMENSIONS.key, grids[0][-2:]))


# spatial:dimensions: Y first, whatever the order of the array's axes.


def _dims_of_names(array: ArrayView, names: tuple[str, str]) -> tuple[str, str] | None:
    """Return the array's dimensions of two names, else those that differ in case only; None if it lacks one."""
    known = {**{name: name for name in array.dims}, **array.dim_names}
    anycase = {name.lower(): here for name, here in known.items()}
    y, x = (known.get(name) or anycase.get(name.lower()) for name in names)
    return (y, x) if y is not None and x is not None and x != y else None


def _declared_dims(array: ArrayView) -> tuple[str, str]:
    """Return the array's dimensions along Y and X by ``spatial:dimensions``; report another order or case of names.

    Raises
    ------
    XGroupMetadataError
        If the attribute is missing, or does not name two of the array's dimensions.
    """
    scopes = scopes_of(array)
    declared = scopes.get(DIMENSIONS.key)
    has = [name for name in declared_dimensions(array.document) if name is not None]
    if declared is None:
        # Who writes none of the attributes breaks no rule: the array may only declare the convention.
        is_used = any(scopes.get(attribute.key) is not None for attribute in ATTRIBUTES)
        place = Fragment(array.node, ("attributes", DIMENSIONS.key), None)
        text = _("is missing: an array that declares 'spatial' must have it")
        remedy = write(DIMENSIONS.key, has[-2:] or ["y", "x"])
        raise place.error(text, REQUIRED if is_used else None, remedy)
    names = DIMENSIONS.value(declared)
    dims = _dims_of_names(array, names)
    if dims is not None:
        _report_x_first(array, declared, names)
    if dims is not None and set(names) <= {*array.dims, *array.dim_names}:
        return dims
    text = _("{value} are not both dimensions of the array, which has {dims}").format(
        value=shown(declared.value), dims=shown(has)
    )
    if dims is None:
        remedy = write(DIMENSIONS.key, has[-2:])
        if len(array.dims) < 2:
            remedy = _("take it off the array, which does not have two dimensions")
        raise declared.error(text, OF_ARRAY, remedy)
    # The names differ from those of the array in case only.
    known = {name.lower(): name for name in has}
    spelt = [known.get(name.lower(), name) for name in names]
    if spelt != list(names):
        remedy = write(DIMENSIONS.key, spelt)
        array.report(OF_ARRAY, declared, text, remedy, severity="warning")
    return dims


def _report_x_first(array: ArrayView, declared: Fragment, names: tuple[str, str]) -> None:
    """Report names of dimensions by which the first seems to be along X, or the second along Y."""
    first, second = (axis_by_name(name) or _ROWS_AND_COLUMNS.get(name.lower()) for name in names)
    if first == "X" != second or second == "Y" != first:
        y, x = names
        text = _(
            "makes {y!r} the Y axis and {x!r} the X axis, because the name of Y is first; the names "
            "suggest the opposite order"
        )
        remedy = write(DIMENSIONS.key, [*declared.value[:-2], x, y])
        text = text.format(y=y, x=x)
        array.report(Y_FIRST, declared, text, remedy, topic=Topic.CHOICE, severity="warning")


# The transform that an array, a group or an item declares.


def _is_placeholder(box: Fragment) -> bool:
    """Tell whether a bounding box is the zeros that products write in place of none."""
    return isinstance(box.value, list) and not any(box.value)


def _box(scopes: AttributeScopes) -> Fragment | None:
    """Return the bounding box of the nearest object that has one; None without one, or for a placeholder."""
    box = scopes.get(BOX.key)
    return None if box is None or _is_placeholder(box) else box


def _box_sides(array: ArrayView, box: Fragment) -> list[float]:
    """Return the sides of a bounding box; the right one is beyond 180 degrees if it crosses the antimeridian."""
    left, bottom, right, top = BOX.value(box)
    crs = crs_of(array)
    unit = "" if crs is None else crs.axis_attributes()["X"].get("units")
    return [left, bottom, right + 360 if left > right and unit == "degrees_east" else right, top]


def _declared_transform(
    array: ArrayView,
    scopes: AttributeScopes,
    sizes: Sizes | None = None,
    written: Fragment | None = None,
) -> Transform | None:
    """Return the transform by ``spatial:transform``, else by bounding box and sizes, None without these.

    Parameters
    ----------
    array : ArrayView
        The array that is interpreted.
    scopes : AttributeScopes
        The objects that may have the attributes.
    sizes : tuple of int, optional
        The number of rows and of columns; by default ``spatial:shape``.
    written : Fragment, optional
        The transform to use where `scopes` have none.

    Raises
    ------
    XGroupMetadataError
        If one of these attributes cannot be used.
    """
    kind, centre = scopes.value(TRANSFORM_TYPE), scopes.value(REGISTRATION)
    if kind not in (None, "affine"):
        place = scopes.get(TRANSFORM_TYPE.key) or Fragment(array.node, (), None)
        raise place.error(_("is {kind!r}; only 'affine' is known").format(kind=kind))
    centre = CENTRES["pixel"] if centre is None else centre
    written = scopes.get(TRANSFORM.key) or written
    if written is not None:
        return Transform(TRANSFORM.value(written), centre)
    box, sizes = _box(scopes), sizes or scopes.value(SHAPE)
    return None if box is None or sizes is None else _transform_of_box(array, box, sizes, centre)


def _transform_of_box(array: ArrayView, box: Fragment, sizes: Sizes, centre: float) -> Transform:
    """Return the transform of a grid that fills a bounding box, or raise XGroupMetadataError.

    NaN in it says that the position of a single row or column is not known.
    """
    # North is up in a grid that fills its bounding box. By node registration that ends at the outermost
    # centres, one cell fewer. A single row or column of nodes, which is a point of its axis, has no length: if
    # the box has none there either, its position is known, else not.
    left, bottom, right, top = _box_sides(array, box)
    rows, columns = (size - 1 + 2 * centre for size in sizes)
    steps = []
    for span, cells in ((right - left, columns), (top - bottom, rows)):
        if span < 0 or (span == 0 and cells > 0):
            raise _no_area_error(box, sizes)
        steps.append(span / cells if cells else math.nan if span else 0.0)
    affine = Affine(steps[0], 0.0, left, 0.0, -steps[1], top)
    return Transform(require_cell_area(affine, box) if rows and columns else affine, centre)


def _no_area_error(box: Fragment, sizes: Sizes) -> XGroupMetadataError:
    """Return the error for a bounding box that has no area for so many rows and columns."""
    text = _("spans no area for {rows} x {columns} cells")
    return box.error(text.format(rows=sizes[0], columns=sizes[1]))


# The transform of an array, which may follow from that of another level.


def _transform_of_array(
    array: ArrayView, dims: tuple[str, str], missing: Sequence[str]
) -> Transform | None:
    """Return the transform of an array's grid, None if no attribute gives one; report what is lost by that.

    Raises
    ------
    XGroupError
        If an attribute that it follows from cannot be used.
    """
    scopes, level = scopes_of(array), level_of(array)
    sizes = array.sizes[dims[0]], array.sizes[dims[1]]
    if level is None or scopes.get(TRANSFORM.key) is not None:
        transform = _declared_transform(array, scopes, sizes)
    else:
        transform = _transform_by_levels(array, dims, level)
    _report_coordinates_not_given(array, dims, missing, transform)
    return transform


def _transform_by_levels(
    array: ArrayView, dims: tuple[str, str], level: LevelMembership
) -> Transform | None:
    """Return the transform of an array by that of its level, else of the levels which that is derived from.

    Raises
    ------
    XGroupError
        If an attribute of one of these levels cannot be used.
    """
    # The item that says from which level the array's is derived, if one does.
    item = next((item for item in level.items if item.has_transform), level.items[0])
    # Where levels are groups, the array follows from those of its name in the other groups.
    name = "" if item is level.of_array else array.name
    axes = tuple(array.dims.index(dim) for dim in dims)
    chain, wrong = level.layout.derivation(item, level.group)
    grid: _Grid = wrong, None
    # From the last source to the array's own level, each grid follows from the one before. The last source has
    # none itself, or one that cannot be used: then its grid follows from that error.
    for item in reversed(chain):
        source = None if item is chain[-1] and wrong is None else grid
        # Kept by all that it depends on: other arrays follow from the same levels.
        known = (level.group, item.asset, name, len(array.dims), axes, source)
        grid = array.memo(_grid_of_level, array, dims, level, item, name, source, by=known)
    transform_or_error = grid[0]
    if isinstance(transform_or_error, XGroupError):
        raise transform_or_error
    return transform_or_error


def _report_coordinates_not_given(
    array: ArrayView, dims: tuple[str, str], missing: Sequence[str], transform: Transform | None
) -> None:
    """Report a bounding box without use, that no transform is declared, and coordinates whose values are not known.

    Of these three there is one at most; a placeholder of a bounding box is not reported.
    """
    scopes = scopes_of(array)
    sizes = array.sizes[dims[0]], array.sizes[dims[1]]
    box = _box(scopes)
    if transform is None and box is not None:
        text = _(
            "was not used: the grid follows that of another level, of which neither "
            "spatial:transform nor spatial:bbox and size are known"
        )
        array.report(Topic.CHOICE, box, text)
    elif transform is None and scopes.get(BOX.key) is None:
        text = _(
            "spatial is declared, but there is neither spatial:transform, nor spatial:bbox, nor "
            "1-D arrays {names}: these dimensions have no coordinates from it"
        )
        array.report(Topic.CHOICE, array.node, text.format(names=", ".join(dims)))
    elif transform is not None and box is not None:
        steps = zip(dims, (transform.affine.e, transform.affine.a), strict=True)
        lost = [dim for dim, step in steps if math.isnan(step) and dim in missing]
        if lost:
            cost = coordinates_along(lost)
            array.report(Topic.PROBLEM, array.node, _no_area_error(box, sizes), cost=cost)


#: The transform of a level, or the error why it has none (None: no attribute gives one), and its number of rows and
#: columns, None if not known.
_Grid: TypeAlias = tuple[Transform | XGroupError | None, Sizes | None]


def _grid_of_level(
    array: ArrayView,
    dims: tuple[str, str],
    level: LevelMembership,
    item: Item,
    name: str,
    source: _Grid | None,
) -> _Grid:
    """Return the grid of a level in an array's layout, given the grid of the level that it is derived from.

    Parameters
    ----------
    array : ArrayView
        The array that is interpreted.
    dims : tuple of str
        Its dimensions along Y and X.
    level : LevelMembership
        The array's level, by which the layout is known.
    item : Item
        The item of the level whose grid is returned.
    name : str
        The name of the array to look for, where that level is a group.
    source : tuple, optional
        The grid of the level that it is derived from; None if it is derived from none.
    """
    # The asset is an array, or a group with an array called `name`; without one, attributes of the group count.
    node = level.group.child(item.asset or "")
    document, other, group = array.document_of(node), node, node.group
    if document is None or not document.is_array:
        other, group = node.child(name), node
        document = array.document_of(other)
    is_array = document is not None and bool(document.is_array)
    array_or_none = other if is_array else None
    membership = LevelMembership.of(array_or_none, group, level.group, level.layout)
    scopes = AttributeScopes.of(array_or_none, group, membership, array.attributes_of)
    sizes = _rows_and_columns(array, dims, document) if document is not None and is_array else None
    try:
        return _transform_of_level(array, dims, level, item, scopes, sizes, source), sizes
    except XGroupError as error:
        return error, sizes


def _rows_and_columns(
    array: ArrayView, dims: tuple[str, str], other: Document
) -> tuple[int, int] | None:
    """Return the sizes of another array along the Y and X dimensions of an array, None if it has fewer axes.

    They are along the dimensions of the same names, else along the same axes.
    """
    shape, names = other["shape"], declared_dimensions(other)
    axes = [array.dims.index(dim) for dim in dims]
    own = [declared_dimensions(array.document)[axis] for axis in axes]
    if None not in own and {*own} <= {*names}:
        axes = [names.index(name) for name in own]
    return (shape[axes[0]], shape[axes[1]]) if max(axes) < len(shape) else None


def _transform_of_level(
    array: ArrayView,
    dims: tuple[str, str],
    level: LevelMembership,
    item: Item,
    scopes: AttributeScopes,
    sizes: Sizes | None,
    source: _Grid | None,
) -> Transform | None:
    """Return the transform of a level, given the objects that may have its attributes; see `_grid_of_level`.

    Raises
    ------
    XGroupError
        If an attribute of the level, or of one that it is derived from, cannot be used.
    """
    group, written = level.group, scopes.get(TRANSFORM.key)
    if written is None and source is not None:
        return _derived_transform(array, dims, group, item, scopes, sizes, source)
    if written is None:
        if not (item.is_derived or item.is_base):
            return None  # it has a transform to another level, but does not say to which
        # The transform of the layout's group is that of the level from which all others are derived, unless that
        # level has a bounding box of its own.
        box = scopes.get(BOX.key, skip_shared=True)
        if item.asset == level.layout.base and (box is None or _is_placeholder(box)):
            shared = array.attributes_of(group)
            written = None if shared is None else shared.get(TRANSFORM.key)
    return _declared_transform(array, scopes, sizes, written)


def _derived_transform(
    array: ArrayView,
    dims: tuple[str, str],
    group: Node,
    item: Item,
    scopes: AttributeScopes,
    sizes: Sizes | None,
    source: _Grid,
) -> Transform | None:
    """Return the transform of a level's source composed with the item's scale and translation.

    None if the source has none. `group` is the one that has the layout; the others are as in `_transform_of_level`.
    """
    transform, whole = source
    if isinstance(transform, XGroupError):
        raise transform
    relation = item.relation(group)
    if transform is None:
        return None
    others = array.siblings.values()
    along = relation.scale_and_shift(group, dims, array.dims, others, sizes or (), whole or ())
    (rows, columns), (down, right) = along
    # Not `affine * other`: that operator changed between versions of affine, with warnings.
    a, b, c, d, e, f = list(transform.affine)[:6]
    affine = Affine(
        *(a * columns, b * rows, a * right + b * down + c),
        *(d * columns, e * rows, d * right + e * down + f),
    )
    registration = scopes.get(REGISTRATION.key, skip_shared=True)
    centre = transform.centre if registration is None else REGISTRATION.value(registration)
    return Transform(require_cell_area(affine, relation.place(group)), centre)


# Contradictions.


def _report_contradictions(
    array: ArrayView, dims: tuple[str, str], transform: Transform | None, topic: Topic | None
) -> None:
    """Report attributes that contradict the array's shape or its transform.

    `topic` is None where coordinates do not follow from these attributes: then only a check reports it.
    """
    scopes, sizes = scopes_of(array), (array.sizes[dims[0]], array.sizes[dims[1]])
    _report_other_shape(array, scopes.get(SHAPE.key), sizes, topic)
    if transform is None or transform.is_partial:
        return
    box, written = _box(scopes), scopes.get(TRANSFORM.key)
    read = array.try_silently if topic is None else array.try_reporting
    sides = None if box is None else read(_box_sides, array, box)
    crs = crs_of(array)
    unit = "" if crs is None else crs.axis_attributes()["X"].get("units", "")
    meant = in_order_of_gdal(transform, sizes, sides, unit)
    # By numbers in another order the box does not fit either: one report is enough.
    if written is not None and meant is not None:
        _report_order_of_gdal(array, written, transform, meant, sizes, topic)
    elif box is not None and sides and not transform.fills(sides, sizes, OVERHANG):
        _report_other_box(array, box, transform.extent(sizes), topic)


def _report_other_shape(
    array: ArrayView, shape: Fragment | None, sizes: Sizes, topic: Topic | None
) -> None:
    """Report a ``spatial:shape`` that is not the array's number of rows and columns."""
    if shape is None or shape.value == list(sizes):
        return
    text = _("is {shape}, but the array has {sizes} cells; the latter counts")
    text = text.format(shape=shape.value, sizes=list(sizes))
    remedy = write(SHAPE.key, list(sizes))
    grids = {tuple(sizes.values())[-2:] for sizes in array.siblings.values() if len(sizes) > 1}
    # No shape written on a group is true of all its arrays if these differ.
    if shape.node != array.node and len(grids) > 1:
        remedy = _("take it off the group, whose arrays have several sizes, and {write}")
        remedy = remedy.format(write=_("write each array's own"))
    array.report(SHAPE_OF_ARRAY, shape, text, remedy, topic=topic, severity="warning")


def _report_order_of_gdal(
    array: ArrayView,
    written: Fragment,
    transform: Transform,
    meant: Transform,
    sizes: Sizes,
    topic: Topic | None,
) -> None:
    """Report a ``spatial:transform`` whose numbers are in the order of GDAL; `meant` is the one in that order."""
    numbers = list(meant.affine)[:6]
    text = _(
        "is {numbers}, by which the grid spans {extent}; are its numbers in the order of GDAL? "
        "That of the convention is [a, b, c, d, e, f]: {meant}"
    ).format(numbers=list(transform.affine)[:6], extent=transform.extent(sizes), meant=numbers)
    array.report(ORDER, written, text, write(TRANSFORM.key, numbers), topic=topic)


def _report_other_box(
    array: ArrayView, box: Fragment, actual: list[float], topic: Topic | None
) -> None:
    """Report a ``spatial:bbox`` that is not the actual extent of the grid."""
    text = _("is {box}, but the transform gives {actual}; the latter counts")
    text = text.format(box=BOX.value(box), actual=actual)
    remedy = write(BOX.key, actual)
    array.report(BOX_OF_GRID, box, text, remedy, topic=topic, severity="warning")


#: The greatest extent of a grid on the Earth, by the unit of its CRS: a full circle, and more than its circumference.
_WIDEST = {"degree": 360.0, "m": 5e7}

#: By how many times cells must be longer as written than in the order of GDAL for that order to be meant: if north is
#: up in that order, and if the grid is rotated in it.
_LONG, _FAR_LONGER = 10, 1000


def in_order_of_gdal(
    transform: Transform, sizes: Sizes, box: list[float] | None, unit: str
) -> Transform | None:
    """Return the transform that is meant if its numbers seem to be in the order of GDAL, else None.

    They do if the grid is off its own bounding box, but in the order of GDAL fills it. Without a box they do if the
    grid is wider than the Earth, or its cells are askew or much longer than wide, and in that order are not.

    Parameters
    ----------
    transform : Transform
        The transform as it is written.
    sizes : tuple of int
        The number of rows, and of columns.
    box : list of float, optional
        The bounding box.
    unit : str
        The unit of the CRS, "" if it is not known.
    """
    c, a, b, f, d, e = list(transform.affine)[:6]  # read in the order of GDAL
    other = Transform(Affine(a, b, c, d, e, f), transform.centre)
    if area_of(other.affine) == 0:
        return None
    is_meant, widest = False, _WIDEST.get(horizontal_unit(unit), math.inf)
    is_wide, is_other_wide = (
        max(right - left, top - bottom) > widest
        for left, bottom, right, top in (transform.extent(sizes), other.extent(sizes))
    )
    if box is not None:
        is_meant = not transform.fills(box, sizes) and other.fills(box, sizes)
    elif is_wide:
        is_meant = True
    else:
        # In the wrong order, the coordinates of a corner are taken for the sides of cells: such a cell is as long as
        # the way from the origin of the CRS to the grid.
        is_askew, elongation = _distortion(transform)
        is_other_askew, other_elongation = _distortion(other)
        times_longer = elongation / other_elongation
        if other.is_rotated:
            is_meant = is_askew and not is_other_askew and times_longer > _FAR_LONGER
        else:
            is_meant = is_askew or times_longer > _LONG
    return other if is_meant and not is_other_wide else None


def _distortion(transform: Transform) -> tuple[bool, float]:
    """Return whether rows and columns are at no right angle, and the ratio of a cell's longer side to its shorter."""
    row, column = transform.cell_size
    # The sides of a cell are at a right angle if their scalar product is 0, but for rounding.
    product = transform.affine.a * transform.affine.b + transform.affine.d * transform.affine.e
    return bool(abs(product) > column * row * 1e-6), max(row, column) / min(row, column)
