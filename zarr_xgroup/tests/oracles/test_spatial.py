"""Random grids and pyramids of `spatial`, `multiscales` and `proj`: coordinates agree with an oracle."""

import math
from fractions import Fraction
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt
import pyproj
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from zarr_xgroup.tests.builders import (
    Array,
    Json,
    ZarrFormat,
    build,
    declaring,
    memory_store,
    quietly,
)
from zarr_xgroup.tests.oracles.spatial import Grid, Spatial
from zarr_xgroup.tests.oracles.stores import arrays_in, name_of
from zarr_xgroup.tests.strategies import Drawing, numbered, thorough

if HAS_RIOXARRAY := find_spec("rioxarray") is not None:
    import rioxarray  # noqa: F401

#: What X and Y of a CRS carry.
CODES = {
    "EPSG:32632": [("projection_x_coordinate", "m"), ("projection_y_coordinate", "m")],
    "EPSG:4326": [("longitude", "degrees_east"), ("latitude", "degrees_north")],
}

_steps = st.sampled_from([10, 0.1, 0.25, 20.0, 1 / 3, -7.5, 0.0083333333333])
_corners = st.sampled_from([0, 600000, 399960.0, -180.0, 5100020.0, 0.1, -13.7])
_scales: st.SearchStrategy[list[Any]] = st.sampled_from(
    [[2, 2], [1, 1], [2, 4], [3.0, 2.0], [2.5, 2]]
)


