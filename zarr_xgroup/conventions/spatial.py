"""The `spatial` principal convention: coordinates of gridded imagery from an affine transform.

Attributes stand on the array, or on its group for all direct child arrays; the layout of a
`multiscales` group gives those of its levels. The nearest one counts, attribute by attribute.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from zarr_xgroup.computed import ComputedArray, lazy_variable
from zarr_xgroup.conventions.base import ArrayContext, Coordinate, DocumentHandler
from zarr_xgroup.conventions.layout import Level, layout_of
from zarr_xgroup.conventions.proj import crs_of
from zarr_xgroup.conventions.values import is_finite
from zarr_xgroup.errors import XGroupMetadataError, XGroupReferenceError
from zarr_xgroup.i18n import _
from zarr_xgroup.resolver import Fragment, Node

#: How much of a wrong value a message shows.
_SHOWN = 100

#: Half a cell: by how much centres differ from corners.
_CENTRE = {"pixel": 0.5, "node": 0.0}


@dataclass(frozen=True)
class Affine:
    """``x = a*column + b*row + c`` and ``y = d*column + e*row + f``."""

    a: float
    b: float
    c: float
    d: float
    e: float
    f: float

    @property
    def is_rotated(self) -> bool:
        """Whether rows and columns do not run along the axes."""
        return self.b != 0 or self.d != 0

    def scaled(self, scale: tuple[float, float], translation: tuple[float, float]) -> Affine:
        """Return the transform of an index that is ``scale * index + translation`` in this one.

        Parameters
        ----------
        scale, translation : tuple of float
            Of rows and of columns, in this order.
        """
        rows, columns = scale
        down, right = translation
        return Affine(
            self.a * columns,
            self.b * rows,
            self.a * right + self.b * down + self.c,
            self.d * columns,
            self.e * rows,
            self.d * right + self.e * down + self.f,
        )

    def geotransform(self, offset: float) -> str:
        """Return the transform as GDAL writes it, from the outer corner of the first cell.

        Parameters
        ----------
        offset : float
            Where the centre of a cell is in the index: 0.5 for pixel, 0 for node registration.
        """
        back = 0.5 - offset
        x = self.c - back * (self.a + self.b)
        y = self.f - back * (self.d + self.e)
        return " ".join(repr(float(n)) for n in (x, self.a, self.b, y, self.d, self.e))


@dataclass(frozen=True)
class Centres:
    """The centres of cells along an axis: ``origin + step * (i + offset)``, not accumulated."""

    origin: float
    step: float
    offset: float

    def __call__(self, position: Any) -> Any:
        """Return the values at integer positions."""
        return self.origin + self.step * (position + self.offset)


@dataclass(frozen=True)
class RotatedCentres:
    """One coordinate of the centres of cells of a rotated grid.

    Attributes
    ----------
    column, row, origin : float
        Coefficients: ``column * (j + offset) + row * (i + offset) + origin``.
    offset : float
        0.5 for pixel, 0 for node registration.
    """

    column: float
    row: float
    origin: float
    offset: float

    def __call__(self, row: Any, column: Any) -> Any:
        """Return the values at positions along rows and columns."""
        return self.column * (column + self.offset) + self.row * (row + self.offset) + self.origin


class SpatialHandler(DocumentHandler):
    """Attaches the coordinates that follow from an array's spatial attributes."""

    tier = "principal"
    name = "spatial"
    uuid: ClassVar[str | None] = "689b58e2-cf7b-45e0-9fff-9cfc0883d6b4"
    repositories = ("zarr-conventions/spatial",)

    @classmethod
    def applies(cls, context: ArrayContext) -> bool:
        """Tell whether the array declares the convention, or has the dimensions its group names."""
        document = context.node.document
        if document is not None and cls.is_declared(document["attributes"]):
            return True
        level = layout_of(context)
        if not cls.is_declared_around(context, level):
            return False
        grid = _Grid(context, level)
        return grid.dimensions is not None or grid.is_malformed

    @classmethod
    def is_declared_around(cls, context: ArrayContext, level: Level | None) -> bool:
        """Tell whether the array's group declares the convention, or that of its layout."""
        groups = [context.node.group, *([level.group] if level is not None else [])]
        return any(
            cls.is_declared(found["attributes"])
            for group in groups
            if (found := group.document) is not None
        )

    def coordinates(self, context: ArrayContext) -> Iterator[Coordinate]:
        """Yield the coordinates of cell centres."""
        grid = _Grid(context, layout_of(context))
        declared = grid.attribute("dimensions")
        if declared is not None and not _are_two_names(declared.value):
            message = _("must be the names of two dimensions, got {value}")
            context.problems.append(
                declared.error(message.format(value=str(declared.value)[:_SHOWN]))
            )
            return
        if grid.dimensions is None:
            message = _("{array}: spatial:dimensions does not name two of its dimensions")
            problem = XGroupMetadataError(message.format(array=context.node))
            context.problems.append(problem)
            return
        yield from grid.coordinates(grid.dimensions)


