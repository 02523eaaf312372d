"""The names of dimensions: declared, generated, renamed, and taken from ancestors."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import xarray as xr

from zarr_xgroup.metadata.dimensions import declared_dimensions, dimension_references
from zarr_xgroup.tests.builders import (
    Array,
    Group,
    build,
    coordinate,
    declaring,
    edit,
    opened_with_warnings,
    stored,
    update,
)
from zarr_xgroup.tests.tables import brief, check, rows, store_of

# As declared.


def v3(shape: Any, names: Any = None, /, **attributes: Any) -> dict[str, Any]:
    """Return the document of an array."""
    named = {} if names is None else {"dimension_names": names}
    document = {"zarr_format": 3, "node_type": "array", "shape": shape}
    return {**document, **named, "attributes": attributes}


def v2(shape: Any, names: Any = None, /, **others: Any) -> dict[str, Any]:
    """Return the document of an array; other members stand beside its attributes."""
    attributes = {} if names is None else {"_ARRAY_DIMENSIONS": names}
    return {"zarr_format": 2, "shape": shape, "attributes": attributes, **others}


def nczarr(names: Any, key: str = "dimrefs") -> dict[str, Any]:
    return v2([2, 3], _NCZARR_ARRAY={key: names})


DECLARED: dict[str, tuple[Any, tuple[str | None, ...]]] = {
    "v3": (v3([2, 3], ["y", "x"]), ("y", "x")),
    "v2": (v2([2, 3], ["y", "x"]), ("y", "x")),
    "none": (v3([2, 3]), (None, None)),
    "one": (v3([2, 3], ["y", None]), ("y", None)),
    "one name twice": (v3([2, 2], ["x", "x"]), ("x", "x")),
    "too many": (v3([2, 3], ["z", "y", "x"]), (None, None)),
    "names of a scalar": (v3([], ["x"]), ()),
    "an object": (v3([2, 3], {"y": 0, "x": 1}), (None, None)),
    "a number among names": (v3([2, 3], ["y", 5]), ("y", None)),
    "attribute of xarray in v3": (v3([2], _ARRAY_DIMENSIONS=["x"]), ("x",)),
    "with names of v3": (v3([2], ["x"], _ARRAY_DIMENSIONS=["other"]), ("x",)),
    "with too many names of v3": (v3([2], ["x", "y"], _ARRAY_DIMENSIONS=["other"]), ("other",)),
    "NCZarr": (nczarr(["/g/y", "/x"]), ("y", "x")),
    "NCZarr, another key": (nczarr(["/g/y", "/x"], "dimension_references"), ("y", "x")),
    "NCZarr, another type": (v2([2], _NCZARR_ARRAY=["dimrefs"]), (None,)),
    "NCZarr in attributes": (v3([2], None, _nczarr_array={"dimrefs": ["/x"]}), ("x",)),
    "NCZarr's and xarray's": (v2([2], ["x"], _NCZARR_ARRAY={"dimrefs": ["/y"]}), ("x",)),
}  # fmt: skip


@rows(DECLARED, "document, names")
def test_declared_names(document: dict[str, Any], names: tuple[str | None, ...]) -> None:
    assert declared_dimensions(document) == names


BOTH = ["/y", "/x"]
REFERENCES: dict[str, tuple[list[Any], tuple[str | None, ...]]] = {
    "paths": ([{"dimrefs": ["/g/y", "/x"]}], ("/g/y", "/x")),
    "a relative one": ([{"dimrefs": ["y", "/x"]}], (None, "/x")),
    "too few": ([{"dimrefs": ["/x"]}], (None, None)),
    "of two forms the one that fits": ([{"dimrefs": ["/x"]}, {"dimrefs": BOTH}], ("/y", "/x")),
}  # fmt: skip


@rows(REFERENCES, "written, paths")
def test_references_of_nczarr_are_paths_from_the_root(
    written: list[Any], paths: tuple[str | None, ...]
) -> None:
    members = dict(zip(("_NCZARR_ARRAY", "_nczarr_array"), written, strict=False))
    assert dimension_references(v2([2, 3], **members)) == paths
    assert dimension_references(v3([2, 3], **members)) == paths


# Made up, or renamed.

P0, P1, P2, P3 = (f"phony_dim_{number}" for number in range(4))
FITTING: dict[str, tuple[dict[str, tuple[list[int], Any]], dict[str, tuple[str, ...]]]] = {
    "none of one axis": ({"v": ([4, 5, 6], ["t", None, "x"])}, {"v": ("t", P0, "x")}),
    "none of three arrays":
        ({"a": ([4, 5], None), "b": ([5], None), "c": ([6, 4], None)}, {"a": (P0, P1), "b": (P1,), "c": (P2, P0)}),
    "none of two axes of one size":
        ({"a": ([4], None), "b": ([5], None), "c": ([4, 5, 4], None)}, {"a": (P0,), "b": (P2,), "c": (P0, P2, P1)}),
    "none, with dimensions of these names": ({"a": ([4, 5], None), "b": ([7, 8], [P0, P2])}, {"a": (P1, P3)}),
    "the later array by name": ({"a": ([2, 3], "yx"), "b": ([2, 4], "yx")}, {"b": ("y", "x_b")}),
    "not the dimension's coordinate": ({"a": ([4], "x"), "x": ([3], "x"), "z": ([3], "x")}, {"a": ("x_a",)}),
    "a 2-D array of the name": ({"a": ([4], "x"), "x": ([3, 2], "xy")}, {"x": ("x_x", "y")}),
    "a name twice": ({"a": ([2, 3], "xx")}, {"a": ("x", "x_a")}),
    "a new name that is taken": ({"a": ([2, 5], ["x", "x_b"]), "b": ([3], "x")}, {"b": ("x_b_b",)}),
    "arrays of a size share the new name":
        ({"b1": ([2, 2], "yx"), "b2": ([6, 6], "yx"), "b5": ([4, 4], "yx"), "t": ([6, 6], "yx")},
         {"b2": ("y_b2", "x_b2"), "b5": ("y_b5", "x_b5"), "t": ("y_b2", "x_b2")}),
    "with the name of a scalar": ({"a": ([2], "s"), "b": ([2], "s"), "s": ([], "")}, {"a": ("s_a",), "b": ("s_a",)}),
}  # fmt: skip


@rows(FITTING, "arrays, renamed")
def test_names_of_dimensions_fit_together(
    arrays: Mapping[str, tuple[list[int], Any]], renamed: dict[str, tuple[str, ...]]
) -> None:
    members = {
        name: Array(np.zeros(shape), None if names is None else tuple(names))
        for name, (shape, names) in arrays.items()
    }
    dataset, told = opened_with_warnings(xr.open_dataset, store_of(Group(members)))
    named = {name: tuple(names or ()) for name, (_shape, names) in arrays.items()}
    assert {name: dataset[name].dims for name in arrays} == {**named, **renamed}
    assert {path for warning in told for path in warning.paths} == {f"/{name}" for name in renamed}


DISAGREEING = Group(
    {"a": stored([1, 2], "x"), "b": stored([3, 4, 5], "x"), "x": stored([6, 7], "x")}
)
NAMELESS = Group(
    {"a": Array([[1, 2]], None), "b": Array([3, 4], None), "v": stored([[1, 1, 1]], "y x")}
)
TOLD: dict[str, tuple[Any, str]] = {
    "another size": (
        build(DISAGREEING, 2),
        """
        x (x) 6 7
        a (x) @ x
        b (x_b)
        ! Dimension: /b#/attributes/_ARRAY_DIMENSIONS: other arrays of the group have different sizes along its dimensions; renamed 'x' -> 'x_b'
        """,
    ),
    "no names, or too few": (
        edit(build(NAMELESS), "v/zarr.json", update(dimension_names=["x"])),
        """
        a (phony_dim_0 phony_dim_1)
        b (phony_dim_1)
        v (phony_dim_0 phony_dim_2)
        ! Dimension: /a, /b, /v: /a#/dimension_names and 2 more: has no usable names for dimensions; they are named phony_dim_0 and so on
        """,
    ),
    "a name from a convention of another size": (
        Group(
            {
                "a": stored([1, 2, 3], "x"),
                "v": Array(np.zeros((7, 4, 5)), None, declaring("spatial")),
            },
            {"spatial:dimensions": ["y", "x"]},
        ),
        """
        a (x)
        v (phony_dim_0 y x_v)
        ! Dimension: /v#/dimension_names: has no usable names for axes [0, 1, 2]; its dimensions are named ['phony_dim_0', 'y', 'x']
        ! Dimension: /v#/dimension_names: other arrays of the group have different sizes along its dimensions; renamed 'x' -> 'x_v'
        ! Resolution: /v: 'spatial' is declared, but there is neither spatial:transform, nor spatial:bbox, nor 1-D arrays y, x, so these dimensions get no coordinates
        """,
    ),
    "a pyramid without names of dimensions, reported once": (
        Group(
            {f"{n}": Array(np.zeros((3, 64 >> n, 64 >> n)), None) for n in range(6)},
            declaring("spatial", **{"spatial:dimensions": ["y", "x"]}),
        ),
        """
        0 (phony_dim_0 y x)
        1 (phony_dim_0 y_1 x_1)
        2 (phony_dim_0 y_2 x_2)
        3 (phony_dim_0 y_3 x_3)
        4 (phony_dim_0 y_4 x_4)
        5 (phony_dim_0 y_5 x_5)
        ! Dimension: /0, /1, /2, /3, /4, /5: /0#/dimension_names and 5 more: has no usable names for axes [0, 1, 2]; its dimensions are named ['phony_dim_0', 'y', 'x']
        ! Dimension: /1, /2, /3, /4, /5: /1#/dimension_names and 4 more: other arrays of the group have different sizes along its dimensions; renamed 'y' -> 'y_1', 'x' -> 'x_1', 'y' -> 'y_2', 'x' -> 'x_2', 'y' -> 'y_3', 'x' -> 'x_3' and 2 more
        ! Resolution: /0, /1, /2, /3, /4, /5: 'spatial' is declared, but there is neither spatial:transform, nor spatial:bbox, nor 1-D arrays y, x, so these dimensions get no coordinates
        """,
    ),
}


@rows(TOLD)
def test_warnings_about_invalid_dimension_names(nodes: Any, expected: str) -> None:
    check(nodes, expected)


def test_chunks_go_with_a_renamed_dimension() -> None:
    root = Group({"a": stored([1], "x"), "b": Array([3, 4, 5], ("x",), chunks=(2,))})
    dataset, _told = opened_with_warnings(xr.open_dataset, store_of(root), chunks={})
    assert dataset["b"].encoding["preferred_chunks"] == {"x_b": 2}
    assert dataset["b"].chunks == ((2, 1),)


# Names from conventions.

HINTED: dict[str, tuple[list[int], Any, tuple[str, ...]]] = {
    "all": ([4, 5], None, ("y", "x")),
    "the last of several": ([9, 4, 5], None, (P0, "y", "x")),
    "only those without a name": ([4, 4, 4], ["t", None, None], ("t", "y", "x")),
    "each name once": ([4, 5], ["y", None], ("y", "x")),
    "not one that has another name": ([9, 4, 5], [None, "lat", None], (P0, "lat", "x")),
    "more names than axes": ([4], None, (P0,)),
}  # fmt: skip


@rows(HINTED, "shape, names, expected")
def test_conventions_name_the_last_axes(
    shape: list[int], names: Any, expected: tuple[str, ...]
) -> None:
    grid = declaring("spatial", **{"spatial:dimensions": ["y", "x"]})
    root = Group({"v": Array(np.zeros(shape), names)}, grid)
    dataset, _told = opened_with_warnings(xr.open_dataset, store_of(root))
    assert dataset["v"].dims == expected


# Dimensions of groups above.

ROOT_TIME = coordinate("time", [1, 2], long_name="root's")
IN_TIME = stored([7, 8], "/time")
ABOVE: dict[str, tuple[Any, str]] = {
    "the root, one of several dimensions":
        ({"time": ROOT_TIME, "g/deep/v": stored([[[7]], [[8]]], "/time y x")}, "time (time) 1 2 | long_name=root's; v (time y x) @ time"),
    "without an array along it":
        ({"time": stored([1, 2], "x"), "w": stored([1, 2], "time"), "g/deep/v": IN_TIME}, "v (time)"),
    "the nearest, of another length, and what is nowhere":
        ({"time": ROOT_TIME, "g/time": coordinate("time", [5, 6, 7]), "g/deep/a": IN_TIME, "g/deep/b": stored([7, 8], "/nowhere"), "g/deep/c": stored([7, 8], "/"), "g/deep/d": stored([7, 8], "/g/time")},
         "a (/time); b (/nowhere); c (/); d (/g/time); ! Dimension /g/deep/a"),
    "called by the path of the nearest where the group has something else called so":
        ({"time": ROOT_TIME, "g/time": coordinate("time", [5, 6]), "g/deep/time": stored(0), "g/deep/v": IN_TIME, "g/deep/w": IN_TIME},
         "g_time (g_time) 5 6; time (); v (g_time) @ g_time; w (g_time) @ g_time; ! Dimension /g/deep"),
    "both along one array, and the longer name is taken as well":
        ({"time": ROOT_TIME, "g/deep/root_time": stored(1), "g/deep/v": stored([[1, 2, 3], [4, 5, 6]], ("/time", "time"))},
         "root_time_1 (root_time_1) 1 2 | long_name=root's; root_time (); v (root_time_1 time) @ root_time_1; ! Dimension /g/deep"),
    "what a convention declares goes before it":
        ({"time": ROOT_TIME, "g/deep/v": stored([7, 8], "/time", **declaring("ref", to={"node": "/axes/time"})), "axes/time": coordinate("time", [3, 4])},
         'time (time) 3 4; v (time) @ time | to={"node": "/axes/time"}'),
}  # fmt: skip


def below(nodes: Mapping[str, Any]) -> dict[str, Any]:
    """Return nodes with the groups that they are in."""
    return {"": {}, "axes": {}, "g": {}, "g/deep": {}, **nodes}


@rows(ABOVE)
def test_a_name_with_a_slash_is_a_dimension_of_the_nearest_group_above(
    nodes: dict[str, Any], expected: str
) -> None:
    assert brief(below(nodes), group="g/deep") == expected


OWN_TIMES: dict[str, tuple[dict[str, Group | Array], str]] = {
    "longer":
        ({"time": coordinate("time", [30, 40, 50])},
         "root_time (root_time) 1 2 | long_name=root's; time (time) 30 40 50; v (root_time) @ root_time; ! Dimension /g/deep"),
    "along another dimension":
        ({"time": stored([1, 2, 3], "x")}, "root_time (root_time) 1 2 | long_name=root's; time (x); v (root_time) @ root_time; ! Dimension /g/deep"),
    "along that of the group above":
        ({"time": stored([30, 40], "/time")},
         "root_time (root_time) 1 2 | long_name=root's; time (root_time) @ root_time; v (root_time) @ root_time; ! Dimension /g/deep"),
    "a dimension only":
        ({"w": stored([1, 2, 3], "time")}, "root_time (root_time) 1 2 | long_name=root's; v (root_time) @ root_time; w (time); ! Dimension /g/deep"),
}  # fmt: skip


@rows(OWN_TIMES, "own, expected")
def test_the_time_of_an_ancestor_is_renamed_if_the_group_has_its_own(
    own: dict[str, Group | Array], expected: str
) -> None:
    root = Group({"time": ROOT_TIME, "g": Group({"deep": Group({**own, "v": IN_TIME})})})
    assert brief(root, group="g/deep") == expected


TIMED = {
    "time": coordinate("time", [1, 2], bounds="time_bnds"),
    "time_bnds": stored([[0, 1], [1, 2]], "time nv"),
    "g/deep/v": IN_TIME,
}
LEVELS = {
    "lev": coordinate(
        "lev", [1, 2], formula_terms="a: a b: b ps: ps", ancillary_variables="flag missing"
    ),
    "a": stored([10, 20], "lev"),
    "b": stored([0, 1], "lev"),
    "ps": stored([[1, 2]], "time x"),
    "flag": stored([0, 1], "lev"),
}
COMPANIONS: dict[str, tuple[Any, str]] = {
    "climatological bounds, without names of dimensions":
        ({**TIMED, "time": coordinate("time", [1, 2], climatology="time_bnds"), "time_bnds": Array([[0, 1], [1, 2]], ("time", None))},
         "time (time) 1 2 | climatology=time_bnds; time_bnds (time bounds) [[0 1] [1 2]]; v (time) @ time"),
    "bounds are renamed with their coordinate":
        ({**TIMED, "g/deep/time": coordinate("time", [3], bounds="time_bnds"), "g/deep/time_bnds": stored([[2, 3]], "time nv")},
         "root_time (root_time) 1 2 | bounds=root_time_bnds; root_time_bnds (root_time nv) [[0 1] [1 2]]; time (time) 3 | bounds=time_bnds; time_bnds (time nv) @ time; v (root_time) @ root_time; ! Dimension /g/deep"),
    "bounds whose name is something else":
        ({**TIMED, "g/deep/time_bnds": stored(5)},
         "time (time) 1 2 | bounds=time_bnds_1; time_bnds_1 (time nv) [[0 1] [1 2]]; time_bnds (); v (time) @ time; ! Name /g/deep/v"),
    "terms of a formula, whatever their dimensions, and ancillary variables":
        ({**LEVELS, "a": Array([[10, 20], [30, 40]], (None, "lev")), "b": Array([[10, 20], [30, 40]], ("lev", "lev")), "g/deep/v": stored([[1, 2], [3, 4]], "/lev x")},
         "a (a_dim_0 lev) [[10 20] [30 40]]; b (lev b_dim_1) [[10 20] [30 40]]; flag (lev) 0 1; lev (lev) 1 2 | ancillary_variables=flag missing formula_terms=a: a b: b ps: ps; ps (time x) [[1 2]]; v (lev x) @ flag lev"),
    "terms are renamed with their coordinate":
        ({**LEVELS, "g/deep/v": stored([1, 2], "/lev"), "g/deep/lev": coordinate("lev", [5]), "g/deep/b": stored([6], "lev")},
         "lev (lev) 5; root_a (root_lev) 10 20; root_b (root_lev) 0 1; root_flag (root_lev) 0 1; root_lev (root_lev) 1 2 | ancillary_variables=root_flag missing formula_terms=a: root_a b: root_b ps: root_ps; root_ps (time x) [[1 2]]; b (lev) @ lev; v (root_lev) @ root_a root_b root_flag root_lev; ! Dimension /g/deep"),
}  # fmt: skip


@rows(COMPANIONS)
def test_arrays_named_by_the_coordinate_of_an_ancestor_are_attached(
    nodes: dict[str, Any], expected: str
) -> None:
    assert brief(below(nodes), group="g/deep") == expected


@pytest.mark.parametrize("bounds", ["nowhere", "wide", "across", 5])
def test_invalid_bounds_are_not_attached(bounds: Any) -> None:
    nodes = {
        "time": coordinate("time", [1, 2], bounds=bounds),
        "wide": stored(np.ones((2, 2, 2)), "time y x"),
        "across": stored(np.ones((2, 2)), "nv time"),
        "g/deep/v": IN_TIME,
    }
    dataset, _told = opened_with_warnings(xr.open_dataset, store_of(below(nodes)), group="g/deep")
    assert set(dataset.coords) == {"time"}


# Arrays that are attached to one whose dimensions are renamed.


def _axis(**item: Any) -> Any:
    return {"coordinates": [item]}


def _cs(**axes: Any) -> Any:
    return declaring("cs", cs={"crs": [{"axes": axes}]})


def _spatial(left: float, *more: str, **attributes: Any) -> Any:
    grid = {"spatial:dimensions": ["y", "x"], "spatial:transform": [10, 0, left, 0, -10, 0]}
    return declaring("spatial", *more, **grid, **attributes)


PAIR = Group({"c2d": stored([[1, 2], [3, 4]], "y x"), "c1d": stored([5, 6], "x")})
X_OF_ARR = "! Dimension: /d/arr#/dimension_names: other arrays of the group have different sizes along its dimensions; renamed 'x' -> 'x_arr'"
BOTH_ATTACHED = f"""
    c1d (x_arr) 5 6
    c2d (y x_arr) [[1 2] [3 4]]
    AA (x)
    arr (x_arr y) @ c1d c2d
    {X_OF_ARR}
