"""NZ-1.0 and the draft of the GeoZarr standard: what a reader makes of stores that follow them."""

import re
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyproj
import pytest
import xarray as xr
import zarr

from zarr_xgroup import XGroupDimensionWarning, XGroupNoPrincipalWarning
from zarr_xgroup.conventions import Surroundings
from zarr_xgroup.conventions.dialects.geozarr import GeoZarrHandler
from zarr_xgroup.metadata.nodes import Node
from zarr_xgroup.metadata.tree import KnownStore, Tree
from zarr_xgroup.tests.builders import (
    Array,
    Group,
    ZarrFormat,
    build,
    coordinate,
    memory_store,
    opened,
    opened_with_warnings,
    recorded,
)
from zarr_xgroup.tests.documents import REPOSITORY, TESTS

#: Where OGC names CRSs.
OGC = "http://www.opengis.net/def/crs"

each_format = pytest.mark.parametrize("zarr_format", [2, 3])

# What the root of a store names (NZ-1.0, "Convention Declaration").


def hierarchy(**attributes: Any) -> Group:
    """Return a store with an array that refers to one in the group above its own."""
    data = Array([1.0, 2.0], ("x",), {"coordinates": "lon"})
    return Group({"lon": Array([5.0, 6.0], ("x",)), "a": Group({"data": data})}, attributes)


@each_format
@pytest.mark.parametrize(
    "attributes",
    [
        {"conventions": "NZ-1.0 CF-1.12"},
        {"Conventions": "NZ-1.0 CF-1.12"},
        {"conventions": "nz-1.0 cf-1.7"},
        {"Conventions": "CF-1.12, NZ-1.0"},
        {"conventions": "NZ-1.0 CF-1.12 ACDD-1.3"},
        {"conventions": "NZ-1.0", "Conventions": "CF-1.12"},
    ],
)
def test_a_root_declares_cf_by_naming_it_with_nz(
    attributes: Mapping[str, Any], zarr_format: ZarrFormat
) -> None:
    store = memory_store(build(hierarchy(**attributes), zarr_format))
    dataset, given = recorded(xr.open_dataset, store, engine="xgroup", group="a")
    assert given == []
    assert dataset["data"].coords["lon"].values.tolist() == [5.0, 6.0]


@pytest.mark.parametrize(
    "attributes",
    [
        {"conventions": "NZ-1.0"},
        {"conventions": "CF-1.12"},
        {"conventions": "NZ-2.0 CF-1.12"},
        {"conventions": "NZ-1.0 CF"},
        {"conventions": "NZ-1.0 ACDD-CF-1.12"},
        {"conventions": ["NZ-1.0", "CF-1.12"]},
        {"conventions": {"NZ-1.0": "CF-1.12"}},
    ],
)
def test_a_root_that_does_not_name_both_declares_nothing(attributes: Mapping[str, Any]) -> None:
    store = memory_store(build(hierarchy(**attributes)))
    dataset = opened(xr.open_dataset, store, group="a")
    assert "lon" not in dataset.variables


def test_only_the_root_names_conventions() -> None:
    named = {"conventions": "NZ-1.0 CF-1.12"}
    root = Group({"g": Group(hierarchy().members, named)})
    dataset = opened(xr.open_dataset, memory_store(build(root)), group="g/a")
    assert "lon" not in dataset.variables


# What NZ-1.0 says of arrays.

NZ = {"conventions": "NZ-1.0 CF-1.12"}
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


@pytest.mark.parametrize(
    "dtype", ["bool", *INTEGERS, "float32", "float64", "complex64", "complex128"]
)
def test_each_type_of_nz_is_read(dtype: str) -> None:
    values = np.array([0, 1, 1], dtype)
    store = memory_store(build(Group({"v": Array(values, ("n",))}, NZ)))
    dataset = opened(xr.open_dataset, store)
    assert dataset["v"].dtype == values.dtype
    assert dataset["v"].values.tolist() == values.tolist()


@pytest.mark.parametrize("dtype", ["int16", "float32", "float64"])
def test_fill_value_masks_whatever_the_storage_has(dtype: str) -> None:
    values = np.array([0, -99, 7], dtype)
    array = Array(values, ("n",), {"_FillValue": -99}, v3={"fill_value": 7})
    store = memory_store(build(Group({"v": array}, NZ)))
    np.testing.assert_equal(opened(xr.open_dataset, store)["v"].values, [0.0, np.nan, 7.0])


