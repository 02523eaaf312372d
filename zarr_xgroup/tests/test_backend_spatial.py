"""The `spatial` convention: coordinates of cell centres that follow from an affine transform.

Levels of pyramids, whose transforms may follow from one another, are in `test_pyramids`.
"""

import json
import re
import tracemalloc
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from affine import Affine

import zarr_xgroup
from zarr_xgroup.conventions.affine import Transform
from zarr_xgroup.conventions.spatial import in_order_of_gdal
from zarr_xgroup.tests.builders import (
    HAS_INDEX_OPTION,
    SHARDED,
    Array,
    Json,
    Nodes,
    build,
    declaring,
    edit,
    memory_store,
    opened,
    stored,
    update,
)
from zarr_xgroup.tests.tables import check, outcome, rows, store_of

STORES = Path(__file__).parent / "stores"

TENS = [10.0, 0.0, 100.0, 0.0, -10.0, 200.0]
TWENTIES = [20.0, 0.0, 100.0, 0.0, -20.0, 200.0]
ROTATED = [8.0, 6.0, 100.0, 6.0, -8.0, 200.0]


def spatial(transform: Any = None, dimensions: Any = ("y", "x"), **more: Any) -> Json:
    """Return attributes that declare the convention; those in `more` are without its prefix."""
    named = {"dimensions": dimensions, "transform": transform}
    written = {f"spatial:{key}": it for key, it in named.items() if it is not None}
    code = {} if (text := more.pop("code", None)) is None else {"proj:code": text}
    more = {f"spatial:{key}": it for key, it in more.items()}
    return declaring("spatial", "proj", **written, **code, **more)


def field(shape: tuple[int, ...], dims: Any = "y x", **attributes: Any) -> Array:
    """Return an array of zeros."""
    return Array(np.zeros(shape), dims.split() if isinstance(dims, str) else dims, attributes)


def grid(attributes: Json, shape: Any = (2, 3), dims: Any = "y x", /, **more: Array) -> Nodes:
    """Return a group that has attributes and an array `a`, by default of 2 x 3 cells."""
    return {"": attributes, "a": field(shape, dims), **more}


def test_the_store_of_the_repository() -> None:
    expected = (STORES / "spatial_test.txt").read_text(encoding="utf-8")
    check(STORES / "spatial_test.zarr", expected, function=xr.open_groups)


#: What a grid of 2 x 3 cells with the transform `TENS` opens as.
AT_TENS = """
    x (x) 105.0 115.0 125.0 | axis=X
    y (y) 195.0 185.0 | axis=Y
    a (y x) @ x y
"""
#: What is told where no coordinates follow from anything.
NOTHING = """
    a (y x)
    ! Resolution: /a: spatial is declared, but there is neither spatial:transform, nor spatial:bbox, \
nor 1-D arrays y, x: these dimensions have no coordinates from it
"""
#: What one with the transform `ROTATED` opens as.
AT_ROTATED = """
    xc (y x) [[107.0 115.0 123.0] [113.0 121.0 129.0]]
    yc (y x) [[199.0 205.0 211.0] [191.0 197.0 203.0]]
    a (y x) @ xc yc
"""
RENAMED = (
    "! Dimension: /b: other arrays of the group have other coordinate values along its "
    "dimensions; renamed 'y' -> 'y_b', 'x' -> 'x_b'"
)

#: Where attributes of the group are.
AT = "/#/attributes/spatial:"
LONGITUDE = "axis=X long_name=longitude coordinate standard_name=longitude units=degrees_east"
LATITUDE = "axis=Y long_name=latitude coordinate standard_name=latitude units=degrees_north"


def nodes_in(box: list[int]) -> Json:
    """Return the box of a grid of nodes."""
    return {"bbox": box, "registration": "node", "code": "EPSG:32632"}


