"""Pyramids: the levels at which a group holds the same image, and which one a resolution means.

Levels are what the layout of `multiscales` names, or the child groups of a group with a tile matrix set.

Pure: the size of cells follows from what conventions say of arrays, never from values.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from zarr_xgroup.conventions.crs import UNDERSTOOD, horizontal_unit
from zarr_xgroup.conventions.dggs import LENGTHS
from zarr_xgroup.conventions.dialects.geozarr import TO_BE_ASSUMED as GEOZARR
from zarr_xgroup.conventions.dialects.stac import TO_BE_ASSUMED as STAC
from zarr_xgroup.conventions.dialects.stac import transform_of_stac
from zarr_xgroup.conventions.multiscales import ATTRIBUTE, TILES, Item, Layout, asset_path
from zarr_xgroup.conventions.registry import AUTO
from zarr_xgroup.datasets.interpretation import ArrayReading, GroupReading
from zarr_xgroup.errors import XGroupGroupError, XGroupMetadataError
from zarr_xgroup.i18n import _, listed
from zarr_xgroup.metadata.cf import axis_by_attributes
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.metadata.paths import is_below
from zarr_xgroup.metadata.tree import Tree
from zarr_xgroup.options import Pair, is_size
from zarr_xgroup.variables.functions import Regular, RotatedCentres
from zarr_xgroup.variables.sources import Computed

#: By how much of itself the size of cells may differ that are the same but for rounding.
_ROUNDED = 1e-6

#: By which factor a resolution and the cells of the level chosen differ where another unit was meant.
_OTHER_UNIT = 10_000


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
    shape, chunk : tuple of int
        How many rows and columns its finest array of two or more dimensions has, or how many cells, and a
        chunk of it; () if it has none.
    resolution : tuple of float or None
        The size of the cells of that along Y and X, None if metadata do not say it.
    unit : str
        Of the resolution, "" if it is not known.
    assumable : str
        The convention that would say the resolution if it were assumed, "" if none.
    not_understood : str
        What is wrong with the CRS that is declared of that array, "" if nothing is.
    dims : tuple of str
        The dimensions of that array along Y and X; () if the level has none.
    orders : tuple of tuple of str
        The dimensions of that array, and of the others that belong to the level.
    refinement : int or None
        The level of its cells in a discrete global grid system.
    relative : float or None
        How long these are as a part of those of level 0, None where that is not known.
    """

    node: Node
    group: Node
    arrays: frozenset[str]
    shape: tuple[int, ...] = ()
    chunk: tuple[int, ...] = ()
    resolution: Pair | None = None
    unit: str = ""
    assumable: str = ""
    not_understood: str = ""
    dims: tuple[()] | tuple[str, str] = ()
    orders: tuple[tuple[str, ...], ...] = ()
    refinement: int | None = None
    relative: float | None = None

    @property
    def coarseness(self) -> tuple[float, int]:
        """What is less for finer levels: the area of a cell, infinite if it is not known; then how fine it is."""
        area = math.inf if self.resolution is None else math.prod(self.resolution)
        return area, -(self.refinement or 0)

    def is_as_fine_as(self, resolution: Pair) -> bool:
        """Tell whether its cells are no larger than some."""
        own = self.resolution or (math.inf, math.inf)
        return all(a <= b * (1 + _ROUNDED) for a, b in zip(own, resolution, strict=True))


