"""The `coords` convention, which newer drafts call `dimensions`."""

from typing import Any

import numpy as np
import pytest
import xarray as xr
from packaging.version import Version
from zarr.storage import MemoryStore

from zarr_xgroup.tests.builders import (
    UUIDS,
    XARRAY,
    Array,
    Group,
    ZarrFormat,
    build,
    declaring,
    memory_store,
    opened,
    opened_with_warnings,
    quietly,
    recording_store,
)

TIME = {"type": "array", "path": "../axes/time"}
LEVEL = {"type": "inline", "values": [1000.0, 850.0, 500.0]}
X = {"type": "interval", "start": 10, "end": 40, "step": 10}
DAYS = {"type": "interval", "start": "2024-01-01", "end": "2024-01-02", "step": "P1D"}


def field(*dims: str, convention: Any = "coords", **attributes: Any) -> Array:
    sizes = {"time": 2, "level": 3, "y": 3, "x": 4}
    return Array(np.zeros([sizes[dim] for dim in dims]), dims, declaring(convention, **attributes))


def older(**descriptors: Any) -> dict[str, Any]:
    return {"coords:version": 1, "coords:coordinates": descriptors}


def newer(axes: Any, coordinates: Any) -> dict[str, Any]:
    return {"dimensions:axes": axes, "dimensions:coordinates": coordinates}


def store_of(member: Any, zarr_format: ZarrFormat = 3, **others: Any) -> Any:
    axes = Group(
        {
            "time": Array([0.5, 1.5], ("time",), {"units": "days since 2024-01-01"}),
            "lat": Array(np.arange(12.0).reshape(3, 4), ("y", "x"), {"units": "degrees_north"}),
        }
    )
    nodes = Group({"axes": axes, "g": Group({"a": member}, **others)})
    return memory_store(build(nodes, zarr_format=zarr_format))


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_the_older_form(zarr_format: ZarrFormat) -> None:
    lat = {"type": "array", "path": "/axes/lat", "indexed_by": ["y", "x"]}
    kind = older(time=TIME, level=LEVEL, x=X, lat=lat)
    store = store_of(field("time", "level", "y", "x", **kind), zarr_format)
    found = opened(xr.open_dataset, store, group="g")
    assert found["time"].dt.hour.values.tolist() == [12, 12]
    assert found["time"].dt.day.values.tolist() == [1, 2]
    assert found["level"].values.tolist() == [1000.0, 850.0, 500.0]
    assert (found["x"].values.tolist(), found["x"].dtype.kind) == ([10, 20, 30, 40], "i")
    assert found["lat"].dims == ("y", "x")
    assert {*found["a"].coords} == {"time", "level", "x", "lat"}


def test_the_newer_form() -> None:
    axes = {
        "time": {"type": "time", "coords": DAYS},
        "y": {"axis": "y", "unit": "m", "description": "northing"},
        "x": {"axis": "x", "unit": "m", "description": "easting", "coords": X},
    }
    lat = {"indexed_by": ["y", "x"], "coords": {"type": "array", "path": "../../axes/lat"}}
    store = store_of(field("time", "y", "x", **newer(axes, {"latitude": lat})))
    found = opened(xr.open_dataset, store, group="g")
    assert {*found.coords} == {"time", "x", "latitude"}  # y has no values
    assert found["x"].attrs == {"units": "m", "long_name": "easting", "axis": "X"}
    assert found["latitude"].values[2, 3] == 11.0
    assert found["time"].dt.day.values.tolist() == [1, 2]


@pytest.mark.parametrize(
    "convention",
    [
        {"name": "dimensions", "uuid": UUIDS["coords"]},
        {"name": "dimensions:"},
        {"name": "coords"},
        {
            "schema_url": "https://raw.githubusercontent.com/zarr-conventions/dimensions/refs/tags/v1/schema.json"
        },
    ],
)
def test_both_names_are_of_one_convention(convention: Any) -> None:
    store = store_of(field("x", convention=convention, **newer({"x": {"coords": X}}, {})))
    assert opened(xr.open_dataset, store, group="g")["x"].values.tolist() == [10, 20, 30, 40]


def test_a_group_is_a_catalogue_for_its_arrays() -> None:
    members = {
        "a": Array(np.zeros((3, 4)), ("y", "x")),
        "b": Array(np.zeros(3), ("y",), older(y={"type": "inline", "values": [7, 8, 9]})),
        "c": Array(np.zeros(2), ("other",)),
        "lon": Array(np.ones((3, 4)), ("y", "x")),
    }
    catalogue = older(
        x=X,
        y={"type": "inline", "values": [1, 2, 3]},
        lon={"type": "array", "path": "lon", "indexed_by": ["y", "x"]},
    )
    store = memory_store(build(Group({"g": Group(members, declaring("coords", **catalogue))})))
    found, told = opened_with_warnings(xr.open_dataset, store, group="g")
    assert {*found.data_vars} == {"a", "b", "c"}
    assert {*found["a"].coords} == {"x", "y", "lon"}
    assert found["y"].values.tolist() == [1, 2, 3]
    assert [found[name].values.tolist() for name in found["b"].coords] == [[7, 8, 9]]
    assert dict(found["c"].coords) == {}
    assert [type(it).__name__ for it in told] == ["XGroupDimensionWarning"]  # two kinds of y


