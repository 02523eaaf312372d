"""What was opened, changed and written is what is read again: by engine zarr and by xgroup."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pyproj
import pytest
import xarray as xr
import zarr
from packaging.version import Version
from zarr.storage import MemoryStore

from zarr_xgroup import XGroupNameWarning, XGroupResolutionWarning, XGroupWarning, drop_conventions
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
    write_local,
)
from zarr_xgroup.tests.operations import HAS_RIOXARRAY, KINDS, OPERATIONS, InapplicableError

FORMATS: tuple[ZarrFormat, ...] = (2, 3)
each_format = pytest.mark.parametrize("zarr_format", FORMATS, ids=["v2", "v3"])

Change = Callable[[xr.Dataset], xr.Dataset]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a folder to write to, for versions of xarray that can."""
    if Version("2025.1") > XARRAY:
        pytest.skip("this xarray does not write by this zarr")
    return tmp_path


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
    # Attributes too; a grid mapping variable may be completed.
    for name, it in theirs.variables.items():
        assert {**ours.variables[name].attrs, **it.attrs} == ours.variables[name].attrs
        is_mapping = "grid_mapping_name" in it.attrs
        assert is_mapping or set(ours.variables[name].attrs) == set(it.attrs)
    # Of declared coordinates that are others now it can only be told; names and dimensions are
    # those that were written.
    assert {type(warning) for warning in told} <= {XGroupResolutionWarning}


# Operations of xarray, kinds of store, formats.

#: What is written: the formats of Zarr as far as this xarray writes them by this zarr.
WRITTEN = ("netCDF",) if Version("2025.1") > XARRAY else ("v3", "v2", "netCDF")


@cache
def whole(kind: str, written_as: str) -> xr.Dataset:
    """Return what a store of a kind and a format is opened as; netCDF has no objects."""
    options = {"convention_attrs": "json"} if written_as == "netCDF" else {}
    return KINDS[kind].open(2 if written_as == "v2" else 3, **options)


def again(
    dataset: xr.Dataset, kind: str, written_as: str, folder: Path
) -> tuple[xr.Dataset, list[XGroupWarning]]:
    """Return a Dataset written and opened again, and what is told of it."""
    if written_as == "netCDF":
        path = folder / f"{len(list(folder.iterdir()))}.nc"
        quietly(dataset.to_netcdf, path, engine="h5netcdf")
        with quietly(xr.open_dataset, path, engine="h5netcdf", decode_coords="all") as opened:
            return opened.load(), []
    store = MemoryStore()
    quietly(dataset.to_zarr, store, zarr_format=int(written_as[1]), consolidated=False)
    return opened_with_warnings(xr.open_dataset, store, assume_conventions=KINDS[kind].assumed)


def is_same(one: Any, other: Any) -> bool:
    return bool(one.equals(other))


def faults(
    origin: xr.Dataset, before: xr.Dataset, after: xr.Dataset, told: list[XGroupWarning]
) -> Iterator[str]:
    """Yield what is lost, or other than it was written, or beside it without a word."""
    mapped = {it.attrs.get("grid_mapping") for it in after.variables.values()}
    after = after.set_coords(mapped & set(after.data_vars))
    for name, variable in before.variables.items():
        if name not in after.variables:
            yield f"{name} is lost"
        elif not is_same(after.variables[name], variable):
            yield f"{name} is another one"
        elif name in before.coords and name not in after.coords:
            yield f"{name} is no coordinate any more"
    for name in set(after.variables) - set(before.variables):
        # What is declared is there again, as it was before, if it was dropped.
        is_declared = name in origin.coords and is_same(
            after.variables[name], origin.variables[name]
        )
        if not is_declared and not any(repr(name) in str(it) for it in told):
            yield f"{name} is beside it"
    for name in set(astray(after)) - set(astray(before)):
        if not any(repr(name) in str(it) for it in told):
            yield f"{name} is not within its boundaries"
    yield from faults_on_map(before, "before it was written")
    yield from faults_on_map(after, "after it")
    yield from (
        f"the CRS of {name} is another one"
        for name in set(before.data_vars) & set(after.data_vars)
        if HAS_RIOXARRAY and before[name].rio.crs not in (None, after[name].rio.crs)
    )


def astray(dataset: xr.Dataset) -> Iterator[Hashable]:
    """Yield the coordinates that are not within their boundaries."""
    for name, array in dataset.coords.items():
        bounds = dataset.variables.get(array.attrs.get("bounds", array.encoding.get("bounds")))
        if bounds is not None and bounds.ndim == array.ndim + 1:
            low, high = bounds.values.min(axis=-1), bounds.values.max(axis=-1)
            if ((array.values < low) | (array.values > high)).any():
                yield name


