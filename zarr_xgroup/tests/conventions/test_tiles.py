"""Tile matrix sets: the matrix of a level, and the order of coordinates of corners.

The tests of the coordinates computed from them are in `test_geozarr`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import xarray as xr

import zarr_xgroup
from zarr_xgroup.tests.builders import Array, Group, Json, opened
from zarr_xgroup.tests.tables import outcome, rows, store_of

OGC = "http://www.opengis.net/def/crs"


def matrix(name: str = "0", size: float = 10.0, tiles: Any = (2, 2), **changed: Any) -> Json:
    """Return a tile matrix of tiles of 2 x 3 cells."""
    found = {"id": name, "cellSize": size, "pointOfOrigin": [100.0, 200.0]}
    found |= {"tileHeight": 2, "tileWidth": 3, "matrixHeight": tiles[0], "matrixWidth": tiles[1]}
    return {**found, **changed}


def tile_set(*matrices: Json, **changed: Any) -> Json:
    return {"crs": f"{OGC}/EPSG/0/32632", "tileMatrices": list(matrices or [matrix()]), **changed}


def tiled(tiles: Any, limits: Any = None, **attributes: Any) -> Group:
    """Return levels `0`, of 3 x 4 cells, and `1`, of 2 x 2, that have a tile matrix set."""
    multiscales = {"tile_matrix_set": tiles, "tile_matrix_set_limits": limits or {}}
    sizes = {"0": (3, 4), "1": (2, 2)}
    arrays = {name: Array(np.zeros(size), ("y", "x")) for name, size in sizes.items()}
    levels = {name: Group({"v": array}) for name, array in arrays.items()}
    return Group(levels, {"multiscales": multiscales, **attributes})


def limits(*rows_and_columns: int) -> Json:
    keys = ("min_tile_row", "max_tile_row", "min_tile_col", "max_tile_col")
    return dict(zip(keys, rows_and_columns, strict=True))


# fmt: off
#: Levels, and the first coordinates along X and Y of the one that is called `0`.
TILED: Mapping[str, tuple[Group, tuple[float, float]]] = {
    "the matrix has the name of the level": (tiled(tile_set(matrix("1", 5.0), matrix())), (105, 195)),
    "a place has a colon, and spaces around": (tiled(" #/attributes/t:own ", **{"t:own": tile_set()}), (105, 195)),
    "limits are those of the level": (
        tiled(tile_set(matrix(tiles=(90, 80))), {"1": limits(0, 0, 0, 0), "0": limits(5, 6, 7, 8)}),
        (315, 95),
    ),
}
# fmt: on


def first_of(root: Group) -> tuple[float, float]:
    dataset = opened(xr.open_dataset, store_of(root), group="0", assume_conventions="geozarr")
    return float(dataset["x"][0]), float(dataset["y"][0])


@rows(TILED, "root, expected")
def test_tiles_of_levels(root: Group, expected: Any) -> None:
    assert first_of(root) == expected


#: Names of axes, the first of which goes along X.
AXES = ("X Y", "E N", "East North", "Easting Northing", "lon lat", "Long Lat", "LONGITUDE LATITUDE")


@pytest.mark.parametrize("names", AXES)
@pytest.mark.parametrize("crs", [None, f"{OGC}/OGC/1.3/CRS84", f"{OGC}/EPSG/0/4326"])
def test_axis_names_determine_the_order_of_corners(names: str, crs: Any) -> None:
    x, y = names.split()
    for axes, corner in (([x, y], [7.0, 52.0]), ([y, x], [52.0, 7.0])):
        tiles = tile_set(matrix(size=0.5, pointOfOrigin=corner), crs=crs, orderedAxes=axes)
        assert first_of(tiled(tiles)) == (7.25, 51.75)


def test_the_crs_of_tiles_has_the_name_of_a_missing_grid_mapping() -> None:
    named = Array(np.zeros((3, 4)), ("y", "x"), {"grid_mapping": "crs"})
    root = Group({"0": Group({"v": named})}, tiled(tile_set()).attrs)
    _dataset, lines = outcome(root, group="0", only="crs v", assume_conventions="geozarr")
    assert lines == ["crs () EPSG:32632", "v (y x) @ crs x y | grid_mapping=crs"]


def test_documents_at_other_urls_are_not_read() -> None:
    root = tiled("https://example.org/tiles.json#/tiles")
    _dataset, (_array, told) = outcome(root, group="0", assume_conventions="geozarr")
    assert told == (
        "! Resolution: /0/v was opened without the coordinates and CRS of the tile matrix set: /#/attributes/"
        "multiscales/tile_matrix_set: must be an identifier, or a place in the store such as "
        "'#/attributes/tiles'; other documents are not read"
    )


def test_groups_of_a_tile_matrix_set_are_levels_if_geozarr_is_assumed() -> None:
    store: Any = store_of(tiled(tile_set(matrix(), matrix("1", 20.0, (1, 1)))))
    levels = zarr_xgroup.levels(store, assume_conventions="geozarr")
    assert [(it.path, it.resolution) for it in levels] == [("/0", (10, 10)), ("/1", (20, 20))]
    options: Any = {"resolution": 20, "assume_conventions": "auto"}
    assert opened(xr.open_datatree, store, **options).groups == ("/", "/1")