def test_a_scalar_array() -> None:
    members = {"v": Array([[1.0]], ("y", "x"), {"coordinates": "height"}), "height": Array(2.0)}
    dataset = opened(xr.open_dataset, memory_store(build(Group(members, NZ))))
    assert dataset["v"].coords["height"].item() == 2.0


def test_coordinates_of_dimensions_follow_from_names_alone() -> None:
    members: dict[str, Group | Array] = {
        "v": Array(np.ones((2, 3)), ("lat", "lon")),
        "lat": coordinate("lat", [50.0, 51.0]),
        "lon": Array(np.ones((2, 3)), ("lat", "lon")),
    }
    group = Group(members)
    root = Group({"g": Group({"v": Array(np.ones(4), ("lat",))}), "h": group}, NZ)
    store = memory_store(build(root))
    with_axes = opened(xr.open_dataset, store, group="h", drop_variables=["lon"])
    assert set(with_axes["v"].coords) == {"lat"}
    # Another group, another dimension of the same name.
    assert not opened(xr.open_dataset, store, group="g").coords


def test_packed_values_are_unpacked() -> None:
    packed = Array(np.array([1, 2], "i2"), ("n",), {"scale_factor": 0.5, "add_offset": 10.0})
    dataset = opened(xr.open_dataset, memory_store(build(Group({"v": packed}, NZ))))
    assert dataset["v"].values.tolist() == [10.5, 11.0]


def test_sharded_arrays_are_read() -> None:
    store = memory_store(build(Group({}, NZ)))
    array = zarr.open_group(store, mode="r+").create_array(
        "v", shape=(8,), chunks=(2,), shards=(4,), dtype="i4", dimension_names=("n",)
    )
    array[:] = np.arange(8)
    assert opened(xr.open_dataset, store)["v"].values.tolist() == list(range(8))


def test_attributes_stay_what_they_are() -> None:
    written = {"flag": True, "n": 1, "f": 0.1, "list": ["a", "b"], "more": {"deep": {"er": [1]}}}
    dataset = opened(xr.open_dataset, memory_store(build(Group({"v": grid(**written)}, NZ))))
    assert dataset["v"].attrs == written
    assert [type(value) for value in dataset["v"].attrs.values()] == [bool, int, float, list, dict]


# GDAL's attributes, where GeoZarr is assumed.

GEOTRANSFORM = "300000.0 10.0 0.0 5000040.0 0.0 -10.0"
X, Y = [300005.0, 300015.0, 300025.0, 300035.0], [5000035.0, 5000025.0, 5000015.0]
UTM = pyproj.CRS(32632).to_wkt()
CRS = Array(0, (), {"crs_wkt": UTM, "GeoTransform": GEOTRANSFORM})


def grid(dims: tuple[str, ...] = ("y", "x"), /, **attributes: Any) -> Array:
    shape = {"y": 3, "x": 4, "lat": 3, "lon": 4, "band": 2}
    return Array(np.ones([shape[dim] for dim in dims], "f4"), dims, attributes)


def assuming(root: Group, zarr_format: ZarrFormat = 3, /, **options: Any) -> xr.Dataset:
    store = memory_store(build(root, zarr_format))
    dataset = opened(xr.open_dataset, store, assume_conventions="geozarr", **options)
    assert isinstance(dataset, xr.Dataset)
    return dataset


def told_when_assuming(root: Group, **options: Any) -> tuple[xr.Dataset, str]:
    store = memory_store(build(root))
    dataset, told = opened_with_warnings(
        xr.open_dataset, store, assume_conventions="geozarr", **options
    )
    (said,) = [str(item) for item in told if not isinstance(item, XGroupDimensionWarning)]
    return dataset, said