"""
SIGMA: Any = {"formula": "sigma", "terms": {"ps": {"external": {"node": "/l/ps"}}}}
#: The group `d` of a store, with neighbours of different sizes or values.
NEIGHBOURS: dict[str, tuple[Any, str]] = {
    "coordinates by CF": (
        {"l": PAIR, "d": Group({"AA": stored([1, 2, 3], "x"), "arr": stored(np.ones((2, 2)), "x y", **declaring("CF", coordinates="/l/c2d /l/c1d"))})},
        BOTH_ATTACHED,
    ),
    "coordinates by ref": (
        {"l": PAIR, "d": Group({"AA": stored([1, 2, 3], "x"), "arr": stored(np.ones((2, 2)), "x y", **declaring("ref", ref=[{"node": "/l/c2d"}, {"node": "/l/c1d"}]))})},
        BOTH_ATTACHED,
    ),
    "a geolocation": (
        {"l": PAIR, "d": Group({"AA": stored([1, 2, 3], "x"), "arr": stored(np.ones((2, 2)), "x y", **declaring("geolocation", "ref", geolocation={"geodetic": {"x": {"node": "/l/c2d"}, "y": {"node": "/l/c2d"}}}))})},
        f"""
        c2d (y x_arr) [[1 2] [3 4]] | standard_name=longitude
        AA (x)
        arr (x_arr y) @ c2d
        {X_OF_ARR}
        """,
    ),
    "a formula term": (
        {"l": Group({"ps": stored([5, 6], "lat")}), "d": Group({
            "AA": stored([1, 2, 3], "lat"),
            "arr": stored(np.ones((2, 2)), "lev lat", **_cs(lev=_axis(values={"explicit": [1, 2]}, parametric=SIGMA), lat=_axis(values={"regular": [0, 1]})))})},
        """
        lat_arr (lat_arr) 0 1
        lev (lev) 1 2 | formula_terms=ps: ps standard_name=sigma
        ps (lat_arr) 5 6
        AA (lat)
        arr (lev lat_arr) @ lat_arr lev ps
        ! Dimension: /d/arr#/dimension_names: other arrays of the group have different sizes along its dimensions; renamed 'lat' -> 'lat_arr'
        """,
    ),
    "a linked array, beside a grid at a different place": (
        {"l": Group({"lon": stored([[1, 2], [3, 4]], "y x")}), "d": Group({
            "AA": stored(np.ones((2, 2)), "y x", **_spatial(0)),
            "arr": stored(np.ones((2, 2)), "y x", **_spatial(50, "CF", coordinates="/l/lon"))})},
        """
        lon (y x_arr) [[1 2] [3 4]]
        x (x) 5.0 15.0 | axis=X
        x_arr (x_arr) 55.0 65.0 | axis=X
        y (y) -5.0 -15.0 | axis=Y
        AA (y x) @ x y
        arr (y x_arr) @ lon x_arr y
        ! Dimension: /d/arr: other arrays of the group have different coordinate values along its dimensions; renamed 'x' -> 'x_arr'
        """,
    ),
    "bounds of as many cells as sides": (
        {"l": Group({"bnd": stored([[-4, 4], [6, 14]], "y nv")}), "d": Group({
            "a": stored([1, 2, 3], "y"),
            "b": stored([1, 2], "y", **_cs(y=_axis(values={"explicit": [0, 10]}, boundaries={"external": {"node": "/l/bnd"}})))})},
        """
        y_b (y_b) 0 10 | bounds=y_b_bounds
        y_b_bounds (y_b bounds) [[-4 4] [6 14]]
        a (y)
        b (y_b) @ y_b
        ! Dimension: /d/b#/dimension_names: other arrays of the group have different sizes along its dimensions; renamed 'y' -> 'y_b'
        """,
    ),
    "the axis of a dimension of an ancestor": (
        {"y": stored([7, 8], "y"), "d": Group({"y": stored([1, 2, 3], "y"), "b": stored([1, 2], "/y", **_cs(y=_axis(values={"explicit": [5, 6]})))})},
        """
        root_y (root_y) 5 6
        y (y) 1 2 3
        b (root_y) @ root_y
        ! Dimension: /d: the dimension '/y' of its arrays (from group /) and its coordinate are named 'root_y', because the group itself has the name 'y'
        """,
    ),
}  # fmt: skip


@rows(NEIGHBOURS)
def test_dimensions_are_renamed_with_all_that_is_attached(nodes: Any, expected: str) -> None:
    check(Group(nodes), expected, group="d")
