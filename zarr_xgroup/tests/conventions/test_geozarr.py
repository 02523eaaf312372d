"""NZ-1.0, and the draft of the GeoZarr standard if it is assumed: attributes of GDAL, and tile matrix sets."""

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyproj
import pytest
import xarray as xr

import zarr_xgroup
from zarr_xgroup.conventions.dialects.geozarr import GeoZarrHandler
from zarr_xgroup.tests.builders import SHARDED, Array, Group, coordinate, recorded, stored
from zarr_xgroup.tests.tables import check, outcome, rows, store_of

#: Where OGC names CRSs.
OGC = "http://www.opengis.net/def/crs"
UTM = pyproj.CRS(32632).to_wkt()
TRANSFORM = "300000.0 10.0 0.0 5000040.0 0.0 -10.0"
UNIT_CELLS = "0 1 0 0 0 -1"
CRS = Array(0, (), {"crs_wkt": UTM, "GeoTransform": TRANSFORM})
SIZES = {"y": 3, "x": 4, "lat": 3, "lon": 4, "band": 2, "cell": 4, "Y": 3, "X": 4}


def grid(dims: str = "y x", /, **attributes: Any) -> Array:
    names = dims.split()
    return Array(np.ones([SIZES[dim] for dim in names], "f4"), names, attributes)


# NZ-1.0.

NZ = {"conventions": "NZ-1.0 CF-1.12"}


@pytest.mark.parametrize(
    ("attributes", "is_declared"),
    [
        ({"conventions": "NZ-1.0 CF-1.12"}, True),
        ({"Conventions": "CF-1.12, NZ-1.0"}, True),
        ({"conventions": "nz-1.0 cf-1.7"}, True),
        ({"conventions": "NZ-1.0 CF-1.12 ACDD-1.3"}, True),
        ({"conventions": "NZ-1.0", "Conventions": "CF-1.12"}, True),
        ({"conventions": "NZ-1.0"}, False),
        ({"conventions": "CF-1.12"}, False),
        ({"conventions": "NZ-2.0 CF-1.12"}, False),
        ({"conventions": "NZ-1.0 CF"}, False),
        ({"conventions": "NZ-1.0 ACDD-CF-1.12"}, False),
        ({"conventions": ["NZ-1.0", "CF-1.12"]}, False),
        ({"conventions": {"NZ-1.0": "CF-1.12"}}, False),
    ],
    ids=str,
)
def test_the_root_declares_cf_by_naming_it_with_nz(
    attributes: Mapping[str, Any], is_declared: bool
) -> None:
    data = Group({"data": Array([1.0, 2.0], ("x",), {"coordinates": "lon"})})
    members: dict[str, Array | Group] = {"lon": Array([5.0, 6.0], ("x",)), "a": data}
    expected = "lon (x) 5.0 6.0" if is_declared else ""
    check(Group(members, attributes), expected, group="a", only="lon")
    below = Group({"g": Group(members, attributes)})  # only the root names conventions
    check(below, "", group="g/a", only="lon")