@each_format
@pytest.mark.parametrize(
    "written",
    [
        GEOTRANSFORM,
        f" {GEOTRANSFORM} ",
        GEOTRANSFORM.replace(" ", ", "),
        [3e5, 10, 0, 5000040, 0, -10],
    ],
)
def test_a_transform_of_the_grid_mapping_variable(written: Any, zarr_format: ZarrFormat) -> None:
    crs = Array(0, (), {"crs_wkt": UTM, "GeoTransform": written})
    root = Group({"v": grid(grid_mapping="crs"), "crs": crs})
    dataset = assuming(root, zarr_format)
    assert dataset["v"].coords["x"].values.tolist() == X
    assert dataset["v"].coords["y"].values.tolist() == Y
    assert dataset["x"].attrs["standard_name"] == "projection_x_coordinate"
    assert dataset["crs"].attrs["GeoTransform"] == written
    assert set(dataset.coords) == {"x", "y", "crs"}


@pytest.mark.parametrize(
    "dims", [("y", "x"), ("x", "y"), ("band", "y", "x"), ("y", "x", "band"), ("lon", "lat")]
)
def test_a_transform_of_the_array(dims: tuple[str, ...]) -> None:
    dataset = assuming(Group({"v": grid(dims, GeoTransform=GEOTRANSFORM)}))
    y, x = ("lat", "lon") if "lat" in dims else ("y", "x")
    assert dataset["v"].coords[x].values.tolist() == X
    assert dataset["v"].coords[y].values.tolist() == Y


def test_a_transform_of_the_array_is_told_by_its_crs() -> None:
    written = {"GeoTransform": GEOTRANSFORM, "_CRS": {"url": f"{OGC}/EPSG/0/32632"}}
    dataset = assuming(Group({"v": grid(**written)}))
    assert "GeoTransform" not in dataset["spatial_ref"].attrs
    assert dataset["v"].attrs["GeoTransform"] == GEOTRANSFORM
    turned = assuming(Group({"v": grid(**{**written, "GeoTransform": "3e5 8 6 5e6 6 -8"})}))
    assert turned["spatial_ref"].attrs["GeoTransform"] == "300000.0 8.0 6.0 5000000.0 6.0 -8.0"


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("1 2 3", "must be 6 finite numbers, got [1.0, 2.0, 3.0]"),
        ("a b c d e f", 'must be 6 finite numbers, got ["a", "b", "c", "d", "e", "f"]'),
        ("0 inf 0 0 0 -1", "must be 6 finite numbers, got [0.0, Infinity, 0.0, 0.0, 0.0, -1.0]"),
        ("0 1 0 0 0 0", "is degenerate: cells have no area"),
        (7, "must be a list, got number"),
        ({"a": 1}, "must be a list, got object"),
    ],
)
def test_a_transform_that_cannot_be_used(written: Any, text: str) -> None:
    dataset, told = told_when_assuming(Group({"v": grid(GeoTransform=written)}))
    assert not dataset.coords
    assert f"/v#/attributes/GeoTransform: {text}" in told


@pytest.mark.parametrize("dims", [("row", "column"), ("y", "x")])
def test_a_transform_is_that_of_arrays_of_one_size(dims: tuple[str, str]) -> None:
    finer = Array(np.ones((6, 8)), dims, {"grid_mapping": "crs"})
    members = {"v": grid(grid_mapping="crs"), "w": finer, "crs": CRS}
    dataset, told = told_when_assuming(Group(members))
    assert set(dataset.coords) <= {"crs"}
    assert "/crs#/attributes/GeoTransform: is the transform of one grid" in told


@pytest.mark.parametrize("named", ["crs", "/crs", "../../crs", "crs: x y"])
def test_the_grid_mapping_variable_is_in_a_group_above(named: str) -> None:
    level = Group({"v": grid(grid_mapping=named)})
    dataset = assuming(Group({"crs": CRS, "g": Group({"h": level})}), group="g/h")
    assert dataset["v"].coords["x"].values.tolist() == X
    assert dataset["crs"].attrs["crs_wkt"] == UTM
    assert dataset["v"].attrs["grid_mapping"] == "crs"


@pytest.mark.parametrize("place", ["/crs", "../0/crs"])
def test_levels_of_a_pyramid_share_a_crs_but_no_transform(place: str) -> None:
    levels = {
        "0": Group({"v": grid(grid_mapping="crs"), "crs": CRS}),
        "1": Group({"v": Array(np.ones((2, 2)), ("y", "x"), {"grid_mapping": place})}),
    }
    root = Group({"crs": CRS, **levels}, {"multiscales": {"resampling_method": "nearest"}})
    assert assuming(root, group="0")["x"].values.tolist() == X
    dataset = assuming(root, group="1")
    assert "x" not in dataset.coords
    assert dataset["crs"].attrs["crs_wkt"] == UTM


