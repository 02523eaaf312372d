"""`spatial`: coordinates of gridded imagery that follow from an affine transform.

Attributes stand on the array, or on its group for all direct child arrays; a layout of `multiscales` gives
those of its levels (`multiscales.AttributeScopes`: attribute by attribute). A level that is derived from another one
follows the grid of that one.

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
from zarr_xgroup.conventions.array import ArrayView
from zarr_xgroup.conventions.axes import SPATIAL_DIMENSIONS
from zarr_xgroup.conventions.base import ConventionHandler
from zarr_xgroup.conventions.checked import CheckedNode
from zarr_xgroup.conventions.crs import crs_of, horizontal_unit, own_grid_mapping
from zarr_xgroup.conventions.declaring import is_declared_by_array
from zarr_xgroup.conventions.descriptions import Attribute, Parsed, shown, write
from zarr_xgroup.conventions.model import Interpretation
from zarr_xgroup.conventions.multiscales import ATTRIBUTE as LAYOUT
from zarr_xgroup.conventions.multiscales import (
    OVERHANG,
    AttributeScopes,
    Item,
    LevelMembership,
    is_declared_by_group_or_layout,
    level_of,
    scopes_of,
)
from zarr_xgroup.conventions.values import finite_numbers
from zarr_xgroup.errors import Rule, XGroupError, XGroupMetadataError, rules_in
from zarr_xgroup.findings import Finding, Topic, report
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.dimensions import declared_dimensions
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

#: The number of rows, and of columns.
Sizes: TypeAlias = tuple[int, int]


# The attributes, of arrays, groups and items of layouts.


def _names(written: Fragment) -> tuple[str, str]:
    names = written.value
    is_list = isinstance(names, list) and all(isinstance(name, str) for name in names)
    if not (is_list and len(names) == 2 and names[0] != names[1]):
        text = _("must be the names of two dimensions, got {value}").format(value=shown(names))
        raise written.error(text)
    return names[0], names[1]


def _centre(written: Fragment) -> float:
    name = written.as_text()
    if name not in CENTRES:
        raise written.error(_("must be 'pixel' or 'node', got {name!r}").format(name=name))
    return CENTRES[name]


def _sizes(written: Fragment) -> Sizes:
    sizes = written.value
    is_list = isinstance(sizes, list) and all(type(size) is int and size > 0 for size in sizes)
    if not (is_list and len(sizes) == 2):
        text = _("must be two positive integers, got {value}").format(value=shown(sizes))
        raise written.error(text)
    return sizes[0], sizes[1]


DIMENSIONS = Attribute(
    SPATIAL_DIMENSIONS, Parsed(_names), NAMES, '"spatial:dimensions": ["y", "x"]'
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
    Parsed(_centre),
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
    Parsed(_sizes),
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
        """Tell whether the array declares the convention, or has the dimensions its group names.

        Also if what the group names cannot be used: that is reported of arrays with two dimensions or more.
        """
        if is_declared_by_array(cls, array):
            return True
        if not is_declared_by_group_or_layout(cls, array):
            return False
        declared = scopes_of(array).get(DIMENSIONS.key)
        if declared is None:
            return False
        names = DIMENSIONS.read(declared)[0]
        return len(array.dims) > 1 if names is None else _dims_named(array, names) is not None

    @classmethod
    def why_not(cls) -> str:
        """Return why it does not apply to an array, where the array's group declares it."""
        return _("spatial:dimensions does not name two of its dimensions")

    def axis_names(self, array: ArrayView) -> tuple[str, ...]:
        """Return the names that ``spatial:dimensions`` gives to an array's Y and X axes; () if it has none, or is not declared."""
        is_declared = is_declared_by_array(type(self), array)
        if not (is_declared or is_declared_by_group_or_layout(type(self), array)):
            return ()
        return array.try_silently(scopes_of(array).value, DIMENSIONS) or ()

    @classmethod
    def check(cls, subject: CheckedNode) -> Iterator[Finding]:
        """Yield what is wrong with boxes and with items of a layout, and that no array has the dimensions named."""
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
            left, bottom, right, top = (box and BOX.read(box)[0]) or (0, 0, 1, 1)
            # One across the antimeridian ends west of where it begins; one of a single row of nodes has no
            # height.
            if box is not None and (bottom > top or (left == right and bottom == top)):
                text = f"{shown(box.value)} spans no area"
                remedy = f"write {BOX.example} of the grid, or leave it out"
                yield report(SIDES, box, text, remedy, severity="warning")
        declared = None if subject.is_array else subject.attribute(DIMENSIONS.key)
        wanted = {name.lower() for name in (declared and DIMENSIONS.read(declared)[0]) or ()}
        if declared is None or not wanted:
            return
        # They are for its own arrays and those of its levels, unless something nearer names others.
        grids = []
        for array in subject.below():
            is_own = array.node.group == subject.node
            if not (array.is_array and len(array.dims) > 1 and (is_own or items)):
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

    def interpret(self, array: ArrayView) -> Interpretation:
        """Return the coordinates of cell centres, the CRS, and the transform if they follow from it."""
        lost = _("the coordinates of {convention!r}").format(convention=self.name)
        dims = array.try_reporting(_dims, array, cost=lambda: lost)
        if dims is None:
            return array.interpretation(crs=crs_of(array))
        missing = [dim for dim in dims if not has_coordinate(array, dim)]
        if missing:
            along = partial(coordinates_along, missing)
            transform = array.try_reporting(_transform, array, dims, missing, cost=along)
            _report_contradictions(array, dims, transform, Topic.CHOICE)
            # The GeoTransform of a grid mapping variable wins, too: tools read that.
            mapping = array.try_silently(own_grid_mapping, array)
            written = None if mapping is None else mapping.get("GeoTransform")
            if transform is not None and written is not None:
                transform = array.try_silently(transform_of_gdal, written) or transform
        else:
            # The group's own coordinates win. Only a check reports what is wrong beside them.
            scopes = scopes_of(array)
            is_written = scopes.get(TRANSFORM.key) is not None
            transform = array.try_silently(_declared, array, scopes) if is_written else None
            _report_contradictions(array, dims, transform, None)
            transform = None if transform is None or transform.is_rotated else transform
        return interpret_grid(array, dims, transform, is_declared=True)


