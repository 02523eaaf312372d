"""`spatial`: coordinates of gridded imagery, computed from an affine transform.

Attributes are on the array, on its group for all direct child arrays, or in the item of a layout (`multiscales`) for
its level. Each attribute is searched for separately (`multiscales.AttributeScopes`). The grid of a derived level is
computed from the grid of its source.

Source: spatial convention (zarr-conventions/spatial).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import ClassVar, TypeAlias

from msgspec.structs import replace

from zarr_xgroup.conventions.affine import (
    CENTRES,
    Transform,
    affine_of,
    area_of,
    coordinates_along,
    interpret_grid,
    require_cell_area,
    transform_of_gdal,
)
from zarr_xgroup.conventions.array import ArrayView, NodeView, coordinate_variable, has_coordinate
from zarr_xgroup.conventions.attributes import Attribute
from zarr_xgroup.conventions.axes import (
    SPATIAL_DIMENSIONS,
    axis_of_dimension,
    dims_named,
    names_of_last_axes,
    report_order,
    rows_and_columns,
    spatial_names,
    two_names,
)
from zarr_xgroup.conventions.base import ConventionHandler, Marks
from zarr_xgroup.conventions.crs import horizontal_unit
from zarr_xgroup.conventions.descriptions import Parsed, shown, write
from zarr_xgroup.conventions.model import Interpretation
from zarr_xgroup.conventions.multiscales import (
    OVERHANG,
    AttributeScopes,
    Item,
    LevelMembership,
    follows_by_level,
    items_in_layout,
    level_of,
    report_translations,
    scopes_of,
)
from zarr_xgroup.conventions.proj import crs_of, own_grid_mapping
from zarr_xgroup.conventions.values import finite_numbers
from zarr_xgroup.conventions.written_grids import WrittenGrid
from zarr_xgroup.errors import Rule, XGroupError, XGroupMetadataError, rules_in
from zarr_xgroup.findings import Finding, Topic, new_finding
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import axis_by_attributes
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


# The attributes of arrays, groups and items of layouts, and the functions that parse their values.


def _two_names(written: Fragment) -> tuple[str, str]:
    """Return the names of the Y and X dimensions, or raise XGroupMetadataError."""
    names = two_names(written.value)
    if names is None:
        text = _("must be the names of two dimensions, got {value}")
        raise written.error(text.format(value=shown(written.value)))
    return names


def _centre_of_registration(written: Fragment) -> float:
    """Return the distance from the index of a cell to its centre, or raise XGroupMetadataError."""
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


#: Makes an attribute that nodes which declare the convention do not need.
_optional = partial(Attribute, is_needed=False)

DIMENSIONS = Attribute(
    SPATIAL_DIMENSIONS, Parsed(_two_names), NAMES, '"spatial:dimensions": ["y", "x"]'
)
TRANSFORM = _optional(
    "spatial:transform",
    Parsed(lambda written: require_cell_area(affine_of(*finite_numbers(written, 6)), written)),
    NUMBERS,
    '"spatial:transform": [a, b, c, d, e, f], where x = a*column + b*row + c and '
    "y = d*column + e*row + f",
)
TRANSFORM_TYPE = _optional(
    "spatial:transform_type", Parsed(Fragment.as_text), TYPE, '"spatial:transform_type": "affine"'
)
REGISTRATION = _optional(
    "spatial:registration",
    Parsed(_centre_of_registration),
    PIXEL_OR_NODE,
    '"spatial:registration": "pixel"',
)
BOX = _optional(
    "spatial:bbox",
    Parsed(partial(finite_numbers, count=4)),
    SIDES,
    '"spatial:bbox": [xmin, ymin, xmax, ymax]',
)
SHAPE = _optional(
    "spatial:shape",
    Parsed(_two_sizes),
    SIZES,
    '"spatial:shape": [height, width]',
    severity="warning",
)

#: All attributes of the convention.
ATTRIBUTES = (DIMENSIONS, TRANSFORM, TRANSFORM_TYPE, REGISTRATION, BOX, SHAPE)


class SpatialHandler(ConventionHandler):
    """Attaches the coordinates that an array's spatial attributes define."""

    tier = "principal"
    name = "spatial"
    uuid: ClassVar[str | None] = "689b58e2-cf7b-45e0-9fff-9cfc0883d6b4"
    identifiers = ("zarr-conventions/spatial",)
    described = ATTRIBUTES
    rules = RULES
    reads = ()

    @classmethod
    def applies(cls, array: ArrayView) -> bool:
        """Return whether the array declares the convention, or has the dimensions that its group names.

        If the group's ``spatial:dimensions`` cannot be used, the convention applies to all arrays with at least two
        dimensions, so that `interpret` reports the mistake.
        """
        if cls in array.declared:
            return True
        if not follows_by_level(cls, array):
            return False
        if scopes_of(array).get(DIMENSIONS.key) is None:
            return False
        names = spatial_names(array)
        return dims_named(array.dims, names) is not None if names else len(array.dims) > 1

    @classmethod
    def marks(cls, array: ArrayView) -> Marks | None:
        """Return the dimensions of the array that ``spatial:dimensions`` names, if there is also a grid."""
        marks, scopes = super().marks(array), scopes_of(array)
        if marks is None or not marks.dims:
            return marks
        has_grid = any(map(scopes.get, (TRANSFORM.key, BOX.key))) or level_of(array) is not None
        named = dims_named(array.dims, spatial_names(array)) or ()
        return Marks(named) if has_grid else Marks()

    def axis_names(self, array: ArrayView) -> tuple[str, ...]:
        """Return the names of an array's Y and X axes by ``spatial:dimensions``; () if it is not declared."""
        if not follows_by_level(type(self), array):
            return ()
        return names_of_last_axes(array, spatial_names(array))

    @classmethod
    def check(cls, subject: NodeView) -> Iterator[Finding]:
        """Report mistakes in items of a layout, bounding boxes without area, and dimensions that no array has."""
        items = items_in_layout(subject)
        for item in items:
            for attribute in ATTRIBUTES:
                written = item.get(attribute.key)
                findings = () if written is None else attribute.all_wrong(written)
                # Opening reports them if it needs the attribute.
                yield from (replace(finding.at(item.node), topic=None) for finding in findings)
        for box in filter(None, (scope.get(BOX.key) for scope in (subject.all_attributes, *items))):
            left, bottom, right, top = BOX.read(box)[0] or (0, 0, 1, 1)
            # A box across the antimeridian has left > right. A box of a single row of nodes has no height.
            if bottom > top or (left == right and bottom == top):
                text = f"{shown(box.value)} spans no area"
                remedy = f"write {BOX.example} of the grid, or leave it out"
                yield new_finding(SIDES, box, text, remedy, severity="warning")
        if not subject.is_array:
            yield from _dimensions_of_no_array(subject, has_levels=bool(items))
        elif (grid := cls.written_grid(subject)) is not None:
            of_grid = _box(scopes_of(subject))
            sides = None if of_grid is None else BOX.read(of_grid)[0]
            if of_grid is not None and sides is not None and sides[0] <= sides[2]:
                yield from filter(None, [grid.finding_of_box(of_grid, sides, BOX_OF_GRID)])

    @classmethod
    def written_grid(cls, array: NodeView) -> WrittenGrid | None:
        """Return the grid of the ``spatial:transform`` that applies to an array, or None if it cannot be used."""
        scopes = scopes_of(array)
        written, dims = scopes.get(TRANSFORM.key), rows_and_columns(array)
        kind, registration = scopes.get(TRANSFORM_TYPE.key), scopes.get(REGISTRATION.key)
        is_named = dims_named(array.dims, spatial_names(array)) is not None
        if cls not in array.declared_around or written is None or dims is None or not is_named:
            return None
        affine = TRANSFORM.read(written)[0]
        centre = CENTRES["pixel"] if registration is None else REGISTRATION.read(registration)[0]
        if affine is None or centre is None or (kind is not None and kind.value != "affine"):
            return None
        sizes = array.sizes[dims[0]], array.sizes[dims[1]]
        return WrittenGrid(written, Transform(affine, centre), dims, sizes)

    def interpret(self, array: ArrayView) -> Interpretation:
        """Return the coordinates of cell centres, the CRS, and a ``GeoTransform`` if coordinates cannot express it.

        Coordinates are computed from the transform, unless the group has 1-D arrays for both dimensions.
        """
        cost = _("the coordinates of {convention!r}").format(convention=self.name)
        dims = array.try_reporting(_declared_dims, array, cost=lambda: cost)
        if dims is None:
            return array.interpretation(crs=crs_of(array))
        missing = [dim for dim in dims if not has_coordinate(array, dim)]
        if missing:
            along = partial(coordinates_along, missing)
            transform = array.try_reporting(_transform_of_array, array, dims, missing, cost=along)
            _report_contradictions(array, dims, transform, Topic.CHOICE)
            # The GeoTransform of a grid mapping variable takes precedence, because GDAL reads it.
            mapping = array.try_without_findings(own_grid_mapping, array)
            written = None if mapping is None else mapping.get("GeoTransform")
            if transform is not None and written is not None:
                transform = array.try_without_findings(transform_of_gdal, written) or transform
        else:
            # The group's own coordinate variables are used, so only `check` reports mistakes in other attributes. A
            # rotated transform is not used with 1-D coordinates.
            scopes, transform = scopes_of(array), None
            if scopes.get(TRANSFORM.key) is not None:
                transform = array.try_without_findings(_declared_transform, array, scopes)
            _report_contradictions(array, dims, transform, None)
            transform = None if transform is None or transform.is_rotated else transform
        return interpret_grid(array, dims, transform, is_declared=True)


