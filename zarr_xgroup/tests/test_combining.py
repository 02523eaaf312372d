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
    Contents,
    Group,
    build,
    declaring,
    memory_store,
    opened,
    oracle,
    quietly,
    write_local,
)

pytest.importorskip("dask")


def tile(day: int, column: int = 0) -> Contents:
    """Return a store of one time and a part of a grid: coordinates of each kind, and a CRS."""
    time = {
        "time": {"unit": "days", "epoch": "2020-01-01"},
        "values": {"explicit": [day]},
        "boundaries": {"regular": [-0.5, 0.5]},
    }
    x = {"values": {"regular": [0.5 + 4 * column, 1.0]}, "boundaries": {"regular": [-0.5, 0.5]}}
    axes = {
        "time": {"abbreviation": "T", "coordinates": [time]},
        "y": {"abbreviation": "Y", "coordinates": [{"values": {"external": {"node": "/grid/y"}}}]},
        "x": {"abbreviation": "X", "coordinates": [x]},
        "height": {"coordinates": [{"values": {"explicit": [2.0]}, "unit": "m"}]},
    }
    cs = {"crs": [{"axes": axes, "id": {"proj:code": "EPSG:32632"}}]}
    values = np.full((1, 2, 4), 10.0 * day + column)
    grid = Group({"y": Array([20.0, 10.0], ("y",))})
    data = Group({"t": Array(values, ("time", "y", "x"), declaring("cs", cs=cs))})
    return build(Group({"grid": grid, "data": data}))


def check_combined(combined: Any, shape: tuple[int, ...]) -> None:
    """Assert that no coordinate was lost, doubled or given a dimension that it has not."""
    assert combined["t"].shape == shape
    assert set(combined.coords) == {
        *("time", "time_bounds", "y", "x", "x_bounds", "height", "spatial_ref")
    }
    assert combined["spatial_ref"].dims == combined["height"].dims == ()
    assert combined["x_bounds"].dims == ("x", "bounds")
    assert combined["time_bounds"].dims == ("time", "bounds")
    assert combined["t"].attrs["grid_mapping"] == "spatial_ref"
    assert "crs_wkt" in combined["spatial_ref"].attrs
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


@pytest.mark.parametrize("how", [{}, {"parallel": True}, {"chunks": {}}], ids=str)
def test_open_mfdataset_by_coordinates(how: dict[str, Any], tmp_path: Path) -> None:
    paths = [write_local(tile(day), tmp_path / f"{day}.zarr") for day in range(3)]
    combined = quietly(xr.open_mfdataset, paths, engine="xgroup", group="data", **how)
    check_combined(combined, (3, 2, 4))


def test_open_mfdataset_of_tiles_side_by_side() -> None:
    stores = [memory_store(tile(day, column)) for day in range(2) for column in range(2)]
    combined = quietly(xr.open_mfdataset, stores, engine="xgroup", group="data")
    check_combined(combined, (2, 2, 8))
    assert combined["x"].values.tolist() == [0.5 + n for n in range(8)]


def test_open_mfdataset_with_the_new_defaults_and_preprocess() -> None:
    seen = []

    def preprocess(dataset: xr.Dataset) -> xr.Dataset:
        seen.append(dataset.attrs)
        return dataset.isel(x=slice(0, 2))

    stores = [memory_store(tile(day)) for day in range(3)]
    combined = quietly(
        xr.open_mfdataset,
        stores,
        engine="xgroup",
        group="data",
        preprocess=preprocess,
        **NEW_DEFAULTS,
    )
    check_combined(combined, (3, 2, 2))
    assert len(seen) == 3


def test_concat_merge_and_combine() -> None:
    days = [opened(xr.open_dataset, memory_store(tile(day)), group="data") for day in range(3)]
    for options in ({}, NEW_DEFAULTS):
        check_combined(quietly(xr.concat, days, dim="time", **options), (3, 2, 4))
    # It compares attributes unless told not to, and those that declare times differ.
    with pytest.raises(xr.MergeError, match="some values are not the same"):
        quietly(xr.combine_by_coords, days)
    for combine_attrs in ("override", "drop_conflicts"):
        combined = quietly(xr.combine_by_coords, days, combine_attrs=combine_attrs)
        check_combined(combined, (3, 2, 4))
    check_combined(quietly(xr.combine_by_coords, list(map(drop_conventions, days))), (3, 2, 4))
    others = days[0].rename(t="other")
    for options in ({}, {"compat": "no_conflicts", "join": "outer"}, {"compat": "identical"}):
        merged = quietly(xr.merge, [days[0], others], **options)
        check_combined(merged.drop_vars("other"), (1, 2, 4))


# Chunks.

ROTATED = {
    "spatial:dimensions": ["y", "x"],
    "spatial:transform": [1.0, 0.5, 0.0, 0.5, -1.0, 0.0],
    "zarr_conventions": [{"name": "spatial"}],
}


@pytest.mark.parametrize("chunks", [{}, "auto"], ids=str)
def test_chunks_are_those_that_are_stored(chunks: Any) -> None:
    values = np.zeros((4, 6))
    root = Group(
        {
            "plain": Array(values, ("y", "x"), ROTATED, chunks=(2, 3)),
            "sharded": Array(values, ("y", "x"), ROTATED, chunks=(2, 4), v3=SHARDED),
        }
    )
    store = memory_store(build(root))
    ours = opened(xr.open_dataset, store, chunks=chunks)
    theirs = oracle(xr.open_dataset, store, chunks=chunks)
    for name in ("plain", "sharded"):
        assert ours[name].chunks == theirs[name].chunks
    # Arrays of other chunks have the same coordinates, once.
    assert set(ours.coords) == {"xc", "yc"}
    assert ours["xc"].chunks == ours["plain"].chunks


# Other processes.


def located(uri: str) -> Group:
    """Return a group with an array of which coordinates are computed, and in another store."""
    references = {axis: {"node": f"/geo/{name}", "uri": uri} for axis, name in GEODETIC.items()}
    attributes = {
        **ROTATED,
        "zarr_conventions": [{"name": "spatial"}, {"name": "geolocation"}],
        "geolocation": {"geodetic": references},
    }
    return Group({"v": Array(np.ones((4, 6)), ("y", "x"), attributes, chunks=(2, 3))})


GEODETIC = {"x": "lon", "y": "lat"}


def test_workers_compute_coordinates_and_those_of_other_stores(
    tmp_path: Path, dask_workers: Any
) -> None:
    values = np.arange(24.0).reshape(4, 6)
    geo = Group({name: Array(values, ("y", "x"), chunks=(2, 3)) for name in GEODETIC.values()})
    other = write_local(build(Group({"geo": geo})), tmp_path / "other.zarr")
    path = write_local(build(Group({"g": located(other.as_uri())})), tmp_path / "s.zarr")
    with dask_workers(1):
        dataset = opened(xr.open_dataset, path, group="g", chunks={})
        assert float((dataset["v"] * dataset["lat"]).sum().compute()) == values.sum()
        expected = opened(xr.open_dataset, path, group="g")["xc"].values
        np.testing.assert_array_equal(dataset["xc"].compute().values, expected)
        # What a worker opens by itself.
        stores = [memory_store(tile(day)) for day in range(2)]
        combined = quietly(xr.open_mfdataset, stores, engine="xgroup", group="data", parallel=True)
        check_combined(combined, (2, 2, 4))
