"""Pyramids: groups that hold an image at several levels, and the level for a requested resolution.

Levels are named in a `multiscales` layout, or are the child groups of a group with a tile matrix set. Cell sizes follow
from the first and last values of stored coordinates, which the caller reads (`Steps`). If nothing is stored, they follow
from the interpretations of arrays.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from zarr_xgroup.conventions.array import NodeView
from zarr_xgroup.conventions.axes import rows_and_columns
from zarr_xgroup.conventions.crs import horizontal_unit
from zarr_xgroup.conventions.dggs import LENGTHS
from zarr_xgroup.conventions.dialects.geozarr import TO_BE_ASSUMED as GEOZARR
from zarr_xgroup.conventions.dialects.stac import TO_BE_ASSUMED as STAC
from zarr_xgroup.conventions.dialects.stac import transform_of_stac
from zarr_xgroup.conventions.handler_set import ArrayReading
from zarr_xgroup.conventions.multiscales import ATTRIBUTE, TILES, Item, Layout, Relation
from zarr_xgroup.conventions.registry import AUTO
from zarr_xgroup.datasets.interpretation import GroupReading
from zarr_xgroup.errors import XGroupGroupError, XGroupMetadataError
from zarr_xgroup.findings import Finding, Topic, new_finding
from zarr_xgroup.i18n import _, listed
from zarr_xgroup.metadata.cf import axis_by_attributes
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.metadata.paths import is_below
from zarr_xgroup.metadata.tree import Tree
from zarr_xgroup.options import Pair, is_size
from zarr_xgroup.variables.functions import Regular, RotatedCentres
from zarr_xgroup.variables.sources import Computed, Stored

#: The relative difference up to which a cell size is treated as equal to a resolution, and a stored one to a declared one.
_ROUNDING, _SAME_SIZE = 1e-6, 1e-3

#: If the resolution and the cells of the chosen level differ by this factor, the user may have meant a different unit:
#: degrees and metres differ by a factor of about 100 000.
_UNIT_FACTOR = 10_000

#: Returns the mean step of the values of each of some 1-D arrays; arrays without steps are left out.
Steps: TypeAlias = Callable[[Collection[Node]], Mapping[Node, float]]


class Level(msgspec.Struct, frozen=True):
    """A level of a pyramid. Its resolution is that of its finest array."""

    #: The group or array of the level.
    node: Node
    #: The group to open.
    group: Node
    #: The names of its arrays, and of those that have a grid or cells.
    members: frozenset[str] = frozenset()
    arrays: frozenset[str] = frozenset()
    #: Rows and columns of the finest array, or its number of cells, and the same for a chunk; () without arrays.
    shape: tuple[int, ...] = ()
    chunk: tuple[int, ...] = ()
    #: The cell size along Y and X, None if it is not known, and its unit, "" if not known.
    resolution: Pair | None = None
    unit: str = ""
    #: The stored 1-D coordinates along Y and X, whose values show the cell size, () unless both exist.
    stored: tuple[()] | tuple[Node, Node] = ()
    #: The cell size that metadata declare, whatever is stored.
    declared: Pair | None = None
    #: The dimensions of the finest array along Y and X, () without arrays; then the different `dims` of all arrays.
    dims: tuple[()] | tuple[str, str] = ()
    orders: tuple[tuple[str, ...], ...] = ()
    #: The refinement level in a discrete global grid system, and the length of cells relative to level 0.
    refinement: int | None = None
    relative: float | None = None

    @property
    def coarseness(self) -> tuple[float, int]:
        """A sort key, finest first: the area of a cell, infinite if not known, then the refinement."""
        area = math.inf if self.resolution is None else math.prod(self.resolution)
        return area, -(self.refinement or 0)

    @property
    def is_declared_wrongly(self) -> bool:
        """Whether the declared cell size differs from that of the stored coordinates by more than a thousandth."""
        if not self.stored or self.resolution is None or self.declared is None:
            return False
        ratios = (own / size for own, size in zip(self.declared, self.resolution, strict=True))
        return any(abs(ratio - 1) > _SAME_SIZE for ratio in ratios)


class Pyramid(msgspec.Struct, frozen=True):
    """The levels of a group."""

    group: Node
    #: Finest first, levels of unknown cell size last.
    levels: tuple[Level, ...]
    #: The groups and arrays in the layout that do not exist.
    missing: tuple[Node, ...] = ()

    def factor(self, level: Level) -> Pair | None:
        """Return the length of cells relative to those of the finest level, along Y and X; None if not known."""
        own, finest = level.resolution, self.levels[0].resolution
        if own is not None and finest is not None:
            return own[0] / finest[0], own[1] / finest[1]
        length, least = level.relative, self.levels[0].relative
        return None if length is None or least is None else (length / least, length / least)

    def choice(self, resolution: Pair) -> tuple[Level, list[Node], list[Finding]]:
        """Return the coarsest level that is at least as fine as a resolution, or the finest one if there is none.

        Also return the groups and arrays of the other levels, and findings about the choice. Raises XGroupGroupError if
        cell sizes are not known, or not in one unit.
        """
        known = [(level, level.resolution) for level in self.levels if level.resolution]
        # Without a CRS, the unit is that of the coordinates, whatever it is.
        units = {level.unit for level, _size in known} - {""}
        if not known or len(units) > 1:
            message = _(
                "Group {group}: the cell sizes of its levels are not known in one unit; open one of "
                "{levels} with group="
            )
            levels = listed([str(level.node) for level in self.levels])
            raise XGroupGroupError(message.format(group=self.group, levels=levels))
        most_y, most_x = (length * (1 + _ROUNDING) for length in resolution)
        fitting = [level for level, (y, x) in known if y <= most_y and x <= most_x]
        chosen = [known[0][0], *fitting][-1]
        remarks = self._remarks(chosen, resolution)
        findings = [new_finding(Topic.CHOICE, self.group, text) for text in remarks]
        return chosen, list(self._others_than(chosen)), findings

    def _others_than(self, chosen: Level) -> Iterator[Node]:
        """Yield the groups and arrays that belong only to levels that were not chosen."""
        for other in self.levels:
            if other.node == other.group and not is_below(chosen.group.path, other.group.path):
                yield other.group
            elif other != chosen:
                own = chosen.arrays if other.group == chosen.group else frozenset()
                yield from map(other.group.child, other.arrays - own)

    def wrong_declarations(self) -> str:
        """Return a text about levels whose stored coordinates contradict the declared cell size, "" if there are none."""
        texts = [
            _("{level} ({stored} instead of {declared})").format(
                level=level.node,
                stored=_as_text(level.resolution),
                declared=_as_text(level.declared),
            )
            for level in self.levels
            if level.is_declared_wrongly
        ]
        message = _(
            "cell sizes by stored coordinates, which are used, contradict metadata: {levels}"
        )
        return message.format(levels=listed(texts)) if texts else ""

    def _remarks(self, chosen: Level, resolution: Pair) -> Iterator[str]:
        """Yield warnings about the choice of a level: wrong declarations, levels left out, or possibly a wrong unit."""
        if text := self.wrong_declarations():
            yield text
        unknown = [level.node for level in self.levels if level.resolution is None]
        if left_out := [str(node) for node in (*unknown, *self.missing)]:
            yield _(
                "levels do not exist, or their cell size is not known: {levels}; {level} was chosen from "
                "the others"
            ).format(levels=listed(left_out), level=chosen.node)
        own = chosen.resolution or resolution
        ratios = [length / size for length, size in zip(resolution, own, strict=True)]
        if not all(1 / _UNIT_FACTOR < ratio < _UNIT_FACTOR for ratio in ratios):
            yield _(
                "resolution {requested} is in the unit of the coordinates, {unit}; the cells of {level} "
                "have size {size}"
            ).format(
                requested=_as_text(resolution),
                unit=chosen.unit or _("which is not known"),
                level=chosen.node,
                size=_as_text(own),
            )


def _as_text(size: Pair | None) -> str:
    """Return a cell size along Y and X as text."""
    return " x ".join(f"{length:g}" for length in size or ())


# Find and measure levels.


def layout_at(group: Node, tree: Tree, assumed: Collection[str] = ()) -> Layout | None:
    """Return the layout of a group, None if it has no usable layout.

    If the draft of GeoZarr is assumed, the child groups are the layout of a group with a tile matrix set.
    """
    document = tree.document(group)
    written = None if document is None else document.attributes.get(ATTRIBUTE.key)
    if written is None:
        return None
    if isinstance(written, Mapping) and TILES in written:
        names = tree.groups(group) if not {GEOZARR, AUTO}.isdisjoint(assumed) else []
        layout: Any = Layout(keys=(), layout=tuple(Item(keys=(), asset=name) for name in names))
    else:
        layout, _wrong = ATTRIBUTE.read(Fragment(group, ("attributes", ATTRIBUTE.key), written))
    return layout if isinstance(layout, Layout) and layout.items else None


def group_of_level(node: Node, tree: Tree) -> Node | None:
    """Return the group of a level: the node if it is a group, or the group of an array; None if it does not exist."""
    document = tree.document(node)
    if document is None:
        return None
    return node.group if document.is_array else node


def pyramids_of(
    groups: Iterable[Node],
    readings: Mapping[Node, GroupReading],
    tree: Tree,
    assumed: Collection[str],
    steps: Steps | None = None,
) -> dict[Node, Pyramid]:
    """Return the pyramids of those groups that have a layout of which a level exists.

    `readings` are those of the groups of all levels that exist. The values of all pyramids are read together; without
    `steps`, none are used.
    """
    layouts = {group: layout for group in groups if (layout := layout_at(group, tree, assumed))}
    found = {
        group: levels
        for group, layout in layouts.items()
        if (levels := _levels_of_layout(group, layout, tree, readings))
    }
    every = chain.from_iterable(levels.values() for levels in found.values())
    stored = {node for level in every for node in level.stored}
    measured = steps(stored) if steps is not None and stored else {}
    pyramids = {}
    for group, levels in found.items():
        layout = layouts[group]
        declared = _with_derived_sizes(group, layout, levels)
        levels = {
            asset: _measured(replace(level, declared=declared[asset].resolution), measured)
            for asset, level in levels.items()
        }
        sized = _with_derived_sizes(group, layout, levels)
        ordered = sorted(sized.values(), key=lambda level: level.coarseness)
        missing = tuple(group.child(asset) for asset in layout.items if asset not in levels)
        pyramids[group] = Pyramid(group, tuple(ordered), missing)
    return pyramids


def _levels_of_layout(
    group: Node, layout: Layout, tree: Tree, readings: Mapping[Node, GroupReading]
) -> dict[str, Level]:
    """Return the existing levels of a group's layout, by asset, with the cell sizes that their arrays declare."""
    nodes = {asset: group.child(asset) for asset in layout.items}
    levels, named = dict[str, Level](), {*nodes.values()}
    for asset, node in nodes.items():
        reading = readings.get(group_of_level(node, tree) or node)
        if reading is not None:
            # If the level is a group, its arrays are those of the group, except arrays that are levels themselves.
            is_group = reading.node == node
            arrays = [
                array
                for array in reading.arrays
                if array.node == node or (is_group and array.node not in named)
            ]
            level = Level(node, reading.node, frozenset(array.node.name for array in arrays))
            levels[asset] = _level_of_arrays(level, arrays, reading, tree)
    return levels


