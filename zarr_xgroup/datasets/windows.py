"""The part of grids that lies in a bounding box, selected by index.

Cells count that the box has a part of. Coordinates that follow from numbers are asked for a few of them,
those of the group's own arrays are there already where xarray has made indexes of them.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from itertools import product
from numbers import Real
from operator import attrgetter
from typing import Any

import numpy as np
import xarray as xr
from affine import Affine

from zarr_xgroup.conventions.axes import axis_by_attributes, axis_by_name
from zarr_xgroup.conventions.spatial_model import CENTRES
from zarr_xgroup.conventions.transforms import (
    ROUNDED,
    Transform,
    composed,
    extent_of,
    horizontal_unit,
    transform_of_gdal,
)
from zarr_xgroup.datasets.plan import GroupPlan, PlannedVariable
from zarr_xgroup.errors import XGroupError
from zarr_xgroup.i18n import _, listed
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.redaction import presentable
from zarr_xgroup.variables.functions import Regular, RotatedCentres
from zarr_xgroup.variables.sources import Computed

#: Left, bottom, right, top.
Box = tuple[float, float, float, float]

_GEOTRANSFORM = "GeoTransform"


def box_of(given: Any) -> Box | None:
    """Return the option `bbox`, or raise ValueError if it is no box."""
    if given is None:
        return None
    numbers = list(given) if isinstance(given, tuple | list | np.ndarray) else []
    if len(numbers) != 4 or not all(isinstance(it, Real) and math.isfinite(it) for it in numbers):
        message = _("bbox must be four numbers (minx, miny, maxx, maxy), got {value!r}")
        raise ValueError(message.format(value=given))
    left, bottom, right, top = map(float, numbers)
    if left > right or bottom > top:
        message = _(
            "bbox must be (minx, miny, maxx, maxy) with minx <= maxx and miny <= maxy, got {value!r}; "
            "a box across the antimeridian has to be opened in two parts"
        )
        raise ValueError(message.format(value=given))
    return left, bottom, right, top


@dataclass(frozen=True)
class Axis:
    """A dimension along which cells follow one another in one direction.

    Attributes
    ----------
    dim : str
        The dimension.
    size : int
        How many cells there are.
    edge : callable
        Returns the coordinate of an edge: that of number i is where cell i begins.
    unit : str
        The unit of coordinates, "" if it is not known.
    """

    dim: str
    size: int
    edge: Callable[[int], float]
    unit: str

    @property
    def ends(self) -> tuple[float, float]:
        """The outer edges, the lower one first."""
        first, last = sorted((self.edge(0), self.edge(self.size)))
        return first, last

    def part(self, low: float, high: float) -> slice | None:
        """Return the cells that have a part between two coordinates, None if there are none."""
        if self.edge(0) > self.edge(self.size):
            low, high, sign = -high, -low, -1.0
        else:
            sign = 1.0
        cells = range(self.size)
        start = bisect_right(cells, low, key=lambda it: sign * self._within(it + 1, it))
        stop = bisect_left(cells, high, key=lambda it: sign * self._within(it, it + 1))
        return slice(start, max(stop, start + 1)) if start < self.size and stop > 0 else None

    def _within(self, edge: int, other: int) -> float:
        """Return a coordinate that is in a cell and at one of its edges but for rounding."""
        return self.edge(edge) * (1 - ROUNDED) + self.edge(other) * ROUNDED


@dataclass(frozen=True)
class Part:
    """The cells along a dimension that are selected.

    Attributes
    ----------
    size : int
        How many there were.
    cells : slice
        Which of them.
    is_along_y : bool
        Whether the dimension is along Y, else it is along X.
    begin, step : float
        Where the first one begins, and how long it is, along an axis of the CRS.
    """

    size: int
    cells: slice
    is_along_y: bool
    begin: float = math.nan
    step: float = math.nan


#: By dimension.
Parts = dict[str, Part]


class Windows:
    """Selects the part of groups that lies in a box.

    Parameters
    ----------
    box : Box
        The box, in the unit of the CRS.
    plans : iterable of GroupPlan
        The groups.

    Raises
    ------
    ValueError
        If grids are in several CRSs.
    """

    def __init__(self, box: Box, plans: Iterable[GroupPlan]) -> None:
        self._box = box
        arrays = [it for plan in plans for it in plan.reading.arrays]
        grids = [(it.node, crs) for it in arrays if (crs := it.interpretation.crs)]
        self._with_crs = {node.group for node, _crs in grids}
        self._parts: dict[Node, Parts] = {}
        systems: dict[str, str] = {}
        for node, crs in grids:
            text = "" if crs.is_same(grids[0][1]) else crs.text
            systems.setdefault(text, f"{crs.code or crs.title} ({node})")
        if len(systems) > 1:
            message = _(
                "bbox is in the unit of one CRS, but there are several: {systems}; open one group by "
                "group="
            )
            text = message.format(systems=listed(systems.values()))
            raise ValueError(presentable(text))

    def select(self, plan: GroupPlan, dataset: xr.Dataset, *, is_tree: bool) -> xr.Dataset:
        """Return what of a group's Dataset is in the box; all of it if it has no grid.

        Raises
        ------
        ValueError
            If its grid is elsewhere.
        """
        is_meant = plan.node in self._with_crs or not self._with_crs
        parts = dict(_parts_of_grids(self._box, plan, dataset)) if is_meant else {}
        if is_tree:
            parts = {**self._inherited(plan.node, dataset), **parts}
        self._parts[plan.node] = parts
        return _cut(dataset, parts) if parts else dataset

    def check(self, plan: GroupPlan, dataset: xr.Dataset) -> None:
        """Raise ValueError if no group had a grid, given one of them."""
        if any(self._parts.values()):
            return
        flat = [str(name) for name, it in dataset.coords.items() if it.ndim == 2]
        message = _(
            "bbox cannot be selected of group {group}: it has no 1-D coordinates along X and Y that "
            "run in one direction, nor a transform{others}"
        )
        others = _("; select by the values of its 2-D coordinates {names}") if flat else ""
        others = others.format(names=", ".join(flat))
        raise ValueError(presentable(message.format(group=plan.node, others=others)))

    def _inherited(self, group: Node, dataset: xr.Dataset) -> Parts:
        """Return the parts of dimensions that a group has the coordinates of from groups above."""
        found: Parts = {}
        for node in group.ancestors():
            for dim, part in self._parts.get(node, {}).items():
                if dataset.sizes.get(dim) == part.size and dim not in dataset.coords:
                    found.setdefault(dim, part)
        return found


# Grids.


def _parts_of_grids(box: Box, plan: GroupPlan, dataset: xr.Dataset) -> Iterator[tuple[str, Part]]:
    """Yield the part of each dimension of all 1-D coordinates along Y and X, and of rotated grids.

    Raises
    ------
    ValueError
        If a grid is elsewhere.
    """
    axes: dict[str, dict[str, Axis]] = {"Y": {}, "X": {}}
    turned: dict[tuple[str, ...], list[Computed]] = {}
    for planned in plan.variables:
        source, name = planned.source, planned.name
        if isinstance(source, Computed) and isinstance(source.function, RotatedCentres):
            turned.setdefault(planned.dims, []).append(source)
        elif name in dataset.coords and (axis := _axis_of(planned, dataset.variables[name])):
            axes[axis].setdefault(planned.dims[0], _axis(planned, dataset.variables[name]))
    if all(axes.values()):
        yield from _along_axes(box, plan, *(list(it.values()) for it in axes.values()))
    for dims, found in turned.items():
        # Where the group has one of the two itself, it is not said how the grid is turned.
        if len(found) > 1 and dataset.sizes.keys() >= set(dims):
            yield from _around(box, plan, dims, found[0].shape, _affine_of(*found[:2]))


def _along_axes(
    box: Box, plan: GroupPlan, along_y: list[Axis], along_x: list[Axis]
) -> Iterator[tuple[str, Part]]:
    """Yield the part of each dimension of a grid along the axes of its CRS."""
    (left, right), (bottom, top) = along_x[0].ends, along_y[0].ends
    for axis in (*along_y, *along_x):
        is_y = axis in along_y
        cells = axis.part(*box[is_y::2])
        if cells is None:
            raise _outside(box, plan, [left, bottom, right, top])
        begin, end = axis.edge(cells.start), axis.edge(cells.start + 1)
        yield axis.dim, Part(axis.size, cells, is_y, begin, end - begin)
    for axis in along_x:
        _check_turn(axis, box, plan)


def _check_turn(axis: Axis, box: Box, plan: GroupPlan) -> None:
    """Raise ValueError if the rest of a box is at the other end of a grid around the Earth."""
    if axis.unit != "degree":
        return
    left, right = axis.ends
    rest = [(box[0] + 360, left + 360), (right - 360, box[2] - 360)]
    if any(max(low, left) < min(high, right) - ROUNDED for low, high in rest):
        message = _(
            "bbox {box} goes over the edge of group {group}, whose longitudes are from {left} to "
            "{right}: what is beyond is at its other end. Open it in two parts"
        )
        text = message.format(box=box, group=plan.node, left=left, right=right)
        raise ValueError(presentable(text))


def _around(
    box: Box, plan: GroupPlan, dims: tuple[str, ...], sizes: Sequence[int], affine: Affine
) -> Iterator[tuple[str, Part]]:
    """Yield the rows and columns of a rotated grid around the box."""
    extent = extent_of(Transform(affine, CENTRES["pixel"]), (sizes[0], sizes[1]))
    is_near = all(max(box[i], extent[i]) < min(box[i + 2], extent[i + 2]) for i in (0, 1))
    corners = product(box[::2], box[1::2])
    places = [composed(~affine, Affine.translation(x, y)) for x, y in corners]
    ends = [it.f for it in places], [it.c for it in places]
    for dim, size, along in zip(dims, sizes, ends, strict=True):
        start = max(math.floor(min(along) + ROUNDED), 0)
        stop = min(math.ceil(max(along) - ROUNDED), size)
        if start >= size or stop <= 0 or not is_near:
            raise _outside(box, plan, extent)
        yield dim, Part(size, slice(start, max(stop, start + 1)), dim == dims[0])


def _affine_of(*sources: Computed) -> Affine:
    """Return the transform from the outer corner of the first cell by which X and Y are computed."""
    terms = (astuple(source.function) for source in sources)
    return Affine(
        *(
            number
            for column, row, origin, offset in terms
            for number in (column, row, origin + (offset - CENTRES["pixel"]) * (column + row))
        )
    )


def _outside(box: Box, plan: GroupPlan, extent: list[float]) -> ValueError:
    message = _("bbox {box} is outside of the grid of group {group}, which spans {extent}")
    return ValueError(presentable(message.format(box=box, group=plan.node, extent=tuple(extent))))


def _axis_of(planned: PlannedVariable, variable: xr.Variable) -> str | None:
    """Return along which axis a variable has the coordinates of a dimension, None if it has not."""
    is_computed = isinstance(planned.source, Computed)
    if variable.ndim != 1 or not (is_computed or variable.dims == (planned.name,)):
        return None
    if variable.dtype.kind not in "iuf":
        return None
    return axis_by_attributes(variable.attrs) or axis_by_name(planned.name)


def _axis(planned: PlannedVariable, variable: xr.Variable) -> Axis:
    unit = horizontal_unit(str(variable.attrs.get("units", "")))
    function = planned.source.function if isinstance(planned.source, Computed) else None
    if isinstance(function, Regular):
        return Axis(planned.dims[0], variable.size, lambda it: float(function(it - 0.5)), unit)
    return Axis(planned.dims[0], variable.size, _edges_of(variable).item, unit)


def _edges_of(variable: xr.Variable) -> np.ndarray[Any, Any]:
    """Return the edges of cells half way between their centres; those at the ends are as long.

    Raises
    ------
    ValueError
        If centres do not follow one another in one direction.
    """
    centres = np.asarray(variable.values, dtype="float64")
    steps = np.diff(centres)
    if not (np.all(steps > 0) or np.all(steps < 0)):
        message = _("bbox cannot be selected: coordinates along {name} do not run in one direction")
        raise ValueError(presentable(message.format(name=variable.dims[0])))
    if not len(steps):
        return np.repeat(centres, 2) if len(centres) else np.zeros(1)
    first, last = centres[0] - steps[0] / 2, centres[-1] + steps[-1] / 2
    return np.concatenate([[first], centres[:-1] + steps / 2, [last]])


# What is cut.


def _cut(dataset: xr.Dataset, parts: Parts) -> xr.Dataset:
    """Return parts of a Dataset, with what is said elsewhere of where they begin."""
    cut = dataset.isel({dim: part.cells for dim, part in parts.items()})
    for name, variable in cut.variables.items():
        chunks = dataset.variables[name].encoding.get("preferred_chunks")
        if isinstance(chunks, Mapping):
            variable.encoding["preferred_chunks"] = {
                dim: _chunks_within(length, parts[dim].cells) if dim in parts else length
                for dim, length in chunks.items()
            }
    for name, grids in _by_mapping(cut, parts).items():
        if len(grids) == 1:
            _place(cut.variables[name].attrs, *grids[0])
        else:  # it could be that of one of them only, and coordinates say where all are
            cut.variables[name].attrs.pop(_GEOTRANSFORM, None)
    return cut


def _by_mapping(dataset: xr.Dataset, parts: Parts) -> dict[str, list[list[Part]]]:
    """Return the parts along Y and X of all grids, by the variables that stand for their CRS."""
    found: dict[str, list[list[Part]]] = {}
    for variable in dataset.variables.values():
        named = variable.attrs.get("grid_mapping") or variable.encoding.get("grid_mapping")
        both = (parts[str(dim)] for dim in variable.dims if dim in parts)
        pair = sorted(both, key=attrgetter("is_along_y"), reverse=True)
        if len(pair) == 2 and isinstance(named, str) and named in dataset.variables:
            grids = found.setdefault(named, [])
            grids += [] if pair in grids else [pair]
    return found


def _chunks_within(length: Any, part: slice) -> Any:
    """Return how long chunks are in a part of a dimension: the first one is cut, too."""
    if not isinstance(length, int) or part.start % length == 0:
        return length
    first = min(length - part.start % length, part.stop - part.start)
    whole, last = divmod(part.stop - part.start - first, length)
    return (first, *[length] * whole, *[last] * bool(last))


def _place(attributes: dict[Any, Any], y: Part, x: Part) -> None:
    """Have the transform in a grid mapping variable begin at another cell, lest it be of all.

    Where a single cell is left, whose coordinate does not say how long it is, there has to be one.
    """
    if _GEOTRANSFORM in attributes:
        try:
            place = Fragment(Node(0, ""), (_GEOTRANSFORM,), attributes[_GEOTRANSFORM])
            whole = transform_of_gdal(place)
        except XGroupError:
            return  # others cannot read it either
        begin = Affine(1.0, 0.0, x.cells.start, 0.0, 1.0, y.cells.start)
        affine = composed(whole.affine, begin)
    elif 1 in (y.cells.stop - y.cells.start, x.cells.stop - x.cells.start):
        affine = Affine(x.step, 0.0, x.begin, 0.0, y.step, y.begin)
    else:
        return
    attributes[_GEOTRANSFORM] = Transform(affine, CENTRES["pixel"]).geotransform