@pytest.mark.parametrize(
    ("start", "step", "end", "expected"),
    [
        ("2024-01-31", "P1M", "2024-04-30", ["2024-01-31", "2024-02-29", "2024-03-31", "2024-04-30"]),
        ("2024-02-29T06:00", "P1Y", "2027-03-01", ["2024-02-29T06", "2025-02-28T06", "2026-02-28T06", "2027-02-28T06"]),
        ("2024-03-01", "-P1M", "2023-12-01", ["2024-03-01", "2024-02-01", "2024-01-01", "2023-12-01"]),
        ("2024-01-01T00:30Z", "PT1H", "2024-01-01T04:00Z", ["2024-01-01T00:30", "2024-01-01T01:30", "2024-01-01T02:30", "2024-01-01T03:30"]),
        ("2024-01-01T01:00+01:00", "PT0.5S", "2024-01-01T00:00:01.5", ["2024-01-01T00:00:00", "2024-01-01T00:00:00.5", "2024-01-01T00:00:01", "2024-01-01T00:00:01.5"]),
        ("2000-01-01", "P1M", "2000-04-30T23:59:59", ["2000-01-01", "2000-02-01", "2000-03-01", "2000-04-01"]),
        ("1999-01-01", "P1Y", "2002-12-31T23:59:59.999999", ["1999-01-01", "2000-01-01", "2001-01-01", "2002-01-01"]),
        ("2000-01-01", "P1D", "2000-01-04T23:59:59.999999", ["2000-01-01", "2000-01-02", "2000-01-03", "2000-01-04"]),
        (0, 10000000, 39999999, [0, 10000000, 20000000, 30000000]),
        (1600000000000000000, 10, 1600000000000000030, [1600000000000000000 + it for it in (0, 10, 20, 30)]),
        (0.1, 0.1, 0.4, [0.1, 0.2, 0.30000000000000004, 0.4]),
        (40, -10, 5, [40, 30, 20, 10]),
    ],
)  # fmt: skip
def test_intervals(start: Any, step: Any, end: Any, expected: list[Any]) -> None:
    descriptor = {"type": "interval", "start": start, "end": end, "step": step}
    found = opened(xr.open_dataset, store_of(field("x", **older(x=descriptor))), group="g")
    times = isinstance(start, str)
    assert found["x"].values.tolist() == (
        [np.datetime64(it, "ns").astype(int) for it in expected] if times else expected
    )
    assert found["x"].isel(x=slice(2, 3)).values[0] == found["x"].values[2]


def test_dates_before_1582_are_those_of_iso_8601() -> None:
    months = {"type": "interval", "start": "1500-01-31", "end": "1500-04-30", "step": "P1M"}
    store = store_of(field("x", **older(x=months)))
    found = quietly(
        xr.open_dataset, store, engine="xgroup", group="g"
    )  # xarray warns of such dates
    dates = found["x"].dt.strftime("%Y-%m-%d").values.tolist()
    assert dates == ["1500-01-31", "1500-02-28", "1500-03-31", "1500-04-30"]


def test_what_another_convention_says() -> None:
    grid = {
        "spatial:dimensions": ["y", "x"],
        "spatial:transform": [10, 0, 0, 0, -10, 30],
        "proj:code": "EPSG:32632",
    }
    of_spatial = {"type": "reference", "convention": "spatial"}
    axes = newer(
        {"time": {"coords": DAYS}, "y": {"coords": of_spatial}, "x": {"coords": of_spatial}}, {}
    )
    conventions = [{"uuid": UUIDS[it]} for it in ("coords", "spatial", "proj")]
    attributes = {"zarr_conventions": conventions, **axes, **grid}
    member = Array(np.zeros((2, 3, 4)), ("time", "y", "x"), attributes)
    found, told = opened_with_warnings(xr.open_dataset, store_of(member), group="g")
    assert (found["y"].values.tolist(), found["x"].values.tolist()) == (
        [25, 15, 5],
        [5, 15, 25, 35],
    )
    assert found["x"].attrs["standard_name"] == "projection_x_coordinate"
    assert (found["time"].size, told) == (2, [])
    affine = older(
        x={"type": "affine", "convention": "spatial"}, y={"type": "affine", "convention": "spatial"}
    )
    member = Array(np.zeros((3, 4)), ("y", "x"), declaring("coords", **affine, **grid))
    assert opened(xr.open_dataset, store_of(member), group="g")["x"].values.tolist() == [
        5,
        15,
        25,
        35,
    ]