def test_a_grid_mapping_that_leads_nowhere_is_told() -> None:
    root = Group({"g": Group({"v": grid(grid_mapping="../crs")})})
    _dataset, told = told_when_assuming(root, group="g")
    assert "'../crs' leads to no array" in told


@pytest.mark.parametrize(
    "written",
    [
        {"url": f"{OGC}/EPSG/0/32632"},
        {"wkt": UTM},
        {"projjson": pyproj.CRS(32632).to_json_dict()},
        {"url": f"{OGC}/EPSG/0/32632", "wkt": "no WKT at all", "projjson": None},
    ],
)
def test_the_crs_of_gdal(written: Mapping[str, Any]) -> None:
    attributes = {"_CRS": {key: value for key, value in written.items() if value is not None}}
    if written.get("wkt") == "no WKT at all":
        dataset, told = told_when_assuming(Group({"v": grid(**attributes)}))
        assert "wkt: is no CRS that pyproj understands" in told
    else:
        dataset = assuming(Group({"v": grid(**attributes)}))
    assert dataset["v"].attrs["grid_mapping"] == "spatial_ref"
    assert pyproj.CRS(dataset["spatial_ref"].attrs["crs_wkt"]).to_epsg() == 32632


def test_the_url_of_a_crs_goes_before_others() -> None:
    written = {"wkt": pyproj.CRS(4326).to_wkt(), "url": f"{OGC}/EPSG/0/32632"}
    dataset, told = told_when_assuming(Group({"v": grid(_CRS=written)}))
    assert pyproj.CRS(dataset["spatial_ref"].attrs["crs_wkt"]).to_epsg() == 32632
    assert "wkt: is another CRS than url, which counts" in told


@pytest.mark.parametrize(
    "written",
    [
        {"wkt": "+proj=utm +zone=32 +nadgrids=/etc/passwd"},
        {"url": "/etc/passwd+init=epsg:4326"},
        {"wkt": UTM[:-1] + ',PARAMETERFILE["grid","/etc/passwd"]]'},
        {"projjson": {"proj": "utm", "nadgrids": "/etc/passwd"}},
        "EPSG:32632",
    ],
)
def test_a_crs_that_pyproj_must_not_see(written: Any) -> None:
    dataset, told = told_when_assuming(Group({"v": grid(_CRS=written)}))
    assert "spatial_ref" not in dataset.variables
    assert "/v#/attributes/_CRS" in told


def test_coordinates_that_are_there_are_not_told_to_be_lost() -> None:
    own = {"x": coordinate("x", X), "y": coordinate("y", Y)}
    _dataset, told = told_when_assuming(Group({"v": grid(GeoTransform="0 1 0 2 0"), **own}))
    assert "must be 6 finite numbers" in told
    assert told.startswith("/v was opened without what 'GeoTransform' declares: ")


# What is told of stores that declare nothing.


def no_principal_warning(root: Group, **options: Any) -> str:
    _tree, given = recorded(xr.open_datatree, memory_store(build(root)), engine="xgroup", **options)
    return "".join(str(item) for item in given if isinstance(item, XGroupNoPrincipalWarning))


@pytest.mark.parametrize(
    "members",
    [
        {"v": grid(GeoTransform=GEOTRANSFORM)},
        {"v": grid(grid_mapping="crs"), "crs": CRS},
    ],
)
def test_the_warning_ends_with_the_option(members: Mapping[str, Array]) -> None:
    warning = no_principal_warning(Group(members))
    assert warning.endswith(", open with assume_conventions='geozarr'")
    assert "assume_conventions" not in no_principal_warning(
        Group(members), assume_conventions="geozarr"
    )


def test_the_warning_names_no_option_for_a_grid_that_has_coordinates() -> None:
    members = {"v": grid(grid_mapping="crs"), "crs": CRS}
    own = {"x": coordinate("x", X), "y": coordinate("y", Y)}
    assert no_principal_warning(Group({**members, **own})) == ""