TYPES = ["bool", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8", "c8", "c16"]
WRITTEN = {"flag": True, "n": 1, "f": 0.1, "list": ["a", "b"], "more": {"deep": {"er": [1]}}}
OF_NZ = Group(
    {
        **{kind: Array(np.array([0, 1, 1], kind), ("n",)) for kind in TYPES},
        "filled": Array(
            np.array([0, -99, 7], "i2"), ("n",), {"_FillValue": -99}, v3={"fill_value": 7}
        ),
        "packed": Array(
            np.array([1, 2, 3], "i2"), ("n",), {"scale_factor": 0.5, "add_offset": 10.0}
        ),
        "sharded": Array(np.arange(9.0).reshape(3, 3), ("n", "m"), chunks=(2, 2), v3=SHARDED),
        "lat": coordinate("lat", [50.0, 51.0]),
        "height": Array(2.0),
        "data": Array(np.ones((2, 3)), ("lat", "n"), {**WRITTEN, "coordinates": "height"}),
    },
    NZ,
)


def test_a_store_that_declares_nz() -> None:
    """Its types, scalars, fill values, packing and shards, coordinates by their names, and attributes as they are."""
    dataset = check(OF_NZ, "height () 2.0\nlat (lat) 50.0 51.0", only="lat height")
    assert all(dataset[kind].dtype == np.dtype(kind) for kind in TYPES)
    assert all((dataset[kind].values == [0, 1, 1]).all() for kind in TYPES)
    # Masked by `_FillValue`, whatever the storage has.
    np.testing.assert_equal(dataset["filled"].values, [0.0, np.nan, 7.0])
    assert dataset["packed"].values.tolist() == [10.5, 11.0, 11.5]
    assert (dataset["sharded"].values == np.arange(9.0).reshape(3, 3)).all()
    assert dataset["data"].attrs == WRITTEN
    assert [type(it) for it in dataset["data"].attrs.values()] == [bool, int, float, list, dict]
    other = Group({"g": Group({"v": Array(np.ones(4), ("lat",))}), "h": Group(OF_NZ.members)}, NZ)
    check(other, "v (lat)", group="g")  # another group, another dimension of the same name


# GDAL's attributes.


def of_mapping(written: Any = TRANSFORM, **others: Array | Group) -> Group:
    """Return a grid, and the transform of its grid mapping variable."""
    crs = Array(0, (), {"crs_wkt": UTM, "GeoTransform": written})
    return Group({"v": grid(grid_mapping="crs"), "crs": crs, **others})


def of_array(written: Any = TRANSFORM, dims: str = "y x", **attributes: Any) -> Group:
    return Group({"v": grid(dims, GeoTransform=written, **attributes)})


def with_crs(**written: Any) -> Group:
    return Group({"v": grid(_CRS=written)})


EASTINGS, NORTHINGS = [5.0, 15.0, 25.0, 35.0], [25.0, 15.0, 5.0]


def of_gdal(code: int | None, /, **arrays: Array) -> Group:
    """Return what GDAL writes without options: a CRS of the grid, and coordinate variables without attributes."""
    crs = {} if code is None else {"_CRS": {"url": f"{OGC}/EPSG/0/{code}"}}
    axes = {"X": stored(EASTINGS, "X"), "Y": stored(NORTHINGS, "Y"), **arrays}
    return Group({"v": grid("Y X", **crs), "w": grid("band", **crs), **axes})


AT_CENTRES = {
    32632: """
    X (X) 5.0 15.0 25.0 35.0 | axis=X long_name=Easting standard_name=projection_x_coordinate units=m
    Y (Y) 25.0 15.0 5.0 | axis=Y long_name=Northing standard_name=projection_y_coordinate units=m
    """,
    4326: """
    X (X) 5.0 15.0 25.0 35.0 | axis=X long_name=longitude coordinate standard_name=longitude units=degrees_east
    Y (Y) 25.0 15.0 5.0 | axis=Y long_name=latitude coordinate standard_name=latitude units=degrees_north
    """,
}
OF_THE_MAPPING = """
    x (x) 300005.0 300015.0 300025.0 300035.0 | axis=X long_name=Easting standard_name=projection_x_coordinate units=m
    y (y) 5000035.0 5000025.0 5000015.0 | axis=Y long_name=Northing standard_name=projection_y_coordinate units=m
"""
OF_THE_ARRAY = """
    x (x) 300005.0 300015.0 300025.0 300035.0 | axis=X
    y (y) 5000035.0 5000025.0 5000015.0 | axis=Y
"""
SEVERAL_GRIDS = {
    "v": grid("Y X", GeoTransform=UNIT_CELLS, grid_mapping="crs"),  # its own transform counts first
    "w": Array(np.ones((2, 5)), ("X", "Y"), {"GeoTransform": UNIT_CELLS}),
    "z": Array(np.ones((2, 3)), ("Longitude", "Latitude"), {"GeoTransform": UNIT_CELLS}),
    "crs": CRS,
}
NO_GRIDS = {
    "profile": Array(np.ones(5), ("n",), {"grid_mapping": "crs"}),
    "table": Array(np.ones((5, 2)), ("n", "m")),
}

GRIDS: dict[str, tuple[Group, str]] = {
    "a transform of the grid mapping variable": (of_mapping(), OF_THE_MAPPING),
    "a transform with commas": (of_mapping(f" {TRANSFORM.replace(' ', ', ')} "), OF_THE_MAPPING),
    "a transform as a list": (of_mapping([3e5, 10, 0, 5000040, 0, -10]), OF_THE_MAPPING),
    "a shared transform, with arrays that are not grids": (of_mapping(**NO_GRIDS), OF_THE_MAPPING),
    "a transform of the array": (of_array(), OF_THE_ARRAY),
    "columns first": (of_array(dims="x y"), OF_THE_ARRAY),
    "bands first": (of_array(dims="band y x"), OF_THE_ARRAY),
    "bands last": (of_array(dims="y x band"), OF_THE_ARRAY),
    "longitude first": (of_array(dims="lon lat"), """
        lat (lat) 5000035.0 5000025.0 5000015.0 | axis=Y
        lon (lon) 300005.0 300015.0 300025.0 300035.0 | axis=X
        """),
    "axes without known names are the last two": (of_array(dims="band y cell"), """
        cell (cell) 300005.0 300015.0 300025.0 300035.0 | axis=X
        y (y) 5000035.0 5000025.0 5000015.0 | axis=Y
        """),
    "a turned grid": (of_array("3e5 8 6 5e6 6 -8", _CRS={"url": f"{OGC}/EPSG/0/32632"}), """
        spatial_ref () EPSG:32632 | GeoTransform=300000.0 8.0 6.0 5000000.0 6.0 -8.0
        xc (y x) [[300007.0 300015.0 300023.0 300031.0] [300013.0 300021.0 300029.0 300037.0] [300019.0 300027.0 300035.0 300043.0]] | long_name=Easting standard_name=projection_x_coordinate units=m
        yc (y x) [[4999999.0 5000005.0 5000011.0 5000017.0] [4999991.0 4999997.0 5000003.0 5000009.0] [4999983.0 4999989.0 4999995.0 5000001.0]] | long_name=Northing standard_name=projection_y_coordinate units=m
        """),
    "arrays of other sizes, along axes in capitals": (Group(SEVERAL_GRIDS), """
        Latitude (Latitude) -0.5 -1.5 -2.5 | axis=Y
        Longitude (Longitude) 0.5 1.5 | axis=X
        X (X) 0.5 1.5 2.5 3.5 | axis=X long_name=Easting standard_name=projection_x_coordinate units=m
        X_w (X_w) 0.5 1.5 | axis=X
        Y (Y) -0.5 -1.5 -2.5 | axis=Y long_name=Northing standard_name=projection_y_coordinate units=m
        Y_w (Y_w) -0.5 -1.5 -2.5 -3.5 -4.5 | axis=Y
        ! Dimension: /w#/dimension_names: other arrays of the group have different sizes along its dimensions; renamed 'X' -> 'X_w', 'Y' -> 'Y_w'
        """),
    "coordinate variables with a CRS": (of_gdal(32632), f"{AT_CENTRES[32632]}\nspatial_ref () EPSG:32632"),
    "coordinate variables in degrees": (of_gdal(4326), f"{AT_CENTRES[4326]}\nspatial_ref () EPSG:4326"),
    "coordinate variables that have attributes keep them": (
        of_gdal(32632, X=stored(EASTINGS, "X", units="km", standard_name="x"), Y=stored(NORTHINGS, "Y", axis="X")), """
        X (X) 5.0 15.0 25.0 35.0 | axis=X long_name=Easting standard_name=x units=km
        Y (Y) 25.0 15.0 5.0 | axis=X
        spatial_ref () EPSG:32632
        """),
    "other arrays than these coordinate variables get no attributes": (
        of_gdal(32632, lon=stored(np.zeros((3, 4)), "Y X"), x=stored(EASTINGS, "cell")),
        f"{AT_CENTRES[32632]}\nspatial_ref () EPSG:32632\nlon (Y X) @ X Y spatial_ref\nx (cell) @ spatial_ref"),
    "coordinate variables without a CRS": (of_gdal(None), "X (X) 5.0 15.0 25.0 35.0\nY (Y) 25.0 15.0 5.0"),
    "a CRS by its URL": (with_crs(url=f"{OGC}/EPSG/0/32632"), "spatial_ref () EPSG:32632"),
    "a CRS by WKT": (with_crs(wkt=UTM), "spatial_ref () EPSG:32632"),
    "a CRS by PROJJSON": (with_crs(projjson=pyproj.CRS(32632).to_json_dict()), "spatial_ref () EPSG:32632"),
    "a CRS by a URL, before other texts": (with_crs(url=f"{OGC}/EPSG/0/32632", wkt=pyproj.CRS(4326).to_wkt()), """
        spatial_ref () EPSG:32632
        ! Resolution: /v#/attributes/_CRS/wkt: differs from the CRS in url, which is used
        """),
}  # fmt: skip


@rows(GRIDS)
def test_grids_of_gdal(nodes: Group, expected: str) -> None:
    names = "x y lat lon cell X Y X_w Y_w Longitude Latitude xc yc spatial_ref"
    check(nodes, expected, only=names, assume_conventions="geozarr")


OTHER_SIZE = Array(np.ones((6, 8)), ("row", "column"), {"grid_mapping": "crs"})
OWN = {"x": coordinate("x", range(4)), "y": coordinate("y", range(3))}
UNUSABLE = {
    "too few numbers": (of_array("1 2 3"), "GeoTransform: must be 6 finite numbers, got [1.0, 2.0, 3.0]"),
    "no numbers": (of_array("a b c d e f"), 'must be 6 finite numbers, got ["a", "b", "c", "d", "e", "f"]'),
    "infinite numbers": (of_array("0 inf 0 0 0 -1"), "must be 6 finite numbers, got [0.0, Infinity, 0.0, 0.0, 0.0, -1.0]"),
    "cells without area": (of_array("0 1 0 0 0 0"), "GeoTransform: is degenerate: cells have no area"),
    "a transform of arrays of two sizes": (of_mapping(w=OTHER_SIZE), "/crs#/attributes/GeoTransform: is the transform of one grid"),
    "own coordinates are not reported as missing": (Group({"v": grid(GeoTransform="0 1"), **OWN}), "/v was opened without the metadata in 'GeoTransform': "),
    "a CRS that is a text": (Group({"v": grid(_CRS="EPSG:32632")}), "/v#/attributes/_CRS: must be an object, got string"),
    "no WKT": (with_crs(url=f"{OGC}/EPSG/0/32632", wkt="no WKT"), "/v#/attributes/_CRS/wkt: is not a CRS that pyproj understands"),
    "a PROJ string that reads a file": (with_crs(wkt="+proj=utm +zone=32 +nadgrids=/etc/passwd"), "/v#/attributes/_CRS/wkt: is not a CRS"),
    "a path for a URL": (with_crs(url="/etc/passwd+init=epsg:4326"), "/v#/attributes/_CRS/url: is not a CRS"),
    "WKT that reads a file": (with_crs(wkt=UTM[:-1] + ',PARAMETERFILE["grid","/etc/passwd"]]'), "/v#/attributes/_CRS/wkt: is not a CRS"),
    "PROJJSON that reads a file": (with_crs(projjson={"proj": "utm", "nadgrids": "/etc/passwd"}), "/v#/attributes/_CRS/projjson: is not a CRS"),
}  # fmt: skip


@rows(UNUSABLE, "nodes, text")
def test_forms_that_gdal_does_not_write_are_reported(nodes: Group, text: str) -> None:
    dataset, lines = outcome(nodes, only="spatial_ref", assume_conventions="geozarr")
    (told,) = [line for line in lines if line.startswith("! Resolution")]
    assert text in told
    assert set(dataset.coords) == {*OWN, "crs", "spatial_ref"} & {*dataset.variables}
    assert ("spatial_ref" in dataset.coords) is ("no WKT" in told)  # whose URL counts


def test_a_name_alone_declares_nothing_of_the_draft() -> None:
    check(of_array(zarr_conventions=[{"name": "geozarr"}]), f"v (y x) | GeoTransform={TRANSFORM}")


ABOVE = {
    f"grid mapping {named!r}": (named, "crs () EPSG:32632 | GeoTransform=" + TRANSFORM)
    for named in ("crs", "/crs", "../../crs", "crs: x y")
}


@rows(ABOVE, "named, expected")
def test_the_grid_mapping_variable_may_be_in_a_group_above(named: str, expected: str) -> None:
    root = Group({"crs": CRS, "g": Group({"h": Group({"v": grid(grid_mapping=named)})})})
    dataset = check(root, expected, only="crs", group="g/h", assume_conventions="geozarr")
    assert dataset["x"].values[0] == 300005.0
    assert dataset["v"].attrs["grid_mapping"] == "crs"


@pytest.mark.parametrize("place", ["/crs", "../0/crs"])
def test_levels_of_a_pyramid_share_a_crs_but_no_transform(place: str) -> None:
    coarse = Group({"v": Array(np.ones((2, 2)), ("y", "x"), {"grid_mapping": place})})
    root = Group(
        {"crs": CRS, "0": of_mapping(), "1": coarse},
        {"multiscales": {"resampling_method": "nearest"}},
    )
    fine = outcome(root, group="0", assume_conventions="geozarr")[0]
    assert fine["x"].values[0] == 300005.0
    check(
        root,
        f"crs () EPSG:32632 | GeoTransform={TRANSFORM}",
        only="crs x y",
        group="1",
        assume_conventions="geozarr",
    )


# Tile matrix sets: a grid of 3 x 4 cells of 10 m, and one of 2 x 2 cells of 20 m, in tiles of 2 x 3 cells.

MATRICES = [
    {
        "id": name,
        "cellSize": size,
        "pointOfOrigin": [300000.0, 5000040.0],
        "tileHeight": 2,
        "tileWidth": 3,
        "matrixHeight": down,
        "matrixWidth": across,
    }
    for name, size, down, across in (("0", 10, 2, 2), ("1", 20, 1, 1))
]
TILES: dict[str, Any] = {"id": "scene", "crs": f"{OGC}/EPSG/0/32632", "tileMatrices": MATRICES}
WGS84 = f"{OGC}/EPSG/0/4326"


def matrix(**changed: Any) -> dict[str, Any]:
    """Return the tile matrix set with a first tile matrix that is changed."""
    first = {key: it for key, it in {**MATRICES[0], **changed}.items() if it is not None}
    return {**TILES, "tileMatrices": [first, MATRICES[1]]}


def large(**changed: Any) -> dict[str, Any]:
    return matrix(matrixHeight=90, matrixWidth=80, **changed)


def degrees(crs: Any = WGS84, origin: tuple[float, float] = (52.0, 7.0), **others: Any) -> Any:
    return {**matrix(pointOfOrigin=list(origin), cellSize=0.5), "crs": crs, **others}


def limits(top: int, bottom: int, left: int, right: int) -> dict[str, Any]:
    keys = ("min_tile_row", "max_tile_row", "min_tile_col", "max_tile_col")
    return {"0": dict(zip(keys, (top, bottom, left, right), strict=True))}


def pyramid(tiles: Any, within: Any = None, /, level: Any = "0", **members: Array) -> list[Any]:
    """Return a multiscale group of two levels, in a group, and which level is opened."""
    multiscales = {"tile_matrix_set": tiles, "resampling_method": "nearest"}
    if within is not None:
        multiscales["tile_matrix_set_limits"] = within
    fine = members or {"v": grid(), "profile": Array([1.0], ("t",))}
    levels = {"0": Group(fine), "1": Group({"v": Array(np.ones((2, 2)), ("y", "x"))})}
    held = Group(levels, {"multiscales": multiscales, "tiles": TILES})
    return [Group({"p": held}, {"sets": {"a/b": TILES}}), f"p/{level}"]


def tiled(root: Group, group: str) -> list[str]:
    return outcome(root, only="x y", group=group, assume_conventions="geozarr")[1]


IN_DEGREES = """
    x (x) 7.25 7.75 8.25 8.75 | axis=X long_name=longitude coordinate standard_name=longitude units=degrees_east
    y (y) 51.75 51.25 50.75 | axis=Y long_name=latitude coordinate standard_name=latitude units=degrees_north
"""
FIRST_EDITION = {key: it for key, it in TILES.items() if key != "crs"}
OWN_X = {
    "v": grid(grid_mapping="crs"),
    "crs": Array(0, (), {"crs_wkt": UTM}),
    "x": coordinate("x", [1.0, 2.0, 3.0, 4.0]),
}

TILED: dict[str, Any] = {
    "the first level": (*pyramid(TILES), OF_THE_MAPPING),
    "the second level": (*pyramid(TILES, level="1"), """
        x (x) 300010.0 300030.0 | axis=X long_name=Easting standard_name=projection_x_coordinate units=m
        y (y) 5000030.0 5000010.0 | axis=Y long_name=Northing standard_name=projection_y_coordinate units=m
        """),
    "a set in the root": (*pyramid("/#/attributes/sets/a~1b"), OF_THE_MAPPING),
    "a set in the group above": (*pyramid("..#/attributes/sets/a~1b"), OF_THE_MAPPING),
    "a set in the group above, with a slash": (*pyramid("../#/attributes/sets/a~1b"), OF_THE_MAPPING),
    "a set in the group itself": (*pyramid("#/attributes/tiles"), OF_THE_MAPPING),
    "latitude first, as EPSG has it": (*pyramid(degrees()), IN_DEGREES),
    "latitude first, as is said": (*pyramid(degrees(orderedAxes=["Lat", "Lon"])), IN_DEGREES),
    "longitude first, as is said": (*pyramid(degrees(origin=(7.0, 52.0), orderedAxes=["Lon", "Lat"])), IN_DEGREES),
    "a CRS by an object with its URI": (*pyramid(degrees({"uri": WGS84})), IN_DEGREES),
    "a CRS by an object with PROJJSON": (*pyramid(degrees({"wkt": pyproj.CRS(4326).to_json_dict()})), IN_DEGREES),
    "CRS84 has longitudes first": (*pyramid(degrees(f"{OGC}/OGC/1.3/CRS84", (7.0, 52.0))), IN_DEGREES),
    "the CRS of the first edition": (*pyramid({**FIRST_EDITION, "supportedCRS": "EPSG:32632"}), OF_THE_MAPPING),
    "tiles within limits": (*pyramid(large(), limits(5, 6, 7, 8)), """
        x (x) 300215.0 300225.0 300235.0 300245.0 | axis=X long_name=Easting standard_name=projection_x_coordinate units=m
        y (y) 4999935.0 4999925.0 4999915.0 | axis=Y long_name=Northing standard_name=projection_y_coordinate units=m
        """),
    "limits of one tile": (*pyramid(large(tileHeight=3, tileWidth=4), limits(0, 0, 0, 0)), OF_THE_MAPPING),
    "tiles of one cell": (*pyramid(matrix(matrixHeight=3, matrixWidth=4, tileHeight=1, tileWidth=1)), OF_THE_MAPPING),
    "a level with a coordinate and a CRS": (*pyramid({**TILES, "crs": "EPSG:4326"}, **OWN_X), "x (x) 1.0 2.0 3.0 4.0"),
    "a level with a transform": (*pyramid(TILES, v=grid(GeoTransform=UNIT_CELLS)), """
        x (x) 0.5 1.5 2.5 3.5 | axis=X long_name=Easting standard_name=projection_x_coordinate units=m
        y (y) -0.5 -1.5 -2.5 | axis=Y long_name=Northing standard_name=projection_y_coordinate units=m
        """),
}  # fmt: skip


@rows(TILED, "nodes, group, expected")
def test_levels_of_a_tile_matrix_set(nodes: Group, group: str, expected: str) -> None:
    check(nodes, expected, only="x y", group=group, assume_conventions="geozarr")


WRONG_TILES = {
    "a number": (7, "/tile_matrix_set: must be an object, got number"),
    "an empty object": ({}, "/tile_matrix_set: has no 'tileMatrices'"),
    "no tile matrices": ({**TILES, "tileMatrices": []}, "/tile_matrix_set: has no tile matrix '0'"),
    "another document": ("https://example.org/tiles.json", "other documents are not read"),
    "a file": ("tiles.json", "other documents are not read"),
    "above the root": ("../../..#/attributes/sets", "points above the root of the store"),
    "no such attribute": ("/#/attributes/none", "/attributes/none"),
    "no cell size": (matrix(cellSize=None), "has no 'cellSize'"),
    "a negative cell size": (matrix(cellSize=-1), "/cellSize: must be a positive number"),
    "a cell size of 0": (matrix(cellSize=0), "/cellSize: must be a positive number"),
    "a cell size that is a text": (matrix(cellSize="x"), "/cellSize: must be a positive number"),
    "an origin of one number": (matrix(pointOfOrigin=[0.0]), "/pointOfOrigin: must be 2 finite numbers, got [0.0]"),
    "tiles of no width": (matrix(tileWidth=0), "/tileWidth: must be an integer from 1 to"),
    "a width that is true": (matrix(tileWidth=True), "/tileWidth: must be an integer from 1 to"),
    "too many tiles": (matrix(matrixWidth=2**60), "/matrixWidth: must be an integer from 1 to"),
    "an origin at the bottom": (matrix(cornerOfOrigin="bottomLeft"), "has a cornerOfOrigin other than topLeft"),
    "tiles of several widths": (matrix(variableMatrixWidths=[{"coalesce": 2}]), "or variableMatrixWidths"),
    "other tiles than the array has": (matrix(matrixWidth=3), "has [2, 3] tiles of [2, 3] cells, but an array of [3, 4] cells has [2, 2]"),
    "limits of another array": (large(), "has [90, 80] tiles of [2, 3] cells, but an array of [3, 4] cells has [2, 2]"),
    "no order of axes": ({"tileMatrices": MATRICES}, "needs orderedAxes or a valid crs"),
}  # fmt: skip


@rows(WRONG_TILES, "tiles, text")
def test_an_unusable_tile_matrix_set_is_reported(tiles: Any, text: str) -> None:
    root, group = pyramid(tiles, limits(5, 7, 7, 8) if "90" in text else None)
    (told,) = tiled(root, group)
    assert text in told


@pytest.mark.parametrize("prefix", ["", "http://www.opengis.net/def/tilematrixset/OGC/1.0/"])
def test_a_tile_matrix_set_by_its_identifier(prefix: str) -> None:
    pytest.importorskip("morecantile")
    attributes = {"multiscales": {"tile_matrix_set": f"{prefix}WebMercatorQuad"}}
    root = Group({"0": Group({"v": Array(np.ones((256, 256), "i1"), ("y", "x"))})}, attributes)
    dataset, lines = outcome(root, group="0", only="spatial_ref", assume_conventions="geozarr")
    assert lines == ["spatial_ref () EPSG:3857"]
    half = 20037508.342789244
    np.testing.assert_allclose(dataset["x"].values[[0, -1]], [-half * 255 / 256, half * 255 / 256])


def test_an_unknown_identifier_or_missing_morecantile_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("morecantile")
    told = tiled(*pyramid("NoQuad"))[-1]
    assert "is 'NoQuad', which is not a tile matrix set of morecantile" in told
    monkeypatch.setitem(sys.modules, "morecantile", None)
    told = tiled(*pyramid("NZTM2000Quad"))[-1]
    assert "is 'NZTM2000Quad', which needs a missing package" in told
    assert "pip install morecantile" in told
    assert tiled(*pyramid(TILES))[0].startswith("x (x)")  # which nobody has to look up


# What a store that declares nothing is told.


@pytest.mark.parametrize(
    "root",
    [of_array(), of_mapping(), pyramid(TILES)[0]],
    ids=["an array with a transform", "a grid mapping with one", "a tile matrix set"],
)
def test_the_warning_names_the_option_where_it_would_help(root: Group) -> None:
    store: Any = store_of(root)
    _tree, told = recorded(xr.open_datatree, store, engine="xgroup")
    assert "assume_conventions='geozarr'" in str(told[-1])
    _tree, told = recorded(xr.open_datatree, store, engine="xgroup", assume_conventions="geozarr")
    assert "assume_conventions" not in "".join(map(str, told))


@pytest.mark.parametrize(
    ("attributes", "is_meant", "owned"),
    [
        ({"GeoTransform": TRANSFORM}, True, []),
        ({"_CRS": {}}, True, ["_CRS"]),
        ({"_CRS": "EPSG:4326"}, True, ["_CRS"]),  # and reported
        ({"multiscales": {"tile_matrix_set": "a"}}, True, ["multiscales"]),
        ({"multiscales": {"layout": []}}, False, ["multiscales"]),  # of the convention so called
        ({"multiscales": "tile_matrix_set"}, False, ["multiscales"]),
        ({"grid_mapping": "crs"}, False, []),
    ],
    ids=str,
)
def test_marks_of_the_draft(
    attributes: Mapping[str, Any], is_meant: bool, owned: list[str]
) -> None:
    # Of tiles the group above says it.
    above, own = (attributes, {}) if "multiscales" in attributes else ({}, attributes)
    root = Group({"0": Group({"a": Array(np.ones((2, 3)), ("y", "x"), own)})}, above)
    store: Any = store_of(root)
    explanation = zarr_xgroup.explain(store, assume_conventions="auto")
    (array,) = (array for group in explanation.groups for array in group.arrays)
    assert ("geozarr" in {it.name for it in array.conventions}) is is_meant
    assert list(GeoZarrHandler.owned(attributes)) == owned