# spatial:dimensions: the name of Y is first, whatever the order of the array's axes.


def missing_dimensions(array: NodeView) -> tuple[Fragment, str] | None:
    """Return the place where an array needs ``spatial:dimensions``, and the attribute that is not used without it.

    None if it is not missing, or the array has neither a transform nor a bounding box.
    """
    scopes = scopes_of(array)
    written = scopes.get(TRANSFORM.key) or _box(scopes)
    if len(array.dims) < 2 or written is None or scopes.get(DIMENSIONS.key) is not None:
        return None
    return Fragment(written.node, (*written.keys[:-1], DIMENSIONS.key), None), written.keys[-1]


def _dimensions_of_no_array(group: NodeView, *, has_levels: bool) -> Iterator[Finding]:
    """Report a group's ``spatial:dimensions`` if none of the arrays that it applies to has both."""
    declared = group.attribute(DIMENSIONS.key)
    names = None if declared is None else DIMENSIONS.read(declared)[0]
    if declared is None or names is None:
        return
    first = None
    for array in group.below() if has_levels else group.arrays:
        if len(array.dims) < 2 or None in array.dims:
            continue
        if scopes_of(array).get(DIMENSIONS.key) == declared:
            if dims_named(array.dims, names) is not None:
                return
            first = first or array
    if first is not None:
        dims = list(first.dims)
        text = (
            f"{shown(declared.value)} must both be dimensions of the array, which has {shown(dims)}"
        )
        remedy = write(DIMENSIONS.key, rows_and_columns(first) or dims[-2:])
        yield new_finding(OF_ARRAY, declared, text, remedy)


