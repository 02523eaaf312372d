"""Conventions that a user assumes: the option `assume_conventions`, and STAC's `proj`."""

import ast
import inspect
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyproj
import pytest
import xarray as xr
import zarr

import zarr_xgroup
from zarr_xgroup import ConventionHandler, XGroupNoPrincipalWarning, register
from zarr_xgroup.tests import products
from zarr_xgroup.tests.builders import (
    Array,
    Group,
    build,
    coordinate,
    declaring,
    edit,
    memory_store,
    opened,
    oracle,
    quietly,
    recorded,
    update,
)
from zarr_xgroup.tests.documents import STORES
from zarr_xgroup.tests.tables import check, outcome, rows, store_of

WKT1 = (
    'PROJCS["WGS 84 / UTM zone 32N",GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,'
    '298.257223563,AUTHORITY["EPSG","7030"]],AUTHORITY["EPSG","6326"]],PRIMEM["Greenwich",0,'
    'AUTHORITY["EPSG","8901"]],UNIT["degree",0.0174532925199433,AUTHORITY["EPSG","9122"]],'
    'AUTHORITY["EPSG","4326"]],PROJECTION["Transverse_Mercator"],'
    'PARAMETER["latitude_of_origin",0],PARAMETER["central_meridian",9],'
    'PARAMETER["scale_factor",0.9996],PARAMETER["false_easting",500000],'
    'PARAMETER["false_northing",0],UNIT["metre",1,AUTHORITY["EPSG","9001"]],'
    'AXIS["Easting",EAST],AXIS["Northing",NORTH],AUTHORITY["EPSG","32632"]]'
)
CODE = {"proj:epsg": 32632, "proj:wkt2": WKT1}
TRANSFORM = [10.0, 0.0, 300000.0, 0.0, -10.0, 5000040.0]
#: What a product of EOPF writes on a band of 3 x 4 cells.
STAC = {
    **CODE,
    "proj:shape": [3, 4],
    "proj:transform": [*TRANSFORM, 0.0, 0.0, 1.0],
    "proj:bbox": [300000.0, 5000010.0, 300040.0, 5000040.0],
}
X, Y = [300005.0, 300015.0, 300025.0, 300035.0], [5000035.0, 5000025.0, 5000015.0]
SIZES = {"x": 4, "y": 3, "X": 4, "Y": 3, "t": 2, "r": 3, "c": 4, "k": 4}
METRES = """
    spatial_ref () EPSG:32632
    x (x) 300005.0 300015.0 300025.0 300035.0 | axis=X long_name=Easting standard_name=projection_x_coordinate units=m
    y (y) 5000035.0 5000025.0 5000015.0 | axis=Y long_name=Northing standard_name=projection_y_coordinate units=m
"""


def zeros(dims: str = "y x", /, **attributes: Any) -> Array:
    names = dims.split()
    return Array(np.zeros([SIZES[dim] for dim in names], "f4"), names, attributes)


def band(dims: str = "y x", /, **changed: Any) -> Array:
    """Return a band of a product with attributes of STAC, or others; None leaves one out."""
    changed = {
        f"proj:{key}" if f"proj:{key}" in STAC or key in ("code", "projjson") else key: it
        for key, it in changed.items()
    }
    written = {key: it for key, it in {**STAC, **changed}.items() if it is not None}
    return zeros(dims, **written)


def alone(dims: str = "y x", /, **changed: Any) -> Group:
    return Group({"b02": band(dims, **changed)})


def located(**arrays: Array) -> Group:
    """Return arrays beside coordinates of their own."""
    return Group({"x": coordinate("x", X), "y": coordinate("y", Y), **arrays})


# The option.


@pytest.mark.parametrize("nothing", [None, (), []])
def test_nothing_is_assumed_by_default(nothing: Any) -> None:
    store = store_of(located(b02=band()))
    ours = opened(xr.open_dataset, store, assume_conventions=nothing)
    xr.testing.assert_identical(ours, oracle(xr.open_dataset, store))
    xr.testing.assert_identical(ours, opened(xr.open_dataset, store))


@pytest.mark.parametrize("names", ["proj", "proj:", " PROJ", ["cf", "proj"], ("proj",), {"proj"}])
@pytest.mark.parametrize("function", [xr.open_dataset, xr.open_datatree, xr.open_groups])
def test_names_of_conventions(names: Any, function: Any) -> None:
    result = opened(function, store_of(located(b02=band())), assume_conventions=names)
    assert "spatial_ref" in (result["/"] if isinstance(result, dict) else result).coords


