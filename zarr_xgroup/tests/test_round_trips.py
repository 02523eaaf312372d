"""What was opened, changed and written is what is read again: by engine zarr and by xgroup."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyproj
import pytest
import xarray as xr
from packaging.version import Version

from zarr_xgroup import XGroupNameWarning, XGroupResolutionWarning
from zarr_xgroup.tests.builders import (
    XARRAY,
    Array,
    Group,
    ZarrFormat,
    build,
    declaring,
    memory_store,
    opened_with_warnings,
    quietly,
    some_pairs,
    write_local,
)
from zarr_xgroup.tests.documents import committed

FORMATS: tuple[ZarrFormat, ...] = (2, 3)
each_format = pytest.mark.parametrize("zarr_format", FORMATS, ids=["v2", "v3"])

#: A group for each kind of coordinate; what is assumed of the store.
OPENED: dict[str, tuple[str, str, str | None]] = {
    "cs: numbers in metadata": ("cs_test", "values", None),
    "cs: several CRSs": ("cs_test", "identified", None),
    "cs: boundaries": ("cs_test", "bounds", None),
    "cs: references": ("cs_test", "sharing/first", None),
    "cs: parametric vertical": ("cs_test", "parametric/ocean", None),
    "ref, uom, proj": ("cs_test", "services", None),
    "geolocation in cs": ("geolocation_test", "in_crs", None),
    "geolocation of arrays": ("geolocation_test", "on_array/data", None),
    "spatial: transforms": ("spatial_test", "several_crs", None),
    "spatial: rotated": ("spatial_test", "rotated", None),
    "spatial: level of a pyramid": ("spatial_test", "pyramid/r20m", None),
    "cf, across groups": ("roms_test", "ocean", "cf"),
}

Change = Callable[[xr.Dataset], xr.Dataset]


def longer(dataset: xr.Dataset) -> list[Any]:
    """Return the dimensions along which something can be left out."""
    return [dim for dim, size in dataset.sizes.items() if size > 1]


def averaged(dataset: xr.Dataset) -> xr.Dataset:
    return dataset.mean(longer(dataset)[0], keep_attrs=True)


def renamed(dataset: xr.Dataset) -> xr.Dataset:
    return dataset.rename({dim: f"{dim}_here" for dim in dataset.dims})


def computed(dataset: xr.Dataset) -> xr.Dataset:
    return dataset.map(lambda array: array * 2 if array.dtype.kind in "iuf" else array)


CHANGES: dict[str, Change] = {
    "unchanged": lambda it: it,
    "slices": lambda it: it.isel({dim: slice(1, None) for dim in longer(it)}),
    "one position": lambda it: it.isel({longer(it)[0]: 1}),
    "one position, dropped": lambda it: it.isel({longer(it)[0]: 1}, drop=True),
    "strides": lambda it: it.isel({dim: slice(None, None, 2) for dim in longer(it)}),
    "reversed": lambda it: it.isel({dim: slice(None, None, -1) for dim in longer(it)}),
    "transposed": lambda it: it.transpose(*reversed(list(it.dims))),
    "averaged": averaged,
    "averaged over all": lambda it: it.mean(keep_attrs=True),
    "coarsened": lambda it: (
        it.drop_encoding().coarsen({longer(it)[0]: 2}, boundary="trim").mean(keep_attrs=True)
    ),
    "renamed": renamed,
    "computed": computed,
    "merged": lambda it: xr.merge([it, xr.Dataset({"added": ("elsewhere", [1.0, 2.0])})]),
    "chunked": lambda it: it.chunk(
        {dim: -(-n // 2) for dim, n in it.sizes.items()}
    ).drop_encoding(),
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a folder to write to, for versions of xarray that can."""
    if Version("2025.1") > XARRAY:
        pytest.skip("this xarray does not write by this zarr")
    return tmp_path


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, ZarrFormat], Path]:
    """Give the committed stores, in either format; a twin in v2 is written once."""
    folder = tmp_path_factory.mktemp("twins")

    def store(name: str, zarr_format: ZarrFormat) -> Path:
        twin = folder / name
        if zarr_format == 2 and twin.exists():
            return twin
        return committed(name, twin, (zarr_format, False))

    return store