@dataclass(frozen=True)
class Pyramid:
    """The levels of a group.

    Attributes
    ----------
    group : Node
        The group.
    levels : tuple of Level
        The finest first; those whose cells are of no known size last.
    missing : tuple of Node
        What the layout names that is not there.
    """

    group: Node
    levels: tuple[Level, ...]
    missing: tuple[Node, ...] = ()

    def factor(self, level: Level) -> Pair | None:
        """Return how many times as long cells are as those of the finest level."""
        own, finest = level.resolution, self.levels[0].resolution
        if own is not None and finest is not None:
            return own[0] / finest[0], own[1] / finest[1]
        length, least = level.relative, self.levels[0].relative
        return None if length is None or least is None else (length / least, length / least)

    def level(self, resolution: Pair) -> Level:
        """Return the coarsest level that is at least as fine, else the finest.

        Raises
        ------
        XGroupGroupError
            If the sizes of cells, or their unit, are not known.
        """
        known = [level for level in self.levels if level.resolution is not None]
        units = sorted({level.unit for level in known})
        if len(units) != 1 or not units[0]:
            raise self._not_comparable(units)
        fitting = [level for level in known if level.is_as_fine_as(resolution)]
        return fitting[-1] if fitting else known[0]

    def _not_comparable(self, units: Sequence[str]) -> XGroupGroupError:
        """Return the error of levels whose resolutions are in no unit, in an unknown one, or several."""
        assumable = {level.assumable for level in self.levels} - {""}
        not_understood = {level.not_understood for level in self.levels} - {""}
        if not units and assumable:
            reason = _(
                "metadata do not say the size of the cells of its levels, unless "
                "assume_conventions={names!r}"
            ).format(names=", ".join(sorted(assumable)))
        elif not units:
            reason = _("metadata do not say the size of the cells of its levels")
        elif "" in units and not_understood:
            reasons = listed(sorted(not_understood))
            reason = _("the unit of the size of cells is not known: {reasons}").format(
                reasons=reasons
            )
        elif "" in units:
            reason = _(
                "the unit of the size of cells is not known, as no CRS is declared of its levels"
            )
        else:
            reason = _("the sizes of the cells of its levels are in several units, {units}")
            reason = reason.format(units=", ".join(units))
        message = _("Group {group}: {reason}; open one of {levels} by group=")
        levels = listed([str(level.node) for level in self.levels])
        return XGroupGroupError(message.format(group=self.group, reason=reason, levels=levels))

    def remarks(self, chosen: Level, resolution: Pair) -> Iterator[str]:
        """Yield what to know of the level that was chosen for a resolution."""
        known = {"level": chosen.node, "unit": chosen.unit}
        if unknown := [str(level.node) for level in self.levels if level.resolution is None]:
            yield _(
                "metadata do not say the size of the cells of {levels}: {level} was chosen of the rest"
            ).format(**known, levels=listed(unknown))
        if self.missing:
            yield _(
                "its layout names {levels}, which are not there: {level} was chosen of the rest"
            ).format(**known, levels=listed([str(node) for node in self.missing]))
        own = chosen.resolution or resolution
        ratios = [asked / size for asked, size in zip(resolution, own, strict=True)]
        if not all(1 / _OTHER_UNIT < ratio < _OTHER_UNIT for ratio in ratios):
            asked, size = (
                " x ".join(f"{length:g}" for length in pair) for pair in (resolution, own)
            )
            yield _(
                "resolution is in the unit of the CRS, {unit}, and was {asked}: cells of {level} are of {own}"
            ).format(**known, asked=asked, own=size)

    def without_others(self, level: Level) -> Iterator[Node]:
        """Yield the groups and arrays of other levels than one."""
        for other in self.levels:
            if other.node == other.group and not is_below(level.group.path, other.group.path):
                yield other.group
            elif other != level:
                own = level.arrays if other.group == level.group else frozenset()
                yield from map(other.group.child, other.arrays - own)


# Where levels are.


def layout_at(group: Node, tree: Tree, assumed: Collection[str] = ()) -> Layout | None:
    """Return the layout that a group has, None without one that can be used.

    Where the draft of GeoZarr is assumed, the child groups are the layout of a group with a tile matrix set.
    """
    document = tree.document(group)
    written = None if document is None else document.attributes.get(ATTRIBUTE.key)
    if written is None:
        return None
    if isinstance(written, Mapping) and TILES in written:
        names = tree.groups(group) if not {GEOZARR, AUTO}.isdisjoint(assumed) else []
        found: Any = Layout(keys=(), layout=tuple(Item(keys=(), asset=name) for name in names))
    else:
        found, _wrong = ATTRIBUTE.read(Fragment(group, ("attributes", ATTRIBUTE.key), written))
    return found if isinstance(found, Layout) and found.items else None