# spatial:dimensions: Y first, whatever the order of the array's axes.


def _dims_named(array: ArrayView, names: tuple[str, str]) -> tuple[str, str] | None:
    """Return the array's dimensions of two names, in upper or lower case; None if it lacks any."""
    known = {**{name: name for name in array.dims}, **array.dim_names}
    anycase = {name.lower(): here for name, here in known.items()}
    y, x = (known.get(name) or anycase.get(name.lower()) for name in names)
    return (y, x) if y is not None and x is not None and x != y else None


def _dims(array: ArrayView) -> tuple[str, str]:
    """Return the array's dimensions along Y and X as they are declared.

    Raises
    ------
    XGroupMetadataError
        If they are not, or not two of its dimensions.
    """
    scopes = scopes_of(array)
    declared = scopes.get(DIMENSIONS.key)
    has = [name for name in declared_dimensions(array.document) if name is not None]
    if declared is None:
        # That breaks no rule where nothing else is there either.
        is_used = any(scopes.get(attribute.key) is not None for attribute in ATTRIBUTES)
        place = Fragment(array.node, ("attributes", DIMENSIONS.key), None)
        text = _("is missing: an array that declares 'spatial' must have it")
        remedy = write(DIMENSIONS.key, has[-2:] or ["y", "x"])
        raise place.error(text, REQUIRED if is_used else None, remedy)
    names = DIMENSIONS.value(declared)
    dims = _dims_named(array, names)
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
    # They are spelt in another case.
    known = {name.lower(): name for name in has}
    spelt = [known.get(name.lower(), name) for name in names]
    if spelt != list(names):
        remedy = write(DIMENSIONS.key, spelt)
        array.report(OF_ARRAY, declared, text, remedy, severity="warning")
    return dims


