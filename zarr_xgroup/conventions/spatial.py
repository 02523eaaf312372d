"""The `spatial` principal convention: coordinates of gridded imagery from an affine transform.

Attributes stand on the array, or on its group for all direct child arrays; the layout of a
`multiscales` group gives those of its levels. The nearest one counts, attribute by attribute.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from affine import Affine

from zarr_xgroup.conventions.array import ArrayView
from zarr_xgroup.conventions.base import ConventionHandler
from zarr_xgroup.conventions.geolocation import geolocation_of
from zarr_xgroup.conventions.layout import Level, layout_of
from zarr_xgroup.conventions.model import AxisNames, Claim, Coordinate, Interpretation
from zarr_xgroup.conventions.proj import crs_of, own_grid_mapping
from zarr_xgroup.conventions.spelling import misspelt
from zarr_xgroup.conventions.values import is_finite
from zarr_xgroup.errors import XGroupMetadataError, XGroupReferenceError
from zarr_xgroup.findings import coordinate_named
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import referred_names
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.redaction import redact
from zarr_xgroup.variables.functions import Centres, RotatedCentres
from zarr_xgroup.variables.sources import Computed, Stored

#: How much of a wrong value a message shows.
_SHOWN = 100

#: Half a cell: by how much centres differ from corners.
_CENTRE = {"pixel": 0.5, "node": 0.0}

#: By how much of a cell coordinate arrays may differ from a transform: they are often rounded.
_OF_A_CELL = 0.1

#: By how much of a cell numbers differ that are the same but for rounding.
_ROUNDED = 1e-3

#: The last cells of a level whose size is rounded up overhang the box of all levels by up to one.
OVERHANG = 1 + _ROUNDED

#: The greatest cosine of an angle that is a right one but for rounding.
_RIGHT = 1e-6

#: How much longer cells are by a transform that cannot be meant than by the one that is, where that
#: has north up, and where it is rotated.
_LONG, _FAR_LONGER = 10, 1000

#: The attributes of the convention.
_KEYS = frozenset(
    f"spatial:{key}"
    for key in ("dimensions", "transform", "transform_type", "registration", "bbox", "shape")
)

#: Attributes of a coordinate array by which it is along an axis (CF 1.12, chapter 4).
_TELLING = {
    **{("axis", axis): axis for axis in ("X", "Y")},
    **{
        ("standard_name", name): axis
        for axis, names in {
            "X": ("longitude", "grid_longitude", "projection_x_coordinate"),
            "Y": ("latitude", "grid_latitude", "projection_y_coordinate"),
        }.items()
        for name in names
    },
    **{("units", unit): "X" for unit in ("degrees_east", "degree_east", "degrees_E", "degree_E")},
    **{("units", unit): "Y" for unit in ("degrees_north", "degree_north", "degrees_N", "degree_N")},
}

#: The greatest extent of a grid on the Earth, by the unit of its CRS.
_WIDEST = {"degree": 360.0, "metre": 5e7}

#: Attributes of a layout's group that are not those of all its levels.
_OF_ONE_LEVEL = ("spatial:transform", "spatial:shape")


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
    def is_right_angled(self) -> bool:
        """Whether rows and columns are at a right angle."""
        column, row = self._sides
        along = self.affine.a * self.affine.b + self.affine.d * self.affine.e
        return bool(abs(along) <= column * row * _RIGHT)

    @property
    def elongation(self) -> float:
        """How much longer the long side of a cell is than the short one."""
        return max(self._sides) / min(self._sides)

    @property
    def _sides(self) -> tuple[float, float]:
        """How far it is from one column to the next, and from one row."""
        return math.hypot(self.affine.a, self.affine.d), math.hypot(self.affine.b, self.affine.e)

    @property
    def tolerance(self) -> float:
        """By how much coordinates may be off it."""
        affine = self.affine
        return max(abs(n) for n in (affine.a, affine.b, affine.d, affine.e)) * _OF_A_CELL

    @property
    def geotransform(self) -> str:
        """The transform as GDAL writes it, from the outer corner of the first cell."""
        affine, back = self.affine, 0.5 - self.centre
        x = affine.c - back * (affine.a + affine.b)
        y = affine.f - back * (affine.d + affine.e)
        return " ".join(repr(float(n)) for n in (x, affine.a, affine.b, y, affine.d, affine.e))

    def beside_coordinates(self, sizes: Iterable[int]) -> str | None:
        """Return the transform as GDAL writes it where coordinates of so many cells cannot say it.

        They cannot say how rows and columns are turned, nor how long a single cell is. Where they can,
        it would become untrue as soon as data are cut, thinned or sorted, and tools go by it.
        """
        return self.geotransform if self.is_rotated or 1 in sizes else None

    def is_close(self, other: Transform) -> bool:
        """Tell whether another one puts cells in the same places, to a thousandth of a cell."""
        mine, theirs = (list(map(float, it.geotransform.split())) for it in (self, other))
        cell = max(abs(number) for number in (*mine[1:3], *mine[4:]))
        return all(abs(a - b) <= cell * 1e-3 for a, b in zip(mine, theirs, strict=True))


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
    return Transform(usable(Affine(a, b, c, d, e, f), written), _CENTRE["pixel"])


def _number(word: str) -> float | str:
    try:
        return float(word)
    except ValueError:
        return word


class SpatialHandler(ConventionHandler):
    """Attaches the coordinates that follow from an array's spatial attributes."""

    tier = "principal"
    name = "spatial"
    uuid: ClassVar[str | None] = "689b58e2-cf7b-45e0-9fff-9cfc0883d6b4"
    repositories = ("zarr-conventions/spatial",)
    reads = ("spatial:", "proj:", "multiscales")

    @classmethod
    def applies(cls, array: ArrayView) -> bool:
        """Tell whether the array declares the convention, or has the dimensions its group names."""
        if cls.is_declared_by_array(array):
            return True
        if not cls.is_declared_around(array):
            return False
        grid = Grid(array, array.derived(layout_of))
        return grid.dims is not None or grid.is_malformed

    @classmethod
    def lack(cls) -> str:
        """Return what an array lacks to which it does not apply though its group declares it."""
        return _("spatial:dimensions does not name two of its dimensions")

    @classmethod
    def is_declared_around(cls, array: ArrayView) -> bool:
        """Tell whether the array's group declares the convention, or that of its layout."""
        level = array.derived(layout_of)
        if cls.is_declared_by_group(array):
            return True
        return level is not None and cls._is_declared_at(array, level.group)

    def interpret(self, array: ArrayView) -> Interpretation:
        """Return the coordinates of cell centres, the CRS, and the transform if they follow from it."""
        grid = Grid(array, array.derived(layout_of))
        crs = array.derived(crs_of)
        dims = self._dims(array, grid)
        if dims is None:
            return array.found(crs=crs)
        dims = grid.as_arrays_say(dims)
        real = {name: grid.is_real(name) for name in dims}
        lost = partial(coordinates_along, [name for name in dims if not real[name]])
        transform = None if all(real.values()) else array.attempt(grid.transform, dims, lost=lost)
        if transform is not None:
            transform = grid.as_grid_mapping_says(transform)
        if transform is not None or all(real.values()):
            grid.tell_of_spelling()
        coordinates = (
            *grid.real_coordinates([name for name in dims if real[name]], dims),
            *grid.computed(transform, dims, real),
        )
        sizes = [array.sizes[name] for name in dims]
        is_alone = transform is not None and not any(real.values())
        geotransform = transform.beside_coordinates(sizes) if transform and is_alone else None
        claims = tuple(grid.claims([name for name in dims if real[name]], dims))
        return array.found(*coordinates, crs=crs, geotransform=geotransform, claims=claims)

    def _dims(self, array: ArrayView, grid: Grid) -> tuple[str, str] | None:
        """Return the array's dimensions along Y and X, or None after saying why not."""
        declared = grid.attribute("dimensions")
        if declared is not None and not _are_two_names(declared.value):
            message = _("must be the names of two dimensions, got {value}")
            error = declared.error(message.format(value=redact(str(declared.value))[:_SHOWN]))
            array.problem(error, self._all_lost())
            return None
        if grid.dims is None:
            message = _("{array}: spatial:dimensions does not name two of its dimensions")
            error = XGroupMetadataError(message.format(array=array.node))
            array.problem(error, self._all_lost())
        return grid.dims

    def _all_lost(self) -> str:
        return _("the coordinates of {convention!r}").format(convention=self.name)

    def axis_names(self, array: ArrayView) -> AxisNames:
        """Return the names that an array's Y and X dimensions have, with their lengths if told."""
        if not (self.is_declared_by_array(array) or self.is_declared_around(array)):
            return AxisNames()
        grid = Grid(array, array.derived(layout_of))
        declared, shape = grid.attribute("dimensions"), grid.attribute("shape")
        names = declared.value if declared is not None else None
        if not (isinstance(names, list) and len(names) == 2 and _are_texts(names)):
            return AxisNames()
        lengths = shape.value if shape is not None and isinstance(shape.value, list) else []
        if len(lengths) != 2 or not all(isinstance(length, int) for length in lengths):
            lengths = [None, None]
        return AxisNames(tuple(zip(names, lengths, strict=True)), in_order=True)