def faults_on_map(dataset: xr.Dataset, when: str) -> Iterator[str]:
    """Yield what does not agree with the coordinates of arrays on regular grids, north up."""
    if not HAS_RIOXARRAY or not {"x", "y"} <= set(dataset.xindexes):
        return
    x, y = dataset["x"].values, dataset["y"].values
    if min(x.size, y.size) < 2:
        return
    if np.ptp(np.diff(x)) + np.ptp(np.diff(y)) > 1e-9 * np.abs(y).max():
        return
    across, down = x[1] - x[0], y[1] - y[0]
    corner, end = (x[0] - across / 2, y[0] - down / 2), (x[-1] + across / 2, y[-1] + down / 2)
    ours = [across, 0, corner[0], 0, down, corner[1]]
    for name, array in dataset.data_vars.items():
        if not {"x", "y"} <= set(array.dims):
            continue
        found = {"transform": list(quietly(array.rio.transform))[:6]}
        found["bounds"] = quietly(array.rio.bounds)
        edges = [*map(min, corner, end), *map(max, corner, end)]
        expected = {"transform": ours, "bounds": edges, "resolution": (across, down)}
        found["resolution"] = quietly(array.rio.resolution)
        mapping = dataset.variables.get(array.attrs.get("grid_mapping", "spatial_ref"))
        if mapping is not None and "GeoTransform" in mapping.attrs:
            c, a, b, f, d, e = map(float, mapping.attrs["GeoTransform"].split())
            found["GeoTransform"], expected["GeoTransform"] = [a, b, c, d, e, f], ours
        for what, numbers in found.items():
            if not np.allclose(numbers, expected[what], rtol=1e-12, atol=1e-6):
                yield f"{what} of {name} {when}: {numbers}"


def round_trips(operation: str, formats: Iterable[str], folder: Path) -> Iterator[str]:
    """Yield what becomes of each kind of store by an operation and by being written."""
    for (kind, _), written_as in zip(KINDS.items(), formats, strict=False):
        origin = whole(kind, written_as)
        try:
            before = quietly(OPERATIONS[operation], origin)
        except InapplicableError:
            continue
        after, told = again(before, kind, written_as, folder)
        found = "; ".join(faults(origin, before, after, told))
        yield f"{kind} as {written_as}: {found or 'well'}"


@pytest.mark.parametrize("operation", list(OPERATIONS))
def test_what_was_done_is_read_again(operation: str, tmp_path: Path) -> None:
    # Each kind in another format, and each pair with a kind in another one than its neighbours.
    first = list(OPERATIONS).index(operation)
    formats = (WRITTEN[number % len(WRITTEN)] for number in count(first))
    with xr.set_options(keep_attrs=True):  # type: ignore[no-untyped-call]
        outcomes = list(round_trips(operation, formats, tmp_path))
    assert [it for it in outcomes if not it.endswith(": well")] == []
    assert outcomes or not HAS_RIOXARRAY


@pytest.mark.parametrize("kind", list(KINDS))
def test_what_was_cut_is_read_again_by_both_engines(kind: str, place: Path) -> None:
    before = quietly(OPERATIONS["isel"], whole(kind, "v3"))
    check_again(
        before, written(before, place / "s.zarr", 3), assume_conventions=KINDS[kind].assumed
    )


# What attributes declare that is gone.

