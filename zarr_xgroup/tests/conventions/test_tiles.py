"""Tile matrix sets: which one is meant, which array is a level of it, and what numbers may be."""

from typing import Any

import numpy as np
import pytest
import xarray as xr

from zarr_xgroup.conventions.dialects.tiles import integer
from zarr_xgroup.errors import XGroupMetadataError
from zarr_xgroup.metadata.nodes import Fragment, Node
from zarr_xgroup.tests.builders import Group, build, memory_store, opened
from zarr_xgroup.tests.conventions.test_geozarr import (
    OGC,
    TILES,
    X,
    Y,
    assuming,
    first_matrix,
    grid,
    limits_of,
    pyramid,
    told_when_assuming,
)


def test_levels_of_one_size_are_those_of_their_names() -> None:
    first, second = TILES["tileMatrices"]
    tiles = {**TILES, "tileMatrices": [first, {**second, "matrixHeight": 2, "matrixWidth": 2}]}
    levels = {name: Group({"v": grid()}) for name in ("0", "1")}
    store = memory_store(build(Group(levels, {"multiscales": {"tile_matrix_set": tiles}})))
    found = opened(xr.open_groups, store, assume_conventions="geozarr")
    assert found["/0"]["x"].values.tolist() == X
    assert found["/1"]["x"].values.tolist() == [300010.0, 300030.0, 300050.0, 300070.0]


def test_limits_are_those_of_the_level() -> None:
    tiles = first_matrix(matrixHeight=90, matrixWidth=80)
    limits = {"1": limits_of((0, 0), (0, 0)), "0": limits_of((5, 6), (7, 8))}
    dataset = assuming(pyramid(tiles, limits=limits), group="p/0")
    assert (dataset["x"].values[0], dataset["y"].values[0]) == (X[0] + 210, Y[0] - 100)


def test_an_array_of_the_root_is_of_no_level() -> None:
    root = Group({"v": grid()}, {"multiscales": {"tile_matrix_set": TILES}})
    assert not assuming(root).coords


def test_the_order_of_axes_goes_before_the_crs() -> None:
    tiles = {**first_matrix(pointOfOrigin=[52.0, 7.0], cellSize=0.5), "orderedAxes": ["Lat", "Lon"]}
    for crs in ({"crs": f"{OGC}/OGC/1.3/CRS84"}, {"crs": None}):
        dataset = assuming(pyramid({**tiles, **crs}), group="p/0")
        assert (dataset["x"].values[0], dataset["y"].values[0]) == (7.25, 51.75)


@pytest.mark.parametrize(
    "axes",
    ["X Y", "E N", "East North", "Easting Northing", "lon lat", "Long Lat", "LONGITUDE LATITUDE"],
)
def test_names_of_axes(axes: str) -> None:
    for names, origin in ((axes.split(), [7.0, 52.0]), (axes.split()[::-1], [52.0, 7.0])):
        tiles = {**first_matrix(pointOfOrigin=origin, cellSize=0.5), "orderedAxes": names}
        dataset = assuming(pyramid({**tiles, "crs": None}), group="p/0")
        assert (dataset["x"].values[0], dataset["y"].values[0]) == (7.25, 51.75)


def test_the_crs_is_that_of_the_set() -> None:
    dataset = assuming(pyramid({**TILES, "crs": {"uri": f"{OGC}/EPSG/0/32632"}}), group="p/0")
    assert dataset["spatial_ref"].attrs["grid_mapping_name"] == "transverse_mercator"


@pytest.mark.parametrize("place", [" #/attributes/tiles:own ", "/p/#/attributes/tiles:own"])
def test_a_place_may_have_a_colon_and_spaces_around(place: str) -> None:
    levels = {"0": Group({"v": grid()})}
    held = Group(levels, {"multiscales": {"tile_matrix_set": place}, "tiles:own": TILES})
    assert assuming(Group({"p": held}), group="p/0")["x"].values.tolist() == X


@pytest.mark.parametrize("place", ["https://example.org/tiles.json#/tiles", "s3:b/t#/attributes"])
def test_documents_elsewhere_are_not_read(place: str) -> None:
    dataset, told = told_when_assuming(pyramid(place), group="p/0")
    assert not dataset.coords
    assert "is neither an identifier nor a place in the store" in told
    assert told.startswith("/p/0/v was opened without what follows from the tile matrix set: ")


@pytest.mark.parametrize("value", [1, 2**53])
def test_integers(value: int) -> None:
    assert integer(Fragment(Node(0, "a"), (), value), 1) == value


@pytest.mark.parametrize("value", [0, 2**53 + 1, True, 1.0, "1", None, np.inf], ids=str)
def test_what_is_no_integer(value: Any) -> None:
    with pytest.raises(XGroupMetadataError, match="must be an integer from 1 to 9007199254740992"):
        integer(Fragment(Node(0, "a"), (), value), 1)
