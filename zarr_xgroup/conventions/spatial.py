"""The `spatial` principal convention: coordinates of gridded imagery from an affine transform.

Attributes stand on the array, or on its group for all direct child arrays; the layout of a
`multiscales` group gives those of its levels (`layout.Places`: attribute by attribute). A level that is
derived from another one follows the grid of that one.

An array is interpreted in steps: which of its dimensions are along Y and X (`_declared_dims`),
which transform is declared of its grid or follows from other levels (`_transform`),
whether what else is declared agrees with that, which coordinates follow (`grids.Grid`).
"""

from __future__ import annotations

import math
from functools import partial
from typing import ClassVar

from zarr_xgroup.conventions.array import ArrayView
from zarr_xgroup.conventions.base import ConventionHandler
from zarr_xgroup.conventions.declaring import is_declared_by_array
from zarr_xgroup.conventions.descriptions import shown, write
from zarr_xgroup.conventions.grids import (
    Grid,
    coordinates_along,
    own_geotransform,
)
from zarr_xgroup.conventions.layout import is_declared_around, layout_of, places_of
from zarr_xgroup.conventions.levels import Levels, Site, is_placeholder
from zarr_xgroup.conventions.model import Interpretation
from zarr_xgroup.conventions.proj import crs_of
from zarr_xgroup.conventions.spatial_model import (
    ATTRIBUTES,
    BOX,
    BOX_OF_GRID,
    DIMENSIONS,
    OF_ARRAY,
    ORDER,
    REQUIRED,
    RULES,
    SHAPE,
    SHAPE_OF_ARRAY,
    TRANSFORM,
)
from zarr_xgroup.conventions.transforms import (
    OVERHANG,
    Transform,
    extent_of,
    in_order_of_gdal,
    no_area,
    spans,
)
from zarr_xgroup.findings import Topic
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.dimensions import declared_dimensions
from zarr_xgroup.metadata.nodes import Fragment


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

        Also if the group names none that can be: that is told of arrays that have two.
        """
        if is_declared_by_array(cls, array):
            return True
        if not is_declared_around(cls, array):
            return False
        declared = places_of(array).get(DIMENSIONS.key)
        if declared is None:
            return False
        names = DIMENSIONS.read(declared)[0]
        return len(array.dims) > 1 if names is None else _dims_of(array, names) is not None

    @classmethod
    def why_not(cls) -> str:
        """Return why it does not apply to an array, where the array's group declares it."""
        return _("spatial:dimensions does not name two of its dimensions")

    def interpret(self, array: ArrayView) -> Interpretation:
        """Return the coordinates of cell centres, the CRS, and the transform if they follow from it."""
        crs = crs_of(array)
        lost = _("the coordinates of {convention!r}").format(convention=self.name)
        dims = array.try_reporting(_declared_dims, array, cost=lambda: lost)
        if dims is None:
            return array.interpretation(crs=crs)
        grid = Grid(array, dims)
        transform = None
        if grid.missing:
            lost_with_it = partial(coordinates_along, grid.missing)
            transform = array.try_reporting(_transform, grid, cost=lost_with_it)
        else:
            transform = _transform_beside(grid)
        return array.interpretation(
            *grid.declared(transform, grid.own),
            crs=crs,
            geotransform=None if transform is None else grid.geotransform(transform),
        )

    def axis_names(self, array: ArrayView) -> tuple[str, ...]:
        """Return the names of an array's Y and X dimensions."""
        if not (is_declared_by_array(type(self), array) or is_declared_around(type(self), array)):
            return ()
        return array.try_silently(places_of(array).value, DIMENSIONS) or ()


# The dimensions along Y and X.