def _measured(level: Level, steps: Mapping[Node, float]) -> Level:
    """Return a level with the cell size that the steps of its stored coordinates show, if both are known."""
    if not level.stored:
        return level
    y, x = (abs(steps.get(node, 0.0)) for node in level.stored)
    return replace(level, resolution=(y, x)) if is_size(y) and is_size(x) else level


def _level_of_arrays(
    level: Level, arrays: Iterable[ArrayReading], reading: GroupReading, tree: Tree
) -> Level:
    """Return a level with the grid or cells of its finest array."""
    own = {array.node.name: array for array in reading.arrays if array.is_dimension_coordinate}
    grids = [
        grid
        for array in arrays
        if (grid := _level_of_cells(level, array) or _level_of_grid(level, array, own, tree))
    ]
    known = [grid for grid in grids if grid.resolution or grid.refinement is not None] or grids
    if not known:
        return level
    finest = min(known, key=lambda grid: (grid.coarseness, -math.prod(grid.shape)))
    orders = dict.fromkeys(dims for grid in (finest, *known) for dims in grid.orders)
    names = frozenset(name for grid in known for name in grid.arrays)
    return replace(finest, arrays=names, orders=tuple(orders))


def _level_of_cells(level: Level, array: ArrayReading) -> Level | None:
    """Return the level with the refinement of an array in a discrete global grid system, None without one."""
    for cells in array.interpretation.coordinates:
        name, refinement = map(cells.attributes.get, ("grid_name", "level"))
        if name is None or refinement is None or not cells.source.dims:
            continue
        (axis,) = (array.dims.index(dim) for dim in cells.source.dims)
        chunks = array.template.encoding.get("chunks") or array.shape
        return replace(
            level,
            arrays=frozenset([array.node.name]),
            shape=(array.shape[axis],),
            chunk=(chunks[axis],),
            refinement=refinement,
            relative=LENGTHS[name] ** -refinement if name in LENGTHS else None,
        )
    return None