def test_the_draft_has_no_identity() -> None:
    declared = {"zarr_conventions": [{"name": "geozarr"}], "GeoTransform": GEOTRANSFORM}
    root = Group({"v": grid(**declared)})
    assert not opened(xr.open_dataset, memory_store(build(root))).coords


# Levels of a tile matrix set.

#: A grid of 3 x 4 cells of 10 m, and one of 2 x 2 cells of 20 m, in tiles of 2 x 3 cells.
TILES: Mapping[str, Any] = {
    "id": "scene",
    "crs": f"{OGC}/EPSG/0/32632",
    "tileMatrices": [
        {
            "id": name,
            "cellSize": size,
            "pointOfOrigin": [300000.0, 5000040.0],
            "tileHeight": 2,
            "tileWidth": 3,
            "matrixHeight": rows,
            "matrixWidth": columns,
        }
        for name, size, rows, columns in (("0", 10, 2, 2), ("1", 20, 1, 1))
    ],
}


def first_matrix(**changed: Any) -> dict[str, Any]:
    """Return the tile matrix set with a first tile matrix that is changed."""
    first, *others = TILES["tileMatrices"]
    matrix = {key: it for key, it in {**first, **changed}.items() if it is not None}
    return {**TILES, "tileMatrices": [matrix, *others]}


def pyramid(tiles: Any, *, limits: Any = None, members: Mapping[str, Array] | None = None) -> Group:
    """Return a multiscale group of two levels, in a group."""
    multiscales = {"tile_matrix_set": tiles, "resampling_method": "nearest"}
    if limits is not None:
        multiscales["tile_matrix_set_limits"] = limits
    levels = {
        "0": Group(members or {"v": grid(), "time": Array([1.0], ("t",))}),
        "1": Group({"v": Array(np.ones((2, 2)), ("y", "x"))}),
    }
    return Group({"p": Group(levels, {"multiscales": multiscales})}, {"sets": {"a/b": TILES}})


@each_format
def test_an_inline_tile_matrix_set(zarr_format: ZarrFormat) -> None:
    dataset = assuming(pyramid(TILES), zarr_format, group="p/0")
    assert dataset["v"].coords["x"].values.tolist() == X
    assert dataset["v"].coords["y"].values.tolist() == Y
    assert pyproj.CRS(dataset["spatial_ref"].attrs["crs_wkt"]).to_epsg() == 32632
    assert "grid_mapping" not in dataset["time"].attrs
    coarse = assuming(pyramid(TILES), zarr_format, group="p/1")
    assert coarse["x"].values.tolist() == [300010.0, 300030.0]
    assert coarse["y"].values.tolist() == [5000030.0, 5000010.0]


@pytest.mark.parametrize(
    "place", ["/#/attributes/sets/a~1b", "..#/attributes/sets/a~1b", "../#/attributes/sets/a~1b"]
)
def test_a_tile_matrix_set_elsewhere_in_the_store(place: str) -> None:
    assert assuming(pyramid(place), group="p/0")["x"].values.tolist() == X


def test_a_tile_matrix_set_in_the_group_itself() -> None:
    root = pyramid("#/attributes/tiles")
    held = root.members["p"]
    assert isinstance(held, Group)
    whole = Group({"p": Group(held.members, {**held.attrs, "tiles": TILES})})
    assert assuming(whole, group="p/0")["x"].values.tolist() == X


@pytest.mark.parametrize(
    ("crs", "axes", "origin"),
    [
        (f"{OGC}/EPSG/0/4326", None, [52.0, 7.0]),
        (f"{OGC}/EPSG/0/4326", ["Lat", "Lon"], [52.0, 7.0]),
        (f"{OGC}/EPSG/0/4326", ["Lon", "Lat"], [7.0, 52.0]),
        ({"uri": f"{OGC}/EPSG/0/4326"}, None, [52.0, 7.0]),
        ({"wkt": pyproj.CRS(4326).to_json_dict()}, None, [52.0, 7.0]),
        (f"{OGC}/OGC/1.3/CRS84", None, [7.0, 52.0]),
    ],
)
def test_points_are_in_the_order_of_the_axes(crs: Any, axes: Any, origin: list[float]) -> None:
    tiles = {**first_matrix(pointOfOrigin=origin, cellSize=0.5), "crs": crs}
    dataset = assuming(pyramid({**tiles, "orderedAxes": axes} if axes else tiles), group="p/0")
    assert dataset["x"].values.tolist() == [7.25, 7.75, 8.25, 8.75]
    assert dataset["y"].values.tolist() == [51.75, 51.25, 50.75]
    assert dataset["x"].attrs["standard_name"] == "longitude"