def whole(kind: str, stores: Callable[[str, ZarrFormat], Path], zarr_format: int) -> xr.Dataset:
    name, group, assumed = OPENED[kind]
    store = stores(name, 2 if zarr_format == 2 else 3)
    dataset: xr.Dataset = quietly(
        xr.open_dataset, store, engine="xgroup", group=group, assume_conventions=assumed
    )
    return dataset


def written(dataset: xr.Dataset, path: Path, zarr_format: int) -> Path:
    quietly(dataset.to_zarr, path, zarr_format=zarr_format, consolidated=False)
    return path


def check_again(before: xr.Dataset, path: Path, **options: Any) -> None:
    """Assert that a Dataset is what was written, by both engines, and what is told of it."""
    theirs = xr.open_dataset(path, engine="zarr", consolidated=False)
    ours, told = opened_with_warnings(xr.open_dataset, path, **options)
    for again in (theirs, ours):
        assert set(again.coords) == set(before.coords)
        assert set(again.data_vars) == set(before.data_vars)
        for name, variable in before.variables.items():
            xr.testing.assert_equal(again.variables[name], variable)
    # Attributes too, but for what engine zarr lacks: it decodes fewer that name variables.
    assert {name: it.attrs for name, it in ours.variables.items()} == {
        name: it.attrs for name, it in theirs.variables.items()
    }
    # Of declared coordinates that are others now it can only be told; names and dimensions are
    # those that were written.
    assert {type(warning) for warning in told} <= {XGroupResolutionWarning}


@pytest.mark.parametrize(("kind", "change"), some_pairs(OPENED, CHANGES, 7))
def test_what_was_written_is_read_again(
    kind: str, change: str, stores: Callable[[str, ZarrFormat], Path], place: Path
) -> None:
    before = quietly(CHANGES[change], whole(kind, stores, 3))
    path = written(before, place / "s.zarr", 3)
    check_again(before, path, assume_conventions=OPENED[kind][2])


@pytest.mark.parametrize("kind", list(OPENED)[::2])
def test_of_format_2_as_well(
    kind: str, stores: Callable[[str, ZarrFormat], Path], place: Path
) -> None:
    before = quietly(CHANGES["slices"], whole(kind, stores, 2))
    path = written(before, place / "s.zarr", 2)
    check_again(before, path, assume_conventions=OPENED[kind][2])


# What attributes declare that is gone.

REGULAR = {
    "time": {"abbreviation": "T", "coordinates": [{"values": {"regular": [0, 6]}, "unit": "h"}]},
    "lat": {"abbreviation": "Y", "coordinates": [{"values": {"regular": [44.5, -1.0]}}]},
    "lon": {"abbreviation": "X", "coordinates": [{"values": {"regular": [10.0, 0.5]}}]},
}
FIELD = Array(
    np.arange(24.0).reshape(2, 3, 4),
    ("time", "lat", "lon"),
    declaring("cs", cs={"crs": [{"axes": REGULAR}]}),
)


def whole_field() -> xr.Dataset:
    dataset, told = opened_with_warnings(xr.open_dataset, memory_store(build(Group({"t": FIELD}))))
    assert told == []
    return dataset  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    "change",
    [
        lambda it: it.mean("time", keep_attrs=True),
        lambda it: it.isel(time=1, drop=True),
        lambda it: it.max(keep_attrs=True),
        lambda it: it.rename(time="hour"),
        lambda it: it.rename(time="hour", lat="y", lon="x"),
    ],
    ids=["mean", "one time", "max of all", "renamed", "all renamed"],
)
def test_a_regular_axis_that_is_gone_is_no_scalar(change: Change, place: Path) -> None:
    before = change(whole_field())
    path = written(before, place / "s.zarr", 3)
    check_again(before, path)
    _dataset, told = opened_with_warnings(xr.open_dataset, path)
    assert any("has regular values, but is no dimension of the array" in str(it) for it in told)