# fmt: off
GRIDS: Mapping[str, tuple[Nodes, str]] = {
    "integers of a transform give floats": (grid(spatial([3, 0, 2**53, 0, -1, 10])), """
        x (x) 9007199254740994.0 9007199254740996.0 9007199254741000.0 | axis=X
        y (y) 9.5 8.5 | axis=Y
        a (y x) @ x y
    """),
    "a grid without rows": (grid(spatial(TENS), (0, 3)), """
        x (x) 105.0 115.0 125.0 | axis=X
        y (y)  | axis=Y
        a (y x) @ x y
    """),
    "the length of a single row is in the GeoTransform": (
        grid(
            spatial([0.5, 0, 100, 0, -0.5, 200], registration="node", code="EPSG:4326"), (1, 3)
        ), f"""
        spatial_ref () EPSG:4326 | GeoTransform=99.75 0.5 0.0 200.25 0.0 -0.5
        x (x) 100.0 100.5 101.0 | {LONGITUDE}
        y (y) 200.0 | {LATITUDE}
        a (y x) @ spatial_ref x y | grid_mapping=spatial_ref
    """),
    "coordinates of a rotated grid are 2-D, and no axes": (grid(spatial(ROTATED)), AT_ROTATED),
    "they are one pair for arrays with axes in any order": (grid(spatial(ROTATED), b=field((3, 2), "x y")), AT_ROTATED + "b (x y) @ xc yc"),
    "null is none": (grid(spatial(TENS, registration=None, shape=None, bbox=None, transform_type=None)), AT_TENS),
    "names in another case are those of the array": (
        grid(spatial(TENS, ("Y", "x")), (2, 3), "y X"), """
        X (X) 105.0 115.0 125.0 | axis=X
        y (y) 195.0 185.0 | axis=Y
        a (y X) @ X y
    """),
    "names that differ in case only are told apart": (
        grid(spatial(TENS, ("Y", "X")), (2, 1, 2, 1), "y Y x X"), """
        X (X) 105.0 | axis=X
        Y (Y) 195.0 | axis=Y
        a (y Y x X) @ X Y
    """),
    # What is declared, and where.
    "a declaration of the array is enough for attributes of its group": (
        {
            "": {**spatial(TENS), "zarr_conventions": []},
            "a": field((2, 3), **declaring("spatial")), "b": field((4, 5), "v u"),
        }, AT_TENS + "b (v u)"
    ),
    "attributes without a declaration mean nothing": (grid({**spatial(TENS), "zarr_conventions": []}), "a (y x)"),
    "nothing to compute coordinates from": (grid(spatial(bbox=None)), NOTHING),
    "a shape is nothing alone": (grid(spatial(transform_type="affine", registration="node", shape=[2, 3])), NOTHING),
    "a transform and box of STAC are not those of the convention": (
        grid({**spatial(), "proj:transform": TWENTIES, "proj:bbox": [1.0, 2.0, 3.0, 4.0]}), NOTHING
    ),
    "two grids of one size in a group have dimensions of their own": (
        {"": {}, "a": field((2, 3), **spatial(TENS)), "b": field((2, 3), **spatial(TWENTIES))}, f"""
        x (x) 105.0 115.0 125.0 | axis=X
        x_b (x_b) 110.0 130.0 150.0 | axis=X
        y (y) 195.0 185.0 | axis=Y
        y_b (y_b) 190.0 170.0 | axis=Y
        a (y x) @ x y
        b (y_b x_b) @ x_b y_b
        {RENAMED}
    """),
    "so has a rotated grid beside another one of its size": (
        {
            "": {}, "a": field((1, 2), **spatial(ROTATED)), "b": field((1, 2), **spatial(TENS)),
            "c": field((1, 2), **spatial(ROTATED)),
        }, f"""
        x_b (x_b) 105.0 115.0 | axis=X
        xc (y x) [[107.0 115.0]]
        y_b (y_b) 195.0 | axis=Y
        yc (y x) [[199.0 205.0]]
        a (y x) @ xc yc
        b (y_b x_b) @ x_b y_b
        c (y x) @ xc yc
        {RENAMED}
    """),
    "dimensions of two sizes get names by the convention, too": (
        {
            "": {}, "a": field((2, 3), None, **spatial(TENS)),
            "b": field((1, 2), None, **spatial(TWENTIES)),
        }, """
        x (x) 105.0 115.0 125.0 | axis=X
        x_b (x_b) 110.0 130.0 | axis=X
        y (y) 195.0 185.0 | axis=Y
        y_b (y_b) 190.0 | axis=Y
        a (y x) @ x y
        b (y_b x_b) @ x_b y_b
        ! Dimension: /a#/dimension_names: gives axes [0, 1] of shape [2, 3] no usable name; \
its dimensions are called ['y', 'x']
        ! Dimension: /b#/dimension_names: gives axes [0, 1] of shape [1, 2] no usable name; \
its dimensions are called ['y_b', 'x_b']
    """),
    # Coordinate variables of the group.
    "a coordinate variable leaves the other one to the transform": (
        grid(spatial(TENS), y=stored([7.0, 6.0], "y")), """
        x (x) 105.0 115.0 125.0 | axis=X
        y (y) 7.0 6.0 | axis=Y
        a (y x) @ x y
    """),
    "a coordinate variable stays beside 2-D coordinates": (
        grid(spatial([1, 0, 0, 1, 1, 0], code="EPSG:4326"), (1, 2), y=stored([7.0], "y")), f"""
        spatial_ref () EPSG:4326
        xc (y x) [[0.5 1.5]] | {LONGITUDE[7:]}
        y (y) 7.0 | {LATITUDE}
        yc (y x) [[1.0 2.0]] | {LATITUDE[7:]}
        a (y x) @ spatial_ref xc y yc | grid_mapping=spatial_ref
    """),
    "attributes of coordinate variables stay and are completed": (
        grid(
            spatial(code="EPSG:4326"),
            y=stored([7.0, 6.0], "y", units="km", axis="Q"), x=stored([1, 2, 4], "x"),
        ), f"""
        spatial_ref () EPSG:4326
        x (x) 1 2 4 | {LONGITUDE}
        y (y) 7.0 6.0 | axis=Q long_name=latitude coordinate standard_name=latitude units=km
        a (y x) @ spatial_ref x y | grid_mapping=spatial_ref
    """),
    "mistakes in a transform that is not needed are not told": (
        grid(
            spatial([1, 2], transform_type="rpc", shape=[7, 7], bbox=[1]),
            y=stored([7.0, 6.0], "y"), x=stored([1.0, 2.0, 4.0], "x"),
        ), """
        x (x) 1.0 2.0 4.0 | axis=X
        y (y) 7.0 6.0 | axis=Y
        a (y x) @ x y
    """),
    "two coordinate variables leave nothing to a rotated transform": (
        grid(spatial(ROTATED), y=stored([7.0, 6.0], "y"), x=stored([1.0, 2.0, 4.0], "x")), """
        x (x) 1.0 2.0 4.0 | axis=X
        y (y) 7.0 6.0 | axis=Y
        a (y x) @ x y
    """),
    "a GeoTransform of a grid mapping variable goes before the transform": (
        {
            "": spatial(TWENTIES), "a": field((2, 3), grid_mapping="crs"),
            "crs": Array(0, (), {"GeoTransform": "100 10 0 200 0 -10"}),
        }, f"{AT_TENS.rstrip()} | grid_mapping=crs\ncrs () | GeoTransform=100 10 0 200 0 -10"
    ),
    "a GeoTransform that cannot be used does not": (
        {
            "": spatial(TENS), "a": field((2, 3), grid_mapping="crs"),
            "crs": Array(0, (), {"GeoTransform": "0 0"}),
        }, f"{AT_TENS.rstrip()} | grid_mapping=crs\ncrs () | GeoTransform=0 0"
    ),
    # Bounding boxes.
    "a grid fills its box": (grid(spatial(bbox=[100, 180, 130.0, 200.0])), AT_TENS),
    "nodes reach to the edges of their box": (grid(spatial(bbox=[105.0, 185.0, 125.0, 195.0], registration="node")), AT_TENS),
    "a box beside the transform that gives it": (grid(spatial(TENS, bbox=[100.005, 180.0, 130.0, 200.0])), AT_TENS),
    "the box of a rotated grid is that of its corners": (grid(spatial(ROTATED, bbox=[100.0, 184.0, 136.0, 218.0])), AT_ROTATED),
    "zeros are no box": (grid(spatial(bbox=[0.0, 0, 0, 0.0])), "a (y x)"),
    "zeros beside a transform are no contradiction": (grid(spatial(TENS, bbox=[0.0, 0.0, 0.0, 0.0])), AT_TENS),
    # What cannot be used, or contradicts something.
    "another shape than the array has": (
        grid(spatial(TENS, shape=[3, 2])), f"""{AT_TENS}
        ! Resolution: /a: {AT}shape: is [3, 2], but the array has [2, 3] cells; the latter counts
    """),
    "another shape beside a box": (
        grid(spatial(bbox=[100.0, 180.0, 130.0, 200.0], shape=[20, 30])), f"""{AT_TENS}
        ! Resolution: /a: {AT}shape: is [20, 30], but the array has [2, 3] cells; the latter counts
    """),
    "another box than the transform gives": (
        grid(spatial(TENS, bbox=[100.0, 180.0, 141.0, 200.0])), f"""{AT_TENS}
        ! Resolution: /a: {AT}bbox: is [100.0, 180.0, 141.0, 200.0], but the transform gives \
[100.0, 180.0, 130.0, 200.0]; the latter counts
    """),
    "another box than that of the outermost nodes": (
        grid(spatial(TENS, bbox=[100.0, 170.0, 140.0, 200.0], registration="node")), f"""
        x (x) 100.0 110.0 120.0 | axis=X
        y (y) 200.0 190.0 | axis=Y
        a (y x) @ x y
        ! Resolution: /a: {AT}bbox: is [100.0, 170.0, 140.0, 200.0], but the transform gives \
[100.0, 190.0, 120.0, 200.0]; the latter counts
    """),
    "a box that cannot be used does not spoil the transform": (
        grid(spatial(TENS, bbox=[1, 2])), f"""{AT_TENS}
        ! Resolution: /a was opened without what 'spatial:bbox' declares: {AT}bbox: \
must be 4 finite numbers, got [1, 2]
    """),
    "numbers in the order of GDAL": (
        grid(spatial([100.0, 10.0, 0.0, 200.0, 0.0, -10.0], bbox=[100.0, 180.0, 130.0, 200.0])), f"""
        xc (y x) [[55.0 155.0 255.0] [65.0 165.0 265.0]]
        yc (y x) [[90.0 290.0 490.0] [90.0 290.0 490.0]]
        a (y x) @ xc yc
        ! Resolution: /a: {AT}transform: is [100.0, 10.0, 0.0, 200.0, 0.0, -10.0], by which the \
grid spans [0.0, -10.0, 320.0, 590.0]; are its numbers in the order of GDAL? That of the \
convention is [a, b, c, d, e, f]: [10.0, 0.0, 100.0, 0.0, -10.0, 200.0]
    """),
    "what is wrong with a group is told once": (
        {"": spatial([1, 2]), **{name: field((2, 3)) for name in "abc"}}, f"""
        a (y x)
        b (y x)
        c (y x)
        ! Resolution: /a, /b, /c were opened without coordinates along y, x: {AT}transform: \
must be 6 finite numbers, got [1, 2]
    """),
    "the array has other dimensions than it declares": (
        {"": {}, "a": field((2, 3), **spatial(TENS, ["y", "lon"]))}, """
        a (y x)
        ! Resolution: /a was opened without the coordinates of 'spatial': /a#/attributes/\
spatial:dimensions: ["y", "lon"] are not both dimensions of the array, which has ["y", "x"]
    """),
    "the array declares no dimensions": (
        {"": {}, "a": field((2, 3), **spatial(TENS, None))}, """
        a (y x)
        ! Resolution: /a was opened without the coordinates of 'spatial': /a#/attributes/\
spatial:dimensions: is missing: an array that declares 'spatial' must have it
    """),
}
# fmt: on