def test_the_crs_of_the_first_edition() -> None:
    tiles = {key: value for key, value in TILES.items() if key != "crs"}
    root = pyramid({**tiles, "supportedCRS": "EPSG:32632"})
    assert assuming(root, group="p/0")["x"].attrs["standard_name"] == "projection_x_coordinate"


def test_tiles_within_limits() -> None:
    limits = {"min_tile_row": 5, "max_tile_row": 6, "min_tile_col": 7, "max_tile_col": 8}
    tiles = first_matrix(matrixHeight=90, matrixWidth=80)
    dataset = assuming(pyramid(tiles, limits={"0": limits}), group="p/0")
    assert dataset["x"].values.tolist() == [x + 7 * 3 * 10 for x in X]
    assert dataset["y"].values.tolist() == [y - 5 * 2 * 10 for y in Y]


def test_what_a_level_has_goes_before_its_tile_matrix() -> None:
    members = {"v": grid(grid_mapping="crs"), "crs": Array(0, (), {"crs_wkt": UTM})}
    own = {"x": coordinate("x", [1.0, 2.0, 3.0, 4.0])}
    broken = {**TILES, "crs": "EPSG:4326"}
    dataset = assuming(pyramid(broken, members={**members, **own}), group="p/0")
    assert set(dataset.coords) == {"x", "crs"}
    assert dataset["x"].values.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert dataset["crs"].attrs["crs_wkt"] == UTM
    transformed = {"v": grid(GeoTransform="0 1 0 0 0 -1")}
    assert assuming(pyramid(TILES, members=transformed), group="p/0")["x"].values[0] == 0.5


@pytest.mark.parametrize(
    ("tiles", "text"),
    [
        (7, "/tile_matrix_set: must be an object, got number"),
        ({}, "/tile_matrix_set: has no 'tileMatrices'"),
        ({**TILES, "tileMatrices": []}, "/tile_matrix_set: has no tile matrix '0'"),
        ("https://example.org/tiles.json", "other documents are not read"),
        ("tiles.json", "other documents are not read"),
        ("../../..#/attributes/sets", "leads above the root of the store"),
        ("/#/attributes/none", "/attributes/none"),
        (first_matrix(cellSize=None), "has no 'cellSize'"),
        (first_matrix(cellSize=-1), "/cellSize: must be a positive number"),
        (first_matrix(cellSize=0), "/cellSize: must be a positive number"),
        (first_matrix(cellSize="x"), "/cellSize: must be 1 finite numbers"),
        (first_matrix(pointOfOrigin=[0.0]), "/pointOfOrigin: must be 2 finite numbers, got [0.0]"),
        (first_matrix(tileWidth=0), "/tileWidth: must be an integer from 1 to"),
        (first_matrix(tileWidth=True), "/tileWidth: must be an integer from 1 to"),
        (first_matrix(matrixWidth=2**60), "/matrixWidth: must be an integer from 1 to"),
        (first_matrix(cornerOfOrigin="bottomLeft"), "has a cornerOfOrigin other than topLeft"),
        (first_matrix(variableMatrixWidths=[{"coalesce": 2}]), "or variableMatrixWidths"),
        (
            first_matrix(matrixWidth=3),
            "has [2, 3] tiles of [2, 3] cells, but an array of [3, 4] cells has [2, 2]",
        ),
        ({"tileMatrices": TILES["tileMatrices"]}, "says neither by orderedAxes nor by crs"),
    ],
)
def test_a_tile_matrix_set_that_cannot_be_used(tiles: Any, text: str) -> None:
    dataset, told = told_when_assuming(pyramid(tiles), group="p/0")
    assert not {"x", "y"} & set(dataset.coords)
    assert text in told