def test_a_regular_axis_of_one_value_is_a_scalar() -> None:
    axes = {key: REGULAR[key] for key in ("time", "lat")}
    field = Array([1.0, 2.0], ("lat",), declaring("cs", cs={"crs": [{"axes": axes}]}))
    dataset, told = opened_with_warnings(xr.open_dataset, memory_store(build(Group({"t": field}))))
    assert told == []
    assert dataset["time"].values.tolist() == 0


# What is stored elsewhere, and here again.

LAT = Array(np.arange(6.0).reshape(2, 3), ("y", "x"), {"units": "degrees_north", "comment": "a"})
LON = Array(np.arange(6.0).reshape(2, 3), ("y", "x"), {"units": "degrees_east"})


def swath(uri: str | None = None) -> Group:
    """Return a group whose array has geolocation arrays and a quality, elsewhere or in a store."""

    def reference(name: str) -> dict[str, str]:
        return {"node": f"/geo/{name}"} if uri is None else {"node": f"/geo/{name}", "uri": uri}

    attributes = declaring(
        "geolocation",
        "ref",
        geolocation={
            "geodetic": {"x": reference("lon"), "y": reference("lat"), "crs": {"proj:epsg": 4326}}
        },
        quality=reference("quality"),
    )
    return Group({"radiance": Array(np.ones((2, 3)), ("y", "x"), attributes)})


GEO = Group({"lat": LAT, "lon": LON, "quality": Array(np.zeros((2, 3), "i1"), ("y", "x"))})


@each_format
def test_a_tree_has_no_array_twice(zarr_format: ZarrFormat, place: Path) -> None:
    store = memory_store(build(Group({"geo": GEO, "data": swath()}), zarr_format))
    before, told = opened_with_warnings(xr.open_datatree, store)
    assert told == []
    assert set(before["data"].coords) == {"lat", "lon", "quality", "EPSG_4326"}
    quietly(before.to_zarr, place / "s.zarr", zarr_format=zarr_format, consolidated=False)
    again, told = opened_with_warnings(xr.open_datatree, place / "s.zarr")
    assert told == []
    xr.testing.assert_equal(again, before)
    assert again["data/lat"].attrs["grid_mapping"] == "EPSG_4326"


def test_an_array_that_is_described_otherwise_is_another_one() -> None:
    radiance = swath().members["radiance"]
    assert isinstance(radiance, Array)
    named = Array(radiance.values, radiance.dims, {**radiance.attrs, "coordinates": "lat"})
    own = Array(LAT.values, LAT.dims, {**LAT.attrs, "comment": "b"})
    store = memory_store(build(Group({"geo": GEO, "data": Group({"radiance": named, "lat": own})})))
    dataset, told = opened_with_warnings(xr.open_dataset, store, group="data")
    assert {"lat", "geo_lat"} <= set(dataset.coords)
    assert [type(it) for it in told] == [XGroupNameWarning]


def test_a_copy_is_that_of_one_array(place: Path) -> None:
    other = Group({**GEO.members, "lat": Array(-np.asarray(LAT.values), LAT.dims, LAT.attrs)})
    references = declaring("ref", up={"node": "/geo/lat"}, down={"node": "/other/lat"})
    data = Group({"v": Array(np.ones((2, 3)), ("y", "x"), references)})
    store = memory_store(build(Group({"geo": GEO, "other": other, "data": data})))
    before, told = opened_with_warnings(xr.open_datatree, store)
    assert [type(it) for it in told] == [XGroupNameWarning]
    assert set(before["data"].coords) == {"lat", "other_lat"}
    quietly(before.to_zarr, place / "s.zarr", consolidated=False)
    again, told = opened_with_warnings(xr.open_datatree, place / "s.zarr")
    assert told == []
    xr.testing.assert_equal(again, before)