@rows(GRIDS)
def test_what_a_grid_opens_as(nodes: Nodes, expected: str) -> None:
    check(nodes, expected)


@rows(GRIDS)
def test_check_finds_what_an_open_tells(nodes: Nodes, expected: str) -> None:
    told = re.findall(r"(/\S*#/attributes/spatial:\w+): ", expected)
    found = {str(it.place) for it in zarr_xgroup.check(store_of(nodes)).mistakes}
    assert set(told) <= found


# fmt: off
#: The shape and names of an array, the declared shape, and the names that its dimensions get.
NAMED: Mapping[str, Any] = {
    "the last two": ((2, 3), (None, None), None, "y x"),
    "those of the declared shape": ((2, 3), (None, None), [2, 3], "y x"),
    "as many rows as columns": ((3, 3), (None, None), [3, 3], "y x"),
    "one is there": ((2, 3), ("y", None), None, "y x"),
    "the other is there": ((3, 2, 3), ("time", None, "x"), None, "time y x"),
    "beside another one": ((3, 2, 3), ("time", None, None), [2, 3], "time y x"),
    "beside an unnamed one": ((4, 2, 3), (None, None, None), [2, 3], "phony_dim_0 y x"),
}
# fmt: on


@rows(NAMED, "shape, names, told_shape, dims")
def test_dimensions_without_names_get_those_of_the_convention(
    shape: Any, names: Any, told_shape: Any, dims: str
) -> None:
    axes = [axis for axis, name in enumerate(names) if name is None]
    told = (
        f"! Dimension: /a#/dimension_names: gives axes {axes} of shape {list(shape)} "
        f"no usable name; its dimensions are called {dims.split()}"
    )
    nodes = grid(spatial(TENS, shape=told_shape), shape, names)
    check(nodes, f"x (x) 105.0 115.0 125.0 | axis=X\na ({dims}) @ x y\n{told}", only="a x")