REGULAR: dict[str, dict[str, Any]] = {
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


# Standard names by units, and no fill values.


def axes_in(**units: str) -> dict[str, Any]:
    """Return axes of `REGULAR` with other units."""
    return {
        key: {**it, "coordinates": [{**it["coordinates"][0], "unit": units[key]}]}
        for key, it in REGULAR.items()
        if key in units
    }


ROTATED_POLE = (
    'GEOGCRS["a",BASEGEOGCRS["b",DATUM["c",ELLIPSOID["GRS 1980",6378137,298.257222101,'
    'LENGTHUNIT["metre",1]]]],DERIVINGCONVERSION["d",METHOD["PROJ ob_tran o_proj=longlat"],'
    'PARAMETER["o_lat_p",43,ANGLEUNIT["degree",0.0174532925199433]]],CS[ellipsoidal,2],'
    'AXIS["longitude",east,ANGLEUNIT["degree",0.0174532925199433]],'
    'AXIS["latitude",north,ANGLEUNIT["degree",0.0174532925199433]]]'
)


@each_format
@pytest.mark.parametrize(
    ("identity", "is_named"),
    [(None, True), ({"proj:code": "EPSG:4326"}, True), ({"proj:wkt2": ROTATED_POLE}, False)],
)
def test_longitudes_and_latitudes_are_named_by_their_units(
    identity: dict[str, str] | None, is_named: bool, zarr_format: ZarrFormat
) -> None:
    system: dict[str, Any] = {"axes": axes_in(lat="degrees_north", lon="degreeE")}
    if identity is not None:
        system["id"] = identity
    field = Array(np.ones((3, 4)), ("lat", "lon"), declaring("cs", cs={"crs": [system]}))
    store = memory_store(build(Group({"t": field}), zarr_format))
    dataset, _told = opened_with_warnings(xr.open_dataset, store)
    names = {name: dataset[name].attrs.get("standard_name") for name in ("lat", "lon")}
    assert names == (
        {"lat": "latitude", "lon": "longitude"} if is_named else {"lat": None, "lon": None}
    )


def test_an_array_is_named_only_where_a_convention_is_declared() -> None:
    stored = Array(np.arange(3.0), ("lat",), {"units": "degrees_north"})
    values = {"external": {"node": "lat"}}
    cs = declaring("cs", cs={"crs": [{"axes": {"lat": {"coordinates": [{"values": values}]}}}]})
    for attributes, name in (({}, None), (cs, "latitude")):
        group = Group({"t": Array(np.ones(3), ("lat",), attributes), "lat": stored})
        dataset, _told = opened_with_warnings(xr.open_dataset, memory_store(build(group)))
        assert dataset["lat"].attrs.get("standard_name") == name


def bounded() -> xr.Dataset:
    """Return a field with regular, explicit and stored coordinates with boundaries."""
    halves = {"boundaries": {"regular": [-0.5, 0.5]}}
    values = {
        "x": {"regular": [0.0, 1.0]},
        "y": {"explicit": [0.0, 2.0, 5.0]},
        "time": {"regular": [0.5, 1]},
    }
    sets: dict[str, dict[str, Any]] = {n: {"values": it, **halves} for n, it in values.items()}
    sets["time"]["time"] = {"unit": "days", "epoch": "2001-01-01", "calendar": "noleap"}
    axes = {name: {"coordinates": [it]} for name, it in sets.items()}
    field = Array(
        np.ones((2, 3, 4)), ("time", "y", "x"), declaring("cs", cs={"crs": [{"axes": axes}]})
    )
    dataset, told = opened_with_warnings(xr.open_dataset, memory_store(build(Group({"t": field}))))
    assert told == []
    return dataset  # type: ignore[no-any-return]


COMPUTED = [f"{name}{end}" for name in ("x", "y", "time") for end in ("", "_bounds")]


def test_computed_coordinates_are_written_without_a_fill_value(place: Path) -> None:
    dataset = bounded()
    quietly(dataset.to_zarr, place / "s.zarr", consolidated=False, zarr_format=3)
    quietly(dataset.isel(x=[1, 2]).to_zarr, place / "p.zarr", consolidated=False, zarr_format=3)
    for name in ("s.zarr", "p.zarr"):
        group = zarr.open_group(place / name, mode="r")
        assert not [it for it in COMPUTED if "_FillValue" in group[it].attrs]


@pytest.mark.parametrize("engine", ["netcdf4", "h5netcdf"])
def test_netcdf_has_no_fill_value_of_computed_coordinates_either(
    engine: Any, tmp_path: Path
) -> None:
    pytest.importorskip({"netcdf4": "netCDF4"}.get(engine, engine))
    dataset = drop_conventions(bounded())
    dataset.to_netcdf(tmp_path / "s.nc", engine=engine)
    with xr.open_dataset(tmp_path / "s.nc", engine=engine, decode_cf=False) as written:
        assert not [it for it in COMPUTED if "_FillValue" in written[it].attrs]


def test_a_fill_value_that_is_declared_stays() -> None:
    values = {"values": {"explicit": [1.0, -9.0]}, "attributes": {"_FillValue": -9.0}}
    cs = {"crs": [{"axes": {"x": {"coordinates": [values]}}}]}
    field = Array(np.ones(2), ("x",), declaring("cs", cs=cs))
    dataset, told = opened_with_warnings(xr.open_dataset, memory_store(build(Group({"t": field}))))
    assert told == []
    np.testing.assert_array_equal(dataset["x"].values, [1.0, np.nan])
    assert dataset["x"].encoding["_FillValue"] == -9.0


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


def test_an_array_that_is_described_otherwise_stands_too() -> None:
    radiance = swath().members["radiance"]
    assert isinstance(radiance, Array)
    named = Array(radiance.values, radiance.dims, {**radiance.attrs, "coordinates": "lat"})
    own = Array(LAT.values, LAT.dims, {**LAT.attrs, "comment": "b"})
    store = memory_store(build(Group({"geo": GEO, "data": Group({"radiance": named, "lat": own})})))
    dataset, told = opened_with_warnings(xr.open_dataset, store, group="data")
    assert dataset["lat"].attrs["comment"] == "b"
    assert "geo_lat" not in dataset.variables
    assert told == []


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


def test_spatial_ref_is_the_crs_of_all_that_name_none() -> None:
    crs = Array(np.int64(0), (), {"grid_mapping_name": "latitude_longitude", "crs_wkt": WGS84})
    other_crs = Array(np.int64(0), (), {"crs_wkt": pyproj.CRS(32633).to_wkt()})
    named = Array(np.ones((2, 2)), ("y", "x"), declaring("proj", grid_mapping="m"))
    bare = Array(np.ones((2, 2)), ("y", "x"), declaring("proj"))
    other = Array(np.ones((2, 2)), ("y", "x"), declaring("proj", **{"proj:code": "EPSG:32632"}))
    members = {"named": named, "bare": bare, "other": other, "spatial_ref": crs, "m": other_crs}
    dataset, told = opened_with_warnings(xr.open_dataset, memory_store(build(Group(members))))
    assert told == []
    found = {name: dataset[name].attrs["grid_mapping"] for name in dataset.data_vars}
    assert found == {"named": "m", "bare": "spatial_ref", "other": "spatial_ref"}
    assert set(dataset.coords) == {"spatial_ref", "m"}


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


@pytest.mark.skipif(Version("2025.1") > XARRAY, reason="this xarray does not write by this zarr")
@pytest.mark.parametrize("shape", [{}, {"spatial:shape": [4, 5]}], ids=["", "shape"])
@pytest.mark.parametrize("described", [True, False])
def test_a_coordinate_of_another_group_has_no_cells_of_the_group_it_is_written_with(
    shape: dict[str, Any], described: bool
) -> None:
    values = {"regular": [0, 1]}
    axes = {"y": {"abbreviation": "Y", "coordinates": [{"values": values}]}}
    line = declaring("cs", cs={"crs": [{"axes": axes}]}) if described else declaring("CF")
    lat = Array(np.arange(20.0).reshape(4, 5), ("y", "x"))
    group = declaring("spatial", "proj", **{"spatial:dimensions": ["y", "x"]}, **shape)
    group |= {"spatial:transform": [10, 0, 600000, 0, -10, 5100000], "proj:code": "EPSG:32632"}
    members = {"line": Array(np.arange(4.0), ("y",), {**line, "coordinates": "/geo/lat"})}
    root = Group({**members, "geo": Group({"lat": lat})}, group)
    dataset, _told = opened_with_warnings(xr.open_dataset, memory_store(build(root)))
    part, store = dataset.isel(y=slice(1, 2), x=slice(1, 3)), MemoryStore()
    quietly(part.to_zarr, store, zarr_format=3, consolidated=False)
    again, told = opened_with_warnings(xr.open_dataset, store)
    assert told == []
    xr.testing.assert_equal(again, part)
    assert "grid_mapping" not in {**again["lat"].attrs, **again["lat"].encoding}


def test_an_array_of_data_along_both_dimensions_has_the_cells_of_its_group() -> None:
    group = declaring("spatial", "proj", **{"spatial:dimensions": ["y", "x"]})
    group |= {"spatial:transform": [10, 0, 600000, 0, -10, 5100000], "proj:code": "EPSG:32632"}
    values = np.arange(6.0).reshape(2, 3)
    members = {"v": Array(values, ("y", "x"), {"coordinates": "lat"})}
    members |= {"lat": Array(values, ("y", "x"))}
    dataset = quietly(xr.open_dataset, memory_store(build(Group(members, group))), engine="xgroup")
    for array in (dataset["v"], dataset["lat"]):
        assert array["x"].values.tolist() == [600005.0, 600015.0, 600025.0]
        assert {**array.attrs, **array.encoding}["grid_mapping"] == "spatial_ref"