def _declared_dims(array: ArrayView) -> tuple[str, str]:
    """Return the array's dimensions along Y and X; report a wrong order or case of names in ``spatial:dimensions``.

    Raises XGroupMetadataError if the attribute is missing, or does not name two dimensions of the array.
    """
    scopes = scopes_of(array)
    declared = scopes.get(DIMENSIONS.key)
    own = list(filter(None, declared_dimensions(array.document)))
    dims = rows_and_columns(array)
    likely = (dims if len(own) == len(array.dims) else None) or own[-2:]
    if declared is None:
        # An array may declare the convention and have none of its attributes.
        is_used = any(scopes.get(attribute.key) is not None for attribute in ATTRIBUTES)
        place = Fragment(array.node, ("attributes", DIMENSIONS.key), None)
        text = _("is missing: an array that declares 'spatial' must have it")
        remedy = write(DIMENSIONS.key, likely or ["y", "x"])
        raise place.error(text, REQUIRED if is_used else None, remedy)
    names = DIMENSIONS.value(declared)
    named = dims_named(array.dims, names)
    text = _("{value} must both be dimensions of the array, which has {dims}").format(
        value=shown(declared.value), dims=shown(own)
    )
    if named is None or dims is None:
        remedy = write(DIMENSIONS.key, likely)
        if len(array.dims) < 2:
            remedy = _("remove it from the array, which does not have two dimensions")
        raise declared.error(text, OF_ARRAY, remedy)
    if dims != named:
        report_order(array, declared, dims, Y_FIRST)
    else:
        _report_x_first(array, declared, names)
    if named != names:
        array.report(OF_ARRAY, declared, text, write(DIMENSIONS.key, dims), severity="warning")
    return dims