def _declared_dims(array: ArrayView) -> tuple[str, str]:
    """Return the array's dimensions along Y and X as they are declared.

    Raises
    ------
    XGroupMetadataError
        If they are not, or not two of its dimensions.
    """
    declared = _names_of_dims(array)
    names = DIMENSIONS.value(declared)
    dims = _dims_of(array, names)
    if dims is not None and set(names) <= {*array.dims, *array.dim_names}:
        return dims
    # The array's document is asked for only here: by that an answer is for no other array.
    text = _("{value} are not both dimensions of the array, which has {dims}").format(
        value=shown(declared.value), dims=shown(_named(array))
    )
    if dims is None:
        remedy = write(DIMENSIONS.key, _named(array)[-2:])
        if len(array.dims) < 2:
            remedy = _("take it off the array, which does not have two dimensions")
        raise declared.error(text, OF_ARRAY, remedy)
    known = {name.lower(): name for name in _named(array)}
    spelt = [known.get(name.lower(), name) for name in names]
    if spelt != list(names):
        remedy = write(DIMENSIONS.key, spelt)
        array.report(OF_ARRAY, declared, text, remedy, severity="warning")
    return dims


def _named(array: ArrayView) -> list[str]:
    """Return the names that the array's document gives its dimensions."""
    return [name for name in declared_dimensions(array.document) if name is not None]


def _names_of_dims(array: ArrayView) -> Fragment:
    """Return the attribute that names the dimensions along Y and X.

    Raises
    ------
    XGroupMetadataError
        If it is missing; that breaks no rule where nothing else is there either.
    """
    places = places_of(array)
    if (declared := places.get(DIMENSIONS.key)) is not None:
        return declared
    is_used = any(places.get(attribute.key) is not None for attribute in ATTRIBUTES)
    place = Fragment(array.node, ("attributes", DIMENSIONS.key), None)
    text = _("is missing: an array that declares 'spatial' must have it")
    remedy = write(DIMENSIONS.key, _named(array)[-2:] or ["y", "x"])
    raise place.error(text, REQUIRED if is_used else None, remedy)


def _dims_of(array: ArrayView, names: tuple[str, str]) -> tuple[str, str] | None:
    """Return the array's dimensions of two names, in upper or lower case; None if it lacks any."""
    known = {**{name: name for name in array.dims}, **array.dim_names}
    anycase = {name.lower(): here for name, here in known.items()}
    y, x = (known.get(name) or anycase.get(name.lower()) for name in names)
    return (y, x) if y is not None and x is not None and x != y else None


def _topic(grid: Grid) -> Topic | None:
    """Return what an open tells contradictions as: nothing where they make no difference."""
    return Topic.CHOICE if grid.missing else None


# The transform, and what is declared beside it.


def _site(grid: Grid) -> Site:
    return Site(places_of(grid.array), grid.sizes, crs_of(grid.array))


def _transform(grid: Grid) -> Transform | None:
    """Return the transform of a grid; None if there is none, nor anything that it follows from.

    Raises
    ------
    XGroupError
        If what is written cannot be used.
    """
    here = _site(grid)
    here.check_kind()
    here.centre  # noqa: B018  # told before all else
    _check_shape(grid)
    transform = _of_levels(grid, here)
    if transform is None:
        _tell_of_nothing(grid)
        return None
    steps = zip(grid.dims, (transform.affine.e, transform.affine.a), strict=True)
    lost = [name for name, step in steps if math.isnan(step) and name in grid.missing]
    if lost and here.box is not None:
        grid.array.report(
            Topic.PROBLEM,
            grid.array.node,
            no_area(here.box, grid.sizes),
            cost=coordinates_along(lost),
        )
    _check_numbers(grid, transform)
    # Coordinates have to agree with what tools read.
    own = own_geotransform(grid.array)
    return transform if own is None else own


def _transform_beside(grid: Grid) -> Transform | None:
    """Return the transform of a grid whose coordinates the group has: only a check tells what is wrong.

    None if none is written that can be used, or a rotated one.
    """
    here = _site(grid)
    written = here.places.get(TRANSFORM.key)
    transform = None if written is None else grid.array.try_silently(here.transform, written)
    _check_shape(grid)
    if transform is None:
        return None
    _check_numbers(grid, transform)
    return None if transform.is_rotated else transform