def test_a_nodes_in_cells_gets_no_names_of_the_convention() -> None:
    dataset, _told = outcome(grid(spatial(TENS), (4,), (None,)))
    assert (dataset["a"].dims, set(dataset.coords)) == (("phony_dim_0",), set())


# fmt: off
#: How what is told of an attribute begins, and examples of it.
MISTAKES: Mapping[str, list[Json]] = {
    "transform: must be a list, got string": [{"transform": "x"}],
    "transform: must be 6 finite numbers, got [1": [
        {"transform": [1, 2]}, {"transform": [1, 0, 0, 0, "1", 0]}, {"transform": [1e3, *[0] * 6]},
        {"transform": [10**400, 0, 0, 0, -1, 0]},
    ],
    "transform: must be 6 finite numbers, got [true, 0": [{"transform": [True, 0, 0, 0, -1, 0]}],
    "transform: is degenerate: cells have no area": [
        {"transform": [1, 0, 0, 0, 0, 0]}, {"transform": [2, 1, 0, 4, 2, 0]},
        {"transform": [1e200, 0, 0, 0, 1e200, 0]},
    ],
    "registration: must be 'pixel' or 'node', got 'corner'": [{"registration": "corner"}],
    "registration: must be a string, got list": [{"registration": ["pixel"]}],
    "transform_type: is 'rpc'; only 'affine' is known": [{"transform_type": "rpc"}],
    "transform_type: must be a string, got number": [{"transform_type": 1}],
    "bbox: must be a list, got string": [{"transform": None, "bbox": "x"}],
    "bbox: must be 4 finite numbers, got [1, 2, 3]": [{"transform": None, "bbox": [1, 2, 3]}],
    "bbox: spans no area for 2 x 3 cells": [
        {"transform": None, "bbox": [1, 0, 1, 5]}, {"transform": None, "bbox": [0, 5, 5, 0]},
        {"transform": None, "bbox": [170.0, -10.0, -170.0, 10.0]},
    ],
    "bbox: is degenerate: cells have no area": [{"transform": None, "bbox": [-1e308, -1e308, 1e308, 1e308]}],
}
# fmt: on