def _report_x_first(array: ArrayView, declared: Fragment, names: tuple[str, str]) -> None:
    """Report ``spatial:dimensions`` if one name suggests that the first is along X, or the second along Y.

    Attributes of coordinate variables take precedence over names.
    """
    stored = filter(None, (coordinate_variable(array, name) for name in names))
    if any(axis_by_attributes(variable.attributes) for variable in stored):
        return
    first, second = map(axis_of_dimension, names)
    if first == "X" != second or second == "Y" != first:
        y, x = names
        text = _(
            "makes {y!r} the Y axis and {x!r} the X axis, because Y is first; the names suggest the "
            "opposite order"
        ).format(y=y, x=x)
        remedy = write(DIMENSIONS.key, [*declared.value[:-2], x, y])
        array.report(Y_FIRST, declared, text, remedy, topic=Topic.CHOICE, severity="warning")


# The declared transform of an array, a group or an item.


def _box(scopes: AttributeScopes, *, skip_shared: bool = False) -> Fragment | None:
    """Return the bounding box, or None; the zeros that some products write are a placeholder."""
    box = scopes.get(BOX.key, skip_shared=skip_shared)
    is_placeholder = box is not None and isinstance(box.value, list) and not any(box.value)
    return None if is_placeholder else box


def _unit(array: ArrayView) -> str:
    """Return the unit of the array's CRS along X, "" if it is not known."""
    crs = crs_of(array)
    return "" if crs is None else crs.axis_attributes()["X"].get("units", "")


def _box_sides(array: ArrayView, box: Fragment) -> list[float]:
    """Return the sides of a bounding box; across the antimeridian, the right side is beyond 180 degrees."""
    left, bottom, right, top = BOX.value(box)
    is_across = left > right and _unit(array) == "degrees_east"
    return [left, bottom, right + 360 if is_across else right, top]


def _no_area_error(box: Fragment, sizes: Sizes) -> XGroupMetadataError:
    """Return the error for a bounding box without area."""
    text = _("spans no area for {rows} x {columns} cells")
    return box.error(text.format(rows=sizes[0], columns=sizes[1]))


def _declared_transform(
    array: ArrayView,
    scopes: AttributeScopes,
    sizes: Sizes | None = None,
    shared: Fragment | None = None,
) -> Transform | None:
    """Return the transform by ``spatial:transform``, otherwise by bounding box and sizes, or None.

    The default of `sizes` is ``spatial:shape``. `shared` is the transform to use if `scopes` have none. Raises
    XGroupMetadataError if one of the attributes cannot be used.
    """
    kind = scopes.get(TRANSFORM_TYPE.key)
    if kind is not None and (name := TRANSFORM_TYPE.value(kind)) != "affine":
        raise kind.error(_("is {kind!r}, but only 'affine' is supported").format(kind=name))
    registered = scopes.value(REGISTRATION)
    centre = CENTRES["pixel"] if registered is None else registered
    written = scopes.get(TRANSFORM.key) or shared
    if written is not None:
        return Transform(TRANSFORM.value(written), centre)
    box, sizes = _box(scopes), sizes or scopes.value(SHAPE)
    return None if box is None or sizes is None else _transform_of_box(array, box, sizes, centre)


def _transform_of_box(array: ArrayView, box: Fragment, sizes: Sizes, centre: float) -> Transform:
    """Return the transform of a grid that fills a bounding box, or raise XGroupMetadataError.

    North is up in such a grid. With node registration the box ends at the outermost centres, so the grid is one cell
    shorter. If a box has a length along a single row or column of nodes, its position is not known: the step is NaN.
    """
    left, bottom, right, top = _box_sides(array, box)
    rows, columns = (size - 1 + 2 * centre for size in sizes)
    steps = []
    for span, cells in ((right - left, columns), (top - bottom, rows)):
        if span < 0 or (span == 0 and cells > 0):
            raise _no_area_error(box, sizes)
        steps.append(span / cells if cells else math.nan if span else 0.0)
    affine = affine_of(steps[0], 0.0, left, 0.0, -steps[1], top)
    return Transform(require_cell_area(affine, box) if rows and columns else affine, centre)