def geotransform_of(context: ArrayContext) -> str | None:
    """Return the transform that an array's coordinates were computed from, as GDAL writes it.

    None where they were not: without a transform, or with a real coordinate array.
    """
    grid = _Grid(context, layout_of(context))
    if grid.dimensions is None or any(grid.real_array(name) for name in grid.dimensions):
        return None
    probe = _Grid(ArrayContext(context.node, context.dimensions, context.reader), grid.level)
    found = probe.context.attempt(probe.transform, grid.dimensions)
    return found[0].geotransform(found[1]) if found is not None else None


def spatial_dimensions(context: ArrayContext) -> list[tuple[str, int | None]]:
    """Return the names that an array's Y and X dimensions have, with their lengths if told.

    For arrays whose dimensions have no names.
    """
    level = layout_of(context)
    own = context.node.document
    declares = own is not None and SpatialHandler.is_declared(own["attributes"])
    if not declares and not SpatialHandler.is_declared_around(context, level):
        return []
    grid = _Grid(context, level)
    declared, shape = grid.attribute("dimensions"), grid.attribute("shape")
    names = declared.value if declared is not None else None
    if not (isinstance(names, list) and len(names) == 2 and all(isinstance(n, str) for n in names)):
        return []
    lengths = shape.value if shape is not None and isinstance(shape.value, list) else []
    if len(lengths) != 2 or not all(isinstance(length, int) for length in lengths):
        lengths = [None, None]
    return list(zip(names, lengths, strict=True))