@pytest.mark.parametrize(("text", "examples"), MISTAKES.items())
def test_mistakes_cost_the_coordinates(text: str, examples: list[Json]) -> None:
    for attributes in examples:
        _dataset, lines = outcome(grid(spatial(**{"transform": TENS, **attributes})))
        start = f"! Resolution: /a was opened without coordinates along y, x: {AT}"
        assert len(lines) == 2
        assert lines[0] == "a (y x)"
        assert lines[1].startswith(start + text)


@pytest.mark.parametrize("dimensions", ["yx", 5, ["y", 5], ["y"], ["y", "y"], ["y", "x", "z"], {}])
@pytest.mark.parametrize("place", ["", "a"])
def test_dimensions_must_be_two_names(place: str, dimensions: Any) -> None:
    told = (
        f"! Resolution: /a was opened without the coordinates of 'spatial': /{place}#/attributes/"
        "spatial:dimensions: must be the names of two dimensions, got "
    )
    said = {"": {}, "a": {}, place: spatial(TENS, dimensions)}
    nodes = {"": said[""], "a": field((2, 3), **said["a"]), "t": field((2,), "y")}
    check(nodes, f"a (y x)\nt (y)\n{told}{json.dumps(dimensions)}")


# fmt: off
ACROSS = {"bbox": [170.0, -10.0, -170.0, 10.0], "code": "EPSG:4326"}
#: Attributes of a grid, its size, and its coordinates: those without a known position are told.
BOXES: Mapping[str, Any] = {
    "a row of nodes has no length": (nodes_in([0, 0, 5, 5]), (1, 3), {"x": [0.0, 2.5, 5.0]}),
    "a row of nodes": (nodes_in([0, 5, 5, 5]), (1, 3), {"x": [0.0, 2.5, 5.0], "y": [5.0]}),
    "a column of nodes has no length": (nodes_in([0, 0, 5, 5]), (3, 1), {"y": [5.0, 2.5, 0.0]}),
    "a column of nodes": (nodes_in([7, 0, 7, 5]), (3, 1), {"y": [5.0, 2.5, 0.0], "x": [7.0]}),
    "a single node": (nodes_in([7, 5, 7, 5]), (1, 1), {"y": [5.0], "x": [7.0]}),
    "a single node has no length": (nodes_in([0, 0, 5, 5]), (1, 1), {}),
    "across the antimeridian": (ACROSS, (1, 2), {"y": [0.0], "x": [175.0, 185.0]}),
    "beside its transform": ({"transform": [10, 0, 170, 0, -20, 10], **ACROSS}, (1, 2), {"y": [0.0], "x": [175.0, 185.0]}),
    "in a plane": ({**ACROSS, "code": "EPSG:32632"}, (2, 4), {}),
}
# fmt: on


