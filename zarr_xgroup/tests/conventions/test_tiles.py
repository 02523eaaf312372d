"""Tile matrix sets: grids of the levels of a pyramid, where the draft of GeoZarr is assumed."""

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import xarray as xr

from zarr_xgroup.conventions.dialects.tiles import integer
from zarr_xgroup.errors import XGroupMetadataError
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.tests.builders import Array, Group, Json, opened
from zarr_xgroup.tests.tables import check, outcome, rows, store_of

OGC = "http://www.opengis.net/def/crs"


def of(rows: int, columns: int, **attributes: Any) -> Group:
    """Return a group with an array `v`."""
    return Group({"v": Array(np.zeros((rows, columns), "i1"), ("y", "x"))}, attributes)


def matrix(name: str = "0", size: Any = 10.0, tiles: Any = (2, 2), **changed: Any) -> Json:
    """Return a tile matrix of tiles of 2 x 3 cells."""
    found = {"id": name, "cellSize": size, "pointOfOrigin": [100.0, 200.0]}
    found |= {"tileHeight": 2, "tileWidth": 3, "matrixHeight": tiles[0], "matrixWidth": tiles[1]}
    return {key: it for key, it in {**found, **changed}.items() if it is not None}


def tile_set(*matrices: Json, **changed: Any) -> Json:
    found = {"crs": f"{OGC}/EPSG/0/32632", "tileMatrices": list(matrices or [matrix()]), **changed}
    return {key: it for key, it in found.items() if it is not None}


def tiled(tiles: Any, limits: Any = None, size: Any = (3, 4), root: Json | None = None) -> Group:
    """Return levels `0`, of 3 x 4 cells, and `1` in a group that has a tile matrix set."""
    multiscales = {"tile_matrix_set": tiles, "tile_matrix_set_limits": limits}
    attributes = {"multiscales": {k: it for k, it in multiscales.items() if it is not None}}
    group = Group({"0": of(*size), "1": of(2, 2)}, {**attributes, **(root or {})})
    return Group({"p": group}, {"sets": {"a/b": tile_set()}})


def limits(*rows_and_columns: int) -> Json:
    keys = ("min_tile_row", "max_tile_row", "min_tile_col", "max_tile_col")
    return dict(zip(keys, rows_and_columns, strict=True))


# fmt: off
#: Levels, and the first coordinates along X and Y of the one that is called `0`.
TILED: Mapping[str, tuple[Group, tuple[float, float]]] = {
    "a set that is written there": (tiled(tile_set()), (105, 195)),
    "the matrix has the name of the level": (tiled(tile_set(matrix("1", 5.0), matrix())), (105, 195)),
    "a set elsewhere in the store": (tiled("/#/attributes/sets/a~1b"), (105, 195)),
    "a set in the group above": (tiled(" ../#/attributes/sets/a~1b "), (105, 195)),
    "a set in the group": (tiled("#/attributes/t:own", root={"t:own": tile_set()}), (105, 195)),
    "limits are tiles of the level": (
        tiled(tile_set(matrix(tiles=(90, 80))), {"1": limits(0, 0, 0, 0), "0": limits(5, 6, 7, 8)}),
        (315, 95),
    ),
    "a single tile": (
        tiled(tile_set(matrix(tiles=(9, 8))), {"0": limits(0, 0, 1, 1)}, (2, 3)), (135, 195)
    ),
    "tiles of one cell": (
        tiled(tile_set(matrix(tiles=(3, 4), tileHeight=1, tileWidth=1))), (105, 195)
    ),
    "the CRS of the first edition": (tiled(tile_set(crs=None, supportedCRS="EPSG:32632")), (105, 195)),
}
# fmt: on


@rows(TILED, "root, expected")
def test_levels_of_a_tile_matrix_set(root: Group, expected: tuple[float, float]) -> None:
    dataset = opened(xr.open_dataset, store_of(root), group="p/0", assume_conventions="geozarr")
    assert (float(dataset["x"][0]), float(dataset["y"][0])) == expected
    assert dataset["spatial_ref"].attrs["grid_mapping_name"] == "transverse_mercator"


# fmt: off
#: The CRS of a tile matrix set and the names of axes, by which its corner is given by longitude or latitude first.
CORNERS: Mapping[str, list[tuple[Any, str]]] = {
    "longitude": [
        (f"{OGC}/OGC/1.3/CRS84", ""), (f"{OGC}/EPSG/0/4326", "Lon Lat"), (None, "X Y"), (None, "E N"),
        (None, "East North"), (None, "Easting Northing"), (None, "lon lat"), (None, "LONG LAT"),
        (None, "Longitude Latitude"),
    ],
    "latitude": [
        (f"{OGC}/EPSG/0/4326", ""), ({"uri": f"{OGC}/EPSG/0/4326"}, ""), (f"{OGC}/OGC/1.3/CRS84", "Lat Lon"),
        (None, "Y X"), (None, "n e"), (None, "NORTH EAST"), (None, "northing easting"), (None, "lat lon"),
        (None, "Latitude Longitude"),
    ],
}
# fmt: on


