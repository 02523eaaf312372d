"""Affine transforms of grids, from rows and columns to coordinates, for all conventions that declare transforms.

Sources: spatial convention (zarr-conventions/spatial); GDAL, "Geotransform Tutorial".
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from zarr_xgroup.conventions.array import ArrayView, chunks_along, has_coordinate
from zarr_xgroup.conventions.model import Coordinate, Interpretation
from zarr_xgroup.conventions.proj import crs_of
from zarr_xgroup.conventions.values import finite_numbers
from zarr_xgroup.findings import coordinate_named
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import axis_by_attributes, axis_by_name
from zarr_xgroup.metadata.nodes import Fragment
from zarr_xgroup.variables.functions import Regular, RotatedCentres
from zarr_xgroup.variables.sources import Computed, Source, Stored

if TYPE_CHECKING:
    from affine import Affine

#: The distance from the index of a cell to its centre, in cells, by registration (``spatial:registration``).
CENTRES = {"pixel": 0.5, "node": 0.0}

#: The fraction of a cell by which equal bounding boxes may differ, because products round them.
ROUNDING = 1e-3


class Transform(msgspec.Struct, frozen=True):
    """The affine transform from rows and columns of a grid to coordinates of its CRS.

    ``x = a*column + b*row + c`` and ``y = d*column + e*row + f``. A number is NaN if the length of a single row or column
    is not known. `centre` is the distance from the index of a cell to its centre (`CENTRES`). `start` is the origin that the
    grid of a level would have without translations of the layout from which it is derived.
    """

    affine: Affine
    centre: float = CENTRES["pixel"]
    start: tuple[float, float] | None = None

    @property
    def is_rotated(self) -> bool:
        """Whether the grid is rotated or sheared."""
        return bool(self.affine.b != 0 or self.affine.d != 0)

    @property
    def is_partial(self) -> bool:
        """Whether the size of cells along an axis is not known, as for a single row or column of nodes."""
        # The area may be NaN, so this is not `== 0`.
        return not abs(area_of(self.affine)) > 0

    @property
    def cell_size(self) -> tuple[float, float]:
        """The distance from one row to the next, and from one column to the next."""
        return math.hypot(self.affine.b, self.affine.e), math.hypot(self.affine.a, self.affine.d)

    def geotransform_beside_coordinates(self, sizes: tuple[int, int]) -> str | None:
        """Return GDAL's ``GeoTransform``, from the outer corner of the first cell; None if coordinates suffice.

        A GeoTransform becomes wrong as soon as data are cut, thinned or sorted. So it is written only if coordinates
        cannot express the grid: for rotated grids, and for the size of a single row or column.
        """
        if self.is_partial or not (self.is_rotated or 1 in sizes):
            return None
        affine, back = self.affine, CENTRES["pixel"] - self.centre
        x = affine.c - back * (affine.a + affine.b)
        y = affine.f - back * (affine.d + affine.e)
        return " ".join(repr(float(n)) for n in (x, affine.a, affine.b, y, affine.d, affine.e))

    def centres_along(self, axis: str, dim: str, size: int) -> Computed | None:
        """Return the source of cell centres along axis X or Y of a grid that is not rotated.

        None if the size of cells along the axis is not known.
        """
        affine = self.affine
        origin, step = (affine.c, affine.a) if axis == "X" else (affine.f, affine.e)
        centres = Regular(origin, step, self.centre)
        return None if math.isnan(step) else Computed(centres, (size,), "float64", (dim,))

    def extent(self, sizes: tuple[int, int]) -> list[float]:
        """Return the bounding box ``[left, bottom, right, top]`` of a grid with `sizes` rows and columns.

        It includes whole cells, or with node registration only their centres.
        """
        affine, (rows, columns) = self.affine, (size - 1 + 2 * self.centre for size in sizes)
        ends = [(i, j) for i in (0, rows) for j in (0, columns)]
        x = [affine.a * j + affine.b * i + affine.c for i, j in ends]
        y = [affine.d * j + affine.e * i + affine.f for i, j in ends]
        return [min(x), min(y), max(x), max(y)]

    def is_moved_off(self, box: list[float]) -> bool:
        """Return whether translations of a layout move a level off a bounding box, by less than one of its cells.

        Only the origin counts, because sizes of levels are rounded: their last cells extend beyond the box.
        """
        affine = self.affine
        if self.start is None or self.is_rotated or self.centre != CENTRES["pixel"]:
            return False
        corner = box[0 if affine.a > 0 else 2], box[1 if affine.e > 0 else 3]
        own, start = (
            max(abs(x - corner[0]) / abs(affine.a), abs(y - corner[1]) / abs(affine.e))
            for x, y in ((affine.c, affine.f), self.start)
        )
        return start <= ROUNDING < own < 1

    def fills(self, box: list[float], sizes: tuple[int, int], tolerance: float = ROUNDING) -> bool:
        """Return whether a grid with `sizes` rows and columns fills a bounding box, within a tolerance in cells."""
        affine = self.affine
        wide, high = abs(affine.a) + abs(affine.b), abs(affine.d) + abs(affine.e)
        sides = zip(box, self.extent(sizes), (wide, high, wide, high), strict=True)
        return max(abs(side - own) / cell for side, own, cell in sides) <= tolerance


def affine_of(*numbers: float) -> Affine:
    """Return the affine transform of six numbers. The package is imported here, because most stores do not need it."""
    from affine import Affine

    return Affine(*numbers)


def area_of(affine: Affine) -> float:
    """Return the signed area of a cell, the determinant of the transform."""
    return float(affine.a * affine.e - affine.b * affine.d)


def require_cell_area(affine: Affine, place: Fragment) -> Affine:
    """Return the transform unchanged, or raise XGroupMetadataError at `place` if its cells have no area."""
    if not math.isfinite(area := area_of(affine)) or area == 0:
        raise place.error(_("is degenerate: cells have no area"))
    return affine


def transform_of_gdal(written: Fragment) -> Transform:
    """Return the transform of GDAL's ``GeoTransform``: ``c a b f d e``, as text or list.

    It starts at the outer corner of the first cell, whatever ``AREA_OR_POINT`` is. Raises XGroupMetadataError if it does
    not have six finite numbers, or cells have no area.
    """
    value = written.value
    if isinstance(value, str):
        value = re.split(r"[\s,]+", value.strip())
        with contextlib.suppress(ValueError):
            value = list(map(float, value))  # otherwise `finite_numbers` reports the text
    c, a, b, f, d, e = finite_numbers(Fragment(written.node, written.keys, value), 6)
    return Transform(require_cell_area(affine_of(a, b, c, d, e, f), written))


# Coordinates of an array from a transform.


def coordinates_along(dims: Iterable[str]) -> str:
    """Return the name of the coordinates along dimensions, for warnings that they are missing."""
    return _("coordinates along {names}").format(names=", ".join(dims))


def interpret_grid(
    array: ArrayView,
    dims: tuple[str, str],
    transform: Transform | None,
    *,
    is_declared: bool = False,
) -> Interpretation:
    """Return an array's coordinates, CRS and ``GeoTransform``, given the transform of its grid.

    Coordinate variables of the group take precedence over coordinates that are computed from the transform. `dims` are
    the array's dimensions along Y and X, and `is_declared` means that metadata name them. If they are guessed, coordinate
    variables of the group are used only if their attributes or names place them along Y and X, and no coordinates are
    computed from a rotated transform next to them.
    """
    is_rotated = transform is not None and transform.is_rotated
    own, crs = _own_axes(array, dims, is_declared=is_declared), crs_of(array)
    if own and is_rotated and not is_declared:
        return array.interpretation(crs=crs)
    axes = {"X": {"axis": "X"}, "Y": {"axis": "Y"}} if crs is None else crs.axis_attributes()
    coordinates = []
    for dim, axis in zip(dims, "YX", strict=True):
        if own.get(dim, axis) != axis:
            continue
        source: Source | None = None
        if transform is not None and not is_rotated:
            source = transform.centres_along(axis, dim, array.sizes[dim])
        elif dim in own:  # so that it gets the attributes of the CRS
            stored = Stored(array.node.group.child(dim), (dim,))
            source = array.try_reporting(array.stored, stored, cost=partial(coordinate_named, dim))
        if source is not None:
            coordinates.append(Coordinate(dim, source, axes[axis]))
    if transform is None:
        return array.interpretation(*coordinates, crs=crs)
    if is_rotated:
        coordinates += _rotated_coordinates(array, dims, transform, axes)
    sizes = array.sizes[dims[0]], array.sizes[dims[1]]
    geotransform = None if own else transform.geotransform_beside_coordinates(sizes)
    return array.interpretation(*coordinates, crs=crs, geotransform=geotransform)


def _own_axes(
    array: ArrayView, dims: tuple[str, str], *, is_declared: bool
) -> dict[str, str | None]:
    """Return the axes of the group's coordinate variables of `dims`, by declaration, attributes or names."""
    axes: dict[str, str | None] = {}
    for dim, axis in zip(dims, "YX", strict=True):
        if has_coordinate(array, dim):
            document = None if is_declared else array.sibling(dim)
            own = document and axis_by_attributes(document.attributes)
            axes[dim] = axis if is_declared else own or axis_by_name(dim)
    return axes


def _rotated_coordinates(
    array: ArrayView,
    dims: tuple[str, str],
    transform: Transform,
    axes: Mapping[str, Mapping[str, str]],
) -> Iterator[Coordinate]:
    """Yield the 2-D coordinates ``xc`` and ``yc`` of cell centres; `axes` are the attributes by axis.

    They have no attribute ``axis``, because they vary along both dimensions. Their dimensions are (Y, X), whatever the
    order of the array's axes.
    """
    a, b, c, d, e, f = list(transform.affine)[:6]
    sizes, chunks = tuple(array.sizes[dim] for dim in dims), chunks_along(array, dims)
    for name, axis, numbers in (("xc", "X", (a, b, c)), ("yc", "Y", (d, e, f))):
        positions = RotatedCentres(*numbers, transform.centre)
        source = Computed(positions, sizes, "float64", dims, chunks=chunks)
        attributes = {key: value for key, value in axes[axis].items() if key != "axis"}
        yield Coordinate(name, source, attributes, places_cells=True)
