"""Pyramids: the levels at which a group holds the same image, and which one a resolution means.

Levels are what the layout of `multiscales` names. A group without one has levels if its child groups
hold the same arrays: of a name that the finest one has, in cells of another size, of the same place.

Pure: the size of cells follows from what conventions say of arrays, never from values.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from itertools import chain
from numbers import Real
from typing import Any

import numpy as np
from affine import Affine

from zarr_xgroup.conventions.axes import axis_by_attributes
from zarr_xgroup.conventions.dialects.stac import TO_BE_ASSUMED, transform_of_stac
from zarr_xgroup.conventions.layout import ATTRIBUTE, Item, Layout, asset_path
from zarr_xgroup.conventions.model import Coordinate
from zarr_xgroup.conventions.spatial_model import CENTRES
from zarr_xgroup.conventions.transforms import OVERHANG, Transform, extent_of, horizontal_unit
from zarr_xgroup.datasets.interpretation import ArrayReading, GroupReading
from zarr_xgroup.errors import XGroupGroupError
from zarr_xgroup.i18n import _, listed
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.metadata.paths import is_below, join_path
from zarr_xgroup.metadata.snapshots import Snapshot
from zarr_xgroup.variables.functions import Regular, RotatedCentres
from zarr_xgroup.variables.sources import Computed

#: A number for Y and one for X.
Pair = tuple[float, float]

#: By how much of itself the size of cells may differ that are the same but for rounding.
_ROUNDED = 1e-6


def resolution_of(given: Any) -> Pair | None:
    """Return the option `resolution` for Y and X, or raise ValueError if it is no size of cells."""
    if given is None:
        return None
    is_pair = isinstance(given, tuple | list | np.ndarray)
    numbers = list(given) if is_pair else [given, given]
    if len(numbers) != 2 or not all(map(_is_size, numbers)):
        message = _(
            "resolution must be a positive number, or a pair of them for y and x, in the unit of "
            "the CRS, got {value!r}"
        )
        raise ValueError(message.format(value=given))
    return float(numbers[0]), float(numbers[1])


def _is_size(number: Any) -> bool:
    is_number = isinstance(number, Real) and not isinstance(number, bool)
    return is_number and math.isfinite(number) and number > 0


@dataclass(frozen=True)
class Cells:
    """The cells of a grid, as metadata say them.

    Attributes
    ----------
    shape, chunk : tuple of int
        The numbers of rows and of columns: of all, of a chunk; () of what has no such.
    resolution : tuple of float or None
        Their size along Y and X, None if that is not said.
    unit : str
        Of that, "" if it is not known.
    box : tuple of float
        Their outer edges: left, bottom, right, top.
    assumable : str
        The convention that would say their size if it were assumed, "" if none.
    """

    shape: tuple[int, ...] = ()
    chunk: tuple[int, ...] = ()
    resolution: Pair | None = None
    unit: str = ""
    box: tuple[float, ...] = ()
    assumable: str = ""

    @property
    def area(self) -> float:
        """The area of a cell, infinite if it is not known."""
        return math.inf if self.resolution is None else math.prod(self.resolution)


@dataclass(frozen=True)
class Level:
    """One resolution of a pyramid.

    Attributes
    ----------
    node : Node
        The group or array that it is.
    group : Node
        The group to open.
    arrays : frozenset of str
        The arrays of that which belong to it.
    cells : Cells
        Those of its finest array of two or more dimensions.
    """

    node: Node
    group: Node
    arrays: frozenset[str]
    cells: Cells

    def is_as_fine_as(self, resolution: Pair) -> bool:
        """Tell whether its cells are no larger than some."""
        own = self.cells.resolution or (math.inf, math.inf)
        return all(a <= b * (1 + _ROUNDED) for a, b in zip(own, resolution, strict=True))

    def is_like(self, other: Level) -> bool:
        """Tell whether it has an array of another one, in the same place to a cell of the coarser."""
        one, two = self.cells, other.cells
        if self.arrays.isdisjoint(other.arrays):
            return False
        high, wide = map(max, one.resolution or (), two.resolution or ())
        sides = zip(one.box, two.box, (wide, high, wide, high), strict=True)
        return all(abs(a - b) <= cell * OVERHANG for a, b, cell in sides)


@dataclass(frozen=True)
class Pyramid:
    """The levels of a group.

    Attributes
    ----------
    group : Node
        The group.
    levels : tuple of Level
        The finest first; those whose cells are of no known size last.
    """

    group: Node
    levels: tuple[Level, ...]

    def factor(self, level: Level) -> Pair | None:
        """Return how many times as long cells are as those of the finest level."""
        own, finest = level.cells.resolution, self.levels[0].cells.resolution
        return None if own is None or finest is None else (own[0] / finest[0], own[1] / finest[1])

    def level(self, resolution: Pair) -> Level:
        """Return the coarsest level that is at least as fine, else the finest.

        Raises
        ------
        XGroupGroupError
            If the sizes of cells, or their unit, are not known.
        """
        known = [it for it in self.levels if it.cells.resolution is not None]
        units = sorted({it.cells.unit for it in known})
        if len(units) != 1 or not units[0]:
            raise self._not_comparable(units)
        fitting = [it for it in known if it.is_as_fine_as(resolution)]
        return max(fitting, key=_area) if fitting else known[0]

    def _not_comparable(self, units: Sequence[str]) -> XGroupGroupError:
        """Return the error of levels whose resolutions are in no unit, in an unknown one, or several."""
        assumable = {it.cells.assumable for it in self.levels} - {""}
        if not units and assumable:
            message = _(
                "Group {group}: metadata do not say the size of the cells of its levels, unless "
                "assume_conventions={names!r}; else open one of {levels} by group="
            )
        elif not units:
            message = _(
                "Group {group}: metadata do not say the size of the cells of its levels; open one "
                "of {levels} by group="
            )
        elif "" in units:
            message = _(
                "Group {group}: the unit of the size of cells is not known, as no CRS is declared of "
                "its levels; open one of {levels} by group="
            )
        else:
            message = _(
                "Group {group}: the sizes of the cells of its levels are in several units, {units}; "
                "open one of {levels} by group="
            )
        levels = listed([str(it.node) for it in self.levels])
        return XGroupGroupError(
            message.format(
                group=self.group,
                levels=levels,
                units=", ".join(units),
                names=", ".join(sorted(assumable)),
            )
        )

    def without_others(self, level: Level) -> Iterator[str]:
        """Yield the paths of what is of other levels than one."""
        for it in self.levels:
            if it.node == it.group and not is_below(level.group.path, it.group.path):
                yield it.group.path
            elif it != level:
                own = level.arrays if it.group == level.group else frozenset()
                yield from (join_path(it.group.path, name) for name in sorted(it.arrays - own))


# Where levels may be.


def layout_at(group: Node, snapshot: Snapshot) -> Layout | None:
    """Return the layout that a group has, None without one that can be used."""
    document = snapshot.document(group.path)
    written = None if document is None else document.attributes.get(ATTRIBUTE.key)
    if written is None:
        return None
    found, _wrong = ATTRIBUTE.read(Fragment(group, ("attributes", ATTRIBUTE.key), written))
    return found if isinstance(found, Layout) and found.items else None


def nodes_of_levels(group: Node, snapshot: Snapshot) -> list[Node]:
    """Return what may be the levels of a group: what its layout names, else its child groups."""
    layout = layout_at(group, snapshot)
    names = snapshot.groups(group.path) if layout is None else layout.items
    return [group.child(name) for name in names]


def group_of_level(node: Node, snapshot: Snapshot) -> Node | None:
    """Return the group of what may be a level, which is that itself or an array of it; None if it is not."""
    document = snapshot.document(node.path)
    if document is None:
        return None
    return node.group if document.is_array else node


def pyramid_of(
    group: Node,
    snapshot: Snapshot,
    readings: Mapping[Node, GroupReading],
    assumed: Collection[str] = (),
) -> Pyramid | None:
    """Return the pyramid that a group is, None if it is none.

    Parameters
    ----------
    group : Node
        The group.
    snapshot : Snapshot
        The store: the documents of `nodes_of_levels` are known.
    readings : mapping of Node to GroupReading
        What is known of the groups of levels.
    assumed : collection of str
        The names of conventions that count as declared by every array.
    """
    layout = layout_at(group, snapshot)
    if layout is not None:
        levels = _of_layout(group, layout, snapshot, readings, assumed)
    else:
        children = map(group.child, snapshot.groups(group.path))
        levels = _of_children([readings[it] for it in children if it in readings], assumed)
    return Pyramid(group, tuple(sorted(levels, key=_area))) if levels else None


def _area(level: Level) -> float:
    return level.cells.area


def _of_layout(
    group: Node,
    layout: Layout,
    snapshot: Snapshot,
    readings: Mapping[Node, GroupReading],
    assumed: Collection[str],
) -> list[Level]:
    """Return the levels that a layout names, as far as they are there."""
    levels = {}
    for asset in layout.items:
        node = group.child(asset)
        reading = readings.get(group_of_level(node, snapshot) or node)
        if reading is None:
            continue
        if reading.node == node:
            arrays = [it for it in reading.arrays if layout.about(it.node, group) is None]
        else:
            arrays = [it for it in reading.arrays if it.node == node]
        levels[asset] = _level(node, reading.node, arrays, assumed)
    return list(_following(layout, levels).values())


def _following(layout: Layout, levels: Mapping[str, Level]) -> dict[str, Level]:
    """Return levels with the size of cells that they have by that of the levels they follow from."""
    found, lost = dict(levels), set[str]()
    for asset in levels:
        way = _way(asset, layout, found, lost)
        known = found[way[-1]].cells
        if known.resolution is None:
            lost.update(way)
            continue
        for derived in way[-2::-1]:
            y, x = map(operator.mul, known.resolution or (0, 0), _scale(layout.items[derived])[-2:])
            own = found[derived].cells
            known = _sized(own if own.shape else known, (abs(y), abs(x)), known.unit)
            found[derived] = replace(found[derived], cells=known if own.shape else own)
    return found


def _way(
    asset: str, layout: Layout, levels: Mapping[str, Level], lost: Collection[str]
) -> list[str]:
    """Return a level and those it follows from, up to one whose cells are of known size, or the last."""
    way = {asset: None}
    while levels[asset].cells.resolution is None and asset not in lost:
        item = layout.items[asset]
        source = layout.base if item.derived_from is None else asset_path(item.derived_from)
        if source is None or source in way or source not in levels or len(_scale(item)) < 2:
            break
        way[source] = None
        asset = source
    return list(way)


def _scale(item: Item) -> Sequence[float]:
    """Return how many times as long cells of a level are as those of its source, () if unknown."""
    scale = None if item.transform is None else item.transform.scale
    return () if scale is None else scale.value


def _of_children(children: Collection[GroupReading], assumed: Collection[str]) -> list[Level]:
    """Return the child groups that hold the same arrays: those that the finest of them has."""
    named = {(it.node.name, it.shape) for reading in children for it in reading.arrays}
    if len(named) == len({name for name, _shape in named}):
        return []  # of one size each: most groups, told without a look at their grids
    found = [_level(it.node, it.node, it.arrays, assumed) for it in children]
    levels = _sharing([it for it in found if it.cells.resolution is not None])
    finest = min(levels, key=_area, default=None)
    same = [it for it in levels if finest is not None and it.is_like(finest)]
    return same if len(same) == len({it.cells.resolution for it in same}) > 1 else []


def _sharing(levels: Collection[Level]) -> list[Level]:
    """Return the levels that have an array of a name that another one has."""
    counts = Counter(chain.from_iterable(it.arrays for it in levels))
    return [it for it in levels if max(map(counts.__getitem__, it.arrays)) > 1]


def no_pyramid(group: Node, snapshot: Snapshot) -> XGroupGroupError:
    """Return the error of a group that is no pyramid, which says what it is."""
    if layout_at(group, snapshot) is not None:
        message = _("Group {group}: none of the levels that its layout names is there: {levels}")
        levels = _listed(map(str, nodes_of_levels(group, snapshot)))
        return XGroupGroupError(message.format(group=group, levels=levels))
    near = (*group.ancestors(), *map(group.child, snapshot.groups(group.path)))
    if pyramids := [str(it) for it in near if layout_at(it, snapshot) is not None]:
        message = _("Group {group} is no pyramid, but near ones are: {groups}; open one of these")
        return XGroupGroupError(message.format(group=group, groups=_listed(pyramids)))
    held = {it: snapshot.arrays(join_path(group.path, it)) for it in snapshot.groups(group.path)}
    message = _(
        "Group {group} is no pyramid: it has no layout of multiscales, nor groups that hold the "
        "same array of the same place in cells of several sizes, as far as metadata say them. It "
        "has the arrays {arrays} and the groups {groups}; open what you need by group="
    )
    groups = _listed(f"{name} ({_listed(arrays)})" for name, arrays in held.items())
    arrays = _listed(snapshot.arrays(group.path))
    return XGroupGroupError(message.format(group=group, arrays=arrays, groups=groups))


def _listed(names: Iterable[str]) -> str:
    return listed(list(names)) or "-"


# What is known of a level.


def _level(
    node: Node, group: Node, arrays: Iterable[ArrayReading], assumed: Collection[str]
) -> Level:
    """Return a level of arrays: it is as fine as its finest one."""
    cells = {it.node.name: _cells(it, assumed) for it in arrays if len(it.dims) > 1}
    known = {name for name, it in cells.items() if it.resolution is not None}
    first = min(cells.values(), key=lambda it: (it.area, -math.prod(it.shape)), default=Cells())
    return Level(node, group, frozenset(known or cells), first)


def _cells(array: ArrayReading, assumed: Collection[str]) -> Cells:
    """Return the cells of an array; those of its last two dimensions if metadata say no grid."""
    chunks = array.template.encoding.get("chunks") or array.shape
    pair = _axes(array)
    names = array.dims[-2:] if pair is None else (pair[0].source.dims[0], pair[1].source.dims[-1])
    axes = [array.dims.index(name) for name in names]
    cells = Cells(tuple(array.shape[it] for it in axes), tuple(chunks[it] for it in axes))
    if pair is not None:
        unit = str(pair[1].attributes.get("units", ""))
        return _placed(cells, affine_of(pair[0].source, pair[1].source), unit, array)
    written = transform_of_stac(array.node, array.document.attributes, cells.shape)
    if written is None:
        return cells
    if TO_BE_ASSUMED not in assumed:
        return replace(cells, assumable=TO_BE_ASSUMED)
    return _placed(cells, written.affine, "", array)


def _placed(cells: Cells, affine: Affine, unit: str, array: ArrayReading) -> Cells:
    """Return cells with their size and place, in a unit or else in that of the array's CRS."""
    crs, (rows, columns) = array.interpretation.crs, cells.shape
    if not unit and crs is not None:
        unit = crs.axis_attributes().get("X", {}).get("units", "")
    transform = Transform(affine, CENTRES["pixel"])
    box = tuple(extent_of(transform, (rows, columns)))
    return _sized(replace(cells, box=box), transform.cell, horizontal_unit(unit))