def group_of_level(node: Node, tree: Tree) -> Node | None:
    """Return the group of what a layout names, which is that itself or an array of it; None if it is not there."""
    document = tree.document(node)
    if document is None:
        return None
    return node.group if document.is_array else node


def pyramid_of(
    group: Node,
    layout: Layout,
    tree: Tree,
    readings: Mapping[Node, GroupReading],
    assumed: Collection[str] = (),
) -> Pyramid | None:
    """Return the pyramid that a layout says a group is, None if no level is there.

    Parameters
    ----------
    group : Node
        The group.
    layout : Layout
        Its layout.
    tree : Tree
        What is known: the documents of what the layout names are known.
    readings : mapping of Node to GroupReading
        What is known of the groups of levels.
    assumed : collection of str
        The names of conventions that count as declared by every array.
    """
    levels = {}
    for asset in layout.items:
        node = group.child(asset)
        reading = readings.get(group_of_level(node, tree) or node)
        if reading is None:
            continue
        if reading.node == node:
            arrays = [it for it in reading.arrays if layout.about(it.node, group) is None]
        else:
            arrays = [it for it in reading.arrays if it.node == node]
        levels[asset] = _level(node, reading.node, arrays, assumed)
    if not levels:
        return None
    found = sorted(_with_derived(group, layout, levels), key=lambda it: it.coarseness)
    missing = tuple(group.child(asset) for asset in layout.items if asset not in levels)
    return Pyramid(group, tuple(found), missing)


def _with_derived(group: Node, layout: Layout, levels: Mapping[str, Level]) -> Iterable[Level]:
    """Return levels with the size of cells that they have by that of the levels they are derived from.

    Those may not be there: then the numbers are taken to stand in the order of the axes of one that is.
    """
    found = dict(levels)
    any_grid = next((level for level in levels.values() if level.dims), None)
    sizes = {asset: (it.resolution, it.unit) for asset, it in levels.items() if it.resolution}
    derived = defaultdict(list)
    for asset in layout.items.keys() - sizes:
        source = layout.items[asset].derived_from
        derived[layout.base if source is None else asset_path(source)].append(asset)
    sources = list(sizes)
    for source in sources:  # which grow
        (y, x), unit = sizes[source]
        for asset in derived.pop(source, ()):
            relation, level = layout.items[asset].transform, found.get(asset)
            axes = level if level is not None and level.dims else any_grid
            if relation is None or relation.scale is None or axes is None or not axes.dims:
                continue
            shape, whole = (() if it is None else it.shape for it in (level, found.get(source)))
            with suppress(XGroupMetadataError):  # which an open of the level tells
                along = relation.along(group, axes.dims, axes.orders[0], axes.orders, shape, whole)
                (step_y, step_x), _shifts = along
                size = abs(y * step_y), abs(x * step_x)
                if all(map(is_size, size)):
                    sizes[asset] = size, unit
                    sources.append(asset)
                    if level is not None and level.dims:
                        found[asset] = replace(level, resolution=size, unit=unit)
    return found.values()


def no_pyramid(group: Node, layout: Layout | None, tree: Tree) -> XGroupGroupError:
    """Return the error of a group that is no pyramid, which says what it has."""
    if layout is not None:
        message = _("Group {group}: none of the levels that its layout names is there: {levels}")
        levels = listed([str(group.child(asset)) for asset in layout.items])
        return XGroupGroupError(message.format(group=group, levels=levels))
    children = list(map(group.child, tree.groups(group)))
    pyramids = [it for it in (*group.ancestors(), *children) if layout_at(it, tree)]
    if pyramids:
        message = _("Group {group} is no pyramid, but near ones are: {groups}; open one of these")
    else:
        message = _(
            "Group {group} is no pyramid: it has no layout of multiscales. It has the groups "
            "{groups}; open what you need by group="
        )
    groups = listed([str(it) for it in pyramids or children]) or "-"
    return XGroupGroupError(message.format(group=group, groups=groups))


# What is known of a level.