@pytest.mark.parametrize(
    "named", ["WebMercatorQuad", "http://www.opengis.net/def/tilematrixset/OGC/1.0/WebMercatorQuad"]
)
def test_a_tile_matrix_set_with_an_identifier(named: str) -> None:
    pytest.importorskip("morecantile")
    levels = {"0": Group({"v": Array(np.ones((256, 256), "i1"), ("y", "x"))})}
    root = Group(levels, {"multiscales": {"tile_matrix_set": named}})
    dataset = assuming(root, group="0")
    half = 20037508.342789244
    np.testing.assert_allclose(dataset["x"].values[[0, -1]], [-half * 255 / 256, half * 255 / 256])
    assert pyproj.CRS(dataset["spatial_ref"].attrs["crs_wkt"]).to_epsg() == 3857


def test_an_identifier_that_is_not_known() -> None:
    pytest.importorskip("morecantile")
    _dataset, told = told_when_assuming(pyramid("NoQuad"), group="p/0")
    assert "is 'NoQuad', which morecantile does not know" in told


def test_without_morecantile_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "morecantile", None)
    _dataset, told = told_when_assuming(pyramid("NZTM2000Quad"), group="p/0")
    assert "is 'NZTM2000Quad', which is known to a package that is missing" in told
    assert "pip install morecantile" in told
    # Not asked for where there is no identifier.
    assert assuming(pyramid(TILES), group="p/0")["x"].values.tolist() == X


def test_a_tile_matrix_set_is_named_by_the_warning_about_its_levels() -> None:
    warning = no_principal_warning(pyramid(TILES))
    assert warning.endswith(", open with assume_conventions='geozarr'")


# The table of the specification.

SPECIFICATION = REPOSITORY / "xarray_zarr_xgroup_spec.md"


def test_the_tests_that_the_specification_names_exist() -> None:
    text = SPECIFICATION.read_text(encoding="utf-8")
    table = text.partition("## 16. ")[2]
    named = re.findall(r"`(test_\w+\.py)::(test_\w+)`", table)
    assert len(named) > 20
    modules = {path.name: path for path in TESTS.rglob("test_*.py")}
    for module, name in named:
        source = modules[module].read_text(encoding="utf-8")
        assert re.search(rf"^def {name}\(", source, re.MULTILINE), f"{module}::{name}"


# Which transform is that of a grid, and of which of its dimensions.

UNIT_CELLS = "0 1 0 0 0 -1"


def test_axes_are_known_by_name_in_capitals_and_renamed() -> None:
    written = {"GeoTransform": UNIT_CELLS, "grid_mapping": "crs"}  # of the array before that of crs
    members = {
        "v": Array(np.ones((3, 4)), ("Y", "X"), written),
        "w": Array(np.ones((2, 5)), ("X", "Y"), written),
        "z": Array(np.ones((2, 3)), ("Longitude", "Latitude"), written),
        "crs": CRS,
    }
    store = memory_store(build(Group(members)))
    dataset, told = opened_with_warnings(xr.open_dataset, store, assume_conventions="geozarr")
    assert [type(item) for item in told] == [XGroupDimensionWarning]
    assert {name: dataset[name].values.tolist() for name in dataset.dims} == {
        "Y": [-0.5, -1.5, -2.5],
        "X": [0.5, 1.5, 2.5, 3.5],
        "X_w": [0.5, 1.5],
        "Y_w": [-0.5, -1.5, -2.5, -3.5, -4.5],
        "Longitude": [0.5, 1.5],
        "Latitude": [-0.5, -1.5, -2.5],
    }


def test_axes_without_known_names_are_the_last_two() -> None:
    members = {"v": Array(np.ones((2, 3, 4)), ("t", "y", "cell"), {"GeoTransform": GEOTRANSFORM})}
    dataset = assuming(Group(members))
    assert {name: dataset[name].values.tolist() for name in dataset.coords} == {"y": Y, "cell": X}


def test_a_shared_transform_is_not_about_what_is_no_grid() -> None:
    members = {
        "v": grid(grid_mapping="crs"),
        "profile": Array(np.ones(5), ("n",), {"grid_mapping": "crs"}),
        "table": Array(np.ones((5, 2)), ("n", "m")),
        "crs": CRS,
    }
    dataset = assuming(Group(members))
    assert {name: dataset[name].values.tolist() for name in ("y", "x")} == {"y": Y, "x": X}