def _level_of_grid(
    level: Level, array: ArrayReading, own: Mapping[str, ArrayReading], tree: Tree
) -> Level | None:
    """Return the level with the grid and declared cell size of an array, None if it has fewer than two dimensions.

    `own` are the 1-D arrays of its group that have the name of their dimension.
    """
    if len(array.dims) < 2:
        return None
    dims, size, unit = _grid_by_coordinates(array, tree)
    rows, columns = map(array.dims.index, dims)
    shape = array.shape[rows], array.shape[columns]
    if size is None and STAC in array.assumed:
        written = transform_of_stac(array.node, array.document.attributes, shape)
        size = None if written is None else written.cell_size
    chunks = array.template.encoding.get("chunks") or array.shape
    stored, attributes = _stored_along(array, dims, own)
    return replace(
        level,
        arrays=frozenset([array.node.name]),
        shape=shape,
        chunk=(chunks[rows], chunks[columns]),
        dims=dims,
        orders=(array.dims,),
        stored=stored,
        resolution=size if size is not None and all(map(is_size, size)) else None,
        unit=_unit(str(attributes.get("units", "")) or unit, array),
    )


def _stored_along(
    array: ArrayReading, dims: tuple[str, str], own: Mapping[str, ArrayReading]
) -> tuple[tuple[()] | tuple[Node, Node], Mapping[str, Any]]:
    """Return the stored 1-D coordinates along two dimensions of an array, and the attributes of the second one.

    Nothing unless both exist. Arrays of the group (`own`) take the place of declared coordinates.
    """
    along: dict[str, tuple[Node | None, Mapping[str, Any]]] = {}
    coordinates = (*array.interpretation.coordinates, *array.inherited.coordinates)
    # The coordinate with the name of a dimension is the one of its cells, whatever else lies along it.
    for coordinate in sorted(coordinates, key=lambda one: not one.is_dimension_coordinate):
        source = coordinate.source
        if len(source.dims) == 1:
            node = source.node if isinstance(source, Stored) and len(source.along) == 1 else None
            along.setdefault(source.dims[0], (node, coordinate.attributes))
    for dim in dims:
        if dim in own and own[dim].shape == (array.sizes[dim],):
            along[dim] = own[dim].node, own[dim].document.attributes
    (y, _attributes), (x, attributes) = (along.get(dim, (None, {})) for dim in dims)
    return ((), {}) if y is None or x is None else ((y, x), attributes)


