"""The numbers of a grid: its transform, bounding box and size, and what they say together.

Source: spatial convention (zarr-conventions/spatial).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from affine import Affine

from zarr_xgroup.conventions.crs import cf_length
from zarr_xgroup.conventions.spatial_model import CENTRES, usable
from zarr_xgroup.conventions.values import finite_numbers
from zarr_xgroup.errors import XGroupMetadataError
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.nodes import Fragment

#: By how much of a cell numbers differ that are the same but for rounding.
ROUNDED = 1e-3

#: The last cells of a level whose size is rounded up overhang the box of all levels by up to one.
OVERHANG = 1 + ROUNDED

#: The greatest cosine of an angle that is a right one but for rounding.
_RIGHT = 1e-6

#: How much longer cells are by a transform that cannot be meant than by the one that is, where that
#: has north up, and where it is rotated.
_LONG, _FAR_LONGER = 10, 1000

#: The greatest extent of a grid on the Earth, by the unit of its CRS.
_WIDEST = {"degree": 360.0, "m": 5e7}


@dataclass(frozen=True)
class Transform:
    """How positions in a grid become coordinates.

    Attributes
    ----------
    affine : affine.Affine
        ``x = a*column + b*row + c`` and ``y = d*column + e*row + f``.
    centre : float
        Where the centre of a cell is in its index: 0.5 for pixel, 0 for node registration.
    """

    affine: Affine
    centre: float

    @property
    def is_rotated(self) -> bool:
        """Whether rows and columns do not run along the axes."""
        return bool(self.affine.b != 0 or self.affine.d != 0)

    @property
    def is_partial(self) -> bool:
        """Whether cells have no known size along an axis, as a single row or column of nodes."""
        return not abs(self.affine.a * self.affine.e - self.affine.b * self.affine.d) > 0

    @property
    def is_right_angled(self) -> bool:
        """Whether rows and columns are at a right angle."""
        row, column = self.cell
        along = self.affine.a * self.affine.b + self.affine.d * self.affine.e
        return bool(abs(along) <= column * row * _RIGHT)

    @property
    def elongation(self) -> float:
        """How much longer the long side of a cell is than the short one."""
        return max(self.cell) / min(self.cell)

    @property
    def cell(self) -> tuple[float, float]:
        """How far it is from one row to the next, and from one column."""
        return math.hypot(self.affine.b, self.affine.e), math.hypot(self.affine.a, self.affine.d)

    @property
    def geotransform(self) -> str:
        """The transform as GDAL writes it, from the outer corner of the first cell."""
        affine, back = self.affine, CENTRES["pixel"] - self.centre
        x = affine.c - back * (affine.a + affine.b)
        y = affine.f - back * (affine.d + affine.e)
        return " ".join(repr(float(n)) for n in (x, affine.a, affine.b, y, affine.d, affine.e))

    def beside_coordinates(self, sizes: Iterable[int]) -> str | None:
        """Return the transform as GDAL writes it where coordinates of so many cells cannot say it.

        They cannot say how rows and columns are turned, nor how long a single cell is. Where they can,
        it would become untrue as soon as data are cut, thinned or sorted, and tools go by it.
        """
        if self.is_partial:
            return None
        return self.geotransform if self.is_rotated or 1 in sizes else None


def transform_of_gdal(written: Fragment) -> Transform:
    """Return the transform that GDAL writes as ``c a b f d e``, as text or list.

    It starts at the outer corner of the first cell, whatever ``AREA_OR_POINT`` is.

    Raises
    ------
    XGroupMetadataError
        If it is none.
    """
    value = written.value
    if isinstance(value, str):
        value = [_number(word) for word in re.split(r"[\s,]+", value.strip())]
    c, a, b, f, d, e = finite_numbers(Fragment(written.node, written.keys, value), 6)
    return Transform(usable(Affine(a, b, c, d, e, f), written), CENTRES["pixel"])


def _number(word: str) -> float | str:
    try:
        return float(word)
    except ValueError:
        return word


def extent_of(transform: Transform, sizes: tuple[int, int]) -> list[float]:
    """Return the bounding box of a grid: outer edges, or outermost centres by node registration."""
    affine, (rows, columns) = transform.affine, (size - 1 + 2 * transform.centre for size in sizes)
    ends = [(i, j) for i in (0, rows) for j in (0, columns)]
    x = [affine.a * j + affine.b * i + affine.c for i, j in ends]
    y = [affine.d * j + affine.e * i + affine.f for i, j in ends]
    return [min(x), min(y), max(x), max(y)]


def spans(
    box: list[float],
    transform: Transform,
    sizes: tuple[int, int],
    cells: float = ROUNDED,
) -> bool:
    """Tell whether a bounding box is that of a grid, but for so many cells."""
    affine = transform.affine
    wide, high = abs(affine.a) + abs(affine.b), abs(affine.d) + abs(affine.e)
    sides = zip(box, extent_of(transform, sizes), (wide, high, wide, high), strict=True)
    return max(abs(a - b) / cell for a, b, cell in sides) <= cells


def is_wider_than_earth(transform: Transform, sizes: tuple[int, int], unit: str) -> bool:
    """Tell whether a grid is wider than the Earth, in the unit of its CRS ("" if not known)."""
    widest = _WIDEST.get(horizontal_unit(unit), math.inf)
    left, bottom, right, top = extent_of(transform, sizes)
    return max(right - left, top - bottom) > widest


def in_order_of_gdal(
    transform: Transform, sizes: tuple[int, int], box: list[float] | None, unit: str
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
    area = other.affine.a * other.affine.e - other.affine.b * other.affine.d
    if area == 0 or is_wider_than_earth(other, sizes, unit):
        return None
    if box is not None:
        is_meant = not spans(box, transform, sizes) and spans(box, other, sizes)
    else:
        is_meant = is_wider_than_earth(transform, sizes, unit) or _is_distorted(transform, other)
    return other if is_meant else None


def _is_distorted(transform: Transform, other: Transform) -> bool:
    """Tell whether cells are askew or long by a transform, but not by another one.

    Where a corner is taken for the sides of cells, these lead from the origin of the CRS to the grid.
    """
    is_askew, longer = not transform.is_right_angled, transform.elongation / other.elongation
    if other.is_rotated:
        return other.is_right_angled and is_askew and longer > _FAR_LONGER
    return is_askew or longer > _LONG


def from_box(box: Fragment, sides: list[float], sizes: tuple[int, int], centre: float) -> Transform:
    """Return the transform of a grid with north up that fills a bounding box of some sides.

    By node registration a single row or column, which is a point of its axis, has no length: if the box has
    none there either, its position is known, else not.
    """
    left, bottom, right, top = sides
    # Node registration: the box ends at the outermost centres, one cell fewer.
    rows, columns = (size - 1 + 2 * centre for size in sizes)
    spans = (right - left, columns), (top - bottom, rows)
    if any(span < 0 or (span == 0 and cells > 0) for span, cells in spans):
        raise no_area(box, sizes)
    across, down = (span / cells if cells else (math.nan if span else 0.0) for span, cells in spans)
    affine = Affine(across, 0.0, left, 0.0, -down, top)
    return Transform(usable(affine, box) if rows and columns else affine, centre)


def no_area(box: Fragment, sizes: tuple[int, int]) -> XGroupMetadataError:
    """Return the error of a bounding box that so many rows and columns cannot fill."""
    rows, columns = sizes
    return box.error(
        _("spans no area for {rows} x {columns} cells").format(rows=rows, columns=columns)
    )


def composed(outer: Affine, inner: Affine) -> Affine:
    """Return the transform that applies one transform to what another one gives.

    The operator for it changed between versions of affine, with warnings.
    """
    return Affine(
        outer.a * inner.a + outer.b * inner.d,
        outer.a * inner.b + outer.b * inner.e,
        outer.a * inner.c + outer.b * inner.f + outer.c,
        outer.d * inner.a + outer.e * inner.d,
        outer.d * inner.b + outer.e * inner.e,
        outer.d * inner.c + outer.e * inner.f + outer.f,
    )


def horizontal_unit(name: str) -> str:
    """Return a unit of length or angle by one of its names."""
    if name.lower().startswith("degree"):
        return "degree"
    return cf_length(name)