def _of_levels(grid: Grid, here: Site) -> Transform | None:
    """Return the transform that is declared for the array, or follows from other levels."""
    level, written = layout_of(grid.array), here.places.get(TRANSFORM.key)
    if level is None or written is not None:
        return here.transform(written)
    return Levels(grid.array, grid.dims, level).transform(here)


def _check_shape(grid: Grid) -> None:
    """Say that there are other numbers of cells than are declared."""
    array, sizes = grid.array, list(grid.sizes)
    shape = places_of(array).get(SHAPE.key)
    if shape is None or shape.value == sizes:
        return
    message = _("is {shape}, but the array has {sizes} cells; the latter counts")
    text = message.format(shape=shape.value, sizes=sizes)
    remedy = write(SHAPE.key, sizes)
    grids = {tuple(it.values())[-2:] for it in array.siblings.values() if len(it) > 1}
    if shape.node != array.node and len(grids) > 1:
        remedy = _("take it off the group, whose arrays have several sizes, and {write}").format(
            write=_("write each array's own")
        )
    array.report(SHAPE_OF_ARRAY, shape, text, remedy, topic=_topic(grid), severity="warning")


def _check_numbers(grid: Grid, transform: Transform) -> None:
    """Say that a transform is in the order of GDAL, or that a box is not that of the grid.

    The former cannot be meant if the grid is wider than the Earth, or is off its own bounding box.
    """
    array, here = grid.array, _site(grid)
    box, written = here.box, here.places.get(TRANSFORM.key)
    read = array.try_reporting if grid.missing else array.try_silently
    if transform.is_partial:
        return
    numbers = None if box is None else array.try_silently(here.sides, box)
    unit = grid.axes["X"].get("units", "")
    meant = in_order_of_gdal(transform, grid.sizes, numbers, unit)
    if written is not None and meant is not None:
        _tell_of_gdal(grid, written, transform, list(meant.affine)[:6])
    elif box is not None and (sides := read(here.sides, box)) is not None:
        _check_box(grid, box, sides, transform)


def _tell_of_gdal(grid: Grid, written: Fragment, transform: Transform, meant: list[float]) -> None:
    message = _(
        "is {numbers}, by which the grid spans {extent}; are its numbers in the order of GDAL? That of "
        "the convention is [a, b, c, d, e, f]: {meant}"
    )
    extent = extent_of(transform, grid.sizes)
    text = message.format(numbers=list(transform.affine)[:6], extent=extent, meant=meant)
    grid.array.report(ORDER, written, text, write(TRANSFORM.key, meant), topic=_topic(grid))


def _check_box(grid: Grid, box: Fragment, sides: list[float], transform: Transform) -> None:
    """Say that a box of some sides is another one than that of the grid."""
    actual = extent_of(transform, grid.sizes)
    if not spans(sides, transform, grid.sizes, OVERHANG):
        message = _("is {box}, but the transform gives {actual}; the latter counts")
        text = message.format(box=BOX.value(box), actual=actual)
        remedy = write(BOX.key, actual)
        grid.array.report(BOX_OF_GRID, box, text, remedy, topic=_topic(grid), severity="warning")


def _tell_of_nothing(grid: Grid) -> None:
    """Say that there is nothing that coordinates follow from.

    The placeholder for a bounding box says that who wrote it knows that.
    """
    array, box = grid.array, places_of(grid.array).get(BOX.key)
    if box is not None and is_placeholder(box):
        return
    if box is not None:
        text = _(
            "was not used: the grid follows that of another level, of which neither "
            "spatial:transform nor spatial:bbox and size are known"
        )
        array.report(Topic.CHOICE, box, text)
        return
    reason = _(
        "spatial is declared, but there is neither spatial:transform, nor spatial:bbox, nor "
        "1-D arrays {names}: these dimensions have no coordinates from it"
    ).format(names=", ".join(grid.dims))
    array.report(Topic.CHOICE, array.node, reason)