# The transform of an array, which may be derived from that of a different level.

#: The transform of a level, an error, or None if no attribute defines one; and its sizes, None if they are not known.
_Grid: TypeAlias = tuple[Transform | XGroupError | None, Sizes | None]


def _transform_of_array(
    array: ArrayView, dims: tuple[str, str], missing: Sequence[str]
) -> Transform | None:
    """Return the transform of an array's grid, None if it is not defined, and report missing coordinates.

    `missing` are the dimensions without a coordinate variable. Raises XGroupError if an attribute of the array, or of a
    level from which its level is derived, cannot be used.
    """
    scopes, level = scopes_of(array), level_of(array)
    sizes, transform = (array.sizes[dims[0]], array.sizes[dims[1]]), None
    if level is None or scopes.get(TRANSFORM.key) is not None:
        transform = _declared_transform(array, scopes, sizes)
    else:
        # The item that names the source of the array's level, if there is one.
        item = next((item for item in level.items if item.has_transform), level.items[0])
        # If levels are groups, the array is derived from the arrays with its name in the other groups.
        name = "" if item is level.of_array else array.name
        axes = tuple(array.dims.index(dim) for dim in dims)
        chain, error = level.layout.derivation(item, level.group)
        if name and len(chain) > 1:
            array.depends_on_name = True
        grid: _Grid = error, None
        # From the last source to the array's own level, each grid is computed from the one before. `error` is the
        # source of the last one if that cannot be used.
        for item in reversed(chain):
            source = None if item is chain[-1] and error is None else grid
            # Other arrays are derived from the same levels.
            known = (level.group, item.asset, name, len(array.dims), axes, source)
            grid = array.tree.memo(known, _grid_of_level, array, dims, level, item, name, source)
        if isinstance(grid[0], XGroupError):
            raise grid[0]
        transform = grid[0]
    _report_coordinates_not_given(array, dims, missing, transform)
    return transform


def _report_coordinates_not_given(
    array: ArrayView, dims: tuple[str, str], missing: Sequence[str], transform: Transform | None
) -> None:
    """Report coordinates without known values, an unused bounding box, or that no transform is declared."""
    scopes = scopes_of(array)
    box = _box(scopes)
    if transform is not None and box is not None:
        steps = zip(dims, (transform.affine.e, transform.affine.a), strict=True)
        unknown = [dim for dim, step in steps if math.isnan(step) and dim in missing]
        if unknown:
            error = _no_area_error(box, (array.sizes[dims[0]], array.sizes[dims[1]]))
            array.report(Topic.PROBLEM, array.node, error, cost=coordinates_along(unknown))
    elif transform is None and box is not None:
        text = _(
            "is not used: the grid is derived from a level that has neither spatial:transform, nor "
            "spatial:bbox and a size"
        )
        array.report(Topic.CHOICE, box, text, severity="error")
    elif transform is None and scopes.get(BOX.key) is None:
        text = _(
            "'spatial' is declared, but there is neither spatial:transform, nor spatial:bbox, nor "
            "1-D arrays {names}, so these dimensions get no coordinates"
        )
        array.report(Topic.CHOICE, array.node, text.format(names=", ".join(dims)))