def test_beside_cs_the_first_principal_convention_counts() -> None:
    cs = {"crs": [{"axes": {"x": {"coordinates": [{"values": {"regular": [0, 1]}}]}}}]}
    conventions = [{"uuid": UUIDS[it]} for it in ("coords", "cs")]
    attributes = {"zarr_conventions": conventions, **older(x=X), "cs": cs}
    found, told = opened_with_warnings(
        xr.open_dataset, store_of(Array(np.zeros(4), ("x",), attributes)), group="g"
    )
    assert found["x"].values.tolist() == [0, 1, 2, 3]
    assert ["principal conventions cs, coords; cs was used" in str(it) for it in told] == [True]


def test_what_the_group_has_itself_stands() -> None:
    own = Array([1.0, 2.0, 3.0, 4.0], ("x",))
    members = {"a": field("x", **older(x=X)), "x": own}
    found, told = opened_with_warnings(xr.open_dataset, memory_store(build(Group(members))))
    assert found["x"].values.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert told == []


@pytest.mark.parametrize(
    ("descriptor", "text"),
    [
        ({"type": "interval", "start": 0, "end": 10, "step": 1}, "do not give as many values"),
        ({"type": "interval", "start": 0, "end": 3, "step": 0}, "must not be 0"),
        ({"type": "interval", "start": 0, "end": 3}, "is missing, which"),
        ({"type": "interval", "start": "2024", "end": 3, "step": "P1D"}, "a time of ISO 8601"),
        (
            {"type": "interval", "start": "0001-01-01T00+14:00", "end": 3, "step": "P1D"},
            "a time of ISO 8601",
        ),
        ({"type": "interval", "start": "2024-01-01", "end": "2024-01-04", "step": 1}, "such as 'P1D'"),
        ({"type": "interval", "start": "2024-01-01", "end": "2024-01-04", "step": "P1MT1H"}, "has both months"),
        ({"type": "interval", "start": 0, "end": 10**40, "step": 1}, "a finite number or a time"),
        ({"type": "inline", "values": [1, 2]}, "has 2 values, the axis needs 4"),
        ({"type": "inline", "values": [1, "b", 2, 3]}, "all numbers or all strings"),
        ({"type": "inline"}, "is missing, which"),
        ({"type": "array", "path": "nope"}, "nope"),
        ({"type": "array", "path": "/axes/time"}, "the coordinate needs [4]"),
        ({"type": "array", "path": 5}, "must be a string"),
        ({"type": "inline", "values": [1, 2, 3, 4], "indexed_by": ["nope"]}, "lies along ['nope']"),
        ({"values": [1, 2, 3, 4]}, "is missing"),
        ("inline", "must be an object"),
        ({"type": "reference", "convention": "dimensions"}, "is the convention itself"),
        ({"type": "reference", "convention": "nothing"}, "convention 'nothing' for its coordinates"),
    ],
)  # fmt: skip
def test_what_is_wrong_costs_that_coordinate(descriptor: Any, text: str) -> None:
    kind = older(x=descriptor, level=LEVEL)
    found, told = opened_with_warnings(
        xr.open_dataset, store_of(field("level", "x", **kind)), group="g"
    )
    assert {*found.coords} == {"level"}
    assert [text in str(it) for it in told] == [True], told


def test_what_is_wrong_beside_the_values_costs_only_itself() -> None:
    axes = {"x": {"unit": 5, "coords": X}, "level": {"coords": "inline"}}
    found, told = opened_with_warnings(
        xr.open_dataset, store_of(field("level", "x", **newer(axes, {}))), group="g"
    )
    assert found["x"].values.tolist() == [10, 20, 30, 40]
    assert sorted("unit" in str(it) for it in told) == [False, True]


def test_opening_reads_no_chunk() -> None:
    daily = {"type": "interval", "start": "1900-01-01", "end": "2150-12-31", "step": "P1D"}
    size = (np.datetime64("2150-12-31") - np.datetime64("1900-01-01")).astype(int) + 1
    lat = {"type": "array", "path": "lat", "indexed_by": ["time"]}
    members = {
        "a": Array(
            np.zeros(size, "i1"), ("time",), declaring("coords", **older(time=daily, lat=lat))
        ),
        "lat": Array(np.zeros(size, "i1"), ("time",)),
    }
    store: Any = recording_store(build(Group(members)))
    found = xr.open_dataset(store, engine="xgroup", zarr_format=3)
    assert [key for key in store.gets if "/c/" in key] == []
    assert found["time"][-1].values == np.datetime64("2150-12-31")


@pytest.mark.skipif(Version("2025.1") > XARRAY, reason="this xarray does not write by this zarr")
def test_what_was_cut_and_written_again_has_its_own_coordinates() -> None:
    time = {"type": "array", "path": "/axes/time"}
    store = store_of(field("time", "x", **older(x=X, time=time)))
    first = opened(xr.open_dataset, store, group="g").isel(x=[0, 3], time=[1])
    again = MemoryStore()
    quietly(first.to_zarr, again, zarr_format=3)
    found, told = opened_with_warnings(xr.open_dataset, again)
    assert found["x"].values.tolist() == [10, 40]
    assert found["time"].dt.day.values.tolist() == [2]
    assert told == []
