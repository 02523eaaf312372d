"""Datasets that are opened, changed, written, and read again by engine zarr and engine xgroup."""

from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import zarr
from packaging.version import Version
from zarr.storage import MemoryStore

import zarr_xgroup
from zarr_xgroup import XGroupNameWarning, XGroupResolutionWarning, XGroupWarning, drop_conventions
from zarr_xgroup.tests.builders import (
    XARRAY,
    Array,
    Group,
    ZarrFormat,
    build,
    declaring,
    needs_writing,
    opened,
    opened_with_warnings,
    quietly,
    stored,
    write_local,
)
from zarr_xgroup.tests.sample_stores import SAMPLES
from zarr_xgroup.tests.tables import check, rows, store_of, text_of

if HAS_RIOXARRAY := find_spec("rioxarray") is not None:
    import rioxarray  # noqa: F401

FORMATS: tuple[ZarrFormat, ...] = (2, 3)
each_format = pytest.mark.parametrize("zarr_format", FORMATS, ids=["v2", "v3"])

# What users do with what they open.

Operation = Callable[[xr.Dataset], xr.Dataset]


class InapplicableError(Exception):
    """An operation is not for such a Dataset."""


def last(dataset: xr.Dataset) -> str:
    """Return the last dimension of the data."""
    return str(dataset["v"].dims[-1])


def first(dataset: xr.Dataset) -> str:
    """Return the first dimension of the data."""
    return str(dataset["v"].dims[0])


def indexed(dataset: xr.Dataset) -> str:
    """Return the last dimension that has a coordinate of its own."""
    dims = [str(it) for it in dataset["v"].dims if it in dataset.xindexes]
    if not dims:
        raise InapplicableError
    return dims[-1]


def _timely(dataset: xr.Dataset) -> xr.Dataset:
    if "time" not in dataset.xindexes:
        raise InapplicableError
    return dataset


def _on_map(dataset: xr.Dataset) -> xr.Dataset:
    """Return what rioxarray works with: arrays with a CRS along x and y."""
    if not HAS_RIOXARRAY or not {"x", "y"} <= set(dataset.xindexes) or dataset.rio.crs is None:
        raise InapplicableError
    return dataset


def _halfway(dataset: xr.Dataset) -> xr.Dataset:
    dim = indexed(dataset)
    middle = dataset[dim].values
    points = middle[:-1] + (middle[1:] - middle[:-1]) / 2
    return dataset.interp({dim: points})


def _strided(dataset: xr.Dataset) -> xr.Dataset:
    return dataset.isel({dim: slice(None, None, 2) for dim in dataset["v"].dims})


def _swapped(dataset: xr.Dataset) -> xr.Dataset:
    dim = last(dataset)
    numbered = dataset.assign_coords(k=(dim, np.arange(dataset.sizes[dim]) * 3))
    return numbered.swap_dims({dim: "k"})


def _reset(dataset: xr.Dataset) -> xr.Dataset:
    names = [it for it in dataset.coords if it not in dataset.xindexes]
    return dataset.reset_coords(names)


def _joined(dataset: xr.Dataset) -> xr.Dataset:
    dim = first(dataset)
    parts = [dataset.isel({dim: slice(0, 2)}), dataset.isel({dim: slice(3, None)})]
    return xr.concat(parts, dim, data_vars="minimal", coords="minimal", compat="override")


def _clipped(dataset: xr.Dataset) -> xr.Dataset:
    x, y = _on_map(dataset)["x"].values, dataset["y"].values
    box = float(x[1]), float(min(y[1:3])), float(x[4]), float(max(y[1:3]))
    clipped: xr.Dataset = dataset.rio.clip_box(*box)
    return clipped


def _reprojected(dataset: xr.Dataset) -> xr.Dataset:
    if "xc" not in dataset.coords:
        _on_map(dataset)
    reprojected: xr.Dataset = dataset.rio.reproject("EPSG:3035")
    return reprojected


def _as_array(dataset: xr.Dataset) -> xr.Dataset:
    return dataset[["v"]].to_array("which").to_dataset("which")