def _grid_of_level(
    array: ArrayView,
    dims: tuple[str, str],
    level: LevelMembership,
    item: Item,
    name: str,
    source: _Grid | None,
) -> _Grid:
    """Return the grid of the level that an item describes, in the layout of an array's level.

    If the level is a group, `name` is the name of its array. `source` is the grid of the level's source, None if the
    level is not derived.
    """
    # The asset is an array, or a group that may have an array with the name.
    node = level.group.child(item.asset or "")
    document, other, group = array.document_of(node), node, node.group
    if document is None or not document.is_array:
        other, group = node.child(name), node
        document = array.document_of(other)
    if source is not None and (document is None or not document.is_array):
        # A level without an array of the name has the grid of its arrays if these declare it.
        members = array.tree.arrays(group).items()
        gridded = {member: each for member, each in members if TRANSFORM.key in each.attributes}
        if len({each.attributes.text(TRANSFORM.key) for each in gridded.values()}) > 1:
            text = _("its arrays have different spatial:transform, and none of them is {name!r}")
            place = str(item.place(level.group, "asset"))
            return XGroupMetadataError(text.format(name=name), place=place), None
        for member, existing_document in gridded.items():
            other, document = group.child(member), existing_document
    existing, sizes = None, None
    if document is not None and document.is_array:
        existing, sizes = other, _sizes_of_level(array, dims, document)
    membership = LevelMembership.of(existing, group, level.group, level.layout)
    scopes = AttributeScopes.of(array, existing, group, membership)
    written = scopes.get(TRANSFORM.key)
    transform: Transform | XGroupError | None = None
    try:
        if written is None and source is not None:
            transform = _derived_transform(array, dims, level.group, item, scopes, sizes, source)
        elif written is not None or item.is_derived or item.is_base:
            # The transform of the layout's group is that of the base level, unless that level has a bounding box.
            shared = None
            if item.asset == level.layout.base and _box(scopes, skip_shared=True) is None:
                shared = array.attribute(TRANSFORM.key, level.group)
            transform = _declared_transform(array, scopes, sizes, shared)
        # Otherwise the item has a transform to a different level, but does not name that level.
    except XGroupError as error:
        transform = error
    return transform, sizes


def _sizes_of_level(array: ArrayView, dims: tuple[str, str], other: Document) -> Sizes | None:
    """Return the sizes of a different array along the Y and X dimensions of an array, None if it has fewer axes.

    Dimensions are matched by name, or by position if the other array does not have both names.
    """
    shape, names = other["shape"], declared_dimensions(other)
    axes = [array.dims.index(dim) for dim in dims]
    own = [declared_dimensions(array.document)[axis] for axis in axes]
    if None not in own and {*own} <= {*names}:
        axes = [names.index(name) for name in own]
    return (shape[axes[0]], shape[axes[1]]) if max(axes) < len(shape) else None


def _derived_transform(
    array: ArrayView,
    dims: tuple[str, str],
    group: Node,
    item: Item,
    scopes: AttributeScopes,
    sizes: Sizes | None,
    source: _Grid,
) -> Transform | None:
    """Return the transform of a level's source, composed with the item's scale and translation.

    None if the source has no transform. `group` has the layout. Raises XGroupError if a transform cannot be used.
    """
    transform, whole = source
    if isinstance(transform, XGroupError):
        raise transform
    relation = item.relation(group)
    if transform is None:
        return None
    orders = (array.dims, *array.siblings.values())
    (rows, columns), (down, right) = relation.scale_and_shift(
        group, dims, orders, sizes or (), whole or ()
    )
    # `affine * other` differs between versions of affine, and warns in some.
    a, b, c, d, e, f = list(transform.affine)[:6]
    affine = affine_of(
        *(a * columns, b * rows, a * right + b * down + c),
        *(d * columns, e * rows, d * right + e * down + f),
    )
    registration = scopes.get(REGISTRATION.key, skip_shared=True)
    centre = transform.centre if registration is None else REGISTRATION.value(registration)
    start = transform.start or (transform.affine.c, transform.affine.f)
    return Transform(require_cell_area(affine, relation.place(group)), centre, start)


# Contradictions.


def _report_contradictions(
    array: ArrayView, dims: tuple[str, str], transform: Transform | None, topic: Topic | None
) -> None:
    """Report attributes that contradict the array's shape or its transform.

    `topic` is None if coordinates are not computed from these attributes; then only `check` reports them.
    """
    scopes, sizes = scopes_of(array), (array.sizes[dims[0]], array.sizes[dims[1]])
    _report_shape(array, sizes, topic)
    if transform is None or transform.is_partial:
        return
    box, written = _box(scopes), scopes.get(TRANSFORM.key)
    read = array.try_without_findings if topic is None else array.try_reporting
    sides = None if box is None else read(_box_sides, array, box)
    reordered = in_order_of_gdal(transform, sizes, sides, _unit(array))
    # If the order is wrong, the box does not fit either: one report is enough.
    if written is not None and reordered is not None:
        numbers = list(reordered.affine)[:6]
        text = _(
            "is {numbers}, which gives the grid the extent {extent}; the numbers seem to be in the "
            "order of GDAL, but the convention's is [a, b, c, d, e, f]: {reordered}"
        ).format(
            numbers=list(transform.affine)[:6], extent=transform.extent(sizes), reordered=numbers
        )
        array.report(ORDER, written, text, write(TRANSFORM.key, numbers), topic=topic)
    elif sides and (level := level_of(array)) is not None and transform.is_moved_off(sides):
        report_translations(array, level)
    elif box is not None and sides and not transform.fills(sides, sizes, OVERHANG):
        text = _("is {box}, but the transform gives {actual}, which is used")
        actual = transform.extent(sizes)
        text = text.format(box=BOX.value(box), actual=actual)
        remedy = write(BOX.key, actual)
        array.report(BOX_OF_GRID, box, text, remedy, topic=topic, severity="warning")