@pytest.mark.parametrize(
    ("names", "error", "text"),
    [
        ("nope", ValueError, r"unknown convention .*; known conventions are cf, "),
        (["proj", "nope"], ValueError, r"unknown convention .*; known conventions are cf, "),
        ("multiscales", ValueError, r"unknown convention .*; known conventions are cf, "),
        ("", ValueError, r"unknown convention .*; known conventions are cf, "),
        (5, TypeError, "assume_conventions must be the name of a convention or several names, got"),
        (
            [5],
            TypeError,
            "assume_conventions must be the name of a convention or several names, got",
        ),
        (
            {"proj": 1, 2: 3},
            TypeError,
            "assume_conventions must be the name of a convention or several names, got",
        ),
    ],
)
def test_unknown_names_of_conventions(names: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        xr.open_dataset(STORES / "roms_test.zarr", engine="xgroup", assume_conventions=names)


# What conventions give where they are assumed.

SPATIAL = {"spatial:dimensions": ["y", "x"], "spatial:transform": TRANSFORM}
BARE = """
    x (x) 300005.0 300015.0 300025.0 300035.0 | axis=X
    y (y) 5000035.0 5000025.0 5000015.0 | axis=Y
"""
GEODETIC = {"geodetic": {"x": {"node": "p"}, "y": {"node": "q"}}}
POINTS = {name: Array([[2.0]], ("y", "x")) for name in "pqr"}
CS = {"cs": {"crs": [{"axes": {"x": {"coordinates": [{"values": {"explicit": [1, 2, 3, 4]}}]}}}]}}
ROTATED = {"transform": [8.0, 6.0, 300000.0, 6.0, -8.0, 5000040.0], "bbox": None}
COLUMNS, ROWS = Array(X, ("c",), {"axis": "X"}), Array(Y, ("r",), {"axis": "Y"})
#: As it is written after `swap_dims(x="k")`.
SWAPPED = {
    "k": coordinate("k", np.arange(4.0)),
    "x": Array(X, ("k",), {"axis": "X"}),
    "y": coordinate("y", Y),
}

ASSUMED: dict[str, Any] = {
    "spatial, on an array": ("spatial", Group({"a": zeros(**SPATIAL)}), BARE),
    "spatial, on a group, for its grids": ("spatial", Group({"a": zeros(), "other": Array([1.0], ("z",))}, SPATIAL), BARE),
    "geolocation and ref": ("geolocation ref", Group({"v": Array([[1.0]], ("y", "x"), {"geolocation": GEODETIC, "more": {"node": "r"}}), **POINTS}), """
        p (y x) [[2.0]] | standard_name=longitude
        q (y x) [[2.0]] | standard_name=latitude
        r (y x) [[2.0]]
        """),
    "declared conventions take precedence over assumed ones": ("cs", Group({"v": zeros(**declaring("spatial", **CS, **SPATIAL))}), BARE),
    "assumed conventions, if none is declared": ("cs", Group({"v": zeros(**CS, **SPATIAL)}), "x (x) 1 2 3 4"),
    "a CRS and a transform of nine numbers, with own coordinates": ("proj", located(b02=band()), METRES),
    "a transform of six numbers": ("proj", located(b02=band(transform=TRANSFORM)), METRES),
    "without own coordinates": ("proj", alone(), METRES),
    "bands last, though named first of three": ("proj", alone("y x t", **{"spatial:dimensions": ["t", "y", "x"]}), METRES),
    "bands last, and names of the grid in another case": ("proj", alone("y x t", **{"spatial:dimensions": ["Y", "X"]}), METRES),
    "bands last": ("proj", alone("y x t"), METRES),
    "bands last, by their marks": ("auto", alone("y x t"), METRES),
    "x first of the names of the grid": ("proj", alone(**{"spatial:dimensions": ["x", "y"]}), METRES),
    "columns first, in capitals": ("proj", alone("X Y", shape=None), """
        X (X) 300005.0 300015.0 300025.0 300035.0 | axis=X long_name=Easting standard_name=projection_x_coordinate units=m
        Y (Y) 5000035.0 5000025.0 5000015.0 | axis=Y long_name=Northing standard_name=projection_y_coordinate units=m
        spatial_ref () EPSG:32632
        """),
    "a CRS by the older number": ("proj", alone(wkt2=None), METRES),
    "a CRS by PROJJSON": ("proj", alone(epsg=None, wkt2=None, projjson=pyproj.CRS(32632).to_json_dict()), METRES),
    "a box of zeros says nothing": ("proj", alone(bbox=[0.0] * 4), METRES),
    "one row, whose coordinates cannot say the transform": ("proj", Group({"b02": Array(np.zeros((1, 4)), ("y", "x"), {**STAC, "proj:shape": [1, 4], "proj:bbox": None})}), """
        spatial_ref () EPSG:32632 | GeoTransform=300000.0 10.0 0.0 5000040.0 0.0 -10.0
        x (x) 300005.0 300015.0 300025.0 300035.0 | axis=X long_name=Easting standard_name=projection_x_coordinate units=m
        y (y) 5000035.0 | axis=Y long_name=Northing standard_name=projection_y_coordinate units=m
        """),
    "a rotated grid": ("proj", alone(**ROTATED), """
        spatial_ref () EPSG:32632 | GeoTransform=300000.0 8.0 6.0 5000040.0 6.0 -8.0
        xc (y x) [[300007.0 300015.0 300023.0 300031.0] [300013.0 300021.0 300029.0 300037.0] [300019.0 300027.0 300035.0 300043.0]] | long_name=Easting standard_name=projection_x_coordinate units=m
        yc (y x) [[5000039.0 5000045.0 5000051.0 5000057.0] [5000031.0 5000037.0 5000043.0 5000049.0] [5000023.0 5000029.0 5000035.0 5000041.0]] | long_name=Northing standard_name=projection_y_coordinate units=m
        """),
    "a rotated grid with own coordinates": ("proj", located(b02=band(**ROTATED)), """
        spatial_ref () EPSG:32632
        x (x) 300005.0 300015.0 300025.0 300035.0
        y (y) 5000035.0 5000025.0 5000015.0
        """),
    "axes that own coordinates tell": ("proj", Group({"b02": band("r c"), "c": COLUMNS, "r": ROWS}), """
        c (c) 300005.0 300015.0 300025.0 300035.0 | axis=X long_name=Easting standard_name=projection_x_coordinate units=m
        r (r) 5000035.0 5000025.0 5000015.0 | axis=Y long_name=Northing standard_name=projection_y_coordinate units=m
        spatial_ref () EPSG:32632
        """),
    "another dimension in the place of x": ("proj", Group({"b02": band("y k", coordinates="x"), **SWAPPED}), """
        k (k) 0.0 1.0 2.0 3.0
        spatial_ref () EPSG:32632
        x (k) 300005.0 300015.0 300025.0 300035.0 | axis=X
        y (y) 5000035.0 5000025.0 5000015.0 | axis=Y long_name=Northing standard_name=projection_y_coordinate units=m
        """),
    "another dimension in the place of x, by GDAL": ("geozarr", Group({"b02": zeros("y k", GeoTransform="300000.0 10.0 0.0 5000040.0 0.0 -10.0", coordinates="x"), **SWAPPED}), """
        k (k) 0.0 1.0 2.0 3.0
        x (k) 300005.0 300015.0 300025.0 300035.0 | axis=X
        y (y) 5000035.0 5000025.0 5000015.0 | axis=Y
        """),
    "another shape": ("proj", alone(shape=[30, 40]), """
        spatial_ref () EPSG:32632
        ! Resolution: /b02#/attributes/proj:shape: is [30, 40], but the array has [3, 4] cells; proj:transform is not used
        """),
    "too few numbers": ("proj", alone(transform=[1.0, 2.0]), """
        spatial_ref () EPSG:32632
        ! Resolution: /b02 was opened without coordinates along y, x: /b02#/attributes/proj:transform: must be 6 finite numbers, got [1.0, 2.0]
        """),
    "cells without area": ("proj", alone(transform=[0.0] * 6), """
        spatial_ref () EPSG:32632
        ! Resolution: /b02 was opened without coordinates along y, x: /b02#/attributes/proj:transform: is degenerate: cells have no area
        """),
    "no affine transform": ("proj", alone(transform=[*TRANSFORM, 0.0, 0.5, 1.0]), """
        spatial_ref () EPSG:32632
        ! Resolution: /b02 was opened without coordinates along y, x: /b02#/attributes/proj:transform: is not an affine transform: its last row must be 0, 0, 1
        """),
    "a different box, reported once": ("proj", Group({"b02": band(bbox=[0.0, 0.0, 40.0, 30.0]), "b03": band(bbox=[0.0, 0.0, 40.0, 30.0])}), """
        spatial_ref () EPSG:32632
        x (x) 300005.0 300015.0 300025.0 300035.0 | axis=X long_name=Easting standard_name=projection_x_coordinate units=m
        y (y) 5000035.0 5000025.0 5000015.0 | axis=Y long_name=Northing standard_name=projection_y_coordinate units=m
        ! Resolution: /b02, /b03: /b02#/attributes/proj:bbox and 1 more: is [0.0, 0.0, 40.0, 30.0], but proj:transform gives [300000.0, 5000010.0, 300040.0, 5000040.0], which is used
        """),
}  # fmt: skip


def lines_of(names: str, root: Group) -> list[str]:
    return outcome(root, only="coords", assume_conventions=names.split())[1]


@rows(ASSUMED, "names, nodes, expected")
def test_results_of_assumed_conventions(names: str, nodes: Group, expected: str) -> None:
    assert lines_of(names, nodes) == [line.strip() for line in expected.strip().splitlines()]


def test_an_array_with_a_repeated_dimension_has_no_grid() -> None:
    twice = Array(np.zeros((3, 3)), ("x", "x"), {**CODE, "proj:transform": TRANSFORM})
    options: Any = {"engine": "xgroup", "assume_conventions": "proj"}
    dataset, _given = recorded(xr.open_dataset, store_of(Group({"b02": twice})), **options)
    assert set(dataset.coords) == {"spatial_ref"}


def test_a_transform_of_stac_is_used_only_if_proj_is_assumed() -> None:
    declared = Group({"b02": band(**declaring("proj"))})
    check(declared, "spatial_ref () EPSG:32632", only="coords")


def test_a_convention_of_a_third_party_can_be_assumed() -> None:
    class Marked(ConventionHandler):
        tier = "principal"
        name = "marked"

        @classmethod
        def detect(cls, root: zarr.Group, group: zarr.Group, array: "zarr.Array[Any]") -> bool:
            return "marked" in array.attrs

        def get_variables(
            self, array: "zarr.Array[Any]", group: zarr.Group, root: zarr.Group
        ) -> dict[str, xr.Variable]:
            return {"x": xr.Variable(("x",), [7.0, 8.0])}

    register(Marked)
    root = Group({"v": Array([1.0, 2.0], ("x",))})
    check(root, "v (x)")
    check(root, "x (x) 7.0 8.0", only="x", assume_conventions="marked")
    # By default, attributes with its name as prefix are its marks.
    assert option_in(warned(root)) is None
    marked = Group({"v": Array([1.0, 2.0], ("x",), {"marked:a": 1})})
    assert option_in(warned(marked)) == "marked"
    check(marked, "x (x) 7.0 8.0", only="x", assume_conventions="auto")


# The first version of `proj`, whose transform is declared.

FIRST = declaring(
    "proj",
    **{
        "proj:code": "EPSG:32632",
        "proj:spatial_dimensions": ["y", "x"],
        "proj:transform": TRANSFORM,
    },
)
X_FIRST = {"proj:spatial_dimensions": ["x", "y"]}
X_IS_FIRST = (
    'proj:spatial_dimensions: is ["x", "y"], but Y must be first; by their coordinates or names, '
    "'y' is used as Y and 'x' as X"
)
UNNAMED = Array(np.zeros((3, 4)), (None, None), {})
LEVELS = {
    **declaring("proj", "multiscales"),
    "proj:spatial_dimensions": ["y", "x"],
    "multiscales": {"layout": [{"asset": "0", "proj:transform": TRANSFORM}]},
}


def first_of(array: Array, attributes: Any = (), group: str = "") -> list[str]:
    nodes = Group({group: Group({"a": array})} if group else {"a": array}, dict(attributes))
    _found, lines = outcome(nodes, only="x y", group=group)
    return [line for line in lines if not line.startswith("! Dimension")]  # of those without names


def without(key: str) -> dict[str, Any]:
    return {name: it for name, it in FIRST.items() if name != key}


FIRST_VERSION: dict[str, Any] = {
    "on an array": (zeros(**FIRST), {}, "", METRES),
    "columns first": (zeros("x y", **FIRST), {}, "", METRES),
    "on a group": (zeros(), FIRST, "", METRES),
    "dimensions without names": (UNNAMED, FIRST, "", METRES),
    "x is first": (zeros(**FIRST | X_FIRST), {}, "", f"{METRES}! Resolution: /a#/attributes/{X_IS_FIRST}"),
    "x is first, and dimensions have no names": (UNNAMED, FIRST | X_FIRST, "", f"{METRES}! Resolution: /a: /#/attributes/{X_IS_FIRST}"),
    "names in another case": (zeros(**FIRST | {"proj:spatial_dimensions": ["Y", "X"]}), {}, "", METRES),
    "a level": (zeros(), LEVELS, "0", """
        x (x) 300005.0 300015.0 300025.0 300035.0 | axis=X
        y (y) 5000035.0 5000025.0 5000015.0 | axis=Y
        """),
    "with spatial, which takes precedence": (zeros(**{**FIRST, **declaring("spatial", "proj"), "spatial:dimensions": ["y", "x"], "spatial:transform": [1, 0, 0, 0, -1, 0]}), {}, "", """
        x (x) 0.5 1.5 2.5 3.5 | axis=X long_name=Easting standard_name=projection_x_coordinate units=m
        y (y) -0.5 -1.5 -2.5 | axis=Y long_name=Northing standard_name=projection_y_coordinate units=m
        ! Resolution: /a: conventions spatial and proj define different x, y; spatial is used
        """),
    "no dimensions": (zeros(**without("proj:spatial_dimensions")), {}, "", ""),
    "no declaration": (zeros(**without("zarr_conventions")), {}, "", ""),
}  # fmt: skip


@rows(FIRST_VERSION, "array, attributes, group, expected")
def test_the_first_version_of_proj(
    array: Array, attributes: Any, group: str, expected: str
) -> None:
    lines = [line.strip() for line in expected.strip().splitlines()]
    assert first_of(array, attributes, group) == [
        it for it in lines if not it.startswith("spatial")
    ]


def test_an_own_coordinate_is_kept_with_the_first_version_of_proj() -> None:
    dataset = opened(
        xr.open_dataset, store_of(Group({"a": zeros(**FIRST), "x": coordinate("x", range(4))}))
    )
    assert (dataset["x"].values.tolist(), dataset["y"].values.tolist()) == ([0, 1, 2, 3], Y)


# The warning about arrays without a principal convention, and the option that it names.


def warned(root: Any, function: Any = xr.open_datatree, **options: Any) -> Warning | None:
    """Return the warning about arrays without a principal convention, None if there is none."""
    store = store_of(root) if isinstance(root, Group) else root
    _opened, given = recorded(function, store, engine="xgroup", **options)
    found = [it for it in given if type(it) is XGroupNoPrincipalWarning]
    assert len(found) <= 1
    assert all(len(str(it)) <= 400 for it in found)
    return found[0] if found else None


@pytest.mark.parametrize("dims", ["y x", "c x", "x x"])
def test_an_array_with_the_name_of_a_dimension_is_a_coordinate_but_not_of_that(dims: str) -> None:
    warning = warned(Group({"a": zeros("y x"), "x": zeros(dims), "y": coordinate("y", Y)}))
    assert getattr(warning, "paths", None) == ("/a",)


def option_in(warning: Warning | None) -> Any:
    """Return the value of `assume_conventions` in a warning, None without one."""
    found = re.search(r"assume_conventions=('\w+'|\[[^]]*\])", str(warning))
    return found and ast.literal_eval(found[1])


def helped_by_option(warning: Any) -> list[str]:
    """Return the paths of the arrays for which a warning names an option: all, or the first ones."""
    number = re.search(r"the first (?:(\d+) )?array", str(warning))
    return list(warning.paths[: int(number[1] or 1) if number else None])


def coordinates_of(store: Any, paths: Sequence[str], **options: Any) -> dict[str, set[Any]]:
    """Return the coordinates of arrays, and the CRS among them, as engine xgroup opens them."""
    tree = quietly(xr.open_datatree, store, engine="xgroup", **options)
    return {path: set(tree[path].coords) for path in paths}


def inheriting(coordinates: str, **others: Any) -> Group:
    """Return a store with an array that names coordinates of the group above, as HRRR-Zarr has it."""
    above = {"x": coordinate("x", X), "y": coordinate("y", Y), "time": Array(0.0, ())}
    return Group(
        {"V": Group({**above, "L": Group({"v": zeros(coordinates=coordinates), **others})})}
    )


SWATH = {
    "geo": Group({name: zeros() for name in ("lat", "lon")}),
    "data": Group({"v": zeros(coordinates="/geo/lat /geo/lon")}),
}
BBOX = {"spatial:dimensions": ["y", "x"], "spatial:bbox": [0.0, 0.0, 4.0, 3.0]}
MAPPED = {"crs": Array(0, (), {"crs_wkt": WKT1})}
NO_CRS: Any = {"epsg": None, "wkt2": None}
PLAIN = Array(np.zeros(5), ("n",))

#: A store, the option that the warning names, "" without one and None without a warning, and the arrays that it helps.
HINTS: dict[str, Any] = {
    "attributes of STAC": (alone(), "proj", "/b02"),
    "a CRS by STAC, though there are coordinates": (located(b02=band()), "proj", "/b02"),
    "of STAC and spatial": (alone(**BBOX), ["spatial", "proj"], "/b02"),
    "spatial of the group": (Group({"v": zeros()}, BBOX), "spatial", "/v"),
    "cs": (Group({"v": zeros(**CS)}), "cs", "/v"),
    "a path of CF into another group": (Group({"v": Array([1.0], ("x",), {"coordinates": "/g/lon"}), "g": Group({"lon": coordinate("x", [1.0])})}), "cf", "/v"),
    "a dimension of CF in another group": (Group({"x": coordinate("x", X), "g": Group({"v": zeros("x", _nczarr_array={"dimension_references": ["/x"]})})}), None, ""),
    "a swath": (Group(SWATH), "cf", "/data/v"),
    "a grid mapping of a group above": (Group({**MAPPED, "g": located(v=zeros(grid_mapping="crs"))}), "cf", "/g/v"),
    "some arrays of several": (Group({"a": PLAIN, "b02": band(), "c": PLAIN, "d": band()}), "proj", "/b02 /d"),
    "one of several": (Group({"a": PLAIN, **SWATH}), "cf", "/data/v"),
    "a transform along other dimensions than the one without a coordinate": (located(b02=band("t y x", **NO_CRS)), "", ""),
    "a transform of another shape": (alone(shape=[30, 40], **NO_CRS), "", ""),
    "a path of CF along another dimension": (Group({"v": zeros("y", coordinates="/g/lon"), "g": Group({"lon": coordinate("x", X)})}), "", ""),
    "a name of CF that cannot be resolved": (Group({"v": zeros(coordinates="lon")}), "", ""),
    "control points beside other arrays": (Group({"measurements": Group({"v": zeros(), "u": zeros("t")}), "conditions": Group({"gcp": Group(dict.fromkeys(("line", "pixel", "latitude", "longitude"), PLAIN))})}), "gcp", "/measurements/v"),
    "incomplete control points": (Group({"measurements": Group({"v": zeros()}), "conditions": Group({"gcp": Group({"line": PLAIN})})}), "", ""),
    "a CRS by a grid mapping": (located(b02=band(grid_mapping="crs"), **MAPPED), None, ""),
    "a CRS by spatial_ref of the group": (located(b02=band(), spatial_ref=MAPPED["crs"]), None, ""),
    "no CRS in attributes": (located(b02=band(**NO_CRS)), None, ""),
    "a declared CRS": (located(b02=band(**declaring("proj"))), None, ""),
    "a scalar two groups above, beside inherited coordinates": (inheriting("time y x"), "cf", "/V/L/v"),
    "inherited coordinates by name": (inheriting("y x"), None, ""),
    "inherited coordinates by path": (inheriting("/V/y ../x"), None, ""),
    "a _CRS that is a text": (alone(_CRS="EPSG:32632", **NO_CRS), "proj", "/b02"),
    "own coordinates": (located(v=zeros(coordinates="lost", cell_measures="area: a")), None, ""),
}  # fmt: skip


@rows(HINTS, "root, option, arrays")
def test_the_warning_names_the_option_for_arrays_that_it_helps(
    root: Group, option: Any, arrays: str
) -> None:
    warning = warned(root)
    if option is None:
        assert warning is None
        assert warned(root, assume_conventions="auto") is None
    elif not option:
        assert option_in(warning) is None
        assert str(warning).startswith("Select by position (isel)")
    else:
        assert option_in(warning) == option
        assert str(warning).startswith("Open with")
        assert helped_by_option(warning) == arrays.split()


SELECT = "Select by position (isel), or assign coordinates"
ONLY_CRS = f"{SELECT} (assume_conventions='proj' adds only the CRS)"
NO_NAMES = {
    "proj:code": "EPSG:32632",
    "spatial:transform": TRANSFORM,
    "spatial:bbox": STAC["proj:bbox"],
}
FIELD = {"v": Array(np.zeros((3, 4)), ("lat", "lon"))}
BELOW: Any = {"lat": coordinate("lat", Y), "lon": coordinate("lon", X), "g": Group(FIELD)}
DAYS: Any = {
    "time": coordinate("time", range(30)),
    "g": Group({"v": Array(np.zeros(31), ("time",))}),
}
#: A store, a change of a document, the opened group, and the begin and the end of the warning.
CAUSES: dict[str, Any] = {
    "a broken coordinate variable above": (Group(BELOW), ("lat/zarr.json", b"{lat}"), "g", "Open with assume_conventions='cf'", "/g/v. /lat/zarr.json is not valid JSON: "),
    "a page in its place, of a hierarchy of CF": (Group(BELOW, {"Conventions": "CF-1.8"}), ("lat/zarr.json", b"<!DOCTYPE html>"), "g", SELECT, "/g/v. /lat/zarr.json is not valid JSON: "),
    "an invalid member of its document": (Group(BELOW), ("lat/zarr.json", update(shape=None)), "g", "Open with assume_conventions='cf'", "/g/v. /lat: 'shape' must be a list of lengths, got None"),
    "a different length": (Group(DAYS), None, "g", SELECT, "/g/v. /time has length 30, not 31"),
    "a broken coordinate variable of the group": (Group({**FIELD, "lat": BELOW["lat"]}), ("lat/zarr.json", b"{lat}"), "", SELECT, "/v. /lat/zarr.json is not valid JSON: "),
    "a broken array of another group that coordinates names": (Group(SWATH), ("geo/lat/zarr.json", b"{lat}"), "data", "Open with assume_conventions='cf'", "/data/v. /geo/lat/zarr.json is not valid JSON: "),
    "a grid of a group without names of dimensions": (Group({"v": zeros()}, NO_NAMES), None, "", ONLY_CRS, "/v. /#/attributes/spatial:dimensions is missing, so 'spatial:transform' is not used"),
    "of an array": (Group({"v": zeros("t y x", **NO_NAMES)}), None, "", ONLY_CRS, "/v. /v#/attributes/spatial:dimensions is missing, so 'spatial:transform' is not used"),
    "of a group that declares proj": (Group({"v": zeros()}, declaring("proj", **NO_NAMES)), None, "", SELECT, "/v. /#/attributes/spatial:dimensions is missing, so 'spatial:transform' is not used"),
    "a box": (Group({"v": zeros()}, {"spatial:bbox": STAC["proj:bbox"]}), None, "", SELECT, "/v. /#/attributes/spatial:dimensions is missing, so 'spatial:bbox' is not used"),
    "names of dimensions without a grid": (Group({"v": zeros()}, {**CODE, "spatial:dimensions": ["y", "x"]}), None, "", ONLY_CRS, "/v"),
    "names of two other dimensions": (Group({"v": zeros()}, {**BBOX, "spatial:dimensions": ["r", "c"]}), None, "", SELECT, "/v"),
    "a CRS beside an own axis without coordinates": (located(v=zeros("t y x", **CODE)), None, "", ONLY_CRS, "/v"),
}  # fmt: skip


@pytest.mark.parametrize("function", [xr.open_dataset, xr.open_datatree])
@rows(CAUSES, "root, change, group, begin, end")
def test_the_warning_names_the_cause(
    root: Group, change: Any, group: str, begin: str, end: str, function: Any
) -> None:
    contents = build(root)
    store = memory_store(edit(contents, *change) if change else contents)
    _opened, given = recorded(function, store, engine="xgroup", group=group)
    (text,) = [str(it) for it in given if type(it) is XGroupNoPrincipalWarning]
    assert text.startswith(f"{begin}: 1 array has no coordinates along a dimension, and declares")
    assert (end if end.endswith(": ") else f"{end}$") in f"{text}$"


def test_long_causes_are_shortened() -> None:
    names = [f"n{number}" for number in range(20)]
    members = {name: coordinate(name, [1.0]) for name in names}
    below = {f"v{name}": Array([1.0, 2.0], (name,)) for name in names}
    text = str(warned(Group({**members, "g": Group(below)}), xr.open_dataset, group="g"))
    assert "/n0 has length 1, not 2; /n1 has" in text
    assert "..." in text


def test_a_group_whose_grid_has_no_names_of_dimensions_is_reported() -> None:
    root = Group({"v": zeros()}, declaring("spatial", "proj", **NO_NAMES))
    (line,) = outcome(root, only="")[1]
    assert line == (
        "! Resolution: /v: its group declares 'spatial', which does not apply to it: it has no coordinates "
        "along 'y', 'x'; /#/attributes/spatial:dimensions is missing, so 'spatial:transform' is not used"
    )


@rows(
    {
        "coordinates": (alone(**NO_CRS), "1 array has no coordinates along a dimension, and"),
        "a CRS": (located(b02=band(), b03=band()), "2 arrays have no CRS, and"),
        "named coordinates": (
            inheriting("time"),
            "1 array does not have all coordinates that it names, and",
        ),
        "coordinates or a CRS": (
            located(b02=band(), a=zeros("k")),
            "2 arrays do not have all coordinates, or have no CRS, and",
        ),
        "named coordinates or a CRS": (
            inheriting("time", b02=band()),
            "2 arrays do not have all coordinates, or have no CRS, and",
        ),
    },
    "root, text",
)
def test_the_warning_says_what_arrays_do_not_have(root: Group, text: str) -> None:
    assert text in str(warned(root))


def test_the_warning_names_no_option_already_in_use() -> None:
    for used in ("proj", "auto", ["auto", "proj"]):
        warning = warned(Group({"b02": band("t y x"), "a": PLAIN}), assume_conventions=used)
        assert warning is not None
        assert option_in(warning) is None
    assert warned(alone(), assume_conventions="proj") is None
    assert warned(STORES / "roms_test.zarr", assume_conventions="cf") is None


def test_an_array_below_a_coordinate_of_another_length_is_reported() -> None:
    root = Group({"x": coordinate("x", [1, 2, 3]), "g": Group({"a": Array([1.0, 2.0], ("x",))})})
    assert getattr(warned(root), "paths", ()) == ("/g/a",)


@pytest.mark.parametrize("length", [10, 100, 150, 1000])
def test_the_warning_has_full_paths(length: int) -> None:
    group = "g" * length
    warning: Any = warned(Group({group: Group(dict.fromkeys("abcde", PLAIN))}))
    assert warning.paths == tuple(f"/{group}/{name}" for name in "abcde")
    named = [path for path in warning.paths if path in str(warning)]
    assert len(named) == {10: 3, 100: 2, 150: 1, 1000: 0}[length]
    assert ("5 arrays" in str(warning)) is True
    assert str(warning).count("g" * 10) == len(named) * (length // 10)


#: A store, and the coordinates of its arrays with ``assume_conventions="auto"``.
AUTO: dict[str, tuple[Group, str]] = {
    "each array by its own marks": (Group({**SWATH, "b": alone(**NO_CRS), "g": Group({"a": PLAIN, "v": zeros(**CS)})}), "/b/b02: x y, /data/v: lat lon, /g/a: , /g/v: x"),
    "attributes of the group": (Group({"v": zeros()}, BBOX), "/v: x y"),
    "attributes of groups above": (Group({"0": Group({"v": zeros()}), "multiscales": Group({})}, {**SPATIAL, "multiscales": {"layout": [{"asset": "0", "spatial:transform": TRANSFORM}]}}), "/0/v: x y"),
    "neighbouring groups": (HINTS["control points beside other arrays"][0], "/measurements/u: , /measurements/v: latitude longitude"),
    "a coordinate variable of a group above": (Group({"g": Group({"h": Group({"v": zeros()})}), "x": coordinate("x", X)}), "/g/h/v: x"),
    "with own coordinates": (located(b02=band()), "/b02: spatial_ref x y"),
    "not what declares a principal convention": (Group({"v": zeros(**declaring("cs", **CS, **STAC))}), "/v: spatial_ref x"),
    "not what inherits one": (Group({"v": band()}, declaring("spatial", **{"spatial:dimensions": ["y", "x"]})), "/v: spatial_ref"),
    "what declares a service": (Group({"v": zeros(**declaring("uom", uom={"ucum": {"unit": "m"}}, **SPATIAL))}), "/v: x y"),
    "not a service that is declared": (alone(**declaring("proj")), "/b02: spatial_ref"),
    "a grid mapping variable of the group": (Group({"v": zeros(grid_mapping="crs"), **MAPPED}), "/v: crs"),
}  # fmt: skip


@pytest.mark.parametrize("consolidated", [False, True])
@rows(AUTO, "root, expected")
def test_auto_gives_each_array_the_conventions_whose_marks_it_has(
    root: Group, expected: str, consolidated: bool
) -> None:
    store: Any = store_of(root, consolidated=consolidated)
    options: Any = {"engine": "xgroup", "assume_conventions": "auto"}
    tree, given = recorded(xr.open_datatree, store, **options)
    _tree, plain = recorded(xr.open_datatree, store, engine="xgroup")
    others = [str(it) for it in given if type(it) is not XGroupNoPrincipalWarning]
    assert {*others} <= {str(it) for it in plain}
    for text in expected.split(", "):
        path, _colon, names = text.partition(":")
        assert set(tree[path].coords) == set(names.split())
        # A single group is opened with the documents that its marks refer to.
        group, name = path.rsplit("/", 1)
        dataset = quietly(xr.open_dataset, store, group=group, **options)
        assert set(dataset[name].coords) == set(names.split())


@rows(
    {
        "_CRS as a text": zeros(_CRS="EPSG:32632"),
        "an unknown code in _CRS": zeros(_CRS={"url": "http://www.opengis.net/def/crs/EPSG/0/1"}),
        "a GeoTransform of five numbers": zeros(GeoTransform="1 2 3 4 5"),
    },
    "array",
)
def test_auto_reports_the_problems_that_geozarr_reports(array: Array) -> None:
    (_ours, given), (_auto, same) = (
        recorded(
            xr.open_dataset,
            store_of({"": {}, "v": array}),
            engine="xgroup",
            assume_conventions=option,
        )
        for option in ("geozarr", "auto")
    )
    assert list(map(str, same)) == list(map(str, given))
    assert "/v was opened without" in str(given[0])


def test_other_names_in_a_list_with_auto_are_assumed_too() -> None:
    store: Any = store_of(Group({**SWATH, "b": alone()}))
    options: Any = {"engine": "xgroup", "assume_conventions": ["auto", "proj"]}
    tree, given = recorded(xr.open_datatree, store, **options)
    assert given == []
    assert {"lat", "lon"} <= set(tree["data/v"].coords)
    assert {"x", "y", "spatial_ref"} <= set(tree["b/b02"].coords)


def test_explain_and_check_use_auto_as_on_opening() -> None:
    root = Group({**located(b02=band()).members, "cs": Group({"v": zeros(**CS)})})
    explanation = zarr_xgroup.explain(store_of(root), assume_conventions="auto")
    arrays = {array.path: array for group in explanation.groups for array in group.arrays}
    found = {
        path: [(it.name, it.declared_in) for it in array.conventions]
        for path, array in arrays.items()
    }
    assert found == {
        "/b02": [("proj", None)],
        "/cs/v": [("cs", None), ("cf", None)],
        "/x": [],
        "/y": [],
    }
    assert arrays["/b02"].crs is not None
    assert explanation.problems == ()
    wrong: Any = store_of(located(b02=band(epsg=1)))
    (mistake, *_others) = zarr_xgroup.check(wrong, assume_conventions=["auto"]).mistakes
    assert "1" in mistake.text
    assert '"auto"' in str(zarr_xgroup.XGroupBackendEntrypoint.open_dataset.__doc__)
    for function in (zarr_xgroup.explain, zarr_xgroup.check):
        assert "'auto'" in str(inspect.signature(function).parameters["assume_conventions"])


def test_auto_is_applied_before_a_level_is_chosen() -> None:
    half = {"proj:shape": [2, 2], "proj:transform": [20.0, 0.0, 300000.0, 0.0, -20.0, 5000040.0]}
    coarse = Array(np.ones((2, 2)), ("y", "x"), {**STAC, **half})
    layout = {"multiscales": {"layout": [{"asset": "fine"}, {"asset": "coarse"}]}}
    root = Group({"fine": alone(), "coarse": Group({"b": coarse})}, layout)
    options: Any = {"resolution": 30, "assume_conventions": "auto"}
    dataset = quietly(xr.open_dataset, store_of(root), engine="xgroup", **options)
    assert dataset["x"].values.tolist() == [300010.0, 300030.0]


ALONG_Y_X = {name: zeros() for name in ("lat", "lon")}
SERVICES: dict[str, Any] = {
    "a scalar": (declaring("ref", label={"node": "scalar"}), True),
    "an array along y": (declaring("ref", label={"node": "rows"}), True),
    "places along y and x": (declaring("geolocation", geolocation={"geodetic": {"x": {"node": "lon"}, "y": {"node": "lat"}}}), True),
    "a unit": (declaring("uom", uom={"ucum": {"unit": "m"}}), True),
    "an array along all": (declaring("ref", label={"node": "cube"}), False),
}  # fmt: skip


@rows(SERVICES, "attributes, is_told")
def test_services_alone_are_reported_if_a_dimension_has_no_coordinate(
    attributes: Any, is_told: bool
) -> None:
    cube = zeros("t y x")
    arrays = {"a": zeros("t y x", **attributes), "cube": cube, "rows": zeros("y"), **ALONG_Y_X}
    warning = warned(Group({**arrays, "scalar": Array(5.0)}))
    assert ("/a" in getattr(warning, "paths", ())) is is_told


@pytest.mark.parametrize("declared", [declaring("spatial"), {"zarr_conventions": [{"name": "cs"}]}])
def test_an_array_without_coordinates_whose_group_declares_a_convention(declared: Any) -> None:
    short = {"named": coordinate("named", [1.0]), "short": Array([1.0, 2.0], ("n",))}
    _opened, lines = outcome(Group({"v": zeros(), "w": zeros(), **short}, declared), only="")
    (line,) = lines
    assert line.startswith("! Resolution: /v, /w: its group declares")
    assert line.endswith("which does not apply to it: it has no coordinates along 'y', 'x'")


@pytest.mark.parametrize(("dims", "is_reported"), [("y x t", False), ("t y k", True)])
def test_an_array_without_coordinates_is_a_grid_by_its_dimensions_along_y_and_x(
    dims: str, is_reported: bool
) -> None:
    members = {"v": zeros(dims), "x": coordinate("x", X), "y": coordinate("y", Y)}
    _opened, lines = outcome(Group(members, declaring("cs")), only="")
    assert len(lines) == is_reported
    assert all(line.startswith("! Resolution: /v: its group") for line in lines)


@pytest.mark.parametrize("own", ["time y_1km x_1km", "y_1km x_1km"])
def test_a_grid_with_coordinates_along_its_rows_and_columns_is_not_reported(own: str) -> None:
    sizes = {"time": 2, "band": 3, "y_1km": 4, "x_1km": 5, "y": 6, "x": 7}
    embeddings = Array(np.ones((2, 3, 4, 5)), ("time", "band", "y_1km", "x_1km"))
    members = {it: coordinate(it, np.arange(float(sizes[it]))) for it in (*own.split(), "y", "x")}
    members |= {"embeddings_1km": embeddings, "red": Array(np.ones((6, 7)), ("y", "x"))}
    store: Any = store_of(
        Group(members, declaring("spatial", **{"spatial:dimensions": ["y", "x"]}))
    )
    _dataset, given = recorded(xr.open_dataset, store, engine="xgroup")
    assert [str(it) for it in given] == []
    assert zarr_xgroup.check(store).mistakes == ()


@pytest.mark.parametrize("assumed", [["cf"], ["cf", "spatial"], ["cf", "geolocation"]])
def test_declared_latitudes_and_longitudes_stay_coordinates(assumed: list[str]) -> None:
    places = {"geodetic": {"x": {"node": "lon"}, "y": {"node": "lat"}}}
    data = zeros(**declaring("geolocation", geolocation=places))
    root = Group({"data": data, "other": zeros(), **ALONG_Y_X})
    dataset = opened(xr.open_dataset, store_of(root), assume_conventions=assumed)
    assert set(dataset.data_vars) == {"data", "other"}
    assert set(dataset["data"].coords) == {"lat", "lon"}


# Products.


#: A product, the option that the warning names, one of the coordinates that it adds, and whether it helps all arrays.
PRODUCTS = [
    ("sentinel1_grd_eopf_v2", "gcp", "latitude", False),
    ("sentinel2_l1c_eopf_v2", "proj", "spatial_ref", True),
]


@pytest.mark.parametrize(("product", "option", "name", "helps_all"), PRODUCTS)
def test_the_named_option_helps_exactly_these_arrays(
    tmp_path: Path, product: str, option: str, name: str, helps_all: bool
) -> None:
    store: Any = products.write(product, tmp_path / "product")
    warning: Any = warned(store)
    helped = helped_by_option(warning)
    assert option_in(warning) == option
    assert (len(helped) == len(warning.paths)) is helps_all
    for path in re.findall(r"/[^\s,]+", str(warning)):
        assert path in warning.paths
    plain = coordinates_of(store, warning.paths)
    for value in (option, "auto"):
        found = coordinates_of(store, warning.paths, assume_conventions=value)
        assert [path for path in warning.paths if found[path] - plain[path]] == helped
        assert all(name in found[path] for path in helped)
    assert option_in(warned(store, assume_conventions={"Auto"})) is None