OPERATIONS: Mapping[str, Operation] = {
    "nothing": lambda it: it,
    "isel": lambda it: it.isel({dim: slice(1, None) for dim in it["v"].dims}),
    "strides": _strided,
    "reversed": lambda it: it.isel({dim: slice(None, None, -1) for dim in it["v"].dims}),
    "isel of one": lambda it: it.isel({first(it): 1}),
    "isel of one, dropped": lambda it: it.isel({first(it): 1}, drop=True),
    "isel of one of x": lambda it: it.isel({last(it): 1}),
    "isel of a list": lambda it: it.isel({last(it): [0, 2, 1]}),
    "sel": lambda it: it.sel({indexed(it): it[indexed(it)].values[1:4]}),
    "sortby": lambda it: it.sortby(indexed(it)).sortby(indexed(it), ascending=False),
    "sortby, ascending": lambda it: it.sortby([dim for dim in it["v"].dims if dim in it.xindexes]),
    "coarsen": lambda it: it.coarsen({last(it): 2}, boundary="trim").mean(),
    "coarsen both": lambda it: it.coarsen(dict.fromkeys(it["v"].dims[-2:], 2), "trim").mean(),
    "interp": _halfway,
    "transpose": lambda it: it.transpose(*reversed(it["v"].dims), ...),
    "rename": lambda it: it.rename({dim: f"{dim}_here" for dim in it["v"].dims}),
    "rename data": lambda it: it.rename(v="renamed"),
    "swap_dims": _swapped,
    "drop_vars": lambda it: it.drop_vars(indexed(it)),
    "assign_coords": lambda it: it.assign_coords({last(it): np.arange(it.sizes[last(it)]) + 0.5}),
    "reset_coords": _reset,
    "merge": lambda it: xr.merge([it, xr.Dataset({"more": ("elsewhere", [1.0, 2.0])})]),
    "concat": _joined,
    "where": lambda it: it.where(it["v"] > 3),
    "astype": lambda it: it.astype("f4"),
    "chunk": lambda it: it.chunk({last(it): 3}).drop_encoding(),
    "reindex": lambda it: it.reindex({indexed(it): it[indexed(it)].values[[2, 0]]}),
    "expand_dims": lambda it: it.expand_dims(member=[1, 2]),
    "squeeze": lambda it: it.isel({first(it): [2]}).squeeze(),
    "rolling": lambda it: it.rolling({last(it): 3}, center=True).mean(),
    "resample": lambda it: _timely(it).resample(time="30D").mean(),
    "groupby": lambda it: _timely(it).groupby("time.month").mean(),
    "to_array": _as_array,
    "broadcast": lambda it: xr.broadcast(it)[0],
    "pad": lambda it: it.pad({last(it): 1}, mode="edge"),
    "shift": lambda it: it.shift({last(it): 1}),
    "roll": lambda it: it.roll({last(it): 2}, roll_coords=True),
    "diff": lambda it: it.diff(last(it)),
    "cumsum": lambda it: it.cumsum(last(it)),
    "quantile": lambda it: it.quantile([0.1, 0.9], dim=last(it)),
    "weighted mean": lambda it: it.weighted(it["v"].isel({last(it): 0}, drop=True)).mean(first(it)),
    "mean": lambda it: it.mean(first(it)),
    "clip_box": _clipped,
    "reproject": _reprojected,
}


# Operations of xarray, kinds of store, formats.

#: What is written: the formats of Zarr as far as this xarray writes them by this zarr.
WRITTEN = ("netCDF",) if Version("2025.1") > XARRAY else ("v3", "v2", "netCDF")


@cache
def whole(kind: str, written_as: str) -> xr.Dataset:
    """Return what a store of a kind and a format is opened as; netCDF has no objects."""
    options = {"convention_attrs": "json"} if written_as == "netCDF" else {}
    return SAMPLES[kind].open(2 if written_as == "v2" else 3, **options).load()


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
    return opened_with_warnings(xr.open_dataset, store, assume_conventions=SAMPLES[kind].assumed)


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