@dataclass(frozen=True)
class Grid:
    """The spatial attributes of one array."""

    array: ArrayView
    level: Level | None

    def attribute(self, key: str) -> Fragment | None:
        """Return the nearest of the attributes ``spatial:<key>``."""
        key = f"spatial:{key}"
        array = self.array
        found = array.attribute(key) or array.attribute_of(array.node.group, key)
        if found is not None or self.level is None:
            return found
        return self.level.item.get(key) or (
            array.attribute_of(self.level.group, key) if key not in _OF_ONE_LEVEL else None
        )

    @property
    def is_malformed(self) -> bool:
        """Whether the names of its dimensions are not two names, for an array that has two."""
        declared = self.attribute("dimensions")
        return (
            declared is not None and not _are_two_names(declared.value) and len(self.array.dims) > 1
        )

    @property
    def dims(self) -> tuple[str, str] | None:
        """The array's dimensions along Y and X; None if they are not told or not its own."""
        declared = self.attribute("dimensions")
        if declared is None or not _are_two_names(declared.value):
            return None
        known = {**{name: name for name in self.array.dims}, **self.array.names}
        anycase = {name.lower(): here for name, here in known.items()}
        y, x = (known.get(name) or anycase.get(name.lower()) for name in declared.value)
        return (y, x) if y is not None and x is not None and x != y else None

    def is_real(self, name: str) -> bool:
        """Tell whether the group has a 1-D array of the name and length of a dimension."""
        document = self.array.sibling(name)
        return document is not None and document.get("shape") == [self.array.sizes[name]]

    def as_arrays_say(self, dims: tuple[str, str]) -> tuple[str, str]:
        """Return the dimensions along Y and X, the other way round if real arrays say so."""
        told = [self.axis_of(name) for name in dims]
        if told not in (["X", "Y"], ["X", None], [None, "Y"]):
            return dims
        place = self.attribute("dimensions")
        message = _(
            "{place} is {names}, but Y comes first there, and by their attributes the arrays of "
            "these names are along {axes}; the latter was used"
        )
        names = [] if place is None else list(place.value)
        self.array.note(message.format(place=place, names=names, axes=["X", "Y"]))
        return dims[::-1]

    def axis_of(self, name: str) -> str | None:
        """Return along which axis a real coordinate array is by its attributes, if these tell."""
        document = self.array.sibling(name) if self.is_real(name) else None
        if document is None:
            return None
        for key in ("axis", "standard_name", "units"):
            axis = _TELLING.get((key, str(document.attributes.get(key))))
            if axis is not None:
                return axis
        return None

    def _tell_of_nothing(self, dims: tuple[str, str]) -> None:
        """Say that there is nothing that coordinates follow from, unless others declare some.

        The placeholder for a bounding box says that who wrote it knows that.
        """
        if self.attribute("bbox") is not None or self._has_others(dims):
            return
        reason = _(
            "spatial is declared, but there is neither spatial:transform, nor spatial:bbox, nor "
            "1-D arrays {names}: these dimensions have no coordinates from it"
        ).format(names=", ".join(dims))
        for _place, written, meant in self._misspelt():
            reason = _("{reason}; was {meant!r} meant by {written!r}?").format(
                reason=reason, meant=meant, written=written
            )
        self.array.note(reason)

    def _has_others(self, dims: tuple[str, str]) -> bool:
        """Tell whether the array has coordinates along both dimensions that others declare."""
        array = self.array
        if array.derived(geolocation_of) is not None:
            return True
        named = [name for name in referred_names(array.attributes) if name in array.siblings]
        along = {dim for name in named for dim in array.siblings[name]}
        return along >= {name for name in dims if not self.is_real(name)}

    def tell_of_spelling(self) -> None:
        """Say which attributes were probably meant to be those of the convention."""
        for place, written, meant in self._misspelt():
            message = _("{place}: {written!r} is not known; was {meant!r} meant?")
            self.array.note(message.format(place=place, written=written, meant=meant))

    def _misspelt(self) -> Iterator[tuple[Node, str, str]]:
        known = frozenset(key for key in _KEYS if self.attribute(key.partition(":")[2]) is None)
        for node in (self.array.node, self.array.node.group):
            document = self.array.document_of(node)
            given = () if document is None else document.attributes
            keys = [key for key in given if key.startswith("spatial:")]
            for written, meant in misspelt(keys, known, _KEYS).items():
                yield node, written, meant

    def real_coordinates(self, names: list[str], dims: tuple[str, str]) -> Iterator[Coordinate]:
        """Yield the group's own coordinate arrays."""
        axes = self._axis_attributes()
        for name in names:
            node = self.array.node.group.child(name)
            wanted, lost = Stored(node, (name,)), partial(coordinate_named, name)
            source = self.array.attempt(self.array.stored, wanted, lost=lost)
            if source is not None:
                yield Coordinate(name, source, axes["Y" if name == dims[0] else "X"])

    def claims(self, names: list[str], dims: tuple[str, str]) -> Iterator[Claim]:
        """Yield what transforms say of the group's own coordinate arrays: the declared one, GDAL's.

        A rotated one says nothing of them, nor one whose unit is another one.
        """
        written = self.attribute("transform") if names else None
        affine = None if written is None else self.array.quietly(_affine, written)
        centre = self.array.quietly(self._centre)
        if affine is not None and centre is not None:
            yield from self._claimed(Transform(affine, centre), str(written), names, dims)
        yield from self.carried(names, dims)

    def carried(self, names: list[str], dims: tuple[str, str]) -> Iterator[Claim]:
        """Yield what GDAL's transform says of the group's own coordinate arrays.

        It is left behind by tools that wrote it before data were cut, thinned or sorted.
        """
        written = self.geotransform if names else None
        transform = None if written is None else self.array.quietly(transform_of_gdal, written)
        if transform is not None:
            yield from self._claimed(transform, str(written), names, dims)

    def _claimed(
        self, transform: Transform, place: str, names: list[str], dims: tuple[str, str]
    ) -> Iterator[Claim]:
        if transform.is_rotated:
            return
        steps = {dims[0]: transform.affine.e, dims[1]: transform.affine.a}
        for it in self.computed(transform, dims, {name: name not in names for name in dims}):
            if self._is_in(it.name, it.attributes.get("units")):
                yield Claim(it, place, abs(steps[it.name]) * _OF_A_CELL)

    @property
    def geotransform(self) -> Fragment | None:
        """The ``GeoTransform`` of the group's own grid mapping variable."""
        own = self.array.quietly(own_grid_mapping, self.array)
        return None if own is None else own.get("GeoTransform")

    def _is_in(self, name: str, units: str | None) -> bool:
        """Tell whether a coordinate array is in a unit, as far as both are known."""
        document = self.array.sibling(name)
        written = None if document is None else document.attributes.get("units")
        return None in (written, units) or _unit(str(written)) == _unit(str(units))

    def computed(
        self, transform: Transform | None, dims: tuple[str, str], real: Mapping[str, bool]
    ) -> Iterator[Coordinate]:
        """Yield computed coordinates where there is no array."""
        if transform is None:
            return
        if transform.is_rotated:
            yield from self._rotated(transform, dims)
            return
        axes, affine = self._axis_attributes(), transform.affine
        for axis, name, origin, step in (
            ("Y", dims[0], affine.f, affine.e),
            ("X", dims[1], affine.c, affine.a),
        ):
            if not real[name]:
                shape = (self.array.sizes[name],)
                function = Centres(origin, step, transform.centre)
                yield Coordinate(name, Computed(function, shape, "float64", (name,)), axes[axis])

    def _rotated(self, transform: Transform, dims: tuple[str, str]) -> Iterator[Coordinate]:
        """Yield 2-D coordinates; they are no axes, so ``axis`` does not describe them.

        They lie along (Y, X) whatever the order of the array's own axes: xarray goes by names.
        """
        shape = tuple(self.array.sizes[name] for name in dims)
        chunks = tuple((d, self.array.chunks[d]) for d in dims if d in self.array.chunks)
        axes, affine = self._axis_attributes(), transform.affine
        for axis, name, (column, row, origin) in (
            ("X", "xc", (affine.a, affine.b, affine.c)),
            ("Y", "yc", (affine.d, affine.e, affine.f)),
        ):
            function = RotatedCentres(column, row, origin, transform.centre)
            source = Computed(function, shape, "float64", dims, chunks=chunks)
            described = {key: value for key, value in axes[axis].items() if key != "axis"}
            yield Coordinate(name, source, described)

    def _axis_attributes(self) -> dict[str, dict[str, str]]:
        crs = self.array.derived(crs_of)
        return (
            crs.axis_attributes() if crs is not None else {"X": {"axis": "X"}, "Y": {"axis": "Y"}}
        )

    # The transform.

    def as_grid_mapping_says(self, transform: Transform) -> Transform:
        """Return the transform of the group's own grid mapping variable, if it has another one.

        What the data carry themselves stands, and coordinates have to agree with what tools read.
        """
        written = self.geotransform
        own = None if written is None else self.array.quietly(transform_of_gdal, written)
        if own is None or own.is_close(transform):
            return transform
        message = _(
            "the GeoTransform of its grid mapping variable is {own}, but by what is declared it "
            "would be {declared}; the former was used"
        )
        self.array.note(message.format(own=own.geotransform, declared=transform.geotransform))
        return own

    def transform(self, dims: tuple[str, str]) -> Transform | None:
        """Return the transform; None if there is none, nor anything that it follows from.

        Raises
        ------
        XGroupError
            If what is written cannot be used.
        """
        kind = self.attribute("transform_type")
        if kind is not None and kind.as_text() != "affine":
            raise kind.error(_("is {kind!r}; only 'affine' is known").format(kind=kind.value))
        centre = self._centre()
        sizes = (self.array.sizes[dims[0]], self.array.sizes[dims[1]])
        self._check_shape(sizes)
        affine = self._affine(dims)
        box = self._box()
        if affine is None:
            if box is None:
                self._tell_of_nothing(dims)
                return None
            return Transform(_from_box(box, sizes, centre), centre)
        transform = Transform(affine, centre)
        if self._is_of_gdal(transform, sizes, box):
            self._tell_of_gdal(transform, sizes)
        elif box is not None:
            self._check_box(box, transform, sizes)
        return transform

    def _centre(self) -> float:
        registration = self.attribute("registration")
        if registration is None:
            return _CENTRE["pixel"]
        name = registration.as_text()
        if name not in _CENTRE:
            raise registration.error(_("must be 'pixel' or 'node', got {name!r}").format(name=name))
        return _CENTRE[name]

    def _affine(self, dims: tuple[str, str]) -> Affine | None:
        written = self.attribute("transform")
        if written is not None:
            return _affine(written)
        return _derived(self.array, dims, self.level) if self.level is not None else None

    def _is_of_gdal(
        self, transform: Transform, sizes: tuple[int, int], box: Fragment | None
    ) -> bool:
        """Tell whether a transform cannot be meant, but would do in the order of GDAL.

        It cannot if the grid is wider than the Earth, or is off its own bounding box.
        """
        if self.attribute("transform") is None:
            return False
        written = None if box is None else self.array.quietly(_four_numbers, box)
        unit = str(self._axis_attributes()["X"].get("units", ""))
        return in_order_of_gdal(transform, sizes, written, unit) is not None

    def _tell_of_gdal(self, transform: Transform, sizes: tuple[int, int]) -> None:
        message = _(
            "{place} is {numbers}, by which the grid spans {extent}; are its numbers in the "
            "order of GDAL? That of the convention is [a, b, c, d, e, f]: {meant}"
        ).format(
            place=self.attribute("transform"),
            numbers=list(transform.affine)[:6],
            extent=extent_of(transform, sizes),
            meant=list(_of_gdal(transform.affine))[:6],
        )
        self.array.note(message)

    def _check_shape(self, sizes: tuple[int, int]) -> None:
        shape = self.attribute("shape")
        if shape is not None and shape.value != list(sizes):
            message = _("{place} is {shape}, but the array has {sizes} cells; the latter was used")
            self.array.note(message.format(place=shape, shape=shape.value, sizes=list(sizes)))

    def _box(self) -> Fragment | None:
        """Return the bounding box; None also for the placeholder that products write."""
        box = self.attribute("bbox")
        if box is None or (isinstance(box.value, list) and not any(box.value)):
            return None
        return box

    def _check_box(self, box: Fragment, transform: Transform, sizes: tuple[int, int]) -> None:
        written = self.array.attempt(_four_numbers, box)
        if written is None:
            return
        actual = extent_of(transform, sizes)
        if not spans(written, transform, sizes, OVERHANG):
            message = _("{place} is {box}, but the transform gives {actual}; the latter was used")
            self.array.note(message.format(place=box, box=list(written), actual=actual))


