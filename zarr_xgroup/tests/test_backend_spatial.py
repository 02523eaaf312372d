"""The `spatial` convention: coordinates of cell centres computed from an affine transform.

The tests of pyramids, whose levels may be derived from one another, are in `test_pyramids`.
"""

import json
import tracemalloc
from collections.abc import Mapping
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
    Array,
    Json,
    Nodes,
    build,
    declaring,
    edit,
    memory_store,
    opened,
    opened_with_warnings,
    quietly,
    recorded,
    stored,
    update,
)
from zarr_xgroup.tests.tables import check, outcome, rows, store_of, text_of

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
    ! Resolution: /a: 'spatial' is declared, but there is neither spatial:transform, nor spatial:bbox, \
nor 1-D arrays y, x, so these dimensions get no coordinates
"""
#: What one with the transform `ROTATED` opens as.
AT_ROTATED = """
    xc (y x) [[107.0 115.0 123.0] [113.0 121.0 129.0]]
    yc (y x) [[199.0 205.0 211.0] [191.0 197.0 203.0]]
    a (y x) @ xc yc
"""

#: What is told of names in the order of X and Y, and of a coordinate whose name is taken.
Y_IS_FIRST = "but Y must be first; by their coordinates or names, {y!r} is used as Y and {x!r} as X"
NAMED_X_1 = "its coordinate 'x' is named 'x_1', because the name 'x' is already used or not valid in this group"

#: Where attributes of the group are.
AT = "/#/attributes/spatial:"
LONGITUDE = "axis=X long_name=longitude coordinate standard_name=longitude units=degrees_east"
LATITUDE = "axis=Y long_name=latitude coordinate standard_name=latitude units=degrees_north"


def nodes_in(box: list[int]) -> Json:
    """Return the box of a grid of nodes."""
    return {"bbox": box, "registration": "node", "code": "EPSG:32632"}


# fmt: off
GRIDS: Mapping[str, tuple[Nodes, str]] = {
    "the length of a single row is in the GeoTransform": (
        grid(
            spatial([0.5, 0, 100, 0, -0.5, 200], registration="node", code="EPSG:4326"), (1, 3)
        ), f"""
        spatial_ref () EPSG:4326 | GeoTransform=99.75 0.5 0.0 200.25 0.0 -0.5
        x (x) 100.0 100.5 101.0 | {LONGITUDE}
        y (y) 200.0 | {LATITUDE}
        a (y x) @ spatial_ref x y | grid_mapping=spatial_ref
    """),
    "they are one pair for arrays with axes in any order": (grid(spatial(ROTATED), b=field((3, 2), "x y")), AT_ROTATED + "b (x y) @ xc yc"),
    "names that differ only in case are distinct": (
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
    "a transform and box of STAC are not those of the convention": (
        grid({**spatial(), "proj:transform": TWENTIES, "proj:bbox": [1.0, 2.0, 3.0, 4.0]}), NOTHING
    ),
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
        ! Dimension: /a, /b: /a#/dimension_names and 1 more: has no usable names for axes [0, 1]; \
its dimensions are named ['y', 'x']
        ! Dimension: /b#/dimension_names: other arrays of the group have different sizes \
along its dimensions; renamed 'y' -> 'y_b', 'x' -> 'x_b'
    """),
    # Coordinate variables of the group.
    "a coordinate variable is kept with 2-D coordinates": (
        grid(spatial([1, 0, 0, 1, 1, 0], code="EPSG:4326"), (1, 2), y=stored([7.0], "y")), f"""
        spatial_ref () EPSG:4326
        xc (y x) [[0.5 1.5]] | {LONGITUDE[7:]}
        y (y) 7.0 | {LATITUDE}
        yc (y x) [[1.0 2.0]] | {LATITUDE[7:]}
        a (y x) @ spatial_ref xc y yc | grid_mapping=spatial_ref
    """),
    # Names of axes in an order that names or coordinates contradict.
    "x is first": (
        grid(spatial(TENS, ("x", "y"), shape=[3, 2]), b=field((3, 2), "x y")), f"""{AT_TENS}
        b (x y) @ x y
        ! Resolution: /a, /b: {AT}dimensions: is ["x", "y"], {Y_IS_FIRST.format(y="y", x="x")}
        ! Resolution: /a, /b: {AT}shape: is [3, 2], but the array has [2, 3] cells, which are used
    """),
    "x is first, with coordinates of the group": (
        grid(spatial(TENS, ("x", "y")), y=stored([7.0, 6.0], "y", axis="Y"), x=stored([1, 2, 3], "x", axis="X")), f"""
        x (x) 1 2 3 | axis=X
        y (y) 7.0 6.0 | axis=Y
        a (y x) @ x y
        ! Resolution: /a: {AT}dimensions: is ["x", "y"], {Y_IS_FIRST.format(y="y", x="x")}
    """),
    "x is first, and dimensions have no names": (
        grid(spatial(TENS, ("x", "y")), (2, 3), None), f"""{AT_TENS}
        ! Dimension: /a#/dimension_names: has no usable names for axes [0, 1]; \
its dimensions are named ['y', 'x']
        ! Resolution: /a: {AT}dimensions: is ["x", "y"], {Y_IS_FIRST.format(y="y", x="x")}
    """),
    "x is first of dimensions without names, as coordinates of the group show": (
        grid(spatial(TENS, ("x", "y")), (3, 2), None, x=stored([1, 2, 3], "x")), f"""
        x (x) 1 2 3 | axis=X
        y (y) 195.0 185.0 | axis=Y
        a (x y) @ x y
        ! Dimension: /a#/dimension_names: has no usable names for axes [0, 1]; \
its dimensions are named ['x', 'y']
        ! Resolution: /a: {AT}dimensions: is ["x", "y"], {Y_IS_FIRST.format(y="y", x="x")}
    """),
    "names in another case of an array with columns first": (
        grid(spatial(TENS), (3, 2), "X Y"), """
        X (X) 105.0 115.0 125.0 | axis=X
        Y (Y) 195.0 185.0 | axis=Y
        a (X Y) @ X Y
    """),
    "positions of another group lie along Y and X": (
        {
            **grid(declaring("spatial", "geolocation", **{"spatial:dimensions": ["x", "y"]}), y=stored([7, 6], "y"), x=stored([1, 2, 3], "x")),
            "a": field((2, 3), geolocation={"geodetic": {"x": {"node": "g/lon"}, "y": {"node": "g/lat"}}}),
            "g": {}, "g/lon": field((2, 3), "r c"), "g/lat": field((2, 3), "r c"),
        }, f"""
        lat (y x) [[0.0 0.0 0.0] [0.0 0.0 0.0]] | standard_name=latitude
        lon (y x) [[0.0 0.0 0.0] [0.0 0.0 0.0]] | standard_name=longitude
        x (x) 1 2 3 | axis=X
        y (y) 7 6 | axis=Y
        a (y x) @ lat lon x y
        ! Resolution: /a: {AT}dimensions: is ["x", "y"], {Y_IS_FIRST.format(y="y", x="x")}
    """),
    # Arrays with the name of a dimension that are not its coordinate, which is 1-D along it.
    "an array with the name of a dimension lies along both": (
        grid(spatial(TENS), x=field((2, 3))), f"""
        x (y x) [[0.0 0.0 0.0] [0.0 0.0 0.0]]
        x_1 (x) 105.0 115.0 125.0 | axis=X
        y (y) 195.0 185.0 | axis=Y
        a (y x) @ x x_1 y
        ! Name: /a: {NAMED_X_1}
    """),
    "two grids beside an array with the name of a dimension": (
        {"": {}, "a": field((2, 3), **spatial(TENS)), "b": field((2, 3), **spatial(TWENTIES)), "x": field((2, 3))}, f"""
        x (y x) [[0.0 0.0 0.0] [0.0 0.0 0.0]]
        x_1 (x) 105.0 115.0 125.0 | axis=X
        x_b (x_b) 110.0 130.0 150.0 | axis=X
        y (y) 195.0 185.0 | axis=Y
        y_b (y_b) 190.0 170.0 | axis=Y
        a (y x) @ x x_1 y
        b (y_b x_b) @ x_b y_b
        ! Dimension: /b: other arrays of the group have different coordinate values along its dimensions; \
renamed 'y' -> 'y_b', 'x' -> 'x_b'
        ! Name: /a: {NAMED_X_1}
    """),
    "three names are those of another axis, Y and X": (grid(spatial(TENS, ("z", "y", "x")), (4, 2, 3), "z y x"), AT_TENS.replace("(y x)", "(z y x)")),
    "a GeoTransform of a grid mapping variable takes precedence over the transform": (
        {
            "": spatial(TWENTIES), "a": field((2, 3), grid_mapping="crs"),
            "crs": Array(0, (), {"GeoTransform": "100 10 0 200 0 -10"}),
        }, f"{AT_TENS.rstrip()} | grid_mapping=crs\ncrs () | GeoTransform=100 10 0 200 0 -10"
    ),
    # Bounding boxes.
    "the box of a rotated grid is that of its corners": (grid(spatial(ROTATED, bbox=[100.0, 184.0, 136.0, 218.0])), AT_ROTATED),
    "zeros do not contradict a transform": (grid(spatial(TENS, bbox=[0.0, 0.0, 0.0, 0.0])), AT_TENS),
    # What cannot be used, or contradicts something.
    "another shape than the array has": (
        grid(spatial(TENS, shape=[3, 2])), f"""{AT_TENS}
        ! Resolution: /a: {AT}shape: is [3, 2], but the array has [2, 3] cells, which are used
    """),
    "another box than the transform gives": (
        grid(spatial(TENS, bbox=[100.0, 180.0, 141.0, 200.0])), f"""{AT_TENS}
        ! Resolution: /a: {AT}bbox: is [100.0, 180.0, 141.0, 200.0], but the transform gives \
[100.0, 180.0, 130.0, 200.0], which is used
    """),
    "a box that cannot be used does not spoil the transform": (
        grid(spatial(TENS, bbox=[1, 2])), f"""{AT_TENS}
        ! Resolution: /a was opened without the metadata in 'spatial:bbox': {AT}bbox: \
must be 4 finite numbers, got [1, 2]
    """),
    "numbers in the order of GDAL": (
        grid(spatial([100.0, 10.0, 0.0, 200.0, 0.0, -10.0], bbox=[100.0, 180.0, 130.0, 200.0])), f"""
        xc (y x) [[55.0 155.0 255.0] [65.0 165.0 265.0]]
        yc (y x) [[90.0 290.0 490.0] [90.0 290.0 490.0]]
        a (y x) @ xc yc
        ! Resolution: /a: {AT}transform: is [100.0, 10.0, 0.0, 200.0, 0.0, -10.0], which gives the \
grid the extent [0.0, -10.0, 320.0, 590.0]; the numbers seem to be in the order of GDAL, but the \
convention's is [a, b, c, d, e, f]: [10.0, 0.0, 100.0, 0.0, -10.0, 200.0]
    """),
    "the array has other dimensions than it declares": (
        {"": {}, "a": field((2, 3), **spatial(TENS, ["y", "lon"]))}, """
        a (y x)
        ! Resolution: /a was opened without the coordinates of 'spatial': /a#/attributes/\
spatial:dimensions: ["y", "lon"] must both be dimensions of the array, which has ["y", "x"]
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
def test_opened_grids(nodes: Nodes, expected: str) -> None:
    check(nodes, expected)


# fmt: off
#: The shape and names of an array, the declared shape, and the names that its dimensions get.
NAMED: Mapping[str, Any] = {
    "the last two": ((2, 3), (None, None), None, "y x"),
    "one is there": ((2, 3), ("y", None), None, "y x"),
    "one dimension is named": ((3, 2, 3), ("time", None, None), [2, 3], "time y x"),
    "with another unnamed dimension": ((4, 2, 3), (None, None, None), [2, 3], "phony_dim_0 y x"),
}
# fmt: on


@rows(NAMED, "shape, names, told_shape, dims")
def test_dimensions_without_names_get_those_of_the_convention(
    shape: Any, names: Any, told_shape: Any, dims: str
) -> None:
    axes = [axis for axis, name in enumerate(names) if name is None]
    told = (
        f"! Dimension: /a#/dimension_names: has no usable names for axes {axes}; its dimensions are "
        f"named {dims.split()}"
    )
    nodes = grid(spatial(TENS, shape=told_shape), shape, names)
    check(nodes, f"x (x) 105.0 115.0 125.0 | axis=X\na ({dims}) @ x y\n{told}", only="a x")


# fmt: off
#: Attributes, and how what is told of them begins.
MISTAKES: Mapping[str, tuple[Json, str]] = {
    "too few numbers": ({"transform": [1, 2]}, "transform: must be 6 finite numbers, got [1, 2]"),
    "not a number": ({"transform": [True, 0, 0, 0, -1, 0]}, "transform: must be 6 finite numbers, got [true"),
    "what no float holds": ({"transform": [10**400, 0, 0, 0, -1, 0]}, "transform: must be 6 finite numbers, got [1"),
    "cells along a line": ({"transform": [2, 1, 0, 4, 2, 0]}, "transform: is degenerate: cells have no area"),
    "cells beyond all bounds": ({"transform": [1e200, 0, 0, 0, 1e200, 0]}, "transform: is degenerate"),
    "another registration": ({"registration": "corner"}, "registration: must be 'pixel' or 'node', got 'corner'"),
    "another type": ({"transform_type": "rpc"}, "transform_type: is 'rpc', but only 'affine' is supported"),
    "a box of too few": ({"transform": None, "bbox": [1, 2, 3]}, "bbox: must be 4 finite numbers, got [1, 2, 3]"),
    "a box without width": ({"transform": None, "bbox": [1, 0, 1, 5]}, "bbox: spans no area for 2 x 3 cells"),
    "a box upside down": ({"transform": None, "bbox": [0, 5, 5, 0]}, "bbox: spans no area for 2 x 3 cells"),
    "a box beyond all bounds": ({"transform": None, "bbox": [-1e308, -1e308, 1e308, 1e308]}, "bbox: is degenerate"),
}
# fmt: on


@rows(MISTAKES, "attributes, text")
def test_mistakes_cost_the_coordinates(attributes: Json, text: str) -> None:
    _dataset, (array, told) = outcome(grid(spatial(**{"transform": TENS, **attributes})))
    assert array == "a (y x)"
    assert told.startswith(
        f"! Resolution: /a was opened without coordinates along y, x: {AT}{text}"
    )


# fmt: off
NORTH, EAST = {"standard_name": "latitude"}, {"standard_name": "longitude"}
DEGREES_NORTH, DEGREES_EAST = {"units": "degrees_north"}, {"units": "degrees_east"}
Y, X = {"axis": "Y"}, {"axis": "X"}
#: Names of dimensions as written, attributes of stored coordinates, the dimensions used for Y and X, and whether `check`
#: advises to write the names in the opposite order.
ORDERS_OF_NAMES: Mapping[str, Any] = {
    # Stored coordinates decide.
    "standard names": (["lon", "lat"], {"lat": NORTH, "lon": EAST}, "lat lon", True),
    "axes": (["lon", "lat"], {"lat": Y, "lon": X}, "lat lon", True),
    "units": (["lon", "lat"], {"lat": DEGREES_NORTH, "lon": DEGREES_EAST}, "lat lon", True),
    "names of stored coordinates": (["lon", "lat"], {"lat": {}, "lon": {}}, "lat lon", True),
    "x and y": (["x", "y"], {"y": {}, "x": {}}, "y x", True),
    "standard names before axes": (["lon", "lat"], {"lat": {**NORTH, **X}, "lon": {**EAST, **Y}}, "lat lon", True),
    "axes before units": (["v", "u"], {"u": {**Y, **DEGREES_EAST}, "v": {**X, **DEGREES_NORTH}}, "u v", True),
    "names that may mean anything, with standard names": (["v", "u"], {"u": NORTH, "v": EAST}, "u v", True),
    "the first has a standard name": (["v", "u"], {"v": EAST}, "u v", True),
    "the second has units": (["v", "u"], {"u": DEGREES_NORTH}, "u v", True),
    "one has a stored coordinate": (["x", "t"], {"x": {}}, "t x", True),
    "standard names before names": (["x", "y"], {"x": NORTH, "y": EAST}, "x y", False),
    "both along X": (["v", "u"], {"v": EAST, "u": EAST}, "v u", False),
    "their order is right": (["lat", "lon"], {"lat": NORTH, "lon": EAST}, "lat lon", False),
    # Else names that are a pair.
    "longitude": (["lon", "lat"], {}, "lat lon", True),
    "capitals": (["Longitude", "Latitude"], {}, "Latitude Longitude", True),
    "easting": (["easting", "northing"], {}, "northing easting", True),
    "columns": (["col", "row"], {}, "row col", True),
    "columns written out": (["column", "row"], {}, "row column", True),
    "of three the last two": (["band", "x", "y"], {}, "y x", True),
    # Else their order.
    "the first alone is known": (["x", "t"], {}, "x t", True),
    "the second alone is known": (["t", "row"], {}, "t row", True),
    "names of two pairs": (["x", "lat"], {}, "x lat", True),
    "names that may mean anything": (["v", "u"], {}, "v u", False),
    "both names along X": (["x", "lon"], {}, "x lon", False),
    "both names along Y": (["row", "y"], {}, "row y", False),
    "X is first of three": (["x", "y", "lon"], {}, "y lon", False),
}
# fmt: on


@rows(ORDERS_OF_NAMES, "names, stored_axes, used, is_advised")
def test_which_dimensions_are_y_and_x(
    names: list[str], stored_axes: Mapping[str, Json], used: str, is_advised: bool
) -> None:
    sizes = dict(zip(sorted(names), (2, 3, 4), strict=False))
    y, x = used.split()
    values = {y: 195.0 - 10.0 * np.arange(sizes[y]), x: 105.0 + 10.0 * np.arange(sizes[x])}
    bands = {name: field(tuple(sizes.values()), list(sizes)) for name in "bc"}
    axes = {dim: Array(values[dim], (dim,), dict(it)) for dim, it in stored_axes.items()}
    store = store_of({"": spatial(TENS, names, code="EPSG:4326"), **bands, **axes})
    dataset, told = opened_with_warnings(xr.open_dataset, store)
    for dim, axis, degrees in ((y, "Y", "latitude"), (x, "X", "longitude")):
        np.testing.assert_array_equal(dataset[dim], values[dim])
        assert dataset[dim].attrs["axis"] == stored_axes.get(dim, {}).get("axis", axis)
        assert dataset[dim].attrs["long_name"] == f"{degrees} coordinate"
    assert len(told) == is_advised
    # Nor does `check` say that the stored coordinates are not those of the transform.
    remedy = f'write "spatial:dimensions": {json.dumps([*names[:-2], names[-1], names[-2]])}'
    advice = ("spatial/order-of-dimensions", remedy, f"{AT}dimensions")
    mistakes = zarr_xgroup.check(store).mistakes
    found = [(it.rule.name, it.remedy, str(it.place)) for it in mistakes]
    assert found == ([advice] if is_advised else [])


def test_an_array_along_a_dimension_twice_is_not_its_coordinate() -> None:
    store = store_of(grid(spatial(TENS), (3, 3), x=field((3, 3), "x x")))
    dataset, told = recorded(xr.open_dataset, store, engine="xgroup")
    assert text_of(dataset, ["x_1", "y"]) == [
        "x_1 (x) 105.0 115.0 125.0 | axis=X",
        "y (y) 195.0 185.0 175.0 | axis=Y",
    ]
    assert "axis" not in dataset["x"].attrs
    assert f"/a: {NAMED_X_1}" in map(str, told)
    assert "x_1 (x) affine transform" in str(quietly(zarr_xgroup.explain, store))


@pytest.mark.parametrize(
    "dimensions",
    ["yx", ["y", 5], ["y"], ["y", "y"], ["z", "y", "y"], ["z", "z", "x"], ["t", "z", "y", "x"]],
)
def test_dimensions_must_be_two_names(dimensions: Any) -> None:
    told = (
        f"! Resolution: /a was opened without the coordinates of 'spatial': {AT}dimensions: "
        f"must be the names of two dimensions, got {json.dumps(dimensions)}"
    )
    check(grid(spatial(TENS, dimensions), t=field((2,), "y")), f"a (y x)\nt (y)\n{told}")


# fmt: off
ACROSS = {"bbox": [170.0, -10.0, -170.0, 10.0], "code": "EPSG:4326"}
#: Attributes of a grid, its size, and its coordinates: those without a known position are told.
BOXES: Mapping[str, Any] = {
    "a row of nodes has no length": (nodes_in([0, 0, 5, 5]), (1, 3), {"x": [0.0, 2.5, 5.0]}),
    "a column of nodes": (nodes_in([7, 0, 7, 5]), (3, 1), {"y": [5.0, 2.5, 0.0], "x": [7.0]}),
    "a single node": (nodes_in([7, 5, 7, 5]), (1, 1), {"y": [5.0], "x": [7.0]}),
    "across the antimeridian": (ACROSS, (1, 2), {"y": [0.0], "x": [175.0, 185.0]}),
    "in a plane": ({**ACROSS, "code": "EPSG:32632"}, (2, 4), {}),
}
# fmt: on


@rows(BOXES, "attributes, shape, expected")
def test_coordinates_from_a_bounding_box(attributes: Json, shape: Any, expected: Any) -> None:
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
    "south up": ([10.0, 0.0, -500000.0, 0.0, 10.0, -4600000.0], "", True),
    "from the false origin on": ([10.0, 0.0, 0.0, 0.0, -10.0, 4600000.0], "", True),
    "degrees": ([0.001, 0.0, 12.5, 0.0, -0.001, 48.25], "degree", True),
    "rotated": ([9.5, 3.0, 500000.0, 3.0, -9.5, 4600000.0], "metre", True),
    "zonal means": ([360.0, 0.0, -180.0, 0.0, -1.0, 90.0], "", False),
    "a quarter turn": ([0.0, 10.0, 0.0, -10.0, 0.0, 4600000.0], "", False),
    "sheared": ([10.0, 3.0, 500000.0, 0.0, -10.0, 4600000.0], "", False),
}
# fmt: on


@rows(ORDERS, "numbers, unit, is_recognized")
def test_transforms_in_the_order_of_gdal(
    numbers: list[float], unit: str, is_recognized: bool
) -> None:
    a, b, c, d, e, f = numbers
    meant, written = Transform(Affine(*numbers)), Transform(Affine(c, a, b, f, d, e))
    for size in [(1, 1), (3, 4), (40, 60), (10980, 10980)] if is_recognized else [(3, 4)]:
        for box in (None, meant.extent(size)):
            assert in_order_of_gdal(meant, size, box, unit) is None
            assert not is_recognized or in_order_of_gdal(written, size, box, unit) == meant


HUGE = 200_000


def test_coordinates_of_a_huge_rotated_grid_are_computed_only_where_they_are_read() -> None:
    contents = build(grid(spatial(ROTATED), (1, 1)))
    contents = edit(contents, "a/zarr.json", update(shape=[HUGE, HUGE]))
    dataset = opened(xr.open_dataset, memory_store(contents))
    points = {"y": xr.DataArray([3, 9], dims="p"), "x": xr.DataArray([0, 1], dims="p")}
    for key, expected in (
        ({"y": HUGE - 1, "x": 7}, 8 * 7.5 + 6 * (HUGE - 0.5)),
        ({"y": slice(5, None, HUGE), "x": slice(0, 2)}, [[37.0, 45.0]]),
        ({"y": [3], "x": [0, 2]}, [[25.0, 41.0]]),
        (points, [25.0, 69.0]),
    ):
        tracemalloc.start()
        values = dataset["xc"].isel(key).values
        # xarray itself writes out the positions along both axes before it selects some.
        assert tracemalloc.get_traced_memory()[1] < 8 * 8 * HUGE
        tracemalloc.stop()
        np.testing.assert_array_equal(values - 100, expected)