@rows(BOXES, "attributes, shape, expected")
def test_what_follows_from_a_box(attributes: Json, shape: Any, expected: Any) -> None:
    dataset, lines = outcome(grid(spatial(**attributes), shape), only="")
    found = {name: dataset[name].values.tolist() for name in ("y", "x") if name in dataset.coords}
    assert found == expected
    lost = ", ".join(name for name in ("y", "x") if name not in expected)
    told = (
        f"! Resolution: /a was opened without coordinates along {lost}: "
        f"{AT}bbox: spans no area for {shape[0]} x {shape[1]} cells"
    )
    assert lines == ([told] if lost else [])
    # Lengths that are not known are in no GeoTransform.
    is_node = "registration" in attributes
    assert ("GeoTransform" in dataset["spatial_ref"].attrs) == (not lost and not is_node)


# fmt: off
#: The numbers of transforms, the unit of their CRS, and whether they are recognized in the order of GDAL.
ORDERS: Mapping[str, tuple[list[float], str, bool]] = {
    "metres": ([10.0, 0.0, 500000.0, 0.0, -10.0, 4600000.0], "metre", True),
    "no unit": ([10.0, 0.0, 500000.0, 0.0, -10.0, 4600000.0], "", True),
    "south up": ([10.0, 0.0, -500000.0, 0.0, 10.0, -4600000.0], "", True),
    "from the false origin on": ([10.0, 0.0, 0.0, 0.0, -10.0, 4600000.0], "", True),
    "degrees": ([0.001, 0.0, 12.5, 0.0, -0.001, 48.25], "degree", True),
    "at the origin": ([0.01, 0.0, 0.005, 0.0, -0.01, 0.005], "degree", True),
    "along the meridian": ([0.001, 0.0, 0.0, 0.0, -0.001, 48.25], "degree", True),
    "rotated": ([9.5, 3.0, 500000.0, 3.0, -9.5, 4600000.0], "metre", True),
    "zonal means": ([360.0, 0.0, -180.0, 0.0, -1.0, 90.0], "", False),
    "a profile": ([1.0, 0.0, 5.0, 0.0, -1000.0, 0.0], "", False),
    "a quarter turn": ([0.0, 10.0, 0.0, -10.0, 0.0, 4600000.0], "", False),
    "sheared, along the equator": ([10.0, 0.0, 500000.0, 3.0, -10.0, 0.0], "", False),
    "sheared": ([10.0, 3.0, 500000.0, 0.0, -10.0, 4600000.0], "", False),
    "at zero": ([10.0, 0.0, 0.0, 0.0, -10.0, 0.0], "", False),
}
# fmt: on


