"""The `spatial` principal convention: coordinates of gridded imagery from an affine transform.

Attributes stand on the array, or on its group for all direct child arrays; the layout of a
`multiscales` group gives those of its levels (`layout.Places`: attribute by attribute). A level that is
derived from another one follows the grid of that one.
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
from zarr_xgroup.conventions.axes import axis_by_attributes, axis_by_name, is_turned, what_turns
from zarr_xgroup.conventions.crs import cf_length
from zarr_xgroup.conventions.geolocation import geolocation_of
from zarr_xgroup.conventions.layout import Level, OfLevels, Places, asset_path, layout_of, places_of
from zarr_xgroup.conventions.model import AxisNames, Claim, Coordinate, Interpretation
from zarr_xgroup.conventions.proj import crs_of, own_grid_mapping
from zarr_xgroup.conventions.spelling import misspelt
from zarr_xgroup.conventions.values import is_finite
from zarr_xgroup.errors import XGroupError, XGroupMetadataError, XGroupReferenceError
from zarr_xgroup.findings import coordinate_named
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import referred_names
from zarr_xgroup.metadata.dimensions import declared_dimensions
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

#: The greatest extent of a grid on the Earth, by the unit of its CRS.
_WIDEST = {"degree": 360.0, "m": 5e7}

_TRANSFORM, _BOX = "spatial:transform", "spatial:bbox"


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


class SpatialHandler(OfLevels):
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
        grid = Grid(array)
        return grid.dims is not None or grid.is_malformed

    @classmethod
    def lack(cls) -> str:
        """Return what an array lacks to which it does not apply though its group declares it."""
        return _("spatial:dimensions does not name two of its dimensions")

    def interpret(self, array: ArrayView) -> Interpretation:
        """Return the coordinates of cell centres, the CRS, and the transform if they follow from it."""
        grid = Grid(array)
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
        grid = Grid(array)
        declared, shape = grid.attribute("dimensions"), grid.attribute("shape")
        names = declared.value if declared is not None else None
        if not (isinstance(names, list) and len(names) == 2 and _are_texts(names)):
            return AxisNames()
        names = (
            names[::-1] if is_turned(map(axis_by_name, names)) else names
        )  # told where it is asked
        lengths = shape.value if shape is not None and isinstance(shape.value, list) else []
        if len(lengths) != 2 or not all(isinstance(length, int) for length in lengths):
            lengths = [None, None]
        return AxisNames(tuple(zip(names, lengths, strict=True)), in_order=True)


@dataclass(frozen=True)
class Grid:
    """The spatial attributes of one array."""

    array: ArrayView

    def attribute(self, key: str) -> Fragment | None:
        """Return the attribute ``spatial:<key>`` that counts."""
        return self.array.derived(places_of).get(f"spatial:{key}")

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
        """Return the dimensions along Y and X, the other way round if the arrays say so."""
        place = self.attribute("dimensions")
        names = dims if place is None else place.value
        by_box = self.array.quietly(self._is_turned_by_box, dims)
        reason = what_turns(names, map(self._attributes_of, dims), by_box)
        if not reason:
            return dims
        message = _(
            "{place} is {names}, but Y comes first there, and {reason} they are along {axes}; the "
            "latter was used"
        )
        text = message.format(place=place, names=list(names), reason=reason, axes=["X", "Y"])
        self.array.note(text)
        return dims[::-1]

    def telling(self, dims: tuple[str, str]) -> list[str]:
        """Return those of the dimensions along Y and X whose real arrays say by themselves that they are."""
        along = zip(dims, ("Y", "X"), strict=True)
        return [name for name, axis in along if self.is_real(name) and self._axis_of(name) == axis]

    def _axis_of(self, name: str) -> str | None:
        return axis_by_attributes(self._attributes_of(name)) or axis_by_name(name)

    def _attributes_of(self, name: str) -> Mapping[str, Any]:
        """Return the attributes of the group's own coordinate of a dimension, none without it."""
        document = self.array.sibling(name) if self.is_real(name) else None
        return {} if document is None else document.attributes

    def _is_turned_by_box(self, dims: tuple[str, str]) -> bool | None:
        """Tell whether the grid fills its box if Y and X are the other way round."""
        places = self.array.derived(places_of)
        written, box = places.get(_TRANSFORM), _box_in(places)
        if written is None or box is None:
            return None
        rows, columns = (self.array.sizes[name] for name in dims)
        transform = Transform(_affine(written), _centre_in(places))
        return is_turned_in(_four_numbers(box), transform, (rows, columns))

    def _tell_of_nothing(self, dims: tuple[str, str]) -> None:
        """Say that there is nothing that coordinates follow from, unless others declare some.

        The placeholder for a bounding box says that who wrote it knows that.
        """
        box = self.attribute("bbox")
        if self._has_others(dims) or (box is not None and _is_placeholder(box)):
            return
        if box is not None:
            message = _(
                "{place} was not used: the grid follows that of another level, of which neither "
                "spatial:transform nor spatial:bbox and size are known"
            )
            self.array.note(message.format(place=box))
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
        centre = self.array.quietly(_centre_in, self.array.derived(places_of))
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
        places = self.array.derived(places_of)
        _check_kind(places)
        _centre_in(places)  # told before all else
        sizes = (self.array.sizes[dims[0]], self.array.sizes[dims[1]])
        self._check_shape(sizes)
        transform = self._placed(_Site(places, sizes), dims)
        if transform is None:
            self._tell_of_nothing(dims)
            return None
        box = _box_in(places)
        if self._is_of_gdal(transform, sizes, box):
            self._tell_of_gdal(transform, sizes)
        elif box is not None:
            self._check_box(box, transform, sizes)
        return transform

    def _placed(self, here: _Site, dims: tuple[str, str]) -> Transform | None:
        """Return the transform that is declared for the array, or follows from other levels."""
        level, written = self.array.derived(layout_of), here.places.get(_TRANSFORM)
        if level is None or written is not None:
            return _declared(here, written)
        return _Levels(self.array, dims, level).transform(here)

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

    def _check_box(self, box: Fragment, transform: Transform, sizes: tuple[int, int]) -> None:
        written = self.array.attempt(_four_numbers, box)
        if written is None:
            return
        actual = extent_of(transform, sizes)
        # A level that is derived may be a part of what the box of all levels is about.
        is_part = self._is_derived and self.array.derived(places_of).get_of_level(_BOX) is None
        expected = _common(written, actual) if is_part else written
        if not spans(expected, transform, sizes, OVERHANG):
            message = _("{place} is {box}, but the transform gives {actual}; the latter was used")
            self.array.note(message.format(place=box, box=list(written), actual=actual))

    @property
    def _is_derived(self) -> bool:
        level = self.array.derived(layout_of)
        return level is not None and any(item.get("transform") is not None for item in level.items)


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