class _Pyramid(Drawing):
    """One random store in the making: arrays on one grid, or levels of several."""

    def __init__(self, draw: st.DrawFn) -> None:
        super().__init__(draw)
        self.layout = self.any("", "p", "p/q")
        self.y, self.x = self.any(
            ("y", "x"), ("y", "x"), ("Lat", "Lon"), ("row", "column"), ("v", "u")
        )
        orders = [("y", "x"), ("x", "y"), ("band", "y", "x"), ("y", "band", "x"), ("x", "y", "b")]
        self.order = self.any(orders[0], *orders)
        self.nodes: dict[str, Any] = {"": {}}
        for part in ("p", "p/q"):
            if f"{self.layout}/".startswith(f"{part}/"):
                self.nodes[part] = {}
        self.size = self._draw(st.integers(2, 9)), self._draw(st.integers(2, 9))
        self.items: list[Json] = []
        self.turns = [(0, 0), (0, 0), (0, 0), (2.5, 0.5), (0, 1)]
        self.may_contradict = False

    def below(self, name: str) -> str:
        return f"{self.layout}/{name}".lstrip("/")

    def add(self, path: str, size: tuple[int, int], **attributes: Any) -> None:
        lengths = {"y": size[0], "x": size[1], "band": 2, "b": 1}
        names = [{"y": self.y, "x": self.x}.get(it, it) for it in self.order]
        shape = tuple(lengths[it] for it in self.order)
        self.nodes[path] = Array(numbered(shape), names, attributes)

    def transform(self) -> list[Any]:
        a, e = self._draw(_steps), -self._draw(_steps)
        b, d = self.any(*self.turns)
        return [a, b, self._draw(_corners), d, e, self._draw(_corners)]

    def names(self) -> list[str]:
        """Return the names of the dimensions, sometimes with X first."""
        names: list[str] = self.any([self.y, self.x], [self.y, self.x], [self.x, self.y])
        return names

    def where(self) -> Json:
        """Return what says where the cells of the first level are."""
        if self.chance():
            return {"spatial:transform": self.transform()}
        left, bottom = self._draw(_corners), self._draw(_corners)
        step = abs(self._draw(_steps))
        box = [left, bottom, left + step * self.size[1], bottom + step * self.size[0]]
        return {"spatial:bbox": box}

    def put(self, path: str, attributes: Json) -> None:
        """Add attributes to a node, which keeps what it has."""
        node = self.nodes[path]
        if isinstance(node, Array):
            self.nodes[path] = Array(node.values, node.dims, {**attributes, **node.attrs})
        else:
            node |= {**attributes, **node}

    def grid(self) -> None:
        """Describe arrays of a group: on each, on the group, or one by one on either."""
        self.add(self.below("a"), self.size)
        self.add(self.below("c"), self.size)
        whole = {**self.where(), "spatial:dimensions": self.names()}
        if self.chance():
            whole["spatial:registration"] = self.any("pixel", "node")
        if self.chance():
            whole["spatial:shape"] = list(self.size)
        on_arrays = {key: value for key, value in whole.items() if self.chance()}
        for path in (self.below("a"), self.below("c")):
            self.put(path, on_arrays)
        others = {key: value for key, value in whole.items() if key not in on_arrays}
        if self.chance() and "spatial:transform" in on_arrays:
            others["spatial:transform"] = self.transform()  # the arrays' own goes before it
        self.put(self.layout, others)
        told: list[Json] = [{}, {"standard_name": "latitude"}, {"units": "degrees_east"}]
        told += [{"axis": "X"}, {"axis": "X", "standard_name": "latitude"}]
        for name, length in ((self.y, self.size[0]), (self.x, self.size[1])):
            if self.chance():
                attributes = self.any(*told)
                self.nodes[self.below(name)] = Array(
                    np.linspace(3.0, 4.0, length), (name,), attributes
                )

    def pyramid(self) -> None:
        kind = self.any("groups", "groups", "arrays", "root is a level")
        if kind == "arrays":  # of one group: the coordinates of some would be all arrays'
            self.turns = [(0, 0)]
        self.may_contradict = kind != "arrays"
        bands = ["a"] if kind == "arrays" or self.chance() else ["a", "c"]
        size, number = self.size, self._draw(st.integers(2, 4))
        self.put(self.layout, {"spatial:dimensions": self.names()})
        for level in range(number):
            asset = "." if kind == "root is a level" and not level else f"l{level}"
            item: Json = {"asset": asset}
            if level:
                source = self.any(level - 1, 0)
                size = self.derive(item, source, size if source == level - 1 else self.size)
            if self.chance():
                item["spatial:shape"] = list(size)
            self.items.append(item)
            group = self.layout if asset == "." else self.below(asset)
            paths = [group] if kind == "arrays" else [f"{group}/{it}".lstrip("/") for it in bands]
            if kind != "arrays":
                self.nodes.setdefault(group, {})
            for path in paths:
                self.add(path, size)
            if level == 0:
                self.first(item, group, paths)
            elif self.any(False, False, False, True):
                declared = {"spatial:transform": self.transform()}
                if len(paths) == 1 and self.chance():
                    self.put(paths[0], declared)
                else:
                    item |= declared
        self.put(self.layout, {"multiscales": {"layout": self.items}})

    def derive(self, item: Json, source: int, size: tuple[int, int]) -> tuple[int, int]:
        """Say how a level follows from one of a size, and return its own size."""
        scale = self._draw(_scales)
        in_box = "spatial:bbox" in self.nodes[self.layout]
        offset = [0, 0] if in_box else self.any([0, 0], [0, 0], [1, 0.5], [-1, 2])
        relation = {"scale": self.ordered(scale, 1)}
        if any(offset) or self.chance():
            relation["translation"] = self.ordered(offset, 0)
        item["derived_from"] = self.items[source]["asset"]
        item["transform"] = relation
        height, width = (max(1, math.ceil(n / s)) for n, s in zip(size, scale, strict=True))
        if self.may_contradict and self.any(False, False, False, True):
            width = self.any(width + 1, 2 * width, 3 * width, (width + 1) // 2)
        return height, width

    def ordered(self, numbers: list[Any], other: int) -> list[Any]:
        """Return numbers for rows and columns in the order of the axes, maybe for each axis."""
        by_name = {"y": numbers[0], "x": numbers[1]}
        every = len(self.order) > 2 and self.chance()
        return [by_name.get(it, other) for it in self.order if every or it in by_name]

    def first(self, item: Json, group: str, paths: list[str]) -> None:
        """Say where the first level is: on one of the places that count for it."""
        where = self.where()
        if self.chance():
            where["spatial:registration"] = self.any("pixel", "node")
        place = self.any("array", "group", "item", "layout")
        if place == "array":
            for path in paths:
                self.put(path, where)
        elif place == "item":
            item |= where
        elif place == "group":
            self.put(paths[0] if group in paths else group, where)
        else:
            if "spatial:transform" in where and item["asset"] != ".":
                item["transform"] = {"scale": [1] * 2, "translation": [0, 0]}
            self.put(self.layout, where)
        if place in ("array", "item") and self.chance():
            decoy = {"spatial:transform": self.transform(), "spatial:shape": [100, 100]}
            self.put(self.layout, decoy)

    def systems(self) -> None:
        """Say the CRS, at one place or at several that differ."""
        paths = [it for it in self.nodes if f"{it}/".startswith(f"{self.layout}/".lstrip("/"))]
        for path in paths:
            is_array = isinstance(self.nodes[path], Array)
            often = (False,) * (6 if is_array else 1)
            if self.any(True, *often):
                self.put(path, {"proj:code": self.any(*CODES)})


@st.composite
def grids(draw: st.DrawFn, *, levels: bool) -> dict[str, Any]:
    """Return stores whose arrays lie on grids, described anywhere that the texts allow."""
    builder = _Pyramid(draw)
    if levels:
        builder.pyramid()
    else:
        builder.grid()
    builder.systems()
    conventions = ["spatial", "proj", *(["multiscales"] if levels else [])]
    builder.nodes[builder.any("", builder.layout)] |= declaring(*conventions)
    return builder.nodes


# Comparing.


def assert_lies(array: xr.DataArray, oracle: Spatial, path: str) -> None:
    """Assert that an array that was opened has the coordinates of its grid."""
    grid, axes = oracle.grid(path), oracle.axes(path)
    assert axes is not None
    along = [str(array.dims[axis]) for axis in axes]
    own = [oracle.own(path, axis) for axis in axes]
    for dim, stored in zip(along, own, strict=True):
        if stored is not None:
            np.testing.assert_array_equal(array[dim].values, stored)
    if grid is None:
        assert {dim for dim, it in zip(along, own, strict=True) if it is None}.isdisjoint(
            array.coords
        )
        return
    shape = tuple(array.sizes[dim] for dim in along)
    if grid.is_rotated:
        if all(it is None for it in own):
            assert set(along).isdisjoint(array.coords)
            assert_rotated(array, along, grid, shape)
        return
    for position, dim in enumerate(along):
        if own[position] is None:
            which = 1 - position  # x is the first of a pair, and the second of the axes
            exact = [grid.cell(index, index)[which] for index in range(shape[position])]
            assert array[dim].dtype == np.float64
            assert_exact(array[dim].values, exact, grid)
            assert_described(array[dim], which, oracle.code(path))


def assert_rotated(array: xr.DataArray, along: list[str], grid: Grid, shape: Any) -> None:
    for which, letter in enumerate(("xc", "yc")):
        exact = [grid.cell(*index)[which] for index in np.ndindex(shape)]
        named = [it for name, it in array.coords.items() if letter in str(name)]
        # Another array along the same dimensions may have one that says another CRS.
        found = [it for it in named if it.dims == tuple(along)]
        for coordinate in found:
            assert_exact(coordinate.values.ravel(), exact, grid)
        assert found


def assert_exact(values: npt.NDArray[Any], exact: list[Fraction], grid: Grid) -> None:
    """Assert that numbers are what they should be, but for the rounding of each operation."""
    largest = max(map(abs, [*exact, grid.numbers[2], grid.numbers[5]]))
    for value, number in zip(values.tolist(), exact, strict=True):
        assert abs(Fraction(value) - number) <= largest * 8 * Fraction(np.finfo("f8").eps)


def assert_described(coordinate: xr.DataArray, which: int, code: str | None) -> None:
    assert coordinate.attrs["axis"] == "XY"[which]
    if code is not None:
        named = coordinate.attrs["standard_name"], coordinate.attrs["units"]
        assert named == CODES[code][which]


def assert_on_the_map(array: xr.DataArray, oracle: Spatial, path: str) -> None:
    """Assert that the CRS is the array's, and that rioxarray finds its corner there."""
    code, grid = oracle.code(path), oracle.grid(path)
    if code is None:
        assert "grid_mapping" not in {**array.attrs, **array.encoding}
        return
    name = {**array.encoding, **array.attrs}["grid_mapping"]
    assert pyproj.CRS(array.coords[name].attrs["crs_wkt"]) == pyproj.CRS(code)
    axes = oracle.axes(path)
    has_own = axes is not None and any(oracle.own(path, it) is not None for it in axes)
    dims = list(map(str, array.dims))
    if not HAS_RIOXARRAY or grid is None or has_own or dims[-2:] != ["y", "x"]:
        return
    theirs = quietly(array.rio.transform)
    exact = list(map(float, grid.from_corner()))
    size = max(map(abs, exact))
    np.testing.assert_allclose(list(theirs)[:6], exact, rtol=0, atol=size * 1e-12)
    assert array.rio.crs == code


def assert_as_the_texts_say(nodes: dict[str, Any], zarr_format: ZarrFormat) -> None:
    store, oracle = memory_store(build(nodes, zarr_format)), Spatial(nodes)
    groups = quietly(xr.open_groups, store, engine="xgroup")
    for group, dataset in groups.items():
        for path in arrays_in(nodes, group.strip("/")):
            if nodes[path].values.ndim > 1:
                array = dataset[name_of(path)]
                np.testing.assert_array_equal(array.values, nodes[path].values)
                assert_lies(array, oracle, path)
                assert_on_the_map(array, oracle, path)
                assert name_of(path) in dataset.data_vars


formats = st.sampled_from([3, 3, 2])


@thorough(90)
@given(grids(levels=False), formats)
def test_grids(nodes: dict[str, Any], zarr_format: ZarrFormat) -> None:
    assert_as_the_texts_say(nodes, zarr_format)


@thorough(110)
@given(grids(levels=True), formats)
def test_pyramids(nodes: dict[str, Any], zarr_format: ZarrFormat) -> None:
    assert_as_the_texts_say(nodes, zarr_format)