@dataclass
class _Grid:
    """The spatial attributes of one array."""

    context: ArrayContext
    level: Level | None

    def attribute(self, key: str) -> Fragment | None:
        """Return the nearest of the attributes ``spatial:<key>``."""
        key = f"spatial:{key}"
        found = self.context.node.attribute(key) or self.context.node.group.attribute(key)
        if found is not None or self.level is None:
            return found
        return self.level.item.get(key) or (
            self.level.group.attribute(key) if key not in _OF_ONE_LEVEL else None
        )

    @property
    def is_malformed(self) -> bool:
        """Whether the names of its dimensions are not two names, for an array that has two."""
        declared = self.attribute("dimensions")
        return (
            declared is not None
            and not _are_two_names(declared.value)
            and len(self.context.dimensions) > 1
        )

    @property
    def dimensions(self) -> tuple[str, str] | None:
        """The array's dimensions along Y and X; None if they are not told or not its own."""
        declared = self.attribute("dimensions")
        if declared is None or not _are_two_names(declared.value):
            return None
        known = {**{name: name for name in self.context.dimensions}, **self.context.names}
        anycase = {name.lower(): here for name, here in known.items()}
        y, x = (known.get(name) or anycase.get(name.lower()) for name in declared.value)
        return (y, x) if y is not None and x is not None and x != y else None

    def coordinates(self, dimensions: tuple[str, str]) -> Iterator[Coordinate]:
        """Yield real coordinate arrays of the group, and computed ones where there is none."""
        crs = crs_of(self.context)
        attributes = (
            crs.axis_attributes() if crs is not None else {"X": {"axis": "X"}, "Y": {"axis": "Y"}}
        )
        real = {name: self.real_array(name) for name in dimensions}
        for axis, name in zip("YX", dimensions, strict=True):
            node = real[name]
            if node is not None:
                yield Coordinate(
                    name,
                    self.context.variable(node, (name,)),
                    (node, (name,)),
                    dict(attributes[axis]),
                    source=node,
                    as_stored=True,
                )
        if None not in real.values():
            return
        found = self.context.attempt(self.transform, dimensions)
        if found is not None:
            yield from self._computed(found, dimensions, real, attributes)

    def real_array(self, name: str) -> Node | None:
        """Return the group's own 1-D array of the name and length of a dimension."""
        context = self.context
        node = Node(context.node.documents, _join(context.node.group.path, name))
        document = node.document
        if document is None or document.get("shape") != [context.sizes[name]]:
            return None
        return node

    def _computed(
        self,
        grid: tuple[Affine, float],
        dimensions: tuple[str, str],
        real: dict[str, Node | None],
        attributes: dict[str, dict[str, str]],
    ) -> Iterator[Coordinate]:
        affine, offset = grid
        if affine.is_rotated:
            yield from self._rotated(affine, offset, dimensions, attributes)
            return
        y, x = dimensions
        for axis, name, centres in (
            ("Y", y, Centres(affine.f, affine.e, offset)),
            ("X", x, Centres(affine.c, affine.a, offset)),
        ):
            if real[name] is None:
                array = ComputedArray(centres, (self.context.sizes[name],), np.dtype("float64"))
                variable = lazy_variable(array, (name,))
                yield Coordinate(name, variable, (centres, name), dict(attributes[axis]))

    def _rotated(
        self,
        affine: Affine,
        offset: float,
        dimensions: tuple[str, str],
        attributes: dict[str, dict[str, str]],
    ) -> Iterator[Coordinate]:
        """Yield 2-D coordinates; they are no axes, so ``axis`` does not describe them.

        They lie along (Y, X) whatever the order of the array's own axes: xarray goes by names.
        """
        shape = tuple(self.context.sizes[name] for name in dimensions)
        chunks = self.context.chunks
        for axis, name, (column, row, origin) in (
            ("X", "xc", (affine.a, affine.b, affine.c)),
            ("Y", "yc", (affine.d, affine.e, affine.f)),
        ):
            function = RotatedCentres(column, row, origin, offset)
            array = ComputedArray(function, shape, np.dtype("float64"))
            variable = lazy_variable(array, dimensions)
            # dask divides them as the data: a whole one may not fit into memory.
            variable.encoding["preferred_chunks"] = {
                dimension: chunks[dimension] for dimension in dimensions if dimension in chunks
            }
            described = {key: value for key, value in attributes[axis].items() if key != "axis"}
            yield Coordinate(name, variable, (function, dimensions), described)

    # The transform.

    def transform(self, dimensions: tuple[str, str]) -> tuple[Affine, float] | None:
        """Return the transform, and where the centre of a cell is in its index.

        None if there is none, nor anything that it follows from.

        Raises
        ------
        XGroupError
            If what is written cannot be used.
        """
        kind = self.attribute("transform_type")
        if kind is not None and kind.as_text() != "affine":
            raise kind.error(_("is {kind!r}; only 'affine' is known").format(kind=kind.value))
        registration = self.attribute("registration")
        name = "pixel" if registration is None else registration.as_text()
        if registration is not None and name not in _CENTRE:
            raise registration.error(_("must be 'pixel' or 'node', got {name!r}").format(name=name))
        sizes = (self.context.sizes[dimensions[0]], self.context.sizes[dimensions[1]])
        self._check_shape(sizes)
        written = self.attribute("transform")
        if written is not None:
            affine: Affine | None = _affine(written)
        else:
            affine = _derived(self.level) if self.level is not None else None
        offset = _CENTRE[name]
        box = self._box()
        if affine is None:
            return (_from_box(box, sizes, offset), offset) if box is not None else None
        if box is not None:
            self._check_box(box, affine, sizes, offset)
        return affine, offset

    def _check_shape(self, sizes: tuple[int, int]) -> None:
        shape = self.attribute("shape")
        if shape is not None and shape.value != list(sizes):
            message = _("{place} is {shape}, but the array has {sizes} cells; the latter was used")
            self.context.note(message.format(place=shape, shape=shape.value, sizes=list(sizes)))

    def _box(self) -> Fragment | None:
        """Return the bounding box; None also for the placeholder that products write."""
        box = self.attribute("bbox")
        if box is None or (isinstance(box.value, list) and not any(box.value)):
            return None
        return box

    def _check_box(
        self, box: Fragment, affine: Affine, sizes: tuple[int, int], offset: float
    ) -> None:
        written = self.context.attempt(_four_numbers, box)
        if written is None:
            return
        rows, columns = sizes
        # Pixel registration: outer edges. Node registration: outermost centres.
        ends = [(i, j) for i in (0, rows - 1 + 2 * offset) for j in (0, columns - 1 + 2 * offset)]
        x = [affine.a * j + affine.b * i + affine.c for i, j in ends]
        y = [affine.d * j + affine.e * i + affine.f for i, j in ends]
        cell = max(abs(n) for n in (affine.a, affine.b, affine.d, affine.e))
        actual = [min(x), min(y), max(x), max(y)]
        if any(abs(a - b) > cell * 1e-3 for a, b in zip(written, actual, strict=True)):
            message = _("{place} is {box}, but the transform gives {actual}; the latter was used")
            self.context.note(message.format(place=box, box=list(written), actual=actual))