def test_arrays_that_differ_in_what_gdal_writes_are_told_apart() -> None:
    wgs84, utm = ({"url": f"{OGC}/EPSG/0/{code}"} for code in (4326, 32632))
    written = [(UNIT_CELLS, utm), (UNIT_CELLS, wgs84), (GEOTRANSFORM, utm)]
    groups = [Group({"v": grid(GeoTransform=it, _CRS=crs)}) for it, crs in written]
    root = Group({f"g{number}": group for number, group in enumerate(groups)})
    found = opened(xr.open_groups, memory_store(build(root)), assume_conventions="geozarr")
    first = [found[f"/g{number}"]["v"] for number in range(3)]
    assert [it["x"].values[0] for it in first] == [0.5, 0.5, X[0]]
    assert [it["x"].attrs["units"] for it in first] == ["m", "degrees_east", "m"]


# Which tiles of a tile matrix an array has.


def test_limits_may_be_of_one_tile_and_tiles_of_one_cell() -> None:
    tiles = first_matrix(matrixHeight=90, matrixWidth=80, tileHeight=3, tileWidth=4)
    dataset = assuming(pyramid(tiles, limits={"0": limits_of((0, 0), (0, 0))}), group="p/0")
    assert (dataset["y"].values.tolist(), dataset["x"].values.tolist()) == (Y, X)
    tiles = first_matrix(matrixHeight=3, matrixWidth=4, tileHeight=1, tileWidth=1)
    dataset = assuming(pyramid(tiles), group="p/0")
    assert (dataset["y"].values.tolist(), dataset["x"].values.tolist()) == (Y, X)


def limits_of(rows: tuple[int, int], columns: tuple[int, int]) -> dict[str, int]:
    keys = ("min_tile_row", "max_tile_row", "min_tile_col", "max_tile_col")
    return dict(zip(keys, (*rows, *columns), strict=True))


def test_axes_are_known_by_name_outside_of_an_open() -> None:
    written = {"GeoTransform": UNIT_CELLS}
    members = {"v": Array(np.ones((2, 3)), ("Longitude", "Latitude"), written)}
    root = zarr.open_group(memory_store(build(Group(members))), mode="r")
    array = root["v"]
    assert isinstance(array, zarr.Array)
    found = GeoZarrHandler().get_variables(array, root, root)
    assert {name: it.values.tolist() for name, it in found.items()} == {
        "Longitude": [0.5, 1.5],
        "Latitude": [-0.5, -1.5, -2.5],
    }


@pytest.mark.parametrize(
    ("attributes", "is_meant", "owned"),
    [
        ({"GeoTransform": GEOTRANSFORM}, True, []),
        ({"_CRS": {}}, True, ["_CRS"]),
        ({"_CRS": "EPSG:4326"}, False, ["_CRS"]),
        ({"multiscales": {"tile_matrix_set": "a"}}, True, ["multiscales"]),
        ({"multiscales": {"layout": []}}, False, ["multiscales"]),  # of the convention so called
        ({"multiscales": "tile_matrix_set"}, False, ["multiscales"]),
        ({"grid_mapping": "crs"}, False, []),
    ],
    ids=str,
)
def test_what_looks_like_it(
    attributes: Mapping[str, Any], is_meant: bool, owned: list[str]
) -> None:
    tree = Tree()
    tree.stores.append(KnownStore("store", 3))
    around = Surroundings(Node(0, ""), frozenset(), (), (), tree)
    assert GeoZarrHandler.seems_meant(attributes, around) is is_meant
    assert list(GeoZarrHandler.owned(attributes)) == owned


def test_limits_of_another_array() -> None:
    tiles = first_matrix(matrixHeight=90, matrixWidth=80)
    limits = {"0": limits_of((5, 7), (7, 8)), "1": limits_of((5, 6), (7, 8))}
    dataset, told = told_when_assuming(pyramid(tiles, limits=limits), group="p/0")
    assert not {"x", "y"} & set(dataset.coords)
    assert "has [90, 80] tiles of [2, 3] cells, but an array of [3, 4] cells has [2, 2]" in told