def _common(one: list[float], other: list[float]) -> list[float]:
    """Return the bounding box of what two have in common."""
    return [*map(max, one[:2], other[:2]), *map(min, one[2:], other[2:])]


def is_turned_in(box: list[float], transform: Transform, sizes: tuple[int, int]) -> bool | None:
    """Tell whether a grid fills a box if it has as many rows as it is said to have columns.

    None if it fills it neither way, or either way.
    """
    if spans(box, transform, sizes[::-1]):
        return None if spans(box, transform, sizes) else True
    return False if spans(box, transform, sizes, OVERHANG) else None


def is_wider_than_earth(transform: Transform, sizes: tuple[int, int], unit: str) -> bool:
    """Tell whether a grid is wider than the Earth, in the unit of its CRS ("" if not known)."""
    widest = _WIDEST.get(_unit(unit), math.inf)
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
    return cf_length(name)


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


def _check_kind(places: Places) -> None:
    """Raise XGroupMetadataError if what is written is another kind of transform."""
    kind = places.get("spatial:transform_type")
    if kind is not None and kind.as_text() != "affine":
        raise kind.error(_("is {kind!r}; only 'affine' is known").format(kind=kind.value))


def _centre_in(places: Places) -> float:
    """Return where the centre of a cell is in its index, or raise XGroupMetadataError."""
    return _centre(places.get("spatial:registration"), _CENTRE["pixel"])


def _centre(registration: Fragment | None, default: float) -> float:
    if registration is None:
        return default
    name = registration.as_text()
    if name not in _CENTRE:
        raise registration.error(_("must be 'pixel' or 'node', got {name!r}").format(name=name))
    return _CENTRE[name]


def _box_in(places: Places) -> Fragment | None:
    """Return the bounding box; None also for the placeholder that products write."""
    box = places.get(_BOX)
    return None if box is None or _is_placeholder(box) else box


def _is_placeholder(box: Fragment) -> bool:
    return isinstance(box.value, list) and not any(box.value)


@dataclass(frozen=True)
class _Site:
    """Where the grid of a level is declared.

    Attributes
    ----------
    places : Places
        Where its attributes may stand.
    sizes : tuple of int or None
        The number of rows, and of columns, if they are known.
    """

    places: Places
    sizes: tuple[int, int] | None