@pytest.mark.parametrize("first", CORNERS)
def test_the_corner_is_in_the_order_of_the_axes(first: str) -> None:
    corner = [7.0, 52.0] if first == "longitude" else [52.0, 7.0]
    for crs, axes in CORNERS[first]:
        tiles = matrix(size=0.5, pointOfOrigin=corner)
        store = store_of(tiled(tile_set(tiles, crs=crs, orderedAxes=axes.split() or None)))
        dataset = opened(xr.open_dataset, store, group="p/0", assume_conventions="geozarr")
        assert (float(dataset["x"][0]), float(dataset["y"][0])) == (7.25, 51.75), (crs, axes)


# fmt: off
#: A tile matrix set, and why it cannot be used.
NO_TILES: Mapping[str, tuple[Any, str]] = {
    "no object": (7, "/tile_matrix_set: must be an object, got number"),
    "no matrices": ({}, "/tile_matrix_set: has no 'tileMatrices'"),
    "no matrix of the name": (tile_set(matrix("2")), "/tile_matrix_set: has no tile matrix '0'"),
    "a document elsewhere": ("https://example.org/t.json#/t", "other documents are not read"),
    "a store elsewhere": (
        "s3:b/t#/attributes",
        "is neither an identifier nor a place in the store",
    ),
    "a file": ("tiles.json", "other documents are not read"),
    "a place above the store": ("../../..#/attributes/sets", "leads above the root of the store"),
    "a place that is not there": ("/#/attributes/none", "/attributes/none"),
    "no size": (tile_set(matrix(size=None)), "has no 'cellSize'"),
    "a size of zero": (tile_set(matrix(size=0)), "/cellSize: must be a positive number"),
    "a size that is none": (tile_set(matrix(size="x")), "/cellSize: must be 1 finite numbers"),
    "half a corner": (
        tile_set(matrix(pointOfOrigin=[0.0])),
        "/pointOfOrigin: must be 2 finite numbers, got [0.0]",
    ),
    "no cells": (tile_set(matrix(tileWidth=0)), "/tileWidth: must be an integer from 1 to"),
    "another corner": (
        tile_set(matrix(cornerOfOrigin="bottomLeft")),
        "has a cornerOfOrigin other than topLeft",
    ),
    "rows of several lengths": (
        tile_set(matrix(variableMatrixWidths=[{"coalesce": 2}])),
        "or variableMatrixWidths",
    ),
    "another number of tiles": (
        tile_set(matrix(tiles=(2, 3))),
        "has [2, 3] tiles of [2, 3] cells, but an array of [3, 4] cells has [2, 2]: it is not its grid",
    ),
    "neither axes nor a CRS": (tile_set(crs=None), "says neither by orderedAxes nor by crs"),
}
# fmt: on


def told_of_tiles(tiles: Any) -> str:
    """Return what is told of a level that gets no coordinates from its tile matrix set."""
    dataset, lines = outcome(tiled(tiles), group="p/0", assume_conventions="geozarr")
    assert not {"x", "y"} & set(dataset.coords)
    (told,) = (line for line in lines if line.startswith("!"))
    return told


@rows(NO_TILES, "tiles, text")
def test_a_tile_matrix_set_that_cannot_be_used(tiles: Any, text: str) -> None:
    told = told_of_tiles(tiles)
    assert told.startswith("! Resolution: /p/0/v was opened without ")
    assert text in told


def test_sets_with_an_identifier_are_known_to_morecantile(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("morecantile")
    half = 20037508.342789244
    for named in ("WebMercatorQuad", f"{OGC[:-3]}tilematrixset/OGC/1.0/WebMercatorQuad"):
        store = store_of(tiled(named, size=(256, 256)))
        dataset = opened(xr.open_dataset, store, group="p/0", assume_conventions="geozarr")
        np.testing.assert_allclose(dataset["x"][[0, -1]], [-half * 255 / 256, half * 255 / 256])
    assert "is 'NoQuad', which morecantile does not know" in told_of_tiles("NoQuad")
    monkeypatch.setitem(sys.modules, "morecantile", None)
    told = told_of_tiles("NZTM2000Quad")
    assert (
        "is 'NZTM2000Quad', which is known to a package that is missing: pip install morecantile"
        in told
    )


def test_an_array_of_the_root_is_of_no_level() -> None:
    root = of(3, 4, multiscales={"tile_matrix_set": tile_set()})
    check(root, "v (y x)", assume_conventions="geozarr")


@pytest.mark.parametrize("assumed", ["geozarr", "auto"])
def test_the_groups_of_a_tile_matrix_set_are_levels_where_geozarr_is_assumed(assumed: str) -> None:
    levels = tiled(tile_set(matrix(), matrix("1", 20.0, (1, 1)))).members["p"]
    store: Any = store_of({"": levels})
    options: Any = {"resolution": 20, "assume_conventions": assumed}
    assert opened(xr.open_dataset, store, **options)["v"].shape == (2, 2)
    assert opened(xr.open_datatree, store, **options).groups == ("/", "/1")


@pytest.mark.parametrize("value", [0, 1, 2**53, 2**53 + 1, True, 1.0, "1", None], ids=str)
def test_numbers_of_tiles_are_integers_that_are_floats_too(value: Any) -> None:
    written = Fragment(Node(0, "a"), (), value)
    if type(value) is int and 1 <= value <= 2**53:
        assert integer(written, 1) == value
        return
    with pytest.raises(XGroupMetadataError, match="must be an integer from 1 to 9007199254740992"):
        integer(written, 1)