@pytest.mark.parametrize("operation", OPERATIONS)
def test_results_of_operations_are_the_same_after_writing(operation: str, tmp_path: Path) -> None:
    # Each kind in another format, and every other kind, so that each operation meets each format.
    first = list(OPERATIONS).index(operation)
    outcomes = {}
    with xr.set_options(keep_attrs=True):  # type: ignore[no-untyped-call]
        for number, kind in enumerate(SAMPLES, first):
            if number % 2:
                continue
            written_as = WRITTEN[number // 2 % len(WRITTEN)]
            origin = whole(kind, written_as)
            try:
                before = quietly(OPERATIONS[operation], origin)
            except InapplicableError:
                continue
            after, told = again(before, kind, written_as, tmp_path)
            outcomes[kind, written_as] = list(faults(origin, before, after, told))
    assert {kind: found for kind, found in outcomes.items() if found} == {}
    assert outcomes or not HAS_RIOXARRAY


#: Steps of subsets, each for every kind; the formats take turns.
STEPS = (2, -1, -2)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("kind", SAMPLES)
def test_subsets_with_steps_are_the_same_after_writing(
    kind: str, step: int, tmp_path: Path
) -> None:
    turn = list(SAMPLES).index(kind) + STEPS.index(step)
    written_as = WRITTEN[turn % len(WRITTEN)]
    origin = whole(kind, written_as)
    before = origin.isel({dim: slice(None, None, step) for dim in origin["v"].dims})
    after, given = again(before, kind, written_as, tmp_path)
    assert list(faults(origin, before, after, given)) == []


# Written to Zarr, and read by both engines.


def written(dataset: xr.Dataset, zarr_format: int = 3) -> MemoryStore:
    store = MemoryStore()
    quietly(dataset.to_zarr, store, zarr_format=zarr_format, consolidated=False)
    return store


def check_again(before: xr.Dataset, store: Any, **options: Any) -> list[XGroupWarning]:
    """Assert that both engines read a Dataset as it was written; return what is told of it."""
    theirs = xr.open_dataset(store, engine="zarr", consolidated=False)
    ours, told = opened_with_warnings(xr.open_dataset, store, **options)
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
    return told


@needs_writing
@pytest.mark.parametrize("operation", ["isel", "strides", "reversed"])
@pytest.mark.parametrize("kind", SAMPLES)
def test_subsets_are_the_same_after_writing_in_both_engines(kind: str, operation: str) -> None:
    before = quietly(OPERATIONS[operation], whole(kind, "v3"))
    check_again(before, written(before), assume_conventions=SAMPLES[kind].assumed)


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
GONE: dict[str, Operation] = {
    "mean": lambda it: it.mean("time", keep_attrs=True),
    "one time": lambda it: it.isel(time=1, drop=True),
    "max of all": lambda it: it.max(keep_attrs=True),
    "renamed": lambda it: it.rename(time="hour"),
    "all renamed": lambda it: it.rename(time="hour", lat="y", lon="x"),
}


@needs_writing
@pytest.mark.parametrize("change", GONE.values(), ids=GONE)
def test_a_removed_regular_axis_does_not_become_a_scalar(change: Operation) -> None:
    before = change(opened(xr.open_dataset, store_of({"": {}, "t": FIELD})))
    told = check_again(before, written(before))
    assert any("has regular values, but is not a dimension of the array" in str(it) for it in told)


def _axis(*sets: Any) -> Any:
    return {"coordinates": [*sets]}


def _along(name: str, size: int, axis: Any, **more: Array | Group) -> Group:
    cs = declaring("cs", cs={"crs": [{"axes": {name: axis}}]})
    return Group({"v": Array(np.arange(size * 1.0), (name,), cs), **more})


BANDS = _axis(
    {"values": {"explicit": [443, 490, 560, 665]}},
    {"name": "band_name", "values": {"explicit": ["a", "b", "c", "d"]}},
)
CELLS = _axis({"values": {"external": {"node": "/c/lat"}}, "boundaries": {"regular": [-2.5, 2.5]}})
OF_PS = {"formula": "sigma", "terms": {"ps": {"external": {"node": "/c/ps"}}}}
LEVELS = _axis({"values": {"explicit": [1.0, 2.0]}, "parametric": OF_PS})
OTHER_DIMS = {
    "lat": stored(np.arange(12.0).reshape(3, 4), "y x"),
    "lab": stored([5.0, 6.0, 7.0, 8.0], "x"),
}
LATITUDES = Group({"lat": stored([0.0, 5.0, 10.0], "lat"), "ps": stored([5.0, 6.0], "lev")})
#: Stores, operations, and the coordinates after writing.
STALE: dict[str, tuple[Group, Operation, str]] = {
    "further sets after a selection": (
        _along("band", 4, BANDS), lambda it: it.isel(band=[0, 2]), "band (band) 443 560\nband_name (band) a c"
    ),
    "further sets that were dropped": (
        _along("band", 4, BANDS), lambda it: it.drop_vars("band_name").isel(band=[0, 2]), "band (band) 443 560"
    ),
    "cells after interpolation": (
        _along("lat", 3, CELLS, c=LATITUDES), lambda it: it.drop_vars("lat_bounds").interp(lat=[0.0, 1.0]).assign_coords(lat=[0.0, 1.0]), "lat (lat) 0.0 1.0"
    ),
    "terms after sorting": (
        _along("lev", 2, LEVELS, c=LATITUDES), lambda it: it.sortby("lev", ascending=False), "lev (lev) 2.0 1.0 | formula_terms=ps: ps standard_name=sigma\nps (lev) 6.0 5.0"
    ),
    "terms of the group along a different dimension, after reversal": (
        _along("lev", 2, _axis({"values": {"explicit": [1.0, 2.0]}, "parametric": {"formula": "sigma", "terms": {"ps": {"external": {"node": "ps"}}}}}), ps=stored([5.0, 6.0], "p")),
        lambda it: it.isel(lev=slice(None, None, -1)), "lev (lev) 2.0 1.0 | formula_terms=ps: ps_1 standard_name=sigma\nps (p) 5.0 6.0\nps_1 (lev) 6.0 5.0"
    ),
    "further sets of the group along a different dimension, after reversal": (
        _along("band", 4, _axis({"values": {"explicit": [443, 490, 560, 665]}}, {"name": "lab", "values": {"external": {"node": "lab"}}}), lab=OTHER_DIMS["lab"]),
        lambda it: it.isel(band=slice(None, None, -1)), "band (band) 665 560 490 443\nlab (x) 5.0 6.0 7.0 8.0"
    ),
    "geolocation of the group along different dimensions, after reversal": (
        Group({"v": Array(np.zeros((3, 4)), ("r", "c"), declaring("geolocation", geolocation={"geodetic": {"x": {"node": "lon"}, "y": {"node": "lat"}}})), "lat": OTHER_DIMS["lat"], "lon": OTHER_DIMS["lat"]}),
        lambda it: it.drop_vars("lon").isel(r=slice(None, None, -1)), "lat (y x) [[0.0 1.0 2.0 3.0] [4.0 5.0 6.0 7.0] [8.0 9.0 10.0 11.0]] | standard_name=latitude"
    ),
    "references to the group along different dimensions, after reversal": (
        Group({"v": Array(np.zeros((3, 4)), ("r", "c"), declaring("ref", ref=[{"node": "lat"}])), "lat": OTHER_DIMS["lat"]}),
        lambda it: it.isel(r=slice(None, None, -1)), "lat (y x) [[0.0 1.0 2.0 3.0] [4.0 5.0 6.0 7.0] [8.0 9.0 10.0 11.0]]"
    ),
}  # fmt: skip


@needs_writing
@rows(STALE, "nodes, change, expected")
def test_nothing_stale_comes_back(nodes: Group, change: Operation, expected: str) -> None:
    dataset, _told = opened_with_warnings(xr.open_dataset, store_of(nodes))
    store = written(change(dataset))
    # The arrays to which the store refers are written, too.
    others = opened(xr.open_dataset, store_of(LATITUDES))
    quietly(others.to_zarr, store, group="c", consolidated=False)
    dataset, _told = opened_with_warnings(xr.open_dataset, store)
    assert text_of(dataset, ["v", *dataset.coords])[:-1] == expected.splitlines()


@needs_writing
def test_explain_names_what_a_replaced_axis_leaves_out() -> None:
    dataset = opened(xr.open_dataset, store_of(_along("band", 4, BANDS)))
    store = written(dataset.drop_vars("band_name").sortby("band", ascending=False))
    text = "leaves out 'band_name', which 'v' declares for the same axis"
    assert text in str(zarr_xgroup.explain(store))


@needs_writing
@each_format
def test_opened_datasets_are_appended_and_written_to_a_region(zarr_format: ZarrFormat) -> None:
    dataset = opened(xr.open_dataset, store_of({"": {}, "t": FIELD}, zarr_format))
    store = written(dataset.isel(time=[0]), zarr_format)
    quietly(dataset.isel(time=[1]).to_zarr, store, consolidated=False, append_dim="time")
    check_again(dataset, store)
    options: Any = {"consolidated": False, "zarr_format": zarr_format}
    chunked, parts = dataset.chunk(time=1).drop_encoding(), MemoryStore()
    quietly(chunked.to_zarr, parts, compute=False, **options)
    for time in range(2):
        part = dataset.isel(time=slice(time, time + 1)).drop_vars(["lat", "lon"])
        quietly(part.to_zarr, parts, region={"time": slice(time, time + 1)}, **options)
    check_again(dataset, parts)


@needs_writing
@each_format
@pytest.mark.parametrize("inherited", [True, False])
def test_a_tree_is_read_again_with_coordinates_of_its_parents(
    zarr_format: ZarrFormat, inherited: bool
) -> None:
    child = Group({"v": FIELD})
    root = Group({"t": FIELD, "child": Group({"deep": child, **child.members})})
    before, store = opened(xr.open_datatree, store_of(root, zarr_format)), MemoryStore()
    options: Any = {"write_inherited_coords": inherited, "zarr_format": zarr_format}
    quietly(before.to_zarr, store, consolidated=False, **options)
    again = opened(xr.open_datatree, store)
    xr.testing.assert_identical(again["child/deep"], before["child/deep"])
    xr.testing.assert_equal(again, before)


#: Groups whose dimensions or variables are renamed below a grid with the 1-D coordinates x and y.
RENAMED_IN_TREES: dict[str, Mapping[str, Any]] = {
    "a rotated grid": {"g": SAMPLES["spatial, rotated"].make()},
    "a grid in a different CRS": {"g": SAMPLES["proj"].make()},
    "a swath": SAMPLES["geolocation"].make().members,
    "arrays called like coordinates":
        {"g": Group({"x": stored([1, 2], "row"), "y": stored(3), "w": stored([1, 2], "row", coordinates="x y")})},
}  # fmt: skip


@needs_writing
@rows(RENAMED_IN_TREES, "groups")
def test_a_tree_with_renamed_dimensions_and_variables_is_read_again(
    groups: Mapping[str, Any],
) -> None:
    root = SAMPLES["spatial"].make()
    nodes = Group({**root.members, **groups}, root.attrs)
    before, told = opened_with_warnings(xr.open_datatree, store_of(nodes))
    assert "does not align with its parents in a DataTree" in str(told)
    store = MemoryStore()
    quietly(before.to_zarr, store, consolidated=False)
    again = quietly(xr.open_datatree, store, engine="xgroup")
    xr.testing.assert_equal(again, before)
    for node in before.subtree:
        assert node.dataset.coords.keys() == again[node.path].dataset.coords.keys()


# What is stored elsewhere, and here again.

LAT = Array(np.arange(6.0).reshape(2, 3), ("y", "x"), {"units": "degrees_north", "comment": "a"})
LON = Array(np.arange(6.0).reshape(2, 3), ("y", "x"), {"units": "degrees_east"})
GEO = Group({"lat": LAT, "lon": LON, "quality": Array(np.zeros((2, 3), "i1"), ("y", "x"))})


def swath(**more: Any) -> Array:
    """Return an array that has geolocation arrays and a quality, in another group or store."""
    lon, lat, quality = ({"node": f"/geo/{name}", **more} for name in ("lon", "lat", "quality"))
    geodetic = {"x": lon, "y": lat, "crs": {"proj:epsg": 4326}}
    attributes = {"geolocation": {"geodetic": geodetic}, "quality": quality}
    return Array(np.ones((2, 3)), ("y", "x"), declaring("geolocation", "ref", **attributes))


@needs_writing
@each_format
def test_a_tree_has_no_array_twice(zarr_format: ZarrFormat) -> None:
    before = opened(
        xr.open_datatree, store_of({"": {}, "geo": GEO, "data": {}, "data/v": swath()}, zarr_format)
    )
    assert set(before["data"].coords) == {"lat", "lon", "quality", "EPSG_4326"}
    store = MemoryStore()
    quietly(before.to_zarr, store, zarr_format=zarr_format, consolidated=False)
    again = opened(xr.open_datatree, store)
    xr.testing.assert_equal(again, before)
    assert again["data/lat"].attrs["grid_mapping"] == "EPSG_4326"


@needs_writing
def test_arrays_with_the_same_name_keep_their_own_copies() -> None:
    other = Group({"lat": Array(-np.asarray(LAT.values), LAT.dims, LAT.attrs)})
    references = declaring("ref", up={"node": "/geo/lat"}, down={"node": "/other/lat"})
    nodes: Any = {"": {}, "geo": GEO, "other": other, "data": {}}
    nodes["data/v"] = Array(np.ones((2, 3)), ("y", "x"), references)
    before, told = opened_with_warnings(xr.open_datatree, store_of(nodes))
    assert [type(it) for it in told] == [XGroupNameWarning]
    assert set(before["data"].coords) == {"lat", "other_lat"}
    store = MemoryStore()
    quietly(before.to_zarr, store, consolidated=False)
    xr.testing.assert_equal(opened(xr.open_datatree, store), before)


PARTS: dict[str, Operation] = {
    "unchanged": lambda it: it,
    "slice": lambda it: it.isel(x=slice(1, 3)),
    "row": lambda it: it.isel(y=0),
    "stride": lambda it: it.isel(x=slice(None, None, 2), y=[1]),
    "chunked": lambda it: it.chunk(x=1).drop_encoding(),
}


@needs_writing
@pytest.mark.parametrize("change", PARTS.values(), ids=PARTS)
def test_a_subset_with_references_to_a_foreign_store(change: Operation, tmp_path: Path) -> None:
    other = write_local(build(Group({"geo": GEO})), tmp_path / "other.zarr")
    nodes: Any = {"": {}, "v": swath(uri=other.as_uri())}
    before = change(opened(xr.open_dataset, write_local(build(nodes), tmp_path / "whole.zarr")))
    check_again(before, written(before))


# Fill values.


def bounded() -> xr.Dataset:
    """Return a field with regular, explicit and stored coordinates with boundaries."""
    halves = {"boundaries": {"regular": [-0.5, 0.5]}}
    values: dict[str, dict[str, Any]] = {
        "time": {"values": {"regular": [0.5, 1]}, **halves},
        "y": {"values": {"explicit": [0.0, 2.0, 5.0]}, **halves},
        "x": {"values": {"regular": [0.0, 1.0]}, **halves},
    }
    values["time"]["time"] = {"unit": "days", "epoch": "2001-01-01", "calendar": "noleap"}
    axes = {name: {"coordinates": [it]} for name, it in values.items()}
    field = Array(np.ones((2, 3, 4)), (*values,), declaring("cs", cs={"crs": [{"axes": axes}]}))
    dataset: xr.Dataset = opened(xr.open_dataset, store_of({"": {}, "t": field}))
    return dataset


COMPUTED = [f"{name}{end}" for name in ("x", "y", "time") for end in ("", "_bounds")]


@needs_writing
def test_computed_coordinates_are_written_without_a_fill_value() -> None:
    for dataset in (bounded(), bounded().isel(x=[1, 2])):
        group = zarr.open_group(written(dataset), mode="r")
        assert not [it for it in COMPUTED if "_FillValue" in group[it].attrs]


@pytest.mark.parametrize("engine", ["netcdf4", "h5netcdf"])
def test_netcdf_has_no_fill_value_of_computed_coordinates_either(
    engine: Any, tmp_path: Path
) -> None:
    pytest.importorskip({"netcdf4": "netCDF4"}.get(engine, engine))
    drop_conventions(bounded()).to_netcdf(tmp_path / "s.nc", engine=engine)
    with xr.open_dataset(tmp_path / "s.nc", engine=engine, decode_cf=False) as dataset:
        assert not [it for it in COMPUTED if "_FillValue" in dataset[it].attrs]


def test_a_fill_value_that_is_declared_stays() -> None:
    values = {"values": {"explicit": [1.0, -9.0]}, "attributes": {"_FillValue": -9.0}}
    cs = declaring("cs", cs={"crs": [{"axes": {"x": {"coordinates": [values]}}}]})
    dataset = check({"": {}, "t": Array(np.ones(2), ("x",), cs)}, "x (x) 1.0 nan", only="x")
    assert dataset["x"].encoding["_FillValue"] == -9.0


# Coordinates along the cells of a grid.

UTM_GRID = declaring(
    "spatial", "proj",
    **{"spatial:dimensions": ["y", "x"], "spatial:transform": [10, 0, 600000, 0, -10, 5100000]},
    **{"proj:code": "EPSG:32632"},
)  # fmt: skip


@needs_writing
@pytest.mark.parametrize("shape", [{}, {"spatial:shape": [4, 5]}], ids=["", "shape"])
@pytest.mark.parametrize("described", [True, False])
def test_a_coordinate_of_another_group_has_no_cells_of_the_group_it_is_written_with(
    shape: dict[str, Any], described: bool
) -> None:
    axes = {"y": {"abbreviation": "Y", "coordinates": [{"values": {"regular": [0, 1]}}]}}
    line = declaring("cs", cs={"crs": [{"axes": axes}]}) if described else declaring("CF")
    lat = Array(np.arange(20.0).reshape(4, 5), ("y", "x"))
    members = {"line": Array(np.arange(4.0), ("y",), {**line, "coordinates": "/geo/lat"})}
    root = Group({**members, "geo": Group({"lat": lat})}, {**UTM_GRID, **shape})
    dataset, _told = opened_with_warnings(xr.open_dataset, store_of(root))
    part = dataset.isel(y=slice(1, 2), x=slice(1, 3))
    again = opened(xr.open_dataset, written(part))
    xr.testing.assert_equal(again, part)
    assert "grid_mapping" not in {**again["lat"].attrs, **again["lat"].encoding}


def test_a_coordinate_of_the_group_along_both_dimensions_has_its_cells() -> None:
    values = np.arange(6.0).reshape(2, 3)
    members = {"v": Array(values, ("y", "x"), {"coordinates": "lat"})}
    store = store_of(Group({**members, "lat": Array(values, ("y", "x"))}, UTM_GRID))
    dataset = quietly(xr.open_dataset, store, engine="xgroup")
    for array in (dataset["v"], dataset["lat"]):
        assert array["x"].values.tolist() == [600005.0, 600015.0, 600025.0]
        assert {**array.attrs, **array.encoding}["grid_mapping"] == "spatial_ref"


@needs_writing
def test_two_arrays_of_one_name_stay_coordinates_in_a_new_group_of_the_store(
    tmp_path: Path,
) -> None:
    names = {"axes/lon": 1.0, "lon": 2.0}
    references = [{"node": f"/{path}"} for path in names]
    nodes: Any = {path: stored(np.full((2, 3), value), "y x") for path, value in names.items()}
    nodes |= {"": {}, "axes": {}, "g": {}}
    nodes |= {"g/v": stored(np.ones((2, 3)), "y x", **declaring("ref", ref=references))}
    store: Any = write_local(build(nodes), tmp_path / "a.zarr")
    first = quietly(xr.open_dataset, store, engine="xgroup", group="g")
    first.to_zarr(store, group="h", consolidated=False)
    again = quietly(xr.open_dataset, store, engine="xgroup", group="h")
    assert {*first.coords} == {*again.coords} == {"lon", "lon_1"}
    xr.testing.assert_equal(first, again)
