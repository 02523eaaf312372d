"""Undeclared attributes of published stores that differ from the documents of conventions."""

from typing import Any

import numpy as np
import xarray as xr

from zarr_xgroup.tests.builders import UUIDS, Array, Group, Json, Nodes, declaring
from zarr_xgroup.tests.tables import check, outcome, rows

CELLS: Json = {"spatial:dimensions": ["y", "x"], "spatial:transform": [10, 0, 0, 0, -10, 100]}
UTM: Json = {"proj:code": "EPSG:32632"}
SIZES = {"y": 3, "x": 4, "time": 2, "z": 5}


def band(dims: str = "y x", *shape: int, **attributes: Any) -> Array:
    """Return an array of zeros, by default of 3 x 4 cells."""
    names = dims.split()
    return Array(np.zeros(shape or [SIZES[dim] for dim in names]), names, attributes)


def unnamed(*shape: int) -> Array:
    return Array(np.zeros(shape), None)


def boxed(box: list[float], transform: list[float]) -> Group:
    """Return a grid of 3 x 3 cells beside the box of all levels."""
    grid = {**CELLS, "spatial:transform": transform, "spatial:bbox": box}
    return Group({"a": band("y x", 3, 3)}, declaring("spatial", **grid))


def system(**identity: Any) -> Group:
    """Return an array in a coordinate reference system of `cs` that says which one it is."""
    axes = {name: {"coordinates": [{"values": {"regular": [0.5, 1.0]}}]} for name in ("y", "x")}
    return Group({"a": band(**declaring("cs", cs={"crs": [{**identity, "axes": axes}]}))})


def listed(*names: str) -> Json:
    """Return a declaration of conventions as members of an object."""
    return {"zarr_conventions": {name: {"version": "0.1.0"} for name in names}}


BY_UUID = [UUIDS["spatial"].upper(), UUIDS["proj"]]
LAYOUT = {"layout": [{"asset": "r10m", "spatial:transform": CELLS["spatial:transform"]}]}
BELOW = Group({
    "b": Group({"v": band(), "own": Group({"v": band(**CELLS, **{"proj:code": "EPSG:32633"})})}, {**CELLS, **UTM}),
    "bare": Group({"v": band()}),
})  # fmt: skip