@rows(ORDERS, "numbers, unit, is_recognized")
def test_which_numbers_are_taken_for_the_order_of_gdal(
    numbers: list[float], unit: str, is_recognized: bool
) -> None:
    a, b, c, d, e, f = numbers
    meant, written = Transform(Affine(*numbers)), Transform(Affine(c, a, b, f, d, e))
    for size in [(1, 1), (3, 4), (40, 60), (10980, 10980)] if is_recognized else [(3, 4)]:
        for box in (None, meant.extent(size)):
            assert in_order_of_gdal(meant, size, box, unit) is None
            assert not is_recognized or in_order_of_gdal(written, size, box, unit) == meant


@pytest.mark.parametrize(("side", "cell"), [(0, 3.0), (1, 8.0), (2, 3.0), (3, 8.0)])
def test_a_box_may_differ_by_a_part_of_a_cell(side: int, cell: float) -> None:
    transform = Transform(Affine(2.0, 1.0, 10.0, 3.0, 5.0, 20.0))
    for cells, is_that in ((0.9, True), (1.1, False)):
        box = [10.0, 20.0, 21.0, 47.0]
        box[side] += cells * cell
        assert transform.fills(box, (3, 4), tolerance=1) is is_that
        assert not transform.fills(box, (3, 4))


# Huge and chunked grids.

HUGE = 200_000


def huge(transform: list[float]) -> Any:
    """Return a store with an array of 200 000 x 200 000 cells, none of which is written."""
    contents = build(grid(spatial(transform), (1, 1)))
    chunks = {"name": "regular", "configuration": {"chunk_shape": [1024, 1024]}}
    return edit(contents, "a/zarr.json", update(shape=[HUGE, HUGE], chunk_grid=chunks))


def cost(function: Callable[[], Any]) -> int:
    """Return how many bytes a call takes at most, besides what Python needs the first time."""
    function()
    tracemalloc.start()
    result = function()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    del result
    return peak


@pytest.mark.skipif(not HAS_INDEX_OPTION, reason="this xarray always builds default indexes")
def test_a_huge_grid_opens_in_kilobytes() -> None:
    store = memory_store(huge(TENS))
    assert cost(lambda: opened(xr.open_dataset, store, create_default_indexes=False)) < 400_000


def test_coordinates_of_a_huge_rotated_grid_are_computed_where_they_are_asked_for() -> None:
    store = memory_store(huge(ROTATED))
    assert cost(lambda: opened(xr.open_dataset, store)) < 400_000
    dataset = opened(xr.open_dataset, store)

    def values(key: Any) -> Any:
        return dataset["xc"].isel(key).values

    points = {"y": xr.DataArray([3, 9], dims="p"), "x": xr.DataArray([0, 1], dims="p")}
    # xarray itself writes out the positions along both axes before it selects some.
    positions = 8 * 8 * HUGE
    for key, expected, most in (
        ({"y": HUGE - 1, "x": 7}, 8 * 7.5 + 6 * (HUGE - 0.5), 40_000),
        ({"y": slice(5, None, HUGE), "x": slice(0, 2)}, [[37.0, 45.0]], 40_000),
        ({"y": [3], "x": [0, 2]}, [[25.0, 41.0]], positions),
        (points, [25.0, 69.0], positions),
        ({"y": 0}, 8 * (np.arange(HUGE) + 0.5) + 3, positions),
    ):
        np.testing.assert_array_equal(values(key) - 100, expected)
        assert cost(partial(values, key)) < most


def test_dask_chunks_of_rotated_coordinates_are_those_of_a_sharded_array() -> None:
    pytest.importorskip("dask.array")
    array = Array(np.zeros((8, 8)), ("y", "x"), spatial(ROTATED), chunks=(4, 4), v3=SHARDED)
    dataset = opened(xr.open_dataset, store_of({"": {}, "a": array}), chunks={})
    assert dataset["xc"].chunks == dataset["yc"].chunks == dataset["a"].chunks
    assert set(dataset.chunks) == {"y", "x"}