# The transform that an array, a group or an item declares.


def _is_placeholder(box: Fragment) -> bool:
    """Tell whether a bounding box is the zeros that products write for none."""
    return isinstance(box.value, list) and not any(box.value)


def _box(scopes: AttributeScopes) -> Fragment | None:
    """Return the bounding box that counts; None also for a placeholder."""
    box = scopes.get(BOX.key)
    return None if box is None or _is_placeholder(box) else box


def _sides(array: ArrayView, box: Fragment) -> list[float]:
    """Return the sides of a bounding box: across the antimeridian it ends beyond 180 degrees east."""
    left, bottom, right, top = BOX.value(box)
    crs = crs_of(array)
    unit = "" if crs is None else crs.axis_attributes()["X"].get("units")
    return [left, bottom, right + 360 if left > right and unit == "degrees_east" else right, top]


def _declared(
    array: ArrayView,
    scopes: AttributeScopes,
    sizes: Sizes | None = None,
    written: Fragment | None = None,
) -> Transform | None:
    """Return the transform that is declared, None if there is nothing that it follows from.

    Parameters
    ----------
    array : ArrayView
        The array that is interpreted.
    scopes : AttributeScopes
        Where it may be declared.
    sizes : tuple of int, optional
        The number of rows and of columns, if they are known.
    written : Fragment, optional
        The transform that counts where `scopes` have none.

    Raises
    ------
    XGroupMetadataError
        If what is declared cannot be used.
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
    if box is None or sizes is None:
        return None
    # North is up in a grid that fills its bounding box. By node registration that ends at the outermost
    # centres, one cell fewer. A single row or column of nodes, which is a point of its axis, has no length: if
    # the box has none there either, its position is known, else not.
    left, bottom, right, top = _sides(array, box)
    rows, columns = (size - 1 + 2 * centre for size in sizes)
    steps = []
    for span, cells in ((right - left, columns), (top - bottom, rows)):
        if span < 0 or (span == 0 and cells > 0):
            raise _no_area(box, sizes)
        steps.append(span / cells if cells else math.nan if span else 0.0)
    affine = Affine(steps[0], 0.0, left, 0.0, -steps[1], top)
    return Transform(require_cell_area(affine, box) if rows and columns else affine, centre)


def _no_area(box: Fragment, sizes: Sizes) -> XGroupMetadataError:
    """Return the error of a bounding box that so many rows and columns cannot fill."""
    text = _("spans no area for {rows} x {columns} cells")
    return box.error(text.format(rows=sizes[0], columns=sizes[1]))


# The transform of an array, which may follow from that of another level.


def _transform(array: ArrayView, dims: tuple[str, str], missing: Sequence[str]) -> Transform | None:
    """Return the transform of an array's grid; None if there is none, nor anything that it follows from.

    Raises
    ------
    XGroupError
        If what is written cannot be used.
    """
    scopes, level = scopes_of(array), level_of(array)
    sizes = array.sizes[dims[0]], array.sizes[dims[1]]
    if level is None or scopes.get(TRANSFORM.key) is not None:
        transform = _declared(array, scopes, sizes)
    else:
        # The item that says from which level the array's is derived, if one does.
        item = next((item for item in level.items if item.has_transform), level.items[0])
        # Levels that are groups have arrays of the same name: each follows its own.
        name = "" if item is level.of_array else array.name
        axes = tuple(array.dims.index(dim) for dim in dims)
        way, wrong = level.layout.derivation(item, level.group)
        grid: _Grid = wrong, None
        for step in reversed(way):
            above = None if step is way[-1] and wrong is None else grid
            # Other arrays follow the same way.
            known = (level.group, step.asset, name, len(array.dims), axes, above)
            grid = array.memo(_grid_of_level, array, dims, level, step, name, above, by=known)
        if isinstance(grid[0], XGroupError):
            raise grid[0]
        transform = grid[0]
    box = _box(scopes)
    if transform is None and box is not None:
        text = _(
            "was not used: the grid follows that of another level, of which neither "
            "spatial:transform nor spatial:bbox and size are known"
        )
        array.report(Topic.CHOICE, box, text)
    elif transform is None and scopes.get(BOX.key) is None:  # who wrote a placeholder knows that
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
            array.report(Topic.PROBLEM, array.node, _no_area(box, sizes), cost=cost)
    return transform


#: The transform of a level, or what is wrong with it, and how many rows and columns it has, if that is known.
_Grid: TypeAlias = tuple[Transform | XGroupError | None, Sizes | None]


def _grid_of_level(
    array: ArrayView,
    dims: tuple[str, str],
    level: LevelMembership,
    item: Item,
    name: str,
    above: _Grid | None,
) -> _Grid:
    """Return the grid of a level of the layout that an array is of.

    Parameters
    ----------
    array : ArrayView
        The array that is interpreted.
    dims : tuple of str
        Its dimensions along Y and X.
    level : LevelMembership
        Its level.
    item : Item
        The level in question.
    name : str
        What the array is called in levels that are groups.
    above : tuple, optional
        The grid that it follows; None if it follows none.
    """
    node = level.group.child(item.asset or "")
    document, at, within = array.document_of(node), node, node.group
    if document is None or not document.is_array:
        at, within = node.child(name), node
        document = array.document_of(at)
    is_array = document is not None and bool(document.is_array)
    site = LevelMembership.of(at if is_array else None, within, level.group, level.layout)
    scopes = AttributeScopes.of(at if is_array else None, within, site, array.attributes_of)
    sizes = None
    if document is not None and is_array:
        # Along the dimensions of the same names, else along the same axes.
        shape, names = document["shape"], declared_dimensions(document)
        axes = [array.dims.index(dim) for dim in dims]
        own = [declared_dimensions(array.document)[axis] for axis in axes]
        if None not in own and {*own} <= {*names}:
            axes = [names.index(name) for name in own]
        sizes = (shape[axes[0]], shape[axes[1]]) if max(axes) < len(shape) else None
    try:
        return _transform_of_level(array, dims, level, item, scopes, sizes, above), sizes
    except XGroupError as error:
        return error, sizes


def _transform_of_level(
    array: ArrayView,
    dims: tuple[str, str],
    level: LevelMembership,
    item: Item,
    scopes: AttributeScopes,
    sizes: Sizes | None,
    above: _Grid | None,
) -> Transform | None:
    """Return the transform of a level, given where it may be declared; see `_grid_of_level`.

    Raises
    ------
    XGroupError
        If what is written cannot be used, also if that is written of the level that it follows.
    """
    group, written = level.group, scopes.get(TRANSFORM.key)
    if written is None and above is not None:
        source, whole = above
        if isinstance(source, XGroupError):
            raise source
        relation = item.relation(group)
        if source is None:
            return None
        others = array.siblings.values()
        along = relation.scale_and_shift(group, dims, array.dims, others, sizes or (), whole or ())
        (rows, columns), (down, right) = along
        # The operator that composes transforms changed between versions of affine, with warnings.
        a, b, c, d, e, f = list(source.affine)[:6]
        affine = Affine(
            *(a * columns, b * rows, a * right + b * down + c),
            *(d * columns, e * rows, d * right + e * down + f),
        )
        registration = scopes.get(REGISTRATION.key, skip_shared=True)
        centre = source.centre if registration is None else REGISTRATION.value(registration)
        return Transform(require_cell_area(affine, relation.place(group)), centre)
    if written is None:
        if not (item.is_derived or item.is_base):
            return None  # it follows from another level, but nobody says from which
        # The transform of the layout's group is that of the level of which all others follow, unless that one
        # has a box of its own.
        box = scopes.get(BOX.key, skip_shared=True)
        if item.asset == level.layout.base and (box is None or _is_placeholder(box)):
            shared = array.attributes_of(group)
            written = None if shared is None else shared.get(TRANSFORM.key)
    return _declared(array, scopes, sizes, written)


# Contradictions.


def _report_contradictions(
    array: ArrayView, dims: tuple[str, str], transform: Transform | None, topic: Topic | None
) -> None:
    """Report a shape or a bounding box that is not that of the array, and a transform in the order of GDAL.

    Where that makes no difference, `topic` is None: only a check reports it.
    """
    scopes, sizes = scopes_of(array), (array.sizes[dims[0]], array.sizes[dims[1]])
    shape, box, written = scopes.get(SHAPE.key), _box(scopes), scopes.get(TRANSFORM.key)
    if shape is not None and shape.value != list(sizes):
        text = _("is {shape}, but the array has {sizes} cells; the latter counts")
        text = text.format(shape=shape.value, sizes=list(sizes))
        remedy = write(SHAPE.key, list(sizes))
        grids = {tuple(sizes.values())[-2:] for sizes in array.siblings.values() if len(sizes) > 1}
        if shape.node != array.node and len(grids) > 1:
            remedy = _("take it off the group, whose arrays have several sizes, and {write}")
            remedy = remedy.format(write=_("write each array's own"))
        array.report(SHAPE_OF_ARRAY, shape, text, remedy, topic=topic, severity="warning")
    if transform is None or transform.is_partial:
        return
    read = array.try_silently if topic is None else array.try_reporting
    sides = None if box is None else read(_sides, array, box)
    crs, actual = crs_of(array), transform.extent(sizes)
    unit = "" if crs is None else crs.axis_attributes()["X"].get("units", "")
    meant = in_order_of_gdal(transform, sizes, sides, unit)
    if written is not None and meant is not None:
        numbers = list(meant.affine)[:6]
        text = _(
            "is {numbers}, by which the grid spans {extent}; are its numbers in the order of GDAL? "
            "That of the convention is [a, b, c, d, e, f]: {meant}"
        ).format(numbers=list(transform.affine)[:6], extent=actual, meant=numbers)
        array.report(ORDER, written, text, write(TRANSFORM.key, numbers), topic=topic)
    elif box is not None and sides and not transform.fills(sides, sizes, OVERHANG):
        text = _("is {box}, but the transform gives {actual}; the latter counts")
        text = text.format(box=BOX.value(box), actual=actual)
        remedy = write(BOX.key, actual)
        array.report(BOX_OF_GRID, box, text, remedy, topic=topic, severity="warning")


#: The greatest extent of a grid on the Earth, by the unit of its CRS.
_WIDEST = {"degree": 360.0, "m": 5e7}

#: How much longer cells are by a transform that cannot be meant than by the one that is, where that
#: has north up, and where it is rotated.
_LONG, _FAR_LONGER = 10, 1000


def in_order_of_gdal(
    transform: Transform, sizes: Sizes, box: list[float] | None, unit: str
) -> Transform | None:
    """Return the transform that is meant where numbers are in the order of GDAL, else None.

    They are if the grid is wider than the Earth, or off its own bounding box, or its cells are askew
    or long, and would not be so in that order.

    Parameters
    ----------
    transform : Transform
        As it is written.
    sizes : tuple of int
        The number of rows, and of columns.
    box : list of float, optional
        The bounding box.
    unit : str
        The unit of the CRS, "" if it is not known.
    """
    c, a, b, f, d, e = list(transform.affine)[:6]  # as they are in its order
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
        # Where a corner is taken for the sides of cells, these lead from the origin of the CRS to the grid.
        is_askew, long = _distortion(transform)
        is_other_askew, other_long = _distortion(other)
        if other.is_rotated:
            is_meant = is_askew and not is_other_askew and long / other_long > _FAR_LONGER
        else:
            is_meant = is_askew or long / other_long > _LONG
    return other if is_meant and not is_other_wide else None


def _distortion(transform: Transform) -> tuple[bool, float]:
    """Return whether rows and columns are at no right angle, and how much longer cells are than wide."""
    row, column = transform.cell_size
    along = transform.affine.a * transform.affine.b + transform.affine.d * transform.affine.e
    return bool(abs(along) > column * row * 1e-6), max(row, column) / min(row, column)