def test_a_copy_is_read_itself() -> None:
    radiance = swath().members["radiance"]
    assert isinstance(radiance, Array)
    named = Array(radiance.values, radiance.dims, {**radiance.attrs, "coordinates": "lat"})
    own = Array(np.asarray(LAT.values) + 100, LAT.dims, LAT.attrs)
    data = Group({"radiance": named, "lat": own})
    store = memory_store(build(Group({"data": data, "geo": GEO})))
    tree, told = opened_with_warnings(xr.open_datatree, store)
    assert told == []
    np.testing.assert_array_equal(tree["data/lat"].values, own.values)
    np.testing.assert_array_equal(tree["geo/lat"].values, LAT.values)


@pytest.mark.parametrize(
    "change",
    [
        lambda it: it,
        lambda it: it.isel(x=slice(1, 3)),
        lambda it: it.isel(y=0),
        lambda it: it.isel(x=slice(None, None, 2), y=[1]),
        lambda it: it.chunk(x=1).drop_encoding(),
    ],
    ids=["unchanged", "slice", "row", "stride", "chunked"],
)
def test_a_part_of_what_another_store_has(change: Change, place: Path) -> None:
    other = write_local(build(Group({"geo": GEO})), place / "other.zarr")
    whole_swath = swath(other.as_uri())
    store = write_local(build(Group({"data": whole_swath})), place / "whole.zarr")
    dataset, told = opened_with_warnings(xr.open_dataset, store, group="data")
    assert told == []
    before = change(dataset)
    check_again(before, written(before, place / "s.zarr", 3))


def test_terms_that_were_left_behind_are_those_that_are_named(
    stores: Callable[[str, ZarrFormat], Path], place: Path
) -> None:
    before = whole("cs: parametric vertical", stores, 3)
    path = written(before, place / "s.zarr", 3)
    again, told = opened_with_warnings(xr.open_dataset, path)
    assert told == []
    assert again["s_rho"].attrs["formula_terms"] == before["s_rho"].attrs["formula_terms"]


def test_boundaries_with_the_sides_first_are_indexed_like_others() -> None:
    edges = Array([[0.0, 1.0, 2.0], [1.0, 2.0, 3.0]], ("side", "x"))
    values = {"values": {"regular": [0.5, 1.0]}, "boundaries": {"external": {"node": "edges"}}}
    axes = {"x": {"coordinates": [values]}}
    field = Array([1.0, 2.0, 3.0], ("x",), declaring("cs", cs={"crs": [{"axes": axes}]}))
    store = memory_store(build(Group({"v": field, "edges": edges})))
    dataset, _told = opened_with_warnings(xr.open_dataset, store)
    bounds = dataset["x_bounds"].variable
    assert bounds.dims == ("x", "bounds")
    whole_bounds = np.array([[0.0, 1.0], [1.0, 2.0], [2.0, 3.0]])
    for key in [(2, 1), (1,), (slice(1, None), 0), ([2, 0], slice(None)), ([2, 0], 1)]:
        np.testing.assert_array_equal(bounds[key].values, whole_bounds[key])
    np.testing.assert_array_equal(bounds[[2, 0], [1, 0]].values, whole_bounds[[2, 0]][:, [1, 0]])


# CRS.

WGS84 = pyproj.CRS(4326).to_wkt()