#: A store, the names that are looked at, and what it opens as.
PUBLISHED: dict[str, tuple[Group | Nodes, str, str]] = {
    "bands of several sizes share the dimensions of their size": (
        Group(
            {"B01": band("Y X", 2, 2), "B02": band("Y X", 6, 6), "B05": band("Y X", 4, 4), "B8A": band("Y X", 4, 4), "TCI": band("band Y X", 3, 6, 6)},
            declaring("spatial", **{"spatial:dimensions": ["Y", "X"], "spatial:bbox": [0, 0, 12, 12]}),
        ), "X X_B02 X_B05 B01 B02 B05 B8A TCI", """
        X (X) 3.0 9.0 | axis=X
        X_B02 (X_B02) 1.0 3.0 5.0 7.0 9.0 11.0 | axis=X
        X_B05 (X_B05) 1.5 4.5 7.5 10.5 | axis=X
        B01 (Y X) @ X Y
        B02 (Y_B02 X_B02) @ X_B02 Y_B02
        B05 (Y_B05 X_B05) @ X_B05 Y_B05
        B8A (Y_B05 X_B05) @ X_B05 Y_B05
        TCI (band Y_B02 X_B02) @ X_B02 Y_B02
        ! Dimension: /B02, /B05, /B8A, /TCI: /B02#/dimension_names and 3 more: other arrays of the group have different sizes along its dimensions; renamed 'Y' -> 'Y_B02', 'X' -> 'X_B02', 'Y' -> 'Y_B05', 'X' -> 'X_B05'
        """),
    "the last dimensions without names are those of the grid": (
        Group({"TCI": unnamed(3, 4, 4), "red": unnamed(4, 4), "profile": unnamed(9)}, declaring("spatial", **CELLS)), "x y TCI red profile", """
        x (x) 5.0 15.0 25.0 35.0 | axis=X
        y (y) 95.0 85.0 75.0 65.0 | axis=Y
        TCI (phony_dim_0 y x) @ x y
        profile (phony_dim_1)
        red (y x) @ x y
        ! Dimension: /TCI#/dimension_names: has no usable names for axes [0, 1, 2]; its dimensions are named ['phony_dim_0', 'y', 'x']
        ! Dimension: /profile#/dimension_names: has no usable names for dimensions; they are named phony_dim_0 and so on
        ! Dimension: /red#/dimension_names: has no usable names for axes [0, 1]; its dimensions are named ['y', 'x']
        """),
    "so they are of arrays with more": (Group({"a": unnamed(2, 3, 4, 5)}, declaring("spatial", **CELLS)), "x y a", """
        x (x) 5.0 15.0 25.0 35.0 45.0 | axis=X
        y (y) 95.0 85.0 75.0 65.0 | axis=Y
        a (phony_dim_0 phony_dim_1 y x) @ x y
        ! Dimension: /a#/dimension_names: has no usable names for axes [0, 1, 2, 3]; its dimensions are named ['phony_dim_0', 'phony_dim_1', 'y', 'x']
        """),
    "a box that the last cells of a level overhang is the same": (boxed([0, 50, 50, 100], [20, 0, 0, 0, -20, 100]), "x", "x (x) 10.0 30.0 50.0 | axis=X"),
    "a box that reaches one cell further is the same": (boxed([0, 20, 80, 100], [20, 0, 0, 0, -20, 100]), "x", "x (x) 10.0 30.0 50.0 | axis=X"),
    "a box that reaches a bit further is another one": (boxed([0, 40, 81, 100], [20, 0, 0, 0, -20, 100]), "x", """
        x (x) 10.0 30.0 50.0 | axis=X
        ! Resolution: /a: /#/attributes/spatial:bbox: is [0.0, 40.0, 81.0, 100.0], but the transform gives [0.0, 40.0, 60.0, 100.0], which is used
        """),
    "so is one that does along the other axis": (boxed([0, 19, 60, 100], [20, 0, 0, 0, -20, 100]), "x", """
        x (x) 10.0 30.0 50.0 | axis=X
        ! Resolution: /a: /#/attributes/spatial:bbox: is [0.0, 19.0, 60.0, 100.0], but the transform gives [0.0, 40.0, 60.0, 100.0], which is used
        """),
    "cells that are longer than wide count along each axis": (boxed([0, 0, 9, 300], [1, 0, 0, 0, -100, 300]), "x", """
        x (x) 0.5 1.5 2.5 | axis=X
        ! Resolution: /a: /#/attributes/spatial:bbox: is [0.0, 0.0, 9.0, 300.0], but the transform gives [0.0, 0.0, 3.0, 300.0], which is used
        """),
    "a number of EPSG in a CRS of cs": (system(**{"proj:epsg": 32632}), "spatial_ref", "spatial_ref () EPSG:32632"),
    "a number of EPSG as its id": (system(id={"proj:epsg": 32632}), "spatial_ref", "spatial_ref () EPSG:32632"),
    "the id takes precedence over its siblings": (system(**{"proj:epsg": 32632}, id={"proj:epsg": 32633}), "spatial_ref", "spatial_ref () EPSG:32633"),
    "conventions as members of an object, by uuid": (Group({"a": band()}, {**listed(*BY_UUID), **CELLS, **UTM}), "a x spatial_ref", """
        spatial_ref () EPSG:32632
        x (x) 5.0 15.0 25.0 35.0 | axis=X long_name=Easting standard_name=projection_x_coordinate units=m
        a (y x) @ spatial_ref x y | grid_mapping=spatial_ref
        """),
}  # fmt: skip


@rows(PUBLISHED, "nodes, names, expected")
def test_published_stores(nodes: Any, names: str, expected: str) -> None:
    check(nodes, expected, only=names)


