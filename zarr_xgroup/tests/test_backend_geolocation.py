"""Curvilinear grids and swaths: arrays that `geolocation` names become coordinates."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from zarr_xgroup import XGroupDimensionWarning, XGroupResolutionWarning, XGroupWarning
from zarr_xgroup.tests.builders import (
    Json,
    ZarrFormat,
    declaring,
    opened,
    opened_with_warnings,
    recording_folder,
)
from zarr_xgroup.tests.documents import (
    ALL_FORMS,
    STORES,
    array,
    committed,
    crs_of,
    group,
    without_crs,
    write,
)

STORE = STORES / "geolocation_test.zarr"
WGS84 = {"proj:code": "EPSG:4326"}

ROW, COLUMN = np.indices((3, 4))
LONGITUDE = -16 + 0.5 * COLUMN + 0.125 * ROW
LATITUDE = 64 + 0.25 * ROW - 0.125 * COLUMN


def texts(warnings: list[XGroupWarning], category: type[XGroupWarning]) -> list[str]:
    assert {type(warning) for warning in warnings} <= {category}
    return [str(warning) for warning in warnings]


def of(name: str) -> xr.Dataset:
    """Open a group of the store, of which nothing may be told, and leave out the CRSs."""
    return without_crs(opened(xr.open_dataset, STORE, group=name))


def refer(x: str, y: str, **more: Any) -> Json:
    return {"geodetic": {"x": {"node": x}, "y": {"node": y}, **more}}


# The store itself.


@ALL_FORMS
def test_all_forms_of_the_store_are_the_same(tmp_path: Path, form: tuple[ZarrFormat, bool]) -> None:
    reference, told = opened_with_warnings(xr.open_datatree, STORE)
    tree, warnings = opened_with_warnings(
        xr.open_datatree, committed("geolocation_test", tmp_path / "s", form)
    )
    xr.testing.assert_identical(tree, reference)
    assert [str(warning) for warning in warnings] == [str(warning) for warning in told]
    for node in tree.subtree:
        dataset, _warnings = opened_with_warnings(xr.open_dataset, STORE, group=node.path)
        xr.testing.assert_identical(node.to_dataset(inherit=False), dataset)


# Where geolocation arrays are declared.


def test_arrays_declared_by_arrays() -> None:
    dataset = of("on_array/data")
    assert set(dataset.coords) == {"longitude", "latitude", "easting", "northing"}
    assert set(dataset.data_vars) == {"geodetic", "by_node", "planar", "both", "neither"}
    for name in ("geodetic", "by_node", "planar"):
        assert set(dataset[name].coords) == set(dataset.coords)
    assert dataset["both"].dims == ("time", "y", "x")
    assert set(dataset["both"].coords) == set(dataset.coords)
    assert set(dataset["neither"].coords) == set()


def test_geodetic_arrays_are_longitude_and_latitude() -> None:
    dataset = of("on_array/data")
    assert dataset["longitude"].dims == dataset["latitude"].dims == ("y", "x")
    np.testing.assert_array_equal(dataset["longitude"], LONGITUDE)
    np.testing.assert_array_equal(dataset["latitude"], LATITUDE)
    assert dataset["longitude"].attrs == {"units": "degrees_east", "standard_name": "longitude"}
    # What an array says of itself is left as it is.
    own = {"units": "degrees_north", "standard_name": "grid_latitude"}
    assert dataset["latitude"].attrs == own


def test_planar_arrays_do_not_compete_with_the_axes_of_the_grid() -> None:
    dataset = of("on_array/data")
    np.testing.assert_array_equal(dataset["easting"], 400_000 + 1000 * COLUMN + 10 * ROW)
    np.testing.assert_array_equal(dataset["northing"], 7_000_000 - 1000 * ROW)
    for name in ("easting", "northing"):
        assert dataset[name].attrs == {"units": "m"}


def test_arrays_declared_inside_a_crs() -> None:
    dataset = of("in_crs")
    assert set(dataset.data_vars) == {"tas"}
    assert dataset["tas"].dims == ("rlon", "time", "rlat")
    assert set(dataset["tas"].coords) == {"rlon", "rlat", "time", "lon", "lat"}
    assert dataset["lon"].dims == dataset["lat"].dims == ("rlat", "rlon")
    np.testing.assert_array_equal(dataset["lon"], LONGITUDE)
    np.testing.assert_array_equal(dataset["lat"], LATITUDE)
    assert dataset["lon"].attrs == {"standard_name": "longitude"}
    assert dataset["lat"].attrs == {"standard_name": "latitude"}
    # The axes of a rotated grid are in degrees too, and are neither.
    assert dataset["rlon"].attrs == {"units": "degrees", "axis": "X"}
    assert dataset["rlat"].attrs == {"units": "degrees", "axis": "Y"}
    assert dataset["rlon"].values.tolist() == [2.0, 2.5, 3.0, 3.5]
    assert str(dataset["time"].values[0]) == "2006-01-01 12:00:00"


def test_arrays_declared_by_a_group() -> None:
    dataset = of("on_group")
    assert set(dataset.coords) == {"lon", "lat"}
    assert set(dataset.data_vars) == {"radiance", "series", "profile", "scalar"}
    for name in ("radiance", "series"):
        assert set(dataset[name].coords) == {"lon", "lat"}
    for name in ("profile", "scalar"):
        assert set(dataset[name].coords) == set()
    assert dataset["profile"].dims == ("y",)
    np.testing.assert_array_equal(dataset["radiance"].coords["lon"], LONGITUDE)


@pytest.mark.parametrize(
    ("kind", "key", "wrapped"), [("geodetic", "crs", False), ("planar", "id", True)]
)
@pytest.mark.parametrize("place", ["array", "crs", "group"])
@ALL_FORMS
def test_all_spellings_give_the_same(
    tmp_path: Path,
    form: tuple[ZarrFormat, bool],
    place: str,
    wrapped: bool,
    kind: str,
    key: str,
) -> None:
    x, y = ({"node": "grid/x2d"}, {"node": "/grid/y2d"})
    arrays = {"x": {"ref": x} if wrapped else x, "y": {"ref": y} if wrapped else y, key: WGS84}
    geolocation = {kind: arrays}
    attributes = {
        "array": declaring("geolocation", geolocation=geolocation),
        "crs": declaring("cs", cs={"crs": [{"axes": {}, "geolocation": geolocation}]}),
        "group": {},
    }[place]
    on_group = declaring("geolocation", geolocation=geolocation) if place == "group" else {}
    documents = {
        "": group(on_group),
        "data": array([3, 4], ["y", "x"], attributes),
        "grid": group(),
        "grid/x2d": array([3, 4], ["y", "x"], {"units": "degrees_east"}),
        "grid/y2d": array([3, 4], ["y", "x"]),
    }
    data = {"grid/x2d": LONGITUDE, "grid/y2d": LATITUDE, "data": np.ones((3, 4))}
    store = write(tmp_path / "s.zarr", documents, data, form)
    dataset = without_crs(opened(xr.open_dataset, store))
    names = {
        "geodetic": ({"standard_name": "longitude"}, {"standard_name": "latitude"}),
        "planar": ({"standard_name": "longitude"}, {}),  # as its units say
    }[kind]
    expected = xr.Dataset(
        {"data": (("y", "x"), np.ones((3, 4)), attributes)},
        coords={
            "x2d": (("y", "x"), LONGITUDE, {"units": "degrees_east", **names[0]}),
            "y2d": (("y", "x"), LATITUDE, names[1]),
        },
        attrs=on_group,
    )
    xr.testing.assert_identical(dataset, expected)


def test_an_array_overrides_its_group(tmp_path: Path) -> None:
    documents = {
        "": group(declaring("geolocation", geolocation=refer("lon", "lat"))),
        "data": array([3, 4], ["y", "x"], {"geolocation": refer("other/lon2", "other/lat2")}),
        "lon": array([3, 4], ["y", "x"]),
        "lat": array([3, 4], ["y", "x"]),
        "other": group(),
        "other/lon2": array([3, 4], ["y", "x"]),
        "other/lat2": array([3, 4], ["y", "x"]),
    }
    dataset = opened(xr.open_dataset, write(tmp_path / "s.zarr", documents))
    assert set(dataset["data"].coords) == {"lon2", "lat2"}
    assert set(dataset.data_vars) == {"data", "lon", "lat"}


def test_not_declared_is_not_used(tmp_path: Path) -> None:
    documents = {
        "": group(),
        "data": array([3, 4], ["y", "x"], {"geolocation": refer("lon", "lat")}),
        "lon": array([3, 4], ["y", "x"]),
        "lat": array([3, 4], ["y", "x"]),
    }
    dataset = opened(xr.open_dataset, write(tmp_path / "s.zarr", documents))
    assert set(dataset.data_vars) == {"data", "lon", "lat"}


def test_other_spellings_of_the_declaration(tmp_path: Path) -> None:
    url = "https://raw.githubusercontent.com/R-CF/zarr_convention_geolocation/main/schema.json"
    for number, declaration in enumerate(
        [{"name": "Geolocation"}, {"name": "geolocation:"}, {"schema_url": url}, {"spec_url": url}]
    ):
        attributes = {"zarr_conventions": [declaration], "geolocation": refer("lon", "lat")}
        documents = {
            "": group(),
            "data": array([3, 4], ["y", "x"], attributes),
            "lon": array([3, 4], ["y", "x"]),
            "lat": array([3, 4], ["y", "x"]),
        }
        dataset = opened(xr.open_dataset, write(tmp_path / f"{number}.zarr", documents))
        assert set(dataset["data"].coords) == {"lon", "lat"}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("on_array/data/geodetic", {"longitude", "latitude"}),
        ("on_array/data/planar", set()),
        ("on_group/radiance", {"lon", "lat"}),
        ("track/profile", {"lon", "lat"}),
    ],
)
def test_the_crs_is_that_of_the_geolocation_arrays(path: str, expected: set[str]) -> None:
    parent, _slash, name = path.rpartition("/")
    dataset = opened(xr.open_dataset, STORE, group=parent)
    assert "grid_mapping" not in dataset[name].attrs
    located = {str(n) for n in dataset[name].coords if "grid_mapping" in dataset[n].attrs}
    assert located >= expected
    for found in expected:
        assert crs_of(dataset, found) == "EPSG:4326"


# Dimensions.


def test_tie_points_are_attached_under_their_own_dimensions() -> None:
    dataset, warnings = opened_with_warnings(xr.open_dataset, STORE, group="tie_points")
    place = "/tie_points/radiance#/attributes/geolocation/geodetic"
    assert texts(warnings, XGroupResolutionWarning) == [
        f"{place}/{axis}: the shape of /tie_points/{name} is not that "
        "of the array's horizontal axes; it was attached under its own dimensions tie_y, tie_x"
        for axis, name in (("x", "lon"), ("y", "lat"))
    ]
    assert set(dataset.data_vars) == {"radiance"}
    assert set(without_crs(dataset).coords) == {"lon", "lat"}
    assert dataset["lon"].dims == ("tie_y", "tie_x")
    assert dataset["radiance"].dims == ("y", "x")
    np.testing.assert_array_equal(dataset["lon"], LONGITUDE[:2, :2])
    assert dataset["lon"].attrs == {"standard_name": "longitude", "grid_mapping": "EPSG_4326"}


def test_dimensions_of_another_size_are_renamed() -> None:
    dataset, warnings = opened_with_warnings(xr.open_dataset, STORE, group="wrong_size/fine")
    assert texts(warnings, XGroupDimensionWarning) == [
        f"/wrong_size/fine/radiance: dimensions of its coordinate {name!r} have another "
        "size here, and were renamed 'y' -> 'y_lon', 'x' -> 'x_lon'"
        for name in ("lon", "lat")
    ]
    assert set(dataset.data_vars) == {"radiance"}
    assert dataset["lon"].dims == dataset["lat"].dims == ("y_lon", "x_lon")
    assert dict(dataset.sizes) == {"y": 3, "x": 4, "y_lon": 2, "x_lon": 2}
    np.testing.assert_array_equal(dataset["lat"], LATITUDE[:2, :2])
    assert dataset["lon"].encoding["preferred_chunks"] == {"y_lon": 2, "x_lon": 2}


def test_positions_along_a_track() -> None:
    dataset = of("track")
    assert set(dataset.data_vars) == {"height", "profile"}
    assert dataset["lon"].dims == dataset["lat"].dims == ("along",)
    for name in ("height", "profile"):
        assert set(dataset[name].coords) == {"lon", "lat"}
    assert dataset["lon"].values.tolist() == [-16.0, -15.5, -15.0, -14.5, -14.0]
    assert dataset["lat"].values.tolist() == [64.0, 63.875, 63.75, 63.625, 63.5]


def test_a_square_grid_keeps_its_axes_apart(tmp_path: Path) -> None:
    # Rows and columns are equally many: nothing but the order tells which is which.
    documents = {
        "": group(),
        "data": array(
            [3, 3], ["y", "x"], declaring("geolocation", geolocation=refer("g/lon", "g/lat"))
        ),
        "g": group(),
        "g/lon": array([3, 3], ["nj", "ni"]),
        "g/lat": array([3, 3], ["nj", "ni"]),
    }
    values = np.arange(9.0).reshape(3, 3)
    data = {"g/lon": values, "g/lat": -values}
    dataset = opened(xr.open_dataset, write(tmp_path / "s.zarr", documents, data))
    assert dataset["lon"].dims == ("y", "x")
    np.testing.assert_array_equal(dataset["lon"], values)


def test_arrays_that_are_stored_turned(tmp_path: Path) -> None:
    documents = {
        "": group(),
        "data": array(
            [3, 4], ["y", "x"], declaring("geolocation", geolocation=refer("g/lon", "g/lat"))
        ),
        "g": group(),
        "g/lon": array([4, 3], ["x", "y"]),
        "g/lat": array([4, 3], ["x", "y"]),
    }
    data = {"g/lon": LONGITUDE.T, "g/lat": LATITUDE.T}
    dataset = opened(xr.open_dataset, write(tmp_path / "s.zarr", documents, data))
    for name, values in (("lon", LONGITUDE), ("lat", LATITUDE)):
        assert dataset[name].dims == ("x", "y")
        np.testing.assert_array_equal(dataset[name].transpose("y", "x"), values)


def test_a_group_of_one_dimensional_arrays(tmp_path: Path) -> None:
    documents = {
        "": group(declaring("geolocation", geolocation=refer("lon", "lat"))),
        "lon": array([5], ["along"]),
        "lat": array([5], ["along"]),
        "height": array([5], ["along"]),
        "profile": array([5, 2], ["along", "level"]),
        "mean": array([], []),
    }
    dataset = opened(xr.open_dataset, write(tmp_path / "s.zarr", documents))
    assert set(dataset.data_vars) == {"height", "profile", "mean"}
    assert set(dataset["profile"].coords) == {"lon", "lat"}
    assert set(dataset["mean"].coords) == set()


def test_a_group_leaves_alone_what_has_other_dimensions(tmp_path: Path) -> None:
    documents = {
        "": group(declaring("geolocation", geolocation=refer("lon", "lat"))),
        "lon": array([3, 4], ["y", "x"]),
        "lat": array([3, 4], ["y", "x"]),
        "radiance": array([3, 4], ["y", "x"]),
        "spectrum": array([6, 7], ["band", "sample"]),
    }
    dataset = opened(xr.open_dataset, write(tmp_path / "s.zarr", documents))
    assert set(dataset["radiance"].coords) == {"lon", "lat"}
    assert set(dataset["spectrum"].coords) == set()


# What xarray and others make of it.


@pytest.mark.parametrize("name", ["open_dataset", "open_datatree"])
def test_nothing_is_read_on_opening(name: str) -> None:
    store = recording_folder(STORE)
    if name == "open_dataset":
        dataset, _warnings = opened_with_warnings(xr.open_dataset, store, group="on_array/data")
    else:
        tree, _warnings = opened_with_warnings(xr.open_datatree, store)
        dataset = tree["on_array/data"].dataset
    assert [key for key in store.chunk_gets if "on_array" in key] == []
    assert max(store.metadata_gets.values()) == 1
    store.gets.clear()
    dataset["longitude"].variable.load()
    assert store.chunk_gets == {"on_array/geodetic/longitude/c/0/0": 1}


def test_cf_xarray_finds_them() -> None:
    pytest.importorskip("cf_xarray", reason="cf_xarray is not installed")
    dataset = of("in_crs")
    assert dataset.cf["longitude"].name == "lon"
    assert dataset.cf["latitude"].name == "lat"
    found = {"longitude": ["lon"], "latitude": ["lat"], "time": ["time"]}
    assert dataset["tas"].cf.coordinates == found
    assert dataset.cf.axes == {"X": ["rlon"], "Y": ["rlat"], "T": ["time"]}