def test_an_array_without_a_crs_gets_none_from_others() -> None:
    crs = Array(np.int64(0), (), {"grid_mapping_name": "latitude_longitude", "crs_wkt": WGS84})
    named = Array(np.ones((2, 2)), ("y", "x"), declaring("proj", grid_mapping="spatial_ref"))
    bare = Array(np.ones((2, 2)), ("y", "x"), declaring("proj"))
    other = Array(np.ones((2, 2)), ("y", "x"), declaring("proj", **{"proj:code": "EPSG:32632"}))
    members = {"named": named, "bare": bare, "other": other, "spatial_ref": crs}
    dataset, told = opened_with_warnings(xr.open_dataset, memory_store(build(Group(members))))
    assert told == []
    assert "grid_mapping" not in dataset["bare"].attrs
    assert dataset["other"].attrs["grid_mapping"] == "EPSG_32632"
    assert "EPSG_32632" in dataset.coords
    # Where nobody names it, it is that of all.
    members = {"bare": bare, "spatial_ref": crs}
    dataset, _told = opened_with_warnings(xr.open_dataset, memory_store(build(Group(members))))
    assert dataset["bare"].attrs["grid_mapping"] == "spatial_ref"


def test_the_crs_of_a_subset_is_what_tools_read(
    stores: Callable[[str, ZarrFormat], Path], place: Path
) -> None:
    pytest.importorskip("rioxarray")
    before = whole("spatial: level of a pyramid", stores, 3).isel(x=slice(2, None), y=slice(1, 4))
    path = written(before, place / "s.zarr", 3)
    again, _told = opened_with_warnings(xr.open_dataset, path)
    assert again.rio.crs == before.rio.crs
    assert quietly(again["b02"].rio.bounds) == quietly(before["b02"].rio.bounds)
    transform = quietly(again["b02"].rio.transform)
    assert transform == quietly(before["b02"].rio.transform)
    assert transform.c == float(1.5 * before["x"][0] - 0.5 * before["x"][1])


# Trees, and writing into what there is.


@each_format
def test_a_tree_with_coordinates_of_its_parents(zarr_format: ZarrFormat, place: Path) -> None:
    child = Group({"v": Array(np.ones((2, 3, 4)), FIELD.dims, FIELD.attrs)})
    root = Group({"t": FIELD, "child": Group({"deep": child, **child.members})})
    before, told = opened_with_warnings(xr.open_datatree, memory_store(build(root, zarr_format)))
    assert told == []
    for inherited in (True, False):
        path = place / f"{inherited}.zarr"
        options = {"write_inherited_coords": inherited, "zarr_format": zarr_format}
        quietly(before.to_zarr, path, consolidated=False, **options)
        again, told = opened_with_warnings(xr.open_datatree, path)
        assert told == []
        xr.testing.assert_identical(again["child/deep"], before["child/deep"])
        xr.testing.assert_equal(again, before)


@each_format
def test_what_is_read_part_by_part_is_written_into_a_region(
    zarr_format: ZarrFormat, place: Path
) -> None:
    store = memory_store(build(Group({"t": FIELD}), zarr_format))
    dataset, _told = opened_with_warnings(xr.open_dataset, store)
    path = place / "s.zarr"
    options = {"consolidated": False, "zarr_format": zarr_format}
    chunked = dataset.chunk(time=1).drop_encoding()
    quietly(chunked.to_zarr, path, compute=False, **options)
    for time in range(2):
        part = dataset.isel(time=slice(time, time + 1)).drop_vars(["lat", "lon"])
        quietly(part.to_zarr, path, region={"time": slice(time, time + 1)}, **options)
    check_again(dataset, path)


@each_format
def test_what_is_opened_is_appended(zarr_format: ZarrFormat, place: Path) -> None:
    store = memory_store(build(Group({"t": FIELD}), zarr_format))
    dataset, _told = opened_with_warnings(xr.open_dataset, store)
    path = place / "s.zarr"
    first, second = dataset.isel(time=[0]), dataset.isel(time=[1])
    quietly(first.to_zarr, path, consolidated=False, zarr_format=zarr_format)
    quietly(second.to_zarr, path, consolidated=False, append_dim="time")
    check_again(dataset, path)
