"""The transform of ``proj:transform``: of the first version of `proj`, and of STAC where `proj` is assumed.

The first version of the convention says with ``proj:spatial_dimensions`` of which dimensions it is, on
arrays or groups. Products of EOPF carry ``proj:transform``, ``proj:shape`` and ``proj:bbox`` on each array
as the projection extension of STAC has them. The convention does not know these any more, and they are
often left over from another grid: they count only where a user says so, and only for arrays of just
that shape.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from affine import Affine

from zarr_xgroup.conventions.array import ArrayView
from zarr_xgroup.conventions.axes import horizontal_dims
from zarr_xgroup.conventions.base import Surroundings
from zarr_xgroup.conventions.crs import CRS_KEYS
from zarr_xgroup.conventions.grids import Grid, coordinates_along
from zarr_xgroup.conventions.layout import places_of
from zarr_xgroup.conventions.model import Interpretation
from zarr_xgroup.conventions.proj import ProjHandler, crs_of
from zarr_xgroup.conventions.spatial_model import CENTRES, usable
from zarr_xgroup.conventions.transforms import Transform, extent_of, spans
from zarr_xgroup.conventions.values import finite_numbers
from zarr_xgroup.errors import XGroupMetadataError
from zarr_xgroup.findings import Topic
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import axis_by_name
from zarr_xgroup.metadata.nodes import Fragment, Node

#: The last row of a transform that is written as a whole matrix.
_LAST_ROW = [0.0, 0.0, 1.0]


class StacProjHandler(ProjHandler):
    """Says which CRS an array has and, where that is meant, which transform its grid has."""

    gives_way = True
    reads = ()

    @classmethod
    def seems_meant(cls, attributes: Mapping[str, Any], around: Surroundings) -> bool:
        """Tell whether there is a transform."""
        return "proj:transform" in attributes

    @classmethod
    def seems_to_say_crs(cls, attributes: Mapping[str, Any], around: Surroundings) -> bool:
        """Tell whether one of the attributes is a CRS."""
        return any(attributes.get(key) is not None for key in CRS_KEYS)

    def interpret(self, array: ArrayView) -> Interpretation:
        """Return the CRS, and what follows from ``proj:transform``."""
        declared = self._declared_dims(array)
        dims = declared or rows_and_columns(array)
        if dims is None:
            return super().interpret(array)
        grid, lost = Grid(array, dims), partial(coordinates_along, list(dims))
        transform = None
        if declared is not None:
            transform = array.try_reporting(_transform, grid, places_of(array).get, cost=lost)
        elif self.name in array.assumed:
            transform = array.try_reporting(_transform, grid, array.attribute, cost=lost)
        return super().interpret(array) if transform is None else placed(grid, transform)

    def _declared_dims(self, array: ArrayView) -> tuple[str, str] | None:
        """Return the array's dimensions along Y and X if the first version of `proj` names them."""
        names = self._declared_names(array)
        if len(names) != 2:
            return None
        y, x = (array.dim_names.get(name, name) for name in names)
        return (y, x) if y != x and {y, x} <= set(array.dims) else None

    def _declared_names(self, array: ArrayView) -> list[str]:
        declared = places_of(array).get("proj:spatial_dimensions")
        if declared is None or not isinstance(declared.value, list) or not self.applies(array):
            return []
        return [name for name in declared.value if isinstance(name, str)]

    def axis_names(self, array: ArrayView) -> tuple[str, ...]:
        """Return the names that the first version of `proj` gives to Y and X dimensions."""
        return tuple(self._declared_names(array))


#: The convention that has to be assumed for its transforms to count.
TO_BE_ASSUMED = StacProjHandler.name


def placed(grid: Grid, transform: Transform) -> Interpretation:
    """Return what follows from the transform of an array's grid.

    Of the dimensions of which the group has coordinates, it is about those that say themselves that they are
    along Y and X, as another dimension may have taken the place of the one that was meant.

    Parameters
    ----------
    grid : Grid
        The grid.
    transform : Transform
        The transform.
    """
    if transform.is_rotated and grid.own:
        return grid.array.interpretation(crs=crs_of(grid.array))
    return grid.array.interpretation(
        *grid.declared(transform, grid.own_of_the_axes),
        crs=crs_of(grid.array),
        geotransform=grid.geotransform(transform),
    )


def rows_and_columns(array: ArrayView) -> tuple[str, str] | None:
    """Return the array's dimensions along Y and X, or None if it has no two."""
    dims = horizontal_dims(array)
    if len(set(dims)) != 2:
        return None
    first, second = map(axis_by_name, dims)  # nothing declares which is which
    return (dims[1], dims[0]) if first == "X" != second else (dims[0], dims[1])


def _transform(grid: Grid, attribute: Callable[[str], Fragment | None]) -> Transform | None:
    """Return the transform of ``proj:transform`` if it is that of the array's grid."""
    written = attribute("proj:transform")
    if written is None:
        return None
    array, sizes, shape = grid.array, grid.sizes, attribute("proj:shape")
    if shape is not None and shape.value != list(sizes):
        if grid.missing:  # else it is not missed
            message = _("is {shape}, so proj:transform is not that of {sizes} cells")
            array.report(Topic.CHOICE, shape, message.format(sizes=list(sizes), shape=shape.value))
        return None
    transform = _transform_of(written)
    _check_box(array, attribute("proj:bbox"), transform, sizes)
    return transform


def transform_of_stac(
    array: Node, attributes: Mapping[str, Any], sizes: Sequence[int]
) -> Transform | None:
    """Return the transform that STAC's attributes give an array of just so many rows and columns."""
    found = Fragment(array, ("attributes",), attributes)
    written, shape = found.get("proj:transform"), found.get("proj:shape")
    if written is None or shape is None or shape.value != list(sizes):
        return None
    with suppress(XGroupMetadataError):  # told where coordinates would follow from it
        return _transform_of(written)
    return None


def _transform_of(written: Fragment) -> Transform:
    """Return a transform that is written with or without its third row."""
    count = 9 if len(written.as_list()) == 9 else 6
    numbers = finite_numbers(written, count)
    if numbers[6:] not in ([], _LAST_ROW):
        raise written.error(_("is no affine transform: its last row is not 0, 0, 1"))
    return Transform(usable(Affine(*numbers[:6]), written), CENTRES["pixel"])


def _check_box(
    array: ArrayView, box: Fragment | None, transform: Transform, sizes: tuple[int, int]
) -> None:
    """Say if ``proj:bbox`` is another one than that of the grid; zeros stand for none."""
    numbers = None if box is None else array.try_reporting(finite_numbers, box, 4)
    if box and numbers and any(numbers) and not spans(numbers, transform, sizes):
        message = _("is {box}, but by proj:transform it is {actual}; the latter counts")
        array.report(
            Topic.CHOICE, box, message.format(box=numbers, actual=extent_of(transform, sizes))
        )