def _report_shape(array: ArrayView, sizes: Sizes, topic: Topic | None) -> None:
    """Report a ``spatial:shape`` that is not the array's."""
    shape = scopes_of(array).get(SHAPE.key)
    if shape is not None and shape.value != list(sizes):
        text = _("is {shape}, but the array has {sizes} cells, which are used")
        text, remedy = text.format(shape=shape.value, sizes=list(sizes)), write(SHAPE.key, [*sizes])
        grids = {tuple(other.values())[-2:] for other in array.siblings.values() if len(other) > 1}
        # If arrays of a group have several sizes, a shape on the group cannot be correct for all of them.
        if shape.node != array.node and len(grids) > 1:
            remedy = _("remove it from the group, whose arrays have several sizes, and {write}")
            remedy = remedy.format(write=_("write each array's own"))
        array.report(SHAPE_OF_ARRAY, shape, text, remedy, topic=topic, severity="warning")


#: The greatest extent of a grid, by the unit of its CRS: a full circle, and more than the circumference of the Earth.
_WIDEST = {"degree": 360.0, "m": 5e7}

#: The order of GDAL is assumed if cells are by this factor more elongated in the written order: if north is up in the
#: order of GDAL, and if the grid is rotated in it.
_LONG, _FAR_LONGER = 10, 1000


def in_order_of_gdal(
    transform: Transform, sizes: Sizes, box: list[float] | None, unit: str
) -> Transform | None:
    """Return the transform in the order of GDAL if its numbers seem to be in that order, or None.

    They are if only that order fills the bounding box. If there is no box, they are if the grid is wider than the Earth,
    or its cells are skewed or much longer than wide, and not in the order of GDAL. `unit` is that of the CRS, or "".
    """
    c, a, b, f, d, e = list(transform.affine)[:6]  # read in the order of GDAL
    other = Transform(affine_of(a, b, c, d, e, f), transform.centre)
    if area_of(other.affine) == 0:
        return None
    widest = _WIDEST.get(horizontal_unit(unit), math.inf)
    is_wide, is_other_wide = (
        max(right - left, top - bottom) > widest
        for left, bottom, right, top in (transform.extent(sizes), other.extent(sizes))
    )
    if box is not None:
        is_in_order_of_gdal = not transform.fills(box, sizes) and other.fills(box, sizes)
    elif is_wide:
        is_in_order_of_gdal = True
    else:
        # In the wrong order, the coordinates of a corner become the sides of cells, which are then as long as the
        # distance from the origin of the CRS to the grid.
        is_skewed, elongation = _distortion(transform)
        is_other_skewed, other_elongation = _distortion(other)
        times_longer = elongation / other_elongation
        if other.is_rotated:
            is_in_order_of_gdal = is_skewed and not is_other_skewed and times_longer > _FAR_LONGER
        else:
            is_in_order_of_gdal = is_skewed or times_longer > _LONG
    return other if is_in_order_of_gdal and not is_other_wide else None


def _distortion(transform: Transform) -> tuple[bool, float]:
    """Return whether cells are skewed, and the ratio of their longer side to their shorter side."""
    row, column = transform.cell_size
    # The sides of a cell are at a right angle if their scalar product is 0, within rounding.
    product = transform.affine.a * transform.affine.b + transform.affine.d * transform.affine.e
    return bool(abs(product) > column * row * 1e-6), max(row, column) / min(row, column)