#: Attributes of a layout's group that are not those of all its levels.
_OF_ONE_LEVEL = ("spatial:transform", "spatial:shape")


def _are_two_names(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and all(isinstance(name, str) for name in value)
        and value[0] != value[1]
    )


def _join(group: str, name: str) -> str:
    return f"{group}/{name}" if group else name


def _numbers(fragment: Fragment, count: int) -> list[float]:
    numbers = fragment.as_list()
    if len(numbers) == count and all(is_finite(number) for number in numbers):
        with contextlib.suppress(OverflowError):
            return [float(number) for number in numbers]
    shown = str(numbers)[:_SHOWN]
    raise fragment.error(
        _("must be {count} finite numbers, got {value}").format(count=count, value=shown)
    )


def _four_numbers(fragment: Fragment) -> list[float]:
    return _numbers(fragment, 4)


def _affine(fragment: Fragment) -> Affine:
    return _usable(Affine(*_numbers(fragment, 6)), fragment)


def _usable(affine: Affine, place: Fragment) -> Affine:
    """Return a transform if cells have an area by it, else raise XGroupMetadataError."""
    area = affine.a * affine.e - affine.b * affine.d
    if area == 0 or not math.isfinite(area):
        raise place.error(_("is degenerate: cells have no area"))
    return affine


def _from_box(box: Fragment, sizes: tuple[int, int], offset: float) -> Affine:
    """Return the transform of a grid with north up that fills a bounding box."""
    left, bottom, right, top = _four_numbers(box)
    # Node registration: the box ends at the outermost centres, one cell fewer.
    rows, columns = (size - 1 + 2 * offset for size in sizes)
    if not (left < right and bottom < top and rows > 0 and columns > 0):
        raise box.error(
            _("spans no area for {rows} x {columns} cells").format(rows=sizes[0], columns=sizes[1])
        )
    return Affine((right - left) / columns, 0.0, left, 0.0, -(top - bottom) / rows, top)


def _derived(level: Level) -> Affine | None:
    """Return the transform of a level that follows from that of the level it is derived from."""
    asset = level.item.get("asset")
    return _of_level(level, str(asset.value).strip("/") if asset is not None else "", ())


def _of_level(level: Level, asset: str, seen: tuple[str, ...]) -> Affine | None:
    item = level.items.get(asset)
    if item is None:
        message = _("{place}: there is no level {asset!r}").format(place=level.item, asset=asset)
        raise XGroupReferenceError(message)
    if asset in seen:
        message = _("{place}: levels are derived from one another: {chain}").format(
            place=item, chain=" -> ".join((*seen, asset))
        )
        raise XGroupReferenceError(message)
    source, relation = item.get("derived_from"), item.get("transform")
    # What a level says itself is nearest, then its item in the layout.
    node = Node(level.group.documents, _join(level.group.path, asset))
    written = node.attribute("spatial:transform") or item.get("spatial:transform")
    if written is not None:
        return _affine(written)
    if source is None or relation is None:
        return None
    above = _of_level(level, source.as_text().strip("/"), (*seen, asset))
    if above is None:
        return None
    return _usable(above.scaled(*_relation(relation)), relation)


def _relation(relation: Fragment) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return scale and translation, of rows and of columns."""
    relation.as_object()
    scale, translation = relation.get("scale"), relation.get("translation")
    rows, columns = (1.0, 1.0) if scale is None else _numbers(scale, 2)
    down, right = (0.0, 0.0) if translation is None else _numbers(translation, 2)
    return (rows, columns), (down, right)