def _unit(unit: str, array: ArrayReading) -> str:
    """Return the unit of cell sizes: that of coordinates or, if they have none, that of the array's CRS."""
    crs = array.interpretation.crs
    if not unit and crs is not None:
        unit = crs.axis_attributes().get("X", {}).get("units", "")
    return horizontal_unit(unit)


def _grid_by_coordinates(
    array: ArrayReading, tree: Tree
) -> tuple[tuple[str, str], Pair | None, str]:
    """Return an array's dimensions along Y and X, its cell size and the unit of that, by its coordinates.

    If no coordinates lie along Y and X, metadata and names show the dimensions. The size is the step of coordinates
    computed from a transform, or None, because values are not read.
    """
    rotated, along = {}, {}
    for coordinate in array.interpretation.coordinates:
        source = coordinate.source
        function = source.function if isinstance(source, Computed) else None
        if isinstance(function, RotatedCentres):
            rotated[coordinate.name] = source.dims, function
        elif len(source.dims) == 1 and source.dims[0] in array.dims:
            step = function.step if isinstance(function, Regular) else None
            unit = str(coordinate.attributes.get("units", ""))
            along[axis_by_attributes(coordinate.attributes)] = source.dims[0], step, unit
    if "xc" in rotated and "yc" in rotated:
        # The edges of a cell, from row to row and from column to column, have components along X and Y.
        (dims, x), (_dims, y) = rotated["xc"], rotated["yc"]
        size = math.hypot(x.row, y.row), math.hypot(x.column, y.column)
        return (dims[0], dims[-1]), size, ""
    if not {"X", "Y"} <= along.keys() or along["X"][0] == along["Y"][0]:
        view = NodeView(array.node, array.document, tree, array.dims)
        return rows_and_columns(view) or (array.dims[-2], array.dims[-1]), None, ""
    (y_dim, row, _unit), (x_dim, column, unit) = along["Y"], along["X"]
    if row is None or column is None:
        return (y_dim, x_dim), None, ""
    return (y_dim, x_dim), (math.hypot(row), math.hypot(column)), unit


