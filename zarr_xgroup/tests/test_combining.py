"""Several stores as one Dataset, chunks of dask, and computing elsewhere."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from zarr_xgroup import drop_conventions
from zarr_xgroup.tests.builders import (
    SHARDED,
    Array,
    Group,
    build,
    declaring,
    memory_store,
    opened,
    oracle,
    quietly,
    write_local,
)
from zarr_xgroup.tests.tables import rows, store_of

pytest.importorskip("dask")


def tile(day: int, column: int = 0) -> Group:
    """Return a store of one time and a part of a grid: coordinates of each kind, and a CRS."""
    half = {"regular": [-0.5, 0.5]}
    days = {"unit": "days", "epoch": "2020-01-01"}
    sets = {
        "time": ("T", {"time": days, "values": {"explicit": [day]}, "boundaries": half}),
        "y": ("Y", {"values": {"external": {"node": "/grid/y"}}}),
        "x": ("X", {"values": {"regular": [0.5 + 4 * column, 1.0]}, "boundaries": half}),
        "height": ("Z", {"values": {"explicit": [2.0]}, "unit": "m"}),
    }
    axes = {name: {"abbreviation": it, "coordinates": [one]} for name, (it, one) in sets.items()}
    cs = declaring("cs", cs={"crs": [{"axes": axes, "id": {"proj:code": "EPSG:32632"}}]})
    data = Array(np.full((1, 2, 4), 10.0 * day + column), ("time", "y", "x"), cs)
    return Group({"grid": Group({"y": Array([20.0, 10.0], ("y",))}), "data": Group({"t": data})})


def check_combined(combined: Any, shape: tuple[int, ...]) -> None:
    """Assert that no coordinate was lost, doubled or given a dimension that it has not."""
    assert combined["t"].shape == shape
    assert {name: it.dims for name, it in combined.coords.items()} == {
        "time": ("time",),
        "time_bounds": ("time", "bounds"),
        "y": ("y",),
        "x": ("x",),
        "x_bounds": ("x", "bounds"),
        "height": (),
        "spatial_ref": (),
    }
    assert combined["t"].attrs["grid_mapping"] == "spatial_ref"
    assert "crs_wkt" in combined["spatial_ref"].attrs
    assert combined["x"].values.tolist() == [0.5 + n for n in range(shape[2])]
    days = np.arange(shape[0])
    np.testing.assert_array_equal(combined["t"].values[:, 0, 0], 10.0 * days)
    assert combined["time"].dt.day.values.tolist() == [day + 1 for day in days]


#: What newer versions of xarray do, and will do by default.
NEW_DEFAULTS: dict[str, Any] = {
    "data_vars": "minimal",
    "coords": "minimal",
    "compat": "override",
    "join": "exact",
}


#: What several stores are opened with, and the columns that are left.
WAYS: dict[str, tuple[dict[str, Any], int]] = {
    "by coordinates": ({}, 4),
    "in parallel": ({"parallel": True}, 4),
    "in chunks": ({"chunks": {}}, 4),
    "with the new defaults": ({**NEW_DEFAULTS, "preprocess": lambda it: it.isel(x=slice(0, 2))}, 2),
}


@rows(WAYS, "options, width")
def test_stores_are_opened_as_one_along_time(options: Any, width: int, tmp_path: Path) -> None:
    paths = [write_local(build(tile(day)), tmp_path / f"{day}.zarr") for day in range(3)]
    combined = quietly(xr.open_mfdataset, paths, engine="xgroup", group="data", **options)
    check_combined(combined, (3, 2, width))


def test_tiles_are_opened_as_one_side_by_side() -> None:
    stores: Any = [store_of(tile(day, column)) for day in range(2) for column in range(2)]
    combined = quietly(xr.open_mfdataset, stores, engine="xgroup", group="data")
    check_combined(combined, (2, 2, 8))


def test_datasets_are_concatenated_combined_and_merged() -> None:
    days = [opened(xr.open_dataset, store_of(tile(day)), group="data") for day in range(3)]
    for options in ({}, NEW_DEFAULTS):
        check_combined(quietly(xr.concat, days, dim="time", **options), (3, 2, 4))
    # It compares attributes unless told not to, and those that declare times differ.
    with pytest.raises(xr.MergeError, match="some values are not the same"):
        quietly(xr.combine_by_coords, days)
    check_combined(quietly(xr.combine_by_coords, days, combine_attrs="override"), (3, 2, 4))
    check_combined(quietly(xr.combine_by_coords, list(map(drop_conventions, days))), (3, 2, 4))
    others = days[0].rename(t="other")
    for options in ({}, {"compat": "no_conflicts", "join": "outer"}, {"compat": "identical"}):
        merged = quietly(xr.merge, [days[0], others], **options)
        check_combined(merged.drop_vars("other"), (1, 2, 4))


ROTATED = {"spatial:dimensions": ["y", "x"], "spatial:transform": [1.0, 0.5, 0.0, 0.5, -1.0, 0.0]}


@pytest.mark.parametrize("chunks", [{}, "auto"], ids=str)
def test_chunks_are_those_that_are_stored(chunks: Any) -> None:
    values = np.zeros((4, 6))
    arrays = {
        "plain": Array(values, ("y", "x"), chunks=(2, 3)),
        "sharded": Array(values, ("y", "x"), chunks=(2, 4), v3=SHARDED),
    }
    store = store_of(Group(arrays, declaring("spatial", **ROTATED)))
    ours = opened(xr.open_dataset, store, chunks=chunks)
    theirs = oracle(xr.open_dataset, store, chunks=chunks)
    for name in arrays:
        assert ours[name].chunks == theirs[name].chunks
    # Arrays of other chunks have the same coordinates, once.
    assert set(ours.coords) == {"xc", "yc"}
    assert ours["xc"].chunks == ours["plain"].chunks


def test_workers_compute_coordinates_and_those_of_other_stores(
    tmp_path: Path, dask_workers: Any
) -> None:
    values = np.arange(24.0).reshape(4, 6)
    geo = Group({name: Array(values, ("y", "x"), chunks=(2, 3)) for name in ("lat", "lon")})
    uri = write_local(build(Group({"geo": geo})), tmp_path / "other.zarr").as_uri()
    pair = {x: {"node": f"/geo/{name}", "uri": uri} for x, name in (("x", "lon"), ("y", "lat"))}
    attributes = declaring("spatial", "geolocation", geolocation={"geodetic": pair}, **ROTATED)
    v = Array(np.ones((4, 6)), ("y", "x"), attributes, chunks=(2, 3))
    path = write_local(build(Group({"g": Group({"v": v})})), tmp_path / "s.zarr")
    with dask_workers(1):
        dataset = opened(xr.open_dataset, path, group="g", chunks={})
        assert float((dataset["v"] * dataset["lat"]).sum().compute()) == values.sum()
        expected = opened(xr.open_dataset, path, group="g")["xc"].values
        np.testing.assert_array_equal(dataset["xc"].compute().values, expected)
        # What a worker opens by itself.
        stores = [memory_store(build(tile(day))) for day in range(2)]
        combined = quietly(xr.open_mfdataset, stores, engine="xgroup", group="data", parallel=True)
        check_combined(combined, (2, 2, 4))
