"""The `spatial` principal convention: coordinates of gridded imagery from an affine transform.

Attributes stand on the array, or on its group for all direct child arrays; the layout of a
`multiscales` group gives those of its levels (`layout.Places`: attribute by attribute). A level that is
derived from another one follows the grid of that one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from zarr_xgroup.conventions.array import ArrayView
from zarr_xgroup.conventions.axes import axis_by_attributes, axis_by_name, is_turned, what_turns
from zarr_xgroup.conventions.geolocation import geolocation_of
from zarr_xgroup.conventions.layout import OfLevels, layout_of, places_of
from zarr_xgroup.conventions.levels import (
    BOX,
    TRANSFORM,
    Levels,
    Site,
    box_in,
    centre_in,
    check_kind,
    declared_transform,
    is_placeholder,
)
from zarr_xgroup.conventions.model import AxisNames, Claim, Coordinate, Interpretation
from zarr_xgroup.conventions.proj import crs_of, own_grid_mapping
from zarr_xgroup.conventions.spelling import misspelt
from zarr_xgroup.conventions.transforms import (
    OF_A_CELL,
    OVERHANG,
    Transform,
    affine_of,
    common_box,
    extent_of,
    four_numbers,
    horizontal_unit,
    in_order_of_gdal,
    is_turned_in,
    of_gdal,
    spans,
    transform_of_gdal,
)
from zarr_xgroup.errors import XGroupMetadataError
from zarr_xgroup.findings import coordinate_named
from zarr_xgroup.i18n import _
from zarr_xgroup.metadata.cf import referred_names
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.redaction import redact
from zarr_xgroup.variables.functions import Centres, RotatedCentres
from zarr_xgroup.variables.sources import Computed, Stored

#: How much of a wrong value a message shows.
_SHOWN = 100

#: The attributes of the convention.
_KEYS = frozenset(
    f"spatial:{key}"
    for key in ("dimensions", "transform", "transform_type", "registration", "bbox", "shape")
)


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
        self.array.note(text, place)
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
        written, box = places.get(TRANSFORM), box_in(places)
        if written is None or box is None:
            return None
        rows, columns = (self.array.sizes[name] for name in dims)
        transform = Transform(affine_of(written), centre_in(places))
        return is_turned_in(four_numbers(box), transform, (rows, columns))

    def _tell_of_nothing(self, dims: tuple[str, str]) -> None:
        """Say that there is nothing that coordinates follow from, unless others declare some.

        The placeholder for a bounding box says that who wrote it knows that.
        """
        box = self.attribute("bbox")
        if self._has_others(dims) or (box is not None and is_placeholder(box)):
            return
        if box is not None:
            message = _(
                "{place} was not used: the grid follows that of another level, of which neither "
                "spatial:transform nor spatial:bbox and size are known"
            )
            self.array.note(message.format(place=box), box)
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
            text = message.format(place=place, written=written, meant=meant)
            self.array.note(text, Fragment(place, ("attributes", written), None))

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
        affine = None if written is None else self.array.quietly(affine_of, written)
        centre = self.array.quietly(centre_in, self.array.derived(places_of))
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
                yield Claim(it, place, abs(steps[it.name]) * OF_A_CELL)

    @property
    def geotransform(self) -> Fragment | None:
        """The ``GeoTransform`` of the group's own grid mapping variable."""
        own = self.array.quietly(own_grid_mapping, self.array)
        return None if own is None else own.get("GeoTransform")

    def _is_in(self, name: str, units: str | None) -> bool:
        """Tell whether a coordinate array is in a unit, as far as both are known."""
        document = self.array.sibling(name)
        written = None if document is None else document.attributes.get("units")
        return None in (written, units) or horizontal_unit(str(written)) == horizontal_unit(
            str(units)
        )

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
        check_kind(places)
        centre_in(places)  # told before all else
        sizes = (self.array.sizes[dims[0]], self.array.sizes[dims[1]])
        self._check_shape(sizes)
        transform = self._placed(Site(places, sizes), dims)
        if transform is None:
            self._tell_of_nothing(dims)
            return None
        box = box_in(places)
        if self._is_of_gdal(transform, sizes, box):
            self._tell_of_gdal(transform, sizes)
        elif box is not None:
            self._check_box(box, transform, sizes)
        return transform

    def _placed(self, here: Site, dims: tuple[str, str]) -> Transform | None:
        """Return the transform that is declared for the array, or follows from other levels."""
        level, written = self.array.derived(layout_of), here.places.get(TRANSFORM)
        if level is None or written is not None:
            return declared_transform(here, written)
        return Levels(self.array, dims, level).transform(here)

    def _is_of_gdal(
        self, transform: Transform, sizes: tuple[int, int], box: Fragment | None
    ) -> bool:
        """Tell whether a transform cannot be meant, but would do in the order of GDAL.

        It cannot if the grid is wider than the Earth, or is off its own bounding box.
        """
        if self.attribute("transform") is None:
            return False
        written = None if box is None else self.array.quietly(four_numbers, box)
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
            meant=list(of_gdal(transform.affine))[:6],
        )
        self.array.note(message, self.attribute("transform"))

    def _check_shape(self, sizes: tuple[int, int]) -> None:
        shape = self.attribute("shape")
        if shape is not None and shape.value != list(sizes):
            message = _("{place} is {shape}, but the array has {sizes} cells; the latter was used")
            text = message.format(place=shape, shape=shape.value, sizes=list(sizes))
            self.array.note(text, shape)

    def _check_box(self, box: Fragment, transform: Transform, sizes: tuple[int, int]) -> None:
        written = self.array.attempt(four_numbers, box)
        if written is None:
            return
        actual = extent_of(transform, sizes)
        # A level that is derived may be a part of what the box of all levels is about.
        is_part = self._is_derived and self.array.derived(places_of).get_of_level(BOX) is None
        expected = common_box(written, actual) if is_part else written
        if not spans(expected, transform, sizes, OVERHANG):
            message = _("{place} is {box}, but the transform gives {actual}; the latter was used")
            text = message.format(place=box, box=list(written), actual=actual)
            self.array.note(text, box)

    @property
    def _is_derived(self) -> bool:
        level = self.array.derived(layout_of)
        return level is not None and any(item.get("transform") is not None for item in level.items)


def coordinates_along(names: list[str]) -> str:
    """Return what is lost with a transform."""
    return _("coordinates along {names}").format(names=", ".join(names))


def _are_texts(values: list[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


def _are_two_names(value: Any) -> bool:
    return (
        isinstance(value, list) and len(value) == 2 and _are_texts(value) and value[0] != value[1]
    )