def coordinates_along(names: list[str]) -> str:
    """Return what is lost with a transform."""
    return _("coordinates along {names}").format(names=", ".join(names))


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
    cells: float = _ROUNDED,
) -> bool:
    """Tell whether a bounding box is that of a grid, but for so many cells."""
    return cells_off(box, transform, sizes) <= cells


def cells_off(box: list[float], transform: Transform, sizes: tuple[int, int]) -> float:
    """Return by how many cells a bounding box is off that of a grid, where it is most."""
    affine = transform.affine
    wide, high = abs(affine.a) + abs(affine.b), abs(affine.d) + abs(affine.e)
    sides = zip(box, extent_of(transform, sizes), (wide, high, wide, high), strict=True)
    return max(abs(a - b) / cell for a, b, cell in sides)


def is_wider_than_earth(transform: Transform, sizes: tuple[int, int], unit: str) -> bool:
    """Tell whether a grid is wider than the Earth, in the unit of its CRS ("" if not known)."""
    widest = next((size for name, size in _WIDEST.items() if unit.startswith(name)), math.inf)
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
    other = Transform(_of_gdal(transform.affine), transform.centre)
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


def _of_gdal(affine: Affine) -> Affine:
    """Return the transform whose numbers were written in the order of GDAL: c a b f d e."""
    c, a, b, f, d, e = list(affine)[:6]
    return Affine(a, b, c, d, e, f)