def _with_derived_sizes(
    group: Node, layout: Layout, levels: Mapping[str, Level]
) -> dict[str, Level]:
    """Return levels with missing cell sizes computed from the scales that derive them from other levels.

    They are computed in topological order. A missing level between two existing ones has the axes of any existing level.
    """
    any_grid = next((level for level in levels.values() if level.dims), Level(group, group))
    measured = {**dict.fromkeys(layout.items, Level(group, group)), **levels}
    derived = _unsized_by_source(group, layout, measured)
    sources = [asset for asset, level in measured.items() if level.resolution]
    for source in sources:  # grows by each level whose size becomes known
        for asset in derived.pop(source, ()):
            level, relation = measured[asset], layout.items[asset].transform
            axes = level if level.dims else any_grid
            size = relation and _derived_size(group, relation, axes, level, measured[source])
            if size:
                measured[asset] = replace(level, resolution=size, unit=measured[source].unit)
                sources.append(asset)
    # A level without a grid has no cell size.
    return {asset: measured[asset] if level.dims else level for asset, level in levels.items()}


def _unsized_by_source(
    group: Node, layout: Layout, levels: Mapping[str, Level]
) -> dict[str | None, list[str]]:
    """Return the assets without a cell size by the asset that they are derived from, or by the layout's base."""
    unsized = defaultdict[str | None, list[str]](list)
    for asset, item in layout.items.items():
        if levels[asset].resolution is None and item.wrong_with("derived_from") is None:
            source = layout.source_of(item, group) if item.is_derived else layout.base
            unsized[source].append(asset)
    return unsized


def _derived_size(
    group: Node, relation: Relation, axes: Level, level: Level, source: Level
) -> Pair | None:
    """Return the cell size of a level by its scale from a source of known size, None if that cannot be used."""
    if relation.scale is None or not axes.dims or source.resolution is None:
        return None
    sizes, whole = (grid.shape if grid.dims else () for grid in (level, source))
    with suppress(XGroupMetadataError):  # reported when the level is opened
        scale, _shift = relation.scale_and_shift(group, axes.dims, axes.orders, sizes, whole)
        y, x = (abs(length * n) for length, n in zip(source.resolution, scale, strict=True))
        return (y, x) if is_size(y) and is_size(x) else None
    return None


def choices_in_tree(
    top: Node,
    readings: Iterable[GroupReading],
    tree: Tree,
    assumed: Collection[str],
    resolution: Pair,
    steps: Steps,
) -> tuple[list[Node], list[Finding]]:
    """Choose one level of each layout in a tree; return the groups and arrays of the other levels, and findings.

    If no level of a layout can be chosen, all are kept, and a finding gives the reason. Raises XGroupGroupError if no
    level of any layout can be chosen.
    """
    known = {reading.node: reading for reading in readings}
    others: list[Node] = []
    findings: list[Finding] = []
    errors, is_chosen = [], False
    pyramids = pyramids_of(known, known, tree, assumed, steps)
    for node in known:
        layout = layout_at(node, tree, assumed)
        if layout is None:
            continue
        try:
            if node not in pyramids:
                raise no_pyramid(node, layout, tree)
            _level, others_here, remarks = pyramids[node].choice(resolution)
            others += others_here
            findings += remarks
            is_chosen = True
        except XGroupGroupError as error:
            errors.append(error)
            findings.append(new_finding(Topic.CHOICE, node, str(error)))
    if not is_chosen:
        raise errors[0] if errors else no_pyramid(top, None, tree)
    return others, findings


def no_pyramid(group: Node, layout: Layout | None, tree: Tree) -> XGroupGroupError:
    """Return the error for a group that is not a pyramid. It lists pyramids near the group, or its groups."""
    if layout is not None:
        message = _("Group {group}: none of the levels in its layout exists: {levels}")
        levels = listed([str(group.child(asset)) for asset in layout.items])
        return XGroupGroupError(message.format(group=group, levels=levels))
    children = list(map(group.child, tree.groups(group)))
    pyramids = [node for node in (*group.ancestors(), *children) if layout_at(node, tree)]
    message = _("Group {group} is not a pyramid, because it has no multiscales layout")
    if near := pyramids or children:
        message = _(
            "Group {group} is not a pyramid, because it has no multiscales layout; open one of "
            "{groups} with group="
        )
    return XGroupGroupError(message.format(group=group, groups=listed(list(map(str, near)))))
