"""NZ-1.0 and the draft of the GeoZarr standard: what a reader makes of stores that follow them."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyproj
import pytest
import xarray as xr
import zarr

from zarr_xgroup import XGroupDimensionWarning, XGroupNoPrincipalWarning
from zarr_xgroup.tests.builders import (
    XARRAY,
    Array,
    Group,
    ZarrFormat,
    build,
    coordinate,
    memory_store,
    opened,
    opened_with_warnings,
    quietly,
    recorded,
)

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


def test_nz_beside_a_principal_convention_of_an_array() -> None:
    axes = {"x": {"coordinates": [{"values": {"explicit": [3.0, 4.0]}}]}}
    declared = {"zarr_conventions": [{"name": "cs"}], "cs": {"crs": [{"axes": axes}]}}
    data = Array([1.0, 2.0], ("x",), {"coordinates": "lon", **declared})
    members: dict[str, Group | Array] = {
        "lon": Array([5.0, 6.0], ("x",)),
        "a": Group({"data": data}),
    }
    store = memory_store(build(Group(members, {"conventions": "NZ-1.0 CF-1.12"})))
    dataset = opened(xr.open_dataset, store, group="a")
    assert dataset["data"].coords["x"].values.tolist() == [3.0, 4.0]
    assert dataset["data"].coords["lon"].values.tolist() == [5.0, 6.0]


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
    "written", [GEOTRANSFORM, GEOTRANSFORM.replace(" ", ", "), [3e5, 10, 0, 5000040, 0, -10]]
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
    assert dataset["spatial_ref"].attrs["GeoTransform"] == GEOTRANSFORM
    assert dataset["v"].attrs["GeoTransform"] == GEOTRANSFORM


def test_coordinates_of_the_group_stand() -> None:
    members = {"v": grid(grid_mapping="crs"), "crs": CRS, "x": coordinate("x", X)}
    dataset = assuming(Group(members))
    assert dataset["y"].values.tolist() == Y
    shifted = [value + 100 for value in X]
    dataset, told = told_when_assuming(Group({**members, "x": coordinate("x", shifted)}))
    assert dataset["x"].values.tolist() == shifted
    assert "/crs#/attributes/GeoTransform gives other coordinates than /x" in told


def test_what_a_convention_declares_goes_before_a_transform() -> None:
    spatial: dict[str, Any] = {
        "zarr_conventions": [{"name": "spatial"}],
        "spatial:dimensions": ["y", "x"],
        "spatial:transform": [1.0, 0.0, 0.0, 0.0, -1.0, 0.0],
    }
    dataset = assuming(Group({"v": grid(GeoTransform=GEOTRANSFORM, **spatial)}))
    assert dataset["x"].values.tolist() == [0.5, 1.5, 2.5, 3.5]


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("1 2 3", "must be 6 finite numbers, got [1.0, 2.0, 3.0]"),
        ("a b c d e f", "must be 6 finite numbers, got ['a', 'b', 'c', 'd', 'e', 'f']"),
        ("0 inf 0 0 0 -1", "must be 6 finite numbers, got [0.0, inf, 0.0, 0.0, 0.0, -1.0]"),
        ("0 1 0 0 0 0", "is degenerate: cells have no area"),
        (7, "must be a list, got number"),
        ({"a": 1}, "must be a list, got object"),
    ],
)
def test_a_transform_that_cannot_be_used(written: Any, text: str) -> None:
    dataset, told = told_when_assuming(Group({"v": grid(GeoTransform=written)}))
    assert not dataset.coords
    assert f"/v#/attributes/GeoTransform {text}" in told


@pytest.mark.parametrize("dims", [("row", "column"), ("y", "x")])
def test_a_transform_is_that_of_arrays_of_one_size(dims: tuple[str, str]) -> None:
    finer = Array(np.ones((6, 8)), dims, {"grid_mapping": "crs"})
    members = {"v": grid(grid_mapping="crs"), "w": finer, "crs": CRS}
    dataset, told = told_when_assuming(Group(members))
    assert set(dataset.coords) <= {"crs"}
    assert "/crs#/attributes/GeoTransform is the transform of one grid" in told


def test_a_transform_counts_only_where_it_is_assumed() -> None:
    store = memory_store(build(Group({"v": grid(grid_mapping="crs"), "crs": CRS})))
    for options in ({}, {"assume_conventions": ["cf", "proj"]}):
        assert "x" not in opened(xr.open_dataset, store, **options).coords


@pytest.mark.parametrize("named", ["crs", "/crs", "../../crs", "crs: x y"])
def test_the_grid_mapping_variable_is_in_a_group_above(named: str) -> None:
    level = Group({"v": grid(grid_mapping=named)})
    dataset = assuming(Group({"crs": CRS, "g": Group({"h": level})}), group="g/h")
    assert dataset["v"].coords["x"].values.tolist() == X
    assert dataset["crs"].attrs["crs_wkt"] == UTM
    assert dataset["v"].attrs["grid_mapping"] == named.replace("/", "").replace(".", "")


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
        assert "wkt is no CRS that pyproj understands" in told
    else:
        dataset = assuming(Group({"v": grid(**attributes)}))
    assert dataset["v"].attrs["grid_mapping"] == "spatial_ref"
    assert pyproj.CRS(dataset["spatial_ref"].attrs["crs_wkt"]).to_epsg() == 32632


def test_the_url_of_a_crs_goes_before_others() -> None:
    written = {"wkt": pyproj.CRS(4326).to_wkt(), "url": f"{OGC}/EPSG/0/32632"}
    dataset, told = told_when_assuming(Group({"v": grid(_CRS=written)}))
    assert pyproj.CRS(dataset["spatial_ref"].attrs["crs_wkt"]).to_epsg() == 32632
    assert "wkt is another CRS than url, which was used" in told


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


def test_what_was_cut_out_and_written_is_opened_again(tmp_path: Path) -> None:
    if XARRAY.release < (2025, 1):
        pytest.skip("xarray cannot write with this zarr")
    whole = assuming(Group({"v": grid(grid_mapping="crs"), "crs": CRS}))
    whole.isel(x=slice(1, 3)).to_zarr(tmp_path / "part.zarr", consolidated=False)
    again = quietly(
        xr.open_dataset, tmp_path / "part.zarr", engine="xgroup", assume_conventions="geozarr"
    )
    assert again["x"].values.tolist() == X[1:3]
    assert again["y"].values.tolist() == Y


def test_a_grid_is_reprojected() -> None:
    pytest.importorskip("rioxarray")
    written = {"GeoTransform": GEOTRANSFORM, "_CRS": {"wkt": UTM}}
    band = assuming(Group({"v": grid(**written)}))["v"]
    assert band.rio.crs.to_epsg() == 32632
    assert quietly(band.rio.bounds) == (300000.0, 5000010.0, 300040.0, 5000040.0)
    assert quietly(band.rio.reproject, "EPSG:4326").rio.crs.to_epsg() == 4326


# What is told of stores that declare nothing.


def no_principal_warning(root: Group, **options: Any) -> str:
    _tree, given = recorded(xr.open_datatree, memory_store(build(root)), engine="xgroup", **options)
    return "".join(str(item) for item in given if isinstance(item, XGroupNoPrincipalWarning))


@pytest.mark.parametrize(
    "members",
    [
        {"v": grid(GeoTransform=GEOTRANSFORM)},
        {"v": grid(_CRS={"wkt": UTM})},
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
    warning = no_principal_warning(Group({**members, **own}))
    assert warning
    assert "assume_conventions" not in warning


def test_the_draft_has_no_identity() -> None:
    declared = {"zarr_conventions": [{"name": "geozarr"}], "GeoTransform": GEOTRANSFORM}
    root = Group({"v": grid(**declared)})
    assert not opened(xr.open_dataset, memory_store(build(root))).coords


# The table of the specification.

SPECIFICATION = Path(__file__).parents[2] / "xarray_zarr_xgroup_spec.md"


def test_the_tests_that_the_specification_names_exist() -> None:
    text = SPECIFICATION.read_text(encoding="utf-8")
    table = text.partition("## 16. ")[2]
    named = re.findall(r"`(test_\w+\.py)::(test_\w+)`", table)
    assert len(named) > 20
    for module, name in named:
        source = (Path(__file__).parent / module).read_text(encoding="utf-8")
        assert re.search(rf"^def {name}\(", source, re.MULTILINE), f"{module}::{name}"