def _level(
    node: Node, group: Node, arrays: Iterable[ArrayReading], assumed: Collection[str]
) -> Level:
    """Return a level of arrays: it is as fine as its finest one."""
    found = ((it, _cells(node, group, it)) for it in arrays)
    grids = [
        cells or _grid(node, group, it, assumed) for it, cells in found if cells or len(it.dims) > 1
    ]
    known = [it for it in grids if it.resolution or it.refinement is not None] or grids
    names = frozenset(name for it in known for name in it.arrays)
    first = min(known, key=lambda it: (it.coarseness, -math.prod(it.shape)), default=None)
    if first is None:
        return Level(node, group, names)
    orders = dict.fromkeys(chain(first.orders, *(it.orders for it in known)))
    return replace(first, arrays=names, orders=tuple(orders))


def _cells(node: Node, group: Node, array: ArrayReading) -> Level | None:
    """Return a level of one array of cells of a discrete global grid system, None if it has no such."""
    for cells in array.interpretation.coordinates:
        name, level = map(cells.attributes.get, ("grid_name", "level"))
        if name is None or level is None:
            continue
        (axis,) = (array.dims.index(dim) for dim in cells.source.dims)
        chunks = array.template.encoding.get("chunks") or array.shape
        length = LENGTHS.get(name)
        return Level(
            node,
            group,
            frozenset([array.node.name]),
            (array.shape[axis],),
            (chunks[axis],),
            refinement=level,
            relative=None if length is None else length**-level,
        )
    return None


def _grid(node: Node, group: Node, array: ArrayReading, assumed: Collection[str]) -> Level:
    """Return a level of one array: its grid is that of its last two dimensions if metadata say none."""
    dims, size, unit = _grid_of(array)
    axes = [array.dims.index(name) for name in dims]
    chunks = array.template.encoding.get("chunks") or array.shape
    shape, chunk = (tuple(sizes[axis] for axis in axes) for sizes in (array.shape, chunks))
    findings = array.interpretation.findings
    not_understood = next((f"{it.place} {it.text}" for it in findings if it.rule is UNDERSTOOD), "")
    level = Level(
        node,
        group,
        frozenset([array.node.name]),
        shape,
        chunk,
        not_understood=not_understood,
        dims=dims,
        orders=(array.dims,),
    )
    if size is None:
        written = transform_of_stac(array.node, array.document.attributes, shape)
        if written is None:
            return level
        if STAC not in assumed:
            return replace(level, assumable=STAC)
        size, unit = written.cell, ""
    crs = array.interpretation.crs
    if not unit and crs is not None:
        unit = crs.axis_attributes().get("X", {}).get("units", "")
    is_known = all(map(is_size, size))
    return replace(level, resolution=size if is_known else None, unit=horizontal_unit(unit))


def _grid_of(array: ArrayReading) -> tuple[tuple[str, str], Pair | None, str]:
    """Return an array's dimensions along Y and X, the size of cells and its unit, as far as metadata say them.

    Dimensions are those of its coordinates along Y and X, else the last two. The size is that by which
    coordinates follow from numbers. Those of a rotated grid both lie along both dimensions.
    """
    dims: dict[str | None, str] = {}
    steps: dict[str | None, Pair] = {}
    unit = ""
    for coordinate in array.interpretation.coordinates:
        source, axis = coordinate.source, axis_by_attributes(coordinate.attributes)
        function = source.function if isinstance(source, Computed) else None
        if isinstance(function, RotatedCentres):
            axis = {"xc": "X", "yc": "Y"}.get(coordinate.name)
            dims |= {"Y": source.dims[0], "X": source.dims[-1]}
            steps[axis] = function.row, function.column
        elif len(source.dims) == 1 and source.dims[0] in array.dims:
            dims[axis] = source.dims[0]
            if isinstance(function, Regular):
                steps[axis] = (function.step, 0.0) if axis == "Y" else (0.0, function.step)
                unit = str(coordinate.attributes.get("units", "")) if axis == "X" else unit
    y, x = dims.get("Y", ""), dims.get("X", "")
    if not (y and x and y != x):
        return (array.dims[-2], array.dims[-1]), None, ""
    if not {"X", "Y"} <= steps.keys():
        return (y, x), None, unit
    rows, columns = map(math.hypot, steps["Y"], steps["X"])
    return (y, x), (rows, columns), unit