def _unit(name: str) -> str:
    """Return a unit of length or angle by one of its names."""
    if name.lower().startswith("degree"):
        return "degree"
    return "m" if name.lower() in ("metre", "metres", "meter", "meters") else name


def _are_texts(values: list[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


def _are_two_names(value: Any) -> bool:
    return (
        isinstance(value, list) and len(value) == 2 and _are_texts(value) and value[0] != value[1]
    )


def finite_numbers(fragment: Fragment, count: int) -> list[float]:
    """Return the numbers of a list of so many, or raise XGroupMetadataError."""
    numbers = fragment.as_list()
    if len(numbers) == count and all(is_finite(number) for number in numbers):
        with contextlib.suppress(OverflowError):
            return [float(number) for number in numbers]
    shown = str(numbers)[:_SHOWN]
    raise fragment.error(
        _("must be {count} finite numbers, got {value}").format(count=count, value=shown)
    )


def _four_numbers(fragment: Fragment) -> list[float]:
    return finite_numbers(fragment, 4)


def _affine(fragment: Fragment) -> Affine:
    """Return the transform ``[a, b, c, d, e, f]``, or raise XGroupMetadataError."""
    return usable(Affine(*finite_numbers(fragment, 6)), fragment)


def usable(affine: Affine, place: Fragment) -> Affine:
    """Return a transform if cells have an area by it, else raise XGroupMetadataError."""
    area = affine.a * affine.e - affine.b * affine.d
    if area == 0 or not math.isfinite(area):
        raise place.error(_("is degenerate: cells have no area"))
    return affine


def _from_box(box: Fragment, sizes: tuple[int, int], centre: float) -> Affine:
    """Return the transform of a grid with north up that fills a bounding box."""
    left, bottom, right, top = _four_numbers(box)
    # Node registration: the box ends at the outermost centres, one cell fewer.
    rows, columns = (size - 1 + 2 * centre for size in sizes)
    if not (left < right and bottom < top and rows > 0 and columns > 0):
        raise box.error(
            _("spans no area for {rows} x {columns} cells").format(rows=sizes[0], columns=sizes[1])
        )
    return Affine((right - left) / columns, 0.0, left, 0.0, -(top - bottom) / rows, top)


def _derived(array: ArrayView, dims: tuple[str, str], level: Level) -> Affine | None:
    """Return the transform of a level that follows from that of the level it is derived from."""
    asset = level.item.get("asset")
    name = str(asset.value).strip("/") if asset is not None else ""
    return _Levels(array, dims, level).transform(name, ())


@dataclass(frozen=True)
class _Levels:
    """The levels of a layout, as seen from an array of one of them.

    Attributes
    ----------
    array : ArrayView
        The array.
    dims : tuple of str
        Its dimensions along Y and X.
    level : Level
        The level that it is of.
    """

    array: ArrayView
    dims: tuple[str, str]
    level: Level

    def transform(self, asset: str, seen: tuple[str, ...]) -> Affine | None:
        """Return the transform of a level; `seen` are those that are derived from it."""
        item = self.level.other(asset)
        if item is None:
            reason = _("there is no level {asset!r}").format(asset=asset)
            message, place = f"{self.level.item}: {reason}", str(self.level.item)
            raise XGroupReferenceError(message, place=place, target=asset, reason=reason)
        if asset in seen:
            chain = " -> ".join((*seen, asset))
            reason = _("levels are derived from one another: {chain}").format(chain=chain)
            message = f"{item}: {reason}"
            raise XGroupReferenceError(message, place=str(item), target=asset, reason=reason)
        # What a level says itself is nearest, then its item in the layout.
        node = self.level.group.child(asset) if asset else self.level.group
        own = self.array.attribute_of(node, "spatial:transform")
        written = own or item.get("spatial:transform")
        if written is not None:
            return _affine(written)
        source, relation = item.get("derived_from"), item.get("transform")
        if source is None or relation is None:
            return None
        above = self.transform(source.as_text().strip("/"), (*seen, asset))
        return (
            None if above is None else usable(_composed(above, self._relation(relation)), relation)
        )

    def _relation(self, relation: Fragment) -> Affine:
        """Return how positions of a level are positions of the one that it is derived from."""
        relation.as_object()
        rows, columns = self._along_grid(relation.get("scale"), 1.0)
        down, right = self._along_grid(relation.get("translation"), 0.0)
        return Affine(columns, 0.0, right, 0.0, rows, down)

    def _along_grid(self, numbers: Fragment | None, default: float) -> tuple[float, float]:
        """Return the numbers along Y and X: there are two, or one for each axis of the arrays."""
        if numbers is None:
            return default, default
        count = len(numbers.as_list())
        arrays = (self.array.dims, *(tuple(sizes) for sizes in self.array.siblings.values()))
        fitting = (dims for dims in arrays if len(dims) == count and set(dims) >= set(self.dims))
        dims = next(fitting, self.dims) if count > 2 else self.dims
        along = dict(zip(dims, finite_numbers(numbers, len(dims)), strict=True))
        return along[self.dims[0]], along[self.dims[1]]


def _composed(outer: Affine, inner: Affine) -> Affine:
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