def _sized(cells: Cells, resolution: Pair, unit: str) -> Cells:
    """Return cells of a size, or of an unknown one if nothing can be that long."""
    is_size = all(map(_is_size, resolution))
    return replace(cells, resolution=resolution if is_size else None, unit=unit)


def _axes(array: ArrayReading) -> tuple[Coordinate, Coordinate] | None:
    """Return an array's coordinates along Y and X that follow from numbers, None without such.

    Those of a rotated grid both lie along both dimensions, Y before X.
    """
    said = array.interpretation
    declared = (*said.coordinates, *(it.coordinate for it in said.declared_values))
    found = {axis: it for it in declared if (axis := _axis_of(it))}
    if found.keys() != {"X", "Y"}:
        return None
    y, x = found["Y"], found["X"]
    dims = {y.source.dims[0], x.source.dims[-1]}
    return (y, x) if len(dims) == 2 and dims <= set(array.dims) else None


def _axis_of(coordinate: Coordinate) -> str | None:
    """Return along which axis a coordinate is, if it follows from numbers."""
    source = coordinate.source
    function = source.function if isinstance(source, Computed) else None
    if isinstance(function, RotatedCentres):
        return {"xc": "X", "yc": "Y"}.get(coordinate.name)
    is_line = isinstance(function, Regular) and len(source.dims) == 1
    return axis_by_attributes(coordinate.attributes) if is_line else None


def affine_of(y: Any, x: Any) -> Affine:
    """Return the transform from the outer corner of the first cell by which two are computed."""
    return Affine(*_terms(x.function, is_along_rows=False), *_terms(y.function, is_along_rows=True))


def _terms(function: Any, *, is_along_rows: bool) -> tuple[float, float, float]:
    """Return how much values grow from a column to the next, from a row, and where they begin."""
    if isinstance(function, RotatedCentres):
        column, row, origin, offset = astuple(function)
    else:
        origin, step, offset = astuple(function)
        offset = offset or 0.0
        column, row = (0.0, step) if is_along_rows else (step, 0.0)
    return column, row, origin + (offset - CENTRES["pixel"]) * (column + row)
