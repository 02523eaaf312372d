"""Rules about declared grids: their transforms and cell sizes, and the stored coordinates of the same dimensions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

import numpy as np

from zarr_xgroup.conventions.array import NodeView, coordinate_variable
from zarr_xgroup.conventions.dialects.stac import OF_ARRAY, StacProjHandler
from zarr_xgroup.conventions.multiscales import ATTRIBUTE, TRANSFORM
from zarr_xgroup.conventions.spatial import NUMBERS, SpatialHandler
from zarr_xgroup.conventions.written_grids import WrittenGrid
from zarr_xgroup.datasets.pyramids import Pyramid
from zarr_xgroup.errors import Rule
from zarr_xgroup.findings import Finding, new_finding
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.metadata.paths import is_below
from zarr_xgroup.report.rules.checked import CheckedStore

#: By how much integers are rounded, in their unit; and by how many units in the last place floats are.
_INTEGERS, _LAST_PLACES = 0.5, 4


def check_positions(
    checked: CheckedStore, ends: Callable[[Iterable[Node]], Mapping[Node, tuple[float, float]]]
) -> Iterator[Finding]:
    """Yield transforms that differ from the stored coordinates of their dimensions.

    `ends` returns the first and last values of arrays of numbers.
    """
    grids: dict[tuple[object, ...], tuple[Rule, WrittenGrid, dict[str, NodeView]]] = {}
    for array in checked.nodes():
        for rule, grid in _grids_of(array):
            axes = _axes(array, grid)
            if axes is not None:
                nodes = tuple(axis.node for axis in axes.values())
                grids.setdefault((grid.place.node, grid.place.keys, nodes), (rule, grid, axes))
    known = ends({axis.node for _rule, _grid, axes in grids.values() for axis in axes.values()})
    for rule, grid, axes in grids.values():
        values = {dim: known[axis.node] for dim, axis in axes.items() if axis.node in known}
        if len(values) == 2 and all(map(_is_written, values.values())):
            rounding = {dim: _rounding(axes[dim], values[dim]) for dim in values}
            finding = grid.finding_of_coordinates(values, rounding, rule)
            if finding is not None:
                yield finding


def check_cell_sizes(
    pyramids: Iterable[Pyramid], reported: Collection[Finding]
) -> Iterator[Finding]:
    """Yield layouts that declare other cell sizes than stored coordinates have.

    `reported` are findings about transforms. If one is about a pyramid, all its cell sizes may follow from that transform.
    """
    for pyramid in pyramids:
        paths = (finding.place.node.strip("/") for finding in reported)
        text = pyramid.wrong_declarations()
        if text and not any(is_below(path, pyramid.group.path) for path in paths):
            place = Fragment(pyramid.group, ("attributes", ATTRIBUTE.key), None)
            remedy = 'correct each "transform" of the layout, or leave it out'
            yield new_finding(TRANSFORM, place, text, remedy, severity="warning")


def _is_written(ends: tuple[float, float]) -> bool:
    """Return whether values are written: chunks that were not written have the same value everywhere."""
    return bool(np.isfinite(ends).all()) and ends[0] != ends[1]


def _grids_of(array: NodeView) -> Iterator[tuple[Rule, WrittenGrid]]:
    """Yield the transforms in the metadata that apply to an array, each with the rule about it."""
    for rule, convention in ((NUMBERS, SpatialHandler), (OF_ARRAY, StacProjHandler)):
        grid = convention.written_grid(array) if array.is_array else None
        if grid is not None:
            yield rule, grid


def _axes(array: NodeView, grid: WrittenGrid) -> dict[str, NodeView] | None:
    """Return the coordinate variables of the dimensions of a grid in the array's group, None unless both exist."""
    along = (dim for dim in grid.dims if coordinate_variable(array, dim) is not None)
    axes = {dim: array.at(array.node.group.child(dim)) for dim in along}
    known = {dim: axis for dim, axis in axes.items() if axis is not None}
    return known if len(known) == 2 else None


def _rounding(axis: NodeView, ends: tuple[float, float]) -> float:
    """Return by how much the type of a stored coordinate rounds its values."""
    dtype = str(axis.document.get("data_type", axis.document.get("dtype", "")))
    if "scale_factor" in axis.attributes:
        factor = axis.attributes["scale_factor"]
        return abs(float(factor)) if isinstance(factor, int | float) else 0.0
    if dtype in ("float32", "<f4", ">f4"):
        return _LAST_PLACES * float(np.spacing(np.float32(max(map(abs, ends)))))
    return 0.0 if dtype in ("float64", "<f8", ">f8") else _INTEGERS