@dataclass(frozen=True)
class _Levels:
    """The grids of the levels of a layout, as seen from an array of one of them.

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

    def transform(self, here: _Site) -> Transform | None:
        """Return the transform of the array: of the first level on its way that declares one.

        What was found for a level is known for all that are derived from it.
        """
        known = self.array.models.of_groups
        asset = _asset(self._item)
        if self._item.get("transform") is not None:
            self.array.is_me(self.array.node)  # arrays of other levels are looked at by its name
        self._look_up(asset)
        below: dict[str, tuple[_Site, Fragment]] = {}
        found: Transform | XGroupError | None
        site = here
        try:
            while (key := self._key(asset)) not in known:
                relation = self._relation(asset, site)
                if relation is None:
                    found = self._declared(asset, site)
                    break
                below[asset] = site, relation
                asset = self._source(asset, below)
                site = self._site(asset)
            else:
                found = known[key]
        except XGroupError as error:
            found = error
        for asset, (site, relation) in reversed(below.items()):
            found = known[self._key(asset)] = self._following(found, site, relation)
        if isinstance(found, XGroupError):
            raise found
        return found

    @property
    def _item(self) -> Fragment:
        """The item that says from which level the array's is derived, if one does."""
        items = self.level.items
        return next((it for it in items if it.get("transform") is not None), items[0])

    @property
    def _name(self) -> str:
        """What the array is called in all levels; "" if it is a level itself."""
        return "" if self._item == self.level.of_array else self.array.name

    def _key(self, asset: str) -> tuple[Any, ...]:
        """Return what the grid of a level, as an array sees it, depends on."""
        axes = tuple(self.array.dims.index(name) for name in self.dims)
        return _Levels, self.level.group, asset, self._name, len(self.array.dims), axes

    def _look_up(self, asset: str) -> None:
        """Look up at once the documents of all levels that one may follow from."""
        known, items = self.array.models.of_groups, self.level.layout.items
        nodes: dict[str, Node] = {}
        while asset in items and self._key(asset) not in known:
            source = items[asset].value.get("derived_from")
            if not isinstance(source, str) or asset_path(source) in nodes:
                break
            asset = asset_path(source)
            nodes[asset] = self.level.group.child(asset)
        self.array.lookup.know(nodes.values())
        groups = (it for it in nodes.values() if not self._is_array(it))
        self.array.lookup.know(group.child(self._name) for group in groups)

    def _is_array(self, node: Node) -> bool:
        document = self.array.document_of(node)
        return document is not None and bool(document.is_array)

    def _relation(self, asset: str, site: _Site) -> Fragment | None:
        """Return how a level follows from another one, None if it does not."""
        item = self.level.other(asset)
        if item is None or site.places.get(_TRANSFORM) is not None:
            return None
        relation = item.get("transform")
        if relation is None or item.get("derived_from") is not None:
            return relation
        return relation if self._unnamed_source(asset) is not None else None

    def _unnamed_source(self, asset: str) -> str | None:
        """Return from what a level follows whose relation does not say it.

        That is the layout's group if it has a transform, else the only level that follows from none.
        """
        whole = self.array.attributes_of(self.level.group)
        if whole is not None and whole.get(_TRANSFORM) is not None:
            return "" if asset else None
        base = self.level.layout.base
        return base if base != asset else None

    def _source(self, asset: str, below: Mapping[str, Any]) -> str:
        """Return the level that one is derived from, given those that are derived from it."""
        item = self.level.other(asset)
        named = None if item is None else item.get("derived_from")
        if named is None:
            return self._unnamed_source(asset) or ""
        source = asset_path(named.as_text())
        there = self.level.other(source)
        if there is None and source:
            reason = _("there is no level {asset!r}").format(asset=source)
            raise _leading_nowhere(str(item), source, reason)
        if source in below:
            chain = " -> ".join((*below, source))
            reason = _("levels are derived from one another: {chain}").format(chain=chain)
            raise _leading_nowhere(str(there), source, reason)
        return source

    def _site(self, asset: str) -> _Site:
        """Return where another level's grid is declared: for its array of the same name, if any."""
        node = self.level.group.child(asset)
        if self._is_array(node):
            return self._site_at(node, node.group)
        at = node.child(self._name)
        return self._site_at(at if self._is_array(at) else None, node)

    def _site_at(self, at: Node | None, within: Node) -> _Site:
        """Return where the grid of an array of a group is declared, or of a group without it."""
        group, layout = self.level.group, self.level.layout
        of_array = None if at is None else layout.about(at, group)
        level = Level(group, layout, of_array, layout.about(within, group))
        places = Places.about(at, within, level, self.array.attributes_of)
        return _Site(places, None if at is None else self._sizes(at))

    def _stand_in(self, asset: str) -> _Site | None:
        """Return the same for the first array of a level that lies along the same dimensions."""
        own, group = declared_dimensions(self.array.document), self.level.group
        along = {own[self.array.dims.index(name)] for name in self.dims}
        within = group.child(asset)
        for name, document in self.array.lookup.members(within).arrays(within.path).items():
            at = within.child(name)
            if along <= set(declared_dimensions(document)) and not self.level.layout.about(
                at, group
            ):
                return self._site_at(at, within)
        return None

    def _sizes(self, at: Node) -> tuple[int, int] | None:
        """Return the number of rows and of columns of another level's array."""
        document = self.array.document_of(at)
        if document is None:
            return None
        shape, names = document["shape"], declared_dimensions(document)
        own = declared_dimensions(self.array.document)
        axes = [self.array.dims.index(name) for name in self.dims]
        if all(own[axis] is not None and own[axis] in names for axis in axes):
            axes = [names.index(own[axis]) for axis in axes]
        return (shape[axes[0]], shape[axes[1]]) if max(axes) < len(shape) else None

    def _declared(self, asset: str, site: _Site) -> Transform | None:
        """Return the transform of a level that follows from no other one."""
        written = site.places.get(_TRANSFORM) or self._of_whole(asset, site)
        if written is None and site.sizes is None and _shape_in(site.places) is None:
            site = self._stand_in(asset) or site
            written = site.places.get(_TRANSFORM)
        return _declared(site, written)

    def _of_whole(self, asset: str, site: _Site) -> Fragment | None:
        """Return the transform of the layout's group, if it can only be that of a level.

        That is the one of which all others follow, unless sizes or a box of its own contradict.
        """
        whole = self.array.attributes_of(self.level.group)
        if whole is None or asset != self.level.layout.base:
            return None
        shape, box = whole.get("spatial:shape"), site.places.get_of_level(_BOX)
        is_other = shape is not None and site.sizes and shape.value != list(site.sizes)
        has_own = box is not None and not _is_placeholder(box)
        return None if is_other or has_own else whole.get(_TRANSFORM)

    def _following(
        self, source: Transform | XGroupError | None, site: _Site, relation: Fragment
    ) -> Transform | XGroupError | None:
        """Return the transform of a level, or what is wrong, given that of its source."""
        if not isinstance(source, Transform):
            return source
        try:
            affine = _composed(source.affine, self._affine(relation))
            registration = site.places.get_of_level("spatial:registration")
            return Transform(usable(affine, relation), _centre(registration, source.centre))
        except XGroupError as error:
            return error

    def _affine(self, relation: Fragment) -> Affine:
        """Return how positions of a level are positions of the one that it is derived from."""
        relation.as_object()
        rows, columns = self._along_grid(relation.get("scale"), 1.0)
        down, right = self._along_grid(relation.get("translation"), 0.0)
        return Affine(columns, 0.0, right, 0.0, rows, down)

    def _along_grid(self, numbers: Fragment | None, default: float) -> tuple[float, float]:
        """Return the numbers along Y and X, which stand in the order of the array's axes."""
        if numbers is None:
            return default, default
        names = self._order(len(numbers.as_list()))
        along = dict(zip(names, finite_numbers(numbers, len(names)), strict=True))
        return along[self.dims[0]], along[self.dims[1]]

    def _order(self, count: int) -> tuple[str, ...]:
        """Return the axes of so many numbers: those of the grid, or all of arrays of the group."""
        grid = tuple(name for name in self.array.dims if name in self.dims)
        if count <= len(grid):
            return grid
        arrays = (self.array.dims, *(tuple(sizes) for sizes in self.array.siblings.values()))
        return next((it for it in arrays if len(it) == count and set(it) >= set(grid)), grid)


def _asset(item: Fragment) -> str:
    return asset_path(item.value["asset"])


def _leading_nowhere(place: str, asset: str, reason: str) -> XGroupReferenceError:
    return XGroupReferenceError(f"{place}: {reason}", place=place, target=asset, reason=reason)


def _declared(site: _Site, written: Fragment | None) -> Transform | None:
    """Return the transform that is written, else that of a grid that fills the bounding box."""
    _check_kind(site.places)
    centre = _centre_in(site.places)
    if written is not None:
        return Transform(_affine(written), centre)
    box = _box_in(site.places)
    sizes = site.sizes or _shape_in(site.places)
    if box is None or sizes is None:
        return None
    return Transform(_from_box(box, sizes, centre), centre)


def _shape_in(places: Places) -> tuple[int, int] | None:
    """Return the number of rows and of columns that is declared."""
    shape = places.get("spatial:shape")
    if shape is None:
        return None
    rows, columns = finite_numbers(shape, 2)
    return int(rows), int(columns)


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