# How far a declaration reaches.

#: Groups below a root that declares conventions, and what they open as.
REACH: dict[str, tuple[Group | Nodes, str]] = {
    "attributes with a prefix, about arrays of their group": (Group({"a": BELOW}, declaring("spatial", "proj")), """
        /:
        /a:
        /a/b:
        spatial_ref () EPSG:32632
        x (x) 5.0 15.0 25.0 35.0 | axis=X long_name=Easting standard_name=projection_x_coordinate units=m
        v (y x) @ spatial_ref x y | grid_mapping=spatial_ref
        /a/bare:
        v (y x)
        /a/b/own:
        spatial_ref () EPSG:32633
        x (x) 5.0 15.0 25.0 35.0 | axis=X long_name=Easting standard_name=projection_x_coordinate units=m
        v (y x) @ spatial_ref x y | grid_mapping=spatial_ref
        """),
    "a layout": (
        Group({"m": Group({"r10m": Group({"v": band()})}, {"spatial:dimensions": ["y", "x"], "multiscales": LAYOUT})}, declaring("spatial", "multiscales")), """
        /:
        /m:
        /m/r10m:
        x (x) 5.0 15.0 25.0 35.0 | axis=X
        v (y x) @ x y
        """),
    "not another convention that has the prefix": (
        Group({"g": Group({"v": band()}, CELLS)}, {"zarr_conventions": [{"uuid": UUIDS["cs"], "name": "spatial"}]}), "/:\n/g:\nv (y x)"),
}  # fmt: skip


@rows(REACH)
def test_a_declaration_of_the_root_holds_for_groups_below(nodes: Any, expected: str) -> None:
    groups = check(nodes, expected, only="x v spatial_ref", function=xr.open_groups)
    for path, dataset in groups.items():
        xr.testing.assert_identical(outcome(nodes, group=path)[0], dataset)


# Scales and translations with a number for each axis of the data.

SCALES: dict[str, tuple[str, list[float], list[float]]] = {
    "all axes": ("time y x", [1, 2, 4], [0, 0.5, 1]),
    "the grid first": ("y x time", [2, 4, 1], [0.5, 1, 0]),
    "another axis between those of the grid": ("x time y", [4, 1, 2], [1, 0, 0.5]),
    "those of the grid alone": ("time y x", [2, 4], [0.5, 1]),
    "two more axes": ("time z y x", [1, 7, 2, 4], [0, 7, 0.5, 1]),
}


def pyramid(level: dict[str, Array], transform: Json) -> Group:
    """Return two levels, the second of which follows from the first."""
    layout = [{"asset": "0"}, {"asset": "1", "derived_from": "0", "transform": transform}]
    attributes = declaring("spatial", "multiscales", multiscales={"layout": layout})
    full = Group({"d": band("time y x", 2, 5, 5)}, CELLS)
    return Group({"0": full, "1": Group(level)}, {**attributes, "spatial:dimensions": ["y", "x"]})


@rows(SCALES, "dims, scale, translation")
def test_scales_may_have_a_number_for_each_axis(dims: str, scale: Any, translation: Any) -> None:
    # A level's mask has fewer axes than its data.
    level = {"d": band(dims, *(2 for _dim in dims.split())), "mask": band("y x", 2, 2)}
    expected = "x (x) 30.0 70.0 | axis=X\ny (y) 85.0 65.0 | axis=Y\nmask (y x) @ x y"
    nodes = pyramid(level, {"scale": scale, "translation": translation})
    check(nodes, expected, group="1", only="x y mask")


def test_a_wrong_count_of_numbers_is_reported() -> None:
    _dataset, told = outcome(pyramid({"d": band("y x", 2, 2)}, {"scale": [1, 2, 2]}), group="1")
    assert [line.rpartition("/transform/")[2] for line in told] == [
        "d (y x)",
        "scale: must be 2 finite numbers, got [1, 2, 2]",
    ]
